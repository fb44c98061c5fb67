// Programs in logs that other things stand in too.
#include "replay/runner/programs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/ops/op_table.h"

namespace assay {
namespace {

/// As TORCH_LOGS=output_code writes it to a terminal.
auto logged(std::string_view program) -> std::string {
  constexpr std::string_view kPrefix =
      "V1124 05:24:47.784000 1405766 torch/_inductor/graph.py:1683] [0/0] [__output_code] ";
  std::string text;
  for (std::size_t at = 0; at < program.size();) {
    const auto end = std::min(program.find('\n', at), program.size());
    text += fmt::format("{}{}\n", kPrefix, program.substr(at, end - at));
    at = end + 1;
  }
  return text;
}

auto proved(const std::string& text) -> WrapperReport {
  auto programs = prove_programs(text, "log.txt", build_op_table());
  EXPECT_TRUE(programs) << programs.error().message;
  EXPECT_EQ(programs->size(), 1U);
  return programs->empty() ? WrapperReport{} : std::move(programs->front().report);
}

constexpr std::string_view kProduct =
    "Output code: \n"
    "from torch._inductor.select_algorithm import extern_kernels\n"
    "def call(args):\n"
    "    arg0_1, arg1_1, arg2_1 = args\n"
    "    args.clear()\n"
    "    s3 = arg0_1\n"
    "    assert_size_stride(arg1_1, (32, 32), (32, 1))\n"
    "    assert_size_stride(arg2_1, (4, 32 // s3), (32 // s3, 1))\n"
    "    buf0 = empty_strided_cpu((4, 32), (32, 1), torch.float32)\n"
    "    extern_kernels.mm(arg2_1, arg1_1, out=buf0)\n"
    "    return (buf0, )\n";

auto refuted(const WrapperReport& report) -> std::size_t {
  std::size_t count = 0;
  for (const auto& one : report.obligations)
    count += std::holds_alternative<Refuted>(one.answer) ? 1U : 0U;
  return count;
}

TEST(ProgramsInLogs, MessagesAroundAProgramAreNoneOfItsStatements) {
  const auto report = proved(logged(kProduct) +
                             "Traceback (most recent call last):\n"
                             "  File \"one.py\", line 17, in <module>\n"
                             "    if way.starts: go(x\nCppCompileError: C++ compile error\n");
  EXPECT_TRUE(report.lines_not_understood.empty()) << report.lines_not_understood.front().text;
  EXPECT_GT(report.obligations.size(), 0U);
}

TEST(ProgramsInLogs, SizesThatAGuardMayMakeEqualAreNotRefutedWithoutGuards) {
  EXPECT_EQ(refuted(proved(logged(kProduct))), 0U);
  auto numbers = std::string(kProduct);
  for (std::size_t at = 0; (at = numbers.find("32 // s3", at)) != std::string::npos;)
    numbers.replace(at, 8, "16");
  EXPECT_EQ(refuted(proved(logged(numbers))), 1U);  // no guard makes 16 of 32
}

}  // namespace
}  // namespace assay
