// Nodes, claims, symbols and guards of a capture as JSON.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "core/graph/targets.h"
#include "core/graph/text.h"
#include "replay/formats/capture_json.h"

namespace assay {
namespace {

auto is_float_symbol(const Symbol& symbol) -> bool {
  return symbol.kind == SymbolKind::backed_float || symbol.kind == SymbolKind::unbacked_float;
}

/// `["  File \"x.py\", line 5, in f", "    code"]`
auto origin_of(JsonValue stack, JsonValue modules) -> std::optional<Origin> {
  Origin origin;
  const auto lines = stack.items();
  const auto frame = lines.empty() ? "" : trimmed(lines[0].as_string().value_or(""));
  constexpr std::string_view kFile = "File \"";
  constexpr std::string_view kLine = "\", line ";
  const auto line_at = frame.rfind(kLine);
  if (frame.starts_with(kFile) && line_at != std::string_view::npos) {
    origin.file = frame.substr(kFile.size(), line_at - kFile.size());
    const auto rest = frame.substr(line_at + kLine.size());
    std::from_chars(rest.data(), rest.data() + rest.size(), origin.line);
    if (const auto in = rest.find(", in "); in != std::string_view::npos)
      origin.function = rest.substr(in + 5);
    if (lines.size() > 1) origin.code = trimmed(lines[1].as_string().value_or(""));
  }
  const auto path = modules.items();
  if (!path.empty()) origin.module = path.back().as_string().value_or("");
  return origin.empty() ? std::nullopt : std::optional(std::move(origin));
}

/// Hints of float symbols may be recorded as integers, and have 17 digits where ranges and guards,
/// printed by sympy, have 15: pi is outside of the range [3.14159265358979, 3.14159265358979].
auto hint_for(const Symbol& symbol, const Expr& hint) -> Expr {
  const auto number = hint.as_number();
  if (!is_float_symbol(symbol) || !number) return hint;
  const auto exact = Expr::real(*number);
  if (symbol.range.contains(exact)) return exact;
  const auto printed = fmt::format("{:.15g}", *number);
  double rounded = *number;
  std::from_chars(printed.data(), printed.data() + printed.size(), rounded);
  return Expr::real(rounded);
}

}  // namespace

auto json_real(JsonValue value) -> std::optional<double> {
  if (const auto number = value.as_number()) return number;
  const auto text = value["f"].as_string();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

auto json_alias_group(JsonValue value) -> Result<int> {
  if (!value["alias"].exists() || value["alias"].is_null()) return -1;
  const auto group = value["alias"].as_int().value_or(-1);
  if (group < 0 || group > std::numeric_limits<int>::max())
    return bad_input("{} is no alias group", value["alias"].dump());
  return static_cast<int>(group);
}

auto JsonGraphReader::expr(JsonValue value) -> Result<Expr> {
  if (const auto flag = value.as_bool()) return Expr::boolean(*flag);
  if (const auto number = value.as_int()) return Expr(*number);
  if (const auto text = value.as_string()) return claims_.expr(*text);
  if (const auto number = json_real(value)) return Expr::real(*number);
  return bad_input("expected a number or an expression, found {}", value.dump().substr(0, 60));
}

auto JsonGraphReader::dims(JsonValue value) -> Result<Dims> {
  if (!value.is_array()) return bad_input("expected a list of sizes");
  Dims dims;
  for (const auto& item : value.items()) {
    ASSAY_TRY(const Expr dim, expr(item));
    dims.push_back(dim);
  }
  return dims;
}

auto JsonGraphReader::claim(JsonValue value) -> Result<Claim> {
  if (!value.exists() || value.is_null()) return Claim{};
  if (value.is_array()) {
    std::vector<Claim> items;
    for (const auto& item : value.items()) {
      ASSAY_TRY(auto part, claim(item));
      items.push_back(std::move(part));
    }
    return Claim{std::move(items)};
  }
  if (const auto constant = value["const"]; constant.exists()) {
    if (constant.is_null() || constant.is_array() || constant.as_string()) return Claim{};
    ASSAY_TRY(const Expr number, expr(constant));
    return Claim{number};
  }
  if (const auto symbolic = value["sym"]; symbolic.exists()) {
    ASSAY_TRY(const Expr scalar, expr(symbolic));
    return Claim{scalar};
  }
  TensorMeta meta;
  const auto dtype = dtype_from_name(value["dtype"].as_string().value_or(""));
  if (!dtype) return bad_input("unknown dtype {}", value["dtype"].dump());
  meta.dtype = *dtype;
  ASSAY_TRY(meta.sizes, dims(value["size"]));
  StatedParts stated{.strides = value["stride"].exists(),
                     .offset = value["offset"].exists(),
                     .device = value["device"].as_string().has_value()};
  if (stated.strides) {
    ASSAY_TRY(meta.strides, dims(value["stride"]));
  } else {
    meta.strides = row_major_claim(meta.sizes);
  }
  if (meta.sizes.size() != meta.strides.size())
    return bad_input("{} sizes but {} strides", meta.sizes.size(), meta.strides.size());
  if (stated.offset) {
    ASSAY_TRY(meta.offset, expr(value["offset"]));
  }
  if (const auto device = value["device"].as_string()) {
    const auto parsed = device_from_string(*device);
    if (!parsed) return bad_input("\"{}\" is no device", *device);
    meta.device = *parsed;
  }
  meta.requires_grad = value["requires_grad"].as_bool().value_or(false);
  ASSAY_TRY(const int group, json_alias_group(value));
  return Claim{std::move(meta), group, stated};
}

auto JsonGraphReader::sequence(JsonValue value, bool is_tuple) -> Result<Arg> {
  SequenceArg sequence;
  sequence.is_tuple = is_tuple;
  for (const auto& item : value.items()) {
    ASSAY_TRY(auto part, arg(item));
    sequence.items.push_back(std::move(part));
  }
  return Arg{std::move(sequence)};
}

auto JsonGraphReader::arg(JsonValue value) -> Result<Arg> {
  if (value.is_null()) return Arg{NoneArg{}};
  if (const auto flag = value.as_bool()) return Arg{Expr::boolean(*flag)};
  if (const auto number = value.as_int()) return Arg{Expr(*number)};
  if (const auto text = value.as_string()) return Arg{std::string(*text)};
  if (value.is_array()) return sequence(value, false);
  if (value.is_object()) return object_arg(value);
  if (const auto number = value.as_number()) return Arg{Expr::real(*number)};
  return bad_input("unknown argument {}", value.dump().substr(0, 60));
}

/// Objects with one key that says what they are.
auto JsonGraphReader::object_arg(JsonValue value) -> Result<Arg> {
  if (const auto name = value["node"].as_string()) {
    const auto it = names_.find(*name);
    if (it == names_.end()) return bad_input("unknown or later node \"{}\"", *name);
    return Arg{it->second};
  }
  for (const std::string_view key : {"repr", "dtype", "layout", "memory_format", "device"}) {
    const auto text = value[key].as_string();
    if (!text) continue;
    if (auto known = arg_from_name(*text)) return *std::move(known);
    return Arg{RawArg{std::string(*text)}};
  }
  if (const auto slice = value["slice"]; slice.is_array()) {
    ASSAY_TRY(auto parts, sequence(slice, true));
    auto& items = std::get<SequenceArg>(parts.value).items;
    if (items.size() != 3) return bad_input("a slice of {} parts", items.size());
    return Arg{SliceArg{std::move(items)}};
  }
  if (const auto dict = value["dict"]; dict.is_object()) {
    DictArg result;
    for (const auto& [key, item] : dict.members()) {
      ASSAY_TRY(auto part, arg(item));
      result.items.emplace_back(key, std::move(part));
    }
    return Arg{std::move(result)};
  }
  if (value["tuple"].is_array()) return sequence(value["tuple"], true);
  if (value["sym"].exists()) {
    ASSAY_TRY(const Expr symbolic, expr(value["sym"]));
    return Arg{symbolic};
  }
  if (const auto parts = value["c"].items(); parts.size() == 2) {
    const auto re = json_real(parts[0]);
    const auto im = json_real(parts[1]);
    if (re && im) return Arg{std::complex<double>(*re, *im)};
  }
  if (const auto number = json_real(value)) return Arg{Expr::real(*number)};
  return bad_input("unknown argument {}", value.dump().substr(0, 60));
}

auto JsonGraphReader::node(JsonValue value) -> Result<Node> {
  Node node;
  node.name = value["name"].as_string().value_or("");
  if (!is_identifier(node.name)) return bad_input("\"{}\" is no name of a node", node.name);
  const auto op = value["op"].as_string().value_or("");
  const auto kind = std::ranges::find(node_kinds(), op, &NodeKindName::name);
  if (kind == node_kinds().end()) return bad_input("unknown op \"{}\"", op);
  node.kind = kind->kind;
  const auto target = value["target"].as_string().value_or("");
  node.target =
      node.kind == NodeKind::call_function ? recorded_target(target) : std::string(target);
  std::size_t index = 0;
  for (const auto& item : value["args"].items()) {
    auto parsed = arg(item);
    if (!parsed) return with_context(parsed.error(), fmt::format("args[{}]", index));
    node.args.push_back(*std::move(parsed));
    ++index;
  }
  for (const auto& [key, item] : value["kwargs"].members()) {
    auto parsed = arg(item);
    if (!parsed) return with_context(parsed.error(), fmt::format("kwargs[{}]", key));
    node.kwargs.emplace_back(key, *std::move(parsed));
  }
  if (node.kind == NodeKind::placeholder) node.args.clear();  // a default, never used
  if (node.kind == NodeKind::output && !node.args.empty())
    if (auto* returned = std::get_if<SequenceArg>(&node.args[0].value)) returned->is_tuple = true;
  // Arrays are Python's lists and tuples; what a subscript holds is a tuple.
  if (node.target == "operator.getitem" && node.args.size() == 2)
    if (auto* subscript = std::get_if<SequenceArg>(&node.args[1].value)) subscript->is_tuple = true;
  auto claimed = claim(value["val"]);
  if (!claimed) return with_context(claimed.error(), "val");
  if (node.kind != NodeKind::output)  // what it returns says all about it
    node.claim = *std::move(claimed);
  node.origin = origin_of(value["stack"], value["module"]);
  return node;
}

auto JsonGraphReader::graph(JsonValue value, Graph& graph, const std::string& place)
    -> Result<void> {
  names_.clear();  // bodies see nothing of the graph around them
  ASSAY_TRY_VOID(nodes(value["nodes"], graph, place));
  for (const auto& [name, body] : value["graphs"].members()) {
    const auto inside = fmt::format("{}graphs[{}]: ", place, name);
    if (!body["nodes"].is_array())
      return bad_input("capture json: {}expected an object with a list of \"nodes\"", inside);
    graph.children.emplace_back(name, Graph{});
    ASSAY_TRY_VOID(this->graph(body, graph.children.back().second, inside));
  }
  return {};
}

auto JsonGraphReader::nodes(JsonValue nodes, Graph& graph, const std::string& place)
    -> Result<void> {
  std::size_t index = 0;
  for (const auto& item : nodes.items()) {
    auto parsed = node(item);
    const auto here = [&] {
      return fmt::format("capture json: {}nodes[{}] ({})", place, index,
                         item["name"].as_string().value_or("?"));
    };
    if (!parsed) return with_context(parsed.error(), here());
    if (!names_.try_emplace(parsed->name, NodeId{graph.next_id}).second)
      return bad_input("{}: the name is used before", here());
    graph.add(*std::move(parsed));
    ++index;
  }
  return {};
}

auto JsonGraphReader::symbol(std::string_view name, JsonValue value) -> Result<void> {
  ASSAY_TRY(const Expr declared, claims_.symbol(name));
  const auto known = *claims_.env().find(declared);
  if (const auto ends = value["range"].items(); ends.size() == 2) {
    Interval range;
    ASSAY_TRY(range.low, expr(ends[0]));
    ASSAY_TRY(range.high, expr(ends[1]));
    if (!range.low.symbols().empty() || !range.high.symbols().empty())
      return bad_input("ends of a range must be numbers");
    claims_.env().set_range(known.expr, range);
  }
  for (const auto& source : value["sources"].items())
    claims_.env().add_source(known.expr, std::string(source.as_string().value_or("")));
  if (!value["hint"].exists() || value["hint"].is_null()) return {};
  ASSAY_TRY(const Expr recorded, expr(value["hint"]));
  if (!recorded.is_const()) return bad_input("the hint is no number");
  const auto& ranged = *claims_.env().find(name);
  const Expr hint = hint_for(ranged, recorded);
  if (is_float_symbol(known) && !ranged.range.contains(hint)) {
    unusable_hints_.emplace_back(name);
    return {};
  }
  claims_.env().set_hint(known.expr, hint);
  return {};
}

auto JsonGraphReader::symbols(JsonValue symbols, std::vector<std::string>& warnings)
    -> Result<void> {
  for (const auto& [name, value] : symbols.members())
    if (auto read = symbol(name, value); !read)
      return with_context(read.error(), fmt::format("capture json: symbols[{}]", name));
  if (!unusable_hints_.empty())
    warnings.push_back(
        fmt::format("capture json: {} hints lie outside the range of their symbol and are not "
                    "used, the first is that of {}",
                    unusable_hints_.size(), unusable_hints_.front()));
  return {};
}

auto JsonGraphReader::replacements(JsonValue replacements) -> Result<void> {
  for (const auto& [name, value] : replacements.members()) {
    auto symbol = claims_.symbol(name);
    auto by = expr(value);
    const auto place = fmt::format("capture json: replacements[{}]", name);
    if (!symbol) return with_context(symbol.error(), place);
    if (!by) return with_context(by.error(), place);
    claims_.env().add_replacement(*symbol, *by);
  }
  return {};
}

namespace {

/// Older recorders wrote Python's `<FrameSummary file F, line N in f>` for `F:N in f`.
auto place_text(std::string text) -> std::string {
  constexpr std::string_view kFile = "<FrameSummary file ";
  constexpr std::string_view kLine = ", line ";
  const auto line = text.rfind(kLine);
  if (!text.starts_with(kFile) || !text.ends_with('>') || line == std::string::npos) return text;
  return text.substr(kFile.size(), line - kFile.size()) + ":" +
         text.substr(line + kLine.size(), text.size() - line - kLine.size() - 1);
}

}  // namespace

auto JsonGraphReader::guards(JsonValue guards) -> Result<void> {
  std::size_t index = 0;
  for (const auto& item : guards.items()) {
    auto condition = expr(item["expr"]);
    if (!condition)
      return with_context(condition.error(), fmt::format("capture json: guards[{}]", index));
    Guard guard{*condition, std::string(item["expr"].as_string().value_or("")), {}};
    if (const auto where = item["where"]; where.exists() && !where.is_null())
      guard.where = place_text(where.text());
    claims_.env().add_guard(std::move(guard));
    ++index;
  }
  return {};
}

}  // namespace assay
