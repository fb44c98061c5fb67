// Runs single operators in unit tests, on tensors of any layout.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <initializer_list>

#include "core/ops/domain.h"
#include "core/ops/op_table.h"
#include "core/ops/rows/families.h"

namespace assay::testing {

inline auto integer(std::int64_t value) -> Datum {
  return {Expr(value)};
}
inline auto real(double value) -> Datum {
  return {Expr::real(value)};
}
inline auto flag(bool value) -> Datum {
  return {Expr::boolean(value)};
}
inline auto ints(const Ints& values) -> Datum {
  return int_list(values);
}
inline auto flags(std::initializer_list<bool> values) -> Datum {
  DatumList list;
  for (const bool value : values) list.push_back(flag(value));
  return {std::move(list)};
}

/// A row-major tensor of the values.
inline auto make_tensor(Ints sizes, const std::vector<double>& values, DType dtype = DType::float64)
    -> Tensor {
  auto tensor = *Tensor::contiguous(dtype, std::move(sizes));
  from_vector<double>(tensor, values);
  return tensor;
}
/// Values in [-1, 1) that depend on the seed only.
inline auto random_tensor(Ints sizes, std::uint32_t seed, DType dtype = DType::float64) -> Tensor {
  auto tensor = *Tensor::contiguous(dtype, std::move(sizes));
  fill_storage(*tensor.storage, dtype, {.seed = seed, .lo = -1, .hi = 1});
  return tensor;
}
inline auto values_of(const Tensor& tensor) -> std::vector<double> {
  return to_vector<double>(tensor);
}

/// The same elements with the dims in the given memory order, outermost first, `gap` apart.
inline auto laid_out(const Tensor& tensor, const std::vector<std::size_t>& order,
                     std::int64_t gap = 1) -> Tensor {
  Ints strides(order.size());
  std::int64_t running = gap;
  for (auto i = order.size(); i-- > 0;) {
    strides[order[i]] = running;
    running *= tensor.sizes()[order[i]];
  }
  auto copy = *Tensor::allocate(tensor.dtype(), tensor.sizes(), strides);
  copy_elems(tensor, copy);
  return copy;
}
/// Batch outermost, channels innermost.
inline auto channels_last(const Tensor& tensor) -> Tensor {
  std::vector<std::size_t> order{0};
  for (std::size_t i = 2; i < tensor.sizes().size(); ++i) order.push_back(i);
  order.push_back(1);
  return laid_out(tensor, order);
}
/// Dims in reverse memory order with every second element unused.
inline auto reversed_and_spaced(const Tensor& tensor) -> Tensor {
  std::vector<std::size_t> order;
  for (auto i = tensor.sizes().size(); i-- > 0;) order.push_back(i);
  return laid_out(tensor, order, 2);
}

class OpRunner {
 public:
  OpRunner(std::initializer_list<void (*)(OpTable&)> families) {
    for (const auto add_rows : families) add_rows(table_);
  }
  /// The results; a call that fails fails the test and gives none.
  auto run(std::string_view overload, DatumList args) -> DatumList {
    auto result = try_run(overload, std::move(args));
    if (!result) {
      ADD_FAILURE() << result.error().message;
      return {};
    }
    if (const auto* list = result->list()) return *list;
    return {*std::move(result)};
  }
  auto try_run(std::string_view overload, DatumList args) -> Result<Datum> {
    const auto* row = table_.find(overload);
    if (!row) return bad_input("{} has no row", overload);
    ASSAY_TRY(auto bound, bind_arguments(row->schema, std::move(args), {}));
    return domain_.run(*row, std::move(bound));
  }
  /// One tensor result.
  auto tensor(std::string_view overload, DatumList args, std::size_t i = 0) -> Tensor {
    const auto results = run(overload, std::move(args));
    if (i < results.size() && results[i].real()) return *results[i].real();
    ADD_FAILURE() << overload << ": result " << i << " is not a tensor";
    return make_tensor({}, {0});
  }

 private:
  OpTable table_;
  RealDomain domain_{table_};
};

inline void expect_close(const Tensor& got, const Tensor& want, double tolerance = 1e-12) {
  ASSERT_EQ(got.sizes(), want.sizes());
  const auto a = to_vector<Complex>(got);
  const auto b = to_vector<Complex>(want);
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_LE(std::abs(a[i] - b[i]), tolerance) << "element " << i;
}

/// Checks `gradient` of sum(weights * f(input)) by central differences in double.
inline void expect_gradient(const std::function<Tensor(const Tensor&)>& f, const Tensor& input,
                            const Tensor& weights, const Tensor& gradient) {
  ASSERT_EQ(gradient.sizes(), input.sizes());
  constexpr double kStep = 1e-5;
  const auto loss = [&](const Tensor& at) {
    const auto values = values_of(f(at));
    const auto factors = values_of(weights);
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * factors[i];
    return sum;
  };
  const auto base = values_of(input);
  const auto claimed = values_of(gradient);
  for (std::size_t i = 0; i < base.size(); ++i) {
    auto moved = base;
    moved[i] = base[i] + kStep;
    const double above = loss(make_tensor(input.sizes(), moved));
    moved[i] = base[i] - kStep;
    const double below = loss(make_tensor(input.sizes(), moved));
    ASSERT_NEAR(claimed[i], (above - below) / (2 * kStep), 1e-7) << "element " << i;
  }
}

}  // namespace assay::testing
