#include "core/ops/inferred.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "core/ops/rule_space.h"

namespace assay {
namespace {

auto leaves_of(const Datum& result) -> std::span<const Datum> {
  if (const auto* list = result.list()) return *list;
  return {&result, 1};
}

/// One call with its view, ready to be asked.
struct Observed {
  const OperatorSample* sample = nullptr;
  CallView view;
};

/// Finds what fits all calls of one kind.
class Fit {
 public:
  Fit(const OpRow& row, std::span<const Observed* const> calls) : row_(row), calls_(calls) {}

  /// Nothing, and a reason, if nothing fits.
  auto run(std::string& reason) -> std::optional<RuleSpace> {
    RuleSpace space;
    const auto& first = *calls_.front();
    space.kind = kind_of(first.sample->args);
    space.is_list = first.sample->result.list() != nullptr;
    const auto count = leaves_of(first.sample->result).size();
    for (const auto* call : calls_)
      if (leaves_of(call->sample->result).size() != count ||
          (call->sample->result.list() != nullptr) != space.is_list)
        return reason = "the number of results varies", std::nullopt;
    for (std::size_t leaf = 0; leaf < count; ++leaf) {
      auto found = this->leaf(leaf, reason);
      if (!found) {
        if (space.is_list) reason = fmt::format("result {}: {}", leaf, reason);
        return std::nullopt;
      }
      space.leaves.push_back(*std::move(found));
    }
    return space;
  }

 private:
  auto result(const Observed& call, std::size_t leaf) const -> const Datum& {
    return leaves_of(call.sample->result)[leaf];
  }

  auto leaf(std::size_t leaf, std::string& reason) -> std::optional<LeafSpace> {
    LeafSpace space;
    const auto kind = kind_of(result(*calls_.front(), leaf));
    for (const auto* call : calls_)
      if (kind_of(result(*call, leaf)) != kind) return reason = "its rank varies", std::nullopt;
    if (kind == "-") {
      space.is_none = true;
      return space;
    }
    if (kind == "i") {
      space.is_number = true;
      space.number = formulas(leaf, false, [](const Datum& d) { return *d.scalar(); });
      if (space.number.empty()) return reason = "no formula fits its number", std::nullopt;
      return space;
    }
    const auto* tensor = result(*calls_.front(), leaf).fake();
    if (!tensor) return reason = "it is neither a tensor nor an integer", std::nullopt;
    for (std::size_t d = 0; d < tensor->meta.sizes.size(); ++d) {
      space.sizes.push_back(
          formulas(leaf, false, [d](const Datum& r) { return r.fake()->meta.sizes[d]; }));
      if (space.sizes.back().empty())
        return reason = fmt::format("no formula fits size {}", d), std::nullopt;
    }
    return storage(leaf, space, reason) && dtype(leaf, space, reason) &&
                   strides(leaf, space, reason)
               ? std::optional(space)
               : std::nullopt;
  }

  auto storage(std::size_t leaf, LeafSpace& space, std::string& reason) -> bool {
    const auto owner = [&](const Observed& call) {
      const auto id = result(call, leaf).fake()->storage;
      for (std::size_t t = 0; t < call.view.tensors.size(); ++t)
        if (call.view.tensors[t]->storage == id) return static_cast<int>(t);
      return -1;
    };
    space.alias = owner(*calls_.front());
    for (const auto* call : calls_)
      if (owner(*call) != space.alias)
        return reason = "it shares storage with an argument in some calls only", false;
    space.offset = formulas(leaf, true, [](const Datum& d) { return d.fake()->meta.offset; });
    if (space.offset.empty()) return reason = "no formula fits its offset", false;
    return true;
  }

  auto dtype(std::size_t leaf, LeafSpace& space, std::string& reason) -> bool {
    using Kind = DTypeHypothesis::Kind;
    const auto first = result(*calls_.front(), leaf).fake()->meta.dtype;
    std::vector<DTypeHypothesis> all{{.kind = Kind::constant, .dtype = first},
                                     {.kind = Kind::promoted}};
    for (std::size_t t = 0; t < calls_.front()->view.tensors.size(); ++t)
      all.push_back({.kind = Kind::tensor, .index = t});
    for (std::size_t p = 0; p < row_.schema.params.size(); ++p)
      if (row_.schema.params[p].kind == ParamKind::dtype)
        all.push_back({.kind = Kind::argument, .index = p});
    for (const auto& hypothesis : all)
      if (everywhere([&](MetaCall& c, const Observed& call) {
            return dtype_by(c, hypothesis, call.view) == result(call, leaf).fake()->meta.dtype;
          }))
        space.dtypes.push_back(hypothesis);
    if (space.dtypes.empty()) return reason = "nothing explains its dtype", false;
    return true;
  }

  auto strides(std::size_t leaf, LeafSpace& space, std::string& reason) -> bool {
    using Kind = LayoutHypothesis::Kind;
    std::vector<LayoutHypothesis> all{{.kind = Kind::row_major}, {.kind = Kind::channels_last}};
    if (!calls_.front()->view.tensors.empty()) all.push_back({.kind = Kind::iterated});
    for (std::size_t t = 0; t < calls_.front()->view.tensors.size(); ++t)
      for (const auto kind : {Kind::same, Kind::preserved, Kind::suggested})
        all.push_back({.kind = kind, .tensor = t});
    keep_layouts(leaf, all, space);
    if (space.layouts.empty()) keep_layouts(leaf, {ordered(leaf)}, space);
    if (!space.layouts.empty()) return true;
    const auto rank = result(*calls_.front(), leaf).fake()->meta.sizes.size();
    for (std::size_t d = 0; d < rank; ++d) {
      space.strides.push_back(
          formulas(leaf, true, [d](const Datum& r) { return r.fake()->meta.strides[d]; }));
      if (space.strides.back().empty())
        return reason = fmt::format("nothing explains stride {}", d), false;
    }
    return true;
  }

  void keep_layouts(std::size_t leaf, const std::vector<LayoutHypothesis>& all, LeafSpace& space) {
    for (const auto& layout : all)
      if (everywhere([&](MetaCall& c, const Observed& call) {
            const auto& meta = result(call, leaf).fake()->meta;
            const auto strides = strides_by(c, layout, call.view, meta.sizes);
            return strides && same_strides(meta.sizes, *strides, meta.strides);
          }))
        space.layouts.push_back(layout);
  }

  /// Dimensions by stride, outermost first, as in the call with most dimensions that say something.
  auto ordered(std::size_t leaf) -> LayoutHypothesis {
    const TensorMeta* best = nullptr;
    std::ptrdiff_t most = -1;
    for (const auto* call : calls_) {
      const auto& meta = result(*call, leaf).fake()->meta;
      const auto telling =
          std::ranges::count_if(meta.sizes, [](const Expr& size) { return !size.is_int(1); });
      if (telling > most) best = &meta, most = telling;
    }
    LayoutHypothesis layout{.kind = LayoutHypothesis::Kind::ordered};
    for (std::size_t d = 0; d < best->sizes.size(); ++d) layout.order.push_back(d);
    std::ranges::stable_sort(layout.order, [&](std::size_t a, std::size_t b) {
      return best->strides[a].as_int().value_or(0) > best->strides[b].as_int().value_or(0);
    });
    return layout;
  }

  template <class Test>
  auto everywhere(Test&& test) -> bool {
    return std::ranges::all_of(calls_, [&](const Observed* call) {
      ShapeContext context;
      MetaCall c(row_, call->sample->args, context);
      return test(c, *call) && !c.error();
    });
  }

  template <class Value>
  auto formulas(std::size_t leaf, bool with_strides, Value&& value) -> std::vector<Formula> {
    std::vector<FormulaPoint> points;
    for (const auto* call : calls_) {
      const auto number = Expr(value(result(*call, leaf))).as_int();
      if (!number) return {};
      points.push_back({with_strides ? call->view.more : call->view.features, *number});
    }
    return fitting_formulas(points);
  }

  const OpRow& row_;
  std::span<const Observed* const> calls_;
};

auto same_leaf(const Datum& a, const Datum& b, const CallView& view) -> bool {
  const auto* x = a.fake();
  const auto* y = b.fake();
  if (!x || !y) return kind_of(a) == kind_of(b) && (!a.scalar() || *a.scalar() == *b.scalar());
  const auto owner = [&](int storage) {
    const auto found = std::ranges::find(view.tensors, storage, &FakeTensor::storage);
    return found == view.tensors.end() ? -1 : found - view.tensors.begin();
  };
  return x->meta.dtype == y->meta.dtype && x->meta.sizes == y->meta.sizes &&
         same_strides(x->meta.sizes, x->meta.strides, y->meta.strides) &&
         x->meta.offset == y->meta.offset && owner(x->storage) == owner(y->storage);
}

enum class Prediction : std::uint8_t { right, wrong, open };

auto predicts(const RuleSpace& space, const OpRow& row, const Observed& call) -> Prediction {
  ShapeContext context;
  MetaCall c(row, call.sample->args, context);
  // Storages of the rule's own must not be taken for those of arguments.
  for (std::size_t i = 0; i < call.view.tensors.size(); ++i)
    while (context.fresh_storage() < call.view.tensors[i]->storage) {
    }
  std::string doubt;
  const auto value = apply(space, c, call.view, doubt);
  if (!value || c.error()) return Prediction::open;
  return std::ranges::equal(
             leaves_of(*value), leaves_of(call.sample->result),
             [&](const Datum& a, const Datum& b) { return same_leaf(a, b, call.view); })
             ? Prediction::right
             : Prediction::wrong;
}

auto listed(const std::vector<std::vector<Formula>>& dims, const std::vector<std::string>& names)
    -> std::string {
  std::string text = "[";
  for (std::size_t d = 0; d < dims.size(); ++d)
    text += (d ? ", " : "") + dims[d].front().text(names);
  return text + "]";
}

auto formula_of(const RuleSpace& space, const CallView& view) -> std::string {
  constexpr std::array kNames{"row-major",
                              "strides of tensor {}",
                              "layout of tensor {}",
                              "format of tensor {}",
                              "as a pointwise operator",
                              "channels-last",
                              "permuted"};
  std::string text;
  for (const auto& leaf : space.leaves) {
    if (!text.empty()) text += "; ";
    if (leaf.is_none) {
      text += "None";
    } else if (leaf.is_number) {
      text += leaf.number.front().text(view.names);
    } else {
      text += listed(leaf.sizes, view.names) + ", ";
      text += leaf.layouts.empty()
                  ? "strides " + listed(leaf.strides, view.more_names)
                  : fmt::format(
                        fmt::runtime(kNames[static_cast<std::size_t>(leaf.layouts.front().kind)]),
                        leaf.layouts.front().tensor);
    }
  }
  return text;
}

/// Fits one kind of calls and holds each back in turn, the last first.
void infer_kind(const OpRow& row, const std::vector<Observed>& calls, InferredRule& rule) {
  std::vector<const Observed*> all;
  for (const auto& call : calls) all.push_back(&call);
  std::string reason;
  auto space = Fit(row, all).run(reason);
  const auto worsen = [&](InferenceState state, std::string why) {
    if (static_cast<int>(state) > static_cast<int>(rule.state) || rule.reason.empty())
      rule.reason = std::move(why);
    rule.state = std::max(rule.state, state);
  };
  if (!space) {
    rule.held_back = calls.back().sample->id;
    return worsen(InferenceState::refuted, fmt::format("{}, over {} calls", reason, calls.size()));
  }
  constexpr std::size_t kFewest = 3;
  if (calls.size() < kFewest)
    return worsen(InferenceState::undecided,
                  fmt::format("{} calls of one kind, {} are needed", calls.size(), kFewest));
  int right = 0, wrong = 0;
  std::int64_t held_back = -1;
  for (auto back = all.size(); back-- > 0;) {
    std::vector<const Observed*> rest;
    for (const auto* call : all)
      if (call != all[back]) rest.push_back(call);
    std::string ignored;
    const auto partial = Fit(row, rest).run(ignored);
    const auto prediction = partial ? predicts(*partial, row, *all[back]) : Prediction::open;
    if (prediction == Prediction::right && right++ == 0) held_back = all[back]->sample->id;
    wrong += prediction == Prediction::wrong ? 1 : 0;
  }
  if (right == 0 || wrong > right) {
    rule.held_back = all.back()->sample->id;
    return worsen(InferenceState::undecided,
                  fmt::format("no call could be predicted from the other {}", calls.size() - 1));
  }
  rule.held_back = held_back;
  for (const auto& call : calls) rule.confirmed_by.push_back(call.sample->id);
  rule.formula += (rule.formula.empty() ? "" : " | ") + formula_of(*space, calls.front().view);
  rule.spaces.push_back(std::make_shared<const RuleSpace>(*std::move(space)));
}

auto run_inferred(MetaCall& c) -> Datum {
  const auto kind = kind_of(c.args());
  for (const auto& space : c.row().inferred->spaces) {
    if (space->kind != kind) continue;
    const auto view = view_of(c.row().schema, c.args());
    std::string doubt;
    auto value = apply(*space, c, view, doubt);
    if (!value) return c.unsupported(doubt), Datum{};
    return *std::move(value);
  }
  return c.unsupported("no recorded call has arguments of these ranks and flags"), Datum{};
}

}  // namespace

auto infer_rule(const Schema& schema, std::span<const OperatorSample> samples) -> InferredRule {
  OpRow row;
  row.schema = schema;
  std::map<std::string, std::vector<Observed>> kinds;
  for (const auto& sample : samples)
    kinds[kind_of(sample.args)].push_back({&sample, view_of(schema, sample.args)});
  InferredRule rule;
  rule.state = InferenceState::confirmed;
  if (samples.empty()) rule.reason = "no calls were recorded";
  for (const auto& [kind, calls] : kinds) infer_kind(row, calls, rule);
  if (rule.spaces.empty() && rule.state == InferenceState::confirmed)
    rule.state = InferenceState::undecided;
  // One kind that is known is worth having though another is not.
  if (!rule.spaces.empty() && rule.state == InferenceState::undecided)
    rule.state = InferenceState::confirmed;
  return rule;
}

auto inferred_row(std::shared_ptr<const InferredRule> rule) -> OpRow {
  OpRow row;
  row.rule = run_inferred;
  row.inferred = std::move(rule);
  return row;
}

}  // namespace assay
