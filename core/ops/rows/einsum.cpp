// einsum as permutations, products and batched matrix products, operand after operand. The order of
// the steps decides the strides of the result: aten/src/ATen/native/Linear.cpp (einsum,
// sumproduct_pair).
#include <algorithm>
#include <map>

#include "core/ops/rules.h"

namespace assay {
namespace {

using Positions = std::vector<std::size_t>;

auto dims_datum(const Positions& dims) -> Datum {
  DatumList list;
  for (const auto d : dims) list.push_back({Expr(static_cast<std::int64_t>(d))});
  return {std::move(list)};
}

auto is_letter(char label) -> bool {
  return (label >= 'a' && label <= 'z') || (label >= 'A' && label <= 'Z');
}

/// The dimensions that an ellipsis covers have labels of their own, which sort before letters.
constexpr std::size_t kMostDims = 31;  // below the letters and the dot
auto ellipsis_labels(std::size_t count) -> std::string {
  std::string labels;
  for (std::size_t i = 0; i < count; ++i) labels += static_cast<char>(i + 1);
  return labels;
}
/// Puts labels in the place of "..."; the last `covered` of `all` belong to this operand.
auto without_ellipsis(std::string labels, const std::string& all, std::size_t covered)
    -> std::string {
  const auto at = labels.find("...");
  if (at != std::string::npos) labels.replace(at, 3, all.substr(all.size() - covered));
  return labels;
}

/// "ij,jk->ik" taken apart; without an arrow the output has the ellipsis' dimensions and the labels
/// that occur once, sorted. `ranks` of the operands say how many dimensions an ellipsis covers.
struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};
void expand_ellipses(Composer& c, Equation& equation, const std::vector<std::size_t>& ranks) {
  std::vector<std::size_t> covered(ranks.size(), 0);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto& labels = equation.inputs[i];
    const auto letters = static_cast<std::size_t>(std::ranges::count_if(labels, is_letter));
    if (!labels.contains("...")) continue;
    if (ranks[i] < letters || ranks[i] > kMostDims) {
      c.fail(fmt::format("einsum: '{}' names more dimensions than there are", labels));
      return;
    }
    covered[i] = ranks[i] - letters;
  }
  const auto all = ellipsis_labels(covered.empty() ? 0 : std::ranges::max(covered));
  for (std::size_t i = 0; i < ranks.size(); ++i)
    equation.inputs[i] = without_ellipsis(equation.inputs[i], all, covered[i]);
  equation.output = without_ellipsis(equation.output, all, all.size());
}
auto parse_equation(Composer& c, std::string text, const std::vector<std::size_t>& ranks)
    -> Equation {
  std::erase(text, ' ');
  Equation equation;
  const auto arrow = text.find("->");
  const auto left = text.substr(0, arrow);
  for (std::size_t begin = 0; begin <= left.size();) {
    const auto end = std::min(left.find(',', begin), left.size());
    equation.inputs.push_back(left.substr(begin, end - begin));
    begin = end + 1;
  }
  if (equation.inputs.size() != ranks.size()) {
    c.fail(
        fmt::format("einsum: {} operands for {} subscripts", ranks.size(), equation.inputs.size()));
    return equation;
  }
  if (arrow != std::string::npos) equation.output = text.substr(arrow + 2);
  expand_ellipses(c, equation, ranks);
  std::map<char, int> counts;
  for (const auto& input : equation.inputs)
    for (const char label : input) ++counts[label];
  const auto is_covered = [](char label) { return label > 0 && label < ' '; };
  if (arrow == std::string::npos)
    for (const auto& [label, count] : counts)
      if (count == 1 || is_covered(label)) equation.output += label;
  for (const auto& [label, count] : counts)
    if (!is_letter(label) && !is_covered(label))
      c.fail(fmt::format("einsum: '{}' is not a label", label));
  for (const char label : equation.output)
    if (!counts.contains(label) || std::ranges::count(equation.output, label) > 1)
      c.fail(fmt::format("einsum: output label '{}' must occur once and in an input", label));
  return equation;
}

class Einsum {
 public:
  explicit Einsum(Composer& c) : c_(c) {}

  auto run() -> Datum {
    const auto* tensors = c_.arg(1).list();
    if (!tensors || tensors->empty()) return c_.fail("einsum needs operands"), Datum{};
    std::vector<std::size_t> ranks;
    for (const auto& tensor : *tensors) ranks.push_back(c_.meta(tensor).sizes.size());
    const auto equation = parse_equation(c_, c_.text(0), ranks);
    if (c_.error()) return {};
    all_ = equation.output;
    std::string labels;
    for (const auto& input : equation.inputs) labels += input;
    std::ranges::sort(labels);
    for (const char label : labels)
      if (!all_.contains(label)) all_ += label;
    kept_ = equation.output.size();
    DatumList operands;
    for (std::size_t i = 0; i < tensors->size(); ++i)
      operands.push_back(spread((*tensors)[i], equation.inputs[i]));
    if (c_.error()) return {};
    const auto result = contract_all(operands);
    return c_.error() ? Datum{} : finish(result, tensors->size());
  }

 private:
  auto grows(const TensorMeta& meta, std::size_t d) -> bool {
    return !c_.decide(eq(meta.sizes[d], 1), "size 1 in einsum");
  }
  auto sum(const Datum& tensor, const Positions& dims, bool keep) -> Datum {
    return c_.call("aten.sum.dim_IntList", {tensor, dims_datum(dims), Datum{Expr::boolean(keep)}});
  }

  /// One operand with all labels as dimensions, in the common order; missing ones have size 1.
  auto spread(Datum tensor, std::string labels) -> Datum {
    if (c_.meta(tensor).sizes.size() != labels.size())
      return c_.fail(fmt::format("einsum: '{}' does not name every dimension", labels)), Datum{};
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto again = labels.find(labels[i], i + 1);
      if (again == std::string::npos) continue;
      // A repeated label takes the diagonal, which PyTorch appends as the last dimension.
      tensor = c_.call("aten.diagonal.default",
                       {tensor, Datum{Expr(0)}, Datum{Expr(static_cast<std::int64_t>(i))},
                        Datum{Expr(static_cast<std::int64_t>(again))}});
      const char label = labels[i];
      labels.erase(again, 1);
      labels.erase(i--, 1);
      labels += label;
    }
    for (const char label : all_) {
      if (labels.contains(label)) continue;
      tensor = c_.call("aten.unsqueeze.default", {tensor, Datum{Expr(-1)}});
      labels += label;
    }
    Positions order;
    for (const char label : all_) order.push_back(labels.find(label));
    auto result = c_.call("aten.permute.default", {tensor, dims_datum(order)});
    if (c_.error()) return {};
    const auto meta = c_.meta(result);
    for (std::size_t d = 0; d < all_.size(); ++d)
      if (grows(meta, d)) ++left_[d];
    return result;
  }

  /// In the order of `path`, pairs of positions whose product goes to the end; else left to right.
  auto contract_all(DatumList operands) -> Datum {
    const auto path = c_.integers(2);
    if (c_.has(2) && path.size() != 2 * (operands.size() - 1))
      return c_.fail("einsum: the path has two positions per product"), Datum{};
    for (std::size_t step = 0; operands.size() > 1 && !c_.error(); ++step) {
      std::size_t i = 0;
      std::size_t j = 1;
      if (c_.has(2)) {
        const auto count = static_cast<std::int64_t>(operands.size());
        const auto [low, high] = std::minmax(path[2 * step], path[2 * step + 1]);
        if (low < 0 || high >= count || low == high)
          return c_.fail("einsum: the path names operands that are not there"), Datum{};
        i = static_cast<std::size_t>(low);
        j = static_cast<std::size_t>(high);
      }
      auto product = contract(operands[i], operands[j]);
      operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(j));
      operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(i));
      operands.insert(c_.has(2) ? operands.end() : operands.begin(), std::move(product));
    }
    return operands.empty() ? Datum{} : operands[0];
  }

  /// Multiplies two operands and sums what no later operand needs.
  auto contract(Datum a, Datum b) -> Datum {
    if (c_.error()) return {};
    const auto left = c_.meta(a);
    const auto right = c_.meta(b);
    Positions both;
    Positions only_a;
    Positions only_b;
    for (auto d = kept_; d < all_.size(); ++d) {
      const bool in_a = grows(left, d);
      const bool in_b = grows(right, d);
      if (in_a && in_b) {
        if (--left_[d] == 1) both.push_back(d);
      } else if (left_[d] == 1 && (in_a || in_b)) {
        (in_a ? only_a : only_b).push_back(d);
        left_[d] = 0;
      }
    }
    if (!only_a.empty()) a = sum(a, only_a, true);
    if (!only_b.empty()) b = sum(b, only_b, true);
    for (const auto d : both) left_[d] = 0;
    return both.empty() ? c_.call("aten.mul.Tensor", {a, b}) : multiply(a, b, both);
  }

  /// sumproduct_pair: one batched matrix product over the dims that both have.
  auto multiply(Datum a, Datum b, const Positions& summed) -> Datum {
    if (c_.error()) return {};
    auto left = c_.meta(a);
    auto right = c_.meta(b);
    Positions batch;
    Positions rows;
    Positions columns;
    for (std::size_t d = 0; d < all_.size(); ++d) {
      if (std::ranges::find(summed, d) != summed.end()) continue;
      const bool in_a = grows(left, d);
      const bool in_b = grows(right, d);
      (in_a && in_b ? batch : in_a ? rows : columns).push_back(d);
    }
    if (!rows.empty() && !columns.empty() && rows.front() > columns.back()) {
      std::swap(a, b);
      std::swap(left, right);
      std::swap(rows, columns);
    }
    const auto product_of = [](const TensorMeta& meta, const Positions& dims) {
      Expr result(1);
      for (const auto d : dims) result = result * meta.sizes[d];
      return result;
    };
    const auto matrix = [&](const Datum& tensor, std::initializer_list<const Positions*> parts,
                            const Dims& sizes) {
      Positions order;
      for (const auto* part : parts) order.insert(order.end(), part->begin(), part->end());
      const auto permuted = c_.call("aten.permute.default", {tensor, dims_datum(order)});
      return c_.call("aten.reshape.default", {permuted, int_list(sizes)});
    };
    const auto batches = product_of(left, batch);
    const auto inner = product_of(left, summed);
    const auto x =
        matrix(a, {&batch, &rows, &summed, &columns}, {batches, product_of(left, rows), inner});
    const auto y =
        matrix(b, {&batch, &summed, &columns, &rows}, {batches, inner, product_of(right, columns)});
    Dims sizes;
    Positions source;
    for (const auto* part : {&batch, &rows}) {
      for (const auto d : *part) sizes.push_back(left.sizes[d]);
      source.insert(source.end(), part->begin(), part->end());
    }
    sizes.insert(sizes.end(), summed.size(), Expr(1));
    source.insert(source.end(), summed.begin(), summed.end());
    for (const auto d : columns) sizes.push_back(right.sizes[d]);
    source.insert(source.end(), columns.begin(), columns.end());
    Positions order(source.size());
    for (std::size_t i = 0; i < source.size(); ++i) order[source[i]] = i;
    const auto result = c_.call("aten.bmm.default", {x, y});
    const auto shaped = c_.call("aten.view.default", {result, int_list(sizes)});
    return c_.call("aten.permute.default", {shaped, dims_datum(order)});
  }

  /// Drops the summed dims: all of size 1 by now, unless there was one operand only.
  auto finish(const Datum& result, std::size_t operands) -> Datum {
    if (all_.size() == kept_) return result;
    if (operands == 1) {
      Positions dims;
      for (auto d = kept_; d < all_.size(); ++d) dims.push_back(d);
      return sum(result, dims, false);
    }
    auto sizes = c_.meta(result).sizes;
    sizes.resize(kept_);
    return c_.call("aten.view.default", {result, int_list(sizes)});
  }

  Composer& c_;
  std::string all_;                  ///< labels of the output, then those summed over
  std::size_t kept_ = 0;             ///< how many are of the output
  std::map<std::size_t, int> left_;  ///< operands still to come in which a dimension grows
};

auto einsum(Composer& c) -> Datum {
  return Einsum(c).run();
}

}  // namespace

// clang-format off
void add_einsum_rows(OpTable& t) {
  t.add({.schema_text = "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor", .decomposition = einsum});
}
// clang-format on

}  // namespace assay
