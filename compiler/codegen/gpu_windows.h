// Windows: code that reads many elements of a buffer, of which its registers and statements share
// most. Internal to compiler/codegen.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compiler/codegen/gpu_numbers.h"
#include "compiler/codegen/gpu_values.h"
#include "compiler/program/kernel.h"

namespace assay {

class GpuKernelEmitter;

/// Of one region of a kernel: its whole numbers and conditions, and the loads of its windows.
class GpuWindows {
 public:
  /// Nothing where no buffer is loaded often, or code is checked.
  [[nodiscard]] static auto of(GpuKernelEmitter& emitter, const std::vector<TileStatement>& body)
      -> std::optional<GpuWindows>;
  /// Code goes straight on, and memory is as it was.
  [[nodiscard]] static auto is_straight(const TileStatement& one) -> bool;
  void forget() { numbers_.forget(); }
  /// Makes whole numbers and truth values, once each. False where the result is neither.
  [[nodiscard]] auto numbered(const TileStatement& one, TileOp op) -> bool;
  /// Makes loads from `at` on together, and what rests on them; the place behind them. `at` where
  /// there are none.
  [[nodiscard]] auto load(const std::vector<TileStatement>& body, std::size_t at) -> std::size_t;

 private:
  using Value = llvm::Value;
  using Values = std::vector<Value*>;
  using Term = GpuNumbers::Term;

  /// Neighbouring elements of a buffer that loads want, from a value and a constant on.
  struct Piece {
    struct Element {
      bool is_wanted = false;
      Value* condition = nullptr;  ///< of whoever wants it; null: always
    };
    std::size_t param = 0;
    Value* base = nullptr;  ///< null: 0
    DType index_dtype = DType::int64;
    std::int64_t first = 0;
    std::vector<Element> elements = {};
    Value *start = nullptr, *condition = nullptr;  ///< place of the base; that any is wanted
    Values lanes = {};                             ///< as in memory, by element
  };
  struct Pieces {
    std::vector<Piece> all;
    std::map<std::tuple<std::size_t, Value*, std::int64_t>, std::size_t> known;
    /// By load and register: the piece, and which of its elements.
    std::map<std::pair<const TileStatement*, int>, std::pair<std::size_t, std::int64_t>> wanted;
  };
  /// Loads that are made together, and these and what rests on them, in order.
  struct Window {
    /// Elements of a buffer that are a value and a constant each, and the position whose bounds are
    /// asked: rows may be shorter than what a thread wants of them, and then the element behind a
    /// row's end is one of the next row too.
    struct Elements {
      std::set<std::pair<std::int64_t, Value*>> known;
      bool is_shared = false;  ///< several loads want one of them
    };
    std::vector<const TileStatement*> loads, late;
    std::map<std::pair<std::size_t, Value*>, Elements> wanted;  ///< by buffer and value
    std::int64_t bytes = 0;
    bool is_shared = false;  ///< any element is
  };

  GpuWindows(GpuKernelEmitter& emitter, std::set<std::size_t> windows);

  [[nodiscard]] auto term(TileId id, int index) -> Term;
  [[nodiscard]] auto element_term(TileId id, int index) -> Term;
  [[nodiscard]] auto numbered_lane(TileId id, int index) -> Value*;
  [[nodiscard]] auto numbered_term(const TileStatement& one, TileOp op, int index)
      -> std::optional<Term>;
  [[nodiscard]] auto numbered_sum(const TileStatement& one, TileOp op) -> bool;

  [[nodiscard]] auto known_width(std::size_t param, Value* base) -> std::int64_t;
  [[nodiscard]] auto gather(const std::vector<TileStatement>& body, std::size_t at, Window& window)
      -> std::size_t;
  [[nodiscard]] auto begins_row(const TileStatement& load, Window& window) -> bool;
  [[nodiscard]] auto is_of_pieces(const Window& window, const TileStatement& one) -> bool;
  void want(const TileStatement& one, int index, Pieces& pieces);
  void place_piece(Piece& piece);
  [[nodiscard]] auto read_element(const Piece& piece, std::size_t at) -> Value*;
  void read_wide(const std::vector<Piece*>& wide);
  void read(Pieces& pieces);
  void take(const TileStatement& one, const Pieces& pieces);

  GpuKernelEmitter* e_;  ///< whose region it is
  GpuNumbers numbers_;
  std::set<std::size_t> windows_;  ///< buffers
};

}  // namespace assay
