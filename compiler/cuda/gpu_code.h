// Kernels of one program on a GPU: their variants by facts of a launch, made when they are needed.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "compiler/cuda/ptx.h"
#include "compiler/cuda/splitting.h"
#include "compiler/cuda/tile_tail.h"
#include "compiler/cuda/tiling.h"
#include "compiler/interpret/tile_machine.h"
#include "compiler/program/program.h"
#include "compiler/runtime/cuda/driver.h"

namespace assay {

/// What a launch is made for; kernels of exact axes have a choice of tiles, others blocks.
struct GpuVariantKey {
  TileChoice choice;
  std::vector<std::int64_t> blocks;
  /// What of it code depends on.
  [[nodiscard]] auto code() const -> GpuVariantKey { return {choice.code(), blocks}; }
  friend auto operator<=>(const GpuVariantKey&, const GpuVariantKey&) = default;
};

/// Code of a kernel for some blocks, without a GPU.
struct GpuVariant {
  const TileKernel* given = nullptr;  ///< whose axes extents are of
  TiledKernel tiled;                  ///< as it is compiled
  std::vector<std::int64_t> blocks;   ///< by axis, where the launch does not say
  [[nodiscard]] auto kernel() const -> const TileKernel& { return tiled.kernel; }
  /// Puts what tiles need beside the kernel's own arguments into `values`, by parameter.
  void add_numbers(const std::vector<std::int64_t>& extents, const cuda::LaunchShape& shape,
                   std::vector<std::uint64_t>& values) const;
  TileLayout layout;
  int most_registers = 0;     ///< of a thread; 0: no limit
  bool begins_early = false;  ///< of its code: PtxOptions::begins_early
  std::string ptx, not_compiled;
  cuda::FunctionHandle* function = nullptr;
};

class GpuKernel;

/// A launch as two, which take the arguments of the launch, then the buffers of parts, then one of
/// int32 that are 0, then numbers.
struct SplitLaunch {
  std::vector<const GpuKernel*> kernels;
  std::vector<std::vector<std::int64_t>> extents;
  std::vector<std::int64_t> numbers;
  std::vector<std::int64_t> parts_bytes;
  std::int64_t counters = 1;            ///< how many int32
  const GpuKernel* together = nullptr;  ///< both as one, which has no checked code
  /// As one launch, if that can be.
  void join();
};

/// A kernel and what is chosen for its launches. Needs no GPU.
class GpuKernel {
 public:
  /// `most_ranks`: blocks that a cluster may have on the GPU.
  explicit GpuKernel(const TileKernel& kernel, std::int64_t most_ranks = kMostRanks,
                     std::optional<TileClip> clip = {}, const TileTail& tail = {});
  ~GpuKernel();
  GpuKernel(const GpuKernel&) = delete;
  auto operator=(const GpuKernel&) -> GpuKernel& = delete;
  /// Few long rows are reduced in parts; nothing for other launches.
  [[nodiscard]] auto split(const TileLaunch& launch) const -> std::optional<SplitLaunch>;
  [[nodiscard]] auto key(const TileLaunch& launch) const -> GpuVariantKey;
  /// That one, then others that may be faster.
  [[nodiscard]] auto candidates(const TileLaunch& launch) const -> std::vector<GpuVariantKey>;
  /// Without code. Errors: unsupported.
  [[nodiscard]] auto variant(const GpuVariantKey& key) const -> Result<GpuVariant>;
  /// Programs of the launch. Errors: unsupported (a grid that is not known, or too large).
  [[nodiscard]] auto shape(const GpuVariantKey& key, const GpuVariant& variant,
                           const TileLaunch& launch) const -> Result<cuda::LaunchShape>;
  [[nodiscard]] auto kernel() const -> const TileKernel& { return kernel_; }
  [[nodiscard]] auto is_exact() const -> bool { return is_exact_; }
  /// Its loops, of exact axes; null where it has none.
  [[nodiscard]] auto loops() const -> const KernelPlan* { return plan_ ? &plan_->loops : nullptr; }
  /// Blocks of threads that a launch of it has, as it is; 0: not known.
  [[nodiscard]] auto blocks(const TileLaunch& launch) const -> std::int64_t;

 private:
  const TileKernel& kernel_;
  std::int64_t most_ranks_;
  bool is_exact_ = false;
  std::optional<TilePlan> plan_;
  TileTail tail_;
  std::string not_planned_;
  struct Split;
  /// By axis and run; null: it cannot be.
  mutable std::map<std::pair<std::size_t, std::int64_t>, std::unique_ptr<Split>> splits_;
};

/// PTX for variants. Errors: missing_tool (no code generator), unsupported.
[[nodiscard]] auto make_ptx(std::vector<GpuVariant*> variants, const PtxOptions& options)
    -> Result<void>;

/// Memory behind a buffer's parameter, for checked code. In bytes.
struct GpuMemory {
  std::int64_t offset = 0, size = 0;
  cuda::Address shadow = 0;  ///< a GpuShadow per element, from the start of the memory; 0: none
};
/// Arguments of checked code before the record, by parameter of the kernel. `launch`: the number of
/// the launch, from 1 to 65534.
void add_memory(const TileKernel& kernel, const std::vector<GpuMemory>& memory,
                std::uint64_t launch, std::vector<std::uint64_t>& values);
/// What a record says about a launch; nothing where nothing happened.
[[nodiscard]] auto finding_of(const GpuRecord& record, const TileKernel& kernel)
    -> std::optional<RunFinding>;

/// "grid 8x1x1, 128 threads, x=1000": of a launch, for people.
[[nodiscard]] auto sizes_text(const cuda::LaunchShape& shape, const TileKernel& kernel,
                              const std::vector<std::int64_t>& extents) -> std::string;

/// The PTX of every kernel of a program, one text after the other, for axes of a thousand elements,
/// or of `extents`, by kernel; of those it says how they are launched. What has no code says why in
/// a comment. Errors: as make_ptx.
[[nodiscard]] auto ptx_text(const HostProgram& program, const PtxOptions& options,
                            const std::map<std::string, std::vector<std::int64_t>>& extents = {})
    -> Result<std::string>;

}  // namespace assay
