// Storages whose contents nobody may ever look at.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "core/ops/domain.h"

namespace assay {
namespace {

TEST(StorageWithoutMemory, IsZerosWhenSomebodyLooks) {
  constexpr std::int64_t kBytes = 1000;
  Storage storage(kBytes, Storage::Memory::none);
  EXPECT_EQ(storage.size_bytes(), kBytes);
  const auto bytes = storage.bytes();
  ASSERT_EQ(bytes.size(), static_cast<std::size_t>(kBytes));
  EXPECT_EQ(std::ranges::count(bytes, std::byte{0}), kBytes);
  bytes[7] = std::byte{1};
  EXPECT_EQ(storage.bytes()[7], std::byte{1});
}

TEST(StorageThatGrows, KeepsWhatItHeldAndAllItsViews) {
  const auto tensor = *Tensor::contiguous(DType::int64, {3});
  std::ranges::copy(std::array<std::int64_t, 3>{1, 2, 3}, tensor.data<std::int64_t>());
  const auto view = *tensor.view(DType::int64, {2}, {1}, 1);
  tensor.storage->grow(6 * 8);
  EXPECT_EQ(tensor.storage->size_bytes(), 48);
  EXPECT_EQ(to_vector<std::int64_t>(view), (std::vector<std::int64_t>{2, 3}));
  const auto longer = tensor.view(DType::int64, {6}, {1}, 0);
  ASSERT_TRUE(longer) << longer.error().message;
  EXPECT_EQ(to_vector<std::int64_t>(*longer), (std::vector<std::int64_t>{1, 2, 3, 0, 0, 0}));
}

TEST(StorageThatGrows, NeedsNoMemoryBeforeSomebodyLooks) {
  Storage storage(8, Storage::Memory::none);
  storage.grow(16);
  EXPECT_EQ(std::ranges::count(storage.bytes(), std::byte{0}), 16);
}

// 512 layouts of 4 GiB each: with memory behind them no machine here could hold them.
TEST(StorageWithoutMemory, StandsBehindLayouts) {
  const auto table = build_op_table();
  RealDomain real(table);
  LayoutDomain layouts(real, [](const OpRow&, const DatumList&, const Datum&) {});
  DatumList kept;
  const std::int64_t sizes[] = {1 << 15, 1 << 15};
  for (int i = 0; i < 512; ++i) {
    auto made = layouts.run(*table.find("aten.empty.memory_format"), {int_list(sizes)});
    ASSERT_TRUE(made) << made.error().message;
    kept.push_back(*std::move(made));
  }
  EXPECT_EQ(kept.back().real()->storage->size_bytes(), std::int64_t{4} << 30);
}

}  // namespace
}  // namespace assay
