// CRC-32C by folding: 16 bytes that stand before others of a message are worth what their product with a power of x is
// worth in the place of those, and two carry-less multiplications make it (Gopal et al., "Fast CRC Computation for
// Generic Polynomials Using PCLMULQDQ Instruction", Intel, 2009). Four vectors fold at a time, since a multiplication
// takes several cycles and the next one of another vector can begin at once. What is left in the end are 16 bytes and
// the rest of the message, for tables.
#include "data/rings/crc32c.hpp"

#include <cstring>

#include "data/rings/crc32c_table.hpp"

// Multiplies four pairs at a time where the processor can, which Highway compiles only for those who ask.
#define HWY_WANT_AVX3_DL 1
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/rings/crc32c.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::rings::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Where there is no carry-less multiplication, or only an imitation of one, tables are faster.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_SSSE3

uint32_t advance(const uint8_t* at, size_t bytes, uint32_t crc) {
  return crc32c_by_table(at, bytes, crc);
}

uint32_t advance_copying(const uint8_t* at, size_t bytes, uint32_t crc, uint8_t* to) {
  std::memcpy(to, at, bytes);
  return crc32c_by_table(at, bytes, crc);
}

#else

// 64-bit lanes of a vector. Wider ones than this would be multiplied in pieces, through memory.
constexpr size_t kLanes = HWY_TARGET == HWY_AVX3_DL ? 8 : 2;
constexpr size_t kPairBytes = 16;

// The factors that move a pair of lanes kBits ahead: of its first lane, which stands 64 bits before the second, and of
// the second. A product of two reflected numbers comes out divided by x; a factor's degrees are in its upper half.
template <int kBits>
struct Factors {
  alignas(kPairBytes) static constexpr uint64_t of[2] = {uint64_t{crc32c_power(kBits + 63)} << 32,
                                                         uint64_t{crc32c_power(kBits - 1)} << 32};
};

template <class V>
HWY_INLINE V folded(V before, V factors, V after) {
  return hn::Xor(after, hn::Xor(hn::CLMulLower(before, factors), hn::CLMulUpper(before, factors)));
}

// Folds the vectors that `bytes` bytes fill, at least one, into the one that is written to `left`, and copies them on
// the way. Answers the bytes that it has read.
template <size_t kWidth, bool kCopies>
HWY_INLINE size_t
fold_all(const uint8_t* from, size_t bytes, uint32_t crc, uint64_t* left, uint8_t* to) {
  const hn::CappedTag<uint64_t, kWidth> lanes;
  constexpr size_t kBytes = kWidth * 8;
  constexpr int kBits = kWidth * 64;
  const auto load = [&lanes, from, to](size_t offset) {
    const hn::Repartition<uint8_t, decltype(lanes)> octets;
    const auto loaded = hn::LoadU(octets, from + offset);
    if constexpr (kCopies) hn::StoreU(loaded, octets, to + offset);
    return hn::BitCast(lanes, loaded);
  };
  const auto one_ahead = hn::LoadDup128(lanes, Factors<kBits>::of);
  HWY_ALIGN uint64_t start[kWidth] = {crc};
  auto last = hn::Xor(load(0), hn::Load(lanes, start));
  size_t done = kBytes;
  if (bytes >= 4 * kBytes) {
    const auto four_ahead = hn::LoadDup128(lanes, Factors<4 * kBits>::of);
    auto a = last, b = load(kBytes), c = load(2 * kBytes), d = load(3 * kBytes);
    for (done = 4 * kBytes; bytes - done >= 4 * kBytes; done += 4 * kBytes) {
      a = folded(a, four_ahead, load(done));
      b = folded(b, four_ahead, load(done + kBytes));
      c = folded(c, four_ahead, load(done + 2 * kBytes));
      d = folded(d, four_ahead, load(done + 3 * kBytes));
    }
    last = folded(folded(folded(a, one_ahead, b), one_ahead, c), one_ahead, d);
  }
  for (; bytes - done >= kBytes; done += kBytes) last = folded(last, one_ahead, load(done));
  hn::Store(last, lanes, left);
  return done;
}

// The last bytes, which fill no vector.
template <bool kCopies>
HWY_INLINE uint32_t advance_rest(const uint8_t* at, size_t bytes, uint32_t crc, uint8_t* to) {
  if constexpr (kCopies) {
    if (bytes != 0) std::memcpy(to, at, bytes);
  }
  return crc32c_by_table(at, bytes, crc);
}

// Vectors of one pair, down to the last bytes.
template <bool kCopies>
HWY_INLINE uint32_t advance_by_pairs(const uint8_t* at, size_t bytes, uint32_t crc, uint8_t* to) {
  if (bytes < kPairBytes) return advance_rest<kCopies>(at, bytes, crc, to);
  HWY_ALIGN uint64_t left[2];
  const size_t done = fold_all<2, kCopies>(at, bytes, crc, left, to);
  crc = crc32c_by_table(reinterpret_cast<const uint8_t*>(left), kPairBytes, 0);
  return advance_rest<kCopies>(at + done, bytes - done, crc, kCopies ? to + done : nullptr);
}

template <bool kCopies>
HWY_INLINE uint32_t advance_all(const uint8_t* at, size_t bytes, uint32_t crc, uint8_t* to) {
  constexpr size_t kBytes = kLanes * 8;
  if (kBytes == kPairBytes || bytes < 4 * kBytes) {
    return advance_by_pairs<kCopies>(at, bytes, crc, to);
  }
  HWY_ALIGN uint64_t left[kLanes];
  const size_t done = fold_all<kLanes, kCopies>(at, bytes, crc, left, to);
  crc = advance_by_pairs<false>(reinterpret_cast<const uint8_t*>(left), kBytes, 0, nullptr);
  return advance_by_pairs<kCopies>(at + done, bytes - done, crc, kCopies ? to + done : nullptr);
}

uint32_t advance(const uint8_t* at, size_t bytes, uint32_t crc) {
  return advance_all<false>(at, bytes, crc, nullptr);
}

uint32_t advance_copying(const uint8_t* at, size_t bytes, uint32_t crc, uint8_t* to) {
  return advance_all<true>(at, bytes, crc, to);
}

#endif

}  // namespace crossdock::rings::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::rings {

HWY_EXPORT(advance);
HWY_EXPORT(advance_copying);

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before) {
  const auto* at = reinterpret_cast<const uint8_t*>(bytes.data());
  return ~HWY_DYNAMIC_DISPATCH(advance)(at, bytes.size(), ~before);
}

uint32_t copy_crc32c(std::span<const std::byte> bytes, std::byte* to, uint32_t before) {
  const auto* at = reinterpret_cast<const uint8_t*>(bytes.data());
  auto* place = reinterpret_cast<uint8_t*>(to);
  return ~HWY_DYNAMIC_DISPATCH(advance_copying)(at, bytes.size(), ~before, place);
}

}  // namespace crossdock::rings
#endif
