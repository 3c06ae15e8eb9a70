#include "table/key_read.hpp"

#include <type_traits>

#include "base/check.hpp"

namespace crossdock::keys {
namespace {

struct Half {  // a float16, to tell it from a uint16
  uint16_t bits;
};

template <class T>
inline uint64_t word_of(T value) {
  if constexpr (std::is_same_v<T, Half>) {
    return canonical_float_bits(float16_value(value.bits));
  } else if constexpr (std::is_floating_point_v<T>) {
    return canonical_float_bits(static_cast<double>(value));
  } else {
    return static_cast<uint64_t>(value);
  }
}

// Calls `call` with a value of the C++ type that is stored; not for bits and bytes.
template <class Call>
void with_stored_integer(Stored stored, Call call) {
  switch (stored) {
    case Stored::kInt8:
      return call(int8_t{});
    case Stored::kInt16:
      return call(int16_t{});
    case Stored::kInt32:
      return call(int32_t{});
    case Stored::kInt64:
      return call(int64_t{});
    case Stored::kUInt8:
      return call(uint8_t{});
    case Stored::kUInt16:
      return call(uint16_t{});
    case Stored::kUInt32:
      return call(uint32_t{});
    case Stored::kUInt64:
      return call(uint64_t{});
    case Stored::kInt128:
      return call(Int128{});
    default:
      CD_CHECK(false, "stored as {}", static_cast<int>(stored));
  }
}

template <class Call>
void with_stored_number(Stored stored, Call call) {
  switch (stored) {
    case Stored::kFloat16:
      return call(Half{});
    case Stored::kFloat32:
      return call(float{});
    case Stored::kFloat64:
      return call(double{});
    default:
      return with_stored_integer(stored, call);
  }
}

// Consecutive rows are what the hardware prefetches anyway; refs are not.
template <class Places>
void prefetch_refs(const RefRows&, const Places& places, int32_t count) {
  for (int32_t i = 0; i < count; ++i) __builtin_prefetch(places(i));
}
template <class Places>
void prefetch_refs(const RangeRows&, const Places&, int32_t) {}

template <class Offset, class Rows>
void read_offset_slices(const Rows& rows, const uint8_t* valid, int32_t count, Slice* slices) {
  const auto offsets = rows.template offsets<sizeof(Offset)>();
  prefetch_refs(rows, offsets, count);
  for (int32_t i = 0; i < count; ++i) {
    const uint8_t* entry = offsets(i);
    const auto begin = load<Offset>(entry);
    const auto end = load<Offset>(entry + sizeof(Offset));
    const int64_t keep = valid == nullptr || valid[i] != 0 ? -1 : 0;
    slices[i] = {rows.bytes(i) + begin, (end - begin) & keep};
  }
}

template <class Rows>
void read_view_slices(const Rows& rows, const uint8_t* valid, int32_t count, Slice* slices) {
  const auto views = rows.template values<16>();
  prefetch_refs(rows, views, count);
  for (int32_t i = 0; i < count; ++i) {
    const uint8_t* view = views(i);
    const auto bytes = load<uint32_t>(view);
    if (valid != nullptr && valid[i] == 0) {
      slices[i] = {view, 0};  // the slot may hold anything
    } else if (bytes <= kInlineBytes) {
      slices[i] = {view + 4, bytes};
    } else {
      slices[i] = {rows.heap(i, load<uint32_t>(view + 8)) + load<uint32_t>(view + 12), bytes};
    }
  }
}

}  // namespace

template <class Rows>
void read_words(const Rows& rows, Stored stored, int32_t count, uint64_t* words) {
  if (stored == Stored::kBit) {
    for (int32_t i = 0; i < count; ++i) words[i] = rows.bit(i);
    return;
  }
  with_stored_number(stored, [&](auto type) {
    using T = decltype(type);
    const auto values = rows.template values<sizeof(T)>();
    for (int32_t i = 0; i < count; ++i) words[i] = word_of(load<T>(values(i)));
  });
}

template <class Rows>
void read_wide(
    const Rows& rows, const KeySide& side, int32_t count, Int128* wide, uint8_t* overflow) {
  with_stored_integer(side.stored, [&](auto type) {
    using T = decltype(type);
    const auto values = rows.template values<sizeof(T)>();
    if (side.factor == 1) {
      for (int32_t i = 0; i < count; ++i) {
        wide[i] = load<T>(values(i));
        overflow[i] = 0;
      }
      return;
    }
    for (int32_t i = 0; i < count; ++i) {
      const Int128 value = load<T>(values(i));
      overflow[i] =
          __builtin_mul_overflow(value, side.factor, &wide[i]) || (side.beyond && value != 0);
    }
  });
}

template <class Rows>
void read_slices(
    const Rows& rows, Stored stored, const uint8_t* valid, int32_t count, Slice* slices) {
  switch (stored) {
    case Stored::kBytes32:
      return read_offset_slices<int32_t>(rows, valid, count, slices);
    case Stored::kBytes64:
      return read_offset_slices<int64_t>(rows, valid, count, slices);
    case Stored::kByteViews:
      return read_view_slices(rows, valid, count, slices);
    default:
      CD_CHECK(false, "stored as {}", static_cast<int>(stored));
  }
}

template void read_words(const RangeRows&, Stored, int32_t, uint64_t*);
template void read_words(const RefRows&, Stored, int32_t, uint64_t*);
template void read_wide(const RangeRows&, const KeySide&, int32_t, Int128*, uint8_t*);
template void read_wide(const RefRows&, const KeySide&, int32_t, Int128*, uint8_t*);
template void read_slices(const RangeRows&, Stored, const uint8_t*, int32_t, Slice*);
template void read_slices(const RefRows&, Stored, const uint8_t*, int32_t, Slice*);

}  // namespace crossdock::keys
