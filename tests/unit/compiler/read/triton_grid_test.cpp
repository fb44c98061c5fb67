// How many programs Inductor launches a Triton kernel as (torch/_inductor/runtime/
// triton_heuristics.py), by the kind of its grid.
#include <gtest/gtest.h>

#include "compiler/read/triton.h"
#include "core/expr/text.h"

namespace assay {
namespace {

struct Grid {
  const char* name;
  std::string_view kind, meta;         ///< what inductor_meta says
  std::string_view numels, blocks;     ///< parameters
  std::vector<std::string_view> grid;  ///< nothing: not known
};
void PrintTo(const Grid& grid, std::ostream* out) {
  *out << grid.name;
}
class TritonGrid : public ::testing::TestWithParam<Grid> {};

TEST_P(TritonGrid, IsAsItsKindSays) {
  const auto& one = GetParam();
  std::string params, signature;
  for (const auto& [names, type] : {std::pair{one.numels, "i32"}, {one.blocks, "constexpr"}})
    for (std::size_t at = 0; at < names.size();) {
      const auto end = std::min(names.find(' ', at), names.size());
      const auto name = names.substr(at, end - at);
      params += fmt::format(", {}{}", name, type[0] == 'c' ? " : tl.constexpr" : "");
      signature += fmt::format(", '{}': '{}'", name, type);
      at = end + 1;
    }
  const auto text = fmt::format(
      "@triton_heuristics.pointwise(\n    triton_meta={{'signature': {{'in_ptr0': '*fp32'{}}}, "
      "'constants': {{}}}},\n    inductor_meta={{'grid_type': '{}', {}}},\n)\n@triton.jit\n"
      "def k(in_ptr0{}):\n    pid = tl.program_id(0)\n",
      signature, one.kind, one.meta, params);
  ExprPool pool;
  const auto kernel = read_triton(text, pool);
  ASSERT_TRUE(kernel) << kernel.error().message;
  std::vector<std::string> grid;
  for (const auto& dimension : kernel->grid) grid.push_back(print_expr(dimension));
  ASSERT_EQ(grid.size(), one.grid.size());
  for (std::size_t i = 0; i < grid.size(); ++i) EXPECT_EQ(grid[i], one.grid[i]);
}

constexpr std::string_view kTwo =
    "'combo_grid_meta': {'num_kernels': 2, 'min_blocks': None, 'default_config': None, "
    "'no_x_dim_0': False, 'xnumel_0': None, 'no_x_dim_1': True, 'xnumel_1': 12}";
constexpr std::string_view kTwoWide =
    "'combo_grid_meta': {'num_kernels': 2, 'min_blocks': 7, 'default_config': {'XBLOCK': 64, "
    "'YBLOCK': 16}, 'no_x_dim_0': False, 'xnumel_0': None, 'ynumel_0': None, 'no_x_dim_1': False, "
    "'xnumel_1': 128, 'ynumel_1': 40}";
constexpr std::string_view kTwoFlat =
    "'combo_grid_meta': {'num_kernels': 2, 'min_blocks': None, 'default_config': {'XBLOCK_0': 64, "
    "'YBLOCK_0': 16, 'XBLOCK_1': 32}, 'no_x_dim_0': False, 'xnumel_0': 256, 'ynumel_0': 40, "
    "'no_x_dim_1': False, 'xnumel_1': 100}";

INSTANTIATE_TEST_SUITE_P(
    , TritonGrid,
    ::testing::Values(
        Grid{"rows", "Grid1D", "", "xnumel", "XBLOCK", {"CeilDiv(xnumel, XBLOCK)"}},
        Grid{"tiles",
             "Grid2D",
             "",
             "ynumel xnumel",
             "YBLOCK XBLOCK",
             {"CeilDiv(xnumel, XBLOCK)", "CeilDiv(ynumel, YBLOCK)"}},
        Grid{"products",
             "BatchMatmulGrid3D",
             "",
             "znumel ynumel xnumel",
             "ZBLOCK YBLOCK XBLOCK",
             {"znumel", "CeilDiv(ynumel, YBLOCK)", "CeilDiv(xnumel, XBLOCK)"}},
        Grid{"split_scan", "SplitScanGrid", "", "xnumel r0_numel", "R0_BLOCK", {"1", "xnumel"}},
        Grid{"one_behind_the_other",
             "SequentialComboKernelGrid",
             kTwo,
             "xnumel_0",
             "XBLOCK",
             {"CeilDiv(xnumel_0, XBLOCK) + 12"}},
        Grid{"in_turn",
             "RoundRobinComboKernelGrid",
             kTwo,
             "xnumel_0",
             "XBLOCK",
             {"2*Max(12, CeilDiv(xnumel_0, XBLOCK))"}},
        Grid{"of_a_block_nobody_names", "SequentialComboKernelGrid", kTwo, "xnumel_0", "", {}},
        Grid{"of_a_size_nobody_names", "SequentialComboKernelGrid", kTwo, "", "XBLOCK", {}},
        Grid{"flat", "SequentialFlattenComboKernelGrid", kTwoFlat, "", "", {"16"}},
        Grid{"of_an_unknown_kind", "SpiralGrid", "", "xnumel", "XBLOCK", {}}),
    [](const auto& test) { return std::string(test.param.name); });

/// What is too much for y goes on along z; kernels with fewer tiles leave programs idle.
TEST(TritonGrids, CombinedTilesHaveTheWidestRows) {
  ExprPool pool;
  const auto kernel = read_triton(
      fmt::format("@triton_heuristics.foreach(\n    triton_meta={{'signature': {{'in_ptr0': "
                  "'*fp32', 'xnumel_0': 'i32', 'ynumel_0': 'i32'}}, 'constants': {{}}}},\n"
                  "    inductor_meta={{'grid_type': 'SequentialComboKernelGrid', {}}},\n)\n"
                  "@triton.jit\ndef k(in_ptr0, xnumel_0, ynumel_0):\n    pid = "
                  "tl.program_id(0)\n",
                  kTwoWide),
      pool);
  ASSERT_TRUE(kernel) << kernel.error().message;
  ASSERT_EQ(kernel->grid.size(), 3U);
  const auto at = [&](std::int64_t x, std::int64_t y) {
    const Binding sizes = {{kernel->param("xnumel_0")->symbol, x},
                           {kernel->param("ynumel_0")->symbol, y}};
    Ints grid;
    for (const auto& dimension : kernel->grid) grid.push_back(*evaluate_int(dimension, sizes));
    return grid;
  };
  EXPECT_EQ(at(1000, 10), (Ints{18, 3, 1}));
  EXPECT_EQ(at(100, 100), (Ints{7, 7, 1}));
  EXPECT_EQ(at(1000, 2000000), (Ints{18, 62500, 2}));
}

/// Each of several kernels in one may have blocks of its own, which no launch passes.
TEST(TritonGrids, CombinedKernelsMayHaveTheirOwnBlocks) {
  ExprPool pool;
  const auto kernel = read_triton(
      "@triton_heuristics.pointwise(\n    triton_meta={'signature': {'out_ptr0': '*fp32', "
      "'out_ptr1': '*fp32', 'XBLOCK_0': 'constexpr', 'XBLOCK_1': 'constexpr'}, 'constants': {}},\n"
      "    inductor_meta={'grid_type': 'SequentialFlattenComboKernelGrid', 'combo_grid_meta': "
      "{'num_kernels': 2, 'min_blocks': 0, 'default_config': None, 'xnumel_0': 702, 'xnumel_1': "
      "240}},\n)\n@triton.jit\n"
      "def k(out_ptr0, out_ptr1, XBLOCK_0 : tl.constexpr, XBLOCK_1 : tl.constexpr):\n"
      "    pid = tl.program_id(0)\n    num_blocks_0 = tl.cdiv(702, XBLOCK_0)\n"
      "    if pid < num_blocks_0:\n        xnumel = 702\n"
      "        xindex = pid * XBLOCK_0 + tl.arange(0, XBLOCK_0)[:]\n"
      "        tl.store(out_ptr0 + xindex, xindex, xindex < xnumel)\n"
      "    else:\n        xnumel = 240\n"
      "        xindex = (pid - num_blocks_0) * XBLOCK_1 + tl.arange(0, XBLOCK_1)[:]\n"
      "        tl.store(out_ptr1 + xindex, xindex, xindex < xnumel)\n",
      pool);
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_TRUE(kernel->not_understood.empty());
  EXPECT_TRUE(kernel->passed(2));
  EXPECT_FALSE(kernel->passed(4));
  ASSERT_EQ(kernel->axes.size(), 2U);
  EXPECT_EQ(kernel->axes[0].name, "x_0");
  EXPECT_EQ(kernel->axes[1].name, "x_1");
  EXPECT_EQ(print_expr(*kernel->axes[1].extent), "240");
  ASSERT_EQ(kernel->grid.size(), 1U);
  EXPECT_EQ(print_expr(kernel->grid[0]), "CeilDiv(240, XBLOCK_1) + CeilDiv(702, XBLOCK_0)");
}

}  // namespace
}  // namespace assay
