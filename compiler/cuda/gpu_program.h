// A bound program on a GPU: buffers in its memory, launches and library calls prepared. The first
// call issues each while the next one is prepared; from the third on what is between steps of the
// host is a graph of the driver, which the second one makes while the GPU is at work.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/cuda/gpu_calls.h"
#include "compiler/cuda/gpu_code.h"
#include "compiler/cuda/gpu_graphs.h"
#include "compiler/cuda/shadow_scan.h"
#include "compiler/cuda/tuning.h"
#include "compiler/runtime/bound.h"
#include "compiler/runtime/memory_plan.h"
#include "core/base/clock.h"

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
  /// One behind the other; arguments are the launch's, then parts, counters if any, then numbers.
  struct Launches {
    std::vector<Loaded> kernels;
    std::vector<std::int64_t> parts_bytes, numbers;
    std::int64_t counters = 0;
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

/// In every byte of a shadow that somebody else than a kernel wrote.
inline constexpr std::uint8_t kSomebody = 0xFF;

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
  [[nodiscard]] static auto asked(const BoundLaunch& launch) -> TileLaunch;  ///< no arguments

  /// Inputs must fit the binding; they come back as the program left them.
  [[nodiscard]] auto run(const DatumList& inputs) -> Result<ProgramRun>;
  /// Outputs are fetched before the clock starts and when it has stopped.
  [[nodiscard]] auto measure(const DatumList& inputs, const MeasureOptions& options)
      -> Result<ProgramTimes>;
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
    const TileKernel* given = nullptr;
    std::vector<std::int64_t> extents;  ///< of its axes
    std::size_t record = 0;             ///< number among the records
  };
  struct Work {
    std::unique_ptr<cuda::GpuWork> work;
    const HostOp* op = nullptr;
    std::string name;  ///< of the operator
  };
  using Item = std::variant<Launch, Work>;
  /// Of the bound program: launches and library calls, or a call or copy on the host.
  struct Step {
    std::vector<Item> items;
    std::size_t first = 0;  ///< how many items the steps before it have
    bool is_prepared = false, is_on_host = false;
  };
  /// Steps on the GPU one behind the other, or one on the host.
  struct Part {
    std::size_t begin = 0, end = 0, items = 0;
    cuda::GraphHandle* graph = nullptr;  ///< nothing: issued one by one
  };
  GpuProgram(BoundProgram bound, GpuShared shared)
      : bound_(std::move(bound)), shared_(shared), driver_(shared.driver) {}
  /// Nothing is left of what a call before made.
  [[nodiscard]] auto send_afresh(const DatumList& inputs) -> Result<void>;
  /// As they are on the GPU; of buffers in `fetched` that storage is one's.
  [[nodiscard]] auto outputs(std::map<std::size_t, std::shared_ptr<Storage>> fetched = {})
      -> Result<DatumList>;
  [[nodiscard]] auto place_inputs() -> Result<void>;
  [[nodiscard]] auto place_buffers() -> Result<void>;
  [[nodiscard]] auto place_shadows() -> Result<void>;
  [[nodiscard]] auto shadow_of(std::size_t buffer) const -> ShadowMemory {
    return shadows_.empty() ? ShadowMemory() : shadows_[buffer];
  }
  /// Inputs are whole, nobody has written the rest.
  [[nodiscard]] auto clear_shadows() -> Result<void>;
  /// Somebody else than a kernel wrote the buffers of a step.
  [[nodiscard]] auto written_by(const BoundStep& step) const -> std::vector<std::size_t>;
  [[nodiscard]] auto own(std::int64_t bytes) -> Result<cuda::Address>;
  [[nodiscard]] auto counters(std::int64_t count) -> Result<cuda::Address>;
  /// All of them, since what has no code shall be known before anything is issued.
  [[nodiscard]] auto prepare_kernels(GpuLoader& loader) -> Result<void>;
  [[nodiscard]] auto add(const BoundLaunch& launch, const TileLaunch& asked, Step& step,
                         GpuLoader& loader) -> Result<void>;
  [[nodiscard]] auto made_launch(const BoundLaunch& launch, const GpuLoader::Launches& loaded,
                                 std::size_t kernel, const std::vector<std::uint64_t>& behind,
                                 std::size_t record) const -> Launch;
  [[nodiscard]] auto arguments(const BoundLaunch& launch, const GpuVariant& variant,
                               const GpuLoader::Launches& loaded,
                               const std::vector<std::uint64_t>& behind, std::size_t record) const
      -> std::vector<std::uint64_t>;
  /// A call or copy, once: on the GPU if a library does it, else on the host.
  void prepare(std::size_t at);
  void prepare(const auto& what, Step& step, const std::string& name);
  void leave_to_host(const auto& what, Step& step, const std::string& why);
  [[nodiscard]] auto issue(Step& step) -> Result<void>;
  /// Tells who watches, and waits if asked to.
  [[nodiscard]] auto issue(Item& item, std::size_t number) -> Result<void>;
  [[nodiscard]] auto issue(Launch& launch) -> Result<void>;
  [[nodiscard]] auto note_of(const Item& item, std::size_t number) const -> cuda::LaunchNote;
  void note_all(const Part& part) const;
  [[nodiscard]] auto is_one_by_one() const -> bool {
    return shared_.watch != nullptr && shared_.watch->one_by_one();
  }
  [[nodiscard]] auto send(const DatumList& inputs) -> Result<void>;
  [[nodiscard]] auto run_steps() -> Result<void>;
  [[nodiscard]] auto on_host(std::size_t at) -> Result<void>;
  // gpu_first_call.cpp
  /// Every step is issued as soon as it is prepared. After an error it may be called again.
  [[nodiscard]] auto first_call() -> Result<void>;
  [[nodiscard]] auto first_issue(std::size_t at) -> Result<void>;
  /// What is under way since the host waited, as far as it has been issued.
  void note_so_far(std::size_t at);
  /// Steps know how many items are before them.
  void count_items();
  void make_parts();
  /// What cannot be captured is issued one by one.
  void make_graphs();
  [[nodiscard]] auto capture(const Part& part) -> Result<cuda::GraphHandle*>;
  /// Adds what `work` takes to a part of the first call.
  auto timed(const char* part, const auto& work) {
    const auto start = Clock::now();
    auto result = work();
    first_parts_[part] += seconds_since(start);
    return result;
  }
  // gpu_tuning.cpp
  /// Memory that a launch writes, as it was before.
  struct Written {
    cuda::Address at = 0, saved = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] auto saved_writes(const BoundLaunch& bound, const TileKernel& kernel)
      -> Result<std::vector<Written>>;
  [[nodiscard]] auto may_repeat(const BoundLaunch& bound, const TileKernel& kernel,
                                const std::vector<Written>& written) const -> bool;
  [[nodiscard]] auto tune(std::size_t at, GpuLoader& loader) -> Result<TunedLaunch>;

  [[nodiscard]] auto host_costs() -> Result<HostCosts>;
  [[nodiscard]] auto read_records(ProgramRun& run) -> Result<void>;
  /// Elements that a call or copy is about to read and nobody wrote.
  [[nodiscard]] auto check_reads(std::size_t at) -> Result<void>;
  [[nodiscard]] auto unwritten_in(std::size_t buffer, const RealMeta& view, bool is_stored)
      -> Result<std::optional<RunFinding>>;
  /// Of a copy of what nobody wrote: who read that, and where.
  void blame(RunFinding& finding, UnwrittenOrigin origin) const;
  /// What a record says about its launch; in checked code also that other arguments were used.
  [[nodiscard]] auto finding_of_launch(const GpuRecord& record, const Launch& launch) const
      -> std::optional<RunFinding>;
  /// In checked mode what leaves the program is looked at, and the graphs that later calls take run
  /// as well, where a second call draws no random numbers.
  [[nodiscard]] auto check_results(const DatumList& inputs, ProgramRun& run) -> Result<void>;

  BoundProgram bound_;
  GpuShared shared_;
  cuda::Driver& driver_;
  MemoryPlan plan_;
  std::shared_ptr<GpuArena> arena_;
  std::vector<cuda::Address> owned_;                 ///< freed at the end
  std::pair<cuda::Address, std::int64_t> counters_;  ///< room for more, and its bytes
  std::vector<cuda::Address> places_;                ///< by buffer
  std::vector<Step> steps_;
  std::vector<Part> parts_;    ///< when all steps are prepared
  bool is_complete_ = false;   ///< they are, and were issued
  bool was_repeated_ = false;  ///< graphs are there
  std::optional<cuda::LaunchNote> under_way_;
  cuda::Address records_ = 0;               ///< one per launch
  std::vector<ShadowMemory> shadows_;       ///< by buffer
  std::vector<RunFinding> read_unwritten_;  ///< by calls of the first call
  std::size_t launches_ = 0;
  std::size_t items_ = 0;                      ///< of all steps; 0 as long as it is not known
  std::map<std::string, int> on_host_;         ///< how often each operator runs there
  std::map<std::string, double> first_parts_;  ///< s, one after the other
  std::map<std::string, double> second_parts_;
};

}  // namespace assay
