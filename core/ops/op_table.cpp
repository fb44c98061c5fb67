#include "core/ops/op_table.h"

#include "core/base/check.h"
#include "core/ops/rows/families.h"

namespace assay {

void OpTable::add(OpRow row) {
  auto schema = parse_schema(row.schema_text);
  ASSAY_CHECK(schema, "{}: {}", row.schema_text, schema.error().message);
  row.schema = *std::move(schema);
  ASSAY_CHECK(row.rule || row.decomposition, "{} has no rule", row.schema.overload);
  auto owned = std::make_unique<OpRow>(std::move(row));
  const auto [entry, is_new] = by_name_.emplace(owned->schema.overload, owned.get());
  ASSAY_CHECK(is_new, "{} has two rows", entry->first);
  const auto full = std::string_view(owned->schema.overload);
  by_operator_[full.substr(0, full.rfind('.'))].push_back(owned.get());
  rows_.push_back(std::move(owned));
}

void OpTable::add_owned(OpRow row, std::string schema_text) {
  owned_texts_.push_back(std::make_unique<const std::string>(std::move(schema_text)));
  row.schema_text = *owned_texts_.back();
  add(std::move(row));
}

auto OpTable::find(std::string_view overload) const -> const OpRow* {
  const auto entry = by_name_.find(overload);
  return entry == by_name_.end() ? nullptr : entry->second;
}

auto OpTable::overloads(std::string_view name) const -> std::span<const OpRow* const> {
  const auto entry = by_operator_.find(name);
  return entry == by_operator_.end() ? std::span<const OpRow* const>() : entry->second;
}

auto build_op_table() -> OpTable {
  OpTable table;
  add_scalar_rows(table);
  add_pointwise_rows(table);
  add_unary_rows(table);
  add_reduction_rows(table);
  add_view_rows(table);
  add_creation_rows(table);
  add_copy_rows(table);
  add_matmul_rows(table);
  add_convolution_rows(table);
  add_pooling_rows(table);
  add_adaptive_max_rows(table);
  add_resample_rows(table);
  add_index_rows(table);
  add_scatter_rows(table);
  add_sort_rows(table);
  add_arrange_rows(table);
  add_normalisation_rows(table);
  add_batch_norm_rows(table);
  add_softmax_rows(table);
  add_attention_rows(table);
  add_fft_rows(table);
  add_padding_rows(table);
  add_random_rows(table);
  add_inductor_random_rows(table);
  add_composite_rows(table);
  add_functional_rows(table);
  add_einsum_rows(table);
  add_backward_rows(table);
  add_loss_rows(table);
  add_special_rows(table);
  add_linalg_factor_rows(table);
  add_linalg_solve_rows(table);
  add_linalg_other_rows(table);
  add_linalg_norm_rows(table);
  add_grid_sampler_rows(table);
  add_unfold_rows(table);
  add_distance_rows(table);
  add_margin_loss_rows(table);
  add_assemble_rows(table);
  add_embedding_bag_rows(table);
  add_ctc_loss_rows(table);
  add_histogram_rows(table);
  add_antialias_rows(table);
  add_name_rows(table);
  add_attention_cuda_rows(table);
  add_composed_rows(table);
  add_recurrent_rows(table);
  add_quantile_rows(table);
  add_fake_quantize_rows(table);
  add_window_rows(table);
  add_vision_rows(table);
  add_rms_norm_rows(table);
  add_calculus_rows(table);
  add_array_rows(table);
  add_linalg_composed_rows(table);
  add_packed_rows(table);
  add_prims_rows(table);
  add_torch_composed_rows(table);
  add_region_rows(table);
  add_quantized_rows(table);
  add_gamma_rows(table);
  add_inner_rows(table);
  add_recurrent_backward_rows(table);
  add_box_rows(table);
  add_attention_packed_rows(table);
  add_transformer_rows(table);
  add_wide_product_rows(table);
  add_inplace_rows(table);
  add_foreach_rows(table);
  add_out_rows(table);
  return table;
}

}  // namespace assay
