// Reader of Triton kernels: decorator, definition, then the body line by line.
#include <algorithm>
#include <array>
#include <charconv>

#include "compiler/loop/evaluate.h"
#include "core/graph/annotation.h"

namespace assay {
namespace {

struct TypeName {
  std::string_view triton;
  DType dtype;
};
constexpr std::array kTypes = {TypeName{"i1", DType::boolean},
                               TypeName{"u8", DType::uint8},
                               TypeName{"i8", DType::int8},
                               TypeName{"u16", DType::uint16},
                               TypeName{"i16", DType::int16},
                               TypeName{"u32", DType::uint32},
                               TypeName{"i32", DType::int32},
                               TypeName{"u64", DType::uint64},
                               TypeName{"i64", DType::int64},
                               TypeName{"fp16", DType::float16},
                               TypeName{"bf16", DType::bfloat16},
                               TypeName{"fp32", DType::float32},
                               TypeName{"fp64", DType::float64},
                               TypeName{"fp8e4nv", DType::float8_e4m3fn},
                               TypeName{"fp8e5", DType::float8_e5m2},
                               TypeName{"fp8e4b8", DType::float8_e4m3fnuz},
                               TypeName{"fp8e5b16", DType::float8_e5m2fnuz}};

class KernelReader {
 public:
  KernelReader(std::string_view text, ExprPool& pool)
      : cursor_(text), pool_(pool), evaluator_(cursor_, kernel_, pool) {}

  auto read() -> Result<TritonKernel> {
    while (cursor_.token().kind != TokenKind::end) {
      if (cursor_.token().kind == TokenKind::newline) {
        cursor_.advance();
        continue;
      }
      const auto place = cursor_.token();
      if (const auto done = statement(); !done) {
        if (in_kernel_) keep(place, done.error().message);
        if (cursor_.token().offset <= place.offset || cursor_.token().line == place.line)
          cursor_.skip_line();
      }
      cursor_.clear();
    }
    if (kernel_.name.empty()) return bad_input("no kernel definition in the source");
    return std::move(kernel_);
  }

 private:
  struct Block {
    int indent = 0;
    Expr condition;  ///< of the branch; true for loops
    Expr otherwise;  ///< what an `else` on this level may assume
    bool is_loop = false;
    std::vector<std::string> assigned;  ///< names the body assigns
  };

  /// Values that a loop carries from round to round, or that one of two branches gave.
  void forget(const std::vector<std::string>& names) {
    for (const auto& name : names) {
      const auto* known = evaluator_.find(name);
      if (known == nullptr || (!known->is_int() && !known->is_bool())) continue;
      if (known->is_int())
        evaluator_.set(name, evaluator_.fresh(name, "a value carried along", {}, known->bits));
      else
        evaluator_.set(name, {});
    }
  }

  /// Names assigned on the lines behind the cursor that are indented deeper.
  [[nodiscard]] auto assigned_below(int indent) -> std::vector<std::string> {
    std::vector<std::string> names;
    const auto source = cursor_.lexer().source();
    auto at = source.find('\n', cursor_.token().offset);
    while (at != std::string_view::npos) {
      const auto start = at + 1;
      at = source.find('\n', start);
      const auto line = source.substr(start, at == std::string_view::npos ? at : at - start);
      const auto first = line.find_first_not_of(' ');
      if (first == std::string_view::npos) continue;
      if (static_cast<int>(first) <= indent) break;
      const auto equals = line.find(" = ");
      if (equals == std::string_view::npos) continue;
      for (const auto name : split_at_commas(line.substr(first, equals - first)))
        names.emplace_back(name.substr(0, name.find(':')));
    }
    return names;
  }

  void keep(const Token& place, std::string reason) {
    kernel_.not_understood.push_back(
        {place.line, std::string(trimmed(cursor_.line_from(place))), std::move(reason)});
  }

  auto statement() -> Result<void> {
    const int indent = cursor_.lexer().indent();
    if (indent == 0) in_kernel_ = false;
    if (cursor_.at("@")) return decorator();
    if (cursor_.at("def") && indent == 0) return definition();
    if (!in_kernel_) {
      cursor_.skip_logical_line();
      return {};
    }
    ++kernel_.lines;
    while (!blocks_.empty() && indent <= blocks_.back().indent) {
      last_ = blocks_.back();
      evaluator_.pop_path();
      if (!last_->is_loop) forget(last_->assigned);
      blocks_.pop_back();
    }
    return body(indent);
  }

  auto decorator() -> Result<void> {
    cursor_.advance();
    ASSAY_TRY(const int node, cursor_.expression());
    const auto& call = cursor_.syntax(node);
    if (call.kind != SyntaxKind::call) return {};
    const auto name = cursor_.source_of(call.first_child);
    constexpr std::string_view kModule = "triton_heuristics.";
    if (!name.starts_with(kModule)) return {};
    kernel_.heuristic = name.substr(kModule.size());
    for (const int child : cursor_.children(node)) {
      const auto& argument = cursor_.syntax(child);
      if (argument.kind != SyntaxKind::keyword) continue;
      if (argument.text == "size_hints") numbers(argument.first_child, kernel_.size_hints);
      if (argument.text == "triton_meta") meta(argument.first_child);
      if (argument.text == "inductor_meta")
        if (const int list = member(argument.first_child, "extra_launcher_args"); list >= 0)
          for (const int item : cursor_.children(list))
            kernel_.launcher_args.push_back(key_of(item));
      if (argument.text == "inductor_meta")
        if (const int on = member(argument.first_child, "assert_indirect_indexing"); on >= 0)
          kernel_.asserts_are_on = cursor_.source_of(on) != "False";
    }
    return {};
  }

  [[nodiscard]] auto key_of(int node) const -> std::string {
    const auto& syntax = cursor_.syntax(node);
    if (syntax.kind != SyntaxKind::string) return std::string(cursor_.source_of(node));
    const auto text = decode_string(syntax.text);
    return text ? *text : std::string();
  }
  [[nodiscard]] auto member(int dict, std::string_view key) const -> int {
    if (cursor_.syntax(dict).kind != SyntaxKind::dict) return -1;
    const auto items = cursor_.children(dict);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
      if (key_of(items[i]) == key) return items[i + 1];
    return -1;
  }
  /// `{'x': 512, 'r0_': 8}`, and the list that 2.5 writes.
  void numbers(int node, std::map<std::string, std::int64_t>& to) const {
    const auto items = cursor_.children(node);
    constexpr std::array<std::string_view, 3> kPrefixes = {"x", "y", "z"};
    const bool is_dict = cursor_.syntax(node).kind == SyntaxKind::dict;
    for (std::size_t i = 0; i < items.size(); i += is_dict ? 2 : 1) {
      const auto at = is_dict ? i + 1 : i;
      if (at >= items.size() || (!is_dict && i >= kPrefixes.size())) break;
      const auto text = cursor_.source_of(items[at]);
      std::int64_t number = 0;
      if (std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc())
        to[is_dict ? key_of(items[i]) : std::string(kPrefixes[i])] = number;
    }
  }
  void meta(int node) {
    if (const int dict = member(node, "constants"); dict >= 0) numbers(dict, kernel_.constants);
    const int dict = member(node, "signature");
    if (dict < 0) return;
    const auto items = cursor_.children(dict);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
      signature_.emplace_back(key_of(items[i]), key_of(items[i + 1]));
  }

  /// The kernel is the definition under a heuristic's decorator; others are its helpers.
  auto definition() -> Result<void> {
    cursor_.advance();
    ASSAY_TRY(const auto name, cursor_.expect_name("the name of a function"));
    if (kernel_.heuristic.empty() || !kernel_.name.empty()) {
      cursor_.skip_logical_line();
      return {};
    }
    kernel_.name = name.text;
    ASSAY_TRY_VOID(cursor_.expect("("));
    while (!cursor_.at(")")) {
      ASSAY_TRY(const auto parameter, cursor_.expect_name("a parameter"));
      std::string type;
      if (cursor_.accept(":")) {
        ASSAY_TRY(const int annotation, cursor_.expression());
        if (cursor_.source_of(annotation).contains("constexpr")) type = "constexpr";
      }
      if (cursor_.accept("=")) {
        ASSAY_TRY(const int standard, cursor_.expression());
        (void)standard;
      }
      add_param(std::string(parameter.text), type);
      if (!cursor_.accept(",") && !cursor_.at(")")) return cursor_.unexpected("`,` or `)`");
    }
    ASSAY_TRY_VOID(cursor_.expect(")"));
    ASSAY_TRY_VOID(cursor_.expect(":"));
    in_kernel_ = true;
    return {};
  }

  void add_param(std::string name, std::string type) {
    const auto position = std::to_string(kernel_.params.size());
    for (const auto& [key, value] : signature_)
      if (key == name || key == position) type = value;
    KernelParam param{std::move(name), std::move(type), {}};
    KernelValue value;
    if (param.is_pointer()) {
      value.kind = KernelValue::Kind::pointer;
      value.param = kernel_.params.size();
    } else if (param.bits() != 0 || param.type == "constexpr" || param.is_block()) {
      param.symbol = pool_.symbol(param.name);
      if (param.is_block()) kernel_.ranges[param.symbol] = {1, Expr::infinity()};
      const auto fixed = kernel_.constants.find(param.name);
      value.kind = KernelValue::Kind::integer;
      value.expr = fixed == kernel_.constants.end() ? param.symbol : Expr(fixed->second);
      value.bits = param.bits();
    }
    evaluator_.set(param.name, value);
    kernel_.params.push_back(std::move(param));
  }

  auto body(int indent) -> Result<void> {
    if (cursor_.at("for")) return loop(indent);
    if (cursor_.at("if") || cursor_.at("elif") || cursor_.at("else")) return branch(indent);
    if (cursor_.at("return") || cursor_.at("pass")) {
      cursor_.skip_logical_line();
      return {};
    }
    ASSAY_TRY(const int left, cursor_.expression_list());
    if (cursor_.accept(":")) {
      ASSAY_TRY(const int annotation, cursor_.expression());
      (void)annotation;
    }
    if (!cursor_.accept("=")) {
      evaluator_.set_target({});
      ASSAY_TRY(const auto value, evaluator_.value(left));
      (void)value;
      return end_of_statement();
    }
    ASSAY_TRY(const int right, cursor_.expression_list());
    const auto& target = cursor_.syntax(left);
    const bool one = target.kind == SyntaxKind::name;
    evaluator_.set_target(one ? target.text : std::string_view());
    ASSAY_TRY(auto value, evaluator_.value(right));
    if (one) {
      evaluator_.set(target.text, std::move(value));
    } else if (target.kind == SyntaxKind::tuple) {
      for (const int child : cursor_.children(left)) evaluator_.set(cursor_.source_of(child), {});
    } else {
      return bad_source(target.place, "an assignment to something that is no name");
    }
    return end_of_statement();
  }

  auto end_of_statement() -> Result<void> {
    if (cursor_.token().kind == TokenKind::newline || cursor_.token().kind == TokenKind::end)
      return {};
    return cursor_.unexpected("the end of the statement");
  }

  auto loop(int indent) -> Result<void> {
    const auto place = cursor_.token();
    cursor_.advance();
    ASSAY_TRY(const auto name, cursor_.expect_name("a loop variable"));
    ASSAY_TRY_VOID(cursor_.expect("in"));
    ASSAY_TRY(const int range, cursor_.expression());
    ASSAY_TRY_VOID(cursor_.expect(":"));
    open(indent, Expr::boolean(true), Expr::boolean(true), true);
    forget(blocks_.back().assigned);
    const auto function = cursor_.syntax(range).kind == SyntaxKind::call
                              ? cursor_.source_of(cursor_.syntax(range).first_child)
                              : std::string_view();
    std::vector<KernelValue> ends;
    for (const int child : cursor_.children(range)) {
      if (child == cursor_.syntax(range).first_child ||
          cursor_.syntax(child).kind == SyntaxKind::keyword)
        continue;
      ASSAY_TRY(ends.emplace_back(), evaluator_.value(child));
    }
    const bool known =
        function == "tl.range" || function == "range" || function == "tl.static_range";
    auto variable = evaluator_.fresh(name.text, "loop variable", {0, Expr::infinity()}, 32);
    evaluator_.set(name.text, variable);
    if (!known || ends.empty() || !std::ranges::all_of(ends, &KernelValue::is_int))
      return bad_source(place, "a loop over something unknown");
    if (ends.size() == 1) ends.insert(ends.begin(), KernelValue{.expr = 0, .narrow = {}});
    if (!ends[0].expr.is_int(0)) return bad_source(place, "a loop that does not start at 0");
    const auto step = ends.size() > 2 ? ends[2].expr : Expr(1);
    kernel_.data.pop_back();  // it is no data: an axis takes its place
    evaluator_.add_loop({variable.expr, ends[1].expr, step});
    return {};
  }

  /// Branches of combined kernels: `if pid < n: ... elif ...`.
  auto branch(int indent) -> Result<void> {
    const auto place = cursor_.token();
    const auto word = cursor_.token().text;
    cursor_.advance();
    auto condition = Expr::boolean(true);
    if (word != "else") {
      ASSAY_TRY(const int node, cursor_.expression());
      ASSAY_TRY(const auto value, evaluator_.value(node));
      if (value.is_bool()) condition = value.expr;
    }
    ASSAY_TRY_VOID(cursor_.expect(":"));
    const bool chained = word != "if";
    if (chained && (!last_ || last_->indent != indent))
      return bad_source(place, "`{}` without its `if`", word);
    const auto before = chained ? last_->otherwise : Expr::boolean(true);
    // A branch on data may or may not run: its accesses count, its condition does not.
    const auto here = logic_and(before, condition);
    open(indent, here, logic_and(before, logic_not(condition)), false);
    return {};
  }

  void open(int indent, const Expr& condition, const Expr& otherwise, bool is_loop) {
    blocks_.push_back({indent, condition, otherwise, is_loop, assigned_below(indent)});
    evaluator_.push_path(condition);
  }

  PythonCursor cursor_;
  ExprPool& pool_;
  TritonKernel kernel_;
  KernelEvaluator evaluator_;
  std::vector<std::pair<std::string, std::string>> signature_;
  std::vector<Block> blocks_;
  std::optional<Block> last_;
  bool in_kernel_ = false;
};

}  // namespace

auto KernelParam::element() const -> std::optional<DType> {
  if (!is_pointer()) return std::nullopt;
  const auto wanted = std::string_view(type).substr(1);
  for (const auto& row : kTypes)
    if (row.triton == wanted) return row.dtype;
  return std::nullopt;
}

auto KernelParam::bits() const -> int {
  if (type == "i64" || type == "u64") return 64;
  return type == "i32" || type == "u32" || type == "i16" || type == "i8" ? 32 : 0;
}

auto TritonKernel::param(std::string_view wanted) const -> const KernelParam* {
  for (const auto& one : params)
    if (one.name == wanted) return &one;
  return nullptr;
}

auto read_kernel(std::string_view text, ExprPool& pool) -> Result<TritonKernel> {
  return KernelReader(text, pool).read();
}

}  // namespace assay
