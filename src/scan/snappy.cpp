// Copies of sixteen bytes wherever both sides have room for them, and no branch on what chance decides.
#include "scan/snappy.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace crossdock::scan {
namespace {

constexpr int64_t kStride = 16;
constexpr uint32_t kShortMost = 60;  // bytes of a literal whose length is in its tag
// Bytes left where a turn fits with any element behind it but a longer literal, in strides.
constexpr int64_t kRoom = 96;

using Stride [[gnu::vector_size(16)]] = uint64_t;

inline void copy16(const uint8_t* from, uint8_t* to) {
  Stride stride;
  std::memcpy(&stride, from, sizeof(stride));
  std::memcpy(to, &stride, sizeof(stride));
}

struct SnappyStreams {
  const uint8_t* in;
  const uint8_t* in_end;
  uint8_t* out_begin;
  uint8_t* out;
  uint8_t* out_end;
  bool is_good = true;

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

void copy8(const uint8_t* from, uint8_t* to) {
  uint64_t word = 0;
  std::memcpy(&word, from, sizeof(word));
  std::memcpy(to, &word, sizeof(word));
}

// A copy that reaches into itself repeats what lies between: each word doubles that, until it is one.
inline void copy_back(uint8_t* out, int64_t length, int64_t offset) {
  const uint8_t* from = out - offset;
  if (offset >= kStride || offset >= length) [[likely]]
    return copy_strides(from, length, out);
  for (; offset < 8; offset *= 2) {
    copy8(from, out);
    out += offset;
    length -= offset;
  }
  for (int64_t i = 0; i < length; i += 8) copy8(from + i, out + i);
}

enum class Put : uint8_t { kDone, kOther, kFault };

// One element, where both sides have room for any: kOther for those that are rare.
[[gnu::always_inline]] inline Put put_usual(const uint8_t*& in,
                                            uint8_t*& out,
                                            const uint8_t* out_begin) {
  const uint32_t tag = *in;
  const uint32_t type = tag & 3;
  if (type == 0) {
    const uint32_t length = (tag >> 2) + 1;
    if (length > kShortMost) return Put::kOther;
    copy_strides(in + 1, length, out);
    in += length + 1;
    out += length;
    return Put::kDone;
  }
  if (type == 3) return Put::kOther;
  const int64_t offset = type == 1 ? ((tag >> 5) << 8) | in[1] : in[1] | (uint32_t{in[2]} << 8);
  const int64_t length = type == 1 ? 4 + ((tag >> 2) & 7) : (tag >> 2) + 1;
  if (offset == 0 || offset > out - out_begin) return Put::kFault;
  copy_back(out, length, offset);
  in += 1 + type;
  out += length;
  return Put::kDone;
}

// What a tag says of a copy: offset = (the two bytes behind it & mask) | high. Of a tag that is none, or is one of
// more bytes than a stride, the length is greater than any offset that comes of it.
struct alignas(8) CopyTag {
  uint16_t mask = 0;
  uint16_t high = 0;
  uint16_t length = 1;
};

constexpr std::array<CopyTag, 256> copy_tags() {
  std::array<CopyTag, 256> tags;
  for (uint32_t tag = 0; tag < 256; ++tag) {
    const auto wide_length = static_cast<uint16_t>((tag >> 2) + 1);
    if ((tag & 3) == 1) {
      tags[tag] = {0xFF,
                   static_cast<uint16_t>((tag >> 5) << 8),
                   static_cast<uint16_t>(4 + ((tag >> 2) & 7))};
    } else if ((tag & 3) == 2 && wide_length <= kStride) {
      tags[tag] = {0xFFFF, 0, wide_length};
    }
  }
  return tags;
}
constexpr std::array<CopyTag, 256> kCopyTags = copy_tags();

// A turn is a literal of at most a stride, if there is one, and the copy behind it, of at most a stride.
constexpr int64_t kTurnIn = 1 + kStride + 3;
constexpr int64_t kTurnOut = 2 * kStride;
constexpr int64_t kTurnsOfUsual = 3;       // whose room an element of put_usual() may take besides
constexpr uint32_t kLongerLiteral = 0xC3;  // bits of a tag; none of them: a literal of a stride
constexpr int64_t kOffsetMost = 0xFFFF;    // of a copy in a turn

// A short literal, if there is one.
[[gnu::always_inline]] inline void take_literal(const uint8_t*& in, uint8_t*& out) {
  const uint32_t tag = *in;
  if ((tag & kLongerLiteral) != 0) return;
  copy16(in + 1, out);
  const uint32_t length = (tag >> 2) + 1;
  out += length;
  in += length + 1;
}

// False where what comes is no short copy. One load brings the tag and its offset: processors hold loads back that they
// take for those of copies, which a store may concern, and fewer loads are mistaken less often. `kChecked`: there may
// be less before `out` than an offset says.
template <bool kChecked>
[[gnu::always_inline]] inline bool take_copy(const uint8_t*& in,
                                             uint8_t*& out,
                                             const uint8_t* out_begin) {
  uint32_t word = 0;
  std::memcpy(&word, in, sizeof(word));
  const CopyTag& copy = kCopyTags[word & 0xFF];
  const uint32_t offset = ((word >> 8) & copy.mask) | copy.high;
  if (offset < copy.length) [[unlikely]]
    return false;
  if (kChecked && offset > out - out_begin) [[unlikely]]
    return false;
  copy16(out - offset, out);
  out += copy.length;
  in += 1 + (word & 3);
  return true;
}

// Turns for which both sides have room.
int64_t turns_left(const SnappyStreams& at) {
  return std::min((at.in_left() - kRoom) / kTurnIn, (at.out_left() - kRoom) / kTurnOut) + 1;
}

template <size_t kCount>
using Turns = std::array<SnappyStreams*, kCount>;

// A turn of each stream, then the next of each. Pointers are locals, because every byte that is written might else be
// one of them.
template <bool kChecked, size_t... I>
std::array<Put, sizeof...(I)> take_turns(const Turns<sizeof...(I)>& at,
                                         int64_t turns,
                                         std::index_sequence<I...> /*streams*/) {
  const uint8_t* in[] = {at[I]->in...};
  uint8_t* out[] = {at[I]->out...};
  std::array<Put, sizeof...(I)> puts = {};
  for (; turns > 0; --turns) {
    (take_literal(in[I], out[I]), ...);
    const bool took[] = {take_copy<kChecked>(in[I], out[I], at[I]->out_begin)...};
    if ((took[I] && ...)) [[likely]]
      continue;
    ((puts[I] = took[I] ? Put::kDone : put_usual(in[I], out[I], at[I]->out_begin)), ...);
    if (((puts[I] != Put::kDone) || ...)) break;
    turns -= kTurnsOfUsual;
  }
  ((at[I]->in = in[I], at[I]->out = out[I]), ...);
  return puts;
}

bool has_offsets(const SnappyStreams& at) { return at.out - at.out_begin >= kOffsetMost; }

bool can_turn(const SnappyStreams& at) { return at.is_good && at.is_roomy(); }

// While all can turn, and until one of them has an element that is none of the usual.
template <size_t kCount>
void decode_roomy(const Turns<kCount>& at) {
  constexpr auto kStreams = std::make_index_sequence<kCount>();
  std::array<Put, kCount> puts = {};
  const auto is_done = [](Put put) { return put == Put::kDone; };
  while (std::ranges::all_of(puts, is_done) &&
         std::ranges::all_of(at, [](const auto* one) { return can_turn(*one); })) {
    int64_t turns = turns_left(*at[0]);
    for (const SnappyStreams* one : at) turns = std::min(turns, turns_left(*one));
    const bool have_offsets =
        std::ranges::all_of(at, [](const auto* one) { return has_offsets(*one); });
    puts = have_offsets ? take_turns<false>(at, turns, kStreams)
                        : take_turns<true>(at, turns, kStreams);
  }
  for (size_t i = 0; i < kCount; ++i) {
    if (puts[i] == Put::kFault) at[i]->is_good = false;
  }
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

// An element of any kind, if there is one.
void put_next(SnappyStreams& at) {
  if (at.is_good && at.has_both()) at.is_good = put_any(at);
}

// One after the other gives up its turns: where there is a fault, or no more room.
template <size_t kCount>
void decode(Turns<kCount> at) {
  if constexpr (kCount == 1) {
    SnappyStreams& one = *at[0];
    while (one.is_good && one.has_both()) {
      decode_roomy(at);
      put_next(one);
    }
    one.is_good = one.is_good && one.out == one.out_end;
  } else {
    auto ended = at.end();
    while (ended == at.end()) {
      decode_roomy(at);
      // Where it was not one that ended the turns, one more of its elements is no harm.
      for (SnappyStreams* one : at) put_next(*one);
      ended = std::ranges::find_if(at, [](const auto* one) { return !can_turn(*one); });
    }
    std::swap(*ended, at.back());
    decode(Turns<1>{at.back()});
    Turns<kCount - 1> others;
    std::copy_n(at.begin(), kCount - 1, others.begin());
    decode(others);
  }
}

}  // namespace

bool snappy_decompress(std::span<const uint8_t> in, int64_t bytes, std::span<uint8_t> out) {
  SnappyStreams at(in, out);
  if (!begin(at, bytes)) return false;
  decode(Turns<1>{&at});
  return at.is_good;
}

std::array<bool, kSnappyBlocksMost> snappy_decompress(std::span<const SnappyBlock> blocks) {
  std::vector<SnappyStreams> streams;
  for (const SnappyBlock& block : blocks) {
    SnappyStreams& at = streams.emplace_back(block.in, block.out);
    at.is_good = begin(at, std::ssize(block.out));
  }
  switch (streams.size()) {
    case 1:
      decode(Turns<1>{&streams[0]});
      break;
    case 2:
      decode(Turns<2>{&streams[0], &streams[1]});
      break;
    case 3:
      decode(Turns<3>{&streams[0], &streams[1], &streams[2]});
      break;
    case 4:
      decode(Turns<4>{&streams[0], &streams[1], &streams[2], &streams[3]});
      break;
    default:
      CD_CHECK(streams.empty(), "{} blocks of Snappy at once", streams.size());
  }
  std::array<bool, kSnappyBlocksMost> good = {};
  for (size_t i = 0; i < streams.size(); ++i) good[i] = streams[i].is_good;
  return good;
}

}  // namespace crossdock::scan
