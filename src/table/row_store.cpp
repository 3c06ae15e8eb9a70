// Numbers rows as they come; freeze() lays out, per column, the small arrays random access reads.
#include "table/row_store.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.hpp"

namespace crossdock {
namespace {

constexpr uint64_t kChunkRows = uint64_t{1} << kChunkRowBits;

constexpr auto kAllValid = [] {
  std::array<uint8_t, kChunkRows / 8> bits{};
  bits.fill(0xFF);
  return bits;
}();

// What a dictionary column without batches refers to: no values, in any layout.
constexpr int64_t kNoOffsets[2] = {0, 0};
const ColumnView kNoValues = {
    .null_count = 0, .values = reinterpret_cast<const uint8_t*>(kNoOffsets), .offsets = kNoOffsets};

uint64_t chunks_of(int64_t rows) {
  return std::max<uint64_t>(1, (static_cast<uint64_t>(rows) + kChunkRows - 1) / kChunkRows);
}

ChunkBits bits_at(const uint8_t* bitmap, int64_t first_bit) {
  return {bitmap + (first_bit >> 3), static_cast<uint32_t>(first_bit & 7)};
}

// Where offset or value number 0 of the ref space lies, for a view whose row 0 has ref `first`.
uintptr_t origin(const void* base, int64_t offset, uint64_t first, int64_t width) {
  return reinterpret_cast<uintptr_t>(base) +
         static_cast<uintptr_t>((offset - static_cast<int64_t>(first)) * width);
}

template <class Offset>
ChunkStrings strings_of(const ColumnView& batch, uint64_t first) {
  ChunkStrings chunk{origin(batch.offsets, batch.offset, first, sizeof(Offset)), batch.values, 0};
  if (batch.length > 0) {
    const Offset end = static_cast<const Offset*>(batch.offsets)[batch.offset + batch.length];
    chunk.end = reinterpret_cast<uintptr_t>(batch.values) + static_cast<uintptr_t>(end);
  }
  return chunk;
}

// Adds the chunks of one batch, whose row 0 has ref `first`.
void append_chunks(ChunkedColumn& column, Layout layout, const ColumnView& batch, uint64_t first) {
  const uint64_t count = chunks_of(batch.length);
  const int64_t width = layout == Layout::kViews ? 16 : fixed_bytes(column.field->type);
  for (uint64_t chunk = 0; chunk < count; ++chunk) {
    const auto begin = static_cast<int64_t>(chunk * kChunkRows);
    const int64_t rows = std::min<int64_t>(kChunkRows, batch.length - begin);
    column.chunks.push_back(slice(batch, begin, rows));
    const int64_t first_bit = batch.offset + begin;
    if (column.any_nulls) {
      column.validity.push_back(batch.validity == nullptr ? ChunkBits{kAllValid.data(), 0}
                                                          : bits_at(batch.validity, first_bit));
    }
    if (layout == Layout::kBits) column.bits.push_back(bits_at(batch.values, first_bit));
    if (width > 0) column.origins.push_back(origin(batch.values, batch.offset, first, width));
    if (layout == Layout::kOffsets32) column.strings.push_back(strings_of<int32_t>(batch, first));
    if (layout == Layout::kOffsets64) column.strings.push_back(strings_of<int64_t>(batch, first));
  }
  if (column.any_ref == kNullRef && batch.length > 0) column.any_ref = static_cast<RowRef>(first);
}

// Lists the heaps of `batch` after those of the batches before it.
void append_heaps(ChunkedColumn& column, ViewHeaps& heaps, const ColumnView& batch) {
  const auto first = static_cast<uint32_t>(heaps.data.size());
  column.first_heap.insert(column.first_heap.end(), chunks_of(batch.length), first);
  column.one_heap_list &= first == 0;
  heaps.data.insert(heaps.data.end(), batch.heaps, batch.heaps + batch.heap_count);
  heaps.bytes.insert(heaps.bytes.end(), batch.heap_bytes, batch.heap_bytes + batch.heap_count);
}

ChunkedColumn freeze_column(const Field& field,
                            int index,
                            const std::vector<Batch>& batches,
                            const std::vector<RowRef>& first_refs) {
  ChunkedColumn column;
  column.field = &field;
  for (const Batch& batch : batches) column.any_nulls |= batch.columns[index].validity != nullptr;
  const Layout lay = layout(field.type);
  auto heaps = std::make_shared<ViewHeaps>();
  for (size_t i = 0; i < batches.size(); ++i) {
    const ColumnView& batch = batches[i].columns[index];
    append_chunks(column, lay, batch, first_refs[i]);
    if (lay == Layout::kViews) append_heaps(column, *heaps, batch);
    // Batches of nulls alone come with an empty dictionary.
    const bool has_values = column.dictionary != nullptr && column.dictionary->length > 0;
    if (!has_values && batch.dictionary != nullptr) column.dictionary = batch.dictionary;
  }
  if (field.type.id == TypeId::kDictionary && column.dictionary == nullptr) {
    column.dictionary = &kNoValues;
  }
  if (lay == Layout::kViews) column.heaps = std::move(heaps);
  const auto& origins = column.origins;
  column.one_origin = !origins.empty() && std::all_of(origins.begin(), origins.end(), [&](auto o) {
    return o == origins[0];
  });
  return column;
}

}  // namespace

RowStore::RowStore(SchemaPtr schema) : schema_(std::move(schema)) {}

Result<RowRef> RowStore::add(Batch batch) {
  CD_CHECK(batch.columns.size() == schema_->fields.size(),
           "columns {} fields {}",
           batch.columns.size(),
           schema_->fields.size());
  CD_CHECK(columns_.empty(), "add after freeze, {} columns", columns_.size());
  const std::lock_guard lock(mutex_);
  const uint64_t first = next_chunk_ << kChunkRowBits;
  if (first + static_cast<uint64_t>(batch.rows) > kNullRef || first >= kNullRef) {
    return make_error(
        ErrorCode::kTooManyRows,
        "{} rows in {} batches and {} more rows pass the limit of {} rows (or {} "
        "batches) of a join side\n  try      larger batches (of {} rows or more), or a filter",
        rows_,
        batches_.size(),
        batch.rows,
        kNullRef,
        uint64_t{1} << (32 - kChunkRowBits),
        kChunkRows);
  }
  next_chunk_ += chunks_of(batch.rows);
  rows_ += batch.rows;
  first_refs_.push_back(static_cast<RowRef>(first));
  batches_.push_back(std::move(batch));
  return static_cast<RowRef>(first);
}

void RowStore::freeze() {
  CD_CHECK(columns_.empty(), "freeze called twice, {} columns", columns_.size());
  for (int i = 0; i < schema_->column_count(); ++i) {
    columns_.push_back(freeze_column(schema_->fields[i], i, batches_, first_refs_));
  }
}

const Batch* RowStore::batch_of(RowRef ref, int64_t* row) const {
  const auto after = std::upper_bound(first_refs_.begin(), first_refs_.end(), ref);
  const auto index = after - first_refs_.begin() - 1;
  *row = ref - first_refs_[index];
  return &batches_[index];
}

}  // namespace crossdock
