// Which names lines of Python assign, however they are written.
#include "compiler/read/python_statements.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

using Names = std::vector<std::string>;

TEST(PythonStatements, NamesAreAssignedInManyWays) {
  EXPECT_EQ(assigned_names("a = b"), Names{"a"});
  EXPECT_EQ(assigned_names("a=b==c"), Names{"a"});
  EXPECT_EQ(assigned_names("a+=b"), Names{"a"});
  EXPECT_EQ(assigned_names("a //= b"), Names{"a"});
  EXPECT_EQ(assigned_names("a <<= 1"), Names{"a"});
  EXPECT_EQ(assigned_names("a >>= b >= c"), Names{"a"});
  EXPECT_EQ(assigned_names("a = b = f(c=1)"), (Names{"a", "b"}));
  EXPECT_EQ(assigned_names("a, (b, c) = x"), (Names{"a", "b", "c"}));
  EXPECT_EQ(assigned_names("(a, b) = x"), (Names{"a", "b"}));
  EXPECT_EQ(assigned_names("a: tl.constexpr = 4"), Names{"a"});
  EXPECT_EQ(assigned_names("tl.store(p, x, mask=m)"), Names{});
  EXPECT_EQ(assigned_names("a <= b"), Names{});
  EXPECT_EQ(assigned_names("a != b"), Names{});
  EXPECT_EQ(assigned_names("f('a = b')"), Names{});
  EXPECT_EQ(assigned_names("for a in range(b):"), Names{});
  EXPECT_EQ(assigned_names("if a == (b):"), Names{});
}

TEST(PythonStatements, ALineHasSeveralAndOneHasSeveralLines) {
  const std::string_view text =
      "def f():\n"
      "    a = 1; b = g('; c = 2')  # ; d = 3\n"
      "\n"
      "# e = 4\n"
      "    if a: h = [1,\n"
      "  2]; i += 1\n"
      "        j = 5\n"
      "k = 6\n"
      "    l = 7\n";
  std::vector<std::pair<std::string, int>> seen;
  each_statement_below(text, 0, 0, [&](const PythonStatement& one) {
    seen.emplace_back(without_spaces(one.text), one.indent);
  });
  const std::vector<std::pair<std::string, int>> wanted = {
      {"a=1", 4}, {"b=g(';c=2')", 4}, {"ifa:", 4}, {"h=[1,2]", 5}, {"i+=1", 5}, {"j=5", 8}};
  EXPECT_EQ(seen, wanted);
}

}  // namespace
}  // namespace assay
