#include "execution/file_source.hpp"

#include <algorithm>
#include <atomic>
#include <functional>

#include "execution/far_pages.hpp"
#include "execution/file_reader.hpp"
#include "execution/file_rows.hpp"
#include "execution/file_units.hpp"
#include "execution/known_bounds.hpp"
#include "execution/likely_rows.hpp"
#include "execution/page_pruning.hpp"
#include "execution/row_group_bounds.hpp"
#include "operators/run/operator_run.hpp"

namespace crossdock::execution {
namespace {

using expressions::ExpressionPtr;
using operators::OperatorRun;
using scan::ColumnCursor;
using scan::ParquetTable;

constexpr int64_t kSampledUnits = 4;
constexpr int64_t kSharedBytesLeast = int64_t{1} << 20;    // of a unit whose columns workers share
constexpr int64_t kExpectedBytesMost = int64_t{64} << 20;  // in memory, of what a worker reads next
constexpr int64_t kTurnsPerWorker = 6;  // at least, for workers to end at about the same time
constexpr int64_t kShownRows = int64_t{1} << 14;  // of a unit, mostly, to a sort with a limit

class FileSource final : public Source {
 public:
  FileSource(const FileSourceOptions& options, FileReading reading)
      : workers_(options.workers),
        reading_(std::move(reading)),
        table_(*reading_.table),
        units_(cut_units(table_, workers_, options.is_read)),
        rows_(row_count(units_)),
        readers_(static_cast<size_t>(workers_)) {
    reading_.used.assign(table_.columns().size(), true);
  }

  Status run(OperatorRun& run, BlockSink& first) override;
  Result<int64_t> sample(BlockSink& first, const std::vector<bool>& columns) override;
  Status prepare(Demand demand) override;
  Status push_likely_first(OperatorRun& run,
                           const operators::SortKey& key,
                           BlockSink& first,
                           const std::function<bool()>& knows_enough) override;
  void limit(int64_t rows) override;
  void number_rows() override { reading_.is_numbered = true; }
  std::string describe() const override;
  int64_t rows() const override { return rows_; }

 private:
  void begin_ahead();
  Result<FileReader*> reader(int index);
  void expect(FileReader& reader, int64_t number, const std::vector<ColumnConditions>& conditions);
  bool can_match(const Unit& unit, const std::vector<ColumnConditions>& conditions) const;
  Status run_unit(OperatorRun& run, int index, int64_t number, BlockSink& first);
  // Rows of the unit that is open.
  struct UnitRows {
    int64_t number;
    const Unit& unit;
    RowsLeft::Run rows;
  };
  Status run_rows(OperatorRun& run, int index, const UnitRows& of, BlockSink& first);
  Result<int64_t> run_step(
      OperatorRun& run, int index, const UnitRows& of, int64_t at, BlockSink& first);
  void begin_turns(int64_t count);
  Status push(int index, int64_t number, const Batch& batch, BlockSink& first) const;
  Status make_sample();

  const int workers_;
  FileReading reading_;
  const ParquetTable& table_;
  std::vector<Unit> units_;
  int64_t rows_;                 // of the units
  int64_t units_in_turn_ = 1;    // of one worker
  bool shares_columns_ = false;  // workers decode those of one unit
  std::vector<std::unique_ptr<FileReader>> readers_;
  std::vector<std::unique_ptr<FileReader>> sample_;  // one for each sampled unit
  std::unique_ptr<scan::ReadAhead> ahead_;           // nullptr: all files are of this machine
  std::vector<std::shared_ptr<scan::FetchedRange>> indexes_;  // of pages, of such files
  std::atomic<int64_t> units_skipped_{0};
  std::atomic<int64_t> units_filtered_{0};  // by Bloom filters
  std::atomic<int64_t> pages_skipped_{0};
  std::atomic<int64_t> rows_kept_{0};
  std::string text_;  // of the conditions
};

Result<FileReader*> FileSource::reader(int index) {
  std::unique_ptr<FileReader>& reader = readers_[static_cast<size_t>(index)];
  if (reader == nullptr) {
    CD_ASSIGN(reader, FileReader::create(reading_));
  }
  return reader.get();
}

// This unit and those of the worker's turn behind it; fewer in its first turn, which may be all that a limit needs.
void FileSource::expect(FileReader& reader,
                        int64_t number,
                        const std::vector<ColumnConditions>& conditions) {
  if (units_in_turn_ == 1) return;
  const Unit& unit = units_[static_cast<size_t>(number)];
  const int64_t turn = number / units_in_turn_;
  const int64_t most = turn < workers_ ? 2 : ColumnCursor::kExpectedMost;
  const int64_t fitting = std::min(most, 1 + kExpectedBytesMost / reader.expected_bytes(unit));
  const int64_t end = std::min((turn + 1) * units_in_turn_, std::ssize(units_));
  std::vector<const Unit*> units = {&unit};
  for (int64_t n = number + 1; n < end && std::ssize(units) < fitting; ++n) {
    const Unit& next = units_[static_cast<size_t>(n)];
    const bool is_other = next.file == unit.file && next.group != units.back()->group;
    if (is_other && next.part < 0 && can_match(next, conditions)) units.push_back(&next);
  }
  reader.expect(units);
}

bool FileSource::can_match(const Unit& unit,
                           const std::vector<ColumnConditions>& conditions) const {
  return std::all_of(conditions.begin(), conditions.end(), [&](const ColumnConditions& of) {
    const auto column = static_cast<size_t>(of.column);
    const scan::ColumnForm& form = table_.columns()[column].form_in(unit.file);
    const scan::ColumnChunk& chunk = table_.chunk(of.column, unit.file, unit.group);
    return std::all_of(of.conditions.begin(), of.conditions.end(), [&](const ExpressionPtr& one) {
      return execution::can_match(*one, form, chunk);
    });
  });
}

Status FileSource::push(int index, int64_t number, const Batch& batch, BlockSink& first) const {
  RowBlock block;
  block.morsel = number;
  block.origins.resize(1);
  block.origins[0].batch = &batch;
  for (int64_t at = 0; at < batch.rows; at += kBlockRows) {
    block.rows = static_cast<int32_t>(std::min<int64_t>(kBlockRows, batch.rows - at));
    block.origins[0].begin = at;
    CD_TRY(first.push(index, block));
  }
  return first.flush(index);
}

Status FileSource::run_unit(OperatorRun& run, int index, int64_t number, BlockSink& first) {
  const Unit& unit = units_[static_cast<size_t>(number)];
  if (has_enough()) return {};
  const std::vector<ColumnConditions> conditions =
      with_known_bounds(reading_.conditions, reading_.testing);
  if (!can_match(unit, conditions)) {
    ++units_skipped_;
    if (unit.part >= 0) ahead_->end(unit.part);
    return {};
  }
  const PartUse use(ahead_.get(), unit.part);
  if (!filters_pass(table_, unit, conditions)) {
    ++units_filtered_;
    return {};
  }
  const RowsLeft left = rows_left(table_, unit, conditions);
  pages_skipped_ += left.pages_skipped;
  if (left.runs.empty()) return {};
  CD_ASSIGN(FileReader * reader, this->reader(index));
  int64_t rows = 0;
  for (const RowsLeft::Run& some : left.runs) rows += some.end - some.begin;
  reader->open(unit, rows, shares_columns_);
  expect(*reader, number, conditions);
  for (const RowsLeft::Run& some : left.runs) {
    CD_TRY(run_rows(run, index, {number, unit, some}, first));
  }
  return {};
}

Status FileSource::run_rows(OperatorRun& run, int index, const UnitRows& of, BlockSink& first) {
  const FileReader& reader = *readers_[static_cast<size_t>(index)];
  for (int64_t at = of.rows.begin; at < of.rows.end && !has_enough() && !reader.has_all();) {
    CD_ASSIGN(at, run_step(run, index, of, at, first));
  }
  return {};
}

// Answers where the next one begins.
Result<int64_t> FileSource::run_step(
    OperatorRun& run, int index, const UnitRows& of, int64_t at, BlockSink& first) {
  CD_TRY(run.check_cancelled());
  FileReader& reader = *readers_[static_cast<size_t>(index)];
  CD_ASSIGN(const FileReader::Step step, reader.step(at, of.rows.end));
  if (step.kept.count > 0) {
    const int64_t first_row = of.unit.first_row + at - of.unit.begin;
    CD_ASSIGN(const Batch* batch, reader.decode(run, step.kept, first_row));
    CD_TRY(push(index, of.number, *batch, first));
  }
  rows_kept_ += step.kept.count;
  return at + step.rows;
}

// Some of the rows of a unit do: then all that lies behind it is left out.
Status FileSource::push_likely_first(OperatorRun& run,
                                     const operators::SortKey& key,
                                     BlockSink& first,
                                     const std::function<bool()>& knows_enough) {
  const auto may_match = [&](const Unit& unit) { return can_match(unit, reading_.conditions); };
  for (const Unit& unit : likely_first(table_, units_, key, may_match)) {
    if (knows_enough()) break;
    CD_ASSIGN(FileReader * reader, this->reader(0));
    reader->open(unit, std::min(unit.rows, kShownRows), false);
    const UnitRows of{0, unit, {unit.begin, unit.begin + unit.rows}};
    for (int64_t at = of.rows.begin; at < of.rows.end && !knows_enough();) {
      CD_ASSIGN(at, run_step(run, 0, of, at, first));
    }
  }
  rows_kept_ = 0;  // they come again
  return {};
}

// What the conditions read comes with what they spare: a request takes longer than the bytes that it might not need.
void FileSource::begin_ahead() {
  std::vector<bool> read = reading_.used;
  for (const ColumnConditions& of : reading_.conditions) {
    read[static_cast<size_t>(of.column)] = true;
  }
  const std::vector<ColumnConditions> conditions =
      with_known_bounds(reading_.conditions, reading_.testing);
  const auto may_match = [&](const Unit& unit) { return can_match(unit, conditions); };
  indexes_ = narrow_units({table_, read, conditions}, units_, may_match);
  ahead_ = read_ahead_of(table_, units_, read, reading_.memory, may_match);
}

// One worker takes all units where statistics leave one of them; the others help it with its columns.
void FileSource::begin_turns(int64_t count) {
  const std::vector<ColumnConditions> conditions =
      with_known_bounds(reading_.conditions, reading_.testing);
  int units = 0;
  int64_t bytes = 0;
  for (size_t u = 0; u < units_.size() && units < 2; ++u) {
    if (!can_match(units_[u], conditions)) continue;
    ++units;
    for (size_t c = 0; c < table_.columns().size(); ++c) {
      if (reading_.used[c]) bytes += reading_.stored_bytes(units_[u], c);
    }
  }
  shares_columns_ = units == 1 && bytes >= kSharedBytesLeast;
  const int64_t units_each = count / (kTurnsPerWorker * workers_);
  const auto units_most = int64_t{ColumnCursor::kExpectedMost};
  units_in_turn_ = shares_columns_ ? count : std::clamp<int64_t>(units_each, 1, units_most);
}

Status FileSource::run(OperatorRun& run, BlockSink& first) {
  sample_.clear();
  begin_ahead();
  const auto count = static_cast<int64_t>(units_.size());
  begin_turns(count);
  const int64_t turns = (count + units_in_turn_ - 1) / units_in_turn_;
  const int64_t rows_each = turns == 0 ? 0 : rows() / turns;
  return run.for_indices("pipeline", turns, rows_each, [&](int index, int64_t turn) -> Status {
    const int64_t end = std::min(count, (turn + 1) * units_in_turn_);
    for (int64_t number = turn * units_in_turn_; number < end; ++number) {
      CD_TRY(ended(index, number, run_unit(run, index, number, first)));
    }
    return {};
  });
}

// The first rows of some units, kept until the run.
Status FileSource::make_sample() {
  const auto count = static_cast<int64_t>(units_.size());
  const int64_t step = std::max<int64_t>(1, count / kSampledUnits);
  for (int64_t u = step / 2; u < count; u += step) {
    const Unit& unit = units_[static_cast<size_t>(u)];
    CD_ASSIGN(auto reader, FileReader::create(reading_));
    reader->begin_sample(unit, static_cast<int32_t>(std::min<int64_t>(kBlockRows, unit.rows)));
    sample_.push_back(std::move(reader));
  }
  return {};
}

Result<int64_t> FileSource::sample(BlockSink& first, const std::vector<bool>& columns) {
  if (sample_.empty()) CD_TRY(make_sample());
  int64_t rows = 0;
  for (size_t s = 0; s < sample_.size() && !has_enough(); ++s) {
    CD_ASSIGN(const Batch* batch, sample_[s]->sample(columns));
    CD_TRY(push(0, static_cast<int64_t>(s), *batch, first));
    rows += batch->rows;
  }
  return rows;
}

// Conditions on one column are tested together, in the order of the first of them.
Status FileSource::prepare(Demand demand) {
  reading_.used = std::move(demand.columns);
  reading_.testing = std::move(demand.testing);
  reading_.distinct_column = demand.distinct_column;
  for (auto& of_column : demand.conditions) {
    for (const ExpressionPtr& condition : of_column) {
      text_ += (text_.empty() ? " where " : " and ") + expressions::expression_text(*condition);
    }
    ColumnConditions& added = reading_.conditions.emplace_back();
    added.column = columns_of(of_column)[0];
    added.conditions = of_column;
    CD_ASSIGN(added.program, expressions::Program::create(std::move(of_column), {}));
  }
  return {};
}

void FileSource::limit(int64_t rows) {
  rows_ = std::min(rows_, rows);
  keep_first_rows(units_, rows_);
}

std::string FileSource::describe() const {
  const auto read = std::ranges::count(reading_.used, true);
  std::string text = fmt::format("parquet {} ({} columns", reading_.name, read);
  if (shares_columns_) text += ", shared among threads";
  if (units_skipped_ > 0) {
    text +=
        fmt::format(", {} of {} parts skipped by statistics", units_skipped_.load(), units_.size());
  }
  if (units_filtered_ > 0) text += fmt::format(", {} by Bloom filters", units_filtered_.load());
  if (pages_skipped_ > 0) text += fmt::format(", {} pages skipped", pages_skipped_.load());
  if (reading_.distinct_column >= 0) {
    const Field& field = table_.schema()->fields[reading_.distinct_column];
    text += fmt::format(", values of {} once", field.name);
  }
  if (ahead_ != nullptr) text += fmt::format(", {} requests", ahead_->requests());
  const int64_t kept = rows_kept_;
  if (kept > 0 && kept < rows_) text += fmt::format(", {} rows", kept);
  return text + ")" + text_;
}

}  // namespace

Result<Chain> file_chain(FileSourceOptions options) {
  const ParquetTable& table = *options.table;
  Chain chain;
  FileReading reading;
  reading.table = options.table;
  reading.name = options.name;
  reading.memory = options.memory;
  auto& codes = reading.codes;
  auto& promises = reading.promises;
  for (int c = 0; c < table.schema()->column_count(); ++c) {
    const Field& field = table.schema()->fields[static_cast<size_t>(c)];
    const scan::ParquetColumn& column = table.columns()[static_cast<size_t>(c)];
    codes.emplace_back();
    if (column.form.conversion == scan::Conversion::kStringCodes) {
      CD_ASSIGN(codes.back(),
                table.files().string_codes(field.name, column.leaves, options.memory));
    }
    promises.push_back(promise_of(table, c));
    chain.schema.places.push_back({0, c});
    chain.source_columns.push_back({codes.back() == nullptr ? nullptr : &codes.back()->values(),
                                    !promises.back().no_nulls,
                                    codes.back()});
    if (promises.back().range.has_value()) {
      chain.ranges.emplace_back(ColumnPlace{0, c}, *promises.back().range);
    }
  }
  chain.by_number = rows_of_files(options, codes);
  chain.schema.schema = table.schema();
  chain.schema.nullable = {false};
  chain.schema.stores = {nullptr};
  chain.stores = {nullptr};
  chain.source = std::make_unique<FileSource>(options, std::move(reading));
  return chain;
}

}  // namespace crossdock::execution
