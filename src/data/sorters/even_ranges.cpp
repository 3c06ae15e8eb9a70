// Division by multiplication, once per instruction set.
#include "data/sorters/even_ranges.hpp"

#include <algorithm>
#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/sorters/even_ranges.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::sorters {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void divide_words(const EvenDivision& division,
                  const uint64_t* HWY_RESTRICT words,
                  int32_t count,
                  uint16_t* HWY_RESTRICT ranges) {
  int32_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint64_t> lanes;
  const hn::Repartition<uint32_t, decltype(lanes)> halves;
  const hn::Rebind<uint16_t, decltype(lanes)> narrow;
  const auto step = static_cast<int32_t>(hn::Lanes(lanes));
  const auto base = hn::Set(lanes, division.base);
  const auto limit = hn::Set(lanes, division.limit);
  const auto multiplier = hn::BitCast(halves, hn::Set(lanes, uint64_t{division.multiplier}));
  for (; i + step <= count; i += step) {
    const auto word = hn::Max(hn::LoadU(lanes, words + i), base);
    const auto units = hn::Min(hn::ShiftRightSame(hn::Sub(word, base), division.shift), limit);
    const auto product = hn::MulEven(hn::BitCast(halves, units), multiplier);
    hn::StoreU(
        hn::TruncateTo(narrow, hn::ShiftRight<kEvenQuotientShift>(product)), narrow, ranges + i);
  }
#endif
  for (; i < count; ++i) {
    const uint64_t above = std::max(words[i], division.base) - division.base;
    const uint64_t units = std::min(above >> division.shift, division.limit);
    ranges[i] = static_cast<uint16_t>(units * division.multiplier >> kEvenQuotientShift);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace crossdock::sorters
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::sorters {

HWY_EXPORT(divide_words);

namespace {

constexpr int kUnitBits = 15;
constexpr int kRangeBitsMax = 12;
// The multiplier is too large by less than 1 in 2^kEvenQuotientShift / 2^kUnitBits, and x below
// 2^(kUnitBits + kRangeBitsMax): the quotient's error stays below one part of a unit.
static_assert(kUnitBits + kRangeBitsMax + kUnitBits < kEvenQuotientShift);

int shift_of(uint64_t width) { return static_cast<int>(std::bit_width(width)) - kUnitBits; }

}  // namespace

uint64_t even_width(uint64_t width) {
  if (shift_of(width) < 0) return 0;
  const uint64_t below = (uint64_t{1} << shift_of(width)) - 1;
  return width > UINT64_MAX - below ? 0 : (width + below) & ~below;
}

std::optional<EvenRanges> EvenRanges::of(std::span<const uint64_t> starts) {
  if (starts.size() < 3 || starts.size() > size_t{1} << kRangeBitsMax) return std::nullopt;
  const uint64_t width = starts[2] - starts[1];
  if (width == 0 || even_width(width) != width || starts[1] < width) return std::nullopt;
  for (size_t i = 3; i < starts.size(); ++i) {
    if (starts[i] - starts[i - 1] != width) return std::nullopt;
  }
  EvenRanges even;
  EvenDivision& division = even.division_;
  division.base = starts[1] - width;
  division.shift = shift_of(width);
  const uint64_t units = width >> division.shift;
  division.limit = units * (starts.size() - 1);
  division.multiplier = static_cast<uint32_t>((uint64_t{1} << kEvenQuotientShift) / units + 1);
  return even;
}

void EvenRanges::find(const uint64_t* words, int32_t count, uint16_t* ranges) const {
  HWY_DYNAMIC_DISPATCH(divide_words)(division_, words, count, ranges);
}

}  // namespace crossdock::sorters
#endif
