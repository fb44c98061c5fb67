// A program bound to sizes: its host side evaluated once into a flat list of steps on buffers,
// which any device can run. Whole in this header; what a step does on a device is not its matter.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/interpret/host_machine.h"
#include "compiler/interpret/launcher.h"
#include "compiler/program/executor.h"
#include "core/ops/op_table.h"

namespace assay {

struct BoundBuffer {
  enum class Kind : std::uint8_t {
    input,      ///< given by whoever calls
    output,     ///< returned: made anew for every call
    temporary,  ///< has a place in the arena
  };
  std::string name;
  Kind kind = Kind::temporary;
  DType dtype = DType::float32;  ///< as it was allocated
  std::int64_t size_bytes = 0;
  std::size_t input = 0;            ///< position among the inputs
  std::size_t first = 0, last = 0;  ///< steps that use it; of outputs the last is the end
  bool is_used = false;             ///< by any step, or returned
  bool is_made_by_call = false;     ///< the result of a library call, which expects zeros
  /// Placed over this buffer, which dies where this one is first written, element by element.
  std::optional<std::size_t> over;
};

/// A tensor in a buffer; the offset counts from the buffer's start.
struct BoundTensor {
  std::size_t buffer = 0;
  RealMeta meta;
};

struct BoundArgument {
  std::optional<std::size_t> buffer;
  std::int64_t offset_bytes = 0;
  std::int64_t element_bytes = 0;  ///< as the kernel sees the buffer
  std::int64_t integer = 0;
  double real = 0;
};
struct BoundLaunch {
  const HostOp* op = nullptr;
  std::size_t kernel = 0;                     ///< of BoundProgram::kernels
  std::vector<BoundArgument> arguments;       ///< by parameter
  std::vector<std::int64_t> extents, blocks;  ///< by axis
  std::array<std::int64_t, 3> grid = {1, 1, 1};
  Binding scalars;  ///< as TileLaunch has them
};
/// A row of the table that computes. Tensors of `args` and `result` have no storage: the buffers
/// they stand in follow in order, those of the arguments first.
struct BoundCall {
  const HostOp* op = nullptr;
  const OpRow* row = nullptr;
  DatumList args;
  Datum result;
  std::vector<std::size_t> buffers;
  std::size_t arg_tensors = 0;  ///< how many of them are the arguments'
};
struct BoundCopy {
  const HostOp* op = nullptr;
  BoundTensor from, to;
};
using BoundStep = std::variant<BoundLaunch, BoundCall, BoundCopy>;
[[nodiscard]] inline auto op_of(const BoundStep& step) -> const HostOp* {
  return std::visit([](const auto& one) { return one.op; }, step);
}

struct BoundProgram {
  std::vector<std::string> kernels;
  std::vector<BoundBuffer> buffers;
  std::vector<BoundStep> steps;
  DatumList outputs;                        ///< without storages
  std::vector<std::size_t> output_buffers;  ///< of the tensors among them, in order
  ProgramRun counts;                        ///< findings of asserts, launches, calls; no outputs
};

/// What a binding is: layouts of the tensors, values of the numbers, who shares storage with whom.
/// Contents are no part of it.
class BindingKey {
 public:
  /// Nothing where an input is neither tensor, number nor nothing.
  [[nodiscard]] static auto of(const DatumList& inputs) -> std::optional<BindingKey>;
  [[nodiscard]] auto fits(const DatumList& inputs) const -> bool;

 private:
  DatumList inputs_;                 ///< without storages
  std::vector<std::size_t> first_;   ///< by input: the first one in the same storage
  std::vector<std::int64_t> bytes_;  ///< by input: of its storage
};

class InPlaceFinder;

/// Evaluates the host side for inputs, without looking at contents or computing anything. What does
/// not depend on sizes is found out once. One call at a time.
class Binder {
 public:
  /// All must outlive the binder, and the program what it gives.
  Binder(const HostProgram& program, const CompiledKernels& kernels, const OpTable& table);
  ~Binder();
  Binder(Binder&&) noexcept;
  auto operator=(Binder&&) -> Binder& = delete;
  /// Errors: those of the program's asserts; unsupported (what it does depends on data).
  [[nodiscard]] auto bind(const DatumList& inputs) -> Result<BoundProgram>;

 private:
  const HostProgram& program_;
  const CompiledKernels& kernels_;
  const OpTable& table_;
  std::unique_ptr<InPlaceFinder> in_place_;
  std::size_t steps_ = 0, buffers_ = 0;  ///< of the last binding: the next one has as many
};
/// As a binder that is used once.
[[nodiscard]] auto bind_program(const HostProgram& program, const CompiledKernels& kernels,
                                const OpTable& table, const DatumList& inputs)
    -> Result<BoundProgram>;

}  // namespace assay
