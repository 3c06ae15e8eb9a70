#include "scan/column_form.hpp"

#include <utility>

namespace crossdock::scan {
namespace {

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

struct StoredInteger {
  int bits = 0;
  bool is_signed = true;

  bool fits(int wanted_bits, bool wanted_signed) const {
    if (is_signed == wanted_signed) return bits <= wanted_bits;
    return wanted_signed && bits < wanted_bits;
  }
};

// Integers without a meaning are signed ones of their stored width.
std::optional<StoredInteger> stored_integer(const SchemaElement& column) {
  const PhysicalType physical = *column.physical;
  if (physical != PhysicalType::kInt32 && physical != PhysicalType::kInt64) return std::nullopt;
  const int stored = 8 * bytes_of(column);
  if (column.meaning == Meaning::kNone) return StoredInteger{stored, true};
  const bool is_narrow = physical == PhysicalType::kInt32;
  const bool is_plain = column.integer_bits == 64 ? !is_narrow : is_narrow;
  if (column.meaning != Meaning::kInteger || !is_plain || column.integer_bits > stored) {
    return std::nullopt;
  }
  return StoredInteger{column.integer_bits, column.is_signed};
}

bool set_integer_form(const SchemaElement& column, ColumnForm& form) {
  const auto stored = stored_integer(column);
  const int bits = 8 * fixed_bytes(form.type);
  if (!stored.has_value() || !stored->fits(bits, is_signed_integer(form.type.id))) return false;
  form.is_unsigned = !stored->is_signed;
  const bool is_wider = bits == 64 && form.physical == PhysicalType::kInt32;
  form.conversion = bits < 32 ? Conversion::kNarrow
                  : is_wider  ? Conversion::kWiden
                              : Conversion::kCopy;
  return true;
}

// All integers may be doubles, and those of up to 16 bits floats.
bool set_real_form(const SchemaElement& column, ColumnForm& form) {
  const bool is_double = form.type.id == TypeId::kFloat64;
  const auto stored = stored_integer(column);
  const bool is_float =
      is_double && form.physical == PhysicalType::kFloat && column.meaning == Meaning::kNone;
  if (!is_float && (!stored.has_value() || stored->bits > (is_double ? 64 : 16))) return false;
  form.is_unsigned = stored.has_value() && !stored->is_signed;
  form.conversion = Conversion::kReal;
  return true;
}

// The factor between the units of times; 0: there is none.
int64_t unit_factor(const SchemaElement& column, Meaning meaning, const DataType& expected) {
  if (column.meaning != meaning || column.units_per_second <= 0) return 0;
  if (expected.units_per_second % column.units_per_second != 0) return 0;
  return expected.units_per_second / column.units_per_second;
}

bool set_time_form(const SchemaElement& column, ColumnForm& form) {
  const bool is_timestamp = form.type.id == TypeId::kTimestamp;
  if (is_timestamp && form.type.timezone.empty() && column.meaning == Meaning::kDate &&
      form.physical == PhysicalType::kInt32) {
    constexpr int64_t kDaySeconds = 86'400;
    form.factor = kDaySeconds * form.type.units_per_second;
    form.conversion = Conversion::kScaled;
    return true;
  }
  const int64_t factor =
      unit_factor(column, is_timestamp ? Meaning::kTimestamp : Meaning::kTime, form.type);
  const bool is_short = form.physical == PhysicalType::kInt32;
  if (factor == 0 || (!is_short && form.physical != PhysicalType::kInt64)) return false;
  if (is_short && is_timestamp) return false;
  if (form.type.id == TypeId::kTime32) return is_short && factor == 1;
  if (factor == 1) return !is_short;
  form.factor = factor;
  form.conversion = Conversion::kScaled;
  return true;
}

// Whether 64 bits hold whatever may be stored, valid or not. Wide decimals stay wide, as others read them.
bool fits_word(const ColumnForm& form) {
  const int32_t bits = 8 * form.stored_bytes - (form.is_unsigned ? 0 : 1);
  if (form.type.precision > kNarrowDecimalDigits || bits > 63) return false;
  return form.factor <= static_cast<Int128>(1) << (63 - bits);
}

// Integers are decimals without decimal places.
bool set_decimal_form(const SchemaElement& column, ColumnForm& form) {
  constexpr int32_t kDigits[] = {3, 5, 10, 20};  // of integers of 8, 16, 32 and 64 bits
  int32_t precision = column.precision;
  int32_t scale = column.scale;
  if (const auto stored = stored_integer(column); stored.has_value()) {
    form.is_unsigned = !stored->is_signed;
    scale = 0;
    precision = stored->bits == 64 && stored->is_signed ? 19
                                                        : kDigits[stored->bits == 8    ? 0
                                                                  : stored->bits == 16 ? 1
                                                                  : stored->bits == 32 ? 2
                                                                                       : 3];
  } else if (column.meaning != Meaning::kDecimal) {
    return false;
  }
  if (scale < 0 || scale > form.type.scale || form.type.precision > 38 ||
      precision - scale > form.type.precision - form.type.scale) {
    return false;
  }
  for (int32_t i = scale; i < form.type.scale; ++i) form.factor *= 10;
  switch (form.physical) {
    case PhysicalType::kInt32:
    case PhysicalType::kInt64:
      form.conversion = Conversion::kDecimal;
      break;
    case PhysicalType::kFixedBytes:
      form.conversion = Conversion::kDecimalBytes;
      if (column.type_length <= 0 || column.type_length > 16) return false;
      break;
    default:
      return false;
  }
  form.is_narrow = fits_word(form);
  return true;
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
    default:
      return false;
  }
}

bool set_form(const SchemaElement& column, ColumnForm& form) {
  const TypeId id = form.type.id;
  if (is_copied(column, form.type)) return true;
  if (is_signed_integer(id) || is_unsigned_integer(id)) return set_integer_form(column, form);
  if (id == TypeId::kDecimal128) return set_decimal_form(column, form);
  if (id == TypeId::kFloat32 || id == TypeId::kFloat64) return set_real_form(column, form);
  const bool is_time = id == TypeId::kTime32 || id == TypeId::kTime64 || id == TypeId::kTimestamp;
  return is_time && set_time_form(column, form);
}

// Strings of any layout become views.
DataType read_type(const DataType& expected) {
  if (is_string(expected.id)) return named(TypeId::kUtf8View, "vu");
  return is_binary(expected.id) ? named(TypeId::kBinaryView, "vz") : expected;
}

Error not_read(const SchemaElement& column, std::string_view why) {
  return make_error(
      ErrorCode::kUnsupportedType, "column \"{}\" is not read here: {}", column.name, why);
}

}  // namespace

bool operator==(const ColumnForm& a, const ColumnForm& b) {
  return a.type == b.type && a.conversion == b.conversion && a.physical == b.physical &&
         a.stored_bytes == b.stored_bytes && a.definition_levels == b.definition_levels &&
         a.is_unsigned == b.is_unsigned && a.factor == b.factor && a.is_narrow == b.is_narrow &&
         a.is_stored == b.is_stored && a.value == b.value;
}

Result<ColumnForm> column_form(const SchemaElement& column,
                               int32_t definition_levels,
                               const DataType& expected) {
  if (!column.physical.has_value() || column.children != 0 || column.repetition == kRepeated) {
    return not_read(column, "it is nested");
  }
  if (column.meaning == Meaning::kNull) return unstored_form(expected, std::nullopt);
  ColumnForm form;
  form.type = read_type(expected);
  form.physical = *column.physical;
  form.stored_bytes = bytes_of(column);
  form.definition_levels = definition_levels;
  const bool is_bytes = form.physical == PhysicalType::kByteArray;
  if (expected.id == TypeId::kBool && form.physical == PhysicalType::kBoolean) {
    form.conversion = Conversion::kBits;
    return form;
  }
  if (is_string(expected.id) && is_bytes && column.meaning == Meaning::kString) {
    form.conversion = Conversion::kViews;
    return form;
  }
  if (is_binary(expected.id) && is_bytes && column.meaning == Meaning::kNone) {
    form.conversion = Conversion::kViews;
    return form;
  }
  if (set_form(column, form)) return form;
  return not_read(column, fmt::format("its values do not lie as {}", type_name(expected)));
}

ColumnForm unstored_form(const DataType& expected, std::optional<std::string> value) {
  ColumnForm form;
  form.type = read_type(expected);
  form.is_stored = false;
  form.definition_levels = value.has_value() ? 0 : 1;
  form.value = std::move(value);
  form.is_unsigned = is_unsigned_integer(expected.id);
  if (layout(form.type) == Layout::kViews) {
    form.physical = PhysicalType::kByteArray;
    form.conversion = Conversion::kViews;
  } else if (form.type.id == TypeId::kBool) {
    form.physical = PhysicalType::kBoolean;
    form.conversion = Conversion::kBits;
  } else {
    form.stored_bytes = fixed_bytes(form.type);
    form.physical = form.stored_bytes == 8 ? PhysicalType::kInt64 : PhysicalType::kInt32;
  }
  return form;
}

ColumnChunk unstored_chunk(const ColumnForm& form) {
  const TypeId id = form.type.id;
  ColumnChunk chunk;
  chunk.physical = form.physical;
  chunk.values = 1;
  chunk.statistics.null_count = form.value.has_value() ? 0 : 1;
  const bool is_number = is_signed_integer(id) || is_unsigned_integer(id) ||
                         id == TypeId::kDate32 || id == TypeId::kTimestamp;
  const bool is_bounded =
      form.physical == PhysicalType::kByteArray || (is_number && form.stored_bytes >= 4);
  if (is_bounded) {
    chunk.statistics.min = form.value;
    chunk.statistics.max = form.value;
  }
  return chunk;
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
