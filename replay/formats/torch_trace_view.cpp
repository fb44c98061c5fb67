// What the events of a trace log say about each compilation.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "core/expr/text.h"
#include "core/graph/annotation.h"
#include "core/graph/module_reader.h"
#include "core/graph/text.h"
#include "replay/formats/batching.h"
#include "replay/formats/json.h"
#include "replay/formats/torch_trace.h"

namespace assay {
namespace {

auto text_of(JsonValue value) -> std::string {
  const auto text = value.as_string();
  if (text) return std::string(*text);
  return value.exists() && !value.is_null() ? value.dump() : std::string();
}

class Viewer {
 public:
  explicit Viewer(const TraceLog& log) : log_(log) {}

  auto compilations() -> std::vector<TraceCompilation> {
    for (std::size_t i = 0; i < log_.events.size(); ++i) {
      const auto& event = log_.events[i];
      if (event.compile_id.empty() || event.kind == "str") continue;
      auto& compilation = compilation_of(event);
      compilation.events.push_back(i);
      add(compilation, event, i);
    }
    for (auto& one : result_)
      for (const auto& other : result_)
        if (other.compile_id == one.compile_id && other.rank == one.rank &&
            other.attempt > one.attempt && !other.events.empty() && is_compiling(other))
          one.is_last_attempt = false;
    return std::move(result_);
  }

 private:
  /// Metrics that come after the fact carry attempt 0 and start nothing.
  [[nodiscard]] static auto is_compiling(const TraceCompilation& compilation) -> bool {
    return compilation.attempt > 0 || !compilation.symbols.empty() || !compilation.graphs.empty();
  }

  auto compilation_of(const TraceEvent& event) -> TraceCompilation& {
    for (auto& known : result_)
      if (known.compile_id == event.compile_id && known.attempt == event.attempt &&
          known.rank == event.rank)
        return known;
    auto& added = result_.emplace_back();
    added.compile_id = event.compile_id;
    added.attempt = event.attempt;
    added.rank = event.rank;
    return added;
  }

  [[nodiscard]] auto frame_text(JsonValue frame) const -> std::string {
    const auto id = frame["filename"].as_int();
    auto file = text_of(frame["filename"]);
    if (const auto found = id ? log_.strings.find(*id) : log_.strings.end();
        found != log_.strings.end())
      file = found->second;
    const auto name = text_of(frame["name"]);
    return fmt::format("{}:{}{}", file, frame["line"].as_int().value_or(0),
                       name.empty() ? "" : " in " + name);
  }

  /// Innermost frame of the user's stack, else of the whole.
  [[nodiscard]] static auto innermost(JsonValue body) -> JsonValue {
    for (const auto* key : {"user_stack", "stack"})
      if (const auto frames = body[key].items(); !frames.empty()) return frames.back();
    return {};
  }
  [[nodiscard]] auto where(JsonValue body) const -> std::string {
    const auto frame = innermost(body);
    return frame.exists() ? frame_text(frame) : std::string();
  }

  void add(TraceCompilation& to, const TraceEvent& event, std::size_t index) {
    const auto json = JsonDocument::parse(event.body, event.kind);
    const auto body = json ? json->root() : JsonValue();
    if (event.kind == "create_symbol" || event.kind == "create_unbacked_symbol") {
      const auto range = text_of(body["vr"]);
      to.symbols.push_back({text_of(body["symbol"]), text_of(body["val"]), range,
                            text_of(body["source"]), where(body)});
    } else if (event.kind == "guard_added" || event.kind == "guard_added_fast") {
      to.guards.push_back({text_of(body["expr"]), where(body), text_of(innermost(body)["loc"])});
    } else if (event.kind == "symbolic_shape_specialization") {
      const auto sources = body["sources"].items();
      to.specializations.push_back({text_of(body["symbol"]), text_of(body["value"]),
                                    text_of(body["reason"]),
                                    sources.empty() ? "" : text_of(sources.front()), where(body)});
    } else if (event.kind.contains("metrics")) {
      append(to.metrics, event.kind, index);
    } else if (!event.payload.empty()) {
      add_payload(to, event,
                  event.kind == "artifact" || event.kind == "graph_dump" ? text_of(body["name"])
                                                                         : event.kind,
                  index);
    }
  }

  /// A program that was only timed, to choose how a call is made: its inputs are named so
  /// (torch/_inductor/codegen/subgraph.py).
  static auto times_a_choice(std::string_view program) -> bool {
    const auto inputs = program.substr(0, program.find(" = args\n"));
    if (inputs.size() == program.size()) return false;
    return trimmed(inputs.substr(inputs.rfind('\n') + 1)).starts_with("benchmark_");
  }

  static void add_payload(TraceCompilation& to, const TraceEvent& event, const std::string& name,
                          std::size_t index) {
    if (name == "inductor_output_code" && times_a_choice(event.payload)) return;
    if (name == "inductor_output_code")
      append(to.output_codes, name, index);
    else if (name == "fx_graph_runnable")
      append(to.repro_scripts, name, index);
    else if (name == "dynamo_cpp_guards_str")
      append(to.guard_trees, name, index);
    else if (event.payload.contains("def forward(") && event.payload.contains("class "))
      append(to.graphs, name, index);
  }

  static void append(std::vector<TracePart>& parts, const std::string& name, std::size_t index) {
    const auto is_one = [&](const TracePart& part) {
      return part.name == name || part.name.starts_with(name + "#");
    };
    const auto before = std::ranges::count_if(parts, is_one);
    parts.push_back({before == 0 ? name : fmt::format("{}#{}", name, before + 1), index});
  }

  const TraceLog& log_;
  std::vector<TraceCompilation> result_;
};

/// `[2, int_oo]`, `VR[2, 9]`, `[-oo, oo]`.
auto read_range(ClaimReader& reader, std::string_view text) -> std::optional<Interval> {
  const auto open = text.find('[');
  const auto close = text.rfind(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::nullopt;
  const auto ends = split_at_commas(text.substr(open + 1, close - open - 1));
  if (ends.size() != 2) return std::nullopt;
  const auto end_of = [&](std::string_view end) -> std::optional<Expr> {
    if (end == "-oo" || end == "-int_oo") return Expr::neg_infinity();
    if (end == "oo" || end == "int_oo") return Expr::infinity();
    const auto value = parse_expr(reader.env().pool(), end);
    return value && value->is_const() ? std::optional(*value) : std::nullopt;
  };
  const auto low = end_of(ends[0]);
  const auto high = end_of(ends[1]);
  return low && high ? std::optional(Interval{*low, *high}) : std::nullopt;
}

auto is_word(char c) -> bool {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// `L['x'].h` is no part of `L['x'].hidden`.
void replace_source(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; !what.empty() && (at = text.find(what, at)) != std::string::npos;) {
    const auto behind = at + what.size();
    const bool is_part = behind < text.size() && is_word(what.back()) && is_word(text[behind]);
    if (!is_part) text.replace(at, what.size(), by);
    at += is_part ? what.size() : by.size();
  }
}

/// How many characters a source takes that begins there: `L['x'].size()[0]`, `G['f'].h`; 0 if none
/// does.
auto source_length(std::string_view text, std::size_t at) -> std::size_t {
  const auto rest = text.substr(at);
  if (!(rest.starts_with("L['") || rest.starts_with("G['")) || (at > 0 && is_word(text[at - 1])))
    return 0;
  std::size_t end = 1;
  while (end < rest.size()) {
    if (rest[end] == '[') {
      const auto close = rest.find(']', end);
      if (close == std::string_view::npos) return 0;
      end = close + 1;
    } else if (rest.substr(end).starts_with("()")) {
      end += 2;
    } else if (rest[end] == '.' && end + 1 < rest.size() && is_word(rest[end + 1])) {
      ++end;
      while (end < rest.size() && is_word(rest[end])) ++end;
    } else {
      break;
    }
  }
  return end;
}

/// Dynamo names an input by its source with every run of other characters than letters and digits
/// as one "_"; which dimension stays behind it: `L_x_.size()[0]`.
auto input_key(std::string_view source) -> std::string {
  const auto base = source.substr(0, std::min(source.find(".size()["), source.find(".stride()[")));
  std::string key;
  for (const char c : base) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      key += c;
    else if (!key.ends_with('_'))
      key += '_';
  }
  return key.append(source.substr(base.size()));
}

class ShapesReader {
 public:
  explicit ShapesReader(const TraceCompilation& compilation) : compilation_(compilation) {}

  auto read(const TraceLog& log) -> TraceShapes {
    for (const auto& symbol : compilation_.symbols) add(symbol);
    for (const auto& one : compilation_.specializations) specialize(one);
    for (const auto& guard : compilation_.guards) add(guard.text, guard.text, guard.where);
    for (const auto& tree : compilation_.guard_trees) {
      add_matches(log.events[tree.event].payload);
      add_tree(log.events[tree.event].payload, log);
    }
    return std::move(shapes_);
  }

 private:
  void skip(std::string_view what, std::string_view text) {
    shapes_.skipped.push_back(fmt::format("{} `{}`", what, text));
  }

  void add(const TraceSymbol& symbol) {
    auto& env = shapes_.env;
    if (const auto* known = env.find(std::string_view(symbol.name))) {
      env.add_source(known->expr, symbol.source);
      return;
    }
    const auto expr = reader_.symbol(symbol.name);
    if (!expr) return skip("symbol", symbol.name);
    if (const auto range = read_range(reader_, symbol.range))
      env.set_range(*expr, *range);
    else if (!symbol.range.empty())
      skip("range", symbol.range);
    if (!symbol.source.empty()) env.add_source(*expr, symbol.source);
    if (const auto value = parse_expr(env.pool(), symbol.value); value && value->is_const())
      env.set_hint(*expr, *value);
  }

  void specialize(const TraceSpecialization& one) {
    auto& env = shapes_.env;
    const auto symbol = reader_.symbol(one.symbol);
    const auto value = parse_expr(env.pool(), one.value);
    if (!symbol || !value || !value->is_const()) return skip("specialization of", one.symbol);
    if (!one.source.empty()) env.add_source(*symbol, one.source);
    env.add_replacement(*symbol, *value);
  }

  void add(std::string_view text, std::string recorded, std::string where) {
    auto condition = reader_.expr(text);
    if (!condition || condition->type() != ExprType::boolean || !condition->is_valid())
      return skip("guard", text);
    if (seen_.insert(print_expr(*condition)).second)
      shapes_.env.add_guard({*condition, std::move(recorded), std::move(where)});
  }

  /// `TENSOR_MATCH: check_tensor(L['x'], Tensor, ..., size=[None, 8], stride=[None, 1])`: a number
  /// is what the code was compiled for, None is any.
  void add_matches(std::string_view tree) {
    constexpr std::string_view kMark = "check_tensor(";
    for (std::size_t at = 0; (at = tree.find(kMark, at)) != std::string_view::npos;) {
      at += kMark.size();
      const auto line = tree.substr(at, tree.find('\n', at) - at);
      const auto source = line.substr(0, line.find(", "));
      for (const std::string_view what : {"size", "stride"}) {
        const auto open = line.find(fmt::format(" {}=[", what));
        if (open == std::string_view::npos) continue;
        const auto first = open + what.size() + 3;
        const auto items = split_at_commas(line.substr(first, line.find(']', first) - first));
        for (std::size_t i = 0; i < items.size(); ++i)
          match(fmt::format("{}.{}()[{}]", source, what, i), items[i]);
      }
    }
  }

  void match(const std::string& source, std::string_view number) {
    auto& env = shapes_.env;
    const auto value = parse_expr(env.pool(), trimmed(number));
    if (!value || !value->as_int()) return;
    for (const auto& symbol : env.symbols())
      if (std::ranges::find(symbol.sources, source) != symbol.sources.end() &&
          !env.replacements().contains(symbol.expr))
        return env.add_replacement(symbol.expr, *value);
  }

  /// Lines `+- LAMBDA_GUARD: 2 <= L['x'].size()[0] <= 99  # place`, in terms of sources.
  void add_tree(std::string_view tree, const TraceLog& log) {
    constexpr std::string_view kMark = "LAMBDA_GUARD: ";
    for (std::size_t at = 0; (at = tree.find(kMark, at)) != std::string_view::npos;) {
      at += kMark.size();
      auto line = tree.substr(at, tree.find('\n', at) - at);
      line = trimmed(line.substr(0, line.find("  #")));
      const auto text = in_symbols(line, log);
      // Guards on anything but sizes are not for us.
      if (text.find_first_of("[].'\"{") == std::string::npos) add_chain(text, line);
    }
  }

  /// A guard with its sources replaced by what they are: the symbol that was made for one, else
  /// what the graph's input of that name claims.
  auto in_symbols(std::string_view line, const TraceLog& log) -> std::string {
    auto text = std::string(line);
    for (const auto& symbol : shapes_.env.symbols())
      for (const auto& source : symbol.sources) replace_source(text, source, symbol.name);
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto length = source_length(text, i);
      if (length == 0) continue;
      if (!inputs_) read_inputs(log);
      const auto found = inputs_->find(input_key(std::string_view(text).substr(i, length)));
      if (found != inputs_->end()) text.replace(i, length, fmt::format("({})", found->second));
    }
    return text;
  }

  /// Logs before PyTorch 2.5 say nothing of how symbols are made; the inputs of Dynamo's graph do.
  void read_inputs(const TraceLog& log) {
    inputs_.emplace();
    for (const auto& part : compilation_.graphs) {
      if (!part.name.starts_with("dynamo_output_graph")) continue;
      const auto graph = trace_graph(log, part);
      if (!graph) continue;
      for (const auto& node : graph->nodes)
        if (node.kind == NodeKind::placeholder) add_input(node);
    }
  }
  void add_input(const Node& node) {
    if (const auto* number = node.claim.scalar())
      inputs_->emplace(node.target, print_expr(*number));
    const auto* meta = node.claim.tensor();
    if (meta == nullptr) return;
    const auto add_dims = [&](std::string_view what, const Dims& dims) {
      for (std::size_t i = 0; i < dims.size(); ++i)
        inputs_->emplace(fmt::format("{}.{}()[{}]", node.target, what, i), print_expr(dims[i]));
    };
    add_dims("size", meta->sizes);
    add_dims("stride", meta->strides);
  }

  /// Python's `a <= b <= c` is `a <= b and b <= c`.
  void add_chain(std::string_view text, std::string_view recorded) {
    std::vector<std::size_t> relations;
    int depth = 0;
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ')') --depth;
      if (depth == 0 && (text[i] == '<' || text[i] == '>') && text[i + 1] != text[i] &&
          (i == 0 || text[i - 1] != text[i]))
        relations.push_back(i);
    }
    if (relations.size() != 2 || text.contains(" and ") || text.contains(" or "))
      return add(text, std::string(recorded), "guard tree");
    const auto behind = relations[0] + (text[relations[0] + 1] == '=' ? 2 : 1);
    add(text.substr(0, relations[1]), std::string(recorded), "guard tree");
    add(text.substr(behind), std::string(recorded), "guard tree");
  }

  const TraceCompilation& compilation_;
  TraceShapes shapes_;
  ClaimReader reader_{shapes_.env};
  std::set<std::string> seen_;
  /// What the inputs of Dynamo's graph claim, by input_key.
  std::optional<std::map<std::string, std::string>> inputs_;
};

}  // namespace

auto compilations(const TraceLog& log) -> std::vector<TraceCompilation> {
  return Viewer(log).compilations();
}

auto trace_graph(const TraceLog& log, const TracePart& part) -> Result<Graph> {
  const auto& event = log.events[part.event];
  auto graph = parse_graph(event.payload);
  if (!graph)
    return with_context(std::move(graph).error(),
                        fmt::format("{} in the payload of line {}", part.name, event.line));
  return without_batching(*std::move(graph));
}

auto trace_shapes(const TraceLog& log, const TraceCompilation& compilation) -> TraceShapes {
  return ShapesReader(compilation).read(log);
}

auto trace_metrics(const TraceEvent& event) -> std::vector<std::pair<std::string, std::string>> {
  std::vector<std::pair<std::string, std::string>> result;
  const auto json = JsonDocument::parse(event.body, event.kind);
  if (!json) return result;
  for (const auto& [key, value] : json->root().members())
    if (!value.is_null()) result.emplace_back(key, text_of(value));
  return result;
}

void know_symbols(ShapeEnv& env, const ShapeEnv& known) {
  const auto here = [&](const Expr& e) -> std::optional<Expr> {
    const auto copy = parse_expr(env.pool(), print_expr(e));
    if (!copy || !copy->is_valid()) return std::nullopt;
    const auto is_here = [&](const Expr& symbol) { return env.find(symbol) != nullptr; };
    if (!std::ranges::all_of(copy->symbols(), is_here)) return std::nullopt;
    return *copy;
  };
  for (const auto& symbol : known.symbols()) {
    const auto* found = env.find(symbol.expr.name());
    if (found == nullptr) continue;
    const auto expr = found->expr;
    if (const auto low = here(symbol.range.low), high = here(symbol.range.high); low && high)
      env.set_range(expr, {*low, *high});
    if (const auto hint = symbol.hint ? here(*symbol.hint) : std::nullopt)
      env.set_hint(expr, *hint);
    for (const auto& source : symbol.sources) env.add_source(expr, source);
    const auto by = known.replacements().find(symbol.expr);
    if (by == known.replacements().end()) continue;
    if (const auto copy = here(by->second)) env.add_replacement(expr, *copy);
  }
  for (const auto& guard : known.guards())
    if (auto condition = here(guard.condition))
      env.add_guard({*condition, guard.text, guard.where});
}

namespace {
void know_symbols(Capture& capture, const TraceLog& log, const TraceCompilation& compilation) {
  auto env = capture.graph.env;
  know_symbols(env, trace_shapes(log, compilation).env);
  set_environment(capture.graph, env);
}
}  // namespace

auto trace_graph_capture(const TraceLog& log, const TraceCompilation& compilation,
                         const TracePart& part) -> Result<Capture> {
  auto capture = read_graph_text(log.events[part.event].payload);
  if (capture) know_symbols(*capture, log, compilation);
  return capture;
}

namespace {

/// What `debug` and `run` can take out of a log.
struct LogCapture {
  std::string_view what;  ///< in messages
  auto (*parts)(const TraceCompilation& compilation) -> std::vector<TracePart>;
  auto (*read)(const TraceLog& log, const TraceCompilation& compilation, const TracePart& part)
      -> Result<Capture>;
};

template <bool (*IsWanted)(std::string_view)>
auto graphs_named(const TraceCompilation& compilation) -> std::vector<TracePart> {
  std::vector<TracePart> parts;
  for (const auto& part : compilation.graphs)
    if (IsWanted(part.name)) parts.push_back(part);
  return parts;
}
auto is_aot_graph(std::string_view name) -> bool {
  return name.starts_with("aot_forward_graph") || name.starts_with("aot_backward_graph") ||
         name.starts_with("aot_inference_graph");
}
auto is_dynamo_graph(std::string_view name) -> bool {
  return name.starts_with("dynamo_output_graph");
}

constexpr std::array kLogCaptures = {
    LogCapture{"repro script",
               [](const TraceCompilation& compilation) { return compilation.repro_scripts; },
               [](const TraceLog& log, const TraceCompilation& compilation, const TracePart& part) {
                 auto capture = read_repro_script(log.events[part.event].payload);
                 if (capture) know_symbols(*capture, log, compilation);
                 return capture;
               }},
    LogCapture{"graph", graphs_named<is_aot_graph>, trace_graph_capture},
    LogCapture{"graph", graphs_named<is_dynamo_graph>, trace_graph_capture},
};

}  // namespace

auto trace_failures(const TraceLog& log) -> std::string {
  std::string text;
  for (const auto& compilation : compilations(log)) {
    std::map<std::string, std::string> said;
    for (const auto& part : compilation.metrics)
      for (auto& [key, value] : trace_metrics(log.events[part.event]))
        said[key] = value.substr(0, value.find('\n'));
    if (!said.contains("fail_type")) continue;
    text += fmt::format("; compile {} of {} failed: {}: {}", compilation.compile_id,
                        said["co_name"], said["fail_type"], said["fail_reason"]);
  }
  return text;
}

auto trace_capture(const TraceLog& log, std::string_view part) -> Result<Capture> {
  const auto all = compilations(log);
  for (const auto& kind : kLogCaptures) {
    std::optional<TracePart> chosen;
    TraceCompilation of;
    std::size_t count = 0;
    for (const auto& compilation : all) {
      if (!compilation.is_last_attempt) continue;
      for (const auto& candidate : kind.parts(compilation)) {
        ++count;
        const auto full = compilation.compile_id + " " + candidate.name;
        if (chosen || (!part.empty() && part != candidate.name && part != full)) continue;
        chosen = candidate;
        of = compilation;
      }
    }
    if (!chosen) continue;
    const auto& event = log.events[chosen->event];
    auto capture = kind.read(log, of, *chosen);
    if (!capture)
      return with_context(std::move(capture).error(),
                          fmt::format("{} in the payload of line {}", chosen->name, event.line));
    capture->format = "torch trace";
    capture->guards_recorded = true;
    if (count > 1)
      capture->warnings.push_back(fmt::format("one of {} {}s of the log: {} of compile {}", count,
                                              kind.what, chosen->name, of.compile_id));
    if (event.hash == PayloadHash::differs)
      capture->warnings.push_back(fmt::format(
          "the {}'s text does not have the hash that line {} gives", kind.what, event.line));
    return capture;
  }
  return unsupported("the log has no repro script (artifact fx_graph_runnable) and no graph{}{}",
                     part.empty() ? std::string() : fmt::format(" named {}", part),
                     part.empty() ? trace_failures(log) : std::string());
}

}  // namespace assay
