// Rows of Parquet files as one worker reads them: in steps that stay in the cache, conditions on single columns first,
// and the other columns for the rows that these leave.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "execution/column_filter.hpp"
#include "execution/file_units.hpp"
#include "execution/first_values.hpp"
#include "execution/footer_promise.hpp"
#include "execution/source_test.hpp"
#include "execution/stage.hpp"
#include "operators/run/operator_run.hpp"
#include "scan/column_cursor.hpp"
#include "scan/parquet_table.hpp"

namespace crossdock::execution {

// What all workers of a scan read.
struct FileReading {
  std::shared_ptr<const scan::ParquetTable> table;
  std::string name;
  std::shared_ptr<Memory> memory;
  std::vector<std::shared_ptr<const scan::StringCodes>> codes;  // by column
  std::vector<Promise> promises;                                // by column
  std::vector<bool> used;                                       // by column
  std::vector<ColumnConditions> conditions;
  std::vector<const Stage*> testing;  // whose tests spare what rows they drop
  int distinct_column = -1;
  bool is_numbered = false;

  int64_t stored_bytes(const Unit& unit, size_t column) const {
    return table->chunk(static_cast<int>(column), unit.file, unit.group).compressed_bytes;
  }
};

// One worker's own. Errors of all that read: kSourceFailed, kOutOfMemoryBudget.
class FileReader {
 public:
  // `reading` outlives it.
  static Result<std::unique_ptr<FileReader>> create(const FileReading& reading);

  // `rows`: of the unit that will be asked for. `shares_columns`: among the workers, the largest ones first.
  void open(const Unit& unit, int64_t rows, bool shares_columns);
  // The units to open next, the one that is open first.
  void expect(std::span<const Unit* const> units);
  // Of the units that may be expected: bytes in memory, about.
  int64_t expected_bytes(const Unit& unit) const;

  struct Step {
    int32_t rows = 0;  // that it went through
    StepRows kept;
  };
  // The next rows of the unit, from `at` on, and before `end`.
  Result<Step> step(int64_t at, int64_t end);
  // No further row of the unit passes.
  bool has_all() const { return first_values_.has_all(); }
  // The rows of the step, which are those from `first_row` on of all files.
  Result<const Batch*> decode(operators::OperatorRun& run, StepRows rows, int64_t first_row);

  // All of the first rows of a unit, column by column: those of `columns`, what was decoded before stays.
  void begin_sample(const Unit& unit, int32_t rows);
  Result<const Batch*> sample(const std::vector<bool>& columns);

 private:
  explicit FileReader(const FileReading& reading);
  void make_cursor(size_t column);
  Result<StepRows> select(StepRows rows);
  Result<ColumnView> decoded(size_t column, StepRows rows) const;
  void add_numbers(int64_t first_row, StepRows rows);

  const FileReading& reading_;
  const scan::ParquetTable& table_;
  std::vector<std::unique_ptr<scan::ColumnCursor>> cursors_;  // by column; nullptr: not read
  std::vector<size_t> decoded_;  // columns of the batch, those with most bytes in the unit first
  bool shares_columns_ = false;
  std::vector<ColumnFilter> filters_;
  std::vector<SourceTest> tests_;
  FirstValues first_values_;
  std::vector<uint32_t> kept_;
  std::vector<uint64_t> numbers_;  // of the rows of the batch
  Batch batch_;
  int32_t step_rows_;
};

}  // namespace crossdock::execution
