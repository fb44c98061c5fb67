// Parts of the capture JSON reader. Messages name the place as a path: `nodes[3] (add): args[0]`.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/annotation.h"
#include "core/graph/arguments.h"
#include "replay/formats/capture.h"
#include "replay/formats/json.h"

namespace assay {

/// Size, stride and offset of a tensor in JSON are integers or sympy text; dtype and device text.
class JsonGraphReader {
 public:
  explicit JsonGraphReader(ClaimReader& claims) : claims_(claims) {}

  /// `symbols`, before anything that uses them. Appends to `warnings`.
  [[nodiscard]] auto symbols(JsonValue symbols, std::vector<std::string>& warnings) -> Result<void>;
  /// `guards`, `replacements`.
  [[nodiscard]] auto guards(JsonValue guards) -> Result<void>;
  [[nodiscard]] auto replacements(JsonValue replacements) -> Result<void>;
  /// `nodes` into a graph, and `graphs`, the bodies of higher-order operators, into its children.
  /// `place` names the graph in messages: "graphs[true_graph_0]: ", empty for the outermost.
  [[nodiscard]] auto graph(JsonValue value, Graph& graph, const std::string& place = {})
      -> Result<void>;

  [[nodiscard]] auto arg(JsonValue value) -> Result<Arg>;
  [[nodiscard]] auto claim(JsonValue value) -> Result<Claim>;
  [[nodiscard]] auto expr(JsonValue value) -> Result<Expr>;

 private:
  auto nodes(JsonValue nodes, Graph& graph, const std::string& place) -> Result<void>;
  auto node(JsonValue value) -> Result<Node>;
  auto object_arg(JsonValue value) -> Result<Arg>;
  auto sequence(JsonValue value, bool is_tuple) -> Result<Arg>;
  auto dims(JsonValue value) -> Result<Dims>;
  auto symbol(std::string_view name, JsonValue value) -> Result<void>;

  ClaimReader& claims_;
  NodeNames names_;
  std::vector<std::string> unusable_hints_;  ///< symbols; recorders write 0 for float hints
};

/// `{"f": "nan"}`, `{"f": "-inf"}` or a plain number; nothing for anything else.
[[nodiscard]] auto json_real(JsonValue value) -> std::optional<double>;
/// `"alias": k` of a claim or an observation: tensors with equal k share storage. -1 if not given.
[[nodiscard]] auto json_alias_group(JsonValue value) -> Result<int>;
/// dtype, size, stride, offset and device with integers; storage_bytes if it is given.
[[nodiscard]] auto json_real_meta(JsonValue value, const std::optional<RealMeta>& missing = {})
    -> Result<RealMeta>;
/// Metadata, checksums and scalars of one node of `real`.
[[nodiscard]] auto json_observation(JsonValue value) -> Result<Observation>;

/// Reads tensors in JSON and the data under them into the storages of a capture.
class JsonTensorReader {
 public:
  /// `folder` is where data files are; empty: files are errors.
  JsonTensorReader(Capture& capture, std::filesystem::path folder)
      : capture_(capture), folder_(std::move(folder)) {}

  /// The top-level `storages`, which tensors refer to by number.
  [[nodiscard]] auto storages(JsonValue storages) -> Result<void>;
  /// One entry of `inputs` or `attributes`. `known` is what is known of the value from elsewhere.
  [[nodiscard]] auto input(JsonValue entry, const std::optional<RealMeta>& known)
      -> Result<InputValue>;
  /// A tensor of one element, from its value.
  [[nodiscard]] auto from_scalar(const RealMeta& meta, double value) -> Result<RecordedTensor>;

 private:
  auto fill(JsonValue entry, RealMeta meta) -> Result<RecordedTensor>;
  auto packed(JsonValue entry, RealMeta meta) -> Result<RecordedTensor>;
  auto view(JsonValue entry, RealMeta meta) -> Result<RecordedTensor>;
  auto file(JsonValue entry, RealMeta meta) -> Result<RecordedTensor>;
  auto storage(JsonValue entry) -> Result<StorageData>;
  auto read_data_file(std::string_view name) -> Result<std::string>;
  auto add(StorageData data, RealMeta meta) -> Result<RecordedTensor>;

  Capture& capture_;
  std::filesystem::path folder_;
};

/// Bytes behind base64 of zlib data. Errors: bad_input (not base64, broken data, or not exactly
/// `size` bytes when unpacked).
[[nodiscard]] auto unpack_zlib(std::string_view base64, std::int64_t size)
    -> Result<std::vector<std::byte>>;

}  // namespace assay
