#include "execution/file_source.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>

#include "execution/far_pages.hpp"
#include "execution/file_rows.hpp"
#include "execution/file_units.hpp"
#include "execution/first_values.hpp"
#include "execution/footer_promise.hpp"
#include "execution/known_bounds.hpp"
#include "execution/page_pruning.hpp"
#include "execution/row_group_bounds.hpp"
#include "execution/source_test.hpp"
#include "operators/run/operator_run.hpp"

namespace crossdock::execution {
namespace {

using expressions::ExpressionPtr;
using operators::OperatorRun;
using scan::ColumnCursor;
using scan::ParquetTable;

constexpr int32_t kStepRows = 1 << 14;  // of which nothing is known
constexpr int32_t kStepRowsMost = 1 << 16;
constexpr int32_t kKeptRowsWanted = 1 << 13;
constexpr int64_t kSampledUnits = 4;
constexpr int64_t kSharedBytesLeast = int64_t{1} << 20;  // of a unit whose columns workers share
// Of a worker's units behind the one it reads: bytes in memory, and how many of these a byte in the file makes.
constexpr int64_t kExpectedBytesMost = int64_t{64} << 20;
constexpr int64_t kBytesInMemory = 3;
constexpr int64_t kTurnsPerWorker = 6;  // at least, for workers to end at about the same time

class FileSource final : public Source {
 public:
  FileSource(FileSourceOptions options,
             std::vector<std::shared_ptr<const scan::StringCodes>> codes,
             std::vector<Promise> promises)
      : options_(std::move(options)),
        table_(*options_.table),
        codes_(std::move(codes)),
        promises_(std::move(promises)),
        units_(cut_units(table_, options_.workers, options_.is_read)),
        rows_(row_count(units_)),
        workers_(static_cast<size_t>(options_.workers)) {
    used_.assign(table_.columns().size(), true);
  }

  Status run(OperatorRun& run, BlockSink& first) override;
  Result<int64_t> sample(BlockSink& first, const std::vector<bool>& columns) override;
  Status prepare(Demand demand) override;
  void limit(int64_t rows) override;
  void number_rows() override { is_numbered_ = true; }
  std::string describe() const override;
  int64_t rows() const override { return rows_; }

 private:
  struct Worker {
    std::vector<std::unique_ptr<ColumnCursor>> cursors;  // by column; nullptr: not read
    std::vector<size_t> decoded;  // columns of `batch`, those with most bytes in the unit first
    std::vector<ColumnFilter> filters;
    std::vector<SourceTest> tests;
    FirstValues first_values;
    std::vector<uint32_t> kept;
    std::vector<uint64_t> numbers;  // of the rows of `batch`
    Batch batch;
    int32_t step_rows = kStepRows;
  };

  void begin_ahead();
  Result<Worker*> worker(int index);
  // `rows`: that will be asked for.
  void open(Worker& worker, const Unit& unit, int64_t rows);
  void expect(Worker& worker, int64_t number, const std::vector<ColumnConditions>& conditions);
  bool can_match(const Unit& unit, const std::vector<ColumnConditions>& conditions) const;
  Status run_unit(OperatorRun& run, int index, int64_t number, BlockSink& first);
  Status run_rows(
      OperatorRun& run, int index, int64_t number, RowsLeft::Run rows, BlockSink& first);
  Result<StepRows> select(Worker& worker, StepRows rows);
  void begin_turns(int64_t count);
  int64_t stored_bytes(const Unit& unit, size_t column) const;
  Status decode(OperatorRun& run, Worker& worker, StepRows rows) const;
  Result<ColumnView> decoded(Worker& worker, size_t column, StepRows rows) const;
  void add_numbers(Worker& worker, uint64_t first_row, StepRows rows) const;
  Status push(int index, int64_t number, const Batch& batch, BlockSink& first) const;
  Status make_sample();
  Status decode_sample(Worker& worker, const std::vector<bool>& columns) const;
  Batch empty_batch() const;
  std::unique_ptr<ColumnCursor> make_cursor(size_t column) const;

  FileSourceOptions options_;
  const ParquetTable& table_;
  std::vector<std::shared_ptr<const scan::StringCodes>> codes_;  // by column
  std::vector<Promise> promises_;                                // by column
  std::vector<Unit> units_;
  int64_t rows_;                 // of the units
  int64_t units_in_turn_ = 1;    // of one worker
  bool shares_columns_ = false;  // workers decode those of one unit
  std::vector<bool> used_;       // by column
  bool is_numbered_ = false;
  std::vector<ColumnConditions> conditions_;
  std::vector<const Stage*> testing_;
  int distinct_column_ = -1;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker> sample_;  // one for each sampled unit, whose cursors hold its rows
  std::unique_ptr<scan::ReadAhead> ahead_;  // nullptr: all files are of this machine
  std::vector<std::shared_ptr<scan::FetchedRange>> indexes_;  // of pages, of such files
  std::atomic<int64_t> units_skipped_{0};
  std::atomic<int64_t> units_filtered_{0};  // by Bloom filters
  std::atomic<int64_t> pages_skipped_{0};
  std::atomic<int64_t> rows_kept_{0};
  std::string text_;  // of the conditions
};

std::unique_ptr<ColumnCursor> FileSource::make_cursor(size_t column) const {
  return std::make_unique<ColumnCursor>(
      table_.columns()[column].form, codes_[column], options_.memory);
}

// What outlives the batch's rows: the strings of codes.
Batch FileSource::empty_batch() const {
  Batch batch{table_.schema(), 0, {}, options_.table};
  batch.columns.resize(table_.columns().size() + (is_numbered_ ? 1 : 0));
  return batch;
}

Result<FileSource::Worker*> FileSource::worker(int index) {
  std::unique_ptr<Worker>& worker = workers_[static_cast<size_t>(index)];
  if (worker != nullptr) return worker.get();
  worker = std::make_unique<Worker>();
  worker->batch = empty_batch();
  worker->cursors.resize(table_.columns().size());
  for (size_t c = 0; c < worker->cursors.size(); ++c) {
    if (!used_[c]) continue;
    worker->cursors[c] = make_cursor(c);
    worker->decoded.push_back(c);
  }
  for (const ColumnConditions& of : conditions_) {
    auto& cursor = worker->cursors[static_cast<size_t>(of.column)];
    if (cursor == nullptr) cursor = make_cursor(static_cast<size_t>(of.column));
    CD_ASSIGN(auto filter, ColumnFilter::create(of, table_.schema(), *options_.memory));
    worker->filters.push_back(std::move(filter));
  }
  const auto read = std::count(used_.begin(), used_.end(), true);
  for (const Stage* stage : testing_) {
    auto test = stage->make_test();
    const auto needed = test == nullptr ? read : static_cast<int64_t>(test->columns().size());
    if (needed >= read) continue;
    worker->tests.emplace_back(std::move(test), *table_.schema());
  }
  return worker.get();
}

void FileSource::open(Worker& worker, const Unit& unit, int64_t rows) {
  const scan::ByteSource& file = table_.files().files()[static_cast<size_t>(unit.file)]->file();
  for (size_t c = 0; c < worker.cursors.size(); ++c) {
    if (worker.cursors[c] == nullptr) continue;
    const scan::ColumnChunk& chunk = table_.chunk(static_cast<int>(c), unit.file, unit.group);
    const scan::ColumnForm& form = table_.columns()[c].form_in(unit.file);
    if (unit.pages == nullptr) {
      worker.cursors[c]->open(file, form, chunk, rows);
    } else {
      worker.cursors[c]->open(file, form, chunk, rows, unit.pages->places[c]);
    }
  }
  for (ColumnFilter& filter : worker.filters) filter.open();
  if (distinct_column_ >= 0) {
    worker.first_values.open(table_.chunk(distinct_column_, unit.file, unit.group));
  }
  if (shares_columns_) {
    std::ranges::sort(
        worker.decoded, std::greater(), [&](size_t c) { return stored_bytes(unit, c); });
  }
}

int64_t FileSource::stored_bytes(const Unit& unit, size_t column) const {
  return table_.chunk(static_cast<int>(column), unit.file, unit.group).compressed_bytes;
}

// This unit and those of the worker's turn behind it; fewer in its first turn, which may be all that a limit needs.
void FileSource::expect(Worker& worker,
                        int64_t number,
                        const std::vector<ColumnConditions>& conditions) {
  if (units_in_turn_ == 1) return;
  const Unit& unit = units_[static_cast<size_t>(number)];
  const int64_t turn = number / units_in_turn_;
  int64_t bytes = 1;
  for (size_t c = 0; c < worker.cursors.size(); ++c) {
    if (worker.cursors[c] != nullptr) bytes += kBytesInMemory * stored_bytes(unit, c);
  }
  const int64_t most = turn < options_.workers ? 2 : ColumnCursor::kExpectedMost;
  const int64_t fitting = std::min(most, 1 + kExpectedBytesMost / bytes);
  const int64_t end = std::min((turn + 1) * units_in_turn_, std::ssize(units_));
  std::vector<const Unit*> units = {&unit};
  for (int64_t n = number + 1; n < end && std::ssize(units) < fitting; ++n) {
    const Unit& next = units_[static_cast<size_t>(n)];
    const bool is_other = next.file == unit.file && next.group != units.back()->group;
    if (is_other && next.part < 0 && can_match(next, conditions)) units.push_back(&next);
  }
  std::array<const scan::ColumnChunk*, ColumnCursor::kExpectedMost> chunks = {};
  for (size_t c = 0; c < worker.cursors.size(); ++c) {
    if (worker.cursors[c] == nullptr) continue;
    for (size_t u = 0; u < units.size(); ++u) {
      chunks[u] = &table_.chunk(static_cast<int>(c), units[u]->file, units[u]->group);
    }
    worker.cursors[c]->expect(std::span(chunks).first(units.size()));
  }
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

Result<StepRows> FileSource::select(Worker& worker, StepRows rows) {
  for (ColumnFilter& filter : worker.filters) {
    if (rows.count == 0) break;
    ColumnCursor& cursor = *worker.cursors[static_cast<size_t>(filter.column())];
    CD_ASSIGN(rows, filter.select(cursor, rows, worker.kept.data()));
  }
  for (SourceTest& of_stage : worker.tests) {
    if (rows.count == 0 || !of_stage.is_worth_it()) continue;
    CD_ASSIGN(rows, of_stage.select(worker.cursors, rows, worker.kept.data()));
  }
  if (distinct_column_ < 0 || rows.count == 0) return rows;
  return worker.first_values.select(*worker.cursors[distinct_column_], rows, worker.kept.data());
}

Status FileSource::decode(OperatorRun& run, Worker& worker, StepRows rows) const {
  worker.batch.rows = rows.count;
  std::atomic<size_t> next{0};
  const auto decode_some = [&](int) -> Status {
    const CancelScope scope(run.cancel);
    for (size_t i = next++; i < worker.decoded.size(); i = next++) {
      const size_t c = worker.decoded[i];
      CD_ASSIGN(worker.batch.columns[c], decoded(worker, c, rows));
    }
    return {};
  };
  return shares_columns_ ? run.team->run(decode_some, std::ssize(worker.decoded)) : decode_some(0);
}

Result<ColumnView> FileSource::decoded(Worker& worker, size_t column, StepRows rows) const {
  CD_ASSIGN(const ColumnView values, worker.cursors[column]->decode(rows.rows, rows.count));
  const Field& field = table_.schema()->fields[column];
  if (is_kept(promises_[column], values, field.type)) return values;
  return make_error(ErrorCode::kSourceFailed,
                    "column \"{}\" of {} has values that the statistics of the file exclude",
                    field.name,
                    options_.name);
}

void FileSource::add_numbers(Worker& worker, uint64_t first_row, StepRows rows) const {
  worker.numbers.resize(kStepRowsMost);
  for (int32_t i = 0; i < rows.count; ++i) {
    worker.numbers[static_cast<size_t>(i)] =
        first_row + (rows.rows == nullptr ? static_cast<uint32_t>(i) : rows.rows[i]);
  }
  ColumnView numbers;
  numbers.length = rows.count;
  numbers.values = reinterpret_cast<const uint8_t*>(worker.numbers.data());
  worker.batch.columns.back() = numbers;
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
  const std::vector<ColumnConditions> conditions = with_known_bounds(conditions_, testing_);
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
  CD_ASSIGN(Worker * state, worker(index));
  int64_t rows = 0;
  for (const RowsLeft::Run& some : left.runs) rows += some.end - some.begin;
  open(*state, unit, rows);
  expect(*state, number, conditions);
  for (const RowsLeft::Run& some : left.runs) CD_TRY(run_rows(run, index, number, some, first));
  return {};
}

Status FileSource::run_rows(
    OperatorRun& run, int index, int64_t number, RowsLeft::Run of, BlockSink& first) {
  const Unit& unit = units_[static_cast<size_t>(number)];
  CD_ASSIGN(Worker * state, worker(index));
  const int64_t end = of.end;
  int64_t kept_rows = 0;
  for (int64_t at = of.begin; at < end && !has_enough() && !state->first_values.has_all();) {
    CD_TRY(run.check_cancelled());
    const auto rows = static_cast<int32_t>(std::min<int64_t>(state->step_rows, end - at));
    for (auto& cursor : state->cursors) {
      if (cursor != nullptr) cursor->step(at, rows);
    }
    state->kept.resize(kStepRowsMost);
    CD_ASSIGN(const StepRows kept, select(*state, {nullptr, rows}));
    const auto first_row = static_cast<uint64_t>(unit.first_row + at - unit.begin);
    at += rows;
    kept_rows += kept.count;
    const int64_t rows_to_read = int64_t{kKeptRowsWanted} * rows / std::max(kept.count, 1);
    state->step_rows = static_cast<int32_t>(
        std::clamp<int64_t>(rows_to_read, kStepRows, kStepRowsMost) / kBlockRows * kBlockRows);
    if (kept.count == 0) continue;
    CD_TRY(decode(run, *state, kept));
    if (is_numbered_) add_numbers(*state, first_row, kept);
    CD_TRY(push(index, number, state->batch, first));
  }
  rows_kept_ += kept_rows;
  return {};
}

// What the conditions read comes with what they spare: a request takes longer than the bytes that it might not need.
void FileSource::begin_ahead() {
  std::vector<bool> read = used_;
  for (const ColumnConditions& of : conditions_) read[static_cast<size_t>(of.column)] = true;
  const std::vector<ColumnConditions> conditions = with_known_bounds(conditions_, testing_);
  const auto may_match = [&](const Unit& unit) { return can_match(unit, conditions); };
  indexes_ = narrow_units({table_, read, conditions}, units_, may_match);
  ahead_ = read_ahead_of(table_, units_, read, options_.memory, may_match);
}

// One worker takes all units where statistics leave one of them; the others help it with its columns.
void FileSource::begin_turns(int64_t count) {
  const std::vector<ColumnConditions> conditions = with_known_bounds(conditions_, testing_);
  int units = 0;
  int64_t bytes = 0;
  for (size_t u = 0; u < units_.size() && units < 2; ++u) {
    if (!can_match(units_[u], conditions)) continue;
    ++units;
    for (size_t c = 0; c < table_.columns().size(); ++c) {
      if (used_[c]) bytes += stored_bytes(units_[u], c);
    }
  }
  shares_columns_ = units == 1 && bytes >= kSharedBytesLeast;
  const int64_t units_each = count / (kTurnsPerWorker * options_.workers);
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
    Worker& state = sample_.emplace_back();
    state.batch = empty_batch();
    for (size_t c = 0; c < table_.columns().size(); ++c) state.cursors.push_back(make_cursor(c));
    const auto rows = static_cast<int32_t>(std::min<int64_t>(kBlockRows, unit.rows));
    open(state, unit, rows);
    for (auto& cursor : state.cursors) cursor->step(unit.begin, rows);
    state.batch.rows = rows;
  }
  return {};
}

// What an earlier call has decoded stays.
Status FileSource::decode_sample(Worker& worker, const std::vector<bool>& columns) const {
  for (size_t c = 0; c < worker.cursors.size(); ++c) {
    ColumnView& column = worker.batch.columns[c];
    if (!columns[c] || column.values != nullptr) continue;
    CD_ASSIGN(column, decoded(worker, c, {nullptr, static_cast<int32_t>(worker.batch.rows)}));
  }
  return {};
}

Result<int64_t> FileSource::sample(BlockSink& first, const std::vector<bool>& columns) {
  if (sample_.empty()) CD_TRY(make_sample());
  int64_t rows = 0;
  for (size_t s = 0; s < sample_.size() && !has_enough(); ++s) {
    CD_TRY(decode_sample(sample_[s], columns));
    CD_TRY(push(0, static_cast<int64_t>(s), sample_[s].batch, first));
    rows += sample_[s].batch.rows;
  }
  return rows;
}

// Conditions on one column are tested together, in the order of the first of them.
Status FileSource::prepare(Demand demand) {
  used_ = std::move(demand.columns);
  testing_ = std::move(demand.testing);
  distinct_column_ = demand.distinct_column;
  for (auto& of_column : demand.conditions) {
    for (const ExpressionPtr& condition : of_column) {
      text_ += (text_.empty() ? " where " : " and ") + expressions::expression_text(*condition);
    }
    ColumnConditions& added = conditions_.emplace_back();
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
  const auto read = std::count(used_.begin(), used_.end(), true);
  std::string text = fmt::format("parquet {} ({} columns", options_.name, read);
  if (shares_columns_) text += ", shared among threads";
  if (units_skipped_ > 0) {
    text +=
        fmt::format(", {} of {} parts skipped by statistics", units_skipped_.load(), units_.size());
  }
  if (units_filtered_ > 0) text += fmt::format(", {} by Bloom filters", units_filtered_.load());
  if (pages_skipped_ > 0) text += fmt::format(", {} pages skipped", pages_skipped_.load());
  if (distinct_column_ >= 0) {
    text += fmt::format(", values of {} once", table_.schema()->fields[distinct_column_].name);
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
  std::vector<std::shared_ptr<const scan::StringCodes>> codes;
  std::vector<Promise> promises;
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
  chain.source =
      std::make_unique<FileSource>(std::move(options), std::move(codes), std::move(promises));
  return chain;
}

}  // namespace crossdock::execution
