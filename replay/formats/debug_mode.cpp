#include "replay/formats/debug_mode.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "replay/formats/json.h"

namespace assay {
namespace {

constexpr std::string_view kFormat = "torch.utils._debug_mode.DebugMode.logs";
constexpr std::int64_t kVersion = 1;
/// Calls that only one run has; beyond, finding the best pairs costs too much.
constexpr int kMaxUnpaired = 1500;

/// Values are wrapped: `{"type": "scalar", "value": 7.5}`, `{"type": "tuple", "items": [...]}`,
/// `{"type": "dict", "items": [[key, value], ...]}`.
void collect_numbers(JsonValue json, std::vector<double>& numbers) {
  if (json["type"].as_string() == "dict") {
    for (const auto pair : json["items"].items())
      if (const auto parts = pair.items(); parts.size() == 2) collect_numbers(parts[1], numbers);
    return;
  }
  if (const auto value = json["value"].as_number()) numbers.push_back(*value);
  for (const auto item : json["items"].items()) collect_numbers(item, numbers);
}

auto member(JsonValue dict, std::string_view key) -> JsonValue {
  for (const auto pair : dict["items"].items())
    if (const auto parts = pair.items(); parts.size() == 2 && parts[0].as_string() == key)
      return parts[1];
  return {};
}

auto trimmed(std::string_view text) -> std::string {
  const auto first = text.find_first_not_of(" \n->,");
  return std::string(first == std::string_view::npos ? "" : text.substr(first));
}

/// The frame of a stack text that is named last.
auto innermost(std::string_view stack) -> std::string {
  const auto at = stack.rfind("File \"");
  if (at == std::string_view::npos) return {};
  return std::string(stack.substr(at, stack.find('\n', at) - at));
}

auto read_call(JsonValue json) -> DebugModeCall {
  const auto text = [&](std::string_view key) {
    return std::string(json[key].as_string().value_or(""));
  };
  DebugModeCall call;
  call.kind = text("type");
  for (const auto* key : {"op_name", "kernel_name", "tag"})
    if (call.name.empty()) call.name = text(key);
  call.operands = text("args_str") + text("kwargs_str");
  call.result = trimmed(text("output_str"));
  call.where = innermost(text("stack_trace"));
  call.depth = static_cast<int>(json["call_depth"].as_int().value_or(0));
  collect_numbers(member(json["log"], "input_hash"), call.inputs);
  collect_numbers(member(json["log"], "hash"), call.outputs);
  return call;
}

auto is_pair(const DebugModeCall& a, const DebugModeCall& b) -> bool {
  return a.kind == b.kind && a.name == b.name && a.result == b.result;
}

/// Shortest edit script (Myers, An O(ND) Difference Algorithm and Its Variations, 1986).
class Alignment {
 public:
  Alignment(const std::vector<DebugModeCall>& a, const std::vector<DebugModeCall>& b)
      : a_(a), b_(b), n_(static_cast<int>(a.size())), m_(static_cast<int>(b.size())) {}

  auto run() -> RunAlignment {
    const int most = std::min(n_ + m_, kMaxUnpaired);
    std::vector<std::vector<int>> history;
    std::vector<int> reach(2 * static_cast<std::size_t>(most) + 3, 0);
    const auto at = [&](int k) -> int& { return reach[static_cast<std::size_t>(k + most + 1)]; };
    for (int d = 0; d <= most; ++d) {
      history.push_back(reach);
      for (int k = -d; k <= d; k += 2) {
        const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
        int x = down ? at(k + 1) : at(k - 1) + 1;
        int y = x - k;
        while (x < n_ && y < m_ && same(x, y)) ++x, ++y;
        at(k) = x;
        if (x >= n_ && y >= m_) return trace(history, d, most);
      }
    }
    return unpaired();
  }

 private:
  [[nodiscard]] auto same(int x, int y) const -> bool {
    return is_pair(a_[static_cast<std::size_t>(x)], b_[static_cast<std::size_t>(y)]);
  }

  /// Back from the end along the furthest reaching paths.
  [[nodiscard]] auto trace(const std::vector<std::vector<int>>& history, int d, int most) const
      -> RunAlignment {
    RunAlignment result;
    const auto position = [](int i) { return std::optional(static_cast<std::size_t>(i)); };
    int x = n_, y = m_;
    for (; d >= 0; --d) {
      const auto& reach = history[static_cast<std::size_t>(d)];
      const auto at = [&](int k) { return reach[static_cast<std::size_t>(k + most + 1)]; };
      const int k = x - y;
      const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
      const int from_k = down ? k + 1 : k - 1;
      const int from_x = d == 0 ? 0 : at(from_k);
      const int from_y = d == 0 ? 0 : from_x - from_k;
      while (x > from_x && y > from_y) result.steps.push_back({position(--x), position(--y)});
      if (d > 0 && down) result.steps.push_back({{}, position(--y)});
      if (d > 0 && !down) result.steps.push_back({position(--x), {}});
    }
    std::ranges::reverse(result.steps);
    return result;
  }

  /// Pairs from the start as far as they go; the rest has none.
  [[nodiscard]] auto unpaired() const -> RunAlignment {
    RunAlignment result{{}, false};
    std::size_t i = 0;
    while (i < a_.size() && i < b_.size() && is_pair(a_[i], b_[i])) {
      result.steps.push_back({i, i});
      ++i;
    }
    for (auto x = i; x < a_.size(); ++x) result.steps.push_back({x, {}});
    for (auto y = i; y < b_.size(); ++y) result.steps.push_back({{}, y});
    return result;
  }

  const std::vector<DebugModeCall>& a_;
  const std::vector<DebugModeCall>& b_;
  int n_, m_;
};

/// The largest relative difference; infinity where the numbers are not of one kind.
auto distance(const std::vector<double>& a, const std::vector<double>& b) -> double {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i]))
      return std::numeric_limits<double>::infinity();
    largest =
        std::max(largest, std::fabs(a[i] - b[i]) / std::max(std::fabs(a[i]), std::fabs(b[i])));
  }
  return largest;
}

}  // namespace

auto is_debug_mode_log(std::string_view text) -> bool {
  constexpr std::size_t kHead = 400;
  return text.substr(0, kHead).contains(kFormat);
}

auto read_debug_mode_log(std::string_view text) -> Result<std::vector<DebugModeCall>> {
  ASSAY_TRY(const auto document, JsonDocument::parse(text, "log"));
  const auto root = document.root();
  if (root["format"].as_string() != kFormat || !root["logs"].is_array())
    return bad_input("not a log of DebugMode.save_logs");
  if (root["version"].as_int() != kVersion)
    return unsupported("version {} of DebugMode's log (known: {})", root["version"].dump(),
                       kVersion);
  std::vector<DebugModeCall> calls;
  for (const auto log : root["logs"].items()) calls.push_back(read_call(log));
  return calls;
}

auto align_runs(const std::vector<DebugModeCall>& a, const std::vector<DebugModeCall>& b)
    -> RunAlignment {
  return Alignment(a, b).run();
}

auto divergences(const std::vector<DebugModeCall>& a, const std::vector<DebugModeCall>& b,
                 const RunAlignment& alignment, double tolerance) -> std::vector<Divergence> {
  std::vector<Divergence> found;
  for (const auto& step : alignment.steps) {
    if (!step.a || !step.b) continue;
    const auto& left = a[*step.a];
    const auto& right = b[*step.b];
    if (left.outputs.empty() && right.outputs.empty()) continue;
    const double relative = distance(left.outputs, right.outputs);
    if (relative <= tolerance) continue;
    const bool same_inputs = distance(left.inputs, right.inputs) <= tolerance;
    found.push_back({*step.a, *step.b, same_inputs, relative});
  }
  return found;
}

}  // namespace assay
