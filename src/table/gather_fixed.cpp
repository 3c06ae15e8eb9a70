// Gathers of fixed-width values and of bits. Random refs miss the cache once per row, so the loops do
// as little else as they can: the more rows fit the core's window, the more misses overlap.
#include <algorithm>
#include <bit>

#include "base/integer_types.hpp"
#include "table/gather_parts.hpp"

namespace crossdock::gathering {
namespace {

template <int kWidth, bool kOneOrigin>
inline const uint8_t* address(const uintptr_t* origins, RowRef ref) {
  const uintptr_t start = kOneOrigin ? origins[0] : origins[ref >> kChunkRowBits];
  return reinterpret_cast<const uint8_t*>(start + static_cast<uintptr_t>(ref) * kWidth);
}

template <int kWidth, bool kOneOrigin, bool kNullRefs>
void copy_values(const ChunkedColumn& column, const RowRef* refs, int64_t count, uint8_t* out) {
  const uintptr_t* origins = column.origins.data();
  const RowRef any_ref = column.any_ref;
  const auto copy_one = [&](int64_t row) {
    const RowRef ref = readable<kNullRefs>(refs[row], any_ref);
    std::memcpy(out + row * kWidth, address<kWidth, kOneOrigin>(origins, ref), kWidth);
  };
  int64_t row = 0;
  for (; row + kBlockRows <= count; row += kBlockRows) {
    const RowRef* block = refs + row;
    if (is_run(block) && (kOneOrigin || origins[block[0] >> kChunkRowBits] ==
                                            origins[block[kBlockRows - 1] >> kChunkRowBits])) {
      std::memcpy(
          out + row * kWidth, address<kWidth, kOneOrigin>(origins, block[0]), kBlockRows * kWidth);
      continue;
    }
    if (is_near(block)) {
      for (int64_t i = 0; i < kBlockRows; ++i) copy_one(row + i);
      continue;
    }
    const uint8_t* places[kBlockRows];
    for (int64_t i = 0; i < kBlockRows; ++i) {
      places[i] = address<kWidth, kOneOrigin>(origins, readable<kNullRefs>(block[i], any_ref));
      __builtin_prefetch(places[i]);
    }
    for (int64_t i = 0; i < kBlockRows; ++i)
      std::memcpy(out + (row + i) * kWidth, places[i], kWidth);
  }
  for (; row < count; ++row) copy_one(row);
}

template <int kWidth>
void copy_width(const Request& request, uint8_t* out) {
  const auto count = static_cast<int64_t>(request.refs.size());
  const auto copy = request.null_refs
                      ? (request.column.one_origin ? copy_values<kWidth, true, true>
                                                   : copy_values<kWidth, false, true>)
                      : (request.column.one_origin ? copy_values<kWidth, true, false>
                                                   : copy_values<kWidth, false, false>);
  copy(request.column, request.refs.data(), count, out);
}

// 64 bits from bit `first` on; reads no byte without one of them.
inline uint64_t load_bits(const uint8_t* bits, uint64_t first) {
  const uint8_t* from = bits + (first >> 3);
  const int shift = static_cast<int>(first & 7);
  const auto low = load_unaligned<uint64_t>(from) >> shift;
  return shift == 0 ? low : low | (static_cast<uint64_t>(from[8]) << (64 - shift));
}

struct BitPlace {
  const uint8_t* byte;
  uint32_t shift;
  uint64_t bit() const { return (*byte >> shift) & 1; }
};

inline BitPlace bit_place(const ChunkBits* chunks, RowRef ref) {
  const ChunkBits& chunk = chunks[ref >> kChunkRowBits];
  const RowRef bit = chunk.shift + (ref & kChunkRowMask);
  return {chunk.bits + (bit >> 3), bit & 7};
}

// Bits of `count` <= 64 rows.
template <bool kNullRefs>
uint64_t pick_bits(const ChunkBits* chunks, RowRef any_ref, const RowRef* refs, int64_t count) {
  const bool full = count == kBlockRows;
  if (full && is_run(refs) && refs[0] >> kChunkRowBits == refs[kBlockRows - 1] >> kChunkRowBits) {
    const ChunkBits& chunk = chunks[refs[0] >> kChunkRowBits];
    return load_bits(chunk.bits, chunk.shift + (refs[0] & kChunkRowMask));
  }
  uint64_t word = 0;
  if (!full || is_near(refs)) {
    for (int64_t i = 0; i < count; ++i) {
      word |= bit_place(chunks, readable<kNullRefs>(refs[i], any_ref)).bit() << i;
    }
    return word;
  }
  BitPlace places[kBlockRows];
  for (int64_t i = 0; i < kBlockRows; ++i) {
    places[i] = bit_place(chunks, readable<kNullRefs>(refs[i], any_ref));
    __builtin_prefetch(places[i].byte);
  }
  for (int64_t i = 0; i < kBlockRows; ++i) word |= places[i].bit() << i;
  return word;
}

uint64_t present_bits(const RowRef* refs, int64_t count) {
  uint64_t word = 0;
  for (int64_t i = 0; i < count; ++i) word |= static_cast<uint64_t>(refs[i] != kNullRef) << i;
  return word;
}

}  // namespace

bool any_null_ref(std::span<const RowRef> refs) {
  // In blocks, so that the loop inside has no exit and becomes vector code.
  constexpr size_t kSpan = 1024;
  for (size_t begin = 0; begin < refs.size(); begin += kSpan) {
    const size_t end = std::min(refs.size(), begin + kSpan);
    uint32_t null_seen = 0;
    for (size_t i = begin; i < end; ++i) null_seen |= refs[i] == kNullRef ? 1U : 0U;
    if (null_seen != 0) return true;
  }
  return false;
}

Result<Validity> gather_validity(const Request& request) {
  Validity validity;
  const ChunkedColumn& column = request.column;
  if (!column.any_nulls && !request.null_refs) return validity;
  const auto count = static_cast<int64_t>(request.refs.size());
  CD_ASSIGN(validity.bitmap, request.memory.get(words_for(count) * 8, "gather validity"));
  auto* out = validity.bitmap.as<uint64_t>();
  int64_t valid = 0;
  for (int64_t row = 0; row < count; row += kBlockRows) {
    const RowRef* refs = request.refs.data() + row;
    const int64_t rows = std::min(kBlockRows, count - row);
    uint64_t word = rows == kBlockRows ? ~uint64_t{0} : (uint64_t{1} << rows) - 1;
    if (request.null_refs) word = present_bits(refs, rows);
    if (column.any_nulls) {
      const auto pick = request.null_refs ? pick_bits<true> : pick_bits<false>;
      word &= pick(column.validity.data(), column.any_ref, refs, rows);
    }
    out[row / kBlockRows] = word;
    valid += std::popcount(word);
  }
  validity.null_count = count - valid;
  if (validity.null_count == 0) validity.bitmap.reset();
  return validity;
}

Result<Block> gather_bits(const Request& request) {
  const auto count = static_cast<int64_t>(request.refs.size());
  CD_ASSIGN(Block values, request.memory.get(words_for(count) * 8, "gather bits"));
  const ChunkedColumn& column = request.column;
  const auto pick = request.null_refs ? pick_bits<true> : pick_bits<false>;
  for (int64_t row = 0; row < count; row += kBlockRows) {
    values.as<uint64_t>()[row / kBlockRows] = pick(column.bits.data(),
                                                   column.any_ref,
                                                   request.refs.data() + row,
                                                   std::min(kBlockRows, count - row));
  }
  return values;
}

Result<Block> gather_fixed(const Request& request) {
  const int32_t width = fixed_bytes(request.column.field->type);
  const auto count = static_cast<int64_t>(request.refs.size());
  CD_ASSIGN(Block values, request.memory.get(count * width, "gather values"));
  with_word(width, [&](auto zero) { copy_width<sizeof(zero)>(request, values.data()); });
  return values;
}

}  // namespace crossdock::gathering
