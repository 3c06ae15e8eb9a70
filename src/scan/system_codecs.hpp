// Decompression by libraries of the system, which are loaded when the first page asks for them: neither building nor
// starting needs them. Without a library, files that need it are read another way.
#pragma once

#include <cstdint>
#include <span>

namespace crossdock::scan {

bool has_zstd();
bool has_gzip();
bool has_brotli();
// False where `in` is not of the format, does not fill `out`, or the library is not there.
bool zstd_decompress(std::span<const uint8_t> in, std::span<uint8_t> out);
bool gzip_decompress(std::span<const uint8_t> in, std::span<uint8_t> out);
bool brotli_decompress(std::span<const uint8_t> in, std::span<uint8_t> out);

}  // namespace crossdock::scan
