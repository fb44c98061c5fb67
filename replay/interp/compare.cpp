#include "replay/interp/compare.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>

#include "core/expr/text.h"

namespace assay {
namespace {

template <class Range, class Print>
auto listed(const Range& values, Print&& print) -> std::string {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + print(values[i]);
  return text + "]";
}
auto symbolic_list(const Dims& dims) -> std::string {
  return listed(dims, [](const Expr& e) { return print_expr(e); });
}
auto number_list(const Ints& values) -> std::string {
  return listed(values, [](std::int64_t v) { return std::to_string(v); });
}

auto has_symbols(const Dims& dims) -> bool {
  return std::ranges::any_of(dims, [](const Expr& e) { return !e.is_const(); });
}

auto symbols_of(const TensorMeta& claim) -> std::vector<Expr> {
  std::vector<Expr> symbols;
  const auto collect = [&](const Expr& e) {
    for (const auto& symbol : e.symbols())
      if (std::ranges::find(symbols, symbol) == symbols.end()) symbols.push_back(symbol);
  };
  for (const auto& size : claim.sizes) collect(size);
  for (const auto& stride : claim.strides) collect(stride);
  collect(claim.offset);
  return symbols;
}

auto binding_text(const Binding& binding, const std::vector<Expr>& symbols) -> std::string {
  std::vector<std::string> parts;
  for (const auto& symbol : symbols)
    if (const auto value = binding.find(symbol); value != binding.end())
      parts.push_back(fmt::format("{} = {}", symbol.name(), print_expr(value->second)));
  std::ranges::sort(parts);
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// The strides of a dense tensor of these sizes whose dimensions lie in memory as `order` says,
/// outermost first.
auto dense_strides(const Ints& sizes, const std::vector<std::size_t>& order) -> Ints {
  Ints strides(sizes.size());
  std::int64_t step = 1;
  for (const auto dim : order | std::views::reverse) {
    strides[dim] = step;
    step *= std::max<std::int64_t>(sizes[dim], 1);
  }
  return strides;
}

/// Whether both are dense with their dimensions in one order in memory: strides that differ then
/// say no more than the sizes that differ.
auto same_dense_order(const RealMeta& a, const RealMeta& b) -> bool {
  std::vector<std::size_t> order(a.sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t x, std::size_t y) {
    return std::pair(a.strides[x], a.sizes[x]) > std::pair(a.strides[y], a.sizes[y]);
  });
  return dense_strides(a.sizes, order) == a.strides && dense_strides(b.sizes, order) == b.strides;
}

class Comparer {
 public:
  Comparer(const Binding& binding, const Finding& blank) : binding_(binding), blank_(blank) {}

  void compare(const Claim& claim, const ObservedValue& seen, const std::string& leaf) {
    if (claim.empty()) return;
    if (const auto* items = claim.items()) return compare_items(*items, seen, leaf);
    if (const auto* meta = claim.tensor()) {
      if (seen.tensor) return compare_tensor(*meta, claim.stated, *seen.tensor, leaf);
      return add_structure(to_string(*meta), seen, leaf);
    }
    const auto& scalar = *claim.scalar();
    if (!seen.scalar) return add_structure(print_expr(scalar), seen, leaf);
    compare_scalar(scalar, *seen.scalar, leaf);
  }
  [[nodiscard]] auto take() -> std::vector<Finding> { return std::move(findings_); }

 private:
  auto finding(FindingKind kind, const std::string& leaf) -> Finding& {
    findings_.push_back(blank_);
    findings_.back().kind = kind;
    findings_.back().leaf = leaf;
    return findings_.back();
  }

  void add_structure(const std::string& claimed, const ObservedValue& seen,
                     const std::string& leaf) {
    auto& f = finding(FindingKind::wrong_structure, leaf);
    f.claimed = claimed;
    f.observed = seen.is_tuple ? fmt::format("a tuple of {}", seen.items.size())
                 : seen.tensor ? to_string(seen.tensor->meta)
                 : seen.scalar ? print_expr(*seen.scalar)
                               : "None";
    f.message = fmt::format("claimed {}, got {}", f.claimed, f.observed);
  }

  void compare_items(const std::vector<Claim>& items, const ObservedValue& seen,
                     const std::string& leaf) {
    if (!seen.is_tuple || seen.items.size() != items.size())
      return add_structure(fmt::format("a tuple of {}", items.size()), seen, leaf);
    for (std::size_t i = 0; i < items.size(); ++i)
      compare(items[i], seen.items[i], fmt::format("{}[{}]", leaf, i));
  }

  void compare_scalar(const Expr& claim, const Expr& seen, const std::string& leaf) {
    const auto value = evaluate(claim, binding_);
    if (!value && value.error().code == ErrorCode::undecided)
      return;  // unbound: nothing to compare
    const auto expected = value ? value->as_number() : std::nullopt;
    const auto got = seen.as_number();
    const bool real = (value && value->as_real()) || seen.as_real();
    if (expected && got && (real ? equal_as_printed(*expected, *got) : *expected == *got)) return;
    auto& f = finding(FindingKind::wrong_scalar, leaf);
    f.claimed = print_expr(claim);
    f.claimed_value = value ? print_expr(*value) : value.error().message;
    f.observed = print_expr(seen);
    f.witness = binding_text(binding_, claim.symbols());
    f.message = fmt::format("claimed {} = {}, got {}", f.claimed, f.claimed_value, f.observed);
  }

  void compare_tensor(const TensorMeta& claim, const StatedParts& stated,
                      const ObservedTensor& seen, const std::string& leaf) {
    const auto& real = seen.meta;
    if (stated.device && !same_device(claim.device, real.device)) {
      auto& f = finding(FindingKind::wrong_device, leaf);
      f.claimed = to_string(claim.device);
      f.observed = to_string(real.device);
      f.message = fmt::format("claimed device {}, got {}", f.claimed, f.observed);
    }
    if (claim.dtype != real.dtype) {
      auto& f = finding(FindingKind::wrong_dtype, leaf);
      f.claimed = name(claim.dtype);
      f.observed = name(real.dtype);
      f.message = fmt::format("claimed dtype {}, got {}", f.claimed, f.observed);
    }
    if (claim.sizes.size() != real.sizes.size()) {
      auto& f = finding(FindingKind::wrong_rank, leaf);
      f.claimed = to_string(claim);
      f.observed = to_string(real);
      f.message = fmt::format("claimed {} dimensions, got {}", claim.rank(), real.rank());
      return;
    }
    const auto layout = evaluate_claim(claim, binding_);
    if (!layout) {
      if (layout.error().code == ErrorCode::undecided) return;
      auto& f = finding(FindingKind::wrong_size, leaf);
      f.claimed = to_string(claim);
      f.observed = to_string(real);
      f.message = layout.error().message;
      return;
    }
    const auto before = findings_.size();
    compare_sizes(claim, *layout, real, leaf);
    const bool follow = layout->sizes != real.sizes && same_dense_order(*layout, real);
    if (stated.strides && !follow) compare_strides(claim, *layout, real, leaf);
    if (stated.offset && layout->offset != real.offset) {
      auto& f = finding(FindingKind::wrong_offset, leaf);
      f.claimed = print_expr(claim.offset);
      f.claimed_value = claim.offset.is_const() ? "" : std::to_string(layout->offset);
      f.observed = std::to_string(real.offset);
      f.witness = binding_text(binding_, claim.offset.symbols());
      f.message = fmt::format("claimed offset {}, got {}", layout->offset, real.offset);
    }
    // A layout that is wrong already is one lie, however far it then reaches.
    if (findings_.size() == before && stated.strides && stated.offset)
      compare_extent(claim, *layout, real, leaf);
  }

  void compare_extent(const TensorMeta& claim, const RealMeta& layout, const RealMeta& real,
                      const std::string& leaf) {
    const auto shortage = shortage_of(layout, real.storage_bytes);
    if (!shortage) return;
    auto& f = finding(FindingKind::storage_too_small, leaf);
    f.claimed = to_string(claim);
    f.claimed_value = fmt::format("{} bytes", shortage->needed_bytes);
    f.observed = fmt::format("{} bytes", shortage->storage_bytes);
    f.witness = binding_text(binding_, symbols_of(claim));
    f.message = shortage->message();
  }

  void describe(Finding& f, const Dims& claim, const Ints& value, const Ints& real) {
    f.claimed = symbolic_list(claim);
    f.claimed_value = has_symbols(claim) ? number_list(value) : "";
    f.observed = number_list(real);
    std::vector<Expr> symbols;
    for (const auto& e : claim)
      for (const auto& symbol : e.symbols()) symbols.push_back(symbol);
    std::ranges::sort(symbols, {}, [](const Expr& e) { return e.name(); });
    symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
    f.witness = binding_text(binding_, symbols);
  }

  void compare_sizes(const TensorMeta& claim, const RealMeta& layout, const RealMeta& real,
                     const std::string& leaf) {
    if (layout.sizes == real.sizes) return;
    auto& f = finding(FindingKind::wrong_size, leaf);
    describe(f, claim.sizes, layout.sizes, real.sizes);
    for (std::size_t i = 0; i < real.sizes.size(); ++i)
      if (layout.sizes[i] != real.sizes[i]) {
        f.message = fmt::format("claimed size {} at dimension {}, got {}", layout.sizes[i], i,
                                real.sizes[i]);
        break;
      }
  }

  void compare_strides(const TensorMeta& claim, const RealMeta& layout, const RealMeta& real,
                       const std::string& leaf) {
    const bool empty = numel(real.sizes) == 0;
    for (const bool significant : {true, false}) {
      for (std::size_t i = 0; i < real.strides.size(); ++i) {
        if (layout.strides[i] == real.strides[i]) continue;
        if ((!empty && real.sizes[i] > 1) != significant) continue;
        auto& f = finding(
            significant ? FindingKind::wrong_stride : FindingKind::insignificant_stride, leaf);
        describe(f, claim.strides, layout.strides, real.strides);
        f.message = fmt::format("claimed stride {} at dimension {}, got {}", layout.strides[i], i,
                                real.strides[i]);
        break;
      }
    }
  }

  const Binding& binding_;
  const Finding& blank_;
  std::vector<Finding> findings_;
};

}  // namespace

auto same_device(const Device& claim, const Device& real) -> bool {
  if (claim.type.empty() || real.type.empty()) return true;
  if (claim.type != real.type) return false;
  return claim.index < 0 || real.index < 0 || claim.index == real.index;
}

auto Shortage::message() const -> std::string {
  return fmt::format("the layout needs {} bytes, its storage has {} ({} bytes too small)",
                     needed_bytes, storage_bytes, needed_bytes - storage_bytes);
}

auto shortage_of(const RealMeta& layout, std::int64_t storage_bytes) -> std::optional<Shortage> {
  const auto elems = required_elems(layout.sizes, layout.strides, layout.offset);
  if (!elems) return std::nullopt;
  const auto needed = *elems * size_bytes(layout.dtype);
  if (needed <= storage_bytes) return std::nullopt;
  return Shortage{needed, storage_bytes};
}

auto equal_as_printed(double claim, double seen) -> bool {
  // sympy prints 15 digits: half a unit in the last of them is at most 5e-15 of the value.
  constexpr double kLastDigit = 5e-15;
  return claim == seen || (std::isnan(claim) && std::isnan(seen)) ||
         std::fabs(claim - seen) <= kLastDigit * std::max(std::fabs(claim), std::fabs(seen));
}

auto evaluate_claim(const TensorMeta& claim, const Binding& binding) -> Result<RealMeta> {
  RealMeta meta{.dtype = claim.dtype, .sizes = {}, .strides = {}, .device = claim.device};
  for (const auto& size : claim.sizes) {
    ASSAY_TRY(const auto value, evaluate_int(size, binding));
    meta.sizes.push_back(value);
  }
  for (const auto& stride : claim.strides) {
    ASSAY_TRY(const auto value, evaluate_int(stride, binding));
    meta.strides.push_back(value);
  }
  ASSAY_TRY(meta.offset, evaluate_int(claim.offset, binding));
  return meta;
}

auto compare_value(const Claim& claim, const ObservedValue& seen, const Binding& binding,
                   const Finding& blank) -> std::vector<Finding> {
  Comparer comparer(binding, blank);
  comparer.compare(claim, seen, "");
  return comparer.take();
}

void AliasCheck::add(std::size_t node, const Claim& claim, const ObservedValue& seen) {
  if (const auto* items = claim.items()) {
    for (std::size_t i = 0; i < items->size() && i < seen.items.size(); ++i)
      add(node, (*items)[i], seen.items[i]);
    return;
  }
  if (claim.alias_group >= 0 && seen.tensor)
    members_.push_back({node, claim.alias_group, seen.tensor->storage});
}

auto AliasCheck::conflicts() const -> std::vector<Conflict> {
  // A group belongs to the storage with most members claiming it; a storage has the group most of
  // its members claim among those it owns. The earliest wins a tie.
  std::map<int, std::map<int, int>> claims;  // group -> storage -> members
  for (const auto& member : members_) ++claims[member.group][member.storage];
  std::map<int, int> owner;  // group -> storage
  for (const auto& member : members_) {
    const auto [entry, is_new] = owner.try_emplace(member.group, member.storage);
    auto& votes = claims[member.group];
    if (!is_new && votes[member.storage] > votes[entry->second]) entry->second = member.storage;
  }
  std::map<int, int> group_of;  // storage -> group
  for (const auto& member : members_) {
    if (owner[member.group] != member.storage) continue;
    const auto [entry, is_new] = group_of.try_emplace(member.storage, member.group);
    if (!is_new && claims[member.group][member.storage] > claims[entry->second][member.storage])
      entry->second = member.group;
  }
  const auto first_of = [&](int storage, std::size_t except) -> std::optional<std::size_t> {
    for (const auto& member : members_)
      if (member.storage == storage && member.node != except) return member.node;
    return std::nullopt;
  };
  std::vector<Conflict> conflicts;
  for (const auto& member : members_) {
    const auto owned = owner.find(member.group);
    const auto group = group_of.find(member.storage);
    if (group != group_of.end() && group->second == member.group) continue;
    Conflict conflict{member.node, std::nullopt, first_of(member.storage, member.node)};
    if (owned != owner.end() && owned->second != member.storage)
      conflict.claimed_with = first_of(owned->second, member.node);
    conflicts.push_back(conflict);
  }
  return conflicts;
}

}  // namespace assay
