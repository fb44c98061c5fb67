#include "gui/models/store.h"

#include "gui/data/statements.h"

namespace assay {
namespace {
constexpr int kWorkers = 2;
}

auto Store::open(const std::filesystem::path& path) -> Result<std::unique_ptr<Store>> {
  ASSAY_TRY(const auto probe, TraceReader::open(path));
  // A file cut off in its middle opens well and fails at the first question.
  ASSAY_TRY(const auto tables, probe.query("SELECT count(*) FROM runs"));
  return std::unique_ptr<Store>(new Store(path, probe));
}

Store::Store(std::filesystem::path path, const TraceReader& probe)
    : path_(std::move(path)), version_(probe.version()), is_complete_(probe.is_complete()) {
  for (int i = 0; i < kWorkers; ++i) {
    auto worker = std::make_unique<Worker>();
    auto* raw = worker.get();
    workers_.push_back(std::move(worker));
    raw->thread = std::thread([this, raw] { work(*raw); });
  }
}

Store::~Store() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    queue_.clear();
    for (const auto& worker : workers_)
      if (worker->running && worker->reader) worker->reader->interrupt();
  }
  wake_.notify_all();
  for (const auto& worker : workers_) worker->thread.join();
}

void Store::ask(QObject* asker, const std::string& name, std::vector<TraceValue> parameters,
                std::function<void(Result<TraceAnswer>)> then) {
  const auto sql = statement(name, version_);
  ask<TraceAnswer>(
      asker, name,
      [sql, parameters = std::move(parameters)](const TraceReader& reader) -> Result<TraceAnswer> {
        if (sql.empty()) return TraceAnswer{};  // an older trace has none of these
        return reader.query(sql, parameters);
      },
      std::move(then));
}

void Store::enqueue(QObject* asker, const std::string& tag, Work work) {
  ++pending_;
  int dropped = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto generation = ++generation_;
    newest_[{asker, tag}] = generation;
    dropped = static_cast<int>(std::erase_if(
        queue_, [&](const Task& task) { return task.key == asker && task.tag == tag; }));
    queue_.push_back({asker, asker, tag, generation, std::move(work)});
    for (const auto& worker : workers_)
      if (worker->running && worker->running->key == asker && worker->running->tag == tag &&
          worker->reader)
        worker->reader->interrupt();
  }
  pending_ -= dropped;
  wake_.notify_one();
}

void Store::work(Worker& worker) {
  auto reader = TraceReader::open(path_);
  if (reader) {
    const std::lock_guard lock(mutex_);
    worker.reader = std::make_unique<TraceReader>(std::move(*reader));
  }
  while (true) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      worker.running = nullptr;
      wake_.wait(lock, [&] { return stop_ || !queue_.empty(); });
      if (stop_) return;
      task = std::move(queue_.front());
      queue_.pop_front();
      worker.running = &task;
      if (worker.reader) worker.reader->resume();
    }
    std::function<void()> reply;
    if (worker.reader) reply = task.work(*worker.reader);
    const std::lock_guard lock(mutex_);
    worker.running = nullptr;
    if (stop_) return;
    QMetaObject::invokeMethod(
        this, [this, task, reply] { finish(task, reply); }, Qt::QueuedConnection);
  }
}

void Store::finish(const Task& task, const std::function<void()>& reply) {
  bool is_newest = false;
  {
    const std::lock_guard lock(mutex_);
    const auto newest = newest_.find({task.key, task.tag});
    is_newest = newest != newest_.end() && newest->second == task.generation;
    if (is_newest) newest_.erase(newest);
  }
  if (is_newest && task.asker && reply) reply();
  if (--pending_ == 0) emit idle();
}

}  // namespace assay
