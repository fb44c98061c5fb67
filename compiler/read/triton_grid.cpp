// How many programs a Triton kernel is launched as, by dimension (GridExpr and what follows it in
// torch/_inductor/runtime/triton_heuristics.py, PyTorch 2.6 to 2.15).
#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "compiler/read/triton_reader.h"
#include "core/expr/text.h"

namespace assay {
namespace {

constexpr std::int64_t kMaxGridY = 65535;
/// Rows of one program where rows and columns are reduced in one kernel.
constexpr std::string_view kSplitSize = "RSPLIT_SIZE";

/// More programs along y than a grid takes go on along z.
auto with_layers(const Expr& x, const Expr& y) -> std::vector<Expr> {
  const auto layers = ceil_div(y, kMaxGridY);
  return {x, ceil_div(y, max(layers, Expr(1))), layers};
}

}  // namespace

/// What `inductor_meta` says of the grid.
void TritonReader::grid_meta(int dict) {
  if (const int grid = member(dict, "grid_type"); grid >= 0) meta_.grid_type = key_of(grid);
  take_number(kSplitSize, member(dict, kSplitSize));
  if (const int grids = member(dict, "precomputed_grids"); grids >= 0)
    if (const auto all = cursor_.children(grids); !all.empty())
      if (const int of_first = member(all[0], "python"); of_first >= 0)
        for (const int size : cursor_.children(of_first)) meta_.grid.push_back(key_of(size));
  const auto take_all = [&](int from, const auto& self) -> void {
    if (from < 0 || cursor_.syntax(from).kind != SyntaxKind::dict) return;
    const auto items = cursor_.children(from);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      const auto text = cursor_.source_of(items[i + 1]);
      std::int64_t number = text == "True" ? 1 : 0;
      std::from_chars(text.data(), text.data() + text.size(), number);
      meta_.combined[key_of(items[i])] = number;  // None: 0
      self(items[i + 1], self);                   // the blocks in "default_config"
    }
  };
  take_all(member(dict, "combo_grid_meta"), take_all);
}

/// A block's size: a number, or the symbol of a parameter; nothing where nobody says.
auto TritonReader::lanes_of(const std::string& block) const -> std::optional<Expr> {
  const auto* param = kernel_.param(block);
  if (param != nullptr && !param->fixed) return param->symbol;
  if (param != nullptr) return Expr(*param->fixed);
  const auto known = meta_.combined.find(block);
  return known == meta_.combined.end() ? std::nullopt : std::optional(Expr(known->second));
}

/// Nothing where the kernel has no such dimension.
auto TritonReader::programs_along(std::string_view dimension) const -> std::optional<Expr> {
  std::string upper(dimension);
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const auto* numel = kernel_.param(std::string(dimension) + "numel");
  if (numel == nullptr || numel->symbol.pool() == nullptr) return std::nullopt;
  const auto lanes = lanes_of(upper + "BLOCK");
  return lanes ? ceil_div(numel->symbol, *lanes) : numel->symbol;
}

/// None of these: nobody knows, and nothing is launched.
void TritonReader::set_grid() {
  const auto x = programs_along("x"), y = programs_along("y"), z = programs_along("z");
  const auto& type = meta_.grid_type;
  if (type == "Grid2DWithYZOverflow" && x && y) {
    kernel_.grid = with_layers(*x, *y);
  } else if (type == "SplitScanGrid") {
    if (x) kernel_.grid = {Expr(1), *x};  // a program goes along its row (triton_split_scan.cpp)
  } else if (type == "MixOrderReductionGrid") {
    set_split_grid();
  } else if (type == "BatchMatmulGrid3D" && x && y && z) {
    kernel_.grid = {*z, *y, *x};
  } else if (type == "PrecomputedGrid") {  // of each configuration, over what launchers are given
    for (const auto& text : meta_.grid)
      if (auto size = parse_expr(pool_, text)) kernel_.grid.push_back(*std::move(size));
    if (kernel_.grid.size() != meta_.grid.size()) kernel_.grid.clear();
  } else if (type == "FixedGrid") {
    for (int i = 0; i < 3; ++i) kernel_.grid.push_back(pool_.symbol(fmt::format("_grid_{}", i)));
  } else if (type.ends_with("ComboKernelGrid")) {
    set_combined_grid();
  } else if (type.empty() || type == "Grid1D" || type == "Grid2D" || type == "Grid3D") {
    for (const auto& dimension : {x, y, z}) {
      if (!dimension) break;
      kernel_.grid.push_back(*dimension);
    }
  }
}

/// A program reduces some rows, block after block; the block divides their number.
void TritonReader::set_split_grid() {
  const auto* numel = kernel_.param("xnumel");
  const auto* split = kernel_.param(kSplitSize);
  const auto axis = axes_.find("XBLOCK");
  if (numel == nullptr || split == nullptr || !split->fixed || axis == axes_.end()) return;
  const auto most = *split->fixed & -*split->fixed;
  auto& rows = kernel_.axes[axis->second];
  rows.max_block = std::min(rows.max_block, most);
  kernel_.grid = {ceil_div(numel->symbol, *split->fixed)};
}

/// Several kernels in one, whose programs follow one behind the other, or in turn.
void TritonReader::set_combined_grid() {
  const auto known = [&](const std::string& key) {
    const auto found = meta_.combined.find(key);
    return found == meta_.combined.end() ? 0 : found->second;
  };
  const bool is_flat = meta_.grid_type == "SequentialFlattenComboKernelGrid";
  const bool in_turn = meta_.grid_type == "RoundRobinComboKernelGrid";
  std::vector<std::pair<std::string, Expr>> numels;  // by "x_0", "y_0"
  for (const auto& [key, value] : meta_.combined) {
    const auto middle = key.find("numel_");
    if (middle != 1) continue;
    const auto* param = kernel_.param(key);
    if (value == 0 && (param == nullptr || param->symbol.pool() == nullptr)) return;
    numels.emplace_back(key[0] + key.substr(middle + 5), value != 0 ? Expr(value) : param->symbol);
  }
  const auto numel = [&](const std::string& key) -> std::optional<Expr> {
    const auto found = std::ranges::find(numels, key, &std::pair<std::string, Expr>::first);
    return found == numels.end() ? std::nullopt : std::optional(found->second);
  };
  const auto count = known("num_kernels");
  Expr sum(0), most(0), widest(0);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto suffix = fmt::format("_{}", i);
    const auto own = is_flat ? suffix : std::string();
    const auto x = numel("x" + suffix), y = numel("y" + suffix);
    const bool is_row = known("no_x_dim" + suffix) != 0;
    const auto lanes = is_row ? std::optional(Expr(1)) : lanes_of("XBLOCK" + own);
    const auto rows = y && is_flat ? lanes_of("YBLOCK" + own) : std::optional(Expr(1));
    if (!x || !lanes || !rows) return;
    auto programs = ceil_div(*x, *lanes);
    if (y && is_flat) programs = programs * ceil_div(*y, *rows);
    if (y && !is_flat) widest = max(widest, *y);
    sum = sum + programs;
    most = max(most, programs);
  }
  auto all = in_turn ? most * Expr(count) : sum;
  if (const auto least = known("min_blocks"); least > 0) all = max(all, Expr(least));
  const auto rows = lanes_of("YBLOCK");
  if (widest.is_int(0))
    kernel_.grid = {all};
  else if (rows)
    kernel_.grid = with_layers(all, ceil_div(widest, *rows));
}

}  // namespace assay
