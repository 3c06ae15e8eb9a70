// Plain columns by one loop per stored type; dictionaries by looking up values that were read once.
#include "table/value_words.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "table/bitmap.hpp"
#include "table/byte_hash.hpp"
#include "table/key_read.hpp"
#include "table/word_range.hpp"

namespace crossdock {
namespace {

using keys::RangeRows;
using keys::Slice;

KeyForm key_form(ValueForm form) {
  switch (form) {
    case ValueForm::kReal:
      return KeyForm::kFloat;
    case ValueForm::kBytes:
      return KeyForm::kBytes;
    default:
      return KeyForm::kInteger64;
  }
}

template <class Offset>
int64_t longest_of(const void* offsets, int64_t first, int32_t count) {
  const Offset* at = static_cast<const Offset*>(offsets) + first;
  Offset longest = 0;
  for (int32_t i = 0; i < count; ++i) longest = std::max<Offset>(longest, at[i + 1] - at[i]);
  return longest;
}

// Strings of at most 7 bytes lie in their views, padded with zeros: length, 4 bytes, the other 8.
void view_numbers(
    const ColumnView& column, int64_t begin, int32_t count, int32_t bytes_max, uint64_t* numbers) {
  const uint8_t* views = column.values + (column.offset + begin) * 16;
  const int shift = 64 - 8 * bytes_max;
  for (int32_t i = 0; i < count; ++i) {
    const auto first = keys::load<uint64_t>(views + int64_t{i} * 16);
    const auto second = keys::load<uint64_t>(views + int64_t{i} * 16 + 8);
    const uint64_t text = __builtin_bswap64(first >> 32 | second << 32) >> shift;
    numbers[i] = text << 4 | static_cast<uint32_t>(first);
  }
}

}  // namespace

ValueForm value_form(const DataType& column_type) {
  const DataType& type =
      column_type.id == TypeId::kDictionary ? *column_type.dictionary : column_type;
  if (type.id == TypeId::kDecimal128) return ValueForm::kWide;
  if (is_floating(type.id)) return ValueForm::kReal;
  if (layout(type) != Layout::kFixed && layout(type) != Layout::kBits) return ValueForm::kBytes;
  return is_unsigned_integer(type.id) ? ValueForm::kUnsigned : ValueForm::kSigned;
}

ValueReader::ValueReader(const DataType& type) : form_(value_form(type)) {
  side_ = make_key_side(type, KeyKind{key_form(form_), 0, 0});
  direct_ =
      !side_.dictionary && (side_.stored == Stored::kInt64 || side_.stored == Stored::kUInt64);
}

void ValueReader::read_plain(const ColumnView& column,
                             int64_t begin,
                             int32_t count,
                             uint64_t* words) const {
  keys::read_words(RangeRows{column, begin}, side_.stored, count, words);
}

void ValueReader::read_dictionary(const ColumnView& dictionary) {
  if (!low_.empty() && same_memory(dictionary, known_)) return;
  known_ = dictionary;
  const size_t size = static_cast<size_t>(std::max<int64_t>(dictionary.length, 1));
  low_.assign(size, 0);
  high_.assign(form_ == ValueForm::kWide ? size : 0, 0);
  valid_.assign(dictionary.validity == nullptr ? 0 : size, 1);
  for (int64_t i = 0; i < dictionary.length; ++i) {
    if (form_ == ValueForm::kWide) {
      const uint8_t* at = dictionary.values + (dictionary.offset + i) * 16;
      std::memcpy(&low_[i], at, 8);
      std::memcpy(&high_[i], at + 8, 8);
    } else if (form_ != ValueForm::kBytes) {
      read_plain(dictionary, i, 1, &low_[i]);
    }
    if (!valid_.empty()) valid_[i] = dictionary.is_valid(i);
  }
}

const uint64_t* ValueReader::words(const ColumnView& column,
                                   int64_t begin,
                                   int32_t count,
                                   uint64_t* scratch) {
  CD_CHECK(count <= kMaxValueRows, "rows {}", count);
  if (direct_) return column.data<uint64_t>() + begin;
  if (!side_.dictionary) {
    read_plain(column, begin, count, scratch);
    return scratch;
  }
  read_dictionary(*column.dictionary);
  keys::read_words(RangeRows{column, begin}, side_.index, count, scratch);
  const uint64_t size = low_.size();
  for (int32_t i = 0; i < count; ++i) scratch[i] = low_[scratch[i] < size ? scratch[i] : 0];
  return scratch;
}

bool ValueReader::wide(
    const ColumnView& column, int64_t begin, int32_t count, uint64_t* low, uint64_t* high) {
  CD_CHECK(count <= kMaxValueRows, "rows {}", count);
  uint64_t beyond = 0;
  if (side_.dictionary) {
    read_dictionary(*column.dictionary);
    keys::read_words(RangeRows{column, begin}, side_.index, count, low);
    const uint64_t size = low_.size();
    for (int32_t i = 0; i < count; ++i) {
      const uint64_t at = low[i] < size ? low[i] : 0;
      low[i] = low_[at];
      high[i] = high_[at];
      beyond |= high[i] ^ static_cast<uint64_t>(static_cast<int64_t>(low[i]) >> 63);
    }
    return beyond == 0;
  }
  if (column.is_narrow) {
    const auto* values = column.data<int64_t>() + begin;
    for (int32_t i = 0; i < count; ++i) {
      low[i] = static_cast<uint64_t>(values[i]);
      high[i] = static_cast<uint64_t>(values[i] >> 63);
    }
    return true;
  }
  return split_wide_words(column.values + (column.offset + begin) * 16, count, low, high);
}

bool ValueReader::valid(const ColumnView& column, int64_t begin, int32_t count, uint8_t* valid) {
  if (side_.dictionary) read_dictionary(*column.dictionary);
  if (column.validity == nullptr && valid_.empty()) return false;
  if (column.validity == nullptr) {
    std::fill_n(valid, count, uint8_t{1});
  } else {
    expand_bits(column.validity, column.offset + begin, count, valid);
  }
  if (valid_.empty()) return true;
  uint64_t indices[kMaxValueRows];
  keys::read_words(RangeRows{column, begin}, side_.index, count, indices);
  const uint64_t size = valid_.size();
  for (int32_t i = 0; i < count; ++i) valid[i] &= valid_[indices[i] < size ? indices[i] : 0];
  return true;
}

void ValueReader::indices(const ColumnView& column,
                          int64_t begin,
                          int32_t count,
                          uint64_t* indices) const {
  keys::read_words(RangeRows{column, begin}, side_.index, count, indices);
  const auto size = static_cast<uint64_t>(column.dictionary->length);
  for (int32_t i = 0; i < count; ++i) indices[i] = indices[i] < size ? indices[i] : 0;
}

int64_t ValueReader::longest_text(const ColumnView& column, int64_t begin, int32_t count) const {
  const int64_t first = column.offset + begin;
  if (column.longest_text >= 0) return column.longest_text;
  if (side_.stored == Stored::kBytes32) return longest_of<int32_t>(column.offsets, first, count);
  if (side_.stored == Stored::kBytes64) return longest_of<int64_t>(column.offsets, first, count);
  int64_t longest = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (!column.is_valid(begin + i)) continue;
    longest = std::max<int64_t>(longest, keys::load<uint32_t>(column.values + (first + i) * 16));
  }
  return longest;
}

void ValueReader::strings(const ColumnView& column,
                          int64_t begin,
                          int32_t count,
                          TextNumbers out) const {
  const auto [bytes_max, low, high] = out;
  CD_CHECK(bytes_max >= 1 && bytes_max <= kMaxTextKeyBytes, "bytes {}", bytes_max);
  if (side_.stored == Stored::kByteViews && high == nullptr) {
    return view_numbers(column, begin, count, bytes_max, low);
  }
  constexpr int32_t kPart = 256;
  Slice slices[kPart];
  uint8_t valid[kPart];
  const uint8_t* end = readable_end(column, side_.stored);
  const int64_t inside = side_.stored == Stored::kByteViews ? keys::kInlineBytes : bytes_max;
  for (int32_t done = 0; done < count; done += kPart) {
    const RangeRows rows{column, begin + done};
    const int32_t part = std::min(kPart, count - done);
    if (rows.any_nulls()) keys::read_valid(rows, part, valid);
    keys::read_slices(rows, side_.stored, rows.any_nulls() ? valid : nullptr, part, slices);
    for (int32_t i = 0; i < part; ++i) {
      const Slice& slice = slices[i];
      const bool readable = slice.bytes <= inside && end - slice.data >= keys::kShortBytes;
      const keys::ShortWords words = readable ? keys::masked_words(slice.data, slice.bytes)
                                              : keys::exact_words(slice.data, slice.bytes);
      const uint64_t first = __builtin_bswap64(words.low);
      const auto length = static_cast<uint64_t>(slice.bytes);
      if (high == nullptr) {
        low[done + i] = (first >> (64 - 8 * bytes_max)) << 4 | length;
        continue;
      }
      UInt128 text = static_cast<UInt128>(first) << 64 | __builtin_bswap64(words.high);
      text = (text >> (128 - 8 * bytes_max)) << 4 | length;
      low[done + i] = static_cast<uint64_t>(text);
      high[done + i] = static_cast<uint64_t>(text >> 64);
    }
  }
}

void ValueReader::text_images(const ColumnView& column,
                              int64_t begin,
                              int32_t count,
                              uint64_t* const* words) const {
  constexpr int32_t kPart = 256;
  Slice slices[kPart];
  uint8_t valid[kPart];
  const uint8_t* end = readable_end(column, side_.stored);
  const bool views = side_.stored == Stored::kByteViews;
  for (int32_t done = 0; done < count; done += kPart) {
    const RangeRows rows{column, begin + done};
    const int32_t part = std::min(kPart, count - done);
    if (rows.any_nulls()) keys::read_valid(rows, part, valid);
    keys::read_slices(rows, side_.stored, rows.any_nulls() ? valid : nullptr, part, slices);
    for (int32_t i = 0; i < part; ++i) {
      const Slice& slice = slices[i];
      const int64_t head = std::min(slice.bytes, keys::kShortBytes);
      const bool readable =
          (!views || slice.bytes <= keys::kInlineBytes) && end - slice.data >= keys::kShortBytes;
      const keys::ShortWords low =
          readable ? keys::masked_words(slice.data, head) : keys::exact_words(slice.data, head);
      uint64_t rest = 0;
      if (slice.bytes > head) {
        std::memcpy(&rest, slice.data + head, static_cast<size_t>(slice.bytes - head));
      }
      words[0][done + i] = low.low;
      words[1][done + i] = low.high;
      words[2][done + i] = rest | static_cast<uint64_t>(slice.bytes) << 56;
    }
  }
}

TextReader::TextReader(const ChunkedColumn& column)
    : column_(&column), side_(make_key_side(column.field->type, {KeyForm::kBytes, 0, 0})) {}

void TextReader::read(const RowRef* refs,
                      int32_t count,
                      const uint8_t* valid,
                      Slice* strings) const {
  CD_CHECK(count <= kMaxValueRows, "rows {}", count);
  const keys::RefRows rows{*column_, refs};
  if (!side_.dictionary) {
    keys::read_slices(rows, side_.stored, valid, count, strings);
    return;
  }
  uint64_t indices[kMaxValueRows];
  keys::read_words(rows, side_.index, count, indices);
  const ColumnView& dictionary = *column_->dictionary;
  for (int32_t i = 0; i < count; ++i) {
    strings[i] = {};
    if (valid != nullptr && valid[i] == 0) continue;
    const RangeRows value{dictionary, static_cast<int64_t>(indices[i])};
    keys::read_slices(value, side_.stored, nullptr, 1, &strings[i]);
  }
}

}  // namespace crossdock
