#include "core/expr/rewriting.h"

#include <utility>

#include <fmt/format.h>

#include "core/expr/op_table.h"
#include "core/expr/text.h"

namespace assay {
namespace {

constinit thread_local RewriteWatch* innermost = nullptr;

}  // namespace

RewriteWatch::RewriteWatch(bool undoes) : outer_(innermost), undoes_(undoes) {
  innermost = this;
}
RewriteWatch::~RewriteWatch() {
  innermost = outer_;
}

auto RewriteWatch::current() -> RewriteWatch* {
  return innermost;
}

void RewriteWatch::step(ExprOp op, std::span<const Expr> args, int left) {
  constexpr int kLast = 4;
  constexpr std::size_t kMost = 16;
  if (left >= kLast || not_ended_.size() >= kMost) return;
  if (left == kLast - 1) last_.clear();
  if (left >= 0) {
    last_.push_back(op);
    is_told_ = false;
    return;
  }
  if (std::exchange(is_told_, true)) return;
  std::string rules, operands;
  for (const auto one : last_) rules += (rules.empty() ? "" : ", ") + std::string(op_row(one).name);
  for (const auto& arg : args) operands += (operands.empty() ? "" : ", ") + print_expr(arg);
  not_ended_.push_back(fmt::format("{}({}) did not end: {}", op_row(op).name, operands, rules));
}

}  // namespace assay
