// Observed as JSON text: from a child to its parent, and in the store of answers.
#pragma once
#include <string>
#include <string_view>

#include "minifier/oracle/oracle.h"

namespace assay {

[[nodiscard]] auto to_json(const Observed& observed) -> std::string;
/// Errors: bad_input.
[[nodiscard]] auto observed_from_json(std::string_view text) -> Result<Observed>;

}  // namespace assay
