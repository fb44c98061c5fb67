// What PyTorch makes of an out that has not the result's layout, operator by operator.
#include <algorithm>

#include <fmt/format.h>

#include "core/ops/rows/out_names.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

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

/// Kernels of which device.
enum class On : std::uint8_t { any, cpu, cuda };
/// Kernels that treat their outs otherwise, seen with outs of all layouts.
struct OtherLayout {
  std::string_view functional;  ///< one overload, or without one all
  OutLayout layout;
  On on = On::any;
  int result = -1;             ///< the result that it is said of; -1: of all
  std::size_t rank = 0;        ///< the rank that it is said of; 0: of all
  std::string_view flag = {};  ///< a parameter that is true in the calls that it is said of
};
constexpr OtherLayout kOtherLayouts[] = {
    {"angle", OutLayout::iterated},
    {"frexp.Tensor", OutLayout::iterated},
    {"_batch_norm_with_update", OutLayout::if_made, On::any, 3},
    {"abs", OutLayout::iterated},
    {"hardtanh", OutLayout::iterated},
    {"nan_to_num", OutLayout::iterated},
    {"huber_loss_backward", OutLayout::iterated},
    {"log_sigmoid_backward", OutLayout::iterated},
    {"mse_loss_backward", OutLayout::iterated},
    {"smooth_l1_loss_backward", OutLayout::iterated},
    {"log_sigmoid_forward", OutLayout::restrided, On::cpu, 1},
    {"log_sigmoid_forward", OutLayout::untouched, On::cuda, 1},
    {"reflection_pad1d", OutLayout::raw, On::cuda},
    {"reflection_pad2d", OutLayout::raw, On::cuda},
    {"_fft_c2c", OutLayout::proposed, On::cuda},
    {"_fft_c2r", OutLayout::proposed, On::cuda},
    {"_fft_r2c", OutLayout::proposed, On::cuda, -1, 0, "onesided"},
    {"max_pool3d_with_indices", OutLayout::restrided, On::cpu},
    {"max_pool3d_with_indices_backward", OutLayout::restrided, On::cpu},
    {"avg_pool2d", OutLayout::format, On::cuda},
    {"avg_pool2d_backward", OutLayout::format, On::cuda},
    {"max_pool2d_with_indices", OutLayout::raw, On::cuda},
    {"max_pool2d_with_indices_backward", OutLayout::raw_zeros, On::cuda},
    {"max_pool3d_with_indices", OutLayout::format, On::cuda},
    {"max_pool3d_with_indices_backward", OutLayout::format_zeros, On::cuda},
    {"upsample_nearest1d", OutLayout::raw, On::cuda},
    {"_upsample_nearest_exact1d", OutLayout::raw, On::cuda},
    {"upsample_nearest3d_backward", OutLayout::raw, On::cuda},
    {"multilabel_margin_loss_forward", OutLayout::lost, On::cuda, 1},
    {"multilabel_margin_loss_backward", OutLayout::raw, On::cuda},
    {"reflection_pad1d_backward", OutLayout::raw_zeros, On::cuda},
    {"reflection_pad2d_backward", OutLayout::raw_zeros, On::cuda},
    {"nll_loss_backward", OutLayout::lost_zeros, On::cuda, -1, 1},
    {"max_unpool2d", OutLayout::restrided, On::cpu},
    {"reflection_pad2d", OutLayout::restrided, On::cpu, -1, 4},
    {"reflection_pad2d_backward", OutLayout::restrided, On::cpu},
    {"reflection_pad3d", OutLayout::restrided, On::cpu},
    {"reflection_pad3d_backward", OutLayout::restrided, On::cpu},
    {"replication_pad2d", OutLayout::restrided, On::cpu},
    {"replication_pad2d_backward", OutLayout::restrided, On::cpu},
    {"replication_pad3d", OutLayout::restrided, On::cpu},
    {"replication_pad3d_backward", OutLayout::restrided, On::cpu},
    {"_log_softmax", OutLayout::raw},
    {"_log_softmax_backward_data", OutLayout::raw},
    {"_softmax", OutLayout::raw},
    {"_softmax_backward_data", OutLayout::raw},
    {"adaptive_max_pool3d", OutLayout::raw},
    {"avg_pool3d", OutLayout::raw, On::cpu},
    {"avg_pool3d_backward", OutLayout::raw_zeros, On::cpu},
    {"adaptive_max_pool3d_backward", OutLayout::raw_zeros},
    {"fractional_max_pool2d", OutLayout::raw, On::cpu},
    {"fractional_max_pool2d_backward", OutLayout::raw_zeros, On::cpu},
    {"fractional_max_pool3d", OutLayout::raw, On::cpu},
    {"fractional_max_pool3d_backward", OutLayout::raw_zeros, On::cpu},
    {"narrow_copy", OutLayout::raw, On::cpu},
    {"upsample_bicubic2d_backward", OutLayout::raw_zeros, On::cpu},
    {"cholesky_inverse", OutLayout::when_empty},
    {"geqrf", OutLayout::when_empty, On::any, 0},
    {"linalg_eig", OutLayout::when_empty, On::cpu},
    {"linalg_householder_product", OutLayout::when_empty},
    {"linalg_lstsq", OutLayout::together},
    {"ormqr", OutLayout::when_empty},
    {"native_batch_norm", OutLayout::if_made, On::cpu, 1},
    {"native_batch_norm", OutLayout::if_made, On::cpu, 2},
    {"nonzero", OutLayout::fresh_if_turned, On::cuda},
    {"nonzero_static", OutLayout::turned, On::cuda},
    {"triangular_solve", OutLayout::fresh_if_empty},
    {"binary_cross_entropy_backward", OutLayout::left, On::cpu},
    {"arange", OutLayout::counted},
    {"linspace", OutLayout::counted},
    {"logspace", OutLayout::counted},
    {"range", OutLayout::counted},
    {"rrelu_with_noise", OutLayout::counted, On::cpu},
    {"rrelu_with_noise", OutLayout::copied, On::cuda}};
/// The functional overload as kCopied has it.
auto short_name(std::string_view overload) -> std::string_view {
  constexpr std::string_view kSpace = "aten.", kDefault = ".default";
  if (overload.starts_with(kSpace)) overload.remove_prefix(kSpace.size());
  if (overload.ends_with(kDefault)) overload.remove_suffix(kDefault.size());
  return overload;
}

}  // namespace

auto out_layout(std::string_view functional, const OutResult& result) -> OutLayout {
  const auto name = short_name(functional);
  const auto is_of = [&](const OtherLayout& entry) {
    return (entry.functional == name || entry.functional == name.substr(0, name.find('.'))) &&
           (entry.on == On::any || (entry.on == On::cuda) == result.is_cuda) &&
           (entry.result < 0 || static_cast<std::size_t>(entry.result) == result.index) &&
           (entry.rank == 0 || entry.rank == result.rank) &&
           (entry.flag.empty() || result.call.flag(param(result.call, entry.flag)));
  };
  const auto* const other = std::ranges::find_if(kOtherLayouts, is_of);
  if (other != std::end(kOtherLayouts)) return other->layout;
  if (name.starts_with("_foreach_") || name.starts_with("fft_")) return OutLayout::copied;
  const bool is_copied =
      fmt::format(" {}", kCopied).find(fmt::format(" {} ", name)) != std::string::npos;
  return is_copied ? OutLayout::copied : OutLayout::proposed;
}

}  // namespace assay
