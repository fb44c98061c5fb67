// Functions of floats that C++ kernels call.
#include <cmath>

#include "core/function/special.h"
#include "tests/unit/compiler/read/cpp_kernels.h"

namespace assay {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

/// As Inductor has them in vectors, lane by lane, and alone.
TEST_F(CppKernel, ScaledErrorFunctionsAreOfLanes) {
  const auto vector = whole_and_rest(
      "auto tmp0 = at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0), {0});\n"
      "auto tmp1 =\n[&]()\n{{\n__at_align__ std::array<float, 16> tmpbuf0;\n"
      "tmp0.store(tmpbuf0.data(), {0});\n__at_align__ std::array<float, 16> tmpbuf_out;\n"
      "for (int i = 0; i < {0}; i++)\n{{\ntmpbuf_out[i] = calc_erfcx(tmpbuf0[i]);\n}}\n"
      "return at::vec::Vectorized<float>::loadu(tmpbuf_out.data(), {0});\n}}\n()\n;\n"
      "tmp1.store(p1 + static_cast<int64_t>(x0), {0});");
  const std::string alone =
      "for(int64_t x0=0; x0<n; x0+=1) { auto tmp0 = p0[x0]; p1[x0] = calc_erfcx(tmp0); }";
  // Both factors are numbers below 26.
  gives_each({vector, alone}, [](double x) { return std::exp(x * x) * std::erfc(x); });
}

/// The exponent goes where its address says: to an element of a local array, or to a variable.
TEST_F(CppKernel, FrexpGivesTwoValues) {
  const auto vector = whole_and_rest(
      "auto tmp0 = at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0), {0});\n"
      "at::vec::Vectorized<int32_t> tmp1;\nat::vec::Vectorized<float> tmp2;\n[&]()\n{{\n"
      "__at_align__ std::array<float, 16> tmpbuf;\ntmp0.store(tmpbuf.data(), {0});\n"
      "__at_align__ std::array<int32_t, 16> tmpbuf_exponent;\n"
      "__at_align__ std::array<float, 16> tmpbuf_mantissa;\n"
      "for (int i = 0; i < {0}; i++)\n{{\n"
      "tmpbuf_mantissa[i] = std::frexp(tmpbuf[i], &tmpbuf_exponent[i]);\n}}\n"
      "tmp1 = at::vec::Vectorized<int32_t>::loadu(tmpbuf_exponent.data(), {0});\n"
      "tmp2 = at::vec::Vectorized<float>::loadu(tmpbuf_mantissa.data(), {0});\n}}\n();\n"
      "auto tmp3 = at::vec::convert<float,1,int32_t,1>(tmp1);\nauto tmp4 = tmp2 + tmp3;\n"
      "tmp4.store(p1 + static_cast<int64_t>(x0), {0});");
  const std::string alone =
      "for(int64_t x0=0; x0<n; x0+=1) { auto tmp0 = p0[x0]; int32_t tmp1; "
      "auto tmp2 = std::frexp(tmp0, &tmp1); p1[x0] = tmp2 + static_cast<float>(tmp1); }";
  gives_each({vector, alone}, [](double x) {
    int power = 0;
    const auto mantissa = std::frexp(x, &power);
    return mantissa + power;
  });
  EXPECT_EQ(reason("float* p0, float* p1, const int64_t n", "p1[0] = std::frexp(p0[0], p0);"),
            "an exponent that has no place");
}

TEST_F(CppKernel, LdexpTakesPowersThatAreFloats) {
  const auto vector = whole_and_rest(
      "auto tmp0 = at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0), {0});\n"
      "auto tmp1 = at::vec::Vectorized<float>(static_cast<float>(-3.0));\n"
      "auto tmp2 =\n[&]()\n{{\n__at_align__ std::array<float, 16> tmpbuf0;\n"
      "tmp0.store(tmpbuf0.data(), {0});\n__at_align__ std::array<float, 16> tmpbuf1;\n"
      "tmp1.store(tmpbuf1.data(), {0});\n__at_align__ std::array<float, 16> tmpbuf_out;\n"
      "for (int i = 0; i < {0}; i++)\n{{\n"
      "tmpbuf_out[i] = std::ldexp(tmpbuf0[i], tmpbuf1[i]);\n}}\n"
      "return at::vec::Vectorized<float>::loadu(tmpbuf_out.data(), {0});\n}}\n();\n"
      "tmp2.store(p1 + static_cast<int64_t>(x0), {0});");
  gives_each({vector, "for(int64_t x0=0; x0<n; x0+=1) { p1[x0] = std::ldexp(p0[x0], -3); }"},
             [](double x) { return std::ldexp(x, -3); });
}

auto of_square(double x) -> float {
  return static_cast<float>(x * x * 0.125 + 0.5);
}
/// The order of a polygamma function says which function is called.
TEST_F(CppKernel, SpecialFunctionsAreOfLanes) {
  const auto loop = [](std::string_view made) {
    return fmt::format(
        "for(int64_t x0=0; x0<n; x0+=1) {{ auto tmp0 = p0[x0]; "
        "auto tmp1 = tmp0 * tmp0 * static_cast<float>(0.125) + static_cast<float>(0.5); p1[x0] = "
        "{}; }}",
        made);
  };
  gives_each({loop("calc_i0(tmp1)")}, [](double x) { return special::i0(of_square(x)); });
  gives_each({loop("calc_polygamma(tmp1, static_cast<float>(2.0))")},
             [](double x) { return special::polygamma(2, of_square(x), false); });
  gives_each({loop("static_cast<float>(1.0) == 0 ? calc_digamma(tmp1) : "
                   "(static_cast<float>(1.0) == 1 ? trigamma(tmp1) : "
                   "calc_polygamma(tmp1, static_cast<float>(1.0)))")},
             [](double x) { return special::trigamma(of_square(x), false); });
  gives_each({loop("calc_igamma(tmp1, static_cast<float>(1.5))")},
             [](double x) { return special::igamma(of_square(x), 1.5); });
  gives_each({loop("hermite_polynomial_h_forward(tmp1, static_cast<float>(3.0))")},
             [](double x) { return special::hermite_polynomial_h(of_square(x), 3); });
  gives_each(
      {whole_and_rest(
          "auto tmp0 = at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0), {0});\n"
          "auto tmp1 = tmp0.i0e();\ntmp1.store(p1 + static_cast<int64_t>(x0), {0});")},
      [](double x) { return special::i0e(x); });
}

}  // namespace
}  // namespace assay
