// Launches of kernels that a graph names by number alone: Triton kernels of the user's own.
#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include "core/graph/graph.h"
#include "core/ops/call.h"

namespace assay {

/// triton_kernel_wrapper_mutation(kernel_idx, constant_args_idx, grid, kwargs), or
/// triton_kernel_wrapper_functional, which copies the tensors that it names (`tensors_to_clone`)
/// and gives the copies by these names. Source: torch/_higher_order_ops/triton_kernel_wrap.py.
[[nodiscard]] auto is_user_kernel_call(std::string_view target) -> bool;

struct UserKernelRun {
  Datum result;  ///< of the functional form, in the order of `tensors_to_clone`
  bool rests_on_open = false;
};
/// `is_open` says so of a node's value. Errors: unsupported (a grid whose size is not known,
/// descriptors of tensors), those of Domain::launch.
[[nodiscard]] auto run_user_kernel_call(const Graph& graph, const Node& node, Domain& domain,
                                        const std::function<const Datum*(NodeId)>& lookup,
                                        const std::function<bool(NodeId)>& is_open = {})
    -> Result<UserKernelRun>;

/// Which of its results `call['o']` is; nothing if the item is not of such a call.
[[nodiscard]] auto result_of_user_kernel(const Graph& graph, const Node& item)
    -> std::optional<std::size_t>;

}  // namespace assay
