// Each fault that the interpreter finds, planted into a small program, beside its twin without it.
#include "tests/unit/compiler/interpret/small_programs.h"

namespace assay {
namespace {

constexpr std::string_view kDouble =
    "tmp0 = tl.load(in_ptr0 + (xindex), xmask)\ntmp1 = tmp0 * 2\n"
    "tl.store(out_ptr0 + (xindex), tmp1, xmask)";

TEST_F(InterpretTest, ARightKernelGivesTheSameForAnyBlock) {
  for (const std::int64_t block : {1, 2, 16, 64, 1024}) {
    const auto result = run(kDouble, 40, {}, block);
    EXPECT_EQ(faults(result), Faults{}) << block;
    EXPECT_EQ(output(result)[39], 78) << block;
  }
}

TEST_F(InterpretTest, AForgottenMaskReadsPastTheEnd) {
  const auto result = run(
      "tmp0 = tl.load(in_ptr0 + (xindex))\ntl.store(out_ptr0 + (xindex), tmp0, xmask)", 40, {}, 16);
  ASSERT_EQ(faults(result), Faults{RunFault::out_of_bounds});
  EXPECT_EQ(result.findings[0].element, 40);
  EXPECT_EQ(result.findings[0].program, 2);
  EXPECT_EQ(result.findings[0].lane, 8);
  EXPECT_EQ(result.findings[0].times, 8);
  EXPECT_EQ(result.findings[0].buffer, "arg0_1");
  EXPECT_EQ(result.findings[0].param, "in_ptr0");
}

TEST_F(InterpretTest, AnIndexBeforeTheStartIsOutOfBounds) {
  const auto result = run(
      "tmp0 = tl.load(in_ptr0 + (xindex - 1), xmask)\ntl.store(out_ptr0 + (xindex), tmp0, xmask)");
  ASSERT_EQ(faults(result), Faults{RunFault::out_of_bounds});
  EXPECT_EQ(result.findings[0].element, -1);
}

TEST_F(InterpretTest, AnElementThatNobodyWroteIsRead) {
  const auto result =
      run("tmp0 = tl.load(out_ptr0 + (xindex), xmask)\n"
          "tl.store(out_ptr0 + (xindex), tmp0, xmask)");
  EXPECT_EQ(faults(result), Faults{RunFault::uninitialised});
}

TEST_F(InterpretTest, WhatNobodyWroteMayBeReadWhereNothingRestsOnIt) {
  // Selected away, and stored where the next launch stores something else.
  const auto chosen =
      run("tmp0 = tl.load(out_ptr0 + (xindex), xmask)\ntmp1 = tl.load(in_ptr0 + (xindex), xmask)\n"
          "tmp2 = tl.where(xindex >= 0, tmp1, tmp0 + 1)\n"
          "tl.store(out_ptr0 + (xindex), tmp2, xmask)");
  EXPECT_EQ(faults(chosen), Faults{});
  constexpr std::string_view kTwice =
      "    buf0 = empty_strided_cuda((40, ), (1, ), torch.float32)\n"
      "    k.run(buf0, buf0, 40, stream=stream0)\n    k.run(arg0_1, buf0, 40, stream=stream0)\n"
      "    return (buf0, )\n";
  EXPECT_EQ(faults(run(kDouble, 40, kTwice)), Faults{});
}

TEST_F(InterpretTest, WhatNobodyWroteIsTheFaultOfItsFirstReader) {
  constexpr std::string_view kChain =
      "    buf0 = empty_strided_cuda((40, ), (1, ), torch.float32)\n"
      "    buf1 = empty_strided_cuda((40, ), (1, ), torch.float32)\n"
      "    k.run(buf0, buf1, 40, stream=stream0)\n"
      "    k.run(buf1, arg0_1, 40, stream=stream0)\n    return (buf1, )\n";
  const auto result = run(kDouble, 40, kChain);
  ASSERT_EQ(faults(result), Faults{RunFault::uninitialised});
  EXPECT_EQ(result.findings[0].buffer, "buf0");
  const auto summed =
      run("tmp0 = tl.load(out_ptr0 + (xindex), xmask)\ntmp1 = tl.where(xmask, tmp0, 0)\n"
          "tmp2 = tl.sum(tmp1, 0)\ntl.store(in_ptr0 + (0 * xindex), tmp2, xmask)",
          8);
  EXPECT_EQ(faults(summed), Faults{RunFault::uninitialised});
  const auto index = run(
      "tmp0 = tl.load(out_ptr0 + (xindex), xmask).to(tl.int64)\n"
      "tmp1 = tl.load(in_ptr0 + (tmp0 * 0), xmask)\ntl.store(out_ptr0 + (xindex), tmp1, xmask)");
  EXPECT_EQ(faults(index), Faults{RunFault::uninitialised});
}

TEST_F(InterpretTest, AScanInALoopCarriesItsLastElement) {
  const std::string text =
      "k = async_compile.triton('k', '''\n@triton.jit\n"
      "def _triton_helper_fn_add0(arg0_0, arg1_0):\n    tmp0 = arg0_0 + arg1_0\n    return tmp0\n"
      "@triton_heuristics.reduction(\n    size_hints={'x': 1, 'r0_': 64},\n"
      "    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32', "
      "'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}},\n"
      "    inductor_meta={'grid_type': 'Grid1D'})\n@triton.jit\n"
      "def k(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : "
      "tl.constexpr):\n"
      "    xnumel = 1\n    rnumel = r0_numel\n    RBLOCK: tl.constexpr = R0_BLOCK\n"
      "    xoffset = tl.program_id(0) * XBLOCK\n"
      "    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]\n"
      "    xmask = tl.full([XBLOCK, R0_BLOCK], True, tl.int1)\n"
      "    r0_base = tl.arange(0, R0_BLOCK)[None, :]\n    rbase = r0_base\n"
      "    tmp3 = tl.full([XBLOCK, 1], float('nan'), tl.float32)\n"
      "    for r0_offset in range(0, r0_numel, R0_BLOCK):\n"
      "        r0_index = r0_offset + r0_base\n        r0_mask = r0_index < r0_numel\n"
      "        roffset = r0_offset\n        rindex = r0_index\n        r0_0 = r0_index\n"
      "        tmp0 = tl.load(in_ptr0 + (r0_0), r0_mask, other=0.0)\n"
      "        tmp2 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])\n"
      "        tmp4, = tl.associative_scan((tmp2,), 1, _triton_helper_fn_add0)\n"
      "        tmp5 = triton_helpers.select_one((tmp4), rbase == (RBLOCK - 1), dim=-1, "
      "keep_dims=True)\n"
      "        tmp6 = tmp3 + tmp5\n        tmp7 = tmp3 + tmp4\n"
      "        tmp8 = tl.where(roffset > 0, tmp7, tmp4)\n"
      "        tmp3 = tl.where(roffset > 0, tmp6, tmp5)\n"
      "        tl.store(out_ptr0 + (tl.broadcast_to(r0_0, [XBLOCK, R0_BLOCK])), tmp8, "
      "r0_mask)\n''', device_str='cuda')\n"
      "def call(args):\n    arg0_1, = args\n    assert_size_stride(arg0_1, (40, ), (1, ))\n"
      "    buf0 = empty_strided_cuda((40, ), (1, ), torch.float32)\n"
      "    k.run(arg0_1, buf0, 1, 40, stream=stream0)\n    return (buf0, )\n";
  for (const std::int64_t block : {2, 8, 64}) {
    const auto result = run_text(text, 40, block);
    ASSERT_EQ(faults(result), Faults{}) << block;
    EXPECT_EQ(output(result)[39], 780) << block;
    EXPECT_EQ(output(result)[9], 45) << block;
  }
}

/// PyTorch's check does not look at the sizes of a tensor without elements.
TEST_F(InterpretTest, AnAssertedLayoutIsNotThatOfATensorWithoutElements) {
  const auto is_run = [](std::string_view elements) {
    const auto program = read_wrapper(
        fmt::format("def call(args):\n    arg0_1, = args\n"
                    "    buf0 = empty_strided_cpu(({0}, ), (1, ), torch.float32)\n"
                    "    assert_size_stride(buf0, (128, ), (1, ))\n    return (buf0, )\n",
                    elements));
    const auto ready = Interpreter(table()).compile(*program);
    return (*ready)->run(DatumList{{*Tensor::contiguous(DType::float32, {1})}}, {}).has_value();
  };
  EXPECT_TRUE(is_run("0"));
  EXPECT_TRUE(is_run("128"));
  EXPECT_FALSE(is_run("1"));
}

TEST_F(InterpretTest, TwoProgramsThatWriteOneElementConflict) {
  constexpr std::string_view kBody =
      "tmp0 = tl.load(in_ptr0 + (xindex), xmask)\n"
      "tl.store(out_ptr0 + (xindex // 2), tmp0, xmask)";
  EXPECT_EQ(faults(run(kBody, 40, {}, 1)), Faults{RunFault::write_conflict});
  EXPECT_EQ(faults(run(kBody, 40, {}, 64)), Faults{RunFault::write_conflict});
}

/// A size that is known to be 1 leaves no trace in the index, but its axis in the value.
TEST_F(InterpretTest, AnAxisThatOnlyTheValueHasIsOneLane) {
  const std::string text =
      "k = async_compile.triton('k', '''\n"
      "@triton_heuristics.pointwise(\n    size_hints={'y': 64, 'x': 1},\n"
      "    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'ynumel': 'i32', "
      "'xnumel': 'i32', 'YBLOCK': 'constexpr', 'XBLOCK': 'constexpr'}},\n"
      "    inductor_meta={'grid_type': 'Grid2D'})\n@triton.jit\n"
      "def k(in_ptr0, out_ptr0, ynumel, xnumel, YBLOCK : tl.constexpr, XBLOCK : tl.constexpr):\n"
      "    yoffset = tl.program_id(1) * YBLOCK\n"
      "    yindex = yoffset + tl.arange(0, YBLOCK)[:, None]\n    ymask = yindex < ynumel\n"
      "    xoffset = tl.program_id(0) * XBLOCK\n"
      "    xindex = xoffset + tl.arange(0, XBLOCK)[None, :]\n"
      "    tmp0 = tl.load(in_ptr0 + (yindex), ymask)\n"
      "    tmp1 = tl.broadcast_to(tmp0, [YBLOCK, XBLOCK]) + xindex.to(tl.float32)\n"
      "    tl.store(out_ptr0 + (yindex), tmp1, ymask)\n''', device_str='cuda')\n"
      "def call(args):\n    arg0_1, = args\n    assert_size_stride(arg0_1, (40, ), (1, ))\n"
      "    buf0 = empty_strided_cuda((40, ), (1, ), torch.float32)\n"
      "    k.run(arg0_1, buf0, 40, 1, stream=stream0)\n    return (buf0, )\n";
  for (const std::int64_t block : {1, 16}) {
    const auto result = run_text(text, 40, block);
    ASSERT_EQ(faults(result), Faults{});
    EXPECT_EQ(output(result)[39], 39);
  }
  auto four = text;
  four.replace(four.find("tl.arange(0, XBLOCK)"), 20, "tl.arange(0, 4)");
  four.replace(four.find("[YBLOCK, XBLOCK]"), 16, "[YBLOCK, 4]");
  const auto program = read_wrapper(four);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_FALSE(Interpreter(table()).compile(*program)) << "four lanes that Triton does not take";
}

/// As `scatter` of a number does where indices repeat.
TEST_F(InterpretTest, OneValueMayBePutWhereDataSayByManyPrograms) {
  const auto scatter = [this](std::string_view value, std::string_view place) {
    return faults(run(fmt::format("tmp0 = tl.load(in_ptr0 + (xindex), xmask)\n"
                                  "tmp1 = tmp0.to(tl.int64) % 8\n"
                                  "tl.store(out_ptr0 + (xindex), tmp0, xmask & (xindex >= 8))\n"
                                  "tl.store(out_ptr0 + ({}), {}, xmask)",
                                  place, value),
                      40, {}, 8));
  };
  EXPECT_EQ(scatter("0.5", "tmp1"), Faults{});
  EXPECT_EQ(scatter("tmp0", "tmp1"), Faults{RunFault::write_conflict});
  EXPECT_EQ(scatter("0.5", "xindex % 8"), Faults{RunFault::write_conflict}) << "no data say so";
}

TEST_F(InterpretTest, AtomicAdditionsDoNotConflict) {
  const auto result = run(
      "tmp0 = tl.load(in_ptr0 + (xindex), xmask)\ntl.atomic_add(in_ptr0 + (xindex * 0), tmp0 * 0, "
      "xmask, sem='relaxed')\ntl.store(out_ptr0 + (xindex), tmp0, xmask)",
      1);
  EXPECT_EQ(faults(result), Faults{});
}

TEST_F(InterpretTest, LanesThatStoreOneValueAreNoConflict) {
  const auto result = run("tl.store(out_ptr0 + (xindex * 0), 3.0, xmask)", 40, {}, 64);
  EXPECT_EQ(faults(result), Faults{});
  EXPECT_EQ(output(result)[0], 3);
}

constexpr std::string_view kRotate =
    "tmp0 = tl.load(in_ptr0 + ((xindex + 1) % 40), xmask)\n{}"
    "tl.store(in_ptr0 + (xindex), tmp0, xmask)\ntl.store(out_ptr0 + (xindex), tmp0, xmask)";

TEST_F(InterpretTest, ALaneThatOverwritesWhatAnotherReadsNeedsABarrier) {
  EXPECT_EQ(faults(run(fmt::format(kRotate, ""), 40, {}, 64)), Faults{RunFault::read_conflict});
  EXPECT_EQ(faults(run(fmt::format(kRotate, "tl.debug_barrier()\n"), 40, {}, 64)), Faults{});
}

/// Triton's launcher takes the number of a tensor that holds one.
TEST_F(InterpretTest, ATensorOfOneElementIsPassedAsItsNumber) {
  const auto text =
      kernel("'in_ptr0': '*fp32', 'in_ptr1': 'fp32', 'out_ptr0': '*fp32'",
             "in_ptr0, in_ptr1, out_ptr0",
             "tmp0 = tl.load(in_ptr0 + (xindex), xmask)\ntmp1 = in_ptr1\n"
             "tl.store(out_ptr0 + (xindex), tmp0 * tmp1, xmask)") +
      "def call(args):\n    arg0_1, = args\n    assert_size_stride(arg0_1, (40, ), (1, ))\n"
      "    buf0 = empty_strided_cuda((40, ), (1, ), torch.float32)\n"
      "    k.run(arg0_1, reinterpret_tensor(arg0_1, (), (), 3), buf0, 40, stream=stream0)\n"
      "    return (buf0, )\n";
  const auto result = run_text(text, 40, {});
  EXPECT_EQ(faults(result), Faults{});
  EXPECT_EQ(output(result)[5], 15);
}

/// A number that all lanes load is the storing lane's alone where nobody else takes it.
TEST_F(InterpretTest, ALaneMayOverwriteWhatOnlyItTakes) {
  const auto found = [this](std::string_view taken, std::string_view where) {
    return faults(run(fmt::format("one = xindex < {}\ntmp0 = tl.load(in_ptr0 + (0))\n"
                                  "tmp1 = tl.broadcast_to(tmp0, [XBLOCK])\n"
                                  "tmp2 = tl.where({}, tmp1, 0.0)\n"
                                  "tl.store(in_ptr0 + (xindex * 0), tmp2 + 1, one)\n"
                                  "tl.store(out_ptr0 + (xindex), tmp2, xmask)",
                                  where, taken),
                      40, {}, 64));
  };
  EXPECT_EQ(found("one", "1"), Faults{});
  EXPECT_EQ(found("xmask", "1"), Faults{RunFault::read_conflict});
  EXPECT_EQ(found("one", "2"), Faults{RunFault::read_conflict});
}

TEST_F(InterpretTest, ABarrierDoesNotHoldBetweenPrograms) {
  const auto result = run(fmt::format(kRotate, "tl.debug_barrier()\n"), 40, {}, 8);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].fault, RunFault::read_conflict);
}

TEST_F(InterpretTest, AnIndexThatWrapsIsReported) {
  const auto result =
      run("tmp9 = (xindex + 2147483647) - 2147483647\n"
          "tmp0 = tl.load(in_ptr0 + (tmp9), xmask)\ntl.store(out_ptr0 + (xindex), tmp0, xmask)");
  EXPECT_EQ(faults(result), Faults{RunFault::index_overflow});
  const auto twin =
      run("tmp9 = (xindex + 2147483) - 2147483\n"
          "tmp0 = tl.load(in_ptr0 + (tmp9), xmask)\ntl.store(out_ptr0 + (xindex), tmp0, xmask)");
  EXPECT_EQ(faults(twin), Faults{});
}

TEST_F(InterpretTest, ADeviceAssertThatIsFalseStopsTheProgram) {
  constexpr std::string_view kBody =
      "tmp0 = tl.load(in_ptr0 + (xindex), xmask)\ntmp1 = tmp0.to(tl.int64)\n"
      "tl.device_assert((tmp1 < {}) | ~(xmask), \"index out of bounds\")\n"
      "tl.store(out_ptr0 + (xindex), tmp0, xmask)";
  EXPECT_EQ(faults(run(fmt::format(kBody, 39))), Faults{RunFault::device_assert});
  EXPECT_EQ(faults(run(fmt::format(kBody, 40))), Faults{});
}

TEST_F(InterpretTest, ABufferThatWasDeletedOrReusedIsDead) {
  constexpr std::string_view kCall =
      "    buf0 = empty_strided_cuda((40, ), (1, ), torch.float32)\n"
      "    k.run(arg0_1, buf0, 40, stream=stream0)\n{}"
      "    buf2 = empty_strided_cuda((40, ), (1, ), torch.float32)\n"
      "    k.run(buf0, buf2, 40, stream=stream0)\n    return (buf2, )\n";
  EXPECT_EQ(faults(run(kDouble, 40, fmt::format(kCall, ""))), Faults{});
  EXPECT_EQ(faults(run(kDouble, 40, fmt::format(kCall, "    del buf0\n"))),
            Faults{RunFault::use_after_free});
  EXPECT_EQ(faults(run(kDouble, 40, fmt::format(kCall, "    buf1 = buf0; del buf0  # reuse\n")))[0],
            RunFault::use_after_free);
}

TEST_F(InterpretTest, AViewBeyondItsStorageIsOutOfBounds) {
  const auto text = std::string(
      "def call(args):\n    arg0_1, = args\n    buf0 = "
      "empty_strided_cuda((40, ), (1, ), torch.float32)\n"
      "    return (reinterpret_tensor(buf0, (40, ), (1, ), 8), )\n");
  const auto program = read_wrapper(text);
  ASSERT_TRUE(program);
  const auto ready = Interpreter(table()).compile(*program);
  ASSERT_TRUE(ready);
  EXPECT_FALSE((*ready)->run({Datum{}}, {}));
}

TEST_F(InterpretTest, ALibraryCallThatReadsUnwrittenElementsIsReported) {
  constexpr std::string_view kCall =
      "    buf0 = empty_strided_cuda((8, 8), (8, 1), torch.float32)\n"
      "    buf1 = empty_strided_cuda((8, 8), (8, 1), torch.float32)\n"
      "    extern_kernels.mm(buf0, buf0, out=buf1)\n    return (buf1, )\n";
  const auto result = run(kDouble, 40, kCall);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].fault, RunFault::uninitialised);
  EXPECT_EQ(result.findings[0].times, 64);
}

TEST_F(InterpretTest, TheTapSeesWhatEachStatementWrote) {
  const auto text =
      kernel("'in_ptr0': '*fp32', 'out_ptr0': '*fp32'", "in_ptr0, out_ptr0", kDouble) +
      "def call(args):\n    arg0_1, = args\n    buf0 = empty_strided_cuda((40, ), (1, "
      "), torch.float32)\n    k.run(arg0_1, buf0, 40, stream=stream0)\n"
      "    buf1 = torch.ops.aten.neg.default(buf0)\n    return (buf1, )\n";
  const auto program = read_wrapper(text);
  ASSERT_TRUE(program);
  const auto ready = Interpreter(table()).compile(*program);
  ASSERT_TRUE(ready) << ready.error().message;
  std::vector<std::string> seen;
  ProgramRunOptions options;
  options.tap = [&](const RunWritten& written) {
    for (const auto& [name, tensor] : written.buffers) seen.push_back(name);
  };
  const auto input = Tensor::contiguous(DType::float32, {40});
  ASSERT_TRUE((*ready)->run({Datum{*input}}, options));
  EXPECT_EQ(seen, (std::vector<std::string>{"buf0", "buf1"}));
}

/// As products of Inductor's templates do: down to what is left, the pointer going along.
TEST_F(InterpretTest, LoopsMovePointersAndCountDown) {
  const auto sums = [&](std::string_view loop, std::string_view step) {
    return output(
        run(fmt::format("p = in_ptr0 + xindex\n"
                        "acc = tl.full([XBLOCK], 0.0, tl.float32)\n"
                        "{}\n"
                        "    acc += tl.load(p, xmask & (xindex < 10), other=0.0)\n"
                        "    {}\n"
                        "tl.store(out_ptr0 + (xindex), acc, xmask)",
                        loop, step)));
  };
  // Of 0 .. 39 the columns of four rows of ten.
  for (const auto& [loop, step] : {std::pair{"for k in range(4, 0, -1):", "p += 10"},
                                   std::pair{"for k in range(0, 4, 1):", "p += 10"},
                                   std::pair{"for k in range(7, 0, -2):", "p = p + 10"}}) {
    const auto made = sums(loop, step);
    for (std::size_t i = 0; i < made.size(); ++i)
      EXPECT_EQ(made[i], i < 10 ? 60.0 + 4.0 * static_cast<double>(i) : 0) << loop << " " << i;
  }
}

/// Of branches that a launch decides.
TEST_F(InterpretTest, NamesThatBothBranchesGiveFirstAreThatBehindThem) {
  const auto branches = [&](int limit) {
    return output(
        run(fmt::format("if xnumel > {}:\n    at = xindex\n    scale = 2.0\n"
                        "elif xnumel > 20:\n    at = (xindex + 1) % 40\n    scale = 3.0\n"
                        "else:\n    at = 39 - xindex\n    scale = 5.0\n"
                        "tmp0 = tl.load(in_ptr0 + (at), xmask)\n"
                        "tl.store(out_ptr0 + (xindex), tmp0 * scale, xmask)",
                        limit)));
  };
  EXPECT_EQ(branches(30)[7], 14);
  EXPECT_EQ(branches(50)[7], 24);
  EXPECT_EQ(branches(50)[39], 0);
  const auto one =
      output(run("if xnumel > 50:\n    at = xindex\n    extra = 1\n"
                 "else:\n    at = 39 - xindex\n"
                 "tmp0 = tl.load(in_ptr0 + (at), xmask)\n"
                 "tl.store(out_ptr0 + (xindex), tmp0, xmask)"));
  EXPECT_EQ(one[7], 32);
}

}  // namespace
}  // namespace assay
