// How the values of a column of a file become values of the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/int128.hpp"
#include "base/result.hpp"
#include "scan/parquet_format.hpp"
#include "table/type.hpp"

namespace crossdock::scan {

enum class Conversion : uint8_t {
  kBits,          // booleans
  kCopy,          // as they are stored
  kNarrow,        // integers of 8 and 16 bits, from 32
  kWiden,         // integers of 64 bits, from 32
  kReal,          // floats, from narrower floats and from integers
  kScaled,        // 64 bits times the factor: times of finer units
  kDecimal,       // decimals from integers, times the factor
  kDecimalBytes,  // the same from big-endian bytes
  kViews,         // strings, as views of the bytes of pages
  kStringCodes,   // strings, as codes of one dictionary of all files
};

struct ColumnForm {
  DataType type;  // of the engine
  Conversion conversion = Conversion::kCopy;
  PhysicalType physical = PhysicalType::kInt32;
  int32_t stored_bytes = 0;       // of a value in PLAIN; 0: strings and booleans
  int32_t definition_levels = 0;  // of a value that is not NULL; 0: none is
  bool is_unsigned = false;       // of integers, as they are stored
  Int128 factor = 1;              // of stored numbers
  bool is_narrow = false;  // decimals become 64 bits, which no stored value can exceed; else 128
  bool is_stored = true;   // else all rows of the file have `value`
  // The bytes of a value as the engine has it, a byte for a boolean; none: NULL.
  std::optional<std::string> value;

  bool nullable() const { return definition_levels > 0; }
  friend bool operator==(const ColumnForm& a, const ColumnForm& b);
};

// The form in which a column is read that other readers give as `expected`, which may be wider than what is stored.
// `definition_levels`: how many of it and the groups that it lies in may be NULL. Strings are read as views, whatever
// their layout there. Error kUnsupportedType says why it is not read here.
Result<ColumnForm> column_form(const SchemaElement& column,
                               int32_t definition_levels,
                               const DataType& expected);

// The form of a column of a file that does not store it.
ColumnForm unstored_form(const DataType& expected, std::optional<std::string> value);
// Bounds of the one value, for those who look at statistics.
ColumnChunk unstored_chunk(const ColumnForm& form);

// The same column with strings as codes.
ColumnForm coded_form(const ColumnForm& form);

}  // namespace crossdock::scan
