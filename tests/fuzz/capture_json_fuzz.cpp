// Captures as JSON.
#include "replay/formats/capture.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/round_trip.h"

extern "C" auto LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) -> int {
  const auto text = assay::fuzz::as_text(data, size);
  if (const auto capture = assay::read_capture_json(text))
    assay::fuzz::check_round_trip(capture->graph);
  return 0;
}
