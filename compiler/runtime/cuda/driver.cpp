#include "compiler/runtime/cuda/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>

namespace assay::cuda {

namespace {
/// CUgraphExecUpdateResultInfo: what did not fit, and where.
struct UpdateResult {
  int result = 0;
  void* node = nullptr;
  void* from = nullptr;
};
struct LinkHandle;
struct NodeHandle;
constexpr int kClusterDimension = 4;  ///< CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
constexpr int kBeginsEarly = 6;       ///< CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
using AttributeValue = std::array<unsigned, 16>;
constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76;
constexpr int kErrorLog = 5, kErrorLogBytes = 6;
constexpr std::size_t kLogBytes = 8192;
/// Statuses after which a process' context is lost: illegal addresses, limits of time, asserts,
/// stack, instructions, alignment, address spaces, program counters, anything else of a launch.
constexpr std::array kFaults = {700, 702, 710, 714, 715, 716, 717, 718, 719};

/// While it lives, the calling thread may be waiting for launches.
class Waiting {
 public:
  explicit Waiting(LaunchWatch* watch) : watch_(watch) {
    if (watch_ != nullptr) watch_->waits(true);
  }
  ~Waiting() {
    if (watch_ != nullptr) watch_->waits(false);
  }
  Waiting(const Waiting&) = delete;
  auto operator=(const Waiting&) -> Waiting& = delete;

 private:
  LaunchWatch* watch_;
};
}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses,readability-identifier-naming): the driver's own names
// Name in the library, then the signature. Names with a suffix are newer forms of old calls.
#define ASSAY_CUDA_CALLS(X)                                                                        \
  X(cuInit, (unsigned))                                                                            \
  X(cuGetErrorName, (int, const char**))                                                           \
  X(cuGetErrorString, (int, const char**))                                                         \
  X(cuDeviceGetCount, (int*))                                                                      \
  X(cuDeviceGet, (int*, int))                                                                      \
  X(cuDeviceGetName, (char*, int, int))                                                            \
  X(cuDeviceGetAttribute, (int*, int, int))                                                        \
  X(cuDevicePrimaryCtxRetain, (ContextHandle**, int))                                              \
  X(cuDevicePrimaryCtxRelease_v2, (int))                                                           \
  X(cuCtxSetCurrent, (ContextHandle*))                                                             \
  X(cuMemAlloc_v2, (Address*, std::size_t))                                                        \
  X(cuMemFree_v2, (Address))                                                                       \
  X(cuMemcpyHtoDAsync_v2, (Address, const void*, std::size_t, StreamHandle*))                      \
  X(cuMemcpyDtoHAsync_v2, (void*, Address, std::size_t, StreamHandle*))                            \
  X(cuMemcpyDtoDAsync_v2, (Address, Address, std::size_t, StreamHandle*))                          \
  X(cuMemsetD8Async, (Address, unsigned char, std::size_t, StreamHandle*))                         \
  X(cuModuleLoadDataEx, (ModuleHandle**, const void*, unsigned, int*, void**))                     \
  X(cuDriverGetVersion, (int*))                                                                    \
  X(cuLinkCreate_v2, (unsigned, int*, void**, LinkHandle**))                                       \
  X(cuLinkAddData_v2, (LinkHandle*, int, void*, std::size_t, const char*, unsigned, int*, void**)) \
  X(cuLinkComplete, (LinkHandle*, void**, std::size_t*))                                           \
  X(cuLinkDestroy, (LinkHandle*))                                                                  \
  X(cuModuleUnload, (ModuleHandle*))                                                               \
  X(cuModuleGetFunction, (FunctionHandle**, ModuleHandle*, const char*))                           \
  X(cuLaunchKernel, (FunctionHandle*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,  \
                     unsigned, StreamHandle*, void**, void**))                                     \
  X(cuStreamCreate, (StreamHandle**, unsigned))                                                    \
  X(cuStreamSynchronize, (StreamHandle*))                                                          \
  X(cuStreamDestroy_v2, (StreamHandle*))                                                           \
  X(cuEventCreate, (EventHandle**, unsigned))                                                      \
  X(cuEventRecord, (EventHandle*, StreamHandle*))                                                  \
  X(cuEventSynchronize, (EventHandle*))                                                            \
  X(cuEventElapsedTime, (float*, EventHandle*, EventHandle*))                                      \
  X(cuEventDestroy_v2, (EventHandle*))                                                             \
  X(cuStreamBeginCapture_v2, (StreamHandle*, int))                                                 \
  X(cuStreamEndCapture, (StreamHandle*, GraphHandle**))                                            \
  X(cuGraphInstantiateWithFlags, (GraphExecHandle**, GraphHandle*, unsigned long long))            \
  X(cuGraphExecUpdate_v2, (GraphExecHandle*, GraphHandle*, UpdateResult*))                         \
  X(cuGraphGetNodes, (GraphHandle*, NodeHandle**, std::size_t*))                                   \
  X(cuGraphNodeGetType, (NodeHandle*, int*))                                                       \
  X(cuGraphKernelNodeGetAttribute, (NodeHandle*, int, AttributeValue*))                            \
  X(cuGraphLaunch, (GraphExecHandle*, StreamHandle*))                                              \
  X(cuGraphExecDestroy, (GraphExecHandle*))                                                        \
  X(cuGraphDestroy, (GraphHandle*))

struct LaunchAttribute {
  int id = 0, unused = 0;
  AttributeValue value = {};
};
struct LaunchConfig {
  std::array<unsigned, 3> grid, threads;
  unsigned shared_bytes = 0;
  StreamHandle* stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned count = 0;
};

struct Functions {
#define ASSAY_CUDA_MEMBER(name, signature) int(*name) signature = nullptr;
  ASSAY_CUDA_CALLS(ASSAY_CUDA_MEMBER)
#undef ASSAY_CUDA_MEMBER
  /// Older drivers have none.
  int (*cuLaunchKernelEx)(const LaunchConfig*, FunctionHandle*, void**, void**) = nullptr;
};
// NOLINTEND(bugprone-macro-parentheses,readability-identifier-naming)

/// Freed memory by size; sizes are rounded so that few remain.
struct Driver::Pool {
  std::map<std::size_t, std::vector<Address>> unused;
  std::map<Address, std::size_t> sizes;
};

namespace {
auto missing(std::string text) -> std::unexpected<Error> {
  return std::unexpected(Error{ErrorCode::missing_tool, std::move(text)});
}
auto rounded(std::size_t bytes) -> std::size_t {
  constexpr std::size_t kPage = 512, kLarge = std::size_t{1} << 20;
  const auto step = bytes < kLarge ? kPage : kLarge;
  return (std::max<std::size_t>(bytes, 1) + step - 1) / step * step;
}
}  // namespace

Driver::Driver(LaunchWatch* watch)
    : functions_(std::make_unique<Functions>()), watch_(watch), pool_(std::make_unique<Pool>()) {}

auto Driver::open(LaunchWatch* watch) -> Result<std::unique_ptr<Driver>> {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return missing("no GPU: NVIDIA's driver (libcuda.so.1) is not on this machine");
  std::unique_ptr<Driver> driver(new Driver(watch));
// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define ASSAY_CUDA_LOAD(name, signature)                                                \
  driver->functions_->name = reinterpret_cast<int(*) signature>(dlsym(library, #name)); \
  if (driver->functions_->name == nullptr)                                              \
    return missing("no GPU: NVIDIA's driver is too old: it has no " #name);
  ASSAY_CUDA_CALLS(ASSAY_CUDA_LOAD)
#undef ASSAY_CUDA_LOAD
  driver->functions_->cuLaunchKernelEx =
      reinterpret_cast<decltype(Functions::cuLaunchKernelEx)>(dlsym(library, "cuLaunchKernelEx"));
  ASSAY_TRY_VOID(driver->start());
  return driver;
}

auto Driver::checked(int status, const char* call) const -> Result<void> {
  if (status == 0) return {};
  const char* name = nullptr;
  const char* text = nullptr;
  functions_->cuGetErrorName(status, &name);
  functions_->cuGetErrorString(status, &text);
  if (watch_ != nullptr && std::ranges::count(kFaults, status) > 0)
    watch_->faulted(name == nullptr ? "an unknown error" : name);
  return unsupported("{}: {} ({})", call, name == nullptr ? "unknown error" : name,
                     text == nullptr ? std::to_string(status) : text);
}

auto Driver::start() -> Result<void> {
  const auto& f = *functions_;
  if (const auto ready = checked(f.cuInit(0), "cuInit"); !ready)
    return missing(fmt::format("no GPU: {}", ready.error().message));
  int count = 0;
  ASSAY_TRY_VOID(checked(f.cuDeviceGetCount(&count), "cuDeviceGetCount"));
  if (count == 0) return missing("no GPU: the driver finds none");
  ASSAY_TRY_VOID(checked(f.cuDeviceGet(&device_, 0), "cuDeviceGet"));
  std::array<char, 256> name = {};
  ASSAY_TRY_VOID(checked(f.cuDeviceGetName(name.data(), name.size(), device_), "cuDeviceGetName"));
  facts_.name = name.data();
  int major = 0, minor = 0;
  f.cuDeviceGetAttribute(&major, kCapabilityMajor, device_);
  f.cuDeviceGetAttribute(&minor, kCapabilityMinor, device_);
  facts_.capability = 10 * major + minor;
  constexpr int kClusters = 90, kPortableCluster = 8;
  if (facts_.capability >= kClusters && f.cuLaunchKernelEx != nullptr)
    facts_.most_ranks = kPortableCluster;
  f.cuDriverGetVersion(&facts_.version);
  ASSAY_TRY_VOID(
      checked(f.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain"));
  ASSAY_TRY_VOID(checked(f.cuCtxSetCurrent(context_), "cuCtxSetCurrent"));
  constexpr unsigned kNonBlocking = 1;
  ASSAY_TRY_VOID(checked(f.cuStreamCreate(&stream_, kNonBlocking), "cuStreamCreate"));
  for (auto& event : events_) ASSAY_TRY_VOID(checked(f.cuEventCreate(&event, 0), "cuEventCreate"));
  return {};
}

Driver::~Driver() {
  const auto& f = *functions_;
  if (stream_ == nullptr) return;
  for (const auto& [address, size] : pool_->sizes) f.cuMemFree_v2(address);
  for (auto* event : events_)
    if (event != nullptr) f.cuEventDestroy_v2(event);
  f.cuStreamDestroy_v2(stream_);
  f.cuDevicePrimaryCtxRelease_v2(device_);
}

auto Driver::allocate(std::size_t bytes) -> Result<Address> {
  const auto size = rounded(bytes);
  auto& unused = pool_->unused[size];
  if (!unused.empty()) {
    const auto address = unused.back();
    unused.pop_back();
    return address;
  }
  Address address = 0;
  ASSAY_TRY_VOID(checked(functions_->cuMemAlloc_v2(&address, size), "cuMemAlloc"));
  pool_->sizes[address] = size;
  return address;
}
void Driver::free(Address address) {
  if (const auto known = pool_->sizes.find(address); known != pool_->sizes.end())
    pool_->unused[known->second].push_back(address);
}

auto Driver::to_device(Address to, std::span<const std::byte> from) -> Result<void> {
  const Waiting waiting(watch_);
  if (from.empty()) return {};
  return checked(functions_->cuMemcpyHtoDAsync_v2(to, from.data(), from.size(), stream_),
                 "cuMemcpyHtoD");
}
auto Driver::to_host(std::span<std::byte> to, Address from) -> Result<void> {
  if (to.empty()) return {};
  ASSAY_TRY_VOID(wait());
  ASSAY_TRY_VOID(checked(functions_->cuMemcpyDtoHAsync_v2(to.data(), from, to.size(), stream_),
                         "cuMemcpyDtoH"));
  return wait();
}
auto Driver::copy(Address to, Address from, std::size_t bytes) -> Result<void> {
  return checked(functions_->cuMemcpyDtoDAsync_v2(to, from, bytes, stream_), "cuMemcpyDtoD");
}
auto Driver::fill(Address at, std::uint8_t value, std::size_t bytes) -> Result<void> {
  return checked(functions_->cuMemsetD8Async(at, value, bytes, stream_), "cuMemsetD8");
}

auto Driver::assemble(const std::string& ptx) -> Result<std::string> {
  constexpr int kPtx = 1;
  std::string log(kLogBytes, '\0');
  std::array<int, 2> options = {kErrorLog, kErrorLogBytes};
  std::array<void*, 2> values = {
      log.data(), reinterpret_cast<void*>(kLogBytes)};  // NOLINT(performance-no-int-to-ptr)
  ASSAY_TRY_VOID(checked(functions_->cuCtxSetCurrent(context_), "cuCtxSetCurrent"));  // a thread's
  LinkHandle* made = nullptr;
  ASSAY_TRY_VOID(
      checked(functions_->cuLinkCreate_v2(options.size(), options.data(), values.data(), &made),
              "cuLinkCreate"));
  const auto destroy = [this](LinkHandle* one) { functions_->cuLinkDestroy(one); };
  const std::unique_ptr<LinkHandle, decltype(destroy)> link(made, destroy);
  auto text = ptx;
  auto status = checked(functions_->cuLinkAddData_v2(link.get(), kPtx, text.data(), text.size() + 1,
                                                     "kernel", 0, nullptr, nullptr),
                        "cuLinkAddData");
  void* code = nullptr;
  std::size_t size = 0;
  if (status)
    status = checked(functions_->cuLinkComplete(link.get(), &code, &size), "cuLinkComplete");
  if (!status) return unsupported("{}: {}", status.error().message, log.c_str());
  return std::string(static_cast<const char*>(code), size);
}

auto Driver::load(const std::string& code) -> Result<ModuleHandle*> {
  std::string log(kLogBytes, '\0');
  std::array<int, 2> options = {kErrorLog, kErrorLogBytes};
  std::array<void*, 2> values = {
      log.data(), reinterpret_cast<void*>(kLogBytes)};  // NOLINT(performance-no-int-to-ptr)
  ASSAY_TRY_VOID(checked(functions_->cuCtxSetCurrent(context_), "cuCtxSetCurrent"));  // a thread's
  ModuleHandle* module = nullptr;
  const auto status = checked(functions_->cuModuleLoadDataEx(&module, code.c_str(), options.size(),
                                                             options.data(), values.data()),
                              "cuModuleLoadData");
  if (!status) return unsupported("{}: {}", status.error().message, log.c_str());
  return module;
}
void Driver::unload(ModuleHandle* module) {
  functions_->cuModuleUnload(module);
}
auto Driver::function(ModuleHandle* module, const std::string& name) -> Result<FunctionHandle*> {
  FunctionHandle* function = nullptr;
  ASSAY_TRY_VOID(checked(functions_->cuModuleGetFunction(&function, module, name.c_str()),
                         "cuModuleGetFunction"));
  return function;
}

auto Driver::launch(FunctionHandle* function, const LaunchShape& shape,
                    std::span<void* const> arguments) -> Result<void> {
  const Waiting waiting(watch_);
  const auto& [x, y, z] = shape.threads;
  auto* const values = const_cast<void**>(arguments.data());
  std::array<LaunchAttribute, 2> attributes;
  unsigned count = 0;
  if (shape.begins_early && functions_->cuLaunchKernelEx != nullptr)
    attributes.at(count++) = {.id = kBeginsEarly, .value = {1}};
  if (count == 0 && shape.ranks == 1)
    return checked(functions_->cuLaunchKernel(function, shape.grid[0], shape.grid[1], shape.grid[2],
                                              x, y, z, 0, stream_, values, nullptr),
                   "cuLaunchKernel");
  if (functions_->cuLaunchKernelEx == nullptr)
    return unsupported("clusters of blocks: the driver is too old");
  if (shape.ranks > 1)
    attributes.at(count++) = {.id = kClusterDimension, .value = {1, shape.ranks, 1}};
  const LaunchConfig config{.grid = shape.grid,
                            .threads = shape.threads,
                            .stream = stream_,
                            .attributes = attributes.data(),
                            .count = count};
  return checked(functions_->cuLaunchKernelEx(&config, function, values, nullptr),
                 "cuLaunchKernelEx");
}
auto Driver::wait() -> Result<void> {
  const Waiting waiting(watch_);
  return checked(functions_->cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

auto Driver::start_clock() -> Result<void> {
  return checked(functions_->cuEventRecord(events_[0], stream_), "cuEventRecord");
}
auto Driver::stop_clock() -> Result<double> {
  const Waiting waiting(watch_);
  ASSAY_TRY_VOID(checked(functions_->cuEventRecord(events_[1], stream_), "cuEventRecord"));
  ASSAY_TRY_VOID(checked(functions_->cuEventSynchronize(events_[1]), "cuEventSynchronize"));
  float milliseconds = 0;
  ASSAY_TRY_VOID(checked(functions_->cuEventElapsedTime(&milliseconds, events_[0], events_[1]),
                         "cuEventElapsedTime"));
  return milliseconds;
}

auto Driver::begin_capture() -> Result<void> {
  constexpr int kRelaxed = 2;  // libraries may allocate meanwhile
  return checked(functions_->cuStreamBeginCapture_v2(stream_, kRelaxed), "cuStreamBeginCapture");
}
auto Driver::end_capture() -> Result<GraphHandle*> {
  GraphHandle* graph = nullptr;
  ASSAY_TRY_VOID(checked(functions_->cuStreamEndCapture(stream_, &graph), "cuStreamEndCapture"));
  return graph;
}
auto Driver::instantiate(GraphHandle* graph) -> Result<GraphExecHandle*> {
  GraphExecHandle* exec = nullptr;
  ASSAY_TRY_VOID(
      checked(functions_->cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiate"));
  return exec;
}
auto Driver::update(GraphExecHandle* exec, GraphHandle* graph) -> bool {
  UpdateResult result;
  return functions_->cuGraphExecUpdate_v2(exec, graph, &result) == 0;
}
auto Driver::clusters(GraphHandle* graph) -> Result<std::vector<unsigned>> {
  std::vector<unsigned> all;
  if (facts_.most_ranks == 1) return all;
  const auto& f = *functions_;
  std::size_t count = 0;
  ASSAY_TRY_VOID(checked(f.cuGraphGetNodes(graph, nullptr, &count), "cuGraphGetNodes"));
  std::vector<NodeHandle*> nodes(count);
  ASSAY_TRY_VOID(checked(f.cuGraphGetNodes(graph, nodes.data(), &count), "cuGraphGetNodes"));
  for (auto* const node : nodes) {
    constexpr int kKernel = 0;
    int type = 0;
    ASSAY_TRY_VOID(checked(f.cuGraphNodeGetType(node, &type), "cuGraphNodeGetType"));
    AttributeValue size = {};
    if (type == kKernel)
      ASSAY_TRY_VOID(checked(f.cuGraphKernelNodeGetAttribute(node, kClusterDimension, &size),
                             "cuGraphKernelNodeGetAttribute"));
    all.insert(all.end(), size.begin(), size.begin() + 3);
  }
  return all;
}
auto Driver::run(GraphExecHandle* exec) -> Result<void> {
  const Waiting waiting(watch_);
  return checked(functions_->cuGraphLaunch(exec, stream_), "cuGraphLaunch");
}
void Driver::destroy(GraphHandle* graph, GraphExecHandle* exec) {
  if (exec != nullptr) functions_->cuGraphExecDestroy(exec);
  if (graph != nullptr) functions_->cuGraphDestroy(graph);
}

}  // namespace assay::cuda
