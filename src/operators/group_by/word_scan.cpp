// Reductions over words in vectors, and maps of words to words.
#include "operators/group_by/word_scan.hpp"

#include <array>
#include <bit>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "operators/group_by/word_scan.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::operators::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

uint64_t word_magnitude(const uint64_t* words, int32_t count) {
  // The union of v ^ (v >> 63) is at most twice the largest: good enough for a bound.
  const hn::ScalableTag<int64_t> lanes;
  const auto width = static_cast<int32_t>(hn::Lanes(lanes));
  const auto* from = reinterpret_cast<const int64_t*>(words);
  auto all = hn::Zero(lanes);
  int32_t i = 0;
  for (; i + width <= count; i += width) {
    const auto value = hn::LoadU(lanes, from + i);
    all = hn::Or(all, hn::Xor(value, hn::BroadcastSignBit(value)));
  }
  alignas(64) int64_t parts[HWY_MAX_BYTES / 8];
  hn::Store(all, lanes, parts);
  uint64_t result = 0;
  for (int32_t k = 0; k < width; ++k) result |= static_cast<uint64_t>(parts[k]);
  for (; i < count; ++i) result |= static_cast<uint64_t>(from[i] ^ (from[i] >> 63));
  return result;
}

uint64_t word_union(const uint64_t* words, int32_t count) {
  const hn::ScalableTag<uint64_t> lanes;
  const auto width = static_cast<int32_t>(hn::Lanes(lanes));
  auto all = hn::Zero(lanes);
  int32_t i = 0;
  for (; i + width <= count; i += width) all = hn::Or(all, hn::LoadU(lanes, words + i));
  alignas(64) uint64_t parts[HWY_MAX_BYTES / 8];
  hn::Store(all, lanes, parts);
  uint64_t result = 0;
  for (int32_t k = 0; k < width; ++k) result |= parts[k];
  for (; i < count; ++i) result |= words[i];
  return result;
}

// kSign 1: ascending, -1: descending.
template <int kSign>
bool in_order(const uint64_t* words, int32_t count, int64_t previous) {
  const hn::ScalableTag<int64_t> lanes;
  const auto width = static_cast<int32_t>(hn::Lanes(lanes));
  const auto* from = reinterpret_cast<const int64_t*>(words);
  if (count == 0) return true;
  if (kSign > 0 ? from[0] < previous : from[0] > previous) return false;
  int32_t i = 1;
  for (; i + width <= count; i += width) {
    const auto before = hn::LoadU(lanes, from + i - 1);
    const auto value = hn::LoadU(lanes, from + i);
    const auto wrong = kSign > 0 ? hn::Lt(value, before) : hn::Lt(before, value);
    if (!hn::AllFalse(lanes, wrong)) return false;
  }
  for (; i < count; ++i) {
    if (kSign > 0 ? from[i] < from[i - 1] : from[i] > from[i - 1]) return false;
  }
  return true;
}

bool words_ascend(const uint64_t* words, int32_t count, int64_t previous) {
  return in_order<1>(words, count, previous);
}
bool words_descend(const uint64_t* words, int32_t count, int64_t previous) {
  return in_order<-1>(words, count, previous);
}

uint64_t word_sum(const uint64_t* words, int32_t count) {
  const hn::ScalableTag<uint64_t> lanes;
  const auto width = static_cast<int32_t>(hn::Lanes(lanes));
  auto all = hn::Zero(lanes);
  int32_t i = 0;
  for (; i + width <= count; i += width) all = hn::Add(all, hn::LoadU(lanes, words + i));
  uint64_t result = hn::GetLane(hn::SumOfLanes(lanes, all));
  for (; i < count; ++i) result += words[i];
  return result;
}

bool any_is_zero(const uint32_t* numbers, int32_t count) {
  const hn::ScalableTag<uint32_t> lanes;
  const auto width = static_cast<int32_t>(hn::Lanes(lanes));
  int32_t i = 0;
  if (count >= width) {
    auto least = hn::LoadU(lanes, numbers);
    for (i = width; i + width <= count; i += width) {
      least = hn::Min(least, hn::LoadU(lanes, numbers + i));
    }
    if (hn::GetLane(hn::MinOfLanes(lanes, least)) == 0) return true;
  }
  for (; i < count; ++i) {
    if (numbers[i] == 0) return true;
  }
  return false;
}

void shift_distances(const uint64_t* from, uint64_t base, int shift, int32_t count, uint64_t* to) {
  const hn::ScalableTag<uint64_t> lanes;
  const auto width = static_cast<int32_t>(hn::Lanes(lanes));
  const auto start = hn::Set(lanes, base);
  int32_t i = 0;
  for (; i + width <= count; i += width) {
    const auto distance = hn::Sub(hn::LoadU(lanes, from + i), start);
    hn::StoreU(hn::ShiftLeftSame(distance, shift), lanes, to + i);
  }
  for (; i < count; ++i) to[i] = (from[i] - base) << shift;
}

// By a mask of up to eight lanes: the numbers of its set bits, then those of the others, 4 bits each.
constexpr auto kKeptFirst = [] {
  std::array<uint64_t, 256> orders{};
  for (uint32_t mask = 0; mask < orders.size(); ++mask) {
    uint32_t at = 0;
    for (const uint32_t passes : {1U, 0U}) {
      for (uint64_t lane = 0; lane < 8; ++lane) {
        if (((mask >> lane) & 1) == passes) orders[mask] |= lane << (4 * at++);
      }
    }
  }
  return orders;
}();

// Vectors are ordered in a register and stored whole: a store of the kept lanes alone takes some
// hundred cycles on Zen 4. What a store has too many, the next one overwrites.
void compact_words(const uint64_t* from, const uint8_t* keep, int32_t count, uint64_t* to) {
  const hn::CappedTag<uint64_t, 8> lanes;
  const auto width = static_cast<int32_t>(hn::Lanes(lanes));
  constexpr uint64_t kGatherBits = 0x0102040810204080;  // byte i, which is 0 or 1, to bit 56 + i
  const auto shifts = hn::ShiftLeft<2>(hn::Iota(lanes, 0));
  const auto lane_bits = hn::Set(lanes, static_cast<uint64_t>(width - 1));
  int32_t kept = 0;
  int32_t i = 0;
  for (; i + width <= count; i += width) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, keep + i, static_cast<size_t>(width));
    const uint64_t mask = (bytes * kGatherBits) >> 56;
    const auto order = hn::And(hn::Shr(hn::Set(lanes, kKeptFirst[mask]), shifts), lane_bits);
    const auto words = hn::LoadU(lanes, from + i);
    hn::StoreU(hn::TableLookupLanes(words, hn::IndicesFromVec(lanes, order)), lanes, to + kept);
    kept += std::popcount(mask);
  }
  for (; i < count; ++i) {
    to[kept] = from[i];
    kept += keep[i];
  }
}

}  // namespace crossdock::operators::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::operators {
namespace {

HWY_EXPORT(word_magnitude);
HWY_EXPORT(word_union);
HWY_EXPORT(words_ascend);
HWY_EXPORT(words_descend);
HWY_EXPORT(word_sum);
HWY_EXPORT(any_is_zero);
HWY_EXPORT(shift_distances);
HWY_EXPORT(compact_words);

}  // namespace

uint64_t word_magnitude(const uint64_t* words, int32_t count) {
  return HWY_DYNAMIC_DISPATCH(word_magnitude)(words, count);
}
uint64_t word_union(const uint64_t* words, int32_t count) {
  return HWY_DYNAMIC_DISPATCH(word_union)(words, count);
}
bool words_ascend(const uint64_t* words, int32_t count, int64_t previous) {
  return HWY_DYNAMIC_DISPATCH(words_ascend)(words, count, previous);
}
bool words_descend(const uint64_t* words, int32_t count, int64_t previous) {
  return HWY_DYNAMIC_DISPATCH(words_descend)(words, count, previous);
}
uint64_t word_sum(const uint64_t* words, int32_t count) {
  return HWY_DYNAMIC_DISPATCH(word_sum)(words, count);
}
bool any_is_zero(const uint32_t* numbers, int32_t count) {
  return HWY_DYNAMIC_DISPATCH(any_is_zero)(numbers, count);
}
void shift_distances(const uint64_t* from, uint64_t base, int shift, int32_t count, uint64_t* to) {
  HWY_DYNAMIC_DISPATCH(shift_distances)(from, base, shift, count, to);
}
void compact_words(const uint64_t* from, const uint8_t* keep, int32_t count, uint64_t* to) {
  HWY_DYNAMIC_DISPATCH(compact_words)(from, keep, count, to);
}

}  // namespace crossdock::operators
#endif
