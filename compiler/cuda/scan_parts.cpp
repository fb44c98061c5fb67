// A scan along few long rows: what its parts make together, what stands before each of them, and
// the scan of each with that before it.
#include <optional>
#include <utility>

#include "compiler/cuda/kernel_copier.h"
#include "compiler/cuda/stages.h"
#include "compiler/program/combine.h"

namespace assay {
namespace {

class ScanParter final : KernelCopier {
 public:
  ScanParter(const TileKernel& kernel, const KernelPlan& plan) : KernelCopier(kernel, plan) {}

  auto run() -> Result<PartedScan> {
    for (const auto& planned : plan_.statements) {
      const auto& one = *planned.statement;
      const bool is_scan = std::holds_alternative<TileScan>(one.what);
      if (planned.reduction || (is_scan && scan_ != nullptr) || !one.regions.empty() ||
          std::holds_alternative<TileAssert>(one.what) ||
          std::holds_alternative<TileAtomic>(one.what))
        return unsupported("it is more than a scan");
      if (is_scan) scan_ = &one;
    }
    if (scan_ == nullptr || scan_->operands.size() != 1 || plan_.reduced.size() != 1)
      return unsupported("it is no scan of one axis");
    what_ = std::get<TileScan>(scan_->what);
    dtype_ = from_.type(scan_->operands[0]).dtype;
    if (what_.is_reverse || !combine_op(what_.combine, dtype_))
      return unsupported("a scan of this kind");
    PartedScan parted;
    parted.axis = what_.axis;
    parted.dtype = dtype_;
    parted.parallel = plan_.parallel;
    parted.kernels = {totals(), before(), rest()};
    return parted;
  }

 private:
  void start(KernelBuilder& b, const std::string& part) {
    KernelCopier::start(b, part);
    auto& axes = b.kernel().axes;
    auto parts = axes[what_.axis];
    parts.name = "part";
    parts.kind = TileAxis::Kind::parallel;
    parts_axis_ = axes.size();
    axes.push_back(std::move(parts));
    totals_ = b.buffer_param("totals", dtype_);
    before_ = b.buffer_param("before", dtype_);
    const auto length = b.scalar_param("length"), extent = b.scalar_param("extent");
    const auto count = b.scalar_param("parts");
    const auto row = place_of_row();
    part_ = index(parts_axis_);
    place_ = sum(b.compute(TileOp::mul, {row, b.param(count, DType::int64)}), part_);
    // Positions of the axis are those of a part, behind those before it.
    at_ = sum(b.compute(TileOp::mul, {part_, b.param(length, DType::int64)}), index(what_.axis));
    inside_ = b.compute(TileOp::lt, {at_, b.param(extent, DType::int64)});
  }
  auto sum(TileId a, TileId b) -> TileId { return b_->compute(TileOp::add, {a, b}); }
  auto identity() -> TileId { return b_->identity(what_.combine, 0, dtype_); }

  auto instead(const TileStatement& one) -> std::optional<TileId> override {
    const auto* index = std::get_if<TileIndex>(&one.what);
    return index != nullptr && index->axis == what_.axis ? std::optional(at_) : std::nullopt;
  }
  void guard(TileStatement& made) override {
    const bool is_store = std::holds_alternative<TileStore>(made.what);
    if (!is_store && !std::holds_alternative<TileLoad>(made.what)) return;
    if (!varies(b_->axes_of(made.operands))) return;
    auto& mask = made.operands[is_store ? 2 : 1];
    mask = b_->both(mask, inside_);
  }
  void copy_needed() {
    for (const auto& planned : plan_.statements)
      if (is_needed(*planned.statement)) copy(*planned.statement);
  }
  /// What is scanned; where a part is over, what changes nothing.
  auto scanned() -> TileId {
    return b_->compute(TileOp::select, {inside_, value(scan_->operands[0]), identity()});
  }
  auto scan(TileId of, std::size_t axis) -> TileId {
    return b_->add(TileScan{.combine = what_.combine, .axis = axis}, {of}, dtype_,
                   b_->axes_of({of}));
  }

  auto totals() -> std::shared_ptr<const TileKernel> {
    KernelBuilder b;
    start(b, "totals");
    need_operands(*scan_);
    copy_needed();
    store(totals_, place_, b.reduce(what_.combine, what_.axis, {scanned()})[0]);
    return std::make_shared<TileKernel>(std::move(b.kernel()));
  }
  /// Of one element of the axis.
  auto before() -> std::shared_ptr<const TileKernel> {
    KernelBuilder b;
    start(b, "before");
    auto& axes = b.kernel().axes;
    axes[parts_axis_].kind = TileAxis::Kind::reduction;
    axes[what_.axis].kind = TileAxis::Kind::parallel;
    axes[what_.axis].extent = Expr(1);
    const auto one =
        b.add(TileLoad{totals_}, {place_, kNoTile, kNoTile}, dtype_, b.axes_of({place_}));
    store(before_, place_, scan(one, parts_axis_));
    return std::make_shared<TileKernel>(std::move(b.kernel()));
  }
  auto rest() -> std::shared_ptr<const TileKernel> {
    KernelBuilder b;
    start(b, "parts");
    for (const auto& planned : plan_.statements)
      if (is_store(planned)) need_operands(*planned.statement);
    need_operands(*scan_);
    for (const auto& planned : plan_.statements)
      if (planned.statement == scan_)
        values_[scan_->results[0]] = behind_others(scan(scanned(), what_.axis));
      else if (is_store(planned) || is_needed(*planned.statement))
        copy(*planned.statement);
    return std::make_shared<TileKernel>(std::move(b.kernel()));
  }
  /// With what all parts before this one make.
  auto behind_others(TileId inner) -> TileId {
    const auto is_behind = b_->compute(TileOp::gt, {part_, b_->number(DType::int64, 0)});
    const auto at = b_->compute(TileOp::sub, {place_, b_->number(DType::int64, 1)});
    const auto carried =
        b_->add(TileLoad{before_}, {at, is_behind, identity()}, dtype_, b_->axes_of({at}));
    return b_->combined(what_.combine, {carried}, {inner})[0];
  }

  const TileStatement* scan_ = nullptr;
  TileScan what_;
  DType dtype_ = DType::float32;
  // Of the kernel that is made
  std::size_t parts_axis_ = 0, totals_ = 0, before_ = 0;
  TileId part_ = kNoTile, place_ = kNoTile;  ///< and where it is among those of all rows
  TileId at_ = kNoTile, inside_ = kNoTile;   ///< along the axis
};

}  // namespace

auto part_scan(const TileKernel& kernel, const KernelPlan& plan) -> Result<PartedScan> {
  return ScanParter(kernel, plan).run();
}

}  // namespace assay
