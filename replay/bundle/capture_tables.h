// Spellings shared by the reader and the writer of capture.json.
#pragma once
#include <array>
#include <string_view>

#include "replay/formats/capture.h"

namespace assay {

struct InputRoleName {
  InputRole::Kind kind;
  std::string_view name;
};
inline constexpr std::array kInputRoleNames = {
    InputRoleName{InputRole::Kind::user_input, "user_input"},
    InputRoleName{InputRole::Kind::parameter, "parameter"},
    InputRoleName{InputRole::Kind::buffer, "buffer"},
    InputRoleName{InputRole::Kind::constant, "constant"},
    InputRoleName{InputRole::Kind::other, "other"},
};

struct OutputRoleName {
  OutputRole::Kind kind;
  std::string_view name;
};
inline constexpr std::array kOutputRoleNames = {
    OutputRoleName{OutputRole::Kind::user_output, "user_output"},
    OutputRoleName{OutputRole::Kind::buffer_mutation, "buffer_mutation"},
    OutputRoleName{OutputRole::Kind::input_mutation, "input_mutation"},
    OutputRoleName{OutputRole::Kind::gradient, "gradient"},
    OutputRoleName{OutputRole::Kind::other, "other"},
};

}  // namespace assay
