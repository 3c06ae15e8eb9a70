#include "execution/first_values.hpp"

namespace crossdock::execution {
namespace {

constexpr int64_t kSeenLeast = int64_t{1} << 16;

}  // namespace

void FirstValues::open(const scan::ColumnChunk& chunk) {
  all_coded_ = chunk.all_coded;
  has_nulls_ = chunk.statistics.null_count != 0;
  is_new_.clear();
  values_left_ = -1;
}

Result<StepRows> FirstValues::select(scan::ColumnCursor& cursor, StepRows rows, uint32_t* kept) {
  if (rows_seen_ >= kSeenLeast && rows_passed_ > rows_seen_ / 3) return rows;
  CD_ASSIGN(const uint32_t* codes, cursor.codes(rows.rows, rows.count));
  if (codes == nullptr) return rows;
  if (is_new_.empty()) is_new_.assign(static_cast<size_t>(cursor.dictionary_length()) + 1, 1);
  int32_t count = 0;
  for (int32_t i = 0; i < rows.count; ++i) {
    const uint32_t row = rows.rows == nullptr ? static_cast<uint32_t>(i) : rows.rows[i];
    kept[count] = row;
    count += is_new_[codes[row]];
    is_new_[codes[row]] = 0;
  }
  rows_seen_ += rows.count;
  rows_passed_ += count;
  if (all_coded_) {
    if (values_left_ < 0) values_left_ = std::ssize(is_new_) - (has_nulls_ ? 0 : 1);
    values_left_ -= count;
  }
  return StepRows{kept, count};
}

}  // namespace crossdock::execution
