// 128-bit integers for intermediate results that must not overflow.
#pragma once

namespace assay {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

}  // namespace assay
