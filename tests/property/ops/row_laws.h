// Laws that every row of the operator table obeys.
//   1. the rule on symbols, evaluated back, equals the rule on numbers, aliasing included;
//   2. values do not depend on the layout of the operands;
//   3. arguments that the schema does not mark as written keep their bytes.
#pragma once
#include <string>

#include "core/ops/domain.h"

namespace assay::testing {

/// Runs the row on the arguments and checks the laws with gtest expectations. False if the row
/// rejects the call.
auto check_laws(const OpTable& table, const OpRow& row, const DatumList& args) -> bool;

}  // namespace assay::testing
