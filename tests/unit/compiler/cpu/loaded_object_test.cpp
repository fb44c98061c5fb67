// Objects that the generator wrote, loaded; and what hostile bytes are answered.
#include "compiler/cpu/loaded_object.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "compiler/cpu/native.h"
#include "compiler/program/text.h"
#include "compiler/runtime/codegen_library.h"
#include "core/expr/expr.h"

namespace assay {
namespace {

/// exp(x - max) / sum by row: constants, a row's memory, a call of malloc.
constexpr const char* kSoftmax = R"(kernel k "reduction"
param in buffer float32
param out buffer float32
param rows scalar int64
param columns scalar int64
axis y parallel exact max 1024 block (1) extent (rows)
axis x reduction exact max 1024 block (1) extent (columns)
body {
  %0:int64[y] = index(y) line 0
  %1:int64[] = param(columns) line 0
  %2:int64[y] = mul %0 %1 line 0
  %3:int64[x] = index(x) line 0
  %4:int64[y x] = add %2 %3 line 0
  %5:float32[y x] = load(in) %4 _ _ line 0
  %6:float32[y] = reduce(max x) %5 line 0
  %7:float32[y x] = sub %5 %6 line 0
  %8:float32[y x] = exp %7 line 0
  %9:float32[y] = reduce(sum x) %8 line 0
  %10:float32[y x] = div %8 %9 line 0
  store(out) %4 %10 _ line 0
}
)";

class LoadedObjectTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto entry = codegen_entry(kGenerateNativeSymbol);
    if (!entry) GTEST_SKIP() << entry.error().message;
    const auto kernel = parse_kernel(kSoftmax, pool_);
    ASSERT_TRUE(kernel) << kernel.error().message;
    const auto made = reinterpret_cast<GenerateNative>(*entry)({&*kernel}, 0);
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_EQ(made->not_compiled, std::vector<std::string>{""});
    ASSERT_EQ(made->files.size(), 1U);
    file_ = made->files[0];
  }
  ExprPool pool_;
  std::string file_;
};

TEST_F(LoadedObjectTest, Runs) {
  auto object = LoadedObject::load(file_);
  ASSERT_TRUE(object) << object.error().message;
  const auto moved = std::move(*object);
  EXPECT_EQ(moved.find("kernel1"), nullptr);
  const void* code = moved.find(native_symbol(0));
  ASSERT_NE(code, nullptr);
  // The second length takes the row's memory from malloc.
  for (const std::int64_t columns : {37, 40000}) {
    std::vector<float> in(2 * static_cast<std::size_t>(columns)), out(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 17) / 4;
    std::int64_t failed = 0;
    const std::array<const void*, 5> pointers = {in.data(), out.data(), nullptr, nullptr, &failed};
    const std::array<std::int64_t, 4> integers = {0, 0, 2, columns};
    const std::array<double, 4> reals = {};
    const std::array<std::int64_t, 2> extents = {2, columns};
    reinterpret_cast<NativeKernel>(const_cast<void*>(code))(pointers.data(), integers.data(),
                                                            reals.data(), extents.data(), 0, 2);
    double sum = 0;
    for (std::int64_t i = 0; i < columns; ++i) sum += std::exp(in[static_cast<std::size_t>(i)]);
    for (std::int64_t i = 0; i < columns; ++i)
      ASSERT_NEAR(out[static_cast<std::size_t>(i)], std::exp(in[static_cast<std::size_t>(i)]) / sum,
                  1e-6);
  }
}

TEST_F(LoadedObjectTest, NoBeginningOfAFileIsOne) {
  for (std::size_t bytes = 0; bytes < file_.size(); bytes += 1 + bytes / 64)
    EXPECT_FALSE(LoadedObject::load(file_.substr(0, bytes))) << bytes;
}

/// What the file says of itself may be anything: it is loaded or refused.
TEST_F(LoadedObjectTest, AnyBytesAreAnswered) {
  int refused = 0;
  for (std::size_t i = 0; i < file_.size(); ++i)
    for (const char wrong : {'\0', '\x7f', '\xff'}) {
      auto bytes = file_;
      bytes[i] = wrong;
      if (!LoadedObject::load(bytes)) ++refused;
    }
  EXPECT_GT(refused, 100);
}

/// A relocation whose last bytes are behind its section.
TEST_F(LoadedObjectTest, NothingIsWrittenBehindASection) {
  const auto read = [&]<class T>(T& value, std::size_t at) {
    std::memcpy(&value, file_.data() + at, sizeof value);
  };
  Elf64_Ehdr header;
  read(header, 0);
  int tried = 0;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr list, section;
    read(list, header.e_shoff + i * sizeof list);
    if (list.sh_type != SHT_RELA) continue;
    read(section, header.e_shoff + list.sh_info * sizeof section);
    if (section.sh_type != SHT_PROGBITS) continue;
    for (const auto left : std::to_array<std::uint64_t>({0, 1, 3})) {
      auto bytes = file_;
      const auto place = section.sh_size - left;
      std::memcpy(bytes.data() + list.sh_offset + offsetof(Elf64_Rela, r_offset), &place,
                  sizeof place);
      const auto object = LoadedObject::load(bytes);
      ASSERT_FALSE(object) << left;
      EXPECT_EQ(object.error().message, "object: a relocation outside its section");
      ++tried;
    }
  }
  EXPECT_GE(tried, 3);
}

TEST_F(LoadedObjectTest, SaysWhatNobodyHas) {
  auto bytes = file_;
  const auto at = bytes.find(std::string("\0malloc\0", 8));
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at + 1, 6, "nolloc");
  const auto object = LoadedObject::load(bytes);
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().message, "object: nobody has nolloc");
}

TEST_F(LoadedObjectTest, OtherMachinesAreRefused) {
  auto bytes = file_;
  const Elf64_Half other = EM_AARCH64;
  std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_machine), &other, sizeof other);
  const auto object = LoadedObject::load(bytes);
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace assay
