// How the values of a column of a file become values of the engine.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "scan/parquet_format.hpp"
#include "table/type.hpp"

namespace crossdock::scan {

enum class Conversion : uint8_t {
  kBits,          // booleans
  kCopy,          // as they are stored
  kNarrow,        // integers of 8 and 16 bits, from 32
  kDecimal,       // 128 bits from integers
  kDecimalBytes,  // the same from big-endian bytes
  kViews,         // strings, as views of the bytes of pages
  kStringCodes,   // strings, as codes of one dictionary of all files
};

struct ColumnForm {
  DataType type;  // of the engine
  Conversion conversion = Conversion::kCopy;
  PhysicalType physical = PhysicalType::kInt32;
  int32_t stored_bytes = 0;  // of a value in PLAIN; 0: strings and booleans
  bool nullable = false;
};

// The form in which a column is read that other readers give as `expected`. Strings are read as views, whatever their
// layout there. Error kUnsupportedType says why it is not read here.
Result<ColumnForm> column_form(const SchemaElement& column, const DataType& expected);

// The same column with strings as codes.
ColumnForm coded_form(const ColumnForm& form);

}  // namespace crossdock::scan
