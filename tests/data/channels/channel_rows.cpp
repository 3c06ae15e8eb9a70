// Rows whose columns follow from their key.
#include "data/channels/channel_rows.hpp"

#include <cstring>
#include <memory>

namespace crossdock::channels {
namespace {

DataType type_of(const char* format) { return parse_arrow_format(format).value(); }

uint64_t mixed(int64_t key) {
  uint64_t word = static_cast<uint64_t>(key) * 0x9e3779b97f4a7c15;
  word ^= word >> 29;
  return word;
}
bool is_null(int64_t key) { return mixed(key) % 5 == 0; }
int32_t number_of(int64_t key) { return static_cast<int32_t>(mixed(key) >> 8); }
double float_of(int64_t key) { return static_cast<double>(mixed(key) >> 20) / 3; }
bool flag_of(int64_t key) { return (mixed(key) & 64) != 0; }
// Some fit a view, some do not.
std::string text_of(int64_t key) {
  return "t" + std::string(mixed(key) % 40, static_cast<char>('a' + mixed(key) % 26));
}

// Owns the buffers of a batch.
struct Buffers {
  std::vector<int64_t> keys;
  std::vector<int32_t> numbers;
  std::vector<double> floats;
  std::vector<int32_t> offsets;
  std::string strings;
  std::vector<uint8_t> bits;
  std::vector<uint8_t> validity;
};

void set_bit(std::vector<uint8_t>& bits, size_t row) {
  bits[row / 8] = static_cast<uint8_t>(bits[row / 8] | (1 << (row % 8)));
}

template <class T>
ColumnView fixed_column(const std::vector<T>& values) {
  ColumnView column;
  column.length = static_cast<int64_t>(values.size());
  column.values = reinterpret_cast<const uint8_t*>(values.data());
  return column;
}

void fill(Buffers& of, const std::vector<int64_t>& keys) {
  of.keys = keys;
  of.bits.resize(keys.size() / 8 + 1);
  of.validity.resize(keys.size() / 8 + 1);
  of.offsets.push_back(0);
  for (size_t row = 0; row < keys.size(); ++row) {
    const int64_t key = keys[row];
    of.numbers.push_back(number_of(key));
    of.floats.push_back(float_of(key));
    of.strings += text_of(key);
    of.offsets.push_back(static_cast<int32_t>(of.strings.size()));
    if (flag_of(key)) set_bit(of.bits, row);
    if (!is_null(key)) set_bit(of.validity, row);
  }
}

std::string text_at(const ColumnView& column, int64_t row) {
  const uint8_t* view = column.values + (column.offset + row) * 16;
  int32_t length = 0;
  std::memcpy(&length, view, 4);
  if (length <= 12) return {reinterpret_cast<const char*>(view + 4), static_cast<size_t>(length)};
  int32_t heap = 0;
  int32_t offset = 0;
  std::memcpy(&heap, view + 8, 4);
  std::memcpy(&offset, view + 12, 4);
  if (heap >= column.heap_count || offset + length > column.heap_bytes[heap]) return "out of heap";
  return {reinterpret_cast<const char*>(column.heaps[heap] + offset), static_cast<size_t>(length)};
}

bool bit_at(const ColumnView& column, int64_t row) {
  const int64_t bit = column.offset + row;
  return ((column.values[bit >> 3] >> (bit & 7)) & 1) != 0;
}

bool is_right(RowKind kind, const Batch& rows, int64_t row, int64_t key) {
  switch (kind) {
    case RowKind::kKeys:
      return true;
    case RowKind::kNumbers: {
      if (rows.columns[1].data<int32_t>()[row] != number_of(key)) return false;
      const ColumnView& floats = rows.columns[2];
      if (floats.is_valid(row) == is_null(key)) return false;
      return is_null(key) || floats.data<double>()[row] == float_of(key);
    }
    case RowKind::kStrings:
      return text_at(rows.columns[1], row) == text_of(key);
    case RowKind::kFlags:
      return bit_at(rows.columns[1], row) == flag_of(key);
  }
  return false;
}

}  // namespace

SchemaPtr rows_schema(RowKind kind) {
  auto schema = std::make_shared<Schema>();
  schema->fields.push_back({"key", type_of("l"), false, ""});
  if (kind == RowKind::kNumbers) {
    schema->fields.push_back({"number", type_of("i"), false, ""});
    schema->fields.push_back({"float", type_of("g"), true, ""});
  }
  if (kind == RowKind::kStrings) schema->fields.push_back({"text", type_of("u"), false, ""});
  if (kind == RowKind::kFlags) schema->fields.push_back({"flag", type_of("b"), false, ""});
  return schema;
}

Batch make_rows(RowKind kind, const std::vector<int64_t>& keys) {
  auto buffers = std::make_shared<Buffers>();
  fill(*buffers, keys);
  Batch batch;
  batch.schema = rows_schema(kind);
  batch.rows = static_cast<int64_t>(keys.size());
  batch.columns.push_back(fixed_column(buffers->keys));
  if (kind == RowKind::kNumbers) {
    batch.columns.push_back(fixed_column(buffers->numbers));
    batch.columns.push_back(fixed_column(buffers->floats));
    batch.columns.back().validity = buffers->validity.data();
    batch.columns.back().null_count = -1;
  }
  if (kind == RowKind::kStrings) {
    ColumnView strings;
    strings.length = batch.rows;
    strings.values = reinterpret_cast<const uint8_t*>(buffers->strings.data());
    strings.offsets = buffers->offsets.data();
    batch.columns.push_back(strings);
  }
  if (kind == RowKind::kFlags) {
    ColumnView flags;
    flags.length = batch.rows;
    flags.values = buffers->bits.data();
    batch.columns.push_back(flags);
  }
  batch.owner = std::move(buffers);
  return batch;
}

std::vector<int64_t> read_rows(RowKind kind, const Batch& rows, std::string& wrong) {
  std::vector<int64_t> keys;
  for (int64_t row = 0; row < rows.rows; ++row) {
    const int64_t key = rows.columns[0].data<int64_t>()[row];
    keys.push_back(key);
    if (is_right(kind, rows, row, key)) continue;
    wrong += fmt::format("row of key {} arrived with other columns than it was sent; ", key);
  }
  return keys;
}

}  // namespace crossdock::channels
