// Structured trace logs of PyTorch (`TORCH_TRACE=folder`): the events as written, and what they say
// about each compilation. Sources: torch/_logging/_internal.py (writer), tlparse (another reader).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "replay/formats/capture.h"

namespace assay {

enum class PayloadHash : std::uint8_t {
  none,      ///< the event names no hash
  verified,  ///< MD5 of the payload is what the event says
  repaired,  ///< so it is once blank lines that lost their TAB are counted in
  differs,   ///< payload cut off or edited
};

/// One event: a header line with one line of JSON, then payload lines, each behind a TAB.
struct TraceEvent {
  std::string kind;   ///< the JSON key that is no envelope key, e.g. "dynamo_output_graph"
  int line = 0;       ///< of the header line, 1-based
  std::string time;   ///< "1120 09:58:24.740000": month, day, time; logs have no year
  std::string place;  ///< "torch/_dynamo/convert_frame.py:276"
  std::string body;   ///< JSON value of the kind
  std::optional<std::int64_t> rank;
  std::string compile_id;  ///< "0/0", with compiled autograd "!1/0/0"; empty if there is none
  std::int64_t attempt = 0;
  std::string payload;  ///< without the TABs; empty if there is none
  int payload_lines = 0;
  PayloadHash hash = PayloadHash::none;
};

struct TraceLog {
  std::vector<TraceEvent> events;               ///< all of them, kinds we do not know included
  std::map<std::int64_t, std::string> strings;  ///< interned file names
  std::vector<std::string> warnings;            ///< "line 7: ...", what was tolerated
  int lines = 0;
  int skipped_lines = 0;  ///< ordinary log lines and others that are no part of an event
};

/// Reads a log as far as it goes: broken lines become warnings, a log cut off in the middle gives
/// the events before. Errors: bad_input if there is not one event.
[[nodiscard]] auto read_torch_trace(std::string_view text) -> Result<TraceLog>;

struct TraceSymbol {
  std::string name, value, range, source;
  std::string where;  ///< innermost user frame: "models.py:158 in forward"
};
struct TraceGuard {
  std::string text;
  std::string where;  ///< innermost user frame, else the innermost frame
  std::string code;   ///< its source line
};
struct TraceSpecialization {
  std::string symbol, value, reason, source, where;
};
/// A payload that is a graph or a program. `name` is unique in its compilation: the kind or the
/// artifact's name, "#2" and so on behind it where there are several.
struct TracePart {
  std::string name;
  std::size_t event = 0;
};

/// One attempt at one compilation. Attempts restart from nothing; the last one is what runs.
struct TraceCompilation {
  std::string compile_id;
  std::int64_t attempt = 0;
  std::optional<std::int64_t> rank;
  bool is_last_attempt = true;
  std::vector<TraceSymbol> symbols;
  std::vector<TraceGuard> guards;
  std::vector<TraceSpecialization> specializations;
  std::vector<TracePart> graphs;        ///< print_readable payloads
  std::vector<TracePart> output_codes;  ///< Inductor's Python wrappers
  std::vector<TracePart> repro_scripts;
  std::vector<TracePart> guard_trees;  ///< dynamo_cpp_guards_str
  std::vector<TracePart> metrics;      ///< compilation_metrics and its cousins
  std::vector<std::size_t> events;     ///< all events of this attempt
};

/// Compilations in order of their first event. Facts that a body lacks stay empty.
[[nodiscard]] auto compilations(const TraceLog& log) -> std::vector<TraceCompilation>;

/// Those that recorded answers may be of: with code or, where nothing was lowered, with graphs. The
/// last one is what ran.
[[nodiscard]] auto answered_compilations(const std::vector<TraceCompilation>& all)
    -> std::vector<const TraceCompilation*>;
/// Is it what is left of a function behind a place where Dynamo gave up?
[[nodiscard]] auto is_resumed(const TraceLog& log, const TraceCompilation& compilation) -> bool;
/// Did Dynamo compile such a rest, and is there more than one program, or one that something
/// follows, or did it compile what a function calls that it had begun with? Then no compilation
/// (`all` of the log) is the whole function.
[[nodiscard]] auto is_in_parts(const TraceLog& log, const std::vector<TraceCompilation>& all)
    -> bool;

/// The graph in a payload, vmap put on whole batches (batching.h). Errors: bad_input with lines of
/// the log.
[[nodiscard]] auto trace_graph(const TraceLog& log, const TracePart& part) -> Result<Graph>;

/// What `known` says of the symbols of `env` (by name: hints, ranges, replacements, guards) is
/// added to it. Guards about symbols that `env` does not have are left out.
void know_symbols(ShapeEnv& env, const ShapeEnv& known);

/// Symbols with ranges, hints and sources, all guards recorded while compiling, and those that the
/// final guard tree adds. What cannot be read is left out and named in `skipped`.
struct TraceShapes {
  ShapeEnv env;
  std::vector<std::string> skipped;
};
[[nodiscard]] auto trace_shapes(const TraceLog& log, const TraceCompilation& compilation)
    -> TraceShapes;

/// The graph of a part with what the log knows of its symbols; no input has a value. Errors:
/// bad_input, unsupported.
[[nodiscard]] auto trace_graph_capture(const TraceLog& log, const TraceCompilation& compilation,
                                       const TracePart& part) -> Result<Capture>;

/// Members of a metrics body as texts, null members left out.
[[nodiscard]] auto trace_metrics(const TraceEvent& event)
    -> std::vector<std::pair<std::string, std::string>>;

/// "; compile 0/0 of forward failed: Unsupported: Attempted to wrap RNN", for each that did.
[[nodiscard]] auto trace_failures(const TraceLog& log) -> std::string;

/// The repro script of a log as a capture: of `part` ("fx_graph_runnable", "0/0
/// fx_graph_runnable#2") or the first of the last attempts. A log without repro scripts (the
/// backend was not Inductor) gives its graphs behind AOTAutograd instead, else those of Dynamo.
/// Errors: unsupported if there is none.
[[nodiscard]] auto trace_capture(const TraceLog& log, std::string_view part = {})
    -> Result<Capture>;

}  // namespace assay
