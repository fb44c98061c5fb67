// Windows and frequencies that signals are transformed with, and the short-time Fourier transform
// (aten/src/ATen/native/TensorFactories.cpp, SpectralOps.cpp).
#include <array>
#include <cmath>
#include <numbers>

#include "core/ops/rules.h"

namespace assay {
namespace {

auto factory(MetaCall& c, Expr size) -> Datum {
  if (!c.require(ge(size, 0), "the length is not negative")) return {};
  if (const auto device = c.device(param(c, "device"))) c.set_device(*device);
  const auto dtype = c.dtype(param(c, "dtype")).value_or(DType::float32);
  if (!c.require(is_floating(dtype), "the dtype is floating")) return {};
  return c.fresh(dtype, {std::move(size)});
}

// ---- windows ------------------------------------------------------------------------------------

/// Values at 0 <= x <= 1, the window's ends.
using Shape = double (*)(KernelCall&, double x);
auto number_or(KernelCall& k, std::string_view name, double fallback) -> double {
  const int i = param(k, name);
  return i < 0 ? fallback : k.real(i);
}
auto wave(double x, int waves = 1) -> double {
  return std::cos(2 * std::numbers::pi * waves * x);
}
auto hann(KernelCall&, double x) -> double {
  return 0.5 - 0.5 * wave(x);
}
auto hamming(KernelCall& k, double x) -> double {
  return number_or(k, "alpha", 0.54) - number_or(k, "beta", 0.46) * wave(x);
}
auto blackman(KernelCall&, double x) -> double {
  return 0.42 - 0.5 * wave(x) + 0.08 * wave(x, 2);
}
auto bartlett(KernelCall&, double x) -> double {
  return 1 - std::fabs(2 * x - 1);
}
auto kaiser(KernelCall& k, double x) -> double {
  const double beta = number_or(k, "beta", 12);
  const double y = 2 * x - 1;
  return std::cyl_bessel_i(0, beta * std::sqrt(std::max(1 - y * y, 0.0))) /
         std::cyl_bessel_i(0, beta);
}

auto window_rule(MetaCall& c) -> Datum {
  return factory(c, c.expr(0));
}
/// A periodic window, the usual one, is one element longer and loses it.
template <Shape kShape>
void window_kernel(KernelCall& k) {
  const int periodic = param(k, "periodic");
  const auto length = k.out().numel();
  const auto steps = static_cast<double>(periodic < 0 || k.flag(periodic) ? length : length - 1);
  std::vector<double> values;
  for (std::int64_t i = 0; i < length; ++i)
    values.push_back(length == 1 ? 1 : kShape(k, static_cast<double>(i) / steps));
  from_vector<double>(k.out(), values);
}
template <Shape kShape>
void add_window(OpTable& t, std::initializer_list<std::string_view> schemas) {
  for (const auto schema : schemas)
    t.add({.schema_text = schema, .rule = window_rule, .kernel = window_kernel<kShape>});
}

/// n, d: the frequencies of a transform of n samples d apart.
auto frequency_rule(MetaCall& c) -> Datum {
  return factory(c, c.expr(0));
}
/// Of real samples only those that are not negative.
auto half_frequency_rule(MetaCall& c) -> Datum {
  return factory(c, floor_div(c.expr(0), Expr(2)) + 1);
}
template <bool kHalf>
void frequency_kernel(KernelCall& k) {
  const auto n = k.integer(0);
  std::vector<double> values;
  for (std::int64_t i = 0; i < k.out().numel(); ++i)
    values.push_back(static_cast<double>(kHalf || i < (n + 1) / 2 ? i : i - n) /
                     (static_cast<double>(n) * k.real(1)));
  from_vector<double>(k.out(), values);
}

// ---- short-time transforms ----------------------------------------------------------------------

auto whole(std::int64_t value) -> Datum {
  return {Expr(value)};
}
struct Frames {
  std::int64_t size = 0, hop = 0, window = 0;
};
auto integer_or(Composer& c, std::string_view name, std::int64_t fallback) -> std::int64_t {
  const int i = param(c, name);
  return i >= 0 && c.has(i) ? c.integer(i) : fallback;
}
auto flag_or(Composer& c, std::string_view name, bool fallback) -> bool {
  const int i = param(c, name);
  return i >= 0 && c.has(i) ? c.flag(i) : fallback;
}
auto frames_of(Composer& c) -> Frames {
  Frames f{.size = c.integer(param(c, "n_fft"))};
  f.hop = integer_or(c, "hop_length", f.size / 4);
  f.window = integer_or(c, "win_length", f.size);
  if (f.size <= 0 || f.hop <= 0 || f.window <= 0 || f.window > f.size)
    c.fail("n_fft and hop_length are positive, and the window fits");
  return f;
}
/// The window in the middle of a frame; None where every element counts once.
auto padded_window(Composer& c, const Frames& f, const TensorMeta& like, bool always) -> Datum {
  const int given = param(c, "window");
  Datum window = c.arg(given);
  if (c.has(given)) {
    const auto meta = c.meta(given);
    if (meta.rank() != 1 || !c.decide(eq(meta.sizes[0], f.window), "the window's length"))
      return c.fail("the window has win_length elements"), Datum{};
  } else if (f.window == f.size && !always) {
    return {};
  } else {
    window = c.call("aten.ones.default",
                    {int_list(Ints{f.window}), Datum{real_of(like.dtype)}, {}, Datum{like.device}});
  }
  if (f.window == f.size) return window;
  const auto left = (f.size - f.window) / 2;
  return c.call("aten.constant_pad_nd.default",
                {window, int_list(Ints{left, f.size - f.window - left})});
}

auto centred(Composer& c, Datum input, const Frames& f) -> Datum {
  const auto mode = param(c, "pad_mode");
  input = c.call("aten.unsqueeze.default", {input, whole(0)});
  input = c.call("aten.pad.default",
                 {input, int_list(Ints{f.size / 2, f.size / 2}), Datum{c.text(mode)}});
  return c.call("aten.squeeze.dim", {input, whole(0)});
}
auto stft(Composer& c) -> Datum {
  const auto self = c.meta(0);
  const auto f = frames_of(c);
  if (c.error()) return {};
  if (self.rank() != 1 && self.rank() != 2) return c.fail("a signal, or a batch of them"), Datum{};
  const bool complex = is_complex(self.dtype);
  const int align = param(c, "align_to_window");
  const bool is_centred = flag_or(c, "center", param(c, "center") >= 0);
  if (align >= 0 && c.has(align) && f.window != f.size)
    return c.unsupported("frames that are aligned to their windows"), Datum{};
  auto input = self.rank() == 1 ? c.call("aten.unsqueeze.default", {c.arg(0), whole(0)}) : c.arg(0);
  if (is_centred) input = centred(c, input, f);
  if (c.error()) return {};
  const auto meta = c.meta(input);
  const auto room = meta.sizes[1] - f.size;
  if (!c.decide(ge(room, 0), "the signal has a frame"))
    return c.fail("the signal is as long as a frame"), Datum{};
  const Dims sizes{meta.sizes[0], floor_div(room, Expr(f.hop)) + 1, Expr(f.size)};
  const Dims strides{meta.strides[0], meta.strides[1] * f.hop, meta.strides[1]};
  auto frames = c.call("aten.as_strided.default",
                       {input, int_list(sizes), int_list(strides), Datum{meta.offset}});
  const auto window = padded_window(c, f, self, false);
  if (!window.is_none()) frames = c.call("aten.mul.Tensor", {frames, window});
  const bool complex_window = !window.is_none() && is_complex(c.meta(window).dtype);
  const bool onesided = flag_or(c, "onesided", !complex && !complex_window);
  const auto scale = whole(flag_or(c, "normalized", false) ? 1 : 0);
  const auto last = int_list(Ints{2});
  auto out =
      complex || complex_window
          ? c.call("aten._fft_c2c.default", {frames, last, scale, Datum{Expr::boolean(true)}})
          : c.call("aten._fft_r2c.default", {frames, last, scale, Datum{Expr::boolean(onesided)}});
  out = c.call("aten.transpose.int", {out, whole(1), whole(2)});
  if (self.rank() == 1) out = c.call("aten.squeeze.dim", {out, whole(0)});
  return flag_or(c, "return_complex", complex || complex_window)
             ? out
             : c.call("aten.view_as_real.default", {out});
}

/// Frames [batch, count, size] added up where they overlap.
auto overlapped(Composer& c, const Datum& frames, const Frames& f, const Expr& length) -> Datum {
  const Dims sizes{c.meta(frames).sizes[0], length};
  return c.call("aten.unfold_backward.default",
                {frames, int_list(sizes), whole(1), whole(f.size), whole(f.hop)});
}
auto frames_from_spectrum(Composer& c, const Datum& spectrum, const Frames& f) -> Datum {
  const auto scale = whole(flag_or(c, "normalized", false) ? 1 : 2);
  const auto last = int_list(Ints{2});
  if (flag_or(c, "return_complex", false))
    return c.call("aten._fft_c2c.default", {spectrum, last, scale, Datum{Expr::boolean(false)}});
  const auto half =
      c.call("aten.slice.Tensor", {spectrum, whole(2), whole(0), whole(f.size / 2 + 1)});
  return c.call("aten._fft_c2r.default", {half, last, scale, whole(f.size)});
}
auto istft(Composer& c) -> Datum {
  const auto self = c.meta(0);
  const auto f = frames_of(c);
  if (c.error()) return {};
  if (!is_complex(self.dtype) || (self.rank() != 2 && self.rank() != 3))
    return c.fail("a spectrum of complex numbers, or a batch of them"), Datum{};
  const auto& bins = self.sizes[self.sizes.size() - 2];
  const bool returns_complex = flag_or(c, "return_complex", false);
  const bool onesided = flag_or(
      c, "onesided", !returns_complex && !c.decide(eq(bins, f.size), "a spectrum of all bins"));
  if (returns_complex && onesided) return c.fail("a complex signal has all bins"), Datum{};
  if (!c.decide(eq(bins, onesided ? f.size / 2 + 1 : f.size), "one bin per frequency") ||
      !c.decide(gt(self.sizes.back(), 0), "there is a frame"))
    return c.fail("a frame has a bin per frequency"), Datum{};
  auto input = self.rank() == 2 ? c.call("aten.unsqueeze.default", {c.arg(0), whole(0)}) : c.arg(0);
  input = c.call("aten.transpose.int", {input, whole(1), whole(2)});
  const auto count = c.meta(input).sizes[1];
  const auto length = (count - 1) * f.hop + f.size;
  const auto window = padded_window(c, f, self, true);
  const auto frames = frames_from_spectrum(c, input, f);
  auto sum = overlapped(c, c.call("aten.mul.Tensor", {frames, window}), f, length);
  const auto square = c.call("aten.mul.Tensor", {window, window});
  const auto squares =
      c.call("aten.expand.default", {square, int_list(Dims{Expr(1), count, Expr(f.size)})});
  auto weight = overlapped(c, squares, f, length);
  if (c.error()) return {};
  const bool is_centred = flag_or(c, "center", true);
  const int given = param(c, "length");
  const auto start = is_centred ? f.size / 2 : 0;
  const auto end = c.has(given) ? c.expr(given) + start : is_centred ? length - start : length;
  const auto part = [&](const Datum& of) {
    return c.call("aten.slice.Tensor", {of, whole(1), whole(start), Datum{end}});
  };
  auto result = c.call("aten.div.Tensor", {part(sum), part(weight)});
  if (self.rank() == 2) result = c.call("aten.squeeze.dim", {result, whole(0)});
  if (!c.decide(gt(end, length), "a longer signal is wanted")) return result;
  return c.call("aten.constant_pad_nd.default", {result, int_list(Dims{Expr(0), end - length})});
}

}  // namespace

// clang-format off
#define ASSAY_WINDOW_OPTIONS "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
void add_window_rows(OpTable& t) {
  add_window<hann>(t, {"aten::hann_window(int window_length, " ASSAY_WINDOW_OPTIONS, "aten::hann_window.periodic(int window_length, bool periodic, " ASSAY_WINDOW_OPTIONS});
  add_window<hamming>(t, {"aten::hamming_window(int window_length, " ASSAY_WINDOW_OPTIONS, "aten::hamming_window.periodic(int window_length, bool periodic, " ASSAY_WINDOW_OPTIONS,
                          "aten::hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, " ASSAY_WINDOW_OPTIONS,
                          "aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, " ASSAY_WINDOW_OPTIONS});
  add_window<blackman>(t, {"aten::blackman_window(int window_length, " ASSAY_WINDOW_OPTIONS, "aten::blackman_window.periodic(int window_length, bool periodic, " ASSAY_WINDOW_OPTIONS});
  add_window<bartlett>(t, {"aten::bartlett_window(int window_length, " ASSAY_WINDOW_OPTIONS, "aten::bartlett_window.periodic(int window_length, bool periodic, " ASSAY_WINDOW_OPTIONS});
  add_window<kaiser>(t, {"aten::kaiser_window(int window_length, " ASSAY_WINDOW_OPTIONS, "aten::kaiser_window.periodic(int window_length, bool periodic, " ASSAY_WINDOW_OPTIONS,
                         "aten::kaiser_window.beta(int window_length, bool periodic, float beta, " ASSAY_WINDOW_OPTIONS});
  t.add({.schema_text = "aten::fft_fftfreq(int n, float d=1., " ASSAY_WINDOW_OPTIONS, .rule = frequency_rule, .kernel = frequency_kernel<false>});
  t.add({.schema_text = "aten::fft_rfftfreq(int n, float d=1., " ASSAY_WINDOW_OPTIONS, .rule = half_frequency_rule, .kernel = frequency_kernel<true>});
  t.add({.schema_text = "aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor", .decomposition = stft});
  t.add({.schema_text = "aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, str pad_mode=\"reflect\", bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor", .decomposition = stft});
  t.add({.schema_text = "aten::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor", .decomposition = istft});
}
#undef ASSAY_WINDOW_OPTIONS
// clang-format on

}  // namespace assay
