// Conformance: the operator table against recorded calls of PyTorch's eager mode.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ops/op_table.h"
#include "replay/conform/case_file.h"

namespace assay {

/// What was compared, and what did not agree.
enum class ConformAspect : std::uint8_t {
  metadata,  ///< size, every stride, dtype, offset and aliasing of the results, at the actual sizes
  symbolic,  ///< the same with each size a symbol, evaluated back at the hints
  values,    ///< elements within the dtype's tolerance
  mutation,  ///< content of the arguments after the call
  error,     ///< the call failed where PyTorch's did not
};
[[nodiscard]] auto to_string(ConformAspect aspect) -> std::string_view;

struct ConformFailure {
  std::int64_t case_id = 0;
  std::string overload;
  ConformAspect aspect = ConformAspect::error;
  std::string reason;
};

struct ConformCounts {
  std::string overload;
  int calls = 0;
  int without_row = 0;
  int errors = 0;
  int metadata_exact = 0;   ///< of calls
  int symbolic_exact = 0;   ///< of calls
  int values_compared = 0;  ///< calls that are not random and ran
  int values_agree = 0;
  int agree_as_conjugated = 0;  ///< of these: with a complex operand read as lazily conjugated
  int mutations_compared = 0;
  int mutations_agree = 0;
};

/// Calls of an overload in which PyTorch's fake prediction is not what eager did.
struct WrongPrediction {
  std::string overload;
  int calls = 0;
  int matter = 0;            ///< of these: a size, dtype, offset, or stride of a size above 1
  int table_right = 0;       ///< of these: the table's rule gives what eager gave
  std::int64_t example = 0;  ///< the first such call, one that matters if there is any
  std::string wrong;         ///< what is wrong there: "strides", "dtype, sizes"
  std::string differs;       ///< the same in the recording's words
};

struct ConformReport {
  ConformCounts total;
  std::vector<ConformCounts> overloads;  ///< in order of name
  std::vector<ConformFailure> failures;
  std::vector<WrongPrediction> wrong_predictions;  ///< in order of overload
};

void add_up(ConformCounts& total, const ConformCounts& part);

/// Adds one call to a report.
void check_case(const OperatorCase& record, const OpTable& table, ConformReport& report);

/// Runs the selected calls of a case file. Errors: bad_input (the file).
[[nodiscard]] auto run_conformance(const std::filesystem::path& path, const OpTable& table,
                                   const CaseSelection& selection = {}) -> Result<ConformReport>;

}  // namespace assay
