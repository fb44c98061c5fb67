// Bugs planted into real graphs: each is seen by the tool that must see it, and the right thing is
// blamed; without one nobody complains.
#include <iostream>
#include <set>

#include <gtest/gtest.h>

#include "replay/bundle/open.h"
#include "replay/interp/debug.h"
#include "replay/runner/mutants.h"
#include "tests/support/corpus.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

auto table() -> const OpTable& {
  static const auto kRows = build_op_table();
  return kRows;
}

struct Real {
  std::string name;
  Capture capture;
  RunInputs inputs;
  std::optional<RunInputs> elsewhere;  ///< at sizes that are not the hints
};

/// Graphs of the corpus that are run in a moment, and small parts of real models that were recorded
/// for the faults of which it holds few (tests/torch/record_faults.py).
auto graphs() -> const std::vector<Real>& {
  static const auto kGraphs = [] {
    constexpr int kMostCalls = 150;
    std::vector<Real> all;
    auto paths = testing::all_captures();
    if (!paths.empty())
      for (auto& path :
           testing::files_ending(fs::path(ASSAY_SOURCE_DIR) / "tests/data/faults", ".json"))
        paths.push_back(std::move(path));
    for (const auto& path : paths) {
      auto capture = open_capture(path);
      if (!capture || capture->graph.call_count() > kMostCalls) continue;
      auto inputs = recorded_inputs(*capture);
      if (!inputs) continue;
      auto elsewhere = inputs_elsewhere(*capture);
      all.push_back({path.parent_path().filename().string() + "/" + path.filename().string(),
                     *std::move(capture), *std::move(inputs), std::move(elsewhere)});
    }
    return all;
  }();
  return kGraphs;
}

TEST(FaultsCorpus, NobodyComplainsWithoutOne) {
  if (graphs().empty()) GTEST_SKIP() << testing::corpus_missing();
  for (const auto& graph : graphs()) {
    const auto said = complaints(graph.capture, graph.inputs, table());
    ASSERT_TRUE(said) << graph.name << ": " << said.error().message;
    EXPECT_EQ(*said, std::vector<std::string>{}) << graph.name;
  }
}

/// The table of compiler/faults/README.md says the same.
TEST(FaultsCorpus, TheNamedToolSeesEachAndBlamesTheRightThing) {
  if (graphs().empty()) GTEST_SKIP() << testing::corpus_missing();
  const auto readme = testing::read_text(fs::path(ASSAY_SOURCE_DIR) / "compiler/faults/README.md");
  for (const auto& row : fault_rows()) {
    if (row.place == FaultPlace::tool) continue;
    int planted = 0, seen = 0;
    for (const auto& graph : graphs()) {
      if (planted >= testing::wanted_graphs(10)) break;
      if (row.fault == Fault::specialised && !graph.elsewhere) continue;
      MutantOptions options;
      options.elsewhere = graph.elsewhere ? &*graph.elsewhere : nullptr;
      const auto mutant = plant_fault(row.fault, graph.capture, graph.inputs, table(), options);
      if (!mutant || !mutant->is_planted) continue;
      ++planted;
      seen += mutant->is_seen ? 1 : 0;
      if (!mutant->is_seen)
        std::cout << row.name << " is not seen in " << graph.name << "\n"
                  << fmt::format("{}", fmt::join(mutant->said, "\n"));
    }
    std::cout << fmt::format("{:<16} {:<8} seen in {} of {}\n", row.name, name(row.catcher), seen,
                             planted);
    const auto begin = fmt::format("| `{}` |", row.name);
    const auto from = readme.find(begin);
    ASSERT_NE(from, std::string::npos) << row.name;
    const auto line = readme.substr(from, readme.find('\n', from) - from);
    EXPECT_TRUE(line.ends_with(fmt::format("| {} of {} |", seen, planted)))
        << "compiler/faults/README.md says\n"
        << line << "\nnot " << seen << " of " << planted;
  }
}

}  // namespace
}  // namespace assay
