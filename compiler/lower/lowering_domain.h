// The domain in which a graph becomes loops: running its operators here defines their results
// element by element, or notes a library call.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/lower/definition.h"
#include "core/ops/domain.h"

namespace assay {

struct LoweringCall;

class LoweringDomain final : public Domain {
 public:
  /// `not_lowered`: operators ("aten.add.Tensor") that become library calls although they have
  /// loops.
  LoweringDomain(const OpTable& table, ShapeContext& context,
                 std::set<std::string> not_lowered = {})
      : fakes_(table, context), not_lowered_(std::move(not_lowered)) {}

  auto run(const OpRow& row, DatumList args) -> Result<Datum> override;
  [[nodiscard]] auto find(std::string_view overload) const -> const OpRow* override {
    return fakes_.find(overload);
  }
  [[nodiscard]] auto overloads(std::string_view name) const
      -> std::span<const OpRow* const> override {
    return fakes_.overloads(name);
  }
  [[nodiscard]] auto meta(const Datum& tensor) const -> TensorMeta override {
    return fakes_.meta(tensor);
  }
  [[nodiscard]] auto context() -> ShapeContext& override { return fakes_.context(); }

  /// A tensor that is there when the program starts.
  auto add_input(const std::string& name, const TensorMeta& meta, int storage) -> Datum;
  /// Node whose operators run from now on.
  void set_origin(std::string name) { origin_ = std::move(name); }
  /// Definition of a tensor; nothing if the domain did not make it.
  [[nodiscard]] auto find(const FakeTensor& tensor) const -> std::optional<DefId>;
  [[nodiscard]] auto take() -> LoweredGraph { return std::move(graph_); }
  [[nodiscard]] auto graph() const -> const LoweredGraph& { return graph_; }

 private:
  auto in_layout_of(const Datum& rule, const Datum& made, const OpRow& row) -> Result<Datum>;
  auto run_expansion(const OpRow& row, const DatumList& args, Decomposition expand)
      -> Result<std::optional<Datum>>;
  void define_views(const OpRow& row, const DatumList& args, const Datum& result, DefId base,
                    const std::vector<std::optional<DefId>>& tensors,
                    const std::vector<std::vector<DefId>>& lists);
  auto library(const OpRow& row, const DatumList& args, const Datum& result, std::string reason)
      -> Result<void>;
  auto to_arg(const Datum& datum) -> Result<CallArg>;
  auto scatter(const LoweringCall& call, const Datum& result) -> Result<bool>;
  auto define(const FakeTensor& tensor, const OpRow& row) -> DefId;

  FakeDomain fakes_;
  std::set<std::string> not_lowered_;
  LoweredGraph graph_;
  std::map<int, std::vector<DefId>> by_storage_;
  std::string origin_;
};

}  // namespace assay
