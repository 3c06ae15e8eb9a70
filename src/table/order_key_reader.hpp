// Reads the values of one order key as numbers or bytes that compare like the keys do.
//
// Integers, dates, times, timestamps, durations and bools become 64-bit words (the sign bit flipped),
// floats too (the IEEE map: negative ones inverted, -0.0 = 0.0, one NaN above infinity). Decimals and
// values of two sides with different units become 128-bit words. Strings and binary stay where they
// are. Dictionaries stand for their values; those of text are ranked once, so that a rank is the key.
#pragma once

#include <cstdint>
#include <vector>

#include "base/int128.hpp"
#include "table/key_kind.hpp"
#include "table/key_read.hpp"
#include "table/row_store.hpp"

namespace crossdock {

enum class OrderForm : uint8_t { kWord, kWide, kBytes };

constexpr int32_t kOrderBlockRows = 512;  // rows of one read; its scratch stays in the L1 cache

// One key column of one side. Thread-safe to read. The column must outlive it.
class OrderReader {
 public:
  // `unsigned_words`: some side of the key is uint64, so all are unsigned.
  OrderReader(const ChunkedColumn& column, const KeyKind& kind, bool unsigned_words);

  OrderForm form() const { return form_; }
  bool is_floating() const { return floating_; }
  bool is_dictionary() const { return side_.dictionary; }
  bool any_nulls() const { return column_->any_nulls || !values_.valid.empty(); }
  const ChunkedColumn& column() const { return *column_; }

  // `rows` is keys::RangeRows over a batch of the column, or keys::RefRows. `count` is at most
  // kOrderBlockRows. What a null row reads as is not defined, except that its slice is empty if
  // `valid` was given.
  template <class Rows>
  void read_valid(const Rows& rows, int32_t count, uint8_t* valid) const;
  template <class Rows>
  void read_words(const Rows& rows, int32_t count, uint64_t* words) const;
  // Whether a word is what is stored ^ flip(): of integers, and not through dictionaries.
  bool is_stored() const { return form_ == OrderForm::kWord && !floating_ && !side_.dictionary; }
  uint64_t flip() const { return flip_; }
  template <class Rows>
  void read_stored(const Rows& rows, int32_t count, uint64_t* values) const {
    keys::read_words(rows, side_.stored, count, values);
  }
  // Values beyond 128 bits (a decimal brought to the other side's scale) become the extreme of their
  // sign; answers whether there was one.
  template <class Rows>
  bool read_wide(const Rows& rows, int32_t count, UInt128* wide) const;
  // Without the common scale: compares rows of this column only. By reference.
  void read_unscaled(const keys::RefRows& rows, int32_t count, UInt128* wide) const;
  template <class Rows>
  void read_slices(const Rows& rows,
                   int32_t count,
                   const uint8_t* valid,
                   keys::Slice* slices) const;

  // Whether a word gives back the stored value (see loses_bits), or a wide word does: not through
  // dictionaries.
  bool can_decode() const;
  // values[i] = the stored bits of the value with this word, zero-extended; kWord only. The words are
  // those that word_of(i) answers.
  template <class WordOf>
  void decode_all(int64_t count, uint64_t* values, const WordOf& word_of) const {
    if (!floating_) {
      for (int64_t i = 0; i < count; ++i) values[i] = word_of(i) ^ flip_;
    } else {
      for (int64_t i = 0; i < count; ++i) values[i] = float_bits(word_of(i));
    }
  }
  // Whether a float of these rows is not what decode() gives back: -0.0, or a NaN of other bits.
  // Words are those of read_words; null rows may say so without being it.
  bool loses_bits(const keys::RangeRows& rows, int32_t count, const uint64_t* words) const;

 private:
  friend void rank_dictionaries(std::vector<OrderReader*> readers);

  // The values of a dictionary in the form that is read.
  struct Values {
    std::vector<uint64_t> words;
    std::vector<UInt128> wide;
    std::vector<UInt128> unscaled;  // only if some are beyond
    std::vector<keys::Slice> slices;
    std::vector<uint8_t> valid;  // empty if all are
    bool beyond = false;
  };

  void load_dictionary();
  uint64_t float_bits(uint64_t word) const;
  template <class Rows>
  void read_indices(const Rows& rows, int32_t count, uint64_t* indices) const;
  void to_order(int32_t count, uint64_t* words) const;
  template <class Rows>
  bool read_stored_wide(const Rows& rows, int32_t count, UInt128* wide) const;
  template <class Rows>
  void read_plain_wide(const Rows& rows, int32_t count, UInt128* wide) const;

  const ChunkedColumn* column_;
  KeySide side_;
  OrderForm form_ = OrderForm::kWord;
  uint64_t flip_ = 0;
  bool floating_ = false;
  uint64_t value_count_ = 0;  // of the dictionary
  Values values_;
};

// Byte by byte; where one text starts the other, the shorter one comes first.
int compare_strings(const keys::Slice& a, const keys::Slice& b);

// Turns dictionaries of text into ranks, in common for all sides of one key: their form is then kWord,
// and equal ranks are equal strings. All readers must be dictionaries of form kBytes.
void rank_dictionaries(std::vector<OrderReader*> readers);

}  // namespace crossdock
