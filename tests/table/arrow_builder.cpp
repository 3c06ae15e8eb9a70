// The producer's side of the Arrow C interfaces, written plainly for tests.
#include "table/arrow_builder.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/check.hpp"

namespace crossdock::arrow_test {
namespace {

std::atomic<int64_t> live{0};

// Everything one made struct tree points to; freed when its top is released.
template <class Node>
struct Owner {
  Columns columns;
  std::vector<Node> nodes;  // top, columns, dictionaries
  std::vector<Node*> children;
  std::vector<std::vector<const void*>> buffers;
  std::vector<std::unique_ptr<int64_t[]>> heap_sizes;

  explicit Owner(const Columns& source) : columns(source) {
    nodes.resize(1 + 2 * columns.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      children.push_back(&nodes[1 + i]);
      if (columns[i].array.dictionary) {
        nodes[1 + i].dictionary = &nodes[1 + columns.size() + i];
        nodes[1 + i].dictionary->release = &release_inner;
      }
      nodes[1 + i].release = &release_inner;
    }
    nodes[0].n_children = static_cast<int64_t>(columns.size());
    nodes[0].children = children.data();
    nodes[0].private_data = this;
    nodes[0].release = &release_top;
    ++live;
  }

  static void release_inner(Node* node) { node->release = nullptr; }
  static void release_top(Node* node) {
    node->release = nullptr;
    delete static_cast<Owner*>(node->private_data);
    --live;
  }
};

bool is_view(const std::string& format) { return format == "vu" || format == "vz"; }

void fill(const Array& array, Owner<ArrowArray>& owner, ArrowArray& node) {
  node.length = array.length;
  node.null_count = array.null_count;
  node.offset = array.offset;
  std::vector<const void*>& slots = owner.buffers.emplace_back();
  for (const auto& buffer : array.buffers) slots.push_back(buffer ? buffer->data() : nullptr);
  if (is_view(array.format)) {
    const size_t heaps = array.buffers.size() - 2;
    auto& sizes = owner.heap_sizes.emplace_back(std::make_unique<int64_t[]>(heaps));
    for (size_t i = 0; i < heaps; ++i) {
      sizes[i] = static_cast<int64_t>(array.buffers[2 + i].value_or(Bytes{}).size());
    }
    slots.push_back(sizes.get());
  }
  node.n_buffers = static_cast<int64_t>(slots.size());
  node.buffers = slots.data();
}

struct StreamState {
  std::vector<Columns> batches;
  std::string error;
  size_t next = 0;
};

int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  *out = make_schema(static_cast<StreamState*>(stream->private_data)->batches.at(0));
  return 0;
}

int stream_next(ArrowArrayStream* stream, ArrowArray* out) {
  auto* state = static_cast<StreamState*>(stream->private_data);
  *out = ArrowArray{};
  if (state->next < state->batches.size()) {
    *out = make_array(state->batches[state->next++]);
    return 0;
  }
  return state->error.empty() ? 0 : EIO;
}

const char* stream_error(ArrowArrayStream* stream) {
  return static_cast<StreamState*>(stream->private_data)->error.c_str();
}

void stream_release(ArrowArrayStream* stream) {
  delete static_cast<StreamState*>(stream->private_data);
  stream->release = nullptr;
  --live;
}

template <class T>
T load(const ColumnView& column, int64_t row) {
  T value;
  std::memcpy(&value, column.values + (column.offset + row) * int64_t{sizeof(T)}, sizeof value);
  return value;
}

template <class Offset>
std::string offset_text(const ColumnView& column, int64_t row) {
  const Offset* at = static_cast<const Offset*>(column.offsets) + column.offset + row;
  return {reinterpret_cast<const char*>(column.values) + at[0], static_cast<size_t>(at[1] - at[0])};
}

std::string view_text(const ColumnView& column, int64_t row) {
  const uint8_t* view = column.values + (column.offset + row) * 16;
  int32_t words[4];
  std::memcpy(words, view, sizeof words);
  const uint8_t* bytes = words[0] <= 12 ? view + 4 : column.heaps[words[2]] + words[3];
  return {reinterpret_cast<const char*>(bytes), static_cast<size_t>(words[0])};
}

int64_t load_index(const DataType& type, const ColumnView& column, int64_t row) {
  switch (dictionary_index(type)) {
    case TypeId::kInt8:
      return load<int8_t>(column, row);
    case TypeId::kInt16:
      return load<int16_t>(column, row);
    case TypeId::kInt32:
      return load<int32_t>(column, row);
    case TypeId::kUInt8:
      return load<uint8_t>(column, row);
    case TypeId::kUInt16:
      return load<uint16_t>(column, row);
    case TypeId::kUInt32:
      return load<uint32_t>(column, row);
    default:
      return load<int64_t>(column, row);
  }
}

std::string number_text(const DataType& type, const ColumnView& column, int64_t row) {
  if (type.id == TypeId::kFloat32) return fmt::format("{}", load<float>(column, row));
  if (type.id == TypeId::kFloat64) return fmt::format("{}", load<double>(column, row));
  if (type.id == TypeId::kFloat16) return fmt::format("{:04x}", load<uint16_t>(column, row));
  const bool is_unsigned = is_unsigned_integer(type.id);
  switch (fixed_bytes(type)) {
    case 1:
      return is_unsigned ? fmt::to_string(int{load<uint8_t>(column, row)})
                         : fmt::to_string(int{load<int8_t>(column, row)});
    case 2:
      return is_unsigned ? fmt::to_string(load<uint16_t>(column, row))
                         : fmt::to_string(load<int16_t>(column, row));
    case 4:
      return is_unsigned ? fmt::to_string(load<uint32_t>(column, row))
                         : fmt::to_string(load<int32_t>(column, row));
    case 8:
      return is_unsigned ? fmt::to_string(load<uint64_t>(column, row))
                         : fmt::to_string(load<int64_t>(column, row));
    default:
      break;
  }
  return fmt::format("{:016x}{:016x}",
                     load<uint64_t>(column, 2 * row + column.offset + 1),
                     load<uint64_t>(column, 2 * row + column.offset));
}

}  // namespace

std::optional<Bytes> validity_of(const std::vector<bool>& values) {
  Bytes bitmap((values.size() + 7) / 8, 0);
  bool all = true;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]) bitmap[i >> 3] |= static_cast<uint8_t>(1 << (i & 7));
    all = all && values[i];
  }
  if (all) return std::nullopt;
  return bitmap;
}

Array bools(const Optionals<bool>& values) {
  std::vector<bool> valid;
  Bytes bits((values.size() + 7) / 8, 0);
  Array array{"b", static_cast<int64_t>(values.size()), 0, 0, {}, nullptr};
  for (size_t i = 0; i < values.size(); ++i) {
    valid.push_back(values[i].has_value());
    array.null_count += values[i] ? 0 : 1;
    if (values[i].value_or(true)) bits[i >> 3] |= static_cast<uint8_t>(1 << (i & 7));
  }
  array.buffers = {validity_of(valid), std::move(bits)};
  return array;
}

namespace {

template <class Offset>
void write_offsets(const Optionals<std::string>& values, Array& array) {
  Bytes offsets((values.size() + 1) * sizeof(Offset));
  Bytes bytes;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string text = values[i].value_or("");
    bytes.insert(bytes.end(), text.begin(), text.end());
    reinterpret_cast<Offset*>(offsets.data())[i + 1] = static_cast<Offset>(bytes.size());
  }
  bytes.shrink_to_fit();
  array.buffers.push_back(std::move(offsets));
  array.buffers.push_back(std::move(bytes));
}

void write_views(const Optionals<std::string>& values, int64_t heap_bytes, Array& array) {
  Bytes views(values.size() * 16, 0);
  std::vector<Bytes> heaps;
  for (size_t i = 0; i < values.size(); ++i) {
    uint8_t* view = views.data() + i * 16;
    if (!values[i]) {
      std::memset(view, 0xAB, 16);
      continue;
    }
    const std::string& text = *values[i];
    const auto length = static_cast<int32_t>(text.size());
    std::memcpy(view, &length, 4);
    if (length <= 12) {
      std::memcpy(view + 4, text.data(), text.size());
      continue;
    }
    if (heaps.empty() || static_cast<int64_t>(heaps.back().size() + text.size()) > heap_bytes) {
      heaps.emplace_back();
    }
    const int32_t place[2] = {static_cast<int32_t>(heaps.size() - 1),
                              static_cast<int32_t>(heaps.back().size())};
    std::memcpy(view + 4, text.data(), 4);
    std::memcpy(view + 8, place, 8);
    heaps.back().insert(heaps.back().end(), text.begin(), text.end());
  }
  array.buffers.push_back(std::move(views));
  for (Bytes& heap : heaps) {
    heap.shrink_to_fit();
    array.buffers.push_back(std::move(heap));
  }
}

}  // namespace

Array strings(const std::string& format, const Optionals<std::string>& values, int64_t heap_bytes) {
  Array array{format, static_cast<int64_t>(values.size()), 0, 0, {}, nullptr};
  std::vector<bool> valid;
  for (const auto& value : values) {
    valid.push_back(value.has_value());
    array.null_count += value ? 0 : 1;
  }
  array.buffers.push_back(validity_of(valid));
  if (is_view(format)) {
    write_views(values, heap_bytes, array);
  } else if (format == "U" || format == "Z") {
    write_offsets<int64_t>(values, array);
  } else {
    write_offsets<int32_t>(values, array);
  }
  return array;
}

namespace {

template <class Index>
Array narrow(const std::string& format, const Optionals<int64_t>& indices) {
  Optionals<Index> narrowed;
  for (const auto& index : indices) {
    narrowed.push_back(index ? std::optional<Index>(static_cast<Index>(*index)) : std::nullopt);
  }
  return fixed<Index>(format, narrowed);
}

Array narrow_to(const std::string& format, const Optionals<int64_t>& indices) {
  switch (format.at(0)) {
    case 'c':
      return narrow<int8_t>(format, indices);
    case 'C':
      return narrow<uint8_t>(format, indices);
    case 's':
      return narrow<int16_t>(format, indices);
    case 'S':
      return narrow<uint16_t>(format, indices);
    case 'i':
      return narrow<int32_t>(format, indices);
    case 'I':
      return narrow<uint32_t>(format, indices);
    case 'l':
      return narrow<int64_t>(format, indices);
    default:
      return narrow<uint64_t>(format, indices);
  }
}

}  // namespace

Array encoded(const std::string& format, const Optionals<int64_t>& indices, Array values) {
  Array array = narrow_to(format, indices);
  array.dictionary = std::make_shared<const Array>(std::move(values));
  return array;
}

Array sliced(Array array, int64_t begin, int64_t count) {
  CD_CHECK(begin >= 0 && begin + count <= array.length,
           "rows [{}, +{}) of {}",
           begin,
           count,
           array.length);
  array.offset += begin;
  array.length = count;
  array.null_count = -1;
  return array;
}

ArrowSchema make_schema(const Columns& columns) {
  auto* owner = new Owner<ArrowSchema>(columns);
  ArrowSchema& top = owner->nodes[0];
  top.format = "+s";
  for (size_t i = 0; i < columns.size(); ++i) {
    const Column& column = owner->columns[i];
    ArrowSchema& node = owner->nodes[1 + i];
    node.format = column.array.format.c_str();
    node.name = column.name.c_str();
    node.metadata = column.metadata.empty() ? nullptr : column.metadata.data();
    node.flags = (column.nullable ? ARROW_FLAG_NULLABLE : 0) |
                 (column.ordered ? ARROW_FLAG_DICTIONARY_ORDERED : 0);
    if (node.dictionary != nullptr)
      node.dictionary->format = column.array.dictionary->format.c_str();
  }
  return top;
}

ArrowArray make_array(const Columns& columns, int64_t rows) {
  auto* owner = new Owner<ArrowArray>(columns);
  ArrowArray& top = owner->nodes[0];
  top.length = rows >= 0 || columns.empty() ? std::max<int64_t>(rows, 0) : columns[0].array.length;
  top.n_buffers = 1;
  owner->buffers.reserve(1 + 2 * columns.size());
  top.buffers = owner->buffers.emplace_back(1, nullptr).data();
  for (size_t i = 0; i < columns.size(); ++i) {
    const Column& column = owner->columns[i];
    ArrowArray& node = owner->nodes[1 + i];
    fill(column.array, *owner, node);
    if (node.dictionary != nullptr) fill(*column.array.dictionary, *owner, *node.dictionary);
  }
  return top;
}

ArrowArrayStream make_stream(std::vector<Columns> batches, std::string error) {
  ++live;
  return {&stream_schema,
          &stream_next,
          &stream_error,
          &stream_release,
          new StreamState{std::move(batches), std::move(error), 0}};
}

int64_t live_structs() { return live; }

SchemaPtr make_schema_ptr(const Columns& columns) {
  ArrowSchema raw = make_schema(columns);
  const Result<SchemaPtr> schema = import_schema(raw);
  raw.release(&raw);
  CD_CHECK(schema.ok(), "{}", schema.error().message);
  return schema.value();
}

Batch make_batch(const Columns& columns) {
  ArrowArray raw = make_array(columns);
  Result<Batch> batch = import_batch(&raw, make_schema_ptr(columns));
  CD_CHECK(batch.ok(), "{}", batch.error().message);
  return batch.value();
}

TablePtr make_table(std::vector<Columns> batches) {
  ArrowArrayStream stream = make_stream(std::move(batches));
  const Result<TablePtr> table = import_stream(&stream);
  CD_CHECK(table.ok(), "{}", table.error().message);
  return table.value();
}

std::string cell(const DataType& type, const ColumnView& column, int64_t row) {
  if (!column.is_valid(row)) return "null";
  if (type.id == TypeId::kDictionary) {
    return cell(*type.dictionary, *column.dictionary, load_index(type, column, row));
  }
  const int64_t bit = column.offset + row;
  switch (layout(type)) {
    case Layout::kBits:
      return (column.values[bit >> 3] >> (bit & 7)) & 1 ? "true" : "false";
    case Layout::kFixed:
      return number_text(type, column, row);
    case Layout::kOffsets32:
      return offset_text<int32_t>(column, row);
    case Layout::kOffsets64:
      return offset_text<int64_t>(column, row);
    case Layout::kViews:
      break;
  }
  return view_text(column, row);
}

Strings cells(const Batch& batch, int column) {
  Strings result;
  for (int64_t row = 0; row < batch.rows; ++row) {
    result.push_back(cell(batch.schema->fields[column].type, batch.columns[column], row));
  }
  return result;
}

Strings cells(const Table& table, int column) {
  Strings result;
  for (const Batch& batch : table.batches) {
    const Strings part = cells(batch, column);
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

}  // namespace crossdock::arrow_test
