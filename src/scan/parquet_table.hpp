// Columns of one or several Parquet files as one table.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "memory/budget.hpp"
#include "scan/column_form.hpp"
#include "scan/parquet_file.hpp"
#include "scan/string_codes.hpp"
#include "table/schema.hpp"

namespace crossdock::scan {

// Files that are open together, and what has been learnt of them. Thread-safe.
class ParquetFiles {
 public:
  // Errors: those of ParquetFile::open.
  static Result<std::shared_ptr<const ParquetFiles>> open(const std::vector<std::string>& paths);

  const std::vector<std::shared_ptr<const ParquetFile>>& files() const { return files_; }
  int64_t rows() const { return rows_; }
  // The strings of all dictionaries of a column; kept for later calls.
  Result<std::shared_ptr<const StringCodes>> string_codes(
      const std::string& column,
      const ColumnForm& form,
      const std::shared_ptr<Memory>& memory) const;

 private:
  ParquetFiles() = default;

  std::vector<std::shared_ptr<const ParquetFile>> files_;
  int64_t rows_ = 0;
  mutable std::mutex mutex_;  // guards codes_
  mutable std::map<std::string, std::shared_ptr<const StringCodes>> codes_;
};

struct ParquetColumn {
  ColumnForm form;
  std::vector<int> leaves;  // by file
};

// Immutable.
class ParquetTable {
 public:
  // The columns of `expected`, in the forms in which they are read: strings as views; `with_codes`: those whose values
  // are few as codes. Error kUnsupportedType, with the reason, where the files hold something that is not read here.
  static Result<std::shared_ptr<const ParquetTable>> create(
      std::shared_ptr<const ParquetFiles> files, const Schema& expected, bool with_codes);

  const SchemaPtr& schema() const { return schema_; }
  const std::vector<ParquetColumn>& columns() const { return columns_; }
  const ParquetFiles& files() const { return *files_; }
  const ColumnChunk& chunk(int column, int file, int row_group) const;

 private:
  ParquetTable() = default;
  Status add_column(const Field& expected, bool with_codes);
  bool has_few_strings(const ParquetColumn& column) const;

  std::shared_ptr<const ParquetFiles> files_;
  SchemaPtr schema_;
  std::vector<ParquetColumn> columns_;
};

}  // namespace crossdock::scan
