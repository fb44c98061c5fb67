// What metadata rules, kernels and decompositions see of a call. Arguments are addressed by their
// position in the schema, which stands in the same table row.
#pragma once
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ops/datum.h"
#include "core/ops/shape_context.h"
#include "core/ops/user_kernel.h"

namespace assay {

struct OpRow;
class RandomState;

/// Argument access shared by the three kinds of calls. Errors are sticky: the first one is kept and
/// everything after it works on neutral values, so rules need no error plumbing.
class Call {
 public:
  Call(const OpRow& row, std::span<const Datum> args) : row_(row), args_(args) {}
  [[nodiscard]] auto row() const -> const OpRow& { return row_; }
  [[nodiscard]] auto args() const -> std::span<const Datum> { return args_; }
  [[nodiscard]] auto arg(int i) const -> const Datum& { return args_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] auto has(int i) const -> bool { return !arg(i).is_none(); }
  [[nodiscard]] auto is_tensor(int i) const -> bool { return arg(i).is_tensor(); }

  [[nodiscard]] auto expr(int i) const -> Expr;             ///< int, float or bool; 0 if None
  [[nodiscard]] auto exprs(int i) const -> Dims;            ///< int list; empty if None
  [[nodiscard]] auto integer(int i) const -> std::int64_t;  ///< constant int (bool counts)
  [[nodiscard]] auto integers(int i) const -> Ints;
  [[nodiscard]] auto real(int i) const -> double;     ///< constant number
  [[nodiscard]] auto number(int i) const -> Complex;  ///< constant number, may be complex
  [[nodiscard]] auto flag(int i) const -> bool;
  [[nodiscard]] auto flags(int i) const -> std::vector<bool>;
  [[nodiscard]] auto text(int i) const -> std::string;
  [[nodiscard]] auto dtype(int i) const -> std::optional<DType>;
  [[nodiscard]] auto device(int i) const -> std::optional<Device>;
  [[nodiscard]] auto memory_format(int i) const -> std::optional<MemoryFormat>;

  /// Keeps the first message; returns false so that `return c.fail(...), Datum{}` reads well.
  /// PyTorch refuses such a call too; what it takes and Assay does not do is `unsupported`.
  auto fail(std::string message) const -> bool;
  auto unsupported(std::string message) const -> bool;
  /// Passes on what another call failed with.
  auto fail(Error error) const -> bool;
  [[nodiscard]] auto error() const -> const std::optional<Error>& { return error_; }

 protected:
  const OpRow& row_;
  std::span<const Datum> args_;
  mutable std::optional<Error> error_;
};

/// A metadata rule's view: tensors are FakeTensors; sizes may be symbolic or constant.
class MetaCall : public Call {
 public:
  MetaCall(const OpRow& row, std::span<const Datum> args, ShapeContext& context)
      : Call(row, args), context_(context) {}
  [[nodiscard]] auto context() -> ShapeContext& { return context_; }

  [[nodiscard]] auto tensor(int i) const -> const FakeTensor&;
  [[nodiscard]] auto meta(int i) const -> const TensorMeta& { return tensor(i).meta; }
  /// Members of a tensor list; null for None members.
  [[nodiscard]] auto tensors(int i) const -> std::vector<const FakeTensor*>;

  /// Dimension index from a possibly negative integer argument; fails if out of range. Rank 0
  /// counts as rank 1.
  auto dim(std::int64_t value, int rank) -> int;
  auto dim_arg(int i, int rank) -> int { return dim(integer(i), rank); }
  /// Which way a size comparison goes; symbolic ones are recorded as obligations.
  auto decide(const Expr& condition, std::string_view why) -> bool {
    return context_.decide(condition, why);
  }
  /// The call is an error unless the condition holds.
  auto require(const Expr& condition, std::string_view message) -> bool;
  auto require(bool condition, std::string_view message) -> bool;

  /// Result in a storage of its own; strides default to contiguous.
  auto fresh(DType dtype, Dims sizes) -> Datum;
  auto fresh(DType dtype, Dims sizes, Dims strides) -> Datum;
  /// Like fresh() on the device of argument `like`, the usual case.
  /// Result that shares the storage of `base`.
  [[nodiscard]] static auto view(const FakeTensor& base, Dims sizes, Dims strides, Expr offset)
      -> Datum;
  void set_device(const Device& device) { device_ = device; }

 private:
  ShapeContext& context_;
  std::optional<Device> device_;
};

/// A reference kernel's view: tensors are real, results are allocated as the rule said.
class KernelCall : public Call {
 public:
  KernelCall(const OpRow& row, std::span<const Datum> args, Datum& result, RandomState& random)
      : Call(row, args), result_(result), random_(random) {}
  [[nodiscard]] auto in(int i) const -> const Tensor&;
  [[nodiscard]] auto tensors(int i) const -> std::vector<const Tensor*>;
  /// The i-th result (0 if there is only one). Kernels write every element of fresh results.
  [[nodiscard]] auto out(int i = 0) -> Tensor&;
  [[nodiscard]] auto result() -> Datum& { return result_; }
  [[nodiscard]] auto random() -> RandomState& { return random_; }

 private:
  Datum& result_;
  RandomState& random_;
};

/// Runs operators in one domain; the fake and the real domain implement it (domain.h).
class Domain {
 public:
  virtual ~Domain() = default;
  virtual auto run(const OpRow& row, DatumList args) -> Result<Datum> = 0;
  [[nodiscard]] virtual auto find(std::string_view overload) const -> const OpRow* = 0;
  /// All overloads of "aten.add", in the table's order.
  [[nodiscard]] virtual auto overloads(std::string_view name) const
      -> std::span<const OpRow* const> = 0;
  /// Sizes and strides of a tensor datum of this domain.
  [[nodiscard]] virtual auto meta(const Datum& tensor) const -> TensorMeta = 0;
  [[nodiscard]] virtual auto context() -> ShapeContext& = 0;
  /// As LaunchUserKernel.
  [[nodiscard]] virtual auto launch(const UserKernelCall&) -> Result<bool> {
    return unsupported("it is not known which kernel it is");
  }
};

/// A decomposition's view: the operator as calls of others, the same in every domain.
class Composer : public Call {
 public:
  Composer(const OpRow& row, std::span<const Datum> args, Domain& domain)
      : Call(row, args), domain_(domain) {}
  [[nodiscard]] auto domain() -> Domain& { return domain_; }
  /// Runs "aten.add.Tensor" on positional arguments (schema order, trailing defaults omitted).
  auto call(std::string_view overload, std::initializer_list<Datum> args) -> Datum;
  auto call(std::string_view overload, DatumList args) -> Datum;
  [[nodiscard]] auto meta(const Datum& tensor) -> TensorMeta;
  [[nodiscard]] auto meta(int i) -> TensorMeta { return meta(arg(i)); }
  /// Element of a multi-result datum.
  [[nodiscard]] auto item(const Datum& tuple, std::size_t i) -> Datum;
  auto decide(const Expr& condition, std::string_view why) -> bool {
    return domain_.context().decide(condition, why);
  }

 private:
  Domain& domain_;
};

[[nodiscard]] auto int_list(std::span<const std::int64_t> values) -> Datum;
[[nodiscard]] auto int_list(std::span<const Expr> values) -> Datum;

}  // namespace assay
