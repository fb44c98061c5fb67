#include "minifier/search/minify_text.h"

#include <algorithm>

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

void TextOracle::ask(const std::string& text, const std::vector<std::string>& ahead) {
  if (known_.contains(text)) return;
  is_spent_ = is_spent_ || (budget_.max_calls > 0 && asked_ >= budget_.max_calls) ||
              (budget_.max_seconds > 0 && seconds_since(start_) >= budget_.max_seconds);
  if (is_spent_) return;
  std::vector<std::string> texts{text};
  for (const auto& next : ahead)
    if (std::ssize(texts) < budget_.workers && !known_.contains(next) &&
        std::ranges::find(texts, next) == texts.end())
      texts.push_back(next);
  auto answers = failures_(texts);
  asked_ += static_cast<int>(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) known_[texts[i]] = std::move(answers[i]);
  if (budget_.progress) budget_.progress(asked_);
}

auto TextOracle::fails(const std::string& text, const std::vector<std::string>& ahead) -> bool {
  ask(text, ahead);
  const auto known = known_.find(text);
  return known != known_.end() && std::ranges::find(known->second, wanted_) != known->second.end();
}

auto TextOracle::fails_alike(const std::string& text) -> bool {
  ask(text, {});
  const auto known = known_.find(text);
  if (known == known_.end()) return false;
  const auto wanted = without_numbers(wanted_);
  const auto found = std::ranges::find(known->second, wanted, without_numbers);
  if (found == known->second.end()) return false;
  wanted_ = *found;  // from here on with these numbers
  return true;
}

auto TextOracle::adopt(const std::string& text) -> bool {
  ask(text, {});
  const auto known = known_.find(text);
  if (known == known_.end() || known->second.empty()) return false;
  wanted_ = known->second.front();
  return true;
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
