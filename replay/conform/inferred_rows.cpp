#include "replay/conform/inferred_rows.h"

#include <map>
#include <unordered_map>

namespace assay {
namespace {

/// The datum with tensors replaced by their layouts; storages are numbered as in the recording.
auto fake(const Datum& datum, const std::unordered_map<const Storage*, int>& ids) -> Datum {
  if (const auto* tensor = datum.real()) {
    const auto id = ids.find(tensor->storage.get());
    return {FakeTensor{to_claim(tensor->meta), id == ids.end() ? -1 : id->second}};
  }
  if (const auto* list = datum.list()) {
    DatumList items;
    for (const auto& item : *list) items.push_back(fake(item, ids));
    return {std::move(items)};
  }
  return datum;
}

/// The schema with the name under which graphs call it: "my::op(…)" of my.op.default becomes
/// "my::op.default(…)".
auto named_schema(const std::string& schema, std::string name) -> std::string {
  const auto dot = name.find('.');
  const auto open = schema.find('(');
  if (dot == std::string::npos || open == std::string::npos) return schema;
  return name.replace(dot, 1, "::") + schema.substr(open);
}

auto sample_of(const OperatorCase& record, const Schema& schema) -> Result<OperatorSample> {
  std::unordered_map<const Storage*, int> ids;
  for (std::size_t i = 0; i < record.before.size(); ++i) {
    ids[record.before[i].get()] = static_cast<int>(i);
    ids[record.after[i].get()] = static_cast<int>(i);
  }
  ASSAY_TRY(const auto bound, bind_arguments(schema, record.args, record.kwargs));
  OperatorSample sample{.id = record.id, .args = {}, .result = {}};
  for (const auto& arg : bound) sample.args.push_back(fake(arg, ids));
  DatumList results;
  for (const auto& result : record.results) results.push_back(fake(result, ids));
  const bool is_one = schema.returns.size() == 1;
  sample.result = is_one && results.size() == 1 ? results.front() : Datum{std::move(results)};
  return sample;
}

}  // namespace

auto infer_operators(const CaseSource& cases, const OpTable& table)
    -> Result<std::vector<InferredOperator>> {
  struct Recorded {
    Schema schema;
    std::vector<OperatorSample> samples;
    std::string problem, schema_text;
  };
  std::map<std::string, Recorded> recorded;
  ASSAY_TRY_VOID(for_each_case(cases, {}, [&](const OperatorCase& record) {
    const auto* row = table.find(record.overload);
    if (row && !row->inferred) return;
    auto& entry = recorded[record.overload];
    const auto text = named_schema(record.schema, record.overload);
    auto schema = parse_schema(text);
    if (!schema) return entry.problem = schema.error().message, void();
    auto sample = sample_of(record, *schema);
    if (!sample) return entry.problem = sample.error().message, void();
    entry.schema = *std::move(schema);
    entry.schema_text = text;
    entry.samples.push_back(*std::move(sample));
  }));
  std::vector<InferredOperator> operators;
  for (const auto& [overload, entry] : recorded) {
    auto rule = infer_rule(entry.schema, entry.samples);
    if (!entry.problem.empty() && rule.spaces.empty()) rule.reason = entry.problem;
    rule.schema_text = entry.schema_text;
    operators.push_back(
        {overload, entry.samples.size(), std::make_shared<const InferredRule>(std::move(rule))});
  }
  return operators;
}

void add_inferred_rows(OpTable& table, const std::vector<InferredOperator>& operators) {
  for (const auto& op : operators)
    if (op.rule->state == InferenceState::confirmed && !table.find(op.overload))
      table.add_owned(inferred_row(op.rule), op.rule->schema_text);
}

auto to_string(const InferredOperator& op) -> std::string {
  if (op.rule->state != InferenceState::confirmed)
    return fmt::format("{}: no rule can be inferred from {} recorded calls: {}", op.overload,
                       op.calls, op.rule->reason);
  return fmt::format(
      "{}: rule inferred from {} recorded calls (call {} predicted by the others): {}", op.overload,
      op.rule->confirmed_by.size(), op.rule->held_back, op.rule->formula);
}

}  // namespace assay
