// Functions that torch/nn/functional.py composes of several operators.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <ranges>

#include "replay/interp/python_functions.h"

namespace assay {
namespace {

/// A chain of calls whose first error ends it: everything behind works on nothing.
class Composition {
 public:
  Composition(const PythonArgs& args, const RunOperator& run) : args_(args), run_(run) {}

  [[nodiscard]] auto arg(std::size_t position, std::string_view name) const -> Datum {
    return argument_of(args_, position, name);
  }
  [[nodiscard]] auto arg(std::size_t position, std::string_view name, Datum otherwise) const
      -> Datum {
    auto value = arg(position, name);
    return value.is_none() ? std::move(otherwise) : value;
  }
  auto call(std::string_view name, const DatumList& args, Keywords keywords = {}) -> Datum {
    if (error_) return {};
    auto result = run_("aten." + std::string(name), args, std::move(keywords));
    if (result) return *std::move(result);
    error_ = result.error();
    return {};
  }
  /// The first of several results.
  auto first(std::string_view name, const DatumList& args) -> Datum {
    const auto all = call(name, args);
    return all.list() == nullptr || all.list()->empty() ? all : all.list()->front();
  }
  /// "none", "mean" (by default) or "sum" of losses.
  auto reduced(const Datum& losses, std::size_t position) -> Datum {
    const auto reduction = arg(position, "reduction");
    const auto* text = std::get_if<std::string>(&reduction.value);
    if (text != nullptr && *text == "none") return losses;
    return call(text != nullptr ? *text : "mean", {losses});
  }
  auto unsupported(std::string what) -> Datum {
    if (!error_) error_ = Error{ErrorCode::unsupported, std::move(what)};
    return {};
  }
  [[nodiscard]] auto finish(Datum value) -> Result<Datum> {
    if (error_) return std::unexpected(*error_);
    return value;
  }

 private:
  const PythonArgs& args_;
  const RunOperator& run_;
  std::optional<Error> error_;
};

auto whole(std::int64_t value) -> Datum {
  return {Expr(value)};
}
auto real(double value) -> Datum {
  return {Expr::real(value)};
}
auto number(const Datum& datum, double otherwise) -> double {
  return datum.scalar() ? datum.scalar()->as_number().value_or(otherwise) : otherwise;
}

auto rank_of(const Datum& tensor) -> std::int64_t {
  if (const auto* real = tensor.real()) return std::ssize(real->sizes());
  return tensor.fake() != nullptr ? static_cast<std::int64_t>(tensor.fake()->meta.rank()) : 0;
}

auto softsign(Composition& c) -> Datum {
  const auto x = c.arg(0, "input");
  return c.call("div", {x, c.call("add", {c.call("abs", {x}), whole(1)})});
}
auto tanhshrink(Composition& c) -> Datum {
  const auto x = c.arg(0, "input");
  return c.call("sub", {x, c.call("tanh", {x})});
}
auto softmin(Composition& c) -> Datum {
  return c.call("softmax", {c.call("neg", {c.arg(0, "input")}), c.arg(1, "dim")},
                {{"dtype", c.arg(3, "dtype")}});
}
auto normalize(Composition& c) -> Datum {
  const auto x = c.arg(0, "input");
  const auto norm = c.call(
      "norm", {x, c.arg(1, "p", real(2)), c.arg(2, "dim", whole(1)), Datum{Expr::boolean(true)}});
  const auto floor = c.call("clamp_min", {norm, c.arg(3, "eps", real(1e-12))});
  return c.call("div", {x, c.call("expand_as", {floor, x})});
}
/// Up to three dimensions: input, norm_type, kernel_size, stride, ceil_mode.
template <int kDims>
auto lp_pool(Composition& c) -> Datum {
  const auto p = c.arg(1, "norm_type");
  const auto window = c.arg(2, "kernel_size");
  const auto padding = whole(0);
  const auto stride = c.arg(3, "stride", Datum{DatumList{}});
  const auto powers = c.call("pow", {c.arg(0, "input"), p});
  const auto means =
      c.call(fmt::format("avg_pool{}d", kDims),
             {powers, window, stride, padding, c.arg(4, "ceil_mode", Datum{Expr::boolean(false)})});
  double elements = 1;
  if (const auto* list = window.list())
    for (const auto& size : *list) elements *= number(size, 1);
  else
    elements = std::pow(number(window, 1), kDims);
  const auto sizes = c.call("relu", {c.call("abs", {means})});
  const auto sums = c.call(
      "mul", {c.call("mul", {c.call("sign", {means}), sizes}), whole(std::llround(elements))});
  return c.call("pow", {sums, real(1 / number(p, 1))});
}
/// Knows a mean over the first dimension, which the operator does not.
auto kl_div(Composition& c) -> Datum {
  const auto input = c.arg(0, "input");
  const auto reduction = c.arg(4, "reduction", Datum{std::string("mean")});
  const auto* text = std::get_if<std::string>(&reduction.value);
  const bool by_batch = text != nullptr && *text == "batchmean";
  const auto loss = c.call("kl_div", {input, c.arg(1, "target")},
                           {{"reduction", by_batch ? Datum{std::string("sum")} : reduction},
                            {"log_target", c.arg(5, "log_target", Datum{Expr::boolean(false)})}});
  if (!by_batch || rank_of(input) == 0) return loss;
  return c.call("div", {loss, c.call("sym_size", {input, whole(0)})});
}
auto gaussian_nll_loss(Composition& c) -> Datum {
  const auto variance = c.call("clamp", {c.arg(2, "var"), c.arg(4, "eps", real(1e-6))});
  const auto distance = c.call("sub", {c.arg(0, "input"), c.arg(1, "target")});
  const auto share = c.call("div", {c.call("pow", {distance, whole(2)}), variance});
  auto losses = c.call("mul", {c.call("add", {c.call("log", {variance}), share}), real(0.5)});
  if (is_true(c.arg(3, "full")))
    losses = c.call("add", {losses, real(0.5 * std::log(2 * std::numbers::pi))});
  return c.reduced(losses, 5);
}
auto multilabel_soft_margin_loss(Composition& c) -> Datum {
  const auto x = c.arg(0, "input"), target = c.arg(1, "target");
  const auto yes = c.call("mul", {target, c.call("log_sigmoid", {x})});
  const auto no = c.call(
      "mul", {c.call("rsub", {target, whole(1)}), c.call("log_sigmoid", {c.call("neg", {x})})});
  auto losses = c.call("neg", {c.call("add", {yes, no})});
  if (const auto weight = c.arg(2, "weight"); !weight.is_none())
    losses = c.call("mul", {losses, weight});
  return c.reduced(c.call("mean", {losses, Datum{DatumList{whole(-1)}}}), 5);
}

/// The noise is -log of exponential numbers.
auto gumbel_softmax(Composition& c) -> Datum {
  const auto logits = c.arg(0, "logits"), dim = c.arg(4, "dim", whole(-1));
  const auto uniform = c.call("rand_like", {logits});
  const auto noise = c.call("neg", {c.call("log", {c.call("neg", {c.call("log", {uniform})})})});
  const auto sharp = c.call("div", {c.call("add", {logits, noise}), c.arg(1, "tau", whole(1))});
  const auto soft = c.call("softmax", {sharp, dim});
  if (!is_true(c.arg(2, "hard"))) return soft;
  const auto largest = c.call("argmax", {soft, dim, Datum{Expr::boolean(true)}});
  const auto hard = c.call("scatter", {c.call("zeros_like", {logits}), dim, largest, whole(1)});
  return c.call("add", {c.call("sub", {hard, soft}), soft});
}
/// So many of the last and first dimensions, or the two lists.
auto tensordot(Composition& c) -> Datum {
  const auto a = c.arg(0, "a"), b = c.arg(1, "b");
  const auto dims = c.arg(2, "dims", whole(2));
  DatumList of_a, of_b;
  if (const auto* both = dims.list(); both != nullptr && both->size() == 2 && both->front().list())
    return c.call("tensordot", {a, b, both->front(), both->back()});
  const auto count = std::llround(number(dims, 2));
  for (std::int64_t k = 0; k < count; ++k) {
    of_a.push_back(whole(rank_of(a) - count + k));
    of_b.push_back(whole(k));
  }
  return c.call("tensordot", {a, b, Datum{std::move(of_a)}, Datum{std::move(of_b)}});
}
/// Rows of indices are bags of one size.
auto embedding_bag(Composition& c) -> Datum {
  auto indices = c.arg(0, "input"), offsets = c.arg(2, "offsets");
  auto weights = c.arg(8, "per_sample_weights");
  if (rank_of(indices) == 2 && offsets.is_none()) {
    if (!weights.is_none()) weights = c.call("reshape", {weights, Datum{DatumList{whole(-1)}}});
    const auto size = c.call("sym_size", {indices, whole(1)});
    const auto bags = c.call("sym_size", {indices, whole(0)});
    offsets = c.call("mul", {c.call("arange", {bags}), size});
    indices = c.call("reshape", {indices, Datum{DatumList{whole(-1)}}});
  }
  constexpr std::array<std::string_view, 3> kModes = {"sum", "mean", "max"};
  const auto named = c.arg(6, "mode");
  const auto* text = std::get_if<std::string>(&named.value);
  const auto* mode = text == nullptr ? &kModes[1] : std::ranges::find(kModes, *text);
  const auto no = Datum{Expr::boolean(false)};
  return c.first("embedding_bag.padding_idx",
                 {c.arg(1, "weight"), indices, offsets, c.arg(5, "scale_grad_by_freq", no),
                  whole(mode - kModes.begin()), c.arg(7, "sparse", no), weights,
                  c.arg(9, "include_last_offset", no), c.arg(10, "padding_idx")});
}
/// A number for each dimension, or one for all.
auto of_dimension(const Datum& numbers, std::size_t d) -> Expr {
  const auto* list = numbers.list();
  const auto* number = (list == nullptr ? numbers : (*list)[d % list->size()]).scalar();
  return number == nullptr ? Expr(0) : *number;
}
/// A, pivot, get_infos: without these the last of the three results is left out.
auto lu(Composition& c) -> Datum {
  const auto infos = c.arg(2, "get_infos", Datum{Expr::boolean(false)});
  const auto all =
      c.call("_lu_with_info", {c.arg(0, "A"), c.arg(1, "pivot", Datum{Expr::boolean(true)}),
                               Datum{Expr::boolean(!is_true(infos))}});
  if (is_true(infos) || all.list() == nullptr) return all;
  return {DatumList(all.list()->begin(), all.list()->end() - 1)};
}
/// input, output_size (None: as it is), of the largest return_indices.
template <int kDims, bool kLargest>
auto adaptive_pool(Composition& c) -> Datum {
  const auto x = c.arg(0, "input");
  auto sizes = c.arg(1, "output_size");
  if (const auto* given = sizes.list()) {
    auto all = *given;
    for (std::size_t d = 0; d < all.size(); ++d)
      if (all[d].is_none())
        all[d] = c.call("sym_size", {x, whole(static_cast<std::int64_t>(d) - kDims)});
    sizes = Datum{std::move(all)};
  }
  const auto name = fmt::format("adaptive_{}_pool{}d", kLargest ? "max" : "avg", kDims);
  return kLargest && !is_true(c.arg(2, "return_indices")) ? c.first(name, {x, sizes})
                                                          : c.call(name, {x, sizes});
}
/// input, kernel_size, output_size or output_ratio, return_indices, and the numbers that say where
/// windows begin, which are drawn where they are not given.
template <int kDims>
auto fractional_max_pool(Composition& c) -> Datum {
  const auto x = c.arg(0, "input"), ratio = c.arg(3, "output_ratio");
  const auto samples = c.arg(5, "_random_samples");
  auto sizes = c.arg(2, "output_size");
  if (sizes.is_none()) {
    DatumList all;
    for (std::size_t d = 0; d < kDims; ++d) {
      const auto size = c.call("sym_size", {x, whole(static_cast<std::int64_t>(d) - kDims)});
      const auto& share = ratio.list() == nullptr ? ratio : ratio.list()->at(d);
      all.push_back(whole(static_cast<std::int64_t>(number(size, -1) * number(share, 0))));
    }
    sizes = Datum{std::move(all)};
  }
  if (samples.is_none()) return c.unsupported("fractional_max_pool of windows that are drawn");
  const auto name = fmt::format("fractional_max_pool{}d", kDims);
  const DatumList args = {x, c.arg(1, "kernel_size"), sizes, samples};
  return is_true(c.arg(4, "return_indices")) ? c.call(name, args) : c.first(name, args);
}
/// Up to three dimensions: input, indices, kernel_size, stride, padding, output_size.
template <int kDims>
auto max_unpool(Composition& c) -> Datum {
  const auto x = c.arg(0, "input"), indices = c.arg(1, "indices"), window = c.arg(2, "kernel_size");
  const auto stride = c.arg(3, "stride", window), padding = c.arg(4, "padding", whole(0));
  const auto given = c.arg(5, "output_size");
  DatumList sizes;
  for (std::size_t d = 0; d < kDims; ++d) {
    if (const auto* list = given.list(); list != nullptr && list->size() >= kDims) {
      sizes.push_back((*list)[list->size() - kDims + d]);
      continue;
    }
    const auto extent = c.call("sym_size", {x, whole(static_cast<std::int64_t>(d) - kDims)});
    sizes.push_back({(of_dimension(extent, d) - 1) * of_dimension(stride, d) -
                     2 * of_dimension(padding, d) + of_dimension(window, d)});
  }
  if (kDims == 3) return c.call("max_unpool3d", {x, indices, Datum{sizes}, stride, padding});
  if (kDims == 2) return c.call("max_unpool2d", {x, indices, Datum{sizes}});
  sizes.push_back(whole(1));
  const auto flat =
      c.call("max_unpool2d", {c.call("unsqueeze", {x, whole(-1)}),
                              c.call("unsqueeze", {indices, whole(-1)}), Datum{sizes}});
  return c.call("squeeze", {flat, whole(-1)});
}
/// Of all elements, or along dimensions: of vectors but for what only matrices have
/// (torch/functional.py). None as `p` is 2.
auto norm(Composition& c) -> Datum {
  const auto x = c.arg(0, "input"), keeps = c.arg(3, "keepdim", Datum{Expr::boolean(false)});
  auto p = c.arg(1, "p", real(2)), dims = c.arg(2, "dim");
  if (!dims.is_none() && dims.list() == nullptr) dims = Datum{DatumList{dims}};
  const Keywords dtype = {{"dtype", c.arg(5, "dtype")}};
  const auto* name = std::get_if<std::string>(&p.value);
  if (name != nullptr && *name == "fro" && (dims.is_none() || dims.list()->size() <= 2)) {
    p = real(2);
    name = nullptr;
  }
  if (name == nullptr) return c.call("linalg_vector_norm", {x, p, dims, keeps}, dtype);
  if (dims.is_none()) dims = Datum{DatumList{whole(-2), whole(-1)}};
  return c.call("linalg_matrix_norm", {x, p, dims, keeps}, dtype);
}
/// A tensor of indices for each dimension, which are columns of one (torch/functional.py).
auto unravel_index(Composition& c) -> Datum {
  const auto indices = c.call("to.dtype", {c.arg(0, "indices"), Datum{DType::int64}});
  auto shape = c.arg(1, "shape");
  if (shape.list() == nullptr) shape = Datum{DatumList{shape}};
  DatumList parts;
  Expr step(1);
  for (const auto& size : *shape.list() | std::views::reverse) {
    const auto rest = c.call("floor_divide", {indices, Datum{step}});
    parts.insert(parts.begin(), c.call("remainder", {rest, size}));
    step = step * of_dimension(size, 0);
  }
  return c.call("unbind", {c.call("stack", {Datum{parts}, whole(-1)}), whole(-1)});
}

/// `F.multi_head_attention_forward`, without keys and values that are given as they are.
class MultiHeadAttention {
 public:
  explicit MultiHeadAttention(Composition& c) : c_(c) {}

  auto run() -> Datum {
    for (const auto& [position, name] : {std::pair{21U, "static_k"}, {22U, "static_v"}})
      if (!c_.arg(position, name).is_none())
        return c_.unsupported(fmt::format("multi_head_attention_forward with {}", name));
    const bool is_batched = rank_of(c_.arg(0, "query")) == 3;
    const auto batch = [&](const Datum& x, int dim) {
      return is_batched || x.is_none() ? x : c_.call("unsqueeze", {x, whole(dim)});
    };
    query_ = batch(c_.arg(0, "query"), 1);
    key_ = batch(c_.arg(1, "key"), 1);
    value_ = batch(c_.arg(2, "value"), 1);
    heads_ = c_.arg(4, "num_heads");
    project();
    const auto padding = widened(added(batch(c_.arg(14, "key_padding_mask"), 0)));
    const bool needs_weights = !is_false(c_.arg(15, "need_weights"));
    is_causal_ = is_true(c_.arg(24, "is_causal"));
    auto mask = c_.arg(16, "attn_mask");
    if (is_causal_ && padding.is_none() && !needs_weights)
      mask = {};
    else
      mask = widened(added(mask));
    if (!padding.is_none()) is_causal_ = false;
    if (rank_of(mask) == 2) mask = c_.call("unsqueeze", {mask, whole(0)});
    if (!padding.is_none()) mask = with_padding(mask, padding);
    auto [out, weights] = needs_weights ? weighted(mask) : fused(mask);
    if (!is_batched) out = c_.call("squeeze", {out, whole(1)});
    if (!is_batched && !weights.is_none()) weights = c_.call("squeeze", {weights, whole(0)});
    return {DatumList{out, weights}};
  }

 private:
  using Both = std::pair<Datum, Datum>;

  static auto is_false(const Datum& datum) -> bool {
    return datum.scalar() != nullptr && !datum.scalar()->as_bool().value_or(true);
  }
  auto size(const Datum& x, int dim) -> Datum { return c_.call("sym_size", {x, whole(dim)}); }
  static auto product(const Datum& a, const Datum& b) -> Datum {
    if (a.scalar() == nullptr || b.scalar() == nullptr) return {};
    return {*a.scalar() * *b.scalar()};
  }
  auto view(const Datum& x, DatumList sizes) -> Datum {
    return c_.call("reshape", {x, Datum{std::move(sizes)}});
  }
  auto dropout() -> Datum {
    return is_false(c_.arg(13, "training")) ? real(0) : c_.arg(10, "dropout_p", real(0));
  }
  /// Truth values forbid; numbers are added to scores.
  auto added(const Datum& mask) -> Datum {
    if (mask.is_none()) return mask;
    const auto* real_mask = mask.real();
    if (real_mask == nullptr || real_mask->dtype() != DType::boolean) return mask;
    const auto zeros =
        c_.call("zeros_like", {mask},
                {{"dtype", Datum{query_.real() ? query_.real()->dtype() : DType::float32}}});
    return c_.call("masked_fill", {zeros, mask, real(-std::numeric_limits<double>::infinity())});
  }

  void project() {
    const auto part = [&](const Datum& all, std::size_t at) {
      const auto parts = all.is_none() ? Datum{} : c_.call("chunk", {all, whole(3)});
      return parts.list() == nullptr || parts.list()->size() <= at ? Datum{} : (*parts.list())[at];
    };
    const bool is_separate = is_true(c_.arg(17, "use_separate_proj_weight"));
    const std::array<Datum, 3> own = {c_.arg(18, "q_proj_weight"), c_.arg(19, "k_proj_weight"),
                                      c_.arg(20, "v_proj_weight")};
    const auto packed = c_.arg(5, "in_proj_weight"), biases = c_.arg(6, "in_proj_bias");
    std::size_t at = 0;
    for (auto* operand : {&query_, &key_, &value_}) {
      const auto weight = is_separate ? own[at] : part(packed, at);
      *operand = c_.call("linear", {*operand, weight, part(biases, at)});
      ++at;
    }
    positions_ = size(query_, 0);
    batches_ = size(query_, 1);
    features_ = size(query_, 2);
    rows_ = product(batches_, heads_);
    add_biases();
    for (auto* operand : {&query_, &key_, &value_})
      *operand = c_.call(
          "transpose", {view(*operand, {size(*operand, 0), rows_, whole(-1)}), whole(0), whole(1)});
    if (is_true(c_.arg(9, "add_zero_attn"))) add_zeros();
    keys_ = size(key_, 1);
  }

  /// A key and a value of their own behind the others.
  void add_biases() {
    const std::array<Datum, 2> biases = {c_.arg(7, "bias_k"), c_.arg(8, "bias_v")};
    if (biases[0].is_none() || biases[1].is_none()) return;
    std::size_t at = 0;
    for (auto* operand : {&key_, &value_}) {
      const Datum times{DatumList{whole(1), batches_, whole(1)}};
      const auto row = c_.call("repeat", {biases.at(at++), times});
      *operand = c_.call("cat", {Datum{DatumList{*operand, row}}});
    }
    ++more_keys_;
  }
  void add_zeros() {
    for (auto* operand : {&key_, &value_}) {
      const Datum sizes{DatumList{rows_, whole(1), size(*operand, 2)}};
      const auto row = c_.call("new_zeros", {*operand, sizes});
      *operand = c_.call("cat", {Datum{DatumList{*operand, row}}, whole(1)});
    }
    ++more_keys_;
  }
  /// Nothing hides keys that were added.
  auto widened(const Datum& mask) -> Datum {
    if (mask.is_none() || more_keys_ == 0) return mask;
    return c_.call("constant_pad_nd", {mask, Datum{DatumList{whole(0), whole(more_keys_)}}});
  }

  auto with_padding(const Datum& mask, const Datum& padding) -> Datum {
    const auto columns = view(padding, {batches_, whole(1), whole(1), keys_});
    const auto per_head =
        c_.call("expand", {columns, Datum{DatumList{whole(-1), heads_, whole(-1), whole(-1)}}});
    const auto hidden = view(per_head, {rows_, whole(1), keys_});
    return mask.is_none() ? hidden : c_.call("add", {mask, hidden});
  }

  auto projected(const Datum& rows) -> Datum {
    const auto out =
        c_.call("linear", {rows, c_.arg(11, "out_proj_weight"), c_.arg(12, "out_proj_bias")});
    return view(out, {positions_, batches_, whole(-1)});
  }

  auto weighted(const Datum& mask) -> Both {
    const auto per_head = size(query_, 2);
    const auto scaled = c_.call("mul", {query_, real(std::sqrt(1 / number(per_head, 1)))});
    auto scores = c_.call("bmm", {scaled, c_.call("transpose", {key_, whole(-2), whole(-1)})});
    if (!mask.is_none()) scores = c_.call("add", {scores, mask});
    const auto weights = c_.call("dropout", {c_.call("softmax", {scores, whole(-1)}), dropout(),
                                             Datum{Expr::boolean(true)}});
    const auto turned =
        c_.call("transpose", {c_.call("bmm", {weights, value_}), whole(0), whole(1)});
    auto out = projected(view(turned, {product(positions_, batches_), features_}));
    auto shown = view(weights, {batches_, heads_, positions_, keys_});
    if (!is_false(c_.arg(23, "average_attn_weights")))
      shown = c_.call("mean", {shown, Datum{DatumList{whole(1)}}});
    return {std::move(out), std::move(shown)};
  }

  auto fused(const Datum& mask) -> Both {
    const auto by_head = [&](const Datum& x) {
      return view(x, {batches_, heads_, size(x, 1), whole(-1)});
    };
    auto bias = mask;
    if (!mask.is_none()) {
      const auto* first = mask.real();
      bias = first != nullptr && first->sizes()[0] == 1
                 ? c_.call("unsqueeze", {mask, whole(0)})
                 : view(mask, {batches_, heads_, whole(-1), keys_});
    }
    const auto attended = c_.call("scaled_dot_product_attention",
                                  {by_head(query_), by_head(key_), by_head(value_), bias, dropout(),
                                   Datum{Expr::boolean(is_causal_)}});
    const auto turned =
        c_.call("permute", {attended, Datum{DatumList{whole(2), whole(0), whole(1), whole(3)}}});
    return {projected(view(turned, {product(positions_, batches_), features_})), Datum{}};
  }

  Composition& c_;
  int more_keys_ = 0;
  Datum query_, key_, value_, heads_, positions_, batches_, keys_, features_, rows_;
  bool is_causal_ = false;
};
auto multi_head_attention(Composition& c) -> Datum {
  return MultiHeadAttention(c).run();
}
/// Sums of squares over channels, as averages of a window.
auto local_response_norm(Composition& c) -> Datum {
  const auto x = c.arg(0, "input"), size = c.arg(1, "size");
  if (x.real() != nullptr && numel(x.real()->sizes()) == 0) return x;
  const auto width = std::llround(number(size, 1));
  const auto squares = c.call("mul", {x, x});
  const auto flat =
      rank_of(x) > 2
          ? c.call("reshape",
                   {squares, Datum{DatumList{c.call("sym_size", {x, whole(0)}), whole(1),
                                             c.call("sym_size", {x, whole(1)}), whole(-1)}}})
          : Datum{};
  if (flat.is_none()) return c.unsupported("local_response_norm of fewer than three dimensions");
  const auto padded = c.call(
      "constant_pad_nd",
      {flat, Datum{DatumList{whole(0), whole(0), whole(width / 2), whole((width - 1) / 2)}}});
  auto means = c.call("avg_pool2d", {padded, Datum{DatumList{whole(width), whole(1)}},
                                     Datum{DatumList{whole(1), whole(1)}}});
  means = c.call("view_as", {c.call("squeeze", {means, whole(1)}), x});
  const auto scaled = c.call(
      "add", {c.call("mul", {means, c.arg(2, "alpha", real(1e-4))}), c.arg(4, "k", real(1))});
  return c.call("div", {x, c.call("pow", {scaled, c.arg(3, "beta", real(0.75))})});
}

/// mat1 @ mat2 + mat3 @ mat4, which torch/_inductor/fx_passes/post_grad.py puts in their place.
auto mm_plus_mm(Composition& c) -> Datum {
  const auto one = c.call("mm", {c.arg(0, "mat1"), c.arg(1, "mat2")});
  return c.call("add", {one, c.call("mm", {c.arg(2, "mat3"), c.arg(3, "mat4")})});
}

struct ComposedRow {
  std::string_view function;
  Datum (*compose)(Composition&);
};
constexpr std::array kComposed = {
    ComposedRow{"kl_div", kl_div},
    ComposedRow{"embedding_bag", embedding_bag},
    ComposedRow{"gumbel_softmax", gumbel_softmax},
    ComposedRow{"local_response_norm", local_response_norm},
    ComposedRow{"multi_head_attention_forward", multi_head_attention},
    ComposedRow{"mm_plus_mm", mm_plus_mm},
    ComposedRow{"adaptive_avg_pool2d", adaptive_pool<2, false>},
    ComposedRow{"adaptive_avg_pool3d", adaptive_pool<3, false>},
    ComposedRow{"adaptive_max_pool1d", adaptive_pool<1, true>},
    ComposedRow{"adaptive_max_pool2d", adaptive_pool<2, true>},
    ComposedRow{"adaptive_max_pool3d", adaptive_pool<3, true>},
    ComposedRow{"fractional_max_pool2d", fractional_max_pool<2>},
    ComposedRow{"fractional_max_pool3d", fractional_max_pool<3>},
    ComposedRow{"max_unpool1d", max_unpool<1>},
    ComposedRow{"max_unpool2d", max_unpool<2>},
    ComposedRow{"max_unpool3d", max_unpool<3>},
    ComposedRow{"norm", norm},
    ComposedRow{"lu", lu},
    ComposedRow{"unravel_index", unravel_index},
    ComposedRow{"tensordot", tensordot},
    ComposedRow{"softsign", softsign},
    ComposedRow{"tanhshrink", tanhshrink},
    ComposedRow{"softmin", softmin},
    ComposedRow{"normalize", normalize},
    ComposedRow{"lp_pool1d", lp_pool<1>},
    ComposedRow{"lp_pool2d", lp_pool<2>},
    ComposedRow{"lp_pool3d", lp_pool<3>},
    ComposedRow{"gaussian_nll_loss", gaussian_nll_loss},
    ComposedRow{"multilabel_soft_margin_loss", multilabel_soft_margin_loss},
};

}  // namespace

auto run_composed(std::string_view function, const PythonArgs& args, const RunOperator& run)
    -> std::optional<Result<Datum>> {
  const auto* row = std::ranges::find(kComposed, function, &ComposedRow::function);
  if (row == kComposed.end()) return std::nullopt;
  Composition composition(args, run);
  return composition.finish(row->compose(composition));
}

}  // namespace assay
