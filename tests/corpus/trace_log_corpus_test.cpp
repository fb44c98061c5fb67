// Trace logs of real compilations: read whole, wrappers and kernels understood, bounds proved, and
// faults planted into them found.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <regex>

#include <gtest/gtest.h>

#include "compiler/prove/wrapper_bounds.h"
#include "compiler/read/wrapper.h"
#include "replay/formats/torch_trace.h"
#include "tests/support/corpus.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// One Inductor program of a log, with what its compilation knows.
struct Program {
  std::string name, text;
  ShapeEnv env;
};

class TraceLogCorpus : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto folder = testing::unpacked_corpus("torch_trace");
    if (!folder) GTEST_SKIP() << testing::corpus_missing();
    files_ = testing::files_ending(*folder, ".log");
    ASSERT_FALSE(files_.empty());
  }

  static auto read(const fs::path& path) -> TraceLog {
    auto log = read_torch_trace(testing::read_text(path));
    EXPECT_TRUE(log) << path << ": " << log.error().message;
    return log ? std::move(*log) : TraceLog{};
  }

  auto programs() -> std::vector<Program> {
    std::vector<Program> result;
    for (const auto& file : files_) {
      const auto log = read(file);
      for (const auto& compilation : compilations(log)) {
        const auto shapes = trace_shapes(log, compilation);
        EXPECT_TRUE(shapes.skipped.empty()) << file << ": " << shapes.skipped.front();
        for (const auto& part : compilation.output_codes)
          result.push_back({file.filename().string() + " " + part.name,
                            log.events[part.event].payload, shapes.env});
      }
    }
    return result;
  }

  std::vector<fs::path> files_;
};

TEST_F(TraceLogCorpus, EveryEventIsReadAndCountedByKind) {
  // Counted without the reader: a header line is one that a regular expression finds.
  const std::regex header(R"re(^[VIWEC]\d{4} [^\]]*\] \{"(\w+)")re");
  for (const auto& file : files_) {
    std::map<std::string, int> wanted, got;
    std::istringstream text(testing::read_text(file));
    for (std::string line; std::getline(text, line);)
      if (std::smatch found; !line.starts_with('\t') && std::regex_search(line, found, header))
        ++wanted[found[1]];
    const auto log = read(file);
    for (const auto& event : log.events) ++got[event.kind];
    EXPECT_EQ(got, wanted) << file;
    EXPECT_EQ(log.skipped_lines, 0) << file;
  }
}

TEST_F(TraceLogCorpus, PayloadsHaveTheirHashUnlessPathsWereRemovedFromThem) {
  int verified = 0, different = 0;
  for (const auto& file : files_)
    for (const auto& event : read(file).events) {
      verified += event.hash == PayloadHash::verified || event.hash == PayloadHash::repaired;
      if (event.hash != PayloadHash::differs) continue;
      ++different;
      // The recorder took machine paths out, which the hash then no longer covers.
      const std::regex traces(R"(site-packages|cache/|tmp/|\.py|_key|"key")");
      EXPECT_TRUE(std::regex_search(event.payload, traces))
          << file << ":" << event.line << ": " << event.kind;
    }
  std::cout << verified << " hashes verified, " << different << " differ\n";
  EXPECT_GT(verified, different);
}

TEST_F(TraceLogCorpus, GraphsRead) {
  int graphs = 0;
  for (const auto& file : files_) {
    const auto log = read(file);
    for (const auto& compilation : compilations(log))
      for (const auto& part : compilation.graphs) {
        // A joint graph takes its arguments as two tuples, which the graph reader does not know.
        if (part.name.starts_with("aot_joint_graph")) continue;
        const auto graph = trace_graph(log, part);
        ASSERT_TRUE(graph) << file << ": " << graph.error().message;
        EXPECT_TRUE(verify(*graph).empty()) << file << ": " << part.name;
        ++graphs;
      }
  }
  std::cout << graphs << " graphs\n";
  EXPECT_GT(graphs, 0);
}

TEST_F(TraceLogCorpus, WrappersAndKernelsAreUnderstood) {
  std::size_t lines = 0, bad_lines = 0, kernels = 0, bad_kernels = 0;
  for (const auto& [name, text, env] : programs()) {
    auto program = read_wrapper(text, env);
    ASSERT_TRUE(program) << name << ": " << program.error().message;
    lines += static_cast<std::size_t>(program->statements);
    bad_lines += program->not_understood.size();
    for (const auto& line : program->not_understood)
      std::cout << name << ":" << line.line << ": " << line.text << " (" << line.reason << ")\n";
    for (const auto& [key, source] : program->kernels) {
      ++kernels;
      if (source.kernel && source.kernel->is_understood()) continue;
      ++bad_kernels;
      std::cout << name << ": kernel " << key << "\n";
    }
  }
  std::cout << bad_lines << " of " << lines << " statements, " << bad_kernels << " of " << kernels
            << " kernels not understood\n";
  EXPECT_LE(100 * bad_lines, lines);
  EXPECT_LE(10 * bad_kernels, kernels);
}

TEST_F(TraceLogCorpus, NothingIsRefutedAndLittleIsUnknown) {
  std::map<std::string, int> answers;
  std::size_t total = 0, unknown = 0;
  for (const auto& [name, text, env] : programs()) {
    const auto program = read_wrapper(text, env);
    ASSERT_TRUE(program) << name;
    for (const auto& obligation : check_wrapper(*program).obligations) {
      ++total;
      unknown += std::holds_alternative<Unknown>(obligation.answer);
      EXPECT_FALSE(std::holds_alternative<Refuted>(obligation.answer))
          << name << ":" << obligation.line << ": " << obligation.claim << ": "
          << obligation.message;
    }
  }
  std::cout << unknown << " of " << total << " obligations unknown\n";
  EXPECT_LE(20 * unknown, total);
}

/// Changes to a wrapper that are faults whatever the sizes are, by construction.
class Planter {
 public:
  Planter(std::string text, std::mt19937_64& random) : text_(std::move(text)), random_(random) {}

  /// One fault of a random kind, or nothing if the program has no place for it.
  auto plant() -> std::optional<std::string> {
    switch (random_() % 6) {
      case 0:
        return shrink_allocation();
      case 1:
        return shift_view();
      case 2:
        return shift_store();
      case 3:
        return widen_mask();
      case 4:
        return drop_mask();
      default:
        return delete_early();
    }
  }
  [[nodiscard]] auto what() const -> const std::string& { return what_; }

 private:
  auto pick(const std::string& pattern) -> std::optional<std::smatch> {
    const std::regex regex(pattern, std::regex::multiline);
    std::vector<std::smatch> found(std::sregex_iterator(text_.begin(), text_.end(), regex),
                                   std::sregex_iterator());
    if (found.empty()) return std::nullopt;
    return found[random_() % found.size()];
  }
  auto with(const std::smatch& place, std::size_t group, const std::string& by) -> std::string {
    auto changed = text_;
    changed.replace(static_cast<std::size_t>(place.position(group)),
                    static_cast<std::size_t>(place.length(group)), by);
    const auto line = 1 + std::count(text_.begin(), text_.begin() + place.position(group), '\n');
    what_ = std::to_string(line) + ": `" + place[group].str() + "` became `" + by + "`";
    return changed;
  }

  /// A buffer that is one row short. (A size of 1 would leave nothing.)
  auto shrink_allocation() -> std::optional<std::string> {
    const auto place = pick(R"(buf\d+ = empty_strided_cuda\(\(([^,()]+),)");
    if (!place || place->str(1) == "1") return std::nullopt;
    return with(*place, 1, "(-1) + " + place->str(1));
  }
  /// A view of a whole buffer that starts one element later.
  auto shift_view() -> std::optional<std::string> {
    const auto place = pick(R"(reinterpret_tensor\(\w+, \([^()]*\), \([^()]*\), (0)\))");
    if (!place) return std::nullopt;
    return with(*place, 1, "1");
  }
  /// Stores fill their buffer to the end in all of these programs.
  auto shift_store() -> std::optional<std::string> {
    const auto place = pick(R"(tl\.store\(\w+ \+ (\()\w)");
    if (!place) return std::nullopt;
    return with(*place, 1, "(1 + ");
  }
  auto widen_mask() -> std::optional<std::string> {
    const auto place = pick(R"(mask = \w+index (<) \w+numel)");
    if (!place || is_masked_by_blocks(*place)) return std::nullopt;
    return with(*place, 1, "<=");
  }
  auto drop_mask() -> std::optional<std::string> {
    const auto place = pick(R"(tl\.store\(.*, ([xyr0_mask &]+)\)$)");
    if (!place || is_masked_by_blocks(*place)) return std::nullopt;
    return with(*place, 1, "None");
  }
  /// Extents that every block size divides need no mask.
  auto is_masked_by_blocks(const std::smatch& place) -> bool {
    const auto start =
        text_.rfind("async_compile.triton(", static_cast<std::size_t>(place.position(0)));
    const auto name_at = text_.find('\'', start) + 1;
    const auto name = text_.substr(name_at, text_.find('\'', name_at) - name_at);
    const std::regex launch(name + R"(\.run\(.*\))");
    std::smatch found;
    if (!std::regex_search(text_, found, launch)) return true;  // never launched
    const std::regex number(R"(, (\d+),)");
    const auto call = found[0].str();
    for (std::sregex_iterator it(call.begin(), call.end(), number), end; it != end; ++it)
      if (std::stoll((*it)[1].str()) % 64 == 0) return true;
    return false;
  }
  /// The buffer goes before its last use.
  auto delete_early() -> std::optional<std::string> {
    const auto place = pick(R"(^( +)(buf\d+) = empty_strided_cuda\(.*$)");
    if (!place) return std::nullopt;
    const auto name = place->str(2);
    const auto end = static_cast<std::size_t>(place->position(0) + place->length(0));
    if (!std::regex_search(text_.substr(end), std::regex("[^\\w]" + name + "[^\\w]")))
      return std::nullopt;
    what_ = name + " is deleted where it is made";
    auto changed = text_;
    changed.insert(end, "\n" + place->str(1) + "del " + name);
    return changed;
  }

  std::string text_;
  std::mt19937_64& random_;
  std::string what_;
};

TEST_F(TraceLogCorpus, TwoHundredPlantedFaultsAreFoundWithAWitness) {
  const auto* set = std::getenv("ASSAY_SEED");
  const auto seed = set != nullptr ? std::strtoull(set, nullptr, 10) : 20261122ULL;
  std::cout << "ASSAY_SEED=" << seed << "\n";
  std::mt19937_64 random(seed);
  const auto all = programs();
  int planted = 0, found = 0;
  std::size_t total = 0, unknown = 0;
  for (int attempt = 0; planted < 200 && attempt < 4000; ++attempt) {
    const auto& [name, text, env] = all[random() % all.size()];
    Planter planter(text, random);
    const auto faulty = planter.plant();
    if (!faulty) continue;
    ++planted;
    const auto program = read_wrapper(*faulty, env);
    ASSERT_TRUE(program) << name << ": " << planter.what();
    const auto report = check_wrapper(*program);
    bool is_found = false;
    for (const auto& obligation : report.obligations) {
      ++total;
      unknown += std::holds_alternative<Unknown>(obligation.answer);
      const auto* refuted = std::get_if<Refuted>(&obligation.answer);
      // A constant bound, a rank and a deleted name need no sizes to be wrong at.
      is_found = is_found ||
                 (refuted != nullptr && (!refuted->witness.empty() || !obligation.message.empty()));
    }
    EXPECT_TRUE(is_found) << name << " " << planter.what();
    found += is_found;
  }
  std::cout << found << " of " << planted << " found, " << unknown << " of " << total
            << " obligations unknown\n";
  EXPECT_EQ(planted, 200);
  EXPECT_LE(20 * unknown, total);
}

}  // namespace
}  // namespace assay
