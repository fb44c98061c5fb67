// Functions of floats. float32 is computed in float32, with the C library's accuracy.
#include <cmath>

#include "compiler/program/lanes.h"
#include "core/function/special.h"

namespace assay {
namespace {

template <class T>
concept Real = std::floating_point<T>;

// clang-format off
struct Divide { auto operator()(Real auto a, decltype(a) b) const { return a / b; } };
struct Power { auto operator()(Real auto a, decltype(a) b) const { return std::pow(a, b); } };
struct Atan2 { auto operator()(Real auto a, decltype(a) b) const { return std::atan2(a, b); } };
struct Copysign { auto operator()(Real auto a, decltype(a) b) const { return std::copysign(a, b); } };
struct Hypot { auto operator()(Real auto a, decltype(a) b) const { return std::hypot(a, b); } };
struct Nextafter { auto operator()(Real auto a, decltype(a) b) const { return std::nextafter(a, b); } };
struct Exp { auto operator()(Real auto a) const { return std::exp(a); } };
struct Exp2 { auto operator()(Real auto a) const { return std::exp2(a); } };
struct Expm1 { auto operator()(Real auto a) const { return std::expm1(a); } };
struct Log { auto operator()(Real auto a) const { return std::log(a); } };
struct Log2 { auto operator()(Real auto a) const { return std::log2(a); } };
struct Log10 { auto operator()(Real auto a) const { return std::log10(a); } };
struct Log1p { auto operator()(Real auto a) const { return std::log1p(a); } };
struct Sqrt { auto operator()(Real auto a) const { return std::sqrt(a); } };
struct Rsqrt { auto operator()(Real auto a) const { return decltype(a)(1) / std::sqrt(a); } };
struct Sin { auto operator()(Real auto a) const { return std::sin(a); } };
struct Cos { auto operator()(Real auto a) const { return std::cos(a); } };
struct Tan { auto operator()(Real auto a) const { return std::tan(a); } };
struct Asin { auto operator()(Real auto a) const { return std::asin(a); } };
struct Acos { auto operator()(Real auto a) const { return std::acos(a); } };
struct Atan { auto operator()(Real auto a) const { return std::atan(a); } };
struct Sinh { auto operator()(Real auto a) const { return std::sinh(a); } };
struct Cosh { auto operator()(Real auto a) const { return std::cosh(a); } };
struct Tanh { auto operator()(Real auto a) const { return std::tanh(a); } };
struct Asinh { auto operator()(Real auto a) const { return std::asinh(a); } };
struct Acosh { auto operator()(Real auto a) const { return std::acosh(a); } };
struct Atanh { auto operator()(Real auto a) const { return std::atanh(a); } };
struct Erf { auto operator()(Real auto a) const { return std::erf(a); } };
struct Erfc { auto operator()(Real auto a) const { return std::erfc(a); } };
struct Lgamma { auto operator()(Real auto a) const { return std::lgamma(a); } };
struct Sigmoid { auto operator()(Real auto a) const { return decltype(a)(1) / (decltype(a)(1) + std::exp(-a)); } };
struct Floor { auto operator()(Real auto a) const { return std::floor(a); } };
struct Ceil { auto operator()(Real auto a) const { return std::ceil(a); } };
struct Trunc { auto operator()(Real auto a) const { return std::trunc(a); } };
struct NearestEven { auto operator()(Real auto a) const { return std::nearbyint(a); } };
struct RoundAway { auto operator()(Real auto a) const { return std::round(a); } };
struct IsNan { auto operator()(Real auto a) const -> bool { return std::isnan(a); } };
struct IsInfinite { auto operator()(Real auto a) const -> bool { return std::isinf(a); } };
struct IsFinite { auto operator()(Real auto a) const -> bool { return std::isfinite(a); } };
struct SignBit { auto operator()(Real auto a) const -> bool { return std::signbit(a); } };
// clang-format on

struct Erfinv {
  auto operator()(Real auto a) const {
    return static_cast<decltype(a)>(special::erfinv(static_cast<double>(a)));
  }
};

using enum TileOp;
constexpr std::array kRows = {
    row2<Divide>(divide),
    row2<Power>(power),
    row2<Atan2>(atan2),
    row2<Copysign>(copysign),
    row2<Hypot>(hypot),
    row2<Nextafter>(nextafter),
    row1<Exp>(exp),
    row1<Exp2>(exp2),
    row1<Expm1>(expm1),
    row1<Log>(log),
    row1<Log2>(log2),
    row1<Log10>(log10),
    row1<Log1p>(log1p),
    row1<Sqrt>(sqrt),
    row1<Rsqrt>(rsqrt),
    row1<Sin>(sin),
    row1<Cos>(cos),
    row1<Tan>(tan),
    row1<Asin>(asin),
    row1<Acos>(acos),
    row1<Atan>(atan),
    row1<Sinh>(sinh),
    row1<Cosh>(cosh),
    row1<Tanh>(tanh),
    row1<Asinh>(asinh),
    row1<Acosh>(acosh),
    row1<Atanh>(atanh),
    row1<Erf>(erf),
    row1<Erfc>(erfc),
    row1<Erfinv>(erfinv),
    row1<Lgamma>(lgamma),
    row1<Sigmoid>(sigmoid),
    row1<Floor>(floor),
    row1<Ceil>(ceil),
    row1<Trunc>(trunc),
    row1<NearestEven>(nearest_even),
    row1<RoundAway>(round_away),
    row1<IsNan>(is_nan),
    row1<IsInfinite>(is_infinite),
    row1<IsFinite>(is_finite),
    row1<SignBit>(sign_bit),
};

}  // namespace

auto float_lanes() -> std::span<const LaneRow> {
  return kRows;
}

}  // namespace assay
