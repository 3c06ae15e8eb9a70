// A chunk is read, cut into values, converted, and pushed block by block.
#include "execution/csv_source.hpp"

#include <algorithm>

#include "operators/run/operator_run.hpp"
#include "scan/csv_cells.hpp"
#include "scan/csv_values.hpp"

namespace crossdock::execution {
namespace {

using operators::OperatorRun;
using scan::CsvTable;

constexpr size_t kShownBytes = 60;

class CsvSource final : public Source {
 public:
  explicit CsvSource(CsvSourceOptions options)
      : options_(std::move(options)),
        table_(*options_.table),
        nulls_(table_.format().null_strings),
        starts_(table_),
        used_(table_.schema()->fields.size(), true),
        workers_(static_cast<size_t>(options_.workers)) {}

  Status run(OperatorRun& run, BlockSink& first) override;
  Status prepare(Demand demand) override {
    used_ = std::move(demand.columns);
    return {};
  }
  std::string describe() const override {
    const auto read = std::count(used_.begin(), used_.end(), true);
    return fmt::format("csv {} ({} columns)", options_.name, read);
  }
  int64_t rows() const override { return table_.estimated_rows(); }

 private:
  struct Worker {
    Worker(const CsvSource& source)
        : reader(source.table_, source.options_.memory),
          cells(source.table_.format(), source.options_.memory) {}
    scan::CsvChunkReader reader;
    scan::CsvCells cells;
    std::vector<std::unique_ptr<scan::CsvColumn>> columns;  // nullptr: not read
    std::vector<int32_t> places;                            // of those that are read, in the file
    Batch batch;
  };

  Worker& worker(int index);
  Status run_chunk(OperatorRun& run, int index, int64_t number, BlockSink& first);
  Result<bool> find_records(OperatorRun& run, int64_t number, Worker& state);
  Status read_columns(Worker& state, int file) const;
  Error fault(const Worker& state, int file) const;
  Error no_value(const Worker& state, int file, size_t column, const scan::CsvCell& cell) const;
  Status push(int index, int64_t number, const Batch& batch, BlockSink& first) const;

  CsvSourceOptions options_;
  const CsvTable& table_;
  const scan::NullStrings nulls_;
  scan::CsvStarts starts_;
  std::vector<bool> used_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

CsvSource::Worker& CsvSource::worker(int index) {
  std::unique_ptr<Worker>& state = workers_[static_cast<size_t>(index)];
  if (state != nullptr) return *state;
  state = std::make_unique<Worker>(*this);
  const auto& fields = table_.schema()->fields;
  const char quote = table_.format().quote.value_or('"');
  for (size_t c = 0; c < fields.size(); ++c) {
    auto& column = state->columns.emplace_back();
    if (!used_[c]) continue;
    column = std::make_unique<scan::CsvColumn>(fields[c].type, nulls_, quote, options_.memory);
  }
  state->batch = {table_.schema(), 0, std::vector<ColumnView>(fields.size()), options_.table};
  return *state;
}

Status CsvSource::run(OperatorRun& run, BlockSink& first) {
  const auto count = static_cast<int64_t>(table_.chunks().size());
  const int64_t rows_each = count == 0 ? 0 : rows() / count;
  return run.for_indices("pipeline", count, rows_each, [&](int index, int64_t number) {
    const Status status = run_chunk(run, index, number, first);
    if (!status.ok()) starts_.abandon();
    return ended(index, number, status);
  });
}

// False where no record is wanted, or can be found any more.
Result<bool> CsvSource::find_records(OperatorRun& run, int64_t number, Worker& state) {
  if (has_enough()) {
    starts_.abandon();
    return false;
  }
  CD_TRY(state.reader.read(number));
  for (;;) {
    const auto start = starts_.wait(number);
    if (start.has_value()) {
      CD_TRY(state.reader.find(*start, starts_));
      return !state.reader.records().is_empty();
    }
    if (starts_.is_abandoned()) return false;
    CD_TRY(run.check_cancelled());
  }
}

Status CsvSource::run_chunk(OperatorRun& run, int index, int64_t number, BlockSink& first) {
  Worker& state = worker(index);
  CD_ASSIGN(const bool any, find_records(run, number, state));
  if (!any) return {};
  const int file = table_.chunks()[static_cast<size_t>(number)].file;
  const CsvFile& of = table_.files()[static_cast<size_t>(file)];
  state.places.clear();
  for (size_t c = 0; c < of.places.size(); ++c) {
    if (used_[c]) state.places.push_back(of.places[c]);
  }
  CD_TRY(state.cells.find(state.reader.records(), of.values, state.places));
  if (state.cells.fault() != nullptr) return fault(state, file);
  CD_TRY(run.check_cancelled());
  CD_TRY(read_columns(state, file));
  return push(index, number, state.batch, first);
}

Status CsvSource::read_columns(Worker& state, int file) const {
  const auto& places = table_.files()[static_cast<size_t>(file)].places;
  state.batch.rows = state.cells.rows();
  size_t read = 0;
  for (size_t c = 0; c < places.size(); ++c) {
    if (!used_[c]) continue;
    const scan::CsvText& text = state.reader.records();
    scan::CsvColumn::Cells of{{text.bytes, text.end}, nullptr, state.batch.rows, text.is_ascii};
    if (places[c] >= 0) of.cells = state.cells.cells(read);
    ++read;
    CD_ASSIGN(const auto column, state.columns[c]->read(of));
    if (!column.has_value()) {
      return no_value(state, file, c, of.cells[state.columns[c]->bad_row()]);
    }
    state.batch.columns[c] = *column;
  }
  return {};
}

Error CsvSource::fault(const Worker& state, int file) const {
  const scan::CsvFault& first = *state.cells.fault();
  const int64_t line = table_.line_of(file, state.reader.offset() + first.at);
  const CsvFile& of = table_.files()[static_cast<size_t>(file)];
  if (first.values < 0) {
    return make_error(ErrorCode::kSourceFailed,
                      "{}, line {}: a quote is not closed, or something follows the closing one",
                      of.path,
                      line);
  }
  return make_error(
      ErrorCode::kSourceFailed,
      "{}, line {}: {} values instead of {}; ragged='skip' or 'fill' takes such lines",
      of.path,
      line,
      first.values,
      of.values);
}

Error CsvSource::no_value(const Worker& state,
                          int file,
                          size_t column,
                          const scan::CsvCell& cell) const {
  const auto* text = reinterpret_cast<const char*>(state.reader.records().bytes);
  std::string shown(text + cell.begin, std::min<size_t>(cell.bytes(), kShownBytes));
  for (char& byte : shown) byte = static_cast<uint8_t>(byte) < 0x80 ? byte : '?';
  const Field& field = table_.schema()->fields[column];
  const bool is_text = field.type.id == TypeId::kUtf8View;
  return make_error(ErrorCode::kSourceFailed,
                    "{}, line {}, column '{}': '{}' is no {}; {}",
                    table_.files()[static_cast<size_t>(file)].path,
                    table_.line_of(file, state.reader.offset() + cell.begin),
                    field.name,
                    shown,
                    is_text ? "UTF-8" : type_name(field.type),
                    is_text
                        ? "encoding='latin-1' may be its own"
                        : fmt::format("types={{'{}': 'string'}} takes any value, bad_values='skip' "
                                      "leaves out such rows",
                                      field.name));
}

Status CsvSource::push(int index, int64_t number, const Batch& batch, BlockSink& first) const {
  RowBlock block;
  block.morsel = number;
  block.origins.resize(1);
  block.origins[0].batch = &batch;
  for (int64_t at = 0; at < batch.rows && !has_enough(); at += kBlockRows) {
    block.rows = static_cast<int32_t>(std::min<int64_t>(kBlockRows, batch.rows - at));
    block.origins[0].begin = at;
    CD_TRY(first.push(index, block));
  }
  return first.flush(index);
}

}  // namespace

Chain csv_chain(CsvSourceOptions options) {
  Chain chain;
  chain.schema.schema = options.table->schema();
  chain.schema.nullable = {false};
  chain.schema.stores = {nullptr};
  chain.stores = {nullptr};
  chain.source_tests = false;
  for (int c = 0; c < chain.schema.schema->column_count(); ++c) {
    chain.schema.places.push_back({0, c});
    chain.source_columns.push_back({});
  }
  chain.source = std::make_unique<CsvSource>(std::move(options));
  return chain;
}

}  // namespace crossdock::execution
