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

auto GpuProgram::saved_writes(const BoundLaunch& bound, const TileKernel& kernel)
    -> Result<std::vector<Written>> {
  std::vector<Written> all;
  for (const auto param : touched_by(kernel).written) {
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
auto GpuProgram::may_repeat(const BoundLaunch& bound, const TileKernel& kernel,
                            const std::vector<Written>& written) const -> bool {
  const auto touched = touched_by(kernel);
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

auto GpuProgram::tune(std::size_t at, GpuLoader& loader) -> Result<TunedLaunch> {
  auto& step = steps_[at];
  const auto launch = std::get<Launch>(step.items.front());
  const auto& bound = std::get<BoundLaunch>(bound_.steps[at]);
  const auto& name = bound_.kernels[bound.kernel];
  TunedLaunch tuned{.kernel = launch.kernel->name, .statement = launch.op->text, .tried = {}};
  const auto offers = loader.offers(name, asked(bound));
  if (offers.size() < 2) {
    tuned.is_known = !offers.empty();
    if (tuned.is_known) tuned.tried.emplace_back(way_text(offers[0].way), 0);
    return tuned;
  }
  ASSAY_TRY(const auto written, saved_writes(bound, *launch.kernel));
  const auto restore = [&]() -> Result<void> {
    for (const auto& one : written) ASSAY_TRY_VOID(driver_.copy(one.at, one.saved, one.bytes));
    return {};
  };
  const bool repeats = may_repeat(bound, *launch.kernel, written);
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
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const auto& offer = offers[i];
    auto seconds = Result<double>(0.0);
    if (offer.loaded) {
      Item trial = made_launch(bound, {{*offer.loaded}, {}, {}}, 0, {}, launch.record);
      seconds = measured([&] { return issue(trial, step.first); });
    } else {
      seconds = measured([&] { return issue(step); });
    }
    if (!seconds) continue;  // more threads or registers than the GPU has
    tuned.tried.emplace_back(way_text(offer.way), *seconds);
    if (*seconds >= tuned.tried[tuned.best].second && tuned.tried.size() > 1) continue;
    tuned.best = tuned.tried.size() - 1;
    best_offer = i;
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
  if (!is_complete_) {
    ASSAY_TRY_VOID(send(inputs));
    ASSAY_TRY_VOID(run_steps());
  }
  ASSAY_TRY_VOID(send(inputs));
  for (std::size_t at = 0; at < steps_.size(); ++at) {
    auto& step = steps_[at];
    if (!step.items.empty() && std::holds_alternative<BoundLaunch>(bound_.steps[at])) {
      ASSAY_TRY(auto tuned, tune(at, loader));
      if (!tuned.tried.empty()) all.push_back(std::move(tuned));
    }
    ASSAY_TRY_VOID(step.is_on_host ? on_host(at) : issue(step));
  }
  ASSAY_TRY_VOID(driver_.wait());
  return all;
}

}  // namespace assay
