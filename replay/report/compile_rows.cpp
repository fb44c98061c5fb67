#include "replay/report/compile_rows.h"

#include <set>

namespace assay {
namespace {

/// What a kernel does to one of its parameters.
struct Access {
  bool reads = false, writes = false;
};
void gather(const TileRegion& region, std::map<std::size_t, Access>& found) {
  for (const auto& statement : region.body) {
    if (const auto* load = std::get_if<TileLoad>(&statement.what)) found[load->param].reads = true;
    if (const auto* store = std::get_if<TileStore>(&statement.what))
      found[store->param].writes = true;
    if (const auto* atomic = std::get_if<TileAtomic>(&statement.what))
      found[atomic->param] = {true, true};
    for (const auto& inner : statement.regions) gather(inner, found);
  }
}
auto access_name(const Access& access) -> std::string {
  if (access.reads && access.writes) return "both";
  return access.writes ? "writes" : "reads";
}

auto product_text(std::span<const std::int64_t> numbers) -> std::string {
  return fmt::format("{}", fmt::join(numbers, " x "));
}

/// A step with the buffers that it touches.
struct Step {
  const HostOp* op = nullptr;
  LaunchRow row;
  std::vector<std::pair<std::size_t, Access>> buffers;
};

class ProgramRecorder {
 public:
  ProgramRecorder(TraceWriter& writer, const RecordedIds& ids, const CompileRecord& record)
      : writer_(writer), ids_(ids), record_(record) {
    for (const auto& node : record.capture.graph.nodes)
      if (const auto id = ids.nodes.find(node.id); id != ids.nodes.end())
        nodes_[node.name] = id->second;
  }

  auto run() -> Result<void> {
    ASSAY_TRY_VOID(program());
    ASSAY_TRY_VOID(kernels());
    ASSAY_TRY_VOID(memory());
    std::int64_t seq = 0;
    for (auto& step : record_.memory != nullptr ? bound_steps() : host_steps())
      ASSAY_TRY_VOID(launch(step, seq++));
    ASSAY_TRY_VOID(decisions());
    return problems();
  }

 private:
  [[nodiscard]] auto ops() const -> const std::vector<HostOp>& {
    return record_.compiled.program.functions.back().ops;
  }

  auto program() -> Result<void> {
    std::string text;
    for (const auto& op : ops()) {
      text += op.text + "\n";
      lines_[&op] = std::ssize(lines_) + 1;
    }
    ASSAY_TRY(graph_, writer_.add(GraphRow{.run_id = ids_.run,
                                           .parent_id = {},
                                           .name = "compiled program",
                                           .kind = "program",
                                           .hash = {},
                                           .text = text}));
    return {};
  }

  auto kernels() -> Result<void> {
    for (const auto& [key, source] : record_.compiled.program.kernels) {
      ASSAY_TRY(kernels_[key],
                writer_.add(KernelRow{graph_, key, source.language, source.text,
                                      fmt::format("{}", fmt::join(source.nodes, ", "))}));
    }
    return {};
  }

  auto memory() -> Result<void> {
    if (record_.memory == nullptr) return {};
    constexpr std::array kKinds = {"input", "output", "temporary"};
    const auto& [bound, plan, broken] = *record_.memory;
    for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
      const auto& buffer = bound.buffers[i];
      BufferRow row{.graph_id = graph_,
                    .name = buffer.name,
                    .kind = kKinds[static_cast<std::size_t>(buffer.kind)],
                    .dtype = std::string(name(buffer.dtype)),
                    .size_bytes = buffer.size_bytes,
                    .offset_bytes = {},
                    .first_step = {},
                    .last_step = {},
                    .written_over = buffer.over ? bound.buffers[*buffer.over].name : ""};
      if (plan.offsets[i] >= 0) row.offset_bytes = plan.offsets[i];
      if (buffer.is_used) {
        row.first_step = static_cast<std::int64_t>(buffer.first);
        row.last_step = static_cast<std::int64_t>(buffer.last);
      }
      ASSAY_TRY(buffers_.emplace_back(), writer_.add(row));
    }
    ASSAY_TRY_VOID(
        writer_.add(MemoryPlanRow{graph_, plan.arena_bytes, plan.live_bytes, plan.sum_bytes,
                                  std::ssize(bound.steps), record_.sizes}));
    return {};
  }

  /// Steps at sizes, as they run.
  auto bound_steps() -> std::vector<Step> {
    std::vector<Step> steps;
    for (const auto& one : record_.memory->bound.steps) {
      steps.emplace_back();
      std::visit([&](const auto& what) { fill(steps.back(), what); }, one);
    }
    return steps;
  }
  void fill(Step& step, const BoundLaunch& what) {
    const auto& key = record_.memory->bound.kernels[what.kernel];
    step.op = what.op;
    step.row.kind = "kernel";
    step.row.target = key;
    step.row.grid = product_text(what.grid);
    step.row.extents = product_text(what.extents);
    std::map<std::size_t, Access> found;
    if (const auto source = record_.compiled.program.kernels.find(key);
        source != record_.compiled.program.kernels.end() && source->second.kernel)
      gather(source->second.kernel->body, found);
    for (std::size_t i = 0; i < what.arguments.size(); ++i)
      if (what.arguments[i].buffer) step.buffers.emplace_back(*what.arguments[i].buffer, found[i]);
  }
  static void fill(Step& step, const BoundCall& what) {
    step.op = what.op;
    step.row.kind = "call";
    step.row.target = what.row != nullptr ? what.row->name() : std::string();
    for (std::size_t i = 0; i < what.buffers.size(); ++i)
      step.buffers.emplace_back(what.buffers[i],
                                Access{i < what.arg_tensors, i >= what.arg_tensors});
  }
  static void fill(Step& step, const BoundCopy& what) {
    step.op = what.op;
    step.row.kind = "copy";
    step.row.target = "copy";
    step.buffers = {{what.from.buffer, {true, false}}, {what.to.buffer, {false, true}}};
  }

  /// Steps as written, without sizes.
  auto host_steps() -> std::vector<Step> {
    std::vector<Step> steps;
    for (const auto& op : ops()) {
      const auto* launch = std::get_if<HostLaunch>(&op.what);
      const auto* call = std::get_if<HostCall>(&op.what);
      if (launch == nullptr && call == nullptr) continue;
      auto& step = steps.emplace_back();
      step.op = &op;
      step.row.kind = launch != nullptr ? "kernel" : "call";
      step.row.target = launch != nullptr ? launch->kernel : call->target;
    }
    return steps;
  }

  auto launch(Step& step, std::int64_t seq) -> Result<void> {
    step.row.graph_id = graph_;
    step.row.seq = seq;
    step.row.line = lines_[step.op];
    step.row.text = step.op->text;
    std::vector<std::string> nodes;
    if (const auto kernel = kernels_.find(step.row.target); kernel != kernels_.end()) {
      step.row.kernel_id = kernel->second;
      nodes = record_.compiled.program.kernels.at(step.row.target).nodes;
    }
    if (const auto call = record_.compiled.call_nodes.find(step.op->line);
        call != record_.compiled.call_nodes.end() && !step.row.kernel_id)
      nodes.push_back(call->second);
    ASSAY_TRY(const auto id, writer_.add(step.row));
    std::int64_t position = 0;
    for (const auto& [buffer, access] : step.buffers)
      ASSAY_TRY_VOID(
          writer_.add(LaunchBufferRow{id, position++, buffers_[buffer], access_name(access)}));
    for (const auto& node : nodes)
      if (const auto found = nodes_.find(node); found != nodes_.end())
        ASSAY_TRY_VOID(writer_.add(LineLinkRow{graph_, step.row.line, found->second}));
    return {};
  }

  auto decisions() -> Result<void> {
    std::int64_t seq = 0;
    for (const auto& made : record_.compiled.decisions) {
      DecisionRow row{.graph_id = graph_,
                      .seq = seq++,
                      .node_id = {},
                      .kind = std::string(name(made.kind)),
                      .verdict = made.accepted ? "accepted" : "refused",
                      .subject = made.subject,
                      .other = made.other,
                      .reason = made.reason};
      if (const auto node = nodes_.find(made.subject);
          node != nodes_.end() && made.kind != CompileDecision::Kind::reuse)
        row.node_id = node->second;
      ASSAY_TRY_VOID(writer_.add(row));
    }
    return {};
  }

  auto problems() -> Result<void> {
    std::vector<std::string> differs, wrong;
    if (const auto* comparison = record_.comparison) {
      for (const auto& one : comparison->compared)
        if (!one.message.empty()) differs.push_back(one.what + ": " + one.message);
      for (const auto& finding : comparison->run.findings)
        wrong.push_back(
            fmt::format("{} {}: {}", name(finding.fault), finding.statement, finding.message));
      ASSAY_TRY_VOID(record_problems(writer_, ids_.run, "note", comparison->notes));
    }
    ASSAY_TRY_VOID(record_problems(writer_, ids_.run, "differs", differs));
    ASSAY_TRY_VOID(record_problems(writer_, ids_.run, "wrong-access", wrong));
    if (record_.memory != nullptr)
      ASSAY_TRY_VOID(record_problems(writer_, ids_.run, "wrong-plan", record_.memory->broken));
    if (record_.not_planned.empty()) return {};
    return record_problems(writer_, ids_.run, "not-planned", {record_.not_planned});
  }

  TraceWriter& writer_;
  const RecordedIds& ids_;
  const CompileRecord& record_;
  TraceId graph_ = 0;
  std::map<std::string, TraceId> nodes_, kernels_;
  std::vector<TraceId> buffers_;
  std::map<const HostOp*, std::int64_t> lines_;
};

}  // namespace

auto record_compiled(const std::string& path, const CompileRecord& record, int exit_code)
    -> Result<void> {
  return record_trace(path, record.capture, {}, "compile", record.sizes, exit_code,
                      [&](TraceWriter& writer, const RecordedIds& ids) {
                        return ProgramRecorder(writer, ids, record).run();
                      });
}

}  // namespace assay
