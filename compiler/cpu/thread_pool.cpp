#include "compiler/cpu/thread_pool.h"

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

#include <algorithm>
#include <chrono>

namespace assay {

namespace {
/// Waking a thread costs more than many kernels run, and it may wake beside the one that waits for
/// it; so workers stay awake as long as OpenMP's do, and who waits for them makes room soon.
constexpr std::chrono::microseconds kBetweenLaunches(1000), kForStragglers(20);

void relax() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}
}  // namespace

/// Threads that wake each other may be kept on one processor: workers stay off the caller's.
void ThreadPool::keep_apart() {
#ifdef __linux__
  const int here = may_spin_ ? ::sched_getcpu() : -1;
  if (here == caller_ || here < 0) return;
  caller_ = here;
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  CPU_CLR(static_cast<unsigned>(here), &allowed);
  if (CPU_COUNT(&allowed) == 0) return;
  for (auto& worker : workers_)
    ::pthread_setaffinity_np(worker.native_handle(), sizeof allowed, &allowed);
#endif
}

template <class Condition>
auto ThreadPool::spins_until(const Condition& condition, std::chrono::microseconds longest) const
    -> bool {
  using std::chrono::steady_clock;
  constexpr int kBetweenLooks = 32;  // a look at the clock costs as much as some pauses
  if (!may_spin_) return condition();
  const auto start = steady_clock::now();
  do {
    for (int i = 0; i < kBetweenLooks; ++i) {
      if (condition()) return true;
      relax();
    }
  } while (steady_clock::now() - start < longest);
  return condition();
}

ThreadPool::ThreadPool(int threads)
    : may_spin_(threads <= static_cast<int>(std::thread::hardware_concurrency())) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { worker(i); });
}

ThreadPool::~ThreadPool() {
  {
    const std::scoped_lock lock(mutex_);
    stops_ = true;
  }
  wake_.notify_all();
  for (auto& worker : workers_) worker.join();
}

auto ThreadPool::part(int number) const -> std::pair<std::int64_t, std::int64_t> {
  const auto blocks = (count_ + grain_ - 1) / grain_;
  const auto begin = blocks * number / size() * grain_;
  const auto end = blocks * (number + 1) / size() * grain_;
  return {std::min(begin, count_), std::min(end, count_)};
}

void ThreadPool::worker(int number) {
  std::uint64_t seen = 0;
  const auto is_called = [&] {
    return stops_.load(std::memory_order_acquire) || round_.load(std::memory_order_acquire) != seen;
  };
  while (true) {
    if (!spins_until(is_called, kBetweenLaunches)) {
      std::unique_lock lock(mutex_);
      ++asleep_;
      wake_.wait(lock, is_called);
      --asleep_;
    }
    if (stops_.load(std::memory_order_acquire)) return;
    seen = round_.load(std::memory_order_acquire);
    const auto [begin, end] = part(number);
    if (begin < end) (*work_)(begin, end);
    if (open_.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    {
      const std::scoped_lock lock(mutex_);
    }  // who is about to wait for it waits
    done_.notify_one();
  }
}

void ThreadPool::run(std::int64_t count, std::int64_t grain,
                     const std::function<void(std::int64_t, std::int64_t)>& work) {
  if (workers_.empty()) return work(0, count);
  keep_apart();
  work_ = &work;
  count_ = count;
  grain_ = std::max<std::int64_t>(grain, 1);
  open_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  bool wakes = false;
  {
    const std::scoped_lock lock(mutex_);
    round_.fetch_add(1, std::memory_order_release);
    wakes = asleep_ > 0;
  }
  if (wakes) wake_.notify_all();
  const auto [begin, end] = part(0);
  if (begin < end) work(begin, end);
  const auto is_done = [&] { return open_.load(std::memory_order_acquire) == 0; };
  if (spins_until(is_done, kForStragglers)) return;
  std::unique_lock lock(mutex_);
  done_.wait(lock, is_done);
}

}  // namespace assay
