// Expressions of Triton kernels but for calls.
#include <algorithm>
#include <cctype>
#include <charconv>

#include "compiler/read/triton.h"
#include "compiler/read/triton_reader.h"
#include "core/expr/text.h"

namespace assay {
namespace {

using Kind = TritonValue::Kind;

/// Largest block Inductor tunes to, by prefix (torch/_inductor/runtime/hints.py). A mask is left
/// out where it divides the extent.
struct MaxBlock {
  std::string_view prefix;
  std::int64_t size;
};
constexpr std::array kMaxBlocks = {MaxBlock{"x", 4096},    MaxBlock{"y", 1024},
                                   MaxBlock{"z", 1024},    MaxBlock{"r", 65536},
                                   MaxBlock{"r0_", 65536}, MaxBlock{"r1_", 32768}};
constexpr std::int64_t kAnyBlock = std::int64_t{1} << 20;

auto text_value(std::string_view text) -> TritonValue {
  TritonValue result;
  result.kind = Kind::text;
  result.text = text;
  return result;
}
auto whole_number(std::string_view text) -> std::optional<std::int64_t> {
  std::int64_t number = 0;
  const auto* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

}  // namespace

auto TritonReader::fail(int node, std::string_view message) const -> std::unexpected<Error> {
  return bad_source(cursor_.syntax(node).place, "{}", message);
}

auto TritonReader::value(int node) -> Result<TritonValue> {
  const auto syntax = cursor_.syntax(node);  // calls read on, and the tree grows
  switch (syntax.kind) {
    case SyntaxKind::name: {
      if (syntax.text == "True" || syntax.text == "False")
        return TritonValue::python(syntax.text == "True");
      if (syntax.text == "None") {
        TritonValue none;
        none.kind = Kind::none;
        return none;
      }
      const auto known = locals_.find(syntax.text);
      if (known == locals_.end())
        return fail(node, fmt::format("`{}` has no value here", syntax.text));
      return known->second;
    }
    case SyntaxKind::integer: {
      const auto parsed = parse_expr(pool_, syntax.text);
      if (!parsed || !parsed->as_int()) return fail(node, "a number out of range");
      return TritonValue::python(*parsed->as_int());
    }
    case SyntaxKind::real: {
      double number = 0;
      const auto text = cursor_.source_of(node);
      if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc())
        return fail(node, "a number out of range");
      return TritonValue::python(number);
    }
    case SyntaxKind::unary: {
      // The least whole number is no other's negative.
      if (const auto number = whole_number(cursor_.source_of(node)))
        return TritonValue::python(*number);
      ASSAY_TRY(const auto operand, value(syntax.first_child));
      return at(node, builder_.unary(syntax.text, operand));
    }
    case SyntaxKind::binary: {
      const auto op = syntax.text;
      const auto children = cursor_.children(node);
      ASSAY_TRY(const auto a, value(children[0]));
      // What is known before the second is asked decides without it.
      if (const auto known = a.as_int(); known && op == (*known != 0 ? "or" : "and")) return a;
      ASSAY_TRY(const auto b, value(children[1]));
      if (a.kind == Kind::dtype && b.kind == Kind::dtype)
        return TritonValue::python((a.dtype == b.dtype) == (op == "is" || op == "=="));
      if (op.starts_with("is") && (a.kind == Kind::none || b.kind == Kind::none))
        return TritonValue::python((a.kind == b.kind) == (op == "is"));
      return at(node, builder_.binary(op, a, b));
    }
    case SyntaxKind::call:
      return call(node);
    case SyntaxKind::subscript:
      return subscript(node);
    case SyntaxKind::attribute:
      return attribute(node);
    case SyntaxKind::conditional:
      return conditional(node);
    case SyntaxKind::list:
    case SyntaxKind::tuple: {
      TritonValue result;
      result.kind = Kind::tuple;
      for (const int child : cursor_.children(node)) {
        ASSAY_TRY(result.items.emplace_back(), value(child));
      }
      return result;
    }
    case SyntaxKind::string:
      return text_value(cursor_.source_of(node));
    case SyntaxKind::imaginary:
    case SyntaxKind::ellipsis:
    case SyntaxKind::none:
    case SyntaxKind::slice:
    case SyntaxKind::keyword:
    case SyntaxKind::star:
    case SyntaxKind::dict:
      break;
  }
  return fail(node, "an expression of a kind that kernels do not have");
}

auto TritonReader::tile_of(int node) -> Result<TritonValue> {
  ASSAY_TRY(const auto result, value(node));
  return at(node, builder_.tile(result));
}

/// `x[:, None]`, `x[None, :]`, `x[:]`; `x.shape[0]` of a shape.
auto TritonReader::subscript(int node) -> Result<TritonValue> {
  const auto children = cursor_.children(node);
  ASSAY_TRY(auto base, value(children[0]));
  const auto index = cursor_.syntax(children[1]);
  const auto parts =
      index.kind == SyntaxKind::tuple ? cursor_.children(children[1]) : Nodes{children[1]};
  if (base.kind == Kind::tuple && index.kind == SyntaxKind::integer) {
    ASSAY_TRY(const auto number, value(children[1]));
    const auto at = number.as_int().value_or(-1);
    if (at < 0 || at >= std::ssize(base.items)) return fail(node, "an item that is not there");
    return base.items[static_cast<std::size_t>(at)];
  }
  if (!base.is_tile() && !base.is_constant()) return fail(node, "an index into no tensor");
  ASSAY_TRY(base, at(node, builder_.tile(base)));
  TritonShape shape;
  std::size_t next = 0;
  for (const int part : parts) {
    const auto& syntax = cursor_.syntax(part);
    if (syntax.kind == SyntaxKind::name && syntax.text == "None") {
      shape.emplace_back();
    } else if (syntax.kind == SyntaxKind::slice) {
      if (next >= base.shape.size()) {  // a scalar takes any shape of ones
        if (!base.shape.empty()) return fail(node, "more indices than dimensions");
        shape.emplace_back();
      } else {
        shape.push_back(base.shape[next++]);
      }
    } else {
      return fail(part, "an element of a tensor");
    }
  }
  for (; next < base.shape.size(); ++next) shape.push_back(base.shape[next]);
  base.shape = std::move(shape);
  return base;
}

/// `tmp0.shape`, `tmp0.dtype`, `tl.float32`.
auto TritonReader::attribute(int node) -> Result<TritonValue> {
  TritonValue result;
  if (const auto dtype = triton_dtype(cursor_.source_of(node))) {
    result.kind = Kind::dtype;
    result.dtype = *dtype;
    return result;
  }
  const auto name = cursor_.syntax(node).text;
  const int inner = cursor_.syntax(node).first_child;
  if (name == "element_ty") return value(inner);  // of a pointer's dtype
  if (name == "dtype") {
    ASSAY_TRY(const auto of, value(inner));
    if (of.is_pointer()) {
      result.kind = Kind::dtype;
      result.dtype = kernel_.params[of.param].dtype;
      return result;
    }
  }
  if (name == "shape" || name == "dtype" || name == "type") {
    ASSAY_TRY(const auto of, tile_of(inner));
    result.kind = name == "shape" ? Kind::shape : Kind::dtype;
    result.shape = of.shape;
    result.dtype = builder_.type(of).dtype;
    return result;
  }
  return fail(node, fmt::format("`{}`", cursor_.source_of(node)));
}

/// `a if x.dtype is tl.float32 else b`: decided while reading.
auto TritonReader::conditional(int node) -> Result<TritonValue> {
  const auto children = cursor_.children(node);
  ASSAY_TRY(const auto truth, value(children[1]));
  const auto number = truth.as_int();
  if (!number) return fail(node, "a choice that only the device can make");
  return value(children[*number != 0 ? 0 : 2]);
}

/// "XBLOCK_1", where each of several kernels in one has blocks of its own, is "XBLOCK" and "_1".
auto TritonReader::own_block(const std::string& name) const -> std::pair<std::string, std::string> {
  const auto end = name.find_last_not_of("0123456789");
  const bool has_number = meta_.grid_type.ends_with("ComboKernelGrid") &&
                          end != std::string::npos && end > 0 && end + 1 < name.size() &&
                          name[end] == '_' &&
                          std::string_view(name).substr(0, end).ends_with("BLOCK");
  return has_number ? std::pair(name.substr(0, end), name.substr(end))
                    : std::pair(name, std::string());
}

/// An axis per block size; its extent is what the kernel calls its `numel`.
auto TritonReader::axis_named(const std::string& origin) -> std::size_t {
  if (const auto known = axes_.find(origin); known != axes_.end()) return known->second;
  TileAxis axis;
  auto [prefix, number] = own_block(origin);
  if (prefix.ends_with("BLOCK")) prefix.resize(prefix.size() - 5);
  std::ranges::transform(prefix, prefix.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  axis.name = prefix.empty() || (std::isdigit(static_cast<unsigned char>(prefix[0])) != 0)
                  ? "lanes" + prefix
                  : prefix + number;
  axis.max_block = kAnyBlock;
  for (const auto& row : kMaxBlocks)
    if (row.prefix == prefix) axis.max_block = row.size;
  if (const auto numel = locals_.find(prefix + "numel"); numel != locals_.end())
    axis.extent = expr_of(numel->second);
  axis.kind = !axis.extent              ? TileAxis::Kind::lanes
              : prefix.starts_with('r') ? TileAxis::Kind::reduction
                                        : TileAxis::Kind::parallel;
  kernel_.axes.push_back(std::move(axis));
  return axes_[origin] = kernel_.axes.size() - 1;
}

/// A number or parameter, as an expression over parameters.
auto TritonReader::expr_of(const TritonValue& value) const -> std::optional<Expr> {
  if (const auto number = value.as_int()) return Expr(*number);
  for (const auto& param : kernel_.params)
    if (const auto local = locals_.find(param.name);
        value.is_tile() && local != locals_.end() && local->second.is_tile() &&
        local->second.id == value.id && param.symbol.pool() != nullptr)
      return param.symbol;
  return std::nullopt;
}

/// The axes behind a size: none for 1.
auto TritonReader::position_of(const TritonValue& size) -> Result<std::vector<std::size_t>> {
  if (size.as_int() == 1 && size.origin.empty()) return std::vector<std::size_t>();
  auto origin = size.origin;
  if (origin.empty()) {
    if (!size.as_int()) return bad_input("a size that is no block");
    origin = std::to_string(*size.as_int());
  }
  std::vector<std::size_t> axes;
  for (std::size_t start = 0; start <= origin.size();) {  // "R0_BLOCK*R1_BLOCK"
    const auto end = std::min(origin.find('*', start), origin.size());
    const auto name = origin.substr(start, end - start);
    const bool is_new = !axes_.contains(name);
    axes.push_back(axis_named(name));
    if (is_new) {
      const auto local = locals_.find(name);
      const auto block = local == locals_.end() ? expr_of(size) : expr_of(local->second);
      if (!block) return bad_input("a size that is no block");
      kernel_.axes[axes.back()].block = *block;
    }
    start = end + 1;
  }
  return axes;
}

auto TritonReader::shape_of(int node) -> Result<TritonShape> {
  ASSAY_TRY(const auto sizes, value(node));
  if (sizes.kind == Kind::shape) return sizes.shape;
  const Values items = sizes.kind == Kind::tuple ? sizes.items : Values{sizes};
  TritonShape shape;
  for (const auto& item : items) {
    ASSAY_TRY(shape.emplace_back(), at(node, position_of(item)));
  }
  return shape;
}

auto TritonReader::broadcast_to(TritonValue value, const TritonShape& shape)
    -> Result<TritonValue> {
  ASSAY_TRY(const auto joined, builder_.broadcast(value.shape, shape));
  if (joined != shape) return bad_input("a broadcast to fewer dimensions");
  value.shape = shape;
  return value;
}

}  // namespace assay
