#include "table/compact_views.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "table/copy_rows.hpp"

namespace crossdock {
namespace {

constexpr uint32_t kLongestInline = 12;  // bytes of a string that lies in its view
constexpr int64_t kViewWidth = 16;

int64_t bytes_in_heaps(const ColumnView& column) {
  int64_t bytes = 0;
  const uint8_t* views = column.values + column.offset * kViewWidth;
  for (int64_t row = 0; row < column.length; ++row) {
    uint32_t length = 0;
    std::memcpy(&length, views + row * kViewWidth, sizeof(length));
    if (length > kLongestInline && column.is_valid(row)) bytes += length;
  }
  return bytes;
}

// Up to an eighth of a heap may be bytes that no row needs: less is not worth a copy.
bool wastes_heaps(const ColumnView& column) {
  int64_t heaps = 0;
  for (int32_t i = 0; i < column.heap_count; ++i) heaps += column.heap_bytes[i];
  if (heaps == 0) return false;
  const int64_t used = bytes_in_heaps(column);
  return used < heaps - heaps / 8 && used <= std::numeric_limits<int32_t>::max();
}

struct TwoOwners {
  std::shared_ptr<const void> first;
  std::shared_ptr<const void> second;
};

}  // namespace

bool has_views(const Schema& schema) {
  return std::ranges::any_of(
      schema.fields, [](const Field& field) { return layout(field.type) == Layout::kViews; });
}

Result<Batch> compact_views(Batch batch, Memory& memory) {
  auto schema = std::make_shared<Schema>();
  Batch wasteful{nullptr, batch.rows, {}, nullptr};
  std::vector<size_t> places;
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    const Field& field = batch.schema->fields[i];
    if (layout(field.type) != Layout::kViews || !wastes_heaps(batch.columns[i])) continue;
    schema->fields.push_back(field);
    wasteful.columns.push_back(batch.columns[i]);
    places.push_back(i);
  }
  if (places.empty()) return batch;
  wasteful.schema = schema;
  CD_ASSIGN(Batch copied, copy_rows(wasteful, wasteful.schema, memory));
  for (size_t i = 0; i < places.size(); ++i) batch.columns[places[i]] = copied.columns[i];
  const bool is_all = places.size() == batch.columns.size();
  batch.owner = is_all ? std::move(copied.owner)
                       : std::make_shared<const TwoOwners>(
                             TwoOwners{std::move(batch.owner), std::move(copied.owner)});
  return batch;
}

}  // namespace crossdock
