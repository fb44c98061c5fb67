#include "replay/report/compile_rows.h"

#include <algorithm>
#include <charconv>

#include "replay/report/programs.h"

namespace assay {
namespace {

/// Nodes whose values a graph returns, in the order of what a program returns; nothing for numbers.
void returned_nodes(const Arg& arg, std::vector<std::optional<NodeId>>& nodes) {
  if (const auto* items = std::get_if<SequenceArg>(&arg.value)) {
    for (const auto& item : items->items) returned_nodes(item, nodes);
    return;
  }
  const auto* node = std::get_if<NodeId>(&arg.value);
  nodes.push_back(node != nullptr ? std::optional(*node) : std::nullopt);
}

/// "output 3" -> 3; nothing for other names.
auto number_behind(std::string_view text, std::string_view word) -> std::optional<std::size_t> {
  if (!text.starts_with(word)) return std::nullopt;
  text.remove_prefix(word.size());
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

auto elements_of(const std::vector<FirstValues>* values) -> std::string {
  return values == nullptr || values->empty() ? std::string() : values->front().elements;
}

class CompileRecorder {
 public:
  CompileRecorder(TraceWriter& writer, const RecordedIds& ids, const CompileRecord& record)
      : writer_(writer), ids_(ids), record_(record) {
    for (const auto& node : record.capture.graph.nodes)
      if (const auto id = ids.nodes.find(node.id); id != ids.nodes.end())
        nodes_[node.name] = id->second;
  }

  auto run() -> Result<void> {
    const auto* comparison = record_.comparison;
    ASSAY_TRY(
        recorded_,
        record_program(
            writer_, {.program = record_.compiled.program,
                      .row = {.run_id = ids_.run,
                              .parent_id = {},
                              .name = "compiled program",
                              .kind = "program",
                              .hash = {},
                              .text = {}},
                      .nodes = nodes_,
                      .call_nodes = &record_.compiled.call_nodes,
                      .memory = record_.memory,
                      .sizes = record_.sizes,
                      .run = comparison != nullptr ? &comparison->run : nullptr,
                      .written = record_.values != nullptr ? &record_.values->program : nullptr}));
    ASSAY_TRY_VOID(values());
    if (comparison != nullptr) ASSAY_TRY_VOID(differences(*comparison));
    ASSAY_TRY_VOID(decisions());
    if (record_.proofs != nullptr)
      ASSAY_TRY_VOID(record_verdicts(writer_, ids_.run, recorded_, *record_.proofs));
    return problems();
  }

 private:
  auto values() -> Result<void> {
    if (record_.values == nullptr) return {};
    for (const auto& [node, values] : record_.values->graph)
      if (const auto id = ids_.nodes.find(node); id != ids_.nodes.end())
        ASSAY_TRY_VOID(record_values(writer_, id->second, {}, "graph", values));
    return {};
  }

  auto differences(const CompiledComparison& comparison) -> Result<void> {
    std::vector<std::optional<NodeId>> outputs;
    if (const auto* output = record_.capture.graph.output())
      returned_nodes(output->args.at(0), outputs);
    for (const auto& one : comparison.compared) {
      if (one.message.empty()) continue;
      FindingRow row{.run_id = ids_.run,
                     .node_id = {},
                     .leaf = {},
                     .kind = "program-differs",
                     .blame = "root",
                     .root_node_id = {},
                     .claimed = {},
                     .observed = {},
                     .witness = record_.sizes,
                     .message = one.what + ": " + one.message,
                     .severity = "finding",
                     .title = "the program gives something else than its graph"};
      row.graph_id = ids_.graph;
      const auto place = number_behind(one.what, "output ");
      if (place && *place < outputs.size() && outputs[*place]) at_output(row, *outputs[*place]);
      if (place) at_launch(row, *place);
      ASSAY_TRY_VOID(writer_.add(row));
    }
    return {};
  }

  void at_output(FindingRow& row, NodeId node) const {
    if (const auto id = ids_.nodes.find(node); id != ids_.nodes.end()) row.node_id = id->second;
    if (record_.values == nullptr) return;
    const auto known = record_.values->graph.find(node);
    row.claimed = elements_of(known == record_.values->graph.end() ? nullptr : &known->second);
  }

  /// The launch that last wrote the buffer which the program returns there.
  void at_launch(FindingRow& row, std::size_t place) const {
    if (record_.values == nullptr) return;
    for (const auto& op : record_.compiled.program.functions.back().ops) {
      const auto* returned = std::get_if<HostReturn>(&op.what);
      if (returned == nullptr || place >= returned->values.size()) continue;
      const auto* view = std::get_if<HostView>(&returned->values[place].value);
      const auto writer =
          view == nullptr ? recorded_.last_writer.end() : recorded_.last_writer.find(view->base);
      if (writer == recorded_.last_writer.end()) continue;
      if (const auto at = recorded_.launches.find(writer->second); at != recorded_.launches.end())
        row.launch_id = at->second;
      for (const auto& value : record_.values->program.at(writer->second))
        if (value.leaf == view->base) row.observed = value.elements;
    }
  }

  auto decisions() -> Result<void> {
    std::int64_t seq = 0;
    for (const auto& made : record_.compiled.decisions) {
      DecisionRow row{.graph_id = recorded_.graph,
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
    if (record_.comparison != nullptr)
      ASSAY_TRY_VOID(record_problems(writer_, ids_.run, "note", record_.comparison->notes));
    if (record_.memory != nullptr)
      ASSAY_TRY_VOID(record_problems(writer_, ids_.run, "wrong-plan", record_.memory->broken));
    if (record_.not_planned.empty()) return {};
    return record_problems(writer_, ids_.run, "not-planned", {record_.not_planned});
  }

  TraceWriter& writer_;
  const RecordedIds& ids_;
  const CompileRecord& record_;
  RecordedProgram recorded_;
  std::map<std::string, TraceId> nodes_;
};

}  // namespace

auto record_compiled(const std::string& path, const CompileRecord& record, int exit_code)
    -> Result<void> {
  return record_trace(path, record.capture, {}, "compile", record.sizes, exit_code,
                      [&](TraceWriter& writer, const RecordedIds& ids) {
                        return CompileRecorder(writer, ids, record).run();
                      });
}

}  // namespace assay
