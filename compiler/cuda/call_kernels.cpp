#include "compiler/cuda/call_kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>

#include "compiler/cuda/replaced_steps.h"

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
auto divided_up(std::int64_t a, std::int64_t b) -> std::int64_t {
  return (a + b - 1) / b;
}

}  // namespace

/// One program's calls, step by step.
class CallExpander {
 public:
  CallExpander(CallKernels& kernels, BoundProgram& bound) : kernels_(kernels), bound_(bound) {}

  void run() {
    given_ = bound_.buffers.size();
    replace_steps(bound_, [&](const BoundStep& step) {
      const auto* call = std::get_if<BoundCall>(&step);
      return call != nullptr && expand(*call);
    });
  }

 private:
  /// What a call sorts: operand `self`, results values and indices.
  struct Sort {
    const BoundCall* call = nullptr;
    SortKernel kernel;
    Rows rows;
    std::int64_t keep = 0;  ///< elements of a row that are wanted, the first in order
  };
  /// Keys between launches.
  struct Keys {
    std::size_t keys = 0;
    std::optional<std::size_t> places;
    std::int64_t count = 0;  ///< of a row
  };
  using Numbers = std::map<std::string, std::int64_t>;

  [[nodiscard]] static auto integer(const BoundCall& call, std::string_view param)
      -> std::optional<std::int64_t> {
    const auto at = call.row->schema.index_of(param);
    if (at < 0 || static_cast<std::size_t>(at) >= call.args.size()) return std::nullopt;
    const auto* scalar = call.args[static_cast<std::size_t>(at)].scalar();
    if (scalar == nullptr) return std::nullopt;
    if (const auto truth = scalar->as_bool()) return *truth ? 1 : 0;
    return scalar->as_int();
  }

  auto expand(const BoundCall& call) -> bool {
    struct Row {
      std::string_view name, descending, keep;
    };
    constexpr std::array kRows = {
        Row{"aten.sort.default", "descending", ""},
        Row{"aten.sort.stable", "descending", ""},
        Row{"aten.topk.default", "largest", "k"},
    };
    const auto* const row = std::ranges::find(kRows, call.row->name(), &Row::name);
    if (row == kRows.end()) return false;
    const auto* self = call.args[0].real();
    const auto* results = call.result.list();
    const auto dim = integer(call, "dim"), descending = integer(call, row->descending);
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
    Sort sort{.call = &call, .kernel = {}, .rows = *rows, .keep = rows->count};
    if (!row->keep.empty()) sort.keep = integer(call, row->keep).value_or(0);
    sort.kernel.dtype = self->dtype();
    sort.kernel.is_descending = *descending != 0;
    sort.kernel.is_dense = rows->inner == 1 && (rows->count == 1 || rows->self.step == 1) &&
                           (sort.keep <= 1 || rows->result.step == 1);
    if (rows->rows == 0 || sort.keep == 0) return false;
    expand(sort);
    return true;
  }

  void expand(const Sort& sort) {
    const auto count = sort.rows.count;
    const bool is_selection = sort.keep * 2 <= kMostSelected;
    const auto most = most_sorted(sort.kernel.dtype);
    if (count <= (is_selection ? kMostSelected : most))
      return sort_tiles(sort, {}, block_for(count), sort.keep);
    if (is_selection) return select(sort);
    auto keys = sort_to_keys(sort, {}, most, most);
    for (auto run = most; run < count; run *= 2) keys = merge(sort, keys, run, run * 2 >= count);
  }
  /// The first of every tile, then of those, until one tile has them all.
  void select(const Sort& sort) {
    const auto enough = static_cast<std::int64_t>(
        std::bit_ceil(static_cast<std::uint64_t>(kSelectedOf * sort.keep)));
    std::optional<Keys> keys;
    for (auto count = sort.rows.count; count > kMostSelected; count = keys->count) {
      const bool are_many = sort.rows.rows * count >= kManyElements;
      const auto block =
          are_many ? std::clamp(enough, kLeastSelected, kMostSelected) : kMostSelected;
      keys = sort_to_keys(sort, keys, block, sort.keep);
    }
    sort_tiles(sort, keys, block_for(keys->count), sort.keep);
  }

  auto buffer(DType dtype, std::int64_t elements) -> std::size_t {
    return add_buffer(bound_, "sorted", dtype, elements);
  }
  auto new_keys(const Sort& sort, std::int64_t count) -> Keys {
    Keys keys{.keys = buffer(DType::int64, sort.rows.rows * count), .places = {}, .count = count};
    if (!has_short_keys(sort.kernel.dtype))
      keys.places = buffer(DType::int32, sort.rows.rows * count);
    return keys;
  }

  auto sort_to_keys(const Sort& sort, const std::optional<Keys>& from, std::int64_t block,
                    std::int64_t keep) -> Keys {
    const auto count = from ? from->count : sort.rows.count;
    const auto made = new_keys(sort, std::min(count, divided_up(count, block) * keep));
    sort_tiles(sort, from, block, keep, made);
    return made;
  }
  void sort_tiles(const Sort& sort, const std::optional<Keys>& from, std::int64_t block,
                  std::int64_t keep, const std::optional<Keys>& to = {}) {
    const auto count = from ? from->count : sort.rows.count;
    auto what = sort.kernel;
    what.reads_keys = from.has_value();
    what.writes_keys = to.has_value();
    what.block = block;
    auto launch = launch_of(sort, what, from, to);
    add(sort, what, std::move(launch), {{"count", count}, {"keep", keep}}, count);
  }
  auto merge(const Sort& sort, const Keys& from, std::int64_t run, bool is_last) -> Keys {
    const auto shift = std::countr_zero(static_cast<std::uint64_t>(run));
    const auto parts = divided_up(from.count, kMerged);
    auto what = sort.kernel;
    what.reads_keys = true;
    what.stage = SortStage::cut;
    what.block = kCuts;
    const auto cuts = buffer(DType::int32, sort.rows.rows * parts);
    const Numbers numbers = {
        {"count", from.count}, {"keep", sort.keep}, {"shift", shift}, {"parts", parts}};
    auto launch = launch_of(sort, what, from, {}, cuts);
    add(sort, what, std::move(launch), numbers, parts);
    what.stage = SortStage::merge;
    what.block = kMerged;
    what.writes_keys = !is_last;
    std::optional<Keys> to;
    if (!is_last) to = new_keys(sort, from.count);
    launch = launch_of(sort, what, from, to, cuts);
    add(sort, what, std::move(launch), numbers, from.count);
    return to.value_or(from);
  }

  void add(const Sort& sort, const SortKernel& what, BoundLaunch launch, Numbers numbers,
           std::int64_t lanes) {
    const auto tiles = divided_up(lanes, what.block);
    numbers["tiles"] = tiles;
    put(launch, what, numbers);
    const auto side = what.side();
    launch.blocks = {what.block, side};
    launch.grid = {tiles * divided_up(sort.rows.rows, side), 1, 1};
    launch.scalars[kernels_.programs_] = Expr(launch.grid[0]);
    bound_.steps.emplace_back(std::move(launch));
  }
  /// With the buffers and what is the same for all launches of a sort.
  auto launch_of(const Sort& sort, const SortKernel& what, const std::optional<Keys>& from,
                 const std::optional<Keys>& to, std::optional<std::size_t> cuts = {})
      -> BoundLaunch {
    const auto& kernel = kernels_.sort_kernel(what);
    BoundLaunch launch;
    launch.op = sort.call->op;
    launch.kernel = kernel_number(bound_, kernel.name);
    launch.arguments.resize(kernel.params.size());
    const auto& rows = sort.rows;
    const auto& buffers = sort.call->buffers;
    const auto element = static_cast<std::int64_t>(size_bytes(sort.kernel.dtype));
    const auto results = sort.call->arg_tensors;
    give(launch, kernel, "self", buffers[0], rows.self.first, element);
    give(launch, kernel, "values", buffers[results], rows.result.first, element);
    give(launch, kernel, "indices", buffers[results + 1], rows.result.first,
         size_bytes(DType::int64));
    for (const auto& [keys, prefix] : {std::pair{from, ""}, std::pair{to, "new_"}}) {
      if (!keys) continue;
      give(launch, kernel, fmt::format("{}keys", prefix), keys->keys, 0, size_bytes(DType::int64));
      if (keys->places)
        give(launch, kernel, fmt::format("{}places", prefix), *keys->places, 0,
             size_bytes(DType::int32));
    }
    if (cuts) give(launch, kernel, "cuts", *cuts, 0, size_bytes(DType::int32));
    put(launch, what,
        {{"rows", rows.rows},
         {"inner", rows.inner},
         {"new_count", to ? to->count : 0},
         {"self_outer", rows.self.outer},
         {"self_next", rows.self.next},
         {"self_step", rows.self.step},
         {"result_outer", rows.result.outer},
         {"result_next", rows.result.next},
         {"result_step", rows.result.step}});
    return launch;
  }
  void give(BoundLaunch& launch, const TileKernel& kernel, const std::string& name,
            std::size_t buffer, std::int64_t first, std::int64_t element_bytes) {
    const auto param = std::ranges::find(kernel.params, name, &TileParam::name);
    if (param == kernel.params.end()) return;
    auto& argument = launch.arguments[static_cast<std::size_t>(param - kernel.params.begin())];
    argument.buffer = buffer;
    argument.offset_bytes = first * element_bytes;
    argument.element_bytes = element_bytes;
    if (buffer >= given_) used_by_next(bound_, buffer);
  }
  void put(BoundLaunch& launch, const SortKernel& what, const Numbers& numbers) {
    const auto& params = kernels_.sort_kernel(what).params;
    for (std::size_t i = 0; i < params.size(); ++i)
      if (const auto known = numbers.find(params[i].name); known != numbers.end())
        launch.arguments[i].integer = known->second;
  }

  CallKernels& kernels_;
  BoundProgram& bound_;
  std::size_t given_ = 0;  ///< buffers that the program had
};

CallKernels::CallKernels() : programs_(pool_.symbol("programs")) {}

void CallKernels::expand(BoundProgram& bound) {
  CallExpander(*this, bound).run();
}

auto CallKernels::find(const std::string& name) const -> std::shared_ptr<const TileKernel> {
  const auto known = kernels_.find(name);
  return known == kernels_.end() ? nullptr : known->second;
}

auto CallKernels::sort_kernel(const SortKernel& what) -> const TileKernel& {
  auto& known = kernels_[what.name()];
  if (known == nullptr) known = make_sort_kernel(what, programs_);
  return *known;
}

}  // namespace assay
