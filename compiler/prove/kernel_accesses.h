// What a kernel does to memory: its accesses as expressions over program ids, lanes, loop variables
// and parameters, derived from its statements by symbolic execution.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/program/kernel.h"
#include "core/expr/eval.h"

namespace assay {

/// One dimension of the index space, e.g. `xindex = program_id(0)*XBLOCK + arange(0, XBLOCK)`.
/// Over all programs, lanes and loop rounds it takes exactly the values 0 ..
/// ceil(numel/block)*block
/// - 1; that the grid is so is what Inductor's grid functions compute.
struct KernelAxis {
  Expr symbol;
  std::string name;            ///< "xindex"
  Expr block;                  ///< a symbol (XBLOCK), or the constant of a persistent reduction
  std::optional<Expr> numel;   ///< over parameters; nothing: only `symbol >= 0` is known
  std::int64_t max_block = 1;  ///< largest power of two the block can be
};

/// An integer read from memory, or one this reader knows nothing about.
struct KernelData {
  Expr symbol;
  std::string text;          ///< what it is: "tl.load(in_ptr0 + (x1), xmask)"
  bool is_computed = false;  ///< follows from other values, so it is not any number
};

enum class AccessKind : std::uint8_t { load, store, atomic };

struct KernelAccess {
  AccessKind kind = AccessKind::load;
  std::size_t param = 0;     ///< which pointer
  Expr index;                ///< in elements from the pointer
  Expr mask;                 ///< boolean; lanes where it is false do not access
  int index_bits = 32;       ///< width Triton computes the index in
  std::vector<Expr> narrow;  ///< sub-results of the index that are computed in 32 bits
  std::size_t facts = 0;     ///< that many of KernelAccesses::facts hold when it happens
  int line = 0;
  std::string text;
};

/// `a // b` and `a % b` round as Python's only where neither is negative; the reader takes them so.
struct KernelDivision {
  Expr dividend, divisor;
};

struct KernelAccesses {
  std::vector<KernelAxis> axes;
  std::vector<KernelData> data;
  std::vector<Expr> facts;  ///< device asserts: false stops the program
  std::vector<KernelAccess> accesses;
  std::vector<KernelDivision> divisions;
  Ranges ranges;  ///< of axes, lanes, program ids, data
  /// Program ids that stand in the text as they are, by dimension of the grid: only the launch
  /// bounds them.
  std::map<int, Expr> programs;
};

/// Symbols go into `pool`; parameters keep theirs. What a kernel's reader did not understand is not
/// in it.
[[nodiscard]] auto derive_accesses(const TileKernel& kernel, ExprPool& pool) -> KernelAccesses;

/// Bits of an integer parameter as its arithmetic counts them, 0 for anything else.
[[nodiscard]] auto bits_of(const TileParam& param) -> int;

}  // namespace assay
