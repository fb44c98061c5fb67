// A GPU that is the host's memory: NVIDIA's driver as far as programs without kernels need it. Work
// of libraries is put off while a stream captures and done by each launch of the graph, so what was
// not captured is not done. Tests load it under the driver's name.
#include "tests/fake_gpu/stream.h"

#include <cstdlib>
#include <cstring>
#include <memory>

namespace {
using fake_gpu::Graph;
using Address = std::uint64_t;

struct Stream {
  std::unique_ptr<Graph> captured;
};
auto stream() -> Stream& {
  static Stream one;
  return one;
}
auto at(Address address) -> void* {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}
constexpr int kUnsupported = 801;
}  // namespace

void fake_gpu::enqueue(std::function<void()> work) {
  if (stream().captured)
    stream().captured->push_back(std::move(work));
  else
    work();
}

extern "C" {
int cuInit(unsigned) {
  return 0;
}
int cuGetErrorName(int, const char** name) {
  return *name = "FAKE_ERROR", 0;
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
int cuDeviceGetAttribute(int* value, int, int) {
  return *value = 8, 0;
}
int cuDriverGetVersion(int* version) {
  return *version = 13000, 0;
}
int cuLinkCreate_v2(unsigned, int*, void**, void** link) {
  return *link = &stream(), 0;
}
int cuLinkAddData_v2(void*, int, void*, std::size_t, const char*, unsigned, int*, void**) {
  return kUnsupported;
}
int cuLinkComplete(void*, void**, std::size_t*) {
  return kUnsupported;
}
int cuLinkDestroy(void*) {
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
  *address = reinterpret_cast<Address>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  std::memset(at(*address), 0xCB, bytes);
  return 0;
}
int cuMemFree_v2(Address address) {
  std::free(at(address));
  return 0;
}
int cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, void*) {
  if (stream().captured) return kUnsupported;
  std::memcpy(at(to), from, bytes);
  return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, void*) {
  if (stream().captured) return kUnsupported;
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
int cuModuleLoadDataEx(void**, const void*, unsigned, int*, void**) {
  return kUnsupported;
}
int cuModuleUnload(void*) {
  return 0;
}
int cuModuleGetFunction(void**, void*, const char*) {
  return kUnsupported;
}
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   void*, void**, void**) {
  return kUnsupported;
}
int cuStreamCreate(void** made, unsigned) {
  return *made = &stream(), 0;
}
int cuStreamSynchronize(void*) {
  return stream().captured ? kUnsupported : 0;
}
int cuStreamDestroy_v2(void*) {
  return 0;
}
int cuEventCreate(void** event, unsigned) {
  return *event = &stream(), 0;
}
int cuEventRecord(void*, void*) {
  return 0;
}
int cuEventSynchronize(void*) {
  return 0;
}
int cuEventElapsedTime(float* milliseconds, void*, void*) {
  return *milliseconds = 1, 0;
}
int cuEventDestroy_v2(void*) {
  return 0;
}
int cuStreamBeginCapture_v2(void*, int) {
  stream().captured = std::make_unique<Graph>();
  return 0;
}
int cuStreamEndCapture(void*, void** graph) {
  *graph = stream().captured.release();
  return 0;
}
int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  return *exec = new Graph(*static_cast<Graph*>(graph)), 0;
}
int cuGraphExecUpdate_v2(void* exec, void* graph, void*) {
  constexpr int kUpdateFailure = 910;
  auto& mine = *static_cast<Graph*>(exec);
  const auto& other = *static_cast<Graph*>(graph);
  if (mine.size() != other.size()) return kUpdateFailure;
  return mine = other, 0;
}
int cuGraphLaunch(void* exec, void*) {
  for (const auto& work : *static_cast<Graph*>(exec)) work();
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
