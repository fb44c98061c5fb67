#include "replay/formats/pickle_globals.h"

#include <array>

namespace assay {
namespace {

struct NamedGlobal {
  std::string_view name;
  PickleGlobalKind kind;
};

constexpr std::array kFunctions = {
    NamedGlobal{"torch._utils._rebuild_tensor_v2", PickleGlobalKind::rebuild_tensor},
    NamedGlobal{"torch._utils._rebuild_tensor_v3", PickleGlobalKind::rebuild_tensor_typed},
    NamedGlobal{"torch._utils._rebuild_parameter", PickleGlobalKind::rebuild_parameter},
    NamedGlobal{"torch._utils._rebuild_parameter_with_state", PickleGlobalKind::rebuild_parameter},
    NamedGlobal{"torch._tensor._rebuild_from_type_v2", PickleGlobalKind::rebuild_from_type},
    NamedGlobal{"torch.Tensor", PickleGlobalKind::tensor_class},
    NamedGlobal{"torch.nn.parameter.Buffer", PickleGlobalKind::tensor_class},
    NamedGlobal{"torch.nn.parameter.Parameter", PickleGlobalKind::tensor_class},
    NamedGlobal{"collections.OrderedDict", PickleGlobalKind::ordered_dict},
    NamedGlobal{"torch.Size", PickleGlobalKind::torch_size},
    NamedGlobal{"torch.device", PickleGlobalKind::torch_device},
};

struct StorageClass {
  std::string_view name;  ///< after `torch.` or `torch.storage.`
  std::optional<DType> dtype;
};

constexpr std::array kStorageClasses = {
    StorageClass{"UntypedStorage", std::nullopt},
    StorageClass{"BoolStorage", DType::boolean},
    StorageClass{"ByteStorage", DType::uint8},
    StorageClass{"CharStorage", DType::int8},
    StorageClass{"ShortStorage", DType::int16},
    StorageClass{"IntStorage", DType::int32},
    StorageClass{"LongStorage", DType::int64},
    StorageClass{"HalfStorage", DType::float16},
    StorageClass{"BFloat16Storage", DType::bfloat16},
    StorageClass{"FloatStorage", DType::float32},
    StorageClass{"DoubleStorage", DType::float64},
    StorageClass{"ComplexFloatStorage", DType::complex64},
    StorageClass{"ComplexDoubleStorage", DType::complex128},
};

template <class T>
auto get(const Pickle& values, std::span<const PickleId> ids, std::size_t index) -> const T* {
  return index < ids.size() ? std::get_if<T>(&values.at(ids[index]).value) : nullptr;
}

/// A tuple or list of integers, each at least `low`.
auto read_ints(const Pickle& values, const PickleList* list, std::int64_t low)
    -> std::optional<Ints> {
  if (list == nullptr || list->items.size() > 64) return std::nullopt;  // torch stops at 64 dims
  Ints ints;
  for (const auto id : list->items) {
    const auto* item = std::get_if<std::int64_t>(&values.at(id).value);
    if (item == nullptr || *item < low) return std::nullopt;
    ints.push_back(*item);
  }
  return ints;
}

auto rebuild_tensor(std::span<const PickleId> args, const Pickle& values, bool has_dtype)
    -> Result<PickleValue> {
  const auto* storage = get<PickleStorage>(values, args, 0);
  const auto* offset = get<std::int64_t>(values, args, 1);
  const auto sizes = read_ints(values, get<PickleList>(values, args, 2), 0);
  const auto strides = read_ints(values, get<PickleList>(values, args, 3), 0);
  const auto* requires_grad = get<bool>(values, args, 4);
  if (storage == nullptr || offset == nullptr || *offset < 0 || !sizes || !strides ||
      sizes->size() != strides->size() || requires_grad == nullptr)
    return bad_input("tensor with wrong arguments");
  const auto* dtype = get<DType>(values, args, 6);
  if (has_dtype ? dtype == nullptr : !storage->dtype) return bad_input("tensor without a dtype");
  PickleTensor tensor{
      *storage, has_dtype ? *dtype : *storage->dtype, *sizes, *strides, *offset, *requires_grad,
      false};
  // Trailing metadata carries the conj and neg bits, which say that the bytes need a correction.
  const auto* metadata = get<PickleDict>(values, args, has_dtype ? 7 : 6);
  for (const auto& [key, value] : metadata == nullptr ? PickleDict{}.items : metadata->items) {
    const auto* flag = std::get_if<bool>(&values.at(value).value);
    const auto* name = std::get_if<std::string>(&values.at(key).value);
    if (name != nullptr && flag != nullptr && *flag)
      return unsupported("tensor with the {} bit set", *name);
  }
  return PickleValue{std::move(tensor)};
}

auto rebuild_parameter(std::span<const PickleId> args, const Pickle& values)
    -> Result<PickleValue> {
  const auto* tensor = get<PickleTensor>(values, args, 0);
  const auto* requires_grad = get<bool>(values, args, 1);
  if (tensor == nullptr || requires_grad == nullptr)
    return bad_input("parameter with wrong arguments");
  auto parameter = *tensor;
  parameter.requires_grad = *requires_grad;
  parameter.is_parameter = true;
  return PickleValue{std::move(parameter)};
}

/// What a tensor with attributes of its own is saved as (torch/_tensor.py); they are left out.
auto rebuild_from_type(std::span<const PickleId> args, const Pickle& values)
    -> Result<PickleValue> {
  const auto* function = get<PickleGlobal>(values, args, 0);
  const auto* type = get<PickleGlobal>(values, args, 1);
  const auto* arguments = get<PickleList>(values, args, 2);
  const auto called = function ? find_pickle_global(function->name) : std::nullopt;
  const auto made = type ? find_pickle_global(type->name) : std::nullopt;
  using enum PickleGlobalKind;
  if (!called || !made || made->kind != tensor_class || arguments == nullptr ||
      (called->kind != rebuild_tensor && called->kind != rebuild_tensor_typed &&
       called->kind != rebuild_parameter))
    return bad_input("tensor of a type with wrong arguments");
  return call_pickle_global(function->name, arguments->items, values);
}

/// OrderedDict() or OrderedDict([(key, value), ...]).
auto make_ordered_dict(std::span<const PickleId> args, const Pickle& values)
    -> Result<PickleValue> {
  PickleDict dict;
  const auto* pairs = get<PickleList>(values, args, 0);
  if (args.size() > 1 || (args.size() == 1 && pairs == nullptr))
    return bad_input("OrderedDict with wrong arguments");
  for (const auto id : pairs == nullptr ? std::vector<PickleId>{} : pairs->items) {
    const auto* pair = std::get_if<PickleList>(&values.at(id).value);
    if (pair == nullptr || pair->items.size() != 2)
      return bad_input("OrderedDict with wrong arguments");
    dict.items.emplace_back(pair->items[0], pair->items[1]);
  }
  return PickleValue{std::move(dict)};
}

auto make_device(std::span<const PickleId> args, const Pickle& values) -> Result<PickleValue> {
  const auto* type = get<std::string>(values, args, 0);
  const auto* index = get<std::int64_t>(values, args, 1);
  const auto device = type == nullptr ? std::nullopt : device_from_string(*type);
  if (!device || (index != nullptr && (*index < 0 || *index > 255)))
    return bad_input("device with wrong arguments");
  auto result = *device;
  if (index != nullptr) result.index = static_cast<int>(*index);
  return PickleValue{std::move(result)};
}

}  // namespace

auto find_pickle_global(std::string_view name) -> std::optional<PickleGlobalInfo> {
  for (const auto& row : kFunctions)
    if (row.name == name) return PickleGlobalInfo{row.kind, std::nullopt};
  if (!name.starts_with("torch.")) return std::nullopt;
  auto rest = name.substr(6);
  // Only names of real dtypes: dtype_from_name also knows aliases such as "float".
  for (const auto& row : dtype_infos())
    if (row.name == rest) return PickleGlobalInfo{PickleGlobalKind::dtype, row.dtype};
  if (rest.starts_with("storage.")) rest.remove_prefix(8);
  for (const auto& row : kStorageClasses)
    if (row.name == rest) return PickleGlobalInfo{PickleGlobalKind::storage_class, row.dtype};
  return std::nullopt;
}

auto is_allowed_global(std::string_view name) -> bool {
  return find_pickle_global(name).has_value();
}

auto call_pickle_global(std::string_view name, std::span<const PickleId> arguments,
                        const Pickle& values) -> Result<PickleValue> {
  const auto found = find_pickle_global(name);
  if (!found) return unsupported("call of {}", name);
  switch (found->kind) {
    case PickleGlobalKind::rebuild_tensor:
      return rebuild_tensor(arguments, values, false);
    case PickleGlobalKind::rebuild_tensor_typed:
      return rebuild_tensor(arguments, values, true);
    case PickleGlobalKind::rebuild_parameter:
      return rebuild_parameter(arguments, values);
    case PickleGlobalKind::rebuild_from_type:
      return rebuild_from_type(arguments, values);
    case PickleGlobalKind::ordered_dict:
      return make_ordered_dict(arguments, values);
    case PickleGlobalKind::torch_size: {
      auto sizes = get<PickleList>(values, arguments, 0);
      if (sizes == nullptr || arguments.size() != 1) return bad_input("Size with wrong arguments");
      return PickleValue{PickleList{sizes->items, true}};
    }
    case PickleGlobalKind::torch_device:
      return make_device(arguments, values);
    case PickleGlobalKind::storage_class:
    case PickleGlobalKind::tensor_class:
    case PickleGlobalKind::dtype:
      break;
  }
  return unsupported("call of {}", name);
}

auto resolve_persistent_id(std::span<const PickleId> parts, const Pickle& values)
    -> Result<PickleStorage> {
  const auto* tag = get<std::string>(values, parts, 0);
  const auto* type = get<PickleGlobal>(values, parts, 1);
  const auto* key = get<std::string>(values, parts, 2);
  const auto* location = get<std::string>(values, parts, 3);
  const auto* count = get<std::int64_t>(values, parts, 4);
  const auto found = type == nullptr ? std::nullopt : find_pickle_global(type->name);
  if (tag == nullptr || *tag != "storage" || key == nullptr || location == nullptr ||
      count == nullptr || *count < 0 || !found || found->kind != PickleGlobalKind::storage_class)
    return bad_input("persistent id that names no storage");
  const auto device = device_from_string(*location);
  if (!device) return bad_input("storage on an unknown device");
  const std::int64_t unit = found->dtype ? size_bytes(*found->dtype) : 1;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(*count, unit, &bytes)) return bad_input("storage size overflows");
  return PickleStorage{*key, found->dtype, bytes, *device};
}

}  // namespace assay
