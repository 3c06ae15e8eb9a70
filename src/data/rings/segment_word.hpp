// The word that the producers of a segment share: closed | generation | reserved | committed, in 64 bits.
//
// Rows are reserved, written, committed. A segment leaves when it is closed and everything reserved is committed, and
// since all four are one word, exactly one operation makes that true. (MGI, section 5.3, has a counter per segment,
// STail, which suits producers that move in step; here any number of producers may be at work, each at its own pace.)
#pragma once

#include <cstdint>

#include "data/rings/annotations.hpp"

namespace crossdock {

// kGenerationBits count the laps of a slot and wrap; one bit is enough for the protocol (docs/concept-rings.md), more
// make printed states readable. kRowBits bound the rows of a segment.
template <int kGenerationBits, int kRowBits>
struct SegmentWord {
  static_assert(kGenerationBits >= 1 && kRowBits >= 1 && 1 + kGenerationBits + 2 * kRowBits <= 64);

  static constexpr uint64_t kRowsMax = (uint64_t{1} << kRowBits) - 1;
  static constexpr uint64_t kGenerationMask = (uint64_t{1} << kGenerationBits) - 1;
  static constexpr int kGenerationShift = 2 * kRowBits;
  static constexpr uint64_t kClosed = uint64_t{1} << (kGenerationShift + kGenerationBits);

  // An open segment without rows.
  CD_HOST_DEVICE static constexpr uint64_t open(uint64_t generation) {
    return generation << kGenerationShift;
  }
  CD_HOST_DEVICE static constexpr bool is_closed(uint64_t word) { return (word & kClosed) != 0; }
  CD_HOST_DEVICE static constexpr uint64_t generation(uint64_t word) {
    return word >> kGenerationShift & kGenerationMask;
  }
  CD_HOST_DEVICE static constexpr uint64_t reserved(uint64_t word) {
    return word >> kRowBits & kRowsMax;
  }
  CD_HOST_DEVICE static constexpr uint64_t committed(uint64_t word) { return word & kRowsMax; }
  CD_HOST_DEVICE static constexpr bool is_complete(uint64_t word) {
    return is_closed(word) && reserved(word) == committed(word);
  }
  CD_HOST_DEVICE static constexpr uint64_t reserve(uint64_t word, uint64_t rows) {
    return word + (rows << kRowBits);
  }

  // The generation of the segment that is opened as number `position` in a ring of 2^slot_bits slots. The first lap has
  // 1: memory that was only cleared belongs to the lap before it.
  CD_HOST_DEVICE static constexpr uint64_t generation_at(uint64_t position, int slot_bits) {
    return ((position >> slot_bits) + 1) & kGenerationMask;
  }
};

}  // namespace crossdock
