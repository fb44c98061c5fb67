// Bound programs: steps, bindings, memory plans, and what redzones see.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "compiler/interpret/interpret.h"
#include "compiler/runtime/bound_run.h"
#include "tests/support/compiled.h"

namespace assay {
namespace {

auto table() -> const OpTable& {
  static const auto kRows = build_op_table();
  return kRows;
}

/// Launches run tile by tile.
class TileDevice : public BoundDevice {
 public:
  explicit TileDevice(const CompiledKernels& kernels) : kernels_(kernels) {}
  [[nodiscard]] auto launch(const BoundProgram& bound, const BoundLaunch& launch,
                            const LaunchArguments& arguments, ProgramRun& run) const
      -> Result<void> override {
    return run_tiles(kernels_.at(bound.kernels[launch.kernel]), launch, arguments, run);
  }

 private:
  const CompiledKernels& kernels_;
};

/// Writes one byte behind the first temporary of every launch as well.
class Overrunning final : public TileDevice {
 public:
  using TileDevice::TileDevice;
  [[nodiscard]] auto launch(const BoundProgram& bound, const BoundLaunch& launch,
                            const LaunchArguments& arguments, ProgramRun& run) const
      -> Result<void> override {
    for (const auto& given : launch.arguments) {
      if (!given.buffer) continue;
      const auto& buffer = bound.buffers[*given.buffer];
      if (buffer.kind != BoundBuffer::Kind::temporary) continue;
      const auto& place = arguments.places[*given.buffer];
      place.storage->bytes()[static_cast<std::size_t>(place.offset_bytes + buffer.size_bytes)] =
          std::byte{0};
      break;
    }
    return TileDevice::launch(bound, launch, arguments, run);
  }
};

/// Reductions of rows and columns in turn: many temporaries of different life.
auto chain() -> testing::SmallGraph {
  return {"x: f32[s0, 12]; y: f32[s0, 12]; n: Sym(s0)",
          "a = aten.sum.dim_IntList(x, [1], True)\nb = aten.add.Tensor(a, y)\n"
          "c = aten.sum.dim_IntList(b, [0], True)\nd = aten.sub.Tensor(b, c)\n"
          "e = aten.amax.default(d, [1], True)\nf = aten.mul.Tensor(d, e)\n"
          "g = aten.sum.dim_IntList(f, [0], True)\nh = aten.add.Tensor(f, g)",
          "h"};
}

struct Fixture {
  Capture capture;
  CompiledGraph compiled;
  CompiledKernels kernels;
};
auto fixture(const testing::SmallGraph& graph, bool fuse = true) -> Fixture {
  CompileOptions options;
  options.schedule.fuse = fuse;
  auto capture = *testing::capture_of(graph);
  auto compiled = *compile_graph(capture, table(), options);
  auto kernels = *compile_kernels(compiled.program);
  return {std::move(capture), std::move(compiled), std::move(kernels)};
}
auto inputs(const Fixture& made, const testing::SmallGraph& graph, const std::string& sizes)
    -> DatumList {
  return program_inputs(made.capture.graph, *testing::inputs_of(graph, made.capture, sizes));
}

TEST(Bound, OneBindingPerSizes) {
  const auto graph = chain();
  const auto made = fixture(graph);
  const TileDevice device(made.kernels);
  BindingCache cache(made.compiled.program, made.kernels, table(), device, {});
  for (const auto* sizes : {"s0=5", "s0=5", "s0=7", "s0=5", "s0=7"}) {
    const auto given = inputs(made, graph, sizes);
    const auto ready = cache.find(given);
    ASSERT_TRUE(ready) << ready.error().message;
    const auto run = (*ready)->run(given);
    ASSERT_TRUE(run);
    const auto expected = (*Interpreter(table()).compile(made.compiled.program))->run(given, {});
    EXPECT_EQ(to_vector<double>(*run->outputs[0].real()),
              to_vector<double>(*expected->outputs[0].real()));
  }
  EXPECT_EQ(cache.bindings(), 2U);
}

TEST(Bound, InputsThatShareAStorageAreAnotherBinding) {
  const auto graph = chain();
  const auto made = fixture(graph);
  auto given = inputs(made, graph, "s0=5");
  const auto key = BindingKey::of(given);
  ASSERT_TRUE(key);
  EXPECT_TRUE(key->fits(given));
  given[1] = given[0];
  EXPECT_FALSE(key->fits(given));
  EXPECT_FALSE(key->fits(inputs(made, graph, "s0=6")));
}

TEST(Bound, OutputsThatAreKeptAreNotOverwritten) {
  const auto graph = chain();
  const auto made = fixture(graph);
  const TileDevice device(made.kernels);
  BindingCache cache(made.compiled.program, made.kernels, table(), device, {});
  const auto given = inputs(made, graph, "s0=5");
  const auto kept = (*cache.find(given))->run(given);
  const auto before = to_vector<double>(*kept->outputs[0].real());
  from_vector(std::get<Tensor>(const_cast<Datum&>(given[0]).value),
              std::span<const double>(std::vector<double>(60, 3.0)));
  const auto again = (*cache.find(given))->run(given);
  EXPECT_NE(to_vector<double>(*again->outputs[0].real()), before);
  EXPECT_EQ(to_vector<double>(*kept->outputs[0].real()), before);
}

TEST(Bound, AResultDroppedForTheNextGivesItsMemoryBack) {
  const auto graph = chain();
  const auto made = fixture(graph);
  const TileDevice device(made.kernels);
  BindingCache cache(made.compiled.program, made.kernels, table(), device, {});
  const auto given = inputs(made, graph, "s0=5");
  const auto storage = [](const Result<ProgramRun>& run) {
    return run->outputs[0].real()->storage.get();
  };
  auto kept = (*cache.find(given))->run(given);
  const auto* first = storage(kept);
  kept = (*cache.find(given))->run(given);
  EXPECT_NE(storage(kept), first);
  kept = (*cache.find(given))->run(given);
  EXPECT_EQ(storage(kept), first);
}

TEST(Bound, ACallThatChangesPartOfWhatACallMadeKeepsTheRest) {
  const auto* row = table().find("aten.fill_.Scalar");
  ASSERT_TRUE(row != nullptr && row->kernel);
  auto whole = *Tensor::contiguous(DType::float32, {3});
  from_vector(whole, std::span<const double>(std::vector<double>{1, 2, 3}));
  auto part = whole.meta;
  part.sizes = {1};
  BoundCall call;
  call.row = row;
  call.args = {Datum{Tensor{nullptr, part}}, Datum{Expr(5)}};
  call.result = Datum{Tensor{nullptr, part}};
  call.buffers = {0, 0};
  call.arg_tensors = 1;
  BoundProgram bound;
  auto& buffer = bound.buffers.emplace_back();
  buffer.size_bytes = 12;
  buffer.is_made_by_call = true;
  bound.steps = {call, call};  // the first one stands for what made it
  EXPECT_TRUE(makes_buffer(bound, 0, 1));
  EXPECT_FALSE(makes_buffer(bound, 0, 0));
  const auto done = run_apart(bound, 1, {{0, whole.storage}});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(to_vector<double>(whole), (std::vector<double>{5, 2, 3}));
}

TEST(Bound, WhatDependsOnDataIsNotBound) {
  const testing::SmallGraph graph{"x: i64[4]", "a = aten.nonzero.default(x)", "a"};
  const auto made = fixture(graph);
  const auto bound =
      bind_program(made.compiled.program, made.kernels, table(), inputs(made, graph, ""));
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, ErrorCode::unsupported);
}

TEST(Plan, ReusesMemoryAndSaysWhere) {
  const auto graph = chain();
  const auto made = fixture(graph, false);
  const auto bound =
      bind_program(made.compiled.program, made.kernels, table(), inputs(made, graph, "s0=50"));
  ASSERT_TRUE(bound);
  const auto plan = plan_memory(*bound);
  EXPECT_TRUE(check_plan(*bound, plan).empty());
  EXPECT_LE(plan.arena_bytes, plan.live_bytes);
  EXPECT_LT(plan.arena_bytes, plan.sum_bytes);
  EXPECT_TRUE(std::ranges::any_of(reuse_decisions(*bound, plan), &ReuseDecision::accepted));
  const auto apart = plan_memory(*bound, {.reuse = false});
  EXPECT_TRUE(check_plan(*bound, apart).empty());
  EXPECT_EQ(apart.arena_bytes, apart.sum_bytes);
  EXPECT_TRUE(std::ranges::none_of(reuse_decisions(*bound, apart, {.reuse = false}),
                                   &ReuseDecision::accepted));
}

/// A program with made-up lives of its buffers, without steps that do anything.
auto random_lives(std::uint32_t seed) -> BoundProgram {
  std::mt19937 random(seed);
  BoundProgram bound;
  constexpr std::size_t kSteps = 40;
  bound.steps.resize(kSteps);
  for (int i = 0; i < 60; ++i) {
    BoundBuffer buffer;
    buffer.name = "b" + std::to_string(i);
    buffer.size_bytes = std::uniform_int_distribution<std::int64_t>(1, 5000)(random);
    buffer.first = random() % kSteps;
    buffer.last = std::min<std::size_t>(buffer.first + random() % 9, kSteps - 1);
    buffer.is_used = true;
    bound.buffers.push_back(buffer);
  }
  return bound;
}

TEST(Plan, RandomLivesArePlacedSoundlyAndTightly) {
  double worst = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const auto bound = random_lives(seed);
    for (const std::int64_t redzone : {0, 64}) {
      MemoryPlanOptions options;
      options.redzone_bytes = redzone;
      const auto plan = plan_memory(bound, options);
      ASSERT_TRUE(check_plan(bound, plan).empty()) << "seed " << seed;
      if (redzone == 0)
        worst = std::max(
            worst, static_cast<double>(plan.arena_bytes) / static_cast<double>(plan.live_bytes));
    }
  }
  EXPECT_LE(worst, 1.25);
}

TEST(Plan, OtherSizesTakeTheOrderOfAPlan) {
  int taken = 0;
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    auto bound = random_lives(seed);
    const auto plan = plan_memory(bound);
    EXPECT_FALSE(plan.order.empty());
    for (auto& buffer : bound.buffers) buffer.size_bytes = 3 * buffer.size_bytes + 7;
    const auto like = plan_memory(bound, {}, &plan);
    ASSERT_TRUE(check_plan(bound, like).empty()) << "seed " << seed;
    taken += like.order == plan.order ? 1 : 0;
    EXPECT_LE(static_cast<double>(like.arena_bytes) / static_cast<double>(like.live_bytes),
              1.03 * static_cast<double>(plan.arena_bytes) / static_cast<double>(plan.live_bytes));
  }
  EXPECT_GT(taken, 25);
  // Another program's is of no use.
  const auto other = random_lives(50);
  const auto of_chain = plan_memory(random_lives(51));
  EXPECT_TRUE(check_plan(other, plan_memory(other, {}, &of_chain)).empty());
}

TEST(Plan, TheCheckerSeesTwoBuffersInOnePlace) {
  const auto bound = random_lives(1);
  auto plan = plan_memory(bound);
  int seen = 0, moved = 0;
  for (std::size_t i = 0; i < bound.buffers.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const auto& a = bound.buffers[i];
      const auto& b = bound.buffers[k];
      if (a.first > b.last || b.first > a.last) continue;
      auto wrong = plan;
      wrong.offsets[i] = wrong.offsets[k];
      ++moved;
      seen += check_plan(bound, wrong).empty() ? 0 : 1;
    }
  EXPECT_GT(moved, 50);
  EXPECT_EQ(seen, moved);
}

TEST(InPlace, OnlyWhereEveryElementIsReadBeforeItIsWritten) {
  const auto over = [](const std::string& body, const std::string& output) {
    const testing::SmallGraph graph{"x: f32[s0, 4]; n: Sym(s0)", body, output};
    const auto made = fixture(graph, false);
    const auto bound =
        bind_program(made.compiled.program, made.kernels, table(), inputs(made, graph, "s0=4"));
    EXPECT_TRUE(bound);
    return std::ranges::count_if(bound->buffers,
                                 [](const BoundBuffer& b) { return b.over.has_value(); });
  };
  // A row's sum twice, with what is dear and read twice between: pointwise on a tensor that dies.
  const std::string head =
      "a = aten.renorm.default(x, 2, 1, 3.0)\nb = aten.exp.default(a)\nc = aten.renorm.default(b, "
      "2, 1, 3.0)";
  EXPECT_EQ(over(head, "c"), 1);
  // The transpose is read where something else is written.
  EXPECT_EQ(over("a = aten.renorm.default(x, 2, 1, 3.0)\nt = aten.permute.default(a, [1, 0])\n"
                 "b = aten.clone.default(t, memory_format = torch.contiguous_format)\n"
                 "c = aten.renorm.default(b, 2, 1, 3.0)",
                 "c"),
            0);
  // The operand lives on.
  EXPECT_EQ(over(head + "\nd = aten.add.Tensor(c, a)", "d"), 0);
}

TEST(InPlace, ABinderFindsTheSameAtEverySize) {
  const testing::SmallGraph graph{
      "x: f32[s0, s1]; y: f32[s0, 1]; n: Sym(s0); m: Sym(s1)",
      "a = aten.renorm.default(x, 2, 1, 3.0)\nb = aten.mul.Tensor(a, y)\n"
      "c = aten.renorm.default(b, 2, 1, 3.0)",
      "c"};
  const auto made = fixture(graph, false);
  Binder binder(made.compiled.program, made.kernels, table());
  for (const auto* sizes : {"s0=50,s1=6", "s0=4,s1=6", "s0=7,s1=3", "s0=50,s1=6"}) {
    const auto given = inputs(made, graph, sizes);
    const auto bound = binder.bind(given);
    const auto wanted = bind_program(made.compiled.program, made.kernels, table(), given);
    ASSERT_TRUE(bound && wanted);
    ASSERT_EQ(bound->buffers.size(), wanted->buffers.size());
    int over = 0;
    for (std::size_t i = 0; i < bound->buffers.size(); ++i) {
      EXPECT_EQ(bound->buffers[i].over, wanted->buffers[i].over);
      EXPECT_EQ(bound->buffers[i].size_bytes, wanted->buffers[i].size_bytes);
      over += bound->buffers[i].over.has_value() ? 1 : 0;
    }
    EXPECT_GT(over, 0) << sizes;
  }
}

TEST(Checked, AWriteBehindABufferNamesStatementAndBuffer) {
  const auto graph = chain();
  const auto made = fixture(graph, false);
  const auto given = inputs(made, graph, "s0=5");
  const Overrunning wrong(made.kernels);
  const TileDevice right(made.kernels);
  BoundOptions options;
  options.is_checked = true;
  for (const auto* device :
       {static_cast<const BoundDevice*>(&wrong), static_cast<const BoundDevice*>(&right)}) {
    BindingCache cache(made.compiled.program, made.kernels, table(), *device, options);
    const auto run = (*cache.find(given))->run(given);
    ASSERT_TRUE(run);
    EXPECT_EQ(run->findings.empty(), device == &right);
    for (const auto& finding : run->findings) {
      EXPECT_EQ(finding.fault, RunFault::out_of_bounds);
      EXPECT_TRUE(finding.buffer.starts_with("buf")) << finding.buffer;
      EXPECT_TRUE(finding.statement.contains(finding.buffer)) << finding.statement;
    }
  }
}

}  // namespace
}  // namespace assay
