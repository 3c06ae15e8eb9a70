#include "execution/column_ranges.hpp"

#include <algorithm>

#include "expressions/civil_date.hpp"

namespace crossdock::execution {
namespace {

using operators::KeyColumnRange;
using operators::kGroupRows;

// All workers take turns over the chunks of the column.
Result<KeyColumnRange> scanned_range(operators::OperatorRun& run, const ChunkedColumn& column) {
  std::vector<KeyColumnRange> ranges(run.team->worker_count());
  CD_TRY(run.for_indices("scan key ranges",
                         static_cast<int64_t>(column.chunks.size()),
                         0,
                         [&](int worker, int64_t c) -> Status {
                           const ColumnView& chunk = column.chunks[c];
                           operators::KeyRangeScanner scanner(column.field->type, &ranges[worker]);
                           for (int64_t at = 0; at < chunk.length; at += kGroupRows) {
                             const int64_t rows = std::min<int64_t>(kGroupRows, chunk.length - at);
                             scanner.scan(chunk, at, static_cast<int32_t>(rows));
                           }
                           return {};
                         }));
  KeyColumnRange all;
  for (const KeyColumnRange& range : ranges) operators::merge_ranges(range, all);
  all.known = true;
  return all;
}

}  // namespace

Result<KeyColumnRange> range_of(operators::OperatorRun& run,
                                const Chain& chain,
                                int column,
                                int64_t rows_max) {
  const ColumnPlace& place = chain.schema.places[column];
  for (const auto& [of, range] : chain.ranges) {
    if (!(of == place)) continue;
    KeyColumnRange known;
    known.known = true;
    known.empty = range.is_empty();
    known.min = known.empty ? 0 : range.min;
    known.max = known.empty ? 0 : range.max;
    return known;
  }
  if (place.origin < 0 || chain.schema.stores[place.origin] == nullptr) return KeyColumnRange();
  const RowStore& store = *chain.schema.stores[place.origin];
  const ChunkedColumn& chunks = store.column(place.column);
  // Of a narrow decimal.
  if (chunks.field->type.id != chain.schema.schema->fields[column].type.id) return KeyColumnRange();
  if (const auto known = operators::range_without_scan(chunks); known.has_value()) return *known;
  if (store.rows() > rows_max) return KeyColumnRange();
  return scanned_range(run, chunks);
}

std::optional<operators::KeyRange> computed_range(const Chain& chain,
                                                  const expressions::Expression& expression) {
  using expressions::ExpressionOp;
  switch (expression.op) {
    case ExpressionOp::kMonth:
      return operators::KeyRange{1, 12};
    case ExpressionOp::kDay:
      return operators::KeyRange{1, 31};
    case ExpressionOp::kQuarter:
      return operators::KeyRange{1, 4};
    case ExpressionOp::kWeek:
      return operators::KeyRange{1, 53};
    case ExpressionOp::kDayOfYear:
      return operators::KeyRange{1, 366};
    case ExpressionOp::kWeekday:
      return operators::KeyRange{0, 6};
    case ExpressionOp::kHour:
      return operators::KeyRange{0, 23};
    case ExpressionOp::kYear:
      break;
    default:
      return std::nullopt;
  }
  const expressions::Expression& of = *expression.arguments[0];
  if (of.op != ExpressionOp::kColumn || of.type.id != TypeId::kDate32) return std::nullopt;
  for (const auto& [place, range] : chain.ranges) {
    if (!(place == chain.schema.places[of.column])) continue;
    if (range.is_empty()) return range;
    return operators::KeyRange{expressions::civil_date(range.min).year,
                               expressions::civil_date(range.max).year};
  }
  return std::nullopt;
}

}  // namespace crossdock::execution
