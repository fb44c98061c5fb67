#include <algorithm>
#include <array>
#include <cctype>

#include "minifier/oracle/oracle.h"

namespace assay {
namespace {

struct OutcomeName {
  Outcome outcome;
  std::string_view name;
};
constexpr std::array kOutcomes = {
    OutcomeName{Outcome::passes, "passes"}, OutcomeName{Outcome::fails, "fails"},
    OutcomeName{Outcome::invalid, "invalid"}, OutcomeName{Outcome::timeout, "timeout"},
    OutcomeName{Outcome::out_of_memory, "out of memory"}};

struct Part {
  std::string Signature::* text;
  MatchLevel needed_from;  ///< the lowest level that compares it
  std::string_view label;
};
constexpr std::array kParts = {Part{&Signature::stage, MatchLevel::loose, ""},
                               Part{&Signature::error_class, MatchLevel::loose, ""},
                               Part{&Signature::numeric, MatchLevel::loose, ""},
                               Part{&Signature::op, MatchLevel::normal, "at "},
                               Part{&Signature::message, MatchLevel::normal, ""},
                               Part{&Signature::node, MatchLevel::strict, "node "},
                               Part{&Signature::frames, MatchLevel::strict, "in "}};

}  // namespace

auto name(Outcome outcome) -> std::string_view {
  return std::ranges::find(kOutcomes, outcome, &OutcomeName::outcome)->name;
}

auto outcome_from(std::string_view name) -> std::optional<Outcome> {
  const auto* row = std::ranges::find(kOutcomes, name, &OutcomeName::name);
  return row == kOutcomes.end() ? std::nullopt : std::optional(row->outcome);
}

auto matches(const Signature& a, const Signature& b, MatchLevel level) -> bool {
  return std::ranges::all_of(kParts, [&](const Part& part) {
    return part.needed_from > level || a.*part.text == b.*part.text;
  });
}

auto to_string(const Signature& signature) -> std::string {
  std::string text;
  for (const auto& part : kParts) {
    const auto& value = signature.*part.text;
    if (!value.empty()) text += fmt::format("{}{}{}", text.empty() ? "" : " ", part.label, value);
  }
  return text;
}

auto normalised(std::string_view message) -> std::string {
  std::string out;
  for (std::size_t i = 0; i < message.size();) {
    const auto is = [&](auto test) {
      return i < message.size() && test(static_cast<unsigned char>(message[i])) != 0;
    };
    if (message.substr(i, 2) == "0x") {
      out += "0x#";
      i += 2;
      while (is([](int c) { return std::isxdigit(c); })) ++i;
    } else if (is([](int c) { return std::isdigit(c); })) {
      out += '#';
      while (is([](int c) { return std::isdigit(c); })) ++i;
    } else if (message[i] == '/') {  // a path keeps its last part only
      const auto end = std::min(message.find_first_of(" \t\n\"',:;)", i), message.size());
      const auto path = message.substr(i, end - i);
      out += path.substr(path.rfind('/'));
      i = end;
    } else {
      out += message[i++];
    }
  }
  return out.substr(0, 400);
}

auto Candidate::key() const -> std::uint64_t {
  if (capture_) return content_hash_of(*capture_);
  std::uint64_t hash = program_->content_hash();
  std::uint64_t word = 0;
  int bits = 0;
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0x9ddfea08eb382d69ULL;
    hash ^= hash >> 29;
  };
  for (const bool kept : selection_.keep) {
    word = word << 1 | static_cast<std::uint64_t>(kept);
    if (++bits == 64) mix(std::exchange(word, 0)), bits = 0;
  }
  mix(word);
  return hash;
}

}  // namespace assay
