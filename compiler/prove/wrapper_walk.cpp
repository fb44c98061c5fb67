#include "compiler/prove/wrapper_walk.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/expr/text.h"

namespace assay {
namespace {

/// Elements a layout spans from its first one, 0 if it is empty.
auto span_of(const Dims& sizes, const Dims& strides, const Ranges& ranges) -> Expr {
  Expr last = 1;
  auto is_empty = Expr::boolean(false);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    last = last + (sizes[i] - 1) * strides[i];
    const auto low = interval_of(sizes[i], ranges).low.as_int();
    if (!low || *low < 1) is_empty = logic_or(is_empty, eq(sizes[i], 0));
  }
  return where(is_empty, 0, last);
}

auto joined(const Dims& dims) -> std::string {
  std::string text;
  for (const auto& dim : dims) text += (text.empty() ? "" : ", ") + print_expr(dim);
  return "(" + text + ")";
}

/// `needed` elements of the view's dtype, which is the storage's where it says nothing else.
auto overrun_text(const HostStorage& storage, std::optional<DType> dtype, const Expr& needed,
                  const Binding& at) -> std::string {
  if (!storage.elems) return {};
  const auto need = evaluate_int(needed, at);
  const auto have = evaluate_int(*storage.elems, at);
  if (!need || !have) return {};
  const auto bytes = size_bytes(storage.dtype.value_or(DType::uint8));
  const auto own = storage.dtype ? size_bytes(dtype.value_or(*storage.dtype)) : bytes;
  return fmt::format("needs {} {}, the storage of {} has {}", *need * own,
                     storage.dtype ? "bytes" : "elements", storage.name, *have * bytes);
}

/// A number of elements as that of another dtype.
auto in_units(const Expr& elements, DType from, DType to) -> Expr {
  const auto have = size_bytes(from), want = size_bytes(to);
  return have == want ? elements : floor_div(elements * have, Expr(want));
}

}  // namespace

auto print_witness(const Binding& witness) -> std::string {
  std::vector<Expr> symbols;
  for (const auto& [symbol, value] : witness) symbols.push_back(symbol);
  std::ranges::sort(symbols, [](const Expr& a, const Expr& b) {
    const auto inner = [](const Expr& e) { return e.name().contains('.'); };
    return inner(a) != inner(b) ? inner(b) : Expr::compare(a, b) < 0;
  });
  std::string text;
  for (const auto& symbol : symbols) {
    auto name = std::string(symbol.name());
    name = name.substr(0, name.find('.'));
    text +=
        fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, print_expr(witness.at(symbol)));
  }
  return text;
}

auto without_numbers(std::string text) -> std::string {
  for (std::size_t at = 0; (at = text.find('.', at)) != std::string::npos;) {
    const auto end = std::min(text.find_first_not_of("0123456789", at + 1), text.size());
    const bool is_name =
        at > 0 &&
        (std::isalpha(static_cast<unsigned char>(text[at - 1])) != 0 || text[at - 1] == '_' ||
         text.find_last_not_of("0123456789", at - 1) != text.find_last_of(" (+-*/<>=,", at - 1));
    if (is_name && end > at + 1)
      text.erase(at, end - at);
    else
      ++at;
  }
  return text;
}

WrapperWalk::WrapperWalk(const HostProgram& program, const WrapperOptions& options)
    : program_(program), options_(options) {
  for (const auto& symbol : program.env.symbols()) {
    if (symbol.expr.type() != ExprType::integer) continue;
    auto range = symbol.range;
    // Sizes that come from data are not negative (torch._check_is_size).
    if (symbol.kind == SymbolKind::unbacked && !range.low.as_int()) range.low = 0;
    ranges_[symbol.expr] = range;
    if (symbol.hint && symbol.hint->as_int()) hints_[symbol.expr] = *symbol.hint;
  }
  const auto& replaced = program.env.replacements();
  for (const auto& symbol : program.env.symbols())  // in the order of the environment
    if (const auto by = replaced.find(symbol.expr); by != replaced.end())
      add_facts(eq(symbol.expr, by->second), std::nullopt, "specialised by the compilation");
  for (std::size_t i = 0; i < program.env.guards().size(); ++i)
    add_facts(program.env.replaced(program.env.guards()[i].condition), i, {});
  for (const auto& needed : options.required)
    add_facts(program.env.replaced(needed.condition), std::nullopt,
              fmt::format("{} of the graph raises otherwise", needed.where));
}

void WrapperWalk::add_facts(const Expr& condition, std::optional<std::size_t> guard,
                            const std::string& origin) {
  std::vector<Expr> conjuncts;
  split_conjunction(condition, conjuncts);
  for (const auto& fact : conjuncts) {
    const auto symbols = fact.symbols();
    const bool is_about_sizes =
        !symbols.empty() && std::ranges::all_of(symbols, [](const Expr& symbol) {
          return symbol.type() == ExprType::integer;
        });
    if (is_about_sizes || !guard) report_.facts.push_back({fact, guard, origin});
  }
}

auto WrapperWalk::run() -> WrapperReport {
  report_.env = program_.env;
  report_.lines_not_understood = program_.not_understood;
  report_.statements = program_.statements;
  for (const auto& [name, source] : program_.kernels) (void)kernel_of(name);
  if (!program_.functions.empty()) walk(program_.functions.back(), {});
  return std::move(report_);
}

void WrapperWalk::walk(const HostFunction& function, Names names) {
  names_ = std::move(names);
  for (const auto& input : function.inputs)
    if (!names_.contains(input)) {
      auto& buffer = fresh(input);
      if (const auto example = program_.examples.find(input); example != program_.examples.end())
        buffer.dtype = storages_.back().dtype = example->second.dtype;
    }
  if (function.loop_line != 0)
    report_.assumptions.push_back(
        fmt::format("`{}` has loops; its statements are taken in order once", function.name));
  const auto outer_loop = loop_line_;
  for (const auto& op : function.ops) {
    if (function.loop_line != 0 && op.line >= function.loop_line) loop_line_ = function.loop_line;
    std::visit([&](const auto& what) { step(op, what); }, op.what);
  }
  loop_line_ = outer_loop;
}

auto WrapperWalk::fresh(const std::string& name) -> HostBuffer& {
  storages_.push_back({.name = name, .elems = {}, .dtype = {}, .reused_by = {}});
  HostBuffer buffer;
  buffer.storage = storages_.size() - 1;
  deleted_.erase(name);
  return names_[name] = buffer;
}

auto WrapperWalk::bound(const Expr& value) const -> Bound {
  std::vector<Expr> guards;
  for (std::size_t i = 0; i < report_.facts.size(); ++i)
    guards.push_back(i < is_over_.size() && is_over_[i] ? Expr::boolean(true)
                                                        : report_.facts[i].condition);
  return {.value = value,
          .facts = {.ranges = ranges_, .conditions = {}, .axes = {}},
          .guards = std::move(guards),
          .axes = {},
          .hints = hints_};
}

auto WrapperWalk::equal(const Expr& a, const Expr& b) -> Decision {
  if (a == b) return {};
  return both(decide(bound(a - b)), decide(bound(b - a)));
}

void WrapperWalk::add(WrapperClaim kind, const Place& place, std::string claim, Answer answer,
                      std::string message) {
  if (loop_line_ != 0 && std::holds_alternative<Refuted>(answer))
    answer =
        Unknown{Tier::normalise, fmt::format("the loop in line {} is not followed", loop_line_)};
  report_.obligations.push_back({.kind = kind,
                                 .line = place.op->line,
                                 .statement = place.op->text,
                                 .kernel = place.kernel,
                                 .kernel_line = place.kernel_line,
                                 .access = place.access,
                                 .claim = std::move(claim),
                                 .answer = std::move(answer),
                                 .message = std::move(message),
                                 .proofs = {}});
}

void WrapperWalk::add(WrapperClaim kind, const Place& place, std::string claim, Decision decision,
                      std::string message) {
  add(kind, place, std::move(claim), std::move(decision.answer), std::move(message));
  report_.obligations.back().proofs = std::move(decision.proofs);
}

void WrapperWalk::step(const HostOp&, const HostNote&) {}
void WrapperWalk::step(const HostOp&, const HostShape&) {}
/// `s5 = s3`: the names mean the same from here on, also in guards.
void WrapperWalk::step(const HostOp& op, const HostScalar& scalar) {
  const auto* symbol = program_.env.find(std::string_view(scalar.name));
  if (scalar.is_fresh || symbol == nullptr || symbol->expr == scalar.value) return;
  add_facts(eq(symbol->expr, scalar.value), std::nullopt, op.text);
}
void WrapperWalk::step(const HostOp& op, const HostFact& fact) {
  add_facts(fact.condition, std::nullopt, op.text);
}

void WrapperWalk::step(const HostOp&, const HostAlloc& alloc) {
  auto& buffer = fresh(alloc.name);
  buffer.has_layout = true;
  buffer.sizes = alloc.sizes;
  buffer.strides = alloc.strides;
  buffer.dtype = alloc.dtype;
  auto& storage = storages_.back();
  storage.dtype = alloc.dtype;
  storage.elems = span_of(alloc.sizes, alloc.strides, ranges_);
}

/// The view counts from the start of its storage.
void WrapperWalk::check_extent(const HostOp& op, const HostBuffer& view) {
  const auto& storage = storages_[view.storage];
  const auto span = span_of(view.sizes, view.strides, ranges_);
  auto claim = fmt::format("{} strides {} offset {} lies in the storage of {}", joined(view.sizes),
                           joined(view.strides), print_expr(view.offset), storage.name);
  if (!storage.elems)
    return add(WrapperClaim::view_in_storage, {&op, {}, 0, {}}, std::move(claim),
               Unknown{Tier::normalise,
                       fmt::format("the storage of {} has no known extent", storage.name)});
  // A view without elements touches nothing.
  auto inside = bound(0);
  const bool is_other = storage.dtype && view.dtype && *storage.dtype != *view.dtype;
  const auto have =
      is_other ? in_units(*storage.elems, *storage.dtype, *view.dtype) : *storage.elems;
  Expr last(view.offset);
  for (std::size_t i = 0; i < view.sizes.size(); ++i) {
    add_not_empty(view.sizes[i], view.strides[i], inside);
    last = last + (view.sizes[i] - 1) * view.strides[i];
  }
  inside.value = have - 1 - last;
  auto decision = both(decide(bound(view.offset)), decide(std::move(inside)));
  std::string message;
  if (const auto* refuted = std::get_if<Refuted>(&decision.answer)) {
    message = overrun_text(storage, view.dtype, view.offset + span, refuted->witness);
    // What the recording itself would have run into says more than the smallest sizes.
    const auto need = evaluate_int(view.offset + span, hints_);
    const auto known = evaluate_int(have, hints_);
    if (need && known && *need > *known)
      message +=
          fmt::format("; at the recorded {}: {}", hints_.empty() ? "sizes" : print_witness(hints_),
                      overrun_text(storage, view.dtype, view.offset + span, hints_));
  }
  add(WrapperClaim::view_in_storage, {&op, {}, 0, {}}, std::move(claim), std::move(decision),
      std::move(message));
}

auto WrapperWalk::view_of(const HostOp& op, const HostView& view) -> std::optional<HostBuffer> {
  const auto base = names_.find(view.base);
  if (base == names_.end()) return std::nullopt;
  auto result = base->second;
  if (!view.is_reinterpreted) return result;
  result.sizes = view.sizes;
  result.strides = view.strides;
  auto offset = base->second.offset;
  if (view.dtype && result.dtype) offset = in_units(offset, *result.dtype, *view.dtype);
  if (view.dtype) result.dtype = view.dtype;
  result.offset = offset + view.offset;
  result.has_layout = true;
  check_extent(op, result);
  return result;
}

void WrapperWalk::step(const HostOp& op, const HostBind& bind) {
  HostArg arg;
  arg.mentions = {bind.source.base};
  use(op, {arg});
  if (bind.is_in_pool) {
    const auto pool = names_.find(bind.source.base);
    const auto whole = pool == names_.end() ? HostStorage{} : storages_[pool->second.storage];
    auto& buffer = fresh(bind.name);
    buffer.sizes = bind.source.sizes;
    buffer.strides = bind.source.strides;
    buffer.dtype = bind.source.dtype;
    buffer.has_layout = true;
    const auto span = span_of(buffer.sizes, buffer.strides, ranges_);
    storages_.back().elems = span;
    storages_.back().dtype = buffer.dtype;
    if (!whole.elems || !whole.dtype) return;
    const auto have = *whole.elems * size_bytes(*whole.dtype);
    const auto need = bind.pool_offset_bytes + span * size_bytes(*bind.source.dtype);
    add(WrapperClaim::view_in_storage, {&op, {}, 0, {}},
        fmt::format("{} lies in the pool {}", bind.name, bind.source.base),
        both(decide(bound(bind.pool_offset_bytes)), decide(bound(have - need))));
    return;
  }
  auto buffer = view_of(op, bind.source);
  if (!buffer) {
    (void)fresh(bind.name);
    return;
  }
  if (bind.is_reuse) {
    auto& storage = storages_[buffer->storage];
    buffer->generation = ++storage.generation;
    storage.reused_by = fmt::format("{} (line {})", bind.name, op.line);
  }
  deleted_.erase(bind.name);
  names_[bind.name] = *buffer;
}

void WrapperWalk::step(const HostOp& op, const HostCheck& check) {
  HostArg arg;
  arg.mentions = {check.name};
  use(op, {arg});
  const auto found = names_.find(check.name);
  if (found == names_.end()) return;
  auto& buffer = found->second;
  if (check.dtype && !buffer.dtype) {
    buffer.dtype = check.dtype;
    auto& storage = storages_[buffer.storage];
    if (!storage.dtype) storage.dtype = check.dtype;
  }
  if (!buffer.has_layout) {
    // Checked at run time, so from here on it is a fact; the storage is at least as large.
    buffer.sizes = check.sizes;
    buffer.strides = check.strides;
    buffer.has_layout = true;
    auto& storage = storages_[buffer.storage];
    if (!storage.elems) storage.elems = span_of(check.sizes, check.strides, ranges_);
    const auto claim = options_.claims.find(check.name);
    if (claim == options_.claims.end() || depth_ > 0) return;
    storage.dtype = buffer.dtype = claim->second.dtype;
    return check_layout(op, check, claim->second.sizes, claim->second.strides);
  }
  check_layout(op, check, buffer.sizes, buffer.strides);
  if (check.dtype && buffer.dtype != check.dtype)
    add(WrapperClaim::assert_holds, {&op, {}, 0, {}},
        fmt::format("{} is of dtype {}", check.name, assay::name(*check.dtype)),
        Refuted{Tier::normalise, {}}, fmt::format("it is of dtype {}", assay::name(*buffer.dtype)));
}

void WrapperWalk::check_layout(const HostOp& op, const HostCheck& check, const Dims& sizes,
                               const Dims& strides) {
  Decision decision;
  if (sizes.size() != check.sizes.size()) {
    decision.answer = Refuted{Tier::normalise, {}};
  } else {
    for (std::size_t i = 0; i < check.sizes.size(); ++i) {
      decision = both(std::move(decision), equal(sizes[i], check.sizes[i]));
      if (!check.sizes[i].is_int(1))
        decision = both(std::move(decision), equal(strides[i], check.strides[i]));
    }
  }
  const bool refuted = std::holds_alternative<Refuted>(decision.answer);
  add(WrapperClaim::assert_holds, {&op, {}, 0, {}},
      fmt::format("{} has sizes {} and strides {}", check.name, joined(check.sizes),
                  joined(check.strides)),
      std::move(decision),
      refuted ? fmt::format("it has sizes {} and strides {}", joined(sizes), joined(strides))
              : std::string());
}

auto WrapperWalk::dead_reason(std::string_view name) const -> std::string {
  if (const auto gone = deleted_.find(name); gone != deleted_.end())
    return fmt::format("{} was deleted by `{}", name, gone->second);
  const auto found = names_.find(name);
  if (found == names_.end()) return {};
  const auto& storage = storages_[found->second.storage];
  if (storage.generation == found->second.generation) return {};
  return fmt::format("the storage of {} was reused by {}", name, storage.reused_by);
}

void WrapperWalk::use(const HostOp& op, const HostArgs& args) {
  bool any = false;
  for (const auto& arg : args)
    for (const auto& name : arg.mentions) {
      const auto reason = dead_reason(name);
      any = any || names_.contains(name);
      if (reason.empty()) continue;
      add(WrapperClaim::operands_live, {&op, {}, 0, {}}, fmt::format("{} is alive", name),
          Refuted{Tier::normalise, {}}, reason);
      return;
    }
  if (any)
    add(WrapperClaim::operands_live, {&op, {}, 0, {}}, "all operands are alive",
        Proved{Tier::normalise, {}});
}

void WrapperWalk::step(const HostOp& op, const HostCall& call) {
  if (inner_call(op, call)) return;
  use(op, call.args);
  for (const auto& arg : call.args)
    if (const auto* view = std::get_if<HostView>(&arg.value); view && view->is_reinterpreted)
      (void)view_of(op, *view);
  product_shapes(op, call);
  for (const auto& name : call.results) (void)fresh(name);
}

void WrapperWalk::step(const HostOp& op, const HostItem& item) {
  HostArg arg;
  arg.mentions = {item.tuple};
  use(op, {arg});
  const auto list = lists_.find(item.tuple);
  if (list != lists_.end() && item.index < list->second.size() && list->second[item.index].buffer) {
    deleted_.erase(item.name);
    names_[item.name] = *list->second[item.index].buffer;
    return;
  }
  (void)fresh(item.name);
}

void WrapperWalk::step(const HostOp& op, const HostStore& store) {
  use(op, {store.value});
  auto elements = elements_of(op, {store.value});
  auto& list = lists_[store.tuple];
  constexpr std::size_t kMost = 4096;
  if (store.index >= kMost || elements.empty()) return;
  if (list.size() <= store.index) list.resize(store.index + 1);
  list[store.index] = std::move(elements.front());
}

void WrapperWalk::step(const HostOp& op, const HostGroup& group) {
  use(op, group.items);
  lists_[group.name] = elements_of(op, group.items);
}

void WrapperWalk::step(const HostOp& op, const HostDelete& gone) {
  for (const auto& name : gone.names) {
    const auto found = names_.find(name);
    if (found == names_.end()) continue;
    names_.erase(found);
    deleted_[name] = fmt::format("{}` in line {}", op.text, op.line);
  }
}

void WrapperWalk::step(const HostOp& op, const HostReturn& result) {
  use(op, result.values);
  returned_.clear();
  for (const auto& value : result.values) {
    const auto* view = std::get_if<HostView>(&value.value);
    auto buffer = view ? view_of(op, *view) : std::nullopt;
    returned_.push_back(buffer.value_or(HostBuffer{}));
  }
}

auto WrapperWalk::sizes_of(const HostArg& arg) const -> std::optional<Dims> {
  const auto* view = std::get_if<HostView>(&arg.value);
  if (view == nullptr) return std::nullopt;
  if (view->is_reinterpreted) return view->sizes;
  const auto found = names_.find(view->base);
  if (found == names_.end() || !found->second.has_layout) return std::nullopt;
  return found->second.sizes;
}

/// Matrix products write `out` without looking at its storage: sizes must agree.
void WrapperWalk::product_shapes(const HostOp& op, const HostCall& call) {
  struct Row {
    std::string_view target;
    std::size_t first;  ///< position of the left operand
    std::size_t rank;
  };
  constexpr std::array kRows = {Row{"extern_kernels.mm", 0, 2}, Row{"extern_kernels.addmm", 1, 2},
                                Row{"extern_kernels.bmm", 0, 3},
                                Row{"extern_kernels.baddbmm", 1, 3}};
  const auto row =
      std::ranges::find_if(kRows, [&](const Row& r) { return r.target == call.target; });
  if (row == kRows.end() || call.args.size() < row->first + 2) return;
  const auto out_arg =
      std::ranges::find_if(call.args, [](const HostArg& arg) { return arg.keyword == "out"; });
  if (out_arg == call.args.end()) return;
  const auto a = sizes_of(call.args[row->first]);
  const auto b = sizes_of(call.args[row->first + 1]);
  const auto out = sizes_of(*out_arg);
  if (!a || !b || !out) return;
  Decision decision;
  if (a->size() != row->rank || b->size() != row->rank || out->size() != row->rank) {
    decision.answer = Refuted{Tier::normalise, {}};
  } else {
    const auto last = row->rank - 1;
    const std::array pairs = {std::pair{(*a)[last], (*b)[last - 1]},
                              std::pair{(*out)[last - 1], (*a)[last - 1]},
                              std::pair{(*out)[last], (*b)[last]}, std::pair{(*out)[0], (*a)[0]}};
    for (const auto& [x, y] : pairs) {
      auto one = equal(x, y);
      const bool is_guarded = !options_.guards_are_known && !(x - y).is_const();
      if (is_guarded && std::holds_alternative<Refuted>(one.answer))
        one.answer = Unknown{Tier::normalise, "a guard may say so, and the text holds none"};
      decision = both(std::move(decision), std::move(one));
    }
  }
  auto message = fmt::format("{} times {} into {}", joined(*a), joined(*b), joined(*out));
  const bool refuted = std::holds_alternative<Refuted>(decision.answer);
  add(WrapperClaim::shapes_agree, {&op, {}, 0, {}}, "sizes of the product agree",
      std::move(decision), refuted ? message : std::string());
}

auto check_wrapper(const HostProgram& program, const WrapperOptions& options) -> WrapperReport {
  return WrapperWalk(program, options).run();
}

auto name(WrapperClaim kind) -> std::string_view {
  switch (kind) {
    case WrapperClaim::view_in_storage:
      return "view-in-storage";
    case WrapperClaim::access_in_bounds:
      return "access-in-bounds";
    case WrapperClaim::fits_32_bits:
      return "fits-32-bits";
    case WrapperClaim::assert_holds:
      return "assert-holds";
    case WrapperClaim::operands_live:
      return "operands-live";
    case WrapperClaim::shapes_agree:
      return "shapes-agree";
  }
  return "";
}

}  // namespace assay
