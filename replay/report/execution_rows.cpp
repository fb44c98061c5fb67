// Programs of a log or wrapper that were run, as rows of a trace.
#include "replay/formats/detect.h"
#include "replay/report/executions.h"
#include "replay/report/log_rows.h"
#include "replay/report/program_record.h"

namespace assay {
namespace {

/// Recorded answers compare with the last program of that role.
auto gives(const ProgramExecution& program, const TensorDifference& compared) -> bool {
  return compared.what.starts_with("gradient") == (program.role == "backward");
}

class ExecutionRecorder {
 public:
  ExecutionRecorder(TraceWriter& writer, TraceId run, const RecordedLog& log)
      : writer_(writer), run_(run), log_(log) {}

  auto add(const ProgramExecution& program) -> Result<TraceId> {
    static const std::map<std::string, TraceId> kNone;
    GraphRow row{.run_id = run_,
                 .parent_id = {},
                 .name = program.name,
                 .kind = "program",
                 .hash = {},
                 .text = program.text};
    const auto compilation = log_.compilations.find(program.log_line);
    const auto* nodes = &kNone;
    if (compilation != log_.compilations.end()) {
      row.compilation_id = compilation->second;
      row.log_line = program.log_line;
      nodes = &log_.nodes.at(compilation->second);
    }
    const auto* memory = program.memory ? &*program.memory : nullptr;
    if (memory == nullptr && !program.error)
      ASSAY_TRY_VOID(record_problems(
          writer_, run_, "not-planned",
          {fmt::format("memory of {}: {}", program.name, program.memory.error().message)}));
    ASSAY_TRY(const auto recorded, record_program(writer_, {.program = program.program,
                                                            .row = std::move(row),
                                                            .nodes = *nodes,
                                                            .memory = memory,
                                                            .sizes = "of the run",
                                                            .run = &program.run,
                                                            .written = &program.written}));
    ASSAY_TRY_VOID(record_line_links(writer_, recorded.graph, program.text, *nodes));
    ASSAY_TRY_VOID(
        record_symbols(writer_, recorded.graph, program.program.env, program.program.env.hints()));
    if (program.error)
      ASSAY_TRY_VOID(record_problems(
          writer_, run_, "not-run", {fmt::format("{}: {}", program.name, program.error->message)}));
    return recorded.graph;
  }

  auto differs(TraceId graph, const TensorDifference& compared) -> Result<void> {
    FindingRow row{.run_id = run_,
                   .node_id = {},
                   .leaf = {},
                   .kind = "program-differs",
                   .blame = "root",
                   .root_node_id = {},
                   .claimed = {},
                   .observed = {},
                   .witness = {},
                   .message = compared.what + ": " + compared.message,
                   .severity = "finding",
                   .title = "the program gives something else than was recorded"};
    row.graph_id = graph;
    ASSAY_TRY_VOID(writer_.add(row));
    return {};
  }

 private:
  TraceWriter& writer_;
  TraceId run_;
  const RecordedLog& log_;
};

}  // namespace

auto record_executions(const std::string& path, const std::string& source, std::string_view bytes,
                       const LogExecution& execution, int exit_code) -> Result<void> {
  ASSAY_TRY(auto writer, TraceWriter::create(path));
  const bool is_log = detect_format(bytes) == InputFormat::torch_trace;
  ASSAY_TRY(const auto run,
            writer.add(run_row("run", source, is_log ? "torch trace" : "wrapper", "")));
  RecordedLog log;
  if (is_log) {
    ASSAY_TRY(log, record_compilations(writer, run, bytes));
  }
  ExecutionRecorder recorder(writer, run, log);
  std::vector<TraceId> graphs;
  for (const auto& program : execution.programs) {
    ASSAY_TRY(graphs.emplace_back(), recorder.add(program));
  }
  for (const auto& compared : execution.compared)
    for (std::size_t i = graphs.size(); i-- > 0 && !compared.message.empty();) {
      if (!gives(execution.programs[i], compared)) continue;
      ASSAY_TRY_VOID(recorder.differs(graphs[i], compared));
      break;
    }
  ASSAY_TRY_VOID(record_problems(writer, run, "note", execution.notes));
  if (!execution.has_inputs)
    ASSAY_TRY_VOID(record_problems(writer, run, "made-up", {"contents of inputs are made up"}));
  ASSAY_TRY_VOID(writer.finish_run(run, exit_code, 0));
  return writer.finalise();
}

}  // namespace assay
