// assay-view: the window over traces, bundles and logs.
#include <cstdio>

#include <QApplication>
#include <QCommandLineParser>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStyleFactory>

#include "gui/app/script.h"
#include "gui/views/theme.h"

namespace {

struct Options {
  QString file, at, script, screenshot, settings;
  bool exit = false, dark = false, reset_layout = false;

  /// What a script shows depends on nothing but the script, unless it says on what.
  [[nodiscard]] auto has_session() const -> bool {
    return !settings.isEmpty() || (script.isEmpty() && screenshot.isEmpty() && !exit);
  }
};

auto parse(QApplication& app) -> Options {
  QCommandLineParser parser;
  parser.setApplicationDescription(
      QObject::tr("Looks at traces, bundles, captures and TORCH_TRACE logs.\n\n"
                  "  assay-view run.sqlite\n"
                  "  assay-view failure.assay.zip --at node:constant_pad_nd\n"
                  "  QT_QPA_PLATFORM=offscreen assay-view run.sqlite --screenshot x.png --exit"));
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument(QStringLiteral("FILE"), QObject::tr("what to open"),
                               QStringLiteral("[FILE]"));
  parser.addOptions({
      {QStringLiteral("at"), QObject::tr("go to node:NAME, finding:N, graph:N, step:N"),
       QStringLiteral("PLACE")},
      {QStringLiteral("script"), QObject::tr("play these steps (a JSON list), print what failed"),
       QStringLiteral("STEPS.json")},
      {QStringLiteral("screenshot"), QObject::tr("save a picture of the window once it rests"),
       QStringLiteral("PICTURE.png")},
      {QStringLiteral("exit"),
       QObject::tr("end after script and picture; exit code 1 if a step failed")},
      {QStringLiteral("dark"), QObject::tr("start with the dark theme")},
      {QStringLiteral("settings"),
       QObject::tr("keep layout, theme, keys, places and pins in this file"),
       QStringLiteral("FILE.ini")},
      {QStringLiteral("reset-layout"), QObject::tr("start with the layout of the first start")},
  });
  parser.process(app);
  return {.file = parser.positionalArguments().value(0),
          .at = parser.value(QStringLiteral("at")),
          .script = parser.value(QStringLiteral("script")),
          .screenshot = parser.value(QStringLiteral("screenshot")),
          .settings = parser.value(QStringLiteral("settings")),
          .exit = parser.isSet(QStringLiteral("exit")),
          .dark = parser.isSet(QStringLiteral("dark")),
          .reset_layout = parser.isSet(QStringLiteral("reset-layout"))};
}

auto steps_of(const Options& options) -> std::optional<QJsonArray> {
  QJsonArray steps;
  if (!options.script.isEmpty()) {
    QFile file(options.script);
    const auto json =
        file.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(file.readAll()) : QJsonDocument();
    if (!json.isArray()) return std::nullopt;
    steps = json.array();
  }
  if (!options.screenshot.isEmpty())
    steps.append(QJsonObject{{QStringLiteral("screenshot"), options.screenshot}});
  return steps;
}

/// The session, if there is to be one, and its theme.
auto session_of(const Options& options) -> std::unique_ptr<assay::Session> {
  assay::set_theme(options.dark);
  if (!options.has_session()) return nullptr;
  auto session = options.settings.isEmpty() ? assay::Session::of_user()
                                            : assay::Session::in_file(options.settings);
  if (options.reset_layout) session->forget_window();
  constexpr int kHalf = 128;
  const bool desktop = QGuiApplication::palette().color(QPalette::Window).lightness() < kHalf;
  assay::set_theme(options.dark || session->is_dark().value_or(desktop));
  return session;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  QApplication app(argc, argv);
  QApplication::setApplicationName(QStringLiteral("assay-view"));
  QApplication::setApplicationVersion(QStringLiteral(ASSAY_VERSION));
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  const auto options = parse(app);
  const auto steps = steps_of(options);
  if (!steps) {
    std::fprintf(stderr, "assay-view: error: %s: no list of steps\n", qPrintable(options.script));
    return 2;
  }
  auto session = session_of(options);
  assay::Window window;
  if (session) window.use_session(std::move(session));
  window.show();
  if (!options.file.isEmpty()) window.open(options.file);
  if (!options.at.isEmpty()) window.go_to(options.at);
  assay::Script script(window, *steps);
  int code = 0;
  script.run([&](const QStringList& failures) {
    for (const auto& failure : failures)
      std::fprintf(stderr, "assay-view: %s\n", qPrintable(failure));
    if (!options.script.isEmpty()) std::printf("gestures: %d\n", script.gestures());
    code = failures.isEmpty() ? 0 : 1;
    if (!options.exit) return;
    window.close();
    QApplication::exit(code);
  });
  const int left = QApplication::exec();
  return options.exit ? code : left;
}
