#include "replay/interp/autocast.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <string_view>

#include "core/ops/op_table.h"
#include "replay/interp/run.h"

namespace assay {
namespace {

enum class Policy : std::uint8_t {
  lower,       ///< floats become the scope's dtype
  float32,     ///< halves become float32
  float32_of,  ///< the result is float32, unless its dtype is asked for
  widest,      ///< halves become float32 where another operand is
  composed,    ///< is cast in the operators that it is composed of
};
struct PolicyRow {
  std::string_view device;  ///< empty: of every device
  Policy policy;
  std::string_view operators;
};
// Names of aten's operators. What is listed for one device alone is an operator like any other, or
// composed of some, for the others.
constexpr std::array kPolicies = {
    PolicyRow{"", Policy::lower,
              "_convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d "
              "conv_transpose3d prelu addmm matmul mm linalg_vecdot linear addbmm baddbmm bmm "
              "scaled_dot_product_attention"},
    PolicyRow{"cuda", Policy::lower,
              "convolution addmv addr einsum mv chain_matmul linalg_multi_dot lstm_cell gru_cell "
              "rnn_tanh_cell rnn_relu_cell"},
    PolicyRow{"", Policy::float32,
              "cosine_embedding_loss poisson_nll_loss nll_loss nll_loss2d nll_loss_forward "
              "nll_loss2d_forward hinge_embedding_loss "
              "kl_div l1_loss smooth_l1_loss huber_loss mse_loss margin_ranking_loss "
              "multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss "
              "binary_cross_entropy_with_logits cdist"},
    PolicyRow{"cuda", Policy::float32,
              "_softmax _log_softmax acos asin cosh erfinv exp expm1 log log10 log2 log1p "
              "reciprocal rsqrt sinh tan pow "
              "softplus layer_norm native_layer_norm group_norm frobenius_norm nuclear_norm norm "
              "cosine_similarity dist pdist renorm logsumexp upsample_nearest1d "
              "_upsample_nearest_exact1d upsample_nearest2d _upsample_nearest_exact2d "
              "upsample_nearest3d _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d "
              "_upsample_bilinear2d_aa upsample_trilinear3d upsample_bicubic2d "
              "_upsample_bicubic2d_aa"},
    PolicyRow{"cpu", Policy::float32,
              "avg_pool3d binary_cross_entropy grid_sampler grid_sampler_2d grid_sampler_3d polar "
              "prod quantile nanquantile stft trace view_as_complex cholesky cholesky_inverse "
              "cholesky_solve inverse lu_solve orgqr ormqr pinverse max_pool3d max_unpool2d "
              "max_unpool3d adaptive_avg_pool3d reflection_pad1d reflection_pad2d "
              "replication_pad1d replication_pad2d replication_pad3d cross_entropy_loss ctc_loss "
              "fft_fft fft_ifft fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft fft_irfft fft_rfft2 "
              "fft_irfft2 fft_rfftn fft_irfftn fft_hfft fft_ihfft linalg_cond linalg_matrix_rank "
              "linalg_solve linalg_cholesky linalg_svdvals linalg_eigvals linalg_eigvalsh "
              "linalg_inv linalg_householder_product linalg_tensorinv linalg_tensorsolve geqrf qr "
              "svd triangular_solve fractional_max_pool2d fractional_max_pool3d "
              "adaptive_max_pool3d linalg_qr linalg_cholesky_ex linalg_svd linalg_eig linalg_eigh "
              "linalg_lstsq linalg_inv_ex"},
    PolicyRow{"cuda", Policy::float32_of,
              "prod softmax log_softmax cumprod cumsum linalg_vector_norm linalg_matrix_norm sum"},
    PolicyRow{"cuda", Policy::widest,
              "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot "
              "scatter_add"},
    PolicyRow{"cpu", Policy::widest, "stack cat index_copy"},
    PolicyRow{"cuda", Policy::composed, "cross_entropy_loss nll_loss_nd linalg_norm inner"},
    PolicyRow{"cpu", Policy::composed,
              "einsum tensordot inner chain_matmul linalg_multi_dot nll_loss_nd pad"},
};

auto has_word(std::string_view words, std::string_view wanted) -> bool {
  return std::ranges::any_of(std::views::split(words, ' '), [&](const auto& word) {
    return std::string_view(word.begin(), word.end()) == wanted;
  });
}
auto policy_of(std::string_view name, std::string_view device) -> std::optional<Policy> {
  const auto* row = std::ranges::find_if(kPolicies, [&](const PolicyRow& one) {
    return (one.device.empty() || one.device == device) && has_word(one.operators, name);
  });
  return row == kPolicies.end() ? std::nullopt : std::optional(row->policy);
}
/// "linear" of "aten.linear.default"; empty for operators of other spaces.
auto name_of(std::string_view overload) -> std::string_view {
  constexpr std::string_view kAten = "aten.";
  if (!overload.starts_with(kAten)) return {};
  overload.remove_prefix(kAten.size());
  return overload.substr(0, overload.find('.'));
}

/// Operators with the casts of one device; what they call themselves is not cast again.
class CastingDomain : public Domain {
 public:
  CastingDomain(Domain& inner, Autocast cast) : inner_(inner), cast_(std::move(cast)) {}

  auto run(const OpRow& row, DatumList args) -> Result<Datum> override {
    const auto policy = policy_of(name_of(row.name()), cast_.device);
    if (!policy) return inner_.run(row, std::move(args));
    if (*policy == Policy::composed) {
      if (row.decomposition == nullptr) return inner_.run(row, std::move(args));
      Composer composer(row, args, *this);
      auto made = row.decomposition(composer);
      if (composer.error()) return std::unexpected(*composer.error());
      return made;
    }
    if (*policy == Policy::float32_of) {
      const auto dtype = row.schema.index_of("dtype");
      if (dtype >= 0 && args[static_cast<std::size_t>(dtype)].is_none() && may_cast(args[0]))
        args[static_cast<std::size_t>(dtype)] = Datum{DType::float32};
      return inner_.run(row, std::move(args));
    }
    if (*policy == Policy::widest &&
        !std::ranges::any_of(args, [&](const Datum& arg) { return has(arg, DType::float32); }))
      return inner_.run(row, std::move(args));
    for (auto& arg : args) {
      ASSAY_TRY(arg, cast(std::move(arg), *policy));
    }
    return inner_.run(row, std::move(args));
  }
  [[nodiscard]] auto find(std::string_view overload) const -> const OpRow* override {
    return inner_.find(overload);
  }
  [[nodiscard]] auto launch(const UserKernelCall& call) -> Result<bool> override {
    return inner_.launch(call);
  }
  [[nodiscard]] auto overloads(std::string_view name) const
      -> std::span<const OpRow* const> override {
    return inner_.overloads(name);
  }
  [[nodiscard]] auto meta(const Datum& tensor) const -> TensorMeta override {
    return inner_.meta(tensor);
  }
  [[nodiscard]] auto context() -> ShapeContext& override { return inner_.context(); }

 private:
  /// Floats of the scope's device, but for float64.
  [[nodiscard]] auto may_cast(const Datum& datum) const -> bool {
    if (!datum.is_tensor()) return false;
    const auto meta = inner_.meta(datum);
    const auto& type = meta.device.type.empty() ? "cpu" : meta.device.type;
    return type == cast_.device && (meta.dtype == DType::float32 || is_half(meta.dtype));
  }
  [[nodiscard]] auto has(const Datum& datum, DType dtype) const -> bool {
    if (const auto* list = datum.list())
      return std::ranges::any_of(*list, [&](const Datum& one) { return has(one, dtype); });
    return may_cast(datum) && inner_.meta(datum).dtype == dtype;
  }
  [[nodiscard]] auto cast(Datum datum, Policy policy) -> Result<Datum> {
    if (const auto* list = datum.list()) {
      DatumList all;
      for (const auto& one : *list) {
        ASSAY_TRY(all.emplace_back(), cast(one, policy));
      }
      return Datum{std::move(all)};
    }
    const auto to = policy == Policy::lower ? cast_.dtype : DType::float32;
    if (!may_cast(datum) || inner_.meta(datum).dtype == to) return datum;
    const auto* row = inner_.find("prims.convert_element_type.default");
    if (row == nullptr) return unsupported("no row for conversions");
    return inner_.run(*row, {std::move(datum), Datum{to}});
  }

  Domain& inner_;
  Autocast cast_;
};

constexpr std::string_view kEnterAutocast = "torch.amp.autocast_mode._enter_autocast",
                           kExitAutocast = "torch.amp.autocast_mode._exit_autocast";
constexpr std::array<std::pair<std::string_view, DType>, 2> kUsual = {
    {{"cpu", DType::bfloat16}, {"cuda", DType::float16}}};

/// By position or name.
auto argument(const Node& node, std::size_t at, std::string_view name) -> const ArgValue* {
  for (const auto& [key, arg] : node.kwargs)
    if (key == name) return &arg.value;
  return at < node.args.size() ? &node.args[at].value : nullptr;
}

}  // namespace

auto autocast_of(const Node& node) -> std::optional<Autocast> {
  const auto* device = argument(node, 0, "device_type");
  const auto* text = device ? std::get_if<std::string>(device) : nullptr;
  const auto* enabled = argument(node, 2, "enabled");
  const auto* truth = enabled ? std::get_if<Expr>(enabled) : nullptr;
  if (text == nullptr || (truth && truth->as_bool() == false)) return std::nullopt;
  const auto* dtype = argument(node, 1, "dtype");
  if (const auto* given = dtype ? std::get_if<DType>(dtype) : nullptr)
    return Autocast{*text, *given};
  const auto* const usual = std::ranges::find(kUsual, *text, &decltype(kUsual)::value_type::first);
  return usual == kUsual.end() ? std::nullopt : std::optional(Autocast{*text, usual->second});
}

auto casting(Domain& domain, const Autocast& cast) -> std::unique_ptr<Domain> {
  return std::make_unique<CastingDomain>(domain, cast);
}

AutocastScopes::AutocastScopes(const Graph& graph) : graph_(graph) {
  add_scopes();
  add_surrounding();
  if (scopes_.empty()) return;
  positions_.assign(static_cast<std::size_t>(std::max(graph.next_id, 0)), 0);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    positions_[static_cast<std::size_t>(graph.nodes[i].id.value)] = i;
}

void AutocastScopes::add_scopes() {
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const auto& node = graph_.nodes[i];
    if (node.target == kExitAutocast) {
      const auto* entered = node.args.empty() ? nullptr : std::get_if<NodeId>(&node.args[0].value);
      const auto* by = entered ? graph_.find(*entered) : nullptr;
      for (auto& scope : scopes_)
        if (by == &graph_.nodes[scope.begin] && scope.end == graph_.nodes.size()) scope.end = i;
    }
    if (node.target != kEnterAutocast) continue;
    Scope scope{.device = {}, .dtype = {}, .begin = i, .end = graph_.nodes.size()};
    if (const auto on = autocast_of(node)) {
      scope.device = on->device;
      scope.dtype = on->dtype;
    } else if (const auto* device = argument(node, 0, "device_type")) {
      if (const auto* text = std::get_if<std::string>(device)) scope.device = *text;
    }
    scopes_.push_back(std::move(scope));
  }
}

/// A matrix product as Python calls it, of float32 among others, that claims halves.
void AutocastScopes::add_surrounding() {
  constexpr std::string_view kProducts =
      "linear matmul bmm mm addmm baddbmm conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
      "conv_transpose3d scaled_dot_product_attention";
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const auto& node = graph_.nodes[i];
    const auto* claim = node.claim.tensor();
    if (claim == nullptr || !is_half(claim->dtype) || node.target.starts_with("aten.") ||
        (node.kind != NodeKind::call_function && node.kind != NodeKind::call_method))
      continue;
    const std::string_view target = node.target;
    if (!has_word(kProducts, target.substr(target.rfind('.') + 1))) continue;
    const bool has_float = std::ranges::any_of(operands(node), [&](NodeId id) {
      const auto* operand = graph_.find(id);
      const auto* meta = operand ? operand->claim.tensor() : nullptr;
      return meta != nullptr && meta->dtype == DType::float32;
    });
    const bool is_inside = std::ranges::any_of(
        scopes_, [&](const Scope& one) { return one.begin <= i && i < one.end; });
    if (!has_float || is_inside) continue;
    scopes_.insert(scopes_.begin(),
                   {.device = claim->device.type.empty() ? "cpu" : claim->device.type,
                    .dtype = claim->dtype,
                    .begin = 0,
                    .end = graph_.nodes.size()});
    return;
  }
}

auto AutocastScopes::at(NodeId node) const -> std::vector<Autocast> {
  std::vector<Autocast> all;
  if (scopes_.empty() || static_cast<std::size_t>(node.value) >= positions_.size()) return all;
  const auto at = positions_[static_cast<std::size_t>(node.value)];
  for (const auto& scope : scopes_) {
    if (at < scope.begin || at >= scope.end) continue;
    std::erase_if(all, [&](const Autocast& one) { return one.device == scope.device; });
    if (scope.dtype) all.push_back({scope.device, *scope.dtype});
  }
  return all;
}

auto AutocastScopes::run(const Node& node, Domain& domain,
                         const std::function<const Datum*(NodeId)>& lookup) const -> Result<Datum> {
  const auto casts = at(node.id);
  if (casts.empty()) return run_node(graph_, node, domain, lookup);
  CastingDomain first(domain, casts.front());
  if (casts.size() == 1) return run_node(graph_, node, first, lookup);
  CastingDomain second(first, casts[1]);
  return run_node(graph_, node, second, lookup);
}

}  // namespace assay
