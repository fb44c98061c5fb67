// The families of rows, one function per file of this folder.
#pragma once
#include "core/ops/op_table.h"

namespace assay {

void add_scalar_rows(OpTable& table);
void add_pointwise_rows(OpTable& table);
void add_unary_rows(OpTable& table);
void add_reduction_rows(OpTable& table);
void add_view_rows(OpTable& table);
void add_creation_rows(OpTable& table);
void add_copy_rows(OpTable& table);
void add_matmul_rows(OpTable& table);
void add_convolution_rows(OpTable& table);
void add_pooling_rows(OpTable& table);
void add_adaptive_max_rows(OpTable& table);
void add_resample_rows(OpTable& table);
void add_index_rows(OpTable& table);
void add_scatter_rows(OpTable& table);
void add_sort_rows(OpTable& table);
void add_arrange_rows(OpTable& table);
void add_normalisation_rows(OpTable& table);
void add_batch_norm_rows(OpTable& table);
void add_softmax_rows(OpTable& table);
void add_attention_rows(OpTable& table);
void add_fft_rows(OpTable& table);
void add_padding_rows(OpTable& table);
void add_random_rows(OpTable& table);
void add_inductor_random_rows(OpTable& table);
void add_composite_rows(OpTable& table);
void add_functional_rows(OpTable& table);
void add_einsum_rows(OpTable& table);
void add_backward_rows(OpTable& table);
void add_loss_rows(OpTable& table);
void add_linalg_factor_rows(OpTable& table);
void add_linalg_solve_rows(OpTable& table);
void add_linalg_other_rows(OpTable& table);
void add_linalg_norm_rows(OpTable& table);
void add_special_rows(OpTable& table);
void add_grid_sampler_rows(OpTable& table);
void add_unfold_rows(OpTable& table);
void add_distance_rows(OpTable& table);
void add_margin_loss_rows(OpTable& table);
void add_assemble_rows(OpTable& table);
void add_embedding_bag_rows(OpTable& table);
void add_ctc_loss_rows(OpTable& table);
void add_histogram_rows(OpTable& table);
void add_antialias_rows(OpTable& table);
void add_name_rows(OpTable& table);
void add_attention_cuda_rows(OpTable& table);
void add_composed_rows(OpTable& table);
void add_recurrent_rows(OpTable& table);
void add_rms_norm_rows(OpTable& table);
void add_quantile_rows(OpTable& table);
void add_fake_quantize_rows(OpTable& table);
void add_window_rows(OpTable& table);
void add_vision_rows(OpTable& table);
void add_calculus_rows(OpTable& table);
void add_array_rows(OpTable& table);
void add_linalg_composed_rows(OpTable& table);
void add_packed_rows(OpTable& table);
void add_prims_rows(OpTable& table);
void add_torch_composed_rows(OpTable& table);
void add_region_rows(OpTable& table);
void add_quantized_rows(OpTable& table);
void add_gamma_rows(OpTable& table);
void add_inner_rows(OpTable& table);
void add_recurrent_backward_rows(OpTable& table);
void add_box_rows(OpTable& table);
void add_attention_packed_rows(OpTable& table);
void add_transformer_rows(OpTable& table);
void add_wide_product_rows(OpTable& table);
void add_inplace_rows(OpTable& table);
void add_out_rows(OpTable& table);
void add_foreach_rows(OpTable& table);

}  // namespace assay
