// Sampling at positions that a grid gives (aten/src/ATen/native/GridSampler.cpp,
// GridSamplerUtils.h, GridSampler.h). Results are row-major whatever the layout of the input; cuDNN
// has a row of its own.
#include <array>
#include <cmath>

#include "core/ops/rules.h"
#include "core/ops/window.h"

namespace assay {
namespace {

enum class Mode : std::uint8_t { bilinear, nearest, bicubic };
enum class Padding : std::uint8_t { zeros, border, reflection };

/// input [N, C, in...] and grid [N, out..., spatial].
auto check_grid(MetaCall& c, int input_arg, int spatial) -> bool {
  const auto& input = c.meta(input_arg);
  const auto& grid = c.meta(input_arg + 1);
  if (!c.require(input.rank() == spatial + 2 && grid.rank() == spatial + 2,
                 "input and grid have the same number of dimensions") ||
      !c.require(input.dtype == grid.dtype, "input and grid have one dtype") ||
      !c.require(eq(input.sizes[0], grid.sizes[0]), "the batch sizes agree") ||
      !c.require(eq(grid.sizes.back(), spatial), "the grid gives one position per dimension"))
    return false;
  const int mode = param(c, "interpolation_mode");
  for (int i = mode; mode >= 0 && i < mode + 2; ++i)
    if (!c.require(c.integer(i) >= 0 && c.integer(i) <= 2, "modes are 0, 1 or 2")) return false;
  if (mode >= 0 && spatial == 3 && !c.require(c.integer(mode) != 2, "cubic sampling is flat"))
    return false;
  for (std::size_t i = 2; i < input.sizes.size(); ++i)
    if (!c.require(gt(input.sizes[i], 0), "the input has spatial elements")) return false;
  return true;
}
template <int kSpatial>
auto grid_rule(MetaCall& c) -> Datum {
  if (!check_grid(c, 0, kSpatial)) return {};
  const auto& grid = c.meta(1).sizes;
  Dims sizes{c.meta(0).sizes[0], c.meta(0).sizes[1]};
  sizes.insert(sizes.end(), grid.begin() + 1, grid.end() - 1);
  return c.fresh(c.meta(0).dtype, std::move(sizes));
}
/// grad_output, input, grid, modes, output_mask; the gradient of the grid comes in any case.
template <int kSpatial>
auto grid_backward_rule(MetaCall& c) -> Datum {
  if (!check_grid(c, 1, kSpatial)) return {};
  const auto& input = c.meta(1);
  const auto& grid = c.meta(2);
  Dims sizes{input.sizes[0], input.sizes[1]};
  sizes.insert(sizes.end(), grid.sizes.begin() + 1, grid.sizes.end() - 1);
  if (!require_same_sizes(c, c.meta(0).sizes, sizes, "one gradient per sample")) return {};
  const auto mask = param(c, "output_mask");
  const bool wanted = mask < 0 || c.flags(mask).empty() || c.flags(mask)[0];
  return {DatumList{wanted ? c.fresh(input.dtype, input.sizes) : Datum{},
                    c.fresh(grid.dtype, grid.sizes)}};
}

/// A position with its derivative after the grid's value.
struct Position {
  double at = 0;
  double slope = 0;
};
/// How grid values become positions along one dimension.
class Axis {
 public:
  Axis(std::int64_t size, Padding padding, bool corners)
      : size_(static_cast<double>(size)), padding_(padding), corners_(corners) {}

  /// [-1, 1] to element positions.
  [[nodiscard]] auto unnormalised(double x) const -> Position {
    if (corners_) return {(x + 1) / 2 * (size_ - 1), (size_ - 1) / 2};
    return {((x + 1) * size_ - 1) / 2, size_ / 2};
  }
  [[nodiscard]] auto source(double x) const -> Position { return inside(unnormalised(x)); }
  /// Padding applied to a position (also to the taps of the bicubic kernel).
  [[nodiscard]] auto inside(Position p) const -> Position {
    if (padding_ == Padding::reflection) p = reflected(p);
    if (padding_ != Padding::zeros) p = clipped(p);
    return p;
  }

 private:
  [[nodiscard]] auto clipped(Position p) const -> Position {
    if (!(p.at > 0)) return {0, 0};
    if (p.at >= size_ - 1) return {size_ - 1, 0};
    return p;
  }
  [[nodiscard]] auto reflected(Position p) const -> Position {
    const double low = corners_ ? 0 : -0.5;
    const double span = corners_ ? size_ - 1 : size_;
    if (span == 0) return {0, 0};
    double offset = p.at - low;
    double slope = p.slope;
    if (offset < 0) {
      offset = -offset;
      slope = -slope;
    }
    const double extra = std::fmod(offset, span);
    const auto flips = std::floor(offset / span);
    if (std::fmod(flips, 2) == 0) return {extra + low, slope};
    return {span - extra + low, -slope};
  }
  double size_;
  Padding padding_;
  bool corners_;
};

/// Elements that a sample reads along one dimension, their weights and the weights' derivatives.
struct Taps {
  int count = 0;
  std::array<double, 4> index{}, weight{}, slope{};
  void add(double at, double w, double d) {
    const auto i = static_cast<std::size_t>(count++);
    index[i] = at;
    weight[i] = w;
    slope[i] = d;
  }
};
auto cubic_weights(double t) -> std::pair<std::array<double, 4>, std::array<double, 4>> {
  constexpr double kA = -0.75;
  const auto near = [](double x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  const auto near_slope = [](double x) { return (3 * (kA + 2) * x - 2 * (kA + 3)) * x; };
  const auto far_slope = [](double x) { return (3 * kA * x - 10 * kA) * x + 8 * kA; };
  return {{far(t + 1), near(t), near(1 - t), far(2 - t)},
          {far_slope(t + 1), near_slope(t), -near_slope(1 - t), -far_slope(2 - t)}};
}
auto taps_of(const Axis& axis, Mode mode, double x) -> Taps {
  Taps taps;
  if (mode == Mode::bicubic) {
    const auto p = axis.unnormalised(x);
    const double first = std::floor(p.at);
    const auto [weights, slopes] = cubic_weights(p.at - first);
    for (std::size_t i = 0; i < 4; ++i)
      taps.add(axis.inside({first - 1 + static_cast<double>(i), 0}).at, weights[i],
               slopes[i] * p.slope);
    return taps;
  }
  const auto p = axis.source(x);
  if (mode == Mode::nearest) {
    taps.add(std::nearbyint(p.at), 1, 0);
    return taps;
  }
  const double first = std::floor(p.at);
  taps.add(first, first + 1 - p.at, -p.slope);
  taps.add(first + 1, p.at - first, p.slope);
  return taps;
}

/// Everything about one call but its data; dims are depth (1 for two), height, width.
struct Sampler {
  std::int64_t batch, channels;
  Triple in{1, 1, 1}, out{1, 1, 1};
  int spatial;
  Mode mode;
  Padding padding;
  bool corners;

  /// Calls f(sample, flat output position, taps of depth, height, width).
  template <class F>
  void for_each(const std::vector<double>& grid, const F& f) const {
    const std::array axes{Axis(in[0], padding, corners), Axis(in[1], padding, corners),
                          Axis(in[2], padding, corners)};
    const auto positions = out[0] * out[1] * out[2];
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t at = 0; at < positions; ++at) {
        const double* point = grid.data() + (n * positions + at) * spatial;
        std::array<Taps, 3> taps;
        if (spatial == 2) taps[0].add(0, 1, 0);
        for (int d = 0; d < spatial; ++d)  // x comes first and is the last dimension
          taps[static_cast<std::size_t>(2 - d)] =
              taps_of(axes[static_cast<std::size_t>(2 - d)], mode, point[d]);
        f(n, at, taps);
      }
  }
  /// Calls f(flat input position, indices of the three taps) for the elements inside.
  template <class F>
  void for_each_element(const std::array<Taps, 3>& taps, const F& f) const {
    const auto inside = [](double i, std::int64_t size) {
      return i >= 0 && i < static_cast<double>(size);
    };
    for (std::size_t d = 0; d < static_cast<std::size_t>(taps[0].count); ++d)
      for (std::size_t h = 0; h < static_cast<std::size_t>(taps[1].count); ++h)
        for (std::size_t w = 0; w < static_cast<std::size_t>(taps[2].count); ++w)
          if (inside(taps[0].index[d], in[0]) && inside(taps[1].index[h], in[1]) &&
              inside(taps[2].index[w], in[2]))
            f((static_cast<std::int64_t>(taps[0].index[d]) * in[1] +
               static_cast<std::int64_t>(taps[1].index[h])) *
                      in[2] +
                  static_cast<std::int64_t>(taps[2].index[w]),
              d, h, w);
  }
};
template <int kSpatial>
auto sampler_of(KernelCall& k, int input_arg) -> Sampler {
  const auto& input = k.in(input_arg).sizes();
  const auto& grid = k.in(input_arg + 1).sizes();
  const int mode = param(k, "interpolation_mode");
  Sampler s{.batch = input[0],
            .channels = input[1],
            .spatial = kSpatial,
            .mode = mode < 0 ? Mode::bilinear : static_cast<Mode>(k.integer(mode)),
            .padding = mode < 0 ? Padding::zeros : static_cast<Padding>(k.integer(mode + 1)),
            .corners = mode < 0 || k.flag(mode + 2)};
  for (int d = 0; d < kSpatial; ++d) {
    const auto to = static_cast<std::size_t>(3 - kSpatial + d);
    s.in[to] = input[static_cast<std::size_t>(d + 2)];
    s.out[to] = grid[static_cast<std::size_t>(d + 1)];
  }
  return s;
}

template <int kSpatial>
void grid_kernel(KernelCall& k) {
  const auto s = sampler_of<kSpatial>(k, 0);
  if (k.error()) return;
  const auto input = to_vector<double>(k.in(0));
  const auto plane = s.in[0] * s.in[1] * s.in[2];
  const auto positions = s.out[0] * s.out[1] * s.out[2];
  std::vector<double> result(static_cast<std::size_t>(k.out().numel()), 0);
  s.for_each(to_vector<double>(k.in(1)), [&](std::int64_t n, std::int64_t at,
                                             const std::array<Taps, 3>& taps) {
    s.for_each_element(taps, [&](std::int64_t from, std::size_t d, std::size_t h, std::size_t w) {
      const double weight = taps[0].weight[d] * taps[1].weight[h] * taps[2].weight[w];
      for (std::int64_t channel = 0; channel < s.channels; ++channel) {
        const auto row = n * s.channels + channel;
        result[static_cast<std::size_t>(row * positions + at)] +=
            weight * input[static_cast<std::size_t>(row * plane + from)];
      }
    });
  });
  from_vector<double>(k.out(), result);
}

template <int kSpatial>
void grid_backward_kernel(KernelCall& k) {
  const bool grad_first = param(k, "grad_output") == 0;
  const int input_arg = grad_first ? 1 : 0;
  const auto s = sampler_of<kSpatial>(k, input_arg);
  if (k.error()) return;
  const auto grad = to_vector<double>(k.in(grad_first ? 0 : 2));
  const auto input = to_vector<double>(k.in(input_arg));
  const auto plane = s.in[0] * s.in[1] * s.in[2];
  const auto positions = s.out[0] * s.out[1] * s.out[2];
  std::vector<double> grad_input(input.size(), 0);
  std::vector<double> grad_grid(static_cast<std::size_t>(k.out(1).numel()), 0);
  s.for_each(to_vector<double>(k.in(input_arg + 1)), [&](std::int64_t n, std::int64_t at,
                                                         const std::array<Taps, 3>& taps) {
    double* slope = grad_grid.data() + (n * positions + at) * kSpatial;
    s.for_each_element(taps, [&](std::int64_t from, std::size_t d, std::size_t h, std::size_t w) {
      const double weights[] = {taps[0].weight[d], taps[1].weight[h], taps[2].weight[w]};
      const double slopes[] = {taps[0].slope[d], taps[1].slope[h], taps[2].slope[w]};
      for (std::int64_t channel = 0; channel < s.channels; ++channel) {
        const auto row = n * s.channels + channel;
        const double g = grad[static_cast<std::size_t>(row * positions + at)];
        const auto to = static_cast<std::size_t>(row * plane + from);
        grad_input[to] += g * weights[0] * weights[1] * weights[2];
        const double gx = g * input[to];
        slope[0] += gx * weights[0] * weights[1] * slopes[2];
        slope[1] += gx * weights[0] * slopes[1] * weights[2];
        if (kSpatial == 3) slope[2] += gx * slopes[0] * weights[1] * weights[2];
      }
    });
  });
  const auto* list = k.result().list();
  if (list && !(*list)[0].is_none()) from_vector<double>(k.out(0), grad_input);
  from_vector<double>(k.out(1), grad_grid);
}

/// at::grid_sampler: cuDNN's form on CUDA where it fits, else by the number of dimensions.
auto grid_sampler(Composer& c) -> Datum {
  const auto input = c.meta(0);
  const bool flat = input.rank() == 4;
  const bool fits = c.integer(2) == 0 && c.integer(3) == 0 && c.flag(4) && flat && on_cuda(input) &&
                    is_floating(input.dtype) && input.dtype != DType::bfloat16 &&
                    c.decide(le(input.sizes[1], 1024), "cuDNN takes so many channels");
  if (fits) return c.call("aten.cudnn_grid_sampler.default", {c.arg(0), c.arg(1)});
  return c.call(flat ? "aten.grid_sampler_2d.default" : "aten.grid_sampler_3d.default",
                {c.arg(0), c.arg(1), c.arg(2), c.arg(3), c.arg(4)});
}

/// cuDNN's forms: self, grid, and the gradient behind them.
auto cudnn_backward_rule(MetaCall& c) -> Datum {
  if (!check_grid(c, 0, 2)) return {};
  const auto& grid = c.meta(1).sizes;
  if (!require_same_sizes(c, c.meta(2).sizes,
                          {c.meta(0).sizes[0], c.meta(0).sizes[1], grid[1], grid[2]},
                          "one gradient per sample"))
    return {};
  return {DatumList{c.fresh(c.meta(0).dtype, c.meta(0).sizes),
                    c.fresh(c.meta(1).dtype, c.meta(1).sizes)}};
}

}  // namespace

// clang-format off
void add_grid_sampler_rows(OpTable& t) {
  t.add({.schema_text = "aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor", .rule = grid_rule<2>, .kernel = grid_kernel<2>});
  t.add({.schema_text = "aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor", .rule = grid_rule<3>, .kernel = grid_kernel<3>});
  t.add({.schema_text = "aten::grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)", .rule = grid_backward_rule<2>, .kernel = grid_backward_kernel<2>});
  t.add({.schema_text = "aten::grid_sampler_3d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)", .rule = grid_backward_rule<3>, .kernel = grid_backward_kernel<3>});
  t.add({.schema_text = "aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor", .decomposition = grid_sampler});
  t.add({.schema_text = "aten::cudnn_grid_sampler(Tensor self, Tensor grid) -> Tensor output", .rule = grid_rule<2>, .kernel = grid_kernel<2>});
  t.add({.schema_text = "aten::cudnn_grid_sampler_backward(Tensor self, Tensor grid, Tensor grad_output) -> (Tensor grad_self, Tensor grad_grid)", .rule = cudnn_backward_rule, .kernel = grid_backward_kernel<2>});
}
// clang-format on

}  // namespace assay
