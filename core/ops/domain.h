// The two domains that operators run in: fake (metadata only) and real (host tensors).
#pragma once
#include <functional>
#include <memory>
#include <utility>

#include "core/ops/call.h"
#include "core/ops/counter_random.h"
#include "core/ops/op_table.h"

namespace assay {

/// Metadata only; sizes symbolic or constant. Tensors are FakeTensor data.
class FakeDomain final : public Domain {
 public:
  FakeDomain(const OpTable& table, ShapeContext& context) : table_(table), context_(context) {}
  auto run(const OpRow& row, DatumList args) -> Result<Datum> override;
  [[nodiscard]] auto find(std::string_view overload) const -> const OpRow* override {
    return table_.find(overload);
  }
  [[nodiscard]] auto overloads(std::string_view name) const
      -> std::span<const OpRow* const> override {
    return table_.overloads(name);
  }
  [[nodiscard]] auto meta(const Datum& tensor) const -> TensorMeta override;
  [[nodiscard]] auto context() -> ShapeContext& override { return context_; }

 private:
  const OpTable& table_;
  ShapeContext& context_;
};

/// Executes on host tensors. Layout and aliasing of results come from the row's rule at the actual
/// sizes, values from its kernel; a decomposition runs its parts.
class RealDomain final : public Domain {
 public:
  /// Random operators draw from `random` (generator.h), which domains may share; null: from
  /// generators of the domain's own, without a seed.
  explicit RealDomain(const OpTable& table, std::shared_ptr<RandomState> random = nullptr);
  auto run(const OpRow& row, DatumList args) -> Result<Datum> override;
  [[nodiscard]] auto find(std::string_view overload) const -> const OpRow* override {
    return table_.find(overload);
  }
  [[nodiscard]] auto overloads(std::string_view name) const
      -> std::span<const OpRow* const> override {
    return table_.overloads(name);
  }
  [[nodiscard]] auto meta(const Datum& tensor) const -> TensorMeta override;
  [[nodiscard]] auto context() -> ShapeContext& override { return context_; }
  /// What random numbers the calls since the last question drew, those that operators are composed
  /// of too.
  [[nodiscard]] auto take_drawn() -> Randomness { return std::exchange(drawn_, Randomness::none); }
  /// Called behind every call, those that operators are composed of too (at a depth above 1), with
  /// its arguments, one for each parameter, and its result.
  using Observer =
      std::function<void(const OpRow&, const DatumList&, const Datum& result, int depth)>;
  void set_observer(Observer observer) { observer_ = std::move(observer); }
  void set_launcher(LaunchUserKernel launcher) { launcher_ = std::move(launcher); }
  [[nodiscard]] auto launch(const UserKernelCall& call) -> Result<bool> override {
    return launcher_ ? launcher_(call) : Domain::launch(call);
  }

 private:
  auto compute(const OpRow& row, DatumList args) -> Result<Datum>;

  const OpTable& table_;
  ShapeContext context_;
  std::shared_ptr<RandomState> random_;
  bool has_seed_ = false;  ///< the generators are somebody's
  Observer observer_;
  LaunchUserKernel launcher_;
  int depth_ = 0;
  Randomness drawn_ = Randomness::none;
};

/// What RealDomain would return, without computing anything: host tensors in storages of the right
/// sizes, whose contents mean nothing. Errors: those of rules; unsupported where sizes or numbers
/// of a result depend on data.
class LayoutDomain final : public Domain {
 public:
  /// Called for every row that has to run, in order: with the tensors it takes and gives. Views and
  /// decompositions are none of them.
  using Leaf = std::function<void(const OpRow&, const DatumList&, const Datum&)>;
  LayoutDomain(const Domain& like, Leaf leaf) : like_(like), leaf_(std::move(leaf)) {}
  auto run(const OpRow& row, DatumList args) -> Result<Datum> override { return layout(row, args); }
  auto layout(const OpRow& row, const DatumList& args) -> Result<Datum>;
  [[nodiscard]] auto find(std::string_view overload) const -> const OpRow* override {
    return like_.find(overload);
  }
  [[nodiscard]] auto overloads(std::string_view name) const
      -> std::span<const OpRow* const> override {
    return like_.overloads(name);
  }
  [[nodiscard]] auto meta(const Datum& tensor) const -> TensorMeta override {
    return like_.meta(tensor);
  }
  [[nodiscard]] auto context() -> ShapeContext& override { return context_; }

 private:
  const Domain& like_;
  Leaf leaf_;
  ShapeContext context_;
  ShapeEnv env_;  ///< for symbols of sizes that only data tell
};

/// Can the row be executed, not only reasoned about?
[[nodiscard]] auto has_execution(const OpRow& row) -> bool;

}  // namespace assay
