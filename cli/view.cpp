// assay view: starts the viewer, which is a program of its own.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/command.h"
#include "replay/report/link.h"

namespace assay::cli {
namespace {

/// Beside this binary, else what PATH has.
auto viewer() -> std::string {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto beside = self.parent_path() / "assay-view";
  return !error && ::access(beside.c_str(), X_OK) == 0 ? beside.string() : "assay-view";
}

auto start(const std::string& file, const std::string& at) -> Result<int> {
  auto link = parse_link(file);
  if (!at.empty()) link.place = at;
  if (!std::filesystem::exists(link.file)) return bad_input("{}: no such file", link.file);
  const auto program = viewer();
  std::vector<std::string> words = {program, link.file};
  if (!link.place.empty()) words.insert(words.end(), {"--at", link.place});
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(program.c_str(), arguments.data());
  return std::unexpected(Error{
      ErrorCode::missing_tool,
      fmt::format("{}: {} (it is built where Qt 6 is installed)", program, std::strerror(errno))});
}

}  // namespace

auto add_view(Arguments& arguments) -> Action {
  struct Options {
    std::string file, at;
  };
  const auto options = std::make_shared<Options>();
  arguments.option("FILE", &options->file, "a trace or any input, or a link", kRequired);
  arguments.option("--at", &options->at, "go to node:NAME, finding:N, graph:N or step:N");
  return [options] {
    const auto result = start(options->file, options->at);
    return result ? *result : report_error(result.error());
  };
}

}  // namespace assay::cli
