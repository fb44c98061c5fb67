// A GPU that is the host's memory: NVIDIA's driver as far as programs without kernels need it. Work
// of libraries is put off while a stream captures and done by each launch of the graph, so what was
// not captured is not done. Tests load it under the driver's name.
//
// With FAKE_GPU_KERNELS=hang:TEXT, fault:TEXT or die:TEXT kernels are launched too and do nothing
// but tell their arguments, as checked code does; those whose PTX holds the text never end, lose
// the context, or end the process. A launch takes a ms of the GPU's clock, with FAKE_GPU_QUICK=N
// threads a quarter of that. With FAKE_GPU_MACHINE=SCRIPT they are run (machine.h). Some calls are
// counted, and fail while FAKE_GPU_REFUSE is their name.
#include "tests/fake_gpu/stream.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "compiler/cuda/gpu_record.h"
#include "tests/fake_gpu/machine.h"

namespace {
using fake_gpu::Graph;
using Address = std::uint64_t;

struct Stream {
  std::unique_ptr<Graph> captured;
  bool hangs = false;
  int fault = 0;
  float clock = 0;  ///< ms
};
auto stream() -> Stream& {
  static Stream one;
  return one;
}
auto at(Address address) -> void* {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}
auto calls() -> std::map<std::string, int>& {
  static std::map<std::string, int> counts;
  return counts;
}
constexpr int kUnsupported = 801;
constexpr int kIllegalAddress = 700;

/// "hang" and the text of the kernels that do.
auto kernels() -> std::string_view {
  const char* const asked = std::getenv("FAKE_GPU_KERNELS");
  return asked == nullptr ? "" : asked;
}
auto has_kernels() -> bool {
  return !kernels().empty() || fake_gpu::Machine::asked() != nullptr;
}
/// What the calls say that wait for what was launched.
auto waited() -> int {
  while (stream().hangs) ::pause();
  return stream().fault;
}
/// Of a kernel's entry.
auto parameters(const std::string& ptx) -> std::size_t {
  const auto entry = ptx.find(".entry");
  std::size_t count = 0;
  for (auto at = ptx.find(".param", entry); at < ptx.find('{', entry);
       at = ptx.find(".param", at + 1))
    ++count;
  return count;
}
/// What checked code leaves in its record.
void tell(const fake_gpu::Arguments& arguments) {
  auto* const record = static_cast<assay::GpuRecord*>(at(arguments.back()));
  record->told = assay::launch_word(std::span(arguments).first(arguments.size() - 1));
}
void run_kernel(const std::string& ptx) {
  const auto asked = kernels();
  const auto colon = asked.find(':');
  if (colon == std::string_view::npos || !ptx.contains(asked.substr(colon + 1))) return;
  const auto what = asked.substr(0, colon);
  if (what == "hang") stream().hangs = true;
  if (what == "fault") stream().fault = kIllegalAddress;
  if (what == "die") ::raise(SIGSEGV);
}
}  // namespace

auto fake_gpu::refuses(const char* call) -> bool {
  ++calls()[call];
  const char* const refused = std::getenv("FAKE_GPU_REFUSE");
  return refused != nullptr && std::string_view(refused) == call;
}
void fake_gpu::enqueue(Node node) {
  if (stream().captured)
    stream().captured->push_back(std::move(node));
  else
    node.work(node.arguments);
}

extern "C" {
/// How often a call was made that is counted.
int fake_gpu_calls(const char* name) {
  return calls()[name];
}
int cuInit(unsigned) {
  return 0;
}
int cuGetErrorName(int status, const char** name) {
  return *name = status == kIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "FAKE_ERROR", 0;
}
int cuGetErrorString(int, const char** text) {
  return *text = "the fake GPU cannot do this", 0;
}
int cuDeviceGetCount(int* count) {
  return *count = 1, 0;
}
int cuDeviceGet(int* device, int) {
  return *device = 0, 0;
}
int cuDeviceGetName(char* name, int size, int) {
  std::strncpy(name, "fake GPU", static_cast<std::size_t>(size));
  return 0;
}
/// With FAKE_GPU_CLUSTERS=1 one that has clusters, whose sizes an update of a graph leaves as they
/// are, as NVIDIA's driver does (ml-explore/mlx#2813); launches of others are counted.
int cuDeviceGetAttribute(int* value, int, int) {
  return *value = std::getenv("FAKE_GPU_CLUSTERS") != nullptr ? 9 : 8, 0;
}
int cuDriverGetVersion(int* version) {
  return *version = 13000, 0;
}
int cuLinkCreate_v2(unsigned, int*, void**, void** link) {
  return *link = new std::string, 0;
}
int cuLinkAddData_v2(void* link, int, void* text, std::size_t size, const char*, unsigned, int*,
                     void**) {
  if (!has_kernels()) return kUnsupported;
  static_cast<std::string*>(link)->assign(static_cast<const char*>(text), size);
  return 0;
}
int cuLinkComplete(void* link, void** code, std::size_t* size) {
  auto& text = *static_cast<std::string*>(link);
  return *code = text.data(), *size = text.size(), 0;
}
int cuLinkDestroy(void* link) {
  delete static_cast<std::string*>(link);
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  return *context = &stream(), 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  return 0;
}
int cuCtxSetCurrent(void*) {
  return 0;
}
int cuMemAlloc_v2(Address* address, std::size_t bytes) {
  if (auto* const machine = fake_gpu::Machine::asked()) {
    *address = machine->allocate(bytes);
    if (*address == 0) return kUnsupported;
    std::memset(at(*address), 0xCB, bytes);
    return 0;
  }
  *address = reinterpret_cast<Address>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  std::memset(at(*address), 0xCB, bytes);
  return 0;
}
int cuMemFree_v2(Address address) {
  if (auto* const machine = fake_gpu::Machine::asked()) return machine->free(address), 0;
  std::free(at(address));
  return 0;
}
int cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, void*) {
  if (stream().captured) return kUnsupported;
  if (const int fault = waited(); fault != 0) return fault;
  std::memcpy(at(to), from, bytes);
  return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, void*) {
  if (stream().captured || fake_gpu::refuses("cuMemcpyDtoHAsync_v2")) return kUnsupported;
  if (const int fault = waited(); fault != 0) return fault;
  std::memcpy(to, at(from), bytes);
  return 0;
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, void*) {
  fake_gpu::enqueue([=] { std::memmove(at(to), at(from), bytes); });
  return 0;
}
int cuMemsetD8Async(Address to, unsigned char value, std::size_t bytes, void*) {
  fake_gpu::enqueue([=] { std::memset(at(to), value, bytes); });
  return 0;
}
int cuModuleLoadDataEx(void** module, const void* text, unsigned, int*, void**) {
  if (!has_kernels()) return kUnsupported;
  return *module = new std::string(static_cast<const char*>(text)), 0;
}
int cuModuleUnload(void* module) {
  delete static_cast<std::string*>(module);
  return 0;
}
int cuModuleGetFunction(void** function, void* module, const char*) {
  return *function = module, 0;
}
}
namespace {
int launch(void* function, const fake_gpu::Dims& grid, const fake_gpu::Dims& threads,
           const fake_gpu::Dims& cluster, void** arguments) {
  const auto [x, y, z] = threads;
  if (stream().fault != 0) return stream().fault;
  const char* const quick = std::getenv("FAKE_GPU_QUICK");
  const bool is_quick = quick != nullptr && std::to_string(x * y * z) == quick;
  const auto& ptx = *static_cast<std::string*>(function);
  fake_gpu::Arguments values;
  for (std::size_t i = 0; i < parameters(ptx); ++i)
    values.push_back(*static_cast<const std::uint64_t*>(arguments[i]));
  const auto work = [=](const fake_gpu::Arguments& given) {
    stream().clock += is_quick ? 0.25F : 1.0F;
    if (auto* const machine = fake_gpu::Machine::asked()) {
      const auto wrong = machine->run(ptx, grid, threads, std::max(cluster[1], 1U), given);
      if (wrong.empty()) return;
      std::fprintf(stderr, "fake GPU: %s\n", wrong.c_str());
      stream().fault = kIllegalAddress;
      return;
    }
    tell(given);
    run_kernel(ptx);
  };
  fake_gpu::enqueue({work, std::move(values), cluster, cluster});
  return 0;
}
struct LaunchConfig {
  std::array<unsigned, 3> grid, threads;
  unsigned shared_bytes;
  void* stream;
  const std::array<unsigned, 18>* attributes;  ///< the first is the cluster, behind its number
  unsigned count;
};
}  // namespace
extern "C" {
int cuLaunchKernel(void* function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                   unsigned x, unsigned y, unsigned z, unsigned, void*, void** arguments, void**) {
  return launch(function, {blocks_x, blocks_y, blocks_z}, {x, y, z}, {}, arguments);
}
int cuLaunchKernelEx(const LaunchConfig* config, void* function, void** arguments, void**) {
  const auto& cluster = *config->attributes;
  return launch(function, config->grid, config->threads, {cluster[2], cluster[3], cluster[4]},
                arguments);
}
int cuStreamCreate(void** made, unsigned) {
  return *made = &stream(), 0;
}
int cuStreamSynchronize(void*) {
  return stream().captured ? kUnsupported : waited();
}
int cuStreamDestroy_v2(void*) {
  return 0;
}
int cuEventCreate(void** event, unsigned) {
  return *event = new float(0), 0;
}
int cuEventRecord(void* event, void*) {
  return *static_cast<float*>(event) = stream().clock, 0;
}
int cuEventSynchronize(void*) {
  return waited();
}
int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  const auto passed = *static_cast<float*>(end) - *static_cast<float*>(begin);
  return *milliseconds = passed > 0 ? passed : 1, 0;
}
int cuEventDestroy_v2(void* event) {
  delete static_cast<float*>(event);
  return 0;
}
int cuStreamBeginCapture_v2(void*, int) {
  if (fake_gpu::refuses("cuStreamBeginCapture_v2")) return kUnsupported;
  stream().captured = std::make_unique<Graph>();
  return 0;
}
int cuStreamEndCapture(void*, void** graph) {
  *graph = stream().captured.release();
  return 0;
}
int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  if (fake_gpu::refuses("cuGraphInstantiateWithFlags")) return kUnsupported;
  return *exec = new Graph(*static_cast<Graph*>(graph)), 0;
}
int cuGraphExecUpdate_v2(void* exec, void* graph, void*) {
  (void)fake_gpu::refuses("cuGraphExecUpdate_v2");
  constexpr int kUpdateFailure = 910;
  auto& mine = *static_cast<Graph*>(exec);
  const auto& other = *static_cast<Graph*>(graph);
  if (mine.size() != other.size()) return kUpdateFailure;
  // FAKE_GPU_STALE=node: it stays as it is; node.number: only that argument does.
  const char* const stale = std::getenv("FAKE_GPU_STALE");
  const auto before = mine;
  mine = other;
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i].cluster = before[i].cluster;
  if (stale == nullptr) return 0;
  char* rest = nullptr;
  const auto node = std::strtoul(stale, &rest, 10);
  if (*rest == 0)
    mine.at(node) = before.at(node);
  else
    mine.at(node).arguments.at(std::strtoul(rest + 1, nullptr, 10)) =
        before.at(node).arguments.at(std::strtoul(rest + 1, nullptr, 10));
  return 0;
}
int cuGraphLaunch(void* exec, void*) {
  if (fake_gpu::refuses("cuGraphLaunch")) return kUnsupported;
  for (const auto& node : *static_cast<Graph*>(exec)) {
    node.work(node.arguments);
    if (node.cluster != node.wanted) ++calls()["wrong cluster"];
  }
  return 0;
}
int cuGraphGetNodes(void* graph, void** nodes, std::size_t* count) {
  auto& all = *static_cast<Graph*>(graph);
  for (std::size_t i = 0; nodes != nullptr && i < all.size(); ++i) nodes[i] = &all[i];
  return *count = all.size(), 0;
}
int cuGraphNodeGetType(void*, int* type) {
  return *type = 0, 0;
}
int cuGraphKernelNodeGetAttribute(void* node, int, std::array<unsigned, 16>* value) {
  std::ranges::copy(static_cast<fake_gpu::Node*>(node)->cluster, value->begin());
  return 0;
}
int cuGraphExecDestroy(void* exec) {
  delete static_cast<Graph*>(exec);
  return 0;
}
int cuGraphDestroy(void* graph) {
  delete static_cast<Graph*>(graph);
  return 0;
}
}
