// Binding: the host machine runs with a recorder, so there is one meaning of a host program.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "compiler/runtime/bound.h"
#include "compiler/runtime/in_place.h"

namespace assay {
namespace {

/// Takes down launches and calls; storages become buffers.
class Recorder final : public HostRecorder {
 public:
  /// Room for so many steps and buffers.
  Recorder(const CompiledKernels& kernels, const DatumList& inputs, std::size_t steps,
           std::size_t buffers)
      : kernels_(kernels) {
    bound_.steps.reserve(steps);
    bound_.buffers.reserve(buffers);
    known_.reserve(buffers);
    kept_.reserve(buffers);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto* tensor = inputs[i].real();
      if (tensor == nullptr || known_.contains(tensor->storage.get())) continue;
      const auto at = buffer_of(*tensor, fmt::format("input {}", i));
      bound_.buffers[at].kind = BoundBuffer::Kind::input;
      bound_.buffers[at].input = i;
    }
  }

  void launch(const HostOp& op, const std::string& kernel, TileLaunch launch) override {
    BoundLaunch made;
    made.op = &op;
    made.kernel = kernel_index(kernel);
    made.extents = std::move(launch.extents);
    made.blocks = std::move(launch.blocks);
    made.grid = launch.grid;
    made.scalars = std::move(launch.scalars);
    made.arguments.reserve(launch.arguments.size());
    const auto& params = kernels_.at(kernel).kernel().params;
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      const auto& argument = launch.arguments[i];
      auto& bound = made.arguments.emplace_back();
      bound.offset_bytes = argument.offset_bytes;
      bound.integer = argument.integer;
      bound.real = argument.real;
      bound.element_bytes = size_bytes(params[i].dtype);
      if (argument.storage == nullptr) continue;
      auto& storage = *argument.storage;
      if (!storage.recorded)
        storage.recorded = buffer_of(storage.storage(), params[i].dtype, storage.name());
      bound.buffer = storage.recorded;
      use(*bound.buffer);
    }
    bound_.steps.emplace_back(std::move(made));
  }

  void call(const HostOp& op, const OpRow& row, const DatumList& args,
            const Datum& result) override {
    BoundCall made;
    made.op = &op;
    made.row = &row;
    made.args = args;
    made.result = result;
    for (auto& arg : made.args) take(arg, made.buffers, {});
    made.arg_tensors = made.buffers.size();
    const auto before = bound_.buffers.size();
    const auto* host = std::get_if<HostCall>(&op.what);
    take(made.result, made.buffers,
         host != nullptr && !host->results.empty() ? host->results[0] : row.name());
    for (auto at = before; at < bound_.buffers.size(); ++at)
      bound_.buffers[at].is_made_by_call = true;
    bound_.steps.emplace_back(std::move(made));
  }

  void copy(const HostOp& op, const Tensor& from, const Tensor& to) override {
    BoundCopy made{&op, {buffer_of(from, {}), from.meta}, {buffer_of(to, {}), to.meta}};
    use(made.from.buffer);
    use(made.to.buffer);
    bound_.steps.emplace_back(std::move(made));
  }

  auto take(ProgramRun run) -> BoundProgram {
    bound_.outputs = std::move(run.outputs);
    run.outputs.clear();
    bound_.counts = std::move(run);
    for (auto& output : bound_.outputs)
      visit_tensors(output, [&](Tensor& tensor) {
        const auto at = buffer_of(tensor, "output");
        bound_.output_buffers.push_back(at);
        tensor.storage.reset();
        auto& buffer = bound_.buffers[at];
        if (!buffer.is_used) buffer.first = bound_.steps.size();
        buffer.is_used = true;
        buffer.last = bound_.steps.size();
        if (buffer.kind == BoundBuffer::Kind::temporary) buffer.kind = BoundBuffer::Kind::output;
      });
    return std::move(bound_);
  }

 private:
  void take(Datum& datum, std::vector<std::size_t>& buffers, const std::string& name) {
    visit_tensors(datum, [&](Tensor& tensor) {
      buffers.push_back(buffer_of(tensor, name));
      use(buffers.back());
      tensor.storage.reset();
    });
  }
  auto buffer_of(const Tensor& tensor, const std::string& name) -> std::size_t {
    return buffer_of(tensor.storage, tensor.dtype(), name);
  }
  auto buffer_of(const std::shared_ptr<Storage>& storage, DType dtype, const std::string& name)
      -> std::size_t {
    const auto [known, is_new] = known_.try_emplace(storage.get(), bound_.buffers.size());
    if (is_new) {
      kept_.push_back(storage);
      BoundBuffer buffer;
      buffer.name = name;
      buffer.dtype = dtype;
      buffer.size_bytes = storage->size_bytes();
      bound_.buffers.push_back(std::move(buffer));
    }
    return known->second;
  }
  void use(std::size_t at) {
    auto& buffer = bound_.buffers[at];
    if (!buffer.is_used) buffer.first = bound_.steps.size();
    buffer.is_used = true;
    buffer.last = bound_.steps.size();
  }
  auto kernel_index(const std::string& kernel) -> std::size_t {
    const auto [known, is_new] = kernel_indices_.try_emplace(kernel, bound_.kernels.size());
    if (is_new) bound_.kernels.push_back(kernel);
    return known->second;
  }

  const CompiledKernels& kernels_;
  BoundProgram bound_;
  std::unordered_map<const Storage*, std::size_t> known_;
  std::vector<std::shared_ptr<Storage>> kept_;  ///< an address is not used twice
  std::unordered_map<std::string, std::size_t> kernel_indices_;
};

/// Without its storage, which is no part of a binding.
auto stripped(const Datum& datum) -> Datum {
  auto made = datum;
  visit_tensors(made, [](Tensor& tensor) { tensor.storage.reset(); });
  return made;
}

auto storage_of(const Datum& datum) -> const Storage* {
  const auto* tensor = datum.real();
  return tensor == nullptr ? nullptr : tensor->storage.get();
}

}  // namespace

auto BindingKey::of(const DatumList& inputs) -> std::optional<BindingKey> {
  BindingKey key;
  std::unordered_map<const Storage*, std::size_t> seen;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& input = inputs[i];
    if (input.real() == nullptr && input.scalar() == nullptr && !input.is_none()) return {};
    if (const auto* scalar = input.scalar(); scalar != nullptr && !scalar->is_const()) return {};
    key.inputs_.push_back(stripped(input));
    const auto* storage = storage_of(input);
    key.bytes_.push_back(storage == nullptr ? 0 : storage->size_bytes());
    key.first_.push_back(storage == nullptr ? i : seen.try_emplace(storage, i).first->second);
  }
  return key;
}

auto BindingKey::fits(const DatumList& inputs) const -> bool {
  if (inputs.size() != inputs_.size()) return false;
  std::size_t tensors = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& mine = inputs_[i];
    if (const auto* tensor = inputs[i].real()) {
      const auto* known = mine.real();
      if (known == nullptr || !(known->meta == tensor->meta)) return false;
      if (tensor->storage->size_bytes() != bytes_[i] ||
          storage_of(inputs[first_[i]]) != tensor->storage.get())
        return false;
      if (first_[i] == i) ++tensors;
    } else if (const auto* scalar = inputs[i].scalar()) {
      const auto* known = mine.scalar();
      if (known == nullptr || !(*known == *scalar)) return false;
    } else if (!inputs[i].is_none() || !mine.is_none()) {
      return false;
    }
  }
  // Storages that were different are so still.
  constexpr std::size_t kFew = 24;
  if (tensors > kFew) {
    std::unordered_set<const Storage*> seen;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (const auto* storage = storage_of(inputs[i]); storage != nullptr && first_[i] == i)
        if (!seen.insert(storage).second) return false;
    return true;
  }
  std::array<const Storage*, kFew> seen{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto* storage = storage_of(inputs[i]);
    if (storage == nullptr || first_[i] != i) continue;
    for (std::size_t k = 0; k < count; ++k)
      if (seen[k] == storage) return false;
    seen[count++] = storage;
  }
  return true;
}

Binder::Binder(const HostProgram& program, const CompiledKernels& kernels, const OpTable& table)
    : program_(program),
      kernels_(kernels),
      table_(table),
      in_place_(std::make_unique<InPlaceFinder>(program)) {}
Binder::~Binder() = default;
Binder::Binder(Binder&&) noexcept = default;

auto Binder::bind(const DatumList& inputs) -> Result<BoundProgram> {
  Recorder recorder(kernels_, inputs, steps_, buffers_);
  const ProgramRunOptions options;
  HostMachine machine(program_, kernels_, table_, options, nullptr, &recorder);
  ASSAY_TRY(auto run, machine.run(inputs));
  auto bound = recorder.take(std::move(run));
  in_place_->find(bound);
  steps_ = bound.steps.size();
  buffers_ = bound.buffers.size();
  return bound;
}

auto bind_program(const HostProgram& program, const CompiledKernels& kernels, const OpTable& table,
                  const DatumList& inputs) -> Result<BoundProgram> {
  return Binder(program, kernels, table).bind(inputs);
}

}  // namespace assay
