// The text of torch_worker.py.
#pragma once
#include <string_view>

namespace assay {

extern const std::string_view kTorchWorkerScript;

}  // namespace assay
