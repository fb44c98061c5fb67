// All sizes and guards of a graph at values that the user plays with.
#pragma once
#include <memory>
#include <mutex>

#include "gui/data/sizes.h"

namespace assay {

struct SymbolRange {
  std::string name, kind, source;
  std::string low_text, high_text;
  std::optional<std::int64_t> hint;
  std::int64_t low = 0, high = 0;  ///< for a slider: infinite ends are cut
};
struct LiveGuard {
  TraceId id = 0;
  std::int64_t seq = 0;
  std::string condition, text, origin;
  std::optional<bool> holds;
  std::vector<std::string> symbols;
};
struct LiveNode {
  TraceId id = 0;
  std::string name, sizes, before;
};
struct LiveState {
  NamedSizes sizes;
  std::vector<LiveGuard> guards;
  std::vector<LiveNode> changed;  ///< nodes with other sizes than in the run; the first 500
  std::int64_t nodes = 0, changed_count = 0, dynamic_count = 0;
  std::int64_t failed = 0;  ///< sizes that are negative or cannot be evaluated
  [[nodiscard]] auto broken_guards() const -> int;
};

/// Parsed once per graph; evaluation takes what different sizes take. Safe from several threads.
class LiveSizes {
 public:
  [[nodiscard]] static auto read(const TraceReader& reader, TraceId graph)
      -> Result<std::shared_ptr<LiveSizes>>;
  /// Integers that sizes or guards depend on, those of sizes first.
  [[nodiscard]] auto symbols() const -> const std::vector<SymbolRange>& { return symbols_; }
  [[nodiscard]] auto at(const NamedSizes& changed) const -> LiveState;

 private:
  void read_real(const SymbolRange& symbol, const std::string& value);
  void sort_symbols();
  auto read_claims(const TraceReader& reader, TraceId graph) -> Result<void>;
  [[nodiscard]] auto binding(const NamedSizes& sizes) const -> Binding;

  struct Claimer {
    std::int64_t at = 0;  ///< in execution order
    TraceId node = 0;
    std::string name;
  };
  /// Sizes with symbols and who claims them: millions of nodes share a few.
  struct Claims {
    std::vector<Expr> sizes;
    std::int64_t count = 0;
    std::vector<Claimer> first;  ///< as many as are ever named
  };
  mutable std::mutex mutex_;
  mutable ExprPool pool_;
  std::vector<SymbolRange> symbols_;
  NamedSizes run_;
  Binding fixed_;  ///< real numbers: nobody slides them
  std::vector<Claims> claims_;
  std::vector<std::pair<LiveGuard, std::optional<Expr>>> guards_;
  std::int64_t nodes_ = 0;
};

}  // namespace assay
