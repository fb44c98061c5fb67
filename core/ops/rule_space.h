// Hypotheses about the results of an operator, and what they say about a call.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ops/call.h"
#include "core/ops/formula.h"
#include "core/ops/schema.h"

namespace assay {

/// How the strides of a result follow from its sizes and the arguments.
struct LayoutHypothesis {
  enum class Kind : std::uint8_t {
    row_major,
    same,           ///< the strides of argument tensor `tensor`
    preserved,      ///< as empty_like of it
    suggested,      ///< contiguous or channels-last, as it looks
    iterated,       ///< as a pointwise operator over all tensors
    channels_last,  ///< whatever the arguments
    ordered,        ///< dense, dimensions in the order `order` from the outermost
  };
  Kind kind = Kind::row_major;
  std::size_t tensor = 0;
  std::vector<std::size_t> order = {};
};

/// What dtype a result has.
struct DTypeHypothesis {
  enum class Kind : std::uint8_t { constant, tensor, argument, promoted };
  Kind kind = Kind::constant;
  DType dtype = DType::float32;
  std::size_t index = 0;  ///< of the tensor, or of the parameter
};

/// All hypotheses about one tensor (or number) of the result.
struct LeafSpace {
  bool is_none = false, is_number = false;
  std::vector<Formula> number;
  std::vector<std::vector<Formula>> sizes;
  std::vector<LayoutHypothesis> layouts;      ///< tried first
  std::vector<std::vector<Formula>> strides;  ///< where no layout fits
  std::vector<Formula> offset;
  std::vector<DTypeHypothesis> dtypes;
  int alias = -1;  ///< the tensor argument whose storage it shares
};

struct RuleSpace {
  std::string kind;
  bool is_list = false;
  std::vector<LeafSpace> leaves;
};

/// The numbers and tensors of a call, in the order of the schema.
struct CallView {
  std::vector<std::string> names;
  std::vector<Expr> features;  ///< sizes and integers
  std::vector<Expr> more;      ///< the same, then strides and offsets
  std::vector<std::string> more_names;
  std::vector<const FakeTensor*> tensors;
};

/// What must be equal for two calls to follow one rule: ranks, flags, texts, what is None.
[[nodiscard]] auto kind_of(std::span<const Datum> args) -> std::string;
[[nodiscard]] auto kind_of(const Datum& datum) -> std::string;
[[nodiscard]] auto view_of(const Schema& schema, std::span<const Datum> args) -> CallView;

/// Strides of a result of these sizes; nothing where the hypothesis does not apply.
[[nodiscard]] auto strides_by(MetaCall& c, const LayoutHypothesis& layout, const CallView& view,
                              const Dims& sizes) -> std::optional<Dims>;
[[nodiscard]] auto dtype_by(MetaCall& c, const DTypeHypothesis& by, const CallView& view)
    -> std::optional<DType>;

/// Strides of dimensions with at most one index, and of tensors without elements, say nothing.
[[nodiscard]] auto same_strides(const Dims& sizes, const Dims& a, const Dims& b) -> bool;

/// The result in which all hypotheses agree; nothing, and the reason, where they do not.
[[nodiscard]] auto apply(const RuleSpace& space, MetaCall& c, const CallView& view,
                         std::string& doubt) -> std::optional<Datum>;

}  // namespace assay
