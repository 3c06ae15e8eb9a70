// Launches, one per column.
#include "session/device/table_rows.hpp"

#include <bit>

namespace crossdock {
namespace {

template <class Work>
Status launch_rows(const DevicePtr& device, const Work& work, uint64_t units) {
  if (units == 0) return {};
  return device->launch(work, grid_of(*device, tiles_of(units, Work::kThreads)));
}

Result<uint64_t> count_nulls(const DevicePtr& device, const std::byte* bits, uint64_t count) {
  CD_ASSIGN(const std::vector<uint8_t> read, read_values<uint8_t>(*device, bits, (count + 7) / 8));
  uint64_t ones = 0;
  for (const uint8_t byte : read) ones += static_cast<uint64_t>(std::popcount(byte));
  return count - ones;  // bits behind the last are 0
}

}  // namespace

Result<ColumnWords> words_of_column(const DeviceTable& table,
                                    const TableColumn& column,
                                    const uint64_t* rows,
                                    uint64_t count,
                                    WordOrder order) {
  ColumnWords found;
  const bool are_words = column.form == WordForm{WordKind::kSigned, 8};
  if (are_words && rows == nullptr && !order.is_descending) {
    found.words = reinterpret_cast<const uint64_t*>(column.values.data);
    return Result<ColumnWords>(std::move(found));
  }
  CD_ASSIGN(found.made, DeviceBuffer::words(*table.device, count));
  found.words = found.made.words();
  CD_TRY(launch_rows(table.device,
                     ReadWords{.values = column.values.data,
                               .form = column.form,
                               .bits = column.has_nulls() ? column.valid.data : nullptr,
                               .first_bit = column.first_valid,
                               .rows = rows,
                               .is_descending = order.is_descending,
                               .nan_is_low = order.nan_is_low,
                               .to = found.made.words(),
                               .count = count},
                     count));
  return Result<ColumnWords>(std::move(found));
}

Result<DeviceBuffer> presence_of_column(const DeviceTable& table,
                                        const TableColumn& column,
                                        const uint64_t* rows,
                                        uint64_t count,
                                        bool is_inverted) {
  CD_ASSIGN(DeviceBuffer made, DeviceBuffer::words(*table.device, count));
  CD_TRY(launch_rows(table.device,
                     SpreadBits{.bits = column.has_nulls() ? column.valid.data : nullptr,
                                .first_bit = column.first_valid,
                                .rows = rows,
                                .is_inverted = is_inverted,
                                .to = made.words(),
                                .count = count},
                     count));
  return Result<DeviceBuffer>(std::move(made));
}

Result<TableColumn> take_column(const DeviceTable& table,
                                const TableColumn& column,
                                const uint64_t* rows,
                                uint64_t count,
                                bool has_absent) {
  TableColumn taken{
      .name = column.name, .format = column.format, .form = column.form, .values = {}};
  CD_ASSIGN(taken.values, own_bytes(table.device, count * column.form.width_bytes));
  CD_TRY(launch_rows(table.device,
                     TakeValues{.values = column.values.data,
                                .width_bytes = column.form.width_bytes,
                                .rows = rows,
                                .to = const_cast<std::byte*>(taken.values.data),
                                .count = count},
                     count));
  if (!column.has_nulls() && !has_absent) return taken;
  CD_ASSIGN(taken.valid, own_bytes(table.device, (count + 7) / 8));
  CD_TRY(launch_rows(table.device,
                     TakeBits{.bits = column.has_nulls() ? column.valid.data : nullptr,
                              .first_bit = column.first_valid,
                              .rows = rows,
                              .to = const_cast<std::byte*>(taken.valid.data),
                              .count = count},
                     (count + 7) / 8));
  CD_ASSIGN(taken.null_count, count_nulls(table.device, taken.valid.data, count));
  if (!taken.has_nulls()) taken.valid = {};
  return taken;
}

Result<DeviceTable> take_rows(const DeviceTable& table, const uint64_t* rows, uint64_t count) {
  DeviceTable taken{.device = table.device, .rows = count};
  for (const TableColumn& column : table.columns) {
    CD_ASSIGN(TableColumn made, take_column(table, column, rows, count, false));
    taken.columns.push_back(std::move(made));
  }
  CD_TRY(table.device->driver().wait());
  return Result<DeviceTable>(std::move(taken));
}

Result<TableColumn> column_of_words(const DevicePtr& device,
                                    const TableColumn& like,
                                    const uint64_t* words,
                                    uint64_t count) {
  TableColumn made{.name = like.name, .format = like.format, .form = like.form, .values = {}};
  CD_ASSIGN(made.values, own_bytes(device, count * like.form.width_bytes));
  CD_TRY(launch_rows(device,
                     WriteWords{.words = words,
                                .form = like.form,
                                .to = const_cast<std::byte*>(made.values.data),
                                .count = count},
                     count));
  return made;
}

Result<DeviceBuffer> row_numbers(const DevicePtr& device, uint64_t count) {
  CD_ASSIGN(DeviceBuffer numbers, DeviceBuffer::words(*device, count));
  CD_TRY(launch_rows(device, GatherWords{.to = numbers.words(), .count = count}, count));
  return Result<DeviceBuffer>(std::move(numbers));
}

}  // namespace crossdock
