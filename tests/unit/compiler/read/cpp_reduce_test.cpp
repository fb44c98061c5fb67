// Reductions of small C++ kernels compared with what they compute: a wrong lowering gives other
// numbers.
#include <cmath>

#include "tests/unit/compiler/read/cpp_kernels.h"

namespace assay {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

/// Rows of n elements into p1; lanes begin with `start`, the main loop does `update`.
auto sums_of_rows(std::string_view start, std::string_view update) -> std::string {
  return fmt::format(
             "{{\nfor(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(3L); "
             "x1+=static_cast<int64_t>(1L))\n{{\n{{\nfloat tmp_acc0 = 0;\n"
             "at::vec::Vectorized<float> tmp_acc0_vec = at::vec::Vectorized<float>({});\n",
             start) +
         vectors(
             fmt::format("auto tmp0 = at::vec::Vectorized<float>::loadu(p0 + "
                         "static_cast<int64_t>(x0 + n*x1), static_cast<int64_t>(16));\n{}",
                         update),
             "auto tmp0 = at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0 + n*x1), "
             "REST);\n"
             "tmp_acc0_vec = sum_masked_reduce(tmp_acc0_vec, tmp0, REST);") +
         "tmp_acc0 = tmp_acc0 + at::vec::vec_reduce_all<float, 1>([](at::vec::Vectorized<float>& "
         "x, at::vec::Vectorized<float>& y) { return x + y; }, tmp_acc0_vec);\n"
         "p1[static_cast<int64_t>(x1)] = static_cast<float>(tmp_acc0);\n}\n}\n}";
}

TEST_F(CppKernel, SumsOverRowsOfVectors) {
  const auto body = sums_of_rows("0", "tmp_acc0_vec = tmp_acc0_vec + tmp0;");
  gives(body, {{count(60)}, {zeros(3)}}, 20, 1, {190, 590, 990});
}

/// As where rows are shorter than a vector.
TEST_F(CppKernel, OneOfTwoSumsMayHaveNoParts) {
  const auto body =
      "{\n{\nfloat a = 0;\n"
      "at::vec::Vectorized<float> b = at::vec::Vectorized<float>(0);\n"
      "at::vec::Vectorized<float> m = at::vec::Vectorized<float>(0);\n" +
      vectors(
          "m = m + at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0), "
          "static_cast<int64_t>(16));",
          "m = sum_masked_reduce(m, at::vec::Vectorized<float>::loadu(p0 + "
          "static_cast<int64_t>(x0), REST), REST);") +
      "a = a + at::vec::vec_reduce_all<float, 1>([](at::vec::Vectorized<float>& x, "
      "at::vec::Vectorized<float>& y) { return x + y; }, b + m);\n"
      "p1[static_cast<int64_t>(0L)] = static_cast<float>(a);\n}\n}";
  gives(body, {{count(21)}, {zeros(1)}}, 21, 1, {210});
}

TEST_F(CppKernel, EveryLaneHasItsStart) {
  const auto body = sums_of_rows("2", "tmp_acc0_vec = tmp_acc0_vec + tmp0;");
  gives(body, {{count(60)}, {zeros(3)}}, 20, 1, {222, 622, 1022});
}

TEST_F(CppKernel, TakesAwayWhatIsSubtracted) {
  const auto body = sums_of_rows("0", "tmp_acc0_vec = tmp_acc0_vec - tmp0;");
  // Sixteen elements are taken away, the four of the tail are added.
  gives(body, {{count(60)}, {zeros(3)}}, 20, 1, {-120 + 70, -440 + 150, -760 + 230});
}

TEST_F(CppKernel, LanesThatCombineInTwoWaysAreValuesOfTheirOwn) {
  // Sixteen elements are multiplied into lanes that begin with 2, the four of the tail are added.
  const auto body = sums_of_rows("2", "tmp_acc0_vec = tmp_acc0_vec * tmp0;");
  gives(body, {{count(60)}, {zeros(3)}}, 20, 1, {240 + 70, 880 + 150, 1520 + 230});
  std::vector<double> wanted(3, 0);
  for (int row = 0; row < 3; ++row)
    for (int lane = 0; lane < 16; ++lane) {
      const auto at = [&](int column) { return row * 36 + column; };
      wanted[static_cast<std::size_t>(row)] +=
          2. * at(lane) * at(lane + 16) + (lane < 4 ? at(32 + lane) : 0);
    }
  gives(body, {{count(108)}, {zeros(3)}}, 36, 1, wanted);
}

TEST_F(CppKernel, LanesMayBeJoinedInAnotherWayThanTheyWereMade) {
  auto body = sums_of_rows("0", "tmp_acc0_vec = tmp_acc0_vec + tmp0;");
  const std::string sum = "{ return x + y; }";
  body.replace(body.find(sum), sum.size(), "{ return at::vec::maximum(x, y); }");
  gives(body, {{count(60)}, {zeros(3)}}, 20, 1, {3 + 19, 23 + 39, 43 + 59});
}

TEST_F(CppKernel, SumsOverColumnsOfVectors) {
  const auto body = "{\n" + vectors("ROW", "ROW") + "}";
  auto text = body;
  const auto put = [&](std::string_view count, std::string_view store) {
    const auto at = text.find("ROW");
    text.replace(
        at, 3,
        fmt::format(
            "at::vec::Vectorized<float> acc = at::vec::Vectorized<float>(0);\n"
            "for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(3L); "
            "x1+=static_cast<int64_t>(1L))\n{{\nauto tmp0 = at::vec::Vectorized<float>::loadu(p0 + "
            "static_cast<int64_t>(x0 + n*x1), {0});\nacc = acc + tmp0;\n}}\n"
            "acc.store(p1 + static_cast<int64_t>(x0){1});",
            count, store));
  };
  put("static_cast<int64_t>(16)", "");
  put(kRest, fmt::format(", {}", kRest));
  gives(text, {{count(60)}, {zeros(20)}}, 20, 1, count(20, 60, 3));
}

TEST_F(CppKernel, AConditionOnRoundsSeesTheirFirstElements) {
  constexpr std::string_view kBody = R"(
    {
        float acc = 0;
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(9L); x0+=static_cast<int64_t>(16L))
        {
            if(C10_LIKELY(x0 >= static_cast<int64_t>(0L) && x0 < static_cast<int64_t>(1)))
            {
                for (int64_t x0_tail = static_cast<int64_t>(0L);x0_tail < static_cast<int64_t>(9L); x0_tail++)
                {
                    auto tmp0 = p0[static_cast<int64_t>(std::abs(static_cast<int64_t>(-8L) + x0_tail))];
                    acc = acc + tmp0;
                }
            }
        }
        p1[static_cast<int64_t>(0L)] = static_cast<float>(acc);
    })";
  gives(kBody, {{count(9)}, {zeros(1)}}, 0, 1, {36});
}

TEST_F(CppKernel, TailsAddUpInArrays) {
  const auto rows = [](std::string_view inner) {
    return fmt::format(
        "for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(3L); "
        "x1+=static_cast<int64_t>(1L))\n{{\n{{\n{}\n}}\n}}\n",
        inner);
  };
  const auto branches = [](std::string_view main, std::string_view tail) {
    return fmt::format(
        "if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < {0}))\n{{\n{1}\n}}\n"
        "if(C10_UNLIKELY(x0 >= {0} && x0 < static_cast<int64_t>(n)))\n{{\nfor (int64_t x0_tail = "
        "{0};x0_tail < static_cast<int64_t>(n); x0_tail++)\n{{\n{2}\n}}\n}}\n",
        kWhole, main, tail);
  };
  const auto element = fmt::format("arr[x0_tail - {}]", kWhole);
  const auto body =
      "{\nfor(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(n); "
      "x0+=static_cast<int64_t>(16L))\n{\n{\nfloat arr[16];\n"
      "for (int i = 0; i < 16; i++)\n{\narr[i] = 0;\n}\n"
      "at::vec::Vectorized<float> acc = at::vec::Vectorized<float>(0);\n" +
      rows(branches("auto tmp0 = at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0 + "
                    "n*x1), static_cast<int64_t>(16));\nacc = acc + tmp0;",
                    fmt::format("auto tmp0 = p0[static_cast<int64_t>(x0_tail + n*x1)];\n"
                                "{0} = {0} + tmp0;",
                                element))) +
      branches(
          "acc.store(p1 + static_cast<int64_t>(x0));",
          fmt::format("p1[static_cast<int64_t>(x0_tail)] = static_cast<float>({});", element)) +
      "}\n}\n}";
  gives(body, {{count(60)}, {zeros(20)}}, 20, 1, count(20, 60, 3));
}

TEST_F(CppKernel, OfEqualValuesTheFirstIsTheLargest) {
  const auto body =
      "{\n{\nIndexValue<float> a = IndexValue<float>{0, -std::numeric_limits<float>::infinity()};\n"
      "IndexValueVec<float, 1, 2> b = IndexValueVec<float, 1, 2>(-std::numeric_limits<float>::"
      "infinity());\n" +
      vectors(
          "auto tmp0 = at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0), "
          "static_cast<int64_t>(16));\nb = argmax_combine_vec<float, 1, 2, true>(b, tmp0, x0);",
          "auto tmp0 = at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0), REST);\n"
          "b = argmax_combine_vec<float, 1, 2, true>(b, tmp0, x0, REST);") +
      "a = argmax_combine(a, argmax_vec_reduce_all(b));\n"
      "p1[static_cast<int64_t>(0L)] = static_cast<int64_t>(a.index);\n}\n}";
  auto values = count(20, 0, -1);
  values[7] = values[18] = 5;
  gives(body, {{values}, {zeros(1), DType::int64}}, 20, 1, {7});
  values[19] = std::nan("");
  gives(body, {{values}, {zeros(1), DType::int64}}, 20, 1, {19});
}

TEST_F(CppKernel, MeansOfVectorsWithTheirTails) {
  const auto body =
      "{\n{\nWelford<float> a = Welford<float>();\n"
      "Welford<at::vec::Vectorized<float>> b = Welford<at::vec::Vectorized<float>>();\n"
      "Welford<at::vec::Vectorized<float>> m = Welford<at::vec::Vectorized<float>>();\n"
      "WelfordHelper<at::vec::Vectorized<float>, 4096> h(static_cast<int64_t>(1L));\n" +
      vectors(
          "auto tmp0 = at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0), "
          "static_cast<int64_t>(16));\nb = welford_combine(b, tmp0, &h);",
          "auto tmp0 = at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0), REST);\n"
          "m = welford_combine(m, tmp0, REST, &h);") +
      "b = welford_combine(b, &h);\na = welford_combine(a, welford_vec_reduce_all(m));\n"
      "a = welford_combine(a, welford_vec_reduce_all(b));\n"
      "p1[static_cast<int64_t>(0L)] = static_cast<float>(a.mean);\n"
      "p1[static_cast<int64_t>(1L)] = static_cast<float>(a.m2);\n}\n}";
  gives(body, {{count(21)}, {zeros(2)}}, 21, 1, {10, 770});
}

TEST_F(CppKernel, ThreadsAddUpParts) {
  constexpr std::string_view kBody = R"(
    {
        {
            float tmp_acc0 = 0;
            float tmp_acc0_arr[4];
            for (int i = 0; i < 4; i++)
            {
                tmp_acc0_arr[i] = 0;
            }
            #pragma omp parallel num_threads(4)
            {
                int tid = omp_get_thread_num();
                float tmp_acc0_local = 0;
                #pragma omp for
                for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(n); x0+=static_cast<int64_t>(1L))
                {
                    auto tmp0 = p0[static_cast<int64_t>(x0)];
                    tmp_acc0_local = tmp_acc0_local + tmp0;
                }
                tmp_acc0_arr[tid] = tmp_acc0_local;
            }
            for (int tid = 0; tid < 4; tid++)
            {
                tmp_acc0 = tmp_acc0 + tmp_acc0_arr[tid];
            }
            p1[static_cast<int64_t>(0L)] = static_cast<float>(tmp_acc0);
        }
    })";
  gives(kBody, {{count(30)}, {zeros(1)}}, 30, 1, {435});
}

/// Vectors of each thread, put together lane by lane before their lanes are.
TEST_F(CppKernel, ThreadsHoldVectorsOfParts) {
  constexpr std::string_view kBody = R"(
    {
        {
            bool tmp_acc0 = 0;
            at::vec::VecMask<float,1> tmp_acc0_vec = at::vec::VecMask<float,1>::from(0);
            float tmp_acc1 = -std::numeric_limits<float>::infinity();
            at::vec::Vectorized<float> tmp_acc1_vec = at::vec::Vectorized<float>(-std::numeric_limits<float>::infinity());
            Welford<float> tmp_acc2 = Welford<float>();
            Welford<at::vec::Vectorized<float>> tmp_acc2_vec = Welford<at::vec::Vectorized<float>>();
            IndexValue<float> tmp_acc3 = IndexValue<float>{0, -std::numeric_limits<float>::infinity()};
            IndexValueVec<float, 1, 2> tmp_acc3_vec = IndexValueVec<float, 1, 2>(-std::numeric_limits<float>::infinity());
            at::vec::VecMask<float,1> tmp_acc0_vec_arr[2];
            at::vec::Vectorized<float> tmp_acc1_vec_arr[2];
            IndexValueVec<float, 1, 2> tmp_acc3_vec_arr[2];
            Welford<at::vec::Vectorized<float>> tmp_acc2_vec_arr[2];
            for (int i = 0; i < 2; i++)
            {
                tmp_acc2_vec_arr[i] = Welford<at::vec::Vectorized<float>>();
            }
            #pragma omp parallel num_threads(2)
            {
                int tid = omp_get_thread_num();
                at::vec::VecMask<float,1> tmp_acc0_vec_local = at::vec::VecMask<float,1>::from(0);
                at::vec::Vectorized<float> tmp_acc1_vec_local = at::vec::Vectorized<float>(-std::numeric_limits<float>::infinity());
                Welford<at::vec::Vectorized<float>> tmp_acc2_vec_local = Welford<at::vec::Vectorized<float>>();
                WelfordHelper<at::vec::Vectorized<float>, 4096> welford_helper0(static_cast<int64_t>(1L));
                IndexValueVec<float, 1, 2> tmp_acc3_vec_local = IndexValueVec<float, 1, 2>(-std::numeric_limits<float>::infinity());
                #pragma omp for
                for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(16L); x0+=static_cast<int64_t>(8L))
                {
                    {
                        if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(16L)))
                        {
                            auto tmp0 = at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0), static_cast<int64_t>(8));
                            auto tmp1 = at::vec::VecMask<float,1>(tmp0 > at::vec::Vectorized<float>(static_cast<float>(14.5)));
                            tmp_acc0_vec_local = tmp_acc0_vec_local | tmp1;
                            tmp_acc1_vec_local = at::vec::maximum(tmp_acc1_vec_local, tmp0);
                            tmp_acc2_vec_local = welford_combine(tmp_acc2_vec_local, tmp0, &welford_helper0);
                            tmp_acc3_vec_local = argmax_combine_vec<float, 1, 2, true>(tmp_acc3_vec_local, tmp0, x0);
                        }
                    }
                }
                tmp_acc2_vec_local = welford_combine(tmp_acc2_vec_local, &welford_helper0);
                tmp_acc0_vec_arr[tid] = tmp_acc0_vec_local;
                tmp_acc1_vec_arr[tid] = tmp_acc1_vec_local;
                tmp_acc2_vec_arr[tid] = tmp_acc2_vec_local;
                tmp_acc3_vec_arr[tid] = tmp_acc3_vec_local;
            }
            for (int tid = 0; tid < 2; tid++)
            {
                tmp_acc0_vec = tmp_acc0_vec | tmp_acc0_vec_arr[tid];
            }
            for (int tid = 0; tid < 2; tid++)
            {
                tmp_acc1_vec = at::vec::maximum(tmp_acc1_vec, tmp_acc1_vec_arr[tid]);
            }
            for (int tid = 0; tid < 2; tid++)
            {
                tmp_acc2_vec = welford_combine(tmp_acc2_vec, tmp_acc2_vec_arr[tid]);
            }
            for (int tid = 0; tid < 2; tid++)
            {
                tmp_acc3_vec = argmax_combine_vec<float, 1, 2>(tmp_acc3_vec, tmp_acc3_vec_arr[tid]);
            }
            tmp_acc3 = argmax_combine(tmp_acc3, argmax_vec_reduce_all(tmp_acc3_vec));
            tmp_acc0 = tmp_acc0 || !tmp_acc0_vec.all_zero();
            tmp_acc1 = max_propagate_nan(tmp_acc1, at::vec::vec_reduce_all<float, 1>([](at::vec::Vectorized<float>& x, at::vec::Vectorized<float>& y) { return at::vec::maximum(x, y); }, tmp_acc1_vec));
            tmp_acc2 = welford_combine(tmp_acc2, welford_vec_reduce_all(tmp_acc2_vec));
            p1[static_cast<int64_t>(0L)] = static_cast<float>(tmp_acc0);
            p1[static_cast<int64_t>(1L)] = tmp_acc1;
            p1[static_cast<int64_t>(2L)] = tmp_acc2.mean;
            p1[static_cast<int64_t>(3L)] = tmp_acc2.m2;
            p1[static_cast<int64_t>(4L)] = static_cast<float>(tmp_acc3.index);
        }
    })";
  gives(kBody, {{count(16)}, {zeros(5)}}, 16, 1, {1, 15, 7.5, 340, 15});
  gives(kBody, {{count(16, -8)}, {zeros(5)}}, 16, 1, {0, 7, -0.5, 340, 15});
}

}  // namespace
}  // namespace assay
