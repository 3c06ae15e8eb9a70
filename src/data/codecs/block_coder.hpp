// One block of words through the levels of a scheme and back, in memory that stays in the first-level cache.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "data/codecs/block_format.hpp"

namespace crossdock::codecs {

// One thread at a time.
class BlockCoder {
 public:
  // Lanes are worked on whole, and runs are written several words at a time.
  static constexpr int kRoom = kBlockValues + kStreamLanes;

  // Where the caller puts words to be encoded, and finds decoded ones: room for kRoom.
  uint64_t* words() { return words_; }

  // The first `count` of words(), 1 to kBlockValues, as a coded block; it changes them. Words written, at most
  // coded_words_max(scheme).
  int encode(const CodecScheme& scheme, int count, uint64_t* out);

  // A coded block of `count` values of at most `value_bits` bits into words(). CD-613 if it is none, whatever `block`
  // holds: bits, runs and length are checked before they are used.
  Status decode(const CodecScheme& scheme, int count, std::span<const uint64_t> block);

  static constexpr int coded_words_max(const CodecScheme& scheme) {
    return head_words(scheme) + (1 + scheme.runs) * (kBlockValues + kStreamLanes);
  }

 private:
  int encode_runs(int count, uint64_t* runs);
  int encode_deltas(int count, uint64_t& first);
  Status decode_runs(int count, int values, uint64_t* runs);
  void decode_deltas(int count, uint64_t first);

  alignas(64) uint64_t words_[kRoom];
  alignas(64) uint64_t other_[kRoom];
  alignas(64) uint64_t runs_[kRunLevelsMax][kRoom];
};

}  // namespace crossdock::codecs
