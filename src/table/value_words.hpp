// Reads blocks of column values as 64-bit words, for what computes with them (sums, minima, packed
// keys): integers and instants sign- or zero-extended, bools as 0 and 1, floats as float64 bits,
// decimals as one or two words, short strings as numbers that order as the strings do.
#pragma once

#include <cstdint>
#include <vector>

#include "table/column.hpp"
#include "table/key_read.hpp"
#include "table/key_side.hpp"
#include "table/row_store.hpp"

namespace crossdock {

enum class ValueForm : uint8_t {
  kSigned,    // int64
  kUnsigned,  // uint64
  kReal,      // bits of a float64; one NaN, and no -0
  kWide,      // int128: decimals
  kBytes,     // text or binary
};

// Of a dictionary: of its values.
ValueForm value_form(const DataType& type);

constexpr int32_t kMaxValueRows = 2048;     // rows of one call
constexpr int32_t kMaxTextKeyBytes = 15;    // strings up to this length are exact as numbers
constexpr int32_t kMaxTextImageBytes = 23;  // and up to this, as three words

// One per thread and column. Dictionaries given to one reader must be the same or outlive it.
class ValueReader {
 public:
  explicit ValueReader(const DataType& type);

  ValueForm form() const { return form_; }

  // Words of rows [begin, begin + count): those of the column itself where they lie there as such,
  // else in `scratch`. Null rows: anything. For kSigned, kUnsigned and kReal.
  const uint64_t* words(const ColumnView& column, int64_t begin, int32_t count, uint64_t* scratch);

  // low[i] and high[i]: the value as 128 bits. Answers whether every value fits 64 bits, high words
  // being the sign. For kWide.
  bool wide(const ColumnView& column, int64_t begin, int32_t count, uint64_t* low, uint64_t* high);

  // valid[i] = 1 if row begin + i is not null, looking into dictionaries. Answers false, and writes
  // nothing, if no row can be null.
  bool valid(const ColumnView& column, int64_t begin, int32_t count, uint8_t* valid);

  // Indices of a dictionary column, those of null rows clamped to the dictionary's size.
  void indices(const ColumnView& column, int64_t begin, int32_t count, uint64_t* indices) const;

  // Bytes of the longest text; null rows count as empty. For kBytes.
  int64_t longest_text(const ColumnView& column, int64_t begin, int32_t count) const;

  // Strings of at most `bytes_max` (<= kMaxTextKeyBytes) bytes as numbers of 8 * bytes_max + 4 bits:
  // the bytes, padded with zeros, then the length in the lowest 4 bits. `high` may be nullptr if they
  // fit 64 bits. For kBytes; not for dictionaries.
  struct TextNumbers {
    int32_t bytes_max;
    uint64_t* low;
    uint64_t* high;
  };
  void strings(const ColumnView& column, int64_t begin, int32_t count, TextNumbers out) const;

  // Strings of at most kMaxTextImageBytes bytes as three words: the bytes, padded with zeros, then the
  // length in the top byte of the last. For kBytes; not for dictionaries.
  void text_images(const ColumnView& column,
                   int64_t begin,
                   int32_t count,
                   uint64_t* const* words) const;

 private:
  void read_plain(const ColumnView& column, int64_t begin, int32_t count, uint64_t* words) const;
  void read_dictionary(const ColumnView& dictionary);

  KeySide side_;
  ValueForm form_;
  bool direct_ = false;  // the column's memory is the words
  ColumnView known_;     // the dictionary that the three below were read from
  std::vector<uint64_t> low_;
  std::vector<uint64_t> high_;  // kWide
  std::vector<uint8_t> valid_;  // empty: all are
};

// Reads strings by reference; dictionary columns by their values. Thread-safe.
class TextReader {
 public:
  explicit TextReader(const ChunkedColumn& column);

  // valid == nullptr: all rows have a value; others give empty strings. count <= kMaxValueRows.
  void read(const RowRef* refs, int32_t count, const uint8_t* valid, keys::Slice* strings) const;

 private:
  const ChunkedColumn* column_;
  KeySide side_;
};

}  // namespace crossdock
