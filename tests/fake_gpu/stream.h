// Where the fake libraries put their work.
#pragma once
#include <array>
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

/// Elements of float or double in the fake GPU's memory.
class Elements {
 public:
  Elements(std::uint64_t address, bool is_double) : address_(address), is_double_(is_double) {}
  [[nodiscard]] auto get(std::int64_t i) const -> double {
    return is_double_ ? at<double>()[i] : static_cast<double>(at<float>()[i]);
  }
  void set(std::int64_t i, double value) const {
    if (is_double_)
      at<double>()[i] = value;
    else
      at<float>()[i] = static_cast<float>(value);
  }

 private:
  template <class T>
  [[nodiscard]] auto at() const -> T* {
    return reinterpret_cast<T*>(address_);  // NOLINT(performance-no-int-to-ptr)
  }
  std::uint64_t address_;
  bool is_double_;
};

}  // namespace fake_gpu
