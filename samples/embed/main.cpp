// Debugs a capture from a program of one's own: prints what `assay debug` prints.
#include <cstdio>

#include "replay/bundle/open.h"
#include "replay/report/debug_report.h"

int main(int argc, char** argv) {
  const auto capture = argc > 1 ? assay::open_capture(argv[1]) : assay::bad_input("no file named");
  if (!capture) return std::fprintf(stderr, "%s\n", capture.error().message.c_str()), 3;
  const auto report = assay::debug_capture(*capture, assay::build_op_table(), {});
  if (!report) return std::fprintf(stderr, "%s\n", report.error().message.c_str()), 3;
  std::puts(assay::debug_text(*capture, *report, {}).c_str());
  return report->counts.roots > 0 ? 1 : 0;
}
