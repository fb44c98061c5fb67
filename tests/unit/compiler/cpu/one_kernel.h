// One kernel as a program, run by machine code or by the interpreter.
#pragma once
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "compiler/cpu/cpu.h"
#include "compiler/interpret/interpret.h"
#include "compiler/program/text.h"

namespace assay {

inline auto table() -> const OpTable& {
  static const OpTable kTable = build_op_table();
  return kTable;
}

/// A program of one launch: buffers and numbers are its inputs.
class OneKernel {
 public:
  explicit OneKernel(const std::string& text) {
    auto kernel = parse_kernel(text, program_.env.pool());
    EXPECT_TRUE(kernel) << (kernel ? "" : kernel.error().message) << "\n" << text;
    if (!kernel) return;
    HostFunction function;
    function.name = "call";
    HostLaunch launch{"k", {}};
    for (const auto& param : kernel->params) {
      HostArg arg;
      function.inputs.push_back(param.name);
      if (param.kind == TileParam::Kind::buffer) {
        HostView view;
        view.base = param.name;
        arg.value = view;
      } else {
        HostScalar scalar;
        scalar.name = param.name;
        scalar.value = scalar.symbol = param.symbol;
        scalar.is_input = true;
        HostOp op;
        op.what = scalar;
        function.ops.push_back(op);
        arg.value = param.symbol;
      }
      launch.args.push_back(arg);
    }
    HostOp run, done;
    run.what = launch;
    done.what = HostReturn{};
    function.ops.push_back(run);
    function.ops.push_back(done);
    KernelSource source;
    source.kernel = std::make_shared<const TileKernel>(*std::move(kernel));
    program_.kernels["k"] = std::move(source);
    program_.functions.push_back(std::move(function));
  }

  /// Tensors are written in place.
  void run(const Executor& executor, const DatumList& inputs) const {
    const auto ready = executor.compile(program_);
    ASSERT_TRUE(ready) << ready.error().message;
    const auto done = (*ready)->run(inputs, {});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_TRUE(done->findings.empty());
  }
  [[nodiscard]] auto program() const -> const HostProgram& { return program_; }

 private:
  HostProgram program_;
};

class CpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const OneKernel nothing("kernel k \"pointwise\"\nbody {\n}\n");
    const auto made = CpuExecutor(table()).compile(nothing.program());
    if (!made && made.error().code == ErrorCode::missing_tool) GTEST_SKIP() << made.error().message;
  }
  /// Fails where the code generator left a kernel to the interpreter.
  static void run_native(const OneKernel& kernel, const DatumList& inputs,
                         CpuOptions options = {}) {
    const CpuExecutor executor(table(), options);
    kernel.run(executor, inputs);
    for (const auto& one : executor.kernels()) EXPECT_EQ(one.not_compiled, "") << one.name;
  }
};

/// Operands of one dtype (of select: a truth value first) and a result.
inline auto kernel_of(const TileOpRow& row, DType from, DType to) -> std::string {
  std::string text = "kernel k \"pointwise\"\n";
  std::string loads, operands;
  for (int i = 0; i < row.operands; ++i) {
    const auto dtype = row.result == TileResult::select && i == 0 ? DType::boolean : from;
    text += fmt::format("param p{} buffer {}\n", i, name(dtype));
    loads += fmt::format("  %{}:{}[x] = load(p{}) %0 _ _ line 0\n", i + 1, name(dtype), i);
    operands += fmt::format(" %{}", i + 1);
  }
  const auto at = row.operands + 1;
  text += fmt::format(
      "param out buffer {}\nparam n scalar int64\n"
      "axis x parallel exact max 1024 block (1) extent (n)\nbody {{\n"
      "  %0:int64[x] = index(x) line 0\n{}  %{}:{}[x] = {}{} line 0\n"
      "  store(out) %0 %{} _ line 0\n}}\n",
      name(to), loads, at, name(to), row.name, operands, at);
  return text;
}

/// Units in the last place between two floats of float32, or of float64.
inline auto distance(DType dtype, double a, double b) -> double {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  if (dtype == DType::float64) return std::abs(a - b) / (std::abs(b) * 0x1p-52);
  const auto x = static_cast<float>(a), y = static_cast<float>(b);
  return std::abs(static_cast<double>(std::bit_cast<std::int32_t>(x)) -
                  static_cast<double>(std::bit_cast<std::int32_t>(y)));
}

}  // namespace assay
