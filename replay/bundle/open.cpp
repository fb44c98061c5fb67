#include "replay/bundle/open.h"

#include "replay/formats/detect.h"

namespace assay {

auto open_bundle(const std::filesystem::path& path, std::string_view graph) -> Result<Bundle> {
  ASSAY_TRY(const auto bytes, read_file(path));
  if (detect_format(bytes) == InputFormat::bundle) {
    auto bundle = read_bundle(bytes);
    if (!bundle) return with_context(std::move(bundle).error(), path.string());
    return bundle;
  }
  Bundle bundle;
  ASSAY_TRY(bundle.capture, read_capture_in(bytes, path.string(), folder_of(path), graph));
  return bundle;
}

auto open_capture(const std::filesystem::path& path, std::string_view graph) -> Result<Capture> {
  ASSAY_TRY(const auto bytes, read_file(path));
  if (detect_format(bytes) != InputFormat::bundle)
    return read_capture_in(bytes, path.string(), folder_of(path), graph);
  auto bundle = read_bundle(bytes);
  if (!bundle) return with_context(std::move(bundle).error(), path.string());
  bundle->capture.source_path = path.string();
  bundle->capture.format = "bundle";
  return std::move(bundle->capture);
}

}  // namespace assay
