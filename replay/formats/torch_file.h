// Files written by torch.save: a zip with data.pkl and one raw file per storage.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "replay/formats/pickle.h"

namespace assay {

struct TorchFile {
  Pickle pickle;
  /// Whole storages by key, little endian. Every tensor of the pickle lies inside its storage.
  std::map<std::string, std::shared_ptr<const std::vector<std::byte>>> storages;
};

/// `name` goes into messages. Errors: bad_input (damaged, storage missing or too small),
/// unsupported (big endian, the format before torch 1.6, refused globals).
[[nodiscard]] auto read_torch_file(std::string_view bytes, const std::string& name)
    -> Result<TorchFile>;

/// Does the view lie inside a storage of `meta.storage_bytes`? Errors: bad_input saying how not.
[[nodiscard]] auto check_view(const RealMeta& meta) -> Result<void>;

}  // namespace assay
