// Smaller sizes of a compiled program, as text.
#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "minifier/edits/text_patches.h"
#include "replay/runner/wrapper_lines.h"

namespace assay {
namespace {

constexpr std::int64_t kSmallest = 1;

/// Lines that hold numbers which are no sizes.
constexpr std::array<std::string_view, 6> kOtherNumbers = {"size_hints=",     "triton_meta=",
                                                           "inductor_meta=",  "set_device(",
                                                           "get_raw_stream(", "_DeviceGuard("};

auto is_word(char c) -> bool {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

struct Number {
  std::size_t begin = 0, end = 0;
  std::int64_t value = 0;
};

/// Whole numbers of a line in front of a comment or a recorded string.
auto numbers_in(std::string_view line) -> std::vector<Number> {
  std::vector<Number> numbers;
  const auto stop =
      std::min({line.size(), line.find('#'), line.find("device="), line.find("data=")});
  for (std::size_t i = 0; i < stop;) {
    if (!is_word(line[i])) {
      ++i;
      continue;
    }
    auto end = i;
    while (end < stop && is_word(line[end])) ++end;
    Number number{i, end, 0};
    const auto [rest, error] = std::from_chars(&line[i], &line[i] + (end - i), number.value);
    if (error == std::errc() && rest == &line[i] + (end - i)) numbers.push_back(number);
    i = end;
  }
  return numbers;
}

auto is_example(std::string_view line) -> bool {
  return line.contains(" = rand_strided(") || line.contains(" = recorded(");
}

auto smaller_number(std::int64_t value, std::int64_t size, std::int64_t smaller) -> std::int64_t {
  if (std::abs(value - size) == 1) return smaller + (value - size);
  std::int64_t power = 1;
  while (value >= size && value % size == 0) {
    value /= size;
    power *= smaller;
  }
  return value * power;
}

/// `data='...'` of a recorded tensor, no longer than its sizes and strides need.
auto with_fitting_data(std::string line) -> std::string {
  constexpr std::string_view kData = "data='";
  const auto data = line.find(kData);
  const auto open = line.find("recorded(("), middle = line.find("), (");
  if (data == std::string::npos || open == std::string::npos || middle == std::string::npos)
    return line;
  const auto before = numbers_in(std::string_view(line).substr(0, middle));
  const auto all = numbers_in(line);
  const auto rank = before.size();
  if (all.size() < 2 * rank) return line;
  std::int64_t extent = 1;
  for (std::size_t d = 0; d < rank; ++d) extent += (all[d].value - 1) * all[rank + d].value;
  // Two digits a byte; the width is in the dtype's name: bool, int8, float32, bfloat16, complex64.
  const auto dtype = line.find("dtype=torch.");
  std::int64_t bits = 0;
  if (dtype != std::string::npos) {
    const auto digits = line.find_first_of("0123456789,)", dtype);
    std::from_chars(&line[digits], &line[0] + line.size(), bits);
  }
  const auto length = static_cast<std::size_t>(extent * std::max<std::int64_t>(bits / 8, 1) * 2);
  const auto first = data + kData.size(), last = line.find('\'', first);
  if (last == std::string::npos || last - first <= length) return line;
  return line.substr(0, first + length) + line.substr(last);
}

}  // namespace

auto sizes_in(std::string_view text) -> std::vector<std::int64_t> {
  std::set<std::int64_t, std::greater<>> sizes;
  bool in_harness = false;
  const auto lines = lines_of(text);
  for (const std::string_view line : lines) {
    in_harness = in_harness || line.starts_with("def get_args");
    const bool is_number = in_harness && line.contains(" = ") && numbers_in(line).size() == 1;
    if (!is_example(line) && !is_number) continue;
    for (const auto& number : numbers_in(line.substr(0, std::min(line.find("), ("), line.size()))))
      if (number.value > kSmallest) sizes.insert(number.value);
  }
  return {sizes.begin(), sizes.end()};
}

auto with_size(std::string_view text, std::int64_t size, std::int64_t smaller) -> std::string {
  std::string out;
  for (const auto& line : lines_of(text)) {
    std::string changed = line;
    const bool is_other = std::ranges::any_of(
        kOtherNumbers, [&](std::string_view word) { return line.contains(word); });
    auto numbers = is_other ? std::vector<Number>() : numbers_in(line);
    std::ranges::reverse(numbers);
    for (const auto& number : numbers)
      changed.replace(number.begin, number.end - number.begin,
                      std::to_string(smaller_number(number.value, size, smaller)));
    out += is_example(line) ? with_fitting_data(std::move(changed)) : std::move(changed);
    out += '\n';
  }
  return out;
}

auto with_input_size(std::string_view text, std::int64_t size, std::int64_t other) -> std::string {
  const auto lines = lines_of(text);
  std::size_t at = 0;
  for (std::size_t i = 0; i < harness_line(lines); ++i) at += lines[i].size() + 1;
  return std::string(text.substr(0, at)) + with_size(text.substr(at), size, other);
}

auto divisors_in(std::string_view text) -> std::vector<std::int64_t> {
  std::set<std::int64_t> divisors;
  for (const std::string_view sign : {" % ", " // "})
    for (auto at = text.find(sign); at != std::string_view::npos; at = text.find(sign, at + 1)) {
      std::int64_t value = 0;
      const auto* begin = text.data() + at + sign.size();
      std::from_chars(begin, text.data() + text.size(), value);
      if (value > 1) divisors.insert(value);
    }
  return {divisors.begin(), divisors.end()};
}

}  // namespace assay
