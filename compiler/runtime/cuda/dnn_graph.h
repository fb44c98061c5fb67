// Graphs of operations that cuDNN fuses: descriptors of its backend interface, plans, and runs.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "compiler/runtime/cuda/driver.h"
#include "core/tensor/meta.h"

namespace assay::cuda {

struct DnnGraphFunctions;

/// cudnnDataType_t, of what kernels compute with.
enum class DnnType : std::uint8_t { float32 = 0, half = 2, int32 = 4, bfloat16 = 9, truth = 11 };
/// cudnnPointwiseMode_t.
enum class DnnOp : std::int16_t {
  add = 0,
  mul = 1,
  divide = 6,
  sub = 9,
  exp = 13,
  log = 15,
  identity = 21,
  greater_or_equal = 303,
  index = 501,  ///< position along an axis
  select = 601,
};
/// cudnnReduceTensorOp_t.
enum class DnnReduction : std::uint8_t { add = 0, max = 3 };

/// One graph, from its tensors to its plan. Errors: unsupported (what the library says).
class DnnGraph {
 public:
  /// A tensor's number in its graph.
  using Id = std::size_t;

  DnnGraph(const DnnGraphFunctions& functions, void* handle) : f_(functions), handle_(handle) {}
  ~DnnGraph();
  DnnGraph(const DnnGraph&) = delete;
  auto operator=(const DnnGraph&) -> DnnGraph& = delete;

  /// In memory that whoever runs the graph names.
  auto tensor(DnnType type, const Ints& sizes, const Ints& strides) -> Id;
  /// Between two operations, in rows where nothing else is said.
  auto between(DnnType type, const Ints& sizes, const Ints& strides = {}) -> Id;
  auto number(float value, std::size_t rank) -> Id;

  void multiply(Id a, Id b, Id out);
  void reduce(DnnReduction how, Id from, Id to);
  /// The same elements in other sizes.
  void reshape(Id from, Id to);
  /// Each in the type that it computes in.
  void apply(DnnOp op, DnnType in, const std::vector<Id>& operands, Id out,
             std::optional<std::int64_t> axis = {});

  /// The first of the library's choices that it makes a plan of.
  auto finish() -> Result<void>;
  [[nodiscard]] auto workspace_bytes() const -> std::int64_t { return workspace_bytes_; }
  /// Addresses of the tensors in memory, in the order in which they were added.
  auto run(const std::vector<Address>& places, Address workspace) const -> Result<void>;

 private:
  struct Given {
    std::int64_t id;
    std::optional<float> number;
  };
  auto made(int type) -> void*;
  void set(void* of, int name, int type, std::int64_t count, const void* values);
  void set_number(void* of, int name, int type, std::int64_t value);
  void set_descriptor(void* of, int name, void* value);
  void finalize(void* of);
  auto add_tensor(DnnType type, const Ints& sizes, const Ints& strides, bool is_virtual,
                  std::optional<float> number) -> Id;
  void note(int status, const char* call);

  const DnnGraphFunctions& f_;
  void* handle_;
  std::vector<void*> owned_, tensors_, operations_;
  std::vector<Given> given_;
  mutable std::deque<float> numbers_;
  std::optional<Error> error_;  ///< the first one
  void* plan_ = nullptr;
  std::int64_t workspace_bytes_ = 0;
};

/// Opened once for the library.
[[nodiscard]] auto open_dnn_graphs(void* library) -> Result<std::shared_ptr<DnnGraphFunctions>>;

}  // namespace assay::cuda
