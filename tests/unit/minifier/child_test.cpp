// Children that hang, crash, eat memory, flood or fork are told apart, and nothing stays behind.
#include "minifier/oracle/child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace assay {
namespace {

auto run(const std::string& command, const OracleLimits& limits = {.seconds = 30}) -> ChildResult {
  ChildJob job;
  job.command = command;
  job.folder = ::testing::TempDir();
  return run_children({job}, limits).at(0);
}

/// Is a process with this word in its command line alive?
auto is_running(const std::string& word) -> bool {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    const std::string line((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    if (line.find(word) != std::string::npos) return true;
  }
  return false;
}

/// A process that was killed may be there for another moment.
auto ends(const std::string& word) -> bool {
  for (int i = 0; i < 50 && is_running(word); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return !is_running(word);
}

TEST(Child, GivesExitCodeAndOutput) {
  const auto result = run("echo hello; exit 7;");
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.output, "hello\n");
}

TEST(Child, GetsItsArguments) {
  ChildJob job;
  job.command = "echo got";
  job.arguments = {"a b", "c"};
  EXPECT_EQ(run_children({job}, {}).at(0).output, "got a b c\n");
}

TEST(Child, ACrashIsASignal) {
  EXPECT_EQ(run("kill -SEGV $$;").signal, SIGSEGV);
  EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
}

TEST(Child, AHangEndsAtTheLimit) {
  const auto result = run("sleep 4320.5;", {.seconds = 0.3});
  EXPECT_TRUE(result.timed_out);
  EXPECT_LT(result.seconds, 10);
  EXPECT_TRUE(ends("4320.5"));
}

TEST(Child, EatingMemoryEndsAtTheLimit) {
  const auto result = run("python3 -c 'x = bytearray(1 << 30); import time; time.sleep(20)';",
                          {.seconds = 20, .memory_bytes = std::int64_t{200} << 20});
  EXPECT_TRUE(result.out_of_memory);
}

TEST(Child, AFloodOfOutputIsCut) {
  const auto result = run("yes | head -c 20000000; exit 3;", {.output_bytes = 1000});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_LE(result.output.size(), 1000U);
}

TEST(Child, WhatItLeavesBehindIsKilled) {
  const std::string word = "4321.5";
  const auto result = run("setsid sleep 4321.5 & (setsid sh -c 'sleep 4321.5' &) ; exit 0;");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(ends(word));
}

TEST(Child, AForkBombIsEnded) {
  const auto result =
      run("n=0; while [ $n -lt 60 ]; do (setsid sleep 4322.5 &); n=$((n+1)); done; sleep 4322.5;",
          {.seconds = 1});
  EXPECT_TRUE(result.timed_out);
  EXPECT_TRUE(ends("4322.5"));
}

TEST(Child, FunctionsReportAndMayAbort) {
  ChildJob good;
  good.function = [] { return std::string("report"); };
  ChildJob bad;
  bad.function = []() -> std::string { std::abort(); };
  const auto results = run_children({good, bad, good}, {.workers = 2});
  EXPECT_EQ(results[0].report, "report");
  EXPECT_EQ(results[1].signal, SIGABRT);
  EXPECT_EQ(results[2].report, "report");
}

}  // namespace
}  // namespace assay
