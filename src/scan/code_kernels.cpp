#include "scan/code_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scan/code_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::scan::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kGroup = 8;

void unpack_plain(int bits, const uint8_t* in, int64_t groups, uint32_t* out) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  for (int64_t g = 0; g < groups; ++g) {
    for (int i = 0; i < kGroup; ++i) {
      uint64_t word = 0;
      std::memcpy(&word, in + (i * bits) / 8, 8);
      out[i] = static_cast<uint32_t>((word >> ((i * bits) % 8)) & mask);
    }
    in += bits;
    out += kGroup;
  }
}

#if HWY_TARGET == HWY_SCALAR

void unpack_groups(int bits, const uint8_t* in, int64_t groups, uint32_t* out) {
  unpack_plain(bits, in, groups, out);
}

#else

constexpr int kHalf = kGroup / 2;
constexpr int kFourBytesMost = 25;  // bits of a value that lies in four bytes wherever it begins

// Where four values lie, the first of which begins at bit `begin` of its byte.
struct HalfPlaces {
  alignas(16) std::array<uint8_t, 16> bytes;
  alignas(16) std::array<uint32_t, kHalf> shifts;

  HalfPlaces(int bits, int begin) {
    for (size_t i = 0; i < kHalf; ++i) {
      const size_t bit = static_cast<size_t>(begin) + static_cast<size_t>(bits) * i;
      for (size_t b = 0; b < 4; ++b) bytes[4 * i + b] = static_cast<uint8_t>(bit / 8 + b);
      shifts[i] = static_cast<uint32_t>(bit % 8);
    }
  }
};

// Half a group at a time: the bytes of each value to its place in a vector, then its lowest bit to the lowest there.
void unpack_groups(int bits, const uint8_t* in, int64_t groups, uint32_t* out) {
  if (bits > kFourBytesMost) return unpack_plain(bits, in, groups, out);
  const hn::FixedTag<uint32_t, kHalf> lanes;
  const hn::Repartition<uint8_t, decltype(lanes)> bytes;
  const HalfPlaces first(bits, 0);
  const HalfPlaces second(bits, kHalf * bits % 8);
  const auto first_bytes = hn::Load(bytes, first.bytes.data());
  const auto second_bytes = hn::Load(bytes, second.bytes.data());
  const auto first_shifts = hn::Load(lanes, first.shifts.data());
  const auto second_shifts = hn::Load(lanes, second.shifts.data());
  const auto mask = hn::Set(lanes, (1U << bits) - 1);
  const auto values = [&](const uint8_t* from, auto places, auto shifts) {
    const auto placed = hn::TableLookupBytes(hn::LoadU(bytes, from), places);
    return hn::And(hn::Shr(hn::BitCast(lanes, placed), shifts), mask);
  };
  const int second_begin = kHalf * bits / 8;
  for (int64_t g = 0; g < groups; ++g) {
    hn::StoreU(values(in, first_bytes, first_shifts), lanes, out);
    hn::StoreU(values(in + second_begin, second_bytes, second_shifts), lanes, out + kHalf);
    in += bits;
    out += kGroup;
  }
}

#endif

uint32_t largest_code(const uint32_t* codes, int64_t count) {
  const hn::ScalableTag<uint32_t> lanes;
  const auto width = static_cast<int64_t>(hn::Lanes(lanes));
  auto all = hn::Zero(lanes);
  int64_t i = 0;
  for (; i + width <= count; i += width) all = hn::Max(all, hn::LoadU(lanes, codes + i));
  uint32_t largest = hn::GetLane(hn::MaxOfLanes(lanes, all));
  for (; i < count; ++i) largest = std::max(largest, codes[i]);
  return largest;
}

}  // namespace crossdock::scan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::scan {
namespace {

HWY_EXPORT(unpack_groups);
HWY_EXPORT(largest_code);

}  // namespace

void unpack_groups(int bits, const uint8_t* in, int64_t groups, uint32_t* out) {
  HWY_DYNAMIC_DISPATCH(unpack_groups)(bits, in, groups, out);
}
uint32_t largest_code(const uint32_t* codes, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(largest_code)(codes, count);
}

}  // namespace crossdock::scan
#endif
