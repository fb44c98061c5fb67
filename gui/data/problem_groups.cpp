#include "gui/data/problem_groups.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace assay {
namespace {

/// A message as what is fixed and what varies in turn, what is fixed first.
using Pieces = std::vector<std::string>;

auto is_digit(char c) -> bool {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
auto is_word(char c) -> bool {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The end of what varies from `at` on; `at` if nothing does.
auto end_of_varying(const std::string& text, std::size_t at) -> std::size_t {
  if (at > 0 && text[at - 1] == '`') {
    // Between an odd backquote and the next.
    const auto before =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '`');
    const auto close = text.find('`', at);
    return before % 2 == 1 && close != std::string::npos ? close : at;
  }
  if (at > 0 && is_word(text[at - 1])) return at;
  auto end = at;
  while (end < text.size() && is_word(text[end])) ++end;
  const auto word = text.substr(at, end - at);
  const bool is_hash = word.size() >= 8 && std::ranges::all_of(word, [](char c) {
                         return std::isxdigit(static_cast<unsigned char>(c)) != 0;
                       });
  const bool is_number = !word.empty() && std::ranges::all_of(word, is_digit);
  return is_hash || is_number ? end : at;
}

auto pieces_of(const std::string& text) -> Pieces {
  Pieces pieces = {""};
  for (std::size_t at = 0; at < text.size();) {
    const auto end = end_of_varying(text, at);
    if (end == at) {
      pieces.back() += text[at++];
      continue;
    }
    pieces.push_back(text.substr(at, end - at));
    pieces.emplace_back();
    at = end;
  }
  return pieces;
}

auto fixed(const std::string& kind, const Pieces& pieces) -> Pieces {
  Pieces key = {kind};
  for (std::size_t i = 0; i < pieces.size(); i += 2) key.push_back(pieces[i]);
  return key;
}

auto first_number(const std::string& text) -> std::int64_t {
  const auto at = std::ranges::find_if(text, is_digit);
  std::int64_t number = 0;
  for (auto c = at; c != text.end() && is_digit(*c) && number < 1'000'000'000; ++c)
    number = number * 10 + (*c - '0');
  return number;
}

/// What all share, with an ellipsis for each run of pieces that differ.
auto shared_text(const std::vector<Pieces>& all) -> std::string {
  std::string text;
  for (std::size_t i = 0; i < all.front().size(); ++i) {
    const bool differs =
        std::ranges::any_of(all, [&](const Pieces& pieces) { return pieces[i] != all.front()[i]; });
    text += differs ? "…" : all.front()[i];
  }
  return text;
}

}  // namespace

auto group_problems(std::vector<Problem> problems) -> std::vector<ProblemGroup> {
  std::vector<ProblemGroup> groups;
  std::vector<std::vector<Pieces>> pieces;
  std::map<Pieces, std::size_t> places;
  for (auto& problem : problems) {
    auto parts = pieces_of(problem.message);
    const auto [at, is_new] = places.emplace(fixed(problem.kind, parts), groups.size());
    if (is_new) {
      groups.push_back({.kind = problem.kind, .text = {}, .problems = {}});
      pieces.emplace_back();
    }
    auto& group = groups[at->second];
    group.times += problem.times;
    group.problems.push_back(std::move(problem));
    pieces[at->second].push_back(std::move(parts));
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].text = shared_text(pieces[i]);
    std::ranges::stable_sort(groups[i].problems, {},
                             [](const Problem& p) { return first_number(p.message); });
  }
  return groups;
}

}  // namespace assay
