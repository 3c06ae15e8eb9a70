#include "table/order_key.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.hpp"
#include "table/order_key_text.hpp"

namespace crossdock {

using namespace order_text;

namespace {

constexpr int kMoreThanAWord = 1024;  // bits of a part that no word holds, small enough for sums

using keys::RangeRows;
using keys::RefRows;
using keys::Slice;

int bit_width128(UInt128 value) {
  const auto high = static_cast<uint64_t>(value >> 64);
  return high != 0 ? 64 + static_cast<int>(std::bit_width(high))
                   : static_cast<int>(std::bit_width(static_cast<uint64_t>(value)));
}

// Where the values of a column lie, by number of the column: rows of a batch, or rows by reference.
struct BatchRows {
  const Batch& batch;
  int64_t begin;
  RangeRows of(int column) const { return {batch.columns[column], begin}; }
};
struct StoreRows {
  const RowStore& store;
  const RowRef* refs;
  RefRows of(int column) const { return {store.column(column), refs}; }
};

void widen_text(OrderRange& range, const Slice* slices, const uint8_t* valid, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    if (valid != nullptr && valid[i] == 0) continue;
    const Slice& slice = slices[i];
    if (!range.any_value) {
      range.any_value = true;
      range.prefix.assign(reinterpret_cast<const char*>(slice.data),
                          static_cast<size_t>(slice.bytes));
    }
    range.bytes_max = std::max(range.bytes_max, slice.bytes);
    const auto known = static_cast<int64_t>(range.prefix.size());
    const int64_t shared = common_bytes(reinterpret_cast<const uint8_t*>(range.prefix.data()),
                                        slice.data,
                                        std::min(known, slice.bytes));
    if (shared < known) range.prefix.resize(static_cast<size_t>(shared));
  }
}

template <class Word>
void widen(Word& low, Word& high, const Word* words, const uint8_t* valid, int32_t count) {
  Word min = low;
  Word max = high;
  if (valid == nullptr) {
    for (int32_t i = 0; i < count; ++i) {
      min = std::min(min, words[i]);
      max = std::max(max, words[i]);
    }
  } else {
    for (int32_t i = 0; i < count; ++i) {
      if (valid[i] == 0) continue;
      min = std::min(min, words[i]);
      max = std::max(max, words[i]);
    }
  }
  low = min;
  high = max;
}

}  // namespace

void OrderRange::merge(const OrderRange& other) {
  any_null |= other.any_null;
  loses_bits |= other.loses_bits;
  beyond |= other.beyond;
  min_word = std::min(min_word, other.min_word);
  max_word = std::max(max_word, other.max_word);
  min_wide = std::min(min_wide, other.min_wide);
  max_wide = std::max(max_wide, other.max_wide);
  bytes_max = std::max(bytes_max, other.bytes_max);
  if (!other.any_value) return;
  if (!any_value) prefix = other.prefix;
  const size_t shared = std::min(prefix.size(), other.prefix.size());
  prefix.resize(
      static_cast<size_t>(common_bytes(reinterpret_cast<const uint8_t*>(prefix.data()),
                                       reinterpret_cast<const uint8_t*>(other.prefix.data()),
                                       static_cast<int64_t>(shared))));
  any_value = true;
}

Result<OrderKeyPlan> OrderKeyPlan::create(std::vector<OrderTerm> terms,
                                          std::vector<OrderSide> sides,
                                          DictionaryStrings strings) {
  if (terms.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "an order needs one key at least");
  }
  OrderKeyPlan plan;
  for (const OrderTerm& term : terms) plan.parts_.push_back({.term = term});
  plan.readers_.resize(sides.size());
  for (size_t p = 0; p < terms.size(); ++p) {
    bool unsigned_words = false;
    bool has_ranks = strings == DictionaryStrings::kRanks;
    std::vector<OrderReader*> readers;
    for (const OrderSide& side : sides) {
      const ChunkedColumn& column = side.store->column(side.columns[p]);
      const DataType& type = column.field->type;
      const bool dictionary = type.id == TypeId::kDictionary;
      unsigned_words |= (dictionary ? *type.dictionary : type).id == TypeId::kUInt64;
      has_ranks &= dictionary;
    }
    for (size_t s = 0; s < sides.size(); ++s) {
      const ChunkedColumn& column = sides[s].store->column(sides[s].columns[p]);
      plan.readers_[s].emplace_back(column, terms[p].kind, unsigned_words);
    }
    for (auto& side : plan.readers_) readers.push_back(&side[p]);
    if (has_ranks && terms[p].kind.form == KeyForm::kBytes) rank_dictionaries(readers);
    plan.parts_[p].form = readers[0]->form();
  }
  plan.sides_ = std::move(sides);
  return plan;
}

void OrderKeyPlan::scan(
    int side, const Batch& batch, int64_t begin, int64_t count, OrderRanges& ranges) const {
  for (int64_t at = 0; at < count; at += kOrderBlockRows) {
    const auto rows = static_cast<int32_t>(std::min<int64_t>(kOrderBlockRows, count - at));
    scan_block(side, batch, begin + at, rows, ranges);
  }
}

void OrderKeyPlan::scan_block(
    int side, const Batch& batch, int64_t begin, int32_t count, OrderRanges& ranges) const {
  for (size_t p = 0; p < parts_.size(); ++p) {
    const OrderReader& reader = readers_[side][p];
    const RangeRows rows{batch.columns[sides_[side].columns[p]], begin};
    OrderRange& range = ranges[p];
    uint8_t valid_rows[kOrderBlockRows];
    const uint8_t* valid = nullptr;
    if (reader.any_nulls()) {
      reader.read_valid(rows, count, valid_rows);
      if (std::memchr(valid_rows, 0, static_cast<size_t>(count)) != nullptr) {
        valid = valid_rows;
        range.any_null = true;
      }
    }
    if (parts_[p].form == OrderForm::kBytes) {
      Slice slices[kOrderBlockRows];
      reader.read_slices(rows, count, valid, slices);
      widen_text(range, slices, valid, count);
    } else if (parts_[p].form == OrderForm::kWide) {
      UInt128 wide[kOrderBlockRows];
      range.beyond |= reader.read_wide(rows, count, wide);
      widen(range.min_wide, range.max_wide, wide, valid, count);
    } else {
      uint64_t words[kOrderBlockRows];
      reader.read_words(rows, count, words);
      if (!range.loses_bits) range.loses_bits = reader.loses_bits(rows, count, words);
      widen(range.min_word, range.max_word, words, valid, count);
    }
  }
}

OrderRanges merged(const std::vector<OrderRanges>& by_worker) {
  OrderRanges all = by_worker.front();
  for (size_t worker = 1; worker < by_worker.size(); ++worker) {
    for (size_t part = 0; part < all.size(); ++part) all[part].merge(by_worker[worker][part]);
  }
  return all;
}

OrderRanges OrderKeyPlan::any_ranges() const {
  OrderRanges ranges = make_ranges();
  for (size_t p = 0; p < parts_.size(); ++p) {
    OrderRange& range = ranges[p];
    range.any_value = true;
    range.loses_bits = readers_[0][p].is_floating();
    range.beyond = readers_.size() > 1;
    range.min_word = 0;
    range.max_word = UINT64_MAX;
    range.min_wide = 0;
    range.max_wide = ~UInt128{0};
    range.bytes_max = INT64_MAX;
    for (const auto& side : readers_) range.any_null |= side[p].any_nulls();
  }
  return ranges;
}

OrderKeyPlan::Ties OrderKeyPlan::start_of(size_t part) const {
  if (part >= parts_.size()) return {part_count(), 0};
  return {static_cast<int>(part), parts_[part].any_null ? -1 : first_depth(parts_[part])};
}

void OrderKeyPlan::settle_part(Part& part, const OrderRange& range) {
  part.any_null = range.any_null;
  part.loses_bits = range.loses_bits;
  part.beyond = range.beyond;
  part.whole = false;
  part.shift = -1;
  const bool down = part.term.descending;
  switch (part.form) {
    case OrderForm::kWord: {
      const bool none = range.min_word > range.max_word;
      part.base = none ? 0 : (down ? range.max_word : range.min_word);
      part.full_bits = none ? 0 : static_cast<int>(std::bit_width(range.max_word - range.min_word));
      break;
    }
    case OrderForm::kWide: {
      const bool none = range.min_wide > range.max_wide;
      part.wide_base = none ? 0 : (down ? range.max_wide : range.min_wide);
      part.full_bits = none ? 0 : bit_width128(range.max_wide - range.min_wide);
      break;
    }
    case OrderForm::kBytes: {
      part.prefix_bytes = static_cast<int64_t>(range.prefix.size());
      const int64_t rest = range.bytes_max - part.prefix_bytes;
      part.full_bits =
          rest > kTextBytesMax ? kMoreThanAWord : static_cast<int>(8 * rest) + kTextCountBits;
      break;
    }
  }
}

// Gives the part what it needs of the `room` bits left, and answers whether another may follow.
bool OrderKeyPlan::place(Part& part, int& room) {
  const int null_bits = part.any_null ? 1 : 0;
  if (room <= null_bits && part.full_bits + null_bits > room) return false;
  part.bits = std::min(part.full_bits, room - null_bits);
  if (part.form == OrderForm::kBytes) {
    part.text_bytes = std::min((part.bits - kTextCountBits) / 8, kTextBytesMax);
    if (part.text_bytes < 0 || part.bits < kTextCountBits) return false;
    part.bits = 8 * part.text_bytes + kTextCountBits;
  }
  part.whole = part.bits == part.full_bits && !part.beyond;
  room -= part.bits + null_bits;
  part.shift = room;  // from the top; moved down when all are placed
  return part.whole;
}

void OrderKeyPlan::settle(const OrderRanges& ranges) {
  CD_CHECK(ranges.size() == parts_.size(), "ranges {} parts {}", ranges.size(), parts_.size());
  int room = 64;
  exact_ = true;
  beyond_ = false;
  for (size_t p = 0; p < parts_.size(); ++p) {
    settle_part(parts_[p], ranges[p]);
    beyond_ |= ranges[p].beyond;
  }
  for (Part& part : parts_) exact_ = exact_ && place(part, room);
  for (Part& part : parts_) {
    if (part.shift >= 0) part.shift -= room;
  }
  word_bits_ = 64 - room;
}

// values[i]: the part's bits of the word, its null bit included, at bit 0.
template <class Rows>
void OrderKeyPlan::load_part(
    int side, int index, const Rows& rows, int32_t count, uint64_t* values) const {
  const Part& part = parts_[index];
  const OrderReader& reader = readers_[side][index];
  uint8_t valid[kOrderBlockRows];
  if (part.any_null) reader.read_valid(rows, count, valid);
  const bool down = part.term.descending;
  const int cut = part.full_bits - part.bits;
  if (part.form == OrderForm::kWord) {
    // Words are stored integers with the sign bit flipped, if they have one; to flip it is to add it,
    // which the base can do.
    const uint64_t base = reader.is_stored() ? part.base ^ reader.flip() : part.base;
    reader.is_stored() ? reader.read_stored(rows, count, values)
                       : reader.read_words(rows, count, values);
    if (down) {
      for (int32_t i = 0; i < count; ++i) values[i] = base - values[i];
    } else if (base != 0) {
      for (int32_t i = 0; i < count; ++i) values[i] -= base;
    }
    if (cut > 0) {
      for (int32_t i = 0; i < count; ++i) values[i] >>= cut;
    }
  } else if (part.form == OrderForm::kWide) {
    UInt128 wide[kOrderBlockRows];
    reader.read_wide(rows, count, wide);
    for (int32_t i = 0; i < count; ++i) {
      const UInt128 distance = down ? part.wide_base - wide[i] : wide[i] - part.wide_base;
      values[i] = cut >= 128 ? 0 : static_cast<uint64_t>(distance >> cut);
    }
  } else {
    Slice slices[kOrderBlockRows];
    reader.read_slices(rows, count, part.any_null ? valid : nullptr, slices);
    for (int32_t i = 0; i < count; ++i) {
      values[i] = part.text_bytes == 0 ? (slices[i].bytes > part.prefix_bytes ? 1 : 0)
                                       : text_word(slices[i], part.prefix_bytes, part.text_bytes);
    }
    if (down) {
      const uint64_t mask = low_bits(part.bits);
      for (int32_t i = 0; i < count; ++i) values[i] ^= mask;
    }
  }
  if (!part.any_null) return;
  const uint64_t null_code = part.term.nulls_first ? 0 : uint64_t{1} << part.bits;
  const uint64_t value_code = part.term.nulls_first ? uint64_t{1} << part.bits : 0;
  for (int32_t i = 0; i < count; ++i)
    values[i] = valid[i] != 0 ? values[i] | value_code : null_code;
}

template <class Source>
void OrderKeyPlan::encode_rows(int side,
                               const Source& source,
                               int32_t count,
                               uint64_t* words) const {
  uint64_t values[kOrderBlockRows];
  bool first = true;
  for (size_t p = 0; p < parts_.size() && parts_[p].shift >= 0; ++p) {
    const int shift = parts_[p].shift;
    const auto rows = source.of(sides_[side].columns[p]);
    load_part(side, static_cast<int>(p), rows, count, first ? words : values);
    if (!first) {
      for (int32_t i = 0; i < count; ++i) words[i] |= values[i] << shift;
    } else if (shift > 0) {
      for (int32_t i = 0; i < count; ++i) words[i] <<= shift;
    }
    first = false;
  }
  if (first) std::fill_n(words, count, uint64_t{0});
}

void OrderKeyPlan::encode(
    int side, const Batch& batch, int64_t begin, int64_t count, uint64_t* words) const {
  for (int64_t at = 0; at < count; at += kOrderBlockRows) {
    const auto rows = static_cast<int32_t>(std::min<int64_t>(kOrderBlockRows, count - at));
    encode_rows(side, BatchRows{batch, begin + at}, rows, words + at);
  }
}

void OrderKeyPlan::encode(int side, const RowRef* refs, int64_t count, uint64_t* words) const {
  for (int64_t at = 0; at < count; at += kOrderBlockRows) {
    const auto rows = static_cast<int32_t>(std::min<int64_t>(kOrderBlockRows, count - at));
    encode_rows(side, StoreRows{*sides_[side].store, refs + at}, rows, words + at);
  }
}

}  // namespace crossdock
