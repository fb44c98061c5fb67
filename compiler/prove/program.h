// Expressions compiled for many evaluations: one pass over their shared nodes per point.
#pragma once
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/expr/expr.h"
#include "core/expr/int128.h"

namespace assay {

/// What a boolean expression is at a point.
enum class Truth : std::uint8_t {
  no,
  yes,
  undefined,  ///< division by zero and the like: core/expr's evaluate has no value either
  unknown,    ///< beyond 128 bits, or an operator that works on floats
};

/// Integer and boolean expressions over integer symbols. Values are exact in 128 bits, which is
/// more than core/expr's evaluate admits; where that has a value, both agree.
class Program {
 public:
  /// `symbols` gives the order of a point's coordinates; other symbols make a root unknown.
  explicit Program(std::span<const Expr> symbols);
  /// Adds an expression; returns its slot.
  auto add(const Expr& e) -> std::size_t;
  /// Evaluates all slots at a point: one value per symbol.
  void run(std::span<const std::int64_t> point);
  [[nodiscard]] auto truth(std::size_t slot) const -> Truth;

 private:
  enum class State : std::uint8_t { value, undefined, unknown };
  struct Node {
    ExprOp op;
    std::uint32_t first = 0, count = 0;  ///< operands in args_
    std::int64_t constant = 0;           ///< of a constant; coordinate of a symbol
  };
  struct Cell {
    Int128 value = 0;
    State state = State::unknown;
  };
  using Cells = std::span<const Cell*>;
  auto evaluate(const Node& node, std::span<const std::int64_t> point) -> Cell;
  auto junction(const Node& node) const -> Cell;
  auto choice(const Node& node) const -> Cell;

  std::unordered_map<Expr, std::size_t> coordinates_;
  std::unordered_map<Expr, std::size_t> slots_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> args_;
  std::vector<Cell> cells_;
};

}  // namespace assay
