#include "compiler/faults/faults.h"

#include <algorithm>
#include <array>
#include <set>

namespace assay {
namespace {

using enum FaultCatcher;
using enum FaultPlace;
constexpr std::array kRows = {
    FaultRow{Fault::short_storage, "short-storage", "F1",
             "buffers are allocated without their last row", "pytorch#169760", program, prove,
             "access-in-bounds"},
    FaultRow{Fault::leaked_strides, "leaked-strides", "F3",
             "what is returned keeps strides padded for alignment", "pytorch#177546", program,
             compare, ": strides are"},
    FaultRow{Fault::early_death, "early-death", "F5",
             "the memory plan takes buffers for dead one step before they are", "pytorch#100314",
             memory, plan, "share bytes"},
    FaultRow{Fault::dropped_asserts, "dropped-asserts", "F6", "layouts of inputs are not asserted",
             "pytorch#96296", program, prove, "access-in-bounds"},
    FaultRow{Fault::narrow_index, "narrow-index", "F7", "indices are computed in 32 bits",
             "pytorch#189108", program, prove, "fits-32-bits"},
    FaultRow{Fault::specialised, "specialised", "F8", "sizes are asserted to be those of the hints",
             "pytorch#92079", program, check, "is false"},
    FaultRow{Fault::lost_offset, "lost-offset", "F9", "views begin where their storage does",
             "pytorch#191002", program, compare, "output "},
    FaultRow{Fault::lost_mutation, "lost-mutation", "F14", "writes into inputs are dropped",
             "pytorch#88375", program, compare, " after: "},
    FaultRow{Fault::lost_dependency, "lost-dependency", "more",
             "a kernel runs before the one whose result it reads", "the class of lost dependencies",
             program, check, "uninitialised-read"},
    FaultRow{Fault::short_loop, "short-loop", "more",
             "the outermost loop of kernels ends one early", "the class of wrong tails and masks",
             program, FaultCatcher::run, "rounding explains|nothing was written there"},
    FaultRow{Fault::lost_store, "lost-store", "more",
             "a kernel that stores several tensors leaves the first one out",
             "the class of stores taken for dead", program, FaultCatcher::run,
             "nothing was written there|output "},
    FaultRow{Fault::negative_pad, "negative-pad", "F2",
             "rows leave room for a pad once more than there is, also where it is negative",
             "pytorch#194558", lowered, FaultCatcher::run, "output |the storage has"},
    FaultRow{Fault::shared_layout, "shared-layout", "F4",
             "a tensor and its views share one layout object, which the view writes",
             "pytorch#180898", lowered, FaultCatcher::run, "output |storage"},
    FaultRow{Fault::wrong_strides, "wrong-strides", "F10",
             "the rule of one call gives it another order of strides", "pytorch#87849", claims,
             debug, ""},
    FaultRow{Fault::failing_view, "failing-view", "F11",
             "the same, of a call that a view behind it needs as it is", "pytorch#83362", claims,
             debug, ""},
    FaultRow{Fault::merged_copies, "merged-copies", "F12",
             "equal calls become one although their results must not share memory",
             "pytorch#114344", graph, compare, "output "},
    FaultRow{Fault::lost_gradient, "lost-gradient", "F13",
             "of two gradients of one tensor the second is not added", "pytorch#181146", graph,
             compare, "output "},
    FaultRow{Fault::looping_rules, "looping-rules", "F15",
             "two rules of simplification undo each other", "the class of rules that loop", rules,
             steps, "did not end"},
    FaultRow{Fault::blind_compare, "blind-compare", "F16",
             "every comparison says that nothing differs",
             "the class of checks that are always true", tool, mutants, "not seen"},
    FaultRow{Fault::lost_tail, "lost-tail", "more",
             "the outermost loop ends one early unless it is a multiple of eight long",
             "the class of wrong tails and masks", program, FaultCatcher::run,
             "rounding explains|nothing was written there"},
};

class Injector {
 public:
  Injector(HostProgram& program, std::string_view at)
      : program_(program), ops_(program.functions.back().ops), at_(at) {}

  auto run(Fault fault) -> bool {
    switch (fault) {
      case Fault::short_storage:
        return each<HostAlloc>([](HostAlloc& alloc) { return shorten(alloc); });
      case Fault::leaked_strides:
        return leak_strides();
      case Fault::dropped_asserts:
        return drop_asserts();
      case Fault::narrow_index:
        return each_kernel([](TileKernel& kernel) { return narrow(kernel); });
      case Fault::specialised:
        return specialise();
      case Fault::lost_offset:
        return lose_offsets();
      case Fault::lost_mutation:
        return lose_mutations();
      case Fault::lost_dependency:
        return lose_dependency();
      case Fault::short_loop:
        return each_kernel([](TileKernel& kernel) { return shorten(kernel); });
      case Fault::lost_tail:
        return each_kernel([](TileKernel& kernel) { return lose_tail(kernel); });
      case Fault::lost_store:
        return each_kernel([](TileKernel& kernel) { return lose_store(kernel); });
      case Fault::early_death:
      case Fault::negative_pad:
      case Fault::shared_layout:
      case Fault::wrong_strides:
      case Fault::failing_view:
      case Fault::merged_copies:
      case Fault::lost_gradient:
      case Fault::looping_rules:
      case Fault::blind_compare:
        return true;  // of other places
    }
    return false;
  }

 private:
  template <class T, class F>
  auto each(const F& change) -> bool {
    bool any = false;
    for (auto& op : ops_)
      if (auto* what = std::get_if<T>(&op.what)) any = change(*what) || any;
    return any;
  }
  template <class F>
  auto each_kernel(const F& change) -> bool {
    bool any = false;
    for (auto& [name, source] : program_.kernels) {
      if (!at_.empty() && std::ranges::find(source.nodes, at_) == source.nodes.end()) continue;
      auto kernel = *source.kernel;
      if (!change(kernel)) continue;
      source.kernel = std::make_shared<const TileKernel>(std::move(kernel));
      any = true;
    }
    return any;
  }

  static auto shorten(HostAlloc& alloc) -> bool {
    if (alloc.sizes.empty() || alloc.sizes[0].is_int(1)) return false;
    alloc.sizes[0] = alloc.sizes[0] - 1;
    return true;
  }
  static auto shorten(TileKernel& kernel) -> bool {
    for (auto& axis : kernel.axes) {
      if (axis.kind != TileAxis::Kind::parallel || !axis.extent) continue;
      axis.extent = *axis.extent - 1;
      return true;
    }
    return false;
  }

  static auto lose_tail(TileKernel& kernel) -> bool {
    for (auto& axis : kernel.axes) {
      if (axis.kind != TileAxis::Kind::parallel || !axis.extent) continue;
      const auto tail = min(mod(*axis.extent, 8), 1);
      axis.extent = *axis.extent - tail;
      return !tail.is_int(0);
    }
    return false;
  }

  static auto lose_store(TileKernel& kernel) -> bool {
    auto& body = kernel.body.body;
    const auto is_store = [](const TileStatement& one) {
      return std::holds_alternative<TileStore>(one.what);
    };
    if (std::ranges::count_if(body, is_store) < 2) return false;
    body.erase(std::ranges::find_if(body, is_store));
    return true;
  }

  /// Buffers that are returned as they are.
  [[nodiscard]] auto returned() const -> std::set<std::string> {
    std::set<std::string> names;
    for (const auto& op : ops_)
      if (const auto* what = std::get_if<HostReturn>(&op.what))
        for (const auto& value : what->values)
          if (const auto* view = std::get_if<HostView>(&value.value))
            if (!view->is_reinterpreted) names.insert(view->base);
    return names;
  }
  /// Rows of returned matrices stand 16 elements further apart.
  auto leak_strides() -> bool {
    const auto names = returned();
    return each<HostAlloc>([&](HostAlloc& alloc) {
      if (alloc.sizes.size() < 2 || !names.contains(alloc.name)) return false;
      alloc.strides[0] = alloc.strides[0] + 16;
      return true;
    });
  }
  /// Of inputs that kernels read.
  auto drop_asserts() -> bool {
    const auto& inputs = program_.functions.back().inputs;
    std::set<std::string> read;
    for (const auto& op : ops_)
      if (const auto* launch = std::get_if<HostLaunch>(&op.what))
        for (const auto& arg : launch->args) read.insert(arg.mentions.begin(), arg.mentions.end());
    return std::erase_if(ops_, [&](const HostOp& op) {
             const auto* check = std::get_if<HostCheck>(&op.what);
             return check != nullptr && read.contains(check->name) &&
                    std::ranges::find(inputs, check->name) != inputs.end();
           }) > 0;
  }

  /// Numbers of the kernel that indices are made of: neither read from memory nor written there.
  static auto narrow(TileKernel& kernel) -> bool {
    auto narrowed = kernel;
    bool has_index = false;
    for (auto& param : narrowed.params)
      if (param.kind == TileParam::Kind::scalar && param.dtype == DType::int64)
        param.dtype = DType::int32;
    for (auto& value : narrowed.values)
      if (value.type.dtype == DType::int64) value.type.dtype = DType::int32;
    for (const auto& one : narrowed.body.body)
      has_index = has_index || std::holds_alternative<TileIndex>(one.what);
    if (!has_index || !verify(narrowed).empty()) return false;
    kernel = std::move(narrowed);
    return true;
  }

  auto specialise() -> bool {
    const auto hints = program_.env.hints();
    std::vector<HostOp> made;
    for (const auto& op : ops_) {
      const auto* scalar = std::get_if<HostScalar>(&op.what);
      if (scalar == nullptr || !scalar->is_input) continue;
      const auto hint = hints.find(scalar->symbol);
      if (hint == hints.end()) continue;
      HostOp fact;
      fact.what = HostFact{eq(scalar->symbol, hint->second)};
      fact.line = op.line;
      fact.text = "assert " + op.text;
      made.push_back(std::move(fact));
    }
    const auto after = std::ranges::find_if(
        ops_, [](const HostOp& op) { return !std::holds_alternative<HostScalar>(op.what); });
    ops_.insert(after, made.begin(), made.end());
    return !made.empty();
  }

  auto lose_offsets() -> bool {
    bool any = false;
    const auto lose = [&](HostArgs& args) {
      for (auto& arg : args)
        if (auto* view = std::get_if<HostView>(&arg.value))
          if (view->is_reinterpreted && !view->offset.is_int(0)) {
            view->offset = 0;
            any = true;
          }
    };
    for (auto& op : ops_) {
      if (auto* call = std::get_if<HostCall>(&op.what)) lose(call->args);
      if (auto* done = std::get_if<HostReturn>(&op.what)) lose(done->values);
    }
    return any;
  }
  /// Copies into inputs, as calls and as kernels.
  auto lose_mutations() -> bool {
    const auto& inputs = program_.functions.back().inputs;
    return std::erase_if(ops_, [&](const HostOp& op) {
             if (const auto* call = std::get_if<HostCall>(&op.what))
               return call->target.ends_with("aten.copy_.default");
             const auto* launch = std::get_if<HostLaunch>(&op.what);
             const auto source =
                 launch == nullptr ? program_.kernels.end() : program_.kernels.find(launch->kernel);
             if (source == program_.kernels.end()) return false;
             const auto& kernel = *source->second.kernel;
             return std::ranges::any_of(kernel.body.body, [&](const TileStatement& one) {
               const auto* store = std::get_if<TileStore>(&one.what);
               return store != nullptr &&
                      std::ranges::find(inputs, kernel.params[store->param].name) != inputs.end();
             });
           }) > 0;
  }

  /// The first launch that reads what the launch before it made runs before that.
  auto lose_dependency() -> bool {
    HostOp* before = nullptr;
    for (auto& op : ops_) {
      const auto* launch = std::get_if<HostLaunch>(&op.what);
      if (launch == nullptr) continue;
      if (before != nullptr && shares_buffer(*before, *launch) && is_of_allocations(*launch)) {
        move_before(*before, op);
        return true;
      }
      before = &op;
    }
    return false;
  }
  [[nodiscard]] auto shares_buffer(const HostOp& before, const HostLaunch& launch) const -> bool {
    const auto& inputs = program_.functions.back().inputs;
    for (const auto& mine : std::get<HostLaunch>(before.what).args)
      for (const auto& name : mine.mentions)
        for (const auto& other : launch.args)
          if (std::ranges::find(other.mentions, name) != other.mentions.end() &&
              std::ranges::find(inputs, name) == inputs.end())
            return true;
    return false;
  }
  /// Its buffers are inputs or allocated, none the result of a call that it would overtake.
  [[nodiscard]] auto is_of_allocations(const HostLaunch& launch) const -> bool {
    const auto is_known = [&](const std::string& name) {
      const auto& inputs = program_.functions.back().inputs;
      return std::ranges::find(inputs, name) != inputs.end() ||
             std::ranges::any_of(ops_, [&](const HostOp& op) {
               const auto* alloc = std::get_if<HostAlloc>(&op.what);
               return alloc != nullptr && alloc->name == name;
             });
    };
    return std::ranges::all_of(launch.args, [&](const HostArg& arg) {
      return std::ranges::all_of(arg.mentions, is_known);
    });
  }
  /// Allocations between the two go along.
  void move_before(const HostOp& first, const HostOp& second) {
    const auto to = &first - ops_.data();
    const auto from = &second - ops_.data();
    std::stable_partition(ops_.begin() + to, ops_.begin() + from + 1, [&](const HostOp& op) {
      return std::holds_alternative<HostAlloc>(op.what);
    });
    const auto is_launch = [](const HostOp& op) {
      return std::holds_alternative<HostLaunch>(op.what);
    };
    const auto a = std::find_if(ops_.begin() + to, ops_.end(), is_launch);
    const auto b = std::find_if(a + 1, ops_.end(), is_launch);
    std::iter_swap(a, b);
  }

  HostProgram& program_;
  std::vector<HostOp>& ops_;
  std::string_view at_;
};

}  // namespace

auto name(FaultCatcher catcher) -> std::string_view {
  constexpr std::array<std::string_view, 8> kNames = {"prove", "check", "compare", "run",
                                                      "plan",  "debug", "steps",   "mutants"};
  return kNames[static_cast<std::size_t>(catcher)];
}

auto fault_rows() -> std::span<const FaultRow> {
  return kRows;
}

auto row(Fault fault) -> const FaultRow& {
  return kRows[static_cast<std::size_t>(fault)];
}

auto find_fault(std::string_view name) -> std::optional<Fault> {
  for (const auto& row : kRows)
    if (row.name == name) return row.fault;
  return std::nullopt;
}

auto apply_fault(Fault fault, HostProgram& program, std::string_view at) -> bool {
  return Injector(program, at).run(fault);
}

}  // namespace assay
