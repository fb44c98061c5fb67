#include "replay/formats/program_answers.h"

#include <cmath>

#include "replay/formats/capture_json.h"

namespace assay {
namespace {

constexpr std::uint32_t kTangentSeed = 90;

auto ints(JsonValue value) -> Result<Ints> {
  Ints result;
  for (const auto& item : value.items()) {
    const auto number = item.as_int();
    if (!number) return bad_input("a size or stride is no integer");
    result.push_back(*number);
  }
  return result;
}

auto dtype_of(JsonValue value) -> Result<DType> {
  const auto text = value.as_string().value_or("");
  if (const auto dtype = dtype_from_name(text)) return *dtype;
  return bad_input("unknown dtype \"{}\"", text);
}

struct Layout {
  DType dtype = DType::float32;
  Ints sizes, strides;
  std::int64_t offset = 0;
};
auto layout_of(JsonValue value) -> Result<Layout> {
  Layout result;
  ASSAY_TRY(result.dtype, dtype_of(value["dtype"]));
  ASSAY_TRY(result.sizes, ints(value["size"]));
  ASSAY_TRY(result.strides, ints(value["stride"]));
  result.offset = value["offset"].as_int().value_or(0);
  return result;
}

/// Contents of the whole storage by the deterministic fill.
auto filled(JsonValue fill, Layout layout) -> Result<Tensor> {
  const auto count = fill["storage_numel"].as_int().value_or(-1);
  const auto seed = fill["seed"].as_int();
  const auto lo = fill["lo"].as_number();
  const auto hi = fill["hi"].as_number();
  if (count < 0 || !seed || !lo || !hi) return bad_input("a fill without its numbers");
  const bool floor = fill["floor"].as_bool().value_or(false);
  const bool threshold = fill["threshold"].as_bool().value_or(false);
  ASSAY_TRY(auto numbers,
            Tensor::contiguous(floor || threshold ? DType::float64 : layout.dtype, {count}));
  fill_storage(*numbers.storage, numbers.dtype(), {static_cast<std::uint32_t>(*seed), *lo, *hi});
  if (floor || threshold) {
    auto values = to_vector<double>(numbers);
    const auto middle = (*lo + *hi) / 2;
    for (auto& one : values) one = threshold ? (one > middle ? 1 : 0) : std::floor(one);
    ASSAY_TRY(numbers, Tensor::contiguous(layout.dtype, {count}));
    from_vector(numbers, std::span<const double>(values));
  }
  return numbers.view(layout.dtype, std::move(layout.sizes), std::move(layout.strides),
                      layout.offset);
}

/// Contents row-major in base64 of zlib, whatever the layout is.
auto packed(JsonValue value, Layout layout) -> Result<Tensor> {
  ASSAY_TRY(const auto held, dtype_of(value["data_dtype"]));
  ASSAY_TRY(auto plain, Tensor::contiguous(held, layout.sizes));
  ASSAY_TRY(const auto bytes,
            unpack_zlib(*value["data"].as_string(), plain.numel() * size_bytes(held)));
  std::ranges::copy(bytes, plain.storage->bytes().begin());
  ASSAY_TRY(const auto count, required_elems(layout.sizes, layout.strides, layout.offset));
  ASSAY_TRY(auto storage, Tensor::contiguous(layout.dtype, {count}));
  ASSAY_TRY(auto result, storage.view(layout.dtype, std::move(layout.sizes),
                                      std::move(layout.strides), layout.offset));
  copy_elems(plain, result);
  return result;
}

auto recorded_input(JsonValue value) -> Result<AnsweredInput> {
  AnsweredInput result;
  ASSAY_TRY(auto layout, layout_of(value));
  result.requires_grad = value["requires_grad"].as_bool().value_or(false);
  if (const auto one = value["placeholder"].as_string()) result.placeholders.emplace_back(*one);
  for (const auto& name : value["placeholder"].items())
    if (const auto one = name.as_string()) result.placeholders.emplace_back(*one);
  if (const auto fill = value["fill"]; fill.is_object()) {
    ASSAY_TRY(result.tensor, filled(fill, std::move(layout)));
  } else if (value["data"].as_string()) {
    ASSAY_TRY(result.tensor, packed(value, std::move(layout)));
  } else {
    return bad_input("an input with neither fill nor data");
  }
  return result;
}

/// A recorded tensor: layout as it was, contents row-major if they are there.
auto answer(JsonValue value) -> Result<AnsweredTensor> {
  AnsweredTensor result;
  ASSAY_TRY(auto layout, layout_of(value));
  layout.offset = 0;  // an output's storage is its own
  result.sum = json_real(value["sum"]).value_or(0);
  result.abs_sum = json_real(value["abs"]).value_or(0);
  result.has_data = value["data"].as_string().has_value();
  if (result.has_data) {
    ASSAY_TRY(result.tensor, packed(value, std::move(layout)));
  } else {
    ASSAY_TRY(result.tensor,
              Tensor::allocate(layout.dtype, layout.sizes, std::move(layout.strides)));
  }
  return result;
}

auto tensors(JsonValue value, std::string_view key) -> Result<std::vector<AnsweredTensor>> {
  std::vector<AnsweredTensor> result;
  std::size_t at = 0;
  for (const auto& item : value[key].items()) {
    auto one = answer(item);
    if (!one) return with_context(one.error(), fmt::format("{}[{}]", key, at));
    result.push_back(*std::move(one));
    ++at;
  }
  return result;
}

auto answers(JsonValue value) -> Result<std::optional<Answers>> {
  if (!value.is_object()) return std::optional<Answers>();
  Answers result;
  ASSAY_TRY(result.outputs, tensors(value, "outputs"));
  ASSAY_TRY(result.gradients, tensors(value, "gradients"));
  ASSAY_TRY(result.inputs_after, tensors(value, "inputs_after"));
  return std::optional(std::move(result));
}

}  // namespace

auto read_program_answers(std::string_view text, const std::string& name)
    -> Result<ProgramAnswers> {
  ASSAY_TRY(const auto document, JsonDocument::parse(text, name));
  const auto root = document.root();
  ProgramAnswers result;
  result.name = root["name"].as_string().value_or("");
  result.device = root["device"].as_string().value_or("");
  if (!root["inputs"].is_array()) return bad_input("{}: no inputs", name);
  for (const auto& item : root["inputs"].items()) {
    auto input = recorded_input(item);
    if (!input)
      return with_context(input.error(), fmt::format("{}: inputs[{}]", name, result.inputs.size()));
    result.inputs.push_back(*std::move(input));
  }
  for (auto [key, to] : {std::pair{"eager", &result.eager}, {"compiled", &result.compiled}}) {
    auto read = answers(root[key]);
    if (!read) return with_context(read.error(), fmt::format("{}: {}", name, key));
    *to = *std::move(read);
  }
  return result;
}

auto answered_tangent(const RealMeta& output, std::size_t k) -> Result<Tensor> {
  ASSAY_TRY(auto flat, Tensor::contiguous(output.dtype, output.sizes));
  fill_storage(*flat.storage, output.dtype, {kTangentSeed + static_cast<std::uint32_t>(k), 0, 1});
  ASSAY_TRY(auto result,
            Tensor::allocate(output.dtype, output.sizes, output.strides, output.device));
  copy_elems(flat, result);
  return result;
}

}  // namespace assay
