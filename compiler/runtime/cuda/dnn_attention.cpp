// Attention as cuDNN fuses it: two products, what is between them, and the logarithms of the sums.
// The operations, their order and their types are those that the library's own frontend makes
// (cudnn-frontend, scaled_dot_product_flash_attention.h); others it does not take.
#include <limits>

#include "compiler/runtime/cuda/dnn.h"
#include "compiler/runtime/cuda/dnn_graph.h"

namespace assay::cuda {
namespace {

class DnnAttention final : public GpuWork {
 public:
  DnnAttention(std::shared_ptr<const DnnGraph> graph, std::vector<Address> places, Driver& driver)
      : graph_(std::move(graph)), places_(std::move(places)), driver_(driver) {}
  ~DnnAttention() override {
    if (workspace_ != 0) driver_.free(workspace_);
  }
  DnnAttention(const DnnAttention&) = delete;
  auto operator=(const DnnAttention&) -> DnnAttention& = delete;
  auto prepare() -> Result<void> {
    if (graph_->workspace_bytes() == 0) return {};
    ASSAY_TRY(workspace_,
              driver_.allocate(static_cast<std::size_t>(graph_->workspace_bytes())));
    return {};
  }
  [[nodiscard]] auto issue() -> Result<void> override { return graph_->run(places_, workspace_); }

 private:
  std::shared_ptr<const DnnGraph> graph_;
  std::vector<Address> places_;
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

void describe(DnnGraph& graph, const GpuAttention& what) {
  const auto io = what.query.dtype == DType::float16 ? DnnType::half : DnnType::bfloat16;
  constexpr auto kFloat = DnnType::float32;
  const auto given = [&](const GpuTensor& one) { return graph.tensor(io, one.sizes, one.strides); };
  const auto query = given(what.query);
  const auto key = graph.tensor(io, turned(what.key.sizes), turned(what.key.strides));
  const auto value = given(what.value), out = given(what.out);
  auto scores_sizes = what.query.sizes;
  scores_sizes[3] = what.key.sizes[2];
  auto rows_sizes = scores_sizes;
  rows_sizes[3] = 1;
  const auto sums = graph.tensor(kFloat, rows_sizes, contiguous_strides(rows_sizes));
  const auto scores = [&](DnnType type = DnnType::float32) { return graph.between(type, scores_sizes); };
  const auto rows = [&] { return graph.between(kFloat, rows_sizes); };
  const auto applied = [&](DnnOp op, const std::vector<DnnGraph::Id>& operands, DnnGraph::Id to) {
    graph.apply(op, kFloat, operands, to);
    return to;
  };
  auto last = scores();
  graph.multiply(query, key, last);
  last = applied(DnnOp::mul, {last, graph.number(static_cast<float>(what.scale), 4)}, scores());
  if (what.is_causal) {
    const auto index = [&](std::int64_t axis) {
      const auto made = scores(DnnType::int32);
      graph.apply(DnnOp::index, DnnType::int32, {last}, made, axis);
      return made;
    };
    const auto row = index(2), column = index(3), seen = scores(DnnType::truth);
    graph.apply(DnnOp::greater_or_equal, DnnType::truth, {row, column}, seen);
    const auto never = graph.number(what.lowest, 4);
    last = applied(DnnOp::select, {last, never, seen}, scores());
  }
  const auto largest = rows(), sum = rows();
  graph.reduce(DnnReduction::max, last, largest);
  last = applied(DnnOp::sub, {last, largest}, scores());
  last = applied(DnnOp::exp, {last}, scores());
  graph.reduce(DnnReduction::add, last, sum);
  applied(DnnOp::add, {largest, applied(DnnOp::log, {sum}, rows())}, sums);
  last = applied(DnnOp::divide, {last, sum}, scores(io));
  graph.multiply(last, value, out);
}

}  // namespace

/// By what they are made for; null where there is no plan.
struct DnnPlans {
  std::shared_ptr<DnnGraphFunctions> functions;
  std::map<std::string, std::shared_ptr<const DnnGraph>> attention;
};

void DnnPlansDeleter::operator()(DnnPlans* plans) const { delete plans; }

auto Dnn::attention_plan(const GpuAttention& what) -> Result<std::shared_ptr<const DnnGraph>> {
  if (!plans_) {
    plans_.reset(new DnnPlans);
    ASSAY_TRY(plans_->functions, open_dnn_graphs(library_));
  }
  if (plans_->functions == nullptr) return unsupported("cuDNN has no graphs");
  const auto [at, is_new] = plans_->attention.try_emplace(key_of(what));
  if (is_new) {
    auto graph = std::make_shared<DnnGraph>(*plans_->functions, handle_);
    describe(*graph, what);
    ASSAY_TRY_VOID(graph->finish());
    at->second = std::move(graph);
  }
  if (at->second == nullptr) return unsupported("cuDNN has no plan for this attention");
  return at->second;
}

auto Dnn::takes(GpuAttention what) -> bool {
  what.lowest = lowest();
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
  auto made = std::make_unique<DnnAttention>(
      std::move(graph),
      std::vector{what.query.at, what.key.at, what.value.at, what.out.at, what.sums.at}, driver_);
  ASSAY_TRY_VOID(made->prepare());
  return made;
}

}  // namespace assay::cuda
