// Threads that share the iterations of a loop evenly, the same way each time.
#pragma once
#include <atomic>
#include <chrono>
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
  void keep_apart();
  /// Busy for a while, since kernels follow each other closely; whether it came true.
  template <class Condition>
  [[nodiscard]] auto spins_until(const Condition& condition,
                                 std::chrono::microseconds longest) const -> bool;
  [[nodiscard]] auto part(int number) const -> std::pair<std::int64_t, std::int64_t>;

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(std::int64_t, std::int64_t)>* work_ = nullptr;
  std::int64_t count_ = 0, grain_ = 1;
  std::atomic<std::uint64_t> round_ = 0;  ///< changes under the lock; publishes what stands above
  std::atomic<int> open_ = 0;             ///< workers that are not done
  std::atomic<bool> stops_ = false;
  int asleep_ = 0;        ///< workers that have to be woken
  int caller_ = -1;       ///< processor that it was on last
  bool may_spin_ = true;  ///< each thread has a processor
};

}  // namespace assay
