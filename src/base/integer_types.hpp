// Templates over integers, called for a width that is only known while a query runs: call(T{}) for the type T.
#pragma once

#include <cstdint>
#include <type_traits>

namespace crossdock {

// Of 1, 2, 4 or, else, 8 bytes.
template <class Call>
auto with_unsigned(int bytes, const Call& call) {
  switch (bytes) {
    case 1:
      return call(uint8_t{});
    case 2:
      return call(uint16_t{});
    case 4:
      return call(uint32_t{});
    default:
      return call(uint64_t{});
  }
}

template <class Call>
auto with_integer(int bytes, bool is_unsigned, const Call& call) {
  const auto call_signed = [&](auto zero) { return call(std::make_signed_t<decltype(zero)>{}); };
  return is_unsigned ? with_unsigned(bytes, call) : with_unsigned(bytes, call_signed);
}

struct WideWord {  // of 16 bytes, which columns align to 8 only
  uint64_t low;
  uint64_t high;
};

// Of 16 bytes, too.
template <class Call>
auto with_word(int bytes, const Call& call) {
  return bytes == 16 ? call(WideWord{}) : with_unsigned(bytes, call);
}

}  // namespace crossdock
