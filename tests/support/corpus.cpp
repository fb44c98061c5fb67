#include "tests/support/corpus.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace assay::testing {
namespace fs = std::filesystem;
namespace {

auto wanted_folder() -> fs::path {
  if (const char* set = std::getenv("ASSAY_CORPUS"); set != nullptr && *set != '\0') return set;
  return fs::path(ASSAY_SOURCE_DIR).parent_path() / "shared" / "corpus";
}

/// Tests run in processes of their own, side by side, and unpack once.
class FileLock {
 public:
  explicit FileLock(const fs::path& path)
      : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (descriptor_ >= 0) ::flock(descriptor_, LOCK_EX);
  }
  ~FileLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FileLock(const FileLock&) = delete;
  auto operator=(const FileLock&) -> FileLock& = delete;

 private:
  int descriptor_;
};

/// The folder that `command` (packed file, folder) fills from NAME.ENDING of the corpus.
auto unpacked(std::string_view name, std::string_view ending, std::string_view command)
    -> std::optional<fs::path> {
  const auto folder = corpus_folder();
  if (!folder) return std::nullopt;
  const auto packed = *folder / fmt::format("{}.{}", name, ending);
  std::error_code error;
  const auto size = fs::file_size(packed, error);
  if (error) return std::nullopt;
  const auto root = fs::path(ASSAY_TEST_DATA_DIR);
  fs::create_directories(root, error);
  const FileLock lock(root / fmt::format("{}.lock", name));
  auto target = root / fmt::format("{}-{}", name, size);
  if (fs::is_directory(target, error)) return target;
  const auto unfinished = root / fmt::format("{}-{}.tmp", name, size);
  fs::remove_all(unfinished, error);
  fs::create_directories(unfinished, error);
  const auto line = fmt::format(fmt::runtime(command), packed.string(), unfinished.string());
  if (std::system(line.c_str()) != 0) return std::nullopt;
  fs::rename(unfinished, target, error);
  return error ? std::nullopt : std::optional(target);
}

}  // namespace

auto corpus_folder() -> std::optional<fs::path> {
  auto folder = wanted_folder();
  std::error_code error;
  return fs::is_directory(folder, error) ? std::optional(folder) : std::nullopt;
}

auto corpus_missing() -> std::string {
  return fmt::format("no reference corpus at {} (set ASSAY_CORPUS)", wanted_folder().string());
}

auto unpacked_corpus(std::string_view archive) -> std::optional<fs::path> {
  return unpacked(archive, "tar.xz", "tar -xJf '{}' -C '{}'");
}

auto unpacked_file(std::string_view name) -> std::optional<fs::path> {
  const auto folder = unpacked(name, "xz", "xz -dc '{}' > '{}/content'");
  return folder ? std::optional(*folder / "content") : std::nullopt;
}

auto files_ending(const fs::path& folder, std::string_view suffix) -> std::vector<fs::path> {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().filename().string().ends_with(suffix))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

auto graph_captures() -> std::vector<fs::path> {
  const auto folder = unpacked_corpus("models");
  auto paths = folder ? files_ending(*folder, ".json") : std::vector<fs::path>{};
  std::erase_if(paths,
                [](const auto& path) { return !path.filename().string().starts_with("graph"); });
  return paths;
}

auto all_captures() -> std::vector<std::filesystem::path> {
  auto paths = graph_captures();
  if (const auto folder = unpacked_corpus("pt2"))
    for (auto& path : files_ending(*folder, ".pt2")) paths.push_back(std::move(path));
  return paths;
}

auto is_backward(const fs::path& capture) -> bool {
  return capture.filename().string().contains("_bwd");
}

auto wanted_graphs(int usual) -> int {
  const auto* text = std::getenv("ASSAY_PLANTED");
  return text ? std::atoi(text) : usual;
}

auto read_text(const fs::path& path) -> std::string {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return std::move(text).str();
}

}  // namespace assay::testing
