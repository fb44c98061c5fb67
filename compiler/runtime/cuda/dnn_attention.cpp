// Attention as cuDNN fuses it: two products, what is between them, and the logarithms of the sums.
// The operations, their order and their types are those that the library's own frontend makes
// (cudnn-frontend, scaled_dot_product_flash_attention.h); others it does not take.
#include <array>
#include <limits>
#include <map>
#include <ranges>
#include <set>
#include <string_view>

#include "compiler/runtime/cuda/dnn.h"
#include "compiler/runtime/cuda/dnn_graph.h"

namespace assay::cuda {
namespace {

/// Runs of graphs in turn. What is between their operations is in memory that all such works share,
/// since they run one after the other.
class DnnGraphRuns final : public GpuWork {
 public:
  void add(std::shared_ptr<const DnnGraph> graph, std::vector<Address> places, Address workspace) {
    runs_.push_back({std::move(graph), std::move(places), workspace});
  }
  [[nodiscard]] auto issue() -> Result<void> override {
    for (const auto& run : runs_) ASSAY_TRY_VOID(run.graph->run(run.places, run.workspace));
    return {};
  }

 private:
  struct Run {
    std::shared_ptr<const DnnGraph> graph;
    std::vector<Address> places;
    Address workspace;
  };
  std::vector<Run> runs_;
};

auto turned(Ints values) -> Ints {
  std::swap(values[2], values[3]);
  return values;
}

/// All but addresses and the batch.
auto key_of(const GpuAttention& what, const std::vector<const GpuTensor*>& others) -> std::string {
  auto key =
      fmt::format("{} {} {}", static_cast<int>(what.query.dtype), what.scale, what.is_causal);
  const auto add = [&](const GpuTensor& one) {
    key += fmt::format(" {} {}", fmt::join(one.sizes | std::views::drop(1), ","),
                       fmt::join(one.strides, ","));
  };
  for (const auto* one : {&what.query, &what.key, &what.value, &what.out}) add(*one);
  for (const auto* one : others) add(*one);
  if (what.mask) {
    key += fmt::format(" mask {}", what.mask->sizes[0]);
    add(*what.mask);
  }
  return key;
}
/// What differs in lengths, masks and layouts alone has the same name.
auto family_of(const GpuAttention& what, std::string_view pass) -> std::string {
  return fmt::format("{} {} {} {} {} {} {} {}", pass, static_cast<int>(what.query.dtype),
                     what.scale, what.is_causal, what.query.sizes[1], what.key.sizes[1],
                     what.query.sizes[3], what.value.sizes[3]);
}

/// A part of the batch.
void take(GpuTensor& tensor, std::int64_t first, std::int64_t count) {
  const auto bytes = first * tensor.strides[0] * size_bytes(tensor.dtype);
  tensor.at += static_cast<Address>(bytes);
  tensor.sizes[0] = count;
}
auto part_of(GpuAttention what, std::int64_t first, std::int64_t count) -> GpuAttention {
  for (auto* one : {&what.query, &what.key, &what.value, &what.out, &what.sums})
    take(*one, first, count);
  if (what.mask && what.mask->sizes[0] > 1) take(*what.mask, first, count);
  return what;
}
auto part_of(GpuAttentionGradients what, std::int64_t first, std::int64_t count)
    -> GpuAttentionGradients {
  what.of = part_of(std::move(what.of), first, count);
  for (auto* one : {&what.gradient, &what.query_gradient, &what.key_gradient, &what.value_gradient})
    take(*one, first, count);
  return what;
}

/// What both passes begin with, and the tensors' sizes.
class AttentionGraph {
 public:
  using Id = DnnGraph::Id;

  AttentionGraph(DnnGraph& graph, const GpuAttention& what)
      : graph_(graph),
        what_(what),
        io_(what.query.dtype == DType::float16 ? DnnType::half : DnnType::bfloat16),
        scores_(what.query.sizes),
        rows_(what.query.sizes) {
    scores_[3] = what.key.sizes[2];
    rows_[3] = 1;
  }

  void describe() {
    const auto query = given(what_.query), key = given_turned(what_.key);
    const auto value = given(what_.value), out = given(what_.out), sums = given_rows();
    auto last = seen(masked(scaled(product(query, key))));
    const auto largest = rows(), sum = rows();
    graph_.reduce(DnnReduction::max, last, largest);
    last = applied(DnnOp::exp, {applied(DnnOp::sub, {last, largest})});
    graph_.reduce(DnnReduction::add, last, sum);
    const auto logarithm = applied(DnnOp::log, {sum}, rows());
    applied(DnnOp::add, {largest, logarithm}, sums);
    graph_.multiply(applied(DnnOp::divide, {last, sum}, scores(io_)), value, out);
  }

  void describe(const GpuAttentionGradients& gradients) {
    const auto query = given(what_.query), key = given_turned(what_.key);
    const auto value = given_turned(what_.value), out = given(what_.out), sums = given_rows();
    const auto gradient = given(gradients.gradient);
    const auto query_gradient = given(gradients.query_gradient);
    const auto key_gradient = given(gradients.key_gradient);
    const auto value_gradient = given(gradients.value_gradient);
    const auto share = given_rows();  // the run's own
    // What the gradient and the result have in common
    const auto& sizes = what_.out.sizes;
    const auto products = graph_.between(
        DnnType::float32, sizes,
        {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[1] * sizes[3], 1});
    applied(DnnOp::mul, {gradient, out}, products);
    const auto common = rows();
    graph_.reduce(DnnReduction::add, products, common);
    applied(DnnOp::mul, {common, graph_.number(1, kRank)}, share);
    // Weights, and what the values get
    const auto centred = applied(DnnOp::sub, {masked(scaled(product(query, key))), sums});
    const auto weights = applied(DnnOp::exp, {seen(centred)});
    graph_.multiply(on_its_side(weights), gradient, value_gradient);
    // Slopes of scores, and what queries and keys get
    auto slopes = applied(DnnOp::sub, {product(gradient, value), share});
    slopes = scaled(applied(DnnOp::mul, {slopes, weights}));
    graph_.multiply(on_its_side(slopes), query, key_gradient);
    const auto upright = graph_.between(io_, what_.key.sizes, what_.key.strides);
    graph_.reshape(key, upright);
    graph_.multiply(slopes, upright, query_gradient);
  }

 private:
  static constexpr std::size_t kRank = 4;

  auto given(const GpuTensor& one) -> Id { return graph_.tensor(io_, one.sizes, one.strides); }
  auto given_turned(const GpuTensor& one) -> Id {
    return graph_.tensor(io_, turned(one.sizes), turned(one.strides));
  }
  auto given_rows() -> Id {
    return graph_.tensor(DnnType::float32, rows_, contiguous_strides(rows_));
  }
  auto scores(DnnType type = DnnType::float32) -> Id { return graph_.between(type, scores_); }
  auto rows() -> Id { return graph_.between(DnnType::float32, rows_); }
  auto applied(DnnOp op, const std::vector<Id>& operands, Id to) -> Id {
    graph_.apply(op, DnnType::float32, operands, to);
    return to;
  }
  auto applied(DnnOp op, const std::vector<Id>& operands) -> Id {
    return applied(op, operands, scores());
  }
  auto product(Id a, Id b) -> Id {
    const auto made = scores();
    graph_.multiply(a, b, made);
    return made;
  }
  auto scaled(Id x) -> Id {
    return applied(DnnOp::mul, {x, graph_.number(static_cast<float>(what_.scale), kRank)});
  }
  /// The mask is the last of the graph's tensors.
  auto masked(Id x) -> Id { return what_.mask ? applied(DnnOp::add, {x, given(*what_.mask)}) : x; }
  /// The lowest number where the position is not seen.
  auto seen(Id x) -> Id {
    if (!what_.is_causal) return x;
    const auto index = [&](std::int64_t axis) {
      const auto made = scores(DnnType::int32);
      graph_.apply(DnnOp::index, DnnType::int32, {x}, made, axis);
      return made;
    };
    const auto row = index(2), column = index(3), is_seen = scores(DnnType::truth);
    graph_.apply(DnnOp::greater_or_equal, DnnType::truth, {row, column}, is_seen);
    return applied(DnnOp::select, {x, graph_.number(what_.lowest, kRank), is_seen});
  }
  /// [keys, queries], in the type of products.
  auto on_its_side(Id x) -> Id {
    const auto made = graph_.between(io_, turned(scores_), turned(contiguous_strides(scores_)));
    graph_.reshape(x, made);
    return made;
  }

  DnnGraph& graph_;
  GpuAttention what_;
  DnnType io_;
  Ints scores_, rows_;  ///< sizes
};

}  // namespace

/// By what they are made for and batch; null where there is no plan.
struct DnnPlans {
  using Batches = std::map<std::int64_t, std::shared_ptr<const DnnGraph>, std::greater<>>;
  std::shared_ptr<DnnGraphFunctions> functions;
  std::map<std::string, Batches> attention;
  std::set<std::string> families;
};

void DnnPlansDeleter::operator()(DnnPlans* plans) const {
  delete plans;
}

/// A plan takes the library some 50 ms. So other batches are made of parts that there are plans
/// for, if they are few; the first call of a family, which waits for much else, makes those that
/// most batches are made of.
auto Dnn::parts(const Asked& asked, const Describe& describe) -> Result<std::vector<Part>> {
  const auto& [key, family, batch] = asked;
  constexpr std::size_t kMostParts = 4;
  constexpr std::array<std::int64_t, 2> kUsual = {4, 1};
  if (!plans_) {
    plans_.reset(new DnnPlans);
    ASSAY_TRY(plans_->functions, open_dnn_graphs(library_));
  }
  constexpr std::size_t kWrong = 91000, kRight = 91002;  // of the library's known issues
  if (plans_->functions == nullptr || (version_ >= kWrong && version_ < kRight))
    return unsupported("this cuDNN has no attention");
  constexpr std::size_t kMostKeys = 64;  // works that are there keep their plans
  if (plans_->attention.size() >= kMostKeys && !plans_->attention.contains(key))
    plans_->attention.clear();
  auto& known = plans_->attention[key];
  const auto whole = [&]() -> Result<std::vector<Part>> {
    if (known[batch] == nullptr) return unsupported("cuDNN has no plan for this attention");
    return std::vector{Part{0, batch, known[batch]}};
  };
  if (known.contains(batch)) return whole();
  const auto make = [&](std::int64_t count) -> Result<void> {
    known.try_emplace(batch);  // is not tried again
    auto graph = std::make_shared<DnnGraph>(*plans_->functions, handle_);
    describe(*graph, count);
    ASSAY_TRY_VOID(graph->finish());
    known[count] = std::move(graph);
    return {};
  };
  if (!plans_->families.contains(family)) {
    for (const auto count : kUsual)
      if (count < batch) ASSAY_TRY_VOID(make(count));
  } else {
    std::vector<Part> all;
    std::int64_t first = 0;
    for (const auto& [count, plan] : known)
      for (; plan != nullptr && count <= batch - first && all.size() <= kMostParts; first += count)
        all.push_back({first, count, plan});
    if (first == batch && all.size() <= kMostParts) return all;
  }
  ASSAY_TRY_VOID(make(batch));
  plans_->families.insert(family);
  return whole();
}

auto Dnn::parts(const GpuAttention& what) -> Result<std::vector<Part>> {
  const Asked asked{key_of(what, {}), family_of(what, "forward"), what.query.sizes[0]};
  return parts(asked, [&](DnnGraph& graph, std::int64_t count) {
    AttentionGraph(graph, part_of(what, 0, count)).describe();
  });
}
auto Dnn::parts(const GpuAttentionGradients& what) -> Result<std::vector<Part>> {
  constexpr std::size_t kAnyKeysSince = 91501;
  if (version_ < kAnyKeysSince && what.of.key.sizes[2] % kGradientKeys != 0)
    return unsupported("cuDNN before 9.15.1 wants a multiple of {} keys", kGradientKeys);
  const auto key = key_of(
      what.of, {&what.gradient, &what.query_gradient, &what.key_gradient, &what.value_gradient});
  const Asked asked{key, family_of(what.of, "backward"), what.of.query.sizes[0]};
  return parts(asked, [&](DnnGraph& graph, std::int64_t count) {
    const auto part = part_of(what, 0, count);
    AttentionGraph(graph, part.of).describe(part);
  });
}

auto Dnn::takes(GpuAttention what) -> bool {
  what.lowest = lowest();
  return parts(what).has_value();
}
auto Dnn::takes(GpuAttentionGradients what) -> bool {
  what.of.lowest = lowest();
  return parts(what).has_value();
}

/// Versions before 9.10 want a number.
auto Dnn::lowest() const -> float {
  constexpr std::size_t kInfiniteSince = 91000;
  return version_ < kInfiniteSince ? std::numeric_limits<float>::lowest()
                                   : -std::numeric_limits<float>::infinity();
}

/// Captured graphs know the addresses of what was handed out, so it stays.
auto Dnn::room(std::int64_t bytes) -> Result<Address> {
  if (bytes > room_bytes_) {
    ASSAY_TRY(rooms_.emplace_back(), driver_.allocate(static_cast<std::size_t>(bytes)));
    room_bytes_ = bytes;
  }
  return rooms_.empty() ? 0 : rooms_.back();
}

auto Dnn::attention(GpuAttention what) -> Result<std::unique_ptr<GpuWork>> {
  what.lowest = lowest();
  ASSAY_TRY(const auto all, parts(what));
  auto made = std::make_unique<DnnGraphRuns>();
  for (const auto& [first, count, plan] : all) {
    const auto part = part_of(what, first, count);
    ASSAY_TRY(const auto workspace, room(plan->workspace_bytes()));
    std::vector<Address> places = {part.query.at, part.key.at, part.value.at, part.out.at,
                                   part.sums.at};
    if (part.mask) places.push_back(part.mask->at);
    made->add(plan, std::move(places), workspace);
  }
  return made;
}
auto Dnn::attention(GpuAttentionGradients what) -> Result<std::unique_ptr<GpuWork>> {
  constexpr std::int64_t kAlignment = 256;
  what.of.lowest = lowest();
  ASSAY_TRY(const auto all, parts(what));
  auto made = std::make_unique<DnnGraphRuns>();
  for (const auto& [first, count, plan] : all) {
    const auto part = part_of(what, first, count);
    const auto& of = part.of;
    const auto share = numel(of.sums.sizes) * size_bytes(DType::float32);
    const auto before = (share + kAlignment - 1) / kAlignment * kAlignment;
    ASSAY_TRY(const auto place, room(before + plan->workspace_bytes()));
    std::vector<Address> places = {of.query.at,
                                   of.key.at,
                                   of.value.at,
                                   of.out.at,
                                   of.sums.at,
                                   part.gradient.at,
                                   part.query_gradient.at,
                                   part.key_gradient.at,
                                   part.value_gradient.at,
                                   place};
    if (of.mask) places.push_back(of.mask->at);
    made->add(plan, std::move(places), place + static_cast<Address>(before));
  }
  return made;
}

}  // namespace assay::cuda
