// Conversion of Python expressions into arguments.
#include "core/graph/arguments.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "core/expr/text.h"
#include "core/graph/targets.h"

namespace assay {
namespace {

template <class T>
struct Named {
  std::string_view name;
  T value;
};
constexpr std::array kLayouts = {Named{"torch.strided", Layout::strided},
                                 Named{"torch.sparse_coo", Layout::sparse_coo},
                                 Named{"torch.sparse_csr", Layout::sparse_csr}};
constexpr std::array kFormats = {Named{"torch.contiguous_format", MemoryFormat::contiguous},
                                 Named{"torch.preserve_format", MemoryFormat::preserve},
                                 Named{"torch.channels_last", MemoryFormat::channels_last},
                                 Named{"torch.channels_last_3d", MemoryFormat::channels_last_3d}};
constexpr std::array<std::string_view, 12> kDeviceTypes = {
    "cpu", "cuda", "meta",          "mps", "xpu", "hpu",
    "xla", "mtia", "privateuseone", "hip", "ipu", "vulkan"};
/// Python types that FX prints by bare name.
constexpr std::array<std::string_view, 8> kTypeNames = {
    "int", "float", "bool", "str", "list", "tuple", "NotImplemented", "object"};

template <class Range>
auto has(const Range& range, std::string_view text) -> bool {
  return std::find(range.begin(), range.end(), text) != range.end();
}

/// Names PyTorch gives to symbols: s77, u0, zf3, zuf1.
auto is_symbol_name(std::string_view text) -> bool {
  for (const std::string_view prefix : {"zuf", "zf", "s", "u"}) {
    if (!text.starts_with(prefix) || text.size() == prefix.size()) continue;
    if (text.find_first_not_of("0123456789", prefix.size()) == std::string_view::npos) return true;
  }
  return false;
}

auto without_underscores(std::string_view text) -> std::string {
  std::string digits(text);
  std::erase(digits, '_');
  return digits;
}

/// Python integer with sign; nothing if int64 cannot hold it.
auto integer_value(std::string_view text, bool negative) -> std::optional<std::int64_t> {
  std::string digits = without_underscores(text);
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0' && (digits[1] < '0' || digits[1] > '9')) {
    base = (digits[1] | 0x20) == 'x' ? 16 : (digits[1] | 0x20) == 'o' ? 8 : 2;
    digits.erase(0, 2);
  }
  std::uint64_t magnitude = 0;
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, magnitude, base);
  if (error != std::errc{} || end != last) return std::nullopt;
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (magnitude > kMax + (negative ? 1 : 0)) return std::nullopt;
  return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
}

auto real_value(std::string_view text) -> double {
  const std::string digits = without_underscores(text);
  double value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  // Like Python: too large is infinite, too small is 0 (from_chars leaves the value alone then).
  if (result.ec != std::errc::result_out_of_range) return value;
  const auto exponent = digits.find_first_of("eE");
  const bool tiny = exponent != std::string::npos ? digits[exponent + 1] == '-'
                                                  : digits.starts_with("0.") || digits[0] == '.';
  return tiny ? 0.0 : std::numeric_limits<double>::infinity();
}

auto negated(const Arg& arg) -> std::optional<Arg> {
  if (const auto* e = std::get_if<Expr>(&arg.value)) {
    if (const auto value = e->as_real()) return Arg{Expr::real(-*value)};
    if (e->type() == ExprType::integer) return Arg{-*e};
  }
  if (const auto* value = std::get_if<std::complex<double>>(&arg.value)) return Arg{-*value};
  return std::nullopt;
}

auto has_opaque(const Expr& e) -> bool {
  if (e.op() == ExprOp::opaque) return true;
  return std::any_of(e.args().begin(), e.args().end(), has_opaque);
}

}  // namespace

auto arg_from_name(std::string_view text) -> std::optional<Arg> {
  if (text.starts_with("torch.")) {
    if (const auto dtype = dtype_from_name(text)) return Arg{*dtype};
    for (const auto& row : kLayouts)
      if (row.name == text) return Arg{row.value};
    for (const auto& row : kFormats)
      if (row.name == text) return Arg{row.value};
    return std::nullopt;
  }
  if (!has(kDeviceTypes, text.substr(0, text.find(':')))) return std::nullopt;
  if (const auto device = device_from_string(text)) return Arg{*device};
  return std::nullopt;
}

auto ArgReader::string_value(int index) const -> Result<std::string> {
  const auto& syntax = cursor_.syntax(index);
  std::string text;
  auto append = [&](const Syntax& part) -> Result<void> {
    auto decoded = decode_string(part.text);
    if (!decoded) {
      return with_context(decoded.error(),
                          fmt::format("line {}, column {}", part.place.line, part.place.column));
    }
    text += *decoded;
    return {};
  };
  if (syntax.kind != SyntaxKind::string) return bad_source(syntax.place, "expected a string");
  if (syntax.child_count == 0) ASSAY_TRY_VOID(append(syntax));
  for (const int part : cursor_.children(index)) ASSAY_TRY_VOID(append(cursor_.syntax(part)));
  return text;
}

auto ArgReader::dotted_name(int index) const -> std::optional<std::string> {
  const auto& syntax = cursor_.syntax(index);
  if (syntax.kind == SyntaxKind::name) return std::string(syntax.text);
  if (syntax.kind != SyntaxKind::attribute) return std::nullopt;
  auto base = dotted_name(syntax.first_child);
  if (base) base->append(".").append(syntax.text);
  return base;
}

auto ArgReader::self_path(int index) const -> std::optional<std::string> {
  const auto& syntax = cursor_.syntax(index);
  const auto join = [](std::string base, std::string_view part) {
    return base.empty() ? std::string(part) : std::move(base) + "." + std::string(part);
  };
  if (syntax.kind == SyntaxKind::name)
    return syntax.text == "self" ? std::optional<std::string>("") : std::nullopt;
  if (syntax.kind == SyntaxKind::attribute) {
    const auto base = self_path(syntax.first_child);
    return base ? std::optional(join(*base, syntax.text)) : std::nullopt;
  }
  if (syntax.kind != SyntaxKind::call || syntax.child_count != 3) return std::nullopt;
  const auto parts = cursor_.children(index);
  if (cursor_.syntax(parts[0]).kind != SyntaxKind::name ||
      cursor_.syntax(parts[0]).text != "getattr")
    return std::nullopt;
  const auto base = self_path(parts[1]);
  const auto attribute = string_value(parts[2]);
  if (!base || !attribute) return std::nullopt;
  return join(*base, *attribute);
}

auto ArgReader::mentions_node(int index) const -> bool {
  const auto& syntax = cursor_.syntax(index);
  if (syntax.kind == SyntaxKind::name) return names_.contains(syntax.text);
  for (int child = syntax.first_child; child >= 0; child = cursor_.syntax(child).next_sibling)
    if (mentions_node(child)) return true;
  return false;
}

auto ArgReader::read(int index) -> Result<Arg> {
  const auto& syntax = cursor_.syntax(index);
  switch (syntax.kind) {
    case SyntaxKind::name:
      return name(syntax);
    case SyntaxKind::integer:
      if (const auto value = integer_value(syntax.text, false)) return Arg{Expr(*value)};
      return raw(index);
    case SyntaxKind::real:
      return Arg{Expr::real(real_value(syntax.text))};
    case SyntaxKind::imaginary:
      return Arg{
          std::complex<double>(0, real_value(syntax.text.substr(0, syntax.text.size() - 1)))};
    case SyntaxKind::string: {
      if (syntax.text.front() == 'b' || syntax.text.front() == 'B') return raw(index);
      ASSAY_TRY(auto text, string_value(index));
      return Arg{std::move(text)};
    }
    case SyntaxKind::ellipsis:
      return Arg{RawArg{"Ellipsis"}};
    case SyntaxKind::none:
      return Arg{NoneArg{}};
    case SyntaxKind::list:
    case SyntaxKind::tuple:
      return sequence(index);
    case SyntaxKind::slice:
      return slice(cursor_.children(index));
    case SyntaxKind::dict:
      return dict(index);
    case SyntaxKind::call:
      return call(index);
    case SyntaxKind::unary:
    case SyntaxKind::binary:
    case SyntaxKind::conditional:
      return arithmetic(index);
    case SyntaxKind::attribute:
      return attribute(index);
    case SyntaxKind::subscript:
      return raw(index);
    case SyntaxKind::keyword:
    case SyntaxKind::star:
      break;
  }
  return bad_source(syntax.place, "starred and keyword arguments cannot stand here");
}

auto ArgReader::name(const Syntax& syntax) -> Result<Arg> {
  const auto text = syntax.text;
  if (const auto it = names_.find(text); it != names_.end()) return Arg{it->second};
  if (const auto it = aliases_.find(text); it != aliases_.end()) return it->second;
  if (text == "None") return Arg{NoneArg{}};
  if (text == "True" || text == "False") return Arg{Expr::boolean(text == "True")};
  if (text == "inf") return Arg{Expr::real(std::numeric_limits<double>::infinity())};
  if (text == "nan") return Arg{Expr::real(std::numeric_limits<double>::quiet_NaN())};
  if (text == "Ellipsis" || has(kTypeNames, text)) return Arg{RawArg{std::string(text)}};
  if (is_symbol_name(text) || claims_.env().find(text) != nullptr) {
    ASSAY_TRY(const Expr symbol, claims_.expr(text));
    return Arg{symbol};
  }
  if (words_ == Words::strings) {
    if (auto known = arg_from_name(text)) return *std::move(known);
    return Arg{std::string(text)};
  }
  return bad_source(syntax.place, "unknown name \"{}\"", text);
}

auto ArgReader::sequence(int index) -> Result<Arg> {
  const auto& syntax = cursor_.syntax(index);
  SequenceArg sequence;
  sequence.is_tuple = syntax.kind == SyntaxKind::tuple;
  sequence.items.reserve(static_cast<std::size_t>(syntax.child_count));
  for (int child = syntax.first_child; child >= 0; child = cursor_.syntax(child).next_sibling) {
    ASSAY_TRY(auto item, read(child));
    sequence.items.push_back(std::move(item));
  }
  return Arg{std::move(sequence)};
}

auto ArgReader::slice(const std::vector<int>& parts) -> Result<Arg> {
  SliceArg slice;
  for (const int part : parts) {
    ASSAY_TRY(auto value, read(part));
    slice.parts.push_back(std::move(value));
  }
  if (slice.parts.size() == 1) slice.parts.insert(slice.parts.begin(), Arg{NoneArg{}});  // slice(n)
  slice.parts.resize(3, Arg{NoneArg{}});
  return Arg{std::move(slice)};
}

auto ArgReader::dict(int index) -> Result<Arg> {
  DictArg dict;
  const auto parts = cursor_.children(index);
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
    const auto& key = cursor_.syntax(parts[i]);
    const bool word = words_ == Words::strings && key.kind == SyntaxKind::name;
    if (key.kind != SyntaxKind::string && !word) {
      if (!mentions_node(index)) return raw(index);
      return bad_source(key.place, "keys of dictionaries with values must be strings");
    }
    ASSAY_TRY(auto name, word ? Result<std::string>(key.text) : string_value(parts[i]));
    ASSAY_TRY(auto value, read(parts[i + 1]));
    dict.items.emplace_back(std::move(name), std::move(value));
  }
  return Arg{std::move(dict)};
}

auto ArgReader::call(int index) -> Result<Arg> {
  auto parts = cursor_.children(index);
  const auto callee = dotted_name(parts.front()).value_or("");
  parts.erase(parts.begin());
  const bool plain = std::none_of(parts.begin(), parts.end(), [&](int part) {
    const auto kind = cursor_.syntax(part).kind;
    return kind == SyntaxKind::keyword || kind == SyntaxKind::star;
  });
  if (callee == "device" || callee == "torch.device") return device(index);
  if (callee == "slice" && plain && !parts.empty() && parts.size() <= 3) return slice(parts);
  if (callee == "raw" && plain && parts.size() == 1) {
    ASSAY_TRY(auto text, string_value(parts[0]));
    return Arg{RawArg{std::move(text)}};
  }
  if (callee == "float" && plain && parts.size() == 1 &&
      cursor_.syntax(parts[0]).kind == SyntaxKind::string) {
    ASSAY_TRY(const auto text, string_value(parts[0]));
    const double sign = text.starts_with('-') ? -1.0 : 1.0;
    if (text.ends_with("inf"))
      return Arg{Expr::real(sign * std::numeric_limits<double>::infinity())};
    if (text.ends_with("nan")) return Arg{Expr::real(std::numeric_limits<double>::quiet_NaN())};
  }
  if (callee == "complex" && plain && parts.size() == 2) {
    ASSAY_TRY(const auto re, read(parts[0]));
    ASSAY_TRY(const auto im, read(parts[1]));
    const auto* re_expr = std::get_if<Expr>(&re.value);
    const auto* im_expr = std::get_if<Expr>(&im.value);
    const auto real = re_expr ? re_expr->as_number() : std::nullopt;
    const auto imaginary = im_expr ? im_expr->as_number() : std::nullopt;
    if (real && imaginary) return Arg{std::complex<double>(*real, *imaginary)};
  }
  return symbolic_or_raw(index);
}

/// A function of symbols, such as max(1, s0), else the text as it is.
auto ArgReader::symbolic_or_raw(int index) -> Result<Arg> {
  if (mentions_node(index)) return raw(index);
  const auto text = cursor_.source_of(index);
  const auto value = parse_expr(claims_.env().pool(), text);
  if (!value || !value->is_valid() || has_opaque(*value) || value->symbols().empty())
    return raw(index);
  ASSAY_TRY(const Expr symbolic, claims_.expr(text));  // this time declaring its symbols
  return Arg{symbolic};
}

auto ArgReader::device(int index) -> Result<Arg> {
  const auto parts = cursor_.children(index);
  Device device;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto& part = cursor_.syntax(parts[i]);
    const bool keyword = part.kind == SyntaxKind::keyword;
    const int value = keyword ? part.first_child : parts[i];
    const auto& syntax = cursor_.syntax(value);
    if (syntax.kind == SyntaxKind::string && (!keyword || part.text == "type")) {
      ASSAY_TRY(const auto text, string_value(value));
      const auto parsed = device_from_string(text);
      if (!parsed) return bad_source(syntax.place, "\"{}\" is no device", text);
      device = *parsed;
    } else if (syntax.kind == SyntaxKind::integer && (!keyword || part.text == "index")) {
      const auto number = integer_value(syntax.text, false);
      if (!number || *number > std::numeric_limits<int>::max())
        return bad_source(syntax.place, "device index is too large");
      device.index = static_cast<int>(*number);
    } else {
      return bad_source(syntax.place, "expected a device type or index");
    }
  }
  return Arg{device};
}

auto ArgReader::complex_sum(int index) -> std::optional<Arg> {
  const auto& syntax = cursor_.syntax(index);
  if (syntax.kind != SyntaxKind::binary || (syntax.text != "+" && syntax.text != "-"))
    return std::nullopt;
  const auto parts = cursor_.children(index);
  if (cursor_.syntax(parts[1]).kind != SyntaxKind::imaginary || mentions_node(parts[0]))
    return std::nullopt;
  const auto re = read(parts[0]);
  const auto im = read(parts[1]);
  if (!re || !im) return std::nullopt;
  const auto* expr = std::get_if<Expr>(&re->value);
  const auto number = expr ? expr->as_number() : std::nullopt;
  if (!number) return std::nullopt;
  const double magnitude = std::get<std::complex<double>>(im->value).imag();
  return Arg{std::complex<double>(*number, syntax.text == "+" ? magnitude : -magnitude)};
}

/// Signs of literals, complex literals, and arithmetic on symbols.
auto ArgReader::arithmetic(int index) -> Result<Arg> {
  const auto& syntax = cursor_.syntax(index);
  if (mentions_node(index))
    return unsupported(
        "line {}, column {}: calculation inside an argument; FX writes one operation per line",
        syntax.place.line, syntax.place.column);
  if (syntax.kind == SyntaxKind::unary && (syntax.text == "-" || syntax.text == "+")) {
    const auto& operand = cursor_.syntax(syntax.first_child);
    if (operand.kind == SyntaxKind::integer) {
      if (const auto value = integer_value(operand.text, syntax.text == "-"))
        return Arg{Expr(*value)};
      return raw(index);
    }
    ASSAY_TRY(auto value, read(syntax.first_child));
    if (syntax.text == "+") return value;
    if (auto negative = negated(value)) return *std::move(negative);
  }
  if (auto value = complex_sum(index)) return *std::move(value);
  const auto text = cursor_.source_of(index);
  if (const auto look = parse_expr(claims_.env().pool(), text); look && has_opaque(*look))
    return raw(index);  // a function that is not one of symbols
  auto value = claims_.expr(text);
  if (!value) return bad_source(syntax.place, "{}", value.error().message);
  return Arg{*value};
}

auto ArgReader::attribute(int index) -> Result<Arg> {
  const auto text = dotted_name(index);
  const auto& syntax = cursor_.syntax(index);
  if (!text || text->starts_with("self."))
    return unsupported("line {}, column {}: attribute inside an argument", syntax.place.line,
                       syntax.place.column);
  if (*text == "math.inf") return Arg{Expr::real(std::numeric_limits<double>::infinity())};
  if (*text == "math.nan") return Arg{Expr::real(std::numeric_limits<double>::quiet_NaN())};
  if (auto known = text->starts_with("torch.") ? arg_from_name(*text) : std::nullopt)
    return *std::move(known);
  return raw(index);
}

auto ArgReader::returned(int index) const -> int {
  const auto parts = cursor_.children(index);
  const bool is_unflattened = cursor_.syntax(index).kind == SyntaxKind::call && parts.size() == 3 &&
                              dotted_name(parts[0]).value_or("").ends_with("tree_unflatten");
  return is_unflattened ? parts[1] : index;
}

auto ArgReader::raw(int index) -> Result<Arg> {
  const auto& syntax = cursor_.syntax(index);
  if (mentions_node(index))
    return unsupported("line {}, column {}: a value inside an expression that is not understood",
                       syntax.place.line, syntax.place.column);
  std::string text(cursor_.source_of(index));
  std::replace(text.begin(), text.end(), '\n', ' ');
  return Arg{RawArg{std::move(text)}};
}

}  // namespace assay
