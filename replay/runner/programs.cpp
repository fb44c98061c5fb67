#include "replay/runner/programs.h"

#include <algorithm>
#include <map>

#include "compiler/read/wrapper.h"
#include "core/graph/annotation.h"
#include "replay/formats/detect.h"
#include "replay/formats/torch_trace.h"

namespace assay {
namespace {

/// Claims of the AOT graph whose placeholders are the program's inputs, in the program's symbols.
auto claims_of(const TraceLog& log, const TraceCompilation& compilation, const HostProgram& program)
    -> std::map<std::string, TensorMeta> {
  std::map<std::string, TensorMeta> claims;
  const auto& inputs = program.functions.back().inputs;
  for (const auto& part : compilation.graphs) {
    if (!part.name.starts_with("aot_")) continue;
    const auto graph = trace_graph(log, part);
    const auto is_placeholder = [&](const std::string& name) {
      const auto* node = graph->find(name);
      return node != nullptr && node->kind == NodeKind::placeholder;
    };
    if (!graph || !std::ranges::all_of(inputs, is_placeholder)) continue;
    auto env = program.env;
    ClaimReader reader(env);
    for (const auto& input : inputs)
      if (const auto claim = reader.claim(print_claim(graph->find(input)->claim)))
        if (const auto* tensor = claim->tensor()) {
          auto& meta = claims[input] = *tensor;
          for (auto* dims : {&meta.sizes, &meta.strides})
            for (auto& e : *dims) e = program.env.replaced(e);
        }
    break;
  }
  return claims;
}

auto programs_of_log(std::string_view bytes, const std::string& name)
    -> Result<std::vector<ProvedProgram>> {
  auto log = read_torch_trace(bytes);
  if (!log) return with_context(std::move(log).error(), name);
  std::vector<ProvedProgram> programs;
  for (const auto& compilation : compilations(*log)) {
    const auto shapes = trace_shapes(*log, compilation);
    for (const auto& part : compilation.output_codes) {
      const auto& event = log->events[part.event];
      const auto wrapper = read_wrapper(event.payload, shapes.env);
      ProvedProgram program{
          fmt::format("{} {}", compilation.compile_id, part.name), event.line, event.payload, {}};
      if (wrapper)
        program.report =
            check_wrapper(*wrapper, {.claims = claims_of(*log, compilation, *wrapper)});
      else
        program.report.lines_not_understood.push_back({1, part.name, wrapper.error().message});
      programs.push_back(std::move(program));
    }
  }
  if (programs.empty()) return unsupported("{}: the log has no inductor_output_code", name);
  return programs;
}

}  // namespace

auto is_trace_or_wrapper(std::string_view bytes) -> bool {
  return detect_format(bytes) == InputFormat::torch_trace || is_wrapper(bytes);
}

auto prove_programs(std::string_view bytes, const std::string& name)
    -> Result<std::vector<ProvedProgram>> {
  if (detect_format(bytes) == InputFormat::torch_trace) return programs_of_log(bytes, name);
  auto wrapper = read_wrapper(bytes);
  if (!wrapper) return with_context(std::move(wrapper).error(), name);
  std::vector<ProvedProgram> programs;
  programs.push_back({name, 0, std::string(bytes),
                      check_wrapper(*wrapper, {.guards_are_known = false, .claims = {}})});
  return programs;
}

}  // namespace assay
