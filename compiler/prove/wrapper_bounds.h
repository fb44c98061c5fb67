// Storage and index bounds of a compiled program, for all sizes that its guards admit.
//
// The wrapper is executed symbolically, statement by statement: which storage a name stands for,
// how large it is, who reused it. Every view, launch and assert becomes obligations, each decided
// by itself. What a proof rests on beside guards and ranges is listed in the report.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/program/program.h"
#include "compiler/prove/kernel_accesses.h"
#include "compiler/prove/prover.h"

namespace assay {

enum class WrapperClaim : std::uint8_t {
  view_in_storage,   ///< offset and extent of a view lie in its storage
  access_in_bounds,  ///< every access of a launch lies in the storage behind its pointer
  fits_32_bits,      ///< i32 arguments and index arithmetic in 32 bits do not overflow
  assert_holds,      ///< assert_size_stride follows from how the buffer was made
  operands_live,     ///< nothing deleted, or overwritten through a reuse, is read
  shapes_agree,      ///< sizes of a matrix product and its result fit
};
[[nodiscard]] auto name(WrapperClaim kind) -> std::string_view;

struct WrapperObligation {
  WrapperClaim kind = WrapperClaim::view_in_storage;
  int line = 0;               ///< in the wrapper
  std::string statement;      ///< of the wrapper
  std::string kernel;         ///< empty outside of kernels
  int kernel_line = 0;        ///< in the wrapper's text too
  std::string access;         ///< "tl.load(in_ptr0 + (x0), xmask)"
  std::string claim;          ///< in words
  Answer answer = Unknown{};  ///< `needed` are positions in WrapperReport::facts
  std::string message;        ///< of a refuted one: what is needed and what is there, with numbers
  std::vector<Query> proofs;  ///< that it is proved by; none where nothing had to be computed
};

/// What a proof may rest on beside ranges and what the place itself says.
struct WrapperFact {
  Expr condition;
  std::optional<std::size_t> guard;  ///< position in the program's guards
  std::string origin;                ///< of other facts: the statement, or why it is assumed
};

/// A kernel and what it does to memory.
struct ProvedKernel {
  std::shared_ptr<const TileKernel> kernel;
  KernelAccesses accesses;
};

struct WrapperReport {
  ShapeEnv env;  ///< owns the symbols of witnesses and kernels
  std::vector<WrapperFact> facts;
  std::vector<WrapperObligation> obligations;
  /// Read once each; key is the kernel's name in the wrapper.
  std::map<std::string, ProvedKernel> kernels;
  std::vector<KernelLine> kernels_not_understood;  ///< text is the kernel's name
  std::vector<HostLine> lines_not_understood;
  std::vector<std::string> assumptions;  ///< what is taken for granted, each once
  int statements = 0;
  int launches = 0;
};

struct WrapperOptions {
  /// Guards of the compilation are known (a bare wrapper comes without). Without them it is assumed
  /// that arguments of type i32 and storages indexed in 32 bits fit, since Inductor guards on that
  /// before it chooses the type.
  bool guards_are_known = true;
  /// What the captured graph claims about inputs, over the symbols of the program: asserts on
  /// inputs must follow from it. An assert without such a claim is taken for a fact, as it runs
  /// first.
  std::map<std::string, TensorMeta> claims;
  /// What calls of the captured graph cannot do without, over the symbols of the program: where it
  /// is false, eager execution raises too. `where` names the node.
  std::vector<Guard> required;
};

[[nodiscard]] auto check_wrapper(const HostProgram& program, const WrapperOptions& options = {})
    -> WrapperReport;

}  // namespace assay
