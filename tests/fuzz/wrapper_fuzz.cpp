// Inductor wrappers: read, and read the Triton kernels in them.
#include "compiler/loop/kernel.h"
#include "compiler/read/wrapper.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" auto LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) -> int {
  const auto program = assay::read_wrapper(assay::fuzz::as_text(data, size));
  if (!program) return 0;
  for (const auto& [name, source] : program->kernels)
    (void)assay::read_kernel(source.text, program->env.pool());
  return 0;
}
