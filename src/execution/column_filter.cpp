#include "execution/column_filter.hpp"

#include <algorithm>
#include <numeric>

namespace crossdock::execution {
namespace {

using expressions::BlockEvaluator;
using expressions::kMaxEvaluatedRows;

// A null of any type.
ColumnView null_of(const ColumnView& like) {
  static constexpr uint8_t kNothing[32] = {};
  ColumnView null = like;
  null.length = 1;
  null.offset = 0;
  null.null_count = 1;
  null.validity = kNothing;
  null.values = kNothing;
  null.offsets = kNothing;
  return null;
}

// Rows whose entry of `keep` is 1.
template <class KeptOf>
int32_t kept_rows(StepRows rows, uint32_t* kept, KeptOf kept_of) {
  int32_t count = 0;
  if (rows.rows == nullptr) {
    for (int32_t i = 0; i < rows.count; ++i) {
      kept[count] = static_cast<uint32_t>(i);
      count += kept_of(i, static_cast<uint32_t>(i));
    }
    return count;
  }
  for (int32_t i = 0; i < rows.count; ++i) {
    const uint32_t row = rows.rows[i];
    kept[count] = row;
    count += kept_of(i, row);
  }
  return count;
}

}  // namespace

Result<ColumnFilter> ColumnFilter::create(const ColumnConditions& conditions,
                                          SchemaPtr schema,
                                          Memory& memory) {
  CD_ASSIGN(auto evaluator, BlockEvaluator::create(conditions.program, memory));
  Batch batch{std::move(schema), 0, {}, nullptr};
  batch.columns.resize(batch.schema->fields.size());
  return ColumnFilter(conditions.column, std::move(batch), std::move(evaluator));
}

Status ColumnFilter::evaluate(const ColumnView& values, uint8_t* keep) {
  batch_.rows = values.length;
  batch_.columns[static_cast<size_t>(column_)] = values;
  for (int64_t at = 0; at < values.length; at += kMaxEvaluatedRows) {
    const auto some =
        static_cast<int32_t>(std::min<int64_t>(kMaxEvaluatedRows, values.length - at));
    CD_ASSIGN(const int32_t kept, evaluator_.filter(batch_, at, some));
    const uint8_t* bytes = evaluator_.kept();
    if (kept == 0 || bytes == nullptr) {
      std::fill_n(keep + at, some, static_cast<uint8_t>(kept == 0 ? 0 : 1));
    } else {
      std::copy_n(bytes, some, keep + at);
    }
  }
  return {};
}

Status ColumnFilter::make_table(const ColumnView& dictionary) {
  table_.resize(static_cast<size_t>(dictionary.length) + 1);
  CD_TRY(evaluate(dictionary, table_.data()));
  CD_TRY(evaluate(null_of(dictionary), table_.data() + dictionary.length));
  table_kept_ = std::accumulate(table_.begin(), table_.end(), int64_t{0});
  has_table_ = true;
  return {};
}

Result<StepRows> ColumnFilter::select(scan::ColumnCursor& cursor, StepRows rows, uint32_t* kept) {
  CD_ASSIGN(const uint32_t* codes, cursor.codes(rows.rows, rows.count));
  // A dictionary of many values is not worth it for few rows.
  constexpr int32_t kValuesPerRow = 4;
  const bool is_coded =
      codes != nullptr && (has_table_ || cursor.dictionary_length() / kValuesPerRow <= rows.count);
  if (is_coded) {
    if (!has_table_) {
      CD_ASSIGN(const ColumnView dictionary, cursor.dictionary());
      CD_TRY(make_table(dictionary));
    }
    if (table_kept_ == 0) return StepRows{kept, 0};
    if (table_kept_ == static_cast<int64_t>(table_.size())) return rows;
    const uint8_t* table = table_.data();
    const int32_t count =
        kept_rows(rows, kept, [&](int32_t, uint32_t row) { return table[codes[row]]; });
    return StepRows{kept, count};
  }
  CD_ASSIGN(const ColumnView values, cursor.decode(rows.rows, rows.count));
  keep_.resize(std::max<size_t>(keep_.size(), static_cast<size_t>(rows.count)));
  CD_TRY(evaluate(values, keep_.data()));
  const uint8_t* keep = keep_.data();
  return StepRows{kept, kept_rows(rows, kept, [&](int32_t i, uint32_t) { return keep[i]; })};
}

}  // namespace crossdock::execution
