// What operators on tables share: columns as words, and tables from lists of rows. Within a turn of the device.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "session/device/device_table.hpp"

namespace crossdock {

// Words of a column: its own memory where that holds them already, else made.
struct ColumnWords {
  DeviceBuffer made;
  const uint64_t* words = nullptr;
};

// CD-102 for a column that is no number (is_number).
Status check_number(const TableColumn& column);
// Of the rows in the list, or of all. A NULL has 0, but where the column's own memory is used. CD-102 as above.
Result<ColumnWords> words_of_column(const DeviceTable& table,
                                    const TableColumn& column,
                                    const uint64_t* rows,
                                    uint64_t count);
// 1 for rows with a value, 0 for NULLs, or the other way round.
Result<DeviceBuffer> presence_of_column(const DeviceTable& table,
                                        const TableColumn& column,
                                        const uint64_t* rows,
                                        uint64_t count,
                                        bool is_inverted);

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

// Rows are NULL where their count is 0.
Status set_presence(const DevicePtr& device,
                    const uint64_t* counts,
                    uint64_t count,
                    TableColumn* column);

}  // namespace crossdock
