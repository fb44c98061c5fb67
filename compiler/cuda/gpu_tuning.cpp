// Measuring ways to make a launch, in the place where the program launches it: what it reads is
// what it would read, so that indices from data are in bounds.
#include <algorithm>
#include <set>

#include "compiler/cuda/gpu_program.h"
#include "compiler/program/access_steps.h"

namespace assay {
namespace {

constexpr int kRounds = 5, kRepeats = 10;

/// Parameters that a kernel loads from, and those that it stores to.
struct Touched {
  std::set<std::size_t> read, written;
  bool has_atomics = false;
};
auto touched_by(const TileKernel& kernel) -> Touched {
  Touched touched;
  const AccessSteps steps(kernel);
  for (const auto* one : steps.accesses()) {
    if (const auto* load = std::get_if<TileLoad>(&one->what)) touched.read.insert(load->param);
    if (const auto* store = std::get_if<TileStore>(&one->what))
      touched.written.insert(store->param);
    if (const auto* atomic = std::get_if<TileAtomic>(&one->what)) {
      touched.written.insert(atomic->param);
      touched.has_atomics = true;
    }
  }
  return touched;
}

auto median(std::vector<double> all) -> double {
  std::ranges::nth_element(all, all.begin() + std::ssize(all) / 2);
  return all[all.size() / 2];
}

}  // namespace

auto GpuProgram::saved_writes(const Launch& launch) -> Result<std::vector<Written>> {
  const auto& bound = std::get<BoundLaunch>(bound_.steps[launch.step]);
  std::vector<Written> all;
  for (const auto param : touched_by(*launch.kernel).written) {
    if (param >= bound.arguments.size() || !bound.arguments[param].buffer) continue;
    const auto buffer = *bound.arguments[param].buffer;
    auto& one = all.emplace_back();
    one.at = places_[buffer];
    one.bytes = static_cast<std::size_t>(bound_.buffers[buffer].size_bytes);
    ASSAY_TRY(one.saved, driver_.allocate(one.bytes));
    ASSAY_TRY_VOID(driver_.copy(one.saved, one.at, one.bytes));
  }
  return all;
}

/// Does it find the same again when it has run? Buffers may lie over each other.
auto GpuProgram::may_repeat(const Launch& launch, const std::vector<Written>& written) const
    -> bool {
  const auto& bound = std::get<BoundLaunch>(bound_.steps[launch.step]);
  const auto touched = touched_by(*launch.kernel);
  if (touched.has_atomics) return false;
  for (const auto param : touched.read) {
    if (param >= bound.arguments.size() || !bound.arguments[param].buffer) continue;
    const auto buffer = *bound.arguments[param].buffer;
    const auto begin = places_[buffer];
    const auto end = begin + static_cast<std::uint64_t>(bound_.buffers[buffer].size_bytes);
    for (const auto& one : written)
      if (begin < one.at + one.bytes && one.at < end) return false;
  }
  return true;
}

auto GpuProgram::tune(Part& part, std::size_t first, GpuLoader& loader) -> Result<TunedLaunch> {
  const auto launch = std::get<Launch>(part.items[first]);
  const auto& bound = std::get<BoundLaunch>(bound_.steps[launch.step]);
  const auto& name = bound_.kernels[bound.kernel];
  TunedLaunch tuned{.kernel = launch.kernel->name, .statement = launch.op->text, .tried = {}};
  const auto offers = loader.offers(name, asked(bound));
  if (offers.size() < 2) {
    tuned.is_known = !offers.empty();
    if (tuned.is_known) tuned.tried.emplace_back(way_text(offers[0].way), 0);
    return tuned;
  }
  ASSAY_TRY(const auto written, saved_writes(launch));
  const auto restore = [&]() -> Result<void> {
    for (const auto& one : written) ASSAY_TRY_VOID(driver_.copy(one.at, one.saved, one.bytes));
    return {};
  };
  const bool repeats = may_repeat(launch, written);
  const auto measured = [&](const auto& issue_once) -> Result<double> {
    std::vector<double> seconds;
    for (int round = 0; round <= kRounds; ++round) {
      if (!repeats) ASSAY_TRY_VOID(restore());
      ASSAY_TRY_VOID(driver_.start_clock());
      const int times = repeats && round > 0 ? kRepeats : 1;
      for (int i = 0; i < times; ++i) ASSAY_TRY_VOID(issue_once());
      ASSAY_TRY(const auto milliseconds, driver_.stop_clock());
      if (round > 0) seconds.push_back(milliseconds * 1e-3 / times);
    }
    return median(std::move(seconds));
  };
  std::size_t best_offer = 0;
  for (std::size_t at = 0; at < offers.size(); ++at) {
    const auto& offer = offers[at];
    auto seconds = Result<double>(0.0);
    if (offer.loaded) {
      Item trial = made_launch(bound, {{*offer.loaded}, {}, {}}, 0, {}, launch.record);
      std::get<Launch>(trial).step = launch.step;
      seconds = measured([&] { return issue(trial, part.first + first); });
    } else {
      seconds = measured([&]() -> Result<void> {
        for (auto i = first; i < part.items.size(); ++i) {
          const auto* same = std::get_if<Launch>(&part.items[i]);
          if (same == nullptr || same->step != launch.step) break;
          ASSAY_TRY_VOID(issue(part.items[i], part.first + i));
        }
        return {};
      });
    }
    if (!seconds) continue;  // more threads or registers than the GPU has
    tuned.tried.emplace_back(way_text(offer.way), *seconds);
    if (*seconds >= tuned.tried[tuned.best].second && tuned.tried.size() > 1) continue;
    tuned.best = tuned.tried.size() - 1;
    best_offer = at;
  }
  // What is hardly faster may be so by chance.
  constexpr double kWorthIt = 0.97;
  if (!tuned.tried.empty() &&
      tuned.tried[tuned.best].second > kWorthIt * tuned.tried.front().second)
    tuned.best = best_offer = 0;
  ASSAY_TRY_VOID(restore());
  ASSAY_TRY_VOID(driver_.wait());
  for (const auto& one : written) driver_.free(one.saved);
  if (!tuned.tried.empty()) loader.prefer(name, asked(bound), offers[best_offer].way);
  return tuned;
}

auto GpuProgram::tune(const DatumList& inputs, GpuLoader& loader)
    -> Result<std::vector<TunedLaunch>> {
  std::vector<TunedLaunch> all;
  ASSAY_TRY_VOID(send(inputs));
  for (auto& part : parts_) {
    if (part.items.empty()) {
      ASSAY_TRY_VOID(on_host(part.step));
      continue;
    }
    std::optional<std::size_t> last;
    for (std::size_t i = 0; i < part.items.size(); ++i) {
      if (const auto* launch = std::get_if<Launch>(&part.items[i]); launch != nullptr) {
        if (last != launch->step) {
          ASSAY_TRY(auto tuned, tune(part, i, loader));
          if (!tuned.tried.empty()) all.push_back(std::move(tuned));
        }
        last = std::get<Launch>(part.items[i]).step;
      }
      ASSAY_TRY_VOID(issue(part.items[i], part.first + i));
    }
  }
  ASSAY_TRY_VOID(driver_.wait());
  return all;
}

}  // namespace assay
