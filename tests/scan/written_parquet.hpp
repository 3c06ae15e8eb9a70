// Small Parquet files, written byte by byte: the encodings and faults that a test asks for, whatever a library
// would do.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scan/parquet_format.hpp"

namespace crossdock::scan {

using FileBytes = std::vector<uint8_t>;

// One value of a written column, by its kind of type.
struct WrittenValue {
  bool is_null = false;
  int64_t number = 0;
  std::string text;
  int32_t level = 0;  // of a null: how many of the groups that it lies in are there
};

struct WrittenColumn {
  std::string name;
  std::vector<std::string>
      groups;  // structs that it lies in, from the top, each of which may be null
  PhysicalType physical = PhysicalType::kInt64;  // kInt32, kInt64 or kByteArray
  bool nullable = false;
  bool second_version = false;  // of data pages
  int32_t coded_pages = 0;      // so many first pages are dictionary codes, the others PLAIN
  std::vector<std::vector<WrittenValue>> pages;
};

// One row group of these columns, uncompressed. All columns have as many values.
FileBytes written_parquet(const std::vector<WrittenColumn>& columns);

// The same column as part of these structs, whose nulls are those of each of them in turn.
WrittenColumn in_groups(WrittenColumn column, std::vector<std::string> groups);

// The numbers `begin`, `begin` + 1, ... in pages of `page_rows`; every `null_step`th is null, 0: none.
WrittenColumn numbered_column(std::string name, int64_t rows, int64_t page_rows, int64_t null_step);
// "string 0", "string 1", ..., "string <distinct - 1>", "string 0", ...; longer ones do not fit a view.
WrittenColumn string_column(std::string name, int64_t rows, int64_t page_rows, int64_t distinct);

// Writes the bytes as a file that lives as long as this.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::span<const uint8_t> bytes);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace crossdock::scan
