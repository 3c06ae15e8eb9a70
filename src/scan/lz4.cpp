// A token, literals, a match; and so on.
#include "scan/lz4.hpp"

#include <cstring>

namespace crossdock::scan {
namespace {

constexpr size_t kShort = 15;    // a length of a token that goes on
constexpr size_t kMatchMin = 4;  // bytes of a match

// Adds the bytes that go on with a length; false where they end too early.
bool read_length(std::span<const uint8_t> in, size_t& at, size_t& length) {
  if (length != kShort) return true;
  for (;;) {
    if (at == in.size()) return false;
    const uint8_t more = in[at++];
    length += more;
    if (more != 255) return true;
  }
}

void copy_match(uint8_t* to, size_t offset, size_t length, size_t room) {
  const uint8_t* from = to - offset;
  if (offset >= 8 && room >= length + 8) {
    for (size_t i = 0; i < length; i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, from + i, 8);
      std::memcpy(to + i, &word, 8);
    }
    return;
  }
  for (size_t i = 0; i < length; ++i) to[i] = from[i];
}

uint32_t read_word(std::span<const uint8_t> in) {
  uint32_t word = 0;
  std::memcpy(&word, in.data(), sizeof(word));
  return __builtin_bswap32(word);
}

bool read_frames(std::span<const uint8_t> in, std::span<uint8_t> out) {
  constexpr size_t kHead = 8;
  while (!in.empty()) {
    if (in.size() < kHead) return false;
    const uint32_t content = read_word(in);
    const uint32_t stored = read_word(in.subspan(4));
    in = in.subspan(kHead);
    if (stored > in.size() || content > out.size()) return false;
    if (!lz4_decompress(in.first(stored), out.first(content))) return false;
    in = in.subspan(stored);
    out = out.subspan(content);
  }
  return out.empty();
}

}  // namespace

bool hadoop_lz4_decompress(std::span<const uint8_t> in, std::span<uint8_t> out) {
  return read_frames(in, out) || lz4_decompress(in, out);
}

bool lz4_decompress(std::span<const uint8_t> in, std::span<uint8_t> out) {
  size_t at = 0;
  size_t written = 0;
  while (at < in.size()) {
    const uint8_t token = in[at++];
    size_t literals = token >> 4;
    if (!read_length(in, at, literals)) return false;
    if (literals > in.size() - at || literals > out.size() - written) return false;
    if (literals > 0) std::memcpy(out.data() + written, in.data() + at, literals);
    at += literals;
    written += literals;
    if (at == in.size()) break;  // the last sequence has no match
    if (in.size() - at < 2) return false;
    const size_t offset = in[at] | static_cast<size_t>(in[at + 1]) << 8;
    at += 2;
    size_t length = token & 15;
    if (!read_length(in, at, length)) return false;
    length += kMatchMin;
    if (offset == 0 || offset > written || length > out.size() - written) return false;
    copy_match(out.data() + written, offset, length, out.size() - written);
    written += length;
  }
  return written == out.size();
}

}  // namespace crossdock::scan
