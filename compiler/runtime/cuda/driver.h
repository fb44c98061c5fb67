// NVIDIA's driver, opened when somebody asks for a GPU: nothing is linked, and a machine without it
// is told so in one line. Declarations are our own; numbers are those of the driver's interface.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/cuda/launch_watch.h"
#include "core/base/result.h"

namespace assay::cuda {

/// An address in the GPU's memory; 0 is none.
using Address = std::uint64_t;
struct ModuleHandle;
struct FunctionHandle;
struct StreamHandle;
struct EventHandle;
struct GraphHandle;
struct GraphExecHandle;
struct ContextHandle;

struct DeviceFacts {
  std::string name;
  int capability = 0;  ///< ten times the major number plus the minor one
  int version = 0;     ///< of CUDA that the driver speaks, a thousand times the major one
  int most_ranks = 1;  ///< blocks that a cluster may have
};

struct LaunchShape {
  std::array<unsigned, 3> grid = {1, 1, 1};
  std::array<unsigned, 3> threads = {1, 1, 1};
  unsigned ranks = 1;         ///< neighbours along the grid's second dimension that are a cluster
  bool begins_early = false;  ///< while the launch before it ends, for which its code waits
  [[nodiscard]] auto count() const -> unsigned { return threads[0] * threads[1] * threads[2]; }
};

struct Functions;

/// The first GPU with its primary context and one stream. Everything happens in the stream's order.
/// Errors name the call of the driver and what it said.
class Driver {
 public:
  /// `watch`, which may be null, must outlive the driver. Errors: missing_tool (no driver, no GPU).
  [[nodiscard]] static auto open(LaunchWatch* watch = nullptr) -> Result<std::unique_ptr<Driver>>;
  ~Driver();
  Driver(const Driver&) = delete;
  auto operator=(const Driver&) -> Driver& = delete;

  [[nodiscard]] auto facts() const -> const DeviceFacts& { return facts_; }

  /// At least 256 bytes aligned; memory that was freed is handed out again.
  [[nodiscard]] auto allocate(std::size_t bytes) -> Result<Address>;
  void free(Address address);
  [[nodiscard]] auto to_device(Address to, std::span<const std::byte> from) -> Result<void>;
  /// Waits for what was launched before.
  [[nodiscard]] auto to_host(std::span<std::byte> to, Address from) -> Result<void>;
  [[nodiscard]] auto copy(Address to, Address from, std::size_t bytes) -> Result<void>;
  [[nodiscard]] auto fill(Address at, std::uint8_t value, std::size_t bytes) -> Result<void>;

  /// Loads PTX, which it assembles, or machine code; several threads may. Errors: the assembler's
  /// own words.
  [[nodiscard]] auto load(const std::string& code) -> Result<ModuleHandle*>;
  /// Machine code of this GPU (a cubin) from PTX; several threads may. Errors: as above.
  [[nodiscard]] auto assemble(const std::string& ptx) -> Result<std::string>;
  void unload(ModuleHandle* module);
  [[nodiscard]] auto function(ModuleHandle* module, const std::string& name)
      -> Result<FunctionHandle*>;
  /// `arguments` point to the values.
  [[nodiscard]] auto launch(FunctionHandle* function, const LaunchShape& shape,
                            std::span<void* const> arguments) -> Result<void>;
  [[nodiscard]] auto wait() -> Result<void>;

  /// Milliseconds of GPU time between begin and end of `work`.
  [[nodiscard]] auto start_clock() -> Result<void>;
  [[nodiscard]] auto stop_clock() -> Result<double>;

  /// For libraries that work in the same order.
  [[nodiscard]] auto stream() const -> StreamHandle* { return stream_; }

  // Graphs of what is issued between begin and end
  [[nodiscard]] auto begin_capture() -> Result<void>;
  [[nodiscard]] auto end_capture() -> Result<GraphHandle*>;
  [[nodiscard]] auto instantiate(GraphHandle* graph) -> Result<GraphExecHandle*>;
  /// Blocks of each node's clusters along x, y and z; nothing on GPUs without clusters.
  [[nodiscard]] auto clusters(GraphHandle* graph) -> Result<std::vector<unsigned>>;
  /// The graph takes the place of what `exec` was made of, whose clusters must be the same: the
  /// driver leaves them as they are, and says nothing. False: their nodes differ, and `exec` is as
  /// it was.
  [[nodiscard]] auto update(GraphExecHandle* exec, GraphHandle* graph) -> bool;
  [[nodiscard]] auto run(GraphExecHandle* exec) -> Result<void>;
  void destroy(GraphHandle* graph, GraphExecHandle* exec);

 private:
  explicit Driver(LaunchWatch* watch);
  [[nodiscard]] auto checked(int status, const char* call) const -> Result<void>;
  [[nodiscard]] auto start() -> Result<void>;

  std::unique_ptr<Functions> functions_;
  LaunchWatch* watch_ = nullptr;
  DeviceFacts facts_;
  int device_ = 0;
  ContextHandle* context_ = nullptr;
  StreamHandle* stream_ = nullptr;
  std::array<EventHandle*, 2> events_ = {};
  struct Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace assay::cuda
