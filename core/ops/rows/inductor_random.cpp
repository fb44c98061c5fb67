// Inductor's random operators (torch/_inductor/inductor_prims.py, lowering.py). Executed eagerly
// they draw from the device's generator; compiled, a number is a function of its seed and of its
// position (counter_random.h), and that is what counts here.
#include "core/ops/counter_random.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

/// One 64-bit number for each random operator of a graph, drawn together.
auto seeds(Composer& c) -> Datum {
  const auto least = std::numeric_limits<std::int64_t>::min();
  return c.call("aten.randint.low",
                {Datum{Expr(least)}, Datum{Expr(std::numeric_limits<std::int64_t>::max())},
                 Datum{DatumList{c.arg(0)}}, Datum{DType::int64}, Datum{}, c.arg(1)});
}
auto lookup_seed(Composer& c) -> Datum {
  return c.call("aten.select.int", {c.arg(0), Datum{Expr(0)}, c.arg(1)});
}

/// Contiguous, on the device of the seed.
auto random_rule(MetaCall& c) -> Datum {
  const int seed = param(c, "seed");
  if (!c.decide(eq(numel(c.meta(seed)), 1), "one seed"))
    return c.unsupported("a seed that is not one number"), Datum{};
  c.set_device(c.meta(seed).device);
  const bool is_integer = seed == 3;  // low and high stand before
  return c.fresh(is_integer ? DType::int64 : DType::float32, c.exprs(param(c, "size")));
}

auto is_cuda(const Tensor& tensor) -> bool {
  return tensor.meta.device.type == "cuda";
}

/// number(seed, position) for every element; positions begin at `offset`.
template <class T, class Number>
void fill(KernelCall& k, Number number) {
  const auto seed =
      static_cast<std::uint64_t>(to_vector<std::int64_t>(k.in(param(k, "seed"))).at(0));
  auto position = static_cast<std::uint64_t>(k.integer(param(k, "offset")));
  std::vector<T> values(static_cast<std::size_t>(k.out().numel()));
  for (auto& value : values) value = number(seed, position++);
  from_vector(k.out(), std::span<const T>(values));
}
/// size, seed, mode ("rand" or "randn"), offset.
void random_kernel(KernelCall& k) {
  const bool is_cpu = !is_cuda(k.out());
  if (k.text(2) == "randn") return fill<float>(k, is_cpu ? philox_cpu_normal : philox_normal);
  fill<float>(k, is_cpu ? philox_cpu_uniform : philox_uniform);
}
/// low, high, size, seed, offset.
void randint_kernel(KernelCall& k) {
  const auto number = is_cuda(k.out()) ? philox_integer64 : philox_cpu_integer64;
  fill<std::int64_t>(k, [&](std::uint64_t seed, std::uint64_t position) {
    return number(seed, position, k.integer(0), k.integer(1));
  });
}

}  // namespace

// clang-format off
void add_inductor_random_rows(OpTable& t) {
  t.add({.schema_text = "prims::inductor_seeds(SymInt count, Device device) -> Tensor", .decomposition = seeds, .random = true, .of_seeds = true});
  t.add({.schema_text = "prims::inductor_lookup_seed(Tensor seeds, SymInt index) -> Tensor", .decomposition = lookup_seed});
  t.add({.schema_text = "prims::inductor_random(SymInt[] size, Tensor seed, str mode, *, SymInt offset=0) -> Tensor", .rule = random_rule, .kernel = random_kernel, .random = true, .of_seeds = true});
  t.add({.schema_text = "prims::inductor_randint(SymInt low, SymInt high, SymInt[] size, Tensor seed, *, SymInt offset=0) -> Tensor", .rule = random_rule, .kernel = randint_kernel, .random = true, .of_seeds = true});
}
// clang-format on

}  // namespace assay
