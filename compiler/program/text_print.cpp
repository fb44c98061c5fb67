#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "compiler/program/text.h"
#include "compiler/program/text_words.h"
#include "core/expr/text.h"

namespace assay {
namespace {

auto quoted(std::string_view text) -> std::string {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result + "\"";
}

class Printer {
 public:
  /// Without names, lines and texts: what the structure is. Parameters and axes go by position.
  Printer(const TileKernel& kernel, bool is_bare) : kernel_(kernel), is_bare_(is_bare) {
    if (!is_bare) return;
    for (std::size_t i = 0; i < kernel.params.size(); ++i)
      if (const auto& symbol = kernel.params[i].symbol; symbol.op() == ExprOp::symbol)
        positions_[std::string(symbol.name())] = param_name(i);
  }

  auto run() -> std::string {
    text_ = is_bare_ ? "kernel\n"
                     : fmt::format("kernel {} {}\n", kernel_.name, quoted(kernel_.heuristic));
    if (!kernel_.asserts_are_on) text_ += "asserts off\n";
    for (std::size_t i = 0; i < kernel_.params.size(); ++i) param(i);
    for (std::size_t i = 0; i < kernel_.axes.size(); ++i) axis(i);
    for (const auto& one : kernel_.grid) text_ += fmt::format("grid {}\n", expression(one));
    for (const auto& one : kernel_.launcher_args) text_ += fmt::format("launcher {}\n", one);
    text_ += "body {\n";
    body(kernel_.body, 1);
    text_ += "}\n";
    return std::move(text_);
  }

 private:
  void param(std::size_t i) {
    const auto& one = kernel_.params[i];
    text_ += fmt::format("param {} {} {}", param_name(i), word_of(kParamWords, one.kind),
                         assay::name(one.dtype));
    if (one.fixed) text_ += fmt::format(" fixed {}", *one.fixed);
    if (!one.is_passed) text_ += " not_passed";
    text_ += "\n";
  }
  void axis(std::size_t i) {
    const auto& one = kernel_.axes[i];
    text_ += fmt::format("axis {} {}", axis_name(i), word_of(kAxisWords, one.kind));
    if (one.exact) text_ += " exact";
    text_ += fmt::format(" max {}", one.max_block);
    text_ += fmt::format(" block ({})", expression(one.block));
    if (one.extent) text_ += fmt::format(" extent ({})", expression(*one.extent));
    text_ += "\n";
  }

  [[nodiscard]] auto operand(TileId id) const -> std::string {
    return id == kNoTile ? "_" : fmt::format("%{}", id);
  }
  [[nodiscard]] auto typed(TileId id) const -> std::string {
    const auto& value = kernel_.values[static_cast<std::size_t>(id)];
    std::string axes;
    for (std::size_t i = 0; i < kernel_.axes.size(); ++i)
      if ((value.type.axes >> i & 1U) != 0) axes += (axes.empty() ? "" : " ") + axis_name(i);
    auto text = fmt::format("%{}:{}[{}]", id, assay::name(value.type.dtype), axes);
    if (!value.name.empty() && !is_bare_) text += " " + quoted(value.name);
    return text;
  }

  [[nodiscard]] auto axis_name(std::size_t i) const -> std::string {
    return is_bare_ ? fmt::format("a{}", i) : kernel_.axes[i].name;
  }
  [[nodiscard]] auto param_name(std::size_t i) const -> std::string {
    return is_bare_ ? fmt::format("p{}", i) : kernel_.params[i].name;
  }
  /// Symbols of parameters go by their position as well.
  [[nodiscard]] auto expression(const Expr& e) const -> std::string {
    const auto text = print_expr(e);
    if (!is_bare_) return text;
    const auto is_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
      auto end = at;
      while (end < text.size() && is_word(text[end])) ++end;
      const auto word = text.substr(at, std::max<std::size_t>(end - at, 1));
      const auto known = positions_.find(word);
      result += known == positions_.end() ? word : known->second;
      at += word.size();
    }
    return result;
  }
  [[nodiscard]] auto head(const TileConstant& what) const -> std::string {
    if (const auto* integer = std::get_if<std::int64_t>(&what.value))
      return fmt::format("const({})", *integer);
    const auto real = std::get<double>(what.value);
    if (std::isnan(real)) return "real(nan)";
    return fmt::format("real({})", real);
  }
  [[nodiscard]] auto head(const TileParamValue& what) const -> std::string {
    return fmt::format("param({})", param_name(what.param));
  }
  [[nodiscard]] auto head(const TileLane& what) const -> std::string {
    return fmt::format("lane({})", axis_name(what.axis));
  }
  [[nodiscard]] auto head(const TileIndex& what) const -> std::string {
    return fmt::format("index({})", axis_name(what.axis));
  }
  [[nodiscard]] auto head(const TileProgram& what) const -> std::string {
    return fmt::format("{}({})", what.is_count ? "programs" : "program", what.dimension);
  }
  [[nodiscard]] auto head(const TileCompute& what) const -> std::string {
    return std::string(tile_op_row(what.op).name);
  }
  [[nodiscard]] auto head(const TileLoad& what) const -> std::string {
    return fmt::format("load({})", param_name(what.param));
  }
  [[nodiscard]] auto head(const TileStore& what) const -> std::string {
    return fmt::format("store({})", param_name(what.param));
  }
  [[nodiscard]] auto head(const TileAtomic& what) const -> std::string {
    return fmt::format("atomic({} {})", param_name(what.param),
                       what.is_exchange ? "exchange" : tile_op_row(what.op).name);
  }
  [[nodiscard]] auto head(const TileReduce& what) const -> std::string {
    return fmt::format("reduce({} {})", word_of(kCombineWords, what.combine), axis_name(what.axis));
  }
  [[nodiscard]] auto head(const TileScan& what) const -> std::string {
    return fmt::format("scan({} {}{})", word_of(kCombineWords, what.combine), axis_name(what.axis),
                       what.is_reverse ? " reverse" : "");
  }
  [[nodiscard]] auto head(const TileSort& what) const -> std::string {
    return fmt::format("sort({}{}{}{}{})", axis_name(what.axis),
                       what.is_descending ? " descending" : "", what.is_stable ? " stable" : "",
                       what.by_all ? " by_all" : "", what.is_bitonic ? " bitonic" : "");
  }
  [[nodiscard]] auto head(const TileSearch& what) const -> std::string {
    return fmt::format("search({} {}{})", param_name(what.param), what.is_right ? "right" : "left",
                       what.sorter ? " " + param_name(*what.sorter) : "");
  }
  [[nodiscard]] auto head(const TileRandom& what) const -> std::string {
    return fmt::format("random({}{})", word_of(kRandomWords, what.kind), what.is_cpu ? " cpu" : "");
  }
  [[nodiscard]] auto head(const TileDot& what) const -> std::string {
    return fmt::format("dot({}{})", axis_name(what.axis), what.may_round ? " rounded" : "");
  }
  [[nodiscard]] auto head(const TileBarrier&) const -> std::string { return "barrier"; }
  [[nodiscard]] auto head(const TileArrive& what) const -> std::string {
    return fmt::format("arrive({})", param_name(what.param));
  }
  [[nodiscard]] auto head(const TileAssert& what) const -> std::string {
    return fmt::format("assert({})", is_bare_ ? "\"\"" : quoted(what.message));
  }
  [[nodiscard]] auto head(const TileLoop& what) const -> std::string {
    return what.axis ? fmt::format("loop({})", axis_name(*what.axis)) : "loop";
  }
  [[nodiscard]] auto head(const TileNest& what) const -> std::string {
    std::string words;
    for (const auto axis : what.axes) words += (words.empty() ? "" : " ") + axis_name(axis);
    return fmt::format("{}({})", what.is_ordered ? "ordered_nest" : "nest", words);
  }
  [[nodiscard]] auto head(const TileIf&) const -> std::string { return "if"; }

  void body(const TileRegion& region, int depth) {
    for (const auto& one : region.body) statement(one, depth);
    if (region.yields.empty()) return;
    text_ += std::string(static_cast<std::size_t>(2 * depth), ' ') + "yield";
    for (const auto id : region.yields) text_ += " " + operand(id);
    text_ += "\n";
  }

  void statement(const TileStatement& one, int depth) {
    const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
    text_ += indent;
    for (const auto id : one.results) text_ += typed(id) + " ";
    if (!one.results.empty()) text_ += "= ";
    text_ += std::visit([&](const auto& what) { return head(what); }, one.what);
    for (const auto id : one.operands) text_ += " " + operand(id);
    if (!is_bare_) {
      text_ += fmt::format(" line {}", one.line);
      if (!one.text.empty()) text_ += " text " + quoted(one.text);
    }
    for (const auto& region : one.regions) {
      text_ += " {";
      for (const auto id : region.params) text_ += " " + typed(id);
      text_ += "\n";
      body(region, depth + 1);
      text_ += indent + "}";
    }
    text_ += "\n";
  }

  const TileKernel& kernel_;
  bool is_bare_;
  std::map<std::string, std::string> positions_;  ///< of parameters, by symbol
  std::string text_;
};

}  // namespace

auto print_kernel(const TileKernel& kernel) -> std::string {
  return Printer(kernel, false).run();
}

auto bare_text(const TileKernel& kernel) -> std::string {
  return Printer(kernel, true).run();
}

/// FNV-1a of the bare text.
auto structural_hash(const TileKernel& kernel) -> std::uint64_t {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : bare_text(kernel)) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

}  // namespace assay
