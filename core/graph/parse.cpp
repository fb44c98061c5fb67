// parse_graph: finds the graph in a text and reads it.
#include <algorithm>

#include "core/graph/header.h"
#include "core/graph/module_reader.h"
#include "core/graph/python_lexer.h"
#include "core/graph/str_graph.h"
#include "core/graph/text.h"

namespace assay {
namespace {

enum class Form { none, module, function, str_graph };

/// Where the graph begins, and the comments above it.
struct Start {
  Form form = Form::none;
  std::size_t offset = 0;
  int line = 1;
  int indent = 0;
  std::string_view title;
  std::vector<Comment> comments;
};

/// Offset of `class NAME(...Module):` in a line, which may stand behind a path in log output.
auto class_in_line(std::string_view line) -> std::size_t {
  const auto end = trimmed(line);
  const auto at = line.find("class ");
  if (at == std::string_view::npos || !line.contains("Module)")) return std::string_view::npos;
  const bool whole_word = at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t';
  return whole_word && end.contains(':') ? at : std::string_view::npos;
}

/// A line of a text with its place.
struct Line {
  std::string_view text;
  std::size_t indent = 0;
};

auto line_at(std::string_view text, std::size_t offset) -> Line {
  auto line = text.substr(offset);
  line = line.substr(0, line.find('\n'));
  return {line, std::min(line.find_first_not_of(" \t"), line.size())};
}

auto form_of(std::string_view line, std::size_t& at) -> Form {
  const auto content = trimmed(line);
  if (content.starts_with('#')) return Form::none;
  const auto class_at = class_in_line(line);
  at = std::min(line.find_first_not_of(" \t"), line.size());
  if (class_at != std::string_view::npos) {
    at = class_at;
    return Form::module;
  }
  // torch.compiler.precompile calls it `_graph_forward`, and what calls that `forward(*args)`.
  const bool is_driver = content.starts_with("def forward(*args");
  if ((content.starts_with("def forward(") && !is_driver) ||
      content.starts_with("def _graph_forward("))
    return Form::function;
  const bool is_str = content.starts_with("graph(") || content.starts_with(".graph(");
  const bool is_table =
      is_table_line(line) && (content.starts_with("opcode") || content.starts_with("placeholder"));
  return (is_str && content.ends_with(':')) || is_table ? Form::str_graph : Form::none;
}

/// `===== Forward graph 0 =====` -> `Forward graph 0`; empty for other lines.
auto title_in_line(std::string_view line) -> std::string_view {
  constexpr std::string_view kBar = "=====";
  line = trimmed(line);
  if (line.size() < 2 * kBar.size() || !line.starts_with(kBar) || !line.ends_with(kBar)) return {};
  const auto first = line.find_first_not_of('=');
  if (first == std::string_view::npos) return {};
  return trimmed(line.substr(first, line.find_last_not_of('=') - first + 1));
}

auto find_start(std::string_view text, std::size_t offset, int first_line) -> Start {
  Start start;
  start.offset = offset;
  start.line = first_line;
  while (start.offset < text.size()) {
    const auto line = line_at(text, start.offset);
    const auto content = trimmed(line.text);
    std::size_t at = 0;
    start.form = form_of(line.text, at);
    start.indent = static_cast<int>(line.indent);
    if (start.form != Form::none) {
      start.offset += at;
      return start;
    }
    if (content.starts_with('#'))
      start.comments.push_back({trimmed(content.substr(1)), start.line, start.indent + 1, true});
    if (const auto title = title_in_line(line.text); !title.empty()) start.title = title;
    start.offset += line.text.size() + 1;
    ++start.line;
  }
  return start;
}

/// Goes behind the graph that begins there, judged by indentation.
void skip_graph(std::string_view text, Start& start) {
  const bool until_return = start.form == Form::str_graph;
  const auto indent = static_cast<std::size_t>(start.indent);
  start.offset = text.rfind('\n', start.offset) + 1;  // npos + 1 is 0
  const bool is_table = until_return && is_table_line(line_at(text, start.offset).text);
  bool is_first = true;
  while (start.offset < text.size()) {
    const auto line = line_at(text, start.offset);
    const auto content = trimmed(line.text);
    const bool is_fence = content.starts_with("```") || content.starts_with("~~~");
    const bool is_inside =
        content.empty() || content.starts_with(')') || (line.indent > indent && !is_fence);
    if (!is_first && !until_return && !is_inside) return;
    std::size_t at = 0;
    const auto form = is_first ? Form::none : form_of(line.text, at);
    const bool is_row = is_table && is_table_line(line.text);
    if (form == Form::str_graph && !is_row) return;
    if (until_return && form != Form::none && !is_row) return;
    is_first = false;
    start.offset += line.text.size() + 1;
    ++start.line;
    if (until_return &&
        (content.starts_with("return") || (is_table && content.starts_with("output"))))
      return;
  }
  start.offset = std::min(start.offset, text.size());
}

auto expect_end(const PythonCursor& cursor) -> Result<void> {
  if (cursor.token().kind == TokenKind::end) return {};
  if (cursor.at("class")) return bad_source(cursor.token(), "a second graph starts here");
  return cursor.unexpected("the end of the text");
}

auto no_graph(int line) -> std::unexpected<Error> {
  return bad_input(
      "line {}: no graph here; expected \"class NAME(torch.nn.Module):\", \"def forward(\" or "
      "\"graph():\"",
      line);
}

/// The text as it is to be read; `store` holds it if it had to be changed.
auto without_colours(std::string_view text, std::string& store) -> std::string_view {
  if (!text.contains('\x1b')) return text;
  store = strip_ansi(text);
  return store;
}

auto read_form(PythonCursor& cursor, const Start& start, ClaimReader& claims, CutOff* cut)
    -> Result<Graph> {
  if (start.form == Form::function) return FunctionReader(cursor, claims, cut).read(start.indent);
  ASSAY_TRY(auto module, read_class(cursor, claims, start.indent, cut));
  return std::move(module.graph);
}

}  // namespace

auto graph_places(std::string_view text, int first_line) -> std::vector<GraphPlace> {
  std::vector<GraphPlace> places;
  std::size_t offset = 0;
  int line = first_line;
  while (true) {
    auto start = find_start(text, offset, line);
    if (start.form == Form::none) return places;
    places.push_back({std::string(start.title), start.line, offset, line});
    skip_graph(text, start);
    offset = start.offset;
    line = start.line;
  }
}

auto parse_graph_at(std::string_view text, const GraphPlace& place) -> Result<GraphExcerpt> {
  const auto start = find_start(text, place.search, place.search_line);
  if (start.form == Form::none) return no_graph(place.line);
  GraphExcerpt excerpt;
  ShapeEnv env;
  ClaimReader claims(env);
  ASSAY_TRY_VOID(read_header(start.comments, claims));
  CutOff cut;
  auto behind = start;
  skip_graph(text, behind);
  if (start.form == Form::str_graph) {
    ASSAY_TRY(excerpt.graph, read_str_graph(text.substr(0, behind.offset), start.offset, start.line,
                                            claims, &cut));
  } else {
    PythonCursor cursor(text, start.offset, start.line);
    ASSAY_TRY(excerpt.graph, read_form(cursor, start, claims, &cut));
  }
  if (cut.found()) excerpt.warnings.push_back(fmt::format("line {}: {}", cut.line, cut.message));
  excerpt.end = behind.offset;
  excerpt.end_line = behind.line;
  set_environment(excerpt.graph, env);
  return excerpt;
}

auto parse_graph(std::string_view text) -> Result<Graph> {
  ASSAY_TRY_VOID(check_utf8(text));
  std::string plain;
  text = without_colours(text, plain);
  const auto start = find_start(text, 0, 1);
  if (start.form == Form::none) return no_graph(1);
  ShapeEnv env;
  ClaimReader claims(env);
  ASSAY_TRY_VOID(read_header(start.comments, claims));
  Graph graph;
  if (start.form == Form::str_graph) {
    ASSAY_TRY(graph, read_str_graph(text, start.offset, start.line, claims));
  } else {
    PythonCursor cursor(text, start.offset, start.line);
    ASSAY_TRY(graph, read_form(cursor, start, claims, nullptr));
    ASSAY_TRY_VOID(expect_end(cursor));
  }
  set_environment(graph, env);
  return graph;
}

}  // namespace assay
