// Classes, signatures and comments of generated modules.
#include "core/graph/module_reader.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace assay {
namespace {

/// Bodies of higher-order operators nest; hostile input must not exhaust the stack.
constexpr int kMaxClassDepth = 32;

/// `class NAME(BASES):` up to the end of its line.
auto class_header(PythonCursor& cursor) -> Result<std::string> {
  ASSAY_TRY_VOID(cursor.expect("class"));
  std::string name;
  if (cursor.accept("<")) {
    ASSAY_TRY(const auto word, cursor.expect_name("a class name"));
    ASSAY_TRY_VOID(cursor.expect(">"));
    name = fmt::format("<{}>", word.text);
  } else {
    ASSAY_TRY(const auto word, cursor.expect_name("a class name"));
    name = word.text;
  }
  if (cursor.at("(")) {
    cursor.clear();
    ASSAY_TRY(const int bases, cursor.expression());
    (void)bases;
  }
  ASSAY_TRY_VOID(cursor.expect(":"));
  return name;
}

auto end_of_line(PythonCursor& cursor) -> Result<void> {
  if (cursor.token().kind != TokenKind::newline && cursor.token().kind != TokenKind::end)
    return cursor.unexpected("the end of the line");
  if (cursor.token().kind == TokenKind::newline) cursor.advance();
  return {};
}

auto inside(PythonCursor& cursor, int indent) -> bool {
  return cursor.token().kind != TokenKind::end && cursor.lexer().indent() > indent;
}

/// "```" or "~~~" of a message: what it held ends here.
auto is_fence(const PythonCursor& cursor) -> bool {
  const auto line = cursor.line_from(cursor.token());
  return line.starts_with("```") || line.starts_with("~~~");
}

/// Statements of a method other than forward.
auto take_method(PythonCursor& cursor) -> Result<std::vector<SourceLine>> {
  const int indent = cursor.lexer().indent();
  std::vector<SourceLine> lines;
  ASSAY_TRY(const auto header, take_statement(cursor));
  (void)header;
  while (inside(cursor, indent)) {
    ASSAY_TRY(const auto line, take_statement(cursor));
    lines.push_back(line);
  }
  return lines;
}

/// Classes that were printed as `<lambda>` get the names under which the graph takes them. They are
/// printed in the order in which they were made, as the graph mentions them: where both are as
/// many.
void name_lambdas(const Graph& graph, std::vector<std::pair<std::string, Graph>>& children) {
  constexpr std::string_view kUnnamed = "<lambda>";
  const auto is_known = [&](std::string_view name) {
    return std::ranges::any_of(children, [&](const auto& child) { return child.first == name; });
  };
  std::set<NodeId> bodies;  // operands of higher-order operators
  for (const auto& node : graph.nodes)
    if (node.target.starts_with("higher_order."))
      for (const auto operand : operands(node)) bodies.insert(operand);
  std::vector<std::string> wanted;
  for (const auto& node : graph.nodes)
    if (node.kind == NodeKind::get_attr && bodies.contains(node.id) && !is_known(node.target) &&
        std::ranges::find(wanted, node.target) == wanted.end())
      wanted.push_back(node.target);
  if (std::ranges::count(children, kUnnamed, &std::pair<std::string, Graph>::first) !=
      std::ssize(wanted))
    return;
  auto next = wanted.begin();
  for (auto& [name, child] : children)
    if (name == kUnnamed) name = *next++;
}

}  // namespace

auto take_statement(PythonCursor& cursor) -> Result<SourceLine> {
  SourceLine statement;
  const auto start = cursor.token().offset;
  statement.source = cursor.lexer().source();
  statement.offset = start;
  statement.line = cursor.token().line;
  statement.indent = cursor.lexer().indent();
  auto end = start;
  while (cursor.token().kind != TokenKind::newline && cursor.token().kind != TokenKind::end) {
    if (cursor.token().kind == TokenKind::invalid) return cursor.unexpected("a statement");
    end = cursor.token().offset + cursor.token().text.size();
    cursor.advance();
  }
  statement.text = statement.source.substr(start, end - start);
  if (cursor.token().kind == TokenKind::newline) cursor.advance();
  return statement;
}

void set_environment(Graph& graph, const ShapeEnv& env) {
  graph.env = env;
  for (auto& [name, child] : graph.children) set_environment(child, env);
}

auto unused_results(const Graph& graph) -> Node {
  std::vector<bool> used(static_cast<std::size_t>(graph.next_id), false);
  for (const auto& node : graph.nodes)
    for (const auto id : operands(node)) used[static_cast<std::size_t>(id.value)] = true;
  SequenceArg results{{}, true};
  for (const auto& node : graph.nodes)
    if (node.kind != NodeKind::placeholder && !used[static_cast<std::size_t>(node.id.value)])
      results.items.push_back(Arg{node.id});
  Node output;
  output.kind = NodeKind::output;
  output.target = "output";
  output.args.push_back(Arg{std::move(results)});
  output.name = "output";
  return output;
}

auto origin_from_comment(std::string_view text) -> std::optional<Origin> {
  const auto file = text.starts_with("File: ") ? 0 : text.find(" File: ");
  if (file == std::string_view::npos) return std::nullopt;
  text.remove_prefix(file + (file == 0 ? 6 : 7));
  Origin origin;
  const auto code = text.find(", code:");
  if (code != std::string_view::npos) {
    origin.code = trimmed(text.substr(code + 7));
    text = text.substr(0, code);
  }
  const auto in = text.rfind(" in ");
  if (in != std::string_view::npos) {
    origin.function = trimmed(text.substr(in + 4));
    text = text.substr(0, in);
  }
  const auto colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    const auto digits = text.substr(colon + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), origin.line);
    text = text.substr(0, colon);
  }
  origin.file = text;
  return origin;
}

auto read_class(PythonCursor& cursor, ClaimReader& claims, int indent, CutOff* cut, int depth)
    -> Result<ModuleSource> {
  const Token place = cursor.token();
  if (depth > kMaxClassDepth) return bad_source(place, "classes nest too deeply");
  ModuleSource module;
  module.place = place;
  ASSAY_TRY(module.name, class_header(cursor));
  std::string class_name = module.name;
  for (const auto& comment : cursor.lexer().take_comments())
    if (!comment.own_line && comment.text.starts_with("assay class "))
      class_name = trimmed(comment.text.substr(12));
  ASSAY_TRY_VOID(end_of_line(cursor));
  bool has_forward = false;
  std::vector<std::pair<std::string, Graph>> children;
  while (inside(cursor, indent) && !(cut && is_fence(cursor))) {
    const int inner = cursor.lexer().indent();
    if (cut && has_forward && !cursor.at("class") && !cursor.at("def")) {  // remarks
      cursor.skip_line();
      continue;
    }
    if (cursor.at("class")) {
      ASSAY_TRY(auto child, read_class(cursor, claims, inner, cut, depth + 1));
      children.emplace_back(std::move(child.name), std::move(child.graph));
      continue;
    }
    if (!cursor.at("def")) {  // docstrings, decorators, wrap("fn")
      ASSAY_TRY(const auto skipped, take_statement(cursor));
      (void)skipped;
      continue;
    }
    const auto after_def = cursor.lexer().source().substr(cursor.token().offset + 3);
    const auto name = trimmed(after_def.substr(0, after_def.find('(')));
    if (name == "forward") {
      if (has_forward) return bad_source(cursor.token(), "forward is defined twice");
      has_forward = true;
      ASSAY_TRY(module.graph, FunctionReader(cursor, claims, cut).read(inner));
    } else {
      ASSAY_TRY(auto lines, take_method(cursor));
      if (name == "__init__") module.init = std::move(lines);
    }
  }
  if (!has_forward) return bad_source(place, "class {} has no forward", module.name);
  name_lambdas(module.graph, children);
  module.graph.class_name = std::move(class_name);
  module.graph.children = std::move(children);
  return module;
}

auto FunctionReader::read(int indent) -> Result<Graph> {
  const Token place = cursor_.token();
  ASSAY_TRY_VOID(cursor_.expect("def"));
  ASSAY_TRY(const auto name, cursor_.expect_name("a function name"));
  (void)name;
  cursor_.lexer().take_comments();
  ASSAY_TRY_VOID(parameters());
  if (cursor_.accept("->")) {
    cursor_.clear();
    ASSAY_TRY(const int type, cursor_.expression());
    (void)type;
  }
  ASSAY_TRY_VOID(cursor_.expect(":"));
  cursor_.lexer().take_comments();
  ASSAY_TRY_VOID(end_of_line(cursor_));
  ASSAY_TRY_VOID(body(indent));
  if (!returned_ && cut_ && !graph_.nodes.empty())
    ASSAY_TRY_VOID(end_early(cursor_.token(), "the function ends without a return statement"));
  if (!early_claims_.empty()) {
    const auto& [unknown, early] = *early_claims_.begin();
    if (!cut_ || !cut_->found()) return bad_source(early.place, "unknown name \"{}\"", unknown);
  }
  if (!returned_ && graph_.call_count() > 0)
    return bad_source(place, "the function has no return statement; is the text cut off?");
  return std::move(graph_);
}

auto FunctionReader::parameters() -> Result<void> {
  ASSAY_TRY_VOID(cursor_.expect("("));
  while (!cursor_.at(")")) {
    take_parameter_notes();
    ASSAY_TRY_VOID(parameter());
    if (cursor_.at(")")) break;
    if (!cursor_.accept(",")) return cursor_.unexpected("\",\" or \")\"");
  }
  take_parameter_notes();
  if (note_error_) return std::unexpected(*note_error_);
  return cursor_.expect(")");
}

/// Comments behind a parameter are passed while looking for what follows it.
void FunctionReader::take_parameter_notes() {
  for (const auto& comment : cursor_.lexer().take_comments()) {
    if (comment.own_line || graph_.nodes.empty() || !comment.text.starts_with("assay ")) continue;
    const auto applied =
        apply_claim_notes(comment.text.substr(6), graph_.nodes.back().claim, claims_);
    if (!applied && !note_error_) {
      note_error_ =
          Error{applied.error().code, fmt::format("line {}, column {}: {}", comment.line,
                                                  comment.column, applied.error().message)};
    }
  }
}

auto FunctionReader::parameter() -> Result<void> {
  cursor_.clear();
  std::string stars;
  if (cursor_.at("*") || cursor_.at("**")) {
    stars = cursor_.token().text;
    cursor_.advance();
  }
  ASSAY_TRY(const auto name, cursor_.expect_name("a parameter name"));
  const bool is_self = name.text == "self" && graph_.nodes.empty();
  ASSAY_TRY(auto claim, annotation());
  if (cursor_.accept("=")) {
    ASSAY_TRY(const int unused, cursor_.expression());
    (void)unused;
  }
  if (is_self) return {};
  Node node;
  node.kind = NodeKind::placeholder;
  node.target = stars + std::string(name.text);
  node.claim = std::move(claim);
  return define(name, std::move(node));
}

/// `: "f32[2][1]cpu"`, `: f32[2]` or `: torch.Tensor`, if one stands here.
auto FunctionReader::annotation() -> Result<Claim> {
  if (!cursor_.accept(":")) return Claim{};
  const Token token = cursor_.token();
  const auto in_place = [&](const Error& error) -> std::unexpected<Error> {
    return bad_source(token, "{}", error.message);
  };
  if (token.kind != TokenKind::string) {  // `f32[2]`, as PyTorch 2.0 printed it, or a Python type
    ASSAY_TRY(const auto text, cursor_.type_text());
    auto claim = claims_.claim(text);
    return claim ? claim : in_place(claim.error());
  }
  ASSAY_TRY(const int type, cursor_.expression());
  if (cursor_.syntax(type).kind != SyntaxKind::string) return Claim{};
  const auto quoted = token.text;
  if (cursor_.syntax(type).child_count == 0 && !quoted.contains('\\') && quoted.size() >= 2 &&
      quoted.front() == '"' && !quoted.starts_with("\"\"\"")) {
    auto claim = claims_.claim(quoted.substr(1, quoted.size() - 2));  // the usual case, no copy
    return claim ? claim : in_place(claim.error());
  }
  ASSAY_TRY(const auto text, args_.string_value(type));
  auto claim = claims_.claim(text);
  return claim ? claim : in_place(claim.error());
}

auto FunctionReader::body(int indent) -> Result<void> {
  while (inside(cursor_, indent)) {
    read_comments();
    if (returned_ && cut_) return {};  // remarks
    if (returned_) return bad_source(cursor_.token(), "statement after return");
    const Token first = cursor_.token();
    if (cut_ && is_fence(cursor_)) return {};
    if (cut_ && first.is("...")) {
      while (inside(cursor_, indent) && !is_fence(cursor_)) cursor_.skip_line();
      return end_early(first, "the text leaves something out here");
    }
    const auto read = line();
    if (read) continue;
    const auto rest = cursor_.lexer().source().substr(first.offset);
    const bool is_last = cursor_.token().kind == TokenKind::end ||
                         trimmed(rest.substr(std::min(rest.find('\n'), rest.size()))).empty();
    if (!cut_ || !is_last) return read;
    cursor_.seek(cursor_.lexer().source().size(), first.line);
    return end_early(first, "the text ends inside a statement");
  }
  return {};
}

/// Returns what nothing uses; the cursor is where the function ends for us.
auto FunctionReader::end_early(const Token& at, std::string_view how) -> Result<void> {
  cut_->line = at.line;
  cut_->message = fmt::format("{}; {} nodes before it were read", how, graph_.nodes.size());
  inplace_.reset();
  cursor_.lexer().take_comments();
  auto output = unused_results(graph_);
  const auto name = fresh_name("output");
  Token place = at;
  place.text = name;
  returned_ = true;
  return define(place, std::move(output));
}

/// Comment lines above a statement say where the nodes from here on come from.
void FunctionReader::read_comments() {
  for (const auto& comment : cursor_.lexer().take_comments()) {
    if (!comment.own_line) continue;
    if (comment.text.starts_with("assay module: ")) {
      if (!origin_) origin_.emplace();
      origin_->module = comment.text.substr(14);
    } else if (auto origin = origin_from_comment(comment.text)) {
      origin_ = std::move(origin);
    } else if (comment.text.starts_with("No stacktrace found")) {
      origin_.reset();
    }
  }
}

/// `# assay offset=4` behind a node that was just defined.
auto FunctionReader::trailing_notes() -> Result<void> {
  for (const auto& comment : cursor_.lexer().take_comments()) {
    if (comment.own_line || graph_.nodes.empty() || !comment.text.starts_with("assay ")) continue;
    if (const auto applied =
            apply_claim_notes(comment.text.substr(6), graph_.nodes.back().claim, claims_);
        !applied)
      return bad_input("line {}, column {}: {}", comment.line, comment.column,
                       applied.error().message);
  }
  return {};
}

auto FunctionReader::fresh_name(std::string base) const -> std::string {
  std::string name = base;
  for (int i = 1; names_.contains(name); ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

auto FunctionReader::define(const Token& name, Node node) -> Result<void> {
  if (!names_.try_emplace(std::string(name.text), NodeId{graph_.next_id}).second)
    return bad_source(name, "\"{}\" is defined twice", name.text);
  node.name = name.text;
  node.line = name.line;
  graph_.add(std::move(node));
  return {};
}

}  // namespace assay
