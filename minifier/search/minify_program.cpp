#include "minifier/search/minify_program.h"

#include "minifier/edits/text_patches.h"
#include "minifier/search/condition.h"

namespace assay {
namespace {

auto everything(int count) -> Kept {
  Kept kept;
  for (int i = 0; i < count; ++i) kept.push_back(i);
  return kept;
}

class ProgramMinifier {
 public:
  ProgramMinifier(const OpTable& table, TextOracle& oracle, const MinifyProgramSettings& settings)
      : table_(table), oracle_(oracle), settings_(settings) {}

  auto run(const std::string& text) -> Result<MinifiedProgram> {
    ASSAY_TRY(const auto program, CutProgram::create(text, table_, settings_.cut));
    ASSAY_TRY_VOID(statements(program));
    if (!settings_.calls_only) kernels();
    result_.failure = oracle_.wanted();
    result_.asked = oracle_.asked();
    result_.is_complete = !oracle_.is_spent();
    return std::move(result_);
  }

 private:
  auto statements(const CutProgram& program) -> Result<void> {
    oracle_.begin("statements");
    const auto all = everything(program.count());
    auto kept = settings_.suspect_line > 0 ? program.units_of_line(settings_.suspect_line) : Kept();
    if (kept.empty() || !oracle_.fails(program.text(kept))) {
      const auto text = program.text(all);
      if (!oracle_.fails(text) && !(settings_.may_fail_otherwise && oracle_.adopt(text)))
        return unsupported("written out, the program does not fail as it did");
      kept = minimal_parts(
          {program.count(), [&](const Kept& part) { return std::optional(program.text(part)); }},
          oracle_);
    }
    result_.launches_before = program.launches(all);
    result_.statements_before = program.statements(all);
    result_.launches = program.launches(kept);
    result_.statements = program.statements(kept);
    result_.text = program.text(kept);
    return {};
  }

  void kernels() {
    result_.kernel_lines_before = CutKernels(result_.text).count();
    lines();
    // Constants first: what computed the values they replace can go then.
    const int before = accepted_;
    patches(TextPatchKind::load);
    if (accepted_ != before) lines();
    if (settings_.has_sizes) {
      conditions();
      sizes();
    }
    for (int round = 0; round < kRounds; ++round) {
      const int start = accepted_;
      patches(TextPatchKind::block);
      patches(TextPatchKind::operand);
      if (settings_.has_masks) patches(TextPatchKind::mask);
      if (accepted_ == start) break;
      lines();
    }
    using enum TextPatchKind;
    for (const auto kind : {parameter, symbol, axis, stride, dtype}) patches(kind);
    if (settings_.has_launches) patches(launch);
    rest_of_call();
    result_.kernel_lines = CutKernels(result_.text).count();
  }

  /// Lines of the kernels. A text in which none can go stays as it is.
  void lines() {
    oracle_.begin("lines");
    const CutKernels kernels(result_.text);
    const auto kept = minimal_parts(
        {kernels.count(), [&](const Kept& part) { return kernels.text(part); }}, oracle_);
    const auto text = kernels.text(kept);
    if (text && oracle_.fails(*text)) result_.text = *text;
  }

  /// One after the other; behind one that stays the search goes on at its place.
  void patches(TextPatchKind kind) {
    oracle_.begin(std::string(name(kind)));
    std::size_t from = 0;
    while (!oracle_.is_spent()) {
      const auto all = text_patches(result_.text, kind);
      const auto next = std::ranges::find_if(
          all, [&](const TextPatch& patch) { return patch.front().begin >= from; });
      auto patch = next;
      for (; patch != all.end(); ++patch) {
        std::vector<std::string> ahead;
        for (auto later = patch + 1; later != all.end() && later - patch < kAhead; ++later)
          ahead.push_back(patched(result_.text, *later));
        auto text = patched(result_.text, *patch);
        if (!oracle_.fails(text, ahead)) continue;
        from = patch->front().begin;
        result_.text = std::move(text);
        ++result_.patches[std::string(name(kind))];
        ++accepted_;
        break;
      }
      if (patch == all.end()) return;
    }
  }

  /// At which sizes of its symbols does it fail? The others stay as they are.
  void conditions() {
    oracle_.begin("conditions");
    const auto divisors = divisors_in(result_.text);
    for (const auto& [symbol, input, value] : number_inputs(result_.text)) {
      if (oracle_.is_spent()) return;
      const auto condition = explain_sizes(
          pool_.symbol(symbol), value, divisors, [&](std::int64_t size) -> std::optional<bool> {
            if (size == 0) return std::nullopt;
            const auto text = with_input_size(result_.text, value, size);
            return runs_to_its_end(text, table_) ? oracle_.fails_at(text) : std::nullopt;
          });
      if (condition.empty()) continue;
      result_.fails_iff += (result_.fails_iff.empty() ? "" : " and ") + condition;
    }
  }

  void sizes() {
    oracle_.begin("sizes");
    for (const auto size : sizes_in(result_.text))
      for (const std::int64_t smaller : {1, 2, 3, 4, 8, 16, 32}) {
        if (smaller >= size) break;
        auto text = with_size(result_.text, size, smaller);
        if (text == result_.text || !oracle_.fails_alike(text)) continue;
        result_.text = std::move(text);
        ++result_.patches["size"];
        break;
      }
  }

  /// Buffers that no kernel names any more.
  void rest_of_call() {
    oracle_.begin("statements");
    auto options = settings_.cut;
    options.keeps_contents = options.keeps_contents || options.inputs != nullptr;
    options.inputs = nullptr;
    const auto program = CutProgram::create(result_.text, table_, options);
    if (!program) return;
    // Asserts on what no kernel takes any more go too.
    if (!oracle_.fails(program->text(everything(program->count())))) return;
    const auto kept = minimal_parts(
        {program->count(), [&](const Kept& part) { return std::optional(program->text(part)); }},
        oracle_);
    result_.launches = program->launches(kept);
    result_.statements = program->statements(kept);
    result_.text = program->text(kept);
  }

  static constexpr int kRounds = 3;
  static constexpr std::ptrdiff_t kAhead = 16;
  const OpTable& table_;
  TextOracle& oracle_;
  const MinifyProgramSettings& settings_;
  MinifiedProgram result_;
  ExprPool pool_;
  int accepted_ = 0;
};

}  // namespace

auto minify_program(const std::string& text, const OpTable& table, TextOracle& oracle,
                    const MinifyProgramSettings& settings) -> Result<MinifiedProgram> {
  return ProgramMinifier(table, oracle, settings).run(text);
}

}  // namespace assay
