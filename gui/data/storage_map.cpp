#include "gui/data/storage_map.h"

#include <algorithm>
#include <regex>

#include "gui/data/statements.h"
#include "replay/trace/pages.h"

namespace assay {
namespace {

constexpr std::size_t kMostAliases = 24;

auto ask(const TraceReader& reader, std::string_view name, std::vector<TraceValue> parameters)
    -> Result<TraceAnswer> {
  return reader.query(statement(name, reader.version()), parameters);
}

auto footprint(FootprintKind kind, TraceId node, std::string name, std::string leaf,
               std::string dtype, Strided layout) -> Footprint {
  Footprint result{.kind = kind,
                   .node = node,
                   .name = std::move(name),
                   .leaf = std::move(leaf),
                   .dtype = std::move(dtype),
                   .layout = std::move(layout),
                   .begin = 0,
                   .end = 0,
                   .runs = {},
                   .outside = 0};
  result.begin = result.layout.offset * result.layout.item_bytes;
  result.end = std::max(result.layout.end() * result.layout.item_bytes, result.begin);
  result.runs = byte_runs(result.layout);
  return result;
}

class MapReader {
 public:
  MapReader(const TraceReader& reader, const Cursor& cursor) : reader_(reader), cursor_(cursor) {}

  auto read(const NamedSizes& changed) -> Result<StorageMap> {
    map_.node = cursor_.node;
    ASSAY_TRY(const auto node, ask(reader_, "node", {cursor_.node}));
    if (node.rows.empty()) return map_;
    graph_ = to_number(node.rows[0][1]);
    name_ = to_text(node.rows[0][3]);
    const bool ran = to_text(node.rows[0][11]) != "failed";
    ASSAY_TRY(const auto sizes, read_sizes(reader_, changed));
    binding_ = to_binding(pool_, sizes);
    ASSAY_TRY_VOID(add_claims());
    // What a node that failed left behind is a stand-in: its storage is that of what it reads.
    ASSAY_TRY(const bool has_own, add_real(ran && changed.empty(), ran));
    if (!has_own) ASSAY_TRY_VOID(take_storage_of_operand());
    ASSAY_TRY_VOID(add_aliases(!changed.empty()));
    judge();
    return std::move(map_);
  }

 private:
  auto add_claims() -> Result<void> {
    ASSAY_TRY(const auto claims, ask(reader_, "claims", {cursor_.node}));
    for (const auto& row : claims.rows) {
      auto layout = layout_at(pool_, binding_, to_text(row[1]), to_text(row[2]), to_text(row[3]),
                              to_text(row[4]));
      if (!layout) continue;  // a scalar, or sizes that are not known
      map_.footprints.push_back(footprint(FootprintKind::claimed, cursor_.node, name_,
                                          to_text(row[0]), to_text(row[1]), std::move(*layout)));
      break;  // further leaves have storages of their own
    }
    return {};
  }

  auto add_real(bool show, bool own) -> Result<bool> {
    ASSAY_TRY(const auto seen, ask(reader_, "observations", {cursor_.node}));
    for (const auto& row : seen.rows) {
      if (row[7].index() == 0 || !own) continue;
      auto layout = layout_at(pool_, binding_, to_text(row[1]), to_text(row[2]), to_text(row[3]),
                              to_text(row[4]));
      if (!layout) continue;
      map_.storage = to_number(row[7]);
      map_.storage_bytes = to_number(row[8]);
      map_.owner = name_;
      if (show)
        map_.footprints.push_back(footprint(FootprintKind::real, cursor_.node, name_,
                                            to_text(row[0]), to_text(row[1]), std::move(*layout)));
      return true;
    }
    return false;
  }

  auto take_storage_of_operand() -> Result<void> {
    ASSAY_TRY(const auto inputs, ask(reader_, "inputs", {cursor_.node}));
    for (const auto& input : inputs.rows) {
      ASSAY_TRY(const auto seen, ask(reader_, "observations", {to_number(input[0])}));
      for (const auto& row : seen.rows) {
        if (row[7].index() == 0) continue;
        map_.storage = to_number(row[7]);
        map_.storage_bytes = to_number(row[8]);
        map_.owner = to_text(input[1]);
        return {};
      }
    }
    return {};
  }

  /// At other sizes than the run's nothing is recorded: claims stand in, and the storage is as
  /// large as what its first owner claims.
  auto add_aliases(bool at_other_sizes) -> Result<void> {
    if (map_.storage < 0) return {};
    bool is_first = true;
    ASSAY_TRY(const auto aliases, ask(reader_, "aliases", {map_.storage, graph_}));
    for (const auto& row : aliases.rows) {
      const auto id = to_number(row[0]);
      if (map_.footprints.size() >= kMostAliases) break;
      auto layout = layout_at(pool_, binding_, to_text(row[3]), to_text(row[4]), to_text(row[5]),
                              to_text(row[6]));
      if (at_other_sizes) {
        ASSAY_TRY(layout, claimed_layout(id));
        if (layout && std::exchange(is_first, false))
          map_.storage_bytes = layout->end() * layout->item_bytes;
      }
      if (layout && id != cursor_.node)
        map_.footprints.push_back(footprint(FootprintKind::alias, id, to_text(row[1]),
                                            to_text(row[2]), to_text(row[3]), std::move(*layout)));
    }
    return {};
  }

  auto claimed_layout(TraceId node) -> Result<Result<Strided>> {
    ASSAY_TRY(const auto claims, ask(reader_, "claims", {node}));
    if (claims.rows.empty()) return Result<Strided>(bad_input("no claim"));
    const auto& row = claims.rows.front();
    return layout_at(pool_, binding_, to_text(row[1]), to_text(row[2]), to_text(row[3]),
                     to_text(row[4]));
  }

  void judge() {
    if (map_.storage_bytes >= 0)
      for (auto& one : map_.footprints)
        one.outside = std::max<std::int64_t>(one.end - map_.storage_bytes, 0) +
                      std::max<std::int64_t>(-one.begin, 0);
    if (map_.footprints.empty()) return;
    const auto& first = map_.footprints.front();
    if (map_.storage_bytes < 0)
      map_.sentence = fmt::format("{} covers {} bytes; its storage is not recorded", first.name,
                                  first.end - first.begin);
    else if (first.outside > 0)
      map_.sentence =
          fmt::format("{} needs {} bytes, the storage of {} has {}: {} outside", first.name,
                      first.end, map_.owner, map_.storage_bytes, first.outside);
    else
      map_.sentence =
          fmt::format("{} lies within the {} bytes of its storage", first.name, map_.storage_bytes);
  }

  const TraceReader& reader_;
  const Cursor& cursor_;
  ExprPool pool_;
  Binding binding_;
  TraceId graph_ = 0;
  std::string name_;
  StorageMap map_;
};

}  // namespace

auto StorageMap::span() const -> std::int64_t {
  auto end = std::max<std::int64_t>(storage_bytes, 1);
  for (const auto& one : footprints) end = std::max(end, one.end);
  return end;
}

auto byte_runs(const Strided& layout, std::size_t most)
    -> std::vector<std::pair<std::int64_t, std::int64_t>> {
  if (layout.is_empty()) return {};
  // Dimensions from the finest stride up; a run is what the finest ones cover without a gap.
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;  // stride, size
  for (std::size_t i = 0; i < layout.sizes.size(); ++i)
    if (layout.sizes[i] > 1 && layout.strides[i] != 0)
      dims.emplace_back(layout.strides[i], layout.sizes[i]);
  std::ranges::sort(dims);
  std::int64_t length = 1;
  std::size_t at = 0;
  while (at < dims.size() && dims[at].first == length) length *= dims[at++].second;
  std::vector<std::int64_t> starts = {layout.offset};
  for (; at < dims.size(); ++at) {
    if (starts.size() * static_cast<std::size_t>(dims[at].second) > most) return {};
    std::vector<std::int64_t> next;
    for (std::int64_t i = 0; i < dims[at].second; ++i)
      for (const auto start : starts) next.push_back(start + i * dims[at].first);
    starts = std::move(next);
  }
  std::ranges::sort(starts);
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  for (const auto start : starts) {
    const auto begin = start * layout.item_bytes;
    const auto end = (start + length) * layout.item_bytes;
    if (!runs.empty() && begin <= runs.back().second)
      runs.back().second = std::max(runs.back().second, end);
    else
      runs.emplace_back(begin, end);
  }
  return runs;
}

auto read_storage_map(const TraceReader& reader, const Cursor& cursor, const NamedSizes& changed)
    -> Result<StorageMap> {
  if (cursor.node == 0) return StorageMap{};
  return MapReader(reader, cursor).read(changed);
}

auto storage_map_of(const std::string& words) -> StorageMap {
  static const std::regex kAccess(
      R"((\S+) is indexed at -?\d+: needs (\d{1,18}) bytes, (\S+) has (\d{1,18}))");
  static const std::regex kView(R"(needs (\d{1,18}) bytes, the storage of (\S+) has (\d{1,18}))");
  std::smatch found;
  StorageMap map;
  std::int64_t needed = 0;
  std::string who;
  if (std::regex_search(words, found, kAccess)) {
    who = found[1];
    needed = std::stoll(found[2]);
    map.owner = found[3];
    map.storage_bytes = std::stoll(found[4]);
  } else if (std::regex_search(words, found, kView)) {
    who = "view";
    needed = std::stoll(found[1]);
    map.owner = found[2];
    map.storage_bytes = std::stoll(found[3]);
  } else {
    return map;
  }
  // Bytes stand in for elements: the words name no dtype.
  map.footprints.push_back(
      footprint(FootprintKind::claimed, 0, who, "", "bytes", {{needed}, {1}, 0, 1}));
  map.footprints.front().outside = std::max<std::int64_t>(needed - map.storage_bytes, 0);
  map.sentence = fmt::format("{} needs {} bytes, the storage of {} has {}: {} outside", who, needed,
                             map.owner, map.storage_bytes, map.footprints.front().outside);
  return map;
}

}  // namespace assay
