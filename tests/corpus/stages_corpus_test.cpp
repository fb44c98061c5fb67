// Stages of compilations agree on the reference corpus, and what is planted into one is found
// there.
#include <iostream>
#include <random>
#include <regex>

#include <gtest/gtest.h>

#include "replay/runner/stage_inputs.h"
#include "replay/runner/stages.h"
#include "tests/support/corpus.h"

namespace assay {
namespace {

/// Functions of the corpus that Inductor does change: it makes 0 of x * 0, which eager execution
/// leaves NaN where x is infinite. The recorded answers differ likewise.
constexpr std::string_view kReallyDiffers = "pointwise_many";

struct LogFile {
  std::string name, text;
  ProgramAnswers answers;
};

class StagesCorpus : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto folder = testing::unpacked_corpus("programs");
    if (!folder) GTEST_SKIP() << testing::corpus_missing();
    for (const auto* suffix : {".cuda.log", ".cpu.log"})
      for (const auto& path : testing::files_ending(*folder, suffix)) {
        auto beside = path;
        beside.replace_extension(".json");
        auto answers = read_program_answers(testing::read_text(beside), beside.string());
        ASSERT_TRUE(answers) << answers.error().message;
        files_.push_back({path.filename().string(), testing::read_text(path), *std::move(answers)});
      }
    ASSERT_FALSE(files_.empty());
  }
  auto debug(const LogFile& file, const std::string& text) -> Result<StageReport> {
    return debug_stages(text, file.name, table_, {.answers = &file.answers, .at = {}});
  }
  std::vector<LogFile> files_;
  const OpTable table_ = build_op_table();
};

TEST_F(StagesCorpus, EveryStageOfARightProgramAgrees) {
  std::size_t stages = 0, not_run = 0;
  for (const auto& file : files_) {
    const auto report = debug(file, file.text);
    ASSERT_TRUE(report) << report.error().message;
    for (const auto& compilation : report->compilations) {
      EXPECT_TRUE(compilation.error.empty()) << file.name << ": " << compilation.error;
      for (const auto& row : compilation.rows) {
        ++stages;
        if (file.name.contains(kReallyDiffers)) continue;
        EXPECT_NE(row.state, StageState::differs) << file.name << " " << row.name;
        if (row.state != StageState::not_run) continue;
        ++not_run;
        EXPECT_TRUE(row.is_program && file.name.ends_with(".cpu.log"))
            << file.name << " " << row.name << ": " << row.reason;
      }
      for (const auto& problem : compilation.problems)
        if (!file.name.contains(kReallyDiffers))
          ADD_FAILURE() << file.name << ": " << problem.finding.message;
    }
  }
  std::cout << stages << " stages of " << files_.size() << " logs, " << not_run << " not run\n";
}

/// A change of one line of one stage.
struct Planted {
  std::string kind, stage, name;
  std::vector<std::string> also;  ///< nodes that may be named too: users of a dropped one
  std::string text;               ///< of the log
};

/// Where the payload of a stage stands in the log.
struct Part {
  std::string stage;
  std::vector<std::size_t> lines;
};

auto lines_of(const std::string& text) -> std::vector<std::string> {
  std::vector<std::string> lines;
  std::size_t at = 0;
  for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', at)) {
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (at < text.size()) lines.push_back(text.substr(at));
  return lines;
}

auto joined(const std::vector<std::string>& lines) -> std::string {
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  return text;
}

/// Calls of other operators of the same form.
const std::vector<std::pair<std::string, std::string>> kOperators = {
    {"aten.add.Tensor", "aten.sub.Tensor"},
    {"aten.sub.Tensor", "aten.add.Tensor"},
    {"aten.mul.Tensor", "aten.add.Tensor"},
    {"aten.div.Tensor", "aten.mul.Tensor"},
    {"aten.exp.default", "aten.sin.default"},
    {"aten.erf.default", "aten.sin.default"},
    {"aten.rsqrt.default", "aten.exp.default"},
    {"aten.relu.default", "aten.neg.default"},
    {"aten.sum.dim_IntList", "aten.mean.dim"},
    {"aten.mean.dim", "aten.sum.dim_IntList"},
    {"aten.amax.default", "aten.amin.default"},
    {"torch.relu", "torch.neg"},
    {"torch.softmax", "torch.log_softmax"},
    {"torch._C._nn.gelu", "torch.relu"},
    {".sum(", ".mean("},
    {".add_(", ".sub_("},
    {".argmax(", ".argmin("},
    {" + ", " - "},
    {" * ", " + "},
    {"aten.sin.default", "aten.exp.default"},
    {"aten.tanh.default", "aten.sin.default"},
    {"aten.where.self", "aten.where.self"}};

class Planter {
 public:
  Planter(const std::string& text, std::uint32_t seed) : lines_(lines_of(text)), random_(seed) {
    const auto log = read_torch_trace(text);
    for (const auto& compilation : compilations(*log))
      for (const auto* parts : {&compilation.graphs, &compilation.output_codes})
        for (const auto& part : *parts) {
          const auto& event = log->events[part.event];
          Part place{part.name, {}};
          for (int k = 0; k < event.payload_lines; ++k)
            place.lines.push_back(static_cast<std::size_t>(event.line + k));
          (parts == &compilation.graphs ? graphs_ : programs_).push_back(std::move(place));
        }
  }

  /// `repeats`: in later stages too, wherever the same call stands.
  auto in_graph(bool repeats = false) -> std::optional<Planted> {
    repeats_ = repeats;
    for (int tries = 0; tries < 60; ++tries) {
      const auto& part = graphs_[random_() % graphs_.size()];
      const auto at = part.lines[random_() % part.lines.size()];
      std::smatch match;
      static const std::regex kCall(R"(^\t        (\w+)(?:: "[^"]*")? = (.*)$)");
      if (!std::regex_match(lines_[at], match, kCall) || !match[2].str().contains('(')) continue;
      if (auto planted = change(part, at, match[1].str())) return planted;
    }
    return std::nullopt;
  }

  auto in_kernel() -> std::optional<Planted> {
    if (programs_.empty()) return std::nullopt;
    for (int tries = 0; tries < 200; ++tries) {
      const auto& part = programs_[random_() % programs_.size()];
      const auto at = part.lines[random_() % part.lines.size()];
      static const std::regex kLine(R"(^\t    (    )?tmp\d+ = .*$)");
      if (!std::regex_match(lines_[at], kLine)) continue;
      auto copy = lines_;
      static const std::vector<std::pair<std::string, std::string>> kChanges = {
          {" + tmp", " - tmp"},
          {" * tmp", " + tmp"},
          {" - tmp", " + tmp"},
          {"1.0, tl.float32", "1.5, tl.float32"},
          {"0.5, tl.float32", "0.25, tl.float32"},
          {"libdevice.exp", "libdevice.sin"},
          {"triton_helpers.maximum", "triton_helpers.minimum"},
          {"libdevice.erf", "libdevice.sin"}};
      const auto& [from, to] = kChanges[random_() % kChanges.size()];
      const auto found = copy[at].find(from);
      if (found == std::string::npos) continue;
      copy[at].replace(found, from.size(), to);
      auto above = at;
      static const std::regex kKernel(R"(^\tdef (\w+)\(.*$)");
      std::smatch match;
      while (above > 0 && !std::regex_match(lines_[above], match, kKernel)) --above;
      return Planted{"kernel", part.stage, match[1].str(), {}, joined(copy)};
    }
    return std::nullopt;
  }

 private:
  auto change(const Part& part, std::size_t at, const std::string& name) -> std::optional<Planted> {
    Planted planted{"", part.stage, name, {}, {}};
    auto copy = lines_;
    auto& line = copy[at];
    const auto call = line.find(" = ") + 3;
    switch (random_() % 5) {
      case 0:
        planted.kind = "operator";
        for (const auto& [from, to] : kOperators)
          if (const auto found = line.find(from, call);
              found != std::string::npos && line == lines_[at])
            line.replace(found, from.size(), to);
        break;
      case 1: {
        planted.kind = "constant";
        static const std::regex kNumber(R"((, |[+*-] )(-?\d+\.?\d*)(?=[,);]))");
        std::smatch match;
        const auto tail = line.substr(call);
        if (std::regex_search(tail, match, kNumber) && !tail.contains("view") &&
            !tail.contains("reshape"))
          line.replace(call + static_cast<std::size_t>(match.position(2)), match[2].str().size(),
                       match[2].str().contains('.') ? match[2].str() + "7" : "2");
        break;
      }
      case 2: {
        planted.kind = "operands";
        static const std::regex kPair(R"(\((\w+), (\w+)([,)]))");
        line = line.substr(0, call) + std::regex_replace(line.substr(call), kPair, "($2, $1$3",
                                                         std::regex_constants::format_first_only);
        break;
      }
      case 3: {
        planted.kind = "dim";
        const auto one = line.find("[1]", line.find('(', call));
        const auto zero = line.find("[0]", line.find('(', call));
        if (one != std::string::npos)
          line.replace(one, 3, "[0]");
        else if (zero != std::string::npos)
          line.replace(zero, 3, "[1]");
        break;
      }
      default:
        if (repeats_) return std::nullopt;
        return dropped(part, at, name);
    }
    if (line == lines_[at]) return std::nullopt;
    const auto call_of = [](const std::string& text) { return text.substr(0, text.find(";  ")); };
    for (const auto& other : graphs_)
      for (const auto k : other.lines)
        if (repeats_ && k > at && call_of(copy[k]) == call_of(lines_[at])) copy[k] = line;
    planted.text = joined(copy);
    return planted;
  }

  /// Its first operand takes its place.
  auto dropped(const Part& part, std::size_t at, const std::string& name)
      -> std::optional<Planted> {
    Planted planted{"dropped", part.stage, name, {}, {}};
    static const std::regex kFirst(R"( = [\w.]+\((\w+)[,)].*)");
    std::smatch match;
    if (!std::regex_search(lines_[at], match, kFirst)) return std::nullopt;
    const auto operand = match[1].str();
    if (std::isdigit(static_cast<unsigned char>(operand[0])) != 0) return std::nullopt;
    auto copy = lines_;
    const std::regex use("\\b" + name + "\\b(?! =)");
    static const std::regex kName(R"(^\t        (\w+)(?:: "[^"]*")? = )");
    copy[at] = "\t        # no node";
    for (const auto k : part.lines) {
      if (k <= at) continue;
      // Names die in the same line, which the reader passes over.
      auto& line = copy[k];
      line = line.substr(0, line.find(";  "));
      const auto before = line;
      line = std::regex_replace(line, use, operand);
      if (line != before && std::regex_search(line, match, kName))
        planted.also.push_back(match[1].str());
    }
    planted.text = joined(copy);
    return planted;
  }

  std::vector<std::string> lines_;
  std::vector<Part> graphs_, programs_;
  std::mt19937 random_;
  bool repeats_ = false;
};

/// Values of all stages of the last compilation, each on what the stages before gave.
auto values_of(const std::string& text, const LogFile& file, const OpTable& table)
    -> std::map<std::string, StageRun> {
  std::map<std::string, StageRun> runs;
  const auto log = read_torch_trace(text);
  const auto all = compilations(*log);
  const auto stages = read_stages(*log, all.back(), table);
  auto inputs = stage_inputs(*log, all.back(), stages, &file.answers, {}, table);
  if (!inputs) return runs;
  add_tangents(stages, &file.answers, *inputs);
  for (const auto& stage : stages) {
    runs[stage.name] = run_stage(stage, inputs->values, inputs->attributes, table);
    for (const auto& [name, value] : runs[stage.name].values)
      if (!name.ends_with("after")) inputs->values.try_emplace(name, value);
  }
  return runs;
}

/// Does the stage give something else now, by more than `least` of the largest element?
auto is_changed(const StageRun& before, const StageRun& now, double least) -> bool {
  if (!now.not_run.empty()) return true;
  for (const auto& [name, value] : before.values) {
    const auto other = now.values.find(name);
    if (other == now.values.end()) return true;
    const auto *a = value.value.real(), *b = other->second.value.real();
    if (a == nullptr || b == nullptr || value.randomness == Randomness::numbers) continue;
    if (a->sizes() != b->sizes() || a->dtype() != b->dtype()) return true;
    const auto x = to_vector<double>(*a), y = to_vector<double>(*b);
    double largest = 0, distance = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isfinite(x[i])) largest = std::max(largest, std::abs(x[i]));
      if (std::isnan(x[i]) != std::isnan(y[i])) return true;
      if (x[i] != y[i] && !std::isnan(x[i])) distance = std::max(distance, std::abs(x[i] - y[i]));
    }
    if (distance > least * largest) return true;
  }
  return false;
}

struct Figures {
  int planted = 0, changed = 0, stage = 0, node = 0, region = 0;
  [[nodiscard]] auto text() const -> std::string {
    return fmt::format(
        "{} planted, {} change what the stage gives: stage named {}, node {}, {} more "
        "as the end of a region",
        planted, changed, stage, node, region);
  }
};

class StagesPlanted : public StagesCorpus {
 protected:
  /// The stages that did not run because they cannot be read count as changed and must be named.
  void plant(Figures& figures, const LogFile& file, const Planted& planted) {
    ++figures.planted;
    const auto before = values_of(file.text, file, table_),
               now = values_of(planted.text, file, table_);
    if (!before.contains(planted.stage) || !now.contains(planted.stage)) return;
    if (!is_changed(before.at(planted.stage), now.at(planted.stage),
                    file.name.contains("bf16") ? 0.25 : 1e-3))
      return;
    const auto& reason = now.at(planted.stage).not_run;
    if (!reason.empty() && now.at(planted.stage).refused_at.empty()) return;  // not run: says so
    ++figures.changed;
    const auto report = debug(file, planted.text);
    ASSERT_TRUE(report) << report.error().message;
    for (const auto& compilation : report->compilations)
      for (const auto& problem : compilation.problems) {
        if (problem.stage != planted.stage) continue;
        ++figures.stage;
        const auto& blame = problem.blame;
        if (blame.name == planted.name || blame.target == planted.name ||
            std::ranges::find(planted.also, blame.name) != planted.also.end())
          ++figures.node;
        else if (!blame.through.empty())
          ++figures.region;
        else
          std::cout << "  misses the node: " << describe(file, planted) << ", names " << blame.name
                    << "\n";
        return;
      }
    std::cout << "  misses the stage: " << describe(file, planted) << "\n";
  }
  static auto describe(const LogFile& file, const Planted& planted) -> std::string {
    return fmt::format("{} {} {} {}", file.name, planted.stage, planted.kind, planted.name);
  }
};

TEST_F(StagesPlanted, ChangesOfOneGraphAreFoundThere) {
  const std::uint32_t seed = 20;
  std::cout << "seed " << seed << "\n";
  std::map<std::string, Figures> kinds;
  Figures all;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (!files_[i].name.ends_with(".cuda.log") || files_[i].name.contains(kReallyDiffers)) continue;
    Planter planter(files_[i].text, seed + static_cast<std::uint32_t>(i));
    for (int k = 0; k < testing::wanted_graphs(4); ++k)
      if (const auto planted = planter.in_graph()) {
        plant(kinds[planted->kind + " in " + planted->stage], files_[i], *planted);
      }
  }
  for (const auto& [kind, figures] : kinds) {
    all.planted += figures.planted;
    all.changed += figures.changed;
    all.stage += figures.stage;
    all.node += figures.node;
    all.region += figures.region;
    std::cout << kind << ": " << figures.text() << "\n";
  }
  std::cout << "all: " << all.text() << "\n";
  EXPECT_GE(all.planted, 60);
  EXPECT_EQ(all.stage, all.changed);
  EXPECT_GE(all.node + all.region, all.stage * 9 / 10);
}

/// As a compiler does it: what is behind the wrong stage is wrong too. The program alone is right.
TEST_F(StagesPlanted, ChangesThatLaterGraphsRepeatAreFoundInTheFirst) {
  Figures all;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (!files_[i].name.ends_with(".cuda.log") || files_[i].name.contains(kReallyDiffers)) continue;
    Planter planter(files_[i].text, 300 + static_cast<std::uint32_t>(i));
    for (int k = 0; k < testing::wanted_graphs(4); ++k)
      if (const auto planted = planter.in_graph(true)) plant(all, files_[i], *planted);
  }
  std::cout << all.text() << "\n";
  // A call that every stage of its level refuses accuses nobody: those stages do not run.
  EXPECT_GE(all.stage, all.changed * 9 / 10);
  EXPECT_GE(all.node + all.region, all.stage * 9 / 10);
}

TEST_F(StagesPlanted, ChangesOfOneKernelAreFoundThere) {
  Figures all;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (!files_[i].name.ends_with(".cuda.log") || files_[i].name.contains(kReallyDiffers)) continue;
    Planter planter(files_[i].text, 7 + static_cast<std::uint32_t>(i));
    for (int k = 0; k < 2; ++k)
      if (const auto planted = planter.in_kernel()) plant(all, files_[i], *planted);
  }
  std::cout << all.text() << "\n";
  EXPECT_EQ(all.stage, all.changed);
  EXPECT_GE(all.node + all.region, all.stage * 9 / 10);
}

}  // namespace
}  // namespace assay
