#include <algorithm>
#include <unordered_map>

#include "core/expr/text.h"
#include "replay/bundle/capture_section.h"
#include "replay/bundle/capture_tables.h"
#include "replay/formats/json.h"
#include "replay/formats/torch_file.h"

namespace assay {
namespace {

constexpr int kMaxObservationDepth = 32;
constexpr std::int64_t kMaxAliasGroup = 1'000'000'000;

class SectionReader {
 public:
  SectionReader(Capture& capture, const std::function<Result<BlobBytes>(const std::string&)>& blob)
      : capture_(capture), blob_(blob) {}
  auto read(JsonValue root) -> Result<void>;

 private:
  auto read_storage(JsonValue json) -> Result<StorageData>;
  auto read_scalar(JsonValue json) -> Result<Expr>;
  auto read_dims(JsonValue json) -> Result<Dims>;
  auto read_layout(JsonValue json) -> Result<RealMeta>;
  auto read_tensor(JsonValue json) -> Result<RecordedTensor>;
  auto read_symbolic(JsonValue json) -> Result<SymbolicInput>;
  auto read_input(JsonValue json) -> Result<InputValue>;
  auto read_observation(JsonValue json, int depth) -> Result<Observation>;
  auto read_inputs(JsonValue json) -> Result<void>;
  auto read_observed(JsonValue json) -> Result<void>;
  void read_texts(JsonValue root);

  Capture& capture_;
  const std::function<Result<BlobBytes>(const std::string&)>& blob_;
};

auto text_of(JsonValue json) -> std::string {
  return std::string(json.as_string().value_or(""));
}

auto read_dtype(JsonValue json) -> Result<DType> {
  const auto dtype = dtype_from_name(text_of(json));
  if (!dtype) return bad_input("unknown dtype {}", json.dump());
  return *dtype;
}

auto read_device(JsonValue json) -> Result<Device> {
  auto device = device_from_string(text_of(json));
  if (!device) return bad_input("unknown device {}", json.dump());
  return *std::move(device);
}

auto read_ints(JsonValue json) -> Result<Ints> {
  if (!json.is_array()) return bad_input("sizes or strides are missing");
  Ints ints;
  for (const auto item : json.items()) {
    const auto value = item.as_int();
    if (!value) return bad_input("size {}", item.dump());
    ints.push_back(*value);
  }
  return ints;
}

auto SectionReader::read_storage(JsonValue json) -> Result<StorageData> {
  StorageData storage;
  storage.size_bytes = json["bytes"].as_int().value_or(-1);
  if (storage.size_bytes < 0) return bad_input("no size");
  if (json["dtype"].exists()) {
    ASSAY_TRY(storage.fill_dtype, read_dtype(json["dtype"]));
  }
  if (const auto hash = json["blob"].as_string()) {
    ASSAY_TRY(auto bytes, blob_(std::string(*hash)));
    if (static_cast<std::int64_t>(bytes->size()) != storage.size_bytes)
      return bad_input("blob {} has {} bytes, not {}", *hash, bytes->size(), storage.size_bytes);
    storage.content = std::move(bytes);
  } else if (const auto fill = json["fill"]; fill.exists()) {
    const auto seed = fill["seed"].as_int();
    const auto lo = fill["lo"].as_number();
    const auto hi = fill["hi"].as_number();
    if (!seed || *seed < 0 || *seed > 0xffffffff || !lo || !hi || !storage.fill_dtype)
      return bad_input("malformed fill");
    storage.content = Fill{static_cast<std::uint32_t>(*seed), *lo, *hi};
    storage.made_up = json["made_up"].as_bool().value_or(false);
  }
  return storage;
}

auto SectionReader::read_scalar(JsonValue json) -> Result<Expr> {
  if (const auto value = json.as_int()) return Expr(*value);
  if (const auto value = json.as_bool()) return Expr::boolean(*value);
  if (const auto value = json.as_number()) return Expr::real(*value);
  if (const auto text = json["expr"].as_string())
    return parse_expr(capture_.graph.env.pool(), *text);
  return bad_input("no scalar: {}", json.dump());
}

auto SectionReader::read_dims(JsonValue json) -> Result<Dims> {
  if (!json.is_array()) return bad_input("sizes or strides are missing");
  Dims dims;
  for (const auto item : json.items()) {
    ASSAY_TRY(const auto dim, read_scalar(item));
    dims.push_back(dim);
  }
  return dims;
}

auto SectionReader::read_layout(JsonValue json) -> Result<RealMeta> {
  RealMeta meta;
  ASSAY_TRY(meta.dtype, read_dtype(json["dtype"]));
  ASSAY_TRY(meta.sizes, read_ints(json["size"]));
  ASSAY_TRY(meta.strides, read_ints(json["stride"]));
  if (json["device"].exists()) {
    ASSAY_TRY(meta.device, read_device(json["device"]));
  } else {
    meta.device.type.clear();
  }
  meta.offset = json["offset"].as_int().value_or(-1);
  const auto is_negative = [](std::int64_t value) { return value < 0; };
  if (meta.sizes.size() != meta.strides.size() || meta.offset < 0 ||
      std::ranges::any_of(meta.sizes, is_negative))
    return bad_input("malformed layout");
  return meta;
}

auto SectionReader::read_tensor(JsonValue json) -> Result<RecordedTensor> {
  RecordedTensor tensor;
  ASSAY_TRY(tensor.meta, read_layout(json));
  if (tensor.meta.device.type.empty()) return bad_input("no device");
  const auto storage = json["storage"].as_int().value_or(-1);
  if (storage < 0 || storage >= static_cast<std::int64_t>(capture_.storages.size()))
    return bad_input("there is no storage {}", storage);
  tensor.storage = static_cast<int>(storage);
  tensor.meta.storage_bytes = capture_.storages[static_cast<std::size_t>(storage)].size_bytes;
  ASSAY_TRY_VOID(check_view(tensor.meta));
  return tensor;
}

auto SectionReader::read_symbolic(JsonValue json) -> Result<SymbolicInput> {
  SymbolicInput input;
  ASSAY_TRY(input.meta.dtype, read_dtype(json["dtype"]));
  ASSAY_TRY(input.meta.sizes, read_dims(json["size"]));
  ASSAY_TRY(input.meta.strides, read_dims(json["stride"]));
  ASSAY_TRY(input.meta.offset, read_scalar(json["offset"]));
  ASSAY_TRY(input.meta.device, read_device(json["device"]));
  if (input.meta.sizes.size() != input.meta.strides.size()) return bad_input("malformed layout");
  input.meta.requires_grad = json["requires_grad"].as_bool().value_or(false);
  if (json["storage_bytes"].exists()) {
    ASSAY_TRY(input.storage_bytes, read_scalar(json["storage_bytes"]));
  }
  const auto group = json["group"].as_int().value_or(-1);
  if (group < -1 || group > 1'000'000) return bad_input("malformed group");
  input.storage = static_cast<int>(group);
  return input;
}

auto SectionReader::read_input(JsonValue json) -> Result<InputValue> {
  if (json["value"].exists()) return read_scalar(json["value"]);
  if (json["symbolic"].as_bool() == true) return read_symbolic(json);
  if (json["storage"].exists()) return read_tensor(json);
  if (json["none"].as_bool() == true) return InputValue{NoneArg{}};
  if (const auto text = json["text"].as_string()) return InputValue{std::string(*text)};
  return InputValue{};
}

auto SectionReader::read_observation(JsonValue json, int depth) -> Result<Observation> {
  if (depth > kMaxObservationDepth) return bad_input("observation is nested too deeply");
  Observation seen;
  if (json["dtype"].exists()) {
    ASSAY_TRY(seen.tensor, read_layout(json));
    seen.tensor->storage_bytes = json["storage_bytes"].as_int().value_or(0);
  }
  if (json["value"].exists()) {
    ASSAY_TRY(seen.scalar, read_scalar(json["value"]));
  }
  const auto alias = json["alias"].as_int().value_or(-1);
  if (alias < -1 || alias > kMaxAliasGroup) return bad_input("malformed alias group");
  seen.alias_group = static_cast<int>(alias);
  seen.sum = json["sum"].as_number();
  seen.abs_sum = json["abs"].as_number();
  seen.is_tuple = json["items"].is_array();
  for (const auto item : json["items"].items()) {
    ASSAY_TRY(auto part, read_observation(item, depth + 1));
    seen.items.push_back(std::move(part));
  }
  return seen;
}

template <class Role, class Names>
auto read_roles(JsonValue json, const Names& names) -> Result<std::vector<Role>> {
  std::vector<Role> roles;
  for (const auto item : json.items()) {
    const auto row = std::ranges::find_if(
        names, [&](const auto& known) { return known.name == item["kind"].as_string(); });
    if (row == names.end()) return bad_input("unknown role {}", item["kind"].dump());
    roles.push_back({row->kind, text_of(item["target"])});
  }
  return roles;
}

auto SectionReader::read_inputs(JsonValue json) -> Result<void> {
  std::vector<std::string> names;
  for (const auto& node : capture_.graph.nodes)
    if (node.kind == NodeKind::placeholder) names.push_back(node.name);
  const auto items = json.items();
  if (items.size() != names.size())
    return bad_input("{} inputs for {} placeholders", items.size(), names.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i]["name"].as_string() != names[i])
      return bad_input("input {} is not \"{}\"", i, names[i]);
    auto value = read_input(items[i]);
    if (!value)
      return with_context(std::move(value).error(), fmt::format("input \"{}\"", names[i]));
    capture_.inputs.push_back(*std::move(value));
  }
  return {};
}

auto SectionReader::read_observed(JsonValue json) -> Result<void> {
  std::unordered_map<std::string_view, NodeId> ids;
  for (const auto& node : capture_.graph.nodes) ids.emplace(node.name, node.id);
  for (const auto& [name, item] : json.members()) {
    const auto id = ids.find(name);
    if (id == ids.end()) return bad_input("observed: unknown node \"{}\"", name);
    auto seen = read_observation(item, 0);
    if (!seen) return with_context(std::move(seen).error(), fmt::format("observed \"{}\"", name));
    capture_.observed.insert_or_assign(id->second, *std::move(seen));
  }
  return {};
}

void SectionReader::read_texts(JsonValue root) {
  capture_.format = text_of(root["format"]);
  capture_.kind = text_of(root["kind"]);
  capture_.guards_recorded = root["guards_recorded"].as_bool().value_or(true);
  for (const auto pair : root["environment"].items())
    if (const auto parts = pair.items(); parts.size() == 2)
      capture_.environment.emplace_back(text_of(parts[0]), text_of(parts[1]));
  for (const auto warning : root["warnings"].items()) capture_.warnings.push_back(text_of(warning));
  if (!root["mutated"].is_array()) return;
  capture_.mutated_inputs.emplace();
  for (const auto name : root["mutated"].items()) capture_.mutated_inputs->push_back(text_of(name));
}

auto SectionReader::read(JsonValue root) -> Result<void> {
  read_texts(root);
  int index = 0;
  for (const auto item : root["storages"].items()) {
    auto storage = read_storage(item);
    if (!storage) return with_context(std::move(storage).error(), fmt::format("storage {}", index));
    capture_.storages.push_back(*std::move(storage));
    ++index;
  }
  ASSAY_TRY_VOID(read_inputs(root["inputs"]));
  for (const auto& [path, item] : root["attributes"].members()) {
    auto tensor = read_tensor(item);
    if (!tensor)
      return with_context(std::move(tensor).error(), fmt::format("attribute \"{}\"", path));
    capture_.attributes.emplace(path, *std::move(tensor));
  }
  ASSAY_TRY_VOID(read_observed(root["observed"]));
  ASSAY_TRY(capture_.input_roles, read_roles<InputRole>(root["input_roles"], kInputRoleNames));
  ASSAY_TRY(capture_.output_roles, read_roles<OutputRole>(root["output_roles"], kOutputRoleNames));
  return {};
}

}  // namespace

auto read_capture_section(std::string_view text,
                          const std::function<Result<BlobBytes>(const std::string&)>& blob,
                          Capture& capture) -> Result<void> {
  ASSAY_TRY(const auto document, JsonDocument::parse(text, "capture.json"));
  auto done = SectionReader(capture, blob).read(document.root());
  if (!done) return with_context(std::move(done).error(), "capture.json");
  return {};
}

}  // namespace assay
