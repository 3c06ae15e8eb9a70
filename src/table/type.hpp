// The column types Crossdock moves: Arrow's, seen through the widths that the operators care about.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace crossdock {

enum class TypeId : uint8_t {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kFloat32,
  kFloat64,
  kDecimal128,
  kDate32,
  kDate64,
  kTime32,
  kTime64,
  kTimestamp,
  kDuration,
  kUtf8,
  kLargeUtf8,
  kUtf8View,
  kBinary,
  kLargeBinary,
  kBinaryView,
  kDictionary,  // fixed-width indices into `dictionary` values
};

// How the values of one column lie in memory.
enum class Layout : uint8_t { kBits, kFixed, kOffsets32, kOffsets64, kViews };

struct DataType {
  TypeId id = TypeId::kInt64;
  std::string arrow_format;      // Arrow C Data format string: kept to give back what came in
  int32_t precision = 0;         // decimal128
  int32_t scale = 0;             // decimal128
  int64_t units_per_second = 0;  // timestamp, time, duration: 1, 1e3, 1e6, 1e9
  std::string timezone;          // timestamp; empty = no zone
  std::shared_ptr<const DataType> dictionary;  // kDictionary: type of the values; the format above
                                               // is then that of the indices
  bool ordered_dictionary = false;

  // Same meaning and same memory: two spellings of one format ("d:9,2", "d:9,2,128") are equal.
  friend bool operator==(const DataType& a, const DataType& b);
};

Layout layout(const DataType& type);

// Bytes of one value where layout is kFixed (1, 2, 4, 8 or 16; dictionaries: of the index);
// 16 for kViews; 0 for kBits and offsets.
int32_t fixed_bytes(const DataType& type);

// Decimals of so many digits fit 64 bits.
constexpr int32_t kNarrowDecimalDigits = 18;

// Type of the indices of a kDictionary type: an integer of any width, signed or not.
TypeId dictionary_index(const DataType& type);

// The type of the values themselves: of the dictionary's, where there is one.
const DataType& value_type(const DataType& type);

bool is_signed_integer(TypeId id);
bool is_unsigned_integer(TypeId id);
bool is_floating(TypeId id);
bool is_string(TypeId id);  // utf8, large_utf8, utf8_view
bool is_binary(TypeId id);  // binary, large_binary, binary_view

// "int64", "decimal128(15, 2)", "timestamp[us, tz=UTC]", "dictionary<int32, utf8>".
std::string type_name(const DataType& type);

// Reads an Arrow C Data format string of a non-dictionary type. Error kUnsupportedType names the
// format; the caller adds the column.
Result<DataType> parse_arrow_format(std::string_view format);

}  // namespace crossdock
