// Convolutions and attention by cuDNN, opened when a program has such on a GPU.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/runtime/cuda/driver.h"
#include "compiler/runtime/cuda/work.h"
#include "core/tensor/meta.h"

namespace assay::cuda {

/// A tensor in the GPU's memory.
struct GpuTensor {
  Address at = 0;
  DType dtype = DType::float32;
  Ints sizes, strides;  ///< in elements
};
/// The forward problem: x has N, C and the places, w is a filter with the places of a window.
struct GpuConvolution {
  enum class Result : std::uint8_t { output, input_gradient, weight_gradient };
  Result result = Result::output;
  GpuTensor x, w, y;  ///< of which `result` is written
  Ints stride, padding, dilation;
  std::int64_t groups = 1;
};

/// softmax(scale * query key^T + mask) value, of tensors [batch, heads, positions, features];
/// several heads of queries may share keys. `sums` [batch, heads, positions] in rows: logarithms of
/// sums of exponentials. Where a mask lets nothing be seen they mean nothing.
struct GpuAttention {
  GpuTensor query, key, value, out, sums;
  std::optional<GpuTensor> mask;  ///< [batch, heads, positions, positions], the first two may be 1
  double scale = 1;
  bool is_causal = false;  ///< what follows a position is not seen
  float lowest = 0;        ///< of scores that are not seen: filled in
};

/// Gradients want a multiple of so many keys: before 9.15.1, and 9.19 on an H200.
inline constexpr std::int64_t kGradientKeys = 128;
/// Its gradients. `query_gradient` and so on are written; as many heads of keys as of queries.
struct GpuAttentionGradients {
  GpuAttention of;
  GpuTensor gradient, query_gradient, key_gradient, value_gradient;
};

struct DnnFunctions;
struct DnnChoices;
struct DnnPlans;
struct DnnPlansDeleter {
  void operator()(DnnPlans* plans) const;
};
class DnnGraph;

class Dnn {
 public:
  /// The driver must outlive the result. `may_round`: operands of float32 may be rounded to TF32,
  /// as PyTorch does by default. Errors: missing_tool (no library).
  [[nodiscard]] static auto open(Driver& driver, bool may_round) -> Result<std::unique_ptr<Dnn>>;
  ~Dnn();
  Dnn(const Dnn&) = delete;
  auto operator=(const Dnn&) -> Dnn& = delete;

  /// By an algorithm that gives the same bits every time, on copies in rows where there is none for
  /// the layouts that are given. The first one of a batch also computes
  /// parts of it, so that the library is ready for other batches. Errors: unsupported (a layout or
  /// dtype that the library does not take).
  [[nodiscard]] auto convolution(const GpuConvolution& what) -> Result<std::unique_ptr<GpuWork>>;
  /// Adds one number per channel (dimension 1) to `to`.
  [[nodiscard]] auto add_bias(const GpuTensor& bias, const GpuTensor& to)
      -> Result<std::unique_ptr<GpuWork>>;
  /// Sums `from` over all but the channels.
  [[nodiscard]] auto bias_gradient(const GpuTensor& from, const GpuTensor& bias)
      -> Result<std::unique_ptr<GpuWork>>;
  /// Of halves; last strides are 1. Errors: unsupported (no engine for it).
  [[nodiscard]] auto attention(GpuAttention what) -> Result<std::unique_ptr<GpuWork>>;
  [[nodiscard]] auto attention(GpuAttentionGradients what) -> Result<std::unique_ptr<GpuWork>>;
  /// Is there a plan for it? Addresses do not matter.
  [[nodiscard]] auto takes(GpuAttention what) -> bool;
  [[nodiscard]] auto takes(GpuAttentionGradients what) -> bool;

 private:
  Dnn(Driver& driver, bool may_round);
  /// `count` of a batch, by a plan.
  struct Part {
    std::int64_t first, count;
    std::shared_ptr<const DnnGraph> plan;
  };
  /// `key` is all that a plan is for but the batch, `family` what lengths do not say.
  struct Asked {
    std::string key, family;
    std::int64_t batch;
  };
  using Describe = std::function<void(DnnGraph&, std::int64_t count)>;
  [[nodiscard]] auto parts(const Asked& asked, const Describe& describe)
      -> Result<std::vector<Part>>;
  [[nodiscard]] auto parts(const GpuAttention& what) -> Result<std::vector<Part>>;
  [[nodiscard]] auto parts(const GpuAttentionGradients& what) -> Result<std::vector<Part>>;
  /// Memory that works share.
  [[nodiscard]] auto room(std::int64_t bytes) -> Result<Address>;
  [[nodiscard]] auto lowest() const -> float;
  [[nodiscard]] auto convolution_in_rows(const GpuConvolution& what)
      -> Result<std::unique_ptr<GpuWork>>;
  Driver& driver_;
  bool may_round_;
  std::unique_ptr<DnnFunctions> functions_;
  std::unique_ptr<DnnChoices> choices_;
  void* library_ = nullptr;
  std::size_t version_ = 0;  ///< 91002 is 9.10.2
  void* handle_ = nullptr;
  Address workspace_ = 0;
  std::unique_ptr<DnnPlans, DnnPlansDeleter> plans_;
  std::vector<Address> rooms_;  ///< the last one is the largest
  std::int64_t room_bytes_ = 0;
};

}  // namespace assay::cuda
