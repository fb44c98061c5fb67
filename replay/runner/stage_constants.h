// Constants of graphs whose values no log holds.
#pragma once
#include <vector>

#include "replay/runner/stage_inputs.h"

namespace assay {

/// What a function makes of numbers (`torch.tensor(3)`, `x[0] = 3`) is an attribute of the graphs
/// behind it, `_tensor_constant0` and so on in the order of the calls (get_fresh_qualname of
/// torch/fx/proxy.py). Where a stage wants one that nothing gives, the function's graph runs for
/// them; one that is not as the stage says is left out.
void add_constants(const std::vector<Stage>& stages, StageInputs& inputs, const OpTable& table);

}  // namespace assay
