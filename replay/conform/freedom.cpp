#include "replay/conform/freedom.h"

#include <algorithm>
#include <cmath>

#include "core/ops/domain.h"
#include "core/ops/elements.h"
#include "core/ops/matrices.h"

namespace assay {
namespace {

using Matrix = Matrices<Complex>;

auto arg(const JudgedCall& call, std::string_view name) -> const Datum& {
  static const Datum kNone;
  const auto at = call.row.schema.index_of(name);
  return at < 0 ? kNone : call.args[static_cast<std::size_t>(at)];
}
auto flag(const JudgedCall& call, std::string_view name) -> bool {
  const auto* scalar = arg(call, name).scalar();
  return scalar && scalar->as_bool().value_or(scalar->as_int().value_or(0) != 0);
}
/// The same of a parameter that not every overload has.
auto flag_or(const JudgedCall& call, std::string_view name, bool otherwise) -> bool {
  return call.row.schema.index_of(name) < 0 ? otherwise : flag(call, name);
}
auto is_on_cuda(const JudgedCall& call) -> bool {
  return std::ranges::any_of(call.args, [](const Datum& datum) {
    return datum.real() && datum.real()->meta.device.type == "cuda";
  });
}
auto tensor(const DatumList& results, std::size_t i) -> const Tensor* {
  return i < results.size() ? results[i].real() : nullptr;
}
/// The results that are fixed.
auto compare_result(const JudgedCall& call, std::size_t i) -> Difference {
  const auto* ours = tensor(call.actual, i);
  const auto* theirs = tensor(call.expected, i);
  if (!ours || !theirs)
    return !ours == !theirs ? Difference{} : fmt::format("result {} differs", i);
  auto difference = compare_values(*ours, *theirs);
  return difference ? fmt::format("result {}: {}", i, *difference) : difference;
}

// ---- decompositions -----------------------------------------------------------------------------

/// Sums of a few products of rounded numbers.
auto close(const Matrix& actual, const Matrix& expected, DType dtype, std::string_view law)
    -> Difference {
  auto tolerance = tolerance_of(dtype);
  const double terms = std::max(actual.rows, 4);
  tolerance.absolute *= terms;
  if (actual.values.size() != expected.values.size()) return fmt::format("{}: other sizes", law);
  const auto difference = compare_numbers(actual.values, expected.values, tolerance);
  return difference ? fmt::format("{} does not hold: {}", law, *difference) : difference;
}
auto columns(Matrix& m, int count) -> Matrix {
  auto part = new_matrices<Complex>(m.count, m.rows, count);
  for (std::size_t i = 0; i < m.count; ++i)
    for (int col = 0; col < count; ++col)
      for (int row = 0; row < m.rows; ++row) part.element(i, row, col) = m.element(i, row, col);
  return part;
}
/// Every column times its number.
auto scaled(Matrix m, const std::vector<Complex>& by) -> Matrix {
  for (std::size_t i = 0; i < m.count; ++i)
    for (int col = 0; col < m.cols; ++col)
      for (int row = 0; row < m.rows; ++row)
        m.element(i, row, col) *=
            by[i * static_cast<std::size_t>(m.cols) + static_cast<std::size_t>(col)];
  return m;
}
auto is_unitary(Matrix& m, DType dtype, std::string_view law) -> Difference {
  auto other = adjoint(m);
  return close(product(other, m), identity<Complex>(m.count, m.cols), dtype, law);
}

/// A law about one set of results; both ours and eager's have to obey it.
template <class Law>
auto both_obey(const JudgedCall& call, const Law& law) -> Difference {
  if (const auto wrong = law(call.expected)) return "eager's: " + *wrong;
  return law(call.actual);
}

auto judge_eigh(const JudgedCall& call) -> Difference {
  if (auto difference = compare_result(call, 0)) return difference;
  if (!flag_or(call, "compute_v", true)) return std::nullopt;
  const auto& self = *call.args[0].real();
  const auto* triangle = std::get_if<std::string>(&arg(call, "UPLO").value);
  auto a = load_matrices<Complex>(self);
  keep_triangle(a, triangle && (*triangle == "U" || *triangle == "u"));
  for (std::size_t i = 0; i < a.count; ++i)
    for (int col = 0; col < a.cols; ++col)
      for (int row = 0; row < col; ++row) {
        const auto value = a.element(i, row, col) + std::conj(a.element(i, col, row));
        a.element(i, row, col) = value;
        a.element(i, col, row) = std::conj(value);
      }
  for (std::size_t i = 0; i < a.count; ++i)
    for (int d = 0; d < a.cols; ++d) a.element(i, d, d) = a.element(i, d, d).real();
  return both_obey(call, [&](const DatumList& results) -> Difference {
    auto v = load_matrices<Complex>(*tensor(results, 1));
    if (auto wrong = is_unitary(v, self.dtype(), "V^H V = I")) return wrong;
    return close(product(a, v), scaled(v, to_vector<Complex>(*tensor(results, 0))), self.dtype(),
                 "A V = V diag(L)");
  });
}

auto judge_svd(const JudgedCall& call) -> Difference {
  if (auto difference = compare_result(call, 1)) return difference;
  if (!flag_or(call, "compute_uv", true)) return std::nullopt;
  const auto& self = *call.args[0].real();
  const auto a = load_matrices<Complex>(self);
  const bool gives_v = call.row.name() == "aten.svd.default";
  return both_obey(call, [&](const DatumList& results) -> Difference {
    auto u = load_matrices<Complex>(*tensor(results, 0));
    auto third = load_matrices<Complex>(*tensor(results, 2));
    auto turned = adjoint(third);
    auto& v = gives_v ? third : turned;
    if (auto wrong = is_unitary(u, self.dtype(), "U^H U = I")) return wrong;
    if (auto wrong = is_unitary(v, self.dtype(), "Vh Vh^H = I")) return wrong;
    const int least = std::min(a.rows, a.cols);
    auto left = scaled(columns(u, least), to_vector<Complex>(*tensor(results, 1)));
    auto right = columns(v, least);
    auto right_h = adjoint(right);
    return close(product(left, right_h), a, self.dtype(), "U diag(S) Vh = A");
  });
}

/// Each number of one list has one in the other.
auto same_multiset(const std::vector<Complex>& ours, std::vector<Complex> theirs, std::size_t each,
                   const Tolerance& tolerance) -> Difference {
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const auto first = theirs.begin() + static_cast<std::ptrdiff_t>(i - i % each);
    const auto last = theirs.begin() + static_cast<std::ptrdiff_t>(i - i % each + each);
    // What was taken already is NaN.
    const auto nearest = std::min_element(first, last, [&](const Complex& a, const Complex& b) {
      return !std::isnan(a.real()) &&
             (std::isnan(b.real()) || std::abs(a - ours[i]) < std::abs(b - ours[i]));
    });
    const double scale = std::max(1.0, std::abs(ours[i]));
    if (!(std::abs(*nearest - ours[i]) <= 10 * tolerance.absolute * scale))
      return fmt::format("eager has no eigenvalue {}", to_string(Datum{ours[i]}));
    *nearest = std::nan("");
  }
  return std::nullopt;
}
/// PyTorch reads the coefficients of its series in another dtype for half types.
auto judge_matrix_exp(const JudgedCall& call) -> Difference {
  const auto dtype = call.args[0].real()->dtype();
  const bool is_half = dtype == DType::float16 || dtype == DType::bfloat16;
  return is_half ? Difference{} : compare_result(call, 0);
}
/// Where training on x that is not contiguous writes into outs, PyTorch takes what save_mean held
/// for the mean, and leaves it so.
auto judge_batch_norm(const JudgedCall& call) -> Difference {
  const auto* x = arg(call, "input").real();
  const bool is_written = !call.row.inplace_of.empty() && flag(call, "training");
  if (!x || !is_written || is_on_cuda(call) || x->is_contiguous()) return compare_result(call, 0);
  return compare_result(call, 1) ? Difference{} : compare_result(call, 0);
}
auto judge_eig(const JudgedCall& call) -> Difference {
  const auto& self = *call.args[0].real();
  const auto a = load_matrices<Complex>(self);
  const auto dtype = real_of(self.dtype());
  if (auto difference = same_multiset(to_vector<Complex>(*tensor(call.actual, 0)),
                                      to_vector<Complex>(*tensor(call.expected, 0)),
                                      static_cast<std::size_t>(a.cols), tolerance_of(dtype)))
    return difference;
  return both_obey(call, [&](const DatumList& results) -> Difference {
    auto v = load_matrices<Complex>(*tensor(results, 1));
    std::vector<Complex> norms(v.count * static_cast<std::size_t>(v.cols));
    for (std::size_t e = 0; e < v.values.size(); ++e)
      norms[e / static_cast<std::size_t>(v.rows)] += std::norm(v.values[e]);
    if (auto wrong =
            compare_numbers(norms, std::vector<Complex>(norms.size(), 1), tolerance_of(dtype)))
      return "the vectors have norm 1: " + *wrong;
    auto matrices = a;
    return close(product(matrices, v), scaled(v, to_vector<Complex>(*tensor(results, 0))), dtype,
                 "A V = V diag(L)");
  });
}

auto judge_qr(const JudgedCall& call) -> Difference {
  const auto& self = *call.args[0].real();
  auto a = load_matrices<Complex>(self);
  const bool has_q = tensor(call.expected, 0)->numel() > 0;
  return both_obey(call, [&](const DatumList& results) -> Difference {
    auto r = load_matrices<Complex>(*tensor(results, 1));
    auto upper = r;
    keep_triangle(upper, true);
    if (auto wrong = close(r, upper, self.dtype(), "R is upper triangular")) return wrong;
    if (!has_q) {
      auto rh = adjoint(r);
      auto ah = adjoint(a);
      return close(product(rh, r), product(ah, a), self.dtype(), "R^H R = A^H A");
    }
    auto q = load_matrices<Complex>(*tensor(results, 0));
    if (auto wrong = is_unitary(q, self.dtype(), "Q^H Q = I")) return wrong;
    return close(product(q, r), a, self.dtype(), "Q R = A");
  });
}

/// L with ones on its diagonal and U of a packed factor.
auto lower_of(Matrix packed, int least) -> Matrix {
  keep_triangle(packed, false);
  for (std::size_t i = 0; i < packed.count; ++i)
    for (int d = 0; d < least; ++d) packed.element(i, d, d) = 1;
  return columns(packed, least);
}
auto upper_of(Matrix packed, int least) -> Matrix {
  keep_triangle(packed, true);
  auto rows = new_matrices<Complex>(packed.count, least, packed.cols);
  for (std::size_t i = 0; i < packed.count; ++i)
    for (int col = 0; col < packed.cols; ++col)
      for (int row = 0; row < least; ++row) rows.element(i, row, col) = packed.element(i, row, col);
  return rows;
}
auto no_multiplier_exceeds_1(const Matrix& lower) -> Difference {
  for (const auto& value : lower.values)
    if (std::abs(value) > 1 + 1e-4) return "a multiplier of L is larger than 1";
  return std::nullopt;
}
/// Two pivots of one size: either may be taken.
auto judge_lu_factor(const JudgedCall& call) -> Difference {
  if (auto difference = compare_result(call, 2)) return difference;
  const auto& self = *call.args[0].real();
  const auto a = load_matrices<Complex>(self);
  const int least = std::min(a.rows, a.cols);
  return both_obey(call, [&](const DatumList& results) -> Difference {
    const auto packed = load_matrices<Complex>(*tensor(results, 0));
    const auto pivots = to_vector<std::int64_t>(*tensor(results, 1));
    auto lower = lower_of(packed, least);
    auto upper = upper_of(packed, least);
    if (flag(call, "pivot"))
      if (auto wrong = no_multiplier_exceeds_1(lower)) return wrong;
    auto exchanged = a;
    for (std::size_t i = 0; i < a.count; ++i)
      for (int d = 0; d < least; ++d) {
        const auto other =
            pivots[i * static_cast<std::size_t>(least) + static_cast<std::size_t>(d)];
        if (other < 1 || other > a.rows) return "a pivot is out of range";
        for (int col = 0; col < a.cols; ++col)
          std::swap(exchanged.element(i, d, col),
                    exchanged.element(i, static_cast<int>(other) - 1, col));
      }
    return close(product(lower, upper), exchanged, self.dtype(), "L U = P^T A");
  });
}
auto judge_lu(const JudgedCall& call) -> Difference {
  const auto& self = *call.args[0].real();
  const auto a = load_matrices<Complex>(self);
  const bool has_p = tensor(call.expected, 0)->numel() > 0;
  return both_obey(call, [&](const DatumList& results) -> Difference {
    auto lower = load_matrices<Complex>(*tensor(results, 1));
    auto upper = load_matrices<Complex>(*tensor(results, 2));
    auto made = product(lower, upper);
    if (has_p) {
      if (auto wrong = no_multiplier_exceeds_1(lower)) return wrong;
      auto p = load_matrices<Complex>(*tensor(results, 0));
      if (auto wrong = is_unitary(p, self.dtype(), "P is a permutation")) return wrong;
      made = product(p, made);
    }
    return close(made, a, self.dtype(), "P L U = A");
  });
}

/// U of a matrix without full rank is free in what H maps to nothing.
auto judge_polar(const JudgedCall& call) -> Difference {
  if (auto difference = compare_result(call, 1)) return difference;
  const auto& self = *call.args[0].real();
  const auto a = load_matrices<Complex>(self);
  return both_obey(call, [&](const DatumList& results) -> Difference {
    auto u = load_matrices<Complex>(*tensor(results, 0));
    auto h = load_matrices<Complex>(*tensor(results, 1));
    if (auto wrong = is_unitary(u, self.dtype(), "U^H U = I")) return wrong;
    return close(product(u, h), a, self.dtype(), "U H = A");
  });
}
/// Where info says that a matrix has no inverse, the elements are what the elimination left.
auto judge_inverse(const JudgedCall& call) -> Difference {
  auto ours = load_matrices<Complex>(*tensor(call.actual, 0));
  auto theirs = load_matrices<Complex>(*tensor(call.expected, 0));
  const auto codes = to_vector<std::int64_t>(*tensor(call.expected, 1));
  const auto our_codes = to_vector<std::int64_t>(*tensor(call.actual, 1));
  for (std::size_t i = 0; i < codes.size(); ++i)
    if ((codes[i] == 0) != (our_codes[i] == 0)) return "which matrices have an inverse differs";
  const auto elements = static_cast<std::size_t>(ours.rows) * static_cast<std::size_t>(ours.cols);
  for (std::size_t i = 0; i < ours.values.size(); ++i)
    if (codes[i / elements] != 0) ours.values[i] = theirs.values[i] = 0;
  const auto wrong =
      compare_numbers(ours.values, theirs.values, tolerance_of(tensor(call.expected, 0)->dtype()));
  return wrong ? "result 0: " + *wrong : wrong;
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
  if (call.args[0].real()->numel() == 0) return std::nullopt;
  for (std::size_t i = 0; i < call.expected.size(); ++i)
    if (auto difference = compare_result(call, i)) return difference;
  return std::nullopt;
}
/// The CPU's kernel reads query, key and value as if their last dimension were dense.
auto judge_dense_features(const JudgedCall& call) -> Difference {
  for (const auto* name : {"query", "key", "value"}) {
    const auto& meta = arg(call, name).real()->meta;
    if (!is_on_cuda(call) && meta.strides.back() != 1 && meta.sizes.back() > 1) return std::nullopt;
  }
  for (std::size_t i = 0; i < call.expected.size(); ++i)
    if (auto difference = compare_result(call, i)) return difference;
  return std::nullopt;
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
    "into outs, of x that is not contiguous: PyTorch takes what save_mean held for the mean";
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
    {"aten.linalg_polar.default", "U H = A, U unitary, H equal", judge_polar},
    {"aten.linalg_inv_ex.default",
     "info says the same of each matrix; the inverse where there is one", judge_inverse},
    {"aten.linalg_matrix_exp.default", "float16 and bfloat16: PyTorch gives what memory held",
     judge_matrix_exp},
    {"aten.native_batch_norm.default", kHeldMean, judge_batch_norm},
    {"aten._native_batch_norm_legit.default", kHeldMean, judge_batch_norm},
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
