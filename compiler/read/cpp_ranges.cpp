// Branches that take rounds of loops over vectors: whole vectors and what is left of them. Where
// all do the same to their elements they are one.
#include <algorithm>
#include <map>

#include "compiler/read/cpp_reader.h"

namespace assay {
namespace {

auto is_multiple(const Expr& e, std::int64_t of) -> bool {
  return floor_div(e, of) * Expr(of) == e;
}

/// Values of one run of a branch as those of another.
class SameValues {
 public:
  explicit SameValues(TileId first) : first_(first) {}
  void relate(TileId a, TileId b) { other_[a] = b; }
  [[nodiscard]] auto operator()(TileId a, TileId b) const -> bool {
    if (a < first_ || b < first_) return a == b;
    const auto found = other_.find(a);
    return found != other_.end() && found->second == b;
  }
  [[nodiscard]] auto operator()(const CppValue& a, const CppValue& b) const -> bool {
    if (a.kind != b.kind || a.dtype != b.dtype || a.is_vector != b.is_vector ||
        a.is_local != b.is_local || a.expr != b.expr || a.where != b.where || a.parts != b.parts ||
        a.is_neutral != b.is_neutral || a.fields.size() != b.fields.size())
      return false;
    if (a.kind == CppValue::Kind::tile && !(*this)(a.id, b.id)) return false;
    for (std::size_t i = 0; i < a.fields.size(); ++i)
      if (!(*this)(a.fields[i], b.fields[i])) return false;
    return true;
  }

 private:
  TileId first_;
  std::map<TileId, TileId> other_;
};

/// Of rounds only their first elements are compared: `x0 < 1` takes the same as `x0 < 16` where 16
/// are a round.
auto first_behind(const CppLoop& loop, const Expr& bound) -> Expr {
  const auto begin = loop.begin.as_int();
  const auto end = loop.end.as_int();
  const auto at = bound.as_int();
  if (!begin || !end || !at || *at <= *begin || loop.width < 1) return bound;
  const auto rounds = (*at - *begin + loop.width - 1) / loop.width;
  return std::min(*begin + rounds * loop.width, *end);
}

}  // namespace

auto CppReader::save() const -> State {
  return {builder_.save(), locals_, arrays_, accesses_.size(), kernel_.not_understood.size(),
          loaded_,         stored_};
}
void CppReader::restore(const State& state) {
  builder_.restore(state.builder);
  locals_ = state.locals;
  arrays_ = state.arrays;
  accesses_.resize(state.accesses);
  kernel_.not_understood.resize(state.problems);
  loaded_ = state.loaded;
  stored_ = state.stored;
}

/// Nothing if the condition is about anything else.
auto CppReader::ranges_of(int condition) -> std::optional<std::vector<CppRange>> {
  const auto& one = syntax_.node(condition);
  if (one.kind == CppKind::call && one.children.size() == 2) {
    const auto& name = syntax_.node(one.children[0]).text;
    if (name == "C10_LIKELY" || name == "C10_UNLIKELY") return ranges_of(one.children[1]);
  }
  if (one.kind != CppKind::binary) return std::nullopt;
  if (one.text == "&&") {
    auto left = ranges_of(one.children[0]);
    const auto right = ranges_of(one.children[1]);
    if (!left || !right) return std::nullopt;
    for (const auto& range : *right) {
      const auto known = std::ranges::find(*left, range.loop, &CppRange::loop);
      const auto& all = loops_[range.loop];
      if (known == left->end()) {
        left->push_back(range);
        continue;
      }
      if (range.low != all.begin) known->low = range.low;
      if (range.high != all.end) known->high = range.high;
    }
    return left;
  }
  const auto name = syntax_.node(one.children[0]).text;
  const auto loop = std::ranges::find_if(
      loops_, [&](const CppLoop& l) { return l.name == name && l.width != 1; });
  if (loop == loops_.end() || syntax_.node(one.children[0]).kind != CppKind::name)
    return std::nullopt;
  const auto bound = integer(one.children[1]);
  if (!bound) return std::nullopt;
  CppRange range{static_cast<std::size_t>(loop - loops_.begin()), loop->begin, loop->end};
  if (one.text == ">=")
    range.low = first_behind(*loop, *bound);
  else if (one.text == "<")
    range.high = first_behind(*loop, *bound);
  else
    return std::nullopt;
  return std::vector{range};
}

/// Rounds of whole vectors, or one round of less.
auto CppReader::enter(const Branch& branch) -> Result<void> {
  for (const auto& range : branch.ranges) {
    auto& loop = loops_[range.loop];
    const auto low = range.low - loop.begin;
    const auto high = range.high - loop.begin;
    loop.is_whole = true;
    loop.low = range.low;
    loop.high = range.high;
    if (loop.width == 0) continue;
    if (!is_multiple(low, loop.width)) return bad_input("a range that starts within a vector");
    if (is_multiple(high, loop.width)) {
      loop.count = loop.width;
      continue;
    }
    loop.count = high - low;
    const auto rest = loop.count.as_int();
    const bool is_one =
        rest ? *rest <= loop.width : low == floor_div(high, loop.width) * Expr(loop.width);
    if (!is_one) return bad_input("a range of more than one vector that is no multiple of it");
  }
  return {};
}

/// Together they take every round once.
auto CppReader::covers(const std::vector<Branch>& branches) const -> bool {
  std::size_t wanted = 1;
  for (const auto& first : branches[0].ranges) {
    std::map<std::string, std::pair<Expr, Expr>> parts;
    for (const auto& branch : branches) {
      const auto same = std::ranges::find(branch.ranges, first.loop, &CppRange::loop);
      if (same == branch.ranges.end()) return false;
      const bool is_known = std::ranges::any_of(
          parts, [&](const auto& part) { return part.second == std::pair(same->low, same->high); });
      if (!is_known) parts[std::to_string(parts.size())] = {same->low, same->high};
    }
    auto at = loops_[first.loop].begin;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto next =
          std::ranges::find_if(parts, [&](const auto& part) { return part.second.first == at; });
      if (next == parts.end()) return false;
      at = next->second.second;
    }
    if (at != loops_[first.loop].end) return false;
    wanted *= parts.size();
  }
  return branches.size() == wanted && std::ranges::all_of(branches, [&](const Branch& branch) {
           return branch.ranges.size() == branches[0].ranges.size();
         });
}

auto CppReader::run_branch(const Branch& branch, const State& before) -> Outcome {
  const auto loops = loops_;
  Outcome result;
  if (auto entered = enter(branch); !entered)
    keep(branch.node, entered.error().message);
  else
    statement(branch.node);
  loops_ = loops;
  const auto from = static_cast<std::ptrdiff_t>(before.builder.statements);
  result.statements.assign(builder_.body().begin() + from, builder_.body().end());
  result.values.assign(kernel_.values.begin() + static_cast<std::ptrdiff_t>(before.builder.values),
                       kernel_.values.end());
  result.locals = locals_;
  result.arrays = arrays_;
  result.is_understood = kernel_.not_understood.size() == before.problems;
  return result;
}

auto CppReader::is_same(const Outcome& a, const Outcome& b, const State& before) const -> bool {
  if (!a.is_understood || !b.is_understood || a.statements.size() != b.statements.size() ||
      a.arrays.size() != b.arrays.size())
    return false;
  const auto first = static_cast<TileId>(before.builder.values);
  const auto type = [&](const Outcome& of, TileId id) {
    return id < first ? kernel_.type(id) : of.values[static_cast<std::size_t>(id - first)].type;
  };
  SameValues same(first);
  for (std::size_t i = 0; i < a.statements.size(); ++i) {
    const auto& x = a.statements[i];
    const auto& y = b.statements[i];
    if (x.what != y.what || x.operands.size() != y.operands.size() ||
        x.results.size() != y.results.size())
      return false;
    for (std::size_t k = 0; k < x.operands.size(); ++k)
      if (!same(x.operands[k], y.operands[k])) return false;
    for (std::size_t k = 0; k < x.results.size(); ++k) {
      if (type(a, x.results[k]) != type(b, y.results[k])) return false;
      same.relate(x.results[k], y.results[k]);
    }
  }
  for (const auto& [name, local] : before.locals) {
    const auto x = a.locals.find(name);
    const auto y = b.locals.find(name);
    if (x == a.locals.end() || y == b.locals.end() || !same(x->second.value, y->second.value))
      return false;
  }
  for (std::size_t i = 0; i < before.arrays.size(); ++i) {
    const auto& x = a.arrays[i].stored;
    const auto& y = b.arrays[i].stored;
    if (x.size() != y.size()) return false;
    for (std::size_t k = 0; k < x.size(); ++k)
      if (x[k].index != y[k].index || x[k].rows || y[k].rows || !same(x[k].mask, y[k].mask) ||
          !same(x[k].value, y[k].value))
        return false;
  }
  return true;
}

auto CppReader::mask_of(const Branch& branch) -> Result<TileId> {
  auto mask = mask_;
  for (const auto& range : branch.ranges) {
    const auto& loop = loops_[range.loop];
    ASSAY_TRY(const auto index, builder_.number(loop.index));
    const auto compare = [&](TileOp op, const Expr& bound) -> Result<void> {
      ASSAY_TRY(const auto limit, builder_.number(bound - loop.begin));
      ASSAY_TRY(const auto one, builder_.compute(op, {index, limit}));
      ASSAY_TRY(mask, both(mask, one));
      return {};
    };
    if (range.low != loop.begin) ASSAY_TRY_VOID(compare(TileOp::ge, range.low));
    if (range.high != loop.end) ASSAY_TRY_VOID(compare(TileOp::lt, range.high));
  }
  return mask;
}

void CppReader::ranged(const std::vector<Branch>& branches) {
  const auto before = save();
  std::vector<Outcome> others;
  for (std::size_t i = 1; i < branches.size(); ++i) {
    others.push_back(run_branch(branches[i], before));
    restore(before);
  }
  const auto first = run_branch(branches[0], before);
  const auto agrees = [&](const Outcome& other) { return is_same(first, other, before); };
  if (first.is_understood && covers(branches) && std::ranges::all_of(others, agrees)) return;
  restore(before);
  for (const auto& branch : branches) {
    const auto outer = mask_;
    auto mask = mask_of(branch);
    if (!mask) {
      keep(branch.node, mask.error().message);
      continue;
    }
    mask_ = *mask;
    static_cast<void>(run_branch(branch, save()));
    mask_ = outer;
  }
}

}  // namespace assay
