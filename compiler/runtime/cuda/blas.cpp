#include "compiler/runtime/cuda/blas.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "compiler/runtime/cuda/shared_library.h"

namespace assay::cuda {

/// cublasLtMatmulHeuristicResult_t.
struct BlasChoice {
  std::array<std::uint64_t, 8> algorithm = {};
  std::size_t workspace_bytes = 0;
  int status = 0;
  float waves = 0;
  std::array<int, 4> reserved = {};
};

// NOLINTBEGIN(bugprone-macro-parentheses,readability-identifier-naming): the library's own names
#define ASSAY_BLAS_CALLS(X)                                                                  \
  X(cublasLtCreate, (void**))                                                                \
  X(cublasLtDestroy, (void*))                                                                \
  X(cublasLtMatmulDescCreate, (void**, int, int))                                            \
  X(cublasLtMatmulDescDestroy, (void*))                                                      \
  X(cublasLtMatmulDescSetAttribute, (void*, int, const void*, std::size_t))                  \
  X(cublasLtMatrixLayoutCreate, (void**, int, std::uint64_t, std::uint64_t, std::int64_t))   \
  X(cublasLtMatrixLayoutDestroy, (void*))                                                    \
  X(cublasLtMatrixLayoutSetAttribute, (void*, int, const void*, std::size_t))                \
  X(cublasLtMatmulPreferenceCreate, (void**))                                                \
  X(cublasLtMatmulPreferenceDestroy, (void*))                                                \
  X(cublasLtMatmulPreferenceSetAttribute, (void*, int, const void*, std::size_t))            \
  X(cublasLtMatmulAlgoGetHeuristic,                                                          \
    (void*, void*, void*, void*, void*, void*, void*, int, BlasChoice*, int*))               \
  X(cublasLtMatmul,                                                                          \
    (void*, void*, const void*, Address, void*, Address, void*, const void*, Address, void*, \
     Address, void*, const void*, Address, std::size_t, StreamHandle*))

struct BlasFunctions {
  ASSAY_BLAS_CALLS(ASSAY_LIBRARY_MEMBER)
};
// NOLINTEND(bugprone-macro-parentheses,readability-identifier-naming)

namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20U;
// cublasLtMatmulDescAttributes_t, cublasLtMatrixLayoutAttribute_t,
// cublasLtMatmulPreferenceAttributes_t
constexpr int kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8;
constexpr int kBatchCount = 5, kBatchStride = 6;
constexpr int kMostWorkspace = 1, kAlignmentOfA = 5;
constexpr int kEpilogueBias = 4;

struct BlasTypes {
  DType dtype;
  int data, compute, scale;  ///< cudaDataType, cublasComputeType_t, cudaDataType
  [[nodiscard]] auto compute_of(const GpuProduct& product) const -> int {
    constexpr int kFastTf32 = 77;  // CUBLAS_COMPUTE_32F_FAST_TF32
    return dtype == DType::float32 && product.may_round ? kFastTf32 : compute;
  }
};
constexpr std::array kTypes = {
    BlasTypes{DType::float32, 0, 68, 0}, BlasTypes{DType::float64, 1, 70, 1},
    BlasTypes{DType::float16, 2, 68, 0}, BlasTypes{DType::bfloat16, 14, 68, 0}};

auto checked(int status, const char* call) -> Result<void> {
  if (status == 0) return {};
  return unsupported("{}: status {}", call, status);
}

/// Columns of a column-major matrix are its rows here: what the library is given is transposed.
struct Stored {
  std::int64_t rows = 0, columns = 0, leading = 0;
  bool is_transposed = false;  ///< of the library's view
};
auto stored(const GpuMatrix& m) -> std::optional<Stored> {
  const auto fits = [](std::int64_t inner, std::int64_t inner_stride, std::int64_t outer,
                       std::int64_t outer_stride) {
    return (inner == 1 || inner_stride == 1) && (outer == 1 || outer_stride >= inner);
  };
  if (fits(m.columns, m.column_stride, m.rows, m.row_stride))
    return Stored{m.columns, m.rows, m.rows == 1 ? m.columns : m.row_stride, false};
  if (fits(m.rows, m.row_stride, m.columns, m.column_stride))
    return Stored{m.rows, m.columns, m.columns == 1 ? m.rows : m.column_stride, true};
  return std::nullopt;
}
/// Of so many times as many products, or rows.
auto of_batch(GpuProduct product, double factor) -> GpuProduct {
  const auto scaled = [&](std::int64_t count) {
    return std::max<std::int64_t>(1, std::llround(static_cast<double>(count) * factor));
  };
  if (product.batch > 1) {
    product.batch = scaled(product.batch);
    return product;
  }
  product.a.rows = product.out.rows = scaled(product.out.rows);
  if (product.added) product.added->rows = product.out.rows;
  return product;
}

class PreparedProduct final : public GpuWork {
 public:
  PreparedProduct(const BlasFunctions& functions, void* handle, Driver& driver, Address workspace)
      : f_(functions), handle_(handle), driver_(driver), workspace_(workspace) {}
  ~PreparedProduct() override {
    for (auto* layout : layouts_)
      if (layout != nullptr) f_.cublasLtMatrixLayoutDestroy(layout);
    if (what_ != nullptr) f_.cublasLtMatmulDescDestroy(what_);
  }
  PreparedProduct(const PreparedProduct&) = delete;
  auto operator=(const PreparedProduct&) -> PreparedProduct& = delete;

  auto prepare(GpuProduct product, const BlasTypes& types, const BlasTypes& out_types)
      -> Result<void> {
    if (!product.added) product.added = product.out;
    auto out = stored(product.out);
    if (out && out->is_transposed && product.bias == 0) {
      // (a b)^T = b^T a^T
      const auto a = product.a;
      product.a = transposed(product.b);
      product.b = transposed(a);
      product.out = transposed(product.out);
      product.added = transposed(*product.added);
      out = stored(product.out);
    }
    const auto a = stored(product.a);
    const auto b = stored(product.b);
    const auto added = stored(*product.added);
    if (!a || !b || !out || !added || out->is_transposed || added->is_transposed)
      return unsupported("neither rows nor columns of an operand are dense");
    ASSAY_TRY_VOID(
        checked(f_.cublasLtMatmulDescCreate(&what_, types.compute_of(product), types.scale),
                "cublasLtMatmulDescCreate"));
    // The library's first operand is b.
    ASSAY_TRY_VOID(set(kTransposeA, static_cast<std::int32_t>(b->is_transposed)));
    ASSAY_TRY_VOID(set(kTransposeB, static_cast<std::int32_t>(a->is_transposed)));
    if (product.bias != 0) {
      ASSAY_TRY_VOID(set(kEpilogue, kEpilogueBias));
      ASSAY_TRY_VOID(set(kBiasPointer, product.bias));
    }
    places_ = {product.b.at, product.a.at, product.added->at, product.out.at};
    const std::array strides = {product.b.batch_stride, product.a.batch_stride,
                                product.added->batch_stride, product.out.batch_stride};
    const std::array matrices = {*b, *a, *added, *out};
    for (std::size_t i = 0; i < matrices.size(); ++i)
      ASSAY_TRY_VOID(add_layout(i, matrices[i], i < 2 ? types.data : out_types.data, product.batch,
                                strides[i]));
    set_factors(product, types.scale == 1);
    return choose();
  }

  [[nodiscard]] auto issue() -> Result<void> override {
    return checked(f_.cublasLtMatmul(handle_, what_, factors_.data(), places_[0], layouts_[0],
                                     places_[1], layouts_[1], factors_.data() + 1, places_[2],
                                     layouts_[2], places_[3], layouts_[3], choice_.algorithm.data(),
                                     workspace_, choice_.workspace_bytes, driver_.stream()),
                   "cublasLtMatmul");
  }

 private:
  template <class T>
  auto set(int attribute, const T& value) -> Result<void> {
    return checked(f_.cublasLtMatmulDescSetAttribute(what_, attribute, &value, sizeof(value)),
                   "cublasLtMatmulDescSetAttribute");
  }
  auto add_layout(std::size_t i, const Stored& matrix, int type, std::int64_t batch,
                  std::int64_t stride) -> Result<void> {
    ASSAY_TRY_VOID(checked(
        f_.cublasLtMatrixLayoutCreate(&layouts_[i], type, static_cast<std::uint64_t>(matrix.rows),
                                      static_cast<std::uint64_t>(matrix.columns), matrix.leading),
        "cublasLtMatrixLayoutCreate"));
    const auto count = static_cast<std::int32_t>(batch);
    ASSAY_TRY_VOID(checked(
        f_.cublasLtMatrixLayoutSetAttribute(layouts_[i], kBatchCount, &count, sizeof(count)),
        "cublasLtMatrixLayoutSetAttribute"));
    return checked(
        f_.cublasLtMatrixLayoutSetAttribute(layouts_[i], kBatchStride, &stride, sizeof(stride)),
        "cublasLtMatrixLayoutSetAttribute");
  }
  /// As numbers of the scale's type.
  void set_factors(const GpuProduct& product, bool is_double) {
    const auto bits = [&](double value) -> std::uint64_t {
      return is_double ? std::bit_cast<std::uint64_t>(value)
                       : std::bit_cast<std::uint32_t>(static_cast<float>(value));
    };
    factors_ = {bits(product.alpha), bits(product.beta)};
  }
  auto choose() -> Result<void> {
    void* preference = nullptr;
    ASSAY_TRY_VOID(
        checked(f_.cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate"));
    f_.cublasLtMatmulPreferenceSetAttribute(preference, kMostWorkspace, &kWorkspaceBytes,
                                            sizeof(kWorkspaceBytes));
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const auto zeros = std::min(std::countr_zero(places_[i]), 8);
      const std::uint32_t alignment = 1U << static_cast<unsigned>(zeros);
      f_.cublasLtMatmulPreferenceSetAttribute(preference, kAlignmentOfA + static_cast<int>(i),
                                              &alignment, sizeof(alignment));
    }
    int found = 0;
    const auto status =
        f_.cublasLtMatmulAlgoGetHeuristic(handle_, what_, layouts_[0], layouts_[1], layouts_[2],
                                          layouts_[3], preference, 1, &choice_, &found);
    f_.cublasLtMatmulPreferenceDestroy(preference);
    ASSAY_TRY_VOID(checked(status, "cublasLtMatmulAlgoGetHeuristic"));
    return found > 0 ? checked(choice_.status, "cublasLtMatmulAlgoGetHeuristic")
                     : unsupported("cuBLASLt has no algorithm");
  }

  const BlasFunctions& f_;
  void* handle_;
  Driver& driver_;
  Address workspace_;
  void* what_ = nullptr;
  std::array<void*, 4> layouts_ = {};
  std::array<Address, 4> places_ = {};
  std::array<std::uint64_t, 2> factors_ = {};
  BlasChoice choice_;
};

}  // namespace

Blas::Blas(Driver& driver) : driver_(driver), functions_(std::make_unique<BlasFunctions>()) {}

Blas::~Blas() {
  if (handle_ != nullptr) functions_->cublasLtDestroy(handle_);
  if (workspace_ != 0) driver_.free(workspace_);
}

auto Blas::open(Driver& driver) -> Result<std::unique_ptr<Blas>> {
  ASSAY_TRY(void* const library,
            open_library({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}));
  std::unique_ptr<Blas> blas(new Blas(driver));
  auto& functions = *blas->functions_;
  ASSAY_BLAS_CALLS(ASSAY_LIBRARY_LOAD)
  ASSAY_TRY_VOID(checked(functions.cublasLtCreate(&blas->handle_), "cublasLtCreate"));
  ASSAY_TRY(blas->workspace_, driver.allocate(kWorkspaceBytes));
  return blas;
}

auto Blas::prepare(const GpuProduct& product) -> Result<std::unique_ptr<GpuWork>> {
  const auto* const types = std::ranges::find(kTypes, product.dtype, &BlasTypes::dtype);
  const auto out_dtype = product.out_dtype.value_or(product.dtype);
  const auto* const out_types = std::ranges::find(kTypes, out_dtype, &BlasTypes::dtype);
  if (types == kTypes.end() || out_types == kTypes.end())
    return unsupported("products of {} in {}", name(product.dtype), name(out_dtype));
  const auto prepared = [&](const GpuProduct& what) -> Result<std::unique_ptr<PreparedProduct>> {
    auto made = std::make_unique<PreparedProduct>(*functions_, handle_, driver_, workspace_);
    ASSAY_TRY_VOID(made->prepare(what, *types, *out_types));
    return made;
  };
  ASSAY_TRY(auto made, prepared(product));
  const bool is_batch = product.batch > 1;
  const Kind kind = {static_cast<std::int64_t>(product.dtype),
                     static_cast<std::int64_t>(out_dtype),
                     product.may_round ? 1 : 0,
                     is_batch ? product.a.rows : 0,
                     product.a.columns,
                     product.b.columns,
                     product.a.column_stride == 1 ? 1 : 0,
                     product.b.column_stride == 1 ? 1 : 0,
                     product.out.column_stride == 1 ? 1 : 0,
                     product.bias != 0 ? 1 : 0};
  if (known_.insert(kind).second)
    for (const double factor : {0.25, 0.5, 2., 4., 8.}) (void)prepared(of_batch(product, factor));
  return made;
}

}  // namespace assay::cuda
