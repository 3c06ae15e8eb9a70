// Strings of columns as slices. Internal to the room.
#pragma once

#include <cstdint>
#include <string_view>

#include "expressions/step_frame.hpp"

namespace crossdock::expressions::steps {

constexpr uint32_t kInlineBytes = 12;  // what a string view holds itself

// Rows [begin, begin + count) of a column of strings; `valid` as in Value.
struct StringRows {
  const ColumnView& column;
  const DataType& type;
  int64_t begin;
  int32_t count;
  const uint8_t* valid;
};

// Slices of the rows, in place. Rows of views and dictionaries that are null give empty slices, since what
// lies there may be anything.
void load_slices(const StringRows& rows, std::string_view* out);

// The index of a row of a dictionary column.
int64_t dictionary_index_at(const ColumnView& column, TypeId index_type, int64_t row);

// The strings of a step; those of a column are loaded when its first reader asks.
const std::string_view* known_strings(const Frame& frame, int32_t index);

// Clears `valid` for rows whose index names a null.
void drop_null_entries(const Frame& frame, int32_t index);

}  // namespace crossdock::expressions::steps
