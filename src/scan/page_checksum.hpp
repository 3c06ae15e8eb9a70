// The checksum that writers may put into the header of a page: CRC-32 of gzip, of all bytes behind the header.
#pragma once

#include <cstdint>
#include <span>

namespace crossdock::scan {

uint32_t page_checksum(std::span<const uint8_t> bytes);

}  // namespace crossdock::scan
