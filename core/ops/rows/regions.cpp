// Pools over regions of images, and convolutions whose taps move (torchvision/csrc/ops/cpu:
// roi_pool_kernel.cpp, ps_roi_pool_kernel.cpp, ps_roi_align_kernel.cpp, roi_align_common.h,
// deform_conv2d_kernel.cpp).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/ops/rules.h"

namespace assay {
namespace {

/// input [N, C, H, W], rois [regions, 5] (image, x1, y1, x2, y2), spatial_scale, pooled_height,
/// pooled_width.
struct Pool {
  std::int64_t channels, height, width, rows, columns;
  double scale;
};
auto pool_of(KernelCall& k) -> Pool {
  const auto& sizes = k.in(0).sizes();
  return {sizes[1], sizes[2], sizes[3], k.integer(3), k.integer(4), k.real(2)};
}
auto require_regions(MetaCall& c) -> bool {
  const auto& input = c.meta(0);
  const auto& rois = c.meta(1);
  return c.require(input.rank() == 4 && rois.rank() == 2, "images, and one region per row") &&
         c.require(eq(rois.sizes[1], 5), "a region has an image and four coordinates") &&
         c.require(input.dtype == rois.dtype && is_floating(input.dtype),
                   "images and regions have one floating dtype") &&
         c.require(logic_and(gt(c.expr(3), 0), gt(c.expr(4), 0)), "there are bins");
}
/// The pooled values, and where each came from.
auto pooled_rule(MetaCall& c) -> Datum {
  if (!require_regions(c)) return {};
  const auto& input = c.meta(0);
  const Dims sizes{c.meta(1).sizes[0], input.sizes[1], c.expr(3), c.expr(4)};
  return {DatumList{c.fresh(input.dtype, sizes), c.fresh(DType::int32, sizes)}};
}
/// Each bin has channels of its own.
auto position_sensitive_rule(MetaCall& c) -> Datum {
  if (!require_regions(c)) return {};
  const auto& input = c.meta(0);
  const auto bins = c.expr(3) * c.expr(4);
  if (!c.require(eq(mod(input.sizes[1], bins), 0), "channels are a multiple of the bins"))
    return {};
  const Dims sizes{c.meta(1).sizes[0], floor_div(input.sizes[1], bins), c.expr(3), c.expr(4)};
  return {DatumList{c.fresh(input.dtype, sizes), c.fresh(DType::int32, sizes)}};
}

/// One region: its image, and start and length along y and x in pixels.
struct Region {
  std::int64_t image = 0;
  std::array<double, 2> start{}, length{};
};
/// `exact`: between the pixels' corners, else whole pixels, the last of which counts if
/// `inclusive`.
auto region_at(KernelCall& k, const double* roi, bool exact, bool inclusive) -> Region {
  Region region;
  const double scale = k.real(2);
  const auto images = k.in(0).sizes()[0];
  if (!(roi[0] > -1) || !(roi[0] < static_cast<double>(images)))
    return k.fail("a region names an image"), region;
  region.image = static_cast<std::int64_t>(roi[0]);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const auto edge = [&](std::size_t i) {
      const double at = round_to(k.in(0).dtype(), roi[i] * scale);
      return exact ? at - 0.5 : std::round(at);
    };
    region.start[axis] = edge(2 - axis);
    region.length[axis] = edge(4 - axis) - region.start[axis];
    if (!exact) region.length[axis] = std::max(region.length[axis] + (inclusive ? 1 : 0), 1.0);
  }
  constexpr double kMost = 1 << 20;
  for (const double length : region.length)
    if (!(std::fabs(length) < kMost)) k.fail("a region is finite");
  return region;
}
using Interval = std::pair<std::int64_t, std::int64_t>;
/// Pixels [begin, end) of a bin, of those up to `size`.
auto pixels(const Region& region, std::size_t axis, std::int64_t bin, std::int64_t bins,
            std::int64_t size) -> Interval {
  const auto step = static_cast<float>(region.length[axis]) / static_cast<float>(bins);
  const auto at = [&](std::int64_t edge, bool up) {
    const float scaled = static_cast<float>(edge) * step;
    const auto whole = static_cast<std::int64_t>(up ? std::ceil(scaled) : std::floor(scaled));
    return std::clamp<std::int64_t>(whole + static_cast<std::int64_t>(region.start[axis]), 0, size);
  };
  return {at(bin, false), at(bin + 1, true)};
}

void roi_pool_kernel(KernelCall& k) {
  const auto pool = pool_of(k);
  const auto input = to_vector<double>(k.in(0));
  const auto rois = to_vector<double>(k.in(1));
  std::vector<double> values;
  std::vector<std::int64_t> sources;
  for (std::size_t at = 0; at * 5 < rois.size(); ++at) {
    const auto region = region_at(k, rois.data() + at * 5, false, true);
    if (k.error()) return;
    for (std::int64_t channel = 0; channel < pool.channels; ++channel) {
      const double* plane =
          input.data() + (region.image * pool.channels + channel) * pool.height * pool.width;
      for (std::int64_t bin = 0; bin < pool.rows * pool.columns; ++bin) {
        const auto [top, bottom] = pixels(region, 0, bin / pool.columns, pool.rows, pool.height);
        const auto [left, right] = pixels(region, 1, bin % pool.columns, pool.columns, pool.width);
        const bool is_empty = bottom <= top || right <= left;
        double most = is_empty ? 0 : -static_cast<double>(std::numeric_limits<float>::max());
        std::int64_t source = -1;
        for (auto y = top; y < bottom; ++y)
          for (auto x = left; x < right; ++x)
            if (plane[y * pool.width + x] > most) {
              source = y * pool.width + x;
              most = plane[source];
            }
        values.push_back(most);
        sources.push_back(source);
      }
    }
  }
  from_vector<double>(k.out(0), values);
  from_vector<std::int64_t>(k.out(1), sources);
}

/// Calls f(region, channel plane, bin) for each bin, whose channels follow each other, and stores
/// what it gives.
template <class F>
void for_each_sensitive_bin(KernelCall& k, bool exact, const F& f) {
  const auto pool = pool_of(k);
  const auto input = to_vector<double>(k.in(0));
  const auto rois = to_vector<double>(k.in(1));
  const auto bins = pool.rows * pool.columns;
  std::vector<double> values;
  std::vector<std::int64_t> sources;
  for (std::size_t at = 0; at * 5 < rois.size(); ++at) {
    const auto region = region_at(k, rois.data() + at * 5, exact, false);
    if (k.error()) return;
    for (std::int64_t channel = 0; channel < pool.channels; ++channel) {
      const double* plane =
          input.data() + (region.image * pool.channels + channel) * pool.height * pool.width;
      values.push_back(f(pool, region, plane, channel % bins));
      if (k.error()) return;
      sources.push_back(channel);
    }
  }
  from_vector<double>(k.out(0), values);
  from_vector<std::int64_t>(k.out(1), sources);
}
void ps_roi_pool_kernel(KernelCall& k) {
  for_each_sensitive_bin(
      k, false, [](const Pool& pool, const Region& region, const double* plane, std::int64_t bin) {
        const auto [top, bottom] = pixels(region, 0, bin / pool.columns, pool.rows, pool.height);
        const auto [left, right] = pixels(region, 1, bin % pool.columns, pool.columns, pool.width);
        double sum = 0;
        for (auto y = top; y < bottom; ++y)
          for (auto x = left; x < right; ++x) sum += plane[y * pool.width + x];
        const auto count =
            std::max<std::int64_t>(bottom - top, 0) * std::max<std::int64_t>(right - left, 0);
        return count == 0 ? 0 : sum / static_cast<double>(count);
      });
}

/// The value between four pixels; up to a pixel beyond the image the edge counts.
auto between(const double* plane, std::int64_t height, std::int64_t width, double y, double x)
    -> double {
  const auto h = static_cast<double>(height);
  const auto w = static_cast<double>(width);
  if (!(y >= -1 && y <= h && x >= -1 && x <= w)) return 0;
  const auto side = [](double at, std::int64_t size) {
    at = std::max(at, 0.0);
    auto low = static_cast<std::int64_t>(at);
    if (low >= size - 1) return std::tuple(size - 1, size - 1, 0.0);
    return std::tuple(low, low + 1, at - static_cast<double>(low));
  };
  const auto [top, bottom, down] = side(y, height);
  const auto [left, right, along] = side(x, width);
  const auto row = [&](std::int64_t at) {
    return plane[at * width + left] * (1 - along) + plane[at * width + right] * along;
  };
  return row(top) * (1 - down) + row(bottom) * down;
}
void ps_roi_align_kernel(KernelCall& k) {
  const auto given = k.integer(5);
  constexpr std::int64_t kMostSamples = 1 << 12;
  if (given > kMostSamples) return void(k.unsupported("so many samples of a bin"));
  for_each_sensitive_bin(
      k, true, [&](const Pool& pool, const Region& region, const double* plane, std::int64_t bin) {
        const std::array<std::int64_t, 2> bins{pool.rows, pool.columns};
        const std::array<std::int64_t, 2> at{bin / pool.columns, bin % pool.columns};
        std::array<double, 2> step{}, start{};
        std::array<std::int64_t, 2> samples{};
        for (std::size_t axis = 0; axis < 2; ++axis) {
          step[axis] = region.length[axis] / static_cast<double>(bins[axis]);
          start[axis] = region.start[axis] + static_cast<double>(at[axis]) * step[axis];
          samples[axis] = given > 0 ? given : static_cast<std::int64_t>(std::ceil(step[axis]));
        }
        const auto position = [&](std::size_t axis, std::int64_t i) {
          return start[axis] +
                 (static_cast<double>(i) + 0.5) * step[axis] / static_cast<double>(samples[axis]);
        };
        double sum = 0;
        for (std::int64_t i = 0; i < samples[0]; ++i)
          for (std::int64_t j = 0; j < samples[1]; ++j)
            sum += between(plane, pool.height, pool.width, position(0, i), position(1, j));
        return sum / static_cast<double>(samples[0] * samples[1]);
      });
}

// ---- convolutions whose taps move ---------------------------------------------------------------

// input [N, C, H, W], weight [O, C / groups, kH, kW], offset [N, 2 offset_groups kH kW, H', W'],
// mask [N, offset_groups kH kW, H', W'], bias [O], stride, padding, dilation (each of h and w),
// groups, offset_groups, use_mask.
auto deform_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(0);
  const auto& weight = c.meta(1);
  const auto& offset = c.meta(2);
  if (!c.require(input.rank() == 4 && weight.rank() == 4 && offset.rank() == 4,
                 "input, weight and offset have four dimensions"))
    return {};
  if (!c.require(logic_and(gt(c.expr(11), 0), gt(c.expr(12), 0)), "there are groups") ||
      !c.require(gt(input.sizes[1], 0), "there are channels") ||
      !c.require(logic_and(eq(mod(weight.sizes[0], c.expr(11)), 0),
                           eq(mod(input.sizes[1], c.expr(12)), 0)),
                 "channels are a multiple of the groups"))
    return {};
  Dims sizes{input.sizes[0], weight.sizes[0]};
  for (int axis = 0; axis < 2; ++axis) {
    const auto at = static_cast<std::size_t>(axis) + 2;
    const auto taps = c.expr(9 + axis) * (weight.sizes[at] - 1) + 1;
    if (!c.require(gt(c.expr(5 + axis), 0), "strides are positive")) return {};
    sizes.push_back(floor_div(input.sizes[at] + 2 * c.expr(7 + axis) - taps, c.expr(5 + axis)) + 1);
  }
  const auto taps = weight.sizes[2] * weight.sizes[3] * c.expr(12);
  if (!c.require(eq(weight.sizes[1] * c.expr(11), input.sizes[1]),
                 "the weight fits the channels") ||
      !require_same_sizes(c, offset.sizes, {input.sizes[0], 2 * taps, sizes[2], sizes[3]},
                          "two offsets for each tap") ||
      (c.flag(13) &&
       !require_same_sizes(c, c.meta(3).sizes, {input.sizes[0], taps, sizes[2], sizes[3]},
                           "one factor for each tap")) ||
      !require_count(c, 4, weight.sizes[0], "one bias per channel"))
    return {};
  return c.fresh(input.dtype, std::move(sizes));
}
/// Bilinear, and 0 beyond the image.
auto within(const double* plane, std::int64_t height, std::int64_t width, double y, double x)
    -> double {
  if (!(y > -1 && y < static_cast<double>(height) && x > -1 && x < static_cast<double>(width)))
    return 0;
  const auto top = static_cast<std::int64_t>(std::floor(y));
  const auto left = static_cast<std::int64_t>(std::floor(x));
  const double down = y - static_cast<double>(top), along = x - static_cast<double>(left);
  const auto pixel = [&](std::int64_t row, std::int64_t column) {
    const bool is_inside = row >= 0 && row < height && column >= 0 && column < width;
    return is_inside ? plane[row * width + column] : 0.0;
  };
  return (pixel(top, left) * (1 - along) + pixel(top, left + 1) * along) * (1 - down) +
         (pixel(top + 1, left) * (1 - along) + pixel(top + 1, left + 1) * along) * down;
}
/// The taps of one output position for one input channel, [kH kW].
struct Deformation {
  const std::vector<double>&input, &offset, &mask;
  Ints in, weight, out;
  Ints parameters;  ///< stride, padding, dilation, groups, offset_groups as integers
  bool use_mask;
  [[nodiscard]] auto tap(std::int64_t image, std::int64_t channel, std::int64_t tap,
                         std::int64_t row, std::int64_t column) const -> double {
    const auto taps = weight[2] * weight[3];
    const auto group = channel / (in[1] / parameters[7]);
    const auto place = row * out[3] + column;
    const auto area = out[2] * out[3];
    const auto first = (image * parameters[7] + group) * taps + tap;
    const auto shift = [&](std::int64_t axis) {
      return offset[static_cast<std::size_t>((2 * first + axis) * area + place)];
    };
    const auto at = [&](std::size_t axis, std::int64_t position, std::int64_t step) {
      return static_cast<double>(position * parameters[axis] - parameters[axis + 2] +
                                 step * parameters[axis + 4]);
    };
    const double* plane = input.data() + (image * in[1] + channel) * in[2] * in[3];
    const double value = within(plane, in[2], in[3], at(0, row, tap / weight[3]) + shift(0),
                                at(1, column, tap % weight[3]) + shift(1));
    return use_mask ? value * mask[static_cast<std::size_t>(first * area + place)] : value;
  }
};
void deform_kernel(KernelCall& k) {
  const auto input = to_vector<double>(k.in(0));
  const auto weight = to_vector<double>(k.in(1));
  const auto offset = to_vector<double>(k.in(2));
  const auto mask = to_vector<double>(k.in(3));
  const auto bias = to_vector<double>(k.in(4));
  Ints parameters;
  for (int i = 5; i <= 12; ++i) parameters.push_back(k.integer(i));
  const Deformation d{input,           offset,          mask,       k.in(0).sizes(),
                      k.in(1).sizes(), k.out().sizes(), parameters, k.flag(13)};
  const auto groups = parameters[6];
  const auto taps = d.weight[2] * d.weight[3];
  std::vector<double> result;
  for_each_index(d.out, [&](const Ints& at) {
    double sum = bias[static_cast<std::size_t>(at[1])];
    const auto group = at[1] / (d.out[1] / groups);
    for (std::int64_t i = 0; i < d.weight[1]; ++i)
      for (std::int64_t tap = 0; tap < taps; ++tap)
        sum += weight[static_cast<std::size_t>((at[1] * d.weight[1] + i) * taps + tap)] *
               d.tap(at[0], group * d.weight[1] + i, tap, at[2], at[3]);
    result.push_back(sum);
  });
  from_vector<double>(k.out(), result);
}

}  // namespace

// clang-format off
void add_region_rows(OpTable& t) {
  t.add({.schema_text = "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)", .rule = pooled_rule, .kernel = roi_pool_kernel});
  t.add({.schema_text = "torchvision::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)", .rule = position_sensitive_rule, .kernel = ps_roi_pool_kernel});
  t.add({.schema_text = "torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio) -> (Tensor, Tensor)", .rule = position_sensitive_rule, .kernel = ps_roi_align_kernel});
  t.add({.schema_text = "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor", .rule = deform_rule, .kernel = deform_kernel});
}
// clang-format on

}  // namespace assay
