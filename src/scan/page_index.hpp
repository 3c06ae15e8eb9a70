// What a Parquet file says of single pages, and of the values of a chunk, beside its footer: the page index and Bloom
// filters. They are hints: what does not fit the chunk is passed over.
//
// Follows the format's description (github.com/apache/parquet-format, PageIndex.md and BloomFilter.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scan/byte_source.hpp"
#include "scan/parquet_format.hpp"

namespace crossdock::scan {

// Rows of a row group that are one page of a column.
struct PageBounds {
  int64_t row_begin = 0;
  int64_t row_end = 0;
  Statistics statistics;
};

// Where a page of a chunk lies, with its header, and its first row.
struct PagePlace {
  int64_t offset = 0;
  int64_t bytes = 0;
  int64_t row_begin = 0;
};

// Of all pages of a chunk, in order; empty where the file has no index of them, or one that contradicts itself.
std::vector<PageBounds> parse_page_bounds(std::span<const uint8_t> column_index,
                                          std::span<const uint8_t> offset_index,
                                          int64_t rows);
// The same from the file; empty, too, where they would have to be fetched from elsewhere and were not asked for.
std::vector<PageBounds> read_page_bounds(const ByteSource& file,
                                         const ColumnChunk& chunk,
                                         int64_t rows);

// The pages of a chunk, in order and within it; empty as above.
std::vector<PagePlace> read_page_places(const ByteSource& file,
                                        const ColumnChunk& chunk,
                                        int64_t rows);

// A filter of split blocks over the values of a chunk. `file` outlives it.
class BloomFilter {
 public:
  // Nothing where the chunk has none of the one kind that there is.
  static std::optional<BloomFilter> open(const ByteSource& file, const ColumnChunk& chunk);

  // False only where the chunk has no value of these bytes of PLAIN, without the length of strings.
  bool may_hold(std::span<const uint8_t> value) const;

 private:
  BloomFilter(const ByteSource& file, int64_t begin, int64_t blocks)
      : file_(&file), begin_(begin), blocks_(blocks) {}

  const ByteSource* file_;
  int64_t begin_;  // of the blocks
  int64_t blocks_;
};

// The bytes of the blocks that follow the header at the begin of `bytes`, and its own length; nothing for another kind.
struct BloomHeader {
  int64_t filter_bytes = 0;
  int64_t header_bytes = 0;
};
std::optional<BloomHeader> parse_bloom_header(std::span<const uint8_t> bytes);

}  // namespace crossdock::scan
