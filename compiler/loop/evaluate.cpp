#include "compiler/loop/evaluate.h"

#include <algorithm>
#include <array>

#include "core/expr/text.h"

namespace assay {
namespace {

using Kind = KernelValue::Kind;

/// Largest block Inductor tunes to, by prefix (torch/_inductor/runtime/hints.py).
struct MaxBlock {
  std::string_view prefix;
  std::int64_t size;
};
constexpr std::array kMaxBlocks = {MaxBlock{"x", 4096},    MaxBlock{"y", 1024},
                                   MaxBlock{"z", 1024},    MaxBlock{"r", 65536},
                                   MaxBlock{"r0_", 65536}, MaxBlock{"r1_", 32768}};

auto max_block(std::string_view prefix) -> std::int64_t {
  for (const auto& row : kMaxBlocks)
    if (row.prefix == prefix) return row.size;
  return std::int64_t{1} << 20;
}

/// Program ids are symbols named so.
constexpr std::string_view kProgramPrefix = "program";

auto boolean(const Expr& e) -> KernelValue {
  return {.kind = Kind::boolean, .expr = e, .narrow = {}};
}
auto number(const Expr& e, int bits = 0) -> KernelValue {
  return {.kind = Kind::integer, .expr = e, .bits = bits, .narrow = {}};
}

struct TypeRow {
  std::string_view name;
  int bits;  ///< 1 for booleans
};
constexpr std::array kIntTypes = {
    TypeRow{"tl.int1", 1},    TypeRow{"tl.int8", 32},   TypeRow{"tl.int16", 32},
    TypeRow{"tl.int32", 32},  TypeRow{"tl.int64", 64},  TypeRow{"tl.uint8", 32},
    TypeRow{"tl.uint16", 32}, TypeRow{"tl.uint32", 32}, TypeRow{"tl.uint64", 64}};
auto int_bits(std::string_view type) -> int {
  for (const auto& row : kIntTypes)
    if (row.name == type) return row.bits;
  return 0;
}

}  // namespace

auto KernelEvaluator::find(std::string_view name) const -> const KernelValue* {
  const auto found = locals_.find(name);
  return found == locals_.end() ? nullptr : &found->second;
}

auto KernelEvaluator::fresh(std::string_view name, std::string_view text, Interval range, int bits)
    -> KernelValue {
  const auto symbol = pool_.symbol(fmt::format("{}.{}", name, fresh_count_++));
  kernel_.ranges[symbol] = range;
  if (!text.empty()) kernel_.data.push_back({symbol, std::string(text)});
  return number(symbol, bits);
}

/// A truth value that depends on data: any.
auto KernelEvaluator::condition(std::string_view text) -> KernelValue {
  const auto symbol = pool_.symbol(fmt::format("if.{}", fresh_count_++), ExprType::boolean);
  kernel_.data.push_back({symbol, std::string(text)});
  return boolean(symbol);
}

auto KernelEvaluator::value(int node) -> Result<KernelValue> {
  const auto& syntax = cursor_.syntax(node);
  switch (syntax.kind) {
    case SyntaxKind::name: {
      if (syntax.text == "True" || syntax.text == "False")
        return boolean(Expr::boolean(syntax.text == "True"));
      const auto* known = find(syntax.text);
      return known ? *known : KernelValue{};
    }
    case SyntaxKind::integer: {
      const auto parsed = parse_expr(pool_, syntax.text);
      return parsed ? number(*parsed) : KernelValue{};
    }
    case SyntaxKind::unary:
      return unary(node);
    case SyntaxKind::binary:
      return binary(node);
    case SyntaxKind::call:
      return call(node);
    case SyntaxKind::subscript:
      // `x[:, None]` and `x[:]` spread lanes; a number would pick one.
      return value(cursor_.syntax(node).first_child);
    case SyntaxKind::attribute:
    case SyntaxKind::real:
    case SyntaxKind::imaginary:
    case SyntaxKind::string:
    case SyntaxKind::ellipsis:
    case SyntaxKind::conditional:
    case SyntaxKind::none:
    case SyntaxKind::slice:
      return KernelValue{};
    case SyntaxKind::keyword:
    case SyntaxKind::star:
    case SyntaxKind::list:
    case SyntaxKind::tuple:
    case SyntaxKind::dict:
      break;
  }
  for (const int child : cursor_.children(node)) {
    ASSAY_TRY(const auto item, value(child));
    if (item.is_pointer()) return bad_source(cursor_.syntax(child).place, "a pointer in a list");
  }
  return KernelValue{};
}

auto KernelEvaluator::unary(int node) -> Result<KernelValue> {
  const auto op = cursor_.syntax(node).text;
  ASSAY_TRY(auto operand, value(cursor_.syntax(node).first_child));
  if (op == "-" && operand.is_int()) return integer(-operand.expr, operand.bits, operand, {});
  if (op == "+") return operand;
  if ((op == "~" || op == "not") && operand.is_bool()) return boolean(logic_not(operand.expr));
  if (operand.is_pointer())
    return bad_source(cursor_.syntax(node).place, "arithmetic on a pointer");
  if (op == "not") return condition(cursor_.source_of(node));
  return KernelValue{};
}

/// Keeps what has to fit into 32 bits: every result computed in them.
auto KernelEvaluator::integer(const Expr& e, int bits, const KernelValue& a, const KernelValue& b)
    -> KernelValue {
  auto result = number(e, bits);
  result.narrow = a.narrow;
  for (const auto& one : b.narrow)
    if (std::ranges::find(result.narrow, one) == result.narrow.end()) result.narrow.push_back(one);
  if (bits == 32 && !e.is_const() && e.args().size() > 1 &&
      std::ranges::find(result.narrow, e) == result.narrow.end())
    result.narrow.push_back(e);
  return result;
}

auto KernelEvaluator::binary(int node) -> Result<KernelValue> {
  const auto op = cursor_.syntax(node).text;
  const auto children = cursor_.children(node);
  ASSAY_TRY(const auto a, value(children[0]));
  ASSAY_TRY(const auto b, value(children[1]));
  if (a.is_pointer() || b.is_pointer()) {
    const auto& pointer = a.is_pointer() ? a : b;
    const auto& offset = a.is_pointer() ? b : a;
    if (op != "+" || !offset.is_int())
      return bad_source(cursor_.syntax(node).place, "a pointer plus something unknown");
    auto result =
        integer(pointer.expr + offset.expr, std::max(pointer.bits, offset.bits), pointer, offset);
    result.kind = Kind::pointer;
    result.param = pointer.param;
    return result;
  }
  constexpr std::array<std::string_view, 6> kComparisons = {"==", "!=", "<", "<=", ">", ">="};
  if (std::ranges::find(kComparisons, op) != kComparisons.end() || op == "and" || op == "or" ||
      ((op == "&" || op == "|" || op == "^") && (a.is_bool() || b.is_bool()))) {
    const auto result = logic(op, a, b);
    return result.is_bool() ? result : condition(cursor_.source_of(node));
  }
  if (op == "+")
    if (auto found = axis(a, b)) return *found;
  return arithmetic(op, a, b);
}

auto KernelEvaluator::logic(std::string_view op, const KernelValue& a, const KernelValue& b)
    -> KernelValue {
  if (op == "&" || op == "and" || op == "|" || op == "or") {
    const auto left = a.is_bool() ? a : condition("a condition on data");
    const auto right = b.is_bool() ? b : condition("a condition on data");
    return boolean(op == "&" || op == "and" ? logic_and(left.expr, right.expr)
                                            : logic_or(left.expr, right.expr));
  }
  if (!a.is_int() || !b.is_int()) return {};
  struct Row {
    std::string_view op;
    Expr (*make)(const Expr&, const Expr&);
  };
  constexpr std::array kRows = {Row{"==", eq}, Row{"!=", ne}, Row{"<", lt},
                                Row{"<=", le}, Row{">", gt},  Row{">=", ge}};
  for (const auto& row : kRows)
    if (row.op == op) return boolean(row.make(a.expr, b.expr));
  return {};
}

auto KernelEvaluator::divide(ExprOp op, const KernelValue& a, const KernelValue& b) -> KernelValue {
  kernel_.divisions.push_back({a.expr, b.expr});
  const auto e = op == ExprOp::mod ? mod(a.expr, b.expr) : floor_div(a.expr, b.expr);
  auto result = number(e, std::max(a.bits, b.bits));
  result.narrow = integer(e, 0, a, b).narrow;  // a quotient is no larger than its dividend
  return result;
}

auto KernelEvaluator::arithmetic(std::string_view op, const KernelValue& a, const KernelValue& b)
    -> KernelValue {
  // `(1) * ((1) >= (ks0)) + (ks0) * ((ks0) > (1))`: a truth value counts as 0 or 1.
  const auto as_number = [](const KernelValue& v) {
    return v.is_bool() ? number(where(v.expr, 1, 0), 1) : v;
  };
  if (a.is_bool() || b.is_bool()) return arithmetic(op, as_number(a), as_number(b));
  if (!a.is_int() || !b.is_int()) return {};
  const int bits = std::max(a.bits, b.bits);
  if (op == "+") return integer(a.expr + b.expr, bits, a, b);
  if (op == "-") return integer(a.expr - b.expr, bits, a, b);
  if (op == "*") return integer(a.expr * b.expr, bits, a, b);
  if (op == "//") return divide(ExprOp::floor_div, a, b);
  if (op == "%") return divide(ExprOp::mod, a, b);
  if (a.expr.is_const() && b.expr.is_const()) {
    if (op == "<<") return integer(make(ExprOp::lshift, std::array{a.expr, b.expr}), bits, a, b);
    if (op == ">>") return integer(make(ExprOp::rshift, std::array{a.expr, b.expr}), bits, a, b);
  }
  return {};
}

/// Whether the offset is a multiple of the block, times program ids only.
auto KernelEvaluator::is_program_offset(const Expr& offset, const Expr& block) const -> bool {
  const auto program = floor_div(offset, block);
  if (program * block != offset) return false;
  const auto symbols = program.symbols();
  return !symbols.empty() && std::ranges::all_of(symbols, [](const Expr& symbol) {
    return symbol.name().starts_with(kProgramPrefix);
  });
}

/// `program * BLOCK + lane` and `loop variable + lane` enumerate an axis; its value becomes a
/// symbol of its own, so that what follows is independent of the block size.
auto KernelEvaluator::axis(const KernelValue& a, const KernelValue& b)
    -> std::optional<KernelValue> {
  if (!a.is_int() || !b.is_int()) return std::nullopt;
  const auto& lane = lanes_.contains(b.expr) ? b : a;
  const auto& offset = lanes_.contains(b.expr) ? a : b;
  const auto found = lanes_.find(lane.expr);
  if (found == lanes_.end()) return std::nullopt;
  const auto block = found->second;
  KernelAxis axis;
  axis.block = block;
  const auto loop = std::ranges::find_if(
      loops_, [&](const Loop& l) { return l.symbol == offset.expr && l.step == block; });
  std::string prefix;
  if (target_.ends_with("index")) prefix = target_.substr(0, target_.size() - 5);
  if (loop != loops_.end())
    axis.numel = loop->end;
  else if (!is_program_offset(offset.expr, block))
    return std::nullopt;
  if (prefix.empty() && !block.is_const()) {
    prefix = std::string(block.name());
    if (prefix.ends_with("BLOCK")) prefix.resize(prefix.size() - 5);
    std::ranges::transform(prefix, prefix.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }
  const auto* numel = find(prefix + "numel");
  if (!axis.numel && numel != nullptr && numel->is_int()) axis.numel = numel->expr;
  axis.max_block = block.as_int().value_or(max_block(prefix));
  axis.name = target_.empty() ? prefix + "index" : target_;
  auto value = fresh(axis.name, {}, {0, Expr::infinity()}, std::max(a.bits, b.bits));
  axis.symbol = value.expr;
  kernel_.axes.push_back(axis);
  return value;
}

auto KernelEvaluator::arange(int node) -> Result<KernelValue> {
  const auto args = cursor_.positional(node);
  if (args.size() != 2) return bad_source(cursor_.syntax(node).place, "arange of two ends");
  ASSAY_TRY(const auto low, value(args[0]));
  ASSAY_TRY(const auto high, value(args[1]));
  if (!low.expr.is_int(0) || !high.is_int()) return fresh("lane", "tl.arange", {}, 32);
  const auto last = high.expr.as_int();
  auto lane = fresh(target_.empty() ? "lane" : target_, {},
                    {0, last ? Expr(std::max<std::int64_t>(*last, 1) - 1) : Expr::infinity()}, 32);
  if (last) {
    KernelAxis axis{.symbol = lane.expr,
                    .name = target_,
                    .block = high.expr,
                    .numel = high.expr,
                    .max_block = *last};
    kernel_.axes.push_back(axis);
  }
  lanes_[lane.expr] = high.expr;
  return lane;
}

auto KernelEvaluator::cast(const KernelValue& value, std::string_view type) -> KernelValue {
  const int bits = int_bits(type);
  if (value.is_int() && bits > 1) {
    auto result = value;
    result.bits = bits;
    if (bits == 32 && value.bits == 64) result.narrow.push_back(value.expr);
    return result;
  }
  if (value.is_bool() && bits == 1) return value;
  if (value.is_bool() && bits > 1) return number(where(value.expr, 1, 0), bits);
  if (value.is_int() && bits == 1) return boolean(ne(value.expr, 0));
  if (bits > 1) return fresh("data", "a number converted to integer", {}, bits);
  return {};
}

auto KernelEvaluator::full(int node) -> Result<KernelValue> {
  const auto args = cursor_.positional(node);
  if (args.size() < 3) return KernelValue{};
  ASSAY_TRY(const auto filled, value(args[1]));
  const auto type = cursor_.source_of(args[2]);
  if (int_bits(type) == 0) return KernelValue{};
  // One row per program: `xindex = tl.full([1], xoffset, tl.int32)`.
  if (filled.is_int() && target_.ends_with("index") && is_program_offset(filled.expr, 1)) {
    const auto lane = fresh(target_, {}, {0, 0}, 32);
    lanes_[lane.expr] = 1;
    if (auto found = axis(filled, lane)) return cast(*found, type);
  }
  return cast(filled, type);
}

auto KernelEvaluator::access(int node, AccessKind kind, const Nodes& args, std::size_t mask_at)
    -> Result<std::size_t> {
  const auto& place = cursor_.syntax(node).place;
  if (args.empty()) return bad_source(place, "an access without a pointer");
  ASSAY_TRY(const auto pointer, value(args[0]));
  if (!pointer.is_pointer())
    return bad_source(place, "an access through something that is no pointer parameter");
  int mask_node = cursor_.keyword(node, "mask");
  if (mask_node < 0 && args.size() > mask_at) mask_node = args[mask_at];
  auto mask = Expr::boolean(true);
  if (mask_node >= 0 && cursor_.source_of(mask_node) != "None") {
    ASSAY_TRY(auto read, value(mask_node));
    if (read.is_int()) read = boolean(ne(read.expr, 0));
    mask = read.is_bool() ? read.expr : condition(cursor_.source_of(mask_node)).expr;
  }
  for (const auto& condition : path_) mask = logic_and(mask, condition);
  KernelAccess access;
  access.kind = kind;
  access.param = pointer.param;
  access.index = pointer.expr;
  access.mask = mask;
  access.index_bits = pointer.bits;
  access.narrow = pointer.narrow;
  access.facts = kernel_.facts.size();
  access.line = place.line;
  access.text = cursor_.source_of(node);
  if (!access.index.is_valid()) return bad_source(place, "an index that is undefined or too large");
  kernel_.accesses.push_back(std::move(access));
  return kernel_.accesses.size() - 1;
}

auto KernelEvaluator::load(int node) -> Result<KernelValue> {
  ASSAY_TRY(const auto index, access(node, AccessKind::load, cursor_.positional(node), 1));
  const auto element = kernel_.params[kernel_.accesses[index].param].element();
  const auto text = kernel_.accesses[index].text;
  if (element == DType::boolean) return condition(text);
  if (!element || !is_integer(*element)) return KernelValue{};
  const int bytes = size_bytes(*element);
  const bool is_signed = info(*element).kind == DTypeKind::signed_integer;
  Interval range;
  if (bytes < 8) {
    const auto half = std::int64_t{1} << (8 * bytes - 1);
    range = is_signed ? Interval{-half, half - 1} : Interval{0, 2 * half - 1};
  }
  return fresh(target_.empty() ? "data" : target_, text, range, bytes == 8 ? 64 : 32);
}

auto KernelEvaluator::store(int node, AccessKind kind) -> Result<KernelValue> {
  const auto args = cursor_.positional(node);
  for (std::size_t i = 1; i < args.size(); ++i) {
    ASSAY_TRY(const auto stored, value(args[i]));
    if (stored.is_pointer())
      return bad_source(cursor_.syntax(args[i]).place, "a pointer is stored");
  }
  ASSAY_TRY(const auto index,
            access(node, kind, args,
                   kind == AccessKind::atomic && cursor_.source_of(node).contains("_cas") ? 3 : 2));
  (void)index;
  return KernelValue{};
}

}  // namespace assay
