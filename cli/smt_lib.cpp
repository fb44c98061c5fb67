#include "cli/smt_lib.h"

#include <filesystem>
#include <fstream>

#include "core/expr/text.h"
#include "replay/report/programs.h"

namespace assay::cli {
namespace {

auto write_smt_lib(const std::string& folder, const std::string& stem, const std::string& comment,
                   const Query& query) -> Result<void> {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) return bad_input("{}: {}", folder, problem.message());
  std::string text = "; unsat: the condition follows\n; ";
  for (const char c : comment) text += c == '\n' ? "\n; " : std::string(1, c);
  const auto path = std::filesystem::path(folder) / (stem + ".smt2");
  std::ofstream file(path);
  file << text << "\n" << Prover::smt_lib(query);
  file.close();
  if (!file) return bad_input("{}: cannot be written", path.string());
  return {};
}

}  // namespace

/// One file per proof that used guards: unsat means that any other solver agrees.
auto dump_proofs(const std::string& folder, const Capture& capture, const ProveReport& report)
    -> Result<int> {
  const auto& env = capture.graph.env;
  int written = 0;
  const auto dump = [&](const std::string& stem, const Expr& claim,
                        const std::vector<std::size_t>& needed) -> Result<void> {
    Query query{env.replaced(claim), {}, env.ranges()};
    for (const auto index : needed)
      query.assumptions.push_back(env.replaced(env.guards()[index].condition));
    ASSAY_TRY_VOID(write_smt_lib(folder, stem, print_expr(claim), query));
    ++written;
    return {};
  };
  for (std::size_t i = 0; i < report.guards.guards.size(); ++i)
    if (report.guards.guards[i].verdict == GuardVerdict::implied)
      ASSAY_TRY_VOID(
          dump(fmt::format("guard_{}", i), env.guards()[i].condition, report.guards.guards[i].by));
  if (report.obligations)
    for (std::size_t i = 0; i < report.obligations->facts.size(); ++i)
      ASSAY_TRY_VOID(dump(fmt::format("obligation_{}", i), report.obligations->facts[i].condition,
                          report.obligations->facts[i].needed));
  if (report.bounds)
    for (std::size_t i = 0; i < report.bounds->checks.size(); ++i)
      if (const auto* proved = std::get_if<Proved>(&report.bounds->checks[i].answer))
        ASSAY_TRY_VOID(
            dump(fmt::format("bound_{}", i), report.bounds->checks[i].condition, proved->needed));
  return written;
}

auto dump_programs(const std::string& folder, const std::vector<ProvedProgram>& programs)
    -> Result<int> {
  int written = 0;
  for (std::size_t p = 0; p < programs.size(); ++p)
    for (std::size_t o = 0; o < programs[p].report.obligations.size(); ++o) {
      const auto& obligation = programs[p].report.obligations[o];
      for (std::size_t i = 0; i < obligation.proofs.size(); ++i, ++written)
        ASSAY_TRY_VOID(write_smt_lib(
            folder, fmt::format("program_{}_obligation_{}_{}", p, o, i),
            fmt::format("{}\n{}\n{}", programs[p].name, place_of(obligation), obligation.claim),
            obligation.proofs[i]));
    }
  return written;
}

}  // namespace assay::cli
