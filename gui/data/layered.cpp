#include "gui/data/layered.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "gui/data/adjacency.h"

namespace assay {
namespace {

constexpr int kPlacementPasses = 6;
constexpr float kDummyWidth = 6;

class Layering {
 public:
  Layering(const LayeredInput& input, const LayeredOptions& options, StopFlag stop)
      : input_(input), options_(options), stop_(stop), boxes_(input.width.size()) {}

  auto run() -> std::optional<LayeredOutput> {
    // Each looks at the flag in all its loops; a millionth of a second a box is none to wait for.
    for (const auto phase : {&Layering::rank, &Layering::add_dummies, &Layering::make_layers,
                             &Layering::order, &Layering::place, &Layering::finish}) {
      (this->*phase)();
      if (stopped()) return std::nullopt;
    }
    return std::move(output_);
  }

 private:
  [[nodiscard]] auto stopped() const -> bool { return is_set(stop_); }
  [[nodiscard]] auto spent_ms() const -> double {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
        .count();
  }
  static auto at(int item) -> std::size_t { return static_cast<std::size_t>(item); }

  /// Longest path in execution order; then what reads nothing moves down to its first reader.
  void rank() {
    auto& layer = output_.layer;
    layer.assign(boxes_, 0);
    std::vector<std::pair<int, int>> forward;
    for (const auto& edge : input_.edges)
      if (edge.first < edge.second) forward.push_back(edge);
    const auto readers = adjacency(boxes_, forward, true, stop_);
    if (stopped()) return;
    std::vector<bool> reads(boxes_, false);
    for (const auto& [from, to] : forward) reads[at(to)] = true;
    for (std::size_t i = 0; i < boxes_ && !stopped(); ++i)
      for (const int reader : readers.of(static_cast<int>(i)))
        layer[at(reader)] = std::max(layer[at(reader)], layer[i] + 1);
    for (std::size_t i = boxes_; i-- > 0 && !stopped();) {
      if (reads[i] || readers.of(static_cast<int>(i)).empty()) continue;
      int first = layer[at(readers.of(static_cast<int>(i)).front())];
      for (const int reader : readers.of(static_cast<int>(i)))
        first = std::min(first, layer[at(reader)]);
      layer[i] = first - 1;
    }
  }

  /// Layers from one end of an edge to the other, 0 for a portal.
  [[nodiscard]] auto span_of(const std::pair<int, int>& edge) const -> int {
    const int span = output_.layer[at(edge.second)] - output_.layer[at(edge.first)];
    return edge.first < edge.second && span <= options_.longest_span ? std::max(span, 0) : 0;
  }
  /// Arrays that grow by themselves take up to three times as much meanwhile.
  void make_room_for_dummies() {
    std::size_t dummies = 0, links = 0;
    for (const auto& edge : input_.edges) {
      if (stopped()) return;
      const int span = span_of(edge);
      links += at(span);
      dummies += at(std::max(span - 1, 0));
    }
    item_layer_.reserve(boxes_ + dummies);
    item_width_.reserve(boxes_ + dummies);
    links_.reserve(links);
  }

  /// A short edge becomes a chain of items, one in each layer that it crosses.
  void add_dummies() {
    output_.is_portal.assign(input_.edges.size(), false);
    chain_.assign(input_.edges.size() + 1, 0);
    make_room_for_dummies();
    if (stopped()) return;
    item_layer_.insert(item_layer_.end(), output_.layer.begin(), output_.layer.end());
    item_width_.insert(item_width_.end(), input_.width.begin(), input_.width.end());
    for (std::size_t e = 0; e < input_.edges.size(); ++e) {
      if (stopped()) return;
      chain_[e] = static_cast<int>(item_layer_.size());
      const auto [from, to] = input_.edges[e];
      const int span = span_of(input_.edges[e]);
      if (span == 0) {
        output_.is_portal[e] = true;
        continue;
      }
      int last = from;
      for (int i = 1; i < span; ++i) {
        item_layer_.push_back(output_.layer[at(from)] + i);
        item_width_.push_back(kDummyWidth);
        const int item = static_cast<int>(item_layer_.size()) - 1;
        links_.emplace_back(last, item);
        last = item;
      }
      links_.emplace_back(last, to);
    }
    chain_.back() = static_cast<int>(item_layer_.size());
    down_ = adjacency(item_layer_.size(), links_, true, stop_);
    up_ = adjacency(item_layer_.size(), links_, false, stop_);
    links_ = {};
  }

  /// Items by layer in one array, first as they come.
  void make_layers() {
    const auto layers = item_layer_.empty() ? 0 : *std::ranges::max_element(item_layer_) + 1;
    layer_first_.assign(at(layers) + 1, 0);
    for (const int layer : item_layer_) ++layer_first_[at(layer) + 1];
    std::partial_sum(layer_first_.begin(), layer_first_.end(), layer_first_.begin());
    layer_items_.resize(item_layer_.size());
    auto next = layer_first_;
    for (std::size_t i = 0; i < item_layer_.size(); ++i) {
      if (stopped()) return;
      layer_items_[next[at(item_layer_[i])]++] = static_cast<int>(i);
    }
    position_.assign(item_layer_.size(), 0);
    for (std::size_t i = 0; i < layers_count(); ++i) number(layer(i));
  }
  [[nodiscard]] auto layers_count() const -> std::size_t { return layer_first_.size() - 1; }
  auto layer(std::size_t i) -> std::span<int> {
    return {layer_items_.data() + layer_first_[i], layer_items_.data() + layer_first_[i + 1]};
  }
  void number(std::span<const int> layer) {
    for (std::size_t i = 0; i < layer.size(); ++i) position_[at(layer[i])] = static_cast<float>(i);
  }

  void order() {
    std::vector<std::pair<float, int>> keyed;
    const auto by_key = [](const auto& a, const auto& b) { return a.first < b.first; };
    for (int sweep = 0; sweep < options_.sweeps && spent_ms() < options_.budget_ms; ++sweep) {
      const bool downward = sweep % 2 == 0;
      for (std::size_t i = 0; i < layers_count(); ++i) {
        const auto layer = this->layer(downward ? i : layers_count() - 1 - i);
        if (stopped()) return;
        if (layer.size() < 2) continue;
        keyed.clear();
        for (const int item : layer) {
          const auto neighbours = (downward ? up_ : down_).of(item);
          float sum = 0;
          for (const int one : neighbours) sum += position_[at(one)];
          keyed.emplace_back(neighbours.empty() ? position_[at(item)]
                                                : sum / static_cast<float>(neighbours.size()),
                             item);
        }
        if (!sort_in_parts(keyed, by_key, stop_)) return;
        for (std::size_t k = 0; k < layer.size(); ++k) layer[k] = keyed[k].second;
        number(layer);
      }
    }
  }

  /// Each item wants to stand below or above the middle of its neighbours; the mean of the
  /// leftmost and the rightmost arrangement that keep distance is one that keeps it too.
  void place() {
    position_ = {};
    center_.assign(item_layer_.size(), 0);
    for (std::size_t i = 0; i < layers_count(); ++i)
      spread(layer(i), [](int) { return std::optional<float>(); });
    for (int pass = 0; pass < kPlacementPasses; ++pass) {
      const auto& side = pass % 2 == 0 ? up_ : down_;
      for (std::size_t i = 0; i < layers_count(); ++i) {
        if (stopped()) return;
        spread(layer(pass % 2 == 0 ? i : layers_count() - 1 - i),
               [&](int item) { return median(side.of(item)); });
      }
    }
  }
  auto median(std::span<const int> neighbours) -> std::optional<float> {
    if (neighbours.empty()) return std::nullopt;
    if (neighbours.size() == 1) return center_[at(neighbours[0])];
    scratch_.clear();
    for (const int one : neighbours) scratch_.push_back(center_[at(one)]);
    const auto middle = scratch_.begin() + static_cast<std::ptrdiff_t>(scratch_.size() / 2);
    std::nth_element(scratch_.begin(), middle, scratch_.end());
    if (scratch_.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(scratch_.begin(), middle)) / 2;
  }
  template <class Wish>
  void spread(std::span<const int> layer, const Wish& wish) {
    const auto count = layer.size();
    if (count == 0) return;
    wished_.resize(count);
    left_.resize(count);
    for (std::size_t i = 0; i < count; ++i)
      wished_[i] = wish(layer[i]).value_or(center_[at(layer[i])]);
    const auto apart = [&](std::size_t i) {
      return (item_width_[at(layer[i])] + item_width_[at(layer[i + 1])]) / 2 + options_.box_gap;
    };
    left_[0] = wished_[0];
    for (std::size_t i = 1; i < count; ++i)
      left_[i] = std::max(wished_[i], left_[i - 1] + apart(i - 1));
    float right = wished_[count - 1];
    center_[at(layer[count - 1])] = (left_[count - 1] + right) / 2;
    for (std::size_t i = count - 1; i-- > 0;) {
      right = std::min(wished_[i], right - apart(i));
      center_[at(layer[i])] = (left_[i] + right) / 2;
    }
  }

  void finish() {
    up_ = {};
    down_ = {};
    output_.bends.reserve(item_layer_.size() - boxes_);
    output_.first_bend.reserve(input_.edges.size() + 1);
    std::vector<float> top(layers_count() + 1, 0);
    for (std::size_t i = 0; i < layers_count(); ++i) {
      if (stopped()) return;
      float tallest = 0;
      for (const int item : layer(i))
        if (at(item) < boxes_) tallest = std::max(tallest, input_.height[at(item)]);
      top[i + 1] = top[i] + tallest + options_.layer_gap;
    }
    float left = 0;
    if (!center_.empty()) {
      left = center_[0] - item_width_[0] / 2;
      for (std::size_t i = 0; i < center_.size(); ++i)
        left = std::min(left, center_[i] - item_width_[i] / 2);
    }
    output_.x.resize(boxes_);
    output_.y.resize(boxes_);
    for (std::size_t i = 0; i < boxes_; ++i) {
      output_.x[i] = center_[i] - input_.width[i] / 2 - left;
      output_.y[i] = top[at(output_.layer[i])];
      output_.width = std::max(output_.width, output_.x[i] + input_.width[i]);
    }
    output_.height = layers_count() == 0 ? 0 : top.back() - options_.layer_gap;
    for (std::size_t e = 0; e < input_.edges.size() && !stopped(); ++e) {
      output_.first_bend.push_back(static_cast<std::uint32_t>(output_.bends.size()));
      for (int item = chain_[e]; item < chain_[e + 1]; ++item) {
        const auto layer = at(item_layer_[at(item)]);
        output_.bends.emplace_back(center_[at(item)] - left,
                                   (top[layer] + top[layer + 1] - options_.layer_gap) / 2);
      }
    }
    output_.first_bend.push_back(static_cast<std::uint32_t>(output_.bends.size()));
  }

  const LayeredInput& input_;
  const LayeredOptions& options_;
  StopFlag stop_;
  std::size_t boxes_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  LayeredOutput output_;
  // Items are boxes, then dummies.
  std::vector<int> item_layer_;
  std::vector<float> item_width_, position_, center_;
  std::vector<int> chain_;  ///< by edge: its first dummy
  std::vector<std::pair<int, int>> links_;
  Adjacency up_, down_;
  std::vector<std::uint32_t> layer_first_ = {0};
  std::vector<int> layer_items_;
  std::vector<float> scratch_, wished_, left_;
};

}  // namespace

auto layered_layout(const LayeredInput& input, const LayeredOptions& options,
                    const std::atomic<bool>* stop) -> std::optional<LayeredOutput> {
  return Layering(input, options, stop).run();
}

}  // namespace assay
