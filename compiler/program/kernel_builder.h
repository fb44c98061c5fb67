// Statements one behind the other, for passes that write kernels.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/program/kernel.h"

namespace assay {

class KernelBuilder {
 public:
  KernelBuilder() : body_(&kernel_.body.body) {}
  KernelBuilder(const KernelBuilder&) = delete;
  auto operator=(const KernelBuilder&) -> KernelBuilder& = delete;

  [[nodiscard]] auto kernel() -> TileKernel& { return kernel_; }
  [[nodiscard]] auto type(TileId id) const -> const TileType& { return kernel_.type(id); }
  /// Parameters and axes of another kernel, which this one does a part of.
  void start_as_part(const TileKernel& of, const std::string& part);
  /// Adds a buffer that whoever launches gives; its position.
  auto buffer_param(const std::string& name, DType dtype) -> std::size_t;
  /// Varies over what any of these varies over.
  [[nodiscard]] auto axes_of(const std::vector<TileId>& ids) const -> AxisSet;

  /// Of the statements that follow.
  void set_line(int line) { line_ = line; }
  /// Statements go there from now on; gives where they went before.
  auto redirect(std::vector<TileStatement>* body) -> std::vector<TileStatement>* {
    return std::exchange(body_, body);
  }

  auto value(DType dtype, AxisSet axes) -> TileId;  ///< that nothing defines yet
  auto add(decltype(TileStatement::what) what, std::vector<TileId> operands, DType dtype,
           AxisSet axes) -> TileId;
  void append(TileStatement one);
  [[nodiscard]] auto last() -> TileStatement& { return body_->back(); }
  void drop_last() { body_->pop_back(); }
  auto compute(TileOp op, const std::vector<TileId>& operands, std::optional<DType> to = {})
      -> TileId;
  auto number(DType dtype, std::int64_t value) -> TileId;
  auto param(std::size_t index, DType dtype) -> TileId;
  /// Either may be kNoTile, which is true everywhere.
  auto both(TileId a, TileId b) -> TileId;
  /// What changes nothing in a reduction, of operand `part`.
  auto identity(TileCombine combine, std::size_t part, DType of) -> TileId;
  /// Two values of each operand of a reduction, lane by lane; of extremes with an index the first
  /// one stays.
  auto combined(TileCombine combine, const std::vector<TileId>& a, const std::vector<TileId>& b)
      -> std::vector<TileId>;
  /// Adds a number that whoever launches gives; its position.
  auto scalar_param(const std::string& name, DType dtype = DType::int64) -> std::size_t;
  auto reduce(TileCombine combine, std::size_t axis, std::vector<TileId> operands)
      -> std::vector<TileId>;

 private:
  TileKernel kernel_;
  std::vector<TileStatement>* body_;
  int line_ = 0;
};

}  // namespace assay
