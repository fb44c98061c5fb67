// Indices as sums of multiples of values: a load shares its element with the next lane's where
// another load of the buffer is ahead of it by the step of the axis.
#include "compiler/cuda/tile_overlap.h"

#include <cstdlib>
#include <map>
#include <set>

#include "compiler/cuda/tiling.h"
#include "compiler/program/access_steps.h"

namespace assay {
namespace {

/// Wraps as indices do; constants are multiples of kNoTile.
using Sum = std::map<TileId, std::uint64_t>;

auto scaled(const Sum& of, std::uint64_t by) -> Sum {
  Sum made;
  for (const auto& [id, factor] : of)
    if (factor * by != 0) made[id] = factor * by;
  return made;
}
auto added(Sum a, const Sum& b) -> Sum {
  for (const auto& [id, factor] : b)
    if ((a[id] += factor) == 0) a.erase(id);
  return a;
}
auto number(std::int64_t value) -> Sum {
  return value == 0 ? Sum() : Sum{{kNoTile, static_cast<std::uint64_t>(value)}};
}
auto is_number(const Sum& of) -> bool {
  return of.empty() || (of.size() == 1 && of.begin()->first == kNoTile);
}
auto number_of(const Sum& of) -> std::uint64_t {
  return of.empty() ? 0 : of.begin()->second;
}

class Sums {
 public:
  explicit Sums(const TileKernel& kernel) : kernel_(kernel) {
    for (const auto& one : kernel.body.body)
      for (const auto id : one.results)
        if (!is_floating(kernel.type(id).dtype)) known_[id] = of(one, id);
  }
  [[nodiscard]] auto at(TileId id) const -> Sum {
    const auto known = known_.find(id);
    return known == known_.end() ? Sum{{id, 1}} : known->second;
  }

 private:
  [[nodiscard]] auto of(const TileStatement& one, TileId id) const -> Sum {
    const Sum itself = {{id, 1}};
    if (const auto* constant = std::get_if<TileConstant>(&one.what)) {
      const auto* value = std::get_if<std::int64_t>(&constant->value);
      return value == nullptr ? itself : number(*value);
    }
    const auto* compute = std::get_if<TileCompute>(&one.what);
    if (compute == nullptr) return itself;
    const auto a = at(one.operands[0]);
    const auto dtype = kernel_.type(one.operands[0]).dtype;
    if (compute->op == TileOp::cast)
      return is_floating(dtype) || size_bytes(kernel_.type(id).dtype) < size_bytes(dtype) ? itself
                                                                                          : a;
    if (one.operands.size() != 2) return itself;
    const auto b = at(one.operands[1]);
    if (compute->op == TileOp::add) return added(a, b);
    if (compute->op == TileOp::sub) return added(a, scaled(b, ~std::uint64_t{0}));
    if (compute->op != TileOp::mul || (!is_number(a) && !is_number(b))) return itself;
    return is_number(a) ? scaled(b, number_of(a)) : scaled(a, number_of(b));
  }

  const TileKernel& kernel_;
  std::map<TileId, Sum> known_;
};

struct Fresh {
  std::int64_t loads = 0;  ///< of the next element, that the one before it has not made
  std::int64_t step = 0;   ///< the least
  bool is_window = false;  ///< many of a buffer move, and are wide
};

class Overlap {
 public:
  Overlap(const TileKernel& kernel, std::size_t inner)
      : inner_(inner), sums_(kernel), steps_(kernel) {
    for (const auto& one : kernel.body.body) {
      const auto* load = std::get_if<TileLoad>(&one.what);
      if (load == nullptr) continue;
      loads_.push_back(&one);
      read_.insert({load->param, sums_.at(one.operands[0])});
    }
  }
  [[nodiscard]] auto loads() const -> std::int64_t { return std::ssize(loads_); }
  [[nodiscard]] auto along(std::size_t axis) const -> Fresh {
    Fresh fresh;
    std::map<std::size_t, int> moving;
    for (const auto* one : loads_) {
      const auto param = std::get<TileLoad>(one->what).param;
      const auto step = steps_.step(one->operands[0], axis);
      if (step == 0) continue;
      const bool is_shared =
          step && read_.contains({param, added(sums_.at(one->operands[0]), number(*step))});
      if (!is_shared) ++fresh.loads;
      if (!step || steps_.step(one->operands[0], inner_) != 1) continue;
      if (fresh.step == 0 || std::abs(*step) < fresh.step) fresh.step = std::abs(*step);
      fresh.is_window = fresh.is_window || ++moving[param] >= kWindowLoads;
    }
    return fresh;
  }

 private:
  std::size_t inner_;
  Sums sums_;
  AccessSteps steps_;
  std::vector<const TileStatement*> loads_;
  std::set<std::pair<std::size_t, Sum>> read_;
};

}  // namespace

auto overlapping_axis(const TileKernel& kernel, const std::vector<std::size_t>& axes,
                      std::size_t inner) -> std::optional<std::size_t> {
  const Overlap overlap(kernel, inner);
  const auto shares = [&](const Fresh& fresh) {
    return fresh.is_window && 2 * fresh.loads <= overlap.loads();
  };
  if (shares(overlap.along(inner))) return std::nullopt;
  std::optional<std::size_t> best;
  Fresh least;
  for (const auto axis : axes) {
    const auto fresh = overlap.along(axis);
    if (axis == inner || !shares(fresh)) continue;
    if (best && std::pair(fresh.loads, fresh.step) >= std::pair(least.loads, least.step)) continue;
    best = axis;
    least = fresh;
  }
  return best;
}

}  // namespace assay
