// A scan along few long rows: what its parts make together, what stands before each of them, and
// the scan of each with that before it.
#include <algorithm>
#include <utility>

#include "compiler/cuda/stages.h"
#include "compiler/program/combine.h"
#include "compiler/program/kernel_builder.h"

namespace assay {
namespace {

class ScanParter {
 public:
  ScanParter(const TileKernel& kernel, const KernelPlan& plan) : from_(kernel), plan_(plan) {}

  auto run() -> Result<PartedScan> {
    for (const auto& planned : plan_.statements) {
      const auto& one = *planned.statement;
      const bool is_scan = std::holds_alternative<TileScan>(one.what);
      if (planned.reduction || (is_scan && scan_ != nullptr) || !one.regions.empty() ||
          std::holds_alternative<TileAssert>(one.what) ||
          std::holds_alternative<TileAtomic>(one.what))
        return unsupported("it is more than a scan");
      if (is_scan) scan_ = &one;
      for (const auto id : one.results) makers_[id] = &one;
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
    auto& kernel = b.kernel();
    b.start_as_part(from_, part);
    auto parts = from_.axes[what_.axis];
    parts.name = "part";
    parts.kind = TileAxis::Kind::parallel;
    parts_axis_ = kernel.axes.size();
    kernel.axes.push_back(std::move(parts));
    totals_ = b.buffer_param("totals", dtype_);
    before_ = b.buffer_param("before", dtype_);
    const auto length = b.scalar_param("length"), extent = b.scalar_param("extent");
    const auto parts_param = b.scalar_param("parts");
    b_ = &b;
    values_.clear();
    std::vector<TileId> extents;
    for (const auto axis : plan_.parallel)
      extents.push_back(b.param(b.scalar_param("extent_" + from_.axes[axis].name), DType::int64));
    length_ = b.param(length, DType::int64);
    extent_ = b.param(extent, DType::int64);
    row_ = b.number(DType::int64, 0);
    for (std::size_t i = 0; i < plan_.parallel.size(); ++i) {
      const auto at = index(plan_.parallel[i]);
      row_ = i == 0 ? at : sum(b.compute(TileOp::mul, {row_, extents[i]}), at);
    }
    row_ = b.compute(TileOp::mul, {row_, b.param(parts_param, DType::int64)});
  }
  auto index(std::size_t axis) -> TileId {
    return b_->add(TileIndex{axis}, {}, DType::int64, AxisSet{1} << axis);
  }
  auto sum(TileId a, TileId b) -> TileId { return b_->compute(TileOp::add, {a, b}); }
  auto identity() -> TileId { return b_->identity(what_.combine, 0, dtype_); }
  void store(std::size_t param, TileId at, TileId value) {
    TileStatement one;
    one.what = TileStore{param};
    one.operands = {at, value, kNoTile};
    b_->append(std::move(one));
  }

  /// Positions of the axis are those of a part, behind those before it.
  void enter_part() {
    const auto part = index(parts_axis_);
    at_ = sum(b_->compute(TileOp::mul, {part, length_}), index(what_.axis));
    inside_ = b_->compute(TileOp::lt, {at_, extent_});
  }
  [[nodiscard]] auto varies(TileId id) const -> bool {
    return id != kNoTile && (b_->type(id).axes >> what_.axis & 1U) != 0;
  }
  auto value(TileId id) -> TileId {
    if (id == kNoTile) return id;
    if (const auto known = values_.find(id); known != values_.end()) return known->second;
    put(*makers_.at(id));
    return values_.at(id);
  }
  void put(const TileStatement& one) {
    if (const auto* axis = std::get_if<TileIndex>(&one.what); axis && axis->axis == what_.axis) {
      values_[one.results[0]] = at_;
      return;
    }
    auto made = one;
    for (auto& operand : made.operands) operand = value(operand);
    const bool is_load = std::holds_alternative<TileLoad>(one.what);
    const bool is_store = std::holds_alternative<TileStore>(one.what);
    if ((is_load || is_store) &&
        std::ranges::any_of(made.operands, [&](TileId id) { return varies(id); })) {
      auto& mask = made.operands[is_store ? 2 : 1];
      mask = b_->both(mask, inside_);
    }
    b_->set_line(one.line);
    for (auto& result : made.results) {
      const auto& type = from_.type(result);
      const auto here = b_->value(type.dtype, b_->axes_of(made.operands) | type.axes);
      values_[std::exchange(result, here)] = here;
    }
    b_->append(std::move(made));
  }
  /// What is scanned; where a part is over, what changes nothing.
  auto scanned() -> TileId {
    return b_->compute(TileOp::select, {inside_, value(scan_->operands[0]), identity()});
  }

  auto totals() -> std::shared_ptr<const TileKernel> {
    KernelBuilder b;
    start(b, "totals");
    enter_part();
    const auto made = b.reduce(what_.combine, what_.axis, {scanned()})[0];
    store(totals_, sum(row_, index(parts_axis_)), made);
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
    const auto at = sum(row_, index(parts_axis_));
    const auto one = b.add(TileLoad{totals_}, {at, kNoTile, kNoTile}, dtype_, b.axes_of({at}));
    const auto all = b.add(TileScan{.combine = what_.combine, .axis = parts_axis_}, {one}, dtype_,
                           b.axes_of({at}));
    store(before_, at, all);
    return std::make_shared<TileKernel>(std::move(b.kernel()));
  }
  auto rest() -> std::shared_ptr<const TileKernel> {
    KernelBuilder b;
    start(b, "parts");
    enter_part();
    const auto own = scanned();
    const auto inner = b.add(TileScan{.combine = what_.combine, .axis = what_.axis}, {own}, dtype_,
                             b.axes_of({own}));
    const auto part = index(parts_axis_);
    const auto is_behind = b.compute(TileOp::gt, {part, b.number(DType::int64, 0)});
    const auto at = b.compute(TileOp::sub, {sum(row_, part), b.number(DType::int64, 1)});
    const auto carried =
        b.add(TileLoad{before_}, {at, is_behind, identity()}, dtype_, b.axes_of({at}));
    values_[scan_->results[0]] = b.combined(what_.combine, {carried}, {inner})[0];
    for (const auto& planned : plan_.statements)
      if (std::holds_alternative<TileStore>(planned.statement->what)) put(*planned.statement);
    return std::make_shared<TileKernel>(std::move(b.kernel()));
  }

  const TileKernel& from_;
  const KernelPlan& plan_;
  std::map<TileId, const TileStatement*> makers_;
  const TileStatement* scan_ = nullptr;
  TileScan what_;
  DType dtype_ = DType::float32;
  // Of the kernel that is made
  KernelBuilder* b_ = nullptr;
  std::size_t parts_axis_ = 0, totals_ = 0, before_ = 0;
  TileId length_ = kNoTile, extent_ = kNoTile, row_ = kNoTile;
  TileId at_ = kNoTile, inside_ = kNoTile;
  std::map<TileId, TileId> values_;
};

}  // namespace

auto part_scan(const TileKernel& kernel, const KernelPlan& plan) -> Result<PartedScan> {
  return ScanParter(kernel, plan).run();
}

}  // namespace assay
