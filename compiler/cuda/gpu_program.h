// A bound program on a GPU: buffers in its memory, launches and library calls prepared, between
// steps of the host captured as graphs of the driver.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "compiler/cuda/gpu_calls.h"
#include "compiler/cuda/gpu_code.h"
#include "compiler/runtime/bound.h"
#include "compiler/runtime/memory_plan.h"

namespace assay {

/// Gives kernels their code. Errors: unsupported (no code), what the driver says.
class GpuLoader {
 public:
  virtual ~GpuLoader() = default;
  struct Loaded {
    const GpuVariant* variant = nullptr;
    cuda::LaunchShape shape;
    std::vector<std::int64_t> extents;  ///< of exact axes
  };
  /// One behind the other; arguments are those of the launch, then buffers of parts, then numbers.
  struct Launches {
    std::vector<Loaded> kernels;
    std::vector<std::int64_t> parts_bytes, numbers;
  };
  [[nodiscard]] virtual auto load(const std::string& kernel, const TileLaunch& launch)
      -> Result<Launches> = 0;
};

class GpuProgram {
 public:
  /// Errors: unsupported (a kernel without code; callers run statement by statement then), memory.
  [[nodiscard]] static auto make(BoundProgram bound, cuda::Driver& driver, GpuLoader& loader,
                                 GpuLibraries& libraries, bool is_checked)
      -> Result<std::unique_ptr<GpuProgram>>;
  ~GpuProgram();
  GpuProgram(const GpuProgram&) = delete;
  auto operator=(const GpuProgram&) -> GpuProgram& = delete;

  /// Inputs must fit the binding; they come back as the program left them.
  [[nodiscard]] auto run(const DatumList& inputs) -> Result<ProgramRun>;
  /// The inputs stay on the GPU; outputs are not fetched.
  [[nodiscard]] auto measure(const DatumList& inputs, int calls) -> Result<ProgramTimes>;

 private:
  struct Launch {
    cuda::FunctionHandle* function = nullptr;
    cuda::LaunchShape shape;
    std::vector<std::uint64_t> values;  ///< of the arguments
    std::vector<void*> arguments;
    const HostOp* op = nullptr;
    const TileKernel* kernel = nullptr;
    std::size_t record = 0;  ///< number among the records
  };
  using Work = std::unique_ptr<cuda::GpuWork>;
  /// Launches and library calls one behind the other, or one call or copy on the host.
  struct Part {
    std::vector<std::variant<Launch, Work>> items;
    std::size_t step = 0;  ///< of the call or copy
    cuda::GraphHandle* graph = nullptr;
    cuda::GraphExecHandle* exec = nullptr;
  };
  GpuProgram(BoundProgram bound, cuda::Driver& driver)
      : bound_(std::move(bound)), driver_(driver) {}
  [[nodiscard]] auto place_buffers() -> Result<void>;
  [[nodiscard]] auto own(std::int64_t bytes) -> Result<cuda::Address>;
  [[nodiscard]] auto add(const BoundLaunch& launch, GpuLoader& loader) -> Result<void>;
  [[nodiscard]] auto arguments(const BoundLaunch& launch, const GpuVariant& variant,
                               const GpuLoader::Launches& loaded,
                               const std::vector<std::uint64_t>& behind) const
      -> std::vector<std::uint64_t>;
  /// The part that takes what comes next on the GPU.
  [[nodiscard]] auto last_part() -> Part&;
  /// A call or copy: on the GPU if a library does it, else on the host.
  template <class Step>
  [[nodiscard]] auto add(const Step& step, std::size_t at, GpuLibraries& libraries) -> Result<void>;
  [[nodiscard]] auto issue(Part& part) -> Result<void>;
  [[nodiscard]] auto make_graph(Part& part) -> Result<void>;
  [[nodiscard]] auto send(const DatumList& inputs) -> Result<void>;
  [[nodiscard]] auto run_parts() -> Result<void>;
  [[nodiscard]] auto on_host(std::size_t at) -> Result<void>;
  [[nodiscard]] auto read_records(ProgramRun& run) -> Result<void>;

  BoundProgram bound_;
  cuda::Driver& driver_;
  MemoryPlan plan_;
  std::vector<cuda::Address> owned_;   ///< freed at the end
  std::vector<cuda::Address> places_;  ///< by buffer
  std::vector<Part> parts_;
  cuda::Address records_ = 0;  ///< one per launch
  std::size_t launches_ = 0;
  std::map<std::string, int> on_host_;  ///< how often each operator runs there
  bool is_checked_ = false;
};

}  // namespace assay
