// cuDNN's convolutions as its documentation says, by the definition.
#include <vector>

#include "tests/fake_gpu/stream.h"

namespace {
using fake_gpu::Elements;
using Ints = std::vector<std::int64_t>;

struct Tensor {
  int type = 0;
  Ints sizes, strides;
};
struct Window {
  Ints padding, stride, dilation;
  std::int64_t groups = 1;
};
struct Choice {
  int algorithm, status;
  float time;
  std::size_t workspace_bytes;
  int is_deterministic, math, reserved[3];
};
enum class Result { output, input_gradient, weight_gradient };
constexpr int kBadParameter = 2000, kNotSupported = 3000;

auto ints(const int* values, int count) -> Ints {
  return {values, values + count};
}
auto as_tensor(void* t) -> Tensor& {
  return *static_cast<Tensor*>(t);
}

/// Calls f with every index of these sizes.
template <class F>
void for_each(const Ints& sizes, const F& f) {
  Ints index(sizes.size(), 0);
  for (const auto size : sizes)
    if (size == 0) return;
  while (true) {
    f(index);
    auto d = sizes.size();
    while (d > 0 && ++index[d - 1] == sizes[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}
auto offset(const Tensor& t, const Ints& index) -> std::int64_t {
  std::int64_t sum = 0;
  for (std::size_t d = 0; d < index.size(); ++d) sum += index[d] * t.strides[d];
  return sum;
}
/// Do the sizes belong together?
auto fits(const Tensor& x, const Tensor& w, const Tensor& y, const Window& window) -> bool {
  bool good = x.type == w.type && x.type == y.type && x.sizes[0] == y.sizes[0] &&
              x.sizes[1] == w.sizes[1] * window.groups && y.sizes[1] == w.sizes[0];
  for (std::size_t d = 2; d < x.sizes.size(); ++d)
    good = good && y.sizes[d] == (x.sizes[d] + 2 * window.padding[d - 2] -
                                  window.dilation[d - 2] * (w.sizes[d] - 1) - 1) /
                                         window.stride[d - 2] +
                                     1;
  return good;
}
void convolve(Result result, const Tensor& x, std::uint64_t px, const Tensor& w, std::uint64_t pw,
              const Tensor& y, std::uint64_t py, const Window& window) {
  const bool is_double = x.type == 1;
  const Elements ex(px, is_double), ew(pw, is_double), ey(py, is_double);
  const auto& written = result == Result::output ? y : result == Result::input_gradient ? x : w;
  const auto& target = result == Result::output ? ey : result == Result::input_gradient ? ex : ew;
  for_each(written.sizes, [&](const Ints& index) { target.set(offset(written, index), 0); });
  for_each(y.sizes, [&](const Ints& out) {
    for_each(w.sizes, [&](const Ints& tap) {
      if (tap[0] != out[1]) return;
      Ints in = out;
      in[1] = out[1] / (w.sizes[0] / window.groups) * w.sizes[1] + tap[1];
      for (std::size_t d = 2; d < in.size(); ++d) {
        in[d] =
            out[d] * window.stride[d - 2] - window.padding[d - 2] + tap[d] * window.dilation[d - 2];
        if (in[d] < 0 || in[d] >= x.sizes[d]) return;
      }
      const auto xi = offset(x, in), wi = offset(w, tap), yi = offset(y, out);
      if (result == Result::output) ey.set(yi, ey.get(yi) + ex.get(xi) * ew.get(wi));
      if (result == Result::input_gradient) ex.set(xi, ex.get(xi) + ey.get(yi) * ew.get(wi));
      if (result == Result::weight_gradient) ew.set(wi, ew.get(wi) + ex.get(xi) * ey.get(yi));
    });
  });
}
/// Of all three results. The roomy one does the same as the direct one, for a price.
constexpr int kTransforming = 5, kDirect = 1, kRoomy = 0;
auto room(const Tensor& x) -> std::size_t {
  return static_cast<std::size_t>(x.sizes[0]) << 26U;
}
/// Gradients of tensors whose channels are innermost have none that always adds in the same order.
auto choose(const Tensor& x, bool good, bool is_gradient, Choice* choices, int* found) -> int {
  fake_gpu::refuses("cudnnGetConvolutionAlgorithm");
  *found = good ? 5 : 0;
  if (good && is_gradient && x.sizes[1] > 1 && x.strides[1] == 1) *found = 2;
  if (!good) return kBadParameter;
  for (int i = 0; i < *found; ++i) {
    choices[i] = {};
    choices[i].is_deterministic = 1;
  }
  choices[0].status = kNotSupported;  // the first of the list is not always to be had
  choices[1].is_deterministic = 0;
  if (*found == 2) return 0;
  choices[2].algorithm = kTransforming;
  choices[3].algorithm = kRoomy;
  choices[3].workspace_bytes = room(x);
  choices[4].algorithm = kDirect;
  return 0;
}
auto enqueue(int algorithm, std::size_t workspace_bytes, Result result, void* x, std::uint64_t px,
             void* w, std::uint64_t pw, void* y, std::uint64_t py, void* window) -> int {
  fake_gpu::refuses("cudnnConvolution");
  const bool is_roomy = algorithm == kRoomy && workspace_bytes >= room(as_tensor(x));
  if (algorithm != kDirect && !is_roomy) return kBadParameter;
  fake_gpu::enqueue(
      [=, tx = as_tensor(x), tw = as_tensor(w), ty = as_tensor(y),
       how = *static_cast<Window*>(window)] { convolve(result, tx, px, tw, pw, ty, py, how); });
  return 0;
}
}  // namespace

extern "C" {
std::size_t cudnnGetVersion() {
  return 91400;
}
int cudnnCreate(void** handle) {
  return *handle = new int(1), 0;
}
int cudnnDestroy(void* handle) {
  return delete static_cast<int*>(handle), 0;
}
int cudnnSetStream(void*, void*) {
  return 0;
}
int cudnnCreateTensorDescriptor(void** made) {
  return *made = new Tensor, 0;
}
int cudnnDestroyTensorDescriptor(void* t) {
  return delete static_cast<Tensor*>(t), 0;
}
int cudnnSetTensorNdDescriptor(void* t, int type, int rank, const int* sizes, const int* strides) {
  if (rank < 4) return kBadParameter;
  if (type > 1) return kNotSupported;
  as_tensor(t) = {type, ints(sizes, rank), ints(strides, rank)};
  return 0;
}
int cudnnCreateFilterDescriptor(void** made) {
  return *made = new Tensor, 0;
}
int cudnnDestroyFilterDescriptor(void* t) {
  return delete static_cast<Tensor*>(t), 0;
}
int cudnnSetFilterNdDescriptor(void* t, int type, int format, int rank, const int* sizes) {
  if (rank < 4) return kBadParameter;
  auto& filter = as_tensor(t);
  filter = {type, ints(sizes, rank), Ints(static_cast<std::size_t>(rank))};
  // Rows, or channels innermost.
  std::int64_t stride = 1;
  const auto place = [&](std::size_t d) {
    filter.strides[d] = stride;
    stride *= filter.sizes[d];
  };
  if (format == 1) place(1);
  for (auto d = filter.sizes.size(); d-- > (format == 1 ? 2U : 1U);) place(d);
  place(0);
  return 0;
}
int cudnnCreateConvolutionDescriptor(void** made) {
  return *made = new Window, 0;
}
int cudnnDestroyConvolutionDescriptor(void* w) {
  return delete static_cast<Window*>(w), 0;
}
int cudnnSetConvolutionNdDescriptor(void* w, int count, const int* padding, const int* stride,
                                    const int* dilation, int mode, int) {
  if (mode != 1) return kNotSupported;
  *static_cast<Window*>(w) = {ints(padding, count), ints(stride, count), ints(dilation, count)};
  return 0;
}
int cudnnSetConvolutionGroupCount(void* w, int groups) {
  return static_cast<Window*>(w)->groups = groups, 0;
}
int cudnnSetConvolutionMathType(void*, int) {
  return 0;
}
int cudnnGetConvolutionForwardAlgorithm_v7(void*, void* x, void* w, void* window, void* y, int,
                                           int* found, Choice* choices) {
  return choose(as_tensor(x),
                fits(as_tensor(x), as_tensor(w), as_tensor(y), *static_cast<Window*>(window)),
                false, choices, found);
}
int cudnnGetConvolutionBackwardDataAlgorithm_v7(void*, void* w, void* y, void* window, void* x, int,
                                                int* found, Choice* choices) {
  return choose(as_tensor(x),
                fits(as_tensor(x), as_tensor(w), as_tensor(y), *static_cast<Window*>(window)), true,
                choices, found);
}
int cudnnGetConvolutionBackwardFilterAlgorithm_v7(void*, void* x, void* y, void* window, void* w,
                                                  int, int* found, Choice* choices) {
  return choose(as_tensor(x),
                fits(as_tensor(x), as_tensor(w), as_tensor(y), *static_cast<Window*>(window)), true,
                choices, found);
}
int cudnnConvolutionForward(void*, const void*, void* x, std::uint64_t px, void* w,
                            std::uint64_t pw, void* window, int algorithm, std::uint64_t,
                            std::size_t bytes, const void*, void* y, std::uint64_t py) {
  return enqueue(algorithm, bytes, Result::output, x, px, w, pw, y, py, window);
}
int cudnnConvolutionBackwardData(void*, const void*, void* w, std::uint64_t pw, void* y,
                                 std::uint64_t py, void* window, int algorithm, std::uint64_t,
                                 std::size_t bytes, const void*, void* x, std::uint64_t px) {
  return enqueue(algorithm, bytes, Result::input_gradient, x, px, w, pw, y, py, window);
}
int cudnnConvolutionBackwardFilter(void*, const void*, void* x, std::uint64_t px, void* y,
                                   std::uint64_t py, void* window, int algorithm, std::uint64_t,
                                   std::size_t bytes, const void*, void* w, std::uint64_t pw) {
  return enqueue(algorithm, bytes, Result::weight_gradient, x, px, w, pw, y, py, window);
}
int cudnnConvolutionBackwardBias(void*, const void*, void* y, std::uint64_t py, const void*,
                                 void* bias, std::uint64_t pb) {
  fake_gpu::enqueue([=, from = as_tensor(y), to = as_tensor(bias)] {
    const Elements ef(py, from.type == 1), et(pb, from.type == 1);
    for (std::int64_t c = 0; c < to.sizes[1]; ++c) et.set(c * to.strides[1], 0);
    for_each(from.sizes, [&](const Ints& index) {
      const auto place = index[1] * to.strides[1];
      et.set(place, et.get(place) + ef.get(offset(from, index)));
    });
  });
  return 0;
}
int cudnnAddTensor(void*, const void*, void* a, std::uint64_t pa, const void*, void* c,
                   std::uint64_t pc) {
  const auto& given = as_tensor(a);
  const auto& target = as_tensor(c);
  for (std::size_t d = 0; d < given.sizes.size(); ++d)
    if (given.sizes[d] != 1 && given.sizes[d] != target.sizes[d]) return kBadParameter;
  fake_gpu::enqueue([=, from = given, to = target] {
    const Elements ef(pa, from.type == 1), et(pc, to.type == 1);
    for_each(to.sizes, [&](const Ints& index) {
      auto source = index;
      for (std::size_t d = 0; d < source.size(); ++d)
        if (from.sizes[d] == 1) source[d] = 0;
      const auto place = offset(to, index);
      et.set(place, et.get(place) + ef.get(offset(from, source)));
    });
  });
  return 0;
}
int cudnnTransformTensor(void*, const void*, void* a, std::uint64_t pa, const void*, void* c,
                         std::uint64_t pc) {
  if (as_tensor(a).sizes != as_tensor(c).sizes) return kBadParameter;
  fake_gpu::enqueue([=, from = as_tensor(a), to = as_tensor(c)] {
    const Elements ef(pa, from.type == 1), et(pc, to.type == 1);
    for_each(to.sizes,
             [&](const Ints& index) { et.set(offset(to, index), ef.get(offset(from, index))); });
  });
  return 0;
}
}
