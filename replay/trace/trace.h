// The record of a run as an SQLite file: written row by row, finalised, then read as evidence.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "replay/trace/program_rows.h"

namespace assay {

/// Null (not recorded), an integer, a number or text.
using TraceValue = std::variant<std::monostate, std::int64_t, double, std::string>;

// One struct per table; members follow the columns of schema.cpp, keys are given by the writer.
// Empty text of an optional fact is written as null.
struct RunRow {
  std::string command, source, format, options, tool, started;
};
struct EnvironmentRow {
  TraceId run_id = 0;
  std::string name, value;
};
struct GraphRow {
  TraceId run_id = 0;
  std::optional<TraceId> parent_id;
  std::string name, kind, hash, text;
  std::optional<TraceId> compilation_id = {};
  std::optional<std::int64_t> log_line = {};
};
struct CompilationRow {
  TraceId run_id = 0;
  std::string name;
  std::int64_t attempt = 0;
  std::optional<std::int64_t> rank;
  std::string outcome, reason, function, file;
  std::optional<std::int64_t> line;
  std::optional<double> seconds;
  std::int64_t guards = 0, log_line = 0;
};
struct NodeRow {
  TraceId graph_id = 0;
  std::int64_t seq = 0;
  std::int64_t capture_id = 0;
  std::string kind, name, target, call;
  std::string file;
  std::optional<std::int64_t> line;
  std::string function, code, module;
  std::string status, reason;
  std::optional<double> duration_ms;
};
struct OperandRow {
  TraceId node_id = 0;
  std::int64_t position = 0;
  TraceId producer_id = 0;
};
struct ClaimRow {
  TraceId node_id = 0;
  std::string leaf;  ///< "" is a leaf too: the value itself
  std::string dtype, sizes, strides, storage_offset, device, value;
};
struct ObservationRow {
  TraceId node_id = 0;
  std::string leaf, source, dtype, sizes, strides;
  std::optional<std::int64_t> storage_offset;
  std::string device;
  std::optional<std::int64_t> storage_id, storage_bytes;
  std::optional<double> sum, abs_sum;
  std::string value;
};
struct FindingRow {
  TraceId run_id = 0;
  std::optional<TraceId> node_id;
  std::string leaf, kind, blame;
  std::optional<TraceId> root_node_id;
  std::string claimed, observed, witness, message;
  std::string severity = {}, title = {}, claimed_value = {}, rule = {};
  std::optional<TraceId> graph_id = {}, launch_id = {};
  std::optional<std::int64_t> line = {}, kernel_line = {}, times = {};
};
struct SymbolRow {
  TraceId graph_id = 0;
  std::string name, kind, low, high, hint, sources;
};
struct GuardRow {
  TraceId graph_id = 0;
  std::int64_t seq = 0;
  std::string condition, text, origin;
  std::optional<bool> holds;
};
struct ProofRow {
  TraceId run_id = 0;
  std::optional<TraceId> graph_id, node_id;
  std::string place, kind, condition, verdict, tier, witness, reason, facts;
  std::optional<std::int64_t> line = {}, kernel_line = {};
};
struct ProofGuardRow {
  TraceId proof_id = 0;
  std::int64_t guard_seq = 0;
};
struct BindingRow {
  TraceId run_id = 0;
  std::string symbol, value, source;
};
struct LineLinkRow {
  TraceId graph_id = 0;
  std::int64_t line = 0;
  TraceId node_id = 0;
};
struct StepRow {
  TraceId run_id = 0;
  std::int64_t seq = 0;
  std::optional<TraceId> parent_id;
  std::string phase, key;
  std::int64_t calls = 0;
  std::string verdict, failure;
  double at_seconds = 0, seconds = 0;
  std::string output, text;
};
struct ProblemRow {
  TraceId run_id = 0;
  std::string kind, message;
  std::int64_t times = 1;
};

/// Writes one trace. Everything since the last commit is lost if the process dies; what was
/// committed stays readable. Not thread-safe.
class TraceWriter {
 public:
  /// Makes a new file. An older trace (or an empty file) at `path` is replaced; any other file is
  /// left alone. Errors: bad_input.
  [[nodiscard]] static auto create(const std::filesystem::path& path) -> Result<TraceWriter>;
  TraceWriter(TraceWriter&&) noexcept;
  auto operator=(TraceWriter&&) noexcept -> TraceWriter&;
  ~TraceWriter();  ///< commits what was added; leaves the file unfinalised, which readers accept

  /// Each returns the key of the new row (of no use for tables that have none).
  auto add(const RunRow& row) -> Result<TraceId>;
  auto add(const EnvironmentRow& row) -> Result<TraceId>;
  auto add(const GraphRow& row) -> Result<TraceId>;
  auto add(const NodeRow& row) -> Result<TraceId>;
  auto add(const OperandRow& row) -> Result<TraceId>;
  auto add(const ClaimRow& row) -> Result<TraceId>;
  auto add(const ObservationRow& row) -> Result<TraceId>;
  auto add(const FindingRow& row) -> Result<TraceId>;
  auto add(const SymbolRow& row) -> Result<TraceId>;
  auto add(const GuardRow& row) -> Result<TraceId>;
  auto add(const ProofRow& row) -> Result<TraceId>;
  auto add(const ProofGuardRow& row) -> Result<TraceId>;
  auto add(const BindingRow& row) -> Result<TraceId>;
  auto add(const CompilationRow& row) -> Result<TraceId>;
  auto add(const LineLinkRow& row) -> Result<TraceId>;
  auto add(const StepRow& row) -> Result<TraceId>;
  auto add(const ProblemRow& row) -> Result<TraceId>;
  auto add(const KernelRow& row) -> Result<TraceId>;
  auto add(const LaunchRow& row) -> Result<TraceId>;
  auto add(const BufferRow& row) -> Result<TraceId>;
  auto add(const LaunchBufferRow& row) -> Result<TraceId>;
  auto add(const MemoryPlanRow& row) -> Result<TraceId>;
  auto add(const DecisionRow& row) -> Result<TraceId>;
  auto add(const StageVerdictRow& row) -> Result<TraceId>;
  auto add(const TensorValuesRow& row) -> Result<TraceId>;

  /// Fills in what is only known after a node ran.
  auto set_status(TraceId node, const std::string& status, const std::string& reason,
                  std::optional<double> duration_ms) -> Result<void>;
  auto finish_run(TraceId run, int exit_code, double duration_ms) -> Result<void>;

  /// Rows are gathered in a transaction; this ends it, so that they survive a crash.
  auto commit() -> Result<void>;
  /// Commits, counts what views show as sums (modules, op_counts, node_text, counts of graphs),
  /// folds the log into the file, and makes it one file that no reader needs to change.
  auto finalise() -> Result<void>;

 private:
  struct Impl;
  explicit TraceWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct TraceAnswer {
  std::vector<std::string> columns;
  std::vector<std::vector<TraceValue>> rows;
};

/// Reads a trace. The file is never written, and statements that would write are refused.
class TraceReader {
 public:
  /// Errors: bad_input (no such file, not a trace), unsupported (made by a newer version).
  [[nodiscard]] static auto open(const std::filesystem::path& path) -> Result<TraceReader>;
  TraceReader(TraceReader&&) noexcept;
  auto operator=(TraceReader&&) noexcept -> TraceReader&;
  ~TraceReader();

  /// False if the writer did not get to the end: rows may be missing.
  [[nodiscard]] auto is_complete() const -> bool;
  /// Of the schema that the file was written by; what later ones added is not there.
  [[nodiscard]] auto version() const -> int;
  /// Ends the query that runs in another thread, and refuses those that follow until resume():
  /// they answer with an error. Safe from any thread.
  void interrupt() const;
  void resume() const;
  [[nodiscard]] auto is_interrupted() const -> bool;
  /// Runs one reading statement with `?` parameters. Errors: bad_input with SQLite's own message;
  /// more than `max_rows` rows.
  [[nodiscard]] auto query(std::string_view sql, std::span<const TraceValue> parameters = {},
                           std::size_t max_rows = 1'000'000) const -> Result<TraceAnswer>;
  /// The same, row by row, for answers that nobody wants to hold whole; the row lives until the
  /// next one. The error of a row ends it.
  using RowVisitor = std::function<Result<void>(std::span<const TraceValue>)>;
  [[nodiscard]] auto each(std::string_view sql, std::span<const TraceValue> parameters,
                          const RowVisitor& visit) const -> Result<void>;

 private:
  struct Impl;
  explicit TraceReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Opens, asks once, closes.
[[nodiscard]] auto query_trace(const std::filesystem::path& path, std::string_view sql)
    -> Result<TraceAnswer>;

}  // namespace assay
