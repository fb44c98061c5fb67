// Library calls of a host program, on the reference kernels.
#include <algorithm>
#include <array>

#include "compiler/interpret/host_machine.h"
#include "core/ops/randomness.h"

namespace assay {
namespace {

/// Functions of extern_kernels that are called otherwise in ATen.
struct AliasRow {
  std::string_view name, overload;
};
constexpr std::array kAliases = {
    AliasRow{"bias_addmm", "aten.addmm.default"}, AliasRow{"mm_dtype", "aten.mm.dtype"},
    AliasRow{"bmm_dtype", "aten.bmm.dtype"}, AliasRow{".copy_", "aten.copy_.default"},
    // The bit that puts the conjugation off is no value.
    AliasRow{"aten._conj.default", "aten._conj_physical.default"}};

/// "extern_kernels.mm", "torch.ops.aten.sort.stable", "aten.randint.low_out": the name in the table
/// and whether the overload was given.
auto table_name(std::string_view target) -> std::pair<std::string, bool> {
  for (const auto& row : kAliases)
    if (target == row.name ||
        (target.ends_with(row.name) && target[target.size() - row.name.size() - 1] == '.'))
      return {std::string(row.overload), true};
  constexpr std::string_view kOps = "torch.ops.";
  constexpr std::string_view kExtern = "extern_kernels.";
  if (target.starts_with(kExtern))
    return {"aten." + std::string(target.substr(kExtern.size())), false};
  if (target.starts_with('.')) return {"aten" + std::string(target), false};  // a method
  if (target.starts_with(kOps)) target.remove_prefix(kOps.size());
  return {std::string(target), std::ranges::count(target, '.') >= 2};
}

/// "low_out" is "low" with a place for the result.
auto without_out(std::string name) -> std::string {
  if (name.ends_with("_out")) return name.substr(0, name.size() - 4);
  if (name.ends_with(".out")) return name.substr(0, name.size() - 3) + "default";
  return name;
}

/// What a factory is not told it takes from where its result goes.
void complete_factory(const OpRow& row, const RealMeta& out, DatumList& args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    const auto& name = row.schema.params[i].name;
    if (name == "device" && args[i].is_none()) args[i] = {out.device};
    if (name == "dtype" && args[i].is_none()) args[i] = {out.dtype};
  }
}

}  // namespace

auto HostMachine::find_row(const HostCall& what, DatumList positional,
                           std::vector<std::pair<std::string, Datum>> keywords)
    -> Result<std::pair<const OpRow*, DatumList>> {
  const auto [name, is_overload] = table_name(what.target);
  if (is_overload) {
    // Where the result goes was taken from the arguments.
    const auto* row = domain_.find(without_out(name));
    if (row == nullptr) row = domain_.find(name);
    if (row == nullptr) return unsupported("there is no row for {}", name);
    ASSAY_TRY(auto bound, bind_arguments(row->schema, std::move(positional), std::move(keywords)));
    return std::pair(row, std::move(bound));
  }
  std::string reason = "there is no row";
  for (const auto* row : domain_.overloads(name)) {
    const auto by_position = std::ranges::count(row->schema.params, false, &Param::keyword_only);
    if (std::ssize(positional) > by_position) {
      reason = "too many arguments";
      continue;
    }
    auto bound = bind_arguments(row->schema, positional, keywords);
    if (bound) return std::pair(row, *std::move(bound));
    reason = bound.error().message;
  }
  return unsupported("{}: {}", name, reason);
}

auto HostMachine::run_row(const HostOp& op, const OpRow& row, const DatumList& args)
    -> Result<Datum> {
  if (recorder_ == nullptr) return domain_.run(row, args);
  called_ = &op;
  return layouts_.layout(row, args);
}

void HostMachine::note(Written& written, std::string name, const Tensor& tensor) const {
  if (options_.tap) written.emplace_back(std::move(name), tensor);
}

auto HostMachine::name_results(const HostOp& op, const HostCall& what, Datum result,
                               Written& written) -> Result<void> {
  if (what.results.size() == 1 && !what.is_unpacked) {
    auto made = from_datum(what.results[0], std::move(result));
    if (made.buffer) note(written, what.results[0], made.buffer->tensor);
    for (std::size_t i = 0; i < made.items.size(); ++i)
      if (made.items[i].buffer)
        note(written, fmt::format("{}[{}]", what.results[0], i), made.items[i].buffer->tensor);
    define(what.results[0], std::move(made));
  } else if (!what.results.empty()) {
    const auto made = from_datum(what.results[0], std::move(result));
    if (made.items.size() != what.results.size())
      return bad_input("line {}: {} gives {} results", op.line, what.target, made.items.size());
    for (std::size_t i = 0; i < made.items.size(); ++i) {
      define(what.results[i], made.items[i]);
      if (made.items[i].buffer) note(written, what.results[i], made.items[i].buffer->tensor);
    }
  }
  return {};
}

auto HostMachine::launched(const HostOp& op, const HostCall& what, const OpRow& row,
                           const DatumList& args, const std::vector<RunValue>& outs)
    -> Result<std::optional<Datum>> {
  const bool writes = std::ranges::any_of(row.schema.params, &Param::written);
  if (row.decomposition || writes) return std::nullopt;
  const auto unwatched = [](const OpRow&, const DatumList&, const Datum&) {};
  ASSAY_TRY(auto result, LayoutDomain(domain_, unwatched).layout(row, args));
  std::vector<RunStorage*> storages;
  const auto name = what.results.empty() ? what.target : what.results[0];
  const auto add = [&](const RunBuffer& buffer) { storages.push_back(buffer.storage); };
  for (const auto& arg : args)
    visit_tensors(arg, [&](const Tensor& tensor) { add(adopt(name, tensor, true)); });
  const auto arg_tensors = storages.size();
  // Results stand where they shall, or in memory of their own.
  std::size_t next = 0;
  const auto place = [&](Datum& datum) -> Result<void> {
    auto* const tensor = std::get_if<Tensor>(&datum.value);
    if (tensor == nullptr) return {};
    const auto at = next++;
    if (outs.empty()) {
      ASSAY_TRY(*tensor, Tensor::allocate(tensor->dtype(), tensor->sizes(), tensor->strides(),
                                          tensor->meta.device));
    } else if (at < outs.size() && outs[at].buffer &&
               outs[at].buffer->tensor.sizes() == tensor->sizes() &&
               outs[at].buffer->tensor.dtype() == tensor->dtype()) {
      *tensor = outs[at].buffer->tensor;
    } else {
      return unsupported("a result of another kind");
    }
    add(adopt(name, *tensor, true));
    return {};
  };
  if (auto* list = std::get_if<DatumList>(&result.value)) {
    for (auto& item : *list)
      if (!place(item)) return std::nullopt;
  } else if (!place(result)) {
    return std::nullopt;
  }
  ASSAY_TRY(const bool done, launcher_->call(op, row, args, result, storages, arg_tensors));
  if (!done) return std::nullopt;
  if (options_.tap)
    for (std::size_t i = arg_tensors; i < storages.size(); ++i)
      ASSAY_TRY_VOID(launcher_->to_host(*storages[i]));
  return result;
}

auto HostMachine::library(const HostOp& op, const HostCall& what) -> Result<void> {
  DatumList positional;
  std::vector<std::pair<std::string, Datum>> keywords;
  std::vector<RunValue> outs;
  std::vector<RunBuffer> reads;
  const bool may_launch = launcher_ != nullptr && recorder_ == nullptr &&
                          launcher_->calls(table_name(what.target).first);
  std::vector<RunValue> elsewhere;  // what is not on the host yet
  for (const auto& arg : what.args) {
    ASSAY_TRY(auto read, value(op, arg));
    if (may_launch)
      elsewhere.push_back(read);
    else
      ASSAY_TRY_VOID(to_host(read));
    if (arg.keyword == "out") {
      if (read.is_list)
        outs = std::move(read.items);
      else
        outs.push_back(std::move(read));
      continue;
    }
    if (read.buffer) reads.push_back(*read.buffer);
    for (const auto& item : read.items)
      if (item.buffer) reads.push_back(*item.buffer);
    if (arg.keyword.empty())
      positional.push_back(datum(std::move(read)));
    else
      keywords.emplace_back(arg.keyword, datum(std::move(read)));
  }
  auto found = find_row(what, std::move(positional), std::move(keywords));
  if (!found) return unsupported("line {}: {}: {}", op.line, what.target, found.error().message);
  auto& [row, args] = *found;
  for (std::size_t i = row->replaces_self ? 1 : 0; i < reads.size(); ++i)
    check_written(op, reads[i]);
  if (!outs.empty() && outs[0].buffer) complete_factory(*row, outs[0].buffer->tensor.meta, args);
  std::optional<Datum> made;
  if (may_launch) {
    ASSAY_TRY(made, launched(op, what, *row, args, outs));
  }
  if (!made)
    for (const auto& read : elsewhere) ASSAY_TRY_VOID(to_host(read));
  auto result = made ? Result<Datum>(*made) : run_row(op, *row, args);
  if (!result) {
    if (result.error().code == ErrorCode::bad_input)
      report(op, RunFault::call_refused, {},
             fmt::format("{}: {}", what.target, result.error().message));
    return unsupported("line {}: {}: {}", op.line, what.target, result.error().message);
  }
  ++result_.calls;
  result_.randomness =
      std::max(result_.randomness, randomness(*row, args, options_.random != nullptr));
  Written written;
  for (std::size_t i = 0; i < outs.size(); ++i) {
    if (!outs[i].buffer) continue;
    const auto* list = result->list();
    const auto* from = list != nullptr && i < list->size() ? (*list)[i].real() : result->real();
    if (from == nullptr || from->sizes() != outs[i].buffer->tensor.sizes()) {
      report(op, RunFault::call_refused, outs[i].buffer->storage->name(),
             fmt::format("{}: the result is of other sizes than `out`", what.target));
      return unsupported("line {}: {}: `out` of other sizes", op.line, what.target);
    }
    if (recorder_ != nullptr)
      recorder_->copy(op, *from, outs[i].buffer->tensor);
    else if (!made)
      copy_elems(*from, outs[i].buffer->tensor);
    if (!made) set_written(*outs[i].buffer);
    note(written, outs[i].buffer->storage->name(), outs[i].buffer->tensor);
  }
  for (std::size_t i = 0; i < args.size(); ++i)
    if (row->schema.params[i].written)
      if (const auto* tensor = args[i].real()) {
        const auto buffer = adopt(what.target, *tensor, true);
        set_written(buffer);
        note(written, buffer.storage->name(), *tensor);
      }
  ASSAY_TRY_VOID(name_results(op, what, *std::move(result), written));
  if (options_.tap) options_.tap({&op, written});
  return {};
}

}  // namespace assay
