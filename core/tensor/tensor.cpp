#include "core/tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "core/base/check.h"
#include "core/tensor/convert.h"

namespace assay {
namespace {

constexpr std::int64_t kMaxStorageBytes = std::int64_t{8} << 30;

/// Double to integer as x86 and PyTorch do it, without undefined behaviour out of range.
auto to_int64(double value) -> std::int64_t {
  if (std::isnan(value) || value >= 9223372036854775808.0 || value < -9223372036854775808.0)
    return INT64_MIN;
  return static_cast<std::int64_t>(value);
}

/// How one dtype's element is stored and what it converts to; `Wide` is its natural type.
template <class Stored>
struct PlainCodec {
  using Element = Stored;
  using Wide = std::conditional_t<std::is_floating_point_v<Stored>, double, std::int64_t>;
  static auto decode(Stored s) -> Wide { return static_cast<Wide>(s); }
  static auto encode(Wide w) -> Stored { return static_cast<Stored>(w); }
};
struct BoolCodec {
  using Element = std::uint8_t;
  using Wide = std::int64_t;
  static auto decode(Element s) -> Wide { return s != 0; }
  static auto encode(Wide w) -> Element { return w != 0; }
};
struct Bfloat16Codec {
  using Element = std::uint16_t;
  using Wide = double;
  static auto decode(Element s) -> Wide { return static_cast<double>(bfloat16_to_float(s)); }
  static auto encode(Wide w) -> Element { return float_to_bfloat16(static_cast<float>(w)); }
};
template <class Stored, const SmallFloat& kFormat>
struct SmallFloatCodec {
  using Element = Stored;
  using Wide = double;
  static auto decode(Stored s) -> Wide { return decode_small_float(kFormat, s); }
  static auto encode(Wide w) -> Stored {
    return static_cast<Stored>(encode_small_float(kFormat, w));
  }
};
struct Float8E8M0Codec {  // a power of two, 255 is NaN
  using Element = std::uint8_t;
  using Wide = double;
  static auto decode(Element s) -> Wide {
    return s == 255 ? std::nan("") : std::ldexp(1.0, static_cast<int>(s) - 127);
  }
  static auto encode(Wide w) -> Element {
    if (!(w > 0) || std::isinf(w)) return 255;
    const int exponent = static_cast<int>(std::nearbyint(std::log2(w))) + 127;
    return static_cast<Element>(std::clamp(exponent, 0, 254));
  }
};
template <class Part>
struct ComplexCodec {
  struct Element {
    typename Part::Element re, im;
  };
  using Wide = Complex;
  static auto decode(Element s) -> Wide { return {Part::decode(s.re), Part::decode(s.im)}; }
  static auto encode(Wide w) -> Element { return {Part::encode(w.real()), Part::encode(w.imag())}; }
};
using HalfCodec = SmallFloatCodec<std::uint16_t, kFloat16>;

/// Calls f with the codec type of the dtype. The one place that knows every dtype's bits.
template <class F>
void with_codec(DType dtype, F&& f) {
  switch (dtype) {
    case DType::boolean:
      return f(BoolCodec{});
    case DType::uint8:
    case DType::bits8:
      return f(PlainCodec<std::uint8_t>{});
    case DType::int8:
      return f(PlainCodec<std::int8_t>{});
    case DType::uint16:
    case DType::bits16:
      return f(PlainCodec<std::uint16_t>{});
    case DType::int16:
      return f(PlainCodec<std::int16_t>{});
    case DType::uint32:
      return f(PlainCodec<std::uint32_t>{});
    case DType::int32:
      return f(PlainCodec<std::int32_t>{});
    case DType::uint64:
      return f(PlainCodec<std::uint64_t>{});
    case DType::int64:
      return f(PlainCodec<std::int64_t>{});
    case DType::float16:
      return f(HalfCodec{});
    case DType::bfloat16:
      return f(Bfloat16Codec{});
    case DType::float32:
      return f(PlainCodec<float>{});
    case DType::float64:
      return f(PlainCodec<double>{});
    case DType::complex32:
      return f(ComplexCodec<HalfCodec>{});
    case DType::complex64:
      return f(ComplexCodec<PlainCodec<float>>{});
    case DType::complex128:
      return f(ComplexCodec<PlainCodec<double>>{});
    case DType::float8_e4m3fn:
      return f(SmallFloatCodec<std::uint8_t, kFloat8E4M3fn>{});
    case DType::float8_e5m2:
      return f(SmallFloatCodec<std::uint8_t, kFloat8E5M2>{});
    case DType::float8_e4m3fnuz:
      return f(SmallFloatCodec<std::uint8_t, kFloat8E4M3fnuz>{});
    case DType::float8_e5m2fnuz:
      return f(SmallFloatCodec<std::uint8_t, kFloat8E5M2fnuz>{});
    case DType::float8_e8m0fnu:
      return f(Float8E8M0Codec{});
  }
}

/// Number conversion between the compute types (and float, for matrix kernels).
template <class To, class From>
auto number_cast(From value) -> To {
  if constexpr (std::is_same_v<To, From>)
    return value;
  else if constexpr (std::is_same_v<To, Complex>)
    return {static_cast<double>(value), 0.0};
  else if constexpr (std::is_same_v<From, Complex>)
    return number_cast<To>(value.real());
  else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>)
    return to_int64(static_cast<double>(value));
  else
    return static_cast<To>(value);
}

/// A bool stored from a fraction must not truncate to 0 first.
template <class Codec, class T>
auto encode_number(T value) -> typename Codec::Element {
  if constexpr (std::is_same_v<Codec, BoolCodec>)
    return value != T(0) ? 1 : 0;
  else if constexpr (std::is_same_v<Codec, PlainCodec<float>> && std::is_same_v<T, float>)
    return value;
  else
    return Codec::encode(number_cast<typename Codec::Wide>(value));
}

template <class T>
auto as_elements(const Storage& storage) -> const T* {
  return reinterpret_cast<const T*>(storage.bytes().data());
}

}  // namespace

Storage::Storage(std::int64_t size_bytes, Memory memory)
    : size_(static_cast<std::size_t>(size_bytes)) {
  if (memory == Memory::zeros) make_zeros();
}
void Storage::make_zeros() const {
  data_ = std::make_unique<std::byte[]>(size_);
}
void Storage::grow(std::int64_t size_bytes) {
  const auto size = static_cast<std::size_t>(size_bytes);
  ASSAY_CHECK(size >= size_, "a storage of {} bytes does not shrink to {}", size_, size);
  if (data_ != nullptr) {
    auto larger = std::make_unique<std::byte[]>(size);
    std::ranges::copy(bytes(), larger.get());
    data_ = std::move(larger);
  }
  size_ = size;
}

auto Tensor::allocate(DType dtype, Ints sizes, Ints strides, Device device, Storage::Memory memory)
    -> Result<Tensor> {
  ASSAY_TRY(const auto elems, required_elems(sizes, strides, 0));
  if (elems > kMaxStorageBytes / size_bytes(dtype))
    return bad_input("a tensor of {} elements of {} is larger than 8 GiB", elems, name(dtype));
  const auto bytes = elems * size_bytes(dtype);
  return Tensor{std::make_shared<Storage>(bytes, memory),
                RealMeta{dtype, std::move(sizes), std::move(strides), 0, bytes, std::move(device)}};
}

auto Tensor::contiguous(DType dtype, Ints sizes) -> Result<Tensor> {
  auto strides = contiguous_strides(sizes);
  return allocate(dtype, std::move(sizes), std::move(strides));
}

auto Tensor::view(DType dtype, Ints sizes, Ints strides, std::int64_t offset) const
    -> Result<Tensor> {
  ASSAY_TRY(const auto elems, required_elems(sizes, strides, offset));
  const auto available = storage->size_bytes() / size_bytes(dtype);
  if (offset < 0 || elems > available)
    return bad_input("the view needs {} bytes, its storage has {}", elems * size_bytes(dtype),
                     storage->size_bytes());
  return Tensor{storage, RealMeta{dtype, std::move(sizes), std::move(strides), offset,
                                  storage->size_bytes(), meta.device, meta.lazy}};
}

auto Tensor::is_contiguous() const -> bool {
  if (numel() == 0) return true;
  std::int64_t expected = 1;
  for (auto dim = meta.sizes.size(); dim-- > 0;) {
    if (meta.sizes[dim] != 1 && meta.strides[dim] != expected) return false;
    expected *= meta.sizes[dim];
  }
  return true;
}

namespace {

/// Each bit is its own inverse: reading and writing are the same.
template <class T>
void apply_lazy(Lazy lazy, std::span<T> values) {
  if constexpr (std::is_same_v<T, Complex>)
    if (has(lazy, Lazy::conjugated))
      for (auto& value : values) value = std::conj(value);
  if (has(lazy, Lazy::negated))
    for (auto& value : values) value = -value;
}

}  // namespace

template <class T>
void load_elems(const Tensor& from, std::int64_t base, std::int64_t stride, std::span<T> to) {
  with_codec(from.dtype(), [&](auto codec) {
    using Codec = decltype(codec);
    const auto* source = as_elements<typename Codec::Element>(*from.storage) + base;
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = number_cast<T>(Codec::decode(source[static_cast<std::int64_t>(i) * stride]));
  });
  if (from.meta.lazy != Lazy::none) apply_lazy(from.meta.lazy, to);
}

template <class T>
void store_elems(Tensor& to, std::int64_t base, std::int64_t stride, std::span<const T> from) {
  std::vector<T> stored;
  if (to.meta.lazy != Lazy::none) {
    stored.assign(from.begin(), from.end());
    apply_lazy<T>(to.meta.lazy, stored);
    from = stored;
  }
  with_codec(to.dtype(), [&](auto codec) {
    using Codec = decltype(codec);
    using Element = typename Codec::Element;
    auto* target = reinterpret_cast<Element*>(to.storage->bytes().data()) + base;
    for (std::size_t i = 0; i < from.size(); ++i)
      target[static_cast<std::int64_t>(i) * stride] = encode_number<Codec>(from[i]);
  });
}

template <class T>
auto to_vector(const Tensor& tensor) -> std::vector<T> {
  std::vector<T> values(static_cast<std::size_t>(tensor.numel()));
  if (tensor.is_contiguous()) {
    load_elems<T>(tensor, tensor.meta.offset, 1, values);
    return values;
  }
  const Ints* strides[] = {&tensor.meta.strides};
  const auto inner = tensor.rank() ? tensor.meta.strides.back() : 0;
  std::size_t done = 0;
  for_each_run(tensor.sizes(), strides, [&](std::span<const std::int64_t> at, std::int64_t run) {
    const auto count = static_cast<std::size_t>(run);
    load_elems<T>(tensor, tensor.meta.offset + at[0], inner,
                  std::span(values).subspan(done, count));
    done += count;
  });
  return values;
}

template <class T>
void from_vector(Tensor& tensor, std::span<const T> values) {
  ASSAY_CHECK(static_cast<std::int64_t>(values.size()) == tensor.numel(), "{} values for {}",
              values.size(), to_string(tensor.meta));
  if (tensor.is_contiguous()) return store_elems<T>(tensor, tensor.meta.offset, 1, values);
  const Ints* strides[] = {&tensor.meta.strides};
  const auto inner = tensor.rank() ? tensor.meta.strides.back() : 0;
  std::size_t done = 0;
  for_each_run(tensor.sizes(), strides, [&](std::span<const std::int64_t> at, std::int64_t run) {
    const auto count = static_cast<std::size_t>(run);
    store_elems<T>(tensor, tensor.meta.offset + at[0], inner, values.subspan(done, count));
    done += count;
  });
}

template void load_elems(const Tensor&, std::int64_t, std::int64_t, std::span<double>);
template void load_elems(const Tensor&, std::int64_t, std::int64_t, std::span<std::int64_t>);
template void load_elems(const Tensor&, std::int64_t, std::int64_t, std::span<Complex>);
template void load_elems(const Tensor&, std::int64_t, std::int64_t, std::span<float>);
template void store_elems(Tensor&, std::int64_t, std::int64_t, std::span<const double>);
template void store_elems(Tensor&, std::int64_t, std::int64_t, std::span<const std::int64_t>);
template void store_elems(Tensor&, std::int64_t, std::int64_t, std::span<const Complex>);
template void store_elems(Tensor&, std::int64_t, std::int64_t, std::span<const float>);
template auto to_vector(const Tensor&) -> std::vector<double>;
template auto to_vector(const Tensor&) -> std::vector<float>;
template auto to_vector(const Tensor&) -> std::vector<std::int64_t>;
template auto to_vector(const Tensor&) -> std::vector<Complex>;
template void from_vector(Tensor&, std::span<const double>);
template void from_vector(Tensor&, std::span<const float>);
template void from_vector(Tensor&, std::span<const std::int64_t>);
template void from_vector(Tensor&, std::span<const Complex>);

void copy_elems(const Tensor& from, Tensor& to) {
  ASSAY_CHECK(from.sizes() == to.sizes(), "copy of {} to {}", to_string(from.meta),
              to_string(to.meta));
  const auto copy = [&]<class T>(T) {
    const auto values = to_vector<T>(from);
    from_vector<T>(to, values);
  };
  const auto kind = info(from.dtype()).kind;
  if (kind == DTypeKind::complex)
    copy(Complex{});
  else if (kind == DTypeKind::floating)
    copy(double{});
  else
    copy(std::int64_t{});
}

namespace {

template <class T>
auto rounded(DType dtype, T value) -> T {
  T result = value;
  with_codec(dtype, [&](auto codec) {
    using Codec = decltype(codec);
    if constexpr (std::is_same_v<typename Codec::Wide, T>)
      result = Codec::decode(Codec::encode(value));
  });
  return result;
}

}  // namespace

auto round_to(DType dtype, double value) -> double {
  return rounded(dtype, value);
}
auto round_to(DType dtype, std::int64_t value) -> std::int64_t {
  return rounded(dtype, value);
}

void fill_storage(Storage& storage, DType dtype, const Fill& fill) {
  if (is_complex(dtype)) return fill_storage(storage, real_of(dtype), fill);  // both parts
  const auto count = storage.size_bytes() / size_bytes(dtype);
  with_codec(dtype, [&](auto codec) {
    using Codec = decltype(codec);
    using Element = typename Codec::Element;
    auto* target = reinterpret_cast<Element*>(storage.bytes().data());
    for (std::int64_t i = 0; i < count; ++i) {
      auto h = static_cast<std::uint32_t>(i) * 2654435761U + fill.seed * 40503U + 12345U;
      h ^= h >> 15U;
      h *= 2246822519U;
      h ^= h >> 13U;
      const double unit = static_cast<double>(h >> 8U) / 16777216.0;
      target[i] = encode_number<Codec>(fill.lo + (fill.hi - fill.lo) * unit);
    }
  });
}

}  // namespace assay
