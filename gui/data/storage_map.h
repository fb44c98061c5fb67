// A storage as a line of bytes, and what each alias of it covers.
#pragma once
#include <utility>

#include "gui/data/cursor.h"
#include "gui/data/sizes.h"

namespace assay {

enum class FootprintKind : std::uint8_t { claimed, real, alias };

struct Footprint {
  FootprintKind kind = FootprintKind::alias;
  TraceId node = 0;
  std::string name, leaf, dtype;
  Strided layout;
  std::int64_t begin = 0, end = 0;  ///< bytes
  /// Bytes covered, ascending and apart; empty if they are too many to list, then all of
  /// [begin, end) may be.
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  std::int64_t outside = 0;  ///< bytes before or behind the storage
};

struct StorageMap {
  TraceId node = 0;
  std::string owner;                  ///< whose storage it is: the node's own, or an operand's
  std::int64_t storage = -1;          ///< id in the trace, -1 if not known
  std::int64_t storage_bytes = -1;    ///< -1 if not known
  std::vector<Footprint> footprints;  ///< claimed, real, then aliases in execution order
  std::string sentence;               ///< what there is to see
  [[nodiscard]] auto empty() const -> bool { return footprints.empty(); }
  /// Bytes that the picture has to span.
  [[nodiscard]] auto span() const -> std::int64_t;
};

/// Runs of bytes that a layout covers, as Footprint::runs.
[[nodiscard]] auto byte_runs(const Strided& layout, std::size_t most = 4096)
    -> std::vector<std::pair<std::int64_t, std::int64_t>>;

/// The map for a node at the run's sizes, or at those that the user changed. Empty for what is no
/// tensor.
[[nodiscard]] auto read_storage_map(const TraceReader& reader, const Cursor& cursor,
                                    const NamedSizes& changed = {}) -> Result<StorageMap>;

/// The map that the words of a refuted access or view describe, whose program is no graph of nodes:
/// "in_ptr0 is indexed at 23: needs 96 bytes, buf1 has 48". Empty for other words.
[[nodiscard]] auto storage_map_of(const std::string& words) -> StorageMap;

}  // namespace assay
