// One loop for each pair of widths, with and without an index.
#include "scan/value_conversion.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/int128.hpp"
#include "base/integer_types.hpp"

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
void widen(Int128 factor, const uint8_t* from, ValueList list, uint8_t* out) {
  if (factor != 1) {
    const auto times = static_cast<UInt128>(factor);
    return each_value<From, UInt128>(from, list, out, [times](From value) {
      return static_cast<UInt128>(static_cast<Int128>(value)) * times;
    });
  }
  each_value<From, WideWord>(from, list, out, [](From value) {
    const auto wide = static_cast<Int128>(value);
    return WideWord{static_cast<uint64_t>(wide), static_cast<uint64_t>(wide >> 64)};
  });
}

void widen_integers(const ColumnForm& form, const uint8_t* from, ValueList list, uint8_t* out) {
  if (form.stored_bytes == 4) {
    return form.is_unsigned ? widen<uint32_t>(form.factor, from, list, out)
                            : widen<int32_t>(form.factor, from, list, out);
  }
  return form.is_unsigned ? widen<uint64_t>(form.factor, from, list, out)
                          : widen<int64_t>(form.factor, from, list, out);
}

template <class From>
void widen_to_64(const uint8_t* from, ValueList list, uint8_t* out) {
  each_value<From, int64_t>(from, list, out, [](From value) { return int64_t{value}; });
}

template <class From>
bool scale(int64_t factor, const uint8_t* from, ValueList list, uint8_t* out) {
  bool overflows = false;
  each_value<From, int64_t>(from, list, out, [&](From value) {
    int64_t scaled = 0;
    overflows |= __builtin_mul_overflow(int64_t{value}, factor, &scaled);
    return scaled;
  });
  return !overflows;
}

// Never overflows: the form is narrow only where nothing can.
bool narrow_decimals(const ColumnForm& form, const uint8_t* from, ValueList list, uint8_t* out) {
  const auto factor = static_cast<int64_t>(form.factor);
  if (form.stored_bytes == 8) {
    copy<uint64_t>(from, list, out);
  } else if (factor != 1) {
    return form.is_unsigned ? scale<uint32_t>(factor, from, list, out)
                            : scale<int32_t>(factor, from, list, out);
  } else {
    form.is_unsigned ? widen_to_64<uint32_t>(from, list, out)
                     : widen_to_64<int32_t>(from, list, out);
  }
  return true;
}

// Beyond 2^53 not every integer is a double.
template <class From>
bool make_double(const uint8_t* from, ValueList list, uint8_t* out) {
  constexpr auto kMost = From{1} << 53;
  bool is_beyond = false;
  each_value<From, double>(from, list, out, [&](From value) {
    is_beyond |= value > kMost;
    if constexpr (std::is_signed_v<From>) is_beyond |= value < -kMost;
    return static_cast<double>(value);
  });
  return !is_beyond;
}

template <class To>
void make_real(const ColumnForm& form, const uint8_t* from, ValueList list, uint8_t* out) {
  const auto make = [](auto value) { return static_cast<To>(value); };
  if (form.physical == PhysicalType::kFloat) return each_value<float, To>(from, list, out, make);
  return form.is_unsigned ? each_value<uint32_t, To>(from, list, out, make)
                          : each_value<int32_t, To>(from, list, out, make);
}

template <class To>
void narrow(const uint8_t* from, ValueList list, uint8_t* out) {
  each_value<uint32_t, To>(from, list, out, [](uint32_t value) { return static_cast<To>(value); });
}

// Two's complement, the first byte the highest.
template <class Word>
void join_bytes(const ColumnForm& form, const uint8_t* from, ValueList list, uint8_t* out) {
  const int32_t stored = form.stored_bytes;
  const auto factor = static_cast<Word>(form.factor);
  for (int32_t i = 0; i < list.count; ++i) {
    const auto number =
        static_cast<int64_t>(list.index == nullptr ? static_cast<uint32_t>(i) : list.index[i]);
    const uint8_t* at = from + number * stored;
    Word value = (at[0] & 0x80) != 0 ? ~Word{0} : Word{0};
    for (int32_t b = 0; b < stored; ++b) value = (value << 8) | at[b];
    store_as<Word>(value * factor, out + int64_t{i} * int64_t{sizeof(Word)});
  }
}

}  // namespace

void pick_values(int32_t width, const uint8_t* from, ValueList list, uint8_t* out) {
  with_word(width, [&](auto zero) { copy<decltype(zero)>(from, list, out); });
}

bool convert_values(const ColumnForm& form, const uint8_t* from, ValueList list, uint8_t* out) {
  const auto factor = static_cast<int64_t>(form.factor);  // of times
  switch (form.conversion) {
    case Conversion::kNarrow:
      fixed_bytes(form.type) == 1 ? narrow<uint8_t>(from, list, out)
                                  : narrow<uint16_t>(from, list, out);
      return true;
    case Conversion::kWiden:
      form.is_unsigned ? widen_to_64<uint32_t>(from, list, out)
                       : widen_to_64<int32_t>(from, list, out);
      return true;
    case Conversion::kReal:
      if (form.physical == PhysicalType::kInt64) {
        return form.is_unsigned ? make_double<uint64_t>(from, list, out)
                                : make_double<int64_t>(from, list, out);
      }
      fixed_bytes(form.type) == 8 ? make_real<double>(form, from, list, out)
                                  : make_real<float>(form, from, list, out);
      return true;
    case Conversion::kScaled:
      return form.stored_bytes == 4 ? scale<int32_t>(factor, from, list, out)
                                    : scale<int64_t>(factor, from, list, out);
    case Conversion::kDecimal:
      if (form.is_narrow) return narrow_decimals(form, from, list, out);
      widen_integers(form, from, list, out);
      return true;
    case Conversion::kDecimalBytes:
      form.is_narrow ? join_bytes<uint64_t>(form, from, list, out)
                     : join_bytes<UInt128>(form, from, list, out);
      return true;
    default:
      pick_values(form.stored_bytes, from, list, out);
      return true;
  }
}

// What is there is copied behind itself.
void repeat_value(int32_t width, const uint8_t* value, int32_t count, uint8_t* out) {
  if (count == 0) return;
  const auto bytes = static_cast<size_t>(width) * static_cast<size_t>(count);
  std::memcpy(out, value, static_cast<size_t>(width));
  for (auto done = static_cast<size_t>(width); done < bytes;) {
    const size_t some = std::min(done, bytes - done);
    std::memcpy(out + done, out, some);
    done += some;
  }
}

}  // namespace crossdock::scan
