// Reads blocks of stored key values into the forms that hashing and comparing work on. Internal to
// the room.
//
// Every function takes `rows`, which says where value i lies: RangeRows for consecutive rows of one
// view, RefRows for refs into a ChunkedColumn. So each conversion is written once.
#pragma once

#include <cstdint>
#include <cstring>

#include "table/key_side.hpp"
#include "table/row_store.hpp"

namespace crossdock::keys {

constexpr int64_t kInlineBytes = 12;  // what a string view holds itself

template <class T>
inline T load(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// Where the values of consecutive rows lie. `bits` and `bytes` are for the layouts that need them.
struct RangeRows {
  const ColumnView& column;
  int64_t begin;

  template <int kWidth>
  struct Values {
    const uint8_t* first;
    const uint8_t* operator()(int32_t i) const { return first + int64_t{i} * kWidth; }
  };
  template <int kWidth>
  Values<kWidth> values() const {
    return {column.values + (column.offset + begin) * kWidth};
  }
  template <int kWidth>
  Values<kWidth> offsets() const {
    return {static_cast<const uint8_t*>(column.offsets) + (column.offset + begin) * kWidth};
  }
  const uint8_t* bytes(int32_t) const { return column.values; }
  const uint8_t* heap(int32_t, uint32_t buffer) const { return column.heaps[buffer]; }
  bool bit(int32_t i) const { return bit_of(column.values, i); }
  bool any_nulls() const { return column.validity != nullptr; }
  bool valid(int32_t i) const { return bit_of(column.validity, i); }
  const ColumnView* dictionary() const { return column.dictionary; }

 private:
  bool bit_of(const uint8_t* bits, int32_t i) const {
    const int64_t at = column.offset + begin + i;
    return (bits[at >> 3] >> (at & 7)) & 1;
  }
};

// Where the values of referenced rows lie.
struct RefRows {
  const ChunkedColumn& column;
  const RowRef* refs;

  template <int kWidth>
  struct Values {
    const uintptr_t* origins;
    const RowRef* refs;
    const uint8_t* operator()(int32_t i) const {
      return reinterpret_cast<const uint8_t*>(origins[refs[i] >> kChunkRowBits] +
                                              uintptr_t{refs[i]} * kWidth);
    }
  };
  template <int kWidth>
  Values<kWidth> values() const {
    return {column.origins.data(), refs};
  }
  template <int kWidth>
  struct Offsets {
    const ChunkStrings* strings;
    const RowRef* refs;
    const uint8_t* operator()(int32_t i) const {
      return reinterpret_cast<const uint8_t*>(strings[refs[i] >> kChunkRowBits].offsets +
                                              uintptr_t{refs[i]} * kWidth);
    }
  };
  template <int kWidth>
  Offsets<kWidth> offsets() const {
    return {column.strings.data(), refs};
  }
  const uint8_t* bytes(int32_t i) const { return column.strings[refs[i] >> kChunkRowBits].bytes; }
  const uint8_t* heap(int32_t i, uint32_t buffer) const {
    return column.chunks[refs[i] >> kChunkRowBits].heaps[buffer];
  }
  bool bit(int32_t i) const { return bit_of(column.bits, i); }
  bool any_nulls() const { return column.any_nulls; }
  bool valid(int32_t i) const { return bit_of(column.validity, i); }
  const ColumnView* dictionary() const { return column.dictionary; }

 private:
  bool bit_of(const std::vector<ChunkBits>& chunks, int32_t i) const {
    const ChunkBits& chunk = chunks[refs[i] >> kChunkRowBits];
    const uint32_t at = chunk.shift + (refs[i] & kChunkRowMask);
    return (chunk.bits[at >> 3] >> (at & 7)) & 1;
  }
};

// A string where it lies.
struct Slice {
  const uint8_t* data;
  int64_t bytes;
};

// valid[i] = 1 if row i is not null. Only if rows.any_nulls().
template <class Rows>
void read_valid(const Rows& rows, int32_t count, uint8_t* valid) {
  for (int32_t i = 0; i < count; ++i) valid[i] = rows.valid(i);
}

// Integers and floats as 64-bit words: sign- or zero-extended, or canonical float64 bits. 128-bit
// integers lose their upper half.
template <class Rows>
void read_words(const Rows& rows, Stored stored, int32_t count, uint64_t* words);

// Integers as 128 bits, times side.factor. overflow[i] = 1 if that has no 128 bits.
template <class Rows>
void read_wide(
    const Rows& rows, const KeySide& side, int32_t count, Int128* values, uint8_t* overflow);

// Strings. valid == nullptr: all rows are valid; null rows become empty.
template <class Rows>
void read_slices(
    const Rows& rows, Stored stored, const uint8_t* valid, int32_t count, Slice* slices);

}  // namespace crossdock::keys
