// Runs a fuzz target on its seeds and on mutations of them, without libFuzzer: the same inputs for
// the same arguments, under any compiler.
//   TARGET SEEDS [--runs N] [--seconds S] [--seed K]
// Runs N mutations, or as many as fit into S seconds. An input that crashes or takes too long is
// written to crash-TARGET in the current folder.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>

#include "tests/fuzz/fuzz_target.h"

namespace {

namespace fs = std::filesystem;

constexpr unsigned kInputSeconds = 60;  // under sanitizers on a busy machine
constexpr std::size_t kMaxInputBytes = 16384;
// A signal handler reaches nothing but globals.
std::string g_input;   // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
std::string g_output;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

extern "C" void save_input(int signal) {
  const int file = ::open(g_output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file >= 0) {
    [[maybe_unused]] const auto written = ::write(file, g_input.data(), g_input.size());
    ::close(file);
  }
  constexpr std::string_view kNote =
      "the input is in crash-*; SIGALRM means that it took too long\n";
  [[maybe_unused]] const auto noted = ::write(STDERR_FILENO, kNote.data(), kNote.size());
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

class Mutator {
 public:
  Mutator(const std::vector<std::string>& seeds, std::uint64_t seed)
      : seeds_(seeds), random_(seed) {}

  auto next() -> std::string {
    auto text = seeds_[below(seeds_.size())];
    for (auto steps = 1 + below(6); steps > 0; --steps) step(text);
    if (text.size() > kMaxInputBytes) text.resize(kMaxInputBytes);
    return text;
  }

 private:
  auto below(std::size_t limit) -> std::size_t { return limit == 0 ? 0 : random_() % limit; }

  void step(std::string& text) {
    static constexpr std::array<std::string_view, 24> kWords = {"0",
                                                                "-1",
                                                                "9223372036854775807",
                                                                "-9223372036854775808",
                                                                "1e999",
                                                                "nan",
                                                                "s0",
                                                                "u0",
                                                                "(",
                                                                ")",
                                                                "[",
                                                                "]",
                                                                "{",
                                                                "}",
                                                                "//",
                                                                "**",
                                                                ",",
                                                                ":",
                                                                "\"",
                                                                "'",
                                                                "\n",
                                                                "\n    ",
                                                                "\0",
                                                                "\xff"};
    const auto at = below(text.size() + 1);
    const auto length = std::min(below(32), text.size() - at);
    switch (below(7)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random_());
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, kWords[below(kWords.size())]);
        break;
      case 3:
        text.replace(at, length, kWords[below(kWords.size())]);
        break;
      case 4:
        text.insert(below(text.size() + 1), text.substr(at, length));
        break;
      case 5: {  // the rest of another seed
        const auto& other = seeds_[below(seeds_.size())];
        text.replace(at, std::string::npos, other.substr(below(other.size() + 1)));
        break;
      }
      default: {  // the same piece many times
        const auto piece = text.substr(at, length);
        std::string many;
        for (auto times = below(200); times > 0; --times) many += piece;
        text.insert(at, many);
      }
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_;
};

auto read_seeds(const fs::path& folder) -> std::vector<std::string> {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const auto& path : paths) {
    std::ifstream stream(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return seeds;
}

void run_one(std::string input) {
  g_input = std::move(input);
  ::alarm(kInputSeconds);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(g_input.data()), g_input.size());
  ::alarm(0);
}

auto number_after(const std::vector<std::string>& args, std::string_view option,
                  std::uint64_t other) -> std::uint64_t {
  const auto found = std::find(args.begin(), args.end(), option);
  return found == args.end() || found + 1 == args.end() ? other : std::stoull(*(found + 1));
}

}  // namespace

auto main(int argc, char** argv) -> int {
  const std::vector<std::string> args(argv, argv + argc);
  const auto seeds = args.size() < 2 ? std::vector<std::string>() : read_seeds(args[1]);
  if (seeds.empty()) {
    std::fprintf(stderr, "usage: %s SEEDS [--runs N] [--seconds S] [--seed K]\n", argv[0]);
    return 2;
  }
  const auto seed = number_after(args, "--seed", 1);
  const auto seconds = std::chrono::seconds(number_after(args, "--seconds", 0));
  const auto runs = number_after(args, "--runs", 1000);
  g_output = "crash-" + fs::path(args[0]).filename().string();
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL, SIGALRM})
    ::signal(signal, save_input);

  for (const auto& input : seeds) run_one(input);
  Mutator mutator(seeds, seed);
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t done = 0;
  while (seconds.count() > 0 ? std::chrono::steady_clock::now() - start < seconds : done < runs) {
    run_one(mutator.next());
    ++done;
  }
  std::printf("%zu seeds and %llu mutations of them (seed %llu)\n", seeds.size(),
              static_cast<unsigned long long>(done), static_cast<unsigned long long>(seed));
  return 0;
}
