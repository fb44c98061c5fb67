// Claims as print_readable annotates them: `f32[s77, 16][16, 1]cpu`, `Sym(s77)`, `(f32[2][1]cpu,
// None)`.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/text_map.h"
#include "core/graph/graph.h"

namespace assay {

/// Reads annotations and expressions of one capture and remembers them, since graphs repeat a few
/// hundred of them thousands of times. Symbols that appear are added to the environment.
class ClaimReader {
 public:
  /// `env` must outlive the reader.
  explicit ClaimReader(ShapeEnv& env) : env_(env) {}

  /// Do annotations without a note on the offset state that it is 0? PyTorch's texts never say, so
  /// not before a header of ours is read.
  void set_offsets_stated(bool stated) { offsets_stated_ = stated; }

  /// Text between the quotes of an annotation. Annotations that are no claims (type names) give an
  /// empty claim. Strides, offsets and devices left out are not stated. Errors: bad_input without a
  /// place.
  [[nodiscard]] auto claim(std::string_view annotation) -> Result<Claim>;
  /// Any spelling of an expression; its symbols are added if they are new, and have names that
  /// Python takes. Errors: bad_input without a place.
  [[nodiscard]] auto expr(std::string_view text) -> Result<Expr>;
  /// The symbol of that name. Errors: bad_input where it reads as something else (`oo`, `s0 + 1`).
  [[nodiscard]] auto symbol(std::string_view name) -> Result<Expr>;
  [[nodiscard]] auto env() const -> ShapeEnv& { return env_; }

 private:
  [[nodiscard]] auto parse_claim(std::string_view text, int depth) -> Result<Claim>;
  [[nodiscard]] auto parse_tensor(std::string_view text, std::size_t bracket) -> Result<Claim>;
  [[nodiscard]] auto parse_dims(std::string_view text) -> Result<Dims>;

  ShapeEnv& env_;
  bool offsets_stated_ = false;
  TextMap<Claim> claims_;
  TextMap<Expr> exprs_;
};

/// Row-major strides as PyTorch prints them: without Max(1, size), since symbols are at least 1
/// where it prints them so.
[[nodiscard]] auto row_major_claim(const Dims& sizes) -> Dims;
/// Annotation of a claim without quotes; empty for an empty claim. Offsets and requires_grad have
/// no place in PyTorch's annotations: claim_notes has them.
[[nodiscard]] auto print_claim(const Claim& claim) -> std::string;
/// `offset=4, requires_grad, alias=0`, for parts of a tuple `offset[1]=4`; empty if there is
/// nothing to say. With `offsets_stated` an offset of 0 goes without saying and one that is not
/// stated is `offset=?`; without, every stated offset is noted.
[[nodiscard]] auto claim_notes(const Claim& claim, bool offsets_stated) -> std::string;
/// Does any tensor of the claim leave its offset out?
[[nodiscard]] auto lacks_offset(const Claim& claim) -> bool;
/// Reads claim_notes back into the claim. Errors: bad_input without a place.
[[nodiscard]] auto apply_claim_notes(std::string_view notes, Claim& claim, ClaimReader& reader)
    -> Result<void>;

/// Parts of a text between commas outside of brackets, without outer blanks; none for an empty
/// text.
[[nodiscard]] auto split_at_commas(std::string_view text) -> std::vector<std::string_view>;
[[nodiscard]] auto trimmed(std::string_view text) -> std::string_view;

}  // namespace assay
