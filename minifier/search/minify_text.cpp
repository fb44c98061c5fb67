#include "minifier/search/minify_text.h"

#include <ranges>

namespace assay {

auto TextOracle::fails(const std::string& text) -> bool {
  if (const auto known = known_.find(text); known != known_.end()) return known->second;
  ++asked_;
  const auto failures = failures_(text);
  return known_[text] = std::ranges::find(failures, wanted_) != failures.end();
}

auto minimal_parts(const TextParts& parts, TextOracle& oracle) -> Kept {
  Minimal search(parts.count, [&](const Kept& kept, const std::vector<Kept>&) {
    const auto text = parts.text(kept);
    return text && oracle.fails(*text);
  });
  return search.run();
}

}  // namespace assay
