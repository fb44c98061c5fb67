// Smaller sizes at which the failure is still there.
#pragma once
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "core/ops/op_table.h"
#include "replay/formats/capture.h"

namespace assay {

/// The smallest sizes (in shortlex order) that ranges, guards and these further conditions admit,
/// from a solver that the caller brings along. Nothing if there are none or it cannot tell.
using SmallestSizes =
    std::function<std::optional<Binding>(const ShapeEnv& env, const std::vector<Expr>& conditions)>;

/// Does the failure still show?
using CaptureTest = std::function<bool(const Capture&)>;

/// Symbols with their sizes, by name.
[[nodiscard]] auto sorted_sizes(const Binding& sizes) -> std::vector<std::pair<Expr, Expr>>;

/// Facts about sizes that claims and guards tell apart: `s % m == 0` for each constant divisor, as
/// they hold at `sizes`.
[[nodiscard]] auto discriminating_facts(const Capture& capture, const Binding& sizes)
    -> std::vector<Expr>;

/// Constant divisors m of Mod and FloorDiv over each symbol, ascending.
[[nodiscard]] auto divisors_of(const Capture& capture) -> std::vector<std::int64_t>;

/// The capture at the smallest sizes at which it still passes `test`: first those that keep all
/// discriminating facts (a tail exists, padding is needed), then with facts given up one by one.
[[nodiscard]] auto shrink_sizes(const Capture& capture, const OpTable& table,
                                const SmallestSizes& solver, const CaptureTest& test) -> Capture;

/// The same for sizes that are numbers: each is tried wherever it stands, with and without what is
/// made of it, then in single dimensions of inputs. Recorded data are made anew only where
/// something becomes smaller.
[[nodiscard]] auto shrink_constants(const Capture& capture, const OpTable& table,
                                    const CaptureTest& test) -> Capture;

}  // namespace assay
