// The engine behind every pointwise kernel: operands are gathered in runs, converted to the compute
// type (int64, double or complex<double>), passed through a scalar functor, and stored.
#pragma once
#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>

#include "core/ops/call.h"
#include "core/ops/layout.h"
#include "core/ops/op_table.h"

namespace assay {

/// Loop nest over a result and its operands: size-1 dims dropped, dims ordered by the result's
/// strides (outermost first), neighbours merged where every operand allows it.
struct RunPlan {
  Ints sizes;
  std::vector<Ints> strides;  ///< result first
};
[[nodiscard]] auto plan_runs(const Ints& sizes, std::vector<Ints> strides) -> RunPlan;
/// Strides of `tensor` seen at `sizes`: 0 where it is broadcast.
[[nodiscard]] auto broadcast_strides(const Tensor& tensor, const Ints& sizes) -> Ints;
/// Common shape of two real tensors; nothing if they do not broadcast.
[[nodiscard]] auto common_sizes(const Ints& a, const Ints& b) -> std::optional<Ints>;
/// The tensor broadcast to `sizes`, as a view.
[[nodiscard]] auto expanded_view(const Tensor& tensor, const Ints& sizes) -> Tensor;

/// The three number types functors compute in; exact, so that no functor is chosen by conversion.
template <class T>
concept Real = std::is_same_v<T, double>;
template <class T>
concept Whole = std::is_same_v<T, std::int64_t>;
template <class T>
concept Cplx = std::is_same_v<T, Complex>;

/// One operand: a tensor seen at the result's sizes, or a number rounded to the compute dtype.
template <class T>
struct PointwiseOperand {
  const Tensor* tensor = nullptr;
  T constant{};
};

template <class T>
auto pointwise_operand(KernelCall& k, int i, DType common) -> PointwiseOperand<T> {
  if (k.is_tensor(i)) return {.tensor = &k.in(i)};
  if constexpr (std::is_same_v<T, Complex>) return {.constant = k.number(i)};
  if constexpr (std::is_same_v<T, double>) return {.constant = round_to(common, k.real(i))};
  if constexpr (std::is_same_v<T, std::int64_t>)
    return {.constant = round_to(common, k.integer(i))};  // -1 is 255 among uint8
}

/// out = f(operands...) for so many operands, in chunks that stay in the first-level cache.
template <class T, std::size_t kOperands, class F>
void run_pointwise(const std::array<PointwiseOperand<T>, kOperands>& operands, Tensor& out,
                   const F& f) {
  constexpr std::int64_t kChunk = 1024;
  std::vector<Ints> all_strides{out.strides()};
  for (const auto& operand : operands)
    all_strides.push_back(operand.tensor ? broadcast_strides(*operand.tensor, out.sizes())
                                         : Ints(out.sizes().size(), 0));
  const auto plan = plan_runs(out.sizes(), std::move(all_strides));
  std::array<const Ints*, kOperands + 1> strides;
  for (std::size_t i = 0; i <= kOperands; ++i) strides[i] = &plan.strides[i];
  std::array<std::vector<T>, kOperands> buffers;
  for (std::size_t i = 0; i < kOperands; ++i) buffers[i].assign(kChunk, operands[i].constant);
  std::vector<T> results(kChunk);
  const auto inner = [&](std::size_t i) { return plan.sizes.empty() ? 0 : plan.strides[i].back(); };

  for_each_run(plan.sizes, strides, [&](std::span<const std::int64_t> at, std::int64_t run) {
    for (std::int64_t begin = 0; begin < run; begin += kChunk) {
      const auto count = static_cast<std::size_t>(std::min(kChunk, run - begin));
      for (std::size_t i = 0; i < kOperands; ++i)
        if (const auto* tensor = operands[i].tensor)
          load_elems<T>(*tensor, tensor->meta.offset + at[i + 1] + begin * inner(i + 1),
                        inner(i + 1), std::span(buffers[i]).first(count));
      [&]<std::size_t... kAt>(std::index_sequence<kAt...>) {
        for (std::size_t e = 0; e < count; ++e) results[e] = static_cast<T>(f(buffers[kAt][e]...));
      }(std::make_index_sequence<kOperands>());
      store_elems<T>(out, out.meta.offset + at[0] + begin * inner(0), inner(0),
                     std::span<const T>(results).first(count));
    }
  });
}

/// Calls `body` with the number type that the dtype is computed in.
template <class Body>
void with_compute_type(DType dtype, Body&& body) {
  if (is_complex(dtype))
    body(Complex{});
  else if (is_floating(dtype))
    body(double{});
  else
    body(std::int64_t{});
}

namespace detail {
template <class F, class T, std::size_t... kAt>
constexpr auto takes(std::index_sequence<kAt...>) -> bool {
  return std::is_invocable_v<const F&, decltype(static_cast<void>(kAt), T{})...>;
}
}  // namespace detail

/// Kernel of a pointwise row. F is a functor over kOperands values, built from the call where it
/// has parameters of its own (alpha, rounding, approximation).
template <class F, std::size_t kOperands>
void pointwise_kernel(KernelCall& k) {
  const auto operands = pointwise_operands(k.row().schema);
  const auto common = compute_dtype(k.args(), k.row());
  if (!common || operands.size() != kOperands) {
    k.fail("the operands do not fit the kernel");
    return;
  }
  const F f = [&] {
    if constexpr (std::is_constructible_v<F, KernelCall&>)
      return F(k);
    else
      return F{};
  }();
  with_compute_type(*common, [&]<class T>(T) {
    if constexpr (detail::takes<F, T>(std::make_index_sequence<kOperands>())) {
      std::array<PointwiseOperand<T>, kOperands> sources;
      for (std::size_t i = 0; i < kOperands; ++i)
        sources[i] = pointwise_operand<T>(k, operands[i], *common);
      if (!k.error()) run_pointwise<T, kOperands>(sources, k.out(), f);
    } else {
      k.unsupported(fmt::format("dtype {} is not supported", name(*common)));
    }
  });
}

/// A table row: schema, promotion, functor.
template <class F, std::size_t kOperands>
auto pointwise(std::string_view schema, Promotion promotion = Promotion::standard) -> OpRow {
  return {.schema_text = schema,
          .rule = pointwise_rule,
          .kernel = pointwise_kernel<F, kOperands>,
          .promotion = promotion};
}
/// The same where the number is a parameter of a unary kernel.
template <class F, std::size_t kOperands>
auto pointwise_with_parameter(std::string_view schema, Promotion promotion = Promotion::standard)
    -> OpRow {
  auto row = pointwise<F, kOperands>(schema, promotion);
  row.numbers_are_parameters = true;
  return row;
}

}  // namespace assay
