// Whether what Dynamo compiled is a whole function.
#include <algorithm>
#include <ranges>
#include <set>

#include "replay/formats/json.h"
#include "replay/formats/torch_trace.h"

namespace assay {
namespace {

constexpr std::string_view kResumed = "torch_dynamo_resume_in_";

/// Functions that are running where Dynamo starts with a frame, the frame's own last.
auto running_at(const TraceEvent& start) -> std::vector<std::string> {
  std::vector<std::string> names;
  const auto json = JsonDocument::parse(start.body, start.kind);
  if (!json) return names;
  for (const auto& frame : json->root()["stack"].items()) names.push_back(frame["name"].text());
  return names;
}

/// Of the last start of a compilation's frame; nothing where the log does not say.
auto running_at(const TraceLog& log, const TraceCompilation& compilation)
    -> std::vector<std::string> {
  for (const auto& event : log.events | std::views::reverse)
    if (event.kind == "dynamo_start" && event.compile_id == compilation.compile_id)
      return running_at(event);
  return {};
}

}  // namespace

auto is_resumed(const TraceLog& log, const TraceCompilation& compilation) -> bool {
  const auto running = running_at(log, compilation);
  return !running.empty() && running.back().starts_with(kResumed);
}

auto answered_compilations(const std::vector<TraceCompilation>& all)
    -> std::vector<const TraceCompilation*> {
  std::vector<const TraceCompilation*> coded, others;
  for (const auto& one : all)
    if (!one.output_codes.empty())
      coded.push_back(&one);
    else if (one.is_last_attempt && !one.graphs.empty())
      others.push_back(&one);
  return coded.empty() ? others : coded;
}

auto is_in_parts(const TraceLog& log, const std::vector<TraceCompilation>& all) -> bool {
  const auto answered = answered_compilations(all);
  if (answered.empty()) return false;
  const auto& first = *answered.front();
  const auto& given = first.output_codes.empty() ? first.graphs : first.output_codes;
  const auto resumed = fmt::format("\"{}", kResumed);
  const auto resumes_after = [&](std::size_t event) {
    const auto later = std::span(log.events).subspan(event);
    return std::ranges::any_of(later, [&](const TraceEvent& one) {
      return one.kind == "dynamo_start" && one.body.contains(resumed);
    });
  };
  if (resumes_after(answered.size() > 1 ? 0 : given.front().event + 1)) return true;
  // A function that Dynamo began with runs still: what it calls was compiled.
  const auto running = running_at(log, *answered.back());
  std::set<std::string> begun;
  for (const auto& event : log.events)
    if (event.kind == "dynamo_start")
      if (const auto names = running_at(event); !names.empty()) begun.insert(names.back());
  return !running.empty() &&
         std::ranges::any_of(std::span(running).first(running.size() - 1),
                             [&](const std::string& name) { return begun.contains(name); });
}

}  // namespace assay
