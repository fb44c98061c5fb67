// A C++ kernel of a few lines, read and run in the interpreter.
#pragma once

#include <cmath>

#include <gtest/gtest.h>

#include "compiler/interpret/interpret.h"
#include "compiler/program/text.h"
#include "compiler/read/cpp.h"
#include "compiler/read/wrapper.h"

namespace assay::testing {

using Numbers = std::vector<double>;

/// A buffer of a kernel: what it holds before, and its dtype.
struct Buffer {
  Numbers before;
  DType dtype = DType::float32;
};

class CppKernel : public ::testing::Test {
 protected:
  static auto cpp_name(DType dtype) -> std::string {
    struct Row {
      DType dtype;
      std::string_view name;
    };
    constexpr std::array kRows = {
        Row{DType::float32, "float"},        Row{DType::float64, "double"},
        Row{DType::int64, "int64_t"},        Row{DType::int32, "int32_t"},
        Row{DType::boolean, "bool"},         Row{DType::uint8, "uint8_t"},
        Row{DType::bfloat16, "at::BFloat16"}};
    for (const auto& row : kRows)
      if (row.dtype == dtype) return std::string(row.name);
    return "?";
  }
  static auto source(std::string_view params, std::string_view body) -> std::string {
    return fmt::format(
        "#include <torch/csrc/inductor/cpp_prefix.h>\nextern \"C\"  void  "
        "kernel({})\n{{\n{}\n}}\n",
        params, body);
  }
  /// p0, p1 and so on are the buffers, n is a size.
  auto run(std::string_view body, const std::vector<Buffer>& buffers, std::int64_t n,
           std::optional<std::uint32_t> seed = {}) -> std::vector<Numbers> {
    std::string params, names, args;
    DatumList inputs;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      params += fmt::format("{}* p{}, ", cpp_name(buffers[i].dtype), i);
      names += fmt::format("arg{}_1, ", i);
      auto tensor = Tensor::contiguous(buffers[i].dtype,
                                       {static_cast<std::int64_t>(buffers[i].before.size())});
      from_vector(*tensor, std::span<const double>(buffers[i].before));
      inputs.emplace_back(*tensor);
    }
    const auto text = fmt::format(
        "k = async_compile.cpp_pybinding(['float*'], r'''\n{}''')\n"
        "def call(args):\n    {} = args\n    k({}{})\n    return ({})\n",
        source(params + "const int64_t n", body), names, names, n, names);
    const auto program = read_wrapper(text);
    EXPECT_TRUE(program) << program.error().message;
    if (!program) return {};
    const auto ready = Interpreter(table()).compile(*program);
    EXPECT_TRUE(ready) << ready.error().message;
    if (!ready) return {};
    ProgramRunOptions options;
    options.block_seed = seed;
    auto result = (*ready)->run(inputs, options);
    EXPECT_TRUE(result) << result.error().message;
    if (!result) return {};
    faults_ = result->findings;
    std::vector<Numbers> outputs;
    for (const auto& output : result->outputs) outputs.push_back(to_vector<double>(*output.real()));
    return outputs;
  }
  /// The same for tiles of any size.
  void gives(std::string_view body, const std::vector<Buffer>& buffers, std::int64_t n,
             std::size_t at, const Numbers& wanted) {
    for (const std::optional<std::uint32_t> seed : {std::optional<std::uint32_t>(), {1U}, {2U}}) {
      const auto outputs = run(body, buffers, n, seed);
      ASSERT_LT(at, outputs.size());
      EXPECT_TRUE(faults_.empty()) << faults_[0].message;
      ASSERT_EQ(outputs[at].size(), wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i)
        EXPECT_NEAR(outputs[at][i], wanted[i], 1e-5 * (1 + std::abs(wanted[i]))) << i;
    }
  }
  /// Of whole vectors and of what is left: `p1` is a function of each element of `p0`.
  void gives_each(const std::vector<std::string>& bodies, double (*function)(double)) {
    for (const auto& body : bodies)
      for (const std::int64_t n : {3, 16, 21}) {
        const auto given = count(n, -3, 1.25);
        auto wanted = given;
        for (auto& x : wanted) x = function(x);
        gives(body, {{given}, {zeros(n)}}, n, 1, wanted);
      }
  }
  auto read(std::string_view params, std::string_view body) -> TileKernel {
    auto kernel = read_cpp(source(params, body), pool_);
    EXPECT_TRUE(kernel) << kernel.error().message;
    return kernel ? *std::move(kernel) : TileKernel{};
  }
  /// Why a kernel is not understood; empty if it is.
  auto reason(std::string_view params, std::string_view body) -> std::string {
    const auto kernel = read(params, body);
    return kernel.not_understood.empty() ? "" : kernel.not_understood[0].reason;
  }
  static auto table() -> const OpTable& {
    static const auto rows = build_op_table();
    return rows;
  }
  static auto count(std::int64_t n, double from = 0, double step = 1) -> Numbers {
    Numbers result;
    for (std::int64_t i = 0; i < n; ++i) result.push_back(from + step * static_cast<double>(i));
    return result;
  }
  static auto zeros(std::int64_t n) -> Numbers { return Numbers(static_cast<std::size_t>(n), 0); }

  ExprPool pool_;
  std::vector<RunFinding> faults_;
};

inline constexpr std::string_view kRest =
    "static_cast<int64_t>(n + (-16L)*(c10::div_floor_integer(static_cast<int64_t>(n), "
    "static_cast<int64_t>(16L))))";
inline constexpr std::string_view kWhole =
    "static_cast<int64_t>(16L*(c10::div_floor_integer(static_cast<int64_t>(n), "
    "static_cast<int64_t>(16L))))";

/// A loop over vectors of 16, `main` for whole ones and `tail` for what is left; {rest} stands for
/// how many are.
inline auto vectors(std::string_view main, std::string_view tail, std::string_view name = "x0",
                    std::string_view end = "n") -> std::string {
  auto rest = std::string(tail);
  for (auto at = rest.find("REST"); at != std::string::npos; at = rest.find("REST"))
    rest.replace(at, 4, kRest);
  return fmt::format(
      "for(int64_t {0}=static_cast<int64_t>(0L); {0}<static_cast<int64_t>({1}); "
      "{0}+=static_cast<int64_t>(16L))\n{{\n{{\n"
      "if(C10_LIKELY({0} >= static_cast<int64_t>(0) && {0} < {2}))\n{{\n{3}\n}}\n"
      "if(C10_UNLIKELY({0} >= {2} && {0} < static_cast<int64_t>({1})))\n{{\n{4}\n}}\n}}\n}}\n",
      name, end, kWhole, main, rest);
}
/// A loop whose rounds are `text`, of whole vectors and of what is left: their lengths stand at
/// `{0}`.
inline auto whole_and_rest(std::string_view text) -> std::string {
  return "{\n" +
         vectors(fmt::format(fmt::runtime(text), "static_cast<int64_t>(16)"),
                 fmt::format(fmt::runtime(text), "REST")) +
         "}";
}

}  // namespace assay::testing
