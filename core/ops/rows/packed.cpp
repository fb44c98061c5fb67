// Sequences of different lengths as one tensor: padded to the longest, or packed time after time
// (aten/src/ATen/native/PackedSequence.cpp).
#include <algorithm>

#include "core/ops/rules.h"

namespace assay {
namespace {

/// A padded tensor with the time first, [time, batch, features...].
auto by_time(const Tensor& padded, bool batch_first) -> Tensor {
  auto result = padded;
  if (batch_first) {
    std::swap(result.meta.sizes[0], result.meta.sizes[1]);
    std::swap(result.meta.strides[0], result.meta.strides[1]);
  }
  return result;
}
/// The same of fresh sizes [time, batch, features...].
auto fresh_by_time(MetaCall& c, DType dtype, Dims sizes, bool batch_first) -> Datum {
  auto strides = contiguous_strides(sizes);
  if (batch_first) {
    std::swap(sizes[0], sizes[1]);
    std::swap(strides[0], strides[1]);
  }
  return c.fresh(dtype, std::move(sizes), std::move(strides));
}
/// Moves the rows of packed data to or from their places in a padded tensor with the time first:
/// f(row, place), where place counts rows of the padded tensor.
template <class F>
void for_each_row(const Ints& batch_sizes, std::int64_t batch, const F& f) {
  std::int64_t row = 0;
  for (std::size_t t = 0; t < batch_sizes.size(); ++t)
    for (std::int64_t b = 0; b < batch_sizes[t]; ++b)
      f(row++, static_cast<std::int64_t>(t) * batch + b);
}
/// Element offsets of the rows that `places` name of a tensor, -1 for none; row-major in each row.
auto row_offsets(const Tensor& tensor, std::size_t lead, const Ints& places) -> Ints {
  const Ints inner(tensor.sizes().begin() + static_cast<std::ptrdiff_t>(lead),
                   tensor.sizes().end());
  const Ints inner_strides(tensor.strides().begin() + static_cast<std::ptrdiff_t>(lead),
                           tensor.strides().end());
  const auto within = element_offsets(inner, inner_strides, 0);
  const Ints outer(tensor.sizes().begin(),
                   tensor.sizes().begin() + static_cast<std::ptrdiff_t>(lead));
  const Ints outer_strides(tensor.strides().begin(),
                           tensor.strides().begin() + static_cast<std::ptrdiff_t>(lead));
  const auto starts = element_offsets(outer, outer_strides, tensor.meta.offset);
  Ints offsets;
  for (const auto place : places)
    for (const auto step : within)
      offsets.push_back(starts[static_cast<std::size_t>(place)] + step);
  return offsets;
}

// ---- packing ------------------------------------------------------------------------------------

/// input, lengths (decreasing), batch_first: rows, and the sequences that are there at each time.
auto pack_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(0);
  const auto& lengths = c.meta(1);
  if (!c.require(input.rank() >= 2, "the input has time and batch") ||
      !c.require(lengths.rank() == 1 && lengths.dtype == DType::int64, "lengths are int64") ||
      !c.require(eq(lengths.sizes[0], input.sizes[c.flag(2) ? 0 : 1]), "one length per sequence"))
    return {};
  Dims sizes{c.context().data_dependent_value(ExprType::integer)};
  sizes.insert(sizes.end(), input.sizes.begin() + 2, input.sizes.end());
  auto data = c.fresh(input.dtype, std::move(sizes));
  c.set_device(Device{});  // the counts stay on the host
  return {DatumList{std::move(data),
                    c.fresh(DType::int64, {c.context().data_dependent_value(ExprType::integer)})}};
}
auto batch_sizes_of(KernelCall& k) -> Ints {
  const auto& input = k.in(0);
  if (input.rank() < 2) return k.fail("the input has time and batch"), Ints{};  // before the rule
  const auto lengths = to_vector<std::int64_t>(k.in(1));
  const auto time = input.sizes()[k.flag(2) ? 1 : 0];
  if (lengths.empty() || !std::ranges::is_sorted(lengths, std::ranges::greater{}) ||
      lengths.back() <= 0 || lengths.front() > time)
    return k.fail("lengths decrease, are above 0 and within the input"), Ints{};
  Ints counts;
  for (std::int64_t t = 0; t < lengths.front(); ++t)
    counts.push_back(std::ranges::count_if(lengths, [&](auto length) { return length > t; }));
  return counts;
}
auto measure_pack(KernelCall& k) -> Dims {
  const auto counts = batch_sizes_of(k);
  std::int64_t rows = 0;
  for (const auto count : counts) rows += count;
  return {rows, static_cast<std::int64_t>(counts.size())};
}
void pack_kernel(KernelCall& k) {
  const auto counts = batch_sizes_of(k);
  if (k.error()) return;
  const auto input = by_time(k.in(0), k.flag(2));
  Ints rows, places;
  for_each_row(counts, input.sizes()[1], [&](std::int64_t row, std::int64_t place) {
    rows.push_back(row);
    places.push_back(place);
  });
  move_elements(input, row_offsets(input, 2, places), k.out(0), row_offsets(k.out(0), 1, rows));
  from_vector<std::int64_t>(k.out(1), counts);
}

// ---- padding ------------------------------------------------------------------------------------

auto checked_batch_sizes(KernelCall& k, int arg) -> Ints {
  const auto counts = to_vector<std::int64_t>(k.in(arg));
  std::int64_t rows = 0;
  for (const auto count : counts) rows += count;
  if (counts.empty() || !std::ranges::is_sorted(counts, std::ranges::greater{}) ||
      counts.back() <= 0 || k.in(0).sizes().empty() || rows != k.in(0).sizes()[0])
    return k.fail("batch sizes decrease and count the rows"), Ints{};
  return counts;
}
/// data, batch_sizes, batch_first, padding_value, total_length: the sequences, and their lengths.
auto pad_rule(MetaCall& c) -> Datum {
  const auto& data = c.meta(0);
  const auto& counts = c.meta(1);
  if (!c.require(data.rank() >= 1, "data are rows") ||
      !c.require(counts.rank() == 1 && counts.dtype == DType::int64, "batch sizes are int64"))
    return {};
  auto time = counts.sizes[0];
  if (c.integer(4) > 0) {
    if (!c.require(ge(c.expr(4), time), "the total length holds the longest")) return {};
    time = c.expr(4);
  }
  const auto batch = c.context().data_dependent_value(ExprType::integer);
  Dims sizes{time, batch};
  sizes.insert(sizes.end(), data.sizes.begin() + 1, data.sizes.end());
  auto padded = fresh_by_time(c, data.dtype, std::move(sizes), c.flag(2));
  c.set_device(Device{});
  return {DatumList{std::move(padded), c.fresh(DType::int64, {batch})}};
}
auto measure_pad(KernelCall& k) -> Dims {
  const auto counts = checked_batch_sizes(k, 1);
  return {counts.empty() ? 0 : counts.front()};
}
void pad_kernel(KernelCall& k) {
  const auto counts = checked_batch_sizes(k, 1);
  if (k.error()) return;
  auto padded = by_time(k.out(0), k.flag(2));
  fill_elements(padded, k.number(3));
  Ints rows, places;
  Ints lengths(static_cast<std::size_t>(counts.front()), 0);
  for_each_row(counts, counts.front(), [&](std::int64_t row, std::int64_t place) {
    rows.push_back(row);
    places.push_back(place);
    ++lengths[static_cast<std::size_t>(place % counts.front())];
  });
  move_elements(k.in(0), row_offsets(k.in(0), 1, rows), padded, row_offsets(padded, 2, places));
  from_vector<std::int64_t>(k.out(1), lengths);
}

/// grad (packed), input_size, batch_sizes, batch_first: zeros where nothing was packed.
auto pack_backward_rule(MetaCall& c) -> Datum {
  auto sizes = c.exprs(1);
  const auto& grad = c.meta(0);
  if (!c.require(sizes.size() >= 2 && grad.rank() >= 1, "the input has time and batch") ||
      !require_same_sizes(c, {grad.sizes.begin() + 1, grad.sizes.end()},
                          {sizes.begin() + 2, sizes.end()}, "rows have the input's features"))
    return {};
  if (c.flag(3)) std::swap(sizes[0], sizes[1]);
  return fresh_by_time(c, c.meta(0).dtype, std::move(sizes), c.flag(3));
}
void pack_backward_kernel(KernelCall& k) {
  const auto counts = checked_batch_sizes(k, 2);
  if (k.error()) return;
  auto result = by_time(k.out(), k.flag(3));
  if (static_cast<std::int64_t>(counts.size()) > result.sizes()[0] ||
      counts.front() > result.sizes()[1])
    return void(k.fail("the packed rows fit the input"));
  fill_elements(result, 0);
  Ints rows, places;
  for_each_row(counts, result.sizes()[1], [&](std::int64_t row, std::int64_t place) {
    rows.push_back(row);
    places.push_back(place);
  });
  move_elements(k.in(0), row_offsets(k.in(0), 1, rows), result, row_offsets(result, 2, places));
}

}  // namespace

// clang-format off
void add_packed_rows(OpTable& t) {
  t.add({.schema_text = "aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)", .rule = pack_rule, .kernel = pack_kernel, .measure = measure_pack});
  t.add({.schema_text = "aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) -> (Tensor, Tensor)", .rule = pad_rule, .kernel = pad_kernel, .measure = measure_pad});
  t.add({.schema_text = "aten::_pack_padded_sequence_backward(Tensor grad, SymInt[] input_size, Tensor batch_sizes, bool batch_first) -> Tensor", .rule = pack_backward_rule, .kernel = pack_backward_kernel});
}
// clang-format on

}  // namespace assay
