#include "replay/formats/symbol_log.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "core/expr/text.h"
#include "core/graph/annotation.h"
#include "core/graph/module_reader.h"

namespace assay {
namespace {

/// `[0/0]` or `[0/0_1]` in a prefix; empty if there is none.
auto compile_id(std::string_view prefix) -> std::string_view {
  for (auto at = prefix.find('['); at != std::string_view::npos; at = prefix.find('[', at + 1)) {
    const auto end = prefix.find(']', at);
    if (end == std::string_view::npos) return {};
    const auto id = prefix.substr(at + 1, end - at - 1);
    const bool is_id = id.contains('/') && std::ranges::all_of(id, [](char c) {
                         return std::isdigit(static_cast<unsigned char>(c)) != 0 ||
                                std::string_view("/_!-").contains(c);
                       });
    if (is_id) return id;
  }
  return {};
}

class SymbolLogReader {
 public:
  explicit SymbolLogReader(Graph& graph) : graph_(graph), env_(graph.env) {}

  void line(std::string_view text) {
    constexpr std::string_view kCreate = "create_symbol ";
    constexpr std::string_view kEval = "eval ";
    if (text.starts_with(kCreate)) return create(text.substr(kCreate.size()));
    const auto added = text.find(" [guard added]");
    if (text.starts_with(kEval) && added != std::string_view::npos)
      guard(text.substr(kEval.size(), added - kEval.size()), text.substr(added + 14));
  }

  /// Was every symbol of the graph created in the log?
  auto finish() -> bool {
    if (changed_) set_environment(graph_, env_);
    return created_.size() == env_.symbols().size();
  }

 private:
  /// `s77 = 8 for L['x'].size()[0] [2, int_oo]   # m.py:6 in f (...)`
  void create(std::string_view text) {
    const auto equals = text.find(" = ");
    const auto source = text.find(" for ", std::min(equals, text.size()));
    if (source == std::string_view::npos) return;
    const auto* symbol = env_.find(text.substr(0, equals));
    const auto open = text.find(" [", source + 5);
    const auto close = text.find(']', std::min(open, text.size()));
    if (symbol == nullptr || close == std::string_view::npos) return;
    const auto expr = symbol->expr;
    const auto hint = claims_.expr(text.substr(equals + 3, source - equals - 3));
    if (hint && hint->is_const()) env_.set_hint(expr, *hint);
    env_.add_source(expr, std::string(text.substr(source + 5, open - source - 5)));
    const auto ends = split_at_commas(text.substr(open + 2, close - open - 2));
    const auto low = ends.size() == 2 ? claims_.expr(ends[0]) : bad_input("no range");
    const auto high = ends.size() == 2 ? claims_.expr(ends[1]) : bad_input("no range");
    if (low && high && low->symbols().empty() && high->symbols().empty())
      env_.set_range(expr, {*low, *high});
    created_.insert(std::string(expr.name()));
    changed_ = true;
  }

  void guard(std::string_view text, std::string_view where) {
    auto condition = parse_expr(env_.pool(), text);
    if (!condition || condition->type() != ExprType::boolean || condition->symbols().empty())
      return;
    for (const auto& symbol : condition->symbols())
      if (env_.find(symbol) == nullptr) return;
    const auto end = std::min(where.find(" ("), where.size());
    where = trimmed(where.substr(0, end));
    if (where.starts_with("at ")) where.remove_prefix(3);
    while (where.starts_with('#') || where.starts_with(' ')) where.remove_prefix(1);
    env_.add_guard({*condition, std::string(text), std::string(where)});
    changed_ = true;
  }

  Graph& graph_;
  ShapeEnv env_;
  ClaimReader claims_{env_};
  std::set<std::string> created_;  ///< symbols
  bool changed_ = false;
};

}  // namespace

auto read_symbol_log(const std::vector<LogRecord>& records, const LogRecord& of, Graph& graph)
    -> bool {
  if (graph.env.symbols().empty()) return false;
  const auto id = compile_id(of.prefix);
  SymbolLogReader reader(graph);
  for (const auto& record : records) {
    if (record.prefix.empty() || compile_id(record.prefix) != id) continue;
    for (std::string_view rest = record.text; !rest.empty();) {
      const auto end = std::min(rest.find('\n'), rest.size());
      reader.line(trimmed(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return reader.finish();
}

}  // namespace assay
