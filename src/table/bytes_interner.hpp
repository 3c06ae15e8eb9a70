// Names the distinct values of string and binary columns by small integers, so that a composite key
// with few distinct strings becomes an exact 64-bit word.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "memory/budget.hpp"
#include "table/column.hpp"
#include "table/intern_kernels.hpp"
#include "table/key_hash.hpp"

namespace crossdock {

constexpr uint32_t kNoCode = UINT32_MAX;

// Equal values have one code, whatever the type and layout of their columns (strings, binary, and
// dictionaries of them): the count of values known before. Codes stay. Values are copied, into
// blocks of `memory`, which must outlive the interner. Not thread-safe to change; find() is safe
// from many threads while no thread changes it.
class BytesInterner {
 public:
  // For the calls of find() of one thread for one column of type `type`. Keeps the codes of its
  // dictionary; dictionaries are distinguished by their memory, so those given with one Scratch must be
  // the same or outlive it.
  class Scratch {
   public:
    explicit Scratch(const DataType& type);

   private:
    friend class BytesInterner;
    KeySide side_;
    const BytesInterner* owner_ = nullptr;
    uint32_t value_count_ = 0;  // of the owner, when it was asked for the codes
    ColumnView known_;
    std::vector<uint32_t> codes_;  // per value of the dictionary `known_`
  };

  // Values beyond `values_max` are left out, and only then is_full(). The seed keeps anybody from
  // preparing values that collide. Costs nothing until a value is added.
  BytesInterner(Memory& memory, uint32_t values_max, uint64_t seed);

  // Adds the values of rows [begin, begin + count), count <= kMaxKeyRows. Nulls are none, and values
  // of a dictionary count only where a row has them. Dictionaries are distinguished by their memory:
  // all that are added one after the other must be the same or live until the last. Error
  // kOutOfMemoryBudget; the values added until then are there.
  Status add(const DataType& type, const ColumnView& column, int64_t begin, int32_t count);

  // Adds the values of `other`, which has the same seed. Error kOutOfMemoryBudget.
  Status add_all(const BytesInterner& other);

  bool is_full() const { return is_full_; }  // a value was left out
  uint32_t value_count() const { return value_count_; }
  int64_t memory_bytes() const;
  // Valid until a value is added.
  std::string_view value(uint32_t code) const;

  // codes[i] = the code of row begin + i, or kNoCode if it is null or its value is not known.
  // count <= kMaxKeyRows.
  void find(const ColumnView& column,
            int64_t begin,
            int32_t count,
            uint32_t* codes,
            Scratch& scratch) const;

 private:
  Status add_rows(const ColumnView& column, Stored stored, int64_t begin, int32_t count);
  Status add_encoded(const ColumnView& column, const KeySide& side, int64_t begin, int32_t count);
  Status add_value(const intern::Image& image, const uint8_t* data);
  Status make_room();
  Status store_long(uint32_t index, const uint8_t* data, int64_t bytes);

  void find_rows(const keys::RangeRows& rows, Stored stored, int32_t count, uint32_t* codes) const;
  void translate(const ColumnView& dictionary, Scratch& scratch) const;
  void find_block(const intern::ImageBlock& block, int32_t count, uint32_t* indices) const;
  uint32_t find_one(const intern::Image& image, const uint8_t* data) const;
  const uint8_t* long_bytes(uint32_t index) const { return longs_.as<const uint8_t*>()[index]; }
  intern::ImageTable table() const;

  Memory* memory_;
  uint32_t values_max_;
  uint32_t index_mask_;
  intern::ImageSeed seed_;
  uint32_t value_count_ = 0;
  bool is_full_ = false;
  int32_t slot_bits_ = 0;  // 0: no slots yet
  Block slots_;
  Block entries_;              // images; the code of an entry is its index - 1
  uint64_t entries_room_ = 0;  // in use or not, the absent entry 0 included
  Block longs_;                // per entry, if it is long: where its bytes lie
  std::vector<Block> heaps_;   // those bytes
  int64_t heap_used_ = 0;      // of the last heap
  ColumnView added_dictionary_;
  std::vector<uint8_t> added_;  // per value of that dictionary
};

}  // namespace crossdock
