#include "tests/support/compiled.h"

#include <algorithm>
#include <random>

#include "compiler/interpret/interpret.h"
#include "core/graph/text.h"

namespace assay::testing {
namespace {

auto split(std::string_view text, char by) -> std::vector<std::string> {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (const char c : text) {
    depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
    if (c == by && depth == 0) {
      parts.push_back(std::move(part));
      part.clear();
    } else if (c != ' ' || !part.empty()) {
      part += c;
    }
  }
  if (!part.empty()) parts.push_back(std::move(part));
  return parts;
}

/// "f32[s0, 4]" or "f32[s0, 4]cuda" with the strides of a row-major tensor, and its device.
auto with_strides(const std::string& type) -> std::string {
  const auto open = type.find('[');
  if (open == std::string::npos || type.find("][") != std::string::npos) return type;
  const auto close = type.find(']');
  const auto sizes = split(type.substr(open + 1, close - open - 1), ',');
  const auto device = close + 1 < type.size() ? type.substr(close + 1) : "cpu";
  std::vector<std::string> strides(sizes.size());
  std::string stride = "1";
  for (auto i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride =
        stride == "1" ? fmt::format("({})", sizes[i]) : fmt::format("{}*({})", stride, sizes[i]);
  }
  return fmt::format("{}[{}]{}", type.substr(0, close + 1), fmt::join(strides, ", "), device);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

void fill(const Tensor& tensor, const SmallGraph& graph, std::mt19937& random) {
  auto target = tensor;
  std::vector<double> values(static_cast<std::size_t>(numel(tensor.meta)));
  std::uniform_real_distribution<double> real(-2, 2);
  std::uniform_int_distribution<std::int64_t> whole(graph.low, graph.high);
  for (auto& value : values)
    value = is_floating(tensor.dtype())        ? real(random)
            : tensor.dtype() == DType::boolean ? static_cast<double>(random() % 2)
                                               : static_cast<double>(whole(random));
  from_vector<double>(target, values);
}

auto count(const CompiledGraph& compiled, auto is_one) -> int {
  return static_cast<int>(std::ranges::count_if(compiled.program.functions.back().ops, is_one));
}

auto table() -> const OpTable& {
  static const auto rows = build_op_table();
  return rows;
}

auto differences(const CompiledComparison& comparison) -> std::string {
  std::string text;
  for (const auto& one : comparison.compared)
    if (!one.message.empty()) text += fmt::format("  {}: {}\n", one.what, one.message);
  for (const auto& finding : comparison.run.findings)
    text += fmt::format("  {} {}: {}\n", name(finding.fault), finding.statement, finding.message);
  return text;
}

}  // namespace

auto graph_text(const SmallGraph& graph) -> std::string {
  std::vector<std::string> params;
  for (const auto& input : split(graph.inputs, ';')) {
    const auto colon = input.find(": ");
    params.push_back(
        fmt::format("{}: \"{}\"", input.substr(0, colon), with_strides(input.substr(colon + 2))));
  }
  std::string body;
  for (const auto& line : split(graph.body, '\n')) body += "        " + line + "\n";
  replace_all(body, "aten.", "torch.ops.aten.");
  replace_all(body, "prims.", "torch.ops.prims.");
  return fmt::format(
      "class GraphModule(torch.nn.Module):\n    def forward(self, {}):\n{}        return ({},)\n",
      fmt::join(params, ", "), body, graph.outputs);
}

auto capture_of(const SmallGraph& graph) -> Result<Capture> {
  return read_capture(graph_text(graph), "small");
}

auto compiled(const SmallGraph& graph, const CompileOptions& options) -> Result<CompiledGraph> {
  ASSAY_TRY(const auto capture, capture_of(graph));
  return compile_graph(capture, table(), options);
}

auto inputs_of(const SmallGraph& graph, const Capture& capture, const std::string& sizes,
               std::uint32_t seed) -> Result<RunInputs> {
  Binding at;
  for (const auto& part : split(sizes, ',')) {
    const auto equals = part.find('=');
    const auto symbol = capture.graph.env.pool().symbol(part.substr(0, equals), ExprType::integer);
    at[symbol] = Expr(std::int64_t{std::stoll(part.substr(equals + 1))});
  }
  ASSAY_TRY(auto inputs, inputs_at(capture, at));
  std::mt19937 random(seed);
  for (auto& value : inputs.values)
    if (const auto* tensor = value.real()) fill(*tensor, graph, random);
  return inputs;
}

auto bound_graph(const SmallGraph& graph, const OpTable& table, const std::string& sizes)
    -> Result<BoundGraph> {
  ASSAY_TRY(const auto capture, capture_of(graph));
  ASSAY_TRY(auto compiled, compile_graph(capture, table, {}));
  BoundGraph made;
  made.compiled = std::make_unique<CompiledGraph>(std::move(compiled));
  ASSAY_TRY(made.kernels, compile_kernels(made.compiled->program));
  ASSAY_TRY(const auto inputs, inputs_of(graph, capture, sizes));
  made.inputs = program_inputs(capture.graph, inputs);
  ASSAY_TRY(made.bound, bind_program(made.compiled->program, made.kernels, table, made.inputs));
  return made;
}

auto problems(const SmallGraph& graph, const std::vector<std::string>& sizes) -> std::string {
  const auto capture = capture_of(graph);
  if (!capture) return capture.error().message;
  std::string text;
  for (const bool fuse : {true, false}) {
    CompileOptions options;
    options.schedule.fuse = fuse;
    const auto program = compile_graph(*capture, table(), options);
    if (!program) return program.error().message;
    for (const auto& [name, source] : program->program.kernels)
      for (const auto& broken : verify(*source.kernel)) text += name + ": " + broken + "\n";
    for (const auto& at : sizes) {
      const auto inputs = inputs_of(graph, *capture, at);
      if (!inputs) return inputs.error().message;
      const auto result =
          compare_with_reference(capture->graph, *program, Interpreter(table()), *inputs, table());
      const auto found = result ? differences(*result) : result.error().message + "\n";
      if (!found.empty())
        text += fmt::format("at \"{}\", {}:\n{}", at, fuse ? "fused" : "not fused", found);
    }
  }
  return text;
}

auto kernel_count(const CompiledGraph& compiled) -> int {
  return count(compiled,
               [](const HostOp& op) { return std::holds_alternative<HostLaunch>(op.what); });
}
auto call_count(const CompiledGraph& compiled) -> int {
  return count(compiled,
               [](const HostOp& op) { return std::holds_alternative<HostCall>(op.what); });
}

auto fusions(const CompiledGraph& compiled) -> std::vector<std::string> {
  std::vector<std::string> lines;
  for (const auto& decision : compiled.decisions)
    if (decision.kind == CompileDecision::Kind::fuse)
      lines.push_back(fmt::format("{} {} {}: {}", decision.subject,
                                  decision.accepted ? "joins" : "does not join", decision.other,
                                  decision.reason));
  return lines;
}

}  // namespace assay::testing
