// Judges of results that are not a function of the arguments, and what they ask of a call.
#pragma once
#include <cstddef>
#include <string_view>

#include "replay/conform/freedom.h"

namespace assay {

/// The argument of this name; None if the operator has none.
[[nodiscard]] auto arg(const JudgedCall& call, std::string_view name) -> const Datum&;
[[nodiscard]] auto flag(const JudgedCall& call, std::string_view name) -> bool;
/// The same of a parameter that not every overload has.
[[nodiscard]] auto flag_or(const JudgedCall& call, std::string_view name, bool otherwise) -> bool;
[[nodiscard]] auto tensor(const DatumList& results, std::size_t i) -> const Tensor*;
/// Of a result that is fixed.
[[nodiscard]] auto compare_result(const JudgedCall& call, std::size_t i) -> Difference;

// Of decompositions of matrices: do ours and eager's obey the law that defines them?
[[nodiscard]] auto judge_eigh(const JudgedCall& call) -> Difference;
[[nodiscard]] auto judge_svd(const JudgedCall& call) -> Difference;
[[nodiscard]] auto judge_eig(const JudgedCall& call) -> Difference;
[[nodiscard]] auto judge_qr(const JudgedCall& call) -> Difference;
[[nodiscard]] auto judge_lu_factor(const JudgedCall& call) -> Difference;
[[nodiscard]] auto judge_determinant(const JudgedCall& call) -> Difference;
[[nodiscard]] auto judge_slogdet(const JudgedCall& call) -> Difference;
[[nodiscard]] auto judge_solution(const JudgedCall& call) -> Difference;
[[nodiscard]] auto judge_reflectors(const JudgedCall& call) -> Difference;
[[nodiscard]] auto judge_lu(const JudgedCall& call) -> Difference;
[[nodiscard]] auto judge_polar(const JudgedCall& call) -> Difference;
[[nodiscard]] auto judge_inverse(const JudgedCall& call) -> Difference;

}  // namespace assay
