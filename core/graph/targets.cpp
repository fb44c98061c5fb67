// Tables of operator spellings, and canonical_target.
#include "core/graph/targets.h"

#include <algorithm>
#include <array>

#include "core/graph/python_lexer.h"
#include "core/graph/text.h"

namespace assay {
namespace {

using enum OperatorShape;

constexpr std::array kNodeKinds = {
    NodeKindName{"placeholder", NodeKind::placeholder},
    NodeKindName{"get_attr", NodeKind::get_attr},
    NodeKindName{"call_function", NodeKind::call_function},
    NodeKindName{"call_method", NodeKind::call_method},
    NodeKindName{"call_module", NodeKind::call_module},
    NodeKindName{"output", NodeKind::output},
};

constexpr std::array kOperators = {
    OperatorForm{"add", "+", binary},       OperatorForm{"sub", "-", binary},
    OperatorForm{"mul", "*", binary},       OperatorForm{"floordiv", "//", binary},
    OperatorForm{"truediv", "/", binary},   OperatorForm{"mod", "%", binary},
    OperatorForm{"pow", "**", binary},      OperatorForm{"lshift", "<<", binary},
    OperatorForm{"rshift", ">>", binary},   OperatorForm{"and_", "&", binary},
    OperatorForm{"or_", "|", binary},       OperatorForm{"xor", "^", binary},
    OperatorForm{"matmul", "@", binary},    OperatorForm{"eq", "==", binary, true},
    OperatorForm{"ne", "!=", binary, true}, OperatorForm{"lt", "<", binary, true},
    OperatorForm{"le", "<=", binary, true}, OperatorForm{"gt", ">", binary, true},
    OperatorForm{"ge", ">=", binary, true}, OperatorForm{"pos", "+", unary},
    OperatorForm{"neg", "-", unary},        OperatorForm{"invert", "~", unary},
};

/// First words of names that are ordinary Python modules, not operator namespaces.
constexpr std::array<std::string_view, 11> kModules = {
    "torch",     "operator", "_operator",   "math",   "cmath", "builtins",
    "functools", "numpy",    "torchvision", "einops", "triton"};

/// Modules whose functions FX prints under a mangled global name: `math_ceil`.
constexpr std::array<std::string_view, 4> kMangledModules = {"math", "builtins", "operator",
                                                             "_operator"};

/// Home of functions that Python shows by bare name only.
struct Home {
  std::string_view name;
  std::string_view target;
};
constexpr std::array kHomes = {
    Home{"ceil", "math.ceil"},
    Home{"floor", "math.floor"},
    Home{"trunc", "math.trunc"},
    Home{"sqrt", "math.sqrt"},
    Home{"exp", "math.exp"},
    Home{"log", "math.log"},
    Home{"log2", "math.log2"},
    Home{"sin", "math.sin"},
    Home{"cos", "math.cos"},
    Home{"tan", "math.tan"},
    Home{"tanh", "math.tanh"},
    Home{"isqrt", "math.isqrt"},
    Home{"getitem", "operator.getitem"},
    Home{"setitem", "operator.setitem"},
    Home{"abs", "operator.abs"},
    Home{"builtins.abs", "operator.abs"},
    Home{"truth", "operator.truth"},
    Home{"not_", "operator.not_"},
    Home{"contains", "operator.contains"},
    Home{"index", "operator.index"},
    Home{"is_", "operator.is_"},
    Home{"is_not", "operator.is_not"},
    Home{"max", "builtins.max"},
    Home{"min", "builtins.min"},
    Home{"getattr", "builtins.getattr"},
    Home{"len", "builtins.len"},
    Home{"round", "builtins.round"},
    Home{"sum", "builtins.sum"},
    Home{"divmod", "builtins.divmod"},
    Home{"builtins.pow", "operator.pow"},
    Home{"sym_sum", "torch.sym_sum"},
    Home{"sym_max", "torch.sym_max"},
    Home{"sym_min", "torch.sym_min"},
    Home{"sym_ite", "torch.sym_ite"},
    Home{"sym_not", "torch.sym_not"},
    Home{"sym_int", "torch.sym_int"},
    Home{"sym_float", "torch.sym_float"},
    Home{"sym_sqrt", "torch.sym_sqrt"},
    Home{"_sym_sqrt", "torch._sym_sqrt"},
    Home{"linear", "torch._C._nn.linear"},
    Home{"gelu", "torch._C._nn.gelu"},
    Home{"scaled_dot_product_attention", "torch._C._nn.scaled_dot_product_attention"},
};

constexpr std::array<std::string_view, 35> kKeywords = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

template <class Range>
auto has(const Range& range, std::string_view text) -> bool {
  return std::find(range.begin(), range.end(), text) != range.end();
}

auto first_word(std::string_view text) -> std::string_view {
  return text.substr(0, text.find('.'));
}

/// Text between `before` and the first following `after`; empty if either is missing.
auto between(std::string_view text, std::string_view before, std::string_view after)
    -> std::string_view {
  const auto start = text.find(before);
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start + before.size());
  const auto end = text.find(after);
  return end == std::string_view::npos ? std::string_view{} : text.substr(0, end);
}

auto operator_name(std::string_view name) -> bool {
  return std::any_of(kOperators.begin(), kOperators.end(),
                     [&](const OperatorForm& form) { return form.name == name; });
}

/// A function known by bare name only.
auto at_home(std::string_view name) -> std::string {
  for (const auto& home : kHomes)
    if (home.name == name) return std::string(home.target);
  if (operator_name(name) || !inplace_symbol(std::string("operator.") + std::string(name)).empty())
    return "operator." + std::string(name);
  return std::string(name);
}

/// `<built-in function mul>`, `<function sym_sum at 0x7f..>`, `<OpOverload(op='aten.add', ...)>`.
auto from_repr(std::string_view text) -> std::string {
  if (const auto op = between(text, "op='", "'"); !op.empty()) {
    const auto overload = between(text, "overload='", "'");
    return std::string(op) + (overload.empty() ? "" : "." + std::string(overload));
  }
  for (const std::string_view lead : {"<built-in function ", "<built-in method ", "<function "}) {
    if (!text.starts_with(lead)) continue;
    auto name = text.substr(lead.size());
    name = name.substr(0, name.find_first_of(" >"));
    if (text.contains(" of type object")) return "torch." + std::string(name);
    return at_home(name.substr(name.rfind('.') + 1));
  }
  return std::string(text);
}

auto unmangled(std::string_view text) -> std::string {
  for (const auto module : kMangledModules) {
    if (!text.starts_with(module) || text.size() <= module.size() + 1 || text[module.size()] != '_')
      continue;
    const auto name = text.substr(module.size() + 1);
    if (module != "operator" && module != "_operator") return fmt::format("{}.{}", module, name);
    return fmt::format("operator.{}", name);
  }
  return at_home(text);
}

}  // namespace

auto node_kinds() -> std::span<const NodeKindName> {
  return kNodeKinds;
}

auto name(NodeKind kind) -> std::string_view {
  return std::ranges::find(kNodeKinds, kind, &NodeKindName::kind)->name;
}

auto operator_forms() -> std::span<const OperatorForm> {
  return kOperators;
}

auto operator_form(std::string_view target) -> const OperatorForm* {
  if (!target.starts_with("operator.")) return nullptr;
  target.remove_prefix(9);
  for (const auto& form : kOperators)
    if (form.name == target) return &form;
  return nullptr;
}

auto operator_for_symbol(std::string_view symbol, OperatorShape shape) -> const OperatorForm* {
  for (const auto& form : kOperators)
    if (form.symbol == symbol && form.shape == shape) return &form;
  return nullptr;
}

auto inplace_target(std::string_view symbol) -> std::string {
  if (!symbol.ends_with('=')) return {};
  symbol.remove_suffix(1);
  const auto* form = operator_for_symbol(symbol, binary);
  if (form == nullptr || form->comparison) return {};
  auto name = form->name;
  if (name.ends_with('_')) name.remove_suffix(1);  // and_ -> iand, or_ -> ior
  return "operator.i" + std::string(name);
}

auto inplace_symbol(std::string_view target) -> std::string {
  if (!target.starts_with("operator.i")) return {};
  target.remove_prefix(10);
  for (const auto& form : kOperators) {
    auto name = form.name;
    if (name.ends_with('_')) name.remove_suffix(1);
    if (form.shape == binary && !form.comparison && name == target)
      return std::string(form.symbol) + "=";
  }
  return {};
}

auto is_identifier(std::string_view text) -> bool {
  const auto word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9') ||
           static_cast<unsigned char>(c) >= 0x80;
  };
  if (text.empty() || (text.front() >= '0' && text.front() <= '9')) return false;
  return std::all_of(text.begin(), text.end(), word) && !has(kKeywords, text) &&
         check_utf8(text).has_value();
}

auto is_dotted_name(std::string_view text) -> bool {
  while (true) {
    const auto dot = text.find('.');
    if (dot == std::string_view::npos) return is_identifier(text);
    if (!is_identifier(text.substr(0, dot))) return false;
    text.remove_prefix(dot + 1);
  }
}

auto python_callee(std::string_view target) -> std::string {
  constexpr std::string_view kBuiltins = "builtins.";
  if (target.starts_with(kBuiltins)) {  // without the module where that reads as the same
    const auto bare = target.substr(kBuiltins.size());
    if (is_identifier(bare) && canonical_target(bare) == target) return std::string(bare);
  }
  if (target == "operator.abs") return "abs";
  if (!target.contains('.') || has(kModules, first_word(target))) return std::string(target);
  return "torch.ops." + std::string(target);
}

auto canonical_target(std::string_view text) -> std::string {
  if (text.starts_with('<')) return from_repr(text);
  constexpr std::string_view kOps = "torch.ops.";
  if (text.starts_with(kOps)) {
    while (text.starts_with(kOps)) text.remove_prefix(kOps.size());
    // An operator has a namespace; a bare word would read as a function of Python's.
    return text.contains('.') ? std::string(text) : fmt::format("{}{}", kOps, text);
  }
  if (text.starts_with("_operator.")) text.remove_prefix(1);
  if (text.starts_with("builtins.")) return at_home(text);
  if (!text.contains('.')) return unmangled(text);
  return std::string(text);
}

auto recorded_target(std::string_view text) -> std::string {
  auto target = canonical_target(text);
  return is_identifier(text) && target == text ? "higher_order." + target : target;
}

auto is_input_guards(const Node& node) -> bool {
  return node.kind == NodeKind::call_module && node.target == "_guards_fn";
}

}  // namespace assay
