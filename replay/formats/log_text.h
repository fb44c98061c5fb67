// Text pasted out of logs and messages: what loggers, launchers and mail programs put before lines.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Lines that one log call wrote. Lines of other calls between them (other ranks, other threads)
/// are blank here, so that line numbers stay what they are in the file.
struct LogRecord {
  std::string prefix;  ///< "I1122 15:13:08.168000 12761 graph_capture.py:421] [0/0] [__aot_graphs]"
  int line = 1;        ///< number of its first line in the file
  std::string text;    ///< without prefixes
};

/// Bytes before a line's own text: times, levels, file and line of the logger, compile ids, ranks,
/// `> ` of quotes. Known forms: PyTorch's loggers since 2.0, Python's default format, torchrun,
/// workers of vLLM and Ray, GitHub's job logs.
[[nodiscard]] auto log_prefix_length(std::string_view line) -> std::size_t;

/// The text as records, in the order of their first lines. Lines without prefix belong to the
/// record above them, so text without any prefix is one record.
[[nodiscard]] auto split_log(std::string_view text) -> std::vector<LogRecord>;

}  // namespace assay
