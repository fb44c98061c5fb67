#include "compiler/schedule/schedule.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "compiler/program/text.h"
#include "compiler/schedule/groups.h"
#include "compiler/schedule/merging.h"
#include "core/expr/text.h"

namespace assay {
namespace {

auto list_text(const Dims& dims) -> std::string {
  std::string text;
  for (const auto& dim : dims) text += print_expr(dim) + ", ";
  if (dims.size() != 1 && !text.empty()) text.resize(text.size() - 2);
  if (dims.size() == 1) text.resize(text.size() - 1);
  return fmt::format("({})", text);
}

/// Writes the host side: statements in the words of Inductor's wrappers.
class Writer {
 public:
  Writer(ScheduleInput& input, const MemoryChoice& memory, Grouping grouping,
         const ScheduleOptions& options, std::vector<CompileDecision>& decisions)
      : input_(input),
        graph_(input.graph),
        memory_(memory),
        options_(options),
        decisions_(decisions),
        grouping_(std::move(grouping)) {
    program_.env = input.env;
    function_.name = "call";
  }

  auto run() -> Result<HostProgram> {
    inputs();
    for (const auto& fact : input_.facts)
      add(HostFact{fact}, fmt::format("assert {}", print_expr(fact)));
    find_last_uses();
    for (std::size_t i = 0; i < grouping_.order.size(); ++i) {
      const auto unit = grouping_.order[i];
      const auto made = grouping_.units[unit].call ? call(unit) : kernel(unit);
      if (!made) return std::unexpected(made.error());
      free(i);
    }
    outputs();
    program_.functions.push_back(std::move(function_));
    return std::move(program_);
  }
  [[nodiscard]] auto call_nodes() const -> const std::map<int, std::string>& { return call_nodes_; }

 private:
  void add(decltype(HostOp::what) what, std::string text) {
    HostOp op;
    op.what = std::move(what);
    op.line = static_cast<int>(function_.ops.size()) + 1;
    op.text = std::move(text);
    function_.ops.push_back(std::move(op));
    ++program_.statements;
  }

  void inputs() {
    for (const auto& input : input_.inputs) {
      function_.inputs.push_back(input.name);
      if (input.number && input.number->op() == ExprOp::symbol) {
        HostScalar scalar;
        scalar.name = input.name;
        scalar.value = scalar.symbol = *input.number;
        scalar.is_input = true;
        add(scalar, fmt::format("{} = {}", print_expr(*input.number), input.name));
      }
    }
    for (const auto& input : input_.inputs)
      if (input.tensor) check(input.name, graph_.defs[*input.tensor].meta, false);
  }
  /// Layouts of results of calls come with their dtype, which nothing else tells.
  void check(const std::string& buffer, const TensorMeta& meta, bool is_result) {
    HostCheck made{buffer, meta.sizes, meta.strides, std::nullopt};
    if (is_result) made.dtype = meta.dtype;
    auto text = fmt::format("assert_size_stride({}, {}, {}{})", buffer, list_text(meta.sizes),
                            list_text(meta.strides),
                            is_result ? fmt::format(", {}", name(meta.dtype)) : std::string());
    add(std::move(made), std::move(text));
  }

  [[nodiscard]] auto view_of(DefId id) const -> HostView {
    const auto& def = graph_.defs[id];
    const auto& owner = graph_.defs[def.owner];
    HostView view;
    view.base = owner.buffer;
    if (def.owner == id) return view;
    view.is_reinterpreted = true;
    view.sizes = def.meta.sizes;
    view.strides = def.meta.strides;
    view.offset = def.meta.offset - owner.meta.offset;
    if (def.meta.dtype != owner.meta.dtype) view.dtype = def.meta.dtype;
    return view;
  }
  static auto text_of(const HostView& view) -> std::string {
    if (!view.is_reinterpreted) return view.base;
    return fmt::format("reinterpret_tensor({}, {}, {}, {}{})", view.base, list_text(view.sizes),
                       list_text(view.strides), print_expr(view.offset),
                       view.dtype ? fmt::format(", {}", name(*view.dtype)) : std::string());
  }

  auto arg_of(const CallArg& arg) const -> HostArg {
    HostArg made;
    if (arg.tensor) {
      auto view = view_of(*arg.tensor);
      made.text = text_of(view);
      made.mentions = {view.base};
      made.value = std::move(view);
    } else if (arg.is_list) {
      HostArgs items;
      std::string text;
      for (const auto& item : arg.items) {
        items.push_back(arg_of(item));
        text += (text.empty() ? "" : ", ") + items.back().text;
        made.mentions.insert(made.mentions.end(), items.back().mentions.begin(),
                             items.back().mentions.end());
      }
      made.text = fmt::format("[{}]", text);
      made.value = std::move(items);
    } else {
      made.text = to_string(arg.value);
      made.value = std::visit([](const auto& value) { return plain(value); }, arg.value.value);
    }
    return made;
  }
  static auto plain(const Expr& e) -> HostValue { return e; }
  static auto plain(const DType& dtype) -> HostValue { return dtype; }
  static auto plain(const Device& device) -> HostValue { return device; }
  static auto plain(const std::string& text) -> HostValue { return text; }
  static auto plain(const Layout& layout) -> HostValue { return layout; }
  static auto plain(const MemoryFormat& format) -> HostValue { return format; }
  static auto plain(const Complex& number) -> HostValue { return number; }
  static auto plain(const std::monostate&) -> HostValue { return HostNone{}; }
  template <class T>
  static auto plain(const T&) -> HostValue {
    return HostOpaque{};
  }

  auto call(std::size_t unit) -> Result<void> {
    const auto& call = graph_.calls[*grouping_.units[unit].call];
    if (call.scatter) return scatter(unit, call);
    HostCall made;
    made.target = "torch.ops." + call.target;
    std::string text;
    for (const auto& arg : call.args) {
      made.args.push_back(arg_of(arg));
      text += (text.empty() ? "" : ", ") + made.args.back().text;
    }
    for (const auto result : call.results)
      graph_.defs[result].buffer = fmt::format("buf{}", next_buffer_++);
    std::string target;
    if (call.is_tuple) {
      target = fmt::format("buf{}", next_buffer_++);
      made.results = {target};
    } else if (!call.results.empty()) {
      target = graph_.defs[call.results[0]].buffer;
      made.results = {target};
    }
    const auto callee = made.target;
    add(std::move(made),
        fmt::format("{}{}({})", target.empty() ? "" : target + " = ", callee, text));
    call_nodes_[function_.ops.back().line] = call.origin;
    if (call.is_tuple)
      for (std::size_t k = 0; k < call.results.size(); ++k) {
        const auto& buffer = graph_.defs[call.results[k]].buffer;
        const auto at = call.positions[k];
        add(HostItem{buffer, target, at}, fmt::format("{} = {}[{}]", buffer, target, at));
      }
    measure(call);
    for (const auto result : call.results)
      check(graph_.defs[result].buffer, graph_.defs[result].meta, true);
    return {};
  }

  /// A kernel that writes memory which is there; the result takes its name over.
  auto scatter(std::size_t at, const LibraryCall& call) -> Result<void> {
    auto& pool = input_.env.pool();
    ScheduleUnit unit;
    unit.roots = {call.scatter->into};
    Index position;
    for (const auto& extent : call.scatter->over) {
      if (extent.is_int(1)) {
        position.emplace_back(0);
        continue;
      }
      position.push_back(pool.symbol(fmt::format("assay_s{}", unit.axes.size())));
      unit.axes.push_back({extent, position.back(), false});
    }
    LoopBuilder builder(graph_, pool, plain_form(unit.axes), in_memory(at));
    call.scatter->write(builder, position);
    if (!builder.error().empty()) return unsupported("{}: {}", call.origin, builder.error());
    KernelSource source;
    source.nodes = {call.origin};
    launch(unit, builder, std::move(source));
    for (const auto result : call.results)
      graph_.defs[result].buffer = std::exchange(graph_.defs[call.scatter->into].buffer, {});
    return {};
  }

  /// Sizes that only the results of a call tell.
  void measure(const LibraryCall& call) {
    for (const auto& symbol : call.measured)
      for (const auto result : call.results) {
        const auto& meta = graph_.defs[result].meta;
        const auto at = std::ranges::find(meta.sizes, symbol);
        if (at == meta.sizes.end()) continue;
        HostScalar scalar;
        scalar.name = std::string(symbol.name());
        scalar.value = scalar.symbol = symbol;
        scalar.is_fresh = true;
        scalar.source = HostScalar::Source::size;
        scalar.buffer = graph_.defs[result].buffer;
        scalar.dimension = static_cast<std::size_t>(at - meta.sizes.begin());
        add(scalar,
            fmt::format("{} = {}.size({})", symbol.name(), scalar.buffer, scalar.dimension));
        break;
      }
  }

  [[nodiscard]] auto is_kept(DefId id, std::size_t unit) const -> bool {
    if (memory_.wanted[id]) return true;
    const auto known = grouping_.readers.find(id);
    return known != grouping_.readers.end() &&
           std::ranges::any_of(known->second, [&](std::size_t reader) { return reader != unit; });
  }

  [[nodiscard]] auto kernel_name(const ScheduleUnit& unit) -> std::string {
    std::string name = "fused";
    std::set<std::string> seen;
    for (const auto root : unit.roots) {
      const std::string_view target = graph_.defs[root].target;
      const auto from = target.find('.') + 1;
      std::string word(target.substr(from, target.find('.', from) - from));
      constexpr std::size_t kMost = 5;
      if (seen.size() < kMost && seen.insert(word).second) name += "_" + word;
    }
    return fmt::format("{}_{}", name, next_kernel_++);
  }

  auto kernel(std::size_t at) -> Result<void> {
    const auto& unit = grouping_.units[at];
    for (const auto root : unit.roots)
      if (is_kept(root, at)) {
        auto& def = graph_.defs[root];
        def.buffer = fmt::format("buf{}", next_buffer_++);
        add(HostAlloc{def.buffer, def.meta.sizes, def.meta.strides, def.meta.dtype,
                      def.meta.device},
            fmt::format("{} = empty_strided({}, {}, {})", def.buffer, list_text(def.meta.sizes),
                        list_text(def.meta.strides), name(def.meta.dtype)));
      }
    LoopBuilder builder(graph_, input_.env.pool(), form_of(at), in_memory(at));
    build(at, builder);
    KernelSource source;
    for (const auto root : unit.roots) {
      const auto& origin = graph_.defs[root].origin;
      if (std::ranges::find(source.nodes, origin) == source.nodes.end())
        source.nodes.push_back(origin);
    }
    if (!builder.error().empty())
      return unsupported("{}: {}", graph_.defs[unit.roots[0]].origin, builder.error());
    launch(unit, builder, std::move(source));
    return {};
  }

  [[nodiscard]] auto in_memory(std::size_t at) const -> LoopBuilder::InMemory {
    return [this, at](DefId id, const Index&) {
      const auto& def = graph_.defs[id];
      const bool is_here = grouping_.unit_of[def.owner] == at;
      return !is_here && (!graph_.defs[def.owner].is_computed() || memory_.stored[def.owner]);
    };
  }
  void build(std::size_t at, LoopBuilder& builder) {
    const auto& unit = grouping_.units[at];
    for (std::size_t i = 0; i < unit.roots.size(); ++i) {
      const auto root = unit.roots[i];
      const auto value = builder.root(root, unit.places[i]);
      if (is_kept(root, at)) builder.store(root, unit.places[i], value);
    }
  }

  /// The kernel is built as far as it takes to see what it computes with its axes.
  auto form_of(std::size_t at) -> LoopForm {
    const auto& unit = grouping_.units[at];
    if (!options_.merge || unit.axes.size() < 2) return plain_form(unit.axes);
    auto form = plain_form(unit.axes);
    std::vector<Expr> seen;
    form.rewritten = [&seen](const Expr& e) {
      seen.push_back(e);
      return e;
    };
    form.is_trial = true;
    LoopBuilder trial(graph_, input_.env.pool(), form, in_memory(at));
    build(at, trial);
    const auto& subject = graph_.defs[unit.roots[0]].origin;
    return merged_form(unit.axes, seen, input_.env.pool(), [&](const std::string& axes) {
      CompileDecision decision{CompileDecision::Kind::merge, true, subject, axes,
                               "every index is one of the merged axis"};
      if (options_.is_forbidden && options_.is_forbidden(decision)) {
        decision.accepted = false;
        decision.reason = "forbidden";
      }
      decisions_.push_back(decision);
      return decision.accepted;
    });
  }

  void launch(const ScheduleUnit& unit, LoopBuilder& builder, KernelSource source) {
    source.name = kernel_name(unit);
    source.language = "assay";
    auto kernel = builder.take();
    kernel.name = source.name;
    const bool reduces =
        std::ranges::any_of(unit.axes, [](const LoopAxis& axis) { return axis.is_reduced; });
    kernel.heuristic = reduces ? "reduction" : "pointwise";
    HostLaunch launch{source.name, {}};
    std::string text;
    std::size_t next_buffer = 0, next_number = 0;
    for (const auto& param : kernel.params) {
      HostArg arg;
      if (param.kind == TileParam::Kind::buffer) {
        HostView view;
        view.base = graph_.defs[builder.buffers()[next_buffer++]].buffer;
        arg.text = view.base;
        arg.mentions = {view.base};
        arg.value = view;
      } else {
        arg.value = builder.numbers()[next_number];
        arg.text = print_expr(builder.numbers()[next_number++]);
      }
      text += (text.empty() ? "" : ", ") + arg.text;
      launch.args.push_back(std::move(arg));
    }
    source.text = print_kernel(kernel);
    kernel.lines = static_cast<int>(std::ranges::count(source.text, '\n'));
    source.kernel = std::make_shared<const TileKernel>(std::move(kernel));
    add(std::move(launch), fmt::format("{}({})", source.name, text));
    program_.kernels[source.name] = std::move(source);
  }

  /// When a buffer is read for the last time, by position in the order.
  void find_last_uses() {
    const auto use = [&](DefId id, std::size_t at) {
      const auto owner = graph_.defs[id].owner;
      last_use_[owner] = std::max(last_use_[owner], at);
    };
    std::vector<std::size_t> position(grouping_.units.size(), 0);
    for (std::size_t i = 0; i < grouping_.order.size(); ++i) position[grouping_.order[i]] = i;
    for (const auto& [def, readers] : grouping_.readers)
      for (const auto reader : readers) use(def, position[reader]);
    for (std::size_t i = 0; i < grouping_.units.size(); ++i) {
      const auto& unit = grouping_.units[i];
      for (const auto root : unit.roots) use(root, position[i]);
      if (!unit.call) continue;
      for (const auto result : graph_.calls[*unit.call].results) use(result, position[i]);
      for (const auto& arg : graph_.calls[*unit.call].args)
        visit_tensors(arg, [&](DefId id) { use(id, position[i]); });
    }
    for (const auto& output : input_.outputs)
      visit_tensors(output, [&](DefId id) { last_use_[graph_.defs[id].owner] = kNever; });
    for (const auto& [def, at] : last_use_)
      if (at != kNever) dead_after_[at].push_back(def);
  }

  void free(std::size_t at) {
    HostDelete gone;
    for (const auto id : dead_after_[at])
      if (const auto& def = graph_.defs[id]; !def.buffer.empty() && !def.is_input)
        gone.names.push_back(def.buffer);
    if (gone.names.empty()) return;
    auto text = fmt::format("del {}", fmt::join(gone.names, ", "));
    add(std::move(gone), std::move(text));
  }

  void outputs() {
    HostReturn made;
    std::string text;
    for (const auto& output : input_.outputs) {
      made.values.push_back(arg_of(output));
      text += (text.empty() ? "" : ", ") + made.values.back().text;
    }
    add(std::move(made), fmt::format("return ({}, )", text));
  }

  static constexpr std::size_t kNever = SIZE_MAX;
  ScheduleInput& input_;
  LoweredGraph& graph_;
  const MemoryChoice& memory_;
  const ScheduleOptions& options_;
  std::vector<CompileDecision>& decisions_;
  Grouping grouping_;
  HostProgram program_;
  HostFunction function_;
  std::map<int, std::string> call_nodes_;  ///< by line
  std::map<DefId, std::size_t> last_use_;
  std::map<std::size_t, std::vector<DefId>> dead_after_;
  int next_buffer_ = 0, next_kernel_ = 0;
};

}  // namespace

auto name(CompileDecision::Kind kind) -> std::string_view {
  constexpr std::array<std::string_view, 5> kNames = {"store", "fuse", "library", "merge", "reuse"};
  return kNames[static_cast<std::size_t>(kind)];
}

auto schedule(ScheduleInput input, const ScheduleOptions& options) -> Result<CompiledGraph> {
  CompiledGraph result;
  const auto memory = choose_memory(input, options, result.decisions);
  ASSAY_TRY(auto grouping, group(input, memory, options, result.decisions));
  Writer writer(input, memory, std::move(grouping), options, result.decisions);
  ASSAY_TRY(result.program, writer.run());
  result.call_nodes = writer.call_nodes();
  return result;
}

}  // namespace assay
