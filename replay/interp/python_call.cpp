#include "replay/interp/python_call.h"

#include <algorithm>
#include <array>
#include <ranges>

#include "replay/interp/python_functions.h"
#include "replay/interp/run.h"

namespace assay {
namespace {

/// Python's operators, the operator on tensors they mean, and the one for `number OP tensor` where
/// that is not the same with its operands exchanged.
struct OperatorRow {
  std::string_view target;
  std::string_view aten;
  std::string_view mirrored = {};
};
constexpr std::array kOperators = {
    OperatorRow{"operator.add", "aten.add", "aten.add"},
    OperatorRow{"operator.sub", "aten.sub", "aten.rsub"},
    OperatorRow{"operator.mul", "aten.mul", "aten.mul"},
    OperatorRow{"operator.truediv", "aten.div"},
    OperatorRow{"operator.floordiv", "aten.floor_divide"},
    OperatorRow{"operator.mod", "aten.remainder"},
    OperatorRow{"operator.pow", "aten.pow"},
    OperatorRow{"operator.matmul", "aten.matmul"},
    OperatorRow{"operator.and_", "aten.bitwise_and", "aten.bitwise_and"},
    OperatorRow{"operator.or_", "aten.bitwise_or", "aten.bitwise_or"},
    OperatorRow{"operator.xor", "aten.bitwise_xor", "aten.bitwise_xor"},
    OperatorRow{"operator.lshift", "aten.bitwise_left_shift"},
    OperatorRow{"operator.rshift", "aten.bitwise_right_shift"},
    OperatorRow{"operator.eq", "aten.eq", "aten.eq"},
    OperatorRow{"operator.ne", "aten.ne", "aten.ne"},
    OperatorRow{"operator.lt", "aten.lt", "aten.gt"},
    OperatorRow{"operator.le", "aten.le", "aten.ge"},
    OperatorRow{"operator.gt", "aten.gt", "aten.lt"},
    OperatorRow{"operator.ge", "aten.ge", "aten.le"},
    OperatorRow{"operator.neg", "aten.neg"},
    OperatorRow{"operator.pos", "aten.positive"},
    OperatorRow{"operator.abs", "aten.abs"},
    OperatorRow{"operator.invert", "aten.bitwise_not"},
    OperatorRow{"operator.iadd", "aten.add_"},
    OperatorRow{"operator.isub", "aten.sub_"},
    OperatorRow{"operator.imul", "aten.mul_"},
    OperatorRow{"operator.itruediv", "aten.div_"},
    OperatorRow{"operator.ifloordiv", "aten.floor_divide_"},
    OperatorRow{"operator.imod", "aten.remainder_"},
    OperatorRow{"operator.ipow", "aten.pow_"},
    OperatorRow{"operator.iand", "aten.bitwise_and_"},
    OperatorRow{"operator.ior", "aten.bitwise_or_"},
    OperatorRow{"operator.ixor", "aten.bitwise_xor_"},
};

constexpr std::string_view kReadAttribute = "builtins.getattr";

/// Names of Python that are other names in ATen.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kRenamed = {{
    {"tensor", "scalar_tensor"},
    {"concat", "cat"},
    {"concatenate", "cat"},
    {"size", "sym_size"},
    {"stride", "sym_stride"},
    {"storage_offset", "sym_storage_offset"},
    {"numel", "sym_numel"},
    {"_segment_reduce", "segment_reduce"},
}};

/// Methods that convert to a dtype.
constexpr std::array<std::pair<std::string_view, DType>, 13> kCasts = {{
    {"float", DType::float32},
    {"double", DType::float64},
    {"half", DType::float16},
    {"bfloat16", DType::bfloat16},
    {"int", DType::int32},
    {"long", DType::int64},
    {"short", DType::int16},
    {"char", DType::int8},
    {"byte", DType::uint8},
    {"bool", DType::boolean},
    {"cfloat", DType::complex64},
    {"cdouble", DType::complex128},
    {"chalf", DType::complex32},
}};

/// Operators whose numbers are sizes before they are anything else: `expand(2, 3)`.
constexpr std::array<std::string_view, 2> kTakesSizes = {"aten.expand", "aten.repeat"};

/// Parameters of Python by other names of theirs, where the operator has only the other.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kParamNames = {{
    {"input", "self"},
    {"axis", "dim"},
    {"keepdims", "keepdim"},
    {"x2", "other"},
    {"self", "input"},
}};

/// Of the spaces below those whose functions may be composed of several operators.
constexpr std::string_view kOfNn = "torch.nn.functional.";
constexpr std::array<std::string_view, 3> kComposing = {kOfNn, "torch.functional.",
                                                        "torch__inductor_fx_passes_post_grad_"};
constexpr std::array<std::string_view, 11> kFunctionSpaces = {
    kOfNn,
    "torch__inductor_fx_passes_post_grad_",
    "torch._C._nn.",
    "torch._C._fft.",
    "torch._C._linalg.",
    "torch._C._special.",
    "torch.functional.",
    "torch.special.",
    "torch._VF.",
    "torch.",
    "aten."};  // `torch.ops.aten.relu(x)`: the overload is chosen too

/// "aten.conv2d" for a function of Python; empty for other targets.
auto function_name(NodeKind kind, std::string_view target) -> std::string {
  bool is_low_level = false;
  if (kind == NodeKind::call_function) {
    const auto* space = std::ranges::find_if(
        kFunctionSpaces, [&](std::string_view prefix) { return target.starts_with(prefix); });
    if (space == kFunctionSpaces.end() || target.starts_with("torch.sym_")) return {};
    is_low_level = target.starts_with("torch._VF.");
    target.remove_prefix(space->size());
  } else if (kind != NodeKind::call_method) {
    return {};
  }
  if (target.contains('.')) return {};
  // What Python calls stft centres frames unless it is told not to (torch/functional.py).
  if (target == "stft" && !is_low_level) return "aten.stft.center";
  const auto* renamed =
      std::ranges::find(kRenamed, target, &std::pair<std::string_view, std::string_view>::first);
  return "aten." + std::string(renamed == kRenamed.end() ? target : renamed->second);
}

auto has_tensor(const Datum& datum) -> bool {
  if (datum.is_tensor()) return true;
  return datum.list() && std::ranges::any_of(*datum.list(), has_tensor);
}

/// A row with arguments bound to it, and how many of them are taken for something else.
struct Candidate {
  const OpRow* row = nullptr;
  DatumList args;
  int conversions = 0;
};

/// Numbers that stand for tensors, tensors that stand for numbers, and integers that stand for
/// flags, which Python's parser does not take.
auto conversions(const OpRow& row, const DatumList& args) -> int {
  int count = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const auto kind = row.schema.params[i].kind;
    if (const auto* items = args[i].list(); items && kind == ParamKind::integer)
      count += std::ranges::any_of(*items, [](const Datum& item) {
        return item.scalar() && item.scalar()->type() == ExprType::boolean;
      });
    const auto* scalar = args[i].scalar();
    if (args[i].is_tensor() && kind != ParamKind::tensor) ++count;
    if (!scalar) continue;
    if (kind == ParamKind::tensor) ++count;
    if (kind == ParamKind::integer && scalar->type() == ExprType::boolean) ++count;
    if (kind == ParamKind::flag && scalar->type() != ExprType::boolean) ++count;
  }
  return count;
}

/// "cuda:0" where a device is meant.
auto as_param(const Param& param, Datum datum) -> Datum {
  const auto* text = std::get_if<std::string>(&datum.value);
  if (param.kind != ParamKind::device || !text) return datum;
  const auto device = device_from_string(*text);
  return device ? Datum{*device} : datum;
}
auto as_params(const Schema& schema, DatumList args) -> DatumList {
  for (std::size_t i = 0; i < std::min(args.size(), schema.params.size()); ++i)
    args[i] = as_param(schema.params[i], std::move(args[i]));
  return args;
}
/// Keywords as the schema calls them.
auto as_params(const Schema& schema, Keywords keywords) -> Keywords {
  for (auto& [key, value] : keywords) {
    if (const int at = schema.index_of(key); at >= 0) {
      value = as_param(schema.params[static_cast<std::size_t>(at)], std::move(value));
      continue;
    }
    for (const auto& [python, aten] : kParamNames)
      if (key == python && schema.index_of(aten) >= 0) {
        key = aten;
        break;
      }
  }
  return keywords;
}

/// The overload of this name that takes the arguments with the fewest conversions; the first of
/// several.
auto choose(std::string_view name, const Domain& domain, const DatumList& args,
            const Keywords& keywords) -> std::optional<Candidate> {
  std::optional<Candidate> best;
  const auto* exact = domain.find(name);
  for (const auto* row : exact ? std::span(&exact, 1) : domain.overloads(name)) {
    const auto by_position = std::ranges::count(row->schema.params, false, &Param::keyword_only);
    if (std::ssize(args) > by_position) continue;  // `zeros(2, 3)` has no `out`
    auto bound =
        bind_arguments(row->schema, as_params(row->schema, args), as_params(row->schema, keywords));
    if (!bound) continue;
    const int converted = conversions(*row, *bound);
    if (!best || converted < best->conversions) best = {row, *std::move(bound), converted};
  }
  return best;
}

/// `view(2, 3)` is `view([2, 3])`, `zeros(2, 3)` is `zeros([2, 3])` and `einsum("ij,ij", a, b)` is
/// `einsum("ij,ij", [a, b])`: what follows the first argument, or all of them, as one list.
auto gathered(const DatumList& args, std::size_t first) -> std::optional<DatumList> {
  if (args.size() <= first) return std::nullopt;
  DatumList items(args.begin() + static_cast<std::ptrdiff_t>(first), args.end());
  const auto are = [&](auto&& kind) { return std::ranges::all_of(items, kind); };
  if (!are([](const Datum& d) { return d.scalar() != nullptr; }) &&
      !are([](const Datum& d) { return d.is_tensor(); }))
    return std::nullopt;
  DatumList all(args.begin(), args.begin() + static_cast<std::ptrdiff_t>(first));
  all.push_back(Datum{std::move(items)});
  return all;
}

auto run_named(std::string_view plain_name, Domain& domain, const DatumList& args, Keywords given)
    -> Result<Datum> {
  const auto call = as_operator({std::string(plain_name), {args, std::move(given)}, {}});
  const auto& name = call.name;
  const auto& keywords = call.args.keywords;
  const bool are_sizes = std::ranges::find(kTakesSizes, name) != kTakesSizes.end();
  std::optional<Candidate> candidate;
  const auto try_list = [&](std::size_t first) {
    const auto list = gathered(args, first);
    if (list && !candidate) candidate = choose(name, domain, *list, keywords);
  };
  if (are_sizes) try_list(1);
  if (!candidate) candidate = choose(name, domain, args, keywords);
  try_list(1);
  try_list(0);
  if (!candidate) return unsupported("no row of {} takes these arguments", name);
  return domain.run(*candidate->row, std::move(candidate->args));
}

/// The call, and the part of its result that is asked for.
auto run_call(NamedCall call, Domain& domain) -> Result<Datum> {
  ASSAY_TRY(auto result,
            run_named(call.name, domain, call.args.positional, std::move(call.args.keywords)));
  const auto* parts = result.list();
  if (!call.item || !parts || *call.item >= parts->size()) return result;
  return (*parts)[*call.item];
}

/// `x.size()`: all of them.
auto run_sizes(std::string_view name, Domain& domain, const Datum& tensor) -> Result<Datum> {
  DatumList all;
  for (int d = 0; d < domain.meta(tensor).rank(); ++d) {
    ASSAY_TRY(auto one, run_named(name, domain, {tensor, Datum{Expr(d)}}, {}));
    all.push_back(std::move(one));
  }
  return Datum{std::move(all)};
}

auto run_function(std::string_view function, Domain& domain, const PythonArgs& args)
    -> std::optional<Result<Datum>> {
  const RunOperator run = [&](std::string_view name, const DatumList& operands, Keywords keywords) {
    return run_named(name, domain, operands, std::move(keywords));
  };
  if (auto composed = run_composed(function, args, run)) {
    const auto out = std::ranges::find(args.keywords, "out", &Keywords::value_type::first);
    if (*composed && out != args.keywords.end() && out->second.is_tensor())
      return run_named("aten.copy_", domain, {out->second, **composed}, {});
    return composed;
  }
  auto call = python_function(function, args);
  if (!call) return std::nullopt;
  return run_call(*std::move(call), domain);
}

auto run_operator(const OperatorRow& row, Domain& domain, const DatumList& args) -> Result<Datum> {
  if (args.size() < 2 || args[0].is_tensor()) return run_named(row.aten, domain, args, {});
  if (!row.mirrored.empty()) return run_named(row.mirrored, domain, {args[1], args[0]}, {});
  if (row.aten == "aten.div") {  // Tensor.__rtruediv__
    ASSAY_TRY(const auto inverse, run_named("aten.reciprocal", domain, {args[1]}, {}));
    return run_named("aten.mul", domain, {inverse, args[0]}, {});
  }
  return run_named(row.aten, domain, args, {});
}

/// A subscript taken apart, dimension by dimension.
class Subscript {
 public:
  Subscript(Domain& domain, const std::function<const Datum*(NodeId)>& lookup)
      : domain_(domain), lookup_(lookup) {}

  auto run(Datum tensor, const Arg& index) -> Result<Datum> {
    ASSAY_TRY_VOID(apply_all(std::move(tensor), index));
    if (!has_indices()) return value_;
    return call("aten.index", {value_, Datum{indices_}});
  }

  /// `tensor[index] = value`: the tensor.
  auto assign(const Datum& tensor, const Arg& index, const Datum& value) -> Result<Datum> {
    ASSAY_TRY_VOID(apply_all(tensor, index));
    if (has_indices()) {
      ASSAY_TRY(const auto source, value.is_tensor()
                                       ? Result<Datum>(value)
                                       : call("aten.full_like", {call_scalar(), value}));
      ASSAY_TRY_VOID(call("aten.index_put_", {value_, Datum{indices_}, source}));
    } else {
      ASSAY_TRY_VOID(call(value.is_tensor() ? "aten.copy_" : "aten.fill_", {value_, value}));
    }
    return tensor;
  }

 private:
  /// A tensor without dimensions, of the dtype and on the device of the subscripted one.
  auto call_scalar() -> Datum {
    auto scalar = value_;
    for (int rank = domain_.meta(scalar).rank(); rank-- > 0;)
      if (auto next = call("aten.select", {scalar, Datum{Expr(0)}, Datum{Expr(0)}})) scalar = *next;
    return scalar;
  }
  [[nodiscard]] auto has_indices() const -> bool {
    return std::ranges::any_of(indices_, [](const Datum& d) { return d.is_tensor(); });
  }

  auto apply_all(Datum tensor, const Arg& index) -> Result<void> {
    value_ = std::move(tensor);
    const auto* sequence = std::get_if<SequenceArg>(&index.value);
    if (sequence && is_list_of_numbers(*sequence)) sequence = nullptr;
    const auto items = sequence ? sequence->items : std::vector<Arg>{index};
    const auto rank = domain_.meta(value_).rank();
    int named = 0;
    for (const auto& item : items) named += takes_dimension(item) ? 1 : 0;
    for (const auto& item : items) {
      if (is_ellipsis(item)) {
        dim_ += rank - named;
        indices_.resize(static_cast<std::size_t>(dim_));
      } else {
        ASSAY_TRY_VOID(apply(item));
      }
    }
    return {};
  }

  static auto is_ellipsis(const Arg& item) -> bool {
    const auto* raw = std::get_if<RawArg>(&item.value);
    return raw && (raw->text == "..." || raw->text == "Ellipsis");
  }
  /// `x[[1, 0]]` picks two rows, `x[(1, 0)]` and lists that hold more than numbers one element.
  static auto is_list_of_numbers(const SequenceArg& sequence) -> bool {
    return !sequence.is_tuple && !sequence.items.empty() &&
           std::ranges::all_of(sequence.items, [](const Arg& item) {
             return std::holds_alternative<Expr>(item.value);
           });
  }
  static auto takes_dimension(const Arg& item) -> bool {
    return !std::holds_alternative<NoneArg>(item.value) && !is_ellipsis(item);
  }
  /// `x[[1, 3]]`: the numbers as a tensor.
  auto index_tensor(const Datum& numbers) -> Result<Datum> {
    DatumList items;
    for (const auto& number : *numbers.list()) {
      ASSAY_TRY(items.emplace_back(),
                call("aten.scalar_tensor", {number}, {{"dtype", Datum{DType::int64}}}));
    }
    if (items.empty()) return unsupported("a subscript without an index is not supported");
    return call("aten.stack", {Datum{std::move(items)}});
  }
  auto call(std::string_view name, const DatumList& args, Keywords keywords = {}) -> Result<Datum> {
    return run_named(name, domain_, args, std::move(keywords));
  }
  void next_dimension(Datum index = {}) {
    ++dim_;
    indices_.push_back(std::move(index));
  }

  auto apply(const Arg& item) -> Result<void> {
    const Datum dim{Expr(dim_)};
    if (std::holds_alternative<NoneArg>(item.value)) {
      ASSAY_TRY(value_, call("aten.unsqueeze", {value_, dim}));
      next_dimension();
      return {};
    }
    if (const auto* slice = std::get_if<SliceArg>(&item.value)) {
      DatumList args{value_, dim};
      for (const auto& part : slice->parts) {
        ASSAY_TRY(auto bound, to_datum(part, lookup_));
        args.push_back(std::move(bound));
      }
      if (args.back().is_none()) args.back() = {Expr(1)};
      ASSAY_TRY(value_, call("aten.slice", args));
      next_dimension();
      return {};
    }
    ASSAY_TRY(auto index, to_datum(item, lookup_));
    if (index.scalar() && index.scalar()->type() == ExprType::integer) {
      ASSAY_TRY(value_, call("aten.select", {value_, dim, index}));
      return {};
    }
    if (index.list()) {
      ASSAY_TRY(index, index_tensor(index));
    }
    if (!index.is_tensor()) return unsupported("a subscript of this kind is not supported");
    next_dimension(std::move(index));
    return {};
  }

  Domain& domain_;
  const std::function<const Datum*(NodeId)>& lookup_;
  Datum value_;
  int dim_ = 0;
  DatumList indices_;
};

auto arguments(const Node& node, const std::function<const Datum*(NodeId)>& lookup)
    -> Result<PythonArgs> {
  PythonArgs all;
  for (const auto& arg : node.args) {
    ASSAY_TRY(auto datum, to_datum(arg, lookup));
    all.positional.push_back(std::move(datum));
  }
  for (const auto& [key, arg] : node.kwargs) {
    ASSAY_TRY(auto datum, to_datum(arg, lookup));
    all.keywords.emplace_back(key, std::move(datum));
  }
  return all;
}

auto operator_row(std::string_view target) -> const OperatorRow* {
  const auto* row = std::ranges::find(kOperators, target, &OperatorRow::target);
  return row == kOperators.end() ? nullptr : row;
}

/// `torch.tensor([1, 2])`: scalars, stacked.
auto tensor_of(const Datum& data, Domain& domain, const Keywords& keywords) -> Result<Datum> {
  const auto* list = data.list();
  if (!list) return run_named("aten.scalar_tensor", domain, {data}, keywords);
  if (list->empty()) return unsupported("a tensor of no numbers");
  DatumList items;
  for (const auto& item : *list) {
    ASSAY_TRY(items.emplace_back(), tensor_of(item, domain, keywords));
  }
  return run_named("aten.stack", domain, {Datum{std::move(items)}}, {});
}
/// The dtype that Python's numbers have in a tensor; nothing where there are others.
auto dtype_of_numbers(const Datum& data) -> std::optional<DType> {
  if (const auto* scalar = data.scalar())
    return scalar->type() == ExprType::boolean   ? DType::boolean
           : scalar->type() == ExprType::integer ? DType::int64
                                                 : DType::float32;
  const auto* list = data.list();
  std::optional<DType> widest;
  for (const auto& item : list ? *list : DatumList()) {
    const auto dtype = dtype_of_numbers(item);
    if (!dtype) return std::nullopt;
    widest = widest ? promote(*widest, *dtype) : *dtype;
  }
  return widest;
}

/// Methods whose operator has its operands the other way round.
constexpr std::array<std::string_view, 1> kSwapped = {"polygamma"};

auto run_method(std::string_view method, std::string_view name, Domain& domain,
                const PythonArgs& args) -> std::optional<Result<Datum>> {
  const auto& operands = args.positional;
  if (operands.empty() || !operands[0].is_tensor()) return std::nullopt;
  if (const auto meant = operator_of_method(method)) {
    const auto* row = operator_row(meant->first);
    if (!row || operands.size() > 2) return std::nullopt;
    auto ordered = operands;
    if (meant->second) std::ranges::reverse(ordered);
    return run_operator(*row, domain, ordered);
  }
  if (operands.size() == 1) {
    const auto* cast =
        std::ranges::find(kCasts, method, &std::pair<std::string_view, DType>::first);
    if (cast != kCasts.end())
      return run_named("aten.to", domain, {operands[0], Datum{cast->second}}, args.keywords);
    if ((method == "size" || method == "stride") && args.keywords.empty())
      return run_sizes(name, domain, operands[0]);
  }
  if (method == "to" && operands.size() == 2) {  // to a device alone
    const auto* text = std::get_if<std::string>(&operands[1].value);
    const auto* device = std::get_if<Device>(&operands[1].value);
    const auto there = device != nullptr ? std::optional(*device)
                       : text != nullptr ? device_from_string(*text)
                                         : std::nullopt;
    if (there) {
      auto keywords = args.keywords;
      keywords.emplace_back("device", Datum{*there});
      return run_named("aten.to.dtype_layout", domain, {operands[0]}, std::move(keywords));
    }
  }
  if (method == "type" && operands.size() == 2)
    return run_named("aten.to", domain, operands, args.keywords);
  if (method == "split" && operands.size() > 1 && operands[1].list())
    return run_named("aten.split_with_sizes", domain, operands, args.keywords);
  if (operands.size() == 2 && std::ranges::find(kSwapped, method) != kSwapped.end())
    return run_named(name, domain, {operands[1], operands[0]}, args.keywords);
  return std::nullopt;
}

auto run_by_name(const Node& node, std::string_view name, Domain& domain, const PythonArgs& args)
    -> Result<Datum> {
  const std::string_view target = node.target;
  for (const auto space : kComposing)
    if (target.starts_with(space))
      if (auto result = run_function(target.substr(space.size()), domain, args))
        return *std::move(result);
  const bool converts = target == "torch.as_tensor";
  const bool is_given = !args.positional.empty() && args.positional[0].is_tensor();
  if ((converts || target == "torch.tensor") && !args.positional.empty() && !is_given) {
    auto keywords = args.keywords;
    std::erase_if(keywords, [](const auto& kw) { return kw.first == "requires_grad"; });
    const auto dtype = dtype_of_numbers(args.positional[0]);
    if (dtype &&
        std::ranges::find(keywords, "dtype", &Keywords::value_type::first) == keywords.end())
      keywords.emplace_back("dtype", Datum{*dtype});
    return tensor_of(args.positional[0], domain, keywords);
  }
  if (target == "torch.Size" && args.positional.size() == 1) return args.positional[0];
  const bool is_method = node.kind == NodeKind::call_method;
  if (converts && is_given && args.positional.size() == 1)
    return run_named("aten.to.dtype_layout", domain, args.positional, args.keywords);
  if (is_method || target == "torch.functional.split") {
    auto result = run_method(is_method ? target : "split", name, domain, args);
    if (result) return *std::move(result);
  }
  return run_named(name, domain, args.positional, args.keywords);
}

}  // namespace

auto is_python_call(NodeKind kind, std::string_view target) -> bool {
  return is_mode(target) || operator_row(target) || target == kReadAttribute ||
         target == "operator.setitem" || !function_name(kind, target).empty();
}

auto written_operand(const Node& node) -> std::optional<NodeId> {
  const auto* operand = node.args.empty() ? nullptr : std::get_if<NodeId>(&node.args[0].value);
  const std::string_view target = node.target;
  if (!operand || !is_python_call(node.kind, target)) return std::nullopt;
  const auto* row = operator_row(target);
  const auto is_set = [](const Arg& arg) {
    const auto* value = std::get_if<Expr>(&arg.value);
    return value && value->as_bool().value_or(false);
  };
  const auto at =
      target.starts_with(kOfNn) ? inplace_position(target.substr(kOfNn.size())) : std::nullopt;
  const bool writes = target == "operator.setitem" || (row && row->aten.ends_with('_')) ||
                      (!row && target.ends_with('_') && !target.ends_with("__")) ||
                      (at && *at < node.args.size() && is_set(node.args[*at])) ||
                      std::ranges::any_of(node.kwargs, [&](const auto& kw) {
                        return kw.first == "inplace" && is_set(kw.second);
                      });
  return writes ? std::optional(*operand) : std::nullopt;
}

auto run_python_call(const Node& node, Domain& domain,
                     const std::function<const Datum*(NodeId)>& lookup)
    -> std::optional<Result<Datum>> {
  if (is_mode(node.target)) return Datum{};
  if (node.target == "operator.getitem" && node.args.size() == 2) {
    const auto base = to_datum(node.args[0], lookup);
    if (!base || !base->is_tensor()) return std::nullopt;
    return Subscript(domain, lookup).run(*base, node.args[1]);
  }
  if (node.target == "operator.setitem" && node.args.size() == 3) {
    const auto base = to_datum(node.args[0], lookup);
    const auto value = to_datum(node.args[2], lookup);
    if (!base || !base->is_tensor() || !value) return std::nullopt;
    return Subscript(domain, lookup).assign(*base, node.args[1], *value);
  }
  if (node.target == kReadAttribute && node.args.size() == 2) {
    const auto base = to_datum(node.args[0], lookup);
    const auto* attribute = std::get_if<std::string>(&node.args[1].value);
    if (!base || !base->is_tensor() || !attribute) return std::nullopt;
    auto call = python_attribute(*attribute, *base);
    if (!call) return std::nullopt;
    return run_call(*std::move(call), domain);
  }
  const auto* row = operator_row(node.target);
  const auto name = row ? std::string() : function_name(node.kind, node.target);
  if (!row && name.empty()) return std::nullopt;
  if (!row && domain.find(node.target)) return std::nullopt;
  auto all = arguments(node, lookup);
  if (!all) return std::unexpected(all.error());
  if (!row) return run_by_name(node, name, domain, *all);
  if (auto list = python_list(node.target, all->positional)) return *std::move(list);
  if (std::ranges::none_of(all->positional, has_tensor)) return std::nullopt;
  return run_operator(*row, domain, all->positional);
}

}  // namespace assay
