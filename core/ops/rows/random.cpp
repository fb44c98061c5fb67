// Random operators. Layouts as in aten/src/ATen/native/Distributions.cpp, Dropout.cpp and
// TensorFactories.cpp; values from a generator with a fixed seed, in the distribution's range, so
// that runs repeat. They are not PyTorch's values: rows are marked `random` and only their metadata
// is compared.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/ops/pointwise.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014).
class Generator {
 public:
  auto bits() -> std::uint64_t {
    state_ += 0x9E3779B97F4A7C15U;
    auto z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  /// In [0, 1).
  auto uniform() -> double { return static_cast<double>(bits() >> 11U) * 0x1.0p-53; }
  /// In (0, 1): safe under a logarithm.
  auto open_uniform() -> double { return (static_cast<double>(bits() >> 12U) + 0.5) * 0x1.0p-52; }
  auto normal() -> double {
    return std::sqrt(-2 * std::log(open_uniform())) * std::cos(2 * std::numbers::pi * uniform());
  }
  /// In [low, high).
  auto integer(std::int64_t low, std::int64_t high) -> std::int64_t {
    const auto span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + (span ? bits() % span : 0));
  }

 private:
  std::uint64_t state_ = 0x5EED;
};

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
auto randperm_rule(MetaCall& c) -> Datum {
  if (!c.require(ge(c.expr(0), 0), "n is not negative")) return {};
  return c.fresh(apply_factory_arguments(c, DType::int64), {c.expr(0)});
}
/// bernoulli_.Tensor: probabilities broadcast to self.
auto bernoulli_tensor_rule(MetaCall& c) -> Datum {
  if (!require_expands(c, c.meta(1).sizes, c.meta(0).sizes, "p broadcasts to self")) return {};
  return returns_self(c);
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

// ---- values -------------------------------------------------------------------------------------

/// In-place rows write self, others their result.
auto target_of(KernelCall& k) -> Tensor {
  return k.row().schema.params[0].written ? k.in(0) : k.out();
}
template <class Draw>
void fill_by(KernelCall& k, const Draw& draw) {
  Tensor target = target_of(k);
  Generator generator;
  std::vector<double> values(static_cast<std::size_t>(target.numel()));
  for (auto& value : values) value = draw(generator);
  from_vector<double>(target, values);
}
auto real_or(KernelCall& k, std::string_view name, double fallback) -> double {
  const int i = param(k, name);
  return i >= 0 && k.has(i) ? k.real(i) : fallback;
}
/// Parameter `arg` for every element of the result: a number or a tensor that broadcasts.
auto spread(KernelCall& k, int arg, const Tensor& target) -> std::vector<double> {
  const auto count = static_cast<std::size_t>(target.numel());
  if (arg < 0) return std::vector<double>(count, 0);
  if (!k.is_tensor(arg)) return std::vector<double>(count, k.real(arg));
  return to_vector<double>(expanded_view(k.in(arg), target.sizes()));
}

void uniform_kernel(KernelCall& k) {
  const double low = real_or(k, "from", 0);
  const double high = real_or(k, "to", 1);
  fill_by(k, [&](Generator& g) { return low + (high - low) * g.uniform(); });
}
void normal_kernel(KernelCall& k) {
  Tensor target = target_of(k);
  const int mean_arg = param(k, "mean");
  const int std_arg = param(k, "std");
  const auto mean = spread(k, mean_arg, target);
  auto deviation = spread(k, std_arg, target);
  if (std_arg < 0) std::ranges::fill(deviation, 1.0);
  std::size_t at = 0;
  fill_by(k, [&](Generator& g) {
    const double value = mean[at] + deviation[at] * g.normal();
    ++at;
    return value;
  });
}
void log_normal_kernel(KernelCall& k) {
  const double mean = k.real(param(k, "mean"));
  const double deviation = k.real(param(k, "std"));
  fill_by(k, [&](Generator& g) { return std::exp(mean + deviation * g.normal()); });
}
void exponential_kernel(KernelCall& k) {
  const double rate = k.real(1);
  fill_by(k, [&](Generator& g) { return -std::log(g.open_uniform()) / rate; });
}
void geometric_kernel(KernelCall& k) {
  const double p = k.real(1);
  fill_by(k, [&](Generator& g) {
    return p >= 1 ? 1.0 : std::ceil(std::log(g.open_uniform()) / std::log1p(-p));
  });
}
void cauchy_kernel(KernelCall& k) {
  const double median = k.real(1);
  const double sigma = k.real(2);
  fill_by(k, [&](Generator& g) {
    return median + sigma * std::tan(std::numbers::pi * (g.open_uniform() - 0.5));
  });
}

void bernoulli_kernel(KernelCall& k) {
  const int p = param(k, "p");
  const auto probability = spread(k, p < 0 ? 0 : p, target_of(k));
  std::size_t at = 0;
  fill_by(k, [&](Generator& g) { return g.uniform() < probability[at++] ? 1.0 : 0.0; });
}

/// Largest integer (plus one) that random_() without bounds fills with: what the dtype represents
/// exactly.
auto exclusive_top(DType dtype) -> std::int64_t {
  if (dtype == DType::boolean) return 2;
  if (dtype == DType::float64) return std::int64_t{1} << 53;
  if (dtype == DType::float32) return std::int64_t{1} << 24;
  if (dtype == DType::float16) return std::int64_t{1} << 11;
  if (dtype == DType::bfloat16) return std::int64_t{1} << 8;
  const int bits = size_bytes(dtype) * 8 - (info(dtype).kind == DTypeKind::signed_integer ? 1 : 0);
  return bits >= 63 ? INT64_MAX : std::int64_t{1} << bits;
}
void integer_kernel(KernelCall& k) {
  Tensor target = target_of(k);
  const auto bound = [&](std::string_view name, std::int64_t fallback) {
    const int i = param(k, name);
    return i >= 0 && k.has(i) ? k.integer(i) : fallback;
  };
  const auto low = bound("low", bound("from", 0));
  const auto high = bound("high", bound("to", exclusive_top(target.dtype())));
  if (low >= high) {
    k.fail(fmt::format("the range [{}, {}) is empty", low, high));
    return;
  }
  Generator generator;
  Ints values(static_cast<std::size_t>(target.numel()));
  for (auto& value : values) value = generator.integer(low, high);
  from_vector<std::int64_t>(target, values);
}

void randperm_kernel(KernelCall& k) {
  Ints values(static_cast<std::size_t>(k.out().numel()));
  std::iota(values.begin(), values.end(), 0);
  Generator generator;
  for (std::size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1],
              values[static_cast<std::size_t>(generator.integer(0, static_cast<std::int64_t>(i)))]);
  from_vector<std::int64_t>(k.out(), values);
}

/// Draws by inverting the cumulated weights; without replacement a drawn weight becomes 0.
void multinomial_kernel(KernelCall& k) {
  auto weights = to_vector<double>(k.in(0));
  const auto categories = static_cast<std::size_t>(k.in(0).sizes().back());
  const auto draws = static_cast<std::size_t>(k.integer(1));
  const auto rows = categories ? weights.size() / categories : 0;
  Generator generator;
  Ints drawn;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = std::span(weights).subspan(r * categories, categories);
    for (std::size_t d = 0; d < draws; ++d) {
      double left = generator.uniform() * std::accumulate(row.begin(), row.end(), 0.0);
      std::size_t pick = 0;
      while (pick + 1 < categories && (left >= row[pick] || row[pick] == 0)) left -= row[pick++];
      drawn.push_back(static_cast<std::int64_t>(pick));
      if (!k.flag(2)) row[pick] = 0;
    }
  }
  from_vector<std::int64_t>(k.out(), drawn);
}

// ---- dropout ------------------------------------------------------------------------------------

auto native_dropout_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(0);
  const auto strides = preserved_strides(c, input);
  return {DatumList{c.fresh(input.dtype, input.sizes, strides),
                    c.fresh(DType::boolean, input.sizes, strides)}};
}
void native_dropout_kernel(KernelCall& k) {
  const bool training = !k.has(2) || k.flag(2);
  const double keep = training ? 1 - k.real(1) : 1;
  auto values = to_vector<double>(k.in(0));
  Ints mask(values.size());
  Generator generator;
  for (std::size_t i = 0; i < values.size(); ++i) {
    mask[i] = generator.uniform() < keep ? 1 : 0;
    values[i] = mask[i] != 0 ? values[i] / keep : 0;
  }
  from_vector<double>(k.out(0), values);
  from_vector<std::int64_t>(k.out(1), mask);
}

/// Evaluation returns the input itself, as does dropping nothing.
auto dropout(Composer& c) -> Datum {
  const double p = c.real(1);
  if (p < 0 || p > 1) return c.fail("the dropout probability is between 0 and 1"), Datum{};
  if (!c.flag(2) || p == 0 || c.decide(eq(numel(c.meta(0)), 0), "empty input")) return c.arg(0);
  if (p == 1) return c.call("aten.mul.Scalar", {c.arg(0), Datum{Expr(0)}});
  auto noise = c.call("aten.empty_like.default", {c.arg(0)});
  noise = c.call("aten.bernoulli_.float", {noise, Datum{Expr::real(1 - p)}});
  noise = c.call("aten.div.Scalar", {noise, Datum{Expr::real(1 - p)}});
  return c.call("aten.mul.Tensor", {c.arg(0), noise});
}

// Inductor's seeds: one 64-bit number for each random operator of a graph, drawn together.
auto inductor_seeds(Composer& c) -> Datum {
  const auto least = std::numeric_limits<std::int64_t>::min();
  return c.call("aten.randint.low",
                {Datum{Expr(least)}, Datum{Expr(std::numeric_limits<std::int64_t>::max())},
                 Datum{DatumList{c.arg(0)}}, Datum{DType::int64}, Datum{}, c.arg(1)});
}
auto inductor_lookup_seed(Composer& c) -> Datum {
  return c.call("aten.select.int", {c.arg(0), Datum{Expr(0)}, c.arg(1)});
}
/// size, seed, mode ("rand" or "randn"), offset.
auto inductor_random(Composer& c) -> Datum {
  const auto* mode = std::get_if<std::string>(&c.arg(2).value);
  const bool is_normal = mode != nullptr && *mode == "randn";
  return c.call(is_normal ? "aten.randn.default" : "aten.rand.default",
                {c.arg(0), Datum{DType::float32}, Datum{}, Datum{c.meta(1).device}});
}
/// low, high, size, seed, offset.
auto inductor_randint(Composer& c) -> Datum {
  return c.call("aten.randint.low", {c.arg(0), c.arg(1), c.arg(2), Datum{DType::int64}, Datum{},
                                     Datum{c.meta(3).device}});
}

/// rrelu: negative elements scale by a random slope in training, by the mean slope otherwise.
/// self, noise (written in training), lower, upper, training.
template <bool kInPlace>
auto rrelu_rule(MetaCall& c) -> Datum {
  if (!require_same_sizes(c, c.meta(1).sizes, c.meta(0).sizes, "noise has self's shape")) return {};
  return kInPlace ? returns_self(c) : contiguous_like_self(c);
}
void rrelu_kernel(KernelCall& k) {
  Tensor target = target_of(k);
  auto values = to_vector<double>(k.in(0));
  const double lower = k.real(2);
  const double upper = k.real(3);
  const bool training = k.flag(4);
  Generator generator;
  std::vector<double> noise(values.size(), 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > 0) continue;
    noise[i] = training ? lower + (upper - lower) * generator.uniform() : (lower + upper) / 2;
    values[i] *= noise[i];
  }
  Tensor recorded = k.in(1);
  if (training) from_vector<double>(recorded, noise);
  from_vector<double>(k.row().schema.params[0].written ? target : k.out(), values);
}

auto random_row(std::string_view schema, MetaRule rule, Kernel kernel) -> OpRow {
  return {.schema_text = schema, .rule = rule, .kernel = kernel, .random = true};
}

}  // namespace

// clang-format off
#define ASSAY_FACTORY "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define ASSAY_LONG_FACTORY "ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None"
void add_random_rows(OpTable& t) {
  t.add(random_row("aten::rand(SymInt[] size, *, " ASSAY_FACTORY ") -> Tensor", sized_rule, uniform_kernel));
  t.add(random_row("aten::rand.generator(SymInt[] size, *, Generator? generator, " ASSAY_FACTORY ") -> Tensor", sized_rule, uniform_kernel));
  t.add(random_row("aten::randn(SymInt[] size, *, " ASSAY_FACTORY ") -> Tensor", sized_rule, normal_kernel));
  t.add(random_row("aten::randn.generator(SymInt[] size, *, Generator? generator, " ASSAY_FACTORY ") -> Tensor", sized_rule, normal_kernel));
  t.add(random_row("aten::rand_like(Tensor self, *, " ASSAY_FACTORY ", MemoryFormat? memory_format=None) -> Tensor", like_rule, uniform_kernel));
  t.add(random_row("aten::randn_like(Tensor self, *, " ASSAY_FACTORY ", MemoryFormat? memory_format=None) -> Tensor", like_rule, normal_kernel));
  t.add(random_row("aten::randint(SymInt high, SymInt[] size, *, " ASSAY_LONG_FACTORY ") -> Tensor", sized_rule, integer_kernel));
  t.add(random_row("aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, " ASSAY_LONG_FACTORY ") -> Tensor", sized_rule, integer_kernel));
  t.add(random_row("aten::randint_like(Tensor self, SymInt high, *, " ASSAY_FACTORY ", MemoryFormat? memory_format=None) -> Tensor", like_rule, integer_kernel));
  t.add(random_row("aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, " ASSAY_FACTORY ", MemoryFormat? memory_format=None) -> Tensor", like_rule, integer_kernel));
  t.add(random_row("aten::randperm(SymInt n, *, " ASSAY_LONG_FACTORY ") -> Tensor", randperm_rule, randperm_kernel));
  t.add(random_row("aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor", normal_rule, normal_kernel));
  t.add(random_row("aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor", normal_rule, normal_kernel));
  t.add(random_row("aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor", normal_rule, normal_kernel));
  t.add(random_row("aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, " ASSAY_FACTORY ") -> Tensor", sized_rule, normal_kernel));
  t.add(random_row("aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", contiguous_like_self, bernoulli_kernel));
  t.add(random_row("aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor", contiguous_like_self, bernoulli_kernel));
  t.add(random_row("aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor", multinomial_rule, multinomial_kernel));

  t.add(random_row("aten::uniform_(Tensor(a!) self, float from=0., float to=1., *, Generator? generator=None) -> Tensor(a!)", returns_self, uniform_kernel));
  t.add(random_row("aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)", returns_self, normal_kernel));
  t.add(random_row("aten::log_normal_(Tensor(a!) self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor(a!)", returns_self, log_normal_kernel));
  t.add(random_row("aten::exponential_(Tensor(a!) self, float lambd=1., *, Generator? generator=None) -> Tensor(a!)", returns_self, exponential_kernel));
  t.add(random_row("aten::geometric_(Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!)", returns_self, geometric_kernel));
  t.add(random_row("aten::cauchy_(Tensor(a!) self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor(a!)", returns_self, cauchy_kernel));
  t.add(random_row("aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)", returns_self, bernoulli_kernel));
  t.add(random_row("aten::bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)", bernoulli_tensor_rule, bernoulli_kernel));
  t.add(random_row("aten::random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)", returns_self, integer_kernel));
  t.add(random_row("aten::random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)", returns_self, integer_kernel));
  t.add(random_row("aten::random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)", returns_self, integer_kernel));

  t.add(random_row("aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor", preserved_like_self, uniform_kernel));
  t.add(random_row("aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor", preserved_like_self, normal_kernel));
  t.add(random_row("aten::log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor", preserved_like_self, log_normal_kernel));
  t.add(random_row("aten::exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor", preserved_like_self, exponential_kernel));
  t.add(random_row("aten::geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor", preserved_like_self, geometric_kernel));
  t.add(random_row("aten::cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor", preserved_like_self, cauchy_kernel));
  t.add(random_row("aten::random(Tensor self, *, Generator? generator=None) -> Tensor", preserved_like_self, integer_kernel));
  t.add(random_row("aten::random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor", preserved_like_self, integer_kernel));
  t.add(random_row("aten::random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor", preserved_like_self, integer_kernel));

  t.add(random_row("aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", native_dropout_rule, native_dropout_kernel));
  t.add({.schema_text = "prims::inductor_seeds(SymInt count, Device device) -> Tensor", .decomposition = inductor_seeds, .random = true});
  t.add({.schema_text = "prims::inductor_lookup_seed(Tensor seeds, SymInt index) -> Tensor", .decomposition = inductor_lookup_seed});
  t.add({.schema_text = "prims::inductor_random(SymInt[] size, Tensor seed, str mode, *, SymInt offset=0) -> Tensor", .decomposition = inductor_random, .random = true});
  t.add({.schema_text = "prims::inductor_randint(SymInt low, SymInt high, SymInt[] size, Tensor seed, *, SymInt offset=0) -> Tensor", .decomposition = inductor_randint, .random = true});
  t.add({.schema_text = "aten::dropout(Tensor input, float p, bool train) -> Tensor", .decomposition = dropout, .random = true});
  t.add(random_row("aten::rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor", rrelu_rule<false>, rrelu_kernel));
  t.add(random_row("aten::rrelu_with_noise_(Tensor(a!) self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor(a!)", rrelu_rule<true>, rrelu_kernel));
}
// clang-format on

}  // namespace assay
