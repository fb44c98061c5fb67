#include "replay/interp/inputs.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/expr/text.h"
#include "replay/interp/binding.h"
#include "replay/interp/block_tables.h"
#include "replay/interp/compare.h"
#include "replay/interp/sizes.h"

namespace assay {
namespace {

constexpr Fill kDefaultFill{.seed = 0, .lo = -0.25, .hi = 0.25};

/// Some true, some false, by element and seed.
void fill_bools(std::span<std::byte> bytes, std::uint32_t seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto hash = (static_cast<std::uint32_t>(i) + seed + 1) * 2654435761U;
    bytes[i] = static_cast<std::byte>((hash >> 16U) & 1U);
  }
}

/// Storage with the default fill: seed by placeholder, so that inputs differ; whole numbers stay 0,
/// which is a valid index into anything.
auto filled_storage(std::int64_t bytes, DType dtype, std::uint32_t seed)
    -> std::shared_ptr<Storage> {
  auto storage = std::make_shared<Storage>(bytes);
  if (is_floating(dtype) || is_complex(dtype)) {
    auto fill = kDefaultFill;
    fill.seed = seed;
    fill_storage(*storage, dtype, fill);
  }
  if (dtype == DType::boolean) fill_bools(storage->bytes(), seed);
  return storage;
}

auto fits(const RealMeta& meta, std::int64_t storage_bytes) -> Result<void> {
  ASSAY_TRY(const auto elems, required_elems(meta.sizes, meta.strides, meta.offset));
  if (elems > storage_bytes / size_bytes(meta.dtype))
    return bad_input("its layout {} needs {} bytes, its storage has {}", to_string(meta),
                     elems * size_bytes(meta.dtype), storage_bytes);
  return {};
}

/// The claim's layout as numbers. Errors: undecided for symbols without a value.
auto evaluate_layout(const TensorMeta& claim, const Binding& binding) -> Result<RealMeta> {
  ASSAY_TRY(auto meta, evaluate_claim(claim, binding));
  for (std::size_t i = 0; i < meta.sizes.size(); ++i)
    if (meta.sizes[i] < 0)
      return bad_input("size {} is {} there", print_expr(claim.sizes[i]), meta.sizes[i]);
  return meta;
}

auto placeholders(const Graph& graph) -> std::vector<const Node*> {
  std::vector<const Node*> nodes;
  for (const auto& node : graph.nodes)
    if (node.kind == NodeKind::placeholder) nodes.push_back(&node);
  return nodes;
}

auto about(const Node& node) -> std::string {
  return fmt::format("input {}", node.name);
}

/// Calls that give a storage another size, whatever views of it there are (FSDP frees and fills
/// parameters so).
constexpr std::string_view kResizes = "inductor.resize_storage_bytes_.default";

/// Storages of inputs that the graph resizes: what they hold when it starts is no matter.
auto resized_storages(const Capture& capture) -> std::vector<bool> {
  std::vector<bool> resized(capture.storages.size(), false);
  const auto inputs = placeholders(capture.graph);
  for (const auto& node : capture.graph.nodes) {
    const auto* id = node.target == kResizes && !node.args.empty()
                         ? std::get_if<NodeId>(&node.args[0].value)
                         : nullptr;
    if (!id) continue;
    for (std::size_t i = 0; i < std::min(inputs.size(), capture.inputs.size()); ++i) {
      const auto* recorded = std::get_if<RecordedTensor>(&capture.inputs[i]);
      if (inputs[i]->id == *id && recorded && recorded->storage >= 0 &&
          static_cast<std::size_t>(recorded->storage) < resized.size())
        resized[static_cast<std::size_t>(recorded->storage)] = true;
    }
  }
  return resized;
}

/// Storages are made once, so that inputs recorded on one storage alias again.
class StorageCache {
 public:
  explicit StorageCache(const Capture& capture)
      : capture_(capture), resized_(resized_storages(capture)), made_(capture.storages.size()) {}

  auto tensor(const RecordedTensor& recorded) -> Result<Tensor> {
    const auto index = static_cast<std::size_t>(recorded.storage);
    if (recorded.storage < 0 || index >= made_.size())
      return bad_input("it names storage {}, there are {}", recorded.storage, made_.size());
    if (!made_[index]) {
      const auto& data = capture_.storages[index];
      const bool unknown = std::holds_alternative<std::monostate>(data.content);
      if (unknown) {
        made_[index] =
            filled_storage(data.size_bytes, recorded.meta.dtype, static_cast<std::uint32_t>(index));
      } else {
        ASSAY_TRY(made_[index], make_storage(data));
      }
    }
    auto meta = recorded.meta;
    if (is_resized(recorded)) {
      ASSAY_TRY(const auto elems, required_elems(meta.sizes, meta.strides, meta.offset));
      const auto bytes = elems * size_bytes(meta.dtype);
      if (made_[index]->size_bytes() < bytes)
        made_[index] = filled_storage(bytes, meta.dtype, static_cast<std::uint32_t>(index));
    }
    meta.storage_bytes = made_[index]->size_bytes();
    if (const auto fit = fits(meta, meta.storage_bytes); !fit) return std::unexpected(fit.error());
    return Tensor{made_[index], meta};
  }

  [[nodiscard]] auto is_known(const RecordedTensor& recorded) const -> bool {
    const auto index = static_cast<std::size_t>(recorded.storage);
    return index < capture_.storages.size() &&
           !std::holds_alternative<std::monostate>(capture_.storages[index].content) &&
           !capture_.storages[index].made_up && !is_resized(recorded);
  }
  [[nodiscard]] auto is_resized(const RecordedTensor& recorded) const -> bool {
    const auto index = static_cast<std::size_t>(recorded.storage);
    return index < resized_.size() && resized_[index];
  }

 private:
  const Capture& capture_;
  std::vector<bool> resized_;
  std::vector<std::shared_ptr<Storage>> made_;
};

auto add_attributes(const Capture& capture, const Binding& sizes, StorageCache& storages,
                    RunInputs& inputs) -> Result<void> {
  for (const auto& [name, recorded] : capture.attributes) {
    auto tensor = storages.tensor(recorded);
    if (!tensor) return with_context(tensor.error(), "attribute " + name);
    inputs.attributes[name] = Datum{*std::move(tensor)};
  }
  for (const auto& node : capture.graph.nodes) {
    const auto* claim = node.claim.tensor();
    if (node.kind != NodeKind::get_attr || !claim || inputs.attributes.contains(node.target))
      continue;
    const auto meta = evaluate_layout(*claim, sizes);
    const auto seed = static_cast<std::uint32_t>(capture.inputs.size() + inputs.attributes.size());
    auto tensor = meta ? filled_tensor(*meta, seed) : std::unexpected(meta.error());
    if (!tensor) return with_context(tensor.error(), "attribute " + node.target);
    inputs.attributes[node.target] = Datum{*std::move(tensor)};
  }
  return {};
}

/// Symbolic inputs that the capture puts on one storage share it again.
class SymbolicStorages {
 public:
  auto tensor(const SymbolicInput& input, const Binding& sizes, std::uint32_t seed)
      -> Result<Tensor> {
    ASSAY_TRY(auto meta, evaluate_layout(input.meta, sizes));
    if (input.storage < 0 || !input.storage_bytes) return filled_tensor(std::move(meta), seed);
    ASSAY_TRY(const auto bytes, evaluate_int(*input.storage_bytes, sizes));
    auto& storage = made_[input.storage];
    if (!storage) {
      meta.storage_bytes = std::max<std::int64_t>(bytes, 0);
      ASSAY_TRY(
          const auto whole,
          filled_tensor(RealMeta{meta.dtype, {}, {}, 0, meta.storage_bytes, meta.device}, seed));
      storage = whole.storage;
    }
    meta.storage_bytes = storage->size_bytes();
    ASSAY_TRY_VOID(fits(meta, meta.storage_bytes));
    return Tensor{storage, meta};
  }

 private:
  std::map<int, std::shared_ptr<Storage>> made_;
};

auto is_read(const Graph& graph, NodeId id) -> bool {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    const auto read = operands(node);
    return std::ranges::find(read, id) != read.end();
  });
}

/// A value as claimed, filled. Errors: unsupported where nothing is claimed.
auto made_up_value(const Claim& claim, const Binding& sizes, std::uint32_t seed) -> Result<Datum> {
  if (const auto* scalar = claim.scalar()) {
    ASSAY_TRY(const auto value, evaluate(*scalar, sizes));
    return Datum{value};
  }
  if (const auto* tensor = claim.tensor()) {
    ASSAY_TRY(const auto meta, evaluate_layout(*tensor, sizes));
    ASSAY_TRY(auto filled, filled_tensor(meta, seed));
    return Datum{std::move(filled)};
  }
  if (const auto* items = claim.items()) {
    DatumList list;  // what nothing is known about is None
    for (const auto& item : *items) {
      ASSAY_TRY(list.emplace_back(),
                item.empty() ? Result<Datum>(Datum{}) : made_up_value(item, sizes, seed++));
    }
    return Datum{std::move(list)};
  }
  return unsupported("nothing is known about its value");
}

/// The number of the middle tap of the pool whose taps this input holds; nothing for other inputs.
/// That tap lies inside of the input under every window; the first one lies in the padding.
auto middle_tap(const Graph& graph, NodeId input) -> std::optional<std::int64_t> {
  constexpr std::string_view kTakesTaps = "prims._low_memory_max_pool_offsets_to_indices.default";
  for (const auto& node : graph.nodes) {
    if (node.target != kTakesTaps || node.args.size() < 2) continue;
    const auto* taps = std::get_if<NodeId>(&node.args[0].value);
    const auto* kernel = std::get_if<SequenceArg>(&node.args[1].value);
    if (!taps || *taps != input || !kernel || kernel->items.size() != 2) continue;
    std::array<std::int64_t, 2> sizes = {};
    for (std::size_t i = 0; i < 2; ++i) {
      const auto* size = std::get_if<Expr>(&kernel->items[i].value);
      sizes[i] = size ? size->as_int().value_or(0) : 0;
    }
    return sizes[0] / 2 * sizes[1] + sizes[1] / 2;
  }
  return std::nullopt;
}

/// A placeholder without a recorded value: its observed layout, else its claim at these sizes.
auto made_up_contents(const Capture& capture, const Binding& sizes, const Node& node,
                      std::uint32_t seed, MadeUp& made_up) -> Result<Datum> {
  made_up = {.values = true, .strides = !node.claim.stated.strides, .storage = true};
  if (const auto seen = capture.observed.find(node.id); seen != capture.observed.end()) {
    if (const auto& scalar = seen->second.scalar) {
      made_up = {};
      return Datum{*scalar};
    }
    if (const auto& meta = seen->second.tensor) {
      made_up = {.values = true, .storage = meta->storage_bytes == 0};
      ASSAY_TRY(auto tensor, filled_tensor(*meta, seed));
      return Datum{std::move(tensor)};
    }
  }
  // Nobody sees what an input has that nothing reads.
  if (node.claim.empty() && !is_read(capture.graph, node.id)) return Datum{};
  return made_up_value(node.claim, sizes, seed);
}

/// What the graph says that a tensor of one float reads as (`item()`): Dynamo takes numbers of
/// modules, like the eps of a norm, as such tensors and guards on what it found in them.
auto claimed_number(const Graph& graph, const Binding& sizes, NodeId input)
    -> std::optional<double> {
  constexpr std::array<std::string_view, 3> kReads = {"item", "aten.item.default",
                                                      "aten._local_scalar_dense.default"};
  for (const auto& node : graph.nodes) {
    const auto* scalar = node.claim.scalar();
    const auto* read = node.args.empty() ? nullptr : std::get_if<NodeId>(&node.args[0].value);
    if (scalar == nullptr || read == nullptr || *read != input ||
        std::ranges::find(kReads, node.target) == kReads.end())
      continue;
    const auto number = evaluate(*scalar, sizes);
    return number ? number->as_number() : std::nullopt;
  }
  return std::nullopt;
}

auto made_up_input(const Capture& capture, const Binding& sizes, const Node& node,
                   std::uint32_t seed, MadeUp& made_up) -> Result<Datum> {
  auto made = made_up_contents(capture, sizes, node, seed, made_up);
  if (!made) return made;
  const auto* tensor = made->real();
  if (tensor && tensor->numel() == 1 && is_floating(tensor->dtype()))
    if (const auto number = claimed_number(capture.graph, sizes, node.id)) {
      auto target = *tensor;  // shares its storage
      from_vector(target, std::span<const double>(&*number, 1));
      made_up.values = false;
    }
  if (tensor && tensor->dtype() == DType::int32) {
    auto target = *tensor;  // shares its storage
    fill_block_table(capture.graph, sizes, node.id, target);
  }
  if (tensor && tensor->dtype() == DType::int8)
    if (const auto tap = middle_tap(capture.graph, node.id))
      std::ranges::fill(tensor->storage->bytes(), static_cast<std::byte>(*tap));
  return made;
}

/// Copies `from`'s elements cyclically into `to`.
auto tile(const Tensor& from, Tensor& to) -> void {
  if (from.numel() == 0) return;
  const auto source = from.storage->bytes();
  auto target = to.storage->bytes();
  const auto item = static_cast<std::size_t>(size_bytes(from.dtype()));
  const auto cycle = source.size() / item * item;
  for (std::size_t done = 0; cycle > 0 && done < target.size(); done += cycle)
    std::memcpy(target.data() + done, source.data(), std::min(cycle, target.size() - done));
}

}  // namespace

auto filled_tensor(RealMeta meta, std::uint32_t seed) -> Result<Tensor> {
  meta.offset = std::max<std::int64_t>(meta.offset, 0);
  ASSAY_TRY(const auto elems, required_elems(meta.sizes, meta.strides, meta.offset));
  const auto bytes = std::max(meta.storage_bytes, elems * size_bytes(meta.dtype));
  if (bytes > (std::int64_t{4} << 30)) return bad_input("it would need {} bytes", bytes);
  meta.storage_bytes = bytes;
  return Tensor{filled_storage(bytes, meta.dtype, seed), meta};
}

auto make_storage(const StorageData& data) -> Result<std::shared_ptr<Storage>> {
  if (data.size_bytes < 0 || data.size_bytes > (std::int64_t{8} << 30))
    return bad_input("a storage of {} bytes is out of bounds", data.size_bytes);
  auto storage = std::make_shared<Storage>(data.size_bytes);
  if (const auto* fill = std::get_if<Fill>(&data.content)) {
    fill_storage(*storage, data.fill_dtype.value_or(DType::float32), *fill);
  } else if (const auto* bytes =
                 std::get_if<std::shared_ptr<const std::vector<std::byte>>>(&data.content)) {
    if (std::ssize(**bytes) > data.size_bytes)
      return bad_input("{} bytes recorded for a storage of {}", (*bytes)->size(), data.size_bytes);
    std::ranges::copy(**bytes, storage->bytes().begin());
  }
  return storage;
}

namespace {

auto inputs_for(const Capture& capture, const SizeChoice& sizes) -> Result<RunInputs> {
  RunInputs inputs;
  inputs.chosen_sizes = describe(sizes);
  StorageCache storages(capture);
  SymbolicStorages symbolic;
  ASSAY_TRY_VOID(add_attributes(capture, sizes.values, storages, inputs));
  const auto nodes = placeholders(capture.graph);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto* value = i < capture.inputs.size() ? &capture.inputs[i] : nullptr;
    Result<Datum> input = Datum{};
    MadeUp made_up;
    std::string defect;
    if (const auto* scalar = value ? std::get_if<Expr>(value) : nullptr) {
      const auto number = evaluate(*scalar, sizes.values);
      input = number ? Result<Datum>(Datum{*number}) : std::unexpected(number.error());
    } else if (const auto* recorded = value ? std::get_if<RecordedTensor>(value) : nullptr) {
      made_up.values = !storages.is_known(*recorded);
      made_up.storage = storages.is_resized(*recorded);
      auto tensor = storages.tensor(*recorded);
      if (tensor)
        input = Datum{*std::move(tensor)};
      else
        defect = tensor.error().message;
    } else if (value && std::holds_alternative<NoneArg>(*value)) {
      input = Datum{};
    } else if (const auto* text = value ? std::get_if<std::string>(value) : nullptr) {
      input = Datum{*text};
    } else if (const auto* layout = value ? std::get_if<SymbolicInput>(value) : nullptr) {
      made_up = {.values = true, .storage = !layout->storage_bytes};
      auto tensor = symbolic.tensor(*layout, sizes.values, static_cast<std::uint32_t>(i));
      if (tensor)
        input = Datum{*std::move(tensor)};
      else
        defect = tensor.error().message;
    } else {
      input =
          made_up_input(capture, sizes.values, *nodes[i], static_cast<std::uint32_t>(i), made_up);
    }
    std::string unknown;
    if (!input && input.error().code == ErrorCode::unsupported) {
      unknown = input.error().message;
      input = Datum{};
    }
    if (!input) return with_context(input.error(), about(*nodes[i]));
    inputs.values.push_back(*std::move(input));
    inputs.made_up.push_back(made_up);
    inputs.defects.push_back(std::move(defect));
    inputs.unknown.push_back(std::move(unknown));
  }
  return inputs;
}

/// Does the tensor fill its storage, so that at other sizes another storage of its own is meant?
auto fills_storage(const Tensor& tensor) -> bool {
  const auto elems = required_elems(tensor.sizes(), tensor.strides(), tensor.meta.offset);
  return elems && *elems * size_bytes(tensor.dtype()) == tensor.storage->size_bytes();
}

}  // namespace

auto recorded_inputs(const Capture& capture) -> Result<RunInputs> {
  return inputs_for(capture, choose_sizes(capture));
}

auto inputs_at(const Capture& capture, const Binding& at, IntegerData integers)
    -> Result<RunInputs> {
  const auto sizes = choose_sizes(capture, at);
  const auto& binding = sizes.values;
  ASSAY_TRY(const auto recorded, inputs_for(capture, sizes));
  RunInputs inputs;
  inputs.chosen_sizes = recorded.chosen_sizes;
  inputs.attributes = recorded.attributes;
  const auto nodes = placeholders(capture.graph);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& claim = nodes[i]->claim;
    MadeUp made_up{.values = true,
                   .strides = recorded.made_up[i].strides,
                   .storage = recorded.made_up[i].storage};
    if (i < capture.inputs.size() && std::holds_alternative<SymbolicInput>(capture.inputs[i])) {
      inputs.values.push_back(recorded.values[i]);  // made for these sizes already
      inputs.made_up.push_back(recorded.made_up[i]);
      inputs.defects.push_back(recorded.defects[i]);
      inputs.unknown.emplace_back();
      continue;
    }
    if (const auto* scalar = claim.scalar()) {
      const auto value = evaluate(*scalar, binding);
      if (!value) return with_context(value.error(), about(*nodes[i]));
      inputs.values.push_back({*value});
      made_up = {};
    } else if (const auto* meta = claim.tensor()) {
      const auto layout = evaluate_layout(*meta, binding);
      if (!layout) return with_context(layout.error(), about(*nodes[i]));
      auto tensor = filled_tensor(*layout, static_cast<std::uint32_t>(i));
      if (!tensor) return with_context(tensor.error(), about(*nodes[i]));
      const auto* old = recorded.values[i].real();
      const bool keep = integers == IntegerData::recorded || is_floating(tensor->dtype()) ||
                        is_complex(tensor->dtype()) || tensor->dtype() == DType::boolean;
      if (old && old->dtype() == tensor->dtype() && keep) {
        tile(*old, *tensor);
        if (old->sizes() == tensor->sizes() && old->strides() == tensor->strides())
          made_up.values = recorded.made_up[i].values;
      }
      made_up.storage = made_up.storage || (old && !fills_storage(*old));
      inputs.values.push_back({*std::move(tensor)});
    } else {
      inputs.values.push_back(recorded.values[i]);
      made_up = recorded.made_up[i];
    }
    inputs.made_up.push_back(made_up);
    inputs.defects.emplace_back();
    inputs.unknown.push_back(claim.empty() ? recorded.unknown[i] : std::string());
  }
  return inputs;
}

}  // namespace assay
