// The code generator's entry: kernels through LLVM's ORC into memory.
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <charconv>
#include <mutex>
#include <thread>

#include "compiler/codegen/kernel_code.h"
#include "compiler/codegen/lane_wide.h"
#include "compiler/codegen/passes.h"
#include "compiler/cpu/native.h"
#include "compiler/program/text.h"

namespace assay {
namespace {

template <class T>
auto taken(llvm::Expected<T> value, std::string_view doing) -> Result<T> {
  if (value) return std::move(*value);
  return unsupported("{}: {}", doing, llvm::toString(value.takeError()));
}

/// Explicit vectors need cleaning up, not vectorising.
constexpr const char* kPasses =
    "function(sroa,early-cse,instcombine<no-verify-fixpoint>,loop-simplify,loop-mssa(licm),"
    "early-cse,instcombine<no-verify-fixpoint>,simplifycfg,adce)";

class Jitted final : public NativeCode {
 public:
  explicit Jitted(std::unique_ptr<llvm::orc::LLJIT> jit) : jit_(std::move(jit)) {}
  [[nodiscard]] auto functions() const -> const std::vector<NativeFunction>& override {
    return functions_;
  }
  [[nodiscard]] auto text() const -> std::string override { return text_; }

  auto compile(const std::vector<const TileKernel*>& kernels,
               const llvm::orc::JITTargetMachineBuilder& host, const NativeOptions& options)
      -> Result<void> {
    functions_.resize(kernels.size());
    const auto parts = options.keep_text ? 1 : part_count(kernels.size());
    std::vector<Result<void>> done(parts);
    {
      std::vector<std::jthread> threads;
      for (std::size_t part = 1; part < parts; ++part)
        threads.emplace_back(
            [&, part] { done[part] = compile_part(kernels, part, parts, host, options); });
      done[0] = compile_part(kernels, 0, parts, host, options);
    }
    for (auto& one : done) ASSAY_TRY_VOID(one);
    return {};
  }

 private:
  /// Modules that are compiled at the same time.
  static auto part_count(std::size_t kernels) -> std::size_t {
    constexpr std::size_t kMost = 8, kWorthAThread = 4;
    const std::size_t processors =
        std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMost);
    return std::clamp<std::size_t>(kernels / kWorthAThread, 1, processors);
  }

  /// Every kernel whose position leaves `part` when it is divided by `parts`.
  auto compile_part(const std::vector<const TileKernel*>& kernels, std::size_t part,
                    std::size_t parts, llvm::orc::JITTargetMachineBuilder host,
                    const NativeOptions& options) -> Result<void> {
    ASSAY_TRY(const auto machine, taken(host.createTargetMachine(), "this machine"));
    const auto lanes = options.lanes > 0 ? static_cast<unsigned>(options.lanes) : widest(*machine);
    const auto symbol = [](std::size_t i) { return fmt::format("kernel{}", i); };
    for (auto i = part; i < kernels.size(); i += parts) set_split(*kernels[i], functions_[i]);
    std::string key;
    if (options.cache != nullptr && !options.keep_text) {
      key =
          fmt::format("native {} {} {} {} {} lanes {} of {}\n", LLVM_VERSION_STRING, options.stamp,
                      machine->getTargetTriple().str(), std::string(machine->getTargetCPU()),
                      std::string(machine->getTargetFeatureString()), lanes, parts);
      for (auto i = part; i < kernels.size(); i += parts)
        key += symbol(i) + "\n" + print_kernel(*kernels[i]);
    }
    std::unique_ptr<llvm::MemoryBuffer> object;
    if (!key.empty())
      if (const auto kept = options.cache->find(key)) object = kept_object(*kept);
    if (!object) {
      ASSAY_TRY(object, generated(kernels, part, parts, *machine, lanes, options));
      if (!key.empty()) keep(*options.cache, key, part, parts, *object);
    }
    if (auto error = jit_->addObjectFile(std::move(object)))
      return unsupported("code: {}", llvm::toString(std::move(error)));
    for (auto i = part; i < kernels.size(); i += parts) {
      if (!functions_[i].not_compiled.empty()) continue;
      ASSAY_TRY(const auto address, taken(jit_->lookup(symbol(i)), "code"));
      functions_[i].run = address.toPtr<NativeKernel>();
    }
    return {};
  }

  auto generated(const std::vector<const TileKernel*>& kernels, std::size_t part, std::size_t parts,
                 llvm::TargetMachine& machine, unsigned lanes, const NativeOptions& options)
      -> Result<std::unique_ptr<llvm::MemoryBuffer>> {
    llvm::LLVMContext context;
    llvm::Module module(fmt::format("assay{}", part), context);
    module.setDataLayout(machine.createDataLayout());
    module.setTargetTriple(machine.getTargetTriple().str());
    if (widest(machine) > 8) module.addModuleFlag(llvm::Module::Warning, lane::kHasScale, 1);
    for (auto i = part; i < kernels.size(); i += parts)
      if (const auto added = add(module, *kernels[i], lanes, fmt::format("kernel{}", i)); !added)
        functions_[i].not_compiled = added.error().message;
    run_passes(module, machine, kPasses);
    if (options.keep_text) {
      llvm::raw_string_ostream stream(text_);
      module.print(stream, nullptr);
    }
    return taken(llvm::orc::SimpleCompiler(machine)(module), "code");
  }

  // What is kept: a line per kernel without code, its position and why; an empty line; the object.
  void keep(CodeCache& cache, const std::string& key, std::size_t part, std::size_t parts,
            const llvm::MemoryBuffer& object) const {
    std::string kept;
    for (auto i = part; i < functions_.size(); i += parts) {
      auto why = functions_[i].not_compiled;
      std::ranges::replace(why, '\n', ' ');
      if (!why.empty()) kept += fmt::format("{} {}\n", i, why);
    }
    cache.keep(key, kept + "\n" + object.getBuffer().str());
  }
  /// Null where the text is not what `keep` writes: the code is generated anew.
  auto kept_object(std::string_view kept) -> std::unique_ptr<llvm::MemoryBuffer> {
    std::vector<std::pair<std::size_t, std::string_view>> without_code;
    while (!kept.starts_with('\n')) {
      std::size_t position = 0;
      const auto* const last = kept.data() + kept.size();
      const auto [behind, error] = std::from_chars(kept.data(), last, position);
      const auto* const line_end = std::find(behind, last, '\n');
      if (error != std::errc{} || line_end == last || position >= functions_.size()) return nullptr;
      without_code.emplace_back(position, std::string_view(behind + 1, line_end));
      kept.remove_prefix(static_cast<std::size_t>(line_end - kept.data()) + 1);
    }
    kept.remove_prefix(1);
    auto object = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(kept));
    if (auto read = llvm::object::ObjectFile::createObjectFile(*object); !read) {
      llvm::consumeError(read.takeError());
      return nullptr;
    }
    for (const auto& [position, why] : without_code) functions_[position].not_compiled = why;
    return object;
  }

  static auto widest(const llvm::TargetMachine& machine) -> unsigned {
    return machine.getTargetFeatureString().contains("+avx512f") ? 16 : 8;
  }

  static void set_split(const TileKernel& kernel, NativeFunction& function) {
    const auto plan = plan_kernel(kernel);
    if (plan && !plan->parallel.empty() && !plan->is_serial)
      function.split_axis = static_cast<int>(plan->parallel[0]);
  }
  static auto add(llvm::Module& module, const TileKernel& kernel, unsigned lanes,
                  const std::string& name) -> Result<void> {
    ASSAY_TRY(const auto plan, plan_kernel(kernel));
    const auto emitted = emit_kernel(module, kernel, plan, lanes, name);
    if (!emitted)
      if (auto* half = module.getFunction(name)) half->eraseFromParent();
    return emitted;
  }

  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::vector<NativeFunction> functions_;
  std::string text_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) auto assay_compile_native(
    const std::vector<const TileKernel*>& kernels, const NativeOptions& options)
    -> Result<std::unique_ptr<NativeCode>> {
  static std::once_flag started;
  std::call_once(started, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  ASSAY_TRY(auto host, taken(llvm::orc::JITTargetMachineBuilder::detectHost(), "this machine"));
  host.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  ASSAY_TRY(auto jit, taken(llvm::orc::LLJITBuilder()
                                .setJITTargetMachineBuilder(host)
                                .setSupportConcurrentCompilation(true)
                                .create(),
                            "just-in-time compilation"));
  auto code = std::make_unique<Jitted>(std::move(jit));
  ASSAY_TRY_VOID(code->compile(kernels, host, options));
  return std::unique_ptr<NativeCode>(std::move(code));
}

}  // namespace assay
