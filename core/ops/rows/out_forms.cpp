// Forms that write into a tensor given as `out` are derived: run the functional row, copy.
#include <algorithm>

#include "core/ops/op_table.h"
#include "core/ops/rows/out_names.h"

namespace assay {
namespace {

/// A given tensor takes the result's elements; one of other sizes would be resized.
auto write_into(Composer& c, const Datum& out, const Datum& result) -> Datum {
  const auto made = c.meta(result);
  const auto given = c.meta(out);
  if (c.error()) return {};
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
/// The given tensors stand behind the functional row's arguments.
auto run_into_out(Composer& c) -> Datum {
  DatumList args(c.args().begin(), c.args().end());
  const auto count = static_cast<std::ptrdiff_t>(c.row().schema.returns.size());
  const DatumList given(args.end() - count, args.end());
  args.erase(args.end() - count, args.end());
  const auto result = c.call(c.row().inplace_of, std::move(args));
  if (c.error()) return {};
  if (count == 1) return write_into(c, given[0], result);
  DatumList written;
  for (std::size_t i = 0; i < given.size(); ++i)
    written.push_back(write_into(c, given[i], c.item(result, i)));
  return {std::move(written)};
}

/// "aten::sort(Tensor self, int dim=-1, ...) -> (Tensor values, Tensor indices)" ->
/// "aten::sort.values(Tensor self, ..., *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!)
/// values, Tensor(b!) indices)".
auto out_schema(const OpRow& row, const OutForm& form) -> std::string {
  const std::string text(row.schema_text);
  const auto open = text.find('(');
  const auto close = text.find(") -> ");
  if (close == std::string::npos) return {};
  const auto operator_name = text.substr(0, std::min(text.find('.'), open));
  std::string outs;
  char alias = 'a';
  for (std::size_t begin = 0; begin < form.parameters.size(); ++alias) {
    const auto end = std::min(form.parameters.find(' ', begin), form.parameters.size());
    outs += fmt::format("{}Tensor({}!) {}", outs.empty() ? "" : ", ", alias,
                        form.parameters.substr(begin, end - begin));
    begin = end + 1;
  }
  const auto parameters = text.substr(open, close - open);
  const std::string_view separator = parameters.find("*, ") != std::string::npos ? ", "
                                     : parameters == "("                         ? "*, "
                                                                                 : ", *, ";
  const auto single = row.schema.returns.size() == 1;
  return fmt::format("{}.{}{}{}{}) -> {}", operator_name, form.overload, parameters, separator,
                     outs, single ? "Tensor(a!)" : "(" + outs + ")");
}

}  // namespace

void add_out_rows(OpTable& t) {
  std::vector<std::pair<const OpRow*, OutForm>> functional;
  for (const auto& row : t.rows())
    if (auto form = out_form(*row)) functional.emplace_back(row.get(), *std::move(form));
  for (const auto& [row, form] : functional) {
    auto schema = out_schema(*row, form);
    const auto parsed = parse_schema(schema);
    if (!parsed || t.find(parsed->overload)) continue;
    t.add_owned({.schema_text = {},
                 .decomposition = run_into_out,
                 .random = row->random,
                 .uninitialised = row->uninitialised,
                 .inplace_of = row->name()},
                std::move(schema));
  }
}

}  // namespace assay
