#include "replay/formats/nn_modules.h"

#include <algorithm>
#include <array>
#include <map>
#include <ranges>

#include "core/graph/annotation.h"

namespace assay {
namespace {

using Operand = std::variant<NnInput, NnParameter, Arg>;
using Operands = std::vector<Operand>;

auto list_arg(const Ints& values) -> Arg {
  SequenceArg list;
  for (const auto value : values) list.items.push_back({Expr(value)});
  return {std::move(list)};
}

/// True, False, None, a number or a word in quotes.
auto default_arg(std::string_view text) -> Arg {
  if (text == "None") return {NoneArg{}};
  if (text == "True" || text == "False") return {Expr(text == "True")};
  if (text.starts_with('\'')) return {std::string(text.substr(1, text.size() - 2))};
  if (text.contains('.') || text.contains('e')) return {Expr::real(std::stod(std::string(text)))};
  return {Expr(std::int64_t{std::stoll(std::string(text))})};
}

/// The constructor's arguments by name, with defaults; the first complaint is kept.
class Constructor {
 public:
  /// `parameters` as in Python: "in_features, out_features, bias=True".
  Constructor(const NnModule& module, std::string_view parameters) : module_(module) {
    std::vector<std::string> names;
    for (const auto part : std::views::split(parameters, ',')) {
      const auto text = trimmed(std::string_view(part.begin(), part.end()));
      const auto equals = text.find('=');
      names.emplace_back(text.substr(0, equals));
      if (equals != std::string_view::npos)
        values_[names.back()] = default_arg(text.substr(equals + 1));
    }
    if (module.args.size() > names.size()) fail("takes fewer arguments");
    for (std::size_t i = 0; i < std::min(module.args.size(), names.size()); ++i)
      values_[names[i]] = module.args[i];
    for (const auto& [name, value] : module.kwargs) {
      if (std::ranges::find(names, name) == names.end() && name != "device" && name != "dtype")
        fail(fmt::format("has no argument {}", name));
      values_[name] = value;
    }
  }

  void fail(std::string_view why, ErrorCode code = ErrorCode::bad_input) {
    if (!error_) error_ = Error{code, fmt::format("{} {}", module_.class_name, why)};
  }
  void unsupported(std::string_view why) { fail(why, ErrorCode::unsupported); }
  [[nodiscard]] auto error() const -> const std::optional<Error>& { return error_; }
  [[nodiscard]] auto is_training() const -> bool { return module_.is_training; }

  [[nodiscard]] auto value(const std::string& name) -> Arg {
    const auto found = values_.find(name);
    if (found == values_.end()) fail(fmt::format("needs {}", name));
    return found == values_.end() ? Arg{} : found->second;
  }
  [[nodiscard]] auto is_none(const std::string& name) -> bool {
    return std::holds_alternative<NoneArg>(value(name).value);
  }
  [[nodiscard]] auto integer(const std::string& name) -> std::int64_t {
    return number(value(name), name);
  }
  [[nodiscard]] auto flag(const std::string& name) -> bool {
    const auto arg = value(name);
    const auto* expr = std::get_if<Expr>(&arg.value);
    return expr && expr->as_bool().value_or(expr->as_int().value_or(0) != 0);
  }
  /// A list, or one number for all `count` dimensions.
  [[nodiscard]] auto integers(const std::string& name, std::size_t count = 1) -> Ints {
    const auto arg = value(name);
    const auto* list = std::get_if<SequenceArg>(&arg.value);
    if (!list) return Ints(count, number(arg, name));
    Ints numbers;
    for (const auto& item : list->items) numbers.push_back(number(item, name));
    return numbers;
  }
  void needs(const std::string& name, std::string_view wanted) {
    const auto arg = value(name);
    const auto* word = std::get_if<std::string>(&arg.value);
    if (!word || *word != wanted) unsupported(fmt::format("with another {}", name));
  }

 private:
  auto number(const Arg& arg, const std::string& name) -> std::int64_t {
    const auto* expr = std::get_if<Expr>(&arg.value);
    const auto number = expr ? expr->as_int() : std::nullopt;
    if (std::holds_alternative<std::string>(arg.value))
      unsupported(fmt::format("with {} in words", name));
    else if (!number || *number < 0)
      fail(fmt::format("has no number as {}", name));
    return number && *number >= 0 ? *number : 0;
  }

  const NnModule& module_;
  std::map<std::string, Arg, std::less<>> values_;
  std::optional<Error> error_;
};

auto parameter(std::string_view name, Ints sizes) -> Operand {
  return NnParameter{std::string(name), std::move(sizes), DType::float32, false};
}
auto parameter_if(bool is_there, std::string_view name, const Ints& sizes) -> Operand {
  return is_there ? parameter(name, sizes) : Operand(Arg{NoneArg{}});
}

auto linear(Constructor& c) -> Operands {
  const auto in = c.integer("in_features"), out = c.integer("out_features");
  return {NnInput{}, parameter("weight", {out, in}), parameter_if(c.flag("bias"), "bias", {out})};
}

auto per_group(std::int64_t channels, std::int64_t groups, Constructor& c) -> std::int64_t {
  if (groups <= 0 || channels % groups != 0) c.fail("has groups that do not divide its channels");
  return groups > 0 ? channels / groups : 0;
}

template <std::size_t Rank, bool IsTransposed>
auto convolution(Constructor& c) -> Operands {
  c.needs("padding_mode", "zeros");
  const auto in = c.integer("in_channels"), out = c.integer("out_channels");
  const auto groups = c.integer("groups");
  Ints weight =
      IsTransposed ? Ints{in, per_group(out, groups, c)} : Ints{out, per_group(in, groups, c)};
  for (const auto size : c.integers("kernel_size", Rank)) weight.push_back(size);
  const auto of = [&](const char* name) { return Operand(list_arg(c.integers(name, Rank))); };
  return {NnInput{},
          parameter("weight", weight),
          parameter_if(c.flag("bias"), "bias", {out}),
          of("stride"),
          of("padding"),
          of("dilation"),
          Arg{Expr(IsTransposed)},
          IsTransposed ? of("output_padding") : Operand(list_arg(Ints(Rank, 0))),
          Arg{Expr(groups)}};
}

auto batch_norm(Constructor& c) -> Operands {
  const Ints sizes{c.integer("num_features")};
  const bool affine = c.flag("affine"), tracks = c.flag("track_running_stats");
  if (c.is_none("momentum")) c.unsupported("with a cumulative average");
  auto variance = parameter_if(tracks, "running_var", sizes);
  if (auto* buffer = std::get_if<NnParameter>(&variance)) buffer->is_positive = true;
  return {NnInput{},
          parameter_if(affine, "weight", sizes),
          parameter_if(affine, "bias", sizes),
          parameter_if(tracks, "running_mean", sizes),
          std::move(variance),
          Arg{Expr(c.is_training() || !tracks)},
          c.value("momentum"),
          c.value("eps"),
          Arg{Expr(true)}};
}

auto layer_norm(Constructor& c) -> Operands {
  const auto sizes = c.integers("normalized_shape");
  const bool affine = c.flag("elementwise_affine");
  return {NnInput{}, list_arg(sizes), parameter_if(affine, "weight", sizes),
          parameter_if(affine && c.flag("bias"), "bias", sizes), c.value("eps")};
}

auto group_norm(Constructor& c) -> Operands {
  const Ints sizes{c.integer("num_channels")};
  const bool affine = c.flag("affine");
  return {NnInput{}, c.value("num_groups"), parameter_if(affine, "weight", sizes),
          parameter_if(affine, "bias", sizes), c.value("eps")};
}

auto embedding(Constructor& c) -> Operands {
  if (!c.is_none("max_norm")) c.unsupported("with max_norm");
  const bool is_padded = !c.is_none("padding_idx");
  return {parameter("weight", {c.integer("num_embeddings"), c.integer("embedding_dim")}), NnInput{},
          is_padded ? c.value("padding_idx") : Arg{Expr(-1)}};
}

auto dropout(Constructor& c) -> Operands {
  return {NnInput{}, c.value("p"), Arg{Expr(c.is_training())}};
}

auto prelu(Constructor& c) -> Operands {
  return {NnInput{}, parameter("weight", {c.integer("num_parameters")})};
}

auto gelu(Constructor& c) -> Operands {
  c.needs("approximate", "none");
  return {NnInput{}};
}

/// A row with `make` says itself what its operator gets; else it is the input, then `passed`.
struct ModuleRow {
  std::string_view name;
  std::string_view parameters;
  std::string_view target;
  std::string_view passed;  ///< names of arguments; an absent stride is an empty list
  auto (*make)(Constructor& c) -> Operands = nullptr;
};

constexpr std::string_view kConv =
    "in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, "
    "padding_mode='zeros'";
constexpr std::string_view kConvTranspose =
    "in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, "
    "bias=True, dilation=1, padding_mode='zeros'";
constexpr std::string_view kBatchNorm =
    "num_features, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True";
constexpr std::string_view kMaxPool =
    "kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False";
constexpr std::string_view kMaxPassed = "kernel_size, stride, padding, dilation, ceil_mode";
constexpr std::string_view kAvgPool =
    "kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, "
    "divisor_override=None";
constexpr std::string_view kAvgPassed =
    "kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override";
constexpr std::string_view kInplace = "inplace=False";
constexpr std::string_view kConvolution = "aten.convolution.default";

// clang-format off
constexpr std::array kModules = {
    ModuleRow{"Linear", "in_features, out_features, bias=True", "aten.linear.default", "", linear},
    ModuleRow{"Conv1d", kConv, kConvolution, "", convolution<1, false>},
    ModuleRow{"Conv2d", kConv, kConvolution, "", convolution<2, false>},
    ModuleRow{"Conv3d", kConv, kConvolution, "", convolution<3, false>},
    ModuleRow{"ConvTranspose1d", kConvTranspose, kConvolution, "", convolution<1, true>},
    ModuleRow{"ConvTranspose2d", kConvTranspose, kConvolution, "", convolution<2, true>},
    ModuleRow{"ConvTranspose3d", kConvTranspose, kConvolution, "", convolution<3, true>},
    ModuleRow{"BatchNorm1d", kBatchNorm, "aten.batch_norm.default", "", batch_norm},
    ModuleRow{"BatchNorm2d", kBatchNorm, "aten.batch_norm.default", "", batch_norm},
    ModuleRow{"BatchNorm3d", kBatchNorm, "aten.batch_norm.default", "", batch_norm},
    ModuleRow{"LayerNorm", "normalized_shape, eps=1e-05, elementwise_affine=True, bias=True", "aten.layer_norm.default", "", layer_norm},
    ModuleRow{"GroupNorm", "num_groups, num_channels, eps=1e-05, affine=True", "aten.group_norm.default", "", group_norm},
    ModuleRow{"Embedding", "num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False", "aten.embedding.default", "", embedding},
    ModuleRow{"Dropout", "p=0.5, inplace=False", "aten.dropout.default", "", dropout},
    ModuleRow{"Dropout2d", "p=0.5, inplace=False", "aten.feature_dropout.default", "", dropout},
    ModuleRow{"AlphaDropout", "p=0.5, inplace=False", "aten.alpha_dropout.default", "", dropout},
    ModuleRow{"PReLU", "num_parameters=1, init=0.25", "aten.prelu.default", "", prelu},
    ModuleRow{"Identity", "unused=None", "aten.alias.default", ""},
    ModuleRow{"ReLU", kInplace, "aten.relu.default", ""},
    ModuleRow{"ReLU6", kInplace, "aten.relu6.default", ""},
    ModuleRow{"SiLU", kInplace, "aten.silu.default", ""},
    ModuleRow{"Mish", kInplace, "aten.mish.default", ""},
    ModuleRow{"Hardswish", kInplace, "aten.hardswish.default", ""},
    ModuleRow{"Hardsigmoid", kInplace, "aten.hardsigmoid.default", ""},
    ModuleRow{"Sigmoid", "unused=None", "aten.sigmoid.default", ""},
    ModuleRow{"Tanh", "unused=None", "aten.tanh.default", ""},
    ModuleRow{"GELU", "approximate='none'", "aten.gelu.default", "", gelu},
    ModuleRow{"LeakyReLU", "negative_slope=0.01, inplace=False", "aten.leaky_relu.default", "negative_slope"},
    ModuleRow{"ELU", "alpha=1.0, inplace=False", "aten.elu.default", "alpha"},
    ModuleRow{"Hardtanh", "min_val=-1.0, max_val=1.0, inplace=False", "aten.hardtanh.default", "min_val, max_val"},
    ModuleRow{"Softplus", "beta=1.0, threshold=20.0", "aten.softplus.default", "beta, threshold"},
    ModuleRow{"GLU", "dim=-1", "aten.glu.default", "dim"},
    ModuleRow{"Softmax", "dim=None", "aten.softmax.int", "dim"},
    ModuleRow{"LogSoftmax", "dim=None", "aten.log_softmax.int", "dim"},
    ModuleRow{"Flatten", "start_dim=1, end_dim=-1", "aten.flatten.using_ints", "start_dim, end_dim"},
    ModuleRow{"MaxPool1d", kMaxPool, "aten.max_pool1d.default", kMaxPassed},
    ModuleRow{"MaxPool2d", kMaxPool, "aten.max_pool2d.default", kMaxPassed},
    ModuleRow{"MaxPool3d", kMaxPool, "aten.max_pool3d.default", kMaxPassed},
    ModuleRow{"AvgPool1d", "kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True", "aten.avg_pool1d.default", "kernel_size, stride, padding, ceil_mode, count_include_pad"},
    ModuleRow{"AvgPool2d", kAvgPool, "aten.avg_pool2d.default", kAvgPassed},
    ModuleRow{"AvgPool3d", kAvgPool, "aten.avg_pool3d.default", kAvgPassed},
    ModuleRow{"AdaptiveAvgPool1d", "output_size", "aten.adaptive_avg_pool1d.default", "output_size"},
    ModuleRow{"AdaptiveAvgPool2d", "output_size", "aten.adaptive_avg_pool2d.default", "output_size"},
    ModuleRow{"AdaptiveAvgPool3d", "output_size", "aten.adaptive_avg_pool3d.default", "output_size"},
    ModuleRow{"PixelShuffle", "upscale_factor", "aten.pixel_shuffle.default", "upscale_factor"},
};
// clang-format on

auto passed_operands(Constructor& c, std::string_view passed) -> Operands {
  Operands operands{NnInput{}};
  if (passed.empty()) return operands;
  for (const auto part : std::views::split(passed, ',')) {
    const std::string name(trimmed(std::string_view(part.begin(), part.end())));
    auto value = c.value(name);
    if (name == "stride" && std::holds_alternative<NoneArg>(value.value)) value = list_arg({});
    operands.emplace_back(std::move(value));
  }
  return operands;
}

}  // namespace

auto is_nn_module(std::string_view class_name) -> bool {
  return std::ranges::find(kModules, class_name, &ModuleRow::name) != kModules.end();
}

auto nn_call(const NnModule& module) -> std::optional<Result<NnCall>> {
  const auto* row = std::ranges::find(kModules, module.class_name, &ModuleRow::name);
  if (row == kModules.end()) return std::nullopt;
  Constructor constructor(module, row->parameters);
  NnCall call{std::string(row->target), {}};
  call.args = row->make ? row->make(constructor) : passed_operands(constructor, row->passed);
  if (constructor.error()) return std::unexpected(*constructor.error());
  return call;
}

}  // namespace assay
