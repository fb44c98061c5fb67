#include "replay/report/node_values.h"

#include "replay/report/program_record.h"

namespace assay {

auto NodeValues::tap() -> std::function<void(std::size_t, const Datum&)> {
  return [this](std::size_t at, const Datum& value) { values_[at] = first_values(value); };
}

auto NodeValues::rows(const Capture& capture, const DebugReport& report, const MoreRows& more) const
    -> MoreRows {
  return
      [this, &capture, &report, more](TraceWriter& writer, const RecordedIds& ids) -> Result<void> {
        for (const auto& [at, values] : values_) {
          const auto id = ids.nodes.find(capture.graph.nodes[at].id);
          if (id == ids.nodes.end()) continue;
          const auto* source = report.run.nodes[at].made_up.values ? "made-up" : "graph";
          ASSAY_TRY_VOID(record_values(writer, id->second, {}, source, values));
        }
        return more ? more(writer, ids) : Result<void>{};
      };
}

}  // namespace assay
