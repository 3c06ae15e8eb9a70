// 128-bit integers, which g++ and clang have beside the standard: decimals and exact sums.
#pragma once

namespace crossdock {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

}  // namespace crossdock
