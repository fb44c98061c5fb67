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
    ActionRow{"go.next_graph", "Next graph or stage", "]", "Go", ""},
    ActionRow{"go.previous_graph", "Previous graph or stage", "[", "Go", ""},
    ActionRow{"go.node", "Go to node…", "Ctrl+G", "Go", ""},
    ActionRow{"nodes.filter", "Filter nodes", "Ctrl+F /", "Go", ""},
    ActionRow{"copy.link", "Copy link", "Ctrl+L", "Go", ""},
    ActionRow{"copy.repro", "Copy repro command", "", "Run", ""},
    ActionRow{"run.debug", "Analyse again", "F5", "Run", ""},
    ActionRow{"run.prove", "Prove for all sizes", "", "Run", ""},
    ActionRow{"run.minify", "Minify", "", "Run", ""},
    ActionRow{"run.bundle", "Export bundle…", "", "Run", ""},
    ActionRow{"run.stop", "Stop", "Shift+F5", "Run", ""},
    ActionRow{"graph.fit", "Fit graph", "F", "", "graph"},
    ActionRow{"graph.expand", "Expand to the node", "E", "", "graph"},
    ActionRow{"graph.expand_all", "Expand everything", "Shift+E", "", "graph"},
    ActionRow{"graph.collapse", "Collapse all modules", "C", "", "graph"},
    ActionRow{"graph.near", "Neighbourhood of the node", "N", "", "graph"},
    ActionRow{"graph.path", "Ways between two nodes", "P", "", "graph"},
    ActionRow{"graph.everything", "Show the whole graph", "Escape", "", "graph"},
    ActionRow{"steps.follow", "Follow the reduction", "Space", "", "steps"},
    ActionRow{"diff.open", "Compare with another trace…", "D", "", "diff"},
    ActionRow{"sql.run", "Run the statement", "Ctrl+E", "Run", ""},
    ActionRow{"view.pin", "Pin or unpin the view", "Ctrl+P", "View", ""},
    ActionRow{"view.close", "Close the view", "Ctrl+W", "View", ""},
    ActionRow{"view.float", "Float or dock the view", "", "View", ""},
    ActionRow{"view.theme", "Light or dark", "Ctrl+T", "View", ""},
    ActionRow{"view.reset", "Reset layout", "", "View", ""},
    ActionRow{"help.palette", "All commands…", "Ctrl+Shift+P", "Help", ""},
    ActionRow{"help.keys", "Keys", "? F1", "Help", ""},
    ActionRow{"help.change_keys", "Change keys…", "", "Help", ""},
};

constexpr std::array kLayouts = {
    LayoutRow{"triage", "Triage", "triage / nodes | storage, problems, bundle"},
    LayoutRow{"graph", "Graph", "graph / nodes | storage"},
    LayoutRow{"source", "Source", "source / nodes, storage"},
    LayoutRow{"sizes", "Sizes", "symbols / proofs | storage"},
    LayoutRow{"compile", "Compile", "compile / nodes | source, storage"},
    LayoutRow{"program", "Program", "programs | memory / storage, nodes"},
    LayoutRow{"minify", "Reduction", "steps | triage / nodes"},
    LayoutRow{"diff", "Diff", "diff / nodes | storage, sql"},
    LayoutRow{"runs", "Runs", "console | bundle / problems"},
};

}  // namespace

auto action_rows() -> std::span<const ActionRow> {
  return kActions;
}
auto layout_rows() -> std::span<const LayoutRow> {
  return kLayouts;
}

}  // namespace assay
