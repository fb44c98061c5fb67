// Small C++ kernels, one construct each: read, run in the interpreter, compared with what they
// compute. A wrong lowering gives other numbers.
#include "compiler/read/cpp.h"

#include <cmath>

#include <gtest/gtest.h>

#include "compiler/interpret/interpret.h"
#include "compiler/program/text.h"
#include "compiler/read/wrapper.h"

namespace assay {
namespace {

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

constexpr std::string_view kRest =
    "static_cast<int64_t>(n + (-16L)*(c10::div_floor_integer(static_cast<int64_t>(n), "
    "static_cast<int64_t>(16L))))";
constexpr std::string_view kWhole =
    "static_cast<int64_t>(16L*(c10::div_floor_integer(static_cast<int64_t>(n), "
    "static_cast<int64_t>(16L))))";

/// A loop over vectors of 16, `main` for whole ones and `tail` for what is left; {rest} stands for
/// how many are.
auto vectors(std::string_view main, std::string_view tail, std::string_view name = "x0",
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
  const auto body = "{\n" +
                    vectors(
                        "auto tmp0 = at::vec::Vectorized<float>(1.0f);\ntmp0.store(p0 + "
                        "static_cast<int64_t>(x0));",
                        "auto tmp0 = at::vec::Vectorized<float>(1.0f);\n"
                        "tmp0.store(p0 + static_cast<int64_t>(x0), static_cast<int64_t>(16));") +
                    "}";
  EXPECT_EQ(reason("float* p0, const int64_t n", body),
            "a vector of other lanes than the elements that are left");
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

TEST_F(CppKernel, SumsOverRowsOfVectors) {
  const auto body =
      "{\nfor(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(3L); "
      "x1+=static_cast<int64_t>(1L))\n{\n{\nfloat tmp_acc0 = 0;\n"
      "at::vec::Vectorized<float> tmp_acc0_vec = at::vec::Vectorized<float>(0);\n" +
      vectors(
          "auto tmp0 = at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0 + n*x1), "
          "static_cast<int64_t>(16));\ntmp_acc0_vec = tmp_acc0_vec + tmp0;",
          "auto tmp0 = at::vec::Vectorized<float>::loadu(p0 + static_cast<int64_t>(x0 + n*x1), "
          "REST);\n"
          "tmp_acc0_vec = sum_masked_reduce(tmp_acc0_vec, tmp0, REST);") +
      "tmp_acc0 = tmp_acc0 + at::vec::vec_reduce_all<float, 1>([](at::vec::Vectorized<float>& x, "
      "at::vec::Vectorized<float>& y) { return x + y; }, tmp_acc0_vec);\n"
      "p1[static_cast<int64_t>(x1)] = static_cast<float>(tmp_acc0);\n}\n}\n}";
  gives(body, {{count(60)}, {zeros(3)}}, 20, 1, {190, 590, 990});
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

TEST_F(CppKernel, TilesAreTransposed) {
  constexpr std::string_view kBody = R"(
    {
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(16L); x0+=static_cast<int64_t>(16L))
        {
            for(int64_t x1=static_cast<int64_t>(0L); x1<static_cast<int64_t>(3L); x1+=static_cast<int64_t>(16L))
            {
                {
                    if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(16L) && x1 >= static_cast<int64_t>(0L) && x1 < static_cast<int64_t>(3L)))
                    {
                        alignas(std::max(std::size_t(16), alignof(float))) float tmp0[16*16];
                        transpose_mxn<float,static_cast<int64_t>(3L),static_cast<int64_t>(16),false>(p0 + static_cast<int64_t>(x0 + 16L*x1), static_cast<int64_t>(16L), tmp0, static_cast<int64_t>(3L));
                        for (long x0_inner = 0; x0_inner < static_cast<int64_t>(16); x0_inner++)
                        {
                            auto tmp1 = at::vec::Vectorized<float>::loadu(tmp0 + static_cast<int64_t>(3L*x0_inner), static_cast<int64_t>(3L));
                            tmp1.store(p1 + static_cast<int64_t>(x1 + 3L*x0 + 3L*x0_inner), static_cast<int64_t>(3L));
                        }
                    }
                }
            }
        }
    })";
  Numbers wanted;
  for (int i = 0; i < 16; ++i)
    for (int k = 0; k < 3; ++k) wanted.push_back(16 * k + i);
  gives(kBody, {{count(48)}, {zeros(48)}}, 0, 1, wanted);
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
  EXPECT_EQ(reason(kParams, "while (n) { p0[0] = 1; }"), "expected `;`, found `{`");
  EXPECT_EQ(reason(kParams, "for(int64_t x0=0; x0<n; x0+=n*2) { p0[x0] = 1; }"),
            "a loop whose step is not known");
  EXPECT_EQ(reason(kParams, "float a = 0; for(int64_t x0=0; x0<n; x0+=1) { a = a - p0[x0]; }"),
            "a variable that a loop carries along");
  EXPECT_EQ(reason(kParams,
                   "{ float a = 0; for(int64_t x0=0; x0<n; x0+=1) { a = a + p0[x0]; "
                   "p0[x0] = a; } }"),
            "what a loop has added up so far");
  EXPECT_FALSE(read_cpp("int x = 3;", pool_));
  EXPECT_FALSE(read_cpp("void kernel(Tensor a) {}", pool_));
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
