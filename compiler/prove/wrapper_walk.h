// Symbolic execution of a wrapper: names, storages, reuse. Internal to compiler/prove.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/prove/bounds_decider.h"
#include "compiler/prove/wrapper_bounds.h"

namespace assay {

struct HostStorage {
  std::string name;           ///< of the buffer it was made for
  std::optional<Expr> elems;  ///< extent in elements of `dtype`; nothing: not known
  std::optional<DType> dtype;
  int generation = 0;  ///< counts reuses; names of older generations are dead
  std::string reused_by;
};

struct HostBuffer {
  std::size_t storage = 0;
  int generation = 0;
  bool has_layout = false;
  Dims sizes, strides;
  Expr offset;
  std::optional<DType> dtype;
};

/// What a list of the wrapper holds: an argument as written, and the tensor that it was then. The
/// list keeps it alive, whatever becomes of its name.
struct HostElement {
  HostArg arg;
  std::optional<HostBuffer> buffer;
};

/// Where an obligation stands.
struct Place {
  const HostOp* op = nullptr;
  std::string kernel;
  int kernel_line = 0;
  std::string access;
};

class WrapperWalk {
 public:
  WrapperWalk(const HostProgram& program, const WrapperOptions& options);
  [[nodiscard]] auto run() -> WrapperReport;

 private:
  using Names = std::map<std::string, HostBuffer, std::less<>>;
  void walk(const HostFunction& function, Names names);
  void step(const HostOp& op, const HostAlloc& alloc);
  void step(const HostOp& op, const HostBind& bind);
  void step(const HostOp& op, const HostScalar& scalar);
  void step(const HostOp& op, const HostShape& shape);
  void step(const HostOp& op, const HostCheck& check);
  void step(const HostOp& op, const HostFact& fact);
  void step(const HostOp& op, const HostLaunch& launch);
  void step(const HostOp& op, const HostCall& call);
  void step(const HostOp& op, const HostItem& item);
  void step(const HostOp& op, const HostStore& store);
  void step(const HostOp& op, const HostBranch& branch);
  void step(const HostOp& op, const HostLoop& loop);
  void step(const HostOp& op, const HostGroup& group);
  void step(const HostOp& op, const HostDelete& gone);
  void step(const HostOp& op, const HostReturn& result);
  void step(const HostOp& op, const HostNote& note);

  // wrapper_branches.cpp
  /// Everything that a branch changes.
  struct State {
    std::vector<HostStorage> storages;
    Names names;
    std::map<std::string, std::string, std::less<>> deleted;
    std::map<std::string, std::vector<HostElement>, std::less<>> lists;
  };
  struct Fork {
    State before;
    std::optional<State> merged;  ///< of the branches that have ended
    bool is_exhaustive = false;
    std::size_t facts = 0;  ///< that hold before it
  };
  [[nodiscard]] auto state() const -> State { return {storages_, names_, deleted_, lists_}; }
  void restore(const State& state);
  void end_branch(Fork& fork);
  [[nodiscard]] auto merged(State a, const State& b) -> State;
  [[nodiscard]] auto merged(const HostBuffer& a, const HostBuffer& b, State& into) const
      -> HostBuffer;
  [[nodiscard]] auto inner_call(const HostOp& op, const HostCall& call) -> bool;
  [[nodiscard]] auto called(const HostCall& call) const -> const HostFunction*;
  [[nodiscard]] auto elements_of(const HostOp& op, const HostArgs& args)
      -> std::vector<HostElement>;

  // wrapper_walk.cpp
  [[nodiscard]] auto fresh(const std::string& name) -> HostBuffer&;
  [[nodiscard]] auto view_of(const HostOp& op, const HostView& view) -> std::optional<HostBuffer>;
  void check_extent(const HostOp& op, const HostBuffer& view);
  void check_layout(const HostOp& op, const HostCheck& check, const Dims& sizes,
                    const Dims& strides);
  void use(const HostOp& op, const HostArgs& args);
  [[nodiscard]] auto dead_reason(std::string_view name) const -> std::string;
  void product_shapes(const HostOp& op, const HostCall& call);
  [[nodiscard]] auto sizes_of(const HostArg& arg) const -> std::optional<Dims>;
  void add(WrapperClaim kind, const Place& place, std::string claim, Answer answer,
           std::string message = {});
  void add(WrapperClaim kind, const Place& place, std::string claim, Decision decision,
           std::string message = {});
  void add_facts(const Expr& condition, std::optional<std::size_t> guard,
                 const std::string& origin);
  /// Bound over sizes alone.
  [[nodiscard]] auto bound(const Expr& value) const -> Bound;
  [[nodiscard]] auto decide(const Bound& bound) -> Decision { return decide_bound(bound, prover_); }
  [[nodiscard]] auto equal(const Expr& a, const Expr& b) -> Decision;

  // launch_bounds.cpp
  [[nodiscard]] auto kernel_of(const std::string& name) -> const ProvedKernel*;
  struct Launch;
  [[nodiscard]] auto key_of(const Launch& launch) const -> std::string;
  void check_launch(Launch& launch);
  [[nodiscard]] auto bind_arguments(Launch& launch, const HostLaunch& what) -> std::string;
  static void add_known_grid(Launch& launch);
  void assume(const Expr& condition, std::string why);
  void assume_small_storages(const Launch& launch);
  void check_arguments(const Launch& launch);
  void check_access(const Launch& launch, const KernelAccess& access);
  [[nodiscard]] auto access_bound(const Launch& launch, const KernelAccess& access) const -> Bound;
  /// The condition that `numel`, which `index` takes apart, is at least 1, and what follows from
  /// it.
  static void add_not_empty(const Expr& numel, const Expr& index, Bound& bound);
  void add_axes(const Launch& launch, const KernelAccess& access, Bound& bound) const;
  [[nodiscard]] auto limit_of(const Launch& launch, const KernelAccess& access) const
      -> std::optional<Expr>;
  [[nodiscard]] auto trouble_of(const Launch& launch, const KernelAccess& access,
                                const Bound& bound) const -> std::string;
  [[nodiscard]] auto describe(const Launch& launch, const KernelAccess& access, const Expr& index,
                              const Expr& limit, const Binding& witness) const -> std::string;

  const HostProgram& program_;
  WrapperOptions options_;
  WrapperReport report_;
  Prover prover_;
  std::vector<HostStorage> storages_;
  Names names_;
  std::map<std::string, std::string, std::less<>> deleted_;  ///< name -> statement
  std::map<std::string, std::vector<HostElement>, std::less<>> lists_;
  std::vector<Fork> forks_;
  std::vector<bool> is_over_;  ///< facts that held in a branch only
  int loop_line_ = 0;          ///< from there on the order of execution is not known
  std::vector<HostBuffer> returned_;
  Ranges ranges_;
  Binding hints_;
  std::map<std::string, std::string> failed_kernels_;                    ///< and why
  std::map<std::string, std::pair<std::size_t, std::size_t>> launches_;  ///< their obligations
  int depth_ = 0;                                                        ///< of partitions
};

/// "s77 = 3, xindex = 41", sizes first.
[[nodiscard]] auto print_witness(const Binding& witness) -> std::string;
/// Symbols of kernel values carry a number behind a dot, which means nothing to people.
[[nodiscard]] auto without_numbers(std::string text) -> std::string;

}  // namespace assay
