// Forms that write into a tensor given as `out` are derived: run the functional row, copy.
#include <algorithm>

#include "core/ops/op_table.h"

namespace assay {
namespace {

/// `out` takes the result's sizes; one that has others already would be resized.
auto run_into_out(Composer& c) -> Datum {
  DatumList args(c.args().begin(), c.args().end());
  const auto out = args.back();
  args.pop_back();
  const auto result = c.call(c.row().inplace_of, std::move(args));
  if (c.error()) return {};
  const auto made = c.meta(result);
  const auto given = c.meta(out);
  if (!can_cast(made.dtype, given.dtype))
    return c.fail(fmt::format("a result of dtype {} cannot be written into {}", name(made.dtype),
                              name(given.dtype))),
           Datum{};
  if (made.sizes.size() != given.sizes.size())
    return c.unsupported("an out of other sizes, which is resized"), Datum{};
  for (std::size_t d = 0; d < made.sizes.size(); ++d)
    if (made.sizes[d] != given.sizes[d] &&
        !c.decide(eq(made.sizes[d], given.sizes[d]), "out has the result's sizes"))
      return c.unsupported("an out of other sizes, which is resized"), Datum{};
  return c.call("aten.copy_.default", {out, result});
}

/// Overloads of `out` that are not the functional one's name with _out behind it.
struct OutName {
  std::string_view functional;
  std::string_view overload;
};
constexpr OutName kOutNames[] = {{"aten.add.Tensor", "out"},
                                 {"aten.sub.Tensor", "out"},
                                 {"aten.mul.Tensor", "out"},
                                 {"aten.div.Tensor", "out"},
                                 {"aten.true_divide.Tensor", "out"},
                                 {"aten.copysign.Tensor", "out"},
                                 {"aten.ldexp.Tensor", "out"},
                                 {"aten.div.Tensor_mode", "out_mode"},
                                 {"aten.max.other", "out"},
                                 {"aten.min.other", "out"},
                                 {"aten.xlogy.Tensor", "OutTensor"},
                                 {"aten.mean.dim", "out"},
                                 {"aten.sum.dim_IntList", "IntList_out"}};

/// "aten::add.Tensor(Tensor self, ...) -> Tensor" -> "aten::add.out(Tensor self, ..., *,
/// Tensor(a!) out) -> Tensor(a!)".
auto out_schema(const OpRow& row) -> std::string {
  const std::string text(row.schema_text);
  constexpr std::string_view kEnd = ") -> Tensor";
  if (!text.starts_with("aten::") || !text.ends_with(kEnd)) return {};
  const auto open = text.find('(');
  auto name = text.substr(0, open);
  const auto dot = std::min(name.find('.'), name.size());
  // Derivatives call theirs grad_input.
  if (name[dot - 1] == '_' || name.substr(0, dot).ends_with("_backward")) return {};
  const auto* const other = std::ranges::find(kOutNames, row.name(), &OutName::functional);
  const auto overload = other != std::end(kOutNames) ? "." + std::string(other->overload)
                        : dot == name.size()         ? std::string(".out")
                                                     : name.substr(dot) + "_out";
  const auto parameters = text.substr(open, text.size() - kEnd.size() - open);
  const auto separator = parameters.find("*, ") == std::string::npos ? ", *, " : ", ";
  return name.substr(0, dot) + overload + parameters + separator + "Tensor(a!) out) -> Tensor(a!)";
}

}  // namespace

void add_out_rows(OpTable& t) {
  // Pointwise operators, and what programs give buffers to besides.
  constexpr std::string_view kOthers[] = {
      "aten.mm.default",      "aten.bmm.default",      "aten.addmm.default",
      "aten.baddbmm.default", "aten.cat.default",      "aten.sum.dim_IntList",
      "aten.mean.dim",        "aten.amax.default",     "aten.amin.default",
      "aten.cumsum.default",  "aten.cumprod.default",  "aten.tril.default",
      "aten.triu.default",    "aten._softmax.default", "aten._log_softmax.default",
      "aten.matmul.default"};
  std::vector<const OpRow*> functional;
  for (const auto& row : t.rows())
    if (row->promotion != Promotion::none ||
        std::ranges::find(kOthers, row->name()) != std::end(kOthers))
      functional.push_back(row.get());
  for (const auto* row : functional) {
    auto schema = out_schema(*row);
    if (schema.empty()) continue;
    const auto parsed = parse_schema(schema);
    if (parsed && t.find(parsed->overload)) continue;
    t.add_owned({.schema_text = {}, .decomposition = run_into_out, .inplace_of = row->name()},
                std::move(schema));
  }
}

}  // namespace assay
