// For which sizes does it fail? The simplest condition that all answers agree with.
#pragma once
#include <string>

#include "minifier/search/sizes.h"

namespace assay {

/// Asks the oracle at sizes around the failing ones, one symbol at a time, and prints the simplest
/// condition over one symbol that explains all answers and predicts further ones:
/// "Mod(s77, 8) != 0 (12 sizes asked)". Empty if it fails wherever it was asked, or if no single
/// condition explains it.
[[nodiscard]] auto find_condition(const Capture& capture, const OpTable& table,
                                  const CaptureTest& test) -> std::string;

}  // namespace assay
