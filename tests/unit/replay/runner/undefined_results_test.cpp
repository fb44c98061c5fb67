// Which calls give what PyTorch leaves open, and what meets in one place, by the contents of
// indices.
#include "replay/runner/undefined_results.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/graph/text.h"
#include "replay/interp/run.h"
#include "replay/runner/open_results.h"
#include "replay/runner/written_places.h"

namespace assay {
namespace {

using Whole = std::vector<std::int64_t>;

/// A call of x [3, 4], s [2, 2] and the indices j [2, 1] (0 and 2) and i, bound to its parameters.
struct Bound {
  const OpRow* row = nullptr;
  DatumList args;
};
auto bound(const std::string& call, const Ints& sizes, const Whole& i, const Ints& x = {3, 4})
    -> Bound {
  static const auto kTable = build_op_table();
  const auto graph = parse_graph(
      "class G(torch.nn.Module):\n    def forward(self, x, s, i, j):\n        a = "
      "torch.ops.aten." +
      call + "\n        return (a,)\n");
  EXPECT_TRUE(graph) << graph.error().message;
  const auto indices = [](const Ints& of, const Whole& numbers) {
    auto made = *Tensor::contiguous(DType::int64, of);
    from_vector(made, std::span<const std::int64_t>(numbers));
    return Datum{made};
  };
  const std::map<std::string, Datum> values = {{"x", {*Tensor::contiguous(DType::float32, x)}},
                                               {"s", {*Tensor::contiguous(DType::float32, {2, 2})}},
                                               {"i", indices(sizes, i)},
                                               {"j", indices({2, 1}, {0, 2})}};
  const auto value = [&](NodeId id) -> const Datum* {
    const auto node = std::ranges::find(graph->nodes, id, &Node::id);
    return &values.at(node->name);
  };
  for (const auto& node : graph->nodes)
    if (node.kind == NodeKind::call_function)
      if (const auto* row = kTable.find(node.target)) {
        auto args = bound_arguments(node, *row, value);
        EXPECT_TRUE(args) << args.error().message;
        return {row, *std::move(args)};
      }
  ADD_FAILURE() << call;
  return {};
}

struct Row {
  std::string name, call;
  Ints sizes;  ///< of i
  Whole i;
  std::int64_t most;  ///< elements in one place; 0: the operator writes none
  bool is_undefined;
};

class UndefinedResults : public ::testing::TestWithParam<Row> {};

TEST_P(UndefinedResults, AreKnownByIndices) {
  const auto& row = GetParam();
  const auto [op, args] = bound(row.call, row.sizes, row.i);
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(undefined_part(*op, args) == UndefinedPart::all, row.is_undefined);
  EXPECT_EQ(written_places(*op, args).value_or(WrittenPlaces()).most, row.most);
}

INSTANTIATE_TEST_SUITE_P(
    Calls, UndefinedResults,
    ::testing::Values(
        Row{"CopyApart", "index_copy.default(x, 0, i, s)", {2}, {0, 2}, 1, false},
        Row{"CopyTwice", "index_copy.default(x, 0, i, s)", {2}, {1, 1}, 2, true},
        Row{"CopyTwiceFromTheEnd", "index_copy.default(x, -2, i, s)", {2}, {1, -2}, 2, true},
        Row{"CopyInPlace", "index_copy_.default(x, 0, i, s)", {2}, {1, 1}, 2, true},
        Row{"SlicesAreAdded", "index_add.default(x, 0, i, s)", {2}, {1, 1}, 2, false},
        Row{"ScatterInLines", "scatter.src(x, 1, i, s)", {2, 2}, {0, 1, 1, 0}, 1, false},
        Row{"ScatterTwiceInALine", "scatter.src(x, 1, i, s)", {2, 2}, {0, 1, 3, 3}, 2, true},
        Row{"ScatterDown", "scatter.src(x, 0, i, s)", {2, 2}, {0, 0, 1, 0}, 2, true},
        Row{"ScatterAdds", "scatter_add.default(x, 1, i, s)", {2, 2}, {3, 3, 3, 3}, 2, false},
        Row{"ScatterSums", "scatter_reduce.two(x, 1, i, s, 'sum')", {2, 2}, {3, 3, 1, 0}, 2, false},
        Row{"ScatterTakesTheLargest",
            "scatter_reduce.two(x, 1, i, s, 'amax')",
            {2, 2},
            {3, 3, 1, 0},
            0,
            false},
        Row{"PutApart", "put.default(x, i, s)", {2, 2}, {0, 1, 2, 11}, 1, false},
        Row{"PutTwice", "put.default(x, i, s)", {2, 2}, {0, 1, 2, -12}, 2, true},
        Row{"PutAdds", "put.default(x, i, s, True)", {2, 2}, {0, 0, 0, 0}, 4, false},
        Row{"IndexTwice", "index_put.default(x, [None, i], s)", {2}, {3, 3}, 2, true},
        Row{"IndexTwiceInPlace", "index_put_.default(x, [None, i], s)", {2}, {3, 3}, 2, true},
        Row{"IndexAdds", "index_put.default(x, [None, i], s, True)", {2}, {3, 3}, 2, false},
        Row{"IndexAddsByName",
            "index_put.default(x, [None, i], s, accumulate = True)",
            {2},
            {3, 3},
            2,
            false},
        Row{"IndexGrid", "index_put.default(x, [j, i], s)", {2}, {3, 1}, 1, false},
        Row{"IndexGridTwice", "index_put.default(x, [j, i], s)", {2}, {3, -1}, 2, true},
        Row{"Embedding",
            "embedding_dense_backward.default(s, i, 9, -1, False)",
            {3},
            {7, 0, 7},
            2,
            false},
        Row{"OtherOperator", "index_select.default(x, 0, i)", {2}, {1, 1}, 0, false}),
    [](const auto& row) { return row.param.name; });

/// Of a plane of four by four, windows of two.
TEST(UndefinedResults, IndicesOfAPoolAreInTheirWindows) {
  const auto is_open = [](const std::string& numbers, const Whole& indices) {
    const auto [op, args] =
        bound("max_pool2d_with_indices_backward.default(s, x, " + numbers + ", False, i)",
              {1, 2, 2}, indices, {1, 4, 4});
    return undefined_part(*op, args) == UndefinedPart::all;
  };
  for (const std::string numbers : {"[2, 2], [2, 2], [0, 0], [1, 1]", "[2], [], [0], [1]"}) {
    EXPECT_FALSE(is_open(numbers, {5, 2, 8, 15})) << numbers;
    EXPECT_TRUE(is_open(numbers, {5, 2, 8, 9})) << numbers;
    EXPECT_TRUE(is_open(numbers, {0, 0, 0, 0})) << numbers;
  }
  EXPECT_TRUE(is_open("[2, 2], [2, 2], [1, 1], [1, 1]", {5, 2, 8, 15}));
}

/// Of two queries and three keys.
TEST(UndefinedResults, AHiddenQueryIsTheKernelsBusiness) {
  const auto table = build_op_table();
  const auto* row = table.find("aten.scaled_dot_product_attention.default");
  const auto is_open = [&](const char* device, DType dtype, const std::vector<double>& mask) {
    auto query = *Tensor::contiguous(DType::bfloat16, {1, 1, 2, 4});
    query.meta.device.type = device;
    auto hidden = *Tensor::contiguous(dtype, {2, 3});
    from_vector(hidden, std::span<const double>(mask));
    DatumList args(row->schema.params.size());
    args[0] = Datum{query};
    args[3] = Datum{hidden};
    return undefined_part(*row, args) == UndefinedPart::all;
  };
  EXPECT_TRUE(is_open("cuda", DType::boolean, {1, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(is_open("cuda", DType::boolean, {1, 0, 0, 0, 0, 1}));
  EXPECT_FALSE(is_open("cpu", DType::boolean, {1, 0, 0, 0, 0, 0}));
  EXPECT_FALSE(is_open("cuda", DType::bfloat16, {1, 0, 0, 0, 0, 0}));
}

struct Order {
  std::string call;
  std::vector<double> line;
  UndefinedPart part;
};

/// Of the rows [line, 0 1 2 3].
TEST(UndefinedResults, EqualElementsHaveNoOrder) {
  using enum UndefinedPart;
  const std::vector<double> apart = {3, 1, 2, 0}, twice = {3, 1, 3, 0}, pairs = {3, 1, 3, 1},
                            nans = {NAN, 1, NAN, 0};
  for (const auto& [call, line, part] :
       {Order{"sort.default(x)", apart, nothing}, Order{"sort.default(x)", twice, indices},
        Order{"sort.default(x)", nans, indices}, Order{"sort.default(x, 0)", apart, indices},
        Order{"sort.default(x, 0)", {3, 4, 5, 6}, nothing},
        Order{"sort.stable(x, stable = True)", twice, nothing},
        Order{"sort.stable(x, stable = False)", twice, indices},
        Order{"topk.default(x, 2)", twice, indices},
        Order{"kthvalue.default(x, 2)", apart, nothing}, Order{"median.dim(x, 1)", pairs, indices},
        Order{"mode.default(x, 0)", apart, all}, Order{"mode.default(x)", pairs, all},
        Order{"max.dim(x, 1)", twice, nothing}}) {
    auto [op, args] = bound(call, {2}, {0, 1}, {2, 4});
    ASSERT_NE(op, nullptr) << call;
    auto values = line;
    values.insert(values.end(), {0, 1, 2, 3});
    Tensor x = *args[0].real();
    from_vector(x, std::span<const double>(values));
    EXPECT_EQ(undefined_part(*op, args), part) << call << " of " << line[2];
  }
}

/// What rests on indices that are open, on values that are not.
TEST(OpenResults, PartsOfAResultAreOpenOnTheirOwn) {
  static const auto kTable = build_op_table();
  const auto graph = parse_graph(
      "class G(torch.nn.Module):\n    def forward(self, x):\n"
      "        s = torch.ops.aten.sort.default(x)\n"
      "        values = operator.getitem(s, 0)\n        order = operator.getitem(s, 1)\n"
      "        known = torch.ops.aten.mul.Tensor(values, 2)\n"
      "        gathered = torch.ops.aten.gather.default(x, 0, order)\n"
      "        return (known, gathered)\n");
  ASSERT_TRUE(graph) << graph.error().message;
  auto x = Tensor::contiguous(DType::float32, {3}).value();
  from_vector(x, std::span<const double>(std::vector<double>{1, 0, 1}));
  RunInputs feed;
  feed.values = {Datum{x}};
  feed.made_up.resize(1);
  feed.defects.resize(1);
  OpenResults open;
  RunOptions options;
  options.observer = [&](const OpRow& row, const DatumList& args, const Datum& result,
                         int /*depth*/) { open.called(row, args, result); };
  options.tap = [&](std::size_t i, const Datum& value) { open.add(graph->nodes[i], value); };
  (void)run_graph(*graph, feed, kTable, options);
  for (const auto& [name, is_open] : {std::pair{"values", false}, std::pair{"order", true},
                                      std::pair{"known", false}, std::pair{"gathered", true}})
    EXPECT_EQ(open.has(graph->find(std::string_view(name))->id), is_open) << name;
}

}  // namespace
}  // namespace assay
