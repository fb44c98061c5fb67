#include "replay/runner/known_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

namespace assay {
namespace {

/// In the order of memory, if every element of the extent is one of the tensor.
auto in_memory(const Tensor& tensor) -> Datum {
  const auto view = tensor.view(tensor.dtype(), {tensor.numel()}, {1}, tensor.meta.offset);
  return view ? Datum{*view} : Datum{};
}

/// What a dimension's elements are combined to.
using Combine = double (*)(double, double);
constexpr std::array<Combine, 4> kCombines = {
    +[](double a, double b) { return a + b; },
    +[](double a, double b) { return a * b; },
    +[](double a, double b) { return std::max(a, b); },
    +[](double a, double b) { return std::min(a, b); },
};

/// A row-major block of elements seen as (outer, dimension, inner).
struct Along {
  std::size_t outer = 1, size = 1, inner = 1;
  [[nodiscard]] auto at(std::size_t o, std::size_t k, std::size_t i) const -> std::size_t {
    return (o * size + k) * inner + i;
  }
};
/// Each dimension, and all as one.
auto dimensions_of(const Ints& sizes) -> std::vector<Along> {
  std::vector<Along> all;
  std::size_t total = 1;
  for (const auto size : sizes) total *= static_cast<std::size_t>(size);
  if (total == 0) return all;
  std::size_t outer = 1;
  for (const auto size : sizes) {
    const auto count = static_cast<std::size_t>(size);
    if (count > 1) all.push_back({outer, count, total / outer / count});
    outer *= count;
  }
  all.push_back({1, total, 1});
  return all;
}

auto is_whole(DType dtype) -> bool {
  const auto kind = info(dtype).kind;
  return kind == DTypeKind::signed_integer || kind == DTypeKind::unsigned_integer;
}

/// An operator that adds its argument `addend`, and what computes the rest of it.
struct AddendRow {
  std::string_view op, rest;
  std::size_t addend;
  bool is_optional;  ///< the argument of `rest`, too: None there
};
constexpr AddendRow kAddends[] = {
    {"aten.addmm.default", "aten.mm.default", 0, false},
    {"aten.addmv.default", "aten.mv.default", 0, false},
    {"aten.baddbmm.default", "aten.bmm.default", 0, false},
    {"aten.convolution.default", "aten.convolution.default", 2, true}};

}  // namespace

auto without_addends(const Graph& graph, const std::vector<Datum>& values, const OpTable& table)
    -> std::vector<Datum> {
  std::map<NodeId, const Datum*> by_id;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) by_id[graph.nodes[i].id] = &values[i];
  const auto lookup = [&](NodeId id) -> const Datum* {
    const auto found = by_id.find(id);
    return found == by_id.end() ? nullptr : found->second;
  };
  RealDomain domain(table);
  std::vector<Datum> rests;
  for (const auto& node : graph.nodes) {
    const auto* row = std::ranges::find(kAddends, node.target, &AddendRow::op);
    if (row == std::end(kAddends) || !node.kwargs.empty() || row->addend >= node.args.size())
      continue;
    DatumList args;
    for (const auto& arg : node.args) {
      auto given = to_datum(arg, lookup);
      if (given) args.push_back(*std::move(given));
    }
    if (args.size() != node.args.size()) continue;
    if (row->is_optional)
      args[row->addend] = {};
    else
      args.erase(args.begin() + static_cast<std::ptrdiff_t>(row->addend));
    const auto* rest = table.find(row->rest);
    if (auto value = rest == nullptr ? Result<Datum>(unsupported("no row"))
                                     : domain.run(*rest, std::move(args)))
      rests.push_back(*std::move(value));
  }
  return rests;
}

auto values_of(const Stage& stage, const StageContext& context) -> std::vector<Datum> {
  std::vector<Datum> values(stage.graph->graph.nodes.size());
  StageTaps taps;
  taps.node = [&](std::size_t i, const Datum& value) {
    if (const auto* list = value.list()) {
      DatumList items;
      for (const auto& item : *list) items.push_back(DatumCopier()(item));
      values[i] = {std::move(items)};
    } else {
      values[i] = DatumCopier()(value);
    }
  };
  (void)run_stage(stage, context.inputs, context.attributes, context.table, taps);
  return values;
}

auto values_agree(const Datum& expected, const Datum& actual) -> bool {
  if (const auto *a = expected.list(), *b = actual.list(); a != nullptr && b != nullptr)
    return a->size() == b->size() && std::ranges::equal(*a, *b, values_agree);
  if (expected.is_none() || actual.is_none()) return true;
  return compare_values(expected, actual, false, {}).message.empty();
}

auto flat(const Tensor& tensor) -> Datum {
  auto copy = Tensor::contiguous(tensor.dtype(), {tensor.numel()});
  if (!copy) return {};
  Tensor shaped = *copy;
  shaped.meta.sizes = tensor.sizes();
  std::int64_t stride = 1;
  shaped.meta.strides.resize(tensor.sizes().size());
  for (std::size_t d = tensor.sizes().size(); d-- > 0; stride *= tensor.sizes()[d])
    shaped.meta.strides[d] = stride;
  copy_elems(tensor, shaped);
  return {*std::move(copy)};
}

auto KnownValues::contains(const Datum& value) const -> bool {
  if (const auto* list = value.list())
    return std::ranges::all_of(*list, [&](const Datum& item) { return contains(item); });
  const auto* tensor = value.real();
  if (tensor == nullptr) return true;
  const auto mine = flat(*tensor), stored = in_memory(*tensor);
  return std::ranges::any_of(tensors_, [&](const auto& known) {
    const auto& [elements, memory] = known;
    if (elements.real()->numel() != tensor->numel() || elements.real()->dtype() != tensor->dtype())
      return false;
    return values_agree(elements, mine) ||
           (!stored.is_none() && !memory.is_none() && values_agree(memory, stored));
  });
}

void KnownValues::add(const Datum& value) {
  if (const auto* list = value.list()) {
    for (const auto& item : *list) add(item);
  } else if (const auto* tensor = value.real()) {
    if (is_floating(tensor->dtype())) reals_.push_back(to_vector<double>(*tensor));
    if (is_whole(tensor->dtype())) wholes_.push_back(to_vector<double>(*tensor));
    if (auto elements = flat(*tensor); !elements.is_none())
      tensors_.emplace_back(std::move(elements), in_memory(*tensor));
  }
}

auto KnownValues::has(const std::vector<double>& values, double scale) const -> bool {
  constexpr double kRelative = 2e-5;
  return std::ranges::any_of(reals_, [&](const std::vector<double>& known) {
    if (known.size() != values.size() || known.empty()) return false;
    double largest = 0, farthest = 0;
    for (std::size_t i = 0; i < known.size(); ++i) {
      largest = std::max(largest, std::abs(known[i]));
      const auto distance = std::abs(known[i] - values[i] * scale);
      if (!(distance <= farthest)) farthest = std::isnan(distance) ? INFINITY : distance;
    }
    return largest > 0 && farthest <= kRelative * largest;
  });
}

auto KnownValues::has_scaled(const std::vector<double>& values) const -> bool {
  if (has(values, 1)) return true;
  std::set<std::size_t> counts;  // how many elements one of these may stand for
  for (const auto& known : reals_)
    if (known.size() > values.size() && known.size() % values.size() == 0)
      counts.insert(known.size() / values.size());
  return std::ranges::any_of(counts, [&](std::size_t count) {
    const auto n = static_cast<double>(count);
    return has(values, n) || has(values, 1 / n) || has(values, 1 / (n - 1));
  });
}

auto KnownValues::has_part(const Tensor& part) const -> bool {
  const bool whole = is_whole(part.dtype());
  if (!whole && !is_floating(part.dtype())) return false;
  const auto is_known = [&](const std::vector<double>& values) {
    return whole ? std::ranges::find(wholes_, values) != wholes_.end() : has_scaled(values);
  };
  const auto values = to_vector<double>(part);
  if (values.empty() || is_known(values)) return !values.empty();
  for (const auto& along : dimensions_of(part.sizes()))
    for (const auto combine : kCombines) {
      std::vector<double> made;
      for (std::size_t o = 0; o < along.outer; ++o)
        for (std::size_t i = 0; i < along.inner; ++i) {
          double value = values[along.at(o, 0, i)];
          for (std::size_t k = 1; k < along.size; ++k)
            value = combine(value, values[along.at(o, k, i)]);
          made.push_back(value);
        }
      if (is_known(made)) return true;
    }
  return false;
}

auto KnownValues::has_moments(const Tensor& mean, const Tensor& squares, const Tensor& weight) const
    -> bool {
  if (mean.sizes() != squares.sizes() || mean.sizes() != weight.sizes()) return false;
  const auto means = to_vector<double>(mean), m2 = to_vector<double>(squares),
             weights = to_vector<double>(weight);
  for (const auto& along : dimensions_of(mean.sizes())) {
    std::vector<double> variance, unbiased;
    bool is_counted = true;
    for (std::size_t o = 0; o < along.outer; ++o)
      for (std::size_t i = 0; i < along.inner; ++i) {
        double total = 0, center = 0, sum = 0;
        for (std::size_t k = 0; k < along.size; ++k) {
          total += weights[along.at(o, k, i)];
          center += weights[along.at(o, k, i)] * means[along.at(o, k, i)];
        }
        center /= total;
        for (std::size_t k = 0; k < along.size; ++k) {
          const auto at = along.at(o, k, i);
          sum += m2[at] + weights[at] * (means[at] - center) * (means[at] - center);
        }
        is_counted = is_counted && is_count(total * static_cast<double>(along.outer * along.inner));
        variance.push_back(sum / total);
        unbiased.push_back(sum / (total - 1));
      }
    if (is_counted && (has(variance, 1) || has(unbiased, 1))) return true;
  }
  return false;
}

auto KnownValues::is_count(double weight) const -> bool {
  return std::ranges::any_of(reals_, [&](const std::vector<double>& known) {
    return static_cast<double>(known.size()) == weight;
  });
}

}  // namespace assay
