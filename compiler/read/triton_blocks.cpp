// Loops and branches of Triton kernels: what they carry becomes values of their regions.
#include <algorithm>
#include <array>
#include <cctype>

#include "compiler/read/python_statements.h"
#include "compiler/read/triton_reader.h"
#include "core/graph/annotation.h"

namespace assay {

/// Names assigned on the lines behind the cursor that are indented deeper.
auto TritonReader::assigned_below(int indent) -> std::vector<std::string> {
  std::vector<std::string> names;
  each_statement_below(
      cursor_.lexer().source(), cursor_.token().offset, indent, [&](const PythonStatement& one) {
        for (const auto& name : assigned_names(one.text)) {
          const auto known = locals_.find(name);
          if (known == locals_.end() || std::ranges::find(names, name) != names.end()) continue;
          if (known->second.is_tile() || known->second.is_constant() || known->second.is_pointer())
            names.push_back(name);
        }
      });
  return names;
}

/// Names that only one `name += step` of the loop's own lines changes: in each round they are what
/// they were before the loop plus its variable, which begins at 0.
auto TritonReader::stepped_below(int indent, std::string_view step) -> std::vector<std::string> {
  std::map<std::string, int> changes;
  std::vector<std::string> stepped;
  int own = 0;
  each_statement_below(
      cursor_.lexer().source(), cursor_.token().offset, indent, [&](const PythonStatement& one) {
        if (own == 0) own = one.indent;
        for (const auto& name : assigned_names(one.text)) {
          ++changes[name];
          if (one.indent == own &&
              without_spaces(one.text) == fmt::format("{}+={}", name, without_spaces(step)))
            stepped.push_back(name);
        }
      });
  std::erase_if(stepped, [&](const std::string& name) {
    const auto known = locals_.find(name);
    return changes.at(name) != 1 || known == locals_.end() || !known->second.is_tile();
  });
  return stepped;
}

/// Block pointers that the lines behind the cursor assign; of those that one of the loop's own
/// lines advances, and nothing else changes, where that stands.
auto TritonReader::moved_below(int indent) -> std::vector<Advance> {
  std::vector<Advance> moved;
  const auto source = cursor_.lexer().source();
  int own = 0;
  each_statement_below(source, cursor_.token().offset, indent, [&](const PythonStatement& one) {
    if (own == 0) own = one.indent;
    for (const auto& name : assigned_names(one.text)) {
      const auto known = locals_.find(name);
      if (known == locals_.end() || known->second.kind != TritonValue::Kind::block) continue;
      auto at = std::ranges::find(moved, name, &Advance::name);
      if (at == moved.end()) at = moved.insert(at, {.name = name});
      ++at->changes;
      const auto advance = one.text.find("tl.advance(");
      if (one.indent == own && advance != std::string_view::npos &&
          without_spaces(one.text).starts_with(fmt::format("{0}=tl.advance({0},", name)))
        at->offset = static_cast<std::size_t>(one.text.data() - source.data()) + advance;
    }
  });
  return moved;
}

/// What regions carry of a name: its tile, of a pointer the index.
auto TritonReader::carried(const TritonValue& value) -> Result<TritonValue> {
  if (!value.is_pointer()) return builder_.tile(value);
  auto index = value;
  index.kind = TritonValue::Kind::tile;
  index.id = index_of(value);
  return index;
}

/// What a region has in the end for a name that was this before.
auto TritonReader::yielded(const std::string& name, const TritonValue& before)
    -> Result<TritonValue> {
  const auto last = locals_.find(name);
  if (last == locals_.end()) return bad_input("`{}` has no value", name);
  const auto& now = last->second;
  if (before.is_pointer() != now.is_pointer() || (now.is_pointer() && now.param != before.param))
    return bad_input("`{}` points to something else", name);
  return carried(now);
}

auto TritonReader::loop(int indent) -> Result<void> {
  const auto place = cursor_.token();
  cursor_.advance();
  ASSAY_TRY(const auto name, cursor_.expect_name("a loop variable"));
  ASSAY_TRY_VOID(cursor_.expect("in"));
  ASSAY_TRY(const int range, cursor_.expression());
  ASSAY_TRY_VOID(cursor_.expect(":"));
  if (cursor_.token().kind != TokenKind::newline)
    return bad_source(place, "a loop whose body stands on its own line");
  const auto function = cursor_.syntax(range).kind == SyntaxKind::call
                            ? cursor_.source_of(cursor_.syntax(range).first_child)
                            : std::string_view();
  ASSAY_TRY(auto ends, arguments(range));
  if ((function != "tl.range" && function != "range" && function != "tl.static_range") ||
      ends.empty() || ends.size() > 3)
    return bad_source(place, "a loop over something unknown");
  if (ends.size() == 1) ends.insert(ends.begin(), TritonValue::python(std::int64_t{0}));
  if (ends.size() == 2) ends.push_back(TritonValue::python(std::int64_t{1}));
  Block block;
  block.indent = indent;
  block.assigned = assigned_below(indent);
  if (const auto parts = cursor_.children(range); parts.size() > 3) {
    block.step = cursor_.source_of(parts[3]);
    if (ends[0].as_int() == 0) block.stepped = stepped_below(indent, block.step);
  }
  block.moved = moved_below(indent);
  block.variable = name.text;
  std::ranges::copy(ends, block.ends.begin());
  std::erase_if(block.assigned, [&](const std::string& one) {
    return std::ranges::find(block.stepped, one) != block.stepped.end();
  });
  return open_loop(std::move(block));
}

/// Carries what `block.assigned` names.
auto TritonReader::open_loop(Block block) -> Result<void> {
  const auto ends = block.ends;
  TileLoop what;
  if (const auto axis = axes_.find(ends[2].origin); axis != axes_.end()) {
    what.axis = axis->second;
    auto& known = kernel_.axes[axis->second];
    known.kind = TileAxis::Kind::reduction;
    if (!known.extent) known.extent = expr_of(ends[1]);
  }
  auto dtype = DType::int32;
  for (const auto& end : ends)
    if (end.is_tile() && !end.is_weak && size_bytes(builder_.type(end).dtype) == 8)
      dtype = DType::int64;
  block.statement.what = what;
  for (const auto& end : ends) {
    ASSAY_TRY(const auto bound, builder_.as(end, dtype));
    block.statement.operands.push_back(bound.id);
  }
  block.region = std::make_unique<TileRegion>();
  TritonValue variable;
  variable.kind = TritonValue::Kind::tile;
  variable.id = builder_.add_value({dtype, 0});
  block.region->params.push_back(variable.id);
  for (const auto& name_of : block.assigned) {
    const auto kind = locals_.at(name_of).kind;
    ASSAY_TRY(auto initial, carried(locals_.at(name_of)));
    block.statement.operands.push_back(initial.id);
    auto type = builder_.type(initial);
    for (const auto& position : initial.shape)
      for (const auto axis : position) type.axes |= AxisSet{1} << axis;
    initial.id = builder_.add_value(type);
    initial.is_weak = false;
    initial.origin.clear();
    if (kind == TritonValue::Kind::pointer) initial.kind = kind;
    block.region->params.push_back(initial.id);
    set(name_of, initial);
  }
  set(block.variable, variable);
  block.before = locals_;
  builder_.push(block.region.get());
  for (const auto& stepped : block.stepped) {
    const auto initial = locals_.at(stepped);
    ASSAY_TRY(const auto round, builder_.as(variable, builder_.type(initial).dtype));
    ASSAY_TRY(auto now, builder_.binary("+", initial, round));
    set(stepped, std::move(now));
  }
  blocks_.push_back(std::move(block));
  return advance_within(blocks_.back(), variable);
}

/// Branches of combined kernels: `if pid < n: ... elif ... else: ...`.
/// The lines behind this one that are indented deeper.
void TritonReader::skip_below(int indent) {
  do {
    cursor_.skip_logical_line();
    while (cursor_.token().kind == TokenKind::newline) cursor_.advance();
  } while (cursor_.token().kind != TokenKind::end && cursor_.lexer().indent() > indent);
}

/// `elif` and `else` behind conditions that are known when a kernel is compiled. False: what stands
/// here is a condition of its own.
auto TritonReader::settled_branch(int indent) -> Result<bool> {
  const auto settled = settled_.find(indent);
  if (cursor_.at("if") || settled == settled_.end()) {
    settled_.erase(indent);
    return false;
  }
  const bool is_else = cursor_.at("else");
  if (settled->second) {
    skip_below(indent);
    return true;
  }
  settled_.erase(settled);
  if (!is_else) return false;
  cursor_.advance();
  ASSAY_TRY_VOID(cursor_.expect(":"));
  return true;
}

auto TritonReader::branch(int indent) -> Result<void> {
  const auto place = cursor_.token();
  const bool is_else = cursor_.at("else");
  const bool follows_settled = settled_.contains(indent) && !cursor_.at("if");
  ASSAY_TRY(const bool is_settled, settled_branch(indent));
  if (is_settled) return {};
  if (!cursor_.at("if") && !follows_settled &&
      (blocks_.empty() || blocks_.back().indent != indent ||
       blocks_.back().kind != BlockKind::otherwise))
    return bad_source(place, "`{}` without its `if`", place.text);
  cursor_.advance();
  if (is_else) return cursor_.expect(":");
  ASSAY_TRY(const int node, cursor_.expression());
  ASSAY_TRY(const auto known, value(node));
  if (known.is_constant()) {
    ASSAY_TRY_VOID(cursor_.expect(":"));
    const bool runs = known.as_int().value_or(1) != 0;
    settled_[indent] = runs;
    if (!runs) skip_below(indent);
    return {};
  }
  ASSAY_TRY(const auto condition, tile_of(node));
  ASSAY_TRY_VOID(cursor_.expect(":"));
  if (cursor_.token().kind != TokenKind::newline)
    return bad_source(place, "a branch whose body stands on its own line");
  if (builder_.type(condition).axes != 0) return bad_source(place, "a branch that lanes decide");
  Block block;
  block.kind = BlockKind::then;
  block.indent = indent;
  block.statement.what = TileIf{};
  block.statement.operands = {builder_.cast(condition, DType::boolean).id};
  block.assigned = assigned_below(indent);
  block.moved = moved_below(indent);
  block.is_elif = place.is("elif") && !follows_settled;
  block.before = locals_;
  block.region = std::make_unique<TileRegion>();
  builder_.push(block.region.get());
  blocks_.push_back(std::move(block));
  return {};
}

/// Ends what is indented as deep as this line or deeper, unless the line goes on with a branch.
auto TritonReader::close(int indent) -> Result<void> {
  const bool goes_on = cursor_.at("elif") || cursor_.at("else");
  while (!blocks_.empty() && indent <= blocks_.back().indent) {
    const bool is_chain =
        goes_on && indent == blocks_.back().indent && blocks_.back().kind == BlockKind::then;
    if (blocks_.back().kind == BlockKind::loop)
      ASSAY_TRY_VOID(close_loop());
    else
      ASSAY_TRY_VOID(close_branch(is_chain));
    if (is_chain) break;
  }
  return {};
}

auto TritonReader::close_loop() -> Result<void> {
  auto block = std::move(blocks_.back());
  blocks_.pop_back();
  Result<void> done;
  for (std::size_t i = 0; i < block.assigned.size(); ++i) {
    const auto& name = block.assigned[i];
    const auto type = kernel_.type(block.region->params[i + 1]);
    auto last = yielded(name, block.before.at(name));
    if (last) last = builder_.as(*last, type.dtype);
    if (!last || (kernel_.type(last->id).axes & ~type.axes) != 0) {
      done = bad_input("`{}` is another tensor at the end of the loop", name);
      block.region->yields.push_back(block.region->params[i + 1]);
    } else {
      block.region->yields.push_back(last->id);
    }
  }
  builder_.pop();
  auto after = block.before;
  for (std::size_t i = 0; i < block.assigned.size(); ++i) {
    auto& value = after[block.assigned[i]];
    value.id = builder_.add_value(kernel_.type(block.region->params[i + 1]));
    block.statement.results.push_back(value.id);
  }
  block.statement.regions.push_back(std::move(*block.region));
  builder_.emit(std::move(block.statement));
  for (const auto& name : block.stepped) after.erase(name);
  locals_ = std::move(after);
  for (const auto& name : block.assigned) set(name, locals_.at(name));
  ASSAY_TRY_VOID(advance_behind(block));
  return done;
}

/// Names that the branch which ends gives a value first.
auto TritonReader::first_assigned() -> Locals {
  Locals names;
  for (const auto& [name, value] : locals_) {
    if (blocks_.back().before.contains(name) || (!value.is_tile() && !value.is_constant()))
      continue;
    if (!is_mentioned_later(name)) continue;
    if (auto tile = builder_.tile(value)) names.emplace(name, *std::move(tile));
  }
  return names;
}

auto TritonReader::is_mentioned_later(std::string_view name) -> bool {
  return mentions(cursor_.lexer().source().substr(cursor_.token().offset), name);
}

auto TritonReader::mentions(std::string_view source, std::string_view name) -> bool {
  const auto is_word = [&](std::size_t at) {
    return at < source.size() &&
           (std::isalnum(static_cast<unsigned char>(source[at])) != 0 || source[at] == '_');
  };
  for (auto at = source.find(name); at != std::string_view::npos; at = source.find(name, at + 1))
    if ((at == 0 || !is_word(at - 1)) && !is_word(at + name.size())) return true;
  return false;
}

/// The first branch ends; `goes_on`: another follows, else the statement is complete. Names that
/// either assigns get the value of whichever ran; those that had none before, where both do.
auto TritonReader::close_branch(bool goes_on) -> Result<void> {
  auto& block = blocks_.back();
  auto names = block.assigned;
  const auto assigned = names.size();
  const auto yield = [&](TileRegion& region) -> Result<void> {
    for (const auto& name : names) {
      ASSAY_TRY(const auto tile, yielded(name, block.before.at(name)));
      region.yields.push_back(tile.id);
    }
    return {};
  };
  auto done = yield(*block.region);
  auto fresh = first_assigned();
  if (block.kind == BlockKind::otherwise)
    for (const auto& [name, first] : block.fresh) {
      const auto second = fresh.find(name);
      if (second == fresh.end() || second->second.shape != first.shape ||
          builder_.type(second->second).dtype != builder_.type(first).dtype)
        continue;
      names.push_back(name);
      block.statement.regions[0].yields.push_back(first.id);
      block.region->yields.push_back(second->second.id);
      block.before[name] = first;
    }
  builder_.pop();
  block.statement.regions.push_back(std::move(*block.region));
  if (block.kind == BlockKind::then) {
    block.fresh = std::move(fresh);
    block.kind = BlockKind::otherwise;
    locals_ = block.before;
    block.region = std::make_unique<TileRegion>();
    builder_.push(block.region.get());
    if (goes_on) return done;
    if (done) done = yield(*block.region);
    builder_.pop();
    block.statement.regions.push_back(std::move(*block.region));
  }
  auto statement = std::move(block.statement);
  locals_ = std::move(block.before);
  for (const auto& one : block.moved) locals_.erase(one.name);
  const bool is_elif = block.is_elif;
  blocks_.pop_back();
  if (!done) return done;
  for (const auto& region : statement.regions)  // one whose names had no value was complained about
    if (region.yields.size() != names.size()) return bad_input("a branch is not understood");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto a = kernel_.type(statement.regions[0].yields[i]);
    const auto b = kernel_.type(statement.regions[1].yields[i]);
    if (a.dtype != b.dtype) return bad_input("`{}` is of another dtype in one branch", names[i]);
    auto value = locals_.at(names[i]);
    if (!value.is_pointer()) value.kind = TritonValue::Kind::tile;
    value.id = builder_.add_value({a.dtype, a.axes | b.axes});
    if (i >= assigned) {
      value.is_weak = false;
      value.origin.clear();
    }
    statement.results.push_back(value.id);
    set(names[i], value);
  }
  builder_.emit(std::move(statement));
  if (is_elif && !blocks_.empty() && blocks_.back().kind == BlockKind::otherwise)
    return close_branch(false);
  return {};
}

}  // namespace assay
