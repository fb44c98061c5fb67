#include "replay/runner/first_values.h"

#include <algorithm>

namespace assay {
namespace {

/// The first `count` elements in the type that kernels of this dtype compute in.
template <class T>
auto elements_of(const Tensor& tensor, std::int64_t count) -> std::vector<T> {
  std::vector<T> values(static_cast<std::size_t>(count));
  const auto rank = tensor.sizes().size();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    std::int64_t at = tensor.meta.offset;
    for (std::size_t d = rank; d-- > 0; rest /= tensor.sizes()[d])
      at += rest % tensor.sizes()[d] * tensor.strides()[d];
    load_elems<T>(tensor, at, 1, std::span(values).subspan(static_cast<std::size_t>(i), 1));
  }
  return values;
}

auto elements_text(const Tensor& tensor) -> std::string {
  const auto count = std::min<std::int64_t>(tensor.numel(), kFirstValues);
  std::vector<std::string> texts;
  switch (info(tensor.dtype()).kind) {
    case DTypeKind::complex:
      for (const auto& value : elements_of<Complex>(tensor, count))
        texts.push_back(fmt::format("{:.6g}{:+.6g}j", value.real(), value.imag()));
      break;
    case DTypeKind::floating:
      for (const auto value : elements_of<double>(tensor, count))
        texts.push_back(fmt::format("{:.6g}", value));
      break;
    case DTypeKind::boolean:
      for (const auto value : elements_of<std::int64_t>(tensor, count))
        texts.emplace_back(value != 0 ? "True" : "False");
      break;
    case DTypeKind::unsigned_integer:
    case DTypeKind::signed_integer:
    case DTypeKind::bits:
      for (const auto value : elements_of<std::int64_t>(tensor, count))
        texts.push_back(std::to_string(value));
      break;
  }
  if (tensor.numel() > count) texts.emplace_back("...");
  return fmt::format("{}", fmt::join(texts, ", "));
}

void gather(const Datum& datum, const std::string& leaf, std::vector<FirstValues>& found) {
  if (const auto* items = datum.list()) {
    for (std::size_t i = 0; i < items->size(); ++i)
      gather((*items)[i], fmt::format("{}[{}]", leaf, i), found);
  } else if (const auto* tensor = datum.real()) {
    found.push_back({leaf, to_string(tensor->meta), elements_text(*tensor)});
  } else if (datum.scalar() != nullptr) {
    found.push_back({leaf, {}, to_string(datum)});
  }
}

}  // namespace

auto first_values(const Datum& datum, const std::string& leaf) -> std::vector<FirstValues> {
  std::vector<FirstValues> found;
  gather(datum, leaf, found);
  return found;
}

auto keep_written(WrittenValues& into) -> std::function<void(const RunWritten&)> {
  return [&into](const RunWritten& written) {
    auto& values = into[written.op];
    values.clear();
    for (const auto& [name, tensor] : written.buffers) gather({tensor}, name, values);
  };
}

}  // namespace assay
