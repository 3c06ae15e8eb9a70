// Integers into the words of a packed lane, and out of them. Internal to the room.
//
// A word holds, for each of its columns, the distance of the value from the column's base, at the column's shift. Only
// the low bytes that the columns need are in the lane. Of a NULL the distance is 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/integer_types.hpp"
#include "data/bulk/bulk_plan.hpp"
#include "table/column.hpp"

namespace crossdock::bulk {

inline constexpr uint32_t kWordRows = 1024;  // put together at a time

// Calls call(T{}) with the integer type in which a value of the column lies.
template <class Call>
void with_integer_of(const DataType& type, const Call& call) {
  with_integer(fixed_bytes(type), is_unsigned_integer(type.id), call);
}

// The base of a column in the type of its values: 64-bit unsigned ones were moved by 2^63.
template <class T>
uint64_t base_as(int64_t base) {
  const auto bits = static_cast<uint64_t>(base);
  return std::is_same_v<T, uint64_t> ? bits ^ (uint64_t{1} << 63) : bits;
}

template <class T, class Rows>
void add_distances(const BulkColumn& to,
                   const ColumnView& column,
                   const Rows& rows,
                   uint32_t count,
                   uint64_t* words) {
  const T* values = column.data<T>();
  const uint64_t base = base_as<T>(to.base);
  const int shift = to.shift;
  if (column.validity == nullptr) {
    for (uint32_t i = 0; i < count; ++i) {
      words[i] |= (static_cast<uint64_t>(values[rows[i]]) - base) << shift;
    }
    return;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t distance = static_cast<uint64_t>(values[rows[i]]) - base;
    words[i] |= (column.is_valid(rows[i]) ? distance : 0) << shift;
  }
}

// The low `kBytes` of each word, one behind the other; nothing behind the last is written.
template <int kBytes>
void pack_words(const uint64_t* words, uint32_t count, std::byte* to) {
  uint32_t i = 0;
  // A whole word may be stored where rows of this call follow, which are stored after it.
  if constexpr (kBytes < 8) {
    constexpr uint32_t kBehind = (8 + kBytes - 1) / kBytes - 1;
    for (; i + kBehind < count; ++i) std::memcpy(to + size_t{i} * kBytes, &words[i], 8);
  }
  for (; i < count; ++i) std::memcpy(to + size_t{i} * kBytes, &words[i], kBytes);
}

// `from` may be read up to the end of the last word, not beyond.
template <int kBytes>
void load_words(const std::byte* from, uint32_t count, uint64_t* words) {
  for (uint32_t i = 0; i < count; ++i) {
    words[i] = 0;
    std::memcpy(&words[i], from + size_t{i} * kBytes, kBytes);
  }
}

// Calls call(std::integral_constant<int, bytes>) for 1 to 8 bytes.
template <int kBytes = 1, class Call>
void with_word_bytes(int bytes, const Call& call) {
  if (bytes == kBytes) return call(std::integral_constant<int, kBytes>{});
  if constexpr (kBytes < 8) with_word_bytes<kBytes + 1>(bytes, call);
}

// The words of a block's rows.
struct WordSource {
  const BulkPlan& plan;
  const BulkWord& word;
  const Batch& block;
};

// Writes the words of rows rows[0], rows[1], … of the block to `to`.
template <class Rows>
void write_words(const WordSource& from, const Rows& rows, uint32_t count, std::byte* to) {
  const BulkPlan& plan = from.plan;
  const BulkWord& word = from.word;
  if (word.bytes == 0) return;
  uint64_t words[kWordRows];
  for (uint32_t begin = 0; begin < count; begin += kWordRows) {
    const uint32_t part = count - begin < kWordRows ? count - begin : kWordRows;
    std::memset(words, 0, size_t{part} * 8);
    for (const int i : word.columns) {
      const auto at = static_cast<size_t>(i);
      with_integer_of(plan.sent->fields[at].type, [&](auto zero) {
        add_distances<decltype(zero)>(
            plan.columns[at], from.block.columns[at], rows.from(begin), part, words);
      });
    }
    std::byte* out = to + size_t{begin} * static_cast<size_t>(word.bytes);
    with_word_bytes(word.bytes,
                    [&](auto bytes) { pack_words<decltype(bytes)::value>(words, part, out); });
  }
}

// The values of one column out of words; `count` of them to `to`.
inline void read_column(const DataType& type,
                        const BulkColumn& column,
                        const uint64_t* words,
                        uint32_t count,
                        std::byte* to) {
  const uint64_t mask = column.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << column.bits) - 1;
  with_integer_of(type, [&](auto zero) {
    using T = decltype(zero);
    auto* out = reinterpret_cast<T*>(to);
    const uint64_t base = base_as<T>(column.base);
    const int shift = column.bits == 0 ? 0 : column.shift;
    for (uint32_t i = 0; i < count; ++i) {
      out[i] = static_cast<T>(((words[i] >> shift) & mask) + base);
    }
  });
}

}  // namespace crossdock::bulk
