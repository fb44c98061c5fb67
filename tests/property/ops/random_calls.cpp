#include "tests/property/ops/random_calls.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "core/ops/call.h"

namespace assay::testing {
namespace {

/// Strides of a dense tensor whose innermost dimension, the last of `order`, has stride `step`.
auto ordered_strides(const Ints& sizes, const std::vector<std::size_t>& order, std::int64_t step)
    -> Ints {
  Ints strides(sizes.size());
  for (auto i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step *= std::max<std::int64_t>(sizes[order[i]], 1);
  }
  return strides;
}

auto in_order(std::size_t rank) -> std::vector<std::size_t> {
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Sizes related to `base` as operands often are: equal, broadcast, transposed, one dimension.
auto related_sizes(Random& random, const Ints& base) -> Ints {
  auto sizes = base;
  switch (pick(random, 5)) {
    case 0:
      return random_sizes(random);
    case 1:
      if (!sizes.empty()) sizes[pick(random, sizes.size())] = 1;
      return sizes;
    case 2:
      std::ranges::reverse(sizes);
      return sizes;
    case 3:
      return sizes.empty() ? sizes : Ints{sizes[pick(random, sizes.size())]};
    default:
      return sizes;
  }
}

auto random_scalar(Random& random, const Param& param) -> Datum {
  switch (param.kind) {
    case ParamKind::integer:
      return {Expr(static_cast<std::int64_t>(pick(random, 4)) - 1)};
    case ParamKind::number:
    case ParamKind::real:
      return {chance(random, 2) ? Expr::real(0.5) : Expr(1)};
    case ParamKind::flag:
      return {Expr::boolean(chance(random, 2))};
    case ParamKind::dtype:
      return {chance(random, 2) ? DType::float32 : DType::int64};
    case ParamKind::text: {
      const char* words[] = {"none", "floor", "trunc",    "tanh",
                             "sum",  "amax",  "constant", "reflect"};
      return {std::string(words[pick(random, std::size(words))])};
    }
    case ParamKind::device:
      return {Device{}};
    case ParamKind::layout:
      return {Layout::strided};
    case ParamKind::memory_format:
      return {chance(random, 2) ? MemoryFormat::contiguous : MemoryFormat::preserve};
    case ParamKind::tensor:
    case ParamKind::other:
      return {};
  }
  return {};
}

auto random_argument(Random& random, const Param& param, const Ints& base, DType dtype,
                     const ArgumentStyle& style) -> Datum {
  if (param.has_default && chance(random, 2)) return param.default_value;
  if (param.optional && chance(random, 3)) return {};
  const auto tensor = [&](DType type, const Ints& sizes) -> Datum {
    const auto layout =
        style.contiguous ? all_layouts(sizes).front() : random_layout(random, sizes);
    return {filled_tensor(random, type, sizes, layout)};
  };
  const auto one = [&]() -> Datum {
    if (param.kind != ParamKind::tensor) return random_scalar(random, param);
    const DType other = chance(random, 4) ? DType::int64 : dtype;
    return tensor(other, style.same_sizes ? base : related_sizes(random, base));
  };
  if (!param.is_list) return one();
  DatumList items;
  const auto count =
      param.list_length ? static_cast<std::size_t>(param.list_length) : pick(random, 5);
  // Lists of sizes often repeat the base's own.
  if (param.kind == ParamKind::integer && chance(random, 3)) return int_list(base);
  for (std::size_t i = 0; i < count; ++i)
    items.push_back(param.kind == ParamKind::tensor && i > 0 && chance(random, 2)
                        ? tensor(dtype, items[0].real()->sizes())
                        : one());
  return {std::move(items)};
}

}  // namespace

auto LayoutChoice::repeats_elements(const Ints& sizes) const -> bool {
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (strides[i] == 0 && sizes[i] > 1) return true;
  return false;
}

auto all_layouts(const Ints& sizes) -> std::vector<LayoutChoice> {
  std::vector<std::vector<std::size_t>> orders;
  auto order = in_order(sizes.size());
  if (sizes.size() <= 3) {
    do {
      orders.push_back(order);
    } while (std::ranges::next_permutation(order).found);
  } else {
    orders.push_back(order);
    auto channels_last = order;
    std::rotate(channels_last.begin() + 1, channels_last.begin() + 2, channels_last.end());
    orders.push_back(channels_last);
    std::ranges::reverse(order);
    orders.push_back(order);
  }
  std::vector<LayoutChoice> layouts;
  for (const std::int64_t step : {1, 2})
    for (const auto& each : orders) layouts.push_back({ordered_strides(sizes, each, step), 0});
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    if (sizes[dim] < 2) continue;
    auto inner = sizes;
    inner[dim] = 1;
    auto strides = ordered_strides(inner, orders.front(), 1);
    strides[dim] = 0;
    layouts.push_back({strides, 0});
  }
  layouts.push_back({layouts.front().strides, 3});
  return layouts;
}

auto random_layout(Random& random, const Ints& sizes) -> LayoutChoice {
  auto order = in_order(sizes.size());
  if (chance(random, 2)) std::ranges::shuffle(order, random);
  if (sizes.size() == 4 && chance(random, 3)) order = {0, 2, 3, 1};
  LayoutChoice layout{Ints(sizes.size()), chance(random, 4) ? 3 : 0};
  std::int64_t step = chance(random, 4) ? 2 : 1;
  const bool expanded = chance(random, 6);
  for (auto i = order.size(); i-- > 0;) {
    auto& stride = layout.strides[order[i]];
    stride = expanded && chance(random, 3) ? 0 : step;
    if (stride != 0) step *= std::max<std::int64_t>(sizes[order[i]], 1);
  }
  return layout;
}

auto filled_tensor(Random& random, DType dtype, const Ints& sizes, const LayoutChoice& layout)
    -> Tensor {
  const auto elems = required_elems(sizes, layout.strides, layout.offset).value_or(0);
  const auto bytes = std::max(elems, layout.offset) * size_bytes(dtype);
  Tensor tensor{std::make_shared<Storage>(bytes),
                RealMeta{dtype, sizes, layout.strides, layout.offset, bytes, {}}};
  const auto count = bytes / size_bytes(dtype);
  Tensor flat{tensor.storage, RealMeta{dtype, {count}, {1}, 0, bytes, {}}};
  std::vector<double> values(static_cast<std::size_t>(count));
  for (auto& value : values)
    value = is_floating(dtype) || is_complex(dtype)
                ? std::uniform_real_distribution<double>(0.1, 0.9)(random)
                : static_cast<double>(pick(random, 2));
  from_vector<double>(flat, values);
  return tensor;
}

auto random_sizes(Random& random) -> Ints {
  Ints sizes(pick(random, 5));
  for (auto& size : sizes)
    size = static_cast<std::int64_t>(chance(random, 4) ? pick(random, 4) : 1 + pick(random, 5));
  return sizes;
}

auto random_dtype(Random& random) -> DType {
  if (chance(random, 6)) return DType::int64;
  if (chance(random, 8)) return DType::boolean;
  return chance(random, 10) ? DType::complex64 : DType::float32;
}

auto random_arguments(Random& random, const Schema& schema, const Ints& base, DType dtype,
                      const ArgumentStyle& style) -> Result<DatumList> {
  DatumList args;
  for (const auto& param : schema.params)
    args.push_back(random_argument(random, param, base, dtype, style));
  return bind_arguments(schema, std::move(args), {});
}

auto tensors_of(const Datum& datum) -> std::vector<Tensor> {
  std::vector<Tensor> tensors;
  map_tensors(datum, [&](const Tensor& tensor) {
    tensors.push_back(tensor);
    return Datum{};
  });
  return tensors;
}

auto describe_call(const DatumList& args) -> std::string {
  std::string text;
  for (const auto& arg : args) {
    text += text.empty() ? "(" : ", ";
    if (!arg.list()) {
      text += to_string(arg);
      continue;
    }
    text += "[";
    for (const auto& item : *arg.list()) text += to_string(item) + " ";
    text += "]";
  }
  return text + ")";
}

}  // namespace assay::testing
