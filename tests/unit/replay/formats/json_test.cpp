#include "replay/formats/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {

TEST(Json, BareNanAndInfinityAreNumbersButStayTextInsideStrings) {
  const auto document =
      JsonDocument::parse(R"({"a": [NaN, -Infinity, Infinity, 1.5], "b": "say NaN \" NaN"})", "x");
  ASSERT_TRUE(document) << document.error().message;
  const auto items = document->root()["a"].items();
  ASSERT_EQ(items.size(), 4U);
  EXPECT_TRUE(std::isnan(*items[0].as_number()));
  EXPECT_EQ(items[1].as_number(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(items[2].as_number(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(items[3].as_number(), 1.5);
  EXPECT_EQ(document->root()["b"].as_string(), "say NaN \" NaN");
}

TEST(Json, IntegersAndFloatsStayApart) {
  const auto document = JsonDocument::parse(R"([1, 1.0, true, 9223372036854775807])", "x");
  ASSERT_TRUE(document);
  const auto items = document->root().items();
  EXPECT_EQ(items[0].as_int(), 1);
  EXPECT_EQ(items[0].as_number(), 1.0);
  EXPECT_EQ(items[1].as_int(), std::nullopt);
  EXPECT_EQ(items[2].as_int(), std::nullopt);
  EXPECT_EQ(items[2].as_bool(), true);
  EXPECT_EQ(items[3].as_int(), std::numeric_limits<std::int64_t>::max());
}

TEST(Json, MissingPartsDoNotExistAndWrongKindsAnswerNothing) {
  const auto document = JsonDocument::parse(R"({"a": {"b": null}})", "x");
  ASSERT_TRUE(document);
  const auto root = document->root();
  EXPECT_TRUE(root["a"]["b"].exists());
  EXPECT_TRUE(root["a"]["b"].is_null());
  EXPECT_FALSE(root["a"]["c"]["d"].exists());
  EXPECT_TRUE(root["a"].items().empty());
  EXPECT_EQ(root["a"].as_string(), std::nullopt);
}

TEST(Json, MalformedTextNamesItsSource) {
  for (const std::string text : {"", "{", "[1,]", "{\"a\" 1}", "NaN]", "\"\xff\""}) {
    const auto document = JsonDocument::parse(text, "weights config");
    ASSERT_FALSE(document) << text;
    EXPECT_TRUE(document.error().message.starts_with("weights config: malformed JSON"));
  }
  EXPECT_FALSE(JsonDocument::parse(std::string(5000, '['), "deep"));
}

TEST(Json, QuotedTextReadsBack) {
  const std::string text = "a\"b\\c\n\t\x01\x7f \xc3\xa9 \xf0\x9f\x98\x80";
  const auto document = JsonDocument::parse(json_quote(text), "x");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->root().as_string(), text);
  EXPECT_EQ(json_quote("\xff"), "\"\xef\xbf\xbd\"");
  EXPECT_TRUE(is_utf8(json_quote("\xc3(\xe2\x82")));
}

TEST(Json, NumbersReadBackAsTheSameDouble) {
  for (const double value : {0.0, 1.0, -2.5, 1e300, 5e-324, 0.1, 123456789012345678.0,
                             std::numeric_limits<double>::infinity()}) {
    const auto document = JsonDocument::parse(json_number(value), "x");
    ASSERT_TRUE(document) << json_number(value);
    EXPECT_EQ(document->root().as_number(), value);
    EXPECT_EQ(document->root().as_int(), std::nullopt) << "a double must not come back as integer";
  }
}

}  // namespace
}  // namespace assay
