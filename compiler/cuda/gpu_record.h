// What kernels on a GPU leave for the host, and what checked ones keep there.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace assay {

/// What may be wrong with a launch.
enum class GpuFault : std::int64_t {
  false_assert,    ///< of the kernel's own
  out_of_bounds,   ///< an access outside of the memory
  uninitialised,   ///< an element is read that nobody wrote
  write_conflict,  ///< two programs of the grid write one element, or two lanes of one
  read_conflict,   ///< one program, or lane, reads what another writes
};

/// What a thread leaves for the host; the first thread of a launch that meets a fault does.
struct GpuRecord {
  std::int64_t line = 0;    ///< of the kernel's text, plus one; 0: nothing happened
  std::int64_t param = -1;  ///< whose memory; -1: an assert
  std::int64_t element = 0;
  GpuFault fault = GpuFault::false_assert;
  std::uint64_t told = 0;  ///< of checked code: launch_word of its arguments; 0: it did not run
  /// Of an uninitialised element: UnwrittenOrigin of who read it first, here or to copy it.
  std::uint64_t origin = 0;
};

/// A word that differs wherever one argument does. Arguments are all but the record.
[[nodiscard]] constexpr auto launch_word(std::span<const std::uint64_t> arguments)
    -> std::uint64_t {
  std::uint64_t word = 1;
  for (std::size_t i = 0; i < arguments.size(); ++i) word += (2 * i + 1) * arguments[i];
  return word;
}

/// Who wrote an element of watched memory last, and who reads it in the last launch that does: the
/// launch's number in the upper 16 bits, then the lane where lanes are told apart, the program of
/// the grid in the lower 32; in kernels with barriers in the lower 24, below how many barriers were
/// passed. Fields are all ones where several read it. 0: nobody; an UnwrittenOrigin: nobody, but
/// somebody stored there a copy of an element that nobody wrote; all ones: somebody else.
struct GpuShadow {
  std::uint64_t writer = 0, reader = 0;
};
inline constexpr unsigned kLaunchShift = 48;
[[nodiscard]] constexpr auto is_written(std::uint64_t writer) -> bool {
  return writer >> kLaunchShift != 0;
}

/// What a launch is called in shadows, by its record's number.
[[nodiscard]] constexpr auto launch_number(std::size_t record) -> std::uint64_t {
  constexpr std::size_t kNumbers = 65534;
  return 1 + record % kNumbers;
}

/// Who read an element that nobody wrote, to store it elsewhere.
struct UnwrittenOrigin {
  std::uint64_t launch = 0;  ///< its number, from 1 to 65534
  std::uint64_t line = 0;    ///< of the kernel's text

  static constexpr unsigned kLaunchBits = 16;
  [[nodiscard]] constexpr auto word() const -> std::uint64_t {
    return (line + 1) << kLaunchBits | launch;
  }
  [[nodiscard]] static constexpr auto from(std::uint64_t word) -> UnwrittenOrigin {
    return {word & ((std::uint64_t{1} << kLaunchBits) - 1), (word >> kLaunchBits) - 1};
  }
};

}  // namespace assay
