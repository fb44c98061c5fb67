#include "core/shape/shape_env.h"

#include <utility>
#include <variant>

#include "core/base/check.h"

namespace assay {

/// What one change replaced.
struct ShapeEnv::Undo {
  struct OldRange {
    Interval range;
  };
  struct OldHint {
    std::optional<Expr> hint;
  };
  struct AddedSource {};
  struct OldReplacement {
    std::optional<Expr> by;
  };
  Expr symbol;
  std::variant<OldRange, OldHint, AddedSource, OldReplacement> change;
};

namespace {

auto kind_of(std::string_view name) -> SymbolKind {
  if (name.starts_with("zuf")) return SymbolKind::unbacked_float;
  if (name.starts_with("zf")) return SymbolKind::backed_float;
  return name.starts_with('u') ? SymbolKind::unbacked : SymbolKind::backed;
}

auto is_float(SymbolKind kind) -> bool {
  return kind == SymbolKind::backed_float || kind == SymbolKind::unbacked_float;
}

}  // namespace

ShapeEnv::ShapeEnv() : pool_(std::make_shared<ExprPool>()) {}
ShapeEnv::ShapeEnv(const ShapeEnv& other) = default;
ShapeEnv::ShapeEnv(ShapeEnv&& other) noexcept = default;
auto ShapeEnv::operator=(const ShapeEnv& other) -> ShapeEnv& = default;
auto ShapeEnv::operator=(ShapeEnv&& other) noexcept -> ShapeEnv& = default;
ShapeEnv::~ShapeEnv() = default;

auto ShapeEnv::add_symbol(std::string_view name) -> Result<Expr> {
  if (by_name_.contains(std::string(name))) return bad_input("symbol `{}` exists already", name);
  if (name.empty()) return bad_input("a symbol needs a name");
  const SymbolKind kind = kind_of(name);
  const ExprType type = is_float(kind) ? ExprType::real : ExprType::integer;
  const Expr expr = pool_->symbol(name, type);
  if (expr.type() != type) return bad_input("symbol `{}` has another type already", name);
  Interval range;
  if (kind == SymbolKind::backed) range.low = 2;  // sizes 0 and 1 are specialised by PyTorch
  by_name_.emplace(name, symbols_.size());
  ranges_.emplace(expr, range);
  symbols_.push_back({expr, std::string(name), kind, range, std::nullopt, {}});
  return expr;
}

auto ShapeEnv::find(std::string_view name) const -> const Symbol* {
  const auto at = by_name_.find(std::string(name));
  return at == by_name_.end() ? nullptr : &symbols_[at->second];
}

auto ShapeEnv::find(const Expr& symbol) const -> const Symbol* {
  const Symbol* found = symbol.op() == ExprOp::symbol ? find(symbol.name()) : nullptr;
  return found && found->expr == symbol ? found : nullptr;
}

auto ShapeEnv::entry(const Expr& symbol) -> Symbol& {
  const Symbol* found = find(symbol);
  ASSAY_CHECK(found, "symbol \"{}\" is not in this environment", symbol.name());
  return symbols_[static_cast<std::size_t>(found - symbols_.data())];
}

void ShapeEnv::record(Undo undo) {
  journal_.push_back(std::make_shared<const Undo>(undo));
}

void ShapeEnv::set_range(const Expr& symbol, Interval range) {
  Symbol& changed = entry(symbol);
  record({symbol, Undo::OldRange{changed.range}});
  changed.range = range;
  ranges_[symbol] = range;
}

void ShapeEnv::set_hint(const Expr& symbol, Expr hint) {
  Symbol& changed = entry(symbol);
  record({symbol, Undo::OldHint{changed.hint}});
  changed.hint = hint;
}

void ShapeEnv::add_source(const Expr& symbol, std::string source) {
  Symbol& changed = entry(symbol);
  record({symbol, Undo::AddedSource{}});
  changed.sources.push_back(std::move(source));
}

void ShapeEnv::add_guard(Guard guard) {
  guards_.push_back(std::move(guard));
}

void ShapeEnv::add_replacement(const Expr& symbol, Expr by) {
  ASSAY_CHECK(symbol.op() == ExprOp::symbol, "only symbols are replaced");
  const auto known = replacements_.find(symbol);
  record({symbol, Undo::OldReplacement{
                      known == replacements_.end() ? std::nullopt : std::optional(known->second)}});
  replacements_[symbol] = by;
}

auto ShapeEnv::hints() const -> Binding {
  Binding hints;
  for (const Symbol& symbol : symbols_) {
    if (symbol.hint) hints.emplace(symbol.expr, *symbol.hint);
  }
  return hints;
}

auto ShapeEnv::replaced(const Expr& e) const -> Expr {
  Expr current = e;
  // Replacements may form chains (s1 -> s0, s0 -> 16) and, in a damaged capture, cycles.
  for (std::size_t round = 0; round <= replacements_.size(); ++round) {
    const Expr next = substitute(current, replacements_);
    if (next == current) return current;
    if (!next.is_valid()) return current;
    current = next;
  }
  return e;
}

auto ShapeEnv::decide(const Expr& condition) const -> std::optional<bool> {
  return decide_statically(replaced(condition), ranges_);
}

auto ShapeEnv::mark() const -> Mark {
  return {symbols_.size(), guards_.size(), journal_.size()};
}

void ShapeEnv::undo(const Undo& undo) {
  if (const auto* old = std::get_if<Undo::OldReplacement>(&undo.change)) {
    if (old->by) {
      replacements_[undo.symbol] = *old->by;
    } else {
      replacements_.erase(undo.symbol);
    }
    return;
  }
  Symbol& symbol = entry(undo.symbol);
  if (const auto* old = std::get_if<Undo::OldRange>(&undo.change)) {
    symbol.range = old->range;
    ranges_[undo.symbol] = old->range;
  } else if (const auto* hint = std::get_if<Undo::OldHint>(&undo.change)) {
    symbol.hint = hint->hint;
  } else {
    symbol.sources.pop_back();
  }
}

void ShapeEnv::rollback(const Mark& mark) {
  ASSAY_CHECK(mark.symbols <= symbols_.size() && mark.guards <= guards_.size() &&
                  mark.journal <= journal_.size(),
              "the mark is newer than the environment");
  while (journal_.size() > mark.journal) {
    const auto last = journal_.back();
    journal_.pop_back();
    undo(*last);
  }
  while (symbols_.size() > mark.symbols) {
    by_name_.erase(symbols_.back().name);
    ranges_.erase(symbols_.back().expr);
    symbols_.pop_back();
  }
  guards_.erase(guards_.begin() + static_cast<std::ptrdiff_t>(mark.guards), guards_.end());
}

}  // namespace assay
