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

  SnappyStreams(std::span<const uint8_t> from, std::span<uint8_t> to)
      : in(from.data()),
        in_end(from.data() + from.size()),
        out_begin(to.data()),
        out(to.data()),
        out_end(to.data() + to.size()) {}

  int64_t in_left() const { return in_end - in; }
  int64_t out_left() const { return out_end - out; }
  bool is_roomy() const { return in_left() >= kRoom && out_left() >= kRoom; }
  bool has_both() const { return in_left() > 0 && out_left() > 0; }
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

enum class Put : uint8_t { kDone, kOther, kFault };

// One element, where both sides have room for any: kOther for those that are rare. Pointers are locals of the loop,
// because every byte that is written might else be one of them. Offsets of one and of two bytes come in no order that a
// branch could be foreseen by, so both are read by masks, and the tag behind them is of the same word.
[[gnu::always_inline]] inline Put put_usual(const uint8_t*& in,
                                            uint8_t*& out,
                                            uint32_t& tag,
                                            const uint8_t* out_begin) {
  const uint32_t type = tag & 3;
  if (type == 0) {
    const uint32_t length = (tag >> 2) + 1;
    if (length > kShortMost) [[unlikely]]
      return Put::kOther;
    tag = in[length + 1];
    copy_strides(in + 1, length, out);
    in += length + 1;
    out += length;
    return Put::kDone;
  }
  if (type == 3) [[unlikely]]
    return Put::kOther;
  uint32_t word = 0;
  std::memcpy(&word, in + 1, sizeof(word));
  const uint32_t is_short = type & 1;
  const uint32_t offset =
      (word & (0xFFFFU >> (8 * is_short))) | (((tag >> 5) << 8) & (0 - is_short));
  const int64_t length = is_short != 0 ? 4 + ((tag >> 2) & 7) : (tag >> 2) + 1;
  if (offset == 0 || offset > out - out_begin) [[unlikely]]
    return Put::kFault;
  in += 1 + type;
  tag = (word >> (8 * type)) & 0xFF;
  copy_back(out, length, offset);
  out += length;
  return Put::kDone;
}

// False for a fault.
bool decode_roomy(SnappyStreams& at) {
  const uint8_t* in = at.in;
  uint8_t* out = at.out;
  const uint8_t* const in_last = at.in_end - kRoom;
  const uint8_t* const out_last = at.out_end - kRoom;
  uint32_t tag = *in;
  Put put = Put::kDone;
  while (put == Put::kDone && in <= in_last && out <= out_last) {
    put = put_usual(in, out, tag, at.out_begin);
  }
  at.in = in;
  at.out = out;
  return put != Put::kFault;
}

// An element of each in turns: what one waits for, the length of the element before, the other has meanwhile.
std::array<bool, 2> decode_roomy(SnappyStreams& a, SnappyStreams& b) {
  const uint8_t* a_in = a.in;
  const uint8_t* b_in = b.in;
  uint8_t* a_out = a.out;
  uint8_t* b_out = b.out;
  uint32_t a_tag = *a_in;
  uint32_t b_tag = *b_in;
  const uint8_t* const a_in_last = a.in_end - kRoom;
  const uint8_t* const b_in_last = b.in_end - kRoom;
  const uint8_t* const a_out_last = a.out_end - kRoom;
  const uint8_t* const b_out_last = b.out_end - kRoom;
  Put a_put = Put::kDone;
  Put b_put = Put::kDone;
  while (a_in <= a_in_last && a_out <= a_out_last && b_in <= b_in_last && b_out <= b_out_last) {
    a_put = put_usual(a_in, a_out, a_tag, a.out_begin);
    if (a_put != Put::kDone) [[unlikely]]
      break;
    b_put = put_usual(b_in, b_out, b_tag, b.out_begin);
    if (b_put != Put::kDone) [[unlikely]]
      break;
  }
  a.in = a_in;
  a.out = a_out;
  b.in = b_in;
  b.out = b_out;
  return {a_put != Put::kFault, b_put != Put::kFault};
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

// An element of any kind; false for a fault.
bool put_any(SnappyStreams& at) {
  const uint32_t tag = *at.in++;
  if ((tag & 3) == 0) return put_literal(at, tag);
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
  return put_copy(at, length, offset);
}

bool begin(SnappyStreams& at, int64_t bytes) {
  uint64_t size = 0;
  if (!read_size(at, &size) || size != static_cast<uint64_t>(bytes)) return false;
  at.out_end = at.out_begin + std::min(bytes, at.out_left());
  return true;
}

bool decode_rest(SnappyStreams& at) {
  while (at.has_both()) {
    if (at.is_roomy() && !decode_roomy(at)) return false;
    if (!put_any(at)) return false;
  }
  return at.out == at.out_end;
}

}  // namespace

bool snappy_decompress(std::span<const uint8_t> in, int64_t bytes, std::span<uint8_t> out) {
  SnappyStreams at(in, out);
  return begin(at, bytes) && decode_rest(at);
}

std::array<bool, 2> snappy_decompress(const SnappyBlock& first, const SnappyBlock& second) {
  SnappyStreams a(first.in, first.out);
  SnappyStreams b(second.in, second.out);
  std::array<bool, 2> good = {begin(a, static_cast<int64_t>(first.out.size())),
                              begin(b, static_cast<int64_t>(second.out.size()))};
  while (good[0] && good[1] && a.is_roomy() && b.is_roomy()) {
    good = decode_roomy(a, b);
    // One of them has an element that is none of the usual, or no more room; where it was not the first, one more of
    // the first is no harm.
    if (good[0] && a.has_both()) good[0] = put_any(a);
    if (good[1] && b.has_both()) good[1] = put_any(b);
  }
  return {good[0] && decode_rest(a), good[1] && decode_rest(b)};
}

}  // namespace crossdock::scan
