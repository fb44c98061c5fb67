#include "replay/report/trace_rows.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "core/expr/text.h"
#include "core/graph/targets.h"
#include "core/graph/text.h"

namespace assay {
namespace {

auto utc_now() -> std::string {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

auto list_text(const Dims& dims) -> std::string {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + print_expr(dims[i]);
  return text + "]";
}
auto list_text(const Ints& values) -> std::string {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

auto status_name(NodeStatus status) -> std::string {
  switch (status) {
    case NodeStatus::ran:
      return "ran";
    case NodeStatus::recorded:
      return "recorded";
    case NodeStatus::failed:
      return "failed";
    case NodeStatus::unchecked:
      return "unchecked";
    case NodeStatus::skipped:
      return "skipped";
  }
  return {};
}
auto kind_name(SymbolKind kind) -> std::string {
  switch (kind) {
    case SymbolKind::backed:
      return "backed";
    case SymbolKind::unbacked:
      return "unbacked";
    case SymbolKind::backed_float:
      return "backed_float";
    case SymbolKind::unbacked_float:
      return "unbacked_float";
  }
  return {};
}

/// Calls f(leaf name, claim) on every leaf.
template <class F>
auto each_leaf(const Claim& claim, const std::string& leaf, F&& f) -> Result<void> {
  if (const auto* items = claim.items()) {
    for (std::size_t i = 0; i < items->size(); ++i)
      ASSAY_TRY_VOID(each_leaf((*items)[i], fmt::format("{}[{}]", leaf, i), f));
    return {};
  }
  return claim.empty() ? Result<void>{} : f(leaf, claim);
}
template <class F>
auto each_leaf(const ObservedValue& value, const std::string& leaf, F&& f) -> Result<void> {
  if (value.is_tuple) {
    for (std::size_t i = 0; i < value.items.size(); ++i)
      ASSAY_TRY_VOID(each_leaf(value.items[i], fmt::format("{}[{}]", leaf, i), f));
    return {};
  }
  return value.tensor || value.scalar ? f(leaf, value) : Result<void>{};
}

class Recorder {
 public:
  Recorder(TraceWriter& writer, const Capture& capture, const DebugReport& report)
      : writer_(writer), capture_(capture), report_(report) {}

  auto record(const std::string& command, const std::string& options, int exit_code,
              const MoreRows& more) -> Result<void> {
    ASSAY_TRY(ids_.run,
              writer_.add(run_row(command, capture_.source_path, capture_.format, options)));
    for (const auto& [name, value] : capture_.environment)
      ASSAY_TRY_VOID(writer_.add(EnvironmentRow{ids_.run, name, value}));
    ASSAY_TRY(ids_.graph,
              writer_.add(GraphRow{.run_id = ids_.run,
                                   .parent_id = {},
                                   .name = capture_.graph.class_name,
                                   .kind = capture_.kind,
                                   .hash = fmt::format("{:016x}", structural_hash(capture_.graph)),
                                   .text = print_graph(capture_.graph)}));
    const auto& binding = report_.binding.values;
    ASSAY_TRY_VOID(record_symbols(writer_, ids_.graph, capture_.graph.env, binding));
    for (const auto& [symbol, value] : binding)
      ASSAY_TRY_VOID(
          writer_.add(BindingRow{ids_.run, std::string(symbol.name()), print_expr(value), "run"}));
    for (std::size_t i = 0; i < capture_.graph.nodes.size(); ++i) ASSAY_TRY_VOID(node(i));
    for (const auto& finding : report_.findings) ASSAY_TRY_VOID(this->finding(finding));
    ASSAY_TRY_VOID(problems());
    if (more) ASSAY_TRY_VOID(more(writer_, ids_));
    ASSAY_TRY_VOID(writer_.finish_run(ids_.run, exit_code, 0));
    return writer_.finalise();
  }

  auto record(GraphRow row) -> Result<RecordedIds> {
    row.hash = fmt::format("{:016x}", structural_hash(capture_.graph));
    row.text = print_graph(capture_.graph);
    ids_.run = row.run_id;
    ASSAY_TRY(ids_.graph, writer_.add(row));
    ASSAY_TRY_VOID(record_symbols(writer_, ids_.graph, capture_.graph.env, {}));
    for (std::size_t i = 0; i < capture_.graph.nodes.size(); ++i) ASSAY_TRY_VOID(node(i));
    return std::move(ids_);
  }

 private:
  auto problems() -> Result<void> {
    std::vector<std::string> unchecked;
    for (const auto& node : report_.run.nodes)
      if (node.status == NodeStatus::unchecked) unchecked.push_back(node.message);
    ASSAY_TRY_VOID(record_problems(writer_, ids_.run, "not-read", capture_.warnings));
    auto warnings = report_.warnings;  // a run repeats those of its capture
    std::erase_if(warnings, [&](const std::string& warning) {
      return std::ranges::find(capture_.warnings, warning) != capture_.warnings.end();
    });
    ASSAY_TRY_VOID(record_problems(writer_, ids_.run, "warning", warnings));
    return record_problems(writer_, ids_.run, "unchecked", unchecked);
  }

  auto node(std::size_t i) -> Result<void> {
    const auto& node = capture_.graph.nodes[i];
    const bool ran = i < report_.run.nodes.size();
    const NodeRun& record = ran ? report_.run.nodes[i] : kNotRun;
    NodeRow row{.graph_id = ids_.graph,
                .seq = static_cast<std::int64_t>(i),
                .capture_id = node.id.value,
                .kind = std::string(name(node.kind)),
                .name = node.name,
                .target = node.target,
                .call = print_call(capture_.graph, node),
                .file = {},
                .line = {},
                .function = {},
                .code = {},
                .module = {},
                .status = ran ? status_name(record.status) : "",
                .reason = record.message,
                .duration_ms = {}};
    if (node.origin) {
      row.file = node.origin->file;
      row.line = node.origin->line;
      row.function = node.origin->function;
      row.code = node.origin->code;
      row.module = node.origin->module;
    }
    ASSAY_TRY(const auto id, writer_.add(row));
    ids_.nodes[node.id] = id;
    std::int64_t position = 0;
    for (const auto operand : operands(node))
      if (const auto found = ids_.nodes.find(operand); found != ids_.nodes.end())
        ASSAY_TRY_VOID(writer_.add(OperandRow{id, position++, found->second}));
    ASSAY_TRY_VOID(each_leaf(node.claim, "", [&](const std::string& leaf, const Claim& claim) {
      return add_claim(id, leaf, claim);
    }));
    return each_leaf(record.value, "", [&](const std::string& leaf, const ObservedValue& value) {
      return add_observation(id, leaf, value);
    });
  }

  auto add_claim(TraceId id, const std::string& leaf, const Claim& claim) -> Result<void> {
    ClaimRow row{.node_id = id,
                 .leaf = leaf,
                 .dtype = {},
                 .sizes = {},
                 .strides = {},
                 .storage_offset = {},
                 .device = {},
                 .value = {}};
    if (const auto* meta = claim.tensor()) {
      row.dtype = name(meta->dtype);
      row.sizes = list_text(meta->sizes);
      row.strides = list_text(meta->strides);
      row.storage_offset = print_expr(meta->offset);
      row.device = to_string(meta->device);
    } else {
      row.value = print_expr(*claim.scalar());
    }
    return ignore(writer_.add(row));
  }

  auto add_observation(TraceId id, const std::string& leaf, const ObservedValue& value)
      -> Result<void> {
    ObservationRow row{.node_id = id,
                       .leaf = leaf,
                       .source = "run",
                       .dtype = {},
                       .sizes = {},
                       .strides = {},
                       .storage_offset = {},
                       .device = {},
                       .storage_id = {},
                       .storage_bytes = {},
                       .sum = {},
                       .abs_sum = {},
                       .value = {}};
    if (value.tensor) {
      const auto& meta = value.tensor->meta;
      row.dtype = name(meta.dtype);
      row.sizes = list_text(meta.sizes);
      row.strides = list_text(meta.strides);
      row.storage_offset = meta.offset;
      row.device = to_string(meta.device);
      row.storage_id = value.tensor->storage;
      row.storage_bytes = meta.storage_bytes;
    } else if (value.scalar) {
      row.value = print_expr(*value.scalar);
    }
    return ignore(writer_.add(row));
  }

  auto finding(const Finding& finding) -> Result<void> {
    auto row = finding_row(ids_.run, finding);
    if (const auto found = ids_.nodes.find(finding.node); found != ids_.nodes.end())
      row.node_id = found->second;
    row.graph_id = ids_.graph;
    return ignore(writer_.add(row));
  }

  static auto ignore(Result<TraceId> added) -> Result<void> {
    if (!added) return std::unexpected(added.error());
    return {};
  }

  inline static const NodeRun kNotRun;
  TraceWriter& writer_;
  const Capture& capture_;
  const DebugReport& report_;
  RecordedIds ids_;
};

}  // namespace

auto run_row(const std::string& command, const std::string& source, const std::string& format,
             const std::string& options) -> RunRow {
  return {.command = command,
          .source = source,
          .format = format,
          .options = options,
          .tool = "assay " ASSAY_VERSION,
          .started = utc_now()};
}

auto record_symbols(TraceWriter& writer, TraceId graph, const ShapeEnv& env, const Binding& binding)
    -> Result<void> {
  for (const auto& symbol : env.symbols())
    ASSAY_TRY_VOID(writer.add(SymbolRow{graph, symbol.name, kind_name(symbol.kind),
                                        print_expr(symbol.range.low), print_expr(symbol.range.high),
                                        symbol.hint ? print_expr(*symbol.hint) : "",
                                        fmt::format("{}", fmt::join(symbol.sources, "; "))}));
  std::int64_t seq = 0;
  for (const auto& guard : env.guards()) {
    const auto value = evaluate(guard.condition, binding);
    ASSAY_TRY_VOID(writer.add(GuardRow{graph, seq++, print_expr(guard.condition), guard.text,
                                       guard.where, value ? value->as_bool() : std::nullopt}));
  }
  return {};
}

auto record_graph(TraceWriter& writer, const Graph& graph, GraphRow row) -> Result<RecordedIds> {
  Capture capture;
  capture.graph = graph;
  const DebugReport not_run;
  return Recorder(writer, capture, not_run).record(std::move(row));
}

auto record_problems(TraceWriter& writer, TraceId run, const std::string& kind,
                     const std::vector<std::string>& messages) -> Result<void> {
  std::map<std::string, std::int64_t> counts;
  for (const auto& message : messages) ++counts[message];
  for (const auto& [message, times] : counts)
    ASSAY_TRY_VOID(writer.add(ProblemRow{run, kind, message, times}));
  return {};
}

auto finding_row(TraceId run, const Finding& finding) -> FindingRow {
  return {.run_id = run,
          .node_id = {},
          .leaf = finding.leaf,
          .kind = std::string(info(finding.kind).name),
          .blame = finding.blame == Blame::root ? "root" : "inherited",
          .root_node_id = {},
          .claimed = finding.claimed,
          .observed = finding.observed,
          .witness = finding.witness,
          .message = finding.message,
          .severity = info(finding.kind).severity == Severity::note ? "note" : "finding",
          .title = std::string(info(finding.kind).title),
          .claimed_value = finding.claimed_value,
          .rule = finding.rule};
}

auto record_trace(const std::string& path, const Capture& capture, const DebugReport& report,
                  const std::string& command, const std::string& options, int exit_code,
                  const MoreRows& more) -> Result<void> {
  ASSAY_TRY(auto writer, TraceWriter::create(path));
  return Recorder(writer, capture, report).record(command, options, exit_code, more);
}

}  // namespace assay
