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

}  // namespace assay
