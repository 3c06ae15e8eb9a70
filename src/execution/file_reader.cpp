#include "execution/file_reader.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>

namespace crossdock::execution {
namespace {

using operators::OperatorRun;
using scan::ColumnCursor;

constexpr int32_t kStepRows = 1 << 14;  // of which nothing is known
constexpr int32_t kStepRowsMost = 1 << 16;
constexpr int32_t kKeptRowsWanted = 1 << 13;
constexpr int64_t kBytesInMemory = 3;  // of a byte in the file

}  // namespace

// The batch keeps what outlives its rows: the strings of codes.
FileReader::FileReader(const FileReading& reading)
    : reading_(reading),
      table_(*reading.table),
      cursors_(table_.columns().size()),
      batch_{table_.schema(), 0, {}, reading.table},
      step_rows_(kStepRows) {
  batch_.columns.resize(cursors_.size() + (reading.is_numbered ? 1 : 0));
}

Result<std::unique_ptr<FileReader>> FileReader::create(const FileReading& reading) {
  auto reader = std::unique_ptr<FileReader>(new FileReader(reading));
  for (size_t c = 0; c < reader->cursors_.size(); ++c) {
    if (!reading.used[c]) continue;
    reader->make_cursor(c);
    reader->decoded_.push_back(c);
  }
  for (const ColumnConditions& of : reading.conditions) {
    reader->make_cursor(static_cast<size_t>(of.column));
    CD_ASSIGN(auto filter, ColumnFilter::create(of, reader->table_.schema(), *reading.memory));
    reader->filters_.push_back(std::move(filter));
  }
  const auto read = std::ssize(reader->decoded_);
  for (const Stage* stage : reading.testing) {
    auto test = stage->make_test();
    const auto needed = test == nullptr ? read : std::ssize(test->columns());
    if (needed >= read) continue;
    reader->tests_.emplace_back(std::move(test), *reader->table_.schema());
  }
  return reader;
}

void FileReader::make_cursor(size_t column) {
  if (cursors_[column] != nullptr) return;
  cursors_[column] = std::make_unique<ColumnCursor>(
      table_.columns()[column].form, reading_.codes[column], reading_.memory);
}

void FileReader::open(const Unit& unit, int64_t rows, bool shares_columns) {
  const scan::ByteSource& file = table_.files().files()[static_cast<size_t>(unit.file)]->file();
  for (size_t c = 0; c < cursors_.size(); ++c) {
    if (cursors_[c] == nullptr) continue;
    const scan::ColumnChunk& chunk = table_.chunk(static_cast<int>(c), unit.file, unit.group);
    const scan::ColumnForm& form = table_.columns()[c].form_in(unit.file);
    if (unit.pages == nullptr) {
      cursors_[c]->open(file, form, chunk, rows);
    } else {
      cursors_[c]->open(file, form, chunk, rows, unit.pages->places[c]);
    }
  }
  for (ColumnFilter& filter : filters_) filter.open();
  if (reading_.distinct_column >= 0) {
    first_values_.open(table_.chunk(reading_.distinct_column, unit.file, unit.group));
  }
  shares_columns_ = shares_columns;
  if (shares_columns_) {
    std::ranges::sort(
        decoded_, std::greater(), [&](size_t c) { return reading_.stored_bytes(unit, c); });
  }
}

int64_t FileReader::expected_bytes(const Unit& unit) const {
  int64_t bytes = 1;
  for (size_t c = 0; c < cursors_.size(); ++c) {
    if (cursors_[c] != nullptr) bytes += kBytesInMemory * reading_.stored_bytes(unit, c);
  }
  return bytes;
}

void FileReader::expect(std::span<const Unit* const> units) {
  std::array<const scan::ColumnChunk*, ColumnCursor::kExpectedMost> chunks = {};
  for (size_t c = 0; c < cursors_.size(); ++c) {
    if (cursors_[c] == nullptr) continue;
    for (size_t u = 0; u < units.size(); ++u) {
      chunks[u] = &table_.chunk(static_cast<int>(c), units[u]->file, units[u]->group);
    }
    cursors_[c]->expect(std::span(chunks).first(units.size()));
  }
}

// The fewer rows are kept, the more the next step goes through.
Result<FileReader::Step> FileReader::step(int64_t at, int64_t end) {
  const auto rows = static_cast<int32_t>(std::min<int64_t>(step_rows_, end - at));
  for (auto& cursor : cursors_) {
    if (cursor != nullptr) cursor->step(at, rows);
  }
  kept_.resize(kStepRowsMost);
  CD_ASSIGN(const StepRows kept, select({nullptr, rows}));
  const int64_t rows_to_read = int64_t{kKeptRowsWanted} * rows / std::max(kept.count, 1);
  step_rows_ = static_cast<int32_t>(std::clamp<int64_t>(rows_to_read, kStepRows, kStepRowsMost) /
                                    kBlockRows * kBlockRows);
  return Step{rows, kept};
}

Result<StepRows> FileReader::select(StepRows rows) {
  for (ColumnFilter& filter : filters_) {
    if (rows.count == 0) break;
    ColumnCursor& cursor = *cursors_[static_cast<size_t>(filter.column())];
    CD_ASSIGN(rows, filter.select(cursor, rows, kept_.data()));
  }
  for (SourceTest& of_stage : tests_) {
    if (rows.count == 0 || !of_stage.is_worth_it()) continue;
    CD_ASSIGN(rows, of_stage.select(cursors_, rows, kept_.data()));
  }
  if (reading_.distinct_column < 0 || rows.count == 0) return rows;
  return first_values_.select(*cursors_[reading_.distinct_column], rows, kept_.data());
}

Result<const Batch*> FileReader::decode(OperatorRun& run, StepRows rows, int64_t first_row) {
  batch_.rows = rows.count;
  std::atomic<size_t> next{0};
  const auto decode_some = [&](int) -> Status {
    const CancelScope scope(run.cancel);
    for (size_t i = next++; i < decoded_.size(); i = next++) {
      const size_t c = decoded_[i];
      CD_ASSIGN(batch_.columns[c], decoded(c, rows));
    }
    return {};
  };
  CD_TRY(shares_columns_ ? run.team->run(decode_some, std::ssize(decoded_)) : decode_some(0));
  if (reading_.is_numbered) add_numbers(first_row, rows);
  return static_cast<const Batch*>(&batch_);
}

Result<ColumnView> FileReader::decoded(size_t column, StepRows rows) const {
  CD_ASSIGN(const ColumnView values, cursors_[column]->decode(rows.rows, rows.count));
  const Field& field = table_.schema()->fields[column];
  if (is_kept(reading_.promises[column], values, field.type)) return values;
  return make_error(ErrorCode::kSourceFailed,
                    "column \"{}\" of {} has values that the statistics of the file exclude",
                    field.name,
                    reading_.name);
}

void FileReader::add_numbers(int64_t first_row, StepRows rows) {
  numbers_.resize(kStepRowsMost);
  for (int32_t i = 0; i < rows.count; ++i) {
    numbers_[static_cast<size_t>(i)] =
        static_cast<uint64_t>(first_row) +
        (rows.rows == nullptr ? static_cast<uint32_t>(i) : rows.rows[i]);
  }
  ColumnView numbers;
  numbers.length = rows.count;
  numbers.values = reinterpret_cast<const uint8_t*>(numbers_.data());
  batch_.columns.back() = numbers;
}

void FileReader::begin_sample(const Unit& unit, int32_t rows) {
  for (size_t c = 0; c < cursors_.size(); ++c) make_cursor(c);
  open(unit, rows, false);
  for (auto& cursor : cursors_) cursor->step(unit.begin, rows);
  batch_.rows = rows;
}

Result<const Batch*> FileReader::sample(const std::vector<bool>& columns) {
  for (size_t c = 0; c < cursors_.size(); ++c) {
    ColumnView& column = batch_.columns[c];
    if (!columns[c] || column.values != nullptr) continue;
    CD_ASSIGN(column, decoded(c, {nullptr, static_cast<int32_t>(batch_.rows)}));
  }
  return static_cast<const Batch*>(&batch_);
}

}  // namespace crossdock::execution
