#include "core/expr/text.h"
#include "replay/bundle/capture_section.h"
#include "replay/bundle/capture_tables.h"
#include "replay/bundle/sha256.h"
#include "replay/formats/json.h"

namespace assay {
namespace {

/// A list with one item per line, so that people and diff tools can read it.
auto lines(const std::vector<std::string>& items, std::string_view brackets) -> std::string {
  if (items.empty()) return std::string(brackets);
  return fmt::format("{}\n  {}\n {}", brackets[0], fmt::join(items, ",\n  "), brackets[1]);
}

/// Constants as JSON; anything else as the text of an expression.
auto print_scalar(const Expr& e) -> std::string {
  if (const auto value = e.as_int()) return std::to_string(*value);
  if (const auto value = e.as_real()) return json_number(*value);
  if (const auto value = e.as_bool()) return *value ? "true" : "false";
  return fmt::format("{{\"expr\": {}}}", json_quote(print_expr(e)));
}

auto print_dims(const Dims& dims) -> std::string {
  std::vector<std::string> parts;
  for (const auto& dim : dims) parts.push_back(print_scalar(dim));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

auto print_layout(const RealMeta& meta) -> std::string {
  auto text =
      fmt::format(R"("dtype": "{}", "size": [{}], "stride": [{}], "offset": {})", name(meta.dtype),
                  fmt::join(meta.sizes, ", "), fmt::join(meta.strides, ", "), meta.offset);
  if (meta.device.type.empty()) return text;  // not recorded
  return text + fmt::format(R"(, "device": {})", json_quote(to_string(meta.device)));
}

auto print_tensor(const RecordedTensor& tensor) -> std::string {
  return fmt::format(R"("storage": {}, {})", tensor.storage, print_layout(tensor.meta));
}

auto print_symbolic(const SymbolicInput& input) -> std::string {
  const auto& meta = input.meta;
  auto text = fmt::format(
      R"("symbolic": true, "dtype": "{}", "size": {}, "stride": {}, "offset": {}, "device": {})",
      name(meta.dtype), print_dims(meta.sizes), print_dims(meta.strides), print_scalar(meta.offset),
      json_quote(to_string(meta.device)));
  if (meta.requires_grad) text += R"(, "requires_grad": true)";
  if (input.storage_bytes)
    text += fmt::format(R"(, "storage_bytes": {})", print_scalar(*input.storage_bytes));
  return text + fmt::format(R"(, "group": {})", input.storage);
}

auto print_input(const std::string& name, const InputValue& value) -> std::string {
  std::string text;
  if (const auto* scalar = std::get_if<Expr>(&value))
    text = fmt::format(R"(, "value": {})", print_scalar(*scalar));
  else if (const auto* tensor = std::get_if<RecordedTensor>(&value))
    text = ", " + print_tensor(*tensor);
  else if (const auto* symbolic = std::get_if<SymbolicInput>(&value))
    text = ", " + print_symbolic(*symbolic);
  else if (std::holds_alternative<NoneArg>(value))
    text = R"(, "none": true)";
  else if (const auto* words = std::get_if<std::string>(&value))
    text = fmt::format(R"(, "text": {})", json_quote(*words));
  return fmt::format(R"({{"name": {}{}}})", json_quote(name), text);
}

auto print_storage(const StorageData& storage, const std::string& hash) -> std::string {
  auto text = fmt::format(R"({{"bytes": {})", storage.size_bytes);
  if (!hash.empty()) text += fmt::format(R"(, "blob": "{}")", hash);
  if (const auto* fill = std::get_if<Fill>(&storage.content))
    text += fmt::format(R"(, "fill": {{"seed": {}, "lo": {}, "hi": {}}})", fill->seed,
                        json_number(fill->lo), json_number(fill->hi));
  if (storage.made_up) text += R"(, "made_up": true)";
  if (storage.fill_dtype) text += fmt::format(R"(, "dtype": "{}")", name(*storage.fill_dtype));
  return text + "}";
}

auto print_observation(const Observation& seen) -> std::string {
  std::vector<std::string> parts;
  if (seen.tensor) {
    parts.push_back(print_layout(*seen.tensor));
    if (seen.tensor->storage_bytes != 0)
      parts.push_back(fmt::format(R"("storage_bytes": {})", seen.tensor->storage_bytes));
  }
  if (seen.alias_group >= 0) parts.push_back(fmt::format(R"("alias": {})", seen.alias_group));
  if (seen.scalar) parts.push_back(fmt::format(R"("value": {})", print_scalar(*seen.scalar)));
  if (seen.sum) parts.push_back(fmt::format(R"("sum": {})", json_number(*seen.sum)));
  if (seen.abs_sum) parts.push_back(fmt::format(R"("abs": {})", json_number(*seen.abs_sum)));
  if (seen.is_tuple) {
    std::vector<std::string> items;
    for (const auto& item : seen.items) items.push_back(print_observation(item));
    parts.push_back(fmt::format(R"("items": [{}])", fmt::join(items, ", ")));
  }
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

template <class Roles, class Names>
auto print_roles(const Roles& roles, const Names& names) -> std::vector<std::string> {
  std::vector<std::string> items;
  for (const auto& role : roles)
    for (const auto& row : names)
      if (row.kind == role.kind)
        items.push_back(
            fmt::format(R"({{"kind": "{}", "target": {}}})", row.name, json_quote(role.target)));
  return items;
}

auto print_pairs(const std::vector<std::pair<std::string, std::string>>& pairs)
    -> std::vector<std::string> {
  std::vector<std::string> items;
  for (const auto& [key, value] : pairs)
    items.push_back(fmt::format("[{}, {}]", json_quote(key), json_quote(value)));
  return items;
}

}  // namespace

auto storage_hashes(const Capture& capture) -> std::vector<std::string> {
  std::vector<std::string> hashes;
  for (const auto& storage : capture.storages) {
    const auto* bytes = std::get_if<BlobBytes>(&storage.content);
    hashes.push_back(bytes == nullptr ? std::string() : sha256(**bytes));
  }
  return hashes;
}

auto print_capture_section(const Capture& capture, const std::vector<std::string>& hashes)
    -> Result<std::string> {
  std::vector<std::string> storages;
  for (std::size_t i = 0; i < capture.storages.size(); ++i)
    storages.push_back(print_storage(capture.storages[i], hashes[i]));
  std::vector<std::string> inputs;
  std::vector<std::string> observed;
  for (const auto& node : capture.graph.nodes) {
    if (node.kind == NodeKind::placeholder) {
      if (inputs.size() == capture.inputs.size())
        return bad_input("capture: no value for input \"{}\"", node.name);
      inputs.push_back(print_input(node.name, capture.inputs[inputs.size()]));
    }
    if (const auto found = capture.observed.find(node.id); found != capture.observed.end())
      observed.push_back(
          fmt::format("{}: {}", json_quote(node.name), print_observation(found->second)));
  }
  if (inputs.size() != capture.inputs.size())
    return bad_input("capture: {} values for {} inputs", capture.inputs.size(), inputs.size());
  std::vector<std::string> attributes;
  for (const auto& [path, tensor] : capture.attributes)
    attributes.push_back(fmt::format("{}: {{{}}}", json_quote(path), print_tensor(tensor)));
  std::vector<std::string> warnings;
  for (const auto& warning : capture.warnings) warnings.push_back(json_quote(warning));
  std::vector<std::string> members = {
      fmt::format(R"("format": {})", json_quote(capture.format)),
      fmt::format(R"("kind": {})", json_quote(capture.kind)),
      fmt::format(R"("guards_recorded": {})", capture.guards_recorded),
      R"("storages": )" + lines(storages, "[]"),
      R"("inputs": )" + lines(inputs, "[]"),
      R"("attributes": )" + lines(attributes, "{}"),
      R"("observed": )" + lines(observed, "{}"),
      R"("input_roles": )" + lines(print_roles(capture.input_roles, kInputRoleNames), "[]"),
      R"("output_roles": )" + lines(print_roles(capture.output_roles, kOutputRoleNames), "[]"),
      R"("environment": )" + lines(print_pairs(capture.environment), "[]"),
      R"("warnings": )" + lines(warnings, "[]"),
  };
  if (capture.mutated_inputs) {
    std::vector<std::string> mutated;
    for (const auto& name : *capture.mutated_inputs) mutated.push_back(json_quote(name));
    members.push_back(R"("mutated": )" + lines(mutated, "[]"));
  }
  return fmt::format("{{\n {}\n}}\n", fmt::join(members, ",\n "));
}

}  // namespace assay
