#include "compiler/cpu/thread_pool.h"

#include <algorithm>

namespace assay {

ThreadPool::ThreadPool(int threads) {
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
  while (true) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return stops_ || round_ != seen; });
    if (stops_) return;
    seen = round_;
    const auto [begin, end] = part(number);
    const auto* work = work_;
    lock.unlock();
    if (begin < end) (*work)(begin, end);
    lock.lock();
    if (--open_ == 0) done_.notify_one();
  }
}

void ThreadPool::run(std::int64_t count, std::int64_t grain,
                     const std::function<void(std::int64_t, std::int64_t)>& work) {
  if (workers_.empty()) return work(0, count);
  {
    const std::scoped_lock lock(mutex_);
    work_ = &work;
    count_ = count;
    grain_ = std::max<std::int64_t>(grain, 1);
    open_ = static_cast<int>(workers_.size());
    ++round_;
  }
  wake_.notify_all();
  const auto [begin, end] = part(0);
  if (begin < end) work(begin, end);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return open_ == 0; });
}

}  // namespace assay
