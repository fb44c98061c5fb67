#include "core/ops/schema.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "core/base/check.h"

namespace assay {
namespace {

/// The whole text as a number.
template <class T>
auto number_from(std::string_view text) -> std::optional<T> {
  const std::string digits(text);
  const char* const last = digits.data() + digits.size();
  T value = 0;
  const auto [end, error] = std::from_chars(digits.data(), last, value);
  return error == std::errc{} && end == last ? std::optional(value) : std::nullopt;
}

/// Namespaces of operators, whose overload without a name is called default.
constexpr std::string_view kOperatorNamespaces[] = {"aten", "prims", "torchvision",
                                                    "quantized_decomposed", "transformers"};

/// Tensors that PyTorch's own gradients leave undefined, though no schema says that they may be: a
/// graph shows None. An operator that needs one says so itself.
constexpr std::string_view kMayBeUndefined[] = {"cum_seq_q", "cum_seq_k", "attn_bias"};

struct KindName {
  std::string_view name;
  ParamKind kind;
};
constexpr std::array kKindNames = {
    KindName{"Tensor", ParamKind::tensor},
    KindName{"int", ParamKind::integer},
    KindName{"SymInt", ParamKind::integer},
    KindName{"Scalar", ParamKind::number},
    KindName{"float", ParamKind::real},
    KindName{"bool", ParamKind::flag},
    KindName{"str", ParamKind::text},
    KindName{"ScalarType", ParamKind::dtype},
    KindName{"Layout", ParamKind::layout},
    KindName{"Device", ParamKind::device},
    KindName{"MemoryFormat", ParamKind::memory_format},
    KindName{"SymFloat", ParamKind::real},
    KindName{"SymBool", ParamKind::flag},
};

auto kind_of(std::string_view name) -> ParamKind {
  for (const auto& row : kKindNames)
    if (row.name == name) return row.kind;
  return ParamKind::other;
}

/// Words that occur as defaults in schemas.
struct DefaultWord {
  std::string_view word;
  Datum (*make)();
};
const std::array kDefaultWords = {
    DefaultWord{"None", [] { return Datum{}; }},
    DefaultWord{"True", [] { return Datum{Expr::boolean(true)}; }},
    DefaultWord{"False", [] { return Datum{Expr::boolean(false)}; }},
    DefaultWord{"contiguous_format", [] { return Datum{MemoryFormat::contiguous}; }},
    DefaultWord{"preserve_format", [] { return Datum{MemoryFormat::preserve}; }},
    DefaultWord{"Mean", [] { return Datum{Expr(1)}; }},  // Reduction enum
    DefaultWord{"Sum", [] { return Datum{Expr(2)}; }},
    DefaultWord{"strided", [] { return Datum{Layout::strided}; }},
    DefaultWord{"long", [] { return Datum{DType::int64}; }},
    DefaultWord{"float", [] { return Datum{DType::float32}; }},
    DefaultWord{"inf", [] { return Datum{Expr::real(__builtin_inf())}; }},
};

class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : text_(text) {}

  auto parse() -> Result<Schema> {
    Schema schema;
    ASSAY_TRY(schema.overload, parse_name());
    ASSAY_TRY_VOID(expect("("));
    bool keyword_only = false;
    while (!accept(")")) {
      if (accept("*")) {
        keyword_only = true;
      } else {
        ASSAY_TRY(auto param, parse_param());
        param.keyword_only = keyword_only;
        schema.params.push_back(std::move(param));
      }
      if (!accept(",") && peek() != ')') return error("',' or ')'");
    }
    ASSAY_TRY_VOID(expect("->"));
    if (accept("(")) {
      while (!accept(")")) {
        ASSAY_TRY(auto result, parse_return());
        schema.returns.push_back(result);
        accept(",");
      }
    } else {
      ASSAY_TRY(auto result, parse_return());
      schema.returns.push_back(result);
    }
    if (at_ != text_.size()) return error("the end");
    return schema;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  auto peek() -> char {
    skip_spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  auto accept(std::string_view token) -> bool {
    skip_spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  auto error(std::string_view expected) -> std::unexpected<Error> {
    return bad_input("schema column {}: expected {}", at_ + 1, expected);
  }
  auto expect(std::string_view token) -> Result<void> {
    if (!accept(token)) return error(token);
    return {};
  }
  auto word() -> std::string_view {
    skip_spaces();
    const auto start = at_;
    while (at_ < text_.size() &&
           ((std::isalnum(static_cast<unsigned char>(text_[at_])) != 0) || text_[at_] == '_'))
      ++at_;
    return text_.substr(start, at_ - start);
  }

  /// `aten::add.Tensor` -> aten.add.Tensor; plain functions of other namespaces get no overload.
  auto parse_name() -> Result<std::string> {
    std::string name(word());
    if (name.empty()) return error("a namespace");
    ASSAY_TRY_VOID(expect("::"));
    const bool has_overloads =
        std::ranges::find(kOperatorNamespaces, name) != std::end(kOperatorNamespaces);
    name += "." + std::string(word());
    if (accept(".")) return name + "." + std::string(word());
    return has_overloads ? name + ".default" : name;
  }

  /// Type with its alias set and list suffixes, as far as both params and returns have them.
  auto parse_type() -> Result<Param> {
    Param param;
    const auto base = word();
    if (base.empty()) return error("a type");
    param.kind = kind_of(base);
    if (accept("(")) {
      const auto set = word();
      if (set.empty()) return error("an alias set");
      param.alias = set[0];
      param.written = accept("!");
      if (accept("->")) {
        accept("*");
        word();
      }
      ASSAY_TRY_VOID(expect(")"));
    }
    if (accept("?")) param.optional = true;
    if (accept("[")) {
      param.is_list = true;
      param.items_optional = param.optional;
      param.optional = false;
      const auto digits = word();
      std::from_chars(digits.data(), digits.data() + digits.size(), param.list_length);
      ASSAY_TRY_VOID(expect("]"));
      if (accept("?")) param.optional = true;
    }
    return param;
  }

  auto parse_param() -> Result<Param> {
    ASSAY_TRY(auto param, parse_type());
    param.name = word();
    if (param.name.empty()) return error("a parameter name");
    if (std::ranges::find(kMayBeUndefined, param.name) != std::end(kMayBeUndefined))
      param.optional = true;
    if (accept("=")) {
      param.has_default = true;
      ASSAY_TRY(param.default_value, parse_default());
    }
    return param;
  }

  auto parse_return() -> Result<Return> {
    ASSAY_TRY(const auto type, parse_type());
    word();  // the optional name of a result
    return Return{.is_tensor = type.kind == ParamKind::tensor,
                  .is_list = type.is_list,
                  .alias = type.alias,
                  .written = type.written};
  }

  auto parse_default() -> Result<Datum> {
    if (accept("[")) {
      DatumList items;
      while (!accept("]")) {
        ASSAY_TRY(auto item, parse_default());
        items.push_back(std::move(item));
        if (!accept(",") && peek() != ']') return error("',' or ']'");
      }
      return Datum{std::move(items)};
    }
    if (peek() == '"' || peek() == '\'') {
      const char quote = text_[at_++];
      const auto end = text_.find(quote, at_);
      if (end == std::string_view::npos) return error("a closing quote");
      std::string value(text_.substr(at_, end - at_));
      at_ = end + 1;
      return Datum{std::move(value)};
    }
    return parse_default_word();
  }

  auto parse_default_word() -> Result<Datum> {
    skip_spaces();
    const auto rest = text_.substr(at_, text_.find_first_of(",)] ", at_) - at_);
    at_ += rest.size();
    for (const auto& row : kDefaultWords)
      if (row.word == rest) return row.make();
    if (const auto integer = number_from<std::int64_t>(rest)) return Datum{Expr(*integer)};
    if (const auto number = number_from<double>(rest)) return Datum{Expr::real(*number)};
    return error("a default value");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

auto is_number(const Datum& datum) -> bool {
  return datum.scalar() || std::holds_alternative<Complex>(datum.value);
}

/// Does a single value fit the parameter's kind? Ints are fine where floats or flags are wanted,
/// numbers where tensors are wanted (wrapped numbers).
auto fits(const Param& param, const Datum& datum) -> bool {
  switch (param.kind) {
    case ParamKind::tensor:
      return datum.is_tensor() || is_number(datum);
    case ParamKind::integer:
      return datum.is_tensor() || (datum.scalar() && datum.scalar()->type() != ExprType::real);
    case ParamKind::number:
      return is_number(datum) || datum.is_tensor();
    case ParamKind::real:
    case ParamKind::flag:
      return datum.scalar() != nullptr;
    case ParamKind::text:
      return std::holds_alternative<std::string>(datum.value);
    case ParamKind::dtype:
      return std::holds_alternative<DType>(datum.value);
    case ParamKind::layout:
      return std::holds_alternative<Layout>(datum.value);
    case ParamKind::device:
      return std::holds_alternative<Device>(datum.value);
    case ParamKind::memory_format:
      return std::holds_alternative<MemoryFormat>(datum.value);
    case ParamKind::other:
      return true;
  }
  return false;
}

auto bind_list(const Param& param, Datum datum) -> Result<Datum> {
  if (!datum.list()) {
    if (param.list_length == 0 && param.kind != ParamKind::integer)
      return bad_input("argument {} must be a list, not {}", param.name, to_string(datum));
    const auto count = static_cast<std::size_t>(param.list_length ? param.list_length : 1);
    datum = Datum{DatumList(count, datum)};
  }
  for (const auto& item : *datum.list()) {
    if (item.is_none() && param.items_optional) continue;
    if (!fits(param, item))
      return bad_input("argument {}: {} does not fit in the list", param.name, to_string(item));
  }
  return datum;
}

auto bind_one(const Param& param, Datum datum) -> Result<Datum> {
  if (datum.is_none()) {
    // None is tolerated for defaulted parameters of kinds we do not interpret.
    if (param.optional || param.kind == ParamKind::other || param.has_default) return datum;
    return bad_input("argument {} must not be None", param.name);
  }
  if (param.is_list) return bind_list(param, std::move(datum));
  if (!fits(param, datum))
    return bad_input("argument {} does not take {}", param.name, to_string(datum));
  return datum;
}

}  // namespace

auto Schema::index_of(std::string_view param) const -> int {
  for (std::size_t i = 0; i < params.size(); ++i)
    if (params[i].name == param) return static_cast<int>(i);
  return -1;
}

auto Schema::is_mutating() const -> bool {
  for (const auto& param : params)
    if (param.written) return true;
  return false;
}

auto parse_schema(std::string_view text) -> Result<Schema> {
  return SchemaParser(text).parse();
}

auto bind_arguments(const Schema& schema, DatumList positional,
                    std::vector<std::pair<std::string, Datum>> keywords) -> Result<DatumList> {
  const auto& params = schema.params;
  if (positional.size() > params.size())
    return unsupported("{} takes {} arguments, {} were given", schema.overload, params.size(),
                       positional.size());
  DatumList bound(params.size());
  std::vector<bool> given(params.size(), false);
  for (std::size_t i = 0; i < positional.size(); ++i) {
    bound[i] = std::move(positional[i]);
    given[i] = true;
  }
  for (auto& [key, datum] : keywords) {
    const int i = schema.index_of(key);
    if (i < 0) return unsupported("{} has no argument {}", schema.overload, key);
    const auto at = static_cast<std::size_t>(i);
    if (given[at]) return bad_input("{}: argument {} is given twice", schema.overload, key);
    bound[at] = std::move(datum);
    given[at] = true;
  }
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!given[i]) {
      if (!params[i].has_default && !params[i].optional && params[i].kind != ParamKind::other)
        return bad_input("{}: argument {} is missing", schema.overload, params[i].name);
      bound[i] = params[i].default_value;
    }
    auto checked = bind_one(params[i], std::move(bound[i]));
    if (!checked) return with_context(checked.error(), schema.overload);
    bound[i] = *std::move(checked);
  }
  return bound;
}

}  // namespace assay
