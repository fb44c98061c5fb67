// Layouts of a wrapper's inputs, from the example calls at its end.
#include <charconv>

#include "compiler/read/statement.h"

namespace assay {
namespace {

/// "00ff7f": two digits a byte. Whatever is no digit ends it.
auto bytes_of_hex(std::string_view digits) -> std::string {
  std::string bytes;
  for (; digits.size() >= 2; digits.remove_prefix(2)) {
    unsigned value = 0;
    if (std::from_chars(digits.data(), digits.data() + 2, value, 16).ptr != digits.data() + 2)
      break;
    bytes.push_back(static_cast<char>(value));
  }
  return bytes;
}

}  // namespace

/// `torch.testing.assert_close(result.reshape(-1), expected.reshape(-1), rtol=0, atol=0.5)`.
auto StatementReader::expectation(int call) -> Result<void> {
  const auto args = cursor_.positional(call);
  const int tolerance = cursor_.keyword(call, "atol");
  if (!callee(call).ends_with("assert_close") || args.size() < 2 || tolerance < 0) return {};
  const auto text = cursor_.source_of(tolerance);
  HostExpected expected;
  if (std::from_chars(text.data(), text.data() + text.size(), expected.tolerance).ec != std::errc())
    return bad_source(cursor_.syntax(tolerance).place, "`atol` is no number");
  const auto operand = cursor_.source_of(args[1]);
  expected.example = operand.substr(0, operand.find('.'));
  program_.expected = std::move(expected);
  return {};
}

auto StatementReader::example() -> Result<void> {
  if (cursor_.token().kind != TokenKind::name || cursor_.at("from") || cursor_.at("return") ||
      cursor_.at("global"))
    return {};
  ASSAY_TRY(const int left, cursor_.expression_list());
  if (cursor_.syntax(left).kind == SyntaxKind::call) return expectation(left);
  if (!cursor_.accept("=") || cursor_.at("lambda")) return {};
  ASSAY_TRY(const int right, cursor_.expression_list());
  const auto source = cursor_.source_of(right);
  std::int64_t whole = 0;
  const auto* source_end = source.data() + source.size();
  if (const auto read = std::from_chars(source.data(), source_end, whole);
      read.ec == std::errc() && read.ptr == source_end) {
    program_.example_numbers[std::string(cursor_.source_of(left))] = whole;
    return {};
  }
  const bool is_recorded = callee(right) == "recorded";
  if (!is_recorded && !callee(right).ends_with("rand_strided")) return {};
  const auto args = cursor_.positional(right);
  if (args.size() < 2) return {};
  HostExample result;
  for (const auto& [node, out] : {std::pair{args[0], &result.sizes}, {args[1], &result.strides}}) {
    ASSAY_TRY(const auto values, dims(node));
    for (const auto& value : values)
      if (const auto number = value.as_int()) out->push_back(*number);
  }
  const int type = cursor_.keyword(right, "dtype");
  if (type < 0) return {};
  ASSAY_TRY(result.dtype, dtype(type));
  if (const int device = cursor_.keyword(right, "device"); device >= 0)
    if (const auto text = decode_string(cursor_.syntax(device).text))
      result.device = device_from_string(*text).value_or(Device{});
  if (const int data = cursor_.keyword(right, "data"); is_recorded && data >= 0) {
    ASSAY_TRY(const auto digits, decode_string(cursor_.syntax(data).text));
    result.bytes = bytes_of_hex(digits);
  }
  program_.examples[std::string(cursor_.source_of(left))] = result;
  return {};
}

}  // namespace assay
