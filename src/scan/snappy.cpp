// Copies of sixteen bytes wherever both sides have room for them, and no branch on what chance decides.
#include "scan/snappy.hpp"

#include <algorithm>
#include <cstring>

namespace crossdock::scan {
namespace {

constexpr int64_t kStride = 16;
constexpr uint32_t kShortMost = 60;  // bytes of a literal whose length is in its tag
constexpr int64_t kRoom = 80;  // bytes left where any element but a longer literal fits, in strides

void copy16(const uint8_t* from, uint8_t* to) {
  uint64_t low = 0;
  uint64_t high = 0;
  std::memcpy(&low, from, 8);
  std::memcpy(&high, from + 8, 8);
  std::memcpy(to, &low, 8);
  std::memcpy(to + 8, &high, 8);
}

struct SnappyStreams {
  const uint8_t* in;
  const uint8_t* in_end;
  uint8_t* out_begin;
  uint8_t* out;
  uint8_t* out_end;

  int64_t in_left() const { return in_end - in; }
  int64_t out_left() const { return out_end - out; }
};

// Answers false for a fault. What does not fit the output is cut.
bool put_literal(SnappyStreams& at, uint32_t tag) {
  int64_t length = (tag >> 2) + 1;
  if (length > kShortMost) {
    const int64_t bytes = length - kShortMost;
    if (at.in_left() < bytes) return false;
    uint32_t value = 0;
    std::memcpy(&value, at.in, static_cast<size_t>(bytes));
    length = int64_t{value} + 1;
    at.in += bytes;
  }
  if (at.in_left() < length) return false;
  const int64_t kept = std::min(length, at.out_left());
  std::memcpy(at.out, at.in, static_cast<size_t>(kept));
  at.in += length;
  at.out += kept;
  return true;
}

bool put_copy(SnappyStreams& at, int64_t length, int64_t offset) {
  if (offset == 0 || offset > at.out - at.out_begin) return false;
  const uint8_t* from = at.out - offset;
  length = std::min(length, at.out_left());
  for (int64_t i = 0; i < length; ++i) at.out[i] = from[i];
  at.out += length;
  return true;
}

// In whole strides, which may write behind the end.
inline void copy_strides(const uint8_t* from, int64_t length, uint8_t* to) {
  copy16(from, to);
  if (length <= kStride) [[likely]]
    return;
  for (int64_t i = kStride; i < length; i += kStride) copy16(from + i, to + i);
}

inline void copy_back(uint8_t* out, int64_t length, int64_t offset) {
  const uint8_t* from = out - offset;
  if (offset >= kStride || offset >= length) [[likely]]
    return copy_strides(from, length, out);
  if (offset < 8) {
    for (int64_t i = 0; i < length; ++i) out[i] = from[i];
    return;
  }
  for (int64_t i = 0; i < length; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, from + i, 8);
    std::memcpy(out + i, &word, 8);
  }
}

// Elements while both sides have room for any; false for a fault. Pointers are locals, because every byte that is
// written might else be one of them. Offsets of one and of two bytes come in no order that a branch could be
// foreseen by, so both are read by masks, and the tag behind them is of the same word.
bool decode_roomy(SnappyStreams& at) {
  const uint8_t* in = at.in;
  uint8_t* out = at.out;
  const uint8_t* const in_last = at.in_end - kRoom;
  const uint8_t* const out_last = at.out_end - kRoom;
  bool is_sound = true;
  for (uint32_t tag = *in; in <= in_last && out <= out_last;) {
    const uint32_t type = tag & 3;
    if (type == 0) {
      const uint32_t length = (tag >> 2) + 1;
      if (length > kShortMost) break;
      tag = in[length + 1];
      copy_strides(in + 1, length, out);
      in += length + 1;
      out += length;
      continue;
    }
    if (type == 3) [[unlikely]]
      break;
    uint32_t word = 0;
    std::memcpy(&word, in + 1, sizeof(word));
    const uint32_t is_short = type & 1;
    const uint32_t offset =
        (word & (0xFFFFU >> (8 * is_short))) | (((tag >> 5) << 8) & (0 - is_short));
    const int64_t length = is_short != 0 ? 4 + ((tag >> 2) & 7) : (tag >> 2) + 1;
    is_sound = offset != 0 && offset <= out - at.out_begin;
    if (!is_sound) break;
    in += 1 + type;
    tag = (word >> (8 * type)) & 0xFF;
    copy_back(out, length, offset);
    out += length;
  }
  at.in = in;
  at.out = out;
  return is_sound;
}

bool read_size(SnappyStreams& at, uint64_t* size) {
  for (int shift = 0; shift < 35; shift += 7) {
    if (at.in_left() == 0) return false;
    const uint8_t part = *at.in++;
    *size |= uint64_t{part & 0x7FU} << shift;
    if ((part & 0x80) == 0) return true;
  }
  return false;
}

}  // namespace

bool snappy_decompress(std::span<const uint8_t> in, int64_t bytes, std::span<uint8_t> out) {
  SnappyStreams at{
      in.data(), in.data() + in.size(), out.data(), out.data(), out.data() + out.size()};
  uint64_t size = 0;
  if (!read_size(at, &size) || size != static_cast<uint64_t>(bytes)) return false;
  const int64_t wanted = std::min(bytes, static_cast<int64_t>(out.size()));
  at.out_end = at.out_begin + wanted;
  while (at.in_left() > 0 && at.out_left() > 0) {
    if (at.in_left() >= kRoom && at.out_left() >= kRoom && !decode_roomy(at)) return false;
    const uint32_t tag = *at.in++;
    if ((tag & 3) == 0) {
      if (!put_literal(at, tag)) return false;
      continue;
    }
    const int64_t offset_bytes = (tag & 3) == 1 ? 1 : (tag & 3) == 2 ? 2 : 4;
    if (at.in_left() < offset_bytes) return false;
    uint32_t offset = 0;
    int64_t length = (tag >> 2) + 1;
    if (offset_bytes == 1) {
      length = 4 + ((tag >> 2) & 7);
      offset = ((tag >> 5) << 8) | at.in[0];
    } else if (offset_bytes == 2) {
      uint16_t narrow = 0;
      std::memcpy(&narrow, at.in, 2);
      offset = narrow;
    } else {
      std::memcpy(&offset, at.in, 4);
    }
    at.in += offset_bytes;
    if (!put_copy(at, length, offset)) return false;
  }
  return at.out == at.out_end;
}

}  // namespace crossdock::scan
