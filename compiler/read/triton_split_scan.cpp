// Scans of long rows, of which every program of the grid's first dimension takes a part and looks
// back for what the programs before it have (exclusive_scan_decoupled_lookback in
// torch/_inductor/runtime/triton_helpers.py; Merrill and Garland, "Single-pass Parallel Prefix Scan
// with Decoupled Look-back", 2016). Here one program goes along the row, part by part, in a loop
// that carries what comes before: the same values, without anybody who waits.
#include "compiler/read/triton_reader.h"

namespace assay {
namespace {

constexpr std::string_view kLookBack = "exclusive_scan_decoupled_lookback";
constexpr const char* kPart = "_part";

auto carried_name(std::size_t number) -> std::string {
  return fmt::format("_before_part_{}", number);
}

}  // namespace

/// The elements of a part; PyTorch 2.5 had no numbers in the names of reduced axes.
auto TritonReader::split_scan_step() const -> const TritonValue* {
  for (const auto* name : {"R0_BLOCK", "RBLOCK"})
    if (const auto known = locals_.find(name); known != locals_.end()) return &known->second;
  return nullptr;
}

/// The loop around the kernel's body, which carries as many values as the body looks back at.
auto TritonReader::open_split_scan() -> Result<void> {
  const auto* const step = split_scan_step();
  auto end = locals_.find("r0_numel");
  if (end == locals_.end()) end = locals_.find("rnumel");
  if (step == nullptr || end == locals_.end())
    return bad_input("a split scan without rows or blocks");
  ASSAY_TRY(const auto axes, position_of(*step));
  if (axes.size() != 1) return bad_input("a split scan over several axes");
  Block block;
  block.ends = {TritonValue::python(std::int64_t{0}), end->second, *step};
  const auto source = cursor_.lexer().source();
  for (auto at = source.find(kLookBack); at != std::string_view::npos;
       at = source.find(kLookBack, at + 1)) {
    const auto behind = source.substr(at + kLookBack.size());
    const bool is_wide = behind.starts_with("_64(");
    if (!is_wide && !behind.starts_with('(')) continue;
    block.assigned.push_back(carried_name(block.assigned.size()));
    ASSAY_TRY(locals_[block.assigned.back()], builder_.as(TritonValue::python(std::int64_t{0}),
                                                          is_wide ? DType::uint64 : DType::uint32));
  }
  block.variable = kPart;
  return open_loop(std::move(block));
}

/// tl.program_id(0): the number of the part.
auto TritonReader::split_scan_program() -> Result<TritonValue> {
  return builder_.binary("//", locals_.at(kPart), *split_scan_step());
}

/// exclusive_scan_decoupled_lookback(scratch, value, program, helper, ...): all that is before this
/// part, combined, and 0 where nothing is; the next part finds this one's value added.
auto TritonReader::look_back(int node) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  if (args.size() < 4 || !is_split_scan()) return bad_input("a look-back outside of a split scan");
  const auto helper = helpers_.find(cursor_.source_of(args[3]));
  if (helper == helpers_.end()) return bad_input("an unknown function combines");
  ASSAY_TRY(const auto mine, tile_of(args[1]));
  const auto name = carried_name(look_backs_++);
  const auto carried = locals_.find(name);
  if (carried == locals_.end()) return bad_input("a look-back in a branch");
  const auto bits = builder_.type(carried->second).dtype;
  ASSAY_TRY(auto before, builder_.bitcast(carried->second, builder_.type(mine).dtype));
  before.shape = mine.shape;
  ASSAY_TRY(const auto joined, apply(helper->second, {before, mine}));
  ASSAY_TRY(const auto is_first,
            builder_.binary("==", locals_.at(kPart), TritonValue::python(std::int64_t{0})));
  ASSAY_TRY(const auto next, builder_.select(is_first, mine, joined));
  ASSAY_TRY(const auto kept, builder_.bitcast(next, bits));
  set(name, kept);
  return before;
}

}  // namespace assay
