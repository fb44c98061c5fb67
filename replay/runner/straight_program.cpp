#include "replay/runner/straight_program.h"

#include <algorithm>
#include <set>

#include "compiler/interpret/interpret.h"
#include "core/graph/annotation.h"
#include "replay/runner/execute.h"
#include "replay/runner/stage_run.h"
#include "replay/runner/wrapper_lines.h"

namespace assay {
namespace {

constexpr std::size_t kMostSteps = 20'000;

template <class T>
auto is(const HostOp& op) -> bool {
  return std::holds_alternative<T>(op.what);
}

/// Where a block ends, the line is that of what follows it.
auto is_control(const HostOp& op) -> bool {
  return is<HostBranch>(op) || is<HostLoop>(op);
}

/// A statement that was executed: a function of the program and a place in it.
struct Step {
  std::size_t function = 0, op = 0;
};

auto is_word(char c) -> bool {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
auto is_name(std::string_view text) -> bool {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::ranges::all_of(text, is_word);
}
auto indent_of(std::string_view line) -> std::size_t {
  return std::min(line.find_first_not_of(' '), line.size());
}

/// Names that a statement gives.
auto defined_by(const HostOp& op) -> std::vector<std::string> {
  if (const auto* call = std::get_if<HostCall>(&op.what)) return call->results;
  if (const auto* alloc = std::get_if<HostAlloc>(&op.what)) return {alloc->name};
  if (const auto* bind = std::get_if<HostBind>(&op.what)) return {bind->name};
  if (const auto* shape = std::get_if<HostShape>(&op.what)) return {shape->name};
  if (const auto* item = std::get_if<HostItem>(&op.what)) return {item->name};
  if (const auto* scalar = std::get_if<HostScalar>(&op.what))
    return {scalar->is_input ? std::string(scalar->symbol.name()) : scalar->name};
  return {};
}

/// Writes down the steps of a run.
class Straightener {
 public:
  Straightener(const HostProgram& program, const std::vector<std::string>& lines)
      : program_(program), lines_(lines) {
    for (const auto& [name, kernel] : program.kernels) taken_.insert(name);
    find_blocks();
  }

  auto text(const std::vector<Step>& steps) -> std::string {
    enter(main(), {});
    for (const auto& input : main().inputs) {
      taken_.insert(input);
      frame().names[input] = input;
    }
    for (std::size_t i = 0; i < steps.size();) {
      const auto& function = program_.functions[steps[i].function];
      if (&function != frames_.back().function) enter(function, std::exchange(given_, {}));
      // What stands in one line is one statement, and `a = b; del b`.
      auto end = i + 1;
      while (end < steps.size() && steps[end].function == steps[i].function &&
             steps[end].op == steps[end - 1].op + 1 &&
             function.ops[steps[end].op].line == function.ops[steps[i].op].line &&
             find_inner(function.ops[steps[end - 1].op]) == nullptr &&
             !is_control(function.ops[steps[end - 1].op]))
        ++end;
      std::vector<const HostOp*> ops;
      for (; i < end; ++i) ops.push_back(&function.ops[steps[i].op]);
      statement(ops);
    }
    return whole();
  }

 private:
  using Names = std::map<std::string, std::string, std::less<>>;
  struct Frame {
    const HostFunction* function = nullptr;
    Names names;  ///< of its own -> what they are in the new text
    std::map<std::string, std::vector<std::string>, std::less<>> lists;
    std::vector<std::string> results;  ///< of the caller, that get what it returns
    bool is_unpacked = false;
  };

  [[nodiscard]] auto main() const -> const HostFunction& { return program_.functions.back(); }
  [[nodiscard]] auto frame() -> Frame& { return frames_.back(); }
  [[nodiscard]] auto find_inner(const HostOp& op) const -> const HostFunction* {
    const auto* call = std::get_if<HostCall>(&op.what);
    return call == nullptr ? nullptr : find_function(program_, call->target);
  }

  /// Of `call`, statements in blocks and where the outermost of these begins.
  void find_blocks() {
    int depth = 0;
    std::size_t outer = 0;
    for (const auto& op : main().ops) {
      const auto* branch = std::get_if<HostBranch>(&op.what);
      const auto* loop = std::get_if<HostLoop>(&op.what);
      if ((branch != nullptr && branch->kind == HostBranch::Kind::close) ||
          (loop != nullptr && loop->kind == HostLoop::Kind::close))
        --depth;
      if (depth > 0) block_[&op] = outer;
      if ((branch != nullptr && branch->kind == HostBranch::Kind::open) ||
          (loop != nullptr && loop->kind == HostLoop::Kind::open))
        if (depth++ == 0) outer = indent_of(lines_[static_cast<std::size_t>(op.line) - 1]);
    }
  }

  void enter(const HostFunction& function, std::vector<std::string> given) {
    Frame frame{.function = &function, .names = {}, .lists = {}, .results = results_};
    frame.is_unpacked = is_unpacked_;
    for (std::size_t i = 0; i < given.size() && i < function.inputs.size(); ++i)
      frame.names[function.inputs[i]] = as_name(function.inputs[i], given[i]);
    frames_.push_back(std::move(frame));
  }

  /// A name for this text: itself if it is one or a number, else one that gets it.
  auto as_name(const std::string& like, const std::string& text) -> std::string {
    const bool is_number =
        !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    if (is_name(text) || is_number) return text;
    auto name = fresh(like);
    emit({fmt::format("{} = {}", name, text)});
    return name;
  }

  /// `buf3`, `buf3_1`, `buf3_2`; symbols stay symbols: `u0`, `u100`.
  auto fresh(std::string_view like) -> std::string {
    std::string name(like.substr(0, like.find('[')));
    if (const auto open = like.find('['); open != std::string_view::npos)
      name += fmt::format("_{}", like.substr(open + 1, like.find(']') - open - 1));
    if (taken_.insert(name).second) return name;
    const auto letters = name.substr(0, name.find_first_of("0123456789"));
    const bool is_symbol = letters == "u" || letters == "s" || letters == "zuf";
    for (int k = is_symbol ? 100 : 1;; ++k) {
      auto next = is_symbol ? fmt::format("{}{}", letters, k) : fmt::format("{}_{}", name, k);
      if (taken_.insert(next).second) return next;
    }
  }

  /// The text with this frame's names replaced; strings, comments and attributes stay.
  [[nodiscard]] auto resolved(std::string_view text, const Names& names) -> std::string {
    std::string out;
    char quote = 0;
    for (std::size_t i = 0; i < text.size();) {
      const char c = text[i];
      if (quote != 0 || c == '\'' || c == '"') {
        quote = quote == 0 ? c : c == quote ? '\0' : quote;
        out += text[i++];
        continue;
      }
      if (c == '#') return out += text.substr(i);
      if (!is_word(c)) {
        out += text[i++];
        continue;
      }
      auto end = i;
      while (end < text.size() && is_word(text[end])) ++end;
      const auto word = text.substr(i, end - i);
      const bool is_attribute = i > 0 && text[i - 1] == '.';
      i = is_attribute ? end : replace_word(text, word, end, names, out);
      if (is_attribute) out += word;
    }
    return out;
  }
  /// Appends what stands for the word, or for the element `word[0]`; returns where it ends.
  auto replace_word(std::string_view text, std::string_view word, std::size_t end,
                    const Names& names, std::string& out) -> std::size_t {
    if (const auto list = frame().lists.find(word); list != frame().lists.end()) {
      const auto close = text.find(']', end);
      std::size_t index = 0;
      if (end < text.size() && text[end] == '[' && close != std::string_view::npos) {
        const auto [rest, error] =
            std::from_chars(&text[end] + 1, &text[end] + (close - end), index);
        if (error == std::errc() && rest == &text[end] + (close - end) &&
            index < list->second.size()) {
          out += list->second[index];
          return close + 1;
        }
      }
      out += fmt::format("[{}]", fmt::join(list->second, ", "));
      return end;
    }
    const auto known = names.find(word);
    out += known == names.end() ? word : std::string_view(known->second);
    return end;
  }
  [[nodiscard]] auto resolved(std::string_view text) -> std::string {
    // What a call gave to `buf0[0]`, before it stands in the list.
    if (const auto given = frame().names.find(text); given != frame().names.end())
      return given->second;
    return resolved(text, frame().names);
  }

  void statement(const std::vector<const HostOp*>& ops) {
    const auto& first = *ops.front();
    if (frames_.size() == 1) {
      const auto block = block_.find(&first);
      is_inner_ = block != block_.end();
      indent_ =
          is_inner_ ? block->second : indent_of(lines_[static_cast<std::size_t>(first.line) - 1]);
    } else {
      is_inner_ = true;
    }
    if (is_control(first)) return;
    const bool is_symbolic = std::ranges::any_of(ops, [&](const HostOp* op) {
      return is<HostGroup>(*op) || is<HostStore>(*op) || find_inner(*op) != nullptr ||
             (is<HostReturn>(*op) && frames_.size() > 1) || is_known_item(*op);
    });
    if (is_symbolic)
      for (const auto* op : ops) follow(*op);
    else if (std::ranges::all_of(ops, [](const HostOp* op) { return is<HostDelete>(*op); }))
      for (const auto* op : ops) remove(std::get<HostDelete>(op->what));
    else
      copy(ops);
  }
  [[nodiscard]] auto is_known_item(const HostOp& op) -> bool {
    const auto* item = std::get_if<HostItem>(&op.what);
    return item != nullptr && frame().lists.contains(item->tuple);
  }

  /// Lists, and what goes into inner functions and comes back.
  void follow(const HostOp& op) {
    if (const auto* group = std::get_if<HostGroup>(&op.what)) {
      std::vector<std::string> items;
      for (const auto& item : group->items) items.push_back(resolved(item.text));
      frame().lists[group->name] = std::move(items);
    } else if (const auto* store = std::get_if<HostStore>(&op.what)) {
      const auto element = fmt::format("{}[{}]", store->tuple, store->index);
      const auto value = as_name(element, resolved(store->value.text));
      frame().names.erase(element);
      auto& list = frame().lists[store->tuple];
      if (list.size() <= store->index) list.resize(store->index + 1, "None");
      list[store->index] = value;
    } else if (const auto* item = std::get_if<HostItem>(&op.what)) {
      const auto& list = frame().lists.find(item->tuple)->second;
      frame().names[item->name] = item->index < list.size() ? list[item->index] : "None";
      frame().lists.erase(item->name);
    } else if (const auto* result = std::get_if<HostReturn>(&op.what)) {
      leave(*result);
    } else if (const auto* call = std::get_if<HostCall>(&op.what)) {
      if (find_inner(op) == nullptr) return library(op, *call);
      given_ = arguments(*call);
      results_ = call->results;
      is_unpacked_ = call->is_unpacked;
    } else if (const auto* deleted = std::get_if<HostDelete>(&op.what)) {
      remove(*deleted);
    }
  }
  [[nodiscard]] auto arguments(const HostCall& call) -> std::vector<std::string> {
    std::vector<std::string> given;
    if (call.args.empty()) return given;
    if (const auto* items = std::get_if<HostArgs>(&call.args[0].value)) {
      for (const auto& item : *items) given.push_back(resolved(item.text));
    } else if (const auto list = frame().lists.find(call.args[0].text);
               list != frame().lists.end()) {
      given = list->second;
    }
    return given;
  }
  /// `buf0[0] = x.clone()`
  void library(const HostOp& op, const HostCall& call) {
    const auto equals = op.text.find(" = ");
    if (call.results.size() != 1 || equals == std::string::npos) return;
    const auto right = resolved(op.text.substr(equals + 3), frame().names);
    const auto name = fresh(call.results[0]);
    emit({fmt::format("{} = {}", name, right)});
    frame().names[call.results[0]] = name;
  }
  void leave(const HostReturn& result) {
    std::vector<std::string> values;
    for (const auto& value : result.values) values.push_back(resolved(value.text));
    const auto inner = std::move(frames_.back());
    frames_.pop_back();
    if (!inner.is_unpacked && inner.results.size() == 1) {
      for (auto& value : values) value = as_name(inner.results[0] + "_item", value);
      frame().lists[inner.results[0]] = std::move(values);
      return;
    }
    for (std::size_t i = 0; i < values.size() && i < inner.results.size(); ++i)
      frame().names[inner.results[i]] = as_name(inner.results[i], values[i]);
  }

  /// Another name may stand for the same value; then it lives on.
  void remove(const HostDelete& deleted) {
    std::vector<std::string> gone;
    for (const auto& name : deleted.names) {
      frame().lists.erase(name);
      const auto known = frame().names.find(name);
      if (known == frame().names.end()) continue;
      const auto text = known->second;
      frame().names.erase(known);
      if (taken_.contains(text) && !is_held(text)) gone.push_back(text);
    }
    if (!gone.empty()) emit({fmt::format("del {}", fmt::join(gone, ", "))});
  }
  [[nodiscard]] auto is_held(const std::string& text) const -> bool {
    return std::ranges::any_of(frames_, [&](const Frame& frame) {
      return std::ranges::any_of(frame.names,
                                 [&](const auto& entry) { return entry.second == text; }) ||
             std::ranges::any_of(frame.lists, [&](const auto& entry) {
               return std::ranges::find(entry.second, text) != entry.second.end();
             });
    });
  }

  /// Left of `=` new names, right of it those from before.
  void copy(const std::vector<const HostOp*>& ops) {
    const auto first = static_cast<std::size_t>(ops.front()->line) - 1;
    const bool is_note =
        std::ranges::all_of(ops, [](const HostOp* op) { return is<HostNote>(*op); });
    const auto start = std::string_view(lines_[first]).substr(indent_of(lines_[first]));
    if (is_note && is_inner_ &&
        (start.starts_with("with ") || start.starts_with("args.clear") ||
         start.ends_with("= args")))
      return;
    Names after = frame().names;
    for (const auto* op : ops)
      for (const auto& name : defined_by(*op)) after[name] = fresh(name);
    for (const auto& [name, now] : after)
      if (!frame().names.contains(name)) frame().lists.erase(name);
    const auto last = last_line(lines_, first);
    std::vector<std::string> text;
    for (auto line = first; line <= last; ++line) {
      const std::string_view all = lines_[line];
      const auto body = all.substr(std::min(indent_of(lines_[first]), indent_of(all)));
      const auto equals = line == first && !is_note ? body.find(" = ") : std::string_view::npos;
      const auto semicolon = std::min(body.find("; "), body.size());
      if (equals == std::string_view::npos || equals > semicolon) {
        text.push_back(resolved(body, frame().names));
        continue;
      }
      text.push_back(resolved(body.substr(0, equals), after) +
                     resolved(body.substr(equals, semicolon - equals), frame().names) +
                     resolved(body.substr(semicolon), after));
    }
    if (is_note && start.starts_with("raise ")) text[0] = "    " + text[0];
    if (is_alias(text[0])) return;
    emit(text);
    frame().names = std::move(after);
    for (const auto* op : ops)
      if (const auto* deleted = std::get_if<HostDelete>(&op->what))
        for (const auto& name : deleted->names) frame().names.erase(name);
  }
  /// `s77 = s77`: the size that a function was given.
  [[nodiscard]] static auto is_alias(std::string_view text) -> bool {
    const auto equals = text.find(" = ");
    return equals != std::string_view::npos && text.substr(0, equals) == text.substr(equals + 3);
  }

  void emit(const std::vector<std::string>& text) {
    for (const auto& line : text)
      out_.push_back(line.empty() ? line : std::string(indent_, ' ') + line);
  }

  /// The new statements in the place of the old ones; inner functions go.
  [[nodiscard]] auto whole() const -> std::string {
    std::vector<bool> goes(lines_.size(), false);
    for (const auto& function : program_.functions) {
      if (function.ops.empty()) continue;
      auto first = static_cast<std::size_t>(function.ops.front().line) - 1;
      // The end of a block stands in the line behind it.
      auto last = first;
      for (const auto& op : function.ops)
        if (!is_control(op))
          last = std::max(last, last_line(lines_, static_cast<std::size_t>(op.line) - 1));
      const auto head = fmt::format("def {}(", function.name);
      if (&function != &main())
        while (first > 0 && !trimmed(lines_[first]).starts_with(head)) --first;
      for (auto line = first; line <= last; ++line) goes[line] = true;
    }
    const auto begin = static_cast<std::size_t>(main().ops.front().line) - 1;
    std::string text;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (i == begin)
        for (const auto& line : out_) text += line + '\n';
      if (goes[i]) continue;
      constexpr std::string_view kPartitions = "Runner(partitions=[";
      const auto at = lines_[i].find(kPartitions);
      text +=
          at == std::string::npos ? lines_[i] : lines_[i].substr(0, at + kPartitions.size()) + "])";
      text += '\n';
    }
    return text;
  }

  const HostProgram& program_;
  const std::vector<std::string>& lines_;
  std::vector<Frame> frames_;
  std::map<const HostOp*, std::size_t> block_;  ///< indent of the outermost block around it
  std::set<std::string, std::less<>> taken_;    ///< names of the new text
  std::vector<std::string> given_, results_;    ///< of the function that is called next
  bool is_unpacked_ = false;
  std::size_t indent_ = 0;
  bool is_inner_ = false;  ///< the statement at hand stands in a block or an inner function
  std::vector<std::string> out_;
};

}  // namespace

auto is_straight(const HostProgram& program) -> bool {
  const auto& main = program.functions.back();
  return program.functions.size() == 1 && main.loop_line == 0 &&
         std::ranges::none_of(main.ops, is<HostBranch>);
}

auto run_wrapper(const std::string& text, const HostProgram& program, const DatumList* inputs,
                 const OpTable& table, const ProgramRunOptions& options) -> Result<void> {
  if (inputs != nullptr) {
    DatumList copies;
    DatumCopier copy;
    for (const auto& input : *inputs) copies.push_back(copy(input));
    ASSAY_TRY(const auto ready, Interpreter(table).compile(program));
    ASSAY_TRY_VOID(ready->run(copies, options));
    return {};
  }
  ExecuteOptions asked;
  asked.run = options;
  ASSAY_TRY(const auto execution, execute_programs(text, "the program", table, asked));
  if (execution.programs.empty()) return bad_input("the text is no wrapper");
  if (const auto& error = execution.programs.front().error) return std::unexpected(*error);
  return {};
}

auto straight_program(const std::string& text, const HostProgram& program, const DatumList* inputs,
                      const OpTable& table) -> Result<std::string> {
  std::vector<Step> steps;
  ProgramRunOptions options;
  options.step = [&](const HostFunction& function, const HostOp& op) {
    if (steps.size() > kMostSteps) return;
    const auto* known = find_function(program, function.name);
    const auto at = &op - function.ops.data();
    steps.push_back(
        {static_cast<std::size_t>(known - program.functions.data()), static_cast<std::size_t>(at)});
  };
  ASSAY_TRY_VOID(run_wrapper(text, program, inputs, table, options));
  if (steps.size() > kMostSteps)
    return unsupported("the run executes more than {} statements", kMostSteps);
  const auto lines = lines_of(text);
  return Straightener(program, lines).text(steps);
}

}  // namespace assay
