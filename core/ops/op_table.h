// The operator table: one row per overload. A new operator is one row and one test.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/ops/call.h"
#include "core/ops/schema.h"

namespace assay {

/// Layout, dtype and aliasing of the results. Written once, runs on numbers and on symbols.
using MetaRule = Datum (*)(MetaCall&);
/// Fills freshly allocated results (and writes mutated arguments).
using Kernel = void (*)(KernelCall&);
/// The operator as calls of other rows; replaces rule and kernel.
using Decomposition = Datum (*)(Composer&);
/// Sizes and values that only the data tell, for MetaCall::context().data_dependent_value().
using Measure = Dims (*)(KernelCall&);

/// How operand dtypes make the compute dtype, and that the result dtype (c10 result_type rules).
enum class Promotion : std::uint8_t {
  none,             ///< not pointwise
  standard,         ///< result = common dtype
  int_to_float,     ///< integers compute and result in the default float dtype
  boolean,          ///< compute in the common dtype, result bool
  complex_to_real,  ///< abs, angle: complex results in its real part's dtype
  keep_self,        ///< result dtype of argument 0, computed in the common dtype
};

struct InferredRule;

struct OpRow {
  std::string_view schema_text;
  MetaRule rule = nullptr;
  Kernel kernel = nullptr;
  Decomposition decomposition = nullptr;
  Measure measure = nullptr;
  Promotion promotion = Promotion::none;
  /// Numbers are parameters of a unary kernel (pow, clamp_min), not operands of the iteration.
  bool numbers_are_parameters = false;
  bool random = false;               ///< result depends on a random generator
  bool of_seeds = false;             ///< and is a function of seeds drawn before (randomness.h)
  bool uninitialised = false;        ///< contents of the result mean nothing
  bool replaces_self = false;        ///< the first tensor is written whole, and not read
  std::string_view inplace_of = {};  ///< functional overload whose result this row writes somewhere
  /// Not written but inferred from recorded calls; results have no contents (inferred.h).
  std::shared_ptr<const InferredRule> inferred = {};
  Schema schema = {};  ///< parsed from schema_text when the row is added
  [[nodiscard]] auto name() const -> const std::string& { return schema.overload; }
  /// Nobody can say what the contents of a result are, unless the generator's seed is known.
  [[nodiscard]] auto is_arbitrary(bool has_seed) const -> bool {
    return uninitialised || of_seeds || (random && !has_seed);
  }
};

class OpTable {
 public:
  /// Adds a row; a schema that does not parse or a duplicate overload is a bug in the table.
  void add(OpRow row);
  /// The same for a schema text that was computed: the table keeps it.
  void add_owned(OpRow row, std::string schema_text);
  [[nodiscard]] auto find(std::string_view overload) const -> const OpRow*;
  /// All overloads of an operator, "aten.add", in order of addition.
  [[nodiscard]] auto overloads(std::string_view name) const -> std::span<const OpRow* const>;
  [[nodiscard]] auto rows() const -> const std::vector<std::unique_ptr<OpRow>>& { return rows_; }

 private:
  std::vector<std::unique_ptr<OpRow>> rows_;  ///< stable addresses, in order of addition
  std::unordered_map<std::string_view, const OpRow*> by_name_;
  std::unordered_map<std::string_view, std::vector<const OpRow*>> by_operator_;
  std::vector<std::unique_ptr<const std::string>> owned_texts_;
};

/// All rows. Built once by main and passed down.
[[nodiscard]] auto build_op_table() -> OpTable;

}  // namespace assay
