#include "minifier/edits/export.h"

#include "core/graph/text.h"
#include "replay/bundle/bundle.h"
#include "replay/bundle/capture_section.h"
#include "replay/formats/file.h"

namespace assay {

namespace fs = std::filesystem;

auto write_candidate(const Capture& capture, const fs::path& folder,
                     const std::optional<CompileCheck>& check) -> Result<void> {
  std::error_code error;
  fs::create_directories(folder / "blobs", error);
  if (error) return bad_input("{}: {}", folder.string(), error.message());
  Bundle bundle;
  bundle.capture = capture;
  ASSAY_TRY(const auto bytes, write_bundle(bundle));
  ASSAY_TRY_VOID(write_file_atomically(folder / kBundleName, bytes));
  ASSAY_TRY_VOID(write_file_atomically(folder / "graph.txt", print_graph(capture.graph)));
  const auto hashes = storage_hashes(capture);
  ASSAY_TRY_VOID(write_file_atomically(folder / "repro.py", print_repro(capture, hashes, check)));
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    const auto* content =
        std::get_if<std::shared_ptr<const std::vector<std::byte>>>(&capture.storages[i].content);
    if (hashes[i].empty() || !content) continue;
    const auto path = folder / "blobs" / hashes[i];
    if (fs::exists(path, error)) continue;
    const std::string_view blob(reinterpret_cast<const char*>((*content)->data()),
                                (*content)->size());
    ASSAY_TRY_VOID(write_file_atomically(path, blob));
  }
  return {};
}

}  // namespace assay
