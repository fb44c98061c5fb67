// Whether reference pictures are compared or rewritten.
#pragma once

namespace assay::testing {

/// `--update` was given to the test program.
[[nodiscard]] auto updates_pictures() -> bool;

}  // namespace assay::testing
