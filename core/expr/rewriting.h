// Who looks on while expressions are simplified: rewriting that did not end, and a fault that makes
// it so.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/expr/expr.h"

namespace assay {

/// Sees the simplifications of its thread from construction to destruction. One that runs out of
/// steps keeps its value, so nothing else tells of it.
class RewriteWatch {
 public:
  /// `undoes`: a fault, two rules that undo each other (`Mod(a, b)` and `ModularIndexing(a, 1,
  /// b)`).
  explicit RewriteWatch(bool undoes = false);
  ~RewriteWatch();
  RewriteWatch(const RewriteWatch&) = delete;
  auto operator=(const RewriteWatch&) -> RewriteWatch& = delete;

  /// "Mod(s0, 4) did not end: Mod, ModularIndexing, Mod, ModularIndexing" for each that ran out of
  /// steps, at most 16; the operators are those of its last steps.
  [[nodiscard]] auto not_ended() const -> const std::vector<std::string>& { return not_ended_; }

  /// The innermost of this thread; null where nobody looks on.
  [[nodiscard]] static auto current() -> RewriteWatch*;
  [[nodiscard]] auto undoes() const -> bool { return undoes_; }
  /// A step with so many left.
  void step(ExprOp op, std::span<const Expr> args, int left);

 private:
  RewriteWatch* outer_;
  bool undoes_;
  bool is_told_ = false;
  std::vector<ExprOp> last_;
  std::vector<std::string> not_ended_;
};

}  // namespace assay
