#include "compiler/cuda/tuning.h"

#include <sstream>

#include "compiler/program/text.h"

namespace assay {

auto way_text(const GpuWay& way) -> std::string {
  if (way.is_split) return "in parts";
  const auto& choice = way.key.choice;
  if (!way.key.blocks.empty()) return fmt::format("blocks {}", fmt::join(way.key.blocks, " "));
  if (choice.is_placed()) {
    const auto& [x, y, z, ranks] = choice.threads;
    auto text = fmt::format("{}x{}x{} threads", x, y, z);
    if (ranks > 1) text += fmt::format(", clusters of {}", ranks);
    if (choice.loops) text += ", looped";
    return text +
           fmt::format(", {} lanes a thread", choice.neighbours * choice.rounds * choice.positions);
  }
  auto text = fmt::format("x {}, y {}, r {}", choice.block_x, choice.block_y, choice.block_r);
  if (choice.block_t > 0) text += fmt::format(", t {}", choice.block_t);
  if (choice.loops) text += ", looped";
  if (choice.registers > 0) text += fmt::format(", {} lanes a thread", choice.registers);
  return text;
}

auto print_way(const GpuWay& way) -> std::string {
  if (way.is_split) return "split";
  const auto& c = way.key.choice;
  const auto& t = c.threads;
  return fmt::format("one {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
                     static_cast<int>(c.loops), static_cast<int>(c.is_narrow),
                     static_cast<int>(c.fills_warps), static_cast<int>(c.is_whole), c.run,
                     c.neighbours, c.rounds, c.positions, t.x, t.y, t.z, t.ranks, c.block_x,
                     c.block_y, c.block_r, c.block_t, c.registers, fmt::join(way.key.blocks, " "));
}

auto parse_way(const std::string& text) -> std::optional<GpuWay> {
  GpuWay way;
  way.is_split = text == "split";
  if (way.is_split) return way;
  std::istringstream stream(text);
  std::string word;
  auto& c = way.key.choice;
  auto& t = c.threads;
  stream >> word >> c.loops >> c.is_narrow >> c.fills_warps >> c.is_whole >> c.run >>
      c.neighbours >> c.rounds >> c.positions >> t.x >> t.y >> t.z >> t.ranks >> c.block_x >>
      c.block_y >> c.block_r >> c.block_t >> c.registers;
  if (word != "one" || !stream) return std::nullopt;
  for (std::int64_t block = 0; stream >> block;) way.key.blocks.push_back(block);
  return way;
}

auto ways_of(const GpuKernel& kernel, const TileLaunch& launch) -> std::vector<GpuWay> {
  std::vector<GpuWay> ways;
  if (kernel.split(launch)) ways.push_back({.is_split = true, .key = {}});
  for (auto& key : kernel.candidates(launch)) ways.push_back({false, std::move(key)});
  return ways;
}

auto tuning_key(const std::string& machine, const GpuKernel& kernel, const TileLaunch& launch)
    -> std::string {
  return fmt::format("tuned {} extents {} usual {}\n{}", machine, fmt::join(launch.extents, " "),
                     print_way({false, kernel.key(launch)}), print_kernel(kernel.kernel()));
}

}  // namespace assay
