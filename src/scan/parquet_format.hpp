// What a Parquet file says of itself: the footer and the headers of its pages, as plain values. Nothing in it has been
// compared with the data; offsets and counts are checked against the file where they are used.
//
// Follows the format's description (github.com/apache/parquet-format, parquet.thrift); numbers are those of its enums.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace crossdock::scan {

enum class PhysicalType : uint8_t {
  kBoolean = 0,
  kInt32 = 1,
  kInt64 = 2,
  kInt96 = 3,
  kFloat = 4,
  kDouble = 5,
  kByteArray = 6,
  kFixedBytes = 7,
};

enum class Encoding : uint8_t {
  kPlain = 0,
  kPlainDictionary = 2,
  kRunLength = 3,
  kBitPacked = 4,
  kDeltaBinaryPacked = 5,
  kDeltaLengthByteArray = 6,
  kDeltaByteArray = 7,
  kDictionary = 8,
  kByteStreamSplit = 9,
};

enum class Codec : uint8_t {
  kNone = 0,
  kSnappy = 1,
  kGzip = 2,
  kLzo = 3,
  kBrotli = 4,
  kLz4Hadoop = 5,
  kZstd = 6,
  kLz4Raw = 7,
};

// The meaning of a column's values, from either of the two ways in which files say it.
enum class Meaning : uint8_t {
  kNone,
  kString,
  kDecimal,
  kDate,
  kTime,
  kTimestamp,
  kInteger,
  kFloat16,
  kNull,   // no values at all
  kOther,  // nested types, JSON, UUID and what is not known
};

// Repetitions of elements; between them those that may be NULL.
constexpr int32_t kRequired = 0;
constexpr int32_t kRepeated = 2;

struct SchemaElement {
  std::string name;
  std::optional<PhysicalType> physical;  // none: a group of columns
  int32_t type_length = 0;               // kFixedBytes: bytes
  int32_t repetition = kRequired;
  int32_t children = 0;
  int32_t scale = 0;
  int32_t precision = 0;
  Meaning meaning = Meaning::kNone;
  int64_t units_per_second = 0;  // kTime, kTimestamp
  int32_t integer_bits = 0;      // kInteger
  bool is_signed = true;         // kInteger
};

// Bounds of the values of a column chunk, in the bytes of PLAIN.
struct Statistics {
  std::optional<std::string> min;
  std::optional<std::string> max;
  std::optional<int64_t> null_count;
  bool is_deprecated = false;    // in the order of signed bytes and integers
  std::optional<bool> is_exact;  // what the file says: whether both bounds are values of the chunk
};

// How often each level occurs in a column chunk.
struct LevelHistograms {
  int64_t repetition_levels = 0;  // 0: of none it is said
  int64_t definition_levels = 0;
  bool has_string_bytes = false;  // how long all strings are
};

struct ColumnChunk {
  std::optional<PhysicalType> physical;
  std::vector<std::string> path;
  Codec codec = Codec::kNone;
  int64_t values = 0;  // nulls included
  int64_t compressed_bytes = 0;
  int64_t uncompressed_bytes = 0;
  int64_t data_page_offset = 0;
  int64_t dictionary_page_offset = 0;  // 0: none
  int64_t bloom_filter_offset = 0;     // 0: none
  int64_t column_index_offset = 0;     // 0: none
  int64_t column_index_bytes = 0;
  int64_t offset_index_offset = 0;  // 0: none
  int64_t offset_index_bytes = 0;
  Statistics statistics;
  LevelHistograms histograms;
  bool all_coded = false;  // the file says that no data page is other than dictionary codes
  bool is_encrypted = false;
  bool is_elsewhere = false;  // in another file

  // Where its first page begins.
  int64_t begin() const {
    const bool has_dictionary =
        dictionary_page_offset > 0 && dictionary_page_offset < data_page_offset;
    return has_dictionary ? dictionary_page_offset : data_page_offset;
  }
};

struct RowGroup {
  std::vector<ColumnChunk> columns;  // by leaf of the schema
  int64_t rows = 0;
};

struct FileMetadata {
  std::vector<SchemaElement> schema;  // depth first; [0] is the root
  std::vector<RowGroup> row_groups;
  int64_t rows = 0;
  bool is_encrypted = false;
  // Equal only where the schema, and what its writer says of it besides, are the same to the byte.
  std::string schema_bytes;
  std::string schema_footer;  // the same footer without row groups
};

// Reads a footer without its length and magic. Error kSourceFailed.
Result<FileMetadata> parse_footer(std::span<const uint8_t> bytes);

enum class PageType : uint8_t { kData = 0, kIndex = 1, kDictionary = 2, kDataV2 = 3 };

struct PageHeader {
  PageType type = PageType::kIndex;
  int32_t uncompressed_bytes = 0;
  int32_t compressed_bytes = 0;
  int32_t values = 0;  // nulls included
  Encoding encoding = Encoding::kPlain;
  Encoding level_encoding = Encoding::kRunLength;
  int32_t definition_bytes = 0;  // kDataV2: of levels before the values
  int32_t repetition_bytes = 0;
  bool is_compressed = true;
  std::optional<int32_t> checksum;  // of the bytes behind the header
  int64_t header_bytes = 0;
};

// Reads the header at the begin of `bytes`; nothing where these are too few. Error kSourceFailed.
Result<PageHeader> parse_page_header(std::span<const uint8_t> bytes);

}  // namespace crossdock::scan
