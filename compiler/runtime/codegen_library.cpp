#include "compiler/runtime/codegen_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Beside the program that runs, in its library folder, or where the environment says.
auto library_places() -> std::vector<fs::path> {
  constexpr const char* kName = "libassay_codegen.so";
  std::vector<fs::path> places;
  if (const char* given = std::getenv("ASSAY_CODEGEN")) places.emplace_back(given);
  std::error_code error;
  auto folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  places.push_back(folder / ".." / ASSAY_LIBDIR / "assay" / kName);
  for (int up = 0; up < 4 && folder.has_relative_path(); ++up, folder = folder.parent_path())
    places.push_back(folder / kName);
  return places;
}

auto library() -> const Result<void*>& {
  static const auto kOpened = []() -> Result<void*> {
    std::string problem = "libassay_codegen.so is not there";
    for (const auto& place : library_places()) {
      std::error_code error;
      if (!fs::exists(place, error)) continue;
      if (void* opened = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return opened;
      problem = dlerror();
    }
    return std::unexpected(
        Error{ErrorCode::missing_tool, fmt::format("no machine code: {}", problem)});
  }();
  return kOpened;
}

}  // namespace

auto codegen_entry(const char* symbol) -> Result<void*> {
  const auto& opened = library();
  if (!opened) return std::unexpected(opened.error());
  if (void* entry = dlsym(*opened, symbol)) return entry;
  return std::unexpected(
      Error{ErrorCode::missing_tool, fmt::format("no machine code: {}", dlerror())});
}

auto codegen_stamp() -> std::string {
  for (const auto& place : library_places()) {
    std::error_code error;
    const auto bytes = fs::file_size(place, error);
    if (error) continue;
    const auto written = fs::last_write_time(place, error).time_since_epoch().count();
    return fmt::format("{} {}", bytes, written);
  }
  return {};
}

}  // namespace assay
