// Sums, means and maxima over bags of embeddings (aten/src/ATen/native/EmbeddingBag.cpp), and
// reductions over segments (SegmentReduce.cpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ops/norm.h"

namespace assay {
namespace {

enum Mode : std::int64_t { kSum, kMean, kMax };

/// Where the forward rows have their arguments.
struct BagArgs {
  int mode = 4, weights = 6, last = 7, padding = 8;
};
constexpr BagArgs kForward;

auto bag_count(const TensorMeta& offsets, bool has_last) -> Expr {
  return has_last ? offsets.sizes[0] - 1 : offsets.sizes[0];
}
/// The sum over rows that lie next to each other needs no map from indices to bags on the CPU.
auto skips_map(MetaCall& c) -> bool {
  const auto& weight = c.meta(0);
  const bool has_weights = c.has(kForward.weights);
  if (on_cuda(weight) || c.integer(kForward.mode) != kSum || c.integer(kForward.padding) >= 0)
    return false;
  if (weight.dtype != DType::float32 && weight.dtype != DType::float16 &&
      weight.dtype != DType::bfloat16)
    return false;
  return c.decide(eq(weight.strides[1], 1), "embeddings are adjacent") &&
         (!has_weights ||
          c.decide(eq(c.meta(kForward.weights).strides[0], 1), "weights are adjacent"));
}
/// How many bag sizes there are: a sum that needs no backward, and CUDA always, has one per offset.
auto counts_of(MetaCall& c, const Expr& bags) -> Expr {
  const bool is_forward_only = c.row().name() == "aten._embedding_bag_forward_only.default";
  const bool per_offset =
      on_cuda(c.meta(0)) || (is_forward_only && c.integer(kForward.mode) == kSum);
  return per_offset ? c.meta(2).sizes[0] : bags;
}
/// weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
/// include_last_offset, padding_idx: output, offset2bag, bag_size, max_indices.
auto bag_rule(MetaCall& c) -> Datum {
  const auto& weight = c.meta(0);
  const auto& indices = c.meta(1);
  const auto& offsets = c.meta(2);
  if (!c.require(weight.rank() == 2 && is_floating(weight.dtype), "the weight is a matrix") ||
      !c.require(indices.rank() == 1 && offsets.rank() == 1, "indices and offsets are vectors") ||
      !c.require(is_integer(indices.dtype) && is_integer(offsets.dtype), "they are integers") ||
      !c.require(c.integer(4) >= 0 && c.integer(4) <= 2, "mode is 0, 1 or 2"))
    return {};
  const bool has_last = c.flag(kForward.last);
  if (has_last && !c.require(ge(offsets.sizes[0], 1), "there is a last offset")) return {};
  if (c.has(kForward.weights) &&
      (!c.require(c.integer(kForward.mode) == kSum, "weights go with sums") ||
       !require_same_sizes(c, c.meta(kForward.weights).sizes, indices.sizes, "a weight per index")))
    return {};
  const auto bags = bag_count(offsets, has_last);
  const bool max = c.integer(kForward.mode) == kMax;
  const auto& features = weight.sizes[1];
  const auto counts = counts_of(c, bags);
  return {DatumList{c.fresh(weight.dtype, {bags, features}),
                    c.fresh(indices.dtype, {skips_map(c) ? Expr(0) : indices.sizes[0]}),
                    c.fresh(indices.dtype, {counts}),
                    c.fresh(indices.dtype, max               ? Dims{bags, features}
                                           : on_cuda(weight) ? Dims{0}
                                                             : Dims{counts})}};
}

/// Which bag each index belongs to, and how many each bag has that are not padding.
struct Bags {
  Ints index, bag_of, size;
};
/// For each of `total` indices the bag it lies in, from where `count` bags start.
auto bags_from_offsets(KernelCall& k, int offsets, std::int64_t count, std::int64_t total) -> Ints {
  const auto starts = to_vector<std::int64_t>(k.in(offsets));
  Ints bag_of(static_cast<std::size_t>(total), -1);
  for (std::int64_t bag = 0; bag < count; ++bag) {
    const auto at = static_cast<std::size_t>(bag);
    if (at >= starts.size()) return k.fail("there are fewer offsets than bags"), bag_of;
    const auto begin = starts[at];
    const auto end = at + 1 < starts.size() ? starts[at + 1] : total;
    if (begin < 0 || begin > end || end > total) return k.fail("offsets are out of order"), bag_of;
    for (auto i = begin; i < end; ++i) bag_of[static_cast<std::size_t>(i)] = bag;
  }
  return bag_of;
}
/// The same as it was recorded.
auto bags_from_map(KernelCall& k, int map, std::int64_t count, std::int64_t total) -> Ints {
  auto bag_of = to_vector<std::int64_t>(k.in(map));
  if (std::cmp_not_equal(bag_of.size(), total)) k.fail("there is a bag for every index");
  if (std::ranges::any_of(bag_of, [&](auto bag) { return bag < 0 || bag >= count; }))
    k.fail("there is no such bag");
  return bag_of;
}
/// `places` are the offsets, or with `is_map` the bag of each index.
auto load_bags(KernelCall& k, int indices, int places, std::int64_t count, std::int64_t padding,
               std::int64_t rows, bool is_map = false) -> Bags {
  Bags bags{to_vector<std::int64_t>(k.in(indices)), {}, Ints(static_cast<std::size_t>(count), 0)};
  const auto total = static_cast<std::int64_t>(bags.index.size());
  bags.bag_of =
      is_map ? bags_from_map(k, places, count, total) : bags_from_offsets(k, places, count, total);
  if (k.error()) return bags;
  for (std::size_t i = 0; i < bags.index.size(); ++i) {
    if (bags.index[i] < 0 || bags.index[i] >= rows)
      return k.fail(fmt::format("index {} is out of range for {} rows", bags.index[i], rows)), bags;
    if (bags.index[i] != padding && bags.bag_of[i] >= 0)
      ++bags.size[static_cast<std::size_t>(bags.bag_of[i])];
  }
  return bags;
}
auto seen_nothing(std::int64_t count) -> Ints {
  return Ints(static_cast<std::size_t>(count), 0);
}
void bag_kernel(KernelCall& k) {
  const auto& weight = k.in(0);
  const auto features = static_cast<std::size_t>(weight.sizes()[1]);
  const auto count = k.out(0).sizes()[0];
  const auto given = k.integer(kForward.padding);
  const auto padding = given < 0 ? -1 : given;
  const auto bags = load_bags(k, 1, 2, count, padding, weight.sizes()[0]);
  if (k.error()) return;
  const auto x = to_vector<double>(weight);
  const auto mode = k.integer(kForward.mode);
  const auto scale = values_or(k, kForward.weights, bags.index.size(), 1);
  std::vector<double> out(static_cast<std::size_t>(count) * features, 0);
  Ints largest(mode == kMax ? out.size() : 0, 0);
  Ints seen(static_cast<std::size_t>(count), 0);
  for (std::size_t i = 0; i < bags.index.size(); ++i) {
    if (bags.bag_of[i] < 0 || bags.index[i] == padding) continue;
    const auto bag = static_cast<std::size_t>(bags.bag_of[i]);
    for (std::size_t f = 0; f < features; ++f) {
      const double value = x[static_cast<std::size_t>(bags.index[i]) * features + f] * scale[i];
      auto& to = out[bag * features + f];
      if (mode != kMax) {
        to += value;
      } else if (seen[bag] == 0 || value > to) {
        to = value;
        largest[bag * features + f] = bags.index[i];
      }
    }
    ++seen[bag];
  }
  if (mode == kMean)
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] /= static_cast<double>(std::max<std::int64_t>(bags.size[i / features], 1));
  from_vector<double>(k.out(0), out);
  if (k.out(1).numel() > 0) {
    auto map = bags.bag_of;
    for (auto& bag : map) bag = std::max<std::int64_t>(bag, 0);
    from_vector<std::int64_t>(k.out(1), map);
  }
  const bool is_cuda = weight.meta.device.type == "cuda";
  Ints sizes = mode == kSum && !is_cuda ? seen_nothing(count) : bags.size;  // sums need none
  sizes.resize(static_cast<std::size_t>(k.out(2).numel()), 0);
  from_vector<std::int64_t>(k.out(2), sizes);
  if (k.out(3).numel() > 0) from_vector<std::int64_t>(k.out(3), mode == kMax ? largest : sizes);
}

/// grad, indices, offsets (not of the dense form), offset2bag, bag_size, maximum_indices,
/// num_weights, scale_grad_by_freq, mode, sparse (not of the dense form), per_sample_weights,
/// padding_idx. Without offsets the map from indices to bags says where each belongs.
auto bag_backward_rule(MetaCall& c) -> Datum {
  const auto& grad = c.meta(0);
  const int sparse = param(c, "sparse");
  if (sparse >= 0 && c.flag(sparse)) return c.unsupported("sparse gradients"), Datum{};
  const int weights = param(c, "per_sample_weights");
  if (c.has(weights) &&
      !require_same_sizes(c, c.meta(weights).sizes, c.meta(1).sizes, "a weight per index"))
    return {};
  if (!c.require(grad.rank() == 2, "the gradient is a matrix") ||
      !c.require(c.meta(1).rank() == 1 && c.meta(2).rank() == 1, "indices and bags are vectors"))
    return {};
  return c.fresh(grad.dtype, {c.expr(param(c, "num_weights")), grad.sizes[1]});
}
/// What `scale_grad_by_freq` divides the gradient of each row by. On the CPU PyTorch looks up the
/// n-th of the sorted indices for the n-th row that occurs, so that the number is another row's
/// behind one that occurs twice (_embedding_bag_dense_backward_cpu_sum_mean).
auto frequencies(const Ints& indices, std::int64_t rows, bool is_cuda) -> std::vector<double> {
  std::vector<double> count(static_cast<std::size_t>(rows), 0);
  for (const auto index : indices) ++count[static_cast<std::size_t>(index)];
  if (is_cuda) return count;
  auto sorted = indices;
  std::ranges::sort(sorted);
  auto result = count;
  std::size_t ordinal = 0;
  for (std::size_t row = 0; row < count.size(); ++row)
    if (count[row] > 0) result[row] = count[static_cast<std::size_t>(sorted[ordinal++])];
  return result;
}
void bag_backward_kernel(KernelCall& k) {
  const int padding_arg = param(k, "padding_idx");
  const int weights_arg = param(k, "per_sample_weights");
  const auto mode = k.integer(param(k, "mode"));
  const auto grad = to_vector<double>(k.in(0));
  const auto features = static_cast<std::size_t>(k.in(0).sizes()[1]);
  const auto count = k.in(0).sizes()[0];
  const auto rows = k.out().sizes()[0];
  const auto given = k.integer(padding_arg);
  const bool is_map = param(k, "offsets") < 0;
  const auto bags = load_bags(k, 1, 2, count, given < 0 ? -1 : given, rows, is_map);
  if (k.error()) return;
  std::vector<double> result(static_cast<std::size_t>(rows) * features, 0);
  if (mode == kMax) {
    const auto largest = to_vector<std::int64_t>(k.in(param(k, "maximum_indices")));
    for (std::size_t i = 0; i < grad.size() && i < largest.size(); ++i)
      if (bags.size[i / features] > 0 && largest[i] >= 0 && largest[i] < rows)
        result[static_cast<std::size_t>(largest[i]) * features + i % features] += grad[i];
    return from_vector<double>(k.out(), result);
  }
  const auto scale = values_or(k, weights_arg, bags.index.size(), 1);
  const auto frequency = k.flag(param(k, "scale_grad_by_freq"))
                             ? frequencies(bags.index, rows, on_cuda(k.in(0).meta))
                             : std::vector<double>(static_cast<std::size_t>(rows), 1);
  for (std::size_t i = 0; i < bags.index.size(); ++i) {
    if (bags.bag_of[i] < 0 || bags.index[i] == given) continue;
    const auto bag = static_cast<std::size_t>(bags.bag_of[i]);
    const auto row = static_cast<std::size_t>(bags.index[i]);
    double factor = scale[i];
    if (mode == kMean) factor /= static_cast<double>(std::max<std::int64_t>(bags.size[bag], 1));
    factor /= frequency[row];
    for (std::size_t f = 0; f < features; ++f)
      result[row * features + f] += factor * grad[bag * features + f];
  }
  from_vector<double>(k.out(), result);
}
/// grad, weight, indices, offsets, offset2bag, mode, padding_idx: how each weight counted.
auto sample_weights_rule(MetaCall& c) -> Datum {
  if (!c.require(c.meta(0).rank() == 2 && c.meta(1).rank() == 2, "matrices are expected") ||
      !c.require(eq(c.meta(0).sizes[1], c.meta(1).sizes[1]), "one gradient per feature") ||
      !c.require(c.meta(2).rank() == 1 && c.meta(3).rank() == 1, "vectors are expected"))
    return {};
  return c.fresh(c.meta(0).dtype, {c.meta(2).sizes[0]});
}
void sample_weights_kernel(KernelCall& k) {
  const auto grad = to_vector<double>(k.in(0));
  const auto x = to_vector<double>(k.in(1));
  const auto features = static_cast<std::size_t>(k.in(1).sizes()[1]);
  const auto padding = k.integer(6);
  const auto bags = load_bags(k, 2, 3, k.in(0).sizes()[0], padding, k.in(1).sizes()[0]);
  if (k.error()) return;
  std::vector<double> result(bags.index.size(), 0);
  for (std::size_t i = 0; i < result.size(); ++i)
    for (std::size_t f = 0; f < features && bags.bag_of[i] >= 0 && bags.index[i] != padding; ++f)
      result[i] += grad[static_cast<std::size_t>(bags.bag_of[i]) * features + f] *
                   x[static_cast<std::size_t>(bags.index[i]) * features + f];
  from_vector<double>(k.out(), result);
}

/// The composite forms; without padding the index is -1.
auto embedding_bag(Composer& c) -> Datum {
  DatumList args(c.args().begin(), c.args().end());
  if (args.size() > 8 && args[8].is_none()) args[8] = Datum{Expr(-1)};
  const bool negative = args.size() > 8 && c.has(8) && c.integer(8) < 0;
  if (negative && c.meta(0).rank() == 0) return c.fail("the weight is a matrix"), Datum{};
  if (negative) args[8] = Datum{c.meta(0).sizes[0] + c.expr(8)};
  return c.call("aten._embedding_bag.default", std::move(args));
}

// ---- segments -----------------------------------------------------------------------------------

struct SegmentArgs {
  int data, reduce, lengths, offsets, axis, initial;
};
auto segment_args(const Call& c) -> SegmentArgs {
  return {param(c, "data"),    param(c, "reduce"), param(c, "lengths"),
          param(c, "offsets"), param(c, "axis"),   param(c, "initial")};
}
auto segment_rule(MetaCall& c) -> Datum {
  const auto p = segment_args(c);
  const auto& data = c.meta(p.data);
  const bool by_length = c.has(p.lengths);
  if (!c.require(data.rank() > 0, "there is a dimension to reduce")) return {};
  if (!c.require(by_length || c.has(p.offsets), "lengths or offsets are given")) return {};
  const auto axis = static_cast<std::size_t>(c.dim_arg(p.axis, data.rank()));
  const auto& bounds = c.meta(by_length ? p.lengths : p.offsets);
  if (c.error() ||
      !c.require(static_cast<std::size_t>(bounds.rank()) == axis + 1,
                 "one row of segments per row of data") ||
      !require_same_sizes(
          c, {bounds.sizes.begin(), bounds.sizes.end() - 1},
          {data.sizes.begin(), data.sizes.begin() + static_cast<std::ptrdiff_t>(axis)},
          "one row of segments per row of data") ||
      !c.require(is_floating(data.dtype), "floating data"))
    return {};
  const auto reduce = c.text(p.reduce);
  if (!c.require(reduce == "sum" || reduce == "mean" || reduce == "max" || reduce == "min" ||
                     reduce == "prod",
                 "reduce is sum, mean, max, min or prod") ||
      (!by_length && !c.require(gt(bounds.sizes.back(), 0), "there is a last offset")))
    return {};
  auto sizes = bounds.sizes;
  if (!by_length) sizes.back() = sizes.back() - 1;
  sizes.insert(sizes.end(), data.sizes.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
               data.sizes.end());
  if (p.data == 0) return c.fresh(data.dtype, std::move(sizes));
  for (const int i : {0, 1})  // grad and output of the backward
    if (!require_same_sizes(c, c.meta(i).sizes, sizes, "one element per segment")) return {};
  return c.fresh(data.dtype, data.sizes);
}
/// Calls f(result element, elements of the data) for every segment and position behind the axis.
template <class F>
void for_each_segment(KernelCall& k, const SegmentArgs& p, const F& f) {
  const auto& sizes = k.in(p.data).sizes();
  const auto axis = static_cast<std::size_t>(dim_of(k, p.axis, k.in(p.data).rank()));
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= sizes[d];
  for (auto d = axis + 1; d < sizes.size(); ++d) inner *= sizes[d];
  const bool by_length = k.has(p.lengths);
  const auto& bounds = k.in(by_length ? p.lengths : p.offsets);
  const auto values = to_vector<std::int64_t>(bounds);
  const auto per_row = bounds.sizes().back();
  const auto segments = by_length ? per_row : per_row - 1;
  for (std::int64_t row = 0; row < outer; ++row) {
    std::int64_t next = 0;
    for (std::int64_t s = 0; s < segments; ++s) {
      const auto at = static_cast<std::size_t>(row * per_row + s);
      const auto begin = by_length ? next : values[at];
      const auto end = by_length ? next + values[at] : values[at + 1];
      next = end;
      if (begin < 0 || begin > end || end > sizes[axis])
        return void(k.fail("a segment lies outside of the data"));
      for (std::int64_t i = 0; i < inner; ++i) {
        std::vector<std::size_t> elements;
        for (auto e = begin; e < end; ++e)
          elements.push_back(static_cast<std::size_t>((row * sizes[axis] + e) * inner + i));
        f(static_cast<std::size_t>((row * segments + s) * inner + i), elements);
      }
    }
  }
}
auto neutral_of(const std::string& reduce) -> double {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return reduce == "max" ? -kInf : reduce == "min" ? kInf : reduce == "prod" ? 1 : 0;
}
void segment_kernel(KernelCall& k) {
  const auto p = segment_args(k);
  const auto reduce = k.text(p.reduce);
  const auto x = to_vector<double>(k.in(p.data));
  const double first = k.has(p.initial) ? k.real(p.initial) : neutral_of(reduce);
  std::vector<double> out(static_cast<std::size_t>(k.out().numel()), 0);
  for_each_segment(k, p, [&](std::size_t to, const std::vector<std::size_t>& elements) {
    double value = first;
    for (const auto e : elements) {
      if (reduce == "max" || reduce == "min")
        value = std::isnan(value) || std::isnan(x[e]) ? value + x[e]
                : reduce == "max"                     ? std::max(value, x[e])
                                                      : std::min(value, x[e]);
      else
        value = reduce == "prod" ? value * x[e] : value + x[e];
    }
    const auto count = static_cast<double>(elements.size());
    if (reduce == "mean" && (count > 0 || !k.has(p.initial))) value /= count;
    out[to] = value;
  });
  from_vector<double>(k.out(), out);
}
void segment_backward_kernel(KernelCall& k) {
  const auto p = segment_args(k);
  const auto reduce = k.text(p.reduce);
  const auto grad = to_vector<double>(k.in(0));
  const auto output = to_vector<double>(k.in(1));
  const auto x = to_vector<double>(k.in(p.data));
  const double first = k.has(p.initial) ? k.real(p.initial) : 1;
  std::vector<double> result(x.size(), 0);
  for_each_segment(k, p, [&](std::size_t at, const std::vector<std::size_t>& elements) {
    const auto is_extreme = [&](std::size_t e) { return std::isnan(x[e]) || x[e] == output[at]; };
    const auto extremes = std::ranges::count_if(elements, is_extreme);
    for (const auto e : elements) {
      if (reduce == "max" || reduce == "min") {
        if (is_extreme(e)) result[e] = grad[at] / static_cast<double>(extremes);
      } else if (reduce == "prod") {
        double others = first;
        for (const auto other : elements)
          if (other != e) others *= x[other];
        const bool plain = x[e] != 0 && !std::isnan(x[e]);
        result[e] = grad[at] * (plain ? output[at] / x[e] : others);
      } else {
        result[e] = grad[at] / (reduce == "mean" ? static_cast<double>(elements.size()) : 1);
      }
    }
  });
  from_vector<double>(k.out(), result);
}

}  // namespace

// clang-format off
void add_embedding_bag_rows(OpTable& t) {
  t.add({.schema_text = "aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)", .rule = bag_rule, .kernel = bag_kernel});
  t.add({.schema_text = "aten::_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)", .rule = bag_rule, .kernel = bag_kernel});
  t.add({.schema_text = "aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)", .decomposition = embedding_bag});
  t.add({.schema_text = "aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)", .decomposition = embedding_bag});
  t.add({.schema_text = "aten::_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor", .rule = bag_backward_rule, .kernel = bag_backward_kernel});
  t.add({.schema_text = "aten::_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int mode, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor", .rule = bag_backward_rule, .kernel = bag_backward_kernel});
  t.add({.schema_text = "aten::_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor", .rule = sample_weights_rule, .kernel = sample_weights_kernel});
  t.add({.schema_text = "aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor", .rule = segment_rule, .kernel = segment_kernel});
  t.add({.schema_text = "aten::_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *, Tensor? lengths=None, Tensor? offsets=None, int axis=0, Scalar? initial=None) -> Tensor", .rule = segment_rule, .kernel = segment_backward_kernel});
}
// clang-format on

}  // namespace assay
