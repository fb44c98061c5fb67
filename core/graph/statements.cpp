// Lines of a forward body as nodes.
#include <algorithm>

#include "core/base/check.h"
#include "core/graph/module_reader.h"
#include "core/graph/targets.h"

namespace assay {
namespace {

/// A word that begins a statement no graph has.
auto is_foreign_statement(const Token& token) -> bool {
  constexpr std::string_view kWords[] = {"class",  "def",  "if",    "for", "while",  "with",
                                         "import", "from", "raise", "try", "assert", "del"};
  return token.kind == TokenKind::name &&
         std::find(std::begin(kWords), std::end(kWords), token.text) != std::end(kWords);
}

auto is_name(const Syntax& syntax, std::string_view text) -> bool {
  return syntax.kind == SyntaxKind::name && syntax.text == text;
}

}  // namespace

/// Statements up to the end of the line, separated by semicolons.
auto FunctionReader::line() -> Result<void> {
  while (cursor_.token().kind != TokenKind::newline && cursor_.token().kind != TokenKind::end) {
    cursor_.clear();
    ASSAY_TRY_VOID(simple_statement());
    if (!cursor_.accept(";")) break;
  }
  if (inplace_) {  // nobody named the result
    const auto chosen = fresh_name(inplace_->target.substr(inplace_->target.rfind('.') + 1));
    Token name = inplace_->place;
    name.text = chosen;
    ASSAY_TRY_VOID(finish_inplace(name, Claim{}));
  }
  ASSAY_TRY_VOID(trailing_notes());
  if (cursor_.token().kind == TokenKind::end) return {};
  if (cursor_.token().kind != TokenKind::newline) return cursor_.unexpected("the end of the line");
  cursor_.advance();
  return {};
}

auto FunctionReader::simple_statement() -> Result<void> {
  if (cursor_.at("return")) return return_statement();
  if (cursor_.accept("pass")) return {};
  if (is_foreign_statement(cursor_.token()))
    return unsupported("line {}, column {}: \"{}\" statements are not part of a graph",
                       cursor_.token().line, cursor_.token().column, cursor_.token().text);
  ASSAY_TRY(const int lhs, cursor_.expression_list());
  const auto kind = cursor_.syntax(lhs).kind;
  if (!inplace_target(cursor_.token().text).empty() && cursor_.token().kind == TokenKind::symbol)
    return augmented(lhs);
  const bool annotated = cursor_.at(":") && kind == SyntaxKind::name;
  ASSAY_TRY(auto claim, annotated ? annotation() : Result<Claim>(Claim{}));
  if (cursor_.accept("=")) return assignment(lhs, std::move(claim));
  if (kind == SyntaxKind::string) return {};  // a docstring
  if (!annotated) return cursor_.unexpected("\"=\"");
  return annotate(lhs, std::move(claim));
}

/// `x: "f32[2][1]cpu"` alone.
auto FunctionReader::annotate(int name, Claim claim) -> Result<void> {
  const auto& syntax = cursor_.syntax(name);
  if (const auto known = names_.find(syntax.text); known != names_.end())
    graph_.find(known->second)->claim = std::move(claim);
  else
    early_claims_.insert_or_assign(std::string(syntax.text),
                                   EarlyClaim{syntax.place, std::move(claim)});
  return {};
}

auto FunctionReader::return_statement() -> Result<void> {
  Token place = cursor_.token();
  cursor_.advance();
  Node node;
  node.kind = NodeKind::output;
  node.target = "output";
  if (cursor_.token().kind == TokenKind::newline || cursor_.token().kind == TokenKind::end) {
    node.args.push_back(Arg{NoneArg{}});
  } else {
    ASSAY_TRY(const int value, cursor_.expression_list());
    ASSAY_TRY(auto arg, args_.read(args_.returned(value)));
    node.args.push_back(std::move(arg));
  }
  const auto name = fresh_name("output");
  place.text = name;
  returned_ = true;
  return define(place, std::move(node));
}

/// Everything behind `lhs =`.
auto FunctionReader::assignment(int lhs, Claim claim) -> Result<void> {
  ASSAY_TRY(int rhs, cursor_.expression_list());
  while (cursor_.accept("=")) {  // a = b = None
    ASSAY_TRY(rhs, cursor_.expression_list());
    if (!cursor_.at("=") && !is_name(cursor_.syntax(rhs), "None"))
      return bad_source(cursor_.syntax(rhs).place, "chained assignments may only clear names");
  }
  const auto& target = cursor_.syntax(lhs);
  const auto& value = cursor_.syntax(rhs);
  if (is_name(value, "None") && target.kind != SyntaxKind::subscript)
    return {};  // liveness, computed anew when it is needed
  if (target.kind == SyntaxKind::subscript) {
    const auto parts = cursor_.children(lhs);
    ASSAY_TRY(auto args, operands_of({parts[0], parts[1], rhs}));
    inplace_ = Inplace{"operator.setitem", std::move(args), target.place};
    return {};
  }
  if (target.kind == SyntaxKind::tuple) {
    const auto parts = cursor_.children(rhs);
    if (value.kind == SyntaxKind::call && parts.size() == 3 &&
        args_.dotted_name(parts[0]).value_or("").ends_with("tree_flatten_spec"))
      return flatten_inputs(lhs);
  }
  if (target.kind != SyntaxKind::name)
    return bad_source(target.place, "only names can be assigned");
  Token name = target.place;
  name.text = target.text;
  if (value.kind == SyntaxKind::name)
    return inplace_ ? finish_inplace(name, std::move(claim))
                    : rename(name, value, std::move(claim));
  if (value.kind == SyntaxKind::list) {  // `f_boxed_arg_1 = [a, b]` above the call that takes it
    ASSAY_TRY(auto list, args_.read(rhs));
    args_.define_alias(name.text, std::move(list));
    return {};
  }
  ASSAY_TRY(auto node, operation(rhs));
  node.claim = std::move(claim);
  return define(name, std::move(node));
}

auto FunctionReader::augmented(int lhs) -> Result<void> {
  auto target = inplace_target(cursor_.token().text);
  const Token place = cursor_.syntax(lhs).place;
  cursor_.advance();
  ASSAY_TRY(const int rhs, cursor_.expression_list());
  ASSAY_TRY(auto args, operands_of({lhs, rhs}));
  inplace_ = Inplace{std::move(target), std::move(args), place};
  return {};
}

/// `setitem = x` behind `x[0] = y;`.
auto FunctionReader::finish_inplace(const Token& name, Claim claim) -> Result<void> {
  ASSAY_CHECK(inplace_, "no statement in place was read");
  Node node;
  node.target = std::move(inplace_->target);
  node.args = std::move(inplace_->args);
  node.claim = std::move(claim);
  node.origin = origin_;
  inplace_.reset();
  return define(name, std::move(node));
}

/// `input_1 = input`: FX gives an input another name than the parameter has. Later uses of a second
/// name for any other value mean that value.
auto FunctionReader::rename(const Token& name, const Syntax& value, Claim claim) -> Result<void> {
  const auto it = names_.find(value.text);
  if (it == names_.end()) return bad_source(value.place, "unknown name \"{}\"", value.text);
  const auto id = it->second;
  if (!names_.try_emplace(std::string(name.text), id).second)
    return bad_source(name, "\"{}\" is defined twice", name.text);
  auto* node = graph_.find(id);
  if (node->kind != NodeKind::placeholder || node->name != value.text) return {};
  names_.erase(names_.find(value.text));
  node->name = name.text;
  if (!claim.empty()) node->claim = std::move(claim);
  return {};
}

/// `a, b, = fx_pytree.tree_flatten_spec(([x, y], {}), self._in_spec)`: the names on the left are
/// the inputs, the parameters are only how the user passes them.
auto FunctionReader::flatten_inputs(int lhs) -> Result<void> {
  if (std::any_of(graph_.nodes.begin(), graph_.nodes.end(),
                  [](const Node& n) { return n.kind != NodeKind::placeholder; }))
    return bad_source(cursor_.syntax(lhs).place, "inputs are unpacked after other nodes");
  const auto parameters = std::exchange(graph_.nodes, {});
  const auto old_names = std::exchange(names_, {});
  graph_.next_id = 0;
  for (const int part : cursor_.children(lhs)) {
    const auto& syntax = cursor_.syntax(part);
    if (syntax.kind != SyntaxKind::name) return bad_source(syntax.place, "expected a name");
    Token name = syntax.place;
    name.text = syntax.text;
    Node node;
    node.kind = NodeKind::placeholder;
    node.target = syntax.text;
    if (const auto old = old_names.find(syntax.text); old != old_names.end())
      node.claim = parameters[static_cast<std::size_t>(old->second.value)].claim;
    if (const auto early = early_claims_.find(syntax.text); early != early_claims_.end()) {
      node.claim = std::move(early->second.claim);
      early_claims_.erase(early);
    }
    ASSAY_TRY_VOID(define(name, std::move(node)));
  }
  return {};
}

auto FunctionReader::operands_of(const std::vector<int>& parts) -> Result<std::vector<Arg>> {
  std::vector<Arg> args;
  args.reserve(parts.size());
  for (const int part : parts) {
    ASSAY_TRY(auto arg, args_.read(part));
    args.push_back(std::move(arg));
  }
  return args;
}

/// The right side of an assignment: one operation.
auto FunctionReader::operation(int value) -> Result<Node> {
  const auto& syntax = cursor_.syntax(value);
  Node node;
  if (syntax.kind == SyntaxKind::unary || syntax.kind == SyntaxKind::binary) {
    const auto shape =
        syntax.kind == SyntaxKind::unary ? OperatorShape::unary : OperatorShape::binary;
    const auto* form = operator_for_symbol(syntax.text, shape);
    if (form == nullptr)
      return unsupported("line {}, column {}: operator \"{}\"", syntax.place.line,
                         syntax.place.column, syntax.text);
    node.target = fmt::format("operator.{}", form->name);
    ASSAY_TRY(node.args, operands_of(cursor_.children(value)));
  } else if (syntax.kind == SyntaxKind::subscript) {
    node.target = "operator.getitem";
    ASSAY_TRY(node.args, operands_of(cursor_.children(value)));
  } else if (auto path = args_.self_path(value); path && !path->empty()) {
    node.kind = NodeKind::get_attr;
    node.target = *std::move(path);
  } else if (syntax.kind == SyntaxKind::attribute) {
    node.target = "builtins.getattr";
    ASSAY_TRY(node.args, operands_of({syntax.first_child}));
    node.args.push_back(Arg{std::string(syntax.text)});
  } else if (syntax.kind == SyntaxKind::call) {
    ASSAY_TRY(node, call(value));
  } else {
    return bad_source(syntax.place, "expected an operation, found a literal");
  }
  node.origin = origin_;
  return node;
}

auto FunctionReader::call(int value) -> Result<Node> {
  Node node;
  auto parts = cursor_.children(value);
  ASSAY_TRY_VOID(callee(parts.front(), node));
  node.args.reserve(parts.size());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto& syntax = cursor_.syntax(parts[i]);
    const bool keyword = syntax.kind == SyntaxKind::keyword;
    if (!keyword && !node.kwargs.empty())
      return bad_source(syntax.place, "positional argument behind keyword arguments");
    ASSAY_TRY(auto arg, args_.read(keyword ? syntax.first_child : parts[i]));
    if (!keyword) {
      node.args.push_back(std::move(arg));
      continue;
    }
    for (const auto& [name, earlier] : node.kwargs)
      if (name == syntax.text)
        return bad_source(syntax.place, "keyword argument \"{}\" is given twice", name);
    node.kwargs.emplace_back(syntax.text, std::move(arg));
  }
  return node;
}

/// Sets kind and target, and the receiver of a method call.
auto FunctionReader::callee(int value, Node& node) -> Result<void> {
  const auto& syntax = cursor_.syntax(value);
  if (auto path = args_.self_path(value); path && !path->empty()) {
    node.kind = NodeKind::call_module;
    node.target = *std::move(path);
    return {};
  }
  if (syntax.kind == SyntaxKind::attribute) {
    const auto& base = cursor_.syntax(syntax.first_child);
    if (base.kind == SyntaxKind::name && names_.contains(base.text)) {
      node.kind = NodeKind::call_method;
      node.target = syntax.text;
      ASSAY_TRY(node.args, operands_of({syntax.first_child}));
      return {};
    }
  }
  if (const auto name = args_.dotted_name(value)) {
    if (names_.contains(std::string_view(*name).substr(0, name->find('.'))))
      return bad_source(syntax.place, "\"{}\" is a value and cannot be called", *name);
    node.target = canonical_target(*name);
    return {};
  }
  const auto parts = cursor_.children(value);
  if (syntax.kind == SyntaxKind::call && parts.size() == 2 &&
      args_.dotted_name(parts[0]) == "raw") {  // a target that is no Python name
    ASSAY_TRY(node.target, args_.string_value(parts[1]));
    return {};
  }
  return unsupported("line {}, column {}: calls of computed functions", syntax.place.line,
                     syntax.place.column);
}

}  // namespace assay
