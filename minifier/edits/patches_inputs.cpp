// Patches of inputs: which there are, their layouts, dtypes and data.
#include <algorithm>
#include <array>
#include <functional>

#include "minifier/edits/patch_families.h"

namespace assay {
namespace {

/// The recorded tensor of a placeholder whose storage nothing else names.
struct OwnTensor {
  RecordedTensor* tensor = nullptr;
  StorageData* data = nullptr;
};
auto own_tensor(Capture& capture, NodeId id) -> OwnTensor {
  const auto position = input_position(capture.graph, id);
  if (position < 0 || static_cast<std::size_t>(position) >= capture.inputs.size()) return {};
  auto* tensor = std::get_if<RecordedTensor>(&capture.inputs[static_cast<std::size_t>(position)]);
  if (!tensor || tensor->storage < 0 ||
      static_cast<std::size_t>(tensor->storage) >= capture.storages.size())
    return {};
  const auto names_it = [&](const RecordedTensor& other) {
    return other.storage == tensor->storage;
  };
  const auto inputs = std::ranges::count_if(capture.inputs, [&](const InputValue& input) {
    const auto* other = std::get_if<RecordedTensor>(&input);
    return other && names_it(*other);
  });
  const auto attributes = std::ranges::count_if(
      capture.attributes, [&](const auto& attribute) { return names_it(attribute.second); });
  if (inputs + attributes != 1) return {};
  return {tensor, &capture.storages[static_cast<std::size_t>(tensor->storage)]};
}

auto bytes_of(const Tensor& tensor) -> std::shared_ptr<const std::vector<std::byte>> {
  const auto bytes = tensor.storage->bytes();
  return std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
}

/// Moves a tensor and its elements into a row-major storage of its own.
void move_to(OwnTensor own, DType dtype) {
  auto& meta = own.tensor->meta;
  auto made = Tensor::contiguous(dtype, meta.sizes);
  if (!made) return;
  if (const auto* bytes =
          std::get_if<std::shared_ptr<const std::vector<std::byte>>>(&own.data->content)) {
    Tensor old{std::make_shared<Storage>(own.data->size_bytes), meta};
    std::ranges::copy(**bytes, old.storage->bytes().begin());
    if (dtype == meta.dtype)
      copy_elems(old, *made);
    else if (is_floating(dtype))
      from_vector<double>(*made, to_vector<double>(old));
    else
      from_vector<std::int64_t>(*made, to_vector<std::int64_t>(old));
    own.data->content = bytes_of(*made);
  } else if (own.data->fill_dtype) {
    own.data->fill_dtype = dtype;
  }
  own.data->size_bytes = made->storage->size_bytes();
  const auto device = meta.device;
  meta = made->meta;
  meta.device = device;
}

/// Input value and claim of a placeholder, row-major and of the dtype.
auto make_plain(Capture& capture, NodeId id, DType dtype) -> bool {
  auto* node = capture.graph.find(id);
  auto* claim = node ? std::get_if<TensorMeta>(&node->claim.value) : nullptr;
  const auto position = input_position(capture.graph, id);
  if (!claim || position < 0) return false;
  auto& input = capture.inputs[static_cast<std::size_t>(position)];
  if (const auto own = own_tensor(capture, id); own.tensor) {
    move_to(own, dtype);
  } else if (auto* symbolic = std::get_if<SymbolicInput>(&input);
             symbolic && symbolic->storage < 0) {
    symbolic->meta.strides = contiguous_strides(symbolic->meta.sizes);
    symbolic->meta.offset = 0;
    symbolic->meta.dtype = dtype;
    symbolic->storage_bytes.reset();
  } else if (!std::holds_alternative<std::monostate>(input)) {
    return false;  // it shares its storage
  }
  claim->strides = contiguous_strides(claim->sizes);
  claim->offset = 0;
  claim->dtype = dtype;
  return true;
}

auto plain_dtype(DType dtype) -> DType {
  if (is_floating(dtype)) return DType::float32;
  return is_integer(dtype) ? DType::int64 : dtype;
}

/// What a storage may be filled with, by position of its elements; simplest first.
struct Data {
  const char* name;
  double (*value)(std::int64_t);
  bool for_integers;  ///< as indices, other values would leave their tensors
};
constexpr std::array kData = {
    Data{"zeros", [](std::int64_t) { return 0.0; }, true},
    Data{"ones", [](std::int64_t) { return 1.0; }, false},
    Data{"1, 0, 0, ...", [](std::int64_t i) { return i == 0 ? 1.0 : 0.0; }, false},
    Data{"0, 1, 2, ...", [](std::int64_t i) { return static_cast<double>(i % 128); }, false},
};
enum DataKind : std::size_t { kZeros, kOnes, kOneHot, kCounting };

using Bytes = std::shared_ptr<const std::vector<std::byte>>;
auto make_data(const Data& data, DType dtype, std::int64_t count) -> Bytes {
  auto made = Tensor::contiguous(dtype, {count});
  if (!made) return nullptr;
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = data.value(i);
  from_vector<double>(*made, numbers);
  return bytes_of(*made);
}

/// Storages that do not hold this or simpler data yet.
auto filled(const Capture& capture, DataKind kind) -> std::vector<Patch> {
  constexpr std::int64_t kMostElements = 1 << 24;
  std::vector<Patch> patches;
  const auto& data = kData[kind];
  for (const auto& input : capture.inputs) {
    const auto* tensor = std::get_if<RecordedTensor>(&input);
    const auto at = tensor ? static_cast<std::size_t>(tensor->storage) : 0;
    if (!tensor || tensor->storage < 0 || at >= capture.storages.size()) continue;
    const auto dtype = tensor->meta.dtype;
    if (!is_floating(dtype) && !(data.for_integers && is_integer(dtype))) continue;
    const auto& storage = capture.storages[at];
    const auto count = storage.size_bytes / size_bytes(dtype);
    if (count > kMostElements) continue;
    const auto* old = std::get_if<Bytes>(&storage.content);
    const auto holds = [&](const Data& simple) {
      const auto bytes = make_data(simple, dtype, count);
      return bytes && **old == *bytes;
    };
    if (old && std::any_of(kData.begin(), kData.begin() + kind + 1, holds)) continue;
    patches.push_back(
        {fmt::format("storage {} -> {}", at, data.name), [at, dtype, count, &data](Capture& cut) {
           if (at >= cut.storages.size()) return false;
           auto bytes = make_data(data, dtype, count);
           if (!bytes) return false;
           cut.storages[at].content = std::move(bytes);
           cut.storages[at].fill_dtype.reset();
           return true;
         }});
  }
  return patches;
}

}  // namespace

auto merged_inputs(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  std::vector<const Node*> seen;
  for (const auto& node : capture.graph.nodes) {
    if (node.kind != NodeKind::placeholder) continue;
    const auto twin =
        std::ranges::find_if(seen, [&](const Node* other) { return same_layout(node, *other); });
    if (twin != seen.end())
      patches.push_back({fmt::format("{} -> {}", node.name, (*twin)->name),
                         [id = node.id, by = (*twin)->id](Capture& cut) {
                           const auto* old = cut.graph.find(id);
                           const auto* other = cut.graph.find(by);
                           if (!old || !other || !same_layout(*old, *other)) return false;
                           replace_uses(cut.graph, id, by);
                           erase_node(cut, id);
                           return true;
                         }});
    else
      seen.push_back(&node);
  }
  return patches;
}

auto contiguous_inputs(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  for (const auto& node : capture.graph.nodes) {
    const auto* meta = node.claim.tensor();
    if (node.kind != NodeKind::placeholder || !meta) continue;
    if (meta->strides == contiguous_strides(meta->sizes) && meta->offset.is_int(0)) continue;
    patches.push_back({node.name + " row-major", [id = node.id](Capture& cut) {
                         const auto* found = cut.graph.find(id);
                         const auto* claim = found ? found->claim.tensor() : nullptr;
                         return claim && make_plain(cut, id, claim->dtype);
                       }});
  }
  return patches;
}

auto plain_dtypes(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  for (const auto& node : capture.graph.nodes) {
    const auto* meta = node.claim.tensor();
    if (node.kind != NodeKind::placeholder || !meta || plain_dtype(meta->dtype) == meta->dtype ||
        meta->strides != contiguous_strides(meta->sizes))
      continue;
    patches.push_back({fmt::format("{} as {}", node.name, name(plain_dtype(meta->dtype))),
                       [id = node.id, dtype = plain_dtype(meta->dtype)](Capture& cut) {
                         return make_plain(cut, id, dtype);
                       }});
  }
  return patches;
}

auto zeros(const Capture& capture) -> std::vector<Patch> {
  return filled(capture, kZeros);
}
auto ones(const Capture& capture) -> std::vector<Patch> {
  return filled(capture, kOnes);
}
auto one_hot(const Capture& capture) -> std::vector<Patch> {
  return filled(capture, kOneHot);
}
auto counting(const Capture& capture) -> std::vector<Patch> {
  return filled(capture, kCounting);
}

auto without_gradients(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  for (const auto& node : capture.graph.nodes)
    if (const auto* meta = node.claim.tensor(); meta && meta->requires_grad)
      patches.push_back({node.name + " without requires_grad", [id = node.id](Capture& cut) {
                           auto* found = cut.graph.find(id);
                           auto* claim =
                               found ? std::get_if<TensorMeta>(&found->claim.value) : nullptr;
                           if (!claim || !claim->requires_grad) return false;
                           claim->requires_grad = false;
                           return true;
                         }});
  return patches;
}

}  // namespace assay
