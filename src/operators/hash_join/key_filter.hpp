// A filter of build keys that probe rows pass before they are moved: rows that cannot match are
// dropped for the price of one cached load instead of being partitioned.
//
// Exact and hashed words: a Bloom filter of 64-bit blocks, two bits of one block per key. Dense words:
// a bitmap of the key range, which is exact. In both, the block is picked by the top bits of the
// word, so partitions own disjoint ranges and fill them in parallel without atomics.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "data/sorters/segment.hpp"
#include "memory/budget.hpp"
#include "operators/hash_join/key_plan.hpp"

namespace crossdock::operators {

struct FilterInput {
  const uint64_t* words = nullptr;
  int32_t count = 0;
  uint8_t* keep = nullptr;
};

struct FilterRows {
  uint64_t* words = nullptr;
  uint64_t* carry = nullptr;  // may be nullptr
  int32_t count = 0;
};

class KeyFilter {
 public:
  // Blocks for `rows` keys, all zero after clear_partition of every partition.
  static Result<KeyFilter> create(const KeyPlan& keys,
                                  int64_t rows,
                                  int partition_bits,
                                  Memory& memory);
  static int64_t bytes_for(const KeyPlan& keys, int64_t rows, int partition_bits);

  // Zeroes the range of one partition, then enters the partition's words.
  void fill_partition(int partition, const sorters::SegmentList* const* lists, int list_count);

  // keep[i] = word may be a build key. Answers how many.
  int32_t test(const uint64_t* words, int32_t count, uint8_t* keep) const;
  // Moves the rows that may match to the front, in order. Answers how many.
  int32_t select(const FilterRows& rows) const;

 private:
  bool dense_ = false;
  int shift_ = 0;  // dense: to the bit; else: to the block
  int partition_bits_ = 0;
  int64_t blocks_ = 0;
  Block block_;
};

}  // namespace crossdock::operators
