// Layouts as a trace spells them, evaluated at sizes that the user may change.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/expr/eval.h"
#include "core/expr/expr.h"
#include "replay/trace/trace.h"

namespace assay {

/// Sizes by the symbol's name.
using NamedSizes = std::map<std::string, std::int64_t>;

/// Symbols of a run with their values; those of `changed` replace them.
[[nodiscard]] auto read_sizes(const TraceReader& reader, const NamedSizes& changed)
    -> Result<NamedSizes>;
/// "s77 = 68, s53 = 7" as sizes; what stands for blocks and places in a kernel (XBLOCK, assay_i0)
/// is left out.
[[nodiscard]] auto sizes_of_witness(std::string_view witness) -> NamedSizes;
/// "s53=7,s77=68", as `--at` takes it.
[[nodiscard]] auto sizes_text(const NamedSizes& sizes) -> std::string;
/// The first few, then how many more: "s0 = 4, s1 = 8, and 12 more".
[[nodiscard]] auto short_sizes_text(const NamedSizes& sizes, std::size_t most = 6) -> std::string;
[[nodiscard]] auto to_binding(ExprPool& pool, const NamedSizes& sizes) -> Binding;

/// "[s77 + 8, 32]" as expressions. Errors: of the parser; bad_input without brackets.
[[nodiscard]] auto parse_list(ExprPool& pool, std::string_view text) -> Result<std::vector<Expr>>;

/// A layout with numbers; elements, except `item_bytes`.
struct Strided {
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;
  std::int64_t item_bytes = 1;
  /// One past the last element that it reaches; `offset` if it has none.
  [[nodiscard]] auto end() const -> std::int64_t;
  [[nodiscard]] auto is_empty() const -> bool;
};
/// What claims and observations hold, at these sizes. Errors: a part that is missing, no list, or
/// cannot be evaluated.
[[nodiscard]] auto layout_at(ExprPool& pool, const Binding& binding, const std::string& dtype,
                             const std::string& sizes, const std::string& strides,
                             const std::string& offset) -> Result<Strided>;
[[nodiscard]] auto to_string(const Strided& layout) -> std::string;  ///< "[72, 32] : [32, 1]"

}  // namespace assay
