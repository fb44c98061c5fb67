// Branches of a wrapper, each followed by itself, and calls of its inner functions.
#include <algorithm>
#include <utility>

#include "compiler/prove/wrapper_walk.h"

namespace assay {

/// Storages that the branch made keep their numbers; those from before are as they were.
void WrapperWalk::restore(const State& state) {
  std::ranges::copy(state.storages, storages_.begin());
  names_ = state.names;
  deleted_ = state.deleted;
  lists_ = state.lists;
}

void WrapperWalk::step(const HostOp& op, const HostLoop& loop) {
  use(op, {loop.condition.value});
}

void WrapperWalk::step(const HostOp& op, const HostBranch& branch) {
  using enum HostBranch::Kind;
  if (branch.kind == open) {
    use(op, {branch.condition.value});
    forks_.push_back({state(), std::nullopt, false, report_.facts.size()});
    return;
  }
  if (forks_.empty()) return;
  auto& fork = forks_.back();
  end_branch(fork);
  fork.is_exhaustive = fork.is_exhaustive || branch.is_exhaustive;
  if (branch.kind == otherwise) return restore(fork.before);
  auto result = *std::move(fork.merged);
  if (!fork.is_exhaustive) {
    auto untouched = fork.before;
    untouched.storages.insert(untouched.storages.end(),
                              storages_.begin() + std::ssize(untouched.storages), storages_.end());
    result = merged(std::move(result), untouched);
  }
  storages_ = std::move(result.storages);
  names_ = std::move(result.names);
  deleted_ = std::move(result.deleted);
  lists_ = std::move(result.lists);
  forks_.pop_back();
}

/// What the branch asserted holds in it only.
void WrapperWalk::end_branch(Fork& fork) {
  is_over_.resize(report_.facts.size());
  for (auto i = fork.facts; i < is_over_.size(); ++i) is_over_[i] = true;
  fork.merged = fork.merged ? merged(*std::move(fork.merged), state()) : state();
}

/// What holds whichever of the two ran: a name that either deleted is gone, a storage that either
/// reused is, and a layout that differs is not known.
auto WrapperWalk::merged(State a, const State& b) -> State {
  for (std::size_t i = 0; i < b.storages.size(); ++i) {
    if (i >= a.storages.size()) {
      a.storages.push_back(b.storages[i]);
      continue;
    }
    auto& one = a.storages[i];
    const auto& other = b.storages[i];
    if (other.generation > one.generation) {
      one.generation = other.generation;
      one.reused_by = other.reused_by;
    }
    if (one.elems != other.elems) one.elems.reset();
    if (one.dtype != other.dtype) one.dtype.reset();
  }
  Names names;
  for (const auto& [name, buffer] : a.names)
    if (const auto other = b.names.find(name); other != b.names.end())
      names[name] = merged(buffer, other->second, a);
  a.names = std::move(names);
  for (const auto& [name, why] : b.deleted) a.deleted.try_emplace(name, why);
  std::erase_if(a.deleted, [&](const auto& gone) { return a.names.contains(gone.first); });
  std::erase_if(a.lists, [&](const auto& list) { return !b.lists.contains(list.first); });
  for (auto& [name, list] : a.lists) {
    const auto& other = b.lists.find(name)->second;
    list.resize(std::min(list.size(), other.size()));
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].buffer && other[i].buffer)
        list[i].buffer = merged(*list[i].buffer, *other[i].buffer, a);
      else
        list[i].buffer.reset();
  }
  return a;
}

auto WrapperWalk::merged(const HostBuffer& a, const HostBuffer& b, State& into) const
    -> HostBuffer {
  const bool same_layout = a.has_layout && b.has_layout && a.sizes == b.sizes &&
                           a.strides == b.strides && a.offset == b.offset;
  auto result = a;
  result.has_layout = same_layout;
  if (a.dtype != b.dtype) result.dtype.reset();
  if (a.storage == b.storage && a.offset == b.offset) {
    result.generation = std::min(a.generation, b.generation);
    return result;
  }
  const auto& one = into.storages[a.storage];
  const auto& other = into.storages[b.storage];
  const bool is_dead = one.generation != a.generation || other.generation != b.generation;
  HostStorage storage{.name = one.name, .elems = {}, .dtype = {}, .reused_by = {}};
  if (one.elems == other.elems && a.offset == b.offset) storage.elems = one.elems;
  if (one.dtype == other.dtype) storage.dtype = one.dtype;
  storage.generation = is_dead ? 1 : 0;
  storage.reused_by = one.generation != a.generation ? one.reused_by : other.reused_by;
  into.storages.push_back(std::move(storage));
  result.storage = into.storages.size() - 1;
  result.generation = 0;
  return result;
}

auto WrapperWalk::elements_of(const HostOp& op, const HostArgs& args) -> std::vector<HostElement> {
  std::vector<HostElement> elements;
  for (const auto& arg : args) {
    const auto* view = std::get_if<HostView>(&arg.value);
    elements.push_back({arg, view ? view_of(op, *view) : std::nullopt});
    if (const auto* item = std::get_if<HostItemOf>(&arg.value))
      if (const auto list = lists_.find(item->tuple);
          list != lists_.end() && item->index < list->second.size())
        elements.back().buffer = list->second[item->index].buffer;
  }
  return elements;
}

auto WrapperWalk::called(const HostCall& call) const -> const HostFunction* {
  constexpr int kMaxDepth = 4;
  return depth_ > kMaxDepth ? nullptr : find_function(program_, call.target);
}

/// The function runs on what the caller passes; the names inside are its own.
auto WrapperWalk::inner_call(const HostOp& op, const HostCall& call) -> bool {
  const auto* function = called(call);
  if (function == nullptr) return false;
  std::vector<HostElement> passed;
  const auto list = call.args.size() == 1 && call.args[0].mentions.size() == 1
                        ? lists_.find(call.args[0].mentions[0])
                        : lists_.end();
  if (list != lists_.end()) {
    passed = list->second;
  } else {
    use(op, call.args);
    const auto* items =
        call.args.size() == 1 ? std::get_if<HostArgs>(&call.args[0].value) : nullptr;
    passed = elements_of(op, items ? *items : call.args);
  }
  Names inner;
  for (std::size_t i = 0; i < passed.size() && i < function->inputs.size(); ++i)
    if (passed[i].buffer) inner[function->inputs[i]] = *passed[i].buffer;
  auto names = std::exchange(names_, {});
  auto deleted = std::exchange(deleted_, {});
  auto lists = std::exchange(lists_, {});
  auto forks = std::exchange(forks_, {});
  ++depth_;
  returned_.clear();
  walk(*function, std::move(inner));
  --depth_;
  forks_ = std::move(forks);
  names_ = std::move(names);
  deleted_ = std::move(deleted);
  lists_ = std::move(lists);
  const auto results = std::exchange(returned_, {});
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    if (i < results.size())
      names_[call.results[i]] = results[i];
    else
      (void)fresh(call.results[i]);
    deleted_.erase(call.results[i]);
  }
  if (call.results.size() == 1) {  // `buf2 = true_graph_0(...)`: the tuple itself
    auto& tuple = lists_[call.results[0]];
    tuple.clear();
    for (const auto& result : results) tuple.push_back({{}, result});
  }
  return true;
}

}  // namespace assay
