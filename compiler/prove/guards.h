// The guards of a capture as a set: which are needed, which follow, what they say together.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/prove/answer.h"
#include "compiler/prove/prover.h"
#include "core/shape/shape_env.h"

namespace assay {

enum class GuardVerdict : std::uint8_t {
  needed,         ///< in the minimal set
  implied,        ///< follows from others (and the ranges)
  duplicate,      ///< the same condition as an earlier one
  from_ranges,    ///< ranges and replacements alone imply it
  contradicting,  ///< cannot hold together with the others named
  undecided,      ///< kept in the minimal set because nothing was proved
};
[[nodiscard]] auto name(GuardVerdict verdict) -> std::string_view;

struct GuardDecision {
  GuardVerdict verdict = GuardVerdict::needed;
  Tier tier = Tier::normalise;
  std::vector<std::size_t> by;  ///< guards it follows from, contradicts or repeats
  std::string reason;           ///< why it is undecided
};

/// What holds of one symbol under guards, ranges and replacements.
struct SymbolFacts {
  Expr symbol;
  Interval range;
  Congruence residue;               ///< of its admitted values, if proved
  std::vector<std::size_t> low_by;  ///< guards that give the low end; none: the recorded range
  std::vector<std::size_t> high_by;
  std::vector<std::size_t> residue_by;
};

/// Symbols that guards leave only a few values, although no guard says so alone.
struct Specialisation {
  Expr symbol;
  std::vector<std::int64_t> values;
  std::vector<std::size_t> guards;
};

struct GuardReport {
  std::vector<GuardDecision> guards;       ///< per guard, in recorded order
  std::vector<std::size_t> minimal;        ///< needed and undecided ones, cheapest first
  std::vector<std::size_t> contradiction;  ///< guards that cannot hold together, if any
  std::vector<SymbolFacts> symbols;        ///< in the environment's order, without replaced ones
  std::vector<Specialisation> specialisations;
};

/// The same environment with only some of its guards, in the given order.
[[nodiscard]] auto with_guards(const ShapeEnv& env, std::span<const std::size_t> guards)
    -> ShapeEnv;

struct GuardOptions {
  ProverOptions prover;
  bool symbols = true;  ///< also say what holds of each symbol
};

/// How hard to try: `structure` leaves out search and solver, and splits into few cases.
enum class Effort : std::uint8_t { structure, full };

/// Deterministic: the same environment gives the same report on every machine.
class GuardSet {
 public:
  explicit GuardSet(const ShapeEnv& env, GuardOptions options = {});
  ~GuardSet();
  GuardSet(GuardSet&&) noexcept;
  auto operator=(GuardSet&&) noexcept -> GuardSet&;

  [[nodiscard]] auto report() const -> const GuardReport&;
  /// Does the condition follow from guards, ranges and replacements? `needed` holds guard indices.
  [[nodiscard]] auto implies(const Expr& condition, Effort effort = Effort::full) -> Answer;
  /// Up to `count` points that the guards admit and at which the condition is not true, smallest
  /// first; they name the symbols of the condition and of all guards that share symbols with it.
  [[nodiscard]] auto violations(const Expr& condition, std::size_t count) -> std::vector<Binding>;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
