#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "gui/data/scene.h"
#include "tests/support/traces.h"

namespace assay {
namespace {

auto random_input(int boxes, unsigned seed) -> LayeredInput {
  std::mt19937 random(seed);
  LayeredInput input;
  for (int i = 0; i < boxes; ++i) {
    input.width.push_back(60 + static_cast<float>(random() % 120));
    input.height.push_back(40);
    for (unsigned k = 0; i > 0 && k < 1 + random() % 2; ++k)
      input.edges.emplace_back(
          i - 1 - static_cast<int>(random() % static_cast<unsigned>(std::min(i, 10))), i);
    if (i > 50 && random() % 10 == 0) input.edges.emplace_back(static_cast<int>(random() % 20), i);
  }
  return input;
}

TEST(LayeredLayout, BoxesNeverOverlapAndEdgesPointDown) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const auto input = random_input(200, seed);
    const auto layout = layered_layout(input);
    ASSERT_TRUE(layout);
    for (std::size_t i = 0; i < input.width.size(); ++i)
      for (std::size_t j = i + 1; j < input.width.size(); ++j) {
        if (layout->layer[i] != layout->layer[j]) continue;
        const bool apart = layout->x[i] + input.width[i] <= layout->x[j] + 0.01F ||
                           layout->x[j] + input.width[j] <= layout->x[i] + 0.01F;
        ASSERT_TRUE(apart) << "seed " << seed << ": " << i << " and " << j;
      }
    for (const auto& [from, to] : input.edges)
      ASSERT_LT(layout->layer[static_cast<std::size_t>(from)],
                layout->layer[static_cast<std::size_t>(to)]);
  }
}

TEST(LayeredLayout, SameInputGivesSamePlaces) {
  const auto input = random_input(500, 7);
  LayeredOptions options;
  options.budget_ms = 1e9;  // a spent budget would end sweeps early
  const auto a = layered_layout(input, options);
  const auto b = layered_layout(input, options);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->x, b->x);
  EXPECT_EQ(a->y, b->y);
}

TEST(LayeredLayout, LongEdgesArePortalsAndShortOnesBend) {
  LayeredInput input;
  for (int i = 0; i < 20; ++i) {
    input.width.push_back(80);
    input.height.push_back(40);
    if (i > 0) input.edges.emplace_back(i - 1, i);
  }
  input.edges.emplace_back(0, 19);
  input.edges.emplace_back(0, 3);
  input.edges.emplace_back(5, 2);  // against the order of execution
  const auto layout = layered_layout(input);
  ASSERT_TRUE(layout);
  EXPECT_TRUE(layout->is_portal[19]);
  EXPECT_FALSE(layout->is_portal[20]);
  EXPECT_EQ(layout->first_bend[21] - layout->first_bend[20], 2U);
  EXPECT_TRUE(layout->is_portal[21]);
}

TEST(LayeredLayout, StopsWhenAsked) {
  const std::atomic<bool> stop = true;
  EXPECT_FALSE(layered_layout(random_input(1000, 1), {}, &stop));
}

TEST(LayeredLayout, NothingIsLaidOutAsNothing) {
  const auto layout = layered_layout({});
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->height, 0);
}

auto model() -> std::shared_ptr<const GraphData> {
  auto data = std::make_shared<GraphData>();
  data->graph = 1;
  for (int i = 0; i < 12; ++i) {
    auto& node =
        data->add_node(i + 1, fmt::format("n{}", i), i < 6 ? (i < 3 ? "a.x" : "a.y") : "b");
    node.mark = i == 4 ? NodeMark::root : NodeMark::ok;
    if (i > 0) data->edges.emplace_back(i - 1, i);
  }
  return data;
}

TEST(GraphData, NodesShareTextsAndAreFoundById) {
  const auto data = model();
  EXPECT_EQ(data->name(0), "n0");
  EXPECT_EQ(data->name(11), "n11");
  EXPECT_EQ(data->module(2), "a.x");
  EXPECT_EQ(data->nodes[6].module, data->nodes[11].module);
  EXPECT_EQ(data->target(3), "");
  EXPECT_EQ(data->find(12), 11);
  EXPECT_EQ(data->find(13), -1);
  EXPECT_EQ(data->find(0), -1);
  EXPECT_EQ(GraphData().find(1), -1);
}

TEST(Scene, ClosedModulesAreBoxesThatCarryTheWorstInside) {
  const auto scene = make_scene(model(), {});
  ASSERT_TRUE(scene);
  ASSERT_EQ(scene->boxes.size(), 2U);
  EXPECT_EQ(scene->label(scene->boxes[0]), "a");
  EXPECT_EQ(scene->detail(scene->boxes[0]), "6 nodes");
  EXPECT_EQ(scene->boxes[0].nodes, 6);
  EXPECT_EQ(scene->boxes[0].mark, NodeMark::root);
  EXPECT_EQ(scene->boxes[1].mark, NodeMark::ok);
  EXPECT_EQ(scene->edges.size(), 1U);
  EXPECT_EQ(scene->box_of_node[4], 0);
}

TEST(Scene, OpenModulesHoldTheirChildren) {
  const auto scene = make_scene(model(), {.open = {"a", "a.y"}, .flat = false, .only = {}});
  ASSERT_TRUE(scene);
  for (const auto& box : scene->boxes) {
    if (box.parent < 0) continue;
    const auto& outer = scene->boxes[static_cast<std::size_t>(box.parent)];
    EXPECT_TRUE(outer.is_open);
    EXPECT_GE(box.x, outer.x);
    EXPECT_GE(box.y, outer.y);
    EXPECT_LE(box.x + box.width, outer.x + outer.width + 0.01F);
    EXPECT_LE(box.y + box.height, outer.y + outer.height + 0.01F);
  }
  const auto& box = scene->boxes[static_cast<std::size_t>(scene->box_of_node[4])];
  EXPECT_EQ(box.node, 4);
  EXPECT_EQ(scene->box_at(box.x + 2, box.y + 2), scene->box_of_node[4]);
}

TEST(Scene, EveryPhaseOfALargeLayoutCanBeLeft) {
  // A flag that is set by the n-th look at it would need a seam; instead the layout is left at many
  // moments of its whole time, and has to be back soon after each.
  auto data = std::make_shared<GraphData>();
  std::mt19937 random(3);
  constexpr int kNodes = 200'000;
  for (int i = 0; i < kNodes; ++i) {
    data->add_node(i + 1, fmt::format("n{}", i));
    for (unsigned k = 0; i > 0 && k < 2; ++k)
      data->edges.emplace_back(
          i - 1 - static_cast<int>(random() % static_cast<unsigned>(std::min(i, 12))), i);
  }
  using Clock = std::chrono::steady_clock;
  const SceneOptions flat{.open = {}, .flat = true, .only = {}};
  const auto start = Clock::now();
  ASSERT_TRUE(make_scene(data, flat));
  const auto whole = Clock::now() - start;
  std::vector<double> late;
  for (int i = 1; i < 10; ++i) {
    std::atomic<bool> stop = false;
    Clock::time_point asked;
    std::thread stopper([&] {
      std::this_thread::sleep_for(whole * i / 10);
      asked = Clock::now();
      stop = true;
    });
    const bool finished = make_scene(data, flat, &stop).has_value();
    const auto back = Clock::now();
    stopper.join();
    if (!finished) late.push_back(std::chrono::duration<double, std::milli>(back - asked).count());
  }
  ASSERT_GE(late.size(), 4U) << "the layout was through before it could be stopped";
  std::ranges::sort(late);
  // The median, against the whole layout: a machine that does something else is not this code.
  const auto whole_ms = std::chrono::duration<double, std::milli>(whole).count();
  EXPECT_LT(late[late.size() / 2], std::max(50.0, whole_ms / 4)) << whole_ms;
}

TEST(Scene, ManyChildrenAreCutIntoSections) {
  auto data = std::make_shared<GraphData>();
  for (int i = 0; i < 1000; ++i) {
    data->add_node(i + 1, fmt::format("n{}", i));
    if (i > 0) data->edges.emplace_back(i - 1, i);
  }
  const auto scene = make_scene(data, {});
  ASSERT_TRUE(scene);
  EXPECT_EQ(scene->boxes.size(), 5U);
  const auto open =
      make_scene(data, {.open = {scene->module(scene->boxes[1])}, .flat = false, .only = {}});
  ASSERT_TRUE(open);
  EXPECT_EQ(open->boxes.size(), 205U);
  const auto flat = make_scene(data, {.open = {}, .flat = true, .only = {}});
  ASSERT_TRUE(flat);
  EXPECT_EQ(flat->boxes.size(), 1000U);
}

TEST(Scene, NeighbourhoodAndPathsFollowEdges) {
  const auto data = model();
  EXPECT_EQ(neighbourhood(*data, 5, 2), (std::vector<int>{3, 4, 5, 6, 7}));
  EXPECT_EQ(path_between(*data, 7, 3), (std::vector<int>{3, 4, 5, 6, 7}));
  EXPECT_EQ(modules_above(*data, 0), (std::vector<std::string>{"a", "a.x"}));
}

TEST(Scene, WhatAGraphReturnsIsNoWay) {
  GraphData data;
  for (const auto* name : {"x", "a", "b", "c", "output"})
    data.add_node(std::ssize(data.nodes) + 1, name).target = data.texts.number(name);
  data.edges = {{0, 1}, {1, 2}, {2, 4}, {3, 4}};
  EXPECT_EQ(neighbourhood(data, 2, 2), (std::vector<int>{0, 1, 2, 4})) << "c is only returned too";
  EXPECT_EQ(neighbourhood(data, 4, 1), (std::vector<int>{2, 3, 4}));
}

TEST(GraphPart, HoldsWhatTheNeighbourhoodInTheWholeGraphHolds) {
  const testing::TemporaryFolder folder;
  testing::write_generated_trace(folder / "g.sqlite", 12'000);
  const auto reader = TraceReader::open(folder / "g.sqlite");
  ASSERT_TRUE(reader);
  const auto whole = read_graph(*reader, 1);
  ASSERT_TRUE(whole);
  EXPECT_FALSE(whole->is_part());
  for (const int node : {0, 4'999, 11'999}) {
    const auto id = whole->nodes[static_cast<std::size_t>(node)].id;
    const auto part = read_around(*reader, {.graph = 1, .node = id}, 2);
    ASSERT_TRUE(part) << part.error().message;
    EXPECT_TRUE(part->is_part());
    EXPECT_EQ(part->total, 12'000);
    const auto near = neighbourhood(*whole, node, 2);
    ASSERT_EQ(part->nodes.size(), near.size());
    std::set<std::pair<int, int>> edges;
    for (const auto& [from, to] : whole->edges)
      if (std::ranges::binary_search(near, from) && std::ranges::binary_search(near, to))
        edges.emplace(from, to);
    for (std::size_t i = 0; i < near.size(); ++i) {
      const auto at = static_cast<int>(i);
      EXPECT_EQ(part->name(at), whole->name(near[i]));
      EXPECT_EQ(part->target(at), whole->target(near[i]));
      EXPECT_EQ(part->sizes(at), whole->sizes(near[i]));
      EXPECT_EQ(part->nodes[i].mark, whole->nodes[static_cast<std::size_t>(near[i])].mark);
    }
    for (const auto& [from, to] : part->edges)
      EXPECT_EQ(
          edges.erase({near[static_cast<std::size_t>(from)], near[static_cast<std::size_t>(to)]}),
          1);
    EXPECT_TRUE(edges.empty());
  }
}

}  // namespace
}  // namespace assay
