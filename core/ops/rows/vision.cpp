// Regions of images: what torchvision's detectors call (torchvision/csrc/ops/cpu/nms_kernel.cpp,
// roi_align_common.h), and affine grids (aten/src/ATen/native/AffineGridGenerator.cpp).
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/ops/rules.h"

namespace assay {
namespace {

// ---- suppression --------------------------------------------------------------------------------

/// dets [boxes, 4], scores [boxes], iou_threshold: the boxes that are kept, best first.
auto nms_rule(MetaCall& c) -> Datum {
  const auto& boxes = c.meta(0);
  const auto& scores = c.meta(1);
  if (!c.require(boxes.rank() == 2 && scores.rank() == 1, "boxes are rows, scores a vector") ||
      !c.require(eq(boxes.sizes[1], 4), "a box has four coordinates") ||
      !c.require(eq(boxes.sizes[0], scores.sizes[0]), "one score per box") ||
      !c.require(boxes.dtype == scores.dtype, "boxes and scores have one dtype"))
    return {};
  return c.fresh(DType::int64, {c.context().data_dependent_value(ExprType::integer)});
}
auto kept_boxes(KernelCall& k) -> Ints {
  const auto dtype = k.in(0).dtype();
  const auto boxes = to_vector<double>(k.in(0));
  const auto scores = to_vector<double>(k.in(1));
  const auto rounded = [&](double value) { return round_to(dtype, value); };
  const auto extent = [&](double low, double high) { return std::max(0.0, rounded(high - low)); };
  const auto area = [&](const double* b) { return rounded((b[2] - b[0]) * (b[3] - b[1])); };
  if (boxes.size() != 4 * scores.size())  // this runs before the rule
    return k.fail("a box has four coordinates and a score"), Ints{};
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](auto a, auto b) { return scores[a] > scores[b]; });
  Ints kept;
  for (const auto candidate : order) {
    const double* b = boxes.data() + 4 * candidate;
    const bool is_covered = std::ranges::any_of(kept, [&](std::int64_t better) {
      const double* a = boxes.data() + 4 * better;
      const double common = rounded(extent(std::max(a[0], b[0]), std::min(a[2], b[2])) *
                                    extent(std::max(a[1], b[1]), std::min(a[3], b[3])));
      return rounded(common / rounded(rounded(area(a) + area(b)) - common)) > k.real(2);
    });
    if (!is_covered) kept.push_back(static_cast<std::int64_t>(candidate));
  }
  return kept;
}
auto measure_nms(KernelCall& k) -> Dims {
  return {static_cast<std::int64_t>(kept_boxes(k).size())};
}
void nms_kernel(KernelCall& k) {
  from_vector<std::int64_t>(k.out(), kept_boxes(k));
}

// ---- aligned regions ----------------------------------------------------------------------------

// input [N, C, H, W], rois [regions, 5] (image, x1, y1, x2, y2), spatial_scale, pooled_height,
// pooled_width, sampling_ratio, aligned.
auto roi_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(0);
  const auto& rois = c.meta(1);
  if (!c.require(input.rank() == 4 && rois.rank() == 2, "images, and one region per row") ||
      !c.require(eq(rois.sizes[1], 5), "a region has an image and four coordinates") ||
      !c.require(input.dtype == rois.dtype && is_floating(input.dtype),
                 "images and regions have one floating dtype") ||
      !c.require(logic_and(gt(input.sizes[2], 0), gt(input.sizes[3], 0)), "images have pixels") ||
      !c.require(logic_and(ge(c.expr(3), 0), ge(c.expr(4), 0)), "the bins are counted"))
    return {};
  return c.fresh(input.dtype, {rois.sizes[0], input.sizes[1], c.expr(3), c.expr(4)});
}
/// One dimension of a region: where samples lie, and the pixels around one.
struct Side {
  double start = 0, step = 0;
  std::int64_t samples = 0, size = 0;
  [[nodiscard]] auto at(std::int64_t bin, std::int64_t sample) const -> double {
    return start + step * (static_cast<double>(bin) +
                           (static_cast<double>(sample) + 0.5) / static_cast<double>(samples));
  }
  /// Pixels and their weights; outside of the image there are none.
  [[nodiscard]] auto taps(double x) const -> std::array<std::pair<std::int64_t, double>, 2> {
    if (!(x >= -1 && x <= static_cast<double>(size))) return {{{0, 0}, {0, 0}}};
    x = std::max(x, 0.0);
    const auto low = static_cast<std::int64_t>(x);
    if (low >= size - 1) return {{{size - 1, 1}, {size - 1, 0}}};
    const double share = x - static_cast<double>(low);
    return {{{low, 1 - share}, {low + 1, share}}};
  }
};
auto side_of(KernelCall& k, double low, double high, std::int64_t bins, std::int64_t size) -> Side {
  const bool aligned = k.flag(param(k, "aligned"));
  const double scale = k.real(2);
  const double start = low * scale - (aligned ? 0.5 : 0);
  double length = high * scale - (aligned ? 0.5 : 0) - start;
  if (!aligned) length = std::max(length, 1.0);
  const double step = length / static_cast<double>(bins);
  const auto given = k.integer(param(k, "sampling_ratio"));
  constexpr double kMostSamples = 1 << 20;
  if (!(step < kMostSamples) || given > static_cast<std::int64_t>(kMostSamples))
    k.fail("a region is finite");
  if (k.error()) return {};
  return {start, step, given > 0 ? given : static_cast<std::int64_t>(std::ceil(step)), size};
}
/// Calls `tap(bin, pixel, weight, samples)` for every pixel around every sample of every bin, bins
/// in the order of [regions, C, pooled_height, pooled_width], pixels of images of `sizes`.
template <class Tap>
void each_tap(KernelCall& k, const Ints& sizes, const Tap& tap) {
  const auto rois = to_vector<double>(k.in(1));
  const auto height = k.integer(3), width = k.integer(4);
  std::size_t bin = 0;
  for (std::size_t roi = 0; roi * 5 < rois.size(); ++roi) {
    const double* r = rois.data() + roi * 5;
    const auto image = static_cast<std::int64_t>(r[0]);
    if (!(r[0] > -1) || image >= sizes[0]) return void(k.fail("a region names an image"));
    const auto x = side_of(k, r[1], r[3], width, sizes[3]);
    const auto y = side_of(k, r[2], r[4], height, sizes[2]);
    if (k.error()) return;
    const auto count = static_cast<double>(std::max<std::int64_t>(x.samples * y.samples, 1));
    for (std::int64_t channel = 0; channel < sizes[1]; ++channel) {
      const auto plane = (image * sizes[1] + channel) * sizes[2] * sizes[3];
      for (std::int64_t at = 0; at < height * width; ++at, ++bin)
        for (std::int64_t i = 0; i < y.samples; ++i)
          for (std::int64_t j = 0; j < x.samples; ++j)
            for (const auto& [row, row_weight] : y.taps(y.at(at / width, i)))
              for (const auto& [col, col_weight] : x.taps(x.at(at % width, j)))
                tap(bin, static_cast<std::size_t>(plane + row * sizes[3] + col),
                    row_weight * col_weight, count);
    }
  }
}
void roi_align_kernel(KernelCall& k) {
  const auto input = to_vector<double>(k.in(0));
  std::vector<double> sums(static_cast<std::size_t>(k.out().numel()), 0), counts(sums.size(), 1);
  each_tap(k, k.in(0).sizes(),
           [&](std::size_t bin, std::size_t pixel, double weight, double count) {
             sums[bin] += weight * input[pixel];
             counts[bin] = count;
           });
  for (std::size_t bin = 0; bin < sums.size(); ++bin) sums[bin] /= counts[bin];
  if (!k.error()) from_vector<double>(k.out(), sums);
}

/// grad, rois, spatial_scale, pooled_height, pooled_width, batch_size, channels, height, width,
/// ...: each gradient goes where its value came from.
auto roi_backward_rule(MetaCall& c) -> Datum {
  const auto& grad = c.meta(0);
  const auto& rois = c.meta(1);
  if (!c.require(rois.rank() == 2 && grad.rank() == 4, "planes of bins, and one region per row") ||
      !c.require(eq(rois.sizes[1], 5), "a region has an image and four coordinates") ||
      !c.require(rois.dtype == grad.dtype && is_floating(grad.dtype), "one floating dtype") ||
      !require_same_sizes(c, grad.sizes, {rois.sizes[0], c.expr(6), c.expr(3), c.expr(4)},
                          "one gradient per bin"))
    return {};
  for (int i = 5; i <= 8; ++i)
    if (!c.require(gt(c.expr(i), 0), "images have pixels")) return {};
  return c.fresh(grad.dtype, {c.expr(5), c.expr(6), c.expr(7), c.expr(8)});
}
void roi_align_backward_kernel(KernelCall& k) {
  const auto grad = to_vector<double>(k.in(0));
  std::vector<double> result(static_cast<std::size_t>(k.out().numel()), 0);
  each_tap(k, k.out().sizes(),
           [&](std::size_t bin, std::size_t pixel, double weight, double count) {
             result[pixel] += weight * grad[bin] / count;
           });
  if (!k.error()) from_vector<double>(k.out(), result);
}

// ---- affine grids -------------------------------------------------------------------------------

/// theta [N, d, d + 1], size [N, C, sizes...], align_corners: positions [N, sizes..., d].
auto affine_grid_rule(MetaCall& c) -> Datum {
  const auto& theta = c.meta(0);
  const auto size = c.exprs(1);
  const auto spatial = static_cast<std::int64_t>(size.size()) - 2;
  if (!c.require(spatial == 2 || spatial == 3, "images or volumes") ||
      !c.require(theta.rank() == 3 && is_floating(theta.dtype), "one matrix per image") ||
      !require_same_sizes(c, theta.sizes, {size[0], Expr(spatial), Expr(spatial + 1)},
                          "a matrix has a row per dimension"))
    return {};
  Dims sizes{size[0]};
  sizes.insert(sizes.end(), size.begin() + 2, size.end());
  sizes.emplace_back(spatial);
  return c.fresh(theta.dtype, std::move(sizes));
}
void affine_grid_kernel(KernelCall& k) {
  const auto theta = to_vector<double>(k.in(0));
  const auto size = k.integers(1);
  const bool corners = k.flag(2);
  const auto spatial = size.size() - 2;
  const auto along = [&](std::size_t dim, std::int64_t at) {
    const auto n = static_cast<double>(size[dim + 2]);
    if (n <= 1) return 0.0;
    const double x = 2 * static_cast<double>(at) / (n - 1) - 1;
    return corners ? x : x * (n - 1) / n;
  };
  std::vector<double> result;
  const Ints positions(size.begin() + 2, size.end());
  for (std::size_t n = 0; n < static_cast<std::size_t>(size[0]); ++n)
    for_each_index(positions, [&](const Ints& at) {
      for (std::size_t row = 0; row < spatial; ++row) {
        const double* m = theta.data() + (n * spatial + row) * (spatial + 1);
        double sum = m[spatial];
        for (std::size_t d = 0; d < spatial; ++d)  // x comes first and is the last dimension
          sum += m[d] * along(spatial - 1 - d, at[spatial - 1 - d]);
        result.push_back(sum);
      }
    });
  from_vector<double>(k.out(), result);
}

}  // namespace

// clang-format off
void add_vision_rows(OpTable& t) {
  t.add({.schema_text = "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor", .rule = nms_rule, .kernel = nms_kernel, .measure = measure_nms});
  t.add({.schema_text = "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor", .rule = roi_rule, .kernel = roi_align_kernel});
  t.add({.schema_text = "torchvision::_roi_align_backward(Tensor grad, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width, int sampling_ratio, bool aligned) -> Tensor", .rule = roi_backward_rule, .kernel = roi_align_backward_kernel});
  t.add({.schema_text = "aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor", .rule = affine_grid_rule, .kernel = affine_grid_kernel});
}
// clang-format on

}  // namespace assay
