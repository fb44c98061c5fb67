#include "core/ops/rows/out_names.h"

#include <algorithm>

#include <fmt/format.h>

namespace assay {
namespace {

struct OutName {
  std::string_view functional, overload, parameters;
};
/// Forms that are not the functional one's name with _out behind it, into out, or out0, out1, ...
constexpr OutName kOutNames[] = {
    {"aten._linalg_det.default", "result", "result LU pivots"},
    {"aten._linalg_eigh.default", "eigenvalues", "eigenvalues eigenvectors"},
    {"aten._linalg_slogdet.default", "sign", "sign logabsdet LU pivots"},
    {"aten._linalg_solve_ex.default", "result", "result LU pivots info"},
    {"aten._linalg_svd.default", "U", "U S Vh"},
    {"aten._native_batch_norm_legit.no_stats", "no_stats_out", "out save_mean save_invstd"},
    {"aten._softmax_backward_data.default", "out", "grad_input"},
    {"aten.adaptive_max_pool2d.default", "out", "out indices"},
    {"aten.adaptive_max_pool3d.default", "out", "out indices"},
    {"aten.add.Tensor", "out", "out"},
    {"aten.all.default", "all_out", "out"},
    {"aten.all.dim", "out", "out"},
    {"aten._batch_norm_with_update.default", "out", "out save_mean save_invstd reserve"},
    {"aten._native_batch_norm_legit.default", "out", "out save_mean save_invstd"},
    {"aten.aminmax.default", "out", "min max"},
    {"aten.any.default", "all_out", "out"},
    {"aten.any.dim", "out", "out"},
    {"aten.bernoulli.p", "float_out", "out"},
    {"aten.copysign.Tensor", "out", "out"},
    {"aten.cummax.default", "out", "values indices"},
    {"aten.cummin.default", "out", "values indices"},
    {"aten.div.Tensor", "out", "out"},
    {"aten.div.Tensor_mode", "out_mode", "out"},
    {"aten.divide.Tensor", "out", "out"},
    {"aten.divide.Tensor_mode", "out_mode", "out"},
    {"aten.fractional_max_pool2d.default", "output", "output indices"},
    {"aten.fractional_max_pool3d.default", "output", "output indices"},
    {"aten.frexp.Tensor", "Tensor_out", "mantissa exponent"},
    {"aten.frobenius_norm.dim", "out", "out"},
    {"aten.geqrf.default", "a", "a tau"},
    {"aten.histogram.bin_ct", "bin_ct_out", "hist bin_edges"},
    {"aten.histogram.bins_tensor", "bins_tensor_out", "hist bin_edges"},
    {"aten.huber_loss_backward.default", "out", "grad_input"},
    {"aten.kthvalue.default", "values", "values indices"},
    {"aten.ldexp.Tensor", "out", "out"},
    {"aten.linalg_cholesky_ex.default", "L", "L info"},
    {"aten.linalg_eig.default", "out", "eigenvalues eigenvectors"},
    {"aten.linalg_eigh.default", "eigvals", "eigvals eigvecs"},
    {"aten.linalg_inv_ex.default", "inverse", "inverse info"},
    {"aten.linalg_ldl_factor_ex.default", "out", "LD pivots info"},
    {"aten.linalg_lstsq.default", "out", "solution residuals rank singular_values"},
    {"aten.linalg_lu.default", "out", "P L U"},
    {"aten.linalg_lu_factor.default", "out", "LU pivots"},
    {"aten.linalg_lu_factor_ex.default", "out", "LU pivots info"},
    {"aten.linalg_polar.default", "out", "U H"},
    {"aten.linalg_qr.default", "out", "Q R"},
    {"aten.linalg_slogdet.default", "out", "sign logabsdet"},
    {"aten.linalg_solve_ex.default", "out", "result info"},
    {"aten.linalg_svd.default", "U", "U S Vh"},
    {"aten.log_sigmoid_forward.default", "output", "output buffer"},
    {"aten.lu_unpack.default", "out", "P L U"},
    {"aten.max.default", "unary_out", "out"},
    {"aten.max.dim", "dim_max", "max max_values"},
    {"aten.max.other", "out", "out"},
    {"aten.max_pool2d_with_indices.default", "out", "out indices"},
    {"aten.max_pool3d_with_indices.default", "out", "out indices"},
    {"aten.mean.default", "dtype_out", "out"},
    {"aten.mean.dim", "out", "out"},
    {"aten.median.dim", "dim_values", "values indices"},
    {"aten.min.default", "unary_out", "out"},
    {"aten.min.dim", "dim_min", "min min_indices"},
    {"aten.min.other", "out", "out"},
    {"aten.mode.default", "values", "values indices"},
    {"aten.mul.Tensor", "out", "out"},
    {"aten.multilabel_margin_loss_forward.default", "output", "output is_target"},
    {"aten.multiply.Tensor", "out", "out"},
    {"aten.nanmedian.dim", "dim_values", "values indices"},
    {"aten.native_batch_norm.default", "out", "out save_mean save_invstd"},
    {"aten.nll_loss2d_forward.default", "output", "output total_weight"},
    {"aten.nll_loss_forward.default", "output", "output total_weight"},
    {"aten.norm.ScalarOpt_dim", "out", "out"},
    {"aten.prod.dim_int", "int_out", "out"},
    {"aten.range.default", "out_", "out"},
    {"aten.range.step", "out", "out"},
    {"aten.slogdet.default", "out", "sign logabsdet"},
    {"aten.sort.default", "values", "values indices"},
    {"aten.sort.stable", "values_stable", "values indices"},
    {"aten.std.dim", "out", "out"},
    {"aten.sub.Tensor", "out", "out"},
    {"aten.subtract.Tensor", "out", "out"},
    {"aten.sum.dim_IntList", "IntList_out", "out"},
    {"aten.topk.default", "values", "values indices"},
    {"aten.triangular_solve.default", "X", "X M"},
    {"aten.true_divide.Tensor", "out", "out"},
    {"aten.var.dim", "out", "out"},
    {"aten.xlogy.Tensor", "OutTensor", "out"},
    {"aten.xlogy.Scalar_Other", "OutScalar_Other", "out"},
    {"aten.xlogy.Scalar_Self", "OutScalar_Self", "out"},
    {"aten._add_relu.Tensor", "out", "out"},
    {"aten._slow_conv2d_forward.default", "output", "output"},
    {"aten.arange.start_step", "start_out", "out"},
    {"aten.empty.memory_format", "out", "out"},
    {"aten.linalg_ldl_factor.default", "out", "LD pivots"},
    {"aten.linalg_matrix_rank.tol_tensor", "out_tol_tensor", "out"},
    {"aten.linalg_pinv.rcond_tensor", "out_rcond_tensor", "out"},
    {"aten.norm.ScalarOpt_dim_dtype", "dtype_out", "out"},
    {"aten.slow_conv3d_forward.default", "output", "output"},
    {"aten.svd.default", "U", "U S V"}};
/// Derivatives that write grad_input, in an overload of that name.
constexpr std::string_view kGradInput[] = {"aten._upsample_bicubic2d_aa_backward.default",
                                           "aten._upsample_lanczos2d_aa_backward.default",
                                           "aten._upsample_bilinear2d_aa_backward.default",
                                           "aten._upsample_nearest_exact1d_backward.default",
                                           "aten._upsample_nearest_exact2d_backward.default",
                                           "aten._upsample_nearest_exact3d_backward.default",
                                           "aten.adaptive_max_pool2d_backward.default",
                                           "aten.adaptive_max_pool3d_backward.default",
                                           "aten.avg_pool2d_backward.default",
                                           "aten.avg_pool3d_backward.default",
                                           "aten.binary_cross_entropy_backward.default",
                                           "aten.elu_backward.default",
                                           "aten.fractional_max_pool2d_backward.default",
                                           "aten.fractional_max_pool3d_backward.default",
                                           "aten.gelu_backward.default",
                                           "aten.glu_backward.default",
                                           "aten.hardshrink_backward.default",
                                           "aten.hardsigmoid_backward.default",
                                           "aten.hardtanh_backward.default",
                                           "aten.leaky_relu_backward.default",
                                           "aten.log_sigmoid_backward.default",
                                           "aten.logit_backward.default",
                                           "aten.max_pool2d_with_indices_backward.default",
                                           "aten.max_pool3d_with_indices_backward.default",
                                           "aten.mse_loss_backward.default",
                                           "aten.multi_margin_loss_backward.default",
                                           "aten.multilabel_margin_loss_backward.default",
                                           "aten.nll_loss2d_backward.default",
                                           "aten.nll_loss_backward.default",
                                           "aten.reflection_pad1d_backward.default",
                                           "aten.reflection_pad2d_backward.default",
                                           "aten.reflection_pad3d_backward.default",
                                           "aten.replication_pad1d_backward.default",
                                           "aten.replication_pad2d_backward.default",
                                           "aten.replication_pad3d_backward.default",
                                           "aten.sigmoid_backward.default",
                                           "aten.silu_backward.default",
                                           "aten.smooth_l1_loss_backward.default",
                                           "aten.soft_margin_loss_backward.default",
                                           "aten.softplus_backward.default",
                                           "aten.softshrink_backward.default",
                                           "aten.tanh_backward.default",
                                           "aten.threshold_backward.default",
                                           "aten.upsample_bicubic2d_backward.default",
                                           "aten.upsample_bilinear2d_backward.default",
                                           "aten.upsample_linear1d_backward.default",
                                           "aten.upsample_nearest1d_backward.default",
                                           "aten.upsample_nearest2d_backward.default",
                                           "aten.upsample_nearest3d_backward.default",
                                           "aten.upsample_trilinear3d_backward.default"};
/// Compositions that have a form for out.
constexpr std::string_view kComposed[] = {"aten._add_relu.Scalar",
                                          "aten._add_relu.Tensor",
                                          "aten._addmm_activation.default",
                                          "aten._aminmax.default",
                                          "aten._aminmax.dim",
                                          "aten._conj_copy.default",
                                          "aten._conv_depthwise2d.default",
                                          "aten._convolution.default",
                                          "aten._index_put_impl.default",
                                          "aten._logcumsumexp.default",
                                          "aten._masked_softmax.default",
                                          "aten._neg_view_copy.default",
                                          "aten._reshape_alias_copy.default",
                                          "aten._slow_conv2d_forward.default",
                                          "aten._stack.default",
                                          "aten.conv_depthwise3d.default",
                                          "aten.conv_tbc.default",
                                          "aten.cross.default",
                                          "aten.cudnn_convolution.default",
                                          "aten.cudnn_convolution_add_relu.default",
                                          "aten.cudnn_convolution_relu.default",
                                          "aten.cudnn_convolution_transpose.default",
                                          "aten.detach_copy.default",
                                          "aten.fft_hfft.default",
                                          "aten.fft_hfft2.default",
                                          "aten.fft_hfftn.default",
                                          "aten.fft_ihfft.default",
                                          "aten.fft_ihfft2.default",
                                          "aten.fft_ihfftn.default",
                                          "aten.fft_irfft2.default",
                                          "aten.fft_irfftn.default",
                                          "aten.isin.Scalar_Tensor",
                                          "aten.isin.Tensor_Scalar",
                                          "aten.kron.default",
                                          "aten.lift.default",
                                          "aten.linalg_cond.default",
                                          "aten.linalg_cond.p_str",
                                          "aten.linalg_ldl_factor.default",
                                          "aten.linalg_matrix_norm.default",
                                          "aten.linalg_matrix_norm.str_ord",
                                          "aten.linalg_matrix_rank.atol_rtol_float",
                                          "aten.linalg_matrix_rank.atol_rtol_tensor",
                                          "aten.linalg_matrix_rank.default",
                                          "aten.linalg_matrix_rank.tol_tensor",
                                          "aten.linalg_norm.default",
                                          "aten.linalg_norm.ord_str",
                                          "aten.linalg_pinv.atol_rtol_float",
                                          "aten.linalg_pinv.default",
                                          "aten.linalg_pinv.rcond_tensor",
                                          "aten.linalg_tensorinv.default",
                                          "aten.linalg_tensorsolve.default",
                                          "aten.lu_solve.default",
                                          "aten.multilabel_margin_loss.default",
                                          "aten.norm.ScalarOpt_dim_dtype",
                                          "aten.norm.ScalarOpt_dtype",
                                          "aten.nuclear_norm.default",
                                          "aten.nuclear_norm.dim",
                                          "aten.resize.default",
                                          "aten.resize_as.default",
                                          "aten.slow_conv3d.default",
                                          "aten.slow_conv3d_forward.default",
                                          "aten.slow_conv_dilated2d.default",
                                          "aten.slow_conv_dilated3d.default",
                                          "aten.slow_conv_transpose2d.default",
                                          "aten.slow_conv_transpose3d.default",
                                          "aten.special_logsumexp.default",
                                          "aten.special_round.default",
                                          "aten.special_xlogy.other_scalar",
                                          "aten.special_xlogy.self_scalar",
                                          "aten.split_copy.Tensor",
                                          "aten.split_with_sizes_copy.default",
                                          "aten.svd.default",
                                          "aten.thnn_conv2d.default",
                                          "aten.unbind_copy.int",
                                          "aten.unsafe_split.Tensor",
                                          "aten.unsafe_split_with_sizes.default",
                                          "aten.view_as_complex_copy.default",
                                          "aten.view_as_real_copy.default",
                                          "aten.view_copy.dtype",
                                          "aten._chunk_cat.default",
                                          "aten._grid_sampler_2d_cpu_fallback.default",
                                          "aten._int_mm.default",
                                          "aten._batch_norm_no_update.default",
                                          "aten._cholesky_solve_helper.default",
                                          "aten._compute_linear_combination.default",
                                          "aten._cudnn_ctc_loss.default",
                                          "aten._fused_dropout.default",
                                          "aten._masked_scale.default",
                                          "aten._masked_softmax_backward.default",
                                          "aten._native_multi_head_attention.default",
                                          "aten._scaled_addmm.default",
                                          "aten._scaled_grouped_mm_v2.default",
                                          "aten._slow_conv2d_backward.output_mask",
                                          "aten._transform_bias_rescale_qkv.default",
                                          "aten._transformer_encoder_layer_fwd.default",
                                          "aten.addmm.dtype",
                                          "aten.baddbmm.dtype",
                                          "aten.bmm.dtype",
                                          "aten.cudnn_affine_grid_generator.default",
                                          "aten.cudnn_affine_grid_generator_backward.default",
                                          "aten.embedding_renorm.default",
                                          "aten.mm.dtype",
                                          "aten._scaled_mm.default",
                                          "aten._scaled_mm_v2.default",
                                          "aten._euclidean_dist.default",
                                          "aten._native_batch_norm_legit_no_training.default",
                                          "aten._unique.default",
                                          "aten.absolute.default",
                                          "aten.adaptive_avg_pool1d.default",
                                          "aten.adaptive_avg_pool2d.default",
                                          "aten.adaptive_avg_pool3d.default",
                                          "aten.alias_copy.default",
                                          "aten.arccos.default",
                                          "aten.arccosh.default",
                                          "aten.arcsin.default",
                                          "aten.arcsinh.default",
                                          "aten.arctan.default",
                                          "aten.arctan2.default",
                                          "aten.arctanh.default",
                                          "aten.argsort.stable",
                                          "aten.as_strided_copy.default",
                                          "aten.avg_pool1d.default",
                                          "aten.chain_matmul.default",
                                          "aten.channel_shuffle.default",
                                          "aten.clamp.Tensor",
                                          "aten.clip.Tensor",
                                          "aten.clip.default",
                                          "aten.column_stack.default",
                                          "aten.concat.default",
                                          "aten.concatenate.default",
                                          "aten.conj_physical.default",
                                          "aten.cudnn_batch_norm_backward.default",
                                          "aten.diag.default",
                                          "aten.diag_embed.default",
                                          "aten.diagonal_backward.default",
                                          "aten.diagonal_copy.default",
                                          "aten.diff.default",
                                          "aten.dist.default",
                                          "aten.div.Scalar_mode",
                                          "aten.dstack.default",
                                          "aten.expand_copy.default",
                                          "aten.fft_fft.default",
                                          "aten.fft_fft2.default",
                                          "aten.fft_fftn.default",
                                          "aten.fft_ifft.default",
                                          "aten.fft_ifft2.default",
                                          "aten.fft_ifftn.default",
                                          "aten.fft_irfft.default",
                                          "aten.fft_rfft.default",
                                          "aten.fft_rfft2.default",
                                          "aten.fft_rfftn.default",
                                          "aten.fill.Scalar",
                                          "aten.fill.Tensor",
                                          "aten.fix.default",
                                          "aten.float_power.Scalar",
                                          "aten.float_power.Tensor_Scalar",
                                          "aten.float_power.Tensor_Tensor",
                                          "aten.ger.default",
                                          "aten.greater.Scalar",
                                          "aten.greater.Tensor",
                                          "aten.greater_equal.Scalar",
                                          "aten.greater_equal.Tensor",
                                          "aten.hstack.default",
                                          "aten.inner.default",
                                          "aten.inverse.default",
                                          "aten.less.Scalar",
                                          "aten.less.Tensor",
                                          "aten.less_equal.Scalar",
                                          "aten.less_equal.Tensor",
                                          "aten.linalg_cholesky.default",
                                          "aten.linalg_det.default",
                                          "aten.linalg_eigvals.default",
                                          "aten.linalg_eigvalsh.default",
                                          "aten.linalg_inv.default",
                                          "aten.linalg_matmul.default",
                                          "aten.linalg_matrix_power.default",
                                          "aten.linalg_matrix_sqrth.default",
                                          "aten.linalg_multi_dot.default",
                                          "aten.linalg_solve.default",
                                          "aten.linalg_svdvals.default",
                                          "aten.linalg_vecdot.default",
                                          "aten.linear.default",
                                          "aten.log_sigmoid.default",
                                          "aten.log_softmax.int",
                                          "aten.matmul.default",
                                          "aten.matrix_power.default",
                                          "aten.msort.default",
                                          "aten.mvlgamma.default",
                                          "aten.nanmean.default",
                                          "aten.narrow_copy.default",
                                          "aten.negative.default",
                                          "aten.nll_loss.default",
                                          "aten.nll_loss2d.default",
                                          "aten.norm.Scalar",
                                          "aten.not_equal.Scalar",
                                          "aten.not_equal.Tensor",
                                          "aten.orgqr.default",
                                          "aten.outer.default",
                                          "aten.permute_copy.default",
                                          "aten.pixel_shuffle.default",
                                          "aten.pixel_unshuffle.default",
                                          "aten.roll.default",
                                          "aten.rot90.default",
                                          "aten.row_stack.default",
                                          "aten.rrelu_with_noise_backward.default",
                                          "aten.rsub.Scalar",
                                          "aten.rsub.Tensor",
                                          "aten.select_backward.default",
                                          "aten.select_copy.int",
                                          "aten.slice_backward.default",
                                          "aten.slice_copy.Tensor",
                                          "aten.soft_margin_loss.default",
                                          "aten.softmax.int",
                                          "aten.special_digamma.default",
                                          "aten.special_erf.default",
                                          "aten.special_erfc.default",
                                          "aten.special_erfinv.default",
                                          "aten.special_exp2.default",
                                          "aten.special_expit.default",
                                          "aten.special_expm1.default",
                                          "aten.special_gammainc.default",
                                          "aten.special_gammaincc.default",
                                          "aten.special_gammaln.default",
                                          "aten.special_i0.default",
                                          "aten.special_log1p.default",
                                          "aten.special_logit.default",
                                          "aten.special_multigammaln.default",
                                          "aten.special_polygamma.default",
                                          "aten.special_psi.default",
                                          "aten.special_sinc.default",
                                          "aten.special_xlogy.default",
                                          "aten.square.default",
                                          "aten.squeeze_copy.default",
                                          "aten.squeeze_copy.dim",
                                          "aten.squeeze_copy.dims",
                                          "aten.stack.default",
                                          "aten.t_copy.default",
                                          "aten.take_along_dim.default",
                                          "aten.tensordot.default",
                                          "aten.trace.default",
                                          "aten.transpose_copy.int",
                                          "aten.unfold_copy.default",
                                          "aten.unsqueeze_copy.default",
                                          "aten.upsample_bilinear2d.vec",
                                          "aten.upsample_nearest2d.vec",
                                          "aten.view_copy.default",
                                          "aten.vstack.default",
                                          "aten.zero.default",
                                          "aten.div.Tensor_mode",
                                          "aten.divide.Tensor",
                                          "aten.divide.Tensor_mode",
                                          "aten.frobenius_norm.dim",
                                          "aten.linalg_eigh.default",
                                          "aten.linalg_lu_factor.default",
                                          "aten.linalg_polar.default",
                                          "aten.linalg_slogdet.default",
                                          "aten.linalg_solve_ex.default",
                                          "aten.linalg_svd.default",
                                          "aten.multiply.Tensor",
                                          "aten.norm.ScalarOpt_dim",
                                          "aten.slogdet.default",
                                          "aten.std.dim",
                                          "aten.subtract.Tensor",
                                          "aten.var.dim"};
/// Kernels that have none.
constexpr std::string_view kWithout[] = {
    "aten.arange.start",
    "aten._efficient_attention_backward.default",
    "aten._flash_attention_backward.default",
    "aten._flash_attention_forward.default",
    "aten._flash_attention_forward.quantized",
    "aten.linalg__powsum.default",
    "aten._pad_packed_sequence.default",
    "aten._pack_padded_sequence_backward.default",
    "aten.gru.data",
    "aten.lstm.data",
    "aten.rnn_relu.data",
    "aten.rnn_tanh.data",
    "aten.__and__.Tensor",
    "aten.__or__.Tensor",
    "aten._ctc_loss_backward.Tensor",
    "aten._embedding_bag_backward.default",
    "aten._fused_rms_norm.default",
    "aten._fused_rms_norm_backward.default",
    "aten._prelu_kernel.default",
    "aten._prelu_kernel_backward.default",
    "aten._scaled_dot_product_flash_attention_for_cpu.default",
    "aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
    "aten._unsafe_index.Tensor",
    "aten._unsafe_index_put.default",
    "aten.cdist.default",
    "aten.gru.input",
    "aten.lstm.input",
    "aten.masked_scatter_backward.default",
    "aten.mish_backward.default",
    "aten.normal_functional.default",
    "aten.rnn_relu.input",
    "aten.rnn_tanh.input"};

/// Forms that PyTorch makes of the functional operator and a copy, and others that do so by hand:
/// what they resize is row-major. Without "aten." and ".default", a space behind each.
constexpr std::string_view kCopied =
    "_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d "
    "_adaptive_avg_pool3d_backward _add_relu.Scalar _aminmax _aminmax.dim _batch_norm_no_update "
    "_cdist_backward _cdist_forward _cholesky_solve_helper _conj_copy _conj_physical "
    "_convolution _ctc_loss _ctc_loss.Tensor _ctc_loss_backward _cudnn_ctc_loss _dirichlet_grad "
    "_efficientzerotensor _embedding_bag _embedding_bag_dense_backward "
    "_embedding_bag_forward_only _embedding_bag_per_sample_weights_backward _euclidean_dist "
    "_fake_quantize_learnable_per_channel_affine _fake_quantize_learnable_per_tensor_affine "
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams _fft_c2c _fft_c2r _fft_r2c "
    "_fused_dropout _fused_moving_avg_obs_fq_helper _grid_sampler_2d_cpu_fallback "
    "_histogramdd_bin_edges _histogramdd_from_bin_cts _histogramdd_from_bin_tensors "
    "_index_put_impl _masked_scale _masked_softmax _masked_softmax_backward "
    "_native_batch_norm_legit_no_training _native_multi_head_attention _neg_view_copy "
    "_pack_padded_sequence _pdist_backward _pdist_forward _reshape_alias_copy _sample_dirichlet "
    "_segment_reduce_backward _slow_conv2d_backward.output_mask _standard_gamma "
    "_standard_gamma_grad _thnn_fused_gru_cell _thnn_fused_gru_cell_backward "
    "_thnn_fused_lstm_cell _thnn_fused_lstm_cell_backward_impl _to_copy "
    "_transform_bias_rescale_qkv _transformer_encoder_layer_fwd _trilinear _unique _unique2 "
    "_unsafe_view _weight_norm_interface _weight_norm_interface_backward adaptive_avg_pool1d "
    "add.Scalar affine_grid_generator alias_copy as_strided_copy as_strided_scatter avg_pool1d "
    "bartlett_window bartlett_window.periodic bernoulli.Tensor bernoulli.p "
    "binary_cross_entropy_with_logits bincount binomial bitwise_and.Scalar_Tensor "
    "bitwise_left_shift.Scalar_Tensor bitwise_or.Scalar_Tensor "
    "bitwise_right_shift.Scalar_Tensor bitwise_xor.Scalar_Tensor blackman_window "
    "blackman_window.periodic block_diag bucketize.Scalar cauchy celu channel_shuffle "
    "cholesky_solve clone constant_pad_nd conv_depthwise3d conv_tbc convolution "
    "convolution_backward copy count_nonzero count_nonzero.dim_IntList "
    "cudnn_affine_grid_generator cudnn_affine_grid_generator_backward cudnn_batch_norm_backward "
    "cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose "
    "cudnn_grid_sampler cudnn_grid_sampler_backward detach_copy diag_embed diagonal_backward "
    "diagonal_copy diagonal_scatter dist div.Scalar div.Scalar_mode embedding "
    "embedding_dense_backward embedding_renorm empty_like empty_permuted empty_strided "
    "expand_copy exponential fake_quantize_per_channel_affine_cachemask "
    "fake_quantize_per_tensor_affine_cachemask fill.Scalar fill.Tensor flip floor_divide.Scalar "
    "full_like geometric grid_sampler_2d grid_sampler_2d_backward grid_sampler_3d "
    "grid_sampler_3d_backward hamming_window hamming_window.periodic "
    "hamming_window.periodic_alpha hamming_window.periodic_alpha_beta hann_window "
    "hann_window.periodic hardswish_backward index_fill.int_Scalar index_fill.int_Tensor "
    "index_put isinf isnan kaiser_window kaiser_window.beta kaiser_window.periodic lift "
    "lift_fresh_copy linalg_matrix_exp linalg_matrix_sqrth log_normal masked_fill.Scalar "
    "masked_fill.Tensor masked_scatter median mul.Scalar nanmedian native_batch_norm_backward "
    "native_dropout native_dropout_backward native_group_norm native_group_norm_backward "
    "native_layer_norm native_layer_norm_backward new_empty new_empty_strided new_full new_ones "
    "new_zeros norm.Scalar norm.ScalarOpt_dtype normal_functional ones_like permute_copy "
    "pixel_shuffle pixel_unshuffle poisson prod put rand_like rand_like.generator randint_like "
    "randint_like.Tensor randint_like.Tensor_generator randint_like.generator "
    "randint_like.low_dtype randint_like.low_generator_dtype randn_like randn_like.generator "
    "random random.from random.to relu remainder.Scalar_Tensor repeat repeat_interleave.Tensor "
    "resize resize_as roll rot90 rrelu_with_noise_backward rsub.Scalar rsub.Tensor "
    "scalar_tensor segment_reduce select_backward select_copy.int select_scatter slice_backward "
    "slice_copy.Tensor slice_scatter slow_conv_dilated2d slow_conv_dilated3d squeeze_copy "
    "squeeze_copy.dim squeeze_copy.dims std_mean.correction sub.Scalar sum t_copy trace "
    "transpose_copy.int tril_indices triu_indices unfold_backward unfold_copy uniform "
    "unique_consecutive unique_dim unique_dim_consecutive unsafe_split.Tensor "
    "unsafe_split_with_sizes unsqueeze_copy upsample_bilinear2d.vec upsample_nearest2d.vec "
    "var_mean.correction view_as_complex_copy view_as_real_copy view_copy view_copy.dtype zero "
    "zeros_like ";

template <class Names>
auto has_name(const Names& names, std::string_view name) -> bool {
  return std::ranges::find(names, name) != std::end(names);
}
/// They write running statistics, noise or an observer's state beside their results.
constexpr std::string_view kWritesToo[] = {
    "aten._batch_norm_with_update.default", "aten._fused_moving_avg_obs_fq_helper.default",
    "aten._native_batch_norm_legit.default", "aten.rrelu_with_noise.default"};
/// New tensors, each a result of its own or all in one list.
auto makes_tensors(const Schema& schema) -> bool {
  return (!schema.is_mutating() || has_name(kWritesToo, schema.overload)) &&
         !schema.returns.empty() && std::ranges::all_of(schema.returns, [&](const Return& r) {
           return r.is_tensor && r.alias == 0 && (!r.is_list || schema.returns.size() == 1);
         });
}
/// Kernels that treat their outs otherwise, seen with outs of all layouts on the CPU.
struct OtherLayout {
  std::string_view functional;
  OutLayout layout;
  int result = -1;       ///< the result that it is said of; -1: of all
  std::size_t rank = 0;  ///< the rank that it is said of; 0: of all
};
constexpr OtherLayout kOtherLayouts[] = {{"abs", OutLayout::iterated},
                                         {"hardtanh", OutLayout::iterated},
                                         {"nan_to_num", OutLayout::iterated},
                                         {"huber_loss_backward", OutLayout::iterated},
                                         {"log_sigmoid_forward", OutLayout::restrided, 1},
                                         {"max_pool3d_with_indices", OutLayout::restrided},
                                         {"max_pool3d_with_indices_backward", OutLayout::restrided},
                                         {"max_unpool2d", OutLayout::restrided},
                                         {"reflection_pad2d", OutLayout::restrided, -1, 4},
                                         {"reflection_pad2d_backward", OutLayout::restrided},
                                         {"reflection_pad3d", OutLayout::restrided},
                                         {"reflection_pad3d_backward", OutLayout::restrided},
                                         {"replication_pad2d", OutLayout::restrided},
                                         {"replication_pad2d_backward", OutLayout::restrided},
                                         {"replication_pad3d", OutLayout::restrided},
                                         {"replication_pad3d_backward", OutLayout::restrided},
                                         {"_log_softmax", OutLayout::raw},
                                         {"_log_softmax_backward_data", OutLayout::raw},
                                         {"_softmax", OutLayout::raw},
                                         {"_softmax_backward_data", OutLayout::raw},
                                         {"adaptive_max_pool3d", OutLayout::raw},
                                         {"avg_pool3d", OutLayout::raw},
                                         {"fractional_max_pool2d", OutLayout::raw},
                                         {"fractional_max_pool2d_backward", OutLayout::raw},
                                         {"fractional_max_pool3d", OutLayout::raw},
                                         {"fractional_max_pool3d_backward", OutLayout::raw},
                                         {"narrow_copy", OutLayout::raw},
                                         {"upsample_bicubic2d_backward", OutLayout::raw},
                                         {"cholesky_inverse", OutLayout::when_empty},
                                         {"geqrf", OutLayout::when_empty, 0},
                                         {"linalg_eig", OutLayout::when_empty},
                                         {"linalg_householder_product", OutLayout::when_empty},
                                         {"linalg_lstsq", OutLayout::when_empty},
                                         {"ormqr", OutLayout::when_empty},
                                         {"arange", OutLayout::counted},
                                         {"arange.start_step", OutLayout::counted},
                                         {"linspace", OutLayout::counted},
                                         {"logspace", OutLayout::counted},
                                         {"range", OutLayout::counted},
                                         {"range.step", OutLayout::counted},
                                         {"rrelu_with_noise", OutLayout::counted}};
/// The functional overload as kCopied has it.
auto short_name(std::string_view overload) -> std::string_view {
  constexpr std::string_view kSpace = "aten.", kDefault = ".default";
  if (overload.starts_with(kSpace)) overload.remove_prefix(kSpace.size());
  if (overload.ends_with(kDefault)) overload.remove_suffix(kDefault.size());
  return overload;
}

}  // namespace

auto out_layout(std::string_view functional, std::size_t i, std::size_t rank) -> OutLayout {
  const auto name = short_name(functional);
  const auto is_of = [&](const OtherLayout& entry) {
    return entry.functional == name &&
           (entry.result < 0 || static_cast<std::size_t>(entry.result) == i) &&
           (entry.rank == 0 || entry.rank == rank);
  };
  const auto* const other = std::ranges::find_if(kOtherLayouts, is_of);
  if (other != std::end(kOtherLayouts)) return other->layout;
  if (name.starts_with("_foreach_") || name.starts_with("fft_")) return OutLayout::copied;
  const bool is_copied =
      fmt::format(" {}", kCopied).find(fmt::format(" {} ", name)) != std::string::npos;
  return is_copied ? OutLayout::copied : OutLayout::proposed;
}

auto out_form(const OpRow& row) -> std::optional<OutForm> {
  const std::string_view name = row.name();
  const auto& returns = row.schema.returns;
  if (!name.starts_with("aten.") || !row.inplace_of.empty() || !makes_tensors(row.schema))
    return std::nullopt;
  const bool has_form = row.decomposition
                            ? name.starts_with("aten._foreach_") || has_name(kComposed, name)
                            : !has_name(kWithout, name);
  if (!has_form) return std::nullopt;
  if (has_name(kGradInput, name)) return OutForm{"grad_input", "grad_input"};
  const auto* const other = std::ranges::find(kOutNames, name, &OutName::functional);
  if (other != std::end(kOutNames))
    return OutForm{std::string(other->overload), std::string(other->parameters)};
  const auto overload = name.substr(name.rfind('.') + 1);
  OutForm form{overload == "default" ? "out" : fmt::format("{}_out", overload), "out"};
  if (returns.size() == 1) return form;
  form.parameters.clear();
  for (std::size_t i = 0; i < returns.size(); ++i)
    form.parameters += fmt::format("{}out{}", i == 0 ? "" : " ", i);
  return form;
}

}  // namespace assay
