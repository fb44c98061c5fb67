// Builds the kernel of a loop nest: elements are asked for at positions and come out as typed
// statements; what was computed once at a position is not computed again.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/lower/definition.h"
#include "compiler/program/kernel.h"

namespace assay {

/// One axis of a nest.
struct LoopAxis {
  Expr extent;
  Expr symbol;  ///< stands for it in positions
  bool is_reduced = false;
  friend auto operator==(const LoopAxis&, const LoopAxis&) -> bool = default;
};

/// Where a tensor stands in a nest: the position of its element (for reductions: of an element of
/// Reduction::over), and the axes behind each of those dimensions.
struct LoopPlace {
  Index position;
  std::vector<std::vector<std::size_t>> axes;
};

/// How a nest is written: axes may be merged, and expressions over the nest's axes become ones over
/// what is left.
struct LoopForm {
  std::vector<LoopAxis> axes;
  std::vector<std::size_t> axis_of;  ///< by axis of the nest
  /// Of every number, condition and address; nothing: they stay as they are.
  std::function<Expr(const Expr&)> rewritten = {};
  /// Only to see what is read and what is rewritten: there will be no kernel, so that nothing is
  /// worked out of numbers and conditions.
  bool is_trial = false;
};
/// The nest as it is.
[[nodiscard]] auto plain_form(std::vector<LoopAxis> axes) -> LoopForm;

class LoopBuilder {
 public:
  /// Which tensors are read from memory, not computed. Called with the position that is read.
  using InMemory = std::function<bool(DefId, const Index&)>;
  LoopBuilder(const LoweredGraph& graph, ExprPool& pool, LoopForm form, InMemory in_memory);

  // Elements
  [[nodiscard]] auto value(DefId def, const Index& position) -> TileId;
  /// Computes a tensor at its place and keeps it for whoever asks for the same position.
  auto root(DefId def, const LoopPlace& place) -> TileId;
  void store(DefId def, const LoopPlace& place, TileId value);
  /// Writes one element of what is in memory, under the mask at hand. Several positions may write
  /// the same one: `combine` adds, none leaves any of them. Once per position of the nest.
  void write(DefId def, const Index& position, TileId value, std::optional<TileOp> combine);
  /// The same where each position of the nest has an element of its own.
  void set(DefId def, const Index& position, TileId value);

  [[nodiscard]] auto graph() const -> const LoweredGraph& { return graph_; }
  [[nodiscard]] auto meta(DefId def) const -> const TensorMeta& { return graph_.defs[def].meta; }

  // Statements
  [[nodiscard]] auto type(TileId id) const -> const TileType& { return kernel_.type(id); }
  [[nodiscard]] auto dtype(TileId id) const -> DType { return type(id).dtype; }
  [[nodiscard]] auto constant(DType dtype, double value) -> TileId;
  [[nodiscard]] auto constant(DType dtype, std::int64_t value) -> TileId;
  [[nodiscard]] auto compute(TileOp op, std::vector<TileId> operands) -> TileId;
  [[nodiscard]] auto cast(TileId id, DType dtype) -> TileId;
  [[nodiscard]] auto random(const TileRandom& what, std::vector<TileId> operands, DType dtype)
      -> TileId {
    return emit(what, std::move(operands), {.dtype = dtype});
  }
  /// A number over axes, symbols and data, as int64; of real type as float64.
  [[nodiscard]] auto number(const Expr& e) -> TileId;
  [[nodiscard]] auto truth(const Expr& condition) -> TileId;
  /// A symbol for a computed index, for positions.
  [[nodiscard]] auto data(TileId index) -> Expr;
  /// An error of the run where the condition is false; what `inside` loads is not loaded there.
  [[nodiscard]] auto asserted(TileId condition, const std::string& message,
                              const std::function<TileId()>& inside) -> TileId;
  /// `inside` is evaluated where the condition holds; loads elsewhere do not happen. `otherwise`
  /// has the same dtype.
  [[nodiscard]] auto choose(TileId condition, const std::function<TileId()>& inside,
                            const std::function<TileId()>& otherwise) -> TileId;

  void fail(std::string message);
  [[nodiscard]] auto error() const -> const std::string& { return error_; }
  [[nodiscard]] auto take() -> TileKernel { return std::move(kernel_); }
  /// Tensors behind the parameters, and expressions behind the numbers, in order of parameters.
  [[nodiscard]] auto buffers() const -> const std::vector<DefId>& { return buffers_; }
  [[nodiscard]] auto numbers() const -> const std::vector<Expr>& { return scalars_; }

 private:
  struct Key {
    DefId def;
    TileId mask;
    Index position;
    friend auto operator==(const Key&, const Key&) -> bool = default;
  };
  struct KeyHash {
    auto operator()(const Key& key) const -> std::size_t;
  };
  struct Computed {
    TileOp op;
    DType dtype;
    std::vector<TileId> operands;
    friend auto operator==(const Computed&, const Computed&) -> bool = default;
  };
  struct ComputedHash {
    auto operator()(const Computed& key) const -> std::size_t;
  };
  auto emit(decltype(TileStatement::what) what, std::vector<TileId> operands, TileType type)
      -> TileId;
  void keep(TileStatement statement);
  [[nodiscard]] auto stand_in(const Expr& e) -> TileId;
  [[nodiscard]] auto address(const TensorDef& def, const Index& position) -> TileId;
  [[nodiscard]] auto buffer(DefId owner, DType dtype) -> std::size_t;
  [[nodiscard]] auto load(DefId def, const Index& position) -> TileId;
  [[nodiscard]] auto reduce(const Reduction& reduction, const LoopPlace& place) -> TileId;
  [[nodiscard]] auto rewritten(const Expr& e) const -> Expr;
  /// Of expressions over the axes that are left.
  [[nodiscard]] auto number_of(const Expr& e) -> TileId;
  [[nodiscard]] auto truth_of(const Expr& condition) -> TileId;
  [[nodiscard]] auto folded(const Expr& e, TileOp op, DType dtype) -> TileId;
  [[nodiscard]] auto symbol(const Expr& e) -> TileId;
  [[nodiscard]] auto param(const Expr& symbol) -> std::size_t;

  const LoweredGraph& graph_;
  ExprPool& pool_;
  LoopForm form_;
  InMemory in_memory_;
  TileKernel kernel_;
  std::unordered_map<Key, TileId, KeyHash> values_;
  std::unordered_map<Expr, TileId> known_;
  std::set<std::pair<TileId, TileId>> asserted_;  ///< conditions with their masks
  std::unordered_map<Computed, TileId, ComputedHash> computed_;
  std::map<std::tuple<DType, std::int64_t, bool>, TileId> constants_;
  std::vector<DefId> buffers_;
  std::vector<Expr> scalars_;
  TileId mask_ = kNoTile;
  std::string error_;
};

}  // namespace assay
