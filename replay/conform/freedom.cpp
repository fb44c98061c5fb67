#include "replay/conform/judges.h"

#include <algorithm>
#include <cmath>

#include "core/ops/domain.h"
#include "core/ops/elements.h"

namespace assay {

auto arg(const JudgedCall& call, std::string_view name) -> const Datum& {
  static const Datum kNone;
  const auto at = call.row.schema.index_of(name);
  return at < 0 ? kNone : call.args[static_cast<std::size_t>(at)];
}
auto flag(const JudgedCall& call, std::string_view name) -> bool {
  const auto* scalar = arg(call, name).scalar();
  return scalar && scalar->as_bool().value_or(scalar->as_int().value_or(0) != 0);
}
auto flag_or(const JudgedCall& call, std::string_view name, bool otherwise) -> bool {
  return call.row.schema.index_of(name) < 0 ? otherwise : flag(call, name);
}
auto tensor(const DatumList& results, std::size_t i) -> const Tensor* {
  return i < results.size() ? results[i].real() : nullptr;
}
auto compare_result(const JudgedCall& call, std::size_t i) -> Difference {
  const auto* ours = tensor(call.actual, i);
  const auto* theirs = tensor(call.expected, i);
  if (!ours || !theirs)
    return !ours == !theirs ? Difference{} : fmt::format("result {} differs", i);
  auto difference = compare_values(*ours, *theirs);
  return difference ? fmt::format("result {}: {}", i, *difference) : difference;
}

namespace {

auto is_on_cuda(const JudgedCall& call) -> bool {
  return std::ranges::any_of(call.args, [](const Datum& datum) {
    return datum.real() && datum.real()->meta.device.type == "cuda";
  });
}
/// PyTorch reads the coefficients of its series in another dtype for half types.
auto judge_matrix_exp(const JudgedCall& call) -> Difference {
  const auto dtype = call.args[0].real()->dtype();
  const bool is_half = dtype == DType::float16 || dtype == DType::bfloat16;
  return is_half ? Difference{} : compare_result(call, 0);
}
auto compare_all(const JudgedCall& call) -> Difference {
  for (std::size_t i = 0; i < call.expected.size(); ++i)
    if (auto difference = compare_result(call, i)) return difference;
  return std::nullopt;
}
/// Is the first result the input as the mean and the inverse deviation of the next two normalise
/// it?
auto is_normalised(const JudgedCall& call, const DatumList& results) -> Difference {
  const auto& x = *arg(call, "input").real();
  const auto given = to_vector<double>(x);
  const auto mean = to_vector<double>(*tensor(results, 1));
  const auto scale = to_vector<double>(*tensor(results, 2));
  const auto of_channel = [&](std::string_view name, double otherwise) {
    const auto* values = arg(call, name).real();
    return values ? to_vector<double>(*values) : std::vector<double>(mean.size(), otherwise);
  };
  const auto weight = of_channel("weight", 1), bias = of_channel("bias", 0);
  const auto samples = static_cast<std::size_t>(x.sizes()[0]);
  const auto inner = given.size() / std::max<std::size_t>(samples * mean.size(), 1);
  std::vector<Complex> wanted;
  for (std::size_t e = 0; e < given.size(); ++e) {
    const auto c = e / inner % mean.size();
    wanted.emplace_back((given[e] - mean[c]) * scale[c] * weight[c] + bias[c]);
  }
  return compare_numbers(to_vector<Complex>(*tensor(results, 0)), wanted, tolerance_of(x.dtype()));
}
/// Where training on x that is not contiguous writes into outs, PyTorch takes what save_mean held
/// for the mean, and leaves it so.
auto judge_batch_norm(const JudgedCall& call) -> Difference {
  const auto* x = arg(call, "input").real();
  const bool is_written = !call.row.inplace_of.empty() && flag_or(call, "training", true);
  if (!x || !is_written || is_on_cuda(call) || x->is_contiguous()) return compare_all(call);
  if (auto wrong = is_normalised(call, call.expected)) return "eager's: " + *wrong;
  return is_normalised(call, call.actual);
}

// ---- indices of equal elements ------------------------------------------------------------------

/// The dimension an operator works along; the last one if it is not given.
auto dim_of(const JudgedCall& call, int rank) -> std::size_t {
  const auto* scalar = arg(call, "dim").scalar();
  const auto dim = scalar ? scalar->as_int().value_or(-1) : -1;
  return static_cast<std::size_t>(dim < 0 ? dim + std::max(rank, 1) : dim);
}
/// The elements of `from` that `indices` names along the dimension, or what is wrong with them.
auto selected(const Tensor& from, const Tensor& indices, std::size_t dim, bool keeps_dim,
              std::vector<Complex>& values) -> Difference {
  const auto named = to_vector<std::int64_t>(indices);
  const auto x = to_vector<Complex>(from);
  const auto strides = contiguous_strides(from.sizes());
  auto sizes = indices.sizes();
  if (!keeps_dim && from.rank() > 0)
    sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim), 1);
  std::size_t next = 0;
  Difference wrong;
  for_each_index(sizes, [&](const Ints& at) {
    const auto index = named[next++];
    if (from.rank() == 0) return values.push_back(x[0]);
    if (index < 0 || index >= from.sizes()[dim]) {
      wrong = fmt::format("index {} is out of range", index);
      return;
    }
    std::int64_t element = index * strides[dim];
    for (std::size_t d = 0; d < at.size(); ++d)
      if (d != dim) element += at[d] * strides[d];
    values.push_back(x[static_cast<std::size_t>(element)]);
  });
  return wrong;
}
/// Do indices along the dimension name different elements?
auto are_distinct(const Tensor& indices, std::size_t dim) -> bool {
  if (indices.rank() == 0) return true;
  Tensor last = indices;
  std::swap(last.meta.sizes[dim], last.meta.sizes.back());
  std::swap(last.meta.strides[dim], last.meta.strides.back());
  const auto named = to_vector<std::int64_t>(last);
  const auto length = static_cast<std::ptrdiff_t>(last.sizes().back());
  for (auto row = named.begin(); length > 0 && row != named.end(); row += length) {
    std::vector<std::int64_t> sorted(row, row + length);
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) return false;
  }
  return true;
}
/// Indices are free among equal elements: they must name elements equal to those eager's name.
auto judge_indices(const JudgedCall& call, std::size_t result) -> Difference {
  const auto& self = *call.args[0].real();
  const auto* ours = tensor(call.actual, result);
  const auto* theirs = tensor(call.expected, result);
  if (!ours || !theirs || ours->sizes() != theirs->sizes()) return "no indices";
  const bool keeps_dim = theirs->rank() == self.rank();
  const auto dim = dim_of(call, self.rank());
  std::vector<Complex> our_values;
  std::vector<Complex> their_values;
  if (auto wrong = selected(self, *ours, dim, keeps_dim, our_values)) return wrong;
  if (auto wrong = selected(self, *theirs, dim, keeps_dim, their_values)) return wrong;
  if (keeps_dim && !are_distinct(*ours, dim)) return "an index is named twice";
  return compare_numbers(our_values, their_values, {0, 0});
}
auto judge_selection(const JudgedCall& call) -> Difference {
  if (auto difference = compare_result(call, 0)) return difference;
  return judge_indices(call, 1);
}
/// Of several most frequent elements any may be taken.
auto judge_mode(const JudgedCall& call) -> Difference {
  const auto& self = *call.args[0].real();
  const auto dim = dim_of(call, self.rank());
  const auto counts = [&](const DatumList& results, Ints& often) -> Difference {
    const auto* values = tensor(results, 0);
    const auto* indices = tensor(results, 1);
    const bool keeps_dim = indices->rank() == self.rank();
    std::vector<Complex> named;
    if (auto wrong = selected(self, *indices, dim, keeps_dim, named)) return wrong;
    const auto stated = to_vector<Complex>(*values);
    if (auto wrong = compare_numbers(stated, named, {0, 0}))
      return "the index does not name the value: " + *wrong;
    std::vector<Complex> row;
    often.assign(stated.size(), 0);
    const auto length = self.rank() == 0 ? 1 : self.sizes()[dim];
    for (std::int64_t i = 0; i < length; ++i) {
      auto at = *Tensor::contiguous(DType::int64, indices->sizes());
      fill_elements(at, Complex(static_cast<double>(i)));
      row.clear();
      if (auto wrong = selected(self, at, dim, keeps_dim, row)) return wrong;
      for (std::size_t e = 0; e < row.size(); ++e) often[e] += row[e] == stated[e] ? 1 : 0;
    }
    return std::nullopt;
  };
  Ints ours;
  Ints theirs;
  if (auto wrong = counts(call.expected, theirs)) return "eager's: " + *wrong;
  if (auto wrong = counts(call.actual, ours)) return wrong;
  return ours == theirs ? Difference{} : "an element is not the most frequent one";
}
/// median over a dimension whose elements share memory: PyTorch gives elements it does not have.
auto judge_median(const JudgedCall& call) -> Difference {
  const auto& self = *call.args[0].real();
  const auto dim = dim_of(call, self.rank());
  if (self.rank() > 0 && self.strides()[dim] == 0 && self.sizes()[dim] > 1) return std::nullopt;
  return judge_selection(call);
}
auto judge_argsort(const JudgedCall& call) -> Difference {
  return judge_indices(call, 0);
}

// ---- elements that are not written --------------------------------------------------------------

auto judge_total_weight(const JudgedCall& call) -> Difference {
  const auto* reduction = arg(call, "reduction").scalar();
  const bool is_unset = is_on_cuda(call) && reduction && reduction->as_int() == 0;
  if (auto difference = compare_result(call, 0)) return difference;
  return is_unset ? std::nullopt : compare_result(call, 1);
}
/// CUDA allocates one bag size per offset and leaves the one of the last offset alone.
auto judge_bag_sizes(const JudgedCall& call) -> Difference {
  for (const std::size_t i : {0UL, 1UL, 3UL})
    if (auto difference = compare_result(call, i)) return difference;
  if (!is_on_cuda(call) || !flag(call, "include_last_offset")) return compare_result(call, 2);
  auto ours = *tensor(call.actual, 2);
  auto theirs = *tensor(call.expected, 2);
  ours.meta.sizes[0] = theirs.meta.sizes[0] = theirs.sizes()[0] - 1;
  return compare_values(ours, theirs);
}

/// Lengths of sequences, given as a list or as a tensor.
auto lengths(const Datum& datum) -> std::vector<std::int64_t> {
  if (const auto* given = datum.real()) return to_vector<std::int64_t>(*given);
  std::vector<std::int64_t> all;
  if (const auto* list = datum.list())
    for (const auto& item : *list) all.push_back(item.scalar()->as_int().value_or(0));
  return all;
}
/// log_alpha [batch, steps, positions] is written up to each sample's lengths.
auto judge_log_alpha(const JudgedCall& call) -> Difference {
  if (auto difference = compare_result(call, 0)) return difference;
  const auto& sizes = tensor(call.expected, 1)->sizes();
  const auto steps = lengths(arg(call, "input_lengths"));
  const auto targets = lengths(arg(call, "target_lengths"));
  std::vector<Complex> ours;
  std::vector<Complex> theirs;
  const auto our_all = to_vector<Complex>(*tensor(call.actual, 1));
  const auto their_all = to_vector<Complex>(*tensor(call.expected, 1));
  std::size_t e = 0;
  for_each_index(sizes, [&](const Ints& at) {
    const auto n = static_cast<std::size_t>(at[0]);
    if (at[1] < steps[n] && at[2] < 2 * targets[n] + 1) {
      ours.push_back(our_all[e]);
      theirs.push_back(their_all[e]);
    }
    ++e;
  });
  const auto wrong = compare_numbers(ours, theirs, tolerance_of(tensor(call.expected, 1)->dtype()));
  return wrong ? "log_alpha: " + *wrong : wrong;
}
/// A loss over no sample is not written.
auto judge_loss_of_samples(const JudgedCall& call) -> Difference {
  return call.args[0].real()->numel() == 0 ? Difference{} : compare_all(call);
}
/// The CPU's kernel reads query, key and value as if their last dimension were dense.
auto judge_dense_features(const JudgedCall& call) -> Difference {
  for (const auto* name : {"query", "key", "value"}) {
    const auto& meta = arg(call, name).real()->meta;
    if (!is_on_cuda(call) && meta.strides.back() != 1 && meta.sizes.back() > 1) return std::nullopt;
  }
  return compare_all(call);
}

// ---- digits that are left out -------------------------------------------------------------------

/// The datum with floating tensors replaced by their absolute values.
auto magnitudes(const Datum& datum) -> Datum {
  const auto* given = datum.real();
  if (!given || !is_floating(given->dtype())) return datum;
  auto values = to_vector<double>(*given);
  for (auto& value : values) value = std::fabs(value);
  auto copy = Tensor::allocate(given->dtype(), given->sizes(), contiguous_strides(given->sizes()),
                               given->meta.device);
  if (!copy) return datum;
  from_vector<double>(*copy, values);
  return {*std::move(copy)};
}
/// cuDNN's float32 convolutions round their operands to TF32, 10 bits behind the point: each
/// product is off by 2^-10 at most, so a sum by that part of the sum of the products' sizes, which
/// the operator itself tells for the operands' absolute values.
auto judge_tf32(const JudgedCall& call) -> Difference {
  const auto* first = call.args[0].real();
  if (!is_on_cuda(call) || !first || first->dtype() != DType::float32)
    return "float32 on CUDA only";
  DatumList args;
  for (const auto& argument : call.args) args.push_back(magnitudes(argument));
  RealDomain domain(call.table);
  const auto bound = domain.run(call.row, std::move(args));
  if (!bound) return bound.error().message;
  const DatumList bounds = bound->list() ? *bound->list() : DatumList{*bound};
  constexpr double kTF32 = 1.0 / 1024 + 1e-5;
  for (std::size_t i = 0; i < call.expected.size(); ++i) {
    const auto* theirs = tensor(call.expected, i);
    if (!theirs) continue;
    const auto ours = to_vector<double>(*tensor(call.actual, i));
    const auto eager = to_vector<double>(*theirs);
    const auto most = to_vector<double>(*tensor(bounds, i));
    for (std::size_t e = 0; e < ours.size(); ++e)
      if (!(std::fabs(ours[e] - eager[e]) <= kTF32 * most[e] + 1e-6))
        return fmt::format("result {}: element {} is {}, eager has {}, {} apart with TF32", i, e,
                           ours[e], eager[e], kTF32 * most[e]);
  }
  return std::nullopt;
}

constexpr std::string_view kEqual = "indices name equal elements, none twice";
constexpr std::string_view kMedian =
    "indices name equal elements; elements that share memory: PyTorch gives others";
constexpr std::string_view kTF32 =
    "float32 on CUDA: each product within 2^-10, as cuDNN computes in TF32 by default";
constexpr std::string_view kBag = "CUDA: the bag size of the last offset is not written";
constexpr std::string_view kLogAlpha = "log_alpha is written up to the lengths of each sample";
constexpr std::string_view kNoSample = "a loss over no sample is not written";
constexpr std::string_view kHeldMean =
    "into outs, of x that is not contiguous: normalised by the mean and deviation of the call; "
    "PyTorch "
    "takes what save_mean held";
constexpr Freedom kFreedoms[] = {
    {"aten._linalg_eigh.default", "A V = V diag(L), V unitary, L equal", judge_eigh},
    {"aten._linalg_svd.default", "U diag(S) Vh = A, U and Vh unitary, S equal", judge_svd},
    {"aten.linalg_eigh.default", "A V = V diag(L), V unitary, L equal", judge_eigh},
    {"aten.linalg_svd.default", "U diag(S) Vh = A, U and Vh unitary, S equal", judge_svd},
    {"prims.svd.default", "U diag(S) Vh = A, U and Vh unitary, S equal", judge_svd},
    {"aten.svd.default", "U diag(S) V^H = A, U and V unitary, S equal", judge_svd},
    {"aten.linalg_eig.default", "A V = V diag(L), columns of norm 1, L equal in any order",
     judge_eig},
    {"aten.linalg_qr.default", "Q R = A, Q unitary, R upper triangular", judge_qr},
    {"aten.linalg_lu.default", "P L U = A, no multiplier above 1", judge_lu},
    {"aten._lu_with_info.default", "L U = P^T A, no multiplier above 1", judge_lu_factor},
    {"aten.linalg_lu_factor_ex.default", "L U = P^T A, no multiplier above 1", judge_lu_factor},
    {"aten._linalg_det.default", "det equal, L U = P^T A, no multiplier above 1",
     judge_determinant},
    {"aten._linalg_slogdet.default", "L U = P^T A, no multiplier above 1, sign and logabsdet of it",
     judge_slogdet},
    {"aten._linalg_solve_ex.default", "result and info equal, L U = P^T A, no multiplier above 1",
     judge_solution},
    {"aten.geqrf.default", "Q R = A with Q of the reflectors", judge_reflectors},
    {"aten.linalg_polar.default", "U H = A, U unitary, H equal", judge_polar},
    {"aten.linalg_inv_ex.default",
     "info says the same of each matrix; the inverse where there is one", judge_inverse},
    {"aten.linalg_matrix_exp.default", "float16 and bfloat16: PyTorch gives what memory held",
     judge_matrix_exp},
    {"aten.native_batch_norm.default", kHeldMean, judge_batch_norm},
    {"aten._native_batch_norm_legit.default", kHeldMean, judge_batch_norm},
    {"aten._batch_norm_with_update.default", kHeldMean, judge_batch_norm},
    {"aten._native_batch_norm_legit.no_stats", kHeldMean, judge_batch_norm},
    {"aten.sort.default", kEqual, judge_selection},
    {"aten.topk.default", kEqual, judge_selection},
    {"aten.kthvalue.default", kEqual, judge_selection},
    {"aten.mode.default", "values are equally frequent, indices name them", judge_mode},
    {"aten.median.dim", kMedian, judge_median},
    {"aten.nanmedian.dim", kMedian, judge_median},
    {"aten.max.dim", kEqual, judge_selection},
    {"aten.min.dim", kEqual, judge_selection},
    {"aten.argsort.default", kEqual, judge_argsort},
    {"aten.nll_loss_forward.default", "CUDA: total_weight is not written without a reduction",
     judge_total_weight},
    {"aten.nll_loss2d_forward.default", "CUDA: total_weight is not written without a reduction",
     judge_total_weight},
    {"aten._ctc_loss.default", kLogAlpha, judge_log_alpha},
    {"aten._ctc_loss.Tensor", kLogAlpha, judge_log_alpha},
    {"aten.multi_margin_loss.default", kNoSample, judge_loss_of_samples},
    {"aten.multilabel_margin_loss_forward.default", kNoSample, judge_loss_of_samples},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default",
     "features that are not dense: PyTorch reads other elements", judge_dense_features},
    {"aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
     "features that are not dense: PyTorch reads other elements", judge_dense_features},
    {"aten._embedding_bag.default", kBag, judge_bag_sizes},
    {"aten._embedding_bag_forward_only.default", kBag, judge_bag_sizes},
    {"aten.convolution.default", kTF32, judge_tf32},
    {"aten.convolution_backward.default", kTF32, judge_tf32},
    {"aten.conv1d.default", kTF32, judge_tf32},
    {"aten.conv2d.default", kTF32, judge_tf32},
    {"aten.conv3d.default", kTF32, judge_tf32},
};

}  // namespace

auto freedoms() -> std::span<const Freedom> {
  return kFreedoms;
}
auto find_freedom(std::string_view overload) -> const Freedom* {
  const auto* const found = std::ranges::find(kFreedoms, overload, &Freedom::overload);
  return found == std::end(kFreedoms) ? nullptr : found;
}
auto find_freedom(const OpRow& row) -> const Freedom* {
  const auto* found = find_freedom(row.name());
  // Of a form that writes into its first argument the judge would see the result as the argument.
  const bool writes_outs = !row.inplace_of.empty() && !row.schema.params.front().written;
  return found == nullptr && writes_outs ? find_freedom(row.inplace_of) : found;
}

}  // namespace assay
