// Bessel functions of order 0 and 1 beyond 5, as PyTorch computes them.
#pragma once
#include <array>
#include <cmath>
#include <numbers>
#include <span>

namespace assay {

/// Coefficients of Cephes' rational approximations, highest power first.
struct BesselTail {
  std::array<double, 7> p_over, p_under;
  std::array<double, 8> q_over;
  std::array<double, 7> q_under;
};
inline constexpr std::array<BesselTail, 2> kBesselTails{{
    {{7.96936729297347051624e-4, 8.28352392107440799803e-2, 1.23953371646414299388,
      5.44725003058768775090, 8.74716500199817011941, 5.30324038235394892183, 1},
     {9.24408810558863637013e-4, 8.56288474354474431428e-2, 1.25352743901058953537,
      5.47097740330417105182, 8.76190883237069594232, 5.30605288235394617618, 1},
     {-1.13663838898469149931e-2, -1.28252718670509318512, -1.95539544257735972385e1,
      -9.32060152123768231369e1, -1.77681167980488050595e2, -1.47077505154951170175e2,
      -5.14105326766599330220e1, -6.05014350600728481186},
     {6.43178256118178023184e1, 8.56430025976980587198e2, 3.88240183605401609683e3,
      7.24046774195652478189e3, 5.93072701187316984827e3, 2.06209331660327847417e3,
      2.42005740240291393179e2}},
    {{7.62125616208173112003e-4, 7.31397056940917570436e-2, 1.12719608129684925192,
      5.11207951146807644818, 8.42404590141772420927, 5.21451598682361504063, 1},
     {5.71323128072548699714e-4, 6.88455908754495404082e-2, 1.10514232634061696926,
      5.07386386128601488557, 8.39985554327604159757, 5.20982848682361821619, 1},
     {5.10862594750176621635e-2, 4.98213872951233449420, 7.58238284132545283818e1,
      3.66779609360150777800e2, 7.10856304998926107277e2, 5.97489612400613639965e2,
      2.11688757100572135698e2, 2.52070205858023719784e1},
     {7.42373277035675149943e1, 1.05644886038262816351e3, 4.98641058337653607651e3,
      9.56231892404756170795e3, 7.99704160447350683650e3, 2.82619278517639096600e3,
      3.36093607810698293419e2}},
}};

/// cos(x - phase) p - sin(x - phase) q for J, the same turned by a quarter for Y. Cephes leaves
/// out the leading 1 of q's denominator; PyTorch's loop does not put it back, so that its values
/// are off by some 1e-7, which is what programs see.
inline auto bessel_beyond_5(int order, double x, bool is_y) -> double {
  const auto& tail = kBesselTails[static_cast<std::size_t>(order)];
  const double z = 25 / (x * x);
  const auto polynomial = [z](std::span<const double> coefficients) {
    double sum = 0;
    for (const double c : coefficients) sum = sum * z + c;
    return sum;
  };
  const double p = polynomial(tail.p_over) / polynomial(tail.p_under);
  const double q = 5 / x * polynomial(tail.q_over) / polynomial(tail.q_under);
  const double angle = x - (2 * order + 1) * std::numbers::pi / 4;
  const double wave =
      is_y ? p * std::sin(angle) + q * std::cos(angle) : p * std::cos(angle) - q * std::sin(angle);
  return wave * std::sqrt(2 / std::numbers::pi / x);
}

}  // namespace assay
