// The hash table of every strategy: rows sorted into runs by slot, and a directory of where each run
// starts. (The layout is that of Birler et al.'s unchained tables, without their Bloom tags.)
//
// Rows of one slot lie side by side, so duplicates cost no chains, building is a counting sort with
// no branch that depends on the data, and probing reads two neighbouring directory entries and then
// the run. Building: two passes over the words, ~16 B read and 16 B written per row.
//
// A leaf of a radix join covers one partition and fits in cache; the direct strategy makes one table
// of all partitions, each sorted into its own range of it by whichever worker takes it.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "data/sorters/segment.hpp"
#include "memory/budget.hpp"

namespace crossdock::operators {

// Where a word's run is: slot = (word << skip_bits) >> (64 - slot_bits).
struct RunTable {
  int skip_bits = 0;  // partition bits, the same in all words of a leaf
  int slot_bits = 1;  // 1..31
  int64_t rows = 0;
  bool wide = true;  // directory entries are uint32_t, else uint16_t (tables below 65,535 rows)
  const void* directory = nullptr;  // 2^slot_bits + 1 entries: starts of runs
  uint64_t* words = nullptr;        // rows, in order of slot
  uint64_t* carry = nullptr;        // nullptr if rows carry nothing

  uint64_t slot(uint64_t word) const { return (word << skip_bits) >> (64 - slot_bits); }
};

// Slots per table: the power of two that is at least `rows` and less than four times as many.
int table_slot_bits(int64_t rows);

// Bytes a leaf of `rows` rows takes, directory included.
int64_t leaf_bytes(int64_t rows, int slot_bits, bool has_carry);

// Memory for leaves, grown when a larger one comes, reused otherwise. One worker's own.
class LeafBuilder {
 public:
  LeafBuilder(Memory& memory, int skip_bits, bool has_carry)
      : memory_(&memory), skip_bits_(skip_bits), has_carry_(has_carry) {}

  // Sorts the rows of `lists` (one partition, as each worker sorted it) into a table that stays
  // valid until the next call. `slot_bits` 0 = by the number of rows.
  Result<RunTable> build(std::span<const sorters::SegmentList* const> lists, int slot_bits);

 private:
  Memory* memory_;
  int skip_bits_;
  bool has_carry_;
  Block block_;
};

// A range of a shared table: the slots of one partition and the rows that start at `first_row`.
struct TableRange {
  uint32_t* directory = nullptr;  // first slot of the partition
  uint64_t* words = nullptr;      // row 0 of the whole table
  uint64_t* carry = nullptr;
  uint32_t first_row = 0;
  int skip_bits = 0;
  int slot_bits = 0;  // of this partition
};

// Sorts one partition into its range. Ranges of different partitions may be filled at once.
void build_range(const TableRange& range, std::span<const sorters::SegmentList* const> lists);

// True if no two rows of the table have the same word. O(rows), reads each run.
bool words_are_unique(const RunTable& table);

}  // namespace crossdock::operators
