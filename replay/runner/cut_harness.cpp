#include "replay/runner/cut_harness.h"

#include <fmt/format.h>

namespace assay {
namespace {

auto bytes_of(const Tensor& tensor, std::int64_t first, std::int64_t count) -> std::string {
  const auto all = tensor.storage->bytes();
  const auto size = size_bytes(tensor.dtype());
  const auto bytes =
      all.subspan(static_cast<std::size_t>(first * size), static_cast<std::size_t>(count * size));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

auto hex(std::string_view bytes) -> std::string {
  std::string digits;
  digits.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto value = static_cast<unsigned char>(byte);
    digits += kDigits[value >> 4U];
    digits += kDigits[value & 0xFU];
  }
  return digits;
}

}  // namespace

auto recorded(const Tensor& tensor) -> Recorded {
  std::int64_t extent = tensor.numel() == 0 ? 0 : 1;
  for (std::size_t d = 0; d < tensor.sizes().size() && extent > 0; ++d)
    extent += (tensor.sizes()[d] - 1) * tensor.strides()[d];
  return {.dtype = tensor.dtype(),
          .sizes = tensor.sizes(),
          .strides = tensor.strides(),
          .bytes = bytes_of(tensor, tensor.meta.offset, extent)};
}

auto recorded_storage(const Tensor& tensor) -> Recorded {
  const auto count = tensor.storage->size_bytes() / size_bytes(tensor.dtype());
  return {.dtype = tensor.dtype(),
          .sizes = {count},
          .strides = {1},
          .bytes = bytes_of(tensor, 0, count)};
}

auto tuple_text(const Ints& values) -> std::string {
  std::string text = "(";
  for (const auto value : values) text += fmt::format("{}, ", value);
  return text + ")";
}

auto example_text(const Recorded& tensor, std::string_view device, bool has_contents)
    -> std::string {
  const auto layout = fmt::format("{}, {}, device='{}', dtype=torch.{}", tuple_text(tensor.sizes),
                                  tuple_text(tensor.strides), device, name(tensor.dtype));
  if (!has_contents) return fmt::format("rand_strided({})", layout);
  return fmt::format("recorded({}, data='{}')", layout, hex(tensor.bytes));
}

auto harness_text(const Harness& harness) -> std::string {
  std::string text;
  const auto is_recorded = [](const std::string& example) {
    return example.contains(" = recorded(");
  };
  if (!harness.expected.empty() || std::ranges::any_of(harness.examples, is_recorded))
    text +=
        "def recorded(sizes, strides, *, device, dtype, data):\n"
        "    flat = torch.frombuffer(bytearray.fromhex(data), dtype=dtype)\n"
        "    return flat.to(device).as_strided(sizes, strides)\n\n\n";
  text += "def get_args():\n    from torch._dynamo.testing import rand_strided\n";
  for (const auto& example : harness.examples) text += fmt::format("    {}\n", example);
  text += fmt::format("    return [{}]\n\n\n", fmt::join(harness.inputs, ", "));
  // What a kernel breaks is told when the device is waited for.
  const bool is_cuda = text.contains("device='cuda");
  if (harness.expected.empty())
    return text + "if __name__ == \"__main__\":\n    call(get_args())\n" +
           (is_cuda ? "    torch.cuda.synchronize()\n" : "");
  return text + fmt::format(
                    "if __name__ == \"__main__\":\n"
                    "    result = call(get_args())[0]\n"
                    "    expected = {}\n"
                    "    torch.testing.assert_close(result.reshape(-1), expected.reshape(-1), "
                    "rtol=0, atol={:.9g}, equal_nan=True)\n",
                    harness.expected, harness.tolerance);
}

}  // namespace assay
