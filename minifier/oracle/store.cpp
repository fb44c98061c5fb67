#include "minifier/oracle/store.h"

#include "minifier/oracle/observed_json.h"

namespace assay {

auto AnswerStore::open(const std::filesystem::path& path) -> Result<AnswerStore> {
  AnswerStore store;
  ASSAY_TRY(store.database_, open_database(path, OpenMode::create));
  auto* database = store.database_.get();
  ASSAY_TRY_VOID(execute(database,
                         "pragma journal_mode = wal; pragma synchronous = normal;"
                         "create table if not exists answers (oracle text not null, candidate text "
                         "not null, attempt integer not null, answer text not null, "
                         "primary key (oracle, candidate, attempt))"));
  ASSAY_TRY(const auto rows,
            prepare(database, "select oracle, candidate, attempt, answer from answers"));
  while (true) {
    ASSAY_TRY(const auto more, step(rows.get()));
    if (!more) break;
    const auto text = [&](int column) {
      const auto value = column_value(rows.get(), column);
      const auto* string = std::get_if<std::string>(&value);
      return string ? *string : std::string();
    };
    const auto attempt = column_value(rows.get(), 2);
    const auto* number = std::get_if<std::int64_t>(&attempt);
    const auto observed = observed_from_json(text(3));
    if (!number || !observed) continue;
    const auto candidate = std::strtoull(text(1).c_str(), nullptr, 16);
    store.known_[text(0)][{candidate, static_cast<int>(*number)}] = *observed;
  }
  return store;
}

auto AnswerStore::find(const std::string& oracle, std::uint64_t candidate, int attempt) const
    -> std::optional<Observed> {
  const auto of_oracle = known_.find(oracle);
  if (of_oracle == known_.end()) return std::nullopt;
  const auto found = of_oracle->second.find({candidate, attempt});
  return found == of_oracle->second.end() ? std::nullopt : std::optional(found->second);
}

void AnswerStore::add(const std::string& oracle, std::uint64_t candidate, int attempt,
                      const Observed& observed) {
  known_[oracle][{candidate, attempt}] = observed;
  if (!database_) return;
  const auto insert =
      prepare(database_.get(), "insert or replace into answers values (?1, ?2, ?3, ?4)");
  if (!insert) return;
  const TraceValue values[] = {oracle, fmt::format("{:016x}", candidate),
                               static_cast<std::int64_t>(attempt), to_json(observed)};
  if (bind_values(insert->get(), values)) (void)step(insert->get());
}

auto text_key(std::string_view text) -> std::uint64_t {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a: the same everywhere, unlike std::hash
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace assay
