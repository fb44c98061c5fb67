// Scaled dot product attention on CPU (aten/src/ATen/native/transformers/attention.cpp,
// cpu/FlashAttentionKernel.cpp). Query, key and value are [batch, heads, positions, features].
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ops/blas.h"
#include "core/ops/layout.h"
#include "core/ops/op_table.h"
#include "core/ops/pointwise.h"
#include "core/ops/rules.h"
#include "core/ops/typed_elements.h"

namespace assay {
namespace {

constexpr int kForwardMask = 5;
constexpr int kForwardScale = 6;
constexpr int kBackwardMask = 8;
constexpr int kBackwardScale = 9;

/// [batch, heads, positions, ...] in memory ordered as [batch, positions, heads, ...].
auto position_major_strides(const Dims& sizes) -> Dims {
  Dims swapped = sizes;
  std::swap(swapped[1], swapped[2]);
  auto strides = contiguous_strides(swapped);
  std::swap(strides[1], strides[2]);
  return strides;
}

auto check_attention(MetaCall& c, int query_arg) -> bool {
  const auto& query = c.meta(query_arg);
  for (int i = 1; i <= 2; ++i) {
    const auto& other = c.meta(query_arg + i);
    if (c.error()) return false;
    // Values may have features of their own on CUDA alone.
    const bool has_own_features = i == 2 && on_cuda(query);
    if (!c.require(query.rank() == 4 && other.rank() == 4, "operands of rank 4") ||
        !c.require(query.dtype == other.dtype && is_floating(query.dtype), "one floating dtype") ||
        !c.require(eq(query.sizes[0], other.sizes[0]), "the batch sizes agree") ||
        (!has_own_features &&
         !c.require(eq(query.sizes[3], other.sizes[3]), "the feature sizes agree")))
      return false;
  }
  const auto& key = c.meta(query_arg + 1);
  const auto& value = c.meta(query_arg + 2);
  return c.require(eq(key.sizes[2], value.sizes[2]), "key and value have one length") &&
         c.require(eq(key.sizes[1], value.sizes[1]), "key and value have one number of heads") &&
         c.require(gt(key.sizes[1], 0), "key has heads") &&
         c.require(eq(mod(query.sizes[1], key.sizes[1]), 0), "query heads share key heads evenly");
}

/// An optional mask broadcasts to [batch, heads, query positions, key positions].
auto check_mask(MetaCall& c, int query_arg, int mask_arg) -> bool {
  const auto& query = c.meta(query_arg).sizes;
  const auto& key = c.meta(query_arg + 1).sizes;
  return !c.has(mask_arg) ||
         require_expands(c, c.meta(mask_arg).sizes, {query[0], query[1], query[2], key[2]},
                         "the mask broadcasts to the scores");
}

/// A row of the values' features for each query.
auto output_sizes(MetaCall& c, int query_arg) -> Dims {
  auto sizes = c.meta(query_arg).sizes;
  sizes[3] = c.meta(query_arg + 2).sizes[3];
  return sizes;
}

/// The output is laid out like the query, the logsumexp by position.
auto flash_rule(MetaCall& c) -> Datum {
  if (!check_attention(c, 0) || !check_mask(c, 0, kForwardMask)) return {};
  const auto& query = c.meta(0);
  const Dims rows(query.sizes.begin(), query.sizes.begin() + 3);
  const auto sum_dtype = query.dtype == DType::float64 ? DType::float64 : DType::float32;
  // On CUDA it stands for the kernels there (attention_cuda.cpp), in their layout.
  if (on_cuda(query)) {
    const auto sizes = output_sizes(c, 0);
    return {DatumList{c.fresh(query.dtype, sizes, position_major_strides(sizes)),
                      c.fresh(sum_dtype, rows)}};
  }
  return {DatumList{c.fresh(query.dtype, query.sizes, preserved_strides(c, query)),
                    c.fresh(sum_dtype, rows, position_major_strides(rows))}};
}

auto flash_backward_rule(MetaCall& c) -> Datum {
  if (!check_attention(c, 1) || !check_mask(c, 1, kBackwardMask)) return {};
  const auto& query = c.meta(1).sizes;
  const Dims rows(query.begin(), query.begin() + 3);
  const auto out = output_sizes(c, 1);
  for (const int i : {0, 4})
    if (!require_same_sizes(c, c.meta(i).sizes, out, "outputs have the query's shape")) return {};
  if (!require_same_sizes(c, c.meta(5).sizes, rows, "one logsumexp per query position")) return {};
  DatumList grads;
  for (int i = 1; i <= 3; ++i) {
    const auto& meta = c.meta(i);
    // On CUDA as most kernels there have them, which so need no copies.
    auto strides = on_cuda(meta) ? preserved_strides(c, meta) : position_major_strides(meta.sizes);
    grads.push_back(c.fresh(meta.dtype, meta.sizes, std::move(strides)));
  }
  return {std::move(grads)};
}

/// One of the four operands, head by head.
template <class T>
class Heads {
 public:
  explicit Heads(const Tensor& tensor) : elements_(tensor), sizes_(tensor.sizes()) {}
  [[nodiscard]] auto count() const -> std::int64_t { return sizes_[1]; }
  /// Rows [begin, end) of a head: positions by features.
  [[nodiscard]] auto at(std::int64_t batch, std::int64_t head, std::int64_t begin,
                        std::int64_t end) const -> MatrixView<T> {
    const auto& s = elements_.strides();
    return {elements_.data() + batch * s[0] + head * s[1] + begin * s[2], end - begin, sizes_[3],
            s[2], s[3]};
  }
  [[nodiscard]] auto at(std::int64_t batch, std::int64_t head) const -> MatrixView<T> {
    return at(batch, head, 0, sizes_[2]);
  }

 private:
  Elements<T> elements_;
  Ints sizes_;
};

/// Everything that makes scores out of query and key.
template <class T>
struct Scores {
  T scale{};
  bool causal = false;
  std::vector<T> mask{};  ///< added to the scores; empty if there is none
  Ints mask_strides{};    ///< of [batch, heads, query, key] in `mask`, 0 where it broadcasts
};

/// The mask as numbers to add; a bool mask forbids where it is false.
template <class T>
void load_mask(const Tensor& mask, const Ints& sizes, Scores<T>& scores) {
  scores.mask = to_vector<T>(mask);
  if (mask.dtype() == DType::boolean)
    for (auto& value : scores.mask)
      value = value != T(0) ? T(0) : -std::numeric_limits<T>::infinity();
  auto packed = mask;
  packed.meta.strides = contiguous_strides(mask.sizes());
  scores.mask_strides = broadcast_strides(packed, sizes);
}

template <class T>
auto make_scores(KernelCall& k, int query_arg, int causal_arg, int mask_arg, int scale_arg)
    -> Scores<T> {
  const auto& query = k.in(query_arg).sizes();
  const auto& key = k.in(query_arg + 1).sizes();
  const double scale =
      k.has(scale_arg) ? k.real(scale_arg) : 1 / std::sqrt(static_cast<double>(query[3]));
  Scores<T> scores{.scale = static_cast<T>(scale), .causal = k.flag(causal_arg)};
  if (k.has(mask_arg)) load_mask(k.in(mask_arg), {query[0], query[1], query[2], key[2]}, scores);
  return scores;
}

/// A block of query rows of one head.
struct Block {
  std::int64_t batch;
  std::int64_t head;
  std::int64_t begin;
  std::int64_t end;
};
constexpr std::int64_t kBlockRows = 128;

template <class F>
void for_each_block(const Ints& query, F&& f) {
  for (std::int64_t batch = 0; batch < query[0]; ++batch)
    for (std::int64_t head = 0; head < query[1]; ++head)
      for (std::int64_t begin = 0; begin < query[2]; begin += kBlockRows)
        f(Block{batch, head, begin, std::min(begin + kBlockRows, query[2])});
}

/// scale * query * key^T + mask for the block, [rows, keys] row-major.
template <class T>
auto block_scores(const Scores<T>& scores, const Block& b, const MatrixView<T>& query,
                  const MatrixView<T>& key) -> std::vector<T> {
  std::vector<T> values(static_cast<std::size_t>(query.rows * key.rows));
  add_product(scores.scale, query, key.transposed(), values.data(), key.rows);
  T* value = values.data();
  for (auto row = b.begin; row < b.end; ++row)
    for (std::int64_t column = 0; column < key.rows; ++column, ++value) {
      if (scores.causal && column > row) *value = -std::numeric_limits<T>::infinity();
      if (scores.mask.empty()) continue;
      const auto& s = scores.mask_strides;
      *value += scores.mask[static_cast<std::size_t>(b.batch * s[0] + b.head * s[1] + row * s[2] +
                                                     column * s[3])];
    }
  return values;
}

/// Softmax of each row in place; returns the log of each row's sum of exponentials. A row that is
/// masked throughout becomes 0 with sum 0.
template <class T>
auto softmax_rows(std::vector<T>& values, std::int64_t rows, std::int64_t columns)
    -> std::vector<T> {
  std::vector<T> sums;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto line = std::span(values).subspan(static_cast<std::size_t>(row * columns),
                                                static_cast<std::size_t>(columns));
    const T largest = line.empty() ? T(0) : *std::ranges::max_element(line);
    if (largest == -std::numeric_limits<T>::infinity()) {
      std::ranges::fill(line, T(0));
      sums.push_back(T(0));
      continue;
    }
    T sum = 0;
    for (auto& value : line) sum += value = std::exp(value - largest);
    for (auto& value : line) value /= sum;
    sums.push_back(largest + std::log(sum));
  }
  return sums;
}

/// Calls body with float or double.
template <class Body>
void with_real_type(DType dtype, Body&& body) {
  if (dtype == DType::float64)
    body(double{});
  else
    body(float{});
}

void flash_kernel(KernelCall& k) {
  if (k.real(3) != 0) {
    k.unsupported("dropout is not supported");
    return;
  }
  const auto& sizes = k.in(0).sizes();
  with_real_type(k.in(0).dtype(), [&]<class T>(T) {
    const Heads<T> query(k.in(0));
    const Heads<T> key(k.in(1));
    const Heads<T> value(k.in(2));
    const auto scores = make_scores<T>(k, 0, 4, kForwardMask, kForwardScale);
    Output<T> out(k.out(0));
    Output<T> sums(k.out(1));
    const auto features = k.in(2).sizes()[3];
    for_each_block(sizes, [&](const Block& b) {
      const auto shared = b.head * key.count() / query.count();
      const auto keys = key.at(b.batch, shared);
      auto weights = block_scores(scores, b, query.at(b.batch, b.head, b.begin, b.end), keys);
      const auto block_sums = softmax_rows(weights, b.end - b.begin, keys.rows);
      const auto row = (b.batch * sizes[1] + b.head) * sizes[2] + b.begin;
      std::ranges::copy(block_sums, sums.data() + row);
      add_product(T(1), packed_matrix<T>(weights.data(), b.end - b.begin, keys.rows),
                  value.at(b.batch, shared), out.data() + row * features, features);
    });
  });
}

/// One head's tensors in the backward.
template <class T>
struct BackwardOperands {
  Heads<T> grad_out, query, key, value, out;
  std::vector<T> sums;  ///< logsumexp, row-major
  DType dtype;
};

template <class T>
void round_all(DType dtype, std::vector<T>& values) {
  if (dtype != DType::float16 && dtype != DType::bfloat16) return;
  for (auto& value : values) value = static_cast<T>(round_to(dtype, value));
}

/// Gradient of the scores of a block: weights * (grad_out value^T - rowsum(grad_out * out)), and
/// the weights themselves.
template <class T>
struct BlockGradient {
  std::vector<T> weights;
  std::vector<T> scores;
};
template <class T>
auto block_gradient(const BackwardOperands<T>& o, const Scores<T>& scores, const Block& b,
                    std::int64_t first_row, std::int64_t shared) -> BlockGradient<T> {
  const auto keys = o.key.at(b.batch, shared);
  const auto grad = o.grad_out.at(b.batch, b.head, b.begin, b.end);
  const auto out = o.out.at(b.batch, b.head, b.begin, b.end);
  BlockGradient<T> g;
  g.weights = block_scores(scores, b, o.query.at(b.batch, b.head, b.begin, b.end), keys);
  g.scores.resize(g.weights.size());
  add_product(T(1), grad, o.value.at(b.batch, shared).transposed(), g.scores.data(), keys.rows);
  for (std::int64_t row = 0; row < grad.rows; ++row) {
    T delta = 0;
    for (std::int64_t i = 0; i < grad.cols; ++i)
      delta += grad.data[row * grad.row_stride + i * grad.col_stride] *
               out.data[row * out.row_stride + i * out.col_stride];
    const T sum = o.sums[static_cast<std::size_t>(first_row + row)];
    for (std::int64_t column = 0; column < keys.rows; ++column) {
      const auto at = static_cast<std::size_t>(row * keys.rows + column);
      g.weights[at] = std::exp(g.weights[at] - sum);
      g.scores[at] = g.weights[at] * (g.scores[at] - delta);
    }
  }
  // The products that follow run in the operands' dtype.
  round_all(o.dtype, g.weights);
  round_all(o.dtype, g.scores);
  return g;
}

void flash_backward_kernel(KernelCall& k) {
  const auto& sizes = k.in(1).sizes();
  const auto& key_sizes = k.in(2).sizes();
  with_real_type(k.in(1).dtype(), [&]<class T>(T) {
    const BackwardOperands<T> o{Heads<T>(k.in(0)), Heads<T>(k.in(1)), Heads<T>(k.in(2)),
                                Heads<T>(k.in(3)), Heads<T>(k.in(4)), to_vector<T>(k.in(5)),
                                k.in(1).dtype()};
    const auto scores = make_scores<T>(k, 1, 7, kBackwardMask, kBackwardScale);
    Output<T> grad_query(k.out(0));
    Output<T> grad_key(k.out(1));
    Output<T> grad_value(k.out(2));
    const auto features = sizes[3], value_features = k.in(3).sizes()[3];
    for_each_block(sizes, [&](const Block& b) {
      const auto shared = b.head * o.key.count() / o.query.count();
      const auto row = (b.batch * sizes[1] + b.head) * sizes[2] + b.begin;
      const auto key_row = (b.batch * key_sizes[1] + shared) * key_sizes[2];
      const auto g = block_gradient(o, scores, b, row, shared);
      const auto rows = b.end - b.begin;
      const auto weights = packed_matrix<T>(g.weights.data(), rows, key_sizes[2]);
      const auto grads = packed_matrix<T>(g.scores.data(), rows, key_sizes[2]);
      add_product(T(1), weights.transposed(), o.grad_out.at(b.batch, b.head, b.begin, b.end),
                  grad_value.data() + key_row * value_features, value_features);
      add_product(scores.scale, grads, o.key.at(b.batch, shared),
                  grad_query.data() + row * features, features);
      add_product(scores.scale, grads.transposed(), o.query.at(b.batch, b.head, b.begin, b.end),
                  grad_key.data() + key_row * features, features);
    });
  });
}

/// sdp::use_flash_attention_cpp (sdp_utils_cpp.cpp): may the fused kernel run?
auto uses_flash(Composer& c) -> bool {
  const auto query = c.meta(0);
  const bool grouped = c.flag(7);
  for (int i = 0; i < 3; ++i) {
    const auto operand = c.meta(i);
    if (operand.rank() != 4 || query.rank() != 4) return false;
    if (!c.decide(eq(operand.strides[3], 1), "features are adjacent")) return false;
    if (!c.decide(eq(operand.sizes[3], query.sizes[3]), "one feature size")) return false;
    if (!c.decide(eq(operand.sizes[0], query.sizes[0]), "one batch size")) return false;
    const auto& heads = (grouped && i > 0 ? c.meta(1) : query).sizes[1];
    if (!c.decide(eq(operand.sizes[1], heads), "one number of heads")) {
      // Math up to PyTorch 2.11, the fused kernel in 2.15, with another layout of the result.
      if (!grouped && operand.sizes[1].is_int(1))
        c.unsupported("the layout for one head of keys depends on PyTorch's version");
      return false;
    }
    if (!c.decide(gt(heads, 0), "heads")) return false;
    if (grouped && !c.decide(eq(mod(query.sizes[1], heads), 0), "heads are shared evenly"))
      return false;
    if (!c.decide(gt(operand.sizes[2], 0), "positions")) return false;
  }
  if (!c.has(3)) return true;
  const auto mask = c.meta(3);
  const Dims full{query.sizes[0], query.sizes[1], query.sizes[2], c.meta(1).sizes[2]};
  if (mask.rank() != 2 && mask.rank() != 4) return false;
  for (std::size_t i = 0; i < mask.sizes.size(); ++i) {
    const auto& size = full[4 - mask.sizes.size() + i];
    if (!c.decide(logic_or(eq(mask.sizes[i], 1), eq(mask.sizes[i], size)), "the mask broadcasts"))
      return false;
  }
  return true;
}

auto number(double value) -> Datum {
  return {Expr::real(value)};
}

/// convert_boolean_attn_mask: 0 where attention is allowed, else minus infinity.
auto additive_mask(Composer& c, const Datum& mask, DType dtype) -> Datum {
  if (c.meta(mask).dtype != DType::boolean) return mask;
  const auto scalar = [&](double value) {
    return c.call("aten.scalar_tensor.default", {number(value), Datum{dtype}});
  };
  return c.call("aten.where.self",
                {mask, scalar(0), scalar(-std::numeric_limits<double>::infinity())});
}

/// The lower triangle of [queries, keys] as a bool mask.
auto causal_mask(Composer& c) -> Datum {
  const auto positions = [&](int arg) {
    const auto meta = c.meta(arg);
    return c.call("aten.arange.default", {Datum{meta.sizes[meta.sizes.size() - 2]}});
  };
  const auto rows = c.call("aten.unsqueeze.default", {positions(0), Datum{Expr(-1)}});
  return c.call("aten.ge.Tensor", {rows, positions(1)});
}

/// at::_safe_softmax: rows that are masked throughout become 0.
auto safe_softmax(Composer& c, const Datum& scores) -> Datum {
  const auto softmax =
      c.call("aten._softmax.default", {scores, Datum{Expr(-1)}, Datum{Expr::boolean(false)}});
  const auto masked =
      c.call("aten.eq.Scalar", {scores, number(-std::numeric_limits<double>::infinity())});
  const auto rows = c.call("aten.all.dim", {masked, Datum{Expr(-1)}, Datum{Expr::boolean(true)}});
  return c.call("aten.masked_fill.Scalar", {softmax, rows, Datum{Expr(0)}});
}

/// Query and key are each scaled by the root of the scale, 1 / sqrt(features) unless it is given.
auto root_of_scale(Composer& c, const Expr& features) -> Expr {
  if (c.has(6)) return Expr::real(std::sqrt(c.real(6)));
  if (const auto count = features.as_int())
    return Expr::real(std::sqrt(1 / std::sqrt(static_cast<double>(*count))));
  const Expr power[] = {features * Expr::real(1), Expr::real(-0.25)};
  return make(ExprOp::float_pow, power);
}

/// pre_process_group_query_attention_input: each head of key or value once per query head.
auto per_query_head(Composer& c, int arg) -> Datum {
  const auto query = c.meta(0);
  const auto own = c.meta(arg);
  if (!c.flag(7)) return c.arg(arg);
  if (query.rank() < 3 || own.rank() < 3) return c.fail("grouped queries need heads"), Datum{};
  const auto& heads = query.sizes[query.sizes.size() - 3];
  const auto& shared = own.sizes[own.sizes.size() - 3];
  if (c.decide(eq(heads, shared), "one number of heads")) return c.arg(arg);
  if (!c.decide(logic_and(gt(shared, 0), eq(mod(heads, max(shared, Expr(1))), 0)),
                "query heads share key heads evenly"))
    return c.fail("query heads share key and value heads evenly"), Datum{};
  return c.call("aten.repeat_interleave.self_int",
                {c.arg(arg), Datum{floor_div(heads, shared)}, Datum{Expr(-3)}});
}

/// at::_scaled_dot_product_attention_math: half types compute in float.
auto attention_math(Composer& c) -> Datum {
  const auto query = c.meta(0);
  const bool half = is_half(query.dtype);
  const auto compute = half ? DType::float32 : query.dtype;
  const auto widened = [&](const Datum& tensor) {
    return half ? c.call("prims.convert_element_type.default", {tensor, Datum{compute}}) : tensor;
  };
  const Expr scale = root_of_scale(c, query.sizes.back());
  const auto scaled = [&](const Datum& tensor) {
    return c.call("aten.mul.Scalar", {widened(tensor), Datum{scale}});
  };
  const auto keys =
      c.call("aten.transpose.int", {per_query_head(c, 1), Datum{Expr(-2)}, Datum{Expr(-1)}});
  auto scores = c.call("aten.matmul.default", {scaled(c.arg(0)), scaled(keys)});
  Datum weights;
  if (c.flag(5) || c.has(3)) {
    const auto mask = additive_mask(c, c.flag(5) ? causal_mask(c) : c.arg(3), compute);
    scores = c.call("aten.add.Tensor", {scores, widened(mask)});
    weights = safe_softmax(c, scores);
  } else {
    weights =
        c.call("aten._softmax.default", {scores, Datum{Expr(-1)}, Datum{Expr::boolean(false)}});
  }
  if (c.has(4) && c.real(4) != 0)
    weights = c.call("aten.dropout.default", {weights, c.arg(4), Datum{Expr::boolean(true)}});
  const auto result = c.call("aten.matmul.default", {weights, widened(per_query_head(c, 2))});
  return half ? c.call("prims.convert_element_type.default", {result, Datum{query.dtype}}) : result;
}

auto scaled_dot_product_attention(Composer& c) -> Datum {
  for (int i = 0; i < 3; ++i)
    if (c.meta(i).rank() < 2) return c.fail("operands of rank 2 or more are expected"), Datum{};
  if (c.flag(5) && c.has(3)) return c.fail("either a mask or is_causal"), Datum{};
  const bool drops = c.has(4) && c.real(4) != 0;  // then PyTorch's CPU multiplies matrices
  if (drops || !uses_flash(c)) return attention_math(c);
  if (c.error()) return {};
  const auto mask = c.has(3) ? additive_mask(c, c.arg(3), c.meta(0).dtype) : Datum{};
  return c.item(c.call("aten._scaled_dot_product_flash_attention_for_cpu.default",
                       {c.arg(0), c.arg(1), c.arg(2), c.arg(4), c.arg(5), mask, c.arg(6)}),
                0);
}

}  // namespace

// clang-format off
void add_attention_rows(OpTable& t) {
  t.add({.schema_text = "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)", .rule = flash_rule, .kernel = flash_kernel});
  t.add({.schema_text = "aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)", .rule = flash_backward_rule, .kernel = flash_backward_kernel});
  t.add({.schema_text = "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor", .decomposition = scaled_dot_product_attention});
}
// clang-format on

}  // namespace assay
