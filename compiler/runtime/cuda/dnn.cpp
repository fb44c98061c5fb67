#include "compiler/runtime/cuda/dnn.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "compiler/runtime/cuda/shared_library.h"

namespace assay::cuda {

/// cudnnConvolution{Fwd,BwdData,BwdFilter}AlgoPerf_t.
struct DnnChoice {
  int algorithm = 0, status = 0;
  float time = 0;
  std::size_t workspace_bytes = 0;
  int is_deterministic = 0, math = 0;
  std::array<int, 3> reserved = {};
};

// NOLINTBEGIN(bugprone-macro-parentheses,readability-identifier-naming): the library's own names
#define ASSAY_DNN_CALLS(X)                                                                         \
  X(cudnnCreate, (void**))                                                                         \
  X(cudnnDestroy, (void*))                                                                         \
  X(cudnnSetStream, (void*, StreamHandle*))                                                        \
  X(cudnnCreateTensorDescriptor, (void**))                                                         \
  X(cudnnDestroyTensorDescriptor, (void*))                                                         \
  X(cudnnSetTensorNdDescriptor, (void*, int, int, const int*, const int*))                         \
  X(cudnnCreateFilterDescriptor, (void**))                                                         \
  X(cudnnDestroyFilterDescriptor, (void*))                                                         \
  X(cudnnSetFilterNdDescriptor, (void*, int, int, int, const int*))                                \
  X(cudnnCreateConvolutionDescriptor, (void**))                                                    \
  X(cudnnDestroyConvolutionDescriptor, (void*))                                                    \
  X(cudnnSetConvolutionNdDescriptor, (void*, int, const int*, const int*, const int*, int, int))   \
  X(cudnnSetConvolutionGroupCount, (void*, int))                                                   \
  X(cudnnSetConvolutionMathType, (void*, int))                                                     \
  X(cudnnGetConvolutionForwardAlgorithm_v7,                                                        \
    (void*, void*, void*, void*, void*, int, int*, DnnChoice*))                                    \
  X(cudnnGetConvolutionBackwardDataAlgorithm_v7,                                                   \
    (void*, void*, void*, void*, void*, int, int*, DnnChoice*))                                    \
  X(cudnnGetConvolutionBackwardFilterAlgorithm_v7,                                                 \
    (void*, void*, void*, void*, void*, int, int*, DnnChoice*))                                    \
  X(cudnnConvolutionForward, (void*, const void*, void*, Address, void*, Address, void*, int,      \
                              Address, std::size_t, const void*, void*, Address))                  \
  X(cudnnConvolutionBackwardData, (void*, const void*, void*, Address, void*, Address, void*, int, \
                                   Address, std::size_t, const void*, void*, Address))             \
  X(cudnnConvolutionBackwardFilter, (void*, const void*, void*, Address, void*, Address, void*,    \
                                     int, Address, std::size_t, const void*, void*, Address))      \
  X(cudnnConvolutionBackwardBias,                                                                  \
    (void*, const void*, void*, Address, const void*, void*, Address))                             \
  X(cudnnAddTensor, (void*, const void*, void*, Address, const void*, void*, Address))             \
  X(cudnnTransformTensor, (void*, const void*, void*, Address, const void*, void*, Address))

/// By convolution, whatever its batch.
struct DnnChoices : std::map<std::string, std::optional<DnnChoice>> {};

struct DnnFunctions {
  ASSAY_DNN_CALLS(ASSAY_LIBRARY_MEMBER)
};
// NOLINTEND(bugprone-macro-parentheses,readability-identifier-naming)

namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{256} << 20U;
constexpr int kCrossCorrelation = 1;
// CUDNN_DEFAULT_MATH, CUDNN_TENSOR_OP_MATH, CUDNN_FMA_MATH
constexpr int kMayRound = 0, kTensorCores = 1, kFullPrecision = 3;
constexpr int kRowMajor = 0, kChannelsLast = 1;
constexpr int kFloat = 0, kDouble = 1;

/// A convolution for one result. The three take the same arguments: two operands, the window, and
/// what they make.
struct DnnConvolution {
  decltype(&DnnFunctions::cudnnGetConvolutionForwardAlgorithm_v7) list;
  decltype(&DnnFunctions::cudnnConvolutionForward) run;
  std::array<std::size_t, 3> operands;  ///< positions in x, w, y: two read, one written
  /// Algorithms that go through transforms (FFT, FFT by tiles, Winograd of large tiles). Their
  /// error is that of the transformed numbers, 1e-4 and more of the largest one, not of the sum.
  std::array<int, 3> transforming;
};
/// By result.
constexpr std::array kConvolutions = {
    DnnConvolution{&DnnFunctions::cudnnGetConvolutionForwardAlgorithm_v7,
                   &DnnFunctions::cudnnConvolutionForward,
                   {0, 1, 2},
                   {4, 5, 7}},
    DnnConvolution{&DnnFunctions::cudnnGetConvolutionBackwardDataAlgorithm_v7,
                   &DnnFunctions::cudnnConvolutionBackwardData,
                   {1, 2, 0},
                   {2, 3, 5}},
    DnnConvolution{&DnnFunctions::cudnnGetConvolutionBackwardFilterAlgorithm_v7,
                   &DnnFunctions::cudnnConvolutionBackwardFilter,
                   {0, 2, 1},
                   {2, 6, 5}},
};

auto checked(int status, const char* call) -> Result<void> {
  if (status == 0) return {};
  return unsupported("{}: status {}", call, status);
}
auto data_type(DType dtype) -> std::optional<int> {
  if (dtype == DType::float32) return kFloat;
  if (dtype == DType::float64) return kDouble;
  if (dtype == DType::float16) return 2;
  if (dtype == DType::bfloat16) return 9;
  return std::nullopt;
}
/// The library wants two places at least: a convolution over one has another of size 1.
auto widened(Ints values, std::size_t rank, std::int64_t filler) -> std::vector<int> {
  if (values.size() < rank) values.insert(values.end() - 1, filler);
  return {values.begin(), values.end()};
}
auto is_channels_last(const GpuTensor& w) -> bool {
  if (w.sizes.size() < 4) return false;
  std::int64_t stride = w.sizes[1];
  if (w.sizes[1] != 1 && w.strides[1] != 1) return false;
  for (auto d = w.sizes.size(); d-- > 2; stride *= w.sizes[d])
    if (w.sizes[d] != 1 && w.strides[d] != stride) return false;
  return w.sizes[0] == 1 || w.strides[0] == stride;
}
auto is_row_major(const GpuTensor& w) -> bool {
  std::int64_t stride = 1;
  for (auto d = w.sizes.size(); d-- > 0; stride *= w.sizes[d])
    if (w.sizes[d] != 1 && w.strides[d] != stride) return false;
  return true;
}

/// Descriptors and what is done with them.
class DnnWork final : public GpuWork {
 public:
  DnnWork(const DnnFunctions& functions, DnnChoices& choices, void* handle, Address workspace,
          bool may_round)
      : f_(functions),
        choices_(choices),
        handle_(handle),
        workspace_(workspace),
        math_(may_round ? kMayRound : kFullPrecision) {}
  ~DnnWork() override {
    for (auto* d : tensors_) f_.cudnnDestroyTensorDescriptor(d);
    if (filter_ != nullptr) f_.cudnnDestroyFilterDescriptor(filter_);
    if (convolution_ != nullptr) f_.cudnnDestroyConvolutionDescriptor(convolution_);
  }
  DnnWork(const DnnWork&) = delete;
  auto operator=(const DnnWork&) -> DnnWork& = delete;

  auto tensor(const GpuTensor& t) -> Result<void*> {
    const auto type = data_type(t.dtype);
    if (!type) return unsupported("cuDNN has no {}", name(t.dtype));
    is_double_ = *type == kDouble;
    // Products of halves are exact in float32, in which they are summed.
    if (*type != kFloat && !is_double_) math_ = kTensorCores;
    void* made = nullptr;
    ASSAY_TRY_VOID(checked(f_.cudnnCreateTensorDescriptor(&made), "cudnnCreateTensorDescriptor"));
    tensors_.push_back(made);
    const auto sizes = widened(t.sizes, 4, 1);
    auto strides = widened(t.strides, 4, t.strides.back() * t.sizes.back());
    ASSAY_TRY_VOID(
        checked(f_.cudnnSetTensorNdDescriptor(made, *type, static_cast<int>(sizes.size()),
                                              sizes.data(), strides.data()),
                "cudnnSetTensorNdDescriptor"));
    return made;
  }
  auto filter(const GpuTensor& w) -> Result<void> {
    const bool is_last = is_channels_last(w) && !is_row_major(w);
    if (!is_last && !is_row_major(w)) return unsupported("a filter that is not dense");
    ASSAY_TRY_VOID(
        checked(f_.cudnnCreateFilterDescriptor(&filter_), "cudnnCreateFilterDescriptor"));
    const auto sizes = widened(w.sizes, 4, 1);
    return checked(f_.cudnnSetFilterNdDescriptor(filter_, data_type(w.dtype).value_or(kFloat),
                                                 is_last ? kChannelsLast : kRowMajor,
                                                 static_cast<int>(sizes.size()), sizes.data()),
                   "cudnnSetFilterNdDescriptor");
  }
  auto window(const GpuConvolution& what) -> Result<void> {
    ASSAY_TRY_VOID(checked(f_.cudnnCreateConvolutionDescriptor(&convolution_),
                           "cudnnCreateConvolutionDescriptor"));
    const auto padding = widened(what.padding, 2, 0);
    const auto stride = widened(what.stride, 2, 1);
    const auto dilation = widened(what.dilation, 2, 1);
    ASSAY_TRY_VOID(checked(
        f_.cudnnSetConvolutionNdDescriptor(convolution_, static_cast<int>(padding.size()),
                                           padding.data(), stride.data(), dilation.data(),
                                           kCrossCorrelation, is_double_ ? kDouble : kFloat),
        "cudnnSetConvolutionNdDescriptor"));
    ASSAY_TRY_VOID(
        checked(f_.cudnnSetConvolutionGroupCount(convolution_, static_cast<int>(what.groups)),
                "cudnnSetConvolutionGroupCount"));
    return checked(f_.cudnnSetConvolutionMathType(convolution_, math_),
                   "cudnnSetConvolutionMathType");
  }
  /// What was chosen for other batches of the same convolution, else anew.
  auto choose() -> Result<void> {
    const auto& known = choices_[key_];
    is_of_another_ = known.has_value();
    return known ? take(*known) : choose_anew();
  }
  /// The fastest by the library's own estimate that fits the workspace, sums in the same order
  /// every time and rounds as a sum does.
  auto choose_anew() -> Result<void> {
    is_of_another_ = false;
    std::array<DnnChoice, 8> choices = {};
    int found = 0;
    ASSAY_TRY_VOID(
        checked((f_.*row_->list)(handle_, described_[0], described_[1], convolution_, described_[2],
                                 static_cast<int>(choices.size()), &found, choices.data()),
                "cudnnGetConvolutionAlgorithm"));
    for (int i = 0; i < found; ++i) {
      const auto& choice = choices[static_cast<std::size_t>(i)];
      if (choice.status != 0 || choice.workspace_bytes > kWorkspaceBytes) continue;
      if (choice.is_deterministic == 0 ||
          std::ranges::count(row_->transforming, choice.algorithm) > 0)
        continue;
      choices_[key_] = choice;
      return take(choice);
    }
    return unsupported("cuDNN has no algorithm");
  }
  auto take(const DnnChoice& choice) -> Result<void> {
    algorithm_ = choice.algorithm;
    return checked(
        f_.cudnnSetConvolutionMathType(convolution_, math_ == kFullPrecision ? math_ : choice.math),
        "cudnnSetConvolutionMathType");
  }
  /// Makes, when it is issued first, the same results of a part of the batch too, before those that
  /// are wanted stand over them: the library loads what it takes for other batches.
  void rehearse(std::unique_ptr<DnnWork> other) { rehearsals_.push_back(std::move(other)); }
  /// All but the batch.
  static auto key_of(const GpuConvolution& what) -> std::string {
    const auto behind = [](const GpuTensor& t) {
      return fmt::format("{} {} {}", name(t.dtype),
                         fmt::join(t.sizes.begin() + 1, t.sizes.end(), ","),
                         fmt::join(t.strides.begin() + 1, t.strides.end(), ","));
    };
    return fmt::format("{}: {}, {} {}, {}, {}, {}, {}, {}", static_cast<int>(what.result),
                       behind(what.x), what.w.sizes.front(), behind(what.w), behind(what.y),
                       fmt::join(what.stride, ","), fmt::join(what.padding, ","),
                       fmt::join(what.dilation, ","), what.groups);
  }
  auto convolve(const GpuConvolution& what) -> Result<void> {
    ASSAY_TRY(auto* const x, tensor(what.x));
    ASSAY_TRY(auto* const y, tensor(what.y));
    ASSAY_TRY_VOID(filter(what.w));
    ASSAY_TRY_VOID(window(what));
    row_ = &kConvolutions.at(static_cast<std::size_t>(what.result));
    key_ = key_of(what);
    const std::array described{x, filter_, y};
    const std::array places{what.x.at, what.w.at, what.y.at};
    std::ranges::transform(row_->operands, described_.begin(),
                           [&](auto i) { return described[i]; });
    std::ranges::transform(row_->operands, places_.begin(), [&](auto i) { return places[i]; });
    issue_ = [this] {
      return (f_.*row_->run)(handle_, one(), described_[0], places_[0], described_[1], places_[1],
                             convolution_, algorithm_, workspace_, kWorkspaceBytes, zero(),
                             described_[2], places_[2]);
    };
    return choose();
  }
  /// One number per channel: (1, C, 1, 1).
  auto per_channel(const GpuTensor& bias, std::size_t rank) -> Result<void*> {
    GpuTensor seen{
        .at = bias.at, .dtype = bias.dtype, .sizes = Ints(rank, 1), .strides = Ints(rank, 1)};
    seen.sizes[1] = bias.sizes.at(0);
    seen.strides[0] = bias.sizes.at(0);
    return tensor(seen);
  }
  auto add_bias(const GpuTensor& bias, const GpuTensor& to) -> Result<void> {
    ASSAY_TRY(auto* const from, per_channel(bias, to.sizes.size()));
    ASSAY_TRY(auto* const target, tensor(to));
    issue_ = [=, this, at = bias.at, to_at = to.at] {
      return f_.cudnnAddTensor(handle_, one(), from, at, one(), target, to_at);
    };
    return {};
  }
  auto copy(const GpuTensor& from, const GpuTensor& to) -> Result<void> {
    ASSAY_TRY(auto* const source, tensor(from));
    ASSAY_TRY(auto* const target, tensor(to));
    issue_ = [=, this, at = from.at, to_at = to.at] {
      return f_.cudnnTransformTensor(handle_, one(), source, at, zero(), target, to_at);
    };
    return {};
  }
  auto bias_gradient(const GpuTensor& from, const GpuTensor& bias) -> Result<void> {
    ASSAY_TRY(auto* const source, tensor(from));
    ASSAY_TRY(auto* const target, per_channel(bias, from.sizes.size()));
    issue_ = [=, this, at = from.at, to_at = bias.at] {
      return f_.cudnnConvolutionBackwardBias(handle_, one(), source, at, zero(), target, to_at);
    };
    return {};
  }

  /// What an algorithm needs at this batch is not asked: it gets all the room there is, and another
  /// one is chosen where that is refused.
  [[nodiscard]] auto issue() -> Result<void> override {
    for (auto& other : std::exchange(rehearsals_, {})) (void)other->issue_();
    const auto status = issue_();
    const bool may_be_another = std::exchange(is_of_another_, false) && status != 0;
    if (!may_be_another) return checked(status, "cuDNN");
    ASSAY_TRY_VOID(choose_anew());
    return checked(issue_(), "cuDNN");
  }

 private:
  /// Factors are of the type that is computed in.
  [[nodiscard]] auto one() const -> const void* {
    static constexpr double kDoubleOne = 1;
    static constexpr float kFloatOne = 1;
    if (is_double_) return &kDoubleOne;
    return &kFloatOne;
  }
  [[nodiscard]] static auto zero() -> const void* {
    static constexpr double kZero = 0;
    return &kZero;
  }

  const DnnFunctions& f_;
  DnnChoices& choices_;
  void* handle_;
  Address workspace_;
  int math_;
  bool is_double_ = false;
  std::vector<void*> tensors_;
  void* filter_ = nullptr;
  void* convolution_ = nullptr;
  const DnnConvolution* row_ = nullptr;
  std::string key_;                      ///< among the choices
  std::array<void*, 3> described_ = {};  ///< two read, one written
  std::array<Address, 3> places_ = {};
  int algorithm_ = 0;
  bool is_of_another_ = false;  ///< the algorithm was chosen for another batch
  std::function<int()> issue_;
  std::vector<std::unique_ptr<DnnWork>> rehearsals_;
};

/// Works in turn, with memory of their own.
class DnnWorks final : public GpuWork {
 public:
  explicit DnnWorks(Driver& driver) : driver_(driver) {}
  ~DnnWorks() override {
    for (const auto address : owned_) driver_.free(address);
  }
  DnnWorks(const DnnWorks&) = delete;
  auto operator=(const DnnWorks&) -> DnnWorks& = delete;
  void add(std::unique_ptr<GpuWork> work) { works_.push_back(std::move(work)); }
  auto own(std::size_t bytes) -> Result<Address> {
    ASSAY_TRY(const auto address, driver_.allocate(bytes));
    owned_.push_back(address);
    return address;
  }
  [[nodiscard]] auto issue() -> Result<void> override {
    for (auto& work : works_) ASSAY_TRY_VOID(work->issue());
    return {};
  }

 private:
  Driver& driver_;
  std::vector<std::unique_ptr<GpuWork>> works_;
  std::vector<Address> owned_;
};

}  // namespace

Dnn::Dnn(Driver& driver, bool may_round)
    : driver_(driver),
      may_round_(may_round),
      functions_(std::make_unique<DnnFunctions>()),
      choices_(std::make_unique<DnnChoices>()) {}

Dnn::~Dnn() {
  plans_.reset();
  for (const auto room : rooms_) driver_.free(room);
  if (handle_ != nullptr) functions_->cudnnDestroy(handle_);
  if (workspace_ != 0) driver_.free(workspace_);
}

auto Dnn::open(Driver& driver, bool may_round) -> Result<std::unique_ptr<Dnn>> {
  ASSAY_TRY(void* const library, open_library({"libcudnn.so.9", "libcudnn.so"}));
  std::unique_ptr<Dnn> dnn(new Dnn(driver, may_round));
  auto& functions = *dnn->functions_;
  ASSAY_DNN_CALLS(ASSAY_LIBRARY_LOAD)
  dnn->library_ = library;
  ASSAY_TRY(void* const version, find_symbol(library, "cudnnGetVersion"));
  dnn->version_ = reinterpret_cast<std::size_t (*)()>(version)();
  ASSAY_TRY_VOID(checked(functions.cudnnCreate(&dnn->handle_), "cudnnCreate"));
  ASSAY_TRY_VOID(
      checked(functions.cudnnSetStream(dnn->handle_, driver.stream()), "cudnnSetStream"));
  ASSAY_TRY(dnn->workspace_, driver.allocate(kWorkspaceBytes));
  return dnn;
}

auto Dnn::convolution(const GpuConvolution& what) -> Result<std::unique_ptr<GpuWork>> {
  const auto fresh = [&] {
    return std::make_unique<DnnWork>(*functions_, *choices_, handle_, workspace_, may_round_);
  };
  const bool is_known = choices_->contains(DnnWork::key_of(what));
  auto made = fresh();
  if (const auto direct = made->convolve(what); !direct) {
    if (auto in_rows = convolution_in_rows(what)) return in_rows;
    return std::unexpected(direct.error());
  }
  if (is_known) return made;
  for (const std::int64_t parts : {2, 4}) {
    auto part = what;
    part.x.sizes[0] = part.y.sizes[0] = what.x.sizes[0] / parts;
    auto work = fresh();
    if (part.x.sizes[0] > 0 && work->convolve(part)) made->rehearse(std::move(work));
  }
  return made;
}
auto Dnn::convolution_in_rows(const GpuConvolution& what) -> Result<std::unique_ptr<GpuWork>> {
  auto in_rows = what;
  const std::array given{&what.x, &what.w, &what.y};
  const std::array copies{&in_rows.x, &in_rows.w, &in_rows.y};
  if (std::ranges::all_of(given, [](const auto* t) { return is_row_major(*t); }))
    return unsupported("it is in rows");
  auto works = std::make_unique<DnnWorks>(driver_);
  for (auto* copy : copies) {
    if (is_row_major(*copy)) continue;
    copy->strides = contiguous_strides(copy->sizes);
    const auto bytes = numel(copy->sizes) * size_bytes(copy->dtype);
    ASSAY_TRY(copy->at, works->own(static_cast<std::size_t>(bytes)));
  }
  const auto add_copy = [&](const GpuTensor& from, const GpuTensor& to) -> Result<void> {
    if (from.at == to.at) return {};
    auto work = std::make_unique<DnnWork>(*functions_, *choices_, handle_, workspace_, may_round_);
    ASSAY_TRY_VOID(work->copy(from, to));
    works->add(std::move(work));
    return {};
  };
  const auto& [first, second, written] =
      kConvolutions.at(static_cast<std::size_t>(what.result)).operands;
  for (const auto read : {first, second}) ASSAY_TRY_VOID(add_copy(*given[read], *copies[read]));
  ASSAY_TRY(auto convolved, convolution(in_rows));
  works->add(std::move(convolved));
  ASSAY_TRY_VOID(add_copy(*copies[written], *given[written]));
  return works;
}
auto Dnn::add_bias(const GpuTensor& bias, const GpuTensor& to) -> Result<std::unique_ptr<GpuWork>> {
  auto made = std::make_unique<DnnWork>(*functions_, *choices_, handle_, workspace_, may_round_);
  ASSAY_TRY_VOID(made->add_bias(bias, to));
  return made;
}
auto Dnn::bias_gradient(const GpuTensor& from, const GpuTensor& bias)
    -> Result<std::unique_ptr<GpuWork>> {
  auto made = std::make_unique<DnnWork>(*functions_, *choices_, handle_, workspace_, may_round_);
  ASSAY_TRY_VOID(made->bias_gradient(from, bias));
  return made;
}

}  // namespace assay::cuda
