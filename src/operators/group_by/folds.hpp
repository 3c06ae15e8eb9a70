// Operations that put two words together, in any order of many: of groups and of frames.
#pragma once

#include <cstdint>

namespace crossdock::operators {

struct BitAnd {
  static constexpr uint64_t kNeutral = ~uint64_t{0};
  static uint64_t of(uint64_t a, uint64_t b) { return a & b; }
};

struct BitOr {
  static constexpr uint64_t kNeutral = 0;
  static uint64_t of(uint64_t a, uint64_t b) { return a | b; }
};

struct BitXor {
  static constexpr uint64_t kNeutral = 0;
  static uint64_t of(uint64_t a, uint64_t b) { return a ^ b; }
};

// Of doubles.
struct Product {
  static constexpr uint64_t kNeutral = __builtin_bit_cast(uint64_t, 1.0);
  static uint64_t of(uint64_t a, uint64_t b) {
    return __builtin_bit_cast(uint64_t,
                              __builtin_bit_cast(double, a) * __builtin_bit_cast(double, b));
  }
};

}  // namespace crossdock::operators
