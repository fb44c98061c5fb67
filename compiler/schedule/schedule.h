// From tensors defined element by element to a program: what goes into memory, which loops become
// one kernel, in which order they run. Legality is decided by equal expressions and by
// dependencies, never by hints; every choice is a decision with its reason.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/lower/definition.h"
#include "compiler/program/program.h"
#include "core/base/result.h"

namespace assay {

/// One choice the compiler made.
struct CompileDecision {
  enum class Kind : std::uint8_t {
    store,    ///< a tensor goes into memory, or is computed where it is read
    fuse,     ///< a tensor is computed in a kernel with others
    library,  ///< an operator is called, not compiled
    merge,    ///< neighbouring axes of a kernel become one
    reuse,    ///< a temporary stands where a dead one stood; made when sizes are bound
  };
  Kind kind = Kind::fuse;
  bool accepted = false;
  std::string subject;  ///< node of the graph
  std::string other;    ///< kernel, or operator
  std::string reason;
};
[[nodiscard]] auto name(CompileDecision::Kind kind) -> std::string_view;

/// An input of the program: a tensor, a number that is a symbol, or something nobody reads.
struct ProgramInput {
  std::string name;
  std::optional<DefId> tensor;
  std::optional<Expr> number;
};

struct ScheduleInput {
  LoweredGraph graph;
  std::vector<ProgramInput> inputs;
  std::vector<CallArg> outputs;
  ShapeEnv env;
  std::vector<Expr> facts;  ///< that lowering relied on
};

struct ScheduleOptions {
  bool fuse = true;
  bool merge = true;              ///< axes of kernels
  std::size_t most_tensors = 64;  ///< computed by one kernel
  int most_operations = 96;       ///< of one element, before it goes into memory
  /// Asked before a fusion, a merging of axes, or a store that is not needed for a right result, is
  /// accepted.
  std::function<bool(const CompileDecision&)> is_forbidden = {};
};

struct CompiledGraph {
  HostProgram program;
  std::vector<CompileDecision> decisions;
  std::map<int, std::string> call_nodes;  ///< node of the library call, by HostOp::line
  /// Simplifications that ran out of steps (RewriteWatch). The program is right, but may be slow.
  std::vector<std::string> not_ended;
};

/// Errors: unsupported (an index that kernels cannot compute).
[[nodiscard]] auto schedule(ScheduleInput input, const ScheduleOptions& options)
    -> Result<CompiledGraph>;

}  // namespace assay
