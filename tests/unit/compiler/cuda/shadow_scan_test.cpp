// What checked code keeps of an element that nobody wrote.
#include "compiler/cuda/shadow_scan.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace {

TEST(ShadowScan, CountsWhatAViewShowsAlone) {
  constexpr std::uint64_t kKernel = std::uint64_t{3} << 48U;
  std::vector<GpuShadow> shadows(12, {.writer = kKernel});
  RealMeta second_columns;
  second_columns.sizes = {3, 2};
  second_columns.strides = {4, 1};
  second_columns.offset = 2;
  const auto scan = [&](bool is_stored) {
    const auto found = scan_unwritten(shadows, second_columns, is_stored);
    return std::pair(found.times, found.first);
  };
  shadows[5].writer = 0;  // beside it
  EXPECT_EQ(scan(false).first, 0);
  shadows[7].writer = 0;
  constexpr auto kCopy = UnwrittenOrigin{.launch = 2, .line = 7}.word();
  shadows[10].writer = kCopy;
  EXPECT_EQ(scan(false), std::pair(std::int64_t{2}, std::int64_t{7}));
  EXPECT_EQ(scan(true), std::pair(std::int64_t{1}, std::int64_t{10}));
  const auto origin = UnwrittenOrigin::from(scan_unwritten(shadows, second_columns, true).origin);
  EXPECT_EQ(origin.launch, 2);
  EXPECT_EQ(origin.line, 7);
}

}  // namespace
}  // namespace assay
