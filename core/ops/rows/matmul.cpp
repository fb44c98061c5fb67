// Matrix products. Results are contiguous whatever the operands' layouts
// (aten/src/ATen/native/LinearAlgebra.cpp, Blas.cpp); only addr follows TensorIterator.
#include "core/ops/blas.h"
#include "core/ops/pointwise.h"
#include "core/ops/rules.h"
#include "core/ops/typed_elements.h"

namespace assay {
namespace {

/// Positions of an addmm-like row's arguments; -1 where the row has none.
struct ProductArgs {
  int self = -1;
  int left = 0;
  int right = 1;
  [[nodiscard]] auto beta(const Call& c) const -> int { return c.row().schema.index_of("beta"); }
  [[nodiscard]] auto alpha(const Call& c) const -> int { return c.row().schema.index_of("alpha"); }
};
constexpr ProductArgs kPlain{};
constexpr ProductArgs kAdded{.self = 0, .left = 1, .right = 2};

/// Ranks of the two factors; a vector on the left is a row, on the right a column.
struct Ranks {
  int left;
  int right;
};

/// Result of `left` times `right`: the batch of 3-d factors, then the outer dims that are there.
template <ProductArgs kArgs, Ranks kRanks>
auto product_rule(MetaCall& c) -> Datum {
  const auto& left = c.meta(kArgs.left);
  const auto& right = c.meta(kArgs.right);
  if (left.rank() != kRanks.left || right.rank() != kRanks.right)
    return c.fail(
               fmt::format("operands of rank {} and {} are expected", kRanks.left, kRanks.right)),
           Datum{};
  c.require(left.dtype == right.dtype, "the operands have one dtype");
  const auto inner = static_cast<std::size_t>(kRanks.right == 3 ? 1 : 0);
  c.require(eq(left.sizes.back(), right.sizes[inner]), "the inner sizes agree");
  Dims sizes;
  if (kRanks.left == 3) {
    c.require(eq(left.sizes[0], right.sizes[0]), "the batch sizes agree");
    sizes.push_back(left.sizes[0]);
  }
  if (kRanks.left > 1) sizes.push_back(left.sizes[left.sizes.size() - 2]);
  if (kRanks.right > 1) sizes.push_back(right.sizes.back());
  if (kArgs.self >= 0) {
    const auto& self = c.meta(kArgs.self);
    c.require(self.dtype == left.dtype, "the operands have one dtype");
    require_expands(c, self.sizes, sizes, "self broadcasts to the product");
  }
  return c.fresh(left.dtype, std::move(sizes));
}

/// The same in another dtype, in which it is summed: that of the operands, or float32 of halves
/// (native/cuda/Blas.cpp, _bmm_out_dtype_cuda).
template <MetaRule kRule>
auto widened_product_rule(MetaCall& c) -> Datum {
  const auto from = c.meta(0).dtype;
  const auto to = c.dtype(param(c, "out_dtype")).value_or(from);
  if (!c.require(to == from || (is_half(from) && to == DType::float32),
                 "the product has the operands' dtype, or float32"))
    return {};
  auto made = kRule(c);
  if (auto* fake = std::get_if<FakeTensor>(&made.value)) fake->meta.dtype = to;
  return made;
}

/// A factor as a batch of matrices.
template <class T>
struct Batch {
  MatrixView<T> first;
  std::int64_t count = 1;
  std::int64_t stride = 0;
  [[nodiscard]] auto at(std::int64_t i) const -> MatrixView<T> {
    auto matrix = first;
    matrix.data += i * stride;
    return matrix;
  }
};

template <class T>
auto as_batch(const Elements<T>& elements, const Ints& sizes, bool vector_is_row) -> Batch<T> {
  const auto& strides = elements.strides();
  const auto rank = sizes.size();
  if (rank == 1) {
    const MatrixView<T> column{elements.data(), sizes[0], 1, strides[0], 1};
    return {.first = vector_is_row ? column.transposed() : column};
  }
  Batch<T> batch{.first = {elements.data(), sizes[rank - 2], sizes[rank - 1], strides[rank - 2],
                           strides[rank - 1]}};
  if (rank == 3) {
    batch.count = sizes[0];
    batch.stride = strides[0];
  }
  return batch;
}

template <class T>
auto to_number(Complex value) -> T {
  if constexpr (std::is_same_v<T, Complex>)
    return value;
  else
    return static_cast<T>(value.real());
}

/// to[...] = factor * tensor, broadcast to `sizes`, row-major.
template <class T>
void fill_scaled(const Tensor& tensor, const Ints& sizes, T factor, T* to) {
  const auto strides = broadcast_strides(tensor, sizes);
  const Ints* all[] = {&strides};
  const auto inner = strides.empty() ? 0 : strides.back();
  for_each_run(sizes, all, [&](std::span<const std::int64_t> at, std::int64_t run) {
    const auto count = static_cast<std::size_t>(run);
    load_elems<T>(tensor, tensor.meta.offset + at[0], inner, std::span(to, count));
    for (std::size_t i = 0; i < count; ++i) to[i] *= factor;
    to += count;
  });
}

/// The kernel of all products: beta * self + alpha * left * right. A beta of 0 does not look at
/// self, so that its NaNs vanish (Blas.cpp). `sum_batch` adds the products of a batch (addbmm).
template <ProductArgs kArgs, bool kSumBatch = false>
void product_kernel(KernelCall& k) {
  with_product_type(k.out().dtype(), [&]<class T>(T) {
    const int beta_arg = kArgs.beta(k);
    const int alpha_arg = kArgs.alpha(k);
    const T alpha = alpha_arg >= 0 ? to_number<T>(k.number(alpha_arg)) : T(1);
    const T beta = beta_arg >= 0 ? to_number<T>(k.number(beta_arg)) : T(1);
    const auto& left = k.in(kArgs.left);
    const auto& right = k.in(kArgs.right);
    const Elements<T> left_elements(left);
    const Elements<T> right_elements(right);
    const auto a = as_batch(left_elements, left.sizes(), true);
    const auto b = as_batch(right_elements, right.sizes(), false);
    Output<T> out(k.out());
    if (kArgs.self >= 0 && beta != T(0))
      fill_scaled(k.in(kArgs.self), k.out().sizes(), beta, out.data());
    const auto step = kSumBatch ? 0 : a.first.rows * b.first.cols;
    for (std::int64_t i = 0; i < a.count; ++i) {
      add_product(alpha, a.at(i), b.at(i), out.data() + i * step, b.first.cols);
      if constexpr (kSumBatch && std::is_same_v<T, float>) {
        // Eager keeps the running sum in the result, hence in its dtype.
        for (auto& value : std::span(out.data(), static_cast<std::size_t>(k.out().numel())))
          value = static_cast<float>(round_to(k.out().dtype(), value));
      }
    }
  });
}

/// addbmm: the sum over the batch has the shape of one product.
auto addbmm_rule(MetaCall& c) -> Datum {
  const auto& left = c.meta(1);
  const auto& right = c.meta(2);
  if (left.rank() != 3 || right.rank() != 3)
    return c.fail("operands of rank 3 are expected"), Datum{};
  c.require(left.dtype == right.dtype && c.meta(0).dtype == left.dtype,
            "the operands have one dtype");
  c.require(eq(left.sizes[0], right.sizes[0]), "the batch sizes agree");
  c.require(eq(left.sizes[2], right.sizes[1]), "the inner sizes agree");
  const Dims sizes{left.sizes[1], right.sizes[2]};
  require_expands(c, c.meta(0).sizes, sizes, "self broadcasts to the product");
  return c.fresh(left.dtype, sizes);
}

/// vdot conjugates its first operand.
void vdot_kernel(KernelCall& k) {
  if (!is_complex(k.out().dtype())) return product_kernel<kPlain>(k);
  const auto a = to_vector<Complex>(k.in(0));
  const auto b = to_vector<Complex>(k.in(1));
  Complex sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::conj(a[i]) * b[i];
  from_vector<Complex>(k.out(), std::span(&sum, 1));
}

/// addr is pointwise over self, vec1 as a column and vec2 as a row (build_addr_iter in
/// LinearAlgebra.cpp), so its result has TensorIterator's layout.
auto addr_rule(MetaCall& c) -> Datum {
  if (c.meta(1).rank() != 1 || c.meta(2).rank() != 1)
    return c.fail("vec1 and vec2 must be vectors"), Datum{};
  const Dims sizes{c.meta(1).sizes[0], c.meta(2).sizes[0]};
  auto self = c.meta(0);
  if (!require_expands(c, self.sizes, sizes, "self broadcasts to the product")) return {};
  auto column = c.meta(1);
  auto row = c.meta(2);
  self.strides = expanded_strides(c, self, sizes);
  self.sizes = sizes;
  column.sizes = {sizes[0], 1};
  column.strides = {column.strides[0], 1};
  row.sizes = {1, sizes[1]};
  row.strides = {row.strides[0] * sizes[1], row.strides[0]};
  ResultType type;
  for (int i = 0; i < 3; ++i) type.add(c, i);
  const auto dtype = type.get();
  if (!dtype) return c.fail("the operand dtypes do not promote"), Datum{};
  const TensorMeta* operands[] = {&self, &column, &row};
  auto strides = iterator_strides(c, operands, sizes);
  return c.fresh(*dtype, sizes, std::move(strides));
}

/// Every operation rounds to the result's dtype, as eager's scalar loop does.
void addr_kernel(KernelCall& k) {
  const auto& sizes = k.out().sizes();
  const auto dtype = k.out().dtype();
  with_compute_type(dtype, [&]<class T>(T) {
    const auto rounded = [&](T value) {
      if constexpr (std::is_same_v<T, double>)
        return round_to(dtype, value);
      else
        return value;
    };
    const T beta = rounded(to_number<T>(k.number(3)));
    const T alpha = rounded(to_number<T>(k.number(4)));
    const auto column = to_vector<T>(k.in(1));
    const auto row = to_vector<T>(k.in(2));
    std::vector<T> values(column.size() * row.size());
    if (beta != T(0)) fill_scaled(k.in(0), sizes, beta, values.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T scaled = rounded(alpha * column[i / row.size()]);
      values[i] = rounded(values[i]) + rounded(scaled * row[i % row.size()]);
    }
    from_vector<T>(k.out(), values);
  });
}

auto swap_last_dims(Composer& c, const Datum& tensor) -> Datum {
  return c.call("aten.transpose.int", {tensor, Datum{Expr(-2)}, Datum{Expr(-1)}});
}

/// at::native::should_fold (LinearAlgebra.cpp): is the larger factor's batch folded into its rows,
/// giving one mm instead of a bmm over copies of the smaller factor?
auto should_fold(Composer& c, const Datum& a, const Datum& b) -> bool {
  const auto a_rank = c.meta(a).rank();
  const auto b_rank = c.meta(b).rank();
  const bool a_larger = a_rank >= b_rank;
  auto larger = c.meta(a_larger ? a : b);
  const auto smaller = c.meta(a_larger ? b : a);
  if (larger.rank() < 3 || smaller.rank() > 2) return false;
  if (smaller.requires_grad) return true;
  if (a_rank == 2) return false;
  if (!a_larger) {
    const auto last = larger.sizes.size() - 1;
    std::swap(larger.sizes[last], larger.sizes[last - 1]);
    std::swap(larger.strides[last], larger.strides[last - 1]);
  }
  for (const auto& size : larger.sizes)
    if (c.decide(eq(size, 0), "empty factor")) return true;
  for (std::size_t i = 0; i + 2 < larger.sizes.size(); ++i)
    if (!c.decide(eq(larger.strides[i], larger.strides[i + 1] * larger.sizes[i + 1]),
                  "batch dimensions fold into rows"))
      return false;
  return true;
}

auto folded_matmul(Composer& c, const Datum& a, const Datum& b) -> Datum {
  const bool transpose = c.meta(b).rank() > c.meta(a).rank();
  const auto larger = transpose ? swap_last_dims(c, b) : a;
  const auto smaller = !transpose ? b : c.meta(a).rank() == 2 ? swap_last_dims(c, a) : a;
  const auto larger_meta = c.meta(larger);
  const auto smaller_meta = c.meta(smaller);
  if (c.error()) return {};
  Dims sizes(larger_meta.sizes.begin(), larger_meta.sizes.end() - 1);
  const Dims folded{product(sizes), larger_meta.sizes.back()};
  const auto rows = c.call("aten.reshape.default", {larger, int_list(folded)});
  if (smaller_meta.rank() == 1)
    return c.call("aten._unsafe_view.default",
                  {c.call("aten.mv.default", {rows, smaller}), int_list(sizes)});
  sizes.push_back(smaller_meta.sizes[1]);
  auto product_view = c.call("aten._unsafe_view.default",
                             {c.call("aten.mm.default", {rows, smaller}), int_list(sizes)});
  if (!transpose) return product_view;
  return c.call("aten.clone.default",
                {swap_last_dims(c, product_view), Datum{MemoryFormat::contiguous}});
}

/// Broadcast of the batch dims of two shapes.
auto broadcast_batch(Composer& c, const Dims& a, const Dims& b) -> Dims {
  Dims sizes(std::max(a.size(), b.size()), Expr(1));
  const auto at = [&](const Dims& from, std::size_t i) {
    const auto missing = sizes.size() - from.size();
    return i < missing ? Expr(1) : from[i - missing];
  };
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto x = at(a, i);
    const auto y = at(b, i);
    sizes[i] = x;
    if (x == y || c.decide(eq(y, 1), "batch sizes broadcast")) continue;
    if (c.decide(eq(x, 1), "batch sizes broadcast"))
      sizes[i] = y;
    else if (!c.domain().context().require(eq(x, y), "batch sizes broadcast"))
      c.fail("the batch sizes do not broadcast");
  }
  return sizes;
}

auto joined(const Dims& a, std::initializer_list<Expr> b) -> Dims {
  Dims all = a;
  all.insert(all.end(), b);
  return all;
}

auto batched_matmul(Composer& c, const Datum& a, const Datum& b) -> Datum {
  const auto left = c.meta(a);
  const auto right = c.meta(b);
  const bool row = left.rank() == 1;
  const bool column = right.rank() == 1;
  const auto batch_of = [](const TensorMeta& m) {
    return Dims(m.sizes.begin(), m.sizes.end() - std::min(m.rank(), 2));
  };
  const Expr n = row ? Expr(1) : left.sizes[left.sizes.size() - 2];
  const Expr p = column ? Expr(1) : right.sizes.back();
  const Expr m1 = left.sizes.back();
  const Expr m2 = column ? right.sizes[0] : right.sizes[right.sizes.size() - 2];
  auto sizes = broadcast_batch(c, batch_of(left), batch_of(right));
  const Expr count = product(sizes);
  const auto expand_and_fold = [&](const Datum& tensor, const Dims& expanded, const Dims& folded) {
    return c.call("aten.reshape.default",
                  {c.call("aten.expand.default", {tensor, int_list(expanded)}), int_list(folded)});
  };
  const auto matrices = expand_and_fold(a, joined(sizes, {n, m1}), Dims{count, n, m1});
  Datum result;
  if (column) {
    const auto vectors = expand_and_fold(b, joined(sizes, {m2}), Dims{count, m2});
    const auto columns = c.call("aten.unsqueeze.default", {vectors, Datum{Expr(2)}});
    result = c.call("aten.squeeze.dim",
                    {c.call("aten.bmm.default", {matrices, columns}), Datum{Expr(-1)}});
  } else {
    const auto right_matrices = expand_and_fold(b, joined(sizes, {m2, p}), Dims{count, m2, p});
    result = c.call("aten.bmm.default", {matrices, right_matrices});
  }
  if (!row) sizes.push_back(n);
  if (!column) sizes.push_back(p);
  return c.call("aten._unsafe_view.default", {result, int_list(sizes)});
}

/// at::native::matmul (LinearAlgebra.cpp, _matmul_impl): one of dot, mv, mm and bmm.
auto matmul(Composer& c) -> Datum {
  const auto& a = c.arg(0);
  const auto& b = c.arg(1);
  const auto a_rank = c.meta(a).rank();
  const auto b_rank = c.meta(b).rank();
  if (c.error()) return {};
  if (a_rank == 0 || b_rank == 0)
    return c.fail("both operands need at least one dimension"), Datum{};
  if (a_rank == 1 && b_rank == 1) return c.call("aten.dot.default", {a, b});
  if (a_rank == 2 && b_rank == 1) return c.call("aten.mv.default", {a, b});
  if (a_rank == 2 && b_rank == 2) return c.call("aten.mm.default", {a, b});
  if (a_rank == 1 && b_rank == 2) {
    const auto row = c.call("aten.unsqueeze.default", {a, Datum{Expr(0)}});
    return c.call("aten.squeeze.dim", {c.call("aten.mm.default", {row, b}), Datum{Expr(0)}});
  }
  return should_fold(c, a, b) ? folded_matmul(c, a, b) : batched_matmul(c, a, b);
}

/// at::native::linear (Linear.cpp): with a bias one addmm on the flattened input if that is a view,
/// else matmul and add. The result is contiguous on every path.
auto linear(Composer& c) -> Datum {
  const auto input = c.meta(0);
  const auto weight = c.meta(1);
  if (c.error()) return {};
  if (weight.rank() != 2 && c.has(2)) return c.fail("a bias needs a weight of rank 2"), Datum{};
  if (c.has(2) && c.meta(2).rank() > 1) return c.fail("the bias is a vector"), Datum{};
  const auto transposed = weight.rank() == 2 ? c.call("aten.t.default", {c.arg(1)}) : c.arg(1);
  if (!c.has(2)) return c.call("aten.matmul.default", {c.arg(0), transposed});
  if (input.rank() == 2) return c.call("aten.addmm.default", {c.arg(2), c.arg(0), transposed});
  MetaCall layout(c.row(), c.args(), c.domain().context());
  if (input.rank() < 2 || !is_contiguous(layout, input)) {
    const auto unbiased = c.call("aten.matmul.default", {c.arg(0), transposed});
    return c.call("aten.add.Tensor", {unbiased, c.arg(2)});
  }
  Dims sizes(input.sizes.begin(), input.sizes.end() - 1);
  const Dims folded{product(sizes), input.sizes.back()};
  sizes.push_back(weight.sizes[0]);
  const auto rows = c.call("aten.view.default", {c.arg(0), int_list(folded)});
  const auto result = c.call("aten.addmm.default", {c.arg(2), rows, transposed});
  return c.call("aten._unsafe_view.default", {result, int_list(sizes)});
}

}  // namespace

// clang-format off
void add_matmul_rows(OpTable& t) {
  t.add({.schema_text = "aten::mm(Tensor self, Tensor mat2) -> Tensor", .rule = product_rule<kPlain, Ranks{2, 2}>, .kernel = product_kernel<kPlain>});
  t.add({.schema_text = "aten::bmm(Tensor self, Tensor mat2) -> Tensor", .rule = product_rule<kPlain, Ranks{3, 3}>, .kernel = product_kernel<kPlain>});
  t.add({.schema_text = "aten::mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor", .rule = widened_product_rule<product_rule<kPlain, Ranks{2, 2}>>, .kernel = product_kernel<kPlain>});
  t.add({.schema_text = "aten::bmm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor", .rule = widened_product_rule<product_rule<kPlain, Ranks{3, 3}>>, .kernel = product_kernel<kPlain>});
  t.add({.schema_text = "aten::mv(Tensor self, Tensor vec) -> Tensor", .rule = product_rule<kPlain, Ranks{2, 1}>, .kernel = product_kernel<kPlain>});
  t.add({.schema_text = "aten::dot(Tensor self, Tensor tensor) -> Tensor", .rule = product_rule<kPlain, Ranks{1, 1}>, .kernel = product_kernel<kPlain>});
  t.add({.schema_text = "aten::vdot(Tensor self, Tensor other) -> Tensor", .rule = product_rule<kPlain, Ranks{1, 1}>, .kernel = vdot_kernel});
  t.add({.schema_text = "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", .rule = product_rule<kAdded, Ranks{2, 2}>, .kernel = product_kernel<kAdded>});
  t.add({.schema_text = "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", .rule = product_rule<kAdded, Ranks{3, 3}>, .kernel = product_kernel<kAdded>});
  t.add({.schema_text = "aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", .rule = addbmm_rule, .kernel = product_kernel<kAdded, true>});
  t.add({.schema_text = "aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor", .rule = product_rule<kAdded, Ranks{2, 1}>, .kernel = product_kernel<kAdded>});
  t.add({.schema_text = "aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", .rule = addr_rule, .kernel = addr_kernel});
  t.add({.schema_text = "aten::matmul(Tensor self, Tensor other) -> Tensor", .decomposition = matmul});
  t.add({.schema_text = "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", .decomposition = linear});
}
// clang-format on

}  // namespace assay
