// torch.vmap in Dynamo's graphs: since PyTorch 2.9 these keep its calls (torch/_functorch/
// predispatch.py) around operators that are written as if they worked on one example.
#pragma once
#include "core/graph/graph.h"

namespace assay {

/// The same graph on whole batches: a value of an example gets one leading dimension for each
/// level of vmap, of size 1 where it has no such batch, and no claim, since the text's is an
/// example's. A graph comes back as it is where it has no vmap, or another operator inside of it
/// than elementwise ones, lookups in what has no batch, and new tensors.
[[nodiscard]] auto without_batching(Graph graph) -> Graph;

}  // namespace assay
