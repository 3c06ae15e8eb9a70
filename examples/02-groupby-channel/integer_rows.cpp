// Columns as Arrow C structs.
#include "integer_rows.hpp"

#include <memory>

namespace {

// What an array points to.
struct Owned {
  std::vector<std::vector<int64_t>> values;
  std::vector<std::vector<const void*>> buffers;  // of each column: no validity bitmap, the values
  std::vector<ArrowArray> columns;
  std::vector<ArrowArray*> pointers;
  const void* no_validity = nullptr;
};

void release_rows(ArrowArray* array) {
  delete static_cast<Owned*>(array->private_data);
  array->release = nullptr;
}

}  // namespace

IntegerSchema::IntegerSchema(std::vector<std::string> names)
    : names_(std::move(names)), columns_(names_.size()), schema_{} {
  for (size_t at = 0; at < names_.size(); ++at) {
    columns_[at] = {};
    columns_[at].format = "l";  // int64
    columns_[at].name = names_[at].c_str();
    columns_[at].release = [](ArrowSchema* schema) { schema->release = nullptr; };
    pointers_.push_back(&columns_[at]);
  }
  schema_.format = "+s";  // rows are a struct of their columns
  schema_.n_children = static_cast<int64_t>(pointers_.size());
  schema_.children = pointers_.data();
  schema_.release = [](ArrowSchema* schema) { schema->release = nullptr; };
}

ArrowArray integer_rows(std::vector<std::vector<int64_t>> columns) {
  auto owned = std::make_unique<Owned>();
  owned->values = std::move(columns);
  owned->columns.resize(owned->values.size());
  for (const std::vector<int64_t>& values : owned->values) {
    owned->buffers.push_back({nullptr, values.data()});
  }
  for (size_t at = 0; at < owned->columns.size(); ++at) {
    ArrowArray& column = owned->columns[at];
    column = {};
    column.length = static_cast<int64_t>(owned->values[at].size());
    column.n_buffers = 2;
    column.buffers = owned->buffers[at].data();
    column.release = [](ArrowArray* array) { array->release = nullptr; };  // with the struct
    owned->pointers.push_back(&column);
  }
  ArrowArray rows = {};
  rows.length = owned->columns.front().length;
  rows.n_buffers = 1;
  rows.buffers = &owned->no_validity;
  rows.n_children = static_cast<int64_t>(owned->pointers.size());
  rows.children = owned->pointers.data();
  rows.release = release_rows;
  rows.private_data = owned.release();
  return rows;
}
