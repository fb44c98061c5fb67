// The operators of a PyTorch, listed by tests/torch/list_schemas.py, held against the table.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ops/op_table.h"

namespace assay {

/// One overload: its schema, and the dispatcher's keys that have a kernel of its own.
struct ListedOperator {
  std::string overload;  ///< "aten.add.Tensor"
  std::string schema_text;
  std::vector<std::string> keys;  ///< "CPU", "CompositeImplicitAutograd", ...
  [[nodiscard]] auto has_key(std::string_view key) const -> bool;
};
struct SchemaList {
  std::string made_by;  ///< "torch 2.15.0, torchvision 0.29.2"
  std::vector<ListedOperator> operators;
};
/// Errors: bad_input naming the line.
[[nodiscard]] auto read_schema_list(const std::string& text) -> Result<SchemaList>;

/// Where an overload stands. The order is that of the summary.
enum class Standing : std::uint8_t {
  written,       ///< a row of its own
  derived,       ///< a row that writes another one's results somewhere
  composite,     ///< none, but PyTorch captures the operators that it is made of
  out_of_scope,  ///< none, and there is a reason
  missing,       ///< none, and there should be one
};
[[nodiscard]] auto to_string(Standing standing) -> std::string_view;

struct Placed {
  const ListedOperator* listed = nullptr;
  Standing standing = Standing::missing;
  std::string_view reason = {};  ///< of out_of_scope
};
/// Every operator of the list, in its order; `list` must outlive the result.
[[nodiscard]] auto place_operators(const SchemaList& list, const OpTable& table)
    -> std::vector<Placed>;

/// What programs never call for other reasons than their types: all names that begin so.
struct AbsentOperators {
  std::string_view prefix;
  std::string_view reason;
};
[[nodiscard]] auto absent_operators() -> std::span<const AbsentOperators>;

}  // namespace assay
