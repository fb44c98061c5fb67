// parse(print(g)) == g for random graphs, with every kind of argument, claim and symbol.
#include <cstdlib>
#include <iostream>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "core/graph/annotation.h"
#include "core/graph/text.h"

namespace assay {
namespace {

/// Random well-formed graphs. The seed comes from ASSAY_SEED or the clock and is printed.
class GraphMaker {
 public:
  explicit GraphMaker(std::uint32_t seed) : random_(seed) {}

  auto make() -> Graph {
    Graph graph;
    declare_symbols(graph);
    fill(graph, 2);
    return graph;
  }

 private:
  auto below(int n) -> int { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  auto one_in(int n) -> bool { return below(n) == 0; }

  void declare_symbols(Graph& graph) {
    env_ = &graph.env;
    for (const char* name : {"s0", "s77", "u3", "zf2"}) {
      const auto symbol = *graph.env.add_symbol(name);
      if (one_in(2)) graph.env.add_source(symbol, text());
      const bool real = name[0] == 'z';
      if (one_in(2)) graph.env.set_hint(symbol, real ? Expr::real(0.5) : Expr(4));
      if (!real && one_in(2)) graph.env.set_range(symbol, {Expr(2), Expr(2 + below(100))});
      if (!real) symbols_.push_back(symbol);
    }
    for (int i = below(4); i > 0; --i)
      graph.env.add_guard({le(expr(), 1000 + below(9)), "", text()});
    if (one_in(2)) graph.env.add_replacement(symbols_[0], symbols_[1] * 2);
  }

  void fill(Graph& graph, int depth) {
    values_.clear();
    for (int i = below(4); i >= 0; --i) {
      Node node;
      node.kind = NodeKind::placeholder;
      node.target = node.name = fmt::format("p_{}", i);
      if (one_in(4)) node.name += "_renamed";
      node.claim = claim(0);
      values_.push_back(graph.add(std::move(node)));
    }
    for (int i = below(12); i > 0; --i) values_.push_back(graph.add(operation(i)));
    Node output;
    output.kind = NodeKind::output;
    output.name = output.target = "output";
    output.args = {arg(0)};
    graph.add(std::move(output));
    for (int i = depth > 0 ? below(2) : 0; i > 0; --i) {
      Graph child;
      child.env = graph.env;
      child.class_name = one_in(2) ? "<lambda>" : "GraphModule";
      fill(child, depth - 1);
      graph.children.emplace_back(fmt::format("body_{}", i), std::move(child));
    }
  }

  auto operation(int i) -> Node {
    static const char* const kTargets[] = {
        "aten.add.Tensor",   "operator.mul",   "operator.neg", "operator.getitem",
        "operator.setitem",  "operator.iadd",  "operator.pow", "torch.sym_sum",
        "math.ceil",         "builtins.max",   "operator.abs", "builtins.getattr",
        "higher_order.cond", "weird target()", "my_function",  "operator.invert"};
    Node node;
    node.name = fmt::format("v{}", i);
    node.claim = claim(0);
    if (one_in(3))
      node.origin = Origin{"a b.py", below(99), "f", "x = [1]; # y", one_in(2) ? "m.0" : ""};
    switch (below(8)) {
      case 0:
        node.kind = NodeKind::get_attr;
        node.target = one_in(2) ? "a.b" : "layers.0.w";
        return node;
      case 1:
        node.kind = NodeKind::call_method;
        node.target = "view";
        node.args.push_back(
            Arg{values_[static_cast<std::size_t>(below(static_cast<int>(values_.size())))]});
        break;
      case 2:
        node.kind = NodeKind::call_module;
        node.target = "blocks.1.linear";
        break;
      default:
        node.target = kTargets[below(std::size(kTargets))];
        break;
    }
    for (int k = below(4); k > 0; --k) node.args.push_back(arg(0));
    for (int k = below(3); k > 0; --k) node.kwargs.emplace_back(fmt::format("k{}", k), arg(0));
    return node;
  }

  auto arg(int depth) -> Arg {
    static const double kReals[] = {0.0,
                                    -0.0,
                                    1.0,
                                    0.1,
                                    -2.5e-300,
                                    1e300,
                                    1e16,
                                    5e-324,
                                    std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity(),
                                    std::numeric_limits<double>::quiet_NaN()};
    static const std::int64_t kInts[] = {0, 1, -1, std::numeric_limits<std::int64_t>::max(),
                                         std::numeric_limits<std::int64_t>::min()};
    const auto real = [&] { return kReals[below(std::size(kReals))]; };
    switch (below(depth < 3 ? 15 : 12)) {
      case 0:
        return Arg{NoneArg{}};
      case 1:
      case 2:
        return Arg{values_[static_cast<std::size_t>(below(static_cast<int>(values_.size())))]};
      case 3:
        return Arg{Expr(kInts[below(std::size(kInts))])};
      case 4:
        return Arg{Expr::real(real())};
      case 5:
        return Arg{Expr::boolean(one_in(2))};
      case 6:
        return Arg{expr()};
      case 7:
        return Arg{std::complex<double>(real(), real())};
      case 8:
        return Arg{text()};
      case 9:
        return one_in(2) ? Arg{Layout::sparse_coo} : Arg{MemoryFormat::channels_last};
      case 10:
        return one_in(2) ? Arg{DType::bfloat16} : Arg{Device{"cuda", below(3) - 1}};
      case 11:
        return Arg{RawArg{one_in(2) ? "a.b.C" : "<" + text() + ">"}};
      case 12:
        return Arg{DictArg{{{text(), arg(depth + 1)}}}};
      case 13:
        return Arg{SliceArg{{arg(depth + 1), arg(depth + 1), arg(depth + 1)}}};
      default:
        break;
    }
    SequenceArg sequence;
    sequence.is_tuple = one_in(2);
    for (int k = below(4); k > 0; --k) sequence.items.push_back(arg(depth + 1));
    return Arg{std::move(sequence)};
  }

  auto expr() -> Expr {
    Expr e = symbols_[static_cast<std::size_t>(below(static_cast<int>(symbols_.size())))];
    for (int i = below(4); i > 0; --i) {
      switch (below(5)) {
        case 0:
          e = e * (1 + below(5));
          break;
        case 1:
          e = e + symbols_[0] - below(9);
          break;
        case 2:
          e = floor_div(e, 1 + below(6));
          break;
        case 3:
          e = mod(e, 2 + below(6));
          break;
        default:
          e = max(e, symbols_[1]);
          break;
      }
    }
    return e;
  }

  auto claim(int depth) -> Claim {
    switch (below(depth < 2 ? 4 : 3)) {
      case 0:
        return Claim{};
      case 1:
        return Claim{expr()};
      case 2:
        break;
      default: {
        std::vector<Claim> items;
        for (int k = below(3); k >= 0; --k) items.push_back(claim(depth + 1));
        return Claim{std::move(items)};
      }
    }
    TensorMeta meta;
    meta.dtype = one_in(2) ? DType::float16 : DType::complex64;
    for (int k = below(4); k > 0; --k) {
      meta.sizes.push_back(one_in(2) ? expr() : Expr(below(5)));
      meta.strides.push_back(one_in(2) ? expr() : Expr(below(5)));
    }
    const StatedParts stated{.strides = !one_in(4), .offset = !one_in(4), .device = !one_in(4)};
    if (!stated.strides) meta.strides = row_major_claim(meta.sizes);
    if (stated.offset && one_in(3)) meta.offset = expr();
    meta.requires_grad = one_in(3);
    if (stated.device && one_in(2)) meta.device = Device{"cuda", 1};
    return Claim{std::move(meta), one_in(4) ? below(3) : -1, stated};
  }

  auto text() -> std::string {
    static const std::string kPieces[] = {"a",  "'",    "\"",   "\\",      "\n",      "\r",
                                          "\t", "#",    " @ ",  ", ",      "[",       ")",
                                          "ü",  "\x01", "\xff", "source ", "\x1b[31m"};
    std::string text;
    for (int k = below(6); k > 0; --k) text += kPieces[below(std::size(kPieces))];
    return text;
  }

  std::mt19937 random_;
  ShapeEnv* env_ = nullptr;
  std::vector<Expr> symbols_;
  std::vector<NodeId> values_;
};

auto first_seed() -> std::uint32_t {
  if (const char* set = std::getenv("ASSAY_SEED"))
    return static_cast<std::uint32_t>(std::strtoul(set, nullptr, 10));
  return std::random_device{}();
}

void expect_same_symbols(const ShapeEnv& a, const ShapeEnv& b) {
  ASSERT_EQ(a.symbols().size(), b.symbols().size());
  for (const auto& symbol : a.symbols()) {
    const auto* other = b.find(symbol.name);
    ASSERT_NE(other, nullptr) << symbol.name;
    EXPECT_EQ(symbol.range, other->range) << symbol.name;
    EXPECT_EQ(symbol.hint, other->hint) << symbol.name;
    EXPECT_EQ(symbol.sources, other->sources) << symbol.name;
  }
  ASSERT_EQ(a.guards().size(), b.guards().size());
  for (std::size_t i = 0; i < a.guards().size(); ++i) {
    EXPECT_EQ(Expr::compare(a.guards()[i].condition, b.guards()[i].condition),
              std::strong_ordering::equal);
    EXPECT_EQ(a.guards()[i].where, b.guards()[i].where);
  }
  EXPECT_EQ(a.replacements().size(), b.replacements().size());
}

TEST(GraphTextProperty, ParseOfPrintIsTheSameGraph) {
  const auto start = first_seed();
  std::cout << "ASSAY_SEED=" << start << "\n";
  for (std::uint32_t seed = start; seed != start + 2000; ++seed) {
    SCOPED_TRACE(fmt::format("ASSAY_SEED={}", seed));
    const auto graph = GraphMaker(seed).make();
    ASSERT_TRUE(verify(graph).empty()) << verify(graph).front().message;
    const auto text = print_graph(graph);
    const auto again = parse_graph(text);
    ASSERT_TRUE(again.has_value()) << again.error().message << "\n" << text;
    ASSERT_TRUE(same_structure(graph, *again)) << text << "\n" << print_graph(*again);
    ASSERT_EQ(structural_hash(graph), structural_hash(*again));
    ASSERT_EQ(print_graph(*again), text);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      ASSERT_EQ(graph.nodes[i].name, again->nodes[i].name);
      ASSERT_EQ(graph.nodes[i].target, again->nodes[i].target);
    }
    expect_same_symbols(graph.env, again->env);
    if (HasFailure()) FAIL() << text;
  }
}

TEST(GraphTextProperty, LivenessDoesNotChangeTheGraph) {
  const auto start = first_seed();
  for (std::uint32_t seed = start; seed != start + 200; ++seed) {
    SCOPED_TRACE(fmt::format("ASSAY_SEED={}", seed));
    const auto graph = GraphMaker(seed).make();
    const auto again = parse_graph(print_graph(graph, {.liveness = true}));
    ASSERT_TRUE(again.has_value()) << again.error().message;
    ASSERT_TRUE(same_structure(graph, *again));
  }
}

TEST(GraphTextProperty, DamagedTextNeverCrashes) {
  const auto start = first_seed();
  std::mt19937 random(start);
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    auto text = print_graph(GraphMaker(start + static_cast<std::uint32_t>(round % 50)).make());
    for (int edit = 0; edit < 1 + round % 4 && !text.empty(); ++edit) {
      const auto at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text.erase(at, 1 + random() % 20);
          break;
        case 1:
          text.insert(at, 1, static_cast<char>(random() % 256));
          break;
        default:
          text.resize(at + 1);
          break;
      }
    }
    const auto graph = parse_graph(text);
    if (!graph) {
      EXPECT_TRUE(graph.error().message.starts_with("line ")) << graph.error().message;
      continue;
    }
    ++accepted;
    const auto again = parse_graph(print_graph(*graph));
    EXPECT_TRUE(again.has_value()) << again.error().message << "\n" << text;
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace assay
