// The mix that turns key bits into key words: bijective, so equal words mean equal keys, the key can
// be computed back from the word, and nothing else needs to be stored or compared.
//
// word = ((key * a) ^ (.. >> 32)) * b ^ (.. >> 32) modulo 2^64, with odd a drawn per engine: strided and
// clustered keys spread over the top bits (partition, then slot), and no user can prepare keys that
// collide without knowing the seed.
#pragma once

#include <cstdint>

namespace crossdock {

// The next number of a generator that is seeded by its state: splitmix64 (Steele, Lea and Flood 2014).
constexpr uint64_t next_random(uint64_t& state) {
  state += 0x9E3779B97F4A7C15U;
  uint64_t word = state;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9U;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBU;
  return word ^ (word >> 31);
}

// Newton's iteration: each step doubles the correct low bits of the inverse of an odd number.
constexpr uint64_t inverse_of_odd(uint64_t odd) {
  uint64_t inverse = odd;
  for (int step = 0; step < 5; ++step) inverse *= 2 - odd * inverse;
  return inverse;
}

// Constant expressions, so that kernels may call them, too.
struct WordMix {
  uint64_t multiply_first = 1;   // odd
  uint64_t multiply_second = 1;  // odd
  uint64_t inverse_first = 1;    // modulo 2^64
  uint64_t inverse_second = 1;

  static constexpr WordMix from_seed(uint64_t seed) {
    WordMix mix;
    mix.multiply_first = next_random(seed) | 1;
    mix.multiply_second = next_random(seed) | 1;
    mix.inverse_first = inverse_of_odd(mix.multiply_first);
    mix.inverse_second = inverse_of_odd(mix.multiply_second);
    return mix;
  }

  constexpr uint64_t mix(uint64_t key) const {
    key *= multiply_first;
    key ^= key >> 32;
    key *= multiply_second;
    return key ^ (key >> 32);
  }
  constexpr uint64_t unmix(uint64_t word) const {
    word ^= word >> 32;
    word *= inverse_second;
    word ^= word >> 32;
    return word * inverse_first;
  }
};

// In place, with the widest vectors this CPU has (Highway, chosen at run time).
void mix_words(const WordMix& mix, uint64_t* words, int32_t count);
void unmix_words(const WordMix& mix, uint64_t* words, int32_t count);

// to[i] = mix(from[i] - base) modulo 2^64, in one pass. `to` may be `from`.
void mix_distances(
    const WordMix& mix, const uint64_t* from, uint64_t base, int32_t count, uint64_t* to);

// Name of the instruction set that mix_words runs on, for `crossdock info`.
const char* simd_target_name();

}  // namespace crossdock
