#include "gui/views/plain_views.h"

#include <QJsonArray>
#include <QJsonDocument>

#include <array>
#include <set>
#include <span>

#include <QFileInfo>
#include <QSysInfo>

#include "gui/data/bundle_contents.h"
#include "gui/data/sizes.h"
#include "gui/data/statements.h"
#include "gui/views/theme.h"

namespace assay {
namespace {

auto cell(const TraceValue& value) -> QString {
  return qt(to_text(value));
}
auto mark(NodeMark which) -> int {
  return static_cast<int>(which);
}

auto detail_row(const QString& name, const std::string& value, Token token = Token::text)
    -> QString {
  if (value.empty()) return {};
  return QStringLiteral(
             "<tr><td style='color:%1'>%2</td><td style='color:%3'><code>%4</code></td></tr>")
      .arg(tone(Token::muted).name(), name, tone(token).name(),
           html(value).replace('\n', QStringLiteral("<br>")));
}

constexpr std::array kVerdicts = {"refuted", "unknown", "needed", "proved"};

auto mark_of(const std::string& verdict) -> NodeMark {
  if (verdict == "refuted" || verdict == "contradicts") return NodeMark::root;
  return verdict == "unknown" ? NodeMark::unchecked : NodeMark::ok;
}

}  // namespace

ProblemsView::ProblemsView(Desk& desk)
    : ListView(QStringLiteral("problems"), tr("Problems"), desk,
               {tr("Kind"), tr("Times"), tr("Message")}, {130, 60, 700}) {}

void ProblemsView::fetch() {
  const auto receive = [this](Result<TraceAnswer> answer) {
    if (!answer) return set_state(ViewState::failed, qt(answer.error().message));
    std::vector<Problem> problems;
    for (const auto& row : answer->rows)
      problems.push_back({to_text(row[1]), to_text(row[2]), to_number(row[3])});
    groups_ = group_problems(std::move(problems));
    std::vector<TextRow> rows;
    for (const auto& group : groups_)
      rows.push_back({.cells = {qt(group.kind), QString::number(group.times), qt(group.text)},
                      .mark = mark(group.kind == "assumed" ? NodeMark::note : NodeMark::unchecked),
                      .key = std::ssize(rows)});
    set_rows(std::move(rows), store()->version() < 2
                                  ? tr("A trace of version 1 does not record problems")
                                  : tr("Nothing was left unread or unchecked"));
  };
  store()->ask(this, "problems", {}, receive);
}

void ProblemsView::chosen(const TextRow& row) {
  constexpr std::size_t kMostShown = 500;
  const auto& problems = groups_[static_cast<std::size_t>(row.key)].problems;
  QString text;
  for (const auto& problem : std::span(problems).first(std::min(problems.size(), kMostShown)))
    text += html(problem.message) + QStringLiteral("<br>");
  if (problems.size() > kMostShown)
    text += tr("and %1 more: File > Export table as CSV").arg(problems.size() - kMostShown);
  set_detail(QStringLiteral("<p>%1</p>").arg(text));
}

auto ProblemsView::write_csv(const QString& path) -> bool {
  auto text = csv_line({tr("Kind"), tr("Times"), tr("Message")});
  for (const auto& group : groups_)
    for (const auto& problem : group.problems)
      text += csv_line({qt(problem.kind), QString::number(problem.times), qt(problem.message)});
  QFile file(path);
  return file.open(QIODevice::WriteOnly) && file.write(text.toUtf8()) >= 0;
}

ProofsView::ProofsView(Desk& desk)
    : ListView(QStringLiteral("proofs"), tr("Proofs"), desk,
               {tr("Verdict"), tr("Kind"), tr("Where"), tr("Condition"), tr("Tier")},
               {110, 150, 220, 330, 110}),
      kinds_(new QComboBox),
      counts_(new QLabel),
      picture_(new StoragePicture(at_witness_)),
      at_witness_(desk) {
  bar()->setContentsMargins(8, 6, 8, 6);
  kinds_->setAccessibleName(tr("Kind of condition"));
  counts_->setForegroundRole(QPalette::PlaceholderText);
  bar()->addWidget(kinds_);
  bar()->addWidget(counts_, 1);
  auto* below = new QHBoxLayout;
  below->setContentsMargins(10, 0, 10, 0);
  below->addWidget(picture_);
  column()->addLayout(below);
  connect(kinds_, &QComboBox::currentIndexChanged, this, [this] { fill(); });
}

void ProofsView::load(Store* store) {
  proofs_.clear();
  asked_ = 0;
  shown_ = 0;
  picture_->load(store);
  kinds_->blockSignals(true);
  kinds_->clear();
  kinds_->addItem(tr("all kinds"));
  kinds_->blockSignals(false);
  ListView::load(store);
}

void ProofsView::fetch() {
  if (asked_ == kVerdicts.size()) {
    std::set<QString> kinds;
    for (const auto& proof : proofs_) kinds.insert(qt(proof.kind));
    for (const auto& kind : kinds) kinds_->addItem(kind);
    return select();
  }
  store()->ask(this, "proofs", {std::string(kVerdicts[asked_++])},
               [this](Result<TraceAnswer> answer) {
                 if (!answer) return set_state(ViewState::failed, qt(answer.error().message));
                 receive(*answer);
                 fetch();
               });
}

void ProofsView::receive(const TraceAnswer& answer) {
  for (const auto& row : answer.rows)
    proofs_.push_back({.cursor = {.graph = to_number(row[1]),
                                  .node = to_number(row[2]),
                                  .proof = to_number(row[0])},
                       .kind = to_text(row[3]),
                       .verdict = to_text(row[4]),
                       .tier = to_text(row[5]),
                       .condition = to_text(row[6]),
                       .witness = to_text(row[7]),
                       .reason = to_text(row[8]),
                       .facts = to_text(row[9]),
                       .place = to_text(row[10]),
                       .node = to_text(row[13]),
                       .line = to_number(row[11])});
  fill();
}

void ProofsView::fill() {
  std::vector<TextRow> rows;
  std::map<std::string, int> counts;
  for (std::size_t i = 0; i < proofs_.size(); ++i) {
    const auto& proof = proofs_[i];
    ++counts[proof.verdict];
    if (kinds_->currentIndex() > 0 && qt(proof.kind) != kinds_->currentText()) continue;
    rows.push_back({.cells = {qt(proof.verdict), qt(proof.kind),
                              qt(proof.node.empty() ? proof.place.substr(0, proof.place.find('\n'))
                                                    : proof.node),
                              qt(proof.condition), qt(proof.tier)},
                    .cursor = proof.cursor,
                    .mark = mark(mark_of(proof.verdict)),
                    .key = static_cast<std::int64_t>(i)});
  }
  QStringList texts;
  for (const auto* verdict : kVerdicts)
    if (counts[verdict] > 0) texts << QStringLiteral("%1 %2").arg(counts[verdict]).arg(verdict);
  counts_->setText(texts.join(QStringLiteral(", ")));
  set_rows(std::move(rows), tr("Nothing was proved or refuted yet.\nRun > Prove for all sizes"));
}

void ProofsView::follow(const Cursor& cursor) {
  ListView::follow(cursor);
  select();
}

void ProofsView::select() {
  const auto wanted = cursor().proof;
  if (wanted == 0 || wanted == shown_) return;
  const auto proof =
      std::ranges::find(proofs_, wanted, [](const Proof& p) { return p.cursor.proof; });
  if (proof == proofs_.end()) return;
  if (kinds_->currentIndex() > 0 && qt(proof->kind) != kinds_->currentText())
    kinds_->setCurrentIndex(0);
  for (int i = 0; i < model()->rowCount(); ++i)
    if (model()->row(i)->cursor.proof == wanted) rows()->set_current_row(i);
  look_into(*proof);
}

void ProofsView::chosen(const TextRow& row) {
  const auto& proof = proofs_[static_cast<std::size_t>(row.key)];
  look_into(proof);
  desk().go(proof.cursor);
}

void ProofsView::look_into(const Proof& proof) {
  shown_ = proof.cursor.proof;
  at_witness_.sizes = sizes_of_witness(proof.witness);
  if (proof.verdict != "refuted")
    picture_->show_map({});
  else if (proof.cursor.node != 0)
    picture_->show_node(proof.cursor);
  else
    picture_->show_map(storage_map_of(proof.reason));
  store()->ask(this, "proof guards", {proof.cursor.proof},
               [this, proof](Result<TraceAnswer> answer) {
                 std::vector<std::int64_t> guards;
                 if (answer)
                   for (const auto& guard : answer->rows) guards.push_back(to_number(guard[0]));
                 show(proof, guards);
               });
}

void ProofsView::show(const Proof& proof, const std::vector<std::int64_t>& guards) {
  auto text = QStringLiteral("<h4>%1: %2</h4><table>").arg(html(proof.verdict), html(proof.kind));
  text += detail_row(tr("condition"), proof.condition);
  text += detail_row(tr("witness"), proof.witness, Token::bad);
  text += detail_row(tr("because"), proof.reason);
  text += detail_row(tr("place"), proof.place);
  text += detail_row(tr("rests on"), proof.facts);
  if (!guards.empty())
    text += detail_row(tr("guards"), fmt::format("{}", fmt::join(guards, ", ")), Token::dynamic);
  text += detail_row(tr("decided by"), proof.tier);
  text += QStringLiteral("</table>");
  set_detail(text + run_there_html(proof.witness));
}

EnvironmentView::EnvironmentView(Desk& desk)
    : ListView(QStringLiteral("bundle"), tr("Bundle and environment"), desk,
               {tr("Name"), tr("Recorded"), tr("This machine")}, {220, 320, 240}) {
  set_tab_title(tr("Bundle"));
}

void EnvironmentView::fetch() {
  const auto path = path_.toStdString();
  store()->ask<std::vector<TextRow>>(
      this, "environment rows",
      [path](const TraceReader& reader) -> Result<std::vector<TextRow>> {
        std::vector<TextRow> rows;
        for (const auto& [name, bytes] : bundle_contents(path))
          rows.push_back({.cells = {qt("file  " + name), tr("%1 bytes").arg(bytes), {}}});
        ASSAY_TRY(const auto answer, reader.query(statement("environment", reader.version())));
        for (const auto& row : answer.rows) {
          const auto name = to_text(row[0]);
          const auto here = name == "machine" ? QSysInfo::currentCpuArchitecture() : QString();
          const bool differs = !here.isEmpty() && here != cell(row[1]);
          rows.push_back(
              {.cells = {cell(row[0]), cell(row[1]), here},
               .mark = here.isEmpty() ? -1 : mark(differs ? NodeMark::note : NodeMark::ok),
               .bad_column = differs ? 2 : -1});
        }
        return rows;
      },
      [this](Result<std::vector<TextRow>> rows) {
        if (!rows) return set_state(ViewState::failed, qt(rows.error().message));
        set_rows(std::move(*rows), tr("The input records no environment"));
      });
}

namespace {

/// Logs hold reasons as a JSON list.
auto reasons(const TraceValue& value) -> QString {
  const auto list = QJsonDocument::fromJson(QByteArray::fromStdString(to_text(value)));
  if (!list.isArray()) return cell(value);
  QStringList texts;
  for (const auto& one : list.array()) texts << one.toString();
  return texts.join(QStringLiteral("; "));
}

/// Of a stage that was run: its verdict, and how far it is from the one before.
void add_verdict(TextRow& row, const std::vector<TraceValue>& stage) {
  const auto verdict = to_text(stage[2]);
  row.cells.resize(7);
  row.cells[1] = qt(verdict);
  row.cells[6] = cell(stage[6]);
  if (verdict == "agrees" || verdict == "differs")
    row.cells[6] =
        CompileView::tr(
            "%1 values compared, largest difference %2 of what rounding "
            "allows%3")
            .arg(cell(stage[4]))
            .arg(std::get<double>(stage[5]), 0, 'g', 3)
            .arg(row.cells[6].isEmpty() ? QString() : QStringLiteral("; ") + row.cells[6]);
  row.mark = mark(verdict == "agrees"    ? NodeMark::ok
                  : verdict == "differs" ? NodeMark::root
                  : verdict == "follows" ? NodeMark::inherited
                                         : NodeMark::unchecked);
}

auto stage_row(const std::vector<TraceValue>& stage, TraceId compilation) -> TextRow {
  TextRow row{.cells = {QStringLiteral("    %1").arg(cell(stage[1])), {}, {}, cell(stage[3])},
              .key = compilation};
  add_verdict(row, stage);
  return row;
}

}  // namespace

CompileView::CompileView(Desk& desk)
    : ListView(QStringLiteral("compile"), tr("Compilations"), desk,
               {tr("Compilation"), tr("Outcome"), tr("Seconds"), tr("Nodes"), tr("Guards"),
                tr("Function"), tr("Why")},
               {250, 100, 80, 70, 70, 210, 320}) {}

void CompileView::fetch() {
  using All = std::array<TraceAnswer, 3>;
  store()->ask<All>(
      this, "compile tree",
      [](const TraceReader& reader) -> Result<All> {
        if (reader.version() < 2) return All{};
        ASSAY_TRY(auto compilations, reader.query(statement("compilations", reader.version())));
        ASSAY_TRY(auto graphs, reader.query(statement("graphs", reader.version())));
        TraceAnswer stages;
        if (const auto sql = statement("stages", reader.version()); !sql.empty()) {
          ASSAY_TRY(stages, reader.query(sql));
        }
        return All{std::move(compilations), std::move(graphs), std::move(stages)};
      },
      [this](Result<All> all) {
        if (!all) return set_state(ViewState::failed, qt(all.error().message));
        build((*all)[0], (*all)[1], (*all)[2]);
      });
}

void CompileView::build(const TraceAnswer& compilations, const TraceAnswer& graphs,
                        const TraceAnswer& stages) {
  std::vector<TextRow> rows;
  details_.clear();
  details_[0] = {};
  for (const auto& one : compilations.rows) {
    const auto id = to_number(one[0]);
    const auto outcome = to_text(one[4]);
    const auto where =
        to_text(one[7]).empty()
            ? to_text(one[6])
            : fmt::format("{}  {}:{}", to_text(one[6]),
                          to_text(one[7]).substr(to_text(one[7]).rfind('/') + 1), to_text(one[8]));
    rows.push_back(
        {.cells = {tr("%1  attempt %2").arg(cell(one[1]), cell(one[2])),
                   qt(outcome),
                   one[9].index() == 0 ? QString()
                                       : QString::number(std::get<double>(one[9]), 'f', 2),
                   {},
                   cell(one[10]),
                   qt(where),
                   reasons(one[5])},
         .mark = mark(outcome == "compiled" ? NodeMark::ok
                      : outcome == "failed" ? NodeMark::failed
                                            : NodeMark::inherited),
         .key = id});
    details_[id] =
        QStringLiteral("<table>%1%2%3%4</table>")
            .arg(detail_row(tr("compilation"), to_text(one[1])), detail_row(tr("function"), where),
                 detail_row(tr("why"), reasons(one[5]).toStdString(), Token::note),
                 detail_row(tr("line of the log"), to_text(one[11])));
    std::set<std::int64_t> with_graph;
    for (const auto& graph : graphs.rows) {
      if (to_number(graph[4]) != id) continue;
      rows.push_back({.cells = {QStringLiteral("    ") + cell(graph[1]),
                                cell(graph[2]),
                                {},
                                to_number(graph[3]) > 0 ? cell(graph[3]) : QString()},
                      .cursor = {.graph = to_number(graph[0])},
                      .key = id});
      for (const auto& stage : stages.rows)
        if (to_number(stage[9]) == id && to_number(stage[8]) == to_number(graph[5])) {
          with_graph.insert(to_number(graph[5]));
          add_verdict(rows.back(), stage);
        }
    }
    for (const auto& stage : stages.rows)
      if (to_number(stage[9]) == id && !with_graph.contains(to_number(stage[8])))
        rows.push_back(stage_row(stage, id));
  }
  // Stages whose event is in no attempt that the log names.
  for (const auto& stage : stages.rows)
    if (stage[9].index() == 0) rows.push_back(stage_row(stage, 0));
  set_rows(std::move(rows), tr("Only traces of TORCH_TRACE logs hold compilations"));
}

void CompileView::chosen(const TextRow& row) {
  set_detail(details_[row.key]);
  ListView::chosen(row);
}

}  // namespace assay
