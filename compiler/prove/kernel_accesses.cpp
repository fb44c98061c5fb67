// Symbolic execution of a kernel's statements. A tensor stands for one lane of itself; an index
// along an axis becomes a symbol of its own, so that nothing depends on the block.
#include "compiler/prove/kernel_accesses.h"

#include <algorithm>
#include <array>

#include "core/expr/text.h"

namespace assay {
namespace {

/// Program ids are symbols named so.
constexpr std::string_view kProgramPrefix = "program";

/// What is known of one lane of a value. Floats are opaque, but float64 that is made of sizes.
struct Symbolic {
  enum class Kind : std::uint8_t { opaque, integer, boolean, real } kind = Kind::opaque;
  Expr expr;
  int bits = 0;              ///< 32 or 64; 0 for a constant
  std::vector<Expr> narrow;  ///< 32-bit results on the way to it

  std::optional<Expr> indicates = {};  ///< the condition of which this is 1 or 0
  struct Chosen {
    Expr condition, value;
  };
  std::optional<Chosen> chosen = {};  ///< the factors of `value * (condition)`
  std::optional<Expr> whole = {};     ///< the integer that a real number is
};

struct ExprRow {
  TileOp op;
  Expr (*make)(const Expr&, const Expr&);
};
constexpr std::array kComparisons = {ExprRow{TileOp::eq, eq}, ExprRow{TileOp::ne, ne},
                                     ExprRow{TileOp::lt, lt}, ExprRow{TileOp::le, le},
                                     ExprRow{TileOp::gt, gt}, ExprRow{TileOp::ge, ge}};
constexpr std::array kIntegerOps = {ExprRow{TileOp::minimum, min},
                                    ExprRow{TileOp::maximum, max},
                                    ExprRow{TileOp::minimum_number, min},
                                    ExprRow{TileOp::maximum_number, max},
                                    ExprRow{TileOp::floor_quotient, floor_div},
                                    ExprRow{TileOp::floor_remainder, mod}};

struct RoundingRow {
  TileOp op;
  ExprOp to_int;
};
constexpr std::array kRoundings = {RoundingRow{TileOp::trunc, ExprOp::trunc_to_int},
                                   RoundingRow{TileOp::floor, ExprOp::floor_to_int},
                                   RoundingRow{TileOp::ceil, ExprOp::ceil_to_int}};

auto make_of(const auto& rows, TileOp op) -> Expr (*)(const Expr&, const Expr&) {
  for (const auto& row : rows)
    if (row.op == op) return row.make;
  return nullptr;
}

auto range_of(DType dtype) -> Interval {
  const int bytes = size_bytes(dtype);
  if (bytes >= 8) return {};
  const auto half = std::int64_t{1} << (8 * bytes - 1);
  return info(dtype).kind == DTypeKind::signed_integer ? Interval{-half, half - 1}
                                                       : Interval{0, 2 * half - 1};
}
auto width_of(DType dtype) -> int {
  return size_bytes(dtype) == 8 ? 64 : 32;
}

class AccessReader {
 public:
  AccessReader(const TileKernel& kernel, ExprPool& pool)
      : kernel_(kernel), pool_(pool), values_(kernel.values.size()) {}

  auto run() -> KernelAccesses {
    for (const auto& param : kernel_.params)
      if (param.kind == TileParam::Kind::block)
        result_.ranges[param.symbol] = {1, Expr::infinity()};
    region(kernel_.body);
    return std::move(result_);
  }

 private:
  struct Loop {
    Expr symbol, end, step;
  };

  [[nodiscard]] auto value(TileId id) -> Symbolic& { return values_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] auto name(TileId id) const -> std::string {
    return kernel_.values[static_cast<std::size_t>(id)].name;
  }
  [[nodiscard]] auto dtype(TileId id) const -> DType { return kernel_.type(id).dtype; }

  auto fresh(const std::string& name, const std::string& text, Interval range, int bits)
      -> Symbolic {
    const auto symbol = pool_.symbol(fmt::format("{}.{}", name, fresh_count_++));
    result_.ranges[symbol] = range;
    if (!text.empty()) result_.data.push_back({symbol, text});
    return {Symbolic::Kind::integer, symbol, bits, {}};
  }
  /// A truth value that depends on data: any.
  auto condition(const std::string& text) -> Symbolic {
    const auto symbol = pool_.symbol(fmt::format("if.{}", fresh_count_++), ExprType::boolean);
    result_.data.push_back({symbol, text});
    return {Symbolic::Kind::boolean, symbol, 0, {}};
  }

  /// An operand; what is not known is any number or truth value.
  auto number(TileId id) -> Symbolic {
    auto& known = value(id);
    if (known.kind == Symbolic::Kind::opaque)
      known = fresh(name(id).empty() ? "data" : name(id), "a value that is computed", {},
                    width_of(dtype(id)));
    return known;
  }
  auto truth(TileId id) -> Symbolic {
    auto& known = value(id);
    if (known.kind == Symbolic::Kind::opaque) known = condition("a condition on data");
    return known;
  }

  void region(const TileRegion& region) {
    for (const auto& one : region.body)
      std::visit([&](const auto& what) { step(one, what); }, one.what);
  }
  void set(const TileStatement& one, Symbolic result) { value(one.results[0]) = std::move(result); }

  /// Keeps what has to fit into 32 bits: every result computed in them.
  auto integer(const Expr& e, int bits, const Symbolic& a, const Symbolic& b) -> Symbolic {
    Symbolic result{Symbolic::Kind::integer, e, bits, a.narrow};
    for (const auto& one : b.narrow) add_narrow(result, one);
    if (bits == 32 && !e.is_const() && e.args().size() > 1) add_narrow(result, e);
    return result;
  }
  static void add_narrow(Symbolic& to, const Expr& e) {
    if (std::ranges::find(to.narrow, e) == to.narrow.end()) to.narrow.push_back(e);
  }

  void step(const TileStatement& one, const TileConstant& what) {
    const auto* number = std::get_if<std::int64_t>(&what.value);
    if (const auto* real = std::get_if<double>(&what.value);
        real != nullptr && dtype(one.results[0]) == DType::float64)
      return set(one, {Symbolic::Kind::real, Expr::real(*real), 0, {}});
    if (number == nullptr) return;
    if (dtype(one.results[0]) == DType::boolean)
      return set(one, {Symbolic::Kind::boolean, Expr::boolean(*number != 0), 0, {}});
    set(one, {Symbolic::Kind::integer, *number, 0, {}});
  }

  void step(const TileStatement& one, const TileParamValue& what) {
    const auto& param = kernel_.params[what.param];
    if (param.symbol.pool() == nullptr || is_floating(param.dtype)) return;
    set(one, {Symbolic::Kind::integer,
              param.fixed ? Expr(*param.fixed) : param.symbol,
              bits_of(param),
              {}});
  }

  void step(const TileStatement& one, const TileLane& what) {
    const auto& axis = kernel_.axes[what.axis];
    const auto last = axis.block.as_int();
    const auto id = one.results[0];
    auto lane =
        fresh(name(id).empty() ? "lane" : name(id), {},
              {0, last ? Expr(std::max<std::int64_t>(*last, 1) - 1) : Expr::infinity()}, 32);
    if (last)
      result_.axes.push_back({.symbol = lane.expr,
                              .name = name(id),
                              .block = axis.block,
                              .numel = axis.block,
                              .max_block = *last});
    lanes_[lane.expr] = what.axis;
    set(one, lane);
  }

  void step(const TileStatement& one, const TileIndex& what) {
    const auto& axis = kernel_.axes[what.axis];
    auto index = fresh(axis.name, {}, {0, Expr::infinity()}, 64);
    result_.axes.push_back({.symbol = index.expr,
                            .name = axis.name,
                            .block = 1,
                            .numel = axis.extent,
                            .max_block = 1});
    set(one, index);
  }

  void step(const TileStatement& one, const TileProgram& what) {
    const auto symbol = pool_.symbol(
        fmt::format("{}{}", what.is_count ? "programs" : kProgramPrefix, what.dimension));
    result_.ranges[symbol] = {what.is_count ? 1 : 0, Expr::infinity()};
    if (!what.is_count) result_.programs[what.dimension] = symbol;
    set(one, {Symbolic::Kind::integer, symbol, 32, {}});
  }

  void step(const TileStatement& one, const TileCompute& what) {
    const auto id = one.results[0];
    const auto of = dtype(one.operands.back());
    if (what.op == TileOp::cast) return set(one, cast(one.operands[0], id));
    if (what.op == TileOp::select) return choice(one);
    if (is_floating(of) || is_complex(of)) {
      if (dtype(id) == DType::boolean) set(one, condition("a condition on data"));
      return real(one, what.op);
    }
    if (of == DType::boolean) return logic(one, what.op);
    const auto a = number(one.operands[0]);
    if (one.operands.size() == 1) {
      if (what.op == TileOp::negate) set(one, integer(-a.expr, a.bits, a, {}));
      return;
    }
    const auto b = number(one.operands[1]);
    const int bits = std::max(a.bits, b.bits);
    if (const auto make = make_of(kComparisons, what.op))
      return set(one, {Symbolic::Kind::boolean, make(a.expr, b.expr), 0, {}});
    if (const auto make = make_of(kIntegerOps, what.op))
      return set(one, integer(make(a.expr, b.expr), bits, a, b));
    if (what.op == TileOp::add) {
      if (auto found = axis(a, b, name(id))) return set(one, *found);
      const auto either = larger_or_smaller(a, b);
      return set(one, integer(either ? *either : a.expr + b.expr, bits, a, b));
    }
    if (what.op == TileOp::sub) return set(one, integer(a.expr - b.expr, bits, a, b));
    if (what.op == TileOp::mul) {
      auto product = integer(a.expr * b.expr, bits, a, b);
      if (const auto& indicator = a.indicates ? a.indicates : b.indicates)
        product.chosen = {*indicator, a.indicates ? b.expr : a.expr};
      return set(one, std::move(product));
    }
    if (what.op == TileOp::quotient) return divide(one, floor_div(a.expr, b.expr), a, b);
    if (what.op == TileOp::remainder) return divide(one, mod(a.expr, b.expr), a, b);
    if (!a.expr.is_const() || !b.expr.is_const()) return;
    if (what.op == TileOp::shift_left)
      set(one, integer(make(ExprOp::lshift, std::array{a.expr, b.expr}), bits, a, b));
    if (what.op == TileOp::shift_right)
      set(one, integer(make(ExprOp::rshift, std::array{a.expr, b.expr}), bits, a, b));
  }

  /// The device rounds toward zero, expressions down; a quotient is no larger than its dividend.
  void divide(const TileStatement& one, const Expr& e, const Symbolic& a, const Symbolic& b) {
    result_.divisions.push_back({a.expr, b.expr});
    auto result = integer(e, 0, a, b);
    result.bits = std::max(a.bits, b.bits);
    set(one, std::move(result));
  }

  void logic(const TileStatement& one, TileOp op) {
    const auto a = truth(one.operands[0]);
    if (op == TileOp::bit_not) return set(one, {Symbolic::Kind::boolean, logic_not(a.expr), 0, {}});
    if (op == TileOp::bit_and || op == TileOp::bit_or) {
      const auto b = truth(one.operands[1]);
      return set(one, {Symbolic::Kind::boolean,
                       op == TileOp::bit_and ? logic_and(a.expr, b.expr) : logic_or(a.expr, b.expr),
                       0,
                       {}});
    }
    if (dtype(one.results[0]) == DType::boolean) set(one, condition("a condition on data"));
  }

  /// Sizes times a scale, rounded: as expressions compute them, in float64.
  void real(const TileStatement& one, TileOp op) {
    const auto is_real = [&](TileId id) { return value(id).kind == Symbolic::Kind::real; };
    if (dtype(one.results[0]) != DType::float64 || !std::ranges::all_of(one.operands, is_real))
      return;
    const auto& a = value(one.operands[0]).expr;
    const auto* const rounds = std::ranges::find(kRoundings, op, &RoundingRow::op);
    if (rounds != kRoundings.end())
      set(one, real_of(make(rounds->to_int, std::array{a})));
    else if (op == TileOp::mul)
      set(one, {Symbolic::Kind::real, a * value(one.operands[1]).expr, 0, {}});
  }
  static auto real_of(const Expr& whole) -> Symbolic {
    Symbolic result{Symbolic::Kind::real, make(ExprOp::to_float, std::array{whole}), 0, {}};
    result.whole = whole;
    return result;
  }

  auto cast(TileId from, TileId to) -> Symbolic {
    const auto target = dtype(to);
    const auto source = dtype(from);
    const auto& known = value(from);
    if (target == DType::float64 && known.kind == Symbolic::Kind::integer)
      return real_of(known.expr);
    if (is_floating(target)) return {};
    if (target == DType::boolean) {
      if (is_floating(source)) return condition("a condition on data");
      return {Symbolic::Kind::boolean, ne(number(from).expr, 0), 0, {}};
    }
    if (source == DType::boolean)  // a truth value counts as 0 or 1
      return {Symbolic::Kind::integer, where(truth(from).expr, 1, 0), 0, {}, truth(from).expr};
    const int bits = width_of(target);
    if (known.kind == Symbolic::Kind::real) {
      Symbolic result{Symbolic::Kind::integer,
                      known.whole.value_or(make(ExprOp::trunc_to_int, std::array{known.expr})),
                      bits,
                      {}};
      if (bits == 32) add_narrow(result, result.expr);
      return result;
    }
    if (is_floating(source)) {
      auto result = fresh("data", "a number converted to integer", {}, bits);
      result_.data.back().is_computed = true;
      return result;
    }
    auto result = number(from);
    if (bits == 32 && result.bits == 64) add_narrow(result, result.expr);
    if (result.bits != 0) result.bits = bits;
    return result;
  }

  void choice(const TileStatement& one) {
    const auto of = dtype(one.results[0]);
    if (is_floating(of)) return;
    const auto picks = truth(one.operands[0]);
    if (of == DType::boolean) {
      const auto a = truth(one.operands[1]);
      const auto b = truth(one.operands[2]);
      return set(one,
                 {Symbolic::Kind::boolean,
                  logic_or(logic_and(picks.expr, a.expr), logic_and(logic_not(picks.expr), b.expr)),
                  0,
                  {}});
    }
    const auto a = number(one.operands[1]);
    const auto b = number(one.operands[2]);
    // What the other branch computes does not matter: `tmp0 + n` only where tmp0 < 0.
    Symbolic result{Symbolic::Kind::integer, where(picks.expr, a.expr, b.expr),
                    std::max(a.bits, b.bits), picks.narrow};
    for (const auto& narrow : a.narrow) result.narrow.push_back(where(picks.expr, narrow, 0));
    for (const auto& narrow : b.narrow) result.narrow.push_back(where(picks.expr, 0, narrow));
    set(one, std::move(result));
  }

  /// `a * (a >= b) + b * (b > a)` is how sizes write their maximum, `<=` and `<` their minimum
  /// (torch/_inductor/codegen/triton.py, TritonPrinter); its terms by themselves have no bound.
  static auto larger_or_smaller(const Symbolic& a, const Symbolic& b) -> std::optional<Expr> {
    if (!a.chosen || !b.chosen || a.chosen->condition != logic_not(b.chosen->condition))
      return std::nullopt;
    const auto& condition = a.chosen->condition;
    const auto& [first, second] = std::pair{a.chosen->value, b.chosen->value};
    if (condition == ge(first, second) || condition == gt(first, second)) return max(first, second);
    if (condition == le(first, second) || condition == lt(first, second)) return min(first, second);
    return where(condition, first, second);
  }

  /// Whether the offset is a multiple of the block, times program ids only.
  static auto is_program_offset(const Expr& offset, const Expr& block) -> bool {
    const auto program = floor_div(offset, block);
    if (program * block != offset) return false;
    const auto symbols = program.symbols();
    return !symbols.empty() && std::ranges::all_of(symbols, [](const Expr& symbol) {
      return symbol.name().starts_with(kProgramPrefix);
    });
  }

  /// `program * BLOCK + lane` and `loop variable + lane` enumerate an axis.
  auto axis(const Symbolic& a, const Symbolic& b, const std::string& target)
      -> std::optional<Symbolic> {
    const auto& lane = lanes_.contains(b.expr) ? b : a;
    const auto& offset = lanes_.contains(b.expr) ? a : b;
    const auto found = lanes_.find(lane.expr);
    if (found == lanes_.end()) return std::nullopt;
    const auto& known = kernel_.axes[found->second];
    KernelAxis axis;
    axis.block = known.block;
    const auto loop = std::ranges::find_if(
        loops_, [&](const Loop& l) { return l.symbol == offset.expr && l.step == known.block; });
    if (loop != loops_.end())
      axis.numel = loop->end;
    else if (!is_program_offset(offset.expr, known.block))
      return std::nullopt;
    if (!axis.numel) axis.numel = known.extent;
    axis.max_block = known.block.as_int().value_or(known.max_block);
    axis.name = target.empty() ? known.name + "index" : target;
    auto result = fresh(axis.name, {}, {0, Expr::infinity()}, std::max(a.bits, b.bits));
    axis.symbol = result.expr;
    result_.axes.push_back(std::move(axis));
    return result;
  }

  void access(const TileStatement& one, AccessKind kind, std::size_t param, TileId mask_id) {
    const auto index = number(one.operands[0]);
    auto mask = mask_id == kNoTile ? Expr::boolean(true) : truth(mask_id).expr;
    for (const auto& path : path_) mask = logic_and(mask, path);
    KernelAccess access;
    access.kind = kind;
    access.param = param;
    access.index = index.expr;
    access.mask = mask;
    access.index_bits = index.bits;
    access.narrow = index.narrow;
    access.facts = result_.facts.size();
    access.line = one.line;
    access.text = one.text;
    result_.accesses.push_back(std::move(access));
  }

  void step(const TileStatement& one, const TileLoad& what) {
    access(one, AccessKind::load, what.param, one.operands[1]);
    const auto id = one.results[0];
    const auto of = dtype(id);
    if (of == DType::boolean) return set(one, condition(one.text));
    if (!is_integer(of)) return;
    set(one, fresh(name(id).empty() ? "data" : name(id), one.text, range_of(of), width_of(of)));
  }
  void step(const TileStatement& one, const TileStore& what) {
    access(one, AccessKind::store, what.param, one.operands[2]);
  }
  void step(const TileStatement& one, const TileAtomic& what) {
    access(one, AccessKind::atomic, what.param, one.operands[2]);
  }

  /// The search reads between its first boundary and its last one.
  void step(const TileStatement& one, const TileSearch& what) {
    const auto count = number(one.operands[1]);
    const auto stride = number(one.operands[2]);
    const auto first = number(one.operands[3]);
    auto at = fresh("boundary", {}, {0, Expr::infinity()}, 64);
    KernelAccess access;
    access.param = what.param;
    access.index = first.expr + at.expr * stride.expr;
    access.mask = lt(at.expr, count.expr);
    for (const auto& path : path_) access.mask = logic_and(access.mask, path);
    access.index_bits = 64;
    access.facts = result_.facts.size();
    access.line = one.line;
    access.text = one.text;
    result_.axes.push_back(
        {.symbol = at.expr, .name = "boundary", .block = 1, .numel = count.expr, .max_block = 1});
    result_.accesses.push_back(std::move(access));
    set(one, fresh("position", one.text, {0, count.expr.is_const() ? count.expr : Expr::infinity()},
                   width_of(dtype(one.results[0]))));
  }

  void step(const TileStatement& one, const TileAssert&) {
    auto fact = truth(one.operands[0]).expr;
    if (one.operands[1] != kNoTile) fact = logic_or(fact, logic_not(truth(one.operands[1]).expr));
    result_.facts.push_back(fact);
  }

  void step(const TileStatement& one, const TileLoop&) {
    const auto& body = one.regions[0];
    for (std::size_t i = 1; i < body.params.size(); ++i) carried(body.params[i]);
    const auto begin = number(one.operands[0]);
    auto variable = fresh(name(body.params[0]), begin.expr.is_int(0) ? "" : "loop variable",
                          {0, Expr::infinity()}, width_of(dtype(body.params[0])));
    if (begin.expr.is_int(0))
      loops_.push_back({variable.expr, number(one.operands[1]).expr, number(one.operands[2]).expr});
    value(body.params[0]) = variable;
    region(body);
    for (const auto id : one.results) carried(id);
  }
  /// Numbers that a loop carries from round to round are any.
  void carried(TileId id) {
    if (is_integer(dtype(id)))
      value(id) = fresh(name(id).empty() ? "carried" : name(id), "a value carried along", {},
                        width_of(dtype(id)));
  }

  void step(const TileStatement& one, const TileNest&) { region(one.regions[0]); }

  void step(const TileStatement& one, const TileIf&) {
    const auto condition = truth(one.operands[0]).expr;
    for (std::size_t i = 0; i < one.regions.size(); ++i) {
      path_.push_back(i == 0 ? condition : logic_not(condition));
      region(one.regions[i]);
      path_.pop_back();
    }
    for (std::size_t i = 0; i < one.results.size(); ++i) {
      const auto side = [&](std::size_t at) { return value(one.regions[at].yields[i]); };
      const bool is_one = one.regions.size() == 2 && is_integer(dtype(one.results[i])) &&
                          side(0).expr == side(1).expr;  // as hints to the compiler leave it
      if (is_one)
        value(one.results[i]) = side(0);
      else
        carried(one.results[i]);
    }
  }

  // Values that no index is made of, or any number where one is.
  void step(const TileStatement&, const TileReduce&) {}
  void step(const TileStatement&, const TileScan&) {}
  void step(const TileStatement&, const TileSort&) {}
  void step(const TileStatement&, const TileRandom&) {}
  void step(const TileStatement&, const TileDot&) {}
  void step(const TileStatement&, const TileBarrier&) {}
  void step(const TileStatement&, const TileArrive&) {}

  const TileKernel& kernel_;
  ExprPool& pool_;
  KernelAccesses result_;
  std::vector<Symbolic> values_;
  std::unordered_map<Expr, std::size_t> lanes_;  ///< lane -> axis
  std::vector<Expr> path_;
  std::vector<Loop> loops_;
  int fresh_count_ = 0;
};

}  // namespace

auto bits_of(const TileParam& param) -> int {
  if (param.kind == TileParam::Kind::buffer || is_floating(param.dtype)) return 0;
  return param.kind == TileParam::Kind::block ? 0 : width_of(param.dtype);
}

auto derive_accesses(const TileKernel& kernel, ExprPool& pool) -> KernelAccesses {
  return AccessReader(kernel, pool).run();
}

}  // namespace assay
