// Keys modulo a number that is known only at run time, without a division: the residue from 0 on, also of negative
// keys.
#pragma once

#include <cstdint>

#include "base/int128.hpp"

namespace crossdock::sorters {

// Constant expressions, so that kernels may call them, too.
class FloorModulo {
 public:
  // 1 <= divisor <= 65,536
  explicit constexpr FloorModulo(uint32_t divisor)
      : divisor_(divisor),
        reciprocal_(UINT64_MAX / divisor),
        sign_residue_((uint64_t{1} << 63) % divisor) {}

  constexpr uint32_t divisor() const { return static_cast<uint32_t>(divisor_); }

  // The reciprocal is less than 1 too small, so the quotient is the right one or that less 1.
  constexpr uint16_t of_unsigned(uint64_t key) const {
    const auto quotient = static_cast<uint64_t>(static_cast<UInt128>(key) * reciprocal_ >> 64);
    const uint64_t residue = key - quotient * divisor_;
    return static_cast<uint16_t>(residue >= divisor_ ? residue - divisor_ : residue);
  }

  // As if 2^63 were added to the key, and its residue taken away again.
  constexpr uint16_t of_signed(uint64_t key) const {
    const uint64_t residue = of_unsigned(key ^ (uint64_t{1} << 63));
    return static_cast<uint16_t>(residue >= sign_residue_ ? residue - sign_residue_
                                                          : residue + divisor_ - sign_residue_);
  }

 private:
  uint64_t divisor_;
  uint64_t reciprocal_;
  uint64_t sign_residue_;
};

}  // namespace crossdock::sorters
