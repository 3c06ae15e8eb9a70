// Arrow's type codes, read and named. One table holds every type whose format is a fixed string;
// only decimals and timestamps carry parameters and are parsed by hand.
#include "table/type.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/check.hpp"
#include "base/text_cut.hpp"

namespace crossdock {
namespace {

constexpr int32_t kMaxDecimal128Precision = 38;

struct FixedFormat {
  std::string_view format;
  TypeId id;
  int64_t units_per_second;
};

constexpr FixedFormat kFixedFormats[] = {
    {"b", TypeId::kBool, 0},
    {"c", TypeId::kInt8, 0},
    {"s", TypeId::kInt16, 0},
    {"i", TypeId::kInt32, 0},
    {"l", TypeId::kInt64, 0},
    {"C", TypeId::kUInt8, 0},
    {"S", TypeId::kUInt16, 0},
    {"I", TypeId::kUInt32, 0},
    {"L", TypeId::kUInt64, 0},
    {"e", TypeId::kFloat16, 0},
    {"f", TypeId::kFloat32, 0},
    {"g", TypeId::kFloat64, 0},
    {"tdD", TypeId::kDate32, 0},
    {"tdm", TypeId::kDate64, 0},
    {"tts", TypeId::kTime32, 1},
    {"ttm", TypeId::kTime32, 1'000},
    {"ttu", TypeId::kTime64, 1'000'000},
    {"ttn", TypeId::kTime64, 1'000'000'000},
    {"tDs", TypeId::kDuration, 1},
    {"tDm", TypeId::kDuration, 1'000},
    {"tDu", TypeId::kDuration, 1'000'000},
    {"tDn", TypeId::kDuration, 1'000'000'000},
    {"u", TypeId::kUtf8, 0},
    {"U", TypeId::kLargeUtf8, 0},
    {"vu", TypeId::kUtf8View, 0},
    {"z", TypeId::kBinary, 0},
    {"Z", TypeId::kLargeBinary, 0},
    {"vz", TypeId::kBinaryView, 0},
};

struct Unit {
  char code;
  int64_t per_second;
  std::string_view name;
};

constexpr Unit kUnits[] = {
    {'s', 1, "s"}, {'m', 1'000, "ms"}, {'u', 1'000'000, "us"}, {'n', 1'000'000'000, "ns"}};

struct TypeTraits {
  TypeId id;
  std::string_view name;
  Layout layout;
  int32_t bytes;
};

constexpr TypeTraits kTraits[] = {
    {TypeId::kBool, "bool", Layout::kBits, 0},
    {TypeId::kInt8, "int8", Layout::kFixed, 1},
    {TypeId::kInt16, "int16", Layout::kFixed, 2},
    {TypeId::kInt32, "int32", Layout::kFixed, 4},
    {TypeId::kInt64, "int64", Layout::kFixed, 8},
    {TypeId::kUInt8, "uint8", Layout::kFixed, 1},
    {TypeId::kUInt16, "uint16", Layout::kFixed, 2},
    {TypeId::kUInt32, "uint32", Layout::kFixed, 4},
    {TypeId::kUInt64, "uint64", Layout::kFixed, 8},
    {TypeId::kFloat16, "float16", Layout::kFixed, 2},
    {TypeId::kFloat32, "float32", Layout::kFixed, 4},
    {TypeId::kFloat64, "float64", Layout::kFixed, 8},
    {TypeId::kDecimal128, "decimal128", Layout::kFixed, 16},
    {TypeId::kDate32, "date32", Layout::kFixed, 4},
    {TypeId::kDate64, "date64", Layout::kFixed, 8},
    {TypeId::kTime32, "time32", Layout::kFixed, 4},
    {TypeId::kTime64, "time64", Layout::kFixed, 8},
    {TypeId::kTimestamp, "timestamp", Layout::kFixed, 8},
    {TypeId::kDuration, "duration", Layout::kFixed, 8},
    {TypeId::kUtf8, "utf8", Layout::kOffsets32, 0},
    {TypeId::kLargeUtf8, "large_utf8", Layout::kOffsets64, 0},
    {TypeId::kUtf8View, "utf8_view", Layout::kViews, 16},
    {TypeId::kBinary, "binary", Layout::kOffsets32, 0},
    {TypeId::kLargeBinary, "large_binary", Layout::kOffsets64, 0},
    {TypeId::kBinaryView, "binary_view", Layout::kViews, 16},
};

static_assert(std::size(kTraits) == static_cast<size_t>(TypeId::kDictionary),
              "one row per type, in the order of TypeId");

// What the formats we refuse are called, by prefix, so that an error can name the type.
constexpr std::pair<std::string_view, std::string_view> kRefused[] = {
    {"n", "null"},
    {"w:", "fixed_size_binary"},
    {"tiM", "interval[months]"},
    {"tiD", "interval[days, time]"},
    {"tin", "interval[months, days, nanoseconds]"},
    {"+l", "list"},
    {"+L", "large_list"},
    {"+vl", "list_view"},
    {"+vL", "large_list_view"},
    {"+w:", "fixed_size_list"},
    {"+s", "struct"},
    {"+m", "map"},
    {"+ud:", "dense_union"},
    {"+us:", "sparse_union"},
    {"+r", "run_end_encoded"},
    {"d:", "decimal of this width or precision"},
};

const TypeTraits& traits(TypeId id) {
  CD_CHECK(id < TypeId::kDictionary, "type id {}", static_cast<int>(id));
  return kTraits[static_cast<size_t>(id)];
}

Error refuse(std::string_view format) {
  constexpr size_t kShownBytes = 64;
  std::string_view name = "unknown";
  for (const auto& [prefix, text] : kRefused) {
    if (format.starts_with(prefix)) name = text;
  }
  return make_error(ErrorCode::kUnsupportedType,
                    "type {} (Arrow format \"{}\") is not supported",
                    name,
                    first_characters(format, kShownBytes));
}

DataType plain(TypeId id, std::string_view format) {
  DataType type;
  type.id = id;
  type.arrow_format = format;
  return type;
}

// Takes an integer off the front of `text`.
std::optional<int32_t> take_int(std::string_view& text) {
  int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

// "d:precision,scale" or "d:precision,scale,bits".
Result<DataType> parse_decimal(std::string_view format) {
  std::string_view rest = format.substr(2);
  const auto precision = take_int(rest);
  if (!precision || !rest.starts_with(',')) return refuse(format);
  rest.remove_prefix(1);
  const auto scale = take_int(rest);
  if (!scale || (!rest.empty() && rest != ",128")) return refuse(format);
  if (*precision < 1 || *precision > kMaxDecimal128Precision) return refuse(format);
  DataType type = plain(TypeId::kDecimal128, format);
  type.precision = *precision;
  type.scale = *scale;
  return type;
}

// "ts" unit ":" zone.
Result<DataType> parse_timestamp(std::string_view format) {
  const auto* const unit = std::ranges::find(kUnits, format[2], &Unit::code);
  if (unit == std::end(kUnits)) return refuse(format);
  DataType type = plain(TypeId::kTimestamp, format);
  type.units_per_second = unit->per_second;
  type.timezone = format.substr(4);
  return type;
}

std::string_view unit_name(int64_t units_per_second) {
  return std::ranges::find(kUnits, units_per_second, &Unit::per_second)->name;
}

}  // namespace

bool operator==(const DataType& a, const DataType& b) {
  if (a.id != b.id) return false;
  switch (a.id) {
    case TypeId::kDecimal128:
      return a.precision == b.precision && a.scale == b.scale;
    case TypeId::kTimestamp:
      return a.units_per_second == b.units_per_second && a.timezone == b.timezone;
    case TypeId::kTime32:
    case TypeId::kTime64:
    case TypeId::kDuration:
      return a.units_per_second == b.units_per_second;
    case TypeId::kDictionary:
      return a.arrow_format == b.arrow_format && a.ordered_dictionary == b.ordered_dictionary &&
           *a.dictionary == *b.dictionary;
    default:
      return true;
  }
}

Layout layout(const DataType& type) {
  return type.id == TypeId::kDictionary ? Layout::kFixed : traits(type.id).layout;
}

int32_t fixed_bytes(const DataType& type) {
  if (type.id != TypeId::kDictionary) return traits(type.id).bytes;
  return traits(dictionary_index(type)).bytes;
}

const DataType& value_type(const DataType& type) {
  return type.id == TypeId::kDictionary ? *type.dictionary : type;
}

TypeId dictionary_index(const DataType& type) {
  for (const FixedFormat& fixed : kFixedFormats) {
    if (fixed.format == type.arrow_format) return fixed.id;
  }
  CD_CHECK(false, "index format {} of {}", type.arrow_format, static_cast<int>(type.id));
}

bool is_signed_integer(TypeId id) { return id >= TypeId::kInt8 && id <= TypeId::kInt64; }
bool is_unsigned_integer(TypeId id) { return id >= TypeId::kUInt8 && id <= TypeId::kUInt64; }
bool is_floating(TypeId id) { return id >= TypeId::kFloat16 && id <= TypeId::kFloat64; }
bool is_string(TypeId id) { return id >= TypeId::kUtf8 && id <= TypeId::kUtf8View; }
bool is_binary(TypeId id) { return id >= TypeId::kBinary && id <= TypeId::kBinaryView; }

std::string type_name(const DataType& type) {
  switch (type.id) {
    case TypeId::kDictionary:
      return fmt::format(
          "dictionary<{}, {}>", traits(dictionary_index(type)).name, type_name(*type.dictionary));
    case TypeId::kDecimal128:
      return fmt::format("decimal128({}, {})", type.precision, type.scale);
    case TypeId::kTime32:
    case TypeId::kTime64:
    case TypeId::kDuration:
      return fmt::format("{}[{}]", traits(type.id).name, unit_name(type.units_per_second));
    case TypeId::kTimestamp:
      if (type.timezone.empty())
        return fmt::format("timestamp[{}]", unit_name(type.units_per_second));
      return fmt::format("timestamp[{}, tz={}]", unit_name(type.units_per_second), type.timezone);
    default:
      return std::string(traits(type.id).name);
  }
}

Result<DataType> parse_arrow_format(std::string_view format) {
  for (const FixedFormat& fixed : kFixedFormats) {
    if (fixed.format != format) continue;
    DataType type = plain(fixed.id, format);
    type.units_per_second = fixed.units_per_second;
    return type;
  }
  if (format.starts_with("d:")) return parse_decimal(format);
  if (format.size() >= 4 && format.starts_with("ts") && format[3] == ':') {
    return parse_timestamp(format);
  }
  return refuse(format);
}

}  // namespace crossdock
