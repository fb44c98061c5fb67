#include "tests/fuzz/fuzz_target.h"

#include <cstdio>
#include <cstdlib>
#include <map>

#include "core/base/check.h"
#include "replay/formats/zip.h"

namespace assay {

/// In place of the library's, which exits: a fuzzer takes only a crash for a failure.
void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "%s:%d: check `%s` failed: %s\n", file, line, condition, message.c_str());
  std::abort();
}

namespace fuzz {

auto parse_files(std::string_view text) -> Files {
  constexpr std::string_view kMark = "--- ";
  Files files;
  while (text.starts_with(kMark)) {
    text.remove_prefix(kMark.size());
    const auto name_end = text.find('\n');
    if (name_end == std::string_view::npos) break;
    const auto name = text.substr(0, name_end);
    text.remove_prefix(name_end + 1);
    const auto next = text.find("\n--- ");
    files.emplace_back(name, text.substr(0, next));
    if (next == std::string_view::npos) break;
    text.remove_prefix(next + 1);
  }
  return files;
}

auto pack_files(const Files& files) -> std::string {
  Files flat;
  std::map<std::string, Files> nested;
  for (const auto& [name, content] : files) {
    const auto inner = name.find('!');
    if (inner == std::string::npos)
      flat.emplace_back(name, content);
    else
      nested[name.substr(0, inner)].emplace_back(name.substr(inner + 1), content);
  }
  for (const auto& [name, inner] : nested) flat.emplace_back(name, pack_files(inner));
  std::vector<ZipFile> entries;
  for (const auto& [name, content] : flat) entries.push_back({name, content});
  return entries.empty() ? std::string() : write_zip(entries).value_or("");
}

}  // namespace fuzz
}  // namespace assay
