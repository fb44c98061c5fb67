#include "replay/trace/schema.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace assay {
namespace {

using enum TraceType;

constexpr std::array kTables = {
    TraceTable{"runs", "One command that wrote into this file.", ""},
    TraceTable{"environment", "Where the capture was made and where it was replayed.", "run_id"},
    TraceTable{"compilations", "Attempts at compilations that a log records, in its order.",
               "run_id"},
    TraceTable{"graphs", "Captured programs, with bodies of higher-order operators as children.",
               "run_id; compilation_id"},
    TraceTable{"modules", "Modules of a graph's nodes as a tree, with counts.", "graph_id, path"},
    TraceTable{"nodes", "Steps of a graph in execution order.", "graph_id, seq; graph_id, name"},
    TraceTable{"operands", "Edges: which node reads the value of which other node.",
               "producer_id, node_id; node_id, position"},
    TraceTable{"claims", "What the capture says about each tensor or scalar of a node's value.",
               "node_id, leaf"},
    TraceTable{"observations", "What running the node really produced, leaf by leaf.",
               "node_id, leaf; storage_id, node_id"},
    TraceTable{"findings", "What was found out about the program.", "node_id; launch_id"},
    TraceTable{"symbols", "Size symbols and what is known about them.", "graph_id"},
    TraceTable{"guards", "Conditions the capture relies on.", "graph_id, seq"},
    TraceTable{"proofs", "Conditions that were proved, refuted or not decided for all sizes.",
               "run_id, graph_id, node_id; graph_id, verdict; node_id"},
    TraceTable{"proof_guards", "Certificates: the guards that, with the ranges, a proof used.",
               "proof_id"},
    TraceTable{"bindings", "Value of each symbol in a run, solved from its inputs.", "run_id"},
    TraceTable{"op_counts", "Nodes and findings by operator, counted when the run ended.",
               "graph_id, target"},
    TraceTable{"line_links", "Lines of a program's text and the nodes that they come from.",
               "graph_id, line; node_id"},
    TraceTable{"steps", "Every candidate that a reduction asked its oracle about.", "run_id, seq"},
    TraceTable{"kernels", "Kernels of compiled programs.", "graph_id"},
    TraceTable{
        "launches",
        "Steps of a compiled program: kernels and library calls. line_links has their nodes.",
        "graph_id, seq; graph_id, line"},
    TraceTable{"buffers", "Memory of a compiled program at the sizes of its plan.",
               "graph_id, name"},
    TraceTable{"launch_buffers", "Which step touches which buffer.", "launch_id; buffer_id"},
    TraceTable{"memory_plans", "Sums over the buffers of a program.", "graph_id"},
    TraceTable{"decisions", "Choices of the compiler, with reasons.", "graph_id, seq; node_id"},
    TraceTable{"stages", "Stages of a compilation, each run and compared with the one before.",
               "run_id, seq; compilation_id"},
    TraceTable{"tensor_values",
               "First elements of what a node gave, or of what a launch left in a buffer.",
               "node_id; launch_id"},
    TraceTable{"problems", "What was not read or not understood, and how often.", "run_id"},
};

constexpr std::array kColumns = {
    TraceColumn{"runs", "id", integer, "", "", "key"},
    TraceColumn{"runs", "command", text, "", "", "sub-command: debug, replay, minify"},
    TraceColumn{"runs", "source", text, "", "", "input as the user named it"},
    TraceColumn{"runs", "format", text, "", "", "kind of input: fx text, pt2, bundle"},
    TraceColumn{"runs", "options", text, "json", "", "options that differ from their defaults"},
    TraceColumn{"runs", "tool", text, "", "", "who wrote this, with version"},
    TraceColumn{"runs", "started", text, "", "", "UTC time in ISO 8601"},
    TraceColumn{"runs", "duration_ms", real, "ms", "", "wall time; null while running"},
    TraceColumn{"runs", "exit_code", integer, "", "", "of the command; null while running"},

    TraceColumn{"environment", "run_id", integer, "", "runs.id", ""},
    TraceColumn{"environment", "name", text, "", "", "e.g. torch"},
    TraceColumn{"environment", "value", text, "", "", ""},

    TraceColumn{"compilations", "id", integer, "", "", "key"},
    TraceColumn{"compilations", "run_id", integer, "", "runs.id", ""},
    TraceColumn{"compilations", "name", text, "", "", "compile id: frame/recompilation, 0/1"},
    TraceColumn{"compilations", "attempt", integer, "", "", "from 0; restarts count up"},
    TraceColumn{"compilations", "rank", integer, "", "", "of a distributed run"},
    TraceColumn{"compilations", "outcome", text, "", "", "compiled, restarted, failed"},
    TraceColumn{"compilations", "reason", text, "", "", "why it restarted, recompiled or failed"},
    TraceColumn{"compilations", "function", text, "", "", "that was compiled"},
    TraceColumn{"compilations", "file", text, "", "", "it stands in"},
    TraceColumn{"compilations", "line", integer, "", "", "in that file, from 1"},
    TraceColumn{"compilations", "seconds", real, "s", "", "of the whole frame"},
    TraceColumn{"compilations", "guards", integer, "", "", "recorded while compiling"},
    TraceColumn{"compilations", "log_line", integer, "", "", "of its first event, from 1"},

    TraceColumn{"graphs", "id", integer, "", "", "key"},
    TraceColumn{"graphs", "run_id", integer, "", "runs.id", ""},
    TraceColumn{"graphs", "parent_id", integer, "", "graphs.id", "null for the program itself"},
    TraceColumn{"graphs", "name", text, "", "", "class name, or attribute below the parent"},
    TraceColumn{"graphs", "kind", text, "", "", "fwd, bwd, inf, export or empty"},
    TraceColumn{"graphs", "hash", text, "", "", "structural hash, 16 hex digits"},
    TraceColumn{"graphs", "text", text, "", "", "native text form, with its header"},
    TraceColumn{"graphs", "node_count", integer, "", "", "nodes; null if it was cut off"},
    TraceColumn{"graphs", "operand_count", integer, "", "", "edges; null if it was cut off"},
    TraceColumn{"graphs", "compilation_id", integer, "", "compilations.id", "that made it"},
    TraceColumn{"graphs", "log_line", integer, "", "", "of its event in the log, from 1"},

    TraceColumn{"modules", "id", integer, "", "", "key"},
    TraceColumn{"modules", "graph_id", integer, "", "graphs.id", ""},
    TraceColumn{"modules", "parent_id", integer, "", "modules.id", "null at the top"},
    TraceColumn{"modules", "path", text, "", "", "layers.0.mlp"},
    TraceColumn{"modules", "nodes", integer, "", "", "in it and below"},
    TraceColumn{"modules", "findings", integer, "", "", "in it and below, notes left out"},

    TraceColumn{"nodes", "id", integer, "", "", "key"},
    TraceColumn{"nodes", "graph_id", integer, "", "graphs.id", ""},
    TraceColumn{"nodes", "seq", integer, "", "", "position in execution order, from 0"},
    TraceColumn{"nodes", "capture_id", integer, "", "", "stable id, kept through every edit"},
    TraceColumn{"nodes", "kind", text, "", "", "placeholder, get_attr, call_function, ..."},
    TraceColumn{"nodes", "name", text, "", "", ""},
    TraceColumn{"nodes", "target", text, "", "", "canonical operator: aten.add.Tensor"},
    TraceColumn{"nodes", "call", text, "", "", "the call as Python text"},
    TraceColumn{"nodes", "file", text, "", "", "source file in the user's program"},
    TraceColumn{"nodes", "line", integer, "", "", "in that file, from 1"},
    TraceColumn{"nodes", "function", text, "", "", ""},
    TraceColumn{"nodes", "code", text, "", "", "the source line"},
    TraceColumn{"nodes", "module", text, "", "", "module path, e.g. layers.0.mlp"},
    TraceColumn{"nodes", "status", text, "", "",
                "ran, recorded, failed, unchecked, skipped; null if not run"},
    TraceColumn{"nodes", "reason", text, "", "", "why it failed or was not run"},
    TraceColumn{"nodes", "duration_ms", real, "ms", "", "time in the reference kernel"},

    TraceColumn{"operands", "node_id", integer, "", "nodes.id", "the reader"},
    TraceColumn{"operands", "position", integer, "", "", "among its references, from 0"},
    TraceColumn{"operands", "producer_id", integer, "", "nodes.id", "whose value is read"},

    TraceColumn{"claims", "node_id", integer, "", "nodes.id", ""},
    TraceColumn{"claims", "leaf", text, "", "", "path in a tuple: empty, 0, 1.2"},
    TraceColumn{"claims", "dtype", text, "", "", "null for scalars"},
    TraceColumn{"claims", "sizes", text, "elements", "", "[s77, 16]"},
    TraceColumn{"claims", "strides", text, "elements", "", "[16, 1]"},
    TraceColumn{"claims", "storage_offset", text, "elements", "", ""},
    TraceColumn{"claims", "device", text, "", "", ""},
    TraceColumn{"claims", "value", text, "", "", "scalars: the expression"},

    TraceColumn{"observations", "node_id", integer, "", "nodes.id", ""},
    TraceColumn{"observations", "leaf", text, "", "", "path in a tuple: empty, 0, 1.2"},
    TraceColumn{"observations", "source", text, "", "", "replay, or recorded with the capture"},
    TraceColumn{"observations", "dtype", text, "", "", "null for scalars"},
    TraceColumn{"observations", "sizes", text, "elements", "", "[5, 16]"},
    TraceColumn{"observations", "strides", text, "elements", "", "[16, 1]"},
    TraceColumn{"observations", "storage_offset", integer, "elements", "", ""},
    TraceColumn{"observations", "device", text, "", "", ""},
    TraceColumn{"observations", "storage_id", integer, "", "",
                "equal ids share memory within one run"},
    TraceColumn{"observations", "storage_bytes", integer, "bytes", "", "size of that storage"},
    TraceColumn{"observations", "sum", real, "", "",
                "of all elements, in double; the text nan for NaN"},
    TraceColumn{"observations", "abs_sum", real, "", "", "of their absolute values"},
    TraceColumn{"observations", "value", text, "", "", "scalars: the value"},

    TraceColumn{"findings", "id", integer, "", "", "key"},
    TraceColumn{"findings", "run_id", integer, "", "runs.id", ""},
    TraceColumn{"findings", "node_id", integer, "", "nodes.id", "null: about the whole graph"},
    TraceColumn{"findings", "leaf", text, "", "", "path in a tuple"},
    TraceColumn{"findings", "kind", text, "", "",
                "from the registry: stride-mismatch, ...; of a program's run out-of-bounds, ..."},
    TraceColumn{"findings", "blame", text, "", "", "root or inherited"},
    TraceColumn{"findings", "root_node_id", integer, "", "nodes.id", "where it begins"},
    TraceColumn{"findings", "claimed", text, "", "", ""},
    TraceColumn{"findings", "observed", text, "", "", ""},
    TraceColumn{"findings", "witness", text, "json", "", "symbol values that show it"},
    TraceColumn{"findings", "message", text, "", "", "one line"},
    TraceColumn{"findings", "severity", text, "", "", "finding or note"},
    TraceColumn{"findings", "title", text, "", "", "the kind in words"},
    TraceColumn{"findings", "claimed_value", text, "", "", "the claim at the run's sizes"},
    TraceColumn{"findings", "rule", text, "", "", "what Assay's own rule says"},
    TraceColumn{"findings", "graph_id", integer, "", "graphs.id", "the program it is about"},
    TraceColumn{"findings", "launch_id", integer, "", "launches.id", "the step that met it"},
    TraceColumn{"findings", "line", integer, "", "", "of the program's text, from 1"},
    TraceColumn{"findings", "kernel_line", integer, "", "", "of the kernel's text, from 1"},
    TraceColumn{"findings", "times", integer, "", "", "how many lanes met it there"},

    TraceColumn{"symbols", "graph_id", integer, "", "graphs.id", ""},
    TraceColumn{"symbols", "name", text, "", "", "s77, u0"},
    TraceColumn{"symbols", "kind", text, "", "", "backed, unbacked, ..."},
    TraceColumn{"symbols", "low", text, "", "", "least admitted value; -int_oo for none"},
    TraceColumn{"symbols", "high", text, "", "", "greatest admitted value; int_oo for none"},
    TraceColumn{"symbols", "hint", text, "", "", "value at capture time"},
    TraceColumn{"symbols", "sources", text, "json", "", "where it was read from"},

    TraceColumn{"guards", "graph_id", integer, "", "graphs.id", ""},
    TraceColumn{"guards", "seq", integer, "", "", "in the order recorded"},
    TraceColumn{"guards", "condition", text, "", "", "simplified"},
    TraceColumn{"guards", "text", text, "", "", "as recorded"},
    TraceColumn{"guards", "origin", text, "", "", "where the capture came to rely on it"},
    TraceColumn{"guards", "holds", integer, "", "", "1 or 0 in this run; null if not evaluated"},

    TraceColumn{"proofs", "id", integer, "", "", "key"},
    TraceColumn{"proofs", "run_id", integer, "", "runs.id", ""},
    TraceColumn{"proofs", "graph_id", integer, "", "graphs.id", ""},
    TraceColumn{"proofs", "node_id", integer, "", "nodes.id", "null: about no single node"},
    TraceColumn{"proofs", "place", text, "", "", "of a compiled program: statement and access"},
    TraceColumn{"proofs", "kind", text, "", "",
                "guard, obligation, extent, offset, overlap, int64, claim; view-in-storage, "
                "access-in-bounds, fits-32-bits, assert-holds, operands-live, shapes-agree"},
    TraceColumn{"proofs", "condition", text, "", "", "what was asked about"},
    TraceColumn{"proofs", "verdict", text, "", "",
                "proved, refuted, unknown; of guards also needed"},
    TraceColumn{"proofs", "tier", text, "", "", "the step that answered"},
    TraceColumn{"proofs", "witness", text, "", "", "sizes that refute it"},
    TraceColumn{"proofs", "reason", text, "", "", "why it is unknown"},
    TraceColumn{"proofs", "facts", text, "", "",
                "what a proof rests on beside ranges and proof_guards, one a line"},
    TraceColumn{"proofs", "line", integer, "", "", "of the program's text, from 1"},
    TraceColumn{"proofs", "kernel_line", integer, "", "", "of the program's text, from 1"},

    TraceColumn{"proof_guards", "proof_id", integer, "", "proofs.id", ""},
    TraceColumn{"proof_guards", "guard_seq", integer, "", "", "guards.seq of the same graph"},

    TraceColumn{"bindings", "run_id", integer, "", "runs.id", ""},
    TraceColumn{"bindings", "symbol", text, "", "", ""},
    TraceColumn{"bindings", "value", text, "", "", ""},
    TraceColumn{"bindings", "source", text, "", "", "which input gave it"},

    TraceColumn{"op_counts", "graph_id", integer, "", "graphs.id", ""},
    TraceColumn{"op_counts", "target", text, "", "", "canonical operator"},
    TraceColumn{"op_counts", "nodes", integer, "", "", ""},
    TraceColumn{"op_counts", "findings", integer, "", "", "notes left out"},

    TraceColumn{"line_links", "graph_id", integer, "", "graphs.id", "whose text it is"},
    TraceColumn{"line_links", "line", integer, "", "", "in that text, from 1"},
    TraceColumn{"line_links", "node_id", integer, "", "nodes.id", "perhaps of another graph"},

    TraceColumn{"steps", "id", integer, "", "", "key"},
    TraceColumn{"steps", "run_id", integer, "", "runs.id", ""},
    TraceColumn{"steps", "seq", integer, "", "", "in the order asked, from 0"},
    TraceColumn{"steps", "parent_id", integer, "", "steps.id", "the best candidate before it"},
    TraceColumn{"steps", "phase", text, "", "", "of the search: original, calls, sizes, ..."},
    TraceColumn{"steps", "key", text, "", "", "hash of the content, 16 hex digits"},
    TraceColumn{"steps", "calls", integer, "", "",
                "calls in the candidate; of a program its lines"},
    TraceColumn{"steps", "verdict", text, "", "",
                "same, other, passes, invalid, timeout, out-of-memory"},
    TraceColumn{"steps", "failure", text, "", "", "signature of what it did"},
    TraceColumn{"steps", "at_seconds", real, "s", "", "since the search began"},
    TraceColumn{"steps", "seconds", real, "s", "", "of the oracle"},
    TraceColumn{"steps", "output", text, "", "", "end of what the oracle printed"},
    TraceColumn{"steps", "text", text, "", "", "the candidate; null where it is large"},

    TraceColumn{"kernels", "id", integer, "", "", "key"},
    TraceColumn{"kernels", "graph_id", integer, "", "graphs.id", "the program it is of"},
    TraceColumn{"kernels", "name", text, "", "", "that launches name"},
    TraceColumn{"kernels", "language", text, "", "", "triton, cpp; empty: Assay's own"},
    TraceColumn{"kernels", "text", text, "", "", "source"},
    TraceColumn{"kernels", "nodes", text, "", "", "names of nodes it computes, by commas"},

    TraceColumn{"launches", "id", integer, "", "", "key"},
    TraceColumn{"launches", "graph_id", integer, "", "graphs.id", "the program"},
    TraceColumn{"launches", "seq", integer, "", "", "in order of execution, from 0"},
    TraceColumn{"launches", "kind", text, "", "", "kernel, call or copy"},
    TraceColumn{"launches", "target", text, "", "", "kernel or operator"},
    TraceColumn{"launches", "kernel_id", integer, "", "kernels.id", "null for calls"},
    TraceColumn{"launches", "line", integer, "", "", "of the program's text, from 1"},
    TraceColumn{"launches", "grid", text, "programs", "", "4 x 1 x 1; null: not bound to sizes"},
    TraceColumn{"launches", "extents", text, "elements", "", "of the axes: 8 x 16"},
    TraceColumn{"launches", "text", text, "", "", "the statement"},

    TraceColumn{"buffers", "id", integer, "", "", "key"},
    TraceColumn{"buffers", "graph_id", integer, "", "graphs.id", "the program"},
    TraceColumn{"buffers", "name", text, "", "", ""},
    TraceColumn{"buffers", "kind", text, "", "", "input, output or temporary"},
    TraceColumn{"buffers", "dtype", text, "", "", "as it was allocated"},
    TraceColumn{"buffers", "size_bytes", integer, "bytes", "", ""},
    TraceColumn{"buffers", "offset_bytes", integer, "bytes", "", "in the arena; null: elsewhere"},
    TraceColumn{"buffers", "first_step", integer, "", "", "launches.seq that first uses it"},
    TraceColumn{"buffers", "last_step", integer, "", "", "launches.seq that last uses it"},
    TraceColumn{"buffers", "written_over", text, "", "", "operand whose place it takes"},

    TraceColumn{"launch_buffers", "launch_id", integer, "", "launches.id", ""},
    TraceColumn{"launch_buffers", "position", integer, "", "", "among its buffers, from 0"},
    TraceColumn{"launch_buffers", "buffer_id", integer, "", "buffers.id", ""},
    TraceColumn{"launch_buffers", "access", text, "", "", "reads, writes, both"},

    TraceColumn{"memory_plans", "graph_id", integer, "", "graphs.id", "the program"},
    TraceColumn{"memory_plans", "arena_bytes", integer, "bytes", "", "of all temporaries' places"},
    TraceColumn{"memory_plans", "live_bytes", integer, "bytes", "",
                "largest sum of temporaries that live at one step"},
    TraceColumn{"memory_plans", "sum_bytes", integer, "bytes", "", "of all temporaries"},
    TraceColumn{"memory_plans", "steps", integer, "", "", "launches of the program"},
    TraceColumn{"memory_plans", "sizes", text, "", "", "s77 = 5; it was planned for"},

    TraceColumn{"decisions", "id", integer, "", "", "key"},
    TraceColumn{"decisions", "graph_id", integer, "", "graphs.id", "the program"},
    TraceColumn{"decisions", "seq", integer, "", "", "in the order made, from 0"},
    TraceColumn{"decisions", "node_id", integer, "", "nodes.id", "null: about a buffer"},
    TraceColumn{"decisions", "kind", text, "", "", "store, fuse, library, reuse"},
    TraceColumn{"decisions", "verdict", text, "", "", "accepted or refused"},
    TraceColumn{"decisions", "subject", text, "", "", "node or buffer"},
    TraceColumn{"decisions", "other", text, "", "", "kernel, operator or buffer"},
    TraceColumn{"decisions", "reason", text, "", "", ""},

    TraceColumn{"stages", "id", integer, "", "", "key"},
    TraceColumn{"stages", "run_id", integer, "", "runs.id", ""},
    TraceColumn{"stages", "compilation_id", integer, "", "compilations.id", ""},
    TraceColumn{"stages", "seq", integer, "", "", "from 0"},
    TraceColumn{"stages", "compilation", text, "", "", "compile id: 0/1"},
    TraceColumn{"stages", "name", text, "", "", ""},
    TraceColumn{"stages", "verdict", text, "", "", "agrees, differs, follows, not run"},
    TraceColumn{"stages", "calls", integer, "", "", "nodes that are calls, or launches"},
    TraceColumn{"stages", "compared", integer, "", "", "values"},
    TraceColumn{"stages", "ratio", real, "", "", "largest distance, in what rounding allows"},
    TraceColumn{"stages", "reason", text, "", "", "why it did not run, or what it follows"},
    TraceColumn{"stages", "sizes", text, "", "", "s77 = 6; they ran at"},
    TraceColumn{"stages", "log_line", integer, "", "", "from 1"},

    TraceColumn{"tensor_values", "node_id", integer, "", "nodes.id", "null: of a launch"},
    TraceColumn{"tensor_values", "launch_id", integer, "", "launches.id", "null: of a node"},
    TraceColumn{"tensor_values", "leaf", text, "", "", "path in a tuple, or the buffer's name"},
    TraceColumn{"tensor_values", "source", text, "", "",
                "graph: Assay's own kernels ran it; made-up: on values that the input does not "
                "hold; program: a compiled program wrote it"},
    TraceColumn{"tensor_values", "layout", text, "elements", "", "f32[5, 16][16, 1]cpu"},
    TraceColumn{"tensor_values", "elements", text, "", "", "the first of them: 0.5, -1, nan"},

    TraceColumn{"problems", "id", integer, "", "", "key"},
    TraceColumn{"problems", "run_id", integer, "", "runs.id", ""},
    TraceColumn{"problems", "kind", text, "", "", "warning, not-read, made-up, unchecked"},
    TraceColumn{"problems", "message", text, "", "", "the first of its kind"},
    TraceColumn{"problems", "times", integer, "", "", "how often"},
};

auto type_name(TraceType type) -> std::string_view {
  switch (type) {
    case integer:
      return "INTEGER";
    case real:
      return "REAL";
    case text:
      return "TEXT";
  }
  return "";
}

/// `nodes.id` -> `nodes(id)`
auto reference_clause(std::string_view references) -> std::string {
  if (references.empty()) return {};
  const auto dot = references.find('.');
  return fmt::format(" REFERENCES {}({})", references.substr(0, dot), references.substr(dot + 1));
}

auto index_ddl(const TraceTable& table) -> std::string {
  std::string sql;
  int count = 0;
  for (auto rest = table.indexes; !rest.empty(); ++count) {
    const auto end = rest.find(';');
    sql += fmt::format("CREATE INDEX {0}_index{1} ON {0}({2});\n", table.name,
                       count == 0 ? "" : std::to_string(count + 1), rest.substr(0, end));
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  }
  return sql;
}

}  // namespace

auto trace_tables() -> std::span<const TraceTable> {
  return kTables;
}
auto trace_columns() -> std::span<const TraceColumn> {
  return kColumns;
}

auto trace_columns(std::string_view table) -> std::span<const TraceColumn> {
  const auto is_other = [&](const TraceColumn& column) { return column.table != table; };
  const auto begin = std::ranges::find_if_not(kColumns, is_other);
  const auto end = std::find_if(begin, kColumns.end(), is_other);
  return {begin, end};
}

auto trace_ddl() -> std::string {
  std::string sql;
  for (const auto& table : kTables) {
    std::string columns;
    for (const auto& column : trace_columns(table.name))
      columns += fmt::format("{}\n  {} {}{}{}", columns.empty() ? "" : ",", column.name,
                             type_name(column.type), column.name == "id" ? " PRIMARY KEY" : "",
                             reference_clause(column.references));
    sql += fmt::format("CREATE TABLE {} ({}\n);\n", table.name, columns);
    sql += index_ddl(table);
  }
  return sql +
         "CREATE VIRTUAL TABLE node_text USING fts5(name, target, content='', "
         "tokenize='trigram');\n";
}

auto trace_schema_page() -> std::string {
  auto page = fmt::format(
      "# Tables of a trace\n\nA trace is an SQLite file with application id 0x{:08x} and version "
      "{}."
      "\nNull means: not recorded.\n",
      kTraceApplicationId, kTraceVersion);
  page +=
      "\n`node_text` holds names and targets of nodes for search by parts of words; its rowid is "
      "nodes.id.\n";
  for (const auto& table : kTables) {
    page += fmt::format(
        "\n## {}\n\n{}\n\n| column | type | unit | refers to | meaning |\n|---|---|---|---|---|\n",
        table.name, table.doc);
    for (const auto& column : trace_columns(table.name))
      page += fmt::format("| {} | {} | {} | {} | {} |\n", column.name, type_name(column.type),
                          column.unit, column.references, column.doc);
  }
  return page;
}

}  // namespace assay
