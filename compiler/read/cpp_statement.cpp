// Statements: declarations, assignments, loops and branches in a nest.
#include <algorithm>
#include <array>

#include "compiler/read/cpp_reader.h"

namespace assay {

void CppReader::keep(int node, const std::string& reason) {
  const auto& one = syntax_.node(node);
  if (reason.empty()) return;  // follows from one that is listed
  auto text = syntax_.source_of(node);
  constexpr std::size_t kLongest = 160;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  kernel_.not_understood.push_back({one.line, std::move(text), reason});
}

void CppReader::statement(int node) {
  const auto& one = syntax_.node(node);
  builder_.set_line(one.line);
  if (one.kind == CppKind::block) return block(node);
  const auto mask = mask_;
  const auto done = simple(node);
  if (done) return;
  mask_ = mask;
  if (one.kind == CppKind::declare) failed_.insert(one.text);
  keep(node, done.error().message);
}

auto CppReader::simple(int node) -> Result<void> {
  struct Row {
    CppKind kind;
    Result<void> (CppReader::*read)(int);
  };
  constexpr std::array kRows = {
      Row{CppKind::loop, &CppReader::loop},       Row{CppKind::branch, &CppReader::branch},
      Row{CppKind::declare, &CppReader::declare}, Row{CppKind::pragma, &CppReader::pragma},
      Row{CppKind::give, &CppReader::give},       Row{CppKind::evaluate, &CppReader::evaluate},
  };
  const auto& one = syntax_.node(node);
  for (const auto& row : kRows)
    if (row.kind == one.kind) return (this->*row.read)(node);
  return bad_input("{}", one.text.empty() ? "a statement of another kind" : one.text);
}

auto CppReader::pragma(int node) -> Result<void> {
  const auto& text = syntax_.node(node).text;
  if (text.contains("omp") && text.contains("for")) is_threaded_ = true;
  return {};
}
auto CppReader::give(int node) -> Result<void> {
  const auto& one = syntax_.node(node);
  CppValue result;
  if (!one.children.empty()) {
    ASSAY_TRY(result, value(one.children[0]));
  }
  returned_ = std::move(result);
  return {};
}
auto CppReader::evaluate(int node) -> Result<void> {
  if (is_about_division(node)) return {};
  const int inner = syntax_.node(node).children[0];
  if (syntax_.node(inner).kind == CppKind::assign) return assign(inner);
  ASSAY_TRY_VOID(value(inner));
  return {};
}

/// Names that a block declares end with it.
void CppReader::block(int node) {
  const auto outer = declared_.size();
  const auto hidden = locals_;
  const auto children = syntax_.node(node).children;
  for (std::size_t i = 0; i < children.size() && !returned_; ++i) {
    std::vector<Branch> branches;
    for (auto at = i; at < children.size(); ++at) {
      const auto& one = syntax_.node(children[at]);
      if (one.kind != CppKind::branch || one.children.size() != 2) break;
      auto ranges = ranges_of(one.children[0]);
      if (!ranges) break;
      branches.push_back({*std::move(ranges), one.children[1]});
    }
    if (branches.empty()) {
      statement(children[i]);
      continue;
    }
    ranged(branches);
    i += branches.size() - 1;
  }
  for (auto i = outer; i < declared_.size(); ++i) {
    const auto before = hidden.find(declared_[i]);
    if (before == hidden.end())
      locals_.erase(declared_[i]);
    else
      locals_[declared_[i]] = before->second;
  }
  declared_.resize(outer);
}

/// What a loop that goes up by one enumerates: `x0_inner` in 0 .. 16 the elements of a round,
/// `x0_tail` in 16*(n/16) .. n the elements of the only round. Nothing for loops of their own.
auto CppReader::lanes_of(std::string_view name, const Expr& begin, const Expr& end)
    -> std::optional<std::pair<std::size_t, Expr>> {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    const auto& loop = loops_[i];
    if (loop.width == 1 || loop.is_inside) continue;
    const bool is_named = name.starts_with(loop.name + "_");
    if (is_named || (!name.ends_with("_inner") && !name.ends_with("_tail"))) found = i;
    if (is_named) break;
  }
  if (!found) return std::nullopt;
  auto& loop = loops_[*found];
  const bool is_only = loop.is_whole && loop.count == loop.high - loop.low;
  // Of a round that starts at 0 either is right, but local arrays are indexed by lanes.
  const bool is_element = name.starts_with(loop.name + "_") && !name.ends_with("_inner");
  if (is_only && is_element && begin == loop.low && end == loop.high)
    return std::pair(*found, loop.begin + loop.index);
  const bool is_count = loop.is_whole && end == loop.count;
  if (!begin.is_int(0) || (!is_count && end != Expr(loop.width))) return std::nullopt;
  loop.goes_beyond = !is_count;
  return std::pair(*found, loop.lane);
}

auto CppReader::lane_loop(int node, std::string_view name) -> Result<bool> {
  const auto& one = syntax_.node(node);
  const auto& start = syntax_.node(one.children[0]);
  const auto& condition = syntax_.node(one.children[1]);
  const bool is_step = syntax_.node(one.children[2]).kind == CppKind::step;
  if (start.form != '=' || condition.kind != CppKind::binary || condition.text != "<" || !is_step)
    return false;
  const auto begin = integer(start.children[0]);
  const auto end = integer(condition.children[1]);
  if (!begin || !end) return false;
  const auto before = loops_;
  const auto found = lanes_of(name, *begin, *end);
  if (!found) return false;
  loops_[found->first].is_inside = true;
  const auto declared = declared_.size();
  declared_.emplace_back(name);
  locals_[std::string(name)] = {CppValue::of_index(found->second), loops_.size(), 0};
  statement(one.children[3]);
  locals_.erase(std::string(name));
  declared_.resize(declared);
  loops_ = before;
  return true;
}

/// `for (int tid = 0; tid < 8; tid++)`: what a thread holds stands for what all of them do.
void CppReader::thread_loop(int node, const std::string& name) {
  locals_[name] = {CppValue::of_index(builder_.pool().symbol("cpp.thread")), loops_.size(), 0};
  statement(syntax_.node(node).children[3]);
  locals_.erase(name);
}

auto CppReader::loop(int node) -> Result<void> {
  const auto name = syntax_.node(syntax_.node(node).children[0]).text;
  if (name == "tid") {
    thread_loop(node, name);
    return {};
  }
  ASSAY_TRY(const bool is_lanes, lane_loop(node, name));
  if (is_lanes) return {};
  const auto declared = declared_.size();
  ASSAY_TRY_VOID(open_loop(node, TileAxis::Kind::reduction));
  statement(syntax_.node(node).children[3]);
  loops_.pop_back();
  locals_.erase(name);
  declared_.resize(declared);
  return {};
}

auto CppReader::branch(int node) -> Result<void> {
  const auto& one = syntax_.node(node);
  const auto& condition = syntax_.node(one.children[0]);
  const bool is_none = condition.kind == CppKind::call &&
                       syntax_.node(condition.children[0]).kind == CppKind::member &&
                       syntax_.node(condition.children[0]).text == "all_zero";
  if (is_none) return no_lane(node);
  if (one.children.size() != 2) return bad_input("an `else`");
  ASSAY_TRY(const auto truth_value, truth(one.children[0]));
  const auto outer = mask_;
  ASSAY_TRY(mask_, both(mask_, truth_value));
  statement(one.children[1]);
  mask_ = outer;
  if (!returned_) return {};
  // The rest is for the lanes that go on.
  early_.emplace_back(truth_value, *std::exchange(returned_, std::nullopt));
  ASSAY_TRY(const auto goes_on, builder_.compute(TileOp::bit_not, {truth_value}));
  ASSAY_TRY(mask_, both(mask_, goes_on));
  return {};
}

/// `if (mask.all_zero()) return a; else return blendv(a, b, mask);` is its second branch.
auto CppReader::no_lane(int node) -> Result<void> {
  const auto& one = syntax_.node(node);
  const auto& object = syntax_.node(syntax_.node(one.children[0]).children[0]);
  if (one.children.size() != 3) return bad_input("`all_zero` without an `else`");
  ASSAY_TRY(const auto mask, truth(object.children[0]));
  statement(one.children[1]);
  const auto none = std::exchange(returned_, std::nullopt);
  const auto outer = mask_;
  const bool before = std::exchange(needs_mask_, true);
  ASSAY_TRY(mask_, both(mask_, mask));
  statement(one.children[2]);
  mask_ = outer;
  needs_mask_ = before;
  if (!none || !returned_) return bad_input("");
  const auto& last = builder_.body().back();
  const auto* compute = std::get_if<TileCompute>(&last.what);
  const bool is_choice = compute != nullptr && compute->op == TileOp::select &&
                         last.results[0] == returned_->id && last.operands[0] == mask;
  ASSAY_TRY(const auto otherwise, builder_.as(*none, returned_->dtype));
  if (!is_choice || last.operands[2] != otherwise)
    return bad_input("a vector without lanes that is another than the lanes' value");
  return {};
}

auto CppReader::declare(int node) -> Result<void> {
  const auto& one = syntax_.node(node);
  ASSAY_TRY(auto first, initial(node));
  failed_.erase(one.text);
  declared_.push_back(one.text);
  locals_[one.text] = {std::move(first), loops_.size(), 0};
  return {};
}

/// What a variable holds first.
auto CppReader::initial(int node) -> Result<CppValue> {
  const auto& one = syntax_.node(node);
  const auto& type = syntax_.node(one.types[0]);
  const bool is_array = one.form == '[' || type.text == "array" || type.text == "unique_ptr";
  if (is_array) {
    const bool is_inner = one.form != '[' || is_record(type.text);
    ASSAY_TRY(const auto of, is_inner ? type_argument(type) : type_of(one.types[0]));
    CppValue result;
    result.kind = CppValue::Kind::array;
    result.dtype = of.dtype;
    result.where = arrays_.size();
    arrays_.push_back({of.dtype, {}});
    return result;
  }
  if (type.text == "auto" || one.is_pointer) {
    if (one.form != '=') return bad_input("a variable without a value");
    return value(one.children[0]);
  }
  if (type.text == "atomic") return CppValue();
  if (type.text == "CascadeSumHelper" || type.text == "WelfordHelper" ||
      type.text == "WeightRecp") {
    ASSAY_TRY(const auto of, type_argument(type));
    if (type.text == "CascadeSumHelper") return builder_.number_of(0, of.dtype, of.is_vector);
    return CppValue();
  }
  if (is_record(type.text)) {
    if (one.form == '=') return value(one.children[0]);
    return record(one.types[0]);
  }
  ASSAY_TRY(const auto of, type_of(one.types[0]));
  if (one.form == ' ') return builder_.number_of(0, of.dtype, of.is_vector);
  if (one.children.size() != 1) return bad_input("a variable of several values");
  ASSAY_TRY(const auto right, value(one.children[0]));
  ASSAY_TRY(auto result, builder_.converted(right, of.dtype));
  result.is_vector = of.is_vector;
  return result;
}

/// A plain assignment, or one that adds what a loop's rounds give.
auto CppReader::assign(int node) -> Result<void> {
  const auto& one = syntax_.node(node);
  const auto& left = syntax_.node(one.children[0]);
  if (left.kind != CppKind::name) return assign_element(node, one.text);
  const auto found = locals_.find(left.text);
  if (found == locals_.end())
    return bad_input("{}", failed_.contains(left.text) ? "" : "a variable that is not declared");
  ASSAY_TRY(const bool is_helped, helper_update(left.text, one.children[1]));
  if (is_helped) return {};
  auto& local = found->second;
  std::optional<Update> update;
  if (one.text == "=") {
    ASSAY_TRY(update, update_of(one.children[1], left.text, local.value.dtype));
  } else {
    ASSAY_TRY(auto right, value(one.children[1]));
    const auto combine = combine_of(one.text.substr(0, 1));
    if (!combine) return bad_input("`{}` of a variable", one.text);
    update = Update{*combine, {std::move(right)}};
  }
  if (update) {
    ASSAY_TRY(auto result, combined(local.value, local.depth, *update));
    local.value = std::move(result);
    local.updated_in = loops_.size() > local.depth ? loops_.back().serial : 0;
    return {};
  }
  if (loops_.size() > local.depth) return bad_input("a variable that a loop carries along");
  ASSAY_TRY(auto right, value(one.children[1]));
  return put(one.children[0], std::move(right), node);
}

auto CppReader::put(int place, CppValue value, int node) -> Result<void> {
  const auto& left = syntax_.node(place);
  if (left.kind == CppKind::index && left.children.size() == 2) {
    ASSAY_TRY(const auto base, this->value(left.children[0]));
    ASSAY_TRY(const auto offset, integer(left.children[1]));
    return store(base, offset, value, node);
  }
  const auto found = left.kind == CppKind::name ? locals_.find(left.text) : locals_.end();
  if (found == locals_.end()) return bad_input("an assignment to no variable");
  auto& local = found->second;
  if (loops_.size() > local.depth) return bad_input("a variable that a loop carries along");
  if (value.is_number()) {
    ASSAY_TRY(value, builder_.converted(value, local.value.dtype));
    if (mask_ != kNoTile) {
      ASSAY_TRY(value, builder_.select(mask_, value, local.value));
    }
  }
  local.value = std::move(value);
  return {};
}

/// `out_ptr0[...] = value`, `+=`, and elements of local arrays.
auto CppReader::assign_element(int node, std::string_view op) -> Result<void> {
  const auto& one = syntax_.node(node);
  const auto& left = syntax_.node(one.children[0]);
  if (left.kind != CppKind::index || left.children.size() != 2)
    return bad_input("an assignment to no variable");
  ASSAY_TRY(const auto base, value(left.children[0]));
  ASSAY_TRY(const auto offset, integer(left.children[1]));
  const bool is_local =
      base.kind == CppValue::Kind::array || (base.kind == CppValue::Kind::pointer && base.is_local);
  const auto index = base.kind == CppValue::Kind::pointer ? base.expr + offset : offset;
  if (is_local) {
    auto& stored = arrays_[base.where].stored;
    const auto known = std::ranges::find_if(stored, [&](const CppStored& entry) {
      return !entry.rows && is_same_element(entry.index, index);
    });
    if (known != stored.end() && op == "=") {
      ASSAY_TRY(const auto update,
                update_of(one.children[1], syntax_.source_of(one.children[0]), known->value.dtype));
      if (update) {
        const auto at = static_cast<std::size_t>(known - stored.begin());
        ASSAY_TRY(auto result, combined(known->value, known->depth, *update));
        auto& entry = arrays_[base.where].stored[at];
        entry.value = std::move(result);
        entry.updated_in = loops_.size() > entry.depth ? loops_.back().serial : 0;
        return {};
      }
    }
  }
  ASSAY_TRY(auto right, value(one.children[1]));
  if (op == "=") return store(base, offset, right, node);
  if (op == "+=" && !is_local) return add_to(base, offset, right, node);
  return bad_input("`{}` of an element", op);
}

}  // namespace assay
