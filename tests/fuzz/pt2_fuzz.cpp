// Archives of torch.export, as raw bytes and as a list of files to be packed.
#include "replay/formats/capture.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/round_trip.h"

extern "C" auto LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) -> int {
  using namespace assay;  // NOLINT(google-build-using-namespace): one function
  const auto text = fuzz::as_text(data, size);
  const auto files = fuzz::parse_files(text);
  const auto packed = fuzz::pack_files(files);
  if (const auto capture = read_pt2(files.empty() ? text : packed))
    fuzz::check_round_trip(capture->graph);
  return 0;
}
