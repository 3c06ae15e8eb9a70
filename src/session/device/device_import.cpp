// What lies where, whose it is, and copies of what the device does not reach.
#include "session/device/device_import.hpp"

#include <bit>
#include <cstring>

namespace crossdock {
namespace {

enum class Reach { kInPlace, kCopied };

Result<Reach> reach_of(const Device& device, int32_t type, int64_t id, const std::string& what) {
  const auto place = static_cast<MemoryPlace>(type);
  const DeviceFacts& facts = device.facts();
  if (place == facts.place && (place == MemoryPlace::kHost || id == facts.id))
    return Reach::kInPlace;
  if (place == MemoryPlace::kHost || place == MemoryPlace::kCudaHost) return Reach::kCopied;
  // What CUDA manages lies wherever it is used.
  if (place == MemoryPlace::kCudaManaged && facts.place == MemoryPlace::kCuda)
    return Reach::kInPlace;
  return make_error(ErrorCode::kInvalidArgument,
                    "{} lies on {}, which the device \"{}\" does not reach\n"
                    "  try      dock.device(...) of the device where it lies, or copy it first",
                    what,
                    place_text(type, id),
                    device.name());
}

// Runs a release when its last user goes. No device work may read the memory then: operators wait for theirs.
std::shared_ptr<const void> keep(std::function<void()> release) {
  return std::shared_ptr<const void>(nullptr, [release = std::move(release)](const void*) {
    if (release) release();
  });
}

Result<DeviceBytes> copy_in(const DevicePtr& device, const void* from, uint64_t bytes) {
  CD_ASSIGN(DeviceBuffer buffer, DeviceBuffer::make(*device, bytes));
  if (bytes != 0) CD_TRY(device->write(buffer.as<std::byte>(), from, bytes));
  return own_buffer(device, std::move(buffer));
}

struct ArrowSource {
  const DevicePtr& device;
  Reach reach;
  const std::shared_ptr<const void>& owner;
};

// Of `bits` from bit `first` on, which may lie on the device.
Result<uint64_t> count_zeros(const ArrowSource& source,
                             const void* bits,
                             uint64_t first,
                             uint64_t count) {
  const uint64_t bytes = (first + count + 7) / 8;
  std::vector<uint8_t> read(bytes);
  if (source.reach == Reach::kInPlace) {
    CD_TRY(source.device->read(read.data(), bits, bytes));
  } else {
    std::memcpy(read.data(), bits, bytes);
  }
  uint64_t ones = 0;
  for (uint64_t at = first; at < first + count; ++at) ones += read[at / 8] >> (at % 8) & 1;
  return count - ones;
}

Status check_column(const ArrowSchema& schema, const ArrowArray& array, const std::string& name) {
  if (schema.dictionary != nullptr) {
    return make_error(ErrorCode::kUnsupportedType,
                      "column \"{}\" is a dictionary, which tables on devices do not take\n"
                      "  try      cast it to the type of its values",
                      name);
  }
  if (array.n_buffers != 2 || array.length < 0 || array.offset < 0 || array.buffers == nullptr ||
      (array.length > 0 && array.buffers[1] == nullptr)) {
    return make_error(ErrorCode::kMalformedArrow,
                      "column \"{}\" on a device has {} buffers, length {} and offset {}",
                      name,
                      array.n_buffers,
                      array.length,
                      array.offset);
  }
  return {};
}

// Rows `first` to `first + rows` of the column, counted from its own offset.
Result<TableColumn> import_column(const ArrowSource& source,
                                  const ArrowSchema& schema,
                                  const ArrowArray& array,
                                  uint64_t first,
                                  uint64_t rows) {
  TableColumn column;
  column.name = schema.name == nullptr ? "" : schema.name;
  column.format = schema.format == nullptr ? "" : schema.format;
  CD_ASSIGN(column.form, form_of_format(column.name, column.format));
  CD_TRY(check_column(schema, array, column.name));
  if (first + rows > static_cast<uint64_t>(array.length)) {
    return make_error(ErrorCode::kMalformedArrow,
                      "column \"{}\" has {} rows, and its table {}",
                      column.name,
                      array.length,
                      first + rows);
  }
  const uint64_t begin = static_cast<uint64_t>(array.offset) + first;
  const uint64_t width = column.form.width_bytes;
  const auto* const values = static_cast<const std::byte*>(array.buffers[1]) + begin * width;
  const void* const bits = array.null_count == 0 ? nullptr : array.buffers[0];
  if (bits != nullptr && rows != 0) {
    CD_ASSIGN(column.null_count, count_zeros(source, bits, begin, rows));
  }
  if (source.reach == Reach::kInPlace && reinterpret_cast<uintptr_t>(values) % width == 0) {
    column.values = {source.owner, values};
    if (column.has_nulls()) column.valid = {source.owner, static_cast<const std::byte*>(bits)};
    column.first_valid = begin;
    return column;
  }
  CD_ASSIGN(column.values, copy_in(source.device, values, rows * width));
  if (column.has_nulls()) {
    const auto* const from = static_cast<const std::byte*>(bits) + begin / 8;
    column.first_valid = begin % 8;
    CD_ASSIGN(column.valid, copy_in(source.device, from, (column.first_valid + rows + 7) / 8));
  }
  return column;
}

Result<DeviceTable> import_columns(const ArrowSource& source,
                                   const ArrowSchema& schema,
                                   const ArrowArray& array) {
  DeviceTable table{.device = source.device, .rows = static_cast<uint64_t>(array.length)};
  const bool is_struct = schema.format != nullptr && std::strcmp(schema.format, "+s") == 0;
  if (!is_struct) {
    CD_ASSIGN(TableColumn column, import_column(source, schema, array, 0, table.rows));
    table.columns.push_back(std::move(column));
    return Result<DeviceTable>(std::move(table));
  }
  if (array.n_children != schema.n_children || array.null_count > 0) {
    return make_error(
        ErrorCode::kMalformedArrow,
        "a table on a device has {} columns, its schema {}, and {} rows are NULL as a whole",
        array.n_children,
        schema.n_children,
        array.null_count);
  }
  for (int64_t at = 0; at < array.n_children; ++at) {
    CD_ASSIGN(TableColumn column,
              import_column(source,
                            *schema.children[at],
                            *array.children[at],
                            static_cast<uint64_t>(array.offset),
                            table.rows));
    table.columns.push_back(std::move(column));
  }
  return Result<DeviceTable>(std::move(table));
}

Result<WordForm> form_of_tensor(const TensorColumn& column) {
  const auto [code, bits, lanes] = column.tensor.type;
  const auto known = static_cast<dlpack::Code>(code);
  const bool is_whole = known == dlpack::Code::kInt || known == dlpack::Code::kUInt;
  const bool is_width = std::has_single_bit(bits) && bits >= 8 && bits <= 64;
  const bool is_float = known == dlpack::Code::kFloat && (bits == 32 || bits == 64);
  if (lanes != 1 || !(is_float || (is_whole && is_width))) {
    return make_error(
        ErrorCode::kUnsupportedType,
        "column \"{}\" is a tensor of DLPack's type code {} with {} bits and {} lanes\n"
        "  limits   integers of 8 to 64 bits, floats of 32 or 64",
        column.name,
        code,
        bits,
        lanes);
  }
  const WordKind kind = is_float                    ? WordKind::kFloat
                      : known == dlpack::Code::kInt ? WordKind::kSigned
                                                    : WordKind::kUnsigned;
  return WordForm{kind, bits / 8U};
}

Status check_shape(const TensorColumn& column) {
  const dlpack::Tensor& tensor = column.tensor;
  if (tensor.dimensions != 1) {
    return make_error(ErrorCode::kInvalidArgument,
                      "column \"{}\" is a tensor of {} dimensions; a column has 1\n"
                      "  try      a column for each of its columns",
                      column.name,
                      tensor.dimensions);
  }
  if (tensor.strides != nullptr && tensor.shape[0] > 1 && tensor.strides[0] != 1) {
    return make_error(ErrorCode::kInvalidArgument,
                      "column \"{}\" is a tensor whose values are {} apart\n"
                      "  try      its contiguous copy",
                      column.name,
                      tensor.strides[0]);
  }
  return {};
}

Result<TableColumn> import_tensor(const DevicePtr& device, const TensorColumn& column) {
  const dlpack::Tensor& tensor = column.tensor;
  CD_TRY(check_shape(column));
  CD_ASSIGN(const WordForm form, form_of_tensor(column));
  CD_ASSIGN(
      const Reach reach,
      reach_of(*device, tensor.device.type, tensor.device.id, "column \"" + column.name + "\""));
  TableColumn made{.name = column.name, .format = format_of_form(form), .form = form, .values = {}};
  const std::byte* const values = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
  made.values.data = values;
  if (reach == Reach::kCopied) {
    CD_ASSIGN(made.values,
              copy_in(device, values, static_cast<uint64_t>(tensor.shape[0]) * form.width_bytes));
  }
  return made;
}

}  // namespace

std::string place_text(int32_t type, int64_t id) {
  switch (static_cast<MemoryPlace>(type)) {
    case MemoryPlace::kHost:
      return "the host's memory";
    case MemoryPlace::kCuda:
      return fmt::format("CUDA device {}", id);
    case MemoryPlace::kCudaHost:
      return "memory of the host that CUDA has pinned";
    case MemoryPlace::kCudaManaged:
      return "memory that CUDA manages";
  }
  return fmt::format("a device of type {}, number {}", type, id);
}

bool device_reaches(const Device& device, int32_t type, int64_t id) {
  return reach_of(device, type, id, "").ok();
}

Result<DeviceTable> import_device_array(const DevicePtr& device,
                                        const ArrowSchema& schema,
                                        ArrowDeviceArray* array) {
  CD_ASSIGN(const DeviceTurn turn, DeviceTurn::begin(*device));
  CD_ASSIGN(const Reach reach,
            reach_of(*device, array->device_type, array->device_id, "the table"));
  if (array->sync_event != nullptr) CD_TRY(device->driver().wait_event(array->sync_event));
  // Released with the last column, or here once all is copied; given back if something is wrong.
  auto held = std::make_shared<ArrowDeviceArray>(*array);
  array->array.release = nullptr;
  std::shared_ptr<const void> owner = keep([held] {
    if (held->array.release != nullptr) held->array.release(&held->array);
  });
  auto table = import_columns({device, reach, owner}, schema, held->array);
  if (!table.ok()) {
    array->array.release = held->array.release;
    held->array.release = nullptr;
  }
  return table;
}

Result<DeviceTable> import_tensors(const DevicePtr& device, std::vector<TensorColumn> columns) {
  CD_ASSIGN(const DeviceTurn turn, DeviceTurn::begin(*device));
  DeviceTable table{.device = device};
  for (const TensorColumn& column : columns) {
    CD_ASSIGN(TableColumn made, import_tensor(device, column));
    const auto rows = static_cast<uint64_t>(column.tensor.shape[0]);
    if (!table.columns.empty() && rows != table.rows) {
      return make_error(ErrorCode::kInvalidArgument,
                        "column \"{}\" has {} rows, and \"{}\" {}",
                        column.name,
                        rows,
                        table.columns[0].name,
                        table.rows);
    }
    table.rows = rows;
    table.columns.push_back(std::move(made));
  }
  // Only now, since an error leaves the tensors to the caller.
  for (size_t at = 0; at < columns.size(); ++at) {
    std::shared_ptr<const void> owner = keep(std::move(columns[at].release));
    if (table.columns[at].values.owner == nullptr)
      table.columns[at].values.owner = std::move(owner);
  }
  return Result<DeviceTable>(std::move(table));
}

}  // namespace crossdock
