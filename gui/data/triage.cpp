#include "gui/data/triage.h"

#include "gui/data/statements.h"
#include "replay/trace/pages.h"

namespace assay {
namespace {

constexpr std::size_t kMostSizes = 8;  ///< said in the line of counts

auto plural(std::int64_t count, std::string_view one) -> std::string {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

auto finding_of(const std::vector<TraceValue>& row) -> TriageFinding {
  TriageFinding finding;
  finding.id = to_number(row[0]);
  finding.cursor = {.graph = to_number(row[11]), .node = to_number(row[1]), .finding = finding.id};
  finding.kind = to_text(row[2]);
  finding.title = to_text(row[3]);
  finding.blame = to_text(row[4]);
  finding.severity = to_text(row[5]);
  finding.message = to_text(row[6]);
  finding.claimed = to_text(row[7]);
  finding.observed = to_text(row[8]);
  finding.rule = to_text(row[9]);
  finding.witness = to_text(row[10]);
  finding.node = to_text(row[12]);
  finding.target = to_text(row[13]);
  finding.call = to_text(row[14]);
  finding.file = to_text(row[15]);
  finding.line = to_number(row[16]);
  finding.function = to_text(row[17]);
  finding.code = to_text(row[18]);
  if (row.size() < 23) return finding;  // an older trace
  finding.cursor.launch = to_number(row[19]);
  finding.launch = to_text(row[20]);
  finding.program_line = to_number(row[21]);
  finding.kernel_line = to_number(row[22]);
  return finding;
}

auto read_counts(const TraceReader& reader, Triage& triage) -> Result<TriageCounts> {
  TriageCounts counts;
  ASSAY_TRY(const auto proofs, reader.query(statement("proof counts", reader.version())));
  for (const auto& row : proofs.rows) {
    const auto verdict = to_text(row[0]);
    (verdict == "refuted"   ? counts.refuted
     : verdict == "unknown" ? counts.unknown
                            : counts.proved) += to_number(row[1]);
  }
  for (const auto& finding : triage.findings)
    (finding.is_note()              ? counts.notes
     : finding.blame == "inherited" ? counts.inherited
                                    : counts.roots) += 1;
  ASSAY_TRY(const auto graphs, reader.query(statement("graphs", reader.version())));
  std::map<std::int64_t, std::string> attempts;
  if (const auto sql = statement("compilations", reader.version()); !sql.empty()) {
    ASSAY_TRY(const auto compilations, reader.query(sql));
    for (const auto& row : compilations.rows)
      attempts[to_number(row[0])] =
          fmt::format("{} attempt {}, ", to_text(row[1]), to_number(row[2]));
  }
  for (const auto& row : graphs.rows) {
    counts.nodes += to_number(row[3]);
    triage.graphs.push_back({.id = to_number(row[0]),
                             .name = to_text(row[1]),
                             .kind = attempts[to_number(row[4])] + to_text(row[2]),
                             .nodes = to_number(row[3])});
  }
  if (const auto sql = statement("step counts", reader.version()); !sql.empty()) {
    ASSAY_TRY(const auto steps, reader.query(sql));
    const auto& row = steps.rows.front();
    counts.candidates = to_number(row[0]);
    counts.same = to_number(row[1]);
    counts.calls = to_number(row[2]);
    counts.least_calls = to_number(row[3]);
    triage.failure = to_text(row[4]);
    counts.counts_lines = to_number(row[5]) != 0;
  }
  if (const auto sql = statement("problems", reader.version()); !sql.empty()) {
    ASSAY_TRY(const auto problems, reader.query(sql));
    for (const auto& row : problems.rows) ++triage.problems[to_text(row[1])];
  }
  return counts;
}

auto sentence_of(const Triage& triage) -> std::string {
  const auto& counts = triage.counts;
  if (counts.roots > 0) {
    const auto& first = triage.findings.front();
    const auto who = first.who().empty() ? std::string() : first.who() + ": ";
    const auto more = counts.roots > 1 ? fmt::format("  (and {} more)", counts.roots - 1) : "";
    return who + (first.message.empty() ? first.title : first.message) + more;
  }
  if (counts.refuted > 0) return plural(counts.refuted, "condition") + " refuted for some sizes";
  if (triage.command == "run" || triage.command == "compile")
    return "nothing found: the program ran as it should";
  if (counts.candidates > 0)
    return fmt::format("reduced from {} to {}: {} of {} fail the same way",
                       plural(counts.calls, counts.counts_lines ? "line" : "call"),
                       counts.least_calls, counts.same, plural(counts.candidates, "candidate"));
  if (counts.unknown > 0)
    return fmt::format("nothing refuted; {} undecided", plural(counts.unknown, "condition"));
  if (triage.command.empty()) return "the trace holds no run";
  return "nothing found: every checked claim holds";
}

}  // namespace

auto read_triage(const TraceReader& reader) -> Result<Triage> {
  Triage triage;
  ASSAY_TRY(const auto run, reader.query(statement("run", reader.version())));
  if (!run.rows.empty()) {
    const auto& row = run.rows.front();
    triage.command = to_text(row[1]);
    triage.source = to_text(row[2]);
    triage.format = to_text(row[3]);
    triage.tool = to_text(row[5]);
    triage.started = to_text(row[6]);
  }
  ASSAY_TRY(const auto findings, reader.query(statement("findings", reader.version())));
  for (const auto& row : findings.rows) triage.findings.push_back(finding_of(row));
  ASSAY_TRY(triage.counts, read_counts(reader, triage));
  const auto& counts = triage.counts;
  triage.is_clean = counts.roots == 0 && counts.refuted == 0;
  triage.sentence = sentence_of(triage);
  std::vector<std::string> parts;
  if (counts.roots > 0) parts.push_back(plural(counts.roots, "root finding"));
  if (counts.inherited > 0) parts.push_back(fmt::format("{} inherited", counts.inherited));
  if (counts.notes > 0) parts.push_back(plural(counts.notes, "note"));
  if (counts.nodes > 0) parts.push_back(plural(counts.nodes, "node"));
  if (counts.roots == 0 && !triage.failure.empty()) parts.push_back(triage.failure);
  if (counts.proved + counts.refuted + counts.unknown > 0)
    parts.push_back(fmt::format("{} proved, {} refuted, {} undecided", counts.proved,
                                counts.refuted, counts.unknown));
  ASSAY_TRY(const auto bindings, reader.query(statement("bindings", reader.version())));
  std::size_t sizes = 0;
  for (const auto& row : bindings.rows) {
    const auto value = to_text(row[1]);
    if (value.find_first_not_of("-0123456789") != std::string::npos) continue;  // a real number
    if (++sizes <= kMostSizes) parts.push_back(fmt::format("{} = {}", to_text(row[0]), value));
  }
  if (sizes > kMostSizes) parts.push_back(fmt::format("and {} more sizes", sizes - kMostSizes));
  if (!reader.is_complete()) parts.emplace_back("the trace was cut off: rows may be missing");
  triage.details = fmt::format("{}", fmt::join(parts, "   "));
  return triage;
}

}  // namespace assay
