// The first call at new sizes, and the graphs that the second one makes.
#include "compiler/cuda/gpu_program.h"

namespace assay {

auto GpuProgram::first_call() -> Result<void> {
  first_parts_["run"] = 0;  // of a call that failed
  under_way_.reset();
  read_unwritten_.clear();
  if (is_one_by_one()) {  // launches are counted; nothing is gained by beginning early
    for (std::size_t at = 0; at < steps_.size(); ++at) prepare(at);
    count_items();
  }
  for (std::size_t at = 0; at < steps_.size(); ++at) ASSAY_TRY_VOID(first_issue(at));
  under_way_.reset();
  make_parts();
  is_complete_ = true;
  return {};
}

auto GpuProgram::first_issue(std::size_t at) -> Result<void> {
  auto& step = steps_[at];
  if (!step.is_prepared)
    timed("libraries", [&] {
      prepare(at);
      return true;
    });
  if (shared_.is_checked) ASSAY_TRY_VOID(check_reads(at));
  if (!step.is_on_host) {
    const auto issued = timed("run", [&] {
      note_so_far(at);
      return issue(step);
    });
    const auto& bound = bound_.steps[at];
    if (issued || std::holds_alternative<BoundLaunch>(bound)) return issued;
    // A library took the call and refuses it after all.
    const auto& why = issued.error().message;
    if (const auto* call = std::get_if<BoundCall>(&bound))
      leave_to_host(*call, step, why);
    else
      leave_to_host(std::get<BoundCopy>(bound), step, why);
  }
  under_way_.reset();
  return timed("run", [&] { return on_host(at); });
}

void GpuProgram::note_so_far(std::size_t at) {
  const auto& step = steps_[at];
  if (shared_.watch == nullptr || is_one_by_one() || step.items.empty()) return;
  if (!under_way_) {
    under_way_ = note_of(step.items.front(), 0);
    under_way_->number = 0;
    if (step.items.size() > 1) under_way_->kernel.clear();
  } else {
    under_way_->kernel.clear();
    under_way_->last_line = op_of(bound_.steps[at])->line;
  }
  shared_.watch->issues(*under_way_);
}

void GpuProgram::count_items() {
  items_ = 0;
  for (auto& step : steps_) {
    step.first = items_;
    items_ += step.items.size();
  }
}

void GpuProgram::make_parts() {
  count_items();
  parts_.clear();
  bool is_open = false;  // the last part takes what comes next on the GPU
  for (std::size_t at = 0; at < steps_.size(); ++at) {
    const auto& step = steps_[at];
    if (!step.is_on_host && step.items.empty()) continue;
    if (step.is_on_host || !is_open) parts_.push_back({.begin = at, .end = at});
    is_open = !step.is_on_host;
    parts_.back().end = at + 1;
    parts_.back().items += step.items.size();
  }
}

void GpuProgram::make_graphs() {
  was_repeated_ = true;
  if (is_one_by_one()) return;
  const auto start = Clock::now();
  // One launch by itself begins sooner than a graph of it, unless a library has to be asked for it.
  const auto is_one_launch = [this](const Part& part) {
    for (auto at = part.begin; part.items == 1 && at < part.end; ++at)
      if (!steps_[at].items.empty())
        return std::holds_alternative<Launch>(steps_[at].items.front());
    return false;
  };
  for (auto& part : parts_) {
    if (part.items == 0 || is_one_launch(part)) continue;
    if (auto graph = capture(part)) part.graph = *graph;
  }
  const auto middle = Clock::now();
  shared_.graphs.make_room(parts_.size());
  for (auto& part : parts_) {
    if (part.graph == nullptr || shared_.graphs.exec_for(part.graph)) continue;
    driver_.destroy(part.graph, nullptr);
    part.graph = nullptr;
  }
  second_parts_["capture"] = std::chrono::duration<double>(middle - start).count();
  second_parts_["graph"] = seconds_since(middle);
}

auto GpuProgram::capture(const Part& part) -> Result<cuda::GraphHandle*> {
  ASSAY_TRY_VOID(driver_.begin_capture());
  Result<void> issued;
  for (auto at = part.begin; issued && at < part.end; ++at) issued = issue(steps_[at]);
  ASSAY_TRY(auto* const graph, driver_.end_capture());
  if (issued) return graph;
  driver_.destroy(graph, nullptr);
  return std::unexpected(issued.error());
}

}  // namespace assay
