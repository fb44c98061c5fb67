// Triton kernels: what is read round-trips through the text form.
#include "compiler/program/text.h"
#include "compiler/read/triton.h"
#include "core/base/check.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" auto LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) -> int {
  assay::ExprPool pool;
  const auto kernel = assay::read_triton(assay::fuzz::as_text(data, size), pool);
  if (!kernel || !assay::verify(*kernel).empty()) return 0;
  const auto text = assay::print_kernel(*kernel);
  const auto again = assay::parse_kernel(text, pool);
  ASSAY_CHECK(again && assay::print_kernel(*again) == text, "the text form does not round-trip");
  return 0;
}
