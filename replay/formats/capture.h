// What every reader produces: a graph plus everything recorded around it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

namespace assay {

/// Data of one recorded storage, or how to make it.
struct StorageData {
  std::int64_t size_bytes = 0;
  /// Bytes as recorded; or a deterministic fill; or nothing recorded (values unknown).
  std::variant<std::monostate, std::shared_ptr<const std::vector<std::byte>>, Fill> content;
  std::optional<DType> fill_dtype;  ///< dtype a Fill is written in
  bool made_up = false;             ///< the Fill stands in for data that the input does not hold
};

/// A recorded tensor: a view of one storage. Several inputs may name one storage (aliasing).
struct RecordedTensor {
  int storage = -1;  ///< index into Capture::storages
  RealMeta meta;     ///< storage_bytes repeats the storage's size
};

/// A tensor input of which only symbolic metadata is known: sizes come from bindings of the
/// symbols, values from a default fill. `storage_bytes` may be symbolic too (`4*s77`).
struct SymbolicInput {
  TensorMeta meta;
  std::optional<Expr> storage_bytes;
  int storage = -1;  ///< alias group: inputs with equal ids >= 0 share a storage
};

/// Value of a placeholder: unknown, a scalar constant, a recorded tensor, symbolic metadata, or
/// what exported programs also take, None and text.
using InputValue =
    std::variant<std::monostate, Expr, RecordedTensor, SymbolicInput, NoneArg, std::string>;

/// What eager execution really produced at a node, as recorded by a capture.
struct Observation {
  /// storage_bytes is 0 and device.type empty when they were not recorded.
  std::optional<RealMeta> tensor;
  int alias_group = -1;                ///< nodes with equal groups >= 0 really shared storage
  std::optional<Expr> scalar;          ///< constant
  std::optional<double> sum, abs_sum;  ///< float64 sum and absolute sum; NaN allowed
  std::vector<Observation> items;      ///< of a multi-output node
  bool is_tuple = false;
};

/// How outputs of an exported program map to the user's view of it.
struct OutputRole {
  enum class Kind { user_output, buffer_mutation, input_mutation, gradient, other } kind;
  std::string target;  ///< buffer or input name for mutations
};

/// How an input of an exported program is fed.
struct InputRole {
  enum class Kind { user_input, parameter, buffer, constant, other } kind;
  std::string target;  ///< fully qualified name for parameters, buffers and constants
};

struct Capture {
  Capture();
  Capture(const Capture& other);
  Capture(Capture&& other) noexcept;
  auto operator=(const Capture& other) -> Capture&;
  auto operator=(Capture&& other) noexcept -> Capture&;
  ~Capture();
  std::string source_path;  ///< as given by the user; empty for text from memory
  std::string format;       ///< "fx text", "repro script", "capture json", "pt2", "bundle"
  std::string kind;         ///< "fwd", "bwd", "inf", "export" or empty
  Graph graph;
  std::vector<StorageData> storages;
  std::vector<InputValue> inputs;                    ///< one per placeholder, in order
  std::map<std::string, RecordedTensor> attributes;  ///< get_attr path -> tensor
  std::map<NodeId, Observation> observed;            ///< real per-node metadata, if recorded
  /// Names of inputs that eager execution really mutated; nothing if that was not recorded.
  std::optional<std::vector<std::string>> mutated_inputs;
  /// The source tells all guards that there are. Repro scripts and printed graphs do not: what is
  /// not said there may be said elsewhere.
  bool guards_recorded = false;
  std::vector<InputRole> input_roles;    ///< exported programs only, per placeholder
  std::vector<OutputRole> output_roles;  ///< exported programs only, per output
  std::vector<std::pair<std::string, std::string>> environment;  ///< torch version and the like
  std::vector<std::string> warnings;  ///< what was tolerated while reading
  /// Recorded calls of operators that have no row (a case file, SQLite); null if there are none.
  std::shared_ptr<const std::string> operator_cases;
};

/// A file as bytes. Errors: bad_input (missing, a directory, larger than `limit_bytes`).
[[nodiscard]] auto read_file(const std::filesystem::path& path,
                             std::int64_t limit_bytes = std::int64_t{4} << 30)
    -> Result<std::string>;

/// Reads whatever the bytes are: detects zip (.pt2, bundle), JSON capture, repro script, graph
/// text. `name` is used in messages only. Errors: bad_input, unsupported; always naming the place.
[[nodiscard]] auto read_capture(std::string_view bytes, const std::string& name) -> Result<Capture>;
[[nodiscard]] auto read_capture_file(const std::filesystem::path& path) -> Result<Capture>;

/// Line of our own graph text, below the first, where a capture's guards were not recorded.
inline constexpr std::string_view kGuardsNotRecorded = "# guards not recorded";

// One reader per format; each can be called directly.
/// Of several graphs in the text (a log, a message) the one of that title or number (from 1), else
/// the first, with a warning that lists them. Lines are those of the file, columns count from
/// behind a log's prefix.
[[nodiscard]] auto read_graph_text(std::string_view text, std::string_view wanted = {})
    -> Result<Capture>;
[[nodiscard]] auto read_repro_script(std::string_view text) -> Result<Capture>;
/// Raw data files named by the JSON (`"file": "blobs/…"`) are read relative to `folder`.
[[nodiscard]] auto read_capture_json(std::string_view text,
                                     const std::filesystem::path& folder = {}) -> Result<Capture>;
[[nodiscard]] auto read_pt2(std::string_view bytes) -> Result<Capture>;

}  // namespace assay
