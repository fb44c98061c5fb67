// Functions that torch/nn/functional.py composes of several operators.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

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
/// lp_pool1d and lp_pool2d: input, norm_type, kernel_size, stride, ceil_mode.
template <int kDims>
auto lp_pool(Composition& c) -> Datum {
  const auto p = c.arg(1, "norm_type");
  const auto window = c.arg(2, "kernel_size");
  const auto padding = whole(0);
  const auto stride = c.arg(3, "stride", Datum{DatumList{}});
  const auto powers = c.call("pow", {c.arg(0, "input"), p});
  const auto means =
      c.call(kDims == 1 ? "avg_pool1d" : "avg_pool2d",
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
  return by_batch ? c.call("div", {loss, c.call("sym_size", {input, whole(0)})}) : loss;
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
auto rank_of(const Datum& tensor) -> std::int64_t {
  if (const auto* real = tensor.real()) return std::ssize(real->sizes());
  return tensor.fake() != nullptr ? static_cast<std::int64_t>(tensor.fake()->meta.rank()) : 0;
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
  if (rank_of(indices) == 2 && offsets.is_none()) {
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
  return c.first(
      "embedding_bag.padding_idx",
      {c.arg(1, "weight"), indices, offsets, c.arg(5, "scale_grad_by_freq", no),
       whole(mode - kModes.begin()), c.arg(7, "sparse", no), c.arg(8, "per_sample_weights"),
       c.arg(9, "include_last_offset", no), c.arg(10, "padding_idx")});
}
/// Up to three dimensions: input, indices, kernel_size, stride, padding, output_size.
template <int kDims>
auto max_unpool(Composition& c) -> Datum {
  const auto x = c.arg(0, "input"), window = c.arg(2, "kernel_size");
  const auto stride = c.arg(3, "stride", window), padding = c.arg(4, "padding", whole(0));
  const auto given = c.arg(5, "output_size");
  const auto at = [](const Datum& numbers, int d) -> Expr {
    const auto* list = numbers.list();
    const auto* number =
        (list == nullptr ? numbers : (*list)[static_cast<std::size_t>(d) % list->size()]).scalar();
    return number == nullptr ? Expr(0) : *number;
  };
  DatumList sizes;
  for (int d = 0; d < kDims; ++d) {
    if (const auto* list = given.list(); list != nullptr && list->size() >= kDims) {
      sizes.push_back((*list)[list->size() - kDims + static_cast<std::size_t>(d)]);
      continue;
    }
    const auto extent = c.call("sym_size", {x, whole(d - kDims)});
    sizes.push_back({(at(extent, d) - 1) * at(stride, d) - 2 * at(padding, d) + at(window, d)});
  }
  return c.call(kDims == 2 ? "max_unpool2d" : "max_unpool3d",
                kDims == 2 ? DatumList{x, c.arg(1, "indices"), Datum{sizes}}
                           : DatumList{x, c.arg(1, "indices"), Datum{sizes}, stride, padding});
}

struct ComposedRow {
  std::string_view function;
  Datum (*compose)(Composition&);
};
constexpr std::array kComposed = {
    ComposedRow{"kl_div", kl_div},
    ComposedRow{"embedding_bag", embedding_bag},
    ComposedRow{"gumbel_softmax", gumbel_softmax},
    ComposedRow{"max_unpool2d", max_unpool<2>},
    ComposedRow{"max_unpool3d", max_unpool<3>},
    ComposedRow{"tensordot", tensordot},
    ComposedRow{"softsign", softsign},
    ComposedRow{"tanhshrink", tanhshrink},
    ComposedRow{"softmin", softmin},
    ComposedRow{"normalize", normalize},
    ComposedRow{"lp_pool1d", lp_pool<1>},
    ComposedRow{"lp_pool2d", lp_pool<2>},
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
