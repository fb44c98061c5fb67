// Expressions.
#include <algorithm>
#include <array>
#include <charconv>

#include "compiler/read/cpp_reader.h"

namespace assay {

auto CppReader::value(int node) -> R {
  struct Row {
    CppKind kind;
    R (*read)(CppReader&, int);
  };
  using C = CppReader;
  constexpr std::array kRows = {
      Row{CppKind::number, [](C& c, int n) { return c.number_literal(c.syntax_.node(n)); }},
      Row{CppKind::string, [](C&, int) -> R { return CppValue(); }},
      Row{CppKind::name, [](C& c, int n) { return c.named(n); }},
      Row{CppKind::call, [](C& c, int n) { return c.call(n); }},
      Row{CppKind::braces, [](C& c, int n) { return c.braces(n); }},
      Row{CppKind::member, [](C& c, int n) { return c.member(n); }},
      Row{CppKind::index, [](C& c, int n) { return c.element(n); }},
      Row{CppKind::unary, [](C& c, int n) { return c.unary(n); }},
      Row{CppKind::binary, [](C& c, int n) { return c.binary(n); }},
      Row{CppKind::conditional, [](C& c, int n) { return c.conditional(n); }},
      Row{CppKind::lambda,
          [](C&, int n) -> R {
            CppValue result;
            result.kind = CppValue::Kind::lambda;
            result.where = static_cast<std::size_t>(n);
            return result;
          }},
  };
  for (const auto& row : kRows)
    if (row.kind == syntax_.node(node).kind) return row.read(*this, node);
  return bad_input("an expression of another kind");
}

auto CppReader::unary(int node) -> R {
  const auto& one = syntax_.node(node);
  if (one.text == "&" || one.text == "*") return bad_input("the address of a value");
  ASSAY_TRY(const auto operand, value(one.children[0]));
  if (!operand.is_number()) return bad_input("`{}` of what is no number", one.text);
  return builder_.unary(one.text, operand);
}

/// `16L`, `0.5`, `0x10`, `1e-05f`
auto CppReader::number_literal(const CppNode& node) -> R {
  const auto& text = node.text;
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  const bool is_real = !is_hex && text.find_first_of(".eE") != std::string::npos;
  if (is_real) {
    double real = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), real);
    if (error != std::errc()) return bad_input("the number `{}`", text);
    const bool is_float = *end == 'f' || *end == 'F';
    return builder_.real(real, is_float ? DType::float32 : DType::float64, false);
  }
  std::int64_t integer = 0;
  const auto* begin = text.data() + (is_hex ? 2 : 0);
  const auto [end, error] =
      std::from_chars(begin, text.data() + text.size(), integer, is_hex ? 16 : 10);
  if (error != std::errc()) return bad_input("the number `{}`", text);
  const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const bool is_long = suffix.contains('L') || suffix.contains('l') || integer > INT32_MAX;
  return CppValue::of_index(integer, is_long ? DType::int64 : DType::int32);
}

auto CppReader::named(int node) -> R {
  const auto& one = syntax_.node(node);
  const auto found = locals_.find(one.text);
  if (found == locals_.end()) {
    if (one.text == "true" || one.text == "false") {
      const bool is_true = one.text == "true";
      return CppValue::of_tile(builder_.constant(std::int64_t{is_true ? 1 : 0}, DType::boolean),
                               DType::boolean, false);
    }
    if (one.text == "CHAR_BIT") return CppValue::of_index(8, DType::int32);
    if (one.text == "INFINITY" || one.text == "NAN") return limit(node, one.text);
    if (failed_.contains(one.text)) return bad_input("");
    return bad_input("the name `{}`", one.text);
  }
  const auto& local = found->second;
  const bool is_running =
      local.updated_in != 0 && std::ranges::any_of(loops_, [&](const CppLoop& loop) {
        return loop.serial == local.updated_in;
      });
  if (is_running) return bad_input("what a loop has added up so far");
  return local.value;
}

/// `tmp_acc0.mean`, `tmp_acc1_vec.index`
auto CppReader::member(int node) -> R {
  const auto& one = syntax_.node(node);
  ASSAY_TRY(const auto object, value(one.children[0]));
  constexpr std::array<std::string_view, 3> kWelford = {"mean", "m2", "weight"};
  constexpr std::array<std::string_view, 2> kIndexed = {"value", "index"};
  const auto find = [&](const auto& names) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == one.text) return i;
    return std::nullopt;
  };
  if (object.kind == CppValue::Kind::record) {
    const auto at = object.fields.size() == 3 ? find(kWelford) : find(kIndexed);
    if (at) {
      if (object.parts) return bad_input("lanes of a vector that hold parts of a reduction");
      return object.fields[*at];
    }
  }
  return bad_input("the member `{}`", one.text);
}

auto CppReader::element(int node) -> R {
  const auto& one = syntax_.node(node);
  if (one.children.size() != 2) return bad_input("an element of several indices");
  ASSAY_TRY(const auto base, value(one.children[0]));
  ASSAY_TRY(const auto offset, integer(one.children[1]));
  return load(base, offset, false, node);
}

auto CppReader::integer(int node) -> Result<Expr> {
  ASSAY_TRY(const auto of, value(node));
  ASSAY_TRY(const auto result, builder_.expr(of));
  if (!result.is_valid()) return bad_input("an index that has no value");
  return result;
}

auto CppReader::truth(int node) -> Result<TileId> {
  ASSAY_TRY(const auto of, value(node));
  return builder_.as(of, DType::boolean);
}

auto CppReader::both(TileId a, TileId b) -> Result<TileId> {
  if (a == kNoTile || a == b) return b;
  if (b == kNoTile) return a;
  return builder_.compute(TileOp::bit_and, {a, b});
}

/// A value that is only computed where the condition holds.
auto CppReader::masked(TileId condition, int node) -> R {
  const auto outer = mask_;
  ASSAY_TRY(mask_, both(mask_, condition));
  auto result = value(node);
  mask_ = outer;
  return result;
}

auto CppReader::conditional(int node) -> R {
  const auto& one = syntax_.node(node);
  ASSAY_TRY(const auto condition, truth(one.children[0]));
  const auto& last = syntax_.node(one.children[2]);
  if (last.kind == CppKind::call && syntax_.node(last.children[0]).text == kThrow) {
    builder_.emit_effect(TileAssert{unquoted(last.children[1])}, {condition, mask_});
    return masked(condition, one.children[1]);
  }
  ASSAY_TRY(const auto no, builder_.compute(TileOp::bit_not, {condition}));
  ASSAY_TRY(const auto then, masked(condition, one.children[1]));
  ASSAY_TRY(const auto otherwise, masked(no, one.children[2]));
  return builder_.select(condition, then, otherwise);
}

auto CppReader::lambda_call(int node) -> R {
  const auto body = syntax_.node(node).children[0];
  if (std::ranges::find(called_, node) != called_.end())
    return bad_input("a lambda that calls itself");
  called_.push_back(node);
  const auto outer = std::exchange(returned_, std::nullopt);
  const auto outer_early = std::exchange(early_, {});
  const auto outer_mask = mask_;
  const auto problems = kernel_.not_understood.size();
  statement(body);
  called_.pop_back();
  auto result = std::exchange(returned_, outer);
  const auto early = std::exchange(early_, outer_early);
  mask_ = outer_mask;
  if (kernel_.not_understood.size() != problems) return bad_input("");
  if (!result && early.empty()) return CppValue();  // called for what it stores
  if (!result) return bad_input("a lambda without a value");
  for (auto one = early.rbegin(); one != early.rend(); ++one) {
    ASSAY_TRY(result, builder_.select(one->first, one->second, *result));
  }
  return *std::move(result);
}

auto CppReader::binary(int node) -> R {
  const auto& one = syntax_.node(node);
  ASSAY_TRY(auto left, value(one.children[0]));
  ASSAY_TRY(auto right, value(one.children[1]));
  const auto is_memory = [](const CppValue& v) {
    return v.kind == CppValue::Kind::pointer || v.kind == CppValue::Kind::array;
  };
  if (is_memory(left) && (one.text == "+" || one.text == "-")) {
    ASSAY_TRY(const auto offset, builder_.expr(right));
    if (left.kind == CppValue::Kind::array) {
      left.kind = CppValue::Kind::pointer;
      left.is_local = true;
    }
    left.expr = one.text == "+" ? left.expr + offset : left.expr - offset;
    return left;
  }
  // Parts of one reduction, of whole vectors and of what was left; of one of them there are none.
  if (const auto combine = combine_of(one.text); combine && left.parts != right.parts) {
    if (right.parts == combine && is_first(left, *combine)) return right;
    if (left.parts == combine && is_first(right, *combine)) return left;
  }
  if (left.parts && left.parts == right.parts && left.kind == CppValue::Kind::tile &&
      combine_of(one.text) == left.parts) {
    const auto parts = std::exchange(left.parts, std::nullopt);
    right.parts.reset();
    ASSAY_TRY(auto result, builder_.binary(one.text, left, right));
    result.parts = parts;
    return result;
  }
  return builder_.binary(one.text, left, right);
}

/// `IndexValue<float>{0, -inf}`
auto CppReader::braces(int node) -> R {
  const auto& one = syntax_.node(node);
  const auto& type = syntax_.node(one.children[0]);
  if (type.text == "IndexValue") return record(one.children[0]);
  if (type.text.empty() && one.children.size() == 4) {  // `{mean, m2, weight}`
    ASSAY_TRY(const auto values, arguments(node));
    CppValue result;
    result.kind = CppValue::Kind::record;
    result.dtype = values[0].dtype;
    result.fields = values;
    return result;
  }
  if (one.children.size() == 2) return constructed(node);
  return bad_input("a value of `{}`", type.text);
}

auto CppReader::type_argument(const CppNode& node, std::size_t i) -> Result<Type> {
  if (i >= node.types.size()) return bad_input("`{}` of no type", node.text);
  return type_of(node.types[i]);
}

/// `transpose_mxn<float, true>`: the last argument is true.
auto CppReader::flag_argument(const CppNode& node) const -> bool {
  return !node.types.empty() && syntax_.node(node.types.back()).text == "true";
}

auto CppReader::type_of(int node) -> Result<Type> {
  const auto& one = syntax_.node(node);
  if (const auto dtype = cpp_dtype(one.text)) return Type{*dtype, false};
  constexpr std::array<std::string_view, 3> kVectors = {"Vectorized", "VectorizedN", "VecMask"};
  for (const auto name : kVectors) {
    if (one.text != name && !one.text.starts_with(std::string(name) + "::")) continue;
    ASSAY_TRY(auto of, type_argument(one));
    of.is_vector = true;
    if (name == "VecMask") of.dtype = DType::boolean;
    return of;
  }
  if (one.text == "make_signed_t") return type_argument(one);
  if (one.text == "make_unsigned_t") {
    ASSAY_TRY(auto of, type_argument(one));
    of.is_modular = true;
    return of;
  }
  if (one.text.starts_with("decltype") && one.children.size() == 1) {
    const auto before = save();
    const auto of = value(one.children[0]);
    restore(before);
    if (!of) return std::unexpected(of.error());
    return Type{of->dtype, of->is_vector};
  }
  return bad_input("the type `{}`", one.text);
}

}  // namespace assay
