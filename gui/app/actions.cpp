#include "gui/app/actions.h"

#include <array>

namespace assay {
namespace {

constexpr std::array kActions = {
    ActionRow{"file.open", "Open…", "Ctrl+O", "File", ""},
    ActionRow{"file.reload", "Reload", "Ctrl+R", "File", ""},
    ActionRow{"file.export_png", "Export view as PNG…", "Ctrl+Shift+E", "File", ""},
    ActionRow{"file.export_svg", "Export view as SVG…", "", "File", ""},
    ActionRow{"file.export_csv", "Export table as CSV…", "", "File", ""},
    ActionRow{"file.quit", "Quit", "Ctrl+Q", "File", ""},
    ActionRow{"go.back", "Back", "Alt+Left", "Go", ""},
    ActionRow{"go.forward", "Forward", "Alt+Right", "Go", ""},
    ActionRow{"go.next_finding", "Next finding", "F8", "Go", ""},
    ActionRow{"go.previous_finding", "Previous finding", "Shift+F8", "Go", ""},
    ActionRow{"go.node", "Go to node…", "Ctrl+G", "Go", ""},
    ActionRow{"nodes.filter", "Filter nodes", "Ctrl+F /", "Go", ""},
    ActionRow{"copy.link", "Copy link", "Ctrl+L", "Go", ""},
    ActionRow{"copy.repro", "Copy repro command", "", "Run", ""},
    ActionRow{"view.theme", "Light or dark", "Ctrl+T", "View", ""},
    ActionRow{"view.reset", "Reset layout", "", "View", ""},
    ActionRow{"help.palette", "All commands…", "Ctrl+Shift+P", "Help", ""},
    ActionRow{"help.keys", "Keys", "? F1", "Help", ""},
};

constexpr std::array kLayouts = {
    LayoutRow{"triage", "Triage", "triage / nodes | storage"},
};

}  // namespace

auto action_rows() -> std::span<const ActionRow> {
  return kActions;
}
auto layout_rows() -> std::span<const LayoutRow> {
  return kLayouts;
}

}  // namespace assay
