// The word that the producers of a segment share: closed | generation | heap | reserved | committed, in 64 bits.
//
// Rows are reserved, with what their strings take of the heap, then written, then committed. A segment leaves when it
// is closed and everything reserved is committed, and since all is one word, exactly one operation makes that true.
// (MGI, section 5.3, has a counter per segment, STail, which suits producers that move in step; here any number of
// producers may be at work, each at its own pace.)
#pragma once

#include <cstdint>

#include "data/rings/annotations.hpp"

namespace crossdock::rings {

// kGenerationBits count the laps of a slot and wrap; one bit is enough for the protocol (docs/concept-rings.md), more
// make printed states readable. kHeapBits bound the heap of a segment, in units of kHeapUnitBytes; kRowBits its rows.
template <int kGenerationBits, int kHeapBits, int kRowBits>
struct SegmentWord {
  static_assert(kGenerationBits >= 1 && kHeapBits >= 0 && kRowBits >= 1 &&
                1 + kGenerationBits + kHeapBits + 2 * kRowBits <= 64);

  static constexpr uint64_t kHeapUnitsMax = (uint64_t{1} << kHeapBits) - 1;
  static constexpr uint64_t kRowsMax = (uint64_t{1} << kRowBits) - 1;
  static constexpr uint64_t kGenerationMask = (uint64_t{1} << kGenerationBits) - 1;
  static constexpr int kHeapShift = 2 * kRowBits;
  static constexpr int kGenerationShift = kHeapShift + kHeapBits;
  static constexpr uint64_t kClosed = uint64_t{1} << (kGenerationShift + kGenerationBits);

  // An open segment without rows.
  CD_HOST_DEVICE static constexpr uint64_t open(uint64_t generation) {
    return generation << kGenerationShift;
  }
  CD_HOST_DEVICE static constexpr bool is_closed(uint64_t word) { return (word & kClosed) != 0; }
  CD_HOST_DEVICE static constexpr uint64_t generation(uint64_t word) {
    return word >> kGenerationShift & kGenerationMask;
  }
  CD_HOST_DEVICE static constexpr uint64_t heap_units(uint64_t word) {
    return word >> kHeapShift & kHeapUnitsMax;
  }
  CD_HOST_DEVICE static constexpr uint64_t reserved(uint64_t word) {
    return word >> kRowBits & kRowsMax;
  }
  CD_HOST_DEVICE static constexpr uint64_t committed(uint64_t word) { return word & kRowsMax; }
  CD_HOST_DEVICE static constexpr bool is_complete(uint64_t word) {
    return is_closed(word) && reserved(word) == committed(word);
  }
  CD_HOST_DEVICE static constexpr uint64_t reserve(uint64_t word,
                                                   uint64_t rows,
                                                   uint64_t heap_units = 0) {
    return word + (rows << kRowBits) + (heap_units << kHeapShift);
  }

  // The generation of the segment that is opened as number `position` in a ring of 2^slot_bits slots. The first lap has
  // 1: memory that was only cleared belongs to the lap before it.
  CD_HOST_DEVICE static constexpr uint64_t generation_at(uint64_t position, int slot_bits) {
    return ((position >> slot_bits) + 1) & kGenerationMask;
  }
};

}  // namespace crossdock::rings
