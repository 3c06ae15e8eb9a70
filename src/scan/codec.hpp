// Decompression of pages.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "scan/parquet_format.hpp"

namespace crossdock::scan {

// Whether pages of this codec can be read here.
bool reads_codec(Codec codec);
const char* codec_name(Codec codec);

// What the page holds; `out` has its size as the page's header says it. Error kSourceFailed.
Status decompress(Codec codec, std::span<const uint8_t> in, std::span<uint8_t> out);

}  // namespace crossdock::scan
