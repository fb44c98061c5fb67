// Exported programs run on their recorded inputs and give PyTorch's recorded outputs.
#include <cmath>
#include <iostream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "replay/bundle/open.h"
#include "replay/interp/run.h"
#include "tests/support/corpus.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The tensors the user of the program gets: no mutations fed back into buffers, no bare sizes
/// (the recordings keep tensors only).
auto user_outputs(const Capture& capture, const ObservedValue& result)
    -> std::vector<ObservedValue> {
  std::vector<ObservedValue> outputs;
  for (std::size_t i = 0; i < result.items.size(); ++i)
    if (result.items[i].tensor && (i >= capture.output_roles.size() ||
                                   capture.output_roles[i].kind == OutputRole::Kind::user_output))
      outputs.push_back(result.items[i]);
  return outputs;
}

TEST(ExportedPrograms, GiveTheRecordedOutputs) {
  const auto folder = testing::unpacked_corpus("pt2");
  if (!folder) GTEST_SKIP() << testing::corpus_missing();
  const auto table = build_op_table();
  int programs = 0;
  for (const auto& path : testing::files_ending(*folder, ".pt2")) {
    auto name = path.filename().string();
    name = name.substr(0, name.find('.'));
    const auto recorded =
        nlohmann::json::parse(testing::read_text(path.parent_path() / (name + ".json")));
    const auto capture = open_capture(path);
    ASSERT_TRUE(capture) << capture.error().message;
    const auto inputs = recorded_inputs(*capture);
    ASSERT_TRUE(inputs) << path << ": " << inputs.error().message;
    RunOptions options;
    options.statistics = true;
    const auto run = run_graph(capture->graph, *inputs, table, options);
    for (std::size_t i = 0; i < run.nodes.size(); ++i)
      EXPECT_EQ(run.nodes[i].status, NodeStatus::ran)
          << path.filename() << " " << capture->graph.nodes[i].name << " "
          << capture->graph.nodes[i].target << ": " << run.nodes[i].message;
    const auto outputs = user_outputs(*capture, run.nodes.back().value);
    const auto& expected = recorded["outputs"];
    ASSERT_EQ(outputs.size(), expected.size()) << path;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      ASSERT_TRUE(outputs[i].tensor) << path << " output " << i;
      const auto& meta = outputs[i].tensor->meta;
      EXPECT_EQ(info(meta.dtype).name, expected[i]["dtype"].get<std::string>()) << path << " " << i;
      EXPECT_EQ(meta.sizes, expected[i]["size"].get<Ints>()) << path << " " << i;
      EXPECT_EQ(meta.strides, expected[i]["stride"].get<Ints>()) << path << " " << i;
      EXPECT_EQ(meta.offset, expected[i]["offset"].get<std::int64_t>()) << path << " " << i;
      const double scale = std::fabs(expected[i]["abs"].get<double>());
      EXPECT_NEAR(outputs[i].tensor->sum, expected[i]["sum"].get<double>(), 1e-3 * scale) << path;
      EXPECT_NEAR(outputs[i].tensor->abs_sum, scale, 1e-3 * scale) << path;
    }
    ++programs;
  }
  std::cout << programs << " programs run\n";
  EXPECT_GT(programs, 0);
}

}  // namespace
}  // namespace assay
