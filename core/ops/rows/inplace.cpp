// In-place forms are derived: run the functional row, copy its result into self.
#include <algorithm>

#include "core/ops/op_table.h"

namespace assay {
namespace {

auto run_functional(Composer& c) -> Datum {
  const auto result = c.call(c.row().inplace_of, DatumList(c.args().begin(), c.args().end()));
  if (c.error()) return {};
  const auto self = c.meta(0);
  const auto made = c.meta(result);
  if (!can_cast(made.dtype, self.dtype))
    return c.fail(fmt::format("a result of dtype {} cannot be written into {}", name(made.dtype),
                              name(self.dtype))),
           Datum{};
  if (c.row().inplace_of == "aten.addbmm.default") {  // whose result self grows to
    const auto sized = c.call("aten._resize_output_.default",
                              {c.arg(0), int_list(made.sizes), Datum{self.device}});
    return c.call("aten.copy_.default", {sized, result});
  }
  if (made.sizes.size() != self.sizes.size())
    return c.fail("the result does not have self's shape"), Datum{};
  return c.call("aten.copy_.default", {c.arg(0), result});
}

/// In-place forms whose overload is named differently.
struct OtherName {
  std::string_view functional;
  std::string_view inplace;
};
constexpr OtherName kOtherNames[] = {
    {"aten::pow.Tensor_Scalar", "aten::pow_.Scalar"},
    {"aten::pow.Tensor_Tensor", "aten::pow_.Tensor"},
    {"aten::floor_divide", "aten::floor_divide_.Tensor"},
    {"aten::ldexp.Tensor", "aten::ldexp_"},
    {"aten::_conj_physical", "aten::conj_physical_"},
    {"aten::float_power.Tensor_Scalar", "aten::float_power_.Scalar"},
    {"aten::float_power.Tensor_Tensor", "aten::float_power_.Tensor"},
    {"aten::__and__.Tensor", "aten::__iand__.Tensor"},
    {"aten::__and__.Scalar", "aten::__iand__.Scalar"},
    {"aten::__or__.Tensor", "aten::__ior__.Tensor"},
    {"aten::__or__.Scalar", "aten::__ior__.Scalar"},
    {"aten::__xor__.Tensor", "aten::__ixor__.Tensor"},
    {"aten::__xor__.Scalar", "aten::__ixor__.Scalar"},
    {"aten::__lshift__.Tensor", "aten::__ilshift__.Tensor"},
    {"aten::__lshift__.Scalar", "aten::__ilshift__.Scalar"},
    {"aten::__rshift__.Tensor", "aten::__irshift__.Tensor"},
    {"aten::__rshift__.Scalar", "aten::__irshift__.Scalar"}};

/// Pointwise operators of which PyTorch has no in-place form.
constexpr std::string_view kWithout[] = {
    "aten.fmax.default",      "aten.fmin.default",      "aten.hardshrink.default",
    "aten.isinf.default",     "aten.isnan.default",     "aten.isneginf.default",
    "aten.isposinf.default",  "aten.logaddexp.default", "aten.logaddexp2.default",
    "aten.max.other",         "aten.maximum.default",   "aten.min.other",
    "aten.minimum.default",   "aten.signbit.default",   "aten.softplus.default",
    "aten.softshrink.default"};

/// "aten::add.Tensor(Tensor self, ...) -> Tensor" -> "aten::add_.Tensor(Tensor(a!) self, ...) ->
/// Tensor(a!)". Empty if the operator cannot have an in-place form.
auto inplace_schema(std::string_view functional) -> std::string {
  constexpr std::string_view kSelf = "(Tensor self";
  constexpr std::string_view kResult = "-> Tensor";
  const auto open = functional.find('(');
  if (!functional.starts_with("aten::") || functional.starts_with("aten::special_") ||
      !functional.substr(open).starts_with(kSelf) || !functional.ends_with(kResult))
    return {};
  auto name = std::string(functional.substr(0, open));
  const auto dot = std::min(name.find('.'), name.size());
  const auto* const other = std::ranges::find(kOtherNames, name, &OtherName::functional);
  if (name[dot - 1] == '_' && other == std::end(kOtherNames)) return {};
  if (other != std::end(kOtherNames))
    name = other->inplace;
  else
    name.insert(dot, "_");
  const auto rest = functional.substr(open + kSelf.size());
  return name + "(Tensor(a!) self" + std::string(rest.substr(0, rest.size() - kResult.size())) +
         "-> Tensor(a!)";
}

}  // namespace

void add_inplace_rows(OpTable& t) {
  // Every pointwise operator has one, and these others.
  constexpr std::string_view kOthers[] = {"aten._scaled_addmm.default",
                                          "aten.masked_fill.Scalar",
                                          "aten.masked_fill.Tensor",
                                          "aten.div.Tensor_mode",
                                          "aten.clamp.Tensor",
                                          "aten.cumsum.default",
                                          "aten.cumprod.default",
                                          "aten.addmm.default",
                                          "aten.baddbmm.default",
                                          "aten.index_put.default",
                                          "aten.scatter.src",
                                          "aten.scatter.value",
                                          "aten.scatter_add.default",
                                          "aten.scatter_reduce.two",
                                          "aten.tril.default",
                                          "aten.triu.default",
                                          "aten.addbmm.default",
                                          "aten.addmv.default",
                                          "aten.addr.default",
                                          "aten.masked_scatter.default",
                                          "aten.index_fill.int_Scalar",
                                          "aten.index_add.default",
                                          "aten.index_copy.default",
                                          "aten.index_fill.int_Tensor",
                                          "aten.index_reduce.default",
                                          "aten.put.default",
                                          "aten.scatter.reduce",
                                          "aten.scatter.value_reduce",
                                          "aten.mvlgamma.default",
                                          "aten.ldexp.Tensor",
                                          "aten.renorm.default",
                                          "aten._conj_physical.default",
                                          "aten.__and__.Scalar",
                                          "aten.__and__.Tensor",
                                          "aten.__or__.Scalar",
                                          "aten.__or__.Tensor",
                                          "aten.__xor__.Scalar",
                                          "aten.__xor__.Tensor",
                                          "aten.__lshift__.Scalar",
                                          "aten.__lshift__.Tensor",
                                          "aten.__rshift__.Scalar",
                                          "aten.__rshift__.Tensor",
                                          "aten.absolute.default",
                                          "aten.arccos.default",
                                          "aten.arccosh.default",
                                          "aten.arcsin.default",
                                          "aten.arcsinh.default",
                                          "aten.arctan.default",
                                          "aten.arctan2.default",
                                          "aten.arctanh.default",
                                          "aten.clip.Tensor",
                                          "aten.clip.default",
                                          "aten.div.Scalar_mode",
                                          "aten.divide.Scalar",
                                          "aten.divide.Scalar_mode",
                                          "aten.divide.Tensor",
                                          "aten.divide.Tensor_mode",
                                          "aten.fix.default",
                                          "aten.float_power.Tensor_Scalar",
                                          "aten.float_power.Tensor_Tensor",
                                          "aten.greater.Scalar",
                                          "aten.greater.Tensor",
                                          "aten.greater_equal.Scalar",
                                          "aten.greater_equal.Tensor",
                                          "aten.less.Scalar",
                                          "aten.less.Tensor",
                                          "aten.less_equal.Scalar",
                                          "aten.less_equal.Tensor",
                                          "aten.multiply.Scalar",
                                          "aten.multiply.Tensor",
                                          "aten.negative.default",
                                          "aten.not_equal.Scalar",
                                          "aten.not_equal.Tensor",
                                          "aten.square.default",
                                          "aten.subtract.Scalar",
                                          "aten.subtract.Tensor",
                                          "aten.true_divide.Scalar",
                                          "aten._add_relu.Scalar",
                                          "aten._add_relu.Tensor"};
  std::vector<const OpRow*> functional;
  for (const auto& row : t.rows())
    if (row->promotion != Promotion::none ||
        std::ranges::find(kOthers, row->name()) != std::end(kOthers))
      functional.push_back(row.get());
  for (const auto* row : functional) {
    if (std::ranges::find(kWithout, row->name()) != std::end(kWithout)) continue;
    auto schema = inplace_schema(row->schema_text);
    if (schema.empty()) continue;
    const auto parsed = parse_schema(schema);
    if (parsed && t.find(parsed->overload)) continue;
    t.add_owned({.schema_text = {}, .decomposition = run_functional, .inplace_of = row->name()},
                std::move(schema));
  }
}

}  // namespace assay
