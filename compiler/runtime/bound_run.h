// Runs bound programs: memory, arguments and results of the steps. A device gives the launches.
#pragma once
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "compiler/runtime/bound.h"
#include "compiler/runtime/memory_plan.h"

namespace assay {

/// Contents of buffers, each in a storage that begins where the buffer does.
using BufferStorages = std::map<std::size_t, std::shared_ptr<Storage>>;
/// Whether the call of step `at` makes the buffer of its tensor `k`, and so expects zeros there.
[[nodiscard]] auto makes_buffer(const BoundProgram& bound, std::size_t at, std::size_t k) -> bool;
/// Runs a call or copy on the host. `storages` has all buffers of the step. Errors: the kernel's.
[[nodiscard]] auto run_apart(const BoundProgram& bound, std::size_t at,
                             const BufferStorages& storages) -> Result<void>;

/// Where a buffer stands now.
struct BufferPlace {
  std::shared_ptr<Storage> storage;
  std::int64_t offset_bytes = 0;
};

/// What a launch passes, by parameter.
struct LaunchArguments {
  const void* const* pointers = nullptr;
  const std::int64_t* integers = nullptr;
  const double* reals = nullptr;
  std::span<const BufferPlace> places;  ///< by buffer
};

/// A launch in the tile machine, for kernels without other code; accesses are in the storages of
/// `arguments`. Findings go to `result`.
[[nodiscard]] auto run_tiles(const TileCode& code, const BoundLaunch& launch,
                             const LaunchArguments& arguments, ProgramRun& result) -> Result<void>;

/// Runs launches on one device.
class BoundDevice {
 public:
  virtual ~BoundDevice() = default;
  /// Findings of code that checks itself go to `run`.
  [[nodiscard]] virtual auto launch(const BoundProgram& bound, const BoundLaunch& launch,
                                    const LaunchArguments& arguments, ProgramRun& run) const
      -> Result<void> = 0;
  /// What launches are given behind their last pointer.
  [[nodiscard]] virtual auto failure() const -> const void* { return nullptr; }
};

struct BoundOptions {
  MemoryPlanOptions memory;
  /// Redzones around temporaries, which start as NaN or 0xCB bytes and end so; a write into a
  /// redzone is a finding of the step that made it.
  bool is_checked = false;
};

/// A binding with its memory, ready to run again and again.
class ReadyProgram {
 public:
  ReadyProgram(BoundProgram bound, const BoundDevice& device, const BoundOptions& options);
  /// Inputs must fit the binding. One call at a time; a second waits. Outputs are the caller's: a
  /// storage is used again only if nobody else holds it.
  [[nodiscard]] auto run(const DatumList& inputs) -> Result<ProgramRun>;
  [[nodiscard]] auto bound() const -> const BoundProgram& { return bound_; }
  [[nodiscard]] auto plan() const -> const MemoryPlan& { return plan_; }

 private:
  struct Call {
    DatumList args;
    Datum result;
    std::vector<Tensor*> tensors;     ///< of both, in order
    std::vector<RealMeta> metas;      ///< theirs, from the start of the buffer
    std::vector<std::size_t> zeroed;  ///< buffers that it makes
    bool is_apart = false;            ///< its operands stand in storages of their own
  };
  void prepare(std::size_t at, const BoundStep& step);
  void prepare(std::size_t at, const BoundLaunch& launch);
  void prepare(std::size_t at, const BoundCall& call);
  void connect(const DatumList& inputs);
  void release();
  [[nodiscard]] auto step(std::size_t at, ProgramRun& run) -> Result<void>;
  [[nodiscard]] auto call(const BoundCall& what, Call& ready) -> Result<void>;
  [[nodiscard]] auto call_apart(std::size_t at, const BoundCall& what) -> Result<void>;
  [[nodiscard]] auto view(const RealMeta& meta, std::size_t buffer) const -> Tensor;
  [[nodiscard]] auto bytes_of(std::size_t buffer) const -> std::span<std::byte>;
  // checked_memory.cpp
  void birth(std::size_t at);
  void death(std::size_t at, ProgramRun& run);
  [[nodiscard]] auto redzones(std::size_t buffer) const -> std::array<std::span<std::byte>, 2>;

  BoundProgram bound_;
  const BoundDevice& device_;
  BoundOptions options_;
  MemoryPlan plan_;
  std::mutex mutex_;
  std::shared_ptr<Storage> arena_;
  std::vector<BufferPlace> places_;  ///< by buffer
  std::vector<std::size_t> moving_;  ///< buffers that stand elsewhere in every call
  std::vector<std::size_t> made_;    ///< those of them that are outputs
  /// What those were in before: somebody who drops a result when he has the next needs no new
  /// memory.
  BufferStorages spares_;
  // Arguments of all launches one behind the other, and where each launch's begin.
  std::vector<const void*> pointers_;
  std::vector<std::int64_t> integers_;
  std::vector<double> reals_;
  std::vector<std::size_t> begin_;  ///< by step; of a call its position in calls_
  struct Patch {
    std::size_t pointer = 0, buffer = 0;
    std::int64_t offset_bytes = 0;
  };
  std::vector<Patch> patches_;
  std::vector<Call> calls_;
  struct TensorPatch {
    Tensor* tensor = nullptr;
    std::size_t buffer = 0;
  };
  std::vector<TensorPatch> tensor_patches_;
};

/// A program bound as often as there are different bindings.
class BindingCache {
 public:
  BindingCache(const HostProgram& program, const CompiledKernels& kernels, const OpTable& table,
               const BoundDevice& device, BoundOptions options)
      : binder_(program, kernels, table), device_(device), options_(options) {}
  /// The program at these inputs' binding, bound now if it is new; the ones used last are kept.
  /// Errors: of bind_program.
  [[nodiscard]] auto find(const DatumList& inputs) -> Result<std::shared_ptr<ReadyProgram>>;
  /// How often the host side was evaluated.
  [[nodiscard]] auto bindings() const -> std::size_t;

 private:
  struct Entry {
    BindingKey key;
    std::shared_ptr<ReadyProgram> ready;
  };
  Binder binder_;
  const BoundDevice& device_;
  BoundOptions options_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  ///< the one used last is first
  std::size_t bindings_ = 0;
};

}  // namespace assay
