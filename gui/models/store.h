// Questions to a trace, answered by worker threads that each have a connection of their own. The
// window asks, goes on, and is called back in its own thread.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <QObject>
#include <QPointer>

#include "replay/trace/trace.h"

namespace assay {

class Store : public QObject {
  Q_OBJECT

 public:
  /// Opens the trace once to see that it is one. Errors: of TraceReader::open.
  [[nodiscard]] static auto open(const std::filesystem::path& path)
      -> Result<std::unique_ptr<Store>>;
  ~Store() override;

  [[nodiscard]] auto path() const -> const std::filesystem::path& { return path_; }
  [[nodiscard]] auto version() const -> int { return version_; }
  [[nodiscard]] auto is_complete() const -> bool { return is_complete_; }

  /// Runs `job` in a worker and then `then` here, unless `asker` is gone or has asked anew under
  /// the same tag meanwhile: an older question is dropped or interrupted.
  template <class T>
  void ask(QObject* asker, const std::string& tag, std::function<Result<T>(const TraceReader&)> job,
           std::function<void(Result<T>)> then) {
    enqueue(asker, tag, [job = std::move(job), then = std::move(then)](const TraceReader& reader) {
      auto answer = std::make_shared<Result<T>>(job(reader));
      return std::function<void()>([answer, then] { then(std::move(*answer)); });
    });
  }
  /// One statement from the table of statements.
  void ask(QObject* asker, const std::string& name, std::vector<TraceValue> parameters,
           std::function<void(Result<TraceAnswer>)> then);

  [[nodiscard]] auto is_idle() const -> bool { return pending_ == 0; }

 signals:
  void idle();

 private:
  using Work = std::function<std::function<void()>(const TraceReader&)>;
  struct Task {
    QPointer<QObject> asker;
    const QObject* key = nullptr;
    std::string tag;
    std::uint64_t generation = 0;
    Work work;
  };
  struct Worker {
    std::thread thread;
    std::unique_ptr<TraceReader> reader;
    Task* running = nullptr;
  };
  Store(std::filesystem::path path, const TraceReader& probe);
  void enqueue(QObject* asker, const std::string& tag, Work work);
  void work(Worker& worker);
  void finish(const Task& task, const std::function<void()>& reply);

  std::filesystem::path path_;
  int version_;
  bool is_complete_;
  int pending_ = 0;  ///< of the window's thread
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> queue_;
  std::uint64_t generation_ = 0;
  std::map<std::pair<const QObject*, std::string>, std::uint64_t> newest_;
  std::vector<std::unique_ptr<Worker>> workers_;
  bool stop_ = false;
};

}  // namespace assay
