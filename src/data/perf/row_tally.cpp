// Sums by column, which compilers turn into vector additions: about what a program costs that reads its rows once.
#include "data/perf/row_tally.hpp"

namespace crossdock::perf {
namespace {

uint64_t sum_of(const ColumnView& column, int64_t rows) {
  const auto* values = column.data<uint64_t>();
  uint64_t sum = 0;
  for (int64_t row = 0; row < rows; ++row) sum += values[row];
  return sum;
}

}  // namespace

RowTally::RowTally(std::shared_ptr<const MadeRows> rows, int sources) : rows_(std::move(rows)) {
  const auto columns = static_cast<size_t>(rows_->spec().columns);
  received_.assign(static_cast<size_t>(sources), {0, std::vector<uint64_t>(columns)});
}

void RowTally::take(const Batch& batch, int source, int made_by, Checks checks) {
  // A source that the channel does not have, or columns that were not sent, are nothing but wrong rows.
  if (source < 0 || static_cast<size_t>(source) >= received_.size() ||
      batch.columns.size() != static_cast<size_t>(rows_->spec().columns)) {
    wrong_rows_ += static_cast<uint64_t>(batch.rows);
    return;
  }
  RowTotals& totals = received_[static_cast<size_t>(source)];
  totals.rows += static_cast<uint64_t>(batch.rows);
  for (size_t column = 0; column < batch.columns.size(); ++column) {
    totals.sums[column] += sum_of(batch.columns[column], batch.rows);
  }
  if (checks == Checks::kRows) check_rows(batch, made_by);
}

void RowTally::check_rows(const Batch& batch, int made_by) {
  const auto* words = batch.columns[1].data<uint64_t>();
  const auto table_rows = static_cast<uint64_t>(rows_->spec().table_rows);
  for (int64_t i = 0; i < batch.rows; ++i) {
    const int maker = made_by == kAnySource ? MadeRows::source_of(words[i]) : made_by;
    const uint64_t row = words[i] - MadeRows::row_word(maker, 0);
    bool is_right = row < table_rows;
    for (int column = 0; is_right && column < rows_->spec().columns; ++column) {
      const uint64_t value = batch.columns[static_cast<size_t>(column)].data<uint64_t>()[i];
      is_right = value == rows_->value(maker, row, column);
    }
    wrong_rows_ += is_right ? 0 : 1;
  }
}

void RowTally::add(const RowTally& other) {
  for (size_t i = 0; i < received_.size(); ++i) received_[i].add(other.received_[i]);
  wrong_rows_ += other.wrong_rows_;
}

uint64_t RowTally::wrong(std::span<const RowTotals> expected) const {
  uint64_t wrong = wrong_rows_;
  for (size_t i = 0; i < received_.size(); ++i) {
    const RowTotals& received = received_[i];
    const RowTotals& sent = expected[i];
    const uint64_t missing =
        sent.rows > received.rows ? sent.rows - received.rows : received.rows - sent.rows;
    wrong += missing;
    // As many rows as there should be, and yet others.
    if (missing == 0 && wrong_rows_ == 0 && received.sums != sent.sums) ++wrong;
  }
  return wrong;
}

uint64_t RowTally::rows() const {
  uint64_t rows = 0;
  for (const RowTotals& totals : received_) rows += totals.rows;
  return rows;
}

}  // namespace crossdock::perf
