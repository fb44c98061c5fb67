#include "replay/interp/python_call.h"

#include <algorithm>
#include <array>
#include <ranges>

#include "replay/interp/run.h"

namespace assay {
namespace {

using Keywords = std::vector<std::pair<std::string, Datum>>;

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

/// Names of Python that are other names in ATen.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kRenamed = {{
    {"tensor", "scalar_tensor"},
    {"concat", "cat"},
    {"concatenate", "cat"},
    {"size", "sym_size"},
    {"stride", "sym_stride"},
    {"storage_offset", "sym_storage_offset"},
    {"numel", "sym_numel"},
}};

/// Functions of torch.nn.functional whose parameters are not those of the operator: parameters in
/// Python's order, `name=other` where the operator's is another, `-name` where it has none.
struct FunctionRow {
  std::string_view target;
  std::string_view aten;
  std::string_view params;
};
constexpr std::array kFunctions = {
    FunctionRow{"cross_entropy", "aten.cross_entropy_loss",
                "input=self target weight -size_average ignore_index -reduce reduction "
                "label_smoothing"},
    FunctionRow{"nll_loss", "aten.nll_loss_nd",
                "input=self target weight -size_average ignore_index -reduce reduction"},
    FunctionRow{"embedding", "aten.embedding",
                "input=indices weight padding_idx -max_norm -norm_type scale_grad_by_freq sparse"},
    FunctionRow{"dropout", "aten.dropout", "input p training=train -inplace"},
};
constexpr std::array<std::string_view, 3> kReductions = {"none", "mean", "sum"};

/// Methods that convert to a dtype.
constexpr std::array<std::pair<std::string_view, DType>, 11> kCasts = {{
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
}};

/// Operators whose numbers are sizes before they are anything else: `expand(2, 3)`.
constexpr std::array<std::string_view, 2> kTakesSizes = {"aten.expand", "aten.repeat"};

/// Arguments of Python functions that change nothing the operator could be told.
constexpr std::array<std::string_view, 4> kPythonOnly = {"inplace", "_stacklevel", "return_indices",
                                                         "layout"};

constexpr std::array<std::string_view, 6> kFunctionSpaces = {
    "torch.nn.functional.", "torch._C._nn.",  "torch._C._fft.",
    "torch._C._linalg.",    "torch.special.", "torch."};

/// "aten.conv2d" for a function of Python; empty for other targets.
auto function_name(NodeKind kind, std::string_view target) -> std::string {
  if (kind == NodeKind::call_function) {
    const auto* space = std::ranges::find_if(
        kFunctionSpaces, [&](std::string_view prefix) { return target.starts_with(prefix); });
    if (space == kFunctionSpaces.end() || target.starts_with("torch.sym_")) return {};
    target.remove_prefix(space->size());
  } else if (kind != NodeKind::call_method) {
    return {};
  }
  if (target.contains('.')) return {};
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

/// Numbers that stand for tensors, and integers that stand for flags, which Python's parser does
/// not take.
auto conversions(const OpRow& row, const DatumList& args) -> int {
  int count = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const auto kind = row.schema.params[i].kind;
    const auto* scalar = args[i].scalar();
    if (!scalar) continue;
    if (kind == ParamKind::tensor) ++count;
    if (kind == ParamKind::flag && scalar->type() != ExprType::boolean) ++count;
  }
  return count;
}

/// The overload of this name that takes the arguments with the fewest conversions; the first of
/// several.
auto choose(std::string_view name, const Domain& domain, const DatumList& args,
            const Keywords& keywords) -> std::optional<Candidate> {
  std::optional<Candidate> best;
  for (const auto* row : domain.overloads(name)) {
    auto bound = bind_arguments(row->schema, args, keywords);
    if (!bound) continue;
    const int converted = conversions(*row, *bound);
    if (!best || converted < best->conversions) best = {row, *std::move(bound), converted};
  }
  return best;
}

/// `view(2, 3)` is `view([2, 3])`: the numbers behind the first argument as one list.
auto gathered(const DatumList& args) -> std::optional<DatumList> {
  if (args.size() < 2) return std::nullopt;
  DatumList numbers(args.begin() + 1, args.end());
  if (!std::ranges::all_of(numbers, [](const Datum& d) { return d.scalar() != nullptr; }))
    return std::nullopt;
  return DatumList{args[0], Datum{std::move(numbers)}};
}

auto run_named(std::string_view name, Domain& domain, const DatumList& args, Keywords keywords)
    -> Result<Datum> {
  std::erase_if(keywords, [](const auto& kw) {
    return std::ranges::find(kPythonOnly, kw.first) != kPythonOnly.end();
  });
  const auto list = gathered(args);
  const bool are_sizes = std::ranges::find(kTakesSizes, name) != kTakesSizes.end();
  auto candidate = list && are_sizes ? choose(name, domain, *list, keywords) : std::nullopt;
  if (!candidate) candidate = choose(name, domain, args, keywords);
  if (!candidate && list) candidate = choose(name, domain, *list, keywords);
  if (!candidate) return unsupported("no row of {} takes these arguments", name);
  return domain.run(*candidate->row, std::move(candidate->args));
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

auto reduction_number(Datum datum) -> Datum {
  const auto* text = std::get_if<std::string>(&datum.value);
  const auto* row = text ? std::ranges::find(kReductions, *text) : kReductions.end();
  return row == kReductions.end() ? datum : Datum{Expr(std::int64_t{row - kReductions.begin()})};
}

/// Arguments by Python's parameters become the operator's, by name.
auto run_function(const FunctionRow& row, Domain& domain, const DatumList& args,
                  const Keywords& keywords) -> Result<Datum> {
  Keywords bound;
  std::size_t position = 0;
  for (const auto part : std::views::split(row.params, ' ')) {
    const std::string_view param(part.begin(), part.end());
    const auto python = param.substr(0, param.find('='));
    const auto aten = param.substr(param.find('=') + 1);  // all of it without one
    const auto given = std::ranges::find(keywords, python, &Keywords::value_type::first);
    const auto value = position < args.size()    ? args[position]
                       : given != keywords.end() ? given->second
                                                 : Datum{};
    ++position;
    if (param.starts_with('-') || value.is_none()) continue;
    bound.emplace_back(aten, reduction_number(value));
  }
  if (row.target == "dropout") {  // Python's defaults, which the operator does not have
    const auto has = [&](std::string_view name) {
      return std::ranges::find(bound, name, &Keywords::value_type::first) != bound.end();
    };
    if (!has("p")) bound.emplace_back("p", Datum{Expr::real(0.5)});
    if (!has("train")) bound.emplace_back("train", Datum{Expr(true)});
  }
  return run_named(row.aten, domain, {}, std::move(bound));
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
  static auto takes_dimension(const Arg& item) -> bool {
    return !std::holds_alternative<NoneArg>(item.value) && !is_ellipsis(item);
  }
  auto call(std::string_view name, const DatumList& args) -> Result<Datum> {
    return run_named(name, domain_, args, {});
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
    -> Result<std::pair<DatumList, Keywords>> {
  std::pair<DatumList, Keywords> all;
  for (const auto& arg : node.args) {
    ASSAY_TRY(auto datum, to_datum(arg, lookup));
    all.first.push_back(std::move(datum));
  }
  for (const auto& [key, arg] : node.kwargs) {
    ASSAY_TRY(auto datum, to_datum(arg, lookup));
    all.second.emplace_back(key, std::move(datum));
  }
  return all;
}

auto run_by_name(const Node& node, std::string_view name, Domain& domain, const DatumList& args,
                 Keywords keywords) -> Result<Datum> {
  const std::string_view target = node.target;
  if (const auto function = target.starts_with(kFunctionSpaces[0])
                                ? target.substr(kFunctionSpaces[0].size())
                                : std::string_view();
      !function.empty())
    if (const auto* row = std::ranges::find(kFunctions, function, &FunctionRow::target);
        row != kFunctions.end())
      return run_function(*row, domain, args, keywords);
  if (node.kind == NodeKind::call_method && args.size() == 1 && args[0].is_tensor()) {
    const auto* cast =
        std::ranges::find(kCasts, target, &std::pair<std::string_view, DType>::first);
    if (cast != kCasts.end())
      return run_named("aten.to", domain, {args[0], Datum{cast->second}}, {});
    if ((target == "size" || target == "stride") && keywords.empty())
      return run_sizes(name, domain, args[0]);
  }
  return run_named(name, domain, args, std::move(keywords));
}

auto operator_row(std::string_view target) -> const OperatorRow* {
  const auto* row = std::ranges::find(kOperators, target, &OperatorRow::target);
  return row == kOperators.end() ? nullptr : row;
}

}  // namespace

auto is_python_call(NodeKind kind, std::string_view target) -> bool {
  return operator_row(target) || !function_name(kind, target).empty();
}

auto run_python_call(const Node& node, Domain& domain,
                     const std::function<const Datum*(NodeId)>& lookup)
    -> std::optional<Result<Datum>> {
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
  const auto* row = operator_row(node.target);
  const auto name = row ? std::string() : function_name(node.kind, node.target);
  if (!row && name.empty()) return std::nullopt;
  if (!row && domain.find(node.target)) return std::nullopt;
  auto all = arguments(node, lookup);
  if (!all) return std::unexpected(all.error());
  if (!row) return run_by_name(node, name, domain, all->first, std::move(all->second));
  if (std::ranges::none_of(all->first, has_tensor)) return std::nullopt;
  return run_operator(*row, domain, all->first);
}

}  // namespace assay
