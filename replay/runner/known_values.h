// What comes up in a run of a graph, to be found again by its elements. Internal to replay/runner.
#pragma once
#include <vector>

#include "replay/runner/stage_blame.h"

namespace assay {

/// Values of nodes by position, as they were before anything wrote on them.
[[nodiscard]] auto values_of(const Stage& stage, const StageContext& context) -> std::vector<Datum>;
/// Of those values, the products and convolutions before their addend, which Inductor leaves to the
/// kernel behind the library's call.
[[nodiscard]] auto without_addends(const Graph& graph, const std::vector<Datum>& values,
                                   const OpTable& table) -> std::vector<Datum>;
/// Equal, or as far apart as rounding may make them; what is no value agrees with anything.
[[nodiscard]] auto values_agree(const Datum& expected, const Datum& actual) -> bool;
/// The same elements in row-major order, whatever the sizes.
[[nodiscard]] auto flat(const Tensor& tensor) -> Datum;

/// All tensors that come up in a run.
class KnownValues {
 public:
  explicit KnownValues(const std::vector<Datum>& values) {
    for (const auto& value : values) add(value);
  }
  void add(const Datum& value);
  /// Is it one of them, element by element or as it lies in memory?
  [[nodiscard]] auto contains(const Datum& value) const -> bool;
  /// Is it a step on the way to one of them: a sum, maximum, minimum or product over one dimension
  /// or all gives it, or of floats the same scaled by how many elements were combined?
  [[nodiscard]] auto has_part(const Tensor& part) const -> bool;
  /// Means, sums of squared differences and weights (Welford) that combine to one of them; each
  /// element of another counts as one.
  [[nodiscard]] auto has_moments(const Tensor& mean, const Tensor& squares,
                                 const Tensor& weight) const -> bool;

 private:
  /// Also scaled by numbers of elements, and those less one.
  [[nodiscard]] auto has_scaled(const std::vector<double>& values) const -> bool;
  [[nodiscard]] auto has(const std::vector<double>& values, double scale) const -> bool;

  /// Has one of them as many elements?
  [[nodiscard]] auto is_count(double weight) const -> bool;

  std::vector<std::pair<Datum, Datum>> tensors_;  ///< flat, as in memory
  std::vector<std::vector<double>> reals_;        ///< of floats
  std::vector<std::vector<double>> wholes_;       ///< of integers
};

}  // namespace assay
