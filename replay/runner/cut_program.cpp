#include "replay/runner/cut_program.h"

#include <algorithm>
#include <set>

#include "compiler/program/liveness.h"
#include "compiler/read/wrapper.h"
#include "core/expr/text.h"
#include "core/graph/annotation.h"
#include "replay/formats/detect.h"
#include "replay/formats/torch_trace.h"
#include "replay/runner/cut_harness.h"
#include "replay/runner/execute.h"
#include "replay/runner/straight_program.h"
#include "replay/runner/wrapper_lines.h"

namespace assay {
namespace {

using Names = std::set<std::string, std::less<>>;

enum class PartKind : std::uint8_t { unit, follows, note, deletion, result };

/// Statements of one line.
struct Part {
  PartKind kind = PartKind::note;
  bool is_call = false;  ///< a launch or library call
  std::size_t first = 0, last = 0;
  Names names, defines;                                 ///< names: all that are written there
  Names roots;                                          ///< allocations that it touches
  std::vector<std::string> items;                       ///< of a deletion or a return
  std::vector<std::pair<std::string, Recorded>> wrote;  ///< by root, after it
};

template <class T>
auto is(const HostOp& op) -> bool {
  return std::holds_alternative<T>(op.what);
}

auto kind_of(const HostOp& op) -> PartKind {
  if (is<HostLaunch>(op) || is<HostCall>(op) || is<HostCheck>(op) || is<HostFact>(op))
    return PartKind::unit;
  if (is<HostDelete>(op)) return PartKind::deletion;
  if (is<HostReturn>(op)) return PartKind::result;
  return is<HostNote>(op) ? PartKind::note : PartKind::follows;
}

void add_defined(const HostOp& op, Names& names) {
  std::visit(
      [&]<class T>(const T& what) {
        if constexpr (requires { what.results; })
          names.insert(what.results.begin(), what.results.end());
        else if constexpr (!std::is_same_v<T, HostCheck> && requires { what.name; })
          names.insert(what.name);
        else if constexpr (requires { what.tuple; })
          names.insert(what.tuple);
      },
      op.what);
}

auto joined(const auto& names, std::string_view behind) -> std::string {
  std::string text;
  for (const auto& name : names) text += fmt::format("{}{}", name, behind);
  return text;
}

}  // namespace

/// A wrapper taken apart; immutable.
class ProgramParts {
 public:
  static auto create(std::string text, const OpTable& table, CutOptions options)
      -> Result<std::shared_ptr<const ProgramParts>>;
  [[nodiscard]] auto units_of_line(std::size_t line) const -> std::vector<int>;
  [[nodiscard]] auto units() const -> const std::vector<std::size_t>& { return units_; }
  [[nodiscard]] auto parts() const -> const std::vector<Part>& { return parts_; }
  [[nodiscard]] auto text(const std::vector<int>& kept) const -> std::string;
  [[nodiscard]] auto statements(const std::vector<int>& kept) const -> int;

 private:
  /// What a candidate keeps.
  struct Choice {
    std::vector<bool> stays;  ///< by part
    std::map<std::string, const Recorded*> given;
    Names needed, defined;
    std::vector<std::string> inputs;
  };
  void take_apart();
  [[nodiscard]] auto run(const std::string& text, const OpTable& table) -> Result<void>;
  void take_inputs(const DatumList& inputs);
  void follow(const HostOp& op, Part& part);
  void record(const RunWritten& written);
  [[nodiscard]] auto choose(const std::vector<int>& kept) const -> Choice;
  void give_inputs(Choice& choice) const;
  void follow_needs(Choice& choice) const;
  void name_inputs(Choice& choice) const;
  void keep_harmless(Choice& choice) const;
  void close_empty(Choice& choice) const;
  [[nodiscard]] auto kept_line(const Choice& choice, std::size_t part) const
      -> std::optional<std::string>;
  [[nodiscard]] auto is_left(const Choice& choice, std::string_view item) const -> bool;
  void drop_kernels(const Choice& choice, WrapperLines& lines) const;
  [[nodiscard]] auto harness(const Choice& choice) const -> std::string;
  [[nodiscard]] auto example(const Choice& choice, const std::string& name) const -> std::string;
  [[nodiscard]] auto asserted_line(const Choice& choice, std::size_t part) const
      -> std::optional<std::string>;
  /// `arg0_1, arg1_1 = args`
  [[nodiscard]] auto takes_inputs(std::size_t i) const -> bool {
    return parts_[i].kind == PartKind::note && trimmed(lines_[parts_[i].first]).ends_with("= args");
  }
  [[nodiscard]] auto device_of(const std::string& name) const -> std::string;
  [[nodiscard]] auto function() const -> const HostFunction& { return program_.functions.back(); }
  [[nodiscard]] auto is_input(const std::string& name) const -> bool {
    return std::ranges::find(function().inputs, name) != function().inputs.end();
  }

  CutOptions options_;
  std::map<std::string, std::string> numbers_;  ///< inputs that are no tensors, as Python
  std::map<std::string, Recorded> tensors_;     ///< inputs, where they are known
  std::map<std::string, std::string> allocs_;   ///< statements, by buffer
  std::vector<std::string> lines_;
  HostProgram program_;
  std::vector<Part> parts_;
  std::vector<std::size_t> units_;
  std::map<int, std::size_t> part_of_line_;
  std::map<std::string, std::string> root_;
  std::map<std::string, Device> devices_;
  std::map<std::string, std::string> items_;  ///< "buf1[0]" -> "buf2"
  Names known_;                               ///< inputs and whatever a statement defines
};

auto ProgramParts::create(std::string text, const OpTable& table, CutOptions options)
    -> Result<std::shared_ptr<const ProgramParts>> {
  auto parts = std::make_shared<ProgramParts>();
  parts->options_ = std::move(options);
  ASSAY_TRY(parts->program_, read_wrapper(text));
  if (!is_straight(parts->program_)) {
    ASSAY_TRY(text, straight_program(text, parts->program_, parts->options_.inputs, table));
    ASSAY_TRY(parts->program_, read_wrapper(text));
  }
  parts->lines_ = lines_of(text);
  parts->take_apart();
  ASSAY_TRY_VOID(parts->run(text, table));
  return std::shared_ptr<const ProgramParts>(std::move(parts));
}

auto ProgramParts::run(const std::string& text, const OpTable& table) -> Result<void> {
  ProgramRunOptions options;
  options.tap = [&](const RunWritten& written) { record(written); };
  if (options_.inputs != nullptr) take_inputs(*options_.inputs);
  return run_wrapper(text, program_, options_.inputs, table, options);
}

void ProgramParts::take_inputs(const DatumList& inputs) {
  for (std::size_t i = 0; i < inputs.size() && i < function().inputs.size(); ++i) {
    const auto& name = function().inputs[i];
    if (const auto* tensor = inputs[i].real())
      tensors_.emplace(name, recorded(*tensor));
    else if (const auto* number = std::get_if<Expr>(&inputs[i].value))
      numbers_.emplace(name, print_expr(*number));
  }
}

void ProgramParts::take_apart() {
  known_ = {function().inputs.begin(), function().inputs.end()};
  for (const auto& input : function().inputs) root_[input] = input;
  bool goes_on = false;  // `if not (u0 >= 0):` and its `raise`
  for (const auto& op : function().ops) {
    const auto line = static_cast<std::size_t>(op.line) - 1;
    const bool is_same = !parts_.empty() && (parts_.back().last >= line || goes_on);
    if (!is_same) {
      parts_.emplace_back();
      parts_.back().kind = kind_of(op);
      parts_.back().first = line;
    }
    auto& part = parts_.back();
    part.last = last_line(lines_, line);
    goes_on = is<HostFact>(op) && lines_[part.last].ends_with(':');
    if (kind_of(op) < part.kind) part.kind = kind_of(op);
    follow(op, part);
    part_of_line_[op.line] = parts_.size() - 1;
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    auto& part = parts_[i];
    for (auto line = part.first; line <= part.last; ++line)
      add_identifiers(lines_[line], part.names);
    for (const auto& name : part.names)
      if (const auto root = root_.find(name); root != root_.end()) part.roots.insert(root->second);
    if (part.kind == PartKind::unit || part.kind == PartKind::deletion) units_.push_back(i);
    known_.insert(part.defines.begin(), part.defines.end());
  }
}

/// Names stand for one storage all the time: a wrapper gives no name twice.
void ProgramParts::follow(const HostOp& op, Part& part) {
  add_defined(op, part.defines);
  // `s77 = arg0_1` is the input as a number; the name that it gets is the symbol's.
  if (const auto* scalar = std::get_if<HostScalar>(&op.what); scalar && scalar->is_input)
    part.defines.insert(std::string(scalar->symbol.name()));
  part.is_call = part.is_call || is<HostLaunch>(op) || is<HostCall>(op);
  if (const auto* alloc = std::get_if<HostAlloc>(&op.what)) {
    devices_[alloc->name] = alloc->device;
    allocs_[alloc->name] = op.text;
  }
  if (const auto* item = std::get_if<HostItem>(&op.what))
    items_[fmt::format("{}[{}]", item->tuple, item->index)] = item->name;
  if (const auto* deleted = std::get_if<HostDelete>(&op.what)) part.items = deleted->names;
  if (const auto* result = std::get_if<HostReturn>(&op.what))
    for (const auto& value : result->values) part.items.push_back(value.text);
  const auto* bind = std::get_if<HostBind>(&op.what);
  const auto source = bind == nullptr ? root_.end() : root_.find(bind->source.base);
  for (const auto& name : part.defines)
    if (source != root_.end() && name == bind->name)
      root_[name] = source->second;
    else
      root_.try_emplace(name, name);
}

void ProgramParts::record(const RunWritten& written) {
  const auto at = part_of_line_.find(written.op->line);
  if (at == part_of_line_.end()) return;
  for (const auto& [name, tensor] : written.buffers) {
    const auto item = items_.find(name);
    const auto root = root_.find(item == items_.end() ? name : item->second);
    if (root == root_.end()) continue;
    parts_[at->second].wrote.emplace_back(root->second, name == root->second || item != items_.end()
                                                            ? recorded(tensor)
                                                            : recorded_storage(tensor));
  }
}

/// What left out calls wrote before the first kept one that touches it.
void ProgramParts::give_inputs(Choice& choice) const {
  Names touched;
  for (const auto i : units_) {
    const auto& part = parts_[i];
    if (choice.stays[i] && part.is_call) touched.insert(part.roots.begin(), part.roots.end());
    if (choice.stays[i]) continue;
    for (const auto& [root, recorded] : part.wrote)
      if (!touched.contains(root)) choice.given[root] = &recorded;
  }
}

/// Allocations, views and numbers stay where something that stays names them.
void ProgramParts::follow_needs(Choice& choice) const {
  for (auto i = parts_.size(); i-- > 0;) {
    const auto& part = parts_[i];
    const auto is_needed = [&](const std::string& name) {
      return choice.needed.contains(name) && !choice.given.contains(name);
    };
    if (part.kind == PartKind::follows)
      choice.stays[i] = std::ranges::any_of(part.defines, is_needed);
    const bool is_asserted = std::ranges::any_of(part.defines, [&](const std::string& name) {
      return allocs_.contains(name) && choice.given.contains(name) && choice.needed.contains(name);
    });
    if (is_asserted) choice.needed.insert(part.names.begin(), part.names.end());
    if (!choice.stays[i]) continue;
    if (part.kind == PartKind::unit || part.kind == PartKind::follows)
      choice.needed.insert(part.names.begin(), part.names.end());
  }
}

void ProgramParts::name_inputs(Choice& choice) const {
  for (const auto& input : function().inputs)
    if (choice.needed.contains(input)) choice.inputs.push_back(input);
  for (const auto& [root, recorded] : choice.given)
    if (choice.needed.contains(root) && !is_input(root)) choice.inputs.push_back(root);
  choice.defined = {choice.inputs.begin(), choice.inputs.end()};
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (choice.stays[i]) choice.defined.insert(parts_[i].defines.begin(), parts_[i].defines.end());
}

/// Streams and device guards, what is said again once; asserts on alignment go.
void ProgramParts::keep_harmless(Choice& choice) const {
  std::set<std::string_view> said;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const auto& part = parts_[i];
    if (part.kind != PartKind::note) continue;
    choice.stays[i] = takes_inputs(i);
    if (choice.stays[i]) continue;
    const auto text = trimmed(lines_[part.first]);
    const bool is_said = !text.ends_with(':') && !said.insert(text).second;
    choice.stays[i] = !is_said && !text.starts_with("assert") &&
                      std::ranges::all_of(part.names, [&](const std::string& name) {
                        return !known_.contains(name) || choice.defined.contains(name);
                      });
  }
}

/// `with` blocks in which nothing is left go.
void ProgramParts::close_empty(Choice& choice) const {
  const auto indent = [&](std::size_t i) { return lines_[parts_[i].first].find_first_not_of(' '); };
  for (auto i = parts_.size(); i-- > 0;) {
    if (!choice.stays[i] || parts_[i].kind != PartKind::note ||
        !lines_[parts_[i].first].ends_with(':'))
      continue;
    bool is_empty = true;
    for (auto k = i + 1; k < parts_.size() && indent(k) > indent(i) && is_empty; ++k)
      is_empty = !(choice.stays[k] ? kept_line(choice, k) : asserted_line(choice, k));
    choice.stays[i] = !is_empty;
  }
}

/// The names of `args`, of a `del` and of a `return` that are left; nothing where none is.
auto ProgramParts::kept_line(const Choice& choice, std::size_t i) const
    -> std::optional<std::string> {
  const auto& part = parts_[i];
  const auto& line = lines_[part.first];
  const auto indent = line.substr(0, line.find_first_not_of(' '));
  if (takes_inputs(i)) {
    if (choice.inputs.empty()) return std::nullopt;
    return fmt::format("{}{}{} = args", indent, fmt::join(choice.inputs, ", "),
                       choice.inputs.size() == 1 ? "," : "");
  }
  if (part.kind == PartKind::result && choice.defined.contains(options_.returned))
    return fmt::format("{}return ({}, )", indent, options_.returned);
  if (part.kind != PartKind::deletion && part.kind != PartKind::result) return line;
  std::vector<std::string> left;
  std::ranges::copy_if(part.items, std::back_inserter(left),
                       [&](const std::string& item) { return is_left(choice, item); });
  if (left.size() == part.items.size()) return line;
  if (part.kind == PartKind::result)
    return fmt::format("{}return ({})", indent, joined(left, ", "));
  return left.empty() ? std::nullopt
                      : std::optional(fmt::format("{}del {}", indent, fmt::join(left, ", ")));
}

/// Does it name something of the program, and all of that is still there?
auto ProgramParts::is_left(const Choice& choice, std::string_view item) const -> bool {
  Names names;
  add_identifiers(item, names);
  std::erase_if(names, [&](const std::string& name) { return !known_.contains(name); });
  return !names.empty() && std::ranges::includes(choice.defined, names);
}

void ProgramParts::drop_kernels(const Choice& choice, WrapperLines& lines) const {
  for (const auto& [name, kernel] : program_.kernels)
    if (!choice.needed.contains(name)) {
      auto first = static_cast<std::size_t>(kernel.line) - 1;
      while (first > 0 && !lines_[first].starts_with(name + " = ")) --first;
      lines.drop(first, last_line(lines_, first));
    }
}

auto ProgramParts::example(const Choice& choice, const std::string& name) const -> std::string {
  const auto given = choice.given.find(name);
  const auto known = tensors_.find(name);
  if (const auto number = numbers_.find(name); number != numbers_.end())
    return fmt::format("{} = {}", name, number->second);
  if (given == choice.given.end() && known == tensors_.end()) {
    for (auto line = harness_line(lines_); line < lines_.size(); ++line)
      if (trimmed(lines_[line]).starts_with(name + " = "))
        return std::string(trimmed(lines_[line]));
    return fmt::format("{} = None", name);
  }
  const auto& tensor = given == choice.given.end() ? known->second : *given->second;
  const bool has_contents =
      options_.inputs != nullptr || options_.keeps_contents || !is_floating(tensor.dtype);
  return fmt::format("{} = {}", name, example_text(tensor, device_of(name), has_contents));
}

/// In the place of an allocation, if the buffer is an input now: that it has the same layout.
auto ProgramParts::asserted_line(const Choice& choice, std::size_t i) const
    -> std::optional<std::string> {
  const auto& line = lines_[parts_[i].first];
  for (const auto& name : parts_[i].defines) {
    const auto alloc = allocs_.find(name);
    if (alloc == allocs_.end() || !choice.given.contains(name) || !choice.needed.contains(name))
      continue;
    const auto open = line.find('('), close = line.rfind(", torch.");
    if (open == std::string::npos || close == std::string::npos || close < open) continue;
    return fmt::format("{}assert_size_stride({}, {})", line.substr(0, line.find_first_not_of(' ')),
                       name, line.substr(open + 1, close - open - 1));
  }
  return std::nullopt;
}

/// Of what a library call made: that of the allocations.
auto ProgramParts::device_of(const std::string& name) const -> std::string {
  constexpr std::string_view kDevice = "device='";
  if (const auto known = devices_.find(name); known != devices_.end())
    return to_string(known->second);
  std::string any = devices_.empty() ? "cpu" : to_string(devices_.begin()->second);
  for (auto line = harness_line(lines_); line < lines_.size(); ++line) {
    const auto at = lines_[line].find(kDevice);
    if (at == std::string::npos) continue;
    auto device = lines_[line].substr(at + kDevice.size());
    device.resize(std::min(device.find('\''), device.size()));
    if (trimmed(lines_[line]).starts_with(name + " = ")) return device;
    if (devices_.empty()) any = std::move(device);  // of the inputs, if nothing is allocated
  }
  return any;
}

auto ProgramParts::harness(const Choice& choice) const -> std::string {
  Harness harness{.examples = {}, .inputs = choice.inputs, .expected = {}, .tolerance = 0};
  for (const auto& input : choice.inputs) harness.examples.push_back(example(choice, input));
  if (options_.expected && choice.defined.contains(options_.returned)) {
    harness.expected =
        example_text(recorded(*options_.expected), device_of(options_.returned), true);
    harness.tolerance = options_.tolerance;
  }
  return harness_text(harness);
}

auto ProgramParts::choose(const std::vector<int>& kept) const -> Choice {
  Choice choice;
  choice.stays.assign(parts_.size(), false);
  for (const int unit : kept) choice.stays[units_[static_cast<std::size_t>(unit)]] = true;
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (parts_[i].kind == PartKind::result) choice.stays[i] = true;
  give_inputs(choice);
  follow_needs(choice);
  name_inputs(choice);
  keep_harmless(choice);
  close_empty(choice);
  return choice;
}

auto ProgramParts::statements(const std::vector<int>& kept) const -> int {
  return static_cast<int>(std::ranges::count(choose(kept).stays, true));
}

auto ProgramParts::text(const std::vector<int>& kept) const -> std::string {
  const auto choice = choose(kept);
  WrapperLines lines(lines_);
  drop_kernels(choice, lines);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const auto& part = parts_[i];
    const auto line = choice.stays[i] ? kept_line(choice, i) : asserted_line(choice, i);
    if (!line)
      lines.drop(part.first, part.last);
    else if (*line != lines_[part.first])
      lines.replace(part.first, part.last, *line);
  }
  lines.end_at(harness_line(lines_));
  auto text = lines.text();
  text.resize(text.find_last_not_of('\n') + 1);
  return text + "\n\n\n" + harness(choice);
}

auto ProgramParts::units_of_line(std::size_t line) const -> std::vector<int> {
  std::vector<int> units;
  for (std::size_t k = 0; k < units_.size(); ++k) {
    const auto& part = parts_[units_[k]];
    if (part.first <= line && line <= part.last) units.push_back(static_cast<int>(k));
  }
  return units;
}

auto CutProgram::create(std::string text, const OpTable& table, CutOptions options)
    -> Result<CutProgram> {
  CutProgram program;
  ASSAY_TRY(program.parts_, ProgramParts::create(std::move(text), table, std::move(options)));
  return program;
}

auto CutProgram::units_of_line(int line) const -> std::vector<int> {
  return parts_->units_of_line(static_cast<std::size_t>(line) - 1);
}

auto CutProgram::count() const -> int {
  return static_cast<int>(parts_->units().size());
}

auto CutProgram::launches(const std::vector<int>& kept) const -> int {
  return static_cast<int>(std::ranges::count_if(kept, [&](int unit) {
    return parts_->parts()[parts_->units()[static_cast<std::size_t>(unit)]].is_call;
  }));
}

auto CutProgram::statements(const std::vector<int>& kept) const -> int {
  return parts_->statements(kept);
}

auto CutProgram::text(const std::vector<int>& kept) const -> std::string {
  return parts_->text(kept);
}

auto program_texts(std::string_view bytes, const std::string& name)
    -> Result<std::vector<ProgramText>> {
  if (detect_format(bytes) != InputFormat::torch_trace)
    return std::vector<ProgramText>{{name, std::string(bytes), 0}};
  auto log = read_torch_trace(bytes);
  if (!log) return with_context(std::move(log).error(), name);
  std::vector<ProgramText> texts;
  for (const auto& compilation : compilations(*log))
    for (const auto& part : compilation.output_codes)
      texts.push_back({fmt::format("{} {}", compilation.compile_id, part.name),
                       std::string(log->events[part.event].payload), log->events[part.event].line});
  return texts;
}

auto runs_to_its_end(std::string_view text, const OpTable& table) -> bool {
  const auto execution = execute_programs(text, "candidate", table, {});
  return execution && !execution->programs.empty() && !execution->programs.front().error;
}

namespace {

/// Loads of a line: how many there are, and how many give what something depends on.
struct LineLoads {
  int all = 0, live = 0;
};
void count_loads(const TileRegion& region, int line, const std::vector<bool>& live,
                 LineLoads& loads) {
  for (const auto& one : region.body) {
    for (const auto& inner : one.regions) count_loads(inner, line, live, loads);
    if (one.line != line || !std::holds_alternative<TileLoad>(one.what)) continue;
    ++loads.all;
    loads.live += live[static_cast<std::size_t>(one.results.front())] ? 1 : 0;
  }
}

/// A compiler leaves out what loads for nothing, so that nothing fails there.
auto is_left_out(const HostProgram& program, const RunFinding& finding) -> bool {
  const auto source = program.kernels.find(finding.kernel);
  if (source == program.kernels.end() || source->second.kernel == nullptr) return false;
  const auto& kernel = *source->second.kernel;
  LineLoads loads;
  count_loads(kernel.body, finding.kernel_line, live_values(kernel), loads);
  return loads.all > 0 && loads.live == 0;
}

}  // namespace

auto run_failures(std::string_view text, const OpTable& table) -> std::vector<std::string> {
  std::vector<std::string> failures;
  const auto execution = execute_programs(text, "candidate", table, {});
  if (!execution || execution->programs.empty()) return failures;
  for (const auto& finding : execution->programs.front().run.findings) {
    auto failure = std::string(name(finding.fault));
    failure += finding.kernel.empty() ? fmt::format(" of {}", finding.buffer)
                                      : fmt::format(" in {}", finding.kernel);
    if (!finding.param.empty()) failure += fmt::format(", parameter {}", finding.param);
    if (is_left_out(execution->programs.front().program, finding))
      failure += ", which nothing uses";
    if (std::ranges::find(failures, failure) == failures.end()) failures.push_back(failure);
  }
  return failures;
}

}  // namespace assay
