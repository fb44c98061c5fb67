// Threads that share the iterations of a loop evenly, the same way each time.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace assay {

class ThreadPool {
 public:
  /// `threads` in all, the caller's included.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  auto operator=(const ThreadPool&) -> ThreadPool& = delete;
  [[nodiscard]] auto size() const -> int { return static_cast<int>(workers_.size()) + 1; }
  /// Calls work(begin, end) on each thread's part of 0 .. count-1; parts but the last are multiples
  /// of `grain`.
  void run(std::int64_t count, std::int64_t grain,
           const std::function<void(std::int64_t, std::int64_t)>& work);

 private:
  void worker(int number);
  [[nodiscard]] auto part(int number) const -> std::pair<std::int64_t, std::int64_t>;

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(std::int64_t, std::int64_t)>* work_ = nullptr;
  std::int64_t count_ = 0, grain_ = 1;
  std::uint64_t round_ = 0;
  int open_ = 0;
  bool stops_ = false;
};

}  // namespace assay
