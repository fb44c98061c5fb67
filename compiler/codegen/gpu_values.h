// What the code of a thread holds while it is made. Internal to compiler/codegen.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Value.h>

#include "compiler/program/kernel.h"
#include "core/tensor/dtype.h"

namespace assay {

/// Comparisons that say which of two is larger.
[[nodiscard]] inline auto is_order(TileOp op) -> bool {
  return op == TileOp::lt || op == TileOp::le || op == TileOp::gt || op == TileOp::ge;
}

/// Of GpuKernelEmitter, whose files share it.
struct GpuValues {
  using Value = llvm::Value;
  using Values = std::vector<Value*>;
  using Registers = std::vector<int>;  ///< by number
  using Statements = std::vector<const TileStatement*>;
  using Power = Value*(llvm::IRBuilder<>&, Value*);  ///< code of an exponential
  using ReadSome = std::function<Values(const std::vector<int>&)>;
  /// Of registers, all of which are meant or have to be asked.
  using AccessSome = std::function<Values(const std::vector<int>&, bool are_meant)>;
  static constexpr int kWidestBytes = 16;  ///< of an access
  /// So many times (by register) a value that all registers share.
  struct Step {
    Value* by = nullptr;
    std::vector<std::int64_t> times;
    [[nodiscard]] auto at(int index) const -> std::int64_t {
      return times[static_cast<std::size_t>(index)];
    }
  };
  /// One value for all registers or one per register, plus steps and a constant per register.
  struct Held {
    Values bases;
    unsigned over = 0;                  ///< bits of a register's number that bases vary over
    std::vector<std::int64_t> offsets;  ///< none: zeros
    std::vector<Step> steps = {};       ///< of different values
    /// A truth that is computed of these operands wherever it is wanted; then there are no bases.
    const TileStatement* late = nullptr;
    [[nodiscard]] auto base(int index) const -> Value* {
      return bases.size() == 1 ? bases[0] : bases[static_cast<std::size_t>(index)];
    }
    [[nodiscard]] auto offset(int index) const -> std::int64_t {
      return offsets.empty() ? 0 : offsets[static_cast<std::size_t>(index)];
    }
    /// Bits of a register's number that the constants and steps vary over.
    [[nodiscard]] auto moving() const -> unsigned;
    /// Whether two registers have the same base and are as many steps from it.
    [[nodiscard]] auto is_near(int index, int other) const -> bool;
  };
  /// What checked code is told about a buffer.
  struct Watched {
    Value *low = nullptr, *high = nullptr, *shadow = nullptr, *launch = nullptr;
  };

  /// Whether registers are meant; null: always.
  struct Meant {
    Value *any = nullptr, *all = nullptr;
    bool is_whole = true;  ///< they are one condition
    bool is_span = false;  ///< they are known by the first and the last one that is meant
  };
  /// What a truth says of two numbers.
  struct Order {
    const TileStatement* comparison = nullptr;  ///< whose operands they are
    TileOp op = TileOp::lt;
  };
  /// Of neighbours those that are meant: from the first number on, below the second one.
  struct Span {
    Value *from = nullptr, *to = nullptr;
  };
  /// Registers that are neighbours in memory.
  struct Run {
    int first = 0, length = 1, bytes = 0;
    Meant meant;
    bool is_read_once = false;  ///< by this thread, and by no other one
  };
  using Runs = std::vector<Run>;
  /// Single registers that are asked together whether they are meant.
  static constexpr int kGroup = 8;
  /// Registers, the lowest first, that are asked so or are neighbours.
  struct Bundle {
    std::vector<int> registers;
    Value* all = nullptr;   ///< whether all are meant; null: unknown
    bool is_whole = false;  ///< all or none is
  };
  /// Lanes of several values: by value, then by register.
  using Parts = std::vector<Values>;

  /// Where a coordinate of an axis with some bits set, cleared or flipped is to be found.
  struct Source {
    unsigned thread_set = 0, thread_cleared = 0, thread_flipped = 0;
    unsigned register_set = 0, register_cleared = 0, register_flipped = 0;
  };

  enum class Access : std::uint8_t { load, store, atomic, exchange };
  enum class Change : std::uint8_t { set, clear, flip };  ///< of a bit of a coordinate

  /// Of axes that are placed: what the launch has, and where this thread is among it.
  struct Place {
    Value *at = nullptr, *count = nullptr;
  };

  /// What a block awaits from all blocks of its cluster.
  struct Exchange {
    llvm::GlobalVariable* arrived = nullptr;
    std::uint32_t bytes = 0;  ///< of a row, from each block
  };

  /// Registers of a reduction that threads share: each folds some of them for all.
  struct Shares {
    std::map<unsigned, Value*> values;   ///< by register, a subset of `free`
    unsigned free = 0;                   ///< bits of a register's number that are registers still
    std::map<unsigned, unsigned> moved;  ///< others: to which bit of a thread's number they went
  };

  /// An operand of a product in shared memory: k is contiguous, `stride` elements are a row.
  struct SharedOperand {
    llvm::GlobalVariable* room = nullptr;
    DType dtype = DType::float32;
    std::int64_t stride = 0, length = 0;  ///< of k
  };
};

}  // namespace assay
