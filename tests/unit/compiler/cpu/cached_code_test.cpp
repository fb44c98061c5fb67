// Code that is kept between processes: the same results, and never something else's.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tests/unit/compiler/cpu/one_kernel.h"

namespace assay {
namespace {

class Memory final : public CodeCache {
 public:
  [[nodiscard]] auto find(std::string_view key) -> std::optional<std::string> override {
    const auto at = kept.find(std::string(key));
    if (at == kept.end()) return std::nullopt;
    ++found;
    return at->second;
  }
  void keep(std::string_view key, std::string_view code) override {
    ++made;
    kept[std::string(key)] = code;
  }
  std::map<std::string, std::string> kept;
  int found = 0, made = 0;
};

class CachedCodeTest : public CpuTest {
 protected:
  static auto doubled(DType dtype) -> OneKernel {
    return OneKernel(fmt::format(
        "kernel k \"pointwise\"\nparam in buffer {0}\nparam out buffer {0}\n"
        "param n scalar int64\naxis x parallel exact max 1024 block (1) extent (n)\nbody {{\n"
        "  %0:int64[x] = index(x) line 0\n  %1:{0}[x] = load(in) %0 _ _ line 0\n"
        "  %2:{0}[x] = add %1 %1 line 0\n  store(out) %0 %2 _ line 0\n}}\n",
        name(dtype)));
  }
  [[nodiscard]] auto executor(int lanes = 0) -> CpuExecutor {
    CpuOptions options;
    options.native.cache = &memory_;
    options.native.lanes = lanes;
    return CpuExecutor(table(), options);
  }
  /// Runs the kernel on 0, 1, 2, …
  static void expect_doubles(const OneKernel& kernel, const CpuExecutor& executor) {
    std::vector<float> numbers(37);
    std::iota(numbers.begin(), numbers.end(), 0.F);
    auto in = *Tensor::contiguous(DType::float32, {std::ssize(numbers)});
    const auto out = *Tensor::contiguous(DType::float32, {std::ssize(numbers)});
    from_vector(in, std::span<const float>(numbers));
    kernel.run(executor, {{in}, {out}, {Expr(std::ssize(numbers))}});
    for (auto& number : numbers) number *= 2;
    EXPECT_EQ(to_vector<float>(out), numbers);
    EXPECT_EQ(executor.kernels().at(0).not_compiled, "");
  }
  Memory memory_;
};

TEST_F(CachedCodeTest, IsGeneratedOnce) {
  const auto kernel = doubled(DType::float32);
  expect_doubles(kernel, executor());
  EXPECT_EQ(memory_.made, 1);
  EXPECT_EQ(memory_.found, 0);
  expect_doubles(kernel, executor());
  EXPECT_EQ(memory_.made, 1);
  EXPECT_EQ(memory_.found, 1);
}

TEST_F(CachedCodeTest, OtherLanesAreOtherCode) {
  const auto kernel = doubled(DType::float32);
  expect_doubles(kernel, executor(4));
  expect_doubles(kernel, executor(16));
  EXPECT_EQ(memory_.made, 2);
  EXPECT_EQ(memory_.found, 0);
}

TEST_F(CachedCodeTest, WhatIsNotCodeIsGeneratedAnew) {
  const auto kernel = doubled(DType::float32);
  expect_doubles(kernel, executor());
  ASSERT_EQ(memory_.kept.size(), 1U);
  auto& kept = memory_.kept.begin()->second;
  const auto right = kept;
  int made = 1;
  for (const std::string wrong :
       {"", "\n", "0", "0 why", "0 why\n", "why\n\n", "7 beyond the last kernel\n\n", "0\n\n",
        "99999999999999999999 why\n\n", "\nnot an object", "\n5\nshort", "\n9\nshort", "\n",
        "\n99999999999999999999\n"}) {
    kept = wrong;
    expect_doubles(kernel, executor());
    EXPECT_EQ(memory_.made, ++made) << wrong;
    EXPECT_EQ(kept, right) << wrong;
  }
}

TEST(KeptObjects, ComeBackAsTheyWere) {
  const NativeObjects objects{{"first\n", "", std::string("\0 2\n", 4)}, {"", "why\nnot", ""}};
  const auto text = packed(objects);
  const auto again = unpacked(text, 3);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->files, objects.files);
  EXPECT_EQ(again->not_compiled, (std::vector<std::string>{"", "why not", ""}));
  EXPECT_FALSE(unpacked(text, 1));
  EXPECT_FALSE(unpacked(text.substr(0, text.size() - 1), 3));
  EXPECT_FALSE(unpacked("\n6\nshort", 1));
}

TEST_F(CachedCodeTest, NamesDoNotMatter) {
  const auto kernel = doubled(DType::float32);
  expect_doubles(kernel, executor());
  expect_doubles(
      OneKernel(
          "kernel other \"pointwise\"\nparam from buffer float32\nparam to buffer float32\n"
          "param count scalar int64\naxis i parallel exact max 1024 block (1) extent (count)\n"
          "body {\n  %0:int64[i] = index(i) line 7\n  %1:float32[i] = load(from) %0 _ _ line 7\n"
          "  %2:float32[i] = add %1 %1 line 7\n  store(to) %0 %2 _ line 7\n}\n"),
      executor());
  EXPECT_EQ(memory_.made, 1);
  EXPECT_EQ(memory_.found, 1);
}

TEST_F(CachedCodeTest, TellsAgainWhyAKernelHasNoCode) {
  const auto kernel = doubled(DType::float8_e4m3fn);
  std::array<std::string, 2> why;
  for (auto& one : why) {
    const auto made = executor();
    ASSERT_TRUE(made.compile(kernel.program()));
    one = made.kernels().at(0).not_compiled;
  }
  EXPECT_EQ(memory_.found, 1);
  EXPECT_NE(why[0], "");
  EXPECT_EQ(why[0], why[1]);
}

}  // namespace
}  // namespace assay
