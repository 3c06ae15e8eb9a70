#include "execution/source_test.hpp"

#include <algorithm>

namespace crossdock::execution {

SourceTest::SourceTest(std::unique_ptr<RowTest> test, const Schema& schema)
    : test_(std::move(test)) {
  for (const int column : test_->columns()) {
    buffers_.emplace_back(schema.fields[static_cast<size_t>(column)].type);
  }
}

bool SourceTest::is_worth_it() const {
  constexpr int64_t kTried = 1 << 15;
  return seen_ < kTried || kept_ * 2 < seen_;
}

Result<StepRows> SourceTest::select(const std::vector<std::unique_ptr<scan::ColumnCursor>>& cursors,
                                    StepRows rows,
                                    uint32_t* kept) {
  std::vector<ColumnView> whole;
  for (const int column : test_->columns()) {
    CD_ASSIGN(whole.emplace_back(),
              cursors[static_cast<size_t>(column)]->decode(rows.rows, rows.count));
  }
  std::vector<ColumnView> values(whole.size());
  uint16_t passed[kBlockRows];
  int32_t count = 0;
  for (int32_t at = 0; at < rows.count; at += kBlockRows) {
    const int32_t some = std::min(kBlockRows, rows.count - at);
    for (size_t c = 0; c < whole.size(); ++c) values[c] = buffers_[c].take(whole[c], at, some);
    const int32_t left = test_->select(values, passed);
    for (int32_t i = 0; i < left; ++i) {
      const int32_t row = at + passed[i];
      kept[count++] = rows.rows == nullptr ? static_cast<uint32_t>(row) : rows.rows[row];
    }
  }
  // What lies back counts less: a test may drop more with time.
  seen_ = seen_ * 3 / 4 + rows.count;
  kept_ = kept_ * 3 / 4 + count;
  return StepRows{kept, count};
}

}  // namespace crossdock::execution
