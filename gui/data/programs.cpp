#include "gui/data/programs.h"

#include <algorithm>
#include <map>
#include <set>

#include "gui/data/statements.h"
#include "replay/trace/pages.h"

namespace assay {
namespace {

auto ask(const TraceReader& reader, std::string_view name, TraceId program) -> Result<TraceAnswer> {
  const auto sql = statement(name, reader.version());
  if (sql.empty()) return TraceAnswer{};  // an older trace
  const std::vector<TraceValue> parameters = {program};
  return reader.query(sql, parameters);
}

auto step_or_none(const TraceValue& value) -> std::int64_t {
  return value.index() == 0 ? -1 : to_number(value);
}

auto read_launches(const TraceReader& reader, ProgramFacts& program) -> Result<void> {
  ASSAY_TRY(const auto launches, ask(reader, "launches", program.id));
  std::map<TraceId, std::size_t> at;
  for (const auto& row : launches.rows) {
    at[to_number(row[0])] = program.launches.size();
    program.launches.push_back({.id = to_number(row[0]),
                                .kernel = to_number(row[4]),
                                .line = to_number(row[5]),
                                .kind = to_text(row[2]),
                                .target = to_text(row[3]),
                                .grid = to_text(row[6]),
                                .extents = to_text(row[7]),
                                .text = to_text(row[8]),
                                .nodes = {},
                                .names = {},
                                .reads = {},
                                .writes = {},
                                .findings = {}});
  }
  ASSAY_TRY(const auto nodes, ask(reader, "nodes of launches", program.id));
  for (const auto& row : nodes.rows) {
    auto& launch = program.launches[at.at(to_number(row[0]))];
    launch.nodes.push_back(
        {.graph = to_number(row[2]), .node = to_number(row[1]), .launch = launch.id});
    launch.names.push_back(to_text(row[3]));
  }
  ASSAY_TRY(const auto buffers, ask(reader, "buffers of launches", program.id));
  for (const auto& row : buffers.rows) {
    auto& launch = program.launches[at.at(to_number(row[0]))];
    const auto access = to_text(row[2]);
    if (access != "writes") launch.reads.push_back(to_text(row[1]));
    if (access != "reads") launch.writes.push_back(to_text(row[1]));
  }
  ASSAY_TRY(const auto findings, ask(reader, "findings of launches", program.id));
  for (const auto& row : findings.rows)
    program.launches[at.at(to_number(row[0]))].findings.push_back(
        {.kind = to_text(row[1]), .message = to_text(row[2]), .kernel_line = to_number(row[3])});
  return {};
}

auto read_buffers(const TraceReader& reader, ProgramFacts& program) -> Result<void> {
  ASSAY_TRY(const auto buffers, ask(reader, "buffers", program.id));
  for (const auto& row : buffers.rows) {
    BufferFacts buffer{.name = to_text(row[1]),
                       .kind = to_text(row[2]),
                       .dtype = to_text(row[3]),
                       .written_over = to_text(row[8]),
                       .bytes = to_number(row[4]),
                       .offset = {},
                       .first = step_or_none(row[6]),
                       .last = step_or_none(row[7])};
    if (row[5].index() != 0) buffer.offset = to_number(row[5]);
    program.buffers.push_back(std::move(buffer));
  }
  return {};
}

}  // namespace

auto read_program_at(const TraceReader& reader, const Cursor& cursor, TraceId shown)
    -> Result<ProgramFacts> {
  TraceAnswer found;
  if (cursor.launch != 0) {
    ASSAY_TRY(found, ask(reader, "program of launch", cursor.launch));
  } else if (cursor.node != 0) {
    ASSAY_TRY(found, ask(reader, "program of node", cursor.node));
  }
  const auto id = found.rows.empty() ? cursor.graph : to_number(found.rows[0][0]);
  if (id == shown) return ProgramFacts{};
  ASSAY_TRY(auto program, read_program(reader, id));
  return program.id == id ? std::move(program) : ProgramFacts{};
}

auto read_program(const TraceReader& reader, TraceId id) -> Result<ProgramFacts> {
  ProgramFacts program;
  const auto sql = statement("programs", reader.version());
  if (sql.empty()) return program;
  ASSAY_TRY(const auto found, reader.query(sql));
  if (found.rows.empty()) return program;
  for (const auto& one : found.rows) program.all.emplace_back(to_number(one[0]), to_text(one[1]));
  const auto wanted = std::ranges::find(
      found.rows, id, [](const std::vector<TraceValue>& one) { return to_number(one[0]); });
  if (id != 0 && wanted == found.rows.end()) return ProgramFacts{};
  const auto& row = id == 0 ? found.rows.front() : *wanted;
  program.id = to_number(row[0]);
  program.name = to_text(row[1]);
  program.text = to_text(row[2]);
  program.is_planned = row[3].index() != 0;
  program.arena_bytes = to_number(row[3]);
  program.live_bytes = to_number(row[4]);
  program.sum_bytes = to_number(row[5]);
  program.sizes = to_text(row[7]);
  ASSAY_TRY_VOID(read_launches(reader, program));
  ASSAY_TRY_VOID(read_buffers(reader, program));
  ASSAY_TRY(const auto decisions, ask(reader, "decisions", program.id));
  for (const auto& made : decisions.rows)
    program.decisions.push_back(
        {.kind = to_text(made[1]),
         .verdict = to_text(made[2]),
         .subject = to_text(made[3]),
         .other = to_text(made[4]),
         .reason = to_text(made[5]),
         .cursor = {.graph = to_number(made[7]), .node = to_number(made[6])}});
  return program;
}

auto live_bytes(const ProgramFacts& program) -> std::vector<std::int64_t> {
  std::int64_t last = std::ssize(program.launches) - 1;
  for (const auto& buffer : program.buffers)
    if (buffer.offset) last = std::max(last, buffer.last);
  std::vector<std::int64_t> change(static_cast<std::size_t>(last + 2), 0);
  std::map<std::string, const BufferFacts*> by_name;
  for (const auto& buffer : program.buffers) by_name[buffer.name] = &buffer;
  for (const auto& buffer : program.buffers) {
    if (!buffer.offset || buffer.first < 0 || buffer.last < buffer.first) continue;
    auto first = buffer.first;
    if (const auto operand = by_name.find(buffer.written_over);
        !buffer.written_over.empty() && operand != by_name.end())
      first = std::max(first, operand->second->last + 1);
    if (first > buffer.last) continue;
    change[static_cast<std::size_t>(first)] += buffer.bytes;
    change[static_cast<std::size_t>(buffer.last + 1)] -= buffer.bytes;
  }
  for (std::size_t i = 1; i < change.size(); ++i) change[i] += change[i - 1];
  change.pop_back();
  return change;
}

auto step_of(const ProgramFacts& program, const Cursor& cursor) -> std::int64_t {
  const auto& launches = program.launches;
  const auto is_here = [&](const LaunchFacts& launch) {
    if (cursor.launch != 0) return launch.id == cursor.launch;
    return cursor.node != 0 &&
           std::ranges::find(launch.nodes, cursor.node, &Cursor::node) != launch.nodes.end();
  };
  const auto found = std::ranges::find_if(launches, is_here);
  return found == launches.end() ? -1 : found - launches.begin();
}

}  // namespace assay
