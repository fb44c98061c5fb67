// Owning handles for SQLite's C objects; sqlite3.h itself stays in the sources.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "replay/trace/trace.h"

struct sqlite3;
struct sqlite3_stmt;

namespace assay {

struct DatabaseCloser {
  void operator()(sqlite3* database) const;
};
struct StatementCloser {
  void operator()(sqlite3_stmt* statement) const;
};
using Database = std::unique_ptr<sqlite3, DatabaseCloser>;
using Statement = std::unique_ptr<sqlite3_stmt, StatementCloser>;

enum class OpenMode { create, read_only, immutable };
[[nodiscard]] auto open_database(const std::filesystem::path& path, OpenMode mode)
    -> Result<Database>;

/// One or more statements whose rows do not matter.
[[nodiscard]] auto execute(sqlite3* database, const std::string& sql) -> Result<void>;
/// Exactly one statement. Errors: bad_input with SQLite's message.
[[nodiscard]] auto prepare(sqlite3* database, std::string_view sql) -> Result<Statement>;
[[nodiscard]] auto bind_values(sqlite3_stmt* statement, std::span<const TraceValue> values)
    -> Result<void>;
/// Advances; true if there is a row.
[[nodiscard]] auto step(sqlite3_stmt* statement) -> Result<bool>;
[[nodiscard]] auto last_row_id(sqlite3* database) -> TraceId;
[[nodiscard]] auto column_value(sqlite3_stmt* statement, int column) -> TraceValue;

}  // namespace assay
