// Products as fresh integers with linear lemmas about them, for the linear solver tier.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// Ends of an interval; nothing where it is not bounded.
struct Ends {
  std::optional<std::int64_t> low, high;
};

/// An integer as SMT-LIB writes it.
[[nodiscard]] auto smt_number(std::int64_t value) -> std::string;

/// Works on names of SMT-LIB terms. Every lemma is true of the product it is about.
class Products {
 public:
  /// Bounds of a term that may become a factor.
  void know(const std::string& name, Ends ends);
  /// Name of the product of two or more factors.
  auto product(std::vector<std::string> factors) -> std::string;
  /// Declarations of the products made since the last call.
  auto take_declarations() -> std::vector<std::string>;
  /// What is known about all products: envelopes of the factors' bounds, monotonicity between
  /// products that differ in one factor.
  [[nodiscard]] auto lemmas() const -> std::vector<std::string>;

 private:
  struct Entry {
    std::string name;
    std::vector<std::string> factors;  ///< sorted
  };
  [[nodiscard]] auto ends(const std::string& name) const -> Ends;
  [[nodiscard]] auto name_of(const std::vector<std::string>& factors) const -> std::string;
  void envelope(const Entry& entry, std::size_t factor, std::vector<std::string>& lemmas) const;
  void monotone(const Entry& a, const Entry& b, std::vector<std::string>& lemmas) const;

  std::map<std::string, Ends> ends_;
  std::map<std::vector<std::string>, std::size_t> index_;
  std::vector<Entry> entries_;
  std::vector<std::string> declarations_;
};

}  // namespace assay
