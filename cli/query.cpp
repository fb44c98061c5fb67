// assay query: SQL over a trace.
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "replay/trace/pages.h"

namespace assay::cli {
namespace {

struct CellText {
  auto operator()(std::monostate) const -> std::string { return ""; }
  auto operator()(std::int64_t value) const -> std::string { return std::to_string(value); }
  auto operator()(double value) const -> std::string { return fmt::format("{}", value); }
  auto operator()(const std::string& value) const -> std::string {
    std::string escaped;
    for (const char c : value) {
      if (c == '\t')
        escaped += "\\t";
      else if (c == '\n')
        escaped += "\\n";
      else
        escaped += c;
    }
    return escaped;
  }
};
struct CellJson {
  auto operator()(std::monostate) const -> nlohmann::json { return nullptr; }
  template <class T>
  auto operator()(const T& value) const -> nlohmann::json {
    return value;
  }
};

void print_table(const TraceAnswer& answer) {
  fmt::print("{}\n", fmt::join(answer.columns, "\t"));
  for (const auto& row : answer.rows) {
    std::vector<std::string> cells;
    for (const auto& cell : row) cells.push_back(std::visit(CellText{}, cell));
    fmt::print("{}\n", fmt::join(cells, "\t"));
  }
}

void print_json(const TraceAnswer& answer) {
  auto rows = nlohmann::ordered_json::array();
  for (const auto& row : answer.rows) {
    nlohmann::ordered_json object;
    for (std::size_t i = 0; i < row.size(); ++i)
      object[answer.columns[i]] = std::visit(CellJson{}, row[i]);
    rows.push_back(object);
  }
  fmt::print("{}\n", rows.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

/// Nodes that a filter of the viewer finds, of all graphs in order.
auto filter_trace(const std::string& path, const std::string& text) -> Result<TraceAnswer> {
  ASSAY_TRY(const auto reader, TraceReader::open(path));
  ASSAY_TRY(const auto filter, compile_filter(text, reader.version()));
  ASSAY_TRY(const auto graphs, reader.query("SELECT id FROM graphs ORDER BY id"));
  TraceAnswer answer{{"graph", "seq", "name", "target", "status", "claimed", "real"}, {}};
  for (const auto& graph : graphs.rows) {
    ASSAY_TRY(const auto ids,
              sorted_nodes(reader, to_number(graph[0]), filter, NodeOrder::seq, false));
    constexpr std::size_t kAtOnce = 500;
    for (std::size_t i = 0; i < ids.size(); i += kAtOnce) {
      ASSAY_TRY(const auto lines,
                read_nodes(reader, std::span(ids).subspan(i, std::min(kAtOnce, ids.size() - i))));
      for (const auto& line : lines)
        answer.rows.push_back({graph[0], line.seq, line.name, line.target,
                               line.finding.empty() ? std::string(name(line.mark)) : line.finding,
                               line.dtype + line.sizes + line.strides,
                               line.real_dtype + line.real_sizes + line.real_strides});
    }
  }
  return answer;
}

}  // namespace

auto add_query(Arguments& arguments) -> Action {
  struct Options {
    std::string trace, sql, filter;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  arguments.option("TRACE", &options->trace, "a trace written with --trace", kRequired);
  arguments.option("SQL", &options->sql,
                   "one reading statement; the tables are in replay/README.md");
  arguments.option("--filter", &options->filter,
                   "nodes instead, in the viewer's filter language: op:pad "
                   "status:mismatch -module:attn bytes>1M near(name,3) path(a,b)");
  arguments.flag("--json", options->json, "rows as JSON objects instead of tab-separated text");
  return [options] {
    if (options->sql.empty() == options->filter.empty())
      return report_error({ErrorCode::usage, "query: either SQL or --filter is required"});
    const auto answer = options->sql.empty() ? filter_trace(options->trace, options->filter)
                                             : query_trace(options->trace, options->sql);
    if (!answer) return report_error(answer.error());
    if (options->json)
      print_json(*answer);
    else
      print_table(*answer);
    return static_cast<int>(kNothingFound);
  };
}

}  // namespace assay::cli
