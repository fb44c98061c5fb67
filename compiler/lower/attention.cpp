// Attention in memory: scores are stored, which kernels that keep them in registers avoid. With
// them, products run on libraries, and scale, mask and softmax in one kernel.
#include <cmath>
#include <limits>

#include "compiler/lower/expansions.h"

namespace assay::expansions {
namespace {

/// Of [batch, heads, rows, columns].
struct Heads {
  Dims sizes;
  [[nodiscard]] auto flat(const Expr& rows, const Expr& columns) const -> Dims {
    return {sizes[0] * sizes[1], rows, columns};
  }
  [[nodiscard]] auto deep(const Expr& rows, const Expr& columns) const -> Dims {
    return {sizes[0], sizes[1], rows, columns};
  }
};
auto view(Composer& c, const Datum& x, const Dims& sizes) -> Datum {
  return c.call("aten.view.default", {x, int_list(sizes)});
}
/// [batch * heads, rows, columns], packed unless it lies so.
auto matrices(Composer& c, const Datum& x) -> Datum {
  const auto meta = c.meta(x);
  const bool is_packed = meta.strides == contiguous_strides(meta.sizes);
  const auto packed =
      is_packed ? x : c.call("aten.clone.default", {x, Datum{MemoryFormat::contiguous}});
  return view(c, packed, Heads{meta.sizes}.flat(meta.sizes[2], meta.sizes[3]));
}
auto turned(Composer& c, const Datum& x) -> Datum {
  return c.call("aten.transpose.int", {x, {Expr(1)}, {Expr(2)}});
}
auto product(Composer& c, const Datum& a, const Datum& b) -> Datum {
  return c.call("aten.bmm.default", {a, b});
}
auto infinity() -> Datum {
  return real(-std::numeric_limits<double>::infinity());
}

/// Positions of the arguments that make scores.
struct ScoreArguments {
  int query, causal, mask, scale;
};
/// May the operands be taken apart so? Otherwise the call stays one of a library.
auto is_plain(Composer& c, const ScoreArguments& at, int dropout) -> bool {
  const auto query = c.meta(at.query);
  if (c.real(dropout) != 0 || query.rank() != 4) return false;
  for (int i = 1; i < 3; ++i)
    if (c.meta(at.query + i).rank() != 4 || c.meta(at.query + i).sizes[1] != query.sizes[1])
      return false;
  return !c.has(at.mask) || c.meta(at.mask).rank() == 2 || c.meta(at.mask).rank() == 4;
}
auto factor(Composer& c, const ScoreArguments& at) -> Datum {
  if (c.has(at.scale)) return real(c.real(at.scale));
  const auto features = c.meta(at.query).sizes[3];
  if (const auto count = features.as_int()) return real(1 / std::sqrt(static_cast<double>(*count)));
  const Expr power[] = {features * Expr::real(1), Expr::real(-0.5)};
  return {make(ExprOp::float_pow, power)};
}
/// scale * query key^T, then the mask, of [batch, heads, queries, keys].
auto scores_of(Composer& c, const ScoreArguments& at, const Datum& query, const Datum& key)
    -> Datum {
  const auto queries = c.meta(at.query).sizes, keys = c.meta(at.query + 1).sizes;
  const auto flat = product(c, query, turned(c, key));
  auto scores = mul(c, view(c, flat, Heads{queries}.deep(queries[2], keys[2])), factor(c, at));
  const auto forbid = [&](const Datum& allowed) {
    const auto never = c.call("aten.scalar_tensor.default", {infinity(), {c.meta(scores).dtype}});
    scores = c.call("aten.where.self", {allowed, scores, never});
  };
  if (c.flag(at.causal)) {
    const auto rows = c.call("aten.arange.default", {{queries[2]}});
    const auto columns = c.call("aten.arange.default", {{keys[2]}});
    forbid(
        c.call("aten.ge.Tensor", {c.call("aten.unsqueeze.default", {rows, {Expr(-1)}}), columns}));
  }
  if (!c.has(at.mask)) return scores;
  if (c.meta(at.mask).dtype == DType::boolean)
    forbid(c.arg(at.mask));
  else
    scores = add(c, scores, widened(c, c.arg(at.mask)));
  return scores;
}
auto is_infinite(Composer& c, const Datum& x) -> Datum {
  return c.call("aten.eq.Scalar", {x, infinity()});
}
auto zero(Composer& c, const Datum& like) -> Datum {
  return c.call("aten.scalar_tensor.default", {real(0), {c.meta(like).dtype}});
}

}  // namespace

auto attention(Composer& c) -> Datum {
  constexpr ScoreArguments kAt{.query = 0, .causal = 4, .mask = 5, .scale = 6};
  if (!is_plain(c, kAt, 3)) return c.unsupported("attention of this kind"), Datum{};
  const auto operand = [&](int i) { return matrices(c, widened(c, c.arg(i))); };
  const auto scores = scores_of(c, kAt, operand(0), operand(1));
  const auto last = int_list(Ints{-1});
  // A row that is forbidden throughout is 0, and so is the logarithm of its sum.
  const auto largest = c.call("aten.amax.default", {scores, last, truth(true)});
  const auto nowhere = is_infinite(c, largest);
  const auto origin = c.call("aten.where.self", {nowhere, zero(c, largest), largest});
  const auto powers = c.call("aten.exp.default", {sub(c, scores, origin)});
  const auto sum = c.call("aten.sum.dim_IntList", {powers, last, truth(true)});
  const auto divisor = add(c, sum, to(c, nowhere, c.meta(sum).dtype));
  const auto weights = c.call("aten.div.Tensor", {powers, divisor});
  const auto sizes = c.meta(0).sizes, keys = c.meta(1).sizes, values = c.meta(2).sizes;
  const auto flat = view(c, weights, Heads{sizes}.flat(sizes[2], keys[2]));
  const auto out = view(c, product(c, flat, operand(2)), Heads{sizes}.deep(sizes[2], values[3]));
  const auto logarithm = add(c, c.call("aten.log.default", {divisor}), origin);
  return {
      DatumList{to(c, out, c.meta(0).dtype), c.call("aten.squeeze.dim", {logarithm, {Expr(-1)}})}};
}

auto attention_backward(Composer& c) -> Datum {
  constexpr ScoreArguments kAt{.query = 1, .causal = 7, .mask = 8, .scale = 9};
  if (!is_plain(c, kAt, 6)) return c.unsupported("attention of this kind"), Datum{};
  const auto operand = [&](int i) { return matrices(c, widened(c, c.arg(i))); };
  const auto grad = operand(0), query = operand(1), key = operand(2), value = operand(3);
  const auto sizes = c.meta(1).sizes, keys = c.meta(2).sizes, values = c.meta(3).sizes;
  const Heads heads{sizes};
  const auto logarithm = c.call("aten.unsqueeze.default", {widened(c, c.arg(5)), {Expr(-1)}});
  const auto weights =
      c.call("aten.exp.default", {sub(c, scores_of(c, kAt, query, key), logarithm)});
  const auto share =
      c.call("aten.sum.dim_IntList",
             {mul(c, widened(c, c.arg(0)), widened(c, c.arg(4))), int_list(Ints{-1}), truth(true)});
  const auto towards = view(c, product(c, grad, turned(c, value)), heads.deep(sizes[2], keys[2]));
  const auto slope = mul(c, mul(c, weights, sub(c, towards, share)), factor(c, kAt));
  const auto flat = [&](const Datum& x) { return view(c, x, heads.flat(sizes[2], keys[2])); };
  const auto result = [&](const Datum& a, const Datum& b, const Dims& rows, int like) {
    return to(c, view(c, product(c, a, b), heads.deep(rows[2], rows[3])), c.meta(like).dtype);
  };
  return {DatumList{result(flat(slope), key, sizes, 1),
                    result(turned(c, flat(slope)), query, keys, 2),
                    result(turned(c, flat(weights)), grad, values, 3)}};
}

}  // namespace assay::expansions
