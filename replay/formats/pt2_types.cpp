#include "replay/formats/pt2_types.h"

#include <array>
#include <limits>

#include "core/expr/text.h"
#include "core/graph/targets.h"

namespace assay {
namespace {

struct LayoutCode {
  int code;
  Layout layout;
};
constexpr std::array kLayouts = {
    LayoutCode{1, Layout::sparse_coo}, LayoutCode{2, Layout::sparse_csr},
    LayoutCode{3, Layout::other},      LayoutCode{4, Layout::other},
    LayoutCode{5, Layout::other},      LayoutCode{6, Layout::other},
    LayoutCode{7, Layout::strided},
};

struct MemoryFormatCode {
  int code;
  MemoryFormat format;
};
constexpr std::array kMemoryFormats = {
    MemoryFormatCode{1, MemoryFormat::contiguous},
    MemoryFormatCode{2, MemoryFormat::channels_last},
    MemoryFormatCode{3, MemoryFormat::channels_last_3d},
    MemoryFormatCode{4, MemoryFormat::preserve},
};

/// Bounds at or beyond this stand for "no bound": sys.maxsize - 1 was PyTorch's infinity.
constexpr auto kUnbounded = std::numeric_limits<std::int64_t>::max() - 1;

/// A hint is a union of its own, or (in files made by hand) a plain number.
auto read_hint(JsonValue json) -> std::optional<Expr> {
  const auto found = json.is_object() ? read_union(json).value : json;
  if (const auto value = found.as_int()) return Expr(*value);
  if (const auto value = found.as_bool()) return Expr::boolean(*value);
  if (const auto value = found.as_number()) return Expr::real(*value);
  return std::nullopt;
}

}  // namespace

auto read_union(JsonValue json) -> Pt2Union {
  const auto members = json.members();
  if (members.size() != 1) return {};
  return {members[0].first, members[0].second};
}

auto read_pt2_dtype(JsonValue json) -> Result<DType> {
  const auto code = json.as_int();
  const auto dtype = code && *code >= 0 && *code < 1000
                         ? dtype_from_pt2_code(static_cast<int>(*code))
                         : std::nullopt;
  if (!dtype) return unsupported("dtype code {}", json.dump());
  return *dtype;
}

auto read_pt2_device(JsonValue json) -> Result<Device> {
  const auto type = json["type"].as_string();
  const auto index = json["index"].as_int();
  auto device = type && !type->contains(':') ? device_from_string(*type) : std::nullopt;
  if (!device || (index && (*index < 0 || *index > 255)))
    return bad_input("device {}", json.dump());
  if (index) device->index = static_cast<int>(*index);
  return *std::move(device);
}

auto read_pt2_layout(JsonValue json) -> Result<Layout> {
  for (const auto& row : kLayouts)
    if (json.as_int() == row.code) return row.layout;
  return unsupported("layout code {}", json.dump());
}

auto has_strides(JsonValue tensor_meta) -> bool {
  // Codes of torch/_export/serde/schema.py: 1 to 5 are the sparse layouts.
  constexpr std::int64_t kFirstSparse = 1, kLastSparse = 5;
  const auto layout = tensor_meta["layout"].as_int().value_or(0);
  return layout < kFirstSparse || layout > kLastSparse;
}

auto read_pt2_memory_format(JsonValue json) -> Result<MemoryFormat> {
  for (const auto& row : kMemoryFormats)
    if (json.as_int() == row.code) return row.format;
  return unsupported("memory format code {}", json.dump());
}

auto Pt2Symbols::parse(std::string_view text) -> Result<Expr> {
  std::string key(text);
  if (const auto found = parsed_.find(key); found != parsed_.end()) return found->second;
  auto parsed = parse_expr(env_.pool(), text);
  if (!parsed)
    return with_context(std::move(parsed).error(), fmt::format("expression \"{}\"", text));
  for (const auto& symbol : parsed->symbols()) {
    if (env_.find(symbol) != nullptr) continue;
    ASSAY_TRY([[maybe_unused]] const auto added, env_.add_symbol(symbol.name()));
  }
  parsed_.emplace(std::move(key), *parsed);
  return *parsed;
}

auto Pt2Symbols::read_ranges(JsonValue range_constraints) -> Result<void> {
  for (const auto& [key, range] : range_constraints.members()) {
    auto parsed = parse(key);
    if (!parsed) return with_context(std::move(parsed).error(), "range_constraints");
    Interval interval;
    if (const auto low = range["min_val"].as_int(); low && *low > -kUnbounded) interval.low = *low;
    if (const auto high = range["max_val"].as_int(); high && *high < kUnbounded)
      interval.high = *high;
    if (parsed->op() == ExprOp::symbol) {
      env_.set_range(*parsed, interval);
      continue;
    }
    const auto text =
        fmt::format("{} <= {} <= {}", print_expr(interval.low), key, print_expr(interval.high));
    env_.add_guard({ge(*parsed, interval.low), text, "range_constraints"});
    env_.add_guard({le(*parsed, interval.high), text, "range_constraints"});
  }
  return {};
}

auto Pt2Symbols::read_number(JsonValue json) -> Result<Expr> {
  const auto [kind, value] = read_union(json);
  if (const auto number = value.as_int(); kind == "as_int" && number) return Expr(*number);
  if (const auto number = value.as_number(); kind == "as_float" && number)
    return Expr::real(*number);
  if (const auto truth = value.as_bool(); kind == "as_bool" && truth) return Expr::boolean(*truth);
  const auto text = value["expr_str"].as_string();
  if (kind != "as_expr" || !text) return bad_input("symbolic value {}", json.dump());
  ASSAY_TRY(const auto expr, parse(*text));
  const auto hint = read_hint(value["hint"]);
  if (const auto* symbol = env_.find(expr); hint && symbol != nullptr && !symbol->hint)
    env_.set_hint(expr, *hint);
  return expr;
}

auto Pt2Symbols::read_dims(JsonValue json) -> Result<Dims> {
  if (!json.is_array()) return bad_input("sizes or strides are missing");
  Dims dims;
  for (const auto item : json.items()) {
    ASSAY_TRY(const auto dim, read_number(item));
    dims.push_back(dim);
  }
  return dims;
}

auto Pt2Symbols::read_meta(JsonValue json) -> Result<TensorMeta> {
  TensorMeta meta;
  ASSAY_TRY(meta.dtype, read_pt2_dtype(json["dtype"]));
  ASSAY_TRY(meta.sizes, read_dims(json["sizes"]));
  ASSAY_TRY(meta.strides, read_dims(json["strides"]));
  ASSAY_TRY(meta.device, read_pt2_device(json["device"]));
  if (meta.sizes.size() != meta.strides.size())
    return bad_input("{} sizes but {} strides", meta.sizes.size(), meta.strides.size());
  if (json["storage_offset"].is_object()) {
    ASSAY_TRY(meta.offset, read_number(json["storage_offset"]));
  }
  if (!has_strides(json)) return unsupported("a tensor that is not strided");
  meta.requires_grad = json["requires_grad"].as_bool().value_or(false);
  return meta;
}

}  // namespace assay
