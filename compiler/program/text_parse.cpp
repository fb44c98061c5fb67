#include <charconv>
#include <limits>
#include <map>

#include "compiler/program/text.h"
#include "compiler/program/text_words.h"
#include "core/expr/text.h"

namespace assay {
namespace {

constexpr int kMaxDepth = 100;
constexpr std::size_t kMaxValues = 1U << 20;

class Parser {
 public:
  Parser(std::string_view text, ExprPool& pool) : text_(text), pool_(pool) { advance(); }

  auto run() -> Result<TileKernel> {
    ASSAY_TRY_VOID(expect("kernel"));
    kernel_.name = take();
    ASSAY_TRY(kernel_.heuristic, string());
    while (!at("body")) {
      if (accept("asserts")) {
        ASSAY_TRY_VOID(expect("off"));
        kernel_.asserts_are_on = false;
      } else if (accept("param")) {
        ASSAY_TRY_VOID(param());
      } else if (accept("axis")) {
        ASSAY_TRY_VOID(axis());
      } else if (at("grid")) {
        ASSAY_TRY(kernel_.grid.emplace_back(), expr(rest_of_line()));
      } else if (accept("launcher")) {
        kernel_.launcher_args.emplace_back(take());
      } else {
        return unexpected("a part of a kernel");
      }
    }
    advance();
    ASSAY_TRY_VOID(expect("{"));
    ASSAY_TRY_VOID(region(kernel_.body, 0));
    if (!word_.empty()) return unexpected("the end");
    if (const auto broken = verify(kernel_); !broken.empty())
      return bad_input("line {}: {}", line_, broken[0]);
    return std::move(kernel_);
  }

 private:
  /// Words are strings with their quotes, single punctuation, or runs of anything else.
  void advance() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) {
      if (text_[at_] == '\n') ++line_;
      ++at_;
    }
    start_ = at_;
    if (at_ == text_.size()) {
      word_ = {};
      return;
    }
    constexpr std::string_view kSingle = "{}()[]:=";
    if (text_[at_] == '"') {
      ++at_;
      while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n')
        at_ += text_[at_] == '\\' && at_ + 1 < text_.size() ? 2U : 1U;
      at_ = std::min(at_ + 1, text_.size());
    } else if (kSingle.contains(text_[at_])) {
      ++at_;
    } else {
      while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != '\n' && text_[at_] != '"' &&
             !kSingle.contains(text_[at_]))
        ++at_;
    }
    word_ = text_.substr(start_, at_ - start_);
  }
  [[nodiscard]] auto at(std::string_view word) const -> bool { return word_ == word; }
  auto accept(std::string_view word) -> bool {
    if (!at(word)) return false;
    advance();
    return true;
  }
  auto take() -> std::string_view {
    const auto word = word_;
    advance();
    return word;
  }
  auto unexpected(std::string_view wanted) const -> std::unexpected<Error> {
    return bad_input("line {}: expected {}, found `{}`", line_, wanted, word_);
  }
  auto expect(std::string_view word) -> Result<void> {
    if (!accept(word)) return unexpected(fmt::format("`{}`", word));
    return {};
  }
  auto string() -> Result<std::string> {
    if (word_.size() < 2 || word_.front() != '"' || word_.back() != '"')
      return unexpected("a string");
    std::string result;
    for (std::size_t i = 1; i + 1 < word_.size(); ++i) {
      if (word_[i] == '\\' && i + 2 < word_.size()) ++i;
      result += word_[i] == 'n' && word_[i - 1] == '\\' ? '\n' : word_[i];
    }
    advance();
    return result;
  }
  template <class T>
  auto number() -> Result<T> {
    T value{};
    const auto [end, error] = std::from_chars(word_.data(), word_.data() + word_.size(), value);
    if (error != std::errc() || end != word_.data() + word_.size()) return unexpected("a number");
    advance();
    return value;
  }
  /// Behind the current word.
  auto rest_of_line() -> std::string_view {
    const auto end = std::min(text_.find('\n', at_), text_.size());
    const auto rest = text_.substr(at_, end - at_);
    at_ = end;
    advance();
    return rest;
  }
  /// Between the brackets that open here.
  auto bracketed() -> Result<std::string_view> {
    if (!at("(")) return unexpected("`(`");
    int depth = 1;
    const auto begin = at_;
    for (; at_ < text_.size() && depth > 0; ++at_) {
      if (text_[at_] == '\n') break;
      if (text_[at_] == '(') ++depth;
      if (text_[at_] == ')') --depth;
    }
    if (depth != 0) return unexpected("a closing bracket");
    const auto inner = text_.substr(begin, at_ - begin - 1);
    advance();
    return inner;
  }
  auto expr(std::string_view text) -> Result<Expr> {
    auto parsed = parse_expr(pool_, text);
    if (!parsed) return bad_input("line {}: {}", line_, parsed.error().message);
    if (!parsed->is_valid()) return bad_input("line {}: an undefined expression", line_);
    return *parsed;
  }
  template <class Enum, std::size_t kCount>
  auto one_of(const std::array<std::string_view, kCount>& words) -> Result<Enum> {
    const auto found = find_word<Enum>(words, word_);
    if (!found) return unexpected("another word");
    advance();
    return *found;
  }
  auto dtype() -> Result<DType> {
    const auto found = dtype_from_name(word_);
    if (!found) return unexpected("a dtype");
    advance();
    return *found;
  }

  auto param() -> Result<void> {
    TileParam one;
    one.name = take();
    ASSAY_TRY(one.kind, one_of<TileParam::Kind>(kParamWords));
    ASSAY_TRY(one.dtype, dtype());
    if (accept("fixed")) {
      ASSAY_TRY(one.fixed, number<std::int64_t>());
    }
    if (accept("not_passed")) one.is_passed = false;
    if (one.kind != TileParam::Kind::buffer) one.symbol = pool_.symbol(one.name);
    params_[one.name] = kernel_.params.size();
    kernel_.params.push_back(std::move(one));
    return {};
  }
  auto axis() -> Result<void> {
    TileAxis one;
    one.name = take();
    ASSAY_TRY(one.kind, one_of<TileAxis::Kind>(kAxisWords));
    one.exact = accept("exact");
    ASSAY_TRY_VOID(expect("max"));
    ASSAY_TRY(one.max_block, number<std::int64_t>());
    ASSAY_TRY_VOID(expect("block"));
    ASSAY_TRY(const auto block, bracketed());
    ASSAY_TRY(one.block, expr(block));
    if (accept("extent")) {
      ASSAY_TRY(const auto extent, bracketed());
      ASSAY_TRY(one.extent, expr(extent));
    }
    if (kernel_.axes.size() == 32) return unexpected("at most 32 axes");
    axes_[one.name] = kernel_.axes.size();
    kernel_.axes.push_back(std::move(one));
    return {};
  }

  auto named(const std::map<std::string, std::size_t, std::less<>>& names, std::string_view what)
      -> Result<std::size_t> {
    const auto found = names.find(word_);
    if (found == names.end()) return unexpected(what);
    advance();
    return found->second;
  }
  auto axis_name() -> Result<std::size_t> { return named(axes_, "an axis"); }
  auto param_name() -> Result<std::size_t> { return named(params_, "a parameter"); }

  auto operand() -> Result<TileId> {
    if (accept("_")) return kNoTile;
    if (!word_.starts_with('%')) return unexpected("a value");
    word_.remove_prefix(1);
    ASSAY_TRY(const auto id, number<TileId>());
    if (id < 0 || static_cast<std::size_t>(id) >= kMaxValues) return unexpected("a smaller number");
    if (static_cast<std::size_t>(id) >= kernel_.values.size())
      kernel_.values.resize(static_cast<std::size_t>(id) + 1);
    return id;
  }
  /// `%3:int32[x r0_] "name"`
  auto typed(std::vector<TileId>& to) -> Result<void> {
    ASSAY_TRY(const auto id, operand());
    if (id == kNoTile) return unexpected("a value");
    TileValue value;
    ASSAY_TRY_VOID(expect(":"));
    ASSAY_TRY(value.type.dtype, dtype());
    ASSAY_TRY_VOID(expect("["));
    while (!accept("]")) {
      ASSAY_TRY(const auto axis, axis_name());
      value.type.axes |= AxisSet{1} << axis;
    }
    if (word_.starts_with('"')) {
      ASSAY_TRY(value.name, string());
    }
    kernel_.values[static_cast<std::size_t>(id)] = std::move(value);
    to.push_back(id);
    return {};
  }

  auto region(TileRegion& region, int depth) -> Result<void> {
    if (depth > kMaxDepth) return unexpected("fewer regions in each other");
    while (!accept("}")) {
      if (accept("yield")) {
        while (word_.starts_with('%')) {
          ASSAY_TRY(region.yields.emplace_back(), operand());
        }
        continue;
      }
      ASSAY_TRY(auto one, statement(depth));
      region.body.push_back(std::move(one));
    }
    return {};
  }

  auto statement(int depth) -> Result<TileStatement> {
    TileStatement one;
    if (word_.starts_with('%')) {
      while (!accept("=")) ASSAY_TRY_VOID(typed(one.results));
    }
    ASSAY_TRY_VOID(head(one));
    while (word_.starts_with('%') || at("_")) {
      ASSAY_TRY(one.operands.emplace_back(), operand());
    }
    if (accept("line")) {
      ASSAY_TRY(one.line, number<int>());
    }
    if (accept("text")) {
      ASSAY_TRY(one.text, string());
    }
    while (accept("{")) {
      auto& inner = one.regions.emplace_back();
      while (is_typed()) ASSAY_TRY_VOID(typed(inner.params));
      ASSAY_TRY_VOID(region(inner, depth + 1));
    }
    return one;
  }
  /// Parameters of a region stand on the line of its bracket, statements below.
  [[nodiscard]] auto is_typed() const -> bool {
    if (!word_.starts_with('%')) return false;
    const auto line_end = text_.find('\n', start_);
    const auto line = text_.substr(start_, line_end - start_);
    const auto line_begin = text_.rfind('\n', start_) + 1;
    return text_.substr(line_begin, start_ - line_begin).contains('{') && !line.contains(" = ");
  }

  auto head(TileStatement& one) -> Result<void> {
    const auto word = take();
    if (const auto op = find_tile_op(word)) {
      one.what = TileCompute{*op};
      return {};
    }
    struct Row {
      std::string_view word;
      Result<void> (Parser::*read)(TileStatement&);
    };
    constexpr std::array kRows = {
        Row{"const", &Parser::constant},    Row{"real", &Parser::real},
        Row{"param", &Parser::param_value}, Row{"lane", &Parser::lane},
        Row{"index", &Parser::index},       Row{"program", &Parser::program},
        Row{"programs", &Parser::programs}, Row{"load", &Parser::load},
        Row{"store", &Parser::store},       Row{"atomic", &Parser::atomic},
        Row{"reduce", &Parser::reduce},     Row{"scan", &Parser::scan},
        Row{"sort", &Parser::sort},         Row{"search", &Parser::search},
        Row{"random", &Parser::random},     Row{"dot", &Parser::dot},
        Row{"arrive", &Parser::arrive},     Row{"assert", &Parser::device_assert},
        Row{"nest", &Parser::nest},         Row{"ordered_nest", &Parser::ordered_nest}};
    if (word == "barrier")
      one.what = TileBarrier{};
    else if (word == "if")
      one.what = TileIf{};
    else if (word == "loop")
      return loop(one);
    else {
      for (const auto& row : kRows) {
        if (row.word != word) continue;
        ASSAY_TRY_VOID(expect("("));
        ASSAY_TRY_VOID((this->*row.read)(one));
        return expect(")");
      }
      return bad_input("line {}: unknown operation `{}`", line_, word);
    }
    return {};
  }

  auto constant(TileStatement& one) -> Result<void> {
    ASSAY_TRY(const auto value, number<std::int64_t>());
    one.what = TileConstant{value};
    return {};
  }
  auto real(TileStatement& one) -> Result<void> {
    ASSAY_TRY(const auto value, number<double>());
    one.what = TileConstant{value};
    return {};
  }
  auto param_value(TileStatement& one) -> Result<void> {
    ASSAY_TRY(const auto at, param_name());
    one.what = TileParamValue{at};
    return {};
  }
  auto lane(TileStatement& one) -> Result<void> {
    ASSAY_TRY(const auto at, axis_name());
    one.what = TileLane{at};
    return {};
  }
  auto index(TileStatement& one) -> Result<void> {
    ASSAY_TRY(const auto at, axis_name());
    one.what = TileIndex{at};
    return {};
  }
  auto program(TileStatement& one) -> Result<void> {
    ASSAY_TRY(const auto dimension, number<int>());
    one.what = TileProgram{dimension, false};
    return {};
  }
  auto programs(TileStatement& one) -> Result<void> {
    ASSAY_TRY(const auto dimension, number<int>());
    one.what = TileProgram{dimension, true};
    return {};
  }
  auto load(TileStatement& one) -> Result<void> {
    ASSAY_TRY(const auto at, param_name());
    one.what = TileLoad{at};
    return {};
  }
  auto store(TileStatement& one) -> Result<void> {
    ASSAY_TRY(const auto at, param_name());
    one.what = TileStore{at};
    return {};
  }
  auto atomic(TileStatement& one) -> Result<void> {
    TileAtomic what;
    ASSAY_TRY(what.param, param_name());
    what.is_exchange = at("exchange");
    const auto op = find_tile_op(word_);
    if (!op && !what.is_exchange) return unexpected("an operation");
    what.op = op.value_or(TileOp::add);
    advance();
    one.what = what;
    return {};
  }
  auto arrive(TileStatement& one) -> Result<void> {
    ASSAY_TRY(const auto at, param_name());
    one.what = TileArrive{at};
    return {};
  }
  auto reduce(TileStatement& one) -> Result<void> {
    TileReduce what;
    ASSAY_TRY(what.combine, one_of<TileCombine>(kCombineWords));
    ASSAY_TRY(what.axis, axis_name());
    one.what = what;
    return {};
  }
  auto scan(TileStatement& one) -> Result<void> {
    TileScan what;
    ASSAY_TRY(what.combine, one_of<TileCombine>(kCombineWords));
    ASSAY_TRY(what.axis, axis_name());
    what.is_reverse = accept("reverse");
    one.what = what;
    return {};
  }
  auto sort(TileStatement& one) -> Result<void> {
    TileSort what;
    ASSAY_TRY(what.axis, axis_name());
    what.is_descending = accept("descending");
    what.is_stable = accept("stable");
    what.by_all = accept("by_all");
    what.is_bitonic = accept("bitonic");
    one.what = what;
    return {};
  }
  auto search(TileStatement& one) -> Result<void> {
    TileSearch what;
    ASSAY_TRY(what.param, param_name());
    what.is_right = at("right");
    if (!accept("right")) ASSAY_TRY_VOID(expect("left"));
    if (!at(")")) {
      ASSAY_TRY(what.sorter, param_name());
    }
    one.what = what;
    return {};
  }
  auto random(TileStatement& one) -> Result<void> {
    ASSAY_TRY(const auto kind, one_of<TileRandomKind>(kRandomWords));
    one.what = TileRandom{kind, accept("cpu")};
    return {};
  }
  auto dot(TileStatement& one) -> Result<void> {
    ASSAY_TRY(const auto at, axis_name());
    one.what = TileDot{at, accept("rounded")};
    return {};
  }
  auto device_assert(TileStatement& one) -> Result<void> {
    ASSAY_TRY(auto message, string());
    one.what = TileAssert{std::move(message)};
    return {};
  }
  auto nest(TileStatement& one) -> Result<void> {
    TileNest what;
    while (!at(")")) {
      ASSAY_TRY(what.axes.emplace_back(), axis_name());
    }
    one.what = std::move(what);
    return {};
  }
  auto ordered_nest(TileStatement& one) -> Result<void> {
    ASSAY_TRY_VOID(nest(one));
    std::get<TileNest>(one.what).is_ordered = true;
    return {};
  }
  auto loop(TileStatement& one) -> Result<void> {
    TileLoop what;
    if (accept("(")) {
      ASSAY_TRY(what.axis, axis_name());
      ASSAY_TRY_VOID(expect(")"));
    }
    one.what = what;
    return {};
  }

  std::string_view text_;
  ExprPool& pool_;
  std::size_t at_ = 0, start_ = 0;
  int line_ = 1;
  std::string_view word_;
  TileKernel kernel_;
  std::map<std::string, std::size_t, std::less<>> params_, axes_;
};

}  // namespace

auto parse_kernel(std::string_view text, ExprPool& pool) -> Result<TileKernel> {
  return Parser(text, pool).run();
}

}  // namespace assay
