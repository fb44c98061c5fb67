#include "compiler/runtime/in_place.h"

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/prove/kernel_accesses.h"
#include "core/expr/eval.h"
#include "core/expr/poly.h"

namespace assay {
namespace {

auto is_one_nest(const TileKernel& kernel) -> bool {
  return kernel.is_understood() &&
         std::ranges::all_of(kernel.axes,
                             [](const TileAxis& axis) {
                               return axis.exact && axis.kind == TileAxis::Kind::parallel;
                             }) &&
         std::ranges::all_of(kernel.body.body,
                             [](const TileStatement& one) { return one.regions.empty(); });
}

/// Where every read of `from` is at the index of the only write of `to`, before it: that index.
auto common_index(const KernelAccesses& accesses, std::size_t from, std::size_t to)
    -> std::optional<Expr> {
  const KernelAccess* store = nullptr;
  for (const auto& access : accesses.accesses) {
    if (access.param != to) continue;
    if (access.kind != AccessKind::store || store != nullptr) return std::nullopt;
    store = &access;
  }
  if (store == nullptr) return std::nullopt;
  for (const auto& access : accesses.accesses) {
    if (access.param != from) continue;
    if (access.kind != AccessKind::load || access.index != store->index || &access > store)
      return std::nullopt;
  }
  return store->index;
}

/// Of an index: coefficient times parameters times an axis of the kernel, or none.
struct LinearTerm {
  std::int64_t coefficient = 0;
  std::vector<std::size_t> params;
  std::optional<std::size_t> axis;
};
/// Elements between neighbours of each axis, and how many there are.
using Strides = std::vector<std::pair<std::int64_t, std::int64_t>>;

}  // namespace

/// A kernel that may write over operands, and what is known of it whatever its sizes are.
struct InPlaceFinder::Kernel {
  struct Index {
    Expr index;
    std::optional<std::vector<LinearTerm>> terms;  ///< nothing: not linear at all sizes
  };

  /// An index that every read of an operand shares with the write of a result.
  [[nodiscard]] auto common(std::size_t from, std::size_t to) -> const std::optional<Index>& {
    const auto [known, is_new] = indices.try_emplace({from, to});
    if (is_new)
      if (const auto index = common_index(accesses, from, to))
        known->second = Index{*index, linear(*index)};
    return known->second;
  }
  /// At the values of this launch the index is linear and no two positions share an element: each
  /// stride is larger than what all smaller ones reach together.
  [[nodiscard]] auto is_one_each(const BoundLaunch& launch, const Index& index) const -> bool {
    auto strides = index.terms ? strides_of(launch, *index.terms) : strides_of(launch, index.index);
    if (!strides) return false;
    std::ranges::sort(*strides);
    std::int64_t reach = 0;
    for (const auto& [stride, extent] : *strides) {
      if (stride <= reach) return false;
      reach += stride * (extent - 1);
    }
    return true;
  }

  const TileKernel* kernel = nullptr;  ///< nothing: it may not
  KernelAccesses accesses;
  std::map<std::pair<std::size_t, std::size_t>, std::optional<Index>> indices;

 private:
  [[nodiscard]] auto axis_of(const Expr& symbol) const -> std::optional<std::size_t> {
    const auto named = std::ranges::find(accesses.axes, symbol, &KernelAxis::symbol);
    if (named == accesses.axes.end()) return std::nullopt;
    const auto axis = std::ranges::find(kernel->axes, named->name, &TileAxis::name);
    if (axis == kernel->axes.end()) return std::nullopt;
    return static_cast<std::size_t>(axis - kernel->axes.begin());
  }
  [[nodiscard]] auto param_of(const Expr& symbol) const -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < kernel->params.size(); ++i)
      if (kernel->params[i].kind == TileParam::Kind::scalar && kernel->params[i].symbol == symbol)
        return i;
    return std::nullopt;
  }
  [[nodiscard]] auto linear(const Expr& index) const -> std::optional<std::vector<LinearTerm>> {
    std::vector<LinearTerm> terms;
    for (const auto& [monomial, coefficient] : to_poly(index)) {
      auto& term = terms.emplace_back();
      term.coefficient = coefficient;
      for (const auto& [base, exponent] : to_product(monomial).factors) {
        const auto axis = axis_of(base);
        const auto param = param_of(base);
        if (axis ? term.axis || exponent != 1 : !param) return std::nullopt;
        if (axis) term.axis = axis;
        if (!axis)
          term.params.insert(term.params.end(), static_cast<std::size_t>(exponent), *param);
      }
    }
    return terms;
  }
  /// Nothing where an axis has no stride, or none that is positive.
  [[nodiscard]] auto strides_of(const BoundLaunch& launch,
                                const std::vector<LinearTerm>& terms) const
      -> std::optional<Strides> {
    Strides all(kernel->axes.size());
    for (const auto& term : terms) {
      if (!term.axis) continue;
      auto value = term.coefficient;
      bool is_too_large = false;
      for (const auto i : term.params)
        is_too_large |= __builtin_mul_overflow(value, launch.arguments[i].integer, &value);
      auto& stride = all[*term.axis].first;
      if (is_too_large || __builtin_add_overflow(stride, value, &stride)) return std::nullopt;
    }
    Strides strides;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (launch.extents[i] <= 1) continue;
      if (all[i].first <= 0) return std::nullopt;
      strides.emplace_back(all[i].first, launch.extents[i]);
    }
    return strides;
  }
  /// The same of an index that only the values of the launch make linear.
  [[nodiscard]] auto strides_of(const BoundLaunch& launch, const Expr& index) const
      -> std::optional<Strides> {
    std::unordered_map<Expr, Expr> values;
    for (std::size_t i = 0; i < kernel->params.size(); ++i)
      if (kernel->params[i].kind == TileParam::Kind::scalar)
        values[kernel->params[i].symbol] = launch.arguments[i].integer;
    const auto terms = linear(substitute(index, values));
    return terms ? strides_of(launch, *terms) : std::nullopt;
  }
};

InPlaceFinder::InPlaceFinder(const HostProgram& program) : program_(program) {}
InPlaceFinder::~InPlaceFinder() = default;

auto InPlaceFinder::kernel(const std::string& name) -> Kernel& {
  auto& known = kernels_[name];
  if (known != nullptr) return *known;
  known = std::make_unique<Kernel>();
  const auto source = program_.kernels.find(name);
  if (source == program_.kernels.end() || !source->second.kernel) return *known;
  const auto& kernel = *source->second.kernel;
  if (!is_one_nest(kernel)) return *known;
  known->kernel = &kernel;
  known->accesses = derive_accesses(kernel, program_.env.pool());
  return *known;
}

void InPlaceFinder::find(BoundProgram& bound) {
  for (std::size_t at = 0; at < bound.steps.size(); ++at)
    if (const auto* launch = std::get_if<BoundLaunch>(&bound.steps[at]))
      look_at(bound, at, *launch);
}

void InPlaceFinder::look_at(BoundProgram& bound, std::size_t at, const BoundLaunch& launch) {
  const auto buffer = [&](std::size_t i) -> BoundBuffer& {
    return bound.buffers[*launch.arguments[i].buffer];
  };
  const auto is_temporary = [&](std::size_t i) {
    return launch.arguments[i].buffer && launch.arguments[i].offset_bytes == 0 &&
           buffer(i).kind == BoundBuffer::Kind::temporary;
  };
  const auto is_passed_once = [&](std::size_t i) {
    return std::ranges::count(launch.arguments, launch.arguments[i].buffer,
                              &BoundArgument::buffer) == 1;
  };
  const auto may_stand_over = [&](std::size_t from, std::size_t to) {
    if (!is_temporary(from)) return false;
    const auto& mine = buffer(to);
    const auto& other = buffer(from);
    if (other.last != at || other.first == at || mine.size_bytes != other.size_bytes ||
        launch.arguments[from].element_bytes != launch.arguments[to].element_bytes ||
        !is_passed_once(from) || !is_passed_once(to))
      return false;
    auto& known = kernel(bound.kernels[launch.kernel]);
    if (known.kernel == nullptr) return false;
    const auto& index = known.common(from, to);
    return index && known.is_one_each(launch, *index);
  };
  std::vector<bool> is_taken(launch.arguments.size(), false);
  for (std::size_t to = 0; to < launch.arguments.size(); ++to) {
    if (!is_temporary(to) || buffer(to).first != at) continue;
    for (std::size_t from = 0; from < launch.arguments.size(); ++from) {
      if (from == to || is_taken[from] || !may_stand_over(from, to)) continue;
      is_taken[from] = true;
      buffer(to).over = launch.arguments[from].buffer;
      break;
    }
  }
}

}  // namespace assay
