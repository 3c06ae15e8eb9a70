// One loop per layout, over rows of a batch or of a store.
#include "execution/column_gather.hpp"

#include <algorithm>
#include <cstring>

#include "base/integer_types.hpp"
#include "table/key_read.hpp"

namespace crossdock::execution {
namespace {

constexpr int32_t kPrefetchAhead = 16;

bool bit_at(const uint8_t* bits, int64_t at) { return (bits[at >> 3] >> (at & 7)) & 1; }

template <class T>
T load_as(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// Rows of a batch side by side, of decimals in 64 bits.
struct NarrowRows {
  const ColumnView& column;
  int64_t begin;

  const uint8_t* value(int32_t i, int64_t width) const {
    return column.values + (column.offset + begin + i) * width;
  }
  bool any_nulls(int32_t) const { return column.validity != nullptr; }
  bool valid(int32_t i) const { return bit_at(column.validity, column.offset + begin + i); }
};

// Rows of a batch, by number.
struct BatchRows {
  const ColumnView& column;
  const uint32_t* rows;

  const uint8_t* value(int32_t i, int64_t width) const {
    return column.values + (column.offset + rows[i]) * width;
  }
  bool any_nulls(int32_t) const { return column.validity != nullptr; }
  bool valid(int32_t i) const { return bit_at(column.validity, column.offset + rows[i]); }
  bool bit(int32_t i) const { return bit_at(column.values, column.offset + rows[i]); }
  template <class Offset>
  std::pair<const uint8_t*, int64_t> string(int32_t i) const {
    const auto* offsets = static_cast<const Offset*>(column.offsets) + column.offset + rows[i];
    return {column.values + offsets[0], offsets[1] - offsets[0]};
  }
  uint32_t first_heap(int32_t) const { return 0; }
  void set_shared(ColumnView& out) const {
    out.heaps = column.heaps;
    out.heap_bytes = column.heap_bytes;
    out.heap_count = column.heap_count;
    out.dictionary = column.dictionary;
    out.longest_text = column.longest_text;
  }
};

// Rows of a store, by reference. A missing row reads some other one, and is not valid.
struct StoreRows {
  const ChunkedColumn& column;
  const RowRef* refs;
  bool any_missing;

  RowRef ref(int32_t i) const { return refs[i] == kNullRef ? column.any_ref : refs[i]; }
  const uint8_t* value(int32_t i, int64_t width) const {
    const RowRef at = ref(i);
    return reinterpret_cast<const uint8_t*>(column.origins[at >> kChunkRowBits] +
                                            uintptr_t{at} * static_cast<uintptr_t>(width));
  }
  bool any_nulls(int32_t) const { return column.any_nulls || any_missing; }
  bool valid(int32_t i) const {
    if (refs[i] == kNullRef) return false;
    if (!column.any_nulls) return true;
    const ChunkBits& chunk = column.validity[refs[i] >> kChunkRowBits];
    return bit_at(chunk.bits, chunk.shift + (refs[i] & kChunkRowMask));
  }
  bool bit(int32_t i) const {
    const RowRef at = ref(i);
    const ChunkBits& chunk = column.bits[at >> kChunkRowBits];
    return bit_at(chunk.bits, chunk.shift + (at & kChunkRowMask));
  }
  template <class Offset>
  std::pair<const uint8_t*, int64_t> string(int32_t i) const {
    const RowRef at = ref(i);
    const ChunkStrings& chunk = column.strings[at >> kChunkRowBits];
    const auto* offsets =
        reinterpret_cast<const uint8_t*>(chunk.offsets + uintptr_t{at} * sizeof(Offset));
    const auto begin = load_as<Offset>(offsets);
    const auto end = load_as<Offset>(offsets + sizeof(Offset));
    return {chunk.bytes + begin, end - begin};
  }
  uint32_t first_heap(int32_t i) const {
    return column.one_heap_list ? 0 : column.first_heap[ref(i) >> kChunkRowBits];
  }
  void set_shared(ColumnView& out) const {
    if (column.heaps != nullptr) {
      out.heaps = column.heaps->data.data();
      out.heap_bytes = column.heaps->bytes.data();
      out.heap_count = static_cast<int32_t>(column.heaps->data.size());
    }
    out.dictionary = column.dictionary;
  }
};

template <int kWidth, class Rows>
void copy_values(const Rows& rows, int32_t count, uint8_t* to) {
  int32_t i = 0;
  for (; i + kPrefetchAhead < count; ++i) {
    __builtin_prefetch(rows.value(i + kPrefetchAhead, kWidth));
    std::memcpy(to + int64_t{i} * kWidth, rows.value(i, kWidth), kWidth);
  }
  for (; i < count; ++i) std::memcpy(to + int64_t{i} * kWidth, rows.value(i, kWidth), kWidth);
}

template <class Rows>
void copy_fixed(const Rows& rows, int32_t width, int32_t count, uint8_t* to) {
  with_word(width, [&](auto zero) { copy_values<sizeof(zero)>(rows, count, to); });
}

// Views whose heaps are those of several batches: each is numbered on.
template <class Rows>
void move_heaps(const Rows& rows, int32_t count, uint8_t* views) {
  for (int32_t i = 0; i < count; ++i) {
    uint8_t* view = views + int64_t{i} * 16;
    if (load_as<int32_t>(view) <= keys::kInlineBytes) continue;
    const uint32_t heap = load_as<uint32_t>(view + 8) + rows.first_heap(i);
    std::memcpy(view + 8, &heap, sizeof(heap));
  }
}

void set_bit(uint8_t* bits, int64_t at, bool value) {
  const auto mask = static_cast<uint8_t>(1U << (at & 7));
  bits[at >> 3] = static_cast<uint8_t>(value ? bits[at >> 3] | mask : bits[at >> 3] & ~mask);
}

}  // namespace

ColumnBuffer::ColumnBuffer(DataType type, Decimals decimals)
    : type_(std::move(type)),
      decimals_(decimals),
      layout_(layout(type_)),
      width_(fixed_bytes(type_)) {
  const int64_t bytes = layout_ == Layout::kBits ? kBlockRows / 8 : int64_t{width_} * kBlockRows;
  values_.resize(static_cast<size_t>(bytes) / 8 + 1);
  validity_.resize(kBlockRows / 64);
  if (layout_ == Layout::kOffsets32 || layout_ == Layout::kOffsets64) {
    offsets_.resize(kBlockRows + 1);
  }
}

template <class Rows>
void ColumnBuffer::gather_validity(const Rows& rows, int32_t count, ColumnView& out) {
  if (!rows.any_nulls(0)) return;
  auto* bits = reinterpret_cast<uint8_t*>(validity_.data());
  int64_t nulls = 0;
  for (int32_t i = 0; i < count; ++i) {
    const bool valid = rows.valid(i);
    set_bit(bits, i, valid);
    nulls += valid ? 0 : 1;
  }
  out.null_count = nulls;
  if (nulls > 0) out.validity = bits;
}

// Rows that are null become empty, whatever their slots hold.
template <class Rows, class Offset>
void ColumnBuffer::gather_strings(const Rows& rows, int32_t count, ColumnView& out) {
  auto* offsets = reinterpret_cast<Offset*>(offsets_.data());
  int64_t at = 0;
  for (int32_t i = 0; i < count; ++i) {
    offsets[i] = static_cast<Offset>(at);
    if (out.validity != nullptr && !bit_at(out.validity, i)) continue;
    const auto [from, bytes] = rows.template string<Offset>(i);
    if (static_cast<size_t>(at + bytes) > bytes_.size()) {
      bytes_.resize(std::max<size_t>(static_cast<size_t>(at + bytes), 2 * bytes_.size()));
    }
    std::memcpy(bytes_.data() + at, from, static_cast<size_t>(bytes));
    at += bytes;
  }
  offsets[count] = static_cast<Offset>(at);
  out.values = bytes_.data();
  out.offsets = offsets;
}

template <class Rows>
ColumnView ColumnBuffer::gather_from(const Rows& rows, int32_t count) {
  ColumnView out;
  out.length = count;
  rows.set_shared(out);
  auto* values = reinterpret_cast<uint8_t*>(values_.data());
  out.values = values;
  gather_validity(rows, count, out);
  switch (layout_) {
    case Layout::kBits:
      for (int32_t i = 0; i < count; ++i) set_bit(values, i, rows.bit(i));
      break;
    case Layout::kFixed:
      copy_fixed(rows, width_, count, values);
      break;
    case Layout::kViews:
      copy_fixed(rows, width_, count, values);
      move_heaps(rows, count, values);
      break;
    case Layout::kOffsets32:
      if (bytes_.empty()) bytes_.resize(kBlockRows);
      gather_strings<Rows, int32_t>(rows, count, out);
      break;
    case Layout::kOffsets64:
      if (bytes_.empty()) bytes_.resize(kBlockRows);
      gather_strings<Rows, int64_t>(rows, count, out);
      break;
  }
  return out;
}

template <class Rows>
ColumnView ColumnBuffer::gather_narrow(const Rows& rows, int32_t count) {
  ColumnView out;
  out.length = count;
  out.is_narrow = decimals_ == Decimals::kAsStored;
  out.values = reinterpret_cast<const uint8_t*>(values_.data());
  gather_validity(rows, count, out);
  if (out.is_narrow) {
    copy_values<8>(rows, count, reinterpret_cast<uint8_t*>(values_.data()));
    return out;
  }
  auto* words = reinterpret_cast<int64_t*>(values_.data());  // low, high
  for (int32_t i = 0; i < count; ++i) {
    if (i + kPrefetchAhead < count) __builtin_prefetch(rows.value(i + kPrefetchAhead, 8));
    words[2 * i] = load_as<int64_t>(rows.value(i, 8));
    words[2 * i + 1] = words[2 * i] >> 63;
  }
  return out;
}

ColumnView ColumnBuffer::take(const ColumnView& column, int64_t begin, int32_t count) {
  const bool is_widened = column.is_narrow && decimals_ == Decimals::kWide;
  return is_widened ? gather_narrow(NarrowRows{column, begin}, count) : slice(column, begin, count);
}

ColumnView ColumnBuffer::gather(const ColumnView& column, const uint32_t* rows, int32_t count) {
  const BatchRows from{column, rows};
  return column.is_narrow ? gather_narrow(from, count) : gather_from(from, count);
}

ColumnView ColumnBuffer::gather(const ChunkedColumn& column, const RowRef* refs, int32_t count) {
  const bool any_missing = std::find(refs, refs + count, kNullRef) != refs + count;
  if (column.any_ref == kNullRef) return nulls(count);  // a store without rows: all are missing
  const StoreRows rows{column, refs, any_missing};
  const bool is_narrow = type_.id == TypeId::kDecimal128 && column.field->type.id == TypeId::kInt64;
  return is_narrow ? gather_narrow(rows, count) : gather_from(rows, count);
}

ColumnView ColumnBuffer::nulls(int32_t count) {
  static constexpr int64_t kNoOffsets[2] = {0, 0};
  static const ColumnView kNoValues = {.values = reinterpret_cast<const uint8_t*>(kNoOffsets),
                                       .offsets = kNoOffsets};
  ColumnView out;
  out.length = count;
  out.null_count = count;
  std::fill(values_.begin(), values_.end(), 0);
  std::fill(validity_.begin(), validity_.end(), 0);
  std::fill(offsets_.begin(), offsets_.end(), 0);
  out.values = reinterpret_cast<const uint8_t*>(values_.data());
  out.offsets = offsets_.data();
  out.validity = reinterpret_cast<const uint8_t*>(validity_.data());
  if (type_.id == TypeId::kDictionary) out.dictionary = &kNoValues;
  return out;
}

void ColumnBuffer::append(const ColumnView& column,
                          const uint16_t* rows,
                          int32_t count,
                          int32_t at) {
  auto* values = reinterpret_cast<uint8_t*>(values_.data());
  auto* bits = reinterpret_cast<uint8_t*>(validity_.data());
  if (at == 0) {
    any_null_ = false;
    string_begins_.clear();
    string_bytes_.clear();
  }
  if (column.validity != nullptr && !any_null_) {
    std::fill(validity_.begin(), validity_.end(), ~uint64_t{0});
    any_null_ = true;
  }
  for (int32_t i = 0; any_null_ && i < count; ++i) set_bit(bits, at + i, column.is_valid(rows[i]));
  if (layout_ == Layout::kBits) {
    for (int32_t i = 0; i < count; ++i) {
      set_bit(values, at + i, bit_at(column.values, column.offset + rows[i]));
    }
    return;
  }
  uint32_t wide[kBlockRows];
  for (int32_t i = 0; i < count; ++i) wide[i] = rows[i];
  uint8_t* const to = values + int64_t{at} * width_;
  copy_fixed(BatchRows{column, wide}, width_, count, to);
  if (layout_ == Layout::kViews) copy_strings(column, to, count);
}

// The strings of views that were copied as they are.
void ColumnBuffer::copy_strings(const ColumnView& column, uint8_t* views, int32_t count) {
  int64_t end = string_begins_.empty() ? 0 : string_begins_.back() + string_bytes_.back();
  for (int32_t i = 0; i < count; ++i, views += 16) {
    int32_t place[4];  // bytes, prefix, heap, offset
    std::memcpy(place, views, 16);
    if (place[0] <= keys::kInlineBytes) continue;
    const auto needed = static_cast<size_t>(end + place[0]);
    if (needed > bytes_.size()) bytes_.resize(std::max(needed, 2 * bytes_.size()));
    std::memcpy(
        bytes_.data() + end, column.heaps[place[2]] + place[3], static_cast<size_t>(place[0]));
    string_begins_.push_back(end);
    string_bytes_.push_back(place[0]);
    end += place[0];
    place[2] = static_cast<int32_t>(string_begins_.size()) - 1;
    place[3] = 0;
    std::memcpy(views, place, 16);
  }
}

ColumnView ColumnBuffer::appended(int32_t count) {
  ColumnView out;
  if (layout_ == Layout::kViews) {
    heaps_.clear();
    for (const int64_t begin : string_begins_) heaps_.push_back(bytes_.data() + begin);
    out.heaps = heaps_.data();
    out.heap_bytes = string_bytes_.data();
    out.heap_count = static_cast<int32_t>(heaps_.size());
  }
  out.length = count;
  out.values = reinterpret_cast<const uint8_t*>(values_.data());
  if (any_null_) {
    out.null_count = -1;
    out.validity = reinterpret_cast<const uint8_t*>(validity_.data());
  }
  return out;
}

FlatColumns::FlatColumns(const BlockSchema& schema, std::vector<int> columns, Decimals decimals)
    : columns_(std::move(columns)) {
  batch_.schema = schema.schema;
  batch_.columns.resize(schema.schema->fields.size());
  for (const int column : columns_) {
    places_.push_back(schema.places[column]);
    buffers_.emplace_back(schema.schema->fields[column].type, decimals);
  }
}

ColumnView FlatColumns::load_column(size_t i, const RowBlock& block) {
  const ColumnPlace& place = places_[i];
  if (place.origin < 0) return block.computed[place.column];
  const Origin& origin = block.origins[place.origin];
  if (origin.is_missing()) return buffers_[i].nulls(block.rows);
  if (origin.store != nullptr) {
    return buffers_[i].gather(origin.store->column(place.column), origin.rows, block.rows);
  }
  const ColumnView& column = origin.batch->columns[place.column];
  if (origin.rows == nullptr) return buffers_[i].take(column, origin.begin, block.rows);
  return buffers_[i].gather(column, origin.rows, block.rows);
}

const Batch& FlatColumns::load(const RowBlock& block) {
  batch_.rows = block.rows;
  for (size_t i = 0; i < columns_.size(); ++i) {
    batch_.columns[columns_[i]] = load_column(i, block);
  }
  return batch_;
}

}  // namespace crossdock::execution
