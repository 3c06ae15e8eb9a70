#include "session/device/table_rows.hpp"

#include "operators/device/device_gather.hpp"

namespace crossdock::session {
namespace {

template <class Work>
Status launch_rows(const DevicePtr& device, const Work& work, uint64_t units) {
  if (units == 0) return {};
  return device->launch(work,
                        operators::grid_of(*device, operators::tiles_of(units, Work::kThreads)));
}

}  // namespace

Result<TableColumn> take_column(const DeviceTable& table,
                                const TableColumn& column,
                                const TakenRows& rows) {
  CD_ASSIGN(operators::DeviceColumnData gathered,
            operators::gather_column_on_device(*table.device,
                                               {.from = column.view(),
                                                .rows = rows.rows,
                                                .count = rows.count,
                                                .can_miss = rows.has_absent,
                                                .is_key = rows.are_groups}));
  TableColumn taken{.name = column.name, .format = column.format, .stored = column.stored};
  taken.null_count = gathered.null_count;
  taken.values = own_buffer(table.device, std::move(gathered.values));
  if (operators::is_text(column.stored))
    taken.bytes = own_buffer(table.device, std::move(gathered.bytes));
  if (taken.has_nulls()) taken.valid = own_buffer(table.device, std::move(gathered.validity));
  return taken;
}

Result<DeviceTable> take_rows(const DeviceTable& table, const uint64_t* rows, uint64_t count) {
  DeviceTable taken{.device = table.device, .rows = count};
  for (const TableColumn& column : table.columns) {
    CD_ASSIGN(TableColumn part, take_column(table, column, {.rows = rows, .count = count}));
    taken.columns.push_back(std::move(part));
  }
  CD_TRY(table.device->driver().wait());
  return Result<DeviceTable>(std::move(taken));
}

Result<TableColumn> column_of_words(const DevicePtr& device,
                                    const TableColumn& like,
                                    const uint64_t* words,
                                    uint64_t count) {
  TableColumn column{.name = like.name, .format = like.format, .stored = like.stored};
  CD_ASSIGN(column.values, own_bytes(device, count * width_of(like.stored)));
  CD_TRY(launch_rows(device,
                     operators::WriteWords{.words = words,
                                           .stored = like.stored,
                                           .to = const_cast<std::byte*>(column.values.data),
                                           .count = count},
                     count));
  return column;
}

Status set_presence(const DevicePtr& device,
                    const uint64_t* counts,
                    uint64_t count,
                    TableColumn* column) {
  CD_ASSIGN(column->valid, own_bytes(device, operators::tiles_of(count, 8)));
  CD_ASSIGN(const operators::DeviceBuffer zeros, operators::DeviceBuffer::words(*device, 1));
  CD_TRY(device->launch(operators::FillWords{.words = zeros.words(), .count = 1}, 1));
  CD_TRY(launch_rows(device,
                     operators::CountedBits{.counts = counts,
                                            .count = count,
                                            .to = reinterpret_cast<uint8_t*>(
                                                const_cast<std::byte*>(column->valid.data)),
                                            .zeros = zeros.words()},
                     count));
  return device->read(&column->null_count, zeros.words(), sizeof(column->null_count));
}

}  // namespace crossdock::session
