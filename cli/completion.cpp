// assay completion: scripts for shells, derived from the command table.
#include "cli/command.h"

namespace assay::cli {
namespace {

auto bash() -> std::string {
  std::string cases;
  std::string names;
  for (const auto& command : commands()) {
    names += fmt::format("{} ", command.name);
    if (command.name == "completion") continue;
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command.name,
                         fmt::join(option_names(command), " "));
  }
  return fmt::format(
      "_assay() {{\n  local words=\"{}\"\n  local current=${{COMP_WORDS[COMP_CWORD]}}\n"
      "  if [ \"$COMP_CWORD\" -gt 1 ]; then case ${{COMP_WORDS[1]}} in\n{}  esac; fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\") $(compgen -f -- \"$current\"))\n}}\n"
      "complete -o filenames -F _assay assay\n",
      names, cases);
}

auto zsh() -> std::string {
  return "autoload -U bashcompinit && bashcompinit\n" + bash();
}

auto fish() -> std::string {
  std::string text;
  for (const auto& command : commands()) {
    text += fmt::format("complete -c assay -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                        command.summary);
    if (command.name == "completion") continue;
    for (const auto& name : option_names(command))
      text += fmt::format("complete -c assay -n '__fish_seen_subcommand_from {}' -l {}\n",
                          command.name, name.substr(2));
  }
  return text;
}

}  // namespace

auto add_completion(Arguments& arguments) -> Action {
  const auto shell = std::make_shared<std::string>();
  arguments.option("SHELL", shell.get(), "bash, zsh or fish",
                   {.is_required = true, .one_of = {"bash", "zsh", "fish"}});
  return [shell] {
    fmt::print("{}", *shell == "fish" ? fish() : *shell == "zsh" ? zsh() : bash());
    return static_cast<int>(kNothingFound);
  };
}

}  // namespace assay::cli
