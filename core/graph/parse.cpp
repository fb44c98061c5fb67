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

auto find_start(std::string_view text) -> Start {
  Start start;
  while (start.offset < text.size()) {
    auto line = text.substr(start.offset);
    line = line.substr(0, line.find('\n'));
    const auto indent = std::min(line.find_first_not_of(" \t"), line.size());
    const auto content = trimmed(line);
    const auto class_at = content.starts_with('#') ? std::string_view::npos : class_in_line(line);
    start.indent = static_cast<int>(indent);
    if (content.starts_with('#')) {
      start.comments.push_back(
          {trimmed(content.substr(1)), start.line, static_cast<int>(indent) + 1, true});
    } else if (class_at != std::string_view::npos) {
      start.form = Form::module;
      start.offset += class_at;
      return start;
    } else if (content.starts_with("def forward(")) {
      start.form = Form::function;
      start.offset += indent;
      return start;
    } else if (content.starts_with("graph(") && content.ends_with(':')) {
      start.form = Form::str_graph;
      start.offset += indent;
      return start;
    }
    start.offset += line.size() + 1;
    ++start.line;
  }
  return start;
}

auto expect_end(const PythonCursor& cursor) -> Result<void> {
  if (cursor.token().kind == TokenKind::end) return {};
  if (cursor.at("class")) return bad_source(cursor.token(), "a second graph starts here");
  return cursor.unexpected("the end of the text");
}

auto read_form(std::string_view text, const Start& start, ClaimReader& claims) -> Result<Graph> {
  if (start.form == Form::none)
    return bad_input(
        "line 1: no graph here; expected \"class NAME(torch.nn.Module):\", \"def forward(\" or "
        "\"graph():\"");
  if (start.form == Form::str_graph) return read_str_graph(text, start.offset, start.line, claims);
  PythonCursor cursor(text, start.offset, start.line);
  Graph graph;
  if (start.form == Form::module) {
    ASSAY_TRY(auto module, read_class(cursor, claims, start.indent));
    graph = std::move(module.graph);
  } else {
    ASSAY_TRY(graph, FunctionReader(cursor, claims).read(start.indent));
  }
  ASSAY_TRY_VOID(expect_end(cursor));
  return graph;
}

}  // namespace

auto parse_graph(std::string_view text) -> Result<Graph> {
  ASSAY_TRY_VOID(check_utf8(text));
  std::string plain;
  if (text.contains('\x1b')) {  // coloured terminal output
    plain = strip_ansi(text);
    text = plain;
  }
  const auto start = find_start(text);
  ShapeEnv env;
  ClaimReader claims(env);
  ASSAY_TRY_VOID(read_header(start.comments, claims));
  ASSAY_TRY(auto graph, read_form(text, start, claims));
  set_environment(graph, env);
  return graph;
}

}  // namespace assay
