// Recurrent networks and their cells (aten/src/ATen/native/RNN.cpp, cuda/RNN.cu). Outputs lie by
// time step, also where the batch comes first.
#include <cmath>

#include "core/ops/norm.h"

namespace assay {
namespace {

enum class CellKind : std::uint8_t { lstm, gru, tanh, relu };

/// Gates that a cell computes at once, in the order of its weights.
auto gate_count(CellKind kind) -> std::size_t {
  return kind == CellKind::lstm ? 4 : kind == CellKind::gru ? 3 : 1;
}
auto sigmoid(double x) -> double {
  return 1 / (1 + std::exp(-x));
}
using Values = std::vector<double>;

/// One step of one cell for one member of the batch: gates of the input and of the state, each with
/// its bias; h and c (of lstm) become the next state. Activated gates are left in `of_input`.
void step(CellKind kind, Values& of_input, const Values& of_state, std::span<double> h,
          std::span<double> c) {
  const auto size = of_input.size() / gate_count(kind);
  for (std::size_t i = 0; i < size; ++i) {
    const auto gate = [&](std::size_t k) -> double& { return of_input[k * size + i]; };
    const auto state = [&](std::size_t k) { return of_state[k * size + i]; };
    switch (kind) {
      case CellKind::lstm:
        for (const std::size_t k : {0UL, 1UL, 3UL}) gate(k) = sigmoid(gate(k) + state(k));
        gate(2) = std::tanh(gate(2) + state(2));
        c[i] = gate(1) * c[i] + gate(0) * gate(2);
        h[i] = gate(3) * std::tanh(c[i]);
        break;
      case CellKind::gru:
        gate(0) = sigmoid(gate(0) + state(0));
        gate(1) = sigmoid(gate(1) + state(1));
        gate(2) = std::tanh(gate(2) + gate(0) * state(2));
        h[i] = gate(2) + gate(1) * (h[i] - gate(2));
        break;
      case CellKind::tanh:
        h[i] = std::tanh(gate(0) + state(0));
        break;
      case CellKind::relu:
        h[i] = std::fmax(gate(0) + state(0), 0);
        break;
    }
  }
}

/// A row-major matrix times a vector, plus a bias if there is one.
struct Linear {
  Values weight, bias;
  [[nodiscard]] auto operator()(std::span<const double> x) const -> Values {
    Values result = bias;
    result.resize(weight.size() / std::max<std::size_t>(x.size(), 1), 0);
    for (std::size_t row = 0; row < result.size(); ++row)
      for (std::size_t i = 0; i < x.size(); ++i) result[row] += weight[row * x.size() + i] * x[i];
    return result;
  }
};
/// One direction of one layer.
struct Layer {
  Linear of_input, of_state, projection;
};

// ---- whole networks -----------------------------------------------------------------------------

/// What the arguments say. Packed sequences come as rows, time after time, with the number of
/// sequences that are still there at each time; they have no batch_first.
struct Network {
  CellKind kind;
  bool has_biases, batch_first, packed;
  std::int64_t layers, directions;
  int hx, params;    ///< their positions
  std::size_t each;  ///< parameters of one direction of one layer
};
auto network_of(const Call& c) -> Network {
  const auto& name = c.row().name();
  const auto kind = name.starts_with("aten.lstm")       ? CellKind::lstm
                    : name.starts_with("aten.gru")      ? CellKind::gru
                    : name.starts_with("aten.rnn_tanh") ? CellKind::tanh
                                                        : CellKind::relu;
  Network n{.kind = kind,
            .has_biases = c.flag(param(c, "has_biases")),
            .batch_first = param(c, "batch_first") >= 0 && c.flag(param(c, "batch_first")),
            .packed = param(c, "batch_sizes") >= 0,
            .layers = std::max<std::int64_t>(c.integer(param(c, "num_layers")), 1),
            .directions = c.flag(param(c, "bidirectional")) ? 2 : 1,
            .hx = param(c, "hx"),
            .params = param(c, "params"),
            .each = 0};
  const auto* params = c.arg(n.params).list();
  n.each = params ? params->size() / static_cast<std::size_t>(n.layers * n.directions) : 0;
  return n;
}
auto plain_count(const Network& n) -> std::size_t {
  return n.has_biases ? 4 : 2;
}
/// The states given: h, and c of an lstm.
auto states(MetaCall& c, const Network& n) -> std::vector<const FakeTensor*> {
  if (n.kind == CellKind::lstm) return c.tensors(n.hx);
  return {&c.tensor(n.hx)};
}
auto network_rule(MetaCall& c) -> Datum {
  const auto n = network_of(c);
  const auto& input = c.meta(0);
  const auto given = states(c, n);
  const auto params = c.tensors(n.params);
  if (c.error() ||
      !c.require(input.rank() == (n.packed ? 2 : 3), "the input is steps of batches of features") ||
      !c.require(given.size() == (n.kind == CellKind::lstm ? 2U : 1U), "the states are given") ||
      !c.require(
          n.each == plain_count(n) || (n.kind == CellKind::lstm && n.each == plain_count(n) + 1),
          "each layer has its weights") ||
      !c.require(params.size() == n.each * static_cast<std::size_t>(n.layers * n.directions),
                 "each layer has its weights"))
    return {};
  if (c.flag(param(c, "train")) && c.real(param(c, "dropout")) > 0)
    return c.unsupported("dropout between layers"), Datum{};
  for (const auto* part : params)
    if (!c.require(part != nullptr && part->meta.rank() >= 1, "weights are tensors")) return {};
  for (const auto* state : given)
    if (!c.require(state != nullptr && state->meta.rank() == 3, "a state has three dimensions"))
      return {};
  const auto& h = given[0]->meta;
  const auto batch = n.packed ? h.sizes[1] : input.sizes[n.batch_first ? 0 : 1];
  const Dims weight{
      Expr(static_cast<std::int64_t>(gate_count(n.kind))) * given.back()->meta.sizes[2],
      input.sizes.back()};
  if (!require_same_sizes(c, params[0]->meta.sizes, weight, "the first weights fit the input") ||
      !require_same_sizes(c, h.sizes, {Expr(n.layers * n.directions), batch, h.sizes[2]},
                          "one state per layer and direction"))
    return {};
  Dims sizes = input.sizes;
  if (n.batch_first) std::swap(sizes[0], sizes[1]);
  sizes.back() = h.sizes[2] * n.directions;
  auto strides = contiguous_strides(sizes);
  if (n.batch_first) {
    std::swap(sizes[0], sizes[1]);
    std::swap(strides[0], strides[1]);
  }
  DatumList results{c.fresh(input.dtype, std::move(sizes), std::move(strides))};
  for (const auto* state : given) results.push_back(c.fresh(input.dtype, state->meta.sizes));
  return {std::move(results)};
}

auto load_layer(KernelCall& k, const Network& n, std::size_t at) -> Layer {
  const auto params = k.tensors(n.params);
  const auto part = [&](std::size_t i) { return to_vector<double>(*params[at * n.each + i]); };
  Layer layer{{part(0), {}}, {part(1), {}}, {}};
  if (n.has_biases) {
    layer.of_input.bias = part(2);
    layer.of_state.bias = part(3);
  }
  if (n.each > plain_count(n)) layer.projection.weight = part(n.each - 1);
  return layer;
}
/// The values that flow between layers: features by time and member of the batch, of which as many
/// are there as `batch` says for that time.
struct Flow {
  std::vector<std::size_t> batch;
  std::vector<Values> steps;
};
/// One direction of one layer; h and c are [members][size]. Appends its outputs to `to`.
void run_direction(const Network& n, const Layer& layer, bool backward, const Flow& from,
                   std::size_t members, std::span<double> h, std::span<double> c, Flow& to) {
  const auto h_size = h.size() / std::max<std::size_t>(members, 1);
  const auto c_size = c.size() / std::max<std::size_t>(members, 1);
  std::size_t end = backward ? from.steps.size() : 0;
  for (std::size_t i = 0; i < from.batch.size(); ++i) {
    const auto present = from.batch[backward ? from.batch.size() - 1 - i : i];
    const auto begin = backward ? end - present : end;
    end = backward ? begin : begin + present;
    for (std::size_t b = 0; b < present; ++b) {
      auto gates = layer.of_input(from.steps[begin + b]);
      const auto own_h = h.subspan(b * h_size, h_size);
      const auto own_c = c.empty() ? c : c.subspan(b * c_size, c_size);
      const auto of_state = layer.of_state(own_h);
      if (layer.projection.weight.empty()) {
        step(n.kind, gates, of_state, own_h, own_c);
      } else {
        Values wide(c_size);
        step(n.kind, gates, of_state, wide, own_c);
        std::ranges::copy(layer.projection(wide), own_h.begin());
      }
      to.steps[begin + b].insert(to.steps[begin + b].end(), own_h.begin(), own_h.end());
    }
  }
}
/// The input as steps; fails where the batch sizes do not add up.
auto input_flow(KernelCall& k, const Network& n, std::size_t members) -> Flow {
  Tensor input = k.in(0);
  if (n.batch_first) {
    std::swap(input.meta.sizes[0], input.meta.sizes[1]);
    std::swap(input.meta.strides[0], input.meta.strides[1]);
  }
  Flow flow;
  std::size_t count = 0;
  if (n.packed) {
    for (const auto size : to_vector<std::int64_t>(k.in(1))) {
      if (size < 0 ||
          static_cast<std::size_t>(size) > (flow.batch.empty() ? members : flow.batch.back()))
        return k.fail("batch sizes do not grow"), Flow{};
      flow.batch.push_back(static_cast<std::size_t>(size));
      count += flow.batch.back();
    }
    if (count != static_cast<std::size_t>(input.sizes()[0]))
      return k.fail("batch sizes count the rows"), Flow{};
  } else {
    flow.batch.assign(static_cast<std::size_t>(input.sizes()[0]), members);
    count = flow.batch.size() * members;
  }
  const auto x = to_vector<double>(input);
  const auto features = input.sizes().back();
  for (std::size_t i = 0; i < count; ++i)
    flow.steps.emplace_back(x.begin() + static_cast<std::ptrdiff_t>(i) * features,
                            x.begin() + static_cast<std::ptrdiff_t>(i + 1) * features);
  return flow;
}
void network_kernel(KernelCall& k) {
  const auto n = network_of(k);
  const bool is_lstm = n.kind == CellKind::lstm;
  const Tensor& hidden = is_lstm ? *k.tensors(n.hx)[0] : k.in(n.hx);
  auto h = to_vector<double>(hidden);
  auto c = is_lstm ? to_vector<double>(*k.tensors(n.hx)[1]) : Values{};
  const auto batch = static_cast<std::size_t>(hidden.sizes()[1]);
  auto flow = input_flow(k, n, batch);
  if (k.error()) return;
  const auto count = static_cast<std::size_t>(n.layers * n.directions);
  for (std::size_t at = 0; at < count;) {
    Flow next{flow.batch, std::vector<Values>(flow.steps.size())};
    for (std::int64_t d = 0; d < n.directions; ++d, ++at)
      run_direction(n, load_layer(k, n, at), d == 1, flow, batch,
                    std::span(h).subspan(at * h.size() / count, h.size() / count),
                    std::span(c).subspan(at * c.size() / count, c.size() / count), next);
    flow = std::move(next);
  }
  Values out;
  for (const auto& row : flow.steps) out.insert(out.end(), row.begin(), row.end());
  auto by_time = k.out(0);
  if (n.batch_first) {
    std::swap(by_time.meta.sizes[0], by_time.meta.sizes[1]);
    std::swap(by_time.meta.strides[0], by_time.meta.strides[1]);
  }
  from_vector<double>(by_time, out);
  from_vector<double>(k.out(1), h);
  if (is_lstm) from_vector<double>(k.out(2), c);
}

// ---- cells --------------------------------------------------------------------------------------

/// input, hx (h and c of an lstm), w_ih, w_hh, b_ih, b_hh.
auto cell_gates(Composer& c, const Datum& h) -> DatumList {
  return {c.call("aten.linear.default", {c.arg(0), c.arg(2), c.arg(4)}),
          c.call("aten.linear.default", {h, c.arg(3), c.arg(5)})};
}
auto lstm_cell(Composer& c) -> Datum {
  const auto* given = c.arg(1).list();
  if (!given || given->size() != 2) return c.fail("hx has two states"), Datum{};
  const auto gates = cell_gates(c, (*given)[0]);
  const auto all = c.call("aten._thnn_fused_lstm_cell.default", {gates[0], gates[1], (*given)[1]});
  return {DatumList{c.item(all, 0), c.item(all, 1)}};
}
auto gru_cell(Composer& c) -> Datum {
  const auto gates = cell_gates(c, c.arg(1));
  return c.item(c.call("aten._thnn_fused_gru_cell.default", {gates[0], gates[1], c.arg(1)}), 0);
}
template <bool kTanh>
auto plain_cell(Composer& c) -> Datum {
  const auto gates = cell_gates(c, c.arg(1));
  return c.call(kTanh ? "aten.tanh.default" : "aten.relu.default",
                {c.call("aten.add.Tensor", {gates[0], gates[1]})});
}

auto fused_kind(const Call& c) -> CellKind {
  return c.row().name().starts_with("aten._thnn_fused_lstm") ? CellKind::lstm : CellKind::gru;
}
/// input_gates, hidden_gates, cx or hx, input_bias, hidden_bias. The workspace holds the activated
/// gates of an lstm, and of a gru five vectors per member of the batch.
auto fused_rule(MetaCall& c) -> Datum {
  const auto kind = fused_kind(c);
  const auto& gates = c.meta(0);
  const auto& state = c.meta(2);
  if (!c.require(gates.rank() == 2 && state.rank() == 2, "gates and state are matrices") ||
      !require_same_sizes(c, gates.sizes, c.meta(1).sizes, "gates of input and state fit") ||
      !require_same_sizes(
          c, gates.sizes,
          {state.sizes[0], state.sizes[1] * static_cast<std::int64_t>(gate_count(kind))},
          "gates and state fit"))
    return {};
  for (const int i : {3, 4})
    if (!require_count(c, i, gates.sizes[1], "one bias per gate")) return {};
  auto next = c.fresh(state.dtype, state.sizes);
  if (kind == CellKind::gru)
    return {DatumList{std::move(next), c.fresh(state.dtype, {state.sizes[0], state.sizes[1] * 5})}};
  return {DatumList{std::move(next), c.fresh(state.dtype, state.sizes),
                    c.fresh(gates.dtype, gates.sizes)}};
}
void fused_kernel(KernelCall& k) {
  const auto kind = fused_kind(k);
  const auto batch = static_cast<std::size_t>(k.in(2).sizes()[0]);
  const auto size = static_cast<std::size_t>(k.in(2).sizes()[1]);
  const auto width = size * gate_count(kind);
  const auto of_input = to_vector<double>(k.in(0));
  const auto of_state = to_vector<double>(k.in(1));
  const auto input_bias = values_or(k, 3, width, 0);
  const auto state_bias = values_or(k, 4, width, 0);
  auto state = to_vector<double>(k.in(2));
  Values h = kind == CellKind::lstm ? Values(state.size()) : state;
  Values workspace;
  for (std::size_t b = 0; b < batch; ++b) {
    Values gates(of_input.begin() + static_cast<std::ptrdiff_t>(b * width),
                 of_input.begin() + static_cast<std::ptrdiff_t>((b + 1) * width));
    Values other(of_state.begin() + static_cast<std::ptrdiff_t>(b * width),
                 of_state.begin() + static_cast<std::ptrdiff_t>((b + 1) * width));
    for (std::size_t i = 0; i < width; ++i) {
      gates[i] += input_bias[i];
      other[i] += state_bias[i];
    }
    const auto own_h = std::span(h).subspan(b * size, size);
    const Values before(own_h.begin(), own_h.end());
    step(kind, gates, other, own_h, std::span(state).subspan(b * size, size));
    workspace.insert(workspace.end(), gates.begin(), gates.end());
    if (kind == CellKind::lstm) continue;
    workspace.insert(workspace.end(), before.begin(), before.end());
    workspace.insert(workspace.end(), other.begin() + static_cast<std::ptrdiff_t>(2 * size),
                     other.end());
  }
  from_vector<double>(k.out(0), h);
  if (kind == CellKind::lstm) from_vector<double>(k.out(1), state);
  from_vector<double>(k.out(kind == CellKind::lstm ? 2 : 1), workspace);
}

}  // namespace

// clang-format off
void add_recurrent_rows(OpTable& t) {
  t.add({.schema_text = "aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)", .rule = network_rule, .kernel = network_kernel});
  t.add({.schema_text = "aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)", .rule = network_rule, .kernel = network_kernel});
  t.add({.schema_text = "aten::rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)", .rule = network_rule, .kernel = network_kernel});
  t.add({.schema_text = "aten::rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)", .rule = network_rule, .kernel = network_kernel});
  t.add({.schema_text = "aten::lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)", .rule = network_rule, .kernel = network_kernel});
  t.add({.schema_text = "aten::gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)", .rule = network_rule, .kernel = network_kernel});
  t.add({.schema_text = "aten::rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)", .rule = network_rule, .kernel = network_kernel});
  t.add({.schema_text = "aten::rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)", .rule = network_rule, .kernel = network_kernel});
  t.add({.schema_text = "aten::_thnn_fused_lstm_cell(Tensor input_gates, Tensor hidden_gates, Tensor cx, Tensor? input_bias=None, Tensor? hidden_bias=None) -> (Tensor, Tensor, Tensor)", .rule = fused_rule, .kernel = fused_kernel});
  t.add({.schema_text = "aten::_thnn_fused_gru_cell(Tensor input_gates, Tensor hidden_gates, Tensor hx, Tensor? input_bias=None, Tensor? hidden_bias=None) -> (Tensor, Tensor)", .rule = fused_rule, .kernel = fused_kernel});
  t.add({.schema_text = "aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)", .decomposition = lstm_cell});
  t.add({.schema_text = "aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor", .decomposition = gru_cell});
  t.add({.schema_text = "aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor", .decomposition = plain_cell<true>});
  t.add({.schema_text = "aten::rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor", .decomposition = plain_cell<false>});
}
// clang-format on

}  // namespace assay
