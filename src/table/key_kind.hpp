// What two key columns compare as: the common ground of both sides' types.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "table/type.hpp"

namespace crossdock {

enum class KeyForm : uint8_t {
  kBool,
  kInteger64,   // both sides fit 64 bits of the same meaning: integers, dates, instants of one unit
  kInteger128,  // int64 against uint64: by value
  kInstant,     // dates, times, timestamps or durations of two units: by value, in the finer unit
  kFloat,       // as float64; NaN equals NaN, -0 equals 0
  kDecimal,     // decimals of any scale and integers: by value, at `scale`
  kBytes,       // strings or binary of any layout
};

struct KeyKind {
  KeyForm form = KeyForm::kInteger64;
  int32_t scale = 0;             // kDecimal: the larger of both
  int64_t units_per_second = 0;  // kInstant: the finer of both

  friend bool operator==(const KeyKind&, const KeyKind&) = default;
};

// A 64-bit word can stand for the whole key: KeyLoader::load gives equal words for equal keys and
// different words for different ones.
bool is_exact64(const KeyKind& kind);

// The kind in which values of both types compare, dictionaries standing for their values. Error
// kKeyTypeMismatch names both types and proposes a cast.
Result<KeyKind> common_key_kind(const DataType& left, const DataType& right);

}  // namespace crossdock
