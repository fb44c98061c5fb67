#include "replay/formats/pt2_arguments.h"

#include <array>

#include "core/graph/targets.h"
#include "replay/formats/pt2_types.h"

namespace assay {
namespace {

auto read_none(JsonValue, const Pt2Scope&) -> Result<Arg> {
  return Arg{NoneArg{}};
}

/// `{"name": x}`
auto read_reference(JsonValue json, const Pt2Scope& scope) -> Result<Arg> {
  const auto name = json["name"].as_string();
  if (!name) return bad_input("value without a name");
  ASSAY_TRY(const auto id, scope.value(*name));
  return Arg{id};
}

/// `{"as_none": true}` or `{"as_tensor": {"name": x}}`
auto read_optional(JsonValue json, const Pt2Scope& scope) -> Result<Arg> {
  const auto [kind, value] = read_union(json);
  if (kind == "as_none") return Arg{NoneArg{}};
  if (kind == "as_tensor") return read_reference(value, scope);
  return unsupported("optional tensor of kind \"{}\"", kind);
}

auto read_number(JsonValue json, const Pt2Scope&) -> Result<Arg> {
  if (const auto value = json.as_int()) return Arg{Expr(*value)};
  if (const auto value = json.as_bool()) return Arg{Expr::boolean(*value)};
  return bad_input("number {}", json.dump());
}

auto read_real(JsonValue json, const Pt2Scope&) -> Result<Arg> {
  if (const auto value = json.as_number()) return Arg{Expr::real(*value)};
  return bad_input("number {}", json.dump());
}

auto read_complex(JsonValue json, const Pt2Scope&) -> Result<Arg> {
  const auto real = json["real"].as_number();
  const auto imag = json["imag"].as_number();
  if (!real || !imag) return bad_input("complex number {}", json.dump());
  return Arg{std::complex<double>(*real, *imag)};
}

auto read_text(JsonValue json, const Pt2Scope&) -> Result<Arg> {
  if (const auto value = json.as_string()) return Arg{std::string(*value)};
  return bad_input("text {}", json.dump());
}

/// `{"as_name": x}` or a constant of its type.
auto read_symbolic(JsonValue json, const Pt2Scope& scope) -> Result<Arg> {
  const auto [kind, value] = read_union(json);
  if (const auto name = value.as_string(); kind == "as_name" && name) {
    ASSAY_TRY(const auto id, scope.value(*name));
    return Arg{id};
  }
  if (kind == "as_float") return read_real(value, scope);
  if (kind == "as_int" || kind == "as_bool") return read_number(value, scope);
  return unsupported("symbolic argument of kind \"{}\"", kind);
}

/// Wraps a reader that needs no scope and gives an alternative of Arg.
template <auto kRead>
auto read_plain(JsonValue json, const Pt2Scope&) -> Result<Arg> {
  ASSAY_TRY(auto value, kRead(json));
  return Arg{std::move(value)};
}

auto read_sub_graph(JsonValue json, const Pt2Scope& scope) -> Result<Arg> {
  const auto name = json["name"].as_string();
  if (!name || name->empty()) return bad_input("graph without a name");
  ASSAY_TRY(const auto id, scope.sub_graph(*name, json["graph"]));
  return Arg{id};
}

/// A script object: an input of the graph, or one we only know by name.
auto read_object(JsonValue json, const Pt2Scope& scope) -> Result<Arg> {
  const auto name = json["name"].as_string();
  if (!name) return bad_input("object without a name");
  if (auto id = scope.value(*name)) return Arg{*id};
  if (!is_identifier(*name)) return bad_input("object {:?} is no name", *name);
  return Arg{RawArg{std::string(*name)}};
}

auto read_op_name(JsonValue json, const Pt2Scope&) -> Result<Arg> {
  const auto name = json.as_string();
  if (!name || !is_dotted_name(*name)) return bad_input("operator {} is no name", json.dump());
  return Arg{RawArg{std::string(*name)}};
}

auto read_dictionary(JsonValue json, const Pt2Scope& scope) -> Result<Arg> {
  if (!json.is_object()) return bad_input("dictionary {}", json.dump());
  DictArg dict;
  for (const auto& [key, value] : json.members()) {
    ASSAY_TRY(auto item, read_pt2_argument(value, scope));
    dict.items.emplace_back(key, std::move(item));
  }
  return Arg{std::move(dict)};
}

using Reader = auto (*)(JsonValue, const Pt2Scope&) -> Result<Arg>;

struct Row {
  std::string_view kind;
  int list_depth;  ///< 0 the value itself, 1 a list of it, 2 a list of lists
  Reader read;
};

constexpr std::array kRows = {
    Row{"as_none", 0, read_none},
    Row{"as_tensor", 0, read_reference},
    Row{"as_tensors", 1, read_reference},
    Row{"as_nested_tensors", 2, read_reference},
    Row{"as_optional_tensor", 0, read_optional},
    Row{"as_optional_tensors", 1, read_optional},
    Row{"as_int", 0, read_number},
    Row{"as_ints", 1, read_number},
    Row{"as_int_lists", 2, read_number},
    Row{"as_bool", 0, read_number},
    Row{"as_bools", 1, read_number},
    Row{"as_float", 0, read_real},
    Row{"as_floats", 1, read_real},
    Row{"as_float_lists", 2, read_real},
    Row{"as_complex", 0, read_complex},
    Row{"as_string", 0, read_text},
    Row{"as_strings", 1, read_text},
    Row{"as_sym_int", 0, read_symbolic},
    Row{"as_sym_ints", 1, read_symbolic},
    Row{"as_sym_float", 0, read_symbolic},
    Row{"as_sym_floats", 1, read_symbolic},
    Row{"as_sym_bool", 0, read_symbolic},
    Row{"as_sym_bools", 1, read_symbolic},
    Row{"as_scalar_type", 0, read_plain<read_pt2_dtype>},
    Row{"as_layout", 0, read_plain<read_pt2_layout>},
    Row{"as_memory_format", 0, read_plain<read_pt2_memory_format>},
    Row{"as_device", 0, read_plain<read_pt2_device>},
    Row{"as_graph", 0, read_sub_graph},
    Row{"as_custom_obj", 0, read_object},
    Row{"as_operator", 0, read_op_name},
    Row{"as_string_to_argument", 0, read_dictionary},
};

auto read_lists(JsonValue json, int depth, Reader read, const Pt2Scope& scope) -> Result<Arg> {
  if (depth == 0) return read(json, scope);
  if (!json.is_array()) return bad_input("list {}", json.dump());
  SequenceArg list;
  for (const auto item : json.items()) {
    ASSAY_TRY(auto arg, read_lists(item, depth - 1, read, scope));
    list.items.push_back(std::move(arg));
  }
  return Arg{std::move(list)};
}

}  // namespace

auto read_pt2_argument(JsonValue json, const Pt2Scope& scope) -> Result<Arg> {
  const auto [kind, value] = read_union(json);
  for (const auto& row : kRows)
    if (row.kind == kind) return read_lists(value, row.list_depth, row.read, scope);
  if (kind.empty()) return bad_input("argument is no union: {}", json.dump().substr(0, 120));
  return unsupported("argument of kind \"{}\"", kind);
}

auto pt2_value_name(JsonValue argument) -> std::optional<std::string_view> {
  const auto found = read_union(argument).value;
  if (const auto name = found["name"].as_string()) return name;
  return found["as_name"].as_string();
}

}  // namespace assay
