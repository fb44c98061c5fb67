// Sizes that are numbers, and smaller ones for them.
#include <algorithm>
#include <numeric>
#include <set>

#include "minifier/edits/patch_families.h"
#include "minifier/edits/program.h"
#include "replay/interp/symbolic.h"

namespace assay {
namespace {

auto smaller_number(std::int64_t value, const SmallerSize& change) -> std::int64_t {
  if (value == change.size) return change.by;
  if (!change.multiples || value <= 0 || value % change.size != 0) return value;
  return value / change.size * change.by;
}

/// By the number, or as it is.
auto changed(const Expr& e, const SmallerSize& change) -> Expr {
  const auto value = e.as_int();
  return value ? Expr(smaller_number(*value, change)) : e;
}

/// The strides of the same order of dimensions; nothing where elements do not stand close.
auto strides_like(const TensorMeta& meta, const Dims& sizes, const Binding& at)
    -> std::optional<Dims> {
  if (meta.strides == contiguous_strides(meta.sizes)) return contiguous_strides(sizes);
  if (!meta.offset.is_int(0)) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const auto& stride : meta.strides) {
    const auto value = evaluate_int(stride, at);
    if (!value) return std::nullopt;
    numbers.push_back(*value);
  }
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](auto a, auto b) { return numbers[a] > numbers[b]; });
  Dims strides(sizes.size());
  Expr old = 1, now = 1;
  for (auto i = order.size(); i-- > 0;) {
    if (meta.strides[order[i]] != old) return std::nullopt;
    strides[order[i]] = now;
    old = old * meta.sizes[order[i]];
    now = now * sizes[order[i]];
  }
  return strides;
}

/// Elements of lists: sizes and pads, not dimensions.
auto change_lists(Arg& arg, const SmallerSize& change) -> bool {
  auto* sequence = std::get_if<SequenceArg>(&arg.value);
  if (sequence == nullptr) return false;
  bool any = false;
  for (auto& item : sequence->items) {
    if (auto* e = std::get_if<Expr>(&item.value)) {
      const auto now = changed(*e, change);
      any = any || now != *e;
      *e = now;
    }
    any = change_lists(item, change) || any;
  }
  return any;
}

class Shrinker {
 public:
  Shrinker(const Capture& capture, const SmallerSize& change, const OpTable& table)
      : cut_(capture), change_(change), table_(table), at_(sizes_of(capture, table)) {}

  auto run() -> std::optional<Capture> {
    const auto honest = honest_calls(cut_.graph, table_);
    std::size_t input = 0;
    bool any = false;
    for (auto& node : cut_.graph.nodes) {
      if (node.kind == NodeKind::placeholder) {
        const auto changes = shrink(node, input++);
        if (!changes) return std::nullopt;
        any = any || *changes;
        continue;
      }
      // A lie stays the same lie: its numbers follow, which for one dimension nobody can tell.
      if (node.claim.tensor() != nullptr && !honest.contains(node.id) && !follow(node))
        return std::nullopt;
      if (change_.input.value < 0)
        for (auto& arg : node.args) any = change_lists(arg, change_) || any;
    }
    if (!any) return std::nullopt;
    renew_claims(cut_.graph, table_, [&](NodeId id) { return honest.contains(id); });
    auto made = at_sizes(cut_, at_);
    return made ? std::optional(*std::move(made)) : std::nullopt;
  }

 private:
  auto follow(Node& node) -> bool {
    auto& meta = std::get<TensorMeta>(node.claim.value);
    auto sizes = meta.sizes;
    for (auto& size : sizes) size = changed(size, change_);
    auto strides = strides_like(meta, sizes, at_);
    if (change_.input.value >= 0 || !strides) return sizes == meta.sizes;
    meta.sizes = std::move(sizes);
    meta.strides = *std::move(strides);
    return true;
  }
  /// Does it change? Nothing where it would have to and cannot.
  auto shrink(Node& node, std::size_t input) -> std::optional<bool> {
    auto* meta = std::get_if<TensorMeta>(&node.claim.value);
    if (meta == nullptr || (change_.input.value >= 0 && change_.input != node.id)) return false;
    auto sizes = meta->sizes;
    for (std::size_t d = 0; d < sizes.size(); ++d)
      if (change_.input.value < 0 || change_.dim == d) sizes[d] = changed(sizes[d], change_);
    if (sizes == meta->sizes) return false;
    auto strides = strides_like(*meta, sizes, at_);
    if (!strides) return std::nullopt;
    meta->sizes = std::move(sizes);
    meta->strides = *std::move(strides);
    if (auto* symbolic = input < cut_.inputs.size()
                             ? std::get_if<SymbolicInput>(&cut_.inputs[input])
                             : nullptr) {
      if (symbolic->storage >= 0) return std::nullopt;
      symbolic->meta.sizes = meta->sizes;
      symbolic->meta.strides = meta->strides;
      symbolic->storage_bytes.reset();
    }
    return true;
  }

  Capture cut_;
  const SmallerSize& change_;
  const OpTable& table_;
  Binding at_;
};

}  // namespace

auto with_smaller(const Capture& capture, const SmallerSize& change, const OpTable& table)
    -> std::optional<Capture> {
  return Shrinker(capture, change, table).run();
}

auto constant_sizes(const Capture& capture) -> std::vector<std::int64_t> {
  std::set<std::int64_t, std::greater<>> found;
  const auto add = [&](const Expr& e) {
    if (const auto value = e.as_int(); value && *value > 1) found.insert(*value);
  };
  for (const auto& node : capture.graph.nodes) {
    if (const auto* meta = node.claim.tensor(); meta && node.kind == NodeKind::placeholder)
      for (const auto& size : meta->sizes) add(size);
    for (const auto& arg : node.args)
      if (std::holds_alternative<SequenceArg>(arg.value)) visit_exprs(arg, add);
  }
  return {found.begin(), found.end()};
}

}  // namespace assay
