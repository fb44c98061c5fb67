// Attention as cuDNN fuses it: two products, what is between them, and the logarithms of the sums.
// The operations, their order and their types are those that the library's own frontend makes
// (cudnn-frontend, scaled_dot_product_flash_attention.h); others it does not take.
#include <limits>

#include "compiler/runtime/cuda/dnn.h"
#include "compiler/runtime/cuda/dnn_graph.h"

namespace assay::cuda {
namespace {

/// A run of a graph, with memory of its own.
class DnnGraphRun final : public GpuWork {
 public:
  DnnGraphRun(std::shared_ptr<const DnnGraph> graph, std::vector<Address> places, Driver& driver)
      : graph_(std::move(graph)), places_(std::move(places)), driver_(driver) {}
  ~DnnGraphRun() override {
    for (const auto address : owned_) driver_.free(address);
  }
  DnnGraphRun(const DnnGraphRun&) = delete;
  auto operator=(const DnnGraphRun&) -> DnnGraphRun& = delete;
  /// `between`: bytes of the tensors that follow the places, which are the run's.
  auto prepare(const std::vector<std::int64_t>& between) -> Result<void> {
    for (const auto bytes : between) {
      ASSAY_TRY(const auto place, own(bytes));
      places_.push_back(place);
    }
    if (graph_->workspace_bytes() == 0) return {};
    ASSAY_TRY(workspace_, own(graph_->workspace_bytes()));
    return {};
  }
  [[nodiscard]] auto issue() -> Result<void> override { return graph_->run(places_, workspace_); }

 private:
  auto own(std::int64_t bytes) -> Result<Address> {
    ASSAY_TRY(const auto address, driver_.allocate(static_cast<std::size_t>(bytes)));
    owned_.push_back(address);
    return address;
  }

  std::shared_ptr<const DnnGraph> graph_;
  std::vector<Address> places_, owned_;
  Driver& driver_;
  Address workspace_ = 0;
};

auto turned(Ints values) -> Ints {
  std::swap(values[2], values[3]);
  return values;
}

/// All but addresses.
auto key_of(const GpuAttention& what) -> std::string {
  auto key = fmt::format("{} {} {}", static_cast<int>(what.query.dtype), what.scale, what.is_causal);
  for (const auto* one : {&what.query, &what.key, &what.value, &what.out})
    key += fmt::format(" {} {}", fmt::join(one->sizes, ","), fmt::join(one->strides, ","));
  return key;
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
    auto last = seen(scaled(product(query, key)));
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
    const auto centred = applied(DnnOp::sub, {scaled(product(query, key)), sums});
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
  const GpuAttention& what_;
  DnnType io_;
  Ints scores_, rows_;  ///< sizes
};

}  // namespace

/// By what they are made for; null where there is no plan.
struct DnnPlans {
  std::shared_ptr<DnnGraphFunctions> functions;
  std::map<std::string, std::shared_ptr<const DnnGraph>> attention;
};

void DnnPlansDeleter::operator()(DnnPlans* plans) const { delete plans; }

auto Dnn::plan(const std::string& key, const std::function<void(DnnGraph&)>& describe) -> Plan {
  if (!plans_) {
    plans_.reset(new DnnPlans);
    ASSAY_TRY(plans_->functions, open_dnn_graphs(library_));
  }
  if (plans_->functions == nullptr) return unsupported("cuDNN has no graphs");
  const auto [at, is_new] = plans_->attention.try_emplace(key);
  if (is_new) {
    auto graph = std::make_shared<DnnGraph>(*plans_->functions, handle_);
    describe(*graph);
    ASSAY_TRY_VOID(graph->finish());
    at->second = std::move(graph);
  }
  if (at->second == nullptr) return unsupported("cuDNN has no plan for this attention");
  return at->second;
}

auto Dnn::attention_plan(const GpuAttention& what) -> Plan {
  return plan(key_of(what),
              [&](DnnGraph& graph) { AttentionGraph(graph, what).describe(); });
}
auto Dnn::attention_plan(const GpuAttentionGradients& what) -> Plan {
  constexpr std::size_t kAnyKeysSince = 91501;
  constexpr std::int64_t kKeys = 128;
  if (version_ < kAnyKeysSince && what.of.key.sizes[2] % kKeys != 0)
    return unsupported("cuDNN before 9.15.1 wants a multiple of {} keys", kKeys);
  auto key = key_of(what.of);
  for (const auto* one : {&what.gradient, &what.query_gradient, &what.key_gradient,
                          &what.value_gradient})
    key += fmt::format(" {}", fmt::join(one->strides, ","));
  return plan(key, [&](DnnGraph& graph) { AttentionGraph(graph, what.of).describe(what); });
}

auto Dnn::takes(GpuAttention what) -> bool {
  what.lowest = lowest();
  return attention_plan(what).has_value();
}
auto Dnn::takes(GpuAttentionGradients what) -> bool {
  what.of.lowest = lowest();
  return attention_plan(what).has_value();
}

/// Versions before 9.10 want a number.
auto Dnn::lowest() const -> float {
  constexpr std::size_t kInfiniteSince = 91000;
  return version_ < kInfiniteSince ? std::numeric_limits<float>::lowest()
                                   : -std::numeric_limits<float>::infinity();
}

auto Dnn::attention(GpuAttention what) -> Result<std::unique_ptr<GpuWork>> {
  what.lowest = lowest();
  ASSAY_TRY(auto graph, attention_plan(what));
  auto made = std::make_unique<DnnGraphRun>(
      std::move(graph),
      std::vector{what.query.at, what.key.at, what.value.at, what.out.at, what.sums.at}, driver_);
  ASSAY_TRY_VOID(made->prepare({}));
  return made;
}
auto Dnn::attention(GpuAttentionGradients what) -> Result<std::unique_ptr<GpuWork>> {
  what.of.lowest = lowest();
  ASSAY_TRY(auto graph, attention_plan(what));
  const auto& of = what.of;
  auto made = std::make_unique<DnnGraphRun>(
      std::move(graph),
      std::vector{of.query.at, of.key.at, of.value.at, of.out.at, of.sums.at, what.gradient.at,
                  what.query_gradient.at, what.key_gradient.at, what.value_gradient.at},
      driver_);
  ASSAY_TRY_VOID(made->prepare({numel(of.sums.sizes) * size_bytes(DType::float32)}));
  return made;
}

}  // namespace assay::cuda
