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
#include "session/device/device.hpp"

namespace crossdock {

// Bytes on a device with what keeps them alive.
struct DeviceBytes {
  std::shared_ptr<const void> owner;
  const std::byte* data = nullptr;
  bool is_pooled = false;  // of the device's pool, from its first byte on
};

struct TableColumn {
  std::string name;
  std::string format;  // Arrow's
  WordForm form{};
  DeviceBytes values;
  DeviceBytes valid{};       // bits, as Arrow has them; none where no row is NULL
  uint64_t first_valid = 0;  // the bit of row 0
  uint64_t null_count = 0;

  bool has_nulls() const { return null_count != 0; }
};

struct DeviceTable {
  DevicePtr device;
  uint64_t rows = 0;
  std::vector<TableColumn> columns{};

  // CD-101 with the columns there are.
  Result<const TableColumn*> find(const std::string& name) const;
};

// CD-102 for a type whose values are not of 1, 2, 4 or 8 bytes: `name` and the format stand in the text.
Result<WordForm> form_of_format(const std::string& name, const std::string& format);
const char* format_of_form(WordForm form);

// Memory of the pool that a column keeps.
Result<DeviceBytes> own_bytes(const DevicePtr& device, uint64_t bytes);
DeviceBytes own_buffer(const DevicePtr& device, DeviceBuffer buffer);

}  // namespace crossdock
