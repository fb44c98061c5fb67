// Which calls give what PyTorch leaves open, by the contents of their indices.
#include "replay/runner/undefined_results.h"

#include <gtest/gtest.h>

#include <map>

#include "core/graph/text.h"

namespace assay {
namespace {

struct Row {
  std::string name;
  std::string call;  ///< of x [3, 4], s (values) and of i and j
  Ints sizes;        ///< of i
  std::vector<std::int64_t> i;
  bool is_undefined;
};

class UndefinedResults : public ::testing::TestWithParam<Row> {};

TEST_P(UndefinedResults, AreKnownByIndices) {
  const auto& row = GetParam();
  const auto graph = parse_graph(
      "class G(torch.nn.Module):\n    def forward(self, x: \"f32[3, 4][4, 1]cpu\", s: \"f32[2, "
      "2][2, "
      "1]cpu\", i: \"i64[2][1]cpu\", j: \"i64[2, 1][1, 1]cpu\"):\n        a = torch.ops.aten." +
      row.call + "\n        return (a,)\n");
  ASSERT_TRUE(graph) << graph.error().message;
  std::map<NodeId, Tensor> values;
  const Node* call = nullptr;
  for (const auto& node : graph->nodes) {
    if (node.kind == NodeKind::call_function) call = &node;
    if (node.name == "x") values[node.id] = *Tensor::contiguous(DType::float32, {3, 4});
    if (node.name == "s") values[node.id] = *Tensor::contiguous(DType::float32, {2, 2});
    if (node.name == "i" || node.name == "j") {
      auto made = *Tensor::contiguous(DType::int64, node.name == "i" ? row.sizes : Ints{2, 1});
      const std::vector<std::int64_t> first = {0, 2};
      from_vector(made, std::span<const std::int64_t>(node.name == "i" ? row.i : first));
      values[node.id] = made;
    }
  }
  ASSERT_NE(call, nullptr);
  const auto tensor = [&](NodeId id) -> const Tensor* {
    const auto known = values.find(id);
    return known == values.end() ? nullptr : &known->second;
  };
  EXPECT_EQ(is_undefined(*call, tensor), row.is_undefined);
}

INSTANTIATE_TEST_SUITE_P(
    Calls, UndefinedResults,
    ::testing::Values(
        Row{"CopyApart", "index_copy.default(x, 0, i, s)", {2}, {0, 2}, false},
        Row{"CopyTwice", "index_copy.default(x, 0, i, s)", {2}, {1, 1}, true},
        Row{"CopyTwiceFromTheEnd", "index_copy.default(x, 0, i, s)", {2}, {1, -2}, true},
        Row{"ScatterInLines", "scatter.src(x, 1, i, s)", {2, 2}, {0, 1, 1, 0}, false},
        Row{"ScatterTwiceInALine", "scatter.src(x, 1, i, s)", {2, 2}, {0, 1, 3, 3}, true},
        Row{"ScatterDown", "scatter.src(x, 0, i, s)", {2, 2}, {0, 0, 1, 0}, true},
        Row{"PutApart", "put.default(x, i, s)", {2, 2}, {0, 1, 2, 11}, false},
        Row{"PutTwice", "put.default(x, i, s)", {2, 2}, {0, 1, 2, -12}, true},
        Row{"PutAdds", "put.default(x, i, s, True)", {2, 2}, {0, 0, 0, 0}, false},
        Row{"IndexTwice", "index_put.default(x, [None, i], s)", {2}, {3, 3}, true},
        Row{"IndexAdds", "index_put.default(x, [None, i], s, True)", {2}, {3, 3}, false},
        Row{"IndexGrid", "index_put.default(x, [j, i], s)", {2}, {3, 1}, false},
        Row{"IndexGridTwice", "index_put.default(x, [j, i], s)", {2}, {3, -1}, true},
        Row{"OtherOperator", "index_select.default(x, 0, i)", {2}, {1, 1}, false}),
    [](const auto& row) { return row.param.name; });

/// Of a plane of four by four, windows of two.
TEST(UndefinedResults, IndicesOfAPoolAreInTheirWindows) {
  const auto graph =
      parse_graph(
          "class G(torch.nn.Module):\n    def forward(self, g: \"f32[1, 2, 2][4, 2, 1]cpu\", x: "
          "\"f32[1, 4, 4][16, 4, 1]cpu\", i: \"i64[1, 2, 2][4, 2, 1]cpu\"):\n        a = "
          "torch.ops.aten.max_pool2d_with_indices_backward.default(g, x, [2, 2], [2, 2], [0, 0], "
          "[1, 1], False, i)\n        return (a,)\n")
          .value();
  const auto is_open = [&](std::vector<std::int64_t> indices) {
    std::map<NodeId, Tensor> values;
    const Node* call = nullptr;
    for (const auto& node : graph.nodes) {
      if (node.kind == NodeKind::call_function) call = &node;
      if (node.name == "x") values[node.id] = *Tensor::contiguous(DType::float32, {1, 4, 4});
      if (node.name != "i") continue;
      auto made = *Tensor::contiguous(DType::int64, {1, 2, 2});
      from_vector(made, std::span<const std::int64_t>(indices));
      values[node.id] = made;
    }
    return is_undefined(*call, [&](NodeId id) -> const Tensor* {
      const auto known = values.find(id);
      return known == values.end() ? nullptr : &known->second;
    });
  };
  EXPECT_FALSE(is_open({5, 2, 8, 15}));
  EXPECT_TRUE(is_open({5, 2, 8, 9}));
  EXPECT_TRUE(is_open({0, 0, 0, 0}));
}

}  // namespace
}  // namespace assay
