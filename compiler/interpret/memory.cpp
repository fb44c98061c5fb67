#include "compiler/interpret/memory.h"

#include <algorithm>

namespace assay {
namespace {

constexpr std::int64_t kMostTouches = std::int64_t{1} << 26;  ///< of one storage: 1.9 GB

}  // namespace

RunStorage::RunStorage(std::string name, std::shared_ptr<Storage> storage, int granule,
                       bool is_initialised)
    : name_(std::move(name)),
      storage_(std::move(storage)),
      granule_(std::max(granule, 1)),
      is_input_(is_initialised) {
  if (!is_initialised) set_all_unwritten();
}

void RunStorage::set_undefined(std::int64_t offset_bytes, std::int64_t count,
                               const RunFinding& origin) {
  if (initialised_.empty()) initialised_.assign(static_cast<std::size_t>(size_bytes()), 1);
  if (!origin_) origin_ = origin;
  for (std::int64_t i = 0; i < count; ++i)
    initialised_[static_cast<std::size_t>(offset_bytes + i)] = 2;
}

auto RunStorage::track(int size) -> bool {
  if (size < granule_) {
    granule_ = size;
    touches_.clear();
  }
  const auto count = size_bytes() / granule_ + 1;
  if (count > kMostTouches) return false;
  if (touches_.empty()) touches_.resize(static_cast<std::size_t>(count));
  return true;
}

auto note_read(Touch& touch, const Toucher& who, std::uint32_t first, bool atomic) -> Collision {
  auto result = Collision::none;
  if (touch.writer >= first && !(atomic && touch.atomic)) {
    const bool other_program = touch.writer != who.program;
    const bool other_lane = touch.writer_phase == who.phase && touch.writer_lane != who.lane;
    if (other_program || other_lane) result = Collision::read_write;
  }
  if (atomic) return result;
  if (touch.reader < first || touch.reader == who.program) {
    const bool is_same = touch.reader == who.program && touch.reader_phase == who.phase &&
                         touch.reader_lane != who.lane;
    touch.reader_lane = is_same ? kManyLanes : who.lane;
    touch.reader = who.program;
    touch.reader_phase = who.phase;
  } else {
    touch.reader = kManyPrograms;
  }
  return result;
}

auto note_write(Touch& touch, const Toucher& who, std::uint32_t first, bool atomic) -> Collision {
  auto result = Collision::none;
  if (touch.writer >= first && !(atomic && touch.atomic)) {
    const bool other_program = touch.writer != who.program;
    const bool other_lane = touch.writer_phase == who.phase && touch.writer_lane != who.lane;
    if (other_program || other_lane) result = Collision::write_write;
  }
  if (result == Collision::none && touch.reader >= first) {
    const bool other_program = touch.reader != who.program;
    const bool other_lane = touch.reader_phase == who.phase && touch.reader_lane != who.lane;
    if (other_program || other_lane) result = Collision::read_write;
  }
  touch.writer = who.program;
  touch.writer_phase = who.phase;
  touch.writer_lane = who.lane;
  touch.atomic = atomic;
  return result;
}

}  // namespace assay
