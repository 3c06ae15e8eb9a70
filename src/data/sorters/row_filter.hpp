// A Bloom filter over keys of rows that lie in several processes: each enters its own, the filters are put together by
// OR, and rows of the other side of a join that no rank has a partner for need not travel.
//
// Blocks of 64 bits of which a key sets two, as in the filter of a local join (operators/hash_join/key_filter.hpp);
// here by the hash that routes rows, so that keys of all types that compare are one key. A filter may be there in part:
// its first blocks say which share of rows would pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/sorters/row_hashes.hpp"
#include "table/column.hpp"

namespace crossdock::sorters {

class RowFilter {
 public:
  enum Answer : uint8_t { kFails, kPasses, kUnknown };

  // 2^block_bits blocks; block_bits <= 32. One per thread.
  RowFilter(const Schema& schema, const std::vector<int>& keys, int block_bits)
      : hashes_(schema, keys), shift_(64 - block_bits), block_bits_(block_bits) {}

  // 8 bits for each key and up to 16: of other keys, some 6 of 100 pass or less.
  static int block_bits_for(int64_t keys);

  // All blocks are there.
  void enter(const Batch& batch, std::span<uint64_t> blocks);
  // answers[i] of row i; kUnknown if its block is none of the first ones that are there.
  void test(const Batch& batch, std::span<const uint64_t> blocks, std::span<uint8_t> answers);

 private:
  uint64_t block_of(uint64_t hash) const { return block_bits_ == 0 ? 0 : hash >> shift_; }
  static uint64_t mask_of(uint64_t hash) {
    return uint64_t{1} << (hash & 63) | uint64_t{1} << (hash >> 6 & 63);
  }

  RowHashes hashes_;
  int shift_;
  int block_bits_;
};

}  // namespace crossdock::sorters
