// Kernels of the fake GPU, run by a machine for PTX in a process of its own.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fake_gpu {

using Dims = std::array<unsigned, 3>;

/// Memory that both processes see, and the process that runs kernels in it.
class Machine {
 public:
  /// The one that FAKE_GPU_MACHINE asks for, a Python script (tests/gpu/emulated.py); nothing
  /// where it is not set.
  static auto asked() -> Machine*;
  /// 256-byte aligned, with room before and behind that belongs to nobody; 0 where there is none.
  auto allocate(std::size_t bytes) -> std::uint64_t;
  void free(std::uint64_t address);
  /// Blocks, threads of each, blocks of a cluster. What is wrong, or nothing.
  auto run(const std::string& ptx, const Dims& grid, const Dims& threads, unsigned ranks,
           const std::vector<std::uint64_t>& arguments) -> std::string;

 private:
  explicit Machine(const char* script);
  int memory_ = -1, process_ = -1;  ///< file and socket
  std::byte* base_ = nullptr;
  std::size_t used_ = 0;
  std::map<std::uint64_t, std::size_t> sizes_;  ///< by address
};

}  // namespace fake_gpu
