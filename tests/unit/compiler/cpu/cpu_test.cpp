// Machine code against the interpreter and the table of operations.
#include "compiler/cpu/cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include "tests/unit/compiler/cpu/one_kernel.h"

namespace assay {
namespace {

/// The table's own functions are wrong by some units, too.
constexpr double kFunctionUnits = 2;
constexpr std::int64_t kCount = 37;  // two whole vectors and a tail, or a tail alone

auto random_tensor(DType dtype, Ints sizes, std::uint32_t seed) -> Tensor {
  auto tensor = *Tensor::contiguous(dtype, std::move(sizes));
  std::mt19937 random(seed);
  std::vector<double> values(static_cast<std::size_t>(tensor.numel()));
  for (auto& value : values)
    value = is_floating(dtype) ? std::uniform_real_distribution<double>(-4, 4)(random)
                               : std::uniform_int_distribution<int>(-9, 9)(random);
  if (!values.empty() && is_floating(dtype)) values[values.size() / 2] = NAN;
  from_vector(tensor, std::span<const double>(values));
  return tensor;
}

/// Lanes of narrow floats are float32, but their bits are those of memory.
TEST_F(CpuTest, BitcastsAreOfWhatStandsInMemory) {
  struct Case {
    DType number, bits;
    std::vector<double> of_numbers;  ///< bits of 1, -2 and 0.5
  };
  const std::array cases = {
      Case{DType::bfloat16, DType::int16, {0x3f80, 0xc000 - 0x10000, 0x3f00}},
      Case{DType::bfloat16, DType::uint16, {0x3f80, 0xc000, 0x3f00}},
      Case{DType::float16, DType::int16, {0x3c00, 0xc000 - 0x10000, 0x3800}},
      Case{DType::float8_e5m2, DType::uint8, {0x3c, 0xc0, 0x38}},
      Case{DType::float32, DType::int32, {0x3f800000, -0x40000000, 0x3f000000}}};
  const std::vector<double> numbers = {1, -2, 0.5};
  const auto made = [](DType from, DType to, const std::vector<double>& values, bool is_native) {
    const OneKernel kernel(kernel_of(tile_op_row(TileOp::bitcast), from, to));
    const auto count = static_cast<std::int64_t>(values.size());
    auto in = *Tensor::contiguous(from, {count}), out = *Tensor::contiguous(to, {count});
    from_vector(in, std::span(values));
    const DatumList inputs = {{in}, {out}, {Expr(count)}};
    if (is_native)
      run_native(kernel, inputs);
    else
      kernel.run(Interpreter(table()), inputs);
    return to_vector<double>(out);
  };
  for (const auto& [number, bits, of_numbers] : cases)
    for (const bool is_native : {false, true}) {
      if (is_native && size_bytes(number) == 1) continue;  // no code
      EXPECT_EQ(made(number, bits, numbers, is_native), of_numbers) << name(number);
      EXPECT_EQ(made(bits, number, of_numbers, is_native), numbers) << name(bits);
    }
  EXPECT_EQ(tile_evaluate(TileOp::bitcast, DType::bfloat16, DType::int32), nullptr);
}

TEST_F(CpuTest, EveryOperationIsTheTables) {
  const std::array dtypes = {DType::boolean, DType::uint8,    DType::int32,   DType::int64,
                             DType::float16, DType::bfloat16, DType::float32, DType::float64};
  int tried = 0;
  for (const auto& row : tile_ops()) {
    if (row.op == TileOp::bitcast || !row.has_code) continue;
    for (const auto from : dtypes) {
      for (const auto to : dtypes) {
        const auto result = row.result == TileResult::boolean ? DType::boolean : from;
        if (row.result != TileResult::any && to != result) continue;
        // Near its zeros the absolute error counts; it has a test of its own.
        if (row.op == TileOp::lgamma) continue;
        if (tile_evaluate(row.op, lane_dtype(from), lane_dtype(to)) == nullptr) continue;
        const OneKernel kernel(kernel_of(row, from, to));
        DatumList mine, theirs;
        for (int i = 0; i < row.operands; ++i) {
          const auto dtype = row.result == TileResult::select && i == 0 ? DType::boolean : from;
          const auto operand = random_tensor(dtype, {kCount}, static_cast<std::uint32_t>(i + 1));
          mine.push_back({operand});
          theirs.push_back({operand});
        }
        auto native = *Tensor::contiguous(to, {kCount});
        auto expected = *Tensor::contiguous(to, {kCount});
        mine.insert(mine.end(), {{native}, {Expr(kCount)}});
        theirs.insert(theirs.end(), {{expected}, {Expr(kCount)}});
        run_native(kernel, mine);
        kernel.run(Interpreter(table()), theirs);
        const auto a = to_vector<double>(native), b = to_vector<double>(expected);
        for (std::size_t i = 0; i < a.size(); ++i)
          ASSERT_LE(distance(to, a[i], b[i]), is_floating(to) ? kFunctionUnits : 0)
              << row.name << " of " << name(from) << " to " << name(to) << ", element " << i << ": "
              << a[i] << " against " << b[i];
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 250);
}

/// Rows or columns of a matrix are reduced.
auto reduction_of(std::string_view combine, DType dtype, bool rows) -> std::string {
  const bool has_index = combine.starts_with("arg");
  const auto* kept = rows ? "x" : "r";
  const auto* gone = rows ? "r" : "x";
  return fmt::format(
      "kernel k \"reduction\"\nparam in buffer {0}\nparam out buffer {1}\n"
      "param n scalar int64\nparam m scalar int64\n"
      "axis x {2} exact max 1024 block (1) extent (n)\n"
      "axis r {3} exact max 1024 block (1) extent (m)\nbody {{\n"
      "  %0:int64[x] = index(x) line 0\n  %1:int64[] = param(m) line 0\n"
      "  %2:int64[x] = mul %0 %1 line 0\n  %3:int64[r] = index(r) line 0\n"
      "  %4:int64[x r] = add %2 %3 line 0\n  %5:{0}[x r] = load(in) %4 _ _ line 0\n"
      "  {4} line 0\n  store(out) %{5} %{6} _ line 0\n}}\n",
      name(dtype), has_index ? "int64" : name(dtype), rows ? "parallel" : "reduction",
      rows ? "reduction" : "parallel",
      has_index ? fmt::format("%6:{0}[{1}] %7:int64[{1}] = reduce({2} {3}) %5 %{4}", name(dtype),
                              kept, combine, gone, rows ? 3 : 0)
                : fmt::format("%6:{}[{}] = reduce({} {}) %5", name(dtype), kept, combine, gone),
      rows ? 0 : 3, has_index ? 7 : 6);
}

struct ReductionCase {
  std::string_view combine;
  DType dtype;
};

TEST_F(CpuTest, ReductionsAreTheInterpreters) {
  using enum DType;
  constexpr std::array kCases = {
      ReductionCase{"sum", float32},    ReductionCase{"sum", float64},
      ReductionCase{"sum", int64},      ReductionCase{"product", float32},
      ReductionCase{"max", float32},    ReductionCase{"min", int32},
      ReductionCase{"argmax", float32}, ReductionCase{"argmin", int64},
      ReductionCase{"any", boolean},    ReductionCase{"all", boolean},
  };
  constexpr std::array<std::array<std::int64_t, 2>, 5> kSizes = {
      {{1, 1}, {3, 7}, {16, 128}, {5, 300}, {130, 9}}};
  for (const auto& one : kCases)
    for (const bool rows : {true, false})
      for (const auto& [n, m] : kSizes) {
        const OneKernel kernel(reduction_of(one.combine, one.dtype, rows));
        auto input = random_tensor(one.dtype, {n, m}, 3);
        if (one.combine == "product") {  // hundreds of factors that do not overflow
          auto factors = to_vector<double>(input);
          for (auto& factor : factors) factor = 1 + factor / 100;
          from_vector(input, std::span<const double>(factors));
        }
        const auto result = one.combine.starts_with("arg") ? int64 : one.dtype;
        auto mine = *Tensor::contiguous(result, {rows ? n : m});
        auto theirs = *Tensor::contiguous(result, {rows ? n : m});
        run_native(kernel, {{input}, {mine}, {Expr(n)}, {Expr(m)}});
        kernel.run(Interpreter(table()), {{input}, {theirs}, {Expr(n)}, {Expr(m)}});
        const auto a = to_vector<double>(mine), b = to_vector<double>(theirs);
        for (std::size_t i = 0; i < a.size(); ++i) {
          // Sums are rounded at each step; 300 steps lose less than 1e-5 of the largest.
          const double room = is_floating(result) && one.combine != "max"
                                  ? 1e-5 * std::max(40.0, std::abs(b[i]))
                                  : 0;
          if (std::isnan(a[i]) && std::isnan(b[i])) continue;
          ASSERT_LE(std::abs(a[i] - b[i]), room)
              << one.combine << " of " << name(one.dtype) << ", " << n << " by " << m
              << (rows ? " rows" : " columns");
        }
      }
}

/// e^x of a row by their sum, or of a column: two passes need e^x, and it is kept between them.
auto normalised_of(DType dtype, bool rows) -> std::string {
  return fmt::format(
      "kernel k \"reduction\"\nparam in buffer {0}\nparam out buffer {0}\n"
      "param n scalar int64\nparam m scalar int64\n"
      "axis x {1} exact max 65536 block (1) extent (n)\n"
      "axis r {2} exact max 65536 block (1) extent (m)\nbody {{\n"
      "  %0:int64[x] = index(x) line 0\n  %1:int64[] = param(m) line 0\n"
      "  %2:int64[x] = mul %0 %1 line 0\n  %3:int64[r] = index(r) line 0\n"
      "  %4:int64[x r] = add %2 %3 line 0\n  %5:{0}[x r] = load(in) %4 _ _ line 0\n"
      "  %6:{0}[x r] = exp %5 line 0\n  %7:{0}[{3}] = reduce(sum {4}) %6 line 0\n"
      "  %8:{0}[x r] = log1p %6 line 0\n  %9:{0}[{3}] = reduce(max {4}) %8 line 0\n"
      "  %10:{0}[x r] = div %6 %7 line 0\n  %11:{0}[x r] = mul %8 %9 line 0\n"
      "  %12:{0}[x r] = mul %10 %11 line 0\n  store(out) %4 %12 _ line 0\n}}\n",
      name(dtype), rows ? "parallel" : "reduction", rows ? "reduction" : "parallel",
      rows ? "x" : "r", rows ? "r" : "x");
}

TEST_F(CpuTest, FunctionsThatSeveralPassesNeedAreKept) {
  constexpr std::array<std::array<std::int64_t, 2>, 5> kSizes = {
      {{1, 1}, {3, 7}, {17, 129}, {2, 20000}, {20000, 3}}};  // kept on the stack and on the heap
  for (const auto dtype : {DType::float32, DType::float64, DType::bfloat16})
    for (const bool rows : {true, false})
      for (const auto& [n, m] : kSizes) {
        if (dtype == DType::bfloat16 && n * m > 10000) continue;  // such sums are too rough
        const OneKernel kernel(normalised_of(dtype, rows));
        const auto input = random_tensor(DType::float32, {n, m}, 5);
        auto values = to_vector<float>(input);
        for (auto& value : values)
          if (std::isnan(value)) value = 1;
        auto given = *Tensor::contiguous(dtype, {n, m});
        from_vector(given, std::span<const float>(values));
        auto mine = *Tensor::contiguous(dtype, {n, m});
        auto theirs = *Tensor::contiguous(dtype, {n, m});
        run_native(kernel, {{given}, {mine}, {Expr(n)}, {Expr(m)}});
        kernel.run(Interpreter(table()), {{given}, {theirs}, {Expr(n)}, {Expr(m)}});
        const auto a = to_vector<double>(mine), b = to_vector<double>(theirs);
        const double room =
            dtype == DType::bfloat16 ? 6 * 0x1p-7 : 1e-5;  // six roundings of a unit each
        for (std::size_t i = 0; i < a.size(); ++i)
          ASSERT_LE(std::abs(a[i] - b[i]), room * std::max(1e-3, std::abs(b[i])))
              << name(dtype) << ", " << n << " by " << m << (rows ? " rows" : " columns")
              << ", element " << i << ": " << a[i] << " against " << b[i];
      }
}

TEST_F(CpuTest, CastsToIntegersSaturate) {
  const std::vector<double> values = {
      NAN,     INFINITY, -INFINITY, 1e30, -1e30, 0x1p31, -0x1p31, 0x1p32,     0x1p63,
      -0x1p63, 0x1p64,   -0.9,      0.9,  -1.5,  300,    -300,    2147483520, -2147483904.0};
  const auto& cast = tile_op_row(TileOp::cast);
  const auto count = static_cast<std::int64_t>(values.size());
  for (const auto from : {DType::float32, DType::float64})
    for (const auto to : {DType::int32, DType::int64, DType::int16}) {
      const OneKernel kernel(kernel_of(cast, from, to));
      auto given = *Tensor::contiguous(from, {count});
      from_vector(given, std::span<const double>(values));
      auto mine = *Tensor::contiguous(to, {count}), theirs = *Tensor::contiguous(to, {count});
      run_native(kernel, {{given}, {mine}, {Expr(count)}});
      kernel.run(Interpreter(table()), {{given}, {theirs}, {Expr(count)}});
      EXPECT_EQ(to_vector<std::int64_t>(mine), to_vector<std::int64_t>(theirs))
          << name(from) << " to " << name(to);
    }
}

/// A matrix is scanned along its rows or columns; `along` is the scanned axis.
auto scan_of(std::string_view combine, DType dtype, bool rows) -> std::string {
  const auto* along = rows ? "r" : "x";
  return fmt::format(
      "kernel k \"reduction\"\nparam in buffer {0}\nparam out buffer {0}\n"
      "param n scalar int64\nparam m scalar int64\n"
      "axis x {1} exact max 1024 block (1) extent (n)\n"
      "axis r {2} exact max 1024 block (1) extent (m)\nbody {{\n"
      "  %0:int64[x] = index(x) line 0\n  %1:int64[] = param(m) line 0\n"
      "  %2:int64[x] = mul %0 %1 line 0\n  %3:int64[r] = index(r) line 0\n"
      "  %4:int64[x r] = add %2 %3 line 0\n  %5:{0}[x r] = load(in) %4 _ _ line 0\n"
      "  %6:{0}[x r] = scan({3} {4}) %5 line 0\n  %7:{0}[x r] = sub %6 %5 line 0\n"
      "  store(out) %4 %7 _ line 0\n}}\n",
      name(dtype), rows ? "parallel" : "reduction", rows ? "reduction" : "parallel", combine,
      along);
}

TEST_F(CpuTest, ScansAreTheInterpreters) {
  using enum DType;
  constexpr std::array kCases = {ReductionCase{"sum", float32}, ReductionCase{"sum", int64},
                                 ReductionCase{"product", float64}, ReductionCase{"max", float32}};
  constexpr std::array<std::array<std::int64_t, 2>, 5> kSizes = {
      {{1, 1}, {3, 7}, {16, 128}, {5, 300}, {130, 9}}};
  for (const auto& one : kCases)
    for (const bool rows : {true, false})
      for (const auto& [n, m] : kSizes) {
        const OneKernel kernel(scan_of(one.combine, one.dtype, rows));
        const auto input = random_tensor(one.dtype, {n, m}, 3);
        auto mine = *Tensor::contiguous(one.dtype, {n, m});
        auto theirs = *Tensor::contiguous(one.dtype, {n, m});
        run_native(kernel, {{input}, {mine}, {Expr(n)}, {Expr(m)}});
        kernel.run(Interpreter(table()), {{input}, {theirs}, {Expr(n)}, {Expr(m)}});
        const auto a = to_vector<double>(mine), b = to_vector<double>(theirs);
        for (std::size_t i = 0; i < a.size(); ++i) {
          if (std::isnan(a[i]) && std::isnan(b[i])) continue;
          if (std::isinf(a[i]) && a[i] == b[i]) continue;
          // Both take the elements one after the other; the interpreter may keep more digits.
          ASSERT_LE(std::abs(a[i] - b[i]), 1e-5 * std::max(40.0, std::abs(b[i])))
              << one.combine << " of " << name(one.dtype) << ", " << n << " by " << m
              << (rows ? " rows" : " columns") << ", element " << i;
        }
      }
}

TEST_F(CpuTest, RandomNumbersAreTheInterpreters) {
  struct Row {
    std::string kind;
    DType dtype;
    double tolerance;  ///< of logarithms and angles
    std::string ends;
  };
  const std::array rows = {Row{"uniform", DType::float32, 0, ""},
                           Row{"uniform cpu", DType::float32, 0, ""},
                           Row{"normal", DType::float32, 2e-6, ""},
                           Row{"normal cpu", DType::float32, 2e-6, ""},
                           Row{"integer", DType::int32, 0, ""},
                           Row{"integer64", DType::int64, 0, " %2 %3"},
                           Row{"integer64 cpu", DType::int64, 0, " %2 %3"}};
  for (const auto& row : rows) {
    const OneKernel kernel(fmt::format(
        "kernel k \"pointwise\"\nparam out buffer {0}\nparam n scalar int64\n"
        "axis x parallel exact max 1024 block (1) extent (n)\nbody {{\n"
        "  %0:int64[x] = index(x) line 0\n  %1:int64[] = const(123456789012345) line 0\n"
        "  %2:int64[] = const(-20) line 0\n  %3:int64[] = const(5000000000) line 0\n"
        "  %4:{0}[x] = random({1}) %1 %0{2} line 0\n  store(out) %0 %4 _ line 0\n}}\n",
        name(row.dtype), row.kind, row.ends));
    constexpr std::int64_t kNumbers = 1037;
    auto mine = *Tensor::contiguous(row.dtype, {kNumbers});
    auto theirs = *Tensor::contiguous(row.dtype, {kNumbers});
    run_native(kernel, {{mine}, {Expr(kNumbers)}});
    kernel.run(Interpreter(table()), {{theirs}, {Expr(kNumbers)}});
    const auto a = to_vector<double>(mine), b = to_vector<double>(theirs);
    EXPECT_NE(b[0], b[1]) << row.kind;
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_LE(std::abs(a[i] - b[i]), row.tolerance * std::max(1.0, std::abs(b[i])))
          << row.kind << ", element " << i;
  }
}

TEST_F(CpuTest, SumsDoNotDependOnVectorsOrThreads) {
  for (const bool rows : {true, false}) {
    const OneKernel kernel(reduction_of("sum", DType::float32, rows));
    constexpr std::int64_t kRows = 301, kColumns = 517;
    auto input = random_tensor(DType::float32, {kRows, kColumns}, 9);
    std::vector<float> values = to_vector<float>(input);
    for (auto& value : values)
      if (std::isnan(value)) value = 1;
    from_vector(input, std::span<const float>(values));
    std::vector<float> first;
    for (const int lanes : {4, 8, 16, 32})
      for (const int threads : {1, 3}) {
        auto out = *Tensor::contiguous(DType::float32, {rows ? kRows : kColumns});
        CpuOptions options;
        options.threads = threads;
        options.native.lanes = lanes;
        run_native(kernel, {{input}, {out}, {Expr(kRows)}, {Expr(kColumns)}}, options);
        const auto sums = to_vector<float>(out);
        if (first.empty()) first = sums;
        EXPECT_EQ(sums, first) << lanes << " lanes, " << threads << " threads";
      }
  }
}

/// Element i goes to partial sum i mod 128, and those are folded by halves: also where a row is too
/// short to reach them all, and where all it has is a zero below 0.
TEST_F(CpuTest, SumsOfRowsHaveOneOrder) {
  const OneKernel kernel(reduction_of("sum", DType::float32, true));
  constexpr std::size_t kRows = 3, kPartials = 128;
  constexpr std::array<std::size_t, 19> kColumns = {1,  3,   15,  16,  17,  31,  32,  33,  63, 64,
                                                    65, 100, 127, 128, 129, 160, 255, 256, 300};
  for (const auto columns : kColumns) {
    std::vector<float> values(kRows * columns), want;
    std::mt19937 random(static_cast<unsigned>(columns));
    for (auto& value : values) value = std::uniform_real_distribution<float>(-1, 1)(random);
    std::fill_n(values.begin(), columns, -0.F);
    for (std::size_t row = 0; row < kRows; ++row) {
      std::array<float, kPartials> partials{};
      for (std::size_t i = 0; i < columns; ++i)
        partials[i % kPartials] += values[row * columns + i];
      for (auto half = kPartials / 2; half > 0; half /= 2)
        for (std::size_t k = 0; k < half; ++k) partials[k] += partials[k + half];
      want.push_back(partials[0]);
    }
    const auto extent = static_cast<std::int64_t>(columns);
    auto input = *Tensor::contiguous(DType::float32, {kRows, extent});
    from_vector(input, std::span<const float>(values));
    for (const int lanes : {4, 8, 16, 32, 64}) {
      auto out = *Tensor::contiguous(DType::float32, {kRows});
      CpuOptions options;
      options.native.lanes = lanes;
      run_native(kernel, {{input}, {out}, {Expr(std::int64_t{kRows})}, {Expr(extent)}}, options);
      const auto sums = to_vector<float>(out);
      for (std::size_t row = 0; row < kRows; ++row)
        EXPECT_EQ(std::bit_cast<std::uint32_t>(sums[row]), std::bit_cast<std::uint32_t>(want[row]))
            << columns << " columns, " << lanes << " lanes, row " << row;
    }
  }
}

/// out[i, j] = in[j, i] + other[i, j]: what is read along columns goes through square tiles.
TEST_F(CpuTest, Transposes) {
  for (const auto dtype : {DType::boolean, DType::float16, DType::int32, DType::float64}) {
    const OneKernel kernel(fmt::format(
        "kernel k \"pointwise\"\nparam in buffer {0}\nparam other buffer {0}\n"
        "param out buffer {0}\nparam n scalar int64\nparam m scalar int64\n"
        "axis x parallel exact max 1024 block (1) extent (n)\n"
        "axis y parallel exact max 1024 block (1) extent (m)\nbody {{\n"
        "  %0:int64[x] = index(x) line 0\n  %1:int64[y] = index(y) line 0\n"
        "  %2:int64[] = param(n) line 0\n  %3:int64[] = param(m) line 0\n"
        "  %4:int64[y] = mul %1 %2 line 0\n  %5:int64[x y] = add %4 %0 line 0\n"
        "  %6:int64[x] = mul %0 %3 line 0\n  %7:int64[x y] = add %6 %1 line 0\n"
        "  %8:{0}[x y] = load(in) %5 _ _ line 0\n  %9:{0}[x y] = load(other) %7 _ _ line 0\n"
        "  %10:{0}[x y] = max %8 %9 line 0\n  store(out) %7 %10 _ line 0\n}}\n",
        name(dtype)));
    constexpr std::array<std::array<std::int64_t, 2>, 9> kSizes = {
        {{1, 1}, {1, 70}, {70, 1}, {16, 16}, {17, 40}, {33, 16}, {5, 70}, {257, 300}, {701, 803}}};
    for (const auto& [n, m] : kSizes)
      for (const int lanes : {4, 16})
        for (const int threads : {1, 3}) {
          const auto input = random_tensor(dtype, {m, n}, 3);
          const auto other = random_tensor(dtype, {n, m}, 4);
          auto mine = *Tensor::contiguous(dtype, {n, m}),
               theirs = *Tensor::contiguous(dtype, {n, m});
          CpuOptions options;
          options.threads = threads;
          options.native.lanes = lanes;
          run_native(kernel, {{input}, {other}, {mine}, {Expr(n)}, {Expr(m)}}, options);
          kernel.run(Interpreter(table()), {{input}, {other}, {theirs}, {Expr(n)}, {Expr(m)}});
          EXPECT_TRUE(std::ranges::equal(mine.storage->bytes(), theirs.storage->bytes()))
              << name(dtype) << ", " << n << " by " << m;
        }
  }
}

/// Lanes that write one element, neighbours and others, in the order of the loop.
TEST_F(CpuTest, WritesAtIndicesAreTheInterpreters) {
  const OneKernel kernel(
      "kernel k \"pointwise\"\nparam at buffer int64\nparam in buffer float32\n"
      "param rows buffer float32\nparam sums buffer float32\nparam last buffer int64\n"
      "param n scalar int64\nparam m scalar int64\n"
      "axis x parallel exact max 1024 block (1) extent (n)\n"
      "axis y parallel exact max 1024 block (1) extent (m)\nbody {\n"
      "  %0:int64[x] = index(x) line 0\n  %1:int64[y] = index(y) line 0\n"
      "  %2:int64[] = param(m) line 0\n  %3:int64[x] = load(at) %0 _ _ line 0\n"
      "  %4:int64[x] = mul %0 %2 line 0\n  %5:int64[x y] = add %4 %1 line 0\n"
      "  %6:float32[x y] = load(in) %5 _ _ line 0\n  %7:int64[x] = mul %3 %2 line 0\n"
      "  %8:int64[x y] = add %7 %1 line 0\n  %9:bool[y] = ne %1 %2 line 0\n"
      "  %10:float32[x y] = atomic(rows add) %8 %6 %9 line 0\n"
      "  %11:float32[x y] = atomic(sums add) %3 %6 %9 line 0\n"
      "  %12:int64[x y] = atomic(last exchange) %3 %5 %9 line 0\n}\n");
  constexpr std::int64_t kRows = 5;
  for (const auto& [n, m] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {7, 16}, {40, 37}})
    for (const int lanes : {4, 16}) {
      auto at = *Tensor::contiguous(DType::int64, {n});
      std::vector<std::int64_t> indices;
      for (std::int64_t i = 0; i < n; ++i) indices.push_back(i * 3 % kRows);
      from_vector(at, std::span<const std::int64_t>(indices));
      auto in = random_tensor(DType::float32, {n, m}, 5);
      std::array<std::vector<Tensor>, 2> out;
      for (auto& side : out)
        side = {*Tensor::contiguous(DType::float32, {kRows, m}),
                *Tensor::contiguous(DType::float32, {kRows}),
                *Tensor::contiguous(DType::int64, {kRows})};
      const auto inputs = [&](const std::vector<Tensor>& side) {
        return DatumList{{at}, {in}, {side[0]}, {side[1]}, {side[2]}, {Expr(n)}, {Expr(m)}};
      };
      CpuOptions options;
      options.threads = 3;
      options.native.lanes = lanes;
      run_native(kernel, inputs(out[0]), options);
      kernel.run(Interpreter(table()), inputs(out[1]));
      for (std::size_t i = 0; i < 3; ++i)
        EXPECT_TRUE(std::ranges::equal(out[0][i].storage->bytes(), out[1][i].storage->bytes()))
            << i << " of " << n << " by " << m << ", " << lanes << " lanes";
    }
}

TEST_F(CpuTest, NothingIsWrittenWhereAnAxisIsEmpty) {
  const OneKernel kernel(reduction_of("sum", DType::float32, true));
  const auto input = *Tensor::contiguous(DType::float32, {0, 5});
  const auto out = *Tensor::contiguous(DType::float32, {0});
  run_native(kernel, {{input}, {out}, {Expr(0)}, {Expr(5)}});
  // A sum of nothing is 0.
  const auto nothing = *Tensor::contiguous(DType::float32, {3, 0});
  auto sums = *Tensor::contiguous(DType::float32, {3});
  from_vector(sums, std::span<const float>(std::array{1.F, 1.F, 1.F}));
  run_native(kernel, {{nothing}, {sums}, {Expr(3)}, {Expr(0)}});
  EXPECT_EQ(to_vector<float>(sums), (std::vector<float>{0, 0, 0}));
}

}  // namespace
}  // namespace assay
