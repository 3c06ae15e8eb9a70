// Tables of columns for launches, made and read by the host.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "data/codecs/device/codec_work.hpp"

namespace crossdock::codecs {

// Sets each column's first tile, and answers how many there are. A column that no coder takes is the caller's mistake.
uint64_t number_tiles(std::span<EncodeColumn> columns);
uint64_t number_tiles(std::span<DecodeColumn> columns);

// What a launch's fault word says: nothing, CD-613 of coded bytes that are none, or CD-901 of a launch that stuck.
Status fault_status(uint64_t fault, std::span<const EncodeColumn> columns);
Status fault_status(uint64_t fault, std::span<const DecodeColumn> columns);

}  // namespace crossdock::codecs
