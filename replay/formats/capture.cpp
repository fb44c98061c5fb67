#include "replay/formats/capture.h"

namespace assay {

Capture::Capture() = default;
Capture::Capture(const Capture& other) = default;
Capture::Capture(Capture&& other) noexcept = default;
auto Capture::operator=(const Capture& other) -> Capture& = default;
auto Capture::operator=(Capture&& other) noexcept -> Capture& = default;
Capture::~Capture() = default;

}  // namespace assay
