// Arrow arrays made by hand for tests, as a foreign producer would make them: nothing here uses the
// code under test. Every buffer is a heap block of exactly its size, so that the address sanitizer
// sees a read beyond it.
//
//   const Columns columns = {{"id", fixed<int64_t>("l", {1, 2, std::nullopt})},
//                            {"name", strings("u", {"a", std::nullopt, "long enough for a heap"})}};
//   TablePtr table = make_table({columns});
//   EXPECT_EQ(cells(*table, 1), (Strings{"a", "null", "long enough for a heap"}));
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "table/arrow_import.hpp"

namespace crossdock::arrow_test {

using Bytes = std::vector<uint8_t>;
using Strings = std::vector<std::string>;

template <class T>
using Optionals = std::vector<std::optional<T>>;

inline constexpr std::nullopt_t kNone = std::nullopt;  // a value that is not there

// One array, before it becomes C structs. An absent buffer is a null pointer.
struct Array {
  std::string format;
  int64_t length = 0;
  int64_t null_count = 0;
  int64_t offset = 0;
  std::vector<std::optional<Bytes>> buffers;
  std::shared_ptr<const Array> dictionary;
};

struct Column {
  std::string name;
  Array array;
  bool nullable = true;
  bool ordered = false;
  std::string metadata{};  // an encoded key-value block
};
using Columns = std::vector<Column>;

// A bitmap of `values`; absent if no value is missing.
std::optional<Bytes> validity_of(const std::vector<bool>& values);

// Bools ("b"), strings of any of the six string and binary formats, and dictionary-encoded columns.
// Views longer than 12 bytes go to heaps of at most `heap_bytes` each (one text may pass that).
Array bools(const Optionals<bool>& values);
Array strings(const std::string& format,
              const Optionals<std::string>& values,
              int64_t heap_bytes = 64);
Array encoded(const std::string& format, const Optionals<int64_t>& indices, Array values);

// `values` in a fixed-width format whose C type is T. Null slots hold 0xAB bytes.
template <class T>
Array fixed(const std::string& format, const Optionals<T>& values) {
  std::vector<bool> valid;
  Bytes bytes(values.size() * sizeof(T), 0xAB);
  for (size_t i = 0; i < values.size(); ++i) {
    valid.push_back(values[i].has_value());
    if (values[i]) *reinterpret_cast<T*>(bytes.data() + i * sizeof(T)) = *values[i];
  }
  Array array{format, static_cast<int64_t>(values.size()), 0, 0, {}, nullptr};
  for (const bool is_valid : valid) array.null_count += is_valid ? 0 : 1;
  array.buffers = {validity_of(valid), std::move(bytes)};
  return array;
}

// The rows [begin, begin + count) by offset: the buffers stay, the null count becomes unknown.
Array sliced(Array array, int64_t begin, int64_t count);

// C structs of the columns, owning copies of everything. `rows` of -1: as many as the first column.
ArrowSchema make_schema(const Columns& columns);
ArrowArray make_array(const Columns& columns, int64_t rows = -1);

// Streams the batches, all of the first one's schema; after them the end or, if `error` is not empty,
// that error with EIO.
ArrowArrayStream make_stream(std::vector<Columns> batches, std::string error = "");

// How many of the structs above were made and not yet released, schemas and streams included.
int64_t live_structs();

// Imports what must import; a failure ends the test program with the error's text.
SchemaPtr make_schema_ptr(const Columns& columns);
Batch make_batch(const Columns& columns);
TablePtr make_table(std::vector<Columns> batches);

// The value as text, "null" for none: numbers in decimal, bytes as they are, decimals and float16 as
// hexadecimal words; dictionary columns decoded.
std::string cell(const DataType& type, const ColumnView& column, int64_t row);
Strings cells(const Batch& batch, int column);
Strings cells(const Table& table, int column);

}  // namespace crossdock::arrow_test
