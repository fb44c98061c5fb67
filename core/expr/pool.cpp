#include <algorithm>
#include <bit>
#include <deque>
#include <unordered_map>

#include "core/base/check.h"
#include "core/expr/expr.h"

namespace assay {
namespace {

/// Append-only storage whose addresses never move.
template <class T>
class Arena {
 public:
  auto copy(std::span<const T> values) -> std::span<const T> {
    if (values.empty()) return {};
    if (values.size() > room_.size()) {
      const std::size_t size = std::max(kBlock, values.size());
      room_ = std::span<T>(blocks_.emplace_back(std::make_unique<T[]>(size)).get(), size);
    }
    const auto stored = room_.first(values.size());
    std::ranges::copy(values, stored.begin());
    room_ = room_.subspan(values.size());
    return stored;
  }

 private:
  static constexpr std::size_t kBlock = 4096;
  std::vector<std::unique_ptr<T[]>> blocks_;
  std::span<T> room_;
};

auto combine(std::size_t seed, std::size_t value) -> std::size_t {
  const std::uint64_t x = (seed ^ value) * 0x9e3779b97f4a7c15U;
  return std::rotl(x, 29) ^ (x >> 32U);
}

auto hash_of(const ExprNode& node) -> std::size_t {
  auto h = combine(static_cast<std::size_t>(node.op) + 1, static_cast<std::size_t>(node.type));
  h = combine(h, node.args.size());
  for (const Expr& arg : node.args) h = combine(h, arg.hash());
  if (!node.name.empty()) h = combine(h, std::hash<std::string_view>()(node.name));
  return h;
}

auto same(const ExprNode& a, const ExprNode& b) -> bool {
  return a.hash == b.hash && a.op == b.op && a.type == b.type && a.name == b.name &&
         std::ranges::equal(a.args, b.args);
}

/// One simplification of two operands, until another takes its place.
struct Remembered {
  ExprOp op = ExprOp::invalid;  ///< invalid: nothing is here
  Expr a, b, result;
};
constexpr std::size_t kRemembered = 4096;

}  // namespace

struct ExprPool::Impl {
  std::deque<ExprNode> nodes;
  std::vector<const ExprNode*> table = std::vector<const ExprNode*>(1024);  ///< open addressing
  Arena<Expr> operands;
  Arena<char> names;
  std::unordered_map<std::string_view, Expr> symbols;
  std::vector<Remembered> lately;  ///< by hash of operator and operands

  /// The slot of an equal node, or the empty slot where it belongs.
  auto slot(const ExprNode& node) -> const ExprNode*& {
    std::size_t at = node.hash & (table.size() - 1);
    while (table[at] && !same(*table[at], node)) at = (at + 1) & (table.size() - 1);
    return table[at];
  }

  void grow() {
    std::vector<const ExprNode*> bigger(table.size() * 2);
    table.swap(bigger);
    for (const ExprNode& node : nodes) slot(node) = &node;
  }

  auto add(ExprNode node) -> const ExprNode* {
    node.hash = hash_of(node);
    if (const ExprNode* known = slot(node)) return known;
    if (nodes.size() * 2 >= table.size()) grow();
    node.args = operands.copy(node.args);
    const auto name = names.copy(std::span(node.name.data(), node.name.size()));
    node.name = std::string_view(name.data(), name.size());
    node.id = static_cast<std::uint32_t>(nodes.size());
    const ExprNode* stored = &nodes.emplace_back(node);
    return slot(node) = stored;
  }
};

ExprPool::ExprPool() : impl_(std::make_unique<Impl>()) {}
ExprPool::~ExprPool() = default;

auto ExprPool::symbol(std::string_view name, ExprType type) -> Expr {
  if (const auto known = find_symbol(name)) return *known;
  ExprNode node{.op = ExprOp::symbol, .type = type, .pool = this, .args = {}, .name = name};
  const ExprNode* stored = impl_->add(node);
  const Expr result(stored, 0);
  impl_->symbols.emplace(stored->name, result);
  return result;
}

auto ExprPool::find_symbol(std::string_view name) const -> std::optional<Expr> {
  const auto at = impl_->symbols.find(name);
  return at == impl_->symbols.end() ? std::nullopt : std::optional(at->second);
}

auto ExprPool::lately(ExprOp op, const Expr& a, const Expr& b) -> Expr& {
  if (impl_->lately.empty()) impl_->lately.resize(kRemembered);
  const auto hash = combine(combine(static_cast<std::size_t>(op) + 1, a.hash()), b.hash());
  auto& one = impl_->lately[hash % kRemembered];
  if (one.op != op || one.a != a || one.b != b) one = {op, a, b, Expr::invalid()};
  return one.result;
}

auto ExprPool::node_count() const -> std::size_t {
  return impl_->nodes.size();
}

auto ExprPool::intern(ExprOp op, ExprType type, std::vector<Expr> args, std::string_view name)
    -> Expr {
  return intern(op, type, std::span<const Expr>(args), name);
}

auto ExprPool::intern(ExprOp op, ExprType type, std::span<const Expr> args, std::string_view name)
    -> Expr {
  if (op == ExprOp::symbol) return symbol(name, type);
  ASSAY_CHECK(op > ExprOp::symbol, "constants are not interned");
  ExprNode node{.op = op, .type = type, .pool = this, .args = args, .name = name};
  std::uint64_t tree_size = 1;
  for (const Expr& arg : args) {
    ASSAY_CHECK(!arg.pool() || arg.pool() == this, "operands of two expression pools are mixed");
    if (!arg.is_valid()) return arg;
    node.depth = std::max(node.depth, arg.depth() + 1);
    tree_size += arg.tree_size();
  }
  if (node.depth > kMaxDepth) return Expr::invalid();
  node.tree_size = static_cast<std::uint32_t>(std::min<std::uint64_t>(tree_size, UINT32_MAX));
  return {impl_->add(node), 0};
}

}  // namespace assay
