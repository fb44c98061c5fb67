// Nodes of one graph as rows, fetched by pages when they are looked at.
#pragma once
#include <list>
#include <memory>
#include <unordered_map>

#include <QAbstractTableModel>

#include "gui/models/store.h"
#include "replay/trace/pages.h"

namespace assay {

class NodeModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    kMark,
    kSeq,
    kName,
    kOperator,
    kClaimed,
    kReal,
    kDtype,
    kModule,
    kSource,
    kColumns
  };
  enum Role { kLineRole = Qt::UserRole, kBadRole, kMarkRole };

  explicit NodeModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  /// Null: no rows.
  void set_store(Store* store);
  void set_graph(TraceId graph);
  [[nodiscard]] auto graph() const -> TraceId { return graph_; }
  /// Errors: of compile_filter; the rows stay as they are then.
  auto set_filter(const std::string& text) -> Result<Filter>;

  [[nodiscard]] auto rowCount(const QModelIndex& parent = {}) const -> int override;
  [[nodiscard]] auto columnCount(const QModelIndex& parent = {}) const -> int override;
  [[nodiscard]] auto data(const QModelIndex& index, int role) const -> QVariant override;
  [[nodiscard]] auto headerData(int section, Qt::Orientation orientation, int role) const
      -> QVariant override;
  void sort(int column, Qt::SortOrder order) override;
  [[nodiscard]] static auto can_sort(int column) -> bool;

  /// Null while the page is on its way.
  [[nodiscard]] auto line(int row) const -> const NodeLine*;
  /// The row of a node, if it is in sight of the filter. `then(-1)` if it is not.
  void find_row(TraceId node, std::function<void(int)> then);
  [[nodiscard]] auto is_filtered() const -> bool { return mapped_; }
  /// Rows are being looked for; those that there are stay.
  [[nodiscard]] auto is_searching() const -> bool { return is_searching_; }
  /// All rows, read by a worker. `then` gets how many were written.
  void write_csv(const QString& path, std::function<void(Result<std::int64_t>)> then);

 signals:
  void failed(const QString& why);
  void counted();  ///< the number of rows is known, or has grown

 private:
  static constexpr int kPageRows = 256;
  static constexpr std::size_t kMostPages = 200;
  struct Page {
    std::vector<NodeLine> lines;
    std::list<int>::iterator age;
  };
  void restart();
  void set_rows(int rows);
  void more_hits(const std::shared_ptr<NodeHits>& hits);
  void want(int page) const;
  void request(int page);
  void receive(int page, std::vector<NodeLine> lines);
  [[nodiscard]] static auto cell(const NodeLine& line, int column) -> QString;

  Store* store_ = nullptr;
  TraceId graph_ = 0;
  Filter filter_;
  NodeOrder order_ = NodeOrder::seq;
  bool descending_ = false;
  bool mapped_ = false;  ///< rows are those of map_, not positions in the graph
  std::vector<TraceId> map_;
  int rows_ = 0;
  mutable std::unordered_map<int, Page> pages_;
  mutable std::list<int> ages_;  ///< pages, newest first
  mutable std::vector<int> wanted_;
  mutable int newest_wanted_ = -1;
  bool in_flight_ = false;
  bool is_searching_ = false;
  int generation_ = 0;
};

}  // namespace assay
