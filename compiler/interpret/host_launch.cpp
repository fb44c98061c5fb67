// Launches: arguments, blocks and grid of a kernel.
#include <algorithm>
#include <bit>

#include "compiler/interpret/host_machine.h"

namespace assay {
namespace {

auto power_of_two(std::int64_t at_least) -> std::int64_t {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(at_least, 1, 1 << 30))));
}

/// The name that an argument is, if it is no view.
auto plain_name(const HostArg& arg) -> const std::string* {
  const auto* what = std::get_if<HostView>(&arg.value);
  return what == nullptr || what->is_reinterpreted ? nullptr : &what->base;
}
auto counts_programs(const TileRegion& region) -> bool {
  return std::ranges::any_of(region.body, [](const TileStatement& one) {
    return std::holds_alternative<TileProgram>(one.what) ||
           std::ranges::any_of(one.regions, counts_programs);
  });
}
void point_to(TileArgument& argument, const RunBuffer& buffer) {
  argument.storage = buffer.storage;
  argument.offset_bytes = buffer.tensor.meta.offset * size_bytes(buffer.tensor.dtype());
}

}  // namespace

/// Nothing where it is no number.
auto HostMachine::scalar_of(const HostOp& op, const HostArg& arg) -> Result<std::optional<Expr>> {
  if (const auto* e = std::get_if<Expr>(&arg.value)) {
    if (e->is_const()) return *e;
    if (e->type() == ExprType::integer)
      if (const auto known = number(*e)) return Expr(*known);
    ASSAY_TRY(const auto known, evaluate(*e, binding_));
    return known;
  }
  ASSAY_TRY(const auto given, value(op, arg));
  // Triton's launcher takes the number of a tensor that holds one.
  if (given.buffer && given.buffer->tensor.numel() == 1) {
    const auto* name = plain_name(arg);
    ASSAY_TRY(auto element, element_of(op, given, name == nullptr ? "a view" : *name));
    return element;
  }
  const auto* scalar = given.other.scalar();
  return scalar == nullptr ? std::nullopt : std::optional(*scalar);
}

/// Blocks are chosen by the launcher; everything else is passed in order.
auto HostMachine::bind_launch(const HostOp& op, const HostLaunch& what, const TileKernel& kernel,
                              TileLaunch& launch, Binding& scalars) -> Result<void> {
  const auto given = kernel.passed(what.args.size());
  if (!given)
    return bad_input("line {}: the launch passes {} arguments, which are not those of the kernel",
                     op.line, what.args.size());
  const auto& passed = *given;
  launch.arguments.resize(kernel.params.size());
  for (std::size_t i = 0; i < passed.size(); ++i) {
    const auto& param = kernel.params[passed[i]];
    auto& argument = launch.arguments[passed[i]];
    if (const auto* name = plain_name(what.args[i]);
        name != nullptr && param.kind == TileParam::Kind::buffer) {  // no copy
      ASSAY_TRY(const auto* known, find(op, *name));
      if (!known->buffer) return bad_input("line {}: {} is no tensor", op.line, param.name);
      point_to(argument, *known->buffer);
      continue;
    }
    if (param.kind == TileParam::Kind::buffer) {
      ASSAY_TRY(const auto made, value(op, what.args[i]));
      if (!made.buffer) return bad_input("line {}: {} is no tensor", op.line, param.name);
      point_to(argument, *made.buffer);
      continue;
    }
    ASSAY_TRY(const auto scalar, scalar_of(op, what.args[i]));
    const auto as_number = scalar ? scalar->as_number() : std::nullopt;
    if (!as_number) return bad_input("line {}: {} is no number", op.line, param.name);
    argument.real = *as_number;
    argument.integer = scalar->as_int().value_or(static_cast<std::int64_t>(*as_number));
    scalars[param.symbol] = argument.integer;
  }
  for (std::size_t i = passed.size(); i < what.args.size(); ++i) {
    ASSAY_TRY(const auto scalar, scalar_of(op, what.args[i]));
    const auto& name = kernel.launcher_args[i - passed.size()];
    if (scalar)
      if (const auto symbol = program_.env.pool().find_symbol(name)) scalars[*symbol] = *scalar;
  }
  for (std::size_t i = 0; i < kernel.params.size(); ++i)
    if (const auto& param = kernel.params[i]; param.fixed) {
      launch.arguments[i].integer = *param.fixed;
      launch.arguments[i].real = static_cast<double>(*param.fixed);
      scalars[param.symbol] = *param.fixed;
    }
  return {};
}

/// A mask may be missing where the extent is 1 or a multiple of the largest block.
auto HostMachine::choose_block(const TileAxis& axis, std::int64_t extent, std::int64_t room)
    -> std::int64_t {
  if (axis.extent && axis.extent->is_int(1)) return 1;
  if (options_.block) return std::min(power_of_two(*options_.block), axis.max_block);
  if (options_.block_seed) {
    random_ = random_ * 1664525U + 1013904223U + *options_.block_seed;
    return std::min(std::int64_t{1} << (random_ >> 16) % 11, axis.max_block);
  }
  // Some lanes should lie beyond the extent, so that masks that let too much through are seen.
  constexpr std::int64_t kMost = 64;
  const auto uneven = 2 * (extent & -extent);
  const auto least = uneven <= kMost && uneven < extent ? uneven : 1;
  return std::min({power_of_two(extent), axis.max_block, std::max(power_of_two(room), least)});
}

auto HostMachine::choose_blocks(const TileKernel& kernel, TileLaunch& launch, Binding& scalars)
    -> Result<void> {
  const auto count = kernel.axes.size();
  launch.blocks.assign(count, 1);
  launch.extents.assign(count, 1);
  auto room = kTileLanes;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& axis = kernel.axes[i];
    if (axis.extent)
      if (const auto extent = evaluate_int(*axis.extent, scalars)) launch.extents[i] = *extent;
    if (const auto fixed = axis.block.as_int(); fixed && !axis.exact) {
      launch.blocks[i] = *fixed;
      room = std::max<std::int64_t>(room / *fixed, 1);
    } else {
      open.push_back(i);
    }
  }
  // Rounds of a loop cost more than programs: reductions first, innermost axes before others.
  std::ranges::sort(open, {}, [&](std::size_t i) {
    return std::pair(kernel.axes[i].kind != TileAxis::Kind::reduction, -static_cast<int>(i));
  });
  for (const auto i : open) {
    if (const auto kind = kernel.axes[i].kind; kernel.axes[i].exact) {
      // The machine makes tiles of nests; a reduction stands whole in one.
      const bool is_chosen =
          kind == TileAxis::Kind::nested && (options_.block || options_.block_seed);
      if (!is_chosen && kind != TileAxis::Kind::parallel) {
        launch.blocks[i] = std::max<std::int64_t>(launch.extents[i], 0);
        continue;
      }
    }
    launch.blocks[i] = choose_block(kernel.axes[i], launch.extents[i], room);
    room = std::max<std::int64_t>(room / launch.blocks[i], 1);
    if (!kernel.axes[i].exact) scalars[kernel.axes[i].block] = launch.blocks[i];
  }
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    const auto& param = kernel.params[i];
    if (param.kind != TileParam::Kind::block || param.fixed) continue;
    if (!scalars.contains(param.symbol)) scalars[param.symbol] = 1;
    launch.arguments[i].integer = *scalars.at(param.symbol).as_int();
    launch.arguments[i].real = static_cast<double>(launch.arguments[i].integer);
  }
  if (kernel.grid.empty() && counts_programs(kernel.body))
    return unsupported("how many programs it has is not known");
  for (std::size_t i = 0; i < kernel.grid.size() && i < 3; ++i) {
    ASSAY_TRY(launch.grid[i], evaluate_int(kernel.grid[i], scalars));
    // Nothing is launched for an empty dimension.
    launch.grid[i] = std::max<std::int64_t>(launch.grid[i], 0);
  }
  return {};
}

auto HostMachine::step(const HostOp& op, const HostLaunch& what) -> Result<void> {
  const auto found = kernels_.find(what.kernel);
  if (found == kernels_.end())
    return unsupported("line {}: the kernel {} is not there", op.line, what.kernel);
  const auto& code = found->second;
  const auto& kernel = code.kernel();
  TileLaunch launch;
  Binding scalars;
  ASSAY_TRY_VOID(bind_launch(op, what, kernel, launch, scalars));
  auto chosen = choose_blocks(kernel, launch, scalars);
  if (!chosen)
    return with_context(chosen.error(), fmt::format("line {}: {}", op.line, what.kernel));
  launch.scalars = std::move(scalars);
  if (recorder_ != nullptr) {
    ++result_.launches;
    recorder_->launch(op, what.kernel, std::move(launch));
    return {};
  }
  const auto* chosen_code = &code;
  if (launcher_ != nullptr) {
    if (auto done = launcher_->launch(what.kernel, launch)) {
      ++result_.launches;
      return *std::move(done);
    }
    ASSAY_TRY(const auto* const other, launcher_->instead(what.kernel, launch));
    if (other != nullptr) chosen_code = other;
  }
  return run_tiles(op, what, *chosen_code, launch);
}

/// Every access of the launch is checked.
auto HostMachine::run_tiles(const HostOp& op, const HostLaunch& what, const TileCode& code,
                            TileLaunch& launch) -> Result<void> {
  const auto& kernel = code.kernel();
  std::set<RunStorage*> written;
  for (std::size_t i = 0; i < kernel.params.size(); ++i)
    if (auto* storage = launch.arguments[i].storage; storage != nullptr && code.writes(i))
      written.insert(storage);
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    auto& argument = launch.arguments[i];
    if (argument.storage == nullptr || !written.contains(argument.storage)) continue;
    argument.tracks = argument.storage->track(size_bytes(kernel.params[i].dtype));
    if (!argument.tracks)
      note_once(fmt::format("{} is too large to look for two programs that touch one element",
                            argument.storage->name()));
  }
  std::int64_t programs = 1;
  for (const auto count : launch.grid) programs *= count;
  for (std::size_t i = 0; i < kernel.axes.size(); ++i)
    if (kernel.axes[i].exact && kernel.axes[i].kind == TileAxis::Kind::parallel)
      programs *= (launch.extents[i] + launch.blocks[i] - 1) / launch.blocks[i];
  if (programs >= 1 << 30) return unsupported("line {}: more programs than can be run", op.line);
  if (next_program_ > 3U << 30) {  // numbers are used up: nobody remembers older launches
    for (const auto& storage : storages_) storage->touches().clear();
    next_program_ = 1;
    for (auto* storage : written) storage->track(storage->granule());
  }
  launch.first_program = next_program_;
  launch.line = op.line;
  launch.statement = op.text;
  launch.kernel = what.kernel;
  launch.report = [&](RunFinding finding) { add_once(result_.findings, std::move(finding)); };
  ++result_.launches;
  TileMachine machine(code, launch);
  ASSAY_TRY_VOID(machine.run());
  next_program_ = machine.next_program();
  if (options_.tap) {
    std::vector<std::pair<std::string, Tensor>> buffers;
    for (const auto& arg : what.args)
      if (const auto* viewed = std::get_if<HostView>(&arg.value))
        if (const auto known = names_.find(viewed->base);
            known != names_.end() && known->second.value.buffer &&
            written.contains(known->second.value.buffer->storage))
          buffers.emplace_back(viewed->base, known->second.value.buffer->tensor);
    options_.tap({&op, buffers});
  }
  return {};
}

}  // namespace assay
