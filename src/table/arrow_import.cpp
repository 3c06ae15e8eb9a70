// Arrow arrays in: one struct array becomes a Batch of views; the batch's owner holds the array.
// Checks cost O(columns); no length, offset or count of the producer is used before it was checked.
#include "table/arrow_import.hpp"

#include <cstring>
#include <deque>
#include <limits>

namespace crossdock {
namespace {

// offset + length stays below this, so that no byte position of a 16-byte type can overflow.
constexpr int64_t kMaxElements = int64_t{1} << 58;
constexpr uintptr_t kMaxAlignment = 8;  // what readers may count on, also for 16-byte values

// What columns of no rows point to: Arrow allows null and zero-sized buffers there.
alignas(16) constexpr uint8_t kNothing[16] = {};

// What a Batch's owner points to: the array and what had to be made beside it.
struct ImportedArray {
  ArrowArray array{};
  std::deque<ColumnView> dictionaries;  // a deque: columns point into it
  std::vector<std::unique_ptr<uint64_t[]>> realigned;

  ImportedArray() = default;
  ImportedArray(const ImportedArray&) = delete;
  ImportedArray& operator=(const ImportedArray&) = delete;
  ~ImportedArray() {
    if (array.release != nullptr) array.release(&array);
  }
};

// One array on its way in.
struct Source {
  std::string where;  // for errors: column "x"
  const DataType& type;
  const ArrowArray& array;
  ImportedArray& owner;
};

template <class... Args>
Error malformed(std::string_view where, fmt::format_string<Args...> text, Args&&... args) {
  return make_error(
      ErrorCode::kMalformedArrow, "{}: {}", where, fmt::format(text, std::forward<Args>(args)...));
}

Status check_extent(const ArrowArray& array, std::string_view where) {
  if (array.release == nullptr) return malformed(where, "its array was already released");
  if (array.length < 0 || array.offset < 0) {
    return malformed(
        where, "length {}, offset {}; neither may be negative", array.length, array.offset);
  }
  if (array.length > kMaxElements || array.offset > kMaxElements - array.length) {
    return malformed(where,
                     "length {}, offset {}; together they may not pass {}",
                     array.length,
                     array.offset,
                     kMaxElements);
  }
  if (array.null_count < -1 || array.null_count > array.length) {
    return malformed(where, "{} nulls in {} rows", array.null_count, array.length);
  }
  return {};
}

Status check_buffers(const Source& source) {
  const ArrowArray& array = source.array;
  const Layout kind = layout(source.type);
  const bool views = kind == Layout::kViews;
  const int64_t expected =
      views || kind == Layout::kOffsets32 || kind == Layout::kOffsets64 ? 3 : 2;
  const bool wrong = views ? array.n_buffers < expected ||
                                 array.n_buffers - 3 > std::numeric_limits<int32_t>::max()
                           : array.n_buffers != expected;
  if (wrong) {
    return malformed(source.where,
                     "{} buffers; type {} has {}{}",
                     array.n_buffers,
                     type_name(source.type),
                     expected,
                     views ? " or more" : "");
  }
  if (array.buffers == nullptr) return malformed(source.where, "no pointer to its buffers");
  if (array.n_children != 0) {
    return malformed(source.where,
                     "{} child arrays; type {} has none",
                     array.n_children,
                     type_name(source.type));
  }
  const bool dictionary = source.type.id == TypeId::kDictionary;
  if (dictionary != (array.dictionary != nullptr)) {
    return malformed(source.where,
                     "{} dictionary, but its type is {}",
                     dictionary ? "no" : "a",
                     type_name(source.type));
  }
  return {};
}

// The buffer itself, or a copy of it where a producer (an unpadded network frame, say) left it at an
// odd address: every later loop may then count on aligned loads.
const uint8_t* aligned(const void* buffer,
                       int64_t bytes,
                       uintptr_t alignment,
                       ImportedArray& owner) {
  if (reinterpret_cast<uintptr_t>(buffer) % alignment == 0)
    return static_cast<const uint8_t*>(buffer);
  auto& copy = owner.realigned.emplace_back(
      std::make_unique_for_overwrite<uint64_t[]>(static_cast<size_t>(bytes + 7) / 8));
  std::memcpy(copy.get(), buffer, static_cast<size_t>(bytes));
  return reinterpret_cast<const uint8_t*>(copy.get());
}

Status read_fixed(const Source& source, ColumnView& view) {
  const void* values = source.array.buffers[1];
  if (values == nullptr) {
    return malformed(source.where, "no values buffer for {} rows", view.length);
  }
  const int64_t width = layout(source.type) == Layout::kBits ? 1 : fixed_bytes(source.type);
  const uintptr_t alignment = std::min<uintptr_t>(static_cast<uintptr_t>(width), kMaxAlignment);
  view.values = aligned(values, (view.offset + view.length) * width, alignment, source.owner);
  return {};
}

template <class Offset>
Status read_offsets(const Source& source, ColumnView& view) {
  const void* raw = source.array.buffers[1];
  if (raw == nullptr) return malformed(source.where, "no offsets buffer for {} rows", view.length);
  const int64_t bytes = (view.offset + view.length + 1) * int64_t{sizeof(Offset)};
  const auto* offsets =
      reinterpret_cast<const Offset*>(aligned(raw, bytes, sizeof(Offset), source.owner));
  view.offsets = offsets;
  view.values = static_cast<const uint8_t*>(source.array.buffers[2]);
  if (view.values != nullptr) return {};
  const Offset first = offsets[view.offset];
  const Offset last = offsets[view.offset + view.length];
  if (first != last) {
    return malformed(source.where, "no bytes buffer, but offsets from {} to {}", first, last);
  }
  view.values = kNothing;
  return {};
}

Status read_views(const Source& source, ColumnView& view) {
  const ArrowArray& array = source.array;
  if (array.buffers[1] == nullptr) {
    return malformed(source.where, "no views buffer for {} rows", view.length);
  }
  view.values =
      aligned(array.buffers[1], (view.offset + view.length) * 16, kMaxAlignment, source.owner);
  const int64_t heaps = array.n_buffers - 3;
  if (heaps == 0) return {};
  const void* sizes = array.buffers[array.n_buffers - 1];
  if (sizes == nullptr) {
    return malformed(source.where, "{} variadic buffers, but no buffer of their sizes", heaps);
  }
  view.heap_count = static_cast<int32_t>(heaps);
  view.heaps = reinterpret_cast<const uint8_t* const*>(array.buffers + 2);
  view.heap_bytes = reinterpret_cast<const int64_t*>(
      aligned(sizes, heaps * int64_t{sizeof(int64_t)}, sizeof(int64_t), source.owner));
  for (int64_t i = 0; i < heaps; ++i) {
    if (view.heap_bytes[i] < 0 || (view.heap_bytes[i] > 0 && view.heaps[i] == nullptr)) {
      return malformed(source.where,
                       "variadic buffer {} of {} has {} bytes{}",
                       i,
                       heaps,
                       view.heap_bytes[i],
                       view.heaps[i] == nullptr ? " and no pointer" : "");
    }
  }
  return {};
}

Status read_validity(const Source& source, ColumnView& view) {
  const ArrowArray& array = source.array;
  view.null_count = array.null_count;
  view.validity = static_cast<const uint8_t*>(array.buffers[0]);
  if (view.validity == nullptr && array.null_count > 0) {
    return malformed(source.where, "{} nulls, but no validity bitmap", array.null_count);
  }
  if (view.validity == nullptr) view.null_count = 0;
  if (view.null_count == 0) view.validity = nullptr;
  return {};
}

// Shows all rows of one column, but for its dictionary.
Result<ColumnView> read_plain(const Source& source) {
  CD_TRY(check_extent(source.array, source.where));
  CD_TRY(check_buffers(source));
  ColumnView view;
  view.length = source.array.length;
  if (view.length == 0) {
    view.values = kNothing;
    view.offsets = kNothing;
    return view;
  }
  view.offset = source.array.offset;
  CD_TRY(read_validity(source, view));
  switch (layout(source.type)) {
    case Layout::kBits:
    case Layout::kFixed:
      CD_TRY(read_fixed(source, view));
      break;
    case Layout::kOffsets32:
      CD_TRY(read_offsets<int32_t>(source, view));
      break;
    case Layout::kOffsets64:
      CD_TRY(read_offsets<int64_t>(source, view));
      break;
    case Layout::kViews:
      CD_TRY(read_views(source, view));
      break;
  }
  return view;
}

Result<ColumnView> read_column(const Field& field, const ArrowArray& array, ImportedArray& owner) {
  const Source source{fmt::format("column \"{}\"", field.name), field.type, array, owner};
  CD_ASSIGN(ColumnView view, read_plain(source));
  if (field.type.id != TypeId::kDictionary) return view;
  const Source inner{fmt::format("dictionary of {}", source.where),
                     *field.type.dictionary,
                     *array.dictionary,
                     owner};
  CD_ASSIGN(ColumnView values, read_plain(inner));
  view.dictionary = &owner.dictionaries.emplace_back(values);
  return view;
}

// The struct array itself, but for its nulls: as many children as the schema.
Status check_struct(const ArrowArray& array, const Schema& schema) {
  CD_TRY(check_extent(array, "table"));
  if (array.n_children != schema.column_count()) {
    return malformed("table",
                     "{} child arrays, but {} columns in its schema",
                     array.n_children,
                     schema.column_count());
  }
  if (array.n_children > 0 && array.children == nullptr) {
    return malformed("table", "{} columns, but no pointer to them", array.n_children);
  }
  if (array.n_buffers != 1 || array.buffers == nullptr) {
    return malformed("table",
                     "{} buffers{}; a struct array has 1",
                     array.n_buffers,
                     array.buffers == nullptr ? " without a pointer" : "");
  }
  return {};
}

// Called once the columns have shown that there are as many rows as the table says.
Status refuse_own_nulls(const ArrowArray& array) {
  const auto* validity = static_cast<const uint8_t*>(array.buffers[0]);
  int64_t nulls = std::max<int64_t>(array.null_count, 0);
  if (validity != nullptr && array.null_count != 0) {
    nulls = 0;
    for (int64_t bit = array.offset; bit < array.offset + array.length; ++bit) {
      nulls += ((validity[bit >> 3] >> (bit & 7)) & 1) == 0;
    }
  }
  if (nulls == 0) return {};
  return malformed("table",
                   "the struct array that holds its columns has {} nulls of its own\n"
                   "  try      flatten it, so that the nulls are in the columns",
                   nulls);
}

}  // namespace

Result<Batch> import_batch(ArrowArray* array, const SchemaPtr& schema) {
  auto owner = std::make_shared<ImportedArray>();
  owner->array = *array;
  array->release = nullptr;
  const ArrowArray& top = owner->array;
  CD_TRY(check_struct(top, *schema));

  Batch batch;
  batch.schema = schema;
  batch.rows = top.length;
  batch.columns.reserve(schema->fields.size());
  for (size_t i = 0; i < schema->fields.size(); ++i) {
    const Field& field = schema->fields[i];
    const ArrowArray* child = top.children[i];
    if (child == nullptr) {
      return malformed(fmt::format("column \"{}\"", field.name), "its array is a null pointer");
    }
    CD_ASSIGN(ColumnView view, read_column(field, *child, *owner));
    if (view.length < top.offset + top.length) {
      return malformed(fmt::format("column \"{}\"", field.name),
                       "{} rows, but the table needs {} of it ({} from row {})",
                       view.length,
                       top.offset + top.length,
                       top.length,
                       top.offset);
    }
    batch.columns.push_back(slice(view, top.offset, top.length));
  }
  CD_TRY(refuse_own_nulls(top));
  batch.owner = std::move(owner);
  return batch;
}

}  // namespace crossdock
