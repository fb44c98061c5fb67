// The text form of kernels: what it accepts keeps the rules, prints, and reads as the same kernel.
#include "compiler/program/text.h"
#include "core/base/check.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" auto LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) -> int {
  assay::ExprPool pool;
  const auto kernel = assay::parse_kernel(assay::fuzz::as_text(data, size), pool);
  if (!kernel) return 0;
  const auto problems = assay::verify(*kernel);
  ASSAY_CHECK(problems.empty(), "a kernel that breaks a rule was accepted: {}", problems.front());
  const auto text = assay::print_kernel(*kernel);
  const auto again = assay::parse_kernel(text, pool);
  ASSAY_CHECK(again.has_value(), "{}\n{}", again.error().message, text);
  ASSAY_CHECK(assay::print_kernel(*again) == text, "the text form does not round-trip:\n{}", text);
  ASSAY_CHECK(assay::structural_hash(*again) == assay::structural_hash(*kernel),
              "another kernel after printing:\n{}", text);
  return 0;
}
