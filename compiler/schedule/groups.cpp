#include "compiler/schedule/groups.h"

#include <algorithm>
#include <functional>
#include <ranges>
#include <set>

#include "compiler/prove/normalise.h"
#include "compiler/schedule/run_order.h"
#include "core/expr/text.h"

namespace assay {
namespace {

/// A read of a stored tensor, over the axes of the reader's own nest.
struct Read {
  DefId def;
  Index position;
};

/// What a stored tensor's loop is by itself.
struct Nest {
  Dims extents;
  std::vector<bool> reduced;
  bool is_scan = false;
  std::vector<Expr> symbols;  ///< by dimension; 0 where the extent is 1
  std::vector<Read> reads;
};

auto simplified(const Expr& e) -> Expr {
  static const Ranges kNone;
  if (e.is_const() || e.op() == ExprOp::symbol) return e;
  return RangeSimplifier(kNone).apply(e);
}

class Grouper {
 public:
  Grouper(const ScheduleInput& input, const MemoryChoice& memory, const ScheduleOptions& options,
          std::vector<CompileDecision>& decisions)
      : graph_(input.graph),
        pool_(input.env.pool()),
        memory_(memory),
        options_(options),
        decisions_(decisions) {
    result_.unit_of.resize(graph_.defs.size());
    for (std::size_t i = 0; i < kMostAxes; ++i)
      axis_symbols_.push_back(pool_.symbol(fmt::format("assay_i{}", i)));
  }

  auto run() -> Result<Grouping> {
    std::size_t next_call = 0;
    for (DefId id = 0; id <= graph_.defs.size(); ++id) {
      while (next_call < graph_.calls.size() && graph_.calls[next_call].defs_before <= id)
        add_call(next_call++);
      if (id == graph_.defs.size()) break;
      const auto& def = graph_.defs[id];
      if (!memory_.needed[id] || !memory_.stored[id] || !def.is_computed() || def.owner != id)
        continue;
      ASSAY_TRY(nests_[id], nest_of(id));
      place(id, nests_.at(id));
    }
    if (options_.fuse) merge_units();
    order();
    return std::move(result_);
  }

 private:
  static constexpr std::size_t kMostAxes = 24;
  static constexpr const char* kElsewhere = "reads elements of other iterations";

  /// The stored tensor whose elements a read of `id` are, if loops can follow.
  [[nodiscard]] auto is_read(DefId id) const -> bool {
    const auto& def = graph_.defs[id];
    if (!def.is_computed()) return true;
    return def.owner == id && memory_.stored[id];
  }

  auto nest_of(DefId id) -> Result<Nest> {
    const auto& def = graph_.defs[id];
    Nest nest;
    nest.extents = def.reduction ? def.reduction->over : def.meta.sizes;
    nest.reduced =
        def.reduction ? def.reduction->reduced : std::vector<bool>(nest.extents.size(), false);
    nest.is_scan = def.reduction && def.reduction->is_scan;
    std::vector<LoopAxis> axes;
    LoopPlace place;
    for (std::size_t i = 0; i < nest.extents.size(); ++i) {
      if (axes.size() >= kMostAxes) return unsupported("{}: too many dimensions", def.origin);
      const bool is_one = nest.extents[i].is_int(1);
      nest.symbols.push_back(is_one ? Expr(0) : pool_.symbol(fmt::format("assay_f{}", i)));
      place.position.push_back(nest.symbols.back());
      place.axes.emplace_back();
      if (is_one) continue;
      place.axes.back().push_back(axes.size());
      axes.push_back({nest.extents[i], nest.symbols.back(), nest.reduced[i]});
    }
    auto form = plain_form(axes);
    form.is_trial = true;
    LoopBuilder builder(graph_, pool_, form, [&](DefId read, const Index& position) {
      if (read == id || !is_read(read)) return false;
      nest.reads.push_back({read, position});
      return true;
    });
    (void)builder.root(id, place);
    if (!builder.error().empty()) return unsupported("{}: {}", def.origin, builder.error());
    return nest;
  }

  /// The unit that makes what is read; nothing for inputs.
  [[nodiscard]] auto maker(DefId read) const -> std::optional<std::size_t> {
    return result_.unit_of[graph_.defs[read].owner];
  }

  void add_call(std::size_t i) {
    if (!memory_.calls[i]) return;
    const auto& call = graph_.calls[i];
    ScheduleUnit unit;
    unit.call = i;
    unit.epoch = epoch_;
    const auto id = result_.units.size();
    const auto reads = [&](DefId read) {
      depend(unit, maker(read));
      auto& readers = result_.readers[graph_.defs[read].owner];
      if (readers.empty() || readers.back() != id) readers.push_back(id);
    };
    for (const auto& arg : call.args)
      visit_tensors(arg, [&](DefId one) { memory_.visit_read(graph_, one, reads); });
    if (last_write_) depend(unit, last_write_);
    if (!call.written.empty()) {
      for (std::size_t k = 0; k < id; ++k) depend(unit, k);
      last_write_ = id;
      ++epoch_;
    }
    for (const auto made : call.results) result_.unit_of[made] = id;
    const auto kind = call.scatter ? CompileDecision::Kind::fuse : CompileDecision::Kind::library;
    decisions_.push_back({kind, !call.scatter, call.origin, call.target, call.reason});
    add_unit(std::move(unit));
  }

  static void depend(ScheduleUnit& unit, std::optional<std::size_t> on) {
    if (on && std::ranges::find(unit.after, *on) == unit.after.end()) unit.after.push_back(*on);
  }

  /// Adds a unit whose dependencies are known.
  void add_unit(ScheduleUnit unit) {
    const auto id = result_.units.size();
    run_order_.add_unit();
    for (const auto before : unit.after) run_order_.add(id, before);
    result_.units.push_back(std::move(unit));
  }

  /// Where the tensor would stand in a unit, or why it may not.
  auto try_join(DefId id, const Nest& nest, std::size_t at, std::string& reason)
      -> std::optional<LoopPlace> {
    const auto& unit = result_.units[at];
    if (unit.call || unit.epoch != epoch_)
      return reason = "memory is written between", std::nullopt;
    if (unit.roots.size() >= options_.most_tensors)
      return reason = "the kernel is full", std::nullopt;
    const auto place = place_of(id, nest, unit, reason);
    if (!place) return std::nullopt;
    for (const auto& read : nest.reads) {
      const auto made_by = maker(read.def);
      if (!made_by) continue;
      if (*made_by != at && run_order_.is_behind(*made_by, at))
        return reason = "a step between them", std::nullopt;
      if (*made_by == at && !is_in_place(read, nest, *place, unit))
        return reason = kElsewhere, std::nullopt;
    }
    return place;
  }

  /// Where it would stand in the loops of a unit, whatever it reads.
  auto place_of(DefId id, const Nest& nest, const ScheduleUnit& unit, std::string& reason) const
      -> std::optional<LoopPlace> {
    std::vector<std::size_t> all, parallel;
    for (std::size_t i = 0; i < unit.axes.size(); ++i) {
      all.push_back(i);
      if (!unit.axes[i].is_reduced) parallel.push_back(i);
    }
    auto place = place_in(nest.extents, unit.axes, all);
    const bool reduces = graph_.defs[id].reduction.has_value();
    if (!place && !reduces) place = place_in(nest.extents, unit.axes, parallel);
    if (!place) return reason = "other loops", std::nullopt;
    if (reduces && !reduces_same(nest, *place, unit))
      return reason = "reduces other dimensions", std::nullopt;
    return place;
  }

  /// Two reductions of one kernel reduce the same axes.
  [[nodiscard]] static auto reduces_same(const Nest& nest, const LoopPlace& place,
                                         const ScheduleUnit& unit) -> bool {
    std::vector<bool> reduced(unit.axes.size(), false);
    for (std::size_t i = 0; i < nest.reduced.size(); ++i) {
      if (nest.reduced[i] && place.axes[i].empty() && !nest.extents[i].is_int(1)) return false;
      if (nest.is_scan && nest.reduced[i] && place.axes[i].size() > 1) return false;
      for (const auto axis : place.axes[i]) reduced[axis] = nest.reduced[i];
    }
    bool any = false, same = true;
    for (std::size_t i = 0; i < unit.axes.size(); ++i) {
      any = any || unit.axes[i].is_reduced;
      same = same && unit.axes[i].is_reduced == reduced[i];
    }
    return !any || same;
  }

  [[nodiscard]] auto is_in_place(const Read& read, const Nest& nest, const LoopPlace& place,
                                 const ScheduleUnit& unit) const -> bool {
    const auto at = std::ranges::find(unit.roots, read.def);
    if (at == unit.roots.end()) return false;
    const auto& made = unit.places[static_cast<std::size_t>(at - unit.roots.begin())];
    const auto canonical = stored_position(graph_.defs[read.def], made);
    std::unordered_map<Expr, Expr> moved;
    for (std::size_t i = 0; i < nest.symbols.size(); ++i)
      if (nest.symbols[i].op() == ExprOp::symbol) moved[nest.symbols[i]] = place.position[i];
    if (canonical.size() != read.position.size()) return false;
    for (std::size_t i = 0; i < canonical.size(); ++i)
      if (simplified(substitute(read.position[i], moved)) != canonical[i]) return false;
    return true;
  }

  [[nodiscard]] static auto stored_position(const TensorDef& def, const LoopPlace& place) -> Index {
    return def.reduction ? def.reduction->result_position(place.position) : place.position;
  }

  void join(DefId id, const Nest& nest, std::size_t at, LoopPlace place) {
    auto& unit = result_.units[at];
    for (const auto& read : nest.reads) {
      const auto made_by = maker(read.def);
      if (!made_by || *made_by == at) continue;
      depend(unit, made_by);
      run_order_.add(at, *made_by);
    }
    take(unit, id, nest, std::move(place));
    result_.unit_of[id] = at;
  }
  static void take(ScheduleUnit& unit, DefId id, const Nest& nest, LoopPlace place) {
    for (std::size_t i = 0; i < nest.reduced.size(); ++i)
      if (nest.reduced[i])
        for (const auto axis : place.axes[i]) unit.axes[axis].is_reduced = true;
    unit.roots.push_back(id);
    unit.places.push_back(std::move(place));
  }

  // Whole kernels -------------------------------------------------------------------------------
  /// A tensor joins one kernel although it would fit two, which then may become one.
  void merge_units() {
    for (bool again = true; again;) {
      again = false;
      for (std::size_t at = result_.units.size(); at-- > 1;)
        if (!result_.units[at].call && !result_.units[at].roots.empty())
          again = merge_into_earlier(at) || again;
    }
  }

  auto merge_into_earlier(std::size_t at) -> bool {
    std::set<std::size_t> near;  // kernels that make or read what this one reads
    for (const auto root : result_.units[at].roots)
      for (const auto other : candidates(nests_.at(root)))
        if (other < at) near.insert(other);
    for (const auto into : std::views::reverse(near)) {
      std::string reason;
      auto merged = merged_unit(into, at, reason);
      const auto leader = [&](std::size_t unit) {
        return graph_.defs[result_.units[unit].roots[0]].origin;
      };
      if (!merged && reason.empty()) continue;
      CompileDecision decision{CompileDecision::Kind::fuse, merged.has_value(), leader(at),
                               leader(into), merged ? "the kernels have the same loops" : reason};
      const bool is_forbidden = merged && options_.is_forbidden && options_.is_forbidden(decision);
      if (!merged || is_forbidden) continue;
      decisions_.push_back(std::move(decision));
      replace(into, at, *std::move(merged));
      return true;
    }
    return false;
  }

  /// Both as one, with the roots of the second behind those of the first; or why that may not be.
  auto merged_unit(std::size_t first, std::size_t second, std::string& reason)
      -> std::optional<ScheduleUnit> {
    auto merged = result_.units[first];
    const auto& other = result_.units[second];
    if (merged.roots.empty() || merged.epoch != other.epoch ||
        merged.roots.size() + other.roots.size() > options_.most_tensors ||
        run_order_.is_behind(first, second))
      return std::nullopt;
    for (const auto after : other.after)
      if (after != first) depend(merged, after);
    for (const auto after : merged.after)
      if (run_order_.is_behind(after, first) || run_order_.is_behind(after, second))
        return reason = "a step between them", std::nullopt;
    for (const auto root : other.roots) {
      const auto& nest = nests_.at(root);
      auto place = place_of(root, nest, merged, reason);
      if (!place) return std::nullopt;
      for (const auto& read : nest.reads)
        if (const auto made_by = maker(read.def); made_by == first || made_by == second)
          if (!is_in_place(read, nest, *place, merged)) return reason = kElsewhere, std::nullopt;
      take(merged, root, nest, *std::move(place));
    }
    return merged;
  }

  void replace(std::size_t into, std::size_t gone, ScheduleUnit merged) {
    for (const auto root : result_.units[gone].roots) result_.unit_of[root] = into;
    run_order_.merge(into, gone);
    result_.units[into] = std::move(merged);
    result_.units[gone].roots.clear();
    result_.units[gone].after.clear();
    for (auto& unit : result_.units) {
      if (std::erase(unit.after, gone) > 0) depend(unit, into);
    }
    for (auto& [def, readers] : result_.readers) {
      if (std::erase(readers, gone) > 0 && std::ranges::find(readers, into) == readers.end())
        readers.push_back(into);
      std::ranges::sort(readers);
    }
  }

  /// Kernels that make what is read come first, then kernels that read the same.
  auto candidates(const Nest& nest) -> std::vector<std::size_t> {
    std::vector<std::size_t> found;
    const auto add = [&](std::size_t unit) {
      if (!result_.units[unit].call && std::ranges::find(found, unit) == found.end())
        found.push_back(unit);
    };
    for (const auto& read : nest.reads)
      if (const auto made_by = maker(read.def)) add(*made_by);
    std::ranges::sort(found, std::greater());
    constexpr std::size_t kMost = 8;
    for (const auto& read : nest.reads) {
      const auto known = result_.readers.find(graph_.defs[read.def].owner);
      if (known == result_.readers.end()) continue;
      const auto& readers = known->second;
      for (auto at = readers.rbegin(); at != readers.rend() && found.size() < kMost; ++at) add(*at);
    }
    return found;
  }

  void place(DefId id, const Nest& nest) {
    const auto& def = graph_.defs[id];
    bool done = false;
    if (options_.fuse)
      for (const auto at : candidates(nest)) {
        std::string reason;
        auto place = try_join(id, nest, at, reason);
        const auto& leader = graph_.defs[result_.units[at].roots[0]].origin;
        CompileDecision decision{CompileDecision::Kind::fuse, place.has_value(), def.origin, leader,
                                 place ? "same loops" : reason};
        if (place && options_.is_forbidden && options_.is_forbidden(decision)) {
          place.reset();
          decision.accepted = false;
          decision.reason = "forbidden";
        }
        decisions_.push_back(std::move(decision));
        if (!place) continue;
        join(id, nest, at, *std::move(place));
        done = true;
        break;
      }
    if (!done) start(id, nest);
    for (const auto& read : nest.reads) {
      auto& readers = result_.readers[graph_.defs[read.def].owner];
      if (readers.empty() || readers.back() != *result_.unit_of[id])
        readers.push_back(*result_.unit_of[id]);
    }
  }

  void start(DefId id, const Nest& nest) {
    ScheduleUnit unit;
    unit.epoch = epoch_;
    LoopPlace place;
    for (std::size_t i = 0; i < nest.extents.size(); ++i) {
      place.axes.emplace_back();
      if (nest.extents[i].is_int(1)) {
        place.position.emplace_back(0);
        continue;
      }
      const auto symbol = axis_symbols_[unit.axes.size()];
      place.axes.back().push_back(unit.axes.size());
      place.position.push_back(symbol);
      unit.axes.push_back({nest.extents[i], symbol, nest.reduced[i]});
    }
    if (last_write_) depend(unit, last_write_);
    add_unit(std::move(unit));
    join(id, nest, result_.units.size() - 1, std::move(place));
  }

  /// Dependencies first, else as early as the graph has it.
  void order() {
    const auto count = result_.units.size();
    const auto is_gone = [&](std::size_t i) {
      return !result_.units[i].call && result_.units[i].roots.empty();
    };
    std::vector<std::size_t> missing(count, 0);
    std::vector<std::vector<std::size_t>> users(count);
    for (std::size_t i = 0; i < count; ++i) {
      missing[i] = result_.units[i].after.size();
      for (const auto before : result_.units[i].after) users[before].push_back(i);
    }
    std::set<std::size_t> ready;
    for (std::size_t i = 0; i < count; ++i)
      if (missing[i] == 0 && !is_gone(i)) ready.insert(i);
    while (!ready.empty()) {
      const auto next = *ready.begin();
      ready.erase(ready.begin());
      result_.order.push_back(next);
      for (const auto user : users[next])
        if (--missing[user] == 0) ready.insert(user);
    }
  }

  const LoweredGraph& graph_;
  ExprPool& pool_;
  const MemoryChoice& memory_;
  const ScheduleOptions& options_;
  std::vector<CompileDecision>& decisions_;
  Grouping result_;
  std::vector<Expr> axis_symbols_;
  RunOrder run_order_;
  std::map<DefId, Nest> nests_;  ///< of stored tensors
  std::size_t epoch_ = 0;
  std::optional<std::size_t> last_write_;
};

}  // namespace

auto place_in(const Dims& extents, const std::vector<LoopAxis>& axes,
              const std::vector<std::size_t>& allowed) -> std::optional<LoopPlace> {
  LoopPlace place;
  place.position.assign(extents.size(), Expr(0));
  place.axes.resize(extents.size());
  std::vector<std::size_t> dims;
  for (std::size_t i = 0; i < extents.size(); ++i)
    if (!extents[i].is_int(1)) dims.push_back(i);
  std::size_t d = 0, a = 0;
  while (d < dims.size() && a < allowed.size()) {
    const auto d0 = d, a0 = a;
    Expr dn = extents[dims[d++]];
    Expr an = axes[allowed[a++]].extent;
    // Either several axes are one dimension or several dimensions are one axis.
    while (dn != an && a < allowed.size() && d - d0 == 1) {
      an = an * axes[allowed[a]].extent;
      ++a;
    }
    if (dn != an) {
      a = a0 + 1;
      an = axes[allowed[a0]].extent;
      while (dn != an && d < dims.size()) dn = dn * extents[dims[d++]];
      if (dn != an) return std::nullopt;
    }
    if (d - d0 == 1) {
      Expr sum(0);
      for (auto k = a0; k < a; ++k) {
        sum = sum * axes[allowed[k]].extent + axes[allowed[k]].symbol;
        place.axes[dims[d0]].push_back(allowed[k]);
      }
      place.position[dims[d0]] = sum;
      continue;
    }
    Expr inner(1);
    for (auto k = d; k-- > d0;) {
      const auto part = floor_div(axes[allowed[a0]].symbol, inner);
      place.position[dims[k]] = k == d0 ? part : mod(part, extents[dims[k]]);
      inner = inner * extents[dims[k]];
    }
  }
  if (d != dims.size() || a != allowed.size()) return std::nullopt;
  return place;
}

auto group(const ScheduleInput& input, const MemoryChoice& memory, const ScheduleOptions& options,
           std::vector<CompileDecision>& decisions) -> Result<Grouping> {
  return Grouper(input, memory, options, decisions).run();
}

}  // namespace assay
