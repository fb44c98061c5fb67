// What lowering makes of a graph: tensors defined element by element, and library calls, before
// anybody decided what goes into memory. Whole in this header.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/program/kernel.h"
#include "core/ops/datum.h"

namespace assay {

class LoopBuilder;

/// Position of an element, one expression per dimension, over the axes of a loop nest.
using Index = std::vector<Expr>;
using DefId = std::size_t;

/// Dimensions of `over` that are combined into one element; the rest are those of the result.
struct Reduction {
  TileCombine combine = TileCombine::sum;
  Dims over;                  ///< sizes before
  std::vector<bool> reduced;  ///< by dimension of `over`
  bool keeps = false;         ///< the result has the reduced dimensions, of size 1
  /// A scan: every element of `over` gets what it and those before it are, combined, along the one
  /// dimension that is marked. It takes one value.
  bool is_scan = false;
  /// Values that are combined at a position of `over`.
  std::function<std::vector<TileId>(LoopBuilder&, const Index&)> operands;
  /// The element from what came out.
  std::function<TileId(LoopBuilder&, const std::vector<TileId>&)> finish;

  /// The element of the result that an element of `over` belongs to.
  [[nodiscard]] auto result_position(const Index& at) const -> Index;
};

/// A tensor. `element` computes one element wherever a loop needs it; without one the tensor
/// exists in memory only: an input, the result of a library call, a view nobody can follow.
struct TensorDef {
  TensorMeta meta;
  int storage = -1;    ///< FakeTensor's: tensors of one storage share memory
  DefId owner = 0;     ///< first tensor of that storage; itself unless it is a view
  std::string origin;  ///< name of the graph's node
  std::string target;  ///< operator that made it
  std::vector<DefId> reads;
  std::function<TileId(LoopBuilder&, const Index&)> element;
  std::optional<Reduction> reduction;  ///< in place of `element`
  int cost = 0;                        ///< operations per element, without those of what it reads
  bool repeats = false;                ///< elements of what it reads are read more than once
  bool is_input = false;
  std::optional<std::size_t> call;  ///< library call that makes it
  std::string buffer;               ///< name in the program, once it has one

  [[nodiscard]] auto is_computed() const -> bool { return element || reduction; }
};

/// An argument of a library call: tensors by definition, all else as it is.
struct CallArg {
  std::optional<DefId> tensor;
  Datum value;
  std::vector<CallArg> items;
  bool is_list = false;
};

/// A kernel that writes elements of memory that is there, some or all, some more than once.
struct Scatter {
  DefId into = 0;  ///< whose elements are written
  Dims over;       ///< positions that are gone through
  /// Statements of one position.
  std::function<void(LoopBuilder&, const Index&)> write;
};

/// A call of an operator that has no loops, or one that writes memory.
struct LibraryCall {
  std::string target;  ///< "aten.mm.default"
  std::string origin;
  std::vector<CallArg> args;
  std::vector<DefId> results;
  std::vector<std::size_t> positions;  ///< of the results in the tuple that is returned
  bool is_tuple = false;
  std::vector<DefId> written;      ///< arguments that it changes
  std::size_t defs_before = 0;     ///< definitions that stood before it in the graph
  std::string reason;              ///< why it is no loop
  std::optional<Scatter> scatter;  ///< then it is compiled; the result is in the memory written
  /// Symbols of sizes that only its results tell.
  std::vector<Expr> measured;
};

struct LoweredGraph {
  std::vector<TensorDef> defs;
  std::vector<LibraryCall> calls;
};

}  // namespace assay
