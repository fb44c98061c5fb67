#include "replay/report/program_record.h"

#include <algorithm>
#include <array>
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

auto title_of(RunFault fault) -> std::string {
  constexpr std::array kTitles = {
      "an access lies outside of its storage",
      "an element is read that nobody wrote",
      "two programs or lanes write one element",
      "an element is read while another program or lane writes it",
      "a buffer is used after it was deleted or its storage was reused",
      "an assert of a kernel is false",
      "an assert of the wrapper is false",
      "integer arithmetic that an index rests on wraps",
      "a library call refuses its operands",
      "a launch does not end",
      "a launch ends in an error that its process does not survive",
  };
  return kTitles.at(static_cast<std::size_t>(fault));
}

/// "; buffer buf0 (in_ptr1), program 3, lane 15"
auto where_of(const RunFinding& finding) -> std::string {
  if (finding.buffer.empty()) return {};
  auto text = "; buffer " + finding.buffer;
  if (!finding.param.empty() && finding.param != finding.buffer)
    text += fmt::format(" ({})", finding.param);
  if (!finding.kernel.empty())
    text += fmt::format(", program {}, lane {}", finding.program, finding.lane);
  return text;
}

/// A step with the buffers that it touches.
struct Step {
  const HostOp* op = nullptr;
  LaunchRow row;
  std::vector<std::pair<std::size_t, Access>> buffers;
};

class ProgramRecorder {
 public:
  ProgramRecorder(TraceWriter& writer, const ProgramRecord& record)
      : writer_(writer), record_(record) {}

  auto run() -> Result<RecordedProgram> {
    statements(record_.program.functions.back());
    ASSAY_TRY_VOID(text());
    ASSAY_TRY_VOID(kernels());
    ASSAY_TRY_VOID(memory());
    std::int64_t seq = 0;
    for (auto& step : record_.memory != nullptr ? bound_steps() : host_steps())
      ASSAY_TRY_VOID(launch(step, seq++));
    for (const auto* op : ops_) {
      auto& known = recorded_.statements[op->line];
      known.line = lines_[op];
      if (const auto at = recorded_.launches.find(op); at != recorded_.launches.end())
        known.launch = at->second;
      if (nodes_[op].size() == 1) known.node = nodes_[op].front();
    }
    ASSAY_TRY_VOID(findings());
    ASSAY_TRY_VOID(values());
    return std::move(recorded_);
  }

 private:
  /// Statements as they are executed: those of a function where it is called first.
  void statements(const HostFunction& function) {
    for (const auto& op : function.ops) {
      ops_.push_back(&op);
      const auto* call = std::get_if<HostCall>(&op.what);
      if (call == nullptr) continue;
      const auto* part = find_function(record_.program, call->target);
      if (part != nullptr && part != &function && seen_.insert(part).second) statements(*part);
    }
  }

  auto text() -> Result<void> {
    auto row = record_.row;
    const bool is_own = row.text.empty();
    for (const auto* op : ops_) {
      lines_[op] = is_own ? std::ssize(lines_) + 1 : op->line;
      if (is_own) row.text += op->text + "\n";
    }
    ASSAY_TRY(recorded_.graph, writer_.add(row));
    return {};
  }

  auto kernels() -> Result<void> {
    for (const auto& [key, source] : record_.program.kernels) {
      ASSAY_TRY(kernels_[key],
                writer_.add(KernelRow{recorded_.graph, key, source.language, source.text,
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
      BufferRow row{.graph_id = recorded_.graph,
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
        writer_.add(MemoryPlanRow{recorded_.graph, plan.arena_bytes, plan.live_bytes,
                                  plan.sum_bytes, std::ssize(bound.steps), record_.sizes}));
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
    if (const auto source = record_.program.kernels.find(key);
        source != record_.program.kernels.end() && source->second.kernel)
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
    for (const auto* op : ops_) {
      const auto* launch = std::get_if<HostLaunch>(&op->what);
      const auto* call = std::get_if<HostCall>(&op->what);
      if (launch == nullptr && call == nullptr) continue;
      auto& step = steps.emplace_back();
      step.op = op;
      step.row.kind = launch != nullptr ? "kernel" : "call";
      step.row.target = launch != nullptr ? launch->kernel : call->target;
    }
    return steps;
  }

  auto launch(Step& step, std::int64_t seq) -> Result<void> {
    step.row.graph_id = recorded_.graph;
    step.row.seq = seq;
    step.row.line = lines_[step.op];
    step.row.text = step.op->text;
    std::vector<std::string> names;
    if (const auto kernel = kernels_.find(step.row.target); kernel != kernels_.end()) {
      step.row.kernel_id = kernel->second;
      names = record_.program.kernels.at(step.row.target).nodes;
    }
    if (record_.call_nodes != nullptr && !step.row.kernel_id)
      if (const auto call = record_.call_nodes->find(step.op->line);
          call != record_.call_nodes->end())
        names.push_back(call->second);
    ASSAY_TRY(const auto id, writer_.add(step.row));
    recorded_.launches[step.op] = id;
    std::int64_t position = 0;
    for (const auto& [buffer, access] : step.buffers)
      ASSAY_TRY_VOID(
          writer_.add(LaunchBufferRow{id, position++, buffers_[buffer], access_name(access)}));
    for (const auto& name : names)
      if (const auto found = record_.nodes.find(name); found != record_.nodes.end()) {
        if (auto& nodes = nodes_[step.op]; std::ranges::find(nodes, found->second) == nodes.end())
          nodes.push_back(found->second);
        if (!record_.row.text.empty()) continue;  // whoever knows the text links its lines
        ASSAY_TRY_VOID(writer_.add(LineLinkRow{recorded_.graph, step.row.line, found->second}));
      }
    return {};
  }

  auto findings() -> Result<void> {
    if (record_.run == nullptr) return {};
    for (const auto& finding : record_.run->findings) {
      FindingRow row{.run_id = record_.row.run_id,
                     .node_id = {},
                     .leaf = {},
                     .kind = std::string(name(finding.fault)),
                     .blame = "root",
                     .root_node_id = {},
                     .claimed = {},
                     .observed = {},
                     .witness = record_.sizes,
                     .message = finding.message + where_of(finding),
                     .severity = "finding",
                     .title = title_of(finding.fault)};
      row.graph_id = recorded_.graph;
      row.times = finding.times;
      if (finding.kernel_line > 0) row.kernel_line = finding.kernel_line;
      place_at(recorded_, finding.line, row);
      ASSAY_TRY_VOID(writer_.add(row));
    }
    return {};
  }

  auto values() -> Result<void> {
    if (record_.written == nullptr) return {};
    for (const auto* op : ops_) {
      const auto known = record_.written->find(op);
      const auto at = recorded_.launches.find(op);
      if (known == record_.written->end()) continue;
      for (const auto& value : known->second) recorded_.last_writer[value.leaf] = op;
      if (at != recorded_.launches.end())
        ASSAY_TRY_VOID(record_values(writer_, {}, at->second, "program", known->second));
    }
    return {};
  }

  TraceWriter& writer_;
  const ProgramRecord& record_;
  RecordedProgram recorded_;
  std::vector<const HostOp*> ops_;
  std::set<const HostFunction*> seen_;
  std::map<const HostOp*, std::int64_t> lines_;
  std::map<const HostOp*, std::vector<TraceId>> nodes_;
  std::map<std::string, TraceId> kernels_;
  std::vector<TraceId> buffers_;
};

}  // namespace

void place_at(const RecordedProgram& program, int line, FindingRow& row) {
  const auto known = program.statements.find(line);
  if (known == program.statements.end()) return;
  row.line = known->second.line;
  if (known->second.launch != 0) row.launch_id = known->second.launch;
  if (known->second.node != 0) row.node_id = known->second.node;
}

auto record_program(TraceWriter& writer, const ProgramRecord& record) -> Result<RecordedProgram> {
  return ProgramRecorder(writer, record).run();
}

auto record_values(TraceWriter& writer, std::optional<TraceId> node, std::optional<TraceId> launch,
                   const std::string& source, const std::vector<FirstValues>& values)
    -> Result<void> {
  for (const auto& value : values)
    ASSAY_TRY_VOID(writer.add(
        TensorValuesRow{node, launch, value.leaf, source, value.layout, value.elements}));
  return {};
}

}  // namespace assay
