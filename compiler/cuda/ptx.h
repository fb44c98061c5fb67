// PTX for kernels: what the code generator, a library of its own that needs LLVM, gives to the
// executor. Nothing here knows LLVM, and nothing here needs a GPU.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/cuda/tile_layout.h"
#include "compiler/program/kernel.h"
#include "core/base/result.h"

namespace assay {

/// A tile kernel (no axis is exact) with everything that is chosen before its code is made.
struct PtxRequest {
  const TileKernel* kernel = nullptr;
  TileLayout layout;
  std::string name;        ///< of the entry
  int most_registers = 0;  ///< that a thread may take; 0: as many as it wants
};

/// What may be wrong with a launch.
enum class GpuFault : std::int64_t {
  false_assert,    ///< of the kernel's own
  out_of_bounds,   ///< an access outside of the memory
  uninitialised,   ///< an element is read that nobody wrote
  write_conflict,  ///< two programs of the grid write one element
  read_conflict,   ///< one program reads what another writes
};

/// What a thread leaves for the host; the first thread of a launch that meets a fault does.
struct GpuRecord {
  std::int64_t line = 0;    ///< of the kernel's text, plus one; 0: nothing happened
  std::int64_t param = -1;  ///< whose memory; -1: an assert
  std::int64_t element = 0;
  GpuFault fault = GpuFault::false_assert;
};

/// Who wrote and who read an element of watched memory last: the launch's number in the upper 16
/// bits, the program of the grid in the lower 32. 0: nobody; all ones: somebody else.
struct GpuShadow {
  std::uint64_t writer = 0, reader = 0;
};

/// The entry takes eight bytes per parameter of the kernel, in order (pointers, int64, float64),
/// then a pointer to a GpuRecord. Checked code takes four int64 per buffer behind it: the first
/// index that may be accessed, and the first that may not any more (other accesses do not happen);
/// the address of the GpuShadow of index 0, or 0; the launch's number, shifted to its place there.
struct PtxCode {
  std::string text;
  std::string not_compiled;  ///< why there is no text
};

struct PtxOptions {
  int architecture = 80;  ///< compute capability, ten times the major one
  bool is_checked = false;
};

/// Entry of the code generator's library.
using CompilePtx = Result<std::vector<PtxCode>> (*)(const std::vector<PtxRequest>& requests,
                                                    const PtxOptions& options);
inline constexpr const char* kCompilePtxSymbol = "assay_compile_ptx";

}  // namespace assay
