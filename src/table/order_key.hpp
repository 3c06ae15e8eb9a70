// Normalised keys: 64-bit words whose order is the order of the rows.
//
// How a key of several columns becomes a word. Every column is brought to an unsigned number that
// compares like its values (order_key_reader.hpp); the smallest value that occurs is subtracted, so a
// column takes only the bits its range needs; descending columns are subtracted from the largest
// value instead. A column with nulls has one bit above that, 0 for what comes first, and null rows
// have the value 0. Text takes up to seven bytes, after the prefix that all its values share, and
// below them four bits with the number of bytes that are left there, at most one more than fit: so
// "a" comes before "a\0", and a word tells whether the text ended in it. The columns stand one below
// the other, the first one on top, in the low `word_bits` bits of the word.
//
// If all columns fit, the word is exact: equal words are equal keys. Otherwise the last column that
// fits in part is cut, and rows with equal words are ordered by further words, each of which reads
// on where the last one ended (`Ties`), or by an OrderComparer (row_order.hpp).
//
//   OrderKeyPlan plan = OrderKeyPlan::create(terms, {{&store, columns}}).value();
//   OrderRanges ranges = plan.make_ranges();              // one per worker, merged afterwards
//   plan.scan(0, batch, begin, count, ranges);
//   plan.settle(ranges);
//   plan.encode(0, batch, begin, count, words);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "table/order_key_reader.hpp"

namespace crossdock {

// One key. `kind` is common_key_kind of the types of all sides.
struct OrderTerm {
  KeyKind kind;
  bool descending = false;
  bool nulls_first = false;
};

// The key columns of one table, in the order of the terms. The store must outlive the plan.
struct OrderSide {
  const RowStore* store = nullptr;
  std::vector<int> columns;
};

// How strings of dictionaries are read. Ranks among the values of the plan's own dictionaries make the better words;
// only strings compare with words of a plan that has other dictionaries, as in another process.
enum class DictionaryStrings : uint8_t { kRanks, kStrings };

// What is known of the values of one key; merged over workers and sides.
struct OrderRange {
  bool any_null = false;
  bool any_value = false;
  bool loses_bits = false;  // floats whose bits a word does not give back
  bool beyond = false;      // decimals that do not fit 128 bits at the common scale
  uint64_t min_word = UINT64_MAX;
  uint64_t max_word = 0;
  UInt128 min_wide = ~UInt128{0};
  UInt128 max_wide = 0;
  std::string prefix;  // kBytes: what all values start with, if any_value
  int64_t bytes_max = 0;

  void merge(const OrderRange& other);
};
using OrderRanges = std::vector<OrderRange>;  // by term
// What the ranges of all workers, one at least, hold together.
OrderRanges merged(const std::vector<OrderRanges>& by_worker);

class OrderKeyPlan {
 public:
  // Where the next word of rows with equal words so far starts to read.
  struct Ties {
    int part = 0;       // part_count() = the keys are equal
    int64_t depth = 0;  // bytes of text, or 64-bit halves, read already; -1 = not even whether null
    friend bool operator==(const Ties&, const Ties&) = default;
  };

  // Errors: kInvalidArgument without terms.
  static Result<OrderKeyPlan> create(std::vector<OrderTerm> terms,
                                     std::vector<OrderSide> sides,
                                     DictionaryStrings strings = DictionaryStrings::kRanks);

  OrderRanges make_ranges() const { return OrderRanges(parts_.size()); }
  // Widens `ranges` by rows [begin, begin + count) of a batch of the side's store. Thread-safe.
  void scan(int side, const Batch& batch, int64_t begin, int64_t count, OrderRanges& ranges) const;
  // Ranges that hold for any values, for keys of one word that need no scan.
  OrderRanges any_ranges() const;
  // Lays the word out. Rows encoded afterwards must lie within the ranges.
  void settle(const OrderRanges& ranges);

  bool is_exact() const { return exact_; }
  int word_bits() const { return word_bits_; }  // words are below 2^word_bits
  int part_count() const { return static_cast<int>(parts_.size()); }
  const OrderReader& reader(int side, int part) const { return readers_[side][part]; }
  const OrderTerm& term(int part) const { return parts_[part].term; }

  // After settle(). Thread-safe, allocates nothing.
  void encode(int side, const Batch& batch, int64_t begin, int64_t count, uint64_t* words) const;
  void encode(int side, const RowRef* refs, int64_t count, uint64_t* words) const;

  // Some values lie beyond the common scale (only with two sides): further words do not tell them
  // apart, an OrderComparer does.
  bool is_beyond() const { return beyond_; }

  // Where rows whose first word is `word` must be read on.
  Ties ties_of(uint64_t word) const;
  // The next word of rows that are equal up to `ties`, and where to read on if it is equal, too.
  void encode_ties(
      int side, const Ties& ties, const RowRef* refs, int64_t count, uint64_t* words) const;
  Ties ties_after(const Ties& ties, uint64_t word) const;
  // How many more bytes of text the rows share from `ties` on (0 unless it is about text): so much
  // can be added to its depth.
  int64_t shared_bytes(int side, const Ties& ties, const RowRef* refs, int64_t count) const;

  // Whether word gives back the values of the part, bit for bit. Not for text and dictionaries.
  bool can_decode(int part) const;
  bool decodes_wide(int part) const;  // decode_wide() is the one to call
  // The stored bits of the part in words[i], zero-extended, or a decimal; anything if it is null.
  void decode(int part, const uint64_t* words, int64_t count, uint64_t* values) const;
  void decode_wide(int part, const uint64_t* words, int64_t count, Int128* values) const;
  void decode_valid(int part, const uint64_t* words, int64_t count, uint8_t* valid) const;
  bool has_nulls(int part) const { return parts_[part].any_null; }

 private:
  struct Part {
    OrderTerm term;
    OrderForm form = OrderForm::kWord;
    bool any_null = false;
    bool loses_bits = false;
    bool beyond = false;
    uint64_t base = 0;      // smallest word, or largest if descending
    UInt128 wide_base = 0;  // the same for kWide
    int64_t prefix_bytes = 0;
    int full_bits = 0;   // of the value, null bit not counted
    int bits = 0;        // of these, how many are in the word: the top ones
    int shift = -1;      // of the value's lowest bit there; -1 = not in the word
    int text_bytes = 0;  // kBytes: bytes in the word
    bool whole = false;  // nothing of it is left for a further word
  };

  template <class Source>
  void encode_rows(int side, const Source& source, int32_t count, uint64_t* words) const;
  template <class Rows>
  void load_part(int side, int index, const Rows& rows, int32_t count, uint64_t* values) const;
  void scan_block(
      int side, const Batch& batch, int64_t begin, int32_t count, OrderRanges& ranges) const;
  void encode_tie_block(
      int side, const Ties& ties, const RowRef* refs, int32_t count, uint64_t* words) const;
  Ties start_of(size_t part) const;
  static int64_t first_depth(const Part& part) {
    return part.form == OrderForm::kBytes ? part.prefix_bytes : 0;
  }
  void settle_part(Part& part, const OrderRange& range);
  bool place(Part& part, int& room);
  uint64_t field(const Part& part, uint64_t word) const;
  bool is_null(const Part& part, uint64_t word) const;

  std::vector<Part> parts_;
  std::vector<OrderSide> sides_;
  std::vector<std::vector<OrderReader>> readers_;  // by side and part
  bool exact_ = false;
  bool beyond_ = false;
  int word_bits_ = 0;
};

}  // namespace crossdock
