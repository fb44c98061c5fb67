#include "replay/report/stages_report.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "replay/report/log_rows.h"

namespace assay {
namespace {

constexpr std::size_t kWarnings = 3;  ///< that the text shows

struct StageCounts {
  int stages = 0, not_run = 0, refused = 0, decided = 0, open = 0, answers = 0, compared = 0,
      points = 0;
  std::size_t layouts_only = 0;
};

auto count(const StageReport& report) -> StageCounts {
  StageCounts counts;
  for (const auto& compilation : report.compilations) {
    ++counts.points;
    counts.answers += compilation.answers;
    if (!compilation.error.empty()) ++counts.refused;
    for (const auto& row : compilation.rows) {
      ++counts.stages;
      counts.compared += row.compared;
      counts.layouts_only += static_cast<std::size_t>(row.layouts_only);
      if (row.state == StageState::not_run) ++counts.not_run;
    }
    for (const auto& problem : compilation.problems)
      ++(problem.is_decided ? counts.decided : counts.open);
  }
  return counts;
}

auto headline(const StageReport& report, const Paint& paint) -> std::string {
  const auto counts = count(report);
  const auto stages = counted(counts.stages, "stage");
  if (counts.decided != 0)
    return fmt::format(
        "{}: {} of {} from the stage before\n", paint("wrong", Style::red),
        counts.decided == 1 ? "one differs" : fmt::format("{} differ", counts.decided), stages);
  if (counts.open != 0)
    return fmt::format("{}: {} of {} differ from the stage before, on inputs that were made up\n",
                       paint("undecided", Style::yellow), counts.open, stages);
  if (counts.not_run + counts.refused != 0) {
    std::vector<std::string> all;
    if (counts.refused != 0) all.push_back(counted(counts.refused, "compilation"));
    if (counts.not_run != 0) all.push_back(fmt::format("{} of {}", counts.not_run, stages));
    return fmt::format("{}: {} did not run{}\n", paint("undecided", Style::yellow),
                       fmt::join(all, " and "),
                       counts.stages > counts.not_run ? ", the others agree" : "");
  }
  return fmt::format("{}: {} agree in {}{}\n", paint("nothing found", Style::green), stages,
                     counted(counts.compared, "comparison"),
                     counts.answers == 0 ? std::string()
                                         : fmt::format(", {} equal the recorded ones",
                                                       counted(counts.answers, "value")));
}

auto state_text(const StageRow& row, const Paint& paint) -> std::string {
  switch (row.state) {
    case StageState::agrees: {
      auto text = paint("ok", Style::green);
      if (row.layouts_only > 0)
        text +=
            fmt::format(", layouts only of {} random or open", counted(row.layouts_only, "value"));
      return text;
    }
    case StageState::differs:
      return paint("differs", Style::red);
    case StageState::follows:
      return fmt::format("as {}", row.reason);
    case StageState::not_run:
      return fmt::format("{}: {}", paint("not run", Style::yellow), row.reason);
  }
  return {};
}

auto size_text(const StageRow& row) -> std::string {
  if (row.size == 0 && row.state == StageState::not_run) return {};
  return row.is_program ? counted(row.size, "launch", "launches") : counted(row.size, "node");
}

auto table_text(const CompilationStages& compilation, const Paint& paint) -> std::string {
  auto text = fmt::format("{}{}{}\n", compilation.name, compilation.witness.empty() ? "" : ": ",
                          compilation.witness);
  if (!compilation.error.empty())
    return text + fmt::format("  {}: {}\n", paint("not run", Style::yellow), compilation.error);
  std::size_t wide = 0;
  for (const auto& row : compilation.rows) wide = std::max(wide, row.name.size());
  for (const auto& row : compilation.rows)
    text += fmt::format("  {:<{}}  {:<9}  {:>11}  {}\n", row.name, wide, name(row.role),
                        size_text(row), state_text(row, paint));
  return text;
}

auto error_text(double error) -> std::string {
  return fmt::format("{:.3g}", error);
}

auto problem_text(const StageProblem& problem, const Paint& paint) -> std::string {
  auto text = describe(problem.finding, paint);
  const auto row = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("    {:<9}{}\n", name, value);
  };
  row("stage", problem.log_line > 0
                   ? fmt::format("{}, line {} of the log", problem.stage, problem.log_line)
                   : problem.stage);
  const auto& blame = problem.blame;
  row("call", blame.call.substr(0, 200));
  if (blame.before != blame.call) row("was", blame.before.substr(0, 200));
  if (!blame.through.empty())
    row("through", fmt::format("{}: nothing in between is in the other stage", blame.through));
  row("computes", fmt::format("{}", fmt::join(blame.nodes, ", ")));
  if (std::isfinite(problem.distance.distance) && problem.distance.distance > 0)
    row("distance", fmt::format("{}, rounding allows {}", error_text(problem.distance.distance),
                                error_text(problem.distance.allowed)));
  if (std::isfinite(problem.distance.expected_error) && problem.distance.distance > 0)
    row("float64",
        fmt::format("{} away before, {} here", error_text(problem.distance.expected_error),
                    error_text(problem.distance.actual_error)));
  if (!problem.is_decided) row("note", "inputs were made up, so this accuses nobody");
  return text;
}

using Json = nlohmann::ordered_json;

auto number_json(double value) -> Json {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

auto problem_json(const StageProblem& problem) -> Json {
  const auto& finding = problem.finding;
  Json entry{{"kind", info(finding.kind).name},
             {"stage", problem.stage},
             {"before", problem.before},
             {"decided", problem.is_decided},
             {"value", problem.value},
             {"node", finding.node_name},
             {"target", finding.target},
             {"element", finding.leaf},
             {"expected", finding.claimed},
             {"observed", finding.observed},
             {"message", finding.message},
             {"call", problem.blame.call},
             {"call_before", problem.blame.before},
             {"through", problem.blame.through},
             {"computes", problem.blame.nodes},
             {"distance", number_json(problem.distance.distance)},
             {"allowed", number_json(problem.distance.allowed)},
             {"float64_before", number_json(problem.distance.expected_error)},
             {"float64_here", number_json(problem.distance.actual_error)},
             {"log_line", problem.log_line}};
  if (finding.origin)
    entry["origin"] = {{"file", finding.origin->file},
                       {"line", finding.origin->line},
                       {"function", finding.origin->function},
                       {"code", finding.origin->code}};
  return entry;
}

/// The first point, and points of a sweep where something is to be seen.
auto is_shown(const StageReport& report, std::size_t i) -> bool {
  const auto& compilation = report.compilations[i];
  return i == 0 || report.compilations[i - 1].name != compilation.name ||
         !compilation.problems.empty();
}

}  // namespace

auto state_of(const StageReport& report) -> ReportState {
  const auto counts = count(report);
  if (counts.decided != 0) return ReportState::findings;
  return counts.open + counts.not_run + counts.refused != 0 ? ReportState::undecided
                                                            : ReportState::clean;
}

auto stages_text(const StageReport& report, const Paint& paint) -> std::string {
  auto text = headline(report, paint);
  for (std::size_t i = 0; i < report.compilations.size(); ++i) {
    const auto& compilation = report.compilations[i];
    if (!is_shown(report, i)) continue;
    text += table_text(compilation, paint);
    for (const auto& problem : compilation.problems) text += problem_text(problem, paint);
    if (!compilation.made_up.empty())
      text += fmt::format("note: contents of {} are made up\n",
                          counted(std::ssize(compilation.made_up), "input"));
  }
  if (std::ranges::any_of(report.compilations, &CompilationStages::is_part))
    text += "note: the function is in parts, recorded answers of the whole are not compared\n";
  if (const auto points = count(report).points; points > 1)
    text += fmt::format("{} were run\n", counted(points, "binding"));
  for (std::size_t i = 0; i < std::min(report.warnings.size(), kWarnings); ++i)
    text += fmt::format("warning: {}\n", report.warnings[i]);
  if (report.warnings.size() > kWarnings)
    text += fmt::format("warning: {} more of the kind\n", report.warnings.size() - kWarnings);
  return text;
}

auto stages_json(const StageReport& report, const std::string& file) -> std::string {
  Json list = Json::array();
  for (const auto& compilation : report.compilations) {
    Json rows = Json::array(), problems = Json::array();
    for (const auto& row : compilation.rows)
      rows.push_back({{"name", row.name},
                      {"role", name(row.role)},
                      {"log_line", row.log_line},
                      {row.is_program ? "launches" : "nodes", row.size},
                      {"state", name(row.state)},
                      {"reason", row.reason},
                      {"compared", row.compared},
                      {"layouts_only", row.layouts_only}});
    for (const auto& problem : compilation.problems) problems.push_back(problem_json(problem));
    list.push_back({{"name", compilation.name},
                    {"sizes", compilation.witness},
                    {"made_up", compilation.made_up},
                    {"answers", compilation.answers},
                    {"is_part", compilation.is_part},
                    {"error", compilation.error},
                    {"stages", rows},
                    {"findings", problems}});
  }
  const Json result = {{"schema", "assay.stages/1"},
                       {"file", file},
                       {"verdict", name(state_of(report))},
                       {"compilations", list},
                       {"warnings", report.warnings}};
  return result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

auto findings_of(const StageReport& report) -> std::vector<Finding> {
  std::vector<Finding> findings;
  for (const auto& compilation : report.compilations)
    for (const auto& problem : compilation.problems)
      if (problem.is_decided) findings.push_back(problem.finding);
  return findings;
}

auto test_cases(const StageReport& report) -> std::vector<TestCase> {
  std::vector<TestCase> cases;
  for (const auto& compilation : report.compilations)
    for (const auto& row : compilation.rows) {
      auto& c = cases.emplace_back(TestCase{.name = row.name,
                                            .group = compilation.name,
                                            .kind = {},
                                            .message = row.reason,
                                            .text = {}});
      if (row.state == StageState::not_run || row.state == StageState::follows)
        c.result = TestCase::Result::skipped;
      for (const auto& problem : compilation.problems) {
        if (problem.stage != row.name) continue;
        c.result = problem.is_decided ? TestCase::Result::failed : TestCase::Result::skipped;
        c.kind = info(problem.finding.kind).name;
        c.message = problem.finding.message;
        c.text = describe(problem.finding);
      }
    }
  return cases;
}

namespace {

auto verdict_row(TraceId run, const CompilationStages& compilation, const StageRow& row,
                 const RecordedLog& log, std::int64_t seq) -> StageVerdictRow {
  StageVerdictRow made{.run_id = run,
                       .compilation_id = {},
                       .seq = seq,
                       .compilation = compilation.name,
                       .name = row.name,
                       .verdict = std::string(name(row.state)),
                       .calls = row.size,
                       .compared = row.compared,
                       .ratio = row.largest_ratio,
                       .reason = row.reason,
                       .sizes = compilation.witness,
                       .log_line = {}};
  if (row.log_line > 0) made.log_line = row.log_line;
  if (const auto found = log.compilations.find(row.log_line); found != log.compilations.end())
    made.compilation_id = found->second;
  return made;
}

}  // namespace

auto record_stages(const std::string& path, const std::string& source, std::string_view bytes,
                   const StageReport& report, int exit_code) -> Result<void> {
  ASSAY_TRY(auto writer, TraceWriter::create(path));
  ASSAY_TRY(const auto run, writer.add(run_row("debug", source, "torch trace", "")));
  ASSAY_TRY(const auto log, record_compilations(writer, run, bytes));
  std::vector<std::string> not_run;
  std::int64_t seq = 0;
  for (const auto& compilation : report.compilations) {
    for (const auto& row : compilation.rows)
      ASSAY_TRY_VOID(writer.add(verdict_row(run, compilation, row, log, seq++)));
    for (const auto& row : compilation.rows)
      if (row.state == StageState::not_run)
        not_run.push_back(fmt::format("{} {}: {}", compilation.name, row.name, row.reason));
    for (const auto& problem : compilation.problems) {
      auto row = finding_row(run, problem.finding);
      if (!problem.is_decided) row.blame = "inherited";
      for (const auto& [id, nodes] : log.nodes)
        if (const auto node = nodes.find(problem.finding.node_name); node != nodes.end())
          row.node_id = node->second;
      ASSAY_TRY_VOID(writer.add(row));
    }
  }
  ASSAY_TRY_VOID(record_problems(writer, run, "not-run", not_run));
  ASSAY_TRY_VOID(writer.finish_run(run, exit_code, 0));
  return writer.finalise();
}

}  // namespace assay
