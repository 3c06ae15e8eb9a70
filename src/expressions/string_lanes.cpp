#include "expressions/string_lanes.hpp"

#include <algorithm>
#include <cstring>

namespace crossdock::expressions::steps {
namespace {

template <class T>
T load(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <class Offset>
void slices_of_offsets(const StringRows& rows, std::string_view* out) {
  const int64_t first = rows.column.offset + rows.begin;
  const auto* offsets = static_cast<const Offset*>(rows.column.offsets) + first;
  const auto* bytes = reinterpret_cast<const char*>(rows.column.values);
  for (int32_t i = 0; i < rows.count; ++i) {
    out[i] = {bytes + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i])};
  }
}

std::string_view slice_of_view(const ColumnView& column, int64_t row) {
  const uint8_t* view = column.values + (column.offset + row) * 16;
  const auto bytes = load<uint32_t>(view);
  const uint8_t* from = bytes <= kInlineBytes
                          ? view + 4
                          : column.heaps[load<uint32_t>(view + 8)] + load<uint32_t>(view + 12);
  return {reinterpret_cast<const char*>(from), bytes};
}

void slices_of_dictionary(const StringRows& rows, std::string_view* out) {
  const TypeId index_type = dictionary_index(rows.type);
  for (int32_t i = 0; i < rows.count; ++i) {
    out[i] = {};
    if (rows.valid != nullptr && rows.valid[i] == 0) continue;
    const int64_t at = dictionary_index_at(rows.column, index_type, rows.begin + i);
    load_slices({*rows.column.dictionary, *rows.type.dictionary, at, 1, nullptr}, out + i);
  }
}

}  // namespace

int64_t dictionary_index_at(const ColumnView& column, TypeId index_type, int64_t row) {
  const int64_t at = column.offset + row;
  switch (index_type) {
    case TypeId::kInt8:
      return load<int8_t>(column.values + at);
    case TypeId::kUInt8:
      return load<uint8_t>(column.values + at);
    case TypeId::kInt16:
      return load<int16_t>(column.values + at * 2);
    case TypeId::kUInt16:
      return load<uint16_t>(column.values + at * 2);
    case TypeId::kInt32:
      return load<int32_t>(column.values + at * 4);
    case TypeId::kUInt32:
      return load<uint32_t>(column.values + at * 4);
    default:
      return load<int64_t>(column.values + at * 8);
  }
}

void load_slices(const StringRows& rows, std::string_view* out) {
  if (rows.type.id == TypeId::kDictionary) return slices_of_dictionary(rows, out);
  const Layout lay = layout(rows.type);
  if (lay == Layout::kOffsets32) return slices_of_offsets<int32_t>(rows, out);
  if (lay == Layout::kOffsets64) return slices_of_offsets<int64_t>(rows, out);
  for (int32_t i = 0; i < rows.count; ++i) {
    const bool has_value = rows.valid == nullptr || rows.valid[i] != 0;
    out[i] = has_value ? slice_of_view(rows.column, rows.begin + i) : std::string_view();
  }
}

const std::string_view* known_strings(const Frame& frame, int32_t index) {
  Value& value = frame.values[index];
  if (value.strings == nullptr) {
    const Expression& expression = *frame.step(index).expression;
    std::string_view* slices = frame.slot(index).strings();
    const ColumnView& column = frame.batch->columns[expression.column];
    load_slices({column, expression.type, frame.begin, frame.count, value.valid}, slices);
    value.strings = slices;
  }
  return value.strings;
}

void drop_null_entries(const Frame& frame, int32_t index) {
  const Expression& expression = *frame.step(index).expression;
  const ColumnView& column = frame.batch->columns[expression.column];
  if (column.dictionary->validity == nullptr) return;
  Value& value = frame.values[index];
  uint8_t* valid = frame.slot(index).valid;
  if (value.valid == nullptr) std::fill_n(valid, frame.count, uint8_t{1});
  value.valid = valid;
  const TypeId index_type = dictionary_index(expression.type);
  for (int32_t i = 0; i < frame.count; ++i) {
    if (valid[i] == 0) continue;
    const int64_t at = dictionary_index_at(column, index_type, frame.begin + i);
    valid[i] = column.dictionary->is_valid(at) ? 1 : 0;
  }
}

}  // namespace crossdock::expressions::steps
