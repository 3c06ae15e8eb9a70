// Columns of one or several Parquet files as one table.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <crossdock/remote_file.hpp>

#include "memory/budget.hpp"
#include "scan/column_form.hpp"
#include "scan/parquet_file.hpp"
#include "scan/string_codes.hpp"
#include "table/schema.hpp"

namespace crossdock::scan {

// A column of which all rows of a file have one value, whatever the file stores.
struct FileValues {
  DataType type;
  std::vector<std::optional<std::string>> values;  // by file; as ColumnForm::value
};

// Files that are open together, and what has been learnt of them. Thread-safe.
class ParquetFiles {
 public:
  // Errors: those of ParquetFile::open.
  static Result<std::shared_ptr<const ParquetFiles>> open(const std::vector<std::string>& paths);
  static Result<std::shared_ptr<const ParquetFiles>> open(std::vector<RemoteFile> files);
  // The same files, of which `values` has a row each: what all rows of the file have in columns of these names. Errors:
  // kInvalidArgument for another number of rows, kUnsupportedType.
  Result<std::shared_ptr<const ParquetFiles>> with_values(const Table& values) const;
  // The same files with columns of these names, which are where the paths lead.
  std::shared_ptr<const ParquetFiles> with_paths(std::map<std::string, ColumnPath> paths) const;

  const std::vector<std::shared_ptr<const ParquetFile>>& files() const { return files_; }
  int64_t rows() const { return rows_; }
  // Of each file, the first one that has the same schema.
  std::vector<int> schema_numbers() const;
  // nullptr: the files themselves say what a column holds.
  const FileValues* values_of(const std::string& column) const;
  // Where files have a column: at the top, unless with_paths() says otherwise.
  ColumnPath path_of(const std::string& column) const;
  // The strings of all dictionaries of a column, which has them in these leaves (-1: in none), and of the values that
  // files do not store; kept for later calls.
  Result<std::shared_ptr<const StringCodes>> string_codes(
      const std::string& column,
      const std::vector<int>& leaves,
      const std::shared_ptr<Memory>& memory) const;

 private:
  ParquetFiles() = default;
  std::shared_ptr<ParquetFiles> same() const;
  Status open_all(const std::vector<std::string>& paths);
  Status add_values(const Table& values);
  Status add_dictionaries(const ParquetFile& file,
                          int leaf,
                          const std::shared_ptr<Memory>& memory,
                          StringCodes& codes) const;

  std::vector<std::shared_ptr<const ParquetFile>> files_;
  std::map<std::string, FileValues> values_;
  std::map<std::string, ColumnPath> paths_;
  int64_t rows_ = 0;
  mutable std::mutex mutex_;  // guards codes_
  mutable std::map<std::string, std::shared_ptr<const StringCodes>> codes_;
};

// How some files have a column.
struct FileColumn {
  ColumnForm form;
  ColumnChunk unstored;  // what statistics say where files do not store it
};

struct ParquetColumn {
  ColumnForm form;          // of the first file; the type is that of all
  std::vector<int> leaves;  // by file; -1: it is not stored
  std::vector<int> kinds;   // by file: place in `columns`
  std::vector<FileColumn> columns;

  const ColumnForm& form_in(int file) const {
    const int kind = kinds[static_cast<size_t>(file)];
    return columns[static_cast<size_t>(kind)].form;
  }
};

// Immutable.
class ParquetTable {
 public:
  // The columns of `expected`, in the forms in which they are read: strings as views; `with_codes`: those whose values
  // are few as codes, and of `keys`, by which all rows are grouped, also those with more. Files that have values of a
  // narrower type are widened, and columns that they lack are NULL. Error kUnsupportedType, with the reason, where the
  // files hold something that is not read here.
  static Result<std::shared_ptr<const ParquetTable>> create(
      std::shared_ptr<const ParquetFiles> files,
      const Schema& expected,
      bool with_codes,
      const std::vector<std::string>& keys = {});

  const SchemaPtr& schema() const { return schema_; }
  const std::vector<ParquetColumn>& columns() const { return columns_; }
  const ParquetFiles& files() const { return *files_; }
  const ColumnChunk& chunk(int column, int file, int row_group) const;

 private:
  ParquetTable() = default;
  Status add_column(const Field& expected, int64_t dictionary_bytes_most);
  Result<ColumnForm> form_of(const Field& expected, size_t file, ColumnPlace place) const;
  bool has_few_strings(const ParquetColumn& column, int64_t dictionary_bytes_most) const;

  std::shared_ptr<const ParquetFiles> files_;
  SchemaPtr schema_;
  std::vector<ParquetColumn> columns_;
};

}  // namespace crossdock::scan
