// Rows of key words and carried values, and the partitions that a worker's scatter makes of them: the
// input of everything that comes after partitioning.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "data/sorters/radix_scatter.hpp"

namespace crossdock::operators::join_test {

using Random = std::mt19937_64;

struct WordRows {
  std::vector<uint64_t> words;
  std::vector<uint64_t> carry;

  int64_t size() const { return static_cast<int64_t>(words.size()); }
};

// `count` rows over `distinct` different words, spread over the 64 bits; the carry is the row number.
WordRows random_rows(int64_t count, uint64_t distinct, Random& random);

// The word that stands for value `number` of random_rows.
uint64_t word_of(uint64_t number);

// Rows scattered by several workers, row i by worker i % workers.
class SortedRows {
 public:
  SortedRows(const WordRows& rows, int partition_bits, int workers = 1, bool has_carry = true);

  // The lists of partition `index`, one per worker.
  std::vector<const sorters::SegmentList*> part(int index) const;
  int part_count() const { return 1 << partition_bits_; }

 private:
  int partition_bits_;
  std::shared_ptr<Memory> memory_;
  std::vector<std::unique_ptr<sorters::RadixScatter>> scatters_;
};

}  // namespace crossdock::operators::join_test
