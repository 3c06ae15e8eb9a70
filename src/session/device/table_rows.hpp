// What operators on tables share: columns of words, and tables from lists of rows. Within a turn of the device.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "session/device/device_table.hpp"

namespace crossdock::session {

struct TakenRows {
  const uint64_t* rows = nullptr;
  uint64_t count = 0;
  bool has_absent = false;  // some may be kNoRow, and are NULL
  bool are_groups = false;  // floats get one NaN and no -0
};
Result<TableColumn> take_column(const DeviceTable& table,
                                const TableColumn& column,
                                const TakenRows& rows);
Result<DeviceTable> take_rows(const DeviceTable& table, const uint64_t* rows, uint64_t count);

// A column whose values are those of words.
Result<TableColumn> column_of_words(const DevicePtr& device,
                                    const TableColumn& like,
                                    const uint64_t* words,
                                    uint64_t count);

// Runs work that notes in *misfits that some value of its `count` is none of the result's.
template <class Work>
Result<bool> has_misfits(Device& device, Work work) {
  CD_ASSIGN(const operators::DeviceBuffer misfits, operators::DeviceBuffer::words(device, 1));
  CD_TRY(device.launch(operators::FillWords{.words = misfits.words(), .count = 1}, 1));
  work.misfits = misfits.words();
  CD_TRY(device.launch(
      work, operators::grid_of(device, operators::tiles_of(work.count, Work::kThreads))));
  uint64_t noted = 0;
  CD_TRY(device.read(&noted, misfits.words(), sizeof(noted)));
  return noted != 0;
}

// Rows are NULL where their count is 0.
Status set_presence(const DevicePtr& device,
                    const uint64_t* counts,
                    uint64_t count,
                    TableColumn* column);

}  // namespace crossdock::session
