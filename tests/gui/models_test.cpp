#include <gtest/gtest.h>

#include <random>

#include <QAbstractItemModelTester>
#include <QSignalSpy>

#include "gui/models/node_model.h"
#include "gui/models/text_model.h"
#include "gui/views/row_table.h"
#include "tests/gui/support.h"
#include "tests/support/traces.h"

namespace assay {
namespace {

using Mode = QAbstractItemModelTester::FailureReportingMode;

class GuiModels : public ::testing::Test {
 protected:
  void open(std::int64_t nodes) {
    if (nodes == 0)
      testing::write_small_trace(folder_ / "t.sqlite");
    else
      testing::write_generated_trace(folder_ / "t.sqlite", nodes);
    auto opened = Store::open(folder_ / "t.sqlite");
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }
  auto settled() -> bool {
    return testing::wait_until([&] { return store_->is_idle(); });
  }
  auto name(const NodeModel& model, int row) -> std::string {
    if (!testing::wait_until([&] { return model.line(row) != nullptr; })) return "?";
    return model.line(row)->name;
  }
  testing::TemporaryFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(GuiModels, NodeModelIsAModelWhileItsPagesComeAndGo) {
  open(3000);
  NodeModel model;
  const QAbstractItemModelTester tester(&model, Mode::Fatal);
  model.set_store(store_.get());
  model.set_graph(1);
  ASSERT_TRUE(settled());
  EXPECT_EQ(model.rowCount(), 3000);
  EXPECT_EQ(name(model, 2999), "view_2999");
  EXPECT_EQ(name(model, 0), "add_0");
  ASSERT_TRUE(model.set_filter("relu"));
  ASSERT_TRUE(settled());
  EXPECT_EQ(model.rowCount(), 750);
  EXPECT_EQ(name(model, 1), "relu_6");
  model.sort(NodeModel::kName, Qt::DescendingOrder);
  ASSERT_TRUE(settled());
  EXPECT_EQ(name(model, 0), "relu_998");
  EXPECT_FALSE(model.set_filter("nose:x"));
  EXPECT_EQ(model.rowCount(), 750);  // a mistake leaves the rows
  model.set_store(nullptr);
  EXPECT_EQ(model.rowCount(), 0);
}

TEST_F(GuiModels, RandomScrollsAndFiltersNeverShowAWrongRow) {
  open(5000);
  NodeModel model;
  const QAbstractItemModelTester tester(&model, Mode::Fatal);
  model.set_store(store_.get());
  model.set_graph(1);
  ASSERT_TRUE(settled());
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    if (i % 7 == 6) {
      ASSERT_TRUE(model.set_filter(i % 2 == 0 ? "" : "mm"));
      if (i % 3 == 0) {
        ASSERT_TRUE(settled());
      }
    }
    if (model.rowCount() == 0) continue;
    const int row = static_cast<int>(random() % static_cast<unsigned>(model.rowCount()));
    if (const auto* line = model.line(row); line && !model.is_filtered()) {
      EXPECT_EQ(line->seq, row);
    }
    testing::wait_until([] { return false; }, 5);
  }
  ASSERT_TRUE(settled());
}

TEST_F(GuiModels, ANewerQuestionReplacesAnOlderOne) {
  open(0);
  QObject asker;
  int answers = 0;
  std::int64_t last = 0;
  for (std::int64_t i = 1; i <= 50; ++i)
    store_->ask<std::int64_t>(
        &asker, "same", [i](const TraceReader&) -> Result<std::int64_t> { return i; },
        [&](Result<std::int64_t> value) {
          ++answers;
          last = *value;
        });
  ASSERT_TRUE(settled());
  EXPECT_EQ(last, 50);
  EXPECT_EQ(answers, 1);
}

TEST_F(GuiModels, AnswersForThoseWhoAreGoneAreDropped) {
  open(0);
  auto asker = std::make_unique<QObject>();
  bool answered = false;
  store_->ask<int>(
      asker.get(), "x", [](const TraceReader&) -> Result<int> { return 1; },
      [&](Result<int>) { answered = true; });
  asker.reset();
  ASSERT_TRUE(settled());
  EXPECT_FALSE(answered);
}

TEST_F(GuiModels, AStoreClosesWhileItIsAsked) {
  open(20'000);
  QObject asker;
  store_->ask<TraceAnswer>(
      &asker, "slow",
      [](const TraceReader& reader) {
        return reader.query("SELECT count(*) FROM nodes a, nodes b, nodes c");
      },
      [](Result<TraceAnswer>) { FAIL() << "the store is gone"; });
  testing::wait_until([] { return false; }, 50);
  QElapsedTimer clock;
  clock.start();
  store_.reset();
  EXPECT_LT(clock.elapsed(), 2000);
}

TEST(TextModels, AreModels) {
  TextModel model({QStringLiteral("a"), QStringLiteral("b")});
  const QAbstractItemModelTester tester(&model, Mode::Fatal);
  model.set_rows({{.cells = {QStringLiteral("1"), QStringLiteral("2")}}});
  model.append({{.cells = {QStringLiteral("3")}}, {.cells = {}}});
  EXPECT_EQ(model.rowCount(), 3);
  EXPECT_EQ(model.data(model.index(1, 0), Qt::DisplayRole).toString(), QStringLiteral("3"));
  model.replace(1, {.cells = {QStringLiteral("4")}, .bad_column = 0});
  EXPECT_TRUE(model.data(model.index(1, 0), TextModel::kBadRole).toBool());
  model.set_table({QStringLiteral("x")}, {});
  EXPECT_EQ(model.columnCount(), 1);
}

TEST(RowTables, ColumnsFitWhatIsSeenAndLongCellsGiveWay) {
  TextModel model({QStringLiteral("a"), QStringLiteral("b"), QStringLiteral("c")});
  RowTable table;
  table.set_model(&model, {80, 60, 400});
  table.resize(500, 200);
  table.show();
  const auto long_text = QString(200, QLatin1Char('m'));
  model.set_rows(
      {{.cells = {QStringLiteral("shape-mismatch-of-7"), QStringLiteral("1"), long_text}}});
  const auto fits = [&] { return table.header()->length() <= table.viewport()->width(); };
  ASSERT_TRUE(
      testing::wait_until([&] { return table.header()->sectionSize(1) < 60 && fits(); }, 5000));
  EXPECT_GE(table.header()->sectionSize(0),
            table.fontMetrics().horizontalAdvance(QStringLiteral("shape-mismatch-of-7")))
      << "short texts are whole";
  model.set_rows({{.cells = {long_text, QStringLiteral("1"), long_text}}});
  ASSERT_TRUE(
      testing::wait_until([&] { return table.header()->sectionSize(0) < 300 && fits(); }, 5000))
      << "long ones are cut, not scrolled away";
}

TEST(RowTables, AJumpFitsTheColumnsToWhatIsSeenThere) {
  TextModel model({QStringLiteral("name"), QStringLiteral("#")});
  RowTable table;
  table.set_model(&model, {400, 60});
  table.resize(700, 200);
  table.show();
  const auto long_name = QStringLiteral("a_name_that_is_longer_than_the_title");
  std::vector<TextRow> rows;
  for (int i = 0; i < 10'000; ++i)
    rows.push_back({.cells = {i < 5'000 ? QStringLiteral("a") : long_name, QString::number(i)}});
  model.set_rows(std::move(rows));
  const int needed = table.fontMetrics().horizontalAdvance(long_name);
  ASSERT_TRUE(testing::wait_until([&] { return table.header()->sectionSize(0) < needed; }, 5000));
  table.set_current_row(9'990);
  EXPECT_TRUE(testing::wait_until([&] { return table.header()->sectionSize(0) > needed; }, 5000));
}

}  // namespace
}  // namespace assay
