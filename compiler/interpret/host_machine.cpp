#include "compiler/interpret/host_machine.h"

#include <algorithm>
#include <array>

#include "compiler/interpret/interpret.h"
#include "core/expr/text.h"

namespace assay {
namespace {

class InterpretedProgram final : public CompiledProgram {
 public:
  InterpretedProgram(const HostProgram& program, CompiledKernels kernels, const OpTable& table)
      : program_(program), kernels_(std::move(kernels)), table_(table) {}
  [[nodiscard]] auto run(const DatumList& inputs, const ProgramRunOptions& options) const
      -> Result<ProgramRun> override {
    return HostMachine(program_, kernels_, table_, options).run(inputs);
  }

 private:
  const HostProgram& program_;
  CompiledKernels kernels_;
  const OpTable& table_;
};

auto text_of(const Ints& values) -> std::string {
  return fmt::format("({})", fmt::join(values, ", "));
}

}  // namespace

auto name(RunFault fault) -> std::string_view {
  constexpr std::array<std::string_view, 12> kNames = {
      "out-of-bounds",  "uninitialised-read", "write-conflict", "read-conflict",
      "use-after-free", "device-assert",      "assert-failed",  "index-overflow",
      "call-refused",   "launch-hangs",       "launch-faults",  "stale-launch"};
  return kNames[static_cast<std::size_t>(fault)];
}

auto compile_kernels(const HostProgram& program) -> Result<CompiledKernels> {
  CompiledKernels kernels;
  for (const auto& [key, source] : program.kernels) {
    if (!source.kernel) return unsupported("kernel {}: {}", key, source.not_read);
    ASSAY_TRY(auto code, TileCode::compile(*source.kernel));
    kernels.emplace(key, std::move(code));
  }
  return kernels;
}

auto Interpreter::compile(const HostProgram& program) const
    -> Result<std::unique_ptr<CompiledProgram>> {
  if (program.functions.empty()) return bad_input("the program has no function");
  ASSAY_TRY(auto kernels, compile_kernels(program));
  if (!program.not_understood.empty()) {
    const auto& line = program.not_understood[0];
    return unsupported("line {}: `{}`: {}", line.line, line.text, line.reason);
  }
  return std::make_unique<InterpretedProgram>(program, std::move(kernels), table_);
}

auto HostMachine::run(const DatumList& inputs) -> Result<ProgramRun> {
  const auto& function = program_.functions.back();
  if (inputs.size() != function.inputs.size())
    return bad_input("{} inputs for a program that takes {}", inputs.size(),
                     function.inputs.size());
  std::vector<RunValue> values;
  values.reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values.push_back(from_datum(function.inputs[i], inputs[i]));
  const auto given = launcher_ == nullptr ? std::vector<RunValue>() : values;
  ASSAY_TRY(auto outputs, call(function, std::move(values)));
  for (const auto& one : given) ASSAY_TRY_VOID(to_host(one));
  for (const auto& one : outputs) ASSAY_TRY_VOID(to_host(one));
  if (launcher_ != nullptr) ASSAY_TRY_VOID(launcher_->finish());
  for (auto& output : outputs) result_.outputs.push_back(datum(std::move(output)));
  return std::move(result_);
}

auto HostMachine::call(const HostFunction& function, std::vector<RunValue> inputs)
    -> Result<std::vector<RunValue>> {
  auto outer_names = std::move(names_);
  names_.clear();
  names_.reserve(function.inputs.size() + function.ops.size());
  for (std::size_t i = 0; i < function.inputs.size(); ++i)
    define(function.inputs[i], std::move(inputs[i]));
  solve_symbols(function);
  returned_.reset();
  for (std::size_t at = 0; at < function.ops.size() && !returned_;) {
    const auto& op = function.ops[at];
    if (options_.step) options_.step(function, op);
    ASSAY_TRY(at, std::visit([&](const auto& what) { return next(function, at, what); }, op.what));
  }
  names_ = std::move(outer_names);
  if (!returned_) return bad_input("`{}` returns nothing", function.name);
  return std::exchange(returned_, std::nullopt).value();
}

/// Sizes that no input gives as a number follow from layouts of tensors.
void HostMachine::solve_symbols(const HostFunction& function) {
  std::vector<std::pair<Expr, std::int64_t>> equations;
  const auto add = [&](const Expr& e, std::int64_t value) {
    if (!e.is_const()) equations.emplace_back(e, value);
  };
  for (const auto& op : function.ops) {
    if (const auto* scalar = std::get_if<HostScalar>(&op.what); scalar && scalar->is_input)
      if (const auto known = names_.find(scalar->name); known != names_.end())
        if (const auto* given = known->second.value.other.scalar(); given && given->is_const())
          set_symbol(scalar->symbol, *given);
    const auto* check = std::get_if<HostCheck>(&op.what);
    const auto is_const = [](const Expr& e) { return e.is_const(); };
    if (check == nullptr || (std::ranges::all_of(check->sizes, is_const) &&
                             std::ranges::all_of(check->strides, is_const)))
      continue;
    const auto known = names_.find(check->name);
    if (known == names_.end() || !known->second.value.buffer) continue;
    const auto& tensor = known->second.value.buffer->tensor;
    if (tensor.sizes().size() != check->sizes.size()) continue;
    for (std::size_t i = 0; i < check->sizes.size(); ++i) {
      add(check->sizes[i], tensor.sizes()[i]);
      if (tensor.sizes()[i] > 1) add(check->strides[i], tensor.strides()[i]);
    }
  }
  for (bool more = true; more;) {
    more = false;
    for (const auto& [e, value] : equations) {
      const auto is_known = [&](const Expr& symbol) { return binding_.contains(symbol); };
      if (std::ranges::all_of(e.symbols(), is_known)) continue;
      const auto rest = substitute(e, binding_);
      const auto symbols = rest.symbols();
      if (symbols.size() != 1) continue;
      if (const auto solution = solve_for(rest, symbols[0], value)) {
        set_symbol(symbols[0], *solution);
        more = true;
      }
    }
  }
}

auto HostMachine::step(const HostOp&, const HostNote&) -> Result<void> {
  return {};
}

auto HostMachine::step(const HostOp& op, const HostAlloc& what) -> Result<void> {
  ASSAY_TRY(auto sizes, numbers(what.sizes));
  ASSAY_TRY(auto strides, numbers(what.strides));
  auto tensor =
      Tensor::allocate(what.dtype, std::move(sizes), std::move(strides), what.device,
                       recorder_ == nullptr ? Storage::Memory::zeros : Storage::Memory::none);
  if (!tensor) return with_context(tensor.error(), fmt::format("line {}", op.line));
  RunValue made;
  made.buffer = adopt(what.name, *std::move(tensor), is_unchecked());
  define(what.name, std::move(made));
  return {};
}

auto HostMachine::step(const HostOp& op, const HostBind& what) -> Result<void> {
  RunValue made;
  if (what.is_in_pool) {
    ASSAY_TRY(const auto* pool, find(op, what.source.base));
    ASSAY_TRY(const auto offset, number(what.pool_offset_bytes));
    ASSAY_TRY(auto sizes, numbers(what.source.sizes));
    ASSAY_TRY(auto strides, numbers(what.source.strides));
    if (!pool->buffer) return bad_input("line {}: `{}` is no tensor", op.line, what.source.base);
    made.buffer = *pool->buffer;
    auto viewed = pool->buffer->tensor.view(*what.source.dtype, sizes, strides,
                                            offset / size_bytes(*what.source.dtype));
    if (!viewed) {
      report(op, RunFault::out_of_bounds, what.source.base, viewed.error().message);
      return std::unexpected(viewed.error());
    }
    made.buffer->tensor = *std::move(viewed);
  } else if (what.source.is_reinterpreted) {
    ASSAY_TRY(made.buffer, view(op, what.source));
  } else {
    ASSAY_TRY(const auto* source, find(op, what.source.base));
    made = *source;
  }
  if (what.is_reuse && made.buffer) {
    auto& storage = *made.buffer->storage;
    made.buffer->generation = ++storage.generation;
    storage.reused_by = what.name;
  }
  define(what.name, std::move(made));
  return {};
}

auto HostMachine::step(const HostOp& op, const HostScalar& what) -> Result<void> {
  if (what.is_input || !what.is_fresh) return {};
  ASSAY_TRY(const auto* source, find(op, what.buffer));
  if (!source->buffer) return bad_input("line {}: `{}` is no tensor", op.line, what.buffer);
  const auto& tensor = source->buffer->tensor;
  const auto at = what.dimension;
  using enum HostScalar::Source;
  Expr value;
  if (what.source == size && at < tensor.sizes().size()) {
    value = tensor.sizes()[at];
  } else if (what.source == stride && at < tensor.strides().size()) {
    value = tensor.strides()[at];
  } else if (what.source == offset) {
    value = tensor.meta.offset;
  } else if (what.source == numel) {
    value = tensor.numel();
  } else if (what.source == item) {
    ASSAY_TRY(value, element_of(op, what.buffer));
    if (const auto truth = value.as_bool(); truth && what.symbol.type() == ExprType::integer)
      value = *truth ? 1 : 0;  // `int(buf0.item())`
  } else {
    return unsupported("line {}: `{}`", op.line, op.text);
  }
  set_symbol(what.symbol, value);
  return {};
}

auto HostMachine::step(const HostOp&, const HostShape&) -> Result<void> {
  return {};
}

auto HostMachine::step(const HostOp& op, const HostCheck& what) -> Result<void> {
  ASSAY_TRY(const auto* checked, find(op, what.name));
  if (!checked->buffer) return bad_input("line {}: `{}` is no tensor", op.line, what.name);
  const auto& tensor = checked->buffer->tensor;
  bool fits = tensor.sizes().size() == what.sizes.size();
  // PyTorch asks nothing but the rank of tensors without elements (torch/csrc/dynamo/guards.cpp).
  if (fits && tensor.numel() == 0) return {};
  for (std::size_t i = 0; i < what.sizes.size(); ++i) {
    ASSAY_TRY(const auto size, number(what.sizes[i]));
    ASSAY_TRY(const auto stride, number(what.strides[i]));
    fits = fits && tensor.sizes()[i] == size && (size <= 1 || tensor.strides()[i] == stride);
  }
  if (fits) return {};
  ASSAY_TRY(const auto sizes, numbers(what.sizes));
  ASSAY_TRY(const auto strides, numbers(what.strides));
  report(op, RunFault::assert_failed, what.name,
         fmt::format("{} has sizes {} and strides {}, not {} and {}", what.name,
                     text_of(tensor.sizes()), text_of(tensor.strides()), text_of(sizes),
                     text_of(strides)));
  return bad_input("line {}: `{}` fails: {}", op.line, op.text, result_.findings.back().message);
}

auto HostMachine::step(const HostOp& op, const HostFact& what) -> Result<void> {
  const auto truth = evaluate(what.condition, binding_);
  if (truth && truth->as_bool() == false)
    report(op, RunFault::assert_failed, {}, fmt::format("{} is false", print_expr(what.condition)));
  return {};
}

auto HostMachine::step(const HostOp& op, const HostCall& what) -> Result<void> {
  const auto* function = find_function(program_, what.target);
  if (function == nullptr || what.args.size() != 1) return library(op, what);
  ASSAY_TRY(auto list, value(op, what.args[0]));
  if (list.items.size() != function->inputs.size())
    return bad_input("line {}: `{}` takes {} values, not {}", op.line, function->name,
                     function->inputs.size(), list.items.size());
  constexpr int kMaxDepth = 64;
  if (depth_ >= kMaxDepth)
    return unsupported("line {}: `{}` calls itself", op.line, function->name);
  ++depth_;
  auto results = call(*function, std::move(list.items));
  --depth_;
  if (!results) return std::unexpected(results.error());
  if (!what.is_unpacked && what.results.size() == 1) {
    RunValue tuple;
    tuple.is_list = true;
    tuple.items = *std::move(results);
    define(what.results[0], std::move(tuple));
    return {};
  }
  for (std::size_t i = 0; i < what.results.size() && i < results->size(); ++i)
    define(what.results[i], std::move((*results)[i]));
  return {};
}

auto HostMachine::step(const HostOp& op, const HostItem& what) -> Result<void> {
  ASSAY_TRY(const auto* list, find(op, what.tuple));
  if (what.index >= list->items.size())
    return bad_input("line {}: `{}` has no item {}", op.line, what.tuple, what.index);
  define(what.name, RunValue(list->items[what.index]));
  return {};
}

auto HostMachine::step(const HostOp& op, const HostStore& what) -> Result<void> {
  ASSAY_TRY(auto stored, value(op, what.value));
  ASSAY_TRY(auto* list, find(op, what.tuple));
  constexpr std::size_t kMost = 4096;
  if (what.index >= kMost) return bad_input("line {}: an index out of range", op.line);
  list->is_list = true;
  if (list->items.size() <= what.index) list->items.resize(what.index + 1);
  list->items[what.index] = std::move(stored);
  return {};
}

auto HostMachine::step(const HostOp& op, const HostGroup& what) -> Result<void> {
  RunValue list;
  list.is_list = true;
  for (const auto& item : what.items) {
    ASSAY_TRY(list.items.emplace_back(), value(op, item));
  }
  define(what.name, std::move(list));
  return {};
}

auto HostMachine::step(const HostOp& op, const HostDelete& what) -> Result<void> {
  for (const auto& name : what.names)
    if (const auto known = names_.find(name); known != names_.end())
      known->second.deleted_in = op.line;
  return {};
}

auto HostMachine::step(const HostOp& op, const HostReturn& what) -> Result<void> {
  std::vector<RunValue> values;
  values.reserve(what.values.size());
  for (const auto& arg : what.values) {
    ASSAY_TRY(values.emplace_back(), value(op, arg));
    if (values.back().buffer) check_defined(*values.back().buffer);
  }
  for (const auto& storage : storages_)
    if (const auto* origin = storage->is_input() ? storage->undefined() : nullptr)
      add_once(result_.findings, *origin);
  returned_ = std::move(values);
  return {};
}

}  // namespace assay
