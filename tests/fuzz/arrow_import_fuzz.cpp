// Broken Arrow, made from bytes: tables of every layout, with wrong offsets, views and indices and
// with wrong fields of the C structs. Whatever comes in, import, validation, slices, merged
// dictionaries and export must not crash, and must give either an error or readable data that comes
// out again as it went in.
//
// The interface tells no buffer's size, so a producer that overstates a length or an offset within
// bounds cannot be caught by anyone. Only what a consumer can check is broken here; the rest (values,
// texts, bitmaps) is random but as large as promised.
//
// Core of libFuzzer's making: link it with -fsanitize=fuzzer, or with fuzz_main.cpp for random bytes.
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "table/arrow_builder.hpp"
#include "table/arrow_export.hpp"
#include "table/validate.hpp"

namespace crossdock {
namespace {

using arrow_test::Array;
using arrow_test::Bytes;
using arrow_test::Columns;
using arrow_test::Optionals;
using arrow_test::Texts;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

// The input as a row of choices; when it is used up, every choice is 0.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  uint64_t word() {
    uint64_t value = 0;
    const size_t bytes = std::min(left_, sizeof value);
    if (bytes > 0) std::memcpy(&value, data_, bytes);
    data_ += bytes;
    left_ -= bytes;
    return value;
  }
  uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  // 0 <= answer < bound, bound >= 1.
  int64_t below(int64_t bound) {
    const int64_t value = bound > 255 ? byte() << 8 | byte() : byte();
    return value % bound;
  }
  bool one_in(int64_t chances) { return below(chances) == 0 && left_ > 0; }

  template <class T>
  T of(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

const std::vector<std::string> kFixedFormats = {
    "c", "C", "s", "S", "i", "I", "l", "L", "e", "f", "g", "tdD", "tsu:UTC", "d:9,2"};
const std::vector<std::string> kTextFormats = {"u", "U", "vu", "z", "Z", "vz"};
const std::vector<std::string> kIndexFormats = {"c", "C", "s", "S", "i", "I", "l", "L"};

struct Wide {
  uint64_t low, high;
};

template <class T>
Array random_fixed(const std::string& format, int64_t rows, Choices& choices) {
  Optionals<T> values;
  for (int64_t i = 0; i < rows; ++i) {
    const uint64_t low = choices.word();
    T value{};
    std::memcpy(&value, &low, std::min(sizeof value, sizeof low));
    values.push_back(choices.one_in(5) ? std::nullopt : std::optional<T>(value));
  }
  return arrow_test::fixed<T>(format, values);
}

Array random_numbers(const std::string& format, int64_t rows, Choices& choices) {
  switch (fixed_bytes(parse_arrow_format(format).value())) {
    case 1:
      return random_fixed<uint8_t>(format, rows, choices);
    case 2:
      return random_fixed<uint16_t>(format, rows, choices);
    case 4:
      return random_fixed<uint32_t>(format, rows, choices);
    case 8:
      return random_fixed<uint64_t>(format, rows, choices);
    default:
      return random_fixed<Wide>(format, rows, choices);
  }
}

Array random_bools(int64_t rows, Choices& choices) {
  Optionals<bool> values;
  for (int64_t i = 0; i < rows; ++i) {
    values.push_back(choices.one_in(5) ? std::nullopt : std::optional<bool>(choices.below(2) == 1));
  }
  return arrow_test::bools(values);
}

// Few different texts, so that dictionaries of two batches share some.
Array random_texts(const std::string& format, int64_t rows, Choices& choices) {
  Optionals<std::string> values;
  for (int64_t i = 0; i < rows; ++i) {
    const auto size = static_cast<size_t>(choices.below(20));
    std::string text(size, static_cast<char>('a' + choices.below(3)));
    values.push_back(choices.one_in(5) ? std::nullopt : std::optional<std::string>(text));
  }
  return arrow_test::texts(format, values, 1 + choices.below(64));
}

Array random_flat(const std::string& format, int64_t rows, Choices& choices) {
  if (format == "b") return random_bools(rows, choices);
  for (const std::string& text : kTextFormats) {
    if (format == text) return random_texts(format, rows, choices);
  }
  return random_numbers(format, rows, choices);
}

std::string random_format(Choices& choices) {
  switch (choices.below(4)) {
    case 0:
      return choices.of(kFixedFormats);
    case 1:
      return "b";
    default:
      return choices.of(kTextFormats);
  }
}

// Writes random words over offsets, views or indices: any word for views and indices, whose every
// bit can be checked; for offsets, whose upper limit cannot, words up to the bytes that are there.
template <class Offset>
void scramble_offsets(Array& array, Choices& choices) {
  auto* offsets = reinterpret_cast<Offset*>(array.buffers[1]->data());
  const auto bytes = static_cast<int64_t>(array.buffers[2]->size());
  offsets[choices.below(array.length + 1)] = static_cast<Offset>(choices.below(bytes + 4) - 3);
}

void scramble(Array& array, Choices& choices) {
  if (array.length == 0) return;
  const Layout kind = layout(parse_arrow_format(array.format).value());
  if (kind == Layout::kOffsets32) return scramble_offsets<int32_t>(array, choices);
  if (kind == Layout::kOffsets64) return scramble_offsets<int64_t>(array, choices);
  Bytes& values = *array.buffers[1];
  const auto at = static_cast<size_t>(choices.below(static_cast<int64_t>(values.size())));
  values[at] = choices.byte();
}

Array random_column(const std::string& format,
                    const std::string& values,
                    int64_t rows,
                    Choices& choices) {
  // Slack before and after, so that slices have something to leave out.
  const int64_t before = choices.below(10);
  const int64_t all = before + rows + choices.below(3);
  Array array;
  if (values.empty()) {
    array = random_flat(format, all, choices);
  } else {
    const int64_t distinct = 1 + choices.below(6);
    Optionals<int64_t> indices;
    for (int64_t i = 0; i < all; ++i) {
      indices.push_back(choices.one_in(5) ? std::nullopt
                                          : std::optional<int64_t>(choices.below(distinct)));
    }
    Array dictionary = random_flat(values, distinct, choices);
    if (choices.one_in(8)) scramble(dictionary, choices);
    array = arrow_test::encoded(format, indices, std::move(dictionary));
  }
  if (choices.one_in(6)) scramble(array, choices);
  return before + rows == all && before == 0 ? array : arrow_test::sliced(array, before, rows);
}

struct Shape {
  std::vector<std::pair<std::string, std::string>> formats;  // column, dictionary values or ""
};

Shape random_shape(Choices& choices) {
  Shape shape;
  const int64_t columns = choices.below(4);
  for (int64_t i = 0; i < columns; ++i) {
    if (choices.below(3) == 0) {
      shape.formats.emplace_back(choices.of(kIndexFormats), random_format(choices));
    } else {
      shape.formats.emplace_back(random_format(choices), "");
    }
  }
  return shape;
}

Columns random_columns(const Shape& shape, Choices& choices) {
  const int64_t rows = choices.one_in(6) ? 0 : choices.below(40);
  Columns columns;
  for (const auto& [format, values] : shape.formats) {
    const std::string name = fmt::format("column {}", columns.size());
    columns.push_back({name, random_column(format, values, rows, choices)});
  }
  return columns;
}

// Copies made to be misaligned, alive as long as the arrays are.
using Parking = std::vector<Bytes>;

// Moves the first buffer after validity to an odd address. Only for layouts whose size is plain.
void misalign(const Array& array, ArrowArray& node, Parking& parking) {
  if (!array.buffers[1] || array.buffers[1]->empty()) return;
  Bytes& copy = parking.emplace_back(1 + array.buffers[1]->size());
  std::memcpy(copy.data() + 1, array.buffers[1]->data(), array.buffers[1]->size());
  node.buffers[1] = copy.data() + 1;
}

// Breaks one field of one array in a way that a consumer can see.
void break_array(const Array& array, ArrowArray& node, Choices& choices) {
  const bool views = array.format == "vu" || array.format == "vz";
  switch (choices.below(12)) {
    case 0:
      node.length = choices.of<int64_t>({-1, kLeast, kMost});
      break;
    case 1:
      node.length = choices.below(node.length + 1);
      break;
    case 2:
      node.offset = choices.of<int64_t>({-1, kLeast, kMost});
      break;
    case 3:
      node.null_count = choices.of<int64_t>({-1, -2, 0, 1, kMost});
      break;
    case 4:
      node.n_buffers = choices.of<int64_t>({-1, 0, 1, views ? 2 : 4, kMost});
      break;
    case 5:
      node.n_children = choices.of<int64_t>({-1, 1, kMost});
      break;
    case 6:
      node.buffers = nullptr;
      break;
    case 7:
      node.buffers[choices.below(node.n_buffers)] = nullptr;
      break;
    case 8:
      node.release = nullptr;
      break;
    case 9:
      node.dictionary = nullptr;
      break;
    case 10:
      if (views) {
        auto* sizes = static_cast<int64_t*>(const_cast<void*>(node.buffers[node.n_buffers - 1]));
        for (int64_t i = 0; i < node.n_buffers - 3; ++i) sizes[i] -= choices.below(30);
      }
      break;
    default:
      node.dictionary = &node;
      break;
  }
}

void break_top(ArrowArray& top, Choices& choices) {
  switch (choices.below(9)) {
    case 0:
      top.length = choices.of<int64_t>({-1, kLeast, kMost});
      break;
    case 1:
      top.length = choices.below(60);
      break;
    case 2:
      top.offset = choices.of<int64_t>({-1, 1, 5, kMost});
      break;
    case 3:
      top.n_children += choices.of<int64_t>({-1, 1, kMost / 2});
      break;
    case 4:
      top.n_buffers = choices.of<int64_t>({-1, 0, 2, kMost});
      break;
    case 5:
      top.children = nullptr;
      break;
    case 6:
      top.buffers = nullptr;
      break;
    case 7:
      top.null_count = choices.of<int64_t>({-2, 1, kMost});
      break;
    default:
      if (top.n_children > 0) top.children[choices.below(top.n_children)] = nullptr;
      break;
  }
}

ArrowArray random_array(const Columns& columns, Choices& choices, Parking& parking) {
  ArrowArray raw = arrow_test::make_array(columns);
  if (!columns.empty() && choices.below(3) == 0) {
    const int64_t picked = choices.below(static_cast<int64_t>(columns.size()));
    const Array& array = columns[static_cast<size_t>(picked)].array;
    ArrowArray& node = *raw.children[picked];
    if (choices.one_in(4)) {
      misalign(array, node, parking);
    } else if (array.dictionary && choices.one_in(3)) {
      break_array(*array.dictionary, *node.dictionary, choices);
    } else {
      break_array(array, node, choices);
    }
  }
  // A slice of the whole table: valid, and the columns must follow.
  if (choices.one_in(4) && raw.length > 0) {
    raw.offset = choices.below(raw.length);
    raw.length -= raw.offset;
  }
  if (choices.one_in(8)) break_top(raw, choices);
  return raw;
}

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
    const Texts before = arrow_test::cells(batch, i);
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
    Texts expected;
    for (const Batch& batch : good) {
      const Texts part = arrow_test::cells(batch, i);
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
  crossdock::Choices choices(data, size);
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
