#include "compiler/runtime/cuda/dnn_graph.h"

#include "compiler/runtime/cuda/shared_library.h"

namespace assay::cuda {

// NOLINTBEGIN(bugprone-macro-parentheses,readability-identifier-naming): the library's own names
#define ASSAY_DNN_GRAPH_CALLS(X)                                                     \
  X(cudnnBackendCreateDescriptor, (int, void**))                                     \
  X(cudnnBackendDestroyDescriptor, (void*))                                          \
  X(cudnnBackendFinalize, (void*))                                                   \
  X(cudnnBackendSetAttribute, (void*, int, int, std::int64_t, const void*))          \
  X(cudnnBackendGetAttribute, (void*, int, int, std::int64_t, std::int64_t*, void*)) \
  X(cudnnBackendExecute, (void*, void*, void*))

struct DnnGraphFunctions {
  ASSAY_DNN_GRAPH_CALLS(ASSAY_LIBRARY_MEMBER)
};
// NOLINTEND(bugprone-macro-parentheses,readability-identifier-naming)

namespace {

// cudnnBackendDescriptorType_t
constexpr int kPointwise = 0, kEngineConfig = 3, kHeuristics = 4, kPlan = 5,
              kPointwiseOperation = 13, kOperationGraph = 15, kVariantPack = 16, kTensor = 17,
              kMatmul = 18, kMatmulOperation = 19, kReduction = 21, kReductionOperation = 22,
              kReshapeOperation = 31;
// cudnnBackendAttributeType_t
constexpr int kHandleValue = 0, kTypeValue = 1, kTruthValue = 2, kIntegerValue = 3,
              kPointerValue = 6, kHeuristicValue = 8, kPointwiseValue = 14, kDescriptorValue = 15,
              kReductionValue = 18;
// cudnnBackendAttributeName_t
constexpr int kPointwiseMode = 0, kPointwisePrecision = 1, kPointwiseAxis = 9;
constexpr int kHeuristicMode = 200, kHeuristicGraph = 201, kHeuristicResults = 202;
constexpr int kPlanHandle = 400, kPlanConfig = 401, kPlanWorkspace = 402;
constexpr int kPointwiseOf = 750, kPointwiseX = 751, kPointwiseB = 752, kPointwiseY = 753,
              kPointwiseT = 758;
constexpr int kGraphHandle = 800, kGraphOperations = 801;
constexpr int kTensorAlignment = 900, kTensorType = 901, kTensorSizes = 902, kTensorStrides = 903,
              kTensorId = 906, kTensorIsVirtual = 907, kTensorIsNumber = 908;
constexpr int kPackIds = 1000, kPackPointers = 1001, kPackWorkspace = 1003;
constexpr int kMatmulType = 1500, kMatmulA = 1520, kMatmulB = 1521, kMatmulC = 1522,
              kMatmulOf = 1523;
constexpr int kReductionHow = 1600, kReductionType = 1601, kReductionX = 1610, kReductionY = 1611,
              kReductionOf = 1612;
constexpr int kReshapeX = 2200, kReshapeY = 2201;
constexpr int kHeuristicA = 3;  // cudnnBackendHeurMode_t
constexpr std::int64_t kAlignment = 16;
constexpr std::size_t kMostChoices = 8;

}  // namespace

auto open_dnn_graphs(void* library) -> Result<std::shared_ptr<DnnGraphFunctions>> {
  auto made = std::make_shared<DnnGraphFunctions>();
  auto& functions = *made;
  ASSAY_DNN_GRAPH_CALLS(ASSAY_LIBRARY_LOAD)
  return made;
}

DnnGraph::~DnnGraph() {
  for (auto at = owned_.rbegin(); at != owned_.rend(); ++at) f_.cudnnBackendDestroyDescriptor(*at);
}

void DnnGraph::note(int status, const char* call) {
  if (status != 0 && !error_)
    error_ = Error{ErrorCode::unsupported, fmt::format("{}: status {}", call, status)};
}

auto DnnGraph::made(int type) -> void* {
  void* descriptor = nullptr;
  note(f_.cudnnBackendCreateDescriptor(type, &descriptor), "cudnnBackendCreateDescriptor");
  if (descriptor != nullptr) owned_.push_back(descriptor);
  return descriptor;
}
void DnnGraph::set(void* of, int name, int type, std::int64_t count, const void* values) {
  if (error_) return;
  note(f_.cudnnBackendSetAttribute(of, name, type, count, values), "cudnnBackendSetAttribute");
}
/// Enumerations are ints, integers have 64 bits, truths one byte.
void DnnGraph::set_number(void* of, int name, int type, std::int64_t value) {
  const bool is_true = value != 0;
  const auto word = static_cast<int>(value);
  const void* const at = type == kIntegerValue ? static_cast<const void*>(&value)
                         : type == kTruthValue ? static_cast<const void*>(&is_true)
                                               : &word;
  set(of, name, type, 1, at);
}
void DnnGraph::set_descriptor(void* of, int name, void* value) {
  set(of, name, kDescriptorValue, 1, &value);
}
void DnnGraph::finalize(void* of) {
  if (!error_) note(f_.cudnnBackendFinalize(of), "cudnnBackendFinalize");
}

auto DnnGraph::add_tensor(DnnType type, const Ints& sizes, const Ints& strides, bool is_virtual,
                          std::optional<float> number) -> Id {
  auto* const made = this->made(kTensor);
  const auto rank = static_cast<std::int64_t>(sizes.size());
  const auto id = static_cast<std::int64_t>(tensors_.size()) + 1;
  set_number(made, kTensorType, kTypeValue, static_cast<std::int64_t>(type));
  set(made, kTensorSizes, kIntegerValue, rank, sizes.data());
  set(made, kTensorStrides, kIntegerValue, rank, strides.data());
  set_number(made, kTensorId, kIntegerValue, id);
  set_number(made, kTensorAlignment, kIntegerValue, kAlignment);
  set_number(made, kTensorIsVirtual, kTruthValue, is_virtual ? 1 : 0);
  set_number(made, kTensorIsNumber, kTruthValue, number ? 1 : 0);
  finalize(made);
  if (!is_virtual) given_.push_back({id, number});
  tensors_.push_back(made);
  return tensors_.size() - 1;
}
auto DnnGraph::tensor(DnnType type, const Ints& sizes, const Ints& strides) -> Id {
  return add_tensor(type, sizes, strides, false, {});
}
auto DnnGraph::between(DnnType type, const Ints& sizes, const Ints& strides) -> Id {
  return add_tensor(type, sizes, strides.empty() ? contiguous_strides(sizes) : strides, true, {});
}
auto DnnGraph::number(float value, std::size_t rank) -> Id {
  const Ints ones(rank, 1);
  return add_tensor(DnnType::float32, ones, ones, false, value);
}

void DnnGraph::multiply(Id a, Id b, Id out) {
  auto* const how = made(kMatmul);
  set_number(how, kMatmulType, kTypeValue, static_cast<std::int64_t>(DnnType::float32));
  finalize(how);
  auto* const operation = made(kMatmulOperation);
  set_descriptor(operation, kMatmulA, tensors_[a]);
  set_descriptor(operation, kMatmulB, tensors_[b]);
  set_descriptor(operation, kMatmulC, tensors_[out]);
  set_descriptor(operation, kMatmulOf, how);
  finalize(operation);
  operations_.push_back(operation);
}

void DnnGraph::reduce(DnnReduction how, Id from, Id to) {
  auto* const made = this->made(kReduction);
  set_number(made, kReductionHow, kReductionValue, static_cast<std::int64_t>(how));
  set_number(made, kReductionType, kTypeValue, static_cast<std::int64_t>(DnnType::float32));
  finalize(made);
  auto* const operation = this->made(kReductionOperation);
  set_descriptor(operation, kReductionX, tensors_[from]);
  set_descriptor(operation, kReductionY, tensors_[to]);
  set_descriptor(operation, kReductionOf, made);
  finalize(operation);
  operations_.push_back(operation);
}

void DnnGraph::reshape(Id from, Id to) {
  auto* const operation = made(kReshapeOperation);
  set_descriptor(operation, kReshapeX, tensors_[from]);
  set_descriptor(operation, kReshapeY, tensors_[to]);
  finalize(operation);
  operations_.push_back(operation);
}

void DnnGraph::apply(DnnOp op, DnnType in, const std::vector<Id>& operands, Id out,
                     std::optional<std::int64_t> axis) {
  auto* const how = made(kPointwise);
  set_number(how, kPointwiseMode, kPointwiseValue, static_cast<std::int64_t>(op));
  set_number(how, kPointwisePrecision, kTypeValue, static_cast<std::int64_t>(in));
  if (axis) set_number(how, kPointwiseAxis, kIntegerValue, *axis);
  finalize(how);
  auto* const operation = made(kPointwiseOperation);
  set_descriptor(operation, kPointwiseOf, how);
  constexpr std::array kNames = {kPointwiseX, kPointwiseB, kPointwiseT};
  for (std::size_t i = 0; i < operands.size(); ++i)
    set_descriptor(operation, kNames.at(i), tensors_[operands[i]]);
  set_descriptor(operation, kPointwiseY, tensors_[out]);
  finalize(operation);
  operations_.push_back(operation);
}

auto DnnGraph::finish() -> Result<void> {
  auto* const graph = made(kOperationGraph);
  set(graph, kGraphHandle, kHandleValue, 1, &handle_);
  set(graph, kGraphOperations, kDescriptorValue, static_cast<std::int64_t>(operations_.size()),
      operations_.data());
  finalize(graph);
  auto* const heuristics = made(kHeuristics);
  set_descriptor(heuristics, kHeuristicGraph, graph);
  set_number(heuristics, kHeuristicMode, kHeuristicValue, kHeuristicA);
  finalize(heuristics);
  std::vector<void*> choices;
  for (std::size_t i = 0; i < kMostChoices; ++i) choices.push_back(made(kEngineConfig));
  if (error_) return std::unexpected(*error_);
  std::int64_t found = 0;
  note(f_.cudnnBackendGetAttribute(heuristics, kHeuristicResults, kDescriptorValue,
                                   static_cast<std::int64_t>(choices.size()), &found,
                                   choices.data()),
       "cudnnBackendGetAttribute");
  for (std::int64_t i = 0; i < found && plan_ == nullptr && !error_; ++i) {
    auto* const plan = made(kPlan);
    set(plan, kPlanHandle, kHandleValue, 1, &handle_);
    set_descriptor(plan, kPlanConfig, choices[static_cast<std::size_t>(i)]);
    if (!error_ && f_.cudnnBackendFinalize(plan) == 0) plan_ = plan;
  }
  if (error_) return std::unexpected(*error_);
  if (plan_ == nullptr) return unsupported("cuDNN has no engine for this graph");
  std::int64_t count = 0;
  note(f_.cudnnBackendGetAttribute(plan_, kPlanWorkspace, kIntegerValue, 1, &count,
                                   &workspace_bytes_),
       "cudnnBackendGetAttribute");
  if (error_) return std::unexpected(*error_);
  return {};
}

auto DnnGraph::run(const std::vector<Address>& places, Address workspace) const -> Result<void> {
  std::vector<std::int64_t> ids;
  std::vector<void*> pointers;
  numbers_.clear();
  std::size_t next = 0;
  for (const auto& one : given_) {
    ids.push_back(one.id);
    if (one.number)
      pointers.push_back(&numbers_.emplace_back(*one.number));
    else
      pointers.push_back(reinterpret_cast<void*>(places.at(next++)));
  }
  const auto count = static_cast<std::int64_t>(ids.size());
  void* pack = nullptr;
  int status = f_.cudnnBackendCreateDescriptor(kVariantPack, &pack);
  const auto give = [&](int name, int type, std::int64_t n, const void* values) {
    if (status == 0) status = f_.cudnnBackendSetAttribute(pack, name, type, n, values);
  };
  give(kPackPointers, kPointerValue, count, pointers.data());
  give(kPackIds, kIntegerValue, count, ids.data());
  auto* const room = reinterpret_cast<void*>(workspace);
  give(kPackWorkspace, kPointerValue, 1, &room);
  if (status == 0) status = f_.cudnnBackendFinalize(pack);
  if (status == 0) status = f_.cudnnBackendExecute(handle_, plan_, pack);
  if (pack != nullptr) f_.cudnnBackendDestroyDescriptor(pack);
  if (status != 0) return unsupported("cudnnBackendExecute: status {}", status);
  return {};
}

}  // namespace assay::cuda
