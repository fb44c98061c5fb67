// Distances between vectors and norms that are bounded (aten/src/ATen/native/Distance.cpp,
// cpu/DistanceOpsKernel.cpp, Normalization.cpp, Embedding.cpp), and the trilinear product
// (Linear.cpp).
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/ops/pointwise.h"
#include "core/ops/reduce.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

auto sign(double x) -> double {
  return static_cast<double>(x > 0) - static_cast<double>(x < 0);
}
/// p-norm of the difference of two vectors of length `size`.
auto distance(const double* a, const double* b, std::int64_t size, double p) -> double {
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const double d = std::fabs(a[i] - b[i]);
    if (p == 0)
      sum += d != 0 ? 1 : 0;
    else if (std::isinf(p))
      sum = std::isnan(d) ? d : std::max(sum, d);
    else
      sum += p == 1 ? d : p == 2 ? d * d : std::pow(d, p);
  }
  if (p == 0 || p == 1 || std::isinf(p)) return sum;
  return p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
}
/// What one difference adds to the gradient of the first vector's element.
auto distance_slope(double difference, double grad, double total, double p) -> double {
  const double size = std::fabs(difference);
  if (p == 0) return 0;
  if (p == 1) return grad * sign(difference);
  if (std::isinf(p))
    return grad * sign(difference) * (1 - std::min(1.0, std::ceil(std::fabs(size - total))));
  if (total == 0 || (p < 1 && difference == 0)) return 0;
  if (p == 2) return grad * difference / total;
  if (p < 2) return sign(difference) * std::pow(size, p - 1) * grad / std::pow(total, p - 1);
  return difference * std::pow(size, p - 2) * grad / std::pow(total, p - 1);
}

// ---- cdist --------------------------------------------------------------------------------------

struct Pairs {
  Dims batch;
  Expr first, second, features;
};
auto pairs_of(MetaCall& c, int arg) -> Pairs {
  const auto& a = c.meta(arg);
  const auto& b = c.meta(arg + 1);
  if (c.error() || !c.require(a.rank() >= 2 && b.rank() >= 2, "both are batches of vectors") ||
      !c.require(eq(a.sizes.back(), b.sizes.back()), "the vectors have one length"))
    return {};
  const auto lead = [](const TensorMeta& m) { return Dims(m.sizes.begin(), m.sizes.end() - 2); };
  return {broadcast(c, lead(a), lead(b)), a.sizes[a.sizes.size() - 2], b.sizes[b.sizes.size() - 2],
          a.sizes.back()};
}
auto with(Dims batch, const Expr& rows, const Expr& cols) -> Dims {
  batch.insert(batch.end(), {rows, cols});
  return batch;
}
/// x1, x2, p, compute_mode.
auto cdist_rule(MetaCall& c) -> Datum {
  const auto pairs = pairs_of(c, 0);
  if (c.error() || !c.require(is_floating(c.meta(0).dtype) && c.meta(0).dtype == c.meta(1).dtype,
                              "both are floating of one dtype"))
    return {};
  return c.fresh(c.meta(0).dtype, with(pairs.batch, pairs.first, pairs.second));
}
/// Both operands broadcast to one batch, row-major.
struct Vectors {
  std::vector<double> a, b;
  std::int64_t batch = 1, first = 0, second = 0, features = 0;
};
auto load_vectors(KernelCall& k, int arg) -> Vectors {
  const auto& x = k.in(arg);
  const auto& y = k.in(arg + 1);
  const auto lead = [](const Tensor& t) { return Ints(t.sizes().begin(), t.sizes().end() - 2); };
  const auto batch = common_sizes(lead(x), lead(y)).value_or(Ints{});
  const auto expanded = [&](const Tensor& t) {
    auto sizes = batch;
    sizes.insert(sizes.end(), t.sizes().end() - 2, t.sizes().end());
    return to_vector<double>(expanded_view(t, sizes));
  };
  return {expanded(x),
          expanded(y),
          numel(batch),
          x.sizes()[x.sizes().size() - 2],
          y.sizes()[y.sizes().size() - 2],
          x.sizes().back()};
}
void cdist_kernel(KernelCall& k) {
  const auto v = load_vectors(k, 0);
  const double p = k.real(2);
  std::vector<double> result;
  for (std::int64_t n = 0; n < v.batch; ++n)
    for (std::int64_t i = 0; i < v.first; ++i)
      for (std::int64_t j = 0; j < v.second; ++j)
        result.push_back(distance(v.a.data() + (n * v.first + i) * v.features,
                                  v.b.data() + (n * v.second + j) * v.features, v.features, p));
  from_vector<double>(k.out(), result);
}
/// grad, x1, x2, p, cdist: the gradient of x1.
auto cdist_backward_rule(MetaCall& c) -> Datum {
  const auto pairs = pairs_of(c, 1);
  if (c.error()) return {};
  const auto sizes = with(pairs.batch, pairs.first, pairs.second);
  for (const int i : {0, 4})
    if (!require_same_sizes(c, c.meta(i).sizes, sizes, "one element per pair")) return {};
  const auto sizes_of_x1 = with(pairs.batch, pairs.first, pairs.features);
  const auto work = product(std::array{product(sizes), pairs.features});
  const bool empty = c.decide(eq(work, 0), "there is nothing to add up");
  const auto& x1 = c.meta(1);
  if (empty) return c.fresh(x1.dtype, x1.sizes, preserved_strides(c, x1));  // zeros_like
  return c.fresh(x1.dtype, sizes_of_x1);
}
void cdist_backward_kernel(KernelCall& k) {
  const auto v = load_vectors(k, 1);
  const auto grad = to_vector<double>(k.in(0));
  const auto total = to_vector<double>(k.in(4));
  const double p = k.real(3);
  std::vector<double> result(static_cast<std::size_t>(k.out().numel()), 0);
  for (std::int64_t n = 0; n < v.batch && v.second > 0; ++n)
    for (std::int64_t i = 0; i < v.first; ++i)
      for (std::int64_t j = 0; j < v.second; ++j) {
        const auto pair = static_cast<std::size_t>((n * v.first + i) * v.second + j);
        for (std::int64_t f = 0; f < v.features; ++f) {
          const auto at = static_cast<std::size_t>((n * v.first + i) * v.features + f);
          const auto other = static_cast<std::size_t>((n * v.second + j) * v.features + f);
          result[at] += distance_slope(v.a[at] - v.b[other], grad[pair], total[pair], p);
        }
      }
  from_vector<double>(k.out(), result);
}

/// |a - b| as the root of a^2 - 2 a b + b^2, one matrix product, clamped at 0.
auto euclidean(Composer& c) -> Datum {
  const Datum last{Expr(-1)};
  const auto norms = [&](int arg) {
    const auto squares = c.call("aten.pow.Tensor_Scalar", {c.arg(arg), Datum{Expr(2)}});
    return c.call("aten.sum.dim_IntList",
                  {squares, int_list(Dims{-1}), Datum{Expr::boolean(true)}});
  };
  const auto ones = [&](const Datum& like) { return c.call("aten.ones_like.default", {like}); };
  const auto first = norms(0);
  const auto second = norms(1);
  const auto doubled = c.call("aten.mul.Scalar", {c.arg(0), Datum{Expr(-2)}});
  const auto left =
      c.call("aten.cat.default", {Datum{DatumList{doubled, first, ones(first)}}, last});
  const auto right =
      c.call("aten.cat.default", {Datum{DatumList{c.arg(1), ones(second), second}}, last});
  const auto flipped = c.call("aten.transpose.int", {right, Datum{Expr(-2)}, last});
  const auto squares = c.call("aten.matmul.default", {left, flipped});
  return c.call("aten.sqrt.default", {c.call("aten.clamp_min.default", {squares, Datum{Expr(0)}})});
}

// ---- pdist --------------------------------------------------------------------------------------

auto pdist_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  if (!c.require(self.rank() == 2 && is_floating(self.dtype), "a floating matrix")) return {};
  const auto& n = self.sizes[0];
  return c.fresh(self.dtype, {floor_div(n * (n - 1), 2)});
}
template <class F>
void for_each_pair(std::int64_t n, const F& f) {
  std::size_t pair = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i + 1; j < n; ++j) f(i, j, pair++);
}
void pdist_kernel(KernelCall& k) {
  const auto x = to_vector<double>(k.in(0));
  const auto features = k.in(0).sizes()[1];
  std::vector<double> result;
  for_each_pair(k.in(0).sizes()[0], [&](std::int64_t i, std::int64_t j, std::size_t) {
    result.push_back(
        distance(x.data() + i * features, x.data() + j * features, features, k.real(1)));
  });
  from_vector<double>(k.out(), result);
}
/// grad, self, p, pdist.
auto pdist_backward_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(1);
  if (!c.require(self.rank() == 2, "a matrix")) return {};
  const Dims pairs{floor_div(self.sizes[0] * (self.sizes[0] - 1), 2)};
  for (const int i : {0, 3})
    if (!require_same_sizes(c, c.meta(i).sizes, pairs, "one element per pair")) return {};
  return c.fresh(self.dtype, self.sizes);
}
void pdist_backward_kernel(KernelCall& k) {
  const auto x = to_vector<double>(k.in(1));
  const auto grad = to_vector<double>(k.in(0));
  const auto total = to_vector<double>(k.in(3));
  const auto features = k.in(1).sizes()[1];
  std::vector<double> result(x.size(), 0);
  for_each_pair(k.in(1).sizes()[0], [&](std::int64_t i, std::int64_t j, std::size_t pair) {
    for (std::int64_t f = 0; f < features; ++f) {
      const auto a = static_cast<std::size_t>(i * features + f);
      const auto b = static_cast<std::size_t>(j * features + f);
      const double difference = round_to(k.in(1).dtype(), x[a] - x[b]);  // as `total` was
      const double slope = distance_slope(difference, grad[pair], total[pair], k.real(2));
      result[a] += slope;
      result[b] -= slope;
    }
  });
  from_vector<double>(k.out(), result);
}

auto dist(Composer& c) -> Datum {
  const auto difference = c.call("aten.sub.Tensor", {c.arg(0), c.arg(1)});
  return c.call("aten.linalg_vector_norm.default", {difference, c.arg(2)});
}

// ---- bounded norms ------------------------------------------------------------------------------

/// Rows longer than the bound are scaled to it.
template <class T>
void bound_norm(std::span<T> row, double p, double most) {
  const std::vector<double> zero(row.size(), 0);
  std::vector<double> sizes;
  for (const auto& x : row) sizes.push_back(std::abs(x));
  const double norm = distance(sizes.data(), zero.data(), static_cast<std::int64_t>(row.size()), p);
  if (norm <= most) return;
  for (auto& x : row) x *= most / (norm + 1e-7);
}
/// self, p, dim, maxnorm.
auto renorm_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  if (!c.require(self.rank() > 1, "at least two dimensions") ||
      !c.require(is_floating(self.dtype) || is_complex(self.dtype), "a floating tensor"))
    return {};
  c.dim_arg(2, self.rank());
  return contiguous_like_self(c);
}
void renorm_kernel(KernelCall& k) {
  std::vector<bool> others(k.in(0).sizes().size(), true);
  others[static_cast<std::size_t>(dim_of(k, 2, k.in(0).rank()))] = false;
  const auto bound = [&]<class T>(T) {
    auto rows = load_rows<T>(k.in(0), others);
    for (std::size_t i = 0; i < rows.outer; ++i) bound_norm<T>(rows.row(i), k.real(1), k.real(3));
    store_rows(k.out(), others, rows);
  };
  if (is_complex(k.in(0).dtype()))
    bound(Complex{});
  else
    bound(double{});
}
/// self (written), indices, max_norm, norm_type: the rows that are named.
auto embedding_renorm_rule(MetaCall& c) -> Datum {
  if (!c.require(c.meta(0).rank() == 2, "the weight is a matrix") ||
      !c.require(is_integer(c.meta(1).dtype), "the indices are integers"))
    return {};
  return returns_self(c);
}
/// CUDA's kernel takes a row to be as long as the stride between rows: where the weight is not
/// row-major it sums and scales that many elements from the row's start on, all sums first.
void embedding_renorm_like_cuda(KernelCall& k, const std::set<std::int64_t>& rows) {
  const auto& weight = k.in(0);
  Tensor all = weight;
  all.meta.sizes = {weight.meta.storage_bytes / size_bytes(weight.dtype())};
  all.meta.strides = {1};
  all.meta.offset = 0;
  auto x = to_vector<double>(all);
  std::vector<double> factor(x.size(), 1);
  for (const auto index : rows) {
    std::vector<double> row;
    std::vector<std::size_t> at;
    for (std::int64_t i = 0; i < weight.strides()[0]; ++i) {
      const auto e = static_cast<std::size_t>(weight.meta.offset + index * weight.strides()[0] +
                                              i * weight.strides()[1]);
      if (e >= x.size()) break;
      row.push_back(x[e]);
      at.push_back(e);
    }
    const std::vector<double> before = row;
    bound_norm<double>(row, k.real(3), k.real(2));
    for (std::size_t i = 0; i < row.size(); ++i)
      if (before[i] != 0) factor[at[i]] = row[i] / before[i];
  }
  for (std::size_t e = 0; e < x.size(); ++e) x[e] *= factor[e];
  from_vector<double>(all, x);
}
void embedding_renorm_kernel(KernelCall& k) {
  Tensor weight = k.in(0);
  auto rows = load_rows<double>(weight, {false, true});
  const auto indices = to_vector<std::int64_t>(k.in(1));
  const std::set<std::int64_t> named(indices.begin(), indices.end());
  for (const auto index : named)
    if (index < 0 || index >= weight.sizes()[0])
      return void(k.fail(fmt::format("index {} is out of range", index)));
  if (weight.meta.device.type == "cuda" && weight.strides()[0] != weight.sizes()[1])
    return embedding_renorm_like_cuda(k, named);
  for (const auto index : named) {
    bound_norm<double>(rows.row(static_cast<std::size_t>(index)), k.real(3), k.real(2));
  }
  store_rows(weight, {false, true}, rows);
}

// ---- trilinear product --------------------------------------------------------------------------

/// Sizes of the common space of i1, i2, i3; expandN are the dimensions that operand N lacks.
template <class Size, class Sizes, class SizesOf>
auto trilinear_space(Call& c, const SizesOf& sizes_of) -> Sizes {
  Sizes space;
  for (int i = 0; i < 3; ++i) {
    const Sizes& own = sizes_of(i);
    const auto lacks = c.integers(3 + i);
    const auto rank = own.size() + lacks.size();
    for (const auto d : lacks)
      if (d < 0 || d >= static_cast<std::int64_t>(rank))
        return c.fail("a dimension is out of range"), Sizes{};
    if (space.empty()) space.resize(rank, Size(1));
    if (rank != space.size()) return c.fail("the operands span one space"), Sizes{};
    std::size_t next = 0;
    for (std::size_t d = 0; d < rank; ++d)
      if (std::ranges::find(lacks, static_cast<std::int64_t>(d)) == lacks.end() &&
          next < own.size() && own[next++] != Size(1))
        space[d] = own[next - 1];
  }
  return space;
}
auto trilinear_rule(MetaCall& c) -> Datum {
  const auto space =
      trilinear_space<Expr, Dims>(c, [&](int i) -> const Dims& { return c.meta(i).sizes; });
  const auto summed = c.integers(6);
  for (const auto d : summed)
    if (!c.require(d >= 0 && d < static_cast<std::int64_t>(space.size()),
                   "dimensions of the space"))
      return {};
  if (!c.require(c.meta(0).dtype == c.meta(1).dtype && c.meta(0).dtype == c.meta(2).dtype,
                 "all have one dtype"))
    return {};
  for (int i = 0; i < 3; ++i) {  // sizes that differ must be 1
    const auto& own = c.meta(i).sizes;
    auto lacks = c.integers(3 + i);
    std::ranges::sort(lacks);
    const bool fits = own.size() + lacks.size() == space.size() &&
                      std::ranges::adjacent_find(lacks) == lacks.end();
    if (!c.require(
            fits && (lacks.empty() || (lacks.front() >= 0 && lacks.back() < std::ssize(space))),
            "each dimension of the space is there or listed"))
      return {};
    std::size_t next = 0;
    for (std::size_t d = 0; d < space.size() && next < own.size(); ++d)
      if (std::ranges::find(lacks, static_cast<std::int64_t>(d)) == lacks.end()) {
        const auto& size = own[next++];
        if (size != space[d] &&
            !c.require(logic_or(eq(size, 1), eq(size, space[d])), "sizes agree"))
          return {};
      }
  }
  Dims sizes;
  for (std::size_t d = 0; d < space.size(); ++d)
    if (std::ranges::find(summed, static_cast<std::int64_t>(d)) == summed.end())
      sizes.push_back(space[d]);
  return c.fresh(c.meta(0).dtype, std::move(sizes));
}
template <class T>
void multiply_into(KernelCall& k, const Ints& space) {
  std::array<std::vector<T>, 3> values;
  for (int i = 0; i < 3; ++i) {
    auto view = k.in(i);
    auto lacks = k.integers(3 + i);
    std::ranges::sort(lacks);
    for (const auto d : lacks) {
      view.meta.sizes.insert(view.meta.sizes.begin() + d, 1);
      view.meta.strides.insert(view.meta.strides.begin() + d, 0);
    }
    values[static_cast<std::size_t>(i)] = to_vector<T>(expanded_view(view, space));
  }
  std::vector<bool> summed(space.size(), false);
  for (const auto d : k.integers(6)) summed[static_cast<std::size_t>(d)] = true;
  std::vector<T> result(static_cast<std::size_t>(k.out().numel()), T(0));
  std::size_t at = 0;
  for_each_index(space, [&](const Ints& index) {
    std::size_t to = 0;
    for (std::size_t d = 0; d < space.size(); ++d)
      if (!summed[d])
        to = to * static_cast<std::size_t>(space[d]) + static_cast<std::size_t>(index[d]);
    result[to] += values[0][at] * values[1][at] * values[2][at];
    ++at;
  });
  from_vector<T>(k.out(), result);
}
void trilinear_kernel(KernelCall& k) {
  const auto space =
      trilinear_space<std::int64_t, Ints>(k, [&](int i) -> const Ints& { return k.in(i).sizes(); });
  with_compute_type(k.out().dtype(), [&]<class T>(T) { multiply_into<T>(k, space); });
}

}  // namespace

// clang-format off
void add_distance_rows(OpTable& t) {
  t.add({.schema_text = "aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor", .rule = cdist_rule, .kernel = cdist_kernel});
  t.add({.schema_text = "aten::_cdist_backward(Tensor grad_output, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor", .rule = cdist_backward_rule, .kernel = cdist_backward_kernel});
  t.add({.schema_text = "aten::cdist(Tensor x1, Tensor x2, float p=2, int? compute_mode=None) -> Tensor", .rule = cdist_rule, .kernel = cdist_kernel});
  t.add({.schema_text = "aten::_euclidean_dist(Tensor x1, Tensor x2) -> Tensor", .decomposition = euclidean});
  t.add({.schema_text = "aten::_pdist_forward(Tensor self, float p=2.) -> Tensor", .rule = pdist_rule, .kernel = pdist_kernel});
  t.add({.schema_text = "aten::_pdist_backward(Tensor grad_output, Tensor self, float p, Tensor pdist) -> Tensor", .rule = pdist_backward_rule, .kernel = pdist_backward_kernel});
  t.add({.schema_text = "aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", .decomposition = dist});
  t.add({.schema_text = "aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", .rule = renorm_rule, .kernel = renorm_kernel});
  t.add({.schema_text = "aten::embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)", .rule = embedding_renorm_rule, .kernel = embedding_renorm_kernel});
  t.add({.schema_text = "aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor", .rule = trilinear_rule, .kernel = trilinear_kernel});
}
// clang-format on

}  // namespace assay
