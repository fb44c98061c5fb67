// What a Triton kernel that Inductor wrote does to memory: its accesses as expressions over program
// ids, lanes, loop variables and parameters. Whole in this header.
// Source: torch/_inductor/codegen/triton.py, PyTorch 2.5 to 2.11.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/program/kernel.h"
#include "core/base/result.h"
#include "core/expr/eval.h"
#include "core/tensor/dtype.h"

namespace assay {

struct KernelParam {
  std::string name;
  std::string type;  ///< as in the signature: "*fp32", "i64", "constexpr"; empty if not given
  Expr symbol;       ///< scalars only
  [[nodiscard]] auto is_pointer() const -> bool { return type.starts_with('*'); }
  [[nodiscard]] auto is_block() const -> bool { return name.ends_with("BLOCK"); }
  /// Element type of a pointer.
  [[nodiscard]] auto element() const -> std::optional<DType>;
  /// Bits of an integer scalar, 0 for anything else.
  [[nodiscard]] auto bits() const -> int;
};

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
  std::string text;  ///< what it is: "tl.load(in_ptr0 + (x1), xmask)"
};

enum class AccessKind : std::uint8_t { load, store, atomic };

struct KernelAccess {
  AccessKind kind = AccessKind::load;
  std::size_t param = 0;     ///< which pointer
  Expr index;                ///< in elements from the pointer
  Expr mask;                 ///< boolean; lanes where it is false do not access
  int index_bits = 32;       ///< width Triton computes the index in
  std::vector<Expr> narrow;  ///< sub-results of the index that are computed in 32 bits
  std::size_t facts = 0;     ///< that many of TritonKernel::facts hold when it happens
  int line = 0;
  std::string text;
};

/// `a // b` and `a % b` round as Python's only where neither is negative; the reader takes them so.
struct KernelDivision {
  Expr dividend, divisor;
};

struct TritonKernel {
  std::string name;
  std::string heuristic;  ///< "pointwise", "reduction", "persistent_reduction", "template", ...
  std::vector<KernelParam> params;                 ///< in order of the definition, blocks included
  std::map<std::string, std::int64_t> constants;   ///< parameters fixed at compile time
  std::map<std::string, std::int64_t> size_hints;  ///< by prefix: x, y, r0_
  /// What a launch passes behind the parameters: `_grid_0` and so on, of templates.
  std::vector<std::string> launcher_args;
  std::vector<KernelAxis> axes;
  std::vector<KernelData> data;
  std::vector<Expr> facts;  ///< device asserts: false stops the program
  std::vector<KernelAccess> accesses;
  std::vector<KernelDivision> divisions;
  Ranges ranges;  ///< of axes, lanes, program ids, data
  /// Program ids that stand in the text as they are, by dimension of the grid: only the launch
  /// bounds them.
  std::map<int, Expr> programs;
  bool asserts_are_on = true;  ///< assert_indirect_indexing: device asserts are compiled in
  int lines = 0;
  std::vector<KernelLine> not_understood;  ///< an access may hide in these

  [[nodiscard]] auto param(std::string_view wanted) const -> const KernelParam*;
  [[nodiscard]] auto is_understood() const -> bool { return not_understood.empty(); }
};

/// Reads one kernel's source. Symbols go into `pool`; parameters keep their names there.
/// What is not understood is listed in the result. Errors: bad_input where there is no kernel.
[[nodiscard]] auto read_kernel(std::string_view text, ExprPool& pool) -> Result<TritonKernel>;

}  // namespace assay
