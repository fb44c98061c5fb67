#include "core/ops/rule_space.h"

#include <algorithm>

#include "core/ops/layout.h"

namespace assay {
namespace {

void look(const Datum& datum, const std::string& name, CallView& view) {
  if (const auto* tensor = datum.fake()) {
    view.tensors.push_back(tensor);
    for (std::size_t d = 0; d < tensor->meta.sizes.size(); ++d) {
      view.names.push_back(fmt::format("{}.size({})", name, d));
      view.features.push_back(tensor->meta.sizes[d]);
    }
  } else if (const auto* list = datum.list()) {
    for (std::size_t i = 0; i < list->size(); ++i)
      look((*list)[i], fmt::format("{}[{}]", name, i), view);
  } else if (const auto* scalar = datum.scalar(); scalar && scalar->type() == ExprType::integer) {
    view.names.push_back(name);
    view.features.push_back(*scalar);
  }
}

/// The one value that all formulas give; nothing, and who disagrees, if there is none.
auto agreed(MetaCall& c, const std::vector<Formula>& formulas, std::span<const Expr> features,
            std::span<const std::string> names, std::string& doubt) -> std::optional<Expr> {
  const auto value = formulas.front().at(features);
  if (!value.is_valid()) return doubt = "a size of its formula is not defined here", std::nullopt;
  for (const auto& other : formulas) {
    const auto also = other.at(features);
    if (also == value || c.context().surely(eq(also, value))) continue;
    doubt = fmt::format("the recorded calls do not tell {} from {}", formulas.front().text(names),
                        other.text(names));
    return std::nullopt;
  }
  return value;
}

class Application {
 public:
  Application(MetaCall& c, const CallView& view) : c_(c), view_(view) {}

  auto run(const RuleSpace& space, std::string& doubt) -> std::optional<Datum> {
    DatumList results;
    for (const auto& leaf : space.leaves) {
      auto value = this->leaf(leaf, doubt);
      if (!value) return std::nullopt;
      results.push_back(*std::move(value));
    }
    if (space.is_list) return Datum{std::move(results)};
    return std::move(results.front());
  }

 private:
  auto leaf(const LeafSpace& leaf, std::string& doubt) -> std::optional<Datum> {
    if (leaf.is_none) return Datum{};
    if (leaf.is_number) {
      const auto number = agreed(c_, leaf.number, view_.features, view_.names, doubt);
      return number ? std::optional(Datum{*number}) : std::nullopt;
    }
    auto sizes = dims(leaf.sizes, view_.features, view_.names, doubt);
    if (!sizes) return std::nullopt;
    auto strides = this->strides(leaf, *sizes, doubt);
    const auto offset = agreed(c_, leaf.offset, view_.more, view_.more_names, doubt);
    const auto dtype = this->dtype(leaf, doubt);
    if (!strides || !offset || !dtype) return std::nullopt;
    if (leaf.alias >= 0) {
      const auto& base = *view_.tensors[static_cast<std::size_t>(leaf.alias)];
      auto view = MetaCall::view(base, *std::move(sizes), *std::move(strides), *offset);
      std::get<FakeTensor>(view.value).meta.dtype = *dtype;
      return view;
    }
    auto fresh = c_.fresh(*dtype, *std::move(sizes), *std::move(strides));
    std::get<FakeTensor>(fresh.value).meta.offset = *offset;
    return fresh;
  }

  auto dims(const std::vector<std::vector<Formula>>& formulas, std::span<const Expr> features,
            std::span<const std::string> names, std::string& doubt) -> std::optional<Dims> {
    Dims dims;
    for (const auto& formula : formulas) {
      const auto value = agreed(c_, formula, features, names, doubt);
      if (!value) return std::nullopt;
      dims.push_back(*value);
    }
    return dims;
  }

  auto strides(const LeafSpace& leaf, const Dims& sizes, std::string& doubt)
      -> std::optional<Dims> {
    if (leaf.layouts.empty()) return dims(leaf.strides, view_.more, view_.more_names, doubt);
    std::optional<Dims> strides;
    for (const auto& layout : leaf.layouts) {
      auto other = strides_by(c_, layout, view_, sizes);
      if (!other) continue;
      if (strides && !same_strides(sizes, *strides, *other))
        return doubt = "the recorded calls do not tell its layouts apart", std::nullopt;
      if (!strides) strides = std::move(other);
    }
    if (!strides) doubt = "no recorded layout fits its sizes";
    return strides;
  }

  auto dtype(const LeafSpace& leaf, std::string& doubt) -> std::optional<DType> {
    const auto dtype = dtype_by(c_, leaf.dtypes.front(), view_);
    for (const auto& other : leaf.dtypes)
      if (dtype_by(c_, other, view_) != dtype)
        return doubt = "the recorded calls do not tell its dtype", std::nullopt;
    return dtype;
  }

  MetaCall& c_;
  const CallView& view_;
};

}  // namespace

auto kind_of(const Datum& datum) -> std::string {
  if (const auto* tensor = datum.fake()) return fmt::format("T{}", tensor->meta.sizes.size());
  if (const auto* list = datum.list()) {
    std::string kind = "[";
    for (const auto& item : *list) kind += kind_of(item) + " ";
    return kind + "]";
  }
  if (const auto* scalar = datum.scalar())
    return scalar->type() == ExprType::integer   ? "i"
           : scalar->type() == ExprType::boolean ? (scalar->as_bool() == true ? "yes" : "no")
                                                 : "f";
  if (datum.is_none()) return "-";
  if (const auto* text = std::get_if<std::string>(&datum.value)) return "'" + *text + "'";
  return std::get_if<DType>(&datum.value) ? "d" : "o";
}
auto kind_of(std::span<const Datum> args) -> std::string {
  std::string kind;
  for (const auto& arg : args) kind += kind_of(arg) + " ";
  return kind;
}

auto view_of(const Schema& schema, std::span<const Datum> args) -> CallView {
  CallView view;
  for (std::size_t i = 0; i < args.size(); ++i) look(args[i], schema.params[i].name, view);
  view.more = view.features;
  view.more_names = view.names;
  for (std::size_t t = 0; t < view.tensors.size(); ++t) {
    const auto& meta = view.tensors[t]->meta;
    for (std::size_t d = 0; d < meta.strides.size(); ++d) {
      view.more.push_back(meta.strides[d]);
      view.more_names.push_back(fmt::format("tensor{}.stride({})", t, d));
    }
    view.more.push_back(meta.offset);
    view.more_names.push_back(fmt::format("tensor{}.storage_offset()", t));
  }
  return view;
}

auto strides_by(MetaCall& c, const LayoutHypothesis& layout, const CallView& view,
                const Dims& sizes) -> std::optional<Dims> {
  using Kind = LayoutHypothesis::Kind;
  const auto* like =
      layout.tensor < view.tensors.size() ? &view.tensors[layout.tensor]->meta : nullptr;
  switch (layout.kind) {
    case Kind::row_major:
      return strides_for(sizes, MemoryFormat::contiguous);
    case Kind::same:
      if (!like || like->sizes.size() != sizes.size()) return std::nullopt;
      return like->strides;
    case Kind::preserved:
      if (!like || like->sizes != sizes) return std::nullopt;
      return preserved_strides(c, *like);
    case Kind::suggested:
      if (!like || like->sizes.size() != sizes.size()) return std::nullopt;
      return strides_for(sizes, suggest_memory_format(c, *like));
    case Kind::iterated: {
      std::vector<const TensorMeta*> operands;
      for (const auto* tensor : view.tensors) {
        if (tensor->meta.sizes.size() > sizes.size()) return std::nullopt;
        operands.push_back(&tensor->meta);
      }
      for (const auto* operand : operands)  // only shapes that broadcast to the result
        for (std::size_t d = 0; d < operand->sizes.size(); ++d) {
          const auto& size = operand->sizes[operand->sizes.size() - 1 - d];
          if (size != sizes[sizes.size() - 1 - d] && !size.is_int(1)) return std::nullopt;
        }
      return iterator_strides(c, operands, sizes);
    }
    case Kind::channels_last:
      if (sizes.size() != 4 && sizes.size() != 5) return std::nullopt;
      return strides_for(
          sizes, sizes.size() == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d);
    case Kind::ordered: {
      if (layout.order.size() != sizes.size()) return std::nullopt;
      Dims strides(sizes.size());
      Expr step = 1;
      for (std::size_t k = sizes.size(); k-- > 0;) {
        strides[layout.order[k]] = step;
        step = step * max(sizes[layout.order[k]], 1);
      }
      return strides;
    }
  }
  return std::nullopt;
}

auto dtype_by(MetaCall& c, const DTypeHypothesis& by, const CallView& view)
    -> std::optional<DType> {
  using Kind = DTypeHypothesis::Kind;
  switch (by.kind) {
    case Kind::constant:
      return by.dtype;
    case Kind::tensor:
      return view.tensors[by.index]->meta.dtype;
    case Kind::argument:
      return c.dtype(static_cast<int>(by.index));
    case Kind::promoted: {
      ResultType type;
      for (const auto* tensor : view.tensors)
        type.add_tensor(tensor->meta.dtype, static_cast<int>(tensor->meta.sizes.size()));
      return type.get();
    }
  }
  return std::nullopt;
}

auto same_strides(const Dims& sizes, const Dims& a, const Dims& b) -> bool {
  if (a.size() != b.size()) return false;
  if (std::ranges::any_of(sizes, [](const Expr& size) { return size.is_int(0); })) return true;
  for (std::size_t d = 0; d < a.size(); ++d)
    if (a[d] != b[d] && !sizes[d].is_int(1)) return false;
  return true;
}

auto apply(const RuleSpace& space, MetaCall& c, const CallView& view, std::string& doubt)
    -> std::optional<Datum> {
  return Application(c, view).run(space, doubt);
}

}  // namespace assay
