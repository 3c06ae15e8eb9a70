// Arrow out. A consumer may release the nodes of a tree in any order, and may move a column out of
// its parent and keep it alone, so all nodes live in one block that the last release frees.
#include "table/arrow_export.hpp"

#include <atomic>
#include <cerrno>
#include <exception>
#include <new>
#include <vector>

#include "base/check.hpp"

namespace crossdock {
namespace {

alignas(16) constexpr uint8_t kNoBytes[16] = {};

// A block of exported nodes and what they point to. Its size is known before the first node is
// handed out, so pointers into the vectors stay good. Thread-safe: nodes may be released by several
// threads.
template <class Node>
struct ExportedTree {
  std::atomic<int64_t> live{0};
  std::vector<Node> nodes;  // [0] is the top; columns and dictionaries follow
  std::vector<Node*> children;
  std::vector<const void*> buffers;   // arrays only
  std::shared_ptr<const void> owner;  // arrays only: keeps the buffers alive
  std::vector<std::string> strings;   // schemas only

  static void release(Node* node) {
    auto* tree = static_cast<ExportedTree*>(node->private_data);
    for (int64_t i = 0; i < node->n_children; ++i) release_if_live(node->children[i]);
    release_if_live(node->dictionary);
    node->release = nullptr;
    if (tree->live.fetch_sub(1, std::memory_order_acq_rel) == 1) delete tree;
  }

 private:
  static void release_if_live(Node* node) {
    if (node != nullptr && node->release != nullptr) node->release(node);
  }
};

// Hands the whole tree out: the caller gets node 0, and every node counts as live.
template <class Node>
void hand_out(std::unique_ptr<ExportedTree<Node>> tree, Node* out) {
  for (Node& node : tree->nodes) {
    node.release = &ExportedTree<Node>::release;
    node.private_data = tree.get();
  }
  tree->live.store(static_cast<int64_t>(tree->nodes.size()), std::memory_order_relaxed);
  *out = tree->nodes[0];
  tree.release();
}

size_t dictionary_count(const Schema& schema) {
  size_t count = 0;
  for (const Field& field : schema.fields) count += field.type.id == TypeId::kDictionary ? 1 : 0;
  return count;
}

// Makes room for a table of `schema`: node 0 and its children, then dictionaries, all empty.
template <class Node>
std::unique_ptr<ExportedTree<Node>> make_tree(const Schema& schema) {
  auto tree = std::make_unique<ExportedTree<Node>>();
  const size_t columns = schema.fields.size();
  tree->nodes.resize(1 + columns + dictionary_count(schema));
  tree->children.resize(columns);
  for (size_t i = 0; i < columns; ++i) tree->children[i] = &tree->nodes[1 + i];
  tree->nodes[0].n_children = static_cast<int64_t>(columns);
  tree->nodes[0].children = tree->children.data();
  return tree;
}

size_t buffer_count(const DataType& type, const ColumnView& column) {
  switch (layout(type)) {
    case Layout::kBits:
    case Layout::kFixed:
      return 2;
    case Layout::kOffsets32:
    case Layout::kOffsets64:
      return 3;
    case Layout::kViews:
      break;
  }
  return 3 + static_cast<size_t>(column.heap_count);
}

size_t total_buffers(const Batch& batch) {
  size_t count = 1;  // the struct's own validity
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    const DataType& type = batch.schema->fields[i].type;
    count += buffer_count(type, batch.columns[i]);
    if (type.id == TypeId::kDictionary) {
      count += buffer_count(*type.dictionary, *batch.columns[i].dictionary);
    }
  }
  return count;
}

// Describes one column (without its dictionary); answers the buffer slots it used.
size_t fill_array(const DataType& type,
                  const ColumnView& column,
                  const void** slots,
                  ArrowArray& node) {
  node.length = column.length;
  // pyarrow takes the buffers of no rows to be empty, and writes IPC that begins before them.
  node.offset = column.length == 0 ? 0 : column.offset;
  node.null_count = column.validity == nullptr ? 0 : column.null_count;
  node.buffers = slots;
  const size_t count = buffer_count(type, column);
  node.n_buffers = static_cast<int64_t>(count);
  *slots++ = column.validity;
  switch (layout(type)) {
    case Layout::kBits:
    case Layout::kFixed:
      *slots++ = column.values;
      break;
    case Layout::kOffsets32:
    case Layout::kOffsets64:
      *slots++ = column.offsets;
      *slots++ = column.values;
      break;
    case Layout::kViews:
      *slots++ = column.values;
      for (int32_t i = 0; i < column.heap_count; ++i) *slots++ = column.heaps[i];
      *slots++ = column.heap_count == 0 ? static_cast<const void*>(kNoBytes) : column.heap_bytes;
      break;
  }
  return count;
}

const char* keep_text(ExportedTree<ArrowSchema>& tree, std::string text) {
  return tree.strings.emplace_back(std::move(text)).c_str();
}

void fill_schema(const Field& field, ExportedTree<ArrowSchema>& tree, ArrowSchema& node) {
  CD_CHECK(!field.type.arrow_format.empty(), "column {} has no Arrow format", field.name);
  node.format = keep_text(tree, field.type.arrow_format);
  node.name = keep_text(tree, field.name);
  if (!field.metadata.empty()) node.metadata = keep_text(tree, field.metadata);
  if (field.nullable) node.flags |= ARROW_FLAG_NULLABLE;
  if (field.type.ordered_dictionary) node.flags |= ARROW_FLAG_DICTIONARY_ORDERED;
}

struct ExportedStream {
  SchemaPtr schema;
  BatchPuller next;
  bool ended = false;
  int failed = 0;  // errno of the error that ended the stream
  std::string error;

  int fail(int code, std::string text) {
    failed = code;
    error = std::move(text);
    next = nullptr;
    return code;
  }
};

int errno_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kCancelled:
      return ECANCELED;
    case ErrorCode::kOutOfMemoryBudget:
      return ENOMEM;
    default:
      return EIO;
  }
}

// Exceptions must not pass a C callback; what escapes `body` becomes the stream's error.
template <class Body>
int guarded(ArrowArrayStream* stream, Body body) {
  auto& state = *static_cast<ExportedStream*>(stream->private_data);
  try {
    return body(state);
  } catch (const std::bad_alloc&) {
    return state.fail(ENOMEM, code_text(ErrorCode::kOutOfMemoryBudget) + ": no memory left");
  } catch (const std::exception& escaped) {
    return state.fail(EIO, code_text(ErrorCode::kInternal) + ": " + escaped.what());
  } catch (...) {
    return state.fail(EIO, code_text(ErrorCode::kInternal) + ": an exception of unknown type");
  }
}

int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  return guarded(stream, [out](ExportedStream& state) {
    export_schema(*state.schema, out);
    return 0;
  });
}

int stream_next(ArrowArrayStream* stream, ArrowArray* out) {
  return guarded(stream, [out](ExportedStream& state) {
    *out = ArrowArray{};
    if (state.failed != 0) return state.failed;
    if (state.ended) return 0;
    Result<std::optional<Batch>> pulled = state.next();
    if (!pulled.ok()) {
      const Error& error = pulled.error();
      return state.fail(errno_of(error.code), code_text(error.code) + ": " + error.message);
    }
    if (!pulled.value().has_value()) {
      state.ended = true;
      state.next = nullptr;  // drops what the puller holds: a finished stream keeps no tables
      return 0;
    }
    export_batch(*pulled.value(), out);
    return 0;
  });
}

const char* stream_last_error(ArrowArrayStream* stream) {
  const auto& state = *static_cast<const ExportedStream*>(stream->private_data);
  return state.error.empty() ? nullptr : state.error.c_str();
}

void stream_release(ArrowArrayStream* stream) {
  delete static_cast<ExportedStream*>(stream->private_data);
  stream->private_data = nullptr;
  stream->release = nullptr;
}

}  // namespace

void export_schema(const Schema& schema, ArrowSchema* out) {
  auto tree = make_tree<ArrowSchema>(schema);
  tree->strings.reserve(2 + 4 * schema.fields.size());  // never grows: nodes point into it
  tree->nodes[0].format = "+s";
  tree->nodes[0].name = "";
  ArrowSchema* dictionary = tree->nodes.data() + 1 + schema.fields.size();
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    ArrowSchema& node = tree->nodes[1 + i];
    fill_schema(field, *tree, node);
    if (field.type.id != TypeId::kDictionary) continue;
    node.dictionary = dictionary++;
    node.dictionary->format = keep_text(*tree, field.type.dictionary->arrow_format);
    node.dictionary->name = "";
    node.dictionary->flags = ARROW_FLAG_NULLABLE;
  }
  hand_out(std::move(tree), out);
}

void export_batch(const Batch& batch, ArrowArray* out) {
  const Schema& schema = *batch.schema;
  CD_CHECK(batch.columns.size() == schema.fields.size(),
           "{} columns, {} fields",
           batch.columns.size(),
           schema.fields.size());
  auto tree = make_tree<ArrowArray>(schema);
  tree->owner = batch.owner;
  tree->buffers.resize(total_buffers(batch));
  const void** slots = tree->buffers.data();
  tree->nodes[0].length = batch.rows;
  tree->nodes[0].n_buffers = 1;
  tree->nodes[0].buffers = slots++;
  ArrowArray* dictionary = tree->nodes.data() + 1 + schema.fields.size();
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    const DataType& type = schema.fields[i].type;
    const ColumnView& column = batch.columns[i];
    CD_CHECK(column.length == batch.rows,
             "column {} has {} rows of {}",
             schema.fields[i].name,
             column.length,
             batch.rows);
    slots += fill_array(type, column, slots, tree->nodes[1 + i]);
    if (type.id != TypeId::kDictionary) continue;
    slots += fill_array(*type.dictionary, *column.dictionary, slots, *dictionary);
    tree->nodes[1 + i].dictionary = dictionary++;
  }
  hand_out(std::move(tree), out);
}

void export_stream(SchemaPtr schema, BatchPuller next, ArrowArrayStream* out) {
  out->private_data = new ExportedStream{std::move(schema), std::move(next), false, 0, {}};
  out->get_schema = &stream_schema;
  out->get_next = &stream_next;
  out->get_last_error = &stream_last_error;
  out->release = &stream_release;
}

}  // namespace crossdock
