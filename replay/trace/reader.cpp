#include <sqlite3.h>

#include <array>
#include <atomic>
#include <cstring>
#include <fstream>

#include "replay/trace/schema.h"
#include "replay/trace/sqlite_handle.h"
#include "replay/trace/trace.h"

namespace assay {
namespace {

// Offsets in the header of every SQLite file, big endian.
constexpr std::size_t kVersionOffset = 60;
constexpr std::size_t kApplicationOffset = 68;
constexpr std::size_t kHeaderBytes = 100;
constexpr std::size_t kWriteModeOffset = 18;  ///< 2 while the file depends on its log

auto big_endian(const std::array<char, kHeaderBytes>& header, std::size_t at) -> std::int32_t {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = (value << 8) | static_cast<unsigned char>(header[at + i]);
  return static_cast<std::int32_t>(value);
}

auto log_path(const std::filesystem::path& path) -> std::filesystem::path {
  return path.string() + "-wal";
}

auto has_log(const std::filesystem::path& path) -> bool {
  std::error_code error;
  const auto size = std::filesystem::file_size(log_path(path), error);
  return !error && size > 0;
}

/// Version and application id as SQLite sees them; in the log there may be newer ones than in the
/// file, but a trace gets both before anything else.
struct Header {
  bool is_open = false;  ///< its writer has not finalised it
  int version = 0;
};
auto check_header(const std::filesystem::path& path) -> Result<Header> {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return bad_input("{}: no such file", path.string());
  if (std::filesystem::is_directory(path, error))
    return bad_input("{}: is a folder", path.string());
  std::array<char, kHeaderBytes> header{};
  std::ifstream stream(path, std::ios::binary);
  stream.read(header.data(), header.size());
  if (stream.gcount() != static_cast<std::streamsize>(header.size()) ||
      std::memcmp(header.data(), "SQLite format 3", 16) != 0)
    return bad_input("{}: not a trace (no SQLite file)", path.string());
  if (big_endian(header, kApplicationOffset) != kTraceApplicationId)
    return bad_input("{}: not a trace (an SQLite file of another program)", path.string());
  const auto version = big_endian(header, kVersionOffset);
  if (version < 1 || version > kTraceVersion)
    return unsupported("{}: trace version {} (known: up to {})", path.string(), version,
                       kTraceVersion);
  return Header{header[kWriteModeOffset] == 2, version};
}

/// Lets statements read and compute, and nothing else: no ATTACH, no writes, no extension.
auto authorize(void*, int action, const char* first, const char* second, const char*, const char*)
    -> int {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return second != nullptr && std::strcmp(second, "load_extension") == 0 ? SQLITE_DENY
                                                                             : SQLITE_OK;
    case SQLITE_PRAGMA:
      for (const auto* allowed :
           {"table_info", "table_xinfo", "table_list", "index_list", "index_info",
            "foreign_key_list", "user_version", "application_id", "data_version"})
        if (first != nullptr && std::strcmp(first, allowed) == 0) return SQLITE_OK;
      return SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

}  // namespace

struct TraceReader::Impl {
  Database database;
  bool is_complete = true;
  int version = 0;
  mutable std::atomic<bool> is_interrupted = false;

  [[nodiscard]] auto ask(std::string_view sql, std::span<const TraceValue> parameters) const
      -> Result<Statement>;
};

auto TraceReader::Impl::ask(std::string_view sql, std::span<const TraceValue> parameters) const
    -> Result<Statement> {
  if (is_interrupted) return bad_input("sqlite: interrupted");
  ASSAY_TRY(auto statement, prepare(database.get(), sql));
  if (sqlite3_stmt_readonly(statement.get()) == 0)
    return bad_input("sqlite: only statements that read are allowed");
  const auto wanted = static_cast<std::size_t>(sqlite3_bind_parameter_count(statement.get()));
  if (wanted != parameters.size())
    return bad_input("sqlite: {} parameters for {} places", parameters.size(), wanted);
  ASSAY_TRY_VOID(bind_values(statement.get(), parameters));
  return statement;
}

TraceReader::TraceReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceReader::TraceReader(TraceReader&&) noexcept = default;
auto TraceReader::operator=(TraceReader&&) noexcept -> TraceReader& = default;
TraceReader::~TraceReader() = default;

auto TraceReader::open(const std::filesystem::path& path) -> Result<TraceReader> {
  ASSAY_TRY(const auto header, check_header(path));
  auto impl = std::make_unique<Impl>();
  impl->is_complete = !header.is_open;
  impl->version = header.version;
  // A finalised file needs no lock and no log. One that was cut off may have rows in its log only,
  // which SQLite has to be allowed to look at.
  const auto mode = header.is_open && has_log(path) ? OpenMode::read_only : OpenMode::immutable;
  ASSAY_TRY(impl->database, open_database(path, mode));
  // The index of names sets itself up on first use, in ways that the guard below would refuse.
  // Traces of version 1 have none.
  if (header.version > 1)
    (void)execute(impl->database.get(), "SELECT rowid FROM node_text LIMIT 0");
  sqlite3_set_authorizer(impl->database.get(), authorize, nullptr);
  return TraceReader(std::move(impl));
}

auto TraceReader::is_complete() const -> bool {
  return impl_->is_complete;
}

auto TraceReader::version() const -> int {
  return impl_->version;
}
void TraceReader::interrupt() const {
  impl_->is_interrupted = true;
  sqlite3_interrupt(impl_->database.get());
}
void TraceReader::resume() const {
  impl_->is_interrupted = false;
}
auto TraceReader::is_interrupted() const -> bool {
  return impl_->is_interrupted;
}

auto TraceReader::query(std::string_view sql, std::span<const TraceValue> parameters,
                        std::size_t max_rows) const -> Result<TraceAnswer> {
  ASSAY_TRY(const auto statement, impl_->ask(sql, parameters));
  TraceAnswer answer;
  const int columns = sqlite3_column_count(statement.get());
  for (int i = 0; i < columns; ++i)
    answer.columns.emplace_back(sqlite3_column_name(statement.get(), i));
  while (true) {
    ASSAY_TRY(const auto has_row, step(statement.get()));
    if (!has_row) return answer;
    if (answer.rows.size() == max_rows)
      return bad_input("sqlite: more than {} rows; add a LIMIT", max_rows);
    auto& row = answer.rows.emplace_back();
    row.reserve(static_cast<std::size_t>(columns));
    for (int i = 0; i < columns; ++i) row.push_back(column_value(statement.get(), i));
  }
}

auto TraceReader::each(std::string_view sql, std::span<const TraceValue> parameters,
                       const RowVisitor& visit) const -> Result<void> {
  ASSAY_TRY(const auto statement, impl_->ask(sql, parameters));
  const int columns = sqlite3_column_count(statement.get());
  std::vector<TraceValue> row(static_cast<std::size_t>(columns));
  while (true) {
    // SQLite forgets an interrupt that comes between two statements.
    if (impl_->is_interrupted) return bad_input("sqlite: interrupted");
    ASSAY_TRY(const auto has_row, step(statement.get()));
    if (!has_row) return {};
    for (int i = 0; i < columns; ++i)
      row[static_cast<std::size_t>(i)] = column_value(statement.get(), i);
    ASSAY_TRY_VOID(visit(row));
  }
}

auto query_trace(const std::filesystem::path& path, std::string_view sql) -> Result<TraceAnswer> {
  ASSAY_TRY(const auto reader, TraceReader::open(path));
  return reader.query(sql);
}

}  // namespace assay
