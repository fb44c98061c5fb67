// Whole runs: the failure that was wanted is what is left, answers are kept, workers do not matter.
#include "minifier/search/minify.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "core/graph/text.h"
#include "replay/interp/debug.h"

namespace assay {
namespace {

auto table() -> const OpTable& {
  static const OpTable kTable = build_op_table();
  return kTable;
}

/// Four calls in a row; `relu`'s claim says `claimed` where [s0, 4] is right.
auto capture_with(const std::string& claimed) -> Capture {
  const auto text =
      "# assay graph 1\n"
      "# symbol s0: hint 6, range [2, int_oo]\n"
      "class G(torch.nn.Module):\n"
      "    def forward(self, s0: \"Sym(s0)\", x: \"f32[s0, 4][4, 1]cpu\"):\n"
      "        add: \"f32[s0, 4][4, 1]cpu\" = torch.ops.aten.add.Tensor(x, 2.5)\n"
      "        relu: \"f32" +
      claimed +
      "cpu\" = torch.ops.aten.relu.default(add)\n"
      "        mul: \"f32[s0, 4][4, 1]cpu\" = torch.ops.aten.mul.Tensor(relu, 3.5)\n"
      "        t: \"f32[4, s0][1, 4]cpu\" = torch.ops.aten.permute.default(mul, [1, 0])\n"
      "        bad: \"f32[4, s0][4, 1]cpu\" = torch.ops.aten.exp.default(t)\n"
      "        return (bad,)\n";
  auto capture = read_graph_text(text);
  EXPECT_TRUE(capture) << (capture ? "" : capture.error().message);
  return *std::move(capture);
}

auto run(Capture capture, Oracle& oracle, MinifyOptions options = {}) -> MinifyResult {
  AnswerStore store;
  options.default_timeout = false;
  auto result = minify(std::move(capture), oracle, store, table(), options);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return *std::move(result);
}

auto names(const Capture& capture) -> std::vector<std::string> {
  std::vector<std::string> calls;
  for (const auto& node : capture.graph.nodes)
    if (node.kind == NodeKind::call_function) calls.push_back(node.name);
  return calls;
}

TEST(Minify, KeepsTheNodeThatLies) {
  const auto oracle = debug_oracle(table(), "wrong-size");
  const auto result = run(capture_with("[s0, 5][5, 1]"), *oracle);
  EXPECT_TRUE(result.reproduced);
  EXPECT_EQ(names(result.minimal), std::vector<std::string>{"relu"});
  EXPECT_TRUE(result.one_minimal);
  EXPECT_TRUE(verify(result.minimal.graph).empty());
}

TEST(Minify, DoesNotSlipToAnotherFailure) {
  // `bad` claims strides that exp does not give; the wrong size of relu is another failure.
  const auto oracle = debug_oracle(table(), "");
  const auto result = run(capture_with("[s0, 5][1, s0]"), *oracle);
  EXPECT_EQ(names(result.minimal), std::vector<std::string>{"relu"});
  ASSERT_FALSE(result.others.empty());
  EXPECT_EQ(result.others[0].error_class, "wrong-stride");
}

TEST(Minify, ACleanCaptureIsLeftAlone) {
  auto capture = capture_with("[s0, 4][4, 1]");
  const auto oracle = debug_oracle(table(), "wrong-size");
  const auto result = run(capture, *oracle);
  EXPECT_FALSE(result.reproduced);
  EXPECT_EQ(result.minimal.graph.call_count(), capture.graph.call_count());
}

TEST(Minify, SaysForWhichSizesItFails) {
  // Claims that are right only for multiples of 8 (6 is none).
  const auto oracle = debug_oracle(table(), "wrong-size");
  const auto result = run(capture_with("[8*((s0 + 7)//8), 4][4, 1]"), *oracle);
  EXPECT_TRUE(result.fails_iff.starts_with("Ne(Mod(s0, 8), 0)")) << result.fails_iff;
}

TEST(Minify, WorkersDoNotChangeTheResult) {
  std::vector<std::string> texts;
  for (const int workers : {1, 2, 8}) {
    const auto oracle = debug_oracle(table(), "wrong-size");
    MinifyOptions options;
    options.limits.workers = workers;
    texts.push_back(
        print_graph(run(capture_with("[s0, 5][5, 1]"), *oracle, options).minimal.graph));
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_EQ(texts[0], texts[2]);
}

TEST(Minify, ASecondRunAsksNothing) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "assay-answers-test.sqlite";
  std::filesystem::remove(path);
  std::string first;
  for (int round = 0; round < 2; ++round) {
    auto store = AnswerStore::open(path);
    ASSERT_TRUE(store) << store.error().message;
    const auto oracle = debug_oracle(table(), "wrong-size");
    MinifyOptions options;
    options.default_timeout = false;
    const auto result = minify(capture_with("[s0, 5][5, 1]"), *oracle, *store, table(), options);
    ASSERT_TRUE(result);
    if (round == 0) {
      EXPECT_GT(result->queries, 0);
      first = print_graph(result->minimal.graph);
    } else {
      EXPECT_EQ(result->queries, 0);
      EXPECT_EQ(print_graph(result->minimal.graph), first);
    }
  }
  std::filesystem::remove(path);
}

/// A debug oracle that takes its time and leaves a mark for every question.
auto slow_oracle(const std::filesystem::path& marks) -> std::unique_ptr<Oracle> {
  return function_oracle("slow", [marks](const Capture& capture) {
    std::ofstream(marks, std::ios::app) << "x";
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
    Observed seen;
    const auto* relu = capture.graph.find("relu");
    if (relu && relu->kind == NodeKind::call_function) {
      seen.outcome = Outcome::fails;
      seen.signature = {.stage = "test", .error_class = "relu"};
    }
    return seen;
  });
}

/// The minimal graph as text; answers are kept in `folder`.
auto resumable_run(const std::filesystem::path& folder) -> std::string {
  auto store = AnswerStore::open(folder / "answers.sqlite");
  if (!store) return store.error().message;
  const auto oracle = slow_oracle(folder / "marks");
  MinifyOptions options;
  options.default_timeout = false;
  const auto result = minify(capture_with("[s0, 4][4, 1]"), *oracle, *store, table(), options);
  return result ? print_graph(result->minimal.graph) : result.error().message;
}

TEST(Minify, KilledRunsGoOnWhereTheyWere) {
  const auto root = std::filesystem::path(::testing::TempDir()) / "assay-kill-test";
  std::filesystem::remove_all(root);
  for (const char* name : {"whole", "killed"}) std::filesystem::create_directories(root / name);
  const auto whole = resumable_run(root / "whole");
  constexpr int kKills = 20;
  std::mt19937 random(11);
  for (int i = 0; i < kKills; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      (void)resumable_run(root / "killed");
      _exit(0);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + random() % 40));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  EXPECT_EQ(resumable_run(root / "killed"), whole);
  // Only the question that was open when the run was killed may be asked once more.
  const auto asked = [&](const char* name) {
    return std::filesystem::file_size(root / name / "marks");
  };
  EXPECT_LE(asked("killed"), asked("whole") + kKills);
  EXPECT_EQ(resumable_run(root / "killed"), whole);
  std::filesystem::remove_all(root);
}

TEST(Minify, ABudgetStopsWithTheBestSoFar) {
  const auto oracle = debug_oracle(table(), "wrong-size");
  MinifyOptions options;
  options.budget.calls = 2;
  const auto result = run(capture_with("[s0, 5][5, 1]"), *oracle, options);
  EXPECT_TRUE(result.reproduced);
  EXPECT_FALSE(result.complete);
  EXPECT_LE(result.queries, 2);
}

TEST(Minify, AFlakyFailureIsAskedRepeatedly) {
  // Fails in about two of three runs, by time.
  const auto oracle = function_oracle("flaky", [](const Capture& capture) {
    Observed seen;
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    if (capture.graph.find("relu") && capture.graph.find("relu")->kind == NodeKind::call_function &&
        (now / 1000) % 3 != 0) {
      seen.outcome = Outcome::fails;
      seen.signature = {.stage = "test", .error_class = "flaky"};
    }
    return seen;
  });
  MinifyOptions options;
  options.confirmations = 12;
  options.values = false;
  const auto result = run(capture_with("[s0, 4][4, 1]"), *oracle, options);
  ASSERT_TRUE(result.reproduced);
  EXPECT_EQ(names(result.minimal), std::vector<std::string>{"relu"});
}

TEST(ExecOracle, FollowsTheExitCodes) {
  const Program program(capture_with("[s0, 4][4, 1]"), table());
  const std::vector<Candidate> one{Candidate(program, program.everything())};
  const auto outcome = [&](const std::string& command) {
    return exec_oracle(command)->judge(one, {.seconds = 20}).at(0);
  };
  EXPECT_EQ(outcome("exit 0;").outcome, Outcome::fails);
  EXPECT_EQ(outcome("exit 1;").outcome, Outcome::passes);
  EXPECT_EQ(outcome("exit 125;").outcome, Outcome::invalid);
  EXPECT_EQ(outcome("exit 70;").signature.error_class, "failure 70");
  EXPECT_EQ(outcome("kill -ABRT $$;").signature.error_class, "SIGABRT");
  EXPECT_EQ(outcome("both() { test -f $1 && test -f $2; }; both").outcome, Outcome::fails)
      << "repro.py and the bundle are arguments";
}

TEST(Emit, EveryFormNamesTheFailure) {
  const auto oracle = debug_oracle(table(), "wrong-size");
  const auto result = run(capture_with("[s0, 5][5, 1]"), *oracle);
  const auto folder = std::filesystem::path(::testing::TempDir()) / "assay-emit-test";
  ASSERT_TRUE(write_result(result, folder));
  for (const char* file :
       {"repro.py", "graph.txt", "minimal.assay.zip", "summary.json", "junit.xml", "results.sarif"})
    EXPECT_TRUE(std::filesystem::exists(folder / file)) << file;
  for (const auto& text : {summary_json(result), junit_xml(result), sarif_json(result)})
    EXPECT_NE(text.find("wrong-size"), std::string::npos) << text;
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace assay
