// Rules of a kernel.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "compiler/program/kernel.h"

namespace assay {
namespace {

class Verifier {
 public:
  explicit Verifier(const TileKernel& kernel)
      : kernel_(kernel), is_defined_(kernel.values.size(), false) {}

  auto run() -> std::vector<std::string> {
    for (std::size_t i = 0; i < kernel_.axes.size(); ++i) axis(i);
    if (kernel_.axes.size() > 32) say("more axes than a set holds");
    region(kernel_.body);
    return std::move(problems_);
  }

 private:
  void say(std::string problem) {
    problems_.push_back(line_ == 0 ? std::move(problem)
                                   : fmt::format("line {}: {}", line_, problem));
  }

  void axis(std::size_t i) {
    const auto& one = kernel_.axes[i];
    if (one.max_block < 1) say(fmt::format("axis {} has no lanes", one.name));
    if (one.exact && !one.extent) say(fmt::format("axis {} is exact without extent", one.name));
    if (const auto block = one.block.as_int(); block && *block < 1 && !one.exact)
      say(fmt::format("axis {} has a block of {}", one.name, *block));
  }

  [[nodiscard]] auto exists(TileId id) const -> bool {
    return id >= 0 && static_cast<std::size_t>(id) < kernel_.values.size();
  }
  void define(TileId id) {
    if (!exists(id)) return say(fmt::format("value %{} does not exist", id));
    const auto axes = type(id).axes;
    if (kernel_.axes.size() < 32 && (axes >> kernel_.axes.size()) != 0)
      say(fmt::format("value %{} varies over an axis that does not exist", id));
    if (is_defined_[static_cast<std::size_t>(id)])
      say(fmt::format("value %{} is defined twice", id));
    is_defined_[static_cast<std::size_t>(id)] = true;
  }
  auto use(TileId id) -> bool {
    if (!exists(id)) {
      say(id == kNoTile ? "an operand is missing" : fmt::format("value %{} does not exist", id));
      return false;
    }
    if (!is_defined_[static_cast<std::size_t>(id)])
      say(fmt::format("value %{} is used before it is defined", id));
    return true;
  }

  void region(const TileRegion& region) {
    // What a region defines is not seen outside of it.
    const auto before = is_defined_;
    for (const auto id : region.params) define(id);
    for (const auto& one : region.body) statement(one);
    for (const auto id : region.yields) use(id);
    is_defined_ = before;
  }

  void statement(const TileStatement& one) {
    line_ = one.line;
    bool is_sound = true;
    const auto needed =
        std::visit([&](const auto& what) { return needed_operands(what, one); }, one.what);
    for (std::size_t i = 0; i < one.operands.size(); ++i) {
      if (one.operands[i] != kNoTile || i < needed) is_sound = use(one.operands[i]) && is_sound;
    }
    const auto before = nest_;
    if (const auto* nest = std::get_if<TileNest>(&one.what)) enter(*nest);
    for (const auto& inner : one.regions) region(inner);
    nest_ = before;
    line_ = one.line;
    for (const auto id : one.results) define(id);
    if (is_sound && std::ranges::all_of(one.results, [&](TileId id) { return exists(id); }))
      std::visit([&](const auto& what) { check(one, what); }, one.what);
  }

  /// Operands from there on may be missing (kNoTile).
  template <class What>
  static auto needed_operands(const What& what, const TileStatement& one) -> std::size_t {
    if constexpr (std::is_same_v<What, TileLoad> || std::is_same_v<What, TileAssert>) return 1;
    if constexpr (std::is_same_v<What, TileStore> || std::is_same_v<What, TileAtomic> ||
                  std::is_same_v<What, TileDot>)
      return 2;
    if constexpr (std::is_same_v<What, TileSort>) return one.results.size();
    if constexpr (std::is_same_v<What, TileSearch>) return what.sorter ? 6 : 4;
    return one.operands.size();
  }

  void enter(const TileNest& what) {
    if (nest_) say("a nest in a nest");
    nest_ = AxisSet{0};
    for (const auto i : what.axes)
      if (i < 32) *nest_ |= AxisSet{1} << i;
  }

  /// Of a value that does not exist, which was said, anything.
  [[nodiscard]] auto type(TileId id) const -> TileType {
    return exists(id) ? kernel_.type(id) : TileType();
  }
  [[nodiscard]] auto dtype(TileId id) const -> DType { return type(id).dtype; }
  void counts(const TileStatement& one, std::size_t operands, std::size_t results,
              std::string_view what) {
    if (one.operands.size() != operands || one.results.size() != results)
      say(fmt::format("{} with {} operands and {} results", what, one.operands.size(),
                      one.results.size()));
  }
  void covers(const TileStatement& one) {
    if (one.results.empty()) return;
    AxisSet axes = 0;
    for (const auto id : one.operands)
      if (id != kNoTile) axes |= type(id).axes;
    if ((axes & ~type(one.results[0]).axes) != 0)
      say("an operand varies over an axis that the result does not have");
  }
  void param(std::size_t i, TileParam::Kind kind) {
    if (i >= kernel_.params.size()) return say("a parameter that does not exist");
    const bool is_buffer = kernel_.params[i].kind == TileParam::Kind::buffer;
    if (is_buffer != (kind == TileParam::Kind::buffer))
      say(fmt::format("{} is {} buffer", kernel_.params[i].name, is_buffer ? "a" : "no"));
  }
  void has_axis(std::size_t i) {
    if (i >= kernel_.axes.size()) say("an axis that does not exist");
  }
  void is_index(TileId id) {
    if (is_floating(dtype(id)) || dtype(id) == DType::boolean) say("an index that is no integer");
  }
  void is_mask(TileId id) {
    if (id != kNoTile && dtype(id) != DType::boolean) say("a mask that is no truth value");
  }

  void check(const TileStatement& one, const TileConstant& what) {
    counts(one, 0, 1, "a constant");
    if (one.results.size() == 1 &&
        is_floating(dtype(one.results[0])) != std::holds_alternative<double>(what.value))
      say("a constant of another kind than its dtype");
  }
  void check(const TileStatement& one, const TileParamValue& what) {
    counts(one, 0, 1, "a parameter");
    param(what.param, TileParam::Kind::scalar);
  }
  void check(const TileStatement& one, const TileLane& what) {
    counts(one, 0, 1, "a lane");
    has_axis(what.axis);
  }
  void check(const TileStatement& one, const TileIndex& what) {
    counts(one, 0, 1, "an index");
    has_axis(what.axis);
    if (what.axis < kernel_.axes.size() && !kernel_.axes[what.axis].exact)
      say("an index of an axis that is not exact");
    if (what.axis < std::min<std::size_t>(kernel_.axes.size(), 32) &&
        kernel_.axes[what.axis].kind == TileAxis::Kind::nested &&
        (nest_.value_or(0) >> what.axis & 1U) == 0)
      say("an index of an axis that no nest around it takes");
  }
  void check(const TileStatement& one, const TileProgram& what) {
    counts(one, 0, 1, "a program");
    if (what.dimension < 0 || what.dimension > 2) say("a grid has three dimensions");
  }
  void check(const TileStatement& one, const TileCompute& what) {
    const auto& row = tile_op_row(what.op);
    counts(one, static_cast<std::size_t>(row.operands), 1, row.name);
    if (static_cast<int>(one.operands.size()) != row.operands || one.results.size() != 1) return;
    covers(one);
    const std::size_t first = row.result == TileResult::select ? 1 : 0;
    const auto of = dtype(one.operands[first]);
    for (auto i = first; i < one.operands.size(); ++i)
      if (dtype(one.operands[i]) != of) say(fmt::format("{} of different dtypes", row.name));
    if (first == 1) is_mask(one.operands[0]);
    const auto result = dtype(one.results[0]);
    if (row.result == TileResult::boolean && result != DType::boolean)
      say(fmt::format("{} gives a truth value", row.name));
    if ((row.result == TileResult::same || first == 1) && result != of)
      say(fmt::format("{} keeps the dtype", row.name));
    if (tile_evaluate(what.op, of, result) == nullptr)
      say(fmt::format("{} of {}", row.name, name(of)));
  }
  void check(const TileStatement& one, const TileLoad& what) {
    counts(one, 3, 1, "a load");
    param(what.param, TileParam::Kind::buffer);
    if (one.operands.size() != 3) return;
    covers(one);
    is_index(one.operands[0]);
    is_mask(one.operands[1]);
  }
  void check(const TileStatement& one, const TileStore& what) {
    counts(one, 3, 0, "a store");
    param(what.param, TileParam::Kind::buffer);
    if (one.operands.size() != 3) return;
    is_index(one.operands[0]);
    is_mask(one.operands[2]);
    if (what.param < kernel_.params.size() &&
        dtype(one.operands[1]) != kernel_.params[what.param].dtype)
      say("a store of another dtype than the buffer's");
  }
  void check(const TileStatement& one, const TileAtomic& what) {
    counts(one, 3, 1, "an atomic operation");
    param(what.param, TileParam::Kind::buffer);
    if (one.operands.size() != 3) return;
    covers(one);
    is_index(one.operands[0]);
    is_mask(one.operands[2]);
  }
  void check(const TileStatement& one, const TileReduce& what) {
    has_axis(what.axis);
    if (one.operands.empty() || one.operands.size() != one.results.size())
      return say("a reduction gives as many values as it takes");
    for (const auto id : one.results)
      if (what.axis < 32 && (type(id).axes >> what.axis & 1U) != 0)
        say("a reduction leaves its axis");
    combining(one, what.combine);
  }
  void check(const TileStatement& one, const TileScan& what) {
    has_axis(what.axis);
    if (one.operands.empty() || one.operands.size() != one.results.size())
      return say("a scan gives as many values as it takes");
    covers(one);
    combining(one, what.combine);
  }
  void combining(const TileStatement& one, TileCombine combine) {
    const std::size_t wanted = combine == TileCombine::welford ? 3
                               : combine == TileCombine::argmin || combine == TileCombine::argmax ||
                                       combine == TileCombine::online_softmax
                                   ? 2
                                   : 1;
    if (combine != TileCombine::region) {
      if (one.operands.size() != wanted) say("a combination of other values");
      return;
    }
    if (one.regions.size() != 1 || one.regions[0].params.size() != 2 * one.operands.size() ||
        one.regions[0].yields.size() != one.operands.size())
      say("a combination whose region does not fit");
  }
  void check(const TileStatement& one, const TileSort& what) {
    has_axis(what.axis);
    if (one.results.empty() || one.operands.size() != one.results.size() + 1)
      say("a sort gives as many values as it takes");
    if (what.by_all)
      for (std::size_t i = 0; i + 1 < one.operands.size(); ++i)
        if (is_floating(dtype(one.operands[i]))) say("floats are not compared in turn");
    if (what.is_bitonic && !one.operands.empty() && one.operands.back() != kNoTile)
      say("of a bitonic row all lanes take part");
  }
  void check(const TileStatement& one, const TileSearch& what) {
    counts(one, 6, 1, "a search");
    param(what.param, TileParam::Kind::buffer);
    if (what.sorter) param(*what.sorter, TileParam::Kind::buffer);
  }
  void check(const TileStatement& one, const TileRandom& what) {
    using enum TileRandomKind;
    const bool are_words = what.kind == words;
    counts(one,
           what.kind == integer64 ? 4
           : are_words            ? 3
                                  : 2,
           are_words ? 4 : 1, "a random number");
    covers(one);
  }
  void check(const TileStatement& one, const TileDot& what) {
    counts(one, 3, 1, "a block product");
    has_axis(what.axis);
  }
  void check(const TileStatement& one, const TileBarrier&) { counts(one, 0, 0, "a barrier"); }
  void check(const TileStatement& one, const TileArrive& what) {
    counts(one, 2, 1, "an arrival");
    param(what.param, TileParam::Kind::buffer);
  }
  void check(const TileStatement& one, const TileAssert&) {
    counts(one, 2, 0, "an assert");
    if (one.operands.size() == 2) {
      is_mask(one.operands[0]);
      is_mask(one.operands[1]);
    }
  }
  void check(const TileStatement& one, const TileLoop& what) {
    if (what.axis) has_axis(*what.axis);
    if (one.operands.size() < 3 || one.regions.size() != 1)
      return say("a loop without begin, end, step and body");
    const auto carried = one.operands.size() - 3;
    const auto& body = one.regions[0];
    if (body.params.size() != carried + 1 || body.yields.size() != carried ||
        one.results.size() != carried)
      return say("a loop that carries other values than it yields");
    for (std::size_t i = 0; i < carried; ++i) {
      const auto wanted = type(body.params[i + 1]);
      if (type(one.results[i]) != wanted) say("a loop whose result has another type");
      for (const auto id : {one.operands[i + 3], body.yields[i]})
        if (dtype(id) != wanted.dtype || (type(id).axes & ~wanted.axes) != 0)
          say("a loop that carries a value of another type");
    }
  }
  void check(const TileStatement& one, const TileNest& what) {
    counts(one, 0, 0, "a nest");
    if (one.regions.size() != 1 || !one.regions[0].params.empty() || !one.regions[0].yields.empty())
      return say("a nest without a body of its own");
    AxisSet seen = 0;
    for (const auto i : what.axes) {
      has_axis(i);
      if (i >= kernel_.axes.size() || i >= 32) continue;
      if (kernel_.axes[i].kind != TileAxis::Kind::nested || !kernel_.axes[i].exact)
        say(fmt::format("a nest over {}, which is no exact axis of nests", kernel_.axes[i].name));
      if ((seen >> i & 1U) != 0) say(fmt::format("a nest over {} twice", kernel_.axes[i].name));
      seen |= AxisSet{1} << i;
    }
  }
  void check(const TileStatement& one, const TileIf&) {
    if (one.operands.size() != 1 || one.regions.size() != 2)
      return say("a branch without condition and two regions");
    if (type(one.operands[0]) != TileType{DType::boolean, 0}) say("a branch that lanes decide");
    for (const auto& inner : one.regions)
      if (inner.yields.size() != one.results.size())
        say("a branch that gives other values than the statement");
  }

  const TileKernel& kernel_;
  std::vector<bool> is_defined_;
  std::vector<std::string> problems_;
  int line_ = 0;
  std::optional<AxisSet> nest_;  ///< axes of the nest we are in
};

}  // namespace

auto operator==(const TileConstant& a, const TileConstant& b) -> bool {
  if (a.value.index() != b.value.index()) return false;
  const auto* x = std::get_if<double>(&a.value);
  if (x == nullptr) return std::get<std::int64_t>(a.value) == std::get<std::int64_t>(b.value);
  const auto y = std::get<double>(b.value);
  return (std::isnan(*x) && std::isnan(y)) || (*x == y && std::signbit(*x) == std::signbit(y));
}

auto verify(const TileKernel& kernel) -> std::vector<std::string> {
  return Verifier(kernel).run();
}

}  // namespace assay
