// Which products and sums of a kernel are rounded once, as a fused multiplication and addition.
//
// Only where nothing but halves is stored, whose rounding hides what that changes, and where no two
// equal products meet, of which the difference would no longer be 0: what a value that was loaded
// is added to, and sums of squares.
#include "compiler/codegen/gpu_kernel.h"

namespace assay {
namespace {

/// A number that was loaded, as it is or widened.
auto is_loaded(const AccessSteps& steps, TileId id) -> bool {
  const auto* maker = steps.maker(id);
  while (maker != nullptr) {
    if (std::holds_alternative<TileLoad>(maker->what)) return true;
    const auto* compute = std::get_if<TileCompute>(&maker->what);
    if (compute == nullptr || compute->op != TileOp::cast) return false;
    maker = steps.maker(maker->operands[0]);
  }
  return false;
}

auto is_square(const AccessSteps& steps, TileId id) -> bool {
  const auto* maker = steps.maker(id);
  const auto* compute = maker == nullptr ? nullptr : std::get_if<TileCompute>(&maker->what);
  return compute != nullptr && compute->op == TileOp::mul &&
         maker->operands[0] == maker->operands[1];
}

}  // namespace

/// Of the products and sums that a statement is made of.
auto GpuState::flags(const TileStatement& one) const -> llvm::FastMathFlags {
  llvm::FastMathFlags flags;
  if (!steps_.stores_halves()) return flags;
  if (const auto* compute = std::get_if<TileCompute>(&one.what)) {
    const bool is_sum = compute->op == TileOp::add || compute->op == TileOp::sub;
    flags.setAllowContract(
        compute->op == TileOp::mul ||
        (is_sum && (is_loaded(steps_, one.operands[0]) || is_loaded(steps_, one.operands[1]))));
  } else if (const auto* reduce = std::get_if<TileReduce>(&one.what)) {
    flags.setAllowContract(reduce->combine == TileCombine::sum &&
                           is_square(steps_, one.operands[0]));
  }
  return flags;
}

}  // namespace assay
