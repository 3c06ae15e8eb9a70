// Why coding on a device ended early: the first tile that could not go on, and what was wrong with it, in one word.
#pragma once

#include <cstdint>

#include "data/rings/annotations.hpp"
#include "data/rings/atomic.hpp"

namespace crossdock::codecs {

enum class CodecFault : uint8_t {
  kNone,
  kColumnHead,  // not a coded column, or another than was said
  kBlockEnds,  // a block that ends before it begins, behind the column, or before words that follow
  kBlockWords,  // a block longer or shorter than its head says
  kRuns,        // more runs than values, or none
  kBits,        // wider than words or runs are
  kRunLengths,  // runs that do not make the values
  kStuck,       // the tile before was claimed and never measured
};

inline constexpr int kFaultBits = 8;

// Tile and reason; 0 is no fault.
CD_HOST_DEVICE constexpr uint64_t fault_word(uint64_t tile, CodecFault fault) {
  return (tile + 1) << kFaultBits | static_cast<uint64_t>(fault);
}

// Keeps that of the lowest tile; by one thread.
template <class Traits>
CD_HOST_DEVICE void report_fault(uint64_t& kept, uint64_t tile, CodecFault fault) {
  const typename Traits::template Atomic<uint64_t, rings::Scope::kDevice> shared(kept);
  const uint64_t word = fault_word(tile, fault);
  uint64_t seen = shared.load(rings::Relaxed{});
  while ((seen == 0 || word < seen) && !shared.compare_exchange(seen, word, rings::Relaxed{})) {
  }
}

}  // namespace crossdock::codecs
