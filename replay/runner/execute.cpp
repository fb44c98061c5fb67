#include "replay/runner/execute.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "compiler/interpret/interpret.h"
#include "compiler/read/wrapper.h"
#include "core/base/clock.h"
#include "replay/formats/detect.h"
#include "replay/formats/torch_trace.h"
#include "replay/runner/answer_judge.h"
#include "replay/runner/log_inputs.h"
#include "replay/runner/programs.h"

namespace assay {
namespace {

/// A program of a compilation with what it was compiled from.
struct Compiled {
  std::string name, role;
  int log_line = 0;
  std::string text;
  HostProgram program;
};

/// What `L['x'].size()[1]` is.
auto sourced_number(std::string_view source, const InputPlan& plan,
                    const std::vector<Tensor>& given) -> std::optional<std::int64_t> {
  const auto close = std::min(source.rfind(".size()["), source.rfind(".stride()["));
  if (close == std::string_view::npos) return std::nullopt;
  const auto known = plan.placeholders.find(placeholder_of(source.substr(0, close)));
  if (known == plan.placeholders.end() || known->second >= given.size()) return std::nullopt;
  const auto& tensor = given[known->second];
  auto rest = source.substr(close);
  const auto* values = rest.starts_with(".size()[")     ? &tensor.sizes()
                       : rest.starts_with(".stride()[") ? &tensor.strides()
                                                        : nullptr;
  if (values == nullptr) return std::nullopt;
  rest.remove_prefix(rest.find('[') + 1);
  std::size_t dimension = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), dimension);
  if (dimension >= values->size()) return std::nullopt;
  return (*values)[dimension];
}

/// Numbers among the inputs: `s77 = primals_1`.
auto number_input(const HostFunction& function, const std::string& input) -> const HostScalar* {
  for (const auto& op : function.ops)
    if (const auto* scalar = std::get_if<HostScalar>(&op.what);
        scalar != nullptr && scalar->is_input && scalar->name == input)
      return scalar;
  return nullptr;
}

auto tensor_of(const HostExample& example) -> Result<Tensor> {
  ASSAY_TRY(auto tensor,
            Tensor::allocate(example.dtype, example.sizes, example.strides, example.device));
  const auto bytes = tensor.storage->bytes();
  std::memcpy(bytes.data(), example.bytes.data(), std::min(bytes.size(), example.bytes.size()));
  return tensor;
}

/// Does `get_args` give the contents of all inputs?
auto has_contents(const HostProgram& program) -> bool {
  const auto& inputs = program.functions.back().inputs;
  return std::ranges::all_of(inputs, [&](const std::string& input) {
    const auto known = program.examples.find(input);
    return known == program.examples.end() || !known->second.bytes.empty();
  });
}

/// Inputs at the recorded sizes, from what `get_args` says.
auto made_up_inputs(const HostProgram& program) -> Result<DatumList> {
  DatumList inputs;
  std::uint32_t seed = 1;
  for (const auto& input : program.functions.back().inputs) {
    const auto known = program.examples.find(input);
    if (known == program.examples.end()) {
      Datum number;
      if (const auto hint = program.example_numbers.find(input);
          hint != program.example_numbers.end())
        number.value = Expr(hint->second);
      inputs.push_back(number);
      continue;
    }
    const auto& example = known->second;
    ASSAY_TRY(auto tensor, tensor_of(example));
    if (example.bytes.empty() && is_floating(example.dtype))
      fill_storage(*tensor.storage, example.dtype, {seed++, -0.25, 0.25});
    inputs.push_back({std::move(tensor)});
  }
  return inputs;
}

class LogExecutor {
 public:
  LogExecutor(const OpTable& table, const ExecuteOptions& options)
      : table_(table),
        interpreter_(table),
        executor_(options.executor != nullptr ? *options.executor : interpreter_),
        options_(options) {}

  auto take() -> LogExecution { return std::move(result_); }
  void add_note(std::string text) { result_.notes.push_back(std::move(text)); }

  /// `answers` are of these programs' function, `judge` says whether they differ.
  void run_all(std::vector<Compiled>& programs, const InputPlan& plan,
               const ProgramAnswers* answers, AnswerJudge* judge) {
    answers_ = answers;
    judge_ = judge;
    result_.has_inputs = result_.has_inputs || answers != nullptr;
    for (auto& compiled : programs) {
      if (compiled.role == "backward")
        backward(compiled);
      else
        forward(compiled, plan);
    }
    if (rounded_ > 0)
      add_note(fmt::format("values off by no more than rounding explains: {}", rounded_));
    if (open_ > 0)
      add_note(fmt::format("values not compared, PyTorch leaves them open: {}", open_));
    rounded_ = open_ = 0;
  }

 private:
  auto execute(Compiled& compiled, Result<DatumList> inputs) -> const ProgramRun* {
    ProgramExecution execution{.name = compiled.name,
                               .role = compiled.role,
                               .log_line = compiled.log_line,
                               .error = {},
                               .run = {},
                               .seconds = 0,
                               .text = compiled.text,
                               .program = {},
                               .written = {}};
    auto asked = options_.run;
    if (options_.keep_values) asked.tap = keep_written(execution.written);
    const auto start = Clock::now();
    const auto compile_and_run = [&]() -> Result<ProgramRun> {
      ASSAY_TRY(const auto given, std::move(inputs));
      if (options_.keep_values) execution.memory = plan_program(compiled.program, given, table_);
      ASSAY_TRY(const auto ready, executor_.compile(compiled.program));
      return ready->run(given, asked);
    };
    auto run = compile_and_run();
    if (run)
      execution.run = *std::move(run);
    else
      execution.error = run.error();
    for (const auto& note : execution.run.notes)
      add_note(fmt::format("{}: {}", compiled.name, note));
    execution.seconds = seconds_since(start);
    const bool is_done = !execution.error;
    if (answers_ == nullptr) {
      result_.has_inputs = result_.has_inputs || has_contents(compiled.program);
      if (is_done) compare_expected(compiled.program, execution.run.outputs);
    }
    execution.program = std::move(compiled.program);
    result_.programs.push_back(std::move(execution));
    return is_done ? &result_.programs.back().run : nullptr;
  }

  /// Tensors of the function's parameters in the order of the program's inputs; numbers follow from
  /// their sizes, or are what they were when it was compiled: for the call that was recorded.
  auto answered_inputs(const HostProgram& program, const InputPlan& plan) -> Result<DatumList> {
    const auto& function = program.functions.back();
    DatumList inputs;
    std::size_t next = 0;
    primals_.clear();
    // Inputs that nothing uses are none of the program's.
    auto named = judge_ != nullptr ? judge_->input_positions() : std::nullopt;
    if (named && named->size() != function.inputs.size()) named.reset();
    for (const auto& input : function.inputs) {
      Datum given;
      primals_.push_back(std::nullopt);
      const auto traced = program.example_numbers.find(input);
      if (const auto* number = number_input(function, input)) {
        if (const auto* symbol = program.env.find(number->symbol))
          for (const auto& source : symbol->sources)
            if (const auto known = sourced_number(source, plan, given_)) given.value = Expr(*known);
        if (given.is_none() && traced != program.example_numbers.end())
          given.value = Expr(traced->second);
      } else if (traced != program.example_numbers.end()) {  // of which nobody makes a symbol
        given.value = Expr(traced->second);
      } else {
        const auto by_order = next < plan.tensors.size() ? plan.tensors[next] : std::optional(next);
        ++next;
        const auto known = named ? (*named)[inputs.size()] : by_order;
        const auto position = known.value_or(given_.size());
        if (position >= given_.size())
          return bad_input("nobody recorded the contents of the program's input {}", input);
        auto tensor = given_[position];
        if (const auto one = program.examples.find(input); one != program.examples.end())
          tensor.meta.device = one->second.device;
        given.value = std::move(tensor);
        primals_.back() = position;
      }
      inputs.push_back(std::move(given));
    }
    return inputs;
  }

  void forward(Compiled& compiled, const InputPlan& plan) {
    Result<DatumList> inputs = DatumList();
    given_.clear();
    if (answers_ != nullptr) {
      for (const auto& input : answers_->inputs) {
        // A program may write its inputs.
        Tensor copy = input.tensor;
        copy.storage = std::make_shared<Storage>(input.tensor.storage->size_bytes());
        std::ranges::copy(input.tensor.storage->bytes(), copy.storage->bytes().begin());
        given_.push_back(std::move(copy));
      }
      inputs = answered_inputs(compiled.program, plan);
    } else {
      inputs = made_up_inputs(compiled.program);
    }
    forward_outputs_.reset();
    const auto* run = execute(compiled, std::move(inputs));
    if (run == nullptr) return;
    forward_outputs_ = run->outputs;
    if (run->randomness != Randomness::none)
      result_.notes.push_back(fmt::format(
          "{}: random numbers are Assay's own, values are not compared", compiled.name));
    is_random_ = run->randomness != Randomness::none;
    if (compiled.role == "inference") compare_forward(forward_outputs_->size());
  }

  void backward(Compiled& compiled) {
    const auto& inputs = compiled.program.functions.back().inputs;
    const auto tangents = static_cast<std::size_t>(std::ranges::count_if(
        inputs, [](const std::string& name) { return name.starts_with("tangents_"); }));
    const auto saved = inputs.size() - tangents;
    const bool has_saved = forward_outputs_ && saved <= forward_outputs_->size();
    if (!has_saved && answers_ == nullptr) {
      (void)execute(compiled, made_up_inputs(compiled.program));
      return;
    }
    if (!forward_outputs_)
      return skip(compiled, "the forward program gave nothing to go back from");
    if (!has_saved)
      return skip(compiled, "the forward program saved fewer values than this one takes");
    const auto outputs = forward_outputs_->size() - saved;
    compare_forward(outputs);
    // Saved: tensors, then sizes. Taken: sizes, then tensors, then tangents.
    DatumList given, tensors;
    for (std::size_t i = outputs; i < forward_outputs_->size(); ++i)
      ((*forward_outputs_)[i].is_tensor() ? tensors : given).push_back((*forward_outputs_)[i]);
    given.insert(given.end(), tensors.begin(), tensors.end());
    if (answers_ == nullptr) {  // tangents alone are made up
      auto made = made_up_inputs(compiled.program);
      if (made && made->size() == inputs.size()) std::ranges::copy(given, made->begin());
      (void)execute(compiled, std::move(made));
      return;
    }
    const auto traced = made_up_inputs(compiled.program);
    for (const auto& [position, number] : tangent_order(outputs)) {
      if (given.size() == inputs.size()) break;
      const auto* output = position < outputs ? (*forward_outputs_)[position].real() : nullptr;
      if (output == nullptr) continue;
      // AOTAutograd gives tangents the layout they were traced with, whatever the output's is
      // (torch/_functorch/_aot_autograd/runtime_wrappers.py).
      auto meta = output->meta;
      if (traced && traced->size() == inputs.size())
        if (const auto* like = (*traced)[given.size()].real(); like && like->sizes() == meta.sizes)
          meta.strides = like->meta.strides;
      auto tangent = number ? answered_tangent(meta, *number)
                            : Tensor::allocate(meta.dtype, meta.sizes, meta.strides, meta.device);
      if (!tangent) return skip(compiled, tangent.error().message);
      given.push_back({*std::move(tangent)});
    }
    // What the base of several views gets is not recorded.
    if (given.size() != inputs.size())
      return skip(compiled, "what its tangents are is not recorded");
    if (const auto* run = execute(compiled, std::move(given))) compare_backward(*run);
  }

  /// What the backward program takes tangents of, as logs name it; older ones do not.
  [[nodiscard]] auto tangent_order(std::size_t outputs) const -> std::vector<AnswerJudge::Tangent> {
    std::vector<AnswerJudge::Tangent> order;
    if (judge_ != nullptr)
      if (auto named = judge_->tangents()) return *std::move(named);
    const auto* recorded = recorded_answers();
    if (recorded != nullptr && outputs != recorded->outputs.size()) return order;
    for (std::size_t k = 0; k < outputs; ++k)
      if (const auto* output = (*forward_outputs_)[k].real();
          output != nullptr && is_floating(output->dtype()))
        order.push_back({.position = k, .output = k});
    return order;
  }

  void skip(Compiled& compiled, const std::string& reason) {
    ProgramExecution execution{.name = compiled.name,
                               .role = compiled.role,
                               .log_line = compiled.log_line,
                               .error = Error{ErrorCode::unsupported, reason},
                               .run = {},
                               .seconds = 0,
                               .text = compiled.text,
                               .program = std::move(compiled.program),
                               .written = {}};
    result_.programs.push_back(std::move(execution));
  }

  void compare(std::string what, const Datum* actual, const AnsweredTensor& expected) {
    const auto* tensor = actual == nullptr ? nullptr : actual->real();
    TensorDifference difference;
    if (tensor == nullptr)
      difference.message = "there is no such tensor";
    else if (!is_random_)
      difference = compare_tensors(*tensor, expected);
    if (!difference.message.empty() && tensor != nullptr && judge_ != nullptr) {
      const auto verdict = judge_->judge(what, *tensor, expected);
      if (verdict == AnswerVerdict::rounding) ++rounded_;
      if (verdict == AnswerVerdict::open) ++open_;
      if (verdict == AnswerVerdict::open) return;
      if (verdict == AnswerVerdict::rounding) difference = {};
    }
    difference.what = std::move(what);
    result_.compared.push_back(std::move(difference));
  }

  /// With what the script itself asserts.
  void compare_expected(const HostProgram& program, const DatumList& outputs) {
    if (!program.expected || outputs.empty()) return;
    const auto example = program.examples.find(program.expected->example);
    if (example == program.examples.end() || example->second.bytes.empty()) return;
    const auto expected = tensor_of(example->second);
    const auto* actual = outputs[0].real();
    TensorDifference difference;
    if (!expected || actual == nullptr)
      difference.message = "it is not the tensor that the script expects";
    else
      difference = compare_elements(*actual, *expected, program.expected->tolerance);
    difference.what = "output 0";
    result_.compared.push_back(std::move(difference));
  }

  void compare_forward(std::size_t count) {
    if (answers_ == nullptr || !answers_->compiled) return;
    const auto& answers = *answers_->compiled;
    // What is written into inputs that need gradients are results as well, and come first.
    std::size_t written = 0;
    const auto result = [&](std::optional<std::size_t> at) {
      return at && *at < count ? &(*forward_outputs_)[*at] : nullptr;
    };
    for (std::size_t i = 0; i < answers.outputs.size(); ++i) {
      const auto named = judge_ == nullptr ? std::nullopt : judge_->position_of_output(i);
      compare(fmt::format("output {}", i), result(named.value_or(i)), answers.outputs[i]);
    }
    for (std::size_t i = 0; i < answers.inputs_after.size() && i < given_.size(); ++i) {
      const Datum now{given_[i]};
      const auto* after = result(judge_ == nullptr ? std::nullopt : judge_->position_of_written(i));
      if (after != nullptr) ++written;
      compare(fmt::format("input {} after", i), after == nullptr ? &now : after,
              answers.inputs_after[i]);
    }
    if (count > answers.outputs.size() + written)
      result_.notes.push_back(
          fmt::format("{} outputs, {} recorded", count, answers.outputs.size()));
  }

  /// One gradient per input of the forward program, None for those that need none.
  [[nodiscard]] auto recorded_answers() const -> const Answers* {
    const auto& one = answers_->compiled ? answers_->compiled : answers_->eager;
    return one ? &*one : nullptr;
  }

  /// Autograd gives a gradient the strides of its input where they are dense.
  void compare_gradient(std::size_t i, const Datum* actual, const AnsweredTensor& expected) {
    const auto* tensor = actual == nullptr ? nullptr : actual->real();
    auto what = fmt::format("gradient of input {}", i);
    if (tensor == nullptr && expected.has_data && expected.abs_sum == 0)
      return;  // none is a gradient of zeros, which recordings may write out
    if (tensor == nullptr || tensor->sizes() != expected.tensor.sizes())
      return compare(std::move(what), actual, expected);
    auto laid_out = Tensor::allocate(tensor->dtype(), tensor->sizes(), expected.tensor.strides());
    if (!laid_out) return compare(std::move(what), actual, expected);
    copy_elems(*tensor, *laid_out);
    const Datum same{*std::move(laid_out)};
    compare(std::move(what), &same, expected);
  }

  void compare_backward(const ProgramRun& run) {
    const auto& answers = *answers_;
    if (!answers.compiled) return;
    // What outputs that are views of inputs get flows around the program.
    const auto floats = std::ranges::count_if(
        answers.compiled->outputs,
        [](const AnsweredTensor& output) { return is_floating(output.tensor.dtype()); });
    const auto order = tangent_order(answers.compiled->outputs.size());
    const auto recorded = std::ranges::count_if(
        order, [](const AnswerJudge::Tangent& tangent) { return tangent.output.has_value(); });
    if (recorded != floats)
      return add_note("gradients are not compared: not every output has a tangent of its own");
    std::vector<const Datum*> gradients(answers.inputs.size(), nullptr);
    for (std::size_t i = 0; i < primals_.size() && i < run.outputs.size(); ++i)
      if (primals_[i]) gradients[*primals_[i]] = &run.outputs[i];
    std::size_t next = 0;
    for (std::size_t i = 0; i < answers.inputs.size(); ++i) {
      if (!answers.inputs[i].requires_grad) continue;
      if (next == answers.compiled->gradients.size()) break;
      compare_gradient(i, gradients[i], answers.compiled->gradients[next++]);
    }
  }

  const OpTable& table_;
  Interpreter interpreter_;
  const Executor& executor_;
  const ExecuteOptions& options_;
  const ProgramAnswers* answers_ = nullptr;
  LogExecution result_;
  std::vector<Tensor> given_;                        ///< as the function got them
  std::vector<std::optional<std::size_t>> primals_;  ///< by input of the forward program
  std::optional<DatumList> forward_outputs_;
  bool is_random_ = false;
  AnswerJudge* judge_ = nullptr;
  std::int64_t rounded_ = 0, open_ = 0;  ///< values that are not the same, but do not differ
};

auto read_compilation(const TraceLog& log, const TraceCompilation& compilation,
                      const std::string& name) -> Result<std::vector<Compiled>> {
  std::vector<Compiled> programs;
  const auto shapes = trace_shapes(log, compilation);
  for (const auto& part : compilation.output_codes) {
    const auto& event = log.events[part.event];
    auto program = read_wrapper(event.payload, shapes.env);
    if (!program)
      return with_context(program.error(),
                          fmt::format("{}: {} {}", name, compilation.compile_id, part.name));
    programs.push_back({fmt::format("{} {}", compilation.compile_id, part.name),
                        role_of(event.payload), event.line, event.payload, *std::move(program)});
  }
  return programs;
}

auto execute_log(std::string_view bytes, const std::string& name, const OpTable& table,
                 const ExecuteOptions& options) -> Result<LogExecution> {
  auto log = read_torch_trace(bytes);
  if (!log) return with_context(std::move(log).error(), name);
  const auto all = compilations(*log);
  LogExecutor executor(table, options);
  const auto answered = answered_compilations(all);
  if (answered.empty() || answered.back()->output_codes.empty())
    return unsupported("{}: the log has no inductor_output_code", name);
  const auto* last = answered.back();
  const bool in_parts = options.answers != nullptr && are_of_parts(*log, all, options.answers);
  if (in_parts) executor.add_note("the function is in parts, recorded answers are not used");
  for (const auto& compilation : all) {
    if (compilation.output_codes.empty()) continue;
    ASSAY_TRY(auto programs, read_compilation(*log, compilation, name));
    const auto* answers = &compilation == last && !in_parts ? options.answers : nullptr;
    const auto inputs = answers ? std::span<const AnsweredInput>(answers->inputs)
                                : std::span<const AnsweredInput>();
    std::optional<AnswerJudge> judge;
    if (answers != nullptr) judge.emplace(*log, compilation, *answers, table);
    executor.run_all(programs, input_plan(*log, compilation, inputs), answers,
                     judge ? &*judge : nullptr);
  }
  return executor.take();
}

}  // namespace

auto read_programs(std::string_view bytes, const std::string& name)
    -> Result<std::vector<NamedProgram>> {
  std::vector<NamedProgram> all;
  if (detect_format(bytes) != InputFormat::torch_trace) {
    for (const auto& one : wrappers_in(bytes, name)) {
      auto program = read_wrapper(one.text);
      if (!program) return with_context(std::move(program).error(), one.name);
      all.push_back({one.name, *std::move(program)});
    }
    return all;
  }
  auto log = read_torch_trace(bytes);
  if (!log) return with_context(std::move(log).error(), name);
  for (const auto& compilation : compilations(*log)) {
    ASSAY_TRY(auto programs, read_compilation(*log, compilation, name));
    for (auto& one : programs) all.push_back({std::move(one.name), std::move(one.program)});
  }
  if (all.empty()) return unsupported("{}: the log has no inductor_output_code", name);
  return all;
}

auto execute_programs(std::string_view bytes, const std::string& name, const OpTable& table,
                      const ExecuteOptions& options) -> Result<LogExecution> {
  if (detect_format(bytes) == InputFormat::torch_trace)
    return execute_log(bytes, name, table, options);
  std::vector<Compiled> programs;
  for (const auto& one : wrappers_in(bytes, name)) {
    auto program = read_wrapper(one.text);
    if (!program) return with_context(std::move(program).error(), one.name);
    programs.push_back({one.name, role_of(one.text), 0, one.text, *std::move(program)});
  }
  LogExecutor executor(table, options);
  executor.run_all(programs, {}, options.answers, nullptr);
  return executor.take();
}

}  // namespace assay
