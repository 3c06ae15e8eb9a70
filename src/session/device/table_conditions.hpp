// Conditions on rows of a table, as a byte per row: what filters keep, and what aggregates look at. Within a turn.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "session/device/device_table.hpp"
#include "session/device/table_operations.hpp"

namespace crossdock::session {

// 1 for rows for which all conditions are true, and `before` if it is there; else 0. Without conditions those of
// `before`, or all. CD-101, and CD-103 for what does not compare.
Result<operators::DeviceBuffer> rows_that_fit(const DeviceTable& table,
                                              const std::vector<TableCondition>& conditions,
                                              const uint8_t* before = nullptr);

// 1 for rows with a value in the column, and `before` if it is there.
Result<operators::DeviceBuffer> rows_with_values(const DeviceTable& table,
                                                 const TableColumn& column,
                                                 const uint8_t* before = nullptr);

}  // namespace crossdock::session
