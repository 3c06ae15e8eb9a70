// A vector of lanes at a time: all lanes shift alike, so a shift is the same for all of a vector.
#include "data/codecs/bit_streams.hpp"

#include <bit>

#include "data/codecs/block_format.hpp"
#include "table/word_range.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/codecs/bit_streams.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::codecs::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A stream, from the first of the lanes that a vector holds.
struct LaneStream {
  int lanes;  // words from one row to the next
  int rows;
  uint64_t base;
  int bits;
};

template <class Tag>
HWY_INLINE void pack_lanes(Tag tag, const LaneStream& stream, const uint64_t* from, uint64_t* out) {
  const auto [lanes, rows, base, bits] = stream;
  const auto lowest = hn::Set(tag, base);
  auto word = hn::Zero(tag);
  int shift = 0;
  for (int row = 0; row < rows; ++row, from += lanes) {
    const auto value = hn::Sub(hn::LoadU(tag, from), lowest);
    word = hn::Or(word, hn::ShiftLeftSame(value, shift));
    shift += bits;
    if (shift < 64) continue;
    hn::StoreU(word, tag, out);
    out += lanes;
    shift -= 64;
    word = shift > 0 ? hn::ShiftRightSame(value, bits - shift) : hn::Zero(tag);
  }
  if (shift > 0) hn::StoreU(word, tag, out);
}

template <class Tag>
HWY_INLINE void unpack_lanes(Tag tag,
                             const LaneStream& stream,
                             const uint64_t* from,
                             uint64_t* to) {
  const auto [lanes, rows, base, bits] = stream;
  const auto lowest = hn::Set(tag, base);
  const auto mask = hn::Set(tag, ~uint64_t{0} >> (64 - bits));
  auto word = hn::LoadU(tag, from);
  int shift = 0;  // bits of the word that are used up
  for (int row = 0; row < rows; ++row, to += lanes) {
    auto value = hn::ShiftRightSame(word, shift);
    shift += bits;
    if (shift > 64) {
      from += lanes;
      word = hn::LoadU(tag, from);
      shift -= 64;
      value = hn::Or(value, hn::ShiftLeftSame(word, bits - shift));
    } else if (shift == 64 && row + 1 < rows) {
      from += lanes;
      word = hn::LoadU(tag, from);
      shift = 0;
    }
    hn::StoreU(hn::Add(hn::And(value, mask), lowest), tag, to);
  }
}

void pack_stream(uint64_t* words, int count, uint64_t base, int bits, uint64_t* out) {
  if (count == 0 || bits == 0) return;
  const int lanes = lanes_of(count), rows = rows_of(count);
  for (int i = count; i < rows * lanes; ++i) words[i] = base;
  if (lanes == 1)
    return pack_lanes(hn::CappedTag<uint64_t, 1>(), {1, rows, base, bits}, words, out);
  const hn::CappedTag<uint64_t, kStreamLanes> tag;
  for (int lane = 0; lane < lanes; lane += static_cast<int>(hn::Lanes(tag))) {
    pack_lanes(tag, {lanes, rows, base, bits}, words + lane, out + lane);
  }
}

void unpack_stream(const uint64_t* in, int count, uint64_t base, int bits, uint64_t* words) {
  const int lanes = lanes_of(count), rows = rows_of(count);
  if (bits == 0) {
    for (int i = 0; i < count; ++i) words[i] = base;
    return;
  }
  if (count == 0) return;
  if (lanes == 1)
    return unpack_lanes(hn::CappedTag<uint64_t, 1>(), {1, rows, base, bits}, in, words);
  const hn::CappedTag<uint64_t, kStreamLanes> tag;
  for (int lane = 0; lane < lanes; lane += static_cast<int>(hn::Lanes(tag))) {
    unpack_lanes(tag, {lanes, rows, base, bits}, in + lane, words + lane);
  }
}

}  // namespace crossdock::codecs::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::codecs {

HWY_EXPORT(pack_stream);
HWY_EXPORT(unpack_stream);

StreamRange stream_range(const uint64_t* words, int count) {
  if (count == 0) return {};
  const auto [least, most] = word_range(words, count);
  const uint64_t distance = static_cast<uint64_t>(most) - static_cast<uint64_t>(least);
  return {static_cast<uint64_t>(least), static_cast<int>(std::bit_width(distance))};
}
void pack_stream(uint64_t* words, int count, uint64_t base, int bits, uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(pack_stream)(words, count, base, bits, out);
}
void unpack_stream(const uint64_t* in, int count, uint64_t base, int bits, uint64_t* words) {
  HWY_DYNAMIC_DISPATCH(unpack_stream)(in, count, base, bits, words);
}

}  // namespace crossdock::codecs
#endif
