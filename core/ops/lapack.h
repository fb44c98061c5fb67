// Factorisations of dense matrices, the one place that knows LAPACK. Matrices are column-major
// without gaps; T is double or Complex. Results are LAPACK's `info`: 0, or which pivot failed.
#pragma once
#include <vector>

#include "core/tensor/tensor.h"

namespace assay::lapack {

using Int = int;

/// a = P L U in place (getrf). Pivots count from 1; there are min(rows, cols).
template <class T>
auto lu_factor(Int rows, Int cols, T* a, Int* pivots) -> Int;
/// How a factored matrix is meant.
enum class Form : char { plain = 'N', transposed = 'T', adjoint = 'C' };
/// b = op(A)^-1 b for `count` right-hand sides (getrs).
template <class T>
void lu_solve(Form form, Int n, Int count, const T* lu, const Int* pivots, T* b);

/// Householder vectors below the diagonal, R above (geqrf); tau has min(rows, cols) elements.
template <class T>
void qr_factor(Int rows, Int cols, T* a, T* tau);
/// The first `cols` columns of the product of `count` reflectors (orgqr).
template <class T>
void make_q(Int rows, Int cols, Int count, T* a, const T* tau);
/// c = op(Q) c or c op(Q), where Q comes from qr_factor (ormqr). `a_rows` are the rows of a.
template <class T>
void multiply_q(bool left, bool adjoint, Int rows, Int cols, Int count, const T* a, Int a_rows,
                const T* tau, T* c);

/// What of the singular vectors is wanted.
enum class Vectors : char { none = 'N', some = 'S', all = 'A' };
/// a = U diag(s) Vh (gesdd); destroys a. u and vh are unused for Vectors::none.
template <class T>
auto svd(Vectors vectors, Int rows, Int cols, T* a, double* s, T* u, T* vh) -> Int;
/// Eigenvalues in rising order, eigenvectors in a if wanted (syevd, heevd).
template <class T>
auto eigh(bool vectors, bool lower, Int n, T* a, double* values) -> Int;
/// Eigenvalues and right eigenvectors of norm 1 (geev); destroys a.
template <class T>
auto eig(Int n, T* a, Complex* values, Complex* vectors) -> Int;

/// One triangle of a becomes the factor, the other stays (potrf).
template <class T>
auto cholesky(bool lower, Int n, T* a) -> Int;
/// a = L D L^T with 1x1 and 2x2 blocks in D (sytrf, hetrf), lower triangle.
template <class T>
auto ldl_factor(bool hermitian, Int n, T* a, Int* pivots) -> Int;
template <class T>
void ldl_solve(bool hermitian, Int n, Int count, const T* ld, const Int* pivots, T* b);

/// Least squares by the driver (gels, gelsy, gelsd, gelss). b has max(rows, cols) rows, whose first
/// `cols` become the solution. `s` takes min(rows, cols) singular values (gelsd, gelss).
enum class Driver : char { gels, gelsy, gelsd, gelss };
template <class T>
auto least_squares(Driver driver, Int rows, Int cols, Int count, double rcond, T* a, T* b,
                   double* s, Int& rank) -> Int;

}  // namespace assay::lapack
