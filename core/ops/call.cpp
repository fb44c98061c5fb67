#include "core/ops/call.h"

#include "core/base/check.h"
#include "core/expr/text.h"
#include "core/ops/op_table.h"

namespace assay {
namespace {

/// Neutral value behind accessors of calls that already failed.
auto neutral_fake() -> const FakeTensor& {
  static const FakeTensor kNone;
  return kNone;
}
auto neutral_tensor() -> const Tensor& {
  static const Tensor kNone{std::make_shared<Storage>(8), RealMeta{}};
  return kNone;
}

}  // namespace

auto Call::fail(Error error) const -> bool {
  if (!error_) error_ = std::move(error);
  return false;
}

auto Call::fail(std::string message) const -> bool {
  return fail(Error{ErrorCode::bad_input, std::move(message)});
}

auto Call::unsupported(std::string message) const -> bool {
  return fail(Error{ErrorCode::unsupported, std::move(message)});
}

auto Call::expr(int i) const -> Expr {
  const auto* scalar = arg(i).scalar();
  return scalar ? *scalar : Expr(0);
}

auto Call::exprs(int i) const -> Dims {
  Dims values;
  if (const auto* list = arg(i).list()) {
    for (const auto& item : *list) {
      if (!item.scalar()) {
        fail(fmt::format("{}: a list of integers is expected",
                         row_.schema.params[static_cast<std::size_t>(i)].name));
        return {};
      }
      values.push_back(*item.scalar());
    }
  }
  return values;
}

auto Call::integer(int i) const -> std::int64_t {
  const auto value = expr(i);
  if (const auto number = value.as_int()) return *number;
  if (const auto number = value.as_bool()) return *number ? 1 : 0;
  unsupported(fmt::format("{}: a constant integer is needed, not {}",
                          row_.schema.params[static_cast<std::size_t>(i)].name, print_expr(value)));
  return 0;
}

auto Call::integers(int i) const -> Ints {
  Ints values;
  for (const auto& value : exprs(i)) {
    const auto number = value.as_int();
    if (!number) {
      unsupported(fmt::format("{}: constant integers are needed, not {}",
                              row_.schema.params[static_cast<std::size_t>(i)].name,
                              print_expr(value)));
      return {};
    }
    values.push_back(*number);
  }
  return values;
}

auto Call::real(int i) const -> double {
  return number(i).real();
}

auto Call::number(int i) const -> Complex {
  if (const auto* complex = std::get_if<Complex>(&arg(i).value)) return *complex;
  if (const auto number = expr(i).as_number()) return *number;
  unsupported(fmt::format("{}: a constant number is needed, not {}",
                          row_.schema.params[static_cast<std::size_t>(i)].name,
                          print_expr(expr(i))));
  return 0;
}

auto Call::flag(int i) const -> bool {
  return has(i) && integer(i) != 0;
}

auto Call::flags(int i) const -> std::vector<bool> {
  std::vector<bool> values;
  for (const auto& value : exprs(i)) values.push_back(value.as_bool().value_or(!value.is_int(0)));
  return values;
}

auto Call::text(int i) const -> std::string {
  const auto* text = std::get_if<std::string>(&arg(i).value);
  return text ? *text : std::string();
}

auto Call::dtype(int i) const -> std::optional<DType> {
  const auto* dtype = std::get_if<DType>(&arg(i).value);
  return dtype ? std::optional(*dtype) : std::nullopt;
}

auto Call::device(int i) const -> std::optional<Device> {
  const auto* device = std::get_if<Device>(&arg(i).value);
  return device ? std::optional(*device) : std::nullopt;
}

auto Call::memory_format(int i) const -> std::optional<MemoryFormat> {
  const auto* format = std::get_if<MemoryFormat>(&arg(i).value);
  return format ? std::optional(*format) : std::nullopt;
}

auto MetaCall::tensor(int i) const -> const FakeTensor& {
  if (const auto* fake = arg(i).fake()) return *fake;
  fail(fmt::format("{}: a tensor is expected, not {}",
                   row_.schema.params[static_cast<std::size_t>(i)].name, to_string(arg(i))));
  return neutral_fake();
}

auto MetaCall::tensors(int i) const -> std::vector<const FakeTensor*> {
  std::vector<const FakeTensor*> tensors;
  if (const auto* list = arg(i).list())
    for (const auto& item : *list) tensors.push_back(item.fake());
  return tensors;
}

auto MetaCall::dim(std::int64_t value, int rank) -> int {
  const std::int64_t bound = rank == 0 ? 1 : rank;
  if (value < -bound || value >= bound) {
    fail(fmt::format("dimension {} is out of range for rank {}", value, rank));
    return 0;
  }
  return static_cast<int>(value < 0 ? value + bound : value);
}

auto MetaCall::require(const Expr& condition, std::string_view message) -> bool {
  if (context_.require(condition, message)) return true;
  return fail(fmt::format("{}: {} does not hold", message, print_expr(condition)));
}

auto MetaCall::require(bool condition, std::string_view message) -> bool {
  return condition || fail(std::string(message));
}

auto MetaCall::fresh(DType dtype, Dims sizes) -> Datum {
  auto strides = contiguous_strides(sizes);
  return fresh(dtype, std::move(sizes), std::move(strides));
}

auto MetaCall::fresh(DType dtype, Dims sizes, Dims strides) -> Datum {
  // The device is that of the first tensor of rank above 0, else of the first tensor.
  std::optional<Device> device = device_;
  bool scalar_only = true;
  const auto look_at = [&](const Datum& datum) {
    const auto* fake = datum.fake();
    if (!fake || device_ || (device && !scalar_only)) return;
    if (!device || fake->meta.rank() > 0) device = fake->meta.device;
    scalar_only = fake->meta.rank() == 0;
  };
  for (const auto& arg : args_) {
    look_at(arg);
    if (const auto* list = arg.list())
      for (const auto& item : *list) look_at(item);
  }
  return {FakeTensor{.meta = {.dtype = dtype,
                              .sizes = std::move(sizes),
                              .strides = std::move(strides),
                              .offset = 0,
                              .device = device.value_or(Device{}),
                              .requires_grad = false},
                     .storage = context_.fresh_storage()}};
}

auto MetaCall::view(const FakeTensor& base, Dims sizes, Dims strides, Expr offset) -> Datum {
  return {FakeTensor{.meta = {.dtype = base.meta.dtype,
                              .sizes = std::move(sizes),
                              .strides = std::move(strides),
                              .offset = offset,
                              .device = base.meta.device,
                              .requires_grad = false,
                              .lazy = base.meta.lazy},
                     .storage = base.storage}};
}

auto KernelCall::in(int i) const -> const Tensor& {
  if (const auto* real = arg(i).real()) return *real;
  fail(fmt::format("{}: a tensor is expected, not {}",
                   row_.schema.params[static_cast<std::size_t>(i)].name, to_string(arg(i))));
  return neutral_tensor();
}

auto KernelCall::tensors(int i) const -> std::vector<const Tensor*> {
  std::vector<const Tensor*> tensors;
  if (const auto* list = arg(i).list())
    for (const auto& item : *list) tensors.push_back(item.real());
  return tensors;
}

auto KernelCall::out(int i) -> Tensor& {
  auto* slot = &result_;
  if (auto* list = std::get_if<DatumList>(&slot->value))
    slot = &(*list)[static_cast<std::size_t>(i)];
  auto* tensor = std::get_if<Tensor>(&slot->value);
  ASSAY_CHECK(tensor, "{}: result {} is not a tensor", row_.name(), i);
  return *tensor;
}

auto Composer::call(std::string_view overload, std::initializer_list<Datum> args) -> Datum {
  return call(overload, DatumList(args));
}

auto Composer::call(std::string_view overload, DatumList args) -> Datum {
  if (error_) return {};
  const auto* row = domain_.find(overload);
  ASSAY_CHECK(row, "{} decomposes into {}, which has no row", row_.name(), overload);
  auto bound = bind_arguments(row->schema, std::move(args), {});
  if (!bound) return fail(bound.error()), Datum{};
  auto result = domain_.run(*row, *std::move(bound));
  if (!result) return fail(result.error()), Datum{};
  return *std::move(result);
}

auto Composer::meta(const Datum& tensor) -> TensorMeta {
  if (tensor.is_tensor()) return domain_.meta(tensor);
  fail("a tensor is expected, not " + to_string(tensor));
  return {};
}

auto Composer::item(const Datum& tuple, std::size_t i) -> Datum {
  const auto* list = tuple.list();
  if (!list || i >= list->size()) return fail("a tuple result is expected"), Datum{};
  return (*list)[i];
}

auto int_list(std::span<const std::int64_t> values) -> Datum {
  DatumList list;
  for (const auto value : values) list.push_back({Expr(value)});
  return {std::move(list)};
}

auto int_list(std::span<const Expr> values) -> Datum {
  DatumList list;
  for (const auto& value : values) list.push_back({value});
  return {std::move(list)};
}

auto to_string(const Datum& datum) -> std::string {
  struct Printer {
    auto operator()(std::monostate) const -> std::string { return "None"; }
    auto operator()(const Expr& e) const -> std::string { return print_expr(e); }
    auto operator()(const Complex& z) const -> std::string {
      return fmt::format("({}+{}j)", z.real(), z.imag());
    }
    auto operator()(const std::string& text) const -> std::string { return "'" + text + "'"; }
    auto operator()(DType dtype) const -> std::string {
      return fmt::format("torch.{}", name(dtype));
    }
    auto operator()(const Device& device) const -> std::string { return to_string(device); }
    auto operator()(Layout) const -> std::string { return "a layout"; }
    auto operator()(MemoryFormat) const -> std::string { return "a memory format"; }
    auto operator()(const FakeTensor& fake) const -> std::string { return to_string(fake.meta); }
    auto operator()(const Tensor& tensor) const -> std::string { return to_string(tensor.meta); }
    auto operator()(const DatumList& list) const -> std::string {
      return fmt::format("a list of {}", list.size());
    }
  };
  return std::visit(Printer{}, datum.value);
}

}  // namespace assay
