#include "compiler/runtime/bound_run.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "core/ops/generator.h"

namespace assay {
namespace {

/// Kernels whose meaning depends on the whole storage behind an operand, or on where it begins.
constexpr std::array<std::string_view, 5> kSeeStorages = {
    "aten.as_strided_scatter.default", "aten.slice_scatter.default", "aten.select_scatter.default",
    "aten.diagonal_scatter.default", "aten.embedding_renorm_.default"};

constexpr std::size_t kMostBindings = 64;

}  // namespace

ReadyProgram::ReadyProgram(BoundProgram bound, const BoundDevice& device,
                           const BoundOptions& options)
    : bound_(std::move(bound)), device_(device), options_(options) {
  if (options_.is_checked) options_.memory.redzone_bytes = kArenaAlignment;
  plan_ = plan_memory(bound_, options_.memory);
  // Storages are aligned as `new` does it: the arena begins at the next multiple.
  arena_ = std::make_shared<Storage>(plan_.arena_bytes + kArenaAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(arena_->bytes().data());
  const auto start =
      static_cast<std::int64_t>((kArenaAlignment - address % kArenaAlignment) % kArenaAlignment);
  places_.resize(bound_.buffers.size());
  for (std::size_t i = 0; i < bound_.buffers.size(); ++i) {
    const auto& buffer = bound_.buffers[i];
    if (!buffer.is_used) continue;
    if (plan_.offsets[i] >= 0)
      places_[i] = {arena_, start + plan_.offsets[i]};
    else
      moving_.push_back(i);
    if (buffer.kind == BoundBuffer::Kind::output) made_.push_back(i);
  }
  calls_.reserve(bound_.steps.size());
  for (std::size_t at = 0; at < bound_.steps.size(); ++at) prepare(at, bound_.steps[at]);
}

void ReadyProgram::prepare(std::size_t at, const BoundStep& step) {
  begin_.push_back(0);
  if (const auto* launch = std::get_if<BoundLaunch>(&step)) prepare(at, *launch);
  if (const auto* call = std::get_if<BoundCall>(&step)) prepare(at, *call);
}

void ReadyProgram::prepare(std::size_t at, const BoundLaunch& launch) {
  begin_[at] = pointers_.size();
  for (const auto& argument : launch.arguments) {
    const void* pointer = nullptr;
    if (argument.buffer) {
      const auto& place = places_[*argument.buffer];
      if (place.storage)
        pointer = place.storage->bytes().data() + place.offset_bytes + argument.offset_bytes;
      else
        patches_.push_back({pointers_.size(), *argument.buffer, argument.offset_bytes});
    }
    pointers_.push_back(pointer);
    integers_.push_back(argument.integer);
    reals_.push_back(argument.real);
  }
  pointers_.push_back(device_.failure());
  integers_.push_back(0);
  reals_.push_back(0);
}

void ReadyProgram::prepare(std::size_t at, const BoundCall& call) {
  begin_[at] = calls_.size();
  auto& ready = calls_.emplace_back();
  ready.args = call.args;
  ready.result = call.result;
  const auto add = [&](Tensor& tensor) {
    ready.metas.push_back(tensor.meta);
    ready.tensors.push_back(&tensor);
  };
  for (auto& arg : ready.args) visit_tensors(arg, add);
  visit_tensors(ready.result, add);
  ready.is_apart = std::ranges::find(kSeeStorages, call.row->name()) != kSeeStorages.end();
  for (std::size_t k = 0; k < call.buffers.size(); ++k) {
    const auto buffer = call.buffers[k];
    if (makes_buffer(bound_, at, k)) ready.zeroed.push_back(buffer);
    if (ready.is_apart) continue;
    if (places_[buffer].storage)
      *ready.tensors[k] = view(ready.metas[k], buffer);
    else
      tensor_patches_.push_back({ready.tensors[k], buffer});
  }
}

auto ReadyProgram::view(const RealMeta& meta, std::size_t buffer) const -> Tensor {
  const auto& place = places_[buffer];
  Tensor tensor{place.storage, meta};
  tensor.meta.offset += place.offset_bytes / size_bytes(meta.dtype);
  return tensor;
}

auto ReadyProgram::bytes_of(std::size_t buffer) const -> std::span<std::byte> {
  const auto& place = places_[buffer];
  return place.storage->bytes().subspan(
      static_cast<std::size_t>(place.offset_bytes),
      static_cast<std::size_t>(bound_.buffers[buffer].size_bytes));
}

/// Puts this call's inputs and outputs in their places.
void ReadyProgram::connect(const DatumList& inputs) {
  for (const auto at : made_) {
    auto& storage = places_[at].storage;
    if (storage.use_count() > 1) std::swap(storage, spares_[at]);
    if (!storage || storage.use_count() > 1)
      storage = std::make_shared<Storage>(bound_.buffers[at].size_bytes);
  }
  for (const auto at : moving_) {
    const auto& buffer = bound_.buffers[at];
    if (buffer.kind == BoundBuffer::Kind::input)
      places_[at].storage = inputs[buffer.input].real()->storage;
  }
  for (const auto& patch : patches_)
    pointers_[patch.pointer] = places_[patch.buffer].storage->bytes().data() + patch.offset_bytes;
  for (const auto& patch : tensor_patches_) patch.tensor->storage = places_[patch.buffer].storage;
}

/// Inputs and outputs are not held between calls.
void ReadyProgram::release() {
  for (const auto& patch : tensor_patches_) patch.tensor->storage.reset();
  for (const auto at : moving_)
    if (bound_.buffers[at].kind == BoundBuffer::Kind::input) places_[at].storage.reset();
}

auto ReadyProgram::run(const DatumList& inputs) -> Result<ProgramRun> {
  const std::scoped_lock lock(mutex_);
  connect(inputs);
  ProgramRun run = bound_.counts;
  for (std::size_t at = 0; at < bound_.steps.size(); ++at) {
    if (options_.is_checked) birth(at);
    if (auto done = step(at, run); !done) {
      release();
      return std::unexpected(std::move(done).error());
    }
    if (options_.is_checked) death(at, run);
  }
  run.outputs = bound_.outputs;
  std::size_t next = 0;
  for (auto& output : run.outputs)
    visit_tensors(output, [&](Tensor& tensor) {
      tensor.storage = places_[bound_.output_buffers[next++]].storage;
    });
  release();
  return run;
}

auto ReadyProgram::step(std::size_t at, ProgramRun& run) -> Result<void> {
  const auto& step = bound_.steps[at];
  if (const auto* launch = std::get_if<BoundLaunch>(&step)) {
    const auto begin = begin_[at];
    return device_.launch(
        bound_, *launch,
        {pointers_.data() + begin, integers_.data() + begin, reals_.data() + begin, places_}, run);
  }
  if (const auto* what = std::get_if<BoundCall>(&step)) {
    auto& ready = calls_[begin_[at]];
    auto done = ready.is_apart ? call_apart(at, *what) : call(*what, ready);
    if (!done)
      return unsupported("line {}: {}: {}", what->op->line, what->row->name(),
                         done.error().message);
    return done;
  }
  const auto& copy = std::get<BoundCopy>(step);
  auto to = view(copy.to.meta, copy.to.buffer);
  copy_elems(view(copy.from.meta, copy.from.buffer), to);
  return {};
}

auto ReadyProgram::call(const BoundCall& what, Call& ready) -> Result<void> {
  for (const auto buffer : ready.zeroed) std::ranges::fill(bytes_of(buffer), std::byte{0});
  if (!what.row->kernel) return {};
  RandomState random;
  KernelCall call(*what.row, ready.args, ready.result, random);
  what.row->kernel(call);
  if (const auto& error = call.error()) return std::unexpected(*error);
  // A kernel may give another storage than it was told to.
  for (auto k = what.arg_tensors; k < what.buffers.size(); ++k) {
    const auto buffer = what.buffers[k];
    if (ready.tensors[k]->storage == places_[buffer].storage) continue;
    auto place = view(ready.metas[k], buffer);
    copy_elems(*ready.tensors[k], place);
    *ready.tensors[k] = place;
  }
  return {};
}

auto ReadyProgram::call_apart(std::size_t at, const BoundCall& what) -> Result<void> {
  BufferStorages own;
  for (const auto buffer : what.buffers) {
    auto& storage = own[buffer];
    if (storage) continue;
    storage = std::make_shared<Storage>(bound_.buffers[buffer].size_bytes);
    std::ranges::copy(bytes_of(buffer), storage->bytes().begin());
  }
  ASSAY_TRY_VOID(run_apart(bound_, at, own));
  for (const auto& [buffer, storage] : own)
    std::ranges::copy(storage->bytes(), bytes_of(buffer).begin());
  return {};
}

auto makes_buffer(const BoundProgram& bound, std::size_t at, std::size_t k) -> bool {
  const auto& call = std::get<BoundCall>(bound.steps[at]);
  const auto& buffer = bound.buffers[call.buffers[k]];
  return k >= call.arg_tensors && buffer.is_made_by_call && buffer.first == at;
}

auto run_apart(const BoundProgram& bound, std::size_t at, const BufferStorages& storages)
    -> Result<void> {
  if (const auto* copy = std::get_if<BoundCopy>(&bound.steps[at])) {
    Tensor to{storages.at(copy->to.buffer), copy->to.meta};
    copy_elems(Tensor{storages.at(copy->from.buffer), copy->from.meta}, to);
    return {};
  }
  const auto& call = std::get<BoundCall>(bound.steps[at]);
  if (!call.row->kernel) return {};
  auto args = call.args;
  auto result = call.result;
  std::vector<Tensor*> tensors;
  const auto add = [&](Tensor& tensor) { tensors.push_back(&tensor); };
  for (auto& arg : args) visit_tensors(arg, add);
  visit_tensors(result, add);
  std::vector<RealMeta> metas;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    tensors[k]->storage = storages.at(call.buffers[k]);
    metas.push_back(tensors[k]->meta);
    if (makes_buffer(bound, at, k)) std::ranges::fill(tensors[k]->storage->bytes(), std::byte{0});
  }
  RandomState random;
  KernelCall run(*call.row, args, result, random);
  call.row->kernel(run);
  if (const auto& error = run.error()) return std::unexpected(*error);
  // A kernel may give another storage than it was told to.
  for (auto k = call.arg_tensors; k < tensors.size(); ++k) {
    Tensor place{storages.at(call.buffers[k]), metas[k]};
    if (tensors[k]->storage != place.storage) copy_elems(*tensors[k], place);
  }
  return {};
}

auto run_tiles(const TileCode& code, const BoundLaunch& launch, const LaunchArguments& arguments,
               ProgramRun& result) -> Result<void> {
  TileLaunch tiles;
  tiles.blocks = launch.blocks;
  tiles.extents = launch.extents;
  tiles.grid = launch.grid;
  tiles.report = [&](RunFinding finding) {
    finding.line = launch.op->line;
    finding.statement = launch.op->text;
    result.findings.push_back(std::move(finding));
  };
  std::vector<std::unique_ptr<RunStorage>> storages;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const auto& bound = launch.arguments[i];
    auto& argument = tiles.arguments.emplace_back();
    argument.integer = bound.integer;
    argument.real = bound.real;
    if (!bound.buffer) continue;
    const auto& place = arguments.places[*bound.buffer];
    storages.push_back(std::make_unique<RunStorage>(
        code.kernel().params[i].name, place.storage,
        static_cast<int>(size_bytes(code.kernel().params[i].dtype)), true));
    argument.storage = storages.back().get();
    argument.offset_bytes = place.offset_bytes + bound.offset_bytes;
  }
  return TileMachine(code, tiles).run();
}

auto BindingCache::find(const DatumList& inputs) -> Result<std::shared_ptr<ReadyProgram>> {
  const std::scoped_lock lock(mutex_);
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    if (!at->key.fits(inputs)) continue;
    entries_.splice(entries_.begin(), entries_, at);
    return entries_.front().ready;
  }
  auto key = BindingKey::of(inputs);
  if (!key) return unsupported("inputs that are neither tensors nor numbers");
  ASSAY_TRY(auto bound, binder_.bind(inputs));
  ++bindings_;
  auto ready = std::make_shared<ReadyProgram>(std::move(bound), device_, options_);
  entries_.push_front({*std::move(key), std::move(ready)});
  if (entries_.size() > kMostBindings) entries_.pop_back();
  return entries_.front().ready;
}

auto BindingCache::bindings() const -> std::size_t {
  const std::scoped_lock lock(mutex_);
  return bindings_;
}

}  // namespace assay
