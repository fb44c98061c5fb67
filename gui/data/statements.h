// Every statement that views ask a trace, by name, so that one test can look at all their plans.
#pragma once
#include <span>
#include <string_view>

namespace assay {

struct Statement {
  std::string_view name;
  int version;  ///< of the trace that first has what it reads
  std::string_view sql;
};
[[nodiscard]] auto statements() -> std::span<const Statement>;
/// The statement for a trace of this version: the newest that it can answer, empty if there is
/// none.
[[nodiscard]] auto statement(std::string_view name, int version) -> std::string_view;

}  // namespace assay
