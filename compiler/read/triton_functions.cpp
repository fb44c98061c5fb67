// Functions beside a Triton kernel, wherever they stand: what a call gives is computed where it
// stands, as Triton itself inlines them.
#include <algorithm>

#include "compiler/read/triton_reader.h"

namespace assay {

/// All definitions of the source; the kernel's own is one of them and never called.
void TritonReader::find_functions() {
  const auto start = cursor_.token();
  const auto source = cursor_.lexer().source();
  constexpr std::string_view kDefinition = "def ";
  int line = 1;
  for (std::size_t at = 0; at != std::string_view::npos && at < source.size(); ++line) {
    const auto end = source.find('\n', at);
    if (source.substr(at).starts_with(kDefinition)) {
      cursor_.seek(at + kDefinition.size(), line);
      const auto name = cursor_.token();
      cursor_.advance();
      TritonHelper function;
      if (signature(function)) helpers_[std::string(name.text)] = std::move(function);
      cursor_.clear();
    }
    at = end == std::string_view::npos ? end : end + 1;
  }
  cursor_.seek(start.offset, start.line);
}

/// `(a, b: tl.constexpr, c=False):`
auto TritonReader::signature(TritonHelper& function) -> Result<void> {
  ASSAY_TRY_VOID(cursor_.expect("("));
  while (!cursor_.at(")")) {
    ASSAY_TRY(const auto parameter, cursor_.expect_name("a parameter"));
    auto& param = function.params.emplace_back();
    param.name = parameter.text;
    if (cursor_.accept(":")) ASSAY_TRY_VOID(cursor_.expression());
    if (cursor_.accept("=")) {
      ASSAY_TRY(const int standard, cursor_.expression());
      if (auto known = value(standard)) param.standard = *std::move(known);
    }
    if (!cursor_.accept(",") && !cursor_.at(")")) return cursor_.unexpected("`,` or `)`");
  }
  ASSAY_TRY_VOID(cursor_.expect(")"));
  ASSAY_TRY_VOID(cursor_.expect(":"));
  function.offset = cursor_.token().offset;
  function.line = cursor_.token().line;
  return {};
}

auto TritonReader::function_call(int node, const TritonHelper& function) -> Result<TritonValue> {
  ASSAY_TRY(auto operands, arguments(node));
  for (auto i = operands.size(); i < function.params.size(); ++i) {
    const auto& [name, standard] = function.params[i];
    if (const int given = cursor_.keyword(node, name); given >= 0) {
      ASSAY_TRY(operands.emplace_back(), value(given));
    } else if (standard) {
      operands.push_back(*standard);
    } else {
      return bad_input("no value for the parameter `{}`", name);
    }
  }
  return apply(function, operands);
}

/// What a function gives for operands, computed here. It knows its parameters, and the kernel's.
auto TritonReader::apply(const TritonHelper& helper, const Values& operands)
    -> Result<TritonValue> {
  constexpr int kMaxCalls = 64;  // Triton refuses functions that call themselves
  if (helper.params.size() != operands.size()) return bad_input("operands that do not fit");
  if (calls_ == kMaxCalls) return bad_input("a function that calls itself");
  const auto place = cursor_.token();
  auto locals = std::exchange(locals_, {});
  auto blocks = std::exchange(blocks_, {});
  auto settled = std::exchange(settled_, {});
  for (const auto& param : kernel_.params)
    if (const auto known = locals.find(param.name); known != locals.end()) locals_.insert(*known);
  for (std::size_t i = 0; i < operands.size(); ++i)
    locals_.insert_or_assign(helper.params[i].name, operands[i]);
  cursor_.seek(helper.offset, helper.line);
  ++calls_;
  auto result = function_body();
  --calls_;
  for (; !blocks_.empty(); blocks_.pop_back()) builder_.pop();  // of statements not understood
  cursor_.seek(place.offset, place.line);
  builder_.set_line(place.line);
  locals_ = std::move(locals);
  blocks_ = std::move(blocks);
  settled_ = std::move(settled);
  return result;
}

/// Statements up to the `return` that is reached.
auto TritonReader::function_body() -> Result<TritonValue> {
  while (cursor_.token().kind != TokenKind::end) {
    if (cursor_.token().kind == TokenKind::newline) {
      cursor_.advance();
      continue;
    }
    const int indent = cursor_.lexer().indent();
    if (indent == 0) break;
    builder_.set_line(cursor_.token().line);
    ASSAY_TRY_VOID(close(indent));
    if (cursor_.at("return")) {
      if (!blocks_.empty())
        return bad_source(cursor_.token(), "a return from within a loop or a branch");
      cursor_.advance();
      if (cursor_.token().kind == TokenKind::newline) return TritonValue{};
      ASSAY_TRY(const int list, cursor_.expression_list());
      return value(list);
    }
    ASSAY_TRY_VOID(body(indent));
    cursor_.accept(";");
  }
  ASSAY_TRY_VOID(close(0));
  return TritonValue{};
}

}  // namespace assay
