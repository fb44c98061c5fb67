// What flows into and out of an operator, in every domain.
#pragma once
#include <complex>
#include <string>
#include <variant>
#include <vector>

#include "core/expr/expr.h"
#include "core/tensor/meta.h"
#include "core/tensor/tensor.h"

namespace assay {

/// A tensor without data: its layout, and an id that says which storage it lives in. Two fake
/// tensors alias exactly if their storage ids are equal.
struct FakeTensor {
  TensorMeta meta;
  int storage = -1;
};

struct Datum;
using DatumList = std::vector<Datum>;

/// Copied and destroyed out of line: each of the many files that hold data would compile it again.
struct DatumValue : std::variant<std::monostate, Expr, Complex, std::string, DType, Device, Layout,
                                 MemoryFormat, FakeTensor, Tensor, DatumList> {
  using variant::variant;
  using variant::operator=;
  DatumValue();
  DatumValue(const DatumValue& other);
  DatumValue(DatumValue&& other) noexcept;
  auto operator=(const DatumValue& other) -> DatumValue&;
  auto operator=(DatumValue&& other) noexcept -> DatumValue&;
  ~DatumValue();
};

/// An argument or a result: nothing (None), a scalar (int, float or bool Expr), complex number,
/// text, an enumeration value, a fake or a real tensor, or a list of such.
struct Datum {
  DatumValue value;

  [[nodiscard]] auto is_none() const -> bool { return value.index() == 0; }
  [[nodiscard]] auto scalar() const -> const Expr* { return std::get_if<Expr>(&value); }
  [[nodiscard]] auto fake() const -> const FakeTensor* { return std::get_if<FakeTensor>(&value); }
  [[nodiscard]] auto real() const -> const Tensor* { return std::get_if<Tensor>(&value); }
  [[nodiscard]] auto list() const -> const DatumList* { return std::get_if<DatumList>(&value); }
  [[nodiscard]] auto is_tensor() const -> bool { return fake() || real(); }
};

/// Short description for messages: "f32[2, 3][3, 1]cpu", "None", "list of 3".
[[nodiscard]] auto to_string(const Datum& datum) -> std::string;

}  // namespace assay
