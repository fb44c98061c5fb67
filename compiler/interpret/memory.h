// Storages of a run with what is known about every element: written or not, and who touched it last
// in the launch that is running. Internal to compiler/interpret.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/program/executor.h"
#include "core/tensor/tensor.h"

namespace assay {

/// Who touches: programs are numbered over the whole run, phases between barriers, lanes with the
/// axes they run over.
struct Toucher {
  std::uint32_t program = 0;
  std::uint32_t phase = 0;
  std::uint32_t lane = 0;
};

/// Last writer and last reader of an element. Program 0 is nobody.
struct Touch {
  std::uint32_t writer = 0, writer_phase = 0, writer_lane = 0;
  std::uint32_t reader = 0, reader_phase = 0, reader_lane = 0;
  bool atomic = false;  ///< the writer was
};
inline constexpr std::uint32_t kManyLanes = 0xFFFFFFFFU;
inline constexpr std::uint32_t kManyPrograms = 0xFFFFFFFFU;

class RunStorage {
 public:
  RunStorage(std::string name, std::shared_ptr<Storage> storage, int granule, bool is_initialised);

  [[nodiscard]] auto name() const -> const std::string& { return name_; }
  [[nodiscard]] auto storage() const -> const std::shared_ptr<Storage>& { return storage_; }
  [[nodiscard]] auto size_bytes() const -> std::int64_t { return storage_->size_bytes(); }
  [[nodiscard]] auto bytes() -> std::byte* { return storage_->bytes().data(); }

  /// Counts reuses: names of older generations are dead.
  int generation = 0;
  std::string reused_by;
  std::optional<std::size_t> recorded;  ///< what a recorder knows it as

  /// One byte per byte: 0 nothing was written, 1 something was, 2 what was written rests on what
  /// nobody wrote. Empty: all are.
  [[nodiscard]] auto initialised() -> std::vector<std::uint8_t>& { return initialised_; }
  [[nodiscard]] auto is_written(std::int64_t offset_bytes) const -> bool {
    return initialised_.empty() || initialised_[static_cast<std::size_t>(offset_bytes)] == 1;
  }
  /// A value was stored that `origin` read without anybody having written it.
  void set_undefined(std::int64_t offset_bytes, std::int64_t count, const RunFinding& origin);
  /// The first such read whose value stands at this offset; null: none.
  [[nodiscard]] auto undefined_at(std::int64_t offset_bytes) const -> const RunFinding* {
    const bool is = origin_ && initialised_[static_cast<std::size_t>(offset_bytes)] == 2;
    return is ? &*origin_ : nullptr;
  }
  /// As of anywhere in the storage.
  [[nodiscard]] auto undefined() const -> const RunFinding* {
    return origin_ && std::ranges::find(initialised_, 2) != initialised_.end() ? &*origin_
                                                                               : nullptr;
  }
  /// The storage was there before the program ran.
  [[nodiscard]] auto is_input() const -> bool { return is_input_; }

  void set_written(std::int64_t offset_bytes, std::int64_t count) {
    if (initialised_.empty()) return;
    for (std::int64_t i = 0; i < count; ++i)
      initialised_[static_cast<std::size_t>(offset_bytes + i)] = 1;
  }
  void set_all_unwritten() {
    initialised_.assign(static_cast<std::size_t>(storage_->size_bytes()), 0);
    origin_.reset();
  }

  /// Before a launch that writes here, elements of `size` bytes. False: they are too many to
  /// remember who touched each.
  auto track(int size) -> bool;
  [[nodiscard]] auto touches() -> std::vector<Touch>& { return touches_; }
  [[nodiscard]] auto granule() const -> int { return granule_; }

 private:
  std::string name_;
  std::shared_ptr<Storage> storage_;
  int granule_ = 1;
  bool is_input_ = false;
  std::vector<std::uint8_t> initialised_;
  std::optional<RunFinding> origin_;
  std::vector<Touch> touches_;
};

/// What a write or read by `who` collides with; `first` is the first program of this launch.
enum class Collision : std::uint8_t { none, write_write, read_write };
[[nodiscard]] auto note_read(Touch& touch, const Toucher& who, std::uint32_t first, bool atomic)
    -> Collision;
[[nodiscard]] auto note_write(Touch& touch, const Toucher& who, std::uint32_t first, bool atomic)
    -> Collision;

}  // namespace assay
