// Values that fit a comparison are a range of words.
#include "session/device/table_conditions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace crossdock::session {
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
  const bool has_floats = operators::is_float(column.stored);
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
  return static_cast<int64_t>(operators::ordered_word_of_float(canonical_float_bits(value), false));
}

// Comparisons with NaN are false; NaN in a column is no number, and has a word above infinity's.
std::optional<WordRange> words_that_fit(const TableColumn& column,
                                        const TableCondition& condition) {
  if (operators::is_float(column.stored)) {
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
    const auto word =
        static_cast<int64_t>(static_cast<uint64_t>(condition.whole) ^ operators::kSignBit);
    return range_of(condition.comparison, word, word);
  }
  const bool is_above = condition.comparison == TableComparison::kGreater ||
                        condition.comparison == TableComparison::kGreaterEqual;
  return is_above ? std::optional(WordRange{}) : std::nullopt;
}

bool is_of_presence(TableComparison comparison) {
  return comparison == TableComparison::kIsNull || comparison == TableComparison::kIsNotNull;
}

Result<operators::TestRows> test_of(const DeviceTable& table, const TableCondition& condition) {
  CD_ASSIGN(const TableColumn* const column, table.find(condition.column));
  operators::TestRows test{.from = column->view(), .count = table.rows};
  if (is_of_presence(condition.comparison)) {
    test.wants_nulls = condition.comparison == TableComparison::kIsNull;
    return test;
  }
  CD_TRY(check_literal(*column, condition));
  const WordRange range =
      words_that_fit(*column, condition).value_or(WordRange{.low = INT64_MAX, .high = INT64_MIN});
  test.has_range = true;
  test.low = range.low;
  test.high = range.high;
  return test;
}

Result<operators::DeviceBuffer> run_test(const DeviceTable& table, operators::TestRows test) {
  CD_ASSIGN(operators::DeviceBuffer bytes,
            operators::DeviceBuffer::make(*table.device, table.rows));
  test.to = bytes.as<uint8_t>();
  if (test.count != 0)
    CD_TRY(table.device->launch(
        test,
        operators::grid_of(*table.device,
                           operators::tiles_of(test.count, operators::TestRows::kThreads))));
  return Result<operators::DeviceBuffer>(std::move(bytes));
}

}  // namespace

Result<operators::DeviceBuffer> rows_that_fit(const DeviceTable& table,
                                              const std::vector<TableCondition>& conditions,
                                              const uint8_t* before) {
  operators::DeviceBuffer passing;
  for (const TableCondition& condition : conditions) {
    CD_ASSIGN(operators::TestRows test, test_of(table, condition));
    test.before = before;
    CD_ASSIGN(passing, run_test(table, test));
    before = passing.as<uint8_t>();
  }
  if (!conditions.empty()) return Result<operators::DeviceBuffer>(std::move(passing));
  // A column without NULLs passes everywhere.
  return run_test(table, {.from = {}, .before = before, .count = table.rows});
}

Result<operators::DeviceBuffer> rows_with_values(const DeviceTable& table,
                                                 const TableColumn& column,
                                                 const uint8_t* before) {
  return run_test(table, {.from = column.view(), .before = before, .count = table.rows});
}

}  // namespace crossdock::session
