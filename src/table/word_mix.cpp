// The mix in vectors. This file compiles itself once per instruction set.
#include "table/word_mix.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "table/word_mix.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Step, class Rest>
void for_words(
    const uint64_t* from, int32_t count, uint64_t* to, const Step& step, const Rest& rest) {
  const hn::ScalableTag<uint64_t> lanes;
  const auto width = static_cast<int32_t>(hn::Lanes(lanes));
  int32_t i = 0;
  for (; i + width <= count; i += width) {
    hn::StoreU(step(hn::LoadU(lanes, from + i)), lanes, to + i);
  }
  for (; i < count; ++i) to[i] = rest(from[i]);
}

void mix_distances(
    const WordMix& mix, const uint64_t* from, uint64_t base, int32_t count, uint64_t* to) {
  const hn::ScalableTag<uint64_t> lanes;
  const auto first = hn::Set(lanes, mix.multiply_first);
  const auto second = hn::Set(lanes, mix.multiply_second);
  const auto start = hn::Set(lanes, base);
  for_words(
      from,
      count,
      to,
      [&](auto key) HWY_ATTR {
        key = hn::Mul(hn::Sub(key, start), first);
        key = hn::Mul(hn::Xor(key, hn::ShiftRight<32>(key)), second);
        return hn::Xor(key, hn::ShiftRight<32>(key));
      },
      [&](uint64_t key) { return mix.mix(key - base); });
}

void unmix_words(const WordMix& mix, uint64_t* words, int32_t count) {
  const hn::ScalableTag<uint64_t> lanes;
  const auto first = hn::Set(lanes, mix.inverse_first);
  const auto second = hn::Set(lanes, mix.inverse_second);
  for_words(
      words,
      count,
      words,
      [&](auto word) HWY_ATTR {
        word = hn::Mul(hn::Xor(word, hn::ShiftRight<32>(word)), second);
        return hn::Mul(hn::Xor(word, hn::ShiftRight<32>(word)), first);
      },
      [&](uint64_t word) { return mix.unmix(word); });
}

const char* simd_target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace crossdock::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock {
namespace {

// Newton's iteration: each step doubles the correct low bits of the inverse of an odd number.
uint64_t inverse_of_odd(uint64_t odd) {
  uint64_t inverse = odd;
  for (int step = 0; step < 5; ++step) inverse *= 2 - odd * inverse;
  return inverse;
}

HWY_EXPORT(mix_distances);
HWY_EXPORT(unmix_words);
HWY_EXPORT(simd_target_name);

}  // namespace

uint64_t next_random(uint64_t& state) {
  state += 0x9E3779B97F4A7C15ull;
  uint64_t word = state;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ull;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBull;
  return word ^ (word >> 31);
}

WordMix WordMix::from_seed(uint64_t seed) {
  WordMix mix;
  mix.multiply_first = next_random(seed) | 1;
  mix.multiply_second = next_random(seed) | 1;
  mix.inverse_first = inverse_of_odd(mix.multiply_first);
  mix.inverse_second = inverse_of_odd(mix.multiply_second);
  return mix;
}

void mix_words(const WordMix& mix, uint64_t* words, int32_t count) {
  HWY_DYNAMIC_DISPATCH(mix_distances)(mix, words, 0, count, words);
}
void mix_distances(
    const WordMix& mix, const uint64_t* from, uint64_t base, int32_t count, uint64_t* to) {
  HWY_DYNAMIC_DISPATCH(mix_distances)(mix, from, base, count, to);
}
void unmix_words(const WordMix& mix, uint64_t* words, int32_t count) {
  HWY_DYNAMIC_DISPATCH(unmix_words)(mix, words, count);
}
const char* simd_target_name() { return HWY_DYNAMIC_DISPATCH(simd_target_name)(); }

}  // namespace crossdock
#endif
