#include "compiler/read/statement.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "core/expr/text.h"
#include "core/graph/annotation.h"

namespace assay {
namespace {

/// Calls that touch no tensor memory, by the beginning of their name.
constexpr std::array<std::string_view, 21> kNotes = {"assert_alignment",
                                                     "torch.Event",
                                                     "torch.Stream",
                                                     "_get_stream_by_index",
                                                     "get_external_object_by_index",
                                                     "get_cuda_stream",
                                                     "torch.cuda.",
                                                     "torch.xpu.",
                                                     "torch.mtia.",
                                                     "torch.accelerator.",
                                                     "get_raw_stream",
                                                     "run_intermediate_hooks",
                                                     "start_graph",
                                                     "end_graph",
                                                     "torch.profiler",
                                                     "torch._C._",
                                                     "args.clear",
                                                     "print",
                                                     "async_compile.wait",
                                                     "torch._check",
                                                     "torch.npu."};
/// Blocks whose body runs once, unconditionally.
constexpr std::array<std::string_view, 3> kTransparent = {"torch.", "record_function", "stream"};
/// Methods of a tensor that give a number read from data or layout.
constexpr std::array<std::string_view, 5> kNumberMethods = {".item", ".size", ".stride",
                                                            ".storage_offset", ".numel"};

template <std::size_t kCount>
auto starts_with_any(std::string_view text, const std::array<std::string_view, kCount>& beginnings)
    -> bool {
  return std::ranges::any_of(beginnings,
                             [&](std::string_view start) { return text.starts_with(start); });
}

}  // namespace

auto is_symbol_name(std::string_view name) -> bool {
  const auto digits = name.find_first_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return false;
  if (name.find_first_not_of("0123456789", digits) != std::string_view::npos) return false;
  constexpr std::array<std::string_view, 5> kPrefixes = {"s", "u", "zf", "zuf", "ps"};
  return std::ranges::find(kPrefixes, name.substr(0, digits)) != kPrefixes.end();
}

/// Scalars are kept as symbols of the pool under this name until their values replace them.
auto find_scalar(const HostFunction& function, std::string_view name) -> const HostScalar* {
  for (auto op = function.ops.rbegin(); op != function.ops.rend(); ++op)
    if (const auto* scalar = std::get_if<HostScalar>(&op->what); scalar && scalar->name == name)
      return scalar;
  return nullptr;
}

template <class What>
void StatementReader::add(What what) {
  const auto source = cursor_.lexer().source();
  const auto end = std::min(source.find('\n', start_.offset), cursor_.token().offset);
  function_.ops.push_back(
      {std::move(what), start_.line,
       std::string(trimmed(source.substr(start_.offset, end - start_.offset)))});
}

auto StatementReader::bad(int node, std::string_view message) const -> std::unexpected<Error> {
  return bad_source(cursor_.syntax(node).place, "{}", message);
}

auto StatementReader::read() -> Result<void> {
  for (;;) {
    start_ = cursor_.token();
    ASSAY_TRY_VOID(simple());
    const bool more = cursor_.accept(";");
    if (!more || cursor_.token().kind == TokenKind::newline) break;
  }
  if (cursor_.token().kind == TokenKind::newline || cursor_.token().kind == TokenKind::end)
    return {};
  return cursor_.unexpected("the end of the statement");
}

auto StatementReader::simple() -> Result<void> {
  constexpr std::array<std::string_view, 8> kBlocks = {"with", "if",    "else", "elif",
                                                       "for",  "while", "try",  "except"};
  for (const auto word : kBlocks)
    if (cursor_.at(word)) return block(word);
  if (cursor_.accept("break")) {
    add(HostLoop{HostLoop::Kind::leave, {HostArg{Expr::boolean(true), {}, "True", {}}}});
    return {};
  }
  if (cursor_.accept("pass")) {
    add(HostNote{});
    return {};
  }
  if (cursor_.accept("raise")) {
    ASSAY_TRY(const int what, cursor_.expression());
    (void)what;
    add(HostNote{});
    return {};
  }
  if (cursor_.accept("del")) {
    ASSAY_TRY(const int targets, cursor_.expression_list());
    ASSAY_TRY(auto names, names_of(targets));
    add(HostDelete{std::move(names)});
    return {};
  }
  if (cursor_.accept("return")) {
    HostReturn result;
    if (cursor_.token().kind != TokenKind::newline && cursor_.token().kind != TokenKind::end) {
      ASSAY_TRY(const int value, cursor_.expression_list());
      auto values = argument(value);
      if (auto* items = std::get_if<HostArgs>(&values.value))
        result.values = std::move(*items);
      else
        result.values.push_back(std::move(values));
    }
    add(std::move(result));
    return {};
  }
  if (cursor_.accept("assert")) {
    const bool negated = cursor_.accept("not");
    ASSAY_TRY(const int condition, cursor_.expression_list());
    return fact(condition, negated);
  }
  ASSAY_TRY(const int left, cursor_.expression_list());
  if (!cursor_.accept("=")) return expression_statement(left);
  ASSAY_TRY(const int right, cursor_.expression_list());
  return assignment(left, right);
}

/// `with ...:` is passed through. `if not (c): raise ...` is a fact.
auto StatementReader::block(std::string_view word) -> Result<void> {
  const Token place = cursor_.token();
  cursor_.accept(word);
  if (word == "with") return context();
  if (word == "if" || word == "elif" || word == "else") return branch(word);
  if (function_.loop_line == 0) function_.loop_line = place.line;
  if (word == "while") return loop();
  return bad_source(place, "`{}` is not followed", word);
}

auto StatementReader::loop() -> Result<void> {
  const bool is_negated = cursor_.accept("not");
  ASSAY_TRY(const int node, cursor_.expression());
  ASSAY_TRY_VOID(cursor_.expect(":"));
  add(HostLoop{HostLoop::Kind::open, {argument(node), is_negated}});
  return {};
}

auto StatementReader::context() -> Result<void> {
  ASSAY_TRY(const int what, cursor_.expression());
  const auto name = cursor_.source_of(what);
  if (cursor_.accept("as")) ASSAY_TRY_VOID(cursor_.expect_name("a name"));
  ASSAY_TRY_VOID(cursor_.expect(":"));
  if (!starts_with_any(name, kTransparent))
    return bad(what, fmt::format("unknown context `{}`", name));
  add(HostNote{});
  return {};
}

/// Also at the beginning of the next line.
auto StatementReader::is_next(std::string_view word) -> bool {
  auto ahead = cursor_.lexer();  // stands behind the current token
  auto token = cursor_.token();
  while (token.kind == TokenKind::newline) token = ahead.next();
  return token.is(word);
}

auto StatementReader::branch(std::string_view word) -> Result<void> {
  using enum HostBranch::Kind;
  if (word == "else") {
    ASSAY_TRY_VOID(cursor_.expect(":"));
    add(HostBranch{otherwise, true});
    return {};
  }
  const bool is_negated = word == "if" && cursor_.accept("not");
  ASSAY_TRY(const int node, cursor_.expression());
  ASSAY_TRY_VOID(cursor_.expect(":"));
  if (word == "if" && is_next("raise")) {
    while (cursor_.token().kind == TokenKind::newline) cursor_.advance();
    ASSAY_TRY_VOID(fact(node, !is_negated));
    start_ = cursor_.token();
    return simple();
  }
  HostCondition decides{argument(node), is_negated};
  if (word == "if" && cursor_.accept("break")) {
    add(HostLoop{HostLoop::Kind::leave, std::move(decides)});
    return {};
  }
  add(HostBranch{word == "if" ? open : otherwise, false, std::move(decides)});
  return {};
}

auto StatementReader::fact(int node, bool negated) -> Result<void> {
  const bool is_tuple = cursor_.syntax(node).kind == SyntaxKind::tuple;
  const auto items = is_tuple ? cursor_.children(node) : Nodes{node};
  if (items.empty()) return bad(node, "expected a condition");
  const int condition = items.front();
  const auto value = expr(condition);
  if (!value || value->type() != ExprType::boolean || !value->is_valid()) {
    add(HostNote{});  // on data: `assert not buf0.isnan().any().item()`
    return {};
  }
  add(HostFact{negated ? logic_not(*value) : *value});
  return {};
}

auto StatementReader::callee(int call) const -> std::string_view {
  const auto& node = cursor_.syntax(call);
  if (node.kind != SyntaxKind::call) return {};
  return cursor_.source_of(node.first_child);
}

auto StatementReader::names_of(int target) const -> Result<std::vector<std::string>> {
  const auto& node = cursor_.syntax(target);
  if (node.kind == SyntaxKind::name) return std::vector{std::string(node.text)};
  if (node.kind == SyntaxKind::subscript)
    return std::vector{std::string(cursor_.source_of(target))};
  if (node.kind != SyntaxKind::tuple && node.kind != SyntaxKind::list)
    return bad(target, "expected a name");
  std::vector<std::string> names;
  for (const int child : cursor_.children(target)) {
    ASSAY_TRY(auto inner, names_of(child));
    names.insert(names.end(), inner.begin(), inner.end());
  }
  return names;
}

auto StatementReader::is_scalar(std::string_view name) const -> bool {
  return find_scalar(function_, name) != nullptr || program_.env.find(name) != nullptr;
}

/// `buf5 = buf4[0]`, `s0 = arg1_1_size[0]`, `s0 = arg1_1.size()[0]`; false if it is neither.
auto StatementReader::subscript(const std::string& name, int right) -> Result<bool> {
  const auto children = cursor_.children(right);
  const auto& base = cursor_.syntax(children[0]);
  const auto& index = cursor_.syntax(children[1]);
  if (index.kind != SyntaxKind::integer) return false;
  const bool is_name = base.kind == SyntaxKind::name && !is_scalar(base.text);
  auto from = is_name ? find_layout(base.text) : layout_source(children[0]);
  if (!is_name && from.buffer.empty()) return false;
  ASSAY_TRY(const auto at, expr(children[1]));
  if (is_symbol_name(name) || !from.buffer.empty()) {
    from.dimension = static_cast<std::size_t>(at.as_int().value_or(0));
    ASSAY_TRY_VOID(fresh_scalar(name, from));
    return true;
  }
  add(HostItem{name, std::string(base.text), static_cast<std::size_t>(at.as_int().value_or(0))});
  return true;
}

/// `buf4[0] = buf7`
auto StatementReader::store(int left, int right) -> Result<void> {
  auto item = item_of(left);
  if (!item) return bad(left, "expected an element of a list");
  if (cursor_.syntax(right).kind == SyntaxKind::call && !view(right)) {  // `buf0[0] = x.clone()`
    ASSAY_TRY_VOID(call(right, {std::string(cursor_.source_of(left))}));
    store_item(left, *std::move(item));
    return {};
  }
  add(HostStore{std::move(item->tuple), item->index, argument(right)});
  return {};
}

auto StatementReader::assignment(int left, int right) -> Result<void> {
  if (cursor_.syntax(left).kind == SyntaxKind::subscript) return store(left, right);
  ASSAY_TRY(const auto names, names_of(left));
  const auto& value = cursor_.syntax(right);
  const bool one = names.size() == 1 && cursor_.syntax(left).kind == SyntaxKind::name;
  if (value.kind == SyntaxKind::name && value.text == "args") {
    function_.inputs = names;
    add(HostNote{});
    return {};
  }
  if (value.kind == SyntaxKind::call && names.size() == 1 && !one) return call(right, names, true);
  if (value.kind == SyntaxKind::call) {
    ASSAY_TRY_VOID(assign_call(names, right));
    store_items(left);
    return {};
  }
  if (value.kind == SyntaxKind::name && value.text == "None") {
    add(HostDelete{names});
    return {};
  }
  if (!one) return bad(right, "expected a call on the right of several names");
  if (value.kind == SyntaxKind::list) {
    auto items = argument(right);
    add(HostGroup{names[0], std::get<HostArgs>(std::move(items.value))});
    return {};
  }
  if (value.kind == SyntaxKind::subscript) {
    ASSAY_TRY(const bool is_item, subscript(names[0], right));
    if (is_item) return {};
  }
  if (value.kind == SyntaxKind::binary &&
      cursor_.syntax(value.first_child).kind == SyntaxKind::list) {  // `buf2 = [None] * 1`
    add(HostGroup{names[0], {}});
    return {};
  }
  // `s77 = primals_1` names a scalar input; `buf2 = buf1` renames a buffer.
  if (value.kind == SyntaxKind::name && !is_scalar(value.text)) {
    const bool is_input = std::ranges::find(function_.inputs, value.text) != function_.inputs.end();
    if (!is_input || !is_symbol_name(names[0])) {
      HostView source;
      source.base = value.text;
      return assign_view(names[0], source);
    }
    if (program_.env.find(std::string_view(names[0])) == nullptr)
      ASSAY_TRY_VOID(program_.env.add_symbol(names[0]));
    const auto symbol = program_.env.find(std::string_view(names[0]))->expr;
    add(HostScalar{.name = std::string(value.text),
                   .value = program_.env.replaced(symbol),
                   .is_input = true,
                   .symbol = symbol,
                   .buffer = {}});
    return {};
  }
  return assign_scalar(names[0], right);
}

/// `(buf0[0], buf0[1]) = f(x)`
void StatementReader::store_items(int left) {
  if (cursor_.syntax(left).kind == SyntaxKind::name) return;
  for (const int child : cursor_.children(left))
    if (auto item = item_of(child)) store_item(child, *std::move(item));
}

/// What a call gave, under the text of the element as its name, goes into the list.
void StatementReader::store_item(int node, HostItemOf item) {
  const auto name = std::string(cursor_.source_of(node));
  HostView made;
  made.base = name;
  add(HostStore{std::move(item.tuple), item.index, {std::move(made), {}, name, {name}}});
}

auto StatementReader::assign_scalar(const std::string& name, int right) -> Result<void> {
  ASSAY_TRY(const auto value, expr(right));
  add(HostScalar{.name = name, .value = value, .symbol = {}, .buffer = {}});
  return {};
}

/// `buf2 = reinterpret_tensor(buf1, ...); del buf1  # reuse`: the next statement decides.
auto StatementReader::assign_view(const std::string& name, const HostView& view) -> Result<void> {
  HostBind bind{.name = name, .source = view};
  if (cursor_.at(";")) {
    auto ahead = cursor_.lexer();  // stands behind the semicolon
    const auto del = ahead.next();
    const auto target = ahead.next();
    bind.is_reuse = del.is("del") && target.text == view.base;
  }
  add(std::move(bind));
  return {};
}

auto StatementReader::assign_call(const std::vector<std::string>& names, int right)
    -> Result<void> {
  const auto target = callee(right);
  if (names.size() == 1) {
    const auto& name = names[0];
    if (target.starts_with("empty_strided") || target == "torch.empty_strided")
      return alloc(name, right);
    if (target == "alloc_from_pool" || target.ends_with("._alloc_from_pool"))
      return pool_view(name, right);
    if (const auto bound = view(right)) return assign_view(name, *bound);
    // A copy, where it is one, keeps the strides.
    if (const auto args = cursor_.positional(right);
        target.ends_with("copy_if_misaligned") && args.size() == 1)
      if (const auto source = view(args[0])) return assign_view(name, *source);
    if (starts_with_any(target, kNotes)) {
      add(HostNote{});
      return {};
    }
    const bool converts = target == "int" || target == "float" || target == "bool";
    const auto args = converts ? cursor_.positional(right) : Nodes();
    const auto reads = args.size() == 1 ? callee(args[0]) : target;
    const bool reads_number = std::ranges::any_of(
        kNumberMethods, [&](std::string_view method) { return reads.ends_with(method); });
    if (reads_number) {
      const int call = converts && args.size() == 1 ? args[0] : right;
      auto from = number_source(call);
      if (layout_source(call).buffer.empty()) return fresh_scalar(name, from);
      add(HostShape{name, std::move(from.buffer), from.source});
      return {};
    }
    if (!target.contains('.') || target.starts_with("math."))  // max(1, s77), math on symbols
      if (const auto value = expr(right); value && !value->symbols().empty())
        return assign_scalar(name, right);
  }
  return call(right, names);
}

/// What `buf0.item()`, `arg1_1.size(0)` read.
auto StatementReader::fresh_scalar(const std::string& name, const NumberSource& from)
    -> Result<void> {
  if (program_.env.find(std::string_view(name)) == nullptr) {
    ASSAY_TRY(const auto added, program_.env.add_symbol(name));
    if (!is_symbol_name(name))  // `buf3_selector = int(buf2.item())`
      program_.env.set_range(added, {Expr::neg_infinity(), Expr::infinity()});
  }
  const auto symbol = program_.env.find(std::string_view(name))->expr;
  add(HostScalar{.name = name,
                 .value = symbol,
                 .is_fresh = true,
                 .symbol = symbol,
                 .source = from.source,
                 .buffer = from.buffer,
                 .dimension = from.dimension});
  return {};
}

auto StatementReader::alloc(const std::string& name, int right) -> Result<void> {
  const auto args = cursor_.positional(right);
  if (args.size() < 2) return bad(right, "an allocation needs sizes and strides");
  HostAlloc result;
  result.name = name;
  ASSAY_TRY(result.sizes, dims(args[0]));
  ASSAY_TRY(result.strides, dims(args[1]));
  if (result.sizes.size() != result.strides.size())
    return bad(right, "sizes and strides differ in number");
  int type = cursor_.keyword(right, "dtype");
  if (type < 0 && args.size() > 2) type = args[2];
  if (type < 0) return bad(right, "an allocation without dtype");
  ASSAY_TRY(result.dtype, dtype(type));
  constexpr std::string_view kFunction = "empty_strided_";
  const auto target = callee(right);
  if (target.starts_with(kFunction))
    result.device.type =
        target.substr(kFunction.size(), target.find('_', kFunction.size()) - kFunction.size());
  else if (const int where = cursor_.keyword(right, "device"); where >= 0 && !callee(where).empty())
    result.device = device(where);
  add(std::move(result));
  return {};
}

auto StatementReader::pool_view(const std::string& name, int right) -> Result<void> {
  const auto args = cursor_.positional(right);
  if (args.size() != 5) return bad(right, "alloc_from_pool takes five arguments");
  HostBind result;
  result.name = name;
  result.is_in_pool = true;
  ASSAY_TRY(result.source, view(args[0]));
  ASSAY_TRY(result.pool_offset_bytes, expr(args[1]));
  ASSAY_TRY(result.source.dtype, dtype(args[2]));
  ASSAY_TRY(result.source.sizes, dims(args[3]));
  ASSAY_TRY(result.source.strides, dims(args[4]));
  result.source.is_reinterpreted = true;
  add(std::move(result));
  return {};
}

auto StatementReader::expression_statement(int node) -> Result<void> {
  const auto target = callee(node);
  if (target.empty()) return bad(node, "an expression that does nothing");
  if (target == "assert_size_stride" || target == "assert_tensor_metadata") return check(node);
  if (target == "assert_size_stride_grouped") return checks(node);
  if (starts_with_any(target, kNotes)) {
    add(HostNote{});
    return {};
  }
  if (const auto kernel = kernel_of(target); !kernel.empty()) return launch(node, kernel);
  return call(node, {});
}

/// The kernel that a call launches, also one whose source is not there; empty if it is none.
auto StatementReader::kernel_of(std::string_view target) const -> std::string_view {
  constexpr std::string_view kRun = ".run";
  const auto name = target.ends_with(kRun) ? target.substr(0, target.size() - kRun.size()) : target;
  constexpr std::array<std::string_view, 4> kPrefixes = {"triton_", "cpp_fused", "kernel_cpp",
                                                         "cutlass_"};
  const bool is_name = !name.contains('.') && !name.contains('[');
  const bool is_kernel =
      program_.kernels.contains(std::string(name)) ||
      (is_name && (name != target || starts_with_any(name, kPrefixes)) && name != "triton_helpers");
  return is_kernel ? name : std::string_view();
}

auto StatementReader::check(int node) -> Result<void> {
  const auto args = cursor_.positional(node);
  if (args.size() < 3) return bad(node, "expected a tensor, sizes and strides");
  const bool has_dtype = callee(node) == "assert_tensor_metadata" && args.size() > 3;
  return check(args[0], args[1], args[2], has_dtype ? args[3] : -1);
}

/// `assert_size_stride_grouped((a, b), (sizes, sizes), (strides, strides), 'input')`
auto StatementReader::checks(int node) -> Result<void> {
  const auto args = cursor_.positional(node);
  if (args.size() < 3) return bad(node, "expected tensors, their sizes and strides");
  const auto names = cursor_.children(args[0]);
  const auto sizes = cursor_.children(args[1]);
  const auto strides = cursor_.children(args[2]);
  if (names.size() != sizes.size() || names.size() != strides.size())
    return bad(node, "tensors, sizes and strides differ in number");
  for (std::size_t i = 0; i < names.size(); ++i)
    ASSAY_TRY_VOID(check(names[i], sizes[i], strides[i], -1));
  return {};
}

auto StatementReader::check(int buffer, int sizes, int strides, int type) -> Result<void> {
  ASSAY_TRY(const auto checked, view(buffer));
  HostCheck result;
  result.name = checked.base;
  ASSAY_TRY(result.sizes, dims(sizes));
  ASSAY_TRY(result.strides, dims(strides));
  if (result.sizes.size() != result.strides.size())
    return bad(buffer, "sizes and strides differ in number");
  if (type >= 0)
    if (const auto known = dtype(type)) result.dtype = *known;
  add(std::move(result));
  return {};
}

auto StatementReader::launch(int node, std::string_view kernel) -> Result<void> {
  HostLaunch result;
  result.kernel = kernel;
  for (const int child : cursor_.children(node)) {
    if (child == cursor_.syntax(node).first_child) continue;
    auto value = argument(child);
    if (value.keyword == "stream" || value.keyword == "grid") continue;
    result.args.push_back(std::move(value));
  }
  if (const auto known = program_.choices.find(result.kernel); known != program_.choices.end()) {
    const auto all = std::move(result.args);
    result.kernel = known->second.kernel;
    result.args.clear();
    for (const auto& [from, to] : known->second.arguments)
      for (auto i = from; i < std::min(to, std::ssize(all)); ++i)
        result.args.push_back(all[static_cast<std::size_t>(i)]);
    if (known->second.arguments.empty()) result.args = all;
  }
  add(std::move(result));
  return {};
}

/// `extern_kernels._mm_plus_mm(a, b, c, d, out=e)` is a product, to which another one is added
/// (torch/csrc/inductor/inductor_ops.cpp).
auto StatementReader::sum_of_products(const HostCall& both) -> bool {
  const auto& args = both.args;
  if (!both.target.ends_with("._mm_plus_mm") || args.size() != 5 || args[4].keyword != "out")
    return false;
  auto sum = args[4];
  sum.keyword.clear();
  HostCall product, added;
  product.target = "extern_kernels.mm";
  product.args = {args[0], args[1], args[4]};
  added.target = "extern_kernels.addmm";
  added.args = {std::move(sum), args[2], args[3], args[4]};
  add(std::move(product));
  add(std::move(added));
  return true;
}

auto StatementReader::call(int node, std::vector<std::string> results, bool is_unpacked)
    -> Result<void> {
  HostCall result;
  result.is_unpacked = is_unpacked || results.size() > 1;
  result.results = std::move(results);
  const int function = cursor_.syntax(node).first_child;
  result.target = cursor_.source_of(function);
  // A method of a buffer: the receiver is an argument.
  if (cursor_.syntax(function).kind == SyntaxKind::attribute) {
    const int receiver = cursor_.syntax(function).first_child;
    const auto root = result.target.substr(0, result.target.find_first_of(".[("));
    constexpr std::array<std::string_view, 9> kModules = {
        "torch", "aten",  "extern_kernels", "inductor_ops", "_quantized",
        "self",  "prims", "triton_helpers", "runner"};
    if (std::ranges::find(kModules, root) == kModules.end() && !root.starts_with("async")) {
      result.args.push_back(argument(receiver));
      result.target = "." + std::string(cursor_.syntax(function).text);
    }
  }
  for (const int child : cursor_.children(node))
    if (child != function) result.args.push_back(argument(child));
  if (sum_of_products(result)) return {};
  add(std::move(result));
  return {};
}

}  // namespace assay
