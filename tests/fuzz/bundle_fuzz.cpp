// Bundles, as raw bytes and as a list of files whose manifest is written here, so that mutations
// get past the hashes.
#include <filesystem>
#include <iterator>

#include "replay/bundle/bundle.h"
#include "replay/bundle/sha256.h"
#include "replay/formats/detect.h"
#include "replay/formats/json.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/round_trip.h"

namespace assay {
namespace {

/// Files named `blobs/` anything get the name of their content.
auto with_manifest(fuzz::Files files) -> fuzz::Files {
  std::string sections;
  for (auto& [name, content] : files) {
    const auto hash = sha256(content);
    if (name.starts_with("blobs/")) name = "blobs/" + hash;
    fmt::format_to(std::back_inserter(sections), R"({}{{"name":{},"bytes":{},"sha256":"{}"}})",
                   sections.empty() ? "" : ",", json_quote(name), content.size(), hash);
  }
  files.emplace_back(kBundleManifest,
                     fmt::format(R"({{"format":"{}","version":{},"sections":[{}]}})", kBundleFormat,
                                 kBundleVersion, sections));
  return files;
}

void check_rewrite(const Bundle& bundle) {
  const auto bytes = write_bundle(bundle);
  if (!bytes) return;
  const auto again = read_bundle(*bytes);
  ASSAY_CHECK(again.has_value(), "a rewritten bundle: {}", again.error().message);
  const auto twice = write_bundle(*again).value_or("");
  ASSAY_CHECK(twice == *bytes, "a bundle changes when it is written again");
}

}  // namespace
}  // namespace assay

extern "C" auto LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) -> int {
  using namespace assay;  // NOLINT(google-build-using-namespace): one function
  const auto text = fuzz::as_text(data, size);
  const auto files = fuzz::parse_files(text);
  const auto packed = files.empty() ? std::string() : fuzz::pack_files(with_manifest(files));
  if (const auto bundle = read_bundle(files.empty() ? text : packed)) {
    fuzz::check_round_trip(bundle->capture.graph);
    if (verify(bundle->capture.graph).empty()) check_rewrite(*bundle);
  }
  return 0;
}
