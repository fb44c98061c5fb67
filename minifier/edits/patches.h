// Edits of a capture beyond leaving calls out: one row per kind, each a list of patches that can be
// applied in any combination.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/expr/eval.h"
#include "core/ops/op_table.h"
#include "replay/formats/capture.h"

namespace assay {

/// One typed edit. Nodes are named by their stable ids, so a patch applies to any capture that
/// other patches left behind; it gives false, and changes nothing, where its precondition is gone.
struct Patch {
  std::string what;  ///< "relu -> its operand x"
  std::function<bool(Capture&)> apply;
};

struct PatchKind {
  std::string_view name;  ///< "bypass", as in the log
  auto (*enumerate)(const Capture&) -> std::vector<Patch>;
  /// Values or layouts change: what eager execution recorded holds no longer.
  bool changes_values = false;
  /// True claims follow: they become what the rules say of the new inputs.
  bool renews_claims = false;
};
/// In the order they are tried: fewer calls, fewer inputs, simpler operators, then values.
[[nodiscard]] auto patch_kinds() -> std::span<const PatchKind>;

/// Applies all patches but those in `withheld` (ascending positions). Nothing if none applied.
[[nodiscard]] auto apply_patches(const Capture& capture, const PatchKind& kind,
                                 const std::vector<Patch>& patches,
                                 const std::vector<int>& withheld, const OpTable& table)
    -> std::optional<Capture>;

/// Well formed, and no operator refuses its operands' claims that did not refuse before.
[[nodiscard]] auto is_sound(const Capture& capture, const OpTable& table, int refusals) -> bool;
[[nodiscard]] auto count_refusals(const Capture& capture, const OpTable& table) -> int;

/// The capture with inputs made at these sizes. Errors: as inputs_at, bad_input if a guard or a
/// range forbids them.
[[nodiscard]] auto at_sizes(const Capture& capture, const Binding& sizes) -> Result<Capture>;
/// Sizes of the recorded inputs.
[[nodiscard]] auto sizes_of(const Capture& capture, const OpTable& table) -> Binding;
/// The symbol replaced by a size in claims, arguments and guards; it goes where nothing uses it.
[[nodiscard]] auto make_static(const Capture& capture, const Expr& symbol, const Expr& value)
    -> Capture;
/// A size that is a number, and a smaller one for it.
struct SmallerSize {
  std::int64_t size = 0, by = 0;
  bool multiples = false;     ///< numbers made of it follow: 2*size becomes 2*by
  NodeId input = NodeId{-1};  ///< only one dimension of this input; else wherever the size is
  std::size_t dim = 0;
};
/// The capture with a smaller number in inputs and in lists that arguments are; true claims follow
/// by the rules, recorded elements are repeated. Nothing where the size does not occur, or stands
/// in a layout with gaps.
[[nodiscard]] auto with_smaller(const Capture& capture, const SmallerSize& change,
                                const OpTable& table) -> std::optional<Capture>;
/// Sizes of inputs and numbers in lists of arguments that are more than 1, the largest first.
[[nodiscard]] auto constant_sizes(const Capture& capture) -> std::vector<std::int64_t>;

/// Do ranges and guards admit these sizes?
[[nodiscard]] auto admits(const ShapeEnv& env, const Binding& sizes) -> bool;

}  // namespace assay
