// Small programs of Triton kernels for tests of the interpreter and of what it reads.
#pragma once
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/interpret/interpret.h"
#include "compiler/read/wrapper.h"

namespace assay {

/// Programs of one kernel, or of given text, in the interpreter.
class InterpretTest : public ::testing::Test {
 protected:
  static auto kernel(std::string_view signature, std::string_view params, std::string_view body)
      -> std::string {
    std::string text = fmt::format(
        "k = async_compile.triton('k', '''\nimport triton\n"
        "@triton_heuristics.pointwise(\n    size_hints={{'x': 64}},\n    "
        "triton_meta={{'signature': "
        "{{{}, 'xnumel': 'i32', 'XBLOCK': 'constexpr'}}, 'constants': {{}}}},\n"
        "    inductor_meta={{'grid_type': 'Grid1D'}})\n@triton.jit\n"
        "def k({}, xnumel, XBLOCK : tl.constexpr):\n"
        "    xoffset = tl.program_id(0) * XBLOCK\n"
        "    xindex = xoffset + tl.arange(0, XBLOCK)[:]\n    xmask = xindex < xnumel\n",
        signature, params);
    for (std::size_t at = 0; at < body.size();) {
      const auto end = std::min(body.find('\n', at), body.size());
      text += "    " + std::string(body.substr(at, end - at)) + "\n";
      at = end + 1;
    }
    return text + "''', device_str='cuda')\n";
  }
  /// arg0 is f32[n] with the values 0 .. n-1; buf0 is f32[n]; the result is buf0.
  auto run(std::string_view body, std::int64_t n = 40, std::string_view call = {},
           std::optional<std::int64_t> block = {}) -> ProgramRun {
    const std::string launch =
        call.empty() ? fmt::format(
                           "    buf0 = empty_strided_cuda(({0}, ), (1, ), torch.float32)\n"
                           "    k.run(arg0_1, buf0, {0}, stream=stream0)\n"
                           "    return (buf0, )\n",
                           n)
                     : std::string(call);
    const auto text = kernel("'in_ptr0': '*fp32', 'out_ptr0': '*fp32'", "in_ptr0, out_ptr0", body) +
                      fmt::format(
                          "def call(args):\n    arg0_1, = args\n"
                          "    assert_size_stride(arg0_1, ({}, ), (1, ))\n",
                          n) +
                      launch;
    return run_text(text, n, block);
  }
  static auto run_text(const std::string& text, std::int64_t n, std::optional<std::int64_t> block)
      -> ProgramRun {
    std::vector<double> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
    return run_on(text, values, block);
  }
  /// On f32 values, one behind the other unless `sizes` says else.
  static auto run_on(const std::string& text, const std::vector<double>& values,
                     std::optional<std::int64_t> block = {}, Ints sizes = {}) -> ProgramRun {
    auto program = read_wrapper(text);
    EXPECT_TRUE(program) << program.error().message;
    if (!program) return {};
    if (sizes.empty()) sizes = {std::ssize(values)};
    auto input = Tensor::contiguous(DType::float32, sizes);
    from_vector(*input, std::span<const double>(values));
    const auto ready = Interpreter(table()).compile(*program);
    EXPECT_TRUE(ready) << ready.error().message;
    if (!ready) return {};
    ProgramRunOptions options;
    options.block = block;
    auto result = (*ready)->run({Datum{*input}}, options);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *std::move(result) : ProgramRun{};
  }
  static auto table() -> const OpTable& {
    static const auto rows = build_op_table();
    return rows;
  }
  static auto faults(const ProgramRun& run) -> std::vector<RunFault> {
    std::vector<RunFault> kinds;
    for (const auto& finding : run.findings) kinds.push_back(finding.fault);
    return kinds;
  }
  static auto output(const ProgramRun& run) -> std::vector<double> {
    return to_vector<double>(*run.outputs.at(0).real());
  }
  using Faults = std::vector<RunFault>;
};

}  // namespace assay
