// Triton kernels.
#include "compiler/loop/kernel.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" auto LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) -> int {
  assay::ExprPool pool;
  (void)assay::read_kernel(assay::fuzz::as_text(data, size), pool);
  return 0;
}
