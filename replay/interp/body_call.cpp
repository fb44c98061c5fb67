#include "replay/interp/body_call.h"

#include <algorithm>
#include <unordered_map>

#include "core/ops/op_table.h"
#include "replay/interp/run.h"

namespace assay {

auto as_list(const Datum& datum) -> DatumList {
  return datum.list() ? *datum.list() : DatumList{datum};
}

auto BodyCall::named(const Arg& arg) const -> Result<const Graph*> {
  const auto* reference = std::get_if<NodeId>(&arg.value);
  const auto* attribute = reference ? graph_.find(*reference) : nullptr;
  const auto* body = attribute ? graph_.child(attribute->target) : nullptr;
  if (!body) return unsupported("the body of {} is not in the capture", node_.target);
  return body;
}

auto BodyCall::body(std::size_t i) const -> Result<const Graph*> {
  if (i >= node_.args.size()) return bad_input("body argument {} is missing", i);
  return named(node_.args[i]);
}

auto BodyCall::last_body_of(std::size_t i) const -> Result<const Graph*> {
  const auto* tuple =
      i < node_.args.size() ? std::get_if<SequenceArg>(&node_.args[i].value) : nullptr;
  if (!tuple || tuple->items.empty()) return bad_input("argument {} is no tuple with a body", i);
  return named(tuple->items.back());
}

auto BodyCall::first_body() const -> std::size_t {
  for (std::size_t i = 0; i < node_.args.size(); ++i)
    if (body(i)) return i;
  return node_.args.size();
}

auto BodyCall::value(std::size_t i) const -> Result<Datum> {
  if (i >= node_.args.size()) return bad_input("argument {} is missing", i);
  return to_datum(node_.args[i], lookup_);
}

auto BodyCall::operands_from(std::size_t first) const -> Result<DatumList> {
  DatumList operands;
  for (auto i = first; i < node_.args.size(); ++i) {
    ASSAY_TRY(auto datum, value(i));
    auto items = as_list(datum);
    std::ranges::move(items, std::back_inserter(operands));
  }
  return operands;
}

auto BodyCall::list(std::size_t i, std::string_view keyword) const -> Result<DatumList> {
  for (const auto& [key, arg] : node_.kwargs) {
    if (key != keyword) continue;
    ASSAY_TRY(auto datum, to_datum(arg, lookup_));
    return as_list(datum);
  }
  if (i >= node_.args.size()) return DatumList{};
  ASSAY_TRY(auto datum, value(i));
  return as_list(datum);
}

auto BodyCall::run(const Graph& body, const DatumList& args, Domain& domain) -> Result<Datum> {
  std::unordered_map<std::int32_t, Datum> values;
  const Lookup lookup = [&](NodeId id) -> const Datum* {
    const auto found = values.find(id.value);
    return found == values.end() ? nullptr : &found->second;
  };
  std::size_t next = 0;
  for (const auto& node : body.nodes) {
    if (node.kind == NodeKind::placeholder) {
      if (next >= args.size()) return bad_input("the body takes more than {} inputs", args.size());
      values[node.id.value] = args[next++];
    } else if (node.kind == NodeKind::output) {
      return to_datum(node.args.at(0), lookup);
    } else if (node.kind == NodeKind::get_attr && body.child(node.target)) {
      values[node.id.value] = Datum{};
    } else if (node.kind != NodeKind::call_function && node.kind != NodeKind::call_method) {
      return unsupported("the body's {} is not an operator call", node.name);
    } else {
      auto value = run_node(body, node, domain, lookup);
      if (!value) return with_context(value.error(), "node " + node.name);
      values[node.id.value] = *std::move(value);
    }
  }
  return bad_input("the body has no output");
}

auto BodyCall::run(std::size_t body_at, const DatumList& args) const -> Result<Datum> {
  ASSAY_TRY(const auto* graph, body(body_at));
  return run(*graph, args);
}

auto BodyCall::call(std::string_view overload, DatumList args, const Keywords& keywords) const
    -> Result<Datum> {
  const auto* row = domain_.find(overload);
  if (!row) return unsupported("no row for operator {}", overload);
  ASSAY_TRY(auto bound, bind_arguments(row->schema, std::move(args), keywords));
  return domain_.run(*row, std::move(bound));
}

auto BodyCall::call(std::string_view overload, std::size_t first) const -> Result<Datum> {
  DatumList args;
  for (auto i = first; i < node_.args.size(); ++i) {
    ASSAY_TRY(args.emplace_back(), value(i));
  }
  Keywords keywords;
  for (const auto& [key, arg] : node_.kwargs) {
    ASSAY_TRY(auto datum, to_datum(arg, lookup_));
    keywords.emplace_back(key, std::move(datum));
  }
  return call(overload, std::move(args), keywords);
}

auto BodyCall::operator_name(std::size_t i) const -> Result<std::string> {
  const auto* raw = i < node_.args.size() ? std::get_if<RawArg>(&node_.args[i].value) : nullptr;
  const auto* text =
      i < node_.args.size() ? std::get_if<std::string>(&node_.args[i].value) : nullptr;
  if (!raw && !text) return bad_input("argument {} names no operator", i);
  std::string name = raw ? raw->text : *text;
  constexpr std::string_view kOps = "torch.ops.";
  if (name.starts_with(kOps)) name.erase(0, kOps.size());
  return name;
}

}  // namespace assay
