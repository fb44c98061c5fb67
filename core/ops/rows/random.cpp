// Random operators. Layouts as in aten/src/ATen/native/Distributions.cpp, Dropout.cpp and
// TensorFactories.cpp. Values are PyTorch's where its seed is known (random_kernels.h); else rows
// are compared by metadata alone, which `random` says.
#include <limits>

#include "core/ops/rows/random_kernels.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

// ---- layouts ------------------------------------------------------------------------------------

auto apply_factory_arguments(MetaCall& c, DType fallback) -> DType {
  const int device = param(c, "device");
  if (device >= 0)
    if (const auto given = c.device(device)) c.set_device(*given);
  const int dtype = param(c, "dtype");
  return dtype < 0 ? fallback : c.dtype(dtype).value_or(fallback);
}
auto sized_rule(MetaCall& c) -> Datum {
  const auto sizes = c.exprs(param(c, "size"));
  for (const auto& size : sizes)
    if (!c.require(ge(size, 0), "sizes are not negative")) return {};
  return c.fresh(apply_factory_arguments(c, kDefaultFloat), sizes);
}
auto like_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  const auto format = c.memory_format(param(c, "memory_format")).value_or(MemoryFormat::preserve);
  auto strides = format_strides(c, self, format);
  return c.fresh(apply_factory_arguments(c, self.dtype), self.sizes, std::move(strides));
}
/// The bound is a tensor of one number.
auto like_bounded_rule(MetaCall& c) -> Datum {
  if (!c.require(eq(numel(c.meta(1)), 1), "the bound is one number")) return {};
  return like_rule(c);
}
auto randperm_rule(MetaCall& c) -> Datum {
  if (!c.require(ge(c.expr(0), 0), "n is not negative")) return {};
  return c.fresh(apply_factory_arguments(c, DType::int64), {c.expr(0)});
}
/// bernoulli_.Tensor: probabilities broadcast to self.
auto bernoulli_tensor_rule(MetaCall& c) -> Datum {
  if (!require_expands(c, c.meta(1).sizes, c.meta(0).sizes, "p broadcasts to self")) return {};
  return returns_self(c);
}
auto bernoulli_like_rule(MetaCall& c) -> Datum {
  if (!require_expands(c, c.meta(1).sizes, c.meta(0).sizes, "p broadcasts to self")) return {};
  return preserved_like_self(c);
}
/// normal.Tensor_Tensor and its kin: contiguous in the broadcast shape.
auto normal_rule(MetaCall& c) -> Datum {
  const int tensor = c.is_tensor(0) ? 0 : 1;
  auto sizes = c.meta(tensor).sizes;
  if (c.is_tensor(0) && c.is_tensor(1)) sizes = broadcast(c, sizes, c.meta(1).sizes);
  return c.fresh(c.meta(tensor).dtype, std::move(sizes));
}
auto multinomial_rule(MetaCall& c) -> Datum {
  const auto& weights = c.meta(0);
  if (!c.require(weights.rank() == 1 || weights.rank() == 2, "weights have one or two dimensions"))
    return {};
  auto sizes = weights.sizes;
  if (!c.require(gt(sizes.back(), 0), "there is a category") ||
      !c.require(ge(c.expr(1), 0), "the number of draws is not negative"))
    return {};
  if (!c.flag(2) && !c.require(le(c.expr(1), sizes.back()), "enough categories to draw from"))
    return {};
  sizes.back() = c.expr(1);
  return c.fresh(DType::int64, std::move(sizes));
}

// ---- dropout ------------------------------------------------------------------------------------

auto native_dropout_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(0);
  const auto strides = preserved_strides(c, input);
  return {DatumList{
      c.fresh(input.dtype, input.sizes, strides),
      c.fresh(param(c, "train") < 0 ? DType::uint8 : DType::boolean, input.sizes, strides)}};
}
/// Evaluation returns the input itself, as does dropping nothing.
auto dropout(Composer& c) -> Datum {
  const double p = c.real(1);
  if (p < 0 || p > 1) return c.fail("the dropout probability is between 0 and 1"), Datum{};
  if (!c.flag(2) || p == 0 || c.decide(eq(numel(c.meta(0)), 0), "empty input")) return c.arg(0);
  if (p == 1) return c.call("aten.mul.Scalar", {c.arg(0), Datum{Expr(0)}});
  if (on_cuda(c.meta(0)))
    return c.item(c.call("aten.native_dropout.default", {c.arg(0), c.arg(1), c.arg(2)}), 0);
  auto noise = c.call("aten.empty_like.default", {c.arg(0)});
  noise = c.call("aten.bernoulli_.float", {noise, Datum{Expr::real(1 - p)}});
  noise = c.call("aten.div.Scalar", {noise, Datum{Expr::real(1 - p)}});
  return c.call("aten.mul.Tensor", {c.arg(0), noise});
}

/// self, noise (written in training), lower, upper, training.
template <bool kInPlace>
auto rrelu_rule(MetaCall& c) -> Datum {
  if (!require_same_sizes(c, c.meta(1).sizes, c.meta(0).sizes, "noise has self's shape")) return {};
  return kInPlace ? returns_self(c) : contiguous_like_self(c);
}
auto random_row(std::string_view schema, MetaRule rule, Kernel kernel) -> OpRow {
  return {.schema_text = schema, .rule = rule, .kernel = kernel, .random = true};
}

/// Forms that take a generator as an argument: the same row with one parameter more.
struct GeneratorForm {
  std::string_view without, overload;
};
constexpr GeneratorForm kGeneratorForms[] = {{"aten.rand.default", "generator"},
                                             {"aten.randn.default", "generator"},
                                             {"aten.rand_like.default", "generator"},
                                             {"aten.randn_like.default", "generator"},
                                             {"aten.randint.default", "generator"},
                                             {"aten.randint.low", "low_generator"},
                                             {"aten.randint_like.default", "generator"},
                                             {"aten.randint_like.low_dtype", "low_generator_dtype"},
                                             {"aten.randint_like.Tensor", "Tensor_generator"},
                                             {"aten.randperm.default", "generator"}};
/// "aten::rand(SymInt[] size, *, ScalarType? ..." -> "aten::rand.generator(SymInt[] size, *,
/// Generator? generator, ScalarType? ...".
void add_generator_forms(OpTable& t) {
  for (const auto& [without, overload] : kGeneratorForms) {
    auto row = *t.find(without);
    std::string text(row.schema_text);
    const auto open = text.find('(');
    constexpr std::string_view kKeywords = "*, ";
    text.insert(text.find(kKeywords) + kKeywords.size(), "Generator? generator, ");
    const auto name = text.substr(0, std::min(text.find('.'), open));
    t.add_owned(std::move(row), fmt::format("{}.{}{}", name, overload, text.substr(open)));
  }
}

}  // namespace

// clang-format off
#define ASSAY_FACTORY "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define ASSAY_LONG_FACTORY "ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None"
void add_random_rows(OpTable& t) {
  t.add(random_row("aten::rand(SymInt[] size, *, " ASSAY_FACTORY ") -> Tensor", sized_rule, uniform_kernel));
  t.add(random_row("aten::randn(SymInt[] size, *, " ASSAY_FACTORY ") -> Tensor", sized_rule, normal_kernel));
  t.add(random_row("aten::rand_like(Tensor self, *, " ASSAY_FACTORY ", MemoryFormat? memory_format=None) -> Tensor", like_rule, uniform_kernel));
  t.add(random_row("aten::randn_like(Tensor self, *, " ASSAY_FACTORY ", MemoryFormat? memory_format=None) -> Tensor", like_rule, normal_kernel));
  t.add(random_row("aten::randint(SymInt high, SymInt[] size, *, " ASSAY_LONG_FACTORY ") -> Tensor", sized_rule, random_integer_kernel));
  t.add(random_row("aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, " ASSAY_LONG_FACTORY ") -> Tensor", sized_rule, random_integer_kernel));
  t.add(random_row("aten::randint_like(Tensor self, SymInt high, *, " ASSAY_FACTORY ", MemoryFormat? memory_format=None) -> Tensor", like_rule, random_integer_kernel));
  t.add(random_row("aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, " ASSAY_FACTORY ", MemoryFormat? memory_format=None) -> Tensor", like_rule, random_integer_kernel));
  t.add(random_row("aten::randint_like.Tensor(Tensor self, Tensor high, *, " ASSAY_FACTORY ", MemoryFormat? memory_format=None) -> Tensor", like_bounded_rule, random_integer_kernel));
  t.add(random_row("aten::randperm(SymInt n, *, " ASSAY_LONG_FACTORY ") -> Tensor", randperm_rule, randperm_kernel));
  t.add(random_row("aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor", normal_rule, normal_kernel));
  t.add(random_row("aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor", normal_rule, normal_kernel));
  t.add(random_row("aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor", normal_rule, normal_kernel));
  t.add(random_row("aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, " ASSAY_FACTORY ") -> Tensor", sized_rule, normal_kernel));
  t.add(random_row("aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", contiguous_like_self, bernoulli_kernel));
  t.add(random_row("aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor", contiguous_like_self, bernoulli_kernel));
  t.add(random_row("aten::poisson(Tensor self, Generator? generator=None) -> Tensor", contiguous_like_self, poisson_kernel));
  t.add(random_row("aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor", multinomial_rule, multinomial_kernel));

  t.add(random_row("aten::uniform_(Tensor(a!) self, float from=0., float to=1., *, Generator? generator=None) -> Tensor(a!)", returns_self, uniform_kernel));
  t.add(random_row("aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)", returns_self, normal_kernel));
  t.add(random_row("aten::log_normal_(Tensor(a!) self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor(a!)", returns_self, log_normal_kernel));
  t.add(random_row("aten::exponential_(Tensor(a!) self, float lambd=1., *, Generator? generator=None) -> Tensor(a!)", returns_self, exponential_kernel));
  t.add(random_row("aten::geometric_(Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!)", returns_self, geometric_kernel));
  t.add(random_row("aten::cauchy_(Tensor(a!) self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor(a!)", returns_self, cauchy_kernel));
  t.add(random_row("aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)", returns_self, bernoulli_kernel));
  t.add(random_row("aten::bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)", bernoulli_tensor_rule, bernoulli_kernel));
  t.add(random_row("aten::random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)", returns_self, random_integer_kernel));
  t.add(random_row("aten::random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)", returns_self, random_integer_kernel));
  t.add(random_row("aten::random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)", returns_self, random_integer_kernel));

  t.add(random_row("aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor", preserved_like_self, uniform_kernel));
  t.add(random_row("aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor", preserved_like_self, normal_kernel));
  t.add(random_row("aten::log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor", preserved_like_self, log_normal_kernel));
  t.add(random_row("aten::exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor", preserved_like_self, exponential_kernel));
  t.add(random_row("aten::geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor", preserved_like_self, geometric_kernel));
  t.add(random_row("aten::cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor", preserved_like_self, cauchy_kernel));
  t.add(random_row("aten::random(Tensor self, *, Generator? generator=None) -> Tensor", preserved_like_self, random_integer_kernel));
  t.add(random_row("aten::random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor", preserved_like_self, random_integer_kernel));
  t.add(random_row("aten::random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor", preserved_like_self, random_integer_kernel));

  t.add(random_row("aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", native_dropout_rule, native_dropout_kernel));
  t.add(random_row("aten::_fused_dropout(Tensor self, float p, Generator? generator=None) -> (Tensor, Tensor)", native_dropout_rule, native_dropout_kernel));
  t.add({.schema_text = "aten::_fill_mem_eff_dropout_mask_(Tensor(a!) self, float dropout_p, int seed, int offset) -> Tensor(a!)", .rule = returns_self, .kernel = uniform_kernel, .uninitialised = true});
  t.add({.schema_text = "aten::dropout(Tensor input, float p, bool train) -> Tensor", .decomposition = dropout, .random = true});
  t.add(random_row("aten::rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor", rrelu_rule<false>, rrelu_kernel));
  t.add(random_row("aten::rrelu_with_noise_(Tensor(a!) self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor(a!)", rrelu_rule<true>, rrelu_kernel));
  t.add(random_row("aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor", bernoulli_like_rule, bernoulli_kernel));
  add_generator_forms(t);
}
// clang-format on

}  // namespace assay
