#include "replay/conform/page.h"

#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "replay/conform/freedom.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

// ---- families -----------------------------------------------------------------------------------

struct NamePart {
  std::string_view part;  ///< of the overload's name
  std::string_view family;
};
/// The first that occurs in a name decides.
constexpr NamePart kFamilies[] = {{"foreach", "lists of tensors"},
                                  {"prims.", "prims"},
                                  {"attention", "attention"},
                                  {"lstm", "recurrent"},
                                  {"gru", "recurrent"},
                                  {"rnn", "recurrent"},
                                  {"fft", "Fourier"},
                                  {"stft", "Fourier"},
                                  {"linalg", "linear algebra"},
                                  {"cholesky", "linear algebra"},
                                  {"triangular", "linear algebra"},
                                  {"lu_", "linear algebra"},
                                  {"geqrf", "linear algebra"},
                                  {"ormqr", "linear algebra"},
                                  {"special", "special functions"},
                                  {"bessel", "special functions"},
                                  {"conv", "convolution"},
                                  {"pool", "pooling"},
                                  {"upsample", "resampling"},
                                  {"grid_sampler", "resampling"},
                                  {"im2col", "resampling"},
                                  {"col2im", "resampling"},
                                  {"_norm", "normalisation"},
                                  {"loss", "losses"},
                                  {"cross_entropy", "losses"},
                                  {"softmax", "softmax"},
                                  {"embedding", "embeddings"},
                                  {"pad", "padding"},
                                  {"rand", "random"},
                                  {"bernoulli", "random"},
                                  {"dropout", "random"},
                                  {"multinomial", "random"},
                                  {"uniform", "random"},
                                  {"normal", "random"},
                                  {"quant", "quantisation"},
                                  {"scatter", "indexing"},
                                  {"gather", "indexing"},
                                  {"index", "indexing"},
                                  {"masked", "indexing"},
                                  {"take", "indexing"},
                                  {".put", "indexing"},
                                  {"sort", "order"},
                                  {"topk", "order"},
                                  {"kthvalue", "order"},
                                  {"median", "order"},
                                  {"mode.", "order"},
                                  {"mm", "products"},
                                  {"matmul", "products"},
                                  {"dot", "products"},
                                  {".mv", "products"},
                                  {"einsum", "products"},
                                  {"cdist", "distances"},
                                  {"pdist", "distances"},
                                  {"sum", "reductions"},
                                  {"mean", "reductions"},
                                  {"prod", "reductions"},
                                  {"amax", "reductions"},
                                  {"amin", "reductions"},
                                  {"var", "reductions"},
                                  {"std", "reductions"},
                                  {"view", "views"},
                                  {"expand", "views"},
                                  {"permute", "views"},
                                  {"transpose", "views"},
                                  {"squeeze", "views"},
                                  {"select", "views"},
                                  {"slice", "views"},
                                  {"split", "views"},
                                  {"strided", "views"},
                                  {"diagonal", "views"},
                                  {"empty", "creation"},
                                  {"zeros", "creation"},
                                  {"ones", "creation"},
                                  {"full", "creation"},
                                  {"arange", "creation"},
                                  {"backward", "derivatives"}};

struct Rates {
  ConformCounts sum;
  [[nodiscard]] auto with_row() const -> int { return sum.calls - sum.without_row; }
};
auto by_family(const ConformReport& report) -> std::map<std::string, Rates> {
  std::map<std::string, Rates> families;
  for (const auto& counts : report.overloads)
    add_up(families[std::string(family_of(counts.overload))].sum, counts);
  return families;
}
auto percent(int part, int of) -> double {
  return of == 0 ? 100.0 : 100.0 * part / of;
}
/// "99.87 %", with the change against an older run.
auto rate(int part, int of, const std::optional<double>& older) -> std::string {
  const double now = percent(part, of);
  // Never rounded up to all.
  auto text = fmt::format("{:.2f} %", part < of ? std::min(now, 99.99) : now);
  if (older && std::abs(now - *older) >= 0.005) text += fmt::format(" ({:+.2f})", now - *older);
  return text;
}

// ---- writing ------------------------------------------------------------------------------------

auto escaped(std::string_view text) -> std::string {
  std::string result;
  for (const char c : text)
    result += c == '<'   ? "&lt;"
              : c == '>' ? "&gt;"
              : c == '&' ? "&amp;"
              : c == '"' ? "&quot;"
                         : std::string(1, c);
  return result;
}
/// Inside of a Markdown table a bar ends the cell.
auto cell(std::string_view text) -> std::string {
  std::string result;
  for (const char c : text) result += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
  return result;
}

class Page {
 public:
  explicit Page(PageFormat format) : is_html_(format == PageFormat::html) {}
  void heading(int level, std::string_view text) {
    if (is_html_)
      text_ += fmt::format("<h{0}>{1}</h{0}>\n", level, escaped(text));
    else
      text_ += fmt::format("{} {}\n\n", std::string(static_cast<std::size_t>(level), '#'), text);
  }
  void paragraph(std::string_view text) {
    text_ += is_html_ ? fmt::format("<p>{}</p>\n", escaped(text)) : fmt::format("{}\n\n", text);
  }
  /// The first column is set as code.
  void table(const Row& header, const std::vector<Row>& rows) {
    if (rows.empty()) return paragraph("None.");
    if (!is_html_) {
      text_ += "|";
      for (const auto& name : header) text_ += " " + name + " |";
      text_ += "\n|";
      for (std::size_t i = 0; i < header.size(); ++i) text_ += "---|";
      for (const auto& row : rows) {
        text_ += "\n|";
        for (const auto& item : row) text_ += " " + cell(item) + " |";
      }
      text_ += "\n\n";
      return;
    }
    text_ += "<table><thead><tr>";
    for (const auto& name : header) text_ += "<th>" + escaped(name) + "</th>";
    text_ += "</tr></thead><tbody>\n";
    for (const auto& row : rows) {
      text_ += "<tr>";
      for (const auto& item : row) text_ += "<td>" + escaped(item) + "</td>";
      text_ += "</tr>\n";
    }
    text_ += "</tbody></table>\n";
  }
  [[nodiscard]] auto finish(std::string_view title) const -> std::string {
    if (!is_html_) return text_;
    constexpr std::string_view kStyle =
        "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;"
        "color:#222;background:#fff}h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}"
        "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.25rem .6rem;"
        "border-bottom:1px solid #e3e3e3;vertical-align:top;overflow-wrap:anywhere}"
        "th{font-weight:600;color:#555}td:first-child{font-family:ui-monospace,monospace;"
        "font-size:.85em}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}"
        "th,td{border-color:#333}th{color:#aaa}}";
    return fmt::format(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title>"
        "<style>{}</style></head><body>\n{}</body></html>\n",
        escaped(title), kStyle, text_);
  }

 private:
  bool is_html_;
  std::string text_;
};

void write_families(Page& page, const ConformReport& report,
                    const std::optional<ConformReport>& older) {
  const auto now = by_family(report);
  const auto then = older ? by_family(*older) : std::map<std::string, Rates>{};
  std::vector<Row> rows;
  const auto add_row = [&](const std::string& name, const Rates& r, const Rates* old) {
    const auto before = [&](auto ConformCounts::* part, int of) -> std::optional<double> {
      return old ? std::optional(percent(old->sum.*part, of)) : std::nullopt;
    };
    const auto& s = r.sum;
    rows.push_back(
        {name, std::to_string(s.calls), std::to_string(s.without_row),
         rate(s.metadata_exact, r.with_row(),
              before(&ConformCounts::metadata_exact, old ? old->with_row() : 0)),
         rate(s.symbolic_exact, r.with_row(),
              before(&ConformCounts::symbolic_exact, old ? old->with_row() : 0)),
         rate(s.values_agree, s.values_compared,
              before(&ConformCounts::values_agree, old ? old->sum.values_compared : 0))});
  };
  const Rates all{report.total};
  const Rates all_then{older ? older->total : ConformCounts{}};
  add_row("all", all, older ? &all_then : nullptr);
  for (const auto& [name, rates] : now) {
    const auto old = then.find(name);
    add_row(name, rates, old == then.end() ? nullptr : &old->second);
  }
  page.table({"family", "calls", "without a row", "metadata", "on symbols", "values"}, rows);
}

/// A command that can be pasted.
auto command_of(const std::string& cases, std::int64_t id) -> std::string {
  const bool is_plain = cases.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "0123456789_-./") == std::string::npos;
  const std::string_view quote = is_plain ? "" : "'";
  return fmt::format("assay conform {0}{1}{0} --case {2}", quote, cases, id);
}
auto matters(const WrongPrediction& wrong) -> std::string {
  return wrong.matter == 0 ? "no: sizes of 1 or no elements only"
                           : fmt::format("yes, in {}", wrong.matter);
}
/// Those that matter first.
void write_predictions(Page& page, const ConformReport& report, const std::string& cases) {
  auto predictions = report.wrong_predictions;
  std::ranges::stable_sort(predictions, std::ranges::greater{}, &WrongPrediction::matter);
  std::vector<Row> rows;
  for (const auto& wrong : predictions)
    rows.push_back({command_of(cases, wrong.example), wrong.overload, std::to_string(wrong.calls),
                    wrong.wrong, matters(wrong), fmt::format("right in {}", wrong.table_right),
                    wrong.differs});
  page.table({"command", "operator", "calls", "wrong", "matters", "Assay's rule", "first of them"},
             rows);
}

// ---- against an older run -----------------------------------------------------------------------

auto key_of(const ConformFailure& failure) -> std::string {
  return fmt::format("{} {} {}", failure.overload, failure.case_id, to_string(failure.aspect));
}
auto keys_of(const ConformReport& report) -> std::set<std::string> {
  std::set<std::string> keys;
  for (const auto& failure : report.failures) keys.insert(key_of(failure));
  return keys;
}
/// Operators whose counts moved, and which way: lost calls first.
void write_changes(Page& page, const ConformReport& report, const ConformReport& older) {
  page.heading(2, "Changed since the older run");
  const auto failing = [](const ConformCounts& c) {
    const int with_row = c.calls - c.without_row;
    return 2 * with_row - c.metadata_exact - c.symbolic_exact + c.values_compared - c.values_agree +
           c.mutations_compared - c.mutations_agree;
  };
  const auto text = [&](const ConformCounts& c) {
    return fmt::format("{} calls, {} without a row, {} differences", c.calls, c.without_row,
                       failing(c));
  };
  std::map<std::string, const ConformCounts*> then;
  for (const auto& counts : older.overloads) then[counts.overload] = &counts;
  std::vector<Row> worse, better, other;
  for (const auto& now : report.overloads) {
    const auto before = then.find(now.overload);
    const auto* old = before == then.end() ? nullptr : before->second;
    if (old != nullptr) then.erase(before);
    if (old != nullptr && old->calls == now.calls && old->without_row == now.without_row &&
        failing(*old) == failing(now))
      continue;
    const auto bad = [&](const ConformCounts& c) { return failing(c) + c.without_row; };
    auto& rows = old == nullptr || bad(*old) == bad(now) ? other
                 : bad(now) > bad(*old)                  ? worse
                                                         : better;
    rows.push_back({now.overload,
                    &rows == &worse    ? "worse"
                    : &rows == &better ? "better"
                                       : "other calls",
                    old != nullptr ? text(*old) : "not recorded", text(now)});
  }
  for (const auto& [overload, counts] : then)
    other.push_back({overload, "other calls", text(*counts), "not recorded"});
  worse.insert(worse.end(), better.begin(), better.end());
  worse.insert(worse.end(), other.begin(), other.end());
  page.table({"operator", "change", "then", "now"}, worse);
  std::vector<Row> mended;
  const auto still = keys_of(report);
  for (const auto& failure : older.failures)
    if (!still.contains(key_of(failure)))
      mended.push_back({failure.overload, fmt::format("case {}", failure.case_id),
                        std::string(to_string(failure.aspect)), failure.reason});
  page.paragraph("Differences of the older run that are gone:");
  page.table({"operator", "call", "aspect", "difference"}, mended);
}

/// Operators whose fake prediction is not what eager did, device by device; those that matter
/// first.
void write_deviations(Page& page, const ConformReport& cpu, const ConformReport& cuda) {
  std::vector<std::pair<std::string_view, WrongPrediction>> wrong;
  for (const auto& one : cpu.wrong_predictions) wrong.emplace_back("CPU", one);
  for (const auto& one : cuda.wrong_predictions) wrong.emplace_back("CUDA", one);
  if (wrong.empty()) return;
  std::ranges::stable_sort(wrong, [](const auto& a, const auto& b) {
    const bool first = a.second.matter > 0, second = b.second.matter > 0;
    return first != second ? first : a.second.overload < b.second.overload;
  });
  std::vector<Row> rows;
  for (const auto& [device, one] : wrong)
    rows.push_back({one.overload, std::string(device), one.wrong, matters(one),
                    fmt::format("{}/{}", one.table_right, one.calls), one.differs});
  page.heading(2, "Where PyTorch's fake tensors deviate");
  page.paragraph(
      "Operators whose fake prediction is not what eager did in a recorded call. It matters where "
      "a "
      "size, the dtype, the offset or the stride of a dimension larger than 1 is wrong. The last "
      "columns count such calls that the rule here gets right, and show one.");
  page.table({"operator", "device", "wrong", "matters", "right here", "first of them"}, rows);
}

auto kind_of(const OpRow& row) -> std::string_view {
  if (row.inferred) return "inferred";
  if (row.decomposition) return "composed";
  return row.kernel ? "rule, kernel" : "rule";
}
/// "24/24": calls that are exact, of those recorded.
auto coverage(const ConformReport& report, std::string_view overload) -> std::string {
  const auto counts = std::ranges::find(report.overloads, overload, &ConformCounts::overload);
  if (counts == report.overloads.end()) return "";
  return fmt::format("{}/{}", std::min(counts->metadata_exact, counts->symbolic_exact),
                     counts->calls);
}
auto deviation_of(const OpRow& row) -> std::string {
  if (row.random) return "random: values for a seed";
  if (row.uninitialised) return "uninitialised: layouts only";
  const auto* freedom = find_freedom(row);
  return freedom ? std::string(freedom->judged_by) : "";
}
/// Overloads that write an operator's results somewhere, by the functional row's name.
auto derived_forms(const OpTable& table) -> std::map<std::string_view, std::string> {
  std::map<std::string_view, std::string> forms;
  for (const auto& row : table.rows()) {
    if (row->inplace_of.empty()) continue;
    auto& names = forms[row->inplace_of];
    names += (names.empty() ? "" : ", ") + row->name().substr(row->name().find('.') + 1);
  }
  return forms;
}

/// "add.Scalar, mul.Tensor": overloads without their namespace, all of one line.
auto names_of(const std::vector<Placed>& placed, auto&& wanted) -> std::string {
  std::string names;
  for (const auto& place : placed) {
    if (!wanted(place)) continue;
    auto name = std::string_view(place.listed->overload);
    if (name.starts_with("aten.")) name.remove_prefix(5);
    if (name.ends_with(".default")) name.remove_suffix(8);
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}
void write_standings(Page& page, const SchemaList& list, const std::vector<Placed>& placed) {
  page.heading(2, "PyTorch's list");
  page.paragraph(fmt::format(
      "The overloads that the dispatcher of {} lists, and where they stand here. What is composite "
      "is no operator of its own to a capture: PyTorch's export keeps few of them, and the graphs "
      "of "
      "its compiler none.",
      list.made_by));
  std::vector<Row> rows;
  for (int i = 0; i <= static_cast<int>(Standing::missing); ++i) {
    const auto standing = static_cast<Standing>(i);
    rows.push_back({std::string(to_string(standing)),
                    std::to_string(std::ranges::count(placed, standing, &Placed::standing))});
  }
  page.table({"where it stands", "overloads"}, rows);
}
void write_absent(Page& page, const std::vector<Placed>& placed) {
  page.heading(2, "Not there");
  std::map<std::string_view, int> reasons;
  for (const auto& place : placed)
    if (place.standing == Standing::out_of_scope) ++reasons[place.reason];
  std::vector<Row> rows;
  for (const auto& [reason, count] : reasons)
    rows.push_back({std::string(reason), std::to_string(count),
                    names_of(placed, [&](const Placed& place) { return place.reason == reason; })});
  const auto add = [&](Standing standing) {
    const auto is = [&](const Placed& place) { return place.standing == standing; };
    const auto count = std::ranges::count_if(placed, is);
    if (count > 0)
      rows.push_back(
          {std::string(to_string(standing)), std::to_string(count), names_of(placed, is)});
  };
  add(Standing::composite);
  add(Standing::missing);
  page.table({"why", "overloads", "operators"}, rows);
}

}  // namespace

auto family_of(std::string_view overload) -> std::string_view {
  for (const auto& [part, family] : kFamilies)
    if (overload.find(part) != std::string_view::npos) return family;
  return "pointwise and other";
}

auto conform_json(const ConformReport& report) -> std::string {
  const auto counts_json = [](const ConformCounts& c) -> Json {
    return {{"overload", c.overload},
            {"calls", c.calls},
            {"without_row", c.without_row},
            {"errors", c.errors},
            {"metadata_exact", c.metadata_exact},
            {"symbolic_exact", c.symbolic_exact},
            {"values_agree", c.values_agree},
            {"values_compared", c.values_compared},
            {"mutations_agree", c.mutations_agree},
            {"mutations_compared", c.mutations_compared}};
  };
  Json json{{"schema", "assay.conform/1"}, {"total", counts_json(report.total)}};
  json["overloads"] = Json::array();
  for (const auto& counts : report.overloads) json["overloads"].push_back(counts_json(counts));
  json["failures"] = Json::array();
  for (const auto& failure : report.failures)
    json["failures"].push_back({{"case", failure.case_id},
                                {"overload", failure.overload},
                                {"aspect", to_string(failure.aspect)},
                                {"reason", failure.reason}});
  json["wrong_predictions"] = Json::array();
  for (const auto& wrong : report.wrong_predictions)
    json["wrong_predictions"].push_back({{"overload", wrong.overload},
                                         {"calls", wrong.calls},
                                         {"matter", wrong.matter},
                                         {"table_right", wrong.table_right},
                                         {"example", wrong.example},
                                         {"wrong", wrong.wrong},
                                         {"differs", wrong.differs}});
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

namespace {

auto aspect_named(std::string_view name) -> ConformAspect {
  for (int i = 0; i <= static_cast<int>(ConformAspect::error); ++i)
    if (to_string(static_cast<ConformAspect>(i)) == name) return static_cast<ConformAspect>(i);
  return ConformAspect::error;
}

}  // namespace

auto read_conform_json(const std::string& text) -> Result<ConformReport> {
  const auto counts_of = [](const Json& json) {
    ConformCounts c;
    c.overload = json.at("overload").get<std::string>();
    c.calls = json.at("calls").get<int>();
    c.without_row = json.at("without_row").get<int>();
    c.errors = json.at("errors").get<int>();
    c.metadata_exact = json.at("metadata_exact").get<int>();
    c.symbolic_exact = json.at("symbolic_exact").get<int>();
    c.values_agree = json.at("values_agree").get<int>();
    c.values_compared = json.at("values_compared").get<int>();
    c.mutations_agree = json.at("mutations_agree").get<int>();
    c.mutations_compared = json.at("mutations_compared").get<int>();
    return c;
  };
  // The library reports errors by exceptions; they end here.
  try {
    const auto json = Json::parse(text);
    if (json.at("schema") != "assay.conform/1") return bad_input("not a conformance report");
    ConformReport report;
    report.total = counts_of(json.at("total"));
    for (const auto& counts : json.at("overloads")) report.overloads.push_back(counts_of(counts));
    for (const auto& failure : json.at("failures"))
      report.failures.push_back({failure.at("case").get<std::int64_t>(),
                                 failure.at("overload").get<std::string>(),
                                 aspect_named(failure.at("aspect").get<std::string>()),
                                 failure.at("reason").get<std::string>()});
    return report;
  } catch (const Json::exception& error) {
    return bad_input("not a conformance report: {}", error.what());
  }
}

auto conform_page(const ConformReport& report, const std::string& cases,
                  const std::optional<ConformReport>& older, PageFormat format) -> std::string {
  constexpr std::string_view kTitle = "Assay: operators against PyTorch";
  Page page(format);
  page.heading(1, kTitle);
  page.paragraph(fmt::format("{} recorded calls of {} operators, from {}.", report.total.calls,
                             report.overloads.size(), cases));
  page.heading(2, "Pass rates");
  write_families(page, report, older);
  page.heading(2, "Calls without a row");
  std::vector<Row> missing;
  for (const auto& counts : report.overloads)
    if (counts.without_row > 0)
      missing.push_back({counts.overload, std::to_string(counts.without_row)});
  page.table({"operator", "calls"}, missing);
  page.heading(2, "Failures");
  const auto known = older ? keys_of(*older) : std::set<std::string>{};
  std::vector<Row> failures;
  for (const auto& failure : report.failures) {
    failures.push_back({command_of(cases, failure.case_id), failure.overload,
                        std::string(to_string(failure.aspect)), failure.reason});
    if (older) failures.back().push_back(known.contains(key_of(failure)) ? "" : "new");
  }
  Row header{"command", "operator", "aspect", "difference"};
  if (older) header.emplace_back("since the older run");
  page.table(header, failures);
  if (older) write_changes(page, report, *older);
  page.heading(2, "Wrong predictions of PyTorch's fake tensors");
  write_predictions(page, report, cases);
  return page.finish(kTitle);
}

auto operators_page(const OpTable& table, const ConformReport& cpu, const ConformReport& cuda,
                    const SchemaList& list) -> std::string {
  const auto forms = derived_forms(table);
  std::map<std::string, std::vector<Row>> families;
  for (const auto& row : table.rows()) {
    if (!row->inplace_of.empty() && table.find(row->inplace_of) != nullptr) continue;
    const auto form = forms.find(row->name());
    families[std::string(family_of(row->name()))].push_back(
        {row->name(), std::string(kind_of(*row)), coverage(cpu, row->name()),
         coverage(cuda, row->name()), deviation_of(*row), form == forms.end() ? "" : form->second,
         std::string(row->schema_text)});
  }
  Page page(PageFormat::markdown);
  page.heading(1, "Operators");
  page.paragraph(fmt::format(
      "{} operators, of them {} that write another one's results into a given tensor: those stand "
      "with the one they are derived from. Every operator serves the CPU and CUDA: where layouts "
      "differ, the device is part of the rule. The columns of the devices count recorded calls "
      "whose layouts are exact, on numbers and on symbols, of those there are. Deviations say what "
      "of the values PyTorch leaves open and how they are judged instead.",
      table.rows().size(), std::ranges::count_if(table.rows(), [](const auto& row) {
        return !row->inplace_of.empty();
      })));
  const auto placed = place_operators(list, table);
  if (!placed.empty()) write_standings(page, list, placed);
  for (auto& [family, rows] : families) {
    std::ranges::sort(rows);
    page.heading(2, family);
    page.table({"operator", "kind", "CPU", "CUDA", "deviations", "derived forms", "schema"}, rows);
  }
  write_deviations(page, cpu, cuda);
  if (!placed.empty()) write_absent(page, placed);
  return page.finish("Operators");
}

}  // namespace assay
