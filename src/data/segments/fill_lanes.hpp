// The loops that fill lanes: one per width and way to name rows.
// For rooms that fill lanes: this one and the bulk exchange.
//
// Rows are named as a run or by a list; dictionaries are looked up block by block, and then are a list of rows of their
// values. Bits are put together 64 at a time; only the words at both ends of a ticket are shared with other producers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/integer_types.hpp"
#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/segment_bits.hpp"

namespace crossdock::segments::filling {

// Rows first, first + 1, …
struct RowRun {
  static constexpr bool kIsRun = true;
  uint32_t first;
  uint32_t operator[](uint32_t i) const { return first + i; }
  RowRun from(uint32_t i) const { return {first + i}; }
};

struct RowList {
  static constexpr bool kIsRun = false;
  const uint32_t* rows;
  uint32_t operator[](uint32_t i) const { return rows[i]; }
  RowList from(uint32_t i) const { return {rows + i}; }
};

// Bits of a column's bitmap by row.
struct BitSource {
  const uint8_t* bits;
  uint64_t offset;

  bool operator()(uint32_t row) const {
    const uint64_t at = offset + row;
    return (bits[at >> 3] >> (at & 7)) & 1;
  }
};

// `count` bits from `row` on, of 64 at most; the rest is 0. Reads no byte that holds none of them.
inline uint64_t load_bits(const BitSource& source, uint32_t row, uint32_t count) {
  const uint64_t at = source.offset + row;
  const uint8_t* from = source.bits + (at >> 3);
  const auto shift = static_cast<uint32_t>(at & 7);
  uint64_t bits = 0;
  uint8_t more = 0;
  if (shift + count > 64) more = from[8];
  std::memcpy(&bits, from, std::min<size_t>(8, (shift + count + 7) / 8));
  bits >>= shift;
  if (more != 0) bits |= uint64_t{more} << (64 - shift);
  return count < 64 ? bits & ((uint64_t{1} << count) - 1) : bits;
}

template <class Rows>
uint64_t gather_bits(const BitSource& source, const Rows& rows, uint32_t begin, uint32_t count) {
  if constexpr (Rows::kIsRun) {
    return load_bits(source, rows[begin], count);
  } else {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < count; ++i) bits |= uint64_t{source(rows[begin + i])} << i;
    return bits;
  }
}

// Sets bits [first, first + count) to those that bits_of(begin, n) answers for n <= 64 of them.
template <class BitsOf>
void put_bits(uint64_t* bitmap, uint64_t first, uint32_t count, const BitsOf& bits_of) {
  uint32_t done = 0;
  while (done < count) {
    const uint64_t at = first + done;
    const uint32_t part = std::min<uint32_t>(count - done, 64 - static_cast<uint32_t>(at % 64));
    const uint64_t bits = bits_of(done, part);
    if (part == 64) {
      bitmap[at / 64] = bits;  // no other thread has rows of this word
    } else {
      rings::or_bits<rings::CpuRingTraits>(bitmap, at, part, bits);
    }
    done += part;
  }
}

inline void put_ones(uint64_t* bitmap, uint64_t first, uint32_t count) {
  put_bits(bitmap, first, count, [](uint32_t, uint32_t) { return ~uint64_t{0}; });
}

template <class Rows>
void put_bits_of(
    uint64_t* bitmap, uint64_t first, uint32_t count, const BitSource& source, const Rows& rows) {
  put_bits(bitmap, first, count, [&](uint32_t begin, uint32_t part) {
    return gather_bits(source, rows, begin, part);
  });
}

// Copies with plain stores of a line at a time. Who reads a segment is on another core as a rule, and a long memcpy,
// which is one instruction of the processor there, is slower where the other core has the lines: two processes on
// Cascade Lake, segments of 64 KiB to 1 MiB, 9.9 to 10.3 GB/s with it and 11.9 to 12.1 so, from memory 5.8 and 7.1;
// stores that go around the cache 9.4. Where both threads share one core all copy 16 to 18.
inline void copy_lines(const uint8_t* from, std::byte* to, size_t bytes) {
  using Part [[gnu::vector_size(16)]] = uint64_t;  // a register
  constexpr size_t kLineBytes = 64;
  size_t done = 0;
  for (; done + kLineBytes <= bytes; done += kLineBytes) {
    Part parts[4];
    for (size_t i = 0; i < 4; ++i) std::memcpy(&parts[i], from + done + 16 * i, 16);
    for (size_t i = 0; i < 4; ++i) std::memcpy(to + done + 16 * i, &parts[i], 16);
    asm volatile("" ::: "memory");  // or compilers make one memcpy of the loop
  }
  std::memcpy(to + done, from + done, bytes - done);
}

// to[i] = from[rows[i]]
template <class T, class Rows>
void copy_values(const uint8_t* from, const Rows& rows, uint32_t count, std::byte* to) {
  if constexpr (Rows::kIsRun) {
    copy_lines(from + size_t{rows.first} * sizeof(T), to, size_t{count} * sizeof(T));
  } else {
    const T* __restrict values = reinterpret_cast<const T*>(from);
    const uint32_t* __restrict list = rows.rows;
    T* __restrict out = reinterpret_cast<T*>(to);
    for (uint32_t i = 0; i < count; ++i) out[i] = values[list[i]];
  }
}

// Values of `width_bytes` 1, 2, 4, 8 or 16.
template <class Rows>
void copy_fixed(
    uint32_t width_bytes, const uint8_t* from, const Rows& rows, uint32_t count, std::byte* to) {
  with_word(static_cast<int>(width_bytes),
            [&](auto zero) { copy_values<decltype(zero)>(from, rows, count, to); });
}

}  // namespace crossdock::segments::filling
