#include "core/ops/elements.h"

#include <array>
#include <cstring>

#include "core/base/check.h"

namespace assay {
namespace {

/// Calls f with an unsigned carrier as large as one element of the dtype.
template <class F>
void with_carrier(DType dtype, F&& f) {
  switch (size_bytes(dtype)) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
    case 16:
      return f(std::array<std::uint64_t, 2>{});
    default:
      ASSAY_CHECK(false, "an element of {} bytes", size_bytes(dtype));
  }
}

}  // namespace

auto element_offsets(const Ints& sizes, const Ints& strides, std::int64_t offset) -> Ints {
  Ints offsets;
  offsets.reserve(static_cast<std::size_t>(numel(sizes)));
  const Ints* all_strides[] = {&strides};
  const auto inner = strides.empty() ? 0 : strides.back();
  for_each_run(sizes, all_strides, [&](std::span<const std::int64_t> at, std::int64_t run) {
    for (std::int64_t i = 0; i < run; ++i) offsets.push_back(offset + at[0] + i * inner);
  });
  return offsets;
}

auto element_offsets(const Tensor& tensor) -> Ints {
  return element_offsets(tensor.sizes(), tensor.strides(), tensor.meta.offset);
}

void move_elements(const Tensor& from, std::span<const std::int64_t> from_at, Tensor& to,
                   std::span<const std::int64_t> to_at) {
  ASSAY_CHECK(size_bytes(from.dtype()) == size_bytes(to.dtype()) && from_at.size() == to_at.size(),
              "{} to {}", to_string(from.meta), to_string(to.meta));
  with_carrier(from.dtype(), [&]<class Carrier>(Carrier) {
    const auto* source = reinterpret_cast<const Carrier*>(from.storage->bytes().data());
    auto* target = reinterpret_cast<Carrier*>(to.storage->bytes().data());
    for (std::size_t i = 0; i < from_at.size(); ++i)
      if (from_at[i] >= 0) target[to_at[i]] = source[from_at[i]];
  });
  if (from.meta.lazy == to.meta.lazy) return;
  for (std::size_t i = 0; i < from_at.size(); ++i) {
    Complex value;
    if (from_at[i] < 0) continue;
    load_elems<Complex>(from, from_at[i], 1, {&value, 1});
    store_elems<Complex>(to, to_at[i], 1, std::span<const Complex>(&value, 1));
  }
}

void copy_bits(const Tensor& from, Tensor& to) {
  ASSAY_CHECK(from.dtype() == to.dtype() && from.sizes() == to.sizes(), "{} to {}",
              to_string(from.meta), to_string(to.meta));
  move_elements(from, element_offsets(from), to, element_offsets(to));
}

void fill_elements(Tensor& to, Complex value) {
  const auto count = static_cast<std::size_t>(to.numel());
  if (is_complex(to.dtype()))
    from_vector<Complex>(to, std::vector<Complex>(count, value));
  else if (is_floating(to.dtype()))
    from_vector<double>(to, std::vector<double>(count, value.real()));
  else if (to.dtype() == DType::boolean)
    from_vector<std::int64_t>(to, std::vector<std::int64_t>(count, value != Complex(0) ? 1 : 0));
  else
    from_vector<std::int64_t>(
        to, std::vector<std::int64_t>(count, static_cast<std::int64_t>(value.real())));
}

}  // namespace assay
