// Parts of a wrapper: the same program with fewer statements, as text that runs by itself.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ops/op_table.h"

namespace assay {

/// A program of a file: a wrapper's text.
struct ProgramText {
  std::string name;  ///< "0/0 inductor_output_code#2", or the file
  std::string text;
  int log_line = 0;  ///< of the event
};
/// Errors: of the log reader, naming `name`.
[[nodiscard]] auto program_texts(std::string_view bytes, const std::string& name)
    -> Result<std::vector<ProgramText>>;

/// What a checked run of a wrapper finds: "out of bounds in triton_poi_fused_0, parameter
/// out_ptr0", each once, in the order of the run. Empty where it does not run to its end.
[[nodiscard]] auto run_failures(std::string_view text, const OpTable& table)
    -> std::vector<std::string>;

/// Do checked runs of it end? Findings do not matter.
[[nodiscard]] auto runs_to_its_end(std::string_view text, const OpTable& table) -> bool;

struct CutOptions {
  const DatumList* inputs = nullptr;  ///< what `call` gets, in its order; made up without
  /// Floats that become inputs are as they were in the run, not made up; so with `inputs`.
  bool keeps_contents = false;
  std::string returned;            ///< the only buffer to return, where it is left
  std::optional<Tensor> expected;  ///< what the script then asserts that buffer to be
  /// How far apart elements may be, in their own unit.
  double tolerance = 0;
};

class ProgramParts;

/// A wrapper whose statements may be left out. `call` keeps its lines as they are; one with
/// branches, loops or inner functions is first written as the way that its run takes. What a left
/// out launch or library call wrote and a kept one uses becomes an input: integers as they were in
/// the run of the whole program, floats made up unless the options say else. Their layout is
/// asserted, so that provers know it.
class CutProgram {
 public:
  /// Runs it once. Errors: of the reader; of straight_program.
  [[nodiscard]] static auto create(std::string text, const OpTable& table, CutOptions options = {})
      -> Result<CutProgram>;
  /// The units whose statement begins in this line of the text, 1-based.
  [[nodiscard]] auto units_of_line(int line) const -> std::vector<int>;
  /// Launches, library calls, asserts and deletes, in the order of the program.
  [[nodiscard]] auto count() const -> int;
  /// Of these, launches and library calls.
  [[nodiscard]] auto launches(const std::vector<int>& kept) const -> int;
  /// Of all statements, those that stay.
  [[nodiscard]] auto statements(const std::vector<int>& kept) const -> int;
  /// The wrapper that keeps these (ascending).
  [[nodiscard]] auto text(const std::vector<int>& kept) const -> std::string;

 private:
  std::shared_ptr<const ProgramParts> parts_;
};

/// The lines of a wrapper's kernels, in Triton or C++, that may be left out: complete statements in
/// their bodies, but no heads of blocks.
class CutKernels {
 public:
  explicit CutKernels(std::string_view text);
  [[nodiscard]] auto count() const -> int { return static_cast<int>(lines_.size()); }
  /// Nothing where a block would lose all its lines.
  [[nodiscard]] auto text(const std::vector<int>& kept) const -> std::optional<std::string>;

 private:
  std::vector<std::string> all_;
  std::vector<std::size_t> lines_;  ///< which of them may go
};

}  // namespace assay
