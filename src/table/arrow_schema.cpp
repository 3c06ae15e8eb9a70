// Arrow schemas in: one struct of flat columns. Nothing here recurses: a column has no children, and
// the one dictionary it may have has no dictionary of its own.
#include <cstring>

#include "base/text_cut.hpp"
#include "table/arrow_import.hpp"

namespace crossdock {
namespace {

// Limits on what a producer may claim; each far above what tables have.
constexpr int64_t kMaxColumns = int64_t{1} << 20;
constexpr size_t kMaxFormatBytes = 1024;  // a timestamp's zone is the longest part
constexpr int64_t kMaxMetadataBytes = int64_t{1} << 30;

Error malformed(std::string_view where, std::string_view what) {
  return make_error(ErrorCode::kMalformedArrow, "{}: {}", where, what);
}

Result<DataType> read_format(const ArrowSchema& schema, const std::string& where) {
  if (schema.release == nullptr) return malformed(where, "its schema was already released");
  if (schema.format == nullptr) return malformed(where, "its schema has no format");
  const std::string_view format(schema.format, strnlen(schema.format, kMaxFormatBytes));
  if (format.size() == kMaxFormatBytes) {
    return malformed(where, fmt::format("its format is longer than {} bytes", kMaxFormatBytes - 1));
  }
  Result<DataType> type = parse_arrow_format(format);
  if (!type.ok()) {
    return make_error(type.error().code,
                      "{}: {}\n  try      leave the column out, or cast it to a flat type first",
                      where,
                      type.error().message);
  }
  if (schema.n_children != 0) {
    return malformed(
        where,
        fmt::format(
            "type {} has {} children, but takes none", type_name(type.value()), schema.n_children));
  }
  return type;
}

Result<DataType> read_type(const ArrowSchema& schema, const std::string& where) {
  CD_ASSIGN(DataType type, read_format(schema, where));
  if (schema.dictionary == nullptr) return type;
  if (!is_signed_integer(type.id) && !is_unsigned_integer(type.id)) {
    return malformed(
        where,
        fmt::format("dictionary indices of type {}, not of an integer type", type_name(type)));
  }
  const std::string inner = fmt::format("dictionary of {}", where);
  CD_ASSIGN(DataType values, read_format(*schema.dictionary, inner));
  if (schema.dictionary->dictionary != nullptr) {
    return make_error(ErrorCode::kUnsupportedType,
                      "{}: a dictionary of dictionaries is not supported\n"
                      "  try      decode the inner dictionary first",
                      where);
  }
  type.id = TypeId::kDictionary;
  type.ordered_dictionary = (schema.flags & ARROW_FLAG_DICTIONARY_ORDERED) != 0;
  type.dictionary = std::make_shared<const DataType>(std::move(values));
  return type;
}

// Walks Arrow's key-value block (int32 pairs; per text: int32 bytes, then the bytes) to learn its
// size, which the interface does not tell.
Result<std::string> read_metadata(const char* block, const std::string& where) {
  if (block == nullptr) return std::string();
  int64_t used = 0;
  const auto take = [&] {
    int32_t value = 0;
    std::memcpy(&value, block + used, sizeof value);
    used += sizeof value;
    return value;
  };
  const int32_t pairs = take();
  if (pairs < 0) return malformed(where, fmt::format("metadata with {} entries", pairs));
  for (int64_t text = 0; text < 2 * int64_t{pairs}; ++text) {
    const int32_t bytes = take();
    if (bytes < 0 || used + bytes > kMaxMetadataBytes) {
      return malformed(where,
                       fmt::format("metadata text {} of {} bytes; all of it may take {}",
                                   text,
                                   bytes,
                                   kMaxMetadataBytes));
    }
    used += bytes;
  }
  return std::string(block, static_cast<size_t>(used));
}

Result<Field> read_field(const ArrowSchema* schema, int64_t position) {
  if (schema == nullptr) {
    return malformed(fmt::format("column {}", position), "its schema is a null pointer");
  }
  if (schema->release == nullptr) {
    return malformed(fmt::format("column {}", position), "its schema was already released");
  }
  Field field;
  field.name = schema->name == nullptr ? "" : schema->name;
  const std::string where = fmt::format("column \"{}\"", field.name);
  CD_ASSIGN(field.type, read_type(*schema, where));
  CD_ASSIGN(field.metadata, read_metadata(schema->metadata, where));
  field.nullable = (schema->flags & ARROW_FLAG_NULLABLE) != 0;
  return field;
}

}  // namespace

Result<SchemaPtr> import_schema(const ArrowSchema& schema) {
  if (schema.release == nullptr) return malformed("table", "its schema was already released");
  if (schema.format == nullptr || std::strncmp(schema.format, "+s", 3) != 0) {
    const std::string_view format = schema.format == nullptr ? "none" : schema.format;
    return malformed("table",
                     fmt::format("a table's schema is a struct (format \"+s\"), not \"{}\"",
                                 first_characters(format, kMaxFormatBytes)));
  }
  if (schema.n_children < 0 || schema.n_children > kMaxColumns) {
    return malformed(
        "table", fmt::format("{} columns; a table has 0 to {}", schema.n_children, kMaxColumns));
  }
  if (schema.n_children > 0 && schema.children == nullptr) {
    return malformed("table", fmt::format("{} columns, but no pointer to them", schema.n_children));
  }
  auto result = std::make_shared<Schema>();
  result->fields.reserve(static_cast<size_t>(schema.n_children));
  for (int64_t i = 0; i < schema.n_children; ++i) {
    CD_ASSIGN(Field field, read_field(schema.children[i], i));
    result->fields.push_back(std::move(field));
  }
  return SchemaPtr(std::move(result));
}

}  // namespace crossdock
