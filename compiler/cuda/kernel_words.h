// Kernels that stand for library calls are written word by word: parameters by name, arithmetic on
// values of one dtype. Whole in this header.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "compiler/program/kernel_builder.h"

namespace assay {

class KernelWords {
 public:
  KernelWords() = default;

 protected:
  using Op = TileOp;
  [[nodiscard]] auto kernel() -> TileKernel& { return b_.kernel(); }

  auto of(Op op, TileId a, TileId b) -> TileId { return b_.compute(op, {a, b}); }
  auto with(Op op, TileId a, std::int64_t number) -> TileId {
    return of(op, a, b_.number(b_.type(a).dtype, number));
  }
  auto as(TileId id, DType dtype) -> TileId {
    return b_.type(id).dtype == dtype ? id : b_.compute(Op::cast, {id}, dtype);
  }
  auto select(TileId condition, TileId a, TileId b) -> TileId {
    return b_.compute(Op::select, {condition, a, b});
  }
  auto param(const std::string& name) -> std::optional<std::size_t> {
    const auto& params = kernel().params;
    const auto known = std::ranges::find(params, name, &TileParam::name);
    if (known == params.end()) return std::nullopt;
    return static_cast<std::size_t>(known - params.begin());
  }
  auto number(const std::string& name, DType dtype = DType::int64) -> TileId {
    const auto known = param(name);
    return b_.param(known ? *known : b_.scalar_param(name), dtype);
  }
  /// In float32.
  auto real(double value) -> TileId { return b_.add(TileConstant{value}, {}, DType::float32, 0); }
  auto real(const std::string& name) -> TileId {
    const auto known = param(name);
    return b_.param(known ? *known : b_.scalar_param(name, DType::float64), DType::float32);
  }
  auto buffer(const std::string& name, DType dtype) -> std::size_t {
    const auto known = param(name);
    return known ? *known : b_.buffer_param(name, dtype);
  }
  auto load(const std::string& name, DType dtype, TileId at, TileId mask) -> TileId {
    return b_.add(TileLoad{buffer(name, dtype)}, {at, mask, kNoTile}, dtype,
                  b_.axes_of({at, mask}));
  }
  void store(const std::string& name, DType dtype, TileId at, TileId value, TileId mask) {
    TileStatement one;
    one.what = TileStore{buffer(name, dtype)};
    one.operands = {at, as(value, dtype), mask};
    b_.append(std::move(one));
  }
  /// Adds an axis whose tile is all there is of it.
  void lane_axis(const char* name, std::int64_t block) {
    kernel().axes.push_back({.name = name,
                             .kind = TileAxis::Kind::lanes,
                             .extent = {},
                             .block = Expr(block),
                             .max_block = block});
  }

  KernelBuilder b_;
};

}  // namespace assay
