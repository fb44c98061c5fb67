// Values in repro scripts: what load_args says about inputs, and what __init__ says about buffers.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/arguments.h"
#include "core/graph/module_reader.h"
#include "replay/formats/capture.h"
#include "replay/formats/nn_modules.h"

namespace assay {

/// Values that a script does not hold: floats in [-1, 1) from a seed of their own, so that no two
/// storages are equal; integers and booleans are 0, which is a valid index everywhere.
[[nodiscard]] auto default_fill(std::size_t storage, DType dtype) -> Fill;

/// Symbols of the script, and expressions over them at their hints.
class HintEvaluator {
 public:
  explicit HintEvaluator(ClaimReader& claims) : claims_(claims) {}
  [[nodiscard]] auto expr(std::string_view text) -> Result<Expr> { return claims_.expr(text); }
  /// Value of a constant or of an expression whose symbols all have hints; nothing otherwise.
  [[nodiscard]] auto value(const Expr& e) -> std::optional<std::int64_t>;
  void forget_hints() { hints_.reset(); }
  [[nodiscard]] auto claims() -> ClaimReader& { return claims_; }

 private:
  ClaimReader& claims_;
  std::optional<Binding> hints_;
};

/// Reads the statements of load_args, and what older scripts have in its place (`args = [...]`,
/// `args.append(...)`), into the inputs and storages of a capture. `reader.` calls and other values
/// that record nothing leave the input unknown.
class InputScript {
 public:
  InputScript(Capture& capture, HintEvaluator& values) : capture_(capture), values_(values) {}

  /// Errors: bad_input (views past their storage, unknown buffers, sizes below 0) with the line.
  [[nodiscard]] auto statement(const SourceLine& line) -> Result<void>;
  /// `args = [((2, 256), (256, 1), torch.float32, 'cuda'), ...]`, with a fifth part for
  /// requires_grad, or with values as in append. A comprehension changes nothing.
  [[nodiscard]] auto list(const SourceLine& line) -> Result<void>;
  /// `args.append(rand_strided(...))  # shape (s0, 4), stride (4, 1)`: PyTorch 2.0 writes hints
  /// into the call and symbols into the comment.
  [[nodiscard]] auto append(const SourceLine& line, std::string_view comment) -> Result<void>;
  /// What the script claims about its inputs, one per input; empty claims where it says nothing.
  [[nodiscard]] auto claims() const -> const std::vector<Claim>& { return claims_; }
  /// `reader.symint(2)` says nothing of its symbol, but Dynamo lifts the symbols of a tensor in the
  /// order of its sizes to right before it: as many numbers as the next tensor brings new symbols
  /// are those, unless the script tells their hints. Anything else stays untied.
  void tie_numbers();

 private:
  struct Call {
    std::string method;
    std::vector<int> positional;
    std::map<std::string, int, std::less<>> named;
  };
  /// A storage as the script gives it.
  struct Buffer {
    int storage = -1;
    Expr size_bytes;
  };

  auto parse_call(const PythonCursor& cursor, int syntax) -> std::optional<Call>;
  auto storage(const PythonCursor& cursor, const Call& call, std::string_view name) -> Result<void>;
  auto input(const PythonCursor& cursor, const Call& call, const SourceLine& line) -> Result<void>;
  auto tensor(const PythonCursor& cursor, const Call& call) -> Result<void>;
  auto symint(const PythonCursor& cursor, const Call& call) -> Result<void>;
  auto dims(const PythonCursor& cursor, int syntax) -> Result<Dims>;
  auto read_dtype(const PythonCursor& cursor, int syntax) -> Result<DType>;
  auto read_device(const PythonCursor& cursor, int syntax) -> Result<Device>;
  auto add_tensor(TensorMeta meta, const Buffer& buffer) -> Result<void>;
  auto value(const PythonCursor& cursor, int syntax, const SourceLine& line) -> Result<void>;
  auto strided(const PythonCursor& cursor, const std::vector<int>& parts, bool requires_grad)
      -> Result<void>;
  auto made_tensor(const PythonCursor& cursor, int syntax, const SourceLine& line,
                   bool requires_grad) -> Result<void>;
  auto unknown(int line, std::string_view what) -> Result<void>;
  void add_symbols(std::string_view comment);

  Capture& capture_;
  HintEvaluator& values_;
  std::map<std::string, Buffer, std::less<>> buffers_;
  std::vector<Claim> claims_;
};

/// The tensor that an expression makes: tensor(...), torch.randn(...) and its like, .cuda() or
/// .to() on them. `line` begins at the expression. Its storage goes into the capture. Errors:
/// bad_input.
[[nodiscard]] auto read_tensor_value(const SourceLine& line, Capture& capture, ClaimReader& claims)
    -> Result<RecordedTensor>;

/// What a line of `__init__` sets: a tensor, or an instance of a class of the script.
struct InitValue {
  std::string name;
  std::optional<RecordedTensor> tensor;  ///< its storage is in the capture
  std::string class_name;                ///< `Inner()`: a class of the script
  std::optional<NnModule> module;        ///< `Linear(10, 5)`
};
/// Storage of a row-major tensor whose values the script does not hold, and a view of all of it.
/// Errors: bad_input (a tensor that no memory holds).
[[nodiscard]] auto unknown_tensor(Capture& capture, const Ints& sizes, DType dtype,
                                  const Device& device) -> Result<RecordedTensor>;
/// Nothing for lines that set no value (`super().__init__()`); errors for lines we cannot read.
[[nodiscard]] auto read_init_line(const SourceLine& line, Capture& capture, ClaimReader& claims)
    -> Result<std::optional<InitValue>>;

/// Calls of the module `value` become calls of its operator; its parameters become attributes below
/// `full_name`. Errors: those of nn_call and unknown_tensor, and unsupported (several inputs).
[[nodiscard]] auto inline_module(Graph& graph, const InitValue& value, const std::string& full_name,
                                 Capture& capture) -> Result<void>;

}  // namespace assay
