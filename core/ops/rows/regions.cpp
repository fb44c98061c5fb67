// Pools over regions of images, and convolutions whose taps move (torchvision/csrc/ops/cpu:
// roi_pool_kernel.cpp, ps_roi_pool_kernel.cpp, ps_roi_align_kernel.cpp, roi_align_common.h,
// deform_conv2d_kernel.cpp).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

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
/// The same of a gradient's call: grad, rois, argmax or channel_mapping, spatial_scale,
/// pooled_height, pooled_width, (sampling_ratio,) batch_size, channels, height, width.
auto pool_of_gradient(KernelCall& k) -> Pool {
  const auto& sizes = k.out().sizes();
  return {sizes[1], sizes[2], sizes[3], k.integer(4), k.integer(5), k.real(3)};
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
  const double scale = k.real(param(k, "spatial_scale"));
  const int batch = param(k, "batch_size");
  const auto images = batch < 0 ? k.in(0).sizes()[0] : k.integer(batch);
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

/// Calls f(pixel, weight) for the four pixels around a position; up to a pixel beyond the image the
/// edge counts.
template <class F>
void for_each_neighbour(std::int64_t height, std::int64_t width, double y, double x, const F& f) {
  if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 && x <= static_cast<double>(width)))
    return;
  const auto side = [](double at, std::int64_t size) {
    at = std::max(at, 0.0);
    auto low = static_cast<std::int64_t>(at);
    if (low >= size - 1) return std::tuple(size - 1, size - 1, 0.0);
    return std::tuple(low, low + 1, at - static_cast<double>(low));
  };
  const auto [top, bottom, down] = side(y, height);
  const auto [left, right, along] = side(x, width);
  f(top * width + left, (1 - down) * (1 - along));
  f(top * width + right, (1 - down) * along);
  f(bottom * width + left, down * (1 - along));
  f(bottom * width + right, down * along);
}
auto between(const double* plane, std::int64_t height, std::int64_t width, double y, double x)
    -> double {
  double sum = 0;
  for_each_neighbour(height, width, y, x,
                     [&](std::int64_t pixel, double weight) { sum += plane[pixel] * weight; });
  return sum;
}
void spread_between(double* plane, std::int64_t height, std::int64_t width, double y, double x,
                    double value) {
  for_each_neighbour(height, width, y, x,
                     [&](std::int64_t pixel, double weight) { plane[pixel] += value * weight; });
}
/// Where the samples of a bin lie: `given` of them along each axis, or one per pixel.
class BinSamples {
 public:
  BinSamples(const Pool& pool, const Region& region, std::int64_t bin, std::int64_t given) {
    const std::array<std::int64_t, 2> bins{pool.rows, pool.columns};
    const std::array<std::int64_t, 2> at{bin / pool.columns, bin % pool.columns};
    for (std::size_t axis = 0; axis < 2; ++axis) {
      step_[axis] = region.length[axis] / static_cast<double>(bins[axis]);
      start_[axis] = region.start[axis] + static_cast<double>(at[axis]) * step_[axis];
      samples_[axis] = given > 0 ? given : static_cast<std::int64_t>(std::ceil(step_[axis]));
    }
  }
  [[nodiscard]] auto count() const -> double {
    return static_cast<double>(samples_[0] * samples_[1]);
  }
  template <class F>
  void for_each(const F& f) const {
    for (std::int64_t i = 0; i < samples_[0]; ++i)
      for (std::int64_t j = 0; j < samples_[1]; ++j) f(position(0, i), position(1, j));
  }

 private:
  [[nodiscard]] auto position(std::size_t axis, std::int64_t i) const -> double {
    return start_[axis] +
           (static_cast<double>(i) + 0.5) * step_[axis] / static_cast<double>(samples_[axis]);
  }
  std::array<double, 2> step_{}, start_{};
  std::array<std::int64_t, 2> samples_{};
};
void ps_roi_align_kernel(KernelCall& k) {
  const auto given = k.integer(5);
  constexpr std::int64_t kMostSamples = 1 << 12;
  if (given > kMostSamples) return void(k.unsupported("so many samples of a bin"));
  for_each_sensitive_bin(
      k, true, [&](const Pool& pool, const Region& region, const double* plane, std::int64_t bin) {
        const BinSamples samples(pool, region, bin, given);
        double sum = 0;
        samples.for_each(
            [&](double y, double x) { sum += between(plane, pool.height, pool.width, y, x); });
        return sum / samples.count();
      });
}

// ---- where pooled values came from --------------------------------------------------------------

auto gradient_rule(MetaCall& c) -> Datum {
  const auto& grad = c.meta(0);
  const auto& rois = c.meta(1);
  const auto size = [&](std::string_view name) { return c.expr(param(c, name)); };
  if (!c.require(grad.rank() == 4 && rois.rank() == 2, "planes of bins, and one region per row") ||
      !c.require(eq(rois.sizes[1], 5), "a region has an image and four coordinates") ||
      !c.require(grad.dtype == rois.dtype && is_floating(grad.dtype), "one floating dtype") ||
      !require_same_sizes(c, grad.sizes, c.meta(2).sizes, "a source for each gradient") ||
      !require_same_sizes(c, grad.sizes, {rois.sizes[0], grad.sizes[1], c.expr(4), c.expr(5)},
                          "one gradient per bin"))
    return {};
  const Dims sizes{size("batch_size"), size("channels"), size("height"), size("width")};
  for (const auto& extent : sizes)
    if (!c.require(gt(extent, 0), "images have pixels")) return {};
  return c.fresh(grad.dtype, sizes);
}
/// Calls f(pool, region, the plane of a bin's source, bin, gradient) for each bin; the plane is
/// that of the bin's own channel where sources are positions.
template <class F>
void for_each_gradient(KernelCall& k, bool exact, bool sources_are_channels, const F& f) {
  const auto pool = pool_of_gradient(k);
  const auto grad = to_vector<double>(k.in(0));
  const auto rois = to_vector<double>(k.in(1));
  const auto sources = to_vector<std::int64_t>(k.in(2));
  const auto bins = pool.rows * pool.columns;
  const auto channels = k.in(0).sizes()[1];
  std::vector<double> result(static_cast<std::size_t>(k.out().numel()), 0);
  for (std::size_t at = 0; at < grad.size(); ++at) {
    const auto place = static_cast<std::int64_t>(at);
    const auto roi = place / (channels * bins);
    const auto region = region_at(k, rois.data() + roi * 5, exact, !sources_are_channels);
    if (k.error()) return;
    const auto channel = sources_are_channels ? sources[at] : place / bins % channels;
    if (channel < 0 || channel >= pool.channels) return void(k.fail("a source is a channel"));
    double* plane =
        result.data() + (region.image * pool.channels + channel) * pool.height * pool.width;
    f(pool, region, plane, place % bins, grad[at], sources[at]);
  }
  if (!k.error()) from_vector<double>(k.out(), result);
}
void roi_pool_backward_kernel(KernelCall& k) {
  for_each_gradient(k, false, false,
                    [&](const Pool& pool, const Region&, double* plane, std::int64_t, double grad,
                        std::int64_t source) {
                      if (source >= pool.height * pool.width) k.fail("a source is a pixel");
                      if (source >= 0 && !k.error()) plane[source] += grad;
                    });
}
void ps_roi_pool_backward_kernel(KernelCall& k) {
  for_each_gradient(
      k, false, true,
      [](const Pool& pool, const Region& region, double* plane, std::int64_t bin, double grad,
         std::int64_t) {
        const auto [top, bottom] = pixels(region, 0, bin / pool.columns, pool.rows, pool.height);
        const auto [left, right] = pixels(region, 1, bin % pool.columns, pool.columns, pool.width);
        const auto count =
            std::max<std::int64_t>(bottom - top, 0) * std::max<std::int64_t>(right - left, 0);
        for (auto y = top; y < bottom; ++y)
          for (auto x = left; x < right; ++x)
            plane[y * pool.width + x] += grad / static_cast<double>(count);
      });
}
void ps_roi_align_backward_kernel(KernelCall& k) {
  const auto given = k.integer(6);
  constexpr std::int64_t kMostSamples = 1 << 12;
  if (given > kMostSamples) return void(k.unsupported("so many samples of a bin"));
  for_each_gradient(k, true, true,
                    [&](const Pool& pool, const Region& region, double* plane, std::int64_t bin,
                        double grad, std::int64_t) {
                      const BinSamples samples(pool, region, bin, given);
                      samples.for_each([&](double y, double x) {
                        spread_between(plane, pool.height, pool.width, y, x,
                                       grad / samples.count());
                      });
                    });
}

// ---- convolutions whose taps move ---------------------------------------------------------------

// input [N, C, H, W], weight [O, C / groups, kH, kW], offset [N, 2 offset_groups kH kW, H', W'],
// mask [N, offset_groups kH kW, H', W'], bias [O], stride, padding, dilation (each of h and w),
// groups, offset_groups, use_mask.
/// Sizes of the result, nothing where the operands do not fit; `first` is the position of input.
auto deformed_sizes(MetaCall& c, int first) -> std::optional<Dims> {
  const auto& input = c.meta(first);
  const auto& weight = c.meta(first + 1);
  const auto& offset = c.meta(first + 2);
  const auto number = [&](int i) { return c.expr(first + i); };
  if (!c.require(input.rank() == 4 && weight.rank() == 4 && offset.rank() == 4,
                 "input, weight and offset have four dimensions"))
    return std::nullopt;
  if (!c.require(logic_and(gt(number(11), 0), gt(number(12), 0)), "there are groups") ||
      !c.require(gt(input.sizes[1], 0), "there are channels") ||
      !c.require(logic_and(eq(mod(weight.sizes[0], number(11)), 0),
                           eq(mod(input.sizes[1], number(12)), 0)),
                 "channels are a multiple of the groups"))
    return std::nullopt;
  Dims sizes{input.sizes[0], weight.sizes[0]};
  for (int axis = 0; axis < 2; ++axis) {
    const auto at = static_cast<std::size_t>(axis) + 2;
    const auto taps = number(9 + axis) * (weight.sizes[at] - 1) + 1;
    if (!c.require(gt(number(5 + axis), 0), "strides are positive")) return std::nullopt;
    sizes.push_back(floor_div(input.sizes[at] + 2 * number(7 + axis) - taps, number(5 + axis)) + 1);
  }
  const auto taps = weight.sizes[2] * weight.sizes[3] * number(12);
  if (!c.require(eq(weight.sizes[1] * number(11), input.sizes[1]),
                 "the weight fits the channels") ||
      !require_same_sizes(c, offset.sizes, {input.sizes[0], 2 * taps, sizes[2], sizes[3]},
                          "two offsets for each tap") ||
      (c.flag(first + 13) &&
       !require_same_sizes(c, c.meta(first + 3).sizes, {input.sizes[0], taps, sizes[2], sizes[3]},
                           "one factor for each tap")) ||
      !require_count(c, first + 4, weight.sizes[0], "one bias per channel"))
    return std::nullopt;
  return sizes;
}
auto deform_rule(MetaCall& c) -> Datum {
  auto sizes = deformed_sizes(c, 0);
  return sizes ? c.fresh(c.meta(0).dtype, *std::move(sizes)) : Datum{};
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
/// Where the taps [kH kW] of an output position lie, and what they read of an input channel.
struct Deformation {
  std::vector<double> input, weights, offset, mask;
  Ints in, weight, out;
  Ints parameters;  ///< stride, padding, dilation, groups, offset_groups as integers
  bool use_mask;

  struct Tap {
    std::int64_t first = 0;  ///< among the taps of all groups and images, in places of the mask
    const double* plane = nullptr;
    double y = 0, x = 0, factor = 1;
  };
  [[nodiscard]] auto taps() const -> std::int64_t { return weight[2] * weight[3]; }
  [[nodiscard]] auto area() const -> std::int64_t { return out[2] * out[3]; }
  [[nodiscard]] auto tap(std::int64_t image, std::int64_t channel, std::int64_t tap,
                         std::int64_t row, std::int64_t column) const -> Tap {
    const auto group = channel / (in[1] / parameters[7]);
    const auto place = row * out[3] + column;
    const auto first = (image * parameters[7] + group) * taps() + tap;
    const auto shift = [&](std::int64_t axis) {
      return offset[static_cast<std::size_t>((2 * first + axis) * area() + place)];
    };
    const auto at = [&](std::size_t axis, std::int64_t position, std::int64_t step) {
      return static_cast<double>(position * parameters[axis] - parameters[axis + 2] +
                                 step * parameters[axis + 4]);
    };
    Tap result{first * area() + place, input.data() + (image * in[1] + channel) * in[2] * in[3],
               at(0, row, tap / weight[3]) + shift(0), at(1, column, tap % weight[3]) + shift(1)};
    if (use_mask) result.factor = mask[static_cast<std::size_t>(result.first)];
    return result;
  }
  [[nodiscard]] auto value(const Tap& tap) const -> double {
    return within(tap.plane, in[2], in[3], tap.y, tap.x);
  }
};
/// `first` is the position of input; offset and mask follow the weight.
auto deformation_of(KernelCall& k, int first, const Ints& out) -> Deformation {
  Ints parameters;
  for (int i = 5; i <= 12; ++i) parameters.push_back(k.integer(first + i));
  return {to_vector<double>(k.in(first)),
          to_vector<double>(k.in(first + 1)),
          to_vector<double>(k.in(first + 2)),
          to_vector<double>(k.in(first + 3)),
          k.in(first).sizes(),
          k.in(first + 1).sizes(),
          out,
          parameters,
          k.flag(first + 13)};
}
/// Calls f(output position, position of the weight, input channel, tap) for each product.
template <class F>
void for_each_product(const Deformation& d, const F& f) {
  const auto groups = d.parameters[6];
  std::size_t at = 0;
  for_each_index(d.out, [&](const Ints& place) {
    const auto group = place[1] / (d.out[1] / groups);
    for (std::int64_t i = 0; i < d.weight[1]; ++i)
      for (std::int64_t tap = 0; tap < d.taps(); ++tap)
        f(at, static_cast<std::size_t>((place[1] * d.weight[1] + i) * d.taps() + tap),
          group * d.weight[1] + i,
          d.tap(place[0], group * d.weight[1] + i, tap, place[2], place[3]));
    ++at;
  });
}
void deform_kernel(KernelCall& k) {
  const auto d = deformation_of(k, 0, k.out().sizes());
  const auto bias = to_vector<double>(k.in(4));
  std::vector<double> result(static_cast<std::size_t>(k.out().numel()), 0);
  for_each_product(d, [&](std::size_t at, std::size_t weight, std::int64_t, const auto& tap) {
    result[at] += d.weights[weight] * tap.factor * d.value(tap);
  });
  for (std::size_t at = 0; at < result.size(); ++at)
    result[at] += bias[at / static_cast<std::size_t>(d.area()) % bias.size()];
  from_vector<double>(k.out(), result);
}

/// grad, input, weight, offset, mask, bias, ...: gradients of the latter five.
auto deform_backward_rule(MetaCall& c) -> Datum {
  const auto sizes = deformed_sizes(c, 1);
  if (!sizes || !require_same_sizes(c, c.meta(0).sizes, *sizes, "a gradient per output")) return {};
  DatumList results;
  for (int i = 1; i <= 5; ++i) results.push_back(c.fresh(c.meta(i).dtype, c.meta(i).sizes));
  return {std::move(results)};
}
void deform_backward_kernel(KernelCall& k) {
  const auto d = deformation_of(k, 1, k.in(0).sizes());
  const auto grad = to_vector<double>(k.in(0));
  std::array<std::vector<double>, 5> results;
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i].resize(static_cast<std::size_t>(k.out(static_cast<int>(i)).numel()), 0);
  auto& [inputs, weights, offsets, masks, biases] = results;
  for_each_product(d, [&](std::size_t at, std::size_t weight, std::int64_t, const auto& tap) {
    const double to_tap = grad[at] * d.weights[weight];
    const double value = d.value(tap);
    weights[weight] += grad[at] * tap.factor * value;
    const auto place = static_cast<std::size_t>(tap.first);
    if (d.use_mask) masks[place] += to_tap * value;
    const auto top = static_cast<std::int64_t>(std::floor(tap.y));
    const auto left = static_cast<std::int64_t>(std::floor(tap.x));
    const double down = tap.y - static_cast<double>(top), along = tap.x - static_cast<double>(left);
    std::array<double, 2> slopes{};
    for (int i = 0; i < 4; ++i) {
      const auto row = top + i / 2, column = left + i % 2;
      if (row < 0 || row >= d.in[2] || column < 0 || column >= d.in[3]) continue;
      const double by_row = i / 2 ? down : 1 - down, by_column = i % 2 ? along : 1 - along;
      const auto pixel = row * d.in[3] + column;
      inputs[static_cast<std::size_t>(tap.plane - d.input.data() + pixel)] +=
          to_tap * tap.factor * by_row * by_column;
      slopes[0] += (i / 2 ? 1 : -1) * by_column * tap.plane[pixel];
      slopes[1] += (i % 2 ? 1 : -1) * by_row * tap.plane[pixel];
    }
    const auto area = static_cast<std::size_t>(d.area());
    for (std::size_t axis = 0; axis < 2; ++axis)
      offsets[(2 * (place / area) + axis) * area + place % area] +=
          to_tap * tap.factor * slopes[axis];
  });
  for (std::size_t at = 0; at < grad.size(); ++at)
    biases[at / static_cast<std::size_t>(d.area()) % biases.size()] += grad[at];
  for (std::size_t i = 0; i < results.size(); ++i)
    from_vector<double>(k.out(static_cast<int>(i)), results[i]);
}

}  // namespace

// clang-format off
void add_region_rows(OpTable& t) {
  t.add({.schema_text = "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)", .rule = pooled_rule, .kernel = roi_pool_kernel});
  t.add({.schema_text = "torchvision::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)", .rule = position_sensitive_rule, .kernel = ps_roi_pool_kernel});
  t.add({.schema_text = "torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio) -> (Tensor, Tensor)", .rule = position_sensitive_rule, .kernel = ps_roi_align_kernel});
  t.add({.schema_text = "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor", .rule = deform_rule, .kernel = deform_kernel});
  t.add({.schema_text = "torchvision::_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, float spatial_scale, SymInt pooled_height, SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width) -> Tensor", .rule = gradient_rule, .kernel = roi_pool_backward_kernel});
  t.add({.schema_text = "torchvision::_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, SymInt pooled_height, SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width) -> Tensor", .rule = gradient_rule, .kernel = ps_roi_pool_backward_kernel});
  t.add({.schema_text = "torchvision::_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, SymInt batch_size, SymInt channels, SymInt height, SymInt width) -> Tensor", .rule = gradient_rule, .kernel = ps_roi_align_backward_kernel});
  t.add({.schema_text = "torchvision::_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> (Tensor, Tensor, Tensor, Tensor, Tensor)", .rule = deform_backward_rule, .kernel = deform_backward_kernel});
}
// clang-format on

}  // namespace assay
