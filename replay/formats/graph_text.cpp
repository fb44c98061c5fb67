// read_graph_text: a graph without any recorded values.
#include "core/graph/text.h"
#include "replay/formats/capture.h"

namespace assay {

auto read_graph_text(std::string_view text) -> Result<Capture> {
  Capture capture;
  capture.format = "fx text";
  ASSAY_TRY(capture.graph, parse_graph(text));
  for (const auto& node : capture.graph.nodes)
    if (node.kind == NodeKind::placeholder) capture.inputs.emplace_back();
  return capture;
}

}  // namespace assay
