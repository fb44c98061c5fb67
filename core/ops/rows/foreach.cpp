// Operators on lists of tensors: each member by the operator on one tensor, in a table.
#include <algorithm>

#include "core/ops/op_table.h"

namespace assay {
namespace {

struct Each {
  std::string_view name;        ///< "add.Scalar" of aten::_foreach_add.Scalar
  std::string_view parameters;  ///< after self
  std::string_view target;      ///< on one tensor; arguments in the same order
  std::string_view in_place;    ///< the same; empty if there is none
};
constexpr std::string_view kUnary[] = {
    "abs",   "acos",  "asin",    "atan",   "ceil", "cos",   "cosh",  "erf",  "erfc", "exp",
    "expm1", "floor", "frac",    "lgamma", "log",  "log10", "log1p", "log2", "neg",  "reciprocal",
    "round", "rsqrt", "sigmoid", "sign",   "sin",  "sinh",  "sqrt",  "tan",  "tanh", "trunc"};
constexpr Each kEach[] = {
    {"add.Scalar", ", Scalar scalar", "aten.add.Scalar", "aten.add_.Scalar"},
    {"add.List", ", Tensor[] other, *, Scalar alpha=1", "aten.add.Tensor", "aten.add_.Tensor"},
    {"add.ScalarList", ", Scalar[] scalars", "aten.add.Scalar", "aten.add_.Scalar"},
    {"add.Tensor", ", Tensor other, *, Scalar alpha=1", "aten.add.Tensor", "aten.add_.Tensor"},
    {"sub.Scalar", ", Scalar scalar", "aten.sub.Scalar", "aten.sub_.Scalar"},
    {"sub.List", ", Tensor[] other, *, Scalar alpha=1", "aten.sub.Tensor", "aten.sub_.Tensor"},
    {"sub.ScalarList", ", Scalar[] scalars", "aten.sub.Scalar", "aten.sub_.Scalar"},
    {"mul.Scalar", ", Scalar scalar", "aten.mul.Scalar", "aten.mul_.Scalar"},
    {"mul.List", ", Tensor[] other", "aten.mul.Tensor", "aten.mul_.Tensor"},
    {"mul.ScalarList", ", Scalar[] scalars", "aten.mul.Scalar", "aten.mul_.Scalar"},
    {"mul.Tensor", ", Tensor other", "aten.mul.Tensor", "aten.mul_.Tensor"},
    {"div.Scalar", ", Scalar scalar", "aten.div.Scalar", "aten.div_.Scalar"},
    {"div.List", ", Tensor[] other", "aten.div.Tensor", "aten.div_.Tensor"},
    {"div.ScalarList", ", Scalar[] scalars", "aten.div.Scalar", "aten.div_.Scalar"},
    {"div.Tensor", ", Tensor other", "aten.div.Tensor", "aten.div_.Tensor"},
    {"clamp_max.Scalar", ", Scalar scalar", "aten.clamp_max.default", "aten.clamp_max_.default"},
    {"clamp_max.ScalarList", ", Scalar[] scalars", "aten.clamp_max.default",
     "aten.clamp_max_.default"},
    {"clamp_min.Scalar", ", Scalar scalar", "aten.clamp_min.default", "aten.clamp_min_.default"},
    {"clamp_min.ScalarList", ", Scalar[] scalars", "aten.clamp_min.default",
     "aten.clamp_min_.default"},
    {"minimum.Scalar", ", Scalar scalar", "aten.clamp_max.default", "aten.clamp_max_.default"},
    {"minimum.ScalarList", ", Scalar[] scalars", "aten.clamp_max.default",
     "aten.clamp_max_.default"},
    {"maximum.Scalar", ", Scalar scalar", "aten.clamp_min.default", "aten.clamp_min_.default"},
    {"maximum.ScalarList", ", Scalar[] scalars", "aten.clamp_min.default",
     "aten.clamp_min_.default"},
    {"maximum.List", ", Tensor[] other", "aten.maximum.default", "aten.clamp_min_.Tensor"},
    {"minimum.List", ", Tensor[] other", "aten.minimum.default", "aten.clamp_max_.Tensor"},
    {"pow.Scalar", ", Scalar exponent", "aten.pow.Tensor_Scalar", "aten.pow_.Scalar"},
    {"pow.List", ", Tensor[] exponent", "aten.pow.Tensor_Tensor", "aten.pow_.Tensor"},
    {"pow.ScalarList", ", Scalar[] exponent", "aten.pow.Tensor_Scalar", "aten.pow_.Scalar"},
    {"addcmul.Scalar", ", Tensor[] tensor1, Tensor[] tensor2, Scalar value=1",
     "aten.addcmul.default", "aten.addcmul_.default"},
    {"addcmul.ScalarList", ", Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars",
     "aten.addcmul.default", "aten.addcmul_.default"},
    {"addcdiv.Scalar", ", Tensor[] tensor1, Tensor[] tensor2, Scalar value=1",
     "aten.addcdiv.default", "aten.addcdiv_.default"},
    {"addcdiv.ScalarList", ", Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars",
     "aten.addcdiv.default", "aten.addcdiv_.default"},
    {"addcmul.Tensor", ", Tensor[] tensor1, Tensor[] tensor2, Tensor scalars",
     "aten.addcmul.default", "aten.addcmul_.default"},
    {"addcdiv.Tensor", ", Tensor[] tensor1, Tensor[] tensor2, Tensor scalars",
     "aten.addcdiv.default", "aten.addcdiv_.default"},
    {"lerp.Scalar", ", Tensor[] tensors1, Scalar weight", "aten.lerp.Scalar", "aten.lerp_.Scalar"},
    {"lerp.List", ", Tensor[] tensors1, Tensor[] weights", "aten.lerp.Tensor", "aten.lerp_.Tensor"},
    {"clamp_max.List", ", Tensor[] other", "aten.minimum.default", "aten.clamp_max_.Tensor"},
    {"clamp_min.List", ", Tensor[] other", "aten.maximum.default", "aten.clamp_min_.Tensor"},
    {"lerp.ScalarList", ", Tensor[] tensors1, Scalar[] weight", "aten.lerp.Scalar",
     "aten.lerp_.Scalar"},
    {"clone", ", *, MemoryFormat? memory_format=None", "aten.clone.default", ""},
    {"mm", ", Tensor[] mat2", "aten.mm.default", ""},
    {"max", "", "aten.max.default", ""},
    {"norm.Scalar", ", Scalar ord=2, ScalarType? dtype=None", "aten.norm.Scalar", ""},
    {"zero", "", "aten.zero.default", "aten.zero_.default"},
    {"copy", ", Tensor[] src, bool non_blocking=False", "aten.copy.default", "aten.copy_.default"},
};

/// "aten._foreach_add_.Scalar" -> {"add.Scalar", in place}.
auto entry_of(std::string_view overload, bool& in_place) -> std::string {
  overload.remove_prefix(std::string_view("aten._foreach_").size());
  auto name = std::string(overload);
  const auto dot = name.find('.');
  in_place = name[dot - 1] == '_';
  if (in_place) name.erase(dot - 1, 1);
  if (name.ends_with(".default")) name.resize(name.size() - std::string_view(".default").size());
  return name;
}
auto each_member(Composer& c) -> Datum {
  bool in_place = false;
  const auto name = entry_of(c.row().name(), in_place);
  const auto* const entry = std::ranges::find(kEach, name, &Each::name);
  const auto target = entry != std::end(kEach)
                          ? std::string(in_place ? entry->in_place : entry->target)
                          : fmt::format("aten.{}{}.default", name, in_place ? "_" : "");
  const auto* members = c.arg(0).list();
  if (!members || members->empty()) return c.fail("a list of tensors is needed"), Datum{};
  DatumList results;
  for (std::size_t i = 0; i < members->size(); ++i) {
    DatumList args;
    for (const auto& arg : c.args()) {
      if (const auto* list = arg.list()) {
        if (list->size() != members->size())
          return c.fail("lists of one length are needed"), Datum{};
        args.push_back((*list)[i]);
      } else if (&arg == &c.args().back() && name.starts_with("addc") && arg.is_tensor()) {
        const auto at = Datum{Expr(static_cast<std::int64_t>(i))};
        args.push_back(
            c.call("aten.item.default", {c.call("aten.select.int", {arg, Datum{Expr(0)}, at})}));
      } else {
        args.push_back(arg);
      }
    }
    // What the operator on one tensor does not take is None, or not done.
    while (!args.empty() && args.back().is_none()) args.pop_back();
    results.push_back(c.call(target, std::move(args)));
    if (c.error()) return {};
  }
  // In place it gives nothing, but Inductor's passes, which make calls so, go on to take its items.
  return {std::move(results)};
}

/// _foreach_pow.ScalarAndTensor: self is the number.
auto powers_of(Composer& c) -> Datum {
  const auto* exponents = c.arg(1).list();
  if (!exponents || exponents->empty()) return c.fail("a list of tensors is needed"), Datum{};
  DatumList results;
  for (const auto& exponent : *exponents)
    results.push_back(c.call("aten.pow.Scalar", {c.arg(0), exponent}));
  return {std::move(results)};
}

void add_each(OpTable& t, std::string_view name, std::string_view parameters, bool has_in_place) {
  t.add_owned({.schema_text = {}, .decomposition = each_member},
              fmt::format("aten::_foreach_{}(Tensor[] self{}) -> Tensor[]", name, parameters));
  if (!has_in_place) return;
  const auto dot = std::min(name.find('.'), name.size());
  const auto in_place = fmt::format("{}_{}", name.substr(0, dot), name.substr(dot));
  t.add_owned({.schema_text = {}, .decomposition = each_member},
              fmt::format("aten::_foreach_{}(Tensor(a!)[] self{}) -> ()", in_place, parameters));
}

}  // namespace

void add_foreach_rows(OpTable& t) {
  for (const auto name : kUnary) add_each(t, name, "", true);
  t.add({.schema_text =
             "aten::_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]",
         .decomposition = powers_of});
  for (const auto& each : kEach) add_each(t, each.name, each.parameters, !each.in_place.empty());
}

}  // namespace assay
