// What was recorded of every node against Assay's own run.
#include <gtest/gtest.h>

#include "core/ops/op_table.h"
#include "replay/formats/capture.h"
#include "replay/interp/debug.h"

namespace assay {
namespace {

/// What is found in x.relu() on the second CUDA device. `device` is a member of what was recorded
/// of relu.
auto findings(const std::string& device) -> std::vector<FindingKind> {
  const std::string meta = R"({"dtype": "float32", "size": [2], "stride": [1], "offset": 0)";
  const auto claim = meta + R"(, "device": "cuda:1"})";
  const auto text = R"({"nodes": [
    {"name": "x", "op": "placeholder", "target": "x", "args": [], "val": )" +
                    claim + R"(},
    {"name": "relu", "op": "call_function", "target": "aten.relu.default",
     "args": [{"node": "x"}], "val": )" +
                    claim + R"(},
    {"name": "output", "op": "output", "target": "output", "args": [[{"node": "relu"}]]}],
    "inputs": [{"meta": )" +
                    claim + R"(}], "real": {"x": )" + meta + R"(, "storage_bytes": 8}, "relu": )" +
                    meta + R"(, "storage_bytes": 8)" + device + "}}}";
  const auto capture = read_capture_json(text);
  EXPECT_TRUE(capture) << (capture ? "" : capture.error().message);
  const auto report = debug_capture(*capture, build_op_table(), {});
  EXPECT_TRUE(report) << (report ? "" : report.error().message);
  EXPECT_EQ(report->counts.checked, report->counts.nodes);
  std::vector<FindingKind> kinds;
  for (const auto& finding : report->findings) kinds.push_back(finding.kind);
  return kinds;
}

TEST(Recording, WhereNoDeviceWasRecordedNoneIsCompared) {
  EXPECT_TRUE(findings("").empty());
}

TEST(Recording, ARecordedDeviceIsCompared) {
  EXPECT_TRUE(findings(R"(, "device": "cuda:1")").empty());
  EXPECT_EQ(findings(R"(, "device": "cpu")"), std::vector{FindingKind::wrong_device});
}

}  // namespace
}  // namespace assay
