// The options of a subcommand, without the headers of the library that parses them.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace assay::cli {

/// Where the value of an option goes. A list takes every occurrence.
using OptionTarget = std::variant<std::string*, std::vector<std::string>*, int*, std::int64_t*,
                                  std::uint64_t*, double*>;

struct OptionRules {
  bool is_required = false;
  bool shows_default = false;        ///< the help names the value before parsing
  std::vector<std::string> one_of;   ///< nothing: any text
  std::pair<int, int> range{0, -1};  ///< both included; empty: any number
};

/// What a subcommand declares. A name is `--long`, `-s,--long`, or FILE for a positional argument.
class Arguments {
 public:
  struct Impl;
  explicit Arguments(Impl& impl) : impl_(impl) {}
  void option(std::string_view name, OptionTarget target, std::string_view help,
              const OptionRules& rules = {});
  void flag(std::string_view name, bool& target, std::string_view help);

 private:
  Impl& impl_;
};

inline const OptionRules kRequired{.is_required = true, .one_of = {}};
inline const OptionRules kShowsDefault{.shows_default = true, .one_of = {}};

/// A subcommand is a row: `add` declares its options and returns what runs it.
using Action = std::function<int()>;
struct Command {
  std::string_view name;
  std::string_view summary;   ///< one line in `assay --help`
  std::string_view examples;  ///< printed below the options of its own help
  auto (*add)(Arguments& arguments) -> Action;
};

/// What `assay` itself says of itself.
struct Program {
  std::string name, summary, version, footer;
};

/// Parses the command line and runs the subcommand it names. Help, version and wrong usage are
/// answered here; `usage_exit` is the exit code of the last.
[[nodiscard]] auto run_command(const Program& program, const std::vector<Command>& commands,
                               int argc, char** argv, int usage_exit) -> int;

/// `--long` names of the options of a command.
[[nodiscard]] auto option_names(const Command& command) -> std::vector<std::string>;

}  // namespace assay::cli
