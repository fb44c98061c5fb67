// Which units run before which, also through others. Internal to compiler/schedule.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace assay {

/// Of units by number. What follows from a dependency is worked out when it is added: asked is far
/// more often.
class RunOrder {
 public:
  /// A further unit, on which nothing depends and which depends on nothing.
  void add_unit();
  /// Unit `later` depends on unit `earlier`.
  void add(std::size_t later, std::size_t earlier);
  /// Whether they are one, or `later` depends on `earlier`, directly or through others.
  [[nodiscard]] auto is_behind(std::size_t later, std::size_t earlier) const -> bool;
  /// `into` takes over what `gone` depends on, and what depends on it.
  void merge(std::size_t into, std::size_t gone);

 private:
  using Set = std::vector<std::uint64_t>;  ///< bits, as far as there are any
  static auto has(const Set& set, std::size_t unit) -> bool;
  static void insert(Set& set, std::size_t unit);
  static void insert(Set& set, const Set& others);

  std::vector<Set> before_;  ///< by unit
};

}  // namespace assay
