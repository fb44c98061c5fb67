#include "replay/bundle/open.h"

#include "replay/formats/detect.h"

namespace assay {

namespace {

/// With the calls that were recorded beside it.
auto read_loose_capture(std::string_view bytes, const std::filesystem::path& path,
                        std::string_view graph) -> Result<Capture> {
  auto capture = read_capture_in(bytes, path.string(), folder_of(path), graph);
  const auto cases = path.parent_path() / kOperatorCases;
  std::error_code error;
  if (!capture || !std::filesystem::is_regular_file(cases, error)) return capture;
  ASSAY_TRY(auto content, read_file(cases));
  capture->operator_cases = std::make_shared<const std::string>(std::move(content));
  return capture;
}

auto is_text(InputFormat format) -> bool {
  using enum InputFormat;
  return format == capture_json || format == repro_script || format == graph_text ||
         format == torch_trace;
}

}  // namespace

auto open_bundle(const std::filesystem::path& path, std::string_view graph) -> Result<Bundle> {
  ASSAY_TRY(const auto bytes, read_file(path));
  if (detect_format(bytes) == InputFormat::bundle) {
    auto bundle = read_bundle(bytes);
    if (!bundle) return with_context(std::move(bundle).error(), path.string());
    return bundle;
  }
  Bundle bundle;
  ASSAY_TRY(bundle.capture, read_loose_capture(bytes, path, graph));
  return bundle;
}

auto open_program(const std::filesystem::path& path) -> Result<ProgramBundle> {
  ASSAY_TRY(auto bytes, read_file(path));
  if (!is_program_bundle(bytes)) {
    if (!is_text(detect_format(bytes))) bytes.clear();
    return ProgramBundle{.source_path = path.string(), .text = std::move(bytes)};
  }
  auto bundle = read_program_bundle(bytes);
  if (!bundle) return with_context(std::move(bundle).error(), path.string());
  return bundle;
}

auto open_capture(const std::filesystem::path& path, std::string_view graph) -> Result<Capture> {
  ASSAY_TRY(const auto bytes, read_file(path));
  if (detect_format(bytes) != InputFormat::bundle) return read_loose_capture(bytes, path, graph);
  if (is_program_bundle(bytes)) {
    ASSAY_TRY(const auto program, open_program(path));
    return read_loose_capture(program.text, path, graph);
  }
  auto bundle = read_bundle(bytes);
  if (!bundle) return with_context(std::move(bundle).error(), path.string());
  bundle->capture.source_path = path.string();
  bundle->capture.format = "bundle";
  return std::move(bundle->capture);
}

}  // namespace assay
