// Gradients of the fused cells (aten/src/ATen/native/cuda/RNN.cu).
#include <algorithm>
#include <cmath>

#include "core/ops/norm.h"

namespace assay {
namespace {

/// grad_hy, grad_cy, cx, cy [batch, size], workspace [batch, 4 size] (activated gates), has_bias:
/// gradients of the gates, of cx and of a bias.
auto lstm_rule(MetaCall& c) -> Datum {
  if (!c.has(0) && !c.has(1)) return {DatumList(3)};
  const auto& state = c.meta(2);
  const auto& workspace = c.meta(4);
  if (!c.require(state.rank() == 2, "a state is a matrix") ||
      !require_same_sizes(c, workspace.sizes, {state.sizes[0], state.sizes[1] * 4},
                          "the workspace holds four gates") ||
      !require_same_sizes(c, c.meta(3).sizes, state.sizes, "the states have one shape"))
    return {};
  for (const int i : {0, 1})
    if (c.has(i) && !require_same_sizes(c, c.meta(i).sizes, state.sizes, "one gradient per state"))
      return {};
  return {DatumList{c.fresh(workspace.dtype, workspace.sizes), c.fresh(state.dtype, state.sizes),
                    c.flag(5) ? c.fresh(workspace.dtype, {workspace.sizes[1]}) : Datum{}}};
}
/// Sums over the batch.
auto column_sums(const std::vector<double>& values, std::size_t columns) -> std::vector<double> {
  std::vector<double> sums(columns, 0);
  for (std::size_t i = 0; i < values.size(); ++i) sums[i % columns] += values[i];
  return sums;
}
void lstm_kernel(KernelCall& k) {
  if (!k.has(0) && !k.has(1)) return;
  const auto cx = to_vector<double>(k.in(2)), cy = to_vector<double>(k.in(3));
  auto gates = to_vector<double>(k.in(4));
  const auto grad_hy = values_or(k, 0, cx.size(), 0), grad_cy = values_or(k, 1, cx.size(), 0);
  const auto size = static_cast<std::size_t>(k.in(2).sizes()[1]);
  std::vector<double> grad_cx(cx.size());
  for (std::size_t at = 0; at < cx.size(); ++at) {
    const auto gate = [&](std::size_t i) -> double& {
      return gates[at / size * 4 * size + i * size + at % size];
    };
    const double in = gate(0), forget = gate(1), cell = gate(2), out = gate(3);
    const double squashed = std::tanh(cy[at]);
    const double grad = grad_hy[at] * out * (1 - squashed * squashed) + grad_cy[at];
    gate(0) = grad * cell * in * (1 - in);
    gate(1) = grad * cx[at] * forget * (1 - forget);
    gate(2) = grad * in * (1 - cell * cell);
    gate(3) = grad_hy[at] * squashed * out * (1 - out);
    grad_cx[at] = grad * forget;
  }
  from_vector<double>(k.out(0), gates);
  from_vector<double>(k.out(1), grad_cx);
  store_result(k, 2, column_sums(gates, 4 * size));
}

/// grad_hy [batch, size], workspace [batch, 5 size] (reset, update and new gate, state, the new
/// gate's share of the state), has_bias: gradients of the gates of input and state, of the state,
/// and of both biases.
auto gru_rule(MetaCall& c) -> Datum {
  const auto& grad = c.meta(0);
  const auto& workspace = c.meta(1);
  if (!c.require(grad.rank() == 2, "a state is a matrix") ||
      !require_same_sizes(c, workspace.sizes, {grad.sizes[0], grad.sizes[1] * 5},
                          "the workspace holds five vectors"))
    return {};
  const Dims gates{grad.sizes[0], grad.sizes[1] * 3};
  DatumList results{c.fresh(workspace.dtype, gates), c.fresh(workspace.dtype, gates),
                    c.fresh(grad.dtype, grad.sizes)};
  for (int i = 0; i < 2; ++i)
    results.push_back(c.flag(2) ? c.fresh(workspace.dtype, {gates[1]}) : Datum{});
  return {std::move(results)};
}
void gru_kernel(KernelCall& k) {
  const auto grad = to_vector<double>(k.in(0));
  const auto workspace = to_vector<double>(k.in(1));
  const auto size = static_cast<std::size_t>(k.in(0).sizes()[1]);
  std::vector<double> of_input(3 * grad.size()), of_state(3 * grad.size()), state(grad.size());
  for (std::size_t at = 0; at < grad.size(); ++at) {
    const auto kept = [&](std::size_t i) {
      return workspace[at / size * 5 * size + i * size + at % size];
    };
    const double reset = kept(0), update = kept(1), fresh = kept(2), before = kept(3);
    const double to_update = grad[at] * (before - fresh) * update * (1 - update);
    const double to_fresh = grad[at] * (1 - update) * (1 - fresh * fresh);
    const double to_reset = to_fresh * kept(4) * reset * (1 - reset);
    const auto first = at / size * 3 * size + at % size;
    const double gates[] = {to_reset, to_update, to_fresh};
    for (std::size_t i = 0; i < 3; ++i)
      of_input[first + i * size] = of_state[first + i * size] = gates[i];
    of_state[first + 2 * size] = to_fresh * reset;
    state[at] = grad[at] * update;
  }
  from_vector<double>(k.out(0), of_input);
  from_vector<double>(k.out(1), of_state);
  from_vector<double>(k.out(2), state);
  store_result(k, 3, column_sums(of_input, 3 * size));
  store_result(k, 4, column_sums(of_state, 3 * size));
}

}  // namespace

// clang-format off
void add_recurrent_backward_rows(OpTable& t) {
  t.add({.schema_text = "aten::_thnn_fused_lstm_cell_backward_impl(Tensor? grad_hy, Tensor? grad_cy, Tensor cx, Tensor cy, Tensor workspace, bool has_bias) -> (Tensor, Tensor, Tensor)", .rule = lstm_rule, .kernel = lstm_kernel});
  t.add({.schema_text = "aten::_thnn_fused_gru_cell_backward(Tensor grad_hy, Tensor workspace, bool has_bias) -> (Tensor, Tensor, Tensor, Tensor, Tensor)", .rule = gru_rule, .kernel = gru_kernel});
}
// clang-format on

}  // namespace assay
