// read_graph_text: graphs in texts of all kinds, without any recorded values.
#include <algorithm>
#include <map>

#include "core/graph/python_lexer.h"
#include "core/graph/text.h"
#include "replay/formats/batching.h"
#include "replay/formats/capture.h"
#include "replay/formats/export_text.h"
#include "replay/formats/log_text.h"
#include "replay/formats/precompile.h"
#include "replay/formats/symbol_log.h"

namespace assay {
namespace {

/// A graph of one of the records of a text.
struct Found {
  const LogRecord* record = nullptr;
  GraphPlace place;
};

auto find_all(const std::vector<LogRecord>& records) -> std::vector<Found> {
  std::vector<Found> found;
  for (const auto& record : records)
    for (auto& place : graph_places(record.text, record.line))
      found.push_back({&record, std::move(place)});
  return found;
}

auto describe(const Found& one) -> std::string {
  return one.place.title.empty() ? fmt::format("line {}", one.place.line)
                                 : fmt::format("{} (line {})", one.place.title, one.place.line);
}

auto list(const std::vector<Found>& all) -> std::string {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i)
    text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", i + 1, describe(all[i]));
  return text;
}

/// By number from 1, or by title.
auto choose(const std::vector<Found>& all, std::string_view wanted) -> Result<const Found*> {
  if (wanted.empty()) return &all.front();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (wanted == all[i].place.title || wanted == std::to_string(i + 1)) return &all[i];
  return bad_input("there is no graph \"{}\"; the text has {}", wanted, list(all));
}

auto kind_of(std::string_view title) -> std::string {
  if (title.starts_with("Forward graph")) return "fwd";
  if (title.starts_with("Backward graph")) return "bwd";
  return {};
}

/// The index of `x[3]`; -1 for any other node.
auto item_index(const Node& node) -> std::int64_t {
  if (node.target != "operator.getitem" || node.args.size() != 2) return -1;
  const auto* at = std::get_if<Expr>(&node.args[1].value);
  return at ? at->as_int().value_or(-1) : -1;
}

/// Inputs that are lists, as compiled autograd's: the items that are taken say what a list holds.
void claim_lists(Graph& graph) {
  constexpr std::int64_t kMostItems = 4096;
  std::map<NodeId, std::vector<Claim>> lists;  // of inputs that nothing reads as a whole
  for (const auto& node : graph.nodes)
    if (node.kind == NodeKind::placeholder && node.claim.empty()) lists[node.id];
  for (const auto& node : graph.nodes) {
    const auto index = item_index(node);
    for (const auto id : operands(node)) {
      const auto list = lists.find(id);
      if (list == lists.end()) continue;
      if (index < 0 || index >= kMostItems) {
        lists.erase(list);
        continue;
      }
      auto& items = list->second;
      items.resize(std::max(items.size(), static_cast<std::size_t>(index) + 1));
      if (!node.claim.empty()) items[static_cast<std::size_t>(index)] = node.claim;
    }
  }
  const auto is_told = [](const Claim& item) { return !item.empty(); };
  for (auto& node : graph.nodes)
    if (const auto list = lists.find(node.id);
        list != lists.end() && std::ranges::any_of(list->second, is_told))
      node.claim = Claim{.value = std::move(list->second)};
}

/// Our own header lists all guards, unless it says that they are not known.
auto is_printed_whole(std::string_view text) -> bool {
  return text.contains("# assay graph ") && !text.contains(kGuardsNotRecorded);
}

}  // namespace

auto read_graph_text(std::string_view text, std::string_view wanted) -> Result<Capture> {
  ASSAY_TRY_VOID(check_utf8(text));
  const auto plain = text.contains('\x1b') ? strip_ansi(text) : std::string(text);
  const auto records = split_log(plain);
  const auto all = find_all(records);
  if (all.empty()) {
    if (plain.contains("Repro is not generated due to existence of BackwardState"))
      return unsupported("PyTorch wrote no repro: a graph input is a BackwardState");
    if (plain.contains("async_compile") || plain.contains("def call("))
      return unsupported(
          "code that Inductor generated, which holds no graph; `assay prove` checks it");
    const auto strict = parse_graph(plain);
    return std::unexpected(strict ? Error{ErrorCode::bad_input, "no graph here"} : strict.error());
  }
  ASSAY_TRY(const auto* chosen, choose(all, wanted));
  ASSAY_TRY(auto excerpt, parse_graph_at(chosen->record->text, chosen->place));
  Capture capture;
  capture.format = "fx text";
  capture.kind = kind_of(chosen->place.title);
  capture.graph = without_batching(std::move(excerpt.graph));
  claim_lists(capture.graph);
  capture.warnings = std::move(excerpt.warnings);
  if (is_precompiled(text)) read_precompiled(text, capture);
  for (const auto& node : capture.graph.nodes)
    if (node.kind == NodeKind::placeholder) capture.inputs.emplace_back();
  if (all.size() > 1 && wanted.empty())
    capture.warnings.push_back(
        fmt::format("the text has {} graphs, this is the first ({})", all.size(), list(all)));
  // What follows a graph up to the next one is about it.
  auto behind = std::string_view(chosen->record->text).substr(excerpt.end);
  for (const auto& other : all)
    if (other.record == chosen->record && other.place.search >= excerpt.end) {
      const auto lines = other.place.line - excerpt.end_line;
      std::size_t end = 0;
      for (int i = 0; i < lines && end != std::string_view::npos; ++i)
        end = behind.find('\n', end == 0 ? 0 : end + 1);
      behind = behind.substr(0, end);
      break;
    }
  read_export_text(behind, excerpt.end_line, capture);
  if (read_symbol_log(records, *chosen->record, capture.graph) ||
      is_printed_whole(
          std::string_view(chosen->record->text).substr(chosen->place.search, excerpt.end)))
    capture.guards_recorded = true;
  return capture;
}

}  // namespace assay
