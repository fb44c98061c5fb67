#include <array>
#include <fstream>
#include <map>

#include "core/base/check.h"
#include "replay/trace/aggregates.h"
#include "replay/trace/schema.h"
#include "replay/trace/sqlite_handle.h"
#include "replay/trace/trace.h"

namespace assay {
namespace {

using Values = std::vector<TraceValue>;

/// Text of a fact that may be missing.
auto maybe(const std::string& text) -> TraceValue {
  return text.empty() ? TraceValue{} : TraceValue{text};
}
template <class T>
auto maybe(const std::optional<T>& value) -> TraceValue {
  return value ? TraceValue{*value} : TraceValue{};
}
auto maybe(const std::optional<bool>& value) -> TraceValue {
  return value ? TraceValue{std::int64_t{*value}} : TraceValue{};
}

auto statement_for(std::string_view table) -> std::string {
  std::string names;
  std::string marks;
  for (const auto& column : trace_columns(table)) {
    if (column.name == "id") continue;  // SQLite gives the key
    names += fmt::format("{}{}", names.empty() ? "" : ", ", column.name);
    marks += marks.empty() ? "?" : ", ?";
  }
  return fmt::format("INSERT INTO {}({}) VALUES ({})", table, names, marks);
}

/// May a new trace take the place of what is there?
auto check_replaceable(const std::filesystem::path& path) -> Result<void> {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  if (!std::filesystem::is_regular_file(path, error))
    return bad_input("{}: is not a regular file", path.string());
  std::array<char, 72> header{};
  std::ifstream stream(path, std::ios::binary);
  stream.read(header.data(), header.size());
  if (stream.gcount() == 0) return {};
  const auto is_trace = std::string_view(header.data(), 15) == "SQLite format 3" &&
                        std::string_view(header.data() + 68, 4) == "ASSY";
  if (!is_trace) return bad_input("{}: exists and is not a trace; it is left alone", path.string());
  return {};
}

void remove_old(const std::filesystem::path& path) {
  std::error_code ignored;
  for (const auto* suffix : {"", "-wal", "-shm", "-journal"})
    std::filesystem::remove(path.string() + suffix, ignored);
}

}  // namespace

struct TraceWriter::Impl {
  Database database;
  std::map<std::string_view, Statement> inserts;
  bool in_transaction = false;

  auto begin() -> Result<void>;
  auto commit() -> Result<void>;
  auto run(sqlite3_stmt* statement, const Values& values) -> Result<TraceId>;
  auto insert(std::string_view table, const Values& values) -> Result<TraceId>;
  auto update(const char* sql, const Values& values) -> Result<void>;
};

auto TraceWriter::Impl::begin() -> Result<void> {
  if (in_transaction) return {};
  ASSAY_TRY_VOID(execute(database.get(), "BEGIN"));
  in_transaction = true;
  return {};
}

auto TraceWriter::Impl::commit() -> Result<void> {
  if (!in_transaction) return {};
  ASSAY_TRY_VOID(execute(database.get(), "COMMIT"));
  in_transaction = false;
  return {};
}

auto TraceWriter::Impl::run(sqlite3_stmt* statement, const Values& values) -> Result<TraceId> {
  ASSAY_TRY_VOID(begin());
  ASSAY_TRY_VOID(bind_values(statement, values));
  ASSAY_TRY([[maybe_unused]] const auto has_row, step(statement));
  return last_row_id(database.get());
}

auto TraceWriter::Impl::insert(std::string_view table, const Values& values) -> Result<TraceId> {
  const auto columns = trace_columns(table);
  const auto keys = columns.front().name == "id" ? 1U : 0U;
  ASSAY_CHECK(columns.size() == values.size() + keys, "row of {} has {} values", table,
              values.size());
  auto& statement = inserts[table];
  if (!statement) {
    ASSAY_TRY(statement, prepare(database.get(), statement_for(table)));
  }
  return run(statement.get(), values);
}

auto TraceWriter::Impl::update(const char* sql, const Values& values) -> Result<void> {
  auto& statement = inserts[sql];
  if (!statement) {
    ASSAY_TRY(statement, prepare(database.get(), sql));
  }
  ASSAY_TRY([[maybe_unused]] const auto id, run(statement.get(), values));
  return {};
}

TraceWriter::TraceWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceWriter::TraceWriter(TraceWriter&&) noexcept = default;
auto TraceWriter::operator=(TraceWriter&&) noexcept -> TraceWriter& = default;
TraceWriter::~TraceWriter() {
  // Whoever needs to know whether this worked calls commit() or finalise().
  if (impl_) (void)impl_->commit();
}

auto TraceWriter::create(const std::filesystem::path& path) -> Result<TraceWriter> {
  ASSAY_TRY_VOID(check_replaceable(path));
  remove_old(path);
  auto impl = std::make_unique<Impl>();
  ASSAY_TRY(impl->database, open_database(path, OpenMode::create));
  const auto setup = fmt::format(
      "PRAGMA page_size=8192; PRAGMA application_id={}; PRAGMA user_version={};"
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON; BEGIN; {} "
      "COMMIT",
      kTraceApplicationId, kTraceVersion, trace_ddl());
  if (auto done = execute(impl->database.get(), setup); !done)
    return with_context(std::move(done).error(), path.string());
  return TraceWriter(std::move(impl));
}

auto TraceWriter::add(const RunRow& row) -> Result<TraceId> {
  return impl_->insert("runs", {row.command,
                                maybe(row.source),
                                maybe(row.format),
                                maybe(row.options),
                                row.tool,
                                maybe(row.started),
                                {},
                                {}});
}

auto TraceWriter::add(const EnvironmentRow& row) -> Result<TraceId> {
  return impl_->insert("environment", {row.run_id, row.name, row.value});
}

auto TraceWriter::add(const GraphRow& row) -> Result<TraceId> {
  return impl_->insert("graphs", {row.run_id,
                                  maybe(row.parent_id),
                                  row.name,
                                  maybe(row.kind),
                                  maybe(row.hash),
                                  maybe(row.text),
                                  {},
                                  {},
                                  maybe(row.compilation_id),
                                  maybe(row.log_line)});
}

auto TraceWriter::add(const NodeRow& row) -> Result<TraceId> {
  return impl_->insert("nodes", {row.graph_id, row.seq, row.capture_id, row.kind, row.name,
                                 row.target, maybe(row.call), maybe(row.file), maybe(row.line),
                                 maybe(row.function), maybe(row.code), maybe(row.module),
                                 maybe(row.status), maybe(row.reason), maybe(row.duration_ms)});
}

auto TraceWriter::add(const OperandRow& row) -> Result<TraceId> {
  return impl_->insert("operands", {row.node_id, row.position, row.producer_id});
}

auto TraceWriter::add(const ClaimRow& row) -> Result<TraceId> {
  return impl_->insert(
      "claims", {row.node_id, row.leaf, maybe(row.dtype), maybe(row.sizes), maybe(row.strides),
                 maybe(row.storage_offset), maybe(row.device), maybe(row.value)});
}

auto TraceWriter::add(const ObservationRow& row) -> Result<TraceId> {
  return impl_->insert(
      "observations",
      {row.node_id, row.leaf, maybe(row.source), maybe(row.dtype), maybe(row.sizes),
       maybe(row.strides), maybe(row.storage_offset), maybe(row.device), maybe(row.storage_id),
       maybe(row.storage_bytes), maybe(row.sum), maybe(row.abs_sum), maybe(row.value)});
}

auto TraceWriter::add(const FindingRow& row) -> Result<TraceId> {
  return impl_->insert("findings", {row.run_id, maybe(row.node_id), row.leaf, row.kind,
                                    maybe(row.blame), maybe(row.root_node_id), maybe(row.claimed),
                                    maybe(row.observed), maybe(row.witness), maybe(row.message),
                                    maybe(row.severity), maybe(row.title), maybe(row.claimed_value),
                                    maybe(row.rule), maybe(row.graph_id), maybe(row.launch_id),
                                    maybe(row.line), maybe(row.kernel_line), maybe(row.times)});
}

auto TraceWriter::add(const SymbolRow& row) -> Result<TraceId> {
  return impl_->insert("symbols", {row.graph_id, row.name, row.kind, maybe(row.low),
                                   maybe(row.high), maybe(row.hint), maybe(row.sources)});
}

auto TraceWriter::add(const GuardRow& row) -> Result<TraceId> {
  return impl_->insert("guards", {row.graph_id, row.seq, row.condition, maybe(row.text),
                                  maybe(row.origin), maybe(row.holds)});
}

auto TraceWriter::add(const ProofRow& row) -> Result<TraceId> {
  return impl_->insert(
      "proofs", {row.run_id, maybe(row.graph_id), maybe(row.node_id), maybe(row.place), row.kind,
                 row.condition, row.verdict, row.tier, maybe(row.witness), maybe(row.reason),
                 maybe(row.facts), maybe(row.line), maybe(row.kernel_line)});
}

auto TraceWriter::add(const ProofGuardRow& row) -> Result<TraceId> {
  return impl_->insert("proof_guards", {row.proof_id, row.guard_seq});
}

auto TraceWriter::add(const BindingRow& row) -> Result<TraceId> {
  return impl_->insert("bindings", {row.run_id, row.symbol, row.value, maybe(row.source)});
}

auto TraceWriter::add(const CompilationRow& row) -> Result<TraceId> {
  return impl_->insert("compilations",
                       {row.run_id, row.name, row.attempt, maybe(row.rank), maybe(row.outcome),
                        maybe(row.reason), maybe(row.function), maybe(row.file), maybe(row.line),
                        maybe(row.seconds), row.guards, row.log_line});
}

auto TraceWriter::add(const LineLinkRow& row) -> Result<TraceId> {
  return impl_->insert("line_links", {row.graph_id, row.line, row.node_id});
}

auto TraceWriter::add(const StepRow& row) -> Result<TraceId> {
  return impl_->insert("steps", {row.run_id, row.seq, maybe(row.parent_id), row.phase, row.key,
                                 row.calls, row.verdict, maybe(row.failure), row.at_seconds,
                                 row.seconds, maybe(row.output), maybe(row.text)});
}

auto TraceWriter::add(const ProblemRow& row) -> Result<TraceId> {
  return impl_->insert("problems", {row.run_id, row.kind, row.message, row.times});
}

auto TraceWriter::add(const KernelRow& row) -> Result<TraceId> {
  return impl_->insert(
      "kernels", {row.graph_id, row.name, maybe(row.language), maybe(row.text), maybe(row.nodes)});
}

auto TraceWriter::add(const LaunchRow& row) -> Result<TraceId> {
  return impl_->insert("launches",
                       {row.graph_id, row.seq, row.kind, row.target, maybe(row.kernel_id), row.line,
                        maybe(row.grid), maybe(row.extents), row.text});
}

auto TraceWriter::add(const BufferRow& row) -> Result<TraceId> {
  return impl_->insert("buffers", {row.graph_id, row.name, row.kind, row.dtype, row.size_bytes,
                                   maybe(row.offset_bytes), maybe(row.first_step),
                                   maybe(row.last_step), maybe(row.written_over)});
}

auto TraceWriter::add(const LaunchBufferRow& row) -> Result<TraceId> {
  return impl_->insert("launch_buffers", {row.launch_id, row.position, row.buffer_id, row.access});
}

auto TraceWriter::add(const MemoryPlanRow& row) -> Result<TraceId> {
  return impl_->insert("memory_plans", {row.graph_id, row.arena_bytes, row.live_bytes,
                                        row.sum_bytes, row.steps, maybe(row.sizes)});
}

auto TraceWriter::add(const DecisionRow& row) -> Result<TraceId> {
  return impl_->insert("decisions", {row.graph_id, row.seq, maybe(row.node_id), row.kind,
                                     row.verdict, row.subject, maybe(row.other), row.reason});
}

auto TraceWriter::add(const StageVerdictRow& row) -> Result<TraceId> {
  return impl_->insert("stages", {row.run_id, maybe(row.compilation_id), row.seq, row.compilation,
                                  row.name, row.verdict, row.calls, row.compared, row.ratio,
                                  maybe(row.reason), maybe(row.sizes), maybe(row.log_line)});
}

auto TraceWriter::add(const TensorValuesRow& row) -> Result<TraceId> {
  return impl_->insert("tensor_values", {maybe(row.node_id), maybe(row.launch_id), row.leaf,
                                         row.source, row.layout, row.elements});
}

auto TraceWriter::set_status(TraceId node, const std::string& status, const std::string& reason,
                             std::optional<double> duration_ms) -> Result<void> {
  return impl_->update("UPDATE nodes SET status=?, reason=?, duration_ms=? WHERE id=?",
                       {maybe(status), maybe(reason), maybe(duration_ms), node});
}

auto TraceWriter::finish_run(TraceId run, int exit_code, double duration_ms) -> Result<void> {
  return impl_->update("UPDATE runs SET exit_code=?, duration_ms=? WHERE id=?",
                       {std::int64_t{exit_code}, duration_ms, run});
}

auto TraceWriter::commit() -> Result<void> {
  return impl_->commit();
}

auto TraceWriter::finalise() -> Result<void> {
  ASSAY_TRY_VOID(impl_->begin());
  ASSAY_TRY_VOID(write_aggregates(impl_->database.get()));
  ASSAY_TRY_VOID(impl_->commit());
  impl_->inserts.clear();  // open statements would keep the journal mode from changing
  return execute(impl_->database.get(),
                 "ANALYZE; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE");
}

}  // namespace assay
