// For which sizes does it fail? The simplest condition that all answers agree with.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "minifier/search/sizes.h"

namespace assay {

/// Asks the oracle at sizes around the failing ones, one symbol at a time, and prints the simplest
/// condition over one symbol that explains all answers and predicts further ones:
/// "Mod(s77, 8) != 0 (12 sizes asked)". Empty if it fails wherever it was asked, or if no single
/// condition explains it.
[[nodiscard]] auto find_condition(const Capture& capture, const OpTable& table,
                                  const CaptureTest& test) -> std::string;

/// Is the failure there at this size? Nothing where the size is not admitted.
using SizeTest = std::function<std::optional<bool>(std::int64_t size)>;

/// The same for one symbol that is `now` where it fails. Besides small ones, `divisors` are tried.
[[nodiscard]] auto explain_sizes(const Expr& symbol, std::int64_t now,
                                 const std::vector<std::int64_t>& divisors, const SizeTest& test)
    -> std::string;

}  // namespace assay
