// How often each key stands in one part, for joins whose rows are only counted.
//
// With dense words a slot of a part is one key, so a count of the slot is all that a probe asks for: no row is sorted
// into a table, and none is compared. Keys that stand once, as those of most build sides do, are one bit each; the
// first that stands twice makes the part count again, in 32 bits.
//
// Reads each word once (twice with duplicates) and touches 2^slot_bits bits, which kCountedSlotBits keeps in a
// first-level cache of 32 KiB: parts may have many more rows than those of RunTable, and a scatter fewer of them.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "data/sorters/segment.hpp"
#include "memory/budget.hpp"

namespace crossdock::operators {

constexpr int kCountedSlotBits = 18;

// Partition bits of a join whose rows are counted by slot: parts that fit, and enough of them for the workers.
int counted_partition_bits(int range_bits, int64_t workers);

// Slot of a word = (word << skip_bits) >> (64 - slot_bits).
struct SlotCounts {
  int skip_bits = 0;
  int slot_bits = 1;
  int64_t rows = 0;
  const uint64_t* seen = nullptr;    // a bit per slot: every key stands at most once
  const uint32_t* counts = nullptr;  // or a count per slot

  bool unique() const { return counts == nullptr; }
};

// Memory for counts, grown when more are needed. One worker's own.
class SlotCounter {
 public:
  SlotCounter(Memory& memory, int skip_bits) : memory_(&memory), skip_bits_(skip_bits) {}

  // Counts the rows of one part, as each worker sorted it; valid until the next call. Part rows below 2^32.
  Result<SlotCounts> count(std::span<const sorters::SegmentList* const> lists, int slot_bits);

 private:
  Memory* memory_;
  int skip_bits_;
  bool had_duplicates_ = false;  // in the part before: this one is not tried with bits
  Block block_;
};

// What a block of probe words finds.
struct PartnerCounts {
  int64_t pairs = 0;
  int64_t rows = 0;  // that have a partner
};
PartnerCounts find_partners(const SlotCounts& slots, const uint64_t* words, int32_t rows);

}  // namespace crossdock::operators
