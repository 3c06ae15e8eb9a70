// The pages of one column chunk, in the order of its rows: found by their headers, decompressed when they are asked
// for.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "memory/budget.hpp"
#include "scan/byte_source.hpp"
#include "scan/page_index.hpp"
#include "scan/parquet_format.hpp"
#include "scan/snappy.hpp"

namespace crossdock::scan {

// A page of data whose rows are those of its row group from `row_begin` to `row_end`.
struct DataPage {
  int64_t row_begin = 0;
  int64_t row_end = 0;
  int64_t body_offset = 0;  // in the file
  PageHeader header;
  bool is_loaded = false;
  Block memory;
  std::span<const uint8_t> levels;  // of definition; empty: the column has none
  std::span<const uint8_t> values;
  Block plain_memory;  // of values that are no longer in the encoding that the page has
};

// The error, of pages of this chunk, with the file and the column. One that names the file, or is none of it, stays as
// it is.
Error in_chunk(Error error, const ByteSource& file, const ColumnChunk& chunk);

// One column of one worker. Pages are valid until drop_before() passes them, or open().
class PageStore {
 public:
  explicit PageStore(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}

  // How much of a chunk is read before it is asked for.
  enum class Ahead : uint8_t {
    kChunk,  // all of it, where it is small
    kPage    // no page: few of them will be asked for
  };
  // Begins with the first page. `has_levels`: rows can be null. `places`: of all pages, if known; they outlive this.
  Status open(const ByteSource& file,
              const ColumnChunk& chunk,
              bool has_levels,
              Ahead ahead,
              std::span<const PagePlace> places);
  // The chunk to open, or that is open, and what may be opened after it, in the same file; all outlive this. Their
  // dictionaries are decompressed with that of the first one, where some at once take less time. A fault of one is one
  // of open() and what follows.
  void expect(std::span<const ColumnChunk* const> chunks);
  static constexpr size_t kExpectedMost = kSnappyBlocksMost;
  // Reads the dictionary alone, which the chunk must have.
  Status open_dictionary(const ByteSource& file, const ColumnChunk& chunk);
  // Passes over pages before the one of `row`, where their places are known: of these nothing is read.
  Status go_to(int64_t row);
  // Finds the pages up to row `end` of the row group. Errors: kSourceFailed.
  Status find_until(int64_t end);
  // Forgets pages all of whose rows stand before `row`.
  void drop_before(int64_t row);
  std::deque<DataPage>& pages() { return pages_; }

  // Decompresses the page. Errors: kSourceFailed, kOutOfMemoryBudget.
  Status load(DataPage& page);
  // Decompresses the dictionary, if there is one, once: pages that have no codes do without. After find_until().
  Status load_dictionary();
  // Its values, PLAIN; none before it is loaded, or where the chunk has no such page.
  std::span<const uint8_t> dictionary() const { return dictionary_; }
  // Known before it is loaded.
  int32_t dictionary_values() const {
    return dictionary_header_.has_value() ? dictionary_header_->values : 0;
  }

 private:
  Result<std::span<const uint8_t>> stored(int64_t offset, int64_t bytes, Block& beside);
  Result<PageHeader> next_header();
  int64_t header_limit() const;
  Status check_place(const DataPage& page, int64_t offset) const;
  Status note_dictionary(const PageHeader& header);
  Status decompress_dictionary(const PageHeader& header);
  bool decompress_some(std::span<const uint8_t> body, std::span<uint8_t> room);
  struct Expected {
    const ColumnChunk* chunk = nullptr;
    bool is_ready = false;
    bool is_whole = false;  // all of the chunk is in memory, not only its dictionary
    Block stored;
    Block dictionary;
    int64_t dictionary_bytes = 0;
  };
  bool can_expect(const Expected& expected) const;
  Status read_expected(Expected& expected, SnappyBlock& block);
  void take_expected(Expected& expected);
  Status begin(const ByteSource& file, const ColumnChunk& chunk, int64_t end, Ahead ahead);
  Status load_split(DataPage& page, std::span<const uint8_t> body);
  bool goes_in_turns(const DataPage& page) const;
  void load_some(DataPage& first);
  Status make_room(DataPage& page);
  static std::span<uint8_t> room_of(DataPage& page);
  Status take_whole(DataPage& page) const;
  Status reserve(Block& block, int64_t bytes);

  std::shared_ptr<Memory> memory_;
  const ByteSource* file_ = nullptr;
  const ColumnChunk* chunk_ = nullptr;
  std::span<const PagePlace> places_;
  bool has_levels_ = false;
  int64_t next_ = 0;      // offset of the next header
  int64_t end_ = 0;       // of the chunk
  int64_t next_row_ = 0;  // of the next page of data
  Block whole_;           // all of a chunk that is small
  bool has_whole_ = false;
  Block header_memory_;
  Block body_memory_;
  Block dictionary_memory_;
  // The page of the dictionary; nothing before its header is read, or where the chunk has none.
  std::optional<PageHeader> dictionary_header_;
  int64_t dictionary_offset_ = 0;  // of its body
  bool is_dictionary_loaded_ = false;
  std::span<const uint8_t> dictionary_;
  std::array<Expected, kExpectedMost> expected_;
  int64_t ready_dictionary_bytes_ = -1;  // -1: that of the chunk is not decompressed yet
  std::deque<DataPage> pages_;
  std::vector<Block> spare_;  // memory of pages that are gone
};

}  // namespace crossdock::scan
