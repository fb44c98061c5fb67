#include "compiler/runtime/in_place.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/prove/kernel_accesses.h"
#include "core/expr/eval.h"
#include "core/expr/poly.h"

namespace assay {
namespace {

class InPlace {
 public:
  InPlace(BoundProgram& bound, const HostProgram& program) : bound_(bound), program_(program) {}

  void run() {
    for (std::size_t at = 0; at < bound_.steps.size(); ++at)
      if (const auto* launch = std::get_if<BoundLaunch>(&bound_.steps[at])) look_at(at, *launch);
  }

 private:
  void look_at(std::size_t at, const BoundLaunch& launch) {
    std::vector<bool> is_taken(launch.arguments.size(), false);
    for (std::size_t to = 0; to < launch.arguments.size(); ++to) {
      if (!is_temporary(launch, to) || buffer(launch, to).first != at) continue;
      for (std::size_t from = 0; from < launch.arguments.size(); ++from) {
        if (from == to || is_taken[from] || !may_stand_over(at, launch, from, to)) continue;
        is_taken[from] = true;
        buffer(launch, to).over = launch.arguments[from].buffer;
        break;
      }
    }
  }

  auto buffer(const BoundLaunch& launch, std::size_t i) -> BoundBuffer& {
    return bound_.buffers[*launch.arguments[i].buffer];
  }
  auto is_temporary(const BoundLaunch& launch, std::size_t i) -> bool {
    return launch.arguments[i].buffer && launch.arguments[i].offset_bytes == 0 &&
           buffer(launch, i).kind == BoundBuffer::Kind::temporary;
  }

  auto may_stand_over(std::size_t at, const BoundLaunch& launch, std::size_t from, std::size_t to)
      -> bool {
    if (!is_temporary(launch, from)) return false;
    const auto& mine = buffer(launch, to);
    const auto& other = buffer(launch, from);
    if (other.last != at || other.first == at || mine.size_bytes != other.size_bytes) return false;
    for (const auto i : {from, to})
      if (std::ranges::count(launch.arguments, launch.arguments[i].buffer,
                             &BoundArgument::buffer) != 1)
        return false;
    const auto& name = bound_.kernels[launch.kernel];
    const auto source = program_.kernels.find(name);
    if (source == program_.kernels.end() || !source->second.kernel) return false;
    const auto& kernel = *source->second.kernel;
    if (!is_one_nest(kernel) ||
        size_bytes(kernel.params[from].dtype) != size_bytes(kernel.params[to].dtype))
      return false;
    return is_element_by_element(launch, kernel, accesses_of(name, kernel), from, to);
  }

  static auto is_one_nest(const TileKernel& kernel) -> bool {
    return kernel.is_understood() &&
           std::ranges::all_of(kernel.axes,
                               [](const TileAxis& axis) {
                                 return axis.exact && axis.kind == TileAxis::Kind::parallel;
                               }) &&
           std::ranges::all_of(kernel.body.body,
                               [](const TileStatement& one) { return one.regions.empty(); });
  }

  auto accesses_of(const std::string& name, const TileKernel& kernel) -> const KernelAccesses& {
    const auto known = accesses_.find(name);
    if (known != accesses_.end()) return known->second;
    return accesses_.emplace(name, derive_accesses(kernel, program_.env.pool())).first->second;
  }

  /// Every read of the operand is at the index of the only write, before it.
  static auto is_element_by_element(const BoundLaunch& launch, const TileKernel& kernel,
                                    const KernelAccesses& accesses, std::size_t from,
                                    std::size_t to) -> bool {
    const KernelAccess* store = nullptr;
    for (const auto& access : accesses.accesses) {
      if (access.param != to) continue;
      if (access.kind != AccessKind::store || store != nullptr) return false;
      store = &access;
    }
    if (store == nullptr || !writes_each_once(launch, kernel, accesses, store->index)) return false;
    for (const auto& access : accesses.accesses) {
      if (access.param != from) continue;
      if (access.kind != AccessKind::load || access.index != store->index || &access > store)
        return false;
    }
    return true;
  }

  /// At the values of this launch the index is linear and no two positions share an element: each
  /// stride is larger than what all smaller ones reach together.
  static auto writes_each_once(const BoundLaunch& launch, const TileKernel& kernel,
                               const KernelAccesses& accesses, const Expr& index) -> bool {
    std::unordered_map<Expr, Expr> values;
    for (std::size_t i = 0; i < kernel.params.size(); ++i)
      if (kernel.params[i].kind == TileParam::Kind::scalar)
        values[kernel.params[i].symbol] = launch.arguments[i].integer;
    std::vector<std::pair<std::int64_t, std::int64_t>> strides;  // and extents
    const auto poly = to_poly(substitute(index, values));
    for (std::size_t i = 0; i < kernel.axes.size(); ++i) {
      if (launch.extents[i] <= 1) continue;
      const auto axis = std::ranges::find(accesses.axes, kernel.axes[i].name, &KernelAxis::name);
      if (axis == accesses.axes.end()) return false;
      const auto term = std::ranges::find(poly, axis->symbol, &Term::monomial);
      if (term == poly.end() || term->coefficient <= 0) return false;
      strides.emplace_back(term->coefficient, launch.extents[i]);
    }
    std::size_t others = 0;
    for (const auto& term : poly) {
      const bool is_axis = std::ranges::find(accesses.axes, term.monomial, &KernelAxis::symbol) !=
                           accesses.axes.end();
      if (!is_axis && !term.monomial.is_int(1)) return false;
      if (is_axis) ++others;
    }
    if (others > kernel.axes.size()) return false;
    std::ranges::sort(strides);
    std::int64_t reach = 0;
    for (const auto& [stride, extent] : strides) {
      if (stride <= reach) return false;
      reach += stride * (extent - 1);
    }
    return true;
  }

  BoundProgram& bound_;
  const HostProgram& program_;
  std::unordered_map<std::string, KernelAccesses> accesses_;
};

}  // namespace

void find_in_place(BoundProgram& bound, const HostProgram& program) {
  InPlace(bound, program).run();
}

}  // namespace assay
