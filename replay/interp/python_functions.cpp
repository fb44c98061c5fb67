#include "replay/interp/python_functions.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ranges>

namespace assay {
namespace {

/// Parameters in Python's order, each `NAME`, `NAME=OTHER` where the operator calls it OTHER,
/// `-NAME` where it has none, `+NAME:VALUE` what Python always gives; with `{a,b}` words become
/// numbers, with `:VALUE` there is a default that the operator lacks.
struct FunctionRow {
  std::string_view function;
  std::string_view aten;
  std::string_view params;
  int item = -1;
};
constexpr std::array kFunctions = {
    FunctionRow{"batch_norm", "aten.batch_norm",
                "input running_mean running_var weight bias training:False momentum:0.1 "
                "eps:0.00001 +cudnn_enabled:True"},
    FunctionRow{"instance_norm", "aten.instance_norm",
                "input running_mean running_var weight bias use_input_stats:True momentum:0.1 "
                "eps:0.00001 +cudnn_enabled:True"},
    FunctionRow{"cross_entropy", "aten.cross_entropy_loss",
                "input=self target weight -size_average ignore_index -reduce reduction "
                "label_smoothing"},
    FunctionRow{"nll_loss", "aten.nll_loss_nd",
                "input=self target weight -size_average ignore_index -reduce reduction"},
    FunctionRow{"embedding", "aten.embedding",
                "input=indices weight padding_idx -max_norm -norm_type scale_grad_by_freq sparse"},
    FunctionRow{"dropout", "aten.dropout", "input p:0.5 training=train:True inplace"},
    FunctionRow{"dropout1d", "aten.feature_dropout", "input p:0.5 training=train:True inplace"},
    FunctionRow{"dropout2d", "aten.feature_dropout", "input p:0.5 training=train:True inplace"},
    FunctionRow{"dropout3d", "aten.feature_dropout", "input p:0.5 training=train:True inplace"},
    FunctionRow{"feature_alpha_dropout", "aten.feature_alpha_dropout",
                "input p:0.5 training=train:False inplace"},
    FunctionRow{"alpha_dropout", "aten.alpha_dropout", "input p:0.5 training=train:False inplace"},
    FunctionRow{"relu", "aten.relu", "input=self inplace"},
    FunctionRow{"relu6", "aten.relu6", "input=self inplace"},
    FunctionRow{"hardswish", "aten.hardswish", "input=self inplace"},
    FunctionRow{"hardsigmoid", "aten.hardsigmoid", "input=self inplace"},
    FunctionRow{"silu", "aten.silu", "input=self inplace"},
    FunctionRow{"mish", "aten.mish", "input=self inplace"},
    FunctionRow{"selu", "aten.selu", "input=self inplace"},
    FunctionRow{"elu", "aten.elu", "input=self alpha inplace"},
    FunctionRow{"celu", "aten.celu", "input=self alpha inplace"},
    FunctionRow{"leaky_relu", "aten.leaky_relu", "input=self negative_slope inplace"},
    FunctionRow{"hardtanh", "aten.hardtanh", "input=self min_val max_val inplace"},
    FunctionRow{"threshold", "aten.threshold", "input=self threshold value inplace"},
    FunctionRow{"rrelu", "aten.rrelu", "input=self lower upper training inplace"},
    FunctionRow{"unfold", "aten.im2col", "input=self kernel_size dilation:1 padding:0 stride:1"},
    FunctionRow{"fold", "aten.col2im",
                "input=self output_size kernel_size dilation:1 padding:0 stride:1"},
    FunctionRow{"grid_sample", "aten.grid_sampler",
                "input grid mode=interpolation_mode{bilinear,nearest,bicubic}:bilinear "
                "padding_mode{zeros,border,reflection}:zeros align_corners:False"},
    FunctionRow{"affine_grid", "aten.affine_grid_generator", "theta size align_corners:False"},
    FunctionRow{"poisson_nll_loss", "aten.poisson_nll_loss",
                "input target log_input:True full:False -size_average eps:0.00000001 -reduce "
                "reduction:mean"},
    FunctionRow{"ctc_loss", "aten.ctc_loss",
                "log_probs targets input_lengths target_lengths blank:0 reduction "
                "zero_infinity:False"},
    FunctionRow{"multi_margin_loss", "aten.multi_margin_loss",
                "input=self target p:1 margin:1.0 weight -size_average -reduce reduction"},
    FunctionRow{"triplet_margin_loss", "aten.triplet_margin_loss",
                "anchor positive negative margin:1.0 p:2.0 eps:0.000001 swap:False -size_average "
                "-reduce reduction"},
    FunctionRow{"margin_ranking_loss", "aten.margin_ranking_loss",
                "input1 input2 target margin:0.0 -size_average -reduce reduction"},
    FunctionRow{"cosine_embedding_loss", "aten.cosine_embedding_loss",
                "input1 input2 target margin:0.0 -size_average -reduce reduction"},
    FunctionRow{"hinge_embedding_loss", "aten.hinge_embedding_loss",
                "input=self target margin:1.0 -size_average -reduce reduction"},
    FunctionRow{"binary_cross_entropy_with_logits", "aten.binary_cross_entropy_with_logits",
                "input=self target weight -size_average -reduce reduction pos_weight"},
    FunctionRow{"smooth_l1_loss", "aten.smooth_l1_loss",
                "input=self target -size_average -reduce reduction beta:1.0"},
    FunctionRow{"huber_loss", "aten.huber_loss", "input=self target reduction delta:1.0 -weight"},
    FunctionRow{"max_pool1d_with_indices", "aten.max_pool1d_with_indices",
                "input=self kernel_size stride padding dilation ceil_mode -return_indices"},
    FunctionRow{"max_pool2d_with_indices", "aten.max_pool2d_with_indices",
                "input=self kernel_size stride padding dilation ceil_mode -return_indices"},
    FunctionRow{"max_pool3d_with_indices", "aten.max_pool3d_with_indices",
                "input=self kernel_size stride padding dilation ceil_mode -return_indices"},
    FunctionRow{"cdist", "aten.cdist",
                "x1 x2 p:2.0 compute_mode{use_mm_for_euclid_dist_if_necessary,"
                "use_mm_for_euclid_dist,donot_use_mm_for_euclid_dist}"},
    FunctionRow{"softmax", "aten.softmax", "input=self dim -_stacklevel dtype"},
    FunctionRow{"log_softmax", "aten.log_softmax", "input=self dim -_stacklevel dtype"},
};

/// Of autocast the runner knows where it is on.
constexpr std::array<std::string_view, 4> kModes = {
    "torch._C._set_grad_enabled", "torch._C._log_api_usage_once",
    "torch.amp.autocast_mode._enter_autocast", "torch.amp.autocast_mode._exit_autocast"};
/// Questions whose answers Dynamo has put in already; that they were asked stays in the graph.
constexpr std::array<std::string_view, 6> kQuestions = {
    "torch.cuda.get_device_capability", "torch.cuda.get_device_properties",
    "torch.cuda.get_device_name",       "torch.cuda.current_device",
    "torch.cuda.device_count",          "torch.cuda.is_available"};

/// Of vmap, whose regions the runner knows, behind the name of a module that PyTorch changes.
constexpr std::array<std::string_view, 3> kOfVmap = {
    "lazy_load_decompositions", "_vmap_increment_nesting", "_vmap_decrement_nesting"};

/// Arguments of Python functions that change nothing the operator could be told.
constexpr std::array<std::string_view, 3> kPythonOnly = {"_stacklevel", "return_indices", "layout"};
/// Arguments of old that say nothing where they are None; `reduce` is an operator's own elsewhere.
constexpr std::array<std::string_view, 2> kLegacy = {"size_average", "reduce"};
constexpr std::array<std::string_view, 3> kReductions = {"none", "mean", "sum"};

/// Interpolation by mode; kinds of inputs by their spatial dimensions 1 to 3.
struct ResampleRow {
  std::string_view mode;
  std::array<std::string_view, 3> aten;
  bool takes_corners = false;
};
constexpr std::array kResamples = {
    ResampleRow{"nearest",
                {"aten.upsample_nearest1d", "aten.upsample_nearest2d", "aten.upsample_nearest3d"}},
    ResampleRow{"nearest-exact",
                {"aten._upsample_nearest_exact1d", "aten._upsample_nearest_exact2d",
                 "aten._upsample_nearest_exact3d"}},
    ResampleRow{"linear", {"aten.upsample_linear1d", "", ""}, true},
    ResampleRow{"bilinear", {"", "aten.upsample_bilinear2d", ""}, true},
    ResampleRow{"bicubic", {"", "aten.upsample_bicubic2d", ""}, true},
    ResampleRow{"trilinear", {"", "", "aten.upsample_trilinear3d"}, true},
    ResampleRow{
        "area",
        {"aten.adaptive_avg_pool1d", "aten.adaptive_avg_pool2d", "aten.adaptive_avg_pool3d"}},
};

/// Attributes of tensors that are an operator; its further arguments are the two numbers, if any.
struct AttributeRow {
  std::string_view attribute;
  std::string_view aten;
  bool is_transpose = false;
};
constexpr std::array kAttributes = {
    AttributeRow{"real", "aten.real"},   AttributeRow{"imag", "aten.imag"},
    AttributeRow{"T", "aten.numpy_T"},   AttributeRow{"mT", "aten.transpose", true},
    AttributeRow{"H", "aten.adjoint"},   AttributeRow{"mH", "aten.adjoint"},
    AttributeRow{"data", "aten.detach"},
};

/// Methods of Python's operators by the operator's own name where that is not the method's.
struct MethodRow {
  std::string_view method;
  std::string_view operation;
};
constexpr std::array kMethods = {MethodRow{"and", "and_"}, MethodRow{"or", "or_"}};

/// One parameter of a row, taken apart.
struct ParamWords {
  explicit ParamWords(std::string_view text) {
    if (text.starts_with('-') || text.starts_with('+')) {
      sign = text[0];
      text.remove_prefix(1);
    }
    if (const auto colon = text.find(':'); colon != std::string_view::npos) {
      fallback = text.substr(colon + 1);
      text = text.substr(0, colon);
    }
    if (const auto brace = text.find('{'); brace != std::string_view::npos) {
      words = text.substr(brace + 1, text.size() - brace - 2);
      text = text.substr(0, brace);
    }
    python = text.substr(0, text.find('='));
    aten = text.substr(text.find('=') + 1);  // all of it without one
  }
  char sign = 0;
  std::string_view python, aten, words;
  std::optional<std::string_view> fallback;
};

auto parsed(std::string_view text) -> Datum {
  if (text == "None") return {};
  if (text == "True" || text == "False") return {Expr(text == "True")};
  if (double value = 0; text.contains('.')) {
    std::from_chars(text.data(), text.data() + text.size(), value);
    return {Expr::real(value)};
  }
  if (std::int64_t value = 0;
      std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc())
    return {Expr(value)};
  return {std::string(text)};
}

/// A word's place among those of the parameter; other values as they are.
auto in_words(Datum datum, std::string_view words) -> Datum {
  const auto* text = std::get_if<std::string>(&datum.value);
  if (!text) return datum;
  std::int64_t place = 0;
  for (const auto part : std::views::split(words, ',')) {
    if (std::string_view(part.begin(), part.end()) == *text) return {Expr(place)};
    ++place;
  }
  return datum;
}

auto find(const Keywords& keywords, std::string_view name) -> const Datum* {
  const auto found = std::ranges::find(keywords, name, &Keywords::value_type::first);
  return found == keywords.end() ? nullptr : &found->second;
}

auto bound_by(const FunctionRow& row, const PythonArgs& args) -> NamedCall {
  NamedCall call{std::string(row.aten), {}, {}};
  if (row.item >= 0) call.item = static_cast<std::size_t>(row.item);
  std::size_t position = 0;
  for (const auto part : std::views::split(row.params, ' ')) {
    const ParamWords param(std::string_view(part.begin(), part.end()));
    auto value = param.sign == '+' ? Datum{} : argument_of(args, position++, param.python);
    if (param.sign == '-') continue;
    if (value.is_none() && param.fallback) value = parsed(*param.fallback);
    if (!param.words.empty()) value = in_words(std::move(value), param.words);
    if (value.is_none() && param.fallback != "None") continue;
    call.args.keywords.emplace_back(param.aten, std::move(value));
  }
  if (const auto* indices = find(args.keywords, "return_indices"); indices && is_true(*indices))
    call.item.reset();
  return call;
}

auto rank_of(const Datum& tensor) -> int {
  if (const auto* real = tensor.real()) return real->rank();
  return tensor.fake() ? tensor.fake()->meta.rank() : 0;
}

/// One number for each of `count` dimensions.
auto for_each_dimension(const Datum& datum, std::size_t count) -> Datum {
  return datum.is_none() || datum.list() ? datum : Datum{DatumList(count, datum)};
}

/// Sizes of dimensions behind the first two, scaled and rounded down.
auto scaled_sizes(const Datum& input, const Datum& scales) -> Datum {
  const auto* real = input.real();
  const auto* fake = input.fake();
  DatumList sizes;
  for (std::size_t d = 0; d < scales.list()->size(); ++d) {
    const auto* scale = (*scales.list())[d].scalar();
    if (scale == nullptr) return {};
    const auto size = real != nullptr ? Expr(real->sizes()[d + 2]) : fake->meta.sizes[d + 2];
    const auto exact = make(ExprOp::to_float, std::array{size}) * *scale;
    sizes.push_back(Datum{make(ExprOp::trunc_to_int, std::array{exact})});
  }
  return {std::move(sizes)};
}

/// Of old, without a mode or corners of their own.
struct UpsampleRow {
  std::string_view function;
  std::string_view mode;
};
constexpr std::array kUpsamples = {UpsampleRow{"upsample_nearest", "nearest"},
                                   UpsampleRow{"upsample_bilinear", "bilinear"}};

/// interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
auto interpolate(const PythonArgs& args) -> std::optional<NamedCall> {
  const auto input = argument_of(args, 0, "input");
  const auto rank = rank_of(input);
  if (rank < 3 || rank > 5) return std::nullopt;
  const auto spatial = static_cast<std::size_t>(rank - 2);
  const auto mode = argument_of(args, 3, "mode");
  const auto* named = std::get_if<std::string>(&mode.value);
  const auto* row = std::ranges::find(kResamples, named ? std::string_view(*named) : "nearest",
                                      &ResampleRow::mode);
  if (row == kResamples.end() || row->aten[spatial - 1].empty()) return std::nullopt;
  auto size = for_each_dimension(argument_of(args, 1, "size"), spatial);
  auto scales = for_each_dimension(argument_of(args, 2, "scale_factor"), spatial);
  // The sizes say then what the scales are.
  const bool is_by_size = is_true(argument_of(args, 5, "recompute_scale_factor"));
  if (!scales.is_none() && (row->mode == "area" || is_by_size))
    size = scaled_sizes(input, std::exchange(scales, Datum{}));
  if (row->mode == "area")
    return NamedCall{std::string(row->aten[spatial - 1]), {{input, size}, {}}, {}};
  NamedCall call{std::string(row->aten[spatial - 1]), {{input, size}, {}}, {}};
  if (is_true(argument_of(args, 6, "antialias")))
    call.name = "aten._" + call.name.substr(5) + "_aa";
  call.name += ".vec";
  if (row->takes_corners) {
    const auto corners = argument_of(args, 4, "align_corners");
    call.args.positional.push_back(corners.is_none() ? Datum{Expr(false)} : corners);
  }
  call.args.positional.push_back(scales);
  return call;
}

}  // namespace

auto argument_of(const PythonArgs& args, std::size_t position, std::string_view name) -> Datum {
  if (position < args.positional.size()) return args.positional[position];
  const auto* keyword = find(args.keywords, name);
  return keyword ? *keyword : Datum{};
}

auto python_function(std::string_view function, const PythonArgs& args)
    -> std::optional<NamedCall> {
  if (function == "interpolate" || function == "upsample") return interpolate(args);
  if (const auto* old = std::ranges::find(kUpsamples, function, &UpsampleRow::function);
      old != kUpsamples.end())
    return interpolate({{argument_of(args, 0, "input"), argument_of(args, 1, "size"),
                         argument_of(args, 2, "scale_factor"), Datum{std::string(old->mode)},
                         Datum{Expr::boolean(old->mode == "bilinear")}},
                        {}});
  const auto* row = std::ranges::find(kFunctions, function, &FunctionRow::function);
  if (row == kFunctions.end()) return std::nullopt;
  return bound_by(*row, args);
}

auto python_list(std::string_view target, const DatumList& args) -> std::optional<Datum> {
  if (args.size() != 2) return std::nullopt;
  const auto *left = args[0].list(), *right = args[1].list();
  if (left == nullptr && right == nullptr) return std::nullopt;
  DatumList result;
  if (target == "operator.add" && left != nullptr && right != nullptr) {
    result = *left;
    result.insert(result.end(), right->begin(), right->end());
    return Datum{std::move(result)};
  }
  const auto* number = args[left != nullptr ? 1 : 0].scalar();
  const auto times = number == nullptr ? std::nullopt : number->as_int();
  if (target != "operator.mul" || !times) return std::nullopt;
  const auto& list = left != nullptr ? *left : *right;
  for (std::int64_t i = 0; i < *times; ++i) result.insert(result.end(), list.begin(), list.end());
  return Datum{std::move(result)};
}

auto inplace_position(std::string_view function) -> std::optional<std::size_t> {
  const auto* row = std::ranges::find(kFunctions, function, &FunctionRow::function);
  if (row == kFunctions.end()) return std::nullopt;
  std::size_t position = 0;
  for (const auto part : std::views::split(row->params, ' ')) {
    if (std::string_view(part.begin(), part.end()) == "inplace") return position;
    ++position;
  }
  return std::nullopt;
}

auto is_mode(std::string_view target) -> bool {
  return std::ranges::find(kModes, target) != kModes.end() ||
         std::ranges::find(kQuestions, target) != kQuestions.end() ||
         (target.starts_with("torch.") &&
          std::ranges::find(kOfVmap, target.substr(target.rfind('.') + 1)) != kOfVmap.end());
}

auto as_operator(NamedCall call) -> NamedCall {
  auto& keywords = call.args.keywords;
  if (const auto* inplace = find(keywords, "inplace")) {
    if (is_true(*inplace) && !call.name.ends_with('_')) call.name += '_';
    std::erase_if(keywords, [](const auto& kw) { return kw.first == "inplace"; });
  }
  if (const auto* indices = find(keywords, "return_indices");
      indices && is_true(*indices) && call.name.starts_with("aten.max_pool") &&
      !call.name.ends_with("_with_indices"))
    call.name += "_with_indices";
  std::erase_if(keywords, [](const auto& kw) {
    return std::ranges::find(kPythonOnly, kw.first) != kPythonOnly.end() ||
           (kw.second.is_none() && std::ranges::find(kLegacy, kw.first) != kLegacy.end());
  });
  for (auto& [key, value] : keywords) {
    if (key != "reduction") continue;
    const auto* text = std::get_if<std::string>(&value.value);
    const auto* row = text ? std::ranges::find(kReductions, *text) : kReductions.end();
    if (row != kReductions.end()) value = Datum{Expr(std::int64_t{row - kReductions.begin()})};
  }
  return call;
}

auto python_attribute(std::string_view attribute, const Datum& tensor) -> std::optional<NamedCall> {
  const auto* row = std::ranges::find(kAttributes, attribute, &AttributeRow::attribute);
  if (row == kAttributes.end()) return std::nullopt;
  NamedCall call{std::string(row->aten), {{tensor}, {}}, {}};
  if (row->is_transpose)
    call.args.positional.insert(call.args.positional.end(), {Datum{Expr(-2)}, Datum{Expr(-1)}});
  return call;
}

auto operator_of_method(std::string_view method) -> std::optional<std::pair<std::string, bool>> {
  if (method.size() < 5 || !method.starts_with("__") || !method.ends_with("__"))
    return std::nullopt;
  method = method.substr(2, method.size() - 4);
  constexpr std::array<std::string_view, 13> kReflected = {
      "radd", "rsub",    "rmul", "rtruediv", "rfloordiv", "rmod",   "rpow",
      "rand", "rmatmul", "ror",  "rxor",     "rlshift",   "rrshift"};
  const bool is_reflected = std::ranges::find(kReflected, method) != kReflected.end();
  if (is_reflected) method.remove_prefix(1);
  const auto* row = std::ranges::find(kMethods, method, &MethodRow::method);
  return std::pair("operator." + std::string(row == kMethods.end() ? method : row->operation),
                   is_reflected);
}

}  // namespace assay
