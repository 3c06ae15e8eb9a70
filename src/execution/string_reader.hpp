// Strings of a column of any layout, block by block.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string_view>

#include "base/integer_types.hpp"
#include "table/column.hpp"
#include "table/key_read.hpp"

namespace crossdock::execution {

// A call of memcpy takes longer than copying the few bytes that most strings have.
inline void copy_string(uint8_t* to, std::string_view text) {
  const char* const from = text.data();
  const size_t bytes = text.size();
  const auto copy_both_ends = [&]<class Word>(Word first, Word last) {
    std::memcpy(&first, from, sizeof(Word));
    std::memcpy(&last, from + bytes - sizeof(Word), sizeof(Word));
    std::memcpy(to, &first, sizeof(Word));
    std::memcpy(to + bytes - sizeof(Word), &last, sizeof(Word));
  };
  if (bytes > 16) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 8) {
    copy_both_ends(uint64_t{}, uint64_t{});
  } else if (bytes >= 4) {
    copy_both_ends(uint32_t{}, uint32_t{});
  } else {
    for (size_t i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(from[i]);
  }
}

// The column outlives it. Any number of threads.
class StringReader {
 public:
  static constexpr int64_t kBlockRows = 256;
  using Strings = std::array<std::string_view, kBlockRows>;

  StringReader(const DataType& type, const ColumnView& column)
      : column_(column),
        index_bytes_(type.id == TypeId::kDictionary ? fixed_bytes(type) : 0),
        values_(index_bytes_ > 0 ? *column.dictionary : column),
        layout_(layout(value_type(type))) {}

  // Of up to kBlockRows rows from `begin` on; nulls are empty. Answers how many bytes they have together.
  int64_t read(int64_t begin, int64_t rows, Strings& to) const {
    std::array<int64_t, kBlockRows> places;
    find_places(begin, rows, places.data());
    switch (layout_) {
      case Layout::kViews:
        return read_places(places.data(), rows, to, [this](int64_t at) { return view_at(at); });
      case Layout::kOffsets32:
        return read_places(
            places.data(), rows, to, [this](int64_t at) { return between<int32_t>(at); });
      default:
        return read_places(
            places.data(), rows, to, [this](int64_t at) { return between<int64_t>(at); });
    }
  }

 private:
  // Where the values are; -1: null, whose index may be anything.
  void find_places(int64_t begin, int64_t rows, int64_t* to) const {
    if (index_bytes_ == 0) {
      std::iota(to, to + rows, begin);
    } else {
      with_unsigned(index_bytes_, [&](auto zero) {
        std::copy_n(column_.data<decltype(zero)>() + begin, rows, to);
      });
    }
    if (column_.validity == nullptr) return;
    for (int64_t i = 0; i < rows; ++i) {
      if (!column_.is_valid(begin + i)) to[i] = -1;
    }
  }

  template <class StringAt>
  static int64_t read_places(const int64_t* places,
                             int64_t rows,
                             Strings& to,
                             const StringAt& string_at) {
    int64_t bytes = 0;
    for (int64_t i = 0; i < rows; ++i) {
      to[i] = places[i] < 0 ? std::string_view() : string_at(places[i]);
      bytes += static_cast<int64_t>(to[i].size());
    }
    return bytes;
  }

  static std::string_view string_of(const uint8_t* data, int64_t bytes) {
    return {reinterpret_cast<const char*>(data), static_cast<size_t>(bytes)};
  }

  std::string_view view_at(int64_t row) const {
    const uint8_t* view = values_.values + (values_.offset + row) * 16;
    int32_t place[4];  // bytes, prefix, heap, offset
    std::memcpy(place, view, 16);
    if (place[0] <= keys::kInlineBytes) return string_of(view + 4, place[0]);
    return string_of(values_.heaps[place[2]] + place[3], place[0]);
  }

  template <class Offset>
  std::string_view between(int64_t row) const {
    const auto* offsets = static_cast<const Offset*>(values_.offsets) + values_.offset + row;
    return string_of(values_.values + offsets[0], offsets[1] - offsets[0]);
  }

  const ColumnView& column_;
  int64_t index_bytes_;  // 0: no dictionary
  const ColumnView& values_;
  Layout layout_;
};

}  // namespace crossdock::execution
