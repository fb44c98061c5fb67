// Words that decompositions are made of: arguments as data, and the calls nearly all of them make.
#pragma once
#include <cstdint>
#include <limits>

#include "core/ops/rules.h"

namespace assay {

inline auto number(double value) -> Datum {
  return {Expr::real(value)};
}
inline auto integer(std::int64_t value) -> Datum {
  return {Expr(value)};
}
inline auto truth(bool value) -> Datum {
  return {Expr::boolean(value)};
}
inline auto all_args(Composer& c) -> DatumList {
  return {c.args().begin(), c.args().end()};
}
inline auto call1(Composer& c, std::string_view overload, const Datum& a) -> Datum {
  return c.call(overload, {a});
}
inline auto call2(Composer& c, std::string_view overload, const Datum& a, const Datum& b) -> Datum {
  return c.call(overload, {a, b});
}
/// b may be a number in all four.
inline auto add(Composer& c, const Datum& a, const Datum& b) -> Datum {
  return call2(c, "aten.add.Tensor", a, b);
}
inline auto sub(Composer& c, const Datum& a, const Datum& b) -> Datum {
  return call2(c, "aten.sub.Tensor", a, b);
}
inline auto mul(Composer& c, const Datum& a, const Datum& b) -> Datum {
  return call2(c, "aten.mul.Tensor", a, b);
}
inline auto div(Composer& c, const Datum& a, const Datum& b) -> Datum {
  return call2(c, "aten.div.Tensor", a, b);
}
/// Elements [begin, end) along dim; either may be negative.
inline auto slice(Composer& c, const Datum& a, std::int64_t dim, std::int64_t begin,
                  const Expr& end = std::numeric_limits<std::int64_t>::max()) -> Datum {
  return c.call("aten.slice.Tensor", {a, integer(dim), integer(begin), Datum{end}});
}
inline auto reshaped(Composer& c, const Datum& a, const Dims& sizes) -> Datum {
  return c.call("aten.reshape.default", {a, int_list(sizes)});
}
inline auto unsqueezed(Composer& c, const Datum& a, std::int64_t dim) -> Datum {
  return call2(c, "aten.unsqueeze.default", a, integer(dim));
}
inline auto converted(Composer& c, const Datum& a, DType dtype) -> Datum {
  return c.call("aten.to.dtype", {a, Datum{dtype}});
}
/// Members of an argument that is a list; fails without one.
inline auto members(Composer& c, int arg) -> DatumList {
  const auto* list = c.arg(arg).list();
  if (list == nullptr) return c.fail("a list is needed"), DatumList{};
  return *list;
}
/// Non-negative form of a dimension; fails the call if it is out of range. Rank 0 counts as rank 1.
inline auto wrapped_dim(Composer& c, std::int64_t dim, int rank) -> std::size_t {
  const auto at = wrap_index(dim, std::max(rank, 1));
  if (at < 0) c.fail(fmt::format("dimension {} is out of range", dim));
  return static_cast<std::size_t>(std::max<std::int64_t>(at, 0));
}

}  // namespace assay
