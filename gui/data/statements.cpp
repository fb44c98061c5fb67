#include "gui/data/statements.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr std::array kStatements = {
    Statement{"run", 1,
              "SELECT id, command, source, format, options, tool, started, exit_code FROM runs "
              "ORDER BY id LIMIT 1"},
    Statement{"findings", 1,
              "SELECT f.id, f.node_id, f.kind, f.kind, f.blame, CASE WHEN f.kind LIKE "
              "'insignificant-%' THEN 'note' ELSE 'finding' END, f.message, f.claimed, f.observed, "
              "NULL, f.witness, n.graph_id, n.name, n.target, n.call, n.file, n.line, n.function, "
              "n.code FROM findings f LEFT JOIN nodes n ON n.id = f.node_id "
              "ORDER BY 6, f.blame DESC, f.id LIMIT 500"},
    Statement{"findings", 2,
              "SELECT f.id, f.node_id, f.kind, f.title, f.blame, f.severity, f.message, f.claimed, "
              "f.observed, f.rule, f.witness, f.graph_id, n.name, n.target, n.call, n.file, "
              "n.line, n.function, n.code FROM findings f LEFT JOIN nodes n ON n.id = f.node_id "
              "ORDER BY f.severity, f.blame DESC, f.id LIMIT 500"},
    Statement{"findings", 4,
              "SELECT f.id, f.node_id, f.kind, f.title, f.blame, f.severity, f.message, f.claimed, "
              "f.observed, f.rule, f.witness, ifnull(n.graph_id, f.graph_id), n.name, n.target, "
              "n.call, n.file, n.line, n.function, n.code, f.launch_id, l.target, f.line, "
              "f.kernel_line FROM findings f LEFT JOIN nodes n ON n.id = f.node_id LEFT JOIN "
              "launches l ON l.id = f.launch_id ORDER BY f.severity, f.blame DESC, f.id LIMIT 500"},
    Statement{"finding counts", 1, "SELECT kind, blame, count(*) FROM findings GROUP BY 1, 2"},
    Statement{"proof counts", 1, "SELECT verdict, count(*) FROM proofs GROUP BY 1"},
    Statement{"bindings", 1, "SELECT symbol, value FROM bindings ORDER BY symbol"},
    Statement{"graphs", 1,
              "SELECT id, name, kind, NULL, NULL, NULL FROM graphs ORDER BY id LIMIT 10000"},
    Statement{"graphs", 2,
              "SELECT id, name, kind, node_count, compilation_id, log_line FROM graphs ORDER BY id "
              "LIMIT 10000"},
    Statement{"graph text", 1, "SELECT name, kind, text FROM graphs WHERE id = ?"},
    Statement{"node", 1,
              "SELECT id, graph_id, seq, name, target, call, file, line, function, code, module, "
              "status, reason, capture_id, kind FROM nodes WHERE id = ?"},
    Statement{
        "node by name", 1,
        "SELECT n.id, n.graph_id FROM graphs g CROSS JOIN nodes n ON n.graph_id = g.id AND n.name "
        "= ? ORDER BY g.id LIMIT 1"},
    Statement{"node by name in graph", 1, "SELECT id FROM nodes WHERE graph_id = ? AND name = ?"},
    Statement{"node seq", 1, "SELECT seq FROM nodes WHERE id = ?"},
    Statement{"claims", 1,
              "SELECT leaf, dtype, sizes, strides, storage_offset, device, value FROM claims "
              "WHERE node_id = ? ORDER BY leaf LIMIT 1000"},
    Statement{"claims of graph", 1,
              "SELECT n.id, n.name, c.sizes FROM nodes n CROSS JOIN claims c ON c.node_id = n.id "
              "WHERE n.graph_id = ? AND c.sizes IS NOT NULL ORDER BY n.graph_id, n.seq"},
    Statement{"observations", 1,
              "SELECT leaf, dtype, sizes, strides, storage_offset, device, value, storage_id, "
              "storage_bytes, sum, abs_sum, source FROM observations WHERE node_id = ? ORDER BY "
              "leaf LIMIT 1000"},
    Statement{"inputs", 1,
              "SELECT n.id, n.name, n.target FROM operands o JOIN nodes n ON n.id = o.producer_id "
              "WHERE o.node_id = ? ORDER BY o.position LIMIT 200"},
    Statement{"users", 1,
              "SELECT n.id, n.name, n.target FROM operands o JOIN nodes n ON n.id = o.node_id "
              "WHERE o.producer_id = ? ORDER BY n.seq LIMIT 200"},
    // A graph whole, for its picture: each table read once in the order of an index. Ids of a
    // graph's nodes stand together, so a range of them is what others would join for.
    Statement{"graph nodes", 1,
              "SELECT id, name, target, module, status FROM nodes WHERE graph_id = ? ORDER BY "
              "graph_id, seq"},
    Statement{"graph claims", 1,
              "SELECT node_id, dtype, sizes FROM claims WHERE node_id BETWEEN ? AND ? ORDER BY "
              "node_id, leaf"},
    Statement{"graph bytes", 1,
              "SELECT node_id, storage_bytes FROM observations WHERE node_id BETWEEN ? AND ? ORDER "
              "BY node_id, leaf"},
    Statement{"graph findings", 1,
              "SELECT node_id, kind, blame FROM findings WHERE node_id BETWEEN ? AND ? ORDER BY "
              "node_id"},
    Statement{"graph edges", 1,
              "SELECT node_id, producer_id FROM operands WHERE node_id BETWEEN ? AND ? ORDER BY "
              "node_id, position"},
    Statement{"aliases", 1,
              "SELECT n.id, n.name, o.leaf, o.dtype, o.sizes, o.strides, o.storage_offset, "
              "o.storage_bytes FROM observations o JOIN nodes n ON n.id = o.node_id WHERE "
              "o.storage_id = ? AND n.graph_id = ? ORDER BY n.seq LIMIT 100"},
    Statement{"node findings", 1,
              "SELECT id, kind, blame, message, claimed, observed, leaf FROM findings WHERE "
              "node_id = ? LIMIT 100"},
    Statement{"symbols", 1,
              "SELECT name, kind, low, high, hint, sources FROM symbols WHERE graph_id = ? LIMIT "
              "10000"},
    Statement{"guards", 1,
              "SELECT g.rowid, g.seq, g.condition, g.text, g.origin, g.holds FROM guards g WHERE "
              "g.graph_id = ? ORDER BY g.seq LIMIT 20000"},
    Statement{"proofs", 1,
              "SELECT p.id, p.graph_id, p.node_id, p.kind, p.verdict, p.tier, p.condition, "
              "p.witness, p.reason, p.facts, p.place, NULL, NULL, n.name FROM proofs p LEFT JOIN "
              "nodes n ON n.id = p.node_id WHERE p.verdict = ? ORDER BY p.id LIMIT 20000"},
    Statement{"proofs", 2,
              "SELECT p.id, ifnull(n.graph_id, p.graph_id), p.node_id, p.kind, p.verdict, p.tier, "
              "p.condition, p.witness, p.reason, p.facts, p.place, p.line, p.kernel_line, n.name "
              "FROM graphs g "
              "CROSS JOIN proofs p ON p.graph_id = g.id LEFT JOIN nodes n ON n.id = p.node_id "
              "WHERE p.verdict = ? ORDER BY g.id, p.id LIMIT 20000"},
    Statement{"guard proofs", 1,
              "SELECT p.condition, p.verdict, p.tier, ifnull(p.witness, p.reason) FROM graphs g "
              "JOIN proofs p ON p.run_id = g.run_id AND p.graph_id = g.id WHERE g.id = ? AND "
              "p.kind = 'guard' LIMIT 20000"},
    Statement{"place of proof", 1,
              "SELECT ifnull(n.graph_id, p.graph_id), p.node_id FROM proofs p LEFT JOIN nodes n ON "
              "n.id = p.node_id WHERE p.id = ?"},
    Statement{"place of guard", 1, "SELECT graph_id, NULL FROM guards WHERE rowid = ?"},
    Statement{"proof guards", 1, "SELECT guard_seq FROM proof_guards WHERE proof_id = ?"},
    Statement{"line links", 2,
              "SELECT l.line, l.node_id, n.name, n.graph_id FROM line_links l JOIN nodes n ON n.id "
              "= l.node_id WHERE l.graph_id = ? LIMIT 50000"},
    Statement{"lines of node", 2, "SELECT graph_id, line FROM line_links WHERE node_id = ?"},
    Statement{"compilations", 2,
              "SELECT id, name, attempt, rank, outcome, reason, function, file, line, seconds, "
              "guards, log_line FROM compilations ORDER BY id LIMIT 20000"},
    Statement{"steps", 2,
              "SELECT id, seq, parent_id, phase, calls, verdict, failure, at_seconds, seconds, key "
              "FROM steps WHERE run_id = 1 AND seq > ? ORDER BY seq LIMIT 20000"},
    Statement{
        "step counts", 2,
        "SELECT count(*), sum(verdict = 'same'), max(CASE WHEN seq = 0 THEN calls END), "
        "min(CASE WHEN verdict = 'same' THEN calls END), max(CASE WHEN seq = 0 THEN failure "
        "END), (SELECT format = 'program' FROM runs WHERE id = 1) FROM steps WHERE run_id = 1"},
    Statement{"step", 2,
              "SELECT s.phase, s.calls, s.verdict, s.failure, s.seconds, s.output, s.text, p.text, "
              "p.seq, p.calls, s.key FROM steps s LEFT JOIN steps p ON p.id = s.parent_id WHERE "
              "s.id = ?"},
    Statement{"programs", 3,
              "SELECT g.id, g.name, g.text, p.arena_bytes, p.live_bytes, p.sum_bytes, p.steps, "
              "p.sizes FROM graphs g LEFT JOIN memory_plans p ON p.graph_id = g.id WHERE g.kind = "
              "'program' ORDER BY g.id LIMIT 1000"},
    Statement{"launches", 3,
              "SELECT l.id, l.seq, l.kind, l.target, l.kernel_id, l.line, l.grid, l.extents, "
              "l.text FROM launches l WHERE l.graph_id = ? ORDER BY l.seq LIMIT 50000"},
    Statement{"nodes of launches", 3,
              "SELECT l.id, n.id, n.graph_id, n.name FROM launches l CROSS JOIN line_links i ON "
              "i.graph_id = l.graph_id AND i.line = l.line JOIN nodes n ON n.id = i.node_id WHERE "
              "l.graph_id = ? ORDER BY l.seq LIMIT 200000"},
    Statement{"buffers of launches", 3,
              "SELECT l.id, b.name, t.access FROM launches l CROSS JOIN launch_buffers t ON "
              "t.launch_id = l.id JOIN buffers b ON b.id = t.buffer_id WHERE l.graph_id = ? ORDER "
              "BY l.seq, t.position LIMIT 500000"},
    Statement{"node of launch", 3,
              "SELECT n.id, n.graph_id FROM launches l JOIN line_links i ON i.graph_id = "
              "l.graph_id AND i.line = l.line JOIN nodes n ON n.id = i.node_id WHERE l.id = ? "
              "LIMIT 1"},
    Statement{"program of launch", 3, "SELECT graph_id FROM launches WHERE id = ?"},
    Statement{"program of node", 3,
              "SELECT l.graph_id FROM line_links i CROSS JOIN launches l ON l.graph_id = "
              "i.graph_id AND l.line = i.line WHERE i.node_id = ? LIMIT 1"},
    Statement{"findings of launches", 4,
              "SELECT l.id, f.kind, f.message, f.kernel_line FROM launches l CROSS JOIN findings f "
              "ON f.launch_id = l.id WHERE l.graph_id = ? ORDER BY l.seq LIMIT 10000"},
    Statement{"values of launch", 4,
              "SELECT leaf, layout, elements FROM tensor_values WHERE launch_id = ? LIMIT 100"},
    Statement{"values of node", 4,
              "SELECT source, leaf, layout, elements FROM tensor_values WHERE node_id = ? LIMIT "
              "100"},
    Statement{"values of launches of node", 4,
              "SELECT l.target, v.leaf, v.layout, v.elements FROM line_links i CROSS JOIN launches "
              "l ON l.graph_id = i.graph_id AND l.line = i.line JOIN tensor_values v ON "
              "v.launch_id = l.id WHERE i.node_id = ? ORDER BY l.seq LIMIT 100"},
    Statement{"kernel", 3, "SELECT name, language, text, nodes FROM kernels WHERE id = ?"},
    Statement{"decisions", 3,
              "SELECT d.id, d.kind, d.verdict, d.subject, d.other, d.reason, d.node_id, n.graph_id "
              "FROM decisions d LEFT JOIN nodes n ON n.id = d.node_id WHERE d.graph_id = ? ORDER "
              "BY d.seq LIMIT 50000"},
    Statement{"buffers", 3,
              "SELECT id, name, kind, dtype, size_bytes, offset_bytes, first_step, last_step, "
              "written_over FROM buffers WHERE graph_id = ? ORDER BY name LIMIT 50000"},
    Statement{"stages", 3,
              "SELECT compilation, name, verdict, calls, compared, ratio, reason, sizes, log_line, "
              "compilation_id FROM stages ORDER BY id LIMIT 20000"},
    Statement{"problems", 2,
              "SELECT id, kind, message, times FROM problems ORDER BY id LIMIT 10000"},
    Statement{"environment", 1, "SELECT name, value FROM environment ORDER BY name LIMIT 1000"},
    Statement{"modules", 2,
              "SELECT id, parent_id, path, nodes, findings FROM modules WHERE graph_id = ? ORDER "
              "BY path LIMIT 100000"},
    Statement{"operators", 2,
              "SELECT target, nodes, findings FROM op_counts WHERE graph_id = ? ORDER BY nodes "
              "DESC LIMIT 1000"},
};

}  // namespace

auto statements() -> std::span<const Statement> {
  return kStatements;
}

auto statement(std::string_view name, int version) -> std::string_view {
  std::string_view best;
  for (const auto& row : kStatements)
    if (row.name == name && row.version <= version) best = row.sql;
  return best;
}

}  // namespace assay
