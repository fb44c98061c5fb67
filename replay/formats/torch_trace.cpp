#include "replay/formats/torch_trace.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "replay/formats/json.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 9> kEnvelope = {
    "rank",  "frame_id",    "frame_compile_id", "attempt",      "compiled_autograd_id",
    "stack", "has_payload", "process_id",       "frame_compile"};
constexpr std::size_t kMaxWarnings = 50;

auto md5_hex(std::string_view text) -> std::string {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_md5(), nullptr);
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

/// Header of a line: `V1120 09:58:24.740000 2599 torch/x.py:276] REST`, possibly behind
/// `[rank0]:`. Nothing if the line is none.
struct Header {
  std::string_view time, place, rest;
};

auto is_digits(std::string_view text) -> bool {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c); });
}

auto parse_header(std::string_view line) -> std::optional<Header> {
  if (line.starts_with("[rank")) {
    const auto end = line.find("]:");
    if (end == std::string_view::npos) return std::nullopt;
    line.remove_prefix(end + 2);
    while (line.starts_with(' ')) line.remove_prefix(1);
  }
  if (line.size() < 22 || !std::string_view("VIWEDCF").contains(line[0])) return std::nullopt;
  if (!is_digits(line.substr(1, 4)) || line[5] != ' ' || line[8] != ':' || line[11] != ':')
    return std::nullopt;
  // Drive letters put a colon into the path, so the bracket decides where the place ends.
  const auto bracket = line.find("] ", 6);
  const auto after_time = line.find(' ', 6);
  if (bracket == std::string_view::npos || after_time > bracket) return std::nullopt;
  auto middle = line.substr(after_time + 1, bracket - after_time - 1);
  const auto after_pid = middle.find(' ');
  if (after_pid == std::string_view::npos || !is_digits(middle.substr(0, after_pid)))
    return std::nullopt;
  return Header{line.substr(1, after_time - 1), middle.substr(after_pid + 1),
                line.substr(bracket + 2)};
}

auto compile_id_of(JsonValue root) -> std::string {
  const auto frame = root["frame_id"].as_int();
  const auto compile = root["frame_compile_id"].as_int();
  const auto autograd = root["compiled_autograd_id"].as_int();
  if (!frame || !compile) return autograd ? fmt::format("!{}", *autograd) : std::string();
  const auto id = fmt::format("{}/{}", *frame, *compile);
  return autograd ? fmt::format("!{}/{}", *autograd, id) : id;
}

class LogReader {
 public:
  explicit LogReader(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
  }

  auto read() -> Result<TraceLog> {
    while (auto line = next_line()) read_line(*line);
    finish_event();
    log_.lines = line_;
    if (log_.skipped_lines != 0)
      warn(first_skipped_,
           fmt::format("{} lines from here on belong to no event", log_.skipped_lines));
    if (dropped_ != 0)
      log_.warnings.push_back(fmt::format("{} warnings more are not listed", dropped_));
    if (log_.events.empty())
      return bad_input("line {}: the log has no event", std::max(1, first_skipped_));
    return std::move(log_);
  }

 private:
  auto next_line() -> std::optional<std::string_view> {
    if (position_ >= text_.size()) return std::nullopt;
    const auto end = text_.find('\n', position_);
    auto line = text_.substr(position_, end == std::string_view::npos ? end : end - position_);
    position_ = end == std::string_view::npos ? text_.size() : end + 1;
    ++line_;
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
      if (!std::exchange(crlf_, true)) warn(line_, "lines end in carriage return and line feed");
    }
    return line;
  }

  void read_line(std::string_view line) {
    if (line.starts_with('\t') && has_event_) {
      for (; blank_lines_ > 0; --blank_lines_) add_payload({});
      add_payload(line.substr(1));
    } else if (line.empty() && has_event_) {
      ++blank_lines_;  // a payload line that lost its TAB, if more payload follows
    } else if (const auto header = parse_header(line); header && header->rest.starts_with('{')) {
      finish_event();
      start_event(*header);
    } else {
      if (!header) finish_event();
      skip_line();
    }
  }

  void skip_line() {
    if (log_.skipped_lines++ == 0) first_skipped_ = line_;
  }

  void add_payload(std::string_view line) {
    if (event_.payload_lines++ > 0) event_.payload += '\n';
    event_.payload += line;
  }

  void start_event(const Header& header) {
    const auto json = JsonDocument::parse(header.rest, "event");
    if (!json) {
      warn(line_, json.error().message);
      skip_line();
      return;
    }
    const auto root = json->root();
    event_ = {};
    event_.line = line_;
    event_.time = header.time;
    event_.place = header.place;
    for (const auto& [key, value] : root.members()) {
      if (std::ranges::find(kEnvelope, key) != kEnvelope.end() &&
          !(key == "stack" && root.members().size() == 1))
        continue;
      if (!event_.kind.empty()) {
        warn(line_,
             fmt::format("a second event `{}` beside `{}` is kept with it", key, event_.kind));
        continue;
      }
      event_.kind = key;
      event_.body = value.dump();
    }
    if (event_.kind.empty()) {
      warn(line_, "an event without a kind");
      event_.kind = "unknown";
    }
    event_.rank = root["rank"].as_int();
    event_.compile_id = compile_id_of(root);
    event_.attempt = root["attempt"].as_int().value_or(0);
    wanted_hash_ = root["has_payload"].as_string().value_or("");
    if (event_.kind == "str") intern(root["str"]);
    has_event_ = true;
    blank_lines_ = 0;
  }

  void intern(JsonValue entry) {
    const auto items = entry.items();
    const auto text = items.size() == 2 ? items[0].as_string() : std::nullopt;
    const auto id = items.size() == 2 ? items[1].as_int() : std::nullopt;
    if (!text || !id)
      warn(line_, "an interned string that is not [text, number]");
    else
      log_.strings[*id] = *text;
  }

  /// Checks the hash; blank lines at the end of a payload count in where the hash says so.
  void finish_event() {
    if (!std::exchange(has_event_, false)) return;
    if (!wanted_hash_.empty()) {
      event_.hash = PayloadHash::differs;
      auto payload = event_.payload;
      for (int blanks = 0; blanks <= blank_lines_; ++blanks, payload += '\n') {
        if (md5_hex(payload) != wanted_hash_) continue;
        event_.hash = blanks == 0 ? PayloadHash::verified : PayloadHash::repaired;
        event_.payload = payload;
        break;
      }
      if (event_.hash == PayloadHash::differs)
        warn(event_.line,
             fmt::format("payload of `{}` does not have its MD5 {}", event_.kind, wanted_hash_));
    }
    log_.events.push_back(std::move(event_));
    event_ = {};
    blank_lines_ = 0;
  }

  void warn(int line, std::string_view message) {
    if (log_.warnings.size() >= kMaxWarnings)
      ++dropped_;
    else
      log_.warnings.push_back(fmt::format("line {}: {}", line, message));
  }

  std::string_view text_;
  std::size_t position_ = 0;
  int line_ = 0;
  bool crlf_ = false;
  TraceLog log_;
  TraceEvent event_;
  bool has_event_ = false;
  int blank_lines_ = 0;
  std::string wanted_hash_;
  int first_skipped_ = 0;
  int dropped_ = 0;
};

}  // namespace

auto read_torch_trace(std::string_view text) -> Result<TraceLog> {
  return LogReader(text).read();
}

}  // namespace assay
