#include "replay/bundle/bundle.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "core/graph/text.h"
#include "replay/bundle/capture_section.h"
#include "replay/bundle/repro.h"
#include "replay/bundle/sha256.h"
#include "replay/formats/detect.h"
#include "replay/formats/json.h"
#include "replay/formats/zip.h"

namespace assay {
namespace {

constexpr std::string_view kTool = "assay " ASSAY_VERSION;
constexpr std::string_view kBlobFolder = "blobs/";
constexpr std::string_view kGraph = "graph.txt";
constexpr std::string_view kCapture = "capture.json";
constexpr std::string_view kRepro = "repro.py";
constexpr std::string_view kVerdict = "verdict.json";
constexpr std::string_view kOperators = "operators.sqlite";
constexpr std::string_view kWrapper = "program.py";
constexpr std::string_view kLog = "program.log";
constexpr std::string_view kInputs = "inputs.json";
constexpr std::array kOwnNames = {kBundleManifest, kGraph,   kCapture, kRepro,
                                  kVerdict,        kWrapper, kLog,     kInputs};

constexpr ZipLimits kLimits = {.max_entries = 1 << 16,
                               .max_entry_bytes = std::int64_t{4} << 30,
                               .max_total_bytes = std::int64_t{8} << 30};

auto is_own_name(std::string_view name) -> bool {
  return name.starts_with(kBlobFolder) || std::ranges::find(kOwnNames, name) != kOwnNames.end();
}

auto print_manifest(const std::string& source, const std::vector<ZipFile>& files) -> std::string {
  std::vector<std::string> sections;
  for (const auto& file : files)
    sections.push_back(fmt::format(R"({{"name": {}, "bytes": {}, "sha256": "{}"}})",
                                   json_quote(file.name), file.content.size(),
                                   sha256(file.content)));
  return fmt::format(
      "{{\n \"format\": \"{}\",\n \"version\": {},\n \"tool\": \"{}\",\n \"source\": {},\n"
      " \"sections\": [\n  {}\n ]\n}}\n",
      kBundleFormat, kBundleVersion, kTool, json_quote(source), fmt::join(sections, ",\n  "));
}

auto as_text(const std::vector<std::byte>& bytes) -> std::string_view {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A bundle whose manifest has been checked against what is really inside.
class BundleReader {
 public:
  explicit BundleReader(const ZipReader& zip) : zip_(zip) {}
  auto read() -> Result<Bundle>;
  auto read_program() -> Result<ProgramBundle>;

 private:
  auto read_manifest() -> Result<void>;
  auto read_section(JsonValue json) -> Result<void>;
  auto section(std::string_view name) const -> Result<std::string>;
  auto blob(const std::string& hash) -> Result<BlobBytes>;

  const ZipReader& zip_;
  std::string source_;
  std::map<std::string, std::string, std::less<>> hashes_;  ///< of every file, by name
  std::vector<std::string> order_;                          ///< names as the manifest lists them
  std::map<std::string, BlobBytes> blobs_;
};

auto BundleReader::read_manifest() -> Result<void> {
  ASSAY_TRY(const auto text, zip_.read(kBundleManifest));
  ASSAY_TRY(const auto document, JsonDocument::parse(text, std::string(kBundleManifest)));
  const auto root = document.root();
  if (root["format"].as_string() != kBundleFormat) return bad_input("manifest.json: no bundle");
  const auto version = root["version"].as_int().value_or(0);
  if (version > kBundleVersion)
    return unsupported("manifest.json: bundle version {} (known: up to {})", version,
                       kBundleVersion);
  if (version < 1) return bad_input("manifest.json: no version");
  source_ = root["source"].as_string().value_or("");
  for (const auto item : root["sections"].items()) ASSAY_TRY_VOID(read_section(item));
  for (const auto& entry : zip_.entries())
    if (entry.name != kBundleManifest && !hashes_.contains(entry.name))
      return bad_input("manifest.json: {} is not listed", entry.name);
  return {};
}

auto BundleReader::read_section(JsonValue json) -> Result<void> {
  const auto name = std::string(json["name"].as_string().value_or(""));
  const auto hash = json["sha256"].as_string();
  const auto* entry = zip_.find(name);
  if (entry == nullptr) return bad_input("manifest.json: {} is listed but missing", name);
  if (!hash || json["bytes"].as_int() != entry->size_bytes)
    return bad_input("manifest.json: {} has {} bytes, not {}", name, entry->size_bytes,
                     json["bytes"].dump());
  if (!hashes_.emplace(name, *hash).second)
    return bad_input("manifest.json: {} is listed twice", name);
  if (name.starts_with(kBlobFolder) && name.substr(kBlobFolder.size()) != *hash)
    return bad_input("manifest.json: {} is not named after its content", name);
  order_.push_back(name);
  return {};
}

auto BundleReader::section(std::string_view name) const -> Result<std::string> {
  const auto hash = hashes_.find(name);
  if (hash == hashes_.end()) return bad_input("no {} inside", name);
  ASSAY_TRY(auto content, zip_.read(name));
  if (sha256(content) != hash->second)
    return bad_input("{}: content does not match its SHA-256", name);
  return content;
}

auto BundleReader::blob(const std::string& hash) -> Result<BlobBytes> {
  const auto name = std::string(kBlobFolder) + hash;
  auto& bytes = blobs_[hash];
  if (bytes) return bytes;
  if (!hashes_.contains(name)) return bad_input("no {} inside", name);
  ASSAY_TRY(bytes, zip_.read_bytes(name));
  if (sha256(*bytes) != hash) return bad_input("{}: content does not match its SHA-256", name);
  return bytes;
}

auto BundleReader::read() -> Result<Bundle> {
  ASSAY_TRY_VOID(read_manifest());
  if (hashes_.contains(kWrapper) || hashes_.contains(kLog))
    return unsupported("it holds a compiled program and no capture");
  Bundle bundle;
  ASSAY_TRY(const auto text, section(kGraph));
  auto graph = parse_graph(text);
  if (!graph) return with_context(std::move(graph).error(), std::string(kGraph));
  bundle.capture.graph = *std::move(graph);
  ASSAY_TRY(const auto capture, section(kCapture));
  ASSAY_TRY_VOID(read_capture_section(
      capture, [this](const std::string& hash) { return blob(hash); }, bundle.capture));
  bundle.capture.source_path = source_;
  for (const auto& name : order_) {
    if (name.starts_with(kBlobFolder)) {
      // Also what no storage refers to: a bundle is either whole or refused.
      ASSAY_TRY([[maybe_unused]] const auto bytes, blob(name.substr(kBlobFolder.size())));
      continue;
    }
    ASSAY_TRY(auto content, section(name));
    if (name == kVerdict)
      bundle.verdict_json = std::move(content);
    else if (name == kOperators)
      bundle.capture.operator_cases = std::make_shared<const std::string>(std::move(content));
    else if (!is_own_name(name))
      bundle.extra.emplace_back(name, std::move(content));
  }
  return bundle;
}

auto BundleReader::read_program() -> Result<ProgramBundle> {
  ASSAY_TRY_VOID(read_manifest());
  ProgramBundle bundle;
  bundle.source_path = source_;
  bool has_program = false;
  for (const auto& name : order_) {
    ASSAY_TRY(auto content, section(name));
    if (name == kWrapper || name == kLog) {
      if (std::exchange(has_program, true)) return bad_input("manifest.json: two programs");
      bundle.text = std::move(content);
    } else if (name == kInputs) {
      bundle.inputs_json = std::move(content);
    } else if (name == kVerdict) {
      bundle.verdict_json = std::move(content);
    } else if (is_own_name(name)) {
      return bad_input("{} beside a compiled program", name);
    } else {
      bundle.extra.emplace_back(name, std::move(content));
    }
  }
  if (!has_program) return bad_input("no compiled program inside");
  return bundle;
}

auto check_json(const std::string& text, std::string_view name) -> Result<void> {
  if (text.empty()) return {};
  ASSAY_TRY([[maybe_unused]] const auto document, JsonDocument::parse(text, std::string(name)));
  return {};
}

auto check_names(const std::vector<std::pair<std::string, std::string>>& extra) -> Result<void> {
  for (const auto& [name, content] : extra)
    if (is_own_name(name)) return bad_input("bundle: the name {} is taken", name);
  return {};
}

/// Behind a manifest that lists them.
auto zipped(const std::string& source_path, std::vector<ZipFile> files) -> Result<std::string> {
  const auto source = std::filesystem::path(source_path).filename().string();
  const auto manifest = print_manifest(source, files);
  files.insert(files.begin(), {std::string(kBundleManifest), manifest});
  return write_zip(files);
}

}  // namespace

auto write_bundle(const Bundle& bundle) -> Result<std::string> {
  ASSAY_TRY_VOID(check_json(bundle.verdict_json, kVerdict));
  ASSAY_TRY_VOID(check_names(bundle.extra));
  const auto& capture = bundle.capture;
  const auto hashes = storage_hashes(capture);
  ASSAY_TRY(const auto section, print_capture_section(capture, hashes));
  const auto graph = print_graph(capture.graph);
  const auto repro = print_repro(capture, hashes);
  std::vector<ZipFile> files = {
      {std::string(kGraph), graph}, {std::string(kCapture), section}, {std::string(kRepro), repro}};
  if (!bundle.verdict_json.empty()) files.push_back({std::string(kVerdict), bundle.verdict_json});
  if (capture.operator_cases) files.push_back({std::string(kOperators), *capture.operator_cases});
  for (const auto& [name, content] : bundle.extra) files.push_back({name, content});
  std::map<std::string, std::string_view> blobs;  // sorted, and each content once
  for (std::size_t i = 0; i < hashes.size(); ++i)
    if (const auto* bytes = std::get_if<BlobBytes>(&capture.storages[i].content))
      blobs.emplace(hashes[i], as_text(**bytes));
  for (const auto& [hash, content] : blobs)
    files.push_back({std::string(kBlobFolder) + hash, content});
  return zipped(capture.source_path, std::move(files));
}

auto write_bundle(const ProgramBundle& bundle) -> Result<std::string> {
  ASSAY_TRY_VOID(check_json(bundle.inputs_json, kInputs));
  ASSAY_TRY_VOID(check_json(bundle.verdict_json, kVerdict));
  ASSAY_TRY_VOID(check_names(bundle.extra));
  const bool is_log = detect_format(bundle.text) == InputFormat::torch_trace;
  std::vector<ZipFile> files = {{std::string(is_log ? kLog : kWrapper), bundle.text}};
  if (!bundle.inputs_json.empty()) files.push_back({std::string(kInputs), bundle.inputs_json});
  if (!bundle.verdict_json.empty()) files.push_back({std::string(kVerdict), bundle.verdict_json});
  for (const auto& [name, content] : bundle.extra) files.push_back({name, content});
  return zipped(bundle.source_path, std::move(files));
}

auto read_bundle(std::string_view bytes) -> Result<Bundle> {
  ASSAY_TRY(const auto zip, ZipReader::open(bytes, kLimits));
  return BundleReader(zip).read();
}

auto read_program_bundle(std::string_view bytes) -> Result<ProgramBundle> {
  ASSAY_TRY(const auto zip, ZipReader::open(bytes, kLimits));
  return BundleReader(zip).read_program();
}

auto is_program_bundle(std::string_view bytes) -> bool {
  if (detect_format(bytes) != InputFormat::bundle) return false;
  const auto zip = ZipReader::open(bytes, kLimits);
  return zip && (zip->find(kWrapper) != nullptr || zip->find(kLog) != nullptr);
}

}  // namespace assay
