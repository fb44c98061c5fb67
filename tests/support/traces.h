// Traces for tests of readers and views: a small one that lies as a recorded sample does, and large
// ones that are generated.
#pragma once
#include <filesystem>

#include "replay/trace/trace.h"

namespace assay::testing {

/// A folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  auto operator=(const TemporaryFolder&) -> TemporaryFolder& = delete;
  [[nodiscard]] auto path() const -> const std::filesystem::path& { return path_; }
  [[nodiscard]] auto operator/(std::string_view name) const -> std::filesystem::path {
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

/// Seven nodes at s77 = 68: `pad` claims 9,216 bytes over the 8,704 of `relu`; `mul` inherits. Two
/// guards, one false; one refuted proof; two compilations; three reduction steps.
void write_small_trace(const std::filesystem::path& path, bool finalise = true);

/// Two compiled programs of one graph `relu -> pad`: the first ran as it should; in the second,
/// line 2 of kernel `fused_pad_0` leaves `buf1`. First values of nodes and launches.
void write_run_trace(const std::filesystem::path& path);

/// `nodes` nodes in modules of 200 over 24 layers, edges to one to three earlier nodes, a finding
/// every 5,000 nodes.
void write_generated_trace(const std::filesystem::path& path, std::int64_t nodes);

}  // namespace assay::testing
