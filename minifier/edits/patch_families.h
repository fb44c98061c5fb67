// The families that patch_kinds() lists, and what they share. Internal to minifier/edits.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "minifier/edits/patches.h"

namespace assay {

// Calls (patches_calls.cpp).
/// A call by an operand with the same claim.
[[nodiscard]] auto bypasses(const Capture& capture) -> std::vector<Patch>;
/// What is returned by the calls that it is made of.
[[nodiscard]] auto returned_operands(const Capture& capture) -> std::vector<Patch>;
/// A call by view, expand or slice of an operand, where one of them gives the claimed layout.
[[nodiscard]] auto views_of_operands(const Capture& capture) -> std::vector<Patch>;
/// Calculated numbers by what they are where it was recorded.
[[nodiscard]] auto constant_numbers(const Capture& capture) -> std::vector<Patch>;
/// Calls by a constant tensor of the claimed layout.
[[nodiscard]] auto constant_tensors(const Capture& capture) -> std::vector<Patch>;
[[nodiscard]] auto simpler_operators(const Capture& capture) -> std::vector<Patch>;
/// Float arguments that are neither 0 nor 1, as 1.
[[nodiscard]] auto simpler_scalars(const Capture& capture) -> std::vector<Patch>;

// Bodies of higher-order operators (patches_bodies.cpp).
/// The calls of one body in the place of the operator that runs it.
[[nodiscard]] auto inlined_bodies(const Capture& capture) -> std::vector<Patch>;
/// A call inside a body by an operand with the same claim.
[[nodiscard]] auto bypasses_in_bodies(const Capture& capture) -> std::vector<Patch>;

// Inputs (patches_inputs.cpp).
/// Inputs by an earlier one with the same claim.
[[nodiscard]] auto merged_inputs(const Capture& capture) -> std::vector<Patch>;
/// Inputs that share their storage with nothing: row-major, from its start.
[[nodiscard]] auto contiguous_inputs(const Capture& capture) -> std::vector<Patch>;
/// Floats as float32, integers as int64.
[[nodiscard]] auto plain_dtypes(const Capture& capture) -> std::vector<Patch>;
[[nodiscard]] auto without_gradients(const Capture& capture) -> std::vector<Patch>;
[[nodiscard]] auto zeros(const Capture& capture) -> std::vector<Patch>;
[[nodiscard]] auto ones(const Capture& capture) -> std::vector<Patch>;
[[nodiscard]] auto one_hot(const Capture& capture) -> std::vector<Patch>;
[[nodiscard]] auto counting(const Capture& capture) -> std::vector<Patch>;

/// Guards one by one.
[[nodiscard]] auto fewer_guards(const Capture& capture) -> std::vector<Patch>;

// ---- shared -------------------------------------------------------------------------------------

/// Points every use of one value at another.
void replace_uses(Graph& graph, NodeId from, NodeId to);
/// Puts a literal in the place of every use of one value.
void replace_uses(Graph& graph, NodeId from, const Arg& literal);
/// Calls whose claims are what the rules say.
[[nodiscard]] auto honest_calls(const Graph& graph, const OpTable& table) -> std::set<NodeId>;
/// Claims that were true before the patches are what the rules say after them; others stay.
void renew_true_claims(const Graph& before, Graph& after, const OpTable& table);
/// With its input value and what was recorded of it.
void erase_node(Capture& capture, NodeId id);
[[nodiscard]] auto is_used(const Graph& graph, NodeId id) -> bool;
/// The same claim but for requires_grad.
[[nodiscard]] auto same_layout(const Node& a, const Node& b) -> bool;
/// The first operand of a call that has its claim.
[[nodiscard]] auto like_operand(const Graph& graph, const Node& node) -> std::optional<NodeId>;
/// Position of a placeholder among the placeholders, -1 if it is none.
[[nodiscard]] auto input_position(const Graph& graph, NodeId id) -> int;

}  // namespace assay
