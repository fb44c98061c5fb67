// Reader of Inductor's Python wrappers: regions of the file, then one statement after the other.
#include <algorithm>
#include <array>

#include "compiler/read/cpp.h"
#include "compiler/read/statement.h"
#include "compiler/read/triton.h"
#include "compiler/read/wrapper.h"
#include "core/base/check.h"
#include "core/graph/python_syntax.h"

namespace assay {
namespace {

/// Functions around the program proper: benchmark code and the Runner class.
constexpr std::array<std::string_view, 6> kHarness = {"__init__",      "recursively_apply_fns",
                                                      "get_args",      "benchmark_compiled_module",
                                                      "compile_times", "benchmark_all_configs"};

/// Is there a line that starts with this, but for spaces? In a log a prefix stands before it.
auto starts_a_line(std::string_view text, std::string_view what) -> bool {
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) {
    const auto before = text.substr(0, at);
    const auto last = before.find_last_not_of(" \t");
    if (last == std::string_view::npos || before[last] == '\n') return true;
  }
  return false;
}

/// Some lines of `call` without the line that begins it: buffers are made or checked in statements,
/// and nothing is defined.
auto is_statements_alone(std::string_view text) -> bool {
  constexpr std::array<std::string_view, 3> kDefinitions = {"def ", "class ", "import "};
  constexpr std::array<std::string_view, 4> kMarks = {"assert_size_stride(", "= empty_strided",
                                                      "extern_kernels.", "= reinterpret_tensor("};
  return starts_a_line(text, "buf") && !text.contains("def call(") &&
         std::ranges::any_of(kMarks, [&](std::string_view mark) { return text.contains(mark); }) &&
         std::ranges::none_of(kDefinitions,
                              [&](std::string_view word) { return starts_a_line(text, word); });
}

class WrapperReader {
 public:
  WrapperReader(std::string_view text, const ShapeEnv& env) : text_(text), cursor_(text) {
    program_.env = env;
  }

  auto read() -> Result<HostProgram> {
    if (is_statements_alone(text_)) begin_call();
    while (cursor_.token().kind != TokenKind::end) {
      if (cursor_.token().kind == TokenKind::newline) {
        cursor_.advance();
        continue;
      }
      const auto place = cursor_.token();
      const auto done = statement();
      if (!done) {
        // Whatever a program calls `call` may matter; what is in the harness does not.
        if (!in_harness()) keep(place, done.error().message);
        if (cursor_.token().offset <= place.offset || cursor_.token().line == place.line)
          cursor_.skip_line();
      }
      cursor_.clear();
    }
    if (function_) leave();
    if (program_.functions.empty()) return bad_input("no function `call(args)` in the wrapper");
    const auto main = std::ranges::find_if(program_.functions,
                                           [](const HostFunction& f) { return f.name == "call"; });
    if (main != program_.functions.end()) std::rotate(main, main + 1, program_.functions.end());
    return std::move(program_);
  }

 private:
  [[nodiscard]] auto in_harness() const -> bool { return !function_ && !region_.empty(); }
  [[nodiscard]] auto function() -> HostFunction& {
    ASSAY_CHECK(function_, "no function is being read");
    return program_.functions[*function_];
  }

  void keep(const Token& place, std::string reason) {
    program_.not_understood.push_back(
        {place.line, std::string(cursor_.line_from(place)), std::move(reason)});
  }

  auto statement() -> Result<void> {
    const auto start = cursor_.token();
    const int indent = cursor_.lexer().indent();
    if (!region_.empty() && indent <= region_indent_) leave();
    if (!in_harness()) ++program_.statements;
    if (start.is("def")) return definition(indent);
    if (start.is("class") || start.is("import") || start.is("from") || start.is("@")) {
      cursor_.skip_logical_line();
      return {};
    }
    if (start.is("if") && region_.empty() && cursor_.line_from(start).starts_with("if __name__")) {
      enter("__main__", indent);
      cursor_.skip_logical_line();
      return {};
    }
    if (in_harness()) return harness();
    if (region_.empty()) return top_level();
    close_blocks(indent);
    return body(indent);
  }

  /// The text is some lines of `call`, cut out.
  void begin_call() {
    enter("call", -1);
    function_ = program_.functions.size();
    program_.functions.push_back({.name = "call", .inputs = {}, .ops = {}});
  }

  void leave() {
    close_blocks(-1);
    region_.clear();
    function_.reset();
  }

  /// Blocks that are indented deeper have ended; one at the same depth has, unless it goes on.
  void close_blocks(int indent) {
    const bool goes_on = cursor_.at("elif") || cursor_.at("else");
    while (!blocks_.empty() &&
           (indent < blocks_.back().indent ||
            (indent == blocks_.back().indent && (!goes_on || blocks_.back().is_loop)))) {
      HostOp end{HostBranch{HostBranch::Kind::close}, cursor_.token().line, "end of the branches"};
      if (blocks_.back().is_loop)
        end = {HostLoop{HostLoop::Kind::close}, cursor_.token().line, "end of the loop"};
      function().ops.push_back(std::move(end));
      blocks_.pop_back();
    }
  }
  void enter(std::string name, int indent) {
    if (function_) close_blocks(-1);
    region_ = std::move(name);
    region_indent_ = indent;
    function_.reset();
  }

  auto definition(int indent) -> Result<void> {
    cursor_.advance();
    ASSAY_TRY(const auto name, cursor_.expect_name("the name of a function"));
    ASSAY_TRY_VOID(cursor_.expect("("));
    bool has_args = false;
    // What the lexer cannot read it does not pass either.
    for (auto kind = cursor_.token().kind;
         !cursor_.at(")") && kind != TokenKind::newline && kind != TokenKind::end;
         kind = cursor_.token().kind) {
      if (kind == TokenKind::invalid) return cursor_.unexpected("parameters");
      has_args = has_args || cursor_.at("args");
      cursor_.advance();
    }
    cursor_.skip_logical_line();
    enter(std::string(name.text), indent);
    if (!has_args || std::ranges::find(kHarness, name.text) != kHarness.end()) return {};
    function_ = program_.functions.size();
    program_.functions.push_back({.name = std::string(name.text), .inputs = {}, .ops = {}});
    return {};
  }

  auto body(int indent) -> Result<void> {
    const auto before = function().ops.size();
    if ((cursor_.at("elif") || cursor_.at("else")) &&
        (blocks_.empty() || blocks_.back().indent != indent))
      return bad_source(cursor_.token(), "`{}` without its `if`", cursor_.token().text);
    StatementReader reader(cursor_, program_, function());
    auto read = reader.read();
    if (function().ops.size() == before) return read;
    const auto& first = function().ops[before].what;
    if (const auto* branch = std::get_if<HostBranch>(&first);
        branch != nullptr && branch->kind == HostBranch::Kind::open)
      blocks_.push_back({indent, false});
    if (const auto* loop = std::get_if<HostLoop>(&first);
        loop != nullptr && loop->kind == HostLoop::Kind::open)
      blocks_.push_back({indent, true});
    return read;
  }

  /// Only examples of inputs matter: `primals_3 = rand_strided((2, 16), (16, 1), device=...,
  /// dtype=torch.float32)`.
  auto harness() -> Result<void> {
    // Up to PyTorch 2.0 the examples stood below `if __name__ == "__main__":`.
    if (region_ != "get_args" && region_ != "benchmark_compiled_module" && region_ != "__main__") {
      cursor_.skip_logical_line();
      return {};
    }
    StatementReader reader(cursor_, program_, harness_);
    auto read = reader.example();
    cursor_.skip_logical_line();
    return read;
  }

  /// `name = async_compile.triton('name', '''source''')`, other definitions, calls.
  auto top_level() -> Result<void> {
    if (cursor_.at("del") || cursor_.at("try") || cursor_.at("except") || cursor_.at("pass") ||
        cursor_.at("global")) {
      cursor_.skip_logical_line();
      return {};
    }
    ASSAY_TRY(const int left, cursor_.expression_list());
    if (!cursor_.accept("=")) {
      const auto kind = cursor_.syntax(left).kind;
      if (kind == SyntaxKind::call || kind == SyntaxKind::string) return end_of_statement();
      return cursor_.unexpected("a definition or a call");
    }
    if (cursor_.at("lambda")) {
      cursor_.skip_logical_line();
      return {};
    }
    ASSAY_TRY(const int right, cursor_.expression_list());
    if (cursor_.syntax(right).kind == SyntaxKind::call) ASSAY_TRY_VOID(kernel(left, right));
    if (cursor_.source_of(left) == "arg_index") first_arguments(right);
    return end_of_statement();
  }

  auto end_of_statement() -> Result<void> {
    if (cursor_.token().kind == TokenKind::newline || cursor_.token().kind == TokenKind::end)
      return {};
    return cursor_.unexpected("the end of the statement");
  }

  auto kernel(int left, int right) -> Result<void> {
    const auto children = cursor_.children(right);
    const auto callee = cursor_.source_of(children[0]);
    constexpr std::string_view kCompiler = "async_compile.";
    if (!callee.starts_with(kCompiler)) return {};
    if (callee.ends_with(".multi_kernel")) return choice(left, right);
    KernelSource kernel;
    kernel.name = cursor_.source_of(left);
    kernel.language = callee.substr(kCompiler.size());
    if (kernel.language == "cpp_pybinding") kernel.language = "cpp";
    for (std::size_t i = 1; i < children.size(); ++i) {
      const auto& argument = cursor_.syntax(children[i]);
      if (argument.kind == SyntaxKind::list) {
        for (const int item : cursor_.children(children[i]))
          if (cursor_.syntax(item).kind == SyntaxKind::string)
            if (auto text = decode_string(cursor_.syntax(item).text))
              kernel.cpp_params.push_back(std::move(*text));
      } else if (argument.kind == SyntaxKind::string) {
        auto text = decode_string(argument.text);
        if (!text) return bad_source(argument.place, "{}", text.error().message);
        // The name comes first, the source last.
        kernel.text = std::move(*text);
        kernel.line = argument.place.line;
      }
    }
    read_fragment(cursor_.syntax(left).place, kernel);
    read_source(kernel);
    program_.kernels[kernel.name] = std::move(kernel);
    return {};
  }

  /// `multi_kernel_0 = async_compile.multi_kernel('multi_kernel_0', [kernel, ...], arg_index=...)`:
  /// the fastest is found when it runs, and each is right for all sizes.
  auto choice(int left, int right) -> Result<void> {
    for (const int child : cursor_.positional(right)) {
      const auto items = cursor_.children(child);
      if (cursor_.syntax(child).kind != SyntaxKind::list || items.empty()) continue;
      auto& made = program_.choices[std::string(cursor_.source_of(left))];
      made.kernel = cursor_.source_of(items.front());
      if (cursor_.keyword(right, "arg_index") >= 0) made.arguments = first_arguments_;
      return {};
    }
    return bad_source(cursor_.syntax(right).place, "a choice of no kernels");
  }
  /// `{0: [slice(0, 10, None)], 1: [...]}`: those of the first kernel.
  void first_arguments(int dict) {
    first_arguments_.clear();
    const auto number = [&](int node) {
      const auto parsed = parse_expr(program_.env.pool(), cursor_.source_of(node));
      return parsed ? parsed->as_int().value_or(0) : 0;
    };
    const auto items = cursor_.children(dict);
    if (cursor_.syntax(dict).kind != SyntaxKind::dict || items.size() < 2) return;
    for (const int slice : cursor_.children(items[1]))
      if (const auto ends = cursor_.positional(slice); ends.size() >= 2)
        first_arguments_.emplace_back(number(ends[0]), number(ends[1]));
  }

  /// Nodes of the post-grad graph that a kernel computes: `#   %add_3 : Tensor =
  /// call_function[...]` below `# Graph fragment:`; last what it gives, `#   return %add_3`.
  void read_fragment(const Token& place, KernelSource& kernel) const {
    auto text = text_.substr(0, place.offset);
    text = text.substr(std::min(text.rfind("# Graph fragment:"), text.size()));
    auto& nodes = kernel.nodes;
    constexpr std::string_view kNode = "#   %", kReturn = "#   return ";
    while (!text.empty()) {
      const auto line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      if (!line.starts_with('#')) break;
      if (line.starts_with(kNode) && !line.contains("= PlaceHolder["))
        nodes.emplace_back(line.substr(kNode.size(), line.find(' ', kNode.size()) - kNode.size()));
      if (!line.starts_with(kReturn)) continue;
      for (auto at = line.find('%'); at != std::string_view::npos; at = line.find('%', at + 1)) {
        const auto given = line.substr(at + 1, line.find(',', at) - at - 1);
        std::erase(nodes, given);
        nodes.emplace_back(given);
        kernel.gives.emplace_back(given);
      }
    }
  }

  void read_source(KernelSource& source) {
    const bool is_cpp = source.language == "cpp";
    if (!is_cpp && source.language != "triton") {
      source.not_read = fmt::format("kernels of kind `{}` are not read", source.language);
      return;
    }
    auto kernel = is_cpp ? read_cpp(source.text, program_.env.pool())
                         : read_triton(source.text, program_.env.pool());
    if (kernel)
      source.kernel = std::make_shared<const TileKernel>(*std::move(kernel));
    else
      source.not_read = kernel.error().message;
  }

  std::string_view text_;
  PythonCursor cursor_;
  HostProgram program_;
  HostFunction harness_;
  std::vector<std::pair<std::int64_t, std::int64_t>> first_arguments_;  ///< of a choice's first
  std::string region_;  ///< function we are in, empty at the top
  int region_indent_ = 0;
  std::optional<std::size_t> function_;  ///< its index if it is part of the program
  struct Block {
    int indent = 0;
    bool is_loop = false;
  };
  std::vector<Block> blocks_;  ///< open `if`s and `while`s
};

}  // namespace

auto read_wrapper(std::string_view text, const ShapeEnv& env) -> Result<HostProgram> {
  // `cpp_wrapper`: what is in Python tunes kernels and loads the rest.
  if (text.contains("CppWrapperCodeCache.load_pybinding"))
    return unsupported("a wrapper in C++ (`cpp_wrapper`) is not read");
  return WrapperReader(text, env).read();
}

auto is_wrapper(std::string_view text) -> bool {
  // The body of `call` is often all that is pasted.
  constexpr std::array<std::string_view, 6> kMarks = {"empty_strided",      "AsyncCompile",
                                                      "extern_kernels.",    ".run(",
                                                      "reinterpret_tensor", "assert_size_stride"};
  return ((starts_a_line(text, "def call(args)") || starts_a_line(text, "def call(self, args)")) &&
          std::ranges::any_of(kMarks,
                              [&](std::string_view mark) { return text.contains(mark); })) ||
         is_statements_alone(text);
}

}  // namespace assay
