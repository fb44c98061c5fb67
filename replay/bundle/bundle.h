// One zip file with everything that a recorded failure needs: anyone can open it, and the same
// content always gives the same bytes.
//
//   manifest.json   format, version, tool, source, and SHA-256 of every other file
//   graph.txt       the program in the native text form, with symbols and guards
//   capture.json    inputs, storages, attributes, observations, roles, environment
//   repro.py        the same program for PyTorch, without Assay
//   verdict.json    what a command found, if one was recorded
//   operators.sqlite  recorded calls of operators without a row, if there were any
//   blobs/<sha256>  raw storages, little endian
//
// Of a compiled program there is in place of graph, capture and script:
//
//   program.py      a wrapper of Inductor, or program.log: a TORCH_TRACE log
//   inputs.json     inputs and recorded answers, if there were any
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "replay/formats/capture.h"

namespace assay {

inline constexpr int kBundleVersion = 1;

struct Bundle {
  /// `source_path` is kept as a bare file name: a bundle says nothing about the machine it is from.
  Capture capture;
  /// JSON text of a recorded verdict (command, options, findings, exit code); empty if none.
  std::string verdict_json;
  /// Files that this version does not know, by name; they survive a rewrite.
  std::vector<std::pair<std::string, std::string>> extra;
};

/// Bytes of the zip file. write_bundle(read_bundle(b)) == b for every b it wrote itself.
/// Errors: bad_input (verdict is no JSON, an extra name is unsafe or taken, an input is missing).
[[nodiscard]] auto write_bundle(const Bundle& bundle) -> Result<std::string>;

/// Checks sizes, names and every hash before anything is used; writes nothing to disk.
/// Errors: bad_input naming the file inside, unsupported (a newer version).
[[nodiscard]] auto read_bundle(std::string_view bytes) -> Result<Bundle>;

/// A compiled program, as recorded.
struct ProgramBundle {
  std::string source_path;        ///< kept as a bare file name
  std::string text;               ///< of the wrapper or log
  std::string inputs_json = {};   ///< see read_program_answers; empty if none
  std::string verdict_json = {};  ///< as in Bundle
  std::vector<std::pair<std::string, std::string>> extra = {};  ///< as in Bundle
};

/// As above. Errors: bad_input (an extra name is unsafe or taken, no JSON where it should be).
[[nodiscard]] auto write_bundle(const ProgramBundle& bundle) -> Result<std::string>;
/// Errors: as read_bundle; bad_input where the bundle holds a capture.
[[nodiscard]] auto read_program_bundle(std::string_view bytes) -> Result<ProgramBundle>;
/// Whether the bytes are a bundle with a compiled program; nothing else of it is checked.
[[nodiscard]] auto is_program_bundle(std::string_view bytes) -> bool;

}  // namespace assay
