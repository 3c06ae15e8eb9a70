#include "table/word_range.hpp"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "table/word_range.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

WordRange word_range(const uint64_t* words, int32_t count) {
  const hn::ScalableTag<int64_t> lanes;
  const auto width = static_cast<int32_t>(hn::Lanes(lanes));
  const auto* from = reinterpret_cast<const int64_t*>(words);
  WordRange range;
  int32_t i = 0;
  if (count >= width) {
    auto low = hn::LoadU(lanes, from);
    auto high = low;
    for (i = width; i + width <= count; i += width) {
      const auto value = hn::LoadU(lanes, from + i);
      low = hn::Min(low, value);
      high = hn::Max(high, value);
    }
    range.min = hn::GetLane(hn::MinOfLanes(lanes, low));
    range.max = hn::GetLane(hn::MaxOfLanes(lanes, high));
  }
  for (; i < count; ++i) {
    range.min = from[i] < range.min ? from[i] : range.min;
    range.max = from[i] > range.max ? from[i] : range.max;
  }
  return range;
}

bool split_wide_words(const uint8_t* HWY_RESTRICT from,
                      int32_t count,
                      uint64_t* HWY_RESTRICT low,
                      uint64_t* HWY_RESTRICT high) {
  uint64_t beyond = 0;
  for (int32_t i = 0; i < count; ++i) {
    uint64_t lower;
    uint64_t upper;  // two loads: of one of both, compilers make no vectors
    std::memcpy(&lower, from + int64_t{i} * 16, sizeof(lower));
    std::memcpy(&upper, from + int64_t{i} * 16 + 8, sizeof(upper));
    low[i] = lower;
    high[i] = upper;
    beyond |= upper ^ static_cast<uint64_t>(static_cast<int64_t>(lower) >> 63);
  }
  return beyond == 0;
}

}  // namespace crossdock::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock {

HWY_EXPORT(word_range);
WordRange word_range(const uint64_t* words, int32_t count) {
  return HWY_DYNAMIC_DISPATCH(word_range)(words, count);
}

HWY_EXPORT(split_wide_words);
bool split_wide_words(const uint8_t* from, int32_t count, uint64_t* low, uint64_t* high) {
  return HWY_DYNAMIC_DISPATCH(split_wide_words)(from, count, low, high);
}

}  // namespace crossdock
#endif
