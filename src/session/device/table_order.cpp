// Sorts and filters, as lists of rows: those of a filter stay in a partition into one part.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "operators/device/device_partition.hpp"
#include "operators/device/device_sort.hpp"
#include "session/device/table_operations.hpp"
#include "session/device/table_rows.hpp"

namespace crossdock {
namespace {

struct WordRange {
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
};

// The words from `first` to `last` that compare so with values whose words these are.
WordRange range_of(TableComparison comparison, int64_t first, int64_t last) {
  const WordRange none{.low = INT64_MAX, .high = INT64_MIN};
  switch (comparison) {
    case TableComparison::kEqual:
      return {first, last};
    case TableComparison::kLess:
      return first == INT64_MIN ? none : WordRange{.high = first - 1};
    case TableComparison::kLessEqual:
      return {.high = last};
    case TableComparison::kGreater:
      return last == INT64_MAX ? none : WordRange{.low = last + 1};
    default:
      return {.low = first};
  }
}

Status check_literal(const TableColumn& column, const TableCondition& condition) {
  const bool has_floats = is_float(column.stored);
  if (column.format.size() == 1 && is_number(column.stored) && (has_floats || !condition.is_real))
    return {};
  return make_error(
      ErrorCode::kKeyTypeMismatch,
      "column \"{}\" with the Arrow format \"{}\" is compared with a {}\n"
      "  limits   on a device integers compare with whole numbers, floats with numbers",
      column.name,
      column.format,
      condition.is_real ? "float" : "whole number");
}

int64_t word_of_float(double value) {
  return static_cast<int64_t>(ordered_word_of_float(canonical_float_bits(value), false));
}

// Comparisons with NaN are false; NaN in a column is no number, and has a word above infinity's.
std::optional<WordRange> words_that_fit(const TableColumn& column,
                                        const TableCondition& condition) {
  if (is_float(column.stored)) {
    const double value = condition.is_real ? condition.real : static_cast<double>(condition.whole);
    if (std::isnan(value)) return std::nullopt;
    const int64_t word = word_of_float(value);
    WordRange range = range_of(condition.comparison, word, word);
    range.high = std::min(range.high, word_of_float(std::numeric_limits<double>::infinity()));
    return range;
  }
  if (column.stored != Stored::kUInt64)
    return range_of(condition.comparison, condition.whole, condition.whole);
  if (condition.whole >= 0) {
    const auto word = static_cast<int64_t>(static_cast<uint64_t>(condition.whole) ^ kSignBit);
    return range_of(condition.comparison, word, word);
  }
  const bool is_above = condition.comparison == TableComparison::kGreater ||
                        condition.comparison == TableComparison::kGreaterEqual;
  return is_above ? std::optional(WordRange{}) : std::nullopt;
}

// The rows of a list that stay, by words of theirs.
struct RowList {
  DeviceBuffer rows;
  uint64_t count = 0;
};

Status keep_rows(const DevicePtr& device, const uint64_t* words, WordRange range, RowList* list) {
  if (list->count == 0) return {};
  CD_ASSIGN(DevicePartitions kept,
            partition_on_device(*device,
                                {.key = {words, 8},
                                 .columns = {{list->rows.words(), 8}},
                                 .rows = list->count,
                                 .rule = {.mix = WordMix::from_seed(1), .ways = 1},
                                 .filter = {words, 8},
                                 .low = range.low,
                                 .high = range.high}));
  uint64_t count = 0;
  CD_TRY(device->read(&count, kept.offsets.words() + 1, sizeof(count)));
  list->rows = std::move(kept.columns[0]);
  list->count = count;
  return {};
}

bool is_of_presence(TableComparison comparison) {
  return comparison == TableComparison::kIsNull || comparison == TableComparison::kIsNotNull;
}

Status keep_matching(const DeviceTable& table, const TableCondition& condition, RowList* list) {
  CD_ASSIGN(const TableColumn* const column, table.find(condition.column));
  if (column->has_nulls() || is_of_presence(condition.comparison)) {
    const bool wants_nulls = condition.comparison == TableComparison::kIsNull;
    CD_ASSIGN(const DeviceBuffer presence,
              presence_of_column(table, *column, list->rows.words(), list->count, wants_nulls));
    CD_TRY(keep_rows(table.device, presence.words(), {1, 1}, list));
  }
  if (is_of_presence(condition.comparison)) return {};
  CD_TRY(check_literal(*column, condition));
  const std::optional<WordRange> range = words_that_fit(*column, condition);
  if (!range.has_value() || range->low > range->high) {
    list->count = 0;
    return {};
  }
  CD_ASSIGN(const ColumnWords words,
            words_of_column(table, *column, list->rows.words(), list->count));
  return keep_rows(table.device, words.words, *range, list);
}

}  // namespace

Result<DeviceTable> sort_table(const DeviceTable& table,
                               const std::vector<TableOrder>& orders,
                               uint64_t limit,
                               uint64_t offset) {
  CD_ASSIGN(const DeviceTurn turn, DeviceTurn::begin(*table.device));
  const uint64_t first = std::min(offset, table.rows);
  const uint64_t count = std::min(limit, table.rows - first);
  DeviceSortSpec spec{.columns = {}, .rows = table.rows, .wanted = first + count};
  for (const TableOrder& order : orders) {
    CD_ASSIGN(const TableColumn* const column, table.find(order.column));
    spec.columns.push_back({column->view(), order.is_descending, order.has_nulls_first});
  }
  CD_ASSIGN(const DeviceBuffer rows, sort_on_device(*table.device, spec));
  return take_rows(table, rows.words() + first, count);
}

Result<DeviceTable> filter_table(const DeviceTable& table,
                                 const std::vector<TableCondition>& conditions) {
  CD_ASSIGN(const DeviceTurn turn, DeviceTurn::begin(*table.device));
  RowList list;
  list.count = table.rows;
  CD_ASSIGN(list.rows, number_rows(*table.device, table.rows));
  for (const TableCondition& condition : conditions) CD_TRY(keep_matching(table, condition, &list));
  return take_rows(table, list.rows.words(), list.count);
}

}  // namespace crossdock
