// The filter language over nodes of a trace, compiled to SQL: `op:pad status:mismatch
// -module:attn`.
//
//   word            part of a name or an operator        near(name,3)   up to 3 edges away
//   field:text      contains                             path(a,b)      on a path from a to b
//   field=text      equals                               users(name), inputs(name)
//   bytes>1M        also <, >=, <=; K, M, G              -term          not
//   a b             both                                 a | b          one of them; ( ) groups
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "replay/trace/trace.h"

namespace assay {

struct FilterField {
  std::string_view name;
  std::string_view doc;
  std::string_view example;
};
/// What may stand before `:`, `=`, `<`, `>`: for help and completion.
[[nodiscard]] auto filter_fields() -> std::span<const FilterField>;

/// One term, for showing what a filter means.
struct FilterTerm {
  std::string text;     ///< as written
  std::string meaning;  ///< in words
};

struct Filter {
  /// Condition over `nodes n`, with `?` for each of `parameters`; "1" for an empty filter.
  std::string where = "1";
  std::vector<TraceValue> parameters;
  /// A phrase that each hit contains, asked of the index of names first; empty if there is none.
  std::string match;
  std::vector<FilterTerm> terms;
  [[nodiscard]] auto empty() const -> bool { return where == "1" && match.empty(); }
};

/// `version` is that of the trace: older ones have no index of names. Errors: usage, naming the
/// column (1-based) and what was expected.
[[nodiscard]] auto compile_filter(std::string_view text, int version) -> Result<Filter>;

}  // namespace assay
