// Indices from memory that are out of range are errors of the run, whoever runs the program.
#include <gtest/gtest.h>

#include "compiler/cpu/cpu.h"
#include "compiler/cuda/tiled_interpreter.h"
#include "compiler/interpret/interpret.h"
#include "tests/support/compiled.h"

namespace assay {
namespace {
using namespace assay::testing;

struct Row {
  const char* name;
  SmallGraph graph;
};
class AssertedIndex : public ::testing::TestWithParam<Row> {
 protected:
  /// What a run says where the first index is `index`; nothing if it runs.
  static auto said(const Executor& executor, const SmallGraph& graph, std::int64_t index)
      -> std::string {
    const auto capture = capture_of(graph);
    const auto made = compiled(graph);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    auto inputs = inputs_of(graph, *capture, "");
    EXPECT_TRUE(inputs);
    Tensor indices = *inputs->values[0].real();
    auto values = to_vector<std::int64_t>(indices);
    values[0] = index;
    from_vector<std::int64_t>(indices, values);
    const auto program = executor.compile(made->program);
    if (!program) return "not compiled: " + program.error().message;
    const auto run = (*program)->run(inputs->values, {});
    if (!run) return run.error().message;
    return run->findings.empty() ? "" : run->findings[0].message;
  }
  static auto table() -> const OpTable& {
    static const OpTable kTable = build_op_table();
    return kTable;
  }
};

TEST_P(AssertedIndex, IsAnErrorOnEveryExecutor) {
  const auto& graph = GetParam().graph;
  const Interpreter interpret(table());
  const TiledInterpreter tiles(table());
  const CpuExecutor cpu(table());
  for (const Executor* executor :
       {static_cast<const Executor*>(&interpret), static_cast<const Executor*>(&tiles),
        static_cast<const Executor*>(&cpu)}) {
    if (executor == &cpu && said(cpu, graph, 1).starts_with("not compiled")) continue;
    SCOPED_TRACE(executor->name());
    EXPECT_EQ(said(*executor, graph, 1), "");
    EXPECT_EQ(said(*executor, graph, 6), "");
    for (const std::int64_t wrong : {7, -9, 1 << 30})
      EXPECT_TRUE(said(*executor, graph, wrong).contains("index out of range: 0 <= i < 7"))
          << said(*executor, graph, wrong);
  }
}

INSTANTIATE_TEST_SUITE_P(
    , AssertedIndex,
    ::testing::Values(
        Row{"embedding",
            {"i: i64[5]; w: f32[7, 40]", "a = aten.embedding.default(w, i)", "a", 0, 6}},
        Row{"gather",
            {"i: i64[3, 9]; w: f32[7, 9]", "a = aten.gather.default(w, 0, i)", "a", 0, 6}},
        Row{"index_select",
            {"i: i64[5]; w: f32[3, 7]", "a = aten.index_select.default(w, 1, i)", "a", 0, 6}},
        Row{"index", {"i: i64[5]; w: f32[7, 40]", "a = aten.index.Tensor(w, [i])", "a", -7, 6}},
        Row{"summed",
            {"i: i64[70]; w: f32[7, 4]",
             "a = aten.embedding.default(w, i)\nb = aten.sum.dim_IntList(a, [0])", "b", 0, 6}}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace assay
