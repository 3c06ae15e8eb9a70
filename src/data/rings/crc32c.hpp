// CRC-32C (Castagnoli), the checksum of whatever leaves the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace crossdock::rings {

// Of `bytes`, going on from the checksum of what came before them: crc32c(b, crc32c(a)) is that of a and b together.
// By carry-less multiplication where the processor has it (chosen at run time), from tables of 8 KiB elsewhere; safe
// from any thread.
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before = 0);

// The same, and copies them on the way to where they do not overlap: each is read once.
uint32_t copy_crc32c(std::span<const std::byte> bytes, std::byte* to, uint32_t before = 0);

}  // namespace crossdock::rings
