// cuBLASLt as its documentation says: column-major matrices, D = alpha op(A) op(B) + beta C, and a
// bias per row of D. What the library refuses is refused here too.
#include <algorithm>
#include <array>
#include <cstring>

#include "tests/fake_gpu/stream.h"

namespace {
using fake_gpu::Elements;

struct Description {
  int compute = 0, scale = 0;
  std::int32_t transpose_a = 0, transpose_b = 0, epilogue = 1;
  std::uint64_t bias = 0;
};
struct Layout {
  int type = 0;
  std::int64_t rows = 0, columns = 0, leading = 0;
  std::int32_t batch = 1;
  std::int64_t batch_stride = 0;
};
struct Choice {
  std::uint64_t algorithm[8];
  std::size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};
constexpr int kInvalid = 7, kNotSupported = 15;
constexpr std::uint64_t kAlgorithm = 0xA55A;

auto fits(const Description& what, const Layout& a, const Layout& b, const Layout& c,
          const Layout& d) -> bool {
  const auto m = what.transpose_a != 0 ? a.columns : a.rows;
  const auto k = what.transpose_a != 0 ? a.rows : a.columns;
  const auto n = what.transpose_b != 0 ? b.rows : b.columns;
  const auto inner = what.transpose_b != 0 ? b.columns : b.rows;
  bool good = k == inner && d.rows == m && d.columns == n && c.rows == m && c.columns == n;
  for (const auto* layout : {&a, &b, &c, &d})
    good = good && layout->leading >= layout->rows && layout->batch == d.batch &&
           (layout == &c || layout == &d ? layout->type == d.type : layout->type == a.type);
  const auto is_half = [](int type) { return type == 2 || type == 14; };
  return good && (a.type == d.type || (is_half(a.type) && d.type == 0));
}
auto number(const void* at, bool is_double) -> double {
  if (is_double) return *static_cast<const double*>(at);
  return static_cast<double>(*static_cast<const float*>(at));
}
void multiply(const Description& what, double alpha, double beta, std::uint64_t pa, const Layout& a,
              std::uint64_t pb, const Layout& b, std::uint64_t pc, const Layout& c,
              std::uint64_t pd, const Layout& d) {
  const auto in = static_cast<fake_gpu::Type>(a.type), out = static_cast<fake_gpu::Type>(d.type);
  const Elements ea(pa, in), eb(pb, in), ec(pc, out), ed(pd, out), bias(what.bias, out);
  const auto inner = what.transpose_a != 0 ? a.rows : a.columns;
  for (std::int64_t batch = 0; batch < d.batch; ++batch)
    for (std::int64_t i = 0; i < d.rows; ++i)
      for (std::int64_t j = 0; j < d.columns; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < inner; ++k)
          sum += ea.get(batch * a.batch_stride +
                        (what.transpose_a != 0 ? k + i * a.leading : i + k * a.leading)) *
                 eb.get(batch * b.batch_stride +
                        (what.transpose_b != 0 ? j + k * b.leading : k + j * b.leading));
        sum *= alpha;
        if (beta != 0) sum += beta * ec.get(batch * c.batch_stride + i + j * c.leading);
        if (what.epilogue == 4) sum += bias.get(i);
        ed.set(batch * d.batch_stride + i + j * d.leading, sum);
      }
}
template <class T>
auto assign(T& to, const void* from, std::size_t bytes) -> int {
  if (bytes != sizeof(T)) return kInvalid;
  std::memcpy(&to, from, bytes);
  return 0;
}
}  // namespace

extern "C" {
int cublasLtCreate(void** handle) {
  return *handle = new int(1), 0;
}
int cublasLtDestroy(void* handle) {
  return delete static_cast<int*>(handle), 0;
}
int cublasLtMatmulDescCreate(void** made, int compute, int scale) {
  return *made = new Description{.compute = compute, .scale = scale}, 0;
}
int cublasLtMatmulDescDestroy(void* d) {
  return delete static_cast<Description*>(d), 0;
}
int cublasLtMatmulDescSetAttribute(void* d, int attribute, const void* value, std::size_t bytes) {
  auto& what = *static_cast<Description*>(d);
  switch (attribute) {
    case 3:
      return assign(what.transpose_a, value, bytes);
    case 4:
      return assign(what.transpose_b, value, bytes);
    case 7:
      return assign(what.epilogue, value, bytes);
    case 8:
      return assign(what.bias, value, bytes);
    default:
      return kInvalid;
  }
}
int cublasLtMatrixLayoutCreate(void** made, int type, std::uint64_t rows, std::uint64_t columns,
                               std::int64_t leading) {
  *made = new Layout{.type = type,
                     .rows = static_cast<std::int64_t>(rows),
                     .columns = static_cast<std::int64_t>(columns),
                     .leading = leading};
  return 0;
}
int cublasLtMatrixLayoutDestroy(void* l) {
  return delete static_cast<Layout*>(l), 0;
}
int cublasLtMatrixLayoutSetAttribute(void* l, int attribute, const void* value, std::size_t bytes) {
  auto& layout = *static_cast<Layout*>(l);
  if (attribute == 5) return assign(layout.batch, value, bytes);
  return attribute == 6 ? assign(layout.batch_stride, value, bytes) : kInvalid;
}
int cublasLtMatmulPreferenceCreate(void** made) {
  return *made = new int(0), 0;
}
int cublasLtMatmulPreferenceDestroy(void* p) {
  return delete static_cast<int*>(p), 0;
}
int cublasLtMatmulPreferenceSetAttribute(void*, int, const void*, std::size_t) {
  return 0;
}
int cublasLtMatmulAlgoGetHeuristic(void*, void* what, void* a, void* b, void* c, void* d, void*,
                                   int most, Choice* choices, int* found) {
  fake_gpu::refuses("cublasLtMatmulAlgoGetHeuristic");
  *found = 0;
  if (most < 1) return kInvalid;
  const auto& description = *static_cast<Description*>(what);
  const auto& out = *static_cast<Layout*>(d);
  if (!fits(description, *static_cast<Layout*>(a), *static_cast<Layout*>(b),
            *static_cast<Layout*>(c), out))
    return kInvalid;
  constexpr std::array kTypes = {0, 1, 2, 14};
  if (std::ranges::count(kTypes, out.type) == 0 || (out.type == 1 && description.epilogue != 1))
    return kNotSupported;
  choices[0] = {};
  choices[0].algorithm[0] = kAlgorithm;
  *found = 1;
  return 0;
}
int cublasLtMatmul(void*, void* what, const void* alpha, std::uint64_t a, void* a_layout,
                   std::uint64_t b, void* b_layout, const void* beta, std::uint64_t c,
                   void* c_layout, std::uint64_t d, void* d_layout, const std::uint64_t* algorithm,
                   std::uint64_t, std::size_t, void*) {
  if (*algorithm != kAlgorithm) return kInvalid;
  if (fake_gpu::refuses("cublasLtMatmul")) return kNotSupported;
  const auto& description = *static_cast<Description*>(what);
  const bool is_double = description.scale == 1;
  constexpr int kFastTf32 = 77;
  if (description.compute == kFastTf32) fake_gpu::refuses("CUBLAS_COMPUTE_32F_FAST_TF32");
  fake_gpu::enqueue([=, x = number(alpha, is_double), y = number(beta, is_double),
                     la = *static_cast<Layout*>(a_layout), lb = *static_cast<Layout*>(b_layout),
                     lc = *static_cast<Layout*>(c_layout), ld = *static_cast<Layout*>(d_layout)] {
    multiply(description, x, y, a, la, b, lb, c, lc, d, ld);
  });
  return 0;
}
}
