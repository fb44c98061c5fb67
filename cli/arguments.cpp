#include "cli/arguments.h"

#include <CLI/CLI.hpp>

namespace assay::cli {

struct Arguments::Impl {
  CLI::App& app;
};

void Arguments::option(std::string_view name, OptionTarget target, std::string_view help,
                       const OptionRules& rules) {
  auto* option = std::visit(
      [&](auto* value) {
        return impl_.app.add_option(std::string(name), *value, std::string(help));
      },
      target);
  if (rules.is_required) option->required();
  if (rules.shows_default) option->capture_default_str();
  if (!rules.one_of.empty()) option->check(CLI::IsMember(rules.one_of));
  if (rules.range.first <= rules.range.second)
    option->check(CLI::Range(rules.range.first, rules.range.second));
}

void Arguments::flag(std::string_view name, bool& target, std::string_view help) {
  impl_.app.add_flag(std::string(name), target, std::string(help));
}

auto run_command(const Program& program, const std::vector<Command>& commands, int argc,
                 char** argv, int usage_exit) -> int {
  CLI::App app(program.summary, program.name);
  app.set_version_flag("--version", program.version);
  app.require_subcommand(1);
  app.footer(program.footer);
  std::vector<std::pair<CLI::App*, Action>> actions;
  for (const auto& command : commands) {
    auto* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
    sub->footer("Examples:\n" + std::string(command.examples));
    Arguments::Impl impl{*sub};
    Arguments arguments(impl);
    actions.emplace_back(sub, command.add(arguments));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {  // CLI11 reports everything by exception
    return app.exit(error) == 0 ? 0 : usage_exit;
  }
  for (const auto& [sub, action] : actions)
    if (sub->parsed()) return action();
  return usage_exit;
}

auto option_names(const Command& command) -> std::vector<std::string> {
  CLI::App app;
  Arguments::Impl impl{app};
  Arguments arguments(impl);
  [[maybe_unused]] const auto action = command.add(arguments);
  std::vector<std::string> names;
  for (const auto* option : app.get_options())
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

}  // namespace assay::cli
