// The host side of a compiled program: what it allocates, views, reuses, launches, frees and
// returns, in order. Whole in this header; kernels are in kernel.h.
#pragma once
#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/program/kernel.h"
#include "core/shape/shape_env.h"
#include "core/tensor/meta.h"

namespace assay {

/// A tensor as an operand: a named buffer, or a view of it made on the spot.
/// Sizes, strides and the offset are in elements; the offset counts from the start of the storage.
struct HostView {
  std::string base;
  bool is_reinterpreted = false;  ///< false: the buffer as it is, the rest is empty
  Dims sizes, strides;
  Expr offset;
  std::optional<DType> dtype;  ///< only where it is another than the base's
};

struct HostArg;
using HostArgs = std::vector<HostArg>;
/// Not read further (method calls, names of the runtime); see HostArg::mentions.
struct HostOpaque {};
struct HostNone {};
/// `buf11.item()` as an argument: the only element of a tensor.
struct HostElementOf {
  std::string buffer;
};
/// `buf0[1]`: what stands in a list.
struct HostItemOf {
  std::string tuple;
  std::size_t index = 0;
};
/// Numbers and truth values are Exprs; text is a string of the program.
struct HostValue
    : std::variant<HostOpaque, Expr, HostView, HostArgs, HostNone, HostElementOf, HostItemOf, DType,
                   Device, std::string, Layout, MemoryFormat, std::complex<double>> {
  using variant::variant;
  using variant::operator=;
  HostValue();
  HostValue(const HostValue& other);
  HostValue(HostValue&& other) noexcept;
  auto operator=(const HostValue& other) -> HostValue&;
  auto operator=(HostValue&& other) noexcept -> HostValue&;
  ~HostValue();
};
struct HostArg {
  HostValue value;
  std::string keyword;                ///< empty for positional arguments
  std::string text;                   ///< as written
  std::vector<std::string> mentions;  ///< buffers named anywhere in it
};

/// `buf0 = empty_strided_cuda(sizes, strides, dtype)`
struct HostAlloc {
  std::string name;
  Dims sizes, strides;
  DType dtype = DType::float32;
  Device device;
};
/// `buf1 = reinterpret_tensor(buf0, ...)`, `buf1 = buf0`, `buf1 = alloc_from_pool(pool0, ...)`
struct HostBind {
  std::string name;
  HostView source;
  bool is_reuse = false;    ///< the old value is dead: its name is deleted in the same line
  bool is_in_pool = false;  ///< alloc_from_pool
  Expr pool_offset_bytes = {};
};
/// `ps0 = 8*s27`, `triton_poi_fused_0_xnumel = 16*s77`, `s77 = primals_1`
struct HostScalar {
  /// What a number that is no expression is read from.
  enum class Source : std::uint8_t { none, item, size, stride, offset, numel };
  std::string name;
  Expr value;             ///< over the symbols of HostProgram::env
  bool is_fresh = false;  ///< read from data (`u0 = buf0.item()`): value is a symbol of its own
  bool is_input = false;  ///< `s77 = primals_1`: the input's value is the symbol's
  Expr symbol;            ///< that the value is bound to, of inputs and fresh values
  Source source = Source::none;
  std::string buffer;         ///< that it is read from, if `source` says so
  std::size_t dimension = 0;  ///< of size and stride
};
/// `arg1_1_size = arg1_1.size()`: a list of numbers.
struct HostShape {
  std::string name, buffer;
  HostScalar::Source source = HostScalar::Source::size;
};
/// `assert_size_stride(buf0, sizes, strides, 'op')`: false stops the program.
struct HostCheck {
  std::string name;
  Dims sizes, strides;
  std::optional<DType> dtype;  ///< assert_tensor_metadata only
};
/// What the wrapper checks or claims about scalars: `if not (u0 >= 0): raise ...`, `assert ...`.
struct HostFact {
  Expr condition;
};
/// `triton_poi_fused_0.run(buf0, s77, xnumel, stream=stream0)`, `cpp_fused_0(buf0, buf1)`
struct HostLaunch {
  std::string kernel;  ///< key of HostProgram::kernels, unless the text does not have it
  HostArgs args;       ///< without stream and grid
};
/// `extern_kernels.mm(a, b, out=buf0)`, `buf1 = torch.ops.aten.convolution.default(...)`,
/// `buf0.copy_(x)`
struct HostCall {
  std::string target;                ///< "extern_kernels.mm"; of a method call ".copy_"
  std::vector<std::string> results;  ///< names that get its results
  HostArgs args;                     ///< of a method call the receiver first
  bool is_unpacked = false;          ///< `(buf1,) = f(x)`: not the tuple, what stands in it
};
/// `buf5 = buf4[0]`
struct HostItem {
  std::string name, tuple;
  std::size_t index = 0;
};
/// `buf4[0] = true_graph_0_buf1`
struct HostStore {
  std::string tuple;
  std::size_t index = 0;
  HostArg value;
};
/// `buf3 = [buf1, buf2]`, arguments of a partition
struct HostGroup {
  std::string name;
  HostArgs items;
};
struct HostDelete {
  std::vector<std::string> names;
};
/// A truth value; of a tensor that of its only element.
struct HostCondition {
  HostArg value;
  bool is_negated = false;
};
/// `if buf3_selector == 0:`, then `elif` and `else`, then where the last of them ends. One of the
/// branches runs; without an `else` perhaps none. What decides is data.
struct HostBranch {
  enum class Kind : std::uint8_t { open, otherwise, close } kind = Kind::open;
  bool is_exhaustive = false;    ///< `else`
  HostCondition condition = {};  ///< of `if` and `elif`
};
/// `while should_loop:`, `if not buf1.item(): break`, and where the body ends.
struct HostLoop {
  enum class Kind : std::uint8_t { open, leave, close } kind = Kind::open;
  HostCondition condition = {};  ///< to go on, or to leave
};
struct HostReturn {
  HostArgs values;
};
/// Without effect on memory: streams, device guards, alignment asserts, hooks.
struct HostNote {};

struct HostWhat : std::variant<HostNote, HostAlloc, HostBind, HostScalar, HostShape, HostCheck,
                               HostFact, HostLaunch, HostCall, HostItem, HostStore, HostGroup,
                               HostDelete, HostBranch, HostLoop, HostReturn> {
  using variant::variant;
  using variant::operator=;
  HostWhat();
  HostWhat(const HostWhat& other);
  HostWhat(HostWhat&& other) noexcept;
  auto operator=(const HostWhat& other) -> HostWhat&;
  auto operator=(HostWhat&& other) noexcept -> HostWhat&;
  ~HostWhat();
};
struct HostOp {
  HostWhat what;
  int line = 0;      ///< 1-based, in the wrapper's text
  std::string text;  ///< the statement
};

/// `call` of the wrapper, or one of its partitions.
struct HostFunction {
  std::string name;
  std::vector<std::string> inputs;  ///< names the arguments are unpacked to
  std::vector<HostOp> ops;
  int loop_line = 0;  ///< of the first `while`, or block that is not followed; 0: there is none
};

/// Source of one kernel, named by the variable that holds it.
struct KernelSource {
  std::string name;
  std::string language;  ///< "triton", "cpp" (C++ for the CPU), or what async_compile calls it
  std::string text;      ///< of the string literal, decoded
  int line = 0;          ///< of its first line in the wrapper's text
  std::vector<std::string> cpp_params;  ///< of cpp_pybinding: "const float*", "const int64_t"
  std::vector<std::string> nodes;       ///< graph nodes it computes, from the comment above it
  /// What it gives, of those and of buffers that are no node (`buf4`), from the same comment; some
  /// may not be stored.
  std::vector<std::string> gives;
  std::shared_ptr<const TileKernel> kernel;  ///< as read; null: `not_read` says why
  std::string not_read;
};

/// `multi_kernel`: the first of several kernels that do the same, and which of a launch's arguments
/// are its: from, up to; none: all.
struct KernelChoice {
  std::string kernel;
  std::vector<std::pair<std::int64_t, std::int64_t>> arguments;
};

/// What `get_args` at the end of a wrapper makes for an input: hints, and its dtype.
struct HostExample {
  std::vector<std::int64_t> sizes, strides;
  DType dtype = DType::float32;
  std::string bytes = {};  ///< of the storage, where `recorded` gives them; else made up
  Device device = {};
};

/// What a script asserts of its program's first output, element by element in row-major order.
struct HostExpected {
  std::string example;   ///< the name of what it is compared with, among the examples
  double tolerance = 0;  ///< absolute
};

struct HostLine {
  int line = 0;
  std::string text;
  std::string reason;
};

struct HostProgram {
  ShapeEnv env;  ///< symbols of the program; a symbol nobody declared has PyTorch's default range
  std::map<std::string, KernelSource> kernels;
  std::map<std::string, KernelChoice> choices;  ///< by the name that is launched
  std::vector<HostFunction> functions;          ///< partitions first, `call` last
  std::map<std::string, HostExample> examples;
  std::map<std::string, std::int64_t> example_numbers;  ///< `primals_1 = 16`
  std::optional<HostExpected> expected = {};
  int statements = 0;                    ///< logical lines outside of kernels
  std::vector<HostLine> not_understood;  ///< those of them that are kept, but not followed
};

/// The function of the program that a call names: `true_graph_0`, `self.partitions[0]`
/// (partition_0); null if it is none.
[[nodiscard]] auto find_function(const HostProgram& program, std::string_view target)
    -> const HostFunction*;

}  // namespace assay
