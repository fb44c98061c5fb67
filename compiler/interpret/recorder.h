// Whoever takes down what a host program does instead of doing it. Nothing is computed then:
// storages have sizes, and contents that mean nothing.
#pragma once
#include <string>

#include "compiler/interpret/tile_machine.h"
#include "core/ops/op_table.h"

namespace assay {

class HostRecorder {
 public:
  virtual ~HostRecorder() = default;
  virtual void launch(const HostOp& op, const std::string& kernel, TileLaunch launch) = 0;
  /// A row that computes something, never a decomposition or a mere view. Tensors of the result
  /// are views of arguments or stand in storages of their own.
  virtual void call(const HostOp& op, const OpRow& row, const DatumList& args,
                    const Datum& result) = 0;
  virtual void copy(const HostOp& op, const Tensor& from, const Tensor& to) = 0;
};

}  // namespace assay
