// Results written over operands that die: proved for a binding, launch by launch.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>

#include "compiler/runtime/bound.h"

namespace assay {

/// Of one program, at any sizes. What its kernels do is derived when it is first asked.
class InPlaceFinder {
 public:
  explicit InPlaceFinder(const HostProgram& program);
  ~InPlaceFinder();
  InPlaceFinder(const InPlaceFinder&) = delete;
  auto operator=(const InPlaceFinder&) -> InPlaceFinder& = delete;
  /// Sets `over` of temporaries whose first launch may write them over an operand: the kernel has
  /// one nest of exact parallel axes, reads the operand at the very index that it writes, before it
  /// writes, and no two lanes write one element. Symbols go into the program's pool.
  void find(BoundProgram& bound);

 private:
  struct Kernel;
  [[nodiscard]] auto kernel(const std::string& name) -> Kernel&;
  void look_at(BoundProgram& bound, std::size_t at, const BoundLaunch& launch);

  const HostProgram& program_;
  std::unordered_map<std::string, std::unique_ptr<Kernel>> kernels_;
};

}  // namespace assay
