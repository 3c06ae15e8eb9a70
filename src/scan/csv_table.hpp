// Columns of one or several CSV files as one table, cut into chunks that threads read.
//
// A chunk is a range of bytes, and its records are those that begin in it. Where the first one begins is known when the
// chunk before has been looked through: a line end in quotes ends no record. Without a quote in sight that is the first
// line end behind the range.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <crossdock/csv_files.hpp>

#include "memory/budget.hpp"
#include "scan/csv_signs.hpp"
#include "scan/local_file.hpp"
#include "table/schema.hpp"

namespace crossdock::scan {

// The first byte behind the record that begins at `begin`; nothing where the bytes end before it does.
std::optional<size_t> csv_record_end(std::span<const uint8_t> bytes,
                                     size_t begin,
                                     const CsvFormat& format);

struct CsvChunk {
  int file = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

// Immutable.
class CsvTable {
 public:
  static constexpr int64_t kChunkBytes = int64_t{1} << 20;
  static constexpr int64_t kRecordBytesMost = int64_t{64} << 20;

  // `expected`: the columns that the files' places stand for. Errors: kSourceFailed; kUnsupportedType, with the reason,
  // for types that are not read here.
  static Result<std::shared_ptr<const CsvTable>> create(std::vector<CsvFile> files,
                                                        CsvFormat format,
                                                        const Schema& expected);

  const SchemaPtr& schema() const { return schema_; }  // strings as views
  const CsvFormat& format() const { return format_; }
  const std::vector<CsvFile>& files() const { return files_; }
  const LocalFile& file(int number) const { return *opened_[static_cast<size_t>(number)]; }
  const std::vector<CsvChunk>& chunks() const { return chunks_; }
  // As long as lines are like the first ones.
  int64_t estimated_rows() const { return estimated_rows_; }
  // The number of the line, from 1, in which a byte of a file lies; it is read for that.
  int64_t line_of(int file, int64_t offset) const;

 private:
  CsvTable() = default;
  Status add_file(CsvFile file, bool stays_open);

  CsvFormat format_;
  SchemaPtr schema_;
  std::vector<CsvFile> files_;
  std::vector<std::shared_ptr<const LocalFile>> opened_;
  std::vector<CsvChunk> chunks_;
  int64_t estimated_rows_ = 0;
};

// Where the first records of chunks begin, of one run. Each is published once, in order within a file. Thread-safe.
class CsvStarts {
 public:
  explicit CsvStarts(const CsvTable& table);
  void publish(int64_t chunk, int64_t offset);
  // No further one will be published: who waits gets nothing.
  void abandon();
  // Waits some milliseconds at most. Nothing: it is not known yet.
  std::optional<int64_t> wait(int64_t chunk);
  bool is_abandoned();

 private:
  std::mutex mutex_;
  std::condition_variable published_;
  std::vector<int64_t> starts_;  // -1: not known
  bool is_abandoned_ = false;
};

// One worker's own.
class CsvChunkReader {
 public:
  CsvChunkReader(const CsvTable& table, std::shared_ptr<Memory> memory)
      : table_(table), memory_(std::move(memory)) {}

  // Reads a range and some bytes behind it. Then find(), once the start is known.
  Status read(int64_t chunk);
  // Publishes where the next chunk's records begin.
  Status find(int64_t start, CsvStarts& starts);
  const CsvText& records() const { return records_; }
  // Of the bytes that records() lie in, in the file.
  int64_t offset() const { return table_.chunks()[static_cast<size_t>(chunk_)].begin; }

 private:
  Status extend();
  Status reserve(int64_t bytes);
  bool walk(uint32_t target, CsvWalk& walk);
  void end_file(CsvWalk& walked);

  const CsvTable& table_;
  std::shared_ptr<Memory> memory_;
  int64_t chunk_ = 0;
  Block block_;
  uint32_t bytes_ = 0;  // of the block that are read
  Block signs_;         // uint32_t
  size_t sign_count_ = 0;
  CsvSigns all_signs_;  // in all that is read
  CsvText records_;
};

}  // namespace crossdock::scan
