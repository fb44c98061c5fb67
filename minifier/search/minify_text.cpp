#include "minifier/search/minify_text.h"

#include <algorithm>

#include "minifier/oracle/store.h"

namespace assay {
namespace {

/// `access-in-bounds in k: tl.load(in_ptr0 + (x0 + 64))` without its numbers; names keep theirs.
auto without_numbers(std::string_view text) -> std::string {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_word(text[i])) {
      out += text[i++];
      continue;
    }
    auto end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    const bool is_number = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    out += is_number ? std::string_view("#") : text.substr(i, end - i);
    i = end;
  }
  return out;
}

}  // namespace

auto lines_in(std::string_view text) -> int {
  return static_cast<int>(std::ranges::count(text, '\n'));
}

auto TextOracle::is_known(const std::string& text) -> bool {
  const auto key = text_key(text);
  if (known_.contains(key)) return true;
  auto answer = answers_.find ? answers_.find(text) : std::nullopt;
  if (answer) known_[key] = *std::move(answer);
  return answer.has_value();
}

auto TextOracle::ask(const std::string& text, const std::vector<std::string>& ahead)
    -> const Failures* {
  const auto key = text_key(text);
  const bool is_new = !used_.contains(key);
  if (is_new) {
    is_spent_ = is_spent_ || (budget_.max_calls > 0 && asked_ >= budget_.max_calls) ||
                (budget_.max_seconds > 0 && seconds_since(start_) >= budget_.max_seconds);
    if (is_spent_) return nullptr;
    used_.emplace(key, ++asked_);
  }
  const auto begin = Clock::now();
  if (!is_known(text)) {
    std::vector<std::string> texts{text};
    for (const auto& next : ahead)
      if (std::ssize(texts) < budget_.workers && !is_known(next) &&
          std::ranges::find(texts, next) == texts.end())
        texts.push_back(next);
    auto found = failures_(texts);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (answers_.add) answers_.add(texts[i], found[i]);
      known_[text_key(texts[i])] = std::move(found[i]);
    }
  }
  const auto& answer = known_.at(key);
  if (is_new && budget_.progress) budget_.progress(asked_);
  if (is_new && budget_.on_step) report(text, answer, seconds_since(begin));
  return &answer;
}

void TextOracle::report(const std::string& text, const Failures& failures, double seconds) {
  MinifyStep step{.seq = used_.at(text_key(text)), .parent = best_step_, .phase = phase_};
  step.key = text_key(text);
  step.calls = lines_in(text);
  step.observed.outcome = failures.empty() ? Outcome::passes : Outcome::fails;
  step.observed.seconds = seconds;
  // Numbers of a signature are others where sizes are.
  const auto shown = std::ranges::find(failures, without_numbers(wanted_), without_numbers);
  step.is_wanted = shown != failures.end() && *shown == wanted_;
  if (!failures.empty())
    step.observed.signature.message = shown != failures.end() ? *shown : failures.front();
  step.at_seconds = seconds_since(start_);
  if (step.calls <= kMostStepLines) step.text = text;
  budget_.on_step(step);
}

auto TextOracle::make_best(const std::string& text) -> bool {
  best_step_ = used_.at(text_key(text));
  return true;
}

auto TextOracle::fails(const std::string& text, const std::vector<std::string>& ahead) -> bool {
  const auto* found = ask(text, ahead);
  return found != nullptr && std::ranges::find(*found, wanted_) != found->end() && make_best(text);
}

auto TextOracle::fails_alike(const std::string& text) -> bool {
  const auto* all = ask(text, {});
  if (all == nullptr) return false;
  const auto found = std::ranges::find(*all, without_numbers(wanted_), without_numbers);
  if (found == all->end()) return false;
  wanted_ = *found;  // from here on with these numbers
  return make_best(text);
}

auto TextOracle::fails_at(const std::string& text) -> std::optional<bool> {
  const auto* all = ask(text, {});
  if (all == nullptr) return std::nullopt;
  if (all->empty()) return false;
  const auto found = std::ranges::find(*all, without_numbers(wanted_), without_numbers);
  return found == all->end() ? std::nullopt : std::optional(true);
}

auto TextOracle::adopt(const std::string& text) -> bool {
  const auto* found = ask(text, {});
  if (found == nullptr || found->empty()) return false;
  wanted_ = found->front();
  return make_best(text);
}

auto minimal_parts(const TextParts& parts, TextOracle& oracle) -> Kept {
  Minimal search(parts.count, [&](const Kept& kept, const std::vector<Kept>& next) {
    const auto text = parts.text(kept);
    std::vector<std::string> ahead;
    for (const auto& one : next)
      if (auto other = parts.text(one)) ahead.push_back(*std::move(other));
    return text && oracle.fails(*text, ahead);
  });
  return search.run();
}

}  // namespace assay
