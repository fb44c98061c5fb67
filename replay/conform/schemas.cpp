#include "replay/conform/schemas.h"

#include <algorithm>

namespace assay {
namespace {

constexpr AbsentOperators kAbsent[] = {
    {"aten._triton_", "kernels that Python has to register first"},
    {"aten.max_pool2d_backward", "Apple's devices"},
    {"aten.native_norm", "sparse layouts"},
    {"torchvision.q", "quantised storage"},
    {"aten.miopen_", "AMD's library; no recordings"},
    {"aten._use_miopen_", "AMD's library; no recordings"},
    {"aten._mps_", "Apple's devices"},
    {"aten.mps_", "Apple's devices"},
    {"aten._lstm_mps", "Apple's devices"},
    {"aten.lstm_mps_", "Apple's devices"},
    {"aten.mkldnn_", "oneDNN's own layouts"},
    {"aten._mkldnn_", "oneDNN's own layouts"},
    {"aten.to_mkldnn", "oneDNN's own layouts"},
    {"aten._nnpack_", "NNPACK's own calls"},
    {"aten.sparse_", "sparse layouts"},
    {"aten._sparse_", "sparse layouts"},
    {"aten._to_sparse", "sparse layouts"},
    {"aten.to_sparse", "sparse layouts"},
    {"aten.to_dense", "sparse layouts"},
    {"aten._to_dense", "sparse layouts"},
    {"aten._validate_", "sparse layouts"},
    {"aten._coalesce", "sparse layouts"},
    {"aten.coalesce", "sparse layouts"},
    {"aten.is_coalesced", "sparse layouts"},
    {"aten.copy_sparse_", "sparse layouts"},
    {"aten.resize_as_sparse", "sparse layouts"},
    {"aten.sspaddmm", "sparse layouts"},
    {"aten.smm", "sparse layouts"},
    {"aten._spdiags", "sparse layouts"},
    {"aten._convert_indices_", "sparse layouts"},
    {"aten.ccol_indices", "sparse layouts"},
    {"aten.col_indices", "sparse layouts"},
    {"aten.crow_indices", "sparse layouts"},
    {"aten.row_indices", "sparse layouts"},
    {"aten.indices", "sparse layouts"},
    {"aten.values", "sparse layouts"},
    {"aten._indices_copy", "sparse layouts"},
    {"aten._values_copy", "sparse layouts"},
    {"aten._nested_", "nested tensors"},
    {"aten.nested_", "nested tensors"},
    {"aten.to_padded_tensor", "nested tensors"},
    {"aten._jagged_", "nested tensors"},
    {"aten._padded_dense_", "nested tensors"},
    {"aten.linear_backward", "nested tensors"},
    {"aten.matmul_backward", "nested tensors"},
    {"aten.quantized_", "quantised storage"},
    {"aten.quantize_per_", "quantised storage"},
    {"aten.dequantize", "quantised storage"},
    {"aten.empty_quantized", "quantised storage"},
    {"aten.q_per_channel_", "quantised storage"},
    {"aten.int_repr", "quantised storage"},
    {"aten._empty_affine_quantized", "quantised storage"},
    {"aten._empty_per_channel_affine_quantized", "quantised storage"},
    {"aten._make_per_", "quantised storage"},
    {"aten._wrapped_", "packed weights of one library"},
    {"aten._saturate_weight_", "packed weights of one library"},
    {"aten.fbgemm_", "packed weights of one library"},
    {"aten._cslt_", "packed weights of one library"},
    {"aten._convert_weight_to_int4pack", "packed weights of one library"},
    {"aten._weight_int4pack_mm", "packed weights of one library"},
    {"aten._dyn_quant_", "packed weights of one library"},
    {"aten._mixed_dtypes_linear", "packed weights of one library"},
    {"aten._rowwise_prune", "packed weights of one library"},
    {"aten.choose_qparams_optimized", "packed weights of one library"},
    {"aten._fused_ada", "optimiser steps; exported programs hold none"},
    {"aten._fused_sgd", "optimiser steps; exported programs hold none"},
    {"aten._amp_", "optimiser steps; exported programs hold none"},
    {"aten._foreach_powsum", "optimiser steps; exported programs hold none"},
    {"aten._cudnn_rnn", "cuDNN's packed weights"},
    {"aten._use_cudnn_", "questions to one library"},
    {"aten.cudnn_is_acceptable", "questions to one library"},
    {"aten._cudnn_init_dropout_state", "cuDNN's packed weights"},
    {"aten._test_", "PyTorch's own tests"},
    {"aten._foobar", "PyTorch's own tests"},
    {"aten._philox_", "keys of a generator; not recorded"},
    {"aten.batch_norm_backward_", "batch norm across processes"},
    {"aten.batch_norm_elemt", "batch norm across processes"},
    {"aten.batch_norm_gather_stats", "batch norm across processes"},
    {"aten.batch_norm_stats", "batch norm across processes"},
    {"aten.batch_norm_update_stats", "batch norm across processes"},
    {"aten._cufft_", "a library's caches"},
    {"aten._fw_primal", "PyTorch's derivatives while it runs"},
    {"aten._make_dual", "PyTorch's derivatives while it runs"},
    {"aten._unpack_dual", "PyTorch's derivatives while it runs"},
    {"aten._new_zeros_with_same_feature_meta", "PyTorch's derivatives while it runs"},
    {"aten.glu_jvp", "PyTorch's derivatives while it runs"},
    {"aten.glu_backward_jvp", "PyTorch's derivatives while it runs"},
    {"aten._backward", "PyTorch's derivatives while it runs"},
    {"aten.retain_grad", "PyTorch's derivatives while it runs"},
    {"aten.requires_grad_", "PyTorch's derivatives while it runs"},
    {"aten._add_batch_dim", "PyTorch's derivatives while it runs"},
    {"aten._remove_batch_dim", "PyTorch's derivatives while it runs"},
    {"aten._copy_from", "devices that are registered later"},
    {"aten.convolution_overrideable", "devices that are registered later"},
    {"aten.convolution_backward_overrideable", "devices that are registered later"},
    {"aten._scaled_dot_product_fused_attention_overrideable", "devices that are registered later"},
    {"aten.set", "whole storages as arguments"},
    {"aten.shallow_copy_data_", "whole storages as arguments"},
    {"aten.from_file", "whole storages as arguments"},
    {"aten._print", "says something, gives nothing"},
    {"aten._make_dep_token", "tokens that order effects"},
    {"aten._functional_", "tokens that order effects"},
    {"aten.pin_memory", "places of memory on the host"},
    {"aten._pin_memory", "places of memory on the host"},
    {"aten._lazy_clone", "copies on the first write"},
    {"aten.slice_inverse", "views taken back while they are traced"},
    {"aten._resize_output.", "sizes of results before they are written"},
};

auto mentions(std::string_view text, std::string_view word) -> bool {
  return text.find(word) != std::string_view::npos;
}
/// Kernels that serve tensors as this table has them.
auto has_dense_kernel(const ListedOperator& op) -> bool {
  return std::ranges::any_of(op.keys, [](const std::string& key) {
    return key == "CPU" || key == "CUDA" || key.starts_with("CompositeE");
  });
}
auto is_composite(const ListedOperator& op) -> bool {
  return op.has_key("CompositeImplicitAutograd");
}
/// Neither takes nor gives what a program could hold: its answer is a number when it is captured.
auto gives_no_tensor(const Schema& schema) -> bool {
  return !schema.returns.empty() && !schema.is_mutating() &&
         std::ranges::none_of(schema.returns, &Return::is_tensor);
}

/// Why an operator without a row needs none; empty if there is no reason.
auto reason_of(const ListedOperator& op) -> std::string_view {
  if (mentions(op.schema_text, "Dimname")) return "named tensors";
  if (mentions(op.schema_text, "Stream ") || mentions(op.schema_text, "Storage "))
    return "whole storages as arguments";
  for (const auto& [prefix, reason] : kAbsent)
    if (op.overload.starts_with(prefix)) return reason;
  if (!has_dense_kernel(op) && !is_composite(op)) {
    const auto only = [&](std::string_view part) {
      return !op.keys.empty() && std::ranges::any_of(op.keys, [&](const std::string& key) {
        return key.starts_with(part);
      });
    };
    return only("Sparse")      ? "sparse layouts"
           : only("Quantized") ? "quantised storage"
           : only("Nested")    ? "nested tensors"
                               : "no kernel for the CPU or CUDA";
  }
  const auto schema = parse_schema(op.schema_text);
  if (!schema) return "types that no program holds";
  if (gives_no_tensor(*schema)) return "gives no tensor: answered while a program is captured";
  return {};
}

}  // namespace

auto ListedOperator::has_key(std::string_view key) const -> bool {
  return std::ranges::find(keys, key) != keys.end();
}

auto absent_operators() -> std::span<const AbsentOperators> {
  return kAbsent;
}

auto to_string(Standing standing) -> std::string_view {
  switch (standing) {
    case Standing::written:
      return "a row of its own";
    case Standing::derived:
      return "derived from a row";
    case Standing::composite:
      return "captured as what it is made of";
    case Standing::out_of_scope:
      return "out of scope";
    case Standing::missing:
      return "missing";
  }
  return "";
}

auto read_schema_list(const std::string& text) -> Result<SchemaList> {
  SchemaList list;
  std::string_view rest(text);
  for (int line = 1; !rest.empty(); ++line) {
    const auto end = std::min(rest.find('\n'), rest.size());
    const auto row = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (row.starts_with("# ")) {
      list.made_by = row.substr(2);
      continue;
    }
    const auto tab = row.find('\t');
    if (tab == std::string_view::npos)
      return bad_input("line {}: keys, a tab and a schema are expected", line);
    ListedOperator op{.overload = {}, .schema_text = std::string(row.substr(tab + 1)), .keys = {}};
    for (auto keys = row.substr(0, tab); !keys.empty();) {
      const auto comma = std::min(keys.find(','), keys.size());
      op.keys.emplace_back(keys.substr(0, comma));
      keys.remove_prefix(std::min(comma + 1, keys.size()));
    }
    const auto open = op.schema_text.find('(');
    const auto colons = op.schema_text.find("::");
    if (open == std::string::npos || colons == std::string::npos || colons > open)
      return bad_input("line {}: not a schema", line);
    op.overload = op.schema_text.substr(0, open).replace(colons, 2, ".");
    if (op.overload.find('.', colons + 1) == std::string::npos) op.overload += ".default";
    list.operators.push_back(std::move(op));
  }
  return list;
}

auto place_operators(const SchemaList& list, const OpTable& table) -> std::vector<Placed> {
  std::vector<Placed> placed;
  for (const auto& op : list.operators) {
    Placed place{.listed = &op};
    if (const auto* row = table.find(op.overload)) {
      place.standing = row->inplace_of.empty() ? Standing::written : Standing::derived;
    } else if (const auto reason = reason_of(op); !reason.empty()) {
      place.standing = Standing::out_of_scope;
      place.reason = reason;
    } else if (is_composite(op)) {
      place.standing = Standing::composite;
    }
    placed.push_back(place);
  }
  return placed;
}

}  // namespace assay
