// Sorts and `topk` by launches of sort_kernels.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>

#include "compiler/cuda/call_launches.h"
#include "compiler/cuda/sort_kernels.h"

namespace assay {
namespace {

constexpr std::int64_t kLeastSorted = 16;  ///< lanes of the smallest tile
/// Of tiles whose first elements are wanted: the largest one, and, where there are many elements,
/// the smallest one; they are so many times as many as what is wanted of them.
constexpr std::int64_t kMostSelected = 2048, kLeastSelected = 128, kSelectedOf = 4,
                       kManyElements = 1 << 22;
constexpr std::int64_t kMostElements = std::numeric_limits<std::int32_t>::max();

/// Where element i of row r is, in elements from the buffer's start: at r / inner * outer + r %
/// inner * next + i * step.
struct RowPlace {
  std::int64_t first = 0, outer = 0, next = 0, step = 0;
};
struct Rows {
  std::int64_t count = 1, rows = 1, inner = 1;
  RowPlace self, result;
};

/// Of an operand and a result that differ in the size of `dim` at most. Nothing where rows are
/// apart by more than two strides.
auto rows_of(const RealMeta& self, const RealMeta& result, std::size_t dim) -> std::optional<Rows> {
  Rows rows;
  rows.self.first = self.offset;
  rows.result.first = result.offset;
  struct Group {
    std::int64_t size, self, result;
  };
  std::vector<Group> groups;  // the innermost one first
  for (auto d = self.sizes.size(); d-- > 0;) {
    const auto size = self.sizes[d];
    if (d == dim) {
      rows.count = size;
      rows.self.step = self.strides[d];
      rows.result.step = result.strides[d];
      continue;
    }
    rows.rows *= size;
    if (size == 1) continue;
    if (!groups.empty() && self.strides[d] == groups.back().self * groups.back().size &&
        result.strides[d] == groups.back().result * groups.back().size)
      groups.back().size *= size;
    else
      groups.push_back({size, self.strides[d], result.strides[d]});
  }
  if (groups.size() > 2) return std::nullopt;
  if (groups.size() == 1) {  // rows are the outer ones
    rows.self.outer = groups[0].self;
    rows.result.outer = groups[0].result;
  } else if (groups.size() == 2) {
    rows.inner = groups[0].size;
    rows.self.next = groups[0].self;
    rows.result.next = groups[0].result;
    rows.self.outer = groups[1].self;
    rows.result.outer = groups[1].result;
  }
  return rows;
}

auto block_for(std::int64_t count) -> std::int64_t {
  const auto lanes = std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 1)));
  return std::max(static_cast<std::int64_t>(lanes), kLeastSorted);
}

struct SortRow {
  std::string_view name, descending, keep;  ///< the last two: parameters
};
auto find_row(const OpRow& row) -> const SortRow* {
  static constexpr std::array kRows = {
      SortRow{"aten.sort.default", "descending", ""},
      SortRow{"aten.sort.stable", "descending", ""},
      SortRow{"aten.topk.default", "largest", "k"},
  };
  const auto* const known = std::ranges::find(kRows, row.name(), &SortRow::name);
  return known == kRows.end() ? nullptr : known;
}

class SortCall : CallLaunches {
 public:
  using CallLaunches::CallLaunches;

  auto expand() -> bool {
    const auto* const row = find_row(*call().row);
    if (row == nullptr) return false;
    const auto* self = call().args[0].real();
    const auto* results = call().result.list();
    const auto dim = integer("dim"), descending = integer(row->descending);
    if (self == nullptr || results == nullptr || !dim || !descending) return false;
    const auto* values = (*results)[0].real();
    const auto* indices = (*results)[1].real();
    if (!can_be_sorted(self->dtype()) || values == nullptr || indices == nullptr ||
        values->strides() != indices->strides() || values->meta.offset != indices->meta.offset)
      return false;
    const auto rank = static_cast<std::int64_t>(self->sizes().size());
    const auto at = static_cast<std::size_t>(*dim < 0 ? *dim + rank : *dim);
    const auto rows = rows_of(self->meta, values->meta, at);
    if (!rows || rows->rows > kMostElements || rows->count > kMostElements) return false;
    rows_ = *rows;
    keep_ = row->keep.empty() ? rows_.count : integer(row->keep).value_or(0);
    kernel_.dtype = self->dtype();
    kernel_.is_descending = *descending != 0;
    kernel_.is_dense = rows_.inner == 1 && (rows_.count == 1 || rows_.self.step == 1) &&
                       (keep_ <= 1 || rows_.result.step == 1);
    if (rows_.rows == 0 || keep_ == 0) return false;
    run();
    return true;
  }

 private:
  /// Keys between launches.
  struct Keys {
    std::size_t keys = 0;
    std::optional<std::size_t> places;
    std::int64_t count = 0;  ///< of a row
  };

  [[nodiscard]] auto integer(std::string_view param) const -> std::optional<std::int64_t> {
    const auto at = call().row->schema.index_of(param);
    if (at < 0 || static_cast<std::size_t>(at) >= call().args.size()) return std::nullopt;
    const auto* scalar = call().args[static_cast<std::size_t>(at)].scalar();
    if (scalar == nullptr) return std::nullopt;
    if (const auto truth = scalar->as_bool()) return *truth ? 1 : 0;
    return scalar->as_int();
  }
  auto sort_kernel(const SortKernel& what) -> const TileKernel& {
    return kernels().kernel(what.name(),
                            [&](const Expr& programs) { return make_sort_kernel(what, programs); });
  }

  void run() {
    const auto count = rows_.count;
    const bool is_selection = keep_ * 2 <= kMostSelected;
    const auto most = most_sorted(kernel_.dtype);
    if (count <= (is_selection ? kMostSelected : most))
      return sort_tiles({}, block_for(count), keep_);
    if (is_selection) return select();
    auto keys = sort_to_keys({}, most, most);
    for (auto run = most; run < count; run *= 2) keys = merge(keys, run, run * 2 >= count);
  }
  /// The first of every tile, then of those, until one tile has them all.
  void select() {
    const auto enough =
        static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(kSelectedOf * keep_)));
    std::optional<Keys> keys;
    for (auto count = rows_.count; count > kMostSelected; count = keys->count) {
      const bool are_many = rows_.rows * count >= kManyElements;
      const auto block =
          are_many ? std::clamp(enough, kLeastSelected, kMostSelected) : kMostSelected;
      keys = sort_to_keys(keys, block, keep_);
    }
    sort_tiles(keys, block_for(keys->count), keep_);
  }

  auto buffer(DType dtype, std::int64_t elements) -> std::size_t {
    return add_buffer(bound(), "sorted", dtype, elements);
  }
  auto new_keys(std::int64_t count) -> Keys {
    Keys keys{.keys = buffer(DType::int64, rows_.rows * count), .places = {}, .count = count};
    if (!has_short_keys(kernel_.dtype)) keys.places = buffer(DType::int32, rows_.rows * count);
    return keys;
  }

  auto sort_to_keys(const std::optional<Keys>& from, std::int64_t block, std::int64_t keep)
      -> Keys {
    const auto count = from ? from->count : rows_.count;
    const auto made = new_keys(std::min(count, divided_up(count, block) * keep));
    sort_tiles(from, block, keep, made);
    return made;
  }
  void sort_tiles(const std::optional<Keys>& from, std::int64_t block, std::int64_t keep,
                  const std::optional<Keys>& to = {}) {
    const auto count = from ? from->count : rows_.count;
    auto what = kernel_;
    what.reads_keys = from.has_value();
    what.writes_keys = to.has_value();
    what.block = block;
    auto launch = launch_of(what, from, to);
    add(what, std::move(launch), {{"count", count}, {"keep", keep}}, count);
  }
  auto merge(const Keys& from, std::int64_t run, bool is_last) -> Keys {
    const auto shift = std::countr_zero(static_cast<std::uint64_t>(run));
    const auto parts = divided_up(from.count, kMerged);
    auto what = kernel_;
    what.reads_keys = true;
    what.stage = SortStage::cut;
    what.block = kCuts;
    const auto cuts = buffer(DType::int32, rows_.rows * parts);
    const Numbers numbers = {
        {"count", from.count}, {"keep", keep_}, {"shift", shift}, {"parts", parts}};
    auto launch = launch_of(what, from, {}, cuts);
    add(what, std::move(launch), numbers, parts);
    what.stage = SortStage::merge;
    what.block = kMerged;
    what.writes_keys = !is_last;
    std::optional<Keys> to;
    if (!is_last) to = new_keys(from.count);
    launch = launch_of(what, from, to, cuts);
    add(what, std::move(launch), numbers, from.count);
    return to.value_or(from);
  }

  void add(const SortKernel& what, BoundLaunch launch, Numbers numbers, std::int64_t lanes) {
    const auto tiles = divided_up(lanes, what.block);
    numbers["tiles"] = tiles;
    put(launch, sort_kernel(what), numbers);
    const auto side = what.side();
    launch.blocks = {what.block, side};
    finish(std::move(launch), tiles * divided_up(rows_.rows, side));
  }
  /// With the buffers and what is the same for all launches of a sort.
  auto launch_of(const SortKernel& what, const std::optional<Keys>& from,
                 const std::optional<Keys>& to, std::optional<std::size_t> cuts = {})
      -> BoundLaunch {
    const auto& kernel = sort_kernel(what);
    auto launch = start(kernel);
    const auto element = static_cast<std::int64_t>(size_bytes(kernel_.dtype));
    give(launch, kernel, "self", argument(0), rows_.self.first, element);
    give(launch, kernel, "values", result(0), rows_.result.first, element);
    give(launch, kernel, "indices", result(1), rows_.result.first, size_bytes(DType::int64));
    for (const auto& [keys, prefix] : {std::pair{from, ""}, std::pair{to, "new_"}}) {
      if (!keys) continue;
      give(launch, kernel, fmt::format("{}keys", prefix), keys->keys, 0, size_bytes(DType::int64));
      if (keys->places)
        give(launch, kernel, fmt::format("{}places", prefix), *keys->places, 0,
             size_bytes(DType::int32));
    }
    if (cuts) give(launch, kernel, "cuts", *cuts, 0, size_bytes(DType::int32));
    put(launch, kernel,
        {{"rows", rows_.rows},
         {"inner", rows_.inner},
         {"new_count", to ? to->count : 0},
         {"self_outer", rows_.self.outer},
         {"self_next", rows_.self.next},
         {"self_step", rows_.self.step},
         {"result_outer", rows_.result.outer},
         {"result_next", rows_.result.next},
         {"result_step", rows_.result.step}});
    return launch;
  }

  SortKernel kernel_;  ///< of the dtype, as tiles are sorted first
  Rows rows_;
  std::int64_t keep_ = 0;  ///< elements of a row that are wanted, the first in order
};

}  // namespace

auto is_sort(const OpRow& row) -> bool {
  return find_row(row) != nullptr;
}
auto expand_sort(const BoundCall& call, BoundProgram& bound, CallKernels& kernels) -> bool {
  return SortCall(call, bound, kernels).expand();
}

}  // namespace assay
