// Random numbers: random_code.h, lane by lane.
#include <llvm/IR/Module.h>

#include <map>

#include "compiler/codegen/gpu_kernel.h"
#include "compiler/codegen/random_code.h"

namespace assay {

void GpuKernelEmitter::statement(const TileStatement& one, const TileRandom& what) {
  RandomCode random(b_, code_);
  const auto operand = [&](std::size_t at, int i) {
    return as_int64(lane(one.operands[at], i), dtype(one.operands[at]));
  };
  const auto id = one.results[0];
  if (what.kind != TileRandomKind::words)
    return set(id, per_lane(axes(id), [&](int i) {
                 Values operands;
                 for (std::size_t at = 0; at < one.operands.size(); ++at)
                   operands.push_back(operand(at, i));
                 return random.number(what, operands, dtype(id));
               }));
  std::map<int, RandomCode::Words> drawn;  // by lane
  const auto words = [&](int i) -> const RandomCode::Words& {
    const auto known = drawn.find(i);
    if (known != drawn.end()) return known->second;
    return drawn[i] = random.words(operand(0, i), operand(1, i), operand(2, i));
  };
  for (std::size_t k = 0; k < one.results.size(); ++k)
    set(one.results[k], per_lane(axes(id), [&](int i) { return words(i).at(k); }));
}

}  // namespace assay
