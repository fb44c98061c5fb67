// Executes a host program statement by statement. Internal to compiler/interpret.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/interpret/launcher.h"
#include "compiler/interpret/memory.h"
#include "compiler/interpret/recorder.h"
#include "compiler/interpret/tile_machine.h"
#include "compiler/program/executor.h"
#include "core/base/text_map.h"
#include "core/ops/domain.h"

namespace assay {

struct RunBuffer {
  Tensor tensor;
  RunStorage* storage = nullptr;
  int generation = 0;
};
/// What a name stands for: a tensor, a list, or any other datum.
struct RunValue {
  std::optional<RunBuffer> buffer;
  std::vector<RunValue> items;
  bool is_list = false;
  Datum other;
};

using CompiledKernels = std::map<std::string, TileCode>;
/// All kernels of a program. Errors: unsupported (not read, no code), naming the kernel.
[[nodiscard]] auto compile_kernels(const HostProgram& program) -> Result<CompiledKernels>;

class HostMachine {
 public:
  /// With a launcher nothing is checked: code that it runs leaves no marks. With a recorder nothing
  /// is computed: errors are unsupported (what the program does depends on data).
  HostMachine(const HostProgram& program, const CompiledKernels& kernels, const OpTable& table,
              const ProgramRunOptions& options, KernelLauncher* launcher = nullptr,
              HostRecorder* recorder = nullptr)
      : program_(program),
        kernels_(kernels),
        domain_(table, options.random),
        options_(options),
        launcher_(launcher),
        recorder_(recorder),
        layouts_(domain_, [this](const OpRow& leaf, const DatumList& given, const Datum& result) {
          recorder_->call(*called_, leaf, given, result);
        }) {}
  HostMachine(const HostMachine&) = delete;
  auto operator=(const HostMachine&) -> HostMachine& = delete;
  [[nodiscard]] auto run(const DatumList& inputs) -> Result<ProgramRun>;

 private:
  [[nodiscard]] auto call(const HostFunction& function, std::vector<RunValue> inputs)
      -> Result<std::vector<RunValue>>;
  void solve_symbols(const HostFunction& function);

  [[nodiscard]] auto step(const HostOp& op, const HostNote& what) -> Result<void>;
  [[nodiscard]] auto step(const HostOp& op, const HostAlloc& what) -> Result<void>;
  [[nodiscard]] auto step(const HostOp& op, const HostBind& what) -> Result<void>;
  [[nodiscard]] auto step(const HostOp& op, const HostScalar& what) -> Result<void>;
  [[nodiscard]] auto step(const HostOp& op, const HostShape& what) -> Result<void>;
  [[nodiscard]] auto step(const HostOp& op, const HostCheck& what) -> Result<void>;
  [[nodiscard]] auto step(const HostOp& op, const HostFact& what) -> Result<void>;
  [[nodiscard]] auto step(const HostOp& op, const HostLaunch& what) -> Result<void>;
  [[nodiscard]] auto step(const HostOp& op, const HostCall& what) -> Result<void>;
  [[nodiscard]] auto step(const HostOp& op, const HostItem& what) -> Result<void>;
  [[nodiscard]] auto step(const HostOp& op, const HostStore& what) -> Result<void>;
  [[nodiscard]] auto step(const HostOp& op, const HostGroup& what) -> Result<void>;
  [[nodiscard]] auto step(const HostOp& op, const HostDelete& what) -> Result<void>;
  [[nodiscard]] auto step(const HostOp& op, const HostReturn& what) -> Result<void>;

  // host_control.cpp: where the function goes on after the statement at `at`
  [[nodiscard]] auto next(const HostFunction& function, std::size_t at, const auto& what)
      -> Result<std::size_t> {
    ASSAY_TRY_VOID(step(function.ops[at], what));
    return at + 1;
  }
  [[nodiscard]] auto next(const HostFunction& function, std::size_t at, const HostBranch& what)
      -> Result<std::size_t>;
  [[nodiscard]] auto next(const HostFunction& function, std::size_t at, const HostLoop& what)
      -> Result<std::size_t>;
  [[nodiscard]] auto holds(const HostOp& op, const HostCondition& condition) -> Result<bool>;

  // host_values.cpp
  void set_symbol(const Expr& symbol, const Expr& value) {
    binding_[symbol] = value;
    numbers_.clear();
  }
  [[nodiscard]] auto is_unchecked() const -> bool {
    return recorder_ != nullptr || (launcher_ != nullptr && !launcher_->is_checked());
  }
  [[nodiscard]] auto number(const Expr& e) const -> Result<std::int64_t>;
  [[nodiscard]] auto numbers(const Dims& dims) const -> Result<Ints>;
  [[nodiscard]] auto adopt(const std::string& name, Tensor tensor, bool is_initialised)
      -> RunBuffer;
  void define(const std::string& name, RunValue value) {
    auto& named = names_[name];
    named.value = std::move(value);
    named.deleted_in = 0;
  }
  [[nodiscard]] auto find(const HostOp& op, const std::string& name) -> Result<RunValue*>;
  [[nodiscard]] auto view(const HostOp& op, const HostView& what) -> Result<RunBuffer>;
  [[nodiscard]] auto element_of(const HostOp& op, const std::string& name) -> Result<Expr>;
  [[nodiscard]] auto element_of(const HostOp& op, const RunValue& source, const std::string& name)
      -> Result<Expr>;
  [[nodiscard]] auto value(const HostOp& op, const HostArg& arg) -> Result<RunValue>;
  [[nodiscard]] static auto datum(RunValue value) -> Datum;
  [[nodiscard]] auto from_datum(const std::string& name, Datum datum) -> RunValue;
  void report(const HostOp& op, RunFault fault, std::string buffer, std::string message);
  void note_once(std::string note);
  void check_written(const HostOp& op, const RunBuffer& buffer);
  void check_defined(const RunBuffer& buffer);
  void set_written(const RunBuffer& buffer);
  /// What the host looks at comes to the host; in lists too.
  [[nodiscard]] auto to_host(const RunValue& value) -> Result<void>;

  // host_calls.cpp
  /// What a call has written, by name, for whoever taps.
  using Written = std::vector<std::pair<std::string, Tensor>>;
  void note(Written& written, std::string name, const Tensor& tensor) const;
  [[nodiscard]] auto name_results(const HostOp& op, const HostCall& what, Datum result,
                                  Written& written) -> Result<void>;
  [[nodiscard]] auto library(const HostOp& op, const HostCall& what) -> Result<void>;
  /// The result of a call that the launcher did; nothing where it did not.
  [[nodiscard]] auto launched(const HostOp& op, const HostCall& what, const OpRow& row,
                              const DatumList& args, const std::vector<RunValue>& outs)
      -> Result<std::optional<Datum>>;
  [[nodiscard]] auto run_row(const HostOp& op, const OpRow& row, const DatumList& args)
      -> Result<Datum>;
  [[nodiscard]] auto find_row(const HostCall& what, DatumList positional,
                              std::vector<std::pair<std::string, Datum>> keywords)
      -> Result<std::pair<const OpRow*, DatumList>>;

  // host_launch.cpp
  [[nodiscard]] auto scalar_of(const HostOp& op, const HostArg& arg) -> Result<std::optional<Expr>>;
  [[nodiscard]] auto bind_launch(const HostOp& op, const HostLaunch& what, const TileKernel& kernel,
                                 TileLaunch& launch, Binding& scalars) -> Result<void>;
  [[nodiscard]] auto run_tiles(const HostOp& op, const HostLaunch& what, const TileCode& code,
                               TileLaunch& launch) -> Result<void>;
  [[nodiscard]] auto choose_blocks(const TileKernel& kernel, TileLaunch& launch, Binding& scalars)
      -> Result<void>;
  [[nodiscard]] auto choose_block(const TileAxis& axis, std::int64_t extent, std::int64_t room)
      -> std::int64_t;

  const HostProgram& program_;
  const CompiledKernels& kernels_;
  RealDomain domain_;
  const ProgramRunOptions& options_;
  KernelLauncher* launcher_;
  HostRecorder* recorder_;
  LayoutDomain layouts_;            ///< of calls that are recorded
  const HostOp* called_ = nullptr;  ///< the statement they are of
  ProgramRun result_;
  Binding binding_;
  mutable std::unordered_map<Expr, std::int64_t> numbers_;  ///< that came out at the binding
  /// What a name stands for; dead ones are remembered.
  struct Named {
    RunValue value;
    int deleted_in = 0;  ///< line; 0: it lives
  };
  TextMap<Named> names_;
  std::vector<std::unique_ptr<RunStorage>> storages_;
  std::unordered_map<const Storage*, RunStorage*> by_storage_;
  std::optional<std::vector<RunValue>> returned_;
  std::uint32_t next_program_ = 1;
  std::int64_t rounds_ = 0;  ///< of loops
  int depth_ = 0;            ///< of calls of inner functions
  std::uint32_t random_ = 0;
};

}  // namespace assay
