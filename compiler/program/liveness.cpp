#include "compiler/program/liveness.h"

#include <algorithm>

namespace assay {
namespace {

auto has_effect(const TileStatement& one) -> bool {
  return std::holds_alternative<TileStore>(one.what) ||
         std::holds_alternative<TileAtomic>(one.what) ||
         std::holds_alternative<TileArrive>(one.what) ||
         std::holds_alternative<TileAssert>(one.what) ||
         std::ranges::any_of(one.regions, [](const TileRegion& region) {
           return std::ranges::any_of(region.body, has_effect);
         });
}

class Liveness {
 public:
  explicit Liveness(const TileKernel& kernel) : live_(kernel.values.size()) {
    do {
      is_changed_ = false;
      walk(kernel.body);
    } while (is_changed_);
  }
  [[nodiscard]] auto take() -> std::vector<bool> { return std::move(live_); }

 private:
  void mark(TileId id) {
    if (id == kNoTile || live_[static_cast<std::size_t>(id)]) return;
    live_[static_cast<std::size_t>(id)] = true;
    is_changed_ = true;
  }
  [[nodiscard]] auto is_live(TileId id) const -> bool {
    return id != kNoTile && live_[static_cast<std::size_t>(id)];
  }

  void walk(const TileRegion& region) {
    for (auto i = region.body.size(); i-- > 0;) step(region.body[i]);
  }

  void step(const TileStatement& one) {
    for (const auto& region : one.regions) {
      const bool is_loop = std::holds_alternative<TileLoop>(one.what);
      const bool carries = is_loop || std::holds_alternative<TileIf>(one.what);
      for (std::size_t i = 0; i < region.yields.size(); ++i)
        if (!carries || (i < one.results.size() && is_live(one.results[i]))) mark(region.yields[i]);
      walk(region);
      // What a round begins with is what the last one yielded, and at first an operand.
      for (std::size_t i = 0; is_loop && i + 1 < region.params.size(); ++i)
        if (is_live(region.params[i + 1])) {
          mark(region.yields[i]);
          mark(one.operands[i + 3]);
          if (i < one.results.size()) mark(one.results[i]);
        }
    }
    const bool matters =
        has_effect(one) || std::ranges::any_of(one.results, [&](TileId id) { return is_live(id); });
    if (!matters) return;
    const bool is_loop = std::holds_alternative<TileLoop>(one.what);
    for (std::size_t i = 0; i < one.operands.size(); ++i) {
      const bool is_carried = is_loop && i >= 3;
      if (!is_carried || is_live(one.results[i - 3])) mark(one.operands[i]);
    }
  }

  std::vector<bool> live_;
  bool is_changed_ = false;
};

}  // namespace

auto live_values(const TileKernel& kernel) -> std::vector<bool> {
  return Liveness(kernel).take();
}

}  // namespace assay
