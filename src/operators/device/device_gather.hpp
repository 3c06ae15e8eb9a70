// Columns of chosen rows, made on the device (gather_work.hpp): how payloads come out of joins and group-bys.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "operators/device/device_runner.hpp"

namespace crossdock::operators {

// A column that an operator made, in Arrow's layout.
struct DeviceColumnData {
  Stored stored = Stored::kInt64;
  uint64_t rows = 0;
  uint64_t null_count = 0;
  uint64_t text_bytes = 0;
  DeviceBuffer values;    // of strings the offsets, rows + 1 of them; of bools bits
  DeviceBuffer bytes;     // of strings
  DeviceBuffer validity;  // bits; without NULLs nothing

  DeviceValues view() const {
    return {.stored = stored,
            .values = values.as<std::byte>(),
            .bytes = bytes.as<uint8_t>(),
            .validity = null_count == 0 ? nullptr : validity.as<uint8_t>()};
  }
};

struct DeviceGatherSpec {
  DeviceValues from{};
  const uint64_t* rows = nullptr;  // left out: rows from 0 on
  uint64_t count = 0;
  bool can_miss = false;  // some may be kNoRow, and are NULL
  bool is_key = false;    // floats get one NaN and no -0, as keys of groups have
};

// CD-105 for columns that kernels do not read, CD-202 where strings outgrow offsets of 32 bits, CD-201 without memory.
// Reads back one word, or two of strings.
Result<DeviceColumnData> gather_column_on_device(DeviceRunner& runner,
                                                 const DeviceGatherSpec& spec);

}  // namespace crossdock::operators
