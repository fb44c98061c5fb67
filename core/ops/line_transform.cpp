#include "core/ops/line_transform.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

namespace assay {
namespace {

constexpr std::size_t kLines = LineTransform::kLines;

/// exp(2 pi i k / n) for k < n, by an angle of at most an eighth of a turn: k/n is that many
/// eighths and a rest, which is taken from the nearer side.
auto root_of_one(std::size_t k, std::size_t n) -> std::complex<double> {
  const auto eighth = 8 * k / n;
  const auto rest = 8 * k % n;  // of n, in eighths of a turn
  const bool is_odd = eighth % 2 != 0;
  const auto angle =
      std::numbers::pi / 4 * static_cast<double>(is_odd ? n - rest : rest) / static_cast<double>(n);
  const auto c = std::cos(angle), s = std::sin(angle);
  const std::complex<double> quarter = is_odd ? std::complex(s, c) : std::complex(c, s);
  switch (eighth / 2) {
    case 0:
      return quarter;
    case 1:
      return {-quarter.imag(), quarter.real()};
    case 2:
      return -quarter;
    default:
      return {quarter.imag(), -quarter.real()};
  }
}

/// Where the elements of a pass stand: read from `in`, written times a root of one.
struct Side {
  const double* __restrict in_re;
  const double* __restrict in_im;
  double* __restrict out_re;
  double* __restrict out_im;
};
struct Root {
  double re, im;
};
inline void write(const Side& side, std::size_t at, double re, double im, Root root) {
  side.out_re[at] = re * root.re - im * root.im;
  side.out_im[at] = re * root.im + im * root.re;
}

}  // namespace

LineTransform::LineTransform(std::size_t length, bool forward)
    : length_(length), sign_(forward ? -1 : 1) {
  std::size_t left = length, together = 1, largest = 1;
  const auto add = [&](std::size_t radix) {
    left /= radix;
    passes_.push_back({radix, left, together});
    together *= radix;
    largest = std::max(largest, radix);
  };
  while (left % 4 == 0) add(4);
  for (std::size_t factor = 2; left > 1; ++factor) {
    if (factor * factor > left) factor = left;
    while (left % factor == 0) add(factor);
  }
  for (std::size_t k = 0; k < length; ++k) {
    const auto root = root_of_one(k, length);
    cos_.push_back(root.real());
    sin_.push_back(sign_ * root.imag());
  }
  for (auto* values : {&real_, &imag_, &next_real_, &next_imag_}) values->resize(length * kLines);
  sums_.resize(2 * largest * kLines);
}

void LineTransform::run() {
  for (const auto& pass : passes_) {
    if (pass.radix == 2)
      pass_of_two(pass);
    else if (pass.radix == 4)
      pass_of_four(pass);
    else
      pass_of_any(pass);
    real_.swap(next_real_);
    imag_.swap(next_imag_);
  }
}

/// y[0] = a + b, y[1] = (a - b) w.
void LineTransform::pass_of_two(const Pass& pass) {
  const Side side{real_.data(), imag_.data(), next_real_.data(), next_imag_.data()};
  const auto count = pass.together * kLines;
  for (std::size_t group = 0; group < pass.groups; ++group) {
    const Root w{cos_[group * pass.together], sin_[group * pass.together]};
    const auto a = group * count, b = a + pass.groups * count, to = 2 * a;
    for (std::size_t i = 0; i < count; ++i) {
      const auto a_re = side.in_re[a + i], a_im = side.in_im[a + i];
      const auto b_re = side.in_re[b + i], b_im = side.in_im[b + i];
      side.out_re[to + i] = a_re + b_re;
      side.out_im[to + i] = a_im + b_im;
      write(side, to + count + i, a_re - b_re, a_im - b_im, w);
    }
  }
}

/// The same of four, whose roots of one are 1, i, -1 and -i.
void LineTransform::pass_of_four(const Pass& pass) {
  const Side side{real_.data(), imag_.data(), next_real_.data(), next_imag_.data()};
  const auto count = pass.together * kLines, apart = pass.groups * count;
  for (std::size_t group = 0; group < pass.groups; ++group) {
    const auto root = [&](std::size_t power) {
      const auto at = power * group * pass.together;
      return Root{cos_[at], sin_[at]};
    };
    const auto w1 = root(1), w2 = root(2), w3 = root(3);
    const auto from = group * count, to = 4 * from;
    const auto turn = sign_;
    for (std::size_t i = 0; i < count; ++i) {
      const auto* re = side.in_re + from + i;
      const auto* im = side.in_im + from + i;
      const auto even_re = re[0] + re[2 * apart], even_im = im[0] + im[2 * apart];
      const auto between_re = re[0] - re[2 * apart], between_im = im[0] - im[2 * apart];
      const auto odd_re = re[apart] + re[3 * apart], odd_im = im[apart] + im[3 * apart];
      // times i or -i
      const auto turned_re = -turn * (im[apart] - im[3 * apart]);
      const auto turned_im = turn * (re[apart] - re[3 * apart]);
      side.out_re[to + i] = even_re + odd_re;
      side.out_im[to + i] = even_im + odd_im;
      write(side, to + count + i, between_re + turned_re, between_im + turned_im, w1);
      write(side, to + 2 * count + i, even_re - odd_re, even_im - odd_im, w2);
      write(side, to + 3 * count + i, between_re - turned_re, between_im - turned_im, w3);
    }
  }
}

/// An odd radix p: elements j and p - j have conjugate roots, so their sum goes with cosines and
/// their difference with sines.
void LineTransform::pass_of_any(const Pass& pass) {
  const Side side{real_.data(), imag_.data(), next_real_.data(), next_imag_.data()};
  const auto p = pass.radix, half = p / 2;
  const auto count = pass.together * kLines, apart = pass.groups * count;
  double* const __restrict sums_re = sums_.data();
  double* const __restrict sums_im = sums_re + p * kLines;
  for (std::size_t group = 0; group < pass.groups; ++group)
    for (std::size_t block = 0; block < count; block += kLines) {
      const auto from = group * count + block, to = group * p * count + block;
      double first_re[kLines], first_im[kLines];  // of the result
      for (std::size_t i = 0; i < kLines; ++i) {
        first_re[i] = side.in_re[from + i];
        first_im[i] = side.in_im[from + i];
      }
      // Sums at j, differences at p - j.
      for (std::size_t j = 1; j <= half; ++j)
        for (std::size_t i = 0; i < kLines; ++i) {
          const auto a = from + j * apart + i, b = from + (p - j) * apart + i;
          const auto sum = j * kLines + i, difference = (p - j) * kLines + i;
          sums_re[sum] = side.in_re[a] + side.in_re[b];
          sums_im[sum] = side.in_im[a] + side.in_im[b];
          sums_re[difference] = side.in_re[a] - side.in_re[b];
          sums_im[difference] = side.in_im[a] - side.in_im[b];
          first_re[i] += sums_re[sum];
          first_im[i] += sums_im[sum];
        }
      for (std::size_t i = 0; i < kLines; ++i) {
        side.out_re[to + i] = first_re[i];
        side.out_im[to + i] = first_im[i];
      }
      for (std::size_t k = 1; k <= half; ++k) {
        double even_re[kLines], even_im[kLines], odd_re[kLines] = {}, odd_im[kLines] = {};
        for (std::size_t i = 0; i < kLines; ++i) {
          even_re[i] = side.in_re[from + i];
          even_im[i] = side.in_im[from + i];
        }
        for (std::size_t j = 1; j <= half; ++j) {
          const auto root = j * k % p * (length_ / p);
          const auto c = cos_[root], s = sin_[root];
          for (std::size_t i = 0; i < kLines; ++i) {
            even_re[i] += c * sums_re[j * kLines + i];
            even_im[i] += c * sums_im[j * kLines + i];
            odd_re[i] += s * sums_re[(p - j) * kLines + i];
            odd_im[i] += s * sums_im[(p - j) * kLines + i];
          }
        }
        const auto one = k * group * pass.together, other = (p - k) * group * pass.together;
        for (std::size_t i = 0; i < kLines; ++i) {
          write(side, to + k * count + i, even_re[i] - odd_im[i], even_im[i] + odd_re[i],
                {cos_[one], sin_[one]});
          write(side, to + (p - k) * count + i, even_re[i] + odd_im[i], even_im[i] - odd_re[i],
                {cos_[other], sin_[other]});
        }
      }
    }
}

}  // namespace assay
