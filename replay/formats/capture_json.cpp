// read_capture_json: the top level of a capture as JSON.
#include "replay/formats/capture_json.h"
#include "replay/formats/pt2_graph.h"

#include <cmath>
#include <unordered_map>

namespace assay {
namespace {

constexpr std::int64_t kVersion = 1;
/// float64 sums hold integers exactly below this, so that a sum of one element is its value.
constexpr double kExactIntegers = 9007199254740992.0;

class CaptureReader {
 public:
  CaptureReader(JsonValue root, const std::filesystem::path& folder)
      : root_(root), claims_(env_), graph_(claims_), tensors_(capture_, folder) {
    capture_.format = "capture json";
  }

  auto read() -> Result<Capture> {
    if (!root_.is_object() || !root_["nodes"].is_array())
      return bad_input("capture json: expected an object with a list of \"nodes\"");
    ASSAY_TRY_VOID(head());
    ASSAY_TRY_VOID(graph_.symbols(root_["symbols"], capture_.warnings));
    ASSAY_TRY_VOID(graph_.graph(root_, capture_.graph));
    ASSAY_TRY_VOID(graph_.replacements(root_["replacements"]));
    ASSAY_TRY_VOID(graph_.guards(root_["guards"]));
    capture_.guards_recorded = root_["guards"].is_array();
    set_env(capture_.graph, env_);
    ASSAY_TRY_VOID(observations());
    ASSAY_TRY_VOID(tensors_.storages(root_["storages"]));
    ASSAY_TRY_VOID(inputs());
    ASSAY_TRY_VOID(attributes());
    return std::move(capture_);
  }

 private:
  auto head() -> Result<void> {
    if (const auto version = root_["version"]; version.exists() && version.as_int() != kVersion)
      return unsupported("capture json: version {}; this program reads version {}", version.dump(),
                         kVersion);
    capture_.kind = root_["kind"].as_string().value_or("");
    if (const auto name = root_["class_name"].as_string()) capture_.graph.class_name = *name;
    for (const auto& [key, value] : root_["environment"].members())
      capture_.environment.emplace_back(key, value.text());
    if (root_["mutated"].is_array()) {
      capture_.mutated_inputs.emplace();
      for (const auto& name : root_["mutated"].items())
        capture_.mutated_inputs->emplace_back(name.as_string().value_or(""));
    }
    if (!root_["axioms"].items().empty())
      capture_.warnings.emplace_back("capture json: axioms are not read");
    return {};
  }

  auto observations() -> Result<void> {
    for (const auto& node : capture_.graph.nodes) by_name_.emplace(node.name, &node);
    for (const auto& [name, value] : root_["real"].members()) {
      const auto node = by_name_.find(name);
      if (node == by_name_.end()) return bad_input("capture json: real[{}]: no such node", name);
      auto observation = json_observation(value);
      if (!observation)
        return with_context(observation.error(), fmt::format("capture json: real[{}]", name));
      // What a graph is given is on the device that it says; of results nobody knows.
      const auto* claim = node->second->claim.tensor();
      if (auto& seen = observation->tensor; seen && seen->device.type.empty() && claim != nullptr &&
                                            node->second->kind == NodeKind::placeholder)
        seen->device = claim->device;
      capture_.observed.emplace(node->second->id, *std::move(observation));
    }
    return {};
  }

  /// What is known of a node's value apart from its data: observed, else claimed with constants.
  auto known(const Node& node) const -> std::optional<RealMeta> {
    std::optional<RealMeta> meta;
    if (const auto it = capture_.observed.find(node.id); it != capture_.observed.end())
      meta = it->second.tensor;
    const auto* claim = node.claim.tensor();
    if (claim == nullptr) return meta;
    if (!meta) {
      meta.emplace();
      meta->dtype = claim->dtype;
      for (const auto& size : claim->sizes) meta->sizes.push_back(size.as_int().value_or(-1));
      for (const auto& stride : claim->strides)
        meta->strides.push_back(stride.as_int().value_or(-1));
      meta->offset = claim->offset.as_int().value_or(0);
    }
    meta->device = claim->device;
    return meta;
  }

  auto inputs() -> Result<void> {
    const auto entries = root_["inputs"].items();
    std::size_t count = 0;
    for (const auto& node : capture_.graph.nodes) {
      if (node.kind != NodeKind::placeholder) continue;
      const auto index = count++;
      capture_.inputs.emplace_back();
      if (index >= entries.size()) continue;
      auto value = tensors_.input(entries[index], known(node));
      if (!value)
        return with_context(value.error(),
                            fmt::format("capture json: inputs[{}] ({})", index, node.name));
      capture_.inputs.back() = *std::move(value);
      const auto given = entries[index]["value"];  // null of nothing that was claimed is None
      if (given.exists() && given.is_null() && node.claim.empty())
        capture_.inputs.back() = NoneArg{};
    }
    if (root_["inputs"].exists() && !root_["inputs"].is_null() && entries.size() != count)
      return bad_input("capture json: {} inputs for {} placeholders", entries.size(), count);
    return {};
  }

  auto attributes() -> Result<void> {
    for (const auto& [name, entry] : root_["attributes"].members()) {
      auto value = tensors_.input(entry, std::nullopt);
      if (!value)
        return with_context(value.error(), fmt::format("capture json: attributes[{}]", name));
      const auto* tensor = std::get_if<RecordedTensor>(&*value);
      if (tensor == nullptr) return bad_input("capture json: attributes[{}] is no tensor", name);
      capture_.attributes.emplace(name, *tensor);
    }
    for (const auto& node : capture_.graph.nodes)
      if (node.kind == NodeKind::get_attr && !capture_.attributes.contains(node.target))
        ASSAY_TRY_VOID(recover(node));
    return {};
  }

  /// The sum of a tensor of one element is that element, so constants of one element that are not
  /// in the file can still be had where the capture recorded checksums.
  auto recover(const Node& node) -> Result<void> {
    const auto observed = capture_.observed.find(node.id);
    if (observed == capture_.observed.end()) return {};
    const auto& sum = observed->second.sum;
    const auto meta = known(node);
    if (!sum || !meta || numel(*meta) != 1 || is_complex(meta->dtype)) return {};
    if (is_integer(meta->dtype) && std::abs(*sum) >= kExactIntegers) return {};
    ASSAY_TRY(auto tensor, tensors_.from_scalar(*meta, *sum));
    capture_.attributes.emplace(node.target, std::move(tensor));
    return {};
  }

  JsonValue root_;
  Capture capture_;
  ShapeEnv env_;
  ClaimReader claims_;
  JsonGraphReader graph_;
  JsonTensorReader tensors_;
  std::unordered_map<std::string_view, const Node*> by_name_;
};

}  // namespace

auto read_capture_json(std::string_view text, const std::filesystem::path& folder)
    -> Result<Capture> {
  ASSAY_TRY(const auto document, JsonDocument::parse(text, "capture json"));
  return CaptureReader(document.root(), folder).read();
}

}  // namespace assay
