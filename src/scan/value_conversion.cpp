// One loop for each pair of widths, with and without an index.
#include "scan/value_conversion.hpp"

#include <cstring>

#include "base/int128.hpp"

namespace crossdock::scan {
namespace {

template <class T>
T load_as(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <class To>
void store_as(To value, uint8_t* out) {
  std::memcpy(out, &value, sizeof(To));
}

// out[i] = make(value i of the list).
template <class From, class To, class Make>
void each_value(const uint8_t* from, ValueList list, uint8_t* out, Make make) {
  if (list.index == nullptr) {
    for (int32_t i = 0; i < list.count; ++i) {
      store_as<To>(make(load_as<From>(from + i * sizeof(From))), out + i * sizeof(To));
    }
    return;
  }
  for (int32_t i = 0; i < list.count; ++i) {
    const uint8_t* at = from + size_t{list.index[i]} * sizeof(From);
    store_as<To>(make(load_as<From>(at)), out + i * sizeof(To));
  }
}

struct Wide {
  uint64_t low;
  uint64_t high;
};

template <class T>
void copy(const uint8_t* from, ValueList list, uint8_t* out) {
  if (list.count == 0) return;
  if (list.index == nullptr) {
    std::memcpy(out, from, static_cast<size_t>(list.count) * sizeof(T));
    return;
  }
  each_value<T, T>(from, list, out, [](T value) { return value; });
}

template <class From>
void widen(const uint8_t* from, ValueList list, uint8_t* out) {
  each_value<From, Wide>(from, list, out, [](From value) {
    const auto wide = static_cast<int64_t>(value);
    return Wide{static_cast<uint64_t>(wide), static_cast<uint64_t>(wide >> 63)};
  });
}

// Two's complement, the first byte the highest.
void widen_bytes(int32_t stored, const uint8_t* from, ValueList list, uint8_t* out) {
  for (int32_t i = 0; i < list.count; ++i) {
    const auto number =
        static_cast<int64_t>(list.index == nullptr ? static_cast<uint32_t>(i) : list.index[i]);
    const uint8_t* at = from + number * stored;
    UInt128 value = (at[0] & 0x80) != 0 ? ~UInt128{0} : UInt128{0};
    for (int32_t b = 0; b < stored; ++b) value = (value << 8) | at[b];
    store_as<UInt128>(value, out + int64_t{i} * 16);
  }
}

}  // namespace

void pick_values(int32_t width, const uint8_t* from, ValueList list, uint8_t* out) {
  switch (width) {
    case 1:
      return copy<uint8_t>(from, list, out);
    case 2:
      return copy<uint16_t>(from, list, out);
    case 4:
      return copy<uint32_t>(from, list, out);
    case 8:
      return copy<uint64_t>(from, list, out);
    default:
      return copy<Wide>(from, list, out);
  }
}

void convert_values(const ColumnForm& form, const uint8_t* from, ValueList list, uint8_t* out) {
  switch (form.conversion) {
    case Conversion::kNarrow:
      if (fixed_bytes(form.type) == 1) {
        return each_value<uint32_t, uint8_t>(
            from, list, out, [](uint32_t value) { return static_cast<uint8_t>(value); });
      }
      return each_value<uint32_t, uint16_t>(
          from, list, out, [](uint32_t value) { return static_cast<uint16_t>(value); });
    case Conversion::kDecimal:
      return form.stored_bytes == 4 ? widen<int32_t>(from, list, out)
                                    : widen<int64_t>(from, list, out);
    case Conversion::kDecimalBytes:
      return widen_bytes(form.stored_bytes, from, list, out);
    default:
      return pick_values(form.stored_bytes, from, list, out);
  }
}

void pack_bits(const uint8_t* bytes, int32_t count, uint8_t* bits) {
  constexpr uint64_t kGather = 0x0102040810204080;
  constexpr uint64_t kLowest = 0x0101010101010101;  // bytes behind the last may be anything
  for (int32_t i = 0; i < count; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + i, 8);
    bits[i / 8] = static_cast<uint8_t>(((word & kLowest) * kGather) >> 56);
  }
}

}  // namespace crossdock::scan
