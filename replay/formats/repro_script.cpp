// read_repro_script: the scripts PyTorch's minifier and compile debugging write. They are Python
// programs, so everything that is not a graph, an input or a hint is passed over line by line.
#include <algorithm>
#include <array>
#include <charconv>

#include "core/graph/python_lexer.h"
#include "core/graph/text.h"
#include "replay/formats/log_text.h"
#include "replay/formats/repro_values.h"

namespace assay {
namespace {

/// `# torch version: 2.11.0` and its like.
constexpr std::array<std::string_view, 3> kVersionComments = {"torch version", "torch cuda version",
                                                              "torch git version"};

constexpr int kMaxModuleDepth = 32;

auto is_symbol_line(std::string_view line) -> bool {
  const auto equals = line.find(" = ");
  if (equals == std::string_view::npos || equals < 2) return false;
  const auto name = line.substr(0, equals);
  const auto digits = name.find_first_of("0123456789");
  if (digits == std::string_view::npos ||
      name.find_first_not_of("0123456789", digits) != std::string_view::npos)
    return false;
  const auto prefix = name.substr(0, digits);
  return prefix == "s" || prefix == "u" || prefix == "zf" || prefix == "zuf";
}

class ScriptReader {
 public:
  ScriptReader(std::string_view text, int first_line)
      : text_(text),
        line_(first_line),
        claims_(env_),
        values_(claims_),
        inputs_(capture_, values_) {
    capture_.format = "repro script";
  }

  auto read() -> Result<Capture> {
    while (offset_ < text_.size()) ASSAY_TRY_VOID(top_level_line());
    if (modules_.empty()) return bad_input("line 1: the script has no class with a forward");
    auto root = std::find_if(modules_.begin(), modules_.end(),
                             [](const ModuleSource& module) { return module.name == "Repro"; });
    if (root == modules_.end()) root = std::prev(modules_.end());
    ASSAY_TRY(capture_.graph, assemble(*root, "", 0));
    ASSAY_TRY_VOID(pair_inputs());
    set_environment(capture_.graph, env_);
    return std::move(capture_);
  }

 private:
  [[nodiscard]] auto rest_of_line() const -> std::string_view {
    const auto rest = text_.substr(offset_);
    return rest.substr(0, rest.find('\n'));
  }
  void skip_line() {
    offset_ = std::min(offset_ + rest_of_line().size() + 1, text_.size());
    ++line_;
  }

  auto top_level_line() -> Result<void> {
    const auto line = rest_of_line();
    const auto statement = trimmed(line);
    if (line.starts_with('#')) {
      comment(trimmed(line.substr(1)));
    } else if (line.starts_with("class ") && line.contains("Module)")) {
      return module();
    } else if (statement.starts_with("def forward(")) {
      return bare_function();
    } else if (line.starts_with("def load_args(")) {
      return load_args();
    } else if (is_symbol_line(line)) {
      ASSAY_TRY_VOID(hint(trimmed(line)));
    } else if (!reads_load_args_ && is_input_list(statement)) {
      return inputs_in_line();
    } else if (!reads_load_args_ && statement.starts_with("args.append(")) {
      return appended_input();
    } else if (!reads_load_args_ && is_reader_call(statement)) {
      return reader_statement();
    } else if (line.starts_with("ERROR: Repro will not work as intended")) {
      warn("the script says of itself that it will not work: {}", trimmed(line));
    } else if (line.contains("load_config(")) {
      warn("pickled configuration is ignored");
    } else if (line.contains("Repro is not generated due to existence of BackwardState")) {
      return unsupported("line {}: PyTorch wrote no repro: a graph input is a BackwardState",
                         line_);
    } else if (opens_long_string(line)) {
      return skip_long_string();
    }
    skip_line();
    return {};
  }

  template <class... Args>
  void warn(fmt::format_string<Args...> text, Args&&... args) {
    capture_.warnings.push_back(
        fmt::format("line {}: {}", line_, fmt::format(text, std::forward<Args>(args)...)));
  }

  void comment(std::string_view text) {
    for (const auto key : kVersionComments)
      if (text.starts_with(key) && text.substr(key.size()).starts_with(':'))
        capture_.environment.emplace_back(key, trimmed(text.substr(key.size() + 1)));
  }

  auto hint(std::string_view line) -> Result<void> {
    const auto equals = line.find(" = ");
    const auto value = values_.expr(trimmed(line.substr(equals + 3)));
    if (!value || !value->is_const()) return {};  // some other variable of that name
    ASSAY_TRY(const Expr symbol, values_.claims().symbol(line.substr(0, equals)));
    env_.set_hint(symbol, *value);
    values_.forget_hints();
    return {};
  }

  /// Text in triple quotes that does not end on its line.
  static auto opens_long_string(std::string_view line) -> bool {
    return long_quote(line).data() != nullptr;
  }
  static auto long_quote(std::string_view line) -> std::string_view {
    for (const std::string_view quote : {"'''", "\"\"\""}) {
      const auto open = line.find(quote);
      if (open != std::string_view::npos && !line.substr(open + 3).contains(quote)) return quote;
    }
    return {};
  }
  auto skip_long_string() -> Result<void> {
    const auto quote = long_quote(rest_of_line());
    skip_line();
    while (offset_ < text_.size() && !rest_of_line().contains(quote)) skip_line();
    skip_line();
    return {};
  }

  void continue_behind(const PythonCursor& cursor) {
    const auto& token = cursor.token();
    offset_ = token.kind == TokenKind::end
                  ? text_.size()
                  : token.offset - static_cast<std::size_t>(token.column - 1);
    line_ = token.line;
  }

  auto module() -> Result<void> {
    PythonCursor cursor(text_, offset_, line_);
    CutOff cut;
    ASSAY_TRY(auto module, read_class(cursor, claims_, 0, &cut));
    return take_module(std::move(module), cut, cursor);
  }

  /// People leave the class out.
  auto bare_function() -> Result<void> {
    PythonCursor cursor(text_, offset_, line_);
    CutOff cut;
    ModuleSource module;
    module.name = "GraphModule";
    module.place = cursor.token();
    const int indent = cursor.lexer().indent();
    ASSAY_TRY(module.graph, FunctionReader(cursor, claims_, &cut).read(indent));
    return take_module(std::move(module), cut, cursor);
  }

  auto take_module(ModuleSource module, const CutOff& cut, const PythonCursor& cursor)
      -> Result<void> {
    if (cut.found()) capture_.warnings.push_back(fmt::format("line {}: {}", cut.line, cut.message));
    continue_behind(cursor);
    modules_.push_back(std::move(module));
    return {};
  }

  auto load_args() -> Result<void> {
    PythonCursor cursor(text_, offset_, line_);
    ASSAY_TRY(const auto header, take_statement(cursor));
    (void)header;
    has_inputs_ = reads_load_args_ = true;
    while (cursor.token().kind != TokenKind::end && cursor.lexer().indent() > 0) {
      ASSAY_TRY(const auto line, take_statement(cursor));
      if (line.text.starts_with("if ") || line.text.starts_with("for ")) {
        capture_.warnings.push_back(
            fmt::format("line {}: inputs are changed by code that is not run", line.line));
        while (cursor.token().kind != TokenKind::end && cursor.lexer().indent() > line.indent) {
          ASSAY_TRY(const auto skipped, take_statement(cursor));
          (void)skipped;
        }
        continue;
      }
      ASSAY_TRY_VOID(inputs_.statement(line));
    }
    continue_behind(cursor);
    return {};
  }

  /// `args = [`, and other names that people give the list.
  static auto is_input_list(std::string_view line) -> bool {
    constexpr std::array<std::string_view, 5> kNames = {"args", "inputs", "inps", "example_inputs",
                                                        "_args"};
    const auto equals = line.find(" = ");
    return equals != std::string_view::npos &&
           std::ranges::find(kNames, line.substr(0, equals)) != kNames.end() &&
           (line.substr(equals + 3).starts_with('[') || line.substr(equals + 3).starts_with('('));
  }
  /// `buf0 = reader.storage(...)` and `reader.tensor(...)` outside of any function.
  static auto is_reader_call(std::string_view line) -> bool {
    return line.starts_with("reader.") || line.contains(" = reader.storage(");
  }

  auto inputs_in_line() -> Result<void> {
    PythonCursor cursor(text_, offset_, line_);
    const auto line = take_statement(cursor);
    const auto rest = text_.substr(std::min(text_.find('\n', offset_), text_.size()));
    if (!line && trimmed(rest).empty()) {  // the text ends here
      warn("inputs are not understood: {}", line.error().message);
      offset_ = text_.size();
      return {};
    }
    if (!line) return std::unexpected(line.error());
    has_inputs_ = true;
    ASSAY_TRY_VOID(inputs_.list(*line));
    continue_behind(cursor);
    return {};
  }

  auto appended_input() -> Result<void> {
    const auto physical = rest_of_line();
    const auto hash = physical.find('#');
    PythonCursor cursor(text_, offset_, line_);
    ASSAY_TRY(const auto line, take_statement(cursor));
    has_inputs_ = true;
    ASSAY_TRY_VOID(inputs_.append(
        line, hash == std::string_view::npos ? "" : trimmed(physical.substr(hash + 1))));
    continue_behind(cursor);
    return {};
  }

  auto reader_statement() -> Result<void> {
    PythonCursor cursor(text_, offset_, line_);
    ASSAY_TRY(const auto line, take_statement(cursor));
    has_inputs_ = true;
    ASSAY_TRY_VOID(inputs_.statement(line));
    continue_behind(cursor);
    return {};
  }

  /// The graph of a class with the sub-graphs that its __init__ puts in; tensors become attributes.
  auto assemble(const ModuleSource& module, const std::string& path, int depth) -> Result<Graph> {
    if (depth > kMaxModuleDepth) return bad_source(module.place, "modules nest too deeply");
    Graph graph = module.graph;
    for (const auto& line : module.init) {
      auto read = read_init_line(line, capture_, claims_);
      if (!read) {
        capture_.warnings.push_back(describe(line, read.error()));
        continue;
      }
      const auto& value = *read;
      if (!value) continue;
      const auto full_name = path.empty() ? value->name : path + "." + value->name;
      if (value->module) {
        const auto inlined = inline_module(graph, *value, full_name, capture_);
        if (!inlined) capture_.warnings.push_back(describe(line, inlined.error()));
        continue;
      }
      if (const auto& tensor = value->tensor) {
        capture_.attributes.insert_or_assign(full_name, *tensor);
        continue;
      }
      const auto body =
          std::find_if(modules_.begin(), modules_.end(),
                       [&](const ModuleSource& other) { return other.name == value->class_name; });
      if (body == modules_.end()) {
        capture_.warnings.push_back(
            fmt::format("line {}: the sub-graph {} is not in the script", line.line, full_name));
        continue;
      }
      ASSAY_TRY(auto child, assemble(*body, full_name, depth + 1));
      graph.children.emplace_back(value->name, std::move(child));
    }
    return graph;
  }

  /// PyTorch 2.7 prints sub-graphs as `<lambda>()`, which is no Python.
  static auto describe(const SourceLine& line, const Error& error) -> std::string {
    if (line.text.contains("<lambda>"))
      return fmt::format("line {}: the sub-graph is not in the script: {}", line.line,
                         line.text.substr(0, 80));
    if (error.message.starts_with("line ")) return error.message;
    return fmt::format("line {}: {}", line.line, error.message);
  }

  auto pair_inputs() -> Result<void> {
    std::vector<Node*> placeholders;
    for (auto& node : capture_.graph.nodes)
      if (node.kind == NodeKind::placeholder) placeholders.push_back(&node);
    if (!has_inputs_ || (capture_.inputs.empty() && !reads_load_args_ && !placeholders.empty())) {
      capture_.warnings.emplace_back("the script records no inputs");
      capture_.inputs.resize(placeholders.size());
      return {};
    }
    if (capture_.inputs.size() != placeholders.size())
      return bad_input("the script gives {} inputs, forward takes {}", capture_.inputs.size(),
                       placeholders.size());
    inputs_.tie_numbers();
    for (std::size_t i = 0; i < placeholders.size(); ++i)
      if (placeholders[i]->claim.empty()) placeholders[i]->claim = inputs_.claims()[i];
    return {};
  }

  std::string_view text_;
  std::size_t offset_ = 0;
  int line_;
  Capture capture_;
  ShapeEnv env_;
  ClaimReader claims_;
  HintEvaluator values_;
  InputScript inputs_;
  std::vector<ModuleSource> modules_;
  bool has_inputs_ = false;
  bool reads_load_args_ = false;
};

}  // namespace

auto read_repro_script(std::string_view text) -> Result<Capture> {
  ASSAY_TRY_VOID(check_utf8(text));
  const auto plain = text.contains('\x1b') ? strip_ansi(text) : std::string(text);
  for (const auto& record : split_log(plain))  // a quoted or logged script
    if (!record.prefix.empty() && record.text.contains("def forward("))
      return ScriptReader(record.text, record.line).read();
  return ScriptReader(plain, 1).read();
}

}  // namespace assay
