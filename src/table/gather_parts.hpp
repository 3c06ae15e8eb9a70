// The parts that gather() is made of, one per layout. Internal to the room.
//
// All of them go over the refs in blocks of 64 rows: one word of validity, and the unit in which runs
// of consecutive refs are noticed (a join whose probe side passes through mostly as it came has
// little else), which are then copied as a whole.
//
// Refs that lie far apart miss the cache, and the loops that compute something per row are too long
// for the core to see many misses ahead. So they first find all 64 addresses and prefetch them.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "base/result.hpp"
#include "memory/budget.hpp"
#include "table/row_store.hpp"

namespace crossdock::gathering {

constexpr int64_t kBlockRows = 64;

struct Request {
  const ChunkedColumn& column;  // of at least one row
  std::span<const RowRef> refs;
  bool null_refs;  // some ref may be kNullRef
  Memory& memory;
};

struct Validity {
  Block bitmap;  // empty if no row is null
  int64_t null_count = 0;
  const uint64_t* words() const { return bitmap.as<const uint64_t>(); }
};

struct Strings {
  Block offsets;
  Block bytes;
};

struct Views {
  Block values;
  bool any_long = false;  // some value is not stored inline: the heaps are needed
};

Result<Validity> gather_validity(const Request& request);
Result<Block> gather_bits(const Request& request);
Result<Block> gather_fixed(const Request& request);
// Null rows become empty views and empty strings, whatever their slots hold.
Result<Views> gather_views(const Request& request, const Validity& validity);
template <class Offset>
Result<Strings> gather_strings(const Request& request, const Validity& validity);

bool any_null_ref(std::span<const RowRef> refs);

inline int64_t words_for(int64_t bits) { return (bits + 63) / 64; }

// The row to read in place of `ref`, so that loops need no branch for missing rows.
template <bool kNullRefs>
inline RowRef readable(RowRef ref, RowRef any_ref) {
  if constexpr (kNullRefs) return ref == kNullRef ? any_ref : ref;
  return ref;
}

// Do 64 refs name consecutive rows? Almost always decided by the first and last one.
inline bool is_run(const RowRef* refs) {
  const RowRef first = refs[0];
  if (refs[kBlockRows - 1] - first != kBlockRows - 1) return false;
  if (first >= kNullRef - kBlockRows) return false;
  RowRef different = 0;
  for (RowRef i = 0; i < kBlockRows; ++i) different |= (refs[i] - first) ^ i;
  return different == 0;
}

// Do 64 refs lie so close together that the cache holds what they name? Judged by two pairs of them:
// an error costs time only.
inline bool is_near(const RowRef* refs) {
  constexpr int32_t kNearRows = 4096;
  const auto distance = [&](int64_t a, int64_t b) {
    return std::abs(static_cast<int32_t>(refs[a] - refs[b]));
  };
  return distance(0, kBlockRows / 2) < kNearRows && distance(0, kBlockRows - 1) < kNearRows;
}

template <class T>
inline T load_unaligned(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

}  // namespace crossdock::gathering
