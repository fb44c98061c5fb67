// Values of a straight piece of a thread's code, numbered by what they are made of: equal ones are
// made once. Internal to compiler/codegen.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include <llvm/IR/IRBuilder.h>

namespace assay {

class GpuNumbers {
 public:
  using Value = llvm::Value;
  using Values = std::vector<Value*>;

  /// Of whole numbers; `base` null: 0.
  struct Term {
    Value* base = nullptr;
    std::int64_t offset = 0;
    friend auto operator==(const Term&, const Term&) -> bool = default;
  };
  enum class Made : std::uint8_t {
    sum,
    difference,
    product,
    extended,
    at_most,
    computed,  ///< by an operation of the table: `detail` says which, and of what
    either,
    place,
    chosen,  ///< zero where it is not meant
    both,
    limit,
    from_memory,
  };
  struct Key {
    Made how = Made::sum;
    std::int64_t detail = 0;
    Values operands;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  /// `given`: positions that no arithmetic shows to be such.
  GpuNumbers(llvm::IRBuilder<>& b, const std::set<const Value*>& given) : b_(&b), given_(&given) {}

  /// What `make` gives, now or when it was made before.
  [[nodiscard]] auto made(Key key, const std::function<Value*()>& make) -> Value*;
  [[nodiscard]] auto term(Value* value, std::int64_t offset) const -> Term;
  [[nodiscard]] auto value(Term term, llvm::Type* type) -> Value*;
  [[nodiscard]] auto sum(Term a, Term b) -> Term;
  [[nodiscard]] auto difference(Term a, Term b) -> Term;
  [[nodiscard]] auto product(Term a, Term b, llvm::Type* type) -> Term;
  /// a <= b, or a < b; of positions, which are far from where numbers wrap.
  [[nodiscard]] auto at_most(Term a, Term b, bool is_less) -> Value*;
  /// A condition that has both bounds of a position among its conjuncts as one comparison: what
  /// else it asks makes the upper bound 0. Any other one as it is.
  [[nodiscard]] auto within(Value* condition) -> Value*;
  /// The position that such a comparison is of; null where a condition is none.
  [[nodiscard]] auto position_in(const Value* condition) const -> Value*;
  /// Either; null is always true.
  [[nodiscard]] auto either(Value* a, Value* b) -> Value*;

  /// How many low bits are known to be zero.
  [[nodiscard]] auto zero_bits(const Value* value) -> int;
  /// Made of the thread's place, tiles, sizes and constants alone, by arithmetic.
  [[nodiscard]] auto is_position(const Value* value) -> bool;
  [[nodiscard]] auto is_position(Term term) -> bool;  ///< and as far from where numbers wrap

  /// Of values that are zero where a condition does not hold.
  std::map<const Value*, const Value*> zero_without;

  /// Memory may have changed, or code goes on elsewhere.
  void forget();

 private:
  llvm::IRBuilder<>* b_;
  const std::set<const Value*>* given_;
  /// a + beyond <= b.
  struct Order {
    Value *a = nullptr, *b = nullptr;
    std::int64_t beyond = 0;
  };
  /// How many multiples of `step` are below a size; of 32 bits where positions are.
  [[nodiscard]] auto limit(Term size, std::int64_t step, bool is_narrow) -> Value*;
  std::map<Key, Value*> known_;
  std::map<const Value*, Order> orders_;
  std::map<const Value*, Value*> positions_;  ///< by comparison of both bounds
  std::map<const Value*, int> zero_bits_;
  std::map<const Value*, bool> is_position_;
};

/// False makes the other one false: a conjunct of it.
[[nodiscard]] auto is_conjunct(const llvm::Value* one, const llvm::Value* of) -> bool;

}  // namespace assay
