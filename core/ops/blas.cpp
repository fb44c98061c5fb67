#include "core/ops/blas.h"

#include <cblas.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <vector>

// OpenBLAS's own, which it calls when it is loaded; other builds have none.
extern "C" {
[[gnu::weak]] void gotoblas_dynamic_init();
[[gnu::weak]] void gotoblas_dynamic_quit();
}

namespace assay {
namespace {

/// OpenBLAS knows processors by their model and takes one that came later for a Prescott, whose
/// products are several times slower. What the processor can do says which kernels it may run.
auto choose_blas_kernels() -> bool {
  constexpr auto kVariable = "OPENBLAS_CORETYPE";
  if (gotoblas_dynamic_init == nullptr || gotoblas_dynamic_quit == nullptr ||
      std::getenv(kVariable) != nullptr || std::string_view(openblas_get_corename()) != "Prescott")
    return false;
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (!has_avx2) return false;
  setenv(kVariable, has_avx512 ? "SkylakeX" : "Haswell", 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv(kVariable);
  return true;
}
/// Before there are threads.
[[maybe_unused]] const bool kHasChosenKernels = choose_blas_kernels();

/// How CBLAS (row-major) can read a matrix without a copy.
template <class T>
struct BlasOperand {
  const T* data;
  CBLAS_TRANSPOSE transpose;
  int leading;
};

constexpr std::int64_t kMaxBlasInt = std::numeric_limits<int>::max();

/// Strides of size-1 dims mean nothing; replace them by what makes the matrix packed.
template <class T>
auto normalised(MatrixView<T> m) -> MatrixView<T> {
  if (m.cols == 1 && m.row_stride == 1)
    m.col_stride = m.rows;
  else if (m.cols == 1)
    m.col_stride = 1;
  if (m.rows == 1) m.row_stride = m.col_stride == 1 ? m.cols : 1;
  return m;
}

template <class T>
auto blas_operand(const MatrixView<T>& view, std::vector<T>& copy) -> BlasOperand<T> {
  const auto m = normalised(view);
  if (m.col_stride == 1 && m.row_stride >= m.cols && m.row_stride <= kMaxBlasInt)
    return {m.data, CblasNoTrans, static_cast<int>(m.row_stride)};
  if (m.row_stride == 1 && m.col_stride >= m.rows && m.col_stride <= kMaxBlasInt)
    return {m.data, CblasTrans, static_cast<int>(m.col_stride)};
  copy.resize(static_cast<std::size_t>(m.rows * m.cols));
  auto* to = copy.data();
  for (std::int64_t i = 0; i < m.rows; ++i)
    for (std::int64_t j = 0; j < m.cols; ++j) *to++ = m.data[i * m.row_stride + j * m.col_stride];
  return {copy.data(), CblasNoTrans, static_cast<int>(m.cols)};
}

/// Integers have no BLAS; unsigned arithmetic wraps as PyTorch's does.
void add_integer_product(std::int64_t alpha, const MatrixView<std::int64_t>& a,
                         const MatrixView<std::int64_t>& b, std::int64_t* c,
                         std::int64_t c_row_stride) {
  const auto as_unsigned = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < b.cols; ++j) {
      std::uint64_t sum = 0;
      for (std::int64_t k = 0; k < a.cols; ++k)
        sum += as_unsigned(a.data[i * a.row_stride + k * a.col_stride]) *
               as_unsigned(b.data[k * b.row_stride + j * b.col_stride]);
      auto& result = c[i * c_row_stride + j];
      result = static_cast<std::int64_t>(as_unsigned(result) + as_unsigned(alpha) * sum);
    }
}

/// 0: as many as the library began with.
std::atomic<int> most_threads = 0;

/// Waking threads costs more than a small product takes, and while they wait they turn.
void set_threads(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr double kEach = 1 << 24;  // multiplications, some tenths of a millisecond
  static const int kAll = openblas_get_num_threads();
  const int limit = most_threads;
  const int most = limit > 0 ? limit : kAll;
  const auto work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  openblas_set_num_threads(static_cast<int>(std::clamp(work / kEach, 1.0, double(most))));
}

}  // namespace

template <class T>
void add_product(T alpha, const MatrixView<T>& a, const MatrixView<T>& b, T* c,
                 std::int64_t c_row_stride) {
  if (a.rows == 0 || b.cols == 0 || a.cols == 0) return;
  if constexpr (std::is_same_v<T, std::int64_t>) {
    add_integer_product(alpha, a, b, c, c_row_stride);
  } else {
    std::vector<T> a_copy;
    std::vector<T> b_copy;
    const auto left = blas_operand(a, a_copy);
    const auto right = blas_operand(b, b_copy);
    const auto m = static_cast<int>(a.rows);
    const auto n = static_cast<int>(b.cols);
    const auto k = static_cast<int>(a.cols);
    set_threads(a.rows, b.cols, a.cols);
    const auto ldc = static_cast<int>(std::max<std::int64_t>(c_row_stride, n));
    if constexpr (std::is_same_v<T, float>) {
      cblas_sgemm(CblasRowMajor, left.transpose, right.transpose, m, n, k, alpha, left.data,
                  left.leading, right.data, right.leading, 1.0F, c, ldc);
    } else if constexpr (std::is_same_v<T, double>) {
      cblas_dgemm(CblasRowMajor, left.transpose, right.transpose, m, n, k, alpha, left.data,
                  left.leading, right.data, right.leading, 1.0, c, ldc);
    } else {
      const T one = 1.0;
      cblas_zgemm(CblasRowMajor, left.transpose, right.transpose, m, n, k, &alpha, left.data,
                  left.leading, right.data, right.leading, &one, c, ldc);
    }
  }
}

template void add_product(float, const MatrixView<float>&, const MatrixView<float>&, float*,
                          std::int64_t);
template void add_product(double, const MatrixView<double>&, const MatrixView<double>&, double*,
                          std::int64_t);
template void add_product(Complex, const MatrixView<Complex>&, const MatrixView<Complex>&, Complex*,
                          std::int64_t);
template void add_product(std::int64_t, const MatrixView<std::int64_t>&,
                          const MatrixView<std::int64_t>&, std::int64_t*, std::int64_t);

BlasThreads::BlasThreads(int threads) : before_(most_threads.exchange(threads)) {}
BlasThreads::~BlasThreads() {
  most_threads = before_;
}

}  // namespace assay
