// One Parquet file: its footer, and where its columns are.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "scan/byte_source.hpp"
#include "scan/parquet_format.hpp"

namespace crossdock::scan {

// Immutable.
class ParquetFile {
 public:
  // Reads the footer. Errors: kSourceFailed; kUnsupportedType where all of it is encrypted.
  static Result<std::shared_ptr<const ParquetFile>> open(const std::string& path,
                                                         bool stays_open = true);
  static Result<std::shared_ptr<const ParquetFile>> open(std::shared_ptr<const ByteSource> file);

  const ByteSource& file() const { return *file_; }
  const FileMetadata& metadata() const { return metadata_; }
  // The leaf that a column at the top of the schema is; -1 where there is none of that name.
  int leaf(std::string_view name) const;
  // Whether there is a column of that name at the top of the schema that has others in it.
  bool has_group(std::string_view name) const;
  // The bytes of a file that has the same schema, and no rows.
  std::string schema_file() const;
  // What the schema says of it.
  const SchemaElement& element(int leaf) const {
    return metadata_.schema[static_cast<size_t>(leaf_elements_[static_cast<size_t>(leaf)])];
  }

 private:
  // The highest of a leaf or group.
  struct Levels {
    int64_t repetition = 0;
    int64_t definition = 0;
  };

  ParquetFile(std::shared_ptr<const ByteSource> file, FileMetadata metadata)
      : file_(std::move(file)), metadata_(std::move(metadata)) {}
  Status number_leaves();
  Status check_chunks() const;
  bool fits(const LevelHistograms& histograms, size_t leaf) const;

  std::shared_ptr<const ByteSource> file_;
  FileMetadata metadata_;
  std::vector<int> leaf_elements_;  // by leaf: element of the schema
  std::vector<bool> is_top_;        // by leaf: it stands below the root
  std::vector<Levels> levels_;      // by leaf
  std::vector<int> top_groups_;     // elements of the schema that stand there, and are no leaves
};

}  // namespace crossdock::scan
