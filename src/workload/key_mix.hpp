// A permutation of [0, n) that looks random, computed number by number: keys in random order without a list of them.
//
// Each round is invertible modulo the next power of two: the upper half is folded into the lower one, and all is
// multiplied by an odd number (as in the finishers of splitmix64 and MurmurHash3). A number that lands at n or
// above is mixed again until it lands below ("cycle walking", Black and Rogaway, CT-RSA 2002), on average less than
// twice in all.
#pragma once

#include <bit>
#include <cstdint>

namespace crossdock::workload {

inline uint64_t mixed(uint64_t word) {  // splitmix64's finisher
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9;
  word = (word ^ word >> 27) * 0x94d049bb133111eb;
  return word ^ word >> 31;
}

class KeyMix {
 public:
  // n is at least 1.
  KeyMix(uint64_t n, uint64_t seed)
      : n_(n),
        bits_(n > 1 ? static_cast<int>(std::bit_width(n - 1)) : 1),
        mask_(~uint64_t{0} >> (64 - bits_)) {
    for (int round = 0; round < kRounds; ++round) {
      seed = mixed(seed + 0x9e3779b97f4a7c15);
      odd_[round] = seed | 1;
      added_[round] = mixed(seed);
    }
  }

  uint64_t operator()(uint64_t i) const {
    do i = mix(i);
    while (i >= n_);
    return i;
  }

 private:
  static constexpr int kRounds = 3;

  uint64_t mix(uint64_t i) const {
    for (int round = 0; round < kRounds; ++round) {
      i = (i + added_[round]) * odd_[round] & mask_;
      i ^= i >> (bits_ + 1) / 2;
    }
    return i;
  }

  uint64_t n_;
  int bits_;
  uint64_t mask_;
  uint64_t odd_[kRounds];
  uint64_t added_[kRounds];
};

}  // namespace crossdock::workload
