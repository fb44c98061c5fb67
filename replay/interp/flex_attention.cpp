#include "replay/interp/flex_attention.h"

#include <algorithm>
#include <limits>
#include <numbers>
#include <numeric>

#include "core/ops/composing.h"
#include "core/ops/op_table.h"
#include "core/tensor/tensor.h"

namespace assay {
namespace {

constexpr std::size_t kRank = 4;  ///< batch, heads, positions, features or other positions
constexpr double kMasked = -std::numeric_limits<double>::infinity();

/// What both directions are called with.
struct FlexCall {
  const BodyCall& call;
  const Graph* score = nullptr;  ///< of a score and its four indices
  const Graph* mask = nullptr;   ///< of four indices
  DatumList score_buffers = {}, mask_buffers = {};
  DatumList block_mask = {};  ///< lengths, tables and block sizes
  Datum scale = {};
};

/// `block_mask_at`: behind it stand the scale, options of kernels and the buffers.
auto flex_call(const BodyCall& call, std::size_t score_at, std::size_t block_mask_at)
    -> Result<FlexCall> {
  FlexCall flex{.call = call};
  ASSAY_TRY(flex.score, call.body(score_at));
  ASSAY_TRY(flex.mask, call.last_body_of(block_mask_at));
  ASSAY_TRY(flex.block_mask, call.list(block_mask_at, "block_mask"));
  ASSAY_TRY(flex.scale, call.value(block_mask_at + 1));
  ASSAY_TRY(flex.score_buffers, call.list(block_mask_at + 3, "score_mod_other_buffers"));
  ASSAY_TRY(flex.mask_buffers, call.list(block_mask_at + 4, "mask_mod_other_buffers"));
  return flex;
}

/// Calls with its tensors as arguments, for the words that decompositions are made of.
auto words_row() -> const OpRow& {
  static const auto row = [] {
    OpRow one{.schema_text =
                  "higher_order::flex_attention(Tensor query, Tensor key, Tensor value) "
                  "-> (Tensor, Tensor, Tensor)"};
    one.schema = *parse_schema(one.schema_text);
    return one;
  }();
  return row;
}

/// One attention: its operands with a head of keys and values for each head of queries.
class Attention {
 public:
  Attention(Composer& c, const FlexCall& flex) : c_(c), flex_(flex) {
    const auto query = c.meta(0), key = c.meta(1);
    if (query.rank() != kRank || key.rank() != kRank || c.meta(2).rank() != kRank) {
      c.fail("query, key and value of four dimensions are needed");
      return;
    }
    precision_ = query.dtype == DType::float64 ? DType::float64 : DType::float32;
    groups_ = floor_div(query.sizes[1], max(key.sizes[1], Expr(1)));
    sizes_ = {query.sizes[0], query.sizes[1], query.sizes[2], key.sizes[2]};
    for (std::size_t axis = 0; axis < kRank; ++axis) indices_.push_back(index(axis));
  }

  /// Scores before they are changed.
  [[nodiscard]] auto scores() -> Datum {
    const auto keys = c_.call("aten.transpose.int", {wide(per_head(1)), integer(-2), integer(-1)});
    return mul(c_, call2(c_, "aten.matmul.default", wide(c_.arg(0)), keys), flex_.scale);
  }
  [[nodiscard]] auto changed(const Datum& scores) -> Datum {
    const auto changed = with_indices(*flex_.score, {scores}, {}, flex_.score_buffers);
    return call2(c_, "aten.expand.default",
                 c_.call("aten.where.ScalarOther", {mask(), changed, assay::number(kMasked)}),
                 int_list(sizes_));
  }
  [[nodiscard]] auto mask() -> const Datum& {
    if (mask_.is_none()) {
      mask_ = with_indices(*flex_.mask, {}, {}, flex_.mask_buffers);
      check_blocks();
    }
    return mask_;
  }
  /// What a body gives for `first`, the indices, `second` and its buffers.
  auto with_indices(const Graph& body, DatumList first, const DatumList& second,
                    const DatumList& buffers) -> Datum {
    if (c_.error()) return {};
    first.insert(first.end(), indices_.begin(), indices_.end());
    first.insert(first.end(), second.begin(), second.end());
    first.insert(first.end(), buffers.begin(), buffers.end());
    auto result = flex_.call.run(body, first);
    if (!result) return c_.fail(result.error()), Datum{};
    return *std::move(result);
  }
  /// Key or value for each head and batch of queries.
  [[nodiscard]] auto per_head(int arg) -> Datum {
    auto sizes = c_.meta(arg).sizes;
    auto one = c_.arg(arg);
    if (!groups_.is_int(1))
      one = c_.call("aten.repeat_interleave.self_int", {one, Datum{groups_}, integer(1)});
    sizes[0] = sizes_[0];
    sizes[1] = sizes_[1];
    return call2(c_, "aten.expand.default", one, int_list(sizes));
  }
  /// A gradient of what per_head gives, of the argument itself.
  [[nodiscard]] auto summed_heads(const Datum& gradient, int arg) -> Datum {
    const auto own = c_.meta(arg).sizes;
    auto sum = gradient;
    if (!groups_.is_int(1)) {
      sum = reshaped(c_, sum, {sizes_[0], own[1], groups_, own[2], own[3]});
      sum = c_.call("aten.sum.dim_IntList", {sum, int_list(Ints{2})});
    }
    sum = laid_out(sum, arg);
    if (own[0] == sizes_[0]) return sum;
    return c_.call("aten.sum.dim_IntList", {sum, int_list(Ints{0}), truth(true)});
  }
  [[nodiscard]] auto wide(const Datum& tensor) -> Datum {
    return converted(c_, tensor, precision_);
  }
  /// Dense in memory with its dimensions in the order of an argument's, features innermost.
  [[nodiscard]] auto laid_out(const Datum& tensor, int like) -> Datum {
    const auto strides = c_.meta(like).strides;
    std::vector<std::int64_t> order{0, 1, 2};
    // Of equal ones the later is the inner one.
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
      const auto& of_a = strides[static_cast<std::size_t>(a)];
      const auto& of_b = strides[static_cast<std::size_t>(b)];
      return of_a != of_b && c_.decide(gt(of_a, of_b), "the order of strides");
    });
    order.push_back(3);
    Ints back(kRank);
    for (std::size_t i = 0; i < kRank; ++i)
      back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    const auto outer = call2(c_, "aten.permute.default", tensor, int_list(order));
    const auto dense = c_.call("aten.clone.default", {outer, Datum{MemoryFormat::contiguous}});
    return call2(c_, "aten.permute.default", dense, int_list(back));
  }

 private:
  /// 0, 1, ... along one of the four dimensions; bodies are told that these are 32 bits wide.
  auto index(std::size_t axis) -> Datum {
    Dims sizes(kRank, Expr(1));
    sizes[axis] = sizes_[axis];
    const auto count =
        c_.call("aten.arange.default",
                {Datum{sizes_[axis]}, Datum{DType::int32}, {}, Datum{c_.meta(0).device}});
    return reshaped(c_, count, sizes);
  }
  void check_blocks();

  Composer& c_;
  const FlexCall& flex_;
  DType precision_ = DType::float32;
  Expr groups_ = Expr(1);  ///< heads of queries that share one of keys
  Dims sizes_;             ///< of the scores
  DatumList indices_;
  Datum mask_;
};

/// A block mask's tables, where they have data: how many blocks of keys each block of queries has,
/// and which.
struct BlockTable {
  std::vector<std::int64_t> counts, blocks;
  Ints sizes;  ///< batch, heads, blocks of queries, most blocks of keys
};
auto block_table(const DatumList& block_mask, std::size_t counts_at) -> std::optional<BlockTable> {
  if (block_mask.size() <= counts_at + 1) return std::nullopt;
  const auto* counts = block_mask[counts_at].real();
  const auto* blocks = block_mask[counts_at + 1].real();
  if (counts == nullptr || blocks == nullptr || blocks->meta.sizes.size() != kRank)
    return std::nullopt;
  const auto& sizes = blocks->meta.sizes;
  if (std::ranges::count(sizes, 0) > 0 ||
      counts->meta.sizes != Ints(sizes.begin(), sizes.end() - 1))
    return std::nullopt;
  return BlockTable{to_vector<std::int64_t>(*counts), to_vector<std::int64_t>(*blocks), sizes};
}

/// Compiled kernels skip blocks of keys that no table lists, and masks of blocks that are listed as
/// full, where the dense form asks the mask of every score.
void Attention::check_blocks() {
  // (query length, key length, counts, indices, full counts, full indices, ..., block sizes, body)
  constexpr std::size_t kPartial = 2, kFull = 4, kFromBack = 3;
  const auto& blocks = flex_.block_mask;
  const auto* allowed = mask_.real();
  if (c_.error() || allowed == nullptr || blocks.size() < kFromBack) return;
  const auto partial = block_table(blocks, kPartial);
  const auto full = block_table(blocks, kFull);
  const auto size_of = [&](std::size_t from_back) {
    const auto* size = blocks[blocks.size() - from_back].scalar();
    return size ? size->as_int().value_or(0) : 0;
  };
  const std::int64_t block[] = {size_of(3), size_of(2)};
  if (!partial || block[0] <= 0 || block[1] <= 0) return;
  const auto dense = call2(c_, "aten.expand.default", mask_, int_list(sizes_));
  if (c_.error() || dense.real() == nullptr) return;
  const auto values = to_vector<std::int64_t>(*dense.real());
  const auto& extent = dense.real()->meta.sizes;
  const auto lists = [&](const BlockTable& table, const std::array<std::int64_t, kRank>& at) {
    const auto row =
        ((at[0] % table.sizes[0]) * table.sizes[1] + at[1] % table.sizes[1]) * table.sizes[2] +
        std::min(at[2] / block[0], table.sizes[2] - 1);
    const auto first = table.blocks.begin() + row * table.sizes[3];
    const auto count =
        std::clamp<std::int64_t>(table.counts[static_cast<std::size_t>(row)], 0, table.sizes[3]);
    return std::find(first, first + count, at[3] / block[1]) != first + count;
  };
  std::size_t i = 0;
  std::array<std::int64_t, kRank> at{};
  for (at[0] = 0; at[0] < extent[0]; ++at[0])
    for (at[1] = 0; at[1] < extent[1]; ++at[1])
      for (at[2] = 0; at[2] < extent[2]; ++at[2])
        for (at[3] = 0; at[3] < extent[3]; ++at[3]) {
          const bool is_allowed = values[i++] != 0;
          const bool is_full = full && lists(*full, at);
          const bool is_read = is_full || (is_allowed && lists(*partial, at));
          if (is_read != is_allowed) {
            c_.unsupported("the block mask lists other blocks than its mask_mod allows");
            return;
          }
        }
}

auto with_words(const BodyCall& call, const std::function<Datum(Composer&)>& compose)
    -> Result<Datum> {
  DatumList args;
  for (std::size_t i = 0; i < 3; ++i) {
    ASSAY_TRY(args.emplace_back(), call.value(i));
    if (!args.back().is_tensor()) return bad_input("argument {} is no tensor", i);
  }
  Composer c(words_row(), args, call.domain());
  auto result = compose(c);
  if (c.error()) return std::unexpected(*c.error());
  return result;
}

}  // namespace

auto run_flex_attention(const BodyCall& call) -> Result<Datum> {
  ASSAY_TRY(const auto flex, flex_call(call, 3, 4));
  return with_words(call, [&](Composer& c) -> Datum {
    Attention attention(c, flex);
    if (c.error()) return {};
    const auto scores = attention.changed(attention.scores());
    const auto dtype = c.meta(0).dtype;
    const auto last = int_list(Ints{-1});
    const auto of_base_2 = [&](const Datum& value) {
      return div(c, value, assay::number(std::numbers::ln2));
    };
    const auto weights = call2(c, "aten._safe_softmax.default", scores, integer(-1));
    const auto values = converted(c, attention.per_head(2), dtype);
    auto out = call2(c, "aten.matmul.default", converted(c, weights, dtype), values);
    auto sums = of_base_2(call2(c, "aten.logsumexp.default", scores, last));
    auto greatest = of_base_2(call2(c, "aten.amax.default", scores, last));
    return {DatumList{attention.laid_out(out, 0), std::move(sums), std::move(greatest)}};
  });
}

auto run_flex_attention_backward(const BodyCall& call) -> Result<Datum> {
  ASSAY_TRY(const auto flex, flex_call(call, 7, 9));
  ASSAY_TRY(const auto* joint, call.body(8));
  ASSAY_TRY(const auto out, call.value(3));
  ASSAY_TRY(const auto sums, call.value(4));
  ASSAY_TRY(const auto given, call.value(5));
  ASSAY_TRY(const auto given_of_sums, call.value(6));
  return with_words(call, [&](Composer& c) -> Datum {
    Attention attention(c, flex);
    if (c.error()) return {};
    const auto dtype = c.meta(0).dtype;
    const auto transposed = [&](const Datum& a) {
      return c.call("aten.transpose.int", {a, integer(-2), integer(-1)});
    };
    const auto matmul = [&](const Datum& a, const Datum& b) {
      return call2(c, "aten.matmul.default", a, b);
    };
    const auto gradient = given.is_none() ? call1(c, "aten.zeros_like.default", out) : given;
    const auto scores = attention.scores();
    const auto of_row = [&](const Datum& a) { return unsqueezed(c, a, -1); };
    const auto natural = mul(c, sums, assay::number(std::numbers::ln2));
    const auto is_masked = call2(c, "aten.eq.Scalar", natural, assay::number(kMasked));
    auto weights = call1(c, "aten.exp.default", sub(c, attention.changed(scores), of_row(natural)));
    weights = c.call("aten.where.ScalarSelf", {of_row(is_masked), assay::number(0), weights});
    const auto of_values = matmul(transposed(converted(c, weights, dtype)), gradient);
    const auto of_weights =
        matmul(attention.wide(gradient), transposed(attention.wide(attention.per_head(2))));
    const auto products = mul(c, attention.wide(out), attention.wide(gradient));
    auto rest = sub(c, of_weights,
                    c.call("aten.sum.dim_IntList", {products, int_list(Ints{-1}), truth(true)}));
    if (!given_of_sums.is_none())
      rest = add(c, rest, of_row(div(c, given_of_sums, assay::number(std::numbers::ln2))));
    const auto changes =
        attention.with_indices(*joint, {scores}, {mul(c, weights, rest)}, flex.score_buffers);
    if (c.error()) return {};
    auto all = as_list(changes);
    if (all.size() < kRank + 1) return c.fail("the body gives too few gradients"), Datum{};
    auto of_scores = converted(c, mul(c, all.front(), flex.scale), dtype);
    of_scores = c.call("aten.where.ScalarOther", {attention.mask(), of_scores, assay::number(0)});
    const auto of_query = matmul(of_scores, attention.per_head(1));
    const auto of_keys = matmul(transposed(of_scores), c.arg(0));
    all.erase(all.begin(), all.begin() + kRank + 1);  // behind them those of buffers
    return {DatumList{attention.laid_out(of_query, 0), attention.summed_heads(of_keys, 1),
                      attention.summed_heads(of_values, 2), Datum{std::move(all)}}};
  });
}

}  // namespace assay
