// Lines of __init__ in a repro script: buffers, parameters, sub-modules.
#include <algorithm>
#include <array>
#include <optional>
#include <ranges>

#include "replay/formats/repro_values.h"

namespace assay {
namespace {

/// Scripts print small tensors only; anything longer was not written by PyTorch.
constexpr std::int64_t kMaxLiteralElements = 1 << 20;
constexpr int kMaxLiteralRank = 32;

/// Functions that take a shape, the values of which a script does not hold.
constexpr std::array<std::string_view, 6> kFactories = {
    "torch.randn", "torch.rand", "torch.randint", "torch.empty", "torch.zeros", "torch.ones"};

/// A nested list of numbers as tensor(...) prints it.
struct Literal {
  Ints sizes;
  std::vector<Complex> values;
  bool has_real = false, has_complex = false, has_int = false;
};

class InitReader {
 public:
  InitReader(const SourceLine& line, Capture& capture, ClaimReader& claims)
      : capture_(capture),
        cursor_(line.source, line.offset, line.line),
        args_(cursor_, no_names_, claims) {}

  auto read_value() -> Result<RecordedTensor> {
    ASSAY_TRY(const int value, cursor_.expression());
    return tensor(value);
  }

  auto read() -> Result<std::optional<InitValue>> {
    ASSAY_TRY(const int lhs, cursor_.expression_list());
    const auto parts = cursor_.children(lhs);
    const auto callee = parts.empty() ? std::nullopt : args_.dotted_name(parts.front());
    if (callee == "self.register_buffer" && parts.size() >= 3) {
      InitValue value;
      ASSAY_TRY(value.name, args_.string_value(parts[1]));
      ASSAY_TRY(value.tensor, tensor(parts[2]));
      return std::optional(std::move(value));
    }
    if (!cursor_.accept("=")) return std::optional<InitValue>();
    const auto name = args_.self_path(lhs);
    if (!name || name->empty()) return std::optional<InitValue>();
    ASSAY_TRY(const int rhs, cursor_.expression_list());
    InitValue value;
    value.name = *name;
    const auto& syntax = cursor_.syntax(rhs);
    const auto target =
        syntax.kind == SyntaxKind::call ? args_.dotted_name(syntax.first_child) : std::nullopt;
    ASSAY_TRY(value.module, module(rhs));
    if (value.module) return std::optional(std::move(value));
    if (target && syntax.child_count == 1 && !target->contains('.')) {
      value.class_name = *target;
    } else {
      ASSAY_TRY(value.tensor, tensor(rhs));
    }
    return std::optional(std::move(value));
  }

 private:
  struct Options {
    std::optional<DType> dtype;
    Device device;
    int size = -1;  ///< `size=[...]`
  };

  /// `Linear(10, 5)`, `torch.nn.ReLU()`, and .cuda(), .eval() and the like on any of them; nothing
  /// for what is no module with a row.
  auto module(int index) -> Result<std::optional<NnModule>> {
    const auto& syntax = cursor_.syntax(index);
    if (syntax.kind != SyntaxKind::call) return std::optional<NnModule>();
    const auto parts = cursor_.children(index);
    const auto& callee = cursor_.syntax(parts.front());
    if (callee.kind == SyntaxKind::attribute &&
        cursor_.syntax(callee.first_child).kind == SyntaxKind::call) {
      ASSAY_TRY(auto inner, module(callee.first_child));
      if (!inner) return inner;
      if (callee.text == "cuda") inner->device = Device{"cuda", 0};
      if (callee.text == "eval") inner->is_training = false;
      if (callee.text == "to" && parts.size() == 2) {
        ASSAY_TRY(const auto arg, args_.read(parts[1]));
        ASSAY_TRY(inner->device, device_of(arg, cursor_.source_of(parts[1])));
      }
      return inner;
    }
    auto name = args_.dotted_name(parts.front()).value_or("");
    if (const auto dot = name.rfind("nn."); dot != std::string::npos) name.erase(0, dot + 3);
    NnModule made;
    made.class_name = std::move(name);
    if (!is_nn_module(made.class_name)) return std::optional<NnModule>();
    for (const int part : parts | std::views::drop(1)) {
      const auto& given = cursor_.syntax(part);
      const bool is_named = given.kind == SyntaxKind::keyword;
      ASSAY_TRY(auto arg, args_.read(is_named ? given.first_child : part));
      if (is_named)
        made.kwargs.emplace_back(given.text, std::move(arg));
      else
        made.args.push_back(std::move(arg));
    }
    return std::optional(std::move(made));
  }

  auto options(const std::vector<int>& parts) -> Result<Options> {
    Options options;
    for (const int part : parts) {
      const auto& syntax = cursor_.syntax(part);
      if (syntax.kind != SyntaxKind::keyword) continue;
      const auto text = cursor_.source_of(syntax.first_child);
      if (syntax.text == "size") options.size = syntax.first_child;
      if (syntax.text == "dtype") {
        options.dtype = dtype_from_name(text);
        if (!options.dtype) return bad_input("unknown dtype {}", text);
      }
      if (syntax.text == "device") {
        ASSAY_TRY(const auto arg, args_.read(syntax.first_child));
        ASSAY_TRY(options.device, device_of(arg, text));
      }
    }
    return options;
  }

  static auto device_of(const Arg& arg, std::string_view text) -> Result<Device> {
    if (const auto* device = std::get_if<Device>(&arg.value)) return *device;
    if (const auto* name = std::get_if<std::string>(&arg.value))
      if (const auto device = device_from_string(*name)) return *device;
    return bad_input("{} is no device", text);
  }

  /// tensor(...), torch.randn(...), torch.randint(...), Parameter(...), and .cuda() or .to(...) on
  /// any of them.
  auto tensor(int index) -> Result<RecordedTensor> {
    const auto& syntax = cursor_.syntax(index);
    if (syntax.kind != SyntaxKind::call)
      return bad_input("expected a tensor, found {}", cursor_.source_of(index).substr(0, 60));
    const auto parts = cursor_.children(index);
    const auto& callee = cursor_.syntax(parts.front());
    if (callee.kind == SyntaxKind::attribute &&
        cursor_.syntax(callee.first_child).kind == SyntaxKind::call)
      return moved(callee, parts);
    const auto name = args_.dotted_name(parts.front()).value_or("");
    if (name.ends_with("Parameter") && parts.size() >= 2) return tensor(parts[1]);
    ASSAY_TRY(const auto given, options(parts));
    if ((name == "tensor" || name == "torch.tensor") && parts.size() >= 2)
      return literal(parts[1], given);
    if (std::ranges::find(kFactories, name) != kFactories.end()) return random(parts, given);
    return bad_input("expected a tensor, found {}", cursor_.source_of(index).substr(0, 60));
  }

  /// `T.cuda()` and `T.to("cuda:0")`
  auto moved(const Syntax& callee, const std::vector<int>& parts) -> Result<RecordedTensor> {
    ASSAY_TRY(auto value, tensor(callee.first_child));
    if (callee.text == "cuda") value.meta.device = Device{"cuda", 0};
    if (callee.text == "requires_grad_" || callee.text == "detach" || callee.text == "contiguous")
      return value;
    if (callee.text == "to" && parts.size() == 2) {
      ASSAY_TRY(const auto arg, args_.read(parts[1]));
      ASSAY_TRY(value.meta.device, device_of(arg, cursor_.source_of(parts[1])));
    }
    return value;
  }

  auto sizes_of(int index) -> Result<Ints> {
    ASSAY_TRY(const auto arg, args_.read(index));
    const auto* sequence = std::get_if<SequenceArg>(&arg.value);
    Ints sizes;
    for (const auto& item : sequence ? sequence->items : std::vector<Arg>{}) {
      const auto* expr = std::get_if<Expr>(&item.value);
      const auto size = expr ? expr->as_int().value_or(-1) : -1;
      if (size < 0) return bad_input("{} is no shape", cursor_.source_of(index));
      sizes.push_back(size);
    }
    if (sequence == nullptr) return bad_input("{} is no shape", cursor_.source_of(index));
    return sizes;
  }

  /// `size=[2, 3]`, the first list or tuple, or numbers alone.
  auto shape_of(const std::vector<int>& parts, const Options& given) -> Result<Ints> {
    if (given.size >= 0) return sizes_of(given.size);
    Ints sizes;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const auto kind = cursor_.syntax(parts[i]).kind;
      if (kind == SyntaxKind::list || kind == SyntaxKind::tuple) return sizes_of(parts[i]);
      if (kind == SyntaxKind::keyword) continue;
      ASSAY_TRY(const auto arg, args_.read(parts[i]));
      const auto* expr = std::get_if<Expr>(&arg.value);
      const auto size = expr ? expr->as_int().value_or(-1) : -1;
      if (size < 0) return bad_input("{} is no shape", cursor_.source_of(parts[i]));
      sizes.push_back(size);
    }
    return sizes;
  }

  auto random(const std::vector<int>& parts, const Options& given) -> Result<RecordedTensor> {
    ASSAY_TRY(const auto sizes, shape_of(parts, given));
    const bool whole = args_.dotted_name(parts.front()) == "torch.randint";
    const auto dtype = given.dtype.value_or(whole ? DType::int64 : DType::float32);
    return unknown_tensor(capture_, sizes, dtype, given.device);
  }

  auto record(const Ints& sizes, DType dtype, const Device& device, std::int64_t bytes)
      -> RecordedTensor {
    RecordedTensor value;
    value.storage = static_cast<int>(capture_.storages.size()) - 1;
    value.meta = RealMeta{dtype, sizes, contiguous_strides(sizes), 0, bytes, device};
    return value;
  }

  auto literal(int index, const Options& given) -> Result<RecordedTensor> {
    Literal numbers;
    ASSAY_TRY_VOID(collect(index, 0, numbers));
    if (given.size >= 0) {  // tensor([], size=(0, 3))
      ASSAY_TRY(numbers.sizes, sizes_of(given.size));
    }
    const auto dtype =
        given.dtype.value_or(numbers.has_complex                          ? DType::complex64
                             : numbers.has_real || numbers.values.empty() ? DType::float32
                             : numbers.has_int                            ? DType::int64
                                                                          : DType::boolean);
    ASSAY_TRY(const auto elems,
              required_elems(numbers.sizes, contiguous_strides(numbers.sizes), 0));
    if (elems != static_cast<std::int64_t>(numbers.values.size()))
      return bad_input("a tensor literal with rows of unequal length");
    ASSAY_TRY(auto made, Tensor::contiguous(dtype, numbers.sizes));
    store(numbers, made);
    const auto bytes = made.storage->bytes();
    StorageData data;
    data.size_bytes = made.storage->size_bytes();
    data.content = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    capture_.storages.push_back(std::move(data));
    return record(numbers.sizes, dtype, given.device, made.storage->size_bytes());
  }

  static void store(const Literal& numbers, Tensor& to) {
    if (is_complex(to.dtype())) return from_vector<Complex>(to, numbers.values);
    if (is_floating(to.dtype())) {
      std::vector<double> values;
      for (const auto& value : numbers.values) values.push_back(value.real());
      return from_vector<double>(to, values);
    }
    std::vector<std::int64_t> values;
    for (const auto& value : numbers.values)
      values.push_back(static_cast<std::int64_t>(value.real()));
    from_vector<std::int64_t>(to, values);
  }

  auto collect(int index, std::size_t depth, Literal& to) -> Result<void> {
    const auto& syntax = cursor_.syntax(index);
    if (syntax.kind == SyntaxKind::ellipsis)
      return bad_input("the tensor is printed shortened, its values are lost");
    if (syntax.kind == SyntaxKind::list) {
      if (depth >= kMaxLiteralRank) return bad_input("a tensor of rank above {}", kMaxLiteralRank);
      if (to.sizes.size() <= depth) to.sizes.resize(depth + 1, syntax.child_count);
      if (to.sizes[depth] != syntax.child_count)
        return bad_input("a tensor literal with rows of unequal length");
      for (const int item : cursor_.children(index)) ASSAY_TRY_VOID(collect(item, depth + 1, to));
      return {};
    }
    if (static_cast<std::int64_t>(to.values.size()) >= kMaxLiteralElements)
      return bad_input("a tensor literal of more than {} elements", kMaxLiteralElements);
    ASSAY_TRY(const auto arg, args_.read(index));
    if (const auto* value = std::get_if<Complex>(&arg.value)) {
      to.has_complex = true;
      to.values.push_back(*value);
      return {};
    }
    const auto* number = std::get_if<Expr>(&arg.value);
    if (number == nullptr || !number->as_number())
      return bad_input("{} is no number", cursor_.source_of(index).substr(0, 40));
    to.has_real = to.has_real || number->type() == ExprType::real;
    to.has_int = to.has_int || number->type() == ExprType::integer;
    to.values.emplace_back(*number->as_number());
    return {};
  }

  Capture& capture_;
  NodeNames no_names_;
  PythonCursor cursor_;
  ArgReader args_;
};

}  // namespace

auto unknown_tensor(Capture& capture, const Ints& sizes, DType dtype, const Device& device)
    -> Result<RecordedTensor> {
  ASSAY_TRY(const auto elems, required_elems(sizes, contiguous_strides(sizes), 0));
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elems, std::int64_t{size_bytes(dtype)}, &bytes))
    return bad_input("a tensor of {} elements", elems);
  const auto index = capture.storages.size();
  capture.storages.push_back({bytes, default_fill(index, dtype), dtype});
  RecordedTensor value;
  value.storage = static_cast<int>(index);
  value.meta = RealMeta{dtype, sizes, contiguous_strides(sizes), 0, bytes, device};
  return value;
}

auto read_init_line(const SourceLine& line, Capture& capture, ClaimReader& claims)
    -> Result<std::optional<InitValue>> {
  return InitReader(line, capture, claims).read();
}

auto read_tensor_value(const SourceLine& line, Capture& capture, ClaimReader& claims)
    -> Result<RecordedTensor> {
  return InitReader(line, capture, claims).read_value();
}

}  // namespace assay
