#include "table/column_zones.hpp"

#include <algorithm>

namespace crossdock {
namespace {

constexpr int64_t kZonesLeast = 8;  // of a table: fewer are read sooner than asked
constexpr int64_t kLookedAt = 16;   // zones
// Zones are narrow that have at most this part of the whole range, on average.
constexpr double kNarrowPart = 0.5;

double width(const ValueRange& range) {
  return static_cast<double>(range.max) - static_cast<double>(range.min);
}

}  // namespace

RowsInBatches::RowsInBatches(const std::vector<Batch>& batches) : batches_(&batches) {
  first_rows_.reserve(batches.size());
  int64_t first = 0;
  for (const Batch& batch : batches) {
    first_rows_.push_back(first);
    first += batch.rows;
  }
}

ValueRange RowsInBatches::range(int column, int64_t begin, int64_t end) const {
  ValueRange range;
  const auto after = std::upper_bound(first_rows_.begin(), first_rows_.end(), begin);
  for (auto b = static_cast<size_t>(after - first_rows_.begin()) - 1; begin < end; ++b) {
    const Batch& batch = (*batches_)[b];
    const int64_t first = first_rows_[b];
    const int64_t part_end = std::min(end, first + batch.rows);
    ValueReader reader(batch.schema->fields[static_cast<size_t>(column)].type);
    while (begin < part_end) {
      const int64_t count = std::min<int64_t>(kMaxValueRows, part_end - begin);
      const ColumnView& values = batch.columns[static_cast<size_t>(column)];
      range.add(reader, values, begin - first, static_cast<int32_t>(count));
      begin += count;
    }
  }
  return range;
}

bool ColumnZones::can_be_of(const DataType& type) {
  const bool is_dictionary = type.id == TypeId::kDictionary;
  if (is_dictionary || layout(type) != Layout::kFixed) return false;
  return value_form(type) != ValueForm::kReal;
}

bool ColumnZones::are_narrow(const RowsInBatches& batches, int column) {
  std::call_once(looked_, [&] { are_narrow_ = look(batches, column); });
  return are_narrow_;
}

bool ColumnZones::look(const RowsInBatches& batches, int column) {
  const int64_t count = (rows_ + kZoneRows - 1) / kZoneRows;
  if (count < kZonesLeast) return false;
  zones_ = std::make_unique<Zone[]>(static_cast<size_t>(count));
  ValueRange whole;
  double widths = 0;
  int64_t looked_at = 0;
  const int64_t step = std::max<int64_t>(1, count / kLookedAt);
  for (int64_t number = 0; number < count; number += step, ++looked_at) {
    const ValueRange zone = range(batches, column, number);
    widths += width(zone);
    whole.add(zone);
  }
  if (widths <= kNarrowPart * width(whole) * static_cast<double>(looked_at)) return true;
  zones_.reset();
  return false;
}

void add_zones(Table& table) {
  table.zones.clear();
  for (const Field& field : table.schema->fields) {
    const bool has_zones = ColumnZones::can_be_of(field.type);
    table.zones.push_back(has_zones ? std::make_shared<ColumnZones>(table.rows) : nullptr);
  }
}

TablePtr with_new_zones(const Table& table) {
  auto same = std::make_shared<Table>(table);
  add_zones(*same);
  return same;
}

ValueRange ColumnZones::range(const RowsInBatches& batches, int column, int64_t number) {
  Zone& zone = zones_[static_cast<size_t>(number)];
  if (zone.is_known.load(std::memory_order_acquire)) return zone.range;
  const int64_t begin = number * kZoneRows;
  const ValueRange range = batches.range(column, begin, std::min(rows_, begin + kZoneRows));
  const std::scoped_lock lock(mutex_);
  if (!zone.is_known.load(std::memory_order_relaxed)) {
    zone.range = range;
    zone.is_known.store(true, std::memory_order_release);
  }
  return range;
}

}  // namespace crossdock
