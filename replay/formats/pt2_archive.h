// What lies around the program in a .pt2 archive: weights, constants and sample inputs, in the
// layouts of torch <= 2.7, 2.8 and >= 2.9.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "replay/formats/capture.h"
#include "replay/formats/torch_file.h"

namespace assay {

struct Pt2Archive {
  std::string model_name;                           ///< "model", empty in the oldest layout
  std::string program;                              ///< JSON text of the ExportedProgram
  std::map<std::string, RecordedTensor> weights;    ///< state dict, by qualified name
  std::map<std::string, RecordedTensor> constants;  ///< by qualified name
  std::vector<StorageData> storages;                ///< what the tensors index into
  /// The recorded call `(args, kwargs)`; nothing if there is none or it could not be read.
  std::optional<TorchFile> sample_inputs;
  std::vector<std::string> warnings;
};

/// Errors: bad_input, unsupported (other kinds of archives, big endian); naming the entry.
[[nodiscard]] auto read_pt2_archive(std::string_view bytes) -> Result<Pt2Archive>;

/// Adds storages of one torch.save file as they are first used, so that aliases stay aliases.
class TorchFileStorages {
 public:
  TorchFileStorages(const TorchFile& file, std::vector<StorageData>& storages)
      : file_(file), storages_(storages) {}
  [[nodiscard]] auto add(const PickleTensor& tensor) -> RecordedTensor;

 private:
  const TorchFile& file_;
  std::vector<StorageData>& storages_;
  std::map<std::string, int> by_key_;
};

}  // namespace assay
