// Draws whose densities hold gamma functions, and their derivatives by the parameters
// (aten/src/ATen/native/Distributions.cpp, Distributions.h).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/function/special.h"
#include "core/ops/rows/random_fill.h"

namespace assay {
namespace {

// ---- draws --------------------------------------------------------------------------------------

/// Marsaglia and Tsang 2000; below a shape of 1 one more is drawn and scaled down. Constants are
/// floats, as in PyTorch.
auto gamma_draw(CpuGenerator& g, double shape) -> double {
  if (shape == 0) return 0;
  double scale = 1;
  if (shape < 1) {
    scale = std::pow(1 - g.uniform(), 1 / shape);
    shape += 1;
  }
  const double d = shape - static_cast<double>(1.0F / 3.0F);
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    double x = 0, root = 0;
    do {
      x = g.normal();
      root = 1 + c * x;
    } while (root <= 0);
    const double v = root * root * root;
    const double u = 1 - g.uniform();
    const double square = x * x;
    if (u < 1 - static_cast<double>(0.0331F) * square * square ||
        std::log(u) < 0.5 * square + d * (1 - v + std::log(v)))
      return scale * d * v;
  }
}
auto least_positive(DType dtype) -> double {
  if (dtype == DType::float64) return std::numeric_limits<double>::min();
  return dtype == DType::float16 ? 0x1p-14 : static_cast<double>(std::numeric_limits<float>::min());
}
auto gammas(KernelCall& k) -> std::vector<double> {
  auto values = to_vector<double>(k.in(0));
  for (auto& value : values) value = gamma_draw(k.random().cpu(), value);
  return values;
}
void standard_gamma_kernel(KernelCall& k) {
  auto values = gammas(k);
  const double least = least_positive(k.out().dtype());
  for (auto& value : values) value = std::max(value, least);
  from_vector<double>(k.out(), values);
}
/// Gamma numbers of each row over their sum.
void dirichlet_kernel(KernelCall& k) {
  auto values = gammas(k);
  const auto& sizes = k.out().sizes();
  const auto count = sizes.empty() ? std::size_t{1} : static_cast<std::size_t>(sizes.back());
  const double least = least_positive(k.out().dtype());
  const double most = static_cast<double>(std::nextafter(1.0F, 0.0F));
  for (std::size_t begin = 0; begin < values.size(); begin += count) {
    const auto row = std::span(values).subspan(begin, count);
    double sum = 0;
    for (const double value : row) sum += value;
    for (double& value : row)
      if (value = value / sum; !std::isnan(value)) value = std::clamp(value, least, most);
  }
  from_vector<double>(k.out(), values);
}

/// What Stirling's formula leaves of log(k!).
auto stirling_rest(double k) -> double {
  if (k <= 9)
    return std::lgamma(k + 1) -
           ((k + 0.5) * std::log(k + 1) - (k + 1) + 0.5 * std::log(2 * std::numbers::pi));
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}
/// Few successes: lengths of the runs between them.
auto binomial_by_runs(CpuGenerator& g, double count, double p) -> double {
  const double failure = std::log1p(-p);
  double successes = 0;
  for (double position = 0;; ++successes) {
    position += std::ceil(std::log(g.uniform()) / failure);
    if (!(position <= count)) return successes;
  }
}
/// Many: transformed rejection (Hörmann 1993, BTRS).
auto binomial_by_rejection(CpuGenerator& g, double count, double p) -> double {
  const double deviation = std::sqrt(count * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = count * p + 0.5;
  const double accepted = 0.92 - 4.2 / b;
  const double odds = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double m = std::floor((count + 1) * p);
  while (true) {
    const double u = g.uniform() - 0.5;
    double v = g.uniform();
    const double edge = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / edge + b) * u + c);
    if (edge >= 0.07 && v <= accepted) return k;
    if (k < 0 || k > count) continue;
    v = std::log(v * alpha / (a / (edge * edge) + b));
    const double bound = (m + 0.5) * std::log((m + 1) / (odds * (count - m + 1))) +
                         (count + 1) * std::log((count - m + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(odds * (count - k + 1) / (k + 1)) + stirling_rest(m) +
                         stirling_rest(count - m) - stirling_rest(k) - stirling_rest(count - k);
    if (v <= bound) return k;
  }
}
auto binomial_draw(CpuGenerator& g, double count, double p) -> double {
  if (count <= 0 || p <= 0) return 0;
  if (p >= 1) return count;
  if (!(p <= 0.5) && !(p > 0.5)) return p;
  const double rarer = p <= 0.5 ? p : 1 - p;
  const double drawn = count * rarer >= 10 ? binomial_by_rejection(g, count, rarer)
                                           : binomial_by_runs(g, count, rarer);
  return p <= 0.5 ? drawn : count - drawn;
}
auto binomial_rule(MetaCall& c) -> Datum {
  if (!c.require(c.meta(0).dtype == c.meta(1).dtype && is_floating(c.meta(0).dtype),
                 "count and probability have one floating dtype") ||
      !require_expands(c, c.meta(1).sizes, c.meta(0).sizes, "the probability fits the count"))
    return {};
  return contiguous_like_self(c);
}
void binomial_kernel(KernelCall& k) {
  auto counts = to_vector<double>(k.in(0));
  const auto chances = spread(k, 1, k.out());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double p = chances[i];
    counts[i] = binomial_draw(k.random().cpu(), counts[i], p);
  }
  from_vector<double>(k.out(), counts);
}

// ---- derivatives by the parameters --------------------------------------------------------------

/// Of a gamma number x by its shape: -(d cdf / d shape) / pdf.
auto gamma_gradient(double shape, double x) -> double {
  if (x < static_cast<double>(0.8F)) {  // Taylor
    double term = 1, at = shape, first = 1 / at, second = 1 / (at * at);
    for (int i = 1; i <= 5; ++i) {
      term *= -x / i;
      at += 1;
      first += term / at;
      second += term / (at * at);
    }
    const double power = std::pow(x, shape);
    const double by_shape =
        (std::log(x) - special::digamma(shape)) * power * first - power * second;
    const double result = -by_shape / (std::pow(x, shape - 1) * std::exp(-x));
    return std::isnan(result) ? 0 : result;
  }
  if (shape > 8) {  // Rice's saddle point
    const double square = shape * shape;
    if (static_cast<double>(0.9F) * shape <= x && x <= static_cast<double>(1.1F) * shape)
      return (1 + 24 * shape * (1 + 12 * shape)) *
             (1440 * square + 6 * x * (53 - 120 * x) - 65 * x * x / shape +
              shape * (107 + 3600 * x)) /
             (1244160 * square * square);
    const double width = std::sqrt(8 * shape);
    const double far = width / (shape - x);
    const double near = std::pow(x - shape - shape * std::log(x / shape), -1.5);
    const double both = x < shape ? far - near : far + near;
    const double main = std::log(x / shape) * both -
                        std::sqrt(2 / shape) * (shape + x) / ((shape - x) * (shape - x));
    return -(1 + 1 / (12 * shape) * (1 + 1 / (24 * shape))) * x * main / width;
  }
  // A quotient of polynomials in the logarithms, fitted by PyTorch's authors.
  constexpr std::array<std::array<double, 8>, 3> kFit{
      {{0.16009398, -0.094634809, 0.025146376, -0.0030648343, 1, 0.32668115, 0.10406089,
        0.0014179084},
       {0.53487893, 0.1298071, 0.065735949, -0.0015649758, 0.16639465, 0.020070113, -0.0035938915,
        -0.00058392623},
       {0.040121004, -0.0065914022, -0.0026286047, -0.0013441777, 0.017050642, -0.0021309326,
        0.00085092367, -1.5247877e-07}}};
  const double u = std::log(x / shape), v = std::log(shape);
  const auto polynomial = [&](std::size_t first) {
    double sum = 0;
    for (auto i = first + 4; i-- > first;)
      sum = sum * v + kFit[0][i] + u * (kFit[1][i] + u * kFit[2][i]);
    return sum;
  };
  return std::exp(polynomial(0) / polynomial(4));
}

/// Of a beta number near 0 by its first parameter, times 1 / (1 - x).
auto beta_by_first_near_0(double x, double alpha, double beta) -> double {
  const double factor = special::digamma(alpha) - special::digamma(alpha + beta) - std::log(x);
  double term = 1, series = (factor + 1 / alpha) / alpha;
  for (int i = 1; i <= 10; ++i) {
    term *= (i - beta) * x / i;
    const double at = alpha + i;
    series += term / at * (factor + 1 / at);
  }
  const double result = x * std::pow(1 - x, -beta) * series;
  return std::isnan(result) ? 0 : result;
}
auto beta_by_second_near_0(double x, double alpha, double beta) -> double {
  const double factor = special::digamma(alpha + beta) - special::digamma(beta);
  double term = 1, product = 1, slope = 0, series = factor / alpha;
  for (int i = 1; i <= 8; ++i) {
    term *= -x / i;
    slope = slope * (beta - i) + product;
    product *= beta - i;
    series += term / (alpha + i) * (slope + factor * product);
  }
  const double result = -std::pow(1 - x, 1 - beta) * series;
  return std::isnan(result) ? 0 : result;
}
/// Both parameters are large: Rice's saddle point.
auto beta_by_first_between(double x, double a, double b) -> double {
  const double total = a + b, mean = a / total;
  const double deviation = std::sqrt(a * b / (total + 1)) / total;
  if (mean - 0.1 * deviation <= x && x <= mean + 0.1 * deviation) {
    const double fourth = 8 * (1 - x) * (135 * b - 11);
    const double third = (453 + 1620 * b * (1 - x) - 455 * x) * b + a * fourth;
    const double second = 3 * (59 + 180 * b - 90 * x) * b * b + a * third;
    const double first = (43 + 20 * (16 + 27 * b) * x) * b * b * b + a * second;
    const double polynomial = 47 * x * b * b * b * b + a * first;
    return (1 + 12 * a) * (1 + 12 * b) / (total * total) / (1 - x) * polynomial /
           (12960 * a * a * a * b * b * (1 + 12 * total));
  }
  const auto stirling = [](double n) { return 1 + 1 / (12 * n) + 1 / (288 * n * n); };
  const double distance = a * (x - 1) + b * x;
  const double first = (2 * a * a * (x - 1) + a * b * (x - 1) - x * b * b) /
                       (std::sqrt(2 * a / b) * std::pow(total, 1.5) * distance * distance);
  const double second = 0.5 * std::log(a / (total * x));
  const double third = std::sqrt(8 * a * b / total) / distance;
  const double fourth =
      std::pow(b * std::log(b / (total * (1 - x))) + a * std::log(a / (total * x)), -1.5);
  return stirling(a) * stirling(b) / stirling(total) * -x / std::sqrt(2 * a * b / total) *
         (first + second * (third + (x < mean ? fourth : -fourth)));
}
using Fit = std::array<std::array<std::array<double, 4>, 3>, 3>;
constexpr std::array<Fit, 2> kBetaFit{
    {{{{{{1.003668233, -0.01061107488, -0.0657888334, 0.01201642863},
         {0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033},
         {-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013}}},
       {{{0.221950385, -0.3187676331, 0.01799915743, 0.01074823814},
         {-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057},
         {0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05}}},
       {{{-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565},
         {0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181},
         {0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05}}}}},
     {{{{{1, -0.02924021934, -0.04438342661, 0.007285809825},
         {0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521},
         {-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149}}},
       {{{0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273},
         {0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956},
         {-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05}}},
       {{{0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05},
         {0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05},
         {-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06}}}}}}};
/// Of a Dirichlet number by its own parameter, of a sum of parameters.
auto dirichlet_gradient(double x, double alpha, double total) -> double {
  const double beta = total - alpha;
  const double boundary = total * x * (1 - x);
  if (x <= 0.5 && boundary < 2.5) return beta_by_first_near_0(x, alpha, beta);
  if (x >= 0.5 && boundary < 0.75) return -beta_by_second_near_0(1 - x, beta, alpha);
  if (alpha > 6 && beta > 6) return beta_by_first_between(x, alpha, beta);
  const double u = std::log(x), a = std::log(alpha) - u, b = std::log(total) - a;
  const auto polynomial = [&](const Fit& fit) {
    double sum = 0;
    for (std::size_t i = 3; i-- > 0;) {
      double row = 0;
      for (std::size_t j = 3; j-- > 0;) {
        const auto& c = fit[i][j];
        row = row * a + c[0] + b * (c[1] + b * (c[2] + b * c[3]));
      }
      sum = sum * u + row;
    }
    return sum;
  };
  return polynomial(kBetaFit[0]) / polynomial(kBetaFit[1]) * x *
         (special::digamma(total) - special::digamma(alpha)) / beta;
}

/// Numbers and parameters of one dtype, contiguous in the first one's sizes.
auto numbers_rule(MetaCall& c) -> Datum {
  for (int i = 1; i < static_cast<int>(c.args().size()); ++i)
    if (!c.require(c.meta(i).dtype == c.meta(0).dtype, "one dtype") ||
        !require_expands(c, c.meta(i).sizes, c.meta(0).sizes, "the parameters fit the numbers"))
      return {};
  if (!c.require(is_floating(c.meta(0).dtype), "a floating dtype")) return {};
  return contiguous_like_self(c);
}
void gamma_grad_kernel(KernelCall& k) {
  auto values = to_vector<double>(k.in(0));
  const auto drawn = spread(k, 1, k.out());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = gamma_gradient(values[i], drawn[i]);
  from_vector<double>(k.out(), values);
}
/// x, alpha, total.
void dirichlet_grad_kernel(KernelCall& k) {
  auto values = to_vector<double>(k.in(0));
  const auto alpha = spread(k, 1, k.out()), total = spread(k, 2, k.out());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = dirichlet_gradient(values[i], alpha[i], total[i]);
  from_vector<double>(k.out(), values);
}

}  // namespace

// clang-format off
void add_gamma_rows(OpTable& t) {
  t.add({.schema_text = "aten::_standard_gamma(Tensor self, Generator? generator=None) -> Tensor", .rule = contiguous_like_self, .kernel = standard_gamma_kernel, .random = true});
  t.add({.schema_text = "aten::_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor", .rule = contiguous_like_self, .kernel = dirichlet_kernel, .random = true});
  t.add({.schema_text = "aten::binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor", .rule = binomial_rule, .kernel = binomial_kernel, .random = true});
  t.add({.schema_text = "aten::_standard_gamma_grad(Tensor self, Tensor output) -> Tensor", .rule = numbers_rule, .kernel = gamma_grad_kernel});
  t.add({.schema_text = "aten::_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor", .rule = numbers_rule, .kernel = dirichlet_grad_kernel});
}
// clang-format on

}  // namespace assay
