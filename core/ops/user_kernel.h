// Kernels of the user's own, which a graph launches without saying what they do.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/ops/datum.h"

namespace assay {

/// One launch: what the kernel gets, by the names of its parameters, constants apart. Tensors are
/// written in place.
struct UserKernelCall {
  std::string name;  ///< of the node
  std::string code;  ///< the user's line, if it is known
  int place = 0;     ///< which launch of that line it is
  int places = 1;    ///< how many the line has
  std::vector<std::pair<std::string, Datum>> arguments;
  std::array<std::int64_t, 3> grid = {1, 1, 1};  ///< of the first of several configurations
  std::set<std::string> open;  ///< arguments that hold what nobody wrote, or drew at random
};
/// Whether what the call leaves in its arguments rests on what the open ones held. Errors:
/// unsupported (which kernel it is cannot be told, or it cannot run).
using LaunchUserKernel = std::function<Result<bool>(const UserKernelCall&)>;

}  // namespace assay
