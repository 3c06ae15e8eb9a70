// Sorts and filters, as lists of rows: those of a filter stay in a partition into one part.
#include <algorithm>

#include "operators/device/device_partition.hpp"
#include "operators/device/device_sort.hpp"
#include "session/device/table_conditions.hpp"
#include "session/device/table_operations.hpp"
#include "session/device/table_rows.hpp"

namespace crossdock::session {

Result<DeviceTable> sort_table(const DeviceTable& table,
                               const std::vector<TableOrder>& orders,
                               uint64_t limit,
                               uint64_t offset) {
  CD_ASSIGN(const DeviceTurn turn, DeviceTurn::begin(*table.device));
  const uint64_t first = std::min(offset, table.rows);
  const uint64_t count = std::min(limit, table.rows - first);
  operators::DeviceSortSpec spec{.columns = {}, .rows = table.rows, .rows_needed = first + count};
  for (const TableOrder& order : orders) {
    CD_ASSIGN(const TableColumn* const column, table.find(order.column));
    spec.columns.push_back({column->view(), order.is_descending, order.has_nulls_first});
  }
  CD_ASSIGN(const operators::DeviceBuffer rows, operators::sort_on_device(*table.device, spec));
  return take_rows(table, rows.words() + first, count);
}

Result<DeviceTable> filter_table(const DeviceTable& table,
                                 const std::vector<TableCondition>& conditions) {
  CD_ASSIGN(const DeviceTurn turn, DeviceTurn::begin(*table.device));
  const DevicePtr& device = table.device;
  CD_ASSIGN(const operators::DeviceBuffer fits, rows_that_fit(table, conditions));
  if (table.rows == 0) return take_rows(table, nullptr, 0);
  CD_ASSIGN(const operators::DeviceBuffer rows, operators::number_rows(*device, table.rows));
  const operators::PartitionColumn keeps{fits.words(), 1};
  CD_ASSIGN(const operators::DevicePartitions kept,
            operators::partition_on_device(*device,
                                           {.key = keeps,
                                            .columns = {{rows.words(), 8}},
                                            .rows = table.rows,
                                            .rule = {.mix = WordMix::from_seed(1), .ways = 1},
                                            .filter = keeps,
                                            .low = 1,
                                            .high = 1}));
  uint64_t count = 0;
  CD_TRY(device->read(&count, kept.offsets.words() + 1, sizeof(count)));
  return take_rows(table, kept.columns[0].words(), count);
}

}  // namespace crossdock::session
