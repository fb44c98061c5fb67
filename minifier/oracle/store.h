// Every answer an oracle gave, by content: the same question is never asked twice, and a run that
// was killed goes on where it was.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "minifier/oracle/oracle.h"
#include "replay/trace/sqlite_handle.h"

namespace assay {

/// SQLite file (table `answers`); in memory only without a path.
class AnswerStore {
 public:
  /// Errors: bad_input (not a database).
  [[nodiscard]] static auto open(const std::filesystem::path& path) -> Result<AnswerStore>;
  AnswerStore() = default;

  /// Attempts count the repetitions of one question to a flaky oracle, from 0.
  [[nodiscard]] auto find(const std::string& oracle, std::uint64_t candidate, int attempt) const
      -> std::optional<Observed>;
  void add(const std::string& oracle, std::uint64_t candidate, int attempt,
           const Observed& observed);

 private:
  using Key = std::pair<std::uint64_t, int>;
  std::map<std::string, std::map<Key, Observed>> known_;
  Database database_;
};

/// What a candidate that is a text is stored by.
[[nodiscard]] auto text_key(std::string_view text) -> std::uint64_t;

}  // namespace assay
