// A bound program on a GPU: buffers in its memory, launches and library calls prepared, between
// steps of the host captured as graphs of the driver.
#pragma once
#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "compiler/cuda/gpu_calls.h"
#include "compiler/cuda/gpu_code.h"
#include "compiler/cuda/tuning.h"
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
  /// A way to try; without `loaded` the one that `load` gives.
  struct Offer {
    GpuWay way;
    std::optional<Loaded> loaded;
  };
  /// That one first; nothing else where it is known to be the best, or where there is no choice.
  [[nodiscard]] virtual auto offers(const std::string& kernel, const TileLaunch& launch)
      -> std::vector<Offer> = 0;
  /// The best way of a launch, which `load` gives from here on.
  virtual void prefer(const std::string& kernel, const TileLaunch& launch, const GpuWay& way) = 0;
  /// Makes the code that these launches need, several kernels at a time. What fails here fails
  /// again, with its reason, when it is loaded.
  virtual void prepare(const std::vector<std::pair<std::string, TileLaunch>>& launches) = 0;
};

/// Memory for temporaries. Only one program runs at a time, so all take the same.
struct GpuArena {
  GpuArena(cuda::Driver& of, cuda::Address from, std::size_t size)
      : driver(of), address(from), bytes(size) {}
  ~GpuArena() { driver.free(address); }
  GpuArena(const GpuArena&) = delete;
  auto operator=(const GpuArena&) -> GpuArena& = delete;
  cuda::Driver& driver;
  cuda::Address address;
  std::size_t bytes;
};

/// Instantiated graphs, which are few: a program that needs one takes over the one whose use is the
/// longest ago, since an update costs less than an instantiation.
class GpuGraphs {
 public:
  explicit GpuGraphs(cuda::Driver& driver) : driver_(driver) {}
  ~GpuGraphs();
  GpuGraphs(const GpuGraphs&) = delete;
  auto operator=(const GpuGraphs&) -> GpuGraphs& = delete;
  /// What runs `graph`. Errors: of the driver.
  [[nodiscard]] auto exec_for(cuda::GraphHandle* graph) -> Result<cuda::GraphExecHandle*>;
  /// Programs of so many graphs come: a few of them shall keep theirs.
  void make_room(std::size_t graphs) { most_ = std::max(most_, 4 * graphs); }
  /// The graph is about to be destroyed.
  void forget(const cuda::GraphHandle* graph);

 private:
  struct Entry {
    const cuda::GraphHandle* graph = nullptr;  ///< nothing: free
    cuda::GraphExecHandle* exec = nullptr;
  };
  cuda::Driver& driver_;
  std::list<Entry> entries_;  ///< the one used last is first
  std::size_t most_ = 4;
};

/// What programs on one GPU share.
struct GpuShared {
  cuda::Driver& driver;
  GpuLibraries& libraries;
  GpuGraphs& graphs;
  std::shared_ptr<GpuArena>& arena;
  MemoryPlan& plan;  ///< of the program's last binding
  bool is_checked = false;
  cuda::LaunchWatch* watch = nullptr;
};

class GpuProgram {
 public:
  /// Errors: unsupported (a kernel without code; callers run statement by statement then), memory.
  [[nodiscard]] static auto make(BoundProgram bound, GpuShared shared, GpuLoader& loader)
      -> Result<std::unique_ptr<GpuProgram>>;
  ~GpuProgram();
  GpuProgram(const GpuProgram&) = delete;
  auto operator=(const GpuProgram&) -> GpuProgram& = delete;

  /// Inputs must fit the binding; they come back as the program left them.
  [[nodiscard]] auto run(const DatumList& inputs) -> Result<ProgramRun>;
  /// The inputs stay on the GPU; outputs are not fetched.
  [[nodiscard]] auto measure(const DatumList& inputs, int calls) -> Result<ProgramTimes>;
  /// Runs the program once and measures at each launch what the loader offers for it. What programs
  /// are made with afterwards is the loader's matter. Nothing where there was no choice.
  [[nodiscard]] auto tune(const DatumList& inputs, GpuLoader& loader)
      -> Result<std::vector<TunedLaunch>>;
  /// Before the program was made: evaluating its host side.
  void add_time(const char* part, double seconds) { first_parts_[part] += seconds; }

 private:
  struct Launch {
    cuda::FunctionHandle* function = nullptr;
    cuda::LaunchShape shape;
    std::vector<std::uint64_t> values;  ///< of the arguments
    std::vector<void*> arguments;
    const HostOp* op = nullptr;
    const TileKernel* kernel = nullptr;
    std::vector<std::int64_t> extents;  ///< of exact axes
    std::size_t record = 0;             ///< number among the records
    std::size_t step = 0;               ///< of the launch
  };
  struct Work {
    std::unique_ptr<cuda::GpuWork> work;
    const HostOp* op = nullptr;
    std::string name;  ///< of the operator
  };
  using Item = std::variant<Launch, Work>;
  /// Launches and library calls one behind the other, or one call or copy on the host.
  struct Part {
    std::vector<Item> items;
    std::size_t first = 0;               ///< how many items the parts before it have
    std::size_t step = 0;                ///< of the call or copy
    cuda::GraphHandle* graph = nullptr;  ///< nothing: issued one by one
  };
  GpuProgram(BoundProgram bound, GpuShared shared)
      : bound_(std::move(bound)), shared_(shared), driver_(shared.driver) {}
  [[nodiscard]] auto place_inputs() -> Result<void>;
  [[nodiscard]] auto place_buffers() -> Result<void>;
  /// Of checked code: who touched each element of a buffer. None where launches see elements of
  /// different sizes in it.
  struct Shadow {
    cuda::Address at = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] auto place_shadows() -> Result<void>;
  [[nodiscard]] auto shadow_of(std::size_t buffer) const -> Shadow {
    return shadows_.empty() ? Shadow() : shadows_[buffer];
  }
  /// Inputs are whole, nobody has written the rest.
  [[nodiscard]] auto clear_shadows() -> Result<void>;
  /// Somebody else than a kernel wrote the buffers of a step.
  [[nodiscard]] auto written_by(const BoundStep& step) const -> std::vector<std::size_t>;
  [[nodiscard]] auto own(std::int64_t bytes) -> Result<cuda::Address>;
  [[nodiscard]] static auto asked(const BoundLaunch& launch) -> TileLaunch;
  void prepare_kernels(GpuLoader& loader) const;
  [[nodiscard]] auto add(const BoundLaunch& launch, std::size_t step, GpuLoader& loader)
      -> Result<void>;
  [[nodiscard]] auto made_launch(const BoundLaunch& launch, const GpuLoader::Launches& loaded,
                                 std::size_t kernel, const std::vector<std::uint64_t>& behind,
                                 std::size_t record) const -> Launch;
  [[nodiscard]] auto arguments(const BoundLaunch& launch, const GpuVariant& variant,
                               const GpuLoader::Launches& loaded,
                               const std::vector<std::uint64_t>& behind, std::size_t record) const
      -> std::vector<std::uint64_t>;
  /// The part that takes what comes next on the GPU.
  [[nodiscard]] auto last_part() -> Part&;
  /// A call or copy: on the GPU if a library does it, else on the host.
  template <class Step>
  [[nodiscard]] auto add(const Step& step, std::size_t at) -> Result<void>;
  [[nodiscard]] auto issue(Part& part) -> Result<void>;
  /// Tells who watches, and waits if asked to.
  [[nodiscard]] auto issue(Item& item, std::size_t number) -> Result<void>;
  [[nodiscard]] auto issue(Launch& launch) -> Result<void>;
  [[nodiscard]] auto note_of(const Item& item, std::size_t number) const -> cuda::LaunchNote;
  void note_all(const Part& part) const;
  [[nodiscard]] auto is_one_by_one() const -> bool {
    return shared_.watch != nullptr && shared_.watch->one_by_one();
  }
  [[nodiscard]] auto capture(Part& part) -> Result<void>;
  void make_graph(Part& part);
  [[nodiscard]] auto ready_graphs() -> Result<void>;
  [[nodiscard]] auto send(const DatumList& inputs) -> Result<void>;
  [[nodiscard]] auto run_parts() -> Result<void>;
  [[nodiscard]] auto on_host(std::size_t at) -> Result<void>;
  // gpu_tuning.cpp
  /// Memory that a launch writes, as it was before.
  struct Written {
    cuda::Address at = 0, saved = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] auto saved_writes(const Launch& launch) -> Result<std::vector<Written>>;
  [[nodiscard]] auto may_repeat(const Launch& launch, const std::vector<Written>& written) const
      -> bool;
  [[nodiscard]] auto tune(Part& part, std::size_t first, GpuLoader& loader) -> Result<TunedLaunch>;

  [[nodiscard]] auto host_costs() -> Result<HostCosts>;
  [[nodiscard]] auto read_records(ProgramRun& run) -> Result<void>;

  BoundProgram bound_;
  GpuShared shared_;
  cuda::Driver& driver_;
  MemoryPlan plan_;
  std::shared_ptr<GpuArena> arena_;
  std::vector<cuda::Address> owned_;   ///< freed at the end
  std::vector<cuda::Address> places_;  ///< by buffer
  std::vector<Part> parts_;
  cuda::Address records_ = 0;    ///< one per launch
  std::vector<Shadow> shadows_;  ///< by buffer
  std::size_t launches_ = 0;
  std::size_t items_ = 0;                      ///< of all parts
  std::map<std::string, int> on_host_;         ///< how often each operator runs there
  std::map<std::string, double> first_parts_;  ///< s
};

}  // namespace assay
