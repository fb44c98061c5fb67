// Structural hash and exact structural comparison of graphs.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "core/graph/graph.h"

namespace assay {
namespace {

auto mix(std::uint64_t hash, std::uint64_t value) -> std::uint64_t {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 32);
}

auto mix_text(std::uint64_t hash, std::string_view text) -> std::uint64_t {
  std::uint64_t fnv = 0xcbf29ce484222325ULL;  // FNV-1a: the same everywhere, unlike std::hash
  for (const char c : text) fnv = (fnv ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return mix(hash, fnv ^ text.size());
}

auto positions_of(const Graph& graph) -> std::unordered_map<std::int32_t, std::uint64_t> {
  std::unordered_map<std::int32_t, std::uint64_t> positions;
  positions.reserve(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) positions[graph.nodes[i].id.value] = i;
  return positions;
}

/// Names of inputs and the word "output" are labels, not structure.
auto has_target(NodeKind kind) -> bool {
  return kind != NodeKind::placeholder && kind != NodeKind::output;
}

class Hasher {
 public:
  auto graph(const Graph& g) -> std::uint64_t {
    const auto outer = std::exchange(positions_, positions_of(g));
    std::uint64_t hash = mix(1, g.nodes.size());
    for (const auto& node : g.nodes) hash = mix(hash, this->node(node));
    positions_ = outer;
    for (const auto& [name, child] : g.children) hash = mix(mix_text(hash, name), graph(child));
    return hash;
  }

 private:
  auto node(const Node& node) -> std::uint64_t {
    std::uint64_t hash = mix(2, static_cast<std::uint64_t>(node.kind));
    if (has_target(node.kind)) hash = mix_text(hash, node.target);
    for (const auto& arg : node.args) hash = mix(hash, this->arg(arg));
    for (const auto& [name, arg] : node.kwargs) hash = mix(mix_text(hash, name), this->arg(arg));
    return mix(hash, claim(node.claim));
  }

  auto arg(const Arg& arg) -> std::uint64_t {
    std::uint64_t hash = mix(3, arg.value.index());
    return std::visit([&](const auto& value) { return payload(hash, value); }, arg.value);
  }

  auto payload(std::uint64_t hash, const NoneArg&) -> std::uint64_t { return hash; }
  auto payload(std::uint64_t hash, const NodeId& id) -> std::uint64_t {
    const auto it = positions_.find(id.value);
    return mix(hash, it == positions_.end() ? ~std::uint64_t{0} : it->second);
  }
  auto payload(std::uint64_t hash, const Expr& e) -> std::uint64_t { return mix(hash, expr(e)); }
  auto payload(std::uint64_t hash, const std::complex<double>& value) -> std::uint64_t {
    return mix(mix(hash, std::bit_cast<std::uint64_t>(value.real())),
               std::bit_cast<std::uint64_t>(value.imag()));
  }
  auto payload(std::uint64_t hash, const std::string& text) -> std::uint64_t {
    return mix_text(hash, text);
  }
  auto payload(std::uint64_t hash, DType dtype) -> std::uint64_t {
    return mix_text(hash, name(dtype));
  }
  auto payload(std::uint64_t hash, const Device& device) -> std::uint64_t {
    return mix(mix_text(hash, device.type), static_cast<std::uint64_t>(device.index));
  }
  auto payload(std::uint64_t hash, Layout layout) -> std::uint64_t {
    return mix(hash, static_cast<std::uint64_t>(layout));
  }
  auto payload(std::uint64_t hash, MemoryFormat format) -> std::uint64_t {
    return mix(hash, static_cast<std::uint64_t>(format));
  }
  auto payload(std::uint64_t hash, const SequenceArg& sequence) -> std::uint64_t {
    for (const auto& item : sequence.items) hash = mix(hash, arg(item));
    return hash;
  }
  auto payload(std::uint64_t hash, const SliceArg& slice) -> std::uint64_t {
    for (const auto& part : slice.parts) hash = mix(hash, arg(part));
    return hash;
  }
  auto payload(std::uint64_t hash, const DictArg& dict) -> std::uint64_t {
    for (const auto& [key, item] : dict.items) hash = mix(mix_text(hash, key), arg(item));
    return hash;
  }
  auto payload(std::uint64_t hash, const RawArg& raw) -> std::uint64_t {
    return mix_text(hash, raw.text);
  }

  auto claim(const Claim& claim) -> std::uint64_t {
    std::uint64_t hash = mix(4, claim.value.index());
    if (claim.alias_group >= 0) hash = mix(hash, static_cast<std::uint64_t>(claim.alias_group));
    if (const auto* scalar = claim.scalar()) hash = mix(hash, expr(*scalar));
    if (const auto* items = claim.items())
      for (const auto& item : *items) hash = mix(hash, this->claim(item));
    if (const auto* meta = claim.tensor()) {
      hash = payload(payload(hash, meta->dtype), meta->device);
      for (const auto& size : meta->sizes) hash = mix(hash, expr(size));
      for (const auto& stride : meta->strides) hash = mix(hash, expr(stride));
      hash = mix(mix(hash, expr(meta->offset)), meta->requires_grad ? 1 : 0);
      if (claim.stated != StatedParts{})
        hash = mix(hash, (claim.stated.strides ? 1U : 0U) | (claim.stated.offset ? 2U : 0U) |
                             (claim.stated.device ? 4U : 0U));
    }
    return hash;
  }

  /// By structure and names, so that it does not depend on the pool; remembered per Expr.
  auto expr(const Expr& e) -> std::uint64_t {
    if (const auto it = exprs_.find(e); it != exprs_.end()) return it->second;
    std::uint64_t hash = mix(5, static_cast<std::uint64_t>(e.op()));
    if (const auto value = e.as_int()) hash = mix(hash, static_cast<std::uint64_t>(*value));
    if (const auto value = e.as_real()) hash = mix(hash, std::bit_cast<std::uint64_t>(*value));
    if (const auto value = e.as_bool()) hash = mix(hash, *value ? 1 : 0);
    hash = mix_text(hash, e.name());
    for (const auto& operand : e.args()) hash = mix(hash, expr(operand));
    return exprs_[e] = hash;
  }

  std::unordered_map<std::int32_t, std::uint64_t> positions_;
  std::unordered_map<Expr, std::uint64_t> exprs_;
};

class Comparer {
 public:
  explicit Comparer(bool with_claims) : with_claims_(with_claims) {}

  auto graphs(const Graph& a, const Graph& b) -> bool {
    if (a.nodes.size() != b.nodes.size() || a.children.size() != b.children.size()) return false;
    const auto outer_a = std::exchange(positions_a_, positions_of(a));
    const auto outer_b = std::exchange(positions_b_, positions_of(b));
    const bool same_nodes = std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(),
                                       [&](const Node& x, const Node& y) { return nodes(x, y); });
    positions_a_ = outer_a;
    positions_b_ = outer_b;
    return same_nodes && std::equal(a.children.begin(), a.children.end(), b.children.begin(),
                                    [&](const auto& x, const auto& y) {
                                      return x.first == y.first && graphs(x.second, y.second);
                                    });
  }

 private:
  auto nodes(const Node& a, const Node& b) -> bool {
    if (a.kind != b.kind || (has_target(a.kind) && a.target != b.target)) return false;
    if (!lists(a.args, b.args) || !fields(a.kwargs, b.kwargs)) return false;
    return !with_claims_ || claims(a.claim, b.claim);
  }

  auto lists(const std::vector<Arg>& a, const std::vector<Arg>& b) -> bool {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const Arg& x, const Arg& y) { return args(x, y); });
  }
  auto fields(const std::vector<std::pair<std::string, Arg>>& a,
              const std::vector<std::pair<std::string, Arg>>& b) -> bool {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const auto& x, const auto& y) {
      return x.first == y.first && args(x.second, y.second);
    });
  }

  auto args(const Arg& a, const Arg& b) -> bool {
    if (a.value.index() != b.value.index()) return false;
    return std::visit(
        [&](const auto& x) { return same(x, std::get<std::remove_cvref_t<decltype(x)>>(b.value)); },
        a.value);
  }

  template <class T>
  auto same(const T& a, const T& b) -> bool {
    return a == b;
  }
  auto same(const NodeId& a, const NodeId& b) -> bool {
    const auto in_a = positions_a_.find(a.value);
    const auto in_b = positions_b_.find(b.value);
    if (in_a == positions_a_.end() || in_b == positions_b_.end())
      return in_a == positions_a_.end() && in_b == positions_b_.end();
    return in_a->second == in_b->second;
  }
  auto same(const Expr& a, const Expr& b) -> bool {
    if (a == b) return true;
    if (a.pool() == nullptr || b.pool() == nullptr || a.pool() == b.pool()) return false;
    const auto [it, fresh] = foreign_.try_emplace(a, b);
    if (!fresh && it->second == b) return true;
    if (Expr::compare(a, b) == std::strong_ordering::equal) return true;
    if (fresh) foreign_.erase(it);
    return false;
  }
  auto same(const std::complex<double>& a, const std::complex<double>& b) -> bool {
    return std::bit_cast<std::uint64_t>(a.real()) == std::bit_cast<std::uint64_t>(b.real()) &&
           std::bit_cast<std::uint64_t>(a.imag()) == std::bit_cast<std::uint64_t>(b.imag());
  }
  auto same(const SequenceArg& a, const SequenceArg& b) -> bool { return lists(a.items, b.items); }
  auto same(const SliceArg& a, const SliceArg& b) -> bool { return lists(a.parts, b.parts); }
  auto same(const DictArg& a, const DictArg& b) -> bool { return fields(a.items, b.items); }

  auto dims(const Dims& a, const Dims& b) -> bool {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const Expr& x, const Expr& y) { return same(x, y); });
  }

  auto claims(const Claim& a, const Claim& b) -> bool {
    if (a.value.index() != b.value.index() || a.alias_group != b.alias_group) return false;
    if (const auto* scalar = a.scalar()) return same(*scalar, *b.scalar());
    if (const auto* items = a.items())
      return std::equal(items->begin(), items->end(), b.items()->begin(), b.items()->end(),
                        [&](const Claim& x, const Claim& y) { return claims(x, y); });
    const auto* meta = a.tensor();
    if (meta == nullptr) return true;
    const auto& other = *b.tensor();
    return a.stated == b.stated && meta->dtype == other.dtype && meta->device == other.device &&
           meta->requires_grad == other.requires_grad && dims(meta->sizes, other.sizes) &&
           dims(meta->strides, other.strides) && same(meta->offset, other.offset);
  }

  bool with_claims_;
  std::unordered_map<std::int32_t, std::uint64_t> positions_a_, positions_b_;
  std::unordered_map<Expr, Expr> foreign_;  ///< pairs of two pools already found equal
};

}  // namespace

auto structural_hash(const Graph& graph) -> std::uint64_t {
  return Hasher().graph(graph);
}

auto same_structure(const Graph& a, const Graph& b, bool with_claims) -> bool {
  return Comparer(with_claims).graphs(a, b);
}

}  // namespace assay
