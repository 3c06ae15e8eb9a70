// Bits that several producers set in one bitmap of a segment: the validity of their rows, or a lane of booleans.
//
// Reserved rows of two producers may meet inside a 64-bit word, so words are not stored but OR-ed into, relaxed: the
// commit that follows publishes them like all other bytes. The opener of the segment has cleared them.
#pragma once

#include <cstdint>

#include "data/rings/annotations.hpp"
#include "data/rings/atomic.hpp"

namespace crossdock::rings {

// Sets among rows [first, first + count) those whose bit is set in `bits`, lowest bit first. count <= 64.
template <class Traits>
CD_HOST_DEVICE void or_bits(uint64_t* bitmap, uint64_t first, uint32_t count, uint64_t bits) {
  using Word = typename Traits::template Atomic<uint64_t, Traits::kProducers>;
  if (count < 64) bits &= (uint64_t{1} << count) - 1;
  const uint64_t word = first / 64;
  const uint32_t shift = static_cast<uint32_t>(first % 64);
  if (bits << shift != 0) Word(bitmap[word]).fetch_or(bits << shift, Relaxed{});
  const uint64_t rest = shift == 0 ? 0 : bits >> (64 - shift);
  if (rest != 0) Word(bitmap[word + 1]).fetch_or(rest, Relaxed{});
}

// Sets all rows of [first, first + count).
template <class Traits>
CD_HOST_DEVICE void set_bits(uint64_t* bitmap, uint64_t first, uint64_t count) {
  for (uint64_t done = 0; done < count; done += 64) {
    const uint64_t left = count - done;
    or_bits<Traits>(
        bitmap, first + done, left < 64 ? static_cast<uint32_t>(left) : 64, ~uint64_t{0});
  }
}

}  // namespace crossdock::rings
