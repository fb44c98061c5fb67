// Every graph of the corpus becomes a program; what it calls instead of compiling is known.
#include <chrono>
#include <iostream>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "compiler/interpret/interpret.h"
#include "replay/bundle/open.h"
#include "replay/runner/compile.h"
#include "tests/support/corpus.h"

namespace assay {
namespace {

TEST(CompileCorpus, EveryGraphIsAProgram) {
  const auto paths = testing::all_captures();
  if (paths.empty()) GTEST_SKIP() << testing::corpus_missing();
  const auto table = build_op_table();
  std::map<std::string, int> calls;
  int kernels = 0;
  for (const auto& path : paths) {
    const auto capture = open_capture(path);
    ASSERT_TRUE(capture) << path << capture.error().message;
    const auto compiled = compile_graph(*capture, table);
    ASSERT_TRUE(compiled) << path << ": " << compiled.error().message;
    for (const auto& [name, source] : compiled->program.kernels)
      for (const auto& broken : verify(*source.kernel)) ADD_FAILURE() << path << name << broken;
    kernels += static_cast<int>(compiled->program.kernels.size());
    for (const auto& decision : compiled->decisions)
      if (decision.kind == CompileDecision::Kind::library) ++calls[decision.other];
  }
  std::cout << paths.size() << " graphs, " << kernels << " kernels\n";
  for (const auto& [target, count] : calls) std::cout << "  " << count << " " << target << "\n";
  // Pointwise operators, reductions and views of floats are always loops.
  for (const std::string_view loop :
       {"aten.add.Tensor", "aten.mul.Tensor", "aten.sum.dim_IntList", "aten._softmax.default",
        "aten.native_layer_norm.default", "aten.where.self", "aten.permute.default"})
    EXPECT_FALSE(calls.contains(std::string(loop))) << loop;
}

TEST(CompileCorpus, SmallProgramsAgreeWithTheirGraphs) {
  const auto paths = testing::all_captures();
  if (paths.empty()) GTEST_SKIP() << testing::corpus_missing();
  const auto table = build_op_table();
  constexpr std::size_t kMostCalls = 150;
  int run = 0;
  for (const auto& path : paths) {
    const auto capture = open_capture(path);
    ASSERT_TRUE(capture);
    if (static_cast<std::size_t>(capture->graph.call_count()) > kMostCalls) continue;
    const auto compiled = compile_graph(*capture, table);
    const auto inputs = recorded_inputs(*capture);
    ASSERT_TRUE(compiled && inputs) << path;
    const auto result =
        compare_with_reference(capture->graph, *compiled, Interpreter(table), *inputs, table);
    ASSERT_TRUE(result) << path << ": " << result.error().message;
    for (const auto& one : result->compared) EXPECT_EQ(one.message, "") << path << ", " << one.what;
    EXPECT_TRUE(result->run.findings.empty()) << path;
    ++run;
  }
  std::cout << run << " programs run\n";
  EXPECT_GT(run, 10);
}

}  // namespace
}  // namespace assay
