#include "replay/formats/torch_file.h"

#include "replay/formats/zip.h"

namespace assay {
namespace {

/// The name of the one folder that holds data.pkl, with its slash.
auto find_root(const ZipReader& zip) -> Result<std::string> {
  constexpr std::string_view kPickle = "data.pkl";
  for (const auto& entry : zip.entries()) {
    if (!entry.name.ends_with(kPickle)) continue;
    auto root = entry.name.substr(0, entry.name.size() - kPickle.size());
    if (root.empty() || (root.ends_with('/') && root.find('/') == root.size() - 1)) return root;
  }
  return bad_input("no data.pkl inside");
}

auto check_byte_order(const ZipReader& zip, const std::string& root) -> Result<void> {
  if (zip.find(root + "byteorder") == nullptr) return {};  // before torch 2.0: always little
  ASSAY_TRY(const auto order, zip.read(root + "byteorder"));
  if (order != "little") return unsupported("byte order {:?}", order.substr(0, 20));
  return {};
}

auto read_parts(std::string_view bytes) -> Result<TorchFile> {
  ASSAY_TRY(const auto zip, ZipReader::open(bytes));
  ASSAY_TRY(const auto root, find_root(zip));
  ASSAY_TRY_VOID(check_byte_order(zip, root));
  ASSAY_TRY(const auto text, zip.read(root + "data.pkl"));
  TorchFile file;
  ASSAY_TRY(file.pickle, read_pickle(text));
  for (const auto& value : file.pickle.values) {
    const auto* tensor = std::get_if<PickleTensor>(&value.value);
    if (tensor == nullptr) continue;
    auto& content = file.storages[tensor->storage.key];
    if (!content) {
      ASSAY_TRY(content, zip.read_bytes(root + "data/" + tensor->storage.key));
    }
    ASSAY_TRY_VOID(check_view({tensor->dtype,
                               tensor->sizes,
                               tensor->strides,
                               tensor->offset,
                               static_cast<std::int64_t>(content->size()),
                               {}}));
  }
  return file;
}

}  // namespace

auto check_view(const RealMeta& meta) -> Result<void> {
  for (const auto& list : {meta.sizes, meta.strides})
    for (const auto value : list)
      if (value < 0) return bad_input("negative size or stride");
  if (meta.offset < 0) return bad_input("negative storage offset");
  ASSAY_TRY(const auto elems, required_elems(meta.sizes, meta.strides, meta.offset));
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elems, std::int64_t{size_bytes(meta.dtype)}, &bytes) ||
      bytes > meta.storage_bytes)
    return bad_input("{} needs more than its storage of {} bytes", to_string(meta),
                     meta.storage_bytes);
  return {};
}

auto read_torch_file(std::string_view bytes, const std::string& name) -> Result<TorchFile> {
  // Before torch 1.6 a file was a bare sequence of pickles that starts with a magic number.
  if (bytes.starts_with("\x80\x02\x8a\x0a"))
    return unsupported("{}: written by torch before 1.6", name);
  auto file = read_parts(bytes);
  if (!file) return with_context(std::move(file).error(), name);
  return file;
}

}  // namespace assay
