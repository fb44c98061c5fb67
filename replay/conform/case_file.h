// Recorded operator calls: what PyTorch's eager CPU mode really did, call by call.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/ops/datum.h"

namespace assay {

/// What PyTorch's own fake mode predicted for one result.
struct FakePrediction {
  DType dtype = DType::float32;
  Ints sizes;
  Ints strides;
  std::int64_t offset = 0;
};

/// One call. Argument tensors live in `before` storages (shared where they alias), result tensors
/// in `after` storages: index k of both is the same storage, before and after the call.
struct OperatorCase {
  std::int64_t id = 0;
  std::string overload;  ///< "aten.add.Tensor"
  std::string opinfo;    ///< PyTorch test that made the call
  std::string variant;   ///< plain, noncontiguous, channels_last, inplace, backward
  std::string schema;
  DatumList args;
  std::vector<std::pair<std::string, Datum>> kwargs;
  DatumList results;  ///< one per result; lists and None where the call returned them
  std::vector<std::shared_ptr<Storage>> before, after;
  std::vector<bool> is_input;     ///< per storage: does an argument live in it?
  std::vector<bool> is_recorded;  ///< per storage: was its content after the call recorded?
  bool records_mutation =
      false;            ///< were the arguments recorded after the call? (mutating schemas)
  bool seeded = false;  ///< random result: only metadata can be compared
  std::vector<std::optional<FakePrediction>> fake;  ///< per tensor result; empty if it failed
  std::string fake_differs;  ///< where the prediction is wrong, in words; empty if it is right
};

/// Where cases are: a file, or the bytes of one.
struct CaseSource {
  CaseSource(std::filesystem::path file) : path(std::move(file)) {}
  CaseSource(const char* file) : path(file) {}
  CaseSource(const std::string& file) : path(file) {}
  CaseSource(std::shared_ptr<const std::string> content) : bytes(std::move(content)) {}
  std::filesystem::path path;
  std::shared_ptr<const std::string> bytes;  ///< must stay as it is while cases are read
};

/// What to read: overloads whose name contains `filter` (all if empty), at most `limit` calls of
/// each (0: all).
struct CaseSelection {
  std::string filter;
  std::int64_t limit = 0;
};

/// Calls `visit` on every selected case, ordered by overload and id. Errors: bad_input (not a case
/// file, or a record that does not parse; the id is named).
[[nodiscard]] auto for_each_case(const CaseSource& source, const CaseSelection& selection,
                                 const std::function<void(const OperatorCase&)>& visit)
    -> Result<void>;
[[nodiscard]] auto read_case(const CaseSource& source, std::int64_t id) -> Result<OperatorCase>;

}  // namespace assay
