#include "replay/interp/blame.h"

#include <algorithm>
#include <array>
#include <set>

#include "replay/interp/compare.h"

namespace assay {
namespace {

/// Operators for which the offset of an operand's storage is a number like others, and the position
/// of the argument that must be there for that.
struct OffsetReader {
  std::string_view target;
  std::size_t argument;
  std::string_view keyword;
};
constexpr std::array<OffsetReader, 6> kOffsetReaders = {{
    {"aten.as_strided.default", 3, "storage_offset"},
    {"aten.as_strided_.default", 3, "storage_offset"},
    {"aten.as_strided_copy.default", 3, "storage_offset"},
    {"aten.as_strided_scatter.default", 4, "storage_offset"},
    {"aten.sym_storage_offset.default", 0, ""},
    {"aten.storage_offset.default", 0, ""},
}};

/// The claim at the binding as a fake value. Errors: undecided for a symbol without a value.
auto claimed_fake(const Claim& claim, const Binding& binding) -> Result<Datum> {
  if (const auto* meta = claim.tensor()) {
    ASSAY_TRY(const auto layout, evaluate_claim(*meta, binding));
    return Datum{FakeTensor{to_claim(layout), -1}};
  }
  if (const auto* scalar = claim.scalar()) {
    ASSAY_TRY(const auto value, evaluate(*scalar, binding));
    return Datum{value};
  }
  DatumList list;
  if (const auto* items = claim.items()) {
    for (const auto& item : *items) {
      ASSAY_TRY(auto value, claimed_fake(item, binding));
      list.push_back(std::move(value));
    }
    return Datum{std::move(list)};
  }
  return Datum{};
}

/// Do two layouts agree, where `exactly` is off in all that matters?
auto agree(const Datum& rule, const Datum& claim, bool exactly) -> bool {
  if (const auto* list = rule.list()) {
    const auto* other = claim.list();
    return other && std::ranges::equal(*list, *other, [&](const Datum& a, const Datum& b) {
             return agree(a, b, exactly);
           });
  }
  if (!rule.fake()) return true;
  if (!claim.fake()) return false;
  const auto& a = rule.fake()->meta;
  const auto& b = claim.fake()->meta;
  if (a.dtype != b.dtype || a.sizes != b.sizes) return false;
  const bool empty = std::ranges::any_of(a.sizes, [](const Expr& size) { return size.is_int(0); });
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    const bool matters = exactly || (!empty && !a.sizes[i].is_int(1));
    if (matters && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

}  // namespace

auto reads_offset(const Node& node) -> bool {
  const auto* row = std::ranges::find(kOffsetReaders, node.target, &OffsetReader::target);
  if (row == kOffsetReaders.end()) return false;
  if (row->argument < node.args.size())
    return !std::holds_alternative<NoneArg>(node.args[row->argument].value);
  return std::ranges::any_of(node.kwargs, [&](const auto& kw) {
    return kw.first == row->keyword && !std::holds_alternative<NoneArg>(kw.second.value);
  });
}

QuietLies::QuietLies(const Graph& graph, const OpTable& table, const GraphRun& run,
                     const Binding& binding)
    : graph_(graph),
      run_(run),
      binding_(binding),
      probe_(graph, table),
      strides_(graph.nodes.size(), false),
      offsets_(graph.nodes.size(), 0) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) position_[graph.nodes[i].id] = i;
}

auto QuietLies::operand_positions(std::size_t at) const -> std::vector<std::size_t> {
  std::vector<std::size_t> positions;
  for (const auto id : operands(graph_.nodes[at]))
    if (const auto found = position_.find(id);
        found != position_.end() && std::ranges::find(positions, found->second) == positions.end())
      positions.push_back(found->second);
  return positions;
}

auto QuietLies::is_honest(std::size_t at, bool exactly) const -> bool {
  const auto& node = graph_.nodes[at];
  bool known = true;
  const auto rule = probe_.run(node, [&](NodeId id) {
    const auto found = position_.find(id);
    if (found == position_.end()) return Datum{};
    const auto& claim = graph_.nodes[found->second].claim;
    if (claim.empty()) return fake_of(run_.nodes[found->second].value);
    auto value = claimed_fake(claim, binding_);
    known = known && value;
    return value ? *std::move(value) : Datum{};
  });
  const auto claim = claimed_fake(node.claim, binding_);
  return rule && known && claim && !rule->depends_on_data && agree(rule->value, *claim, exactly);
}

auto QuietLies::believed_strides(std::size_t at) const -> std::vector<std::size_t> {
  std::vector<std::size_t> liars;
  for (const auto operand : operand_positions(at))
    if (strides_[operand]) liars.push_back(operand);
  if (liars.empty() || !is_honest(at, false)) return {};
  // A liar may itself have believed another one.
  std::vector<std::size_t> roots;
  std::set<std::size_t> seen;
  while (!liars.empty()) {
    const auto liar = liars.back();
    liars.pop_back();
    if (!seen.insert(liar).second) continue;
    std::vector<std::size_t> before;
    for (const auto operand : operand_positions(liar))
      if (strides_[operand]) before.push_back(operand);
    if (!before.empty() && is_honest(liar, true))
      liars.insert(liars.end(), before.begin(), before.end());
    else
      roots.push_back(liar);
  }
  std::ranges::sort(roots);
  return roots;
}

auto QuietLies::read_offsets(std::size_t at) const -> std::vector<std::size_t> {
  if (!reads_offset(graph_.nodes[at])) return {};
  std::vector<std::size_t> read;
  for (auto operand : operand_positions(at)) {
    if (offsets_[operand] == 0) continue;
    // Back through views to the tensor whose storage it is.
    for (bool moved = true; moved && run_.nodes[operand].is_view;) {
      moved = false;
      for (const auto before : operand_positions(operand))
        if (offsets_[before] == offsets_[operand]) {
          operand = before;
          moved = true;
          break;
        }
    }
    read.push_back(operand);
  }
  return read;
}

auto QuietLies::follows_offset(std::size_t at, std::int64_t difference) const -> bool {
  return std::ranges::any_of(operand_positions(at),
                             [&](std::size_t operand) { return offsets_[operand] == difference; });
}

FalseClaims::FalseClaims(const Graph& graph) : graph_(graph), sources_(graph.nodes.size()) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) position_[graph.nodes[i].id] = i;
}

void FalseClaims::pass_on(std::size_t at) {
  if (graph_.nodes[at].claim.empty() && sources_[at].empty())
    sources_[at] = sources_of_operands(at);
}

auto FalseClaims::sources_of_operands(std::size_t at) const -> std::vector<std::size_t> {
  std::vector<std::size_t> found;
  for (const auto id : operands(graph_.nodes[at])) {
    const auto position = position_.find(id);
    if (position == position_.end()) continue;
    for (const auto source : sources_[position->second])
      if (std::ranges::find(found, source) == found.end()) found.push_back(source);
  }
  return found;
}

auto FalseClaims::behind(std::size_t at) const -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const auto source : sources_of_operands(at)) names.push_back(graph_.nodes[source].name);
  return names;
}

}  // namespace assay
