// What the programs of an executor share: the GPU, libraries, and kernels with their code. Internal
// to compiler/cuda. Whole in this header.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/cuda/call_kernels.h"
#include "compiler/cuda/cuda.h"
#include "compiler/cuda/gpu_code.h"
#include "compiler/cuda/gpu_program.h"
#include "compiler/program/text.h"
#include "compiler/runtime/codegen_library.h"

namespace assay {

using Variants = std::map<GpuVariantKey, GpuVariant>;
/// A kernel of a program with the variants that runs asked for.
struct LoadedKernel {
  LoadedKernel(const TileKernel& kernel, int most_ranks) : gpu(kernel, most_ranks) {}
  GpuKernel gpu;
  Variants variants;
  std::map<const GpuKernel*, Variants> parts;  ///< of what it is split into
  std::string not_compiled;
};

struct CudaState {
  explicit CudaState(const OpTable& table) : call_kernels(table) {}

  std::unique_ptr<cuda::Driver> driver;
  std::unique_ptr<GpuLibraries> libraries;
  std::unique_ptr<GpuGraphs> graphs;
  std::shared_ptr<GpuArena> arena;
  CudaOptions options;
  std::map<std::uint64_t, std::unique_ptr<LoadedKernel>> kernels;  ///< by structure, or address
  std::vector<cuda::ModuleHandle*> modules;
  std::vector<std::shared_ptr<const TileKernel>> kept;
  CallKernels call_kernels;
  std::map<std::string, GpuWay> ways;  ///< of launches that were tuned, by tuning_key

  ~CudaState() {
    if (driver != nullptr) static_cast<void>(driver->wait());  // for a call that failed half-way
    for (auto* module : modules) driver->unload(module);
  }

  /// The code for this launch. Errors: unsupported (no code for the kernel), what the driver says.
  auto variant(const GpuKernel& kernel, Variants& variants, const GpuVariantKey& key)
      -> Result<GpuVariant*> {
    if (const auto known = variants.find(key.code()); known != variants.end())
      return &known->second;
    ASSAY_TRY_VOID(driver->wait());  // lest loading waits for what is not watched
    ASSAY_TRY(auto made, make(kernel, key));
    modules.push_back(made.module);
    return &variants.emplace(key.code(), std::move(made.variant)).first->second;
  }

  auto loaded(const std::shared_ptr<const TileKernel>& kernel) -> LoadedKernel* {
    // Symbols of grids belong to a program; what has exact axes is told extents instead.
    const auto identity = GpuKernel(*kernel).is_exact()
                              ? structural_hash(*kernel)
                              : reinterpret_cast<std::uintptr_t>(kernel.get());
    auto& known = kernels[identity];
    if (known == nullptr) {
      kept.push_back(kernel);
      known = std::make_unique<LoadedKernel>(*kernel, driver->facts().most_ranks);
    }
    return known.get();
  }

  struct Made {
    GpuVariant variant;
    cuda::ModuleHandle* module = nullptr;
  };
  /// Changes nothing here, so several threads may.
  [[nodiscard]] auto make(const GpuKernel& kernel, const GpuVariantKey& key) const -> Result<Made> {
    Made made;
    ASSAY_TRY(made.variant, kernel.variant(key));
    ASSAY_TRY(const auto code, machine_code(made.variant));
    ASSAY_TRY(made.module, driver->load(code));
    ASSAY_TRY(made.variant.function, driver->function(made.module, "kernel"));
    return made;
  }
  [[nodiscard]] auto tunes() const -> bool { return options.is_tuned && !options.is_checked; }
  /// As it was measured, here or in an earlier process; nothing where nobody did.
  [[nodiscard]] auto tuned(const GpuKernel& kernel, const TileLaunch& launch)
      -> std::optional<GpuWay> {
    if (!tunes()) return std::nullopt;
    const auto key = tuning_key(machine(), kernel, launch);
    if (const auto known = ways.find(key); known != ways.end()) return known->second;
    if (options.cache == nullptr) return std::nullopt;
    const auto kept_text = options.cache->find(key);
    if (!kept_text) return std::nullopt;
    const auto way = parse_way(*kept_text);
    if (way) ways[key] = *way;
    return way;
  }
  void prefer(const GpuKernel& kernel, const TileLaunch& launch, const GpuWay& way) {
    const auto key = tuning_key(machine(), kernel, launch);
    ways[key] = way;
    if (options.cache != nullptr) options.cache->keep(key, print_way(way));
  }
  [[nodiscard]] auto machine() const -> std::string {
    return fmt::format("{} {} {}", driver->facts().name, driver->facts().version, codegen_stamp());
  }

  /// Of this GPU, by this driver. Without a cache what the driver makes of PTX is its own matter.
  [[nodiscard]] auto machine_code(GpuVariant& variant) const -> Result<std::string> {
    const PtxOptions ptx{.architecture = driver->facts().capability,
                         .is_checked = options.is_checked};
    variant.begins_early = ptx.begins_early();
    std::string key;
    if (options.cache != nullptr) {
      const auto& layout = variant.layout;
      key = fmt::format("cuda {} {} {} checked {} blocks {} registers {} {} {} placed {}\n{}",
                        driver->facts().version, ptx.architecture, codegen_stamp(), ptx.is_checked,
                        fmt::join(variant.blocks, " "), layout.contiguous_bits,
                        layout.register_bits, variant.most_registers,
                        layout.is_placed() ? layout.threads() : 0, print_kernel(variant.kernel()));
      if (auto known = options.cache->find(key)) return *std::move(known);
    }
    ASSAY_TRY_VOID(make_ptx({&variant}, ptx));
    if (!variant.not_compiled.empty()) return unsupported("{}", variant.not_compiled);
    if (options.cache == nullptr) return variant.ptx;
    ASSAY_TRY(auto code, driver->assemble(variant.ptx));
    options.cache->keep(key, code);
    return code;
  }
};

}  // namespace assay
