// DeviceTable: columns that lie on one device, as Arrow lays them out. Never changed once it is made; tables share
// columns. Values may be another library's, which are kept until nothing needs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "operators/device/column_work.hpp"
#include "operators/device/device_values.hpp"
#include "session/device/device.hpp"

namespace crossdock::session {

// Bytes on a device with what keeps them alive.
struct DeviceBytes {
  std::shared_ptr<const void> owner;
  const std::byte* data = nullptr;
  bool is_pooled = false;  // of the device's pool, from its first byte on
};

struct TableColumn {
  std::string name;
  std::string format;  // Arrow's
  Stored stored = Stored::kInt64;
  DeviceBytes values{};  // of strings offsets, of booleans bits
  DeviceBytes bytes{};   // of strings
  DeviceBytes valid{};   // bits; none where no row is NULL
  uint64_t first = 0;    // the element of row 0, of values and of bits
  uint64_t null_count = 0;

  bool has_nulls() const { return null_count != 0; }
  operators::DeviceValues view() const {
    return {.stored = stored,
            .values = values.data,
            .bytes = reinterpret_cast<const uint8_t*>(bytes.data),
            .validity = has_nulls() ? reinterpret_cast<const uint8_t*>(valid.data) : nullptr,
            .first = first};
  }
};

struct DeviceTable {
  DevicePtr device;
  uint64_t rows = 0;
  std::vector<TableColumn> columns{};

  // CD-101 with the columns there are.
  Result<const TableColumn*> find(const std::string& name) const;
};

// CD-102 for a type that is not taken: `name` and the format stand in the text.
Result<Stored> stored_of_format(const std::string& name, const std::string& format);
// Bytes of a value; 0 of booleans, and of strings those of an offset.
inline uint64_t width_of(Stored stored) { return static_cast<uint64_t>(stored_bytes(stored)); }
// Whole numbers and floats of at most 64 bits, which have words (column_work.hpp); moments are whole numbers.
bool is_number(Stored stored);

// Memory of the pool that a column keeps.
Result<DeviceBytes> own_bytes(const DevicePtr& device, uint64_t bytes);
DeviceBytes own_buffer(const DevicePtr& device, operators::DeviceBuffer buffer);

}  // namespace crossdock::session
