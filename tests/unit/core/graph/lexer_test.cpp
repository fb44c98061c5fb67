#include "core/graph/python_lexer.h"

#include <gtest/gtest.h>

#include "core/graph/python_syntax.h"

namespace assay {
namespace {

/// Texts of all tokens, separated by blanks; line ends as `;;`.
auto tokens(std::string_view source) -> std::string {
  PythonLexer lexer(source);
  std::string out;
  for (auto token = lexer.next(); token.kind != TokenKind::end; token = lexer.next()) {
    if (token.kind == TokenKind::invalid)
      return out + fmt::format("[{}:{} {}]", token.line, token.column, lexer.error());
    out += token.kind == TokenKind::newline ? ";;" : std::string(token.text);
    out += ' ';
  }
  return out;
}

TEST(PythonLexer, SplitsAGeneratedLine) {
  EXPECT_EQ(tokens("x: \"f32[2]\" = f.g(y, a = -1e-05, b=True);  y = None  # note\n"),
            "x : \"f32[2]\" = f . g ( y , a = - 1e-05 , b = True ) ; y = None ;; ");
}

TEST(PythonLexer, JoinsLinesInsideBracketsAndAfterBackslashes) {
  EXPECT_EQ(tokens("f(a,\n  # note\n  b)\nx = \\\n 1\n"), "f ( a , b ) ;; x = 1 ;; ");
}

TEST(PythonLexer, SkipsBlankAndCommentLines) {
  EXPECT_EQ(tokens("\n  \n# c\n\nx\n\n"), "x ;; ");
}

TEST(PythonLexer, EndsALastLineWithoutLineEnd) {
  EXPECT_EQ(tokens("x"), "x ;; ");
}

TEST(PythonLexer, ReadsNumbersOfAllKinds) {
  PythonLexer lexer("1 0x1F 1_000 16. .5 1e9 1.5E-3 2j");
  for (const auto kind :
       {TokenKind::integer, TokenKind::integer, TokenKind::integer, TokenKind::real,
        TokenKind::real, TokenKind::real, TokenKind::real, TokenKind::imaginary})
    EXPECT_EQ(lexer.next().kind, kind);
}

TEST(PythonLexer, PlacesErrorsExactly) {
  EXPECT_EQ(tokens("x = 'ab\n"), "x = [1:5 string is not closed]");
  EXPECT_EQ(tokens("x\n  y = 12ab"), "x ;; y = [2:7 malformed number]");
  EXPECT_EQ(tokens("ab $"), "ab [1:4 unexpected character \"$\"]");
  EXPECT_EQ(tokens(std::string("a\0b", 3)), "a [1:2 unexpected byte 0x00]");
  EXPECT_EQ(tokens("ab\xff"), "[1:3 invalid UTF-8]");
}

TEST(PythonLexer, TakesAnythingInStringsAndComments) {
  EXPECT_EQ(tokens("'\xff' # \xff\n"), "'\xff' ;; ");
}

TEST(PythonLexer, AcceptsUnicodeIdentifiers) {
  EXPECT_EQ(tokens("größe = 1"), "größe = 1 ;; ");
}

TEST(PythonLexer, KeepsComments) {
  PythonLexer lexer("# one\nx  #  two \n");
  lexer.next();
  lexer.next();
  const auto comments = lexer.take_comments();
  ASSERT_EQ(comments.size(), 2U);
  EXPECT_EQ(comments[0].text, "one");
  EXPECT_TRUE(comments[0].own_line);
  EXPECT_EQ(comments[1].text, "two");
  EXPECT_FALSE(comments[1].own_line);
  EXPECT_EQ(comments[1].column, 4);
  EXPECT_TRUE(lexer.take_comments().empty());
}

TEST(PythonLexer, KnowsIndentation) {
  PythonLexer lexer("a\n    b c\n");
  lexer.next();
  EXPECT_EQ(lexer.indent(), 0);
  lexer.next();
  lexer.next();
  EXPECT_EQ(lexer.indent(), 4);
  lexer.next();
  EXPECT_EQ(lexer.indent(), 4);
}

TEST(PythonLexer, SpansLinesInTripleQuotes) {
  PythonLexer lexer("'''a\nb''' x");
  EXPECT_EQ(lexer.next().text, "'''a\nb'''");
  const auto x = lexer.next();
  EXPECT_EQ(x.line, 2);
  EXPECT_EQ(x.column, 6);
}

TEST(Strings, DecodeEscapes) {
  EXPECT_EQ(decode_string(R"('a\n\t\\\'\x41\u00e9\101')").value(), "a\n\t\\'A\u00e9A");
  EXPECT_EQ(decode_string(R"(r'\n')").value(), "\\n");
  EXPECT_EQ(decode_string(R"('\d')").value(), "\\d");
  EXPECT_EQ(decode_string("\"\"\"a\"b\"\"\"").value(), "a\"b");
  EXPECT_FALSE(decode_string(R"('\xZ1')").has_value());
  EXPECT_FALSE(decode_string("f'a'").has_value());
}

TEST(Strings, QuotingReadsBack) {
  for (const std::string text : {"", "plain", "it's", "\"both\" 'kinds'", "line\nend\r\t\x01\x7f",
                                 "back\\slash", "größe", "stray \xff\xc3 bytes"})
    EXPECT_EQ(decode_string(quote_string(text)).value(), text);
  EXPECT_EQ(quote_string("a\nb").find('\n'), std::string::npos);
}

TEST(StripAnsi, RemovesColoursOnly) {
  EXPECT_EQ(strip_ansi("\x1b[31mred\x1b[0m and \x1b[2;36mdim\x1b[0m"), "red and dim");
}

/// The expression with every operation in parentheses.
auto shape(const PythonCursor& cursor, int index) -> std::string {
  const auto& syntax = cursor.syntax(index);
  std::string text(syntax.text);
  std::string inner;
  for (const int child : cursor.children(index))
    inner += (inner.empty() ? "" : " ") + shape(cursor, child);
  switch (syntax.kind) {
    case SyntaxKind::unary:
    case SyntaxKind::binary:
    case SyntaxKind::keyword:
    case SyntaxKind::star:
    case SyntaxKind::attribute:
      return "(" + text + " " + inner + ")";
    case SyntaxKind::call:
      return "(call " + inner + ")";
    case SyntaxKind::conditional:
      return "(if " + inner + ")";
    case SyntaxKind::subscript:
      return "(at " + inner + ")";
    case SyntaxKind::slice:
      return "(slice " + inner + ")";
    case SyntaxKind::list:
      return "[" + inner + "]";
    case SyntaxKind::tuple:
      return "<" + inner + ">";
    case SyntaxKind::dict:
      return "{" + inner + "}";
    case SyntaxKind::none:
      return "-";
    case SyntaxKind::name:
    case SyntaxKind::integer:
    case SyntaxKind::real:
    case SyntaxKind::imaginary:
    case SyntaxKind::string:
    case SyntaxKind::ellipsis:
      break;
  }
  return text;
}

auto parsed(std::string_view source) -> std::string {
  PythonCursor cursor(source);
  const auto index = cursor.expression_list();
  return index ? shape(cursor, *index) : index.error().message;
}

TEST(PythonCursor, TellsArgumentsByPositionAndByKeyword) {
  PythonCursor cursor("f(a, key=b, c)");
  const auto call = cursor.expression();
  ASSERT_TRUE(call);
  std::string positional;
  for (const int argument : cursor.positional(*call)) positional += cursor.source_of(argument);
  EXPECT_EQ(positional, "ac");
  const int key = cursor.keyword(*call, "key");
  ASSERT_GE(key, 0);
  EXPECT_EQ(cursor.source_of(key), "b");
  EXPECT_EQ(cursor.keyword(*call, "other"), -1);
}

TEST(PythonLexer, ALineEndAfterTextCountsWhenItIsSoughtToo) {
  PythonCursor cursor("a = 1\nb");
  cursor.seek(5, 1);
  EXPECT_EQ(cursor.token().kind, TokenKind::newline);
  cursor.seek(0, 1);
  EXPECT_TRUE(cursor.at("a"));
}

TEST(PythonCursor, SkipsAPhysicalLineInsideBracketsAndALogicalOneAcrossThem) {
  constexpr std::string_view kSource = "f(a,\n  b)\nlast";
  PythonCursor cursor(kSource);
  EXPECT_EQ(cursor.line_from(cursor.token()), "f(a,");
  cursor.skip_line();
  EXPECT_EQ(cursor.token().text, "b");
  EXPECT_EQ(cursor.token().line, 2);
  cursor.seek(0, 1);
  cursor.skip_logical_line();
  EXPECT_EQ(cursor.token().kind, TokenKind::newline);
  cursor.advance();
  EXPECT_EQ(cursor.token().text, "last");
  cursor.skip_line();
  EXPECT_EQ(cursor.token().kind, TokenKind::end);
}

TEST(PythonSyntax, FollowsPythonsPrecedence) {
  EXPECT_EQ(parsed("a + b * c"), "(+ a (* b c))");
  EXPECT_EQ(parsed("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(parsed("-a ** -b"), "(- (** a (- b)))");
  EXPECT_EQ(parsed("a ** b ** c"), "(** a (** b c))");
  EXPECT_EQ(parsed("a << 1 & b == c"), "(== (& (<< a 1) b) c)");
  EXPECT_EQ(parsed("not a or b"), "(or (not a) b)");
}

TEST(PythonSyntax, ReadsCallsSubscriptsAndLiterals) {
  EXPECT_EQ(parsed("f.g(a, [1, 2], k = {'x': ()})"), "(call (g f) a [1 2] (k {'x' <>}))");
  EXPECT_EQ(parsed("x[1:, ::2, ...]"), "(at x <(slice 1 - -) (slice - - 2) ...>)");
  EXPECT_EQ(parsed("x, y, "), "<x y>");
  EXPECT_EQ(parsed("(x,)"), "<x>");
  EXPECT_EQ(parsed("(x)"), "x");
}

TEST(PythonSyntax, SaysWhatIsMissingAndWhere) {
  EXPECT_EQ(parsed("f(a"), "line 1, column 4: expected \",\" or \")\", but the text ends");
  EXPECT_EQ(parsed("f(a b)"), "line 1, column 5: expected \",\" or \")\", found b");
  EXPECT_EQ(parsed("x[]"), "line 1, column 3: expected an index, found ]");
  EXPECT_EQ(parsed("a +\n"), "line 1, column 4: expected an expression, but the line ends");
}

TEST(PythonSyntax, StopsAtHostileNesting) {
  for (const std::string open : {"(", "[", "-", "f(", "{1:", "x[", "not "}) {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += open;
    EXPECT_NE(parsed(text).find("nests too deeply"), std::string::npos) << open;
  }
}

TEST(PythonSyntax, StopsAtHostileChains) {
  for (const std::string part : {".a", "[0]", "()", "+1"}) {
    std::string text = "x";
    for (int i = 0; i < 100000; ++i) text += part;
    EXPECT_NE(parsed(text).find("nests too deeply"), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace assay
