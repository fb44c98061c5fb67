// Matrix products by cuBLASLt, opened when a program multiplies matrices on a GPU.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

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
/// out = alpha * a b + beta * added, or + bias in every row. Floats up to 32 bits are multiplied
/// and summed in float32 (never in TF32).
struct GpuProduct {
  DType dtype = DType::float32;
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

  /// Errors: unsupported (a layout or dtype that the library does not take).
  [[nodiscard]] auto prepare(const GpuProduct& product) -> Result<std::unique_ptr<GpuWork>>;

 private:
  explicit Blas(Driver& driver);
  Driver& driver_;
  std::unique_ptr<BlasFunctions> functions_;
  void* handle_ = nullptr;
  Address workspace_ = 0;
};

}  // namespace assay::cuda
