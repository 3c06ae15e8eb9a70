// A filter of keys of rows that lie in several processes: each enters its own, the filters are put together by OR, and
// rows of the other side of a join that no rank has a partner for need not travel.
//
// Either a Bloom filter, of blocks of 64 bits of which a key sets two, as in the filter of a local join
// (operators/hash_join/key_filter.hpp); here by the hash that routes rows, so that keys of all types that compare are
// one key. It may be there in part: its first blocks say which share of rows would pass. Or, where one integer key lies
// in a range that is not much larger than its keys are many, a bit for each value: no other key passes, and no hash is
// computed (2.7 ns a row of 7.5 M where the other takes 10, keys of TPC-H's orders at SF5).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/sorters/row_hashes.hpp"
#include "table/column.hpp"

namespace crossdock::sorters {

class RowFilter {
 public:
  enum Answer : uint8_t { kFails, kPasses, kUnknown };

  struct Form {
    int64_t blocks = 1;  // of 64 bits; of a Bloom filter a power of two and at most 2^32
    std::optional<int64_t> first_key;  // bit i is key first_key + i; not of a Bloom filter
  };

  // With a first_key, there is one key column, of integers or dates of at most 64 bits. One per thread.
  RowFilter(const Schema& schema, const std::vector<int>& keys, Form form);

  // The blocks of a Bloom filter: 8 bits for each key and up to 16; of other keys, some 6 of 100 pass or less.
  static int64_t blocks_for(int64_t keys);

  // `blocks`: the first ones; of a bitmap all, for keys in its range. Keys whose block is none of them are left out,
  // and so are rows with a NULL for the only key of a bitmap.
  void enter(const Batch& batch, std::span<uint64_t> blocks);
  // answers[i] of row i; kUnknown if its block is none of the first ones that are there.
  void test(const Batch& batch, std::span<const uint64_t> blocks, std::span<uint8_t> answers);

 private:
  struct OneKey {
    int column;
    KeyLoader loader;
    int64_t first;
  };

  uint64_t block_of(uint64_t hash) const { return form_.blocks == 1 ? 0 : hash >> shift_; }
  static uint64_t mask_of(uint64_t hash) {
    return uint64_t{1} << (hash & 63) | uint64_t{1} << (hash >> 6 & 63);
  }
  // The places of bits, and whether rows may have none: those that are not valid.
  bool load_places(
      const Batch& batch, int64_t begin, int32_t count, uint64_t* places, uint8_t* valid);

  Form form_;
  int shift_;
  RowHashes hashes_;
  std::optional<OneKey> key_;
};

}  // namespace crossdock::sorters
