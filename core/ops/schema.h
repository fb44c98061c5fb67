// PyTorch operator schemas, read from the text PyTorch prints.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/ops/datum.h"

namespace assay {

enum class ParamKind : std::uint8_t {
  tensor,
  integer,
  number,
  real,
  flag,
  text,
  dtype,
  layout,
  device,
  memory_format,
  other,  ///< Generator, Stream, Dimname, ...: only None is accepted
};

struct Param {
  std::string name;
  ParamKind kind = ParamKind::tensor;
  bool is_list = false;
  int list_length = 0;          ///< `int[2]`: a single value is repeated; 0 if free
  bool optional = false;        ///< `T?`: None allowed
  bool items_optional = false;  ///< `Tensor?[]`
  bool keyword_only = false;
  bool has_default = false;
  Datum default_value;
  char alias = 0;        ///< alias set letter, 0 if none
  bool written = false;  ///< `Tensor(a!)`: mutated by the call
};

struct Return {
  bool is_tensor = true;
  bool is_list = false;
  char alias = 0;
  bool written = false;
};

struct Schema {
  std::string overload;  ///< "aten.add.Tensor"; an empty overload name reads "default"
  std::vector<Param> params;
  std::vector<Return> returns;
  [[nodiscard]] auto index_of(std::string_view param) const -> int;  ///< -1 if there is none
  [[nodiscard]] auto is_mutating() const -> bool;
};

/// "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".
/// Errors: bad_input naming the column.
[[nodiscard]] auto parse_schema(std::string_view text) -> Result<Schema>;

/// Lines positional and keyword arguments up with the parameters: one Datum per parameter, defaults
/// filled in, single integers repeated for `int[n]`, ints accepted where floats are wanted, numbers
/// where tensors are wanted. Errors: bad_input naming the parameter, unsupported for arguments that
/// the schema does not have (another version of the operator).
[[nodiscard]] auto bind_arguments(const Schema& schema, DatumList positional,
                                  std::vector<std::pair<std::string, Datum>> keywords)
    -> Result<DatumList>;

}  // namespace assay
