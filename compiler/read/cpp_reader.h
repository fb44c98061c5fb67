// Reads a C++ kernel: statements are executed on symbols, loops become axes. Internal to
// compiler/read.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/read/cpp_state.h"
#include "compiler/read/cpp_syntax.h"

namespace assay {

class CppReader {
 public:
  /// `splits_lanes`: lanes of vectors that loops add to are values of their own; many statements,
  /// which only a kernel that combines them in several ways needs.
  CppReader(CppSyntax syntax, ExprPool& pool, bool splits_lanes = false)
      : syntax_(std::move(syntax)), builder_(kernel_, pool), splits_lanes_(splits_lanes) {}
  [[nodiscard]] auto read() -> Result<TileKernel>;
  /// Something was not understood that splitting lanes may tell.
  [[nodiscard]] auto lacks_lanes() const -> bool { return lacks_lanes_; }

 private:
  using Values = std::vector<CppValue>;
  using R = Result<CppValue>;
  struct Branch {
    std::vector<CppRange> ranges;
    int node = -1;
  };
  struct State {
    CppBuilder::State builder;
    std::map<std::string, CppLocal, std::less<>> locals;
    std::vector<CppArray> arrays;
    std::size_t accesses = 0, problems = 0;
    std::set<std::size_t> loaded, stored;
  };
  /// What a branch did.
  struct Outcome {
    std::vector<TileStatement> statements;
    std::vector<TileValue> values;
    std::map<std::string, CppLocal, std::less<>> locals;
    std::vector<CppArray> arrays;
    bool is_understood = true;
  };
  struct Access {
    std::size_t param = 0;
    Expr index;
    bool is_load = false, is_store = false;
  };

  // cpp_kernel.cpp: the function, its nests of loops
  [[nodiscard]] auto params(const CppFunction& function) -> Result<void>;
  void top(int node);
  [[nodiscard]] auto is_container(int node) const -> bool;
  [[nodiscard]] auto only_loop(int node) const -> int;
  [[nodiscard]] auto is_about_division(int node) const -> bool;
  void nest(int node);
  [[nodiscard]] auto is_independent(AxisSet axes) -> bool;
  [[nodiscard]] auto open_loop(int node, TileAxis::Kind kind) -> Result<void>;
  [[nodiscard]] auto step_of(int node, const Expr& extent) -> Result<std::int64_t>;
  [[nodiscard]] auto axis_for(const Expr& extent, TileAxis::Kind kind) -> Result<std::size_t>;

  // cpp_statement.cpp
  void statement(int node);
  [[nodiscard]] auto simple(int node) -> Result<void>;
  [[nodiscard]] auto pragma(int node) -> Result<void>;
  [[nodiscard]] auto give(int node) -> Result<void>;
  [[nodiscard]] auto evaluate(int node) -> Result<void>;
  void block(int node);
  [[nodiscard]] auto loop(int node) -> Result<void>;
  [[nodiscard]] auto lanes_of(std::string_view name, const Expr& begin, const Expr& end)
      -> std::optional<std::pair<std::size_t, Expr>>;
  [[nodiscard]] auto lane_loop(int node, std::string_view name) -> Result<bool>;
  void thread_loop(int node, const std::string& name);
  [[nodiscard]] auto branch(int node) -> Result<void>;
  [[nodiscard]] auto no_lane(int node) -> Result<void>;
  [[nodiscard]] auto declare(int node) -> Result<void>;
  [[nodiscard]] auto initial(int node) -> Result<CppValue>;
  [[nodiscard]] auto assign(int node) -> Result<void>;
  [[nodiscard]] auto assign_element(int node, std::string_view op) -> Result<void>;
  void keep(int node, const std::string& reason);

  // cpp_ranges.cpp: branches that take rounds of loops over vectors
  [[nodiscard]] auto ranges_of(int condition) -> std::optional<std::vector<CppRange>>;
  void ranged(const std::vector<Branch>& branches);
  [[nodiscard]] auto enter(const Branch& branch) -> Result<void>;
  [[nodiscard]] auto covers(const std::vector<Branch>& branches) const -> bool;
  [[nodiscard]] auto run_branch(const Branch& branch, const State& before) -> Outcome;
  [[nodiscard]] auto is_same(const Outcome& a, const Outcome& b, const State& before) const -> bool;
  [[nodiscard]] auto mask_of(const Branch& branch) -> Result<TileId>;
  [[nodiscard]] auto save() const -> State;
  void restore(const State& state);

  // cpp_expression.cpp
  [[nodiscard]] auto value(int node) -> R;
  [[nodiscard]] auto number_literal(const CppNode& node) -> R;
  [[nodiscard]] auto named(int node) -> R;
  [[nodiscard]] auto member(int node) -> R;
  [[nodiscard]] auto element(int node) -> R;
  [[nodiscard]] auto conditional(int node) -> R;
  [[nodiscard]] auto lambda_call(int node) -> R;
  [[nodiscard]] auto unary(int node) -> R;
  [[nodiscard]] auto binary(int node) -> R;
  [[nodiscard]] auto braces(int node) -> R;
  struct Type {
    DType dtype = DType::float32;
    bool is_vector = false;
    bool is_modular = false;  ///< the unsigned type of that size
  };
  [[nodiscard]] auto type_of(int node) -> Result<Type>;
  [[nodiscard]] auto type_argument(const CppNode& node, std::size_t i = 0) -> Result<Type>;
  [[nodiscard]] auto flag_argument(const CppNode& node) const -> bool;
  [[nodiscard]] auto masked(TileId condition, int node) -> R;
  [[nodiscard]] auto both(TileId a, TileId b) -> Result<TileId>;
  [[nodiscard]] auto truth(int node) -> Result<TileId>;
  [[nodiscard]] auto integer(int node) -> Result<Expr>;

  // cpp_calls.cpp
  [[nodiscard]] auto call(int node) -> R;
  [[nodiscard]] auto method(int node) -> R;
  [[nodiscard]] auto mask_method(int node, CppValue object) -> R;
  [[nodiscard]] auto function(int node, std::string_view name) -> R;
  [[nodiscard]] auto arguments(int node, std::size_t first = 1) -> Result<Values>;
  [[nodiscard]] auto apply(std::string_view name, const Values& values, bool& is_known) -> R;
  [[nodiscard]] auto composed(std::string_view name, const Values& values, bool& is_known) -> R;
  [[nodiscard]] auto composite(int node, std::string_view name) -> R;
  [[nodiscard]] auto scaled_erfc_of(int node) -> R;
  [[nodiscard]] auto split_float(int node) -> R;
  [[nodiscard]] auto scaled_by_power(int node) -> R;
  /// Gives a variable or an element of an array a value.
  [[nodiscard]] auto put(int place, CppValue value, int node) -> Result<void>;
  [[nodiscard]] auto constructed(int node) -> R;
  [[nodiscard]] auto converted(int node, DType dtype) -> R;
  [[nodiscard]] auto bits(int node) -> R;
  [[nodiscard]] auto mask_from(int node) -> R;
  [[nodiscard]] auto first_lanes(int node) -> R;
  [[nodiscard]] auto floor_division(int node, TileOp op) -> R;
  [[nodiscard]] auto smaller(int node, bool is_min) -> R;
  [[nodiscard]] auto blend(int node) -> R;
  [[nodiscard]] auto arange(int node) -> R;
  [[nodiscard]] auto same_mask(int node) -> R;
  [[nodiscard]] auto all_blended(int node) -> R;
  [[nodiscard]] auto size(int node) -> R;
  [[nodiscard]] auto check(int node) -> R;
  [[nodiscard]] auto unquoted(int node) const -> std::string;
  [[nodiscard]] auto limit(int node, std::string_view name) -> R;
  [[nodiscard]] auto random(int node, TileRandomKind kind) -> R;

  // cpp_memory.cpp
  [[nodiscard]] auto vector_load(int node) -> R;
  [[nodiscard]] auto vector_store(int node) -> R;
  [[nodiscard]] auto masked_load(int node) -> R;
  [[nodiscard]] auto load(const CppValue& pointer, const Expr& index, bool is_vector, int node)
      -> R;
  [[nodiscard]] auto is_same_element(const Expr& a, const Expr& b) const -> bool;
  [[nodiscard]] auto load_local(const CppArray& array, const Expr& index, bool is_vector) -> R;
  [[nodiscard]] auto store(const CppValue& pointer, const Expr& index, const CppValue& value,
                           int node) -> Result<void>;
  [[nodiscard]] auto add_to(const CppValue& pointer, const Expr& index, const CppValue& value,
                            int node) -> Result<void>;
  void store_local(CppArray& array, const Expr& index, CppValue value);
  [[nodiscard]] auto transpose(int node) -> R;
  [[nodiscard]] auto transposed_out(const CppValue& source, const CppValue& target,
                                    const CppStored& copy, bool adds, int node) -> Result<void>;
  [[nodiscard]] auto lanes_for(const Expr& rows, const Expr& columns) const
      -> std::vector<std::pair<Expr, Expr>>;
  [[nodiscard]] auto vector_lane() const -> Result<const CppLoop*>;
  [[nodiscard]] auto lane_of(int node, std::optional<int> count, bool is_local) -> Result<Expr>;
  [[nodiscard]] auto atomic_add(int node, bool is_vector) -> R;
  void order(std::size_t param, bool is_store);

  // cpp_reduce.cpp: values that loops add to
  struct Update {
    TileCombine combine = TileCombine::sum;
    Values operands;
    bool of_parts = false;  ///< fields of a record whose lanes hold parts
  };
  /// Types of several values: a mean with its squares and weight, an extreme value with its place.
  [[nodiscard]] static auto is_record(std::string_view type) -> bool {
    return type == "Welford" || type == "IndexValue" || type == "IndexValueVec";
  }
  [[nodiscard]] static auto combine_of(std::string_view op) -> std::optional<TileCombine>;
  [[nodiscard]] auto update_of(int right, const std::string& target, DType dtype)
      -> Result<std::optional<Update>>;
  [[nodiscard]] auto update_call(int right, const std::string& target, DType dtype)
      -> Result<std::optional<Update>>;
  [[nodiscard]] auto indexed_update(int right, std::string_view name) -> Result<Update>;
  [[nodiscard]] auto helper_update(const std::string& target, int right) -> Result<bool>;
  [[nodiscard]] auto combined(const CppValue& before, std::size_t depth, const Update& update) -> R;
  [[nodiscard]] auto bad_lanes(std::string_view message) -> std::unexpected<Error>;
  [[nodiscard]] static auto is_first(const CppValue& before, TileCombine combine) -> bool;
  [[nodiscard]] auto joined(const CppValue& start, const Update& added) -> R;
  [[nodiscard]] auto across(std::size_t depth) const -> std::optional<CppLoop>;
  [[nodiscard]] auto combined_parts(const CppValue& before, std::size_t depth, Update update) -> R;
  [[nodiscard]] auto combined_lanes(const CppValue& before, std::size_t depth, const Update& update,
                                    const CppLoop& loop) -> R;
  [[nodiscard]] auto all_lanes(const CppValue& vector, TileCombine combine) -> R;
  [[nodiscard]] auto reduced(Update update, std::size_t depth, bool& takes_lanes) -> Result<Update>;
  [[nodiscard]] auto neutral(const Update& update, TileId mask) -> Result<std::vector<TileId>>;
  [[nodiscard]] auto join(TileCombine combine, const CppValue& a, const Values& b) -> R;
  [[nodiscard]] auto join_records(TileCombine combine, const Values& a, const Values& b) -> R;
  [[nodiscard]] auto reduction(int node, std::string_view name, bool& is_known) -> R;
  [[nodiscard]] auto record(int node) -> R;

  CppSyntax syntax_;
  TileKernel kernel_;
  CppBuilder builder_;
  std::map<std::string, CppLocal, std::less<>> locals_;
  std::vector<CppArray> arrays_;
  std::vector<CppLoop> loops_;
  std::vector<std::string> declared_;      ///< in the open blocks
  std::vector<Access> accesses_;           ///< of the open nest
  std::set<std::size_t> loaded_, stored_;  ///< since the last barrier
  std::set<std::string, std::less<>> failed_;
  std::optional<CppValue> returned_;
  std::vector<int> called_;                         ///< lambdas that are being read
  std::vector<std::pair<TileId, CppValue>> early_;  ///< returns that lanes decide on, in order
  TileId mask_ = kNoTile;
  int serial_ = 0;
  bool is_threaded_ = false;  ///< an OpenMP loop: its rounds run in any order
  bool is_checked_ = false;   ///< an assert is being read
  bool splits_lanes_ = false, lacks_lanes_ = false;
  bool needs_mask_ = false;  ///< vectors are loaded under a mask of their own only
};

}  // namespace assay
