#include "operators/sort/sort_layout.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "table/bitmap.hpp"

namespace crossdock::operators {
namespace {

// The key part that gives back `column`, or -1.
int part_of(const LayoutRequest& request, int column) {
  if (!request.has_words) return -1;
  const std::vector<SortKey>& keys = request.spec->keys;
  for (size_t p = 0; p < keys.size(); ++p) {
    if (keys[p].column == column && request.keys->can_decode(static_cast<int>(p))) {
      return static_cast<int>(p);
    }
  }
  return -1;
}

int add_lane(SortLayout& layout, const SortLane& lane) {
  for (size_t i = 1; i < layout.lanes.size(); ++i) {
    const SortLane& known = layout.lanes[i];
    if (known.kind == lane.kind && known.column == lane.column) return static_cast<int>(i);
  }
  layout.lanes.push_back(lane);
  return static_cast<int>(layout.lanes.size()) - 1;
}

void place_column(const LayoutRequest& request, SortLayout& layout, SortColumn& column) {
  using Kind = SortLane::Kind;
  const DataType& type = request.store->schema()->fields[column.column].type;
  column.part = part_of(request, column.column);
  if (column.part >= 0) {
    column.source = SortColumn::Source::kWord;
    return;
  }
  const Layout lay = ::crossdock::layout(type);
  if (request.by_reference || (lay != Layout::kFixed && lay != Layout::kBits)) {
    column.source = SortColumn::Source::kGathered;
    return;
  }
  column.source = SortColumn::Source::kLane;
  const bool bits = lay == Layout::kBits;
  column.lane = add_lane(
      layout, {bits ? Kind::kBits : Kind::kValues, column.column, bits ? 1 : fixed_bytes(type)});
  if (request.store->column(column.column).any_nulls) {
    column.valid_lane = add_lane(layout, {Kind::kValid, column.column, 1});
  }
}

}  // namespace

int64_t SortLayout::row_bytes() const {
  int64_t bytes = 0;
  for (const SortLane& lane : lanes) bytes += lane.width;
  return bytes;
}

SortLayout plan_layout(const LayoutRequest& request, SchemaPtr schema) {
  SortLayout layout;
  layout.schema = std::move(schema);
  layout.lanes.push_back({});
  bool needs_refs = request.by_reference || !request.keys->is_exact();
  for (size_t i = 0; i < layout.schema->fields.size(); ++i) {
    SortColumn column;
    column.field = layout.schema->fields[i];
    if (i < request.spec->output.size()) {
      column.column = request.spec->output[i].column;
      place_column(request, layout, column);
    } else {
      column.source = SortColumn::Source::kRowIndex;
    }
    needs_refs |= column.source == SortColumn::Source::kGathered ||
                  column.source == SortColumn::Source::kRowIndex;
    layout.columns.push_back(std::move(column));
  }
  if (needs_refs) layout.ref_lane = add_lane(layout, {SortLane::Kind::kRefs, -1, sizeof(RowRef)});
  return layout;
}

const uint8_t* lane_values(
    const SortLane& lane, const Morsel& morsel, int32_t offset, int32_t rows, uint8_t* scratch) {
  CD_CHECK(rows <= kLaneBlockRows, "rows {}", rows);
  if (lane.kind == SortLane::Kind::kRefs) {
    auto* refs = reinterpret_cast<RowRef*>(scratch);
    const RowRef first = morsel.first_ref + static_cast<RowRef>(offset);
    for (int32_t i = 0; i < rows; ++i) refs[i] = first + static_cast<RowRef>(i);
    return scratch;
  }
  const ColumnView& column = morsel.batch->columns[lane.column];
  const int64_t first = column.offset + morsel.begin + offset;
  if (lane.kind == SortLane::Kind::kValues) return column.values + first * lane.width;
  if (lane.kind == SortLane::Kind::kBits) {
    expand_bits(column.values, first, rows, scratch);
  } else if (column.validity == nullptr) {
    std::fill_n(scratch, rows, uint8_t{1});
  } else {
    expand_bits(column.validity, first, rows, scratch);
  }
  return scratch;
}

}  // namespace crossdock::operators
