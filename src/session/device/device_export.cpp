#include "session/device/device_export.hpp"

#include <array>
#include <cstring>
#include <deque>

namespace crossdock::session {
namespace {

struct OwnedSchema {
  std::string name;
  std::string format;
  std::deque<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
};

void release_schema(ArrowSchema* schema) {
  auto* const owned = static_cast<OwnedSchema*>(schema->private_data);
  for (ArrowSchema& child : owned->children)
    if (child.release != nullptr) child.release(&child);
  delete owned;
  schema->release = nullptr;
}

void fill_schema(ArrowSchema* schema, OwnedSchema* owned, int64_t flags) {
  *schema = {};
  for (ArrowSchema& child : owned->children) owned->pointers.push_back(&child);
  schema->format = owned->format.c_str();
  schema->name = owned->name.c_str();
  schema->flags = flags;
  schema->n_children = static_cast<int64_t>(owned->children.size());
  schema->children = owned->pointers.data();
  schema->release = release_schema;
  schema->private_data = owned;
}

// What an exported array needs: a column's buffers, or the columns.
struct OwnedArray {
  std::vector<std::shared_ptr<const void>> owners;
  DevicePtr device;
  void* event = nullptr;
  std::array<const void*, 3> buffers = {};
  uint64_t offset = 0;
  std::deque<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
};

void release_array(ArrowArray* array) {
  auto* const owned = static_cast<OwnedArray*>(array->private_data);
  for (ArrowArray& child : owned->children)
    if (child.release != nullptr) child.release(&child);
  if (owned->event != nullptr) owned->device->driver().release_event(owned->event);
  delete owned;
  array->release = nullptr;
}

void fill_array(ArrowArray* array, OwnedArray* owned, uint64_t rows, int64_t buffers) {
  *array = {};
  for (ArrowArray& child : owned->children) owned->pointers.push_back(&child);
  array->length = static_cast<int64_t>(rows);
  array->offset = static_cast<int64_t>(owned->offset);
  array->n_buffers = buffers;
  array->n_children = static_cast<int64_t>(owned->children.size());
  array->buffers = owned->buffers.data();
  array->children = owned->pointers.data();
  array->release = release_array;
  array->private_data = owned;
}

// Other libraries read it from now on. What another library owns is for that one to keep.
void share_bytes(const DevicePtr& device, const DeviceBytes& bytes) {
  if (bytes.is_pooled) device->pool().share(const_cast<std::byte*>(bytes.data));
}

Result<std::unique_ptr<OwnedArray>> device_column(const DeviceTable& table,
                                                  const TableColumn& column) {
  auto owned = std::make_unique<OwnedArray>();
  owned->offset = column.first;
  size_t buffer = 0;
  for (const DeviceBytes* bytes : {&column.valid, &column.values, &column.bytes}) {
    owned->owners.push_back(bytes->owner);
    owned->buffers[buffer++] = bytes->data;
    share_bytes(table.device, *bytes);
  }
  return Result<std::unique_ptr<OwnedArray>>(std::move(owned));
}

// Reads a column's buffers to the host, from the byte of bits on in which it begins.
Result<std::unique_ptr<OwnedArray>> host_column(const DeviceTable& table,
                                                const TableColumn& column) {
  auto owned = std::make_unique<OwnedArray>();
  const uint64_t skipped = column.first / 8 * 8;
  owned->offset = column.first - skipped;
  const uint64_t count = owned->offset + table.rows;
  const auto read = [&](size_t buffer, const std::byte* from, uint64_t bytes) -> Status {
    const std::shared_ptr<std::byte[]> copy(new std::byte[bytes + 1]);
    if (bytes != 0) CD_TRY(table.device->read(copy.get(), from, bytes));
    owned->buffers[buffer] = copy.get();
    owned->owners.push_back(copy);
    return {};
  };
  const uint64_t bit_bytes = (count + 7) / 8;
  if (column.has_nulls()) CD_TRY(read(0, column.valid.data + skipped / 8, bit_bytes));
  if (column.stored == Stored::kBit) {
    CD_TRY(read(1, column.values.data + skipped / 8, bit_bytes));
    return Result<std::unique_ptr<OwnedArray>>(std::move(owned));
  }
  const uint64_t width = width_of(column.stored);
  const uint64_t elements = count + (operators::is_text(column.stored) ? 1 : 0);
  CD_TRY(read(1, column.values.data + skipped * width, elements * width));
  if (operators::is_text(column.stored)) {
    uint64_t end = 0;  // of the last text; offsets are little-endian
    std::memcpy(&end, static_cast<const std::byte*>(owned->buffers[1]) + count * width, width);
    CD_TRY(read(2, column.bytes.data, end));
  }
  return Result<std::unique_ptr<OwnedArray>>(std::move(owned));
}

template <class MakeColumn>
Result<std::unique_ptr<OwnedArray>> all_columns(const DeviceTable& table, const MakeColumn& make) {
  std::vector<std::unique_ptr<OwnedArray>> children;
  for (const TableColumn& column : table.columns) {
    CD_ASSIGN(std::unique_ptr<OwnedArray> one, make(table, column));
    children.push_back(std::move(one));
  }
  auto owned = std::make_unique<OwnedArray>();
  for (size_t at = 0; at < children.size(); ++at) {
    ArrowArray& child = owned->children.emplace_back();
    fill_array(&child,
               children[at].release(),
               table.rows,
               operators::is_text(table.columns[at].stored) ? 3 : 2);
    child.null_count = static_cast<int64_t>(table.columns[at].null_count);
  }
  return Result<std::unique_ptr<OwnedArray>>(std::move(owned));
}

struct OwnedTensor {
  std::shared_ptr<const void> owner;
  std::array<int64_t, 1> shape = {};
  std::array<int64_t, 1> strides = {1};
};

template <class Managed>
Result<Managed*> tensor_of(const DeviceTable& table, const std::string& name, uint64_t stream) {
  CD_ASSIGN(const TableColumn* const column, table.find(name));
  if (column->has_nulls()) {
    return make_error(ErrorCode::kUnsupportedType,
                      "column \"{}\" has {} NULLs, which a tensor of DLPack cannot have\n"
                      "  try      filter(xd.col(\"{}\").is_not_null()), or the Arrow export",
                      name,
                      column->null_count,
                      name);
  }
  if (!is_number(column->stored)) {
    return make_error(ErrorCode::kUnsupportedType,
                      "column \"{}\" with the Arrow format \"{}\" cannot be a tensor of DLPack\n"
                      "  try      the Arrow export",
                      name,
                      column->format);
  }
  const DevicePtr& device = table.device;
  const uint64_t width_bytes = width_of(column->stored);
  CD_ASSIGN(const DeviceTurn turn, DeviceTurn::begin(*device));
  if (stream != 0) CD_TRY(device->driver().order_stream(stream));
  share_bytes(device, column->values);
  auto* const owned = new OwnedTensor{.owner = column->values.owner};
  owned->shape[0] = static_cast<int64_t>(table.rows);
  auto* const managed = new Managed;
  const dlpack::Code code = operators::is_float(column->stored)    ? dlpack::Code::kFloat
                          : operators::is_unsigned(column->stored) ? dlpack::Code::kUInt
                                                                   : dlpack::Code::kInt;
  managed->tensor = {
      .data = const_cast<std::byte*>(column->values.data) + column->first * width_bytes,
      .device = {static_cast<int32_t>(device->facts().place),
                 static_cast<int32_t>(device->facts().id)},
      .dimensions = 1,
      .type = {static_cast<uint8_t>(code), static_cast<uint8_t>(width_bytes * 8), 1},
      .shape = owned->shape.data(),
      .strides = owned->strides.data()};
  managed->owner = owned;
  managed->deleter = [](Managed* done) {
    delete static_cast<OwnedTensor*>(done->owner);
    delete done;
  };
  return managed;
}

}  // namespace

void export_device_schema(const DeviceTable& table, ArrowSchema* schema) {
  auto* const whole = new OwnedSchema{"", "+s", {}, {}};
  for (const TableColumn& column : table.columns) {
    ArrowSchema& child = whole->children.emplace_back();
    fill_schema(&child, new OwnedSchema{column.name, column.format, {}, {}}, ARROW_FLAG_NULLABLE);
  }
  fill_schema(schema, whole, 0);
}

Status export_device_array(const DeviceTable& table, ArrowDeviceArray* array) {
  CD_ASSIGN(const DeviceTurn turn, DeviceTurn::begin(*table.device));
  CD_ASSIGN(std::unique_ptr<OwnedArray> owned, all_columns(table, device_column));
  const DeviceFacts& facts = table.device->facts();
  owned->device = table.device;
  *array = {};
  CD_ASSIGN(owned->event, table.device->driver().record_event());
  array->sync_event = owned->event;
  array->device_id = facts.place == MemoryPlace::kHost ? -1 : facts.id;
  array->device_type = static_cast<ArrowDeviceType>(facts.place);
  fill_array(&array->array, owned.release(), table.rows, 1);
  return {};
}

Status export_host_array(const DeviceTable& table, ArrowArray* array) {
  CD_ASSIGN(const DeviceTurn turn, DeviceTurn::begin(*table.device));
  CD_ASSIGN(std::unique_ptr<OwnedArray> owned, all_columns(table, host_column));
  CD_TRY(table.device->driver().wait());
  fill_array(array, owned.release(), table.rows, 1);
  return {};
}

Result<dlpack::Managed*> export_tensor(const DeviceTable& table,
                                       const std::string& name,
                                       uint64_t stream) {
  return tensor_of<dlpack::Managed>(table, name, stream);
}

Result<dlpack::ManagedVersioned*> export_versioned_tensor(const DeviceTable& table,
                                                          const std::string& name,
                                                          uint64_t stream) {
  CD_ASSIGN(dlpack::ManagedVersioned* const managed,
            tensor_of<dlpack::ManagedVersioned>(table, name, stream));
  managed->flags = dlpack::kReadOnly;  // other tables may share the column
  return managed;
}

}  // namespace crossdock::session
