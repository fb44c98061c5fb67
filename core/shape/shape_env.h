// Symbols of a capture, what is known about them, and the guards that were recorded.
// Append-only with mark/rollback; no solver inside (decisions use core/expr's static domains only).
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/expr/eval.h"
#include "core/expr/expr.h"

namespace assay {

enum class SymbolKind { backed, unbacked, backed_float, unbacked_float };

struct Symbol {
  Expr expr;
  std::string name;
  SymbolKind kind = SymbolKind::backed;
  Interval range;                    ///< admitted values, closed
  std::optional<Expr> hint;          ///< value at capture time; unbacked symbols have none
  std::vector<std::string> sources;  ///< e.g. `L['x'].size()[0]`
};

struct Guard {
  Expr condition;     ///< boolean
  std::string text;   ///< as recorded, before our simplification
  std::string where;  ///< stack or source line, empty if not recorded
};

/// One capture's symbols. Copies share the ExprPool (append-only, so sharing is safe; several
/// graphs cut from one capture own it together, hence shared_ptr).
class ShapeEnv {
 public:
  ShapeEnv();
  ShapeEnv(const ShapeEnv& other);
  ShapeEnv(ShapeEnv&& other) noexcept;
  auto operator=(const ShapeEnv& other) -> ShapeEnv&;
  auto operator=(ShapeEnv&& other) noexcept -> ShapeEnv&;
  ~ShapeEnv();
  [[nodiscard]] auto pool() const -> ExprPool& { return *pool_; }

  /// Kind from PyTorch's name prefix: s backed, u unbacked, zf/zuf floats; others backed.
  /// Default range: backed [2, int_oo], unbacked [-int_oo, int_oo], floats unbounded.
  /// Errors: bad_input when the name exists already.
  auto add_symbol(std::string_view name) -> Result<Expr>;
  auto find(std::string_view name) const -> const Symbol*;
  auto find(const Expr& symbol) const -> const Symbol*;
  [[nodiscard]] auto symbols() const -> const std::vector<Symbol>& { return symbols_; }
  [[nodiscard]] auto guards() const -> const std::vector<Guard>& { return guards_; }
  /// Symbol -> the expression PyTorch replaced it by (e.g. s27 -> 16).
  [[nodiscard]] auto replacements() const -> const std::unordered_map<Expr, Expr>& {
    return replacements_;
  }
  void set_range(const Expr& symbol, Interval range);
  void set_hint(const Expr& symbol, Expr hint);
  void add_source(const Expr& symbol, std::string source);
  void add_guard(Guard guard);
  void add_replacement(const Expr& symbol, Expr by);

  [[nodiscard]] auto ranges() const -> const Ranges& { return ranges_; }
  /// Hints of all symbols that have one.
  [[nodiscard]] auto hints() const -> Binding;
  /// The expression after all replacements, chains included; unchanged if they form a cycle.
  [[nodiscard]] auto replaced(const Expr& e) const -> Expr;
  /// decide_statically with this environment's ranges, after replacements.
  [[nodiscard]] auto decide(const Expr& condition) const -> std::optional<bool>;

  /// Everything changed after mark() disappears with rollback(mark). Pool nodes stay interned.
  /// A mark is void after rolling back to an older one.
  struct Mark {
    std::size_t symbols = 0;
    std::size_t guards = 0;
    std::size_t journal = 0;
  };
  [[nodiscard]] auto mark() const -> Mark;
  void rollback(const Mark& mark);

 private:
  struct Undo;  ///< one reversible change to ranges, hints, sources or replacements
  auto entry(const Expr& symbol) -> Symbol&;
  void record(Undo undo);
  void undo(const Undo& undo);

  std::shared_ptr<ExprPool> pool_;
  std::vector<Symbol> symbols_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::vector<Guard> guards_;
  std::unordered_map<Expr, Expr> replacements_;
  Ranges ranges_;
  std::vector<std::shared_ptr<const Undo>> journal_;
};

}  // namespace assay
