#include "replay/cache/code_store.h"

#include <sqlite3.h>

#include <cstdlib>
#include <ctime>
#include <mutex>

#include "replay/bundle/sha256.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// "ASSC": a file of somebody else's is not touched.
constexpr int kApplication = 0x41535343;
/// Of the table; what an other one holds is forgotten, it can be generated again.
constexpr int kLayout = 2;
constexpr int kPatienceMs = 2000;
/// A time of use is written anew only where it is this old, so that readers do not write.
constexpr std::int64_t kRecentlySeconds = 86400;

struct Closer {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

class CodeStore final : public CodeCache {
 public:
  CodeStore(std::unique_ptr<sqlite3, Closer> database, std::int64_t most_bytes)
      : database_(std::move(database)), most_bytes_(most_bytes) {}

  [[nodiscard]] auto find(std::string_view key) -> std::optional<std::string> override {
    const std::lock_guard lock(mutex_);
    const auto hash = sha256(key);
    const auto now = static_cast<std::int64_t>(std::time(nullptr));
    std::optional<std::string> code;
    bool is_old = false;
    {
      const auto query = prepared("SELECT code, used, digest FROM code WHERE key = ?1");
      if (!query || !bound(query.get(), 1, hash) || sqlite3_step(query.get()) != SQLITE_ROW)
        return std::nullopt;
      const auto* bytes = static_cast<const char*>(sqlite3_column_blob(query.get(), 0));
      code.emplace(bytes, static_cast<std::size_t>(sqlite3_column_bytes(query.get(), 0)));
      is_old = now - sqlite3_column_int64(query.get(), 1) > kRecentlySeconds;
      // Code is run: a byte that the disk changed must not be.
      const auto* digest = reinterpret_cast<const char*>(sqlite3_column_text(query.get(), 2));
      if (digest == nullptr || sha256(*code) != digest) return std::nullopt;
    }
    if (is_old) {
      const auto touch = prepared("UPDATE code SET used = ?2 WHERE key = ?1");
      if (touch && bound(touch.get(), 1, hash)) {
        sqlite3_bind_int64(touch.get(), 2, now);
        sqlite3_step(touch.get());
      }
    }
    return code;
  }

  void keep(std::string_view key, std::string_view code) override {
    const std::lock_guard lock(mutex_);
    const auto hash = sha256(key);
    const auto insert =
        prepared("INSERT OR REPLACE INTO code (key, code, used, digest) VALUES (?1, ?2, ?3, ?4)");
    const auto digest = sha256(code);
    if (!insert || !bound(insert.get(), 1, hash) || !bound(insert.get(), 4, digest)) return;
    sqlite3_bind_blob64(insert.get(), 2, code.data(), code.size(), SQLITE_STATIC);
    sqlite3_bind_int64(insert.get(), 3, static_cast<std::int64_t>(std::time(nullptr)));
    sqlite3_step(insert.get());
    sqlite3_reset(insert.get());
    forget();
  }

 private:
  [[nodiscard]] auto prepared(std::string_view sql) -> std::unique_ptr<sqlite3_stmt, Closer> {
    sqlite3_stmt* made = nullptr;
    sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &made, nullptr);
    return std::unique_ptr<sqlite3_stmt, Closer>(made);
  }
  static auto bound(sqlite3_stmt* statement, int place, const std::string& text) -> bool {
    return sqlite3_bind_text64(statement, place, text.data(), text.size(), SQLITE_STATIC,
                               SQLITE_UTF8) == SQLITE_OK;
  }
  [[nodiscard]] auto bytes() -> std::int64_t {
    const auto query = prepared("SELECT coalesce(sum(length(code)), 0) FROM code");
    return query && sqlite3_step(query.get()) == SQLITE_ROW ? sqlite3_column_int64(query.get(), 0)
                                                            : 0;
  }
  /// The older half, so that this happens seldom.
  void forget() {
    if (bytes() <= most_bytes_) return;
    sqlite3_exec(database_.get(),
                 "DELETE FROM code WHERE key IN (SELECT key FROM code ORDER BY used, rowid "
                 "LIMIT (SELECT (count(*) + 1) / 2 FROM code))",
                 nullptr, nullptr, nullptr);
  }

  std::unique_ptr<sqlite3, Closer> database_;
  std::int64_t most_bytes_;
  std::mutex mutex_;
};

auto number(sqlite3* database, const char* pragma) -> int {
  sqlite3_stmt* made = nullptr;
  sqlite3_prepare_v2(database, pragma, -1, &made, nullptr);
  const std::unique_ptr<sqlite3_stmt, Closer> query(made);
  return query && sqlite3_step(made) == SQLITE_ROW ? sqlite3_column_int(made, 0) : -1;
}

}  // namespace

auto open_code_store(const fs::path& file, std::int64_t most_bytes) -> std::unique_ptr<CodeCache> {
  std::error_code error;
  if (!file.parent_path().empty()) fs::create_directories(file.parent_path(), error);
  sqlite3* made = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const auto status = sqlite3_open_v2(file.c_str(), &made, flags, nullptr);
  std::unique_ptr<sqlite3, Closer> database(made);
  if (status != SQLITE_OK) return nullptr;
  sqlite3_busy_timeout(made, kPatienceMs);
  const int application = number(made, "PRAGMA application_id");
  const bool is_new = application == 0 && number(made, "PRAGMA schema_version") == 0;
  if (application != kApplication && !is_new) return nullptr;
  const auto prepare = fmt::format(
      "PRAGMA application_id = {}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; {}"
      "CREATE TABLE IF NOT EXISTS code (key TEXT PRIMARY KEY, code BLOB NOT NULL, used INTEGER NOT "
      "NULL, digest TEXT NOT NULL); PRAGMA user_version = {}",
      kApplication,
      number(made, "PRAGMA user_version") == kLayout ? "" : "DROP TABLE IF EXISTS code;", kLayout);
  if (sqlite3_exec(made, prepare.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return nullptr;
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write, error);
  return std::make_unique<CodeStore>(std::move(database), most_bytes);
}

auto code_store_path() -> fs::path {
  if (const char* given = std::getenv("ASSAY_CODE_CACHE")) return given;
  if (const char* caches = std::getenv("XDG_CACHE_HOME"); caches != nullptr && *caches != '\0')
    return fs::path(caches) / "assay" / "code.sqlite";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return fs::path(home) / ".cache" / "assay" / "code.sqlite";
  return {};
}

}  // namespace assay
