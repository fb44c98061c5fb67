#include "replay/conform/one_operator.h"

#include <algorithm>
#include <cmath>

#include "core/ops/schema.h"

namespace assay {
namespace {

auto is_significant(const FakePrediction& claimed, const RealMeta& real) -> bool {
  if (claimed.dtype != real.dtype || claimed.sizes != real.sizes) return true;
  if (numel(real) == 0) return false;
  for (std::size_t d = 0; d < real.sizes.size(); ++d)
    if (real.sizes[d] > 1 && claimed.strides[d] != real.strides[d]) return true;
  return claimed.offset != real.offset;
}

auto claim_of(const FakePrediction& prediction) -> TensorMeta {
  RealMeta meta;
  meta.dtype = prediction.dtype;
  meta.sizes = prediction.sizes;
  meta.strides = prediction.strides;
  meta.offset = prediction.offset;
  return to_claim(meta);
}

auto observe(const Tensor& tensor, bool with_values) -> Observation {
  Observation seen;
  seen.tensor = tensor.meta;
  if (!with_values) return seen;
  double sum = 0;
  double abs_sum = 0;
  for (const auto& value : to_vector<Complex>(tensor)) {
    sum += value.real();
    abs_sum += std::abs(value);
  }
  seen.sum = sum;
  seen.abs_sum = abs_sum;
  return seen;
}

/// The results of a call, lists of tensors taken apart.
auto leaves_of(const OperatorCase& record) -> DatumList {
  DatumList leaves;
  for (const auto& result : record.results) {
    if (const auto* list = result.list())
      leaves.insert(leaves.end(), list->begin(), list->end());
    else
      leaves.push_back(result);
  }
  return leaves;
}

class Builder {
 public:
  explicit Builder(const OperatorCase& record) : record_(record) {
    capture_.format = "operator case";
    capture_.kind = "inf";
    capture_.source_path = fmt::format("case {}", record.id);
    capture_.environment.emplace_back("opinfo", record.opinfo);
    capture_.environment.emplace_back("variant", record.variant);
    for (const auto& storage : record.before) {
      const auto bytes = storage->bytes();
      StorageData data;
      data.size_bytes = storage->size_bytes();
      data.content = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
      capture_.storages.push_back(std::move(data));
    }
  }

  auto build() -> Result<Capture> {
    Node call;
    call.name = "call";
    call.target = record_.overload;
    for (const auto& arg : record_.args) call.args.push_back(to_arg(arg));
    for (const auto& [key, value] : record_.kwargs) call.kwargs.emplace_back(key, to_arg(value));
    ASSAY_TRY(const auto tuple, describe_results(call));
    const auto id = capture_.graph.add(std::move(call));
    capture_.observed[id] = observation_;
    Node output;
    output.kind = NodeKind::output;
    output.name = "output";
    SequenceArg results{.items = {}, .is_tuple = true};
    if (tuple)
      add_items(id, results);
    else
      results.items.push_back(Arg{id});
    output.args.push_back(Arg{std::move(results)});
    capture_.graph.add(std::move(output));
    return std::move(capture_);
  }

 private:
  /// One placeholder per distinct tensor argument; lists and scalars are written out.
  auto to_arg(const Datum& datum) -> Arg { return std::visit(Convert{*this}, datum.value); }
  struct Convert {
    Builder& builder;
    auto operator()(std::monostate) const -> Arg { return {NoneArg{}}; }
    auto operator()(const FakeTensor&) const -> Arg { return {NoneArg{}}; }
    auto operator()(const Tensor& tensor) const -> Arg { return {builder.placeholder(tensor)}; }
    auto operator()(const DatumList& list) const -> Arg {
      SequenceArg items;
      for (const auto& item : list) items.items.push_back(builder.to_arg(item));
      return {std::move(items)};
    }
    auto operator()(const auto& value) const -> Arg { return {value}; }
  };

  auto placeholder(const Tensor& tensor) -> NodeId {
    for (const auto& [seen, id] : placeholders_)
      if (seen.storage == tensor.storage && seen.meta == tensor.meta) return id;
    const auto at = std::ranges::find(record_.before, tensor.storage) - record_.before.begin();
    Node node;
    node.kind = NodeKind::placeholder;
    node.name = fmt::format("arg{}_1", placeholders_.size());
    node.target = node.name;
    node.claim.value = to_claim(tensor.meta);
    const auto id = capture_.graph.add(std::move(node));
    capture_.inputs.emplace_back(RecordedTensor{static_cast<int>(at), tensor.meta});
    placeholders_.emplace_back(tensor, id);
    return id;
  }

  /// Claims and observations of the call. True if it returns several results.
  auto describe_results(Node& call) -> Result<bool> {
    const auto leaves = leaves_of(record_);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (!leaves[i].real() && !leaves[i].is_none())
        return unsupported("case {}: result {} is not a tensor", record_.id, i);
      Claim claim;
      if (i < record_.fake.size())
        if (const auto& fake = record_.fake[i]) claim.value = claim_of(*fake);
      items_.push_back(std::move(claim));
      observations_.push_back(leaves[i].real() ? observe(*leaves[i].real(), !record_.seeded)
                                               : Observation{});
    }
    const bool tuple = leaves.size() != 1 || record_.results[0].list() != nullptr || returns_list();
    if (!tuple) {
      call.claim = items_[0];
      observation_ = observations_[0];
      return false;
    }
    call.claim.value = items_;
    observation_.items = observations_;
    observation_.is_tuple = true;
    return true;
  }

  /// The recording writes a list of one result like a single result; the schema tells them apart.
  [[nodiscard]] auto returns_list() const -> bool {
    const auto schema = parse_schema(record_.schema);
    return schema && schema->returns.size() == 1 && schema->returns[0].is_list;
  }

  void add_items(NodeId call, SequenceArg& results) {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (!observations_[i].tensor) continue;
      Node item;
      item.name = fmt::format("getitem_{}", i);
      item.target = "operator.getitem";
      item.args = {Arg{call}, Arg{Expr(static_cast<std::int64_t>(i))}};
      item.claim = items_[i];
      const auto id = capture_.graph.add(std::move(item));
      capture_.observed[id] = observations_[i];
      results.items.push_back(Arg{id});
    }
  }

  const OperatorCase& record_;
  Capture capture_;
  std::vector<std::pair<Tensor, NodeId>> placeholders_;
  std::vector<Claim> items_;
  std::vector<Observation> observations_;
  Observation observation_;
};

}  // namespace

auto has_significant_fake_error(const OperatorCase& record) -> bool {
  const auto leaves = leaves_of(record);
  for (std::size_t i = 0; i < std::min(leaves.size(), record.fake.size()); ++i) {
    const auto& fake = record.fake[i];
    if (leaves[i].real() && fake && is_significant(*fake, leaves[i].real()->meta)) return true;
  }
  return false;
}

auto wrong_parts(const OperatorCase& record) -> std::string {
  const auto leaves = leaves_of(record);
  bool sizes = false, strides = false, dtype = false, offset = false;
  for (std::size_t i = 0; i < std::min(leaves.size(), record.fake.size()); ++i) {
    const auto& fake = record.fake[i];
    if (!leaves[i].real() || !fake) continue;
    const auto& real = leaves[i].real()->meta;
    sizes = sizes || fake->sizes != real.sizes;
    strides = strides || (fake->sizes == real.sizes && fake->strides != real.strides);
    dtype = dtype || fake->dtype != real.dtype;
    offset = offset || fake->offset != real.offset;
  }
  std::string parts;
  const auto add = [&](bool is_wrong, std::string_view name) {
    if (is_wrong) parts += (parts.empty() ? "" : ", ") + std::string(name);
  };
  add(dtype, "dtype");
  add(sizes, "sizes");
  add(strides, "strides");
  add(offset, "offset");
  return parts;
}

auto one_operator_capture(const OperatorCase& record) -> Result<Capture> {
  return Builder(record).build();
}

}  // namespace assay
