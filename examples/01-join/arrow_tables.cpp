// Columns as Arrow C structs and back.
#include "arrow_tables.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace {

// Owns what one exported column points to.
struct ColumnMemory {
  Column column;
  std::vector<int32_t> offsets;  // strings: where each one ends in `bytes`
  std::string bytes;
  const void* buffers[3] = {nullptr, nullptr, nullptr};  // no validity bitmap: no nulls
};

// Owns the children of an exported struct.
template <class Node>
struct Children {
  std::vector<Node> nodes;
  std::vector<Node*> pointers;
  const void* no_validity = nullptr;
};

struct StreamMemory {
  Columns columns;
  bool done = false;
};

bool is_text(const Column& column) { return column.values.index() == 1; }

// `node->release`: gives back what `private_data` owns, as an Owner.
template <class Node, class Owner>
void release_as(Node* node) {
  delete static_cast<Owner*>(node->private_data);
  node->release = nullptr;
}

template <class Node>
void release_parent(Node* node) {
  for (Node* child : static_cast<Children<Node>*>(node->private_data)->pointers) {
    if (child->release != nullptr) child->release(child);
  }
  release_as<Node, Children<Node>>(node);
}

template <class Node, class Fill>
Children<Node>* make_children(const Columns& columns, Fill fill) {
  auto children = std::make_unique<Children<Node>>();
  children->nodes.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    fill(columns[i], &children->nodes[i]);
    children->pointers.push_back(&children->nodes[i]);
  }
  return children.release();
}

void fill_schema(const Column& column, ArrowSchema* out) {
  *out = {};
  out->format = is_text(column) ? "u" : "l";
  auto* name = new std::string(column.name);
  out->name = name->c_str();
  out->private_data = name;
  out->release = release_as<ArrowSchema, std::string>;
}

void fill_array(const Column& column, ArrowArray* out) {
  *out = {};
  auto* memory = new ColumnMemory{column, {}, {}};
  out->private_data = memory;
  out->release = release_as<ArrowArray, ColumnMemory>;
  out->buffers = memory->buffers;
  if (is_text(column)) {
    const auto& strings = std::get<1>(memory->column.values);
    memory->offsets.push_back(0);
    for (const std::string& text : strings) {
      memory->bytes += text;
      memory->offsets.push_back(static_cast<int32_t>(memory->bytes.size()));
    }
    out->length = static_cast<int64_t>(strings.size());
    out->n_buffers = 3;
    memory->buffers[1] = memory->offsets.data();
    memory->buffers[2] = memory->bytes.data();
  } else {
    const auto& integers = std::get<0>(memory->column.values);
    out->length = static_cast<int64_t>(integers.size());
    out->n_buffers = 2;
    memory->buffers[1] = integers.data();
  }
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  const Columns& columns = static_cast<StreamMemory*>(stream->private_data)->columns;
  auto* children = make_children<ArrowSchema>(columns, fill_schema);
  *out = {};
  out->format = "+s";  // a table is a struct of its columns
  out->n_children = static_cast<int64_t>(columns.size());
  out->children = children->pointers.data();
  out->private_data = children;
  out->release = release_parent<ArrowSchema>;
  return 0;
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  auto* memory = static_cast<StreamMemory*>(stream->private_data);
  *out = {};
  if (memory->done) return 0;  // an array without `release` is the end
  memory->done = true;
  auto* children = make_children<ArrowArray>(memory->columns, fill_array);
  out->length = children->nodes.front().length;
  out->n_buffers = 1;
  out->buffers = &children->no_validity;
  out->n_children = static_cast<int64_t>(children->nodes.size());
  out->children = children->pointers.data();
  out->private_data = children;
  out->release = release_parent<ArrowArray>;
  return 0;
}

const char* get_last_error(ArrowArrayStream*) { return nullptr; }

// Throws the producer's own words for an error of the stream.
void check(ArrowArrayStream* stream, int error) {
  if (error == 0) return;
  const char* text = stream->get_last_error(stream);
  throw std::runtime_error(text == nullptr ? "the stream failed" : text);
}

std::string cell(const ArrowSchema& type, const ArrowArray& column, int64_t row) {
  const int64_t at = column.offset + row;
  const auto* validity = static_cast<const uint8_t*>(column.buffers[0]);
  if (validity != nullptr && ((validity[at / 8] >> (at % 8)) & 1) == 0) return "-";
  if (std::string(type.format) == "l") {
    return std::to_string(static_cast<const int64_t*>(column.buffers[1])[at]);
  }
  const auto* offsets = static_cast<const int32_t*>(column.buffers[1]);
  const auto* bytes = static_cast<const char*>(column.buffers[2]);
  return std::string(bytes + offsets[at], bytes + offsets[at + 1]);
}

}  // namespace

void stream_columns(Columns columns, ArrowArrayStream* out) {
  *out = {};
  out->get_schema = get_schema;
  out->get_next = get_next;
  out->get_last_error = get_last_error;
  out->private_data = new StreamMemory{std::move(columns)};
  out->release = release_as<ArrowArrayStream, StreamMemory>;
}

std::vector<std::string> read_lines_in_order(ArrowArrayStream* stream) {
  constexpr size_t kWidth = 10;
  std::vector<std::string> lines;
  ArrowSchema schema;
  check(stream, stream->get_schema(stream, &schema));
  ArrowArray batch;
  for (check(stream, stream->get_next(stream, &batch)); batch.release != nullptr;
       check(stream, stream->get_next(stream, &batch))) {
    for (int64_t row = 0; row < batch.length; ++row) {
      std::string line;
      for (int64_t i = 0; i < batch.n_children; ++i) {
        line.resize(std::max(line.size(), static_cast<size_t>(i) * kWidth), ' ');
        line += cell(*schema.children[i], *batch.children[i], batch.offset + row);
      }
      lines.push_back(std::move(line));
    }
    batch.release(&batch);
  }
  schema.release(&schema);
  stream->release(stream);
  return lines;
}

std::vector<std::string> read_lines(ArrowArrayStream* stream) {
  std::vector<std::string> lines = read_lines_in_order(stream);
  std::sort(lines.begin(), lines.end());
  return lines;
}
