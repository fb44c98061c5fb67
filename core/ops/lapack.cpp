#include "core/ops/lapack.h"

#include <algorithm>
#include <type_traits>

// LAPACK's own symbols; OpenBLAS has them all. Texts pass their length behind the arguments.
namespace {
using assay::Complex;
using Int = assay::lapack::Int;
using Len = std::size_t;
}  // namespace

// NOLINTBEGIN(readability-identifier-naming)
#define ASSAY_LAPACK_BOTH(d, z, args)       \
  void d(ASSAY_LAPACK_ARGS_##args(double)); \
  void z(ASSAY_LAPACK_ARGS_##args(Complex))
#define ASSAY_LAPACK_ARGS_getrf(T) const Int*, const Int*, T*, const Int*, Int*, Int*
#define ASSAY_LAPACK_ARGS_getrs(T) \
  const char*, const Int*, const Int*, const T*, const Int*, const Int*, T*, const Int*, Int*, Len
#define ASSAY_LAPACK_ARGS_geqrf(T) const Int*, const Int*, T*, const Int*, T*, T*, const Int*, Int*
#define ASSAY_LAPACK_ARGS_orgqr(T) \
  const Int*, const Int*, const Int*, T*, const Int*, const T*, T*, const Int*, Int*
#define ASSAY_LAPACK_ARGS_ormqr(T)                                                              \
  const char*, const char*, const Int*, const Int*, const Int*, const T*, const Int*, const T*, \
      T*, const Int*, T*, const Int*, Int*, Len, Len
#define ASSAY_LAPACK_ARGS_potrf(T) const char*, const Int*, T*, const Int*, Int*, Len
#define ASSAY_LAPACK_ARGS_sytrf(T) \
  const char*, const Int*, T*, const Int*, Int*, T*, const Int*, Int*, Len
#define ASSAY_LAPACK_ARGS_sytrs(T) \
  const char*, const Int*, const Int*, const T*, const Int*, const Int*, T*, const Int*, Int*, Len
#define ASSAY_LAPACK_ARGS_gels(T)                                                                  \
  const char*, const Int*, const Int*, const Int*, T*, const Int*, T*, const Int*, T*, const Int*, \
      Int*, Len
extern "C" {
ASSAY_LAPACK_BOTH(dgetrf_, zgetrf_, getrf);
ASSAY_LAPACK_BOTH(dgetrs_, zgetrs_, getrs);
ASSAY_LAPACK_BOTH(dgeqrf_, zgeqrf_, geqrf);
ASSAY_LAPACK_BOTH(dorgqr_, zungqr_, orgqr);
ASSAY_LAPACK_BOTH(dormqr_, zunmqr_, ormqr);
ASSAY_LAPACK_BOTH(dpotrf_, zpotrf_, potrf);
ASSAY_LAPACK_BOTH(dsytrf_, zsytrf_, sytrf);
void zhetrf_(ASSAY_LAPACK_ARGS_sytrf(Complex));
ASSAY_LAPACK_BOTH(dsytrs_, zsytrs_, sytrs);
void zhetrs_(ASSAY_LAPACK_ARGS_sytrs(Complex));
ASSAY_LAPACK_BOTH(dgels_, zgels_, gels);
void dgesdd_(const char*, const Int*, const Int*, double*, const Int*, double*, double*, const Int*,
             double*, const Int*, double*, const Int*, Int*, Int*, Len);
void zgesdd_(const char*, const Int*, const Int*, Complex*, const Int*, double*, Complex*,
             const Int*, Complex*, const Int*, Complex*, const Int*, double*, Int*, Int*, Len);
void dsyevd_(const char*, const char*, const Int*, double*, const Int*, double*, double*,
             const Int*, Int*, const Int*, Int*, Len, Len);
void zheevd_(const char*, const char*, const Int*, Complex*, const Int*, double*, Complex*,
             const Int*, double*, const Int*, Int*, const Int*, Int*, Len, Len);
void dgeev_(const char*, const char*, const Int*, double*, const Int*, double*, double*, double*,
            const Int*, double*, const Int*, double*, const Int*, Int*, Len, Len);
void zgeev_(const char*, const char*, const Int*, Complex*, const Int*, Complex*, Complex*,
            const Int*, Complex*, const Int*, Complex*, const Int*, double*, Int*, Len, Len);
void dgelsy_(const Int*, const Int*, const Int*, double*, const Int*, double*, const Int*, Int*,
             const double*, Int*, double*, const Int*, Int*);
void zgelsy_(const Int*, const Int*, const Int*, Complex*, const Int*, Complex*, const Int*, Int*,
             const double*, Int*, Complex*, const Int*, double*, Int*);
void dgelss_(const Int*, const Int*, const Int*, double*, const Int*, double*, const Int*, double*,
             const double*, Int*, double*, const Int*, Int*);
void zgelss_(const Int*, const Int*, const Int*, Complex*, const Int*, Complex*, const Int*,
             double*, const double*, Int*, Complex*, const Int*, double*, Int*);
}
#undef ASSAY_LAPACK_BOTH
// NOLINTEND(readability-identifier-naming)

namespace assay::lapack {
namespace {

template <class T>
constexpr bool kReal = std::is_same_v<T, double>;
/// LAPACK wants leading dimensions of at least 1.
auto lead(Int rows) -> Int {
  return std::max(rows, 1);
}
/// Asks for the size of the work space (size -1), makes it, runs.
template <class T, class Run>
void with_work(const Run& run) {
  T size{};
  Int query = -1;
  run(&size, &query);
  Int count = std::max(1, static_cast<Int>(std::real(size)));
  std::vector<T> work(static_cast<std::size_t>(count));
  run(work.data(), &count);
}
/// Real work space of the complex drivers; enough for all that are used here.
auto real_work(Int rows, Int cols) -> std::vector<double> {
  const auto least = static_cast<std::size_t>(std::min(rows, cols)) + 1;
  const auto most = static_cast<std::size_t>(std::max(rows, cols)) + 1;
  return std::vector<double>(least * (5 * least + 5 * most + 7) + 5 * most + 64);
}

}  // namespace

template <class T>
auto lu_factor(Int rows, Int cols, T* a, Int* pivots) -> Int {
  Int info = 0;
  const Int lda = lead(rows);
  if constexpr (kReal<T>)
    dgetrf_(&rows, &cols, a, &lda, pivots, &info);
  else
    zgetrf_(&rows, &cols, a, &lda, pivots, &info);
  return info;
}

template <class T>
void lu_solve(Form form, Int n, Int count, const T* lu, const Int* pivots, T* b) {
  Int info = 0;
  const Int ld = lead(n);
  const char trans = static_cast<char>(form);
  if constexpr (kReal<T>)
    dgetrs_(&trans, &n, &count, lu, &ld, pivots, b, &ld, &info, 1);
  else
    zgetrs_(&trans, &n, &count, lu, &ld, pivots, b, &ld, &info, 1);
}

template <class T>
void qr_factor(Int rows, Int cols, T* a, T* tau) {
  const Int lda = lead(rows);
  with_work<T>([&](T* work, const Int* size) {
    Int info = 0;
    if constexpr (kReal<T>)
      dgeqrf_(&rows, &cols, a, &lda, tau, work, size, &info);
    else
      zgeqrf_(&rows, &cols, a, &lda, tau, work, size, &info);
  });
}

template <class T>
void make_q(Int rows, Int cols, Int count, T* a, const T* tau) {
  const Int lda = lead(rows);
  with_work<T>([&](T* work, const Int* size) {
    Int info = 0;
    if constexpr (kReal<T>)
      dorgqr_(&rows, &cols, &count, a, &lda, tau, work, size, &info);
    else
      zungqr_(&rows, &cols, &count, a, &lda, tau, work, size, &info);
  });
}

template <class T>
void multiply_q(bool left, bool adjoint, Int rows, Int cols, Int count, const T* a, Int a_rows,
                const T* tau, T* c) {
  const char side = left ? 'L' : 'R';
  const char trans = !adjoint ? 'N' : kReal<T> ? 'T' : 'C';
  const Int lda = lead(a_rows);
  const Int ldc = lead(rows);
  with_work<T>([&](T* work, const Int* size) {
    Int info = 0;
    if constexpr (kReal<T>)
      dormqr_(&side, &trans, &rows, &cols, &count, a, &lda, tau, c, &ldc, work, size, &info, 1, 1);
    else
      zunmqr_(&side, &trans, &rows, &cols, &count, a, &lda, tau, c, &ldc, work, size, &info, 1, 1);
  });
}

template <class T>
auto svd(Vectors vectors, Int rows, Int cols, T* a, double* s, T* u, T* vh) -> Int {
  const char job = static_cast<char>(vectors);
  const Int lda = lead(rows);
  const Int ldv = vectors == Vectors::all ? lead(cols) : lead(std::min(rows, cols));
  std::vector<Int> whole(8 * static_cast<std::size_t>(lead(std::min(rows, cols))));
  Int info = 0;
  with_work<T>([&](T* work, const Int* size) {
    if constexpr (kReal<T>) {
      dgesdd_(&job, &rows, &cols, a, &lda, s, u, &lda, vh, &ldv, work, size, whole.data(), &info,
              1);
    } else {
      auto real = real_work(rows, cols);
      zgesdd_(&job, &rows, &cols, a, &lda, s, u, &lda, vh, &ldv, work, size, real.data(),
              whole.data(), &info, 1);
    }
  });
  return info;
}

template <class T>
auto eigh(bool vectors, bool lower, Int n, T* a, double* values) -> Int {
  const char job = vectors ? 'V' : 'N';
  const char triangle = lower ? 'L' : 'U';
  const Int lda = lead(n);
  std::vector<Int> whole(5 * static_cast<std::size_t>(n) + 8);
  const auto whole_size = static_cast<Int>(whole.size());
  Int info = 0;
  with_work<T>([&](T* work, const Int* size) {
    if constexpr (kReal<T>) {
      dsyevd_(&job, &triangle, &n, a, &lda, values, work, size, whole.data(), &whole_size, &info, 1,
              1);
    } else {
      const auto count = static_cast<std::size_t>(n);
      std::vector<double> real(1 + 5 * count + 2 * count * count);
      const auto real_size = static_cast<Int>(real.size());
      zheevd_(&job, &triangle, &n, a, &lda, values, work, size, real.data(), &real_size,
              whole.data(), &whole_size, &info, 1, 1);
    }
  });
  return info;
}

template <class T>
auto eig(Int n, T* a, Complex* values, Complex* vectors) -> Int {
  const char none = 'N';
  const char all = 'V';
  const Int lda = lead(n);
  const auto count = static_cast<std::size_t>(n);
  Int info = 0;
  if constexpr (kReal<T>) {
    std::vector<double> real(count);
    std::vector<double> imaginary(count);
    std::vector<double> columns(count * count);
    with_work<T>([&](T* work, const Int* size) {
      dgeev_(&none, &all, &n, a, &lda, real.data(), imaginary.data(), nullptr, &lda, columns.data(),
             &lda, work, size, &info, 1, 1);
    });
    // A pair of conjugate eigenvalues has its vectors as real and imaginary part.
    for (std::size_t j = 0; j < count; ++j) {
      values[j] = {real[j], imaginary[j]};
      for (std::size_t i = 0; i < count; ++i) {
        const auto at = [&](std::size_t column) { return columns[column * count + i]; };
        vectors[j * count + i] = imaginary[j] > 0 && j + 1 < count ? Complex(at(j), at(j + 1))
                                 : imaginary[j] < 0 && j > 0       ? Complex(at(j - 1), -at(j))
                                                                   : Complex(at(j));
      }
    }
  } else {
    std::vector<double> real(2 * count + 1);
    with_work<T>([&](T* work, const Int* size) {
      zgeev_(&none, &all, &n, a, &lda, values, nullptr, &lda, vectors, &lda, work, size,
             real.data(), &info, 1, 1);
    });
  }
  return info;
}

template <class T>
auto cholesky(bool lower, Int n, T* a) -> Int {
  const char triangle = lower ? 'L' : 'U';
  const Int lda = lead(n);
  Int info = 0;
  if constexpr (kReal<T>)
    dpotrf_(&triangle, &n, a, &lda, &info, 1);
  else
    zpotrf_(&triangle, &n, a, &lda, &info, 1);
  return info;
}

template <class T>
auto ldl_factor(bool hermitian, Int n, T* a, Int* pivots) -> Int {
  const char triangle = 'L';
  const Int lda = lead(n);
  Int info = 0;
  with_work<T>([&](T* work, const Int* size) {
    if constexpr (kReal<T>)
      dsytrf_(&triangle, &n, a, &lda, pivots, work, size, &info, 1);
    else
      (hermitian ? zhetrf_ : zsytrf_)(&triangle, &n, a, &lda, pivots, work, size, &info, 1);
  });
  static_cast<void>(hermitian);
  return info;
}

template <class T>
void ldl_solve(bool hermitian, Int n, Int count, const T* ld, const Int* pivots, T* b) {
  const char triangle = 'L';
  const Int lda = lead(n);
  Int info = 0;
  if constexpr (kReal<T>)
    dsytrs_(&triangle, &n, &count, ld, &lda, pivots, b, &lda, &info, 1);
  else
    (hermitian ? zhetrs_ : zsytrs_)(&triangle, &n, &count, ld, &lda, pivots, b, &lda, &info, 1);
  static_cast<void>(hermitian);
}

template <class T>
auto least_squares(Driver driver, Int rows, Int cols, Int count, double rcond, T* a, T* b,
                   double* s, Int& rank) -> Int {
  const Int lda = lead(rows);
  const Int ldb = lead(std::max(rows, cols));
  const char none = 'N';
  std::vector<Int> pivots(static_cast<std::size_t>(cols) + 1, 0);
  auto real = real_work(rows, cols);
  Int info = 0;
  // The divide and conquer driver gives what the plain singular value decomposition does.
  with_work<T>([&](T* work, const Int* size) {
    if constexpr (kReal<T>) {
      if (driver == Driver::gels)
        dgels_(&none, &rows, &cols, &count, a, &lda, b, &ldb, work, size, &info, 1);
      else if (driver == Driver::gelsy)
        dgelsy_(&rows, &cols, &count, a, &lda, b, &ldb, pivots.data(), &rcond, &rank, work, size,
                &info);
      else
        dgelss_(&rows, &cols, &count, a, &lda, b, &ldb, s, &rcond, &rank, work, size, &info);
    } else {
      if (driver == Driver::gels)
        zgels_(&none, &rows, &cols, &count, a, &lda, b, &ldb, work, size, &info, 1);
      else if (driver == Driver::gelsy)
        zgelsy_(&rows, &cols, &count, a, &lda, b, &ldb, pivots.data(), &rcond, &rank, work, size,
                real.data(), &info);
      else
        zgelss_(&rows, &cols, &count, a, &lda, b, &ldb, s, &rcond, &rank, work, size, real.data(),
                &info);
    }
  });
  return info;
}

#define ASSAY_INSTANTIATE(T)                                                           \
  template auto lu_factor<T>(Int, Int, T*, Int*) -> Int;                               \
  template void lu_solve<T>(Form, Int, Int, const T*, const Int*, T*);                 \
  template void qr_factor<T>(Int, Int, T*, T*);                                        \
  template void make_q<T>(Int, Int, Int, T*, const T*);                                \
  template void multiply_q<T>(bool, bool, Int, Int, Int, const T*, Int, const T*, T*); \
  template auto svd<T>(Vectors, Int, Int, T*, double*, T*, T*) -> Int;                 \
  template auto eigh<T>(bool, bool, Int, T*, double*) -> Int;                          \
  template auto eig<T>(Int, T*, Complex*, Complex*) -> Int;                            \
  template auto cholesky<T>(bool, Int, T*) -> Int;                                     \
  template auto ldl_factor<T>(bool, Int, T*, Int*) -> Int;                             \
  template void ldl_solve<T>(bool, Int, Int, const T*, const Int*, T*);                \
  template auto least_squares<T>(Driver, Int, Int, Int, double, T*, T*, double*, Int&) -> Int;
ASSAY_INSTANTIATE(double)
ASSAY_INSTANTIATE(Complex)
#undef ASSAY_INSTANTIATE

}  // namespace assay::lapack
