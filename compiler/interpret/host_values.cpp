// Names, numbers, tensors and views of a running host program.
#include <algorithm>

#include "compiler/interpret/host_machine.h"
#include "core/expr/text.h"

namespace assay {
namespace {

/// Positions of a tensor's elements in its storage.
void for_each_element(const RunBuffer& buffer, const auto& f) {
  const auto& meta = buffer.tensor.meta;
  const std::array<const Ints*, 1> strides = {&meta.strides};
  const auto step = meta.strides.empty() ? 0 : meta.strides.back();
  for_each_run(meta.sizes, strides, [&](std::span<const std::int64_t> at, std::int64_t run) {
    for (std::int64_t i = 0; i < run; ++i) f(meta.offset + at[0] + i * step);
  });
}

}  // namespace

auto HostMachine::number(const Expr& e) const -> Result<std::int64_t> {
  if (const auto known = e.as_int()) return *known;
  if (const auto known = numbers_.find(e); known != numbers_.end()) return known->second;
  ASSAY_TRY(const auto made, evaluate_int(e, binding_));
  numbers_.emplace(e, made);
  return made;
}

auto HostMachine::numbers(const Dims& dims) const -> Result<Ints> {
  Ints result;
  result.reserve(dims.size());
  for (const auto& dim : dims) {
    ASSAY_TRY(result.emplace_back(), number(dim));
  }
  return result;
}

auto HostMachine::adopt(const std::string& name, Tensor tensor, bool is_initialised) -> RunBuffer {
  auto& known = by_storage_[tensor.storage.get()];
  if (known == nullptr) {
    storages_.push_back(std::make_unique<RunStorage>(name, tensor.storage,
                                                     size_bytes(tensor.dtype()), is_initialised));
    known = storages_.back().get();
  }
  return {std::move(tensor), known, known->generation};
}

void HostMachine::note_once(std::string note) {
  if (std::ranges::find(result_.notes, note) == result_.notes.end())
    result_.notes.push_back(std::move(note));
}

void HostMachine::report(const HostOp& op, RunFault fault, std::string buffer,
                         std::string message) {
  RunFinding finding;
  finding.fault = fault;
  finding.line = op.line;
  finding.statement = op.text;
  finding.buffer = std::move(buffer);
  finding.message = std::move(message);
  result_.findings.push_back(std::move(finding));
}

/// A name that is used. Dead ones are reported and used all the same.
auto HostMachine::find(const HostOp& op, const std::string& name) -> Result<RunValue*> {
  const auto known = names_.find(name);
  if (known == names_.end()) return bad_input("line {}: `{}` has no value", op.line, name);
  auto& [value, deleted_in] = known->second;
  if (deleted_in != 0)
    report(op, RunFault::use_after_free, name,
           fmt::format("{} was deleted in line {}", name, deleted_in));
  if (const auto& buffer = value.buffer;
      buffer && buffer->generation != buffer->storage->generation)
    report(
        op, RunFault::use_after_free, name,
        fmt::format("{} was overwritten: its storage is {} now", name, buffer->storage->reused_by));
  return &value;
}

auto HostMachine::view(const HostOp& op, const HostView& what) -> Result<RunBuffer> {
  ASSAY_TRY(const auto* base, find(op, what.base));
  if (!base->buffer) return bad_input("line {}: `{}` is no tensor", op.line, what.base);
  const auto& from = *base->buffer;
  if (!what.is_reinterpreted) return from;
  ASSAY_TRY(auto sizes, numbers(what.sizes));
  ASSAY_TRY(auto strides, numbers(what.strides));
  ASSAY_TRY(const auto offset, number(what.offset));
  const auto dtype = what.dtype.value_or(from.tensor.dtype());
  auto viewed = from.tensor.view(dtype, std::move(sizes), std::move(strides),
                                 from.tensor.meta.offset + offset);
  if (!viewed) {
    report(op, RunFault::out_of_bounds, what.base,
           fmt::format("a view of {}: {}", what.base, viewed.error().message));
    return std::unexpected(viewed.error());
  }
  return RunBuffer{*std::move(viewed), from.storage, from.generation};
}

/// The number in a tensor of one element.
auto HostMachine::element_of(const HostOp& op, const std::string& name) -> Result<Expr> {
  ASSAY_TRY(const auto* source, find(op, name));
  return element_of(op, *source, name);
}

auto HostMachine::element_of(const HostOp& op, const RunValue& source, const std::string& name)
    -> Result<Expr> {
  if (recorder_ != nullptr) return unsupported("line {}: `{}` depends on data", op.line, op.text);
  if (!source.buffer || source.buffer->tensor.numel() != 1)
    return bad_input("line {}: `{}` is no tensor of one element", op.line, name);
  const auto& tensor = source.buffer->tensor;
  check_written(op, *source.buffer);
  ASSAY_TRY_VOID(to_host(source));
  if (is_floating(tensor.dtype())) return Expr::real(to_vector<double>(tensor)[0]);
  const Expr number = to_vector<std::int64_t>(tensor)[0];
  return tensor.dtype() == DType::boolean ? Expr::boolean(!number.is_int(0)) : number;
}

auto HostMachine::value(const HostOp& op, const HostArg& arg) -> Result<RunValue> {
  RunValue result;
  if (const auto* what = std::get_if<HostView>(&arg.value)) {
    if (!what->is_reinterpreted) {
      ASSAY_TRY(const auto* known, find(op, what->base));
      return *known;
    }
    ASSAY_TRY(result.buffer, view(op, *what));
  } else if (const auto* e = std::get_if<Expr>(&arg.value)) {
    if (e->is_const()) {
      result.other.value = *e;
    } else {
      ASSAY_TRY(const auto known, evaluate(*e, binding_));
      result.other.value = known;
    }
  } else if (const auto* element = std::get_if<HostElementOf>(&arg.value)) {
    ASSAY_TRY(result.other.value, element_of(op, element->buffer));
  } else if (const auto* of = std::get_if<HostItemOf>(&arg.value)) {
    ASSAY_TRY(const auto* list, find(op, of->tuple));
    if (of->index >= list->items.size())
      return bad_input("line {}: `{}` has no item {}", op.line, of->tuple, of->index);
    return list->items[of->index];
  } else if (const auto* items = std::get_if<HostArgs>(&arg.value)) {
    result.is_list = true;
    for (const auto& item : *items) {
      ASSAY_TRY(result.items.emplace_back(), value(op, item));
    }
  } else if (const auto* dtype = std::get_if<DType>(&arg.value)) {
    result.other.value = *dtype;
  } else if (const auto* device = std::get_if<Device>(&arg.value)) {
    result.other.value = *device;
  } else if (const auto* text = std::get_if<std::string>(&arg.value)) {
    result.other.value = *text;
  } else if (const auto* layout = std::get_if<Layout>(&arg.value)) {
    result.other.value = *layout;
  } else if (const auto* format = std::get_if<MemoryFormat>(&arg.value)) {
    result.other.value = *format;
  } else if (const auto* number = std::get_if<std::complex<double>>(&arg.value)) {
    result.other.value = *number;
  } else if (std::holds_alternative<HostOpaque>(arg.value)) {
    return unsupported("line {}: the argument `{}`", op.line, arg.text);
  }
  return result;
}

auto HostMachine::datum(RunValue value) -> Datum {
  if (value.buffer) return {std::move(value.buffer->tensor)};
  if (!value.is_list) return std::move(value.other);
  DatumList items;
  items.reserve(value.items.size());
  for (auto& item : value.items) items.push_back(datum(std::move(item)));
  return {std::move(items)};
}

auto HostMachine::from_datum(const std::string& name, Datum datum) -> RunValue {
  RunValue result;
  if (auto* tensor = std::get_if<Tensor>(&datum.value)) {
    result.buffer = adopt(name, std::move(*tensor), true);
  } else if (auto* list = std::get_if<DatumList>(&datum.value)) {
    result.is_list = true;
    for (auto& item : *list) result.items.push_back(from_datum(name, std::move(item)));
  } else {
    result.other = std::move(datum);
  }
  return result;
}

/// Elements that a library call reads.
void HostMachine::check_written(const HostOp& op, const RunBuffer& buffer) {
  if (buffer.storage->initialised().empty()) return;
  const auto size = size_bytes(buffer.tensor.dtype());
  std::int64_t times = 0, first = -1;
  const RunFinding* undefined = nullptr;
  for_each_element(buffer, [&](std::int64_t element) {
    if (buffer.storage->is_written(element * size)) return;
    if (const auto* origin = buffer.storage->undefined_at(element * size))
      undefined = origin;
    else if (times++ == 0)
      first = element;
  });
  if (undefined != nullptr) add_once(result_.findings, *undefined);
  if (times == 0) return;
  report(op, RunFault::uninitialised, buffer.storage->name(),
         fmt::format("element {} of {} is read, nothing was written there", first,
                     buffer.storage->name()));
  result_.findings.back().element = first;
  result_.findings.back().times = times;
}

/// What leaves the program rests on a read of what nobody wrote.
void HostMachine::check_defined(const RunBuffer& buffer) {
  if (buffer.storage->initialised().empty()) return;
  const auto size = size_bytes(buffer.tensor.dtype());
  const RunFinding* undefined = nullptr;
  for_each_element(buffer, [&](std::int64_t element) {
    if (undefined == nullptr) undefined = buffer.storage->undefined_at(element * size);
  });
  if (undefined != nullptr) add_once(result_.findings, *undefined);
}

auto HostMachine::to_host(const RunValue& value) -> Result<void> {
  if (launcher_ == nullptr) return {};
  if (value.buffer) ASSAY_TRY_VOID(launcher_->to_host(*value.buffer->storage));
  for (const auto& item : value.items) ASSAY_TRY_VOID(to_host(item));
  return {};
}

void HostMachine::set_written(const RunBuffer& buffer) {
  if (launcher_ != nullptr) launcher_->host_wrote(*buffer.storage);
  if (buffer.storage->initialised().empty()) return;
  const auto size = size_bytes(buffer.tensor.dtype());
  for_each_element(
      buffer, [&](std::int64_t element) { buffer.storage->set_written(element * size, size); });
}

}  // namespace assay
