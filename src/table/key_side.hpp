// How the stored values of one key column become values of the common kind.
#pragma once

#include <cstdint>

#include "base/int128.hpp"
#include "table/column.hpp"
#include "table/key_kind.hpp"
#include "table/type.hpp"

namespace crossdock {

// A stored value, seen as what reads it. Order and names follow the width and sign only.
enum class Stored : uint8_t {
  kBit,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kInt128,
  kFloat16,
  kFloat32,
  kFloat64,
  kBytes32,
  kBytes64,
  kByteViews,
};

int32_t stored_bytes(Stored stored);  // of one value or offset; 0 for kBit

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

// The bits of a float key: one NaN, and no -0.
inline uint64_t canonical_float_bits(double value) {
  if (value != value) return 0x7FF8000000000000U;
  return __builtin_bit_cast(uint64_t, value + 0.0);  // -0 + 0 = +0
}

}  // namespace crossdock
