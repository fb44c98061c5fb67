// C++ kernels: what is read is sound and round-trips through the text form.
#include "compiler/program/text.h"
#include "compiler/read/cpp.h"
#include "core/base/check.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" auto LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) -> int {
  assay::ExprPool pool;
  const auto kernel = assay::read_cpp(assay::fuzz::as_text(data, size), pool);
  if (!kernel || !kernel->is_understood()) return 0;
  ASSAY_CHECK(assay::verify(*kernel).empty(), "a kernel that was read breaks a rule");
  const auto text = assay::print_kernel(*kernel);
  const auto again = assay::parse_kernel(text, pool);
  ASSAY_CHECK(again && assay::print_kernel(*again) == text, "the text form does not round-trip");
  return 0;
}
