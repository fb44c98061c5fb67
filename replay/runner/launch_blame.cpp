// Which launch or library call of a program gave the first value that its graph does not have.
#include <algorithm>
#include <map>
#include <set>

#include "core/graph/text.h"
#include "replay/runner/known_values.h"

namespace assay {
namespace {

/// Buffers that a launch or call wrote, as they were then.
using Written = std::vector<std::pair<std::string, Datum>>;

/// Buffers that a launch takes as what it writes: names of Inductor's parameters say it.
auto outputs_of(const HostProgram& program, const HostOp& op) -> std::vector<std::string> {
  std::vector<std::string> outputs;
  const auto* launch = std::get_if<HostLaunch>(&op.what);
  if (launch == nullptr) return outputs;
  const auto source = program.kernels.find(launch->kernel);
  if (source == program.kernels.end() || source->second.kernel == nullptr) return outputs;
  std::size_t next = 0;
  for (const auto& param : source->second.kernel->params) {
    if (!param.is_passed) continue;
    if (next >= launch->args.size()) break;
    const auto* view = std::get_if<HostView>(&launch->args[next++].value);
    if (view != nullptr &&
        (param.name.starts_with("out_ptr") || param.name.starts_with("in_out_ptr")))
      outputs.push_back(view->base);
  }
  return outputs;
}

class LaunchBlamer {
 public:
  LaunchBlamer(const Stage& stage, const Stage& right, const StageContext& context,
               const StageContext& right_context)
      : program_(*stage.program),
        right_(right),
        right_values_(values_of(right, right_context)),
        known_(right_values_) {
    for (const auto& value :
         without_addends(right.graph->graph, right_values_, right_context.table))
      known_.add(value);
    StageTaps taps;
    taps.written = [&](const RunWritten& event) {
      auto& written = written_[event.op];
      written.clear();
      for (const auto& [name, tensor] : event.buffers)
        written.emplace_back(name, DatumCopier()(Datum{tensor}));
    };
    (void)run_stage(stage, context.inputs, context.attributes, context.table, taps);
  }

  auto blame(const std::string& producer) -> StageBlame {
    for (const auto& function : program_.functions)
      for (const auto& op : function.ops) step(op);
    const auto last = writer_.find(producer);
    if (last == writer_.end()) return unwritten(producer);
    const auto found = bad_.find(producer);
    // What another node gives too is right for that one only.
    if (found == bad_.end()) return at(*last->second, producer);
    const auto& [op, buffer] = found->second;
    auto blame = at(*op, buffer);
    if (last->second == op) return blame;
    blame.through = fmt::format("line {}", last->second->line);
    const auto there = at(*last->second, producer);
    blame.shown = {there.name, there.target, there.wrote, there.expected};
    return blame;
  }

 private:
  using Cause = std::pair<const HostOp*, std::string>;

  static auto arguments_of(const HostOp& op) -> const HostArgs* {
    if (const auto* launch = std::get_if<HostLaunch>(&op.what)) return &launch->args;
    if (const auto* call = std::get_if<HostCall>(&op.what)) return &call->args;
    return nullptr;
  }

  void step(const HostOp& op) {
    if (const auto* bind = std::get_if<HostBind>(&op.what)) {
      follow(bind->name, bind->source.base);
      if (bind->is_reuse) reused_.insert(bind->name);
      return;
    }
    if (const auto* item = std::get_if<HostItem>(&op.what)) {
      follow(item->name, fmt::format("{}[{}]", item->tuple, item->index));
      return;
    }
    const auto event = written_.find(&op);
    const auto* args = arguments_of(op);
    if (args == nullptr) return;
    std::optional<Cause> cause;
    for (const auto& arg : *args)
      for (const auto& name : arg.mentions) {
        if (cause) break;
        // A library call is right: it got what stood there before, and nobody wrote since.
        if (const auto known = bad_.find(name); known != bad_.end())
          cause = known->second;
        else if (std::holds_alternative<HostCall>(op.what) && arg.keyword != "out" &&
                 reused_.contains(name))
          cause = Cause{&op, name};
      }
    for (const auto& buffer : unstored(op)) bad_.insert_or_assign(buffer, Cause{&op, buffer});
    for (const auto& buffer : stale(op)) {
      bad_.insert_or_assign(buffer, cause.value_or(Cause{&op, buffer}));
      if (!cause) cause = Cause{&op, buffer};
    }
    if (event == written_.end()) return;
    const bool is_launch = std::holds_alternative<HostLaunch>(op.what);
    for (const auto& arg : *args)
      for (const auto& name : arg.mentions)
        if (is_launch || arg.keyword == "out") reused_.erase(name);
    const auto right = judge(op, event->second);
    for (std::size_t i = 0; i < right.size(); ++i) {
      const auto& [name, value] = event->second[i];
      writer_[name] = &op;
      const bool is_changed = !is_launch || !holds(name, value);
      held_[name] = value;
      if (right[i] && is_changed)
        bad_.erase(name);
      else
        bad_.insert_or_assign(name, cause.value_or(Cause{&op, name}));
    }
  }

  /// Does it hold this already? Who writes in place was to change it.
  [[nodiscard]] auto holds(const std::string& name, const Datum& value) const -> bool {
    const auto known = held_.find(name);
    const auto *before = known == held_.end() ? nullptr : known->second.real(),
               *after = value.real();
    return before != nullptr && after != nullptr && before->dtype() == after->dtype() &&
           std::ranges::equal(before->storage->bytes(), after->storage->bytes());
  }

  /// Which of the buffers hold what the graph has.
  auto judge(const HostOp& op, const Written& written) const -> std::vector<bool> {
    std::vector<bool> right;
    for (const auto& [name, value] : written) {
      auto given = is_given(op, name, value);
      if (given == false && is_written_later(op, name)) given.reset();  // a sum begins with zeros
      const auto* tensor = value.real();
      const bool may_be_part = !given && tensor != nullptr && reduces(op);
      right.push_back(given.value_or(known_.contains(value)) ||
                      (may_be_part && known_.has_part(*tensor)));
    }
    for (std::size_t k = 0; k + 2 < written.size() && reduces(op); ++k) {
      const auto *mean = written[k].second.real(), *squares = written[k + 1].second.real(),
                 *weight = written[k + 2].second.real();
      if ((right[k] && right[k + 1] && right[k + 2]) || mean == nullptr || squares == nullptr ||
          weight == nullptr || !known_.has_moments(*mean, *squares, *weight))
        continue;
      for (std::size_t i = k; i <= k + 2; ++i) right[i] = true;
    }
    return right;
  }

  [[nodiscard]] auto source_of(const HostOp& op) const -> const KernelSource* {
    const auto* launch = std::get_if<HostLaunch>(&op.what);
    if (launch == nullptr) return nullptr;
    const auto found = program_.kernels.find(launch->kernel);
    return found == program_.kernels.end() ? nullptr : &found->second;
  }
  [[nodiscard]] auto reduces(const HostOp& op) const -> bool {
    const auto* source = source_of(op);
    return source != nullptr && source->kernel != nullptr &&
           std::ranges::any_of(source->kernel->axes, [](const TileAxis& axis) {
             return axis.kind == TileAxis::Kind::reduction;
           });
  }
  [[nodiscard]] auto is_written_later(const HostOp& op, const std::string& name) const -> bool {
    return std::ranges::any_of(written_, [&](const auto& event) {
      return event.first->line > op.line &&
             std::ranges::find(event.second, name, &Written::value_type::first) !=
                 event.second.end();
    });
  }

  /// By what the kernel's comment says that it gives; nothing where that says nothing of a buffer
  /// like this.
  auto is_given(const HostOp& op, const std::string& buffer, const Datum& value) const
      -> std::optional<bool> {
    const auto* source = source_of(op);
    const auto* tensor = value.real();
    if (source == nullptr || tensor == nullptr) return std::nullopt;
    const auto& nodes = right_.graph->graph.nodes;
    bool has_node = false, has_other = false;
    auto gives = source->gives;
    // Nothing in between is left out: they are in the order of the parameters.
    if (const auto outputs = outputs_of(program_, op); outputs.size() == gives.size())
      if (const auto at = std::ranges::find(outputs, buffer); at != outputs.end())
        gives = {gives[static_cast<std::size_t>(at - outputs.begin())]};
    for (const auto& name : gives) {
      const auto node = std::ranges::find(nodes, name, &Node::name);
      if (node == nodes.end()) {
        has_other = true;
        continue;
      }
      const auto& expected = right_values_[static_cast<std::size_t>(node - nodes.begin())];
      const auto* real = expected.real();
      if (real == nullptr || real->numel() != tensor->numel() || real->dtype() != tensor->dtype())
        continue;
      has_node = true;
      if (KnownValues({expected}).contains(value)) return true;
    }
    return has_node && !has_other ? std::optional(false) : std::nullopt;
  }

  /// Buffers that a launch is to write by the names of its parameters, and does not.
  auto unstored(const HostOp& op) const -> std::vector<std::string> {
    std::vector<std::string> buffers;
    const auto event = written_.find(&op);
    for (const auto& buffer : outputs_of(program_, op))
      if (event == written_.end() ||
          std::ranges::find(event->second, buffer, &Written::value_type::first) ==
              event->second.end())
        buffers.push_back(buffer);
    return buffers;
  }

  /// Buffers that a launch reads and that hold only what stood in their memory before.
  auto stale(const HostOp& op) const -> std::vector<std::string> {
    std::vector<std::string> buffers;
    if (!std::holds_alternative<HostLaunch>(op.what)) return buffers;
    const auto outputs = outputs_of(program_, op);
    for (const auto& arg : *arguments_of(op))
      for (const auto& name : arg.mentions)
        if (reused_.contains(name) && std::ranges::find(outputs, name) == outputs.end())
          buffers.push_back(name);
    return buffers;
  }

  [[nodiscard]] auto last_taker(const std::string& buffer) const -> const HostOp* {
    const HostOp* found = nullptr;
    for (const auto& function : program_.functions)
      for (const auto& op : function.ops)
        if (const auto* launch = std::get_if<HostLaunch>(&op.what))
          if (std::ranges::any_of(launch->args, [&](const HostArg& arg) {
                return std::ranges::find(arg.mentions, buffer) != arg.mentions.end();
              }))
            found = &op;
    return found;
  }

  /// A launch that should have written the buffer by the name of its parameter, or else the last
  /// that takes it.
  auto unwritten(const std::string& buffer) -> StageBlame {
    const auto* op = last_writer(program_, buffer, 0);
    if (op == nullptr) op = last_taker(buffer);
    if (op != nullptr) return at(*op, buffer);
    StageBlame blame;
    blame.name = buffer;
    blame.call = "nothing writes it";
    return blame;
  }

  void follow(const std::string& name, const std::string& source) {
    if (const auto known = bad_.find(source); known != bad_.end())
      bad_.insert_or_assign(name, Cause(known->second));
    else
      bad_.erase(name);
    if (const auto known = held_.find(source); known != held_.end())
      held_.insert_or_assign(name, Datum(known->second));
    if (const auto known = writer_.find(source); known != writer_.end())
      writer_[name] = known->second;
  }

  auto at(const HostOp& op, const std::string& buffer) -> StageBlame {
    StageBlame blame;
    blame.name = buffer;
    blame.call = op.text;
    blame.line = op.line;
    if (const auto* launch = std::get_if<HostLaunch>(&op.what)) {
      blame.target = launch->kernel;
      if (const auto* source = source_of(op)) blame.nodes = source->nodes;
    } else if (const auto* call = std::get_if<HostCall>(&op.what)) {
      blame.target = call->target;
    }
    for (const auto& [name, value] : written_[&op])
      if (name == buffer) compare(value, blame);
    return blame;
  }

  /// With the last node of the kernel that is as large as the buffer.
  void compare(const Datum& value, StageBlame& blame) const {
    const auto* tensor = value.real();
    if (tensor != nullptr) blame.wrote = *tensor;
    const auto& nodes = right_.graph->graph.nodes;
    for (auto i = blame.nodes.size(); i-- > 0;) {
      const auto found = std::ranges::find(nodes, blame.nodes[i], &Node::name);
      if (found == nodes.end()) continue;
      if (!blame.origin && found->origin) blame.origin = found->origin;
      const auto* expected = right_values_[static_cast<std::size_t>(found - nodes.begin())].real();
      if (tensor == nullptr || expected == nullptr || expected->numel() != tensor->numel() ||
          expected->dtype() != tensor->dtype() || !blame.distance.message.empty())
        continue;
      blame.distance = expected->sizes() == tensor->sizes()
                           ? compare_values(Datum{*expected}, value, false, {})
                           : compare_values(flat(*expected), flat(*tensor), false, {});
      blame.before = print_call(right_.graph->graph, *found);
      blame.expected = *expected;
    }
  }

  const HostProgram& program_;
  const Stage& right_;
  std::vector<Datum> right_values_;
  KnownValues known_;
  std::map<const HostOp*, Written> written_;
  std::map<std::string, Cause> bad_;
  std::map<std::string, const HostOp*> writer_;
  std::map<std::string, Datum> held_;  ///< by buffer, what was written there last
  std::set<std::string> reused_;       ///< names of memory that holds what was there before
};

}  // namespace

auto last_writer(const HostProgram& program, const std::string& buffer, int before)
    -> const HostOp* {
  const HostOp* found = nullptr;
  std::map<std::string, std::string> root;  // of names that stand for another's memory
  const auto root_of = [&](const std::string& name) {
    const auto known = root.find(name);
    return known == root.end() ? name : known->second;
  };
  for (const auto& function : program.functions)
    for (const auto& op : function.ops) {
      if (before > 0 && op.line >= before) return found;
      if (const auto* bind = std::get_if<HostBind>(&op.what))
        root[bind->name] = root_of(bind->source.base);
      for (const auto& name : outputs_of(program, op))
        if (root_of(name) == root_of(buffer)) found = &op;
    }
  return found;
}

auto blame_launch(const Stage& program, const Stage& right, const StageContext& context,
                  const StageContext& right_context, const std::string& producer) -> StageBlame {
  return LaunchBlamer(program, right, context, right_context).blame(producer);
}

}  // namespace assay
