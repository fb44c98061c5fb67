// Patches of `call`, of the inputs and of what a launch is made with.
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

#include "core/graph/annotation.h"
#include "minifier/edits/text_patch_rows.h"
#include "replay/runner/wrapper_lines.h"

namespace assay {
namespace {

using Items = std::vector<std::string>;

auto is_word(char c) -> bool {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// `(2, 3, ), (3, 1, )`: sizes and strides of a buffer, where they stand.
struct LayoutPlace {
  std::size_t begin = 0, end = 0;
  Items sizes, strides;
};

/// A number, or a product of some.
auto number_of(std::string_view text) -> std::optional<std::int64_t> {
  if (const auto times = text.find('*'); times != std::string_view::npos) {
    const auto left = number_of(trimmed(text.substr(0, times)));
    const auto right = number_of(trimmed(text.substr(times + 1)));
    return left && right ? std::optional(*left * *right) : std::nullopt;
  }
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The items of the tuple that begins at `open`, and where it ends.
auto tuple_at(std::string_view text, std::size_t open)
    -> std::optional<std::pair<Items, std::size_t>> {
  if (open >= text.size() || text[open] != '(') return std::nullopt;
  Items items;
  int depth = 0;
  auto begin = open + 1;
  for (auto at = open; at < text.size() && text[at] != '\n'; ++at) {
    depth += text[at] == '(' ? 1 : 0;
    depth -= text[at] == ')' ? 1 : 0;
    if ((text[at] == ',' && depth == 1) || depth == 0) {
      const auto item = trimmed(text.substr(begin, at - begin));
      if (!item.empty()) items.emplace_back(item);
      begin = at + 1;
    }
    if (depth == 0) return std::pair(std::move(items), at + 1);
  }
  return std::nullopt;
}

auto text_of(const Items& items) -> std::string {
  return items.size() == 1 ? fmt::format("({}, )", items[0])
                           : fmt::format("({})", fmt::join(items, ", "));
}

/// By buffer, from allocations, examples of inputs and asserts.
auto layouts_in(std::string_view text) -> std::map<std::string, std::vector<LayoutPlace>> {
  std::map<std::string, std::vector<LayoutPlace>> all;
  constexpr std::string_view kAssert = "assert_size_stride(";
  constexpr std::array<std::string_view, 3> kMakers = {"empty_strided", "rand_strided(",
                                                       "recorded("};
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const auto line = text.substr(begin, end - begin);
    const auto start = std::min(line.find_first_not_of(' '), line.size());
    const auto equals = line.find(" = ");
    std::string name;
    auto open = std::string_view::npos;
    if (start > 0 && line.substr(start).starts_with(kAssert)) {
      const auto comma = line.find(", ");
      name = line.substr(start + kAssert.size(), comma - start - kAssert.size());
      open = comma == std::string_view::npos ? comma : comma + 2;
    } else if (start > 0 && equals != std::string_view::npos &&
               std::ranges::any_of(kMakers, [&](std::string_view maker) {
                 return line.substr(equals + 3).starts_with(maker);
               })) {
      name = line.substr(start, equals - start);
      open = line.find('(', equals) + 1;
    }
    if (auto sizes = tuple_at(text, begin + std::min(open, line.size())); sizes && !name.empty())
      if (auto strides = tuple_at(text, sizes->second + 2);
          strides && strides->first.size() == sizes->first.size())
        all[name].push_back(
            {begin + open, strides->second, std::move(sizes->first), std::move(strides->first)});
    begin = end + 1;
  }
  return all;
}

/// `change` of every place of a buffer; nothing where one of them refuses.
template <class Change>
auto changed(const std::vector<LayoutPlace>& places, const Change& change)
    -> std::optional<TextPatch> {
  TextPatch patch;
  for (auto place : places) {
    if (!change(place)) return std::nullopt;
    patch.push_back({place.begin, place.end, text_of(place.sizes) + ", " + text_of(place.strides)});
  }
  return patch;
}

auto drop_axis(LayoutPlace& place, std::size_t axis) -> bool {
  if (place.sizes.size() < 2 || axis >= place.sizes.size() || place.sizes[axis] != "1")
    return false;
  place.sizes.erase(place.sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  place.strides.erase(place.strides.begin() + static_cast<std::ptrdiff_t>(axis));
  return true;
}

auto merge_axis(LayoutPlace& place, std::size_t axis) -> bool {
  if (axis + 1 >= place.sizes.size()) return false;
  const auto size = number_of(place.sizes[axis + 1]), outer = number_of(place.sizes[axis]);
  const auto stride = number_of(place.strides[axis + 1]), before = number_of(place.strides[axis]);
  if (!size || !outer || !stride || !before || *before != *size * *stride) return false;
  place.sizes[axis] = std::to_string(*outer * *size);
  place.strides.erase(place.strides.begin() + static_cast<std::ptrdiff_t>(axis));
  place.sizes.erase(place.sizes.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  return true;
}

auto make_plain(LayoutPlace& place) -> bool {
  std::int64_t stride = 1;
  for (auto d = place.sizes.size(); d-- > 0;) {
    const auto size = number_of(place.sizes[d]);
    if (!size) return false;
    place.strides[d] = std::to_string(stride);
    stride *= std::max<std::int64_t>(*size, 1);
  }
  return true;
}

/// Every `from` in the text by `to`.
void replace_all(std::string_view text, std::string_view from, std::string_view to,
                 TextPatch& patch) {
  for (auto at = text.find(from); at != std::string_view::npos;
       at = text.find(from, at + from.size()))
    patch.push_back({at, at + from.size(), std::string(to)});
}

}  // namespace

auto number_inputs(std::string_view text) -> std::vector<NumberInput> {
  std::vector<NumberInput> all;
  const auto lines = lines_of(text);
  const auto harness = harness_line(lines);
  for (std::size_t line = 0; line < harness; ++line) {
    const auto equals = lines[line].find(" = ");
    if (equals == std::string::npos || !lines[line].starts_with(' ')) continue;
    const auto words = trimmed(lines[line]);
    const auto input = std::string_view(lines[line]).substr(equals + 3);
    for (auto at = harness; at < lines.size(); ++at) {
      const auto example = trimmed(lines[at]);
      if (!example.starts_with(fmt::format("{} = ", input))) continue;
      if (const auto value = number_of(example.substr(input.size() + 3)))
        all.push_back({std::string(words.substr(0, words.find(' '))), std::string(input), *value});
      break;
    }
  }
  return all;
}

auto symbols_by_numbers(std::string_view text) -> std::vector<TextPatch> {
  std::vector<TextPatch> patches;
  const auto lines = lines_of(text);
  const auto harness = harness_line(lines);
  for (const auto& [symbol, input, value] : number_inputs(text)) {
    TextPatch patch;
    bool is_known = false;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < harness; begin += lines[i++].size() + 1) {
      const auto& line = lines[i];
      if (trimmed(line) == fmt::format("{} = {}", symbol, input)) {
        patch.push_back({begin, begin + line.size() + 1, ""});
        is_known = true;
        continue;
      }
      if (!is_known) continue;
      for (auto at = line.find(symbol); at != std::string::npos; at = line.find(symbol, at + 1)) {
        const auto end = at + symbol.size();
        const bool is_whole =
            (at == 0 || !is_word(line[at - 1])) && (end == line.size() || !is_word(line[end]));
        if (is_whole) patch.push_back({begin + at, begin + end, std::to_string(value)});
      }
    }
    if (is_known) patches.push_back(std::move(patch));
  }
  return patches;
}

auto merged_axes(std::string_view text) -> std::vector<TextPatch> {
  std::vector<TextPatch> patches;
  for (const auto& [name, places] : layouts_in(text))
    for (std::size_t axis = 0; axis < places.front().sizes.size(); ++axis)
      for (const auto change : {drop_axis, merge_axis})
        if (auto patch = changed(places, [&](LayoutPlace& place) { return change(place, axis); }))
          patches.push_back(*std::move(patch));
  return patches;
}

auto plain_strides(std::string_view text) -> std::vector<TextPatch> {
  std::vector<TextPatch> patches;
  for (const auto& [name, places] : layouts_in(text)) {
    auto plain = places.front();
    if (make_plain(plain) && plain.strides != places.front().strides)
      if (auto patch = changed(places, make_plain)) patches.push_back(*std::move(patch));
  }
  return patches;
}

auto plain_dtypes(std::string_view text) -> std::vector<TextPatch> {
  struct Row {
    std::string_view torch, pointer;
  };
  constexpr std::array<Row, 3> kRows = {
      {{"bfloat16", "'*bf16'"}, {"float16", "'*fp16'"}, {"float64", "'*fp64'"}}};
  std::vector<TextPatch> patches;
  if (text.contains("async_compile.cpp")) return patches;
  const auto lines = lines_of(text);
  for (const auto& [torch, pointer] : kRows) {
    const auto name = fmt::format("torch.{}", torch);
    const bool is_recorded = std::ranges::any_of(lines, [&](const std::string& line) {
      return line.contains(" = recorded(") && line.contains(name);
    });
    if (is_recorded) continue;
    TextPatch patch;
    replace_all(text, name, "torch.float32", patch);
    replace_all(text, pointer, "'*fp32'", patch);
    replace_all(text, fmt::format("tl.{}", torch), "tl.float32", patch);
    std::ranges::sort(patch, {}, &TextEdit::begin);
    if (!patch.empty()) patches.push_back(std::move(patch));
  }
  return patches;
}

auto smaller_launches(std::string_view text) -> std::vector<TextPatch> {
  struct Row {
    std::string_view before;
    bool is_halved;
  };
  constexpr std::array<Row, 7> kRows = {{{"num_warps=", false},
                                         {"num_stages=", false},
                                         {"'num_warps': ", false},
                                         {"'num_stages': ", false},
                                         {"size_hints={'x': ", false},
                                         {"size_hints=[", false},
                                         {"tl.constexpr = ", true}}};
  std::vector<TextPatch> patches;
  for (const auto& [before, is_halved] : kRows)
    for (auto at = text.find(before); at != std::string_view::npos;
         at = text.find(before, at + 1)) {
      const auto begin = at + before.size();
      auto end = begin;
      while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
      const auto value = number_of(text.substr(begin, end - begin)).value_or(1);
      if (value > 1) patches.push_back({{begin, end, std::to_string(is_halved ? value / 2 : 1)}});
    }
  std::ranges::sort(patches, {}, [](const TextPatch& patch) { return patch.front().begin; });
  return patches;
}

}  // namespace assay
