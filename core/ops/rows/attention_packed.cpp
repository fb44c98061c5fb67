// Attention as CUDA's libraries are called (aten/src/ATen/native/transformers/cuda/attention.cu,
// attention_backward.cu): operands lie by position, [batch, positions, heads, features], or all
// sequences behind each other, [positions, heads, features], with their ends. Which elements a
// dropout keeps depends on the device's generator: layouts are right, values are those without.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ops/pointwise.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::int64_t kAlignment = 32;  ///< of the sums of the memory-efficient kernel

auto at(const Call& c, std::string_view name) -> int {
  return param(c, name);
}
auto has(const Call& c, std::string_view name) -> bool {
  return at(c, name) >= 0 && c.has(at(c, name));
}
auto is_efficient(const Call& c) -> bool {
  return c.row().name().starts_with("aten._efficient");
}
/// The ends of the sequences of queries or keys, by either library's name.
auto ends_of(const Call& c, char side) -> int {
  return at(c, std::string(is_efficient(c) ? "cu_seqlens_" : "cum_seq_") + side);
}
/// Operands whose sequences are packed have ends; a gradient's call gives empty ones else.
auto is_packed(MetaCall& c) -> bool {
  const int ends = ends_of(c, 'q');
  return c.has(ends) && (is_efficient(c) || c.meta(at(c, "query")).rank() == 3);
}

// ---- layouts ------------------------------------------------------------------------------------

auto require_operands(MetaCall& c) -> bool {
  const int query = at(c, "query");
  const auto& q = c.meta(query);
  const auto& k = c.meta(query + 1);
  const auto& v = c.meta(query + 2);
  if (!c.require(q.rank() == k.rank() && q.rank() == v.rank() && q.rank() >= 3 && q.rank() <= 4,
                 "operands lie by position") ||
      !c.require(q.dtype == k.dtype && is_floating(q.dtype), "one floating dtype"))
    return false;
  const auto rank = static_cast<std::size_t>(q.rank());
  if (rank == 3 && !is_packed(c)) return c.require(false, "packed sequences have ends");
  for (std::size_t d = 0; d + 1 < rank; ++d)
    if (!c.require(eq(k.sizes[d], v.sizes[d]), "one value per key")) return false;
  if (rank == 4 && !c.require(eq(q.sizes[0], k.sizes[0]), "one batch size")) return false;
  const bool packed = is_packed(c);
  if (packed && rank == 4 && !c.require(eq(q.sizes[0], 1), "packed sequences are one batch"))
    return false;
  const auto batch = packed ? numel(c.meta(ends_of(c, 'q'))) - 1 : q.sizes[0];
  if (packed && c.has(ends_of(c, 'k')) &&
      !c.require(eq(numel(c.meta(ends_of(c, 'k'))), batch + 1), "as many ends of keys"))
    return false;
  const auto& heads = q.sizes[rank - 2];
  if (has(c, "bias") && !require_expands(c, c.meta(at(c, "bias")).sizes,
                                         {batch, heads, q.sizes[rank - 3], k.sizes[rank - 3]},
                                         "the bias broadcasts to the scores"))
    return false;
  if (has(c, "bias") && packed) return c.unsupported("a bias of packed sequences");
  if (has(c, "alibi_slopes")) {
    const auto count = numel(c.meta(at(c, "alibi_slopes")));
    if (!c.require(logic_or(eq(count, heads), eq(count, batch * heads)), "a slope per head"))
      return false;
  }
  return c.require(eq(q.sizes[rank - 1], k.sizes[rank - 1]), "one number of features") &&
         c.require(gt(k.sizes[rank - 2], 0), "keys have heads") &&
         c.require(eq(mod(q.sizes[rank - 2], k.sizes[rank - 2]), 0),
                   "query heads share key heads evenly");
}
/// What the query is computed to: narrow floats give bfloat16.
auto result_dtype(const TensorMeta& query) -> DType {
  return query.dtype == DType::float8_e4m3fn ? DType::bfloat16 : query.dtype;
}
auto output_of(MetaCall& c) -> Datum {
  const auto& query = c.meta(at(c, "query"));
  auto sizes = query.sizes;
  sizes.back() = c.meta(at(c, "value")).sizes.back();
  if (is_efficient(c)) return c.fresh(query.dtype, std::move(sizes));
  if (!c.decide(eq(sizes.back(), query.sizes.back()), "values have the queries' features"))
    return c.fresh(result_dtype(query), std::move(sizes));
  return c.fresh(result_dtype(query), query.sizes, preserved_strides(c, query));
}
auto sums_of(MetaCall& c) -> Datum {
  const auto& query = c.meta(at(c, "query"));
  const auto& heads = query.sizes[query.sizes.size() - 2];
  const bool packed = is_packed(c);
  if (!is_efficient(c)) {
    if (packed) return c.fresh(DType::float32, {heads, query.sizes[0]});
    return c.fresh(DType::float32, {query.sizes[0], heads, query.sizes[1]});
  }
  const auto batch = packed ? numel(c.meta(ends_of(c, 'q'))) - 1 : query.sizes[0];
  const auto longest = packed ? c.expr(at(c, "max_seqlen_q")) : query.sizes[1];
  const auto padded = ceil_div(longest, Expr(kAlignment)) * kAlignment;
  return c.fresh(DType::float32,
                 {batch, heads, c.flag(at(c, "compute_log_sumexp")) ? padded : Expr(0)});
}
auto flash_rule(MetaCall& c) -> Datum {
  if (!require_operands(c)) return {};
  if (c.flag(at(c, "return_debug_mask"))) return c.unsupported("the debug mask"), Datum{};
  for (const auto* name : {"q_descale", "k_descale", "v_descale"})
    if (has(c, name) && !c.require(gt(numel(c.meta(at(c, name))), 0), "there is a scale"))
      return {};
  if (has(c, "block_table")) return c.unsupported("keys in pages"), Datum{};
  auto sums = sums_of(c);
  if (const int out = at(c, "out"); out >= 0) {
    auto sizes = c.meta(at(c, "query")).sizes;
    sizes.back() = c.meta(at(c, "value")).sizes.back();
    if (!require_same_sizes(c, c.meta(out).sizes, sizes, "out has the result's sizes")) return {};
    return sums;
  }
  return {DatumList{output_of(c), std::move(sums), c.fresh(DType::uint64, {2}),
                    c.fresh(DType::uint64, {}),
                    c.fresh(result_dtype(c.meta(at(c, "query"))), {0})}};
}
auto efficient_rule(MetaCall& c) -> Datum {
  if (!require_operands(c)) return {};
  const auto& query = c.meta(0);
  if (!c.require(query.rank() == 4, "operands have a batch")) return {};
  const auto longest = [&](std::string_view name, int operand) {
    return has(c, name) ? c.expr(at(c, name)) : c.meta(operand).sizes[1];
  };
  return {DatumList{output_of(c), sums_of(c), c.fresh(DType::int64, {}), c.fresh(DType::int64, {}),
                    Datum{is_packed(c) ? longest("max_seqlen_q", 0) : query.sizes[1]},
                    Datum{longest("max_seqlen_k", 1)}}};
}
auto backward_rule(MetaCall& c) -> Datum {
  const int query = at(c, "query");
  if (!require_operands(c)) return {};
  auto sizes = c.meta(query).sizes;
  sizes.back() = c.meta(query + 2).sizes.back();
  for (const int i : {0, at(c, "out")})
    if (!require_same_sizes(c, c.meta(i).sizes, sizes, "outputs have the query's sizes")) return {};
  if (has(c, "shared_storage_dqdkdv") && c.flag(at(c, "shared_storage_dqdkdv")))
    return c.unsupported("gradients in one storage"), Datum{};
  DatumList grads;
  for (int i = query; i < query + 3; ++i) {
    const auto& operand = c.meta(i);
    grads.push_back(c.fresh(
        operand.dtype, operand.sizes,
        is_efficient(c) ? contiguous_strides(operand.sizes) : preserved_strides(c, operand)));
  }
  if (!is_efficient(c)) return {std::move(grads)};
  if (has(c, "bias")) return c.unsupported("the gradient of a bias"), Datum{};
  grads.emplace_back();  // the bias has none
  return {std::move(grads)};
}

// ---- values -------------------------------------------------------------------------------------

/// Positions of one sequence among all.
struct Sequence {
  std::int64_t query = 0, queries = 0, key = 0, keys = 0;
};
struct Operands {
  std::vector<double> query{}, key{}, value{}, bias{}, slopes{};
  std::int64_t heads = 0, shared = 0, features = 0, values = 0;
  std::vector<Sequence> sequences{};
  double scale = 1;
  bool causal = false, from_end = true;  ///< the last query sees all keys
  std::int64_t left = -1, right = -1;    ///< of the window; -1: no bound

  [[nodiscard]] auto score(std::size_t sequence, std::int64_t head, std::int64_t row,
                           std::int64_t column) const -> double {
    const auto& s = sequences[sequence];
    const auto place = row + (from_end ? s.keys - s.queries : 0);
    if ((causal && column > place) || (left >= 0 && column < place - left) ||
        (right >= 0 && column > place + right))
      return -kInf;
    const double* q = query.data() + ((s.query + row) * heads + head) * features;
    const double* k = key.data() + ((s.key + column) * shared + head * shared / heads) * features;
    double sum = 0;
    for (std::int64_t i = 0; i < features; ++i) sum += q[i] * k[i];
    sum *= scale;
    const auto all_heads = static_cast<std::size_t>(heads);
    if (!bias.empty())
      sum += bias[((sequence * all_heads + static_cast<std::size_t>(head)) *
                       static_cast<std::size_t>(s.queries) +
                   static_cast<std::size_t>(row)) *
                      static_cast<std::size_t>(s.keys) +
                  static_cast<std::size_t>(column)];
    if (!slopes.empty()) {
      const auto slope =
          (slopes.size() == all_heads ? 0 : sequence * all_heads) + static_cast<std::size_t>(head);
      sum -= slopes[slope] * static_cast<double>(std::abs(place - column));
    }
    return sum;
  }
  /// Weights of the keys for one query, and the logarithm of their sum.
  auto weights(std::size_t sequence, std::int64_t head, std::int64_t row,
               std::vector<double>& result) const -> double {
    const auto& s = sequences[sequence];
    result.assign(static_cast<std::size_t>(s.keys), 0);
    double largest = -kInf, sum = 0;
    for (std::int64_t i = 0; i < s.keys; ++i)
      largest =
          std::max(largest, result[static_cast<std::size_t>(i)] = score(sequence, head, row, i));
    if (largest == -kInf) {
      std::ranges::fill(result, 0);
      return kInf;
    }
    for (auto& weight : result) sum += weight = std::exp(weight - largest);
    for (auto& weight : result) weight /= sum;
    return largest + std::log(sum);
  }
};
auto sequences_of(KernelCall& k, const Tensor& query, const Tensor& key) -> std::vector<Sequence> {
  std::vector<Sequence> all;
  const auto rank = query.sizes().size();
  const int q_ends = ends_of(k, 'q'), k_ends = ends_of(k, 'k');
  if (k.has(q_ends) && (is_efficient(k) || rank == 3)) {
    const auto q = to_vector<std::int64_t>(k.in(q_ends));
    const auto own = to_vector<std::int64_t>(k.in(k.has(k_ends) ? k_ends : q_ends));
    const auto positions = [&](const Tensor& tensor) { return tensor.sizes()[rank - 3]; };
    for (std::size_t i = 0; i + 1 < q.size(); ++i)
      all.push_back({q[i], q[i + 1] - q[i], own[i], own[i + 1] - own[i]});
    for (const auto& s : all)
      if (s.query < 0 || s.queries < 0 || s.query + s.queries > positions(query) || s.key < 0 ||
          s.keys < 0 || s.key + s.keys > positions(key))
        k.fail("a sequence ends past its operand");
  } else {
    const auto queries = query.sizes()[1], keys = key.sizes()[1];
    for (std::int64_t b = 0; b < query.sizes()[0]; ++b)
      all.push_back({b * queries, queries, b * keys, keys});
  }
  const int used = std::max(at(k, "seqused_k"), at(k, "seqlen_k"));
  if (used < 0 || !k.has(used)) return all;
  const auto counts = to_vector<std::int64_t>(k.in(used));
  for (std::size_t i = 0; i < all.size() && i < counts.size(); ++i)
    all[i].keys = std::clamp<std::int64_t>(counts[i], 0, all[i].keys);
  return all;
}
/// A narrow operand times its factors [batch, key heads], for all positions of a sequence.
void rescale(KernelCall& k, std::string_view name, std::vector<double>& values, const Operands& o,
             bool is_query) {
  if (!has(k, name)) return;
  const auto factors = to_vector<double>(k.in(at(k, name)));
  const auto heads = is_query ? o.heads : o.shared;
  const auto width = static_cast<std::int64_t>(values.size()) / std::max<std::int64_t>(1, [&] {
                       std::int64_t rows = 0;
                       for (const auto& s : o.sequences) rows += is_query ? s.queries : s.keys;
                       return rows * heads;
                     }());
  for (std::size_t b = 0; b < o.sequences.size(); ++b) {
    const auto& s = o.sequences[b];
    const auto begin = is_query ? s.query : s.key, count = is_query ? s.queries : s.keys;
    for (std::int64_t i = begin * heads * width; i < (begin + count) * heads * width; ++i) {
      const auto head = i / width % heads * o.shared / heads;
      const auto factor = b * static_cast<std::size_t>(o.shared) + static_cast<std::size_t>(head);
      values[static_cast<std::size_t>(i)] *= factors.at(std::min(factor, factors.size() - 1));
    }
  }
}
auto operands_of(KernelCall& k) -> Operands {
  const int first = at(k, "query");
  const auto &query = k.in(first), &key = k.in(first + 1), &value = k.in(first + 2);
  Operands o{.query = to_vector<double>(query),
             .key = to_vector<double>(key),
             .value = to_vector<double>(value)};
  const auto rank = query.sizes().size();
  o.heads = query.sizes()[rank - 2];
  o.shared = key.sizes()[rank - 2];
  o.features = query.sizes().back();
  o.values = value.sizes().back();
  o.sequences = sequences_of(k, query, key);
  if (k.error()) return o;
  o.scale =
      has(k, "scale") ? k.real(at(k, "scale")) : 1 / std::sqrt(static_cast<double>(o.features));
  const auto bound = [&](std::string_view name) {
    return has(k, name) ? k.integer(at(k, name)) : std::int64_t{-1};
  };
  if (is_efficient(k)) {
    const auto kind = k.integer(at(k, "custom_mask_type"));
    o.causal = kind != 0;
    o.from_end = kind == 2;
    if (has(k, "window_size") && bound("window_size") > 0) o.left = bound("window_size") - 1;
  } else {
    o.causal = k.flag(at(k, "is_causal"));
    o.left = bound("window_size_left");
    o.right = bound("window_size_right");
  }
  if (has(k, "bias") && !o.sequences.empty()) {
    const auto& s = o.sequences[0];
    o.bias = to_vector<double>(
        expanded_view(k.in(at(k, "bias")),
                      {static_cast<std::int64_t>(o.sequences.size()), o.heads, s.queries, s.keys}));
  }
  if (has(k, "alibi_slopes")) o.slopes = to_vector<double>(k.in(at(k, "alibi_slopes")));
  rescale(k, "q_descale", o.query, o, true);
  rescale(k, "k_descale", o.key, o, false);
  rescale(k, "v_descale", o.value, o, false);
  return o;
}
/// Calls f(sequence, head, row) for every query.
template <class F>
void for_each_query(const Operands& o, const F& f) {
  for (std::size_t b = 0; b < o.sequences.size(); ++b)
    for (std::int64_t head = 0; head < o.heads; ++head)
      for (std::int64_t row = 0; row < o.sequences[b].queries; ++row) f(b, head, row);
}
void forward_kernel(KernelCall& k) {
  const auto o = operands_of(k);
  if (k.error()) return;
  const bool into = at(k, "out") >= 0;
  Tensor out = into ? k.in(at(k, "out")) : k.out(0);
  Tensor& sums = k.out(into ? 0 : 1);
  std::vector<double> result(static_cast<std::size_t>(out.numel()), 0);
  std::vector<double> logs(static_cast<std::size_t>(sums.numel()), kInf);
  const auto stride = sums.sizes().back();
  if (!logs.empty() && sums.rank() == 3)
    for (const auto& s : o.sequences)
      if (s.queries > stride) return void(k.fail("a sequence is longer than the longest"));
  std::vector<double> weights;
  for_each_query(o, [&](std::size_t b, std::int64_t head, std::int64_t row) {
    const auto& s = o.sequences[b];
    const double log = o.weights(b, head, row, weights);
    const auto line = sums.rank() == 2 ? head * stride + s.query
                                       : (static_cast<std::int64_t>(b) * o.heads + head) * stride;
    if (!logs.empty()) logs[static_cast<std::size_t>(line + row)] = log;
    double* to = result.data() + ((s.query + row) * o.heads + head) * o.values;
    for (std::int64_t column = 0; column < s.keys; ++column) {
      const double* from =
          o.value.data() + ((s.key + column) * o.shared + head * o.shared / o.heads) * o.values;
      for (std::int64_t i = 0; i < o.values; ++i)
        to[i] += weights[static_cast<std::size_t>(column)] * from[i];
    }
  });
  from_vector<double>(out, result);
  from_vector<double>(sums, logs);
}
void backward_kernel(KernelCall& k) {
  const auto o = operands_of(k);
  if (k.error()) return;
  const auto grad = to_vector<double>(k.in(0)), out = to_vector<double>(k.in(at(k, "out")));
  std::vector<double> query(o.query.size(), 0), key(o.key.size(), 0), value(o.value.size(), 0);
  std::vector<double> weights;
  for_each_query(o, [&](std::size_t b, std::int64_t head, std::int64_t row) {
    const auto& s = o.sequences[b];
    o.weights(b, head, row, weights);
    const auto line = (s.query + row) * o.heads + head;
    const double *to = grad.data() + line * o.values, *given = out.data() + line * o.values;
    double delta = 0;
    for (std::int64_t i = 0; i < o.values; ++i) delta += to[i] * given[i];
    for (std::int64_t column = 0; column < s.keys; ++column) {
      const auto shared = (s.key + column) * o.shared + head * o.shared / o.heads;
      const double weight = weights[static_cast<std::size_t>(column)];
      double slope = 0;
      for (std::int64_t i = 0; i < o.values; ++i) {
        slope += to[i] * o.value[static_cast<std::size_t>(shared * o.values + i)];
        value[static_cast<std::size_t>(shared * o.values + i)] += weight * to[i];
      }
      slope = weight * (slope - delta) * o.scale;
      for (std::int64_t i = 0; i < o.features; ++i) {
        const auto own = static_cast<std::size_t>(line * o.features + i);
        const auto other = static_cast<std::size_t>(shared * o.features + i);
        query[own] += slope * o.key[other];
        key[other] += slope * o.query[own];
      }
    }
  });
  from_vector<double>(k.out(0), query);
  from_vector<double>(k.out(1), key);
  from_vector<double>(k.out(2), value);
}

}  // namespace

// clang-format off
#define ASSAY_FLASH "Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, bool return_debug_mask"
void add_attention_packed_rows(OpTable& t) {
  t.add({.schema_text = "aten::_flash_attention_forward(" ASSAY_FLASH ", *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None, Tensor? block_table=None, int? num_splits=None) -> (Tensor output, Tensor softmax_logsumexp, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)", .rule = flash_rule, .kernel = forward_kernel});
  t.add({.schema_text = "aten::_flash_attention_forward.quantized(" ASSAY_FLASH ", Tensor? q_descale, Tensor? k_descale, Tensor? v_descale, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None) -> (Tensor output, Tensor softmax_logsumexp, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)", .rule = flash_rule, .kernel = forward_kernel});
  t.add({.schema_text = "aten::_flash_attention_forward_no_dropout_inplace(Tensor(a!) out, " ASSAY_FLASH ", *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None, Tensor? block_table=None, int? num_splits=None) -> Tensor softmax_logsumexp", .rule = flash_rule, .kernel = forward_kernel});
  t.add({.schema_text = "aten::_flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, Tensor rng_state, Tensor unused, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None) -> (Tensor, Tensor, Tensor)", .rule = backward_rule, .kernel = backward_kernel});
  t.add({.schema_text = "aten::_efficient_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, SymInt? max_seqlen_q, SymInt? max_seqlen_k, float dropout_p, int custom_mask_type, bool compute_log_sumexp=False, *, float? scale=None, Tensor? seqlen_k=None, int? window_size=None) -> (Tensor output, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, SymInt max_seqlen_batch_q, SymInt max_seqlen_batch_k)", .rule = efficient_rule, .kernel = forward_kernel});
  t.add({.schema_text = "aten::_efficient_attention_backward(Tensor grad_out_, Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor out, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, SymInt max_seqlen_q, SymInt max_seqlen_k, Tensor logsumexp, float dropout_p, Tensor philox_seed, Tensor philox_offset, int custom_mask_type, bool bias_requires_grad, *, float? scale=None, int? num_splits_key=None, int? window_size=None, bool shared_storage_dqdkdv=False) -> (Tensor, Tensor, Tensor, Tensor)", .rule = backward_rule, .kernel = backward_kernel});
}
// clang-format on

}  // namespace assay
