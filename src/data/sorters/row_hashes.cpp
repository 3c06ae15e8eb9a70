// A value is hashed as that of its family; decimals are read as integers first.
#include "data/sorters/row_hashes.hpp"

#include <span>

#include "data/sorters/decimal_words.hpp"

namespace crossdock::sorters {
namespace {

const DataType& family_type(const DataType& type) {
  return type.id == TypeId::kDictionary ? *type.dictionary : type;
}

bool is_of_decimals(const DataType& type) { return family_type(type).id == TypeId::kDecimal128; }

// The kind that all types have which compare with this one; decimals are read as integers first.
KeyKind family_kind(const DataType& type) {
  switch (family_type(type).id) {
    case TypeId::kBool:
      return {KeyForm::kBool};
    case TypeId::kDate32:
    case TypeId::kDate64:
      return {KeyForm::kInstant, 0, 1'000};
    case TypeId::kTime32:
    case TypeId::kTime64:
    case TypeId::kTimestamp:
    case TypeId::kDuration:
      return {KeyForm::kInstant, 0, 1'000'000'000};
    default:
      break;
  }
  const TypeId id = family_type(type).id;
  if (is_floating(id)) return {KeyForm::kFloat};
  if (is_string(id) || is_binary(id)) return {KeyForm::kBytes};
  return {KeyForm::kInteger64};
}

const DataType& int64_type() {
  static const DataType type = parse_arrow_format("l").value();
  return type;
}

}  // namespace

KeyOfRows::KeyOfRows(int column, const DataType& type)
    : column_(column),
      type_(type),
      hasher_(is_of_decimals(type) ? int64_type() : type, family_kind(type), kRouteSeed) {}

void KeyOfRows::hash(
    const Batch& batch, int64_t begin, int32_t count, bool combine, uint64_t* hashes) {
  const ColumnView& column = batch.columns[column_];
  if (!is_of_decimals(type_)) {
    hasher_.hash(column, begin, count, combine, hashes);
    return;
  }
  DecimalWord read[kMaxKeyRows];
  uint8_t valid[kMaxKeyRows];
  read_decimals(type_, column, begin, std::span(read, static_cast<size_t>(count)), valid);
  uint64_t words[kMaxKeyRows];
  uint8_t bits[kMaxKeyRows / 8] = {};
  for (int32_t i = 0; i < count; ++i) {
    words[i] = read[i].word;
    bits[i / 8] |= static_cast<uint8_t>(valid[i] << (i % 8));
  }
  ColumnView integers;
  integers.length = count;
  integers.null_count = -1;
  integers.validity = bits;
  integers.values = reinterpret_cast<const uint8_t*>(words);
  hasher_.hash(integers, 0, count, combine, hashes);
}

}  // namespace crossdock::sorters
