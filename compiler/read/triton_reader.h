// Reads a Triton kernel statement by statement. Internal to compiler/read.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/read/triton_value.h"
#include "core/graph/python_syntax.h"

namespace assay {

/// What the decorators of a kernel say.
struct TritonMeta {
  std::string heuristic, grid_type;
  std::vector<std::string> grid;                              ///< of the first configuration
  std::map<std::string, std::int64_t, std::less<>> combined;  ///< of several kernels in one
  std::vector<std::pair<std::string, std::string>> signature;
  std::map<std::string, std::int64_t> constants;
  std::vector<std::string> launcher_args;
  bool asserts_are_on = true;
};

class TritonReader {
 public:
  TritonReader(std::string_view text, ExprPool& pool)
      : cursor_(text), pool_(pool), builder_(kernel_) {}
  [[nodiscard]] auto read() -> Result<TileKernel>;

 private:
  using Nodes = std::vector<int>;
  using Values = std::vector<TritonValue>;
  using Locals = std::map<std::string, TritonValue, std::less<>>;
  enum class BlockKind : std::uint8_t { loop, then, otherwise };
  /// A block pointer that lines assign, and where its only advance stands, if that is all.
  struct Advance {
    std::string name;
    std::size_t offset = 0;
    int changes = 0;
    [[nodiscard]] auto is_steady() const -> bool { return offset != 0 && changes == 1; }
  };
  /// An open loop or branch.
  struct Block {
    BlockKind kind = BlockKind::loop;
    int indent = 0;
    TileStatement statement;             ///< as far as it is known
    std::unique_ptr<TileRegion> region;  ///< being filled
    std::vector<std::string> assigned;   ///< names that the body assigns and that exist before
    std::vector<std::string> stepped;    ///< names that go along with the loop's variable
    std::array<TritonValue, 3> ends;     ///< of a loop: from, to, in steps of
    std::string variable, step;          ///< as they are written
    std::vector<Advance> moved;          ///< block pointers that the body assigns
    Locals before;
    Locals fresh;  ///< names that the first branch alone has so far, and that are mentioned later
    bool is_elif = false;  ///< ends together with the block around it
  };

  // triton_statement.cpp
  [[nodiscard]] auto statement() -> Result<void>;
  [[nodiscard]] auto decorator() -> Result<void>;
  void meta(int node);
  void first_config(int list);
  void take_number(std::string_view name, int value);
  [[nodiscard]] auto member(int dict, std::string_view key) const -> int;
  [[nodiscard]] auto key_of(int node) const -> std::string;
  [[nodiscard]] auto definition() -> Result<void>;
  void add_param(std::string name, std::string type);
  [[nodiscard]] auto body(int indent) -> Result<void>;
  [[nodiscard]] auto assign(int left, TritonValue value) -> Result<void>;
  void set(std::string_view name, TritonValue value);
  [[nodiscard]] auto loop(int indent) -> Result<void>;
  [[nodiscard]] auto open_loop(Block block) -> Result<void>;
  [[nodiscard]] auto branch(int indent) -> Result<void>;
  [[nodiscard]] auto settled_branch(int indent) -> Result<bool>;
  void skip_below(int indent);
  [[nodiscard]] auto close(int indent) -> Result<void>;
  [[nodiscard]] auto close_loop() -> Result<void>;
  [[nodiscard]] auto carried(const TritonValue& value) -> Result<TritonValue>;
  [[nodiscard]] auto yielded(const std::string& name, const TritonValue& before)
      -> Result<TritonValue>;
  [[nodiscard]] auto first_assigned() -> Locals;
  [[nodiscard]] auto is_mentioned_later(std::string_view name) -> bool;
  [[nodiscard]] static auto mentions(std::string_view source, std::string_view name) -> bool;
  [[nodiscard]] auto close_branch(bool goes_on) -> Result<void>;
  [[nodiscard]] auto assigned_below(int indent) -> std::vector<std::string>;
  [[nodiscard]] auto stepped_below(int indent, std::string_view step) -> std::vector<std::string>;
  [[nodiscard]] auto moved_below(int indent) -> std::vector<Advance>;
  void forget_assigned(std::string_view line);
  void keep(const Token& place, std::string reason);

  // triton_grid.cpp
  void grid_meta(int dict);
  void set_grid();
  void set_split_grid();
  void set_combined_grid();
  [[nodiscard]] auto programs_along(std::string_view dimension) const -> std::optional<Expr>;
  [[nodiscard]] auto lanes_of(const std::string& block) const -> std::optional<Expr>;

  // triton_expression.cpp
  [[nodiscard]] auto value(int node) -> Result<TritonValue>;
  [[nodiscard]] auto tile_of(int node) -> Result<TritonValue>;
  [[nodiscard]] auto subscript(int node) -> Result<TritonValue>;
  [[nodiscard]] auto attribute(int node) -> Result<TritonValue>;
  [[nodiscard]] auto conditional(int node) -> Result<TritonValue>;
  [[nodiscard]] auto shape_of(int node) -> Result<TritonShape>;
  [[nodiscard]] auto position_of(const TritonValue& size) -> Result<std::vector<std::size_t>>;
  [[nodiscard]] auto own_block(const std::string& name) const
      -> std::pair<std::string, std::string>;
  [[nodiscard]] auto axis_named(const std::string& origin) -> std::size_t;
  [[nodiscard]] auto broadcast_to(TritonValue value, const TritonShape& shape)
      -> Result<TritonValue>;
  [[nodiscard]] auto expr_of(const TritonValue& value) const -> std::optional<Expr>;
  [[nodiscard]] auto fail(int node, std::string_view message) const -> std::unexpected<Error>;
  /// Puts the place before a message that has none.
  template <class T>
  [[nodiscard]] auto at(int node, Result<T> result) const -> Result<T> {
    if (result || result.error().message.starts_with("line ")) return result;
    return fail(node, result.error().message);
  }

  // triton_calls.cpp
  [[nodiscard]] auto call(int node) -> Result<TritonValue>;
  [[nodiscard]] auto method(int node, TritonValue receiver, std::string_view name)
      -> Result<TritonValue>;
  [[nodiscard]] auto arguments(int node) -> Result<Values>;
  [[nodiscard]] auto special(int node, std::string_view name, bool& is_known)
      -> Result<TritonValue>;
  [[nodiscard]] auto arange(int node) -> Result<TritonValue>;
  [[nodiscard]] auto full(int node, bool zeros) -> Result<TritonValue>;
  [[nodiscard]] auto zeros_like(int node) -> Result<TritonValue>;
  [[nodiscard]] auto reshaped(int node, bool broadcasts) -> Result<TritonValue>;
  [[nodiscard]] auto transposed(int node) -> Result<TritonValue>;
  [[nodiscard]] auto ceil_quotient(int node) -> Result<TritonValue>;
  [[nodiscard]] auto fused(int node) -> Result<TritonValue>;
  [[nodiscard]] auto rounded(int node) -> Result<TritonValue>;
  [[nodiscard]] auto clamped(int node) -> Result<TritonValue>;
  [[nodiscard]] auto infinity(int node) -> Result<TritonValue>;
  [[nodiscard]] auto where(int node) -> Result<TritonValue>;
  [[nodiscard]] auto program(int node, bool is_count) -> Result<TritonValue>;
  [[nodiscard]] auto extreme(int node, TileOp quiet, TileOp loud) -> Result<TritonValue>;

  // triton_functions.cpp
  void find_functions();
  [[nodiscard]] auto signature(TritonHelper& function) -> Result<void>;
  [[nodiscard]] auto function_call(int node, const TritonHelper& function) -> Result<TritonValue>;
  [[nodiscard]] auto apply(const TritonHelper& helper, const Values& operands)
      -> Result<TritonValue>;
  [[nodiscard]] auto function_body() -> Result<TritonValue>;

  // triton_memory.cpp
  [[nodiscard]] auto load(int node) -> Result<TritonValue>;
  [[nodiscard]] auto store(int node) -> Result<TritonValue>;
  [[nodiscard]] auto atomic(int node, std::string_view name) -> Result<TritonValue>;
  [[nodiscard]] auto loaded(int node, const TritonValue& pointer, TileId mask, TileId other)
      -> TritonValue;
  [[nodiscard]] auto index_of(const TritonValue& pointer) -> TileId;
  [[nodiscard]] auto operand_of(const TritonValue& pointer, const TritonValue& read, DType dtype)
      -> Result<TileId>;
  [[nodiscard]] auto mask_of(int node, std::size_t position, const TritonValue& pointer)
      -> Result<TileId>;
  [[nodiscard]] auto search(int node) -> Result<TritonValue>;
  [[nodiscard]] auto random(int node, TileRandomKind kind) -> Result<TritonValue>;
  [[nodiscard]] auto device_assert(int node) -> Result<TritonValue>;

  // triton_block_pointers.cpp
  struct BlockPlaces {
    TritonValue pointer, mask;  ///< no tile: all are inside
  };
  [[nodiscard]] auto argument(int node, std::string_view name, std::size_t position) const -> int;
  [[nodiscard]] auto numbers(int node, std::size_t count) -> Result<TritonValue>;
  [[nodiscard]] auto block_pointer(int node, bool is_descriptor) -> Result<TritonValue>;
  [[nodiscard]] auto moved_block(TritonValue block, const Values& by) -> Result<TritonValue>;
  [[nodiscard]] auto advanced(int node) -> Result<TritonValue>;
  [[nodiscard]] auto block_places(const TritonValue& block, const std::vector<bool>& checked)
      -> Result<BlockPlaces>;
  [[nodiscard]] auto checked_dimensions(int list, std::size_t count) -> Result<std::vector<bool>>;
  [[nodiscard]] auto load_block(int node, const TritonValue& block,
                                const std::vector<bool>& checked, std::string_view padding)
      -> Result<TritonValue>;
  [[nodiscard]] auto store_block(int node, const TritonValue& block, const TritonValue& stored,
                                 const std::vector<bool>& checked) -> Result<TritonValue>;
  [[nodiscard]] auto through_descriptor(int node, const TritonValue& descriptor, bool is_store,
                                        const Nodes& args) -> Result<TritonValue>;
  [[nodiscard]] auto descriptor_function(int node, bool is_store) -> Result<TritonValue>;
  [[nodiscard]] auto advance_by(const Block& loop, const Advance& advance,
                                const TritonValue& distance) -> Result<TritonValue>;
  [[nodiscard]] auto advance_within(const Block& block, const TritonValue& at) -> Result<void>;
  [[nodiscard]] auto advance_behind(const Block& block) -> Result<void>;

  // triton_reduce.cpp
  [[nodiscard]] auto reduction(int node, std::string_view name, bool& is_known)
      -> Result<TritonValue>;
  [[nodiscard]] auto dimension(int number, std::size_t rank) -> Result<std::optional<std::size_t>>;
  [[nodiscard]] auto reduced(int node, TileCombine combine, Values values,
                             std::optional<std::size_t> along) -> Result<Values>;
  [[nodiscard]] auto lanes_along(const TritonValue& x, std::size_t position) -> Result<TritonValue>;
  [[nodiscard]] auto with_place(int node, bool is_max, bool with_value) -> Result<TritonValue>;
  [[nodiscard]] auto sum(int node) -> Result<TritonValue>;
  [[nodiscard]] auto select_one(int node) -> Result<TritonValue>;
  [[nodiscard]] auto custom_reduce(int node, bool is_scan) -> Result<TritonValue>;
  [[nodiscard]] auto read_helper(const TritonHelper& helper, const Values& operands,
                                 TileRegion& region) -> Result<void>;
  [[nodiscard]] auto cumulative(int node, TileCombine combine) -> Result<TritonValue>;
  [[nodiscard]] auto sort(int node) -> Result<TritonValue>;
  [[nodiscard]] auto sort_values(int node) -> Result<TritonValue>;
  [[nodiscard]] auto sorted(Values v, int dimension_node, TileSort how, const TritonValue& count)
      -> Result<Values>;
  [[nodiscard]] auto dot(int node) -> Result<TritonValue>;
  [[nodiscard]] auto dot_rounds(int node) -> Result<bool>;
  [[nodiscard]] auto welford_step(const Values& v) -> Result<TritonValue>;
  [[nodiscard]] auto welford_combine(const Values& v) -> Result<TritonValue>;
  [[nodiscard]] auto extreme_with_index(const Values& v, bool is_max) -> Result<TritonValue>;
  [[nodiscard]] auto tuple(Values items) const -> TritonValue;

  // triton_split_scan.cpp
  [[nodiscard]] auto is_split_scan() const -> bool { return meta_.grid_type == "SplitScanGrid"; }
  [[nodiscard]] auto split_scan_step() const -> const TritonValue*;
  [[nodiscard]] auto open_split_scan() -> Result<void>;
  [[nodiscard]] auto split_scan_program() -> Result<TritonValue>;
  [[nodiscard]] auto look_back(int node) -> Result<TritonValue>;

  // triton_helpers.cpp
  [[nodiscard]] auto helper(int node, std::string_view name, bool& is_known) -> Result<TritonValue>;

  PythonCursor cursor_;
  ExprPool& pool_;
  TileKernel kernel_;
  TileBuilder builder_;
  TritonMeta meta_;
  Locals locals_;
  std::map<std::string, TritonHelper, std::less<>> helpers_;
  std::map<std::string, std::size_t, std::less<>> axes_;  ///< by origin of their block
  /// By indentation: `if` whose condition is known; has one of its branches been read?
  std::map<int, bool> settled_;
  std::vector<Block> blocks_;
  std::size_t look_backs_ = 0;  ///< of a split scan, read so far
  int calls_ = 0;               ///< of functions, one within the other
  std::string target_;
  bool in_kernel_ = false;
};

}  // namespace assay
