// Loops over packed and unpacked codes in vectors. Compiled per instruction set.
#pragma once

#include <cstdint>

namespace crossdock::scan {

// Bytes that unpack_groups() may read behind the end of its last group.
constexpr int64_t kUnpackAhead = 16;

// Groups of eight values of 1 <= bits <= 32, packed from the lowest bit on; a group has `bits` bytes.
void unpack_groups(int bits, const uint8_t* in, int64_t groups, uint32_t* out);

// The largest of `count` codes; 0 of none.
uint32_t largest_code(const uint32_t* codes, int64_t count);

}  // namespace crossdock::scan
