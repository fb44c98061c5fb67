#include "replay/interp/sizes.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_set>

#include "core/expr/text.h"
#include "replay/interp/binding.h"

namespace assay {
namespace {

/// What a search may cost, counted in conditions evaluated.
constexpr int kMaxWork = 60'000;
constexpr std::int64_t kAllSmall = 40;     ///< all numbers up to here are tried
constexpr std::int64_t kLargest = 16'384;  ///< then powers of two and multiples up to here
/// Sizes below stand for a special case in many operators, so others are tried first.
constexpr std::int64_t kFirst = 3;

/// Operators whose result has as many elements as their first operand.
constexpr std::array<std::string_view, 5> kReshapes = {
    "aten.view.default", "aten._unsafe_view.default", "aten.reshape.default",
    "aten.view_copy.default", "aten._reshape_alias.default"};

/// Operators on elements whose operands broadcast.
constexpr std::array<std::string_view, 31> kBroadcasts = {"operator.add",
                                                          "operator.sub",
                                                          "operator.mul",
                                                          "operator.truediv",
                                                          "operator.iadd",
                                                          "operator.isub",
                                                          "operator.imul",
                                                          "operator.itruediv",
                                                          "aten.add_.Tensor",
                                                          "aten.mul_.Tensor",
                                                          "aten.sub_.Tensor",
                                                          "aten.add.Tensor",
                                                          "aten.sub.Tensor",
                                                          "aten.mul.Tensor",
                                                          "aten.div.Tensor",
                                                          "aten.pow.Tensor_Tensor",
                                                          "aten.where.self",
                                                          "aten.maximum.default",
                                                          "aten.minimum.default",
                                                          "aten.eq.Tensor",
                                                          "aten.ne.Tensor",
                                                          "aten.lt.Tensor",
                                                          "aten.le.Tensor",
                                                          "aten.gt.Tensor",
                                                          "aten.ge.Tensor",
                                                          "aten.bitwise_and.Tensor",
                                                          "aten.bitwise_or.Tensor",
                                                          "aten.bitwise_xor.Tensor",
                                                          "aten.logical_and.default",
                                                          "aten.logical_or.default",
                                                          "aten.masked_fill.Scalar"};

/// Products of matrices: which arguments are multiplied.
struct Product {
  std::string_view name;
  std::size_t left, right;
};
constexpr std::array kProducts = {
    Product{"aten.mm.default", 0, 1},     Product{"aten.bmm.default", 0, 1},
    Product{"aten.addmm.default", 1, 2},  Product{"aten.baddbmm.default", 1, 2},
    Product{"aten.matmul.default", 0, 1}, Product{"operator.matmul", 0, 1},
};

/// Conditions by how much they are worth; the last are given up first.
enum class Worth : std::uint8_t { guard, claim, elements };

struct Condition {
  Expr holds;
  Worth worth = Worth::guard;
  std::vector<Expr> symbols;
};

void visit(const Claim& claim, const std::function<void(const TensorMeta&)>& tensor,
           const std::function<void(const Expr&)>& scalar) {
  if (const auto* meta = claim.tensor()) tensor(*meta);
  if (const auto* value = claim.scalar()) scalar(*value);
  if (const auto* items = claim.items())
    for (const auto& item : *items) visit(item, tensor, scalar);
}

class ConditionList {
 public:
  explicit ConditionList(const Graph& graph) : graph_(graph) {
    for (const auto& guard : graph.env.guards()) add(guard.condition, Worth::guard);
    for (const auto& node : graph.nodes) {
      visit(
          node.claim, [&](const TensorMeta& meta) { add_layout(meta); },
          [&](const Expr& value) { add_exact(value); });
      if (std::ranges::find(kReshapes, node.target) != kReshapes.end()) add_reshape(node);
      if (std::ranges::find(kBroadcasts, node.target) != kBroadcasts.end()) add_broadcast(node);
      if (node.target == "aten.cat.default") add_cat(node);
      if (node.target == "aten.slice.Tensor") add_slice(node);
      if (const auto* product = std::ranges::find(kProducts, node.target, &Product::name);
          product != kProducts.end())
        add_product(node, *product);
      if (node.target.starts_with("aten._assert_scalar")) add_assert(node);
    }
  }
  [[nodiscard]] auto take() -> std::vector<Condition> { return std::move(conditions_); }

 private:
  void add(const Expr& holds, Worth worth) {
    if (!holds.is_valid() || holds.is_const() || !seen_.insert(holds).second) return;
    const auto condition = graph_.env.replaced(holds);
    if (condition.type() == ExprType::boolean && !condition.is_const())
      conditions_.push_back({condition, worth, condition.symbols()});
  }

  void add_layout(const TensorMeta& meta) {
    for (const auto& size : meta.sizes) {
      if (size.is_const() || size.op() == ExprOp::symbol) continue;
      add(ge(size, 1), Worth::claim);
      add_exact(size);
    }
    for (const auto& stride : meta.strides) add_exact(stride);
  }

  void add_exact(const Expr& e) {
    if (e.is_const() || !exact_.insert(e).second) return;
    const auto args = e.args();
    if (e.op() == ExprOp::clean_div && args.size() == 2)
      add(eq(make(ExprOp::mod, std::vector<Expr>{args[0], args[1]}), 0), Worth::claim);
    for (const auto& arg : args) add_exact(arg);
  }

  [[nodiscard]] auto claimed(const Node& node, std::size_t arg) const -> const TensorMeta* {
    const auto* id = arg < node.args.size() ? std::get_if<NodeId>(&node.args[arg].value) : nullptr;
    const auto* operand = id ? graph_.find(*id) : nullptr;
    return operand ? operand->claim.tensor() : nullptr;
  }

  void add_reshape(const Node& node) {
    const auto* from = claimed(node, 0);
    const auto* to = node.claim.tensor();
    if (from && to) add(eq(numel(*from), numel(*to)), Worth::elements);
  }

  /// `x[:4]` that is claimed to be 4 long.
  void add_slice(const Node& node) {
    const auto* from = claimed(node, 0);
    const auto* to = node.claim.tensor();
    const auto number = [&](std::size_t arg, std::int64_t without) -> std::optional<std::int64_t> {
      const auto* e = arg < node.args.size() ? std::get_if<Expr>(&node.args[arg].value) : nullptr;
      return e ? e->as_int() : without;
    };
    auto dim = number(1, 0).value_or(-1);
    const auto start = number(2, 0).value_or(-1);
    if (from && dim < 0) dim += std::ssize(from->sizes);
    if (!from || !to || from->rank() != to->rank() || start < 0 || dim < 0) return;
    const auto at = static_cast<std::size_t>(dim);
    if (at < to->sizes.size() && to->sizes[at].is_const())
      add(ge(from->sizes[at], start + to->sizes[at]), Worth::elements);
  }

  /// Outside of the dimension that grows every operand's size is the result's.
  void add_cat(const Node& node) {
    const auto* to = node.claim.tensor();
    const auto* along = node.args.size() > 1 ? std::get_if<Expr>(&node.args[1].value) : nullptr;
    if (!to || (node.args.size() > 1 && (!along || !along->as_int()))) return;
    auto dim = along ? *along->as_int() : 0;
    if (dim < 0) dim += std::ssize(to->sizes);
    for (const auto id : operands(node)) {
      const auto* operand = graph_.find(id);
      const auto* from = operand ? operand->claim.tensor() : nullptr;
      if (!from || from->rank() != to->rank()) continue;
      for (std::size_t i = 0; i < from->sizes.size(); ++i)
        if (static_cast<std::int64_t>(i) != dim)
          add(eq(from->sizes[i], to->sizes[i]), Worth::elements);
    }
  }

  void add_product(const Node& node, const Product& product) {
    const auto* left = claimed(node, product.left);
    const auto* right = claimed(node, product.right);
    if (left && right && left->rank() >= 2 && right->rank() >= 2)
      add(eq(left->sizes.back(), right->sizes[right->sizes.size() - 2]), Worth::elements);
  }

  /// Every operand's size is the result's, but where it is 1.
  void add_broadcast(const Node& node) {
    const auto* to = node.claim.tensor();
    if (!to) return;
    for (const auto id : operands(node)) {
      const auto* operand = graph_.find(id);
      const auto* from = operand ? operand->claim.tensor() : nullptr;
      if (!from || from->rank() > to->rank()) continue;
      const auto lead = to->sizes.size() - from->sizes.size();
      for (std::size_t i = 0; i < from->sizes.size(); ++i)
        if (!from->sizes[i].is_int(1))
          add(eq(from->sizes[i], to->sizes[lead + i]), Worth::elements);
    }
  }

  void add_assert(const Node& node) {
    const auto* id = node.args.empty() ? nullptr : std::get_if<NodeId>(&node.args[0].value);
    const auto* operand = id ? graph_.find(*id) : nullptr;
    if (operand && operand->claim.scalar()) add(*operand->claim.scalar(), Worth::guard);
  }

  const Graph& graph_;
  std::vector<Condition> conditions_;
  std::unordered_set<Expr> seen_, exact_;
};

/// Constants that an expression with a quotient must be equal to.
void collect_quotients(const Expr& condition, std::set<std::int64_t>& quotients) {
  if (condition.op() != ExprOp::eq) return;
  for (const auto& side : condition.args())
    if (const auto value = side.as_int(); value && *value > 0 && *value <= kLargest)
      quotients.insert(*value);
}

/// Constants that divide something.
void collect_divisors(const Expr& e, std::set<std::int64_t>& divisors) {
  const auto args = e.args();
  if (args.size() == 2 && (e.op() == ExprOp::floor_div || e.op() == ExprOp::mod ||
                           e.op() == ExprOp::python_mod || e.op() == ExprOp::clean_div)) {
    const auto divisor = args[1].as_int();
    if (divisor && *divisor > 1 && *divisor <= kLargest) divisors.insert(*divisor);
  }
  for (const auto& arg : args) collect_divisors(arg, divisors);
}

class Search {
 public:
  Search(const ShapeEnv& env, std::vector<Expr> symbols, const std::vector<Condition>& conditions,
         Binding known)
      : env_(env), symbols_(std::move(symbols)), values_(std::move(known)), at_(symbols_.size()) {
    std::set<std::int64_t> divisors, quotients{1, 2, 3, 4, 5, 6, 7, 8};
    for (const auto& condition : conditions) {
      collect_divisors(condition.holds, divisors);
      collect_quotients(condition.holds, quotients);
    }
    std::set<std::int64_t> numbers;
    for (std::int64_t n = 0; n <= kAllSmall; ++n) numbers.insert(n);
    for (auto n = kAllSmall; n <= kLargest; n *= 2)
      for (const auto k : {n, n * 8 / 5}) numbers.insert(k);  // 40, 64, 80, 128, ...
    for (const auto d : divisors)
      for (const auto k : quotients)
        if (d * k <= kLargest) numbers.insert(d * k);
    numbers_.assign(numbers.begin(), numbers.end());
    std::ranges::stable_partition(numbers_, [](std::int64_t n) { return n >= kFirst; });
    for (const auto& condition : conditions) place(condition);
  }

  auto run(Worth least, bool distinct) -> bool {
    least_ = least;
    distinct_ = distinct;
    work_ = 0;
    return from(0);
  }
  [[nodiscard]] auto values() const -> const Binding& { return values_; }

 private:
  /// A condition is asked when the last of its symbols has a value; never if one will have none.
  void place(const Condition& condition) {
    std::size_t last = 0;
    bool is_asked = false;
    for (const auto& symbol : condition.symbols) {
      const auto found = std::ranges::find(symbols_, symbol);
      if (found == symbols_.end() && !values_.contains(symbol)) return;
      if (found == symbols_.end()) continue;
      last = std::max(last, static_cast<std::size_t>(found - symbols_.begin()));
      is_asked = true;
    }
    if (is_asked) at_[last].push_back(condition);
  }

  auto from(std::size_t i) -> bool {
    if (i == symbols_.size()) return true;
    for (const auto& value : candidates(i)) {
      if (work_ > kMaxWork) return false;
      if (distinct_ && is_taken(i, value)) continue;
      values_[symbols_[i]] = value;
      if (holds(i) && from(i + 1)) return true;
    }
    values_.erase(symbols_[i]);
    return false;
  }

  auto candidates(std::size_t i) -> std::vector<Expr> {
    const auto* known = env_.find(symbols_[i]);
    const auto admitted = [&](const Expr& value) {
      return known == nullptr || known->range.contains(value);
    };
    if (known &&
        (known->kind == SymbolKind::backed_float || known->kind == SymbolKind::unbacked_float)) {
      for (const double value : {0.5, 1.5, 2.5, -1.5})
        if (admitted(Expr::real(value))) return {Expr::real(value)};
      return {known->range.low.is_const() ? known->range.low : known->range.high};
    }
    std::vector<Expr> values;
    const auto add = [&](std::int64_t n) {
      if (admitted(Expr(n)) && std::ranges::find(values, Expr(n)) == values.end())
        values.emplace_back(n);
    };
    for (const auto& condition : at_[i])
      if (const auto solved = solve(condition.holds, symbols_[i]); solved && *solved >= 0)
        add(*solved);
    const auto low = known ? known->range.low.as_int().value_or(0) : 0;
    if (low > kAllSmall && low < INT64_MAX - kAllSmall)
      for (std::int64_t n = 0; n < kAllSmall; ++n) add(low + n);
    for (const auto n : numbers_) add(n);
    return values;
  }

  /// The value that makes an equality hold, where it can be solved for.
  auto solve(const Expr& condition, const Expr& symbol) -> std::optional<std::int64_t> {
    if (condition.op() != ExprOp::eq) return std::nullopt;
    const std::unordered_map<Expr, Expr> others(values_.begin(), values_.end());
    auto without = others;
    without.erase(symbol);
    return solve_for(substitute(condition.args()[0] - condition.args()[1], without), symbol, 0);
  }

  auto is_taken(std::size_t i, const Expr& value) const -> bool {
    for (std::size_t k = 0; k < i; ++k)
      if (const auto found = values_.find(symbols_[k]); found != values_.end())
        if (found->second == value) return true;
    return false;
  }

  auto holds(std::size_t i) -> bool {
    for (const auto& condition : at_[i]) {
      if (condition.worth > least_) continue;
      ++work_;
      const auto value = evaluate(condition.holds, values_);
      if (!value || !value->as_bool().value_or(false)) return false;
    }
    return true;
  }

  const ShapeEnv& env_;
  std::vector<Expr> symbols_;
  Binding values_;
  std::vector<std::vector<Condition>> at_;  ///< by position of the symbol
  std::vector<std::int64_t> numbers_;
  Worth least_ = Worth::elements;
  bool distinct_ = true;
  int work_ = 0;
};

/// What recorded inputs say about symbols that their claims hold alone.
void bind_recorded(const Capture& capture, Binding& values) {
  std::size_t i = 0;
  const auto bind = [&](const Expr& claim, const Expr& value) {
    if (claim.op() == ExprOp::symbol) values.try_emplace(claim, value);
  };
  const auto bind_layout = [&](const Claim& claim, const RealMeta& real) {
    const auto* meta = claim.tensor();
    if (!meta || meta->rank() != real.rank()) return;
    for (std::size_t d = 0; d < meta->sizes.size(); ++d) bind(meta->sizes[d], real.sizes[d]);
  };
  for (const auto& node : capture.graph.nodes) {
    if (node.kind != NodeKind::placeholder) continue;
    const auto* input = i < capture.inputs.size() ? &capture.inputs[i] : nullptr;
    ++i;
    if (const auto seen = capture.observed.find(node.id); seen != capture.observed.end()) {
      const auto& layout = seen->second.tensor;
      if (seen->second.scalar && node.claim.scalar())
        bind(*node.claim.scalar(), *seen->second.scalar);
      if (layout) bind_layout(node.claim, *layout);
    }
    const auto* number = input ? std::get_if<Expr>(input) : nullptr;
    const auto* tensor = input ? std::get_if<RecordedTensor>(input) : nullptr;
    if (number && node.claim.scalar() && number->is_const()) bind(*node.claim.scalar(), *number);
    if (tensor) bind_layout(node.claim, tensor->meta);
  }
}

/// Symbols of the inputs' claims, in their order.
auto input_symbols(const Graph& graph) -> std::vector<Expr> {
  std::vector<Expr> symbols;
  const auto add = [&](const Expr& e) {
    for (const auto& symbol : graph.env.replaced(e).symbols())
      if (std::ranges::find(symbols, symbol) == symbols.end()) symbols.push_back(symbol);
  };
  for (const auto& node : graph.nodes) {
    if (node.kind != NodeKind::placeholder) continue;
    visit(
        node.claim,
        [&](const TensorMeta& meta) {
          for (const auto& size : meta.sizes) add(size);
          for (const auto& stride : meta.strides) add(stride);
          add(meta.offset);
        },
        add);
  }
  return symbols;
}

}  // namespace

auto choose_sizes(const Capture& capture, const Binding& given) -> SizeChoice {
  const auto& env = capture.graph.env;
  SizeChoice choice;
  choice.values = given;
  bind_recorded(capture, choice.values);
  for (const auto& [symbol, hint] : env.hints()) choice.values.try_emplace(symbol, hint);
  for (const auto& symbol : env.symbols())
    if (symbol.range.low == symbol.range.high && symbol.range.low.is_const())
      choice.values.try_emplace(symbol.expr, symbol.range.low);
  for (const auto& symbol : input_symbols(capture.graph))
    if (!choice.values.contains(symbol)) choice.chosen.push_back(symbol);
  if (!choice.chosen.empty()) {
    Search search(env, choice.chosen, ConditionList(capture.graph).take(), choice.values);
    const bool found = search.run(Worth::elements, true) || search.run(Worth::elements, false) ||
                       search.run(Worth::claim, false) || search.run(Worth::guard, false);
    choice.values = search.values();
    if (!found)
      for (const auto& symbol : choice.chosen) {
        const auto* known = env.find(symbol);
        const bool fits = !known || known->range.contains(Expr(kFirst));
        choice.values.try_emplace(symbol, fits ? Expr(kFirst) : known->range.low);
      }
  }
  for (const auto& [symbol, by] : env.replacements())
    if (const auto value = evaluate(env.replaced(by), choice.values))
      choice.values.try_emplace(symbol, *value);
  return choice;
}

auto describe(const SizeChoice& choice) -> std::string {
  if (choice.chosen.empty()) return {};
  std::string names;
  for (const auto& symbol : choice.chosen)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", symbol.name());
  return fmt::format("no size was recorded for {}; chosen: {}", names,
                     to_string(choice.values, choice.chosen));
}

}  // namespace assay
