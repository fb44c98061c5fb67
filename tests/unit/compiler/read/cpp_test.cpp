// Small C++ kernels, one construct each, compared with what they compute: a wrong lowering gives
// other numbers.
#include <cmath>

#include "compiler/program/text.h"
#include "tests/unit/compiler/read/cpp_kernels.h"
namespace assay {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

TEST_F(CppKernel, WholeVectorsAndTheirTailAreOneLoop) {
  const auto body =
      "{\n" +
      vectors(
          "auto tmp0 = at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0), "
          "static_cast<int64_t>(16));\nauto tmp1 = tmp0 * tmp0;\n"
          "tmp1.store(p1 + static_cast<int64_t>(x0));",
          "auto tmp0 = at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0), REST);\n"
          "auto tmp1 = tmp0 * tmp0;\ntmp1.store(p1 + static_cast<int64_t>(x0), REST);") +
      "}";
  for (const std::int64_t n : {1, 15, 16, 17, 40}) {
    auto wanted = count(n);
    for (auto& one : wanted) one *= one;
    gives(body, {{count(n)}, {zeros(n)}}, n, 1, wanted);
  }
  const auto kernel = read("float* p0, float* p1, const int64_t n", body);
  ASSERT_EQ(kernel.body.body.size(), 1U);
  std::size_t stores = 0;
  for (const auto& one : kernel.body.body[0].regions[0].body)
    if (std::holds_alternative<TileStore>(one.what)) ++stores;
  EXPECT_EQ(stores, 1U);
}

TEST_F(CppKernel, TheIndexOfALoopEndsWithIt) {
  const std::string loop =
      "{\nfor(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(n); "
      "x0+=static_cast<int64_t>(1L))\n{\nauto tmp0 = p0[x0];\np1[x0] = tmp0;\n}\n}\n";
  EXPECT_EQ(reason("float* p0, float* p1, const int64_t n", loop + loop), "");
  EXPECT_NE(reason("float* p0, float* p1, const int64_t n", loop + "{\np1[x0] = p0[x0];\n}\n"), "");
}

/// As scale factors make them; the end of the loop, and an address.
TEST_F(CppKernel, SizesMayBeReadOffAFloat) {
  for (const auto& [function, whole] : {std::pair{"trunc", 1}, {"floor", 1}, {"ceil", 2}}) {
    const auto size =
        fmt::format("static_cast<int64_t>(std::{}(1.7*static_cast<double>(n)))", function);
    const auto body = fmt::format(
        "for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>({0}); "
        "x0+=static_cast<int64_t>(1L))\n{{\nauto tmp0 = p0[x0];\n"
        "p1[static_cast<int64_t>(x0 + 2L*{0})] = tmp0;\n}}\n",
        size);
    for (const std::int64_t n : {1, 3, 7}) {
      const auto real = 1.7 * static_cast<double>(n);
      const auto end = static_cast<std::int64_t>(whole == 1 ? std::floor(real) : std::ceil(real));
      auto wanted = zeros(3 * end);
      for (std::int64_t i = 0; i < end; ++i)
        wanted[static_cast<std::size_t>(2 * end + i)] = static_cast<double>(i);
      gives(body, {{count(end)}, {zeros(3 * end)}}, n, 1, wanted);
    }
  }
}

/// Lanes that are not there divide by one.
TEST_F(CppKernel, DivisorsOfTailsAreSetByCount) {
  const auto lines = [](std::string_view count, std::string_view divisor) {
    return fmt::format(
        "auto tmp0 = at::vec::VectorizedN<int64_t,2>::loadu(p0 + static_cast<int64_t>(x0), {0});\n"
        "auto tmp1 = at::vec::VectorizedN<int64_t,2>::loadu(p1 + static_cast<int64_t>(x0), {0});\n"
        "auto tmp2 = remainder_integral(tmp0, {1});\n"
        "auto tmp3 = floor_divide_integral(tmp0, {1});\n"
        "auto tmp4 = tmp2 + tmp3 * tmp1;\nauto tmp5 = tmp4 + tmp2;\n"
        "tmp5.store(p2 + static_cast<int64_t>(x0), {0});",
        count, divisor);
  };
  const auto body = "{\n" +
                    vectors(lines("static_cast<int64_t>(16)", "tmp1"),
                            lines("REST", "decltype(tmp1)::set(decltype(tmp1)(1), tmp1, REST)")) +
                    "}";
  constexpr std::int64_t kCount = 19;
  Numbers a, b, wanted;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const auto x = 3 * i - 25, y = i % 2 == 0 ? i % 5 + 1 : -(i % 5) - 1;
    a.push_back(static_cast<double>(x));
    b.push_back(static_cast<double>(y));
    // The remainder has the divisor's sign: q * y + r is x, and r comes once more.
    const auto r = ((x % y) + y) % y;
    wanted.push_back(static_cast<double>(x + r));
  }
  gives(body, {{a, DType::int64}, {b, DType::int64}, {zeros(kCount), DType::int64}}, kCount, 2,
        wanted);
}

/// A narrower signed number keeps its sign where it is taken modulo 2^64.
TEST_F(CppKernel, NarrowNumbersMayBeTakenAsUnsigned) {
  const std::string body =
      "for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(n); "
      "x0+=static_cast<int64_t>(1L))\n{\nauto tmp0 = p0[x0];\n"
      "auto tmp1 = static_cast<int64_t>(5);\n"
      "auto tmp2 = int64_t(static_cast<std::make_unsigned_t<int64_t>>(tmp0) + "
      "static_cast<std::make_unsigned_t<int64_t>>(tmp1));\np1[x0] = tmp2;\n}\n";
  gives(body, {{{-9, 0, 7}, DType::int32}, {zeros(3), DType::int64}}, 3, 1, {-4, 5, 12});
}

TEST_F(CppKernel, ALambdaMayStoreLaneByLane) {
  // Lanes that meet in one element add to it one after the other.
  const auto lanes = [](std::string_view count) {
    return "auto tmp0 = at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0), " +
           std::string(count) +
           ");\n[&]\n{\n__at_align__ std::array<float, 16> tmpbuf;\ntmp0.store(tmpbuf.data(), " +
           std::string(count) + ");\n#pragma GCC unroll 16\nfor (long i = 0; i < " +
           std::string(count) +
           "; i++)\n{\np1[static_cast<int64_t>(c10::div_floor_integer(x0 + i, 4L))] += "
           "tmpbuf[i];\n}\n}\n()\n;";
  };
  const auto body = "{\n" + vectors(lanes("static_cast<int64_t>(16)"), lanes("REST")) + "}";
  Numbers wanted(5, 0);
  for (std::size_t i = 0; i < 19; ++i) wanted[i / 4] += count(19)[i];
  gives(body, {{count(19)}, {zeros(5)}}, 19, 1, wanted);
}

TEST_F(CppKernel, ATailThatDoesSomethingElseIsMasked) {
  const auto body = "{\n" +
                    vectors(
                        "auto tmp0 = at::vec::Vectorized<float>(1.0f);\ntmp0.store(p0 + "
                        "static_cast<int64_t>(x0));",
                        "auto tmp0 = at::vec::Vectorized<float>(2.0f);\n"
                        "tmp0.store(p0 + static_cast<int64_t>(x0), REST);") +
                    "}";
  auto wanted = Numbers(16, 1);
  wanted.insert(wanted.end(), {2, 2, 2});
  gives(body, {{zeros(19)}}, 19, 0, wanted);
}

TEST_F(CppKernel, AVectorOfMoreThanIsLeftIsNotUnderstood) {
  const auto reason_of = [this](int count) {
    const auto body =
        "{\n" +
        vectors(
            "auto tmp0 = at::vec::Vectorized<float>(1.0f);\ntmp0.store(p0 + "
            "static_cast<int64_t>(x0));",
            fmt::format("auto tmp0 = at::vec::Vectorized<float>(1.0f);\n"
                        "tmp0.store(p0 + static_cast<int64_t>(x0), static_cast<int64_t>({}));",
                        count)) +
        "}";
    return reason("float* p0, const int64_t n", body);
  };
  EXPECT_EQ(reason_of(16), "a vector of other lanes than the elements that are left");
  EXPECT_EQ(reason_of(64), "64 elements of a vector that has 16");
}

TEST_F(CppKernel, ATailOfSingleElements) {
  const auto body =
      "{\n" +
      vectors(
          "auto tmp0 = at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0), "
          "static_cast<int64_t>(16));\nauto tmp1 = tmp0 + tmp0;\n"
          "tmp1.store(p1 + static_cast<int64_t>(x0));",
          fmt::format(
              "for (int64_t x0_tail = {};x0_tail < static_cast<int64_t>(n); x0_tail++)\n{{\n"
              "auto tmp0 = p0[static_cast<int64_t>(x0_tail)];\n"
              "auto tmp1 = float(tmp0 + tmp0);\n"
              "p1[static_cast<int64_t>(x0_tail)] = tmp1;\n}}",
              kWhole)) +
      "}";
  gives(body, {{count(21)}, {zeros(21)}}, 21, 1, count(21, 0, 2));
}

TEST_F(CppKernel, NestsRunOneAfterTheOther) {
  constexpr std::string_view kBody = R"(
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(n); x0+=static_cast<int64_t>(1L))
        {
            {
                {
                    auto tmp0 = p0[static_cast<int64_t>(x0)];
                    p1[static_cast<int64_t>(x0)] = tmp0;
                }
            }
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(n); x0+=static_cast<int64_t>(1L))
        {
            {
                {
                    auto tmp0 = p1[static_cast<int64_t>((-1L) + n + ((-1L)*x0))];
                    p2[static_cast<int64_t>(x0)] = tmp0;
                }
            }
        }
    })";
  gives(kBody, {{count(50)}, {zeros(50)}, {zeros(50)}}, 50, 2, count(50, 49, -1));
}

TEST_F(CppKernel, ANestWritesWhatManyRoundsBeforeItRead) {
  constexpr std::string_view kBody = R"(
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(n); x0+=static_cast<int64_t>(1L))
        {
            p1[static_cast<int64_t>(x0)] = p0[static_cast<int64_t>(0L)];
        }
    }
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(n); x0+=static_cast<int64_t>(1L))
        {
            p0[static_cast<int64_t>(x0)] = static_cast<float>(3.0);
        }
    })";
  gives(kBody, {{count(5000, 1)}, {zeros(5000)}}, 5000, 0, Numbers(5000, 3));
}

TEST_F(CppKernel, RoundsThatReadWhatOthersWroteKeepTheirOrder) {
  constexpr std::string_view kBody = R"(
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(n); x0+=static_cast<int64_t>(1L))
        {
            auto tmp0 = p0[static_cast<int64_t>(x0)];
            auto tmp1 = float(tmp0 + tmp0);
            p0[static_cast<int64_t>(1L + x0)] = tmp1;
        }
    })";
  gives(kBody, {{{1, 0, 0, 0, 0, 0}}}, 5, 0, {1, 2, 4, 8, 16, 32});
}

TEST_F(CppKernel, ParallelLoopsOfOneRegion) {
  constexpr std::string_view kBody = R"(
    #pragma omp parallel num_threads(4)
    {
        int tid = omp_get_thread_num();
        {
            #pragma omp for collapse(2)
            for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(n); x0+=static_cast<int64_t>(1L))
            {
                for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(2L); x1+=static_cast<int64_t>(1L))
                {
                    p1[static_cast<int64_t>(x1 + 2L*x0)] = p0[static_cast<int64_t>(x0 + n*x1)];
                }
            }
        }
        #pragma omp single
        {
            {
                p2[static_cast<int64_t>(0L)] = p1[static_cast<int64_t>(3L)];
            }
        }
    })";
  gives(kBody, {{count(8)}, {zeros(8)}, {zeros(1)}}, 4, 2, {5});
  const auto kernel = read("float* p0, float* p1, float* p2, const int64_t n", kBody);
  ASSERT_EQ(kernel.body.body.size(), 2U);
  EXPECT_FALSE(std::get<TileNest>(kernel.body.body[0].what).is_ordered);
}

TEST_F(CppKernel, ParallelRoundsThatWriteOneElementConflict) {
  constexpr std::string_view kBody = R"(
    {
        #pragma omp for
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(n); x0+=static_cast<int64_t>(1L))
        {
            p1[static_cast<int64_t>(c10::div_floor_integer(x0, 2L))] = p0[static_cast<int64_t>(x0)];
        }
    })";
  static_cast<void>(run(kBody, {{count(8)}, {zeros(4)}}, 8));
  ASSERT_EQ(faults_.size(), 1U);
  EXPECT_EQ(faults_[0].fault, RunFault::write_conflict);
}

TEST_F(CppKernel, SumsAtIndicesThatAreRead) {
  constexpr std::string_view kBody = R"(
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(n); x0+=static_cast<int64_t>(1L))
        {
            auto tmp0 = p1[static_cast<int64_t>(x0)];
            TORCH_CHECK((0 <= tmp0) & (tmp0 < 3L), "index out of bounds: 0 <= tmp0 < 3L");
            atomic_add(&p2[static_cast<int64_t>(tmp0)], static_cast<float>(p0[static_cast<int64_t>(x0)]));
        }
    })";
  const Numbers at = {0, 2, 2, 1, 2, 0};
  gives(kBody, {{count(6)}, {at, DType::int64}, {zeros(3)}}, 6, 2, {5, 3, 7});
  static_cast<void>(run(kBody, {{count(6)}, {{0, 1, 3, 0, 0, 0}, DType::int64}, {zeros(3)}}, 6));
  ASSERT_FALSE(faults_.empty());
  EXPECT_EQ(faults_[0].fault, RunFault::device_assert);
}

TEST_F(CppKernel, MaskedBodiesLoadWhereTheyMay) {
  constexpr std::string_view kBody = R"(
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(n); x0+=static_cast<int64_t>(1L))
        {
            auto tmp0 = (-2L) + x0;
            auto tmp1 = c10::convert<int64_t>(tmp0);
            auto tmp2 = static_cast<int64_t>(0);
            auto tmp3 = tmp1 >= tmp2;
            auto tmp4 = [&]
            {
                auto tmp5 = p0[static_cast<int64_t>((-2L) + x0)];
                return tmp5;
            }
            ;
            auto tmp6 = tmp3 ? tmp4() : static_cast<decltype(tmp4())>(0.5);
            p1[static_cast<int64_t>(x0)] = tmp6;
        }
    })";
  gives(kBody, {{count(3)}, {zeros(5)}}, 5, 1, {0.5, 0.5, 0, 1, 2});
}

TEST_F(CppKernel, LambdasReturnEarlyLaneByLane) {
  constexpr std::string_view kBody = R"(
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(n); x0+=static_cast<int64_t>(1L))
        {
            auto tmp0 = p0[static_cast<int64_t>(x0)];
            auto tmp1 =
            [&]()
            {
                constexpr decltype(tmp0) max_shift = sizeof(tmp0) * CHAR_BIT;
                if ((static_cast<std::make_signed_t<decltype(tmp0)>>(tmp0) < 0) || (tmp0 >= max_shift))
                {
                    return decltype(tmp0)(0);
                }
                return decltype(tmp0)(static_cast<std::make_unsigned_t<decltype(tmp0)>>(1L) << tmp0);
            }
            ()
            ;
            p1[static_cast<int64_t>(x0)] = tmp1;
        }
    })";
  gives(kBody, {{{0, 3, -1, 70}, DType::int64}, {zeros(4), DType::int64}}, 4, 1, {1, 8, 0, 0});
}

/// Sixteen rows and so many columns, of which the first `whole` are transposed as a tile; `rest`
/// stands behind.
auto transposed_tile(int columns, int whole, std::string_view rest) -> std::string {
  return fmt::format(R"(
    {{
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(16L); x0+=static_cast<int64_t>(16L))
        {{
            for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>({0}L); x1+=static_cast<int64_t>(16L))
            {{
                {{
                    if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(16L) && x1 >= static_cast<int64_t>(0L) && x1 < static_cast<int64_t>({1}L)))
                    {{
                        alignas(std::max(std::size_t(16), alignof(float))) float tmp0[16*16];
                        transpose_mxn<float,static_cast<int64_t>({1}L),static_cast<int64_t>(16),false>(p0 + static_cast<int64_t>(x0 + 16L*x1), static_cast<int64_t>(16L), tmp0, static_cast<int64_t>({1}L));
                        for (long x0_inner = 0; x0_inner < static_cast<int64_t>(16); x0_inner++)
                        {{
                            auto tmp1 = at::vec::Vectorized<float>::loadu(tmp0 + static_cast<int64_t>({1}L*x0_inner), static_cast<int64_t>({1}L));
                            tmp1.store(p1 + static_cast<int64_t>(x1 + {0}L*x0 + {0}L*x0_inner), static_cast<int64_t>({1}L));
                        }}
                    }}
                    {2}
                }}
            }}
        }}
    }})",
                     columns, whole, rest);
}

TEST_F(CppKernel, TilesAreTransposed) {
  Numbers wanted;
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 3; ++k) wanted.push_back(16 * k + i);
  gives(transposed_tile(3, 3, ""), {{count(48)}, {zeros(48)}}, 0, 1, wanted);
}

/// The rest of the columns is done otherwise, so that each part is masked.
TEST_F(CppKernel, TilesMayBeTransposedUnderAMask) {
  constexpr std::string_view kRest = R"(
                    if(C10_UNLIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(16L) && x1 >= static_cast<int64_t>(16L) && x1 < static_cast<int64_t>(19L)))
                    {
                        for (long x0_tail = static_cast<int64_t>(0);x0_tail < static_cast<int64_t>(16L); x0_tail++)
                        {
                            for (long x1_tail = static_cast<int64_t>(16L);x1_tail < static_cast<int64_t>(19L); x1_tail++)
                            {
                                auto tmp0 = p0[static_cast<int64_t>(x0_tail + 16L*x1_tail)];
                                auto tmp1 = -tmp0;
                                p1[static_cast<int64_t>(x1_tail + 19L*x0_tail)] = tmp1;
                            }
                        }
                    })";
  Numbers wanted;
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 19; ++k) wanted.push_back((k < 16 ? 1 : -1) * (16 * k + i));
  gives(transposed_tile(19, 16, kRest), {{count(304)}, {zeros(304)}}, 0, 1, wanted);
}

TEST_F(CppKernel, LocalArraysMayBeAlignedByAnAttribute) {
  constexpr std::string_view kBody = R"(
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(16L); x0+=static_cast<int64_t>(16L))
        {
            float tmp0[16*1] __attribute__ ((aligned (16)));
            auto tmp1 = at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
            tmp1.store(tmp0 + static_cast<int64_t>(0L), static_cast<int64_t>(16));
            auto tmp2 = at::vec::Vectorized<float>::loadu(tmp0 + static_cast<int64_t>(0L), static_cast<int64_t>(16));
            tmp2.store(p1 + static_cast<int64_t>(x0), static_cast<int64_t>(16));
        }
    })";
  gives(kBody, {{count(16)}, {zeros(16)}}, 0, 1, count(16));
}

TEST_F(CppKernel, LocalBuffersHoldARow) {
  constexpr std::string_view kBody = R"(
    {
        std::unique_ptr<float []> buf_local = std::make_unique<float []>(n);
        float* local = buf_local.get();
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(2L); x0+=static_cast<int64_t>(1L))
        {
            for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(n); x1+=static_cast<int64_t>(1L))
            {
                auto tmp0 = p0[static_cast<int64_t>(x1 + n*x0)];
                local[static_cast<int64_t>(x1)] = std::exp(tmp0);
            }
            for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(n); x1+=static_cast<int64_t>(1L))
            {
                auto tmp0 = local[static_cast<int64_t>(x1)];
                p1[static_cast<int64_t>(x1 + n*x0)] = tmp0;
            }
        }
    })";
  auto wanted = count(10);
  for (auto& one : wanted) one = std::exp(one);
  gives(kBody, {{count(10)}, {zeros(10)}}, 5, 1, wanted);
}

TEST_F(CppKernel, ArithmeticHasTheDtypesOfCpp) {
  constexpr std::string_view kBody = R"(
    {
        {
            {
                auto tmp0 = p0[static_cast<int64_t>(0L)];
                auto tmp1 = p0[static_cast<int64_t>(1L)];
                p1[static_cast<int64_t>(0L)] = tmp0 / tmp1;
                p1[static_cast<int64_t>(1L)] = tmp0 % tmp1;
                p1[static_cast<int64_t>(2L)] = c10::div_floor_integer(tmp0, tmp1);
                p1[static_cast<int64_t>(3L)] = static_cast<int64_t>(uint8_t(tmp0 + tmp1));
                p2[static_cast<int64_t>(0L)] = static_cast<double>(tmp0) / 2;
                p2[static_cast<int64_t>(1L)] = 0.10000000000000001 / (static_cast<double>(n));
                p2[static_cast<int64_t>(2L)] = static_cast<double>(static_cast<float>(0.1));
            }
        }
    }
    inductor_cpu_integer_div_error_flag = nullptr;)";
  gives(kBody, {{{-7, 2}, DType::int64}, {zeros(4), DType::int64}, {zeros(3), DType::float64}}, 3,
        1, {-3, -1, -4, 251});
  const auto outputs = run(
      kBody, {{{-7, 2}, DType::int64}, {zeros(4), DType::int64}, {zeros(3), DType::float64}}, 3);
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_EQ(outputs[2], (Numbers{-3.5, 0.10000000000000001 / 3, static_cast<double>(0.1F)}));
}

TEST_F(CppKernel, SizesTakeRemaindersAndLeastOfSeveral) {
  constexpr std::string_view kBody = R"(
    {
        {
            {
                auto tmp0 = p0[static_cast<int64_t>(0L)];
                p1[static_cast<int64_t>(0L)] = static_cast<int64_t>(c10::div_mod((-3L) + n, 5L));
                p1[static_cast<int64_t>(1L)] = static_cast<int64_t>(c10::div_mod(tmp0, n));
                p1[static_cast<int64_t>(2L)] = static_cast<int64_t>(std::min<int64_t>({n, 3L * n, n - 4L}));
                p1[static_cast<int64_t>(3L)] = static_cast<int64_t>(std::max({tmp0, tmp0 * tmp0, tmp0 - tmp0}));
            }
        }
    })";
  gives(kBody, {{{-7}, DType::int64}, {zeros(4), DType::int64}}, 2, 1, {4, 1, -2, 49});
}

TEST_F(CppKernel, AThrowIsAnAssert) {
  constexpr std::string_view kBody = R"(
    {
        {
            {
                auto tmp0 = p0[static_cast<int64_t>(0L)];
                auto tmp1 = tmp0 < 5;
                (tmp1 ? 0 : (throw std::runtime_error("too large"), 0));
                p1[static_cast<int64_t>(0L)] = tmp0 + 1;
            }
        }
    })";
  gives(kBody, {{{4}, DType::int64}, {zeros(1), DType::int64}}, 1, 1, {5});
  run(kBody, {{{5}, DType::int64}, {zeros(1), DType::int64}}, 1);
  ASSERT_EQ(faults_.size(), 1U);
  EXPECT_EQ(faults_[0].fault, RunFault::device_assert);
  EXPECT_NE(faults_[0].message.find("too large"), std::string::npos) << faults_[0].message;
}

TEST_F(CppKernel, BrainFloatsRoundWhereTheyAreStored) {
  constexpr std::string_view kBody = R"(
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(n); x0+=static_cast<int64_t>(1L))
        {
            auto tmp0 = p0[static_cast<int64_t>(x0)];
            auto tmp1 = c10::convert<float>(tmp0);
            auto tmp2 = static_cast<float>(1.0);
            auto tmp3 = float(tmp1 + tmp2);
            p1[static_cast<int64_t>(x0)] = tmp3;
            p2[static_cast<int64_t>(x0)] = c10::convert<at::BFloat16>(tmp3);
        }
    })";
  const Numbers values = {0.00390625};
  const std::vector<Buffer> buffers = {
      {values, DType::bfloat16}, {zeros(1)}, {zeros(1), DType::bfloat16}};
  gives(kBody, buffers, 1, 1, {1.00390625});
  gives(kBody, buffers, 1, 2, {1});
}

TEST_F(CppKernel, WhatIsNotUnderstoodIsListedWithItsLine) {
  constexpr std::string_view kParams = "float* p0, const int64_t n";
  const auto kernel = read(kParams, R"({
    {
        {
            auto tmp0 = std::cyl_bessel_j(1.0f, 2.0f);
            p0[static_cast<int64_t>(0L)] = tmp0;
        }
    }
})");
  ASSERT_EQ(kernel.not_understood.size(), 1U);
  EXPECT_EQ(kernel.not_understood[0].line, 7);
  EXPECT_EQ(kernel.not_understood[0].reason, "the function `cyl_bessel_j`");
  EXPECT_EQ(reason(kParams, "{ auto f = [&]() { return f(); }; p0[0] = f(); }"),
            "a lambda that calls itself");
  EXPECT_EQ(reason(kParams, "atomic_add(&p0[], 1.0f);"), "expected an index, found `]`");
  EXPECT_EQ(reason(kParams,
                   "p0[0] = at::vec::vec_reduce_all<float, 1>([](float& x, float& y) { return; }, "
                   "p0[1]);"),
            "a reduction by a function that is not known");
  EXPECT_EQ(reason(kParams, "while (n) { p0[0] = 1; }"), "expected `;`, found `{`");
  EXPECT_EQ(reason(kParams, "for(int64_t x0=0; x0<n; x0+=n*2) { p0[x0] = 1; }"),
            "a loop whose step is not known");
  EXPECT_EQ(reason(kParams, "float a = 0; for(int64_t x0=0; x0<n; x0+=1) { a = p0[x0] - a; }"),
            "a variable that a loop carries along");
  EXPECT_EQ(reason(kParams,
                   "{ float a = 0; for(int64_t x0=0; x0<n; x0+=1) { a = a + p0[x0]; "
                   "p0[x0] = a; } }"),
            "what a loop has added up so far");
  EXPECT_FALSE(read_cpp("int x = 3;", pool_));
  EXPECT_FALSE(read_cpp("void kernel(Tensor a) {}", pool_));
}

TEST_F(CppKernel, ElementsBehindAPointerAreStoredThere) {
  const std::string body = "for(int64_t x0=0; x0<n; x0+=1) { (p1 + 2L)[x0] = p0[x0]; }";
  gives(body, {{count(3)}, {zeros(7)}}, 3, 1, {0, 0, 0, 1, 2, 0, 0});
}

TEST_F(CppKernel, NestsSurviveTheTextForm) {
  const auto kernel = read("float* p0, float* p1, const int64_t n", R"(
    for(int64_t x0=0; x0<n; x0+=1) { for(int64_t x1=0; x1<4L; x1+=1) { p1[x1 + 4L*x0] = p0[x0]; } }
    for(int64_t x0=0; x0<n; x0+=1) { p0[x0 + 1L] = p0[x0]; })");
  EXPECT_TRUE(verify(kernel).empty());
  const auto text = print_kernel(kernel);
  const auto again = parse_kernel(text, pool_);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(print_kernel(*again), text);
  ASSERT_EQ(kernel.body.body.size(), 2U);
  EXPECT_EQ(std::get<TileNest>(kernel.body.body[0].what).axes.size(), 2U);
  EXPECT_TRUE(std::get<TileNest>(kernel.body.body[1].what).is_ordered);
}

}  // namespace
}  // namespace assay
