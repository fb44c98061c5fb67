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

struct ComposedRow {
  std::string_view function;
  Datum (*compose)(Composition&);
};
constexpr std::array kComposed = {
    ComposedRow{"kl_div", kl_div},
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
