// load_args: storages and the views of them that are passed in.
#include <algorithm>
#include <array>

#include "replay/formats/repro_values.h"

namespace assay {
namespace {

/// Arguments of the old form: shape, stride, dtype, device, and since 2.1 requires_grad.
constexpr std::size_t kStridedParts = 4;

/// Calls that stand for an input of which nothing is recorded.
constexpr std::array<std::string_view, 4> kUnrecorded = {"const", "unsupported", "generator",
                                                         "opaque"};

/// Errors of the parser know their place already.
auto at_line(const SourceLine& line, const Error& error) -> std::unexpected<Error> {
  if (error.message.starts_with("line ")) return std::unexpected(error);
  return with_context(error, fmt::format("line {}", line.line));
}

}  // namespace

auto default_fill(std::size_t storage, DType dtype) -> Fill {
  const auto seed = static_cast<std::uint32_t>(storage);
  if (is_floating(dtype) || is_complex(dtype)) return {seed, -1, 1};
  return {seed, 0, 0};
}

auto HintEvaluator::value(const Expr& e) -> std::optional<std::int64_t> {
  if (const auto constant = e.as_int()) return constant;
  if (!hints_) hints_ = claims_.env().hints();
  const auto value = evaluate_int(e, *hints_);
  return value ? std::optional(*value) : std::nullopt;
}

auto InputScript::parse_call(const PythonCursor& cursor, int syntax) -> std::optional<Call> {
  if (cursor.syntax(syntax).kind != SyntaxKind::call) return std::nullopt;
  auto parts = cursor.children(syntax);
  const NodeNames no_names;
  const auto callee = ArgReader(cursor, no_names, values_.claims()).dotted_name(parts.front());
  if (!callee || !callee->starts_with("reader.")) return std::nullopt;
  Call call;
  call.method = callee->substr(7);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto& part = cursor.syntax(parts[i]);
    if (part.kind == SyntaxKind::keyword) {
      call.named.emplace(part.text, part.first_child);
    } else {
      call.positional.push_back(parts[i]);
    }
  }
  return call;
}

auto InputScript::statement(const SourceLine& line) -> Result<void> {
  if (!line.text.contains("reader.")) return {};
  PythonCursor cursor(line.source, line.offset, line.line);
  const auto lhs = cursor.expression_list();
  if (!lhs) return at_line(line, lhs.error());
  if (cursor.syntax(*lhs).kind == SyntaxKind::string) return {};  // calls kept as text, not made
  std::string name;
  int value = *lhs;
  if (cursor.accept("=")) {
    name = cursor.source_of(*lhs);
    const auto rhs = cursor.expression_list();
    if (!rhs) return at_line(line, rhs.error());
    value = *rhs;
  }
  const auto call = parse_call(cursor, value);
  if (!call) {
    capture_.warnings.push_back(
        fmt::format("line {}: not understood: {}", line.line, line.text.substr(0, 80)));
    return {};
  }
  const auto read =
      call->method == "storage" ? storage(cursor, *call, name) : input(cursor, *call, line);
  if (!read) return at_line(line, read.error());
  return {};
}

/// `buf0 = reader.storage(HASH, NBYTES, device=..., dtype_hint=...)`
auto InputScript::storage(const PythonCursor& cursor, const Call& call, std::string_view name)
    -> Result<void> {
  if (name.empty() || call.positional.size() < 2)
    return bad_input("expected NAME = reader.storage(HASH, NBYTES)");
  ASSAY_TRY(const Expr size, values_.expr(cursor.source_of(call.positional[1])));
  auto dtype = DType::float32;
  if (const auto hint = call.named.find("dtype_hint"); hint != call.named.end()) {
    ASSAY_TRY(dtype, read_dtype(cursor, hint->second));
  }
  const auto index = capture_.storages.size();
  StorageData data;
  data.content = default_fill(index, dtype);
  data.fill_dtype = dtype;
  data.made_up = true;
  data.size_bytes = values_.value(size).value_or(0);
  if (data.size_bytes < 0) return bad_input("storage of {} bytes", data.size_bytes);
  capture_.storages.push_back(std::move(data));
  buffers_[std::string(name)] = Buffer{static_cast<int>(index), size};
  return {};
}

auto InputScript::input(const PythonCursor& cursor, const Call& call, const SourceLine& line)
    -> Result<void> {
  if (call.method == "tensor") return tensor(cursor, call);
  if (call.method == "symint") return symint(cursor, call);
  if (std::find(kUnrecorded.begin(), kUnrecorded.end(), call.method) == kUnrecorded.end())
    return bad_input("unknown call reader.{}", call.method);
  capture_.warnings.push_back(fmt::format("line {}: input {} has no recorded value (reader.{})",
                                          line.line, capture_.inputs.size(), call.method));
  capture_.inputs.emplace_back();
  claims_.emplace_back();
  return {};
}

auto InputScript::symint(const PythonCursor& cursor, const Call& call) -> Result<void> {
  if (call.positional.empty()) return bad_input("expected reader.symint(VALUE)");
  const auto given = cursor.source_of(call.positional[0]);
  if (given == "None") {  // a symbol without a hint
    capture_.inputs.emplace_back();
  } else {
    ASSAY_TRY(const Expr value, values_.expr(given));
    const auto number = values_.value(value);
    capture_.inputs.emplace_back(number ? InputValue(Expr(*number)) : InputValue(value));
  }
  Claim claim;
  if (const auto expr = call.named.find("expr"); expr != call.named.end()) {
    const auto& syntax = cursor.syntax(expr->second);
    auto text = std::string(cursor.source_of(expr->second));
    if (syntax.kind == SyntaxKind::string) {
      ASSAY_TRY(text, decode_string(syntax.text));
    }
    ASSAY_TRY(const Expr claimed, values_.expr(text));
    claim.value = claimed;
  }
  claims_.push_back(std::move(claim));
  return {};
}

void InputScript::tie_numbers() {
  std::vector<std::size_t> numbers;  // not tied yet
  std::vector<Expr> known;
  for (std::size_t i = 0; i < claims_.size(); ++i) {
    const auto* number = std::get_if<Expr>(&capture_.inputs[i]);
    if (number != nullptr && claims_[i].empty() && number->is_const()) numbers.push_back(i);
    const auto* meta = claims_[i].tensor();
    if (meta == nullptr) continue;
    std::vector<Expr> fresh;
    bool is_ordered = true;
    for (const auto& size : meta->sizes)
      for (const auto& symbol : size.symbols()) {
        if (values_.value(symbol) || std::ranges::find(known, symbol) != known.end()) continue;
        is_ordered = is_ordered && (fresh.empty() || size == symbol);
        known.push_back(symbol);
        fresh.push_back(symbol);
      }
    if (fresh.empty()) continue;
    if (is_ordered && fresh.size() == numbers.size())
      for (std::size_t k = 0; k < fresh.size(); ++k) claims_[numbers[k]].value = fresh[k];
    numbers.clear();
  }
}

auto InputScript::dims(const PythonCursor& cursor, int syntax) -> Result<Dims> {
  const auto kind = cursor.syntax(syntax).kind;
  if (kind != SyntaxKind::tuple && kind != SyntaxKind::list)
    return bad_input("expected a tuple of sizes or strides, found {}", cursor.source_of(syntax));
  Dims dims;
  for (const int part : cursor.children(syntax)) {
    ASSAY_TRY(const Expr dim, values_.expr(cursor.source_of(part)));
    dims.push_back(dim);
  }
  return dims;
}

auto InputScript::read_dtype(const PythonCursor& cursor, int syntax) -> Result<DType> {
  const auto text = cursor.source_of(syntax);
  if (const auto dtype = dtype_from_name(text)) return *dtype;
  return bad_input("unknown dtype {}", text);
}

auto InputScript::read_device(const PythonCursor& cursor, int syntax) -> Result<Device> {
  const NodeNames no_names;
  ASSAY_TRY(const auto arg, ArgReader(cursor, no_names, values_.claims()).read(syntax));
  if (const auto* device = std::get_if<Device>(&arg.value)) return *device;
  if (const auto* text = std::get_if<std::string>(&arg.value))
    if (const auto device = device_from_string(*text)) return *device;
  return bad_input("{} is no device", cursor.source_of(syntax));
}

/// `reader.tensor(buf0, SHAPE, STRIDE, dtype=..., storage_offset=..., requires_grad=...)`
auto InputScript::tensor(const PythonCursor& cursor, const Call& call) -> Result<void> {
  if (call.positional.size() < 2) return bad_input("expected reader.tensor(BUFFER, SHAPE)");
  const auto buffer = buffers_.find(cursor.source_of(call.positional[0]));
  if (buffer == buffers_.end())
    return bad_input("unknown storage {}", cursor.source_of(call.positional[0]));
  const auto named = [&](std::string_view name) {
    const auto it = call.named.find(name);
    return it == call.named.end() ? -1 : it->second;
  };
  TensorMeta meta;
  ASSAY_TRY(meta.sizes, dims(cursor, call.positional[1]));
  const int stride = call.positional.size() > 2 ? call.positional[2] : named("stride");
  if (stride >= 0 && cursor.source_of(stride) != "None") {
    ASSAY_TRY(meta.strides, dims(cursor, stride));
    if (meta.strides.size() != meta.sizes.size())
      return bad_input("{} sizes but {} strides", meta.sizes.size(), meta.strides.size());
  } else {
    meta.strides = row_major_claim(meta.sizes);
  }
  if (const int dtype = named("dtype"); dtype >= 0) {
    ASSAY_TRY(meta.dtype, read_dtype(cursor, dtype));
  }
  if (const int offset = named("storage_offset"); offset >= 0) {
    ASSAY_TRY(meta.offset, values_.expr(cursor.source_of(offset)));
  }
  if (const int device = named("device"); device >= 0) {
    ASSAY_TRY(meta.device, read_device(cursor, device));
  }
  if (const int grad = named("requires_grad"); grad >= 0)
    meta.requires_grad = cursor.source_of(grad) == "True";
  for (const std::string_view flag : {"conj", "neg", "is_conj", "is_neg"})
    if (const int set = named(flag); set >= 0 && cursor.source_of(set) == "True")
      return unsupported("tensors with the {} bit", flag);
  return add_tensor(std::move(meta), buffer->second);
}

/// Concrete where every symbol has a hint, symbolic otherwise.
auto InputScript::add_tensor(TensorMeta meta, const Buffer& buffer) -> Result<void> {
  claims_.push_back(Claim{meta});
  RealMeta real{meta.dtype, {}, {}, 0, 0, meta.device};
  bool concrete = true;
  const auto convert = [&](const Dims& dims, Ints& to) {
    for (const auto& dim : dims) {
      const auto value = values_.value(dim);
      concrete = concrete && value.has_value();
      to.push_back(value.value_or(0));
    }
  };
  convert(meta.sizes, real.sizes);
  convert(meta.strides, real.strides);
  const auto offset = values_.value(meta.offset);
  const auto bytes = values_.value(buffer.size_bytes);
  if (!concrete || !offset || !bytes) {
    capture_.inputs.emplace_back(SymbolicInput{std::move(meta), buffer.size_bytes, buffer.storage});
    return {};
  }
  real.offset = *offset;
  real.storage_bytes = *bytes;
  if (std::any_of(real.sizes.begin(), real.sizes.end(), [](auto size) { return size < 0; }))
    return bad_input("{} has a size below 0", to_string(real));
  // A layout that runs past its storage is what PyTorch would refuse too: the interpreter reports
  // it.
  ASSAY_TRY_VOID(required_elems(real.sizes, real.strides, real.offset));
  capture_.inputs.emplace_back(RecordedTensor{buffer.storage, std::move(real)});
  return {};
}

auto InputScript::list(const SourceLine& line) -> Result<void> {
  PythonCursor cursor(line.source, line.offset, line.line);
  const auto lhs = cursor.expression_list();
  if (!lhs || !cursor.accept("=")) return {};
  const auto list = cursor.expression_list();
  const auto kind = list ? cursor.syntax(*list).kind : SyntaxKind::none;
  if (kind != SyntaxKind::list && kind != SyntaxKind::tuple) {
    if (!line.text.contains(" for "))  // else a comprehension over what was read before
      capture_.warnings.push_back(fmt::format("line {}: inputs are not understood: {}", line.line,
                                              list ? "expected a list" : list.error().message));
    return {};
  }
  capture_.inputs.clear();
  claims_.clear();
  for (const int item : cursor.children(*list))
    if (const auto read = value(cursor, item, line); !read) return at_line(line, read.error());
  return {};
}

auto InputScript::append(const SourceLine& line, std::string_view comment) -> Result<void> {
  PythonCursor cursor(line.source, line.offset, line.line);
  const auto call = cursor.expression();
  if (!call) return at_line(line, call.error());
  const auto parts = cursor.children(*call);
  if (cursor.syntax(*call).kind != SyntaxKind::call || parts.size() != 2)
    return bad_input("line {}: expected args.append(VALUE)", line.line);
  if (const auto read = value(cursor, parts[1], line); !read) return at_line(line, read.error());
  add_symbols(comment);
  return {};
}

auto InputScript::unknown(int line, std::string_view what) -> Result<void> {
  capture_.warnings.push_back(fmt::format("line {}: input {} has no recorded value: {}", line,
                                          capture_.inputs.size(), what.substr(0, 60)));
  capture_.inputs.emplace_back();
  claims_.emplace_back();
  return {};
}

/// `((s0, 8), (8, 1), torch.float32, 'cpu', False)`, rand_strided with such arguments, a number, a
/// tensor with a shape.
auto InputScript::value(const PythonCursor& cursor, int syntax, const SourceLine& line)
    -> Result<void> {
  auto parts = cursor.children(syntax);
  const auto& node = cursor.syntax(syntax);
  const bool has_layout = !parts.empty() && (cursor.syntax(parts[0]).kind == SyntaxKind::tuple ||
                                             cursor.syntax(parts[0]).kind == SyntaxKind::list);
  if (node.kind == SyntaxKind::tuple && has_layout &&
      (parts.size() == kStridedParts || parts.size() == kStridedParts + 1))
    return strided(cursor, parts,
                   parts.size() > kStridedParts && cursor.source_of(parts.back()) == "True");
  if (node.kind == SyntaxKind::integer || node.kind == SyntaxKind::real ||
      node.kind == SyntaxKind::unary || node.kind == SyntaxKind::name) {
    const auto text = cursor.source_of(syntax);
    const auto number = values_.expr(text == "None" ? "?" : text);
    if (!number || !number->is_const()) return unknown(line.line, text);
    capture_.inputs.emplace_back(*number);
    claims_.emplace_back();
    return {};
  }
  if (node.kind != SyntaxKind::call) return unknown(line.line, cursor.source_of(syntax));
  bool requires_grad = false;
  int call = syntax;
  while (true) {  // rand_strided(...).requires_grad_(True)
    const auto& callee = cursor.syntax(cursor.syntax(call).first_child);
    if (callee.kind != SyntaxKind::attribute ||
        cursor.syntax(callee.first_child).kind != SyntaxKind::call)
      break;
    const auto given = cursor.positional(call);
    if (callee.text == "requires_grad_")
      requires_grad = given.empty() || cursor.source_of(given[0]) == "True";
    call = callee.first_child;
  }
  if (cursor.source_of(cursor.syntax(call).first_child).ends_with("rand_strided")) {
    auto given = cursor.positional(call);
    for (const std::string_view name : {"dtype", "device"})
      if (const int keyword = cursor.keyword(call, name); keyword >= 0) given.push_back(keyword);
    return strided(cursor, given, requires_grad);
  }
  return made_tensor(cursor, syntax, line, requires_grad);
}

/// `torch.randn(2, 3)` and its like.
auto InputScript::made_tensor(const PythonCursor& cursor, int syntax, const SourceLine& line,
                              bool requires_grad) -> Result<void> {
  SourceLine at = line;
  at.offset = cursor.syntax(syntax).place.offset;
  at.line = cursor.syntax(syntax).place.line;
  const auto tensor = read_tensor_value(at, capture_, values_.claims());
  if (!tensor) return unknown(line.line, cursor.source_of(syntax));
  TensorMeta meta;
  meta.dtype = tensor->meta.dtype;
  meta.device = tensor->meta.device;
  meta.sizes.assign(tensor->meta.sizes.begin(), tensor->meta.sizes.end());
  meta.strides.assign(tensor->meta.strides.begin(), tensor->meta.strides.end());
  meta.requires_grad = requires_grad;
  capture_.inputs.emplace_back(*tensor);
  claims_.push_back(Claim{std::move(meta)});
  return {};
}

/// Shape, stride, dtype (float32), device (cpu).
auto InputScript::strided(const PythonCursor& cursor, const std::vector<int>& parts,
                          bool requires_grad) -> Result<void> {
  if (parts.size() < 2) return bad_input("expected a shape and a stride");
  TensorMeta meta;
  ASSAY_TRY(meta.sizes, dims(cursor, parts[0]));
  ASSAY_TRY(meta.strides, dims(cursor, parts[1]));
  if (meta.strides.size() != meta.sizes.size())
    return bad_input("{} sizes but {} strides", meta.sizes.size(), meta.strides.size());
  if (parts.size() > 2) {
    ASSAY_TRY(meta.dtype, read_dtype(cursor, parts[2]));
  }
  if (parts.size() > 3) {
    ASSAY_TRY(meta.device, read_device(cursor, parts[3]));
  }
  meta.requires_grad = requires_grad;
  const auto index = capture_.storages.size();
  const Expr size = required_elems(meta) * size_bytes(meta.dtype);
  const auto bytes = std::max<std::int64_t>(values_.value(size).value_or(0), 0);
  capture_.storages.push_back({bytes, default_fill(index, meta.dtype), meta.dtype, true});
  return add_tensor(std::move(meta), Buffer{static_cast<int>(index), size});
}

/// `shape (s0, 4), stride (4, 1)`, or `s0` for a number: what the last input claims. Where a symbol
/// stands alone, the number in its place is its hint.
void InputScript::add_symbols(std::string_view comment) {
  auto& env = values_.claims().env();
  const auto hint = [&](const Expr& claim, const Expr& value) {
    if (claim.op() != ExprOp::symbol || !value.is_const()) return;
    env.set_hint(claim, value);
    values_.forget_hints();
  };
  auto& claim = claims_.back();
  if (const auto* number = std::get_if<Expr>(&capture_.inputs.back())) {
    const auto symbol = values_.claims().symbol(trimmed(comment));
    if (!symbol) return;
    claim.value = *symbol;
    return hint(*symbol, *number);
  }
  auto* meta = std::get_if<TensorMeta>(&claim.value);
  if (meta == nullptr || !comment.starts_with("shape (")) return;
  const auto texts = split_at_commas(comment.substr(6));
  const auto read = [&](std::string_view text, const Dims& numbers) -> std::optional<Dims> {
    if (text.size() < 2 || !text.starts_with('(') || !text.ends_with(')')) return std::nullopt;
    Dims dims;
    for (const auto part : split_at_commas(text.substr(1, text.size() - 2)))
      if (const auto dim = part.empty() ? Result<Expr>(Expr(0)) : values_.expr(part);
          dim && !part.empty())
        dims.push_back(*dim);
    return dims.size() == numbers.size() ? std::optional(std::move(dims)) : std::nullopt;
  };
  auto sizes = texts.empty() ? std::nullopt : read(texts[0], meta->sizes);
  const auto stride = comment.find("stride (");
  auto strides = stride == std::string_view::npos
                     ? std::nullopt
                     : read(trimmed(comment.substr(stride + 7)), meta->strides);
  if (!sizes || !strides) return;
  for (std::size_t i = 0; i < sizes->size(); ++i) hint((*sizes)[i], meta->sizes[i]);
  meta->sizes = *std::move(sizes);
  meta->strides = *std::move(strides);
}

}  // namespace assay
