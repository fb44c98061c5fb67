// What Inductor's newer kernels call (PyTorch 2.11 to 2.15), and several kernels in one.
#include <cmath>
#include <limits>
#include <numbers>

#include "compiler/read/triton.h"
#include "tests/unit/compiler/interpret/small_programs.h"

namespace assay {
namespace {

class HelpersTest : public InterpretTest {
 protected:
  /// `out` of a pointwise kernel whose input is `tmp0`.
  static auto each(std::string_view body, const std::vector<double>& values)
      -> std::vector<double> {
    const auto text = kernel("'in_ptr0': '*fp32', 'out_ptr0': '*fp32'", "in_ptr0, out_ptr0",
                             fmt::format("tmp0 = tl.load(in_ptr0 + (xindex), xmask)\n{}\n"
                                         "tl.store(out_ptr0 + (xindex), out, xmask)",
                                         body)) +
                      fmt::format(
                          "def call(args):\n    arg0_1, = args\n"
                          "    buf0 = empty_strided_cuda(({0}, ), (1, ), torch.float32)\n"
                          "    k.run(arg0_1, buf0, {0}, stream=stream0)\n    return (buf0, )\n",
                          values.size());
    const auto result = run_on(text, values);
    EXPECT_TRUE(result.findings.empty());
    return result.outputs.empty() ? std::vector<double>() : output(result);
  }
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeast = std::numeric_limits<float>::denorm_min();
const std::vector<double> kValues = {1,    -1,      0.75,   3.5,     -1024,      0.1F,
                                     -0.0, 1e-39F,  kLeast, -kLeast, 3.4e38F,    0x1p-126,
                                     0,    0x1p127, 5e-42F, 12345.F, -kInfinity, kInfinity};

TEST_F(HelpersTest, FrexpSplitsEveryNumber) {
  const auto mantissas = each("out, tmp2 = triton_helpers.frexp(tmp0)", kValues);
  const auto powers =
      each("tmp1, tmp2 = triton_helpers.frexp(tmp0)\nout = tmp2.to(tl.float32)", kValues);
  for (std::size_t i = 0; i < kValues.size(); ++i) {
    int power = 0;
    const auto mantissa = std::frexp(kValues[i], &power);
    EXPECT_EQ(mantissas[i], mantissa) << kValues[i];
    EXPECT_EQ(std::signbit(mantissas[i]), std::signbit(mantissa)) << kValues[i];
    EXPECT_EQ(powers[i], std::isinf(kValues[i]) ? 0 : power) << kValues[i];
  }
  const auto of_nan =
      each("out, tmp2 = triton_helpers.frexp(tmp0)", {std::numeric_limits<double>::quiet_NaN()});
  EXPECT_TRUE(std::isnan(of_nan.at(0)));
}

/// What maxima of int64 begin with: its size alone is no int64.
TEST_F(HelpersTest, TheLeastWholeNumberIsRead) {
  EXPECT_EQ(each("least = tl.full([XBLOCK], -9223372036854775808, tl.int64)\n"
                 "tmp1 = triton_helpers.maximum(tmp0.to(tl.int64), least)\n"
                 "tmp2 = tl.where(xmask, tmp1, -9223372036854775808)\n"
                 "out = tl.where(least + 9223372036854775807 == -1, tmp2.to(tl.float32), 0.5)",
                 {3, -7, 0}),
            (std::vector<double>{3, -7, 0}));
}

TEST_F(HelpersTest, LdexpRoundsOnce) {
  for (const int power : {-300, -150, -140, -127, -3, 0, 7, 128, 250, 2000}) {
    const auto seen = each(fmt::format("tmp1 = tl.full([1], {}, tl.int32)\n"
                                       "out = libdevice.ldexp(tmp0, tmp1)",
                                       power),
                           kValues);
    for (std::size_t i = 0; i < kValues.size(); ++i)
      EXPECT_EQ(seen[i], std::ldexp(static_cast<float>(kValues[i]), power))
          << kValues[i] << " " << power;
  }
}

/// 1e-300 and less are normal numbers of float64, or have fewer bits.
TEST_F(HelpersTest, WideNumbersAreSplitAndScaledToo) {
  const std::vector<double> values = {3, -0.625, 1};
  for (const int power : {-1070, -1030, -400, 0, 900}) {
    const auto scaled = fmt::format(
        "tmp1 = tl.full([1], {}, tl.int32)\ntmp2 = libdevice.ldexp(tmp0.to(tl.float64), tmp1)\n"
        "tmp3, tmp4 = triton_helpers.frexp(tmp2)\n",
        power);
    const auto mantissas = each(scaled + "out = tmp3.to(tl.float32)", values);
    const auto powers = each(scaled + "out = tmp4.to(tl.float32)", values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      int wanted = 0;
      EXPECT_EQ(mantissas[i], std::frexp(std::ldexp(values[i], power), &wanted)) << power;
      EXPECT_EQ(powers[i], wanted) << power;
    }
  }
  const auto back = each(
      "tmp1 = tl.full([1], -1074, tl.int32)\ntmp2 = tl.full([1], 2000, tl.int32)\n"
      "tmp3 = libdevice.ldexp(libdevice.ldexp(tmp0.to(tl.float64), tmp1), tmp2)\n"
      "tmp4 = tl.full([1], -926, tl.int32)\n"
      "out = libdevice.ldexp(tmp3, tmp4).to(tl.float32)",
      {3, 2.5, 3.5, 0.5, 0.75});
  EXPECT_EQ(back, (std::vector<double>{3, 2, 4, 0, 1}));  // rounded to even once
}

/// Against a continued fraction, and known values.
TEST_F(HelpersTest, ScaledErrorFunctionsHoldOverTheWholeRange) {
  const auto exact = [](double x) {
    if (x < 2) return std::exp(x * x) * std::erfc(x);
    double rest = x;
    for (int k = 400; k > 0; --k) rest = x + k / 2.0 / rest;
    return 1 / (rest * std::sqrt(std::numbers::pi));
  };
  std::vector<double> values = {0, 1, -1, 24.9F, 25, 25.1F, 26.7F, 30, 1e4F, 1e30F, kInfinity};
  for (int i = -90; i <= 400; ++i) values.push_back(static_cast<float>(i * 0.1));
  const auto seen = each("out = libdevice.erfcx(tmp0)", values);
  ASSERT_EQ(seen.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(seen[i], exact(values[i]), 1.2e-7 * exact(values[i])) << values[i];
  EXPECT_FLOAT_EQ(static_cast<float>(seen[1]), 0.42758357615580700F);
  const auto beyond = each("out = libdevice.erfcx(tmp0)",
                           {-20, -kInfinity, std::numeric_limits<double>::quiet_NaN()});
  EXPECT_EQ(beyond.at(0), kInfinity);
  EXPECT_EQ(beyond.at(1), kInfinity);
  EXPECT_TRUE(std::isnan(beyond.at(2)));
}

TEST_F(HelpersTest, BesselFunctionsHoldOverTheWholeRange) {
  std::vector<double> values = {0, 91.5, -91.5, 1e-6, kInfinity};
  for (int i = -200; i <= 200; ++i) values.push_back(static_cast<float>(i * 0.137));
  for (const int order : {0, 1}) {
    const auto seen = each(fmt::format("out = libdevice.cyl_bessel_i{}(tmp0)", order), values);
    const auto wide =
        each(fmt::format("out = (libdevice.cyl_bessel_i{}(tmp0.to(tl.float64) * 4)).to(tl.float32)",
                         order),
             {3, 7, 8, 20});
    for (const auto& [at, x] : {std::pair(0U, 12.0), {1U, 28.0}, {2U, 32.0}, {3U, 80.0}})
      EXPECT_FLOAT_EQ(static_cast<float>(wide[at]),
                      static_cast<float>(std::cyl_bessel_i(order, x)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double size = std::abs(values[i]);
      const auto exact = std::isinf(size) ? size : std::cyl_bessel_i(order, size);
      const auto wanted = order == 1 ? std::copysign(exact, values[i]) : exact;
      if (std::isinf(wanted))
        EXPECT_EQ(seen[i], wanted);
      else
        EXPECT_NEAR(seen[i], wanted, 1e-6 * exact) << values[i] << " " << order;
    }
  }
}

TEST_F(HelpersTest, PowersOfIntegersAreExact) {
  const auto seen = each(
      "tmp1 = tl.full([1], 5, tl.int64)\n"
      "tmp2 = triton_helpers.pow_integer(tmp0.to(tl.int64), tmp1)\n"
      "out = (tmp2 % 1000).to(tl.float32)",
      {0, 1, 2, 7, 30, 201});
  EXPECT_EQ(seen, (std::vector<double>{0, 1, 32, 807, 0, 1}));
}

TEST_F(HelpersTest, AChoiceOfSeveralDtypesIsMadeWhileReading) {
  const std::vector<double> values = {-2, 3};
  const auto choice = [](std::string_view dtype) {
    return fmt::format(
        "out = tmp0 * 2 if (tmp0).dtype is tl.float64 or (tmp0).dtype is {} else tmp0 - 1", dtype);
  };
  EXPECT_EQ(each(choice("tl.float32"), values), (std::vector<double>{-4, 6}));
  EXPECT_EQ(each(choice("tl.int32"), values), (std::vector<double>{-3, 2}));
}

/// A loop over a row as Inductor writes it, `round` inside and `end` behind it.
auto row_program(std::string_view before, std::string_view round, std::string_view end)
    -> std::string {
  return fmt::format(
      "k = async_compile.triton('k', '''\nimport triton\n"
      "@triton_heuristics.reduction(\n    size_hints={{'x': 1, 'r0_': 64}},\n"
      "    triton_meta={{'signature': {{'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'xnumel': "
      "'constexpr', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}}, "
      "'constants': {{'xnumel': 1}}}},\n    inductor_meta={{'grid_type': 'Grid1D'}})\n@triton.jit\n"
      "def k(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : "
      "tl.constexpr):\n    xnumel = 1\n    xoffset = tl.program_id(0) * XBLOCK\n"
      "    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]\n"
      "    xmask = tl.full([XBLOCK], True, tl.int1)[:, None]\n"
      "    r0_base = tl.arange(0, R0_BLOCK)[None, :]\n{}"
      "    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):\n"
      "        r0_index = r0_offset + r0_base\n        r0_mask = r0_index < r0_numel\n{}{}''', "
      "device_str='cuda')\n"
      "def call(args):\n    arg0_1, = args\n    buf0 = empty_strided_cuda((1, ), (1, ), "
      "torch.float32)\n    k.run(arg0_1, buf0, 1, 40, stream=stream0)\n    return (buf0, )\n",
      before, round, end);
}

const std::string kLoad = "        tmp0 = tl.load(in_ptr0 + (r0_index), r0_mask, other=0.0)\n";

/// A store of one element, as PyTorch 2.15 writes it: over an axis that has one lane.
auto store_one(std::string_view buffer, std::string_view value) -> std::string {
  return fmt::format(
      "    tl.store({} + (tl.full([1, 1], 0, tl.int32).broadcast_to(XBLOCK, 1)), {}, None)\n",
      buffer, value);
}

TEST_F(HelpersTest, ASoftmaxAddsBlockAfterBlock) {
  const auto text = row_program(
      "    m = tl.full([XBLOCK], float('-inf'), tl.float32)\n"
      "    s = tl.full([XBLOCK], 0.0, tl.float32)\n",
      kLoad +
          "        m, s = triton_helpers.online_softmax_reduce_scalar_combine(\n"
          "            m, s, tmp0, r0_mask, 1, False, False\n        )\n",
      store_one("out_ptr0", "(m + tl_math.log(s))[:, None]"));
  double sum = 0;
  for (int i = 0; i < 40; ++i) sum += std::exp(i - 39.0);
  for (const int block : {1, 4, 32}) {
    const auto seen = run_text(text, 40, block);
    EXPECT_TRUE(seen.findings.empty());
    EXPECT_NEAR(output(seen).at(0), 39 + std::log(sum), 1e-5) << block;
  }
}

/// As users write them: dimensions from the last one, none at all, and ones that stay.
TEST_F(HelpersTest, ReductionsNameTheirDimension) {
  const auto seen = run(
      "a = tl.load(in_ptr0 + xindex, xmask, other=-1.0)\n"
      "m, k = tl.max(a, axis=-1, return_indices=True)\n"
      "j = tl.argmin(a, 0)\n"
      "s = tl.sum(a[:, None], axis=-2, keep_dims=True)\n"
      "t = tl.where(tl.sum(s, 1) == tl.sum(tl.sum(a[:, None], 1)), tl.max(a) - tl.sum(a), 0.5)\n"
      "v = m + 64 * k + 1024 * j + 16384 * t + 0.5 * tl.clamp(a, 3.0, 5.0)\n"
      "tl.store(out_ptr0 + xindex, v, xmask)",
      40, {}, 16);
  ASSERT_TRUE(seen.findings.empty());
  const auto made = output(seen);
  ASSERT_EQ(made.size(), 40U);
  EXPECT_EQ(made[2], 15 + 64 * 15 - 16384 * 105.0 + 1.5);
  EXPECT_EQ(made[20], 31 + 64 * 15 - 16384 * 345.0 + 2.5);
  EXPECT_EQ(made[39], 39 + 64 * 7 + 1024 * 8 - 16384 * 237.0 + 2.5);
}

TEST_F(HelpersTest, ValuesAreSortedAlone) {
  for (const bool falls : {false, true}) {
    const auto seen = run(fmt::format("a = tl.load(in_ptr0 + xindex)\n"
                                      "b = tl.where(a < 5.0, a + 100, a)\n"
                                      "tl.store(out_ptr0 + xindex, tl.sort(b{}))",
                                      falls ? ", 0, descending=True" : ""),
                          32, {}, 32);
    ASSERT_TRUE(seen.findings.empty());
    const auto made = output(seen);
    ASSERT_EQ(made.size(), 32U);
    for (std::size_t i = 0; i < 32; ++i) {
      const auto rank = falls ? 31 - i : i;
      EXPECT_EQ(made[i],
                rank < 27 ? static_cast<double>(rank + 5) : static_cast<double>(rank + 73));
    }
  }
}

TEST_F(HelpersTest, TheFirstIndexOfTheLeastWins) {
  const auto text = row_program(
      "    a = tl.full([XBLOCK, R0_BLOCK], 1000000.0, tl.float32)\n",
      kLoad + "        a = tl.where(r0_mask, (tmp0 // 2 - 7) * (tmp0 // 2 - 7), a)\n",
      "    v, i = triton_helpers.min_with_first_index(a, tl.broadcast_to(r0_base, [XBLOCK, "
      "R0_BLOCK]), 1)\n" +
          store_one("out_ptr0", "i[:, None].to(tl.float32)"));
  EXPECT_EQ(output(run_text(text, 40, 64)).at(0), 14);
}

/// One lane of one program reads and overwrites an element, whether or not its axis is named.
TEST_F(HelpersTest, TheOnlyLaneOfAnAxisIsTheSameAsNone) {
  const auto text = row_program(
      "    a = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)\n",
      "        tmp1 = tl.load(in_ptr0 + (r0_index), r0_mask & (r0_index > 0), other=0.0)\n"
      "        a = tl.where(r0_mask, a + tmp1, a)\n",
      "    t = tl.sum(a, 1)[:, None]\n    f = tl.load(in_ptr0 + (0))\n"
      "    g = tl.broadcast_to(f, [1, 1])\n" +
          store_one("in_ptr0", "g + t") + store_one("out_ptr0", "t"));
  const auto seen = run_text(text, 40, 64);
  EXPECT_EQ(faults(seen), Faults{});
  EXPECT_EQ(output(seen).at(0), 780);
}

/// Copies arg0 to buf0 and, doubled, to buf1 in one launch; buf1 is the result.
auto combined(std::string_view meta, std::string_view body, int xblock) -> std::string {
  return fmt::format(
      "k = async_compile.triton('k', '''\nimport triton\n@triton_heuristics.foreach(\n"
      "    num_warps=8,\n    triton_meta={{'signature': {{'in_ptr0': '*fp32', 'out_ptr0': '*fp32', "
      "'out_ptr1': '*fp32', 'xnumel_0': 'i32', 'xnumel_1': 'i32'}}, 'constants': {{}}}},\n"
      "    inductor_meta={{{0}}},\n)\n@triton.jit\n"
      "def k(in_ptr0, out_ptr0, out_ptr1, xnumel_0, xnumel_1):\n    pid = tl.program_id(0)\n"
      "    XBLOCK: tl.constexpr = {2}\n    num_xblocks_0 = tl.cdiv(xnumel_0, XBLOCK)\n"
      "    num_xblocks_1 = num_xblocks_0 + tl.cdiv(xnumel_1, XBLOCK)\n{1}''', "
      "device_str='cuda')\n"
      "def call(args):\n    arg0_1, = args\n"
      "    buf0 = empty_strided_cuda((40, ), (1, ), torch.float32)\n"
      "    buf1 = empty_strided_cuda((40, ), (1, ), torch.float32)\n"
      "    k.run(arg0_1, buf0, buf1, 40, 40, stream=stream0)\n    return (buf1, )\n",
      meta, body, xblock);
}
auto part(std::string_view program, int number) -> std::string {
  return fmt::format(
      "        xindex = {0} * XBLOCK + tl.arange(0, XBLOCK)[:]\n"
      "        xmask = xindex < xnumel_{1}\n"
      "        tmp{1} = tl.load(in_ptr0 + (xindex), xmask)\n"
      "        tl.store(out_ptr{1} + (xindex), tmp{1} * {2}, xmask)\n",
      program, number, number + 1);
}

TEST_F(HelpersTest, ProgramsOfCombinedKernelsFollowEachOther) {
  const auto body = "    if pid < num_xblocks_0:\n" + part("pid", 0) +
                    "    elif pid < num_xblocks_1:\n" + part("(pid - num_xblocks_0)", 1) +
                    "    else:\n        pass\n";
  for (const int xblock : {64, 16}) {
    const auto meta = fmt::format(
        "'grid_type': 'SequentialComboKernelGrid', 'combo_grid_meta': {{'num_kernels': 2, "
        "'min_blocks': None, 'default_config': {{'XBLOCK': {}}}, 'no_x_dim_0': False, 'xnumel_0': "
        "None, 'no_x_dim_1': False, 'xnumel_1': 40}}",
        xblock);
    const auto seen = run_text(combined(meta, body, xblock), 40, {});
    EXPECT_EQ(faults(seen), Faults{});
    EXPECT_EQ(output(seen).at(39), 78) << xblock;
  }
}

TEST_F(HelpersTest, ProgramsOfCombinedKernelsTakeTurns) {
  const auto body =
      "    if pid % 2 == 0:\n" + part("(pid // 2)", 0) + "    else:\n" + part("(pid // 2)", 1);
  const auto seen = run_text(
      combined("'grid_type': 'RoundRobinComboKernelGrid', 'combo_grid_meta': {'num_kernels': 2, "
               "'min_blocks': 5, 'default_config': {'XBLOCK': 16}, 'no_x_dim_0': False, "
               "'xnumel_0': None, 'no_x_dim_1': False, 'xnumel_1': None}",
               body, 16),
      40, {});
  EXPECT_EQ(faults(seen), Faults{});
  EXPECT_EQ(output(seen).at(39), 78);
}

TEST_F(HelpersTest, AGridOfAnUnknownKindIsNoSingleProgram) {
  const auto program = read_wrapper(
      combined("'grid_type': 'SpiralGrid'", "    if pid < num_xblocks_0:\n" + part("pid", 0), 16));
  ASSERT_TRUE(program);
  const auto ready = Interpreter(table()).compile(*program);
  ASSERT_TRUE(ready);
  const auto input = Tensor::contiguous(DType::float32, {40});
  const auto seen = (*ready)->run({Datum{*input}}, {});
  ASSERT_FALSE(seen);
  EXPECT_NE(seen.error().message.find("k: how many programs it has is not known"),
            std::string::npos)
      << seen.error().message;
}

/// Templates and users' kernels call functions that stand behind them.
constexpr std::string_view kFunctions =
    "@triton.jit\n"
    "def pick(x, FIRST: tl.constexpr, limit=None, SCALE: tl.constexpr=2):\n"
    "    if FIRST and limit is not None:\n"
    "        return tl.minimum(x, limit)\n"
    "    elif not FIRST:\n"
    "        return x * SCALE, x\n"
    "    y = x + 1; y += 1\n"
    "    return y\n"
    "@triton.jit\n"
    "def summed(x, n):\n"
    "    acc = x\n"
    "    for i in range(0, n):\n"
    "        acc = pick(acc, True)\n"
    "        if n > 3:\n"
    "            acc = acc * 2\n"
    "    return acc\n";

class FunctionsTest : public HelpersTest {
 protected:
  static auto with_functions(std::string_view body) -> std::vector<double> {
    auto text = kernel("'in_ptr0': '*fp32', 'out_ptr0': '*fp32'", "in_ptr0, out_ptr0",
                       fmt::format("tmp0 = tl.load(in_ptr0 + (xindex), xmask)\n{}\n"
                                   "tl.store(out_ptr0 + (xindex), out, xmask)",
                                   body));
    text.insert(text.rfind("'''"), kFunctions);
    text +=
        "def call(args):\n    arg0_1, = args\n"
        "    buf0 = empty_strided_cuda((3, ), (1, ), torch.float32)\n"
        "    k.run(arg0_1, buf0, 3, stream=stream0)\n    return (buf0, )\n";
    const auto result = run_on(text, {1, 5, 10});
    EXPECT_TRUE(result.findings.empty());
    return result.outputs.empty() ? std::vector<double>() : output(result);
  }
};

TEST_F(FunctionsTest, ConstantsSayWhichReturnIsReached) {
  EXPECT_EQ(with_functions("out = pick(tmp0, True, limit=5)"), (std::vector<double>{1, 5, 5}));
  EXPECT_EQ(with_functions("out = pick(tmp0, True)"), (std::vector<double>{3, 7, 12}));
  EXPECT_EQ(with_functions("a, b = pick(tmp0, False)\nout = a - b"),
            (std::vector<double>{1, 5, 10}));
  EXPECT_EQ(with_functions("out, b = pick(tmp0, FIRST=False, SCALE=3)"),
            (std::vector<double>{3, 15, 30}));
}

TEST_F(FunctionsTest, TheirLoopsBranchesAndNamesAreTheirOwn) {
  EXPECT_EQ(with_functions("y = tmp0; acc = y\nfor k in range(0, 2):\n    acc = summed(acc, 2)\n"
                           "out = acc + y"),
            (std::vector<double>{10, 18, 28}));
  std::vector<double> four = {1, 5, 10};
  for (auto& one : four)
    for (int i = 0; i < 4; ++i) one = (one + 2) * 2;
  EXPECT_EQ(with_functions("n = xnumel + 1\nout = summed(tmp0, n)"), four);
}

/// A scan by a function that gives nothing is not understood.
TEST_F(FunctionsTest, WhatGivesNothingCombinesNothing) {
  const auto text = kernel("'in_ptr0': '*fp32', 'out_ptr0': '*fp32'", "in_ptr0, out_ptr0",
                           "tmp0 = tl.load(in_ptr0 + (xindex), xmask)\n"
                           "out = tl.associative_scan(tmp0, 0, nothing)\n"
                           "tl.store(out_ptr0 + (xindex), out, xmask)");
  ExprPool pool;
  const auto begin = text.find("import triton"), end = text.rfind("'''");
  const auto read = read_triton(
      text.substr(begin, end - begin) + "@triton.jit\ndef nothing(a, b):\n    c = a + b\n", pool);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_FALSE(read->not_understood.empty());
}

TEST_F(FunctionsTest, MatricesAreTurned) {
  EXPECT_EQ(with_functions("rows = tmp0[:, None]\nout = tl.sum(tl.trans(rows), 0)"),
            (std::vector<double>{1, 5, 10}));
}

}  // namespace
}  // namespace assay
