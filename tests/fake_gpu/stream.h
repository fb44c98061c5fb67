// Where the fake libraries put their work.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

namespace fake_gpu {

using Arguments = std::vector<std::uint64_t>;
/// Work that is told the arguments of its launch; those of libraries have none.
struct Node {
  std::function<void(const Arguments&)> work;
  Arguments arguments;
  std::array<unsigned, 3> cluster = {};  ///< of kernels: blocks
  std::array<unsigned, 3> wanted = cluster;
};
using Graph = std::vector<Node>;
/// Counts calls by name. True where FAKE_GPU_REFUSE is the name: the call has to fail.
auto refuses(const char* call) -> bool;
/// Now, or whenever the graph that is being captured is launched.
void enqueue(Node node);
inline void enqueue(const std::function<void()>& work) {
  Node node;
  node.work = [work](const Arguments&) { work(); };
  enqueue(std::move(node));
}

/// As cudaDataType_t numbers them.
enum class Type : std::uint8_t { float32 = 0, float64 = 1, float16 = 2, bfloat16 = 14 };

/// Elements in the fake GPU's memory.
class Elements {
 public:
  Elements(std::uint64_t address, Type type) : address_(address), type_(type) {}
  Elements(std::uint64_t address, bool is_double)
      : Elements(address, is_double ? Type::float64 : Type::float32) {}
  [[nodiscard]] auto get(std::int64_t i) const -> double {
    switch (type_) {
      case Type::float64:
        return at<double>()[i];
      case Type::float16:
        return static_cast<double>(at<_Float16>()[i]);
      case Type::bfloat16:
        return std::bit_cast<float>(std::uint32_t{at<std::uint16_t>()[i]} << 16U);
      case Type::float32:
        break;
    }
    return static_cast<double>(at<float>()[i]);
  }
  void set(std::int64_t i, double value) const {
    switch (type_) {
      case Type::float64:
        at<double>()[i] = value;
        return;
      case Type::float16:
        at<_Float16>()[i] = static_cast<_Float16>(value);
        return;
      case Type::bfloat16: {  // to the nearest, ties to even
        const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
        at<std::uint16_t>()[i] =
            static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16U & 1U)) >> 16U);
        return;
      }
      case Type::float32:
        break;
    }
    at<float>()[i] = static_cast<float>(value);
  }

 private:
  template <class T>
  [[nodiscard]] auto at() const -> T* {
    return reinterpret_cast<T*>(address_);  // NOLINT(performance-no-int-to-ptr)
  }
  std::uint64_t address_;
  Type type_;
};

}  // namespace fake_gpu
