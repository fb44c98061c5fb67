// What the normalisation families share.
#pragma once
#include <initializer_list>

#include "core/ops/rules.h"

namespace assay {

/// aten/src/ATen/native/mixed_data_type.h: a reduced-precision input with a float32 parameter keeps
/// its statistics in float32.
inline auto statistics_dtype(MetaCall& c, std::initializer_list<int> params) -> DType {
  const auto input = c.meta(0).dtype;
  if (input != DType::bfloat16 && input != DType::float16) return input;
  for (const int i : params)
    if (c.has(i) && c.meta(i).dtype == DType::float32) return DType::float32;
  return input;
}

/// CUDA's kernels keep the statistics of half types in float32.
inline auto accumulated_dtype(MetaCall& c, DType dtype) -> DType {
  const bool half = is_half(dtype);
  return half && on_cuda(c.meta(0)) ? DType::float32 : dtype;
}

/// Values of an optional parameter, or `fallback` repeated.
inline auto values_or(KernelCall& k, int arg, std::size_t count, double fallback)
    -> std::vector<double> {
  return k.has(arg) ? to_vector<double>(k.in(arg)) : std::vector<double>(count, fallback);
}

/// A bool[3] output_mask argument.
inline auto output_mask(MetaCall& c, int arg) -> std::vector<bool> {
  auto mask = c.flags(arg);
  c.require(mask.size() == 3, "output_mask has three flags");
  mask.resize(3);
  return mask;
}
/// The results of a backward row, None where the mask is off.
inline auto masked_results(const std::vector<bool>& mask, DatumList results) -> Datum {
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!mask[i]) results[i] = Datum{};
  return {std::move(results)};
}
/// Writes a result that the mask may have left out.
inline void store_result(KernelCall& k, std::size_t i, const std::vector<double>& values) {
  const auto* list = k.result().list();
  if (list && !(*list)[i].is_none()) from_vector<double>(k.out(static_cast<int>(i)), values);
}

/// Mean and variance (of the population) of a row.
struct Moments {
  double mean = 0;
  double variance = 0;
};
template <class Row>
auto moments_of(const Row& row, std::size_t count) -> Moments {
  Moments m;
  const auto n = static_cast<double>(count);
  for (const double x : row) m.mean += x;
  m.mean /= n;
  for (const double x : row) m.variance += (x - m.mean) * (x - m.mean);
  m.variance /= n;
  return m;
}

}  // namespace assay
