// How the stored values of one key column become values of the common kind.
#pragma once

#include <cstdint>

#include "base/int128.hpp"
#include "table/column.hpp"
#include "table/key_kind.hpp"
#include "table/key_word.hpp"
#include "table/type.hpp"

namespace crossdock {

struct KeySide {
  KeyForm form = KeyForm::kInteger64;
  Stored stored = Stored::kInt64;  // the values; of a dictionary: its values
  bool dictionary = false;
  Stored index = Stored::kInt32;  // of a dictionary
  // Integers, instants and decimals are multiplied by this to reach the kind's unit or scale.
  Int128 factor = 1;
  bool beyond = false;  // the factor has no 128 bits: only 0 can be equal to anything
};

KeySide make_key_side(const DataType& type, const KeyKind& kind);

// Where reading may not go past: the end of the views or of the string bytes of `column`. Slices
// into the heaps of a view column lie elsewhere and are recognised by being long.
const uint8_t* readable_end(const ColumnView& column, Stored stored);

// float16 (IEEE binary16) as a double, exactly.
double float16_value(uint16_t bits);

}  // namespace crossdock
