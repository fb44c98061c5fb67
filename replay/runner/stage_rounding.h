// How far rounding alone can move what a stage gives, measured.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "replay/runner/execute.h"
#include "replay/runner/stage_run.h"

namespace assay {

/// One value of a stage, run in float64, and how it moves where every intermediate result (and, in
/// some of the runs, every input) is off by one rounding of its own dtype.
struct Rounding {
  std::vector<Complex> reference;    ///< row-major
  std::vector<Complex> native = {};  ///< in the stage's own dtypes; may be empty
  std::vector<double> noise;         ///< largest of the runs, where float32 and wider round
  std::vector<double> narrow_noise;  ///< where narrower floats do
  /// Largest of the runs in which roundings are as many times larger as noise may be for a
  /// difference to be explained by it: what a comparison that is decided otherwise does, which
  /// roundings of their own size hardly meet.
  std::vector<double> jumps;
  bool overflows = false;   ///< an intermediate result hardly fits its own dtype, or does not
  bool is_of_bits = false;  ///< rests on bits of numbers, the last of which mean nothing

  [[nodiscard]] auto moves(std::size_t i) const -> bool {
    return noise[i] != 0 || narrow_noise[i] != 0;
  }
  [[nodiscard]] auto moves() const -> bool {
    for (std::size_t i = 0; i < noise.size(); ++i)
      if (moves(i)) return true;
    return false;
  }
};
using Roundings = std::map<std::string, Rounding>;

/// What computed the values that are compared: Assay, or a device, whose convolutions of float32
/// may round their operands to TF32 (`torch.backends.cudnn.allow_tf32`, which is on by default).
enum class RoundedBy : std::uint8_t { assay, device };

/// How much is measured. Of very many elements some hardly move in any of a few runs.
enum class RoundingRuns : std::uint8_t { few, with_jumps, many };

/// Runs a graph stage in float64, else, where an operator does not take that, in its own dtypes.
/// Empty where it does not run.
[[nodiscard]] auto measure_rounding(const Stage& stage, const StageValues& inputs,
                                    const std::map<std::string, Datum>& attributes,
                                    const OpTable& table, RoundedBy by,
                                    RoundingRuns runs = RoundingRuns::few) -> Roundings;

/// Distances of two values to the float64 run.
struct StageDistance {
  std::string message;         ///< empty: equal, or as far apart as rounding explains
  bool is_of_strides = false;  ///< and of nothing else: values are right
  std::string element, expected, actual;
  double distance = 0, allowed = 0;  ///< at that element
  std::int64_t undecided = 0;        ///< elements not finite where intermediate results overflow
  /// Integers that differ where a comparison of rounded numbers may decide either way: rare ones of
  /// many, others of which moved in the measurement.
  std::int64_t ties = 0;
  double expected_error = 0, actual_error = 0;  ///< to float64; NaN where there was no such run
};
/// Gives a measurement of so many runs; null: there is none.
using AskRounding = std::function<const Rounding*(RoundingRuns)>;
/// Sizes and dtype exactly, strides if `with_strides`. `rounding` is asked only where values are
/// not equal, for jumps where noise does not explain a difference, and for many runs where few
/// nearly do; null: no such run, a tolerance in units of the dtype takes its place.
[[nodiscard]] auto compare_values(const Datum& expected, const Datum& actual, bool with_strides,
                                  const AskRounding& rounding) -> StageDistance;

}  // namespace assay
