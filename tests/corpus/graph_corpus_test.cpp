// Every captured graph of the reference corpus reads in all three formats, the formats agree, and
// printing loses nothing.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>

#include <gtest/gtest.h>

#include "core/graph/text.h"
#include "replay/formats/capture.h"
#include "tests/support/corpus.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

class GraphCorpus : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto folder = testing::unpacked_corpus("models");
    if (!folder) GTEST_SKIP() << testing::corpus_missing();
    texts_ = testing::files_ending(*folder, ".fx.txt");
    ASSERT_FALSE(texts_.empty());
    std::cout << texts_.size() << " graphs\n";
  }

  static auto sibling(const fs::path& text, std::string_view suffix) -> fs::path {
    auto name = text.filename().string();
    name.resize(name.size() - std::string_view(".fx.txt").size());
    return text.parent_path() / (name + std::string(suffix));
  }

  static void expect_verified(const Graph& graph) {
    for (const auto& defect : verify(graph)) ADD_FAILURE() << defect.message;
  }

  std::vector<fs::path> texts_;
};

auto names_of(const Graph& graph) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes) names.push_back(node.name);
  return names;
}

void expect_same_environment(const ShapeEnv& a, const ShapeEnv& b) {
  ASSERT_EQ(a.symbols().size(), b.symbols().size());
  for (const auto& symbol : a.symbols()) {
    const auto* other = b.find(symbol.name);
    ASSERT_NE(other, nullptr) << symbol.name;
    EXPECT_EQ(symbol.range, other->range) << symbol.name;
    EXPECT_EQ(symbol.hint, other->hint) << symbol.name;
    EXPECT_EQ(symbol.sources, other->sources) << symbol.name;
  }
  ASSERT_EQ(a.guards().size(), b.guards().size());
  for (std::size_t i = 0; i < a.guards().size(); ++i)
    EXPECT_EQ(Expr::compare(a.guards()[i].condition, b.guards()[i].condition),
              std::strong_ordering::equal)
        << a.guards()[i].text;
  EXPECT_EQ(a.replacements().size(), b.replacements().size());
}

void expect_round_trip(const Graph& graph) {
  const auto text = print_graph(graph);
  const auto again = parse_graph(text);
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_TRUE(same_structure(graph, *again));
  EXPECT_EQ(structural_hash(graph), structural_hash(*again));
  EXPECT_EQ(names_of(graph), names_of(*again));
  EXPECT_EQ(graph.class_name, again->class_name);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind == NodeKind::placeholder) continue;  // signatures have no origins
    EXPECT_TRUE(graph.nodes[i].origin == again->nodes[i].origin) << graph.nodes[i].name;
  }
  expect_same_environment(graph.env, again->env);
  EXPECT_EQ(print_graph(*again), text);
}

/// What print_readable does not say: offsets, requires_grad and the parts of tuples.
auto without_unprinted_claims(Graph graph) -> Graph {
  for (auto& node : graph.nodes) {
    if (node.claim.items() != nullptr) node.claim = Claim{};
    auto* meta = std::get_if<TensorMeta>(&node.claim.value);
    if (meta == nullptr) continue;
    meta->offset = 0;
    node.claim.stated.offset = false;
    meta->requires_grad = false;
  }
  return graph;
}

TEST_F(GraphCorpus, EveryTextReadsAndRoundTrips) {
  double slowest_ms = 0;
  for (const auto& path : texts_) {
    SCOPED_TRACE(path.string());
    const auto text = testing::read_text(path);
    const auto start = std::chrono::steady_clock::now();
    const auto capture = read_graph_text(text);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    slowest_ms = std::max(slowest_ms, took.count());
    ASSERT_TRUE(capture.has_value()) << capture.error().message;
    expect_verified(capture->graph);
    expect_round_trip(capture->graph);
  }
  std::cout << "slowest text: " << slowest_ms << " ms\n";
}

TEST_F(GraphCorpus, EveryJsonReadsAndRoundTrips) {
  for (const auto& path : texts_) {
    SCOPED_TRACE(path.string());
    const auto capture = read_capture_json(testing::read_text(sibling(path, ".json")));
    ASSERT_TRUE(capture.has_value()) << capture.error().message;
    expect_verified(capture->graph);
    expect_round_trip(capture->graph);
    EXPECT_EQ(capture->observed.size(), capture->graph.nodes.size());
    for (const auto& node : capture->graph.nodes) {
      if (node.kind != NodeKind::get_attr) continue;
      EXPECT_TRUE(capture->attributes.contains(node.target)) << node.name;
    }
  }
}

TEST_F(GraphCorpus, InputsOfJsonHaveTheObservedLayout) {
  for (const auto& path : texts_) {
    SCOPED_TRACE(path.string());
    const auto capture = read_capture_json(testing::read_text(sibling(path, ".json")));
    ASSERT_TRUE(capture.has_value()) << capture.error().message;
    if (capture->kind == "bwd") continue;
    std::size_t index = 0;
    for (const auto& node : capture->graph.nodes) {
      if (node.kind != NodeKind::placeholder) continue;
      const auto& observed = capture->observed.at(node.id);
      const auto& input = capture->inputs.at(index++);
      if (const auto* tensor = std::get_if<RecordedTensor>(&input)) {
        ASSERT_TRUE(observed.tensor.has_value());
        EXPECT_EQ(tensor->meta.sizes, observed.tensor->sizes);
        EXPECT_EQ(tensor->meta.strides, observed.tensor->strides);
        EXPECT_EQ(tensor->meta.dtype, observed.tensor->dtype);
      } else {
        EXPECT_EQ(std::get<Expr>(input), observed.scalar.value());
      }
    }
    EXPECT_EQ(index, capture->inputs.size());
  }
}

auto sum_of(const RecordedTensor& input, const StorageData& data) -> double {
  Tensor tensor{std::make_shared<Storage>(data.size_bytes), input.meta};
  if (const auto* fill = std::get_if<Fill>(&data.content)) {
    fill_storage(*tensor.storage, *data.fill_dtype, *fill);
  } else {
    const auto& bytes = *std::get<1>(data.content);
    std::copy(bytes.begin(), bytes.end(), tensor.storage->bytes().begin());
  }
  double sum = 0;
  for (const double value : to_vector<double>(tensor)) sum += value;
  return sum;
}

TEST_F(GraphCorpus, RecordedInputsHaveTheObservedSum) {
  for (const auto& path : texts_) {
    SCOPED_TRACE(path.string());
    const auto capture = read_capture_json(testing::read_text(sibling(path, ".json")));
    ASSERT_TRUE(capture.has_value()) << capture.error().message;
    std::size_t index = 0;
    for (const auto& node : capture->graph.nodes) {
      if (node.kind != NodeKind::placeholder) continue;
      const auto* input = std::get_if<RecordedTensor>(&capture->inputs.at(index++));
      if (input == nullptr) continue;
      const double expected = capture->observed.at(node.id).sum.value();
      const auto agrees = [&](const StorageData& data) {
        return data.size_bytes == input->meta.storage_bytes &&
               std::abs(sum_of(*input, data) - expected) <=
                   1e-9 * std::max(1.0, std::abs(expected));
      };
      const auto own = static_cast<std::size_t>(input->storage);
      // The recorder filled inputs one after the other and did not note which share a storage: then
      // the last fill is the one that counts.
      const bool found = std::any_of(capture->storages.begin() + static_cast<std::ptrdiff_t>(own),
                                     capture->storages.end(), agrees);
      EXPECT_TRUE(found) << node.name;
    }
  }
}

TEST_F(GraphCorpus, TextAndJsonAgreeWithClaims) {
  for (const auto& path : texts_) {
    SCOPED_TRACE(path.string());
    const auto text = read_graph_text(testing::read_text(path));
    const auto json = read_capture_json(testing::read_text(sibling(path, ".json")));
    ASSERT_TRUE(text && json);
    EXPECT_EQ(names_of(text->graph), names_of(json->graph));
    EXPECT_TRUE(same_structure(text->graph, json->graph, false));
    EXPECT_TRUE(same_structure(text->graph, without_unprinted_claims(json->graph)));
  }
}

TEST_F(GraphCorpus, EveryReproScriptReadsAndAgreesWithTheText) {
  for (const auto& path : texts_) {
    SCOPED_TRACE(path.string());
    const auto text = read_graph_text(testing::read_text(path));
    const auto script = read_repro_script(testing::read_text(sibling(path, ".repro.py")));
    ASSERT_TRUE(text.has_value()) << text.error().message;
    ASSERT_TRUE(script.has_value()) << script.error().message;
    expect_verified(script->graph);
    EXPECT_EQ(names_of(text->graph), names_of(script->graph));
    EXPECT_TRUE(same_structure(text->graph, script->graph, false));
    EXPECT_TRUE(script->warnings.empty()) << script->warnings.front();
    std::size_t index = 0;
    for (const auto& node : text->graph.nodes) {
      if (node.kind != NodeKind::placeholder) continue;
      const bool is_tensor = std::holds_alternative<RecordedTensor>(script->inputs.at(index++));
      EXPECT_EQ(is_tensor, node.claim.tensor() != nullptr) << node.name;
    }
  }
}

TEST_F(GraphCorpus, LivenessPrintsAsPyTorchDoes) {
  const auto small = std::find_if(texts_.begin(), texts_.end(), [](const fs::path& path) {
    return path.string().contains("mini_mut/graph0_fwd");
  });
  if (small == texts_.end()) GTEST_SKIP() << "mini_mut is not in this corpus";
  const auto text = testing::read_text(*small);
  const auto capture = read_graph_text(text);
  ASSERT_TRUE(capture.has_value());
  EXPECT_EQ(print_graph(capture->graph, {.header = false, .liveness = true}), text);
}

}  // namespace
}  // namespace assay
