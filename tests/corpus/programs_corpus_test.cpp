// Compiled functions beside their recorded answers: run in the interpreter they give the same.
#include <iostream>

#include <gtest/gtest.h>

#include "compiler/cuda/gpu_code.h"
#include "compiler/cuda/tiled_interpreter.h"
#include "replay/runner/execute.h"
#include "tests/support/corpus.h"

namespace assay {
namespace {

class ProgramsCorpus : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto folder = testing::unpacked_corpus("programs");
    if (!folder) GTEST_SKIP() << testing::corpus_missing();
    folder_ = *folder;
  }
  /// What is wrong about a log, in one line; empty if it gives the recorded answers.
  auto problem(const std::filesystem::path& path, const ProgramRunOptions& options,
               const Executor* executor) -> std::string {
    auto beside = path;
    beside.replace_extension(".json");
    const auto answers = read_program_answers(testing::read_text(beside), beside.string());
    if (!answers) return answers.error().message;
    const auto run = execute_programs(testing::read_text(path), path.string(), table_,
                                      {.run = options, .answers = &*answers, .executor = executor});
    if (!run) return run.error().message;
    for (const auto& program : run->programs) {
      if (program.error) return program.error->message;
      if (!program.run.findings.empty()) return program.run.findings[0].message;
    }
    for (const auto& one : run->compared)
      if (!one.message.empty()) return one.what + ": " + one.message;
    return run->compared.empty() ? "nothing was compared" : "";
  }
  void all_agree(std::string_view ending, const ProgramRunOptions& options,
                 const Executor* executor = nullptr) {
    const auto files = testing::files_ending(folder_, ending);
    ASSERT_FALSE(files.empty());
    std::size_t wrong = 0;
    for (const auto& path : files)
      if (const auto text = problem(path, options, executor); !text.empty()) {
        ++wrong;
        std::cout << path.filename().string() << ": " << text << "\n";
      }
    EXPECT_EQ(wrong, 0U) << "of " << files.size();
  }
  std::filesystem::path folder_;
  const OpTable table_ = build_op_table();
};

TEST_F(ProgramsCorpus, CudaProgramsGiveTheRecordedAnswers) {
  all_agree(".cuda.log", {});
}

TEST_F(ProgramsCorpus, CudaProgramsGiveThemInTheTilesOfAGpu) {
  const TiledInterpreter tiles(table_);
  all_agree(".cuda.log", {}, &tiles);
}

/// What has no code runs on the host: nothing of Inductor's kernels does.
TEST_F(ProgramsCorpus, KernelsForGpusHaveCode) {
  if (const auto made = make_ptx({}, {}); !made) GTEST_SKIP() << made.error().message;
  int kernels = 0;
  for (const auto& path : testing::files_ending(folder_, ".cuda.log")) {
    const auto programs = read_programs(testing::read_text(path), path.string());
    ASSERT_TRUE(programs) << path;
    for (const auto& one : *programs) {
      const auto text = ptx_text(one.program, {.architecture = 90});
      ASSERT_TRUE(text) << path;
      EXPECT_EQ(text->find("\n// no code"), std::string::npos)
          << path << text->substr(text->find("\n// no code"), 200);
      kernels += static_cast<int>(one.program.kernels.size());
    }
  }
  EXPECT_GT(kernels, 50);
}

TEST_F(ProgramsCorpus, CpuProgramsGiveTheRecordedAnswers) {
  all_agree(".cpu.log", {});
}

/// What a device may round is no difference, what it cannot have rounded is one: the convolution of
/// `conv_relu`, whose operands a GPU may take as TF32.
TEST_F(ProgramsCorpus, AnswersAreJudgedByWhatTheirDeviceRounds) {
  const auto differences = [&](std::string_view device, double factor) {
    const auto log = testing::files_ending(folder_, fmt::format("conv_relu.{}.log", device)).at(0);
    auto beside = log;
    beside.replace_extension(".json");
    auto answers = read_program_answers(testing::read_text(beside), beside.string()).value();
    for (auto& output : answers.compiled->outputs) {
      auto values = to_vector<double>(output.tensor);
      for (auto& value : values) value *= factor;
      from_vector(output.tensor, std::span<const double>(values));
    }
    const auto run = execute_programs(testing::read_text(log), log.string(), table_,
                                      {.run = {}, .answers = &answers});
    EXPECT_TRUE(run) << run.error().message;
    return std::ranges::count_if(run->compared,
                                 [](const TensorDifference& one) { return !one.message.empty(); });
  };
  EXPECT_EQ(differences("cuda", 1), 0);
  EXPECT_EQ(differences("cuda", 1 + 1e-4), 0);
  EXPECT_GT(differences("cuda", 1.1), 0);
  EXPECT_GT(differences("cpu", 1 + 1e-3), 0);  // no TF32 there
}

TEST_F(ProgramsCorpus, TheAnswersDoNotDependOnBlocks) {
  for (const std::uint32_t seed : {1U, 2U}) {
    ProgramRunOptions options;
    options.block_seed = seed;
    all_agree(".cuda.log", options);
    all_agree(".cpu.log", options);
  }
}

}  // namespace
}  // namespace assay
