// What lies where, whose it is, and copies of what the device does not reach.
#include "session/device/device_import.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "operators/device/column_work.hpp"
#include "session/device/table_rows.hpp"

namespace crossdock::session {
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
  CD_ASSIGN(operators::DeviceBuffer buffer, operators::DeviceBuffer::make(*device, bytes));
  if (bytes != 0) CD_TRY(device->write(buffer.as<std::byte>(), from, bytes));
  return own_buffer(device, std::move(buffer));
}

struct ArrowSource {
  const DevicePtr& device;
  Reach reach;
  const std::shared_ptr<const void>& owner;
};

uint64_t count_zeros_of_host(const uint8_t* bits, uint64_t first, uint64_t count) {
  const uint64_t behind = first + count;
  uint64_t zeros = 0;
  for (uint64_t byte = first / 8; 8 * byte < behind; ++byte) {
    uint32_t seen = 0xFF;
    if (byte == first / 8) seen &= 0xFFU << first % 8;
    if (8 * (byte + 1) > behind) seen &= 0xFFU >> (8 * (byte + 1) - behind);
    zeros += static_cast<uint64_t>(std::popcount(~uint32_t{bits[byte]} & seen));
  }
  return zeros;
}

// Of `bits` from bit `first` on, which may lie on the device.
Result<uint64_t> count_zeros(const ArrowSource& source,
                             const void* bits,
                             uint64_t first,
                             uint64_t count) {
  const auto* const bytes = static_cast<const uint8_t*>(bits);
  if (count == 0) return uint64_t{0};
  if (source.reach != Reach::kInPlace) return count_zeros_of_host(bytes, first, count);
  operators::DeviceRunner& device = *source.device;
  CD_ASSIGN(const operators::DeviceBuffer zeros, operators::DeviceBuffer::words(device, 1));
  CD_TRY(device.launch(operators::FillWords{.words = zeros.words(), .count = 1}, 1));
  const operators::CountZeros work{
      .bits = bytes, .first = first, .count = count, .zeros = zeros.words()};
  constexpr uint64_t kBitsPerBlock = uint64_t{1} << 15;
  CD_TRY(
      device.launch(work, operators::grid_of(device, operators::tiles_of(count, kBitsPerBlock))));
  uint64_t zero_count = 0;
  CD_TRY(device.read(&zero_count, zeros.words(), sizeof(zero_count)));
  return zero_count;
}

Status check_column(const ArrowArray& array, const TableColumn& column) {
  const int64_t buffers = operators::is_text(column.stored) ? 3 : 2;
  if (array.n_buffers != buffers || array.length < 0 || array.offset < 0 ||
      array.buffers == nullptr || (array.length > 0 && array.buffers[1] == nullptr)) {
    return make_error(ErrorCode::kMalformedArrow,
                      "column \"{}\" on a device has {} buffers, length {} and offset {}",
                      column.name,
                      array.n_buffers,
                      array.length,
                      array.offset);
  }
  return {};
}

const std::byte* buffer_of(const ArrowArray& array, int at) {
  return static_cast<const std::byte*>(array.buffers[at]);
}

// Offsets of no text at all, for columns without rows that have none.
Status import_no_rows(const ArrowSource& source, TableColumn* column) {
  const uint64_t zeros[2] = {0, 0};
  CD_ASSIGN(column->values, copy_in(source.device, zeros, sizeof(zeros)));
  column->bytes = column->values;
  column->first = 0;
  return {};
}

// The column's buffers from element `first` on, which begins a byte of bits.
Status copy_buffers(const ArrowSource& source,
                    const ArrowArray& array,
                    uint64_t rows,
                    TableColumn* column) {
  const uint64_t skipped = column->first / 8 * 8;
  column->first -= skipped;
  const uint64_t count = column->first + rows;
  const uint64_t width = width_of(column->stored);
  const uint64_t elements = count + (operators::is_text(column->stored) ? 1 : 0);
  const uint64_t bytes = column->stored == Stored::kBit ? (count + 7) / 8 : elements * width;
  const uint64_t skipped_bytes = column->stored == Stored::kBit ? skipped / 8 : skipped * width;
  CD_ASSIGN(column->values, copy_in(source.device, buffer_of(array, 1) + skipped_bytes, bytes));
  if (column->has_nulls()) {
    const std::byte* const bits = buffer_of(array, 0) + skipped / 8;
    CD_ASSIGN(column->valid, copy_in(source.device, bits, (count + 7) / 8));
  }
  if (!operators::is_text(column->stored)) return {};
  uint64_t end = 0;  // of the last text; offsets are little-endian
  CD_TRY(source.device->read(&end, column->values.data + count * width, width));
  CD_ASSIGN(column->bytes, copy_in(source.device, buffer_of(array, 2), end));
  return {};
}

// Rows `first` to `first + rows` of the column, counted from its own offset; of a dictionary's, indices.
Result<TableColumn> import_values(const ArrowSource& source,
                                  const ArrowSchema& schema,
                                  const ArrowArray& array,
                                  uint64_t first,
                                  uint64_t rows) {
  TableColumn column;
  column.name = schema.name == nullptr ? "" : schema.name;
  column.format = schema.format == nullptr ? "" : schema.format;
  CD_ASSIGN(column.stored, stored_of_format(column.name, column.format));
  CD_TRY(check_column(array, column));
  if (first + rows > static_cast<uint64_t>(array.length)) {
    return make_error(ErrorCode::kMalformedArrow,
                      "column \"{}\" has {} rows, and its table {}",
                      column.name,
                      array.length,
                      first + rows);
  }
  column.first = static_cast<uint64_t>(array.offset) + first;
  if (rows == 0) {
    CD_TRY(import_no_rows(source, &column));
    return column;
  }
  if (array.null_count != 0 && array.buffers[0] != nullptr) {
    CD_ASSIGN(column.null_count, count_zeros(source, array.buffers[0], column.first, rows));
  }
  const uint64_t width = std::clamp<uint64_t>(width_of(column.stored), 1, 8);
  const bool is_aligned = reinterpret_cast<uintptr_t>(array.buffers[1]) % width == 0;
  if (source.reach == Reach::kCopied || !is_aligned) {
    CD_TRY(copy_buffers(source, array, rows, &column));
    return column;
  }
  column.values = {source.owner, buffer_of(array, 1)};
  if (column.has_nulls()) column.valid = {source.owner, buffer_of(array, 0)};
  if (operators::is_text(column.stored)) column.bytes = {source.owner, buffer_of(array, 2)};
  return column;
}

Result<TableColumn> import_dictionary(const ArrowSource& source,
                                      const TableColumn& indices,
                                      const ArrowSchema& schema,
                                      const ArrowArray* array) {
  if (array == nullptr || array->length < 0 || !is_number(indices.stored) ||
      operators::is_float(indices.stored)) {
    return make_error(
        ErrorCode::kMalformedArrow,
        "column \"{}\" is to be a dictionary's, and has the Arrow format \"{}\" and {}",
        indices.name,
        indices.format,
        array == nullptr ? "no dictionary" : "one");
  }
  if (schema.dictionary != nullptr) {
    return make_error(ErrorCode::kUnsupportedType,
                      "column \"{}\" has a dictionary that has one itself\n"
                      "  try      cast it to the type of its values",
                      indices.name);
  }
  return import_values(source, schema, *array, 0, static_cast<uint64_t>(array->length));
}

// The values that the indices stand for, in memory of our own.
Result<TableColumn> decode_column(const ArrowSource& source,
                                  const TableColumn& indices,
                                  const TableColumn& dictionary,
                                  uint64_t dictionary_rows,
                                  uint64_t rows) {
  Device& device = *source.device;
  CD_ASSIGN(const operators::DeviceBuffer chosen, operators::DeviceBuffer::words(device, rows));
  const operators::ReadIndices work{.from = indices.view(),
                                    .dictionary_rows = dictionary_rows,
                                    .to = chosen.words(),
                                    .count = rows};
  CD_ASSIGN(const bool is_beyond, has_misfits(device, work));
  if (is_beyond) {
    return make_error(ErrorCode::kMalformedArrow,
                      "column \"{}\" has an index that its dictionary of {} values does not have",
                      indices.name,
                      dictionary_rows);
  }
  const TakenRows taken{.rows = chosen.words(), .count = rows, .has_absent = true};
  CD_ASSIGN(TableColumn decoded, take_column({.device = source.device}, dictionary, taken));
  decoded.name = indices.name;
  CD_TRY(device.driver().wait());  // the producer's memory may go now
  return decoded;
}

Result<TableColumn> import_column(const ArrowSource& source,
                                  const ArrowSchema& schema,
                                  const ArrowArray& array,
                                  uint64_t first,
                                  uint64_t rows) {
  CD_ASSIGN(TableColumn column, import_values(source, schema, array, first, rows));
  if (schema.dictionary == nullptr) return column;
  CD_ASSIGN(const TableColumn dictionary,
            import_dictionary(source, column, *schema.dictionary, array.dictionary));
  return decode_column(
      source, column, dictionary, static_cast<uint64_t>(array.dictionary->length), rows);
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

Result<std::pair<Stored, const char*>> kind_of_tensor(const TensorColumn& column) {
  const auto [code, bits, lanes] = column.tensor.type;
  using enum Stored;
  struct Kind {
    dlpack::Code code;
    uint8_t bits;
    Stored stored;
    const char* format;
  };
  static constexpr Kind kKinds[] = {
      {dlpack::Code::kInt, 8, kInt8, "c"},
      {dlpack::Code::kInt, 16, kInt16, "s"},
      {dlpack::Code::kInt, 32, kInt32, "i"},
      {dlpack::Code::kInt, 64, kInt64, "l"},
      {dlpack::Code::kUInt, 8, kUInt8, "C"},
      {dlpack::Code::kUInt, 16, kUInt16, "S"},
      {dlpack::Code::kUInt, 32, kUInt32, "I"},
      {dlpack::Code::kUInt, 64, kUInt64, "L"},
      {dlpack::Code::kFloat, 32, kFloat32, "f"},
      {dlpack::Code::kFloat, 64, kFloat64, "g"},
  };
  for (const Kind& kind : kKinds) {
    if (static_cast<uint8_t>(kind.code) == code && kind.bits == bits && lanes == 1)
      return std::pair(kind.stored, kind.format);
  }
  return make_error(ErrorCode::kUnsupportedType,
                    "column \"{}\" is a tensor of DLPack's type code {} with {} bits and {} lanes\n"
                    "  limits   integers of 8 to 64 bits, floats of 32 or 64",
                    column.name,
                    code,
                    bits,
                    lanes);
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

// Kernels load whole values, which a device refuses at any other address.
Status check_alignment(const TensorColumn& column, const std::byte* values, uint64_t width) {
  const uint64_t askew = reinterpret_cast<uintptr_t>(values) % width;
  if (askew == 0) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "column \"{}\" is a tensor whose values begin {} bytes behind a multiple of "
                    "their {} bytes\n  try      a copy of it",
                    column.name,
                    askew,
                    width);
}

Result<TableColumn> import_tensor(const DevicePtr& device, const TensorColumn& column) {
  const dlpack::Tensor& tensor = column.tensor;
  CD_TRY(check_shape(column));
  CD_ASSIGN(const auto kind, kind_of_tensor(column));
  CD_ASSIGN(
      const Reach reach,
      reach_of(*device, tensor.device.type, tensor.device.id, "column \"" + column.name + "\""));
  TableColumn imported{.name = column.name, .format = kind.second, .stored = kind.first};
  const std::byte* const values = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
  CD_TRY(check_alignment(column, values, width_of(kind.first)));
  imported.values.data = values;
  if (reach == Reach::kCopied) {
    CD_ASSIGN(
        imported.values,
        copy_in(device, values, static_cast<uint64_t>(tensor.shape[0]) * width_of(kind.first)));
  }
  return imported;
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
    CD_ASSIGN(TableColumn imported, import_tensor(device, column));
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
    table.columns.push_back(std::move(imported));
  }
  // Only now, since an error leaves the tensors to the caller.
  for (size_t at = 0; at < columns.size(); ++at) {
    std::shared_ptr<const void> owner = keep(std::move(columns[at].release));
    if (table.columns[at].values.owner == nullptr)
      table.columns[at].values.owner = std::move(owner);
  }
  return Result<DeviceTable>(std::move(table));
}

}  // namespace crossdock::session
