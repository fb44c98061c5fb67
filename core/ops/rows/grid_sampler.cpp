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

/// A number of a half type: every operation rounds, as PyTorch's kernels for these types do.
template <DType kDType>
class Rounded {
 public:
  Rounded() = default;
  Rounded(double value) : value_(round_to(kDType, value)) {}  // NOLINT(google-explicit-constructor)
  explicit operator double() const { return value_; }
  friend auto operator+(Rounded a, Rounded b) -> Rounded { return a.value_ + b.value_; }
  friend auto operator-(Rounded a, Rounded b) -> Rounded { return a.value_ - b.value_; }
  friend auto operator*(Rounded a, Rounded b) -> Rounded { return a.value_ * b.value_; }
  friend auto operator/(Rounded a, Rounded b) -> Rounded { return a.value_ / b.value_; }
  friend auto operator-(Rounded a) -> Rounded { return -a.value_; }
  friend auto operator<=>(Rounded a, Rounded b) { return a.value_ <=> b.value_; }
  friend auto operator==(Rounded a, Rounded b) -> bool { return a.value_ == b.value_; }
  friend auto floor(Rounded a) -> Rounded { return std::floor(a.value_); }
  friend auto fmod(Rounded a, Rounded b) -> Rounded { return std::fmod(a.value_, b.value_); }

 private:
  double value_ = 0;
};
using std::floor;
using std::fmod;

/// A position with its derivative after the grid's value.
template <class T>
struct Position {
  T at = 0;
  T slope = 0;
};
/// How grid values become positions along one dimension.
template <class T>
class Axis {
 public:
  /// The CPU's flat kernel multiplies by half a size where others divide by two; CUDA's ones round
  /// a position once (`c10/util/BFloat16-inl.h`: with a float the operators give a float).
  Axis(std::int64_t size, int spatial, Padding padding, bool corners, bool on_cuda)
      : size_(static_cast<double>(size)),
        flat_(spatial == 2 && !on_cuda),
        rounds_once_(on_cuda),
        padding_(padding),
        corners_(corners) {}

  /// [-1, 1] to element positions.
  [[nodiscard]] auto unnormalised(T x) const -> Position<T> {
    const T one = 1;
    const T two = 2;
    const T span = corners_ ? size_ - one : size_;
    const T scale = span / two;
    if (rounds_once_) {
      const auto by = static_cast<double>(size_), from = static_cast<double>(x) + 1;
      return {T(corners_ ? from / 2 * (by - 1) : (from * by - 1) / 2), scale};
    }
    if (flat_) return {corners_ ? (x + one) * scale : (x + one) * scale - T(0.5), scale};
    if (corners_) return {(x + one) / two * span, scale};
    return {((x + one) * size_ - one) / two, scale};
  }
  [[nodiscard]] auto source(T x) const -> Position<T> { return inside(unnormalised(x)); }
  /// Padding applied to a position (also to the taps of the bicubic kernel).
  [[nodiscard]] auto inside(Position<T> p) const -> Position<T> {
    if (padding_ == Padding::reflection) p = reflected(p);
    if (padding_ != Padding::zeros) p = clipped(p);
    return p;
  }

 private:
  [[nodiscard]] auto clipped(Position<T> p) const -> Position<T> {
    const T last = size_ - T(1);
    if (!(p.at > T(0))) return {};
    if (p.at >= last) return {last, 0};
    return p;
  }
  [[nodiscard]] auto reflected(Position<T> p) const -> Position<T> {
    const T low = corners_ ? 0 : -0.5;
    const T span = corners_ ? size_ - T(1) : size_;
    if (span == T(0)) return {};
    T offset = p.at - low;
    T slope = p.slope;
    if (offset < T(0)) {
      offset = -offset;
      slope = -slope;
    }
    const T extra = fmod(offset, span);
    const T flips = floor(offset / span);
    if (fmod(flips, T(2)) == T(0)) return {extra + low, slope};
    return {span - extra + low, -slope};
  }
  T size_;
  bool flat_, rounds_once_;
  Padding padding_;
  bool corners_;
};

/// Elements that a sample reads along one dimension, their weights and these' derivatives after the
/// position.
template <class T>
struct Taps {
  int count = 0;
  std::array<double, 4> index{};
  std::array<T, 4> weight{}, slope{};
  T scale = 0;  ///< the position's derivative after the grid's value
  void add(T at, T w, T d) {
    const auto i = static_cast<std::size_t>(count++);
    index[i] = static_cast<double>(at);
    weight[i] = w;
    slope[i] = d;
  }
};
template <class T>
auto cubic_weights(T t) -> std::pair<std::array<T, 4>, std::array<T, 4>> {
  constexpr double kA = -0.75;
  const auto c = [](double value) { return T(value); };
  const auto near = [&](T x) { return (c(kA + 2) * x - c(kA + 3)) * x * x + c(1); };
  const auto far = [&](T x) { return ((c(kA) * x - c(5 * kA)) * x + c(8 * kA)) * x - c(4 * kA); };
  const auto near_slope = [&](T x) { return (c(3 * (kA + 2)) * x - c(2 * (kA + 3))) * x; };
  const auto far_slope = [&](T x) { return (c(3 * kA) * x - c(10 * kA)) * x + c(8 * kA); };
  const T one = 1;
  const T two = 2;
  return {{far(t + one), near(t), near(one - t), far(two - t)},
          {far_slope(t + one), near_slope(t), -near_slope(one - t), -far_slope(two - t)}};
}
template <class T>
auto taps_of(const Axis<T>& axis, Mode mode, int spatial, T x) -> Taps<T> {
  Taps<T> taps;
  const T one = 1;
  if (mode == Mode::bicubic) {
    const auto p = axis.unnormalised(x);
    taps.scale = p.slope;
    const T first = floor(p.at);
    const auto [weights, slopes] = cubic_weights<T>(p.at - first);
    for (std::size_t i = 0; i < 4; ++i)
      taps.add(axis.inside({first - one + T(static_cast<double>(i)), 0}).at, weights[i], slopes[i]);
    return taps;
  }
  const auto p = axis.source(x);
  if (mode == Mode::nearest) {
    taps.add(std::nearbyint(static_cast<double>(p.at)), 1, 0);
    return taps;
  }
  taps.scale = p.slope;
  const T first = floor(p.at);
  const T share = p.at - first;
  taps.add(first, spatial == 2 ? one - share : first + one - p.at, -one);
  taps.add(first + one, share, one);
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
  bool on_cuda;

  /// Calls f(sample, flat output position, taps of depth, height, width).
  template <class T, class F>
  void for_each(const std::vector<double>& grid, const F& f) const {
    const std::array axes{Axis<T>(in[0], spatial, padding, corners, on_cuda),
                          Axis<T>(in[1], spatial, padding, corners, on_cuda),
                          Axis<T>(in[2], spatial, padding, corners, on_cuda)};
    const auto positions = out[0] * out[1] * out[2];
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t at = 0; at < positions; ++at) {
        const double* point = grid.data() + (n * positions + at) * spatial;
        std::array<Taps<T>, 3> taps;
        if (spatial == 2) taps[0].add(0, 1, 0);
        for (int d = 0; d < spatial; ++d)  // x comes first and is the last dimension
          taps[static_cast<std::size_t>(2 - d)] =
              taps_of<T>(axes[static_cast<std::size_t>(2 - d)], mode, spatial, point[d]);
        f(n, at, taps);
      }
  }
  /// Calls f(flat input position, indices of the three taps) for the elements inside.
  template <class T, class F>
  void for_each_element(const std::array<Taps<T>, 3>& taps, const F& f) const {
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
            .corners = mode < 0 || k.flag(mode + 2),
            .on_cuda = on_cuda(k.in(input_arg).meta)};
  for (int d = 0; d < kSpatial; ++d) {
    const auto to = static_cast<std::size_t>(3 - kSpatial + d);
    s.in[to] = input[static_cast<std::size_t>(d + 2)];
    s.out[to] = grid[static_cast<std::size_t>(d + 1)];
  }
  return s;
}

/// Calls `body` with the type that positions, weights and sums are computed in; CUDA's forward
/// kernels, cuDNN's and the deep cubic one compute half types in float32.
template <class Body>
void with_sampling_type(const RealMeta& input, const Sampler& s, bool is_wide, Body&& body) {
  const bool wide = is_wide || (s.spatial == 3 && s.mode == Mode::bicubic);
  const auto dtype = wide ? DType::float32 : input.dtype;
  if (dtype == DType::float16)
    body(Rounded<DType::float16>());
  else if (dtype == DType::bfloat16)
    body(Rounded<DType::bfloat16>());
  else
    body(double{});
}

template <class T>
auto weighted_lines(const std::array<Taps<T>, 3>& taps,
                    const std::array<std::array<T, 4>, 4>& lines) -> T {
  T sum = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(taps[0].count); ++d) {
    T plane = 0;
    for (std::size_t h = 0; h < 4; ++h) plane = plane + taps[1].weight[h] * lines[d][h];
    sum = sum + taps[0].weight[d] * plane;
  }
  return sum;
}
template <int kSpatial, class T>
void sample(KernelCall& k, const Sampler& s) {
  const auto input = to_vector<double>(k.in(0));
  const auto plane = s.in[0] * s.in[1] * s.in[2];
  const auto positions = s.out[0] * s.out[1] * s.out[2];
  std::vector<double> result(static_cast<std::size_t>(k.out().numel()), 0);
  s.for_each<T>(to_vector<double>(k.in(1)), [&](std::int64_t n, std::int64_t at,
                                                const std::array<Taps<T>, 3>& taps) {
    for (std::int64_t channel = 0; channel < s.channels; ++channel) {
      const auto row = n * s.channels + channel;
      T sum = 0;
      std::array<std::array<T, 4>, 4>
          lines{};  // the cubic kernel sums lines, and those by their weights
      s.for_each_element<T>(
          taps, [&](std::int64_t from, std::size_t d, std::size_t h, std::size_t w) {
            const T value = input[static_cast<std::size_t>(row * plane + from)];
            if (s.mode == Mode::bicubic)
              lines[d][h] = lines[d][h] + taps[2].weight[w] * value;
            else
              sum = sum + taps[2].weight[w] * taps[1].weight[h] * taps[0].weight[d] * value;
          });
      if (s.mode == Mode::bicubic) sum = weighted_lines(taps, lines);
      result[static_cast<std::size_t>(row * positions + at)] = static_cast<double>(sum);
    }
  });
  from_vector<double>(k.out(), result);
}
template <int kSpatial>
void grid_kernel(KernelCall& k) {
  const auto s = sampler_of<kSpatial>(k, 0);
  if (k.error()) return;
  with_sampling_type(k.in(0).meta, s, s.on_cuda, [&]<class T>(T) { sample<kSpatial, T>(k, s); });
}

/// `Sum`: what is added up in; CUDA's kernels add in the type of elements.
template <int kSpatial, class T, class Sum>
void sample_backward(KernelCall& k, const Sampler& s, int input_arg) {
  const bool grad_first = input_arg == 1;
  const auto grad = to_vector<double>(k.in(grad_first ? 0 : 2));
  const auto input = to_vector<double>(k.in(input_arg));
  const auto plane = s.in[0] * s.in[1] * s.in[2];
  const auto positions = s.out[0] * s.out[1] * s.out[2];
  std::vector<Sum> grad_input(input.size(), Sum(0));
  std::vector<double> grad_grid(static_cast<std::size_t>(k.out(1).numel()), 0);
  const auto at_tap = [](T value) { return Sum(static_cast<double>(value)); };
  s.for_each<T>(to_vector<double>(k.in(input_arg + 1)),
                [&](std::int64_t n, std::int64_t at, const std::array<Taps<T>, 3>& taps) {
                  std::array<Sum, 3> slope{};
                  for (std::int64_t channel = 0; channel < s.channels; ++channel) {
                    const auto row = n * s.channels + channel;
                    const Sum g = grad[static_cast<std::size_t>(row * positions + at)];
                    s.for_each_element<T>(taps, [&](std::int64_t from, std::size_t d, std::size_t h,
                                                    std::size_t w) {
                      const Sum weights[] = {at_tap(taps[0].weight[d]), at_tap(taps[1].weight[h]),
                                             at_tap(taps[2].weight[w])};
                      const Sum slopes[] = {at_tap(taps[0].slope[d]), at_tap(taps[1].slope[h]),
                                            at_tap(taps[2].slope[w])};
                      const auto to = static_cast<std::size_t>(row * plane + from);
                      const Sum value = input[to];
                      grad_input[to] = grad_input[to] + weights[2] * weights[1] * weights[0] * g;
                      slope[0] = slope[0] + value * slopes[2] * weights[1] * weights[0] * g;
                      slope[1] = slope[1] + value * weights[2] * slopes[1] * weights[0] * g;
                      if (kSpatial == 3)
                        slope[2] = slope[2] + value * weights[2] * weights[1] * slopes[0] * g;
                    });
                  }
                  for (int i = 0; i < kSpatial; ++i)
                    grad_grid[static_cast<std::size_t>((n * positions + at) * kSpatial + i)] =
                        static_cast<double>(at_tap(taps[static_cast<std::size_t>(2 - i)].scale) *
                                            slope[static_cast<std::size_t>(i)]);
                });
  std::vector<double> sums;
  for (const auto& one : grad_input) sums.push_back(static_cast<double>(one));
  const auto* list = k.result().list();
  if (list && !(*list)[0].is_none()) from_vector<double>(k.out(0), sums);
  from_vector<double>(k.out(1), grad_grid);
}
template <int kSpatial>
void grid_backward_kernel(KernelCall& k) {
  const int input_arg = param(k, "grad_output") == 0 ? 1 : 0;
  const auto s = sampler_of<kSpatial>(k, input_arg);
  if (k.error()) return;
  const bool is_cudnn = input_arg == 0;
  with_sampling_type(k.in(input_arg).meta, s, is_cudnn, [&]<class T>(T) {
    if (s.on_cuda && !is_cudnn)
      sample_backward<kSpatial, T, T>(k, s, input_arg);
    else
      sample_backward<kSpatial, T, double>(k, s, input_arg);
  });
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
