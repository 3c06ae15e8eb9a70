#include "table/order_key_reader.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"

namespace crossdock {
namespace {

using keys::RangeRows;
using keys::RefRows;
using keys::Slice;

UInt128 wide_order(Int128 value) {
  constexpr UInt128 kSign = UInt128{1} << 127;
  return static_cast<UInt128>(value) ^ kSign;
}

OrderForm form_of(KeyForm form) {
  switch (form) {
    case KeyForm::kBytes:
      return OrderForm::kBytes;
    case KeyForm::kInteger128:
    case KeyForm::kInstant:
    case KeyForm::kDecimal:
      return OrderForm::kWide;
    default:
      return OrderForm::kWord;
  }
}

}  // namespace

int compare_strings(const Slice& a, const Slice& b) {
  const int64_t shared = std::min(a.bytes, b.bytes);
  const int order = shared <= 0 ? 0 : std::memcmp(a.data, b.data, static_cast<size_t>(shared));
  if (order != 0) return order;
  return a.bytes < b.bytes ? -1 : (a.bytes > b.bytes ? 1 : 0);
}

OrderReader::OrderReader(const ChunkedColumn& column, const KeyKind& kind, bool unsigned_words)
    : column_(&column), side_(make_key_side(column.field->type, kind)), form_(form_of(kind.form)) {
  floating_ = kind.form == KeyForm::kFloat;
  flip_ = kind.form == KeyForm::kInteger64 && !unsigned_words ? kSignBit : 0;
  if (side_.dictionary) load_dictionary();
}

// In blocks, since the readers' scratch is sized for them.
void OrderReader::load_dictionary() {
  const ColumnView& dictionary = *column_->dictionary;
  CD_CHECK(dictionary.length <= INT32_MAX, "dictionary of {} values", dictionary.length);
  const auto count = static_cast<int32_t>(dictionary.length);
  value_count_ = std::max<uint64_t>(1, count);  // one at least, for indices of null rows
  const RangeRows all{dictionary, 0};
  if (all.any_nulls()) {
    values_.valid.assign(value_count_, 1);
    keys::read_valid(all, count, values_.valid.data());
  }
  if (form_ == OrderForm::kBytes) {
    values_.slices.assign(value_count_, Slice{nullptr, 0});
    const uint8_t* valid = values_.valid.empty() ? nullptr : values_.valid.data();
    keys::read_slices(all, side_.stored, valid, count, values_.slices.data());
  } else if (form_ == OrderForm::kWide) {
    values_.wide.assign(value_count_, 0);
    for (int32_t at = 0; at < count; at += kOrderBlockRows) {
      const int32_t rows = std::min(kOrderBlockRows, count - at);
      values_.beyond |= read_stored_wide(RangeRows{dictionary, at}, rows, &values_.wide[at]);
    }
    if (values_.beyond) values_.unscaled.assign(value_count_, 0);
    for (int32_t at = 0; values_.beyond && at < count; at += kOrderBlockRows) {
      const int32_t rows = std::min(kOrderBlockRows, count - at);
      read_plain_wide(RangeRows{dictionary, at}, rows, &values_.unscaled[at]);
    }
  } else {
    values_.words.assign(value_count_, 0);
    keys::read_words(all, side_.stored, count, values_.words.data());
    to_order(count, values_.words.data());
  }
}

void OrderReader::to_order(int32_t count, uint64_t* words) const {
  if (floating_) {
    for (int32_t i = 0; i < count; ++i) words[i] = order_of_float(words[i]);
  } else if (flip_ != 0) {
    for (int32_t i = 0; i < count; ++i) words[i] ^= kSignBit;
  }
}

template <class Rows>
void OrderReader::read_indices(const Rows& rows, int32_t count, uint64_t* indices) const {
  keys::read_words(rows, side_.index, count, indices);
  for (int32_t i = 0; i < count; ++i) indices[i] = indices[i] < value_count_ ? indices[i] : 0;
}

template <class Rows>
void OrderReader::read_valid(const Rows& rows, int32_t count, uint8_t* valid) const {
  if (rows.any_nulls()) {
    keys::read_valid(rows, count, valid);
  } else {
    std::memset(valid, 1, static_cast<size_t>(count));
  }
  if (values_.valid.empty()) return;
  uint64_t indices[kOrderBlockRows];
  read_indices(rows, count, indices);
  for (int32_t i = 0; i < count; ++i) valid[i] &= values_.valid[indices[i]];
}

template <class Rows>
void OrderReader::read_words(const Rows& rows, int32_t count, uint64_t* words) const {
  if (side_.dictionary) {
    read_indices(rows, count, words);
    for (int32_t i = 0; i < count; ++i) words[i] = values_.words[words[i]];
    return;
  }
  keys::read_words(rows, side_.stored, count, words);
  to_order(count, words);
}

template <class Rows>
bool OrderReader::read_stored_wide(const Rows& rows, int32_t count, UInt128* wide) const {
  Int128 values[kOrderBlockRows];
  uint8_t overflow[kOrderBlockRows];
  keys::read_wide(rows, side_, count, values, overflow);
  uint8_t beyond = 0;
  for (int32_t i = 0; i < count; ++i) {
    wide[i] = wide_order(values[i]);
    beyond |= overflow[i];
  }
  if (beyond == 0) return false;
  UInt128 plain[kOrderBlockRows];  // the sign of what overflowed is that of what is stored
  read_plain_wide(rows, count, plain);
  for (int32_t i = 0; i < count; ++i) {
    if (overflow[i] != 0) wide[i] = plain[i] < wide_order(0) ? UInt128{0} : ~UInt128{0};
  }
  return true;
}

void OrderReader::read_unscaled(const RefRows& rows, int32_t count, UInt128* wide) const {
  if (side_.factor == 1) {
    read_wide(rows, count, wide);
    return;
  }
  if (side_.dictionary && values_.unscaled.empty()) {
    read_wide(rows, count, wide);  // none is beyond, so the common scale keeps the order
    return;
  }
  if (side_.dictionary) {
    uint64_t indices[kOrderBlockRows];
    read_indices(rows, count, indices);
    for (int32_t i = 0; i < count; ++i) wide[i] = values_.unscaled[indices[i]];
    return;
  }
  read_plain_wide(rows, count, wide);
}

// As stored, in order.
template <class Rows>
void OrderReader::read_plain_wide(const Rows& rows, int32_t count, UInt128* wide) const {
  KeySide plain = side_;
  plain.factor = 1;
  plain.beyond = false;
  Int128 values[kOrderBlockRows];
  uint8_t overflow[kOrderBlockRows];
  keys::read_wide(rows, plain, count, values, overflow);
  for (int32_t i = 0; i < count; ++i) wide[i] = wide_order(values[i]);
}

template <class Rows>
bool OrderReader::read_wide(const Rows& rows, int32_t count, UInt128* wide) const {
  if (!side_.dictionary) return read_stored_wide(rows, count, wide);
  uint64_t indices[kOrderBlockRows];
  read_indices(rows, count, indices);
  for (int32_t i = 0; i < count; ++i) wide[i] = values_.wide[indices[i]];
  return values_.beyond;
}

template <class Rows>
void OrderReader::read_slices(const Rows& rows,
                              int32_t count,
                              const uint8_t* valid,
                              Slice* slices) const {
  if (!side_.dictionary) return keys::read_slices(rows, side_.stored, valid, count, slices);
  uint64_t indices[kOrderBlockRows];
  read_indices(rows, count, indices);
  for (int32_t i = 0; i < count; ++i) {
    slices[i] = values_.slices[indices[i]];
    if (valid != nullptr && valid[i] == 0) slices[i].bytes = 0;
  }
}

bool OrderReader::can_decode() const {
  if (side_.dictionary || form_ == OrderForm::kBytes || side_.stored == Stored::kFloat16) {
    return false;
  }
  return form_ == OrderForm::kWord || (side_.stored == Stored::kInt128 && side_.factor == 1);
}

uint64_t OrderReader::float_bits(uint64_t word) const {
  const uint64_t bits = float_of_order(word);
  if (side_.stored == Stored::kFloat64) return bits;
  return __builtin_bit_cast(uint32_t, static_cast<float>(__builtin_bit_cast(double, bits)));
}

bool OrderReader::loses_bits(const RangeRows& rows, int32_t count, const uint64_t* words) const {
  if (!floating_ || side_.dictionary || side_.stored == Stored::kFloat16) return false;
  uint64_t stored[kOrderBlockRows];
  const bool wide = side_.stored == Stored::kFloat64;
  keys::read_words(rows, wide ? Stored::kUInt64 : Stored::kUInt32, count, stored);
  uint64_t different = 0;
  for (int32_t i = 0; i < count; ++i) different |= float_bits(words[i]) ^ stored[i];
  return different != 0;
}

void rank_dictionaries(std::vector<OrderReader*> readers) {
  struct Entry {
    Slice slice;
    uint64_t* rank;
  };
  std::vector<Entry> entries;
  for (OrderReader* reader : readers) {
    CD_CHECK(reader->side_.dictionary && reader->form_ == OrderForm::kBytes,
             "form {}",
             static_cast<int>(reader->form_));
    reader->values_.words.assign(reader->value_count_, 0);
    for (uint64_t i = 0; i < reader->value_count_; ++i) {
      entries.push_back({reader->values_.slices[i], &reader->values_.words[i]});
    }
    reader->form_ = OrderForm::kWord;
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return compare_strings(a.slice, b.slice) < 0;
  });
  uint64_t rank = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i > 0 && compare_strings(entries[i - 1].slice, entries[i].slice) != 0) ++rank;
    *entries[i].rank = rank;
  }
}

template void OrderReader::read_valid(const RangeRows&, int32_t, uint8_t*) const;
template void OrderReader::read_valid(const RefRows&, int32_t, uint8_t*) const;
template void OrderReader::read_words(const RangeRows&, int32_t, uint64_t*) const;
template void OrderReader::read_words(const RefRows&, int32_t, uint64_t*) const;
template bool OrderReader::read_wide(const RangeRows&, int32_t, UInt128*) const;
template bool OrderReader::read_wide(const RefRows&, int32_t, UInt128*) const;
template void OrderReader::read_slices(const RangeRows&, int32_t, const uint8_t*, Slice*) const;
template void OrderReader::read_slices(const RefRows&, int32_t, const uint8_t*, Slice*) const;

}  // namespace crossdock
