// Counting passes from a low digit to a high one, then insertion.
#include "data/sorters/word_sort.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace crossdock::sorters {
namespace {

// 1,024 open lines; 9 are as fast, 8 leave more to the insertion sort.
constexpr int kDigitBits = 10;
constexpr int kDigits = 1 << kDigitBits;
constexpr int64_t kInsertionRows = 40;     // fewer rows than this are inserted at once
constexpr int64_t kInCacheRows = 1 << 16;  // rows and scratch: 2 MiB of pairs, twice Zen 4's L2
constexpr int kPassesMax = (64 + kDigitBits - 1) / kDigitBits;
constexpr int64_t kMovesPerRow = 4;  // of the insertion sort, before counting is cheaper

struct Nothing {};

// Lanes of words and of what they carry, if anything.
template <class Carry>
struct Lanes {
  uint64_t* words;
  Carry* carry;
  static constexpr bool kHasCarry = !std::is_same_v<Carry, Nothing>;

  Lanes at(int64_t row) const {
    if constexpr (kHasCarry) return {words + row, carry + row};
    return {words + row, nullptr};
  }
  void copy_from(const Lanes& from, int64_t n) const {
    std::memcpy(words, from.words, static_cast<size_t>(n) * sizeof(uint64_t));
    if constexpr (kHasCarry) std::memcpy(carry, from.carry, static_cast<size_t>(n) * sizeof(Carry));
  }
};

// Answers false if it stopped because too many rows had to move; the rows are then in some order.
// Stable only if it did not stop, so the caller keeps what it needs to start again.
template <class Carry>
bool insertion_sort(const Lanes<Carry>& rows, int64_t n, int64_t moves_max) {
  uint64_t* const words = rows.words;
  int64_t moves = 0;
  for (int64_t i = 1; i < n; ++i) {
    const uint64_t word = words[i];
    if (word >= words[i - 1]) continue;
    Carry carried{};
    if constexpr (Lanes<Carry>::kHasCarry) carried = rows.carry[i];
    int64_t at = i;
    do {
      words[at] = words[at - 1];
      if constexpr (Lanes<Carry>::kHasCarry) rows.carry[at] = rows.carry[at - 1];
      --at;
    } while (at > 0 && word < words[at - 1]);
    words[at] = word;
    if constexpr (Lanes<Carry>::kHasCarry) rows.carry[at] = carried;
    moves += i - at;
    if (moves > moves_max) return false;
  }
  return true;
}

// One counting pass: `starts` holds where each digit's rows go.
template <class Carry>
void scatter_digit(
    const Lanes<Carry>& from, int64_t n, int shift, uint32_t* starts, const Lanes<Carry>& to) {
  constexpr uint64_t kMask = kDigits - 1;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t word = from.words[i];
    const uint32_t at = starts[word >> shift & kMask]++;
    to.words[at] = word;
    if constexpr (Lanes<Carry>::kHasCarry) to.carry[at] = from.carry[i];
  }
}

// Counts become starts; answers false if one digit has all rows, so that the pass may be skipped.
bool starts_of(uint32_t* counts, int64_t n) {
  uint32_t sum = 0;
  bool one = false;
  for (int digit = 0; digit < kDigits; ++digit) {
    one |= counts[digit] == n;
    sum += std::exchange(counts[digit], sum);
  }
  return !one;
}

// Sorts by the bits [low, low + passes * kDigitBits). The result is in `rows`.
template <class Carry>
void counting_sort(
    const Lanes<Carry>& rows, int64_t n, int low, int passes, const Lanes<Carry>& scratch) {
  constexpr uint64_t kMask = kDigits - 1;
  uint32_t counts[kPassesMax][kDigits];
  std::memset(counts, 0, static_cast<size_t>(passes) * sizeof(counts[0]));
  if (passes == 2) {  // the usual case, without an inner loop
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t word = rows.words[i] >> low;
      ++counts[0][word & kMask];
      ++counts[1][word >> kDigitBits & kMask];
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      uint64_t word = rows.words[i] >> low;
      for (int pass = 0; pass < passes; ++pass, word >>= kDigitBits) ++counts[pass][word & kMask];
    }
  }
  Lanes<Carry> from = rows;
  Lanes<Carry> to = scratch;
  for (int pass = 0; pass < passes; ++pass) {
    if (!starts_of(counts[pass], n)) continue;
    scatter_digit(from, n, low + pass * kDigitBits, counts[pass], to);
    std::swap(from, to);
  }
  if (from.words != rows.words) rows.copy_from(from, n);
}

struct Shape {
  uint64_t different = 0;  // bits in which some words differ
  bool sorted = true;
};

Shape shape_of(const uint64_t* words, int64_t n) {
  Shape shape;
  uint64_t different = 0;
  uint64_t descents = 0;
  for (int64_t i = 1; i < n; ++i) {
    different |= words[i] ^ words[0];
    descents |= words[i] < words[i - 1] ? 1 : 0;
  }
  shape.different = different;
  shape.sorted = descents == 0;
  return shape;
}

// Digits that leave less than a tenth of the rows with a neighbour out of order, if words lie evenly.
int digits_for(int64_t n) {
  return std::bit_width(static_cast<uint64_t>(n)) + 3 > kDigitBits ? 2 : 1;
}

template <class Carry>
void sort_in_cache(const Lanes<Carry>& rows, int64_t n, int bits, const Lanes<Carry>& scratch) {
  const int passes_all = (bits + kDigitBits - 1) / kDigitBits;
  const int passes = std::min(passes_all, digits_for(n));
  if (passes == passes_all) return counting_sort(rows, n, 0, passes, scratch);
  const int low = bits - passes * kDigitBits;
  counting_sort(rows, n, low, passes, scratch);
  if (insertion_sort(rows, n, n * kMovesPerRow)) return;
  // Equal words never pass each other, so the order is still a stable one to start from.
  counting_sort(rows, n, 0, passes_all, scratch);
}

// Larger than a cache: by the highest digit first, each part by itself.
template <class Carry>
void sort_any(const Lanes<Carry>& rows, int64_t n, const Lanes<Carry>& scratch) {
  if (n <= kInsertionRows) {
    insertion_sort(rows, n, INT64_MAX);
    return;
  }
  const Shape shape = shape_of(rows.words, n);
  if (shape.sorted) return;
  const auto bits = static_cast<int>(std::bit_width(shape.different));
  if (n <= kInCacheRows || bits <= kDigitBits) return sort_in_cache(rows, n, bits, scratch);
  constexpr uint64_t kMask = kDigits - 1;
  const int shift = bits - kDigitBits;
  uint32_t starts[kDigits + 1] = {0};
  for (int64_t i = 0; i < n; ++i) ++starts[rows.words[i] >> shift & kMask];
  starts_of(starts, n);
  uint32_t ends[kDigits];
  std::copy_n(starts, kDigits, ends);
  scatter_digit(rows, n, shift, ends, scratch);
  for (int digit = 0; digit < kDigits; ++digit) {
    const int64_t begin = starts[digit];
    const int64_t count = ends[digit] - begin;
    if (count == 0) continue;
    rows.at(begin).copy_from(scratch.at(begin), count);
    sort_any(rows.at(begin), count, scratch.at(begin));
  }
}

}  // namespace

void sort_words(uint64_t* words, int64_t n, uint64_t* scratch) {
  sort_any<Nothing>({words, nullptr}, n, {scratch, nullptr});
}

void sort_pairs(const PairLanes& rows, int64_t n, const PairLanes& scratch) {
  sort_any<uint64_t>({rows.words, rows.carry}, n, {scratch.words, scratch.carry});
}

void sort_pairs(const RefLanes& rows, int64_t n, const RefLanes& scratch) {
  sort_any<uint32_t>({rows.words, rows.carry}, n, {scratch.words, scratch.carry});
}

}  // namespace crossdock::sorters
