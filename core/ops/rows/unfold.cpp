// Windows laid out as columns and back (aten/src/ATen/native/Im2Col.cpp, Col2Im.cpp), and
// fractional maximum pooling (FractionalMaxPool2d.cpp, FractionalMaxPool3d.cpp). Results are
// row-major.
#include <cmath>

#include "core/ops/pooling.h"

namespace assay {
namespace {

// ---- im2col and col2im --------------------------------------------------------------------------

constexpr WindowArgs kColumns{.kernel = 1, .stride = 4, .padding = 3, .dilation = 2};
constexpr WindowArgs kImage{.kernel = 2, .stride = 5, .padding = 4, .dilation = 3};

/// The number of columns that a window makes of an image.
auto column_count(MetaCall& c, const WindowArgs& args, const Expr& height, const Expr& width)
    -> Expr {
  const auto dims = window_dims(c, args, 2);
  if (c.error()) return 0;
  for (const auto& dim : dims)
    if (!c.require(gt(dim.kernel, 0), "the kernel is not empty") ||
        !c.require(gt(dim.stride, 0), "strides are positive") ||
        !c.require(gt(dim.dilation, 0), "dilations are positive") ||
        !c.require(ge(dim.padding, 0), "padding is not negative"))
      return 0;
  return window_count(c, height, dims[0], false) * window_count(c, width, dims[1], false);
}
auto kernel_area(const Call& c, const WindowArgs& args) -> Expr {
  Expr area(1);
  for (const auto& size : window_values(c, args.kernel, 2, 1)) area = area * size;
  return area;
}
/// self [N, C, H, W] or [C, H, W], kernel_size, dilation, padding, stride.
auto im2col_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  if (!check_input(c, self, 2)) return {};
  const auto rank = self.sizes.size();
  const auto count = column_count(c, kColumns, self.sizes[rank - 2], self.sizes[rank - 1]);
  if (c.error() || !c.require(gt(count, 0), "the window fits into the image")) return {};
  Dims sizes(self.sizes.begin(), self.sizes.end() - 3);
  sizes.push_back(self.sizes[rank - 3] * kernel_area(c, kColumns));
  sizes.push_back(count);
  return c.fresh(self.dtype, std::move(sizes));
}
/// self [N, C * kernel, columns], output_size, kernel_size, dilation, padding, stride.
auto col2im_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  if (!c.require(self.rank() == 2 || self.rank() == 3, "columns with an optional batch")) return {};
  const auto image = window_values(c, 1, 2, 1);
  const auto area = kernel_area(c, kImage);
  if (c.error()) return {};
  const auto rank = self.sizes.size();
  const auto& rows = self.sizes[rank - 2];
  const auto count = column_count(c, kImage, image[0], image[1]);
  if (c.error() || !c.require(gt(area, 0), "the kernel is not empty") ||
      !c.require(eq(mod(rows, area), 0), "the rows are a multiple of the kernel's size") ||
      !c.require(eq(self.sizes[rank - 1], count), "one column per window"))
    return {};
  Dims sizes(self.sizes.begin(), self.sizes.end() - 2);
  sizes.insert(sizes.end(), {floor_div(rows, area), image[0], image[1]});
  return c.fresh(self.dtype, std::move(sizes));
}

/// Calls f(position in the image, position among the columns) for each element under the window.
template <class F>
void for_each_tap(const Window& w, std::int64_t planes, const F& f) {
  const auto columns = w.out[1] * w.out[2];
  for (std::int64_t plane = 0; plane < planes; ++plane)
    for (std::int64_t kh = 0; kh < w.kernel[1]; ++kh)
      for (std::int64_t kw = 0; kw < w.kernel[2]; ++kw)
        for (std::int64_t oh = 0; oh < w.out[1]; ++oh)
          for (std::int64_t ow = 0; ow < w.out[2]; ++ow) {
            const auto h = w.at(1, oh, kh);
            const auto x = w.at(2, ow, kw);
            if (h < 0 || h >= w.in[1] || x < 0 || x >= w.in[2]) continue;
            const auto row = (plane * w.kernel[1] + kh) * w.kernel[2] + kw;
            f((plane * w.in[1] + h) * w.in[2] + x, row * columns + oh * w.out[2] + ow);
          }
}
auto image_window(KernelCall& k, const WindowArgs& args, Ints image) -> Window {
  auto w = make_window(k, args, 2, image, image);
  for (std::size_t d = 1; d < 3; ++d)
    w.out[d] =
        (w.in[d] + 2 * w.padding[d] - w.dilation[d] * (w.kernel[d] - 1) - 1) / w.stride[d] + 1;
  return w;
}
template <bool kToImage>
void columns_kernel(KernelCall& k) {
  const auto& image = kToImage ? k.out() : k.in(0);
  const auto w = image_window(k, kToImage ? kImage : kColumns, image.sizes());
  std::int64_t planes = 1;
  for (std::size_t i = 0; i + 2 < image.sizes().size(); ++i) planes *= image.sizes()[i];
  if (k.out().numel() == 0) return;
  with_product_type(k.out().dtype(), [&]<class T>(T) {
    const auto from = to_vector<T>(k.in(0));
    std::vector<T> to(static_cast<std::size_t>(k.out().numel()), T(0));
    for_each_tap(w, planes, [&](std::int64_t pixel, std::int64_t column) {
      const auto [target, source] = kToImage ? std::pair(pixel, column) : std::pair(column, pixel);
      to[static_cast<std::size_t>(target)] += from[static_cast<std::size_t>(source)];
    });
    from_vector<T>(k.out(), to);
  });
}

// ---- fractional maximum pooling -----------------------------------------------------------------

/// self, kernel_size, output_size, random_samples [N, C, spatial].
template <int kSpatial>
auto fractional_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  if (!check_input(c, self, kSpatial)) return {};
  const auto kernel = window_values(c, 1, kSpatial, 1);
  const auto out = window_values(c, 2, kSpatial, 1);
  if (c.error()) return {};
  auto sizes = self.sizes;
  const auto& samples = c.meta(3);
  if (!c.require(samples.rank() == 3 && samples.dtype == self.dtype, "samples [N, C, dims]") ||
      !c.require(eq(samples.sizes[2], kSpatial), "one sample per dimension") ||
      !c.require(eq(samples.sizes[1], sizes[sizes.size() - kSpatial - 1]), "one per channel") ||
      (self.rank() == kSpatial + 2 && !c.require(eq(samples.sizes[0], sizes[0]), "one per image")))
    return {};
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto& size = sizes[sizes.size() - kSpatial + i];
    if (!c.require(gt(size, 0), "the input has spatial elements") ||
        !c.require(gt(out[i], 0), "output sizes are positive") ||
        !c.require(gt(kernel[i], 0), "the kernel is not empty") ||
        !c.require(le(out[i] + kernel[i] - 1, size), "the pools fit into the input"))
      return {};
    size = out[i];
  }
  return {DatumList{c.fresh(self.dtype, sizes), c.fresh(DType::int64, sizes)}};
}
/// Starts of the pools along one dimension: PyTorch's pseudo-random sequence.
auto pool_starts(double sample, std::int64_t in, std::int64_t out, std::int64_t kernel) -> Ints {
  Ints starts(static_cast<std::size_t>(out), 0);
  if (out > 1) {
    const double alpha = static_cast<double>(in - kernel) / static_cast<double>(out - 1);
    const auto base = static_cast<std::int64_t>(sample * alpha);
    for (std::int64_t i = 0; i + 1 < out; ++i)
      starts[static_cast<std::size_t>(i)] =
          static_cast<std::int64_t>((static_cast<double>(i) + sample) * alpha) - base;
  }
  if (out > 0) starts.back() = in - kernel;
  return starts;
}
template <int kSpatial>
void fractional_kernel(KernelCall& k) {
  const auto in = spatial_triple(k.in(0).sizes(), kSpatial);
  const auto out = spatial_triple(k.out(0).sizes(), kSpatial);
  Triple kernel{1, 1, 1};
  const auto given = k.integers(1);
  for (std::size_t d = 0; d < kSpatial; ++d)
    kernel[3 - kSpatial + d] = given[std::min(d, given.size() - 1)];
  const auto x = to_vector<double>(k.in(0));
  const auto samples = to_vector<double>(k.in(3));
  std::vector<double> values;
  std::vector<std::int64_t> positions;
  const auto plane = volume(in);
  const auto planes = plane == 0 ? 0 : static_cast<std::int64_t>(x.size()) / plane;
  for (std::int64_t p = 0; p < planes; ++p) {
    std::array<Ints, 3> starts{Ints{0}, Ints{0}, Ints{0}};
    for (std::size_t d = 3 - kSpatial; d < 3; ++d) {
      // Two dimensions take the samples as width, height; three as depth, height, width.
      const auto which = kSpatial == 2 ? 2 - d : d;
      const double sample = samples[static_cast<std::size_t>(p * kSpatial) + which];
      starts[d] = pool_starts(sample, in[d], out[d], kernel[d]);
    }
    for_each_position(out, [&](const Triple& at) {
      Box box;
      for (std::size_t d = 0; d < 3; ++d) {
        const auto start = starts[d][static_cast<std::size_t>(at[d])];
        box[d] = {start, start + kernel[d]};
      }
      std::int64_t best = -1;
      for_each_in(box, in, [&](std::int64_t e) {
        const auto here = x[static_cast<std::size_t>(p * plane + e)];
        if (best < 0 || here > x[static_cast<std::size_t>(p * plane + best)] || std::isnan(here))
          best = e;
      });
      values.push_back(best < 0 ? -std::numeric_limits<double>::infinity()
                                : x[static_cast<std::size_t>(p * plane + best)]);
      positions.push_back(std::max<std::int64_t>(best, 0));
    });
  }
  from_vector<double>(k.out(0), values);
  from_vector<std::int64_t>(k.out(1), positions);
}
/// grad_output, self, kernel_size, output_size, indices.
template <int kSpatial>
auto fractional_backward_rule(MetaCall& c) -> Datum {
  if (!check_adaptive_gradient<kSpatial>(c) ||
      !require_same_sizes(c, c.meta(4).sizes, c.meta(0).sizes, "one index per gradient"))
    return {};
  return c.fresh(c.meta(1).dtype, c.meta(1).sizes);
}

}  // namespace

// clang-format off
void add_unfold_rows(OpTable& t) {
  t.add({.schema_text = "aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor", .rule = im2col_rule, .kernel = columns_kernel<false>});
  t.add({.schema_text = "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor", .rule = col2im_rule, .kernel = columns_kernel<true>});
  t.add({.schema_text = "aten::fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> (Tensor, Tensor)", .rule = fractional_rule<2>, .kernel = fractional_kernel<2>});
  t.add({.schema_text = "aten::fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> (Tensor, Tensor)", .rule = fractional_rule<3>, .kernel = fractional_kernel<3>});
  t.add({.schema_text = "aten::fractional_max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] output_size, Tensor indices) -> Tensor", .rule = fractional_backward_rule<2>, .kernel = max_backward_kernel<2, 4>});
  t.add({.schema_text = "aten::fractional_max_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] output_size, Tensor indices) -> Tensor", .rule = fractional_backward_rule<3>, .kernel = max_backward_kernel<3, 4>});
}
// clang-format on

}  // namespace assay
