// Broken Arrow, made from bytes: tables of every layout, with wrong offsets, views and indices and
// with wrong fields of the C structs. Whatever comes in, import, validation, slices, merged
// dictionaries and export must not crash, and must give either an error or readable data that comes
// out again as it went in.
//
// Core of libFuzzer's making: link it with -fsanitize=fuzzer, or with fuzz_main.cpp for random bytes.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "table/arrow_export.hpp"
#include "table/broken_arrow.hpp"
#include "table/validate.hpp"

namespace crossdock {
namespace {

using arrow_test::Choices;
using arrow_test::Columns;
using arrow_test::Parking;
using arrow_test::random_array;
using arrow_test::random_columns;
using arrow_test::random_shape;
using arrow_test::Shape;
using arrow_test::Strings;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

bool is_valid(const Batch& batch) {
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    if (!validate_column(batch.schema->fields[i], batch.columns[i]).ok()) return false;
  }
  return true;
}

Batch sliced_batch(Batch batch, int64_t begin, int64_t count) {
  for (ColumnView& column : batch.columns) column = slice(column, begin, count);
  batch.rows = count;
  return batch;
}

// Reads every value, of the batch and of what comes back after export.
void check_readable(const Batch& batch) {
  ArrowArray raw;
  export_batch(batch, &raw);
  const Result<Batch> again = import_batch(&raw, batch.schema);
  CD_CHECK(again.ok(), "{}", again.error().message);
  CD_CHECK(is_valid(again.value()), "exported {} rows", batch.rows);
  for (int i = 0; i < batch.schema->column_count(); ++i) {
    const Strings before = arrow_test::cells(batch, i);
    CD_CHECK(before == arrow_test::cells(again.value(), i), "column {} changed", i);
  }
}

struct Source {
  SchemaPtr schema;
  std::vector<ArrowArray> arrays;
  size_t next = 0;
};

// A stream of the arrays; what is left of them is released with it.
ArrowArrayStream stream_of(Source& source) {
  ArrowArrayStream stream{};
  stream.private_data = &source;
  stream.get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
    export_schema(*static_cast<Source*>(self->private_data)->schema, out);
    return 0;
  };
  stream.get_next = [](ArrowArrayStream* self, ArrowArray* out) {
    auto& state = *static_cast<Source*>(self->private_data);
    *out = state.next < state.arrays.size() ? state.arrays[state.next++] : ArrowArray{};
    return 0;
  };
  stream.release = [](ArrowArrayStream* self) {
    auto& state = *static_cast<Source*>(self->private_data);
    for (; state.next < state.arrays.size(); ++state.next) {
      ArrowArray& array = state.arrays[state.next];
      if (array.release != nullptr) array.release(&array);
    }
    self->release = nullptr;
  };
  return stream;
}

// Batch by batch first, for what each must read as; then all as one stream.
void try_arrays(Choices& choices) {
  const Shape shape = random_shape(choices);
  std::vector<Columns> batches;
  const int64_t count = 1 + choices.below(3);
  for (int64_t i = 0; i < count; ++i) batches.push_back(random_columns(shape, choices));
  const SchemaPtr schema = arrow_test::make_schema_ptr(batches[0]);
  Parking parking;
  std::vector<Batch> good;
  for (const Columns& columns : batches) {
    ArrowArray raw = random_array(columns, choices, parking);
    const Result<Batch> batch = import_batch(&raw, schema);
    CD_CHECK(raw.release == nullptr, "an imported array keeps its release");
    if (!batch.ok()) {
      CD_CHECK(batch.error().code == ErrorCode::kMalformedArrow, "{}", batch.error().message);
      continue;
    }
    if (!is_valid(batch.value())) continue;
    check_readable(batch.value());
    const int64_t begin = choices.below(batch.value().rows + 1);
    const int64_t rows = choices.below(batch.value().rows - begin + 1);
    check_readable(sliced_batch(batch.value(), begin, rows));
    good.push_back(batch.value());
  }
  Source source{schema, {}, 0};
  for (const Batch& batch : good) export_batch(batch, &source.arrays.emplace_back());
  ArrowArrayStream stream = stream_of(source);
  const Result<TablePtr> table = import_stream(&stream);
  CD_CHECK(table.ok(), "{}", table.error().message);
  for (int i = 0; i < schema->column_count(); ++i) {
    Strings expected;
    for (const Batch& batch : good) {
      const Strings part = arrow_test::cells(batch, i);
      expected.insert(expected.end(), part.begin(), part.end());
    }
    CD_CHECK(arrow_test::cells(*table.value(), i) == expected, "column {} of the stream", i);
  }
}

// A stream with whatever arrays come: an error, or readable.
void try_stream(Choices& choices) {
  const Shape shape = random_shape(choices);
  std::vector<Columns> batches;
  for (int64_t i = 0; i < 2; ++i) batches.push_back(random_columns(shape, choices));
  Parking parking;
  Source source{arrow_test::make_schema_ptr(batches[0]), {}, 0};
  for (const Columns& columns : batches) {
    source.arrays.push_back(random_array(columns, choices, parking));
  }
  ArrowArrayStream stream = stream_of(source);
  const Result<TablePtr> table = import_stream(&stream);
  if (!table.ok()) return;
  for (const Batch& batch : table.value()->batches) check_readable(batch);
}

// Schemas with broken fields: an error, or one that comes out again as it went in.
void try_schema(Choices& choices) {
  const Columns columns = random_columns(random_shape(choices), choices);
  ArrowSchema raw = arrow_test::make_schema(columns);
  const auto release = raw.release;
  std::string format(static_cast<size_t>(choices.below(12)), '\0');
  for (char& letter : format) letter = static_cast<char>(choices.byte());
  const std::string decimal = fmt::format("d:{},{}", choices.below(60), choices.below(90) - 20);
  const std::string metadata("\1\0\0\0\1\0\0\0k\xFF\xFF\xFF\x80", 13);
  const std::string sound("\1\0\0\0\1\0\0\0k\1\0\0\0v", 14);
  ArrowSchema& node = columns.empty() ? raw : *raw.children[choices.below(raw.n_children)];
  switch (choices.below(10)) {
    case 0:
      node.format = format.c_str();
      break;
    case 1:
      node.format = decimal.c_str();
      break;
    case 2:
      node.format = nullptr;
      break;
    case 3:
      node.name = nullptr;
      break;
    case 4:
      node.metadata = metadata.data();
      break;
    case 5:
      node.metadata = sound.data();
      break;
    case 6:
      node.flags = static_cast<int64_t>(choices.word());
      break;
    case 7:
      node.n_children = choices.of<int64_t>({-1, 0, kLeast, kMost});
      break;
    case 8:
      node.dictionary = &node;
      break;
    default:
      node.children = nullptr;
      break;
  }
  const Result<SchemaPtr> schema = import_schema(raw);
  release(&raw);
  if (!schema.ok()) return;
  ArrowSchema out;
  export_schema(*schema.value(), &out);
  const Result<SchemaPtr> again = import_schema(out);
  out.release(&out);
  CD_CHECK(again.ok(), "{}", again.error().message);
  for (int i = 0; i < schema.value()->column_count(); ++i) {
    const Field& before = schema.value()->fields[i];
    const Field& after = again.value()->fields[i];
    CD_CHECK(before.name == after.name && before.type == after.type &&
                 before.metadata == after.metadata && before.nullable == after.nullable,
             "field {} changed",
             i);
  }
}

}  // namespace
}  // namespace crossdock

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  crossdock::arrow_test::Choices choices(data, size);
  const int64_t live = crossdock::arrow_test::live_structs();
  switch (choices.below(4)) {
    case 0:
      crossdock::try_schema(choices);
      break;
    case 1:
      crossdock::try_stream(choices);
      break;
    default:
      crossdock::try_arrays(choices);
      break;
  }
  CD_CHECK(crossdock::arrow_test::live_structs() == live,
           "{} structs were not released",
           crossdock::arrow_test::live_structs() - live);
  return 0;
}
