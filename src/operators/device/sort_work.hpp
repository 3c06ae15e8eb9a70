// Kernels of sorts by several columns of any type (device_sort.hpp says how): words that order as columns do, and ties
// that remain after them.
//
// A digit is up to 64 bits of what rows are ordered by: columns side by side where their values have room, half of a
// decimal, or seven bytes of a text above how many of them there are, so that "a" comes before "a\0". Digits of fewer
// than 64 bits are positive, others order as signed numbers.
//
// Bound per row of a tie and digit: 8 bytes of its place, the columns and 8 to 24 bytes at random, 40 in order.
#pragma once

#include <cstdint>

#include "operators/device/column_work.hpp"
#include "operators/device/device_values.hpp"
#include "operators/device/key_table.hpp"
#include "operators/device/word_range.hpp"

namespace crossdock::operators {

inline constexpr uint32_t kSortFieldsMax = 8;
inline constexpr uint64_t kSortTextBytes = 7;  // of a digit

enum class SortPart : uint8_t { kPresence, kValue, kHighHalf, kLowHalf, kText };

// Part of a column, as an unsigned number of so many bits. All NULLs are one.
struct SortField {
  DeviceValues values{};
  SortPart part = SortPart::kValue;
  uint64_t base = 0;  // the least ordered word of kValue
  uint32_t bits = 64;
  uint32_t shift = 0;  // in its digit
  bool is_descending = false;
  bool nulls_first = false;

  CD_HOST_DEVICE uint64_t word(uint64_t row, uint64_t first_byte) const {
    const bool is_valid = values.is_valid(row);
    if (part == SortPart::kPresence) return is_valid == nulls_first ? 1 : 0;
    if (!is_valid) return 0;
    const uint64_t mask = ~uint64_t{0} >> (64 - bits);
    const uint64_t word = ascending_word(row, first_byte);
    return (is_descending ? ~word : word) & mask;
  }

 private:
  CD_HOST_DEVICE uint64_t ascending_word(uint64_t row, uint64_t first_byte) const {
    switch (part) {
      case SortPart::kHighHalf:
        return values.high_word(row) ^ kSignBit;
      case SortPart::kLowHalf:
        return values.word(row);
      case SortPart::kText: {
        const DeviceText text = values.text(row);
        const uint64_t left = text.bytes - first_byte;
        return (DeviceValues::text_word(text, first_byte) & ~uint64_t{0xFF}) |
               (left > kSortTextBytes ? kSortTextBytes + 1 : left);
      }
      default:
        return values.ordered_word(row, false) - base;
    }
  }
};

struct SortDigit {
  uint32_t count = 0;
  uint32_t bits = 0;
  uint64_t first_byte = 0;  // of strings
  SortField fields[kSortFieldsMax] = {};

  CD_HOST_DEVICE uint64_t word(uint64_t row) const {
    uint64_t word = 0;
    for (uint32_t at = 0; at < count; ++at)
      word |= fields[at].word(row, first_byte) << fields[at].shift;
    return bits == 64 ? word ^ kSignBit : word;
  }
  bool is_text() const { return fields[0].part == SortPart::kText; }
  // Of a word of strings: they have more bytes than it shows.
  CD_HOST_DEVICE bool goes_on(uint64_t word) const {
    return ((fields[0].is_descending ? ~word : word) & 0xFF) == kSortTextBytes + 1;
  }
};

// words[i] = the digit of row i, or of row rows[i].
struct ReadSortWords {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  SortDigit digit{};
  const uint64_t* rows = nullptr;
  uint64_t count = 0;
  uint64_t* words = nullptr;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    for_grid(place, group, count, [&](uint64_t at) {
      words[at] = digit.word(rows == nullptr ? at : rows[at]);
    });
  }
};

// Places of rows that are tied with a neighbour so far, in ascending order, so that ties lie one behind the other.
struct TiedPlaces {
  const uint64_t* places = nullptr;  // left out: from 0 on
  uint64_t count = 0;

  CD_HOST_DEVICE uint64_t at(uint64_t which) const {
    return places == nullptr ? which : places[which];
  }
};

// Puts sorted rows into the places of their ties, and says where ties end now.
struct PlaceRows {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  TiedPlaces tied{};
  const uint64_t* taken = nullptr;  // rows that stood there; left out: 0, 1, …
  const uint64_t* ties = nullptr;   // number of each tie; left out: there is one
  const uint64_t* words = nullptr;
  const uint64_t* order = nullptr;  // which of the places has the row that comes here
  uint64_t* rows = nullptr;         // by place
  uint64_t* ends = nullptr;         // by place: 1 at the end of a tie, else 0

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    for_grid(place, group, tied.count, [&](uint64_t at) {
      const uint64_t from = order[at];
      const bool is_end = at + 1 == tied.count || (ties != nullptr && ties[at] != ties[at + 1]) ||
                          words[from] != words[order[at + 1]];
      rows[tied.at(at)] = taken == nullptr ? from : taken[from];
      ends[tied.at(at)] = is_end ? 1 : 0;
    });
  }
};

// stays[i] = 1 where place i of the list is tied still; of strings also only where they go on.
struct MarkTies {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  TiedPlaces tied{};
  const uint64_t* ends = nullptr;
  SortDigit digit{};
  const uint64_t* words = nullptr;  // of the digit, in this order; left out: ends alone count
  const uint64_t* order = nullptr;
  uint64_t* stays = nullptr;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    for_grid(place, group, tied.count, [&](uint64_t at) {
      const uint64_t mine = tied.at(at);
      const bool is_alone = ends[mine] != 0 && (mine == 0 || ends[mine - 1] != 0);
      const bool goes_on = words == nullptr || digit.goes_on(words[order[at]]);
      stays[at] = !is_alone && goes_on ? 1 : 0;
    });
  }
};

// The places from `first` on where a tie ends.
struct TieEnds {
  const uint64_t* ends = nullptr;
  uint64_t first = 0;

  CD_HOST_DEVICE WordRange at(uint64_t which) const {
    const auto place = static_cast<int64_t>(first + which);
    return ends[place] == 0 ? kNoRange : WordRange{place, place};
  }
};

}  // namespace crossdock::operators
