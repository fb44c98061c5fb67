// Line by line reader of str(graph) and of its table.
#include "core/graph/str_graph.h"

#include <algorithm>

#include "core/graph/targets.h"
#include "core/graph/text.h"

namespace assay {
namespace {

/// Values stand under a prefix that no word of the text has, since `%x` is a value and `x` a
/// string.
constexpr std::string_view kValuePrefix = "value__";

auto mark_values(std::string_view text) -> std::string {
  std::string out;
  for (const char c : text) {
    if (c == '%') {
      out += kValuePrefix;
    } else {
      out.push_back(c);
    }
  }
  return out;
}

class StrGraphReader {
 public:
  StrGraphReader(std::string_view text, std::size_t offset, int line, ClaimReader& claims,
                 CutOff* cut)
      : text_(text), offset_(offset), line_(line), claims_(claims), cut_(cut) {}

  auto read() -> Result<Graph> {
    is_table_ = is_table_line(text_.substr(offset_, text_.find('\n', offset_) - offset_));
    if (!is_table_) take_line();  // graph(): or graph(%a, %b):
    while (offset_ < text_.size()) {
      const auto content = trimmed(take_line());
      if (content.empty() || content.starts_with('#')) continue;
      if (is_table_ && (content.starts_with("opcode ") || content.starts_with("----"))) continue;
      if (graph_.output() != nullptr) return fail("text behind the return line");
      if (content.starts_with("return")) {
        ASSAY_TRY_VOID(output(trimmed(content.substr(6))));
      } else {
        const auto read = is_table_ ? row(content) : node(content);
        const bool is_end = !(is_table_ ? is_table_line(content) : content.starts_with('%')) ||
                            trimmed(text_.substr(std::min(offset_, text_.size()))).empty();
        if (!read && (!cut_ || !is_end)) return std::unexpected(read.error());
        if (!read) break;
      }
    }
    if (graph_.output() == nullptr && cut_) end_early();
    if (graph_.output() == nullptr) return fail("the graph has no return line");
    return std::move(graph_);
  }

 private:
  auto take_line() -> std::string_view {
    const auto rest = text_.substr(offset_);
    const auto line = rest.substr(0, rest.find('\n'));
    offset_ += line.size() + 1;
    ++line_;
    return line;
  }

  template <class... Args>
  auto fail(fmt::format_string<Args...> text, Args&&... args) -> std::unexpected<Error> {
    return bad_input("line {}: {}", line_ - 1, fmt::format(text, std::forward<Args>(args)...));
  }

  void end_early() {
    cut_->line = line_ - 1;
    cut_->message = fmt::format("the graph has no output; {} nodes were read", graph_.nodes.size());
    graph_.add(unused_results(graph_));
  }

  /// `%name : ... = kind[target=T](args = (...), kwargs = {...})`
  auto node(std::string_view content) -> Result<void> {
    if (!content.starts_with('%')) return fail("expected a line that begins with %NAME");
    const auto name = content.substr(1, content.find_first_of(" :=") - 1);
    Node node;
    node.name = name;
    node.line = line_ - 1;
    std::string_view rest;
    for (const auto& row : node_kinds()) {
      const auto mark = fmt::format(" = {}[target=", row.name);
      const auto at = content.find(mark);
      if (at == std::string_view::npos) continue;
      node.kind = row.kind;
      rest = content.substr(at + mark.size());
      break;
    }
    if (const auto quote = content.find('"'), equals = content.find(" = ");
        quote != std::string_view::npos && quote < equals) {  // since 2.9: Tensor "f32[2][1]cpu"
      auto claim =
          claims_.claim(content.substr(quote + 1, content.find('"', quote + 1) - quote - 1));
      if (!claim) return fail("{}", claim.error().message);
      node.claim = *std::move(claim);
    }
    const auto close = rest.find(']');
    if (close == std::string_view::npos) return fail("expected KIND[target=...]");
    const auto target = rest.substr(0, close);
    node.target =
        node.kind == NodeKind::call_function ? canonical_target(target) : std::string(target);
    if (node.kind != NodeKind::placeholder && node.kind != NodeKind::get_attr)
      ASSAY_TRY_VOID(arguments(trimmed(rest.substr(close + 1)), node));
    const auto key = std::string(kValuePrefix) + node.name;
    if (!names_.try_emplace(key, NodeId{graph_.next_id}).second)
      return fail("\"{}\" is defined twice", node.name);
    graph_.add(std::move(node));
    return {};
  }

  /// `call_function  add  operator.add  (x, 1)  {}`: five columns with two blanks or more between
  /// them.
  auto row(std::string_view content) -> Result<void> {
    std::vector<std::string_view> columns;
    while (!content.empty() && columns.size() < 5) {
      const auto end =
          columns.size() == 4 ? content.size() : std::min(content.find("  "), content.size());
      columns.push_back(trimmed(content.substr(0, end)));
      content = trimmed(content.substr(end));
    }
    const auto kind = columns.empty()
                          ? node_kinds().end()
                          : std::ranges::find(node_kinds(), columns[0], &NodeKindName::name);
    if (kind == node_kinds().end() || columns.size() < 4)
      return fail("expected a row of opcode, name, target, args, kwargs");
    Node node;
    node.kind = kind->kind;
    node.name = columns[1];
    node.line = line_ - 1;
    node.target = node.kind == NodeKind::call_function ? recorded_target(columns[2])
                                                       : std::string(columns[2]);
    const auto text =
        fmt::format("(args = {}, kwargs = {})", columns[3], columns.size() > 4 ? columns[4] : "{}");
    ASSAY_TRY_VOID(arguments(text, node));
    if (!names_.try_emplace(node.name, NodeId{graph_.next_id}).second)
      return fail("\"{}\" is defined twice", node.name);
    graph_.add(std::move(node));
    return {};
  }

  /// The text reads as a Python call once values are marked.
  auto arguments(std::string_view text, Node& node) -> Result<void> {
    const std::string source = "call" + (is_table_ ? std::string(text) : mark_values(text));
    PythonCursor cursor(source);
    ArgReader reader(cursor, names_, claims_, Words::strings);
    const auto in_line = [&](const Error& error) { return fail("{}", error.message); };
    const auto call = cursor.expression();
    if (!call) return in_line(call.error());
    for (const int part : cursor.children(*call)) {
      const auto& syntax = cursor.syntax(part);
      if (syntax.kind != SyntaxKind::keyword) continue;
      auto value = reader.read(syntax.first_child);
      if (!value) return in_line(value.error());
      if (auto* sequence = std::get_if<SequenceArg>(&value->value);
          sequence && syntax.text == "args")
        node.args = std::move(sequence->items);
      if (auto* dict = std::get_if<DictArg>(&value->value); dict && syntax.text == "kwargs")
        node.kwargs = std::move(dict->items);
    }
    return {};
  }

  auto output(std::string_view text) -> Result<void> {
    Node node;
    node.kind = NodeKind::output;
    node.target = node.name = "output";
    node.line = line_ - 1;
    const std::string source = mark_values(text);
    PythonCursor cursor(source);
    ArgReader reader(cursor, names_, claims_, Words::strings);
    const auto value = cursor.expression();
    auto arg =
        value ? reader.read(reader.returned(*value)) : Result<Arg>(std::unexpected(value.error()));
    if (!arg) return fail("{}", arg.error().message);
    node.args.push_back(*std::move(arg));
    graph_.add(std::move(node));
    return {};
  }

  std::string_view text_;
  std::size_t offset_;
  int line_;
  ClaimReader& claims_;
  CutOff* cut_;
  bool is_table_ = false;
  NodeNames names_;
  Graph graph_;
};

}  // namespace

auto is_table_line(std::string_view line) -> bool {
  line = trimmed(line);
  if (line.starts_with("opcode  ")) return true;
  return std::ranges::any_of(node_kinds(), [&](const NodeKindName& row) {
    return line.starts_with(row.name) && line.substr(row.name.size()).starts_with("  ");
  });
}

auto read_str_graph(std::string_view text, std::size_t offset, int line, ClaimReader& claims,
                    CutOff* cut) -> Result<Graph> {
  return StrGraphReader(text, offset, line, claims, cut).read();
}

}  // namespace assay
