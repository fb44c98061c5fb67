// Rules from recorded calls, wherever the recording lies.
#include "replay/conform/inferred_rows.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace assay {
namespace {

TEST(InferredRows, BytesOfACaseFileSayWhatTheFileSays) {
  const std::filesystem::path file = ASSAY_SOURCE_DIR "/samples/custom_operator/operators.sqlite";
  std::ifstream stream(file, std::ios::binary);
  const auto bytes = std::make_shared<const std::string>(std::istreambuf_iterator<char>(stream),
                                                         std::istreambuf_iterator<char>());
  const auto table = build_op_table();
  const auto from_file = infer_operators(file, table);
  const auto from_bytes = infer_operators(bytes, table);
  ASSERT_TRUE(from_file && from_bytes);
  ASSERT_EQ(from_file->size(), 1U);
  ASSERT_EQ(from_bytes->size(), 1U);
  EXPECT_EQ(to_string(from_bytes->front()), to_string(from_file->front()));
  EXPECT_EQ(from_bytes->front().rule->state, InferenceState::confirmed);
}

TEST(InferredRows, BytesThatAreNoCaseFileAreRefused) {
  const auto bytes = std::make_shared<const std::string>("no database");
  const auto refused = infer_operators(bytes, build_op_table());
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.contains("case file")) << refused.error().message;
}

}  // namespace
}  // namespace assay
