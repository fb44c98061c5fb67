// What the reader of C++ kernels knows where it is: open loops, variables, local arrays. Internal
// to compiler/read.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "compiler/read/cpp_value.h"

namespace assay {

/// An open loop, as an axis of elements. A loop over vectors takes `width` of them per round.
struct CppLoop {
  std::string name;
  std::size_t axis = 0;
  int serial = 0;  ///< of this execution
  Expr begin, end, value, index, lane;
  std::int64_t width = 1;
  Expr low, high;            ///< rounds where we are, from their first element to their last
  Expr count;                ///< elements per round there
  bool is_whole = false;     ///< rounds are known to have `count` elements
  bool is_inside = false;    ///< a loop over the elements of one round is open
  bool goes_beyond = false;  ///< that loop goes to `width`, which is more than `count`
};

/// A variable: its value, and how many loops are open where it was declared.
struct CppLocal {
  CppValue value;
  std::size_t depth = 0;
  int updated_in = 0;  ///< loop that adds to it: the value is not to be read in there
};

/// What was stored to an element of a local array. Of a transposed copy (`rows` is set) element
/// `n * to + m` is element `m * from + n` of the source.
struct CppStored {
  Expr index;
  CppValue value;
  TileId mask = kNoTile;
  std::size_t depth = 0;
  int updated_in = 0;
  CppValue source;
  Expr from, to;
  std::optional<Expr> rows, columns;
  int node = -1;  ///< the copy
};
struct CppArray {
  DType dtype = DType::float32;
  std::vector<CppStored> stored;
};

/// `x0 >= 0 && x0 < 16*(n/16)`: rounds of a loop.
struct CppRange {
  std::size_t loop = 0;
  Expr low, high;
};

}  // namespace assay
