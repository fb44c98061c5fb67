// Attention in memory: scores are stored, which kernels that keep them in registers avoid. With
// them, products run on libraries, and scale, mask and softmax in one kernel. On GPUs products of
// halves stay such, with scores in float32 and weights rounded, as kernels there have them; on the
// CPU all is float32.
#include <cmath>
#include <limits>

#include "compiler/lower/expansions.h"
#include "compiler/lower/lowering.h"

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
/// In float32 at least.
auto wide_product(Composer& c, const Datum& a, const Datum& b) -> Datum {
  if (size_bytes(c.meta(a).dtype) >= size_bytes(DType::float32)) return product(c, a, b);
  return c.call("aten.bmm.dtype", {a, b, {DType::float32}});
}
/// What products are made of.
auto factor_dtype(Composer& c) -> DType {
  const auto first = c.meta(0);
  return first.device.type == "cuda" ? first.dtype : opmath(first.dtype);
}
/// Heads of keys and values that several heads of queries share, once for each of these.
auto repeated(Composer& c, const Datum& x, const Expr& heads) -> Datum {
  const auto sizes = c.meta(x).sizes;
  if (sizes[1] == heads) return x;
  const auto deep = c.call("aten.unsqueeze.default", {x, {Expr(2)}});
  const Dims each{sizes[0], sizes[1], floor_div(heads, sizes[1]), sizes[2], sizes[3]};
  const auto all = c.call("aten.expand.default", {deep, int_list(each)});
  const auto packed = c.call("aten.clone.default", {all, Datum{MemoryFormat::contiguous}});
  return view(c, packed, {sizes[0], heads, sizes[2], sizes[3]});
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
  for (int i = 1; i < 3; ++i) {
    const auto other = c.meta(at.query + i);
    if (other.rank() != 4) return false;
    const auto heads = query.sizes[1].as_int(), shared = other.sizes[1].as_int();
    const bool divides = heads && shared && *shared > 0 && *heads % *shared == 0;
    if (other.sizes[1] != query.sizes[1] && !divides) return false;
  }
  return !c.has(at.mask) || c.meta(at.mask).rank() == 2 || c.meta(at.mask).rank() == 4;
}
/// Attention that kernels and libraries of GPUs make whole, or `cuda` in memory where there are
/// none.
auto is_left_to_gpus(Composer& c, const ScoreArguments& at) -> bool {
  const auto query = c.meta(at.query);
  const bool is_backward = at.query > 0;
  if (is_backward && c.meta(at.query + 4).dtype != DType::float32) return false;
  const bool is_added = !c.has(at.mask) || c.meta(at.mask).dtype == query.dtype;
  return query.device.type == "cuda" && is_half(query.dtype) && is_added;
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
  const auto flat = wide_product(c, query, turned(c, key));
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

/// Of what each head of queries gave ([batch, heads, keys, features]) the sum for those that share
/// keys of sizes `shared`.
auto summed(Composer& c, const Datum& each, const Dims& shared, DType dtype) -> Datum {
  const auto made = c.meta(each);
  if (made.sizes[1] == shared[1]) return to(c, each, dtype);
  const Dims groups{shared[0], shared[1], floor_div(made.sizes[1], shared[1]), shared[2],
                    shared[3]};
  const auto sum =
      c.call("aten.sum.dim_IntList", {widened(c, reshaped(c, each, groups)), int_list(Ints{2})});
  return to(c, sum, dtype);
}
/// Gradients of heads that share keys, as those of keys that are there for each.
auto gradients_of_repeated(Composer& c) -> Datum {
  const auto heads = c.meta(1).sizes[1];
  const auto each =
      c.call("aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
             {c.arg(0), c.arg(1), repeated(c, c.arg(2), heads), repeated(c, c.arg(3), heads),
              c.arg(4), c.arg(5), c.arg(6), c.arg(7), c.arg(8), c.arg(9)});
  DatumList results = {c.item(each, 0)};
  for (int i = 1; i < 3; ++i) {
    const auto like = c.meta(i + 1);
    results.push_back(summed(c, c.item(each, static_cast<std::size_t>(i)), like.sizes, like.dtype));
  }
  return {std::move(results)};
}

}  // namespace

auto attention(Composer& c) -> Datum {
  constexpr ScoreArguments kAt{.query = 0, .causal = 4, .mask = 5, .scale = 6};
  if (!is_plain(c, kAt, 3) || is_left_to_gpus(c, kAt))
    return c.unsupported("attention of this kind"), Datum{};
  const auto factors = factor_dtype(c);
  const auto heads = c.meta(0).sizes[1];
  const auto operand = [&](int i) {
    return matrices(c, repeated(c, to(c, c.arg(i), factors), heads));
  };
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
  const auto flat = view(c, to(c, weights, factors), Heads{sizes}.flat(sizes[2], keys[2]));
  const auto out = view(c, product(c, flat, operand(2)), Heads{sizes}.deep(sizes[2], values[3]));
  const auto logarithm = add(c, c.call("aten.log.default", {divisor}), origin);
  return {
      DatumList{to(c, out, c.meta(0).dtype), c.call("aten.squeeze.dim", {logarithm, {Expr(-1)}})}};
}

auto attention_backward(Composer& c) -> Datum {
  constexpr ScoreArguments kAt{.query = 1, .causal = 7, .mask = 8, .scale = 9};
  const bool is_left = is_left_to_gpus(c, kAt);
  const bool has_own_keys = c.meta(2).sizes[1] == c.meta(1).sizes[1];
  if (!is_plain(c, kAt, 6) || (is_left && has_own_keys))
    return c.unsupported("attention of this kind"), Datum{};
  if (is_left) return gradients_of_repeated(c);
  const auto factors = factor_dtype(c);
  const auto sizes = c.meta(1).sizes, keys = c.meta(2).sizes, values = c.meta(3).sizes;
  const auto operand = [&](int i) {
    return matrices(c, repeated(c, to(c, c.arg(i), factors), sizes[1]));
  };
  const auto grad = operand(0), query = operand(1), key = operand(2), value = operand(3);
  const Heads heads{sizes};
  const auto logarithm = c.call("aten.unsqueeze.default", {widened(c, c.arg(5)), {Expr(-1)}});
  const auto weights =
      c.call("aten.exp.default", {sub(c, scores_of(c, kAt, query, key), logarithm)});
  const auto share =
      c.call("aten.sum.dim_IntList",
             {mul(c, widened(c, c.arg(0)), widened(c, c.arg(4))), int_list(Ints{-1}), truth(true)});
  const auto towards =
      view(c, wide_product(c, grad, turned(c, value)), heads.deep(sizes[2], keys[2]));
  const auto slope = mul(c, mul(c, weights, sub(c, towards, share)), factor(c, kAt));
  const auto flat = [&](const Datum& x) {
    return view(c, to(c, x, factors), heads.flat(sizes[2], keys[2]));
  };
  const auto result = [&](const Datum& a, const Datum& b, const Dims& rows, int like) {
    const auto each = view(c, product(c, a, b), heads.deep(rows[2], rows[3]));
    return summed(c, each, rows, c.meta(like).dtype);
  };
  const auto slopes = flat(slope);
  return {DatumList{result(slopes, key, sizes, 1), result(turned(c, slopes), query, keys, 2),
                    result(turned(c, flat(weights)), grad, values, 3)}};
}

}  // namespace assay::expansions
