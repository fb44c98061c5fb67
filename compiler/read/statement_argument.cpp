// Expressions in statements: arguments, views, sizes, numbers read from tensors.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <ranges>

#include "compiler/read/statement.h"
#include "core/expr/text.h"
#include "core/graph/annotation.h"

namespace assay {
namespace {

/// `align(n)` of memory planning rounds up to 64 (torch/_inductor/codegen/memory_planning.py).
auto without_align(const Expr& e) -> Expr {
  if (e.args().empty()) return e;
  std::vector<Expr> args;
  for (const auto& arg : e.args()) args.push_back(without_align(arg));
  if (e.op() == ExprOp::opaque && e.name() == "align" && args.size() == 1)
    return 64 * floor_div(args[0] + 63, 64);
  return e.pool() != nullptr ? make(*e.pool(), e.op(), args, e.name()) : e;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

auto StatementReader::expr(int node) -> Result<Expr> {
  auto text = std::string(cursor_.source_of(node));
  for (const std::string_view space : {"math.", "torch.sym_"}) {
    const auto prefix = space.substr(0, space.find('.') + 1);
    for (std::size_t at = 0; (at = text.find(space, at)) != std::string::npos;)
      text.erase(at, prefix.size());
  }
  auto parsed = parse_expr(program_.env.pool(), text);
  if (!parsed) return bad(node, parsed.error().message);
  std::unordered_map<Expr, Expr> values;
  for (const auto& symbol : parsed->symbols()) {
    if (const auto* scalar = find_scalar(function_, symbol.name())) {
      values[symbol] = scalar->value;
    } else if (program_.env.find(symbol) == nullptr) {
      if (!is_symbol_name(symbol.name()))
        return bad(node, fmt::format("`{}` is no scalar", symbol.name()));
      ASSAY_TRY(const auto added, program_.env.add_symbol(symbol.name()));
      (void)added;
    }
  }
  // A symbol that the compilation specialised is its value, wherever it still stands.
  auto value = program_.env.replaced(values.empty() ? *parsed : substitute(*parsed, values));
  if (text.contains("align(")) value = without_align(value);
  if (!value.is_valid()) return bad(node, "the value is undefined or too large");
  return value;
}

auto StatementReader::dims(int node) -> Result<Dims> {
  const auto& tuple = cursor_.syntax(node);
  if (tuple.kind != SyntaxKind::tuple && tuple.kind != SyntaxKind::list)
    return bad(node, "expected sizes in brackets");
  Dims result;
  for (const int child : cursor_.children(node)) {
    ASSAY_TRY(result.emplace_back(), expr(child));
    if (result.back().type() != ExprType::integer) return bad(child, "a size is no integer");
  }
  return result;
}

auto StatementReader::dtype(int node) const -> Result<DType> {
  const auto found = dtype_from_name(cursor_.source_of(node));
  if (!found) return bad(node, "expected a dtype");
  return *found;
}

auto StatementReader::view(int node) -> Result<HostView> {
  const auto& syntax = cursor_.syntax(node);
  HostView result;
  if (syntax.kind == SyntaxKind::name) {
    constexpr std::array<std::string_view, 5> kConstants = {"None", "True", "False", "inf", "nan"};
    if (is_scalar(syntax.text) || std::ranges::find(kConstants, syntax.text) != kConstants.end())
      return bad(node, "expected a buffer");
    result.base = syntax.text;
    return result;
  }
  if (syntax.kind == SyntaxKind::subscript) return slice(node);
  const auto name = callee(node);
  const auto args = name.empty() ? Nodes() : cursor_.positional(node);
  if (name.ends_with(".view") && args.size() > 0) return reshaped(node, args);
  if (name == "c_void_p" && args.size() == 1) return view(pointed_to(args[0]));
  if ((name != "reinterpret_tensor" && !name.ends_with("._reinterpret_tensor") &&
       name != "torch.as_strided" && name != "aten.as_strided" && name != "as_strided") ||
      args.size() < 3)
    return bad(node, "expected a buffer or a view");
  ASSAY_TRY(const auto base, view(args[0]));
  result.base = base.base;
  result.is_reinterpreted = true;
  ASSAY_TRY(result.sizes, dims(args[1]));
  ASSAY_TRY(result.strides, dims(args[2]));
  if (result.sizes.size() != result.strides.size())
    return bad(node, "sizes and strides differ in number");
  if (args.size() > 3) {
    ASSAY_TRY(result.offset, expr(args[3]));
  }
  if (args.size() > 4) {  // as programs of this compiler are printed
    ASSAY_TRY(result.dtype, dtype(args[4]));
  }
  return result;
}

/// What a line before this one allocated under the name, or made of it since: nothing.
auto StatementReader::allocated(std::string_view name) const -> const HostAlloc* {
  for (const auto& op : std::views::reverse(function_.ops)) {
    if (const auto* bound = std::get_if<HostBind>(&op.what);
        bound != nullptr && bound->name == name)
      return nullptr;
    if (const auto* made = std::get_if<HostAlloc>(&op.what); made != nullptr && made->name == name)
      return made;
  }
  return nullptr;
}

/// `workspace_0[a : b]` of one dimension.
auto StatementReader::slice(int node) -> Result<HostView> {
  const auto children = cursor_.children(node);
  const auto parts = cursor_.children(children[1]);
  if (cursor_.syntax(children[1]).kind != SyntaxKind::slice || parts.size() != 3 ||
      cursor_.syntax(parts[2]).kind != SyntaxKind::none)
    return bad(node, "expected a buffer or a view");
  ASSAY_TRY(auto whole, view(children[0]));
  const auto* made = whole.is_reinterpreted ? nullptr : allocated(whole.base);
  if (made == nullptr || made->sizes.size() != 1 || made->strides[0] != Expr(1))
    return bad(node, "a slice of something other than a new buffer of one dimension");
  HostView result;
  result.base = whole.base;
  result.is_reinterpreted = true;
  result.strides = {Expr(1)};
  const auto end_of = [&](int part, Expr other) -> Result<Expr> {
    return cursor_.syntax(part).kind == SyntaxKind::none ? Result<Expr>(other) : expr(part);
  };
  ASSAY_TRY(result.offset, end_of(parts[0], Expr(0)));
  ASSAY_TRY(const auto end, end_of(parts[1], made->sizes[0]));
  result.sizes = {end - result.offset};
  return result;
}

/// `workspace_0[a : b].view(n, m)`, of what is contiguous.
auto StatementReader::reshaped(int node, const Nodes& sizes) -> Result<HostView> {
  const int method = cursor_.syntax(node).first_child;
  ASSAY_TRY(auto result, view(cursor_.syntax(method).first_child));
  if (!result.is_reinterpreted || result.strides != contiguous_strides(result.sizes))
    return bad(node, "a view of something that may not be contiguous");
  result.sizes.clear();
  for (const int size : sizes) {
    ASSAY_TRY(result.sizes.emplace_back(), expr(size));
  }
  result.strides = contiguous_strides(result.sizes);
  return result;
}

/// `buf0` of `buf0.data_ptr()`, as arguments of C++ kernels were written up to PyTorch 2.2.
auto StatementReader::pointed_to(int node) const -> int {
  if (cursor_.syntax(node).kind != SyntaxKind::call) return node;
  const int method = cursor_.syntax(node).first_child;
  const auto& function = cursor_.syntax(method);
  return function.kind == SyntaxKind::attribute && function.text == "data_ptr"
             ? function.first_child
             : node;
}

/// `buf0[1]` of a list.
auto StatementReader::item_of(int node) const -> std::optional<HostItemOf> {
  if (cursor_.syntax(node).kind != SyntaxKind::subscript) return std::nullopt;
  const auto children = cursor_.children(node);
  const auto& base = cursor_.syntax(children[0]);
  const auto& at = cursor_.syntax(children[1]);
  if (base.kind != SyntaxKind::name || is_scalar(base.text) || at.kind != SyntaxKind::integer)
    return std::nullopt;
  HostItemOf item{std::string(base.text)};
  const auto end = at.text.data() + at.text.size();
  if (std::from_chars(at.text.data(), end, item.index).ec != std::errc()) return std::nullopt;
  return item;
}

void StatementReader::mentions(int node, std::vector<std::string>& names) const {
  const auto& syntax = cursor_.syntax(node);
  if (syntax.kind == SyntaxKind::name) {
    if (!is_scalar(syntax.text)) names.emplace_back(syntax.text);
    return;
  }
  for (const int child : cursor_.children(node)) mentions(child, names);
}

auto StatementReader::argument(int node) -> HostArg {
  HostArg result;
  if (cursor_.syntax(node).kind == SyntaxKind::keyword) {
    result = argument(cursor_.syntax(node).first_child);
    result.keyword = cursor_.syntax(node).text;
    return result;
  }
  if (const auto args = callee(node) == "c_long" ? cursor_.positional(node) : Nodes();
      args.size() == 1)
    return argument(args[0]);
  result.text = cursor_.source_of(node);
  mentions(node, result.mentions);
  const auto kind = cursor_.syntax(node).kind;
  if (kind == SyntaxKind::tuple || kind == SyntaxKind::list) {
    HostArgs items;
    for (const int child : cursor_.children(node)) items.push_back(argument(child));
    result.value = std::move(items);
  } else if (auto buffer = view(node)) {
    result.value = std::move(*buffer);
  } else if (kind == SyntaxKind::string) {
    if (auto text = decode_string(cursor_.syntax(node).text)) result.value = std::move(*text);
  } else if (const auto read = number_source(node); read.source == HostScalar::Source::item) {
    result.value = HostElementOf{read.buffer};
  } else if (auto constant = literal(node)) {
    result.value = std::move(*constant);
  } else if (auto scalar = expr(node)) {
    result.value = *scalar;
  } else if (auto item = item_of(node)) {
    result.value = *std::move(item);
  }
  return result;
}

/// Constants that say how a new tensor lies in memory.
const std::array<std::pair<std::string_view, HostValue>, 6> kLayouts = {{
    {"torch.strided", Layout::strided},
    {"torch.sparse_coo", Layout::sparse_coo},
    {"torch.contiguous_format", MemoryFormat::contiguous},
    {"torch.preserve_format", MemoryFormat::preserve},
    {"torch.channels_last", MemoryFormat::channels_last},
    {"torch.channels_last_3d", MemoryFormat::channels_last_3d},
}};

/// As Python prints them: `1j`, `-0.5j`, `(1+2j)`, `(-0-infj)`.
auto complex_number(std::string_view text) -> std::optional<std::complex<double>> {
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  if (!text.ends_with('j')) return std::nullopt;
  const auto* end = text.data() + text.size() - 1;
  const auto number = [&](const char* from) -> std::optional<std::pair<double, const char*>> {
    if (from != end && *from == '+') ++from;
    double value = 0;
    const auto read = std::from_chars(from, end, value);
    return read.ec == std::errc() ? std::optional(std::pair(value, read.ptr)) : std::nullopt;
  };
  const auto first = number(text.data());
  if (!first) return std::nullopt;
  if (first->second == end) return std::complex<double>(0, first->first);
  const auto second = number(first->second);
  if (!second || second->second != end) return std::nullopt;
  return std::complex<double>(first->first, second->first);
}

auto StatementReader::literal(int node) -> std::optional<HostValue> {
  const auto& syntax = cursor_.syntax(node);
  const auto text = cursor_.source_of(node);
  if (text == "None") return HostNone{};
  if (text == "True" || text == "False") return Expr::boolean(text == "True");
  if (text.starts_with("torch."))
    if (const auto type = dtype_from_name(text)) return *type;
  if (callee(node) == "device" || callee(node) == "torch.device") return device(node);
  if (const auto* known =
          std::ranges::find(kLayouts, text, &std::pair<std::string_view, HostValue>::first);
      known != kLayouts.end())
    return known->second;
  if (const auto number = complex_number(text)) return *number;
  constexpr std::array<std::pair<std::string_view, double>, 4> kNumbers = {
      {{"inf", kInfinity}, {"nan", kNan}, {"math.inf", kInfinity}, {"math.nan", kNan}}};
  const bool negative = syntax.kind == SyntaxKind::unary && syntax.text == "-";
  const auto magnitude = negative ? trimmed(text.substr(1)) : text;
  for (const auto& [name, value] : kNumbers)
    if (magnitude == name) return Expr::real(negative ? -value : value);
  return std::nullopt;
}

auto StatementReader::device(int call) const -> Device {
  Device result;
  const auto positional = cursor_.positional(call);
  int type = cursor_.keyword(call, "type");
  if (type < 0 && !positional.empty()) type = positional[0];
  if (type >= 0)
    if (const auto text = decode_string(cursor_.syntax(type).text))
      if (const auto known = device_from_string(*text)) result = *known;
  int index = cursor_.keyword(call, "index");
  if (index < 0 && positional.size() > 1) index = positional[1];
  if (index >= 0) {
    const auto text = cursor_.source_of(index);
    std::from_chars(text.data(), text.data() + text.size(), result.index);
  }
  return result;
}

auto StatementReader::find_layout(std::string_view name) const -> NumberSource {
  for (const auto& op : std::views::reverse(function_.ops)) {
    if (const auto* shape = std::get_if<HostShape>(&op.what); shape && shape->name == name)
      return {.source = shape->source, .buffer = shape->buffer};
  }
  return {};
}

auto StatementReader::layout_source(int call) const -> NumberSource {
  auto from = number_source(call);
  const bool is_list =
      from.source == HostScalar::Source::size || from.source == HostScalar::Source::stride;
  return is_list && cursor_.positional(call).empty() ? from : NumberSource();
}

auto StatementReader::number_source(int call) const -> NumberSource {
  using enum HostScalar::Source;
  constexpr std::array<std::pair<std::string_view, HostScalar::Source>, 5> kSources = {
      {{"item", item},
       {"size", size},
       {"stride", stride},
       {"storage_offset", offset},
       {"numel", numel}}};
  NumberSource result;
  if (cursor_.syntax(call).kind != SyntaxKind::call) return result;
  const auto& function = cursor_.syntax(cursor_.syntax(call).first_child);
  if (function.kind != SyntaxKind::attribute) return result;
  for (const auto& [method, source] : kSources)
    if (function.text == method) result.source = source;
  result.buffer = cursor_.source_of(function.first_child);
  if (const auto args = cursor_.positional(call); !args.empty()) {
    const auto text = cursor_.source_of(args[0]);
    std::from_chars(text.data(), text.data() + text.size(), result.dimension);
  }
  return result;
}

}  // namespace assay
