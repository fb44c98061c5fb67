// Matrix products by cuBLASLt, opened when a program multiplies matrices on a GPU.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "compiler/runtime/cuda/driver.h"
#include "compiler/runtime/cuda/work.h"
#include "core/tensor/dtype.h"

namespace assay::cuda {

/// A matrix in the GPU's memory, or a batch of them. Strides in elements.
struct GpuMatrix {
  Address at = 0;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0, column_stride = 0, batch_stride = 0;
};
[[nodiscard]] inline auto transposed(GpuMatrix m) -> GpuMatrix {
  std::swap(m.rows, m.columns);
  std::swap(m.row_stride, m.column_stride);
  return m;
}
/// out = alpha * a b + beta * added, or + bias in every row. Floats up to 32 bits are multiplied
/// and summed in float32.
struct GpuProduct {
  DType dtype = DType::float32;
  std::optional<DType> out_dtype;  ///< of `out` and `added`; nothing: the operands'
  bool may_round = false;          ///< operands of float32 to TF32
  std::int64_t batch = 1;
  GpuMatrix a, b, out;
  double alpha = 1, beta = 0;
  std::optional<GpuMatrix> added;
  Address bias = 0;  ///< one number per column; 0: none
};

struct BlasFunctions;

class Blas {
 public:
  /// The driver must outlive the result. Errors: missing_tool (no library).
  [[nodiscard]] static auto open(Driver& driver) -> Result<std::unique_ptr<Blas>>;
  ~Blas();
  Blas(const Blas&) = delete;
  auto operator=(const Blas&) -> Blas& = delete;

  /// The first one of a size but for its batch (or, where there is none, its rows) also asks for
  /// other batches, so that the library is ready for them. Errors: unsupported (a layout or dtype
  /// that the library does not take).
  [[nodiscard]] auto prepare(const GpuProduct& product) -> Result<std::unique_ptr<GpuWork>>;

 private:
  explicit Blas(Driver& driver);
  /// What products have in common whose batches differ.
  using Kind = std::array<std::int64_t, 10>;
  Driver& driver_;
  std::set<Kind> known_;
  std::unique_ptr<BlasFunctions> functions_;
  void* handle_ = nullptr;
  Address workspace_ = 0;
};

}  // namespace assay::cuda
