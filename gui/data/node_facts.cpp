#include "gui/data/node_facts.h"

#include <algorithm>

#include "gui/data/statements.h"
#include "replay/trace/pages.h"

namespace assay {
namespace {

auto ask(const TraceReader& reader, std::string_view name, TraceId node) -> Result<TraceAnswer> {
  const auto sql = statement(name, reader.version());
  if (sql.empty()) return TraceAnswer{};  // an older trace
  const std::vector<TraceValue> parameters = {node};
  return reader.query(sql, parameters);
}

auto add_values(const TraceReader& reader, std::string_view statement, bool is_program,
                NodeFacts& facts) -> Result<void> {
  ASSAY_TRY(const auto values, ask(reader, statement, facts.id));
  for (const auto& row : values.rows)
    facts.values.push_back({.of = to_text(row[0]),
                            .leaf = to_text(row[1]),
                            .layout = to_text(row[2]),
                            .elements = to_text(row[3]),
                            .is_program = is_program});
  return {};
}

auto leaf_of(const std::vector<TraceValue>& row) -> LeafFacts {
  return {.leaf = to_text(row[0]),
          .dtype = to_text(row[1]),
          .sizes = to_text(row[2]),
          .strides = to_text(row[3]),
          .offset = to_text(row[4]),
          .device = to_text(row[5]),
          .value = to_text(row[6])};
}

auto refs_of(const TraceAnswer& answer) -> std::vector<NodeRef> {
  std::vector<NodeRef> refs;
  for (const auto& row : answer.rows)
    refs.push_back({to_number(row[0]), to_text(row[1]), to_text(row[2])});
  return refs;
}

}  // namespace

auto read_node_facts(const TraceReader& reader, TraceId node) -> Result<NodeFacts> {
  ASSAY_TRY(const auto found, ask(reader, "node", node));
  if (found.rows.empty()) return bad_input("the trace has no node {}", node);
  const auto& row = found.rows.front();
  NodeFacts facts;
  facts.id = to_number(row[0]);
  facts.graph = to_number(row[1]);
  facts.seq = to_number(row[2]);
  facts.name = to_text(row[3]);
  facts.target = to_text(row[4]);
  facts.call = to_text(row[5]);
  facts.file = to_text(row[6]);
  facts.line = to_number(row[7]);
  facts.function = to_text(row[8]);
  facts.code = to_text(row[9]);
  facts.module = to_text(row[10]);
  facts.status = to_text(row[11]);
  facts.reason = to_text(row[12]);
  facts.capture_id = to_number(row[13]);
  facts.kind = to_text(row[14]);
  ASSAY_TRY(const auto claims, ask(reader, "claims", node));
  for (const auto& claim : claims.rows) facts.claimed.push_back(leaf_of(claim));
  ASSAY_TRY(const auto seen, ask(reader, "observations", node));
  for (const auto& one : seen.rows) {
    facts.real.push_back(leaf_of(one));
    if (one[7].index() != 0) facts.real.back().storage = to_number(one[7]);
    if (one[8].index() != 0) facts.real.back().storage_bytes = to_number(one[8]);
  }
  ASSAY_TRY(const auto inputs, ask(reader, "inputs", node));
  facts.inputs = refs_of(inputs);
  ASSAY_TRY(const auto users, ask(reader, "users", node));
  facts.users = refs_of(users);
  // One that reads it twice is one reader.
  const auto twice = std::ranges::unique(facts.users, {}, &NodeRef::id);
  facts.users.erase(twice.begin(), twice.end());
  ASSAY_TRY(const auto findings, ask(reader, "node findings", node));
  for (const auto& finding : findings.rows)
    facts.findings.push_back(
        fmt::format("{} ({}): {}", to_text(finding[1]), to_text(finding[2]), to_text(finding[3])));
  ASSAY_TRY_VOID(add_values(reader, "values of node", false, facts));
  ASSAY_TRY_VOID(add_values(reader, "values of launches of node", true, facts));
  return facts;
}

}  // namespace assay
