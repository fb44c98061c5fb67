#include "replay/formats/log_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>

namespace assay {
namespace {

/// Prefixes, which may follow each other in any number. In a pattern `#` stands for digits, `~` for
/// a compile id (digits and `/_!-.`), `@` for a word with dots and slashes, `*` for capitals, `$`
/// for the letter of a level, `%` for lower-case letters and digits, `_` for one blank or the end
/// of the line; anything else for itself.
constexpr std::array<std::string_view, 18> kPatterns = {
    "$# #:#:#.# # @:#]_",      // V0121 12:34:56.789000 140234 torch/_dynamo/output_graph.py:9]
    "[~]_",                    // [0/0]
    "[__@]_",                  // [__graph_code]
    "[#-#-# #:#:#,#]_",        // [2023-03-14 01:02:03,456]
    "@: [*]_",                 // torch._dynamo.output_graph.__graph_code: [DEBUG]
    "#-#-# #:#:#,#_",          // 2023-03-14 01:02:03,456
    "#-#-#T#:#:#.#Z_",         // 2023-03-14T01:02:03.4567890Z
    "*:@:",                    // DEBUG:torch._dynamo.output_graph:
    "* #-# #:#:# [@:#]_",      // INFO 03-14 01:02:03 [backends.py:215]
    "[rank#]:_",               // ranks
    "[%#]:",                   // [default0]:
    "(@ pid=#)_",              // (EngineCore_0 pid=123)
    "(@ rank=# pid=#)_",       // (VllmWorker rank=0 pid=123)
    "(@ pid=#, ip=#.#.#.#)_",  // Ray
    ">_",                      // quotes in mail and on GitHub
    "[* @:#]_",
    "@:#]_",  // torch/_dynamo/output_graph.py:9], where the rest was cut away
    "+",      // added lines of a diff
};

auto takes(char what, char c) -> bool {
  const auto u = static_cast<unsigned char>(c);
  const bool is_digit = std::isdigit(u) != 0;
  const bool is_letter = std::isalpha(u) != 0;
  switch (what) {
    case '#':
      return is_digit;
    case '~':
      return is_digit || std::string_view("/_!-.").contains(c);
    case '@':
      return is_digit || is_letter || std::string_view("_./<>-").contains(c);
    case '*':
      return is_letter && std::isupper(u) != 0;
    case '%':
      return is_letter && std::isupper(u) == 0;
    default:
      return false;
  }
}

/// Length of what the pattern matches at the front of the line, 0 if it does not.
auto match(std::string_view pattern, std::string_view line) -> std::size_t {
  std::size_t at = 0;
  for (std::size_t p = 0; p < pattern.size(); ++p) {
    const char c = pattern[p];
    if (std::string_view("#~@*%").contains(c)) {
      const auto start = at;
      while (at < line.size() && takes(c, line[at])) ++at;
      if (at == start) return 0;
    } else if (c == '$') {
      if (at >= line.size() || !std::string_view("VIWEDCF").contains(line[at])) return 0;
      ++at;
    } else if (c == '_' && p + 1 == pattern.size()) {
      if (at < line.size() && line[at] != ' ' && line[at] != '\r') return 0;
      if (at < line.size()) ++at;
    } else if (at >= line.size() || line[at++] != c) {
      return 0;
    }
  }
  return at;
}

/// A record that may get more lines.
struct OpenRecord {
  std::size_t index = 0;
  int next_line = 0;         ///< of the file, behind the last one of the record
  int prefixed_lines = 0;    ///< lines with the prefix so far
  std::string between = {};  ///< lines without prefix behind those
};

class LogSplitter {
 public:
  auto split(std::string_view text) -> std::vector<LogRecord> {
    while (!text.empty()) {
      const auto end = std::min(text.find('\n'), text.size());
      take(text.substr(0, end));
      ++line_;
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (current_) flush();
    return std::move(records_);
  }

 private:
  void take(std::string_view line) {
    const auto length = log_prefix_length(line);
    auto prefix = line.substr(0, length);
    while (prefix.ends_with(' ') || prefix.ends_with('\r')) prefix.remove_suffix(1);
    const auto own = line.substr(length);
    if (length == 0 && current_) {
      current_->between.append(own).push_back('\n');
      return;
    }
    const auto [found, is_new] = open_.try_emplace(prefix, OpenRecord{records_.size(), line_});
    if (is_new) records_.push_back({std::string(prefix), line_, {}});
    const bool goes_on = current_ == &found->second;
    // Where every line of a record has the prefix, one without it came from elsewhere. Before
    // PyTorch 2.2 only the first line of a record had it.
    if (goes_on && current_->prefixed_lines > 1 && !current_->between.contains("def forward("))
      current_->between.clear();
    else if (current_)
      flush();
    current_ = &found->second;
    if (length > 0) ++current_->prefixed_lines;
    append(own);
  }

  void append(std::string_view own) {
    auto& record = records_[current_->index];
    record.text.append(static_cast<std::size_t>(line_ - current_->next_line), '\n');
    record.text.append(own).push_back('\n');
    current_->next_line = line_ + 1;
  }

  void flush() {
    const auto lines = std::ranges::count(current_->between, '\n');
    records_[current_->index].text += current_->between;
    current_->next_line += static_cast<int>(lines);
    current_->between.clear();
  }

  std::vector<LogRecord> records_;
  std::unordered_map<std::string_view, OpenRecord> open_;  ///< by prefix
  OpenRecord* current_ = nullptr;
  int line_ = 1;
};

}  // namespace

auto log_prefix_length(std::string_view line) -> std::size_t {
  std::size_t length = 0;
  while (true) {
    std::size_t taken = 0;
    for (const auto pattern : kPatterns)
      if (taken = match(pattern, line.substr(length)); taken > 0) break;
    if (taken == 0) return length;
    length += taken;
  }
}

auto split_log(std::string_view text) -> std::vector<LogRecord> {
  return LogSplitter().split(text);
}

}  // namespace assay
