#include "compiler/cpu/native_code.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "compiler/cpu/processor.h"
#include "compiler/program/kernel_plan.h"
#include "compiler/program/text.h"
#include "compiler/runtime/codegen_library.h"

namespace assay {
namespace {

/// Kernels that have code of their own: equal ones share it.
struct Distinct {
  std::vector<const TileKernel*> kernels;
  std::vector<std::size_t> number;  ///< of each that was given
  std::string texts;
};
auto distinct(const std::vector<const TileKernel*>& kernels) -> Distinct {
  Distinct made;
  std::unordered_map<std::string, std::size_t> known;
  for (const auto* kernel : kernels) {
    const auto [at, is_new] = known.try_emplace(bare_text(*kernel), made.kernels.size());
    made.number.push_back(at->second);
    if (!is_new) continue;
    made.kernels.push_back(kernel);
    made.texts += at->first;
  }
  return made;
}

/// Everything that the code depends on. Empty: nothing can be kept.
auto key_of(const std::string& texts, int lanes) -> std::string {
  const auto generator = codegen_stamp(), processor = processor_text();
  if (generator.empty() || processor.empty()) return {};
  return fmt::format("native {}\n{}\nlanes {}\n", generator, processor, lanes) + texts;
}

auto generate(const std::vector<const TileKernel*>& kernels, int lanes) -> Result<NativeObjects> {
  ASSAY_TRY(void* const entry, codegen_entry(kGenerateNativeSymbol));
  return reinterpret_cast<GenerateNative>(entry)(kernels, lanes);  // what dlsym is for
}

auto split_axis_of(const TileKernel& kernel) -> int {
  const auto plan = plan_kernel(kernel);
  const bool has_one = plan && !plan->parallel.empty() && !plan->is_serial;
  return has_one ? static_cast<int>(plan->parallel[0]) : -1;
}

/// Takes a line off the text: a number and, behind a blank, the rest. Nothing if it is none.
auto take_line(std::string_view& text) -> std::optional<std::pair<std::size_t, std::string_view>> {
  const auto line = text.substr(0, text.find('\n'));
  std::size_t number = 0;
  const auto* const end = line.data() + line.size();
  const auto [behind, error] = std::from_chars(line.data(), end, number);
  if (error != std::errc{} || line.size() == text.size() || (behind != end && *behind != ' '))
    return std::nullopt;
  text.remove_prefix(line.size() + 1);
  return std::pair(number, std::string_view(std::min(behind + 1, end), end));
}

}  // namespace

auto packed(const NativeObjects& objects) -> std::string {
  std::string text;
  for (std::size_t i = 0; i < objects.not_compiled.size(); ++i) {
    auto why = objects.not_compiled[i];
    std::ranges::replace(why, '\n', ' ');
    if (!why.empty()) text += fmt::format("{} {}\n", i, why);
  }
  text += '\n';
  for (const auto& file : objects.files) text += fmt::format("{}\n", file.size()) + file;
  return text;
}

auto unpacked(std::string_view text, std::size_t kernels) -> Result<NativeObjects> {
  NativeObjects objects;
  objects.not_compiled.resize(kernels);
  while (!text.starts_with('\n')) {
    const auto line = take_line(text);
    if (!line || line->first >= kernels || line->second.empty())
      return bad_input("kept code: no kernel");
    objects.not_compiled[line->first] = line->second;
  }
  text.remove_prefix(1);
  while (!text.empty()) {
    const auto line = take_line(text);
    if (!line || line->first > text.size()) return bad_input("kept code: no object");
    objects.files.emplace_back(text.substr(0, line->first));
    text.remove_prefix(line->first);
  }
  return objects;
}

auto NativeCode::load(const NativeObjects& objects) -> Result<void> {
  objects_.clear();
  for (const auto& file : objects.files) {
    ASSAY_TRY(auto loaded, LoadedObject::load(file));
    objects_.push_back(std::move(loaded));
  }
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    auto& function = functions_[i];
    function.not_compiled = objects.not_compiled[i];
    if (!function.not_compiled.empty()) continue;
    const void* code = nullptr;
    for (const auto& object : objects_)
      if (code == nullptr) code = object.find(native_symbol(i));
    if (code == nullptr) return bad_input("no object has the code of kernel {}", i);
    function.run = reinterpret_cast<NativeKernel>(const_cast<void*>(code));
  }
  return {};
}

auto NativeCode::make(const std::vector<const TileKernel*>& kernels, const NativeOptions& options)
    -> Result<NativeCode> {
  const auto wanted = distinct(kernels);
  NativeCode code;
  for (const auto* kernel : wanted.kernels)
    code.functions_.push_back({.split_axis = split_axis_of(*kernel), .not_compiled = {}});
  std::string key;
  if (options.cache != nullptr) key = key_of(wanted.texts, options.lanes);
  const auto is_kept = [&] {
    const auto kept = key.empty() ? std::nullopt : options.cache->find(key);
    if (!kept) return false;
    const auto objects = unpacked(*kept, wanted.kernels.size());
    return objects && code.load(*objects);
  };
  if (!is_kept()) {
    ASSAY_TRY(const auto objects, generate(wanted.kernels, options.lanes));
    ASSAY_TRY_VOID(code.load(objects));
    if (!key.empty()) options.cache->keep(key, packed(objects));
  }
  std::vector<NativeFunction> by_kernel;
  for (const auto number : wanted.number) by_kernel.push_back(code.functions_[number]);
  code.functions_ = std::move(by_kernel);
  return code;
}

}  // namespace assay
