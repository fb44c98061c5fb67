#include "gui/models/node_model.h"

#include <algorithm>
#include <array>

#include <QFile>

#include "gui/models/text_model.h"

namespace assay {
namespace {

/// Qt counts rows in int, and headers of it in pixels.
constexpr std::int64_t kMostRows = 2'000'000'000;
constexpr std::int64_t kFirstHits = 1000;
constexpr std::int64_t kMoreHits = 200'000;
constexpr std::int64_t kExportedAtOnce = 5'000;
constexpr std::array<std::pair<int, NodeOrder>, 5> kOrders = {
    {{NodeModel::kSeq, NodeOrder::seq},
     {NodeModel::kName, NodeOrder::name},
     {NodeModel::kOperator, NodeOrder::target},
     {NodeModel::kModule, NodeOrder::module},
     {NodeModel::kReal, NodeOrder::storage_bytes}}};

auto qt(const std::string& text) -> QString {
  return QString::fromStdString(text);
}

auto layout_text(const std::string& dtype, const std::string& sizes, const std::string& strides,
                 const std::string& value) -> QString {
  if (dtype.empty()) return qt(value);
  return qt(sizes + (strides.empty() ? "" : " : " + strides));
}

}  // namespace

void NodeModel::set_store(Store* store) {
  store_ = store;
  graph_ = 0;
  filter_ = {};
  restart();
}

void NodeModel::set_graph(TraceId graph) {
  if (graph == graph_) return;
  graph_ = graph;
  restart();
}

auto NodeModel::set_filter(const std::string& text) -> Result<Filter> {
  ASSAY_TRY(auto filter, compile_filter(text, store_ ? store_->version() : 2));
  filter_ = filter;
  restart();
  return filter;
}

auto NodeModel::can_sort(int column) -> bool {
  return std::ranges::find(kOrders, column, &std::pair<int, NodeOrder>::first) != kOrders.end();
}

void NodeModel::sort(int column, Qt::SortOrder order) {
  const auto found = std::ranges::find(kOrders, column, &std::pair<int, NodeOrder>::first);
  if (found == kOrders.end()) return;
  order_ = found->second;
  descending_ = order == Qt::DescendingOrder;
  restart();
}

void NodeModel::set_rows(int rows) {
  if (rows == rows_) return;
  if (rows > rows_)
    beginInsertRows({}, rows_, rows - 1);
  else
    beginRemoveRows({}, rows, rows_ - 1);
  const bool grows = rows > rows_;
  rows_ = rows;
  if (grows)
    endInsertRows();
  else
    endRemoveRows();
}

void NodeModel::restart() {
  ++generation_;
  beginResetModel();
  pages_.clear();
  ages_.clear();
  wanted_.clear();
  map_.clear();
  rows_ = 0;
  in_flight_ = false;
  is_searching_ = store_ != nullptr && graph_ != 0;
  mapped_ = !filter_.empty() || order_ != NodeOrder::seq || descending_;
  endResetModel();
  if (!store_ || graph_ == 0) return;
  if (!mapped_) {
    store_->ask<std::int64_t>(
        this, "rows", [graph = graph_](const TraceReader& r) { return count_nodes(r, graph); },
        [this](Result<std::int64_t> count) {
          is_searching_ = false;
          if (!count) return emit failed(qt(count.error().message));
          set_rows(static_cast<int>(std::min(*count, kMostRows)));
          emit counted();
        });
    return;
  }
  if (order_ == NodeOrder::seq && !descending_)
    return more_hits(std::make_shared<NodeHits>(graph_, filter_));
  store_->ask<std::vector<TraceId>>(
      this, "rows",
      [graph = graph_, filter = filter_, order = order_, down = descending_](const TraceReader& r) {
        return sorted_nodes(r, graph, filter, order, down);
      },
      [this](Result<std::vector<TraceId>> ids) {
        is_searching_ = false;
        if (!ids) return emit failed(qt(ids.error().message));
        const auto count = static_cast<int>(ids->size());
        map_ = std::move(*ids);
        set_rows(count);
        emit counted();
      });
}

void NodeModel::more_hits(const std::shared_ptr<NodeHits>& hits) {
  const auto limit = map_.empty() ? kFirstHits : kMoreHits;
  store_->ask<std::vector<TraceId>>(
      this, "rows", [hits, limit](const TraceReader& r) { return hits->next(r, limit); },
      [this, hits, limit](Result<std::vector<TraceId>> ids) {
        is_searching_ = ids && std::ssize(*ids) == limit;
        if (!ids) return emit failed(qt(ids.error().message));
        map_.insert(map_.end(), ids->begin(), ids->end());
        set_rows(static_cast<int>(map_.size()));
        emit counted();
        if (is_searching_) more_hits(hits);
      });
}

auto NodeModel::rowCount(const QModelIndex& parent) const -> int {
  return parent.isValid() ? 0 : rows_;
}
auto NodeModel::columnCount(const QModelIndex& parent) const -> int {
  return parent.isValid() ? 0 : kColumns;
}

auto NodeModel::headerData(int section, Qt::Orientation orientation, int role) const -> QVariant {
  static const std::array kNames = {tr("Status"),   tr("#"),       tr("Name"),
                                    tr("Operator"), tr("Claimed"), tr("Real"),
                                    tr("Dtype"),    tr("Module"),  tr("Source")};
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section < 0 ||
      section >= kColumns)
    return {};
  return kNames[static_cast<std::size_t>(section)];
}

auto NodeModel::line(int row) const -> const NodeLine* {
  if (row < 0 || row >= rows_) return nullptr;
  const int page = row / kPageRows;
  const auto found = pages_.find(page);
  if (found == pages_.end()) {
    want(page);
    return nullptr;
  }
  ages_.splice(ages_.begin(), ages_, found->second.age);
  const auto at = static_cast<std::size_t>(row % kPageRows);
  return at < found->second.lines.size() ? &found->second.lines[at] : nullptr;
}

void NodeModel::want(int page) const {
  newest_wanted_ = page;
  if (in_flight_) return;
  const_cast<NodeModel*>(this)->request(page);
}

void NodeModel::request(int page) {
  in_flight_ = true;
  newest_wanted_ = -1;
  const int first = page * kPageRows;
  std::vector<TraceId> ids;
  if (mapped_) {
    const auto begin = std::min<std::size_t>(static_cast<std::size_t>(first), map_.size());
    const auto end = std::min<std::size_t>(begin + kPageRows, map_.size());
    ids.assign(map_.begin() + static_cast<std::ptrdiff_t>(begin),
               map_.begin() + static_cast<std::ptrdiff_t>(end));
  }
  using Lines = std::vector<NodeLine>;
  store_->ask<Lines>(
      this, "page",
      [graph = graph_, first, ids, mapped = mapped_](const TraceReader& r) {
        return mapped ? read_nodes(r, ids) : read_nodes(r, graph, first, kPageRows);
      },
      [this, page, generation = generation_](Result<Lines> lines) {
        if (generation != generation_) return;
        in_flight_ = false;
        if (!lines) return emit failed(qt(lines.error().message));
        receive(page, std::move(*lines));
      });
}

void NodeModel::receive(int page, std::vector<NodeLine> lines) {
  const int first = page * kPageRows;
  // A page that a growing list of hits has not filled is asked for again when it is.
  const bool is_whole = std::ssize(lines) == std::min(kPageRows, rows_ - first) || !mapped_;
  if (is_whole || first + std::ssize(lines) >= rows_) {
    ages_.push_front(page);
    pages_[page] = {std::move(lines), ages_.begin()};
    if (ages_.size() > kMostPages) {
      pages_.erase(ages_.back());
      ages_.pop_back();
    }
  }
  emit dataChanged(index(first, 0), index(std::min(first + kPageRows, rows_) - 1, kColumns - 1));
  if (newest_wanted_ >= 0 && !pages_.contains(newest_wanted_)) request(newest_wanted_);
}

void NodeModel::find_row(TraceId node, std::function<void(int)> then) {
  if (mapped_) {
    const auto at = std::ranges::find(map_, node);
    return then(at == map_.end() ? -1 : static_cast<int>(at - map_.begin()));
  }
  store_->ask(this, "node seq", {node}, [then = std::move(then)](Result<TraceAnswer> answer) {
    then(answer && !answer->rows.empty() ? static_cast<int>(to_number(answer->rows[0][0])) : -1);
  });
}

void NodeModel::write_csv(const QString& path, std::function<void(Result<std::int64_t>)> then) {
  QStringList titles;
  for (int i = 0; i < kColumns; ++i)
    titles << headerData(i, Qt::Horizontal, Qt::DisplayRole).toString();
  const auto write = [path, titles, graph = graph_, mapped = mapped_, map = map_,
                      rows = std::int64_t{rows_}](const TraceReader& r) -> Result<std::int64_t> {
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(csv_line(titles).toUtf8()) < 0)
      return bad_input("{}: {}", path.toStdString(), file.errorString().toStdString());
    for (std::int64_t first = 0; first < rows; first += kExportedAtOnce) {
      const auto count = std::min(kExportedAtOnce, rows - first);
      const auto ids = std::span(map).subspan(mapped ? static_cast<std::size_t>(first) : 0,
                                              mapped ? static_cast<std::size_t>(count) : 0);
      ASSAY_TRY(const auto lines, mapped ? read_nodes(r, ids) : read_nodes(r, graph, first, count));
      QString text;
      for (const auto& line : lines) {
        QStringList cells;
        for (int i = 0; i < kColumns; ++i) cells << cell(line, i);
        text += csv_line(cells);
      }
      if (file.write(text.toUtf8()) < 0)
        return bad_input("{}: {}", path.toStdString(), file.errorString().toStdString());
    }
    return rows;
  };
  store_->ask<std::int64_t>(this, "csv", write, std::move(then));
}

auto NodeModel::cell(const NodeLine& line, int column) -> QString {
  switch (column) {
    case kMark:
      return qt(line.finding.empty() ? std::string(name(line.mark)) : line.finding);
    case kSeq:
      return QString::number(line.seq);
    case kName:
      return qt(line.name);
    case kOperator:
      return qt(line.target);
    case kClaimed:
      return layout_text(line.dtype, line.sizes, line.strides, line.value);
    case kReal:
      return layout_text(line.real_dtype, line.real_sizes, line.real_strides, line.real_value);
    case kDtype:
      return qt(line.dtype);
    case kModule:
      return qt(line.module);
    case kSource:
      return line.file.empty() ? QString()
                               : QStringLiteral("%1:%2")
                                     .arg(qt(line.file.substr(line.file.rfind('/') + 1)))
                                     .arg(line.line);
    default:
      return {};
  }
}

auto NodeModel::data(const QModelIndex& index, int role) const -> QVariant {
  if (!index.isValid()) return {};
  const auto* line = this->line(index.row());
  if (!line)
    return role == Qt::DisplayRole && index.column() == kName ? QVariant(tr("…")) : QVariant();
  switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole:
      return cell(*line, index.column());
    case kLineRole:
      return QVariant::fromValue(line->id);
    case kMarkRole:
      return static_cast<int>(line->mark);
    case kBadRole: {
      const bool lies = line->mark <= NodeMark::inherited;
      const bool of_layout = index.column() == kClaimed || index.column() == kReal;
      return lies && (of_layout ? !line->finding.contains("dtype")
                                : index.column() == kDtype && line->finding.contains("dtype"));
    }
    default:
      return {};
  }
}

}  // namespace assay
