#include "replay/formats/pt2_archive.h"

#include <array>

#include "replay/formats/json.h"
#include "replay/formats/pt2_types.h"
#include "replay/formats/zip.h"

namespace assay {
namespace {

class ArchiveReader {
 public:
  explicit ArchiveReader(const ZipReader& zip) : zip_(zip) {}
  auto read() -> Result<Pt2Archive>;

 private:
  using Tensors = std::map<std::string, RecordedTensor>;

  auto find_root() -> Result<void>;
  auto find_model() -> Result<void>;
  auto check_byte_order() -> Result<void>;
  auto read_flat_layout() -> Result<void>;
  auto read_package_layout() -> Result<void>;
  /// Weights or constants: raw files with a config, or one pickled state dict before torch 2.9.
  auto read_payloads(const std::string& folder, std::string_view what, Tensors& tensors)
      -> Result<void>;
  auto read_config(const std::string& folder, const std::string& path, Tensors& tensors)
      -> Result<void>;
  auto read_payload(const std::string& folder, JsonValue payload) -> Result<RecordedTensor>;
  auto read_pickled_payload(const std::string& path) -> Result<RecordedTensor>;
  auto read_state_dict(const std::string& path, Tensors& tensors) -> Result<void>;
  void read_sample_inputs(const std::string& path);
  auto raw_storage(const std::string& path) -> Result<int>;
  void warn(std::string text) { archive_.warnings.push_back(std::move(text)); }

  const ZipReader& zip_;
  std::string root_;  ///< with its slash; empty in the oldest layout
  Pt2Archive archive_;
  std::map<std::string, int> raw_storages_;
};

constexpr std::string_view kFlatProgram = "serialized_exported_program.json";

auto exact_int(const Expr& e) -> std::optional<std::int64_t> {
  return e.as_int();
}

/// Layout of a stored tensor: the schema's TensorMeta with constants only.
auto read_stored_meta(JsonValue json) -> Result<RealMeta> {
  Pt2Symbols symbols;
  ASSAY_TRY(const auto claim, symbols.read_meta(json));
  RealMeta meta;
  meta.dtype = claim.dtype;
  meta.device = claim.device;
  const auto offset = exact_int(claim.offset);
  if (!offset) return bad_input("stored tensor with a symbolic offset");
  meta.offset = *offset;
  for (std::size_t i = 0; i < claim.sizes.size(); ++i) {
    const auto size = exact_int(claim.sizes[i]);
    const auto stride = exact_int(claim.strides[i]);
    if (!size || !stride) return bad_input("stored tensor with symbolic sizes");
    meta.sizes.push_back(*size);
    meta.strides.push_back(*stride);
  }
  return meta;
}

auto ArchiveReader::read() -> Result<Pt2Archive> {
  if (zip_.find(kFlatProgram) != nullptr) {
    ASSAY_TRY_VOID(read_flat_layout());
  } else {
    ASSAY_TRY_VOID(find_root());
    ASSAY_TRY_VOID(read_package_layout());
  }
  return std::move(archive_);
}

auto ArchiveReader::find_root() -> Result<void> {
  constexpr std::string_view kMarker = "/archive_format";
  for (const auto& entry : zip_.entries()) {
    if (!entry.name.ends_with(kMarker)) continue;
    root_ = entry.name.substr(0, entry.name.size() - kMarker.size() + 1);
    ASSAY_TRY(const auto format, zip_.read(entry.name));
    if (format != "pt2") return unsupported("archive format {:?}", format.substr(0, 20));
    return {};
  }
  for (const auto& entry : zip_.entries())
    if (entry.name.ends_with("/data.pkl"))
      return unsupported("a file of torch.save or TorchScript, not an exported program");
  return bad_input("not a .pt2 archive: no archive_format inside");
}

auto ArchiveReader::find_model() -> Result<void> {
  const auto folder = root_ + "models/";
  std::vector<std::string> names;
  for (const auto& entry : zip_.entries())
    if (entry.name.starts_with(folder) && entry.name.ends_with(".json"))
      names.push_back(entry.name.substr(folder.size(), entry.name.size() - folder.size() - 5));
  if (names.empty()) return unsupported("no exported program inside (only compiled code?)");
  archive_.model_name = names[0];
  for (const auto& name : names)
    if (name == "model") archive_.model_name = name;
  if (names.size() > 1)
    warn(fmt::format("the archive holds {} programs; \"{}\" was read", names.size(),
                     archive_.model_name));
  return {};
}

auto ArchiveReader::check_byte_order() -> Result<void> {
  if (zip_.find(root_ + "byteorder") == nullptr) return {};
  ASSAY_TRY(const auto order, zip_.read(root_ + "byteorder"));
  if (order != "little") return unsupported("byte order {:?}", order.substr(0, 20));
  return {};
}

auto ArchiveReader::read_flat_layout() -> Result<void> {
  ASSAY_TRY(archive_.program, zip_.read(kFlatProgram));
  ASSAY_TRY_VOID(read_state_dict("serialized_state_dict.pt", archive_.weights));
  ASSAY_TRY_VOID(read_state_dict("serialized_constants.pt", archive_.constants));
  read_sample_inputs("serialized_example_inputs.pt");
  return {};
}

auto ArchiveReader::read_package_layout() -> Result<void> {
  ASSAY_TRY_VOID(check_byte_order());
  ASSAY_TRY_VOID(find_model());
  ASSAY_TRY(archive_.program, zip_.read(root_ + "models/" + archive_.model_name + ".json"));
  ASSAY_TRY_VOID(read_payloads(root_ + "data/weights/", "weights", archive_.weights));
  ASSAY_TRY_VOID(read_payloads(root_ + "data/constants/", "constants", archive_.constants));
  read_sample_inputs(root_ + "data/sample_inputs/" + archive_.model_name + ".pt");
  return {};
}

auto ArchiveReader::read_payloads(const std::string& folder, std::string_view what,
                                  Tensors& tensors) -> Result<void> {
  const auto pickled = folder + archive_.model_name + ".pt";
  if (zip_.find(pickled) != nullptr) return read_state_dict(pickled, tensors);
  const auto config = fmt::format("{}{}_{}_config.json", folder, archive_.model_name, what);
  if (zip_.find(config) != nullptr) return read_config(folder, config, tensors);
  warn(fmt::format("the archive has no {}", what));
  return {};
}

auto ArchiveReader::read_config(const std::string& folder, const std::string& path,
                                Tensors& tensors) -> Result<void> {
  ASSAY_TRY(const auto text, zip_.read(path));
  ASSAY_TRY(const auto document, JsonDocument::parse(text, path));
  const auto config = document.root()["config"];
  if (!config.is_object()) return bad_input("{}: no config", path);
  for (const auto& [name, payload] : config.members()) {
    if (payload["tensor_meta"].is_null()) {
      warn(fmt::format("constant \"{}\" is no tensor; it was left out", name));
      continue;
    }
    auto tensor = read_payload(folder, payload);
    if (!tensor)
      return with_context(std::move(tensor).error(), fmt::format("{}: \"{}\"", path, name));
    tensors.emplace(name, *std::move(tensor));
  }
  return {};
}

auto ArchiveReader::read_payload(const std::string& folder, JsonValue payload)
    -> Result<RecordedTensor> {
  const auto file = payload["path_name"].as_string();
  if (!file) return bad_input("no path_name");
  const auto path = folder + std::string(*file);
  if (payload["use_pickle"].as_bool() == true) return read_pickled_payload(path);
  RecordedTensor tensor;
  ASSAY_TRY(tensor.meta, read_stored_meta(payload["tensor_meta"]));
  ASSAY_TRY(tensor.storage, raw_storage(path));
  auto& storage = archive_.storages[static_cast<std::size_t>(tensor.storage)];
  // An empty file under a tensor that is not empty: the weights were fake when they were saved, and
  // PyTorch loads zeros. A fill says so without allocating whatever size the file claims.
  const bool is_recorded = !std::holds_alternative<Fill>(storage.content);
  if (!is_recorded || storage.size_bytes == 0) {
    ASSAY_TRY(const auto elems,
              required_elems(tensor.meta.sizes, tensor.meta.strides, tensor.meta.offset));
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(elems, std::int64_t{size_bytes(tensor.meta.dtype)}, &bytes))
      return bad_input("size overflows");
    if (bytes > storage.size_bytes) {
      storage = StorageData{bytes, Fill{0, 0, 0}, tensor.meta.dtype};
      if (is_recorded) warn(fmt::format("{} is empty; zeros stand in", path));
    }
  }
  tensor.meta.storage_bytes = storage.size_bytes;
  ASSAY_TRY_VOID(check_view(tensor.meta));
  return tensor;
}

auto ArchiveReader::raw_storage(const std::string& path) -> Result<int> {
  const auto next = static_cast<int>(archive_.storages.size());
  const auto [found, is_new] = raw_storages_.emplace(path, next);
  if (!is_new) return found->second;
  ASSAY_TRY(auto content, zip_.read_bytes(path));
  const auto size = static_cast<std::int64_t>(content->size());
  archive_.storages.push_back({size, std::move(content), std::nullopt});
  return next;
}

auto ArchiveReader::read_pickled_payload(const std::string& path) -> Result<RecordedTensor> {
  ASSAY_TRY(const auto bytes, zip_.read(path));
  ASSAY_TRY(const auto file, read_torch_file(bytes, path));
  const auto* tensor = std::get_if<PickleTensor>(&file.pickle.at(file.pickle.root).value);
  if (tensor == nullptr) return unsupported("{}: not a tensor", path);
  return TorchFileStorages(file, archive_.storages).add(*tensor);
}

auto ArchiveReader::read_state_dict(const std::string& path, Tensors& tensors) -> Result<void> {
  if (zip_.find(path) == nullptr) {
    warn(fmt::format("the archive has no {}", path));
    return {};
  }
  ASSAY_TRY(const auto bytes, zip_.read(path));
  if (bytes.empty()) return {};  // nothing to save
  ASSAY_TRY(const auto file, read_torch_file(bytes, path));
  const auto* dict = std::get_if<PickleDict>(&file.pickle.at(file.pickle.root).value);
  if (dict == nullptr) return bad_input("{}: not a dictionary", path);
  TorchFileStorages storages(file, archive_.storages);
  for (const auto& [key, value] : dict->items) {
    const auto* name = std::get_if<std::string>(&file.pickle.at(key).value);
    const auto* tensor = std::get_if<PickleTensor>(&file.pickle.at(value).value);
    if (name == nullptr || tensor == nullptr)
      return unsupported("{}: an item is no named tensor", path);
    tensors.insert_or_assign(*name, storages.add(*tensor));
  }
  return {};
}

/// Sample inputs are a convenience: an archive without readable ones is still a program.
void ArchiveReader::read_sample_inputs(const std::string& path) {
  if (zip_.find(path) == nullptr) return warn("no sample inputs were recorded");
  const auto bytes = zip_.read(path);
  if (!bytes) return warn(fmt::format("sample inputs: {}", bytes.error().message));
  if (bytes->empty()) return warn("no sample inputs were recorded");
  auto file = read_torch_file(*bytes, path);
  if (!file) return warn(fmt::format("sample inputs: {}", file.error().message));
  archive_.sample_inputs = *std::move(file);
}

}  // namespace

auto TorchFileStorages::add(const PickleTensor& tensor) -> RecordedTensor {
  const auto& key = tensor.storage.key;
  const auto next = static_cast<int>(storages_.size());
  const auto [found, is_new] = by_key_.emplace(key, next);
  const auto& content = file_.storages.at(key);
  const auto size = static_cast<std::int64_t>(content->size());
  if (is_new) storages_.push_back({size, content, std::nullopt});
  return {found->second,
          {tensor.dtype, tensor.sizes, tensor.strides, tensor.offset, size, tensor.storage.device}};
}

auto read_pt2_archive(std::string_view bytes) -> Result<Pt2Archive> {
  ASSAY_TRY(const auto zip, ZipReader::open(bytes));
  return ArchiveReader(zip).read();
}

}  // namespace assay
