// Launches that take the place of a library call. Internal to compiler/cuda. Whole in this header.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "compiler/cuda/call_kernels.h"
#include "compiler/cuda/replaced_steps.h"

namespace assay {

/// One call of a bound program, whose place launches take.
class CallLaunches {
 public:
  using Numbers = std::map<std::string, std::int64_t>;
  using Reals = std::map<std::string, double>;

  CallLaunches(const BoundCall& call, BoundProgram& bound, CallKernels& kernels)
      : call_(call), bound_(bound), kernels_(kernels), given_(bound.buffers.size()) {}

  [[nodiscard]] auto call() const -> const BoundCall& { return call_; }
  /// Position among the program's of the i-th tensor of the arguments or of the results.
  [[nodiscard]] auto argument(std::size_t i) const -> std::size_t { return call_.buffers[i]; }
  [[nodiscard]] auto result(std::size_t i) const -> std::size_t {
    return call_.buffers[call_.arg_tensors + i];
  }

  /// The number of a buffer that is added next.
  [[nodiscard]] auto next_buffer() const -> std::size_t { return bound_.buffers.size(); }

  auto start(const TileKernel& kernel) -> BoundLaunch {
    BoundLaunch launch;
    launch.op = call_.op;
    launch.kernel = kernel_number(bound_, kernel.name);
    launch.arguments.resize(kernel.params.size());
    return launch;
  }
  /// A buffer from its element `first` on, where the kernel has such a parameter.
  void give(BoundLaunch& launch, const TileKernel& kernel, const std::string& name,
            std::size_t buffer, std::int64_t first, std::int64_t element_bytes) {
    const auto param = std::ranges::find(kernel.params, name, &TileParam::name);
    if (param == kernel.params.end()) return;
    auto& argument = launch.arguments[static_cast<std::size_t>(param - kernel.params.begin())];
    argument.buffer = buffer;
    argument.offset_bytes = first * element_bytes;
    argument.element_bytes = element_bytes;
    use({buffer});
  }
  /// The step that is appended next uses them.
  void use(const std::vector<std::size_t>& buffers) {
    for (const auto buffer : buffers)
      if (buffer >= given_) used_by_next(bound_, buffer);
  }
  static void put(BoundLaunch& launch, const TileKernel& kernel, const Numbers& numbers,
                  const Reals& reals = {}) {
    for (std::size_t i = 0; i < kernel.params.size(); ++i) {
      const auto& name = kernel.params[i].name;
      if (const auto known = numbers.find(name); known != numbers.end())
        launch.arguments[i].integer = known->second;
      if (const auto known = reals.find(name); known != reals.end())
        launch.arguments[i].real = known->second;
    }
  }
  /// By so many programs.
  void finish(BoundLaunch launch, std::int64_t programs) {
    launch.grid = {programs, 1, 1};
    launch.scalars[kernels_.programs()] = Expr(programs);
    bound_.steps.emplace_back(std::move(launch));
  }

 protected:
  [[nodiscard]] auto bound() -> BoundProgram& { return bound_; }
  [[nodiscard]] auto kernels() -> CallKernels& { return kernels_; }

 private:
  const BoundCall& call_;
  BoundProgram& bound_;
  CallKernels& kernels_;
  std::size_t given_;  ///< buffers that the program had
};

/// Families of operators.
[[nodiscard]] auto is_sort(const OpRow& row) -> bool;
[[nodiscard]] auto is_random(const OpRow& row) -> bool;
[[nodiscard]] auto is_attention(const OpRow& row) -> bool;
/// Appends launches in the place of a call of the family; false where there are none for it.
[[nodiscard]] auto expand_sort(const BoundCall& call, BoundProgram& bound, CallKernels& kernels)
    -> bool;
[[nodiscard]] auto expand_attention(const BoundCall& call, BoundProgram& bound,
                                    CallKernels& kernels) -> bool;
/// Appends the call, which a library takes, and what the library leaves undone; false where that is
/// nothing.
[[nodiscard]] auto complete_attention(const BoundCall& call, BoundProgram& bound,
                                      CallKernels& kernels) -> bool;
/// Appends the call with a mask and as many keys as a library takes, what makes them, and what the
/// library leaves undone; false where none takes it then either.
[[nodiscard]] auto adapt_attention(const BoundCall& call, BoundProgram& bound, CallKernels& kernels,
                                   const CallKernels::IsTaken& is_taken) -> bool;
[[nodiscard]] auto expand_random(const BoundCall& call, BoundProgram& bound, CallKernels& kernels)
    -> bool;

[[nodiscard]] inline auto divided_up(std::int64_t a, std::int64_t b) -> std::int64_t {
  return (a + b - 1) / b;
}

}  // namespace assay
