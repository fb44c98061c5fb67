// Rows for operators without one, from the calls that were recorded beside a capture.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ops/inferred.h"
#include "replay/conform/case_file.h"

namespace assay {

struct InferredOperator {
  std::string overload;
  std::size_t calls = 0;
  std::shared_ptr<const InferredRule> rule;
};

/// What the calls of a case file say about each of its operators that has no row. Errors: of
/// for_each_case.
[[nodiscard]] auto infer_operators(const CaseSource& cases, const OpTable& table)
    -> Result<std::vector<InferredOperator>>;

/// Adds a row for each confirmed operator.
void add_inferred_rows(OpTable& table, const std::vector<InferredOperator>& operators);

/// "my.op.default: rule inferred from 6 recorded calls (3 predicted from the others): [x.size(0)]".
[[nodiscard]] auto to_string(const InferredOperator& op) -> std::string;

}  // namespace assay
