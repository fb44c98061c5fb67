// What print(exported_program) says below its graph.
#pragma once
#include <string_view>

#include "replay/formats/capture.h"

namespace assay {

/// Reads `Graph signature:` (roles of inputs and outputs; the forms of PyTorch 2.1, 2.2 to 2.6 and
/// since) and `Range constraints:` into the capture; `first_line` is the number of the text's first
/// line. Other text is left alone; what is not understood becomes a warning with its line.
void read_export_text(std::string_view text, int first_line, Capture& capture);

}  // namespace assay
