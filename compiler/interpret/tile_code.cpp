// Kernels compiled into steps.
#include "compiler/interpret/tile_machine.h"
#include "compiler/program/access_steps.h"

namespace assay {
namespace {

/// The index operand of an access.
auto index_operand(const TileStatement& statement) -> TileId {
  const bool is_access = std::holds_alternative<TileLoad>(statement.what) ||
                         std::holds_alternative<TileStore>(statement.what) ||
                         std::holds_alternative<TileAtomic>(statement.what);
  return is_access ? statement.operands[0] : kNoTile;
}

}  // namespace

auto lane_size(DType dtype) -> std::size_t {
  return static_cast<std::size_t>(size_bytes(lane_dtype(dtype)));
}

auto TileCode::compile(const TileKernel& kernel) -> Result<TileCode> {
  if (!kernel.is_understood())
    return unsupported("kernel {}, line {}: `{}`: {}", kernel.name, kernel.not_understood[0].line,
                       kernel.not_understood[0].text, kernel.not_understood[0].reason);
  if (const auto broken = verify(kernel); !broken.empty())
    return bad_input("kernel {}: {}", kernel.name, broken[0]);
  TileCode code;
  code.kernel_ = &kernel;
  code.writes_.resize(kernel.params.size());
  code.reads_.resize(kernel.params.size());
  code.feeds_index_.resize(kernel.values.size());
  // What is carried around a loop needs a second look.
  for (int round = 0; round < 2; ++round) code.mark_indices(kernel.body);
  const AccessSteps accesses(kernel);
  for (const auto* one : accesses.accesses())
    if (accesses.scatters_one_value(*one)) code.scatters_.insert(one);
  for (const auto* one : accesses.accesses())
    if (accesses.takes_numbers_alone(*one)) code.alone_.insert(one);
  auto steps = code.compile(kernel.body);
  if (!steps)
    return std::unexpected(Error{steps.error().code,
                                 fmt::format("kernel {}: {}", kernel.name, steps.error().message)});
  code.steps_ = *std::move(steps);
  return code;
}

/// Backwards, so that users are seen before what they use.
void TileCode::mark_indices(const TileRegion& region) {
  const auto mark = [&](TileId id) {
    if (id != kNoTile) feeds_index_[static_cast<std::size_t>(id)] = true;
  };
  for (auto at = region.body.rbegin(); at != region.body.rend(); ++at) {
    const auto& statement = *at;
    mark(index_operand(statement));
    bool is_needed = false;
    for (const auto id : statement.results)
      is_needed = is_needed || feeds_index_[static_cast<std::size_t>(id)];
    for (std::size_t i = 0; i < statement.results.size(); ++i)
      if (feeds_index_[static_cast<std::size_t>(statement.results[i])])
        for (const auto& inner : statement.regions)
          if (i < inner.yields.size()) mark(inner.yields[i]);
    for (const auto& inner : statement.regions) mark_indices(inner);
    if (std::holds_alternative<TileLoop>(statement.what)) {
      for (std::size_t i = 1; i < statement.regions[0].params.size(); ++i)
        if (feeds_index_[static_cast<std::size_t>(statement.regions[0].params[i])]) {
          mark(statement.operands[i + 2]);
          mark(statement.regions[0].yields[i - 1]);
        }
      continue;
    }
    const auto* compute = std::get_if<TileCompute>(&statement.what);
    if (compute == nullptr || !is_needed) continue;
    for (std::size_t i = compute->op == TileOp::select ? 1 : 0; i < statement.operands.size(); ++i)
      mark(statement.operands[i]);
  }
}

auto TileCode::compile(const TileRegion& region) -> Result<std::vector<TileStep>> {
  std::vector<TileStep> steps;
  for (const auto& statement : region.body) {
    ASSAY_TRY(steps.emplace_back(), compile(statement));
  }
  return steps;
}

auto TileCode::compile(const TileStatement& statement) -> Result<TileStep> {
  TileStep step;
  step.statement = &statement;
  step.scatters_one_value = scatters_.contains(&statement);
  step.takes_numbers_alone = alone_.contains(&statement);
  if (const auto* load = std::get_if<TileLoad>(&statement.what)) reads_[load->param] = true;
  if (const auto* store = std::get_if<TileStore>(&statement.what)) writes_[store->param] = true;
  if (const auto* search = std::get_if<TileSearch>(&statement.what)) reads_[search->param] = true;
  if (const auto* arrive = std::get_if<TileArrive>(&statement.what))
    writes_[arrive->param] = reads_[arrive->param] = true;
  if (const auto* atomic = std::get_if<TileAtomic>(&statement.what)) {
    writes_[atomic->param] = reads_[atomic->param] = true;
    const auto dtype = kernel_->params[atomic->param].dtype;
    if (!atomic->is_exchange) {
      step.evaluate = tile_evaluate(atomic->op, lane_dtype(dtype), lane_dtype(dtype));
      if (step.evaluate == nullptr)
        return unsupported("line {}: an atomic operation on {}", statement.line, name(dtype));
    }
    step.round = tile_round(dtype);
  }
  if (const auto* compute = std::get_if<TileCompute>(&statement.what)) {
    const bool is_select = compute->op == TileOp::select;
    const auto from = kernel_->type(statement.operands[is_select ? 1 : 0]).dtype;
    const auto to = kernel_->type(statement.results[0]).dtype;
    step.evaluate = tile_evaluate(compute->op, from, to);
    if (step.evaluate == nullptr)
      return unsupported("line {}: `{}` of {}", statement.line, tile_op_row(compute->op).name,
                         name(from));
    step.round = tile_round(to);
    if (feeds_index_[static_cast<std::size_t>(statement.results[0])])
      step.overflow = tile_overflow(compute->op, lane_dtype(from));
  }
  for (const auto& region : statement.regions) {
    ASSAY_TRY(step.regions.emplace_back(), compile(region));
  }
  return step;
}

}  // namespace assay
