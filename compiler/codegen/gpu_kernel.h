// A tile kernel as the code of one thread of a GPU. Internal to compiler/codegen.
//
// A program of the grid is a block of threads. A thread holds the lanes that TileLayout gives it: a
// value that varies over none of its registers is one LLVM value, any other one per register.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/codegen/gpu_state.h"
#include "core/base/result.h"

namespace assay {

class GpuKernelEmitter : GpuState {
 public:
  GpuKernelEmitter(llvm::Module& module, const PtxRequest& request, const PtxOptions& options);
  /// Adds the entry to the module. Errors: unsupported (a statement or dtype without code).
  [[nodiscard]] auto run(const std::string& name) -> Result<void>;

 private:
  friend class GpuColumns;
  friend class GpuExponentials;
  friend class GpuSorter;
  friend class GpuWindows;
  // gpu_kernel.cpp
  void fail(std::string message);
  void entry(const std::string& name);
  [[nodiscard]] auto is_active(int index) const -> bool;
  void emit(const TileStatement& one);
  template <class T>
  void statement(const TileStatement& one, const T& what);
  void statement(const TileStatement& one, const TileConstant& what);
  void statement(const TileStatement& one, const TileParamValue& what);
  void statement(const TileStatement& one, const TileLane& what);
  void statement(const TileStatement& one, const TileProgram& what);
  void statement(const TileStatement& one, const TileCompute& what);
  [[nodiscard]] auto is_question(const TileStatement& one, TileOp op) const -> bool;
  [[nodiscard]] auto computed(const TileStatement& one, int index) -> Value*;
  void statement(const TileStatement& one, const TileAssert& what);
  void statement(const TileStatement& one, const TileLoop& what);
  void statement(const TileStatement& one, const TileIf& what);
  [[nodiscard]] auto dtype(TileId id) const -> DType { return kernel_.type(id).dtype; }
  [[nodiscard]] auto axes(TileId id) const -> AxisSet {
    return id == kNoTile ? 0 : kernel_.type(id).axes;
  }
  [[nodiscard]] auto varies(AxisSet axes) const -> bool;
  [[nodiscard]] auto lanes(TileId id) -> Values;
  void set(TileId id, Value* value) { values_[id] = {{value}, 0, {}}; }
  void set(TileId id, Values lanes);
  /// Registers of which no two only differ in other axes, in the order they are computed in.
  [[nodiscard]] auto distinct(AxisSet axes) const -> std::vector<int>;
  /// One value per register; computed once for each of those.
  [[nodiscard]] auto per_lane(AxisSet axes, const std::function<Value*(int)>& of) -> Values;
  void barrier();
  void when(Value* condition, const std::function<void()>& then);
  /// What one of the two gives: as many values, of the same types.
  auto either(Value* condition, const std::function<Values()>& then,
              const std::function<Values()>& otherwise) -> Values;
  [[nodiscard]] auto as_int64(Value* value, DType of) -> Value*;

  // gpu_affine.cpp
  [[nodiscard]] auto affine(const TileStatement& one, TileOp op) -> bool;
  [[nodiscard]] auto lane(TileId id, int index) -> Value*;
  [[nodiscard]] auto stepped(const Held& held, int index) -> Value*;  ///< without the constant
  /// Operands of a comparison in a register, of 32 bits where a position is compared with a limit.
  [[nodiscard]] auto order_operands(const TileStatement& one, int index) -> Values;
  [[nodiscard]] auto places(std::size_t param, TileId index_id) -> std::function<Value*(int)>;

  // gpu_quotients.cpp: of many lanes at once; false where that does not pay
  [[nodiscard]] auto shared_quotients(const TileStatement& one) -> bool;
  [[nodiscard]] auto usual_functions(const TileStatement& one, TileOp op) -> bool;
  [[nodiscard]] auto quotients(const Values& dividends, Value* divisor, Value* moderate) -> Values;
  [[nodiscard]] auto small_exponentials(const TileStatement& one) -> bool;  // ..exponentials.cpp
  // gpu_pairs.cpp
  [[nodiscard]] auto extreme_of_pairs(llvm::Intrinsic::ID how, TileId id,
                                      std::vector<int> registers) -> Value*;
  [[nodiscard]] auto folded_by_pairs(const TileStatement& one, const TileReduce& what) -> bool;

  // gpu_order.cpp
  void region(const TileRegion& region);
  /// What follows a row's last reduction some registers at a time: all need not be there at once.
  void in_chunks(const std::vector<TileStatement>& body);
  void each_chunk(const Statements& all, const std::map<TileId, Held>& before, unsigned chunk);
  void emit_all(const Statements& all);
  [[nodiscard]] auto can_go_straight(const Statements& all) -> Value*;
  [[nodiscard]] auto positions_of(const Statements& body) const -> Statements;
  [[nodiscard]] auto in_order(int number) const -> int;  ///< register that is the number-th made
  void forget_places();  ///< what is computed of places from here on is not kept from before
  [[nodiscard]] auto opaque(Value* value) -> Value*;  ///< an unknown that equals it

  // gpu_memory.cpp
  void statement(const TileStatement& one, const TileStore& what);
  void statement(const TileStatement& one, const TileAtomic& what);
  void statement(const TileStatement& one, const TileSearch& what);
  [[nodiscard]] auto address(std::size_t param, Value* index, DType index_dtype) -> Value*;
  [[nodiscard]] auto mask(TileId id, int index) -> Value*;
  /// The condition of register i's access, in checked code only where the index is in bounds.
  [[nodiscard]] auto checked(const TileStatement& one, int i, Value* condition, Access access)
      -> Value*;
  [[nodiscard]] auto checked_at(const TileStatement& one, std::size_t param, int i, Value* at,
                                Value* condition, Access access) -> Value*;
  void record(int line, Value* param, Value* element, GpuFault fault, Value* origin = nullptr);
  [[nodiscard]] auto guarded_load(llvm::Type* type, Value* place, Value* condition,
                                  std::uint64_t fill = 0) -> Value*;
  void guarded_store(Value* value, Value* place, Value* condition);
  /// True in the thread that acts for all that hold copies of a lane; null: every thread does.
  [[nodiscard]] auto leader(AxisSet axes) -> Value*;
  [[nodiscard]] auto is_leading(AxisSet axes, int index) const -> bool;
  [[nodiscard]] auto element(const TileStatement& one, std::size_t param, int i, Value* index,
                             DType of) -> Value*;
  /// Sums whose result nobody wants, four neighbours at once. False where that cannot be.
  [[nodiscard]] auto add_lanes(const TileStatement& one, const TileAtomic& what) -> bool;
  /// The condition of a write by register: its mask (operand 2), in the thread that acts.
  [[nodiscard]] auto takes_part(const TileStatement& one, int index, Value* acts) -> Value*;

  // gpu_wide.cpp
  void statement(const TileStatement& one, const TileLoad& what);
  void store_lanes(const TileStatement& one, std::size_t param, Values stored);
  [[nodiscard]] auto load_runs(const Runs& runs, const TileStatement& one, std::size_t param,
                               const ReadSome& one_by_one, std::optional<std::uint64_t> fill)
      -> Values;
  [[nodiscard]] auto filled(const Runs& runs, const Values& words, TileId mask_id, llvm::Type* type,
                            std::uint64_t fill) -> Values;
  [[nodiscard]] auto moved_guards(const Run& run, std::optional<Span> span, Value* place) -> Values;
  [[nodiscard]] auto moved_words(const Run& run, Value* place, Value* reads_first,
                                 Value* reads_second, std::uint64_t fill) -> Values;
  [[nodiscard]] auto fill_of(const TileStatement& one, DType stored_as)
      -> std::optional<std::uint64_t>;
  [[nodiscard]] auto loaded_words(const Run& run, Value* place, std::uint64_t fill) -> Values;
  void store_words(const Run& run, const Values& words, Value* place);
  [[nodiscard]] auto packed(const Values& lanes, int bytes) -> Values;
  [[nodiscard]] auto unpacked(const Values& words, llvm::Type* type, int count) -> Values;
  // gpu_runs.cpp
  [[nodiscard]] auto run_length(TileId index_id, int index, int size) const -> int;
  [[nodiscard]] auto run_from(TileId index_id, DType of, int first, TileId mask_id, Value* acts)
      -> Run;
  [[nodiscard]] auto meant(TileId id, int first, int length) -> Meant;
  [[nodiscard]] auto lanes(TileId id, int first, int length) -> Values;
  [[nodiscard]] auto order(TileId id) const -> std::optional<Order>;
  [[nodiscard]] auto meant_by_order(TileId id, int first, int length) -> std::optional<Meant>;
  [[nodiscard]] auto bounds_in(TileId id, int first, int length) const -> int;
  [[nodiscard]] auto span(TileId id, int first, int length) -> std::optional<Span>;
  [[nodiscard]] auto movement(TileId id, int first, int length) const
      -> std::optional<std::int64_t>;
  [[nodiscard]] auto all_meant(TileId id, const Registers& registers) -> Value*;
  auto in_groups(TileId mask_id, const Registers& registers, const AccessSome& access) -> Values;
  [[nodiscard]] auto selected_in_groups(const TileStatement& one) -> bool;
  [[nodiscard]] auto is_part(const Run& run) -> Value*;
  [[nodiscard]] auto have_parts(const Runs& runs) -> Value*;
  [[nodiscard]] auto are_aligned(const Runs& runs, TileId index_id, std::size_t param) -> Value*;
  [[nodiscard]] auto all_and_aligned(const Values& masks, Value* place, int bytes) -> Value*;

  // gpu_watch.cpp
  void statement(const TileStatement& one, const TileBarrier& what);
  void statement(const TileStatement& one, const TileArrive& what);
  void watch(const TileStatement& one, std::size_t param, int i, Value* at, Value* condition,
             Access access);
  void choose_unwritten(const TileStatement& one);
  [[nodiscard]] auto program_number() -> Value*;
  [[nodiscard]] auto passed_barriers() -> Value*;
  void tell_arguments();
  void compare_written(const TileStatement& one, const Values& stored, const Values& meant);

  // gpu_transpose.cpp
  /// Stores along an axis that is not the fastest one go through shared memory, so that they are
  /// as wide and coalesced as the loads. False where that cannot be, or is not worth it.
  [[nodiscard]] auto transposed_store(const TileStatement& one, const TileStore& what) -> bool;

  // gpu_lanes.cpp
  void statement(const TileStatement& one, const TileScan& what);
  [[nodiscard]] auto parts_of(const TileStatement& one, std::size_t count) -> Parts;
  [[nodiscard]] auto combine(const TileStatement& one, TileCombine how, const Values& a,
                             const Values& b) -> Values;
  void change(Source& source, std::size_t axis, int bit, Change how) const;
  /// By register: what the register of `source` holds.
  [[nodiscard]] auto fetched(const Values& values, const Source& source) -> Values;
  [[nodiscard]] auto shuffled(Value* value, Value* thread) -> Value*;
  [[nodiscard]] auto shuffled(Value* value, unsigned bit) -> Value*;  ///< to lanes it is other in
  [[nodiscard]] auto through_shared(Value* value, const Values& threads) -> Values;  ///< each's
  [[nodiscard]] auto through_shared(const Values& values, Value* thread) -> Values;  ///< its
  /// Truth of a bit of the coordinate in a register.
  [[nodiscard]] auto has_bit(std::size_t axis, int bit, int index) -> Value*;
  [[nodiscard]] auto coordinate(std::size_t axis, int index) -> Value*;

  // gpu_sort.cpp
  void statement(const TileStatement& one, const TileSort& what);

  // gpu_reduce.cpp
  void statement(const TileStatement& one, const TileReduce& what);
  [[nodiscard]] auto folded(const TileStatement& one, TileCombine how, std::vector<Values> rows)
      -> Values;
  [[nodiscard]] auto fold_warps(const TileStatement& one, TileCombine how, unsigned across,
                                const Values& mine) -> Values;
  [[nodiscard]] auto fold_lanes(const TileStatement& one, TileCombine how, unsigned bit,
                                const Values& mine) -> Values;
  void share_among_warps(const TileStatement& one, TileCombine how, unsigned across,
                         Shares& shares);
  void share_among_lanes(const TileStatement& one, TileCombine how, unsigned bit, Shares& shares);
  [[nodiscard]] auto shared_fold(const TileStatement& one, TileCombine how, unsigned threads,
                                 unsigned neighbours, std::map<unsigned, Value*> values) -> Value*;

  // gpu_placed.cpp
  void enter_places();
  [[nodiscard]] auto place(TilePlace of) -> Place& {
    return places_.at(static_cast<std::size_t>(of) - 1);
  }
  /// By register, what all lanes along the place combine to.
  [[nodiscard]] auto folded_over(const TileStatement& one, TileCombine how, TilePlace of,
                                 AxisSet over, Parts parts) -> Parts;
  [[nodiscard]] auto butterfly(const TileStatement& one, TileCombine how, Value* count, Values mine)
      -> Values;
  [[nodiscard]] auto folded_few(const TileStatement& one, TileCombine how, Value* count,
                                const std::function<Values(Value*)>& part) -> Values;
  [[nodiscard]] auto gathered(const TileStatement& one, TileCombine how, const Values& mine)
      -> Values;
  [[nodiscard]] auto shared_room(llvm::Type* type, std::uint64_t count) -> llvm::GlobalVariable*;

  // gpu_cluster.cpp
  [[nodiscard]] auto exchanged(const TileStatement& one, TileCombine how, const Values& mine)
      -> Values;
  void leave_places();
  /// Instructions that LLVM does not know; null: without a result.
  auto assembly(const char* text, const char* constraints, const Values& operands,
                llvm::Type* result) -> Value*;

  // gpu_dot.cpp
  void statement(const TileStatement& one, const TileDot& what);
  /// True where a statement over k is left to the product that wants it, or has no code.
  [[nodiscard]] auto is_left_to_products(const TileStatement& one) -> bool;
  /// Statements that make an operand in a layout of its own, in order.
  [[nodiscard]] auto operand_slice(TileId id, Statements& slice) -> bool;
  [[nodiscard]] auto shared_operand(TileId id, std::size_t row, std::size_t k)
      -> std::optional<SharedOperand>;
  /// Word `bits` wide of an operand at a row and a place along k.
  [[nodiscard]] auto operand_word(const SharedOperand& of, Value* row, Value* at, unsigned bits)
      -> Value*;
  [[nodiscard]] auto summed_in_order(const TileStatement& one, const SharedOperand& a,
                                     const SharedOperand& b) -> Values;
  [[nodiscard]] auto summed_by_fragments(const TileStatement& one, const SharedOperand& a,
                                         const SharedOperand& b) -> Values;

  // gpu_random.cpp
  void statement(const TileStatement& one, const TileRandom& what);
};

}  // namespace assay
