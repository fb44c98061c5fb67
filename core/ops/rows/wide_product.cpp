// Products of narrow operands with wider results, and products of groups
// (aten/src/ATen/native/cuda/Blas.cpp, ScaledBlas.cpp, GroupedBlas.cpp; grouped_mm_fallback of the
// transformers package).
#include <algorithm>

#include "core/ops/composing.h"
#include "core/ops/typed_elements.h"

namespace assay {
namespace {

/// The row of the same operator without a dtype, on widened operands; the dtype stands behind them.
template <int kOperands>
auto widened(Composer& c) -> Datum {
  auto name = c.row().name();
  name.replace(name.rfind('.'), std::string::npos, ".default");
  const auto dtype = c.dtype(kOperands);
  if (!dtype) return c.fail("a dtype is needed"), Datum{};
  DatumList args;
  for (int i = 0; i < static_cast<int>(c.args().size()); ++i)
    if (i < kOperands)
      args.push_back(converted(c, c.arg(i), *dtype));
    else if (i > kOperands)
      args.push_back(c.arg(i));
  return c.call(name, std::move(args));
}

/// self, mat1, mat2, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, contraction_dim,
/// beta, alpha.
auto scaled_addmm(Composer& c) -> Datum {
  const auto dtype = c.meta(0).dtype;
  const auto product = c.call("aten._scaled_mm_v2.default",
                              {c.arg(1), c.arg(2), c.arg(3), c.arg(4), c.arg(5), c.arg(6), c.arg(7),
                               c.arg(8), Datum{}, Datum{DType::float32}});
  const auto scaled = call2(c, "aten.mul.Scalar", product, c.arg(11));
  if (c.arg(10).scalar() && c.arg(10).scalar()->is_int(0)) return converted(c, scaled, dtype);
  const auto self = call2(c, "aten.mul.Scalar", converted(c, c.arg(0), DType::float32), c.arg(10));
  return converted(c, add(c, self, scaled), dtype);
}

/// An operand times one scale per row (of self) or column (of mat2).
auto rescaled(Composer& c, int operand, const Datum& scale) -> Datum {
  const auto meta = c.meta(operand);
  const auto own = c.meta(scale);
  if (own.dtype != DType::float32 || own.rank() + 1 != meta.rank())
    return c.unsupported("scales of blocks"), Datum{};
  return mul(c, converted(c, c.arg(operand), DType::float32),
             unsqueezed(c, scale, operand == 0 ? -1 : -2));
}
auto scaled_groups(Composer& c, const Datum& scale_a, const Datum& scale_b, int offs) -> Datum {
  if (c.error()) return {};
  if (c.meta(0).rank() == 2 && c.meta(1).rank() == 2)
    return c.unsupported("scales of groups that are summed over"), Datum{};
  const auto a = rescaled(c, 0, scale_a), b = rescaled(c, 1, scale_b);
  if (c.error()) return {};
  return c.call("aten._grouped_mm.default",
                {a, b, c.arg(offs), c.arg(offs + 1),
                 Datum{c.dtype(param(c, "out_dtype")).value_or(DType::bfloat16)}});
}
/// self, mat2, scale_a, scale_b, offs, bias, scale_result, out_dtype.
auto scaled_grouped(Composer& c) -> Datum {
  if (c.has(6)) return c.unsupported("a scale of the result"), Datum{};
  return scaled_groups(c, c.arg(2), c.arg(3), 4);
}
/// self, mat2, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, offs, bias, out_dtype.
auto scaled_grouped_v2(Composer& c) -> Datum {
  const auto scale = [&](int arg) -> Datum {
    const auto scales = members(c, arg);
    const auto recipe = c.integers(arg + 1);
    if (scales.size() == 1 && recipe.size() == 1 && recipe[0] == 1) return scales[0];
    return c.unsupported("scales of blocks"), Datum{};
  };
  return scaled_groups(c, scale(2), scale(5), 8);
}

// ---- a package's own products of groups ---------------------------------------------------------

/// input [rows, in], weight [groups, in, out], offs [groups]: where each group of rows ends.
auto require_groups(MetaCall& c) -> bool {
  const auto& input = c.meta(0);
  const auto& weight = c.meta(1);
  const auto& ends = c.meta(2);
  return c.require(input.rank() == 2 && weight.rank() == 3 && ends.rank() == 1,
                   "rows, a matrix per group, and where each group ends") &&
         c.require(eq(input.sizes[1], weight.sizes[1]), "the inner sizes agree") &&
         c.require(eq(ends.sizes[0], weight.sizes[0]), "a matrix per group") &&
         c.require(ends.dtype == DType::int32 || ends.dtype == DType::int64, "ends are integers") &&
         c.require(input.dtype == weight.dtype, "one dtype");
}
auto group_rule(MetaCall& c) -> Datum {
  if (!require_groups(c)) return {};
  return c.fresh(c.meta(0).dtype, {c.meta(0).sizes[0], c.meta(1).sizes[2]});
}
/// Calls f(group, begin, end) for each group that has rows.
template <class F>
void for_each_group(KernelCall& k, const F& f) {
  const auto ends = to_vector<std::int64_t>(k.in(2));
  std::int64_t begin = 0;
  for (std::size_t group = 0; group < ends.size(); ++group) {
    const auto end = ends[group];
    if (end < begin || end > k.in(0).sizes()[0])
      return void(k.fail("a group ends past its matrix"));
    if (end > begin) f(static_cast<std::int64_t>(group), begin, end);
    begin = end;
  }
}
void group_kernel(KernelCall& k) {
  with_product_type(k.in(0).dtype(), [&]<class T>(T) {
    const auto x = to_vector<T>(k.in(0)), w = to_vector<T>(k.in(1));
    const auto inner = k.in(0).sizes()[1], columns = k.in(1).sizes()[2];
    Output<T> out(k.out());
    for_each_group(k, [&](std::int64_t group, std::int64_t begin, std::int64_t end) {
      for (auto row = begin; row < end; ++row)
        for (std::int64_t i = 0; i < inner; ++i)
          for (std::int64_t column = 0; column < columns; ++column)
            out.data()[row * columns + column] +=
                x[static_cast<std::size_t>(row * inner + i)] *
                w[static_cast<std::size_t>((group * inner + i) * columns + column)];
    });
  });
}
/// input, weight, offs, grad_output: gradients of input and weight.
auto group_backward_rule(MetaCall& c) -> Datum {
  if (!require_groups(c) ||
      !require_same_sizes(c, c.meta(3).sizes, {c.meta(0).sizes[0], c.meta(1).sizes[2]},
                          "a gradient per output"))
    return {};
  return {DatumList{preserved_like_self(c),
                    c.fresh(c.meta(1).dtype, c.meta(1).sizes, preserved_strides(c, c.meta(1)))}};
}
void group_backward_kernel(KernelCall& k) {
  with_product_type(k.in(0).dtype(), [&]<class T>(T) {
    const auto x = to_vector<T>(k.in(0)), w = to_vector<T>(k.in(1)), grad = to_vector<T>(k.in(3));
    const auto inner = k.in(0).sizes()[1], columns = k.in(1).sizes()[2];
    Output<T> of_x(k.out(0)), of_w(k.out(1));
    for_each_group(k, [&](std::int64_t group, std::int64_t begin, std::int64_t end) {
      for (auto row = begin; row < end; ++row)
        for (std::int64_t i = 0; i < inner; ++i)
          for (std::int64_t column = 0; column < columns; ++column) {
            const auto weight = (group * inner + i) * columns + column;
            const auto from = grad[static_cast<std::size_t>(row * columns + column)];
            of_x.data()[row * inner + i] += from * w[static_cast<std::size_t>(weight)];
            of_w.data()[weight] += from * x[static_cast<std::size_t>(row * inner + i)];
          }
    });
  });
}

}  // namespace

// clang-format off
void add_wide_product_rows(OpTable& t) {
  const auto composed = [&](std::string_view schema, Decomposition decomposition) {
    t.add({.schema_text = schema, .decomposition = decomposition});
  };
  composed("aten::addmm.dtype(Tensor self, Tensor mat1, Tensor mat2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1) -> Tensor", widened<3>);
  composed("aten::baddbmm.dtype(Tensor self, Tensor batch1, Tensor batch2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1) -> Tensor", widened<3>);
  composed("aten::_scaled_addmm(Tensor self, Tensor mat1, Tensor mat2, Tensor[] scale_a, int[] recipe_a, int[] swizzle_a, Tensor[] scale_b, int[] recipe_b, int[] swizzle_b, int[] contraction_dim=[], *, Scalar beta=1, Scalar alpha=1, bool use_fast_accum=False) -> Tensor", scaled_addmm);
  composed("aten::_scaled_grouped_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? offs=None, Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor", scaled_grouped);
  composed("aten::_scaled_grouped_mm_v2(Tensor self, Tensor mat2, Tensor[] scale_a, int[] recipe_a, int[] swizzle_a, Tensor[] scale_b, int[] recipe_b, int[] swizzle_b, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None, int[] contraction_dim=[], bool use_fast_accum=False) -> Tensor", scaled_grouped_v2);
  t.add({.schema_text = "transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor", .rule = group_rule, .kernel = group_kernel});
  t.add({.schema_text = "transformers::grouped_mm_fallback_backward(Tensor input, Tensor weight, Tensor offs, Tensor grad_output) -> (Tensor, Tensor)", .rule = group_backward_rule, .kernel = group_backward_kernel});
}
// clang-format on

}  // namespace assay
