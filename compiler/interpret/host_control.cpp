// Branches and loops of a running host program.
#include <algorithm>

#include "compiler/interpret/host_machine.h"

namespace assay {
namespace {

/// How deep a statement leads into blocks: 1 where one opens, -1 where one ends.
auto nesting(const HostOp& op) -> int {
  if (const auto* branch = std::get_if<HostBranch>(&op.what)) {
    if (branch->kind == HostBranch::Kind::open) return 1;
    return branch->kind == HostBranch::Kind::close ? -1 : 0;
  }
  if (const auto* loop = std::get_if<HostLoop>(&op.what)) {
    if (loop->kind == HostLoop::Kind::open) return 1;
    return loop->kind == HostLoop::Kind::close ? -1 : 0;
  }
  return 0;
}

/// The next `elif`, `else` or end of the branches that the statement at `at` belongs to.
auto other_branch(const HostFunction& function, std::size_t at) -> std::size_t {
  int depth = 0;
  for (++at; at < function.ops.size(); ++at) {
    const auto* branch = std::get_if<HostBranch>(&function.ops[at].what);
    if (depth == 0 && branch != nullptr && branch->kind != HostBranch::Kind::open) return at;
    depth += nesting(function.ops[at]);
  }
  return at;
}

auto is_end_of_loop(const HostOp& op) -> bool {
  const auto* loop = std::get_if<HostLoop>(&op.what);
  return loop != nullptr && loop->kind == HostLoop::Kind::close;
}

/// Where the innermost loop around what follows `at` ends, through the ends of branches in it.
auto end_of_loop(const HostFunction& function, std::size_t at) -> std::size_t {
  int depth = 0;
  for (++at; at < function.ops.size(); ++at) {
    if (depth == 0 && is_end_of_loop(function.ops[at])) return at;
    depth = std::max(0, depth + nesting(function.ops[at]));
  }
  return at;
}

auto begin_of_loop(const HostFunction& function, std::size_t at) -> std::size_t {
  for (int depth = -1; at > 0 && depth != 0;) depth += nesting(function.ops[--at]);
  return at;
}

}  // namespace

auto HostMachine::holds(const HostOp& op, const HostCondition& condition) -> Result<bool> {
  ASSAY_TRY(const auto decides, value(op, condition.value));
  Expr truth;
  if (decides.buffer) {
    ASSAY_TRY(truth, element_of(op, decides, condition.value.text));
  } else if (const auto* known = decides.other.scalar()) {
    truth = *known;
  }
  const auto whole = truth.as_int();
  const auto is_true = truth.as_bool();
  if (!is_true && !whole)
    return unsupported("line {}: the condition `{}`", op.line, condition.value.text);
  return (is_true ? *is_true : *whole != 0) != condition.is_negated;
}

auto HostMachine::next(const HostFunction& function, std::size_t at, const HostBranch& what)
    -> Result<std::size_t> {
  using enum HostBranch::Kind;
  if (what.kind == close) return at + 1;
  if (what.kind == otherwise) {  // the branch before it has run
    while (std::get<HostBranch>(function.ops[at].what).kind != close) {
      at = other_branch(function, at);
      if (at == function.ops.size()) return at;
    }
    return at + 1;
  }
  if (recorder_ != nullptr) return unsupported("line {}: a branch on data", function.ops[at].line);
  for (; at < function.ops.size(); at = other_branch(function, at)) {
    const auto& branch = std::get<HostBranch>(function.ops[at].what);
    if (branch.kind == close || branch.is_exhaustive) return at + 1;
    ASSAY_TRY(const bool is_taken, holds(function.ops[at], branch.condition));
    if (is_taken) return at + 1;
  }
  return at;
}

auto HostMachine::next(const HostFunction& function, std::size_t at, const HostLoop& what)
    -> Result<std::size_t> {
  const auto& op = function.ops[at];
  constexpr std::int64_t kMostRounds = 1'000'000;
  if (recorder_ != nullptr) return unsupported("line {}: a loop on data", op.line);
  if (what.kind == HostLoop::Kind::close) {
    if (++rounds_ > kMostRounds)
      return unsupported("line {}: more than {} rounds of loops", op.line, kMostRounds);
    return begin_of_loop(function, at);
  }
  ASSAY_TRY(const bool is_true, holds(op, what.condition));
  const bool goes_on = is_true == (what.kind == HostLoop::Kind::open);
  return goes_on ? at + 1 : end_of_loop(function, at) + 1;
}

}  // namespace assay
