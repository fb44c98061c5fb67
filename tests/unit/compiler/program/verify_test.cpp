#include <gtest/gtest.h>

#include "compiler/program/kernel.h"

namespace assay {
namespace {

class VerifyTest : public ::testing::Test {
 protected:
  VerifyTest() {
    kernel_.params = {{.name = "out_ptr0", .fixed = {}, .symbol = {}}};
    kernel_.axes = {{.name = "x", .extent = Expr(8), .block = 8}};
    kernel_.values = {{{DType::int32, 1}, "xindex"}, {{DType::float32, 0}, "tmp0"}};
    kernel_.body.body = {{TileLane{0}, {}, {0}, {}, 1, {}},
                         {TileConstant{1.0}, {}, {1}, {}, 2, {}},
                         {TileStore{0}, {0, 1, kNoTile}, {}, {}, 3, {}}};
  }
  TileKernel kernel_;
};

TEST_F(VerifyTest, ASoundKernelBreaksNoRule) {
  EXPECT_EQ(verify(kernel_), std::vector<std::string>{});
}
TEST_F(VerifyTest, AUseBeforeTheDefinitionIsNamed) {
  std::swap(kernel_.body.body[1], kernel_.body.body[2]);
  EXPECT_EQ(verify(kernel_),
            std::vector<std::string>{"line 3: value %1 is used before it is defined"});
}
TEST_F(VerifyTest, AStoreOfAnotherDtypeIsNamed) {
  kernel_.params[0].dtype = DType::float16;
  EXPECT_EQ(verify(kernel_),
            std::vector<std::string>{"line 3: a store of another dtype than the buffer's"});
}
TEST_F(VerifyTest, AnAxisThatDoesNotExistIsNamed) {
  kernel_.values[1].type.axes = 2;
  EXPECT_EQ(verify(kernel_),
            std::vector<std::string>{"line 2: value %1 varies over an axis that does not exist"});
}
TEST_F(VerifyTest, AFloatIsNoIndex) {
  kernel_.body.body[2].operands = {1, 1, kNoTile};
  EXPECT_EQ(verify(kernel_), std::vector<std::string>{"line 3: an index that is no integer"});
}
TEST_F(VerifyTest, OnlyMasksAndTheLikeMayBeMissing) {
  kernel_.body.body[2].operands[2] = kNoTile;
  EXPECT_EQ(verify(kernel_), std::vector<std::string>{});
  kernel_.body.body[2].operands[1] = kNoTile;
  EXPECT_EQ(verify(kernel_), std::vector<std::string>{"line 3: an operand is missing"});
}
TEST_F(VerifyTest, AValueThatIsMissingHasNoType) {
  kernel_.body.body.push_back({.what = TileCompute{TileOp::cast},
                               .operands = {kNoTile},
                               .results = {7},
                               .regions = {},
                               .line = 4,
                               .text = {}});
  EXPECT_EQ(verify(kernel_), (std::vector<std::string>{"line 4: an operand is missing",
                                                       "line 4: value %7 does not exist"}));
}

}  // namespace
}  // namespace assay
