#include "replay/formats/detect.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "replay/formats/file.h"
#include "replay/formats/zip.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

TEST(Detect, EachFormatIsKnownByItsLandmarks) {
  const std::vector<std::pair<std::string, InputFormat>> cases = {
      {"", InputFormat::empty},
      {" \n\t\n", InputFormat::empty},
      {"{\"nodes\": []}", InputFormat::capture_json},
      {"class GraphModule(torch.nn.Module):\n", InputFormat::graph_text},
      {"import torch\ndef load_args(reader):\n", InputFormat::repro_script},
      {"args = [((2,), (1,), torch.float32, 'cpu', False)]\nclass Repro(torch.nn.Module):",
       InputFormat::repro_script},
      {"V1120 10:49:12.345678 12 torch/_logging.py:1] {\"artifact\": {}}",
       InputFormat::torch_trace},
      {std::string("SQLite format 3\0", 16), InputFormat::trace_db},
      {"\x1f\x8b\x08", InputFormat::compressed},
      {std::string("ab\0cd", 5), InputFormat::binary},
      {"caf\xe9", InputFormat::binary},
      {write_zip({{"a", "b"}}).value(), InputFormat::pt2},
      {write_zip({{"manifest.json", R"({"format": "assay bundle"})"}}).value(),
       InputFormat::bundle},
      {write_zip({{"manifest.json", R"({"format": "something else"})"}}).value(), InputFormat::pt2},
  };
  for (const auto& [bytes, expected] : cases)
    EXPECT_EQ(detect_format(bytes), expected) << bytes.substr(0, 40);
}

TEST(ReadCapture, WhatCannotBeReadSaysWhyAndNamesTheInput) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "x: nothing inside"},
      {"V1120 10:49:12.345678 12 x] {}",
       "x: the log has no repro script (artifact fx_graph_runnable) and no graph"},
      {"\xff\xfe", "x: neither text nor a zip archive"},
      {std::string("SQLite format 3\0", 16),
       "x: a trace database, not a capture; ask it with `assay query`"},
  };
  for (const auto& [bytes, message] : cases) {
    const auto capture = read_capture(bytes, "x");
    ASSERT_FALSE(capture) << message;
    EXPECT_EQ(capture.error().message, message);
  }
}

class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("assay_files_{}", ::getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] auto count() const -> std::ptrdiff_t {
    return std::distance(fs::directory_iterator(folder_), {});
  }
  fs::path folder_;
};

TEST_F(Files, WhatIsWrittenIsReadAndNothingElseIsLeft) {
  const std::string content("a\0b\n", 4);
  ASSERT_TRUE(write_file_atomically(folder_ / "f", "old"));
  ASSERT_TRUE(write_file_atomically(folder_ / "f", content));
  EXPECT_EQ(read_file(folder_ / "f"), content);
  EXPECT_EQ(count(), 1);
}

TEST_F(Files, FailedWritesLeaveNothingBehind) {
  fs::create_directories(folder_ / "folder" / "inside");
  const auto onto_folder = write_file_atomically(folder_ / "folder", "x");
  ASSERT_FALSE(onto_folder);
  EXPECT_TRUE(onto_folder.error().message.contains((folder_ / "folder").string()));
  EXPECT_FALSE(write_file_atomically(folder_ / "missing" / "f", "x"));
  EXPECT_EQ(count(), 1);
}

TEST_F(Files, MissingFoldersAndOversizedFilesAreErrors) {
  EXPECT_TRUE(read_file(folder_ / "missing").error().message.ends_with("no such file"));
  EXPECT_TRUE(read_file(folder_).error().message.ends_with("is a folder"));
  ASSERT_TRUE(write_file_atomically(folder_ / "f", "12345"));
  EXPECT_TRUE(read_file(folder_ / "f", 5));
  EXPECT_TRUE(read_file(folder_ / "f", 4).error().message.ends_with("larger than 4 bytes"));
}

TEST_F(Files, CapturesRememberWhereTheyCameFrom) {
  const auto path = folder_ / "g.txt";
  ASSERT_TRUE(write_file_atomically(path,
                                    "\xef\xbb\xbf"
                                    "class G(torch.nn.Module):\n"
                                    "    def forward(self, x: \"f32[2][1]cpu\"):\n"
                                    "        return (x,)\n"));
  const auto capture = read_capture_file(path);
  ASSERT_TRUE(capture) << capture.error().message;
  EXPECT_EQ(capture->source_path, path.string());
  EXPECT_EQ(capture->graph.nodes.size(), 2U);
}

TEST(Detect, ABareNameLiesInTheCurrentFolder) {
  EXPECT_EQ(folder_of("graph0_fwd.json"), ".");
  EXPECT_EQ(folder_of("out/graph0_fwd.json"), "out");
  EXPECT_EQ(folder_of("/graph0_fwd.json"), "/");
}

}  // namespace
}  // namespace assay
