// Every exported program of the reference corpus reads whole, feeds the inputs that were recorded
// beside it, and survives a bundle.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "core/graph/text.h"
#include "replay/bundle/bundle.h"
#include "replay/formats/capture.h"
#include "replay/formats/json.h"
#include "tests/support/corpus.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

class Pt2Corpus : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto folder = testing::unpacked_corpus("pt2");
    if (!folder) GTEST_SKIP() << testing::corpus_missing();
    archives_ = testing::files_ending(*folder, ".pt2");
    ASSERT_FALSE(archives_.empty());
  }

  static auto read(const fs::path& path) -> Capture {
    auto capture = read_capture_file(path);
    EXPECT_TRUE(capture) << capture.error().message;
    return capture ? *std::move(capture) : Capture{};
  }

  /// What was recorded of NAME.pt2 and NAME.core.pt2 in NAME.json.
  static auto record_of(const fs::path& archive) -> JsonDocument {
    auto name = archive.stem().string();
    if (name.ends_with(".core")) name.resize(name.size() - 5);
    const auto text = read_file(archive.parent_path() / (name + ".json"));
    EXPECT_TRUE(text) << name;
    return JsonDocument::parse(text.value_or("{}"), name).value();
  }

  std::vector<fs::path> archives_;
};

auto values_of(const Capture& capture, const RecordedTensor& recorded) -> std::vector<double> {
  const auto& storage = capture.storages[static_cast<std::size_t>(recorded.storage)];
  const auto& bytes = *std::get<std::shared_ptr<const std::vector<std::byte>>>(storage.content);
  Tensor tensor{std::make_shared<Storage>(storage.size_bytes), recorded.meta};
  std::ranges::copy(bytes, tensor.storage->bytes().begin());
  return to_vector<double>(tensor);
}

TEST_F(Pt2Corpus, ProgramsReadWholeWithoutAWarning) {
  std::size_t nodes = 0;
  for (const auto& path : archives_) {
    const auto capture = read(path);
    EXPECT_TRUE(capture.warnings.empty()) << path << ": " << capture.warnings.front();
    for (const auto& defect : verify(capture.graph))
      ADD_FAILURE() << path << ": " << defect.message;
    for (const auto& input : capture.inputs)
      EXPECT_TRUE(std::holds_alternative<RecordedTensor>(input)) << path;
    EXPECT_FALSE(capture.graph.env.symbols().empty()) << path;
    nodes += capture.graph.nodes.size();
  }
  std::cout << archives_.size() << " archives, " << nodes << " nodes\n";
}

TEST_F(Pt2Corpus, UserInputsAreTheRecordedOnes) {
  std::size_t compared = 0;
  for (const auto& path : archives_) {
    const auto capture = read(path);
    const auto record = record_of(path);
    // This model doubles its input in place, and the record was taken after the call.
    const double factor = path.filename().string().starts_with("mini_mut") ? 2 : 1;
    std::vector<JsonValue> wanted = record.root()["inputs"].items();
    std::size_t next = 0;
    for (std::size_t i = 0; i < capture.inputs.size(); ++i) {
      if (capture.input_roles[i].kind != InputRole::Kind::user_input) continue;
      ASSERT_LT(next, wanted.size()) << path;
      const auto& tensor = std::get<RecordedTensor>(capture.inputs[i]);
      const auto want = wanted[next++];
      EXPECT_EQ(want["dtype"].as_string(), name(tensor.meta.dtype)) << path;
      Ints sizes;
      for (const auto size : want["size"].items()) sizes.push_back(size.as_int().value_or(-1));
      EXPECT_EQ(tensor.meta.sizes, sizes) << path;
      std::vector<double> values;
      for (const auto value : want["data"].items()) values.push_back(*value.as_number());
      if (want["data"].is_null()) continue;  // left out of the record because of its size
      auto got = values_of(capture, tensor);
      for (auto& value : got) value *= factor;
      EXPECT_EQ(got, values) << path;
      compared += values.size();
    }
    EXPECT_EQ(next, wanted.size()) << path;
  }
  EXPECT_GT(compared, 10'000U);
  std::cout << compared << " numbers compared\n";
}

TEST_F(Pt2Corpus, GraphsPrintAndParseBack) {
  for (const auto& path : archives_) {
    const auto capture = read(path);
    const auto text = print_graph(capture.graph);
    const auto back = parse_graph(text);
    ASSERT_TRUE(back) << path << ": " << back.error().message;
    EXPECT_TRUE(same_structure(*back, capture.graph)) << path;
    EXPECT_EQ(print_graph(*back), text) << path;
  }
}

TEST_F(Pt2Corpus, BundlesRepeatByteForByte) {
  for (const auto& path : archives_) {
    Bundle bundle;
    bundle.capture = read(path);
    const auto bytes = write_bundle(bundle);
    ASSERT_TRUE(bytes) << path << ": " << bytes.error().message;
    const auto back = read_bundle(*bytes);
    ASSERT_TRUE(back) << path << ": " << back.error().message;
    EXPECT_TRUE(same_structure(back->capture.graph, bundle.capture.graph)) << path;
    const auto again = write_bundle(*back);
    ASSERT_TRUE(again) << path << ": " << again.error().message;
    EXPECT_TRUE(*again == *bytes) << path;
  }
}

}  // namespace
}  // namespace assay
