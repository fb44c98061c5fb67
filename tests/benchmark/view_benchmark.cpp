// What the viewer costs on large traces that are generated: `view_benchmark [--keep FOLDER]
// NODES...` prints a line for each measurement. Needs no screen: QT_QPA_PLATFORM=offscreen.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include <QApplication>
#include <QStyleFactory>

#include "gui/app/window.h"
#include "gui/views/graph_view.h"
#include "gui/views/nodes_view.h"
#include "tests/gui/support.h"
#include "tests/support/traces.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

auto ms_since(Clock::time_point start) -> double {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

auto peak_mib() -> double {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

auto percentile(std::vector<double> values, double share) -> double {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[static_cast<std::size_t>(share * double(values.size() - 1))];
}

void report(std::int64_t nodes, const char* what, double value, const char* unit) {
  std::printf("%10lld nodes  %-44s %10.2f %s\n", static_cast<long long>(nodes), what, value, unit);
  std::fflush(stdout);
}

auto idle(const Window& window) -> bool {
  int quiet = 0;
  return testing::wait_until(
      [&] {
        quiet = window.is_idle() ? quiet + 1 : 0;
        return quiet > 2;
      },
      120'000);
}

void measure_table(std::int64_t nodes, const std::filesystem::path& trace) {
  const auto start = Clock::now();
  Window window;
  window.show();
  window.open(QString::fromStdString(trace.string()));
  auto* view = static_cast<NodesView*>(window.view(QStringLiteral("nodes")));
  testing::wait_until(
      [&] {
        const auto* model = static_cast<const NodeModel*>(view->rows()->model());
        return model->rowCount() > 0 && model->line(0) != nullptr;
      },
      120'000);
  view->rows()->repaint();
  report(nodes, "open to first paint with rows", ms_since(start), "ms");
  idle(window);
  auto* model = static_cast<NodeModel*>(view->rows()->model());
  std::vector<double> jumps;
  for (int i = 1; i <= 40; ++i) {
    const int row = static_cast<int>((nodes - 1) * ((i * 17) % 41) / 41);
    const auto jump = Clock::now();
    view->go_to_row(row);
    view->rows()->viewport()->repaint();
    testing::wait_until([&] { return model->line(row) != nullptr; });
    view->rows()->viewport()->repaint();
    jumps.push_back(ms_since(jump));
  }
  report(nodes, "jump to any row, p95", percentile(jumps, 0.95), "ms");
  const auto last = fmt::format("_{}", nodes - 1);
  for (const auto& filter : {std::string("relu_77"), std::string("relu"), last,
                             std::string("op:relu"), std::string("status:mismatch")}) {
    const auto search = Clock::now();
    view->set_filter(QString::fromStdString(filter));
    testing::wait_until([&] { return model->rowCount() > 0 && model->line(0) != nullptr; },
                        120'000);
    report(nodes, ("first hit of " + filter).c_str(), ms_since(search), "ms");
    idle(window);
    report(nodes, ("all hits of " + filter).c_str(), ms_since(search), "ms");
  }
  view->set_filter({});
  idle(window);
  const auto sort = Clock::now();
  model->sort(NodeModel::kName, Qt::DescendingOrder);
  idle(window);
  report(nodes, "sorted by name, at rest", ms_since(sort), "ms");
  report(nodes, "peak memory", peak_mib(), "MiB");
}

/// The longest that the window's thread was away since this began.
class Heart {
 public:
  Heart() {
    QObject::connect(&timer_, &QTimer::timeout, [this] {
      longest_ = std::max(longest_, ms_since(last_));
      last_ = Clock::now();
    });
    timer_.start(1);
  }
  [[nodiscard]] auto longest_ms() const -> double { return longest_; }

 private:
  Clock::time_point last_ = Clock::now();
  double longest_ = 0;
  QTimer timer_;
};

/// All layouts in turn, the graph's last: what a view costs that is only looked at.
void measure_layouts(std::int64_t nodes, const std::filesystem::path& trace) {
  Window window;
  window.show();
  idle(window);
  const Heart heart;
  window.open(QString::fromStdString(trace.string()));
  idle(window);
  report(nodes, "window's thread away at most, opening", heart.longest_ms(), "ms");
  for (const auto* layout :
       {"triage", "source", "sizes", "compile", "program", "minify", "diff", "runs", "graph"}) {
    const auto start = Clock::now();
    window.apply_layout(QString::fromLatin1(layout));
    idle(window);
    report(nodes, fmt::format("layout {} at rest", layout).c_str(), ms_since(start), "ms");
    report(nodes, "  window's thread away at most so far", heart.longest_ms(), "ms");
    report(nodes, "  peak memory so far", peak_mib(), "MiB");
  }
}

/// How long after being stopped at `after` milliseconds a job is back.
auto late_ms(double after, const std::function<void(std::atomic<bool>&)>& job) -> double {
  std::atomic<bool> stop = false;
  Clock::time_point asked;
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(after));
    asked = Clock::now();
    stop = true;
  });
  job(stop);
  const auto back = Clock::now();
  stopper.join();
  return std::max(std::chrono::duration<double, std::milli>(back - asked).count(), 0.0);
}

void measure_reading(std::int64_t nodes, const TraceReader& reader, double whole) {
  std::vector<double> late;
  for (int i = 1; i < 10; ++i) {
    Clock::time_point asked;
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(whole * i / 10));
      asked = Clock::now();
      reader.interrupt();
    });
    (void)read_graph(reader, 1);
    const auto back = Clock::now();
    stopper.join();
    late.push_back(std::chrono::duration<double, std::milli>(back - asked).count());
    reader.resume();
  }
  report(nodes, "reading cancelled, returns at most after", percentile(late, 1), "ms");
}

/// The graph in the window: how long the window's thread is away at most meanwhile.
void measure_window(std::int64_t nodes, const std::filesystem::path& trace) {
  Window window;
  window.show();
  window.open(QString::fromStdString(trace.string()));
  idle(window);
  const Heart heart;
  const auto start = Clock::now();
  window.apply_layout(QStringLiteral("graph"));
  idle(window);
  report(nodes, "graph view from nothing to its picture", ms_since(start), "ms");
  auto* graph = static_cast<GraphView*>(window.view(QStringLiteral("graph")));
  graph->expand_all();
  idle(window);
  graph->show_neighbourhood();
  idle(window);
  graph->show_everything();
  idle(window);
  report(nodes, "window's thread away at most meanwhile", heart.longest_ms(), "ms");
  report(nodes, "peak memory with the graph", peak_mib(), "MiB");
}

void measure_layout(std::int64_t nodes, const std::filesystem::path& trace) {
  const auto reader = TraceReader::open(trace);
  if (!reader) return;
  const auto read_start = Clock::now();
  auto data = read_graph(*reader, 1);
  if (!data) return;
  report(nodes, "read the graph", ms_since(read_start), "ms");
  measure_reading(nodes, *reader, ms_since(read_start));
  const auto shared = std::make_shared<const GraphData>(std::move(*data));
  const auto start = Clock::now();
  auto scene = make_scene(shared, {.open = {}, .flat = true, .only = {}});
  report(nodes, "flat layout", ms_since(start), "ms");
  const auto whole = ms_since(start);
  std::vector<double> late;
  for (int i = 1; i < 20; ++i)
    late.push_back(late_ms(whole * i / 20, [&](std::atomic<bool>& stop) {
      (void)make_scene(shared, {.open = {}, .flat = true, .only = {}}, &stop);
    }));
  report(nodes, "flat layout cancelled, returns at most after", percentile(late, 1), "ms");
  const auto closed = Clock::now();
  (void)make_scene(shared, {});
  report(nodes, "layout with closed modules", ms_since(closed), "ms");
  GraphCanvas canvas;
  canvas.resize(1600, 1000);
  canvas.show();
  canvas.set_scene(std::make_shared<const Scene>(std::move(*scene)), -1);
  testing::wait_until([&] { return !canvas.is_busy(); }, 60'000);
  std::vector<double> frames;
  for (int i = 0; i < 300; ++i) {
    if (i % 30 == 29)
      canvas.zoom(i % 60 == 29 ? 2 : -1, {800, 500});
    else
      canvas.pan(24, 36);
    const auto frame = Clock::now();
    canvas.repaint();
    frames.push_back(ms_since(frame));
    QCoreApplication::processEvents();
  }
  report(nodes, "frame while panning and zooming, p95", percentile(frames, 0.95), "ms");
  report(nodes, "frame while panning and zooming, longest", percentile(frames, 1), "ms");
}

}  // namespace
}  // namespace assay

auto main(int argc, char** argv) -> int {
  if (qgetenv("QT_QPA_PLATFORM").isEmpty()) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  const assay::testing::TemporaryFolder folder;
  std::filesystem::path keep;
  std::vector<std::int64_t> sizes;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--keep" && i + 1 < argc)
      keep = argv[++i];
    else
      sizes.push_back(std::atoll(argv[i]));
  }
  if (sizes.empty()) sizes = {100'000, 1'000'000};
  for (const auto nodes : sizes) {
    const auto name = fmt::format("generated_{}.sqlite", nodes);
    const auto trace = keep.empty() ? folder / name : keep / name;
    if (!std::filesystem::exists(trace)) {
      const auto start = std::chrono::steady_clock::now();
      assay::testing::write_generated_trace(trace, nodes);
      assay::report(nodes, "written and indexed", assay::ms_since(start), "ms");
    }
    assay::report(nodes, "size of the trace", double(std::filesystem::file_size(trace)) / (1 << 20),
                  "MiB");
    assay::measure_table(nodes, trace);
    assay::measure_layouts(nodes, trace);
    if (nodes <= 1'000'000) {
      assay::measure_window(nodes, trace);
      assay::measure_layout(nodes, trace);
    }
  }
  return 0;
}
