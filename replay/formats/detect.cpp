#include "replay/formats/detect.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "replay/formats/debug_mode.h"
#include "replay/formats/json.h"
#include "replay/formats/torch_trace.h"
#include "replay/formats/zip.h"

namespace assay {
namespace {

struct Magic {
  std::string_view bytes;
  InputFormat format;
};
constexpr std::array kMagics = {
    Magic{"SQLite format 3", InputFormat::trace_db},
    Magic{"\x1f\x8b", InputFormat::compressed},
    Magic{"\xfd"
          "7zXZ",
          InputFormat::compressed},
    Magic{"\x28\xb5\x2f\xfd", InputFormat::compressed},
    Magic{"BZh", InputFormat::compressed},
};

auto is_bundle(std::string_view bytes) -> bool {
  constexpr std::int64_t kMaxManifest = std::int64_t{16} << 20;
  const auto zip = ZipReader::open(bytes);
  const auto* entry = zip ? zip->find(kBundleManifest) : nullptr;
  if (entry == nullptr || entry->size_bytes > kMaxManifest) return false;
  const auto text = zip->read(kBundleManifest);
  if (!text) return false;
  const auto manifest = JsonDocument::parse(*text, "manifest");
  return manifest && manifest->root()["format"].as_string() == kBundleFormat;
}

/// Lines of glog begin `V1120 10:49:12.345678 `: level, month, day, time; perhaps behind
/// `[rank0]:`.
auto is_log_line(std::string_view text) -> bool {
  constexpr std::string_view kShape = "Ldddd dd:dd:dd";
  if (text.starts_with("[rank"))
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(": ", text.find(']') + 1)));
  if (text.size() < kShape.size()) return false;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const char c = text[i];
    const bool fits = kShape[i] == 'L'   ? std::string_view("VIWEDCF").contains(c)
                      : kShape[i] == 'd' ? std::isdigit(static_cast<unsigned char>(c)) != 0
                                         : c == kShape[i];
    if (!fits) return false;
  }
  return true;
}

/// A log whose first lines are glog's and that has an event: JSON right behind the place. Without,
/// it is what TORCH_LOGS printed.
auto is_trace_log(std::string_view text) -> bool {
  constexpr std::string_view kEvent = "] {";
  if (!is_log_line(text)) return false;
  for (auto at = text.find(kEvent); at != std::string_view::npos; at = text.find(kEvent, at + 1)) {
    const auto start = text.rfind('\n', at) + 1;  // npos + 1 is 0
    const auto line = text.substr(start, at + kEvent.size() - start);
    const auto first = line.find("] ", line.starts_with("[rank") ? line.find(']') + 1 : 0);
    if (is_log_line(line) && first == at - start) return true;
  }
  return false;
}

/// Words by which a script is known that says what its graph is fed with.
constexpr std::array<std::string_view, 7> kScriptWords = {
    "def load_args",  "class Repro(",  "args = [(",   "args.append(",
    "reader.tensor(", "rand_strided(", "InputReader("};

auto detect_text(std::string_view text) -> InputFormat {
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return InputFormat::empty;
  if (is_trace_log(text.substr(start))) return InputFormat::torch_trace;
  if (text[start] == '{') return InputFormat::capture_json;
  if (text.contains("def load_args")) return InputFormat::repro_script;
  const bool has_graph = text.contains("Module)") || text.contains("def forward(");
  const bool is_wrapper = text.contains("async_compile") || text.contains("def call(");
  const auto is_in = [&](std::string_view word) { return text.contains(word); };
  return has_graph && !is_wrapper && std::ranges::any_of(kScriptWords, is_in)
             ? InputFormat::repro_script
             : InputFormat::graph_text;
}

auto read_torch_trace_capture(std::string_view bytes, std::string_view graph) -> Result<Capture> {
  ASSAY_TRY(const auto log, read_torch_trace(bytes));
  return trace_capture(log, graph);
}

auto read_as(InputFormat format, std::string_view bytes, const std::filesystem::path& folder,
             std::string_view graph) -> Result<Capture> {
  const bool has_choice = format == InputFormat::graph_text || format == InputFormat::torch_trace;
  if (!graph.empty() && !has_choice)
    return std::unexpected(Error{ErrorCode::usage, "a graph can be chosen in texts and logs only"});
  switch (format) {
    case InputFormat::pt2:
      return read_pt2(bytes);
    case InputFormat::capture_json:
      if (is_debug_mode_log(bytes))
        return unsupported("a log of DebugMode, which holds no graph; `assay compare` takes two");
      return read_capture_json(bytes, folder);
    case InputFormat::repro_script:
      return read_repro_script(bytes);
    case InputFormat::graph_text:
      return read_graph_text(bytes, graph);
    case InputFormat::empty:
      return bad_input("nothing inside");
    case InputFormat::bundle:
      return unsupported("a bundle is more than a capture; open it as a bundle");
    case InputFormat::torch_trace:
      return read_torch_trace_capture(bytes, graph);
    case InputFormat::trace_db:
      return unsupported("a trace database, not a capture; ask it with `assay query`");
    case InputFormat::compressed:
      return unsupported("a compressed file; unpack it first");
    case InputFormat::binary:
      return bad_input("neither text nor a zip archive");
  }
  return bad_input("unknown kind of input");
}

}  // namespace

auto detect_format(std::string_view bytes) -> InputFormat {
  if (bytes.empty()) return InputFormat::empty;
  if (looks_like_zip(bytes)) return is_bundle(bytes) ? InputFormat::bundle : InputFormat::pt2;
  for (const auto& row : kMagics)
    if (bytes.starts_with(row.bytes)) return row.format;
  if (is_trace_log(bytes)) return InputFormat::torch_trace;  // payloads may hold any bytes
  if (bytes.contains('\0') || !is_utf8(bytes)) return InputFormat::binary;
  return detect_text(bytes);
}

auto read_capture_in(std::string_view bytes, const std::string& name,
                     const std::filesystem::path& folder, std::string_view graph)
    -> Result<Capture> {
  // Windows editors put a byte order mark before text.
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
  auto capture = read_as(detect_format(bytes), bytes, folder, graph);
  if (!capture) return with_context(std::move(capture).error(), name);
  capture->source_path = name;
  return capture;
}

auto read_capture(std::string_view bytes, const std::string& name) -> Result<Capture> {
  return read_capture_in(bytes, name, {});
}

auto folder_of(const std::filesystem::path& path) -> std::filesystem::path {
  return path.has_parent_path() ? path.parent_path() : ".";
}

auto read_capture_file(const std::filesystem::path& path) -> Result<Capture> {
  ASSAY_TRY(const auto bytes, read_file(path));
  return read_capture_in(bytes, path.string(), folder_of(path));
}

}  // namespace assay
