// The table of which stored columns are which of the engine's.
#include "scan/column_form.hpp"

#include <algorithm>

namespace crossdock::scan {
namespace {

constexpr int32_t kRepeated = 2;

int32_t bytes_of(const SchemaElement& column) {
  switch (*column.physical) {
    case PhysicalType::kInt32:
    case PhysicalType::kFloat:
      return 4;
    case PhysicalType::kInt64:
    case PhysicalType::kDouble:
      return 8;
    case PhysicalType::kInt96:
      return 12;
    case PhysicalType::kFixedBytes:
      return column.type_length;
    default:
      return 0;
  }
}

DataType named(TypeId id, const char* format) {
  DataType type;
  type.id = id;
  type.arrow_format = format;
  return type;
}

// Integers without a meaning are signed ones of their stored width.
bool is_integer_of(const SchemaElement& column, int bits, bool is_signed) {
  const int stored = 8 * bytes_of(column);
  if (column.meaning == Meaning::kNone) return is_signed && bits == stored;
  return column.meaning == Meaning::kInteger && column.integer_bits == bits &&
         column.is_signed == is_signed && bits <= stored;
}

bool is_integer_form(const SchemaElement& column, const DataType& expected) {
  const PhysicalType physical = *column.physical;
  const int bits = 8 * fixed_bytes(expected);
  const auto needed = bits == 64 ? PhysicalType::kInt64 : PhysicalType::kInt32;
  return physical == needed && is_integer_of(column, bits, is_signed_integer(expected.id));
}

bool has_unit(const SchemaElement& column,
              Meaning meaning,
              PhysicalType physical,
              const DataType& expected) {
  return column.meaning == meaning && *column.physical == physical &&
         column.units_per_second == expected.units_per_second;
}

bool is_decimal_form(const SchemaElement& column, const DataType& expected) {
  if (column.meaning != Meaning::kDecimal || column.scale != expected.scale ||
      column.precision != expected.precision) {
    return false;
  }
  switch (*column.physical) {
    case PhysicalType::kInt32:
    case PhysicalType::kInt64:
      return true;
    case PhysicalType::kFixedBytes:
      return column.type_length > 0 && column.type_length <= 16;
    default:
      return false;
  }
}

// Whether the values of the column, as they are stored, are those of the type.
bool is_copied(const SchemaElement& column, const DataType& expected) {
  switch (expected.id) {
    case TypeId::kFloat32:
      return *column.physical == PhysicalType::kFloat && column.meaning == Meaning::kNone;
    case TypeId::kFloat64:
      return *column.physical == PhysicalType::kDouble && column.meaning == Meaning::kNone;
    case TypeId::kFloat16:
      return *column.physical == PhysicalType::kFixedBytes && column.type_length == 2 &&
             column.meaning == Meaning::kFloat16;
    case TypeId::kDate32:
      return *column.physical == PhysicalType::kInt32 && column.meaning == Meaning::kDate;
    case TypeId::kTime32:
      return has_unit(column, Meaning::kTime, PhysicalType::kInt32, expected);
    case TypeId::kTime64:
      return has_unit(column, Meaning::kTime, PhysicalType::kInt64, expected);
    case TypeId::kTimestamp:
      return has_unit(column, Meaning::kTimestamp, PhysicalType::kInt64, expected);
    default:
      return false;
  }
}

Error not_read(const SchemaElement& column, std::string_view why) {
  return make_error(
      ErrorCode::kUnsupportedType, "column \"{}\" is not read here: {}", column.name, why);
}

}  // namespace

Result<ColumnForm> column_form(const SchemaElement& column, const DataType& expected) {
  if (!column.physical.has_value() || column.children != 0 || column.repetition == kRepeated) {
    return not_read(column, "it is nested");
  }
  ColumnForm form;
  form.type = expected;
  form.physical = *column.physical;
  form.stored_bytes = bytes_of(column);
  form.nullable = column.repetition != 0;
  const bool is_bytes = form.physical == PhysicalType::kByteArray;
  if (expected.id == TypeId::kBool && form.physical == PhysicalType::kBoolean) {
    form.conversion = Conversion::kBits;
    return form;
  }
  if (is_string(expected.id) && is_bytes && column.meaning == Meaning::kString) {
    form.type = named(TypeId::kUtf8View, "vu");
    form.conversion = Conversion::kViews;
    return form;
  }
  if (is_binary(expected.id) && is_bytes && column.meaning == Meaning::kNone) {
    form.type = named(TypeId::kBinaryView, "vz");
    form.conversion = Conversion::kViews;
    return form;
  }
  if (expected.id == TypeId::kDecimal128 && is_decimal_form(column, expected)) {
    form.conversion = form.physical == PhysicalType::kFixedBytes ? Conversion::kDecimalBytes
                                                                 : Conversion::kDecimal;
    return form;
  }
  const bool is_integer = is_signed_integer(expected.id) || is_unsigned_integer(expected.id);
  if (is_integer && is_integer_form(column, expected)) {
    form.conversion = fixed_bytes(expected) < 4 ? Conversion::kNarrow : Conversion::kCopy;
    return form;
  }
  if (is_copied(column, expected)) return form;
  return not_read(column, fmt::format("its values do not lie as {}", type_name(expected)));
}

ColumnForm coded_form(const ColumnForm& form) {
  const bool holds_strings = form.type.id == TypeId::kUtf8View;
  ColumnForm coded = form;
  coded.conversion = Conversion::kStringCodes;
  coded.type = named(TypeId::kDictionary, "i");
  coded.type.dictionary = std::make_shared<const DataType>(
      holds_strings ? named(TypeId::kUtf8, "u") : named(TypeId::kBinary, "z"));
  return coded;
}

}  // namespace crossdock::scan
