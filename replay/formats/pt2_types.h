// Parts of PyTorch's export schema (torch/_export/serde/schema.py) as our types.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/result.h"
#include "core/shape/shape_env.h"
#include "core/tensor/meta.h"
#include "replay/formats/json.h"

namespace assay {

/// The one member of a schema union: `{"as_tensor": {...}}`. Kind is empty if it is no union.
struct Pt2Union {
  std::string_view kind;
  JsonValue value;
};
[[nodiscard]] auto read_union(JsonValue json) -> Pt2Union;

[[nodiscard]] auto read_pt2_dtype(JsonValue json) -> Result<DType>;
[[nodiscard]] auto read_pt2_device(JsonValue json) -> Result<Device>;
[[nodiscard]] auto read_pt2_layout(JsonValue json) -> Result<Layout>;
/// Does this TensorMeta describe a tensor with strides, not a sparse one?
[[nodiscard]] auto has_strides(JsonValue tensor_meta) -> bool;
[[nodiscard]] auto read_pt2_memory_format(JsonValue json) -> Result<MemoryFormat>;

/// Reads symbolic values of one program and collects its symbols on the way. A program and its
/// sub-graphs share one.
class Pt2Symbols {
 public:
  /// Declares symbols with their ranges: `range_constraints`. A key that is an expression becomes
  /// guards. Errors: bad_input naming the key.
  [[nodiscard]] auto read_ranges(JsonValue range_constraints) -> Result<void>;
  /// SymInt, SymFloat or SymBool: `{"as_int": 3}`, `{"as_expr": {"expr_str": ..., "hint": ...}}`.
  [[nodiscard]] auto read_number(JsonValue json) -> Result<Expr>;
  [[nodiscard]] auto read_meta(JsonValue json) -> Result<TensorMeta>;
  /// Expression text in any spelling; symbols that are new are declared.
  [[nodiscard]] auto parse(std::string_view text) -> Result<Expr>;
  [[nodiscard]] auto env() -> ShapeEnv& { return env_; }

 private:
  auto read_dims(JsonValue json) -> Result<Dims>;

  ShapeEnv env_;
  std::unordered_map<std::string, Expr>
      parsed_;  ///< the same few expressions come thousands of times
};

}  // namespace assay
