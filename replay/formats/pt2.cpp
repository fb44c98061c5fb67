// read_pt2: the program, its signature and the data that feeds it, put together.
#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "core/expr/text.h"
#include "replay/formats/capture.h"
#include "replay/formats/json.h"
#include "replay/formats/pt2_archive.h"
#include "replay/formats/pt2_graph.h"
#include "replay/formats/pt2_types.h"

namespace assay {
namespace {

/// Versions of torch/_export/serde/schema.py: 5 (PyTorch 2.4) to 8 (since 2.6) differ in what they
/// can say, not in how they say it.
constexpr std::int64_t kOldestSchema = 5, kNewestSchema = 8;

struct InputKind {
  std::string_view kind;
  InputRole::Kind role;
  std::string_view target_key;
};
constexpr std::array kInputKinds = {
    InputKind{"user_input", InputRole::Kind::user_input, ""},
    InputKind{"constant_input", InputRole::Kind::user_input, ""},
    InputKind{"parameter", InputRole::Kind::parameter, "parameter_name"},
    InputKind{"buffer", InputRole::Kind::buffer, "buffer_name"},
    InputKind{"tensor_constant", InputRole::Kind::constant, "tensor_constant_name"},
    InputKind{"custom_obj", InputRole::Kind::other, "custom_obj_name"},
    InputKind{"token", InputRole::Kind::other, ""},
};

struct OutputKind {
  std::string_view kind;
  OutputRole::Kind role;
  std::string_view target_key;
};
constexpr std::array kOutputKinds = {
    OutputKind{"user_output", OutputRole::Kind::user_output, ""},
    OutputKind{"loss_output", OutputRole::Kind::user_output, ""},
    OutputKind{"buffer_mutation", OutputRole::Kind::buffer_mutation, "buffer_name"},
    // A parameter is written back by its qualified name exactly as a buffer is.
    OutputKind{"parameter_mutation", OutputRole::Kind::buffer_mutation, "parameter_name"},
    OutputKind{"user_input_mutation", OutputRole::Kind::input_mutation, "user_input_name"},
    OutputKind{"gradient_to_parameter", OutputRole::Kind::gradient, "parameter_name"},
    OutputKind{"gradient_to_user_input", OutputRole::Kind::gradient, "user_input_name"},
    OutputKind{"token", OutputRole::Kind::other, ""},
};

template <class Role, class Rows>
auto read_roles(JsonValue specs, const Rows& rows, std::string_view what)
    -> Result<std::vector<Role>> {
  std::vector<Role> roles;
  for (const auto spec : specs.items()) {
    const auto [kind, value] = read_union(spec);
    const auto row = std::ranges::find(rows, kind, [](const auto& r) { return r.kind; });
    if (row == rows.end()) return unsupported("signature: {} of kind \"{}\"", what, kind);
    const auto target = value[row->target_key].as_string().value_or("");
    roles.push_back({row->role, std::string(target)});
  }
  return roles;
}

/// Names of constant inputs, which the graph itself does not name.
auto constant_names(JsonValue input_specs) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const auto spec : input_specs.items())
    names.emplace_back(spec["constant_input"]["name"].as_string().value_or(""));
  return names;
}

/// Follows containers in the order of torch.utils._pytree: dictionaries by insertion.
void flatten(const Pickle& pickle, PickleId id, std::vector<PickleId>& leaves) {
  const auto& value = pickle.at(id).value;
  if (const auto* list = std::get_if<PickleList>(&value)) {
    for (const auto item : list->items) flatten(pickle, item, leaves);
  } else if (const auto* dict = std::get_if<PickleDict>(&value)) {
    for (const auto& [key, item] : dict->items) flatten(pickle, item, leaves);
  } else {
    leaves.push_back(id);
  }
}

/// Keyword names in the order of the signature, out of the in_spec of the root module:
/// `[1, {"children_spec": [args, {"context": "[\"x\", \"y\"]", ...}], ...}]`.
auto keyword_order(JsonValue module_call_graph) -> std::vector<std::string> {
  std::vector<std::string> names;
  const auto entries = module_call_graph.items();
  const auto spec = entries.empty() ? std::nullopt : entries[0]["signature"]["in_spec"].as_string();
  if (!spec) return names;
  const auto tree = JsonDocument::parse(*spec, "in_spec");
  if (!tree || tree->root().items().size() != 2) return names;
  const auto children = tree->root().items()[1]["children_spec"].items();
  const auto context = children.size() != 2 ? std::nullopt : children[1]["context"].as_string();
  const auto keys = JsonDocument::parse(context.value_or("[]"), "in_spec");
  if (!keys) return names;
  for (const auto key : keys->root().items()) names.emplace_back(key.as_string().value_or(""));
  return names;
}

/// Leaves of the recorded call `(args, kwargs)` in the order of the user inputs.
auto sample_leaves(const Pickle& pickle, const std::vector<std::string>& keywords)
    -> std::optional<std::vector<PickleId>> {
  const auto* call = std::get_if<PickleList>(&pickle.at(pickle.root).value);
  if (call == nullptr || call->items.size() != 2) return std::nullopt;
  const auto* kwargs = std::get_if<PickleDict>(&pickle.at(call->items[1]).value);
  if (kwargs == nullptr) return std::nullopt;
  auto items = kwargs->items;
  const auto rank = [&](const std::pair<PickleId, PickleId>& item) {
    const auto* name = std::get_if<std::string>(&pickle.at(item.first).value);
    return name == nullptr ? keywords.end() : std::ranges::find(keywords, *name);
  };
  std::ranges::stable_sort(items, {}, rank);
  std::vector<PickleId> leaves;
  flatten(pickle, call->items[0], leaves);
  for (const auto& [key, value] : items) flatten(pickle, value, leaves);
  return leaves;
}

auto scalar_of(const PickleValue& value) -> InputValue {
  if (const auto* number = std::get_if<std::int64_t>(&value.value)) return Expr(*number);
  if (const auto* number = std::get_if<double>(&value.value)) return Expr::real(*number);
  if (const auto* truth = std::get_if<bool>(&value.value)) return Expr::boolean(*truth);
  if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
  if (std::holds_alternative<std::monostate>(value.value)) return NoneArg{};
  return std::monostate{};
}

/// What the program says about an input that is no tensor and no symbol.
auto constant_of(JsonValue spec) -> InputValue {
  const auto [kind, value] = read_union(spec["constant_input"]["value"]);
  if (kind == "as_none") return NoneArg{};
  if (const auto text = value.as_string(); kind == "as_string" && text) return std::string(*text);
  return std::monostate{};
}

/// Feeds user inputs from the recorded call. Positions of `inputs` that it cannot fill stay as
/// they are, and a warning says why.
void feed_user_inputs(const Pt2Archive& archive, const std::vector<std::string>& keywords,
                      Capture& capture) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < capture.input_roles.size(); ++i)
    if (capture.input_roles[i].kind == InputRole::Kind::user_input) positions.push_back(i);
  if (!archive.sample_inputs) return;
  const auto& file = *archive.sample_inputs;
  const auto leaves = sample_leaves(file.pickle, keywords);
  if (!leaves || leaves->size() != positions.size()) {
    capture.warnings.push_back(fmt::format("sample inputs: {} values for {} inputs",
                                           leaves ? leaves->size() : 0, positions.size()));
    return;
  }
  TorchFileStorages storages(file, capture.storages);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto& leaf = file.pickle.at((*leaves)[i]);
    auto& input = capture.inputs[positions[i]];
    if (const auto* tensor = std::get_if<PickleTensor>(&leaf.value))
      input = storages.add(*tensor);
    else
      input = scalar_of(leaf);
  }
}

/// Value of a placeholder that is not fed by the user.
auto stored_value(const Pt2Archive& archive, const InputRole& role, Capture& capture)
    -> InputValue {
  for (const auto* tensors : {&archive.weights, &archive.constants})
    if (const auto found = tensors->find(role.target); found != tensors->end())
      return found->second;
  if (role.kind != InputRole::Kind::other)
    capture.warnings.push_back(fmt::format("no data for \"{}\"", role.target));
  return std::monostate{};
}

auto feed_inputs(const Pt2Archive& archive, JsonValue module, Capture& capture) -> Result<void> {
  std::vector<const Node*> placeholders;
  for (const auto& node : capture.graph.nodes)
    if (node.kind == NodeKind::placeholder) placeholders.push_back(&node);
  if (placeholders.size() != capture.input_roles.size())
    return bad_input("signature: {} inputs, but the graph has {}", capture.input_roles.size(),
                     placeholders.size());
  capture.storages = archive.storages;
  const auto specs = module["signature"]["input_specs"].items();
  for (std::size_t i = 0; i < placeholders.size(); ++i) {
    const auto& role = capture.input_roles[i];
    const auto* constant = placeholders[i]->claim.scalar();
    if (role.kind != InputRole::Kind::user_input)
      capture.inputs.push_back(stored_value(archive, role, capture));
    else if (constant != nullptr && constant->is_const())
      capture.inputs.emplace_back(*constant);
    else
      capture.inputs.push_back(constant_of(specs[i]));
  }
  feed_user_inputs(archive, keyword_order(module["module_call_graph"]), capture);
  return {};
}

/// Says where the symbols of user inputs come from, in the words of PyTorch's guards.
void add_sources(const Capture& capture, ShapeEnv& env) {
  std::size_t index = 0;
  for (const auto& node : capture.graph.nodes) {
    if (node.kind != NodeKind::placeholder) break;
    const auto* meta = node.claim.tensor();
    const bool is_user = capture.input_roles[index++].kind == InputRole::Kind::user_input;
    if (meta == nullptr || !is_user) continue;
    for (std::size_t dim = 0; dim < meta->sizes.size(); ++dim)
      if (meta->sizes[dim].op() == ExprOp::symbol)
        env.add_source(meta->sizes[dim], fmt::format("L['{}'].size()[{}]", node.name, dim));
  }
}

/// `L['args'][0]['mask']` -> `args_0_mask`, the name export gives to such an input.
auto input_name(std::string_view source) -> std::string {
  std::string name;
  for (const char c : source) {
    const bool is_word = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (is_word)
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  while (name.ends_with('_')) name.pop_back();
  return name;
}

/// The claim that `.size()[1]` and the like mean, given the tensor and the text after it. Consumed
/// characters are taken off `rest`.
auto read_property(const TensorMeta& meta, std::string_view& rest) -> std::optional<Expr> {
  if (rest.starts_with(".storage_offset()")) {
    rest.remove_prefix(17);
    return meta.offset;
  }
  const bool is_size = rest.starts_with(".size()[");
  if (!is_size && !rest.starts_with(".stride()[")) return std::nullopt;
  const auto& dims = is_size ? meta.sizes : meta.strides;
  rest.remove_prefix(is_size ? 8 : 10);
  std::size_t dim = 0;
  while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9' && dim < 1000) {
    dim = dim * 10 + static_cast<std::size_t>(rest[0] - '0');
    rest.remove_prefix(1);
  }
  if (!rest.starts_with(']') || dim >= dims.size()) return std::nullopt;
  rest.remove_prefix(1);
  return dims[dim];
}

/// The input that a source names: `L['x']` by its name, `L['flat_args'][2]` by its place among what
/// the user passes.
auto input_of(const Capture& capture, std::string_view source) -> const Node* {
  constexpr std::string_view kFlat = "flat_args_";
  const auto name = input_name(source);
  if (const auto* node = capture.graph.find(name)) return node;
  if (!name.starts_with(kFlat)) return nullptr;
  std::size_t wanted = 0;
  const auto digits = std::string_view(name).substr(kFlat.size());
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), wanted);
  if (error != std::errc{} || end != digits.data() + digits.size()) return nullptr;
  std::size_t index = 0;
  for (const auto& node : capture.graph.nodes) {
    if (node.kind != NodeKind::placeholder) break;
    if (capture.input_roles[index++].kind != InputRole::Kind::user_input) continue;
    if (wanted-- == 0) return &node;
  }
  return nullptr;
}

/// A guard with what it says about inputs in terms of their claims.
struct PlainGuard {
  std::string text;
  /// Sizes of tensors that inputs are views of, which nothing claims: symbols of their own.
  std::vector<std::pair<std::string, std::string>> bases;  ///< name, source
};

/// `L['x'].size()[0]` becomes what the graph claims of input x, `L['x']._base.size()[0]` a symbol.
auto without_sources(const Capture& capture, std::string_view text) -> std::optional<PlainGuard> {
  constexpr std::string_view kBase = "._base";
  PlainGuard plain;
  while (!text.empty()) {
    if (!text.starts_with("L['")) {
      plain.text += text[0];
      text.remove_prefix(1);
      continue;
    }
    const auto end = text.find(".s", text.find("']"));
    if (end == std::string_view::npos) return std::nullopt;
    auto source = text.substr(3, end - 3);
    if (source.ends_with(kBase)) {
      source.remove_suffix(kBase.size());
      const bool is_offset = text.substr(end).starts_with(".storage_offset()");
      const auto last = text.find(is_offset ? ')' : ']', end);
      if (last == std::string_view::npos || input_of(capture, source) == nullptr)
        return std::nullopt;
      const auto whole = text.substr(0, last + 1);
      plain.bases.emplace_back(
          fmt::format("{}_base_{}", input_name(source), input_name(whole.substr(end))), whole);
      plain.text += plain.bases.back().first;
      text.remove_prefix(whole.size());
      continue;
    }
    const auto* node = input_of(capture, source);
    text.remove_prefix(end);
    if (node == nullptr || node->claim.tensor() == nullptr) return std::nullopt;
    const auto value = read_property(*node->claim.tensor(), text);
    if (!value) return std::nullopt;
    plain.text += "(" + print_expr(*value, ExprSpelling::python) + ")";
  }
  return plain;
}

void add_guards(JsonValue guards_code, Pt2Symbols& symbols, Capture& capture) {
  for (const auto item : guards_code.items()) {
    const auto text = item.as_string().value_or("");
    const auto plain = without_sources(capture, text);
    const auto condition = plain ? symbols.parse(plain->text) : bad_input("no such input");
    if (!condition || condition->type() != ExprType::boolean) {
      capture.warnings.push_back(fmt::format("guard was not understood: {}", text));
      continue;
    }
    for (const auto& [name, source] : plain->bases)
      if (const auto* symbol = symbols.env().find(name); symbol && symbol->sources.empty()) {
        const auto expr = symbol->expr;
        symbols.env().set_range(expr, {Expr(0), Expr::infinity()});
        symbols.env().add_source(expr, source);
      }
    symbols.env().add_guard({*condition, std::string(text), "guards_code"});
  }
}

void describe(JsonValue program, Capture& capture) {
  capture.format = "pt2";
  capture.kind = "export";
  capture.guards_recorded = true;  // ranges here, the rest as asserts in the graph
  auto& environment = capture.environment;
  environment.emplace_back("torch", program["torch_version"].as_string().value_or("unknown"));
  const auto version = program["schema_version"];
  environment.emplace_back("export schema",
                           fmt::format("{}.{}", version["major"].dump(), version["minor"].dump()));
  for (const auto& [name, number] : program["opset_version"].members())
    environment.emplace_back(fmt::format("opset {}", name), number.dump());
  for (const auto verifier : program["verifiers"].items())
    environment.emplace_back("dialect", verifier.as_string().value_or(""));
  if (const auto dialect = program["dialect"].as_string())  // until PyTorch 2.4
    environment.emplace_back("dialect", *dialect);
}

auto check_schema(JsonValue program) -> Result<void> {
  const auto major = program["schema_version"]["major"].as_int();
  if (!program["graph_module"].is_object() || !major)
    return bad_input("program: not an ExportedProgram");
  if (*major < kOldestSchema || *major > kNewestSchema)
    return unsupported("program: export schema {} (known: {} to {})", *major, kOldestSchema,
                       kNewestSchema);
  return {};
}

auto has_offset(const Claim& claim) -> bool {
  if (const auto* items = claim.items()) return std::ranges::any_of(*items, has_offset);
  return claim.tensor() && !claim.tensor()->offset.is_int(0);
}

void leave_offset_open(Claim& claim) {
  claim.stated.offset = false;
  if (auto* items = std::get_if<std::vector<Claim>>(&claim.value))
    for (auto& item : *items) leave_offset_open(item);
}

/// Until about PyTorch 2.9 the writer puts 0 for every offset (_export/serde/serialize.py says so
/// in a comment), which states nothing.
void check_offsets(JsonValue program, Graph& graph) {
  constexpr std::int64_t kSurelyWritten = 17;  // PyTorch 2.11
  if (program["schema_version"]["minor"].as_int().value_or(0) >= kSurelyWritten) return;
  if (std::ranges::any_of(graph.nodes, [](const Node& node) { return has_offset(node.claim); }))
    return;
  for (auto& node : graph.nodes) leave_offset_open(node.claim);
}

}  // namespace

auto read_pt2(std::string_view bytes) -> Result<Capture> {
  ASSAY_TRY(auto archive, read_pt2_archive(bytes));
  ASSAY_TRY(const auto document, JsonDocument::parse(archive.program, "program"));
  const auto program = document.root();
  ASSAY_TRY_VOID(check_schema(program));
  const auto module = program["graph_module"];
  const auto signature = module["signature"];
  Capture capture;
  capture.warnings = archive.warnings;
  describe(program, capture);
  Pt2Symbols symbols;
  ASSAY_TRY_VOID(symbols.read_ranges(program["range_constraints"]));
  ASSAY_TRY(capture.graph,
            read_pt2_graph(module["graph"], symbols, constant_names(signature["input_specs"])));
  check_offsets(program, capture.graph);
  ASSAY_TRY(capture.input_roles,
            read_roles<InputRole>(signature["input_specs"], kInputKinds, "input"));
  ASSAY_TRY(capture.output_roles,
            read_roles<OutputRole>(signature["output_specs"], kOutputKinds, "output"));
  ASSAY_TRY_VOID(feed_inputs(archive, module, capture));
  add_sources(capture, symbols.env());
  add_guards(program["guards_code"], symbols, capture);
  // Symbols turn up anywhere in a program, so graphs get the environment when all are known.
  set_env(capture.graph, symbols.env());
  return capture;
}

}  // namespace assay
