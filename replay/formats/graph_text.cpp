// read_graph_text: graphs in texts of all kinds, without any recorded values.
#include "core/graph/python_lexer.h"
#include "core/graph/text.h"
#include "replay/formats/capture.h"
#include "replay/formats/export_text.h"
#include "replay/formats/log_text.h"
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
  capture.graph = std::move(excerpt.graph);
  capture.warnings = std::move(excerpt.warnings);
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
  read_symbol_log(records, *chosen->record, capture.graph);
  return capture;
}

}  // namespace assay
