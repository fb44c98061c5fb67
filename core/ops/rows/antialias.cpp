// Resampling with antialiasing (aten/src/ATen/native/cpu/UpSampleKernel.cpp, the forms with _aa):
// each output position is a weighted mean of all input positions under a filter that grows with the
// step between outputs.
#include <array>
#include <cmath>
#include <numbers>

#include "core/ops/rows/resample_bytes.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

enum class Filter : std::uint8_t { linear, cubic, lanczos };

/// How many inputs it reaches to each side where the step is 1.
auto reach(Filter filter) -> double {
  return filter == Filter::linear ? 1 : filter == Filter::cubic ? 2 : 3;
}

auto filter_value(Filter filter, double x) -> double {
  x = std::fabs(x);
  if (filter == Filter::linear) return x < 1 ? 1 - x : 0;
  if (filter == Filter::lanczos) {
    const auto sinc = [](double at) {
      at *= std::numbers::pi;
      return at == 0 ? 1 : std::sin(at) / at;
    };
    return x < 3 ? sinc(x) * sinc(x / 3) : 0;
  }
  constexpr double kA = -0.5;
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * kA : 0;
}

using Taps = NeighbourTaps;
auto taps_along(std::int64_t in, std::int64_t out, bool corners, double given, Filter filter)
    -> std::vector<Taps> {
  const double step =
      corners     ? (out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0)
      : given > 0 ? 1 / given
                  : static_cast<double>(in) / static_cast<double>(out);
  const double widest = std::max(step, 1.0);
  const double support = reach(filter) * widest;
  std::vector<Taps> all;
  for (std::int64_t i = 0; i < out; ++i) {
    const double centre = step * (static_cast<double>(i) + 0.5);
    Taps taps;
    taps.first = std::max<std::int64_t>(static_cast<std::int64_t>(centre - support + 0.5), 0);
    const auto end = std::min(static_cast<std::int64_t>(centre + support + 0.5), in);
    double total = 0;
    for (auto at = taps.first; at < end; ++at) {
      taps.weights.push_back(
          filter_value(filter, (static_cast<double>(at) - centre + 0.5) / widest));
      total += taps.weights.back();
    }
    if (total != 0)
      for (auto& weight : taps.weights) weight /= total;
    all.push_back(std::move(taps));
  }
  return all;
}

/// self, output_size, align_corners, scales: in the format that self suggests.
auto forward_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  const auto out = c.exprs(1);
  if (!c.require(self.rank() == 4 && out.size() == 2, "images, and two sizes") ||
      !c.require(is_floating(self.dtype) || self.dtype == DType::uint8,
                 "images are floating or bytes"))
    return {};
  for (std::size_t d = 2; d < 4; ++d)
    if (!c.require(gt(self.sizes[d], 0), "the image has pixels") ||
        !c.require(gt(out[d - 2], 0), "the sizes are positive"))
      return {};
  return suggested(c, self, self.dtype, {self.sizes[0], self.sizes[1], out[0], out[1]});
}
/// grad_output, output_size, input_size, align_corners, scales.
auto backward_rule(MetaCall& c) -> Datum {
  const auto& grad = c.meta(0);
  const auto out = c.exprs(1);
  auto in = c.exprs(2);
  if (!c.require(out.size() == 2 && in.size() == 4, "two sizes and four") ||
      !require_same_sizes(c, grad.sizes, {in[0], in[1], out[0], out[1]}, "one gradient per pixel"))
    return {};
  for (std::size_t d = 2; d < 4; ++d)
    if (!c.require(gt(in[d], 0), "the image has pixels") ||
        !c.require(gt(out[d - 2], 0), "the sizes are positive"))
      return {};
  return suggested(c, grad, grad.dtype, std::move(in));
}

template <Filter kFilter, bool kBackward>
void kernel(KernelCall& k) {
  const auto& large = kBackward ? k.out().sizes() : k.in(0).sizes();
  const auto& small = kBackward ? k.in(0).sizes() : k.out().sizes();
  const int corners = kBackward ? 3 : 2;
  std::array<std::vector<Taps>, 2> taps;
  for (std::size_t d = 0; d < 2; ++d) {
    const int scale = corners + 1 + static_cast<int>(d);
    taps[d] = taps_along(large[d + 2], small[d + 2], k.flag(corners),
                         k.has(scale) ? k.real(scale) : 0, kFilter);
  }
  if (!kBackward && k.in(0).dtype() == DType::uint8) return resample_bytes(k.in(0), k.out(), taps);
  const auto from = to_vector<double>(k.in(0));
  std::vector<double> to(static_cast<std::size_t>(k.out().numel()), 0);
  for (std::int64_t plane = 0; plane < large[0] * large[1]; ++plane)
    for (std::int64_t h = 0; h < small[2]; ++h)
      for (std::int64_t w = 0; w < small[3]; ++w) {
        const auto& rows = taps[0][static_cast<std::size_t>(h)];
        const auto& columns = taps[1][static_cast<std::size_t>(w)];
        const auto sample = static_cast<std::size_t>((plane * small[2] + h) * small[3] + w);
        for (std::size_t i = 0; i < rows.weights.size(); ++i)
          for (std::size_t j = 0; j < columns.weights.size(); ++j) {
            const auto row = plane * large[2] + rows.first + static_cast<std::int64_t>(i);
            const auto pixel = static_cast<std::size_t>(row * large[3] + columns.first) + j;
            const double weight = rows.weights[i] * columns.weights[j];
            to[kBackward ? pixel : sample] += weight * from[kBackward ? sample : pixel];
          }
      }
  from_vector<double>(k.out(), to);
}

}  // namespace

// clang-format off
void add_antialias_rows(OpTable& t) {
  t.add({.schema_text = "aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", .rule = forward_rule, .kernel = kernel<Filter::linear, false>});
  t.add({.schema_text = "aten::_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", .rule = forward_rule, .kernel = kernel<Filter::cubic, false>});
  t.add({.schema_text = "aten::_upsample_bilinear2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", .rule = backward_rule, .kernel = kernel<Filter::linear, true>});
  t.add({.schema_text = "aten::_upsample_bicubic2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", .rule = backward_rule, .kernel = kernel<Filter::cubic, true>});
  t.add({.schema_text = "aten::_upsample_lanczos2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", .rule = forward_rule, .kernel = kernel<Filter::lanczos, false>});
  t.add({.schema_text = "aten::_upsample_lanczos2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", .rule = backward_rule, .kernel = kernel<Filter::lanczos, true>});
}
// clang-format on

}  // namespace assay
