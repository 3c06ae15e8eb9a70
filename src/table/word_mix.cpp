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

HWY_EXPORT(mix_distances);
HWY_EXPORT(unmix_words);
HWY_EXPORT(simd_target_name);

}  // namespace

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
