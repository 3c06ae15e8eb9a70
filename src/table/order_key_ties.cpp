// What a word says of its row: where to read on if it is not alone, and which values it stands for.
#include <algorithm>

#include "table/order_key.hpp"
#include "table/order_key_text.hpp"

namespace crossdock {

using namespace order_text;
using keys::RefRows;
using keys::Slice;

uint64_t OrderKeyPlan::field(const Part& part, uint64_t word) const {
  return part.bits == 0 ? 0 : word >> part.shift & low_bits(part.bits);
}

bool OrderKeyPlan::is_null(const Part& part, uint64_t word) const {
  if (!part.any_null) return false;
  const bool set = (word >> part.shift >> part.bits & 1) != 0;
  return part.term.nulls_first ? !set : set;
}

OrderKeyPlan::Ties OrderKeyPlan::ties_of(uint64_t word) const {
  size_t last = 0;
  while (last < parts_.size() && parts_[last].shift >= 0 && parts_[last].whole) ++last;
  if (last == parts_.size() || parts_[last].shift < 0) return start_of(last);
  const Part& part = parts_[last];
  if (is_null(part, word)) return start_of(last + 1);
  if (part.form != OrderForm::kBytes) return {static_cast<int>(last), 0};
  uint64_t text = field(part, word);
  if (part.term.descending) text ^= low_bits(part.bits);
  const auto left = static_cast<int>(text & kTextCountMask);
  if (left <= part.text_bytes) return start_of(last + 1);
  return {static_cast<int>(last), part.prefix_bytes + part.text_bytes};
}

OrderKeyPlan::Ties OrderKeyPlan::ties_after(const Ties& ties, uint64_t word) const {
  const Part& part = parts_[ties.part];
  const auto next = static_cast<size_t>(ties.part) + 1;
  if (ties.depth < 0) {
    const bool null = (word == 0) == part.term.nulls_first;
    return null ? start_of(next) : Ties{ties.part, first_depth(part)};
  }
  if (part.form == OrderForm::kWide && ties.depth == 0) return {ties.part, 1};
  if (part.form != OrderForm::kBytes) return start_of(next);
  if (part.term.descending) word ^= low_bits(kTextWordBits);
  const auto left = static_cast<int>(word & kTextCountMask);
  return left <= kTextBytesMax ? start_of(next) : Ties{ties.part, ties.depth + kTextBytesMax};
}

void OrderKeyPlan::encode_tie_block(
    int side, const Ties& ties, const RowRef* refs, int32_t count, uint64_t* words) const {
  const Part& part = parts_[ties.part];
  const OrderReader& reader = readers_[side][ties.part];
  const RefRows rows{reader.column(), refs};
  const bool down = part.term.descending;
  if (ties.depth < 0) {
    uint8_t valid[kOrderBlockRows];
    reader.read_valid(rows, count, valid);
    const uint8_t first = part.term.nulls_first ? 0 : 1;
    for (int32_t i = 0; i < count; ++i) words[i] = valid[i] ^ first;
  } else if (part.form == OrderForm::kWord) {
    reader.read_words(rows, count, words);
    for (int32_t i = 0; i < count; ++i)
      words[i] = down ? part.base - words[i] : words[i] - part.base;
  } else if (part.form == OrderForm::kWide) {
    UInt128 wide[kOrderBlockRows];
    reader.read_wide(rows, count, wide);
    const int cut = ties.depth == 0 ? 64 : 0;
    for (int32_t i = 0; i < count; ++i) {
      const UInt128 distance = down ? part.wide_base - wide[i] : wide[i] - part.wide_base;
      words[i] = static_cast<uint64_t>(distance >> cut);
    }
  } else {
    Slice slices[kOrderBlockRows];
    reader.read_slices(rows, count, nullptr, slices);
    for (int32_t i = 0; i < count; ++i) __builtin_prefetch(slices[i].data + ties.depth);
    const uint64_t flip = down ? low_bits(kTextWordBits) : 0;
    for (int32_t i = 0; i < count; ++i) {
      words[i] = text_word(slices[i], ties.depth, kTextBytesMax) ^ flip;
    }
  }
}

void OrderKeyPlan::encode_ties(
    int side, const Ties& ties, const RowRef* refs, int64_t count, uint64_t* words) const {
  for (int64_t at = 0; at < count; at += kOrderBlockRows) {
    const auto rows = static_cast<int32_t>(std::min<int64_t>(kOrderBlockRows, count - at));
    encode_tie_block(side, ties, refs + at, rows, words + at);
  }
}

int64_t OrderKeyPlan::shared_bytes(int side,
                                   const Ties& ties,
                                   const RowRef* refs,
                                   int64_t count) const {
  if (parts_[ties.part].form != OrderForm::kBytes || ties.depth < 0) return 0;
  const OrderReader& reader = readers_[side][ties.part];
  Slice first{nullptr, 0};
  int64_t shared = INT64_MAX;
  for (int64_t at = 0; at < count && shared > 0; at += kOrderBlockRows) {
    const auto rows = static_cast<int32_t>(std::min<int64_t>(kOrderBlockRows, count - at));
    Slice slices[kOrderBlockRows];
    reader.read_slices(RefRows{reader.column(), refs + at}, rows, nullptr, slices);
    for (int32_t i = 0; i < rows; ++i) __builtin_prefetch(slices[i].data + ties.depth);
    if (at == 0) {
      first = slices[0];
      shared = std::max<int64_t>(0, first.bytes - ties.depth);
    }
    for (int32_t i = 0; i < rows && shared > 0; ++i) {
      const int64_t both = std::min(shared, slices[i].bytes - ties.depth);
      shared =
          both <= 0 ? 0 : common_bytes(first.data + ties.depth, slices[i].data + ties.depth, both);
    }
  }
  return shared == INT64_MAX ? 0 : shared;
}

bool OrderKeyPlan::can_decode(int index) const {
  const Part& part = parts_[index];
  if (part.shift < 0 || !part.whole || part.loses_bits) return false;
  return readers_[0][index].can_decode();
}

bool OrderKeyPlan::decodes_wide(int index) const { return parts_[index].form == OrderForm::kWide; }

void OrderKeyPlan::decode(int index, const uint64_t* words, int64_t count, uint64_t* values) const {
  const Part& part = parts_[index];
  const OrderReader& reader = readers_[0][index];
  const int shift = part.shift;
  const uint64_t mask = part.bits == 0 ? 0 : low_bits(part.bits);
  const uint64_t base = part.base;
  const bool down = part.term.descending;
  reader.decode_all(count, values, [&](int64_t i) {
    const uint64_t value = words[i] >> (mask == 0 ? 0 : shift) & mask;
    return down ? base - value : base + value;
  });
}

void OrderKeyPlan::decode_wide(int index,
                               const uint64_t* words,
                               int64_t count,
                               Int128* values) const {
  constexpr UInt128 kSign = UInt128{1} << 127;
  const Part& part = parts_[index];
  for (int64_t i = 0; i < count; ++i) {
    const UInt128 value = field(part, words[i]);
    const UInt128 wide = part.term.descending ? part.wide_base - value : part.wide_base + value;
    values[i] = static_cast<Int128>(wide ^ kSign);
  }
}

void OrderKeyPlan::decode_valid(int index,
                                const uint64_t* words,
                                int64_t count,
                                uint8_t* valid) const {
  const Part& part = parts_[index];
  for (int64_t i = 0; i < count; ++i) valid[i] = is_null(part, words[i]) ? 0 : 1;
}

}  // namespace crossdock
