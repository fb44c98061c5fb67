// The BLAS that products run on.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "core/ops/blas.h"

extern "C" auto openblas_get_corename() -> char*;

namespace assay {
namespace {

TEST(Blas, RunsTheKernelsThatTheProcessorCanDo) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "an old processor";
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr) GTEST_SKIP() << "OPENBLAS_CORETYPE is set";
  EXPECT_NE(std::string(openblas_get_corename()), "Prescott");
}

TEST(Blas, ProductsAddUp) {
  const std::vector<double> a = {1, 2, 3, 4}, b = {5, 6, 7, 8};
  std::vector<double> c = {1, 1, 1, 1};
  add_product(2.0, packed_matrix(a.data(), 2, 2), packed_matrix(b.data(), 2, 2), c.data(), 2);
  EXPECT_EQ(c, (std::vector<double>{39, 45, 87, 101}));
}

}  // namespace
}  // namespace assay
