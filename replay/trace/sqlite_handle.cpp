#include "replay/trace/sqlite_handle.h"

#include <sqlite3.h>

#include <cctype>
#include <cmath>

namespace assay {
namespace {

auto failure(sqlite3* database) -> std::unexpected<Error> {
  return bad_input("sqlite: {}", sqlite3_errmsg(database));
}

/// A path as `file:` URI: everything that could end the path or start an escape is escaped.
auto to_uri(const std::filesystem::path& path, std::string_view parameters) -> std::string {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("/._-~").contains(c);
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri + std::string(parameters);
}

auto uri_parameters(OpenMode mode) -> std::string_view {
  switch (mode) {
    case OpenMode::create:
      return "?mode=rwc";
    case OpenMode::read_only:
      return "?mode=ro";
    case OpenMode::immutable:
      return "?mode=ro&immutable=1";
  }
  return "";
}

}  // namespace

void DatabaseCloser::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}
void StatementCloser::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

auto open_database(const std::filesystem::path& path, OpenMode mode) -> Result<Database> {
  const int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
                    (mode == OpenMode::create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                              : SQLITE_OPEN_READONLY);
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(to_uri(path, uri_parameters(mode)).c_str(), &raw, flags, nullptr);
  Database database(raw);  // SQLite hands out a connection even on failure
  if (code != SQLITE_OK)
    return bad_input("{}: {}", path.string(),
                     raw == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(raw));
  sqlite3_extended_result_codes(raw, 1);
  // A file from elsewhere may carry views and triggers made to do harm.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return database;
}

auto execute(sqlite3* database, const std::string& sql) -> Result<void> {
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return failure(database);
  return {};
}

auto prepare(sqlite3* database, std::string_view sql) -> Result<Statement> {
  sqlite3_stmt* raw = nullptr;
  const char* tail = nullptr;
  if (sql.size() > 1'000'000) return bad_input("sqlite: statement is too long");
  if (sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &raw, &tail) !=
      SQLITE_OK)
    return failure(database);
  Statement statement(raw);
  if (!statement) return bad_input("sqlite: empty statement");
  const auto rest = sql.substr(static_cast<std::size_t>(tail - sql.data()));
  if (rest.find_first_not_of(" \t\r\n;") != std::string_view::npos)
    return bad_input("sqlite: more than one statement");
  return statement;
}

auto bind_values(sqlite3_stmt* statement, std::span<const TraceValue> values) -> Result<void> {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  int index = 0;
  for (const auto& value : values) {
    ++index;
    int code = SQLITE_OK;  // unbound parameters are null
    if (const auto* number = std::get_if<std::int64_t>(&value))
      code = sqlite3_bind_int64(statement, index, *number);
    else if (const auto* real = std::get_if<double>(&value))
      // SQLite would keep a NaN as null, which means "not recorded" here.
      code = std::isnan(*real) ? sqlite3_bind_text(statement, index, "nan", 3, SQLITE_STATIC)
                               : sqlite3_bind_double(statement, index, *real);
    else if (const auto* text = std::get_if<std::string>(&value))
      code = sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_STATIC,
                                 SQLITE_UTF8);
    if (code != SQLITE_OK) return failure(sqlite3_db_handle(statement));
  }
  return {};
}

auto step(sqlite3_stmt* statement) -> Result<bool> {
  const int code = sqlite3_step(statement);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return failure(sqlite3_db_handle(statement));
}

auto last_row_id(sqlite3* database) -> TraceId {
  return sqlite3_last_insert_rowid(database);
}

auto column_value(sqlite3_stmt* statement, int column) -> TraceValue {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      return std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
    }
    case SQLITE_BLOB:  // no column of ours holds one
      return fmt::format("<{} bytes>", sqlite3_column_bytes(statement, column));
    default:
      return std::monostate{};
  }
}

}  // namespace assay
