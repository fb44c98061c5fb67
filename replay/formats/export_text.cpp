#include "replay/formats/export_text.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>

#include "core/graph/annotation.h"
#include "core/graph/module_reader.h"

namespace assay {
namespace {

/// Kinds of torch.export.graph_signature.
struct InputWord {
  std::string_view word;
  InputRole::Kind kind;
};
constexpr std::array kInputWords = {
    InputWord{"USER_INPUT", InputRole::Kind::user_input},
    InputWord{"PARAMETER", InputRole::Kind::parameter},
    InputWord{"BUFFER", InputRole::Kind::buffer},
    InputWord{"CONSTANT_TENSOR", InputRole::Kind::constant},
    InputWord{"CUSTOM_OBJ", InputRole::Kind::other},
    InputWord{"TOKEN", InputRole::Kind::other},
};
struct OutputWord {
  std::string_view word;
  OutputRole::Kind kind;
};
constexpr std::array kOutputWords = {
    OutputWord{"USER_OUTPUT", OutputRole::Kind::user_output},
    OutputWord{"LOSS_OUTPUT", OutputRole::Kind::user_output},
    OutputWord{"BUFFER_MUTATION", OutputRole::Kind::buffer_mutation},
    OutputWord{"PARAMETER_MUTATION", OutputRole::Kind::buffer_mutation},
    OutputWord{"USER_INPUT_MUTATION", OutputRole::Kind::input_mutation},
    OutputWord{"GRADIENT_TO_PARAMETER", OutputRole::Kind::gradient},
    OutputWord{"GRADIENT_TO_USER_INPUT", OutputRole::Kind::gradient},
    OutputWord{"TOKEN", OutputRole::Kind::other},
};

/// One line of a signature, in whatever form it was written.
struct Spec {
  std::string_view name, kind, target;
};
struct Signature {
  std::vector<Spec> inputs, outputs;
};

/// Text between `before` and the next `after` behind it; empty if either is missing.
auto between(std::string_view text, std::string_view before, std::string_view after)
    -> std::string_view {
  const auto start = text.find(before);
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start + before.size());
  const auto end = text.find(after);
  return end == std::string_view::npos ? std::string_view{} : text.substr(0, end);
}

/// `InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b'), target='b', ...)`
auto read_specs(std::string_view text, std::string_view spec, std::string_view kind)
    -> std::vector<Spec> {
  std::vector<Spec> specs;
  for (auto at = text.find(spec); at != std::string_view::npos;) {
    const auto next = text.find(spec, at + spec.size());
    const auto one = text.substr(at, next - at);
    const auto word = between(one, kind, ":");
    specs.push_back({between(one, "name='", "'"), word, between(one, "target='", "'")});
    at = next;
  }
  return specs;
}

/// `{'a': 'b', ...}` behind `key=`; a value `'b'` or a list.
auto read_map(std::string_view text, std::string_view key)
    -> std::vector<std::pair<std::string_view, std::string_view>> {
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  for (const auto item : split_at_commas(between(text, key, "}"))) {
    const auto colon = item.find("': ");
    if (colon == std::string_view::npos || !item.starts_with('\'')) continue;
    pairs.emplace_back(item.substr(1, colon - 1), between(item.substr(colon + 3), "'", "'"));
  }
  return pairs;
}

/// PyTorch 2.1: `ExportGraphSignature(parameters=[...], ..., inputs_to_parameters={...}, ...)`.
auto read_first_form(std::string_view text) -> Signature {
  Signature signature;
  for (const auto& [name, target] : read_map(text, "inputs_to_parameters={"))
    signature.inputs.push_back({name, "PARAMETER", target});
  for (const auto& [name, target] : read_map(text, "inputs_to_buffers={"))
    signature.inputs.push_back({name, "BUFFER", target});
  for (const auto name : split_at_commas(between(text, "user_inputs=[", "]")))
    signature.inputs.push_back({between(name, "'", "'"), "USER_INPUT", {}});
  for (const auto& [name, target] : read_map(text, "buffers_to_mutate={"))
    signature.outputs.push_back({name, "BUFFER_MUTATION", target});
  for (const auto name : split_at_commas(between(text, "user_outputs=[", "]")))
    signature.outputs.push_back({between(name, "'", "'"), "USER_OUTPUT", {}});
  return signature;
}

class ExportReader {
 public:
  ExportReader(std::string_view text, int first_line, Capture& capture)
      : text_(text), line_(first_line - 1), capture_(capture) {}

  void read() {
    bool in_list = false;
    while (!text_.empty()) {
      const auto line = next_line();
      if (line.starts_with("Graph signature:")) {
        is_export_ = in_list = true;
        signature_line_ = line_;
        read_one_line(trimmed(line.substr(16)));
      } else if (line.starts_with("Range constraints:")) {
        is_export_ = true;
        in_list = false;
        read_ranges(trimmed(line.substr(18)));
      } else if (in_list && !line.empty() && !line.starts_with('#')) {
        read_line(line);
      }
    }
    if (!is_export_) return;
    capture_.kind = "export";
    capture_.guards_recorded = true;  // ranges here, the rest as asserts in the graph
    if (signature_line_ == 0) return;
    set_inputs();
    set_outputs();
  }

 private:
  auto next_line() -> std::string_view {
    const auto end = std::min(text_.find('\n'), text_.size());
    const auto line = trimmed(text_.substr(0, end));
    text_.remove_prefix(std::min(end + 1, text_.size()));
    ++line_;
    return line;
  }

  template <class... Args>
  void warn(int line, fmt::format_string<Args...> text, Args&&... args) {
    capture_.warnings.push_back(
        fmt::format("line {}: {}", line, fmt::format(text, std::forward<Args>(args)...)));
  }

  /// The whole signature, which people break into lines.
  void read_one_line(std::string_view first) {
    if (first.empty()) return;
    auto text = std::string(first);
    while (!text_.empty() && std::ranges::count(text, '(') > std::ranges::count(text, ')') &&
           !text_.starts_with("Range constraints:"))
      text += fmt::format(" {}", next_line());
    whole_.push_back(std::move(text));
    read_whole(whole_.back());
  }

  void read_whole(std::string_view text) {
    signature_ = {read_specs(text, "InputSpec(", "kind=<InputKind."),
                  read_specs(text, "OutputSpec(", "kind=<OutputKind.")};
    if (signature_.inputs.empty() && signature_.outputs.empty()) signature_ = read_first_form(text);
  }

  /// `b_b: BUFFER target='b' persistent=True`
  void read_line(std::string_view line) {
    const auto colon = line.find(": ");
    if (colon == std::string_view::npos) return;  // remarks
    const auto rest = line.substr(colon + 2);
    const auto kind = rest.substr(0, rest.find(' '));
    const Spec spec{line.substr(0, colon), kind, between(line, "target='", "'")};
    // Inputs come first; only tokens are of a kind that outputs have too.
    const bool is_input =
        std::ranges::find(kInputWords, kind, &InputWord::word) != kInputWords.end() &&
        signature_.outputs.empty();
    (is_input ? signature_.inputs : signature_.outputs).push_back(spec);
  }

  /// Specs may stand in another order than the inputs; their names tell.
  void set_inputs() {
    std::vector<InputRole> roles;
    for (const auto& node : capture_.graph.nodes) {
      if (node.kind != NodeKind::placeholder) continue;
      const auto spec = std::ranges::find(signature_.inputs, node.name, &Spec::name);
      const auto row = spec == signature_.inputs.end()
                           ? kInputWords.end()
                           : std::ranges::find(kInputWords, spec->kind, &InputWord::word);
      if (row == kInputWords.end())
        return warn(signature_line_, "the signature says nothing known about input {}", node.name);
      roles.push_back({row->kind, std::string(spec->target)});
    }
    capture_.input_roles = std::move(roles);
  }

  void set_outputs() {
    std::vector<OutputRole> roles;
    for (const auto& spec : signature_.outputs) {
      const auto row = std::ranges::find(kOutputWords, spec.kind, &OutputWord::word);
      if (row == kOutputWords.end())
        return warn(signature_line_, "output {} of unknown kind {}", spec.name, spec.kind);
      roles.push_back({row->kind, std::string(spec.target)});
    }
    const auto* output = capture_.graph.output();
    const auto* results = output ? std::get_if<SequenceArg>(&output->args.at(0).value) : nullptr;
    if (results && results->items.size() != roles.size())
      return warn(signature_line_, "the signature has {} outputs, the graph {}", roles.size(),
                  results->items.size());
    capture_.output_roles = std::move(roles);
  }

  /// `{s77: VR[2, int_oo]}`, before that `RangeConstraint(min_val=2, max_val=...)` and
  /// `ValueRanges(lower=2, upper=oo, is_bool=False)`.
  void read_ranges(std::string_view text) {
    ShapeEnv env = capture_.graph.env;
    ClaimReader claims(env);
    const auto close = text.find('}');
    if (!text.starts_with('{') || close == std::string_view::npos)
      return warn(line_, "range constraints are not understood");
    for (const auto item : split_at_commas(text.substr(1, close - 1))) {
      const auto colon = item.find(": ");
      const auto symbol = claims.symbol(trimmed(item.substr(0, colon)));
      if (!symbol || colon == std::string_view::npos) continue;  // of an expression: it follows
      const auto range = read_range(claims, item.substr(colon + 2));
      if (range)
        env.set_range(*symbol, *range);
      else
        warn(line_, "range not understood: {}", item);
    }
    set_environment(capture_.graph, env);
  }

  static auto read_range(ClaimReader& claims, std::string_view text) -> std::optional<Interval> {
    const auto open = text.find_first_of("[(");
    if (open == std::string_view::npos || text.size() < open + 2) return std::nullopt;
    const auto parts = split_at_commas(text.substr(open + 1, text.size() - open - 2));
    if (parts.size() < 2) return std::nullopt;
    const auto end = [&](std::string_view part) -> std::optional<Expr> {
      part = trimmed(part.substr(part.find('=') + 1));  // npos + 1 is 0
      if (part == "oo" || part == "9223372036854775806" || part == "9223372036854775807")
        part = "int_oo";
      const auto value = claims.expr(part);
      return value && value->symbols().empty() ? std::optional(*value) : std::nullopt;
    };
    const auto low = end(parts[0]);
    const auto high = end(parts[1]);
    if (!low || !high) return std::nullopt;
    return Interval{*low, *high};
  }

  std::string_view text_;
  int line_;
  Capture& capture_;
  std::deque<std::string> whole_;  ///< what the signature's texts point into
  Signature signature_;
  int signature_line_ = 0;
  bool is_export_ = false;
};

}  // namespace

void read_export_text(std::string_view text, int first_line, Capture& capture) {
  ExportReader(text, first_line, capture).read();
}

}  // namespace assay
