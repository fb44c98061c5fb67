#include "compiler/cuda/gpu_calls.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "compiler/cuda/attention_row.h"
#include "compiler/cuda/window_products.h"

namespace assay {
namespace {

using cuda::GpuConvolution;
using cuda::GpuMatrix;
using cuda::GpuProduct;
using cuda::GpuTensor;
using Places = std::vector<cuda::Address>;
using Works = GpuLibraries::Works;

auto placed(const RealMeta& meta, cuda::Address buffer) -> GpuTensor {
  const auto offset = static_cast<std::uint64_t>(meta.offset * size_bytes(meta.dtype));
  return {.at = buffer + offset, .dtype = meta.dtype, .sizes = meta.sizes, .strides = meta.strides};
}

/// A call's operands and results by position.
class Operands {
 public:
  Operands(const BoundCall& call, const Places& places) : call_(call) {
    std::size_t next = 0;
    const auto place = [&](const Datum& datum) {
      std::optional<GpuTensor> first;
      visit_tensors(datum, [&](const Tensor& tensor) {
        const auto buffer = call.buffers[next++];
        if (datum.real() != nullptr) first = placed(tensor.meta, places[buffer]);
      });
      return first;
    };
    for (const auto& arg : call.args) args_.push_back(place(arg));
    if (const auto* list = call.result.list())
      for (const auto& item : *list) results_.push_back(place(item));
    else
      results_.push_back(place(call.result));
  }
  [[nodiscard]] auto has(std::size_t i) const -> bool { return args_[i].has_value(); }
  [[nodiscard]] auto arg(std::size_t i) const -> const GpuTensor& { return *args_[i]; }
  /// Nothing where the result is None.
  [[nodiscard]] auto result(std::size_t i = 0) const -> const std::optional<GpuTensor>& {
    return results_[i];
  }
  [[nodiscard]] auto number(std::size_t i, double fallback) const -> double {
    const auto* scalar = i < call_.args.size() ? call_.args[i].scalar() : nullptr;
    return scalar == nullptr ? fallback : scalar->as_number().value_or(fallback);
  }
  [[nodiscard]] auto flag(std::size_t i) const -> bool { return number(i, 0) != 0; }
  /// One for each of `count` places; a single number is for all.
  [[nodiscard]] auto integers(std::size_t i, std::size_t count) const -> Ints {
    Ints values;
    if (const auto* list = call_.args[i].list())
      for (const auto& item : *list)
        if (const auto* scalar = item.scalar()) values.push_back(scalar->as_int().value_or(0));
    if (values.size() == 1) values.resize(count, values.front());
    return values;
  }

 private:
  const BoundCall& call_;
  std::vector<std::optional<GpuTensor>> args_, results_;
};

/// One more than the largest number of a buffer.
auto buffers_of(const BoundCall& call) -> std::size_t {
  return call.buffers.empty() ? 0 : 1 + *std::ranges::max_element(call.buffers);
}
auto is_empty(const GpuTensor& tensor) -> bool {
  return std::ranges::count(tensor.sizes, 0) > 0;
}

// ---- products -----------------------------------------------------------------------------------

/// The last two dimensions; one before them is the batch.
auto matrix(const GpuTensor& tensor) -> GpuMatrix {
  const auto rank = tensor.sizes.size();
  return {.at = tensor.at,
          .rows = tensor.sizes[rank - 2],
          .columns = tensor.sizes[rank - 1],
          .row_stride = tensor.strides[rank - 2],
          .column_stride = tensor.strides[rank - 1],
          .batch_stride = rank > 2 ? tensor.strides[0] : 0};
}
auto one(std::unique_ptr<cuda::GpuWork> work) -> Works {
  Works works;
  works.push_back(std::move(work));
  return works;
}
/// `first`: position of the left factor.
auto product_of(const Operands& operands, std::size_t first) -> GpuProduct {
  const auto& a = operands.arg(first);
  GpuProduct what;
  what.dtype = a.dtype;
  what.out_dtype = operands.result()->dtype;
  what.batch = a.sizes.size() > 2 ? a.sizes[0] : 1;
  what.a = matrix(a);
  what.b = matrix(operands.arg(first + 1));
  what.out = matrix(*operands.result());
  return what;
}
auto multiply(GpuLibraries& libraries, const GpuProduct& product) -> Result<Works> {
  ASSAY_TRY(auto* const blas, libraries.blas());
  ASSAY_TRY(auto work, blas->prepare(product));
  return one(std::move(work));
}
/// mm, bmm: self, mat2
auto product(GpuLibraries& libraries, const Operands& operands) -> Result<Works> {
  if (is_empty(*operands.result())) return Works();
  if (is_empty(operands.arg(0))) return unsupported("a sum over nothing");
  return multiply(libraries, product_of(operands, 0));
}
/// addmm, baddbmm: self, mat1, mat2, beta, alpha
auto added_product(GpuLibraries& libraries, const Operands& operands) -> Result<Works> {
  if (is_empty(*operands.result())) return Works();
  if (is_empty(operands.arg(1))) return unsupported("a sum over nothing");
  auto what = product_of(operands, 1);
  what.beta = operands.number(3, 1);
  what.alpha = operands.number(4, 1);
  if (what.beta == 0) return multiply(libraries, what);
  const auto& added = operands.arg(0);
  const auto rank = operands.result()->sizes.size();
  const bool is_row = added.sizes.size() == 1 || (rank == 2 && added.sizes.size() == 2 &&
                                                  (added.sizes[0] == 1 || added.strides[0] == 0));
  if (added.sizes == operands.result()->sizes && !(is_row && what.out.rows > 1)) {
    what.added = matrix(added);
    return multiply(libraries, what);
  }
  const bool is_dense = !added.sizes.empty() && added.sizes.back() == what.out.columns &&
                        (added.strides.back() == 1 || added.sizes.back() == 1);
  if (!is_row || !is_dense || what.beta != 1)
    return unsupported("what is added is neither a matrix nor a row");
  what.beta = 0;
  what.bias = added.at;
  return multiply(libraries, what);
}

// ---- convolutions -------------------------------------------------------------------------------

/// stride, padding, dilation, transposed, output_padding, groups, from position `at`.
auto window_of(const Operands& operands, std::size_t at, std::size_t places) -> GpuConvolution {
  GpuConvolution what;
  what.stride = operands.integers(at, places);
  what.padding = operands.integers(at + 1, places);
  what.dilation = operands.integers(at + 2, places);
  what.groups = static_cast<std::int64_t>(operands.number(at + 5, 1));
  return what;
}
/// A transposed convolution is the gradient of one that goes the other way.
void connect(GpuConvolution& what, bool is_transposed, const GpuTensor& input,
             const GpuTensor& weight, const GpuTensor& output) {
  what.x = is_transposed ? output : input;
  what.y = is_transposed ? input : output;
  what.w = weight;
}
/// One of its results, and `bias`, which may be none, added to it.
auto convolve(GpuLibraries& libraries, const GpuConvolution& what, const GpuTensor* bias = nullptr)
    -> Result<Works> {
  const auto add = [&](Works works) -> Result<Works> {
    if (bias == nullptr) return works;
    ASSAY_TRY(auto* const dnn, libraries.dnn());
    const bool is_input = what.result == GpuConvolution::Result::input_gradient;
    ASSAY_TRY(works.emplace_back(), dnn->add_bias(*bias, is_input ? what.x : what.y));
    return works;
  };
  if (auto product = window_product(what, libraries.may_round())) {
    if (bias != nullptr && product->batch == 1) {
      product->bias = bias->at;
      if (auto works = multiply(libraries, *product)) return works;
      product->bias = 0;
    }
    if (auto works = multiply(libraries, *product)) return add(*std::move(works));
  }
  ASSAY_TRY(auto* const dnn, libraries.dnn());
  ASSAY_TRY(auto work, dnn->convolution(what));
  return add(one(std::move(work)));
}
/// input, weight, bias, then the window
auto convolution(GpuLibraries& libraries, const Operands& operands) -> Result<Works> {
  const auto& out = *operands.result();
  if (is_empty(out)) return Works();
  if (is_empty(operands.arg(0))) return unsupported("a sum over nothing");
  auto what = window_of(operands, 3, out.sizes.size() - 2);
  const bool is_transposed = operands.flag(6);
  connect(what, is_transposed, operands.arg(0), operands.arg(1), out);
  what.result =
      is_transposed ? GpuConvolution::Result::input_gradient : GpuConvolution::Result::output;
  return convolve(libraries, what, operands.has(2) ? &operands.arg(2) : nullptr);
}
/// grad_output, input, weight, bias_sizes, then the window, then output_mask
auto convolution_backward(GpuLibraries& libraries, const Operands& operands) -> Result<Works> {
  const auto& gradient = operands.arg(0);
  const auto& input = operands.arg(1);
  const auto& weight = operands.arg(2);
  if (is_empty(gradient) || is_empty(input)) return unsupported("a sum over nothing");
  auto what = window_of(operands, 4, input.sizes.size() - 2);
  const bool is_transposed = operands.flag(7);
  Works works;
  const auto add = [&]() -> Result<void> {
    ASSAY_TRY(auto made, convolve(libraries, what));
    std::ranges::move(made, std::back_inserter(works));
    return {};
  };
  if (const auto& out = operands.result(0)) {
    connect(what, is_transposed, *out, weight, gradient);
    what.result =
        is_transposed ? GpuConvolution::Result::output : GpuConvolution::Result::input_gradient;
    ASSAY_TRY_VOID(add());
  }
  if (const auto& out = operands.result(1)) {
    connect(what, is_transposed, input, *out, gradient);
    what.result = GpuConvolution::Result::weight_gradient;
    ASSAY_TRY_VOID(add());
  }
  if (const auto& out = operands.result(2)) {
    ASSAY_TRY(auto* const dnn, libraries.dnn());
    ASSAY_TRY(works.emplace_back(), dnn->bias_gradient(gradient, *out));
  }
  return works;
}

// ---- attention ----------------------------------------------------------------------------------

constexpr std::int64_t kMostFeatures = 256, kRowBytes = 16;

/// Columns are neighbours, and rows of them begin at sixteen bytes: the library does not look.
auto is_aligned(const GpuTensor& one) -> bool {
  if (one.sizes.size() != 4 || one.strides[3] != 1 || is_empty(one)) return false;
  const auto is_whole = [](std::int64_t number) { return number % kRowElements == 0; };
  return one.at % kRowBytes == 0 && is_whole(one.strides[0]) && is_whole(one.strides[1]) &&
         is_whole(one.strides[2]);
}
auto has_heads(const GpuTensor& one) -> bool {
  return is_aligned(one) && one.sizes[3] % kRowElements == 0 && one.sizes[3] <= kMostFeatures;
}
/// Of [queries, keys], or with batch and heads before them; what is repeated stands once.
auto mask_of(GpuTensor mask, const cuda::GpuAttention& what) -> Result<GpuTensor> {
  constexpr std::size_t kRank = 4;
  if (what.is_causal) return unsupported("a mask beside causal order");
  for (std::size_t d = 0; d < mask.sizes.size(); ++d)
    if (mask.strides[d] == 0) mask.sizes[d] = 1;
  while (mask.sizes.size() < kRank) {
    mask.sizes.insert(mask.sizes.begin(), 1);
    mask.strides.insert(mask.strides.begin(), 0);
  }
  // The library asks for a stride of what is one as well.
  for (auto d = kRank; d-- > 0;)
    if (mask.sizes[d] == 1)
      mask.strides[d] = d + 1 == kRank ? 1 : mask.strides[d + 1] * mask.sizes[d + 1];
  const bool is_whole = mask.sizes[2] == what.query.sizes[2] && mask.sizes[3] == what.key.sizes[2];
  if (mask.dtype != what.query.dtype || !is_whole || !is_aligned(mask))
    return unsupported("a mask of this kind");
  return mask;
}
/// Fills in the mask and the numbers. Errors: unsupported, of what no kernel of a library is for.
auto checked_attention(const Operands& operands, cuda::GpuAttention what, const AttentionRow& at)
    -> Result<cuda::GpuAttention> {
  const auto dtype = what.query.dtype;
  if (operands.number(at.dropout, 0) != 0) return unsupported("dropout");
  if (!is_half(dtype)) return unsupported("attention of {}", name(dtype));
  for (const auto* one : {&what.query, &what.key, &what.value, &what.out})
    if (!has_heads(*one)) return unsupported("heads that are not in sixteen bytes each");
  if (what.sums.dtype != DType::float32 || what.sums.strides != contiguous_strides(what.sums.sizes))
    return unsupported("sums that are not float32 in rows");
  what.scale = operands.number(at.scale, 1 / std::sqrt(static_cast<double>(what.query.sizes[3])));
  what.is_causal = operands.flag(at.causal);
  if (operands.has(at.mask)) {
    ASSAY_TRY(what.mask, mask_of(operands.arg(at.mask), what));
  }
  return what;
}
/// query, key, value; out, sums.
auto attention_of(const Operands& operands) -> Result<cuda::GpuAttention> {
  return checked_attention(operands,
                           {.query = operands.arg(0),
                            .key = operands.arg(1),
                            .value = operands.arg(2),
                            .out = *operands.result(0),
                            .sums = *operands.result(1),
                            .mask = {}},
                           kAttention);
}
/// gradient, query, key, value, out, sums; three gradients.
auto attention_gradients_of(const Operands& operands) -> Result<cuda::GpuAttentionGradients> {
  ASSAY_TRY(auto of, checked_attention(operands,
                                       {.query = operands.arg(1),
                                        .key = operands.arg(2),
                                        .value = operands.arg(3),
                                        .out = operands.arg(4),
                                        .sums = operands.arg(5),
                                        .mask = {}},
                                       kAttentionGradients));
  if (of.key.sizes[1] != of.query.sizes[1])
    return unsupported("gradients of heads that share keys");
  cuda::GpuAttentionGradients what{.of = std::move(of),
                                   .gradient = operands.arg(0),
                                   .query_gradient = *operands.result(0),
                                   .key_gradient = *operands.result(1),
                                   .value_gradient = *operands.result(2)};
  for (const auto* one :
       {&what.gradient, &what.query_gradient, &what.key_gradient, &what.value_gradient})
    if (!has_heads(*one)) return unsupported("heads that are not in sixteen bytes each");
  return what;
}
template <class What>
auto attention(GpuLibraries& libraries, const Operands& operands,
               Result<What> (*read)(const Operands&)) -> Result<Works> {
  ASSAY_TRY(auto what, read(operands));
  ASSAY_TRY(auto* const dnn, libraries.dnn());
  ASSAY_TRY(auto work, dnn->attention(std::move(what)));
  return one(std::move(work));
}
auto attention(GpuLibraries& libraries, const Operands& operands) -> Result<Works> {
  return attention(libraries, operands, attention_of);
}
auto attention_backward(GpuLibraries& libraries, const Operands& operands) -> Result<Works> {
  return attention(libraries, operands, attention_gradients_of);
}
auto attention_in(const cuda::GpuAttention& what) -> const cuda::GpuAttention& {
  return what;
}
auto attention_in(const cuda::GpuAttentionGradients& what) -> const cuda::GpuAttention& {
  return what.of;
}
template <class What>
auto takes_attention(GpuLibraries& libraries, const Operands& operands,
                     Result<What> (*read)(const Operands&)) -> bool {
  // Of few scores, or of single queries that see ever more keys, a plan would not pay.
  constexpr std::int64_t kManyScores = 1 << 23, kManyQueries = 16;
  const auto what = read(operands);
  if (!what) return false;
  const auto& of = attention_in(*what);
  const auto& sizes = of.query.sizes;
  if (sizes[2] < kManyQueries || sizes[0] * sizes[1] * sizes[2] * of.key.sizes[2] < kManyScores)
    return false;
  const auto dnn = libraries.dnn();
  return dnn && (*dnn)->takes(*what);
}

struct CallRow {
  std::string_view name;
  Result<Works> (*prepare)(GpuLibraries&, const Operands&);
};
constexpr std::array kCalls = {
    CallRow{"aten.mm.default", product},
    CallRow{"aten.bmm.default", product},
    CallRow{"aten.mm.dtype", product},
    CallRow{"aten.bmm.dtype", product},
    CallRow{"aten.addmm.default", added_product},
    CallRow{"aten.baddbmm.default", added_product},
    CallRow{"aten.convolution.default", convolution},
    CallRow{"aten.convolution_backward.default", convolution_backward},
    CallRow{kAttention.name, attention},
    CallRow{kAttentionGradients.name, attention_backward},
};

// ---- copies -------------------------------------------------------------------------------------

class DenseCopy final : public cuda::GpuWork {
 public:
  DenseCopy(cuda::Driver& driver, cuda::Address to, cuda::Address from, std::size_t bytes)
      : driver_(driver), to_(to), from_(from), bytes_(bytes) {}
  [[nodiscard]] auto issue() -> Result<void> override { return driver_.copy(to_, from_, bytes_); }

 private:
  cuda::Driver& driver_;
  cuda::Address to_, from_;
  std::size_t bytes_;
};
/// Does it fill its memory without gaps, whatever the order of dimensions?
auto is_dense(const GpuTensor& tensor) -> bool {
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;
  for (std::size_t d = 0; d < tensor.sizes.size(); ++d)
    if (tensor.sizes[d] != 1) dims.emplace_back(tensor.strides[d], tensor.sizes[d]);
  std::ranges::sort(dims);
  std::int64_t expected = 1;
  return std::ranges::all_of(dims, [&](const auto& dim) {
    const bool fits = dim.first == expected;
    expected *= dim.second;
    return fits;
  });
}

}  // namespace

auto GpuLibraries::prepare(const BoundCall& call, const Places& places) -> Result<Works> {
  const auto* const row = std::ranges::find(kCalls, call.row->name(), &CallRow::name);
  if (row == kCalls.end()) return unsupported("no GPU code");
  return row->prepare(*this, Operands(call, places));
}

auto GpuLibraries::has(std::string_view name) -> bool {
  return std::ranges::any_of(kCalls, [&](const CallRow& row) {
    return row.name == name ||
           (row.name.starts_with(name) && row.name.substr(name.size()).starts_with('.'));
  });
}

auto GpuLibraries::takes(const BoundCall& call) -> bool {
  const auto name = call.row->name();
  const bool is_forward = name == kAttention.name;
  if (!is_forward && name != kAttentionGradients.name) return false;
  const Operands operands(call, Places(buffers_of(call), 0));
  return is_forward ? takes_attention(*this, operands, attention_of)
                    : takes_attention(*this, operands, attention_gradients_of);
}

auto GpuLibraries::prepare(const BoundCopy& copy, const Places& places) -> Result<Works> {
  const auto from = placed(copy.from.meta, places[copy.from.buffer]);
  const auto to = placed(copy.to.meta, places[copy.to.buffer]);
  bool is_same = from.dtype == to.dtype && from.sizes == to.sizes &&
                 copy.from.meta.lazy == copy.to.meta.lazy && is_dense(from);
  for (std::size_t d = 0; is_same && d < from.sizes.size(); ++d)
    is_same = from.sizes[d] == 1 || from.strides[d] == to.strides[d];
  if (!is_same) return unsupported("a copy between layouts");
  const auto bytes = numel(from.sizes) * size_bytes(from.dtype);
  if (bytes == 0) return Works();
  return one(std::make_unique<DenseCopy>(driver_, to.at, from.at, static_cast<std::size_t>(bytes)));
}

auto GpuLibraries::blas() -> Result<cuda::Blas*> {
  if (!blas_) {
    ASSAY_TRY(blas_, cuda::Blas::open(driver_));
  }
  return blas_.get();
}
auto GpuLibraries::dnn() -> Result<cuda::Dnn*> {
  if (!dnn_) {
    ASSAY_TRY(dnn_, cuda::Dnn::open(driver_, may_round_));
  }
  return dnn_.get();
}

}  // namespace assay
