#include "replay/report/compile_report.h"

#include <cmath>

#include <nlohmann/json.hpp>

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

struct Counts {
  int kernels = 0, calls = 0, stored = 0;
};
auto counts_of(const CompiledGraph& compiled) -> Counts {
  Counts counts;
  for (const auto& op : compiled.program.functions.back().ops) {
    if (std::holds_alternative<HostLaunch>(op.what)) ++counts.kernels;
    if (std::holds_alternative<HostCall>(op.what)) ++counts.calls;
    if (std::holds_alternative<HostAlloc>(op.what)) ++counts.stored;
  }
  return counts;
}

auto decision_text(const CompileDecision& decision) -> std::string {
  switch (decision.kind) {
    case CompileDecision::Kind::store:
      return fmt::format("{} ({}): {}: {}", decision.subject, decision.other,
                         decision.accepted ? "stored" : "computed where it is read",
                         decision.reason);
    case CompileDecision::Kind::fuse:
      return fmt::format("{} {} the kernel of {}: {}", decision.subject,
                         decision.accepted ? "joins" : "does not join", decision.other,
                         decision.reason);
    case CompileDecision::Kind::merge:
      return fmt::format("the kernel of {} {} its axes {}: {}", decision.subject,
                         decision.accepted ? "merges" : "does not merge", decision.other,
                         decision.reason);
    case CompileDecision::Kind::reuse:
      return decision.accepted
                 ? fmt::format("{} stands where {} stood: {}", decision.subject, decision.other,
                               decision.reason)
                 : fmt::format("{} has a place of its own: {}", decision.subject, decision.reason);
    case CompileDecision::Kind::library:
      break;
  }
  return fmt::format("{}: {} is called: {}", decision.subject, decision.other, decision.reason);
}

auto memory_text(const ProgramMemory& memory, const Paint& paint) -> std::string {
  std::string text;
  const auto& plan = memory.plan;
  for (std::size_t i = 0; i < memory.bound.buffers.size(); ++i) {
    const auto& buffer = memory.bound.buffers[i];
    if (plan.offsets[i] >= 0)
      text += fmt::format("{}: bytes {} to {}, steps {} to {}\n", buffer.name, plan.offsets[i],
                          plan.offsets[i] + buffer.size_bytes, buffer.first, buffer.last);
  }
  for (const auto& broken : memory.broken)
    text += fmt::format("{} {}\n", paint("wrong plan:", Style::red), broken);
  text += fmt::format("temporaries: {} bytes in the arena, {} live at once, {} without reuse\n",
                      plan.arena_bytes, plan.live_bytes, plan.sum_bytes);
  return text;
}

auto memory_json(const ProgramMemory& memory) -> Json {
  Json json = {{"arena_bytes", memory.plan.arena_bytes},
               {"live_bytes", memory.plan.live_bytes},
               {"sum_bytes", memory.plan.sum_bytes},
               {"broken", memory.broken},
               {"buffers", Json::array()}};
  for (std::size_t i = 0; i < memory.bound.buffers.size(); ++i)
    if (const auto& buffer = memory.bound.buffers[i]; memory.plan.offsets[i] >= 0)
      json["buffers"].push_back({{"name", buffer.name},
                                 {"offset_bytes", memory.plan.offsets[i]},
                                 {"size_bytes", buffer.size_bytes},
                                 {"first_step", buffer.first},
                                 {"last_step", buffer.last}});
  return json;
}

}  // namespace

auto check_text(const CompiledComparison& comparison, const Paint& paint) -> std::string {
  std::string text;
  int differing = 0;
  for (const auto& one : comparison.compared) {
    if (one.message.empty()) continue;
    ++differing;
    text += fmt::format("{} {}: {}\n", paint("differs", Style::red), one.what, one.message);
  }
  for (const auto& finding : comparison.run.findings)
    text += fmt::format("{} {}: {}\n", paint(name(finding.fault), Style::red), finding.statement,
                        finding.message);
  for (const auto& note : comparison.notes) text += note + "\n";
  const auto accesses = comparison.is_checked
                            ? fmt::format("{} wrong accesses", comparison.run.findings.size())
                            : std::string("accesses are not checked");
  text += fmt::format("{} of {} tensors agree with the graph; {}; {:.2f} s\n",
                      comparison.compared.size() - static_cast<std::size_t>(differing),
                      comparison.compared.size(), accesses, comparison.seconds);
  return text + on_host_text(comparison.run.on_host);
}

auto outputs_text(const ProgramRun& run) -> std::string {
  std::string text;
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    text += fmt::format("output[{}]: {}", i, to_string(run.outputs[i]));
    if (const auto* tensor = run.outputs[i].real(); tensor && !is_complex(tensor->dtype())) {
      double sum = 0, magnitude = 0;
      for (const auto value : to_vector<double>(*tensor)) {
        sum += value;
        magnitude += std::abs(value);
      }
      text += fmt::format("  sum {:.6g}  abs {:.6g}", sum, magnitude);
    }
    text += "\n";
  }
  return text + fmt::format("{} launches, {} library calls\n", run.launches, run.calls) +
         on_host_text(run.on_host);
}

auto on_host_text(const std::map<std::string, int>& calls) -> std::string {
  std::vector<std::string> items;
  for (const auto& [name, count] : calls) items.push_back(fmt::format("{} ({})", name, count));
  return items.empty() ? "" : fmt::format("on the host: {}\n", fmt::join(items, ", "));
}

auto has_findings(const CompiledComparison& comparison) -> bool {
  if (!comparison.run.findings.empty()) return true;
  for (const auto& one : comparison.compared)
    if (!one.message.empty()) return true;
  return false;
}

auto compile_text(const CompileReport& report, const Paint& paint) -> std::string {
  const auto counts = counts_of(report.compiled);
  std::string text;
  for (const auto& op : report.compiled.program.functions.back().ops) text += op.text + "\n";
  if (report.kernels)
    for (const auto& [key, source] : report.compiled.program.kernels)
      text += fmt::format("\n# {}\n{}", fmt::join(source.nodes, ", "), source.text);
  if (report.decisions) {
    text += "\n";
    for (const auto& decision : report.compiled.decisions) text += decision_text(decision) + "\n";
  }
  text += fmt::format("{} calls of the graph: {} kernels, {} library calls, {} tensors in memory\n",
                      report.graph.call_count(), counts.kernels, counts.calls, counts.stored);
  if (report.memory != nullptr) text += memory_text(*report.memory, paint);
  if (report.comparison != nullptr) text += check_text(*report.comparison, paint);
  return text;
}

auto compile_json(const CompileReport& report) -> std::string {
  const auto counts = counts_of(report.compiled);
  Json json;
  json["calls"] = report.graph.call_count();
  json["kernels"] = counts.kernels;
  json["library_calls"] = counts.calls;
  json["stored"] = counts.stored;
  for (const auto& op : report.compiled.program.functions.back().ops)
    json["program"].push_back(op.text);
  if (report.kernels)
    for (const auto& [key, source] : report.compiled.program.kernels)
      json["kernel_texts"][key] = {{"nodes", source.nodes}, {"text", source.text}};
  if (report.decisions)
    for (const auto& decision : report.compiled.decisions)
      json["decisions"].push_back({{"kind", name(decision.kind)},
                                   {"accepted", decision.accepted},
                                   {"subject", decision.subject},
                                   {"other", decision.other},
                                   {"reason", decision.reason}});
  if (report.memory != nullptr) json["memory"] = memory_json(*report.memory);
  if (const auto* comparison = report.comparison) {
    auto& check = json["check"];
    check["compared"] = comparison->compared.size();
    check["seconds"] = comparison->seconds;
    check["differences"] = Json::array();
    for (const auto& one : comparison->compared)
      if (!one.message.empty())
        check["differences"].push_back({{"what", one.what}, {"message", one.message}});
    check["findings"] = Json::array();
    for (const auto& finding : comparison->run.findings)
      check["findings"].push_back({{"fault", name(finding.fault)},
                                   {"statement", finding.statement},
                                   {"kernel", finding.kernel},
                                   {"buffer", finding.buffer},
                                   {"element", finding.element},
                                   {"message", finding.message}});
    check["notes"] = comparison->notes;
  }
  return json.dump(2) + "\n";
}

}  // namespace assay
