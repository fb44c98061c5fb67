// Observed metadata and recorded data in a capture as JSON.
#include <algorithm>
#include <cstring>
#include <limits>

#include <zlib.h>

#include "replay/formats/capture_json.h"

namespace assay {
namespace {

/// zlib cannot pack better than this, so a larger claim is a lie and nothing is allocated for it.
constexpr std::int64_t kMaxZlibRatio = 1040;
constexpr std::int64_t kMaxStorageBytes = std::int64_t{8} << 30;

auto base64_value(char c) -> int {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

auto decode_base64(std::string_view text) -> Result<std::vector<Bytef>> {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::vector<Bytef> bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int value = base64_value(c);
    if (value < 0) return bad_input("data is not base64");
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<Bytef>(bits >> count));
    bits &= (1U << count) - 1;
  }
  return bytes;
}

auto ints_of(JsonValue value, std::string_view what) -> Result<Ints> {
  Ints ints;
  for (const auto& item : value.items()) {
    const auto number = item.as_int();
    if (!number) return bad_input("{} must be integers, found {}", what, item.dump());
    ints.push_back(*number);
  }
  return ints;
}

/// Elements under a view; fails where the view is impossible.
auto elements_under(const RealMeta& meta) -> Result<std::int64_t> {
  if (meta.offset < 0 ||
      std::any_of(meta.sizes.begin(), meta.sizes.end(), [](auto size) { return size < 0; }))
    return bad_input("{} has a negative size or offset", to_string(meta));
  return required_elems(meta.sizes, meta.strides, meta.offset);
}

auto bytes_under(const RealMeta& meta) -> Result<std::int64_t> {
  ASSAY_TRY(const auto elems, elements_under(meta));
  if (elems > kMaxStorageBytes / size_bytes(meta.dtype))
    return bad_input("{} needs more than {} bytes", to_string(meta), kMaxStorageBytes);
  return elems * size_bytes(meta.dtype);
}

auto as_bytes(std::string_view text) -> std::shared_ptr<const std::vector<std::byte>> {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return std::make_shared<const std::vector<std::byte>>(data, data + text.size());
}

auto read_fill(JsonValue fill) -> Result<Fill> {
  const auto seed = fill["seed"].as_int();
  const auto lo = json_real(fill["lo"]);
  const auto hi = json_real(fill["hi"]);
  if (!seed || *seed < 0 || *seed > std::numeric_limits<std::uint32_t>::max() || !lo || !hi)
    return bad_input("a fill needs seed, lo and hi");
  return Fill{static_cast<std::uint32_t>(*seed), *lo, *hi};
}

}  // namespace

auto unpack_zlib(std::string_view base64, std::int64_t size) -> Result<std::vector<std::byte>> {
  ASSAY_TRY(const auto packed, decode_base64(base64));
  if (size < 0 || size / kMaxZlibRatio > static_cast<std::int64_t>(packed.size()))
    return bad_input("{} bytes of zlib data cannot hold {} bytes", packed.size(), size);
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  Bytef nothing = 0;
  auto unpacked = static_cast<uLongf>(bytes.size());
  auto* target = bytes.empty() ? &nothing : reinterpret_cast<Bytef*>(bytes.data());
  const int status = uncompress(target, &unpacked, packed.data(), packed.size());
  if (status == Z_BUF_ERROR && unpacked == bytes.size())
    return bad_input("zlib data is cut off or holds more than {} bytes", size);
  if (status != Z_OK) return bad_input("broken zlib data");
  if (unpacked != bytes.size())
    return bad_input("zlib data holds {} bytes, expected {}", unpacked, size);
  return bytes;
}

auto json_real_meta(JsonValue value, const std::optional<RealMeta>& missing) -> Result<RealMeta> {
  auto meta = missing.value_or(RealMeta{});
  if (const auto dtype = value["dtype"]; dtype.exists()) {
    const auto parsed = dtype_from_name(dtype.as_string().value_or(""));
    if (!parsed) return bad_input("unknown dtype {}", dtype.dump());
    meta.dtype = *parsed;
  } else if (!missing) {
    return bad_input("a tensor without a dtype");
  }
  if (value["size"].exists()) {
    ASSAY_TRY(meta.sizes, ints_of(value["size"], "sizes"));
    meta.strides = contiguous_strides(meta.sizes);
  }
  if (value["stride"].exists()) {
    ASSAY_TRY(meta.strides, ints_of(value["stride"], "strides"));
  }
  if (meta.sizes.size() != meta.strides.size())
    return bad_input("{} sizes but {} strides", meta.sizes.size(), meta.strides.size());
  if (const auto offset = value["offset"].as_int()) meta.offset = *offset;
  if (const auto bytes = value["storage_bytes"].as_int()) meta.storage_bytes = *bytes;
  if (const auto device = value["device"].as_string()) {
    const auto parsed = device_from_string(*device);
    if (!parsed) return bad_input("\"{}\" is no device", *device);
    meta.device = *parsed;
  }
  return meta;
}

auto json_observation(JsonValue value) -> Result<Observation> {
  Observation observation;
  if (value.is_array()) {
    observation.is_tuple = true;
    for (const auto& item : value.items()) {
      ASSAY_TRY(auto part, json_observation(item));
      observation.items.push_back(std::move(part));
    }
    return observation;
  }
  if (const auto constant = value["const"]; constant.exists()) {
    if (const auto flag = constant.as_bool()) {
      observation.scalar = Expr::boolean(*flag);
    } else if (const auto number = constant.as_int()) {
      observation.scalar = Expr(*number);
    } else if (const auto real = json_real(constant)) {
      observation.scalar = Expr::real(*real);
    }
    return observation;
  }
  if (value.is_null()) return observation;
  ASSAY_TRY(observation.tensor, json_real_meta(value));
  if (!value["device"].exists()) observation.tensor->device.type.clear();
  ASSAY_TRY(observation.alias_group, json_alias_group(value));
  observation.sum = json_real(value["sum"]);
  observation.abs_sum = json_real(value["abs"]);
  return observation;
}

auto JsonTensorReader::add(StorageData data, RealMeta meta) -> Result<RecordedTensor> {
  ASSAY_TRY_VOID(bytes_under(meta));  // running past the storage is for the interpreter to report
  if (data.size_bytes < 0) return bad_input("a storage of {} bytes", data.size_bytes);
  meta.storage_bytes = data.size_bytes;
  capture_.storages.push_back(std::move(data));
  return RecordedTensor{static_cast<int>(capture_.storages.size()) - 1, std::move(meta)};
}

auto JsonTensorReader::fill(JsonValue entry, RealMeta meta) -> Result<RecordedTensor> {
  StorageData data;
  ASSAY_TRY(data.content, read_fill(entry["fill"]));
  data.fill_dtype = meta.dtype;
  ASSAY_TRY(const auto needed, bytes_under(meta));
  const auto numel = entry["fill"]["storage_numel"].as_int();
  if (numel && (*numel < 0 || *numel > kMaxStorageBytes / size_bytes(meta.dtype)))
    return bad_input("a storage of {} elements", *numel);
  data.size_bytes = numel ? *numel * size_bytes(meta.dtype) : needed;
  return add(std::move(data), std::move(meta));
}

/// The elements in row-major order, whatever the strides of the tensor: they are put where the
/// strides say. Bytes between them are 0.
auto JsonTensorReader::packed(JsonValue entry, RealMeta meta) -> Result<RecordedTensor> {
  ASSAY_TRY(const auto needed, bytes_under(meta));
  const auto width = static_cast<std::size_t>(size_bytes(meta.dtype));
  // Expanded views have more elements than storage; none of ours are packed that way.
  const auto dense = contiguous_strides(meta.sizes);
  ASSAY_TRY(const auto count, required_elems(meta.sizes, dense, 0));
  if (count > kMaxStorageBytes / size_bytes(meta.dtype))
    return bad_input("{} has too many elements", to_string(meta));
  ASSAY_TRY(const auto elements,
            unpack_zlib(entry["zlib"].as_string().value_or(""), count * size_bytes(meta.dtype)));
  if (std::any_of(meta.strides.begin(), meta.strides.end(), [](auto stride) { return stride < 0; }))
    return bad_input("{} has a negative stride", to_string(meta));
  std::vector<std::byte> storage(static_cast<std::size_t>(needed));
  const auto& strides = meta.strides;
  const Ints* both[] = {&strides, &dense};
  const auto step = strides.empty() ? 1 : strides.back();
  for_each_run(meta.sizes, both, [&](std::span<const std::int64_t> offsets, std::int64_t run) {
    for (std::int64_t i = 0; i < run; ++i) {
      const auto to = static_cast<std::size_t>(meta.offset + offsets[0] + i * step) * width;
      const auto from = static_cast<std::size_t>(offsets[1] + i) * width;
      std::memcpy(storage.data() + to, elements.data() + from, width);
    }
  });
  StorageData data;
  data.size_bytes = needed;
  data.content = std::make_shared<const std::vector<std::byte>>(std::move(storage));
  return add(std::move(data), std::move(meta));
}

/// A view of one of the top-level storages.
auto JsonTensorReader::view(JsonValue entry, RealMeta meta) -> Result<RecordedTensor> {
  const auto index = entry["storage"].as_int().value_or(-1);
  if (index < 0 || index >= static_cast<std::int64_t>(capture_.storages.size()))
    return bad_input("there is no storage {}", index);
  auto& storage = capture_.storages[static_cast<std::size_t>(index)];
  if (!storage.fill_dtype) storage.fill_dtype = meta.dtype;
  ASSAY_TRY(const auto needed, bytes_under(meta));
  if (needed > storage.size_bytes)
    return bad_input("{} needs {} bytes, storage {} has {}", to_string(meta), needed, index,
                     storage.size_bytes);
  meta.storage_bytes = storage.size_bytes;
  return RecordedTensor{static_cast<int>(index), std::move(meta)};
}

auto JsonTensorReader::read_data_file(std::string_view name) -> Result<std::string> {
  const std::filesystem::path path(name);
  if (path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end())
    return bad_input("data file \"{}\" must be a path below the folder of the capture", name);
  if (folder_.empty()) return bad_input("data file \"{}\": the folder is not known", name);
  return read_file(folder_ / path, kMaxStorageBytes);
}

auto JsonTensorReader::file(JsonValue entry, RealMeta meta) -> Result<RecordedTensor> {
  ASSAY_TRY(const auto bytes, read_data_file(entry["file"].as_string().value_or("")));
  StorageData data;
  data.size_bytes = static_cast<std::int64_t>(bytes.size());
  data.content = as_bytes(bytes);
  return add(std::move(data), std::move(meta));
}

auto JsonTensorReader::storage(JsonValue entry) -> Result<StorageData> {
  StorageData data;
  const auto bytes = entry["nbytes"].as_int();
  if (bytes && (*bytes < 0 || *bytes > kMaxStorageBytes))
    return bad_input("a storage of {} bytes", *bytes);
  data.size_bytes = bytes.value_or(0);
  if (const auto name = entry["file"].as_string()) {
    ASSAY_TRY(const auto content, read_data_file(*name));
    const auto size = static_cast<std::int64_t>(content.size());
    if (bytes && *bytes != size)
      return bad_input("data file \"{}\" has {} bytes, expected {}", *name, size, *bytes);
    data.size_bytes = size;
    data.content = as_bytes(content);
  } else if (const auto packed = entry["zlib"].as_string()) {
    if (!bytes) return bad_input("a storage without nbytes");
    ASSAY_TRY(auto content, unpack_zlib(*packed, *bytes));
    data.content = std::make_shared<const std::vector<std::byte>>(std::move(content));
  } else if (entry["fill"].is_object()) {
    if (!bytes) return bad_input("a storage without nbytes");
    ASSAY_TRY(data.content, read_fill(entry["fill"]));
    if (const auto dtype = entry["fill"]["dtype"].as_string()) {
      data.fill_dtype = dtype_from_name(*dtype);
      if (!data.fill_dtype) return bad_input("unknown dtype \"{}\"", *dtype);
    }
  } else if (!bytes) {
    return bad_input("a storage without nbytes");
  }
  return data;
}

auto JsonTensorReader::storages(JsonValue storages) -> Result<void> {
  std::size_t index = 0;
  for (const auto& entry : storages.items()) {
    auto data = storage(entry);
    if (!data) return with_context(data.error(), fmt::format("capture json: storages[{}]", index));
    capture_.storages.push_back(*std::move(data));
    ++index;
  }
  return {};
}

auto JsonTensorReader::input(JsonValue entry, const std::optional<RealMeta>& known)
    -> Result<InputValue> {
  if (entry.is_null()) return InputValue{};
  if (!entry.is_object()) return bad_input("expected an object, found {}", entry.dump());
  if (const auto value = entry["value"]; value.exists()) {
    if (const auto flag = value.as_bool()) return InputValue(Expr::boolean(*flag));
    if (const auto number = value.as_int()) return InputValue(Expr(*number));
    if (const auto real = json_real(value)) return InputValue(Expr::real(*real));
    if (const auto text = value.as_string()) return InputValue(std::string(*text));
    if (value.is_null()) return InputValue{};
    return bad_input("expected a number or a text, found {}", value.dump().substr(0, 60));
  }
  const auto layout = entry["meta"].is_object() ? entry["meta"] : entry;
  ASSAY_TRY(auto meta, json_real_meta(layout, known));
  Result<RecordedTensor> tensor = bad_input("expected fill, zlib, file, storage, meta or value");
  if (entry["storage"].exists()) {
    tensor = view(entry, std::move(meta));
  } else if (entry["file"].exists()) {
    tensor = file(entry, std::move(meta));
  } else if (entry["fill"].exists()) {
    tensor = fill(entry, std::move(meta));
  } else if (entry["zlib"].exists()) {
    tensor = packed(entry, std::move(meta));
  } else if (entry["meta"].exists()) {
    StorageData nothing;
    ASSAY_TRY(const auto needed, bytes_under(meta));
    nothing.size_bytes = meta.storage_bytes > 0 ? meta.storage_bytes : needed;
    tensor = add(std::move(nothing), std::move(meta));
  }
  if (!tensor) return std::unexpected(tensor.error());
  return InputValue(*std::move(tensor));
}

auto JsonTensorReader::from_scalar(const RealMeta& meta, double value) -> Result<RecordedTensor> {
  ASSAY_TRY(auto made, Tensor::contiguous(meta.dtype, meta.sizes));
  if (is_floating(meta.dtype)) {
    from_vector<double>(made, std::vector<double>{value});
  } else {
    from_vector<std::int64_t>(made, std::vector<std::int64_t>{static_cast<std::int64_t>(value)});
  }
  const auto bytes = made.storage->bytes();
  StorageData data;
  data.size_bytes = made.storage->size_bytes();
  data.content = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  auto dense = meta;
  dense.strides = contiguous_strides(meta.sizes);
  dense.offset = 0;
  return add(std::move(data), std::move(dense));
}

}  // namespace assay
