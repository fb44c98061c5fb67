#include "replay/runner/programs.h"

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/read/wrapper.h"
#include "core/expr/text.h"
#include "core/graph/annotation.h"
#include "replay/formats/detect.h"
#include "replay/formats/log_text.h"
#include "replay/formats/precompile.h"
#include "replay/formats/torch_trace.h"
#include "replay/runner/asserted.h"

namespace assay {
namespace {

/// The AOT graph whose placeholders are the program's inputs, or the last graph of all where
/// `lowered`: what the forward program saves may have other strides than the AOT graph says, which
/// Inductor writes into the backward graph before it lowers that.
auto graph_of(const TraceLog& log, const TraceCompilation& compilation, const HostProgram& program,
              bool lowered) -> std::optional<Graph> {
  const auto& inputs = program.functions.back().inputs;
  std::optional<Graph> found;
  for (const auto& part : compilation.graphs) {
    if (!lowered && !part.name.starts_with("aot_")) continue;
    auto graph = trace_graph(log, part);
    const auto is_placeholder = [&](const std::string& name) {
      const auto* node = graph->find(name);
      return node != nullptr && node->kind == NodeKind::placeholder;
    };
    if (!graph || !std::ranges::all_of(inputs, is_placeholder)) continue;
    const auto placeholders = std::ranges::count(graph->nodes, NodeKind::placeholder, &Node::kind);
    if (lowered && placeholders != std::ssize(inputs)) continue;
    know_symbols(graph->env, program.env);
    found = std::move(*graph);
    if (!lowered) break;
  }
  return found;
}

/// Its claims about the inputs, in the program's symbols.
auto claims_of(const Graph& graph, const HostProgram& program)
    -> std::map<std::string, TensorMeta> {
  std::map<std::string, TensorMeta> claims;
  auto env = program.env;
  ClaimReader reader(env);
  for (const auto& input : program.functions.back().inputs)
    if (const auto claim = reader.claim(print_claim(graph.find(input)->claim)))
      if (const auto* tensor = claim->tensor()) {
        auto& meta = claims[input] = *tensor;
        for (auto* dims : {&meta.sizes, &meta.strides})
          for (auto& e : *dims) e = program.env.replaced(e);
      }
  return claims;
}

/// What its calls need, in the program's symbols.
auto required_by(const Graph& graph, const OpTable& table, const HostProgram& program)
    -> std::vector<Guard> {
  std::vector<Guard> required;
  for (auto& guard : required_conditions(graph, table)) {
    const auto condition = parse_expr(program.env.pool(), guard.text);
    if (!condition || !condition->is_valid()) continue;
    const auto is_known = [&](const Expr& symbol) { return program.env.find(symbol) != nullptr; };
    if (!std::ranges::all_of(condition->symbols(), is_known)) continue;
    guard.condition = *condition;
    required.push_back(std::move(guard));
  }
  return required;
}

auto programs_of_log(std::string_view bytes, const std::string& name, const OpTable& table)
    -> Result<std::vector<ProvedProgram>> {
  auto log = read_torch_trace(bytes);
  if (!log) return with_context(std::move(log).error(), name);
  std::vector<ProvedProgram> programs;
  for (const auto& compilation : compilations(*log)) {
    const auto shapes = trace_shapes(*log, compilation);
    for (const auto& part : compilation.output_codes) {
      const auto& event = log->events[part.event];
      auto wrapper = read_wrapper(event.payload, shapes.env);
      ProvedProgram program{fmt::format("{} {}", compilation.compile_id, part.name),
                            event.line,
                            event.payload,
                            {},
                            {}};
      if (wrapper) {
        WrapperOptions options;
        if (const auto graph = graph_of(*log, compilation, *wrapper, false)) {
          const auto lowered = graph_of(*log, compilation, *wrapper, true);
          options.claims = claims_of(lowered ? *lowered : *graph, *wrapper);
          options.required = required_by(*graph, table, *wrapper);
        }
        program.report = check_wrapper(*wrapper, options);
        program.program = *std::move(wrapper);
      } else {
        program.report.lines_not_understood.push_back({1, part.name, wrapper.error().message});
      }
      programs.push_back(std::move(program));
    }
  }
  if (programs.empty()) return unsupported("{}: the log has no inductor_output_code", name);
  return programs;
}

/// With TORCH_LOGS=output_code a message stands before the program, and what else the process
/// prints, such as the stack of an exception, behind it. Lines stay where they are.
void strip_messages(std::string& program) {
  constexpr std::string_view kMessage = "Output code:";
  constexpr std::string_view kStack = "\nTraceback (most recent call last):";
  const auto start = program.find_first_not_of('\n');
  if (start == std::string::npos) return;
  if (std::string_view(program).substr(start).starts_with(kMessage))
    std::fill_n(program.begin() + static_cast<std::ptrdiff_t>(start), kMessage.size(), ' ');
  if (const auto stack = program.find(kStack); stack != std::string::npos)
    program.resize(stack + 1);
}

}  // namespace

auto wrappers_in(std::string_view text, const std::string& name) -> std::vector<WrapperText> {
  if (is_precompiled(text)) {
    auto program = precompiled_wrapper(text);
    return program.empty() ? std::vector<WrapperText>() : std::vector{WrapperText{name, program}};
  }
  if (is_wrapper(text)) return {{name, std::string(text)}};
  std::vector<WrapperText> found;
  if (!text.contains("def call(")) return found;
  for (const auto& record : split_log(text)) {
    if (!is_wrapper(record.text)) continue;
    auto program = std::string(static_cast<std::size_t>(record.line - 1), '\n') + record.text;
    strip_messages(program);
    found.push_back({name, std::move(program)});
  }
  for (std::size_t i = 1; i < found.size(); ++i) found[i].name += fmt::format(" #{}", i + 1);
  return found;
}

auto holds_programs(std::string_view bytes) -> bool {
  if (detect_format(bytes) != InputFormat::torch_trace) return !wrappers_in(bytes, {}).empty();
  return bytes.find("\"inductor_output_code\"") != std::string_view::npos;
}

auto prove_programs(std::string_view bytes, const std::string& name, const OpTable& table)
    -> Result<std::vector<ProvedProgram>> {
  if (detect_format(bytes) == InputFormat::torch_trace) return programs_of_log(bytes, name, table);
  std::vector<ProvedProgram> programs;
  for (auto& one : wrappers_in(bytes, name)) {
    auto wrapper = read_wrapper(one.text);
    if (!wrapper) return with_context(std::move(wrapper).error(), one.name);
    auto report =
        check_wrapper(*wrapper, {.guards_are_known = false, .claims = {}, .required = {}});
    programs.push_back({one.name, 0, std::move(one.text), std::move(report), *std::move(wrapper)});
  }
  if (programs.empty()) return unsupported("{}: no program here", name);
  return programs;
}

}  // namespace assay
