// The function: its parameters, and nests of loops one after the other.
#include <algorithm>
#include <array>

#include "compiler/read/cpp.h"
#include "compiler/read/cpp_reader.h"

namespace assay {
namespace {

constexpr std::size_t kMaxAxes = 32;
constexpr std::int64_t kMaxBlock = 4096;

}  // namespace

auto CppReader::read() -> Result<TileKernel> {
  const auto& functions = syntax_.functions();
  const auto named = std::ranges::find(functions, "kernel", &CppFunction::name);
  if (named == functions.end() && functions.size() != 1)
    return bad_input("no function `kernel` is in the source");
  const auto& function = named == functions.end() ? functions[0] : *named;
  kernel_.name = function.name;
  kernel_.heuristic = "cpp";
  ASSAY_TRY_VOID(params(function));
  top(function.body);
  return std::move(kernel_);
}

auto CppReader::params(const CppFunction& function) -> Result<void> {
  for (const auto& one : function.params) {
    const auto dtype = cpp_dtype(one.type);
    if (!dtype) return bad_input("line {}: a parameter of type `{}`", one.line, one.type);
    if (locals_.contains(one.name))
      return bad_input("line {}: two parameters `{}`", one.line, one.name);
    TileParam param;
    param.name = one.name;
    param.dtype = *dtype;
    CppValue value;
    if (one.is_pointer) {
      value.kind = CppValue::Kind::pointer;
      value.dtype = *dtype;
      value.where = kernel_.params.size();
    } else {
      if (is_floating(*dtype) || *dtype == DType::boolean)
        return bad_input("line {}: a number of type `{}`", one.line, one.type);
      param.kind = TileParam::Kind::scalar;
      param.symbol = builder_.pool().symbol(one.name);
      value = CppValue::of_index(param.symbol, *dtype);
    }
    kernel_.params.push_back(std::move(param));
    locals_[one.name] = {value, 0, 0};
  }
  return {};
}

/// Blocks that only hold loops, and names for what is there already, are several nests.
auto CppReader::is_container(int node) const -> bool {
  constexpr std::array<std::string_view, 4> kBuffers = {"unique_ptr", "array", "int", "atomic"};
  const auto is_plain = [&](int child) {
    const auto& one = syntax_.node(child);
    if (one.kind == CppKind::block) return true;
    if (one.kind == CppKind::loop || one.kind == CppKind::pragma) return true;
    if (one.kind == CppKind::evaluate) return is_about_division(child);
    if (one.kind != CppKind::declare) return false;
    if (one.is_pointer || one.form == '[') return true;
    const auto& type = syntax_.node(one.types[0]).text;
    if (std::ranges::find(kBuffers, type) != kBuffers.end()) return true;
    // `auto out_ptr2 = in_out_ptr0;`
    if (type != "auto" || one.form != '=') return false;
    const auto& right = syntax_.node(one.children[0]);
    const auto known = right.kind == CppKind::name ? locals_.find(right.text) : locals_.end();
    return known != locals_.end() && known->second.value.kind == CppValue::Kind::pointer;
  };
  return syntax_.node(node).kind == CppKind::block &&
         std::ranges::all_of(syntax_.node(node).children, is_plain);
}

/// Where integer divisions by zero are noted and told of at the end: they are no values here.
auto CppReader::is_about_division(int node) const -> bool {
  const auto& inner = syntax_.node(syntax_.node(node).children[0]);
  const bool is_known = inner.kind == CppKind::assign || inner.kind == CppKind::call;
  return is_known && syntax_.node(inner.children[0]).text.starts_with("inductor_cpu_");
}

/// The one loop that a loop's body consists of, -1 if it holds anything else.
auto CppReader::only_loop(int node) const -> int {
  const auto& one = syntax_.node(node);
  if (one.kind == CppKind::loop) return node;
  if (one.kind != CppKind::block) return -1;
  int found = -1;
  for (const int child : one.children) {
    if (syntax_.node(child).kind == CppKind::pragma) continue;
    if (found >= 0) return -1;
    found = child;
  }
  return found < 0 ? -1 : only_loop(found);
}

void CppReader::top(int node) {
  const auto& one = syntax_.node(node);
  if (!is_container(node)) {
    const bool is_plain = one.kind == CppKind::pragma || one.kind == CppKind::declare ||
                          (one.kind == CppKind::evaluate && is_about_division(node));
    return is_plain ? statement(node) : nest(node);
  }
  const bool was_threaded = is_threaded_;
  for (const int child : one.children) {
    top(child);
    if (syntax_.node(child).kind == CppKind::loop) is_threaded_ = was_threaded;
  }
  is_threaded_ = was_threaded;
}

/// Loops that stand directly in each other are the axes of a nest; loops in their body have whole
/// axes.
void CppReader::nest(int node) {
  const auto before = kernel_.not_understood.size();
  const bool was_threaded = is_threaded_;
  std::vector<std::size_t> axes;
  std::vector<std::string> names;
  int body = only_loop(node);
  int inside = node;
  while (body >= 0) {
    builder_.set_line(syntax_.node(body).line);
    if (auto opened = open_loop(body, TileAxis::Kind::nested); !opened) {
      keep(body, opened.error().message);
      break;
    }
    axes.push_back(loops_.back().axis);
    names.emplace_back(syntax_.node(syntax_.node(body).children[0]).text);
    inside = syntax_.node(body).children[3];
    body = only_loop(inside);
  }
  if (kernel_.not_understood.size() == before) statement(inside);
  loops_.clear();
  for (const auto& name : names) locals_.erase(name);
  TileStatement nest;
  AxisSet set = 0;
  for (const auto axis : axes) set |= AxisSet{1} << axis;
  nest.what = TileNest{axes, !is_threaded_ && !is_independent(set)};
  nest.line = syntax_.node(node).line;
  nest.regions.emplace_back().body = builder_.take_body();
  if (!nest.regions[0].body.empty()) kernel_.body.body.push_back(std::move(nest));
  is_threaded_ = was_threaded;
  for (auto& array : arrays_) array.stored.clear();
  accesses_.clear();
  loaded_.clear();
  stored_.clear();
}

/// Rounds touch elements of their own: whatever is stored is stored at indices that follow from the
/// round, and read at the same ones only.
auto CppReader::is_independent(AxisSet axes) -> bool {
  const auto depends = [&](const Access& one) {
    AxisSet seen = 0;
    for (const auto& symbol : one.index.symbols()) {
      if (builder_.is_value_symbol(symbol)) return false;
      if (const auto axis = builder_.axis_of(symbol)) seen |= AxisSet{1} << *axis;
    }
    return (axes & ~seen) == 0;
  };
  return std::ranges::all_of(accesses_, [&](const Access& one) {
    if (!one.is_store) return true;
    const bool is_atomic = one.is_load;
    if (!is_atomic && !depends(one)) return false;
    return std::ranges::all_of(accesses_, [&](const Access& other) {
      if (other.param != one.param) return true;
      if (is_atomic) return other.is_load && other.is_store;
      return !other.is_load || other.index == one.index;
    });
  });
}

auto CppReader::axis_for(const Expr& extent, TileAxis::Kind kind) -> Result<std::size_t> {
  for (std::size_t i = 0; i < kernel_.axes.size(); ++i) {
    const auto& axis = kernel_.axes[i];
    const bool is_open = std::ranges::any_of(loops_, [&](const CppLoop& l) { return l.axis == i; });
    if (axis.kind == kind && axis.extent == extent && !is_open) return i;
  }
  if (kernel_.axes.size() == kMaxAxes)
    return bad_input("more loops of other extents than are read");
  TileAxis axis;
  axis.name = fmt::format("{}{}", kind == TileAxis::Kind::nested ? "x" : "r", kernel_.axes.size());
  axis.kind = kind;
  axis.extent = extent;
  axis.block = 1;
  axis.max_block = kMaxBlock;
  axis.exact = true;
  kernel_.axes.push_back(std::move(axis));
  return kernel_.axes.size() - 1;
}

/// `for(int64_t x0=begin; x0<end; x0+=step)`
auto CppReader::open_loop(int node, TileAxis::Kind kind) -> Result<void> {
  const auto& loop = syntax_.node(node);
  const auto& start = syntax_.node(loop.children[0]);
  const auto& condition = syntax_.node(loop.children[1]);
  if (start.form != '=' || start.is_pointer) return bad_input("a loop that does not start so");
  if (condition.kind != CppKind::binary || condition.text != "<" ||
      syntax_.node(condition.children[0]).text != start.text)
    return bad_input("a loop that does not end at `{} < ...`", start.text);
  CppLoop open;
  open.name = start.text;
  open.serial = ++serial_;
  ASSAY_TRY(open.begin, integer(start.children[0]));
  ASSAY_TRY(open.end, integer(condition.children[1]));
  open.low = open.begin;
  open.high = open.end;
  const auto extent = open.end - open.begin;
  for (const auto& symbol : extent.symbols())
    if (builder_.is_value_symbol(symbol) || builder_.axis_of(symbol))
      return bad_input("a loop whose end depends on another loop or on data");
  ASSAY_TRY(open.width, step_of(node, extent));
  ASSAY_TRY(open.axis, axis_for(extent, kind));
  open.index = builder_.axis_symbol(open.axis);
  open.value = open.begin + open.index;
  open.count = open.width;
  open.is_whole = open.width == 0 || floor_div(extent, open.width) * Expr(open.width) == extent;
  if (open.width == 0) {  // one round takes all
    open.lane = open.index;
    open.value = open.begin;
    open.count = extent;
  } else if (open.width > 1) {
    open.lane = builder_.lane_symbol(open.axis, open.width);
    open.value = open.value - open.lane;
    if (extent.as_int() && *extent.as_int() > 0 && *extent.as_int() < open.width) {
      open.count = extent;
      open.is_whole = true;
    }
  }
  declared_.push_back(open.name);
  locals_[open.name] = {CppValue::of_index(open.value), loops_.size() + 1, 0};
  loops_.push_back(std::move(open));
  return {};
}

/// Elements per round; 0 for as many as there are.
auto CppReader::step_of(int node, const Expr& extent) -> Result<std::int64_t> {
  const auto& loop = syntax_.node(node);
  const auto& name = syntax_.node(loop.children[0]).text;
  const auto& step = syntax_.node(loop.children[2]);
  const bool is_this = !step.children.empty() && syntax_.node(step.children[0]).text == name;
  if (is_this && step.kind == CppKind::step && step.text == "++") return std::int64_t{1};
  if (!is_this || step.kind != CppKind::assign || step.text != "+=")
    return bad_input("a loop that does not go up");
  int by = step.children[1];
  // `x0 += (rest == 0 ? 1 : rest)`
  while (syntax_.node(by).kind == CppKind::call && syntax_.node(by).children.size() == 2)
    by = syntax_.node(by).children[1];
  if (syntax_.node(by).kind == CppKind::conditional) by = syntax_.node(by).children[2];
  ASSAY_TRY(const auto width, integer(by));
  if (const auto known = width.as_int(); known && *known >= 1 && *known <= kMaxBlock) return *known;
  if (width == extent) return std::int64_t{0};
  return bad_input("a loop whose step is not known");
}

auto read_cpp(std::string_view text, ExprPool& pool) -> Result<TileKernel> {
  ASSAY_TRY(auto syntax, CppSyntax::parse(text));
  CppReader reader(syntax, pool);
  auto kernel = reader.read();
  if (!kernel || !reader.lacks_lanes()) return kernel;
  auto by_lanes = CppReader(std::move(syntax), pool, true).read();
  return by_lanes && by_lanes->is_understood() ? std::move(by_lanes) : std::move(kernel);
}

}  // namespace assay
