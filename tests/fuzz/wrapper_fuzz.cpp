// Inductor wrappers, with the Triton kernels in them.
#include "compiler/read/wrapper.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" auto LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) -> int {
  (void)assay::read_wrapper(assay::fuzz::as_text(data, size));
  return 0;
}
