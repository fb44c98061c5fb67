#include "minifier/search/minify.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/expr/text.h"
#include "core/graph/text.h"
#include "minifier/edits/patches.h"
#include "minifier/search/condition.h"
#include "minifier/search/minimal.h"
#include "minifier/search/sizes.h"

namespace assay {
namespace {

/// A failure seen in fewer than all runs is repeated until missing it has this probability.
constexpr double kMissProbability = 0.01;
constexpr int kMostAttempts = 20;
constexpr int kMostRounds = 4;

class Minifier {
 public:
  Minifier(Capture capture, Oracle& oracle, AnswerStore& store, const OpTable& table,
           const MinifyOptions& options)
      : oracle_(oracle),
        table_(table),
        options_(options),
        session_(oracle, store, options.limits, options.budget),
        best_(std::move(capture)) {
    result_.original = best_;
    result_.oracle = oracle.identity();
    result_.check = oracle.compile_check();
    session_.on_answer = [this](const Candidate& candidate, const Observed& observed) {
      answered(candidate, observed);
    };
  }

  auto run() -> Result<MinifyResult> {
    phase_ = "original";
    ASSAY_TRY_VOID(measure());
    if (result_.reproduced) {
      for (int round = 0; round < kMostRounds && !session_.exhausted(); ++round) {
        const auto before = content_hash_of(best_);
        structure();
        if (options_.values) values();
        if (content_hash_of(best_) == before) break;
      }
      if (options_.values && !session_.exhausted()) finish_values();
      confirm();
    }
    return finish();
  }

 private:
  // ---- the original -----------------------------------------------------------------------------

  /// Asks for the failure to look for, how long it takes and how often it shows.
  auto measure() -> Result<void> {
    const Program program(best_, table_);
    const Candidate original(program, program.everything());
    auto first = session_.ask(original);
    const int runs = std::max(options_.confirmations, 1);
    int failures = 0;
    for (int i = 0; i < runs; ++i) {
      const auto seen = i == 0 ? first : session_.ask(original, {}, i);
      if (session_.counts().queries + session_.counts().cached == 0)
        return std::unexpected(
            Error{ErrorCode::undecided, "out of budget before the first answer"});
      if (!is_failure(seen)) continue;
      if (failures++ == 0) {
        first = seen;
        session_.want(wanted_of(seen), options_.match);
      }
    }
    result_.reproduced = failures > 0;
    result_.wanted = session_.wanted();
    result_.failure_rate = static_cast<double>(failures) / runs;
    result_.confirmations = runs;
    if (failures > 0 && failures < runs) {
      const double miss = 1 - result_.failure_rate;
      const double needed = std::ceil(std::log(kMissProbability) / std::log(miss));
      session_.set_attempts(std::clamp(static_cast<int>(needed), 2, kMostAttempts));
      result_.warnings.push_back(
          fmt::format("the failure shows in {} of {} runs: each candidate is "
                      "tried up to {} times",
                      failures, runs, session_.attempts()));
    }
    if (options_.default_timeout) {
      auto limits = session_.limits();
      limits.seconds = std::clamp(10 * first.seconds, 1.0, 300.0);
      session_.set_limits(limits);
    }
    suspects_ = oracle_.suspects(first);
    if (suspects_.empty() && result_.reproduced && first.first_output >= 0) tap();
    return {};
  }
  /// One run that returns every tensor: the first that is wrong is where values part, unless what
  /// is returned changes the failure.
  void tap() {
    auto tapped = best_;
    std::vector<std::string> names;
    SequenceArg every{{}, true};
    for (const auto& node : best_.graph.nodes)
      if (node.kind == NodeKind::call_function && node.claim.tensor()) {
        every.items.push_back(Arg{node.id});
        names.push_back(node.name);
      }
    auto& last = tapped.graph.nodes.back();
    if (last.kind != NodeKind::output || names.empty()) return;
    last.args = {Arg{std::move(every)}};
    phase_ = "tap";
    const auto seen = session_.ask(Candidate(std::move(tapped)));
    const auto at = static_cast<std::size_t>(std::max(seen.first_output, 0));
    if (seen.first_output >= 0 && at < names.size()) suspects_ = {names[at]};
  }
  static auto is_failure(const Observed& seen) -> bool {
    return seen.outcome != Outcome::passes && seen.outcome != Outcome::invalid;
  }
  static auto wanted_of(const Observed& seen) -> Signature {
    if (seen.outcome == Outcome::fails) return seen.signature;
    return {.stage = "limits", .error_class = std::string(name(seen.outcome))};
  }

  // ---- calls ------------------------------------------------------------------------------------

  void structure() {
    const PassScope pass(*this, "calls");
    const auto owned = std::make_shared<const Program>(best_, table_);
    const auto& program = *owned;
    program_ = owned;
    const auto& calls = program.calls();
    const auto select = [&](const Kept& kept) {
      auto selection = program.nothing();
      for (const int i : kept)
        selection.keep[static_cast<std::size_t>(calls[static_cast<std::size_t>(i)])] = true;
      return Candidate(program, std::move(selection));
    };
    const auto test = [&](const Kept& kept, const std::vector<Kept>& ahead) {
      if (kept.empty()) return false;
      std::vector<Candidate> next;
      if (session_.limits().workers > 1)
        for (const auto& other : ahead) next.push_back(select(other));
      const auto candidate = select(kept);
      if (!session_.reproduces(candidate, next)) return false;
      best_selection_ = candidate.selection();
      return true;
    };
    best_selection_ = program.everything();
    Minimal minimal(static_cast<int>(calls.size()), test);
    const auto suspected = suspected_calls(program);
    const auto kept =
        !suspected.empty() && test(suspected, {}) ? minimal.sweep(suspected) : minimal.run();
    if (!kept.empty() && !session_.exhausted()) best_selection_ = select(kept).selection();
    result_.one_minimal = !session_.exhausted();
    best_ = program.cut(best_selection_);
  }

  auto suspected_calls(const Program& program) const -> Kept {
    Kept kept;
    const auto& calls = program.calls();
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const auto& name = program.graph().nodes[static_cast<std::size_t>(calls[i])].name;
      if (std::ranges::find(suspects_, name) != suspects_.end())
        kept.push_back(static_cast<int>(i));
    }
    return kept;
  }

  // ---- values -----------------------------------------------------------------------------------

  void values() {
    for (const auto& kind : patch_kinds()) {
      if (session_.exhausted()) return;
      patches(kind);
    }
    if (session_.exhausted()) return;
    const PassScope pass(*this, "sizes");
    best_ = shrink_sizes(best_, table_, options_.smallest_sizes, tester());
    if (!session_.exhausted()) best_ = shrink_constants(best_, table_, tester());
  }

  void patches(const PatchKind& kind) {
    const auto all = kind.enumerate(best_);
    if (all.empty()) return;
    const PassScope pass(*this, std::string(kind.name));
    const auto base = best_;
    const int refusals = count_refusals(base, table_);
    auto smallest = base;
    const auto test = [&](const Kept& withheld, const std::vector<Kept>&) {
      auto cut = apply_patches(base, kind, all, withheld, table_);
      if (!cut || !is_sound(*cut, table_, refusals)) return withheld.size() == all.size();
      if (!session_.reproduces(Candidate(*cut))) return false;
      smallest = *std::move(cut);
      return true;
    };
    const auto withheld = Minimal(static_cast<int>(all.size()), test).run();
    if (auto cut = apply_patches(base, kind, all, withheld, table_);
        cut && is_sound(*cut, table_, refusals) && session_.reproduces(Candidate(*cut)))
      smallest = *std::move(cut);
    best_ = std::move(smallest);
  }

  /// The condition over the symbols, then symbols that need not be symbols.
  void finish_values() {
    {
      const PassScope pass(*this, "condition");
      result_.fails_iff = find_condition(best_, table_, tester());
    }
    const PassScope pass(*this, "static");
    const auto content = content_hash_of(best_);
    for (const auto& [symbol, value] : sorted_sizes(sizes_of(best_, table_))) {
      auto cut = make_static(best_, symbol, value);
      if (verify(cut.graph).empty() && session_.reproduces(Candidate(cut))) best_ = std::move(cut);
    }
    // What a symbol's range forbids, a number may be.
    if (content_hash_of(best_) != content) best_ = shrink_constants(best_, table_, tester());
  }

  [[nodiscard]] auto tester() -> CaptureTest {
    return [this](const Capture& capture) {
      return verify(capture.graph).empty() && session_.reproduces(Candidate(capture));
    };
  }

  // ---- the end ----------------------------------------------------------------------------------

  /// How often the minimal failure shows, over as many runs as the original had.
  void confirm() {
    phase_ = "confirm";
    const Program program(best_, table_);
    best_ = program.cut(program.everything());
    const Candidate candidate(best_);
    int failures = 0;
    int runs = 0;
    for (; runs < result_.confirmations && !session_.exhausted(); ++runs)
      failures += session_.is_wanted(session_.ask(candidate, {}, runs)) ? 1 : 0;
    if (runs > 0) result_.failure_rate = static_cast<double>(failures) / runs;
    if (runs > 0 && failures == 0 && session_.attempts() == 1)
      result_.warnings.emplace_back("the minimal failure did not show again: it may be flaky");
  }

  auto finish() -> MinifyResult {
    result_.minimal = std::move(best_);
    result_.complete = !session_.exhausted();
    result_.queries = session_.counts().queries;
    result_.cached = session_.counts().cached;
    result_.seconds = session_.seconds();
    result_.others = session_.others();
    if (sibling_) {
      const auto capture = sibling_->capture();
      result_.passing_sibling = print_graph(capture.graph);
      result_.sibling_change = fmt::format("{} calls, does not fail", capture.graph.call_count());
    }
    return std::move(result_);
  }

  void answered(const Candidate& candidate, const Observed& observed) {
    if (observed.outcome == Outcome::passes) note_sibling(candidate);
    if (options_.progress) options_.progress(phase_, best_.graph.call_count(), session_.counts());
    if (options_.on_step) report_step(candidate, observed);
    if (!options_.log) return;
    nlohmann::ordered_json line{{"phase", phase_},
                                {"key", fmt::format("{:016x}", candidate.key())},
                                {"calls", candidate.calls()},
                                {"outcome", name(observed.outcome)},
                                {"failure", to_string(observed.signature)},
                                {"seconds", observed.seconds}};
    options_.log(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  void report_step(const Candidate& candidate, const Observed& observed) {
    MinifyStep step{
        .seq = steps_++,
        .parent = best_step_,
        .phase = phase_,
        .key = candidate.key(),
        .calls = candidate.calls(),
        .observed = observed,
        .is_wanted = phase_ == "original" ? is_failure(observed) : session_.is_wanted(observed),
        .at_seconds = session_.seconds(),
        .text = {}};
    if (step.calls <= kMostStepCalls)
      step.text = print_graph(candidate.capture().graph, {.header = false});
    if (step.is_wanted && (best_step_ < 0 || step.calls <= best_step_calls_)) {
      best_step_ = step.seq;
      best_step_calls_ = step.calls;
    }
    options_.on_step(step);
  }
  /// Kept as it is: its capture is made at the end, and never if another one comes.
  void note_sibling(const Candidate& candidate) {
    const bool is_part = candidate.program() != nullptr;
    if (candidate.calls() == 0 || (is_part && candidate.program() != program_.get())) return;
    sibling_ = candidate;
    sibling_program_ = is_part ? program_ : nullptr;
  }

  /// Names a pass in the progress line and adds its figures to the summary.
  class PassScope {
   public:
    PassScope(Minifier& owner, std::string name) : owner_(owner) {
      summary_.name = std::move(name);
      summary_.calls_before = owner.best_.graph.call_count();
      queries_ = owner.session_.counts().queries;
      seconds_ = owner.session_.seconds();
      owner.phase_ = summary_.name;
    }
    ~PassScope() {
      summary_.calls_after = owner_.best_.graph.call_count();
      summary_.queries = owner_.session_.counts().queries - queries_;
      summary_.seconds = owner_.session_.seconds() - seconds_;
      owner_.result_.passes.push_back(summary_);
    }
    PassScope(const PassScope&) = delete;
    auto operator=(const PassScope&) -> PassScope& = delete;

   private:
    Minifier& owner_;
    PassSummary summary_;
    int queries_ = 0;
    double seconds_ = 0;
  };

  Oracle& oracle_;
  const OpTable& table_;
  const MinifyOptions& options_;
  Session session_;
  Capture best_;
  Selection best_selection_;
  std::vector<std::string> suspects_;
  std::shared_ptr<const Program> program_;          ///< of the pass over calls
  std::shared_ptr<const Program> sibling_program_;  ///< keeps the sibling's program alive
  std::optional<Candidate> sibling_;
  std::string phase_;
  int steps_ = 0;
  int best_step_ = -1;
  int best_step_calls_ = 0;
  MinifyResult result_;
};

}  // namespace

auto minify(Capture capture, Oracle& oracle, AnswerStore& store, const OpTable& table,
            const MinifyOptions& options) -> Result<MinifyResult> {
  return Minifier(std::move(capture), oracle, store, table, options).run();
}

}  // namespace assay
