// One Parquet file: its footer, and where its columns are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "scan/byte_source.hpp"
#include "scan/parquet_format.hpp"

namespace crossdock::scan {

// The names of the groups that a column lies in, from the top, and its own.
using ColumnPath = std::vector<std::string>;

// What a schema has at the end of a path.
struct ColumnPlace {
  bool is_there = false;
  int leaf = -1;  // -1: no leaf of which each row has one value at most
};

// Immutable.
class ParquetFile {
 public:
  // Reads the footer, if it is not known from before. Errors: kSourceFailed; kUnsupportedType where all of the file is
  // encrypted.
  static Result<std::shared_ptr<const ParquetFile>> open(const std::string& path,
                                                         bool stays_open = true);
  static Result<std::shared_ptr<const ParquetFile>> open(std::shared_ptr<const ByteSource> file);

  const ByteSource& file() const { return *file_; }
  const FileMetadata& metadata() const { return *metadata_; }
  ColumnPlace place(const ColumnPath& path) const;
  // The bytes of a file that has the same schema, and no rows.
  std::string schema_file() const;
  // What the schema says of it.
  const SchemaElement& element(int leaf) const {
    return metadata_->schema[static_cast<size_t>(leaf_elements_[static_cast<size_t>(leaf)])];
  }
  // The level of its values that are not NULL: how many of it and the groups that it lies in may be.
  int32_t definition_levels(int leaf) const {
    return levels_[static_cast<size_t>(leaf)].definition;
  }

 private:
  // The highest of a leaf or group.
  struct Levels {
    int32_t repetition = 0;
    int32_t definition = 0;
  };

  ParquetFile(std::shared_ptr<const ByteSource> file, std::shared_ptr<const FileMetadata> metadata)
      : file_(std::move(file)), metadata_(std::move(metadata)) {}
  // is_checked: the footer fits a file that is the same.
  static Result<std::shared_ptr<const ParquetFile>> of_footer(
      std::shared_ptr<const ByteSource> file,
      std::shared_ptr<const FileMetadata> footer,
      bool is_checked);
  Status number_leaves();
  Status check_chunks() const;
  bool fits(const LevelHistograms& histograms, size_t leaf) const;

  std::shared_ptr<const ByteSource> file_;
  std::shared_ptr<const FileMetadata> metadata_;
  std::vector<int> leaf_elements_;  // by leaf: element of the schema
  std::vector<Levels> levels_;      // by leaf
  std::vector<int> leaf_numbers_;   // by element; of a group, that of the first leaf behind
  std::vector<size_t> ends_;        // by element: the one behind all that are in it
};

}  // namespace crossdock::scan
