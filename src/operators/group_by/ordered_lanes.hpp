// Lanes as words that order as their values do, equal for equal values, and NaN above all numbers.
#pragma once

#include "operators/group_by/accumulator.hpp"
#include "operators/group_by/ordered_bits.hpp"

namespace crossdock::operators {

// Of 128 bits for kWide, of 64 for the other forms.
template <class Word>
void order_lane(const InputLane& lane, ValueForm form, int32_t rows, Word* words) {
  constexpr Word kSign = Word{1} << (8 * sizeof(Word) - 1);
  if constexpr (sizeof(Word) > sizeof(uint64_t)) {
    for (int32_t i = 0; i < rows; ++i) {
      const auto low = static_cast<int64_t>(lane.words[i]);
      const uint64_t high = lane.high != nullptr ? lane.high[i] : static_cast<uint64_t>(low >> 63);
      words[i] = (Word{high} << 64 | lane.words[i]) ^ kSign;
    }
  } else if (form == ValueForm::kReal) {
    for (int32_t i = 0; i < rows; ++i) {
      const auto value = __builtin_bit_cast(double, lane.words[i]);
      words[i] = value == value ? ordered_bits(value) : ~Word{0};
    }
  } else {
    const Word flips = form == ValueForm::kUnsigned ? Word{0} : kSign;
    for (int32_t i = 0; i < rows; ++i) words[i] = lane.words[i] ^ flips;
  }
}

// The value of a word that order_lane gave, as the lane has it.
template <class Word>
Word lane_value(Word ordered, ValueForm form) {
  if (form == ValueForm::kUnsigned) return ordered;
  if (form == ValueForm::kReal) {
    return __builtin_bit_cast(uint64_t, ordered_value(static_cast<uint64_t>(ordered)));
  }
  return ordered ^ Word { 1 } << (8 * sizeof(Word) - 1);
}

}  // namespace crossdock::operators
