// print_graph, print_call, print_arg.
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "core/expr/text.h"
#include "core/graph/annotation.h"
#include "core/graph/arguments.h"
#include "core/graph/header.h"
#include "core/graph/targets.h"
#include "core/graph/text.h"

namespace assay {
namespace {

/// Python's repr of a float.
auto print_real(double value) -> std::string {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  auto text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

auto print_complex(std::complex<double> value) -> std::string {
  const bool plain = std::isfinite(value.real()) && std::isfinite(value.imag()) &&
                     !std::signbit(value.imag()) &&
                     !(std::signbit(value.real()) && value.real() == 0);
  if (!plain)
    return fmt::format("complex({}, {})", print_real(value.real()), print_real(value.imag()));
  if (value.real() == 0) return fmt::format("{}j", value.imag());
  return fmt::format("({}+{}j)", value.real(), value.imag());
}

auto print_device(const Device& device) -> std::string {
  if (device.index < 0) return fmt::format("device(type={})", quote_string(device.type));
  return fmt::format("device(type={}, index={})", quote_string(device.type), device.index);
}

auto print_layout(Layout layout) -> std::string_view {
  switch (layout) {
    case Layout::strided:
      return "torch.strided";
    case Layout::sparse_coo:
      return "torch.sparse_coo";
    case Layout::sparse_csr:
      return "torch.sparse_csr";
    case Layout::other:
      break;
  }
  return "torch.other_layout";
}

auto print_format(MemoryFormat format) -> std::string_view {
  switch (format) {
    case MemoryFormat::contiguous:
      return "torch.contiguous_format";
    case MemoryFormat::preserve:
      return "torch.preserve_format";
    case MemoryFormat::channels_last:
      return "torch.channels_last";
    case MemoryFormat::channels_last_3d:
      break;
  }
  return "torch.channels_last_3d";
}

auto print_number(const Expr& e) -> std::string {
  if (const auto value = e.as_int()) return fmt::to_string(*value);
  if (const auto value = e.as_real()) return print_real(*value);
  if (const auto value = e.as_bool()) return *value ? "True" : "False";
  return print_expr(e, ExprSpelling::python);
}

/// `self.a.b`, with getattr for parts that are no identifiers.
auto print_path(std::string_view path) -> std::string {
  std::string text = "self";
  while (!path.empty()) {
    const auto dot = std::min(path.find('.'), path.size());
    const auto part = path.substr(0, dot);
    text = is_identifier(part) ? fmt::format("{}.{}", text, part)
                               : fmt::format("getattr({}, {})", text, quote_string(part));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return text;
}

/// Prints arguments and calls of one graph.
class ArgPrinter {
 public:
  explicit ArgPrinter(const Graph& graph) : graph_(graph) {}

  auto arg(const Arg& arg) const -> std::string {
    return std::visit([&](const auto& value) { return print(value); }, arg.value);
  }

  auto call(const Node& node) const -> std::string {
    switch (node.kind) {
      case NodeKind::placeholder:
        return node.target;
      case NodeKind::get_attr:
        return print_path(node.target);
      case NodeKind::call_module:
        return print_path(node.target) + "(" + arguments(node, 0) + ")";
      case NodeKind::call_method:
        if (node.args.empty()) return fmt::format("{}()", node.target);
        return fmt::format("{}.{}({})", arg(node.args[0]), node.target, arguments(node, 1));
      case NodeKind::output:
        return "return " + (node.args.empty() ? "None" : arg(node.args[0]));
      case NodeKind::call_function:
        break;
    }
    if (auto infix = this->infix(node); !infix.empty()) return infix;
    const auto callee = is_dotted_name(node.target)
                            ? python_callee(node.target)
                            : fmt::format("raw({})", quote_string(node.target));
    return fmt::format("{}({})", callee, arguments(node, 0));
  }

  auto name(NodeId id) const -> std::string {
    const auto* node = graph_.find(id);
    return node == nullptr ? fmt::format("unknown_{}", id.value) : node->name;
  }

 private:
  auto print(const NoneArg&) const -> std::string { return "None"; }
  auto print(const NodeId& id) const -> std::string { return name(id); }
  auto print(const Expr& e) const -> std::string { return print_number(e); }
  auto print(const std::complex<double>& value) const -> std::string {
    return print_complex(value);
  }
  auto print(const std::string& text) const -> std::string { return quote_string(text); }
  auto print(DType dtype) const -> std::string {
    return fmt::format("torch.{}", assay::name(dtype));
  }
  auto print(const Device& device) const -> std::string { return print_device(device); }
  auto print(Layout layout) const -> std::string { return std::string(print_layout(layout)); }
  auto print(MemoryFormat format) const -> std::string { return std::string(print_format(format)); }
  auto print(const SequenceArg& sequence) const -> std::string {
    const bool lone = sequence.is_tuple && sequence.items.size() == 1;
    return fmt::format("{}{}{}{}", sequence.is_tuple ? '(' : '[', list(sequence.items),
                       lone ? "," : "", sequence.is_tuple ? ')' : ']');
  }
  auto print(const SliceArg& slice) const -> std::string {
    return fmt::format("slice({})", list(slice.parts));
  }
  auto print(const DictArg& dict) const -> std::string {
    std::string text;
    for (const auto& [key, item] : dict.items) {
      if (!text.empty()) text += ", ";
      text += fmt::format("{}: {}", quote_string(key), arg(item));
    }
    return "{" + text + "}";
  }
  /// As it is if it reads back as the same raw text.
  auto print(const RawArg& raw) const -> std::string {
    if (reads_back(raw.text)) return raw.text;
    return fmt::format("raw({})", quote_string(raw.text));
  }

  auto reads_back(const std::string& text) const -> bool {
    if (text.find_first_of("\n#;") != std::string::npos || !check_utf8(text)) return false;
    if (!names_) {
      names_.emplace();
      for (const auto& node : graph_.nodes) names_->emplace(node.name, node.id);
    }
    ShapeEnv env;  // symbols of the graph do not matter for what is raw
    ClaimReader claims(env);
    PythonCursor cursor(text);
    const auto syntax = cursor.expression();
    if (!syntax ||
        (cursor.token().kind != TokenKind::newline && cursor.token().kind != TokenKind::end))
      return false;
    const auto arg = ArgReader(cursor, *names_, claims).read(*syntax);
    const auto* raw = arg ? std::get_if<RawArg>(&arg->value) : nullptr;
    return raw != nullptr && raw->text == text;
  }

  auto list(const std::vector<Arg>& items) const -> std::string {
    std::string text;
    for (const auto& item : items) {
      if (!text.empty()) text += ", ";
      text += arg(item);
    }
    return text;
  }

  auto arguments(const Node& node, std::size_t first) const -> std::string {
    std::string text;
    for (auto i = first; i < node.args.size(); ++i) {
      if (!text.empty()) text += ", ";
      text += arg(node.args[i]);
    }
    for (const auto& [key, value] : node.kwargs) {
      if (!text.empty()) text += ", ";
      text += fmt::format("{} = {}", key, arg(value));
    }
    return text;
  }

  /// Operand of an infix operator: calculations and signs need parentheses.
  auto operand(const Arg& value, bool sign_binds) const -> std::string {
    const auto text = arg(value);
    const auto* e = std::get_if<Expr>(&value.value);
    const bool compound = e != nullptr && !e->args().empty();
    return compound || (sign_binds && text.starts_with('-')) ? fmt::format("({})", text) : text;
  }

  auto infix(const Node& node) const -> std::string {
    if (!node.kwargs.empty() || node.args.empty()) return {};
    const bool on_value = std::holds_alternative<NodeId>(node.args[0].value);
    if (node.target == "operator.getitem" && node.args.size() == 2 && on_value)
      return fmt::format("{}[{}]", arg(node.args[0]), arg(node.args[1]));
    if (const auto* attribute =
            node.args.size() == 2 ? std::get_if<std::string>(&node.args[1].value) : nullptr;
        node.target == "builtins.getattr" && attribute && on_value && is_identifier(*attribute))
      return fmt::format("{}.{}", arg(node.args[0]), *attribute);
    const auto* form = operator_form(node.target);
    if (form == nullptr) return {};
    const bool power = form->symbol == "**";
    if (form->shape == OperatorShape::unary && node.args.size() == 1)
      return fmt::format("{}{}", form->symbol, operand(node.args[0], true));
    if (form->shape == OperatorShape::binary && node.args.size() == 2)
      return fmt::format("{} {} {}", operand(node.args[0], power), form->symbol,
                         operand(node.args[1], false));
    return {};
  }

  const Graph& graph_;
  mutable std::optional<NodeNames> names_;  ///< made when the first raw argument comes
};

auto lacks_offsets(const Graph& graph) -> bool {
  return std::ranges::any_of(graph.nodes,
                             [](const Node& node) { return lacks_offset(node.claim); }) ||
         std::ranges::any_of(graph.children,
                             [](const auto& child) { return lacks_offsets(child.second); });
}

/// Prints whole graphs.
class GraphPrinter {
 public:
  GraphPrinter(const PrintOptions& options, bool offsets_stated)
      : options_(options), offsets_stated_(offsets_stated) {}

  void module(const Graph& graph, const std::string& attribute, const std::string& indent) {
    const bool named = is_identifier(graph.class_name) || graph.class_name == "<lambda>";
    const auto class_name = named ? graph.class_name : "GraphModule";
    out_ += fmt::format("{}class {}(torch.nn.Module):", indent,
                        attribute.empty() ? class_name : attribute);
    if (!attribute.empty() && attribute != class_name)
      out_ += fmt::format("  # assay class {}", class_name);
    out_.push_back('\n');
    function(graph, indent + "    ");
    for (const auto& [name, child] : graph.children) {
      out_.push_back('\n');
      module(child, name, indent + "    ");
    }
  }

  auto take() -> std::string { return std::move(out_); }

 private:
  void function(const Graph& graph, const std::string& indent) {
    const ArgPrinter printer(graph);
    signature(graph, indent);
    const auto inner = indent + "    ";
    if (options_.liveness) find_last_uses(graph);
    // PyTorch also says so where the first nodes have no origin, unless no node has one.
    const bool has_origins = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                         [](const Node& node) { return node.origin.has_value(); });
    last_origin_ = has_origins ? std::nullopt : std::optional(Origin{});
    bool empty = true;
    for (const auto& node : graph.nodes) {
      if (node.kind == NodeKind::placeholder) {
        const auto target = parameter_name(node);
        if (target == node.name) continue;
        out_ += fmt::format("{}{} = {}\n", inner, node.name, target);
      } else {
        if (options_.origins && node.kind != NodeKind::output) origin(node, inner);
        out_ += inner;
        statement(node, printer);
      }
      empty = false;
    }
    if (empty) out_ += inner + "pass\n";
  }

  static auto parameter_name(const Node& node) -> std::string_view {
    const auto start = node.target.find_first_not_of('*');
    return start == std::string::npos ? std::string_view{}
                                      : std::string_view(node.target).substr(start);
  }

  /// One line, or one line per parameter if a parameter needs a comment.
  void signature(const Graph& graph, const std::string& indent) {
    const auto is_input = [](const Node& node) { return node.kind == NodeKind::placeholder; };
    const bool notes = options_.claims &&
                       std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
                         return is_input(node) && !claim_notes(node.claim, offsets_stated_).empty();
                       });
    const auto inner = indent + "        ";
    out_ += fmt::format("{}def forward(", indent);
    out_ += notes ? fmt::format("\n{}self,\n", inner) : "self";
    for (const auto& node : graph.nodes) {
      if (!is_input(node)) continue;
      const auto parameter = node.target + annotation(node);
      out_ += notes ? fmt::format("{}{},{}\n", inner, parameter, note(node)) : ", " + parameter;
    }
    out_ += notes ? fmt::format("{}):\n", indent) : "):\n";
  }

  auto annotation(const Node& node) const -> std::string {
    if (!options_.claims) return {};
    const auto text = print_claim(node.claim);
    return text.empty() ? text : fmt::format(": \"{}\"", text);
  }

  /// What a claim says beyond PyTorch's annotation, as a trailing comment.
  auto note(const Node& node) const -> std::string {
    const auto notes = options_.claims ? claim_notes(node.claim, offsets_stated_) : std::string();
    return notes.empty() ? notes : fmt::format("  # assay {}", notes);
  }

  /// A comment where the origin differs from the node before.
  void origin(const Node& node, const std::string& indent) {
    const auto origin = node.origin.value_or(Origin{});
    if (origin == last_origin_) return;
    last_origin_ = origin;
    if (!out_.ends_with("):\n")) out_.push_back('\n');
    if (origin.file.empty()) {
      out_ += indent + "# No stacktrace found for following nodes\n";
    } else {
      out_ += fmt::format("{}# File: {}:{} in {}, code: {}\n", indent, single_line(origin.file),
                          origin.line, single_line(origin.function), single_line(origin.code));
    }
    if (!origin.module.empty())
      out_ += fmt::format("{}# assay module: {}\n", indent, single_line(origin.module));
  }

  void statement(const Node& node, const ArgPrinter& printer) {
    if (node.kind == NodeKind::output) {
      out_ += printer.call(node) + "\n";
      return;
    }
    const auto name = node.name + annotation(node);
    const auto update = in_place(node, printer);
    out_ += update.empty() ? fmt::format("{} = {}", name, printer.call(node))
                           : fmt::format("{};  {} = {}", update, name, printer.arg(node.args[0]));
    out_ += dead_names(node) + note(node) + "\n";
  }

  /// `x[0] = y` and `x += y`, which Python writes as statements; empty for other nodes.
  static auto in_place(const Node& node, const ArgPrinter& printer) -> std::string {
    if (node.kind != NodeKind::call_function || !node.kwargs.empty() || node.args.empty() ||
        !std::holds_alternative<NodeId>(node.args[0].value))
      return {};
    if (node.target == "operator.setitem" && node.args.size() == 3)
      return fmt::format("{}[{}] = {}", printer.arg(node.args[0]), printer.arg(node.args[1]),
                         printer.arg(node.args[2]));
    const auto symbol = inplace_symbol(node.target);
    if (symbol.empty() || node.args.size() != 2) return {};
    return fmt::format("{} {} {}", printer.arg(node.args[0]), symbol, printer.arg(node.args[1]));
  }

  /// Which values no later node uses: by the node that uses them last, or that makes them.
  void find_last_uses(const Graph& graph) {
    dead_after_.clear();
    std::unordered_set<std::int32_t> seen;
    for (auto it = graph.nodes.rbegin(); it != graph.nodes.rend(); ++it) {
      for (const auto id : operands(*it)) {
        const auto* used = graph.find(id);
        if (used != nullptr && seen.insert(id.value).second)
          dead_after_[it->id.value].push_back(used->name);
      }
      if (!seen.contains(it->id.value)) dead_after_[it->id.value].push_back(it->name);
    }
  }

  auto dead_names(const Node& node) const -> std::string {
    const auto it = dead_after_.find(node.id.value);
    if (!options_.liveness || it == dead_after_.end()) return {};
    std::string text = ";  ";
    for (const auto& name : it->second) text += name + " = ";
    return text + "None";
  }

  const PrintOptions& options_;
  bool offsets_stated_;
  std::string out_;
  std::optional<Origin> last_origin_;  ///< as the last comment said
  std::unordered_map<std::int32_t, std::vector<std::string>> dead_after_;
};

}  // namespace

auto print_arg(const Graph& graph, const Arg& arg) -> std::string {
  return ArgPrinter(graph).arg(arg);
}

auto print_call(const Graph& graph, const Node& node) -> std::string {
  return ArgPrinter(graph).call(node);
}

auto print_graph(const Graph& graph, const PrintOptions& options) -> std::string {
  const bool offsets_stated = !lacks_offsets(graph);
  GraphPrinter printer(options, offsets_stated);
  auto text = options.header ? print_header(graph.env, offsets_stated) : std::string();
  printer.module(graph, "", "");
  return text + printer.take();
}

}  // namespace assay
