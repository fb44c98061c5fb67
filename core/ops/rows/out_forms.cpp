// Forms that write into a tensor given as `out` are derived: run the functional row, copy.
#include <algorithm>

#include "core/ops/rows/out_names.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

/// Elements from a view's first to its last, at least as many as it has.
auto extent(const TensorMeta& meta) -> Expr {
  Expr last(0);
  for (std::size_t d = 0; d < meta.sizes.size(); ++d)
    last = last + (meta.sizes[d] - 1) * meta.strides[d];
  return max(last + 1, numel(meta));
}
/// An out that takes the result's sizes and these strides where its own offset is.
auto restrided(Composer& c, const Datum& out, const TensorMeta& made) -> Datum {
  const Expr elements = extent(made);
  const auto sized = c.call("aten._resize_output_.default",
                            {out, int_list({&elements, 1}), Datum{c.meta(out).device}});
  return c.call("aten.as_strided.default",
                {sized, int_list(made.sizes), int_list(made.strides), Datum{c.meta(out).offset}});
}
auto resized(Composer& c, const Datum& out, const Dims& sizes) -> Datum {
  return c.call("aten._resize_output_.default", {out, int_list(sizes), Datum{c.meta(out).device}});
}
/// Strides that a TensorIterator over the call's tensors gives its result. Losses take the gradient
/// last (`gradient_last`), and log_sigmoid's buffer is an operand on the CPU only.
auto iterator_result(Composer& c, TensorMeta made, bool gradient_last) -> TensorMeta {
  std::vector<TensorMeta> operands;
  const auto add = [&](bool gradient) {
    for (std::size_t i = 0; i < c.args().size(); ++i) {
      const auto& parameter = c.row().schema.params[i];
      if (!c.args()[i].is_tensor() || parameter.written ||
          (gradient_last && parameter.name == "grad_output") != gradient)
        continue;
      const auto meta = c.meta(c.args()[i]);
      if (parameter.name != "buffer" || !on_cuda(meta)) operands.push_back(meta);
    }
  };
  add(false);
  add(true);
  std::vector<const TensorMeta*> pointers;
  for (const auto& operand : operands) pointers.push_back(&operand);
  auto layout = layout_call(c);
  made.strides = iterator_strides(layout, pointers, made.sizes);
  return made;
}
auto has_sizes(Composer& c, const TensorMeta& given, const TensorMeta& made) -> bool {
  if (made.sizes.size() != given.sizes.size()) return false;
  for (std::size_t d = 0; d < made.sizes.size(); ++d)
    if (!(made.sizes[d] == given.sizes[d]) &&
        !c.decide(eq(made.sizes[d], given.sizes[d]), "out has the result's sizes"))
      return false;
  return true;
}
auto is_by_format(OutLayout layout) -> bool {
  return layout == OutLayout::format || layout == OutLayout::format_zeros;
}
auto is_row_major(const TensorMeta& meta) -> bool {
  return meta.strides == contiguous_strides(meta.sizes);
}
/// The transpose of a matrix.
auto turned(TensorMeta matrix) -> TensorMeta {
  std::ranges::reverse(matrix.sizes);
  std::ranges::reverse(matrix.strides);
  return matrix;
}
/// The given tensor as PyTorch makes it fit the result.
auto fitted(Composer& c, OutLayout layout, const Datum& out, const TensorMeta& made) -> Datum {
  const auto given = c.meta(out);
  const bool fits = has_sizes(c, given, made);
  auto call = layout_call(c);
  const bool is_turned =
      layout == OutLayout::fresh_if_turned && fits && is_contiguous(call, turned(given));
  const bool looks_if_empty =
      layout == OutLayout::when_empty || layout == OutLayout::fresh_if_empty;
  const bool takes_strides =
      layout == OutLayout::restrided || is_turned ||
      (is_by_format(layout) && !is_row_major(made)) ||
      (looks_if_empty && c.decide(eq(numel(given), 0), "out has no elements"));
  if (takes_strides) return restrided(c, out, made);
  if (fits) return out;
  if (layout == OutLayout::iterated && is_complex(c.meta(0).dtype))
    return resized(c, out, made.sizes);
  if (layout == OutLayout::iterated || layout == OutLayout::left)
    return restrided(c, out, iterator_result(c, made, layout == OutLayout::iterated));
  if (layout == OutLayout::copied || layout == OutLayout::when_empty ||
      layout == OutLayout::counted)
    return resized(c, out, made.sizes);
  return restrided(c, out, made);
}
/// Is one of the given tensors neither empty nor of its result's sizes? Results that a call does
/// not compute are vectors without elements.
auto is_nothing(const TensorMeta& made) -> bool {
  return made.rank() == 1 && made.sizes[0].is_int(0);
}
auto is_any_wrong(Composer& c, const DatumList& outs, const DatumList& results) -> bool {
  for (std::size_t i = 0; i < outs.size(); ++i) {
    const auto made = c.meta(results[i]);
    const auto given = c.meta(outs[i]);
    if (!is_nothing(made) && !has_sizes(c, given, made) &&
        c.decide(gt(numel(given), 0), "out has elements"))
      return true;
  }
  return false;
}
/// What becomes of out `i`, as far as its result decides that.
auto layout_of(Composer& c, const DatumList& outs, const DatumList& results, std::size_t i)
    -> OutLayout {
  const auto made = c.meta(results[i]);
  const auto layout = out_layout(
      c.row().inplace_of,
      {.call = c, .index = i, .rank = made.sizes.size(), .is_cuda = on_cuda(c.meta(outs[i]))});
  if (layout == OutLayout::if_made && c.decide(eq(numel(made), 0), "the result has no elements"))
    return OutLayout::untouched;
  if (layout != OutLayout::together) return layout;
  if (is_any_wrong(c, outs, results)) return OutLayout::copied;
  return is_nothing(made) ? OutLayout::untouched : OutLayout::when_empty;
}
/// A given tensor takes the elements of a result, and its sizes if it has others.
auto write_into(Composer& c, OutLayout layout, const Datum& out, const Datum& result) -> Datum {
  const auto made = c.meta(result);
  const auto given = c.meta(out);
  if (c.error()) return {};
  if (!can_cast(made.dtype, given.dtype))
    return c.fail(fmt::format("a result of dtype {} cannot be written into {}", name(made.dtype),
                              name(given.dtype))),
           Datum{};
  if (layout == OutLayout::untouched) return out;
  if (layout == OutLayout::counted && !has_sizes(c, given, made) &&
      c.decide(eq(numel(given), numel(made)), "out has as many elements"))
    return c.call("aten.copy_.default",
                  {out, c.call("aten.view.default", {result, int_list(given.sizes)})});
  if (layout == OutLayout::turned && !has_sizes(c, given, made))
    return c.call("aten.copy_.default", {resized(c, out, {made.sizes[1], made.sizes[0]}),
                                         c.call("aten.t.default", {result})});
  const auto target = fitted(c, layout, out, made);
  if (layout == OutLayout::left) {
    c.call("aten.copy_.default", {target, result});
    return out;
  }
  if (layout == OutLayout::lost || layout == OutLayout::lost_zeros) {
    if (layout == OutLayout::lost_zeros) c.call("aten.zero_.default", {target});
    auto call = layout_call(c);
    return is_contiguous(call, c.meta(target)) ? c.call("aten.copy_.default", {target, result})
                                               : target;
  }
  const bool zeroes = layout == OutLayout::raw_zeros || layout == OutLayout::format_zeros;
  if (!zeroes && layout != OutLayout::raw && layout != OutLayout::format)
    return c.call("aten.copy_.default", {target, result});
  if (zeroes) c.call("aten.zero_.default", {target});
  c.call("aten.copy_.default",
         {c.call("aten.as_strided.default",
                 {target, int_list(made.sizes), int_list(made.strides), Datum{given.offset}}),
          result});
  return target;
}
/// The functional row's arguments: those of the same name, and what a given tensor decides where
/// the row makes its own.
auto functional_args(Composer& c, const Datum& given) -> DatumList {
  DatumList args;
  const auto* row = c.domain().find(c.row().inplace_of);
  if (row == nullptr) return c.fail("the functional form has no row"), args;
  const auto* tensor = &given;
  if (const auto* list = given.list(); list != nullptr && !list->empty()) tensor = &list->front();
  for (const auto& parameter : row->schema.params) {
    const int at = param(c, parameter.name);
    if (at >= 0)
      args.push_back(c.arg(at));
    else if (parameter.name == "dtype" && tensor->is_tensor())
      args.emplace_back(c.meta(*tensor).dtype);
    else if (parameter.name == "device" && tensor->is_tensor())
      args.emplace_back(c.meta(*tensor).device);
    else
      args.emplace_back();
  }
  return args;
}
/// Results that are lists go member by member into a list of tensors.
auto run_into_list(Composer& c) -> Datum {
  const auto given = c.args().back();
  const auto result = c.call(c.row().inplace_of, functional_args(c, given));
  if (c.error()) return {};
  const auto *made = result.list(), *outs = given.list();
  if (made == nullptr || outs == nullptr || made->size() != outs->size())
    return c.fail("one out per result is needed"), Datum{};
  for (std::size_t i = 0; i < made->size(); ++i)
    write_into(c, layout_of(c, *outs, *made, i), (*outs)[i], (*made)[i]);
  return {};
}
/// The given tensors stand behind the functional row's arguments.
auto run_into_out(Composer& c) -> Datum {
  const auto count = static_cast<std::ptrdiff_t>(c.row().schema.returns.size());
  const DatumList given(c.args().end() - count, c.args().end());
  const auto result = c.call(c.row().inplace_of, functional_args(c, given.front()));
  if (c.error()) return {};
  DatumList results;
  for (std::size_t i = 0; i < given.size(); ++i)
    results.push_back(count == 1 ? result : c.item(result, i));
  DatumList written;
  for (std::size_t i = 0; i < given.size(); ++i)
    written.push_back(write_into(c, layout_of(c, given, results, i), given[i], results[i]));
  if (count == 1) return written[0];
  return {std::move(written)};
}

/// What a given tensor has is no parameter of the form for it: ", ScalarType? dtype=None" goes.
void drop_decided(std::string& text, std::string_view name) {
  constexpr std::string_view kDecided[] = {"dtype", "layout", "device", "pin_memory"};
  if (std::ranges::find(kDecided, name) == std::end(kDecided)) return;
  const auto at = text.find(fmt::format(" {}=", name));
  if (at == std::string::npos) return;
  const auto begin = text.rfind(", ", at);
  text.erase(begin, text.find_first_of(",)", at) - begin);
}

/// "aten::sort(Tensor self, int dim=-1, ...) -> (Tensor values, Tensor indices)" ->
/// "aten::sort.values(Tensor self, ..., *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!)
/// values, Tensor(b!) indices)".
auto out_schema(const OpRow& row, const OutForm& form) -> std::string {
  auto text = std::string(row.schema_text);
  if (row.schema.index_of("device") >= 0)
    for (const auto& parameter : row.schema.params) drop_decided(text, parameter.name);
  const bool gives_list = row.schema.returns[0].is_list;
  const auto open = text.find('(');
  const auto close = text.find(") -> ");
  if (close == std::string::npos) return {};
  const auto operator_name = text.substr(0, std::min(text.find('.'), open));
  std::string outs;
  char alias = row.schema.is_mutating() ? 'd' : 'a';  // behind those that it has
  for (std::size_t begin = 0; begin < form.parameters.size(); ++alias) {
    const auto end = std::min(form.parameters.find(' ', begin), form.parameters.size());
    outs += fmt::format("{}Tensor({}!){} {}", outs.empty() ? "" : ", ", alias,
                        gives_list ? "[]" : "", form.parameters.substr(begin, end - begin));
    begin = end + 1;
  }
  auto parameters = text.substr(open, close - open);
  constexpr std::string_view kNoKeywords = ", *";
  if (parameters.ends_with(kNoKeywords)) parameters.resize(parameters.size() - kNoKeywords.size());
  if (parameters == "(*") parameters = "(";
  const std::string_view separator = parameters.find("*, ") != std::string::npos ? ", "
                                     : parameters == "("                         ? "*, "
                                                                                 : ", *, ";
  const auto single = row.schema.returns.size() == 1;
  return fmt::format("{}.{}{}{}{}) -> {}", operator_name, form.overload, parameters, separator,
                     outs,
                     gives_list ? "()"
                     : single   ? "Tensor(a!)"
                                : "(" + outs + ")");
}

/// Forms whose operator is named otherwise than the functional one.
struct OtherForm {
  std::string_view schema, functional;
};
constexpr OtherForm kOtherForms[] = {
    {"aten::normal.out(Tensor self, float mean=0., float std=1., *, Generator? generator=None, "
     "Tensor(a!) out) -> Tensor(a!)",
     "aten.normal_functional.default"},
    {"aten::adaptive_avg_pool3d_backward.grad_input(Tensor grad_output, Tensor self, *, Tensor(a!) "
     "grad_input) -> Tensor(a!)",
     "aten._adaptive_avg_pool3d_backward.default"},
};

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
                 .decomposition = row->schema.returns[0].is_list ? run_into_list : run_into_out,
                 .random = row->random,
                 .uninitialised = row->uninitialised,
                 .inplace_of = row->name()},
                std::move(schema));
  }
  for (const auto& [schema, name] : kOtherForms)
    if (const auto* row = t.find(name); row != nullptr)
      t.add({.schema_text = schema,
             .decomposition = run_into_out,
             .random = row->random,
             .inplace_of = name});
}

}  // namespace assay
