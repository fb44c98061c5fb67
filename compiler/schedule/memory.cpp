#include "compiler/schedule/memory.h"

#include <algorithm>

namespace assay {
namespace {

class Chooser {
 public:
  Chooser(const ScheduleInput& input, const ScheduleOptions& options,
          std::vector<CompileDecision>& decisions)
      : graph_(input.graph), options_(options), decisions_(decisions) {
    const auto count = graph_.defs.size();
    choice_.needed.resize(count);
    choice_.stored.resize(count);
    choice_.wanted.resize(count);
    choice_.calls.resize(graph_.calls.size());
    uses_.resize(count);
    repeated_.resize(count);
    weight_.resize(count);
    loads_.resize(count);
    for (const auto& output : input.outputs) visit_tensors(output, [&](DefId id) { want(id); });
  }

  auto run() -> MemoryChoice {
    for (std::size_t i = 0; i < graph_.calls.size(); ++i)
      if (!graph_.calls[i].written.empty()) need_call(i);
    count_uses();
    keep_before_writes();
    for (DefId id = 0; id < graph_.defs.size(); ++id)
      if (choice_.needed[id]) decide(id);
    return std::move(choice_);
  }

 private:
  /// Somebody outside of loops wants the tensor: its owner goes into memory.
  void want(DefId id) {
    const auto owner = graph_.defs[id].owner;
    choice_.wanted[owner] = true;
    choice_.stored[owner] = true;
    need(owner);
  }
  void need_call(std::size_t i) {
    if (choice_.calls[i]) return;
    choice_.calls[i] = true;
    const auto& call = graph_.calls[i];
    // What a kernel that writes at indices reads may be computed there.
    for (const auto& arg : call.args)
      visit_tensors(arg, [&](DefId id) {
        if (call.scatter && id != call.scatter->into)
          need(id);
        else
          want(id);
      });
  }
  void need(DefId id) {
    if (choice_.needed[id]) return;
    choice_.needed[id] = true;
    const auto& def = graph_.defs[id];
    if (def.call) need_call(*def.call);
    // A view nobody can follow needs its owner in memory.
    if (!def.is_computed() && def.owner != id) return want(id);
    for (const auto read : def.reads) need(read);
  }

  /// The tensor behind views that loops can follow.
  [[nodiscard]] auto behind(DefId id, bool& repeats) const -> DefId {
    while (graph_.defs[id].owner != id && graph_.defs[id].element) {
      repeats = repeats || graph_.defs[id].repeats;
      id = graph_.defs[id].reads[0];
    }
    return id;
  }
  [[nodiscard]] auto is_view(DefId id) const -> bool { return graph_.defs[id].owner != id; }

  void count_uses() {
    for (DefId id = 0; id < graph_.defs.size(); ++id) {
      const auto& def = graph_.defs[id];
      if (!choice_.needed[id] || is_view(id)) continue;
      for (const auto read : def.reads) count_use(read, def.repeats);
    }
    for (std::size_t i = 0; i < graph_.calls.size(); ++i)
      if (const auto& call = graph_.calls[i]; choice_.calls[i] && call.scatter)
        for (const auto& arg : call.args)
          visit_tensors(arg, [&](DefId id) {
            if (id != call.scatter->into)
              count_use(id, graph_.defs[id].meta.sizes != call.scatter->over);
          });
  }
  void count_use(DefId read, bool repeats) {
    const auto source = behind(read, repeats);
    ++uses_[source];
    repeated_[source] = repeated_[source] || repeats;
  }

  /// Loops that read what a later call overwrites run before it, if anybody needs them after it.
  void keep_before_writes() {
    for (std::size_t i = 0; i < graph_.calls.size(); ++i) {
      const auto& call = graph_.calls[i];
      for (const auto written : call.written) {
        const auto storage = graph_.defs[written].storage;
        std::vector<bool> reads(call.defs_before, false);
        for (DefId id = 0; id < call.defs_before; ++id) {
          const auto& def = graph_.defs[id];
          reads[id] = def.storage == storage;
          for (const auto from : def.reads) reads[id] = reads[id] || (from < id && reads[from]);
          if (reads[id] && def.is_computed() && !is_view(id) && choice_.needed[id])
            choice_.stored[id] = true;
          if (choice_.stored[id]) reads[id] = def.storage == storage;
        }
      }
    }
  }

  [[nodiscard]] auto is_on_gpu(DefId id) const -> bool {
    return graph_.defs[id].meta.device.type == "cuda";
  }
  /// Whether it is a line made of positions alone, by a few operations that a GPU does in less time
  /// than a kernel more takes. Planes, as masks are, are read by more elements than they have.
  [[nodiscard]] auto is_of_positions(DefId id) const -> bool {
    constexpr int kFew = 32;
    const auto& sizes = graph_.defs[id].meta.sizes;
    const auto extents =
        std::ranges::count_if(sizes, [](const Expr& one) { return !one.is_int(1); });
    return is_on_gpu(id) && extents <= 1 && loads_[id] == 0 && weight_[id] <= kFew;
  }
  /// Whether every reader rather computes it than memory is written and read. GPUs compute some
  /// thirty operations while an element is on its way there and back; taps of a window are as many
  /// readers.
  [[nodiscard]] auto is_cheap(DefId id) const -> bool {
    constexpr int kAnywhere = 4, kOnGpu = 24, kMostLoads = 4;
    if (weight_[id] <= kAnywhere || is_of_positions(id)) return true;
    return is_on_gpu(id) && (uses_[id] - 1) * weight_[id] <= kOnGpu && loads_[id] <= kMostLoads;
  }

  void decide(DefId id) {
    const auto& def = graph_.defs[id];
    if (!def.is_computed() || is_view(id)) return;
    int weight = def.cost, loads = 0;
    for (const auto read : def.reads) {
      bool repeats = false;
      const auto source = behind(read, repeats);
      const bool is_inlined = graph_.defs[source].is_computed() && !choice_.stored[source];
      weight += is_inlined ? weight_[source] : 1;
      loads += is_inlined ? loads_[source] : 1;
    }
    weight_[id] = weight;
    loads_[id] = loads;
    constexpr int kRepeated = 3;
    std::string reason;
    if (choice_.stored[id]) {
      reason = "somebody outside of loops reads it";
    } else if (def.reduction) {
      reason = "a reduction";
    } else if (uses_[id] > 1 && !is_cheap(id)) {
      reason = fmt::format("{} tensors read it, {} operations each", uses_[id], weight);
    } else if (repeated_[id] && weight > kRepeated && !is_of_positions(id)) {
      reason = "elements are read repeatedly";
    } else if (weight > options_.most_operations) {
      reason = fmt::format("{} operations per element", weight);
    }
    const bool is_needed = choice_.stored[id] || def.reduction;
    bool is_stored = !reason.empty();
    if (is_stored && !is_needed && options_.is_forbidden &&
        options_.is_forbidden(
            {CompileDecision::Kind::store, true, def.origin, def.target, reason})) {
      is_stored = false;
      reason = "forbidden";
    }
    if (is_stored) choice_.stored[id] = true;
    if (reason.empty()) reason = fmt::format("{} operations where it is read", weight);
    decisions_.push_back({CompileDecision::Kind::store, is_stored, def.origin, def.target, reason});
  }

  const LoweredGraph& graph_;
  const ScheduleOptions& options_;
  std::vector<CompileDecision>& decisions_;
  MemoryChoice choice_;
  std::vector<int> uses_, weight_, loads_;  ///< operations and loads of one element
  std::vector<bool> repeated_;
};

}  // namespace

void MemoryChoice::visit_read(const LoweredGraph& graph, DefId id,
                              const std::function<void(DefId)>& visit) const {
  const auto& def = graph.defs[id];
  if (!def.is_computed() || (def.owner == id && stored[id])) return visit(id);
  for (const auto read : def.reads) visit_read(graph, read, visit);
}

auto choose_memory(const ScheduleInput& input, const ScheduleOptions& options,
                   std::vector<CompileDecision>& decisions) -> MemoryChoice {
  return Chooser(input, options, decisions).run();
}

void visit_tensors(const CallArg& arg, const std::function<void(DefId)>& visit) {
  if (arg.tensor) visit(*arg.tensor);
  for (const auto& item : arg.items) visit_tensors(item, visit);
}

}  // namespace assay
