#include "table/key_hash.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "table/byte_hash.hpp"
#include "table/key_read.hpp"

namespace crossdock {
namespace {

using keys::RangeRows;
using keys::Slice;

constexpr int32_t kStackRows = 256;  // wide and string blocks on the stack

void load_decimals(const RangeRows& rows, const KeySide& side, int32_t count, uint64_t* words) {
  Int128 values[kStackRows];
  uint8_t overflow[kStackRows];
  keys::read_wide(rows, side, count, values, overflow);
  for (int32_t i = 0; i < count; ++i) {
    const auto value = static_cast<UInt128>(values[i]);
    const auto high = static_cast<uint64_t>(value >> 64);
    words[i] = static_cast<uint64_t>(value) ^ (high * 0x9E3779B97F4A7C15U);
  }
}

void load_bytes(
    const RangeRows& rows, Stored stored, int32_t count, uint64_t seed, uint64_t* words) {
  Slice slices[kStackRows];
  uint8_t valid[kStackRows];
  if (rows.any_nulls()) keys::read_valid(rows, count, valid);
  keys::read_slices(rows, stored, rows.any_nulls() ? valid : nullptr, count, slices);
  const uint8_t* end = readable_end(rows.column, stored);
  const int64_t longest_inside =
      stored == Stored::kByteViews ? keys::kInlineBytes : keys::kShortBytes;
  for (int32_t i = 0; i < count; ++i) {
    const bool inside = slices[i].bytes <= longest_inside;
    words[i] = keys::hash_bytes(slices[i], inside ? end : slices[i].data, seed);
  }
}

// Calls load_part(rows, part, words) for parts of at most kStackRows rows.
template <class LoadPart>
void in_parts(const RangeRows& rows, int32_t count, uint64_t* words, LoadPart load_part) {
  for (int32_t done = 0; done < count; done += kStackRows) {
    load_part(RangeRows{rows.column, rows.begin + done},
              std::min(kStackRows, count - done),
              words + done);
  }
}

// Words of a column that is no dictionary.
void load_plain(
    const KeySide& side, const RangeRows& rows, int32_t count, uint64_t seed, uint64_t* words) {
  if (side.form == KeyForm::kDecimal) {
    in_parts(rows, count, words, [&](const RangeRows& some, int32_t part, uint64_t* out) {
      load_decimals(some, side, part, out);
    });
    return;
  }
  if (side.form == KeyForm::kBytes) {
    in_parts(rows, count, words, [&](const RangeRows& some, int32_t part, uint64_t* out) {
      load_bytes(some, side.stored, part, seed, out);
    });
    return;
  }
  keys::read_words(rows, side.stored, count, words);
  const auto factor = static_cast<uint64_t>(side.factor);
  if (factor == 1) return;
  // Modulo 2^64: equal instants stay equal.
  for (int32_t i = 0; i < count; ++i) words[i] *= factor;
}

bool same_dictionary(const ColumnView& a, const ColumnView& b) {
  return a.values == b.values && a.offsets == b.offsets && a.validity == b.validity &&
         a.offset == b.offset && a.length == b.length && a.heaps == b.heaps;
}

}  // namespace

KeyLoader::KeyLoader(const DataType& type, const KeyKind& kind, uint64_t seed)
    : side_(make_key_side(type, kind)), seed_(seed) {}

void KeyLoader::read_dictionary(const ColumnView& dictionary) {
  if (!words_.empty() && same_dictionary(dictionary, known_)) return;
  known_ = dictionary;
  // One value at least, so that the index of a null row can be clamped to something.
  words_.assign(std::max<int64_t>(dictionary.length, 1), 0);
  valid_.assign(dictionary.validity == nullptr ? 0 : words_.size(), 1);
  for (int64_t begin = 0; begin < dictionary.length; begin += kMaxKeyRows) {
    const auto count =
        static_cast<int32_t>(std::min<int64_t>(kMaxKeyRows, dictionary.length - begin));
    load_plain(side_, RangeRows{dictionary, begin}, count, seed_, words_.data() + begin);
    if (!valid_.empty()) {
      keys::read_valid(RangeRows{dictionary, begin}, count, valid_.data() + begin);
    }
  }
}

void KeyLoader::load(const ColumnView& column, int64_t begin, int32_t count, uint64_t* words) {
  CD_CHECK(count <= kMaxKeyRows, "rows {}", count);
  if (!side_.dictionary) {
    KeySide side = side_;
    if (column.is_narrow) side.stored = Stored::kInt64;
    load_plain(side, RangeRows{column, begin}, count, seed_, words);
    return;
  }
  read_dictionary(*column.dictionary);
  keys::read_words(RangeRows{column, begin}, side_.index, count, words);
  const uint64_t size = words_.size();
  for (int32_t i = 0; i < count; ++i) words[i] = words_[words[i] < size ? words[i] : 0];
}

bool KeyLoader::load_valid(const ColumnView& column, int64_t begin, int32_t count, uint8_t* valid) {
  CD_CHECK(count <= kMaxKeyRows, "rows {}", count);
  if (side_.dictionary) read_dictionary(*column.dictionary);
  if (column.validity == nullptr && valid_.empty()) return false;
  const RangeRows rows{column, begin};
  if (column.validity == nullptr) {
    std::fill_n(valid, count, uint8_t{1});
  } else {
    keys::read_valid(rows, count, valid);
  }
  if (valid_.empty()) return true;
  uint64_t indices[kMaxKeyRows];
  keys::read_words(rows, side_.index, count, indices);
  const uint64_t size = valid_.size();
  for (int32_t i = 0; i < count; ++i) valid[i] &= valid_[indices[i] < size ? indices[i] : 0];
  return true;
}

void KeyHasher::hash(
    const ColumnView& column, int64_t begin, int32_t count, bool combine, uint64_t* hashes) {
  uint64_t words[kMaxKeyRows];
  uint8_t valid[kMaxKeyRows];
  loader_.load(column, begin, count, words);
  if (loader_.load_valid(column, begin, count, valid)) {
    for (int32_t i = 0; i < count; ++i) words[i] = valid[i] != 0 ? words[i] : kNullKeyWord;
  }
  if (combine) {
    for (int32_t i = 0; i < count; ++i) hashes[i] = add_key_word(hashes[i], words[i]);
  } else {
    std::copy_n(words, count, hashes);
  }
  mix_words(mix_, hashes, count);
}

}  // namespace crossdock
