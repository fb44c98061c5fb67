#include "replay/trace/filter.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "replay/trace/schema.h"

namespace assay {
namespace {

/// FTS5's trigrams find nothing shorter.
constexpr std::size_t kShortestIndexed = 3;
constexpr int kMostLevels = 100;

enum class FieldKind : std::uint8_t { text, number, status };

/// `sql` holds `%` where the comparison goes.
struct FieldRow {
  FilterField field;
  FieldKind kind;
  std::string_view sql;
};

constexpr std::array kFields = {
    FieldRow{{"name", "name of the node", "name:add"}, FieldKind::text, "n.name %"},
    FieldRow{{"op", "operator", "op:pad"}, FieldKind::text, "n.target %"},
    FieldRow{{"kind", "kind of node", "kind=placeholder"}, FieldKind::text, "n.kind %"},
    FieldRow{{"module", "module path", "module:attn"}, FieldKind::text, "ifnull(n.module, '') %"},
    FieldRow{{"file", "source file", "file:model.py"}, FieldKind::text, "ifnull(n.file, '') %"},
    FieldRow{{"line", "source line", "line=158"}, FieldKind::number, "n.line %"},
    FieldRow{{"seq", "position in the graph", "seq>100"}, FieldKind::number, "n.seq %"},
    FieldRow{{"call", "the call as text", "call:dim"}, FieldKind::text, "ifnull(n.call, '') %"},
    FieldRow{{"status", "mismatch, root, inherited, note, ok, or as a run left it", "status:root"},
             FieldKind::status,
             "n.status %"},
    FieldRow{{"finding", "kind of finding", "finding:stride"},
             FieldKind::text,
             "EXISTS (SELECT 1 FROM findings f WHERE f.node_id = n.id AND f.kind %)"},
    FieldRow{{"dtype", "claimed dtype", "dtype:float16"},
             FieldKind::text,
             "EXISTS (SELECT 1 FROM claims c WHERE c.node_id = n.id AND c.dtype %)"},
    FieldRow{{"dim", "symbol or size in the claimed sizes", "dim:s0"},
             FieldKind::text,
             "EXISTS (SELECT 1 FROM claims c WHERE c.node_id = n.id AND c.sizes %)"},
    FieldRow{{"stride", "in the claimed strides", "stride:s0"},
             FieldKind::text,
             "EXISTS (SELECT 1 FROM claims c WHERE c.node_id = n.id AND c.strides %)"},
    FieldRow{{"bytes", "of the storage", "bytes>1M"},
             FieldKind::number,
             "EXISTS (SELECT 1 FROM observations o WHERE o.node_id = n.id AND o.storage_bytes %)"},
    FieldRow{{"storage", "id of the storage", "storage=3"},
             FieldKind::number,
             "EXISTS (SELECT 1 FROM observations o WHERE o.node_id = n.id AND o.storage_id %)"},
};

struct StatusRow {
  std::string_view name;
  std::string_view sql;
};
constexpr std::array kStatuses = {
    StatusRow{"mismatch",
              "n.id IN (SELECT node_id FROM findings WHERE kind NOT LIKE 'insignificant-%')"},
    StatusRow{"root",
              "n.id IN (SELECT node_id FROM findings WHERE blame = 'root' AND kind NOT LIKE "
              "'insignificant-%')"},
    StatusRow{"inherited", "n.id IN (SELECT node_id FROM findings WHERE blame = 'inherited')"},
    StatusRow{"note", "n.id IN (SELECT node_id FROM findings WHERE kind LIKE 'insignificant-%')"},
    StatusRow{"ok",
              "n.status IN ('ran', 'recorded') AND n.id NOT IN (SELECT node_id FROM findings "
              "WHERE node_id IS NOT NULL)"},
};

// Names are looked up graph by graph, in an index, once for the whole filter; edges stay in a
// graph. What a graph returns is near to its output, not to each other.
constexpr std::string_view kNear =
    "n.id IN (WITH RECURSIVE near(id, far) AS (SELECT x.id, 0 FROM graphs g CROSS JOIN nodes x ON "
    "x.graph_id = g.id WHERE x.name = ? UNION SELECT CASE WHEN o.node_id = near.id THEN "
    "o.producer_id ELSE o.node_id END, far + 1 FROM near JOIN operands o ON o.node_id = near.id OR "
    "o.producer_id = near.id WHERE far < ? AND (far = 0 OR NOT EXISTS (SELECT 1 FROM nodes p WHERE "
    "p.id = near.id AND p.kind = 'output')) LIMIT 20000) SELECT id FROM near)";
/// What one node reaches along the edges, by their end that is asked for.
constexpr std::string_view kBelow =
    "n.id IN (WITH RECURSIVE reach(id) AS (SELECT x.id FROM graphs g CROSS JOIN nodes x ON "
    "x.graph_id = g.id WHERE x.name = ? UNION SELECT o.node_id FROM reach JOIN operands o ON "
    "o.producer_id = reach.id) SELECT id FROM reach)";
constexpr std::string_view kAbove =
    "n.id IN (WITH RECURSIVE reach(id) AS (SELECT x.id FROM graphs g CROSS JOIN nodes x ON "
    "x.graph_id = g.id WHERE x.name = ? UNION SELECT o.producer_id FROM reach JOIN operands o ON "
    "o.node_id = reach.id) SELECT id FROM reach)";
constexpr std::string_view kUsers =
    "n.id IN (SELECT o.node_id FROM graphs g CROSS JOIN nodes x ON x.graph_id = g.id JOIN operands "
    "o ON o.producer_id = x.id WHERE x.name = ?)";
constexpr std::string_view kInputs =
    "n.id IN (SELECT o.producer_id FROM graphs g CROSS JOIN nodes x ON x.graph_id = g.id JOIN "
    "operands o ON o.node_id = x.id WHERE x.name = ?)";

auto lower(std::string_view text) -> std::string {
  std::string result(text);
  for (auto& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// For LIKE with `\` as escape.
auto contains_pattern(std::string_view text) -> std::string {
  std::string pattern = "%";
  for (const char c : text) {
    if (c == '%' || c == '_' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern + "%";
}

auto quoted_phrase(std::string_view text) -> std::string {
  std::string phrase = "\"";
  for (const char c : text) phrase += c == '"' ? std::string("\"\"") : std::string(1, c);
  return phrase + "\"";
}

/// "10", "1.5K", "2M".
auto parse_amount(std::string_view text) -> std::optional<double> {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  const auto unit = lower(std::string_view(end, text.data() + text.size()));
  if (unit.empty()) return value;
  if (unit == "k" || unit == "kib") return value * 1024;
  if (unit == "m" || unit == "mib") return value * 1024 * 1024;
  if (unit == "g" || unit == "gib") return value * 1024 * 1024 * 1024;
  return std::nullopt;
}

class Compiler {
 public:
  Compiler(std::string_view text, int version) : text_(text), version_(version) {}

  auto run() -> Result<Filter> {
    skip();
    if (at_ == text_.size()) return filter_;
    ASSAY_TRY(filter_.where, any());
    skip();
    if (at_ != text_.size()) return failure("unexpected `)`");
    return filter_;
  }

 private:
  auto failure(std::string_view what) const -> std::unexpected<Error> {
    return std::unexpected(Error{ErrorCode::usage, fmt::format("column {}: {}", at_ + 1, what)});
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  auto next_is(char c) -> bool {
    skip();
    return at_ < text_.size() && text_[at_] == c;
  }

  auto any() -> Result<std::string> {
    if (++level_ > kMostLevels) return failure("too many levels");
    ASSAY_TRY(auto sql, all());
    while (next_is('|')) {
      ++at_;
      ASSAY_TRY(const auto other, all());
      sql = fmt::format("({} OR {})", sql, other);
    }
    --level_;
    return sql;
  }
  auto all() -> Result<std::string> {
    std::string sql;
    while (true) {
      skip();
      if (at_ == text_.size() || text_[at_] == ')' || text_[at_] == '|') break;
      ASSAY_TRY(const auto one, term());
      sql = sql.empty() ? one : fmt::format("({} AND {})", sql, one);
    }
    if (sql.empty()) return failure("a term is missing");
    return sql;
  }
  auto term() -> Result<std::string> {
    if (text_[at_] == '+') ++at_;
    if (at_ < text_.size() && text_[at_] == '-') {
      ++at_;
      skip();
      if (at_ == text_.size()) return failure("a term is missing behind `-`");
      ++negations_;
      ASSAY_TRY(const auto sql, term());
      --negations_;
      return fmt::format("NOT ({})", sql);
    }
    if (next_is('(')) {
      ++at_;
      ASSAY_TRY(auto sql, any());
      if (!next_is(')')) return failure("`)` is missing");
      ++at_;
      return sql;
    }
    return leaf();
  }

  auto word() -> std::string {
    std::string result;
    if (at_ < text_.size() && text_[at_] == '"') {
      for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) result += text_[at_];
      if (at_ < text_.size()) ++at_;
      return result;
    }
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) == 0 &&
           !std::string_view("()|:=<>,\"").contains(text_[at_]))
      result += text_[at_++];
    return result;
  }

  auto leaf() -> Result<std::string> {
    const auto begin = at_;
    const auto name = word();
    if (name.empty() && at_ == begin) return failure("expected a word");
    if (at_ < text_.size() && text_[at_] == '(') return function(begin, name);
    if (at_ < text_.size() && std::string_view(":=<>").contains(text_[at_]))
      return field(begin, name);
    note(begin, fmt::format("name or operator contains \"{}\"", name));
    return words(name);
  }
  void note(std::size_t begin, std::string meaning) {
    filter_.terms.push_back({std::string(text_.substr(begin, at_ - begin)),
                             negations_ % 2 == 1 ? "not: " + meaning : std::move(meaning)});
  }

  auto words(const std::string& name) -> Result<std::string> {
    if (version_ >= 2 && name.size() >= kShortestIndexed) {
      // Alone among its like the index may lead the query; hits then come in its order.
      const bool leads = level_ == 1 && negations_ == 0 && !text_.contains('|');
      if (leads && filter_.match.empty()) {
        filter_.match = quoted_phrase(name);
        return "1";
      }
      filter_.parameters.emplace_back(quoted_phrase(name));
      return "n.id IN (SELECT rowid FROM node_text WHERE node_text MATCH ?)";
    }
    filter_.parameters.emplace_back(contains_pattern(name));
    filter_.parameters.emplace_back(contains_pattern(name));
    return R"((n.name LIKE ? ESCAPE '\' OR n.target LIKE ? ESCAPE '\'))";
  }

  auto field(std::size_t begin, const std::string& name) -> Result<std::string> {
    const auto row = std::ranges::find(kFields, lower(name),
                                       [](const FieldRow& r) { return std::string(r.field.name); });
    if (row == kFields.end()) {
      std::string known;
      for (const auto& one : kFields) known += fmt::format(" {}", one.field.name);
      at_ = begin;
      return failure(fmt::format("there is no field \"{}\"; there are:{}", name, known));
    }
    std::string op(1, text_[at_++]);
    if (at_ < text_.size() && text_[at_] == '=' && op != ":") op += text_[at_++];
    if (at_ < text_.size() && text_[at_] == '~' && op == ":") ++at_;
    const auto value = word();
    if (value.empty()) return failure("a value is missing");
    note(begin, fmt::format("{} {} {}", row->field.doc, op == ":" ? "contains" : op, value));
    if (row->kind == FieldKind::status) return status(value);
    return compare(*row, op, value);
  }

  auto status(const std::string& value) -> Result<std::string> {
    for (const auto& row : kStatuses)
      if (row.name == lower(value)) return fmt::format("({})", row.sql);
    filter_.parameters.emplace_back(value);
    return "n.status = ?";
  }

  auto compare(const FieldRow& row, const std::string& op, const std::string& value)
      -> Result<std::string> {
    const auto hole = row.sql.find('%');
    const auto filled = [&](std::string_view comparison) {
      return fmt::format("({}{}{})", row.sql.substr(0, hole), comparison, row.sql.substr(hole + 1));
    };
    if (row.kind == FieldKind::number) {
      const auto amount = parse_amount(value);
      if (!amount) return failure(fmt::format("\"{}\" is no number", value));
      filter_.parameters.emplace_back(*amount);
      return filled(fmt::format("{} ?", op == ":" ? "=" : op));
    }
    if (op != ":" && op != "=" && op != "==")
      return failure(fmt::format("{} is text: use : or =", row.field.name));
    filter_.parameters.emplace_back(op == ":" ? contains_pattern(value) : value);
    return filled(op == ":" ? R"(LIKE ? ESCAPE '\')" : "= ?");
  }

  auto function(std::size_t begin, const std::string& name) -> Result<std::string> {
    std::vector<std::string> arguments;
    do {
      ++at_;
      skip();
      arguments.push_back(word());
      skip();
    } while (at_ < text_.size() && text_[at_] == ',');
    if (at_ == text_.size() || text_[at_] != ')') return failure("`)` is missing");
    ++at_;
    const auto called = lower(name);
    const std::size_t wanted = called == "near" || called == "path" ? 2 : 1;
    if (called != "near" && called != "path" && called != "users" && called != "inputs") {
      at_ = begin;
      return failure(
          fmt::format("there is no \"{}\"(...); there are near, path, users, inputs", name));
    }
    if (arguments.size() != wanted)
      return failure(fmt::format("{} takes {} values", called, wanted));
    note(begin, called);
    filter_.parameters.emplace_back(arguments[0]);
    if (called == "users") return std::string(kUsers);
    if (called == "inputs") return std::string(kInputs);
    if (called == "path") {
      filter_.parameters.emplace_back(arguments[1]);
      return fmt::format("({} AND {})", kBelow, kAbove);
    }
    const auto radius = parse_amount(arguments[1]);
    if (!radius) return failure(fmt::format("\"{}\" is no number", arguments[1]));
    filter_.parameters.emplace_back(*radius);
    return std::string(kNear);
  }

  std::string_view text_;
  int version_;
  std::size_t at_ = 0;
  int level_ = 0;
  int negations_ = 0;
  Filter filter_;
};

}  // namespace

auto filter_fields() -> std::span<const FilterField> {
  static const auto fields = [] {
    std::array<FilterField, kFields.size()> all;
    std::ranges::transform(kFields, all.begin(), &FieldRow::field);
    return all;
  }();
  return fields;
}

auto compile_filter(std::string_view text, int version) -> Result<Filter> {
  return Compiler(text, version).run();
}

}  // namespace assay
