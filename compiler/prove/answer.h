// What a proof attempt says: proved, refuted with a witness, or unknown with a reason. Never a
// bool.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/expr/eval.h"

namespace assay {

/// The steps of a proof attempt, cheapest first. Every one is sound for what it answers.
enum class Tier : std::uint8_t {
  normalise,   ///< simplification alone
  interval,    ///< intervals and congruences
  corner,      ///< monotone address: its largest corner as a polynomial with coefficients >= 0
  linear,      ///< linear SMT, products abstracted with monotonicity lemmas
  non_linear,  ///< integer SMT with native div and mod, in a worker process
  search,      ///< enumeration in shortlex order; proves where the admitted sizes are few
};
[[nodiscard]] auto name(Tier tier) -> std::string_view;

/// True for all values that the ranges and assumptions admit.
struct Proved {
  Tier tier = Tier::normalise;
  /// Positions of the assumptions that the proof used: with the ranges they suffice (a small set,
  /// not always the smallest).
  std::vector<std::size_t> needed;
};
/// A binding at which ranges and assumptions hold and the claim does not, as core/expr evaluates
/// them; the smallest in shortlex order as far as the search budget reached.
struct Refuted {
  Tier tier = Tier::search;
  Binding witness;
};
/// Not decided: the last tier that tried, and why it gave up.
struct Unknown {
  Tier tier = Tier::search;
  std::string reason;
};
using Answer = std::variant<Proved, Refuted, Unknown>;

}  // namespace assay
