// Inputs of a compiled function as they are recorded beside its log.
#include "replay/formats/program_answers.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

/// [1, 2, 3, 4, 5, 6] of float32, zlib in base64.
constexpr const char* kSix = "eJxjYGiwZ2BgcAAiIG4A4gVAfMABAClDBCA=";

auto read(const std::string& input) -> Result<ProgramAnswers> {
  return read_program_answers(R"({"device": "cuda", "inputs": [)" + input + "]}", "a.json");
}
auto packed(const std::string& layout, const std::string& more = "") -> std::string {
  return R"({"dtype": "float32", "size": [2, 3], )" + layout + R"(, "data": ")" + kSix +
         R"(", "data_dtype": "float32")" + more + "}";
}

TEST(ProgramAnswers, ContentsAreRowMajorWhateverTheLayoutIs) {
  for (const auto& [layout, strides, offset] :
       {std::tuple{R"("stride": [3, 1], "offset": 0)", Ints{3, 1}, 0},
        std::tuple{R"("stride": [1, 2], "offset": 0)", Ints{1, 2}, 0},
        std::tuple{R"("stride": [9, 2], "offset": 5)", Ints{9, 2}, 5}}) {
    const auto answers = read(packed(layout));
    ASSERT_TRUE(answers) << answers.error().message;
    const auto& tensor = answers->inputs.at(0).tensor;
    EXPECT_EQ(tensor.strides(), strides);
    EXPECT_EQ(tensor.meta.offset, offset);
    EXPECT_EQ(to_vector<double>(tensor), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  }
}

TEST(ProgramAnswers, InputsMaySayWhatDynamoCallsThem) {
  const auto layout = R"("stride": [3, 1], "offset": 0)";
  const auto answers =
      read(packed(layout, R"(, "requires_grad": true, "placeholder": "L_self_parameters_w_")"));
  ASSERT_TRUE(answers) << answers.error().message;
  EXPECT_EQ(answers->inputs.at(0).placeholders, (std::vector<std::string>{"L_self_parameters_w_"}));
  EXPECT_TRUE(answers->inputs.at(0).requires_grad);
  EXPECT_TRUE(read(packed(layout))->inputs.at(0).placeholders.empty());
  const auto shared = read(packed(layout, R"(, "placeholder": ["L_a_", "L_b_"])"));
  ASSERT_TRUE(shared) << shared.error().message;
  EXPECT_EQ(shared->inputs.at(0).placeholders, (std::vector<std::string>{"L_a_", "L_b_"}));
}

TEST(ProgramAnswers, WhatIsMissingIsNamedWithItsPlace) {
  const auto message = [](const std::string& input) { return read(input).error().message; };
  EXPECT_EQ(message(R"({"dtype": "float32", "size": [2], "stride": [1]})"),
            "a.json: inputs[0]: an input with neither fill nor data");
  EXPECT_EQ(message(R"({"dtype": "float32", "size": [2], "stride": [1], "fill": {"seed": 1}})"),
            "a.json: inputs[0]: a fill without its numbers");
  const auto short_of = message(
      std::string(R"({"dtype": "float32", "size": [7], "stride": [1], "data_dtype": "float32", )") +
      R"("data": ")" + kSix + R"("})");
  EXPECT_TRUE(short_of.starts_with("a.json: inputs[0]: ")) << short_of;
}

}  // namespace
}  // namespace assay
