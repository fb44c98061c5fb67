// PyTorch's list of operators, as it was made last (tests/torch/list_schemas.py).
#pragma once
#include <fstream>
#include <sstream>

#include "replay/conform/schemas.h"

namespace assay::testing {

inline auto listed_schemas() -> SchemaList {
  std::ifstream file(ASSAY_SOURCE_DIR "/tests/data/schemas/pytorch.tsv");
  std::stringstream text;
  text << file.rdbuf();
  return *read_schema_list(text.str());
}

}  // namespace assay::testing
