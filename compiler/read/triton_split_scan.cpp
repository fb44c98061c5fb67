// Scans of long rows, of which every program of the grid's first dimension takes a part and looks
// back for what the programs before it have (exclusive_scan_decoupled_lookback in
// torch/_inductor/runtime/triton_helpers.py; Merrill and Garland, "Single-pass Parallel Prefix Scan
// with Decoupled Look-back", 2016). Here one program goes along the row, part by part, in a loop
// that carries what comes before: the same values, without anybody who waits.
#include "compiler/read/triton_reader.h"

namespace assay {
namespace {

constexpr std::string_view kLookBack = "exclusive_scan_decoupled_lookback";
constexpr std::string_view kPart = "the part of the row";  // no name of Python

auto carried_name(std::size_t number) -> std::string {
  return fmt::format("before part {}", number);
}

/// Bits of a number that has four bytes or eight, as a dtype of the same size.
auto as_bits(TileBuilder& builder, TritonValue value, DType dtype) -> Result<TritonValue> {
  const auto from = builder.type(value);
  if (from.dtype == dtype) return value;
  if (size_bytes(from.dtype) != size_bytes(dtype) || size_bytes(dtype) < 4)
    return bad_input("a look-back at numbers of {} bytes", size_bytes(from.dtype));
  value.id = builder.emit(TileCompute{TileOp::bitcast}, {value.id}, {dtype, from.axes});
  return value;
}

}  // namespace

/// The loop around the kernel's body, which carries as many values as the body looks back at.
auto TritonReader::open_split_scan() -> Result<void> {
  const auto numel = locals_.find("r0_numel"), size = locals_.find("R0_BLOCK");
  const auto step = size == locals_.end() ? locals_.find("RBLOCK") : size;
  const auto end = numel == locals_.end() ? locals_.find("rnumel") : numel;
  if (step == locals_.end() || end == locals_.end())
    return bad_input("a split scan without rows or blocks");
  ASSAY_TRY(const auto axes, position_of(step->second));
  if (axes.size() != 1) return bad_input("a split scan over several axes");
  TileLoop what;
  what.axis = axes[0];
  kernel_.axes[axes[0]].kind = TileAxis::Kind::reduction;
  Block block;
  block.statement.what = what;
  for (const auto& one : {TritonValue::python(std::int64_t{0}), end->second, step->second}) {
    ASSAY_TRY(const auto bound, builder_.as(one, DType::int32));
    block.statement.operands.push_back(bound.id);
  }
  block.region = std::make_unique<TileRegion>();
  TritonValue variable;
  variable.kind = TritonValue::Kind::tile;
  variable.id = builder_.add_value({DType::int32, 0});
  block.region->params.push_back(variable.id);
  const auto source = cursor_.lexer().source();
  const std::string call = fmt::format("{}(", kLookBack), wide = fmt::format("{}_64(", kLookBack);
  for (auto at = source.find(kLookBack); at != std::string_view::npos;
       at = source.find(kLookBack, at + 1)) {
    const auto text = source.substr(at);
    if (!text.starts_with(call) && !text.starts_with(wide)) continue;
    const auto dtype = text.starts_with(wide) ? DType::uint64 : DType::uint32;
    const auto name = carried_name(block.assigned.size());
    ASSAY_TRY(auto carried, builder_.as(TritonValue::python(std::int64_t{0}), dtype));
    block.statement.operands.push_back(carried.id);
    carried.id = builder_.add_value({dtype, 0});
    carried.is_weak = false;
    block.region->params.push_back(carried.id);
    block.assigned.push_back(name);
    locals_[name] = carried;
  }
  locals_[std::string(kPart)] = variable;
  block.indent = 0;
  block.before = locals_;
  builder_.push(block.region.get());
  blocks_.push_back(std::move(block));
  return {};
}

/// tl.program_id(0): the number of the part.
auto TritonReader::split_scan_program() -> Result<TritonValue> {
  const auto step = locals_.contains("R0_BLOCK") ? "R0_BLOCK" : "RBLOCK";
  return builder_.binary("//", locals_.at(std::string(kPart)), locals_.at(step));
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
  ASSAY_TRY(auto before, as_bits(builder_, carried->second, builder_.type(mine).dtype));
  before.shape = mine.shape;
  ASSAY_TRY(const auto joined, apply(helper->second, {before, mine}));
  ASSAY_TRY(const auto is_first, builder_.binary("==", locals_.at(std::string(kPart)),
                                                 TritonValue::python(std::int64_t{0})));
  ASSAY_TRY(const auto next, builder_.select(is_first, mine, joined));
  ASSAY_TRY(const auto kept, as_bits(builder_, next, bits));
  set(name, kept);
  return before;
}

}  // namespace assay
