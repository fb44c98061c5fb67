#include "compiler/runtime/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

namespace assay {
namespace {

auto rounded_up(std::int64_t bytes) -> std::int64_t {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

auto is_planned(const BoundBuffer& buffer) -> bool {
  return buffer.kind == BoundBuffer::Kind::temporary && buffer.is_used;
}

/// Buffers that stand in one place: one, or a chain of buffers written over each other.
struct Block {
  std::vector<std::size_t> buffers;
  std::int64_t bytes = 0;
  std::size_t first = 0, last = 0;
  std::int64_t offset = -1;
};

auto overlap(const Block& a, const Block& b) -> bool {
  return a.first <= b.last && b.first <= a.last;
}

class Planner {
 public:
  Planner(const BoundProgram& bound, const MemoryPlanOptions& options, bool in_place)
      : bound_(bound), options_(options), in_place_(in_place && options.reuse) {
    make_blocks();
  }

  auto run() -> MemoryPlan { return made(options_.reuse ? place_best() : place_apart()); }

  /// In the order of another plan; nothing if its blocks are others, or if it packs worse.
  auto run_like(const MemoryPlan& like) -> std::optional<MemoryPlan> {
    constexpr double kWorse = 1.01;
    if (like.order.size() != blocks_.size() || like.live_bytes == 0) return std::nullopt;
    std::vector<std::size_t> block_of(bound_.buffers.size(), blocks_.size());
    for (std::size_t i = 0; i < blocks_.size(); ++i) block_of[blocks_[i].buffers[0]] = i;
    for (const auto first : like.order) {
      if (first >= block_of.size() || block_of[first] == blocks_.size()) return std::nullopt;
      order_.push_back(block_of[first]);
    }
    auto plan = made(place(order_));
    const auto ratio = [](const MemoryPlan& one) {
      return static_cast<double>(one.arena_bytes) / static_cast<double>(one.live_bytes);
    };
    if (ratio(plan) > kWorse * ratio(like)) return std::nullopt;
    return plan;
  }

  auto explain(const MemoryPlan& plan) -> std::vector<ReuseDecision> {
    for (auto& block : blocks_)
      block.offset = plan.offsets[block.buffers[0]] - options_.redzone_bytes;
    std::vector<ReuseDecision> decisions;
    decide(decisions);
    return decisions;
  }

 private:
  auto made(std::int64_t arena_bytes) -> MemoryPlan {
    MemoryPlan plan;
    plan.offsets.assign(bound_.buffers.size(), -1);
    plan.live_bytes = live_bytes();
    for (const auto& buffer : bound_.buffers)
      if (is_planned(buffer)) plan.sum_bytes += rounded_up(buffer.size_bytes);
    plan.arena_bytes = arena_bytes;
    for (const auto& block : blocks_)
      for (const auto at : block.buffers) plan.offsets[at] = block.offset + options_.redzone_bytes;
    for (const auto i : order_) plan.order.push_back(blocks_[i].buffers[0]);
    plan.in_place = in_place_;
    return plan;
  }
  void make_blocks() {
    std::vector<std::optional<std::size_t>> block_of(bound_.buffers.size());
    std::vector<std::size_t> order(bound_.buffers.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return bound_.buffers[i].first; });
    for (const auto i : order) {
      const auto& buffer = bound_.buffers[i];
      if (!is_planned(buffer)) continue;
      if (in_place_ && buffer.over && block_of[*buffer.over]) {
        auto& block = blocks_[*block_of[*buffer.over]];
        block.buffers.push_back(i);
        block.last = std::max(block.last, buffer.last);
        block_of[i] = block_of[*buffer.over];
        continue;
      }
      block_of[i] = blocks_.size();
      const bool dies_early = options_.dies_early && buffer.last > buffer.first;
      blocks_.push_back({{i},
                         rounded_up(buffer.size_bytes) + 2 * options_.redzone_bytes,
                         buffer.first,
                         dies_early ? buffer.last - 1 : buffer.last,
                         -1});
    }
  }

  [[nodiscard]] auto live_bytes() const -> std::int64_t {
    std::vector<std::int64_t> change(bound_.steps.size() + 2, 0);
    for (const auto& buffer : bound_.buffers) {
      if (!is_planned(buffer)) continue;
      change[buffer.first] += rounded_up(buffer.size_bytes);
      change[buffer.last + 1] -= rounded_up(buffer.size_bytes);
    }
    std::int64_t live = 0, most = 0;
    for (const auto one : change) most = std::max(most, live += one);
    return most;
  }

  auto place_apart() -> std::int64_t {
    std::int64_t end = 0;
    for (auto& block : blocks_) {
      block.offset = end;
      end += block.bytes;
    }
    return end;
  }

  /// The best of some orders, each improved by placing what ends last first. The effort is a number
  /// of comparisons, so a plan depends on nothing but the program.
  auto place_best() -> std::int64_t {
    const auto by_size = [](const Block& block) { return static_cast<double>(block.bytes); };
    const auto by_area = [](const Block& block) {
      return static_cast<double>(block.bytes) * static_cast<double>(block.last - block.first + 1);
    };
    const auto by_birth = [](const Block& block) { return -static_cast<double>(block.first); };
    const auto by_life = [](const Block& block) {
      return static_cast<double>(block.last - block.first);
    };
    const auto least = live_blocks();
    auto best = std::numeric_limits<std::int64_t>::max();
    std::vector<Block> chosen = blocks_;
    const auto attempt = [&](const auto& key) {
      std::vector<std::size_t> order(blocks_.size());
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, std::ranges::greater(),
                               [&](std::size_t i) { return key(blocks_[i]); });
      constexpr std::size_t kEffort = 10'000'000;
      const auto rounds =
          std::clamp<std::size_t>(kEffort / (blocks_.size() * blocks_.size() + 1), 1, 100);
      for (std::size_t round = 0; round < rounds && best > least; ++round) {
        const auto end = place(order);
        if (end < best) {
          best = end;
          chosen = blocks_;
          order_ = order;
        }
        const auto last = std::ranges::find_if(
            order, [&](std::size_t i) { return blocks_[i].offset + blocks_[i].bytes == end; });
        if (last == order.begin() || last == order.end()) break;
        std::rotate(order.begin(), last, last + 1);
      }
    };
    attempt(by_size);
    attempt(by_area);
    attempt(by_life);
    attempt(by_birth);
    blocks_ = std::move(chosen);
    return blocks_.empty() ? 0 : best;
  }

  /// Largest sum of blocks that live at one step: no plan needs less.
  [[nodiscard]] auto live_blocks() const -> std::int64_t {
    std::vector<std::int64_t> change(bound_.steps.size() + 2, 0);
    for (const auto& block : blocks_) {
      change[block.first] += block.bytes;
      change[block.last + 1] -= block.bytes;
    }
    std::int64_t live = 0, most = 0;
    for (const auto one : change) most = std::max(most, live += one);
    return most;
  }

  auto place(const std::vector<std::size_t>& order) -> std::int64_t {
    std::int64_t end = 0;
    std::vector<const Block*> placed;  // by offset
    for (const auto i : order) {
      auto& block = blocks_[i];
      block.offset = smallest_gap(placed, block);
      end = std::max(end, block.offset + block.bytes);
      placed.insert(std::ranges::upper_bound(placed, block.offset, {}, &Block::offset), &block);
    }
    return end;
  }

  /// Start of the smallest gap that holds a block between those that live with it, else behind
  /// them.
  static auto smallest_gap(const std::vector<const Block*>& placed, const Block& block)
      -> std::int64_t {
    std::int64_t from = 0, best = -1, best_size = std::numeric_limits<std::int64_t>::max();
    for (const auto* other : placed) {
      if (!overlap(block, *other)) continue;
      const auto size = other->offset - from;
      if (size >= block.bytes && size < best_size) {
        best = from;
        best_size = size;
      }
      from = std::max(from, other->offset + other->bytes);
    }
    return best >= 0 ? best : from;
  }

  void decide(std::vector<ReuseDecision>& decisions) const {
    for (const auto& block : blocks_) {
      for (std::size_t k = 0; k < block.buffers.size(); ++k) {
        const auto& buffer = bound_.buffers[block.buffers[k]];
        if (k > 0) {
          decisions.push_back({buffer.name, bound_.buffers[block.buffers[k - 1]].name, true,
                               "in place: it dies where this is written, element by element"});
          continue;
        }
        const auto* before = predecessor(block);
        if (before == nullptr)
          decisions.push_back({buffer.name,
                               {},
                               false,
                               options_.reuse ? "nothing dead stood there" : "switched off"});
        else
          decisions.push_back(
              {buffer.name, bound_.buffers[before->buffers.back()].name, true,
               fmt::format("dead since step {}, this lives from {}", before->last, block.first)});
      }
    }
  }

  /// The block that stood last where this one stands.
  [[nodiscard]] auto predecessor(const Block& block) const -> const Block* {
    const Block* found = nullptr;
    for (const auto& other : blocks_) {
      const bool is_before = other.last < block.first &&
                             other.offset < block.offset + block.bytes &&
                             block.offset < other.offset + other.bytes;
      if (is_before && (found == nullptr || other.last > found->last)) found = &other;
    }
    return found;
  }

  const BoundProgram& bound_;
  MemoryPlanOptions options_;
  bool in_place_;
  std::vector<Block> blocks_;
  std::vector<std::size_t> order_;  ///< blocks as they were placed
};

}  // namespace

auto plan_memory(const BoundProgram& bound, const MemoryPlanOptions& options,
                 const MemoryPlan* like) -> MemoryPlan {
  if (like != nullptr && options.reuse)
    if (auto plan = Planner(bound, options, like->in_place).run_like(*like))
      return *std::move(plan);
  auto plan = Planner(bound, options, true).run();
  if (!options.reuse || plan.arena_bytes <= plan.live_bytes) return plan;
  // Chains of buffers in place live long, which may cost more than it saves.
  auto other = Planner(bound, options, false).run();
  return other.arena_bytes < plan.arena_bytes ? other : plan;
}

auto reuse_decisions(const BoundProgram& bound, const MemoryPlan& plan,
                     const MemoryPlanOptions& options) -> std::vector<ReuseDecision> {
  return Planner(bound, options, plan.in_place).explain(plan);
}

auto check_plan(const BoundProgram& bound, const MemoryPlan& plan) -> std::vector<std::string> {
  std::vector<std::string> broken;
  std::vector<std::size_t> placed;
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    const auto& buffer = bound.buffers[i];
    const auto offset = plan.offsets[i];
    if (buffer.kind == BoundBuffer::Kind::temporary && buffer.is_used && offset < 0)
      broken.push_back(fmt::format("{} has no place", buffer.name));
    if (offset < 0) continue;
    if (offset % kArenaAlignment != 0)
      broken.push_back(fmt::format("{} stands at {}, which is not aligned", buffer.name, offset));
    if (offset + buffer.size_bytes > plan.arena_bytes)
      broken.push_back(fmt::format("{} ends beyond the arena", buffer.name));
    placed.push_back(i);
  }
  // By birth; those still alive are compared with each that is born.
  std::ranges::sort(placed, {}, [&](std::size_t i) { return bound.buffers[i].first; });
  std::vector<std::size_t> alive;
  for (const auto i : placed) {
    const auto& mine = bound.buffers[i];
    std::erase_if(alive, [&](std::size_t k) { return bound.buffers[k].last < mine.first; });
    for (const auto k : alive) {
      const auto& other = bound.buffers[k];
      const bool is_same_bytes = plan.offsets[i] < plan.offsets[k] + other.size_bytes &&
                                 plan.offsets[k] < plan.offsets[i] + mine.size_bytes;
      const bool is_handover = mine.over == k && other.last == mine.first &&
                               plan.offsets[i] == plan.offsets[k] &&
                               mine.size_bytes == other.size_bytes;
      if (is_same_bytes && !is_handover)
        broken.push_back(fmt::format("{} and {} share bytes from step {} to {}", other.name,
                                     mine.name, mine.first, std::min(mine.last, other.last)));
    }
    alive.push_back(i);
  }
  return broken;
}

}  // namespace assay
