#include "replay/formats/pt2_graph.h"

#include <array>
#include <charconv>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/targets.h"
#include "core/graph/text.h"
#include "replay/formats/pt2_arguments.h"

namespace assay {
namespace {

constexpr int kMaxGraphDepth = 32;

/// An output of a multi-output node that nobody has asked for yet.
struct Unused {
  NodeId tuple;
  std::int64_t index;
  Claim claim;
};

class GraphReader {
 public:
  GraphReader(JsonValue json, Pt2Symbols& symbols, int depth)
      : json_(json), symbols_(symbols), depth_(depth) {
    scope_.value = [this](std::string_view name) { return value(name); };
    scope_.sub_graph = [this](std::string_view name, JsonValue graph) {
      return read_sub_graph(name, graph);
    };
  }
  GraphReader(const GraphReader&) = delete;
  auto operator=(const GraphReader&) -> GraphReader& = delete;

  auto read(const std::vector<std::string>& constant_names) -> Result<Graph>;

 private:
  void collect_values();
  auto claim_of(std::string_view name) -> Result<Claim>;
  auto value(std::string_view name) -> Result<NodeId>;
  auto unique_name(std::string_view wanted) -> std::string;
  auto add(Node node) -> Result<NodeId>;

  auto read_input(JsonValue json, std::size_t index, const std::string& constant_name)
      -> Result<void>;
  auto read_node(JsonValue json) -> Result<void>;
  auto read_node_inputs(JsonValue json, Node& node) -> Result<void>;
  auto read_outputs(JsonValue json) -> Result<void>;

  // What a node produces.
  auto finish_node(JsonValue json, Node node) -> Result<void>;
  auto claim_of_output(JsonValue output) -> Result<Claim>;
  auto add_getitems(NodeId tuple, std::span<const JsonValue> outputs, const Claim& claim)
      -> Result<void>;
  auto add_getitem(NodeId tuple, std::int64_t index, std::string_view name, const Claim& claim)
      -> Result<NodeId>;

  auto argument(JsonValue json) -> Result<Arg> { return read_pt2_argument(json, scope_); }
  auto read_sub_graph(std::string_view name, JsonValue json) -> Result<NodeId>;

  JsonValue json_;
  Pt2Symbols& symbols_;
  int depth_;
  Pt2Scope scope_;
  Graph graph_;
  std::unordered_map<std::string_view, JsonValue> tensors_;
  std::unordered_map<std::string_view, JsonValue> scalars_;
  std::unordered_map<std::string, NodeId> values_;
  std::unordered_map<std::string, Unused> unused_;
  std::unordered_set<std::string> names_;
};

/// Innermost frame of a stack trace text, as the comments of print_readable give it.
auto read_origin(JsonValue metadata) -> std::optional<Origin> {
  Origin origin;
  const auto trace = metadata["stack_trace"].as_string().value_or("");
  constexpr std::string_view kFile = "File \"";
  if (const auto at = trace.rfind(kFile); at != std::string_view::npos) {
    const auto frame = trace.substr(at + kFile.size());
    const auto quote = frame.find("\", line ");
    const auto end = std::min(frame.find('\n'), frame.size());
    if (quote != std::string_view::npos && quote < end) {
      const auto rest = frame.substr(quote + 8, end - quote - 8);
      origin.file = frame.substr(0, quote);
      std::from_chars(rest.data(), rest.data() + rest.size(), origin.line);
      if (const auto in = rest.find(", in "); in != std::string_view::npos)
        origin.function = rest.substr(in + 5);
      auto code = frame.substr(std::min(end + 1, frame.size()));
      code = code.substr(0, code.find('\n'));
      code.remove_prefix(std::min(code.find_first_not_of(' '), code.size()));
      origin.code = code;
    }
  }
  // `key,path,type;key,path,type`: the path of the last entry is the innermost module.
  const auto stack = metadata["nn_module_stack"].as_string().value_or("");
  const auto entry = stack.substr(stack.rfind(';') + 1);
  const auto first = entry.find(',');
  const auto last = entry.rfind(',');
  if (first != last && !entry.starts_with("_empty_nn_module_stack"))
    origin.module = entry.substr(first + 1, last - first - 1);
  if (origin.empty()) return std::nullopt;
  return origin;
}

/// PyTorch names an output that has no user `<node>_unused_<index>`; FX has no node for it.
auto is_unused_name(std::string_view name, std::int64_t index) -> bool {
  return name.ends_with(fmt::format("_unused_{}", index));
}

/// `torch.ops.aten.add.Tensor` -> `add_tensor`: FX's way of naming a node after its target.
auto name_from_target(std::string_view target) -> std::string {
  auto name = std::string(target);
  if (const auto dot = name.rfind('.'); dot != std::string::npos) {
    const auto before = dot == 0 ? std::string::npos : name.rfind('.', dot - 1);
    name = name.substr(before == std::string::npos ? 0 : before + 1);
  }
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name.empty() ? "node" : name;
}

void GraphReader::collect_values() {
  for (const auto& [name, meta] : json_["tensor_values"].members()) tensors_.emplace(name, meta);
  for (const auto* key : {"sym_int_values", "sym_float_values", "sym_bool_values"})
    for (const auto& [name, scalar] : json_[key].members()) scalars_.emplace(name, scalar);
}

auto GraphReader::claim_of(std::string_view name) -> Result<Claim> {
  if (const auto found = tensors_.find(name); found != tensors_.end()) {
    if (!has_strides(found->second)) return Claim{};  // nothing that layouts could describe
    auto meta = symbols_.read_meta(found->second);
    if (!meta)
      return with_context(std::move(meta).error(), fmt::format("tensor value \"{}\"", name));
    return Claim{*std::move(meta)};
  }
  if (const auto found = scalars_.find(name); found != scalars_.end()) {
    auto scalar = symbols_.read_number(found->second);
    if (!scalar)
      return with_context(std::move(scalar).error(), fmt::format("scalar value \"{}\"", name));
    return Claim{*scalar};
  }
  return Claim{};
}

auto GraphReader::value(std::string_view name) -> Result<NodeId> {
  const auto key = std::string(name);
  if (const auto found = values_.find(key); found != values_.end()) return found->second;
  if (const auto found = unused_.find(key); found != unused_.end())
    return add_getitem(found->second.tuple, found->second.index, name, found->second.claim);
  return bad_input("unknown value \"{}\"", name);
}

auto GraphReader::unique_name(std::string_view wanted) -> std::string {
  auto name = std::string(wanted);
  for (int i = 1; names_.contains(name) || tensors_.contains(name) || scalars_.contains(name); ++i)
    name = fmt::format("{}_{}", wanted, i);
  return name;
}

/// Names end up in Python text that people run, so only what is a name may pass as one.
auto GraphReader::add(Node node) -> Result<NodeId> {
  if (!is_identifier(node.name)) return bad_input("{:?} is no name", node.name.substr(0, 80));
  if (!names_.insert(node.name).second) return bad_input("name \"{}\" appears twice", node.name);
  return graph_.add(std::move(node));
}

auto GraphReader::read(const std::vector<std::string>& constant_names) -> Result<Graph> {
  if (depth_ > kMaxGraphDepth) return bad_input("graphs are nested deeper than {}", kMaxGraphDepth);
  if (!json_["inputs"].is_array() || !json_["nodes"].is_array() || !json_["outputs"].is_array())
    return bad_input("graph lacks inputs, nodes or outputs");
  collect_values();
  std::size_t index = 0;
  for (const auto input : json_["inputs"].items()) {
    const auto name = index < constant_names.size() ? constant_names[index] : std::string();
    auto done = read_input(input, index, name);
    if (!done) return with_context(std::move(done).error(), fmt::format("graph input {}", index));
    ++index;
  }
  index = 0;
  for (const auto node : json_["nodes"].items()) {
    auto done = read_node(node);
    if (!done) {
      const auto name = node["name"].as_string().value_or(node["target"].as_string().value_or("?"));
      return with_context(std::move(done).error(), fmt::format("node {} \"{}\"", index, name));
    }
    ++index;
  }
  ASSAY_TRY_VOID(read_outputs(json_));
  return std::move(graph_);
}

auto GraphReader::read_input(JsonValue json, std::size_t index, const std::string& constant_name)
    -> Result<void> {
  Node node;
  node.kind = NodeKind::placeholder;
  const auto name = pt2_value_name(json);
  if (name) {
    node.name = *name;
    ASSAY_TRY(node.claim, claim_of(*name));
  } else {
    node.name = unique_name(constant_name.empty() ? fmt::format("arg{}", index) : constant_name);
    ASSAY_TRY(const auto constant, argument(json));
    if (const auto* expr = std::get_if<Expr>(&constant.value)) node.claim.value = *expr;
  }
  node.target = node.name;
  const auto key = node.name;
  ASSAY_TRY(const auto id, add(std::move(node)));
  values_.emplace(key, id);
  return {};
}

auto GraphReader::read_node(JsonValue json) -> Result<void> {
  const auto target = json["target"].as_string();
  if (!target) return bad_input("no target");
  Node node;
  node.target = canonical_target(*target);
  if (!is_dotted_name(node.target)) return unsupported("operator {:?}", target->substr(0, 80));
  ASSAY_TRY_VOID(read_node_inputs(json, node));
  node.origin = read_origin(json["metadata"]);
  return finish_node(json, std::move(node));
}

auto GraphReader::read_node_inputs(JsonValue json, Node& node) -> Result<void> {
  constexpr std::int64_t kKeyword = 2;
  // Archives from before `kind` name every argument of an operator; higher-order operators and
  // symbolic arithmetic have no names to go by.
  const bool has_names = json["target"].as_string().value_or("").starts_with("torch.ops.") &&
                         !node.target.starts_with("higher_order.");
  for (const auto input : json["inputs"].items()) {
    const auto name = input["name"].as_string().value_or("");
    const auto kind = input["kind"].as_int().value_or(0);
    auto arg = argument(input["arg"]);
    if (!arg)
      return with_context(std::move(arg).error(),
                          fmt::format("argument {}", name.empty() ? "without a name" : name));
    const bool is_keyword = kind == kKeyword || (kind == 0 && has_names && !name.empty());
    if (is_keyword && !is_identifier(name)) return bad_input("argument {:?} is no name", name);
    if (is_keyword)
      node.kwargs.emplace_back(name, *std::move(arg));
    else if (!node.kwargs.empty())
      return bad_input("argument {}: positional after a keyword", name);
    else
      node.args.push_back(*std::move(arg));
  }
  return {};
}

auto GraphReader::finish_node(JsonValue json, Node node) -> Result<void> {
  const auto outputs = json["outputs"].items();
  const auto given = json["name"].as_string();
  const auto fallback = [&] {
    return given ? std::string(*given)
                 : unique_name(name_from_target(json["target"].as_string().value_or("")));
  };
  const auto single = outputs.size() == 1 ? read_union(outputs[0]).kind : std::string_view();
  const bool is_list = single == "as_tensors" || single == "as_optional_tensors";
  // A higher-order operator may return a tuple of one, which only this flag tells from a tensor.
  const bool is_tuple_of_one =
      single == "as_tensor" && json["is_hop_single_tensor_return"].as_bool() == false;
  if (outputs.empty()) {
    node.name = fallback();
    ASSAY_TRY([[maybe_unused]] const auto id, add(std::move(node)));
    return {};
  }
  if (outputs.size() == 1 && !is_list && !is_tuple_of_one) {
    const auto name = pt2_value_name(outputs[0]);
    node.name = name ? std::string(*name) : fallback();
    ASSAY_TRY(node.claim, claim_of_output(outputs[0]));
    const auto key = node.name;
    ASSAY_TRY(const auto id, add(std::move(node)));
    values_.emplace(key, id);
    return {};
  }
  const auto parts = is_list ? read_union(outputs[0]).value.items() : outputs;
  std::vector<Claim> claims;
  for (const auto part : parts) {
    ASSAY_TRY(auto claim, claim_of_output(part));
    claims.push_back(std::move(claim));
  }
  node.name = fallback();
  node.claim.value = std::move(claims);
  const auto claim = node.claim;
  ASSAY_TRY(const auto id, add(std::move(node)));
  return add_getitems(id, parts, claim);
}

/// One output: a union, or an item of `as_tensors`, which is `{"name": x}` without a union.
auto GraphReader::claim_of_output(JsonValue output) -> Result<Claim> {
  const auto [kind, value] = read_union(output);
  if (kind == "name") return claim_of(value.as_string().value_or(""));
  if (kind == "as_tensors" || kind == "as_optional_tensors") {
    std::vector<Claim> claims;
    for (const auto item : value.items()) {
      ASSAY_TRY(auto claim, claim_of_output(item));
      claims.push_back(std::move(claim));
    }
    return Claim{std::move(claims)};
  }
  const bool is_value = kind == "as_tensor" || kind == "as_sym_int" || kind == "as_sym_bool" ||
                        kind == "as_sym_float" || kind == "as_none" || kind == "as_custom_obj" ||
                        kind == "as_optional_tensor";
  if (!is_value) return unsupported("output of kind \"{}\"", kind);
  const auto inner = kind == "as_optional_tensor" ? value : output;
  const auto name = pt2_value_name(inner);
  return name ? claim_of(*name) : Result<Claim>(Claim{});
}

auto GraphReader::add_getitems(NodeId tuple, std::span<const JsonValue> outputs, const Claim& claim)
    -> Result<void> {
  const auto& claims = *claim.items();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const auto [kind, value] = read_union(outputs[i]);
    if (kind == "as_tensors" || kind == "as_optional_tensors") {
      const auto name = unique_name(graph_.find(tuple)->name + "_" + std::to_string(i));
      ASSAY_TRY(const auto list, add_getitem(tuple, index, name, claims[i]));
      ASSAY_TRY_VOID(add_getitems(list, value.items(), claims[i]));
      continue;
    }
    const auto inner = kind == "as_optional_tensor" ? value : outputs[i];
    const auto name = kind == "name" ? value.as_string() : pt2_value_name(inner);
    if (!name) continue;  // None in place of an output
    if (is_unused_name(*name, index)) {
      unused_.emplace(*name, Unused{tuple, index, claims[i]});
      continue;
    }
    ASSAY_TRY([[maybe_unused]] const auto id, add_getitem(tuple, index, *name, claims[i]));
  }
  return {};
}

auto GraphReader::add_getitem(NodeId tuple, std::int64_t index, std::string_view name,
                              const Claim& claim) -> Result<NodeId> {
  Node node;
  node.target = "operator.getitem";
  node.name = name;
  node.args = {Arg{tuple}, Arg{Expr(index)}};
  node.claim = claim;
  node.origin = graph_.find(tuple)->origin;
  ASSAY_TRY(const auto id, add(std::move(node)));
  values_.emplace(name, id);
  return id;
}

auto GraphReader::read_outputs(JsonValue json) -> Result<void> {
  SequenceArg results{{}, true};
  std::size_t index = 0;
  for (const auto output : json["outputs"].items()) {
    auto arg = argument(output);
    if (!arg) return with_context(std::move(arg).error(), fmt::format("graph output {}", index));
    results.items.push_back(*std::move(arg));
    ++index;
  }
  Node node;
  node.kind = NodeKind::output;
  node.name = unique_name("output");
  node.target = "output";
  if (json["is_single_tensor_return"].as_bool() == true && results.items.size() == 1)
    node.args = {results.items[0]};
  else
    node.args = {Arg{std::move(results)}};
  ASSAY_TRY([[maybe_unused]] const auto id, add(std::move(node)));
  return {};
}

auto GraphReader::read_sub_graph(std::string_view name, JsonValue json) -> Result<NodeId> {
  GraphReader reader(json, symbols_, depth_ + 1);
  auto child = reader.read({});
  if (!child) return with_context(std::move(child).error(), fmt::format("sub-graph \"{}\"", name));
  Node node;
  node.kind = NodeKind::get_attr;
  node.name = unique_name(name);
  node.target = node.name;
  child->class_name = node.name;
  graph_.children.emplace_back(node.target, *std::move(child));
  return add(std::move(node));
}

}  // namespace

auto read_pt2_graph(JsonValue graph, Pt2Symbols& symbols,
                    const std::vector<std::string>& constant_names) -> Result<Graph> {
  return GraphReader(graph, symbols, 0).read(constant_names);
}

void set_env(Graph& graph, const ShapeEnv& env) {
  graph.env = env;
  for (auto& [name, child] : graph.children) set_env(child, env);
}

}  // namespace assay
