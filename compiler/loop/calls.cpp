// Calls in Triton kernels: what tl.*, triton_helpers.* and methods mean for indices and masks.
#include <algorithm>
#include <array>

#include "compiler/loop/evaluate.h"

namespace assay {
namespace {

using Kind = KernelValue::Kind;

enum class Meaning : std::uint8_t {
  first,  ///< the first argument as it is, lane by lane
  program_id,
  num_programs,
  arange,
  full,
  zeros,
  where,
  smaller,
  larger,
  ceil_div,
  floor_div,
  remainder,
  load,
  store,
  atomic,
  check,
  nothing,  ///< no value, no access
};
struct BinaryCall {
  Meaning meaning;
  Expr (*make)(const Expr&, const Expr&);
};
constexpr BinaryCall kBinaryCalls[] = {{Meaning::smaller, min},
                                       {Meaning::larger, max},
                                       {Meaning::ceil_div, ceil_div},
                                       {Meaning::floor_div, floor_div},
                                       {Meaning::remainder, mod}};
struct CallRow {
  std::string_view name;
  Meaning meaning;
};
// clang-format off
constexpr std::array kCalls = {
    CallRow{"tl.broadcast_to", Meaning::first},
    CallRow{"tl.multiple_of", Meaning::first},
    CallRow{"tl.max_contiguous", Meaning::first},
    CallRow{"tl.max_constancy", Meaning::first},
    CallRow{"triton_helpers.promote_to_tensor", Meaning::first},
    CallRow{"tl.program_id", Meaning::program_id},
    CallRow{"tl.num_programs", Meaning::num_programs},
    CallRow{"tl.arange", Meaning::arange},
    CallRow{"tl.full", Meaning::full},
    CallRow{"tl.zeros", Meaning::zeros},
    CallRow{"tl.where", Meaning::where},
    CallRow{"tl.minimum", Meaning::smaller},
    CallRow{"triton_helpers.minimum", Meaning::smaller},
    CallRow{"min", Meaning::smaller},
    CallRow{"tl.maximum", Meaning::larger},
    CallRow{"triton_helpers.maximum", Meaning::larger},
    CallRow{"max", Meaning::larger},
    CallRow{"tl.cdiv", Meaning::ceil_div},
    CallRow{"triton_helpers.div_floor_integer", Meaning::floor_div},
    CallRow{"triton_helpers.remainder_integer", Meaning::remainder},
    CallRow{"tl.load", Meaning::load},
    CallRow{"tl.store", Meaning::store},
    CallRow{"tl.atomic_add", Meaning::atomic},
    CallRow{"tl.atomic_max", Meaning::atomic},
    CallRow{"tl.atomic_min", Meaning::atomic},
    CallRow{"tl.atomic_and", Meaning::atomic},
    CallRow{"tl.atomic_or", Meaning::atomic},
    CallRow{"tl.atomic_xor", Meaning::atomic},
    CallRow{"tl.atomic_xchg", Meaning::atomic},
    CallRow{"tl.atomic_cas", Meaning::atomic},
    CallRow{"tl.device_assert", Meaning::check},
    CallRow{"tl.debug_barrier", Meaning::nothing},
    CallRow{"tl.static_assert", Meaning::nothing},
    CallRow{"tl.static_print", Meaning::nothing},
    CallRow{"tl.device_print", Meaning::nothing},
};
// clang-format on

auto meaning_of(std::string_view name) -> const CallRow* {
  for (const auto& row : kCalls)
    if (row.name == name) return &row;
  return nullptr;
}

/// Methods that keep the values of a tensor, lane by lane.
constexpr std::array<std::string_view, 3> kSameValue = {"broadcast_to", "expand_dims",
                                                        "contiguous"};

}  // namespace

auto KernelEvaluator::method(int node, std::string_view name) -> Result<KernelValue> {
  const int function = cursor_.syntax(node).first_child;
  ASSAY_TRY(const auto receiver, value(cursor_.syntax(function).first_child));
  const auto args = cursor_.positional(node);
  if (name == "to" && !args.empty()) {
    if (receiver.is_pointer())
      return bad_source(cursor_.syntax(node).place, "a pointer is converted");
    return cast(receiver, cursor_.source_of(args[0]));
  }
  if (receiver.is_pointer() || std::ranges::find(kSameValue, name) != kSameValue.end())
    return receiver.is_pointer() ? Result<KernelValue>(bad_source(cursor_.syntax(node).place,
                                                                  "`.{}` of a pointer", name))
                                 : receiver;
  return KernelValue{};
}

auto KernelEvaluator::call(int node) -> Result<KernelValue> {
  const int function = cursor_.syntax(node).first_child;
  const auto name = cursor_.source_of(function);
  const auto* row = meaning_of(name);
  if (row == nullptr) {
    // A method of a value, or a helper that computes on values.
    Args values;
    for (const int child : cursor_.positional(node)) {
      ASSAY_TRY(auto argument, value(child));
      if (argument.is_pointer())
        return bad_source(cursor_.syntax(child).place, "a pointer goes into `{}`", name);
      values.push_back(std::move(argument));
    }
    const auto& syntax = cursor_.syntax(function);
    const auto root = name.substr(0, name.find('.'));
    const bool of_result = syntax.kind == SyntaxKind::attribute &&
                           cursor_.syntax(syntax.first_child).kind == SyntaxKind::call;
    if (of_result) return method(node, syntax.text);
    if (syntax.kind == SyntaxKind::attribute && root != "tl" && root != "libdevice" &&
        root != "triton_helpers" && root != "tl_math" && root != "math")
      return method(node, syntax.text);
    return KernelValue{};
  }
  switch (row->meaning) {
    case Meaning::load:
      return load(node);
    case Meaning::store:
      return store(node, AccessKind::store);
    case Meaning::atomic:
      return store(node, AccessKind::atomic);
    case Meaning::arange:
      return arange(node);
    case Meaning::full:
      return full(node);
    case Meaning::nothing:
      return KernelValue{};
    case Meaning::first:
    case Meaning::program_id:
    case Meaning::num_programs:
    case Meaning::zeros:
    case Meaning::where:
    case Meaning::smaller:
    case Meaning::larger:
    case Meaning::ceil_div:
    case Meaning::floor_div:
    case Meaning::remainder:
    case Meaning::check:
      break;
  }
  Args values;
  for (const int child : cursor_.positional(node)) {
    ASSAY_TRY(values.emplace_back(), value(child));
  }
  if (values.empty()) return bad_source(cursor_.syntax(node).place, "`{}` without arguments", name);
  return plain_call(node, static_cast<int>(row->meaning), values);
}

auto KernelEvaluator::plain_call(int node, int meaning, const Args& values) -> Result<KernelValue> {
  const auto what = static_cast<Meaning>(meaning);
  const auto& first = values[0];
  if (what == Meaning::first) return first;
  for (const auto& one : values)
    if (one.is_pointer()) return bad_source(cursor_.syntax(node).place, "a pointer as a value");
  const auto named = [&](std::string_view name, std::int64_t low) {
    const auto symbol = pool_.symbol(fmt::format("{}{}", name, first.expr.as_int().value_or(9)));
    kernel_.ranges[symbol] = {low, Expr::infinity()};
    return KernelValue{.kind = Kind::integer, .expr = symbol, .bits = 32, .narrow = {}};
  };
  if (what == Meaning::program_id) {
    const auto id = named("program", 0);
    kernel_.programs[static_cast<int>(first.expr.as_int().value_or(9))] = id.expr;
    return id;
  }
  if (what == Meaning::num_programs) return named("programs", 1);
  if (what == Meaning::check) {
    if (first.is_bool()) kernel_.facts.push_back(first.expr);
    return KernelValue{};
  }
  if (what == Meaning::where && values.size() == 3) return choice(node, values);
  // minimum and maximum may say behind their operands what to do with NaN.
  if (values.size() < 2 || !first.is_int() || !values[1].is_int()) return KernelValue{};
  const auto& b = values[1];
  const int bits = std::max(first.bits, b.bits);
  const auto* const row = std::ranges::find(kBinaryCalls, what, &BinaryCall::meaning);
  return row == std::end(kBinaryCalls) ? KernelValue{}
                                       : integer(row->make(first.expr, b.expr), bits, first, b);
}

auto KernelEvaluator::choice(int node, const Args& values) -> KernelValue {
  const auto &condition = values[0], &a = values[1], &b = values[2];
  if (a.is_bool() && b.is_bool() && condition.is_bool())
    return {.kind = Kind::boolean,
            .expr = logic_or(logic_and(condition.expr, a.expr),
                             logic_and(logic_not(condition.expr), b.expr)),
            .narrow = {}};
  if (!a.is_int() || !b.is_int()) return {};
  const int bits = std::max(a.bits, b.bits);
  if (!condition.is_bool()) return fresh("data", cursor_.source_of(node), {}, bits);
  // What the other branch computes does not matter: `tmp0 + n` only where tmp0 < 0.
  KernelValue result{.kind = Kind::integer,
                     .expr = where(condition.expr, a.expr, b.expr),
                     .bits = bits,
                     .narrow = condition.narrow};
  for (const auto& narrow : a.narrow) result.narrow.push_back(where(condition.expr, narrow, 0));
  for (const auto& narrow : b.narrow) result.narrow.push_back(where(condition.expr, 0, narrow));
  return result;
}

}  // namespace assay
