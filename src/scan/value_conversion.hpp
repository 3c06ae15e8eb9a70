// Stored values as values of the engine: the inner loops.
#pragma once

#include <cstdint>

#include "scan/column_form.hpp"

namespace crossdock::scan {

// Some of the values that lie at a place: index[0], index[1], ...; nullptr: the first `count`.
struct ValueList {
  const uint32_t* index = nullptr;
  int32_t count = 0;
};

// Copies values of `width` bytes: 1, 2, 4, 8 or 16.
void pick_values(int32_t width, const uint8_t* from, ValueList list, uint8_t* out);

// Values as they are stored in PLAIN, of any alignment. Not for strings and booleans. Answers whether all are values of
// the type, which a time in coarser units, or an integer that no double equals, may not be.
bool convert_values(const ColumnForm& form, const uint8_t* from, ValueList list, uint8_t* out);

// `count` times the value of `width` bytes.
void repeat_value(int32_t width, const uint8_t* value, int32_t count, uint8_t* out);

}  // namespace crossdock::scan
