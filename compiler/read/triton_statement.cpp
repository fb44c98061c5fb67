// Statements of Triton kernels: the definition and what its decorator says, assignments, loops,
// branches.
#include <algorithm>
#include <array>

#include "compiler/read/python_statements.h"
#include "compiler/read/triton.h"
#include "compiler/read/triton_reader.h"
#include "core/graph/annotation.h"

namespace assay {
namespace {

using Kind = TritonValue::Kind;

struct TypeName {
  std::string_view triton, spelled;
  DType dtype;
};
constexpr std::array kTypes = {TypeName{"i1", "int1", DType::boolean},
                               TypeName{"u8", "uint8", DType::uint8},
                               TypeName{"i8", "int8", DType::int8},
                               TypeName{"u16", "uint16", DType::uint16},
                               TypeName{"i16", "int16", DType::int16},
                               TypeName{"u32", "uint32", DType::uint32},
                               TypeName{"i32", "int32", DType::int32},
                               TypeName{"u64", "uint64", DType::uint64},
                               TypeName{"i64", "int64", DType::int64},
                               TypeName{"fp16", "float16", DType::float16},
                               TypeName{"bf16", "bfloat16", DType::bfloat16},
                               TypeName{"fp32", "float32", DType::float32},
                               TypeName{"fp64", "float64", DType::float64},
                               TypeName{"fp8e4nv", "float8e4nv", DType::float8_e4m3fn},
                               TypeName{"fp8e5", "float8e5", DType::float8_e5m2},
                               TypeName{"fp8e4b8", "float8e4b8", DType::float8_e4m3fnuz},
                               TypeName{"fp8e5b16", "float8e5b16", DType::float8_e5m2fnuz}};

/// How many rounds of a loop are on their way at once: no value depends on it.
constexpr std::string_view kStages = "NUM_STAGES";

}  // namespace

auto triton_dtype(std::string_view name) -> std::optional<DType> {
  if (name.starts_with('*')) name.remove_prefix(1);
  if (name.starts_with("tl.")) {
    for (const auto& row : kTypes)
      if (row.spelled == name.substr(3)) return row.dtype;
    return std::nullopt;
  }
  for (const auto& row : kTypes)
    if (row.triton == name) return row.dtype;
  return std::nullopt;
}

auto TileKernel::passed(std::size_t arguments) const -> std::optional<std::vector<std::size_t>> {
  // Parameters that are fixed at compile time may be left out of a call of Inductor's kernels.
  for (const bool leaves_out : {false, true}) {
    if (is_users() && !leaves_out) continue;
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < params.size(); ++i)
      if (params[i].kind != TileParam::Kind::block && (!leaves_out || params[i].is_passed))
        all.push_back(i);
    if (arguments == all.size() || arguments == all.size() + launcher_args.size()) return all;
  }
  return std::nullopt;
}
auto TileKernel::param(std::string_view wanted) const -> const TileParam* {
  for (const auto& one : params)
    if (one.name == wanted) return &one;
  return nullptr;
}

auto TritonReader::read() -> Result<TileKernel> {
  find_functions();
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
  if (const auto done = close(0); !done) keep(cursor_.token(), done.error().message);
  if (kernel_.name.empty()) return bad_input("no kernel definition in the source");
  set_grid();
  return std::move(kernel_);
}

void TritonReader::keep(const Token& place, std::string reason) {
  kernel_.not_understood.push_back(
      {place.line, std::string(trimmed(cursor_.line_from(place))), std::move(reason)});
  forget_assigned(cursor_.line_from(place));
}

/// A name whose assignment was not understood has no value.
void TritonReader::forget_assigned(std::string_view line) {
  each_statement(line, 0, [&](const PythonStatement& one) {
    for (const auto& name : assigned_names(one.text)) locals_.erase(name);
  });
}

auto TritonReader::statement() -> Result<void> {
  const int indent = cursor_.lexer().indent();
  if (indent == 0 && in_kernel_) {
    ASSAY_TRY_VOID(close(0));
    in_kernel_ = false;
  }
  if (cursor_.at("@")) return decorator();
  if (cursor_.at("def") && indent == 0) return definition();
  if (!in_kernel_) {
    cursor_.skip_logical_line();
    return {};
  }
  ++kernel_.lines;
  builder_.set_line(cursor_.token().line);
  ASSAY_TRY_VOID(close(indent));
  ASSAY_TRY_VOID(body(indent));
  while (cursor_.accept(";"))
    if (cursor_.token().kind != TokenKind::newline) ASSAY_TRY_VOID(body(indent));
  return {};
}

auto TritonReader::decorator() -> Result<void> {
  cursor_.advance();
  ASSAY_TRY(const int node, cursor_.expression());
  const auto& call = cursor_.syntax(node);
  if (call.kind != SyntaxKind::call) return {};
  auto name = cursor_.source_of(call.first_child);
  constexpr std::string_view kModule = "triton_heuristics.";
  // PyTorch 2.0 and 2.1 wrote `@pointwise(..., meta={...})`.
  const int early_meta = cursor_.keyword(node, "meta");
  if (name.starts_with(kModule))
    name.remove_prefix(kModule.size());
  else if (early_meta < 0)
    return {};
  meta_.heuristic = name;
  if (early_meta >= 0) meta(early_meta);
  for (const int child : cursor_.children(node)) {
    const auto& argument = cursor_.syntax(child);
    if (argument.kind != SyntaxKind::keyword) continue;
    if (argument.text == "triton_meta") meta(argument.first_child);
    if (argument.text == "configs") first_config(argument.first_child);
    if (argument.text != "inductor_meta") continue;
    if (const int list = member(argument.first_child, "extra_launcher_args"); list >= 0)
      for (const int item : cursor_.children(list)) meta_.launcher_args.push_back(key_of(item));
    if (const int on = member(argument.first_child, "assert_indirect_indexing"); on >= 0)
      meta_.asserts_are_on = cursor_.source_of(on) != "False";
    grid_meta(argument.first_child);
  }
  return {};
}

auto TritonReader::key_of(int node) const -> std::string {
  const auto& syntax = cursor_.syntax(node);
  if (syntax.kind != SyntaxKind::string) return std::string(cursor_.source_of(node));
  const auto text = decode_string(syntax.text);
  return text ? *text : std::string();
}

auto TritonReader::member(int dict, std::string_view key) const -> int {
  if (cursor_.syntax(dict).kind != SyntaxKind::dict) return -1;
  const auto items = cursor_.children(dict);
  for (std::size_t i = 0; i + 1 < items.size(); i += 2)
    if (key_of(items[i]) == key) return items[i + 1];
  return -1;
}

/// A constant of the kernel, where the value is a number or a truth.
void TritonReader::take_number(std::string_view name, int value) {
  if (value < 0) return;
  const auto text = cursor_.source_of(value);
  std::int64_t number = 0;
  if (text == "True" || text == "False")
    meta_.constants[std::string(name)] = text == "True" ? 1 : 0;
  else if (std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc())
    meta_.constants[std::string(name)] = number;
}

/// Of a kernel that is tuned: any of its configurations is right, so the first one is taken.
void TritonReader::first_config(int list) {
  const auto configs = cursor_.children(list);
  if (configs.empty() || cursor_.syntax(configs[0]).kind != SyntaxKind::dict) return;
  const auto items = cursor_.children(configs[0]);
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) take_number(key_of(items[i]), items[i + 1]);
}

void TritonReader::meta(int node) {
  const auto each = [&](std::string_view key, auto&& take) {
    const int dict = member(node, key);
    if (dict < 0) return;
    const auto items = cursor_.children(dict);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) take(items[i], items[i + 1]);
  };
  each("constants", [&](int key, int value) { take_number(key_of(key), value); });
  each("signature",
       [&](int key, int value) { meta_.signature.emplace_back(key_of(key), key_of(value)); });
}

/// The kernel is the definition under a heuristic's decorator; others are functions beside it.
auto TritonReader::definition() -> Result<void> {
  cursor_.advance();
  ASSAY_TRY(const auto name, cursor_.expect_name("the name of a function"));
  if (meta_.heuristic.empty() || !kernel_.name.empty()) {
    cursor_.skip_logical_line();
    return {};
  }
  kernel_.name = name.text;
  kernel_.heuristic = meta_.heuristic;
  ASSAY_TRY_VOID(cursor_.expect("("));
  while (!cursor_.at(")")) {
    ASSAY_TRY(const auto parameter, cursor_.expect_name("a parameter"));
    std::string type;
    if (cursor_.accept(":")) {
      ASSAY_TRY(const int annotation, cursor_.expression());
      if (cursor_.source_of(annotation).contains("constexpr")) type = "constexpr";
    }
    if (cursor_.accept("=")) ASSAY_TRY_VOID(cursor_.expression());
    const bool is_declared = !type.empty();
    add_param(std::string(parameter.text), type);
    // Launches of users' kernels pass all but what is declared a constant.
    if (kernel_.is_users()) kernel_.params.back().is_passed = !is_declared;
    if (!cursor_.accept(",") && !cursor_.at(")")) return cursor_.unexpected("`,` or `)`");
  }
  ASSAY_TRY_VOID(cursor_.expect(")"));
  ASSAY_TRY_VOID(cursor_.expect(":"));
  kernel_.asserts_are_on = meta_.asserts_are_on;
  kernel_.launcher_args = meta_.launcher_args;
  in_kernel_ = true;
  if (is_split_scan()) return open_split_scan();
  return {};
}

void TritonReader::add_param(std::string name, std::string type) {
  const auto position = std::to_string(kernel_.params.size());
  for (const auto& [key, of] : meta_.signature)
    if (key == name || key == position) type = of;
  TileParam param;
  param.name = std::move(name);
  if (const auto fixed = meta_.constants.find(param.name); fixed != meta_.constants.end())
    param.fixed = fixed->second;
  TritonValue value;
  if (type.starts_with('*')) {
    value.kind = Kind::pointer;
    value.param = kernel_.params.size();
    if (const auto dtype = triton_dtype(type))
      param.dtype = *dtype;
    else
      kernel_.not_understood.push_back({0, param.name, fmt::format("a pointer to `{}`", type)});
  } else {
    const bool is_block = own_block(param.name).first.ends_with("BLOCK");
    const bool is_constexpr = type == "constexpr" || is_block;
    param.kind = is_block ? TileParam::Kind::block : TileParam::Kind::scalar;
    param.dtype = is_constexpr ? DType::int32 : triton_dtype(type).value_or(DType::int64);
    if (is_constexpr && param.name == kStages) param.fixed = 1;
    param.is_passed = !is_block && !(is_constexpr && param.fixed);
    param.symbol = pool_.symbol(param.name);
    // Products of stacks: a program has one matrix, and its number is no tensor of its own.
    const bool is_one = meta_.grid_type == "BatchMatmulGrid3D" && param.name == "ZBLOCK";
    if (is_one) param.fixed = 1;
    if (param.fixed) {
      value = TritonValue::python(*param.fixed);
    } else {
      value.kind = Kind::tile;
      value.id = builder_.emit(TileParamValue{kernel_.params.size()}, {}, {param.dtype, 0});
      value.is_weak = is_constexpr;
    }
    if (is_constexpr && !is_one) value.origin = param.name;
  }
  set(param.name, value);
  kernel_.params.push_back(std::move(param));
}

auto TritonReader::body(int indent) -> Result<void> {
  if (cursor_.at("for")) return loop(indent);
  if (cursor_.at("if") || cursor_.at("elif") || cursor_.at("else")) return branch(indent);
  if (cursor_.at("return") || cursor_.at("pass")) {
    cursor_.skip_logical_line();
    return {};
  }
  ASSAY_TRY(const int left, cursor_.expression_list());
  bool is_constexpr = false;
  if (cursor_.accept(":")) {
    ASSAY_TRY(const int annotation, cursor_.expression());
    is_constexpr = cursor_.source_of(annotation).contains("constexpr");
  }
  const auto place = cursor_.token();
  if (place.kind == TokenKind::symbol && place.text.size() > 1 && place.text.ends_with('=') &&
      cursor_.accept(place.text)) {  // `x += y`
    ASSAY_TRY(const int right, cursor_.expression());
    ASSAY_TRY(const auto before, value(left));
    ASSAY_TRY(const auto by, value(right));
    const auto op = place.text.substr(0, place.text.size() - 1);
    ASSAY_TRY(auto result, at(left, builder_.binary(op, before, by)));
    ASSAY_TRY_VOID(assign(left, std::move(result)));
  } else if (!cursor_.accept("=")) {
    ASSAY_TRY_VOID(value(left));
  } else {
    ASSAY_TRY(const int right, cursor_.expression_list());
    ASSAY_TRY(auto result, value(right));
    const auto& target = cursor_.syntax(left);
    if (is_constexpr && target.kind == SyntaxKind::name && result.origin.empty()) {
      // A product of blocks stands for the axes of both.
      result.origin = target.text;
      const auto& from = cursor_.syntax(right);
      if (from.kind == SyntaxKind::binary && from.text == "*")
        result.origin = cursor_.source_of(right);
      std::erase(result.origin, ' ');
    }
    ASSAY_TRY_VOID(assign(left, std::move(result)));
  }
  if (cursor_.token().kind == TokenKind::newline || cursor_.token().kind == TokenKind::end ||
      cursor_.at(";"))
    return {};
  return cursor_.unexpected("the end of the statement");
}

void TritonReader::set(std::string_view name, TritonValue value) {
  if (value.is_tile() && value.id != kNoTile) {
    auto& known = kernel_.values[static_cast<std::size_t>(value.id)].name;
    if (known.empty()) known = name;
  }
  locals_[std::string(name)] = std::move(value);
}

auto TritonReader::assign(int left, TritonValue value) -> Result<void> {
  const auto& target = cursor_.syntax(left);
  if (target.kind == SyntaxKind::name) {
    set(target.text, std::move(value));
    return {};
  }
  if (target.kind != SyntaxKind::tuple && target.kind != SyntaxKind::list)
    return bad_source(target.place, "an assignment to something that is no name");
  const auto names = cursor_.children(left);
  if (value.kind != Kind::tuple || value.items.size() != names.size())
    return bad_source(target.place, "other values than names");
  for (std::size_t i = 0; i < names.size(); ++i) ASSAY_TRY_VOID(assign(names[i], value.items[i]));
  return {};
}

auto read_triton(std::string_view text, ExprPool& pool) -> Result<TileKernel> {
  return TritonReader(text, pool).read();
}

}  // namespace assay
